"""What elements are: a format, or a NumPy dtype of integers or truth values.

Both are called dtypes, as the array API standard does. Where two meet, the result is of the one
that holds all numbers of both; formats do not mix by themselves, but float32 with float64.
"""

import math
import os
import re
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from portmp import formats
from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format, foreign, losses
from portmp.formats.meeting import fits, meeting
from portmp.routines.conversions.launch import holds
from portmp.runtime.planes import Planes, View

__all__ = ["can_cast", "default_format", "finfo", "iinfo", "isdtype", "result_type"]

Dtype = Format | np.dtype[Any]
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
PLAIN = (*SIGNED, *UNSIGNED, "bool")
"""What plain elements may be: NumPy's dtypes. Truth values take a byte."""
INTEGER, BOOL = np.dtype("int64"), np.dtype("bool")
"""The dtype of Python's integers and of indices, and that of truth values."""

SETTING = "PORTMP_FORMAT"
USUAL = "dd"
_chosen: ContextVar[Format | None] = ContextVar("default_format", default=None)


def default() -> Format:
    """The format of what has no other: that of a ``with portmp.default_format(...)``.

    Else PORTMP_FORMAT, else dd.
    """
    try:
        return _chosen.get() or formats.get(os.environ.get(SETTING, "").strip() or USUAL)
    except FormatError as error:
        raise FormatError(f"{SETTING}: {error}") from None


class default_format(ContextDecorator):
    """``with default_format("qd"):`` arrays that are given no format have this one, in this thread.

    Without a ``with`` (or ``@``, of a function) it has no effect, of which a warning tells.
    """

    _used = True

    def __init__(self, format: str | Format) -> None:
        self._form = formats.get(format)
        self._tokens: list[Token[Format | None]] = []
        self._used = False

    def __call__(self, function: Any) -> Any:
        self._used = True
        return super().__call__(function)

    def __enter__(self) -> Format:
        self._used = True
        self._tokens.append(_chosen.set(self._form))
        return self._form

    def __exit__(self, *error: object) -> None:
        _chosen.reset(self._tokens.pop())

    def __del__(self) -> None:
        if not self._used:
            told = f"write `with portmp.default_format({self._form.name!r}):`, or set {SETTING}"
            losses.warn(f"default_format has no effect by itself: {told}", RuntimeWarning)


# --- what is given --------------------------------------------------------------------------------


def cast(dtype: Any, own: Dtype) -> Dtype:
    """The dtype that astype means: as NumPy's, with float64 for Python's float; None: its own."""
    asked = "float64" if dtype in (float, "float") else dtype
    asked = "complex128" if dtype in (complex, "complex") else asked
    return own if asked is None else resolved(asked, "format")


def resolved(dtype: Any, argument: str = "dtype", own: Dtype | None = None) -> Dtype:
    """The dtype that a format, its name, a NumPy dtype, or Python's bool, int or float means.

    ``float`` (or None) is values: in the format that an array has, *own*, else the default one;
    ``complex`` is complex ones of these digits.
    """
    if isinstance(dtype, Format):
        return dtype
    if dtype is None or dtype is float or (isinstance(dtype, str) and dtype == "float"):
        return own if isinstance(own, Format) else default()
    if dtype is complex or (isinstance(dtype, str) and dtype == "complex"):
        return formats.complex_of(own if isinstance(own, Format) else default())
    if isinstance(dtype, str) and dtype not in PLAIN and dtype != "int":
        try:
            return formats.get(dtype)
        except FormatError:
            names = r"[=<>]?([fiu][1248]|c8|c16|[OUS]\d*)|\?|double|single|object|str"
            if not re.fullmatch(names, dtype):
                raise
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{argument}: {dtype!r:.60} given, a format or a dtype of integers is needed"
        ) from None
    if found.name in PLAIN:
        plain: np.dtype[Any] = np.dtype(found.name)
        return plain
    if (found.kind, found.itemsize) in (("f", 4), ("f", 8), ("c", 8), ("c", 16)):
        return formats.get(found.name)
    if found.kind in "OUS":
        raise FormatError(
            f"{argument}: {found} given: x.tolist() gives an array's numbers as exact objects, "
            "x.to_strings(digits) as texts"
        )
    raise FormatError(
        f"{argument}: {found} given; allowed are {', '.join(PLAIN)} and formats: "
        f"{', '.join((*formats.STANDARD, *formats.COMPLEX))}"
    )


def of_view(view: View[Any]) -> Dtype:
    """The dtype of a view's elements."""
    return view.format if isinstance(view, Planes) else np.dtype(view.elements)


def _of(value: Any) -> Dtype:
    planes = getattr(value, "planes", None)
    return of_view(planes) if isinstance(planes, View) else resolved(value)


# --- promotion ------------------------------------------------------------------------------------


def promoted(a: Dtype, b: Dtype, operation: str = "result_type") -> Dtype:
    """The dtype in which two meet; FormatError where there is none that loses nothing."""
    if a == b:
        return a
    if isinstance(a, Format) and isinstance(b, Format):
        if {a.name, b.name} == {"float32", "float64"}:
            return formats.get("float64")
        if a.components != b.components or a.components > 1:
            parts = a.component, b.component
            if parts[0] is parts[1] or {part.name for part in parts} == {"float32", "float64"}:
                return formats.complex_of(max(parts, key=lambda part: part.bits))
        raise FormatError(f"{operation}: formats {a} and {b} given; {meeting((a, b))}")
    if isinstance(a, Format) or isinstance(b, Format):
        form, other = (a, b) if isinstance(a, Format) else (b, a)
        assert isinstance(form, Format)
        if not isinstance(other, Format) and holds(form, other.name):
            return form
        told = meeting((form,), lambda wide: holds(wide, str(other)))
        raise FormatError(f"{operation}: {form} does not hold all numbers of {other}; {told}")
    return _plain(a, b, operation)


def _plain(a: np.dtype[Any], b: np.dtype[Any], operation: str) -> np.dtype[Any]:
    if BOOL in (a, b):
        return b if a == BOOL else a
    kinds = {a.kind: a, b.kind: b}
    if len(kinds) == 1:
        return max(a, b, key=lambda d: d.itemsize)
    size = max(kinds["i"].itemsize, 2 * kinds["u"].itemsize)
    if size > 8:
        raise FormatError(
            f"{operation}: {a} and {b} given, which have no common dtype of integers; "
            + meeting((), lambda form: holds(form, a.name) and holds(form, b.name))
        )
    return np.dtype(f"int{8 * size}")


def result_type(*arrays_and_dtypes: Any) -> Dtype:
    """The dtype in which arrays, dtypes and Python numbers meet; at least one is no number.

    NumPy's arrays are in that of portmp's, where it holds them.
    """
    scalars = bool, int, float, complex
    numbers = [x for x in arrays_and_dtypes if isinstance(x, scalars)]
    others = [x for x in arrays_and_dtypes if not isinstance(x, scalars)]
    numpys = [x for x in others if isinstance(x, (np.ndarray, np.generic))]
    found = [_of(x) for x in others if not isinstance(x, (np.ndarray, np.generic))]
    if not others:
        raise ArgumentError("result_type: an array or a dtype is needed, only numbers given")
    kind = reduce(promoted, found or [resolved(numpys[0].dtype)])
    for own in (resolved(x.dtype) for x in numpys):
        held = isinstance(kind, Format) and isinstance(own, Format) and fits(own, kind)
        kind = kind if held else promoted(kind, own)
    for number in numbers:
        kind = with_number(kind, number)
    return kind


def with_number(dtype: Dtype, number: object) -> Dtype:
    """The dtype in which an array and a number meet."""
    if isinstance(number, (bool, np.bool_)):
        return dtype
    if foreign.is_complex(number):
        return formats.complex_of(dtype if isinstance(dtype, Format) else default())
    if isinstance(dtype, Format):
        return dtype
    if isinstance(number, (int, np.integer)):
        return INTEGER if dtype == BOOL else dtype
    return default()


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether all numbers of an array's dtype, or of a dtype, are numbers of another."""
    source, target = _of(from_), resolved(to, "to")
    if isinstance(source, Format) and isinstance(target, Format):
        return source is target or fits(source, target)
    if isinstance(source, Format):
        return False
    if isinstance(target, Format):
        return holds(target, source.name)
    return bool(np.can_cast(source, target, casting="safe"))


_FLOATING = {"f": "real floating", "c": "complex floating"}

KINDS = {
    "bool": ("bool",),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "complex floating": ("complex64", "complex128"),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a name of the standard, another dtype, or a tuple of these."""
    found = resolved(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, one) for one in kind)
    if isinstance(kind, str) and kind in ("real floating", "numeric", *KINDS):
        if isinstance(found, Format):
            return kind in ("numeric", _FLOATING[found.kind])
        if kind == "numeric":
            return found != BOOL
        return found.name in KINDS.get(kind, ())
    return found == resolved(kind, "kind")


# --- limits ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class finfo_object:
    """Limits of a format.

    ``eps``: the distance from 1 to the next number with contiguous limbs. ``max``: its largest
    leading limb with the largest limbs below, rounded to float64. ``digits``: decimal ones.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Format
    digits: int

    @property
    def tiny(self) -> float:
        """``smallest_normal``, by NumPy's older name."""
        return self.smallest_normal

    @property
    def precision(self) -> int:
        """How many decimal digits any number of so many keeps, by NumPy's name."""
        return int(-math.log10(self.eps))

    @property
    def resolution(self) -> float:
        """10^-precision."""
        return 10.0**-self.precision


@dataclass(frozen=True)
class iinfo_object:
    """Limits of integers."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def finfo(type: Any, /) -> finfo_object:
    """Limits of a format, or of an array's; of complex numbers those of their parts."""
    form = _of(type)
    if not isinstance(form, Format):
        raise FormatError(f"finfo: {form} given, a format is needed; iinfo is for integers")
    form = form.component
    lead = form.encodings[0]
    largest = float(2.0 ** (lead.overflow - 1) * (2 - 2.0 ** (1 - lead.bits)))
    return finfo_object(
        bits=8 * form.itemsize,
        eps=2.0 ** (1 - form.bits),
        max=largest,
        min=-largest,
        smallest_normal=2.0 ** (lead.smallest + lead.bits - 1),
        dtype=form,
        digits=form.digits,
    )


def iinfo(type: Any, /) -> iinfo_object:
    """Limits of a dtype of integers, or of an array's."""
    dtype = _of(type)
    if isinstance(dtype, Format) or dtype == BOOL:
        raise FormatError(f"iinfo: {dtype} given, a dtype of integers is needed")
    info = np.iinfo(dtype)
    return iinfo_object(int(info.bits), int(info.max), int(info.min), dtype)
