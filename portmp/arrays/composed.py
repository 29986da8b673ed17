"""Elementwise functions that are made of others: powers, quotients rounded down, powers of two."""

# mypy: disable-error-code="type-abstract"
import math
from fractions import Fraction
from typing import Any

import numpy as np

from portmp import formats
from portmp.arrays import complexes, creation, dtypes, elementwise, functions, manipulation, typed
from portmp.arrays.dtypes import BOOL
from portmp.arrays.viewed import AnyArray, Viewed, everywhere, wrapped
from portmp.backends.base import is_recording
from portmp.errors import FormatError
from portmp.formats import Format, constants
from portmp.routines.plain import launch as plain
from portmp.runtime.planes import Numbers, Planes

__all__ = ["conj", "deg2rad", "degrees", "floor_divide", "imag", "ldexp", "logaddexp", "nextafter"]
__all__ += ["power", "rad2deg", "radians", "real", "remainder"]


@typed.as_(typed.OfTwo)
@elementwise.maskable
def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(e^x1 + e^x2): the larger one, plus log1p(exp(the smaller one less it)).

    Of equal ones x1 + ln2.
    """
    first, second = elementwise.views("logaddexp", [x1, x2], real=True)
    larger, smaller = elementwise.maximum(first, second), elementwise.minimum(first, second)
    total = larger + functions.log1p(functions.exp(smaller - larger))
    same = elementwise.equal(first, second)
    return elementwise.where(same, first + constants.ln2, total)


@typed.as_(typed.OfTwo)
@elementwise.maskable
def nextafter(x1: Any, x2: Any, /) -> Any:
    """The number after x1 on the way to x2, of formats with one limb.

    FormatError for others: between two of their values lie more, with smaller lower limbs.
    """
    first, second = manipulation.broadcast_arrays(*elementwise.views("nextafter", [x1, x2]))
    view = first.planes
    if not isinstance(view, Planes) or view.format.limbs > 1 or view.format.coded:
        raise FormatError(f"nextafter: {dtypes.of_view(view)} has no next number")
    moved = first.copy()
    bits = wrapped(_bits(moved.planes))
    # Bits of positive numbers are in their order, those of negative ones in the reverse order.
    away = (first < second) == (first > 0)
    bits[...] = bits + (away.astype(bits.dtype) * 2 - 1)
    tiny = elementwise.copysign(2.0 ** view.format.encodings[0].smallest, second)
    found = elementwise.where(elementwise.equal(first, 0), tiny, moved)
    found = elementwise.where(elementwise.equal(first, second), second, found)
    unknown = elementwise.isnan(first) | elementwise.isnan(second)
    return elementwise.where(unknown, first + second, found)


def _bits(view: Planes) -> Numbers:
    """The same memory as integers."""
    dtype = {"float32": "int32", "float64": "int64"}[view.format.word]
    return Numbers(dtype, view.shape, view.strides, view.start, view.buffers, view.queue)


def as_values(x: Any) -> AnyArray:
    """Integers as values of the default format."""
    given: AnyArray = manipulation.checked(x, "x")
    return given if isinstance(given.dtype, Format) else given.astype(dtypes.default())


def powers_of_two(exponents: Any, word: Format) -> Any:
    """2 to the power of integers for which it is a normal number of a word."""
    found = creation.empty(exponents.shape, word, exponents.queue)
    bits = wrapped(_bits(found.planes))
    bits[...] = (exponents + word.encodings[0].bias).astype(bits.dtype) * 2 ** (word.bits - 1)
    return found


@typed.as_(typed.OfTwo)
@elementwise.maskable
def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 2^x2 for integers x2: exact, where no limb underflows."""
    given, power = as_values(x1), manipulation.checked(x2, "ldexp: x2")
    formats.real_only(given.format, "ldexp")
    if isinstance(power.dtype, Format):
        raise FormatError("ldexp: x2: values given, integers are needed")
    form = given.format
    found = given.astype(form.arithmetic, copy=False)
    word = formats.get(found.format.word)
    span = _SPANS[word.name]
    # In three steps, each by a power of two that the word has, where the whole one may be none.
    left = elementwise.clip(power.astype("int64"), -3 * span, 3 * span)
    for _ in range(3):
        part = elementwise.clip(left, -span, span)
        found = found * powers_of_two(part, word).astype(found.format)
        left = left - part
    return found.astype(form, copy=False)


def times_powers(x: Any, power: Any) -> Any:
    """``ldexp``, of complex numbers by parts."""
    return complexes.by_parts(ldexp, x, power) if complexes.is_complex(x) else ldexp(x, power)


_SPANS = {"float32": 120, "float64": 1000}
"""Powers of two that are normal numbers of a word."""


def usual(x: Any, least: bool = False, form: Format | None = None) -> Any:
    """Which numbers are finite, and with *least* not so small that products may have lost limbs."""
    form = (form or x.dtype).arithmetic
    tiny = float(np.finfo(form.word).tiny) / form.unit_roundoff if least else 0
    return (abs(x) >= tiny) & (abs(x) < math.inf)


def in_range(x: AnyArray, least: bool = False) -> bool:
    """Whether all are, which is read from the device; taken for granted of recorded work."""
    if is_recording():
        return True
    leading = x.to_limbs()[0].astype(np.float64) if x.size <= creation.FEW_BYTES // 8 else x
    return bool(usual(leading, least, x.dtype).all())


@everywhere
def exponents(x: AnyArray) -> Any:
    """The least powers of two above magnitudes (int64), 0 where there is none; read by the host."""
    lead = x.to_limbs()[0].astype(np.float64)
    found = np.frexp(np.where(np.isfinite(lead), lead, 0))[1]
    return creation.asarray(found.astype(np.int64), device=x.queue)


def between(a: Any, b: Any, share: Any, rest: Any = None) -> Any:
    """a + (b - a) share; in parts, a (1 - share) + b share, where the difference is not finite.

    Of equal numbers, and at 0, it is a, at 1 b. *rest*: 1 - share, where it is known exactly.
    """
    difference = b - a
    parts = a * (1 - share if rest is None else rest) + b * share
    found = elementwise.where(elementwise.isfinite(difference), a + difference * share, parts)
    if isinstance(share, Viewed):
        found = elementwise.where(elementwise.equal(share, 1), b, found)
        found = elementwise.where(elementwise.equal(share, 0), a, found)
    return elementwise.where(elementwise.equal(a, b), a, found)


@typed.as_(typed.OfOne)
@elementwise.maskable
def radians(x: AnyArray, /) -> Any:
    """Degrees as radians: x times pi / 180, which is rounded once."""
    if complexes.is_complex(x):
        formats.real_only(x.format, "radians")
    return elementwise.multiply(x, Fraction(constants.pi) / 180)


@typed.as_(typed.OfOne)
@elementwise.maskable
def degrees(x: AnyArray, /) -> Any:
    """Radians as degrees: x times 180 / pi, which is rounded once."""
    if complexes.is_complex(x):
        formats.real_only(x.format, "degrees")
    return elementwise.multiply(x, 180 / Fraction(constants.pi))


deg2rad, rad2deg = radians, degrees


@typed.as_(typed.AlikeOfOne)
@elementwise.maskable
def conj(x: AnyArray, /) -> Any:
    """Complex numbers with the other sign of imaginary parts; of real ones the array itself."""
    given = manipulation.checked(x, "x")
    if complexes.is_complex(given):
        return elementwise.of_complex("conj", "conj", given.dtype, [given], None)
    return given


@typed.keeps
def real(x: AnyArray, /) -> Any:
    """The real parts, a view of the same memory; of real numbers the array itself."""
    given = manipulation.checked(x, "x")
    return complexes.halves(given)[0] if complexes.is_complex(given) else given


@typed.keeps
def imag(x: AnyArray, /) -> Any:
    """The imaginary parts, a view of the same memory; of real numbers zeros."""
    given = manipulation.checked(x, "x")
    return complexes.halves(given)[1] if complexes.is_complex(given) else creation.zeros_like(given)


# --- powers, and quotients and remainders that are rounded down -----------------------------------


def _of_integers(name: str, x1: Any, x2: Any) -> Any:
    """An operation on plain numbers; None where operands are values."""
    kind = elementwise.common_dtype(name, [x1, x2])
    if isinstance(kind, Format):
        return None
    if kind == BOOL:
        raise FormatError(f"{name}: truth values given, numbers are needed")
    given: list[Any] = [
        elementwise.as_dtype(x.planes, kind)
        if isinstance(x, Viewed)
        else elementwise.number(x, kind)
        for x in (x1, x2)
    ]
    return wrapped(plain.apply(name, given, kind.name))


def _remainders(name: str, x1: Any, x2: Any) -> tuple[Any, Any, Any]:
    """What fmod leaves, whether it has not the sign of x2, and x2 as an array."""
    first, second = elementwise.views(name, [x1, x2], real=True)
    rest = functions.fmod(first, second)
    other = elementwise.not_equal(rest < 0, second < 0)
    return rest, elementwise.logical_and(other, elementwise.not_equal(rest, 0)), second


@typed.as_(typed.AlikeOfTwo)
@elementwise.maskable
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The quotient rounded down; of integers 0 where x2 is 0, of values the quotient there.

    Of values it is round((x1 - fmod(x1, x2)) / x2), less 1 where the rest has not the sign of x2.
    """
    x1, x2 = elementwise.beside([x1, x2])
    found = _of_integers("floor_divide", x1, x2)
    if found is None:
        rest, other, second = _remainders("floor_divide", x1, x2)
        whole = functions.round((x1 - rest) / second)
        found, quotient = elementwise.where(other, whole - 1, whole), x1 / second
        zero = elementwise.equal(found, 0)
        found = elementwise.where(zero, elementwise.copysign(0, quotient), found)
        found = elementwise.where(elementwise.equal(second, 0), quotient, found)
    return found


@typed.as_(typed.AlikeOfTwo)
@elementwise.maskable
def remainder(x1: Any, x2: Any, /) -> Any:
    """What the quotient rounded down leaves, with the sign of x2; of integers 0 where x2 is 0.

    Of values it is fmod(x1, x2), plus x2 where that has not its sign.
    """
    x1, x2 = elementwise.beside([x1, x2])
    found = _of_integers("remainder", x1, x2)
    if found is None:
        rest, other, second = _remainders("remainder", x1, x2)
        found = elementwise.where(other, rest + second, elementwise.copysign(rest, second))
    return found


@typed.as_(typed.AlikeOfTwo)
@elementwise.maskable
def power(x1: Any, x2: Any, /) -> Any:
    """x1 to the power x2: ``pow``, but for some exponents that are Python's numbers.

    A whole number from -4 to 4 takes products: from its second bit on, the power so far is squared
    and, where the bit is 1, multiplied by x1; of a negative one the reciprocal. 0.5 takes the
    square root. Formats that have no ``pow`` take all whole numbers so, and no others. Of integers
    a negative number is refused, as NumPy does; negative ones in arrays leave whole parts.
    """
    x1, x2 = elementwise.beside([x1, x2])
    negative = isinstance(x2, (int, np.integer)) and x2 < 0
    if negative and isinstance(x1, Viewed) and not isinstance(x1.dtype, Format):
        raise FormatError(
            f"pow: {x1.dtype} to the power {x2} given, whose results are no integers: "
            f"astype({dtypes.default().name!r}) makes values of them"
        )
    found = _of_integers("pow", x1, x2)
    if found is None:
        found = _power_of_values(x1, x2)
    return found


_NUMBERS = (int, float, np.integer, np.floating, Fraction)
_BY_PRODUCTS = 4


def _power_of_values(x1: Any, x2: Any) -> Any:
    finite = isinstance(x2, int) or (isinstance(x2, _NUMBERS) and math.isfinite(x2))
    if isinstance(x1, Viewed) and finite:
        known = not (isinstance(x1.dtype, Format) and x1.dtype.paper)
        whole = int(x2)
        if x2 == whole and (abs(whole) <= _BY_PRODUCTS or not known):
            return whole_power(x1, whole)
        if x2 == Fraction(1, 2):
            return elementwise.sqrt(x1)
    return functions.pow(x1, x2)


def whole_power(x: AnyArray, n: int) -> Any:
    """x to a whole power, by products."""
    if n < 0:
        return elementwise.reciprocal(whole_power(x, -n))
    if n == 0:
        return creation.ones_like(x)
    found = x
    for bit in bin(n)[3:]:
        found = elementwise.square(found)
        if bit == "1":
            found = elementwise.multiply(found, x)
    return elementwise.positive(found) if found is x else found
