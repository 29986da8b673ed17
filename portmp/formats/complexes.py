"""Complex numbers on the host: of other libraries and texts, to limbs, to texts, and exact ones.

The limbs of a complex value are those of its real part, then those of its imaginary part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from portmp.errors import FormatError, InputError
from portmp.formats import convert, decimal, foreign, longer, losses
from portmp.formats.exact import Complex, joined
from portmp.formats.foreign import Exact as Real
from portmp.formats.registry import COMPLEX, Format

Planes = list[np.ndarray[Any, Any]]
_CUT = re.compile(r"(?<=[^eEpP(\s])\s*(?=[+-])")
"""Where an imaginary part begins: at a sign that is no exponent's."""
_CUT_HEX = re.compile(r"(?<=[^pP(\s])\s*(?=[+-])")


# --- numbers of all kinds to two parts ------------------------------------------------------------


def has_complex(data: Any) -> bool:
    """Whether there are complex numbers in nested sequences, arrays of NumPy's or by themselves."""
    if isinstance(data, (np.ndarray, np.generic)):
        return data.dtype.kind == "c" or (
            data.dtype.kind in "OUS" and any(map(foreign.is_complex, data.flat))
        )
    if not isinstance(data, (list, tuple)):
        return foreign.is_complex(data)
    found: dict[type, Any] = {}
    for one in data:
        if isinstance(one, (list, tuple, str, bytes, np.ndarray)):
            if has_complex(one):
                return True
        else:
            found.setdefault(type(one), one)
    return any(map(foreign.is_complex, found.values()))


def parts(item: Any, argument: str) -> tuple[Real, Real]:
    """The exact real and imaginary parts of a number of any accepted type."""
    if isinstance(item, np.ndarray) and item.ndim == 0:
        item = item[()]
    if isinstance(item, bytes):
        item = item.decode("ascii", errors="backslashreplace")
    real: Any
    imaginary: Any
    if isinstance(item, str):
        real, imaginary = split(item, argument)
    elif foreign.is_complex(item):
        real, imaginary = item.real, item.imag
    else:
        real, imaginary = item, 0
    return foreign.exact(real, argument), foreign.exact(imaginary, argument)


def split(text: str, argument: str) -> tuple[str, str]:
    """The texts of both parts of "1.1+2.2j", "(1.1, 2.2)", "2.2j" or "1.1"."""
    inside = text.strip()
    if inside.startswith("(") and inside.endswith(")"):
        inside = inside[1:-1].strip()
        if "," in inside:
            pair = inside.split(",")
            if len(pair) == 2:
                return pair[0], pair[1]
            raise InputError(f"{argument}: {text!r:.60} is no pair of a real and an imaginary part")
    if inside[-1:] not in ("j", "J"):
        return inside, "0"
    cut = _CUT_HEX if "0x" in inside.lower() else _CUT
    found = cut.split(inside[:-1].rstrip())
    real, imaginary = found if len(found) == 2 else ("0", found[0]) if len(found) == 1 else ("", "")
    imaginary = imaginary.replace(" ", "") if imaginary[:1] in ("+", "-") else imaginary
    return real, imaginary + "1" if imaginary in ("", "+", "-") and real else imaginary


# --- to limbs, and from them ----------------------------------------------------------------------


def to_limbs(data: Any, form: Format, argument: str = "data") -> Planes:
    """The planes of *data*, numbers of any accepted types: each part is rounded once."""
    part = form.component
    given = foreign.unwrapped(data, argument)
    if isinstance(given, np.ndarray) and given.dtype.kind in "fiuc":
        both = [given.real, given.imag if given.dtype.kind == "c" else np.zeros(given.shape)]
        return [plane for one in both for plane in _rounded(one, part, argument)]
    items, shape = convert.flattened(given, argument)
    try:
        pairs = [parts(item, argument) for item in items]
    except InputError:
        for place, item in zip(np.ndindex(shape), items, strict=True):
            parts(item, f"{argument}{list(place)}" if place else argument)
        raise
    found: Planes = []
    for which in range(2):
        planes = _rounded([pair[which] for pair in pairs], part, argument)
        found += [plane.reshape(shape) for plane in planes]
    return found


def limbs_of(data: Any, form: Format, argument: str) -> Planes:
    """The planes of *data* in a format of real or of complex numbers."""
    if form.components > 1:
        return to_limbs(data, form, argument)
    return convert.to_limbs(data, form, argument)


def change_format(planes: Planes, source: Format, target: Format) -> Planes:
    """``convert.change_format``, of complex numbers of each part; real ones become complex."""
    if source.components > target.components:
        raise FormatError(
            f"{source.name} given, {target.name} holds real numbers alone: load it in a format of "
            f"complex ones, {', '.join(COMPLEX)}"
        )
    parts = halves(planes) if source.components > 1 else (planes,)
    found = [convert.change_format(h, source.component, target.component) for h in parts]
    if target.components > len(found):
        found.append([np.zeros_like(plane) for plane in found[0]])
    return [plane for half in found for plane in half]


def _rounded(data: Any, part: Format, argument: str) -> Planes:
    losses.check(data, part, argument)
    return convert.to_limbs(data, part, argument)


def halves(planes: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The limbs of real parts, and those of imaginary parts."""
    count = len(planes) // 2
    return planes[:count], planes[count:]


def normalise(planes: Sequence[Any], form: Format, argument: str = "planes") -> Planes:
    """``convert.normalise``, of complex numbers of each part."""
    if form.components == 1:
        return convert.normalise(planes, form, argument)
    both = (convert.normalise(half, form.component, argument) for half in halves(planes))
    return [plane for half in both for plane in half]


def to_numpy(planes: Sequence[Any], dtype: Any) -> np.ndarray[Any, Any]:
    """Values as an array of a complex dtype of NumPy's, each part rounded once."""
    found = np.empty(planes[0].shape, dtype)
    if found.dtype.kind != "c":
        raise FormatError(f"to_numpy: {found.dtype} given, complex numbers have complex dtypes")
    found.real, found.imag = (longer.to_dtype(h, found.real.dtype) for h in halves(planes))
    return found


def to_mpmath(planes: Sequence[Any]) -> list[Any]:
    """The exact values as numbers of mpmath's."""
    mpmath = decimal.mpmath_itself()
    rows = (map(decimal.to_mpmath, convert.element_rows(half)) for half in halves(planes))
    return [mpmath.mp.make_mpc((a._mpf_, b._mpf_)) for a, b in zip(*rows, strict=True)]


def numbers(planes: Sequence[Any], exactly: bool = False) -> list[Any]:
    """The values in C order: Python's numbers of one limb, unless *exactly*, else ``Complex``."""
    real, imaginary = (list(map(_number, convert.element_rows(part))) for part in halves(planes))
    kind: Any = complex if len(planes) == 2 and not exactly else Complex
    return [kind(a, b) for a, b in zip(real, imaginary, strict=True)]


def _number(row: tuple[float, ...]) -> Any:
    if len(row) == 1 or not all(map(math.isfinite, row)):
        return row[0]
    return -0.0 if row[0] == 0 and math.copysign(1, row[0]) < 0 else convert.to_fraction(row)


def matrix_of_texts(planes: Sequence[Any], form: Format) -> np.ndarray[Any, Any]:
    """Texts that give the values back, real or complex ones, as an array of objects."""
    if form.components == 1:
        return decimal.to_strings(planes, form, "round-trip")
    return convert.object_array(list(texts(planes, form, "round-trip")), planes[0].shape)


def texts(planes: Sequence[Any], form: Format, digits: decimal.Digits) -> Iterator[str]:
    """The texts of both parts, put together, in C order."""
    first, second = (
        decimal.to_strings(half, form.component, digits).ravel() for half in halves(planes)
    )
    return map(joined, first, second)
