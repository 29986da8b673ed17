"""Finding and choosing devices.

Backends are imported on the first call, never with portmp. A device is opened once a
process and probed when it is opened (portmp.probe).
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from functools import cache

from portmp import probe
from portmp.backends.base import Device
from portmp.errors import BackendUnavailable, DeviceError, suggestion

BACKENDS = ("cuda", "rocm", "opencl")


@dataclass(frozen=True)
class Found:
    """What one backend found, or why it found nothing."""

    backend: str
    devices: tuple[Device, ...]
    problem: str = ""


@cache
def find(backend: str) -> Found:
    """Ask one backend for its devices."""
    module = importlib.import_module(f"portmp.backends.{backend}")
    try:
        return Found(backend, tuple(module.find_devices()))
    except BackendUnavailable as error:
        return Found(backend, (), str(error))


def devices() -> list[Device]:
    """Every device of every backend, in the order cuda, rocm, opencl."""
    return [d for backend in BACKENDS for d in find(backend).devices]


def _rank(device: Device) -> tuple[bool, bool]:
    """Order of preference: GPUs before CPUs, a vendor's own platform before OpenCL."""
    return (device.properties.kind != "gpu", device.platform == "opencl")


_opened: dict[str, Device] = {}


def get(name: str | Device | None = None) -> Device:
    """Open a device: ``"cuda:0"``, ``"opencl:1"``, ``"cuda"``, part of its name, or a Device.

    Without a name: PORTMP_DEVICE, else the best GPU, else the CPU. Raises DeviceError
    for an unknown device or one that the arithmetic probe refuses.
    """
    if isinstance(name, Device):
        return name
    wanted = name or os.environ.get("PORTMP_DEVICE")
    key = wanted or ""
    if key not in _opened:
        device = _choose(wanted)
        if device.name not in _opened:
            probe.approve(device)
            _opened[device.name] = device
        _opened[key] = _opened[device.name]
    return _opened[key]


def _choose(wanted: str | None) -> Device:
    if wanted is None:
        found = sorted(devices(), key=_rank)
        if not found:
            problems = "; ".join(f"{b}: {find(b).problem}" for b in BACKENDS)
            raise DeviceError(f"no device found ({problems})")
        return found[0]
    backend, _, index = wanted.partition(":")
    if backend in BACKENDS:
        answer = find(backend)
        if not answer.devices:
            raise DeviceError(f"device {wanted!r}: {answer.problem}")
        if index == "":
            return answer.devices[0]
        if index.isdigit() and int(index) < len(answer.devices):
            return answer.devices[int(index)]
        names = ", ".join(d.name for d in answer.devices)
        raise DeviceError(f"device {wanted!r} does not exist; {backend} has {names}")
    matches = [
        d for d in sorted(devices(), key=_rank)
        if wanted.lower() in f"{d.properties.name} {d.properties.extra.get('platform', '')}".lower()
    ]  # fmt: skip
    if matches:
        return matches[0]
    known = [d.name for d in devices()] + [d.properties.name for d in devices()]
    near = suggestion(wanted, known)
    raise DeviceError(f"no device called {wanted!r}{near}; devices: {', '.join(known)}")
