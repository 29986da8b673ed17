"""Statistics that leave NaN out, by NumPy's names.

Where all elements of a row are NaN, sums are 0, products 1, and all else is NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portmp.arrays import (
    counting,
    creation,
    dtypes,
    elementwise,
    manipulation,
    methods,
    numerics,
    statistics,
)
from portmp.arrays.numerics import Axis
from portmp.errors import ArgumentError
from portmp.formats import Format


def _instead(x: Any, number: Any) -> Any:
    """The array with a number for NaN; integers as they are."""
    given = manipulation.checked(x, "x")
    if not isinstance(dtypes.of_view(given.planes), Format):
        return given
    return elementwise.where(elementwise.isnan(given), number, given)


def _there(x: Any, axis: Axis, keepdims: bool) -> Any:
    """How many elements are not NaN."""
    known = elementwise.logical_not(elementwise.isnan(x))
    return statistics.sum(known, axis, keepdims=keepdims)


def nansum(x: Any, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """Sums."""
    return statistics.sum(_instead(x, 0), axis, dtype=dtype, keepdims=keepdims)


def nanprod(x: Any, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """Products."""
    return statistics.prod(_instead(x, 1), axis, dtype=dtype, keepdims=keepdims)


def nancumsum(x: Any, axis: int | None = None, *, dtype: Any = None) -> Any:
    """Running sums, of all elements where no axis is named."""
    return methods.cumsum(_instead(x, 0), axis, dtype=dtype)


def nancumprod(x: Any, axis: int | None = None, *, dtype: Any = None) -> Any:
    """Running products, likewise."""
    return methods.cumprod(_instead(x, 1), axis, dtype=dtype)


def _extreme(x: Any, axis: Axis, keepdims: bool, largest: bool) -> Any:
    given = manipulation.checked(x, "x")
    take = statistics.max if largest else statistics.min
    found = take(_instead(given, -math.inf if largest else math.inf), axis, keepdims=keepdims)
    if not isinstance(dtypes.of_view(given.planes), Format):
        return found
    none = elementwise.equal(_there(given, axis, keepdims), 0)
    return elementwise.where(none, math.nan, found)


def nanmax(x: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The largest elements."""
    return _extreme(x, axis, keepdims, True)


def nanmin(x: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The smallest elements."""
    return _extreme(x, axis, keepdims, False)


def _place(x: Any, axis: int | None, keepdims: bool, largest: bool) -> Any:
    given = manipulation.checked(x, "x")
    best = _extreme(given, axis, True, largest)
    there = elementwise.equal(given, best)
    if not bool(statistics.all(statistics.any(there, axis))):
        raise ArgumentError(f"{'nanargmax' if largest else 'nanargmin'}: x: a row is all NaN")
    return statistics.argmax(there.astype("int8"), axis, keepdims=keepdims)


def nanargmax(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The index of the first of the largest elements; ArgumentError where all are NaN. A wait."""
    return _place(x, axis, keepdims, True)


def nanargmin(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """That of the first of the smallest, likewise."""
    return _place(x, axis, keepdims, False)


def nanmean(x: Any, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """Means."""
    values = numerics._values(x)
    total = nansum(values, axis, dtype=dtype, keepdims=keepdims)
    return total / _there(values, axis, keepdims).astype(total.dtype)


def nanvar(
    x: Any, axis: Axis = None, *, dtype: Any = None, ddof: Any = 0, keepdims: bool = False
) -> Any:
    """The sums of squares of differences from the mean, divided by the number less *ddof*."""
    values = numerics._values(x)
    values = values if dtype is None else values.astype(dtype)
    distance = values - nanmean(values, axis, keepdims=True)
    squares = nansum(distance * distance, axis, keepdims=keepdims)
    left = _there(values, axis, keepdims).astype(squares.dtype) - ddof
    return elementwise.where(elementwise.greater(left, 0), squares / left, math.nan)


def nanstd(
    x: Any, axis: Axis = None, *, dtype: Any = None, ddof: Any = 0, keepdims: bool = False
) -> Any:
    """The square roots of these."""
    return elementwise.sqrt(nanvar(x, axis, dtype=dtype, ddof=ddof, keepdims=keepdims))


def _each_row(x: Any, axis: Axis, keepdims: bool, name: str, of_row: Any) -> Any:
    """A function of the rows' elements in order; rows with as many numbers are taken together."""
    ordered, shape = numerics._in_order(x, axis, keepdims, name)
    n = ordered.shape[-1]
    rows = ordered.reshape(-1, n)
    counts = np.asarray(_there(rows, 1, False))
    found = creation.full((rows.shape[0],), math.nan, ordered.dtype, ordered.queue)
    for count in np.unique(counts[counts > 0]).tolist():
        there = np.flatnonzero(counts == count)
        found[there] = of_row(rows[there][:, :count])
    return found.reshape(shape)


def nanmedian(x: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The middle elements. A wait."""
    return _each_row(x, axis, keepdims, "nanmedian", lambda rows: numerics.median(rows, -1))


def nanquantile(
    x: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """``quantile``. A wait."""
    return _at_shares(x, q, axis, method, keepdims, counting.quantile)


def nanpercentile(
    x: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """``percentile``. A wait."""
    return _at_shares(x, q, axis, method, keepdims, counting.percentile)


def _at_shares(x: Any, q: Any, axis: Axis, method: str, keepdims: bool, function: Any) -> Any:
    def of(one: Any) -> Any:
        def of_row(rows: Any) -> Any:
            return function(rows, one, -1, method=method)

        return _each_row(x, axis, keepdims, f"nan{function.__name__}", of_row)

    return manipulation.stack([of(one) for one in q]) if counting.is_many(q) else of(q)
