"""Digits for products of integer matrices: how many, how wide, and how far sums of them reach.

The scheme (Ozaki, Ogita, Oishi, Rump 2012): an operand of ``bits`` bits is the sum of ``count``
signed digits of ``width`` bits. Products of digits of one weight, digits t of A and u of B with
t + u = d, form an antidiagonal; those with d < count are summed, exactly, and the rest is less
than the operands' own rounding. Digits are rounded, not cut: they have a sign, which is the bit
that a splitting constant of 3/4 gains over one of 1 (Mukunoki, Ozaki, Ogita, Imamura 2020).
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from portmp.backends.base import Device, Library, Multiplication, Queue, Rows
from portmp.codegen.kernel_spec import KernelSpec
from portmp.errors import ArgumentError, choice
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.ozaki import integers, reference
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.integers import LEAST_BITS, Integers, Plane
from portmp.routines.ozaki.launch import Block
from portmp.routines.ozaki.options import Ozaki1
from portmp.routines.ozaki.reference import Host
from portmp.routines.products import engines
from portmp.runtime.program import CompilationUnit

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
        return self.gathered * self.width

    @property
    def digits(self) -> int:
        """Digits of sums; the last is what is left, below 2^52."""
        # Sums over 2^30 steps: |product| <= 4^bits, the unit is 2^shift.
        sums = 2 * self.bits - self.shift + 31
        return 1 + max(-(-(self.count - 1) // self.gathered), -(-max(sums - 52, 0) // self.base))

    @property
    def shift(self) -> int:
        return self.width * (self.count - 1)

    @property
    def left_out(self) -> int:
        """All digits: of their products only those of the greater weights are added up."""
        return self.count

    def sums(self, left: Plane, right: Plane) -> Plane:
        """Products of digits t and u with t + u < count alone, the least weight the unit."""
        x, y = self.digits_of(left), self.digits_of(right)
        total = np.zeros((left.shape[0], right.shape[0]), object)
        for d in range(self.count):
            total = total << self.width
            for t in range(d + 1):
                total = total + super().sums(x[t], y[d - t])
        return total

    def digits_of(self, numbers: Plane) -> list[Plane]:
        """Signed digits of Python's integers, the highest first."""
        shifted = numbers + self.bias
        half, mask = 1 << (self.width - 1), (1 << self.width) - 1
        places = reversed(range(self.count))
        return [((shifted >> (self.width * t)) & mask) - half for t in places]

    def digit(self, t: int) -> str:
        """Text of element e's *t*-th digit from below, with its bias, from the words x0, x1 ..."""
        j, shift = divmod(self.width * t, 32)
        low = f"x{j}[e] >> {shift}" if shift else f"x{j}[e]"
        if shift + self.width > 32:
            low = f"({low}) | (x{j + 1}[e] << {32 - shift})"
        return f"(({low}) & {(1 << self.width) - 1}u)"


def longest(word: str, width: int) -> int:
    """Most products of digits that a sum holds, in whole tiles."""
    largest = (1 << SUMS[word]) - (word == "int8")
    return (largest >> (2 * (width - 1))) // STEP * STEP


def slices(
    form: Format,
    word: str,
    *,
    count: int | None = None,
    width: int | None = None,
    bits: int | None = None,
) -> Slices:
    """How operands are cut: the fewest digits, and the narrowest of as few.

    They hold *bits* bits, by default the format's, and so much more that the products left out
    change bounds no more than the limbs' rounding. Where *count* is given digits are as wide as
    they may be, so that more of them hold more bits. ArgumentError for what is not possible.
    """
    most = WIDEST[choice("word:", word, SUMS)]
    count = integers.number("slices", count, 1, MOST)
    width = integers.number("width", width, NARROWEST, most)
    bits = integers.number("bits", bits, LEAST_BITS, MOST_BITS)
    if bits is not None and count is not None:
        raise ArgumentError(f"bits: {bits} given, but slices: {count} too; one of them is enough")
    widths = range(NARROWEST, most + 1) if width is None else range(width, width + 1)
    if count is None:
        wanted = bits or integers.needed(form)
        found = _fewest(wanted, form.limbs, widths)
        if found is None:
            raise ArgumentError(
                f"bits: {bits} given, {MOST} digits of {max(widths)} bits hold fewer"
            )
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
def _fewest(bits: int, limbs: int, widths: range) -> Slices | None:
    for count in range(1, MOST + 1):
        for width in widths:
            found = Slices(count, width)
            # Limbs' rounding is bounded by limbs 2^-K, what is left out by (count - 1) 2^-K.
            if limbs << found.bits >= (limbs + count - 1) << bits:
                return found
    return None


LAYOUT = "depth", "length", "stride"


class Digits(ozaki.Scheme):
    """Digits side by side: of A the first one first, of B the last one first.

    So the digits whose products have one weight stand in the same columns, and an antidiagonal is
    one product of matrices, cut where a sum of the word is full.
    """

    def __init__(self, cut: Slices, word: str) -> None:
        self.integers = self.slices = cut
        self.word = word
        self.count = cut.count
        self.cuts, self.sums = engines.FACTORS[word], engines.SUMS[word]
        self.length = longest(word, cut.width)

    def cut_spec(self, form: Format, second: bool, tiled: bool, threads: int) -> KernelSpec:
        kind = "uint32" if self.word == "int8" else self.word
        return ozaki.cut_spec(
            f"ozaki_digits_{self.word}_{'b' if second else 'a'}",
            *("digits", form, kind, threads),
            integers=self.slices,
            word=self.word,
            reverse=second,
            tiled=tiled,
        )

    def rebuild_spec(self, form: Format, k: int, threads: int) -> KernelSpec:
        kind = engines.SUMS[self.word].planes[0]
        how = "gather", form, LAYOUT, kind, threads
        name = f"ozaki_gather_{self.word}"
        return ozaki.rebuild_spec(name, *how, slices=self.slices, word=self.word)

    def parts(self, k: int) -> list[tuple[int, int]]:
        """The depth in one part: it is the sums that are cut."""
        return [(0, k)]

    def planes(self, k: int) -> int:
        """All pieces of all antidiagonals."""
        return sum(base.blocks((d + 1) * ozaki.padded(k), self.length) for d in range(self.count))

    def layout(self, k: int, plane: int) -> dict[str, int]:
        """Columns of a digit, the longest sum, steps from sum to sum."""
        return {"depth": ozaki.padded(k), "length": self.length, "stride": plane}

    def multiply(self, engine: Library, queue: Queue, block: Block) -> None:
        """Antidiagonals, the one of the least weight first."""
        m, n, k, left, right, found = block
        depth, plane = ozaki.padded(k), 0
        row = self.count * depth
        for d in reversed(range(self.count)):
            whole = (d + 1) * depth
            piece = ozaki.padded(base.blocks(whole, base.blocks(whole, self.length)))
            for start in range(0, whole, piece):
                steps = min(piece, whole - start)
                behind = (self.count - 1 - d) * depth + start
                a = Rows(left.buffers[0], row, left.first * row + start)
                b = Rows(right.buffers[0], row, right.first * row + behind)
                sums = Rows(found, n, plane * m * n)
                queue.multiply(engine, Multiplication(self.word, m, n, steps, a, b, sums))
                plane += 1


def units(form: Format, device: Device | None = None) -> dict[str, CompilationUnit]:
    """The compilation units of all words' products, by name."""
    schemes = [Digits(slices(form, word), word) for word in SUMS]
    found = [one for by in schemes for one in ozaki.units_of(by, form, device)]
    return {one.name: (one,) for one in (ozaki.searching(form, device), *found)}


def chosen(form: Format, method: Ozaki1) -> Slices:
    """What *method* asks for."""
    return slices(form, method.word, count=method.slices, width=method.width, bits=method.bits)


def on_host(form: Format, a: Host, b: Host, *rest: Any, cut: Slices | None = None) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n) by slices, those of int8 by default.

    *rest*: see reference.product.
    """
    return reference.product(form, cut or slices(form, "int8"), a, b, *rest)
