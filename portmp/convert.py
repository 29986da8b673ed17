"""Numbers <-> limbs on the host: parsing, correct rounding, renormalising and printing.

A value is the exact sum of its limbs, leading limb first. An array of values is a list of
*planes*: NumPy arrays of one shape, one per limb, whose dtypes the format gives. Everything
here is exact up to one stated rounding (to nearest, ties to even). Vectorised paths serve
float arrays; everything else goes element by element through integers.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import numbers
import operator
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from portmp import formats, storage
from portmp.codings import PRECISION, Coding
from portmp.errors import ArgumentError, BackendUnavailable, FormatError, InputError, ShapeError
from portmp.formats import Format

Array = NDArray[Any]
Exact = Fraction | int | float
"""A rational value, or a float (which also carries nan, the infinities and -0.0)."""

_DECIMAL_RANGE = 20_000
_BINARY_RANGE = 66_500
"""Exponents past these are infinite or zero in every format, so they are never expanded."""

_LONGEST_TEXT = 100_000
"""Characters of a number's text; reducing a ratio takes time quadratic in them."""

_MOST_DIGITS = 1_400
"""More than the significant digits of any sum of binary64 numbers (at most about 1,384)."""

_PLAIN_EXPONENTS = range(-4, 17)
"""Decimal exponents that are printed without an e."""

_EXACT_INTEGER = 2**53
_MOST_AXES = 64
"""NumPy's own limit; it also ends a list that contains itself."""


_DECIMAL = re.compile(
    r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]+))?", re.IGNORECASE
)
_HEX = re.compile(
    r"([+-]?)0x(?=\.?[0-9a-f])([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?[0-9]+))?", re.IGNORECASE
)
_RATIO = re.compile(r"([+-]?)([0-9]+)\s*/\s*([0-9]+)")
_SPECIAL = re.compile(r"([+-]?)(?:(nan)|inf|infinity)", re.IGNORECASE)

_ACCEPTED = (
    "decimal strings, int, float, Fraction, Decimal, float32, float64 and longdouble, "
    "mpmath's mpf, gmpy2's mpz, mpq and mpfr"
)


# --- text -> exact value


def parse_number(text: str, argument: str) -> Fraction | float:
    """Return the exact value of *text*; InputError names *argument* if it is not a number.

    Accepted are decimals (``-3e-400``), ratios of integers (``1/3``), hexadecimal floats
    (``0x1.8p3``), nan, inf and infinity in any case, each with a sign and with blanks around
    it. Zero with a minus is the float -0.0. Past 10^+-20000 the result is the float +-inf or
    +-0.0, which is what every format makes of such a value. Texts of more than 100,000
    characters are refused.
    """
    stripped = text.strip()
    if len(stripped) > _LONGEST_TEXT:
        raise InputError(
            f"{argument}: {_shown(text)} is too long; a number has at most "
            f"{_LONGEST_TEXT} characters"
        )
    if match := _DECIMAL.fullmatch(stripped):
        sign, whole, part, exponent = match.groups(default="")
        return _signed(sign, _decimal(whole, part, _clamped(exponent)))
    if match := _HEX.fullmatch(stripped):
        sign, whole, part, exponent = match.groups(default="")
        mantissa = int(whole + part, 16)
        return _signed(sign, dyadic(mantissa, _clamped(exponent) - 4 * len(part)))
    if (match := _RATIO.fullmatch(stripped)) and (denominator := _integer(match[3])):
        return _signed(match[1], Fraction(_integer(match[2]), denominator))
    if match := _SPECIAL.fullmatch(stripped):
        return math.nan if match[2] else _signed(match[1], math.inf)
    raise InputError(
        f"{argument}: {_shown(text)} is not a number; allowed are decimals (-1.5e-3), "
        "ratios p/q with q not 0, hexadecimal floats (0x1.8p3), nan and inf"
    )


def _shown(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else f"{shown[:50]}... ({len(shown)} characters)"


def _signed(sign: str, value: Fraction | float) -> Fraction | float:
    if sign != "-":
        return value
    return -value if value else -0.0


def _integer(digits: str) -> int:
    # int(str) refuses more than 4300 digits and takes quadratic time; Decimal does neither.
    return int(Decimal(digits))


def _clamped(exponent: str) -> int:
    """Return the exponent as an int, cut to +-10^9: enough to know that it is absurd."""
    if len(exponent.lstrip("+-0")) > 9:
        return -(10**9) if exponent.startswith("-") else 10**9
    return int(exponent or "0")


def _decimal(whole: str, part: str, exponent: int) -> Fraction | float:
    digits = (whole + part).lstrip("0")
    scale = exponent - len(part)
    if not digits:
        return Fraction(0)
    if abs(scale + len(digits)) > _DECIMAL_RANGE:
        return math.inf if scale + len(digits) > 0 else 0.0
    mantissa = _integer(digits)
    return Fraction(mantissa * 10**scale) if scale >= 0 else Fraction(mantissa, 10**-scale)


def dyadic(mantissa: int, exponent: int) -> Fraction | float:
    """Return mantissa * 2^exponent, or +-inf or +-0.0 if that is far outside every format."""
    if mantissa == 0:
        return Fraction(0)
    magnitude = exponent + mantissa.bit_length()
    if abs(magnitude) > _BINARY_RANGE:
        return math.copysign(math.inf if magnitude > 0 else 0.0, 1 if mantissa > 0 else -1)
    return _power_scaled(mantissa, exponent)


def _power_scaled(mantissa: int, exponent: int) -> Fraction:
    if exponent >= 0:
        return Fraction(mantissa << exponent)
    return Fraction(mantissa, 1 << -exponent)


# --- exact value -> limbs


def round_to_limbs(value: Exact, fmt: Format) -> tuple[float, ...]:
    """Return the limbs of *value*: greedily, each the rest rounded as its coding says.

    The result is weakly normalised, |x_(i+1)| <= ulp(x_i)/2. Overflow gives an infinity; an
    infinite or nan leading limb has +0 below it. A lower limb that would overflow its
    shorter dtype (d+s above 2^181) is 0. Negative rests that underflow give -0.0, as
    IEEE 754 rounding does.
    """
    return _round(value, fmt)[0]


def _round(value: Exact, fmt: Format) -> tuple[tuple[float, ...], bool]:
    """Return the limbs of *value* and whether they hold it exactly (False if not finite)."""
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return (float(value), *[0.0] * (fmt.limbs - 1)), value == 0
    return round_ratio(*value.as_integer_ratio(), fmt)


def round_ratio(numerator: int, denominator: int, fmt: Format) -> tuple[tuple[float, ...], bool]:
    """Return the limbs of numerator/denominator (not 0) and whether they hold it exactly."""
    limbs: list[float] = []
    for coding in fmt.codings:
        if coding.kind == "none":
            limbs.append(0.0)
            continue
        truncates = fmt.rounding == "toward_zero" and coding.kind != "word"
        mantissa, exponent = _rounded(abs(numerator), denominator, coding, truncates)
        overflow = mantissa.bit_length() + exponent > coding.overflow
        if overflow and truncates:
            mantissa, exponent = (1 << coding.bits) - 1, coding.overflow - coding.bits
            overflow = False
        if overflow and not limbs:
            infinity = -math.inf if numerator < 0 else math.inf
            return (infinity, *[0.0] * (fmt.limbs - 1)), False
        if overflow:
            limbs.append(0.0)
            continue
        limb = math.ldexp(mantissa, exponent)
        limbs.append(-limb if numerator < 0 else limb)
        signed = -mantissa if numerator < 0 else mantissa
        if exponent >= 0:
            numerator -= (signed << exponent) * denominator
        else:
            numerator = (numerator << -exponent) - signed * denominator
            denominator <<= -exponent
    return tuple(limbs), numerator == 0


def _rounded(numerator: int, denominator: int, coding: Coding, truncates: bool) -> tuple[int, int]:
    """Round numerator/denominator >= 0, ties to even or toward zero: (mantissa, exponent)."""
    if numerator == 0:
        return 0, 0
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1  # now 2^exponent <= value < 2^(exponent + 1)
    quantum = max(exponent - coding.bits + 1, coding.smallest)
    units = numerator << max(-quantum, 0), denominator << max(quantum, 0)
    return units[0] // units[1] if truncates else divide_rounded(*units), quantum


def divide_rounded(numerator: int, denominator: int) -> int:
    """Return numerator/denominator >= 0 rounded to the nearest integer, ties to even."""
    quotient, rest = divmod(numerator, denominator)
    excess = 2 * rest - denominator
    return quotient + (excess > 0 or (excess == 0 and quotient & 1))


# --- anything -> planes


def to_limbs(data: object, fmt: Format, argument: str = "data") -> list[Array]:
    """Return the planes of *data*, of its shape, in fresh C-contiguous memory.

    *data* is a number, an array or a nested sequence of numbers: decimal strings (see
    parse_number), int, float, Fraction, Decimal, NumPy integers and floats of 32 bits or
    more, mpmath's mpf, gmpy2's mpz, mpq and mpfr. All are rounded as round_to_limbs does
    (float64 loses bits in ds and float32), except integers, which are never rounded. It is
    the type that counts: a string, Fraction, Decimal or mpq asks for rounding even where its
    value is an integer.

    Raises FormatError for an integer that *fmt* does not hold exactly and for types that are
    not accepted (bool, complex, float16, ...), InputError for text that is not a number,
    ShapeError for ragged nesting.
    """
    if isinstance(data, np.ma.MaskedArray):
        raise FormatError(f"{argument}: masked arrays are not accepted; fill the mask first")
    if isinstance(data, np.generic) and not isinstance(data, (str, bytes)):
        data = np.asarray(data)
    if hasattr(data, "__array__") and not isinstance(data, (np.ndarray, str, bytes)):
        data = np.asarray(data)
    if isinstance(data, np.ndarray):
        return _from_array(data, fmt, argument)
    items, shape = _flatten(data, argument)
    return _from_items(items, shape, fmt, argument)


def _from_array(data: Array, fmt: Format, argument: str) -> list[Array]:
    kind, size = data.dtype.kind, data.dtype.itemsize
    if kind == "f" and size in (4, 8):
        return _from_floats(data, fmt)[0]
    if kind in "iu" and _all_small(data):
        planes, rest = _from_floats(data, fmt)
        if not np.any(rest):
            return planes
    elif not (kind in "iuUSTO" or (kind == "f" and size > 8)):
        raise FormatError(
            f"{argument}: arrays of dtype {data.dtype} are not accepted; allowed are {_ACCEPTED}"
        )
    # Integers come here to be converted exactly, or refused with the place of the first.
    items = list(data.ravel()) if kind == "f" else data.ravel().tolist()
    return _from_items(items, data.shape, fmt, argument)


def _all_small(data: Array) -> bool:
    """Return whether all integers of *data* are exact in float64."""
    return data.size == 0 or (
        int(data.min()) >= -_EXACT_INTEGER and int(data.max()) <= _EXACT_INTEGER
    )


def _from_floats(data: Array, fmt: Format) -> tuple[list[Array], Array]:
    """Split real numbers that float64 holds into planes; also return what is left over."""
    planes: list[Array] = []
    with np.errstate(all="ignore"):
        rest = np.array(data, dtype=np.float64, order="C", subok=False)
        for i, coding in enumerate(fmt.codings):
            if coding.kind in ("word", "none"):
                limb = rest.astype(fmt.dtype(i)) if coding.parts else np.zeros_like(planes[0])
            else:
                limb = storage.rounded(rest, np.zeros(rest.shape), coding, fmt.rounding)
            planes.append(limb)
            # A limb that overflowed (or was not finite) has zeros below. The difference is
            # exact: it is a multiple of rest's last bit and below half an ulp of the limb.
            rest = np.where(np.isfinite(limb), rest - limb, 0.0)
    return planes, rest


def _flatten(data: object, argument: str) -> tuple[list[object], tuple[int, ...]]:
    """Return the leaves of a nested sequence in C order, and its shape."""
    level: list[Any] = [data]
    shape: tuple[int, ...] = ()
    while level:
        nested = sum(map(_is_nested, level))
        if nested == 0:
            break
        lengths = {len(item) for item in level} if nested == len(level) else set()
        if len(lengths) != 1 or len(shape) == _MOST_AXES:
            raise ShapeError(
                f"{argument}: nesting is ragged or too deep at axis {len(shape)}; all "
                f"sequences of one level need one length"
                + (f", not {sorted(lengths)}" if len(lengths) > 1 else "")
            )
        shape += (lengths.pop(),)
        level = [leaf for item in level for leaf in item]
    return level, shape


def _is_nested(item: object) -> bool:
    if isinstance(item, np.ndarray):
        return item.ndim > 0
    return isinstance(item, Sequence) and not isinstance(item, (str, bytes, bytearray))


def _from_items(
    items: list[Any], shape: tuple[int, ...], fmt: Format, argument: str
) -> list[Array]:
    if items and all(isinstance(item, (float, np.float32)) for item in items):
        return _from_floats(np.array(items, dtype=np.float64).reshape(shape), fmt)[0]
    rows = [
        _item_limbs(item, fmt, f"{argument}{list(place)}" if place else argument)
        for place, item in zip(np.ndindex(shape), items, strict=True)
    ]
    return _to_planes(rows, shape, fmt)


def _to_planes(
    rows: Sequence[tuple[float, ...]], shape: tuple[int, ...], fmt: Format
) -> list[Array]:
    return [
        np.array([row[i] for row in rows], dtype=fmt.dtype(i)).reshape(shape)
        for i in range(fmt.limbs)
    ]


def _item_limbs(item: object, fmt: Format, argument: str) -> tuple[float, ...]:
    value = _exact(item, argument)
    limbs, exact = _round(value, fmt)
    if isinstance(value, int) and not exact:
        raise FormatError(
            f"{argument}: the integer {_shown_integer(value)} is not exact in {fmt}; convert it "
            "to a decimal string or a Fraction to have it rounded"
        )
    return limbs


def _shown_integer(value: int) -> str:
    # Long integers cannot be printed in decimal (int's digit limit) and need not be.
    return str(value) if value.bit_length() <= 256 else f"of {value.bit_length()} bits"


def _exact(item: Any, argument: str) -> Exact:
    """Return the exact value of one number of any accepted type (integers as int)."""
    if isinstance(item, np.ndarray) and item.ndim == 0:
        item = item[()]
    if isinstance(item, str):
        return parse_number(item, argument)
    if isinstance(item, bytes):
        return parse_number(item.decode("ascii", errors="backslashreplace"), argument)
    if isinstance(item, (float, np.float32)):
        return float(item)
    if isinstance(item, numbers.Integral) and not isinstance(item, bool):
        return int(item)
    if isinstance(item, numbers.Rational) and not isinstance(item, bool):
        return Fraction(int(item.numerator), int(item.denominator))
    if isinstance(item, Decimal):
        return math.nan if item.is_nan() else parse_number(str(item), argument)
    if isinstance(item, np.longdouble):
        return _from_longdouble(item)
    if hasattr(item, "_mpf_"):  # mpmath's mpf and constants; no import needed
        sign, mantissa, exponent, _ = item._mpf_
        return _binary(item, -int(mantissa) if sign else int(mantissa), int(exponent))
    if hasattr(item, "as_mantissa_exp"):  # gmpy2's mpfr
        special = item == 0 or not item.is_finite()
        mantissa, exponent = (0, 0) if special else item.as_mantissa_exp()
        return _binary(item, int(mantissa), int(exponent))
    raise FormatError(f"{argument}: {type(item).__name__} is not accepted; allowed are {_ACCEPTED}")


def _from_longdouble(item: Any) -> Exact:
    if item == 0 or not np.isfinite(item):
        return float(item)
    numerator, denominator = item.as_integer_ratio()
    return Fraction(int(numerator), int(denominator))


def _binary(item: Any, mantissa: int, exponent: int) -> Exact:
    # Mantissa 0 stands for zero, nan and the infinities, which float() keeps apart.
    return dyadic(mantissa, exponent) if mantissa else float(item)


# --- limbs -> exact value


def to_fraction(limbs_of_one: Sequence[float]) -> Fraction:
    """Return the exact sum of the limbs of one value; FormatError if one is not finite."""
    limbs = [float(limb) for limb in limbs_of_one]
    if not all(map(math.isfinite, limbs)):
        raise FormatError(f"limbs {limbs} have no exact value: nan or infinity")
    return Fraction(*exact_sum(limbs))


def exact_sum(limbs: Sequence[float]) -> tuple[int, int]:
    """Return the sum of finite limbs as (numerator, a power of two), not reduced."""
    ratios = [limb.as_integer_ratio() for limb in limbs]
    common = max(denominator for _, denominator in ratios)
    return sum(n * (common // denominator) for n, denominator in ratios), common


def to_fractions(planes: Sequence[Array]) -> Array:
    """Return the exact values as an object array of Fraction, of the planes' shape."""
    planes = checked_planes(planes)
    return object_array([to_fraction(row) for row in element_rows(planes)], planes[0].shape)


def checked_planes(planes: Sequence[Array]) -> list[Array]:
    """Return the planes as arrays; refuse dtypes and shapes that no format has."""
    arrays = [np.asarray(plane) for plane in planes]
    if not arrays:
        raise ShapeError("no planes given; a value has at least one limb")
    for i, plane in enumerate(arrays):
        if plane.dtype.name not in PRECISION:
            raise FormatError(f"plane {i} has dtype {plane.dtype}; allowed: float32, float64")
        if plane.shape != arrays[0].shape:
            raise ShapeError(f"plane {i} has shape {plane.shape}, plane 0 {arrays[0].shape}")
    return arrays


def element_rows(planes: Sequence[Array]) -> Iterator[tuple[float, ...]]:
    """Iterate over the values in C order: the limbs of each as Python floats."""
    return zip(*(plane.ravel().tolist() for plane in planes), strict=True)


def object_array(items: Sequence[object], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


# --- limbs -> float64


def to_float64(planes: Sequence[Array]) -> NDArray[np.float64]:
    """Return the values rounded once to float64, ties to even, in the planes' shape.

    Right for limbs in any order and with any overlap. An infinite or nan leading limb is
    the result; below a finite leading limb, they give the floating-point sum. Zeros keep
    the leading limb's sign.
    """
    checked = checked_planes(planes)
    words = [plane.astype(np.float64).ravel() for plane in checked]
    with np.errstate(all="ignore"):
        total = _rounded_sum(words)
    alone = np.logical_and.reduce([np.full(total.shape, True), *(word == 0 for word in words[1:])])
    result: Array = np.where(alone | ~np.isfinite(words[0]), words[0], total)
    return result.reshape(checked[0].shape)


def _rounded_sum(words: list[Array]) -> Array:
    """Return the correctly rounded sums of flat float64 words."""
    naive: Array = functools.reduce(operator.add, words)
    if len(words) <= 2:
        return naive  # one addition of exact operands rounds once
    finite = np.logical_and.reduce([np.isfinite(word) for word in words])
    float64 = formats.get("float64")
    swept = _sweep_up(_sweep_up(words))
    total = np.where(finite, swept[0], naive)
    for i in np.flatnonzero(finite & ~_is_rounded(swept)):
        limbs, _ = _round(to_fraction([word[i] for word in words]), float64)
        total[i] = limbs[0]
    return total


def _is_rounded(words: list[Array]) -> Array:
    """Return where words[0] certainly is the rounded sum of the words.

    It is if nothing is left below the second word (words[0], words[1] come from a two_sum),
    or if the rest is clearly below half the distance to the nearer neighbour. Near-ties and
    overflow in the sweeps (which leaves nan) are left to exact arithmetic.
    """
    leading = np.abs(words[0])
    below = functools.reduce(operator.add, [np.abs(word) for word in words[2:]])
    gap = leading - np.nextafter(leading, 0.0)
    margin = 0.5 * (1 - 2.0**-40)
    clear = np.abs(words[1]) + below < margin * gap
    return np.asarray(np.isfinite(leading) & np.isfinite(words[1]) & ((below == 0) | clear))


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _sweep_up(words: list[Array]) -> list[Array]:
    """Carry sums from the last word to the first; the exact total is unchanged."""
    swept = list(words)
    for i in reversed(range(len(swept) - 1)):
        swept[i], swept[i + 1] = _two_sum(swept[i], swept[i + 1])
    return swept


def _sweep_down(words: list[Array]) -> list[Array]:
    swept = list(words)
    for i in range(len(swept) - 1):
        swept[i], swept[i + 1] = _two_sum(swept[i], swept[i + 1])
    return swept


# --- canonical planes


def normalise(planes: Sequence[Array], fmt: Format, argument: str = "planes") -> list[Array]:
    """Return planes of the same values with |x_(i+1)| <= ulp(x_i)/2, in fresh memory.

    Limbs may come in any order and overlap. Values that are normalised already keep their
    bits; an infinite or nan leading limb gets +0 below it. Raises FormatError for dtypes
    that are not *fmt*'s, for a lower limb that is not finite below a finite one, and for a
    sum that *fmt* does not hold exactly.
    """
    arrays = checked_planes(planes)
    given = tuple(plane.dtype.name for plane in arrays)
    if given != fmt.planes:
        raise FormatError(
            f"{argument}: dtypes ({', '.join(given)}) do not fit {fmt}, "
            f"which has ({', '.join(fmt.planes)})"
        )
    shape = arrays[0].shape
    flat = [np.array(p, dtype=fmt.dtype(i)).ravel() for i, p in enumerate(arrays)]
    special = ~np.isfinite(flat[0])
    for lower in flat[1:]:
        lower[special] = 0.0
        for i in np.flatnonzero(~np.isfinite(lower)).tolist():
            raise _refusal(f"{argument}: a lower limb is not finite", flat, i, shape)
    with np.errstate(all="ignore"):
        _mend(flat, np.flatnonzero(~(_is_normalised(flat, fmt) | special)), fmt)
        mended = _is_normalised(flat, fmt) | special
    for i in np.flatnonzero(~mended).tolist():
        limbs, exact = _round(to_fraction([plane[i] for plane in flat]), fmt)
        if not exact:
            raise _refusal(f"{argument}: {fmt} does not hold the exact sum", flat, i, shape)
        for plane, limb in zip(flat, limbs, strict=True):
            plane[i] = limb
    held = storage.stored(fmt, flat)
    kept = np.logical_and.reduce([(a == b) | np.isnan(b) for a, b in zip(held, flat, strict=True)])
    for i in np.flatnonzero(~kept).tolist():
        raise _refusal(f"{argument}: {fmt} does not hold the exact sum", flat, i, shape)
    return [plane.reshape(shape) for plane in flat]


def _refusal(message: str, flat: list[Array], i: int, shape: tuple[int, ...]) -> FormatError:
    """Return the error that names the limbs and the place of value *i*."""
    limbs = [float(plane[i]) for plane in flat]
    place = f" at {[int(k) for k in np.unravel_index(i, shape)]}" if shape else ""
    return FormatError(f"{message}: limbs {limbs}{place}")


def _is_normalised(flat: list[Array], fmt: Format) -> Array:
    """Return where all limbs are finite and obey |x_(i+1)| <= ulp(x_i)/2."""
    result = np.isfinite(flat[0])
    for upper, lower in itertools.pairwise(flat):
        # Doubling instead of halving: half of the smallest ulp would underflow to 0.
        twice = 2 * np.abs(lower.astype(fmt.word))
        # np.spacing of the largest number is infinite; its neighbour has the same ulp.
        largest = np.nextafter(np.finfo(upper.dtype).max, upper.dtype.type(0))
        ulp = np.spacing(np.minimum(np.abs(upper), largest))
        result &= np.isfinite(lower) & (twice <= ulp)
    return np.asarray(result)


def _mend(flat: list[Array], places: Array, fmt: Format) -> None:
    """Renormalise the values at *places* with two_sum sweeps, where those keep the value."""
    if not places.size:
        return
    words = [plane[places].astype(fmt.word) for plane in flat]
    for _ in range(fmt.limbs - 1):
        words = _sweep_up(words)
    words = _sweep_down(words)
    stored = [word.astype(fmt.dtype(i)) for i, word in enumerate(words)]
    exact = np.logical_and.reduce([s == w for s, w in zip(stored, words, strict=True)])
    exact &= np.logical_and.reduce([np.isfinite(s) for s in stored])
    for plane, limb in zip(flat, stored, strict=True):
        plane[places[exact]] = limb[exact]


def canonical_nan_bits(plane: Array) -> NDArray[np.uint32] | NDArray[np.uint64]:
    """Return the bits of a float32 or float64 plane, each nan as the one positive quiet nan.

    The shape stays; the dtype is uint32 (0x7fc00000) or uint64 (0x7ff8000000000000).
    """
    (checked,) = checked_planes([plane])
    values = np.array(checked, dtype=checked.dtype.newbyteorder("="), order="C", subok=False)
    if values.dtype == np.float32:
        single = values.view(np.uint32)
        single[np.isnan(values)] = 0x7FC00000
        return single
    double = values.view(np.uint64)
    double[np.isnan(values)] = 0x7FF8000000000000
    return double


def change_format(planes: Sequence[Array], source: Format, target: Format) -> list[Array]:
    """Limb planes of *source* in *target*, each value rounded once from its exact value."""
    if source is target:
        return list(planes)
    if target.codings[: source.limbs] == source.codings:
        more = range(source.limbs, target.limbs)
        return [*planes, *(np.zeros(planes[0].shape, target.dtype(i)) for i in more)]
    if source.limbs == 1:
        return to_limbs(planes[0], target)
    flat = [plane.ravel() for plane in planes]
    if target.coded and target.limbs == 1:
        total, rest = _leading(flat)
        (coding,) = target.codings
        rounded = storage.rounded(total, rest, coding, target.rounding)
        return [rounded.reshape(planes[0].shape)]
    found, settled = _widened(flat, target)
    left = np.flatnonzero(~settled)
    items = np.empty(left.size, object)
    rows = zip(*(plane[left].tolist() for plane in flat), strict=True)
    for i, row in enumerate(rows):
        # A leading limb that is zero or not finite is the whole value, sign included.
        items[i] = to_fraction(row) if row[0] and math.isfinite(row[0]) else row[0]
    for plane, limb in zip(found, to_limbs(items, target), strict=True):
        plane[left] = limb
    return [plane.reshape(planes[0].shape) for plane in found]


def _leading(flat: list[Array]) -> tuple[Array, Array]:
    """Exact sums of limbs: rounded to float64, and numbers with the signs of what is left."""
    words = [plane.astype(np.float64) for plane in flat]
    with np.errstate(all="ignore"):
        for _ in range(len(words)):
            words = _sweep_up(words)
        rest = functools.reduce(lambda lower, word: np.where(word != 0, word, lower), words[:0:-1])
    special = ~np.isfinite(flat[0]) | (flat[0] == 0)
    return np.where(special, flat[0], words[0]), np.where(special, 0.0, rest)


def _widened(flat: list[Array], target: Format) -> tuple[list[Array], Array]:
    """Limbs as *target* has them where two_sum sweeps settle them, and where they do.

    They do in targets of float64 words of no fewer limbs, but for zeros, ties and values that
    are not finite.
    """
    words = [np.zeros(flat[0].shape, target.dtype(i)) for i in range(target.limbs)]
    if set(target.planes) != {"float64"} or target.limbs < len(flat):
        return words, np.zeros(flat[0].shape, bool)
    words[: len(flat)] = [plane.astype(np.float64) for plane in flat]
    with np.errstate(all="ignore"):
        for _ in range(target.limbs - 1):
            words = _sweep_up(words)
        words = _sweep_down(words)
        settled = np.isfinite(words[0]) & (words[0] != 0)
        for upper, lower in itertools.pairwise(words):
            size = np.abs(upper)
            nearer = size - np.nextafter(size, 0)  # below a power of two numbers are closer
            settled &= (lower == 0) | (2 * np.abs(lower) < nearer)
    return words, settled


# --- limbs -> text


Digits = int | Literal["round-trip", "short"] | None


def to_string(limbs_of_one: Sequence[float], fmt: Format, digits: Digits = None) -> str:
    """Return one value in decimal, correctly rounded (ties to even) to *digits* digits.

    Without *digits*, fmt.digits: enough for values with contiguous limbs. "round-trip"
    gives a short text that parse_number and round_to_limbs turn back into exactly this
    value, with as many digits as gaps between limbs need (a value that *fmt* itself cannot
    hold is written out in full); "short" is the same with at most fmt.digits digits.
    Trailing zeros are dropped; exponents outside -4 ... 16 are written d.ddde+XX.
    """
    if digits not in (None, "round-trip", "short") and not _is_count(digits):
        raise ArgumentError(
            f'digits={digits!r}: allowed are integers from 1, "round-trip" and "short"'
        )
    limbs = [float(limb) for limb in limbs_of_one]
    if not all(map(math.isfinite, limbs)):
        return repr(sum(limbs) if math.isfinite(limbs[0]) else limbs[0])
    numerator, denominator = exact_sum(limbs)
    if numerator == 0:
        return repr(limbs[0] if limbs[0] == 0 else 0.0)
    if digits == "round-trip":
        return _round_trip(numerator, denominator, fmt, _MOST_DIGITS)
    if digits == "short":
        return _round_trip(numerator, denominator, fmt, fmt.digits)
    wanted = fmt.digits if digits is None else int(digits)
    exponent = _decimal_exponent(abs(numerator), denominator)
    return _decimal_text(numerator, denominator, wanted, exponent)


def _is_count(digits: Any) -> bool:
    whole = isinstance(digits, (int, np.integer)) and not isinstance(digits, bool)
    return whole and bool(digits >= 1)


def to_strings(planes: Sequence[Array], fmt: Format, digits: Digits = None) -> Array:
    """Return the values as to_string gives them: an object array of the planes' shape."""
    planes = checked_planes(planes)
    return object_array(
        [to_string(row, fmt, digits) for row in element_rows(planes)], planes[0].shape
    )


def _round_trip(numerator: int, denominator: int, fmt: Format, most: int) -> str:
    """Return the text with the fewest digits that a bisection finds to give the value back.

    Where *most* digits do not, the text with *most* digits.
    """
    size = abs(numerator)
    exponent = _decimal_exponent(size, denominator)
    radius = _radius(size, denominator, fmt)

    def gives_back(digits: int) -> bool:
        power = digits - 1 - exponent
        tens: int = 10 ** max(power, 0)
        unit: int = denominator * 10 ** max(-power, 0)
        rest = size * tens % unit
        if radius is not None:
            distance = min(rest, unit - rest) << max(-radius, 0)
            reach = (denominator * tens) << max(radius, 0)
            if not reach <= distance <= 2 * reach:
                return distance < reach
        limbs, _ = round_ratio(*_scaled(divide_rounded(size * tens, unit), 1, -power), fmt)
        if not math.isfinite(limbs[0]):
            return False
        total, common = exact_sum(limbs)
        return total * denominator == size * common

    enough = fmt.digits
    while enough < most and not gives_back(enough):
        enough = min(2 * enough, most)
    too_few = 0
    while enough < most and enough - too_few > 1:
        middle = (enough + too_few) // 2
        if gives_back(middle):
            enough = middle
        else:
            too_few = middle
    return _decimal_text(numerator, denominator, enough, exponent)


def _radius(numerator: int, denominator: int, fmt: Format) -> int | None:
    """Return e such that what is nearer than 2^e is rounded to this value, past 2^(e+1) not.

    That is a quarter and half of the last limb's ulp (below a power of two ulps are half as
    long). None where only rounding can tell: *fmt* does not hold the value, or the last limb
    has a shorter range than the others and may have underflowed or overflowed to 0.
    """
    limbs, exact = round_ratio(numerator, denominator, fmt)
    last, coding = limbs[-1], fmt.codings[-1]
    if not exact or (last == 0 and coding != fmt.codings[0]) or fmt.rounding == "toward_zero":
        return None
    ulp = math.frexp(last)[1] - coding.bits if last else coding.smallest
    return max(ulp, coding.smallest) - 2


def _decimal_text(numerator: int, denominator: int, digits: int, exponent: int) -> str:
    """Return the value, which lies in the decade of 10^exponent, to so many digits."""
    digits = min(digits, _MOST_DIGITS)  # past that, only zeros follow
    mantissa = divide_rounded(*_scaled(abs(numerator), denominator, digits - 1 - exponent))
    text = str(mantissa)
    exponent += len(text) - digits  # 9.99 may have become 10.0
    return ("-" if numerator < 0 else "") + _layout(text.rstrip("0"), exponent)


def _scaled(numerator: int, denominator: int, power: int) -> tuple[int, int]:
    """Return numerator/denominator * 10^power as a ratio."""
    return numerator * 10 ** max(power, 0), denominator * 10 ** max(-power, 0)


def _decimal_exponent(numerator: int, denominator: int) -> int:
    """Return e with 10^e <= numerator/denominator < 10^(e+1)."""
    bits = numerator.bit_length() - denominator.bit_length()
    exponent = math.floor(bits * math.log10(2)) + 1  # never too small, too large by at most 2
    while operator.lt(*_scaled(numerator, denominator, -exponent)):
        exponent -= 1
    return exponent


def _layout(digits: str, exponent: int) -> str:
    """Place the point in d.ddd * 10^exponent, as Python's repr of floats does."""
    if exponent not in _PLAIN_EXPONENTS:
        point = "." if len(digits) > 1 else ""
        return f"{digits[0]}{point}{digits[1:]}e{exponent:+03d}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{whole}.{digits[exponent + 1 :] or '0'}"


# --- limbs -> mpmath


def to_mpmath(limbs_of_one: Sequence[float]) -> Any:
    """Return the exact sum of the limbs of one value as an mpmath mpf (which has no -0).

    mpmath's working precision is neither used nor changed. Raises BackendUnavailable
    without mpmath.
    """
    try:
        mpmath = importlib.import_module("mpmath")
    except ImportError as error:
        raise BackendUnavailable(
            "mpmath is not installed; `pip install mpmath` installs it"
        ) from error
    limbs = [float(limb) for limb in limbs_of_one]
    if not all(map(math.isfinite, limbs)):
        return mpmath.mpf(sum(limbs) if math.isfinite(limbs[0]) else limbs[0])
    numerator, denominator = exact_sum(limbs)
    exact = mpmath.mpf(numerator, prec=max(53, numerator.bit_length()))
    return mpmath.ldexp(exact, 1 - denominator.bit_length())
