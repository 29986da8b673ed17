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
from typing import Any

from portmp import definition, formats
from portmp.backends.base import Argument, Buffer, Device, Library, Queue, Rows
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format
from portmp.networks.bounded import SMALLEST
from portmp.routines import base, engines
from portmp.routines.ozaki import integers, reference
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.integers import LEAST_BITS, Integers
from portmp.routines.ozaki.launch import Way, Words
from portmp.routines.ozaki.options import Ozaki2
from portmp.routines.ozaki.reference import Host
from portmp.runtime.program import CompilationUnit

LARGEST = 256
FEW = 12
"""Up to so many places a work-item rebuilds one element of C, beyond two, neighbours of a row: they
share what is read of tables, but their places take so many registers that blocks must be held to
two a compute unit."""
DIGIT = 40
"""Bits of a digit of the product."""

PLACE = DIGIT // 2
"""Bits of the places in which products add up in float64 words, before they become digits."""

GROUP = 3
"""Moduli whose residues are put together in 32 bits before anything longer is made of them."""

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

ROOM = 497
"""Integers are told apart up to so many thousandths of the product of all moduli: the multiple of
it that is taken away is rounded."""


@cache
def _capacity(count: int, depth: int) -> int:
    """Bits of operands whose sums of *depth* products *count* moduli tell apart."""
    product = math.prod(moduli()[:count])
    room = product * ROOM // (1000 * max(depth, 1))
    return (room.bit_length() - 1) // 2


def places(number: int) -> list[float]:
    """*number* in places of PLACE bits, the lowest first; the last holds what is left."""
    count = max(1, -(-number.bit_length() // PLACE))
    return [float((number >> (PLACE * t)) & ((1 << PLACE) - 1)) for t in range(count)]


@dataclass(frozen=True)
class Group:
    """A few moduli; *others*: the product of all moduli that are not among them.

    With residues x of theirs, sum(x factor) - product round(sum(x inverse) / 2^32) times *others*
    is what they add to the product's integer, up to a multiple of the product of all moduli.
    """

    moduli: tuple[int, ...]
    others: int

    @property
    def product(self) -> int:
        """Of the group's moduli."""
        return math.prod(self.moduli)

    @property
    def factors(self) -> list[int]:
        """The product of the group's other moduli, for each."""
        return [self.product // m for m in self.moduli]

    @property
    def inverses(self) -> list[int]:
        """2^32 over each, rounded."""
        return [(2**33 + m) // (2 * m) for m in self.moduli]


@dataclass(frozen=True)
class ResidueSystem(Integers):
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
    def base(self) -> int:
        """Bits of a digit of sums."""
        return DIGIT

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

    @property
    def groups(self) -> list[Group]:
        """The moduli, GROUP by GROUP."""
        found = [self.moduli[at : at + GROUP] for at in range(0, self.count, GROUP)]
        return [Group(one, self.product // math.prod(one)) for one in found]


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
            return ResidueSystem(count, capacity)
    return None


def system(form: Format, depth: int, count: int | None = None) -> ResidueSystem:
    """The residue system of a format's products over *depth* steps.

    Without *count* the fewest moduli for operands of as many bits as the format has, two fewer
    for one limb; what they can hold beyond is used too. The depth counts as the next power of
    two, and as 1024 at least. ArgumentError where *count* leaves fewer than 8 bits; FormatError
    where all moduli are too few.
    """
    count = integers.number("moduli", count, LEAST, MOST)
    return _system(form, counted(depth), count)


def counted(depth: int) -> int:
    """The steps that *depth* counts as: the next power of two, SHALLOW at least."""
    return max(SHALLOW, 1 << (max(depth, 1) - 1).bit_length())


@cache
def _system(form: Format, depth: int, count: int | None) -> ResidueSystem:
    if count is not None:
        bits = _capacity(count, depth)
        if bits < LEAST_BITS:
            raise ArgumentError(
                f"moduli: {count} given, sums of {depth} products need more: "
                f"they leave {bits} bits for an operand"
            )
        return ResidueSystem(count, bits)
    needed = integers.needed(form)
    if found := holding(needed, depth):
        return found
    raise FormatError(
        f"method: ozaki2 given, operands of format {form.name} need {needed} bits; in sums "
        f"of {depth} products {MOST} moduli hold {_capacity(MOST, depth)}"
    )


class Residues(ozaki.Scheme):
    """Integers modulo the numbers of a residue system."""

    cuts, sums = engines.BYTES, engines.INTS

    def __init__(self, system: ResidueSystem) -> None:
        self.integers = self.system = system
        self.count = system.count
        self.rebuilt = rebuilt(system)

    def cut_spec(self, form: Format, second: bool, tiled: bool, threads: int) -> KernelSpec:
        """The first factor's residues carry the factors of the Chinese remainder theorem."""
        return residue_spec(form.name, self.system, not second, tiled, threads)

    def rebuild_spec(self, form: Format, k: int, threads: int) -> KernelSpec:
        """The kernel that rebuilds and rounds sums."""
        return rebuild_spec(form.name, self.system, len(self.parts(k)) > 1, threads)

    def parts(self, k: int) -> list[tuple[int, int]]:
        """As many steps as an int32 holds."""
        return [(s, min(DEPTH, k - s)) for s in range(0, k, DEPTH)]

    def planes(self, k: int) -> int:
        """A plane for each modulus and part."""
        return self.count * base.blocks(k, DEPTH)

    def layout(self, k: int, plane: int) -> list[Argument]:
        """Parts, steps from modulus to modulus and from part to part."""
        return [base.blocks(k, DEPTH), plane, self.count * plane]

    def multiply(
        self,
        engine: Library,
        queue: Queue,
        m: int,
        n: int,
        k: int,
        left: Words,
        right: Words,
        found: Buffer,
    ) -> None:
        """A batch of one product for each modulus, part by part."""
        for part, (_, steps) in enumerate(self.parts(k)):
            d = ozaki.padded(steps)
            engine.multiply(
                queue,
                "int8",
                m,
                n,
                d,
                Rows(left.buffers[part], d, left.first * d, left.rows * d),
                Rows(right.buffers[part], d, right.first * d, right.rows * d),
                Rows(found, n, part * self.count * m * n, m * n),
                self.count,
            )


@cache
def residue_spec(
    form: str,
    system: ResidueSystem,
    inverted: bool,
    tiled: bool,
    threads: int,
    across: bool = False,
) -> KernelSpec:
    """The kernel that takes residues of rows; *across*: of a product, whose columns count too."""
    return spec(
        f"ozaki_residues_{'z' if across else 'a' if inverted else 'b'}",
        "ozaki/residues.mako",
        formats.get(form),
        {},
        threads=threads,
        integers=system,
        inverted=inverted,
        tiled=tiled,
        across=across,
        tile=ozaki.TILE,
        special=ozaki.SPECIAL,
    )


def rebuilt(system: ResidueSystem) -> int:
    """Elements of C that a work-item rebuilds."""
    return 1 if len(places(system.product)) <= FEW else 2


@cache
def rebuild_spec(
    form: str, system: ResidueSystem, parted: bool, threads: int, raised: float = 0.0
) -> KernelSpec:
    """The kernel that rebuilds and rounds sums, *parted*: of more than one part of the depth.

    With *raised* the one that tells how far results are off instead, times that.
    """
    f = formats.get(form)
    roles = {op: f.operator(op) for op in ("add", "mul")}
    return spec(
        "ozaki_apart" if raised else "ozaki_rebuild",
        "ozaki/rebuild.mako",
        f,
        roles,
        threads=threads,
        system=system,
        each=rebuilt(system),
        resident=rebuilt(system),
        parted=parted,
        apart=bool(raised),
        raised=raised,
        smallest=2.0 ** SMALLEST[f.word],
        doubles=integers.doubles(f),
        slab=definition.SLAB,
        special=ozaki.SPECIAL,
    )


def units(form: Format, device: Device | None = None) -> dict[str, CompilationUnit]:
    """The compilation units of products over few steps, by name; none where moduli are too few."""
    threads = base.threads(device, ozaki.THREADS)
    try:
        numbers = system(form, 1)
    except FormatError:
        return {}
    found = [
        ozaki.exponent_spec(form.word, False, False, threads),
        residue_spec(form.name, numbers, True, False, threads),
        residue_spec(form.name, numbers, False, threads == ozaki.THREADS, threads),
        rebuild_spec(form.name, numbers, False, threads),
        engines.product_spec(device),
    ]
    return {one.name: (one,) for one in found}


def way(form: Format, device: Device, k: int, method: Ozaki2) -> Way:
    """How products over *k* steps are made, once what has none is refused: formats, options."""
    if not isinstance(method, Ozaki2):
        raise ArgumentError(f"method: {method!r} given, an Ozaki2 is needed")
    ozaki.check(form, device, "ozaki2", method.engine, method.workspace)
    scheme = Residues(system(form, k, method.moduli))
    return Way(scheme, engines.get(device, method.engine, "int8"), method.workspace)


def on_host(form: Format, a: Host, b: Host, *rest: Any, moduli: int | None = None) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n) by residues; *rest*: see reference.product."""
    return reference.product(form, system(form, a[0].shape[1], moduli), a, b, *rest)
