"""Statistics that leave NaN out, by NumPy's names.

Where all elements of a row are NaN, sums are 0, products 1, and all else is NaN.
"""

import math
from typing import Any

import numpy as np

from portmp.arrays import counting, creation, elementwise, manipulation, numerics, statistics, typed
from portmp.arrays.statistics import Axis
from portmp.arrays.viewed import called
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import Format
from portmp.routines import axes

__all__ = ["nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian"]
__all__ += ["nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar"]


def _instead(x: Any, number: Any) -> Any:
    """The array with a number for NaN; integers as they are."""
    given = manipulation.checked(x, "x")
    if not isinstance(given.dtype, Format):
        return given
    return elementwise.where(elementwise.isnan(given), number, given)


@typed.as_(typed.OwnKind)
def nancumsum(x: Any, axis: int | None = None, **options: Any) -> Any:
    """Running sums in which NaN counts as 0; options are those of ``cumsum``."""
    return statistics.cumsum(_instead(x, 0), axis, **options)


@typed.as_(typed.OwnKind)
def nancumprod(x: Any, axis: int | None = None, **options: Any) -> Any:
    """Running products in which NaN counts as 1; options are those of ``cumprod``."""
    return statistics.cumprod(_instead(x, 1), axis, **options)


def _without(name: str, about: str, worst: float | None = None, few: bool = False) -> Any:
    """A reduction of what is no NaN; NaN where nothing is left, or, of *few*, not enough."""
    function = getattr(statistics, name.removeprefix("nan"))

    def reduced(
        x: Any,
        axis: Axis = None,
        *,
        keepdims: bool = False,
        out: Any = None,
        where: Any = True,
        **options: Any,
    ) -> Any:
        given, known = manipulation.checked(x, "x"), where
        check = few or (worst is not None and options.get("initial") is None)
        if check and not few and 0 in [given.shape[i] for i in axes.named(axis, given.ndim)]:
            raise ShapeError(f"{name}: an empty array has none; initial= is what it has")
        if isinstance(given.dtype, Format):
            known = elementwise.logical_not(elementwise.isnan(given))
            known = known if where is True else elementwise.logical_and(known, where)
            options |= {"initial": worst} if check and not few else {}
        found = function(given, axis, keepdims=keepdims, where=known, **options)
        if check and known is not where:
            there = statistics.count_nonzero(known, axis=axis, keepdims=keepdims)
            least = options.get("ddof", options.get("correction", 0))
            enough = elementwise.greater(there.astype(found.dtype), least)
            found = elementwise.where(enough, found, math.nan)
        return elementwise.given_back(found.planes, out)

    return called(reduced, name, f"{about} Options are those of ``{name.removeprefix('nan')}``.")


nansum: typed.Reduced = _without("nansum", "Sums in which NaN counts as 0.")
nanprod: typed.Reduced = _without("nanprod", "Products in which NaN counts as 1.")
nanmax: typed.Reduced = _without(
    "nanmax", "The largest of the elements that are no NaN.", -math.inf
)
nanmin: typed.Reduced = _without(
    "nanmin", "The smallest of the elements that are no NaN.", math.inf
)
nanmean: typed.Averaged = _without("nanmean", "Means of the elements that are no NaN.")
nanvar: typed.Spread = _without("nanvar", "Variances of the elements that are no NaN.", few=True)
nanstd: typed.Spread = _without(
    "nanstd", "Standard deviations of the elements that are no NaN.", few=True
)


def _place(name: str, extremum: Any, which: str) -> Any:
    def place(x: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None) -> Any:
        given = manipulation.checked(x, "x")
        there = elementwise.equal(given, extremum(given, axis, keepdims=True))
        if not bool(statistics.all(statistics.any(there, axis))):
            raise ArgumentError(f"{name}: x: a row is all NaN")
        return statistics.argmax(there.astype("int8"), axis, keepdims=keepdims, out=out)

    about = f"The index of the first of the {which} elements; ArgumentError where all are NaN."
    return called(place, name, f"{about} Waits for the device.")


nanargmax: typed.Position = _place("nanargmax", nanmax, "largest")
nanargmin: typed.Position = _place("nanargmin", nanmin, "smallest")


def _each_row(x: Any, axis: Axis, keepdims: bool, name: str, of_row: Any) -> Any:
    """A function of the rows' elements in order; rows with as many numbers are taken together."""
    ordered, shape = numerics.in_order(x, axis, keepdims, name)
    n = ordered.shape[-1]
    rows = ordered.reshape(-1, n)
    known = elementwise.logical_not(elementwise.isnan(rows))
    counts = np.asarray(statistics.count_nonzero(known, axis=1))
    found = creation.full((rows.shape[0],), math.nan, ordered.dtype, ordered.queue)
    for count in np.unique(counts[counts > 0]).tolist():
        there = np.flatnonzero(counts == count)
        found[there] = of_row(rows[there][:, :count])
    return found.reshape(shape)


@typed.gives(typed.Array)
def nanmedian(x: Any, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The median of the elements that are no NaN, of all or along axes. Waits for the device."""
    found = _each_row(x, axis, keepdims, "nanmedian", lambda rows: numerics.median(rows, -1))
    return elementwise.given_back(found.planes, out)


@typed.gives(typed.Array)
def nanquantile(x: Any, q: Any, axis: Axis = None, **options: Any) -> Any:
    """``quantile`` of the elements that are no NaN, without weights. Waits for the device."""
    return _at_shares(x, q, axis, counting.quantile, **options)


@typed.gives(typed.Array)
def nanpercentile(x: Any, q: Any, axis: Axis = None, **options: Any) -> Any:
    """``percentile`` of the elements that are no NaN, without weights. Waits for the device."""
    return _at_shares(x, q, axis, counting.percentile, **options)


def _at_shares(
    x: Any,
    q: Any,
    axis: Axis,
    function: Any,
    method: str = "linear",
    keepdims: bool = False,
    out: Any = None,
    weights: Any = None,
) -> Any:
    name = f"nan{function.__name__}"
    if weights is not None:
        raise ArgumentError(f"{name}: weights: given, which {function.__name__} alone has")

    def of(one: Any) -> Any:
        def of_row(rows: Any) -> Any:
            return function(rows, one, -1, method=method)

        return _each_row(x, axis, keepdims, name, of_row)

    found = counting.at_each(q, of, f"{name}: q")
    return elementwise.given_back(found.planes, out)
