"""How one limb lies in memory: as a word, as the top bits of one, or as a shorter IEEE number.

A coding is a table entry: the word that computes, the parts in memory (leading bits first,
each a plane of its own, so that all loads are aligned and coalesced), and the range and
precision of the numbers that these parts hold. Bits that are cut off are rounded to nearest,
ties to even, or, where the format says so, toward zero. Source of the cut words: seed paper on
reduced-length formats, whose parts (32 + 16 + 8 ...) these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

SIZES = {
    "int8": 8, "uint8": 8, "uint16": 16, "int32": 32, "uint32": 32, "float32": 32, "float64": 64,
}  # fmt: skip
"""Bits of the dtypes of parts."""

PRECISION = {"float32": 24, "float64": 53}
"""Bits of a word's significand."""

_EXPONENT_BITS = {"float32": 8, "float64": 11}


@dataclass(frozen=True)
class Coding:
    """One limb: ``kind`` is ``word`` (as it is), ``cut`` (the word's top bits), ``single`` (a
    double as binary32), ``half`` (a float as binary16) or ``none`` (zero, not stored).
    """

    name: str
    word: str
    parts: tuple[str, ...]
    kind: str = "word"

    @cached_property
    def size(self) -> int:
        """Bits in memory."""
        return sum(SIZES[part] for part in self.parts)

    @cached_property
    def dropped(self) -> int:
        """Bits that are cut off the word's image."""
        return SIZES[self.word] - self.size

    @cached_property
    def bits(self) -> int:
        """Bits of the significand, with the leading one."""
        if self.kind == "none":
            return 0
        exponent = {"half": 5, "single": 8}.get(self.kind, _EXPONENT_BITS[self.word])
        return self.size - exponent

    @cached_property
    def overflow(self) -> int:
        """Exponent of the first power of two that it does not hold."""
        wide = {"half": 16, "single": 128, "none": 0}
        return wide.get(self.kind, 128 if self.word == "float32" else 1024)

    @cached_property
    def smallest(self) -> int:
        """Exponent of the smallest subnormal."""
        return 3 - self.overflow - self.bits

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each part's bits begin, counted from the word's top."""
        return tuple(sum(SIZES[p] for p in self.parts[:i]) for i in range(len(self.parts)))


def _cut(word: str, size: int, *parts: str) -> Coding:
    return Coding(f"{word}in{size}b", word, parts, "cut")


_TABLE = (
    Coding("float32", "float32", ("float32",)),
    Coding("float64", "float64", ("float64",)),
    _cut("float64", 56, "uint32", "uint16", "uint8"),
    _cut("float64", 48, "uint32", "uint16"),
    _cut("float64", 40, "uint32", "uint8"),
    _cut("float64", 32, "uint32"),
    _cut("float64", 24, "uint16", "uint8"),
    _cut("float64", 16, "uint16"),
    _cut("float32", 24, "uint16", "uint8"),
    _cut("float32", 16, "uint16"),
    Coding("float64infp32", "float64", ("float32",), "single"),
    Coding("float16", "float32", ("uint16",), "half"),
    Coding("unstored", "float64", (), "none"),
)

_CODINGS = {coding.name: coding for coding in _TABLE}


def coding(name: str) -> Coding:
    """The coding of this name; a dtype's is that of its numbers as they are."""
    return _CODINGS.get(name) or Coding(name, name, (name,))
