"""What the CUDA and the ROCm backend share: all of it, but for the names of driver calls.

A ``Driver`` makes these calls for one device by a table of names; the classes here build the
protocol of ``base`` on it.
"""

from __future__ import annotations

import copy
import ctypes
import struct
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import accumulate
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

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
    Queue,
    is_recording,
)
from portmp.backends.pool import Block, Part, Places, Pool, PooledDevice, PooledQueue, Reserve
from portmp.codegen.platform import Traits
from portmp.compilers.base import Compiler
from portmp.errors import (
    ArgumentError,
    CheckError,
    DeviceError,
    LaunchError,
    OutOfMemory,
    PortmpError,
)

SCALARS: dict[type, tuple[str, int]] = {
    int: ("q", 8),
    np.int32: ("i", 4),
    np.int64: ("q", 8),
    np.uint32: ("I", 4),
    np.uint64: ("Q", 8),
    np.float32: ("f", 4),
    np.float64: ("d", 8),
}
"""Types of kernel arguments that pass by value: their code in memory, and their bytes."""


@dataclass(frozen=True)
class Names:
    """What one vendor's bindings call functions and constants that the other's name otherwise.

    All functions begin with ``prefix``. Constants are ``enumeration.member``. The functions take
    and return the same in both bindings: a tuple of a status and values. ``extra`` is the launch's
    last argument, ``lists``: whether an array of structures is given as a list, also of one.
    ``launch_together``: for kernels whose blocks wait for each other; empty where that is not done.
    ``capture_mode``: in which other threads' calls are no part of a graph; ``graph_create`` makes
    what is launched of one.
    """

    prefix: str
    make_current: str
    allocate: str
    allocate_async: str
    free: str
    free_async: str
    allocate_host: str
    free_host: str
    pool_access: str
    on_device: str
    read_write: str
    out_of_memory: str
    stream_create: str
    event_create: str
    launch: str
    launch_together: str
    extra: int | None
    lists: bool
    capture_mode: str
    graph_create: str


STAGED, STAGED_HALF = 1 << 12, 1 << 15
"""Up to so many bytes are copied through pinned memory; bytes of each half for what is sent."""

_WORD = 16

_TIMED_EVENT = 0
_NOT_READY = 600
"""What both vendors' drivers say of an event that was not reached."""
_NON_BLOCKING = 1


class Driver(ABC):
    """The driver for one device; handles are the vendor's objects.

    Functions are called by their names behind the vendor's prefix, each with the device current,
    so that any thread may use it. Failures raise DeviceError, or LaunchError from ``launch``.
    ``_pools``: whether memory comes from the device's pool.
    """

    names: Names

    def __init__(self, api: Any, device: Any) -> None:
        self._api = api
        self._device = device
        self._pools = False
        self._reached: dict[Driver, bool] = {}

    @abstractmethod
    def _describe(self, status: Any) -> str:
        """Name and text of an error."""

    @cached_property
    def _context(self) -> Any:
        """What makes the device current, and names it in copies between devices."""
        return self._device

    def _check(self, result: tuple[Any, ...], error: type[PortmpError] = DeviceError) -> Any:
        """The value behind a successful status."""
        if result[0]:
            raise error(self._describe(result[0]))
        return result[1] if len(result) > 1 else None

    def call(self, function: str, *given: Any) -> Any:
        """What a function returns, named without its prefix and called with the device current."""
        api, names = self._api, self.names
        result = getattr(api, names.prefix + names.make_current)(self._context)
        if not result[0]:
            result = getattr(api, names.prefix + function)(*given)
        if result[0]:
            raise DeviceError(self._describe(result[0]))
        return result[1] if len(result) > 1 else None

    def _function(self, name: str) -> Any:
        return getattr(self._api, self.names.prefix + name)

    def _constant(self, name: str) -> Any:
        return attrgetter(name)(self._api)

    def current(self) -> Any:
        """The vendor's API, with this device current in the calling thread."""
        api, names = self._api, self.names
        self._check(getattr(api, names.prefix + names.make_current)(self._context))
        return api

    def memory(self) -> tuple[int, int]:
        """Free and total bytes."""
        self.current()
        status, free, total = self._function("MemGetInfo")()
        self._check((status,))
        return int(free), int(total)

    def give_back(self) -> None:
        """Give memory that the device's pool keeps unused back for other processes."""
        if self._pools:
            pool = self.call("DeviceGetDefaultMemPool", self._device)
            self.call("MemPoolTrimTo", pool, 0)

    def allocate(self, nbytes: int, stream: Any) -> int | None:
        """Address of new memory that is usable in *stream*; None when there is not enough.

        It comes from the device's pool, or is plain memory where there are no pools.
        """
        api, names = self.current(), self.names
        if self._pools:
            result = getattr(api, names.prefix + names.allocate_async)(nbytes, stream)
        else:
            result = getattr(api, names.prefix + names.allocate)(nbytes)
        if int(result[0]) and result[0] == self._constant(names.out_of_memory):
            return None
        return int(self._check(result))

    def free(self, pointer: int, stream: Any) -> None:
        """Give memory back once *stream* has reached this point; without pools this waits."""
        if self._pools:
            self.call(self.names.free_async, pointer, stream)
        else:
            self.call(self.names.free, pointer)

    def allocate_host(self, nbytes: int) -> int:
        """Address of memory of the host that stays in its place: the device copies it by itself."""
        return int(self.call(self.names.allocate_host, nbytes, 0))

    def free_host(self, address: int) -> None:
        """Give such memory back; waits for what the device still does with it."""
        self.call(self.names.free_host, address)

    def upload(self, pointer: int, address: int, nbytes: int, stream: Any) -> None:
        """Copy from the host."""
        self.call("MemcpyHtoDAsync", pointer, address, nbytes, stream)

    def download(self, address: int, pointer: int, nbytes: int, stream: Any) -> None:
        """Copy to the host."""
        self.call("MemcpyDtoHAsync", address, pointer, nbytes, stream)

    def reaches(self, other: Driver) -> bool:
        """Whether this device can copy *other*'s memory itself; from then on it may."""
        if other not in self._reached:
            self._reached[other] = self.enable_peer_access(other)
        return self._reached[other]

    def enable_peer_access(self, other: Driver) -> bool:
        """Let this device copy *other*'s memory, also of its pool; False where it cannot."""
        names, mine, theirs = self.names, self._device, other._device
        found = bool(self.call("DeviceCanAccessPeer", mine, theirs))
        if found and other._pools:
            access = self._constant(names.pool_access)()
            access.location.type = self._constant(names.on_device)
            access.location.id = int(mine)
            access.flags = self._constant(names.read_write)
            pool = self._check(self._function("DeviceGetDefaultMemPool")(theirs))
            given = [access] if names.lists else access
            found = not int(self._function("MemPoolSetAccess")(pool, given, 1)[0])
        return found

    def copy_peer(self, target: int, other: Driver, source: int, nbytes: int, stream: Any) -> None:
        """Copy memory of *other*, a device that this one reaches."""
        self.current()
        copy, mine, theirs = self._function("MemcpyPeerAsync"), self._context, other._context
        self._check(copy(target, mine, source, theirs, nbytes, stream))

    def new_stream(self) -> Any:
        """A stream that does not wait for the driver's default stream."""
        return self.call(self.names.stream_create, _NON_BLOCKING)

    def captured(self, work: Callable[[Any], None]) -> Any:
        """What launches as one all that *work* gives to the stream that it is called with."""
        mode, stream = self._constant(self.names.capture_mode), self.new_stream()
        try:
            self.call("StreamBeginCapture", stream, mode)
            try:
                work(stream)
            finally:
                graph = self.call("StreamEndCapture", stream)
            try:
                return self.call(self.names.graph_create, graph, 0)
            finally:
                self.call("GraphDestroy", graph)
        finally:
            self.call("StreamDestroy", stream)

    def record(self, stream: Any) -> Any:
        """A new event at this point of *stream*."""
        api, names = self.current(), self.names
        event = self._check(getattr(api, names.prefix + names.event_create)(_TIMED_EVENT))
        self._check(getattr(api, f"{names.prefix}EventRecord")(event, stream))
        return event

    def is_reached(self, event: Any) -> bool:
        """Whether a stream has come to an event; nothing is waited for."""
        (status,) = getattr(self.current(), f"{self.names.prefix}EventQuery")(event)
        return int(status) != _NOT_READY and self._check((status,)) is None

    def knows(self, other: Driver) -> bool:
        """Whether events of *other*'s device can be waited for by this one."""
        return self._api is other._api

    def elapsed(self, start: Any, stop: Any) -> float:
        """Seconds between two events that were reached."""
        return float(self.call("EventElapsedTime", start, stop)) * 1e-3

    def function(self, module: Any, name: str) -> Any:
        """A kernel of a module."""
        self.current()
        result = self._function("ModuleGetFunction")(module, name.encode())
        if int(result[0]):
            raise DeviceError(f"kernel {name!r}: {self._describe(result[0])}")
        return result[1]

    def allow_memory(self, function: Any, nbytes: int) -> None:  # noqa: B027
        """Let launches of a kernel take so many bytes of block memory beside its own.

        Nothing is done where the driver need not be asked.
        """

    def check_launch(self, status: Any, kernel: str, grid: Dim3, block: Dim3) -> None:
        """LaunchError for a launch that failed; what a checker found says all by itself."""
        try:
            self._check(status, LaunchError)
        except CheckError:
            raise
        except LaunchError as error:
            what = f"kernel {kernel!r} with grid={grid}, block={block}"
            raise LaunchError(f"{what}: {error}") from error

    def launcher(
        self, kernel: GpuKernel, grid: Dim3, block: Dim3, memory: int, stream: Any, arguments: int
    ) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """What makes the device current, and what launches a kernel then; both return a status.

        *memory*: bytes of block memory beside the kernel's own; *arguments*: the address of an
        array of argument addresses. Blocks that wait for each other all run at once, or none.
        """
        api, names = self._api, self.names
        current = partial(getattr(api, names.prefix + names.make_current), self._context)
        given = kernel.function, *grid, *block, memory, stream, arguments
        if kernel.together:
            return current, partial(getattr(api, names.prefix + names.launch_together), *given)
        return current, partial(getattr(api, names.prefix + names.launch), *given, names.extra)

    def resident_blocks(self, function: Any, threads: int) -> int:
        """How many blocks of a kernel the device runs at once; 0 where none may wait for others."""
        return 0

    def clock_mhz(self) -> float | None:
        """The clock at this moment; None where it cannot be read."""
        return None

    def pci_address(self) -> str:
        """Where the device is on the bus, ``0000:19:00.0``; empty where the driver tells nothing.

        Other libraries know the device by it: their numbers may differ.
        """
        return ""

    def order(self, first: Any, then: Any, on: Driver | None = None) -> None:
        """Let further work in *then*, a stream *on* any device, wait for that so far in *first*."""
        event = self.record(first)
        (on or self).call("StreamWaitEvent", then, event, 0)
        self.call("EventDestroy", event)


class GpuBuffer(Part):
    """Device memory at the address ``pointer``."""

    __slots__ = ()

    pointer: int = vars(Part)["place"]

    def part(self, offset: int, nbytes: int) -> GpuBuffer:
        """A view; *offset* is a multiple of the device's alignment."""
        _check_range(self, offset, nbytes)
        alignment = self.device.properties.alignment
        if offset % alignment:
            raise ArgumentError(f"offset={offset} is not a multiple of the alignment {alignment}")
        return GpuBuffer(self.device, self.pointer + offset, nbytes, self.block)


_CODES: dict[type, str] = {
    GpuBuffer: "Q",
    **{kind: code + "4x" * (size == 4) for kind, (code, size) in SCALARS.items()},
}
"""How struct packs arguments in eight bytes."""


class GpuKernel(Kernel):
    """A kernel of a loaded module.

    Modules are never unloaded: they are small, and unloading would have to wait for
    every launch that is still queued.
    """

    def __init__(self, name: str, function: Any, module: Any) -> None:
        self.name = name
        self.function = function
        self.module = module
        self.allowed = 0
        """Bytes of block memory that launches may take beside the kernel's own."""
        self.together: dict[int, int] = {}
        """Of a kernel whose blocks wait for each other: how many run at once, by their threads."""


class GpuEvent(Event):
    """An event of the driver."""

    def __init__(self, driver: Driver, handle: Any) -> None:
        self.driver = driver
        self.handle = handle
        _at_end(self, driver.call, "EventDestroy", handle)

    def wait(self) -> None:
        self.driver.call("EventSynchronize", self.handle)

    def reached(self) -> bool:
        return self.driver.is_reached(self.handle)

    def seconds_since(self, earlier: Event) -> float:
        if not isinstance(earlier, GpuEvent) or earlier.driver is not self.driver:
            raise ArgumentError("seconds_since: the events belong to different devices")
        earlier.wait()
        self.wait()
        return self.driver.elapsed(earlier.handle, self.handle)


class _Staging:
    """Pinned memory through which a queue copies what is small.

    From other memory the driver copies when the queue has come so far, while the host waits. What
    goes to the device fills one half, then the other, once the queue has passed its last use.
    """

    def __init__(self, queue: GpuQueue) -> None:
        driver = queue.device.driver
        self.lock = threading.Lock()
        nbytes = STAGED + 2 * STAGED_HALF
        self.address = driver.allocate_host(nbytes)
        self.memory = memoryview((ctypes.c_char * nbytes).from_address(self.address)).cast("B")
        """First what comes from the device, then both halves."""
        _at_end(queue, driver.free_host, self.address)
        self._half, self._used = 0, 0
        self._passed: list[Event | None] = [None, None]

    def place(self, nbytes: int, queue: GpuQueue) -> int:
        """Where what goes to the device is put next; the lock is held until it is on its way."""
        if self._used + nbytes > STAGED_HALF:
            self._passed[self._half] = queue.record()
            self._half, self._used = 1 - self._half, 0
            if (before := self._passed[self._half]) is not None:
                before.wait()
        found = STAGED + self._half * STAGED_HALF + self._used
        self._used += -(-nbytes // _WORD) * _WORD
        return found


class GpuQueue(PooledQueue):
    """A stream of the driver."""

    clears = True
    scratch_parts = PooledQueue.parts_of_area

    def __init__(self, device: GpuDevice, stream: Any) -> None:
        self.device: GpuDevice = device
        self.stream = stream
        self.pool = Pool(device, stream)
        self._driver = device.driver

    @cached_property
    def _staging(self) -> _Staging | None:
        """What small copies go through; None where the driver has no memory for it."""
        try:
            return _Staging(self)
        except DeviceError:
            return None

    def write(self, target: Buffer, source: Host, offset: int = 0, *, wait: bool = True) -> None:
        """Copy a C-contiguous host array to *target*.

        Without *wait*, drivers that read pageable memory in place (those of machines with
        one address space) see later changes of the array.
        """
        _check_array("source", source)
        nbytes = source.nbytes
        if not nbytes:
            return
        pointer = self._pointer(target, offset, nbytes)
        staging = self._staging if wait and nbytes <= STAGED else None
        if staging is None:
            self._driver.upload(pointer, source.ctypes.data, nbytes, self.stream)
            if wait:
                self.synchronize()
            return
        with staging.lock:
            place = staging.place(nbytes, self)
            staging.memory[place : place + nbytes] = source.data.cast("B")
            self._driver.upload(pointer, staging.address + place, nbytes, self.stream)

    def read(self, source: Buffer, target: Host, offset: int = 0, *, wait: bool = True) -> None:
        pointer = self._source(source, target, offset)
        if wait:
            self._fetch([(pointer, target)])
        elif target.nbytes:
            self._driver.download(target.ctypes.data, pointer, target.nbytes, self.stream)

    def read_parts(
        self, sources: Sequence[Buffer], targets: Sequence[Host], start: int = 0
    ) -> None:
        pairs = zip(sources, targets, strict=True)
        wanted = [(self._source(s, t, start * t.itemsize), t) for s, t in pairs]
        self._fetch(wanted, together=_of_one_block(sources))

    def clear(self, targets: Sequence[Buffer]) -> None:
        pointers = [self._pointer(target, 0, 0) for target in targets]
        if _of_one_block(targets):
            # In one go: what lies between planes is nobody's.
            nbytes = pointers[-1] + targets[-1].nbytes - pointers[0]
            self._driver.call("MemsetD8Async", pointers[0], 0, nbytes, self.stream)
            return
        for pointer, target in zip(pointers, targets, strict=True):
            self._driver.call("MemsetD8Async", pointer, 0, target.nbytes, self.stream)

    def _source(self, source: Buffer, target: Host, offset: int) -> int:
        """The address of what is copied to a host array, which must be able to take it."""
        flags = target.flags
        if not flags.c_contiguous:
            _check_array("target", target)
        if not flags.writeable:
            raise ArgumentError("target: the array is read-only")
        return self._pointer(source, offset, target.nbytes)

    def _fetch(self, wanted: Sequence[tuple[int, Host]], together: bool = False) -> None:
        """Copy from addresses to host arrays, and wait once.

        *together*: they ascend in one block, of which few bytes are copied in one go.
        """
        copies = [(pointer, target.nbytes) for pointer, target in wanted]
        offsets = [0, *accumulate([nbytes for _, nbytes in copies])]
        if together and (reach := sum(copies[-1]) - copies[0][0]) <= STAGED:
            offsets = [*[pointer - copies[0][0] for pointer, _ in copies], reach]
            copies = [(copies[0][0], reach)]
        staging = self._staging if 0 < offsets[-1] <= STAGED else None
        if staging is None:
            for pointer, target in wanted:
                if target.nbytes:
                    self._driver.download(target.ctypes.data, pointer, target.nbytes, self.stream)
            self.synchronize()
            return
        with staging.lock:
            for offset, (pointer, nbytes) in zip(offsets, copies, strict=False):
                self._driver.download(staging.address + offset, pointer, nbytes, self.stream)
            self.synchronize()
            for offset, (_, target) in zip(offsets, wanted, strict=False):
                if target.nbytes:
                    target.data.cast("B")[:] = staging.memory[offset : offset + target.nbytes]

    def copy(
        self, target: Buffer, source: Buffer, nbytes: int, start: int = 0, offset: int = 0
    ) -> None:
        if nbytes:
            to = self._pointer(target, start, nbytes)
            found = self._pointer(source, offset, nbytes)
            self._driver.call("MemcpyDtoDAsync", to, found, nbytes, self.stream)

    def receive(
        self, target: Buffer, sender: Queue, source: Buffer, nbytes: int, offset: int = 0
    ) -> None:
        """Copy memory of another device; without the host where this device reaches it.

        Its own by the same copy of the driver's, within this queue's order.
        """
        mine = self._driver
        theirs = sender._driver if isinstance(sender, GpuQueue) else None
        if sender is self:
            to, start = self._pointer(target, 0, nbytes), self._pointer(source, offset, nbytes)
            mine.copy_peer(to, mine, start, nbytes, self.stream)
        elif theirs is None or type(theirs) is not type(mine) or not mine.reaches(theirs):
            super().receive(target, sender, source, nbytes, offset)
        elif nbytes:
            assert isinstance(sender, GpuQueue)
            to = self._pointer(target, 0, nbytes)
            start = sender._pointer(source, offset, nbytes)
            theirs.order(sender.stream, self.stream, on=mine)
            mine.copy_peer(to, theirs, start, nbytes, self.stream)
            # What the sender does next may change or free the source.
            mine.order(self.stream, sender.stream, on=theirs)

    def _act(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given
    ) -> tuple[Act, tuple[Any, ...]]:
        """The driver copies the packed arguments before it returns."""
        how, args = self._how(kernel, grid, block, args)
        return GpuQueue._send, (how, _Arguments(len(args)).filled(args, self.device))

    def repeater(self, launches: Sequence[Launch]) -> Callable[[int], None]:
        """A graph of the driver's; one by one where it makes none of them."""
        driver, stream = self._driver, self.stream

        def work(captured: Any) -> None:
            # The same queue by another stream, in which nobody else works meanwhile.
            twin = copy.copy(self)
            twin.stream = captured
            for one in launches:
                one.act(twin, *one.given)

        try:
            graph = driver.captured(work)
        except (DeviceError, LaunchError, AttributeError):  # or bindings that know no graphs
            return super().repeater(launches)

        def run(times: int) -> None:
            for _ in range(times):
                driver.call("GraphLaunch", graph, stream)

        _at_end(run, driver.call, "GraphExecDestroy", graph)
        return run

    def _relauncher(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given, places: Mapping[int, int]
    ) -> Callable[[Given], None]:
        held = [*args]
        pointed = [place for place in places if type(args[place]) not in SCALARS]
        for place in pointed:
            held[place] = 0
        how, fixed = self._how(kernel, grid, block, held)
        filled = _Arguments(len(fixed)).filled(fixed, self.device)
        current, launch = self._driver.launcher(*how, self.stream, filled.address)
        words: Any = memoryview(filled.words).cast("B")
        lock = threading.Lock()
        pointers, numbers = words.cast("Q"), []
        first = filled.first // 8
        memory = [(first + place, places[place]) for place in pointed]
        for place in places.keys() - pointed:
            code, size = SCALARS[type(args[place])]
            numbers.append((words.cast(code), (first + place) * 8 // size, places[place]))

        def run(given: Sequence[Any]) -> None:
            with lock:
                for slot, index in memory:
                    pointers[slot] = given[index].pointer
                for typed, slot, index in numbers:
                    typed[slot] = given[index]
                for call in current, launch:
                    if (status := call())[0]:
                        self._driver.check_launch(status, kernel.name, grid, block)

        return run

    def launch(self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given) -> None:
        """Launch *kernel*, as a rule with arguments in memory that the thread keeps for them."""
        if is_recording():
            super().launch(kernel, grid, block, args)
            return
        self._check(kernel, grid, block)
        how, args = self._how(kernel, grid, block, args)
        self._send(how, _scratch.filled(args, self.device))

    def _how(self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given) -> tuple[_How, Given]:
        """How a kernel is launched, and its arguments without block memory."""
        if not isinstance(kernel, GpuKernel):
            raise ArgumentError(f"kernel {kernel.name!r} was loaded by another backend")
        extra = 0
        if args and type(args[-1]) is LaunchMemory:
            extra = args[-1].nbytes
            args = args[:-1]
            if extra > kernel.allowed:
                self._driver.allow_memory(kernel.function, extra)
                kernel.allowed = extra
        return _How(kernel, grid, block, extra), args

    def _send(self, how: _How, arguments: _Arguments) -> None:
        """Launch a kernel with the arguments in memory, which drivers copy before they return."""
        kernel, grid, block, extra = how
        calls = self._driver.launcher(kernel, grid, block, extra, self.stream, arguments.address)
        for call in calls:
            if (status := call())[0]:
                self._driver.check_launch(status, kernel.name, grid, block)

    def record(self) -> Event:
        return GpuEvent(self._driver, self._driver.record(self.stream))

    def wait(self, event: Event) -> None:
        """Let all further work here come after a mark; the driver waits for its own."""
        if isinstance(event, GpuEvent) and event.driver.knows(self._driver):
            self._driver.call("StreamWaitEvent", self.stream, event.handle, 0)
        else:
            super().wait(event)

    def synchronize(self) -> None:
        self._driver.call("StreamSynchronize", self.stream)

    def _pointer(self, buffer: Buffer, offset: int, nbytes: int) -> int:
        """Address in a buffer of this device."""
        if not isinstance(buffer, GpuBuffer) or buffer.device is not self.device:
            raise ArgumentError(f"the buffer is not on device {self.device.name}")
        _check_range(buffer, offset, nbytes)
        return buffer.pointer + offset


class _How(NamedTuple):
    """A kernel, its blocks and their threads, and bytes of block memory beside its own."""

    kernel: GpuKernel
    grid: Dim3
    block: Dim3
    extra: int


class _Arguments:
    """Memory for so many arguments as drivers read them: addresses, then eight bytes for each."""

    def __init__(self, count: int) -> None:
        self.words = ctypes.create_string_buffer(16 * count or 1)
        self.first = 8 * count
        self.address = ctypes.addressof(self.words)
        start = self.address + self.first
        struct.pack_into(f"<{count}Q", self.words, 0, *range(start, start + 8 * count, 8))

    def filled(self, args: Given, device: Device) -> _Arguments:
        """With these arguments; ArgumentError where one is none, or of another device."""
        layout = _layout(tuple(map(type, args)))
        values = [a.pointer if type(a) is GpuBuffer and a.device is device else a for a in args]
        try:
            layout.pack_into(self.words, self.first, *values)
        except struct.error:
            raise ArgumentError(_wrong(args, device)) from None
        return self


class _Scratch(threading.local):
    """A thread's memory for arguments of launches that drivers copy at once, by their number."""

    def __init__(self) -> None:
        self._kept: dict[int, _Arguments] = {}

    def filled(self, args: Given, device: Device) -> _Arguments:
        """Memory with these arguments, until the next ones."""
        count = len(args)
        memory = self._kept.get(count)
        if memory is None:
            memory = self._kept[count] = _Arguments(count)
        return memory.filled(args, device)


_scratch = _Scratch()


@cache
def _layout(kinds: tuple[type, ...]) -> struct.Struct:
    """How arguments of these types lie in memory: eight bytes each."""
    return struct.Struct("<" + "".join([_CODES.get(kind, "s") for kind in kinds]))


def _wrong(args: Sequence[Any], device: Device) -> str:
    """What is wrong with arguments that cannot be packed."""
    for index, value in enumerate(args):
        if isinstance(value, Buffer):
            if not isinstance(value, GpuBuffer) or value.device is not device:
                return f"args[{index}]: the buffer is not on device {device.name}"
        elif type(value) not in _CODES:
            allowed = ", ".join(sorted(kind.__name__ for kind in SCALARS))
            return (
                f"args[{index}] is a {type(value).__name__}; allowed are buffers and "
                f"scalars of {allowed}"
            )
    return "args: a value does not fit its type"


class GpuDevice(PooledDevice):
    """A device with a driver and a compiler."""

    compiles_beside = True
    kind = GpuBuffer
    compiler: Compiler
    whole = True

    def __init__(
        self, index: int, driver: Driver, properties: Properties, traits: Traits, compiler: Compiler
    ) -> None:
        self.index = index
        self.driver = driver
        self.properties = properties
        self.traits = traits
        self.compiler = compiler
        self.reserve = Reserve(properties.memory)
        self._key: str | None = None
        self._others: weakref.WeakSet[GpuQueue] = weakref.WeakSet()
        self._crowded = False

    @cached_property
    def queue(self) -> GpuQueue:  # type: ignore[override]
        """The first queue, made on first use: listing devices should open none of them."""
        return GpuQueue(self, self.driver.new_stream())

    @property
    def _home(self) -> Any:
        return self.queue.stream

    def take(self, sizes: Sequence[int], stream: Any) -> Places:
        """Aligned parts of one allocation."""
        alignment = self.properties.alignment
        offsets, end = [], 0
        for nbytes in sizes:
            offsets.append(-(-end // alignment) * alignment)
            end = offsets[-1] + nbytes
        pointer = self.driver.allocate(max(end, 1), stream)
        if pointer is None:
            free, total = self.driver.memory()
            raise OutOfMemory(
                f"{self.name}: {sum(sizes)} bytes asked for, {free} of {total} bytes are free"
            )
        return tuple([pointer + at for at in offsets])

    def give(self, places: Places, stream: Any) -> None:
        self.driver.free(places[0], stream)

    def free_memory(self) -> int | None:
        return self.driver.memory()[0] + self.reserve.counted() + self.reserve.used()

    def give_memory_back(self) -> None:
        super().give_memory_back()
        for queue in self.others():
            queue.synchronize()
        self.driver.give_back()

    @property
    def blocks_wait(self) -> bool:
        return bool(self.driver.names.launch_together)

    def together(self, kernel: Kernel, threads: int) -> int:
        assert isinstance(kernel, GpuKernel)
        if threads not in kernel.together:
            kernel.together[threads] = self.driver.resident_blocks(kernel.function, threads)
        return kernel.together[threads]

    def adopt(self, pointer: int, nbytes: int, owner: object) -> GpuBuffer:
        return GpuBuffer(self, pointer, nbytes, owner)

    def address(self, buffer: Buffer) -> int:
        assert isinstance(buffer, GpuBuffer)
        return buffer.pointer

    def wait_for_stream(self, stream: int) -> None:
        self.driver.call("StreamSynchronize", stream)

    def stream_number(self, queue: Queue) -> int | None:
        """The address of the driver's stream."""
        assert isinstance(queue, GpuQueue)
        return int(queue.stream)

    def new_queue(self) -> GpuQueue:
        queue = GpuQueue(self, self.driver.new_stream())
        self.driver.order(self._home, queue.stream)
        self._others.add(queue)
        self._crowded = True
        _at_end(queue, self._close, queue.pool)
        return queue

    def host_memory(self, nbytes: int) -> Host:
        """Memory that the driver keeps in its place, until its last view is gone."""
        address = self.driver.allocate_host(max(nbytes, 1))
        memory = (ctypes.c_uint8 * nbytes).from_address(address)
        _at_end(memory, self.driver.free_host, address)
        return np.ctypeslib.as_array(memory)

    def compile(self, source: str) -> bytes:
        return self.compiler.compile(source, self.properties.arch)

    def compiler_key(self) -> str:
        if self._key is None:
            compiler, facts = self.compiler, self.properties
            words = [compiler.name, compiler.version(), *compiler.options(facts.arch)]
            words += [f"driver={facts.driver}", facts.arch, f"warp={facts.warp_size}"]
            self._key = " ".join(words)
        return self._key

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        module = self.driver.call("ModuleLoadData", binary)
        return {
            name: GpuKernel(name, self.driver.function(module, name), module) for name in kernels
        }

    def current_clock_mhz(self) -> float | None:
        """The clock at this moment; None where it cannot be read."""
        return self.driver.clock_mhz()

    def others(self) -> Sequence[GpuQueue]:
        """The queues beside the first one; without any, as a rule, at no cost."""
        return list(self._others) if self._crowded else ()

    def _close(self, pool: Pool) -> None:
        # What was freed meanwhile must outlive what this queue still does.
        stream = pool.stream
        self.driver.order(stream, self._home)
        pool.close(self._home)
        self.driver.call("StreamDestroy", stream)


def _of_one_block(parts: Sequence[Any]) -> bool:
    """Whether they are all that lies in a block, which is one allocation, in order."""
    block = getattr(parts[0], "block", None)
    if type(block) is not Block or not parts[0].device.whole:
        return False
    return block.places == tuple([part.place for part in parts])


def _check_range(buffer: Buffer, offset: int, nbytes: int) -> None:
    if offset < 0 or nbytes < 0 or offset + nbytes > buffer.nbytes:
        raise ArgumentError(
            f"offset={offset}, nbytes={nbytes} is outside of a buffer of {buffer.nbytes} bytes"
        )


def _check_array(name: str, array: Host) -> None:
    if not array.flags.c_contiguous:
        raise ArgumentError(f"{name}: the array is not C-contiguous")


def _quietly(release: Any, *handles: Any) -> None:
    # Nobody can handle an error of a finalizer; the next call reports a lost device.
    try:
        release(*handles)
    except DeviceError:
        return


def _at_end(owner: object, release: Any, *handles: Any) -> None:
    """Release driver objects with their owner, but not at exit: the driver is gone then."""
    weakref.finalize(owner, _quietly, release, *handles).atexit = False
