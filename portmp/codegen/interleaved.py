"""Elements whose parts lie one behind another in memory: their words, and texts that read them."""

from portmp.formats.encodings import SIZES as BITS
from portmp.formats.encodings import Encoding


def pieces(encoding: Encoding, unit: int) -> list[range]:
    """Of each part the places of its words of *unit* bytes in an element, the least one first."""
    return [
        range(offset // 8 // unit, (offset + BITS[part]) // 8 // unit)
        for part, offset in zip(encoding.parts, encoding.offsets, strict=True)
    ]


def joined(operand: str, encoding: Encoding, unit: int) -> list[str]:
    """The text of each part of an operand's element from its words."""
    return [
        " | ".join(
            f"(unsigned){operand}[at + {at}]" + (f" << {8 * unit * k}" if k else "")
            for k, at in enumerate(words)
        )
        for words in pieces(encoding, unit)
    ]
