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

import numpy as np

from portmp.arrays import blas
from portmp.arrays.array import Array, operand, zeros
from portmp.errors import ArgumentError, ShapeError, shown
from portmp.formats import Format
from portmp.linalg.operators import scaled
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


def vector(value: object, name: str, argument: str = "b") -> Array:
    """*value*, an Array (n,) in a format that computes."""
    b = operand(value, f"{name}: {argument}")
    if b.ndim != 1:
        raise ShapeError(f"{name}: {argument} {b.shape} does not fit: a vector is needed")
    base.computes(b.format, f"{name}: {argument}")
    return b


def started(x0: object, b: Array, name: str) -> Array | None:
    """The start, an Array like b."""
    if x0 is None:
        return None
    x = operand(x0, f"{name}: x0")
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


def exact(x: Array, name: str, iteration: int) -> list[Decimal]:
    """The values of x (k,) or () as decimals, by at most a rounding of 100 digits."""
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


def rotation(x: Decimal, y: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """c, s and r with c x + s y = r >= 0 and c y - s x = 0; (1, 0, 0) of zeros."""
    r = hypotenuse([x, y])
    if not r:
        return Decimal(1), Decimal(0), r
    return DIGITS.divide(x, r), DIGITS.divide(y, r), r


def hypotenuse(values: Sequence[Decimal]) -> Decimal:
    """The root of the sum of squares."""
    total = Decimal(0)
    for value in values:
        total = DIGITS.fma(value, value, total)
    return DIGITS.sqrt(total)


def fraction(value: Decimal, form: Format) -> Fraction | int:
    """A decimal as arrays take it; too small for any limb, it is zero."""
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
    if size >= np.finfo(x.format.word).maxexp and not math.isfinite(float(abs(x).max())):
        raise ArgumentError(
            f"{name}: the solution is beyond the range of {x.format.name}: its norm is near "
            f"2^{size}"
        )
    return x
