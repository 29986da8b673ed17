"""Powers, and quotients and remainders that are rounded down."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from portmp.arrays import creation, elementwise
from portmp.arrays.dtypes import BOOL
from portmp.arrays.viewed import AnyArray, Viewed, wrapped
from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format
from portmp.routines import plain


def _plain(operation: str, name: str, x1: Any, x2: Any) -> Any:
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
    return wrapped(plain.apply(operation, given, kind.name))


def floor_divide(x1: Any, x2: Any, /, *, out: AnyArray | None = None) -> Any:
    """The quotient rounded down; of integers 0 where x2 is 0."""
    found = _plain("floor_divide", "floor_divide", x1, x2)
    if found is None:
        raise FormatError("floor_divide: integers are needed")
    return elementwise.given_back(found.planes, out)


def remainder(x1: Any, x2: Any, /, *, out: AnyArray | None = None) -> Any:
    """What the quotient rounded down leaves, with the sign of x2; of integers 0 where x2 is 0."""
    found = _plain("remainder", "remainder", x1, x2)
    if found is None:
        raise FormatError("remainder: integers are needed")
    return elementwise.given_back(found.planes, out)


def power(x1: Any, x2: Any, /, *, out: AnyArray | None = None) -> Any:
    """x1 to the power x2.

    A whole number n as x2 takes products alone: from n's second bit on, the power so far is squared
    and, where the bit is 1, multiplied by x1; of a negative n the reciprocal. 0.5 takes the
    square root.
    """
    found = _plain("pow", "pow", x1, x2)
    if found is None:
        found = _of_values(x1, x2)
    return elementwise.given_back(found.planes, out)


_NUMBERS = (int, float, np.integer, np.floating, Fraction)


def _of_values(x1: Any, x2: Any) -> Any:
    if isinstance(x1, Viewed) and isinstance(x2, _NUMBERS) and math.isfinite(x2):
        if x2 == int(x2):
            return whole_power(x1, int(x2))
        if x2 == Fraction(1, 2):
            return elementwise.sqrt(x1)
    raise ArgumentError("pow: x2: a whole number or 0.5 is needed")


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
