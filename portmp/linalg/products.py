"""Norms and products by the names and arguments of the array API standard."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.arrays import blas, elementwise, manipulation, products, statistics, typed
from portmp.arrays.products import matmul
from portmp.arrays.viewed import AnyArray
from portmp.errors import ArgumentError, MatrixShapeError, ShapeError
from portmp.linalg import operands
from portmp.linalg.norms import euclidean, norm, of_vectors
from portmp.routines import axes


@typed.keeps
def diagonal(x: AnyArray, /, *, offset: int = 0) -> Any:
    """The view of the diagonals of matrices, in the last two axes; the offset-th above the main."""
    return manipulation.diagonal(x, offset, -2, -1)


@typed.as_(typed.OwnKind)
def trace(x: AnyArray, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of matrices in the last two axes; the offset-th above the main."""
    return statistics.sum(diagonal(x, offset=offset), -1, dtype=dtype)


@typed.meets
def outer(x1: AnyArray, x2: AnyArray, /) -> Any:
    """The products of all elements of one vector with all of another, as a matrix."""
    if (shapes := [np.shape(x) for x in (x1, x2)]) and not all(len(s) == 1 for s in shapes):
        raise ShapeError(f"outer: vectors are needed, shapes {shapes} given; portmp.outer has both")
    return products.outer(x1, x2)


@typed.gives(typed.Array)
def vector_norm(
    x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    """Norms of vectors along axes: ord 1, 2, inf, -inf, 0 (how many are not 0), or any other p.

    As ``norm`` has them, along any number of axes.
    """
    x = operands.values(manipulation.checked(x, "x"), "vector_norm: x")
    over = axes.named(axis, x.ndim)
    if ord == 2 and len(over) == x.ndim:
        found = blas.nrm2(x)
    elif ord == 2:
        found = euclidean(x, over)
    else:
        rest = [n for i, n in enumerate(x.shape) if i not in over]
        count = math.prod(x.shape[i] for i in over)
        rows = manipulation.moveaxis(x, sorted(over), tuple(range(len(rest), x.ndim)))
        found = of_vectors(rows.reshape((*rest, count)), ord, len(rest))
    kept = [1 if i in over else n for i, n in enumerate(x.shape)]
    return found.reshape(kept) if keepdims else found


@typed.gives(typed.Array)
def matrix_norm(x: AnyArray, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """``norm`` of matrices in the last two axes: 'fro', 'nuc', 1, -1, 2, -2, inf and -inf."""
    x = manipulation.checked(x, "x")
    if x.ndim < 2:
        raise MatrixShapeError(f"matrix_norm: matrices are needed, shape {x.shape} given")
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return norm(operands.values(x, "matrix_norm: x"), ord, (-2, -1), keepdims)


@typed.joins
def multi_dot(arrays: Sequence[Any], *, out: AnyArray | None = None) -> Any:
    """The product of matrices, in the order that needs the fewest multiplications.

    The first may be a row and the last one a column. *out* is written instead of a new array.
    """
    if len(arrays) < 2:
        raise ArgumentError(f"multi_dot: arrays: {len(arrays)} given, two at least are needed")
    given = elementwise.as_arrays(list(arrays), "multi_dot: arrays")
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
