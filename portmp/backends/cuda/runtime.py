"""NVIDIA GPUs through the CUDA driver API (cuda-bindings)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from portmp.backends.base import Dim3, Properties
from portmp.backends.blas import BlasLibrary
from portmp.backends.cuda.blas import CUBLAS, cublas
from portmp.backends.cuda.energy import meters
from portmp.backends.driver_api import Driver, GpuDevice
from portmp.backends.energy import Meter
from portmp.codegen.platform import Traits
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import BackendUnavailable, DeviceError, LaunchError, PortmpError

_INSTALL = "pip install cuda-bindings nvidia-cuda-nvrtc"
_TIMED_EVENT = 0
_NON_BLOCKING = 1
_KEPT_SHARE = 16
_SM_CLOCK = 1
"""NVML's name of the clock of the multiprocessors."""


def _describe(api: Any, status: Any) -> str:
    """Name and text of an error."""
    parts = []
    for call in (api.cuGetErrorName, api.cuGetErrorString):
        failed, text = call(status)
        if not int(failed) and text:
            parts.append(text.decode())
    return ": ".join(parts) or str(status)


class CudaDriver(Driver):
    """The driver API on the primary context, which other CUDA libraries share."""

    def __init__(self, api: Any, device: Any) -> None:
        self._api = api
        self._device = device
        pools = api.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
        self._pools = bool(self._check(api.cuDeviceGetAttribute(pools, device)))

    @cached_property
    def _context(self) -> Any:
        # Retained on first use, since a context takes time and hundreds of megabytes.
        context = self._check(self._api.cuDevicePrimaryCtxRetain(self._device))
        if self._pools:
            self._keep_freed_memory()
        return context

    def _keep_freed_memory(self) -> None:
        """Let the pool keep a share of memory: else each wait gives all of it back."""
        api = self._api
        kept = self._check(api.cuDeviceTotalMem(self._device)) // _KEPT_SHARE
        pool = self._check(api.cuDeviceGetDefaultMemPool(self._device))
        threshold = api.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self._check(api.cuMemPoolSetAttribute(pool, threshold, api.cuuint64_t(kept)))

    def _check(self, result: tuple[Any, ...], error: type[PortmpError] = DeviceError) -> Any:
        """The value behind a successful status."""
        if int(result[0]):
            raise error(_describe(self._api, result[0]))
        return result[1] if len(result) > 1 else None

    def current(self) -> Any:
        """The API, with this device's context current in the calling thread."""
        self._check(self._api.cuCtxSetCurrent(self._context))
        return self._api

    def memory(self) -> tuple[int, int]:
        """Free and total bytes."""
        status, free, total = self.current().cuMemGetInfo()
        self._check((status,))
        return int(free), int(total)

    def allocate(self, nbytes: int, stream: Any) -> int | None:
        """Memory from the device's pool, or plain memory where there are no pools."""
        api = self.current()
        result = api.cuMemAllocAsync(nbytes, stream) if self._pools else api.cuMemAlloc(nbytes)
        if result[0] == api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            return None
        return int(self._check(result))

    def free(self, pointer: int, stream: Any) -> None:
        """Give memory back; without pools this waits for the device."""
        api = self.current()
        self._check(api.cuMemFreeAsync(pointer, stream) if self._pools else api.cuMemFree(pointer))

    def upload(self, pointer: int, address: int, nbytes: int, stream: Any) -> None:
        """Copy from the host."""
        self._check(self.current().cuMemcpyHtoDAsync(pointer, address, nbytes, stream))

    def download(self, address: int, pointer: int, nbytes: int, stream: Any) -> None:
        """Copy to the host."""
        self._check(self.current().cuMemcpyDtoHAsync(address, pointer, nbytes, stream))

    def copy(self, target: int, source: int, nbytes: int, stream: Any) -> None:
        """Copy within the device."""
        self._check(self.current().cuMemcpyDtoDAsync(target, source, nbytes, stream))

    def open(self, other: Driver) -> bool:
        """Let this device copy *other*'s memory, also of its pool; False where it cannot."""
        assert isinstance(other, CudaDriver)
        api, mine, theirs = self.current(), self._device, other._device
        found = bool(self._check(api.cuDeviceCanAccessPeer(mine, theirs)))
        if found and other._pools:
            access = api.CUmemAccessDesc()
            access.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
            access.location.id = int(mine)
            access.flags = api.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            pool = self._check(api.cuDeviceGetDefaultMemPool(theirs))
            found = not int(api.cuMemPoolSetAccess(pool, [access], 1)[0])
        return found

    def fetch(self, target: int, other: Driver, source: int, nbytes: int, stream: Any) -> None:
        """Copy memory of *other*, a device that this one reaches."""
        assert isinstance(other, CudaDriver)
        api, mine, theirs = self.current(), self._context, other._context
        self._check(api.cuMemcpyPeerAsync(target, mine, source, theirs, nbytes, stream))

    def new_stream(self) -> Any:
        """A non-blocking stream."""
        return self._check(self.current().cuStreamCreate(_NON_BLOCKING))

    def delete_stream(self, stream: Any) -> None:
        """Destroy a stream; work in it still completes."""
        self._check(self.current().cuStreamDestroy(stream))

    def synchronize(self, stream: Any) -> None:
        """Wait for all work in *stream*."""
        self._check(self.current().cuStreamSynchronize(stream))

    def record(self, stream: Any) -> Any:
        """A new event at this point of *stream*."""
        api = self.current()
        event = self._check(api.cuEventCreate(_TIMED_EVENT))
        self._check(api.cuEventRecord(event, stream))
        return event

    def follow(self, stream: Any, event: Any) -> None:
        """Let further work in *stream* wait for *event*."""
        self._check(self.current().cuStreamWaitEvent(stream, event, 0))

    def wait(self, event: Any) -> None:
        """Let the host wait for *event*."""
        self._check(self.current().cuEventSynchronize(event))

    def elapsed(self, start: Any, stop: Any) -> float:
        """Seconds between two events that were reached."""
        return float(self._check(self.current().cuEventElapsedTime(start, stop))) * 1e-3

    def delete_event(self, event: Any) -> None:
        """Destroy an event."""
        self._check(self.current().cuEventDestroy(event))

    def load(self, binary: bytes) -> Any:
        """Load a cubin."""
        return self._check(self.current().cuModuleLoadData(binary))

    def function(self, module: Any, name: str) -> Any:
        """A kernel of a module."""
        result = self.current().cuModuleGetFunction(module, name.encode())
        if int(result[0]):
            raise DeviceError(f"kernel {name!r}: {_describe(self._api, result[0])}")
        return result[1]

    def pci_address(self) -> str:
        """Where the device is on the bus, ``0000:19:00.0``."""
        address: bytes = self._check(self._api.cuDeviceGetPCIBusId(32, self._device))
        return address.split(b"\0")[0].decode()

    @cached_property
    def _managed(self) -> ctypes.c_void_p | None:
        """This device as NVML knows it."""
        nvml, handle = _nvml(), ctypes.c_void_p()
        address = self.pci_address().encode()
        if nvml is None or nvml.nvmlDeviceGetHandleByPciBusId_v2(address, ctypes.byref(handle)):
            return None
        return handle

    def clock_mhz(self) -> float | None:
        """The multiprocessors' clock by NVML; None without NVML or its leave."""
        nvml, clock = _nvml(), ctypes.c_uint()
        if nvml is None or self._managed is None:
            return None
        if nvml.nvmlDeviceGetClockInfo(self._managed, _SM_CLOCK, ctypes.byref(clock)):
            return None
        return float(clock.value)

    def launch(self, function: Any, grid: Dim3, block: Dim3, stream: Any, arguments: int) -> None:
        """Launch a kernel without dynamic shared memory."""
        result = self.current().cuLaunchKernel(function, *grid, *block, 0, stream, arguments, 0)
        self._check(result, LaunchError)


class CudaDevice(GpuDevice):
    """One NVIDIA GPU."""

    platform = "cuda"

    @cached_property
    def _library(self) -> BlasLibrary:
        return BlasLibrary(CUBLAS, cublas(), self.driver)

    def library(self) -> BlasLibrary:
        """cuBLAS; BackendUnavailable where it is not installed."""
        return self._library

    def energy_meters(self) -> Sequence[Meter]:
        """NVML's counter or power of the board; BackendUnavailable where it tells neither."""
        return meters(self.driver.pci_address())


def _api() -> tuple[Any, int]:
    """The initialised driver API and its number of devices."""
    try:
        from cuda.bindings import driver as api
    except ImportError as error:
        raise BackendUnavailable(f"the CUDA bindings are missing ({error}); {_INSTALL}") from error
    try:
        (status,) = api.cuInit(0)
    except Exception as error:  # the bindings raise several types for a missing library
        raise BackendUnavailable(
            "no NVIDIA driver is found on this machine; install the driver of the GPU"
        ) from error
    if int(status):
        raise BackendUnavailable(f"the NVIDIA driver does not start: {_describe(api, status)}")
    status, count = api.cuDeviceGetCount()
    if int(status) or not count:
        raise BackendUnavailable("the NVIDIA driver reports no GPU")
    return api, int(count)


@cache
def _nvml() -> Any:
    """NVIDIA's management library, started once; None where it is missing or does not start."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        return None if nvml.nvmlInit_v2() else nvml
    except (OSError, AttributeError):
        return None


def _driver_version(number: int) -> str:
    """``580.1 (CUDA 13.5)`` from 13050; without NVML the second half alone."""
    newest = f"CUDA {number // 1000}.{number % 1000 // 10}"
    nvml, text = _nvml(), ctypes.create_string_buffer(80)
    if nvml is None or nvml.nvmlSystemGetDriverVersion(text, len(text)):
        return newest
    return f"{text.value.decode(errors='replace')} ({newest})"


def _properties(api: Any, device: Any, driver: CudaDriver) -> Properties:
    attributes = api.CUdevice_attribute

    def attribute(name: str) -> int:
        wanted = getattr(attributes, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(driver._check(api.cuDeviceGetAttribute(wanted, device)))

    name = driver._check(api.cuDeviceGetName(256, device))
    major = attribute("COMPUTE_CAPABILITY_MAJOR")
    minor = attribute("COMPUTE_CAPABILITY_MINOR")
    return Properties(
        name=name.split(b"\0")[0].decode(errors="replace"),
        vendor="NVIDIA",
        driver=_driver_version(int(driver._check(api.cuDriverGetVersion()))),
        arch=f"sm_{major}{minor}",
        kind="gpu",
        compute_units=attribute("MULTIPROCESSOR_COUNT"),
        warp_size=attribute("WARP_SIZE"),
        max_threads=attribute("MAX_THREADS_PER_BLOCK"),
        shared_memory=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        memory=int(driver._check(api.cuDeviceTotalMem(device))),
        float64=True,
        clock_mhz=attribute("CLOCK_RATE") // 1000,
        # What a kernel may declare; more takes dynamic shared memory.
        extra={"static_shared_memory": attribute("MAX_SHARED_MEMORY_PER_BLOCK")},
    )


def _dot4(arch: str) -> str:
    """The trait: the instruction came with compute capability 6.1."""
    return "assembly" if int(arch.removeprefix("sm_")) >= 61 else "plain"


def _device(api: Any, index: int, compiler: NvrtcCompiler) -> CudaDevice:
    status, device = api.cuDeviceGet(index)
    if int(status):
        raise DeviceError(_describe(api, status))
    driver = CudaDriver(api, device)
    properties = _properties(api, device, driver)
    traits = Traits(properties.warp_size, dot4=_dot4(properties.arch))
    return CudaDevice(index, driver, properties, traits, compiler)


def find_devices() -> list[CudaDevice]:
    """All NVIDIA GPUs; BackendUnavailable says in one sentence why there are none."""
    api, count = _api()
    compiler = NvrtcCompiler()
    found = []
    for index in range(count):
        try:
            found.append(_device(api, index, compiler))
        except DeviceError as error:
            raise BackendUnavailable(f"cuda:{index} cannot be used: {error}") from error
    return found
