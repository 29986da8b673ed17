"""NVIDIA GPUs through the CUDA driver API (cuda-bindings)."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from portmp.backends import capabilities, trial
from portmp.backends.base import Properties
from portmp.backends.blas import BlasLibrary
from portmp.backends.cuda import nccl, nvml
from portmp.backends.cuda.blas import CUBLAS, cublas
from portmp.backends.cuda.energy import meters
from portmp.backends.cuda.nccl import NcclChannel
from portmp.backends.cuda.nvml import Board
from portmp.backends.driver_api import Driver, GpuDevice, Names
from portmp.backends.energy import Meter
from portmp.codegen import platform
from portmp.codegen.platform import Traits
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import BackendUnavailable, DeviceError, LaunchError, PortmpError

_INSTALL = "pip install cuda-bindings nvidia-cuda-nvrtc"
_KEPT_SHARE = 2
"""Of the device's memory the pool keeps one part in so many when it is freed. Other code of this
process can have it: the driver takes it from the pool where memory is short (tried with 120 of 140
GB); other processes cannot, before ``give_back``. With less, a factorisation of 16384 rows spends a
fifth of its time on giving memory back and asking for it again."""


def _describe(api: Any, status: Any) -> str:
    """Name and text of an error."""
    parts = []
    for call in (api.cuGetErrorName, api.cuGetErrorString):
        failed, text = call(status)
        if not int(failed) and text:
            parts.append(text.decode())
    return ": ".join(parts) or str(status)


NAMES = Names(
    prefix="cu",
    make_current="CtxSetCurrent",
    allocate="MemAlloc",
    allocate_async="MemAllocAsync",
    free="MemFree",
    free_async="MemFreeAsync",
    allocate_host="MemHostAlloc",
    free_host="MemFreeHost",
    pool_access="CUmemAccessDesc",
    on_device="CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE",
    read_write="CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE",
    out_of_memory="CUresult.CUDA_ERROR_OUT_OF_MEMORY",
    stream_create="StreamCreate",
    event_create="EventCreate",
    launch="LaunchKernel",
    launch_together="LaunchCooperativeKernel",
    extra=0,
    lists=True,
    capture_mode="CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL",
    graph_create="GraphInstantiate",
)
"""The driver API, as cuda-bindings names it."""


class CudaDriver(Driver):
    """The driver API on the primary context, which other CUDA libraries share."""

    names = NAMES

    def __init__(self, api: Any, device: Any) -> None:
        super().__init__(api, device)
        self._pools = bool(self.attribute("MEMORY_POOLS_SUPPORTED"))

    def _describe(self, status: Any) -> str:
        return _describe(self._api, status)

    def attribute(self, name: str) -> int:
        """An attribute of the device."""
        wanted = getattr(self._api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._check(self._api.cuDeviceGetAttribute(wanted, self._device)))

    @cached_property
    def _context(self) -> Any:
        # Retained on first use, since a context takes time and hundreds of megabytes.
        context = self._check(self._api.cuDevicePrimaryCtxRetain(self._device))
        if self._pools:
            self._keep_freed_memory()
        return context

    @cached_property
    def _pool(self) -> Any:
        return self._check(self._api.cuDeviceGetDefaultMemPool(self._device))

    def _keep_freed_memory(self) -> None:
        """Let the pool keep a share of memory: else each wait gives all of it back.

        Streams do not wait for what others free, but where that is asked for (``pool``).
        """
        api = self._api
        kept = self._check(api.cuDeviceTotalMem(self._device)) // _KEPT_SHARE
        about = api.CUmemPool_attribute
        threshold = about.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self._check(api.cuMemPoolSetAttribute(self._pool, threshold, api.cuuint64_t(kept)))
        waits = about.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
        self._check(api.cuMemPoolSetAttribute(self._pool, waits, 0))

    def memory(self) -> tuple[int, int]:
        """Free and total bytes; what the pool keeps unused is free."""
        free, total = super().memory()
        if self._pools:
            about = self._api.CUmemPool_attribute
            used, kept = (
                int(self._check(self._api.cuMemPoolGetAttribute(self._pool, which)))
                for which in (
                    about.CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                    about.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                )
            )
            free = min(free + max(kept - used, 0), total)  # others may change both meanwhile
        return free, total

    def allow_memory(self, function: Any, nbytes: int) -> None:
        attributes = self._api.CUfunction_attribute
        which = attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._check(self.current().cuFuncSetAttribute(function, which, nbytes), LaunchError)

    def resident_blocks(self, function: Any, threads: int) -> int:
        api = self.current()
        units, may = map(self.attribute, ("MULTIPROCESSOR_COUNT", "COOPERATIVE_LAUNCH"))
        each = api.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, threads, 0)
        return units * int(self._check(each)) if may else 0

    def pci_address(self) -> str:
        address: bytes = self._check(self._api.cuDeviceGetPCIBusId(32, self._device))
        return address.split(b"\0")[0].decode()

    @cached_property
    def _board(self) -> Board | None:
        """This device as NVML knows it."""
        try:
            return Board(self.pci_address())
        except PortmpError:
            return None

    def index_at(self, pointer: int) -> int:
        """The index of the device with the memory at *pointer*."""
        api = self.current()
        which = api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        status, index = api.cuPointerGetAttribute(which, pointer)
        if int(status):
            raise DeviceError(f"the memory at {pointer:#x} is no GPU's: {self._describe(status)}")
        return int(index)

    def clock_mhz(self) -> float | None:
        """The multiprocessors' clock by NVML; None without NVML or its leave."""
        try:
            return self._board.clock_mhz() if self._board else None
        except DeviceError:
            return None


class CudaDevice(GpuDevice):
    """One NVIDIA GPU."""

    platform = "cuda"
    dlpack_type = 2
    mpi_names = ("cuda",)
    driver: CudaDriver

    @cached_property
    def _library(self) -> BlasLibrary:
        return BlasLibrary(CUBLAS, cublas(), self.driver)

    def index_at(self, pointer: int) -> int:
        return self.driver.index_at(pointer) if pointer else self.index

    def library(self) -> BlasLibrary:
        """cuBLAS; BackendUnavailable where it is not installed."""
        return self._library

    def channels(self) -> type[NcclChannel]:
        """NCCL's."""
        nccl.library()
        return NcclChannel

    def energy_meters(self) -> Sequence[Meter]:
        """NVML's counter or power of the board; BackendUnavailable where it tells neither."""
        return meters(self.driver.pci_address())


def _api() -> tuple[Any, int]:
    """The initialised driver API and its number of devices."""
    try:
        from cuda.bindings import driver as api
    except ImportError as error:
        raise BackendUnavailable(f"the CUDA bindings are missing ({error}); {_INSTALL}") from error
    if how := trial.crash("cuInit=libcuda.so.1"):
        raise BackendUnavailable(
            f"the NVIDIA driver is not used: starting it {how}; install it again"
        )
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


def _driver_version(number: int) -> str:
    """``580.1 (CUDA 13.5)`` from 13050; without NVML the second half alone."""
    newest = f"CUDA {number // 1000}.{number % 1000 // 10}"
    try:
        return f"{nvml.driver_version()} ({newest})"
    except PortmpError:
        return newest


def _properties(api: Any, device: Any, driver: CudaDriver) -> Properties:
    attribute = driver.attribute
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


def _device(api: Any, index: int, compiler: NvrtcCompiler) -> CudaDevice:
    status, device = api.cuDeviceGet(index)
    if int(status):
        raise DeviceError(_describe(api, status))
    driver = CudaDriver(api, device)
    properties = _properties(api, device, driver)
    arch = properties.arch
    traits = Traits(
        properties.warp_size,
        dot4=capabilities.dot4(arch),
        matrix_unit=capabilities.matrix_unit(arch, platform.CUDA.matrix_units),
    )
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
