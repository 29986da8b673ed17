"""The Ozaki scheme: products of matrices by error-free products of integers."""

from dataclasses import dataclass, field, replace
from typing import Any

from portmp import definition
from portmp.errors import ArgumentError
from portmp.routines.ozaki.integers import number

__all__ = ["Auto", "Method", "Ozaki1", "Ozaki2"]


MOST_BEYOND = 64
"""Bits beyond the format's that a level may have."""


@dataclass(frozen=True)
class Auto:
    """How ``gemm`` chooses for each element: products of integers where these cannot lose more.

    An element is an integer product of 2 or of 20 bits more than the format has, where its row and
    its column tell that it is no worse than the direct product's bound, else the direct product:
    a function of its row, its column, k and the format (docs/bits.md). ``smallest``: rows, columns
    and steps from which on it is chosen at all; by default where it is faster, as a rule.
    ``beyond``: how many bits more, level by level.
    ``engine`` and ``workspace`` as of ``Ozaki2``. ``unmade`` is portmp's own: a number on the
    device that says afterwards whether elements were left, so that no product is waited for. So
    are ``components``: 2 of the real matrices [p, -q; q, p] and [r; s] of complex numbers.
    """

    smallest: int | None = None
    beyond: tuple[int, ...] = definition.BEYOND
    engine: str = "auto"
    workspace: int | None = None
    unmade: Any = field(default=None, compare=False, repr=False)
    components: int = field(default=1, repr=False)

    def __post_init__(self) -> None:
        number("smallest", self.smallest, 1, 2**62)
        if not isinstance(self.beyond, tuple) or not self.beyond:
            raise ArgumentError(f"beyond: {self.beyond!r} given, a tuple of numbers is needed")
        for more in self.beyond:
            number("beyond", more, 0, MOST_BEYOND)


@dataclass(frozen=True)
class Ozaki1:
    """How ``gemm`` computes by slices (Ozaki, Ogita, Oishi, Rump 2012).

    Rows of A and columns of B are cut into ``slices`` digits of ``width`` bits, and all pairs of
    digits but the least are multiplied. ``word``: what digits are multiplied as, ``int8``,
    ``float32`` (both up to 8 bits wide) or ``float64`` (up to 22). By default as few slices as
    keep ``bits`` bits below the largest entry of a row (without it the format's, two fewer for
    one limb), and the narrowest of as few. Bits of results depend on slices and width only.
    ``engine``: who multiplies: ``auto`` (the vendor's library where it is found and
    exact, else portmp), ``library`` (also CLBlast), ``own``. ``workspace``: bytes of memory for
    digits and their products, by default a quarter of the device's; blocks of C are computed
    one after another.
    """

    slices: int | None = None
    width: int | None = None
    bits: int | None = None
    word: str = "int8"
    engine: str = "auto"
    workspace: int | None = None


@dataclass(frozen=True)
class Ozaki2:
    """How ``gemm`` computes by residues (the Ozaki scheme II, Ozaki, Uchino, Imamura 2025).

    ``moduli``: how many of the largest coprime numbers up to 256, 4 to 49 (large products need
    more than 4); by default as few as keep ``bits`` bits, which are the format's by default. More
    bits are kept below the largest entry of a row. Where 49 moduli are too few, as for ``qd``, and
    on CPUs, as many bits are kept by moduli of up to 22 bits, whose residues are multiplied as
    float64 matrices; elsewhere they are int8 ones. Bits of results depend on the bits of operands
    only. ``engine``: who multiplies: ``auto`` (the vendor's library where it is found and exact,
    else portmp), ``library``, ``own``. ``workspace``: bytes of memory for residues and their
    products, by default a quarter of the device's; blocks of C are computed one after another.
    ``components`` as of ``Auto``.
    """

    moduli: int | None = None
    bits: int | None = None
    engine: str = "auto"
    workspace: int | None = None
    components: int = field(default=1, repr=False)


Method = Auto | Ozaki1 | Ozaki2
"""How products are made, if not directly."""


RESIDUES = {"auto": Auto(), "ozaki2": Ozaki2()}
"""Methods by residues, by name."""


def of_both(method: Any) -> Any:
    """A method for the real matrices of both parts of complex numbers, [p, -q; q, p] and [r; s]."""
    known = RESIDUES.get(method, method) if isinstance(method, str) else method
    return replace(known, components=2) if isinstance(known, (Auto, Ozaki2)) else known
