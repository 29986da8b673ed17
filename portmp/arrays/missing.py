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


def nansum(x: Any, axis: Axis = None, **options: Any) -> Any:
    """Sums; options are those of ``sum``, and so on below."""
    return statistics.sum(_instead(x, 0), axis, **options)


def nanprod(x: Any, axis: Axis = None, **options: Any) -> Any:
    """Products."""
    return statistics.prod(_instead(x, 1), axis, **options)


def nancumsum(x: Any, axis: int | None = None, **options: Any) -> Any:
    """Running sums, of all elements where no axis is named."""
    return methods.cumsum(_instead(x, 0), axis, **options)


def nancumprod(x: Any, axis: int | None = None, **options: Any) -> Any:
    """Running products, likewise."""
    return methods.cumprod(_instead(x, 1), axis, **options)


def _extreme(
    x: Any,
    axis: Axis,
    largest: bool,
    keepdims: bool = False,
    out: Any = None,
    initial: Any = None,
    where: Any = True,
) -> Any:
    given = manipulation.checked(x, "x")
    take, worst = (statistics.max, -math.inf) if largest else (statistics.min, math.inf)
    options = {"keepdims": keepdims, "initial": initial, "where": where}
    if not isinstance(dtypes.of_view(given.planes), Format):
        return take(given, axis, out=out, **options)
    options["initial"] = worst if where is not True and initial is None else initial
    found = take(_instead(given, worst), axis, **options)
    if initial is None:
        known = _known(given, where)
        found = elementwise.where(statistics.any(known, axis, keepdims=keepdims), found, math.nan)
    return found if out is None else elementwise.given_back(found.planes, out)


def _known(x: Any, where: Any) -> Any:
    """Which elements are there: those that are no NaN, of those that *where* has."""
    known = elementwise.logical_not(elementwise.isnan(x))
    return known if where is True else elementwise.logical_and(known, where)


def nanmax(x: Any, axis: Axis = None, **options: Any) -> Any:
    """The largest elements."""
    return _extreme(x, axis, True, **options)


def nanmin(x: Any, axis: Axis = None, **options: Any) -> Any:
    """The smallest elements."""
    return _extreme(x, axis, False, **options)


def _place(x: Any, axis: int | None, keepdims: bool, largest: bool) -> Any:
    given = manipulation.checked(x, "x")
    best = _extreme(given, axis, largest, keepdims=True)
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


def nanmean(x: Any, axis: Axis = None, *, where: Any = True, **options: Any) -> Any:
    """Means."""
    return statistics.mean(x, axis, where=_known(x, where), **options)


def nanvar(x: Any, axis: Axis = None, *, where: Any = True, **options: Any) -> Any:
    """The sums of squares of differences from the mean, divided by the number less *ddof*."""
    return _or_nan(statistics.var, x, axis, where, **options)


def nanstd(x: Any, axis: Axis = None, *, where: Any = True, **options: Any) -> Any:
    """The square roots of these."""
    return _or_nan(statistics.std, x, axis, where, **options)


def _or_nan(
    function: Any,
    x: Any,
    axis: Axis,
    where: Any,
    keepdims: bool = False,
    out: Any = None,
    ddof: Any = None,
    correction: Any = 0,
    **options: Any,
) -> Any:
    """What a function gives where more elements are there than are taken off their number."""
    known = _known(x, where)
    options |= {"keepdims": keepdims, "ddof": ddof, "correction": correction}
    found = function(x, axis, where=known, **options)
    there = statistics.count_nonzero(known, axis=axis, keepdims=keepdims)
    left = elementwise.greater(there.astype(found.dtype), correction if ddof is None else ddof)
    found = elementwise.where(left, found, math.nan)
    return found if out is None else elementwise.given_back(found.planes, out)


def _each_row(x: Any, axis: Axis, keepdims: bool, name: str, of_row: Any) -> Any:
    """A function of the rows' elements in order; rows with as many numbers are taken together."""
    ordered, shape = numerics.in_order(x, axis, keepdims, name)
    n = ordered.shape[-1]
    rows = ordered.reshape(-1, n)
    counts = np.asarray(_there(rows, 1, False))
    found = creation.full((rows.shape[0],), math.nan, ordered.dtype, ordered.queue)
    for count in np.unique(counts[counts > 0]).tolist():
        there = np.flatnonzero(counts == count)
        found[there] = of_row(rows[there][:, :count])
    return found.reshape(shape)


def nanmedian(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The middle elements. A wait."""
    found = _each_row(x, axis, keepdims, "nanmedian", lambda rows: numerics.median(rows, -1))
    return found if out is None else elementwise.given_back(found.planes, out)


def nanquantile(x: Any, q: Any, axis: Axis = None, **options: Any) -> Any:
    """``quantile``, but for its weights. A wait."""
    return _at_shares(x, q, axis, counting.quantile, **options)


def nanpercentile(x: Any, q: Any, axis: Axis = None, **options: Any) -> Any:
    """``percentile``, likewise. A wait."""
    return _at_shares(x, q, axis, counting.percentile, **options)


def _at_shares(
    x: Any,
    q: Any,
    axis: Axis,
    function: Any,
    method: str = "linear",
    keepdims: bool = False,
    out: Any = None,
) -> Any:
    def of(one: Any) -> Any:
        def of_row(rows: Any) -> Any:
            return function(rows, one, -1, method=method)

        return _each_row(x, axis, keepdims, f"nan{function.__name__}", of_row)

    found = manipulation.stack([of(one) for one in q]) if counting.is_many(q) else of(q)
    return found if out is None else elementwise.given_back(found.planes, out)
