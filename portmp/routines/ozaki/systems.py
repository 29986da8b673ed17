"""Residue number systems for products of integer matrices: moduli, and what kernels need of them.

The scheme (Ozaki, Uchino, Imamura 2025, "Ozaki Scheme II"): rows of A and columns of B are
scaled to integers of ``bits`` bits, their residues modulo coprime numbers are multiplied, exactly,
and the Chinese remainder theorem gives the product's integers back. The result depends on ``bits``
only: not on the moduli. Numbers of eight bits suit int8 matrix engines. Numbers of up to 22 bits
suit float64 words: fewer of them do, and there are as many as any format needs.

Of complex integers a + ib, c + id two products do modulo an odd m where s^2 = -1: (a + sb)(c + sd)
and (a - sb)(c - sd), whose sum is twice the real part and whose difference 2s times the imaginary
one. Modulo others three do: a c, b d, (a + b)(c + d). What is multiplied is a *combination* of
parts: (1, s) stands for a + sb.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable
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
    return _coprime(range(LARGEST, 1, -1))


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


Combination = tuple[int, ...]
"""How often each part of a number counts in what is multiplied, modulo a number."""

REAL, THREE = ((1,),), ((1, 0), (0, 1), (1, 1))
"""What is multiplied of a real number, and of a complex one where -1 has no root."""

WEIGHED = 8
"""Words of a part, of complex numbers: sums of their bytes stay whole numbers in float32."""


@cache
def root(m: int) -> int | None:
    """s with s^2 = -1 modulo an odd *m*: a / b where m is a^2 + b^2; None where there is none."""
    for a in range(1, math.isqrt(m // 2) + 1) if m % 4 == 1 else ():
        b = math.isqrt(m - a * a)
        if a * a + b * b == m and math.gcd(a, b) == 1:
            return a * pow(b, -1, m) % m
    return None


def combinations(m: int) -> tuple[Combination, ...]:
    """What is multiplied of complex numbers modulo *m*."""
    s = root(m)
    return THREE if s is None else ((1, s), (1, m - s))


def makes(m: int) -> tuple[Combination, Combination]:
    """How often these products count in the real part and in the imaginary one, modulo *m*."""
    s, half = root(m), (m + 1) // 2
    if s is None:
        return (1, -1, 0), (-1, -1, 1)
    return (half, half), (-s * half % m, s * half % m)


@cache
def rooted() -> tuple[int, ...]:
    """The numbers among ``moduli``'s candidates modulo which -1 has a root, likewise."""
    return _coprime(m for m in range(LARGEST, 2, -1) if root(m))


def _coprime(numbers: Iterable[int], beside: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Of *numbers* each that is coprime to those before it and *beside*."""
    found: list[int] = []
    for m in numbers:
        if all(math.gcd(m, other) == 1 for other in (*beside, *found)):
            found.append(m)
    return tuple(found)


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
    lower with upper ones, which count as many times as the root says. ``part``: 0 of real numbers'
    products; 1 and 2 of the real and the imaginary part of complex ones, whose moduli have a sum
    for each of their ``combinations``: first ones of all moduli, then second ones, in a group with
    a square.
    """

    moduli: tuple[int, ...]
    others: int
    roots: tuple[int, ...] = ()
    part: int = 0

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
            root_of_m = math.isqrt(m)
            square = root_of_m in self.roots and root_of_m**2 == m
            counts = makes(m)[self.part - 1] if self.part else (1,)
            found.append([[n * factor, n * factor * root_of_m][: 1 + square] for n in counts])
        # With a square sums of another modulus stand by turns.
        turns = (
            zip(*found, strict=True) if self.roots else [[one] for of_m in found for one in of_m]
        )
        sums = [factor for turn in turns for of_word in turn for factor in of_word]
        return [_nearest(factor % self.product, self.product) for factor in sums]

    @property
    def shares(self) -> list[int]:
        """What each adds to the sum over the group's product: 2^32 factor / product, rounded."""
        return [(2**33 * f + self.product) // (2 * self.product) for f in self.factors]


@dataclass(frozen=True)
class Moduli(Integers):
    """Coprime numbers for operands of ``bits`` bits: what their kinds share.

    ``word``: what residues are multiplied as; ``components``: 2 of complex numbers.
    """

    word: ClassVar[str]
    bits: int
    components: int = field(default=1, kw_only=True)
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

    def combinations(self, m: int) -> tuple[Combination, ...]:
        """What is multiplied modulo *m*."""
        return combinations(m) if self.components > 1 else REAL

    @property
    def multiplied(self) -> list[tuple[int, Combination]]:
        """All that is, modulus by modulus."""
        return [(m, of) for m in self.moduli for of in self.combinations(m)]

    @property
    def products(self) -> int:
        """How many matrices of residues are multiplied, of as many steps as the factors have."""
        return len(self.multiplied)

    @cached_property
    def product(self) -> int:
        """Of all moduli."""
        return math.prod(self.moduli)

    def inverse(self, m: int) -> int:
        """Of the product of the other moduli, modulo *m*."""
        return _inverse(self.product // m, m)

    def powers(self, m: int, bits: int, of: Combination = (1,)) -> list[int]:
        """What pieces of so many *bits* of an operand's words weigh modulo *m*, in what is
        multiplied *of* it. The lowest first, part by part.
        """
        pieces = range(32 // bits * self.words)
        return [pow(2, bits * i, m) * factor % m for factor in of for i in pieces]

    def unbias(self, m: int, of: Combination = (1,)) -> int:
        """What takes the bias of all parts away again, modulo *m*."""
        return -self.bias * sum(of) % m


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
    def alone(self) -> list[tuple[int, Combination]]:
        """What is multiplied modulo the others."""
        return [(m, of) for m in self.single for of in self.combinations(m)]

    @property
    def digits_of(self) -> list[tuple[int, Combination]]:
        """What is multiplied modulo squares, by their roots; each in two digits."""
        return [(m, of) for m in self.roots for of in self.combinations(m * m)]

    @property
    def kept(self) -> int:
        """Matrices of sums: two of each square."""
        return len(self.alone) + 2 * len(self.digits_of)

    @property
    def products(self) -> int:
        return len(self.alone) + 3 * len(self.digits_of)

    @property
    def digits(self) -> int:
        """Digits of sums with a sign, by default those of the product of all moduli."""
        return self.told or -(-self.product.bit_length() // DIGIT)

    def weights(self, m: int, part: int = 0, of: Combination = (1,)) -> list[int]:
        """What an operand's bytes weigh modulo *m*, four in each 32-bit word.

        *part*: which byte of what they weigh.
        """
        bytes_ = [weight >> (8 * part) & 255 for weight in self.powers(m, 8, of)]
        return [
            sum(b << (8 * i) for i, b in enumerate(bytes_[4 * w : 4 * w + 4]))
            for w in range(len(bytes_) // 4)
        ]

    @property
    def groups(self) -> list[Group]:
        """The moduli, GROUP sums by GROUP: a square with another one, then others."""
        return self.groups_of(0)

    def groups_of(self, part: int) -> list[Group]:
        """The same as they make a *part*, of real numbers 0."""
        rest = self.single[self.squares :]
        found = [
            *((r * r, m) for r, m in zip(self.roots, self.single, strict=False)),
            *(rest[at : at + GROUP] for at in range(0, len(rest), GROUP)),
        ]
        return [
            Group(
                one, self.product // math.prod(one), self.roots[: i < self.squares and None], part
            )
            for i, one in enumerate(found)
        ]


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
        return _wide(self._least, self.components > 1)

    @property
    def _least(self) -> int:
        """What the product must be."""
        return _least(self.bits, self.depth)

    @property
    def digits(self) -> int:
        """Digits of sums with a sign."""
        return self.told or -(-self._least.bit_length() // DIGIT)

    @property
    def places(self) -> int:
        """Places of sums: two of each digit, but for the last, which may have one."""
        return max(len(places(self.product)), 2 * self.digits - 1)

    def weights(self, m: int, factor: int = 1, of: Combination = (1,)) -> list[int]:
        """What halves of an operand's words weigh modulo *m*, with signs, the lowest first.

        Times *factor*: with the modulus' ``inverse`` residues of products are the coefficients of
        the Chinese remainder theorem.
        """
        return [_nearest(w * factor % m, m) for w in self.powers(m, HALF, of)]

    def counts(self, m: int) -> list[int]:
        """How often the sum of two sums counts in a real part, their difference in the imaginary
        one; none of real numbers.
        """
        if self.components == 1:
            return []
        real, imaginary = makes(m)
        return [_nearest(real[0], m), _nearest(imaginary[0], m)]


System = ResidueSystem | WideSystem


@cache
def _wide(least: int, rooted: bool = False) -> tuple[int, ...]:
    """The fewest coprime numbers of WIDTH bits whose product is *least* or more.

    They are the smallest of as many from the root on: the product is hardly more. *rooted*: those
    modulo which -1 has a root.
    """
    count = -(-least.bit_length() // WIDTH)
    low, high = 1, 1 << WIDTH
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle**count < least else (low, middle)
    found: list[int] = []
    while len(found) < count:
        if (root(low) or not rooted) and all(math.gcd(low, other) == 1 for other in found):
            found.append(low)
        low += 1
    return tuple(found)


def _least(bits: int, depth: int) -> int:
    """Products of moduli that tell sums of *depth* products of *bits* bits apart."""
    return -(-depth * (1000 << 2 * bits) // ROOM)


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


@dataclass(frozen=True)
class ComplexSystem(ResidueSystem):
    """Moduli of eight bits of complex numbers: *chosen* roots of squares, and others.

    Such with a root of -1 come first of both; a square stands with another one of its kind.
    """

    chosen: tuple[tuple[int, ...], tuple[int, ...]] = field(kw_only=True)

    @property
    def roots(self) -> tuple[int, ...]:
        return self.chosen[0]

    @property
    def single(self) -> tuple[int, ...]:
        return self.chosen[1]


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


def of_complex(given: System, depth: int, eight: bool) -> System:
    """The system of complex numbers for the same results over *depth* steps of real ones.

    Of moduli of *eight* bits, where these are enough, else of wide ones.
    """
    depth = counted(depth)
    found = _fewest_products(given.bits, depth, given.digits) if eight else None
    return found or WideSystem(given.bits, depth, given.digits, components=2)


@cache
def _fewest_products(bits: int, depth: int, digits: int) -> ComplexSystem | None:
    """Moduli of which the fewest products are made: some with a root of -1, and the largest others.

    Where all of these are too few some are squared, too, first such with a root.
    """
    least, found = _least(bits, depth), []
    for count in range(len(rooted()) + 1):
        first = rooted()[:count]
        numbers = [*first, *_coprime(range(LARGEST, 1, -1), first)]
        fewest = next((n for n in range(2, MOST) if math.prod(numbers[:n]) >= least), len(numbers))
        kinds = [[m for m in numbers[:fewest] if bool(root(m)) is kind] for kind in (True, False)]
        product, squares = math.prod(numbers[:fewest]), [0, 0]
        for i, kind in enumerate(kinds):
            while product < least and squares[i] < len(kind) // 2:
                product *= kind[squares[i]]
                squares[i] += 1
        if product >= least:
            sides = list(zip(kinds, squares, strict=True))
            roots = tuple(m for kind, n in sides for m in kind[:n])
            beside = tuple(m for kind, n in sides for m in kind[n : 2 * n])
            rest = tuple(m for kind, n in sides for m in kind[2 * n :])
            kept = ComplexSystem(
                bits,
                fewest,
                chosen=(roots, beside + rest),
                squares=len(roots),
                told=digits,
                components=2,
            )
            found.append(kept)
    few = found and found[0].words <= WEIGHED
    return min(found, key=lambda one: one.products) if few else None


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
