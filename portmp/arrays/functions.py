"""Elementary functions on arrays.

Operands are Arrays of one format, which broadcast, and exact scalars; one at least is an Array.
Results have the operands' format and the same bits on every device; *out* may be an operand.
Special values are those of C99's Annex F. Bounds of errors stand in docs/functions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from portmp.arrays.array import Array, operand
from portmp.errors import ArgumentError
from portmp.routines.functions import launch


def _applied(name: str, out: Array | None, **given: Any) -> Array:
    """A function by its network's name, of operands by their names."""
    first = next((x for x in given.values() if isinstance(x, Array)), None)
    if first is None:
        named = ", ".join(f"{key}: {type(value).__name__}" for key, value in given.items())
        raise ArgumentError(f"{name}: {named} given, an Array is needed: portmp.array(...)")
    operands = [first._operand(value, key) for key, value in given.items()]
    target = None if out is None else operand(out, "out").planes
    return Array(launch.apply(name, operands, target, tuple(given)))


def exp(x: Array, *, out: Array | None = None) -> Array:
    """e^x."""
    return _applied("exp", out, x=x)


def expm1(x: Array, *, out: Array | None = None) -> Array:
    """e^x - 1, accurate about 0."""
    return _applied("expm1", out, x=x)


def log(x: Array, *, out: Array | None = None) -> Array:
    """The natural logarithm; of zero -inf, of negative numbers NaN."""
    return _applied("log", out, x=x)


def log1p(x: Array, *, out: Array | None = None) -> Array:
    """log(1 + x), accurate about 0."""
    return _applied("log1p", out, x=x)


def log2(x: Array, *, out: Array | None = None) -> Array:
    """The logarithm to base 2; of a power of two exact."""
    return _applied("log2", out, x=x)


def log10(x: Array, *, out: Array | None = None) -> Array:
    """The logarithm to base 10."""
    return _applied("log10", out, x=x)


def pow(x: Any, y: Any, *, out: Array | None = None) -> Array:
    """x^y; special values as C's pow."""
    return _applied("pow", out, x=x, y=y)


def sin(x: Array, *, out: Array | None = None) -> Array:
    """The sine of x radians, of any size."""
    return _applied("sin", out, x=x)


def cos(x: Array, *, out: Array | None = None) -> Array:
    """The cosine of x radians, of any size."""
    return _applied("cos", out, x=x)


def tan(x: Array, *, out: Array | None = None) -> Array:
    """The tangent of x radians, of any size."""
    return _applied("tan", out, x=x)


def asin(x: Array, *, out: Array | None = None) -> Array:
    """The arcsine, from -pi/2 to pi/2; NaN beyond [-1, 1]."""
    return _applied("asin", out, x=x)


def acos(x: Array, *, out: Array | None = None) -> Array:
    """The arccosine, from 0 to pi; NaN beyond [-1, 1]."""
    return _applied("acos", out, x=x)


def atan(x: Array, *, out: Array | None = None) -> Array:
    """The arctangent, from -pi/2 to pi/2."""
    return _applied("atan", out, x=x)


def atan2(y: Any, x: Any, *, out: Array | None = None) -> Array:
    """The angle of the point (x, y), from -pi to pi."""
    return _applied("atan2", out, y=y, x=x)


def sinh(x: Array, *, out: Array | None = None) -> Array:
    """The hyperbolic sine."""
    return _applied("sinh", out, x=x)


def cosh(x: Array, *, out: Array | None = None) -> Array:
    """The hyperbolic cosine."""
    return _applied("cosh", out, x=x)


def tanh(x: Array, *, out: Array | None = None) -> Array:
    """The hyperbolic tangent."""
    return _applied("tanh", out, x=x)


def asinh(x: Array, *, out: Array | None = None) -> Array:
    """The inverse hyperbolic sine."""
    return _applied("asinh", out, x=x)


def acosh(x: Array, *, out: Array | None = None) -> Array:
    """The inverse hyperbolic cosine; NaN below 1."""
    return _applied("acosh", out, x=x)


def atanh(x: Array, *, out: Array | None = None) -> Array:
    """The inverse hyperbolic tangent; NaN beyond [-1, 1]."""
    return _applied("atanh", out, x=x)


def cbrt(x: Array, *, out: Array | None = None) -> Array:
    """The cube root, with the sign of x."""
    return _applied("cbrt", out, x=x)


def hypot(x: Any, y: Any, *, out: Array | None = None) -> Array:
    """sqrt(x^2 + y^2) without overflow on the way."""
    return _applied("hypot", out, x=x, y=y)


def erf(x: Array, *, out: Array | None = None) -> Array:
    """The error function."""
    return _applied("erf", out, x=x)


def erfc(x: Array, *, out: Array | None = None) -> Array:
    """1 - erf(x), accurate where that is small."""
    return _applied("erfc", out, x=x)


def gamma(x: Array, *, out: Array | None = None) -> Array:
    """The gamma function; NaN at negative integers."""
    return _applied("gamma", out, x=x)


def lgamma(x: Array, *, out: Array | None = None) -> Array:
    """log|gamma(x)|."""
    return _applied("lgamma", out, x=x)


def floor(x: Array, *, out: Array | None = None) -> Array:
    """The largest integer that is not above x."""
    return _applied("floor", out, x=x)


def ceil(x: Array, *, out: Array | None = None) -> Array:
    """The smallest integer that is not below x."""
    return _applied("ceil", out, x=x)


def trunc(x: Array, *, out: Array | None = None) -> Array:
    """The integer part, toward zero."""
    return _applied("trunc", out, x=x)


def round(x: Array, *, out: Array | None = None) -> Array:
    """The nearest integer, ties to even."""
    return _applied("round", out, x=x)


def fmod(x: Any, y: Any, *, out: Array | None = None) -> Array:
    """x - n y with the integer n toward zero: the sign is x's."""
    return _applied("fmod", out, x=x, y=y)


FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    function.__name__: function
    for function in (
        exp,
        expm1,
        log,
        log1p,
        log2,
        log10,
        pow,
        sin,
        cos,
        tan,
        asin,
        acos,
        atan,
        atan2,
        sinh,
        cosh,
        tanh,
        asinh,
        acosh,
        atanh,
        cbrt,
        hypot,
        erf,
        erfc,
        gamma,
        lgamma,
        floor,
        ceil,
        trunc,
        round,
        fmod,
    )
}
"""All functions by name."""

NUMPY = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "float_power": "pow",
    "power": "pow",
    "rint": "round",
}
"""Names of NumPy's universal functions that are others here."""
