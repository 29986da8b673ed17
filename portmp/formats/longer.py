"""Values as numbers of NumPy's other float dtypes, and of other libraries': rounded once.

longdouble, numpy-quaddtype's and ml_dtypes' numbers, float32 and float16: whatever adds, compares
and takes float64 numbers. Values are rounded to nearest, ties to even.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmp.errors import ArgumentError
from portmp.formats import convert, foreign

_WORD = 53
_MOST = 400
"""Bits beyond which no dtype is looked for."""


def to_dtype(planes: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """The values of limb planes in a float dtype, each rounded once; beyond its range infinity."""
    wanted = _float_dtype(dtype)
    with np.errstate(all="ignore"):
        return _rounded(planes, wanted)


def _rounded(planes: Sequence[NDArray[Any]], wanted: np.dtype[Any]) -> NDArray[Any]:
    bits = _precision(wanted)
    if bits == _WORD:
        return convert.to_float64(planes).astype(wanted)
    shape = planes[0].shape
    if bits < _WORD:
        words = [_to_odd(row) for row in convert.element_rows(planes)]
        near: NDArray[Any] = np.array(words, np.float64).reshape(shape)
        return (_odd_float32(near) if bits <= 22 else near).astype(wanted)
    count = -(-bits // _WORD)
    rows = [_words(row, bits, count) for row in convert.element_rows(planes)]
    table = np.array(rows, np.float64).reshape((*shape, count))
    found: NDArray[Any] = table[..., 0].astype(wanted)
    for i in range(1, count):  # no sum is rounded: it has the bits of the result, at most
        rest = table[..., i]
        found = np.where(rest != 0, found + rest.astype(wanted), found)
    return found


def _float_dtype(dtype: Any) -> np.dtype[Any]:
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        wanted = np.dtype(object)
    if wanted.kind != "f" and not foreign.is_longer(wanted):
        raise ArgumentError(
            f"to_numpy: dtype: {dtype!r:.60} given, one of floats is needed, such as "
            "numpy.longdouble; integers: a.astype('int64').to_numpy()"
        )
    return wanted


def _precision(dtype: np.dtype[Any]) -> int:
    """How many bits a dtype's numbers have."""
    one = np.ones((), np.float64).astype(dtype)
    for bits in range(1, _MOST):
        if one + np.array(2.0**-bits).astype(dtype) == one:
            return bits
    raise ArgumentError(f"to_numpy: dtype: {dtype} given, its numbers have no fixed length")


def _special(limbs: Sequence[float]) -> bool:
    """Zeros, whose sign is the leading limb's, infinities and NaN."""
    return not any(limbs) or not all(map(math.isfinite, limbs))


def _to_odd(limbs: Sequence[float]) -> float:
    """A float64 number: the value itself, else that neighbour whose last bit is 1.

    Rounding it to nearest, to two bits less or fewer, is rounding the value.
    """
    if _special(limbs):
        return float(limbs[0])
    numerator, denominator = convert.exact_sum(limbs)
    shift = max(abs(numerator).bit_length() - _WORD, 0)
    whole, rest = divmod(abs(numerator), 1 << shift)
    return _scaled(numerator < 0, whole | (rest != 0), shift - denominator.bit_length() + 1)


def _scaled(negative: bool, whole: int, exponent: int) -> float:
    return math.ldexp(-whole if negative else whole, exponent)


def _odd_float32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """The same in float32, through which shorter dtypes may be converted."""
    near = values.astype(np.float32)
    rest = values - near
    even = (near.view(np.uint32) & 1) == 0
    toward = np.where(rest > 0, np.float32(np.inf), np.float32(-np.inf))
    moved = np.isfinite(values) & (rest != 0) & even
    return np.where(moved, np.nextafter(near, toward), near)


def _words(limbs: Sequence[float], bits: int, count: int) -> list[float]:
    """Float64 numbers whose exact sum is the value rounded to *bits*, the largest first.

    They are in float64's range: the limbs of the largest values have fewer bits than *bits*.
    """
    if _special(limbs):
        return [float(limbs[0])] + [0.0] * (count - 1)
    numerator, denominator = convert.exact_sum(limbs)
    shift = max(abs(numerator).bit_length() - bits, 0)
    whole, rest = divmod(abs(numerator), 1 << shift)
    whole += 2 * rest > (1 << shift) or (2 * rest == (1 << shift) and whole & 1 == 1)
    exponent = shift - denominator.bit_length() + 1
    mask = (1 << _WORD) - 1
    places = range(_WORD * (count - 1), -1, -_WORD)
    return [_scaled(numerator < 0, (whole >> place) & mask, exponent + place) for place in places]
