"""Least squares."""

from __future__ import annotations

from portmp.arrays import blas
from portmp.arrays.array import Array, operand
from portmp.errors import ShapeError
from portmp.linalg.lu import solve


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
