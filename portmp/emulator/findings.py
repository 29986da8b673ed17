"""What the interpreter finds in a launch: numbers that its kernel writes, and what they mean."""

import math
import re
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from portmp.backends.base import Dim3
from portmp.backends.findings import Finding, indices
from portmp.emulator import instructions
from portmp.emulator.assembler import INDEXED
from portmp.emulator.loaded import Loaded


class Kind(IntEnum):
    """What is wrong. The first ones end the block's slot."""

    INVALID_READ = 1
    INVALID_WRITE = 2
    BEYOND_SHARED = 3
    BEYOND_PRIVATE = 4
    MISALIGNED = 5
    ENDLESS = 6
    UNKNOWN = 7
    JUMP = 8
    PRIVATE_ATOMIC = 9
    DESCRIPTOR = 10
    REGISTER = 11
    READ_WRITE = 12
    BOTH_WRITE = 13
    UNSET = 14
    DIVERGENCE = 15
    WARP_DIVERGENCE = 16
    ABSENT_LANE = 17
    FRESH = 18

    def __str__(self) -> str:
        return str(int(self))


ALL_BYTES = 15
"""Bits of a word of memory whose four bytes were all written."""

MOST = 16
"""Findings that a slot of the interpreter keeps."""

WORDS = 8
"""Numbers of a finding: kind, row, thread, address, block, the other's row and thread, how often.

Of a divergence the thread is how many threads were there."""

HEAD = 2
"""Numbers of a slot before them: rows that ran, and its last time."""

SLOT = HEAD + MOST * WORDS

_NO_ROW = 0xFFFFFFFF

_RACES = {Kind.READ_WRITE: "Read-write", Kind.BOTH_WRITE: "Write-write"}
_SPACES = {"shared": "local", "scratch": "private", "flat": "flat"}
_MEMORIES = {
    Kind.INVALID_READ: "global",
    Kind.INVALID_WRITE: "global",
    Kind.BEYOND_SHARED: "local",
    Kind.BEYOND_PRIVATE: "private",
    Kind.PRIVATE_ATOMIC: "private",
    Kind.UNSET: "local",
    Kind.FRESH: "global",
}


class Launch(NamedTuple):
    """What places and threads of findings are told by.

    ``readonly``: whether an address is in memory for reading only. ``shared``: bytes that a block
    has. ``places``: what an address of the device's memory is to the kernel's parameters.
    """

    loaded: Loaded
    grid: Dim3
    block: Dim3
    readonly: Callable[[int], bool]
    shared: int
    places: Callable[[int], str]


def found(report: np.ndarray[Any, Any], launch: Launch) -> list[Finding]:
    """All findings of a launch, from the report of its slots."""
    entries = report.reshape(-1, SLOT)[:, HEAD:].reshape(-1, WORDS)
    return [_told(entry, launch) for entry in entries[entries[:, 0] != 0].tolist()]


def _told(entry: list[int], launch: Launch) -> Finding:
    number, row, thread, address, group, other_row, other_thread, times = entry
    kind = Kind(number)
    block = f"block {indices(group, launch.grid)}"
    who: tuple[str, ...] = (f"thread {indices(thread, launch.block)} of {block}",)
    places: tuple[str, ...] = (_place(row, launch),)
    if kind in _RACES or kind == Kind.UNSET:
        accesses = [(row, thread), (other_row, other_thread)][: 2 if kind in _RACES else 1]
        for one, its_thread in accesses:
            if overrun := _overrun(one, address, launch):
                who = (f"thread {indices(its_thread, launch.block)} of {block}",)
                return Finding(overrun, who, (_place(one, launch),), times)
    if kind in _RACES:
        what = f"{_RACES[kind]} data race at {_in_block(address, launch)}"
        who += (f"thread {indices(other_thread, launch.block)} of {block}",)
        places += (_place(other_row, launch),)
    elif kind == Kind.DIVERGENCE:
        threads = math.prod(launch.block)
        what = "Work-group divergence detected (barrier)"
        who = (f"{block} (only {thread} out of {threads} work-items executed barrier)",)
        if other_row != _NO_ROW:
            who += (f"other work-items of {block}",)
            places += (_place(other_row, launch),)
    elif kind == Kind.WARP_DIVERGENCE:
        what = "Warp divergence detected (barrier of a warp that only some of its threads reach)"
    elif kind == Kind.ABSENT_LANE:
        other = indices(other_thread, launch.block)
        what = f"Shuffle from thread {other}, which does not take part"
    else:
        what = _access(kind, row, address, launch)
    return Finding(what, who, places, times)


def _in_block(address: int, launch: Launch) -> str:
    """An address of block memory, with the element that lies there."""
    arrays = launch.loaded.arrays
    element = arrays.at(address) if arrays else ""
    return f"local memory address {address:#x}" + (f" ({element})" if element else "")


def _overrun(row: int, address: int, launch: Launch) -> str:
    """An access that leaves the array of its line for another one, in words; else nothing."""
    arrays, lines, program = launch.loaded.arrays, launch.loaded.lines, launch.loaded.program
    if arrays is None or lines is None:
        return ""
    _, way, nbytes = _operation(row, launch)
    one = program.instruction(row)
    also = ""
    if _OF_TWO.search(one.mnemonic):
        meant = arrays.at(int(program.rows[row, 6])).partition("[")[0]
        missed = "" if arrays.at(address).startswith(f"{meant}[") else meant
        also = ", or a race: the compiler made one access of two"
    else:
        missed = arrays.missed(lines.of(one.address), way, address)
    if not missed:
        return ""
    what = f"Invalid {_VERBS.get(way, 'read')} of size {nbytes} at {_in_block(address, launch)}"
    return f"{what}: outside of {missed}{also}"


_OF_TWO = re.compile(r"(read|write)2|_2addr")
"""Accesses that compilers make of two, with the line of one of them. Which array each of the two is
for is seen by the number that it adds to the register with the index.
"""

_VERBS = {"store": "write", "atomic": "atomic access"}


def _operation(row: int, launch: Launch) -> tuple[str, str, int]:
    """The operation of a row, the way of its access, and its bytes."""
    numbers = launch.loaded.program.rows[row]
    operation = tuple(instructions.operations())[numbers[0] & 0xFFFF]
    return operation, operation.partition("_")[2], int(numbers[2])


def beside(address: int, spans: Sequence[tuple[tuple[int, int], str]]) -> str:
    """What an address is to the nearest of some arrays: their first addresses, ends and names."""
    near = {
        max(start - address, address - end + 1, 0): (start, end, n) for (start, end), n in spans
    }
    distance = min(near, default=_FAR)
    if distance >= _FAR:
        return ""
    start, end, name = near[distance]
    if distance == 0:
        return f" (byte {address - start} of {name})"
    where = "before" if address < start else "behind the end of"
    count = distance if address < start else distance - 1
    return f" ({count} bytes {where} {name}, which has {end - start})"


_FAR = 1 << 32
"""Bytes from which on an address has nothing to do with an array."""


def _access(kind: Kind, row: int, address: int, launch: Launch) -> str:
    """What is wrong with one access, or with the code."""
    operation, way, nbytes = _operation(row, launch)
    verb = _VERBS.get(way, "read")
    memory = _MEMORIES.get(kind) or _SPACES.get(operation.partition("_")[0], "global")
    where = f"{memory} memory address {address:#x}"
    if memory == "global":
        where += launch.places(address)
    elif memory == "local":
        where = _in_block(address, launch)
    if kind == Kind.INVALID_WRITE and launch.readonly(address):
        verb, where = "write", f"read-only memory, {where}"
    private = launch.loaded.kernel.scratch
    sizes = {Kind.BEYOND_SHARED: launch.shared, Kind.BEYOND_PRIVATE: private}
    beyond = f" (there are {sizes[kind]} bytes)" if kind in sizes else ""
    texts = {
        Kind.ENDLESS: "The kernel does not end",
        Kind.UNKNOWN: f"{operation} is no operation of the interpreter",
        Kind.JUMP: f"Jump to address {address:#x}, where no instruction begins",
        Kind.DESCRIPTOR: "Buffer whose descriptor is not that of private memory: not interpreted",
        Kind.REGISTER: f"Register v{address} by an index, where there are {INDEXED}",
        Kind.UNSET: f"Uninitialized value read from {where}",
        Kind.FRESH: f"Uninitialized value read from {where}",
        Kind.MISALIGNED: f"Misaligned {verb} of size {nbytes} at {where}",
    }
    return texts.get(kind) or f"Invalid {verb} of size {nbytes} at {where}{beyond}"


def _place(row: int, launch: Launch) -> str:
    """The line of the text, with those of calls around it; else the instruction."""
    one = launch.loaded.program.instruction(row)
    known = launch.loaded.lines
    lines = known.of(one.address) if known else ()
    if not lines:
        near = known.near(one.address) if known else 0
        return (f"code near rendered line {near}, " if near else "") + (
            f"instruction {one.text!r} at {one.address:#x}"
        )
    return ", called in ".join(f"rendered line {line}" for line in lines)
