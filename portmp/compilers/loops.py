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

from portmp.compilers import amd_code, nvrtc, tools


@dataclass(frozen=True)
class Instruction:
    """An instruction without its predicate, and the place in the function that it may jump to."""

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


_PLACE = re.compile(r"//\s*([0-9A-Fa-f]+):")
_JUMP = re.compile(r"<[^>]*?(?:\+0x([0-9a-fA-F]+))?>\s*$")
_HEADER = re.compile(r"([0-9a-f]+) <(.+)>:")


def _amd(binary: bytes) -> dict[str, Function]:
    """Functions of a code object; jumps name their target's distance from the start."""
    text = tools.run_on_binary([amd_code._objdump(), "-d"], amd_code.unbundle(binary))
    found: dict[str, Function] = {}
    pending: list[tuple[int, str, int | None]] = []
    start, name = 0, ""

    def finish() -> None:
        if name:
            numbers = {place: i for i, (place, _, _) in reversed(list(enumerate(pending)))}
            found[name] = [
                Instruction(text, None if to is None else numbers.get(to))
                for _, text, to in pending
            ]
            pending.clear()

    for line in text.splitlines():
        header = _HEADER.fullmatch(line)
        if header:
            finish()
            start, name = int(header[1], 16), header[2]
        place = _PLACE.search(line)
        if not name or place is None or not line.startswith("\t"):
            continue
        jump = _JUMP.search(line) if "branch" in line else None
        target = start + int(jump[1] or "0", 16) if jump else None
        # A pair of operations in one instruction has one place.
        for part in line.split("//")[0].split(" :: "):
            pending.append((int(place[1], 16), " ".join(part.split()), target))
    finish()
    return found


_LABEL = re.compile(r"(\.L_x?_?\w+):")
_TO_LABEL = re.compile(r"`\((\.L_\w+)\)")
_SECTION = re.compile(r"\s*\.section\s+\.text\.([^,]+),")
_CODE = re.compile(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(\S.*?)\s*;")


def _nvidia(binary: bytes) -> dict[str, Function]:
    """Functions of a cubin; jumps name labels."""
    text = tools.run_on_binary([nvrtc.nvdisasm(), "-c"], binary)
    lines: dict[str, list[str]] = {}
    labels: dict[str, dict[str, int]] = {}
    name = ""
    for line in text.splitlines():
        section, label, code = (p.match(line) for p in (_SECTION, _LABEL, _CODE))
        if section:
            name = section[1]
            lines[name], labels[name] = [], {}
        elif label and name:
            labels[name][label[1]] = len(lines[name])
        elif code and name and code[1].split()[0] != "NOP":
            lines[name].append(code[1])

    def target(name: str, line: str) -> int | None:
        to = _TO_LABEL.search(line) if line.startswith("BRA") else None
        return labels[name].get(to[1]) if to else None

    return {n: [Instruction(t, target(n, t)) for t in texts] for n, texts in lines.items()}


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
