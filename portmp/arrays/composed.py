"""Elementwise functions that are made of others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from portmp.arrays import creation, dtypes, elementwise, functions, manipulation
from portmp.arrays.viewed import AnyArray, wrapped
from portmp.errors import FormatError
from portmp.formats import Format, constants
from portmp.runtime.planes import Numbers, Planes


@elementwise.maskable
def logaddexp(x1: Any, x2: Any, /, *, out: AnyArray | None = None) -> Any:
    """log(e^x1 + e^x2): the larger one, plus log1p(exp(the smaller one less it)).

    Of equal ones x1 + ln2.
    """
    first, second = elementwise.views("logaddexp", [x1, x2])
    larger, smaller = elementwise.maximum(first, second), elementwise.minimum(first, second)
    apart = larger + functions.log1p(functions.exp(smaller - larger))
    same = elementwise.equal(first, second)
    found = elementwise.where(same, first + constants.ln2, apart)
    return elementwise.given_back(found.planes, out)


@elementwise.maskable
def nextafter(x1: Any, x2: Any, /, *, out: AnyArray | None = None) -> Any:
    """The number after x1 on the way to x2, of formats with one limb.

    FormatError for others: between two of their values lie more, with smaller lower limbs.
    """
    first, second = manipulation.broadcast_arrays(*elementwise.views("nextafter", [x1, x2]))
    view = first.planes
    if not isinstance(view, Planes) or view.format.limbs > 1 or view.format.coded:
        raise FormatError(f"nextafter: {dtypes.of_view(view)} has no next number")
    moved = first.copy()
    bits = wrapped(_bits(moved.planes))
    # Bits of positive numbers are in their order, those of negative ones in the reverse order.
    away = elementwise.less(first, second) == elementwise.greater(first, 0)
    bits[...] = bits + (away.astype(bits.dtype) * 2 - 1)
    tiny = elementwise.copysign(_SMALLEST[view.format.word], second)
    found = elementwise.where(elementwise.equal(first, 0), tiny, moved)
    found = elementwise.where(elementwise.equal(first, second), second, found)
    unknown = elementwise.logical_or(elementwise.isnan(first), elementwise.isnan(second))
    return elementwise.given_back(elementwise.where(unknown, first + second, found).planes, out)


_SMALLEST = {"float32": 2.0**-149, "float64": 2.0**-1074}
"""The smallest positive number of a word."""


def _bits(view: Planes) -> Numbers:
    """The same memory as integers."""
    dtype = {"float32": "int32", "float64": "int64"}[view.format.word]
    return Numbers(dtype, view.shape, view.strides, view.start, view.buffers, view.queue)


def powers_of_two(exponents: Any, word: Format) -> Any:
    """2 to the power of integers for which it is a normal number of a word."""
    found = creation.empty(exponents.shape, word, exponents.queue)
    bits = wrapped(_bits(found.planes))
    bits[...] = (exponents + _BIASES[word.name]).astype(bits.dtype) * 2 ** (word.bits - 1)
    return found


_BIASES = {"float32": 127, "float64": 1023}
"""What is added to exponents in a word."""


def radians(x: AnyArray, /) -> Any:
    """Degrees as radians: x times pi / 180, which is rounded once."""
    return elementwise.multiply(x, Fraction(constants.pi) / 180)


def degrees(x: AnyArray, /) -> Any:
    """Radians as degrees: x times 180 / pi, which is rounded once."""
    return elementwise.multiply(x, 180 / Fraction(constants.pi))


deg2rad, rad2deg = radians, degrees


def conj(x: AnyArray, /) -> Any:
    """The array itself: numbers are real."""
    return manipulation.checked(x, "x")


def real(x: AnyArray, /) -> Any:
    """The array itself: numbers are real."""
    return manipulation.checked(x, "x")


def imag(x: AnyArray, /) -> Any:
    """Zeros of the shape of x: numbers are real."""
    return creation.zeros_like(manipulation.checked(x, "x"))
