"""How one limb lies in memory, in numbers: a sign, bits of an exponent, a significand.

An encoding is a table entry: the word that computes, the parts in memory (leading bits first,
each a plane of its own, so that all loads are aligned and coalesced), and the bits of the
exponent. All else follows, as IEEE 754 has it: the bias, subnormals below the smallest exponent,
infinities and NaN at the largest. Bits that are cut off are rounded to nearest, ties to even,
or, where the format says so, toward zero. Source of the words' top bits: the paper on
reduced-length formats, whose parts (32 + 16 + 8 ...) these are.
"""

from dataclasses import dataclass
from functools import cached_property

from portmp.errors import FormatError

SIZES = {
    "int8": 8,
    "uint8": 8,
    "uint16": 16,
    "int32": 32,
    "uint32": 32,
    "float32": 32,
    "float64": 64,
}
"""Bits of the dtypes of parts."""

PRECISION = {"float32": 24, "float64": 53}
"""Bits of a word's significand, with the leading one."""

_EXPONENT = {word: SIZES[word] - bits for word, bits in PRECISION.items()}


@dataclass(frozen=True)
class Encoding:
    """One limb: a *word* that computes, its *parts* in memory, integers or one float, none if
    the limb is not stored (it is zero), and how many bits of these are the *exponent*.

    FormatError where host and devices have no code for these numbers.
    """

    name: str
    word: str
    parts: tuple[str, ...]
    exponent: int

    def __post_init__(self) -> None:
        if self.native:
            known = self.exponent == _EXPONENT.get(self.parts[0], 0)
        else:
            known = not self.parts or self._integers()
        if not known:
            raise FormatError(
                f"encoding {self.name}: {self.exponent} bits of exponent in {self.parts} of "
                f"{self.word} given; a float as a part has its own exponent; integers hold fewer "
                "bits than the word, 2 of a significand at least, to tell NaN from infinity, and "
                "the word's exponent or, of float32, a shorter one of 1 bit at least"
            )

    def _integers(self) -> bool:
        """Whether integers can hold a significand and an exponent of so many bits."""
        if self.word not in PRECISION or self.bits < 2 or self.dropped < 1:
            return False
        shortest = 1 if self.word == "float32" else _EXPONENT[self.word]
        return shortest <= self.exponent <= _EXPONENT[self.word]

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
