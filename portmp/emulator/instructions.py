"""What the instructions do, as data: text in OpenCL C for each, by kind.

Types of operands: u, i, f are 32 bits (unsigned, signed, float), l, q, d 64 bits, m is the
lane's bit of a mask. ``a``, ``b``, ``c`` are the sources, ``old`` is what the target holds,
``scc`` the scalar condition, ``ieee`` the mode of that name. Sources: AMD's "Vega", "CDNA 2",
"CDNA 3", "RDNA 3" and "RDNA 4" Instruction Set Architecture reference guides, read for the
operations; the names are those of GCN 5, ``canonical`` knows the newer ones. Where the guides
scale after an operation (v_div_fmas), one rounding is assumed, which division needs for its
subnormal quotients.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


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


_MOVES = {
    "v_mov_b32": ("u", "u", "a"),
    "v_mov_b64": ("l", "l", "a"),
    "v_not_b32": ("u", "u", "~a"),
    "v_bfrev_b32": ("u", "u", "reversed(a)"),
    "v_accvgpr_read_b32": ("u", "u", "a"),
    "v_accvgpr_write_b32": ("u", "u", "a"),
    "v_accvgpr_mov_b32": ("u", "u", "a"),
    "v_cndmask_b32": ("u", "uum", "c ? b : a"),
}

_FLOATS = {
    "v_add_f32": ("f", "ff", "a + b"),
    "v_add_f64": ("d", "dd", "a + b"),
    "v_sub_f32": ("f", "ff", "a - b"),
    "v_subrev_f32": ("f", "ff", "b - a"),
    "v_mul_f32": ("f", "ff", "a * b"),
    "v_mul_f64": ("d", "dd", "a * b"),
    "v_fma_f32": ("f", "fff", "FMA32(a, b, c)"),
    "v_fma_f64": ("d", "ddd", "FMA64(a, b, c)"),
    "v_fmac_f32": ("f", "ff", "FMA32(a, b, old)"),
    "v_fmac_f64": ("d", "dd", "FMA64(a, b, old)"),
    "v_fmaak_f32": ("f", "fff", "FMA32(a, b, c)"),
    "v_fmamk_f32": ("f", "fff", "FMA32(a, b, c)"),
    # rounded twice, without subnormals, whatever the mode says
    "v_mac_f32": ("f", "ff", "flushed(flushed(flushed(a) * flushed(b)) + flushed(old))"),
    "v_mad_f32": ("f", "fff", "flushed(flushed(flushed(a) * flushed(b)) + flushed(c))"),
    "v_min_f32": ("f", "ff", "least32(a, b, ieee)"),
    "v_max_f32": ("f", "ff", "greatest32(a, b, ieee)"),
    "v_min_f64": ("d", "dd", "least64(a, b, ieee)"),
    "v_max_f64": ("d", "dd", "greatest64(a, b, ieee)"),
    "v_min3_f32": ("f", "fff", "least32(least32(a, b, ieee), c, ieee)"),
    "v_max3_f32": ("f", "fff", "greatest32(greatest32(a, b, ieee), c, ieee)"),
    "v_med3_f32": ("f", "fff", "median32(a, b, c, ieee)"),
    "v_clamp_f32": ("f", "f", "a > 0 ? min(a, 1.0f) : 0.0f"),
    "v_clamp_f64": ("d", "d", "a > 0 ? min(a, 1.0) : 0.0"),
    "v_fract_f32": ("f", "f", "fraction32(a)"),
    "v_fract_f64": ("d", "d", "fraction64(a)"),
    "v_frexp_mant_f32": ("f", "f", "mantissa32(a)"),
    "v_frexp_mant_f64": ("d", "d", "mantissa64(a)"),
    "v_frexp_exp_i32_f32": ("i", "f", "binary_exponent32(a)"),
    "v_frexp_exp_i32_f64": ("i", "d", "binary_exponent64(a)"),
    "v_trig_preop_f64": ("d", "du", "segment_of_two_over_pi(a, b)"),
    "v_floor_f32": ("f", "f", "floor(a)"),
    "v_floor_f64": ("d", "d", "floor(a)"),
    "v_trunc_f32": ("f", "f", "trunc(a)"),
    "v_trunc_f64": ("d", "d", "trunc(a)"),
    "v_ceil_f32": ("f", "f", "ceil(a)"),
    "v_ceil_f64": ("d", "d", "ceil(a)"),
    "v_rndne_f32": ("f", "f", "rint(a)"),
    "v_rndne_f64": ("d", "d", "rint(a)"),
    "v_ldexp_f64": ("d", "di", "scaled64(a, b)"),
    "v_ldexp_f32": ("f", "fi", "scaled32(a, b)"),
    "v_cvt_f32_f64": ("f", "d", "(float)a"),
    "v_cvt_f64_f32": ("d", "f", "(double)a"),
    "v_cvt_f32_i32": ("f", "i", "(float)a"),
    "v_cvt_f32_u32": ("f", "u", "(float)a"),
    "v_cvt_f64_i32": ("d", "i", "(double)a"),
    "v_cvt_f64_u32": ("d", "u", "(double)a"),
    **{f"v_cvt_f32_ubyte{k}": ("f", "u", f"(float)(a >> {8 * k} & 255)") for k in range(4)},
    "v_cvt_i32_f32": ("i", "f", "signed_of((double)a)"),
    "v_cvt_u32_f32": ("u", "f", "unsigned_of((double)a)"),
    "v_cvt_i32_f64": ("i", "d", "signed_of(a)"),
    "v_cvt_u32_f64": ("u", "d", "unsigned_of(a)"),
}

_RECIPROCALS = {
    "v_rcp_f32": ("f", "f", "near32(1.0 / (double)flushed(a), shift)"),
    "v_rcp_iflag_f32": ("f", "f", "near32(1.0 / (double)flushed(a), shift)"),
    "v_rsq_f32": ("f", "f", "near32(1.0 / sqrt((double)flushed(a)), shift)"),
    "v_sqrt_f32": ("f", "f", "near32(sqrt((double)flushed(a)), shift)"),
    "v_exp_f32": ("f", "f", "near32(exp2((double)flushed(a)), shift)"),
    "v_log_f32": ("f", "f", "near32(log2((double)flushed(a)), shift)"),
    # of turns, of which the guides allow 256
    "v_sin_f32": ("f", "f", "fabs(a) > 256 ? 0 : near32(sinpi(2 * (double)flushed(a)), shift)"),
    "v_cos_f32": ("f", "f", "fabs(a) > 256 ? 1 : near32(cospi(2 * (double)flushed(a)), shift)"),
    "v_rcp_f64": ("d", "d", "near64(1.0 / a, shift)"),
    "v_rsq_f64": ("d", "d", "near64(1.0 / sqrt(a), shift)"),
    "v_sqrt_f64": ("d", "d", "near64(sqrt(a), shift)"),
    "v_div_fmas_f32": ("f", "fffm", "quotient32(a, b, c, m)"),
    "v_div_fmas_f64": ("d", "dddm", "quotient64(a, b, c, m)"),
    "v_div_fixup_f32": ("f", "fff", "fixed32(a, b, c)"),
    "v_div_fixup_f64": ("d", "ddd", "fixed64(a, b, c)"),
}
"""Estimates, and what ends a division."""

_INTEGERS = {
    "v_add_u32": ("u", "uu", "a + b"),
    "v_add_sat_u32": ("u", "uu", "add_sat(a, b)"),
    "v_sub_sat_u32": ("u", "uu", "a < b ? 0u : a - b"),
    "v_sub_u32": ("u", "uu", "a - b"),
    "v_subrev_u32": ("u", "uu", "b - a"),
    "v_add3_u32": ("u", "uuu", "a + b + c"),
    "v_mul_lo_u32": ("u", "uu", "a * b"),
    "v_mul_hi_u32": ("u", "uu", "(uint)(((ulong)a * b) >> 32)"),
    "v_mul_hi_i32": ("i", "ii", "(int)(((long)a * b) >> 32)"),
    "v_mul_hi_u32_u24": ("u", "uu", "(uint)(((ulong)(a & 0xffffff) * (b & 0xffffff)) >> 32)"),
    "v_mul_u32_u24": ("u", "uu", "(a & 0xffffff) * (b & 0xffffff)"),
    "v_mul_i32_i24": ("i", "ii", "(a << 8 >> 8) * (b << 8 >> 8)"),
    "v_mad_u32_u24": ("u", "uuu", "(a & 0xffffff) * (b & 0xffffff) + c"),
    "v_mad_i32_i24": ("i", "iii", "(a << 8 >> 8) * (b << 8 >> 8) + c"),
    "v_and_b32": ("u", "uu", "a & b"),
    "v_or_b32": ("u", "uu", "a | b"),
    "v_xor_b32": ("u", "uu", "a ^ b"),
    "v_or3_b32": ("u", "uuu", "a | b | c"),
    "v_xor3_b32": ("u", "uuu", "a ^ b ^ c"),
    "v_xad_u32": ("u", "uuu", "(a ^ b) + c"),
    "v_and_or_b32": ("u", "uuu", "(a & b) | c"),
    "v_lshlrev_b32": ("u", "uu", "b << (a & 31)"),
    "v_lshrrev_b32": ("u", "uu", "b >> (a & 31)"),
    "v_ashrrev_i32": ("i", "ui", "b >> (a & 31)"),
    "v_ashrrev_i16": ("u", "uu", "(ushort)((short)b >> (a & 15))"),
    "v_min_u16": ("u", "uu", "min(a & 0xffff, b & 0xffff)"),
    "v_max_u16": ("u", "uu", "max(a & 0xffff, b & 0xffff)"),
    "v_min_i16": ("u", "uu", "(ushort)min((short)a, (short)b)"),
    "v_max_i16": ("u", "uu", "(ushort)max((short)a, (short)b)"),
    "v_mad_u16": ("u", "uuu", "((a & 0xffff) * (b & 0xffff) + c) & 0xffff"),
    # of 16 bits: GCN clears the other half (its 32-bit encoding; see the assembler)
    "v_lshlrev_b16": ("u", "uu", "(b << (a & 15)) & 0xffff"),
    "v_lshrrev_b16": ("u", "uu", "(b & 0xffff) >> (a & 15)"),
    "v_add_u16": ("u", "uu", "(a + b) & 0xffff"),
    "v_sub_u16": ("u", "uu", "(a - b) & 0xffff"),
    "v_subrev_u16": ("u", "uu", "(b - a) & 0xffff"),
    "v_mul_lo_u16": ("u", "uu", "((a & 0xffff) * (b & 0xffff)) & 0xffff"),
    "v_lshlrev_b64": ("l", "ul", "b << (a & 63)"),
    "v_lshrrev_b64": ("l", "ul", "b >> (a & 63)"),
    "v_ashrrev_i64": ("q", "uq", "b >> (a & 63)"),
    "v_lshl_add_u32": ("u", "uuu", "(a << (b & 31)) + c"),
    "v_add_lshl_u32": ("u", "uuu", "(a + b) << (c & 31)"),
    "v_lshl_or_b32": ("u", "uuu", "(a << (b & 31)) | c"),
    "v_lshl_add_u64": ("l", "lul", "(a << (b & 7)) + c"),
    "v_bfe_u32": ("u", "uuu", "c & 31 ? (a >> (b & 31)) & ((1u << (c & 31)) - 1) : 0"),
    "v_bfe_i32": (
        "i",
        "iuu",
        "c & 31 ? (int)(((uint)(a >> (b & 31))) << (32 - (c & 31))) >> (32 - (c & 31)) : 0",
    ),
    "v_bfi_b32": ("u", "uuu", "(a & b) | (~a & c)"),
    "v_bcnt_u32_b32": ("u", "uu", "(uint)popcount(a) + b"),
    # Bits of the lanes below this one, of which each instruction knows 32.
    "v_mbcnt_lo_u32_b32": (
        "u",
        "uu",
        "(uint)popcount(a & (lane < 32 ? (1u << lane) - 1 : ~0u)) + b",
    ),
    "v_mbcnt_hi_u32_b32": (
        "u",
        "uu",
        "(uint)popcount(a & (lane < 32 ? 0 : (1u << (lane - 32)) - 1)) + b",
    ),
    "v_ffbh_u32": ("u", "u", "a ? (uint)clz(a) : 0xffffffffu"),
    "v_ffbh_i32": ("u", "i", "sign_bits(a)"),
    "v_ffbl_b32": ("u", "u", "a ? (uint)popcount((a & -a) - 1) : 0xffffffffu"),
    "v_alignbit_b32": ("u", "uuu", "(uint)((((ulong)a << 32) | b) >> (c & 31))"),
    "v_perm_b32": ("u", "uuu", "permuted(a, b, c)"),
    "v_min_i32": ("i", "ii", "min(a, b)"),
    "v_max_i32": ("i", "ii", "max(a, b)"),
    "v_min_u32": ("u", "uu", "min(a, b)"),
    "v_max_u32": ("u", "uu", "max(a, b)"),
    "v_max3_i32": ("i", "iii", "max(max(a, b), c)"),
    "v_min3_i32": ("i", "iii", "min(min(a, b), c)"),
    "v_max3_u32": ("u", "uuu", "max(max(a, b), c)"),
    "v_min3_u32": ("u", "uuu", "min(min(a, b), c)"),
    "v_med3_i32": ("i", "iii", "max(min(a, b), min(max(a, b), c))"),
    "v_dot4_i32_i8": ("i", "uui", "c + dot(a, b, 1, 1)"),
    "v_dot4_i32_i8_u8": ("i", "uui", "c + dot(a, b, 1, 0)"),
    "v_dot4_i32_u8_i8": ("i", "uui", "c + dot(a, b, 0, 1)"),
    "v_dot4c_i32_i8": ("i", "uu", "old + dot(a, b, 1, 1)"),
    "v_dot4_u32_u8": ("u", "uuu", "c + (uint)dot(a, b, 0, 0)"),
}


_CARRY = {
    "v_add_co_u32": ("u", "uu", "a + b", "r < a"),
    "v_sub_co_u32": ("u", "uu", "a - b", "a < b"),
    "v_subrev_co_u32": ("u", "uu", "b - a", "b < a"),
    "v_addc_co_u32": ("u", "uum", "a + b + c", "((ulong)a + b + c) >> 32"),
    "v_subb_co_u32": ("u", "uum", "a - b - c", "(ulong)a < (ulong)b + c"),
    "v_subbrev_co_u32": ("u", "uum", "b - a - c", "(ulong)b < (ulong)a + c"),
    "v_mad_u64_u32": ("l", "uul", "(ulong)a * b + c", "r < c"),
    # the upper one of 65 bits: the sign of the exact sum
    "v_mad_i64_i32": (
        "q",
        "iiq",
        "(long)((ulong)((long)a * b) + (ulong)c)",
        "((long)a * b < 0) == (c < 0) ? c < 0 : r < 0",
    ),
    "v_div_scale_f32": ("f", "fff", "prepared32(a, b, c)", "scaled_twice32(b, c)"),
    "v_div_scale_f64": ("d", "ddd", "prepared64(a, b, c)", "scaled_twice64(b, c)"),
}
"""Operations with a second result: the carry, or whether a quotient must be scaled back."""

_RELATIONS = {"lt": "a < b", "eq": "a == b", "le": "a <= b", "gt": "a > b", "ge": "a >= b"}
_FLOAT_RELATIONS = _RELATIONS | {
    "lg": "a < b || a > b",
    "neq": "!(a == b)",
    "nlt": "!(a < b)",
    "nle": "!(a <= b)",
    "ngt": "!(a > b)",
    "nge": "!(a >= b)",
    "nlg": "!(a < b || a > b)",
    "o": "a == a && b == b",
    "u": "!(a == a && b == b)",
}
_COMPARED = {"f32": "f", "f64": "d", "u32": "u", "i32": "i", "u64": "l", "i64": "q"}
_HALVES_COMPARED = {"u16": ("u", "ushort"), "i16": ("u", "short")}

_SCALAR = {
    "s_mov_b32": ("u", "u", "a", ""),
    "s_mov_b64": ("l", "l", "a", ""),
    "s_movk_i32": ("u", "u", "a", ""),
    "s_brev_b32": ("u", "u", "reversed(a)", ""),
    "s_not_b32": ("u", "u", "~a", "r != 0"),
    "s_not_b64": ("l", "l", "~a", "r != 0"),
    "s_sext_i32_i16": ("i", "u", "(short)a", ""),
    "s_sext_i32_i8": ("i", "u", "(char)a", ""),
    "s_add_u32": ("u", "uu", "a + b", "r < a"),
    "s_sub_u32": ("u", "uu", "a - b", "a < b"),
    "s_addc_u32": ("u", "uu", "a + b + scc", "((ulong)a + b + scc) >> 32"),
    "s_subb_u32": ("u", "uu", "a - b - scc", "(ulong)a < (ulong)b + scc"),
    "s_add_i32": ("u", "uu", "a + b", "(int)((a ^ r) & (b ^ r)) < 0"),
    "s_addk_i32": ("u", "uu", "a + b", "(int)((a ^ r) & (b ^ r)) < 0"),
    "s_sub_i32": ("u", "uu", "a - b", "(int)((a ^ b) & (a ^ r)) < 0"),
    "s_add_nc_u64": ("l", "ll", "a + b", ""),
    "s_sub_nc_u64": ("l", "ll", "a - b", ""),
    "s_mul_i32": ("u", "uu", "a * b", ""),
    "s_mulk_i32": ("u", "uu", "a * b", ""),
    "s_mul_u64": ("l", "ll", "a * b", ""),
    "s_mul_hi_u32": ("u", "uu", "(uint)(((ulong)a * b) >> 32)", ""),
    "s_mul_hi_i32": ("i", "ii", "(int)(((long)a * b) >> 32)", ""),
    "s_lshl_b32": ("u", "uu", "a << (b & 31)", "r != 0"),
    "s_lshr_b32": ("u", "uu", "a >> (b & 31)", "r != 0"),
    "s_ashr_i32": ("i", "iu", "a >> (b & 31)", "r != 0"),
    "s_lshl_b64": ("l", "lu", "a << (b & 63)", "r != 0"),
    "s_lshr_b64": ("l", "lu", "a >> (b & 63)", "r != 0"),
    "s_ashr_i64": ("q", "qu", "a >> (b & 63)", "r != 0"),
    "s_bfe_u32": ("u", "uu", "field(a, b & 31, (b >> 16) & 127)", "r != 0"),
    "s_bfe_i32": ("i", "iu", "signed_field(a, b & 31, (b >> 16) & 127)", "r != 0"),
    "s_bfe_u64": ("l", "lu", "field64(a, b & 63, (b >> 16) & 127)", "r != 0"),
    "s_bfe_i64": ("q", "qu", "signed_field64(a, b & 63, (b >> 16) & 127)", "r != 0"),
    "s_bfm_b32": ("u", "uu", "((1u << (a & 31)) - 1) << (b & 31)", ""),
    "s_bfm_b64": ("l", "uu", "((1ul << (a & 63)) - 1) << (b & 63)", ""),
    "s_brev_b64": ("l", "l", "(ulong)reversed((uint)a) << 32 | reversed((uint)(a >> 32))", ""),
    "s_bcnt0_i32_b32": ("u", "u", "32 - popcount(a)", "r != 0"),
    "s_bcnt0_i32_b64": ("u", "l", "64 - (uint)popcount(a)", "r != 0"),
    "s_bcnt1_i32_b32": ("u", "u", "popcount(a)", "r != 0"),
    "s_bcnt1_i32_b64": ("u", "l", "(uint)popcount(a)", "r != 0"),
    "s_ff0_i32_b32": ("u", "u", "~a ? (uint)popcount(a & ~(a + 1)) : 0xffffffffu", ""),
    "s_ff1_i32_b32": ("u", "u", "a ? (uint)popcount((a & -a) - 1) : 0xffffffffu", ""),
    "s_ff0_i32_b64": ("u", "l", "~a ? (uint)popcount(a & ~(a + 1)) : 0xffffffffu", ""),
    "s_ff1_i32_b64": ("u", "l", "a ? (uint)popcount((a & -a) - 1) : 0xffffffffu", ""),
    "s_flbit_i32_b32": ("u", "u", "a ? (uint)clz(a) : 0xffffffffu", ""),
    "s_flbit_i32_b64": ("u", "l", "a ? (uint)clz(a) : 0xffffffffu", ""),
    "s_flbit_i32": ("u", "i", "sign_bits(a)", ""),
    "s_flbit_i32_i64": ("u", "q", "sign_bits64(a)", ""),
    "s_abs_i32": ("i", "i", "a < 0 ? -(uint)a : a", "r != 0"),
    "s_absdiff_i32": ("u", "ii", "a > b ? (uint)a - b : (uint)b - a", "r != 0"),
    "s_lshl1_add_u32": ("u", "uu", "(a << 1) + b", "(((ulong)a << 1) + b) >> 32"),
    "s_lshl2_add_u32": ("u", "uu", "(a << 2) + b", "(((ulong)a << 2) + b) >> 32"),
    "s_lshl3_add_u32": ("u", "uu", "(a << 3) + b", "(((ulong)a << 3) + b) >> 32"),
    "s_lshl4_add_u32": ("u", "uu", "(a << 4) + b", "(((ulong)a << 4) + b) >> 32"),
    "s_pack_ll_b32_b16": ("u", "uu", "(a & 0xffff) | b << 16", ""),
    "s_pack_lh_b32_b16": ("u", "uu", "(a & 0xffff) | (b & 0xffff0000)", ""),
    "s_pack_hh_b32_b16": ("u", "uu", "a >> 16 | (b & 0xffff0000)", ""),
    "s_cmov_b32": ("u", "u", "scc ? a : old", ""),
    "s_cmov_b64": ("l", "l", "scc ? a : old", ""),
    "s_bitset0_b32": ("u", "u", "old & ~(1u << (a & 31))", ""),
    "s_bitset1_b32": ("u", "u", "old | 1u << (a & 31)", ""),
    "s_cselect_b32": ("u", "uu", "scc ? a : b", ""),
    "s_cselect_b64": ("l", "ll", "scc ? a : b", ""),
    "s_min_u32": ("u", "uu", "min(a, b)", "a < b"),
    "s_max_u32": ("u", "uu", "max(a, b)", "a > b"),
    "s_min_i32": ("i", "ii", "min(a, b)", "a < b"),
    "s_max_i32": ("i", "ii", "max(a, b)", "a > b"),
    "s_add_f32": ("f", "ff", "a + b", ""),
    "s_sub_f32": ("f", "ff", "a - b", ""),
    "s_mul_f32": ("f", "ff", "a * b", ""),
    "s_fmac_f32": ("f", "ff", "FMA32(a, b, old)", ""),
    "s_fmamk_f32": ("f", "fff", "FMA32(a, b, c)", ""),
    "s_min_num_f32": ("f", "ff", "least32(a, b, 0)", ""),
    "s_max_num_f32": ("f", "ff", "greatest32(a, b, 0)", ""),
    "s_trunc_f32": ("f", "f", "trunc(a)", ""),
    "s_floor_f32": ("f", "f", "floor(a)", ""),
    "s_ceil_f32": ("f", "f", "ceil(a)", ""),
    "s_rndne_f32": ("f", "f", "rint(a)", ""),
    "s_cvt_f32_i32": ("f", "i", "(float)a", ""),
    "s_cvt_i32_f32": ("i", "f", "signed_of((double)a)", ""),
    "s_fmaak_f32": ("f", "fff", "FMA32(a, b, c)", ""),
    "s_cvt_f32_u32": ("f", "u", "(float)a", ""),
    "s_cvt_u32_f32": ("u", "f", "unsigned_of((double)a)", ""),
    "v_s_rcp_f32": ("f", "f", "near32(1.0 / (double)flushed(a), shift)", ""),
}

_LOGIC = {
    "and": "a & b",
    "or": "a | b",
    "xor": "a ^ b",
    "andn2": "a & ~b",
    "orn2": "a | ~b",
    "nand": "~(a & b)",
    "nor": "~(a | b)",
    "xnor": "~(a ^ b)",
}
"""Bitwise operations: s_and_b32, s_and_b64, and s_and_saveexec of masks."""

_CONTROL = (
    "s_endpgm",
    "s_barrier",
    "block_mark",
    "warp_mark",
    "s_branch",
    "s_cbranch_scc0",
    "s_cbranch_scc1",
    "s_cbranch_vccz",
    "s_cbranch_vccnz",
    "s_cbranch_execz",
    "s_cbranch_execnz",
    "s_setpc_b64",
)

_LANE = (
    "v_readfirstlane_b32",
    "v_readlane_b32",
    "v_writelane_b32",
    "ds_bpermute_b32",
    "ds_permute_b32",
)

_INNER = (
    "s_load",
    "s_clock",
    "scratch_descriptor",
    "lane_move",
    "lane_choice",
    "register_read",
    "register_write",
)
"""What instructions of several names, or parts of them, become."""

WIDTHS = {
    "ubyte": 1,
    "sbyte": 1,
    "byte": 1,
    "ushort": 2,
    "sshort": 2,
    "short": 2,
    "dword": 4,
    "dwordx2": 8,
    "dwordx3": 12,
    "dwordx4": 16,
}
"""Bytes that one lane loads or stores."""

SPACES = ("global", "shared", "scratch", "flat")
"""Memories; flat addresses lie in any of the others."""

WAYS = ("load", "store", "atomic")

IGNORED = frozenset(
    {
        "s_nop",
        "s_waitcnt",
        "s_waitcnt_depctr",
        "s_waitcnt_vscnt",
        "s_clause",
        "s_delay_alu",
        "s_set_inst_prefetch_distance",
        "s_inst_prefetch",
        "s_code_end",
        "buffer_gl0_inv",
        "buffer_gl1_inv",
        "buffer_wbinvl1_vol",
        "buffer_inv",
        "buffer_wbl2",
        "global_inv",
        "global_wb",
        "global_wbinv",
        "s_barrier_signal",
        "s_setprio",
        "s_wait_alu",
        "s_wait_bvhcnt",
        "s_wait_dscnt",
        "s_wait_expcnt",
        "s_wait_kmcnt",
        "s_wait_loadcnt",
        "s_wait_samplecnt",
        "s_wait_storecnt",
        "s_wait_loadcnt_dscnt",
        "s_wait_storecnt_dscnt",
        "s_wait_event",
        "s_wait_idle",
        "v_nop",
        "s_icache_inv",
    }
)
"""Waiting, caches and hints: without meaning where instructions run one after the other."""

_RENAMED = (
    ("_add_nc_u32", "_add_u32"),
    ("_sub_nc_u32", "_sub_u32"),
    ("_subrev_nc_u32", "_subrev_u32"),
    ("_add_nc_u16", "_add_u16"),
    ("_sub_nc_u16", "_sub_u16"),
    ("_add_co_ci_u32", "_addc_co_u32"),
    ("_sub_co_ci_u32", "_subb_co_u32"),
    ("_subrev_co_ci_u32", "_subbrev_co_u32"),
    ("_and_not1_", "_andn2_"),
    ("_or_not1_", "_orn2_"),
    ("_mad_co_u64_u32", "_mad_u64_u32"),
    ("v_dual_", "v_"),
    ("v_min_num_f", "v_min_f"),
    ("v_max_num_f", "v_max_f"),
    ("s_barrier_wait", "s_barrier"),
    ("v_clz_i32_u32", "v_ffbh_u32"),
    ("v_ctz_i32_b32", "v_ffbl_b32"),
    ("v_cls_i32", "v_ffbh_i32"),
    ("s_clz_i32_u32", "s_flbit_i32_b32"),
    ("s_clz_i32_u64", "s_flbit_i32_b64"),
    ("s_cls_i32", "s_flbit_i32"),
    ("s_ctz_i32_b", "s_ff1_i32_b"),
)
_RENAMED_SCALAR = {
    "s_add_co_u32": "s_add_u32",
    "s_sub_co_u32": "s_sub_u32",
    "s_add_co_i32": "s_add_i32",
    "s_sub_co_i32": "s_sub_i32",
    "s_addk_co_i32": "s_addk_i32",
    "s_addc_co_u32": "s_addc_u32",
    "s_subb_co_u32": "s_subb_u32",
}
OF_HALVES = ("_b16", "_u16", "_i16")
"""Operations on the lower half of words end so."""

OF_BITS = {
    "v_mov_b16": "v_mov_b32",
    "v_not_b16": "v_not_b32",
    "v_and_b16": "v_and_b32",
    "v_or_b16": "v_or_b32",
    "v_xor_b16": "v_xor_b32",
    "v_cndmask_b16": "v_cndmask_b32",
}
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

_NEW_WIDTHS = {
    "u8": "ubyte",
    "i8": "sbyte",
    "b8": "byte",
    "u16": "ushort",
    "i16": "sshort",
    "b16": "short",
    "b32": "dword",
    "b64": "dwordx2",
    "b96": "dwordx3",
    "b128": "dwordx4",
    "b256": "dwordx8",
    "b512": "dwordx16",
}
_MEMORY = re.compile(r"(global|flat|scratch|s)_(load|store)_([uib]\d+)")
_HALF = re.compile(r"(global|flat|scratch)_(load|store)_d16_(hi_)?([uib]\d+)")
_SHARED = re.compile(r"ds_(load|store)_(2addr_)?(stride64_)?([uib]\d+)(_d16(?:_hi)?)?")
_SHARED_NAMES = {"load": "read", "store": "write"}


@cache
def canonical(mnemonic: str) -> str:
    """The name of GCN 5 for an instruction, without the encoding's suffix."""
    name = re.sub(r"_(e32|e64|sdwa|dpp|e64_dpp)$", "", mnemonic)
    if found := _MEMORY.fullmatch(name):
        return f"{found[1]}_{found[2]}_{_NEW_WIDTHS[found[3]]}"
    if found := _HALF.fullmatch(name):
        return f"{found[1]}_{found[2]}_{_NEW_WIDTHS[found[4]]}_d16{'_hi' if found[3] else ''}"
    if found := _SHARED.fullmatch(name):
        several = ("2st64" if found[3] else "2") if found[2] else ""
        return f"ds_{_SHARED_NAMES[found[1]]}{several}_{found[4]}{found[5] or ''}"
    for new, old in _RENAMED:
        name = name.replace(new, old)
    return _RENAMED_SCALAR.get(name, name)


@cache
def operations() -> dict[str, Operation]:
    """All operations by name, in a fixed order: the order gives the interpreter's numbers."""
    found = [Operation(name, "control") for name in _CONTROL]
    found += [Operation(name, "lane") for name in _LANE]
    found += [Operation(name, "inner") for name in _INNER]
    # all ways in all memories, though a lane's own has no atomic operations: numbers are regular
    found += [Operation(f"{space}_{way}", "memory") for space in SPACES for way in WAYS]
    for table in (_MOVES, _FLOATS, _RECIPROCALS, _INTEGERS):
        found += [Operation(name, "vector", *what) for name, what in table.items()]
    found += [Operation(name, "carry", *what) for name, what in _CARRY.items()]
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
    found += [Operation(name, "scalar", *what) for name, what in _SCALAR.items()]
    for name, text in _LOGIC.items():
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
