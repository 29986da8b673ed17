"""What every backend offers: Device, Buffer, Queue, Event, Kernel.

Routines know only these. Calls on a queue run in order and return at once unless they
say that they wait.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from portmp.backends.energy import Meter
from portmp.codegen.platform import Traits
from portmp.compilers.base import Compiler
from portmp.errors import ArgumentError, BackendUnavailable, DeviceError, LaunchError

Dim3 = tuple[int, int, int]

drivers: dict[str, bool] = {"started": False, "lost": False}
"""Whether this process started drivers, and whether it was forked from one that had."""


def drivers_start() -> None:
    """Say that drivers are about to start in this process."""
    drivers["started"] = True


def _forked() -> None:
    """In a new process: its drivers' threads and connections stayed with its parent."""
    drivers["lost"] = drivers["started"]


os.register_at_fork(after_in_child=_forked)


def is_lost() -> bool:
    """Whether this process was forked from one that had started drivers, which stayed there."""
    return drivers["lost"]


def check_process(device: Device) -> None:
    """DeviceError in a forked process, where drivers that its parent started would hang."""
    if drivers["lost"] and not device.by_reference:
        raise DeviceError(
            f"{device.name} cannot be used here: this process was forked from one that had started "
            "drivers, and they do not follow; start processes by spawn or forkserver "
            "(multiprocessing.get_context('spawn'))"
        )


def end_with_parent(parent: int) -> None:
    """End this process soon after *parent*, which started it, has ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@dataclass(frozen=True)
class Properties:
    """Facts about a device, as its driver reports them. Sizes in bytes."""

    name: str
    vendor: str
    driver: str
    arch: str
    kind: str
    compute_units: int
    warp_size: int
    max_threads: int
    shared_memory: int
    memory: int
    float64: bool
    alignment: int = 512
    clock_mhz: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return asdict(self)


class Buffer(ABC):
    """Device memory, freed with its last reference."""

    __slots__ = ()

    nbytes: int
    device: Device

    def note(self, queue: Queue) -> None:  # noqa: B027
        """Say that *queue* uses it, which it was not made for: it is free once that is done.

        Nothing is done where memory is given out again only when no work needs it.
        """


class Usage(NamedTuple):
    """Bytes of a device's memory that portmp uses, that it keeps idle, and that may be idle.

    In use is None where nobody counts.
    """

    in_use: int | None
    held: int
    limit: int


@dataclass(frozen=True)
class LaunchMemory:
    """Bytes of block memory beside what a kernel declares; the last argument of a launch."""

    nbytes: int


Argument = Buffer | np.generic | int | LaunchMemory
"""What a kernel is given: memory, a NumPy scalar by value, an int as 64 bits, block memory."""

Given = Sequence[Argument]

Host = np.ndarray[Any, Any]
"""An array in the host's memory."""


class Kernel(ABC):
    """A loaded kernel."""

    name: str


class Event(ABC):
    """A mark in a queue."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until the queue has reached this mark."""

    @abstractmethod
    def seconds_since(self, earlier: Event) -> float:
        """Device time from *earlier* to this mark; waits for both."""

    def reached(self) -> bool:
        """Whether the queue has come so far; waits for it where a device cannot be asked."""
        self.wait()
        return True


class Queue(ABC):
    """An in-order stream of copies and launches on one device."""

    device: Device
    plans: Any = None
    """What ``runtime.launch`` keeps for calls that come again."""
    notes: bool = False
    """Whether launches are noted for later: then work must be launches alone."""
    copies: bool = True
    """Whether it copies memory itself, too."""
    converter: Callable[[Any, Any], Any] | None = None
    """What notes conversions of views, where calls are noted and done by none (``mp.fuse``)."""
    clears: bool = False
    """Whether ``clear`` takes less to call than a kernel."""

    def allocate_parts(self, sizes: Sequence[int]) -> tuple[Buffer, ...]:
        """New memory, with undefined content, for what this queue does: a buffer for each size.

        Another queue may use it once that is noted (``Buffer.note``).
        """
        return self.device.allocate_parts(sizes)

    def scratch_parts(self, sizes: Sequence[int]) -> tuple[Buffer, ...]:
        """The same for launches that are given to this queue alone, and before it is freed."""
        return self.allocate_parts(sizes)

    @abstractmethod
    def write(self, target: Buffer, source: Host, offset: int = 0, *, wait: bool = True) -> None:
        """Copy a C-contiguous host array to *target*.

        Without *wait* the copy is asynchronous: the array must live and stay unchanged
        until the queue has passed it.
        """

    @abstractmethod
    def read(self, source: Buffer, target: Host, offset: int = 0, *, wait: bool = True) -> None:
        """Copy to a C-contiguous host array.

        Without *wait* the copy is asynchronous: the array holds the data, and must live,
        until the queue has passed it.
        """

    def read_parts(
        self, sources: Sequence[Buffer], targets: Sequence[Host], start: int = 0
    ) -> None:
        """Copy elements from *start* on of several buffers to host arrays, and wait once."""
        last = len(targets) - 1
        for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
            self.read(source, target, start * target.itemsize, wait=i == last)

    def clear(self, targets: Sequence[Buffer]) -> None:
        """Set all bytes of buffers to 0."""
        for target in targets:
            self.write(target, np.zeros(target.nbytes, np.uint8))

    def awaits(self, unit: Any) -> bool:
        """Whether a unit is compiled beside what is noted, which is noted once more then."""
        return False

    def multiply(self, library: Library, asked: Multiplication) -> None:
        """Let a library multiply."""
        if library.launches or not is_recording():
            library.multiply(self, asked)
            return
        held = [rows.buffer for rows in (asked.a, asked.b, asked.c)]
        self.do(library.multiply, (asked,), held)

    @abstractmethod
    def copy(
        self, target: Buffer, source: Buffer, nbytes: int, start: int = 0, offset: int = 0
    ) -> None:
        """Copy device memory, from *offset* of one buffer to *start* of another, on one device."""

    def receive(
        self, target: Buffer, sender: Queue, source: Buffer, nbytes: int, offset: int = 0
    ) -> None:
        """Copy memory of another device, from *offset*, after the work so far in its *sender*.

        Through the host, which waits for it, where the devices do not reach each other.
        """
        host = np.empty(nbytes, np.uint8)
        sender.read(source, host, offset)
        self.write(target, host)

    def launch(self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given) -> None:
        """Launch *kernel* on grid (blocks) x block (threads). ints have 64 bits.

        LaunchError for a grid or a block that is empty or more than the device takes. What is
        recorded was checked: repeating it checks nothing.
        """
        self._check(kernel, grid, block)
        self.do(*self._act(kernel, grid, block, args), args)

    def relauncher(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given, places: Mapping[int, int]
    ) -> Callable[[Given], None]:
        """What launches a kernel with other arguments at some *places*; for many threads.

        What is launched is given a sequence: argument i is its element ``places[i]``. Those of
        *args* tell whether it is memory or a number, which keeps its type. It records nothing,
        and need not keep memory that *args* name.
        """
        self._check(kernel, grid, block)
        return self._relauncher(kernel, grid, block, args, places)

    def _check(self, kernel: Kernel, grid: Dim3, block: Dim3) -> None:
        """LaunchError for a grid or a block that does not fit the device."""
        device = self.device
        check_process(device)
        x, y, z = block
        i, j, k = grid
        most_i, most_j, most_k = device.most_blocks
        threads = x * y * z if x > 0 < y and z > 0 else 0
        blocks = 0 < i <= most_i and 0 < j <= most_j and 0 < k <= most_k
        if not (blocks and 0 < threads <= device.properties.max_threads):
            raise LaunchError(_misfit(kernel, grid, block, device))

    def perform(self, run: Callable[[], None], args: Given) -> None:
        """Do what launches a kernel, or what a device without kernels does in its place.

        It is recorded where this thread's launches are collected; *args* keep its memory.
        """
        self.do(_called, (run,), args)

    def do(self, act: Act, given: tuple[Any, ...], args: Given) -> None:
        """Do ``act(queue, *given)``, which is recorded likewise."""
        _do(Launch(self, act, given, args))

    def repeater(self, launches: Sequence[Launch]) -> Callable[[int], None]:
        """What does so many times what was recorded in this queue, with little work of the host.

        The launches must live as long.
        """

        def run(times: int) -> None:
            for _ in range(times):
                for launch in launches:
                    launch.run()

        return run

    def _act(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given
    ) -> tuple[Act, tuple[Any, ...]]:
        """What launches it in any queue of the device, and what that is given."""
        return _called, (self._launcher(kernel, grid, block, args),)

    @abstractmethod
    def _launcher(self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given) -> Callable[[], None]:
        """What launches it, as often as it is called: all else is done beforehand.

        It need not keep memory that *args* name.
        """

    def _relauncher(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given, places: Mapping[int, int]
    ) -> Callable[[Given], None]:
        """``relauncher`` once grid and block are checked."""

        def run(given: Given) -> None:
            changed = list(args)
            for place, index in places.items():
                changed[place] = given[index]
            self._launcher(kernel, grid, block, changed)()

        return run

    @abstractmethod
    def record(self) -> Event:
        """Put a mark in the queue."""

    def wait(self, event: Event) -> None:
        """Let all further work here come after a mark in any queue, on any device.

        The host does not wait where the driver can.
        """
        event.wait()

    @abstractmethod
    def synchronize(self) -> None:
        """Wait for all work; reports errors of earlier launches."""


def _misfit(kernel: Kernel, grid: Dim3, block: Dim3, device: Device) -> str:
    """Why a grid or a block cannot be launched."""
    what = f"kernel {kernel.name!r} with grid={grid}, block={block}"
    if min(*grid, *block) < 1:
        return f"{what}: it is empty"
    if (threads := math.prod(block)) > (most := device.properties.max_threads):
        return f"{what}: {threads} threads a block, {device.name} allows {most}"
    return f"{what}: {device.name} allows {device.most_blocks} blocks"


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class per_device(Generic[Arguments, Result]):
    """Keep a function's results for each device, as long as it lives, and for its traits.

    The device comes first, the other arguments are hashable.
    """

    def __init__(self, function: Callable[Concatenate[Device, Arguments], Result]) -> None:
        self._function = function
        self._kept: WeakKeyDictionary[Device, dict[Any, Result]] = WeakKeyDictionary()

    def __call__(self, device: Device, *args: Arguments.args, **given: Arguments.kwargs) -> Result:
        mine = self._kept.setdefault(device, {})
        key = (device.traits, args, tuple(given.items()))
        if key not in mine:
            mine[key] = self._function(device, *args, **given)
        return mine[key]

    def cache_clear(self) -> None:
        """Forget all results."""
        self._kept.clear()


Act = Callable[..., None]
"""What is done in a queue, which is its first argument."""


def _called(queue: Queue, run: Callable[[], None]) -> None:
    run()


class Launch(NamedTuple):
    """A launch, or a copy, as often as it is run; it keeps the memory of its arguments."""

    queue: Queue
    act: Act
    given: tuple[Any, ...]
    args: Given

    def run(self) -> None:
        """Do it."""
        self.act(self.queue, *self.given)


class _Recorder(threading.local):
    """Where a thread's launches are collected, if they are."""

    launches: list[Launch] | None = None

    @contextlib.contextmanager
    def into(self, launches: list[Launch] | None) -> Iterator[None]:
        """Collect them there, or nowhere, for a while."""
        before, self.launches = self.launches, launches
        try:
            yield
        finally:
            self.launches = before


recorder = _Recorder()


def _do(launch: Launch) -> None:
    """Launch, and record it where this thread's launches are collected."""
    recorded = recorder.launches
    if recorded is None:
        launch.run()
        return
    if recorded and recorded[0].queue is not launch.queue:
        raise ArgumentError(
            f"capture: work for another queue or device ({launch.queue.device.name}) than the "
            f"first ({recorded[0].queue.device.name}); capture each by itself"
        )
    # What one device launches on another to do this is no launch of its own.
    with recorder.into(None):
        launch.run()
    recorded.append(launch)


def is_recording() -> bool:
    """Whether this thread's launches are collected: then work must be launches alone."""
    return recorder.launches is not None


@contextlib.contextmanager
def recording() -> Iterator[list[Launch]]:
    """Collect what this thread launches inside, which is done as well.

    Only launches: the work must read nothing, and take its operands where it leaves them.
    """
    launches: list[Launch] = []
    with recorder.into(launches):
        yield launches


def check_unread(what: str) -> None:
    """ArgumentError where launches are recorded, and *what* needs a number of theirs."""
    if is_recording():
        raise ArgumentError(
            f"capture: {what} brings values to the host (float(), if, printing, a check of "
            "pivots), where launches alone are captured; do it after the block or between replays"
        )


def replay(launches: Iterable[Launch]) -> None:
    """Launch once more what was recorded, one by one."""
    for launch in tuple(launches):
        _do(launch)


class Repeated:
    """What was recorded in one queue, made ready to be repeated when it first is."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        self.launches = tuple(launches)
        self._run: Callable[[int], None] | None = None

    def __call__(self, times: int = 1) -> None:
        """Launch all so many times; where launches are recorded, these are."""
        if not self.launches:
            return
        queue = self.launches[0].queue
        check_process(queue.device)
        if is_recording():
            replay(self.launches * times)
            return
        if self._run is None:
            self._run = queue.repeater(self.launches)
        self._run(times)


@dataclass(frozen=True)
class Rows:
    """Matrices whose rows lie along memory: (l, i, j) is element start + l batch + i row + j."""

    buffer: Buffer
    row: int
    start: int = 0
    batch: int = 0


class Multiplication(NamedTuple):
    """What a library multiplies: matrices of a *word*, (m, k) by rows of b (n, k), so many."""

    word: str
    m: int
    n: int
    k: int
    a: Rows
    b: Rows
    c: Rows
    batch: int = 1


class Library(ABC):
    """The BLAS that belongs to a platform.

    ``preferred``: whether it comes before portmp's own kernels; ``launches``: whether all that it
    does is launches of the queue.
    """

    name: str
    preferred = True
    launches = False

    @abstractmethod
    def multiply(self, queue: Queue, asked: Multiplication) -> None:
        """c[l][i][j] = sum over k of a[l][i][k] b[l][j][k] for l below *batch*.

        *word*: int8 (c holds int32), float32 or float64. Where all partial sums are integers
        that the sum's type holds, all libraries give the same bits.
        """

    def prepared(self, queue: Queue, asked: Multiplication) -> Callable[..., None]:
        """What multiplies so whenever it is called, with other buffers for a, b and c."""

        def run(*buffers: Buffer) -> None:
            rows = (asked.a, asked.b, asked.c)
            a, b, c = (replace(v, buffer=one) for v, one in zip(rows, buffers, strict=True))
            self.multiply(queue, asked._replace(a=a, b=b, c=c))

        return run

    def axpy(self, queue: Queue, word: str, n: int, alpha: float, x: Rows, y: Rows) -> None:
        """y = alpha x + y for vectors of n float32 or float64, to compare with."""
        raise BackendUnavailable(f"{self.name}: portmp does not call its axpy")

    def gemv(self, queue: Queue, word: str, m: int, n: int, a: Rows, x: Rows, y: Rows) -> None:
        """y = A x for an m x n matrix of float32 or float64, to compare with."""
        raise BackendUnavailable(f"{self.name}: portmp does not call its gemv")


def available_memory(table: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes of the machine's memory that programs may still take; None where it is not told."""
    try:
        found = re.search(r"^MemAvailable:\s*(\d+) kB", table.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return int(found[1]) * 1024 if found else None


class Channel(ABC):
    """A way for memory from a device of one process to one of another, without the host.

    The vendor's are made by a *key* that both ends have: end 0 sends, 1 receives; they wait for
    each other.
    """

    def __init__(self, device: Any, key: Any, end: int) -> None:
        raise NotImplementedError

    @classmethod
    def key(cls, device: Any) -> Any:
        """What both ends of a new channel are given; it can be pickled."""
        raise NotImplementedError

    @abstractmethod
    def send(self, queue: Queue, source: Buffer, nbytes: int) -> Sequence[Event]:
        """Send what a buffer holds after the work so far in a queue.

        Two marks: of where the device begins to wait for the other end, and of where that is over;
        none where the host has waited.
        """

    @abstractmethod
    def receive(self, queue: Queue, target: Buffer, nbytes: int) -> Sequence[Event]:
        """Let what comes be in a buffer before further work in its queue; marks likewise."""


class Device(ABC):
    """One device of one platform."""

    platform: str
    index: int
    properties: Properties
    traits: Traits
    queue: Queue
    compiler: Compiler | None = None
    """What its code is compiled by, where it shows what it made."""
    library_words: tuple[str, ...] = ("int8", "float32", "float64")
    """What the platform's BLAS multiplies."""
    interpreted: bool = False
    """Whether no hardware runs its code: results count, times do not."""
    by_reference: bool = False
    """Whether it runs no kernels: its memory is the host's, where routines run by references."""
    rank: int | None = None
    """Which of several processes has it, where that is another one than this."""
    most_blocks: Dim3 = (2**31 - 1, 65535, 65535)
    """Blocks that a grid may have along each axis."""
    fragile: bool = False
    """Whether its driver may crash the process: such a device is probed in another one."""
    near: bool = False
    """Whether its kernels read the host's memory where it lies (``adopt``)."""
    compiles_beside: bool = False
    """Whether its compiler takes several texts at once."""
    dlpack_type: int = 0
    """What DLPack calls its memory, where other libraries can use that in its place."""
    mpi_names: tuple[str, ...] = ()
    """What libraries of MPI call memory of its kind, where they may be given that."""

    @property
    def remedy(self) -> str:
        """What else may be installed where the device is refused, as a sentence's end."""
        return ""

    @property
    def remark(self) -> str:
        """What a report of results on this device says beside them; mostly nothing."""
        return ""

    @property
    def name(self) -> str:
        """The name that selects this device: ``cuda:0``."""
        return f"{self.platform}:{self.index}"

    @property
    def backend(self) -> str:
        """The backend that has it, which its name begins with."""
        return self.name.partition(":")[0]

    @abstractmethod
    def allocate(self, nbytes: int) -> Buffer:
        """Allocate device memory (at least one byte)."""

    def allocate_parts(self, sizes: Sequence[int]) -> tuple[Buffer, ...]:
        """Allocate a buffer for each of *sizes* in bytes, for any of its queues."""
        check_process(self)
        return tuple([self.allocate(nbytes) for nbytes in sizes])

    @abstractmethod
    def new_queue(self) -> Queue:
        """Another in-order queue on this device."""

    def host_memory(self, nbytes: int) -> Host:
        """Bytes of the host, where copies from and to this device need not wait for the host."""
        return np.empty(nbytes, np.uint8)

    @abstractmethod
    def compile(self, source: str) -> bytes:
        """Compile rendered source for exactly this device."""

    def next_compiler(self) -> bool:
        """Compile by another compiler from now on; False where there is none."""
        return False

    @abstractmethod
    def compiler_key(self) -> str:
        """Compiler, version, options, driver and architecture: part of the cache's key."""

    @abstractmethod
    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        """Load machine code and return the named kernels."""

    def free_memory(self) -> int | None:
        """Bytes that are free now; None where the driver does not tell."""
        return available_memory() if self.properties.kind == "cpu" else None

    def give_memory_back(self) -> None:
        """Wait, and give memory that is kept for later back for other processes."""
        self.queue.synchronize()

    def usage(self) -> Usage:
        """How much memory is in use, and how much is kept for later."""
        return Usage(None, 0, 0)

    def limit_held(self, nbytes: int) -> None:  # noqa: B027
        """Keep at most so many bytes for later, where any are kept."""

    def room(self) -> str:
        """How much memory there is, as a part of a sentence."""
        free, total = self.free_memory(), self.properties.memory
        known = "" if free is None else f", {min(free, total)} of them free"
        return f"{self.name} has {total} bytes{known}"

    @property
    def blocks_wait(self) -> bool:
        """Whether blocks of a kernel may wait for each other."""
        return False

    def together(self, kernel: Kernel, threads: int) -> int:
        """How many blocks of a kernel in which blocks wait for each other may be launched."""
        return 0

    def adopt(self, pointer: int, nbytes: int, owner: object) -> Buffer:
        """Memory at *pointer* that another library has, and keeps as long as *owner* lives."""
        raise DeviceError(f"{self.name} cannot use other libraries' memory")

    def address(self, buffer: Buffer) -> int:
        """Where a buffer lies, for other libraries."""
        raise DeviceError(f"{self.name} does not lend its memory")

    def channels(self) -> type[Channel]:
        """Its channels to other processes; BackendUnavailable where it has none."""
        raise BackendUnavailable(f"{self.name} has no library that sends memory to processes")

    def index_at(self, pointer: int) -> int:
        """The index of the device, one of this vendor's, that has the memory at *pointer*."""
        raise DeviceError(f"{self.name} cannot use other libraries' memory")

    def wait_for_stream(self, stream: int) -> None:
        """Wait for the work of another library's stream, by its address."""
        raise DeviceError(f"{self.name} cannot use other libraries' memory")

    def stream_number(self, queue: Queue) -> int | None:
        """What DLPack calls a queue."""
        return None

    def separate_caches(self, folder: Path) -> dict[str, str]:
        """Environment variables that make its driver keep what it compiles in *folder*."""
        return {}

    def library(self) -> Library:
        """The platform's BLAS; BackendUnavailable says how to install it."""
        raise BackendUnavailable(f"platform {self.platform} has no BLAS library that portmp knows")

    def current_clock_mhz(self) -> float | None:
        """The clock of the compute units at this moment; None where it cannot be read."""
        return None

    def energy_meters(self) -> Sequence[Meter]:
        """What tells the device's energy, the best first.

        BackendUnavailable says why nothing does, and what helps.
        """
        raise BackendUnavailable(f"nothing tells the energy of {self.name}")

    def __repr__(self) -> str:
        return f"<portmp device {self.name}: {self.properties.name}>"
