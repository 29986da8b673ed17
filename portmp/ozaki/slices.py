"""Digits for products of integer matrices: how many, how wide, and how far sums of them reach.

The scheme (Ozaki, Ogita, Oishi, Rump 2012): an operand of ``bits`` bits is the sum of ``count``
signed digits of ``width`` bits. Products of digits of one weight, digits t of A and u of B with
t + u = d, form an antidiagonal; those with d < count are summed, exactly, and the rest is less
than the operands' own rounding. Digits are rounded, not cut: they have a sign, which is the bit
that a splitting constant of 3/4 gains over one of 1 (Mukunoki, Ozaki, Ogita, Imamura 2020).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from portmp.errors import ArgumentError, suggestion
from portmp.formats import Format
from portmp.ozaki import integers
from portmp.ozaki.integers import LEAST_BITS, Integers

SUMS = {"float64": 53, "float32": 24, "int8": 31}
"""Bits of the integers that sums of products of each word hold."""

STEP = 32
"""Sums are cut after whole tiles of so many steps."""

DIGIT = 40
"""Most bits of the digits that sums are rounded from: several of an operand's width."""

WIDEST = {"float64": 22, "float32": 8, "int8": 8}
"""Bits of digits, at most: sums of 2048, 1024 and 131040 products are exact then."""

NARROWEST, MOST = 4, 64
"""Bits of digits, at least, and the most digits."""

MOST_BITS = 880
"""Of operands: sums stay within float64's range until they are scaled, in two steps."""


@dataclass(frozen=True)
class Slices(Integers):
    """*count* digits of *width* bits, from -2^(width-1) to 2^(width-1) - 1."""

    count: int
    width: int
    bits: int = field(init=False)
    bias: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", self.count * self.width - 2)
        half = 1 << (self.width - 1)
        object.__setattr__(self, "bias", sum(half << (self.width * t) for t in range(self.count)))

    @property
    def gathered(self) -> int:
        """Digits of *width* bits in a digit of sums."""
        return max(1, DIGIT // self.width)

    @property
    def base(self) -> int:
        """Bits of a digit of sums."""
        return self.gathered * self.width

    @property
    def digits(self) -> int:
        """Digits of sums; the last is what is left, below 2^52."""
        # Sums over 2^30 steps: |product| <= 4^bits, the unit is 2^shift.
        sums = 2 * self.bits - self.shift + 31
        return 1 + max(
            -(-(self.count - 1) // self.gathered), -(-max(sums - 52, 0) // self.base)
        )  # fmt: skip

    @property
    def shift(self) -> int:
        """The weight of sums is 2^shift times that of products of operands."""
        return self.width * (self.count - 1)


def longest(word: str, width: int) -> int:
    """Most products of digits that a sum holds, in whole tiles."""
    largest = (1 << SUMS[word]) - (word == "int8")
    return (largest >> (2 * (width - 1))) // STEP * STEP


def check_word(word: object) -> str:
    """ArgumentError for a word that digits cannot be multiplied as."""
    if not isinstance(word, str) or word not in SUMS:
        near = suggestion(str(word), list(SUMS))
        raise ArgumentError(f"word: {word!r} given{near}; allowed are {', '.join(SUMS)}")
    return word


def slices(
    form: Format, word: str, *,
    count: int | None = None, width: int | None = None, bits: int | None = None,
) -> Slices:  # fmt: skip
    """How operands are cut: the fewest digits, and the narrowest of as few.

    They hold *bits* bits, by default the format's, and so much more that the products left out
    change bounds no more than the limbs' rounding. Where *count* is given digits are as wide as
    they may be, so that more of them hold more bits. ArgumentError for what is not possible.
    """
    most = WIDEST[check_word(word)]
    count = integers.number("slices", count, 1, MOST)
    width = integers.number("width", width, NARROWEST, most)
    bits = integers.number("bits", bits, LEAST_BITS, MOST_BITS)
    if bits is not None and count is not None:
        raise ArgumentError(f"bits: {bits} given, but slices: {count} too; one of them is enough")
    widths = range(NARROWEST, most + 1) if width is None else range(width, width + 1)
    if count is None:
        wanted = bits or integers.needed(form)
        cut = _fewest(wanted, form.limbs, tuple(range(1, MOST + 1)), tuple(widths))
        if cut is None:
            raise ArgumentError(
                f"bits: {bits} given, {MOST} digits of {max(widths)} bits hold fewer"
            )
        found = cut
    else:
        fitting = [Slices(count, w) for w in widths if w == widths[0] or count * w <= MOST_BITS + 2]
        found = fitting[-1]
    if not LEAST_BITS <= found.bits <= MOST_BITS:
        raise ArgumentError(
            f"slices: {found.count} of {found.width} bits given, they leave {found.bits} bits "
            f"for an operand; {LEAST_BITS} to {MOST_BITS} are allowed"
        )
    return found


@cache
def _fewest(
    bits: int, limbs: int, counts: tuple[int, ...], widths: tuple[int, ...]
) -> Slices | None:
    for count in counts:
        for width in widths:
            found = Slices(count, width)
            # Limbs' rounding is bounded by limbs 2^-K, what is left out by (count - 1) 2^-K.
            if limbs << found.bits >= (limbs + count - 1) << bits:
                return found
    return None
