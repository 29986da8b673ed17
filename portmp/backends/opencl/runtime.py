"""OpenCL through pyopencl: any GPU, and CPUs through PoCL or Intel's runtime."""

from __future__ import annotations

import contextlib
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from portmp.backends import capabilities, rapl
from portmp.backends.base import (
    Act,
    Buffer,
    Device,
    Dim3,
    Event,
    Given,
    Host,
    Kernel,
    Launch,
    LaunchMemory,
    Properties,
)
from portmp.backends.cuda import energy as nvml
from portmp.backends.energy import Meter
from portmp.backends.opencl import drivers
from portmp.backends.opencl.blas import Clblast
from portmp.backends.pool import Part, Places, Pool, PooledDevice, PooledQueue, Reserve
from portmp.backends.rocm import energy as amdsmi
from portmp.codegen import platform
from portmp.codegen.platform import Traits
from portmp.compilers.opencl import OpenclCompiler
from portmp.errors import BackendUnavailable, DeviceError, LaunchError, OutOfMemory, PortmpError

REMEDY = (
    "Intel's by pip install intel-opencl-rt intel-cmplr-lib-rt (x86-64), or the system's, on "
    "Debian and Ubuntu apt-get install pocl-opencl-icd"
)


class ClBuffer(Part):
    """A cl_mem."""

    __slots__ = ()

    mem: Any = vars(Part)["place"]


_SCALARS: dict[type | None, type | None] = {LaunchMemory: None, int: np.int64}
"""Types that pyopencl names otherwise."""


def _types(args: Given) -> list[type | None]:
    """The types of arguments: untyped, pyopencl finds each anew, in microseconds an argument."""
    kinds = [None if isinstance(a, Buffer) else type(a) for a in args]
    return [_SCALARS.get(kind, kind) for kind in kinds]


class ClKernel(Kernel):
    """A cl_kernel of a program."""

    def __init__(self, name: str, program: Any) -> None:
        self.name = name
        self.program = program
        self.kernel = self.another()
        self.lock = threading.Lock()
        self.typed = False

    def another(self) -> Any:
        """A cl_kernel of its own, with arguments of its own."""
        import pyopencl as cl

        return cl.Kernel(self.program, self.name)


class ClEvent(Event):
    """A profiled marker."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def wait(self) -> None:
        self.event.wait()

    def reached(self) -> bool:
        return int(self.event.command_execution_status) <= 0  # complete, or failed

    def seconds_since(self, earlier: Event) -> float:
        assert isinstance(earlier, ClEvent)
        earlier.wait()
        self.wait()
        return float(self.event.profile.end - earlier.event.profile.end) * 1e-9


class ClQueue(PooledQueue):
    """An in-order command queue with profiling."""

    def __init__(self, device: ClDevice) -> None:
        import pyopencl as cl

        self.device: ClDevice = device
        properties = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(device.context, device.handle, properties)
        self.pool = Pool(device)
        self._cl = cl

    @contextlib.contextmanager
    def _explained(self, what: str, kind: type[PortmpError] = DeviceError) -> Iterator[None]:
        """Turn pyopencl's exceptions into ours; memory is often taken only at first use."""
        try:
            yield
        except self._cl.Error as error:
            raise self._explanation(error, what, kind) from None

    def _explanation(self, error: Exception, what: str, kind: type[PortmpError]) -> PortmpError:
        """The error of ours for one of pyopencl's."""
        if not isinstance(error, self._cl.MemoryError):
            return kind(f"{self.device.name}, {what}: {error}")
        self.device.reserve.drain()  # for whoever tries again
        return OutOfMemory(
            f"{self.device.name}, {what}: memory is used up: {self.device.room()} ({error})"
        )

    def write(self, target: Buffer, source: Host, offset: int = 0, *, wait: bool = True) -> None:
        assert isinstance(target, ClBuffer)
        if source.nbytes:
            what = f"copy of {source.nbytes} bytes to the device"
            self._copy(what, target.mem, source, dst_offset=offset, is_blocking=wait)

    def read(self, source: Buffer, target: Host, offset: int = 0, *, wait: bool = True) -> None:
        assert isinstance(source, ClBuffer)
        what = f"copy of {target.nbytes} bytes to the host"
        if target.nbytes:
            self._copy(what, target, source.mem, src_offset=offset, is_blocking=wait)
        elif wait:
            with self._explained(what):
                self.queue.finish()

    def copy(
        self, target: Buffer, source: Buffer, nbytes: int, start: int = 0, offset: int = 0
    ) -> None:
        assert isinstance(target, ClBuffer) and isinstance(source, ClBuffer)
        if nbytes:
            how = {"byte_count": nbytes, "dst_offset": start, "src_offset": offset}
            self._copy(f"copy of {nbytes} bytes", target.mem, source.mem, **how)

    def _copy(self, what: str, target: Any, source: Any, **how: int) -> None:
        try:
            self._cl.enqueue_copy(self.queue, target, source, **how)
        except self._cl.Error as error:
            raise self._explanation(error, what, DeviceError) from None

    def _relauncher(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given, places: Mapping[int, int]
    ) -> Callable[[Given], None]:
        assert isinstance(kernel, ClKernel)
        values = [
            None if i in places else a.mem if type(a) is ClBuffer else a for i, a in enumerate(args)
        ]
        memory = [(i, n) for i, n in places.items() if isinstance(args[i], Buffer)]
        numbers = [(i, n) for i, n in places.items() if not isinstance(args[i], Buffer)]
        if args and type(args[-1]) is LaunchMemory:
            values[-1] = self._cl.LocalMemory(max(args[-1].nbytes, 1))
        size = tuple(g * b for g, b in zip(grid, block, strict=True))
        enqueue, queue = self._cl.enqueue_nd_range_kernel, self.queue
        handle, lock = kernel.kernel, kernel.lock
        if not kernel.typed:
            with self._explained(f"kernel {kernel.name}", LaunchError), lock:
                handle.set_scalar_arg_dtypes(_types(args))
                kernel.typed = True

        def run(given: Sequence[Any]) -> None:
            # Arguments belong to the kernel object, which all threads share. An object for each
            # launch that is repeated would take longer to make than most save.
            filled = values.copy()  # which keeps no memory
            for place, index in memory:
                filled[place] = given[index].mem
            for place, index in numbers:
                filled[place] = given[index]
            try:
                with lock:
                    handle.set_args(*filled)
                    enqueue(queue, handle, size, block)
            except self._cl.Error as error:
                what = f"kernel {kernel.name}, grid {grid}, block {block}"
                raise self._explanation(error, what, LaunchError) from None

        return run

    def _act(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given
    ) -> tuple[Act, tuple[Any, ...]]:
        return ClQueue._once, (self._relauncher(kernel, grid, block, args, {}), kernel, grid, block)

    def _once(self, run: Callable[[Given], None], *told: object) -> None:
        run(())

    def repeater(self, launches: Sequence[Launch]) -> Callable[[int], None]:
        """A list of kernels, each an object of its own with its arguments."""
        prepared = [
            self._prepared(one) if one.act is ClQueue._once else one.run for one in launches
        ]

        def run(times: int) -> None:
            for _ in range(times):
                for enqueue in prepared:
                    enqueue()

        return run

    def _prepared(self, launch: Launch) -> Callable[[], None]:
        """What launches a kernel whose arguments are set already."""
        (_, kernel, grid, block), args = launch.given, launch.args
        size = tuple(g * b for g, b in zip(grid, block, strict=True))
        what = f"kernel {kernel.name}, grid {grid}, block {block}"
        local = [self._cl.LocalMemory(max(a.nbytes, 1)) for a in args if type(a) is LaunchMemory]
        with self._explained(what, LaunchError):
            handle = kernel.another()
            handle.set_scalar_arg_dtypes(_types(args))
            given = [a.mem if type(a) is ClBuffer else a for a in args]
            handle.set_args(*given[: len(args) - len(local)], *local)
        enqueue, queue, failed = self._cl.enqueue_nd_range_kernel, self.queue, self._cl.Error

        def run() -> None:
            try:
                enqueue(queue, handle, size, block)
            except failed as error:
                raise self._explanation(error, what, LaunchError) from None

        return run

    def record(self) -> ClEvent:
        with self._explained("a mark"):
            return ClEvent(self._cl.enqueue_marker(self.queue))

    def wait(self, event: Event) -> None:
        if isinstance(event, ClEvent) and event.event.context == self.device.context:
            with self._explained("waiting for a mark"):
                self._cl.enqueue_barrier(self.queue, wait_for=[event.event])
        else:
            super().wait(event)

    def synchronize(self) -> None:
        with self._explained("waiting"):
            self.queue.finish()


class ClDevice(PooledDevice):
    """One OpenCL device in a context of its own."""

    platform = "opencl"
    kind = ClBuffer
    most_blocks = (2**63 - 1,) * 3
    fragile = True
    compiler: OpenclCompiler

    def __init__(self, index: int, handle: Any) -> None:
        import pyopencl as cl

        self._cl = cl
        self.index = index
        self.handle = handle
        self.context = cl.Context([handle])
        self.properties = _properties(handle)
        gpu = self.properties.kind == "gpu"
        # CPU runtimes call fma() as a function (or fail on wide vectors): contract instead.
        # Their estimates of roots are coarse or none at all.
        self.traits = Traits(
            warp_size=self.properties.warp_size,
            fma="builtin" if gpu else "contracted",
            root=_root(self.properties),
            dot4=capabilities.dot4(self.properties.arch),
            exchange=capabilities.exchange(self.properties.arch),
            matrix_unit=capabilities.matrix_unit(
                self.properties.arch, platform.OPENCL.matrix_units
            ),
            wide_atomics="cl_khr_int64_base_atomics" in handle.extensions,
            vector_bits=_vector_bits(handle),
        )
        self.compiler = OpenclCompiler(self.context, handle)
        self.reserve = Reserve(self.properties.memory)
        self.queue = ClQueue(self)

    library_words = ("float32", "float64")

    def library(self) -> Clblast:
        """CLBlast; BackendUnavailable where pyclblast is not installed."""
        return Clblast()

    def take(self, sizes: Sequence[int], stream: Any) -> Places:
        """A cl_mem for each part, which the driver backs by memory at its first use.

        Memory taken at once would be migrated: NVIDIA's driver 580 crashes where another thread
        uses the queue meanwhile. Parts of one cl_mem would be no gain: it takes seconds to release
        parts of many gigabytes that were written piecewise.
        """
        total, limit = sum(sizes), int(self.handle.max_mem_alloc_size)
        if max(sizes, default=0) > limit:
            raise OutOfMemory(
                f"{self.name} ({self.properties.name}): {total} bytes asked for, one allocation "
                f"may have {limit}, {self.room()}"
            )
        flags = self._cl.mem_flags.READ_WRITE
        try:
            return tuple([self._cl.Buffer(self.context, flags, max(n, 1)) for n in sizes])
        except self._cl.Error as error:
            raise self._exhausted(total, error) from None

    def give(self, places: Places, stream: Any) -> None:
        """Nothing: a cl_mem goes with its last reference, once all work with it is done."""

    def _exhausted(self, nbytes: int, error: Exception) -> OutOfMemory:
        name = self.properties.name
        return OutOfMemory(f"{name}: {nbytes} bytes asked for, {self.room()}: {error}")

    @property
    def remedy(self) -> str:
        """Other drivers for the same device."""
        if self.properties.kind == "gpu":
            return f"update the driver of {self.properties.vendor}"
        return f"other drivers for CPUs: {REMEDY}"

    def new_queue(self) -> ClQueue:
        queue = ClQueue(self)
        weakref.finalize(queue, queue.pool.close).atexit = False
        return queue

    def host_memory(self, nbytes: int) -> Host:
        cl, size = self._cl, max(nbytes, 1)
        assert isinstance(self.queue, ClQueue)
        queue = self.queue.queue
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        try:
            held = cl.Buffer(self.context, flags, size)
            use = cl.map_flags.READ | cl.map_flags.WRITE
            memory, _ = cl.enqueue_map_buffer(queue, held, use, 0, size, np.uint8)
        except cl.Error as error:
            raise self._exhausted(nbytes, error) from None
        found: Host = memory[:nbytes]
        return found

    def compile(self, source: str) -> bytes:
        spoiled = self.traits.barriers == "unoptimised" and _negates_at_barriers(source)
        more = ("-cl-opt-disable",) if spoiled else ()
        return self.compiler.compile(source, self.properties.arch, *more)

    def compiler_key(self) -> str:
        p = self.properties
        options = " ".join(self.compiler.options(p.arch))
        return f"opencl {self.compiler.version()} {p.name} {p.arch} {options}"

    def current_clock_mhz(self) -> float | None:
        return _host_clock(Path("/proc/cpuinfo")) if self.properties.kind == "cpu" else None

    def energy_meters(self) -> Sequence[Meter]:
        """Those of the host's processors for a CPU, of its vendor's library for a GPU."""
        if self.properties.kind == "cpu":
            return rapl.meters()
        for place_of, meters in _BOARDS:
            try:
                address = place_of(self.handle)
            except (self._cl.Error, AttributeError):  # the query is another vendor's, or too new
                continue
            return meters(address)
        raise BackendUnavailable(
            f"{self.name}: no library is known that tells the energy of a GPU of "
            f"{self.properties.vendor}"
        )

    def separate_caches(self, folder: Path) -> dict[str, str]:
        """Those of PoCL, the only driver known to keep what it compiles in files."""
        return {drivers.CACHE: str(folder)}

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        try:
            program = self.compiler.program(binary)
            return {name: ClKernel(name, program) for name in kernels}
        except self._cl.Error as error:
            raise LaunchError(f"{self.name}: the binary does not load: {error}") from None


_NEGATION = re.compile(
    r"([^\s\w)\]-]|\breturn|\b(float|double)\d*\))\s*-\s*([A-Za-z_(]|[01]\.0*f?\s*[*-])|[*/]\s*-"
)
"""A minus with nothing to its left; of literals only -1 in products and -0 are negations."""


def _negates_at_barriers(source: str) -> bool:
    """Whether a block of several work-items has barriers, and something is negated."""
    several = source.count("__kernel ") > source.count("reqd_work_group_size(1, 1, 1)")
    return several and "barrier(" in source and _NEGATION.search(source) is not None


_BUS_DEVICES = 32
"""Devices that a bus may have."""


def _nvidia_place(handle: Any) -> str:
    """The address on the bus by NVIDIA's queries; pyopencl's errors where they are not known.

    The slot is the device's number (driver 580 on an H200). Numbers that no device has would be
    the device's and the function's together.
    """
    slot = int(handle.pci_slot_id_nv)
    device, function = (slot, 0) if slot < _BUS_DEVICES else divmod(slot, 8)
    domain = int(handle.pci_domain_id_nv)
    return f"{domain:04x}:{int(handle.pci_bus_id_nv):02x}:{device:02x}.{function}"


def _amd_place(handle: Any) -> str:
    """The same by AMD's query, which tells no domain. Its numbers are signed bytes."""
    found = handle.topology_amd
    bus, slot, function = (int(n) & 0xFF for n in (found.bus, found.device, found.function))
    return f"0000:{bus:02x}:{slot:02x}.{function}"


_BOARDS: tuple[tuple[Callable[[Any], str], Callable[[str], Sequence[Meter]]], ...] = (
    (_nvidia_place, nvml.meters),
    (_amd_place, amdsmi.meters),
)
"""How a vendor's driver tells where a GPU is, and what tells its energy."""


def _vector_bits(handle: Any) -> int:
    """The trait: PoCL 3.0 dies of vectors of 512 bits on AMD's CPUs with AVX-512.

    Its LLVM 14 does not know them: it compiles for one without AVX-512, and links functions that
    need it. Elsewhere the probe would find out, in some seconds.
    """
    facts = ""
    with contextlib.suppress(OSError):
        facts = Path("/proc/cpuinfo").read_text()
    dies = "PoCL 3.0" in handle.platform.version and "AuthenticAMD" in facts and "avx512f" in facts
    return 256 if dies else 512


def _root(facts: Properties) -> str:
    """The trait: NVIDIA's native_rsqrt scales subnormals, which its instruction does not."""
    if facts.kind == "cpu":
        return "ieee"
    return "assembly" if facts.vendor.startswith("NVIDIA") else "estimate"


def _properties(handle: Any) -> Properties:
    import pyopencl as cl

    gpu = bool(handle.type & (cl.device_type.GPU | cl.device_type.ACCELERATOR))
    told = (getattr(handle, name, 0) for name in ("warp_size_nv", "wavefront_width_amd"))
    warp = int(next(filter(None, told), 32)) if gpu else 1
    return Properties(
        name=handle.name.strip(),
        vendor=handle.vendor.strip(),
        driver=handle.driver_version.strip(),
        arch=_architecture(handle),
        kind="gpu" if gpu else "cpu",
        compute_units=int(handle.max_compute_units),
        warp_size=warp,
        # Blocks lie along the first axis, which some drivers limit further.
        max_threads=min(int(handle.max_work_group_size), int(handle.max_work_item_sizes[0])),
        shared_memory=int(handle.local_mem_size),
        memory=int(handle.global_mem_size),
        float64="cl_khr_fp64" in handle.extensions,
        alignment=max(int(handle.mem_base_addr_align) // 8, 128),
        clock_mhz=int(handle.max_clock_frequency),
        extra={"platform": f"{handle.platform.name.strip()} {handle.platform.version.strip()}"},
    )


def _host_clock(table: Path) -> float | None:
    """The fastest core's clock: the others may be idle. OpenCL itself tells none."""
    with contextlib.suppress(OSError):
        clocks = re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", table.read_text(), re.MULTILINE)
        return max(map(float, clocks), default=None)
    return None


def _architecture(handle: Any) -> str:
    major = getattr(handle, "compute_capability_major_nv", None) if "NVIDIA" in handle.vendor else 0
    if major:
        return f"sm_{major}{handle.compute_capability_minor_nv}"
    return str(handle.name).strip().replace(" ", "-")


def _preference(handle: Any) -> tuple[bool, bool, list[int]]:
    """Sort key: GPUs first, then PoCL (newest first), then other CPU runtimes."""
    import pyopencl as cl

    version = str(handle.platform.version)
    pocl = re.search(r"PoCL (\d+)\.(\d+)", version)
    newest = [-int(n) for n in pocl.groups()] if pocl else [0]
    return (not handle.type & cl.device_type.GPU, pocl is None, newest)


def find_devices() -> list[Device]:
    """All OpenCL devices of all platforms, GPUs first; BackendUnavailable when there are none."""
    drivers.gather()
    try:
        import pyopencl as cl
    except ImportError as error:
        raise BackendUnavailable(
            f"pyopencl cannot be imported ({error}): pip install '.[opencl]' in a checkout of "
            "portmp"
        ) from None
    handles = []
    with drivers.settled():
        platforms = []
        with contextlib.suppress(cl.Error):
            platforms = cl.get_platforms()
        invited = [p for p in platforms if not drivers.uninvited(p.int_ptr)]
        for each in {(p.name, p.version): p for p in invited}.values():
            with contextlib.suppress(cl.Error):
                handles += each.get_devices()
    if not handles:
        raise BackendUnavailable(f"no OpenCL device found; {drivers.remedy()}")
    handles.sort(key=_preference)
    found: list[Device] = []
    problems = []
    for handle in handles:
        try:
            found.append(ClDevice(len(found), handle))
        except cl.Error as error:
            problems.append(f"{handle.name.strip()}: {error}")
    if not found:
        raise BackendUnavailable(f"no OpenCL device opens ({'; '.join(problems)})")
    return found
