"""What the instructions do, as data (instructions.toml): text in OpenCL C for each, by kind.

Types of operands: u, i, f are 32 bits (unsigned, signed, float), l, q, d 64 bits, m is the
lane's bit of a mask. ``a``, ``b``, ``c`` are the sources, ``old`` is what the target holds,
``scc`` the scalar condition, ``ieee`` the mode of that name. Sources: AMD's "Vega", "CDNA 2",
"CDNA 3", "RDNA 3" and "RDNA 4" Instruction Set Architecture reference guides, read for the
operations; the names are those of GCN 5, ``canonical`` knows the newer ones. Where the guides
scale after an operation (v_div_fmas), one rounding is assumed, which division needs for its
subnormal quotients.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from portmp.paths import PACKAGE


@dataclass(frozen=True)
class Operation:
    """One instruction's meaning.

    ``kind``: ``vector`` (each lane in EXEC), ``carry`` (so, and ``condition`` is a mask's bit),
    ``compare`` (``text`` is a mask's bit), ``scalar`` (``condition`` sets scc where there is
    one), or one of the interpreter's own (``control``, ``memory``, ``lane``, ``inner``: no
    instruction, but a part of some).
    """

    name: str
    kind: str
    result: str = ""
    sources: str = ""
    text: str = ""
    condition: str = ""


def table(name: str) -> dict[str, Any]:
    """A part of instructions.toml."""
    held: dict[str, Any] = _held()[name]
    return held


@cache
def _held() -> dict[str, dict[str, Any]]:
    return tomllib.loads((PACKAGE / "emulator/instructions.toml").read_text(encoding="utf-8"))


def _names(name: str) -> tuple[str, ...]:
    return tuple(table(name)["names"].split())


IGNORED = frozenset(_names("ignored"))
"""Waiting, caches and hints: without meaning where instructions run one after the other."""

_RELATIONS: dict[str, str] = table("relations")
_FLOAT_RELATIONS = _RELATIONS | table("relations_of_floats")
_COMPARED = {"f32": "f", "f64": "d", "u32": "u", "i32": "i", "u64": "l", "i64": "q"}
_HALVES_COMPARED = {"u16": ("u", "ushort"), "i16": ("u", "short")}


WIDTHS: dict[str, int] = table("widths")
"""Bytes that one lane loads or stores."""

SPACES = ("global", "shared", "scratch", "flat")
"""Memories; flat addresses lie in any of the others."""

WAYS = ("load", "store", "atomic")


OF_HALVES = ("_b16", "_u16", "_i16")
"""Operations on the lower half of words end so."""

OF_BITS: dict[str, str] = table("of_bits")
"""Operations on halves of registers, and those that do the same to any bits."""

EXTENDED = {"v_cvt_u32_u16": "{}", "v_cvt_i32_i16": "sext({})"}
"""Operations that make a word of a half: without its sign, and with it."""

SATURATED = {"v_add_u32": "v_add_sat_u32", "v_sub_u32": "v_sub_sat_u32"}
"""Operations with the modifier clamp, under names of their own; of reals it is one after them."""

DOTS = {
    (1, 1): "v_dot4_i32_i8",
    (1, 0): "v_dot4_i32_i8_u8",
    (0, 1): "v_dot4_i32_u8_i8",
    (0, 0): "v_dot4_u32_u8",
}
"""v_dot4_i32_iu8, by which of its sources neg_lo calls signed."""

_MEMORY = re.compile(r"(global|flat|scratch|s)_(load|store)_([uib]\d+)")
_HALF = re.compile(r"(global|flat|scratch)_(load|store)_d16_(hi_)?([uib]\d+)")
_SHARED = re.compile(r"ds_(load|store)_(2addr_)?(stride64_)?([uib]\d+)(_d16(?:_hi)?)?")
_SHARED_NAMES = {"load": "read", "store": "write"}


@cache
def canonical(mnemonic: str) -> str:
    """The name of GCN 5 for an instruction, without the encoding's suffix."""
    name = re.sub(r"_(e32|e64|sdwa|dpp|e64_dpp)$", "", mnemonic)
    widths = table("new_widths")
    if found := _MEMORY.fullmatch(name):
        return f"{found[1]}_{found[2]}_{widths[found[3]]}"
    if found := _HALF.fullmatch(name):
        return f"{found[1]}_{found[2]}_{widths[found[4]]}_d16{'_hi' if found[3] else ''}"
    if found := _SHARED.fullmatch(name):
        several = ("2st64" if found[3] else "2") if found[2] else ""
        return f"ds_{_SHARED_NAMES[found[1]]}{several}_{found[4]}{found[5] or ''}"
    for new, old in table("renamed").items():
        name = name.replace(new, old)
    known: str = table("renamed_scalar").get(name, name)
    return known


@cache
def operations() -> dict[str, Operation]:
    """All operations by name, in a fixed order: the order gives the interpreter's numbers."""
    found = [Operation(name, "control") for name in _names("control")]
    found += [Operation(name, "lane") for name in _names("lane")]
    found += [Operation(name, "inner") for name in _names("inner")]
    # all ways in all memories, though a lane's own has no atomic operations: numbers are regular
    found += [Operation(f"{space}_{way}", "memory") for space in SPACES for way in WAYS]
    for part in ("moves", "floats", "reciprocals", "integers"):
        found += [Operation(name, "vector", *what) for name, what in table(part).items()]
    found += [Operation(name, "carry", *what) for name, what in table("carry").items()]
    for suffix, kind in _COMPARED.items():
        relations = _FLOAT_RELATIONS if kind in "fd" else _RELATIONS | {"ne": "a != b"}
        for relation, text in relations.items():
            found.append(Operation(f"v_cmp_{relation}_{suffix}", "compare", "", 2 * kind, text))
    for suffix, (kind, half) in _HALVES_COMPARED.items():
        for relation, text in (_RELATIONS | {"ne": "a != b"}).items():
            plain = re.sub(r"\b([ab])\b", rf"({half})\1", text)
            found.append(Operation(f"v_cmp_{relation}_{suffix}", "compare", "", 2 * kind, plain))
    found.append(Operation("v_cmp_class_f32", "compare", "", "fu", "(class32(a) & b) != 0"))
    found.append(Operation("v_cmp_class_f64", "compare", "", "du", "(class64(a) & b) != 0"))
    found += [Operation(name, "scalar", *what) for name, what in table("scalar").items()]
    for name, text in table("logic").items():
        for bits, kind in ((32, "u"), (64, "l")):
            found.append(Operation(f"s_{name}_b{bits}", "scalar", kind, 2 * kind, text, "r != 0"))
    found += _scalar_comparisons()
    found += [Operation(name, "vector", *what) for name, what in UNFUSED.items()]
    return {one.name: one for one in found}


def _scalar_comparisons() -> list[Operation]:
    found = []
    for suffix in ("u32", "i32", "u64", "f32"):
        kind = _COMPARED[suffix]
        relations = _FLOAT_RELATIONS if kind == "f" else _RELATIONS | {"lg": "a != b"}
        if kind == "l":
            relations = {name: relations[name] for name in ("eq", "lg")}
        for relation, text in relations.items():
            name = f"s_cmp_{relation}_{suffix}"
            found.append(Operation(name, "scalar", "", 2 * kind, "", text))
            if suffix in ("u32", "i32"):
                name = f"s_cmpk_{relation}_{suffix}"
                found.append(Operation(name, "scalar", "", 2 * kind, "", text))
    found.append(Operation("s_bitcmp0_b32", "scalar", "", "uu", "", "!((a >> (b & 31)) & 1)"))
    found.append(Operation("s_bitcmp1_b32", "scalar", "", "uu", "", "(a >> (b & 31)) & 1"))
    return found


UNFUSED = {
    "unfused_v_fma_f32": ("f", "fff", "apart32(a, b, c)"),
    "unfused_v_fma_f64": ("d", "ddd", "apart64(a, b, c)"),
    "unfused_v_fmac_f32": ("f", "ff", "apart32(a, b, old)"),
    "unfused_v_fmac_f64": ("d", "dd", "apart64(a, b, old)"),
}
"""No instructions: what a test puts in place of a fused multiply-add, to see that it is noticed."""
