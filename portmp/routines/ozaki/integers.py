"""Rows of a matrix as integers: what the kernels that cut them need to know."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from portmp.errors import ArgumentError
from portmp.formats import Format

Plane = np.ndarray[Any, Any]

PIECE = 48
"""Bits of the pieces that an operand's limbs are cut into: whole bytes, exact sums."""

FINE = 20
"""Bits of what sums of magnitudes are told in, below a row's exponent."""

LIFTS = 8
"""Bits, at most, that sizes are lifted by."""

LEAST_BITS = 8
"""Of an operand, where the user says how it is cut."""


class Integers(ABC):
    """Integers of up to ``bits`` bits and a sign; ``bias`` makes them positive.

    Sums of their products are rounded from ``digits`` digits of ``base`` bits. ``components``: 2 of
    complex numbers.
    """

    bits: int
    bias: int
    components: int = 1

    @property
    def unit(self) -> int:
        """Numbers are scaled by 2^(unit - e), e the exponent of their row."""
        return self.bits

    @property
    @abstractmethod
    def base(self) -> int:
        """Bits of a digit of sums."""

    @property
    @abstractmethod
    def digits(self) -> int:
        """Digits of sums."""

    @property
    def shift(self) -> int:
        """The weight of sums is 2^shift times that of products of operands."""
        return 0

    @property
    def left_out(self) -> int:
        """Digits of operands where the least of their products are left out; 0 where none are."""
        return 0

    def sums(self, left: Plane, right: Plane) -> Plane:
        """Of products of the rows of two matrices of Python's integers, on the host."""
        return np.asarray(left @ right.T, dtype=object)

    @property
    def pieces(self) -> int:
        """Pieces of an operand: what is above the last is at most half its digit."""
        return max(1, -(-(self.bits - (52 - PIECE) + 1) // PIECE))

    @property
    def words(self) -> int:
        """32-bit words of an operand with its bias."""
        return -(-(self.bits + 3) // 32)

    def bias_of(self, piece: int) -> int:
        """The bias in pieces, the last without limit."""
        above = self.bias >> (PIECE * piece)
        return above if piece == self.pieces - 1 else above & ((1 << PIECE) - 1)

    def word_of(self, j: int, whole: str) -> str:
        """Text of an operand's *j*-th 32 bits, from its pieces as numbers of the type *whole*."""
        parts = []
        for q in range(self.pieces):
            at, width = PIECE * q - 32 * j, 64 if q == self.pieces - 1 else PIECE
            if at < 32 and at + width > 0:
                shift = f" << {at}" if at > 0 else f" >> {-at}" if at else ""
                parts.append(f"({whole})piece{q}{shift}")
        return "(unsigned)(" + " | ".join(f"({t})" if len(parts) > 1 else t for t in parts) + ")"


def doubles(form: Format) -> int:
    """How many float64 words hold a sum until it is rounded to the format."""
    return form.limbs if form.word == "float64" else (1, 2, 2, 3)[form.limbs - 1]


def needed(form: Format) -> int:
    """Bits of operands for products of the format's accuracy."""
    # The chain of fma of one limb loses more than the last two bits of its operands.
    return form.bits - 2 * (form.limbs == 1)


def number(name: str, given: object, least: int, most: int) -> int | None:
    """An option that is a number or None; ArgumentError for others."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise ArgumentError(f"{name}: {given!r} given, a number is needed")
    if not least <= given <= most:
        raise ArgumentError(f"{name}: {given} given, {least} to {most} are allowed")
    return int(given)
