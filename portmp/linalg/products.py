"""Norms and products by the names and arguments of the array API standard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portmp.arrays import blas, creation, elementwise, manipulation, statistics
from portmp.arrays.array import Array
from portmp.arrays.manipulation import diagonal, matrix_transpose
from portmp.arrays.products import cross, matmul, outer, tensordot, trace, vecdot
from portmp.arrays.viewed import AnyArray
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg.norms import euclidean
from portmp.linalg.singular import svdvals
from portmp.routines import axes
from portmp.runtime.planes import Planes

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


_OF_SINGULAR_VALUES: dict[Any, Callable[..., Any]] = {
    2: statistics.max,
    -2: statistics.min,
    "nuc": statistics.sum,
}


def vector_norm(
    x: AnyArray,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: Any = 2,
) -> Any:
    """Norms of vectors along axes: ord 1, 2, inf, -inf, 0 (how many are not 0), or any other p.

    Of order 2 as ``norm``, of p (sum |x|^p)^(1/p), where powers may overflow or vanish.
    """
    x = manipulation.checked(x, "x")
    size = elementwise.abs(x)
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
    if ord == 2 and isinstance(x, Array):
        over = axes.named(axis, x.ndim)
        found = euclidean(x, over)
        kept = tuple(1 if i in over else n for i, n in enumerate(x.shape))
        return found.reshape(kept) if keepdims else found
    one = creation.ones((), size.dtype, size.queue)
    return statistics.sum(size**ord, axis, keepdims=keepdims) ** (one / ord)


def matrix_norm(x: AnyArray, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Norms of matrices: 'fro', 1 and -1 (sums of columns), inf and -inf (sums of rows).

    And by singular values: 2 (the largest), -2 (the least), 'nuc' (their sum).
    """
    x = manipulation.checked(x, "x")
    if x.ndim < 2:
        raise ShapeError(f"matrix_norm: matrices are needed, shape {x.shape} given")
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if isinstance(ord, (int, float, str)) and ord in _OF_SINGULAR_VALUES:
        found = _OF_SINGULAR_VALUES[ord](svdvals(x), -1)
        return found[..., None, None] if keepdims else found
    if ord not in (1, -1, float("inf"), -float("inf")):
        raise ArgumentError(
            f"matrix_norm: ord: {ord!r} given, allowed are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf"
        )
    over = -2 if ord in (1, -1) else -1
    sums = statistics.sum(elementwise.abs(x), over, keepdims=True)
    largest = statistics.max if ord > 0 else statistics.min
    return largest(sums, (-2, -1), keepdims=keepdims)


def multi_dot(arrays: Sequence[Any], *, out: AnyArray | None = None) -> Any:
    """The product of matrices, in the order that needs the fewest multiplications.

    The first may be a row and the last one a column. *out* is written instead of a new array.
    """
    given = elementwise.as_arrays(list(arrays), "multi_dot: arrays")
    if len(given) < 2:
        raise ArgumentError(f"multi_dot: arrays: {len(given)} given, two at least are needed")
    middle = given[1:-1]
    if any(x.ndim != 2 for x in middle) or any(x.ndim not in (1, 2) for x in given):
        raise ShapeError(
            f"multi_dot: matrices are needed, vectors only at the ends, {[x.shape for x in given]} "
            "given"
        )
    sizes = [1 if given[0].ndim == 1 else given[0].shape[0], *(x.shape[0] for x in given[1:])]
    sizes.append(1 if given[-1].ndim == 1 else given[-1].shape[1])
    cut, last = _split(sizes), len(given) - 1
    at = cut[0, last]
    return matmul(_product(given, cut, 0, at), _product(given, cut, at + 1, last), out=out)


def _split(sizes: list[int]) -> dict[tuple[int, int], int]:
    """After which factor products of factors i to j are cut, for the fewest multiplications."""
    n = len(sizes) - 1
    cost, cut = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], cut[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return cut


def _product(given: list[Any], cut: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return given[i]
    k = cut[i, j]
    return matmul(_product(given, cut, i, k), _product(given, cut, k + 1, j))
