"""What Oclgrind reports of a launch, read from its log.

A report is a line that says what is wrong, and below it, indented, where: the thread or the
block, and the line of the kernel's text; a race has two such places.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

MOST = 5
"""Findings that a message tells; the others it counts."""

_CAUSES = ("divergence", "race", "Invalid", "written to", "")
"""Words of reports, causes before what follows from them: control flow that depends on values."""

_ADDRESS = re.compile(r" address 0x[0-9a-f]+")
_PLACE = re.compile(r"At line (\d+) ")
_THREAD = re.compile(r"Global\(([\d,]+)\) Local\(([\d,]+)\) Group\(([\d,]+)\)")
_BLOCK = re.compile(r"Work-group: +\(([\d,]+)\)")
_COUNT = re.compile(r"Only \d+ out of \d+ work-items executed barrier")


@dataclass(frozen=True)
class Finding:
    """One report: what is wrong, who did it, and each line of the kernel's text."""

    what: str
    who: tuple[str, ...]
    lines: tuple[int, ...]

    @property
    def kind(self) -> tuple[str, tuple[int, ...]]:
        """What reports of the same mistake share."""
        return _ADDRESS.sub("", self.what), tuple(sorted(self.lines))

    def __str__(self) -> str:
        places = [f"rendered line {line}" for line in self.lines] or ["generated code"]
        if len(self.who) == len(places):
            places = [f"{who} in {place}" for who, place in zip(self.who, places, strict=True)]
        return f"{self.what}: {' and '.join(places)}"


def _blocks(log: str) -> Iterator[list[str]]:
    """Reports: a line at the margin and those that are indented below it."""
    block: list[str] = []
    for line in log.splitlines():
        if line.startswith("\t") and block:
            block.append(line.strip())
        elif line.strip():
            if block:
                yield block
            block = [line.strip()]
    if block:
        yield block


def _who(text: str) -> Iterator[str]:
    """Threads, in the order of the report; else the block."""
    threads = _THREAD.findall(text)
    for _, thread, group in threads:
        yield f"thread ({thread}) of block ({group})"
    if not threads:
        counts = _COUNT.search(text)
        for group in _BLOCK.findall(text):
            yield f"block ({group})" + (f" ({counts[0].lower()})" if counts else "")


def parsed(log: str) -> list[Finding]:
    """All reports."""
    found = []
    for block in _blocks(log):
        text = "\n".join(block[1:])
        lines = tuple(int(number) for number in _PLACE.findall(text))
        found.append(Finding(block[0], tuple(_who(text)), lines))
    return found


def _rank(kind: tuple[str, tuple[int, ...]]) -> int:
    return next(i for i, word in enumerate(_CAUSES) if word in kind[0])


def told(findings: list[Finding]) -> str:
    """The first report of each mistake, a line each."""
    counts = Counter(finding.kind for finding in findings)
    first = {finding.kind: finding for finding in reversed(findings)}
    told = [
        f"  {first[kind]}" + (f"; {counts[kind] - 1} more of these" if counts[kind] > 1 else "")
        for kind in sorted(counts, key=_rank)
    ]
    more = [f"  and {len(told) - MOST} other mistakes"] if len(told) > MOST else []
    return "\n".join(told[:MOST] + more)
