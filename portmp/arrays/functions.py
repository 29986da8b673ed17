"""Elementary functions on arrays.

Operands are arrays, which broadcast, and exact scalars; one at least is an array. Integers become
values of the default format, complex numbers stay complex (docs/complex.md). Results have the
operands' format and the same bits on every device; *out* may be an operand; with *where* it takes
results where that is true.
Special values are those of C99's Annex F. Bounds of errors stand in docs/functions.md.
"""

import builtins
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from portmp.arrays import complexes, dtypes, elementwise, typed
from portmp.arrays.typed import AlikeOfOne, OfOne, OfTwo
from portmp.arrays.viewed import AnyArray, made
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.elementwise import launch

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos"]
__all__ += ["cosh", "erf", "erfc", "exp", "expm1", "floor", "fmod", "gamma", "hypot", "lgamma"]
__all__ += ["log", "log1p", "log2", "log10", "round", "sin", "sinh", "tan", "tanh", "trunc"]


def _applied(name: str, names: str, *operands: Any, out: AnyArray | None = None) -> Any:
    """A function by its network's name, of operands by their names."""
    kind: dtypes.Dtype | None = elementwise.alike(operands)
    if kind is None:
        operands = tuple(elementwise.beside(operands))
        kind = elementwise.common_dtype(name, operands)
    if isinstance(kind, Format) and kind.components > 1:
        return elementwise.of_complex(name, name, kind, operands, out)
    taken = elementwise.together(name, operands, dtypes.default, list(names))
    target = None if out is None else elementwise.target(out)
    return elementwise.given_back(launch.apply(name, taken, target, tuple(names)), out)


def _whole(name: str, names: str, x: Any, out: AnyArray | None = None) -> Any:
    """A function to integers, which stay integers of their dtype."""
    given = elementwise.arrayed(x, "x")
    kind = given.dtype
    if isinstance(kind, Format) or kind.kind == "b":
        return _applied(name, names, given, out=out)
    return elementwise.positive(given, out=out)


FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""All functions by name."""


def _defined(name: str, names: str, about: str) -> Any:
    """An elementary function, by the letters of its operands and what it is."""
    compute = partial(_whole if name in ("floor", "ceil", "trunc") else _applied, name, names)
    FUNCTIONS[name] = elementwise.defined(name, list(names), about, compute)
    return FUNCTIONS[name]


exp: OfOne = _defined("exp", "x", "e^x.")
expm1: OfOne = _defined("expm1", "x", "e^x - 1, accurate about 0.")
log: OfOne = _defined("log", "x", "The natural logarithm; of zero -inf, of negative numbers NaN.")
log1p: OfOne = _defined("log1p", "x", "log(1 + x), accurate about 0.")
log2: OfOne = _defined("log2", "x", "The logarithm to base 2; of a power of two exact.")
log10: OfOne = _defined("log10", "x", "The logarithm to base 10.")
pow: OfTwo = _defined("pow", "xy", "x^y; special values as C's pow.")
sin: OfOne = _defined("sin", "x", "The sine of x radians, of any size.")
cos: OfOne = _defined("cos", "x", "The cosine of x radians, of any size.")
tan: OfOne = _defined("tan", "x", "The tangent of x radians, of any size.")
asin: OfOne = _defined("asin", "x", "The arcsine, from -pi/2 to pi/2; NaN beyond [-1, 1].")
acos: OfOne = _defined("acos", "x", "The arccosine, from 0 to pi; NaN beyond [-1, 1].")
atan: OfOne = _defined("atan", "x", "The arctangent, from -pi/2 to pi/2.")
atan2: OfTwo = _defined("atan2", "yx", "The angle of the point (x, y), from -pi to pi.")
sinh: OfOne = _defined("sinh", "x", "The hyperbolic sine.")
cosh: OfOne = _defined("cosh", "x", "The hyperbolic cosine.")
tanh: OfOne = _defined("tanh", "x", "The hyperbolic tangent.")
asinh: OfOne = _defined("asinh", "x", "The inverse hyperbolic sine.")
acosh: OfOne = _defined("acosh", "x", "The inverse hyperbolic cosine; NaN below 1.")
atanh: OfOne = _defined("atanh", "x", "The inverse hyperbolic tangent; NaN beyond [-1, 1].")
cbrt: OfOne = _defined("cbrt", "x", "The cube root, with the sign of x.")
hypot: OfTwo = _defined("hypot", "xy", "sqrt(x^2 + y^2) without overflow on the way.")
erf: OfOne = _defined("erf", "x", "The error function.")
erfc: OfOne = _defined("erfc", "x", "1 - erf(x), accurate where that is small.")
gamma: OfOne = _defined("gamma", "x", "The gamma function; NaN at negative integers.")
lgamma: OfOne = _defined("lgamma", "x", "log|gamma(x)|.")
floor: AlikeOfOne = _defined("floor", "x", "The largest integer that is not above x.")
ceil: AlikeOfOne = _defined("ceil", "x", "The smallest integer that is not below x.")
trunc: AlikeOfOne = _defined("trunc", "x", "The integer part, toward zero.")
fmod: OfTwo = _defined("fmod", "xy", "x - n y with the integer n toward zero: the sign is x's.")


@typed.keeps
def round(x: AnyArray, decimals: int = 0, *, out: AnyArray | None = None) -> Any:
    """The nearest integer, ties to even; with *decimals* other than 0 of x 10^decimals, over that.

    The integer is that of the exact x; the quotient is the format's. x itself where x 10^decimals
    has no places after the point. With *decimals* a wait: what is almost a tie is decided exactly.
    """
    if isinstance(decimals, bool) or not isinstance(decimals, (int, np.integer)):
        raise ArgumentError(f"decimals: {decimals!r:.60} given, an integer is needed")
    x = elementwise.arrayed(x, "x")
    if complexes.is_complex(x):
        return elementwise.given_back(complexes.by_parts(round, x, decimals).planes, out)
    if not decimals or (decimals > 0 and not isinstance(x.dtype, Format)):
        return _whole("round", "x", x, out)
    if not isinstance(x.dtype, Format):
        return elementwise.given_back(_to_tens(x, -int(decimals)).planes, out)
    power = Fraction(10 ** min(abs(int(decimals)), 400))
    given, x = x, x.astype(x.dtype.arithmetic, copy=False)
    scaled = x * power if decimals > 0 else x / power
    near = _nearest(x, scaled, power, decimals > 0)
    found = near / power if decimals > 0 else near * power
    # What has no digits to lose stays, as what would overflow; zeros and infinities do, whatever.
    small = elementwise.less(elementwise.abs(scaled), 1 / x.dtype.unit_roundoff)
    found = elementwise.where(elementwise.equal(near, 0), near, found)
    found = elementwise.where(elementwise.equal(x, x + x), x, found)
    found = elementwise.where(small, found, x) if decimals > 0 else found
    return elementwise.given_back(found.astype(given.dtype, copy=False).planes, out)


def _nearest(x: AnyArray, scaled: AnyArray, power: Fraction, times: bool) -> Any:
    """The integers nearest to x times (or over) a power, of whose format's *scaled* is near it."""
    near, form = _applied("round", "x", scaled), x.dtype
    half = Fraction(1, 2) if times else power / 2
    rest = elementwise.fma(x, power, -near) if times else elementwise.fma(-near, power, x)
    size = elementwise.abs(rest)
    up = elementwise.logical_and(elementwise.greater(size, half), elementwise.isfinite(size))
    near = elementwise.where(up, near + elementwise.sign(rest), near)
    margin: Any = 0  # of one limb the rest is rounded once
    if form.limbs > 1 or Fraction(float(base.scalar_limbs(form, power, "decimals")[0])) != power:
        margin = elementwise.abs(scaled) * (32 * Fraction(form.unit_roundoff) * half)
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
    up = elementwise.logical_or(rest > further, tie)
    return ((count + up.astype(wide.dtype)) * unit).astype(own)


FUNCTIONS["round"] = round
