"""How often values come, and where they lie among each other: counts, histograms, quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from portmp.arrays import creation, dtypes, elementwise, manipulation, numerics, sorting, statistics
from portmp.arrays.numerics import Axis
from portmp.arrays.viewed import AnyArray, Viewed, integers
from portmp.errors import ArgumentError
from portmp.formats import Format, foreign
from portmp.runtime.planes import Numbers


def bincount(x: AnyArray, /, weights: None = None, minlength: int = 0) -> Any:
    """How often each integer from 0 on is in a vector of integers (int64). A wait.

    NumPy's *weights* are not here.
    """
    x = manipulation.checked(x, "x")
    view = x.planes
    if weights is not None:
        raise ArgumentError("weights: given, bincount counts without them")
    if not isinstance(view, Numbers) or view.dtype == "bool" or view.ndim != 1:
        raise ArgumentError("bincount: a vector of integers is needed")
    (count,) = integers((minlength,), "minlength")
    if count < 0:
        raise ArgumentError(f"minlength: {count} given, 0 or more is allowed")
    if x.size:
        if int(x.min()) < 0:
            raise ArgumentError(
                f"bincount: {int(x.min())} is among the integers, 0 or more allowed"
            )
        count = max(count, int(x.max()) + 1)
    edges = creation.arange(count + 1, dtype=x.dtype, device=x.queue)
    return statistics.diff(sorting.searchsorted(sorting.sort(x), edges))


def histogram(
    x: AnyArray, /, bins: Any = 10, range: tuple[Any, Any] | None = None
) -> tuple[Any, Any]:
    """How many elements lie in each of some bins (int64), and the bins' edges. A wait.

    *bins*: how many of the same width, from the least element to the largest or over *range*, or a
    vector of edges in order. An element on an edge counts above it, on the last one below. Of
    storage formats edges have the format that computes.
    """
    values = numerics._values(manipulation.ravel(manipulation.checked(x, "x")))
    form = dtypes.of_view(values.planes)
    if isinstance(form, Format) and form.coded:
        form = form.arithmetic
        values = values.astype(form)
    if isinstance(bins, (Viewed, np.ndarray, list, tuple)):
        edges = creation.asarray(bins, dtype=form, device=values.queue)
        if edges.ndim != 1 or edges.size < 2 or not bool((edges[1:] >= edges[:-1]).all()):
            raise ArgumentError("bins: two edges at least are needed, in order")
    else:
        if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
            raise ArgumentError(f"bins: {bins!r:.60} given, an integer from 1 on is needed")
        if range is not None and not (isinstance(range, (list, tuple)) and len(range) == 2):
            raise ArgumentError(f"range: {range!r:.60} given, a pair of numbers is needed")
        whole = (values.min(), values.max()) if values.size else (0, 1)
        ends = whole if range is None else range
        low, high = (creation.asarray(end, dtype=form, device=values.queue) for end in ends)
        if bool(low == high):
            low, high = low - 0.5, high + 0.5
        if not bool(low < high) or not bool(elementwise.isfinite(high - low)):
            raise ArgumentError(f"range: {low} to {high} given, finite ends in order are needed")
        edges = creation.linspace(low, high, int(bins) + 1, dtype=form, device=values.queue)
    ordered = sorting.sort(values)
    below = sorting.searchsorted(ordered, edges)
    last = sorting.searchsorted(ordered, edges[-1:], side="right")
    return statistics.diff(manipulation.concat([below[:-1], last])), edges


def quantile(x: AnyArray, /, q: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """What lies at the share q (an exact scalar from 0 to 1, or some) of the elements in order.

    With a at place i and b at i + 1 about q (n - 1) = i + f: a + (b - a) f, f rounded once. NaN
    where there is one.
    """
    return _at_shares(x, q, 1, axis, keepdims, "quantile")


def percentile(x: AnyArray, /, q: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """``quantile`` of q / 100, which is exact."""
    return _at_shares(x, q, 100, axis, keepdims, "percentile")


def _at_shares(x: AnyArray, q: Any, whole: int, axis: Axis, keepdims: bool, name: str) -> Any:
    ordered, kept = numerics._in_order(x, axis, keepdims, name)
    many = isinstance(q, Sequence) and not isinstance(q, str)
    if many or (isinstance(q, (np.ndarray, Viewed)) and q.ndim):
        found = [_at_share(ordered, one, whole, name).reshape(kept) for one in q]
        empty = creation.zeros((0, *kept), dtype=ordered.dtype, device=ordered.queue)
        return manipulation.stack(found) if found else empty
    return _at_share(ordered, q, whole, name).reshape(kept)


def _at_share(ordered: AnyArray, q: Any, whole: int, name: str) -> Any:
    """Of elements in order along the last axis."""
    exact = foreign.exact(q.tolist() if isinstance(q, Viewed) else q, f"{name}: q")
    share = None if isinstance(exact, float) and not math.isfinite(exact) else Fraction(exact)
    if share is None or not 0 <= share <= whole:
        raise ArgumentError(f"{name}: q: {q!r:.60} given, numbers from 0 to {whole} are allowed")
    n = ordered.shape[-1]
    place = share / whole * (n - 1)
    low, rest = math.floor(place), place - math.floor(place)
    found = ordered[..., low]
    if rest:
        found = found + (ordered[..., low + 1] - found) * rest
    last = ordered[..., n - 1]
    return sorting.where(elementwise.isnan(last), last, found)
