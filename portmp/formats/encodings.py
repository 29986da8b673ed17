"""How one limb lies in memory, in numbers: a sign, bits of an exponent, a significand.

An encoding is a table entry: the word that computes, the parts in memory (leading bits first,
each a plane of its own, so that all loads are aligned and coalesced), and the bits of the
exponent. All else follows, as IEEE 754 has it: the bias, subnormals below the smallest exponent,
infinities and NaN at the largest. Bits that are cut off are rounded to nearest, ties to even,
or, where the format says so, toward zero. Source of the words' top bits: seed paper on
reduced-length formats, whose parts (32 + 16 + 8 ...) these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from portmp.errors import FormatError

SIZES = {
    "int8": 8, "uint8": 8, "uint16": 16, "int32": 32, "uint32": 32, "float32": 32, "float64": 64,
}  # fmt: skip
"""Bits of the dtypes of parts."""

PRECISION = {"float32": 24, "float64": 53}
"""Bits of a word's significand, with the leading one."""

_EXPONENT = {word: SIZES[word] - bits for word, bits in PRECISION.items()}


@dataclass(frozen=True)
class Encoding:
    """One limb: a *word* that computes, its *parts* in memory, integers or one float, none if
    the limb is not stored (it is zero), and how many bits of these are the *exponent*.

    FormatError where a shorter exponent than the word's has no code on devices.
    """

    name: str
    word: str
    parts: tuple[str, ...]
    exponent: int

    def __post_init__(self) -> None:
        if self.rescaled and (self.word != "float32" or self.size > 24 or self.bits < 2):
            raise FormatError(
                f"encoding {self.name}: {self.exponent} of {self.size} bits of {self.word} given; "
                "an exponent that is shorter than the word's needs float32, at most 24 bits and "
                "a significand that tells NaN from infinity"
            )

    @cached_property
    def size(self) -> int:
        """Bits in memory."""
        return sum(SIZES[part] for part in self.parts)

    @cached_property
    def bits(self) -> int:
        """Bits of the significand, with the leading one."""
        return self.size - self.exponent

    @cached_property
    def bias(self) -> int:
        """What is added to exponents; the largest exponent of a number."""
        return (1 << self.exponent >> 1) - 1

    @cached_property
    def overflow(self) -> int:
        """Exponent of the first power of two that it does not hold."""
        return self.bias + 1

    @cached_property
    def smallest(self) -> int:
        """Exponent of the smallest subnormal."""
        return 2 - self.bias - self.bits

    @cached_property
    def dropped(self) -> int:
        """Bits that are cut off the word's significand."""
        return PRECISION[self.word] - self.bits

    @cached_property
    def plain(self) -> bool:
        """Whether memory holds the word itself."""
        return self.parts == (self.word,)

    @cached_property
    def native(self) -> bool:
        """Whether memory holds a number that processors load: the word, or a shorter float."""
        return self.plain or self.parts == ("float32",)

    @cached_property
    def rescaled(self) -> bool:
        """Whether integers hold a shorter exponent than the word's."""
        return bool(self.parts) and not self.native and self.exponent < _EXPONENT[self.word]

    @cached_property
    def rebias(self) -> int:
        """What the word's bias has more than this one."""
        return (1 << _EXPONENT[self.word] >> 1) - 1 - self.bias

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each part's bits begin, counted from the word's top."""
        return tuple(sum(SIZES[p] for p in self.parts[:i]) for i in range(len(self.parts)))

    @cached_property
    def shifts(self) -> tuple[int, ...]:
        """How many of the bits in memory follow each part's."""
        ends = zip(self.offsets, self.parts, strict=True)
        return tuple(self.size - offset - SIZES[part] for offset, part in ends)


_TABLE = (
    Encoding("float32", "float32", ("float32",), 8),
    Encoding("float64", "float64", ("float64",), 11),
    Encoding("float64in56b", "float64", ("uint32", "uint16", "uint8"), 11),
    Encoding("float64in48b", "float64", ("uint32", "uint16"), 11),
    Encoding("float64in40b", "float64", ("uint32", "uint8"), 11),
    Encoding("float64in32b", "float64", ("uint32",), 11),
    Encoding("float64in24b", "float64", ("uint16", "uint8"), 11),
    Encoding("float64in16b", "float64", ("uint16",), 11),
    Encoding("float32in24b", "float32", ("uint16", "uint8"), 8),
    Encoding("float32in16b", "float32", ("uint16",), 8),
    Encoding("float64infp32", "float64", ("float32",), 8),
    Encoding("float16", "float32", ("uint16",), 5),
    Encoding("unstored", "float64", (), 0),
)

_ENCODINGS = {one.name: one for one in _TABLE}


def encoding(name: str) -> Encoding:
    """The encoding of this name; an integer dtype's is that of its numbers as they are."""
    return _ENCODINGS.get(name) or Encoding(name, name, (name,), 0)
