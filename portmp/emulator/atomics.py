"""Atomic operations: what each stores, and how the architectures spell them (instructions.toml).

Names are those of RDNA 3, older and newer ones are spellings of them. Sources: those of
``instructions``.
"""

import re
from dataclasses import dataclass
from functools import cache

from portmp.emulator.instructions import table


@dataclass(frozen=True)
class Atomic:
    """One operation: the type of its numbers (as in ``instructions``), and what it stores."""

    name: str
    kind: str
    text: str

    @property
    def nbytes(self) -> int:
        """Bytes of the number."""
        return 8 if self.kind in "lqd" else 4


FLUSHED = {("global", "add_f32"): ("gfx908", "gfx90a")}
"""Additions that take and give zero for a subnormal number, and the architectures whose do.

In LLVM's tables later ones "support denormals" in memory, and those of block memory follow the
mode, in which interpreted kernels keep them.
"""

EXPECTED_FIRST = "cmpst"
"""The swap on block memory whose first operand is the number that is expected, not the new one."""


@cache
def operations() -> dict[str, Atomic]:
    """All operations by name, in a fixed order: the order gives the interpreter's numbers."""
    found = [
        Atomic(f"{name}{bits}", kinds[place], text)
        for place, bits in enumerate((32, 64))
        for name, (kinds, text) in table("atomics").items()
    ]
    one_width = table("atomics_of_a_width").items()
    found += [Atomic(name, kind, text) for name, (kind, text) in one_width]
    return {one.name: one for one in found}


@dataclass(frozen=True)
class Access:
    """An atomic instruction: its memory, its operation, whether its name says that it returns the
    number before, and whether of two operands the first is the number that is expected.
    """

    space: str
    operation: Atomic
    returns: bool
    expected_first: bool

    @property
    def swaps(self) -> bool:
        """Whether it takes two numbers."""
        return self.operation.name.startswith("cmpswap")


_IN_ARRAYS = re.compile(r"(global|flat)_atomic_(\w+?)(_x2)?")
_IN_BLOCK = re.compile(r"ds_(\w+?)(_rtn)?_([buif])(32|64)")


def access(name: str, arch: str) -> Access | None:
    """The access that an instruction of this name is on *arch*; None if it is no atomic one."""
    if found := _IN_ARRAYS.fullmatch(name):
        space, plain = found[1], found[2].replace("sub_clamp", "csub")
        if plain in (spelled := table("atomics_spelled")):
            plain = spelled[plain] + ("64" if found[3] else "32")
        returns = first = False
    elif found := _IN_BLOCK.fullmatch(name):
        stem = f"{found[1]}_{found[3]}"
        space, plain = "shared", table("atomics_in_blocks").get(stem, stem) + found[4]
        returns, first = bool(found[2]), found[1] == EXPECTED_FIRST
    else:
        return None
    if arch in FLUSHED.get((space, plain), ()):
        plain = f"flushed_{plain}"
    operation = operations().get(plain)
    return Access(space, operation, returns, first) if operation else None
