"""AMD GPUs through the HIP runtime (hip-python)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from portmp.backends import capabilities, trial
from portmp.backends.base import Properties
from portmp.backends.driver_api import Driver, GpuDevice, Names
from portmp.backends.energy import Meter
from portmp.backends.rocm.blas import HipBlas
from portmp.backends.rocm.energy import meters
from portmp.codegen import platform
from portmp.codegen.platform import Traits
from portmp.compilers.hiprtc import HiprtcCompiler, find_library, findable
from portmp.errors import BackendUnavailable

_INSTALL = "install ROCm, and pip install hip-python of the same major version"
_NEW_LAYOUT = 6
_RETURNED = 7
"""Bindings from this version on return the structure that older ones fill."""


def _describe(api: Any, status: Any) -> str:
    """Name and text of an error."""
    text = api.hipGetErrorString(status)
    text = text[1] if isinstance(text, tuple) else text
    text = text.decode() if isinstance(text, bytes) else str(text)
    name = getattr(status, "name", str(status))
    return name if text == name else f"{name}: {text}"


NAMES = Names(
    prefix="hip",
    make_current="SetDevice",
    allocate="Malloc",
    allocate_async="MallocAsync",
    free="Free",
    free_async="FreeAsync",
    allocate_host="HostMalloc",
    free_host="HostFree",
    pool_access="hipMemAccessDesc",
    on_device="hipMemLocationType.hipMemLocationTypeDevice",
    read_write="hipMemAccessFlags.hipMemAccessFlagsProtReadWrite",
    out_of_memory="hipError_t.hipErrorOutOfMemory",
    stream_create="StreamCreateWithFlags",
    event_create="EventCreateWithFlags",
    launch="ModuleLaunchKernel",
    launch_together="",  # untried: no AMD GPU was at hand
    extra=None,
    lists=False,
    capture_mode="hipStreamCaptureMode.hipStreamCaptureModeThreadLocal",
    graph_create="GraphInstantiateWithFlags",
)
"""The HIP runtime, as hip-python names it."""


class RocmDriver(Driver):
    """The HIP runtime, which knows devices by their numbers."""

    names = NAMES

    def __init__(self, api: Any, index: int) -> None:
        super().__init__(api, index)
        self._pools = bool(self._attribute("MemoryPoolsSupported"))

    def _describe(self, status: Any) -> str:
        return _describe(self._api, status)

    def _attribute(self, name: str) -> int | None:
        """An attribute of the device; None where this runtime does not have it."""
        wanted = getattr(self._api.hipDeviceAttribute_t, f"hipDeviceAttribute{name}", None)
        if wanted is None:
            return None
        status, number = self._api.hipDeviceGetAttribute(wanted, self._device)
        return None if int(status) else int(number)

    def pci_address(self) -> str:
        """Where the device is on the bus, ``0000:19:00.0``; empty where nothing tells it."""
        place = [self._attribute(f"Pci{part}") for part in ("DomainId", "BusId", "DeviceId")]
        if None in place[1:]:
            return ""
        return "{:04x}:{:02x}:{:02x}.0".format(*(number or 0 for number in place))

    def clock_mhz(self) -> float | None:
        """The shader clock that the kernel driver marks as current; None where it does not."""
        address = self.pci_address()
        table = Path("/sys/bus/pci/devices") / address / "pp_dpm_sclk"
        return _current_clock(table) if address else None


class RocmDevice(GpuDevice):
    """One AMD GPU."""

    platform = "rocm"
    dlpack_type = 10
    mpi_names = "rocm", "hip"

    @cached_property
    def _library(self) -> HipBlas:
        return HipBlas(self.driver)

    def library(self) -> HipBlas:
        """hipBLAS; BackendUnavailable where it is not installed."""
        return self._library

    def energy_meters(self) -> Sequence[Meter]:
        """AMD SMI's counter and power; BackendUnavailable where it tells neither."""
        return meters(self.driver.pci_address())


def _current_clock(table: Path) -> float | None:
    """The clock with the star in a table of lines such as ``1: 1700Mhz *``."""
    try:
        found = re.search(r"(\d+)\s*MHz\s*\*", table.read_text(), re.IGNORECASE)
    except OSError:
        return None
    return float(found[1]) if found else None


def _api() -> tuple[Any, int]:
    """The initialised HIP runtime and its number of devices."""
    api: Any
    try:
        from hip import hip

        api = hip
    except ImportError as error:
        raise BackendUnavailable(f"hip-python is missing ({error}); {_INSTALL}") from error
    library = find_library("amdhip64")
    if library and (how := trial.crash(f"hipInit={library}")):
        raise BackendUnavailable(
            f"the HIP runtime {library} is not used: starting it {how}; install it again"
        )
    try:
        with findable("amdhip64"):
            api.hipInit(0)
        status, count = api.hipGetDeviceCount()
    except Exception as error:  # hip-python raises RuntimeError for a missing library
        raise BackendUnavailable(f"the HIP runtime is missing ({error}); {_INSTALL}") from error
    if int(status) or not count:
        why = f" ({_describe(api, status)})" if int(status) else ""
        raise BackendUnavailable(f"the HIP runtime finds no AMD GPU{why}")
    _check_versions(api)
    return api, int(count)


def _runtime_version(api: Any) -> tuple[int, int]:
    """Major and minor number of the HIP runtime."""
    status, number = api.hipRuntimeGetVersion()
    if int(status):
        raise BackendUnavailable(f"the HIP runtime tells no version ({_describe(api, status)})")
    return int(number) // 10_000_000, int(number) // 100_000 % 100


def _check_versions(api: Any) -> None:
    """Refuse bindings of another layout: structures changed with ROCm 6."""
    major, minor = _runtime_version(api)
    bindings = int(api.HIP_VERSION_MAJOR)
    if (major < _NEW_LAYOUT) != (bindings < _NEW_LAYOUT):
        raise BackendUnavailable(
            f"the HIP runtime is {major}.{minor}, but hip-python was made for {bindings}; "
            f"pip install 'hip-python=={major}.*'"
        )


def _properties(api: Any, index: int) -> Properties:
    if int(api.HIP_VERSION_MAJOR) < _RETURNED:
        facts = api.hipDeviceProp_t()
        (status,) = api.hipGetDeviceProperties(facts, index)
    else:
        status, facts = api.hipGetDeviceProperties(index)
    if int(status):
        raise BackendUnavailable(f"rocm:{index} cannot be used: {_describe(api, status)}")
    major, minor = _runtime_version(api)
    target = _text(facts.gcnArchName)
    return Properties(
        name=_text(facts.name),
        vendor="AMD",
        driver=f"{major}.{minor}",
        arch=target.partition(":")[0],
        kind="gpu",
        compute_units=int(facts.multiProcessorCount),
        warp_size=int(facts.warpSize),
        max_threads=int(facts.maxThreadsPerBlock),
        shared_memory=int(facts.sharedMemPerBlock),
        memory=int(facts.totalGlobalMem),
        float64=True,
        clock_mhz=int(facts.clockRate) // 1000,
        extra={"target": target},
    )


def _text(value: Any) -> str:
    """Text of a character array, which the bindings give as bytes or str."""
    content = value if isinstance(value, bytes) else str(value).encode()
    return content.split(b"\0")[0].decode(errors="replace")


def facts_of(api: Any, index: int) -> tuple[Properties, Traits]:
    """A device's properties and what rendered text depends on."""
    properties, rocm = _properties(api, index), platform.ROCM
    unit = capabilities.matrix_unit(properties.arch, rocm.matrix_units)
    return properties, replace(rocm.defaults, warp_size=properties.warp_size, matrix_unit=unit)


def find_devices() -> list[RocmDevice]:
    """All AMD GPUs; BackendUnavailable says in one sentence why there are none."""
    api, count = _api()
    compiler = HiprtcCompiler()
    return [
        RocmDevice(index, RocmDriver(api, index), *facts_of(api, index), compiler)
        for index in range(count)
    ]
