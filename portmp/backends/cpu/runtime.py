"""The machine's processor: OpenCL C compiled by a plain clang, launched on a pool of threads.

No driver: kernels are shared libraries, their memory is the host's, and ``pool.c``, compiled by the
same clang, shares out their blocks.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import platform as machine
import re
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np

from portmp import paths
from portmp.backends import rapl
from portmp.backends.base import (
    Act,
    Buffer,
    Dim3,
    Given,
    Host,
    Kernel,
    Launch,
    LaunchMemory,
    Properties,
    check_process,
    is_lost,
)
from portmp.backends.energy import Meter
from portmp.backends.host.runtime import NearQueue, machine_memory
from portmp.backends.pool import Part, Places, Pool, PooledDevice, PooledQueue, Reserve
from portmp.codegen.platform import Traits
from portmp.compilers import cpu
from portmp.errors import BackendUnavailable, CompileError, LaunchError, OutOfMemory

POOL = Path(__file__).with_name("pool.c")
ALIGNMENT = 128
"""Bytes: two lines of a cache, which processors fetch together."""
LEVELS = {
    "x86-64-v2": ("ssse3", "sse4_2", "popcnt"),
    "x86-64-v3": ("avx2", "fma", "bmi2"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""Levels that code may be asked for, with words of the system for what they need."""
MOST_ITEMS, SHARED = 1024, 1 << 19
"""Work-items of a block, as pool.c has them; bytes of block memory."""


def _functions_of_memory() -> tuple[Callable[[int], int | None], Callable[[int], None]]:
    """What gives memory at a multiple of ALIGNMENT, and what takes it back: the C library's."""
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    take, give = (
        (library._aligned_malloc, library._aligned_free)
        if sys.platform == "win32"
        else (library.aligned_alloc, library.free)
    )
    take.restype, give.restype, give.argtypes = ctypes.c_void_p, None, [ctypes.c_void_p]
    take.argtypes = [ctypes.c_size_t] * 2

    def taken(nbytes: int) -> int | None:
        whole = -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
        asked = (whole, ALIGNMENT) if sys.platform == "win32" else (ALIGNMENT, whole)
        found: int | None = take(*asked)
        return found

    return taken, give


_take, _give = _functions_of_memory()


class CpuKernel(Kernel):
    """A kernel at a *place* that the device's threads know."""

    def __init__(self, name: str, place: Any, prints: bool = False) -> None:
        self.name, self.place, self.prints = name, place, prints


def _place(name: str, library: ctypes.CDLL) -> int:
    """What the pool knows of a function of a library, which stays loaded."""
    run, call, here = (
        ctypes.cast(getattr(library, f, None) or 0, ctypes.c_void_p).value or 0
        for f in (f"portmp_run_{name}", f"portmp_call_{name}", "portmp_here")
    )
    if not (run or call):
        raise LaunchError(f"the binary has no kernel {name!r}")
    facts = (ctypes.c_int64 * 4)(run, call, here, 0)
    _facts.append(facts)
    return ctypes.addressof(facts)


_facts: list[Any] = []
"""What the pool knows of kernels, which stays: launches may end after their kernel's last use."""

_TURNS = 1000
"""How often a list is repeated by one call."""

_CODES = {"?": "?7x", "b": "b7x", "B": "B7x", "h": "h6x", "H": "H6x", "e": "e6x"}
_CODES |= {"i": "i4x", "I": "I4x", "l": "q", "L": "Q", "q": "q", "Q": "Q", "f": "f4x", "d": "d"}
"""How numbers lie in their eight bytes, by NumPy's letters."""


class CpuQueue(NearQueue, PooledQueue):
    """Launches in order."""

    def __init__(self, device: CpuDevice) -> None:
        self.device: CpuDevice = device
        self.pool = Pool(device)
        self._threads = device.threads
        self._place = self._threads.new_queue()
        self._prints = False

    def _part(self, buffer: Part, nbytes: int, offset: int) -> Host:
        memory = (ctypes.c_uint8 * nbytes).from_address(self.device.shift + buffer.place + offset)
        span: Host = np.ctypeslib.as_array(memory)
        return span

    def _relauncher(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given, places: Mapping[int, int]
    ) -> Callable[[Given], None]:
        packed, facts, shape = self._packed(kernel, grid, block, args, places)
        (pack, nbytes), values, memory, numbers = packed
        launch, queue = self._threads.launch, self._place

        def run(given: Sequence[Any]) -> None:
            filled = values.copy()
            for place, index in memory:
                filled[place] = given[index].place
            for place, index in numbers:
                filled[place] = given[index]
            if failed := launch(queue, facts, shape, pack(*filled), nbytes):
                raise self._failure(kernel.name, failed)

        return run

    def _packed(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given, places: Mapping[int, int]
    ) -> Any:
        """How arguments are packed, the kernel's facts and the launch's shape."""
        assert isinstance(kernel, CpuKernel)
        values: list[Any] = []
        codes, block_memory = "=", 0
        for i, arg in enumerate(args):
            if isinstance(arg, Buffer):
                codes += "Q"
                assert isinstance(arg, Part) or i in places  # then a stand-in, which has none
                values.append(arg.place if isinstance(arg, Part) else 0)
            elif isinstance(arg, LaunchMemory):
                codes += "8x"
                block_memory = arg.nbytes
            else:
                codes += "q" if isinstance(arg, int) else _CODES[arg.dtype.char]
                values.append(arg)
        memory = [(i, n) for i, n in places.items() if isinstance(args[i], Buffer)]
        numbers = [(i, n) for i, n in places.items() if not isinstance(args[i], Buffer)]
        layout = struct.Struct(codes)
        shape = (ctypes.c_uint64 * 7)(*grid, *block, block_memory)
        self._prints |= kernel.prints
        self._threads.begin()
        return ((layout.pack, layout.size), values, memory, numbers), kernel.place, shape

    def _act(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given
    ) -> tuple[Act, tuple[Any, ...]]:
        ((pack, nbytes), values, *_), facts, shape = self._packed(kernel, grid, block, args, {})
        return CpuQueue._send, (kernel.name, facts, shape, pack(*values), nbytes)

    def _send(self, name: str, facts: int, shape: Any, packed: bytes, nbytes: int) -> None:
        if failed := self._threads.launch(self._place, facts, shape, packed, nbytes):
            raise self._failure(name, failed)

    def repeater(self, launches: Sequence[Launch]) -> Callable[[int], None]:
        """A compiled loop over launches; copies, which wait for them, stand between such loops."""
        if self._threads.repeat is None:
            return super().repeater(launches)
        parts: list[Callable[[int], None]] = []
        for sends, some in groupby(launches, lambda one: one.act is CpuQueue._send):
            parts.append((self._loop if sends else super().repeater)(list(some)))

        def run(times: int) -> None:
            for _ in range(times if len(parts) > 1 else 1):
                for part in parts:
                    part(1 if len(parts) > 1 else times)

        return run

    def _loop(self, launches: Sequence[Launch]) -> Callable[[int], None]:
        given = [one.given for one in launches]
        held = [ctypes.create_string_buffer(packed, nbytes) for *_, packed, nbytes in given]
        words = [
            (facts, ctypes.addressof(shape), ctypes.addressof(place), nbytes)
            for (_, facts, shape, _, nbytes), place in zip(given, held, strict=True)
        ]
        prepared = (ctypes.c_uint64 * (4 * len(words)))(*chain.from_iterable(words))
        repeat, queue, count = self._threads.repeat, self._place, len(words)

        def run(times: int, kept: object = held) -> None:
            for done in range(0, times, _TURNS):  # between which Ctrl-C is heard
                if failed := repeat(queue, prepared, count, min(times - done, _TURNS)):
                    raise self._failure(given[failed >> 2][0], failed & 3)

        return run

    def _failure(self, kernel: str, failed: int) -> LaunchError | OutOfMemory:
        if failed == 2:
            return LaunchError(f"kernel {kernel!r} has too many parameters for a processor")
        return OutOfMemory(f"{self.device.name}: no memory for a launch: {self.device.room()}")

    def synchronize(self) -> None:
        check_process(self.device)
        if self._threads.finish(self._place, 0):
            raise OutOfMemory(
                f"{self.device.name}: no memory for the stacks of a block's work-items: "
                f"{self.device.room()}; the results of the last launches are wrong"
            )
        if self._prints:
            ctypes.CDLL(None).fflush(None)


class CpuDevice(PooledDevice):
    """The processor, by one clang."""

    platform = "opencl"
    compiles_beside = True
    kind = Part
    near = True
    most_blocks = (2**31 - 1,) * 3
    compiler: cpu.CpuCompiler
    clangs: Iterator[cpu.Clang] = iter(())
    """Clangs to compile by where the probe refuses the first."""
    shift = 0
    """How much further memory lies for this process than for kernels."""

    def __init__(self, clang: cpu.Clang, label: str = "0", threads: Any = None) -> None:
        self.index, self.label = 0, label
        level = label if label in LEVELS else ""
        self.properties = Properties(
            name=_model() + (f", code of {level}" if level else ""),
            vendor=machine.machine(),
            driver="",
            arch=level or "native",
            kind="cpu",
            compute_units=processors(),
            warp_size=1,
            max_threads=MOST_ITEMS,
            shared_memory=SHARED,
            memory=machine_memory(),
            float64=True,
            alignment=ALIGNMENT,
        )
        self._compile_by(clang)
        # Vectors of twice a register's length lost nothing where there is AVX2 (docs/devices.md).
        bits = 512 if re.search(r"\bavx\b", cpu.features()) and level != "x86-64-v2" else 128
        self.traits = Traits(warp_size=1, root="ieee", exchange="memory", vector_bits=bits)
        self.reserve = Reserve(self.properties.memory)
        self.threads = threads or _threads(self.compiler)
        self.queue = CpuQueue(self)
        weakref.finalize(self, self.threads.finish_all).atexit = False

    def _compile_by(self, clang: cpu.Clang) -> None:
        self.clang, self.compiler = clang, self._compiler(clang)
        number = re.search(r"version (\S+)", clang.version)
        facts = {"platform": f"clang {number[1] if number else clang.version}"}
        self.properties = replace(
            self.properties, driver=clang.version, extra=self.properties.extra | facts
        )

    def _compiler(self, clang: cpu.Clang) -> cpu.CpuCompiler:
        return cpu.CpuCompiler(clang)

    def next_compiler(self) -> bool:
        for clang in self.clangs:
            with contextlib.suppress(CompileError):
                self._compile_by(clang)
                return True
        return False

    @property
    def name(self) -> str:
        return f"cpu:{self.label}"

    @property
    def remedy(self) -> str:
        """Another compiler, or a driver for the same processor."""
        return f"another compiler: {cpu.install()}; or an OpenCL driver: pip install '.[pocl]'"

    def take(self, sizes: Sequence[int], stream: Any) -> Places:
        places: list[int] = []
        for nbytes in sizes:
            place = self.take_one(nbytes)
            if place is None:
                self.give(tuple(places), stream)
                raise OutOfMemory(
                    f"{self.name} ({self.properties.name}): {sum(sizes)} bytes asked for, "
                    f"{self.room()}"
                )
            places.append(place)
        return tuple(places)

    def give(self, places: Places, stream: Any) -> None:
        self.threads.finish_all()
        for place in places:
            self.give_one(place)

    def take_one(self, nbytes: int) -> int | None:
        """The address of memory for kernels, or None."""
        return _take(nbytes)

    def give_one(self, place: int) -> None:
        """Give it back."""
        _give(place)

    def adopt(self, pointer: int, nbytes: int, owner: object) -> Part:
        return Part(self, pointer, nbytes, owner)

    def new_queue(self) -> CpuQueue:
        queue = CpuQueue(self)
        weakref.finalize(queue, queue.pool.close).atexit = False
        return queue

    def compile(self, source: str) -> bytes:
        return self.compiler.compile(source, self.properties.arch)

    def compiler_key(self) -> str:
        p = self.properties
        return f"cpu {self.compiler.version()} {' '.join(self.compiler.options(p.arch))}"

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        library = loaded(binary)
        prints = b"printf" in binary
        return {name: CpuKernel(name, _place(name, library), prints) for name in kernels}

    def energy_meters(self) -> Sequence[Meter]:
        return rapl.meters()


def loaded(binary: bytes) -> ctypes.CDLL:
    """A library from its content; LaunchError where it does not load."""
    with paths.temporary_folder("library") as folder:
        file = folder / "code.so"
        file.write_bytes(binary)
        try:
            return ctypes.CDLL(str(file))
        except OSError as error:
            if "map" not in str(error):
                raise LaunchError(f"the binary does not load: {error}") from None
            try:
                return _loaded_from_memory(binary, file)
            except (AttributeError, OSError):
                raise LaunchError(f"the binary does not load: {error}; {_NO_PROGRAMS}") from None


_NO_PROGRAMS = "set TMPDIR to a folder that programs may run from"


def _loaded_from_memory(binary: bytes, file: Path) -> ctypes.CDLL:
    """The same where no program may run from the folder: its name there leads to memory."""
    place = os.memfd_create(file.name)
    try:
        with open(place, "wb", closefd=False) as stream:
            stream.write(binary)
        file.unlink()
        file.symlink_to(f"/proc/self/fd/{place}")
        return ctypes.CDLL(str(file))
    finally:
        os.close(place)


def processors() -> int:
    """How many this process may use: those of its mask, within its container's share."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(mine, *_shares()), 1)


CGROUPS, GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux has groups of processes and their limits, and which of them this process is in."""


def _shares() -> Iterator[int]:
    """Processors that this process's groups may use: of version 2 all around it, of 1 the outer."""
    yield sys.maxsize
    with contextlib.suppress(OSError, ValueError):
        quota, period = (
            int((CGROUPS / "cpu" / f"cpu.cfs_{name}_us").read_text())
            for name in ("quota", "period")
        )
        if quota > 0:
            yield -(-quota // period)
    groups = [CGROUPS]
    with contextlib.suppress(OSError):
        for own in re.findall(r"^0::/(.+)$", GROUPS.read_text(), re.M):
            groups += [CGROUPS / own, *(CGROUPS / own).parents]
    for group in groups:
        with contextlib.suppress(OSError, ValueError):  # "max": as many as there are
            quota, period = map(int, (group / "cpu.max").read_text().split())
            yield -(-quota // period)


def _model() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1].strip() if found else machine.processor() or machine.machine()


class Threads:
    """The pool of a process, compiled by a clang."""

    def __init__(self, compiler: cpu.CpuCompiler) -> None:
        self.library = loaded(_compiled_pool(compiler))
        self._lock, self._begun = threading.RLock(), False
        self._queues: list[Any] = []
        self.launch = self.library.portmp_launch
        self.launch.argtypes = [
            *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64)
        ]
        self.repeat = self.library.portmp_repeat
        self.repeat.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_uint64] * 2
        self.repeat.restype = ctypes.c_uint64
        self.finish = self.library.portmp_finish
        self.finish.argtypes = [ctypes.c_void_p, ctypes.c_int]
        atexit.register(self.finish_all)

    def begin(self) -> None:
        """Start the threads, when the first kernel is about to be launched."""
        with self._lock:
            if not self._begun:
                functions = (ctypes.c_void_p * len(_SYSTEM))(*map(_address, _SYSTEM))
                self.library.portmp_begin(functions, processors() - 1)
                self._begun = True

    def new_queue(self) -> int:
        """The address of a queue, which stays: threads look at it after its last launch."""
        queue = (ctypes.c_int64 * 4)()
        self._queues.append(queue)
        return ctypes.addressof(queue)

    def finish_all(self) -> None:
        """Wait for all queues, before memory goes."""
        for queue in () if is_lost() else self._queues:
            self.finish(ctypes.addressof(queue), 0)


_SYSTEM = {
    "linux": ("syscall", "syscall", "pthread_create", "mmap", "clock_gettime"),
    "darwin": ("__ulock_wait", "__ulock_wake", "pthread_create", "mmap", "clock_gettime"),
    "win32": (
        *("WaitOnAddress", "WakeByAddressAll", "CreateThread", "VirtualAlloc"),
        "QueryUnbiasedInterruptTimePrecise",
    ),
}.get(sys.platform, ())
"""The system's functions that pool.c calls."""


def _address(name: str) -> int:
    function = getattr(ctypes.CDLL(None), name)
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _compiled_pool(compiler: cpu.CpuCompiler) -> bytes:
    """The library of pool.c, from the cache or compiled."""
    source = POOL.read_text()
    return paths.made(f"{compiler.version()}\0{source}", lambda: compiler.library(source))


_pool: list[Threads] = []
_starting = threading.RLock()


def _threads(compiler: cpu.CpuCompiler) -> Threads:
    """Those of the process, by the first compiler that is asked for."""
    with _starting:
        if not _pool:
            _pool.append(Threads(compiler))
    return _pool[0]


def find_devices() -> list[CpuDevice]:
    """The processor."""
    return [by_first_clang(CpuDevice)]


def by_first_clang(device: Callable[[cpu.Clang], CpuDevice]) -> CpuDevice:
    """A device by the first clang that compiles; BackendUnavailable where there is none."""
    problems, clangs = [], cpu.found()
    for clang in clangs:
        try:
            found = device(clang)
        except (CompileError, LaunchError) as error:
            problems.append(f"{' '.join(clang.command)}: {error}")
            if _NO_PROGRAMS in str(error):
                raise BackendUnavailable(problems[-1]) from None
        else:
            found.clangs = clangs
            return found
    raise BackendUnavailable(f"no clang works: {'; '.join(problems)}; {cpu.install()}")
