"""Finding and choosing devices.

Backends are imported on the first call, never with portmp. A device is opened once a
process and probed when it is opened (``probe``).
"""

import hashlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

from portmp import paths
from portmp.backends.base import Device, Queue, drivers_start
from portmp.codegen.platform import PLATFORMS
from portmp.discovery import probe
from portmp.errors import ArgumentError, BackendUnavailable, DeviceError, PortmpError, suggestion

HOST = "host"
"""The backend that is always there: the host reference, for machines on which no driver works."""
PROCESSOR = "cpu"
"""The backend of the machine's processor by a plain clang."""
BACKENDS = (*PLATFORMS, PROCESSOR, HOST)
INTERPRETED = "emulated"
"""The backend whose devices are found only when they are asked for: ``emulated:gfx908``."""
CHECKED = "oclgrind"
"""The device that checks kernels, also found only when it is asked for."""


@dataclass(frozen=True)
class Found:
    """What one backend found, or why it found nothing."""

    backend: str
    devices: tuple[Device, ...]
    problem: str = ""


_lock = threading.RLock()


def find(backend: str) -> Found:
    """Ask one backend for its devices, once."""
    with _lock:
        return _found(backend)


@cache
def _found(backend: str) -> Found:
    module = importlib.import_module(f"portmp.backends.{backend}.runtime")
    if backend != HOST:
        drivers_start()
    try:
        return Found(backend, tuple(module.find_devices()))
    except BackendUnavailable as error:
        return Found(backend, (), str(error))


def listed() -> list[Device]:
    """Every device of every backend, in the order of BACKENDS; refused ones, too."""
    return [d for backend in BACKENDS for d in find(backend).devices]


def opened() -> list[tuple[Device, str]]:
    """Every device that runs kernels, opened, each with the reason of its refusal or nothing."""
    found = []
    for device in (one for one in listed() if not one.by_reference):
        try:
            found.append((get(device.name), ""))
        except PortmpError as error:
            found.append((device, str(error)))
    return found


def accepted(candidates: Iterable[Device]) -> Iterator[Device]:
    """Those that the probe accepts, each opened when it is asked for."""
    for device in candidates:
        try:
            found = _open(device)
        except PortmpError:
            continue
        yield found


def devices() -> list[Device]:
    """Every device that the probe accepts, opened: what may be used."""
    return list(accepted(listed()))


def _rank(device: Device) -> tuple[bool, bool, bool, bool]:
    """Order of preference: the host last; with float64, GPUs, others before OpenCL's."""
    facts = device.properties
    kind = facts.kind != "gpu"
    return (device.by_reference, not facts.float64, kind, device.backend == "opencl")


_opened: dict[str, Device] = {}


_within: ContextVar[Device | Queue | None] = ContextVar("device", default=None)


@contextmanager
def device(name: str | Device | Queue) -> Iterator[Device | Queue]:
    """Within it, what is given no device is on this one, in this thread.

    ``with portmp.device("cuda:0"):``; a queue of a device may be given, too.
    """
    chosen = name if isinstance(name, Queue) else get(name)
    token = _within.set(chosen)
    try:
        yield chosen
    finally:
        _within.reset(token)


def queue_of(where: str | Device | Queue | None = None) -> Queue:
    """A queue itself, or the first queue of a device that is opened by its name."""
    where = _within.get() if where is None else where
    if isinstance(where, str):
        return get(where).queue
    return where if isinstance(where, Queue) else get(where).queue


def get(name: str | Device | Queue | None = None) -> Device:
    """Open a device: ``"cuda:0"``, ``"opencl:1"``, ``"cuda"``, part of its name, or a Device.

    A queue stands for its device.

    Without a name: that of a ``with portmp.device(...)``, else PORTMP_DEVICE, else the best device
    that the arithmetic probe accepts (GPUs first; where none is, the host itself by the reference,
    which a line on standard error tells). A name that means several (``"cuda"``, part of a name)
    takes the first of them that is accepted. Each better one that is refused is told in a line on
    standard error.
    Raises DeviceError for an unknown device, and where all that the name means are refused.
    """
    name = _within.get() if name is None else name
    if not (name is None or isinstance(name, str)):
        if isinstance(name, Queue):
            name = name.device
        if not isinstance(name, Device):
            raise ArgumentError(f"device: {name!r} given, a name such as 'cuda:0' is needed")
        return _open(name)
    wanted = name or os.environ.get("PORTMP_DEVICE", "").strip()
    if wanted in _opened:
        return _opened[wanted]
    with _lock:
        if wanted not in _opened:
            try:
                found = _first(_meant(wanted) if wanted else sorted(listed(), key=_rank))
            except DeviceError as error:
                told = "PORTMP_DEVICE: " if wanted and not name else ""
                raise DeviceError(f"{told}{error}") from None
            if not wanted:
                _tell(found)
            _opened[wanted] = found
        return _opened[wanted]


def _tell(chosen: Device) -> None:
    """Say why the default device is no better one: none works, or a setting names no clang."""
    problem = find(PROCESSOR).problem
    if chosen.by_reference:
        slow = "no device works here, so the host reference computes: the same bits, but slowly"
        _say(f"portmp: {slow}; {problem or 'portmp devices tells why'}")
    elif chosen.properties.kind == "cpu" and problem.startswith("PORTMP_"):
        _say(f"portmp: {problem}; {chosen.name} is the default device instead")


def hardware(name: str | Device | None = None) -> Device:
    """The same for a device that is timed: DeviceError for an interpreter, and for the host."""
    device = get(name)
    if device.by_reference:
        raise DeviceError(
            f"device {device.name!r} runs no kernels: it computes by the host reference, whose "
            "times say nothing of any device; portmp devices lists those that are here, and what "
            "is missing"
        )
    if device.interpreted:
        raise DeviceError(
            f"device {device.name!r} is an interpreter, whose times say nothing of any hardware; "
            "portmp verify checks results on it"
        )
    return device


@cache
def interpreter() -> Device:
    """The CPU that interprets: the best one that the arithmetic probe accepts."""
    cpus = [d for d in listed() if d.properties.kind == "cpu" and not d.by_reference]
    if cpus:
        return _first(sorted(cpus, key=_rank))
    problems = "; ".join(filter(None, (find(name).problem for name in (PROCESSOR, "opencl"))))
    raise DeviceError(f"an interpreted device needs a CPU device: {problems}")


def _open(device: Device) -> Device:
    """Probe *device* unless it was probed before."""
    with _lock:
        if _opened.get(device.name) is not device:
            probe.approve(device)
            _opened[device.name] = device
    return device


def _first(candidates: list[Device]) -> Device:
    """The first that the probe accepts: a refused one stops nothing while another works."""
    refusals = []
    for device in candidates:
        try:
            return _open(device)
        except PortmpError as error:
            refusals.append(str(error))
            if device is not candidates[-1]:
                why = str(error).partition("\n")[0]
                _say(f"portmp: {why}; trying the next device")
    raise DeviceError("; ".join(refusals))


def _say(line: str) -> None:
    """A line on standard error, of a kind that is the same in each process: once a day."""
    name = f"said-{hashlib.sha256(line.encode()).hexdigest()[:32]}.json"
    last, now = paths.recalled(name), time.time()
    if not (isinstance(last, float) and 0 <= now - last < 86_400):
        print(line, file=sys.stderr)
        paths.remember(name, now)


def _meant(wanted: str) -> list[Device]:
    """The devices that a name means, the best first."""
    backend, _, index = wanted.lower().partition(":")
    if backend == INTERPRETED:
        from portmp.emulator import device as emulated

        return [emulated.find(index, interpreter())]
    if wanted.lower() == CHECKED:
        from portmp.backends.oclgrind import runtime as checked

        drivers_start()
        return [checked.find()]
    if backend == PROCESSOR and index and not index.isdigit():
        from portmp.backends.cpu import emulated as others

        drivers_start()
        return [others.find(index)]
    if backend in BACKENDS:
        answer = find(backend)
        if not answer.devices:
            raise DeviceError(f"device {wanted!r}: {answer.problem}")
        if index == "":
            return list(answer.devices)
        number = index.isascii() and index.isdigit() and len(index) < 6
        if number and int(index) < len(answer.devices):
            return [answer.devices[int(index)]]
        names = ", ".join(d.name for d in accepted(answer.devices)) or "none that works"
        raise DeviceError(f"device {wanted[:40]!r} does not exist; {backend} has {names}")
    matches = [
        d
        for d in sorted(listed(), key=_rank)
        if wanted.lower() == d.properties.kind
        or wanted.lower() in f"{d.properties.name} {d.properties.extra.get('platform', '')}".lower()
    ]
    if matches:
        return matches
    there = devices()
    known = [d.name for d in there] + [d.properties.name for d in there]
    why = ": portmp devices tells why no GPU was found"
    near = suggestion(wanted, known) if wanted.lower() != "gpu" else why
    raise DeviceError(f"no device called {wanted!r}{near}; devices: {', '.join(known)}")
