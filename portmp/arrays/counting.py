"""How often values come, and where they lie among each other: counts, histograms, quantiles."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays import composed, creation, elementwise, manipulation, sorting, statistics, typed
from portmp.arrays.numerics import in_order, values_beside
from portmp.arrays.statistics import Axis
from portmp.arrays.viewed import AnyArray, Viewed, called, integers
from portmp.errors import ArgumentError, ShapeError, choice
from portmp.formats import Format, convert, foreign, losses
from portmp.runtime.planes import Numbers

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "percentile", "quantile"]


@typed.as_(typed.Counts)
def bincount(x: AnyArray, /, weights: Any = None, minlength: int = 0) -> Any:
    """How often each integer from 0 on is in a vector of integers (int64). Waits for the device.

    With *weights*, as many: the sums of those of each integer.
    """
    x = manipulation.checked(x, "x")
    view = x.planes
    if not isinstance(view, Numbers) or view.dtype == "bool" or view.ndim != 1:
        raise ArgumentError("bincount: a vector of integers is needed")
    (count,) = integers((minlength,), "minlength", count=1)
    if count < 0:
        raise ArgumentError(f"minlength: {count} given, 0 or more is allowed")
    if x.size:
        if int(x.min()) < 0:
            raise ArgumentError(
                f"bincount: {int(x.min())} is among the integers, 0 or more allowed"
            )
        count = max(count, int(x.max()) + 1)
    # Edges lie between integers of their own: count may be more than the dtype holds.
    whole = x.astype("int64") if view.dtype != "uint64" else x
    edges = creation.arange(count + 1, dtype=whole.dtype, device=x.queue)
    if weights is None:
        return statistics.diff(sorting.searchsorted(sorting.sort(whole), edges))
    order = sorting.argsort(whole)
    ends = sorting.searchsorted(whole[order], edges)
    return _sums(_weights(weights, x, "bincount")[order], ends)


def _weights(weights: Any, x: AnyArray, what: str) -> Any:
    """A vector of a format with a weight for each element."""
    given = composed.as_values(manipulation.checked(weights, f"{what}: weights"))
    if given.shape != x.shape:
        raise ShapeError(f"{what}: weights {given.shape} given, x has {x.shape}")
    if given.format.coded:
        given = given.astype(given.format.arithmetic)
    return manipulation.ravel(given)


def _sums(values: AnyArray, ends: Any) -> Any:
    """Sums of the values between places that follow each other, each in the order of ``sum``.

    Those of as many values are rows of one reduction: of n values at most sqrt(2 n) are launched.
    """
    places = np.asarray(ends)
    lengths = np.diff(places)
    found = creation.zeros((lengths.size,), values.dtype, values.queue)
    for n in np.unique(lengths[lengths > 0]):
        which = np.flatnonzero(lengths == n)
        rows = values[places[which][:, None] + np.arange(n)]
        found[which] = statistics.sum(rows, axis=1)
    return found


@typed.as_(typed.Histogram)
def histogram(
    x: AnyArray,
    /,
    bins: Any = 10,
    range: tuple[Any, Any] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any]:
    """How many elements lie in each of some bins (int64), and the bins' edges.

    Waits for the device.

    *bins*: how many of the same width, from the least element to the largest or over *range*, or a
    vector of edges in order. An element on an edge counts above it, on the last one below. Of
    storage formats edges have the format that computes. With *weights*, as many as elements: their
    sums. *density*: these numbers divided by widths and by their sum, so that the integral is 1.
    """
    given = manipulation.checked(elementwise.near(x, bins, weights), "x")
    edges = histogram_bin_edges(given, bins, range)
    values = composed.as_values(manipulation.ravel(given)).astype(edges.dtype, copy=False)
    order = sorting.argsort(values)
    ordered = values[order]
    below = sorting.searchsorted(ordered, edges)
    last = sorting.searchsorted(ordered, edges[-1:], side="right")
    ends = manipulation.concat([below[:-1], last])
    found: Any
    if weights is None:
        found = statistics.diff(ends)
    else:
        found = _sums(_weights(weights, given, "histogram")[order], ends)
    if density:
        found = found.astype(edges.dtype, copy=False)
        found = found / statistics.diff(edges) / statistics.sum(found)
    return found, edges


@typed.as_(typed.Histogram2d)
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """How many points (x, y) lie in each of some rectangles (int64), and the edges of both axes.

    *bins* and *range*: as ``histogram`` has them, for both axes, or a pair of them (two integers,
    two vectors of edges). *weights* and *density* as there, of rectangles. Waits for the device.
    """
    both = bins if isinstance(bins, (list, tuple)) else (bins,)
    known = next((v for v in (x, y, *both) if isinstance(v, Viewed)), None)
    points = [manipulation.ravel(values_beside(v, known)) for v in (x, y)]
    if points[0].size != points[1].size:
        raise ShapeError(f"histogram2d: {points[0].size} x and {points[1].size} y given")
    pair = isinstance(bins, (list, tuple)) and len(bins) == 2
    each = zip(points, bins if pair else (bins, bins), range or (None, None), strict=True)
    edges = [histogram_bin_edges(v, number, ends) for v, number, ends in each]
    places, inside = [], creation.ones(points[0].shape, dtype="bool", device=points[0].queue)
    for v, ends in zip(points, edges, strict=True):
        held = v.astype(ends.dtype, copy=False)
        place = sorting.searchsorted(ends, held, side="right") - 1
        place = place - (held == ends[-1])
        places.append(place)
        inside = inside & (place >= 0) & (held <= ends[-1])
    shape = tuple(ends.size - 1 for ends in edges)
    cells = (places[0] * shape[1] + places[1])[inside]
    given = None if weights is None else _weights(weights, points[0], "histogram2d")[inside]
    found: Any = bincount(cells, given, math.prod(shape)).reshape(shape)
    if density:
        found = found.astype(edges[0].dtype, copy=False)
        widths = [statistics.diff(ends) for ends in edges]
        found = found / widths[0][:, None] / widths[1] / statistics.sum(found)
    return found, edges[0], edges[1]


@typed.gives(typed.Array)
def histogram_bin_edges(
    x: AnyArray, /, bins: Any = 10, range: tuple[Any, Any] | None = None, weights: Any = None
) -> Any:
    """The edges of the bins that ``histogram`` takes; *weights* change nothing."""
    given = manipulation.checked(elementwise.near(x, bins), "x")
    values = composed.as_values(manipulation.ravel(given))
    form = values.dtype
    formats.real_only(form, "histogram")
    if isinstance(form, Format) and form.coded:
        form = form.arithmetic
        values = values.astype(form)
    if isinstance(bins, (Viewed, np.ndarray, list, tuple)):
        edges = elementwise.beside_one(bins, values, form, "bins")
        if edges.ndim != 1 or edges.size < 2 or not bool((edges[1:] >= edges[:-1]).all()):
            raise ArgumentError("bins: two edges at least are needed, in order")
    else:
        if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
            raise ArgumentError(f"bins: {bins!r:.60} given, an integer from 1 on is needed")
        if range is not None and not (isinstance(range, (list, tuple)) and len(range) == 2):
            raise ArgumentError(f"range: {range!r:.60} given, a pair of numbers is needed")
        whole = (values.min(), values.max()) if values.size else (0, 1)
        ends = whole if range is None else range
        low, high = (elementwise.beside_one(end, values, form, "range") for end in ends)
        if bool(low == high):
            low, high = low - 0.5, high + 0.5
        if not bool(low < high) or not bool(elementwise.isfinite(low) & elementwise.isfinite(high)):
            raise ArgumentError(f"range: {low} to {high} given, finite ends in order are needed")
        edges = creation.linspace(low, high, int(bins) + 1, dtype=form, device=values.queue)
    return edges


BETWEEN: dict[str, tuple[Fraction, Fraction]] = {
    "linear": (Fraction(1), Fraction(1)),
    "interpolated_inverted_cdf": (Fraction(0), Fraction(1)),
    "hazen": (Fraction(1, 2), Fraction(1, 2)),
    "weibull": (Fraction(0), Fraction(0)),
    "median_unbiased": (Fraction(1, 3), Fraction(1, 3)),
    "normal_unbiased": (Fraction(3, 8), Fraction(3, 8)),
}
"""Methods that take a point between two elements: alpha and beta of Hyndman and Fan (1996), whose
place, from 0 on, is n q + alpha + q (1 - alpha - beta) - 1."""


def _of_steps(n: int, q: Any) -> Any:
    """The least place with n q elements up to it."""
    return math.ceil(n * q) - 1


def _averaged(n: int, q: Any) -> Fraction:
    """The same, or half-way to the next where n q is an integer."""
    many = Fraction(n * q)
    return many - Fraction(1, 2) if many.denominator == 1 else Fraction(_of_steps(n, q))


AT_PLACES: dict[str, Callable[[int, Any], Fraction | int]] = {
    "lower": lambda n, q: math.floor(q * (n - 1)),
    "higher": lambda n, q: math.ceil(q * (n - 1)),
    "nearest": lambda n, q: round(q * (n - 1)),
    "midpoint": lambda n, q: Fraction(math.floor(q * (n - 1)) + math.ceil(q * (n - 1)), 2),
    "inverted_cdf": _of_steps,
    "averaged_inverted_cdf": _averaged,
    "closest_observation": lambda n, q: round(n * q) - 1,  # of two the even one, from 1 on
}
"""Methods that take elements, or the middle of two: their places of n elements from 0 on."""


def _place(method: str, n: int, share: Any, name: str) -> Fraction:
    if method in BETWEEN:
        alpha, beta = BETWEEN[method]
        exact = Fraction(share)
        place = n * exact + alpha + exact * (1 - alpha - beta) - 1
    else:
        choice(f"{name}: method:", method, (*BETWEEN, *AT_PLACES))
        place = Fraction(AT_PLACES[method](n, share))
    return min(max(place, Fraction(0)), Fraction(n - 1))


def at_each(q: Any, at: Callable[[Any], Any], what: str) -> Any:
    """What is at each of some shares, along their axes, which come first; or at a single one."""
    shares, shape = convert.flattened(q.tolist() if hasattr(q, "tolist") else q, what)
    if not shape:
        return at(shares[0])
    found = manipulation.stack([at(one) for one in shares or [0]])[: len(shares)]
    return found.reshape(*shape, *found.shape[1:])


def _at_shares(name: str, whole: int, about: str) -> Any:
    def at_shares(
        x: AnyArray,
        /,
        q: Any,
        axis: Axis = None,
        *,
        method: str = "linear",
        keepdims: bool = False,
        out: Any = None,
        weights: Any = None,
    ) -> Any:
        if weights is None:
            (ordered, kept), sums = in_order(x, axis, keepdims, name), None
        else:
            if method != "inverted_cdf":
                raise ArgumentError(
                    f"{name}: weights: method {method!r} given, 'inverted_cdf' needed"
                )
            x, weights = elementwise.as_arrays([x, weights], (f"{name}: x", f"{name}: weights"))
            spread = statistics.spread_weights(composed.as_values(weights), x, axis, name)
            if bool((spread < 0).any()):
                raise ArgumentError(f"{name}: weights: numbers from 0 on are needed")
            (ordered, light), kept = in_order(x, axis, keepdims, name, spread)
            sums = statistics.cumulative_sum(light, axis=-1)
        formats.real_only(ordered.dtype, name)

        def at(one: Any) -> Any:
            share = _share(one, whole, method, name, ordered.dtype)
            if sums is None:
                return _at_share(ordered, share, method, name).reshape(kept)
            below = sums < sums[..., -1:] * share if share else sums <= 0
            place = statistics.count_nonzero(below, axis=-1, keepdims=True)
            place = elementwise.minimum(place, sums.shape[-1] - 1)
            return manipulation.take_along_axis(ordered, place, axis=-1).reshape(kept)

        return elementwise.given_back(at_each(q, at, f"{name}: q").planes, out)

    return called(at_shares, name, about)


def _share(q: Any, whole: int, method: str, name: str, form: Format) -> Any:
    """A share as an exact number; floats stay floats for methods that jump."""
    given = q.item() if hasattr(q, "item") else q
    exact = foreign.exact(given, f"{name}: q")
    if (isinstance(exact, float) and not math.isfinite(exact)) or not 0 <= exact <= whole:
        raise ArgumentError(f"{name}: q: {q!r:.60} given, numbers from 0 to {whole} are allowed")
    floats = isinstance(given, float) and method in AT_PLACES
    if not floats:
        losses.check(given, form, f"{name}: q")
    return given / whole if floats else Fraction(exact) / whole


def _at_share(ordered: AnyArray, share: Any, method: str, name: str) -> Any:
    """Of elements in order along the last axis."""
    n = ordered.shape[-1]
    place = _place(method, n, share, name)
    low, rest = math.floor(place), place - math.floor(place)
    found = ordered[..., low]
    if rest:
        found = composed.between(found, ordered[..., low + 1], rest, 1 - rest)
    last = ordered[..., n - 1]
    return sorting.where(elementwise.isnan(last), last, found)


quantile: typed.Shares = _at_shares(
    "quantile",
    1,
    """What lies at the share q (an exact scalar from 0 to 1, or some) of the elements in order.

    With a at place i and b at i + 1 about q (n - 1) = i + f: a + (b - a) f, f rounded once. NaN
    where there is one. *method*: one of NumPy's, whose place is another, or which take a or b;
    those that jump take a float's product with n as a float, as NumPy does: 5 times 0.4 is 2.
    *weights*, which ``inverted_cdf`` alone takes: of the shape of x, or of its *axis*.
    """,
)
percentile: typed.Shares = _at_shares("percentile", 100, "``quantile`` of q / 100, which is exact.")
