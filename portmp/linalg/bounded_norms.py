"""What norms are off at most: for all but singular values and other powers (docs/bounds.md)."""

import math
from collections.abc import Sequence
from typing import Any

from portmp.arrays import manipulation, norm_bounds
from portmp.arrays.array import Array, array, zeros
from portmp.arrays.elementwise import maximum
from portmp.arrays.norm_bounds import leading
from portmp.arrays.products import Bound
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines.bounds.certified import RAISED

EUCLIDEAN = (None, 2), (None, "fro")
"""Of vectors, of matrices."""
KNOWN = {1: (None, 2, 1, math.inf, -math.inf, 0), 2: (None, "fro", 1, -1, math.inf, -math.inf)}
"""What has a bound, by the number of axes."""
OF_COMPLEX = {1: (None, 2, 0), 2: (None, "fro")}
"""The same of complex numbers, the errors of whose magnitudes are not proved."""


def check(ord: Any, axes: Sequence[int], form: Format) -> None:
    """ArgumentError for norms that have no bound."""
    known = (KNOWN if form.components == 1 else OF_COMPLEX)[len(axes)]
    if ord not in known:
        what = ("vectors", "matrices")[len(axes) - 1]
        raise ArgumentError(
            f"norm: bound: given with ord {ord!r} of {what}, whose error has no bound here; "
            f"allowed are {', '.join(map(repr, known))}"
        )


def of(found: Array, x: Array, ord: Any, axes: Sequence[int], bound: Bound) -> Array:
    """Words that the errors of *found*, norms of x along *axes*, are not above."""
    error: Array
    if ord in EUCLIDEAN[len(axes) - 1]:
        if x.format.components > 1:
            x, axes = manipulation.stack([x.real, x.imag], axis=x.ndim), (*axes, x.ndim)
        last = manipulation.moveaxis(x, tuple(axes), tuple(range(-len(axes), 0)))
        rows = last.reshape(found.size, math.prod(x.shape[i] for i in axes))
        flat = found.reshape(found.size)
        error = norm_bounds.of_rows(flat, rows, tight=bound == "tight").reshape(found.shape)
    elif len(axes) == 2:
        row, column = axes
        along, other = (row, column) if abs(ord) == 1 else (column, row)
        error = _of_extreme_sums(found, x, along, other, bound)
    elif ord == 1:
        _, error = abs(x).sum(axes[0], bound=bound)
    else:
        error = zeros(found.shape, x.format.word, x.queue)
        if ord == 0:
            counted = abs((x != 0).sum(axes[0]) - found.astype("int64"))
            error = array(counted, x.format.word, x.queue) * RAISED
        exact = leading(found)
        error = error + (exact - exact)  # NaN where that is no number
    return error


def _of_extreme_sums(found: Array, x: Array, along: int, other: int, bound: Bound) -> Array:
    """Of the largest or smallest of sums s, each within its e: v.

    The exact one is between those of s - e and of s + e, so that it is off by the largest of
    e - |s - v| or by the smallest of e + |s - v| at most.
    """
    sums, error = abs(x).sum(along, bound=bound)
    axis = other - (along < other)
    if not sums.shape[axis]:
        none: Array = zeros(found.shape, x.format.word, x.queue)
        return none
    computed = x.format.compute
    away = sums.astype(computed) - manipulation.expand_dims(found.astype(computed), axis=axis)
    size = leading(abs(away))
    below, above = (error - size * 0.99).max(axis), (error + size * RAISED).min(axis)
    most: Array = maximum(below, above) * RAISED
    return most
