"""Elements from one device to another, and work on several devices at the same time.

Devices may be those of several processes, which all run the same program: what goes from one to
another is sent by its owner's process and received by the other one (``processes``). What is to be
sent comes first, so that nobody waits for a process that computes.

What is sent is copied first, in its owner's queue, so that the owner may change it meanwhile. The
copy then travels in queues of its own beside those that compute, which wait for it where it comes
to: products go on while operands of the next ones are on their way.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from portmp.backends.base import Device, Queue, check_unread
from portmp.distributed import processes
from portmp.distributed.layout import Placement, Run, alone, common, within
from portmp.errors import PortmpError
from portmp.routines.moves import launch as moves
from portmp.runtime.planes import View, blank

T = TypeVar("T")
V = TypeVar("V", bound=View[Any])
Integers = np.ndarray[Any, np.dtype[Any]]

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
    return sending(view, queue)()


def sending(view: V, queue: Queue) -> Callable[[], V]:
    """Send it (``sent``); the other queue waits for it once what is returned is called."""
    if view.queue is queue:
        return lambda: view
    check_unread("copying between devices")
    if is_distant(view) or is_distant(queue):
        there = _told(view, queue)
        return lambda: there
    arrives = moves.copied(view)
    if queue.device is not view.device:
        travels = arrives.in_queue(beside(view.queue))
        arrives = blank(view.elements, view.shape).made(beside(queue))
        sizes = [view.size * np.dtype(part).itemsize for part in view.parts]
        for target, source, nbytes in zip(arrives.buffers, travels.buffers, sizes, strict=True):
            arrives.queue.receive(target, travels.queue, source, nbytes)
    return partial(arrives.in_queue, queue, arrives.queue.record())


def is_distant(x: View[Any] | Queue) -> bool:
    """Whether another process has it."""
    return x.device.rank is not None


def _told(view: V, queue: Queue) -> V:
    """The same between two processes: what one of them sends or receives, or neither."""
    there: V = blank(view.elements, view.shape).made(queue)
    job = processes.job()
    if job is None or not view.size or (is_distant(view) and is_distant(queue)):
        return there
    own, device = not is_distant(view), queue.device
    sender, receiver = (job.rank if d.rank is None else d.rank for d in (view.device, device))
    tag = device.number if isinstance(device, processes.DistantDevice) else job.number(queue)
    what = f"elements {view.elements} of shape {view.shape}"
    sizes = [view.size * np.dtype(part).itemsize for part in view.parts]
    if job.direct is not None and job.direct.takes(view.device, device):
        channel = job.direct.channel(sender, receiver, tag, what)
        act = channel.send if own else channel.receive
        # Another device of this process has its memory copied by the job's, which channels know.
        near = home(job.queues)
        ours = any(q.device is (view if own else queue).device for q in job.queues)
        if own:
            dense = moves.copied(view) if ours else sent(view, near)
        else:
            dense = there if ours else blank(view.elements, view.shape).made(near)
        for buffer, nbytes in zip(dense.buffers, sizes, strict=True):
            act(dense.queue, buffer, nbytes)
        return there if own or ours else sent(dense, queue)
    if own:
        parts = moves.dense(view).read_parts()
        data = np.concatenate([part.reshape(-1).view(np.uint8) for part in parts])
        job.send(data, receiver, tag)
        return there
    data = np.empty(sum(sizes), np.uint8)
    job.receive(data, sender, tag, what)
    cuts = np.split(data, np.cumsum(sizes)[:-1])
    there.write_parts([cut.view(part) for cut, part in zip(cuts, view.parts, strict=True)])
    return there


def home(queues: Sequence[Queue]) -> Queue:
    """The first queue of this process."""
    return next(queue for queue in queues if not is_distant(queue))


def known(view: V, queues: Sequence[Queue]) -> V:
    """A view's elements in the first queue of each process; this one's."""
    first: dict[int | None, Queue] = {}
    for queue in queues:
        first.setdefault(queue.device.rank, queue)
    return _own(_each(lambda i, queue: sent(view, queue), list(first.values())))


def _own(views: Sequence[V]) -> V:
    """The first one of this process."""
    return next(view for view in views if not is_distant(view))


def _each(move: Callable[[int, Queue], T], queues: Sequence[Queue]) -> list[T]:
    """What is moved to each of some queues, to those of other processes first."""
    found = {i: move(i, queues[i]) for i in distant_first(range(len(queues)), queues)}
    return [found[i] for i in range(len(queues))]


def distant_first(devices: Iterable[int], queues: Sequence[Queue]) -> list[int]:
    """Numbers of devices, those of other processes first: what they need is sent."""
    return sorted(devices, key=lambda i: not is_distant(queues[i]))


def shared(mine: T, queues: Sequence[Queue], what: str) -> list[T]:
    """What each process that has some of the queues says, by ranks; all must be asked."""
    job = processes.job()
    if job is None or not any(map(is_distant, queues)):
        return [mine]
    return job.share(mine, what)


def first(act: Callable[[], T], queues: Sequence[Queue], what: str) -> T:
    """What a function gives, or the error that it raises: of the processes that have some of the
    queues the first one calls it, and tells all.
    """
    job = processes.job()
    found: tuple[T | None, PortmpError | None] | None = None
    if job is None or not any(map(is_distant, queues)):
        return act()
    if job.rank == 0:
        try:
            found = act(), None
        except PortmpError as error:
            found = None, error
    told, wrong = job.share(found, what)[0]
    if wrong is not None:
        raise wrong
    return cast(T, told)


def summed(integers: Integers, queues: Sequence[Queue], what: str) -> Integers:
    """Sums of integers of all processes that have some of the queues: exact, in any order."""
    job = processes.job()
    if job is None or not any(map(is_distant, queues)):
        return integers
    return job.total(integers, what)


def whole(
    pieces: Sequence[View[Any]],
    source: Placement,
    queue: Queue,
    root: int | None = None,
    rows: tuple[int, int] | None = None,
) -> View[Any] | None:
    """All of an array, or some of its *rows*, in a queue of this process, and in one of each other
    that has pieces; of *root* alone, where that is given.
    """
    job, target = processes.job(), alone(source.shape)
    if job is None or not any(map(is_distant, pieces)):
        return piece(pieces, source, target, 0, queue, rows, 0)
    ends = job.ends(beside(queue))
    wanted = ends if root is None else [ends[root]]
    found = _each(lambda i, end: piece(pieces, source, target, 0, end, rows, 0), wanted)
    return _own(found).in_queue(queue) if root in (None, job.rank) else None


def cut(view: View[Any], target: Placement, queues: Sequence[Queue]) -> list[View[Any]]:
    """The parts of an array of this process, which others have as well; stand-ins for theirs."""
    source = alone(view.shape)
    return [
        blank(view.elements, target.local(i)).made(queue)
        if is_distant(queue)
        else piece([view], source, target, i, queue)
        for i, queue in enumerate(queues)
    ]


def moved(
    pieces: Sequence[View[Any]], source: Placement, target: Placement, queues: Sequence[Queue]
) -> list[View[Any]]:
    """The pieces of an array that is cut up otherwise, or lies on other devices.

    *queues*: those of the target's devices, one for each.
    """
    return _each(lambda i, queue: piece(pieces, source, target, i, queue), queues)


def piece(
    pieces: Sequence[View[Any]],
    source: Placement,
    target: Placement,
    device: int,
    queue: Queue,
    span: tuple[int, int] | None = None,
    axis: int = -1,
) -> View[Any]:
    """What a device has of an array that is cut up as *target* says.

    *span*: of an *axis* only from one place to another.
    """
    wanted, shape = target.parts(device), target.local(device)
    holders = _holders(source)
    near = _nearest(holders.get(wanted, ()), pieces, queue)
    if source.axes == target.axes and near and span is None:
        return sent(pieces[near[0]], queue)
    if span is not None:
        sizes = list(shape)
        sizes[axis] = span[1] - span[0]
        shape = tuple(sizes)
    made: View[Any] = blank(pieces[0].elements, shape).made(queue)
    for parts, devices in holders.items():
        each = zip(source.axes, parts, target.axes, wanted, strict=True)
        runs = [common(*one) for one in each]
        if span is not None:
            runs[axis] = within(runs[axis], *span)
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
    """Devices in order: the one whose queue it is, those of the same device, process, others."""

    def distance(i: int) -> int:
        there = pieces[i]
        if there.queue is queue or there.device is queue.device:
            return int(there.queue is not queue)
        return 2 + (there.device.rank != queue.device.rank)

    return sorted(devices, key=distance)


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
    ended; it names the device. For devices of other processes it is done before: they are sent
    what they need.
    """
    if len(work) == 1:
        return [work[0]()]
    found: list[Any] = [
        one() if device.rank is not None else None
        for one, device in zip(work, devices, strict=True)
    ]
    own = [i for i, device in enumerate(devices) if device.rank is None]
    with ThreadPoolExecutor(max(len(own), 1)) as threads:
        running = [threads.submit(contextvars.copy_context().run, work[i]) for i in own]
    for i, one in zip(own, running, strict=True):
        error = one.exception()
        if error is not None:
            if isinstance(error, PortmpError):
                error.add_note(f"on device {i} of {len(work)}: {devices[i].name}")
            raise error
        found[i] = one.result()
    return found
