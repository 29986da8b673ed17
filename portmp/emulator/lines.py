"""Which lines of the rendered text an instruction comes from, by the code object's line table.

With ``OPTIONS`` compilers write such a table; the instructions stay what they are without it.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from portmp.compilers import amd_code, elf
from portmp.emulator.listing import Instruction

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.dwarfinfo import DWARFInfo

OPTIONS = ("-gline-tables-only",)
NAME = "rendered"
"""What the table calls the file that the text is: others are compilers' headers."""

HEAD = f'#line 1 "{NAME}"\n'
"""Stands before the text."""

_STORES = re.compile(r"_(store|write)\d?_")

_UNSURE = -1
"""Instead of a line: the instruction may come from another one than its table says."""


class _Inlined(NamedTuple):
    """Addresses of a function's body where it stands in another one, and the line of its call."""

    start: int
    end: int
    depth: int
    line: int


class Lines:
    """The line table of a code object; ValueError where the file is damaged.

    *code*: the instructions of a kernel in it, by which lines that are not sure are known.
    """

    def __init__(self, binary: bytes, code: Sequence[Instruction]) -> None:
        self._starts: list[int] = []
        self._lines: list[int] = []
        self._inlined: list[_Inlined] = []
        with elf.opened(amd_code.unbundle(binary)) as file:
            if file.has_dwarf_info():
                self._read(file.get_dwarf_info())
        order = sorted(range(len(self._starts)), key=self._starts.__getitem__)
        self._starts = [self._starts[i] for i in order]
        self._lines = [self._lines[i] for i in order]
        for wait, one, more in zip(code, code[1:], code[2:], strict=False):
            if wait.mnemonic.startswith("s_waitcnt") and _STORES.search(one.mnemonic):
                self._doubt(wait.address, more.address)

    def _doubt(self, wait: int, more: int) -> None:
        """Of a wait and a store up to *more*, where the line may be a later one's.

        A store of two branches that compilers make one has no line: a wait before it is given that
        of the next instruction that has one, and the store stands in the wait's part of the table.
        Such a part stands behind one without a line, where the branches meet, and goes on.
        """
        index = bisect.bisect_left(self._starts, wait)
        starts, table = self._starts[index : index + 2], self._lines
        if index and starts[:1] == [wait] and not table[index - 1] and more not in starts:
            self._starts.insert(index + 1, more)
            table[index : index + 1] = [_UNSURE, table[index]]

    def of(self, address: int) -> tuple[int, ...]:
        """Lines of the text, from 1: that of the instruction, then those of the calls around it.

        Empty where it comes from no line of the text, or from several.
        """
        index = bisect.bisect_right(self._starts, address) - 1
        found = [self._lines[index]] if index >= 0 else []
        if found == [_UNSURE]:
            return ()
        around = [one for one in self._inlined if one.start <= address < one.end]
        found += [one.line for one in sorted(around, key=lambda one: -one.depth)]
        return tuple(line for line in found if line)

    def near(self, address: int) -> int:
        """The line of the last instruction before that has one; 0 for none."""
        index = bisect.bisect_right(self._starts, address) - 1
        return next((line for line in reversed(self._lines[: index + 1]) if line > 0), 0)

    def _read(self, information: DWARFInfo) -> None:
        for unit in information.iter_CUs():
            program = information.line_program_for_CU(unit)
            if program is None:
                continue
            names = [entry.name.decode() for entry in program["file_entry"]]
            first = 0 if program["version"] >= 5 else 1
            own = {i for i, name in enumerate(names, first) if name == NAME}
            for entry in program.get_entries():
                state = entry.state
                if state is not None:
                    known = state.file in own and not state.end_sequence
                    self._starts.append(state.address)
                    self._lines.append(state.line if known else 0)
            self._inlined += _calls(information, unit, unit.get_top_DIE(), own, 0)


def _calls(
    information: DWARFInfo, unit: CompileUnit, parent: Any, own: set[int], depth: int
) -> Iterator[_Inlined]:
    """The functions that stand in others below *parent*."""
    for entry in parent.iter_children():
        if entry.tag == "DW_TAG_inlined_subroutine":
            call = entry.attributes
            known = call["DW_AT_call_file"].value in own
            line = call["DW_AT_call_line"].value if known else 0
            for start, end in _ranges(information, unit, entry):
                yield _Inlined(start, end, depth, line)
        yield from _calls(information, unit, entry, own, depth + 1)


def _ranges(information: DWARFInfo, unit: CompileUnit, entry: Any) -> Iterator[tuple[int, int]]:
    """First address and end of the parts that an entry's code has."""
    known = entry.attributes
    if "DW_AT_ranges" in known:
        base = unit.get_top_DIE().attributes["DW_AT_low_pc"].value
        lists = information.range_lists()
        for part in lists.get_range_list_at_offset(known["DW_AT_ranges"].value, cu=unit):
            if hasattr(part, "base_address"):
                base = part.base_address
            else:
                start = 0 if part.is_absolute else base
                yield start + part.begin_offset, start + part.end_offset
    elif "DW_AT_low_pc" in known:
        start, end = known["DW_AT_low_pc"].value, known["DW_AT_high_pc"]
        offset = end.form != "DW_FORM_addr"  # else an address of its own
        yield start, start + end.value if offset else end.value
