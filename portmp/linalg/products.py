"""Norms and powers of matrices, and products by the names of the array API standard."""

from __future__ import annotations

from typing import Any

from portmp.arrays import blas, creation, elementwise, manipulation, products, statistics
from portmp.arrays.manipulation import diagonal, matrix_transpose
from portmp.arrays.products import cross, matmul, outer, tensordot, trace, vecdot
from portmp.arrays.viewed import AnyArray
from portmp.errors import ArgumentError, ShapeError
from portmp.routines import axes
from portmp.runtime.planes import Planes

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def vector_norm(
    x: AnyArray,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: Any = 2,
) -> Any:
    """Norms of vectors along axes: ord 1, 2, inf, -inf, 0 (how many are not 0), or any other p.

    Of order 2 over all elements ``nrm2``, else sqrt(sum |x|^2), where squares may overflow or
    vanish; of p (sum |x|^p)^(1/p).
    """
    size = elementwise.abs(manipulation.checked(x, "x"))
    if ord == float("inf"):
        return statistics.max(size, axis, keepdims=keepdims)
    if ord == -float("inf"):
        return statistics.min(size, axis, keepdims=keepdims)
    if ord == 0:
        return statistics.count_nonzero(size, axis=axis, keepdims=keepdims).astype(size.dtype)
    if ord == 1:
        return statistics.sum(size, axis, keepdims=keepdims)
    if ord == 2 and len(axes.named(axis, x.ndim)) == x.ndim and isinstance(x.planes, Planes):
        found = blas.nrm2(x)
        return found.reshape([1] * x.ndim) if keepdims else found
    if ord == 2:
        return elementwise.sqrt(statistics.sum(elementwise.square(size), axis, keepdims=keepdims))
    one = creation.ones((), size.dtype, size.queue)
    return statistics.sum(size**ord, axis, keepdims=keepdims) ** (one / ord)


def matrix_norm(x: AnyArray, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Norms of matrices: 'fro', 1 and -1 (sums of columns), inf and -inf (sums of rows)."""
    if manipulation.checked(x, "x").ndim < 2:
        raise ShapeError(f"matrix_norm: matrices are needed, shape {x.shape} given")
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, float("inf"), -float("inf")):
        raise ArgumentError(
            f"matrix_norm: ord: {ord!r} given, allowed are 'fro', 1, -1, inf and -inf"
        )
    over = -2 if ord in (1, -1) else -1
    sums = statistics.sum(elementwise.abs(x), over, keepdims=True)
    largest = statistics.max if ord > 0 else statistics.min
    return largest(sums, (-2, -1), keepdims=keepdims)


def norm(x: AnyArray, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm: of vectors along an axis, of matrices over two, of all elements without any."""
    whole = axis is None and ord is None
    over = axes.named(axis, manipulation.checked(x, "x").ndim)
    if whole or len(over) == 1:
        return vector_norm(x, axis=over, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(over) != 2:
        raise ShapeError(f"norm: one axis or two are needed, {len(over)} given")
    turned = manipulation.moveaxis(x, over, (-2, -1))
    found = matrix_norm(turned, keepdims=keepdims, ord="fro" if ord is None else ord)
    return manipulation.moveaxis(found, (-2, -1), over) if keepdims else found


def matrix_power(x: AnyArray, n: int, /) -> Any:
    """The product of n matrices x, by squares: from the second bit of n on, n from 0 on."""
    if manipulation.checked(x, "x").ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"matrix_power: square matrices are needed, shape {x.shape} given")
    if n < 0:
        raise ArgumentError(f"matrix_power: n: {n} given, a number from 0 on is needed")
    if n == 0:
        one = creation.eye(x.shape[-1], dtype=x.dtype, device=x.queue)
        return manipulation.broadcast_to(one, x.shape).copy()
    found = x
    for bit in bin(n)[3:]:
        found = products.matmul(found, found)
        if bit == "1":
            found = products.matmul(found, x)
    return found.copy() if found is x else found
