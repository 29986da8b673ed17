"""Matrices of tiles, as factorisations work on them: the third kind beside devices' and the host's.

Columns go round among devices in blocks, and each device has its columns whole. So what changes
columns (products, systems, swaps of rows) is done by their owner, and only factors on the left
travel. Sizes of blocks and numbers of devices change no bit: products have the method of the whole
block's sizes (``Steps.method_for``), and elements depend on rows and columns alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.backends.base import Queue
from portmp.distributed import transport
from portmp.distributed.layout import Placement, columns
from portmp.formats import Format
from portmp.routines.moves import launch as moves
from portmp.routines.ozaki.options import Auto
from portmp.routines.plain import launch as plain
from portmp.routines.triangular.launch import OnDevice
from portmp.routines.triangular.steps import Method, Steps
from portmp.runtime.planes import Numbers, Planes, allocate, allocate_numbers

TILE = 512
"""Columns of a block, at most: a multiple of those that a panel has. A schedule."""
ROUNDS = 4
"""Blocks that each device has, at least, where columns are enough for that."""
SHARE = 8
"""What is sent to a device at once takes at most one part in so many of its memory."""


class Span(NamedTuple):
    """A device, which columns of a block it has, and where among its own these begin."""

    owner: int
    first: int
    end: int
    at: int


def placement(shape: tuple[int, ...], devices: int) -> Placement:
    """Where the columns of a matrix lie that is factored: blocks are whole panels.

    Where halves of all columns are whole blocks, no half of few columns lies on two devices: blocks
    of up to twice as many columns as else are taken for that.
    """
    size = definition.BLOCK
    most = min(TILE, shape[1] // (devices * ROUNDS)) // size
    panels = -(-min(shape) // size)
    while panels > most and (panels % 2 == 0 or panels > 2 * most):
        panels //= 2
    return columns(shape, devices, size * max(panels, 1))


@dataclass(frozen=True)
class Columns:
    """A block of a matrix whose columns lie on several devices, or its transpose.

    ``local``: each device's columns side by side, (1, rows, so many); ``spans`` says which.
    """

    rows: int
    spans: tuple[Span, ...]
    local: dict[int, Planes]
    flipped: bool = False

    @property
    def columns(self) -> int:
        """How many."""
        return self.spans[-1].end if self.spans else 0

    def within(self, first: int, end: int) -> tuple[int, Planes] | None:
        """The device that has all columns from one to another, if one does, and a view of them.

        The view's columns have the numbers that they have here. No others may be touched: the view
        may begin before its memory does.
        """
        owner, begin, beyond, at = self.spans[bisect_right(self.spans, first, key=_first) - 1]
        if end > beyond:
            return None
        mine = self.local[owner]
        start = mine.start + (at - begin) * mine.strides[2]
        return owner, mine.view((1, self.rows, end), mine.strides, start)

    def turned(self) -> Columns:
        """The transpose."""
        return Columns(self.rows, self.spans, self.local, not self.flipped)

    def of(self, device: int) -> Iterator[tuple[int, int, Planes]]:
        """A device's columns, from one to another, and the view of them."""
        mine = self.local.get(device)
        for owner, first, end, at in self.spans:
            if owner == device and mine is not None:
                yield first, end, block(mine, slice(0, self.rows), slice(at, at + end - first))


def block(x: Planes, rows: slice, columns: slice) -> Planes:
    """A part of one matrix (1, rows, columns); the view itself where that is all."""
    shape = (1, rows.stop - rows.start, columns.stop - columns.start)
    if shape == x.shape:
        return x
    return x.view(
        shape, x.strides, x.start + rows.start * x.strides[1] + columns.start * x.strides[2]
    )


def matrix(views: Sequence[Any], place: Placement) -> Columns:
    """Views (m, columns) that are placed by columns, as such a matrix."""
    rows, across = place.axes
    spans = []
    for part in range(across.parts):
        at = 0
        for first, end in across.blocks(part):
            spans.append(Span(part, first, end, at))
            at += end - first
    local = {
        i: view.view((1, *view.shape), (0, *view.strides), view.start)
        for i, view in enumerate(views)
        if view.size and i < across.parts
    }
    return Columns(rows.n, tuple(sorted(spans, key=_first)), local)


_first = attrgetter("first")


def _unused(self: Any, *given: Any) -> Any:
    raise NotImplementedError


UNUSED: Any = _unused
"""What is asked of one device's steps alone."""


class Idle:
    """What stands for steps on a device of another process: they are done there."""

    copies_across = False

    def __init__(self, steps: OnDevice) -> None:
        self.found, self.failed = (getattr(steps, name, None) for name in ("found", "failed"))

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *given, **options: None


class ColumnSteps(Steps[Columns]):
    """Blocks of matrices whose columns lie on several devices, one after the other.

    ``on``: what each device does; ``owned``: how it makes products. ``waits``: whether these wait
    to see which elements are left; else ``left`` tells afterwards that some were, and all is done
    again. ``owed``: a device, and what it does later (``ahead``). ``keep``: factors on the left of
    devices that do the same to other columns next, by devices; ``known``: these, as they do it;
    ``once``: what was sent, if it stays as it is.
    """

    def __init__(
        self, w: Columns, form: Format, method: Method, queues: Sequence[Queue], waits: bool
    ) -> None:
        self.size = w.rows, w.columns
        self.form, self.queues, self.waits = form, queues, waits
        self.method = method
        self.owed: tuple[int, Callable[[], None]] | None = None
        self.keep: dict[int, list[Callable[[], Planes]]] = {}
        self.known: dict[int, list[Callable[[], Planes]]] = {}
        self.once: dict[Any, Callable[[], Planes]] | None = None
        self.unmade = [allocate_numbers("int32", (1,), queue) for queue in queues]
        for one in self.unmade:
            plain.fill(one, 0)
        if isinstance(method, Auto):
            self.method = method = replace(method, beyond=self.beyond)
        self.owned = [
            replace(method, unmade=one) if isinstance(method, Auto) and not waits else method
            for one in self.unmade
        ]
        steps = [self.device(i) for i in range(len(queues))]
        self.on: list[Any] = [
            Idle(one) if transport.is_distant(queue) else one
            for one, queue in zip(steps, queues, strict=True)
        ]

    def like(self, i: int) -> Planes:
        """What stands for a matrix so large on a device; nothing of it is read."""
        number = allocate(self.form, (1, 1, 1), self.queues[i])
        return number.view((1, *self.size), (0, 0, 0), 0)

    backwards = halves = solve_block = whole_squares = products = UNUSED

    def device(self, i: int) -> OnDevice:
        """What one device does."""
        return OnDevice(self.form, self.own(self.method, i))

    def own(self, method: Method, i: int) -> Method:
        """A method as a device has it, whose products wait for nothing."""
        return self.owned[i] if method is self.method else method

    def left(self) -> bool:
        """Whether elements of products were left, which is read from all devices."""
        return any(found[0] for found in self.read(self.unmade, "elements that were left"))

    def read(self, numbers: Sequence[Numbers], what: str) -> list[np.ndarray[Any, Any]]:
        """Numbers of each device, which all processes are told."""
        own = {
            i: one.read_parts()[0] for i, one in enumerate(numbers) if not transport.is_distant(one)
        }
        every: dict[int, np.ndarray[Any, Any]] = {}
        for each in transport.shared(own, self.queues, what):
            every |= each
        return [every[i] for i in range(len(numbers))]

    def each(self, work: Callable[[int], None], devices: Sequence[int]) -> None:
        """Do something on each device; in threads where products wait."""
        mine = transport.distant_first(devices, self.queues)
        if self.waits and self.method is not None and len(mine) > 1:
            tasks = [partial(work, i) for i in mine]
            transport.together(tasks, [self.queues[i].device for i in mine])
            return
        for i in mine:
            work(i)

    # --- in which order ---------------------------------------------------------------------

    def ahead(self, c: Columns, act: Callable[[Columns, int], None]) -> None:
        """Do something to columns that follow those that were factored last.

        The device of the first block, which is factored next, does it there first, and in its other
        columns once that block was sent; others do all of theirs meanwhile. What these need is sent
        before that device works. *act* is given columns of c, as far as some devices have them, and
        which one of c is their first.
        """
        (owner, _, end, _), n = c.spans[0], c.columns
        debtor = self.owed[0] if self.owed else None
        if self.waits or len(self.queues) == 1 or (owner == debtor and n == end):
            self._on(act, c, 0, c.local, n)  # the block that is factored now
            return
        if owner == debtor:
            self.settle()
        near, rest = (self.part(c, slice(0, c.rows), one) for one in (slice(0, end), slice(end, n)))
        kept: dict[int, list[Callable[[], Planes]]] = {i: [] for i in rest.local}

        def done(devices: Iterable[Any]) -> None:
            self.known = kept
            self._on(act, rest, end, devices, n)
            self.known = {}

        self.keep, self.once = kept, {}
        self._on(act, near, 0, [owner], n)
        self.keep, self.once = {}, None
        done(rest.local.keys() - {owner, debtor})
        self.settle()
        done({debtor} - {owner})
        self.owed = (owner, partial(done, [owner])) if owner in rest.local else None

    def _on(
        self, act: Callable[..., None], c: Columns, first: int, devices: Iterable[Any], wide: int
    ) -> None:
        """Do it on some devices, with products as of *wide* columns."""
        local = {i: c.local[i] for i in sorted(c.local.keys() & set(devices))}
        if local:
            self.wide = wide
            act(replace(c, local=local), first)
            self.wide = 0

    def factor_at(self, x: Columns, i: int) -> Planes:
        """``at`` of what is on the left of products; it is sent once to each device, and before the
        first of them multiplies.
        """
        if i in self.known:
            return self.known[i].pop(0)()
        every = transport.distant_first({i, *self.keep}, self.queues)
        asked = {j: self._asked_once(x, j) for j in every}
        for j, factors in self.keep.items():
            factors.append(asked[j])
        return asked[i]()

    def _asked_once(self, x: Columns, i: int) -> Callable[[], Planes]:
        """``asked``, once of a block and its transpose while these stay as they are."""
        block = x.turned() if x.flipped else x
        key = i, block.spans, tuple([(view.place, view.buffers) for view in block.local.values()])
        known = {} if self.once is None else self.once
        if key not in known:
            known[key] = cache(self.asked(block, i))
        found = known[key]
        return (lambda: found().transposed((0, 2, 1))) if x.flipped else found

    def settle(self) -> None:
        """Do what is owed."""
        if self.owed:
            _, do = self.owed
            self.owed = None
            do()

    # --- what a matrix is -------------------------------------------------------------------

    def shape(self, x: Columns) -> tuple[int, int]:
        return (x.columns, x.rows) if x.flipped else (x.rows, x.columns)

    def part(self, x: Columns, rows: slice, columns: slice) -> Columns:
        if x.flipped:
            return self.part(x.turned(), columns, rows).turned()
        start, stop = columns.start, columns.stop
        spans: list[Span] = []
        its: dict[int, tuple[int, int]] = {}
        low = bisect_right(x.spans, start, key=_first) - 1
        high = bisect_left(x.spans, stop, key=_first)
        for span in x.spans[max(low, 0) : high] if start < stop else ():
            owner, first, end = span.owner, max(span.first, start), min(span.end, stop)
            at = span.at + first - span.first
            begin, _ = its.get(owner, (at, at))
            spans.append(Span(owner, first - start, end - start, at - begin))
            its[owner] = begin, at + end - first
        local = {i: block(x.local[i], rows, slice(*its[i])) for i in its if i in x.local}
        return Columns(rows.stop - rows.start, tuple(spans), local)

    def turned(self, x: Columns) -> Columns:
        return x.turned()

    def empty(self, rows: int, columns: int, like: Columns) -> Columns:
        """New memory, by columns as those of another one."""
        lies = self.part(like, slice(0, like.rows), slice(0, columns))
        local = {
            i: allocate(self.form, (1, rows, view.shape[2]), view.queue)
            for i, view in lies.local.items()
        }
        return Columns(rows, lies.spans, local)

    # --- on one device ----------------------------------------------------------------------

    def at(self, x: Columns, i: int) -> Planes:
        """All of a block on one device: where it lies, or a copy."""
        return self.asked(x, i)()

    def asked(self, x: Columns, i: int) -> Callable[[], Planes]:
        """Send a block to a device, which waits for it once what is returned is called."""
        if x.flipped:
            found = self.asked(x.turned(), i)
            return lambda: found().transposed((0, 2, 1))
        queue, owners = self.queues[i], {span.owner for span in x.spans}
        if owners == {i}:
            return lambda: x.local[i]
        sent = {owner: transport.sending(x.local[owner], queue) for owner in owners}
        if len(owners) == 1:
            return sent[owners.pop()]

        def made() -> Planes:
            out = allocate(self.form, (1, x.rows, x.columns), queue)
            for owner in owners:
                there = replace(x, local={owner: sent[owner]()})
                for first, end, view in there.of(owner):
                    moves.copied(view, out=block(out, slice(0, x.rows), slice(first, end)))
            return out

        return made

    def beside(self, x: Columns, c: Columns, i: int) -> Planes:
        """Those columns of a block that a device has of another one."""
        if x.spans == c.spans and not x.flipped:
            return x.local[i]
        rows = self.shape(x)[0]
        made = allocate(self.form, (1, rows, c.local[i].shape[2]), self.queues[i])
        at = 0
        for first, end, _ in c.of(i):
            mine = self.at(self.part(x, slice(0, rows), slice(first, end)), i)
            moves.copied(mine, out=block(made, slice(0, rows), slice(at, at + end - first)))
            at += end - first
        return made

    def rows_at_once(self, columns: int) -> int:
        """Rows of a factor on the left that each device is sent at once."""
        size = sum(4 if part == "float32" else 8 for part in self.form.parts) * max(columns, 1)
        memory = min(queue.device.properties.memory for queue in self.queues)
        return max(memory // (SHARE * size), 1)

    # --- what is done with them -------------------------------------------------------------

    def product(
        self, a: Columns, b: Columns, c: Columns, kind: str, method: Method, conjugated: str = ""
    ) -> None:
        m, k = self.shape(a)

        def made(i: int) -> None:
            mine, right = c.local[i], self.beside(b, c, i)
            whole, step = slice(0, mine.shape[2]), self.rows_at_once(k)
            for first in range(0, m, step):
                rows = slice(first, min(first + step, m))
                # More than is sent at once is not kept.
                sent = self.factor_at if step >= m else self.at
                left = sent(self.part(a, rows, slice(0, k)), i)
                target, by = block(mine, rows, whole), self.own(method, i)
                self.on[i].product(left, right, target, kind, by, conjugated)

        self.each(made, list(c.local))

    def solve(self, a: Columns, b: Columns, *, lower: bool, unit: bool, taken: str = "") -> None:
        """By the devices, each for its right-hand sides; of large systems product by product."""
        n, sides = self.shape(b)
        if not n or not sides:
            return
        if n > max(self.rows_at_once(n), definition.BLOCK):
            super().solve(a, b, lower=lower, unit=unit, taken=taken)
            return
        how: Any = {"lower": lower, "unit": unit, "taken": taken}

        def solved(i: int) -> None:
            self.on[i].wide = self.wide or sides
            self.on[i].solve_again(self.factor_at(a, i), b.local[i], **how)
            self.on[i].wide = 0

        self.each(solved, list(b.local))

    def copied(self, x: Columns) -> Columns:
        return replace(x, local={i: moves.copied(view) for i, view in x.local.items()})

    def put(self, x: Columns, out: Columns) -> None:
        """out = x."""
        for i, mine in out.local.items():
            moves.copied(self.beside(x, out, i), out=mine)

    def trapezoid(self, a: Columns, first: int, out: Columns, unit: bool = True) -> None:
        for i in out.local:
            for (column, _, mine), (_, _, target) in zip(a.of(i), out.of(i), strict=True):
                self.on[i].trapezoid(target if a is out else mine, first + column, target, unit)

    def square_and_below(self, a: Columns, c: Columns, kind: str) -> None:
        """Of each block of columns the rows from its first on."""
        (m, n), k = self.shape(c), self.shape(a)[1]
        method = self.method_for(m, n, k)

        def done(part: Columns, begin: int) -> None:
            def made(i: int) -> None:
                left, steps = self.factor_at(a, i), slice(0, k)
                for first, end, mine in part.of(i):
                    below = slice(begin + first, m)
                    columns = slice(begin + first, begin + end)
                    across = block(left, columns, steps).transposed((0, 2, 1))
                    target = block(mine, below, slice(0, end - first))
                    rows = block(left, below, steps)
                    self.on[i].product(rows, across, target, kind, self.own(method, i), "b")

            self.each(made, list(part.local))

        self.ahead(c, done)
