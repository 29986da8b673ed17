"""Exact results of sampled entries in integers, and how far computed ones are from them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from portmp.bench.values import power_of_two
from portmp.formats import Format, convert
from portmp.routines.work import Entry

WRONG = 2.0**13
"""Errors beyond this many u^N T are no rounding errors: a limb is wrong."""


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


def errors(
    found: Iterable[Fraction | None],
    entries: Sequence[Entry],
    unit: float | Fraction,
    parent: float | Fraction | None = None,
) -> Errors:
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
    parent = power_of_two(-form.arithmetic.bits) if form.coded else None
    return errors(found, entries, power_of_two(-form.bits), parent)


def sampled(
    places: Sequence[int],
    limbs: Callable[[int], Sequence[float]],
    entry: Callable[[int], Entry],
    form: Format,
) -> Errors:
    """The largest errors at some places of a result, by its *limbs* and what they should be."""
    return of_format([fraction(limbs(i)) for i in places], [entry(i) for i in places], form)
