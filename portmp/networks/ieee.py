"""IEEE 754 arithmetic on NumPy arrays, bit for bit what a conforming device computes.

NumPy's own ``+ - * /`` and ``sqrt`` are correctly rounded; what it lacks is the fused
multiply-add. ``fma`` and ``two_prod`` here take arrays (or scalars) of one dtype,
float32 or float64, broadcast them, and round once, for every input: subnormals, overflow,
infinities, NaN and signed zeros included. Neither silences NumPy's warnings, since that
costs time in every call: callers enter ``quiet()`` once, around everything.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Constants are arrays: NumPy takes much longer to convert Python's numbers in each call.
_ZERO = np.array(0.0)
_SIGN = np.array(63)

_SPLIT = np.array(134217729.0)
"""2^27 + 1: splits a float64 into two halves of 26 bits (Veltkamp)."""

_SMALLEST_EXACT = np.array(2.0**-968)
"""A float64 product at least this large has an error that is a float64 (NUMERICS 1.2)."""


def quiet() -> np.errstate:
    """Return a context in which overflow, invalid operations and the like do not warn."""
    return np.errstate(all="ignore")


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum of *a* and *b* and its error (Knuth; six additions)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its error if |a| >= |b| (Dekker; three additions)."""
    s = a + b
    return s, b - (s - a)


def fma(a: Array, b: Array, c: Array) -> Array:
    """Return ``a * b + c`` rounded once, to nearest even."""
    if a.dtype.itemsize == 4:
        # Exact: 24 + 24 bits fit in 53, and so do the exponents.
        product = np.multiply(a, b, dtype=np.float64)
        # Rounding to odd at 53 bits keeps the sum on its side of every float32 midpoint.
        return _add_to_odd(product, c).astype(np.float32)
    p = a * b
    s, e = two_sum(p, c)
    # If p + c is inexact, then |p| <= 2|s|, so e and the product's error are at most
    # about an ulp of s: their sum rounded to odd decides the last rounding correctly.
    z = s + _add_to_odd(e, _product_error(a, b, p))
    if np.count_nonzero(z) != z.size:
        # Only p + c knows the sign of a zero sum.
        z = np.where(z == _ZERO, p + c, z)
    unsafe = _unsafe(a, b, p, z)
    return z if unsafe is None else _mend(z, unsafe, a, b, c)


def two_prod(a: Array, b: Array) -> tuple[Array, Array]:
    """Return ``p = a * b`` rounded and ``fma(a, b, -p)``, p's error unless it underflows."""
    p = a * b
    if a.dtype.itemsize == 4:
        # The difference is exact in float64 (at most 24 bits), so this rounds once.
        error = np.multiply(a, b, dtype=np.float64) - p
        return p, error.astype(np.float32)
    e = _product_error(a, b, p)
    unsafe = _unsafe(a, b, p, e)
    return p, e if unsafe is None else _mend(e, unsafe, a, b, -p)


def _product_error(a: Array, b: Array, p: Array) -> Array:
    """Return ``a * b - p`` by Dekker's product (float64, away from the range's ends)."""
    t = _SPLIT * a
    a1 = t - (t - a)
    a2 = a - a1
    t = _SPLIT * b
    b1 = t - (t - b)
    b2 = b - b1
    error: Array = ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2
    return error


def _add_to_odd(a: Array, b: Array) -> Array:
    """Return the float64 sum of *a* and *b* rounded to odd (Boldo and Melquiond, 2008).

    That is the sum itself if it is a float64, else that neighbour whose last bit is one.
    """
    s, e = two_sum(a, b)
    bits = s.view(np.int64)
    # All ones where the sum was rounded away from zero: the signs of sum and error differ.
    away = (bits ^ e.view(np.int64)) >> _SIGN
    # NaN, the error of an infinite sum, is not above zero: such sums stay.
    inexact = np.abs(e) > _ZERO
    truncated = bits - (away & inexact)
    odd: Array = (truncated | inexact).view(np.float64)
    return odd


def _unsafe(a: Array, b: Array, p: Array, result: Array) -> Array | None:
    """Return where *result*, from the float64 product *p* = a * b, may be wrong, or None.

    Every overflow on the way, and every infinite or NaN input, leaves a result that is
    not finite; underflow needs a small product of factors that are not zero.
    """
    safe = np.isfinite(result)
    small = np.abs(p) < _SMALLEST_EXACT
    if np.count_nonzero(small):
        safe &= ~(small & (a != _ZERO) & (b != _ZERO))
    return None if np.count_nonzero(safe) == safe.size else ~safe


def _mend(result: Array, where: Array, a: Array, b: Array, c: Array) -> Array:
    """Return *result* with exact values of ``fma(a, b, c)`` put in *where* it is unsafe."""
    mended = np.array(result)
    inputs = (np.broadcast_to(x, mended.shape)[where].tolist() for x in (a, b, c))
    mended[where] = [_exact_fma(*triple) for triple in zip(*inputs, strict=True)]
    return mended


def _exact_fma(a: float, b: float, c: float) -> float:
    """Return ``a * b + c`` rounded once, by integers of any length."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c  # even if a * b alone would overflow
    (an, ad), (bn, bd), (cn, cd) = (x.as_integer_ratio() for x in (a, b, c))
    numerator = an * bn * cd + cn * ad * bd
    if numerator == 0:
        return a * b + c  # the sign of zero; a * b is exact here
    try:
        return numerator / (ad * bd * cd)  # Python rounds the quotient correctly
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf
