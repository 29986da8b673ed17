"""Small numerical methods on vectors: integrals, slopes, interpolation, convolution, medians."""

from __future__ import annotations

import math
from typing import Any

from portmp.arrays import creation, dtypes, elementwise, manipulation, sorting, statistics
from portmp.arrays.viewed import AnyArray, Viewed
from portmp.errors import ArgumentError, ShapeError
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
    first = manipulation.checked(x, "append: x")
    more = values
    if not isinstance(values, Viewed):
        more = creation.array(values, dtypes.of_view(first.planes), first.queue)
    return manipulation.concat([first, more], axis=axis)


def trapezoid(y: AnyArray, x: AnyArray | None = None, dx: Any = 1, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule along an axis: of y at x, or at distances dx.

    The sum of distance times (upper + lower), divided by 2.
    """
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


def gradient(y: AnyArray, dx: Any = 1, axis: int | None = None) -> Any:
    """Slopes at equal distances dx: central differences, at the ends differences of neighbours.

    Along an axis; of several axes a list, where none is named.
    """
    values = _values(y)
    if axis is None and values.ndim > 1:
        return [gradient(values, dx, i) for i in range(values.ndim)]
    (along,) = axes.named(0 if axis is None else axis, values.ndim)
    if values.shape[along] < 2:
        raise ShapeError(f"gradient: two elements at least are needed, shape {y.shape} given")
    made = creation.empty_like(values)

    def at(key: Any) -> tuple[Any, ...]:
        return _along(along, values.ndim, key)

    inner = values[at(slice(2, None))] - values[at(slice(None, -2))]
    made[at(slice(1, -1))] = inner / dx / 2
    made[at(slice(0, 1))] = (values[at(slice(1, 2))] - values[at(slice(0, 1))]) / dx
    made[at(slice(-1, None))] = (values[at(slice(-1, None))] - values[at(slice(-2, -1))]) / dx
    return made


def interp(x: AnyArray, xp: AnyArray, fp: AnyArray) -> Any:
    """Values at x of the broken line through points (xp, fp), xp ascending; beyond it its ends."""
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.size:
        raise ShapeError(
            f"interp: vectors of one length are needed, {xp.shape} and {fp.shape} given"
        )
    where, known, values = elementwise.views("interp", [_values(x), _values(xp), _values(fp)])
    if known.size == 1:
        return elementwise.where(elementwise.isnan(where), where, values[0])
    places = sorting.searchsorted(known, where, side="right") - 1
    places = elementwise.clip(places, 0, known.size - 2)
    left, low = known[places], values[places]
    slope = (values[places + 1] - low) / (known[places + 1] - left)
    found = low + slope * (where - left)
    found = elementwise.where(where <= known[0], values[0], found)
    return elementwise.where(where >= known[-1], values[-1], found)


def convolve(a: AnyArray, v: AnyArray, mode: str = "full") -> Any:
    """The products of two polynomials' coefficients, summed; *mode* as in NumPy."""
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ShapeError(f"convolve: vectors with elements are needed, {a.shape}, {v.shape} given")
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(
            f"convolve: mode: {mode!r} given, allowed are 'full', 'same' and 'valid'"
        )
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
