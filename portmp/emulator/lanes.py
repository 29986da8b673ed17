"""Which lane another one reads: data-parallel modifiers (DPP) and ds_swizzle, as data.

A way is an expression in OpenCL C of ``lane`` and a number ``n``; ``NONE`` where no lane is
read. Sources: those of ``instructions``, and LLVM's "Syntax of AMDGPU Instruction Modifiers".
"""

import re
from collections.abc import Callable, Mapping

from portmp.emulator.instructions import table

WAYS: dict[str, str] = table("ways")
"""By the names of the modifiers, whose number is n (a list's: two or three bits each)."""

MODIFIERS = ("row_mask", "bank_mask", "bound_ctrl", "fi")
"""Which rows and quads of lanes are written; whether a lane that reads none is; whether lanes that
are off are read.
"""

BOUND, FETCHED, EVERYWHERE = 1 << 8, 1 << 9, 0xFF << 16
"""Bits of the masks in a row of the interpreter: ``bound_ctrl``, ``fi``, all rows of lanes (16 to
19) and all quads of them (20 to 23).
"""

_LISTED = {"quad_perm": 2, "dpp8": 3}
_ALONE = ("row_mirror", "row_half_mirror")
_LIMITS = {"wave_shl": 1, "wave_rol": 1, "wave_shr": 1, "wave_ror": 1, "row_bcast": 31}


def modified(modifiers: Mapping[str, str], words: frozenset[str]) -> tuple[str, int]:
    """The way and the number that an instruction's modifiers say; ValueError for none or two."""
    given = [name for name in WAYS if name in words or name in modifiers]
    if len(given) != 1:
        raise ValueError("how lanes are exchanged")
    (name,) = given
    if name in _LISTED:
        choice = [int(n) for n in modifiers[name].strip("[]").split(",")]
        return name, sum(n << _LISTED[name] * i for i, n in enumerate(choice))
    if name in _ALONE:
        return name, 0
    number = int(modifiers[name])
    if not 0 <= number <= _LIMITS.get(name, 15) or (name == "row_bcast" and number not in (15, 31)):
        raise ValueError(f"{name}:{number}")
    return name, number


def masks(modifiers: Mapping[str, str], way: str) -> int:
    """The bits of an instruction's masks; ValueError for values that are not known."""
    found = int(modifiers.get("row_mask", "0xf"), 0) << 16
    found |= int(modifiers.get("bank_mask", "0xf"), 0) << 20
    for name, bit in (("bound_ctrl", BOUND), ("fi", FETCHED)):
        if modifiers.get(name, "1") != "1":
            raise ValueError(f"{name}:{modifiers[name]}")
        found |= bit if name in modifiers else 0
    # of eight lanes, words of lanes that are off are zero without further saying
    return found | BOUND if way == "dpp8" else found


def _bitmask(text: str) -> int:
    """A mask such as ``01pip``: for each bit, from the upper one, 0, 1, kept or inverted."""
    bits = {"0": (0, 0, 0), "1": (0, 1, 0), "p": (1, 0, 0), "i": (1, 0, 1)}
    number = 0
    for place, letter in enumerate(reversed(text.strip('"'))):
        number |= sum(bit << 5 * i + place for i, bit in enumerate(bits[letter]))
    return number


_SWIZZLES: dict[str, Callable[..., int]] = {
    "BITMASK_PERM": _bitmask,
    "SWAP": lambda size: 31 | int(size) << 10,
    "REVERSE": lambda size: 31 | int(size) - 1 << 10,
    "BROADCAST": lambda size, lane: 32 - int(size) | int(lane) << 5,
}


def swizzle(text: str) -> tuple[str, int]:
    """The way and the number of ds_swizzle's offset; ValueError for those that are not known."""
    found = re.fullmatch(r"swizzle\((\w+),(.*)\)", text)
    if found and found[1] == "QUAD_PERM":
        return modified({"quad_perm": found[2]}, frozenset())
    if found and found[1] in _SWIZZLES:
        return "swizzle", _SWIZZLES[found[1]](*found[2].split(","))
    if text.isdigit() and int(text) < 0x8000:
        return "swizzle", int(text)
    raise ValueError(f"offset:{text}")
