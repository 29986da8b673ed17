"""What Oclgrind reports of a launch, read from its log.

A report is a line that says what is wrong, and below it, indented, where: the thread or the
block, and the line of the kernel's text; a race has two such places.
"""

import re
from collections.abc import Iterator

from portmp.backends.findings import Finding

_PLACE = re.compile(r"At line (\d+) ")
_THREAD = re.compile(r"Global\(([\d,]+)\) Local\(([\d,]+)\) Group\(([\d,]+)\)")
_BLOCK = re.compile(r"Work-group: +\(([\d,]+)\)")
_COUNT = re.compile(r"Only \d+ out of \d+ work-items executed barrier")


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
        places = tuple(f"rendered line {number}" for number in _PLACE.findall(text))
        found.append(Finding(block[0], tuple(_who(text)), places))
    return found
