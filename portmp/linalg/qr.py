"""QR by Householder's reflections, with column pivoting where asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from portmp.arrays.array import Array, array, zeros
from portmp.arrays.plain import PlainArray, plain_array
from portmp.errors import ArgumentError, ShapeError, suggestion
from portmp.linalg import operands, scaling
from portmp.linalg.operands import By
from portmp.routines import qr as routine
from portmp.routines import triangular
from portmp.routines.triangular.steps import Method

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


def qr(
    a: Array, mode: str = "reduced", *, pivoting: bool = False, method: By = "direct"
) -> QR | PivotedQR | Array:
    """Q and R of a (..., m, n), k the smaller of m and n; names and modes are NumPy's.

    ``reduced``: Q (..., m, k), R (..., k, n); ``complete``: Q (..., m, m), R (..., m, n); ``r``: R
    alone, (..., k, n). Signs of R's diagonal are as they come: that opposite to the element's that
    it replaces. *method* as in ``lu_factor``. A matrix whose squares might overflow or vanish is
    scaled by a power of two, exactly; single columns that are much smaller than the largest element
    are not. An infinity or NaN gives NaN. Waits for the device. Backward stable: |a - Q R| and
    |Q^T Q - 1| are at most
    about m u^N times a small number, columnwise.

    With *pivoting*, of one matrix: each column is the one that is largest of those left, the first
    of equals, in what the others' directions leave of it; the result has SciPy's third field, P
    (with mode ``r`` the pair R, P is what counts: Q is empty). It goes column by column and waits
    for the device at each.
    """
    matrix = operands.matrix(a, "qr")
    if mode not in MODES:
        near = suggestion(str(mode), list(MODES))
        raise ArgumentError(f"qr: mode {mode!r} given{near}; allowed are {', '.join(MODES)}")
    by = operands.by(method, matrix.format, "qr")
    (m, n), batch = matrix.shape[-2:], matrix.shape[:-2]
    rows = m if mode == "complete" else min(m, n)
    if pivoting and batch:
        raise ShapeError(f"qr: a {matrix.shape} given, pivoting takes one matrix")
    matrix, powers = scaling.for_squares(matrix)
    w = operands.stacked(matrix)
    if pivoting:
        found = _pivoted(Array(w), mode, rows, by)
        return found._replace(R=scaling.times_power(found.R, powers))
    factors = routine.factor(w, by)
    upper = triangular.copied_triangle(w, lower=False, unit=False, rows=rows)
    r = scaling.times_power(operands.unstacked(upper, batch), powers)
    if mode == "r":
        return r
    return QR(_orthogonal([factors], matrix, (*batch, m, rows), by), r)


def _orthogonal(
    factors: list[routine.Factored], like: Array, shape: tuple[int, ...], by: Method
) -> Array:
    """The first columns of a product of reflections."""
    q = zeros(shape, like.format, like.queue)
    if q.size:
        q[...] = array(np.eye(shape[-2], shape[-1]), like.format, like.queue)
        stack = operands.stacked(q, own=False)
        for one in reversed(factors):
            routine.applied(one, stack, transposed=False, method=by)
    return q


class Reduced(NamedTuple):
    """What elimination with column pivoting leaves: R and below it vectors, their factors, the
    order of columns, and how many steps were made."""

    w: Array
    factors: list[routine.Factored]
    order: np.ndarray[tuple[int], np.dtype[np.intp]]
    rank: int


def eliminated(w: Array, by: Method, rcond: float = 0.0) -> Reduced:
    """Overwrite w (1, m, n) by R with column pivoting.

    Ends where the largest column left is at most *rcond* times the first one, by leading limbs.
    """
    _, m, n = w.shape
    order = np.arange(n)
    factors: list[routine.Factored] = []
    largest = 0.0
    for k in range(min(m, n)):
        rest = w[0, k:, k:]
        scale = float(abs(rest).max().to_limbs()[0])
        sizes = _sizes(rest, scale)
        at = int(np.argmax(sizes))
        size = float(sizes[at])
        largest = size if k == 0 else largest
        if not size > rcond * largest:
            return Reduced(w, factors, order, k)
        if at:
            held = w[0, :, k].copy()
            w[0, :, k] = w[0, :, k + at]
            w[0, :, k + at] = held
            order[[k, k + at]] = order[[k + at, k]]
        one = routine.factor(w[:, k:, k : k + 1].planes, by)
        factors.append(one.moved(k))
        if k + 1 < n:
            routine.applied(one, w[:, k:, k + 1 :].planes, transposed=True, method=by)
    return Reduced(w, factors, order, min(m, n))


def _sizes(x: Array, largest: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The Euclidean norms of columns, by their leading limbs, on the host; NaN counts as zero."""
    if not np.isfinite(largest) or largest == 0:
        return np.zeros(x.shape[1])
    exponent = int(np.frexp(largest)[1])
    scaled = x * 2.0**-exponent
    squares = (scaled * scaled).sum(axis=0).to_limbs()[0].astype(np.float64)
    return np.asarray(np.sqrt(np.nan_to_num(squares)) * 2.0**exponent)


def _pivoted(w: Array, mode: str, rows: int, by: Method) -> PivotedQR:
    found = eliminated(w, by)
    upper = triangular.copied_triangle(w.planes, lower=False, unit=False, rows=rows)
    shape = (w.shape[1], 0 if mode == "r" else rows)
    q = _orthogonal(found.factors, w, shape, by)
    p = plain_array(found.order.astype(np.int32), "int32", w.queue)
    return PivotedQR(q, operands.unstacked(upper, ()), p)
