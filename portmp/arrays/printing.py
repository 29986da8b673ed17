"""Arrays as text, and numbers as Python's format strings ask for them."""

from __future__ import annotations

import decimal as standard
import math
import re
from typing import Any

import numpy as np

from portmp.errors import ArgumentError
from portmp.formats import convert, decimal

SHOWN = 1000
"""Of arrays with more elements only the ends of the axes are printed."""
ENDS = 3
"""So many elements at each end."""

_SPEC = re.compile(
    r"((?:.?[<>=^])?)([-+ ]?)(#?)(0?)([0-9]*)([_,]?)((?:\.[0-9]+)?)([eEfFgG%]?)", re.DOTALL
)
"""Filler and alignment, sign, zeros kept, zeros, width, groups, precision, kind."""

_NUMBER = re.compile(r"([-+ ]?)([0-9]+)((?:\.[0-9]+)?)(?:([eE])([-+])([0-9]+))?(%?)")
"""Sign, whole digits, the others, exponent, percent."""


def shown(x: Any) -> str:
    """The elements: values with the digits that give them back, but no more than the format has."""
    return _laid_out(_texts(x)) if x.size <= SHOWN else _abridged(x)


def _abridged(x: Any) -> str:
    """The elements at the ends of each axis."""
    n = len(x)
    chosen = range(n) if n <= 2 * ENDS else (*range(ENDS), *range(n - ENDS, n))
    deep = x.ndim > 1
    parts = [_abridged(x[i]) for i in chosen] if deep else list(map(str, _texts(x[list(chosen)])))
    if n > 2 * ENDS:
        parts.insert(ENDS, "...")
    text = (",\n" if deep else ", ").join(parts).replace("\n", "\n ")
    return f"[{text}]"


def _texts(x: Any) -> np.ndarray[Any, Any]:
    """The elements as an array of texts, or as plain numbers."""
    if hasattr(x, "to_limbs"):
        return decimal.to_strings(x.to_limbs(), x.format, "shown")
    found: np.ndarray[Any, Any] = x.to_numpy()
    return found


def _laid_out(texts: np.ndarray[Any, Any]) -> str:
    options: dict[str, Any] = {"separator": ", ", "max_line_width": 100}
    if texts.dtype == object:
        options["formatter"] = {"all": str}
    return np.array2string(texts, threshold=texts.size + 1, **options)


def formatted(x: Any, spec: str) -> str:
    """One value as Python's format strings have floats, from all its digits: ``f"{x:.40f}"``."""
    if not spec:
        return str(x)
    if x.size != 1:
        raise ArgumentError(f"format {spec!r}: one element expected, shape {x.shape} given")
    match = _SPEC.fullmatch(spec)
    if not match:
        raise ArgumentError(f"format {spec!r}: one of floats is needed, such as '.40f'")
    limbs = [float(plane.ravel()[0]) for plane in x.to_limbs()]
    if not all(map(math.isfinite, limbs)) or not any(limbs):
        return format(sum(limbs) if math.isfinite(limbs[0]) else limbs[0], spec)
    aligned, sign, kept, zeros, width, groups, precision, kind = match.groups()
    precision = precision or (".6" if kind else "")
    plain = _NUMBER.fullmatch(format(_exact(limbs), f"{sign}{precision}{kind}"))
    assert plain is not None
    first, whole, rest, e, way, power, percent = plain.groups()
    if kind in ("g", "G") and not kept:
        rest = rest.rstrip("0").rstrip(".")
    if e:  # two digits at least, as those of floats
        rest += f"{e}{way}{power:0>2}"
    fill, side = aligned[:-1] or ("0" if zeros else " "), aligned[-1:] or ("=" if zeros else ">")
    if side != "=":
        return format(f"{first}{_grouped(whole, groups)}{rest}{percent}", f"{fill}{side}{width}")
    room = int(width or 0) - len(first + rest + percent)
    while fill == "0" and len(_grouped(whole, groups)) < room:
        whole = f"0{whole}"
    return f"{first}{_grouped(whole, groups).rjust(room, fill)}{rest}{percent}"


def _grouped(digits: str, by: str) -> str:
    """Digits in groups of three from the right."""
    if not by:
        return digits
    starts = range(len(digits) % 3, len(digits), 3)
    return by.join(filter(None, [digits[: len(digits) % 3], *(digits[i : i + 3] for i in starts)]))


def _exact(limbs: list[float]) -> standard.Decimal:
    """The sum of limbs with all its digits."""
    numerator, denominator = convert.exact_sum(limbs)
    places = denominator.bit_length() - 1
    # Of a multi-limb number these are at most some 2,000 digits; Python's own limit is 4,300.
    digits = tuple(map(int, str(abs(numerator) * 5**places)))
    return standard.Decimal((int(numerator < 0), digits, -places))
