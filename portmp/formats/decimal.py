"""Exact numbers to decimal texts: so many digits, or as few as find the number again."""

import importlib
import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from portmp.errors import ArgumentError, BackendUnavailable
from portmp.formats import convert
from portmp.formats.registry import Format

_MOST_DIGITS = 1_400
"""More than the significant digits of any sum of binary64 numbers (at most about 1,384)."""

_SPARED = 3
"""So many digits fewer than a format has are few for most of its numbers."""

_PLAIN_EXPONENTS = range(-4, 17)
"""Decimal exponents that are printed without an e."""


# --- limbs -> text


Digits = int | Literal["short", "round-trip", "shown"] | None
_NAMED = ("short", "round-trip", "shown")


def to_string(limbs_of_one: Sequence[float], fmt: Format, digits: Digits = None) -> str:
    """Return one value in decimal, correctly rounded (ties to even) to *digits* digits.

    Without *digits*, fmt.digits: enough for values with contiguous limbs. "short" (or
    "round-trip") gives the shortest text that parse_number and round_to_limbs turn back into
    exactly this value, with as many digits as gaps between limbs need (a value that *fmt* itself
    cannot hold is written out in full); "shown" is the same where fmt.digits digits are enough,
    else so many. Trailing zeros are dropped; exponents outside -4 ... 16 are written d.ddde+XX.
    """
    if digits not in (None, *_NAMED) and not _is_count(digits):
        raise ArgumentError(
            f"digits={digits!r}: allowed are integers from 1, {', '.join(map(repr, _NAMED))}"
        )
    limbs = [float(limb) for limb in limbs_of_one]
    if not all(map(math.isfinite, limbs)):
        return repr(sum(limbs) if math.isfinite(limbs[0]) else limbs[0])
    if fmt.name == "float64" and digits in _NAMED and _is_as_python(limbs[0]):
        return repr(limbs[0])
    numerator, denominator = convert.exact_sum(limbs)
    if numerator == 0:
        return repr(limbs[0] if limbs[0] == 0 else 0.0)
    if digits in _NAMED:
        most = fmt.digits if digits == "shown" else _MOST_DIGITS
        return _round_trip(numerator, denominator, limbs, fmt, most)
    wanted = fmt.digits if digits is None else int(digits)
    exponent = _decimal_exponent(abs(numerator), denominator)
    return _decimal_text(numerator, denominator, wanted, exponent)


def _is_as_python(x: float) -> bool:
    """Whether Python's text of a float64 is the shortest, rounded: all but those of powers of two.

    Below these floats lie nearer, so that a text that is not the rounded one may find them.
    """
    return 1e-4 <= abs(x) < 1e16 and math.frexp(x)[0] not in (0.5, -0.5)


def _is_count(digits: Any) -> bool:
    whole = isinstance(digits, (int, np.integer)) and not isinstance(digits, bool)
    return whole and bool(digits >= 1)


def to_strings(
    planes: Sequence[convert.Array], fmt: Format, digits: Digits = None
) -> convert.Array:
    """Return the values as to_string gives them: an object array of the planes' shape."""
    planes = convert.checked_planes(planes)
    return convert.object_array(
        [to_string(row, fmt, digits) for row in convert.element_rows(planes)], planes[0].shape
    )


def _round_trip(
    numerator: int, denominator: int, limbs: Sequence[float], fmt: Format, most: int
) -> str:
    """Return the text with the fewest digits that gives the value of *limbs* back.

    Where *most* digits do not, the text with *most* digits. More digits are never farther from the
    value, so that a bisection finds the fewest.
    """
    size = abs(numerator)
    radius = _radius(size, denominator, limbs, fmt)
    # The value and the radius in units of a place behind the format's digits, rounded down.
    highest = _highest_exponent(size, denominator)
    whole, unit = _scaled(size, denominator, fmt.digits + _SPARED - highest)
    leading, behind = divmod(whole, unit)
    places = len(str(leading))
    exponent = highest + places - (fmt.digits + _SPARED + 1)
    reach = 0
    if radius is not None:
        tens = whole // size * denominator
        reach = (tens << max(radius, 0)) // (unit << max(-radius, 0))

    def gives_back(digits: int) -> bool:
        if radius is not None and digits <= fmt.digits:
            dropped = 10 ** (places - digits)
            below = leading % dropped
            distance = min(below, dropped - 1 - below)  # and up to 1 more
            if distance + 1 <= reach or not (below or behind):
                return True
            if distance > 2 * (reach + 1):
                return False
        power = digits - 1 - exponent
        rounded = convert.divide_rounded(*_scaled(size, denominator, power))
        found, _ = convert.round_ratio(*_scaled(rounded, 1, -power), fmt)
        if not math.isfinite(found[0]):
            return False
        total, common = convert.exact_sum(found)
        return total * denominator == size * common

    enough, too_few = fmt.digits, 0
    while not gives_back(enough):
        if enough == most:
            return _decimal_text(numerator, denominator, most, exponent)
        enough, too_few = min(2 * enough, most), enough
    # Most numbers need nearly all digits.
    if enough == fmt.digits and enough > _SPARED and not gives_back(enough - _SPARED):
        too_few = enough - _SPARED
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if gives_back(middle):
            enough = middle
        else:
            too_few = middle
    return _decimal_text(numerator, denominator, enough, exponent)


def _radius(numerator: int, denominator: int, limbs: Sequence[float], fmt: Format) -> int | None:
    """Return e such that what is nearer than 2^e is rounded to this value, past 2^(e+1) not.

    That is a quarter and half of the last limb's ulp (below a power of two ulps are half as
    long). None where only rounding can tell: *fmt* does not hold the value of *limbs*, or the last
    limb has a shorter range than the others and may have underflowed or overflowed to 0.
    """
    encoding = fmt.encodings[-1]
    pair = len(limbs) == 2 and encoding.plain and encoding.word == "float64"
    exact = pair and limbs[0] + limbs[1] == limbs[0]
    if not exact:
        limbs, exact = convert.round_ratio(numerator, denominator, fmt)
    last = limbs[-1]
    if not exact or (last == 0 and encoding != fmt.encodings[0]) or fmt.rounding == "toward_zero":
        return None
    ulp = math.frexp(last)[1] - encoding.bits if last else encoding.smallest
    return max(ulp, encoding.smallest) - 2


def _decimal_text(numerator: int, denominator: int, digits: int, exponent: int) -> str:
    """Return the value, which lies in the decade of 10^exponent, to so many digits."""
    digits = min(digits, _MOST_DIGITS)  # past that, only zeros follow
    mantissa = convert.divide_rounded(*_scaled(abs(numerator), denominator, digits - 1 - exponent))
    text = str(mantissa)
    exponent += len(text) - digits  # 9.99 may have become 10.0
    return ("-" if numerator < 0 else "") + _layout(text.rstrip("0"), exponent)


def _scaled(numerator: int, denominator: int, power: int) -> tuple[int, int]:
    """Return numerator/denominator * 10^power as a ratio."""
    return numerator * 10 ** max(power, 0), denominator * 10 ** max(-power, 0)


def _decimal_exponent(numerator: int, denominator: int) -> int:
    """Return e with 10^e <= numerator/denominator < 10^(e+1)."""
    exponent = _highest_exponent(numerator, denominator)
    while operator.lt(*_scaled(numerator, denominator, -exponent)):
        exponent -= 1
    return exponent


def _highest_exponent(numerator: int, denominator: int) -> int:
    """Return the same, or one or two more."""
    return math.floor((numerator.bit_length() - denominator.bit_length()) * math.log10(2)) + 1


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


def mpmath_itself() -> Any:
    """The module; BackendUnavailable without it."""
    try:
        return importlib.import_module("mpmath")
    except ImportError as error:
        raise BackendUnavailable(
            "mpmath is not installed; `pip install mpmath` installs it"
        ) from error


def to_mpmath(limbs_of_one: Sequence[float]) -> Any:
    """Return the exact sum of the limbs of one value as an mpmath mpf (which has no -0).

    mpmath's working precision is neither used nor changed. Raises BackendUnavailable
    without mpmath.
    """
    mpmath = mpmath_itself()
    limbs = [float(limb) for limb in limbs_of_one]
    if not all(map(math.isfinite, limbs)):
        return mpmath.mpf(sum(limbs) if math.isfinite(limbs[0]) else limbs[0])
    numerator, denominator = convert.exact_sum(limbs)
    exact = mpmath.mpf(numerator, prec=max(53, numerator.bit_length()))
    return mpmath.ldexp(exact, 1 - denominator.bit_length())
