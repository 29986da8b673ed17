"""Small numerical methods on vectors: integrals, slopes, interpolation, convolution, medians."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays import (
    complexes,
    composed,
    creation,
    elementwise,
    manipulation,
    sorting,
    statistics,
    typed,
)
from portmp.arrays.composed import as_values
from portmp.arrays.statistics import Axis
from portmp.arrays.viewed import AnyArray, Viewed
from portmp.errors import ArgumentError, ShapeError, choice
from portmp.formats import foreign
from portmp.routines import axes

__all__ = ["append", "convolve", "corrcoef", "cov", "ediff1d", "gradient", "interp", "median"]
__all__ += ["trapezoid"]


@typed.meets
def append(x: AnyArray, values: Any, axis: int | None = None) -> Any:
    """x, and then *values* along an axis; without one, all elements of both as a vector."""
    if elementwise.is_number(values):
        first = manipulation.checked(x, "append: x")
        more = elementwise.beside_one(values, first, first.dtype, "append")
        return manipulation.concat([first, more], axis=axis)
    return manipulation.concat(
        elementwise.as_arrays([x, values], ("append: x", "append: values")), axis=axis
    )


@typed.gives(typed.Array)
def trapezoid(y: AnyArray, x: AnyArray | None = None, dx: Any = 1, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule along an axis: of y at x, or at distances dx.

    The sum of distance times (upper + lower), divided by 2. Where that leaves the format's range,
    of numbers over powers of two.
    """
    if x is not None:
        y, x = elementwise.as_arrays([y, x], ("trapezoid: y", "trapezoid: x"))
        x = as_values(x if x.ndim == 1 else manipulation.moveaxis(x, axis, -1))
    values = manipulation.moveaxis(as_values(y), axis, -1)
    found = _integral(values, x, dx)
    if composed.in_range(found) or not values.size:
        return found
    near, power = statistics.near_one(values, -1)
    if x is None:
        return statistics.scaled_back(_integral(near, None, 1) * dx, power)
    places, spread = statistics.near_one(x, -1)
    return statistics.scaled_back(_integral(near, places, dx), power + spread)


def _integral(y: AnyArray, x: AnyArray | None, dx: Any) -> Any:
    step = dx if x is None else x[..., 1:] - x[..., :-1]
    return statistics.sum(step * (y[..., 1:] + y[..., :-1]), -1) / 2


def gradient(
    y: AnyArray, *distances: Any, axis: Any = None, edge_order: int = 1, dx: Any = None
) -> Any:
    """Slopes along axes: central differences inside, at the ends differences of neighbours.

    *edge_order* 2: those at the ends are of second order, too. *distances*: between elements, a
    number, or a vector of coordinates; one for all axes, or one for each; *dx* is one by its name.
    An array for one axis; a list of arrays, one for each, where there are several.
    """
    values = as_values(elementwise.near(y, *distances, dx))
    over = axes.named(axis, values.ndim)
    given = distances or (1 if dx is None else dx,)
    if len(given) not in (1, len(over)) or (distances and dx is not None):
        raise ArgumentError(
            f"gradient: {len(distances)} distances given for {len(over)} axes: one, or as many"
        )
    if edge_order not in (1, 2):
        raise ArgumentError(f"gradient: edge_order: {edge_order!r} given, 1 and 2 are allowed")
    each = given * len(over) if len(given) == 1 else given
    found = [_all_slopes(values, d, i, edge_order) for d, i in zip(each, over, strict=True)]
    return found[0] if len(found) == 1 else found


def _all_slopes(values: AnyArray, distance: Any, along: int, edge_order: int) -> Any:
    """``_slopes``; where differences are beyond the range, 16 times those of sixteenths."""
    found = _slopes(values, distance, along, edge_order)
    if composed.in_range(found):
        return found
    more = 16 * _slopes(values / 16, distance, along, edge_order)
    return elementwise.where(elementwise.isfinite(found), found, more)


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
        distance = elementwise.beside_one(distance, values, values.dtype, "gradient: distances")
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
    h = statistics.diff(as_values(distance))
    if not composed.in_range(h) and composed.in_range(distance):
        return _slopes(values, elementwise.divide(distance, 2), along, edge_order) / 2
    line = statistics.diff(y) / h
    before, after = h[:-1], h[1:]
    one, other = line[..., :-1], line[..., 1:]
    products, share = one * after + other * before, (before / 2) / (before / 2 + after / 2)
    plain = elementwise.logical_and(composed.usual(products, True), composed.usual(before + after))
    middle = products / (before + after), composed.between(one, other, share)
    made[..., 1:-1] = elementwise.where(plain, *middle)
    made[..., 0], made[..., -1] = line[..., 0], line[..., -1]
    if edge_order == 2:
        bend = (other - one) / (before + after)
        made[..., 0] = line[..., 0] - bend[..., 0] * h[0]
        made[..., -1] = line[..., -1] + bend[..., -1] * h[-1]
    return manipulation.moveaxis(made, -1, along)


@typed.gives(typed.Array)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Values at x of the broken line through points (xp, fp), xp ascending.

    Beyond it its ends, or *left* and *right*. With a *period* x and xp are taken modulo that, xp in
    any order. Complex fp: both parts by themselves.
    """
    known = next((v for v in (x, xp, fp) if isinstance(v, Viewed)), None)
    fp = values_beside(fp, known)
    known = complexes.halves(fp)[0] if known is fp and complexes.is_complex(fp) else known
    x, xp = (values_beside(v, known) for v in (x, xp))
    for given, name in ((x, "x"), (xp, "xp")):
        if complexes.is_complex(given):
            formats.real_only(given.dtype, f"interp: {name}")
    if complexes.is_complex(fp):
        lefts, rights = (
            (None, None)
            if end is None
            else complexes.halves(elementwise.beside_one(end, fp, fp.dtype, f"interp: {name}"))
            for end, name in ((left, "left"), (right, "right"))
        )
        parts = zip(complexes.halves(fp), lefts, rights, strict=True)
        return complexes.joined(*(interp(x, xp, *one, period) for one in parts))
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(
            f"interp: vectors of one length are needed, {xp.shape} and {fp.shape} given"
        )
    where, known, values = elementwise.views("interp", [as_values(v) for v in (x, xp, fp)])
    if period is not None:
        period = elementwise.abs(elementwise.beside_one(period, known, known.dtype, "period"))
        if not bool(period > 0):
            raise ArgumentError(f"interp: period: {period} given, another number is needed")
        where, known = composed.remainder(where, period), composed.remainder(known, period)
        order = sorting.argsort(known)
        known, values = known[order], values[order]
        known = manipulation.concat([known[-1:] - period, known, known[:1] + period])
        values = manipulation.concat([values[-1:], values, values[:1]])
        left = right = None
    low_end = values[0] if left is None else left
    high_end = values[-1] if right is None else right
    if known.size == 1:
        found = elementwise.where(elementwise.isnan(where), where, values[0])
    else:
        found = _on_line(where, known, values)
    found = elementwise.where(where < known[0], low_end, found)
    return elementwise.where(where > known[-1], high_end, found)


def _on_line(x: AnyArray, xp: AnyArray, fp: AnyArray) -> Any:
    """Values at x of a broken line, at points these themselves."""
    places = sorting.searchsorted(xp, x, side="right") - 1
    places = elementwise.clip(places, 0, xp.size - 2)
    start, low, end, high = xp[places], fp[places], xp[places + 1], fp[places + 1]
    slope = (high - low) / (end - start)
    found = low + slope * (x - start)
    share, halves = (x - start) / (end - start), (x / 2 - start / 2) / (end / 2 - start / 2)
    share = elementwise.where(elementwise.isfinite(end - start), share, halves)
    share = elementwise.where(elementwise.equal(start, -math.inf), 1, share)
    plain = elementwise.logical_and(composed.usual(slope, least=True), elementwise.isfinite(found))
    found = elementwise.where(plain, found, composed.between(low, high, share))
    found = elementwise.where(elementwise.equal(x, start), low, found)
    return elementwise.where(elementwise.equal(x, end), high, found)


def values_beside(value: Any, known: AnyArray | None) -> AnyArray:
    """An array, of a format like another where it is none; FormatError where that would round."""
    if isinstance(value, Viewed) or known is None:
        return as_values(value)
    return elementwise.beside_one(value, known, as_values(known).dtype, "operand")


@typed.meets
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The products of two polynomials' coefficients, summed; *mode* as in NumPy."""
    known = next((x for x in (a, v) if isinstance(x, Viewed)), None)
    if not (isinstance(a, Viewed) and isinstance(v, Viewed)):
        a, v = values_beside(a, known), values_beside(v, known)
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


def in_order(x: Any, axis: Axis, keepdims: bool, name: str, *beside: AnyArray) -> Any:
    """Elements along axes in order along a last one, others *beside* them, and the shape left."""
    values = as_values(x)
    over = axes.named(axis, values.ndim)
    rest = tuple(n for i, n in enumerate(values.shape) if i not in over)
    n = math.prod(values.shape[i] for i in over)
    if not n:
        raise ShapeError(f"{name}: an empty array has none")
    last = tuple(range(-len(over), 0))
    rows = [manipulation.moveaxis(v, over, last).reshape((*rest, n)) for v in (values, *beside)]
    shape = tuple(1 if i in over else n for i, n in enumerate(values.shape)) if keepdims else rest
    if not beside:
        return sorting.sort(rows[0], -1), shape
    order = sorting.argsort(rows[0], -1)
    return [manipulation.take_along_axis(row, order, axis=-1) for row in rows], shape


@typed.gives(typed.Array)
def median(x: AnyArray, axis: Axis = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The middle element in order, or the mean of the two in the middle; NaN where there is one."""
    ordered, shape = in_order(x, axis, keepdims, "median")
    n = ordered.shape[-1]
    low, high = ordered[..., (n - 1) // 2], ordered[..., n // 2]
    both = low + high
    middle = elementwise.where(elementwise.isfinite(both), both / 2, low / 2 + high / 2)
    last = ordered[..., n - 1]
    found = elementwise.where(elementwise.isnan(last), last, middle if n % 2 == 0 else low)
    return elementwise.given_back(found.reshape(shape).planes, out)


@typed.gives(typed.Array)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    """Covariances of variables, the rows of m (or its columns) and of y: a matrix, of one a number.

    Sums of products of differences from means, divided by n - 1, by n with *bias*, or n - *ddof*;
    of complex numbers those of the second variable are conjugated.
    *fweights*: how often each observation counts, *aweights*: its importance, as NumPy has them.
    """
    less = int(not bias) if ddof is None else foreign.exact(ddof, "cov: ddof")
    found, power = _covariances(m, y, rowvar, less, fweights, aweights)
    return manipulation.squeeze(composed.times_powers(found, power + power.T))


def _covariances(m: Any, y: Any, rowvar: bool, less: Any, often: Any, important: Any) -> Any:
    """Covariances of rows over powers of two where they leave the range, and these powers."""
    found = _rows(m if y is None else elementwise.as_arrays([m, y], "cov: m")[0], rowvar, "cov: m")
    if y is not None:
        found = manipulation.concat([found, _rows(values_beside(y, found), rowvar, "cov: y")])
    real = composed.real(found)
    one = creation.ones(found.shape[1:], real.dtype, found.queue)
    many, heavy = (one if w is None else values_beside(w, real) for w in (often, important))
    for given, name in ((many, "fweights"), (heavy, "aweights")):
        if given.shape != one.shape or bool((given < 0).any()):
            raise ArgumentError(f"cov: {name}: {one.size} numbers from 0 on are needed")
    given = None if often is None and important is None else many * heavy
    centre = statistics.average(found, 1, given, keepdims=True)
    total = Fraction(one.size) if given is None else statistics.sum(given)
    left = total - less * (statistics.sum(given * heavy) / total if important is not None else 1)
    left = left if bool(left > 0) else 0

    def products(differences: AnyArray) -> Any:
        weighted = differences if given is None else differences * given
        return differences @ composed.conj(weighted).T / left

    made, power = products(found - centre), creation.zeros((len(found), 1), "int64", found.queue)
    sizes = composed.real(manipulation.diagonal(made))
    if not composed.in_range(sizes, least=True) and found.size:
        differences, power = statistics.near_one(found / 2 - centre / 2, 1)
        made, power = products(differences), power + 1
    return made, power


def _rows(x: Any, rowvar: bool, what: str) -> AnyArray:
    given = as_values(manipulation.checked(x, what))
    if given.ndim > 2:
        raise ShapeError(f"{what}: a vector or a matrix is needed, shape {given.shape} given")
    rows: AnyArray = manipulation.atleast_2d(given)
    return rows if rowvar or given.ndim < 2 else rows.T


@typed.gives(typed.Array)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """Correlations: covariances divided by both deviations, (both parts) cut to -1 to 1."""
    found, _ = _covariances(x, y, rowvar, 1, None, None)
    if found.size == 1:
        return manipulation.squeeze(found / found)
    deviation = elementwise.sqrt(composed.real(manipulation.diagonal(found)))
    found = found / deviation[:, None] / deviation[None, :]
    if complexes.is_complex(found):
        return complexes.by_parts(elementwise.clip, found, -1, 1)
    return elementwise.clip(found, -1, 1)


@typed.keeps
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in C order, between others where these are given."""
    given = manipulation.ravel(manipulation.checked(elementwise.near(x, to_end, to_begin), "x"))
    parts = [to_begin, statistics.diff(given), to_end]
    arrays = [
        manipulation.ravel(elementwise.beside_one(p, given, given.dtype, "ediff1d: ends"))
        for p in parts
        if p is not None
    ]
    return manipulation.concat(arrays)
