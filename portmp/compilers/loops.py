"""Loops in machine code: what a kernel's innermost loop with reciprocal roots issues.

A loop is the range of instructions from a jump's target to a jump back to it. Counts are
static. Code inside it that a jump may skip is left out where it calls a function: compilers
place slow paths of roots and divisions so. Of other code that seldom runs they know nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from portmp.compilers import amd_code, nvrtc


@dataclass(frozen=True)
class Instruction:
    """An instruction, mnemonic first, and the place in the function that it may jump to."""

    text: str
    target: int | None = None

    @property
    def head(self) -> str:
        """The mnemonic."""
        return self.text.split()[0]


@dataclass(frozen=True)
class Loop:
    """The innermost loop that holds roots.

    ``interactions``: as many as it has square or reciprocal square roots, unless
    ``with_reads`` says it better; ``issued``: instructions that take turns at the vector units;
    ``special_turns``: how many turns a special one of them takes there; ``instructions``: all,
    by class.
    """

    interactions: float
    issued: int
    special_turns: int = 1
    instructions: Counter[str] = field(default_factory=Counter)

    def with_reads(self, reads: float) -> Loop:
        """With interactions that read shared memory so often each, where the loop reads it.

        Slow paths of a root may hold another one, but never another read.
        """
        found = self.instructions["shared"] / reads
        return replace(self, interactions=found) if found else self

    def each(self, *classes: str) -> float:
        """Instructions of these classes for each interaction."""
        return sum(self.instructions[c] for c in classes) / self.interactions

    @property
    def plain(self) -> float:
        """Instructions an interaction that take turns at the vector units, but special ones."""
        return (self.issued - self.instructions["special"]) / self.interactions

    @property
    def special(self) -> float:
        """Special instructions (roots, reciprocals) an interaction."""
        return self.each("special")

    @property
    def turns(self) -> float:
        """Turns at the vector units for each interaction."""
        return self.plain + self.special_turns * self.special

    def as_dict(self) -> dict[str, Any]:
        """For JSON: counts of the whole loop, and for each interaction."""
        each = {k: self.each(k) for k, v in sorted(self.instructions.items()) if v}
        return {
            "interactions": self.interactions,
            "issued": self.issued,
            "an_interaction": each,
            "plain": self.plain,
            "special": self.special,
            "turns": self.turns,
        }


Function = list[Instruction]


@dataclass(frozen=True)
class _Family:
    """How one vendor's machine code is read.

    ``root`` matches roots, ``issued`` what takes turns at the vector units, where a special
    instruction takes ``special_turns`` (one if it has a unit of its own), ``call`` calls.
    """

    listing: Callable[[bytes], dict[str, Function]]
    classify: Callable[[str], str]
    root: re.Pattern[str]
    issued: re.Pattern[str]
    special_turns: int
    call: re.Pattern[str]


def _amd(binary: bytes) -> dict[str, Function]:
    """Functions of a code object."""
    found: dict[str, Function] = {}
    for name, lines in amd_code.functions(binary).items():
        # A pair of operations in one instruction has one place.
        numbers = {line.place: i for i, line in reversed(list(enumerate(lines)))}
        targets = [None if line.target is None else numbers.get(line.target) for line in lines]
        found[name] = [Instruction(line.text, to) for line, to in zip(lines, targets, strict=True)]
    return found


_TO_LABEL = re.compile(r"BRA.*`\((\.L_\w+)\)")


def _nvidia(binary: bytes) -> dict[str, Function]:
    """Functions of a cubin; jumps name labels."""

    def read(line: str, labels: Mapping[str, int]) -> Instruction:
        to = _TO_LABEL.match(line)
        return Instruction(line, labels.get(to[1]) if to else None)

    codes = nvrtc.functions(binary).items()
    return {name: [read(line, code.labels) for line in code.lines] for name, code in codes}


_FAMILIES: Mapping[str, _Family] = {
    # Scalar, memory and branch instructions have ports of their own; special ones go through
    # the vector units at a quarter of the rate (float32).
    "rocm": _Family(
        _amd,
        amd_code.classify,
        re.compile(r"v_(s_)?(rsq|sqrt)_"),
        re.compile(r"v_"),
        4,
        re.compile(r"s_swappc"),
    ),
    # One scheduler issues all of them, one a cycle; special ones have a unit of their own.
    "cuda": _Family(
        _nvidia,
        nvrtc.classify,
        re.compile(r"MUFU\.(RSQ|SQRT)"),
        re.compile(r"\S"),
        1,
        re.compile(r"CALL"),
    ),
}


def readable(platform: str) -> bool:
    """Whether machine code of this platform can be read."""
    return platform in _FAMILIES


def innermost(code: Sequence[Instruction], is_root: Callable[[str], object]) -> Function:
    """The loop with the most roots that holds no other loop with roots; empty where none has.

    Of several the shortest: loops with more instructions for as many roots test for something.
    Its jumps' targets are counted from its start; None for those that leave it.
    """
    spans: dict[int, int] = {}
    for i, instruction in enumerate(code):
        if instruction.target is not None and instruction.target <= i:
            spans[instruction.target] = i + 1

    def roots(span: tuple[int, int]) -> int:
        return sum(bool(is_root(x.head)) for x in code[span[0] : span[1]])

    rooted = [span for span in spans.items() if roots(span)]

    def holds_another(span: tuple[int, int]) -> bool:
        return any(span != o and span[0] <= o[0] and o[1] <= span[1] for o in rooted)

    inner = [span for span in rooted if not holds_another(span)]
    first, last = max(inner, key=lambda span: (roots(span), span[0] - span[1]), default=(0, 0))
    return [
        replace(x, target=x.target - first)
        if x.target is not None and first <= x.target <= last
        else replace(x, target=None)
        for x in code[first:last]
    ]


def usual(body: Sequence[Instruction], is_call: Callable[[str], object]) -> Function:
    """A loop's body without what a jump forward skips, if that calls a function: slow paths."""
    kept: list[Instruction] = []
    place = 0
    while place < len(body):
        kept.append(body[place])
        target = body[place].target or 0
        skipped = body[place + 1 : target]
        place = target if any(is_call(x.head) for x in skipped) else place + 1
    return kept


def hot_loops(platform: str, binary: bytes) -> dict[str, Loop]:
    """The innermost loop with roots of each function that has one."""
    family = _FAMILIES[platform]
    found: dict[str, Loop] = {}
    for name, code in family.listing(binary).items():
        body = usual(innermost(code, family.root.match), family.call.match)
        if body:
            found[name] = Loop(
                interactions=sum(bool(family.root.match(x.head)) for x in body),
                issued=sum(bool(family.issued.match(x.head)) for x in body),
                special_turns=family.special_turns,
                instructions=Counter(family.classify(x.head) for x in body),
            )
    return found
