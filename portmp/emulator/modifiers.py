"""Which modifiers each family of instructions may have here; any other one is refused by name."""

from portmp.emulator import lanes
from portmp.emulator.listing import Instruction

_CACHES = frozenset({"glc", "slc", "dlc", "sc0", "sc1", "nt", "nv", "scc", "th", "scope"})
"""How caches are used, which has no meaning here; of atomics, also whether they return."""

_PACKED = frozenset({"op_sel", "op_sel_hi", "neg_lo", "neg_hi"})
EXCHANGED = frozenset({*lanes.WAYS, *lanes.MODIFIERS}) - {"swizzle", "other_half"}
"""Words of other lanes (DPP)."""

_PARTS = frozenset({"dst_sel", "dst_unused", "src0_sel", "src1_sel"})

KNOWN: tuple[tuple[str | tuple[str, ...], frozenset[str]], ...] = (
    (("global_", "flat_", "scratch_", "s_load_"), _CACHES | {"offset"}),
    ("buffer_", _CACHES | {"offset", "offen"}),
    ("ds_", frozenset({"offset", "offset0", "offset1"})),
    ("v_pk_", _PACKED),
    ("v_dot4_i32_iu8", frozenset({"neg_lo"})),
    (("v_permlane16_", "v_permlanex16_"), frozenset({"op_sel"})),
)
"""By the beginning of an operation's name; each meaning is that of its translator."""


def unknown(name: str, one: Instruction, encoding: str) -> list[str]:
    """Modifiers of an instruction, in order, that nothing here gives a meaning to."""
    known = {"sdwa": _PARTS, "dpp": EXCHANGED}.get(encoding, frozenset())
    for start, allowed in KNOWN:
        if name.startswith(start):
            known = known | allowed
    return sorted({*one.words, *one.modifiers} - known)
