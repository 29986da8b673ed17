"""Which array of the rendered text an address belongs to, and which ones a line of it names.

By what code for the interpreter holds beside itself: the text, and sizes of arrays (``marks``).
Where the arrays of block memory lie no table says, for compilers lay them out late: LLVM's rule is
followed, and no array is named where the sizes do not come to what the kernel has.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from portmp.compilers import amd_code, elf
from portmp.emulator import marks
from portmp.emulator.codeobject import Kernel

_ROUNDED = 8
"""What sizes of kernels are rounded to at most."""

_SORTED_BY_NAME = 17
"""The version of LLVM since which arrays alike in size lie by their names, not as declared."""


class Array(NamedTuple):
    """An array of block memory: its first address and its bytes, and those of an element."""

    name: str
    start: int
    nbytes: int
    element: int


class Arrays:
    """Those of a kernel: ``block`` in block memory, and the names of its ``parameters``."""

    def __init__(self, binary: bytes, kernel: Kernel) -> None:
        parts = elf.sections(amd_code.unbundle(binary))
        text = parts[marks.TEXT].data().decode()
        sizes = np.frombuffer(parts[marks.SIZES].data(), "<u4")[1:].reshape(-1, 2).tolist()
        self._lines = text.splitlines()
        begin = re.search(rf"\b{kernel.name}\(([^()]*)\)", text)
        first = begin.start() if begin else len(text)
        last = text.find('extern "C"', first)
        words = Counter(re.findall(r"\w+", text[first : last if last > 0 else None]))
        inside = [
            (found[2], *of)
            for found, of in zip(marks.SHARED.finditer(text), sizes, strict=True)
            if first < found.start() < (last if last > 0 else len(text)) and words[found[2]] > 1
        ]
        given = begin[1].split(",") if begin else []
        self.parameters = tuple(re.findall(r"\w+", one)[-1] for one in given if one.strip())
        self.block = _layout(inside, _version(binary), kernel)

    def at(self, address: int) -> str:
        """What lies at an address of block memory, such as ``held[3]``; nothing where no array is.

        Only where the arrays are known: see ``block``.
        """
        one = next((a for a in self.block if a.start <= address < a.start + a.nbytes), None)
        return f"{one.name}[{(address - one.start) // one.element}]" if one else ""

    def missed(self, lines: Sequence[int], way: str, address: int) -> str:
        """The arrays that an access of these lines runs out of; nothing where it may be right.

        The first of the lines that names an array of block memory says which are meant; *way*:
        ``load``, where those that the line only sets do not count, ``store`` or ``atomic``. A line
        with elements of anything else, which may be a pointer into block memory, says nothing.
        """
        known = {one.name for one in self.block}
        texts = [self._lines[line - 1] for line in lines if line <= len(self._lines)]
        text = next((t for t in texts if known & set(re.findall(r"\w+", t))), "")
        if set(_ELEMENT.findall(text)) - known - {*self.parameters} or "->" in text:
            return ""
        meant = known & set(re.findall(r"\w+", _SET.sub(" ", text) if way == "load" else text))
        if way == "store" and "=" in text:
            meant = known & set(_SET.findall(text))
        found = self.at(address).partition("[")[0]
        return "" if found in meant else " or ".join(sorted(meant))


_ELEMENT = re.compile(r"(\w+)\s*\[")
_SET = re.compile(r"\b(\w+)\s*(?:\[[^=;\[\]]*\])+(?:\.\w+)*\s*=(?!=)")
"""An element that is set: its array."""


def _version(binary: bytes) -> int:
    """The major version of LLVM that made a code object; 0 where it does not say."""
    with elf.opened(amd_code.unbundle(binary)) as file:
        for unit in file.get_dwarf_info().iter_CUs():
            producer = unit.get_top_DIE().attributes["DW_AT_producer"].value.decode()
            if found := re.search(r"version (\d+)", producer):
                return int(found[1])
    return 0


def _layout(found: list[tuple[str, int, int]], version: int, kernel: Kernel) -> tuple[Array, ...]:
    """Where LLVM lays arrays: by their alignment, then the largest first."""
    if version >= _SORTED_BY_NAME:
        found.sort(key=lambda one: (len(one[0]), one[0]))  # as their symbols are: length and name
    found.sort(key=lambda one: (-_alignment(one[1]), -one[1]))
    made: list[Array] = []
    end = 0
    for name, nbytes, element in found:
        start = -(-end // _alignment(nbytes)) * _alignment(nbytes)
        made.append(Array(name, start, nbytes, element))
        end = start + nbytes
    return tuple(made) if 0 <= kernel.shared - end < _ROUNDED else ()


def _alignment(nbytes: int) -> int:
    return next((n for n in (16, 8, 4, 2) if nbytes > n // 2), 1)
