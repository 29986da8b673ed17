"""Long accumulators: integers that hold every sum of words, or of products of words, exactly.

After Kulisch's: a fixed-point number that reaches from the smallest subnormal's square to above
the largest number's, in digits of 32 bits. Each digit lies in a signed integer of 64 bits, so that
many terms are added before a carry is due.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from portmp.formats import Format
from portmp.formats.encodings import PRECISION

DIGIT = 32
"""Bits of a digit."""

SMALLEST = {"float32": -149, "float64": -1074}
"""The exponent of a word's smallest subnormal."""

_LARGEST = {"float32": 104, "float64": 971}
"""The exponent of the last bit of a word's largest numbers."""

SAFE = 2.0**-960, 2.0**960
"""Magnitudes of products of float64 whose error is a word, and LONGEST of which add up to a finite
number."""

LONGEST = 1 << 24
"""Terms of one accumulator between two carries: their 16 products of limbs change a digit by less
than 2^33 each."""

HELD = {"float64": 4}
"""Words that hold a sum of one limb until its accumulator must. Of numbers of one size three do,
and the fourth is touched where they do not. Words of float32 would be too short for most sums."""

MISSES = 8
"""Terms that do not fit, after which a sum's words take no more."""


@dataclass(frozen=True)
class LongAccumulator:
    """The accumulator for sums of a *word*'s numbers or, of *factors* 2, of products of two."""

    word: str
    factors: int

    @property
    def unit(self) -> int:
        """The exponent of the last digit's unit."""
        return self.factors * SMALLEST[self.word]

    @property
    def digits(self) -> int:
        """Digits: those that terms reach, with room for 2^40 of them, and one for the sign."""
        highest = self.factors * (_LARGEST[self.word] - SMALLEST[self.word])
        reached = highest // DIGIT + -(-(self.factors * PRECISION[self.word] + DIGIT - 1) // DIGIT)
        return reached + 3

    @property
    def planes(self) -> int:
        """Integers of an accumulator in memory: its digits, and how many terms are not finite."""
        return self.digits + 1


def number(digits: Sequence[int]) -> int:
    """What digits come to, the lowest first, of any size and sign."""
    return sum(digit << DIGIT * i for i, digit in enumerate(digits))


def digits_of(number: int, count: int) -> list[int]:
    """So many digits of a number, the lowest first; the last one has its sign."""
    low = [number >> DIGIT * i & ((1 << DIGIT) - 1) for i in range(count - 1)]
    return [*low, number >> DIGIT * (count - 1)]


@dataclass(frozen=True)
class Place:
    """How one limb of a result is rounded: ``bits`` of significand (0: it is not stored), none
    below 2^``smallest``, and those of 2^``overflow`` and beyond are infinite."""

    bits: int
    smallest: int
    overflow: int
    truncates: bool


def places(form: Format) -> tuple[Place, ...]:
    """How the limbs of a format are rounded: as numbers that are converted to it."""
    return tuple(
        Place(
            one.bits, one.smallest, one.overflow, form.rounding == "toward_zero" and not one.plain
        )
        if one.parts
        else Place(0, 0, 0, False)
        for one in form.encodings
    )
