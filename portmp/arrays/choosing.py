"""Elements chosen by conditions and places, and numbers taken apart, by NumPy's names."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from portmp import errors, formats
from portmp.arrays import (
    complexes,
    composed,
    creation,
    dtypes,
    elementwise,
    functions,
    indexing,
    manipulation,
    sorting,
    statistics,
    typed,
)
from portmp.arrays.viewed import AnyArray, Viewed, made
from portmp.errors import ArgumentError, FormatError, PlaceError, ShapeError
from portmp.formats import Format, constants, foreign
from portmp.routines import axes

__all__ = ["angle", "choose", "compress", "copyto", "digitize", "divmod", "exp2", "fabs", "fix"]
__all__ += ["fmax", "fmin", "frexp", "heaviside", "isneginf", "isposinf", "modf", "nan_to_num"]
__all__ += ["put", "put_along_axis", "select", "sinc", "unwrap"]

# --- by conditions --------------------------------------------------------------------------------


@typed.as_(typed.Selecting)
def select(condlist: Sequence[AnyArray], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """For each element the choice of the first condition that is true, else *default*."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ArgumentError(
            f"select: {len(condlist)} conditions and {len(choicelist)} choices given: as many of "
            "both are needed, one at least"
        )
    known = next((c for c in choicelist if isinstance(getattr(c, "dtype", None), Format)), None)
    found, *choices = (_beside(c, known) for c in (default, *reversed(choicelist)))
    for condition, choice in zip(reversed(condlist), choices, strict=True):
        found = elementwise.where(condition, choice, found)
    return found


def _beside(choice: Any, known: AnyArray | None) -> Any:
    """A number in the format that it and a known array meet in; anything else as it is."""
    if known is None or isinstance(choice, Viewed) or not elementwise.is_number(choice):
        return choice
    kind = dtypes.with_number(known.dtype, choice)
    return elementwise.beside_one(choice, known, kind, "choice")


@typed.as_(typed.ByIndex)
def choose(a: Any, choices: Sequence[Any], mode: str = "raise", out: Any = None) -> Any:
    """At each place the element of ``choices[i]``, i being the integer of *a* there; all broadcast.

    *mode*: a PlaceError for integers without a choice, ``wrap`` (modulo) or ``clip``.
    """
    if not len(choices):
        raise ArgumentError("choose: choices: none given")
    arrays = elementwise.as_arrays(list(choices), "choose: choices")
    index: AnyArray = a if isinstance(a, Viewed) else made(a, device=arrays[0].queue)
    errors.choice("choose: mode:", mode, ("raise", "wrap", "clip"))
    n = len(arrays)
    if mode == "raise" and index.size and not 0 <= int(index.min()) <= int(index.max()) < n:
        raise PlaceError(f"choose: a: from {int(index.min())} to {int(index.max())}, {n} choices")
    index = manipulation.bounded(index, n, mode)
    found = arrays[0]
    for i, choice in enumerate(arrays[1:], 1):
        found = elementwise.where(elementwise.equal(index, i), choice, found)
    shape = manipulation.broadcast_shapes(found.shape, index.shape)
    return elementwise.given_back(manipulation.broadcast_to(found, shape).copy().planes, out)


@typed.as_(typed.Compressed)
def compress(condition: Any, x: Any, axis: int | None = None, out: Any = None) -> Any:
    """The parts of x along an axis where *condition* is true; without an axis of all elements."""
    truths = elementwise.not_equal(elementwise.arrayed(condition, "compress: condition"), 0)
    kept = np.flatnonzero(np.asarray(truths))
    found = manipulation.take(manipulation.checked(x, "x"), kept, axis=axis)
    return elementwise.given_back(found.planes, out)


def copyto(dst: AnyArray, src: Any, where: Any = True) -> None:
    """Set the elements of an array, all or those where a condition is true, to others."""
    dst = elementwise.written(dst, "copyto: dst")
    if where is True:
        dst[...] = src
        return
    kept = where if isinstance(where, Viewed) else made(where, device=dst.queue)
    kept = manipulation.broadcast_to(kept, dst.shape)
    dst[...] = elementwise.where(kept, src, dst)


def put_along_axis(x: AnyArray, indices: Any, values: Any, axis: int | None) -> None:
    """Set the elements that ``take_along_axis`` takes to values, which broadcast with indices.

    Without an axis those of all elements in C order.
    """
    places = indexing.on_host(indices, "put_along_axis: indices")
    if places.dtype.kind not in "iu":
        raise ArgumentError("put_along_axis: indices: integers are needed")
    if axis is None:
        put(x, places, values)
        return
    (along,) = axes.named(axis, x.ndim, count=1)
    if places.ndim != x.ndim:
        raise ShapeError(
            f"put_along_axis: indices have {places.ndim} axes, x has {x.ndim}: as many are needed"
        )
    lines = list(np.ogrid[tuple(slice(n) for n in x.shape)])
    lines[along] = places
    x[tuple(lines)] = values


def put(a: AnyArray, ind: Any, v: Any) -> None:
    """Set elements by their places in C order."""
    a, places = elementwise.written(a, "put: a"), indexing.on_host(ind, "put: ind").ravel()
    if places.size and not (-a.size <= places.min() and places.max() < a.size):
        raise PlaceError(f"put: ind: from {places.min()} to {places.max()}, size {a.size}")
    if places.size:
        a = a if a.ndim else a.reshape(1)
        index = np.unravel_index(np.where(places < 0, places + a.size, places), a.shape)
        a[index] = _repeated(v, a, places.size)


def _repeated(values: Any, like: AnyArray, count: int) -> Any:
    """A vector of so many values of an array's dtype."""
    more = elementwise.beside_one(values, like, like.dtype, "values")
    flat = manipulation.ravel(more)
    if not flat.size:
        raise ShapeError("values: none given")
    return manipulation.tile(flat, -(-count // flat.size))[:count]


@typed.gives(typed.PlainArray)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Which bin of edges in order, rising or falling, each element lies in, from 0 (int64)."""
    given = manipulation.checked(elementwise.near(x, bins), "x")
    if isinstance(given.dtype, Format):
        formats.real_only(given.dtype, "digitize")
        edges = elementwise.beside_one(bins, given, given.dtype, "digitize: bins")
    else:
        edges = creation.asarray(bins, device=given.queue)
    if edges.ndim != 1:
        raise ShapeError(f"digitize: bins: a vector is needed, shape {edges.shape} given")
    rises = not edges.size or bool((edges[1:] >= edges[:-1]).all())
    if not rises and not bool((edges[1:] <= edges[:-1]).all()):
        raise ArgumentError("digitize: bins: edges in order are needed")
    side = "left" if right else "right"
    if rises:
        return sorting.searchsorted(edges, given, side=side)
    return edges.size - sorting.searchsorted(manipulation.flip(edges), given, side=side)


@typed.keeps
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0, posinf: Any = None, neginf: Any = None
) -> Any:
    """The array with numbers for NaN and infinities, these by default the format's largest.

    Of complex numbers in each part. Without *copy* they are written to x itself.
    """
    if not isinstance(copy, (bool, np.bool_)):
        raise ArgumentError(f"nan_to_num: copy: {copy!r:.60} given; nan={copy!r:.60} is for NaN")
    if not copy:
        elementwise.written(x, "nan_to_num: x")[...] = nan_to_num(x, True, nan, posinf, neginf)
        return x
    given = manipulation.checked(x, "x")
    if not isinstance(given.dtype, Format):
        return given.copy()
    for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if complexes.is_complex(value) or foreign.is_complex(value):
            raise FormatError(f"nan_to_num: {name}: {value!s:.60} given, a real number is needed")
    if complexes.is_complex(given):
        return complexes.by_parts(nan_to_num, given, True, nan, posinf, neginf)
    largest = Fraction(dtypes.finfo(given).max)
    high, low = (largest if posinf is None else posinf), (-largest if neginf is None else neginf)
    found = elementwise.where(elementwise.isnan(given), nan, given)
    found = elementwise.where(isposinf(given), high, found)
    return elementwise.where(isneginf(given), low, found)


# --- of numbers -----------------------------------------------------------------------------------


@typed.as_(typed.AlikeOfTwo)
@elementwise.maskable
def fmax(x1: Any, x2: Any, /) -> Any:
    """The larger; NaN only where both are."""
    return _but_nan(elementwise.maximum, *elementwise.views("fmax", [x1, x2], real=True))


@typed.as_(typed.AlikeOfTwo)
@elementwise.maskable
def fmin(x1: Any, x2: Any, /) -> Any:
    """The smaller; NaN only where both are."""
    return _but_nan(elementwise.minimum, *elementwise.views("fmin", [x1, x2], real=True))


def _but_nan(chosen: Callable[..., Any], first: AnyArray, second: AnyArray) -> Any:
    found = chosen(first, second)
    found = elementwise.where(elementwise.isnan(first), second, found)
    return elementwise.where(elementwise.isnan(second), first, found)


fabs, fix = elementwise.abs, functions.trunc


@typed.as_(typed.PlainOfOne)
@elementwise.maskable
def isposinf(x: Any, /) -> Any:
    """Whether x is +inf."""
    return elementwise.logical_and(elementwise.isinf(x), elementwise.greater(x, 0))


@typed.as_(typed.PlainOfOne)
@elementwise.maskable
def isneginf(x: Any, /) -> Any:
    """Whether x is -inf."""
    return elementwise.logical_and(elementwise.isinf(x), elementwise.less(x, 0))


@typed.as_(typed.OfTwo)
@elementwise.maskable
def heaviside(x1: Any, x2: Any, /) -> Any:
    """0 for negative x1, 1 for positive, x2 for zeros; NaN stays."""
    first, second = elementwise.views("heaviside", [x1, x2], dtypes.default, real=True)
    step = (elementwise.sign(first) + 1) / 2
    return elementwise.where(elementwise.equal(first, 0), second, step)


@typed.as_(typed.OfOne)
@elementwise.maskable
def exp2(x: Any, /) -> Any:
    """2^x."""
    return composed.power(2, composed.as_values(x))


@typed.as_(typed.FrExp)
@elementwise.maskable
def frexp(x: Any, /) -> tuple[Any, Any]:
    """m and integers e (int64) with x = m 2^e, exactly, and 1/2 <= |m| < 1.

    0, infinities and NaN are their own m, with e = 0.
    """
    given = composed.as_values(x)
    formats.real_only(given.format, "frexp")
    size = elementwise.abs(given)
    usual = elementwise.logical_and(elementwise.isfinite(given), elementwise.not_equal(size, 0))
    size = elementwise.where(usual, size, 1)
    power = functions.floor(functions.log2(size)).astype("int64") + 1
    # A rounded logarithm may be that of a neighbour of a power of two.
    part = composed.ldexp(size, -power)
    power = power + elementwise.greater_equal(part, 1) - elementwise.less(part, 0.5)
    power = elementwise.where(usual, power, 0)
    return elementwise.where(usual, composed.ldexp(given, -power), given), power


@typed.as_(typed.ModF)
@elementwise.maskable
def modf(x: Any, /) -> tuple[Any, Any]:
    """What follows the point, and the integer before it, both with the sign of x; exact."""
    given = composed.as_values(x)
    formats.real_only(given.format, "modf")
    whole = functions.trunc(given)
    rest = elementwise.where(elementwise.isinf(given), 0, given - whole)
    return elementwise.copysign(rest, given), whole


@typed.as_(typed.DivMod)
@elementwise.maskable
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """``floor_divide`` and ``remainder``."""
    return composed.floor_divide(x1, x2), composed.remainder(x1, x2)


@typed.gives(typed.Array)
def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), 1 at 0 and 0 at other integers.

    The sine is that of pi times x less the nearest integer (to its real part), which is exact.
    """
    given = composed.as_values(x)
    zero = elementwise.equal(given, 0)
    rest = functions.fmod(composed.real(given), 2)
    whole = functions.round(rest)
    rest = rest - whole
    if complexes.is_complex(given):
        rest = complexes.joined(rest, composed.imag(given))
    sine = functions.sin(rest * constants.pi)
    sine = elementwise.where(elementwise.equal(elementwise.abs(whole), 1), -sine, sine)
    return elementwise.where(zero, 1, sine / (elementwise.where(zero, 1, given) * constants.pi))


@typed.gives(typed.Array)
def angle(x: Any, deg: bool = False) -> Any:
    """The angle of complex numbers, from -pi to pi (or -180 to 180).

    Of real ones 0 for positive numbers and zeros, pi (or 180) for those with a minus.
    """
    given = composed.as_values(x)
    if complexes.is_complex(given):
        found = elementwise.of_complex("angle", "angle", given.dtype, [given], None)
        return composed.degrees(found) if deg else found
    zero = creation.zeros((), given.dtype, given.queue)
    half = elementwise.where(elementwise.signbit(given), 180 if deg else constants.pi, zero)
    return elementwise.where(elementwise.isnan(given), given, half)


@typed.gives(typed.Array)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = None) -> Any:
    """Angles along an axis without jumps: *period* (2 pi) is added where one is more than half.

    *discont*: jumps below it stay as they are.
    """
    given = composed.as_values(p)
    whole = 2 * constants.pi if period is None else period
    step = statistics.diff(given, axis=axis)
    half = elementwise.multiply(creation.ones((), given.dtype, given.queue), whole) / 2
    turned = composed.remainder(step + half, whole) - half
    both = elementwise.logical_and(elementwise.equal(turned, -half), elementwise.greater(step, 0))
    turned = elementwise.where(both, half, turned)
    limit = half if discont is None else elementwise.maximum(half, discont)
    shift = elementwise.where(elementwise.less(elementwise.abs(step), limit), 0, turned - step)
    moved = manipulation.moveaxis(given.copy(), axis, -1)
    moved[..., 1:] += statistics.cumulative_sum(manipulation.moveaxis(shift, axis, -1), axis=-1)
    return manipulation.moveaxis(moved, -1, axis)
