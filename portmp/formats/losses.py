"""Digits that Python's and NumPy's floats lost beside a format that has them (``errstate``)."""

import math
import sys
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from fractions import Fraction
from types import FrameType
from typing import Any, TypeGuard

import numpy as np

from portmp.errors import RoundedError, RoundedWarning
from portmp.formats import convert
from portmp.formats.registry import Format

answer: ContextVar[str] = ContextVar("rounded", default="ignore")
"""What lost digits are answered with: one of ANSWERS."""

ANSWERS = ("ignore", "warn", "raise")


def check(data: Any, form: Format, argument: str) -> None:
    """Tell of the first number that lost digits on its way into a format, where that is asked.

    That is a float that was rounded before, or what becomes infinite: all its digits are lost.
    """
    if answer.get() == "ignore":
        return
    for value in data.flat if isinstance(data, (np.ndarray, np.generic)) else convert.leaves(data):
        if isinstance(value, (float, np.floating)) and _is_rounded(value, form.bits):
            _tell(
                f"{argument}: the float {value!s} given, a rounded number, where {form.name} has "
                f"more digits: '{value!s}' as a text, or a Fraction, has all of them"
            )
            return
        if isinstance(value, (int, np.bool_)) or "inf" in str(value).lower():
            continue
        if np.isinf(convert.to_limbs(value, form, argument)[0]):
            beyond(argument, f"{value!s:.60}", form)
            return


def beyond(argument: str, given: str, form: Format) -> None:
    """Tell of finite numbers that become infinite in a format."""
    _tell(f"{argument}: {given} given, {form.name} has infinity there: {form.reach}")


def _is_rounded(value: Any, most: int) -> bool:
    """Whether *most* bits are more than a float's type has, and its value is not its text's.

    What takes half of the type's bits, as powers of two and their small multiples do, is exact.
    """
    bits = np.finfo(type(value)).nmant + 1
    if bits >= most or not math.isfinite(value):
        return False
    n, below = value.as_integer_ratio()
    odd = n // (n & -n or 1)
    return 2 * odd.bit_length() > bits and Fraction(str(value)) != Fraction(n, below)


def beside_exact(value: Any) -> None:
    """Tell of a float that lost digits beside an exact number, which has them."""
    if answer.get() != "ignore" and _is_rounded(value, sys.maxsize):
        _tell(
            f"operand: the float {value!s} given, a rounded number, beside an exact one: "
            f"Fraction('{value!s}') has all digits"
        )


def leaving(found: float, lost: Callable[[], object]) -> None:
    """Tell where something is *lost* in the float that a caller of portmp's asks for."""
    if answer.get() == "ignore" or not math.isfinite(found) or not lost():
        return
    if not _is_own(sys._getframe(1).f_back):
        _tell(f"float: {found!r} has not all digits: to_strings, tolist and portmp's functions do")


def _tell(text: str) -> None:
    """A warning or an error."""
    if answer.get() == "raise":
        raise RoundedError(text)
    warn(text, RoundedWarning)


def warn(text: str, kind: type[Warning]) -> None:
    """A warning at the line that called portmp."""
    frame, level = sys._getframe(0).f_back, 2
    while _is_own(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)


def _is_own(frame: FrameType | None) -> TypeGuard[FrameType]:
    return frame is not None and str(frame.f_globals.get("__name__")).startswith("portmp.")
