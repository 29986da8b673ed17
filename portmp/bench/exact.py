"""Exact results of sampled entries in integers, and how far computed ones are from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from portmp.bench.values import Values
from portmp.formats import Format, convert

WRONG = 2.0**13
"""Errors beyond this many u^N T are no rounding errors: a limb is wrong."""


@dataclass(frozen=True)
class Walk:
    """Entries of an operand: the value *first* of the sequence and each *step*-th after it."""

    first: int
    step: int = 1


@dataclass(frozen=True)
class Entry:
    """What an entry should be, and T, the sum of the magnitudes of its terms."""

    exact: Fraction
    terms: float


@dataclass(frozen=True)
class Errors:
    """The largest errors of some entries: relative to the result, and in units of u^N T.

    ``allowed``: the largest share of what rounding may do.
    """

    samples: int
    relative: float
    scaled: float
    allowed: float

    @property
    def wrong(self) -> bool:
        """Whether an error is beyond rounding."""
        return not self.allowed <= 1

    def as_dict(self) -> dict[str, Any]:
        """As JSON has them: null where a result is not finite."""
        return {
            "samples": self.samples,
            "relative": self.relative if math.isfinite(self.relative) else None,
            "scaled": self.scaled if math.isfinite(self.scaled) else None,
            "wrong": self.wrong,
        }


def fraction(limbs: Sequence[float]) -> Fraction | None:
    """The exact value of limbs; None where one is not finite."""
    return convert.to_fraction(limbs) if all(map(math.isfinite, limbs)) else None


def power(exponent: int) -> Fraction:
    """2^exponent, exactly."""
    return Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent)


def dot(values: Values, x: Walk, y: Walk, count: int, others: Values | None = None) -> Entry:
    """The sum of *count* products of two walks through *values* (y's through *others*, if given).

    Products repeat with the values, so one period of them is enough for any length.
    """
    others = others or values
    period = values.period
    rounds, rest = divmod(count, period)
    total, terms = 0, 0.0
    for times, length in ((rounds, period), (1, rest)):
        if times and length:
            part, size = _products(values, x, others, y, length)
            total += times * part
            terms += times * size
    return Entry(total * power(values.exponent + others.exponent), terms)


def _products(values: Values, x: Walk, others: Values, y: Walk, count: int) -> tuple[int, float]:
    """The integer sum of products, and the sum of their magnitudes."""
    steps = np.arange(count)
    at_x, at_y = ((w.first + w.step * steps) % values.period for w in (x, y))
    total = int(np.dot(values.integers(at_x), others.integers(at_y)))
    return total, float(np.dot(values.sizes[at_x], others.sizes[at_y]))


def number(values: Values, index: int) -> Fraction:
    """Value *index* of the sequence."""
    place = np.array([index % values.period])
    return int(values.integers(place)[0]) * power(values.exponent)


def root(x: Fraction, bits: int) -> Fraction:
    """The square root of *x* with more than *bits* right bits, rounded down."""
    places = bits + max(0, x.denominator.bit_length() - x.numerator.bit_length()) // 2 + 2
    return Fraction(math.isqrt((x.numerator << 2 * places) // x.denominator), 2**places)


def errors(
    found: Iterable[Fraction | None], entries: Sequence[Entry], unit: float | Fraction,
    parent: float | Fraction | None = None,
) -> Errors:  # fmt: skip
    """The largest errors of *found* (None: not finite) against *entries*; *unit* is u^N.

    Results that are stored short are computed with u^N of *parent*, and rounded or cut off once.
    """
    relative = scaled = allowed = 0.0
    for value, entry in zip(found, entries, strict=True):
        if value is None:
            return Errors(len(entries), math.inf, math.inf, math.inf)
        error = abs(value - entry.exact)
        if error:
            terms = Fraction(entry.terms)
            limit = Fraction(WRONG) * Fraction(unit if parent is None else parent) * terms
            if parent is not None:
                limit += 2 * Fraction(unit) * abs(entry.exact)
            relative = max(relative, _over(error, abs(entry.exact)))
            scaled = max(scaled, _over(error, Fraction(unit) * terms))
            allowed = max(allowed, _over(error, limit))
    return Errors(len(entries), relative, scaled, allowed)


def _over(error: Fraction, unit: Fraction) -> float:
    return float(error / unit) if unit else math.inf


def of_format(found: Iterable[Fraction | None], entries: Sequence[Entry], form: Format) -> Errors:
    """The largest errors of results in a format."""
    parent = power(-form.arithmetic.bits) if form.coded else None
    return errors(found, entries, power(-form.bits), parent)
