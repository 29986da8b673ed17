"""Elementary functions on arrays.

Operands are arrays, which broadcast, and exact scalars; one at least is an array. Integers become
values of the default format. Results have the operands' format and the same bits on every device;
*out* may be an operand; with *where* it takes results where that is true.
Special values are those of C99's Annex F. Bounds of errors stand in docs/functions.md.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from portmp.arrays import dtypes, elementwise
from portmp.arrays.viewed import AnyArray, made
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.functions import launch


def _applied(name: str, out: AnyArray | None, **given: Any) -> Any:
    """A function by its network's name, of operands by their names."""
    operands = elementwise.together(name, tuple(given.values()), dtypes.default, tuple(given))
    target = None if out is None else elementwise.target(out)
    found = launch.apply(name, operands, target, tuple(given))
    return elementwise.given_back(found, out)


def _whole(name: str, x: Any, out: AnyArray | None) -> Any:
    """A function to integers, which stay integers of their dtype."""
    given = elementwise.arrayed(x, "x")
    kind = dtypes.of_view(given.planes)
    if isinstance(kind, Format) or kind.kind == "b":
        return _applied(name, out, x=given)
    return elementwise.positive(given, out=out)


@elementwise.maskable
def exp(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """e^x."""
    return _applied("exp", out, x=x)


@elementwise.maskable
def expm1(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """e^x - 1, accurate about 0."""
    return _applied("expm1", out, x=x)


@elementwise.maskable
def log(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The natural logarithm; of zero -inf, of negative numbers NaN."""
    return _applied("log", out, x=x)


@elementwise.maskable
def log1p(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """log(1 + x), accurate about 0."""
    return _applied("log1p", out, x=x)


@elementwise.maskable
def log2(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The logarithm to base 2; of a power of two exact."""
    return _applied("log2", out, x=x)


@elementwise.maskable
def log10(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The logarithm to base 10."""
    return _applied("log10", out, x=x)


@elementwise.maskable
def pow(x: Any, y: Any, *, out: AnyArray | None = None) -> Any:
    """x^y; special values as C's pow."""
    return _applied("pow", out, x=x, y=y)


@elementwise.maskable
def sin(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The sine of x radians, of any size."""
    return _applied("sin", out, x=x)


@elementwise.maskable
def cos(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The cosine of x radians, of any size."""
    return _applied("cos", out, x=x)


@elementwise.maskable
def tan(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The tangent of x radians, of any size."""
    return _applied("tan", out, x=x)


@elementwise.maskable
def asin(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The arcsine, from -pi/2 to pi/2; NaN beyond [-1, 1]."""
    return _applied("asin", out, x=x)


@elementwise.maskable
def acos(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The arccosine, from 0 to pi; NaN beyond [-1, 1]."""
    return _applied("acos", out, x=x)


@elementwise.maskable
def atan(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The arctangent, from -pi/2 to pi/2."""
    return _applied("atan", out, x=x)


@elementwise.maskable
def atan2(y: Any, x: Any, *, out: AnyArray | None = None) -> Any:
    """The angle of the point (x, y), from -pi to pi."""
    return _applied("atan2", out, y=y, x=x)


@elementwise.maskable
def sinh(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The hyperbolic sine."""
    return _applied("sinh", out, x=x)


@elementwise.maskable
def cosh(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The hyperbolic cosine."""
    return _applied("cosh", out, x=x)


@elementwise.maskable
def tanh(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The hyperbolic tangent."""
    return _applied("tanh", out, x=x)


@elementwise.maskable
def asinh(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The inverse hyperbolic sine."""
    return _applied("asinh", out, x=x)


@elementwise.maskable
def acosh(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The inverse hyperbolic cosine; NaN below 1."""
    return _applied("acosh", out, x=x)


@elementwise.maskable
def atanh(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The inverse hyperbolic tangent; NaN beyond [-1, 1]."""
    return _applied("atanh", out, x=x)


@elementwise.maskable
def cbrt(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The cube root, with the sign of x."""
    return _applied("cbrt", out, x=x)


@elementwise.maskable
def hypot(x: Any, y: Any, *, out: AnyArray | None = None) -> Any:
    """sqrt(x^2 + y^2) without overflow on the way."""
    return _applied("hypot", out, x=x, y=y)


@elementwise.maskable
def erf(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The error function."""
    return _applied("erf", out, x=x)


@elementwise.maskable
def erfc(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """1 - erf(x), accurate where that is small."""
    return _applied("erfc", out, x=x)


@elementwise.maskable
def gamma(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The gamma function; NaN at negative integers."""
    return _applied("gamma", out, x=x)


@elementwise.maskable
def lgamma(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """log|gamma(x)|."""
    return _applied("lgamma", out, x=x)


@elementwise.maskable
def floor(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The largest integer that is not above x."""
    return _whole("floor", x, out)


@elementwise.maskable
def ceil(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The smallest integer that is not below x."""
    return _whole("ceil", x, out)


@elementwise.maskable
def trunc(x: AnyArray, *, out: AnyArray | None = None) -> Any:
    """The integer part, toward zero."""
    return _whole("trunc", x, out)


def round(x: AnyArray, decimals: int = 0, *, out: AnyArray | None = None) -> Any:
    """The nearest integer, ties to even; with *decimals* other than 0 of x 10^decimals, over that.

    The integer is that of the exact x; the quotient is the format's. x itself where x 10^decimals
    has no places after the point. With *decimals* a wait: what is almost a tie is decided exactly.
    """
    if isinstance(decimals, bool) or not isinstance(decimals, (int, np.integer)):
        raise ArgumentError(f"decimals: {decimals!r:.60} given, an integer is needed")
    x = elementwise.arrayed(x, "x")
    if not decimals or (decimals > 0 and not isinstance(x.dtype, Format)):
        return _whole("round", x, out)
    if not isinstance(x.dtype, Format):
        return elementwise.given_back(_to_tens(x, -int(decimals)).planes, out)
    power = Fraction(10 ** min(abs(int(decimals)), 400))
    given, x = x, x.astype(x.dtype.arithmetic, copy=False)
    scaled = x * power if decimals > 0 else x / power
    near = _nearest(x, scaled, power, decimals > 0)
    found = near / power if decimals > 0 else near * power
    # What has no digits to lose stays, as what would overflow; zeros do, whatever the power is.
    small = elementwise.less(elementwise.abs(scaled), 1 / x.dtype.unit_roundoff)
    found = elementwise.where(elementwise.equal(near, 0), near, found)
    found = elementwise.where(elementwise.equal(x, 0), x, found)
    found = elementwise.where(small, found, x) if decimals > 0 else found
    return elementwise.given_back(found.astype(given.dtype, copy=False).planes, out)


def _nearest(x: AnyArray, scaled: AnyArray, power: Fraction, times: bool) -> Any:
    """The integers nearest to x times (or over) a power, of whose format's *scaled* is near it."""
    near, form = _applied("round", None, x=scaled), x.dtype
    half = Fraction(1, 2) if times else power / 2
    rest = elementwise.fma(x, power, -near) if times else elementwise.fma(-near, power, x)
    size = elementwise.abs(rest)
    up = elementwise.logical_and(elementwise.greater(size, half), elementwise.isfinite(size))
    near = elementwise.where(up, near + elementwise.sign(rest), near)
    margin: Any = 0  # of one limb the rest is rounded once
    if form.limbs > 1 or Fraction(float(base.scalar_limbs(form, power, "decimals")[0])) != power:
        margin = elementwise.abs(scaled) * (32 * form.unit_roundoff * half)
    there = elementwise.less_equal(elementwise.abs(size - half), margin)
    if bool(there.any()):
        exact = [v * power if times else v / power for v in x[there].to_fractions()]
        whole = [Fraction(builtins.round(v)) for v in exact]
        near[there] = made(whole, dtype=form, device=x.queue)
    return near


def _to_tens(x: AnyArray, places: int) -> Any:
    """Integers rounded to a multiple of 10^places, ties to even multiples, in their dtype."""
    own = x.dtype
    wide = x.astype("uint64" if own == "uint64" else "int64")
    if 10**places >= 2**63:
        return x * 0
    unit = 10**places
    count, rest = wide // unit, wide % unit
    odd = elementwise.equal(count % 2, 1)
    further = unit - rest
    tie = elementwise.logical_and(elementwise.equal(rest, further), odd)
    up = elementwise.logical_or(elementwise.greater(rest, further), tie)
    return ((count + up.astype(wide.dtype)) * unit).astype(own)


@elementwise.maskable
def fmod(x: Any, y: Any, *, out: AnyArray | None = None) -> Any:
    """x - n y with the integer n toward zero: the sign is x's."""
    return _applied("fmod", out, x=x, y=y)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
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
    "rint": "round",
}
"""Names of NumPy's universal functions that are others here."""
