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


def sin(x: Array, *, out: Array | None = None) -> Array:
    """The sine of x radians, of any size."""
    return _applied("sin", out, x=x)


def cos(x: Array, *, out: Array | None = None) -> Array:
    """The cosine of x radians, of any size."""
    return _applied("cos", out, x=x)


def tan(x: Array, *, out: Array | None = None) -> Array:
    """The tangent of x radians, of any size."""
    return _applied("tan", out, x=x)


FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    function.__name__: function for function in (exp, log, log1p, log2, log10, sin, cos, tan)
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
