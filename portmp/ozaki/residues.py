"""Residue number systems for products of integer matrices: moduli, and what kernels need of them.

The scheme (Ozaki, Uchino, Imamura 2025, "Ozaki Scheme II"): rows of A and columns of B are
scaled to integers of ``bits`` bits, their residues modulo ``count`` coprime numbers of eight
bits are multiplied by int8 matrix engines, exactly, and the Chinese remainder theorem gives
the product's integers back. The result depends on ``bits`` only: not on the moduli.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache, cached_property

from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format
from portmp.ozaki import integers
from portmp.ozaki.integers import LEAST_BITS, Integers

LARGEST = 256
DIGIT = 40
"""Bits of a digit of the product: ``count`` digits times residues add up in a float64."""

DEPTH = 2**17 - 16
"""Most products of residues (magnitudes up to 128) that an int32 holds, in steps of 16."""

SHALLOW = 1024
"""Products over fewer steps use the system of so many: few systems mean few kernels."""


@cache
def moduli() -> tuple[int, ...]:
    """Pairwise coprime numbers from 256 downwards, each the largest that is left."""
    found: list[int] = []
    for m in range(LARGEST, 1, -1):
        if all(math.gcd(m, other) == 1 for other in found):
            found.append(m)
    return tuple(found)


LEAST, MOST = 4, 49
"""How many moduli make sense, and how many there are."""


@cache
def _capacity(count: int, depth: int) -> int:
    """Bits of operands whose sums of *depth* products *count* moduli tell apart."""
    product = math.prod(moduli()[:count])
    # |sum| <= depth 4^bits must stay below 0.497 of the product: its multiple is rounded.
    room = product * 497 // (1000 * max(depth, 1))
    return (room.bit_length() - 1) // 2


@dataclass(frozen=True)
class System(Integers):
    """*count* moduli for operands of ``bits`` bits and sums of up to *depth* products."""

    count: int
    bits: int
    bias: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bias", 1 << (self.bits + 1))

    @property
    def moduli(self) -> tuple[int, ...]:
        """The moduli."""
        return moduli()[: self.count]

    @cached_property
    def product(self) -> int:
        """Of all moduli."""
        return math.prod(self.moduli)

    @property
    def digits(self) -> int:
        """Digits of the product of all moduli, and of sums with a sign."""
        return -(-self.product.bit_length() // DIGIT)

    def weights(self, m: int, *, inverted: bool) -> list[int]:
        """What an operand's bytes weigh modulo *m*, four in each 32-bit word.

        *inverted*: times the inverse of the product of the other moduli, so that residues
        of the product are the coefficients of the Chinese remainder theorem.
        """
        factor = self.inverse(m) if inverted else 1
        bytes_ = [pow(2, 8 * i, m) * factor % m for i in range(4 * self.words)]
        return [
            sum(b << (8 * i) for i, b in enumerate(bytes_[4 * w : 4 * w + 4]))
            for w in range(self.words)
        ]

    def unbias(self, m: int, *, inverted: bool) -> int:
        """What takes the bias away again, modulo *m*."""
        factor = self.inverse(m) if inverted else 1
        return -self.bias * factor % m

    def inverse(self, m: int) -> int:
        """Of the product of the other moduli, modulo *m*."""
        return pow(self.product // m, -1, m) if m > 1 else 0

    def digits_of(self, number: int) -> list[float]:
        """*number* in digits of DIGIT bits, the lowest first."""
        mask = (1 << DIGIT) - 1
        return [float((number >> (DIGIT * t)) & mask) for t in range(self.digits)]

    def other(self, m: int) -> list[float]:
        """The product of the other moduli in digits."""
        return self.digits_of(self.product // m)


def holding(bits: int, depth: int) -> System | None:
    """The system of the fewest moduli for operands of *bits* bits; None where all are too few."""
    depth = _counted(depth)
    for count in range(2, MOST + 1):
        if (capacity := _capacity(count, depth)) >= bits:
            return System(count, capacity)
    return None


def system(form: Format, depth: int, count: int | None = None) -> System:
    """The residue system of a format's products over *depth* steps.

    Without *count* the fewest moduli for operands of as many bits as the format has, two fewer
    for one limb; what they can hold beyond is used too. The depth counts as the next power of
    two, and as 1024 at least. ArgumentError where *count* leaves fewer than 8 bits; FormatError
    where all moduli are too few.
    """
    count = integers.number("moduli", count, LEAST, MOST)
    return _system(form, _counted(depth), count)


def _counted(depth: int) -> int:
    return max(SHALLOW, 1 << (max(depth, 1) - 1).bit_length())


@cache
def _system(form: Format, depth: int, count: int | None) -> System:
    if count is not None:
        bits = _capacity(count, depth)
        if bits < LEAST_BITS:
            raise ArgumentError(
                f"moduli: {count} given, sums of {depth} products need more: "
                f"they leave {bits} bits for an operand"
            )
        return System(count, bits)
    needed = integers.needed(form)
    if found := holding(needed, depth):
        return found
    raise FormatError(
        f"method: ozaki2 given, operands of format {form.name} need {needed} bits; in sums "
        f"of {depth} products {MOST} moduli hold {_capacity(MOST, depth)}"
    )
