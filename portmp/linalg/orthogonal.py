"""QR by Householder's reflections, with column pivoting where asked for."""

from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.arrays.array import Array
from portmp.arrays.manipulation import diagonal
from portmp.arrays.plain import PlainArray, plain_array
from portmp.arrays.typed import Operand
from portmp.arrays.viewed import everywhere
from portmp.errors import ShapeError, choice
from portmp.linalg import operands, scaling
from portmp.linalg.operands import By
from portmp.progress import doing
from portmp.routines.qr import launch as routine
from portmp.routines.triangular import launch as triangular
from portmp.routines.triangular.steps import Method
from portmp.runtime.planes import Planes

MODES = ("reduced", "complete", "r")


class QR(NamedTuple):
    """a = Q R; the columns of ``Q`` are orthonormal, ``R`` is upper triangular."""

    Q: Array
    R: Array


class PivotedQR(NamedTuple):
    """a[:, P] = Q R with diagonal elements of R that do not grow in size; P: int32."""

    Q: Array
    R: Array
    P: PlainArray


@everywhere
def qr(
    a: Operand, mode: str = "reduced", *, pivoting: bool = False, method: By = "auto"
) -> QR | PivotedQR | Array:
    """Q and R of a (..., m, n), k the smaller of m and n; names and modes are NumPy's.

    ``reduced``: Q (..., m, k), R (..., k, n); ``complete``: Q (..., m, m), R (..., m, n); ``r``: R
    alone, (..., k, n). Signs of R's diagonal are as they come: that opposite to the element's that
    it replaces; of complex matrices it is real, by that element's real part. *method* as in
    ``lu_factor``. Columns whose squares might overflow or vanish are scaled by powers of two,
    exactly. An infinity or NaN gives NaN. Waits for the device. Backward stable: |a - Q R| and
    |Q^H Q - 1| are at most about m u^N times a small number, columnwise.

    With *pivoting*, of one matrix: each column is the one that is largest of those left, the first
    of equals, in what the others' directions leave of it; the result has SciPy's third field, P
    (with mode ``r`` the pair R, P is what counts: Q is empty). It goes column by column and waits
    for the device at each.
    """
    matrix = operands.matrix(a, "qr", kinds="fc")
    choice("qr: mode", mode, MODES)
    by = operands.by(method, matrix.format, "qr")
    (m, n), batch = matrix.shape[-2:], matrix.shape[:-2]
    rows = m if mode == "complete" else min(m, n)
    if pivoting and batch:
        raise ShapeError(f"qr: a {matrix.shape} given, pivoting takes one matrix")
    if pivoting:
        scaled, powers = scaling.for_squares(matrix)
        found = _pivoted(Array(operands.stacked(scaled)), mode, rows, by)
        return found._replace(R=scaling.times_power(found.R, powers))
    q, r = reflected(matrix, by, rows)
    if mode == "r":
        return r
    return QR(_orthogonal(q, matrix, (*batch, m, rows), by), r)


class Reflections(NamedTuple):
    """Q of each matrix of a stack: the number of its first matrix, of how many, and factors."""

    parts: list[tuple[int, int, list[routine.Factors]]]

    def applied(self, c: Planes, *, transposed: bool, method: Method) -> None:
        """Overwrite c (batch, m, r) by q c, or q^H c."""
        for first, count, factors in self.parts:
            mine = c.view((count, *c.shape[1:]), c.strides, c.start + first * c.strides[0])
            for one in factors if transposed else reversed(factors):
                routine.applied(one, mine, transposed=transposed, method=method)


class Reflected(NamedTuple):
    """Q, and the first rows of R (..., rows, n)."""

    q: Reflections
    r: Array


def reflected(a: Array, by: Method, rows: int) -> Reflected:
    """QR of matrices (..., m, n) with columns scaled where their squares might overflow or vanish.

    What others leave of a column counts as zero where its squares could vanish, which is far below
    the column's own rounding errors.
    """
    near, powers = scaling.columns(a)
    w = operands.stacked(near)
    least = definition.NEGLIGIBLE[a.format.word][a.format.limbs - 1]
    q = Reflections([(0, w.shape[0], [routine.factor(w, by, least)])])
    exact = definition.SQUARES_EXACT[a.format.word][a.format.limbs - 1]
    if exact > least and w.size:
        ends: Any = abs(diagonal(Array(w), 0, -2, -1)).to_limbs()[0]
        close = ((ends > 0) & (ends < exact)).any(axis=1)
        if close.any():
            q = _each(operands.stacked(near), w, close, by, least)
    upper = triangular.copied_triangle(w, lower=False, unit=False, rows=rows)
    r = operands.unstacked(upper, a.shape[:-2])
    return Reflected(q, scaling.times_power(r, powers))


def _each(
    source: Planes, w: Planes, close: np.ndarray[Any, np.dtype[np.bool_]], by: Method, least: float
) -> Reflections:
    """Matrices one by one: *close* ones by columns that are near 1 meanwhile, from *source*."""
    parts = []
    for each, careful in enumerate(close):
        own, mine = Array(source)[each : each + 1], Array(w)[each : each + 1]
        if careful:
            factors = eliminated(own, by, pivoting=False).factors
        else:
            factors = [routine.factor(own.planes, by, least)]
        mine[...] = own
        parts.append((each, 1, factors))
    return Reflections(parts)


def _orthogonal(q_of: Reflections, like: Array, shape: tuple[int, ...], by: Method) -> Array:
    """The first columns of a product of reflections."""
    q = operands.identity(shape, like)
    if q.size:
        stack = operands.stacked(q, own=False)
        q_of.applied(stack, transposed=False, method=by)
    return q


class Reduced(NamedTuple):
    """What elimination with column pivoting leaves: R and below it vectors, their factors, the
    order of columns, and how many steps were made."""

    w: Array
    factors: list[routine.Factors]
    order: np.ndarray[tuple[int], np.dtype[np.intp]]
    rank: int


def eliminated(w: Array, by: Method, rcond: float = 0.0, *, pivoting: bool = True) -> Reduced:
    """Overwrite w (1, m, n) by R with column pivoting, or by that of all columns in their order.

    Ends where the largest column left is at most *rcond* times the first one, by leading limbs.
    """
    _, m, n = w.shape
    order = np.arange(n)
    factors: list[routine.Factors] = []
    largest = 0.0
    for k in range(min(m, n)):
        doing(f"column {k + 1} of {min(m, n)}")
        rest = w[0, k:, k:] if pivoting else w[0, k:, k : k + 1]
        scale = float(scaling.sizes(rest).max().to_limbs()[0])
        sizes = _sizes(rest, scale)
        at = int(np.argmax(sizes))
        size = float(sizes[at])
        largest = size if k == 0 else largest
        if pivoting and not size > rcond * largest:
            return Reduced(w, factors, order, k)
        if at:
            held = w[0, :, k].copy()
            w[0, :, k] = w[0, :, k + at]
            w[0, :, k + at] = held
            order[[k, k + at]] = order[[k + at, k]]
        one = _one(w[0, k:, k : k + 1], size, by)
        factors.append(routine.moved(one, k))
        if k + 1 < n:
            routine.applied(one, w[:, k:, k + 1 :].planes, transposed=True, method=by)
    return Reduced(w, factors, order, min(m, n))


def _one(column: Array, size: float, by: Method) -> routine.Factors:
    """QR of a column (m, 1) of about this length, near 1 meanwhile: in place."""
    power = np.array(np.frexp(size)[1] if np.isfinite(size) else 0, np.int64)
    column[...] = scaling.times_power(column, -power)
    factors = routine.factor(operands.stacked(column, own=False), by)
    column[0] = scaling.times_power(column[0], power)
    return factors


def _sizes(x: Array, largest: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The Euclidean norms of columns, by their leading limbs, on the host; NaN counts as zero."""
    if not np.isfinite(largest) or largest == 0:
        return np.zeros(x.shape[1])
    exponent = int(np.frexp(largest)[1])
    scaled = scaling.times_power(x, np.array(-exponent, np.int64))
    squares = scaling.squares(scaled).sum(axis=0).to_limbs()[0].astype(np.float64)
    return np.asarray(np.ldexp(np.sqrt(np.nan_to_num(squares)), exponent))


def _pivoted(w: Array, mode: str, rows: int, by: Method) -> PivotedQR:
    found = eliminated(w, by)
    upper = triangular.copied_triangle(w.planes, lower=False, unit=False, rows=rows)
    shape = (w.shape[1], 0 if mode == "r" else rows)
    q = _orthogonal(Reflections([(0, 1, found.factors)]), w, shape, by)
    p = plain_array(found.order.astype(np.int32), "int32", w.queue)
    return PivotedQR(q, operands.unstacked(upper, ()), p)
