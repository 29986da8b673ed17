"""Which elements Jacobi's method turns away, and in which order."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

Plane = np.ndarray[Any, Any]


class Rule(NamedTuple):
    """An element counts as zero where its leading limb is at most ``least``, or ``tolerance`` times
    the roots of the leading limbs of the diagonal's two elements, or ``edge`` times the larger of
    these. All are words of the format."""

    tolerance: np.floating[Any]
    least: np.floating[Any]
    edge: np.floating[Any] = np.float32(0)

    def halved(self) -> "Rule":
        """With half of each."""
        return Rule(*(type(limit)(limit / 2) for limit in self))

    def limit(self, root: Plane, other: Plane) -> Plane:
        """By the roots of the diagonal's elements, the one with the lower number first."""
        product = self.tolerance * root * other
        beside = self.edge * np.where(root > other, root, other)
        limit = np.where(product > self.least, product, self.least)
        return np.where(beside > limit, beside, limit)


def large(word: np.dtype[Any]) -> float:
    """Beyond this the tangent is half the reciprocal: squares would overflow."""
    return 2.0**60 if word == np.float32 else 2.0**500


def pairs(m: int) -> Iterator[tuple[Plane, Plane]]:
    """The pairs of a sweep's steps, lower numbers and higher ones.

    Of an odd number of indices the one that is paired with m rests.
    """
    count = (m + 1) // 2
    last = 2 * count - 1
    number = np.arange(count)
    for step in range(last):
        one = (step + number) % last
        other = (step + last - number) % last
        other[0] = last
        yield np.minimum(one, other), np.maximum(one, other)
