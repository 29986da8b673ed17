"""Texts to exact numbers: decimal, hexadecimal, fractions, special values."""

import math
import os
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from portmp.errors import InputError

_DECIMAL_RANGE = 2_000
_BINARY_RANGE = 6_650
"""Exponents past these are infinite or zero in every format, so they are never expanded."""

LONGEST = "PORTMP_LONGEST_NUMBER"
_LONGEST_TEXT = 10_000
"""Characters of a number's text, unless that setting says so; time grows with their square."""


_DECIMAL = re.compile(
    r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]+))?", re.IGNORECASE | re.ASCII
)
_HEX = re.compile(
    r"([+-]?)0x(?=\.?[0-9a-f])([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?[0-9]+))?",
    re.IGNORECASE | re.ASCII,
)
_RATIO = re.compile(r"([+-]?)([0-9]+)\s*/\s*([0-9]+)")
_SPECIAL = re.compile(r"([+-]?)(?:(nan)|inf|infinity)", re.IGNORECASE | re.ASCII)


# --- text -> exact value


def parse_number(text: str, argument: str) -> Fraction | float:
    """Return the exact value of *text*; InputError names *argument* if it is not a number.

    Accepted are decimals (``-3e-400``), ratios of integers (``1/3``), hexadecimal floats
    (``0x1.8p3``), nan, inf and infinity in any case, each with a sign and with blanks around
    it. Zero with a minus is the float -0.0. Past 10^+-2000 the result is the float +-inf or
    +-0.0, which is what every format makes of such a value. Texts of more than 10,000
    characters are refused (PORTMP_LONGEST_NUMBER sets another limit).
    """
    found = ratio(text, argument)
    return found if isinstance(found, float) else Fraction(*found)


def ratio(text: str, argument: str) -> tuple[int, int] | float:
    """The same as numerator and denominator, not reduced."""
    stripped = text.strip()
    if len(stripped) > _LONGEST_TEXT and len(stripped) > (most := _longest()):
        raise InputError(
            f"{argument}: {_shown(text)} is too long; a number has at most "
            f"{most} characters, unless {LONGEST} sets another limit"
        )
    if match := _DECIMAL.fullmatch(stripped):
        return _decimal(*match.groups(default=""))
    if match := _HEX.fullmatch(stripped):
        sign, whole, part, exponent = match.groups(default="")
        mantissa = int(whole + part, 16)
        value = dyadic(mantissa, _clamped(exponent) - 4 * len(part))
        size = value if isinstance(value, float) else value.as_integer_ratio()
        return _signed(sign, size)
    if (match := _RATIO.fullmatch(stripped)) and (denominator := _integer(match[3])):
        return _signed(match[1], (_integer(match[2]), denominator))
    if match := _SPECIAL.fullmatch(stripped):
        return math.nan if match[2] else _signed(match[1], math.inf)
    imaginary = re.search(r"[0-9.)][ij]|^\(|j", stripped.lower())
    complex_ = "; complex ones, in formats such as cdd, end in j: 1.1+2.2j" if imaginary else ""
    raise InputError(
        f"{argument}: {_shown(text)} is not a number; allowed are decimals (-1.5e-3), "
        f"ratios p/q with q not 0, hexadecimal floats (0x1.8p3), nan and inf{complex_}"
    )


def _longest() -> int:
    given = os.environ.get(LONGEST, "").strip()
    if not given:
        return _LONGEST_TEXT
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        raise InputError(f"{LONGEST}: {_shown(given)} given, a number of characters is needed")
    return int(given)


def _shown(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else f"{shown[:50]}... ({len(shown)} characters)"


def _signed(sign: str, size: tuple[int, int] | float) -> tuple[int, int] | float:
    if sign != "-":
        return size
    if isinstance(size, float):
        return -size
    return (-size[0], size[1]) if size[0] else -0.0


def _integer(digits: str) -> int:
    # int(str) refuses more than 4300 digits and takes quadratic time; Decimal does neither.
    return int(digits) if len(digits) < 1000 else int(Decimal(digits))


def _clamped(exponent: str) -> int:
    """Return the exponent as an int, cut to +-10^9: enough to know that it is absurd."""
    if len(exponent.lstrip("+-0")) > 9:
        return -(10**9) if exponent.startswith("-") else 10**9
    return int(exponent or "0")


def _decimal(sign: str, whole: str, part: str, power: str) -> tuple[int, int] | float:
    digits = (whole + part).lstrip("0")
    scale = _clamped(power) - len(part) if power else -len(part)
    if not digits:
        return -0.0 if sign == "-" else (0, 1)
    if abs(scale + len(digits)) > _DECIMAL_RANGE:
        return _signed(sign, math.inf if scale + len(digits) > 0 else 0.0)
    mantissa = _integer(sign + digits)
    return (mantissa * 10**scale, 1) if scale >= 0 else (mantissa, _ten_to(-scale))


@lru_cache(maxsize=256)
def _ten_to(power: int) -> int:
    return int(10**power)


def dyadic(mantissa: int, exponent: int) -> Fraction | float:
    """Return mantissa * 2^exponent, or +-inf or +-0.0 if that is far outside every format."""
    if mantissa == 0:
        return Fraction(0)
    magnitude = exponent + mantissa.bit_length()
    if abs(magnitude) > _BINARY_RANGE:
        return math.copysign(math.inf if magnitude > 0 else 0.0, 1 if mantissa > 0 else -1)
    return Fraction(mantissa << max(exponent, 0), 1 << max(-exponent, 0))
