"""Elements from one device to another, and work on several devices at the same time.

What is sent is copied first, in its owner's queue, so that the owner may change it meanwhile. The
copy then travels in queues of its own beside those that compute, which wait for it where it comes
to: products go on while operands of the next ones are on their way.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from portmp.backends.base import Device, Queue, check_unread
from portmp.distributed.layout import Placement, Run, common, within
from portmp.errors import PortmpError
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import View, blank

T = TypeVar("T")
V = TypeVar("V", bound=View[Any])

_beside: WeakKeyDictionary[Queue, Queue] = WeakKeyDictionary()


def beside(queue: Queue) -> Queue:
    """The queue of the same device in which copies from and to a queue are made."""
    if queue not in _beside:
        _beside[queue] = found = queue.device.new_queue()
        _beside[found] = found
    return _beside[queue]


@contextmanager
def lent(pieces: Sequence[View[Any]]) -> Iterator[list[View[Any]]]:
    """The same memory in the queues beside, from where it is sent while its owners compute.

    What they do afterwards comes after all that was sent.
    """
    seen = [piece.in_queue(beside(piece.queue)) for piece in pieces]
    yield seen
    for mine, other in zip(pieces, seen, strict=True):
        mine.queue.wait(other.queue.record())


def sent(view: V, queue: Queue) -> V:
    """A dense copy of a view's elements in another queue; the view itself where it is there."""
    if view.queue is queue:
        return view
    check_unread("copying between devices")
    copied = moves.copied(view)
    if queue.device is view.device:
        return copied.in_queue(queue)
    travels = copied.in_queue(beside(view.queue))
    arrives: V = blank(view.elements, view.shape).made(beside(queue))
    sizes = [view.size * np.dtype(part).itemsize for part in view.parts]
    for target, source, nbytes in zip(arrives.buffers, travels.buffers, sizes, strict=True):
        arrives.queue.receive(target, travels.queue, source, nbytes)
    there: V = arrives.in_queue(queue)
    return there


def moved(
    pieces: Sequence[View[Any]], source: Placement, target: Placement, queues: Sequence[Queue]
) -> list[View[Any]]:
    """The pieces of an array that is cut up otherwise, or lies on other devices.

    *queues*: those of the target's devices, one for each.
    """
    return [piece(pieces, source, target, i, queue) for i, queue in enumerate(queues)]


def piece(
    pieces: Sequence[View[Any]],
    source: Placement,
    target: Placement,
    device: int,
    queue: Queue,
    span: tuple[int, int] | None = None,
) -> View[Any]:
    """What a device has of an array that is cut up as *target* says.

    *span*: of its last axis only from one place to another.
    """
    wanted, shape = target.parts(device), target.local(device)
    holders = _holders(source)
    near = _nearest(holders.get(wanted, ()), pieces, queue)
    if source.axes == target.axes and near and span is None:
        return sent(pieces[near[0]], queue)
    if span is not None:
        shape = (*shape[:-1], span[1] - span[0])
    made: View[Any] = blank(pieces[0].elements, shape).made(queue)
    for parts, devices in holders.items():
        each = zip(source.axes, parts, target.axes, wanted, strict=True)
        runs = [common(*one) for one in each]
        if span is not None:
            runs[-1] = within(runs[-1], *span)
        if made.size and all(runs):
            _put(pieces[_nearest(devices, pieces, queue)[0]], made, runs)
    return made


def _holders(source: Placement) -> dict[tuple[int, ...], list[int]]:
    """Which devices have the same parts of all axes, by these."""
    found: dict[tuple[int, ...], list[int]] = {}
    for device in range(source.devices):
        found.setdefault(source.parts(device), []).append(device)
    return found


def _nearest(devices: Sequence[int], pieces: Sequence[View[Any]], queue: Queue) -> list[int]:
    """Devices in order: the one whose queue it is, those of the same device, others."""
    near = {True: 1, False: 2}
    return sorted(
        devices,
        key=lambda i: 0 if pieces[i].queue is queue else near[pieces[i].device is queue.device],
    )


def _put(piece: View[Any], made: View[Any], runs: Sequence[Sequence[Run]]) -> None:
    """Copy what a piece has in common with another one, block by block."""
    chosen: list[list[Run]] = [[]]
    for each in runs:
        chosen = [[*before, one] for before in chosen for one in each]
    for blocks in chosen:
        shape = [n for one in blocks for n in (one.times, one.length)]
        sides = []
        for view, step, start in ((piece, 3, 2), (made, 5, 4)):
            strides = [
                s
                for one, by in zip(blocks, view.strides, strict=True)
                for s in (one[step] * by, by)
            ]
            first = sum(one[start] * by for one, by in zip(blocks, view.strides, strict=True))
            sides.append(view.view(shape, strides, view.start + first))
        moves.copied(sent(sides[0], made.queue), out=sides[1])


def together(work: Sequence[Callable[[], T]], devices: Sequence[Device]) -> list[T]:
    """Results of functions, each of which works on its own device, in a thread for each.

    So none waits while another one is given its work. The first error is raised once all have
    ended; it names the device.
    """
    if len(work) == 1:
        return [work[0]()]
    with ThreadPoolExecutor(len(work)) as threads:
        running = [threads.submit(contextvars.copy_context().run, one) for one in work]
    found = []
    for i, (one, device) in enumerate(zip(running, devices, strict=True)):
        error = one.exception()
        if error is not None:
            if isinstance(error, PortmpError):
                error.add_note(f"on device {i} of {len(work)}: {device.name}")
            raise error
        found.append(one.result())
    return found
