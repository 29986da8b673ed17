"""Which words of the stream an element is made of."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from portmp import formats
from portmp.formats import Format

BLOCK = 4
"""Words of 32 bits that one value of the counter gives."""
WORD_BITS = 32


ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)
"""What the two words of the key grow by in each round."""


class Stream(NamedTuple):
    """The words of one key and one upper half of the counter."""

    key: tuple[int, int]
    upper: tuple[int, int]


@dataclass(frozen=True)
class Draw:
    """How one element is drawn: ``kind`` is uniform or normal.

    ``counts``: the limbs of the uniform numbers that it needs, ``bits``: those of each limb of
    the first of these (all limbs of others are full).
    """

    kind: str
    format: str

    @property
    def form(self) -> Format:
        """The format of the result."""
        return formats.get(self.format)

    @property
    def counts(self) -> tuple[int, ...]:
        """The limbs of each uniform number."""
        n = self.form.limbs
        return (n,) if self.kind == "uniform" else (max(n, 2), n)

    @property
    def per_limb(self) -> int:
        """Words that a limb takes."""
        return 1 if self.form.word == "float32" else 2

    @property
    def bits(self) -> tuple[tuple[int, ...], ...]:
        """Bits of each limb of each uniform number."""
        if self.kind == "uniform":
            return (tuple(one.bits for one in self.form.encodings if one.parts),)
        full = formats.get(self.form.word).bits
        return tuple((full,) * count for count in self.counts)

    @property
    def words(self) -> int:
        """Words of an element: a power of two, so that elements do not cross blocks."""
        needed = sum(self.counts) * self.per_limb
        return 1 << (needed - 1).bit_length()

    @property
    def blocks(self) -> int:
        """Blocks of an element, one at least."""
        return max(self.words // BLOCK, 1)

    @property
    def together(self) -> int:
        """Elements of a block, one at least."""
        return max(BLOCK // self.words, 1)


@cache
def draw(kind: str, form: str) -> Draw:
    """The way to draw one element."""
    return Draw(kind, form)
