"""Tiers of tests that need a tool: skipped without it, unless PORTMP_REQUIRE names the tier.

``PORTMP_REQUIRE=nvrtc,clang`` turns a skip into a failure, so that a run that is meant to
have these tools cannot pass without them. A device that is there and that the arithmetic probe
refuses stays a skip, with the reason: nothing that could be installed mends it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NoReturn

import browser
import pytest

from portmp import discovery
from portmp.backends.base import Device
from portmp.backends.cpu.runtime import CpuDevice
from portmp.backends.opencl.runtime import ClDevice
from portmp.errors import BackendUnavailable, DeviceError, PortmpError

TIERS = (
    "nvrtc",
    "nvdisasm",
    "hiprtc",
    "clang",
    "hipcc",
    "oclgrind",
    "cpu",
    "qemu",
    "pocl",
    "pocl-debian",
    "intel",
    "clblast",
    "openblas",
    "strace",
    "chromium",
    "sphinx",
    "mpi",
)


def required(tier: str) -> bool:
    """Whether PORTMP_REQUIRE names *tier*."""
    if tier not in TIERS:
        raise ValueError(f"tier={tier!r} is not one of {', '.join(TIERS)}")
    return tier in os.environ.get("PORTMP_REQUIRE", "").replace(",", " ").split()


def need(tier: str, reason: str | Exception) -> NoReturn:
    """Skip the test, since *tier* is missing here; fail it where the tier is required."""
    message = f"{tier}: {reason}"
    if required(tier) and not isinstance(problem(tier), DeviceError):
        pytest.fail(f"required by PORTMP_REQUIRE, but missing: {message}", pytrace=False)
    pytest.skip(message)


def _nvrtc() -> None:
    from portmp.compilers.nvrtc import NvrtcCompiler

    NvrtcCompiler().version()


def _nvdisasm() -> None:
    from portmp.compilers.nvrtc import nvdisasm

    nvdisasm()


def _hiprtc() -> None:
    from portmp.compilers.hiprtc import HiprtcCompiler

    HiprtcCompiler().version()


def _clang() -> None:
    from portmp.compilers.clang import ClangCompiler

    ClangCompiler().version()


def _mpi() -> None:
    import importlib.util

    from portmp.distributed import processes
    from portmp.verify import ranks

    if importlib.util.find_spec("mpi4py") is None:
        raise BackendUnavailable(f"mpi4py is not installed: {processes.INSTALL}")
    ranks.launcher()


def _sphinx() -> None:
    import importlib.util

    for package in ("sphinx", "myst_parser", "furo"):
        if importlib.util.find_spec(package) is None:
            raise BackendUnavailable(f"{package} is not installed: pip install '.[docs]'")


def _hipcc() -> None:
    from shutil import which

    if which("hipcc") is None:
        raise BackendUnavailable("hipcc is not on PATH")


def _oclgrind() -> None:
    from shutil import which

    if which("oclgrind") is None:
        raise BackendUnavailable("oclgrind is not on PATH")


def _strace() -> None:
    command = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "inject=fsync:error=EIO", "true"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BackendUnavailable(f"strace does not run here: {error}") from None


def _chromium() -> None:
    if browser.program() is None:
        raise BackendUnavailable(f"none of {', '.join(browser.NAMES)} is on PATH")


def _opencl(wanted: Callable[[str], bool]) -> None:
    found = {
        str(d.properties.extra.get("platform", "")): d for d in discovery.find("opencl").devices
    }
    meant = [device for platform, device in found.items() if wanted(platform)]
    if not meant:
        raise BackendUnavailable(f"not among the OpenCL platforms {list(found)}")
    discovery.get(meant[0])


def _cpu() -> None:
    found = discovery.find("cpu")
    if not found.devices:
        raise BackendUnavailable(found.problem)
    discovery.get(found.devices[0])


def _qemu() -> None:
    from portmp.backends.cpu import emulated

    for target in emulated.TARGETS:
        emulated.qemu(target)


def _is_pocl(platform: str, debian: bool) -> bool:
    return "PoCL" in platform and ("debian" in platform) == debian


def _clblast() -> None:
    from portmp.backends.opencl.blas import Clblast

    Clblast()


_PROBES: dict[str, Callable[[], None]] = {
    "nvrtc": _nvrtc,
    "nvdisasm": _nvdisasm,
    "hiprtc": _hiprtc,
    "clang": _clang,
    "hipcc": _hipcc,
    "sphinx": _sphinx,
    "mpi": _mpi,
    "oclgrind": _oclgrind,
    "pocl": lambda: _opencl(lambda platform: _is_pocl(platform, debian=False)),
    "pocl-debian": lambda: _opencl(lambda platform: _is_pocl(platform, debian=True)),
    "cpu": _cpu,
    "qemu": _qemu,
    "clblast": _clblast,
    "strace": _strace,
    "chromium": _chromium,
    "intel": lambda: _opencl(lambda platform: platform.startswith("Intel")),
}


@cache
def problem(tier: str) -> PortmpError | None:
    """Why *tier* is missing on this machine: a DeviceError where its device is refused."""
    try:
        _PROBES[tier]()
    except (BackendUnavailable, DeviceError) as error:
        return error
    return None


def available(tier: str) -> bool:
    """Whether this machine has what *tier* needs."""
    required(tier)  # rejects a misspelt tier
    return not problem(tier)


def opencl_compiler() -> str:
    """A C compiler where OpenCL's headers are; else a skip."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not (compiler and Path("/usr/include/CL/cl.h").exists()):
        pytest.skip("no C compiler with OpenCL's headers")
    return compiler


def check(tier: str) -> None:
    """Call ``need`` when *tier* is missing."""
    if reason := problem(tier):
        need(tier, reason)


INTERPRETED = ("emulated:gfx90a", "emulated:gfx1100")
"""Interpreted devices of waves of 64 and of 32 lanes."""


def interpreted(name: str) -> Device:
    """A device whose code is AMD's, compiled and interpreted; skipped without a compiler."""
    check("clang" if "gfx1" in name else "hiprtc")
    interpreter()
    return discovery.get(name)


def interpreter() -> Device:
    """The CPU device that interprets; skips where there is none, or none works."""
    try:
        return discovery.interpreter()
    except DeviceError as error:
        pytest.skip(str(error))


def new_cpu() -> CpuDevice | ClDevice:
    """A CPU device of its own, whose traits and properties a test may change."""
    found = interpreter()
    device: CpuDevice | ClDevice
    if isinstance(found, CpuDevice):
        device = CpuDevice(found.clang)
    else:
        assert isinstance(found, ClDevice)
        device = ClDevice(found.index, found.handle)
    device.traits = found.traits
    return device


@cache
def cpu() -> CpuDevice | ClDevice:
    """One for many tests."""
    return new_cpu()


def opencl() -> str:
    """The name of the first OpenCL device that works; skips where the probe refuses all."""
    there = discovery.find("opencl").devices
    found = next(discovery.accepted(there), None)
    if there and found is None:
        pytest.skip("the arithmetic probe refuses each OpenCL device")
    return found.name if found else "opencl:0"
