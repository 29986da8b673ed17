"""Least squares by QR."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from portmp.arrays.array import Array, zeros
from portmp.arrays.typed import Operand
from portmp.arrays.viewed import everywhere
from portmp.errors import ArgumentError, MatrixShapeError
from portmp.linalg import operands, scaling
from portmp.linalg.norms import norm, norm_estimate
from portmp.linalg.operands import By
from portmp.linalg.orthogonal import eliminated, reflected
from portmp.linalg.singular import svdvals
from portmp.linalg.triangular import solve_triangular
from portmp.routines.lu.launch import ordered
from portmp.routines.qr import launch as routine
from portmp.routines.triangular import launch as triangular
from portmp.routines.triangular.steps import Method


class LeastSquares(Sequence[Any]):
    """``x``; ``residuals``, sums of squares of |b - a x|, one for each right-hand side; ``rank``;
    and ``s``, the singular values of a, computed when they are asked for.

    A sequence of these four, as NumPy's function gives them.
    """

    _FIELDS = ("x", "residuals", "rank", "s")

    def __init__(self, x: Array, residuals: Array, rank: int, values: Callable[[], Array]) -> None:
        self.x, self.residuals, self.rank, self._values = x, residuals, rank, values

    @cached_property
    def s(self) -> Array:
        """The singular values of a (k,), descending."""
        return self._values()

    def __len__(self) -> int:
        return len(self._FIELDS)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(getattr(self, name) for name in self._FIELDS[index])
        return getattr(self, self._FIELDS[index])

    def __repr__(self) -> str:
        return f"LeastSquares(x={self.x!r}, residuals={self.residuals!r}, rank={self.rank})"


@everywhere
def lstsq(
    a: Operand, b: Operand, rcond: float | None = None, *, method: By = "auto"
) -> LeastSquares:
    """The x that minimises |a x - b| for a matrix a (m, n), b (m,) or (m, r); of all the smallest.

    By Householder's QR of a, or of its (conjugate) transpose where there are more unknowns than
    equations: errors are about those of data changed by n m u^N relative to a column. Where the
    estimated condition number of R (1-norm) is 1 / *rcond* or more, the rank is that of a QR with
    column pivoting, which ends where all columns left are at most *rcond* times the largest; then x
    is the smallest of all that minimise. *rcond* is max(m, n) u^N by default, a number from 0 to 1,
    or -1, which means u^N as in NumPy.
    The residuals are of the x that is returned, computed in its format; NumPy leaves them out where
    columns depend on each other or there are no more equations than unknowns.
    """
    a, b = operands.alike(a, b, "lstsq")
    matrix = operands.matrix(a, "lstsq", kinds="fc")
    if matrix.ndim != 2:
        raise MatrixShapeError(f"lstsq: a {matrix.shape} given, one matrix is needed")
    m, n = matrix.shape
    sides, vector = operands.right(b, matrix, "lstsq", m, MatrixShapeError)
    if sides.ndim != 2:
        raise MatrixShapeError(f"lstsq: b {b.shape} given, one or two axes are needed")
    limit = limit_of(matrix, rcond)
    by = operands.by(method, matrix.format, "lstsq")
    left, right = scaling.for_squares(matrix), scaling.for_squares(sides)
    x, rank = _smallest(left.x, right.x, limit, by)
    x = scaling.times_power(x, right.powers - left.powers)
    rest = sides - matrix @ x if n else sides.copy()
    squares = scaling.squares(rest).sum(axis=0)
    values = partial(svdvals, matrix, method=method)
    return LeastSquares(x[:, 0] if vector else x, squares, rank, values)


def limit_of(a: Array, rcond: float | None) -> float:
    """What a condition number is below one over, of full rank; ArgumentError for other numbers."""
    unit = a.format.unit_roundoff
    if isinstance(rcond, (int, float)) and rcond == -1:
        rcond = unit
    if rcond is not None and not (isinstance(rcond, (int, float)) and 0 <= rcond <= 1):
        raise ArgumentError(f"lstsq: rcond {rcond!r} given, a number from 0 to 1, or -1, is needed")
    return max(a.shape) * unit if rcond is None else float(rcond)


def lstsq_as_numpy(a: Array, b: Array, rcond: float | None = None) -> LeastSquares:
    """``lstsq``, without residuals of rank below n and where m is not above it, as NumPy has it."""
    found = lstsq(a, b, rcond)
    n = len(found.x)
    if found.rank < n or len(a) <= n:
        found.residuals = found.residuals.reshape(-1)[:0]
    return found


def _smallest(a: Array, b: Array, limit: float, by: Method) -> tuple[Array, int]:
    """x (n, r) and the rank."""
    m, n = a.shape
    if not a.size:
        return zeros((n, b.shape[1]), a.format, a.queue), 0
    tall = m >= n
    count = min(m, n)
    q, r = reflected(a if tall else operands.adjoint(a), by, count)
    if not is_full(r, limit):
        return _deficient(a, b, limit, by)
    if tall:
        c = operands.stacked(b)
        q.applied(c, transposed=True, method=by)
        return solve_triangular(r, Array(c)[0, :n], method=_as(by)), count
    x = zeros((n, b.shape[1]), a.format, a.queue)
    x[:m] = solve_triangular(r, b, trans="C", method=_as(by))
    q.applied(operands.stacked(x, own=False), transposed=False, method=by)
    return x, count


def _as(by: Method) -> By:
    return "direct" if by is None else by


def is_full(r: Array, limit: float) -> bool:
    """Whether an upper triangle's condition number is below 1 / limit, as it is estimated."""
    if operands.is_singular(r):
        return False
    inverse = norm_estimate(
        lambda x: solve_triangular(r, x), lambda x: solve_triangular(r, x, trans="C"), r
    )
    # What overflows in the estimate is a small diagonal's.
    size = float(norm(r, 1))
    return not math.isfinite(size) or size * inverse * limit < 1


def _deficient(a: Array, b: Array, limit: float, by: Method) -> tuple[Array, int]:
    """The smallest of many x: a P = Q [T; 0] with T (rank, n), and T^H = Z S."""
    n = a.shape[1]
    x = zeros((n, b.shape[1]), a.format, a.queue)
    found = eliminated(Array(operands.stacked(a)), by, limit)
    rank = found.rank
    if not rank:
        return x, 0
    c = operands.stacked(b)
    for one in found.factors:
        routine.applied(one, c, transposed=True, method=by)
    top = triangular.copied_triangle(found.w.planes, lower=False, unit=False, rows=rank)
    q, s = reflected(operands.adjoint(operands.unstacked(top, ())), by, rank)
    x[:rank] = solve_triangular(s, Array(c)[0, :rank], trans="C", method=_as(by))
    q.applied(operands.stacked(x, own=False), transposed=False, method=by)
    placed = np.argsort(found.order).reshape(1, n)
    return Array(ordered(x.planes.view_as((1, *x.shape)), placed))[0], rank
