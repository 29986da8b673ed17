"""Linear algebra that users build on: solve, lstsq and conjugate gradients."""

from __future__ import annotations

from portmp.arrays import blas
from portmp.arrays.array import Array, operand, zeros
from portmp.errors import ShapeError
from portmp.linalg.conjugate_gradients import Solution, cg
from portmp.routines import base, lu

__all__ = ["Solution", "cg", "lstsq", "solve"]


def solve(a: Array, b: Array) -> Array:
    """The solution x of a x = b for a (n, n), b (n,) or (n, r), by LU with partial pivoting.

    Backward stable in the format's precision. Raises ArgumentError for a singular matrix.
    """
    operand(a, "solve: a")
    operand(b, "solve: b")
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ShapeError(f"solve: a must be square, {a.shape} given")
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ShapeError(f"solve: b {b.shape} does not fit a {a.shape}")
    base.computes(a.format, "solve")
    base.same(a.format, a=a.planes, b=b.planes)
    n = a.shape[0]
    right = b if b.ndim == 2 else b[:, None]
    if not n or not right.shape[1]:
        return b.copy()
    work = zeros((n, n + right.shape[1]), a.format, a.device)
    work[:, :n] = a
    work[:, n:] = right
    lu.solve_augmented(work.planes)
    return (work[:, n:] if b.ndim == 2 else work[:, n]).copy()


def lstsq(a: Array, b: Array) -> Array:
    """The x that minimises |a x - b| for a (m, n), m >= n, by the normal equations.

    The normal equations square the condition number: digits lost are about
    2 log10(cond a), so choose a format with twice the digits that the data need.
    """
    operand(a, "lstsq: a")
    operand(b, "lstsq: b")
    if a.ndim != 2 or a.shape[0] < a.shape[1]:
        raise ShapeError(f"lstsq: a needs at least as many rows as columns, {a.shape} given")
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ShapeError(f"lstsq: b {b.shape} does not fit a {a.shape}")
    right = b if b.ndim == 2 else b[:, None]
    gram = blas.gemm(a, a, trans_a=True)
    moments = blas.gemm(a, right, trans_a=True)
    x = solve(gram, moments)
    return x if b.ndim == 2 else x[:, 0]
