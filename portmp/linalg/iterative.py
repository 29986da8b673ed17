"""What iterative methods share: their result, when they end, and numbers of small systems.

The small systems of a round (one number or a few for each iteration) are the host's, in decimal
arithmetic of more digits than any format has, which rounds the same on every machine.
"""

from __future__ import annotations

import decimal
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from portmp import formats
from portmp.arrays import blas
from portmp.arrays.array import Array, operand, zeros
from portmp.arrays.complexes import in_complex
from portmp.errors import ArgumentError, ShapeError, shown
from portmp.formats import Format
from portmp.formats.exact import Complex
from portmp.linalg.operators import scaled
from portmp.linalg.scaling import sizes
from portmp.routines import base

SLACK = 16
"""How many units of roundoff of |a| |x| + |b| full accuracy may miss: a product's own errors."""

DIGITS = decimal.Context(
    prec=100,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=decimal.MIN_EMIN,
    Emax=decimal.MAX_EMAX,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)
"""The arithmetic of small systems."""

LARGEST = sys.float_info.max

DEEPEST = {"float32": 2.0**-50, "float64": 2.0**-400}
"""A round reduces residuals no further: their squares must not underflow in these words."""


@dataclass(frozen=True)
class Solution:
    """What ``cg``, ``gmres`` or ``minres`` found.

    ``residual`` is \\|b - a x\\| / \\|b\\| in the Euclidean norm, computed in b's format, and
    ``converged`` whether it is as small as was asked for. ``rounds`` are the iterations of each
    round, ``residuals`` the residuals after each.
    """

    x: Array
    residual: float
    converged: bool
    rounds: tuple[int, ...]
    residuals: tuple[float, ...]

    @property
    def iterations(self) -> int:
        """Iterations of all rounds: products with the inner matrix."""
        return sum(self.rounds)


def nothing(b: Array) -> Solution:
    """Of a x = b where b is zero."""
    return Solution(zeros(b.shape, b.format, b.queue), 0.0, True, (), ())


def usual(b: Array) -> int:
    """How many iterations there are at most, unless that is told."""
    return 10 * b.size * b.format.limbs


def vector(value: object, name: str, *beside: object) -> Array:
    """b, an Array (n,) in a format that computes: complex where an operand *beside* it is."""
    b = operand(value, f"{name}: b")
    if b.ndim != 1:
        raise ShapeError(f"{name}: b {b.shape} does not fit: a vector is needed")
    base.computes(b.format.component, f"{name}: b")
    known = (one if isinstance(one, Format) else getattr(one, "format", None) for one in beside)
    if any(isinstance(form, Format) and form.components > 1 for form in known):
        return in_complex(b, formats.complex_of(b.format))
    return b


def started(x0: object, b: Array, name: str) -> Array | None:
    """The start, an Array like b."""
    if x0 is None:
        return None
    x = in_complex(operand(x0, f"{name}: x0"), b.format)
    base.same(b.format, b=b.planes, x0=x.planes)
    if x.shape != b.shape:
        raise ShapeError(f"{name}: x0 {x.shape} does not fit b {b.shape}")
    return x


def check_number(name: str, argument: str, value: float | None, most: float) -> None:
    """ArgumentError unless *value* is None or a float between 0 and *most*."""
    if value is not None and not (isinstance(value, (float, np.floating)) and 0 < value < most):
        raise ArgumentError(
            f"{name}: {argument} {shown(value)} given, a float between 0 and {most} is needed"
        )


def check_tolerances(name: str, argument: str, rtol: float | None, atol: float | None) -> float:
    """*atol*, 0 by default; ArgumentError unless both are numbers a residual may be held to.

    *rtol*, called *argument*, is below 1, and 0 only beside an *atol*.
    """
    number = (int, float, np.integer, np.floating)
    if atol is not None and not (
        isinstance(atol, number) and not isinstance(atol, bool) and 0 <= atol <= LARGEST
    ):
        raise ArgumentError(
            f"{name}: atol {shown(atol)} given, a finite number from 0 on is needed"
        )
    if not (atol and isinstance(rtol, number) and rtol == 0):
        check_number(name, argument, rtol, 1)
    return float(atol or 0)


def check_count(name: str, argument: str, value: int | None) -> None:
    """ArgumentError unless *value* is None or at least 1."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if value is not None and not (whole and value >= 1):
        raise ArgumentError(
            f"{name}: {argument} {shown(value)} given, a whole number, 1 or more, is needed"
        )


def check_callback(name: str, value: object) -> None:
    """ArgumentError unless *value* is None or a function."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{name}: callback: {type(value).__name__} given, a function is needed")


def norm(x: Array, name: str) -> float:
    """The Euclidean norm; ArgumentError where it is not finite."""
    found = float(blas.nrm2(x)) if x.size else 0.0
    if not math.isfinite(found):
        raise ArgumentError(
            f"{name}: a norm is {found}: a or b hold infinities or NaN, or are too large for "
            f"{x.format.name}"
        )
    return found


def exact(x: Array, name: str, iteration: int) -> list[Any]:
    """The values of x (k,) or () as decimals, by at most a rounding of 100 digits."""
    if x.format.components > 1:
        parts = (exact(part, name, iteration) for part in (x.real, x.imag))
        return [Pair(*pair) for pair in zip(*parts, strict=True)]
    limbs = [np.atleast_1d(limb) for limb in x.to_limbs()]
    if not np.isfinite(limbs[0]).all():
        raise ArgumentError(
            f"{name}: infinities or NaN in iteration {iteration}: a or b hold some, or their "
            f"products are beyond the range of {x.format.name}"
        )
    found = []
    for values in zip(*(limb.tolist() for limb in limbs), strict=True):
        total = Decimal(0)
        for value in values:
            total = DIGITS.add(total, Decimal(value))
        found.append(total)
    return found


class Pair(NamedTuple):
    """A complex number of decimals."""

    real: Decimal
    imag: Decimal = Decimal(0)


def fma(x: Any, y: Any, z: Any) -> Any:
    """x y + z of decimals or pairs."""
    if not any(isinstance(v, Pair) for v in (x, y, z)):
        return DIGITS.fma(x, y, z)
    (a, b), (c, d), (e, f) = (v if isinstance(v, Pair) else Pair(v) for v in (x, y, z))
    real = DIGITS.fma(a, c, DIGITS.fma(b.copy_negate(), d, e))
    return Pair(real, DIGITS.fma(a, d, DIGITS.fma(b, c, f)))


def over(x: Any, y: Decimal) -> Any:
    """A decimal or a pair by a decimal."""
    return Pair(*(DIGITS.divide(v, y) for v in x)) if isinstance(x, Pair) else DIGITS.divide(x, y)


def negated(x: Any) -> Any:
    """The same with other signs."""
    return Pair(*(v.copy_negate() for v in x)) if isinstance(x, Pair) else x.copy_negate()


def rotated(c: Any, s: Decimal, x: Any, y: Any) -> tuple[Any, Any]:
    """conj(c) x + s y and c y - s x."""
    if isinstance(c, Decimal) and isinstance(x, Decimal):
        lower = DIGITS.subtract(DIGITS.multiply(c, y), DIGITS.multiply(s, x))
        return DIGITS.fma(c, x, DIGITS.multiply(s, y)), lower
    opposite = Pair(c.real, c.imag.copy_negate()) if isinstance(c, Pair) else c
    zero = Pair(Decimal(0))
    return fma(opposite, x, fma(s, y, zero)), fma(c, y, fma(s.copy_negate(), x, zero))


def rotation(x: Any, y: Decimal) -> tuple[Any, Decimal, Decimal]:
    """c, s and r with conj(c) x + s y = r >= 0 and c y - s x = 0; (1, 0, 0) of zeros."""
    r = hypotenuse([x, y])
    if not r:
        return Decimal(1), Decimal(0), r
    return over(x, r), DIGITS.divide(y, r), r


def hypotenuse(values: Sequence[Any]) -> Decimal:
    """The root of the sum of squares of absolute values."""
    total = Decimal(0)
    for value in values:
        for part in value if isinstance(value, Pair) else (value,):
            total = DIGITS.fma(part, part, total)
    return DIGITS.sqrt(total)


def fraction(value: Any, form: Format) -> Any:
    """A decimal, or a pair, as arrays take it; too small for any limb, it is zero."""
    if isinstance(value, Pair):
        return Complex(*(fraction(part, form) for part in value))
    smallest = -46 if form.word == "float32" else -325
    return Fraction(value) if value and value.adjusted() > smallest else 0


@dataclass(frozen=True)
class Approximation:
    """x and b - a x, and the norms of that and of x."""

    x: Array
    residual: Array
    left: float
    length: float


def given_back(name: str, found: Approximation, power: int) -> Array:
    """2^power x; ArgumentError where that is beyond the format's range."""
    x = scaled(found.x, power)
    # No component is longer than x.
    size = math.frexp(found.length)[1] + power
    if size >= np.finfo(x.format.word).maxexp and not math.isfinite(float(sizes(x).max())):
        raise ArgumentError(
            f"{name}: the solution is beyond the range of {x.format.name}: its norm is near "
            f"2^{size}"
        )
    return x
