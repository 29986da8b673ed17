"""Residue number systems for products of integer matrices: moduli, and what kernels need of them.

The scheme (Ozaki, Uchino, Imamura 2025, "Ozaki Scheme II"): rows of A and columns of B are
scaled to integers of ``bits`` bits, their residues modulo coprime numbers are multiplied, exactly,
and the Chinese remainder theorem gives the product's integers back. The result depends on ``bits``
only: not on the moduli. Numbers of eight bits suit int8 matrix engines. Numbers of up to 22 bits
suit float64 words: fewer of them do, and there are as many as any format needs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import ClassVar

from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines.ozaki import integers
from portmp.routines.ozaki.integers import LEAST_BITS, Integers

LARGEST = 256
"""Of the moduli of eight bits."""

WIDTH = 22
"""Bits of wide moduli: of their residues, up to 2^21 in size, 1024 products add up in float64."""

HALF = 16
"""Bits of the parts of operands that are weighed for wide moduli."""

DIGIT = 40
"""Bits of a digit of sums."""

PLACE = DIGIT // 2
"""Bits of the places in which products add up in float64 words, before they become digits."""

GROUP = 3
"""Moduli whose residues are put together in 32 bits before anything longer is made of them."""

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

MOST_SQUARES = 24
"""How many moduli may be squared: each stands with one that is not."""

MOST_BITS = 456
"""Of operands: digits of sums stay within float64's range until they are scaled, and scales within
the two powers of two that they are multiplied by."""

ROOM = 497
"""Integers are told apart up to so many thousandths of the product of all moduli: the multiple of
it that is taken away is rounded."""


@cache
def _capacity(count: int, depth: int, squares: int = 0) -> int:
    """Bits of operands whose sums of *depth* products *count* moduli tell apart."""
    product = math.prod(moduli()[:count]) * math.prod(moduli()[:squares])
    room = product * ROOM // (1000 * max(depth, 1))
    return (room.bit_length() - 1) // 2


def places(number: int) -> list[float]:
    """*number* in places of PLACE bits, the lowest first; the last holds what is left."""
    count = max(1, -(-number.bit_length() // PLACE))
    return [float((number >> (PLACE * t)) & ((1 << PLACE) - 1)) for t in range(count)]


@dataclass(frozen=True)
class Group:
    """A few moduli; *others*: the product of all moduli that are not among them.

    With sums x of residues' products, sum(x factor) - product round(sum(x share) / 2^32) times
    *others* is what they add to the product's integer, up to a multiple of the product of all
    moduli. ``roots``: of moduli that are squares. Such a one has two sums: of lower digits, and of
    lower with upper ones, which count as many times as the root says.
    """

    moduli: tuple[int, ...]
    others: int
    roots: tuple[int, ...] = ()

    @property
    def product(self) -> int:
        """Of the group's moduli."""
        return math.prod(self.moduli)

    @property
    def factors(self) -> list[int]:
        """What each sum counts, modulo the group's product: the numbers nearest to zero."""
        found, everything = [], self.product * self.others
        for m in self.moduli:
            factor = self.product // m * _inverse(everything // m, m)
            root = math.isqrt(m)
            found += (
                [factor, root * factor] if root in self.roots and root * root == m else [factor]
            )
        return [_nearest(factor % self.product, self.product) for factor in found]

    @property
    def shares(self) -> list[int]:
        """What each adds to the sum over the group's product: 2^32 factor / product, rounded."""
        return [(2**33 * f + self.product) // (2 * self.product) for f in self.factors]


@dataclass(frozen=True)
class Moduli(Integers):
    """Coprime numbers for operands of ``bits`` bits: what their kinds share.

    ``word``: what residues are multiplied as.
    """

    word: ClassVar[str]
    bits: int
    bias: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bias", 1 << (self.bits + 1))

    @property
    def base(self) -> int:
        return DIGIT

    @property
    @abstractmethod
    def moduli(self) -> tuple[int, ...]:
        """The numbers."""

    @property
    def count(self) -> int:
        """How many."""
        return len(self.moduli)

    @property
    def products(self) -> int:
        """How many matrices of residues are multiplied, of as many steps as the factors have."""
        return self.count

    @cached_property
    def product(self) -> int:
        """Of all moduli."""
        return math.prod(self.moduli)

    def inverse(self, m: int) -> int:
        """Of the product of the other moduli, modulo *m*."""
        return _inverse(self.product // m, m)

    def powers(self, m: int, bits: int, factor: int = 1) -> list[int]:
        """What parts of so many *bits* of an operand's words, times *factor*, weigh modulo *m*.

        The lowest first.
        """
        return [pow(2, bits * i, m) * factor % m for i in range(32 // bits * self.words)]

    def unbias(self, m: int, factor: int = 1) -> int:
        """What takes the bias, times *factor*, away again, modulo *m*."""
        return -self.bias * factor % m


@dataclass(frozen=True)
class ResidueSystem(Moduli):
    """The first *number* moduli of eight bits.

    The first *squares* of them are squared: a residue modulo m^2 is m q + t with digits of eight
    bits, and products of residues are t t' + m (q t' + t q'), of which the sum in brackets counts
    modulo m. ``told``: digits of sums, where others than the moduli ask for.
    """

    word: ClassVar[str] = "int8"
    number: int
    squares: int = field(default=0, kw_only=True)
    told: int = field(default=0, kw_only=True)

    @property
    def roots(self) -> tuple[int, ...]:
        """Those that are squared."""
        return moduli()[: self.squares]

    @property
    def single(self) -> tuple[int, ...]:
        """Those that are not."""
        return moduli()[self.squares : self.number]

    @property
    def moduli(self) -> tuple[int, ...]:
        return (*(m * m for m in self.roots), *self.single)

    @property
    def kept(self) -> int:
        """Matrices of sums: two of each square."""
        return self.number + self.squares

    @property
    def products(self) -> int:
        return self.number + 2 * self.squares

    @property
    def digits(self) -> int:
        """Digits of sums with a sign, by default those of the product of all moduli."""
        return self.told or -(-self.product.bit_length() // DIGIT)

    def weights(self, m: int, part: int = 0) -> list[int]:
        """What an operand's bytes weigh modulo *m*, four in each 32-bit word.

        *part*: which byte of what they weigh.
        """
        bytes_ = [weight >> (8 * part) & 255 for weight in self.powers(m, 8)]
        return [
            sum(b << (8 * i) for i, b in enumerate(bytes_[4 * w : 4 * w + 4]))
            for w in range(self.words)
        ]

    @property
    def groups(self) -> list[Group]:
        """The moduli, GROUP sums by GROUP: a square with another one, then others."""
        rest = self.single[self.squares :]
        found = [
            *((r * r, m) for r, m in zip(self.roots, self.single, strict=False)),
            *(rest[at : at + GROUP] for at in range(0, len(rest), GROUP)),
        ]
        return [Group(one, self.product // math.prod(one), self.roots) for one in found]


@dataclass(frozen=True)
class WideSystem(Moduli):
    """The fewest moduli of WIDTH bits for sums of up to *depth* products.

    ``told``: digits of sums, of another system whose results it gives.
    """

    word: ClassVar[str] = "float64"
    depth: int
    told: int = 0

    @property
    def moduli(self) -> tuple[int, ...]:
        return _wide(self._least)

    @property
    def _least(self) -> int:
        """What the product must be."""
        return -(-self.depth * (1000 << 2 * self.bits) // ROOM)

    @property
    def digits(self) -> int:
        """Digits of sums with a sign."""
        return self.told or -(-self._least.bit_length() // DIGIT)

    @property
    def places(self) -> int:
        """Places of sums: two of each digit, but for the last, which may have one."""
        return max(len(places(self.product)), 2 * self.digits - 1)

    def weights(self, m: int, factor: int = 1) -> list[int]:
        """What halves of an operand's words weigh modulo *m*, with signs, the lowest first.

        Times *factor*: with the modulus' ``inverse`` residues of products are the coefficients of
        the Chinese remainder theorem.
        """
        return [_nearest(w, m) for w in self.powers(m, HALF, factor)]


System = ResidueSystem | WideSystem


@cache
def _wide(least: int) -> tuple[int, ...]:
    """The fewest coprime numbers of WIDTH bits whose product is *least* or more.

    They are the smallest of as many from the root on: the product is hardly more.
    """
    count = -(-least.bit_length() // WIDTH)
    low, high = 1, 1 << WIDTH
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle**count < least else (low, middle)
    found: list[int] = []
    while len(found) < count:
        if all(math.gcd(low, other) == 1 for other in found):
            found.append(low)
        low += 1
    return tuple(found)


def _inverse(number: int, m: int) -> int:
    """Of *number* modulo *m*."""
    return pow(number, -1, m) if m > 1 else 0


def _nearest(residue: int, m: int) -> int:
    """The one with a sign that is nearest to zero."""
    return residue - m if 2 * residue > m else residue


@dataclass(frozen=True)
class Results(ResidueSystem):
    """Residues of products, whose limbs are scaled by 2^(unit - e), e the exponents' sum."""

    unit: int = 0


def telling(largest: int) -> int | None:
    """The fewest moduli that tell integers up to *largest* in size apart, if there are any."""
    for count in range(LEAST, MOST + 1):
        if largest * 1000 <= math.prod(moduli()[:count]) * ROOM:
            return count
    return None


def holding(bits: int, depth: int) -> ResidueSystem | None:
    """The system of the fewest moduli for operands of *bits* bits; None where all are too few."""
    depth = counted(depth)
    for count in range(2, MOST + 1):
        if (capacity := _capacity(count, depth)) >= bits:
            return ResidueSystem(capacity, count)
    return None


def system(form: Format, depth: int, count: int | None = None, bits: int | None = None) -> System:
    """The residue system of a format's products over *depth* steps.

    Of *count* moduli of eight bits, or the fewest for operands of *bits* bits, by default as many
    as the format has, two fewer for one limb; what they can hold beyond is used too. Where all
    are too few wide ones for just as many bits. The depth counts as the next power of two, and as
    1024 at least. ArgumentError for what is not possible.
    """
    count = integers.number("moduli", count, LEAST, MOST)
    bits = integers.number("bits", bits, LEAST_BITS, MOST_BITS)
    if bits is not None and count is not None:
        raise ArgumentError(f"bits: {bits} given, but moduli: {count} too; one of them is enough")
    return _system(bits or integers.needed(form), counted(depth), count)


def counted(depth: int) -> int:
    """The steps that *depth* counts as: the next power of two, SHALLOW at least."""
    return max(SHALLOW, 1 << (max(depth, 1) - 1).bit_length())


@cache
def _system(bits: int, depth: int, count: int | None) -> System:
    if count is None:
        return holding(bits, depth) or WideSystem(bits, depth)
    capacity = _capacity(count, depth)
    if capacity < LEAST_BITS:
        raise ArgumentError(
            f"moduli: {count} given, sums of {depth} products need more: "
            f"they leave {capacity} bits for an operand"
        )
    return ResidueSystem(capacity, count)


def wide(given: System, depth: int) -> WideSystem:
    """The wide system of the same results over *depth* steps."""
    if isinstance(given, WideSystem):
        return given
    return WideSystem(given.bits, counted(depth), given.digits)


def squared(given: WideSystem, depth: int) -> System:
    """The system of all moduli, as few squared as do, for the same results over *depth* steps.

    The wide one where it has too many bits.
    """
    depth = counted(depth)
    for count in range(1, MOST_SQUARES + 1):
        if _capacity(MOST, depth, count) >= given.bits:
            return ResidueSystem(given.bits, MOST, squares=count, told=given.digits)
    return given


def exactly(bits: int, depth: int) -> System:
    """The system of the fewest moduli for operands of *bits* bits, and no more.

    Digits of sums depend on bits and depth alone: they are enough whatever the moduli.
    """
    depth = counted(depth)
    digits = -(-(2 * bits + depth.bit_length() + 9) // DIGIT)
    found = holding(bits, depth)
    if found is None:
        return WideSystem(bits, depth, digits)
    return ResidueSystem(bits, found.number, told=digits)
