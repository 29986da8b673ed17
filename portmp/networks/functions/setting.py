"""What a function is written for, a word and a number of limbs, and what functions share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from portmp.networks import constants
from portmp.networks.catalogue import NETWORKS
from portmp.networks.language import define, fold, lookup, staged
from portmp.networks.levels import Listing, kind, limbs, value

MEASURED = "1u^N (measured)"
"""The bound of functions: proofs are none, but the worst that searches found is below."""
_MARGIN = 4
"""Bits that a step of Horner's rule may lose."""


@dataclass(frozen=True)
class Setting:
    """A word and how many of them a value has."""

    word: str
    limbs: int

    @cached_property
    def p(self) -> int:
        """Significand bits of a word."""
        return constants.PRECISION[self.word]

    @cached_property
    def largest_exponent(self) -> int:
        """The exponent of the largest finite word; smallest normal words have 1 less it."""
        return 127 if self.word == "float32" else 1023

    @property
    def bits(self) -> int:
        """Bits of a value."""
        return self.p * self.limbs

    @property
    def kind(self) -> str:
        """What a signature calls a value."""
        return kind(self.limbs)

    @property
    def wide(self) -> "Setting":
        """One limb more."""
        return Setting(self.word, self.limbs + 1)

    def of(self, count: int) -> "Setting":
        """Values of so many limbs."""
        return Setting(self.word, count)

    def named(self, op: str) -> str:
        """The name of a network for values of this many limbs."""
        return f"{op}{self.limbs}_{self.word}"

    def words(self, number: Fraction | int, count: int) -> tuple[float, ...]:
        """A constant as words."""
        return constants.words_of(number, self.word, count)

    def texts(self, number: Fraction | int, count: int) -> list[str]:
        """A constant as literals of a listing."""
        return [repr(word) for word in self.words(number, count)]

    @property
    def nearest(self) -> str:
        """What, added and subtracted, leaves the nearest integer of numbers below 2^(p - 2)."""
        return repr(1.5 * 2.0 ** (self.p - 1))

    # --- definitions ---------------------------------------------------------------------

    def define(self, name: str, signature: str, listing: Listing, source: str, bound: str) -> str:
        """Add a network; returns its name."""
        if name not in NETWORKS:
            define(name, signature, str(listing), source=source, bound=bound)
        return name

    def function(
        self, op: str, out: Listing, source: str, operands: str = "x", bound: str = MEASURED
    ) -> str:
        """Add a network of values (their names are letters) to a value; returns its name."""
        takes = " ".join(f"{name}:{self.kind}" for name in operands)
        return self.define(self.named(op), f"{takes} -> {self.kind}", out, source, bound)

    def table(self, op: str, rows: Sequence[Sequence[float]], source: str) -> str:
        """Add a lookup; its name carries the words of an entry."""
        name = self.of(len(rows[0])).named(op)
        if name not in NETWORKS:
            signature = f"index:word -> {kind(len(rows[0]))}"
            lookup(name, signature, [tuple(row) for row in rows], source=source)
        return name

    def series(
        self, op: str, coefficients: Callable[[int], Fraction | int], reach: float, bits: float
    ) -> tuple[str, int]:
        """Add the polynomial of a power series at |x| <= 2^-reach; its name and result's limbs.

        Its error is about 2^-bits of its first coefficient. Each step of Horner's rule has as many
        limbs as its coefficient's weight needs.
        """
        rows: list[tuple[int, Fraction]] = []
        while True:
            i = len(rows)
            found = coefficients(i)
            c = constants.fraction(found) if isinstance(found, int) else found
            weight = _log2(c) - _log2(rows[0][1] if rows else c) - i * reach
            if len(rows) > 1 and weight < -bits - 1:
                break
            needed = max(1, math.ceil((bits + weight + _MARGIN) / self.p))
            rows.append((min(needed, self.limbs), c))
        for (_, low), (_, high) in pairwise(rows):
            assert _log2(high) - reach <= _log2(low) - 1, f"{op}: terms do not fall"
        start = self.words(rows[-1][1], rows[-1][0])
        stages = staged((f"horner{k}", self.words(c, k)) for k, c in reversed(rows[:-1]))
        most = rows[0][0]
        name = self.of(most).named(op)
        if name not in NETWORKS:
            fold(
                name,
                f"x:{kind(most)} -> {kind(most)}",
                start,
                stages,
                source=f"the first {len(rows)} terms of a power series",
                bound=f"2^-{math.floor(bits)} of the first",
            )
        return name, most


def _log2(c: Fraction) -> float:
    """The binary logarithm of |c|."""
    n, d = abs(c.numerator), c.denominator
    shift = max(n.bit_length() - 60, 0), max(d.bit_length() - 60, 0)
    return math.log2(n >> shift[0]) + shift[0] - math.log2(d >> shift[1]) - shift[1]


def scaled(out: Listing, words: Sequence[str], e: str, s: Setting) -> list[str]:
    """Words times 2^e, for any e that has a result; the last multiplication alone rounds."""
    half = out.nearest(f"0.5 * {e}", s.nearest)
    rest = out.named(f"{e} - {half}")
    first, second = out.named(f"power_of_two({half})"), out.named(f"power_of_two({rest})")
    steps = [out.named(f"{word} * {first}") for word in words]
    return [out.named(f"{word} * {second}") for word in steps]


def guarded(
    out: Listing, words: Sequence[str], ok: str, otherwise: str = "0", sign: str = ""
) -> None:
    """Return *words*; where they are not finite zeros below, and where not *ok* the other word."""
    fine = out.named(f"both({ok}, finite({words[0]}))") if ok else f"finite({words[0]})"
    head = f"select({ok}, {words[0]}, {otherwise})" if ok else words[0]
    lower = [f"select({fine}, {word}, 0)" for word in words[1:]]
    out.write(f"return {', '.join([head, *lower])}")


def odd(out: Listing, word: str, x0: str) -> str:
    """The leading word of a function that is x near zero: zeros keep their signs."""
    return out.named(f"select(nonzero({x0}), {word}, {x0})")


def chopped(out: Listing, s: Setting, words: Sequence[str]) -> list[str]:
    """Limbs without what is below half a unit of the last place: exact results come out exactly."""
    least = out.named(f"{2.0 ** -(s.bits + 1)} * fabs({words[0]})")
    lower = [out.named(f"select(less(fabs({word}), {least}), 0, {word})") for word in words[1:]]
    return [words[0], *lower]


def signed(out: Listing, words: Sequence[str], negative: str) -> list[str]:
    """Words with their signs changed where a flag is set."""
    return [out.named(f"select({negative}, -{word}, {word})") for word in words]


def magnitude(out: Listing, name: str, count: int) -> tuple[list[str], str]:
    """The words of |x|, and whether x has a sign."""
    flag = out.named(f"negative({name}[0])")
    return signed(out, limbs(name, count), flag), flag


def chosen(out: Listing, flag: str, a: Sequence[str], b: Sequence[str]) -> list[str]:
    """Words of the one where a flag is set, else of the other; zeros where one has fewer."""
    count = max(len(a), len(b))
    a, b = [*a, *["0"] * (count - len(a))], [*b, *["0"] * (count - len(b))]
    return [out.named(f"select({flag}, {x}, {y})") for x, y in zip(a, b, strict=True)]


def square_root(
    out: Listing, s: Setting, words: Sequence[str], factor: Sequence[str] = ()
) -> list[str]:
    """The root of words, the leading one normal, or of their product with a factor near 1.

    The words are scaled to about 1, where no lower limb is lost.
    """
    n = len(words)
    e = out.named(f"exponent({words[0]})")
    half = out.nearest(f"0.5 * {e}", s.nearest)
    down, up = out.named(f"power_of_two(-{half})"), out.named(f"power_of_two({half})")
    inner = [out.named(f"({word} * {down}) * {down}") for word in words]
    if factor:
        inner = limbs(out.named(f"mul{n}({value(inner)}, {value(factor)})"), n)
    root = out.named(f"root{n}({value(inner)})")
    return [out.named(f"{word} * {up}") for word in limbs(root, n)]


def divided(out: Listing, s: Setting, above: Sequence[str], below: Sequence[str]) -> list[str]:
    """A quotient of words, the divisor's leading one normal: scaled to about 1."""
    n = len(above)
    power = out.named(f"power_of_two(-exponent({below[0]}))")
    inner = value([out.named(f"{word} * {power}") for word in below])
    quotient = out.named(f"quotient{n}({value(above)}, {inner})")
    return [out.named(f"{word} * {power}") for word in limbs(quotient, n)]
