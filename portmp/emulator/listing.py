"""Instructions of a code object, read from the text of llvm-objdump."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from portmp.compilers import amd_code
from portmp.errors import DeviceError

_LABEL = re.compile(r"([0-9a-f]+) <(.+)>:")
_LINE = re.compile(r"\t(.*?)\s*// ([0-9A-F]+):((?: [0-9A-F]{8})+)(?: <.*>)?")
_MODIFIER = re.compile(r"(?<!\S)([a-z]\w*):(\[[^\]]*\]|\S+)")


@dataclass(frozen=True)
class Instruction:
    """One operation: of two that share an encoding (``::``), ``second`` is the other."""

    address: int
    nbytes: int
    mnemonic: str
    operands: tuple[str, ...]
    modifiers: dict[str, str] = field(default_factory=dict)
    words: frozenset[str] = frozenset()
    second: Instruction | None = None
    text: str = ""

    @property
    def following(self) -> int:
        """Address of the next instruction."""
        return self.address + self.nbytes

    def numbers(self, name: str, count: int, default: int) -> list[int]:
        """The numbers of a modifier such as ``op_sel:[0,1]``."""
        text = self.modifiers.get(name)
        found = [int(n) for n in text[1:-1].split(",")] if text else []
        return found + [default] * (count - len(found))


def _split(text: str) -> tuple[str, tuple[str, ...], dict[str, str], frozenset[str]]:
    """Mnemonic, operands, modifiers with a value, and words without."""
    mnemonic, _, rest = text.partition(" ")
    modifiers: dict[str, str] = {}

    def take(found: re.Match[str]) -> str:
        modifiers[found[1]] = found[2]
        return ""

    # What stands in parentheses is one operand; a register range's colon is in brackets.
    rest = re.sub(r",\s+(?=[^()]*\))", ",", rest)
    plain = re.sub(_MODIFIER, take, rest).strip()
    # Commas outside of brackets and parentheses part them.
    parts = re.split(r",\s*(?![^\[]*\]|[^(]*\))", plain) if plain else []
    operands = [part.strip() for part in parts]
    words: list[str] = []
    if operands:
        operands[-1], *words = operands[-1].split() or [""]
    return mnemonic, tuple(filter(None, operands)), modifiers, frozenset(words)


def instruction(text: str, address: int, nbytes: int) -> Instruction:
    """The instruction that a line of text says."""
    first, _, other = text.partition(" :: ")
    pair = instruction(other.strip(), address, nbytes) if other else None
    mnemonic, operands, modifiers, words = _split(first.strip())
    return Instruction(address, nbytes, mnemonic, operands, modifiers, words, pair, text)


def instructions(binary: bytes) -> Iterator[tuple[str, Instruction]]:
    """Function and instruction, in the order of their addresses."""
    function = ""
    for line in amd_code.listing(binary).splitlines():
        if label := _LABEL.fullmatch(line):
            function = label[2]
        elif found := _LINE.fullmatch(line.rstrip()):
            nbytes = 4 * len(found[3].split())
            yield function, instruction(" ".join(found[1].split()), int(found[2], 16), nbytes)
        elif line.startswith("\t") and line.strip() != "...":
            raise DeviceError(f"the disassembler's line is not understood: {line.strip()}")
