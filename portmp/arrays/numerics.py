"""Small numerical methods on vectors: integrals, slopes, interpolation, convolution, medians."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portmp.arrays import creation, dtypes, elementwise, manipulation, sorting, statistics
from portmp.arrays.viewed import AnyArray, Viewed
from portmp.errors import ArgumentError, ShapeError, choice
from portmp.formats import Format
from portmp.routines import axes


def _along(axis: int, ndim: int, *key: Any) -> tuple[Any, ...]:
    (along,) = axes.named(axis, ndim)
    return (*(slice(None),) * along, *key)


def _halves(x: AnyArray, axis: int) -> tuple[Any, Any]:
    """All elements but the first, and all but the last, along an axis."""
    upper, lower = slice(1, None), slice(None, -1)
    return x[_along(axis, x.ndim, upper)], x[_along(axis, x.ndim, lower)]


def _values(x: AnyArray) -> AnyArray:
    """Integers as values of the default format."""
    given: AnyArray = manipulation.checked(x, "x")
    return (
        given
        if isinstance(dtypes.of_view(given.planes), Format)
        else given.astype(dtypes.default())
    )


def append(x: AnyArray, values: Any, axis: int | None = None) -> Any:
    """x, and then *values* along an axis; without one, all elements of both as a vector."""
    if elementwise.is_number(values):
        first = manipulation.checked(x, "append: x")
        more = elementwise.beside_one(values, first, dtypes.of_view(first.planes), "append")
        return manipulation.concat([first, more], axis=axis)
    return manipulation.concat(
        elementwise.as_arrays([x, values], ("append: x", "append: values")), axis=axis
    )


def trapezoid(y: AnyArray, x: AnyArray | None = None, dx: Any = 1, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule along an axis: of y at x, or at distances dx.

    The sum of distance times (upper + lower), divided by 2.
    """
    if x is not None:
        y, x = elementwise.as_arrays([y, x], ("trapezoid: y", "trapezoid: x"))
    values = _values(y)
    upper, lower = _halves(values, axis)
    step: Any = dx
    if x is not None:
        after, before = _halves(x, -1 if x.ndim == 1 else axis)
        step = after - before
        if x.ndim == 1:
            (along,) = axes.named(axis, values.ndim)
            step = step.reshape([step.size if i == along else 1 for i in range(values.ndim)])
    return statistics.sum(step * (upper + lower), axis) / 2


def gradient(
    y: AnyArray, *distances: Any, axis: Any = None, edge_order: int = 1, dx: Any = None
) -> Any:
    """Slopes: central differences, at the ends differences of neighbours, or of second order.

    *distances*: a number, or a vector of coordinates; one for all axes, or one for each. Along an
    axis; of several axes a list, where none is named. *dx* is a distance by name.
    """
    values = _values(y)
    over = axes.named(axis, values.ndim)
    given = distances or (1 if dx is None else dx,)
    if len(given) not in (1, len(over)) or (distances and dx is not None):
        raise ArgumentError(
            f"gradient: {len(distances)} distances given for {len(over)} axes: one, or as many"
        )
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order: {edge_order!r} given, 1 and 2 are allowed")
    each = given * len(over) if len(given) == 1 else given
    found = [_slopes(values, d, i, edge_order) for d, i in zip(each, over, strict=True)]
    return found[0] if len(found) == 1 else found


def _slopes(values: AnyArray, distance: Any, along: int, edge_order: int) -> Any:
    """Of one axis, at equal distances or between coordinates."""
    n = values.shape[along]
    if n < edge_order + 1:
        raise ShapeError(
            f"gradient: {edge_order + 1} elements at least are needed, shape {values.shape} given"
        )
    y = manipulation.moveaxis(values, along, -1)
    made = creation.empty_like(y)
    if isinstance(distance, (list, tuple, np.ndarray)) and np.ndim(distance):
        kind = dtypes.of_view(values.planes)
        distance = elementwise.beside_one(distance, values, kind, "gradient: distances")
    if not isinstance(distance, Viewed) or not distance.ndim:
        d = distance
        made[..., 1:-1] = (y[..., 2:] - y[..., :-2]) / d / 2
        made[..., 0], made[..., -1] = (y[..., 1] - y[..., 0]) / d, (y[..., -1] - y[..., -2]) / d
        if edge_order == 2:
            made[..., 0] = (4 * y[..., 1] - 3 * y[..., 0] - y[..., 2]) / d / 2
            made[..., -1] = (3 * y[..., -1] - 4 * y[..., -2] + y[..., -3]) / d / 2
        return manipulation.moveaxis(made, -1, along)
    if distance.shape != (n,):
        raise ShapeError(f"gradient: coordinates {distance.shape} given, ({n},) are needed")
    # Slopes of the two neighbouring lines: between them by distances, at the ends beyond them.
    h = statistics.diff(_values(distance))
    line = statistics.diff(y) / h
    before, after = h[:-1], h[1:]
    made[..., 1:-1] = (line[..., :-1] * after + line[..., 1:] * before) / (before + after)
    made[..., 0], made[..., -1] = line[..., 0], line[..., -1]
    if edge_order == 2:
        bend = (line[..., 1:] - line[..., :-1]) / (before + after)
        made[..., 0] = line[..., 0] - bend[..., 0] * h[0]
        made[..., -1] = line[..., -1] + bend[..., -1] * h[-1]
    return manipulation.moveaxis(made, -1, along)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Values at x of the broken line through points (xp, fp), xp ascending.

    Beyond it its ends, or *left* and *right*.
    """
    known = next((v for v in (x, xp, fp) if isinstance(v, Viewed)), None)
    x, xp, fp = (_beside(v, known) for v in (x, xp, fp))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(
            f"interp: vectors of one length are needed, {xp.shape} and {fp.shape} given"
        )
    where, known, values = elementwise.views("interp", [_values(x), _values(xp), _values(fp)])
    low_end = values[0] if left is None else left
    high_end = values[-1] if right is None else right
    if known.size == 1:
        found = elementwise.where(elementwise.isnan(where), where, values[0])
        found = elementwise.where(where < known[0], low_end, found)
        return elementwise.where(where > known[0], high_end, found)
    places = sorting.searchsorted(known, where, side="right") - 1
    places = elementwise.clip(places, 0, known.size - 2)
    start, low = known[places], values[places]
    slope = (values[places + 1] - low) / (known[places + 1] - start)
    found = low + slope * (where - start)
    found = elementwise.where(where == known[-1], values[-1], found)
    found = elementwise.where(where == known[0], values[0], found)
    found = elementwise.where(where < known[0], low_end, found)
    return elementwise.where(where > known[-1], high_end, found)


def _beside(value: Any, known: AnyArray | None) -> AnyArray:
    """An array, of a format like another where it is none; FormatError where that would round."""
    if isinstance(value, Viewed) or known is None:
        return _values(value)
    form = dtypes.of_view(_values(known).planes)
    return elementwise.beside_one(value, known, form, "operand")


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The products of two polynomials' coefficients, summed; *mode* as in NumPy."""
    known = next((x for x in (a, v) if isinstance(x, Viewed)), None)
    if not (isinstance(a, Viewed) and isinstance(v, Viewed)):
        a, v = _beside(a, known), _beside(v, known)
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ShapeError(f"convolve: vectors with elements are needed, {a.shape}, {v.shape} given")
    choice("convolve: mode:", mode, ("full", "same", "valid"))
    longer, shorter = (a, v) if a.size >= v.size else (v, a)
    n, m = longer.size, shorter.size
    table = manipulation.pad(longer[None, :] * shorter[:, None], ((0, 0), (0, m)))
    # Row j moved by j: the rest of its zeros comes in at the beginning.
    shifted = manipulation.ravel(table)[: m * (n + m - 1)].reshape(m, n + m - 1)
    full = statistics.sum(shifted, 0, dtype=table.dtype)
    if mode == "full":
        return full
    return full[(m - 1) // 2 : (m - 1) // 2 + n] if mode == "same" else full[m - 1 : n]


Axis = int | tuple[int, ...] | None


def _in_order(
    x: AnyArray, axis: Axis, keepdims: bool, name: str
) -> tuple[AnyArray, tuple[int, ...]]:
    """The elements along some axes, in order along a last one, and the shape without them."""
    values = _values(x)
    over = axes.named(axis, values.ndim)
    rest = tuple(n for i, n in enumerate(values.shape) if i not in over)
    n = math.prod(values.shape[i] for i in over)
    if not n:
        raise ShapeError(f"{name}: an empty array has none")
    last = tuple(range(-len(over), 0))
    turned = manipulation.moveaxis(values, over, last) if over else values
    kept = tuple(1 if i in over else n for i, n in enumerate(values.shape))
    return sorting.sort(turned.reshape((*rest, n)), -1), kept if keepdims else rest


def median(x: AnyArray, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The middle element in order, or the mean of the two in the middle; NaN where there is one."""
    ordered, shape = _in_order(x, axis, keepdims, "median")
    n = ordered.shape[-1]
    low, high = ordered[..., (n - 1) // 2], ordered[..., n // 2]
    middle = (low + high) / 2 if n % 2 == 0 else low
    last = ordered[..., n - 1]
    return elementwise.where(elementwise.isnan(last), last, middle).reshape(shape)


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None) -> Any:
    """Covariances of variables, the rows of m (or its columns) and of y: a matrix, of one a number.

    Sums of products of differences from means, divided by n - 1, by n with *bias*, or n - *ddof*.
    """
    found = _rows(m if y is None else elementwise.as_arrays([m, y], "cov: m")[0], rowvar, "cov: m")
    if y is not None:
        found = manipulation.concat([found, _rows(_beside(y, found), rowvar, "cov: y")])
    n = found.shape[1]
    left = n - (ddof if ddof is not None else int(not bias))
    apart = found - statistics.mean(found, 1, keepdims=True)
    made = (apart @ apart.T) / (left if left > 0 else 0)
    return manipulation.squeeze(made)


def _rows(x: Any, rowvar: bool, what: str) -> AnyArray:
    given = _values(manipulation.checked(x, what))
    if given.ndim > 2:
        raise ShapeError(f"{what}: a vector or a matrix is needed, shape {given.shape} given")
    rows: AnyArray = manipulation.atleast_2d(given)
    return rows if rowvar or given.ndim < 2 else rows.T


def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """Correlations: covariances divided by both deviations, cut to -1 to 1."""
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    deviation = elementwise.sqrt(manipulation.diagonal(found))
    return elementwise.clip(found / deviation[:, None] / deviation[None, :], -1, 1)


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in C order, between others where these are given."""
    given = manipulation.ravel(manipulation.checked(x, "x"))
    parts = [to_begin, statistics.diff(given), to_end]
    kind = dtypes.of_view(given.planes)
    arrays = [
        manipulation.ravel(elementwise.beside_one(p, given, kind, "ediff1d: ends"))
        for p in parts
        if p is not None
    ]
    return manipulation.concat(arrays)
