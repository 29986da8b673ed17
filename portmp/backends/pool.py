"""Memory that queues keep for their next arrays, of devices whose drivers take long to give any.

A queue's work runs in order: what was freed in it is given out in it again at once, for its old
work is over before its new work begins. To other queues it is never given; where they used it as
well (``Buffer.note``), it is given out once they have come so far, and its own queue goes on
meanwhile, as far as memory lasts: two queues that wait for what the other one frees would take
turns. Blocks stay whole and have sizes in classes. Of idle ones a device keeps ``Reserve.limit``
bytes at most, which leaves room for other libraries on it: what is larger, or too much, comes from
the driver and goes back to it. Scratch memory of large work, one launch's after the other's, is
parts of one area of its queue: drivers take milliseconds to map each gigabyte anew.
"""

import itertools
import os
import sys
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast
from weakref import WeakSet, WeakValueDictionary

import numpy as np

from portmp.backends.base import (
    Buffer,
    Device,
    Dim3,
    Event,
    Given,
    Kernel,
    Queue,
    Usage,
    check_process,
    is_lost,
)
from portmp.errors import ArgumentError, DeviceError, OutOfMemory

KEPT, BLOCKS = 16, 256
"""Of a device's memory one part in so many may be idle, unless a limit is set; and so many blocks
of one kind."""

AREA, LEAST_AREA = 2, 1 << 24
"""Scratch memory comes from the area of its queue from so many bytes on; up to so many times that
limit."""

USED = 2
"""Freed blocks of a queue that others may still use take so many times that limit at most, and are
as many as idle ones of one kind at most."""

POISON = "PORTMP_POISON"
"""The variable that makes arrays begin as NaN, whatever their memory held."""

_LAYOUTS = 4096
_POISONED = 1 << 20
_STEPS = 3
_noting = threading.RLock()
_pools: "WeakSet[Pool]" = WeakSet()

Places = tuple[Any, ...]
"""Where the parts of a block lie, as their driver names it."""


def size_class(nbytes: int, least: int) -> int:
    """The size of blocks for so many bytes: at most an eighth more, in multiples of *least*."""
    step = max(1 << max((nbytes - 1).bit_length() - _STEPS - 1, 0), least)
    return max(-(-nbytes // step), 1) * step


class Layout(NamedTuple):
    """What arrays of certain sizes lie in: a kind of blocks, of which ``most`` may be idle.

    ``most`` is 0 for blocks that the driver gives for one use, ``shared`` says that any queue may
    use such a block at any time.
    """

    pool: "Pool"
    sizes: tuple[int, ...]
    nbytes: int
    idle: list[Places]
    most: int
    shared: bool = False


class Used(NamedTuple):
    """A freed block, and marks of the other queues that used it."""

    marks: tuple[Event, ...]
    layout: Layout
    places: Places


class Block:
    """Memory of parts that are in use; with the last part it goes back to its queue."""

    __slots__ = ("layout", "noted", "places", "queue")

    layout: Layout
    noted: tuple[Queue, ...]
    places: Places
    queue: Queue

    def __del__(self, at_end: Any = sys.is_finalizing) -> None:
        # In any thread, between any two steps of other work: it must wait for no lock that such
        # work may hold. At the interpreter's end the driver is gone, and so are modules.
        if at_end():
            return
        layout = self.layout
        pool = layout.pool
        reserve = pool.reserve
        if (
            self.noted
            or pool.closed
            or reserve.held + layout.nbytes > reserve.limit
            or len(layout.idle) >= layout.most
        ):
            pool.settle(self)
        else:
            reserve.held += layout.nbytes
            layout.idle.append(self.places)


class Part(Buffer):
    """Memory at a *place* on a device, which lives as long as its block, or another owner."""

    __slots__ = ("__weakref__", "block", "device", "nbytes", "place")

    place: Any
    block: object

    def __init__(self, device: Device, place: Any, nbytes: int, block: object = None) -> None:
        self.device = device
        self.place = place
        self.nbytes = nbytes
        self.block = block

    def note(self, queue: Queue) -> None:
        block = self.block
        if isinstance(block, Block) and queue is not block.queue:
            with _noting:
                block.noted = (*(known for known in block.noted if known is not queue), queue)


class Lease:
    """An area of a queue, which is lent until the last part of it is gone.

    While it is not lent it knows no queue, which would never be freed then.
    """

    __slots__ = ("area", "queue")

    def __init__(self, queue: "PooledQueue", area: Part) -> None:
        self.queue, self.area = queue, area

    def __del__(self, at_end: Any = sys.is_finalizing) -> None:
        if at_end():
            return
        pool, area = self.queue.pool, self.area
        while pool.areas:  # of those that were lent at once the largest one stays
            try:
                other = pool.areas.pop()
            except IndexError:  # another thread took it
                break
            area = max(area, other, key=lambda one: one.nbytes)
        if not pool.closed and area.nbytes <= AREA * pool.reserve.limit:
            pool.areas.append(area)


class Reserve:
    """What the queues of a device keep, in bytes: ``held`` ones are idle, ``limit`` may be.

    ``held`` changes without a lock. Should threads meet there, it is wrong until it is counted
    again: when blocks go back to the driver, or are asked for.
    """

    def __init__(self, memory: int) -> None:
        self.limit = memory // KEPT
        self.held = 0
        self.taken = 0
        """What the driver gave."""
        self.poison = os.environ.get(POISON) == "1"
        self._pools: WeakValueDictionary[int, Pool] = WeakValueDictionary()
        self._lock = threading.RLock()

    def count(self, nbytes: int) -> None:
        """Note what the driver gave, or took back."""
        with self._lock:
            self.taken += nbytes

    def add(self, pool: "Pool") -> None:
        """Note a queue's pool, while there is one."""
        self._pools[id(pool)] = pool

    def pools(self) -> list["Pool"]:
        """Those of all queues; meanwhile threads may make others."""
        return [pool for ref in self._pools.valuerefs() if (pool := ref()) is not None]

    def counted(self) -> int:
        """``held``, counted again."""
        self.held = sum([pool.held() for pool in self.pools()])
        return self.held

    def used(self) -> int:
        """Bytes of freed blocks that queues may still use, and of areas."""
        return sum([pool.used() + pool.area() for pool in self.pools()])

    def collect(self) -> None:
        """Keep, or give back, blocks that other queues have used by now."""
        for pool in self.pools():
            pool.collect()

    def drain(self, wait: bool = False) -> None:
        """Give all idle blocks back to the driver; *wait*: those that queues still use, too."""
        for pool in self.pools():
            pool.drain(wait)
        self.counted()


class Pool:
    """The idle blocks of one queue; *stream* is what the driver knows the queue by."""

    def __init__(self, device: "PooledDevice", stream: Any = None) -> None:
        self.device = device
        self.stream = stream
        self.reserve = device.reserve
        self.closed = False
        """Whether the queue is gone."""
        self.layouts: dict[tuple[int, ...], Layout] = {}
        self._idle: dict[tuple[int, ...], list[Places]] = {}
        self._used: deque[Used] = deque()
        """Freed blocks that other queues may still use, in the order in which they were freed."""
        self.areas: list[Part] = []
        """The largest block that scratch memory was part of, while it is not."""
        self.reserve.add(self)
        _pools.add(self)

    def layout(self, sizes: tuple[int, ...]) -> Layout:
        """What arrays of *sizes* in bytes lie in, which ``layouts`` has from now on."""
        check_process(self.device)  # here, since a new process knows no layout
        if len(self.layouts) >= _LAYOUTS:
            self.layouts.clear()
        least = self.device.properties.alignment
        classes = tuple([size_class(int(nbytes), least) for nbytes in sizes])
        if (whole := sum(classes)) > self.reserve.limit:
            found = Layout(self, sizes, sum(sizes), [], 0)
        else:
            found = Layout(self, classes, whole, self._idle.setdefault(classes, []), BLOCKS)
        self.layouts[sizes] = found
        return found

    def taken(self, layout: Layout, sizes: tuple[int, ...]) -> tuple[Layout, Places]:
        """A block that is idle now, or a new one from the driver.

        Where the driver has none, it gets all idle ones back first.
        """
        check_process(self.device)
        if sum(sizes) > self.device.properties.memory:  # of which drivers may take the last 64 bits
            raise OutOfMemory(f"{sum(sizes)} bytes asked for, {self.device.room()}")
        self.reserve.collect()
        try:
            places = layout.idle.pop()
        except IndexError:
            pass
        else:
            self.reserve.held -= layout.nbytes
            return layout, places
        try:
            places = self.device.take(layout.sizes, self.stream)
        except OutOfMemory:
            self.device.give_memory_back()
            layout = Layout(self, sizes, sum(sizes), [], 0, layout.shared)
            places = self.device.take(sizes, self.stream)
        self.reserve.count(layout.nbytes)
        return layout, places

    def settle(self, block: Block) -> None:
        """Keep a freed block, or give it back, once other queues have used it.

        Where much is to be waited for its own queue waits for those who used the oldest ones; for
        one that is gone the device's first queue does.
        """
        layout, device = block.layout, self.device
        if is_lost():
            return
        try:
            others = device.others() if layout.shared else block.noted
            if not others:
                self._keep(layout, block.places)
                return
            queue = cast(PooledQueue, device.queue if self.closed else block.queue)
            pool, limit = queue.pool, self.reserve.limit
            marks = tuple([other.record() for other in others])
            pool._used.append(Used(marks, layout, block.places))
            while len(pool._used) > BLOCKS or pool.used() > USED * limit:
                used = pool._oldest()
                if used is None:
                    return
                for mark in used.marks:
                    queue.wait(mark)
                self._keep(used.layout, used.places)
        except DeviceError:
            return  # nobody can handle a finalizer's error; the next call reports a lost device

    def _oldest(self) -> Used | None:
        """The block that was freed first of those that other queues used; None if none is left."""
        try:
            return self._used.popleft()
        except IndexError:
            return None

    def _keep(self, layout: Layout, places: Places) -> None:
        """Let a block be idle that nobody uses, or give it back."""
        pool, reserve = layout.pool, self.reserve
        room = reserve.limit - layout.nbytes
        if pool.closed or len(layout.idle) >= layout.most or room < 0:
            pool._give(layout.nbytes, places)
            return
        if reserve.held > room and reserve.counted() > room:
            reserve.drain()
        reserve.held += layout.nbytes
        layout.idle.append(places)

    def collect(self, wait: bool = False) -> None:
        """Keep, or give back, blocks that other queues have used by now; *wait*: all of them."""
        while used := self._oldest():
            reached = False
            try:
                for mark in used.marks if wait else ():
                    mark.wait()
                reached = wait or all(mark.reached() for mark in used.marks)
            finally:
                if not reached:
                    self._used.appendleft(used)
            if not reached:
                return
            self._keep(used.layout, used.places)

    def held(self) -> int:
        """Bytes of idle blocks."""
        return sum([sum(sizes) * len(idle) for sizes, idle in tuple(self._idle.items())])

    def used(self) -> int:
        """Bytes of freed blocks that other queues may still use."""
        return sum([one.layout.nbytes for one in tuple(self._used)])

    def area(self) -> int:
        """Bytes of the area, while it is not lent."""
        return sum([cast(Block, one.block).layout.nbytes for one in tuple(self.areas)])

    def drain(self, wait: bool = False) -> None:
        """Give idle blocks back to the driver; *wait*: those that other queues still use, too."""
        if wait:
            self.areas.clear()
            self.collect(wait)
        for sizes, idle in tuple(self._idle.items()):
            while idle:
                try:
                    places = idle.pop()
                except IndexError:  # another thread took it
                    break
                self._give(sum(sizes), places)

    def close(self, stream: Any = None) -> None:
        """Keep nothing more: the queue is gone, and *stream* takes back what is still in use."""
        self.closed = True
        self.areas.clear()
        self.drain()
        self.stream = stream
        first = cast(PooledQueue, self.device.queue).pool
        while used := self._oldest():
            first._used.append(used)
        self.reserve.counted()

    def forget(self) -> None:
        """Lay out anew: the limit is another one, or the process."""
        self.layouts.clear()
        self.areas.clear()

    def _give(self, nbytes: int, places: Places) -> None:
        self.device.give(places, self.stream)
        self.reserve.count(-nbytes)


class PooledQueue(Queue):
    """A queue with a pool."""

    pool: Pool

    def allocate_parts(self, sizes: Sequence[int]) -> tuple[Buffer, ...]:
        sizes = tuple(sizes)
        pool = self.pool
        layout = pool.layouts.get(sizes)
        if layout is None:
            layout = pool.layout(sizes)
        try:
            places = layout.idle.pop()
            pool.reserve.held -= layout.nbytes
        except IndexError:
            layout, places = pool.taken(layout, sizes)
        # All in one place: calls would take longer than the rest.
        block = _new(Block)
        block.layout = layout
        block.noted = ()
        block.places = places
        block.queue = self
        parts = []
        device = pool.device
        kind = device.kind
        for place, nbytes in zip(places, sizes, strict=True):
            part = _new(kind)
            part.device = device
            part.place = place
            part.nbytes = nbytes
            part.block = block
            parts.append(part)
        if pool.reserve.poison:
            _poison(parts, self)
        return tuple(parts)

    scratch_parts = allocate_parts

    def parts_of_area(self, sizes: Sequence[int]) -> tuple[Buffer, ...]:
        """Parts of this queue's area, which grows where it must; small or huge ones as others."""
        pool, device = self.pool, self.pool.device
        if sum(sizes) < LEAST_AREA or not device.whole:
            return self.allocate_parts(sizes)
        step, reserve = device.properties.alignment, pool.reserve
        starts = [*itertools.accumulate([-(-n // step) * step for n in sizes], initial=0)]
        end = starts.pop()
        if end > AREA * reserve.limit or reserve.poison:
            return self.allocate_parts(sizes)
        try:
            area: Part | None = pool.areas.pop()
        except IndexError:
            area = None
        if area is None or area.nbytes < end:
            area = None  # the driver may give its memory out again
            area = cast(Part, self.allocate_parts((end,))[0])
            del cast(Block, area.block).queue
        lease, kind = Lease(self, area), device.kind
        each = zip(starts, sizes, strict=True)
        return tuple([kind(device, area.place + at, n, lease) for at, n in each])

    def _launcher(self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given) -> Callable[[], None]:
        return partial(self._relauncher(kernel, grid, block, args, {}), ())


_new = object.__new__


def _poison(parts: Sequence[Part], queue: Queue) -> None:
    """Overwrite what memory held: as a float of any size each element is NaN."""
    ones = np.full(min(max([part.nbytes for part in parts]), _POISONED), 255, np.uint8)
    for part in parts:
        for offset in range(0, part.nbytes, _POISONED):
            queue.write(part, ones[: part.nbytes - offset], offset)


class PooledDevice(Device):
    """A device whose queues keep memory; ``kind`` is what a part of a block is."""

    kind: type[Part]
    reserve: Reserve
    whole = False
    """Whether the parts of a block lie in one allocation, where places are addresses."""

    @abstractmethod
    def take(self, sizes: Sequence[int], stream: Any) -> Places:
        """Memory from the driver, usable in *stream*; OutOfMemory says how much there is."""

    @abstractmethod
    def give(self, places: Places, stream: Any) -> None:
        """Give memory back to the driver once *stream* has reached this point."""

    def others(self) -> Sequence[Queue]:
        """The queues beside the first one that memory without a queue must wait for."""
        return ()

    def allocate(self, nbytes: int) -> Buffer:
        return self.allocate_parts((nbytes,))[0]

    def allocate_parts(self, sizes: Sequence[int]) -> tuple[Buffer, ...]:
        """Memory from the driver that any queue may use."""
        sizes = tuple(sizes)
        if min(sizes, default=0) < 0:
            raise ArgumentError(f"nbytes={min(sizes)} is negative")
        queue = cast(PooledQueue, self.queue)
        layout = Layout(queue.pool, sizes, sum(sizes), [], 0, shared=True)
        layout, places = queue.pool.taken(layout, sizes)
        block = Block()
        block.layout, block.places, block.noted, block.queue = layout, places, (), queue
        for other in self.others():
            other.wait(queue.record())
        pairs = zip(places, sizes, strict=True)
        return tuple([self.kind(self, place, nbytes, block) for place, nbytes in pairs])

    def free_memory(self) -> int | None:
        """Bytes that are free now, idle ones among them; None where the driver does not tell."""
        free = super().free_memory()
        return None if free is None else free + self.reserve.counted() + self.reserve.used()

    def give_memory_back(self) -> None:
        self.reserve.drain(wait=True)
        super().give_memory_back()

    def usage(self) -> Usage:
        self.reserve.collect()
        held = self.reserve.counted() + self.reserve.used()
        return Usage(self.reserve.taken - held, held, self.reserve.limit)

    def limit_held(self, nbytes: int) -> None:
        reserve = self.reserve
        reserve.limit = nbytes
        for pool in reserve.pools():
            pool.forget()
            pool.collect(wait=pool.used() > USED * nbytes)
        if reserve.counted() > nbytes:
            reserve.drain()


def _forked() -> None:
    """A process that lost its drivers gets no memory, and gives none back."""
    for pool in tuple(_pools) if is_lost() else ():
        pool.forget()
        pool.closed = True


os.register_at_fork(after_in_child=_forked)
