"""LU, Cholesky's factors, QR and systems of equations on several devices.

A panel is factored by the device that has its columns (``tiles``); the order of its rows, or its
vectors, go to all others, which change their own columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import numpy as np

from portmp import definition
from portmp.arrays import creation, manipulation
from portmp.arrays.array import Array
from portmp.arrays.plain import plain_array
from portmp.arrays.viewed import Elsewhere
from portmp.distributed import layout as layouts
from portmp.distributed import tiles, transport
from portmp.distributed.array import DistributedArray
from portmp.distributed.functions import here, joined, known, team
from portmp.distributed.helpers import Helpers
from portmp.distributed.layout import Placement, Rows
from portmp.distributed.tiles import Columns, ColumnSteps, Span, block
from portmp.errors import MatrixShapeError, OutOfMemory, choice
from portmp.linalg import (
    elimination,
    least_squares,
    operands,
    orthogonal,
    positive_definite,
    scaling,
    systems,
)
from portmp.linalg.singular import svdvals
from portmp.linalg.triangular import solve_triangular
from portmp.networks import ieee
from portmp.routines import base
from portmp.routines.cholesky.launch import CholeskyOnDevice
from portmp.routines.cholesky.steps import CholeskySteps
from portmp.routines.jacobi import parts
from portmp.routines.lu import reference
from portmp.routines.lu.launch import LuOnDevice
from portmp.routines.lu.steps import LuSteps
from portmp.routines.moves import launch as moves
from portmp.routines.plain import launch as plain
from portmp.routines.qr.launch import QrOnDevice
from portmp.routines.qr.steps import Kept, QrSteps, Reflectors
from portmp.routines.triangular.launch import copied_triangle
from portmp.routines.triangular.steps import Method
from portmp.runtime.planes import Planes, allocate, allocate_numbers

S = TypeVar("S", bound=ColumnSteps)
Integers = np.ndarray[Any, np.dtype[np.int32]]


class Lu(ColumnSteps, LuSteps[Columns]):
    """LU of a matrix by columns."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.owners: dict[int, int] = {}
        self.told: set[tuple[int, int]] = set()

    def device(self, i: int) -> LuOnDevice:
        """What one device does, with pivots of all panels: those that it made are right."""
        pivots = allocate_numbers("int32", (1, min(self.size)), self.queues[i])
        singular = allocate_numbers("int32", (1,), self.queues[i])
        plain.fill(singular, 0)  # kernels of few rows do so with the first panel alone
        return LuOnDevice(self.like(i), self.own(self.method, i), singular, pivots)

    def _columns(self, w: Columns, first: int, end: int, together: slice | None = None) -> None:
        """By one device where it has them all."""
        reach = together or slice(first, end)
        found = w.within(reach.start, reach.stop)
        if not found:
            super()._columns(w, first, end, together)
            return
        owner, mine = found
        self.owners |= dict.fromkeys(
            range(first // definition.BLOCK, -(-end // definition.BLOCK)), owner
        )
        self.on[owner]._columns(mine, first, end, together)

    def alone(self, panel: Columns, first: int) -> bool:
        ((owner, view),) = panel.local.items()
        self.owners[first // definition.BLOCK] = owner
        found: bool = self.on[owner].alone(view, first)
        return found

    def right(self, w: Columns, first: int, middle: int, c: Columns, swapped: bool = False) -> None:
        def done(mine: Columns, begin: int) -> None:
            LuSteps.right(self, w, first, middle, mine, swapped)

        self.ahead(c, done)

    def swap(self, w: Columns, first: int, end: int, columns: slice) -> None:
        if columns.stop <= columns.start:
            return
        mine = self.part(w, slice(first, w.rows), columns).local
        if self.owed and not self.wide and mine.keys() != {self.owed[0]}:
            self.settle()  # of several blocks that are swapped together
        for i, rows in mine.items():
            self.tell(i, first, end)
            self.on[i].swapped(rows, first, end - first)

    def tell(self, i: int, first: int, end: int) -> None:
        """Send a device what it does not know yet of the rows of panels: where they went, or came
        from. Of neighbours that one device made at once.
        """
        size, owners = definition.BLOCK, self.owners
        every = range(first // size, -(-end // size))
        missing = [n for n in every if owners[n] != i and (i, n) not in self.told]
        for _, each in groupby(enumerate(missing), lambda at: (owners[at[1]], at[1] - at[0])):
            panels = [n for _, n in each]
            start, stop = panels[0] * size, min((panels[-1] + 1) * size, *self.size)
            place = (stop - start,), (1,), start
            for name in ("places", "order"):
                there, here = (getattr(self.on[k].found, name) for k in (owners[panels[0]], i))
                moves.copied(transport.sent(there.view(*place), self.queues[i]), here.view(*place))
            self.told.update((i, n) for n in panels)

    def pivots(self, w: Columns) -> Integers:
        """(1, k): row i was swapped with row pivots[i], as those say that made them."""
        found = self.read([one.found.pivots for one in self.on], "pivots")
        pivots = np.empty((1, min(self.size)), np.int32)
        for owner, first, end, _ in w.spans:
            pivots[:, first:end] = found[owner][:, first:end]
        return pivots

    def singular(self) -> int:
        """The first column without a pivot, from 1; 0 where there is none."""
        return _first(self.read([one.found.singular for one in self.on], "singular columns"))


def _first(found: list[Integers]) -> int:
    """The smallest of numbers but 0 on all devices."""
    read = [int(one.reshape(-1)[0]) for one in found]
    return min((n for n in read if n), default=0)


class Cholesky(ColumnSteps, CholeskySteps[Columns]):
    """Cholesky's factorisation by columns."""

    def device(self, i: int) -> CholeskyOnDevice:
        """What one device does."""
        failed = allocate_numbers("int32", (1,), self.queues[i])
        return CholeskyOnDevice(self.like(i), self.own(self.method, i), failed)

    block = panel = tiles.UNUSED

    def _columns(self, a: Columns, first: int, end: int) -> None:
        """By one device where it has them all."""
        found = a.within(first, end)
        if not found:
            super()._columns(a, first, end)
            return
        owner, mine = found
        self.on[owner]._columns(mine, first, end)
        self.on[owner].put_corners(mine, first, end)

    def failed(self) -> int:
        """The order of the first leading minor that is not positive, or 0."""
        return _first(self.read([one.failed for one in self.on], "minors"))


class Qr(ColumnSteps, QrSteps[Columns]):
    """QR by columns; v, like R, lies with its columns, and v^T is v."""

    def device(self, i: int) -> QrOnDevice:
        """What one device does."""
        least = definition.NEGLIGIBLE[self.form.word][self.form.limbs - 1]
        return QrOnDevice(self.like(i), self.own(self.method, i), least)

    panel = tiles.UNUSED

    def kept(self, a: Columns) -> Kept[Columns]:
        """All t are sent whole, and nothing is written below their diagonals."""
        found = super().kept(a)
        for view in found.t.local.values():
            _clear(view)
        return found

    def _columns(
        self, a: Columns, kept: Kept[Columns], t: Columns, first: int, end: int
    ) -> Reflectors[Columns]:
        """By one device where it has them all."""
        found, lies = a.within(first, end), kept.v.within(first, end)
        if not (found and lies):
            return super()._columns(a, kept, t, first, end)
        (owner, mine), (_, v) = found, lies
        on, width = self.on[owner], end - first
        made = allocate(self.form, (1, width, width), self.queues[owner])
        _clear(made)
        across = v.transposed((0, 2, 1))
        if on.copies_across:
            across = allocate(self.form, (1, width, a.rows), self.queues[owner])
            across = across.view((1, end, a.rows), across.strides, -first * across.strides[1])
        on._columns(mine, Kept(v, across, made), made, first, end)
        self.put(Columns(width, (Span(owner, 0, width, 0),), {owner: made}), t)
        return self.reflectors(kept, first, end, t)

    def apply(self, one: Reflectors[Columns], c: Columns, transposed: bool) -> None:
        def done(mine: Columns, begin: int) -> None:
            QrSteps.apply(self, one, mine, transposed)

        if transposed and c.spans:
            self.ahead(c, done)
        else:
            done(c, 0)

    def subtract(self, x: Columns, out: Columns) -> None:
        for i, mine in out.local.items():
            self.on[i].subtract(self.beside(x, out, i), mine)

    def conjugate(self, x: Columns) -> None:
        for i, mine in x.local.items():
            self.on[i].conjugate(mine)


def _clear(x: Planes) -> None:
    """Set all memory of what a device has to 0."""
    if not transport.is_distant(x):
        x.queue.clear(x.buffers)


# --- operands -----------------------------------------------------------------------------------


def _alone(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a function makes of arrays that are gathered on one device; cut up as the first was.

    Others of this process help in its largest products.
    """
    given = (*args, *options.values())
    every = [x for arg in given for x in (arg if isinstance(arg, tuple) else (arg,))]
    like = next(x for x in every if isinstance(x, DistributedArray))
    own = [q for q in like.queues if not transport.is_distant(q)]
    first = next((q for q in own if not q.device.by_reference), own[0])

    def gathered(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(gathered, x))
        return x.gather(first) if isinstance(x, DistributedArray) else x

    others = [q for q in own if q is not first and not q.device.by_reference]
    divided = parts.DIVIDED.set(Helpers(others).multiply if others else None)
    try:
        found = function(*map(gathered, args), **{k: gathered(v) for k, v in options.items()})
    except OutOfMemory as error:
        raise OutOfMemory(
            f"{function.__name__}: of an array on several devices it is done on one, which has no "
            f"room: {error}"
        ) from None
    finally:
        parts.DIVIDED.reset(divided)
    return _spread(found, like)


def _spread(found: Any, like: DistributedArray) -> Any:
    """Results with axes on the devices of an array."""
    if isinstance(found, least_squares.LeastSquares):
        x, squares, values = found.x, found.residuals, found._values
        return least_squares.LeastSquares(
            _spread(x, like), _spread(squares, like), found.rank, lambda: _spread(values(), like)
        )
    if isinstance(found, tuple):
        parts = [_spread(one, like) for one in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    if not isinstance(found, Array) or not found.shape:
        return found
    layout = like.layout if found.ndim == like.ndim else Rows()
    place = layout.place(found.shape, len(like.queues))
    views = transport.cut(found.planes, place, like.queues)
    return DistributedArray.made(views, place, like.queues)


def _check(a: DistributedArray, routine: str, square: bool = False) -> None:
    """MatrixShapeError for what is no matrix, or no square one."""
    if a.ndim != 2:
        raise MatrixShapeError(f"{routine}: a {a.shape} given, on several devices one matrix")
    if square and a.shape[0] != a.shape[1]:
        raise MatrixShapeError(f"{routine}: a must be square, {a.shape} given")


def _by_columns(a: DistributedArray, place: Placement | None = None) -> Columns:
    """A copy of a matrix by columns."""
    place = place or tiles.placement(a.shape, len(a.queues))
    views = a.placed(place, a.queues).views
    own = views[0] is not a.views[0]
    return tiles.matrix(views if own else [moves.copied(view) for view in views], place)


def _back(w: Columns, place: Placement, like: DistributedArray) -> DistributedArray:
    """A matrix by columns as one that is cut up as another is."""
    return _as(_whole(w, place, like), like)


def _as(found: DistributedArray, like: DistributedArray) -> DistributedArray:
    """The same, cut up as another array is."""
    same = found.shape == like.shape
    target = like.placement if same else like.layout.place(found.shape, len(like.queues))
    return found.placed(target, like.queues)


def _whole(w: Columns, place: Placement, like: DistributedArray) -> DistributedArray:
    """A matrix by columns as an array; what there is none of is new memory."""
    views: list[Planes] = []
    for i, queue in enumerate(like.queues):
        mine = w.local.get(i)
        views.append(allocate(like.format, place.local(i), queue) if mine is None else _plane(mine))
    return DistributedArray.made(views, place, like.queues)


def _plane(x: Planes) -> Planes:
    return x.view(x.shape[1:], x.strides[1:], x.start)


def _made(
    kind: type[S],
    a: DistributedArray,
    by: Method,
    work: Callable[[S, Columns], Any],
    place: Placement | None = None,
) -> tuple[Columns, S]:
    """A copy of a matrix by columns that was worked on; done again where products left elements."""
    for waits in (False, True):
        w = _by_columns(a, place)
        steps = kind(w, a.format, by, a.queues, waits)
        work(steps, w)
        steps.settle()
        if waits or not steps.left():
            break
    return w, steps


def _few(a: DistributedArray) -> bool:
    """Whether it is done on one device: some run no kernels, or there is nothing to do."""
    return not a.size or any(device.by_reference for device in a.devices)


# --- LU -------------------------------------------------------------------------------------------


def _factored(a: DistributedArray, by: Method) -> tuple[Columns, Lu]:
    return _made(Lu, a, by, lambda steps, w: steps.factor(w))


@known("lu_factor")
def lu_factor(
    function: Callable[..., Any], a: Any, overwrite_a: bool = False, *, method: Any = "auto"
) -> Any:
    """Factors as a is cut up; pivots on the first device."""
    _check(a, "lu_factor")
    if overwrite_a:
        raise Elsewhere(a)
    if _few(a):
        return _alone(function, a, method=method)
    w, steps = _factored(a, operands.by(method, a.format, "lu_factor"))
    piv = plain_array(steps.pivots(w)[0], "int32", a.queues[a.home])
    return elimination.LuFactors(_back(w, tiles.placement(a.shape, len(a.queues)), a), piv)


@known("lu")
def lu(
    function: Callable[..., Any], a: Any, *, p_indices: bool = False, method: Any = "auto"
) -> Any:
    """p, l and u; p's indices on the first device."""
    _check(a, "lu")
    if _few(a):
        return _alone(function, a, p_indices=p_indices, method=method)
    w, steps = _factored(a, operands.by(method, a.format, "lu"))
    (m, n), queues = a.shape, a.queues
    count, width = min(m, n), tiles.placement(a.shape, len(queues)).axes[1].block
    left = steps.part(w, slice(0, m), slice(0, count))
    lower, upper = steps.empty(m, count, left), _uppers(steps, w, count)
    steps.trapezoid(left, 0, lower)
    order = np.argsort(reference.swapped(steps.pivots(w), m)[0]).astype(np.int32)
    p: Any = plain_array(order, "int32", queues[a.home])
    if not p_indices:
        p = _spread(creation.array(np.eye(m)[order], a.format.component, queues[a.home]), a)
    sizes = (lower, count), (upper, n)
    parts = [_back(x, layouts.columns((x.rows, k), len(queues), width), a) for x, k in sizes]
    return elimination.Lu(p, *parts)


def _uppers(steps: ColumnSteps, w: Columns, rows: int) -> Columns:
    """The upper triangle of the first rows."""
    out = steps.empty(rows, w.columns, w)
    for i in out.local:
        for (column, _, mine), (_, _, target) in zip(w.of(i), out.of(i), strict=True):
            top = block(mine, slice(0, min(rows, w.rows)), slice(0, mine.shape[2]))
            copied_triangle(top, lower=False, unit=False, rows=rows, first=column, out=target)
    return out


@known("solve")
def solve(
    function: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    method: Any = "auto",
    assume_a: str = "gen",
    lower: bool = False,
    **options: Any,
) -> Any:
    """x as b is cut up: by LU or, of positive definite matrices, by Cholesky's factors."""
    arrays, queues = team(a, b)
    assumed = systems.ASSUMED.get(assume_a, assume_a)
    own = {name: options.pop(name, False) for name in ("refine", "certify")}
    if any(options.values()) or len(arrays) < 2:
        raise Elsewhere(arrays[0])
    _check(a, "solve", square=True)
    fits = a.format is b.format and b.ndim in (1, 2) and b.shape[0] == a.shape[0]
    if any(own.values()) or assumed not in ("gen", "pos") or not fits or _few(a):
        return _alone(function, a, b, method=method, assume_a=assume_a, lower=lower, **own)
    given = _sides(b)
    by = operands.by(method, a.format, "solve")
    if assumed == "pos":
        w = _lower(a if lower else a.mT, by, "solve")

        def triangles(steps: ColumnSteps, x: Columns) -> None:
            taken = positive_definite.TAKEN[not lower]
            steps.solve(w, x, lower=True, unit=False, taken=taken[0])
            steps.solve(w.turned(), x, lower=False, unit=False, taken=taken[1])
    else:
        w, found = _factored(a, by)
        singular = found.singular() or _weak(found, w)
        operands.refuse(np.array([singular], np.int32), a, "solve")

        def triangles(steps: ColumnSteps, x: Columns) -> None:
            found.swap(x, 0, a.shape[0], slice(0, x.columns))
            steps.solve(w, x, lower=True, unit=True)
            steps.solve(w, x, lower=False, unit=False)

    # Right-hand sides are whole, each on a device.
    place = layouts.columns(given.shape, len(queues))
    x, _ = _made(ColumnSteps, given, by, triangles, place)
    back = _back(x, place, given)
    return back if b.ndim == 2 else back[:, 0].placed(b.placement, queues)


def _weak(steps: Lu, w: Columns) -> int:
    """What ``lu.reference.weak`` says of pivots that may be rounding errors alone; 0 if none."""
    n, least = w.rows, np.float32(np.inf)
    word = np.dtype(steps.form.word).type
    scale = word(reference.root(steps.form))
    for i in transport.distant_first(w.local, steps.queues):
        for first, end, mine in w.of(i):
            rows = steps.part(w, slice(first, end), slice(0, end))
            there = steps.at(rows, i)
            if transport.is_distant(there):
                continue
            left = _sizes(there)
            right = _sizes(block(mine, slice(0, end), slice(0, end - first)))
            most = np.zeros(end - first, word)
            if first:
                above = left[:, :first].T * right[:first]
                most = above.max(axis=0).to_limbs()[0]
            inside = left[:, first:].to_limbs()[0], right[first:].to_limbs()[0]
            with ieee.quiet():
                products = np.tril(inside[0], -1) * np.triu(inside[1], 1).T
                limits = np.maximum(most, products.max(1)) * (16 * n * scale)
                own = np.diagonal(inside[1]) / scale
                ratios = np.where(own < limits, own / limits, np.inf).astype(np.float32)
            least = min(least, ratios.min())
    least = min(transport.shared(least, steps.queues, "the weakest pivot"))
    return int(np.float32(least).view(np.int32)) - reference.INFINITY


def _sizes(x: Planes) -> Array:
    """How large elements are when pivots are chosen."""
    real, *imaginary = (abs(Array(half).limbs[0]) for half in _plane(x).halves)
    found: Array = sum(imaginary, real)
    return found


# --- Cholesky -------------------------------------------------------------------------------------


def _lower(a: DistributedArray, by: Method, routine: str) -> Columns:
    """The lower factor of a matrix, by columns."""

    def factor(steps: Cholesky, w: Columns) -> None:
        steps.factor(w)
        steps.trapezoid(w, 0, w, unit=False)

    w, steps = _made(Cholesky, a, by, factor)
    positive_definite.refuse(np.array([steps.failed()], np.int32), a, routine)
    return w


@known("cholesky")
def cholesky(
    function: Callable[..., Any],
    a: Any,
    *,
    upper: bool = False,
    overwrite_a: bool = False,
    method: Any = "auto",
) -> Any:
    """The factor as a is cut up."""
    _check(a, "cholesky", square=True)
    if overwrite_a:
        raise Elsewhere(a)
    if _few(a):
        return _alone(function, a, upper=upper, method=method)
    given = a.mT if upper else a
    w = _lower(given, operands.by(method, a.format, "cholesky"), "cholesky")
    found = _back(w, tiles.placement(a.shape, len(a.queues)), given)
    return found.mT if upper else found


# --- QR -------------------------------------------------------------------------------------------


@known("qr")
def qr(
    function: Any, a: Any, mode: str = "reduced", *, pivoting: bool = False, method: Any = "auto"
) -> Any:
    """Q and R as a is cut up; with pivoting on one device."""
    _check(a, "qr")
    choice("qr: mode", mode, orthogonal.MODES)
    by, (m, n) = operands.by(method, a.format, "qr"), a.shape
    rows = m if mode == "complete" else min(m, n)
    found = None if _few(a) or pivoting else _reflected(a, by, rows)
    if found is None:
        return _alone(function, a, mode, pivoting=pivoting, method=method)
    r, factors = found
    if mode == "r":
        return r
    identity = _identity((m, rows), a)
    x, _ = _made(Qr, identity, by, lambda steps, x: steps.apply_all(factors, x, False))
    return orthogonal.QR(_back(x, identity.placement, a), r)


def _reflected(
    a: DistributedArray, by: Method, rows: int
) -> tuple[DistributedArray, list[Reflectors[Columns]]] | None:
    """The first rows of R, and the factors of Q.

    None where columns are short of others, of four limbs of float32, which one device does.
    """
    queues, place = a.queues, tiles.placement(a.shape, len(a.queues))
    near = a.placed(place, queues)
    found = here(lambda i: scaling.columns(near.pieces[i]).powers, queues)
    own = any(powers.any() for powers in found if powers is not None)
    scaled = any(transport.shared(own, queues, "columns that are scaled"))
    kept: list[Any] = []

    def times(x: DistributedArray, sign: int) -> DistributedArray:
        """Columns times their powers of two: those of 1 as well, if there are others."""
        pieces = here(lambda i: _times(x.pieces[i], found[i], sign), queues)
        return joined(pieces, x.placement, queues)

    def factor(steps: Qr, w: Columns) -> None:
        kept[:] = [steps.kept(w)]
        steps.factor(w, kept[0])

    w, steps = _made(Qr, times(near, -1) if scaled else near, by, factor)
    upper = layouts.columns((rows, a.shape[1]), len(queues), place.axes[1].block)
    r = _whole(_uppers(steps, w, rows), upper, a)
    exact = definition.SQUARES_EXACT[a.format.word][a.format.limbs - 1]
    if exact:
        ends = [abs(_diagonal(tile)).to_limbs()[0] for tile in r.tiles()]
        short = any(((each > 0) & (each < exact)).any() for each in ends)
        if any(transport.shared(short, queues, "short columns")):
            return None
    r = times(r, 1) if scaled else r
    return _as(r, a), steps.all_reflectors(kept[0])


def _times(x: Any, powers: Any, sign: int) -> Any:
    """Columns of one device times powers of two; each number at least once."""
    if powers.any():
        return scaling.times_power(x, sign * powers)
    return x * creation.array(np.ones(powers.shape), x.format.component, x.queue)


def _diagonal(tile: Any) -> Any:
    """What a tile of whole columns has of the diagonal."""
    first, width = tile.start[1], tile.array.shape[1]
    return manipulation.diagonal(tile.array[first : first + width], 0, -2, -1)


@known("lstsq")
def lstsq(function: Any, a: Any, b: Any, rcond: Any = None, *, method: Any = "auto") -> Any:
    """Of a tall matrix of full rank by all devices, but for R, which is small; else by one."""
    fits = isinstance(a, DistributedArray) and isinstance(b, DistributedArray)
    fits = fits and a.ndim == 2 and b.ndim in (1, 2) and a.shape[1] <= a.shape[0] == b.shape[0]
    fits = fits and a.format is b.format and a.queues == b.queues and b.size and not _few(a)
    if fits and _near_one(a) and _near_one(b):
        found = _tall(a, b, least_squares.limit_of(a, rcond), method)
        if found is not None:
            return found
    return _alone(function, a, b, rcond, method=method)


def _near_one(x: DistributedArray) -> bool:
    """Whether the squares of all elements can be taken as they are."""
    own = [float(scaling.sizes(piece).max()) for piece in x._once() if piece.size]
    every = transport.shared(own, x.queues, "sizes of elements")
    low, high = scaling.SQUARES[x.format.word]
    return bool(low <= np.max([size for each in every for size in each]) <= high)


def _tall(a: DistributedArray, b: DistributedArray, limit: float, method: Any) -> Any:
    """Least squares by QR; None where columns depend on each other."""
    by, n, queues = operands.by(method, a.format, "lstsq"), a.shape[1], a.queues
    r, factors = _reflected(a, by, n) or (None, [])
    upper = None if r is None else r.gather(queues[a.home])
    if upper is None or not least_squares.is_full(upper, limit):
        return None
    sides = _sides(b)
    place = layouts.columns(sides.shape, len(queues))

    def applied(steps: Qr, c: Columns) -> None:
        for one in factors:
            QrSteps.apply(steps, one, c, True)

    c, steps = _made(Qr, sides, by, applied, place)
    count = sides.shape[1]
    top = steps.part(c, slice(0, n), slice(0, count))
    right = _back(top, layouts.columns((n, count), len(queues)), sides).gather(queues[a.home])
    alone = solve_triangular(upper, right, method="direct" if by is None else by)
    x = _spread(alone, a)
    squares = (sides - a @ x)._each(scaling.squares).sum(axis=0)
    x = x if b.ndim == 2 else _spread(alone[:, 0], a)
    values = partial(svdvals, a, method=method)
    return least_squares.LeastSquares(x, squares, n, values)


def _sides(b: DistributedArray) -> DistributedArray:
    """Right-hand sides as a matrix."""
    if b.ndim == 2:
        return b
    place = Placement(b.placement.grid, (*b.placement.axes, layouts.whole(1)))
    return DistributedArray.made([base.column_of(v) for v in b.views], place, b.queues)


def _identity(shape: tuple[int, int], like: DistributedArray) -> DistributedArray:
    """The first columns of the identity."""
    place = tiles.placement(shape, len(like.queues))
    views = here(
        lambda i: creation.zeros(place.local(i), like.format, like.queues[i]).planes, like.queues
    )
    found = DistributedArray.made(views, place, like.queues)
    for tile in found.tiles():
        _diagonal(tile)[...] = 1
    return found


@known("eigh", "eigvalsh", "svd", "svdvals", "matrix_rank")
@known("lu_solve", "cholesky_solve", "solve_triangular", "inv")
def alone(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What is done on one device, and cut up again as the first array was."""
    return _alone(function, *args, **options)
