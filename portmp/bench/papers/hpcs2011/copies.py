"""The share of copies between host and device: one after the other as in the paper, overlapped.

Without overlap all operands go to the device, the routine runs, the result comes back. With it the
rows (of AXPY the vectors) are cut into pieces; each piece's copies and kernel are in one of a few
queues, so that copies both ways run beside kernels. The bits of both results must be the same.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import portmp as mp
from portmp import formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.backends.base import Queue
from portmp.bench import measure
from portmp.bench.cases import ACCURATE
from portmp.bench.experiment import Case as Measurement
from portmp.bench.papers.hpcs2011.measured import PORTMP, ROUTINE_NAMES, Bench, Task
from portmp.bench.tables import Row
from portmp.bench.values import Plane, Values, pieces, values_of
from portmp.formats import Format
from portmp.runtime import planes

FORMATS = ("float64", "dd2011", "dd", "qd2011", "qd")
QUEUES, PIECES = 3, 8
TO, WORK, BACK = "to the device", "work", "from the device"


class Memory:
    """An operand on the host, in memory that stays in its place, and room for it on the device."""

    def __init__(self, form: Format, shape: tuple[int, ...], queue: Queue) -> None:
        self.host = [mp.pinned(shape, part, queue) for part in form.parts]
        self.device = Array(planes.allocate(form, shape, queue))

    def fill(self, values: Values, start: int) -> Memory:
        """Give the host's part the values from *start* on."""
        for plane, block in zip(self.host, values.block, strict=True):
            flat = plane.reshape(-1)
            for first, some in pieces(block.size, start, flat.size):
                part = block[some]
                flat[first : first + part.size] = part
        return self

    def rows(self, some: slice) -> tuple[list[Plane], Array]:
        """A piece of both."""
        return [plane[some] for plane in self.host], self.device[some]


@dataclass
class Step:
    """A piece's work in its queue: what is sent, what is called, what comes back."""

    queue: Queue
    sent: Sequence[tuple[list[Plane], Array]]
    call: Callable[[], object]
    got: tuple[list[Plane], Array]

    def send(self) -> None:
        """Copy the operands without waiting."""
        for host, there in self.sent:
            there.write_from(*host)

    def fetch(self) -> None:
        """Copy the result without waiting."""
        host, there = self.got
        there.read_into(*host)


class Transfer:
    """A routine with its operands on the host: done one after the other, or overlapped."""

    def __init__(self, bench: Bench, task: Task) -> None:
        self.queue = bench.device.queue
        case, values = task.case, values_of(task.form)
        make = partial(Memory, task.form, queue=self.queue)
        shapes = case.operands
        self.left, self.right = (
            make(shape=shape).fill(values, start)
            for shape, start in zip(shapes, case.starts, strict=False)
        )
        self.out = make(shape=case.routine.result(case.shape))
        self.whole = task.routine != "axpy"
        """Whether each piece needs all of the second operand."""
        self._call = partial(case.routine.call, blas)
        self.first = self._step(self.queue, slice(None))
        self.queues = [self.queue, *(bench.device.new_queue() for _ in range(QUEUES - 1))]
        count = self.out.device.shape[0]
        edges = [count * i // PIECES for i in range(PIECES + 1)]
        self.steps = [
            self._step(self.queues[i % QUEUES], slice(begin, end))
            for i, (begin, end) in enumerate(itertools.pairwise(edges))
            if begin < end
        ]

    def _step(self, queue: Queue, some: slice) -> Step:
        def there(piece: tuple[list[Plane], Array]) -> tuple[list[Plane], Array]:
            return piece[0], Array(piece[1].planes.in_queue(queue))

        every = slice(None)
        left, out = there(self.left.rows(some)), there(self.out.rows(some))
        right = there(self.right.rows(every if self.whole else some))
        sent = [left] if self.whole else [left, right]
        return Step(queue, sent, partial(self._call, (left[1], right[1]), out[1], ACCURATE), out)

    def in_order(self) -> dict[str, float]:
        """Seconds of the copies and of the work, each waited for."""
        parts = ((TO, self._send_all), (WORK, self.first.call), (BACK, self.first.fetch))
        return {name: measure.once(act, self.queue.synchronize) for name, act in parts}

    def _send_all(self) -> None:
        if self.whole:
            self.right.device.write_from(*self.right.host)
        self.first.send()

    def overlapped(self) -> float:
        """Seconds of all pieces, until the last result is back."""
        start = time.perf_counter()
        if self.whole:
            sent = self.right.device.write_from(*self.right.host)
            for queue in self.queues[1:]:
                queue.wait(sent)
        for step in self.steps:
            step.send()
            step.call()
            step.fetch()
        for queue in self.queues:
            queue.synchronize()
        return time.perf_counter() - start

    def result(self) -> list[Plane]:
        """What came back, and nothing left of it."""
        found = [plane.copy() for plane in self.out.host]
        for plane in self.out.host:
            plane[...] = 0
        return found

    @property
    def nbytes(self) -> dict[str, int]:
        """Bytes that go each way."""
        return {
            TO: sum(p.nbytes for m in (self.left, self.right) for p in m.host),
            BACK: sum(p.nbytes for p in self.out.host),
        }


def cases(bench: Bench) -> Iterator[Measurement]:
    """Each format of each routine, by portmp's kernels."""
    if not bench.device.properties.float64:
        bench.skip("copies", "all", f"{bench.device.name} has no float64")
        return
    found = [
        Task(routine, formats.get(name), PORTMP, bench.sizes[routine])
        for name in FORMATS
        for routine in ROUTINE_NAMES
    ]
    for i, task in enumerate(found):
        parts = len(found) - i
        yield Measurement(
            f"{task.routine} {task.form.name}",
            partial(_measured, bench, task, parts),
            parts=parts,
            memory=task.case.memory,
        )


def _measured(bench: Bench, task: Task, parts: int) -> list[Row]:
    # One after the other and overlapped: each at least as long as the work.
    fitting = bench.affordable("copies", [task], parts, 2 * (measure.FEWEST + 2))
    if not fitting:
        return []
    task, transfer = fitting[0], Transfer(bench, fitting[0])
    with bench.budget.beside():  # compiles
        transfer.in_order()
        one = transfer.result()
        transfer.overlapped()
        other = transfer.result()
    once = sum(transfer.in_order().values()) + transfer.overlapped()
    runs = bench.runs or measure.runs_of(once, 2 * measure.BUDGET[bench.kind])
    turns = [(transfer.in_order(), transfer.overlapped()) for _ in range(runs)]
    same = all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    return [_row(task, transfer, turns, same)]


def _row(
    task: Task, transfer: Transfer, turns: Sequence[tuple[dict[str, float], float]], same: bool
) -> Row:
    phases = {name: measure.summary([t[name] for t, _ in turns], 1) for name in (TO, WORK, BACK)}
    whole = measure.summary([sum(t.values()) for t, _ in turns], 1)
    pieces = measure.summary([seconds for _, seconds in turns], 1)
    nbytes = transfer.nbytes
    return {
        "routine": task.routine,
        "format": task.form.name,
        "n": task.n,
        "seconds": {
            **{name: timing.as_dict() for name, timing in phases.items()},
            "in order": whole.as_dict(),
            "overlapped": pieces.as_dict(),
        },
        "bytes": nbytes,
        "bytes_per_second": {name: nbytes[name] / phases[name].median for name in nbytes},
        "share": statistics.median(1 - t[WORK] / sum(t.values()) for t, _ in turns),
        "share_overlapped": max(0.0, statistics.median(1 - t[WORK] / s for t, s in turns)),
        "faster": statistics.median(sum(t.values()) / s for t, s in turns),
        "pieces": len(transfer.steps),
        "queues": QUEUES,
        "same_bits": same,
    }
