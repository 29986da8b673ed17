"""Powers, and quotients and remainders that are rounded down."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from portmp.arrays import creation, dtypes, elementwise, functions
from portmp.arrays.dtypes import BOOL
from portmp.arrays.viewed import AnyArray, Viewed, wrapped
from portmp.errors import FormatError
from portmp.formats import Format
from portmp.routines.plain import launch as plain


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


def _remainders(x1: Any, x2: Any) -> tuple[Any, Any, Any]:
    """What fmod leaves, whether it has not the sign of x2, and x2 as an array."""
    first, second = elementwise.views("remainder", [x1, x2])
    rest = functions.fmod(first, second)
    other = elementwise.not_equal(elementwise.less(rest, 0), elementwise.less(second, 0))
    return rest, elementwise.logical_and(other, elementwise.not_equal(rest, 0)), second


@elementwise.maskable
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The quotient rounded down; of integers 0 where x2 is 0, of values the quotient there.

    Of values it is round((x1 - fmod(x1, x2)) / x2), less 1 where the rest has not the sign of x2.
    """
    x1, x2 = elementwise.beside([x1, x2])
    found = _plain("floor_divide", "floor_divide", x1, x2)
    if found is None:
        rest, other, second = _remainders(x1, x2)
        whole = functions.round((x1 - rest) / second)
        found, quotient = elementwise.where(other, whole - 1, whole), x1 / second
        zero = elementwise.equal(found, 0)
        found = elementwise.where(zero, elementwise.copysign(0, quotient), found)
        found = elementwise.where(elementwise.equal(second, 0), quotient, found)
    return found


@elementwise.maskable
def remainder(x1: Any, x2: Any, /) -> Any:
    """What the quotient rounded down leaves, with the sign of x2; of integers 0 where x2 is 0.

    Of values it is fmod(x1, x2), plus x2 where that has not its sign.
    """
    x1, x2 = elementwise.beside([x1, x2])
    found = _plain("remainder", "remainder", x1, x2)
    if found is None:
        rest, other, second = _remainders(x1, x2)
        found = elementwise.where(other, rest + second, elementwise.copysign(rest, second))
    return found


@elementwise.maskable
def power(x1: Any, x2: Any, /) -> Any:
    """x1 to the power x2: ``pow``, but for some exponents that are Python's numbers.

    A whole number from -4 to 4 takes products: from its second bit on, the power so far is squared
    and, where the bit is 1, multiplied by x1; of a negative one the reciprocal. 0.5 takes the
    square root. Formats that have no ``pow`` take all whole numbers so, and no others. Of integers
    a negative number is refused, as NumPy does; negative ones in arrays leave whole parts.
    """
    x1, x2 = elementwise.beside([x1, x2])
    if isinstance(x1, Viewed) and isinstance(x2, (int, np.integer)) and x2 < 0:
        kind = x1.dtype
        if not isinstance(kind, Format):
            raise FormatError(
                f"pow: {kind} to the power {x2} given, whose results are no integers: "
                f"astype({dtypes.default().name!r}) makes values of them"
            )
    found = _plain("pow", "pow", x1, x2)
    if found is None:
        found = _of_values(x1, x2)
    return found


_NUMBERS = (int, float, np.integer, np.floating, Fraction)
_BY_PRODUCTS = 4


def _of_values(x1: Any, x2: Any) -> Any:
    if (
        isinstance(x1, Viewed)
        and isinstance(x2, _NUMBERS)
        and (isinstance(x2, int) or math.isfinite(x2))
    ):
        kind = x1.dtype
        known = not (isinstance(kind, Format) and kind.paper)
        whole = int(x2)
        if x2 == whole and (abs(whole) <= _BY_PRODUCTS or not known):
            return whole_power(x1, whole)
        if x2 == Fraction(1, 2):
            return elementwise.sqrt(x1)
    return functions.pow(x1, x2)


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
