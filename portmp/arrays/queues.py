"""Queues of one's own, memory of the host that devices copy by themselves, captured launches."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from portmp import discovery
from portmp.arrays.viewed import integers
from portmp.backends.base import Device, Queue, Repeated, is_recording, recording
from portmp.errors import ArgumentError, ShapeError

__all__ = ["Loop", "capture", "give_memory_back", "memory", "pinned", "queue"]


def queue(device: str | Device | None = None) -> Queue:
    """Another queue of a device, beside its first one: what is in different queues may overlap.

    Wherever a device is asked for a queue may be given: ``portmp.zeros(9, "dd", queue)``. Arrays
    that work together are in one queue; ``x.to(queue)`` is an array in another.
    ``queue.record()`` is an event, ``queue.wait(event)`` lets further work come after it,
    ``queue.synchronize()`` waits.
    """
    return discovery.get(device).new_queue()


class Memory(NamedTuple):
    """Bytes of a device's memory: free ones (None where its driver does not tell), and all.

    ``in_use``: what this process's arrays take (None where nobody counts), ``held``: what portmp
    keeps unused for the next arrays, ``limit``: how much of that there may be.
    """

    free: int | None
    total: int
    device: str
    in_use: int | None
    held: int
    limit: int


def memory(device: str | Device | Queue | None = None, *, limit: int | None = None) -> Memory:
    """How much memory a device has, and how much of it is free; what portmp keeps unused is.

    Arrays that are gone leave their memory to the next ones of their queue: asking a driver takes
    longer than most work on small arrays. *limit*: how many bytes may lie so from now on (0: none),
    by default a sixteenth of the device's memory; where nothing is kept it changes nothing. Twice
    as many may be those that other queues have not used yet, and those of a queue's scratch memory.
    """
    found = discovery.get(device)
    if limit is not None:
        (most,) = integers((limit,), "limit", count=1)
        if most < 0:
            raise ArgumentError(f"memory: limit: {most} given, 0 or more bytes are allowed")
        found.limit_held(most)
    total, usage = found.properties.memory, found.usage()
    free = found.free_memory()
    return Memory(None if free is None else min(free, total), total, found.name, *usage)


def give_memory_back(device: str | Device | Queue | None = None) -> None:
    """Give memory that is kept for later, and not used, back for other processes. Waits.

    portmp keeps what ``memory`` says. Through ``cuda`` the driver keeps up to half of a device's
    memory with the process once it was used; other libraries of the process can have that.
    """
    discovery.get(device).give_memory_back()


def pinned(
    shape: int | Sequence[int], dtype: Any = "float64", device: str | Device | Queue | None = None
) -> np.ndarray[Any, Any]:
    """A NumPy array of zeros in memory that stays in its place: the device copies it by itself.

    For ``write_from`` and ``read_into`` of arrays on this device. It is taken from all processes:
    use little of it.
    """
    sizes = integers((shape,), "shape")
    if any(n < 0 for n in sizes):
        raise ShapeError(f"pinned: shape {tuple(sizes)} given, lengths cannot be negative")
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise ArgumentError(
            f"pinned: dtype: {dtype!r:.60} given, a NumPy dtype is needed"
        ) from None
    if kind.hasobject:
        raise ArgumentError(f"pinned: dtype: {kind} given, numbers are needed")
    memory = discovery.get(device).host_memory(math.prod(sizes) * kind.itemsize)
    found: np.ndarray[Any, Any] = memory.view(kind).reshape(sizes)
    found[...] = 0
    return found


class Loop:
    """What ``portmp.capture()`` recorded, to be repeated at the driver's cost."""

    def __init__(self) -> None:
        self._repeated: Repeated | None = None
        self._why = "its block has not ended"

    def __len__(self) -> int:
        return len(self._repeated.launches) if self._repeated else 0

    def replay(self, times: int = 1) -> None:
        """Do all of it so many times, in order and in the same memory, without waiting.

        Arrays of outside are read as they are then; results stand where the block left them.
        """
        (count,) = integers((times,), "replay: times", count=1)
        if count < 0:
            raise ArgumentError(f"replay: times: {count} given, 0 or more are allowed")
        if self._repeated is None:
            raise ArgumentError(f"replay: nothing was captured: {self._why}")
        self._repeated(count)

    def __repr__(self) -> str:
        launches = self._repeated.launches if self._repeated else ()
        where = f" on {launches[0].queue.device.name}" if launches else ""
        return f"<portmp loop of {len(launches)} launches{where}>"


@contextlib.contextmanager
def capture() -> Iterator[Loop]:
    """Record what this thread launches in a block, which is done as well.

    ::

        with mp.capture() as loop:
            x += step * v
        loop.replay(999)

    ``loop.replay()`` does it again: one graph of the driver's through ``cuda`` and ``rocm``, a
    compiled loop on ``cpu:0``, a prepared list elsewhere. Operands are taken in their places, with
    the elements that they have then, the host's numbers as they were. What the block makes lives in
    memory of the loop's, which each replay overwrites.

    ArgumentError for work of several queues or devices, for what brings values to the host
    (``float``, ``if``, printing, ``solve``), random numbers, and a capture within another. After an
    exception nothing is kept.
    """
    if is_recording():
        raise ArgumentError("capture: within another capture; give one block all that is repeated")
    loop = Loop()
    try:
        with recording() as launches:
            yield loop
    except BaseException as error:
        loop._why = f"its block ended by {type(error).__name__}"
        raise
    loop._repeated = Repeated(launches)
