"""AMD GPUs through the HIP runtime (hip-python)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from portmp.backends.base import Dim3, Properties
from portmp.backends.driver_api import Driver, GpuDevice
from portmp.backends.energy import Meter
from portmp.backends.rocm.blas import HipBlas
from portmp.backends.rocm.energy import meters
from portmp.codegen.platform import Traits
from portmp.compilers.hiprtc import HiprtcCompiler, findable
from portmp.errors import BackendUnavailable, DeviceError, LaunchError, PortmpError

_INSTALL = "install ROCm, and pip install hip-python of the same major version"
_NON_BLOCKING = 1
_TIMED_EVENT = 0
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


class RocmDriver(Driver):
    """The HIP runtime for one device."""

    def __init__(self, api: Any, index: int) -> None:
        self._api = api
        self._index = index
        wanted = api.hipDeviceAttribute_t.hipDeviceAttributeMemoryPoolsSupported
        status, pools = api.hipDeviceGetAttribute(wanted, index)
        self._pools = not int(status) and bool(pools)

    def _check(self, result: tuple[Any, ...], error: type[PortmpError] = DeviceError) -> Any:
        """The value behind a successful status."""
        if int(result[0]):
            raise error(_describe(self._api, result[0]))
        return result[1] if len(result) > 1 else None

    def current(self) -> Any:
        """The API, with this device current in the calling thread."""
        self._check(self._api.hipSetDevice(self._index))
        return self._api

    def memory(self) -> tuple[int, int]:
        """Free and total bytes."""
        status, free, total = self.current().hipMemGetInfo()
        self._check((status,))
        return int(free), int(total)

    def allocate(self, nbytes: int, stream: Any) -> int | None:
        """Memory from the device's pool, or plain memory where there are no pools."""
        api = self.current()
        result = api.hipMallocAsync(nbytes, stream) if self._pools else api.hipMalloc(nbytes)
        if result[0] == api.hipError_t.hipErrorOutOfMemory:
            return None
        return int(self._check(result))

    def free(self, pointer: int, stream: Any) -> None:
        """Give memory back; without pools this waits for the device."""
        api = self.current()
        self._check(api.hipFreeAsync(pointer, stream) if self._pools else api.hipFree(pointer))

    def upload(self, pointer: int, address: int, nbytes: int, stream: Any) -> None:
        """Copy from the host."""
        self._check(self.current().hipMemcpyHtoDAsync(pointer, address, nbytes, stream))

    def download(self, address: int, pointer: int, nbytes: int, stream: Any) -> None:
        """Copy to the host."""
        self._check(self.current().hipMemcpyDtoHAsync(address, pointer, nbytes, stream))

    def copy(self, target: int, source: int, nbytes: int, stream: Any) -> None:
        """Copy within the device."""
        self._check(self.current().hipMemcpyDtoDAsync(target, source, nbytes, stream))

    def open(self, other: Driver) -> bool:
        """Let this device copy *other*'s memory, also of its pool; False where it cannot."""
        assert isinstance(other, RocmDriver)
        api, mine, theirs = self.current(), self._index, other._index
        found = bool(self._check(api.hipDeviceCanAccessPeer(mine, theirs)))
        if found and other._pools:
            access = api.hipMemAccessDesc()
            access.location.type = api.hipMemLocationType.hipMemLocationTypeDevice
            access.location.id = mine
            access.flags = api.hipMemAccessFlags.hipMemAccessFlagsProtReadWrite
            pool = self._check(api.hipDeviceGetDefaultMemPool(theirs))
            found = not int(api.hipMemPoolSetAccess(pool, access, 1)[0])
        return found

    def fetch(self, target: int, other: Driver, source: int, nbytes: int, stream: Any) -> None:
        """Copy memory of *other*, a device that this one reaches."""
        assert isinstance(other, RocmDriver)
        api, mine, theirs = self.current(), self._index, other._index
        self._check(api.hipMemcpyPeerAsync(target, mine, source, theirs, nbytes, stream))

    def new_stream(self) -> Any:
        """A non-blocking stream."""
        return self._check(self.current().hipStreamCreateWithFlags(_NON_BLOCKING))

    def delete_stream(self, stream: Any) -> None:
        """Destroy a stream; work in it still completes."""
        self._check(self.current().hipStreamDestroy(stream))

    def synchronize(self, stream: Any) -> None:
        """Wait for all work in *stream*."""
        self._check(self.current().hipStreamSynchronize(stream))

    def record(self, stream: Any) -> Any:
        """A new event at this point of *stream*."""
        api = self.current()
        event = self._check(api.hipEventCreateWithFlags(_TIMED_EVENT))
        self._check(api.hipEventRecord(event, stream))
        return event

    def follow(self, stream: Any, event: Any) -> None:
        """Let further work in *stream* wait for *event*."""
        self._check(self.current().hipStreamWaitEvent(stream, event, 0))

    def wait(self, event: Any) -> None:
        """Let the host wait for *event*."""
        self._check(self.current().hipEventSynchronize(event))

    def elapsed(self, start: Any, stop: Any) -> float:
        """Seconds between two events that were reached."""
        return float(self._check(self.current().hipEventElapsedTime(start, stop))) * 1e-3

    def delete_event(self, event: Any) -> None:
        """Destroy an event."""
        self._check(self.current().hipEventDestroy(event))

    def load(self, binary: bytes) -> Any:
        """Load a code object."""
        return self._check(self.current().hipModuleLoadData(binary))

    def function(self, module: Any, name: str) -> Any:
        """A kernel of a module."""
        result = self.current().hipModuleGetFunction(module, name.encode())
        if int(result[0]):
            raise DeviceError(f"kernel {name!r}: {_describe(self._api, result[0])}")
        return result[1]

    def _attribute(self, name: str) -> int | None:
        """An attribute of the device; None where this runtime does not have it."""
        wanted = getattr(self._api.hipDeviceAttribute_t, f"hipDeviceAttribute{name}", None)
        if wanted is None:
            return None
        status, number = self._api.hipDeviceGetAttribute(wanted, self._index)
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

    def launch(self, function: Any, grid: Dim3, block: Dim3, stream: Any, arguments: int) -> None:
        """Launch a kernel without dynamic shared memory."""
        result = self.current().hipModuleLaunchKernel(
            function, *grid, *block, 0, stream, arguments, None
        )
        self._check(result, LaunchError)


class RocmDevice(GpuDevice):
    """One AMD GPU."""

    platform = "rocm"

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
    from portmp.codegen import platform

    properties = _properties(api, index)
    return properties, replace(platform.ROCM.defaults, warp_size=properties.warp_size)


def find_devices() -> list[RocmDevice]:
    """All AMD GPUs; BackendUnavailable says in one sentence why there are none."""
    api, count = _api()
    compiler = HiprtcCompiler()
    return [
        RocmDevice(index, RocmDriver(api, index), *facts_of(api, index), compiler)
        for index in range(count)
    ]
