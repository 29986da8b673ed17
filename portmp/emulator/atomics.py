"""Atomic operations: what each stores, and how the architectures spell them.

Names are those of RDNA 3, older and newer ones are spellings of them. ``old`` is the number in
memory, ``a`` the lane's, ``b`` the one that a swap expects. Sources: those of ``instructions``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


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


_UNSIGNED = {
    "add_u": "old + a",
    "sub_u": "old - a",
    "rsub_u": "a - old",
    "min_u": "min(old, a)",
    "max_u": "max(old, a)",
    "inc_u": "old >= a ? 0 : old + 1",
    "dec_u": "old == 0 || old > a ? a : old - 1",
    "and_b": "old & a",
    "or_b": "old | a",
    "xor_b": "old ^ a",
    "swap_b": "a",
    "cmpswap_b": "old == b ? a : old",
}
_SIGNED = {"min_i": "min(old, a)", "max_i": "max(old, a)"}
_REAL = {
    "add_f": "old + a",
    # by comparison: a NaN in memory stays, one of the lane is not stored
    "min_f": "a < old ? a : old",
    "max_f": "a > old ? a : old",
    "cmpswap_f": "old == b ? a : old",
}
_ONE_WORD = {
    "csub_u32": ("u", "old < a ? 0 : old - a"),
    "cond_sub_u32": ("u", "old < a ? old : old - a"),
    # the memory's own unit adds without subnormals, whatever the mode says
    "flushed_add_f32": ("f", "flushed(flushed(old) + flushed(a))"),
    # since RDNA 4 of numbers: a NaN gives way, -0 is below +0
    "min_num_f32": ("f", "least32(a, old, 0)"),
    "max_num_f32": ("f", "greatest32(a, old, 0)"),
}
_TWO_WORDS = {
    "min_num_f64": ("d", "least64(a, old, 0)"),
    "max_num_f64": ("d", "greatest64(a, old, 0)"),
}

FLUSHED = {("global", "add_f32"): ("gfx908", "gfx90a")}
"""Additions that take and give zero for a subnormal number, and the architectures whose do.

In LLVM's tables later ones "support denormals" in memory, and those of block memory follow the
mode, in which interpreted kernels keep them.
"""

_SPELLED = {
    "add": "add_u",
    "sub": "sub_u",
    "csub": "csub_u",
    "sub_clamp": "csub_u",
    "smin": "min_i",
    "umin": "min_u",
    "smax": "max_i",
    "umax": "max_u",
    "inc": "inc_u",
    "dec": "dec_u",
    "and": "and_b",
    "or": "or_b",
    "xor": "xor_b",
    "swap": "swap_b",
    "cmpswap": "cmpswap_b",
    "fmin": "min_f",
    "fmax": "max_f",
    "fcmpswap": "cmpswap_f",
}
"""Spellings up to RDNA 2, which name no type; ``_x2`` is of 64 bits."""

_IN_BLOCKS = {
    "wrxchg_b": "swap_b",
    "storexchg_b": "swap_b",
    "cmpst_b": "cmpswap_b",
    "cmpst_f": "cmpswap_f",
    "cmpstore_b": "cmpswap_b",
    "cmpstore_f": "cmpswap_f",
    "sub_clamp_u": "csub_u",
}
"""Spellings of operations on block memory."""

EXPECTED_FIRST = "cmpst"
"""The swap on block memory whose first operand is the number that is expected, not the new one."""


@cache
def operations() -> dict[str, Atomic]:
    """All operations by name, in a fixed order: the order gives the interpreter's numbers."""
    found = []
    for bits, (unsigned, signed, real) in ((32, "uif"), (64, "lqd")):
        for table, kind in ((_UNSIGNED, unsigned), (_SIGNED, signed), (_REAL, real)):
            found += [Atomic(f"{name}{bits}", kind, text) for name, text in table.items()]
    for more in (_ONE_WORD, _TWO_WORDS):
        found += [Atomic(name, kind, text) for name, (kind, text) in more.items()]
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
        if plain in _SPELLED:
            plain = _SPELLED[plain] + ("64" if found[3] else "32")
        returns = first = False
    elif found := _IN_BLOCK.fullmatch(name):
        stem = f"{found[1]}_{found[3]}"
        space, plain = "shared", _IN_BLOCKS.get(stem, stem) + found[4]
        returns, first = bool(found[2]), found[1] == EXPECTED_FIRST
    else:
        return None
    if arch in FLUSHED.get((space, plain), ()):
        plain = f"flushed_{plain}"
    operation = operations().get(plain)
    return Access(space, operation, returns, first) if operation else None
