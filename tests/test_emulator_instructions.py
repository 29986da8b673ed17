"""The interpreter of AMD machine code: its instructions against exact arithmetic, its guards."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
import tiers
from operands import BITS, CONTEXTS, number_of, rounded, special
from waves import ALL, SOME, WAVE64, Waves, Words, assembled, either, masked, on

from portmp.emulator import assembler, instructions, listing, marks
from portmp.emulator import device as emulated
from portmp.emulator.assembler import Unknown
from portmp.emulator.instructions import Operation
from portmp.errors import CheckError

LANES = 64


# --- instructions against exact arithmetic ------------------------------------------------


def _run(
    lines: Sequence[str], given: Words, results: int, shared: int = 0, loaded: int | None = None
) -> Words:
    return WAVE64.run(lines, given, results, shared=shared, loaded=loaded)


def _operand(kind: str, at: int) -> str:
    return f"v[{at}:{at + 1}]" if BITS[kind] == 64 else f"v{at}"


def _wrapped(kind: str, number: int) -> int:
    return number & (1 << BITS[kind]) - 1


def _cut(a: float) -> int:
    return (
        0 if math.isnan(a) else 2**70 if a == math.inf else -(2**70) if a == -math.inf else int(a)
    )


def _flush(a: float) -> float:
    return math.copysign(0.0, a) if abs(a) < 2.0**-126 else a


def _apart(a: float, b: float, c: float) -> float:
    """v_mac_f32: rounded twice, subnormals as zero."""
    product = _flush(rounded("f", gmpy2.mul, _flush(a), _flush(b)))
    return _flush(rounded("f", gmpy2.add, product, _flush(c)))


def _scaled(kind: str) -> Callable[[float, int], float]:
    def scale(a: float, n: int) -> float:
        with gmpy2.context(CONTEXTS[kind]):
            return float(
                gmpy2.mul_2exp(gmpy2.mpfr(a), n)
                if n >= 0
                else gmpy2.div_2exp(gmpy2.mpfr(a), min(-n, 2**30))
            )

    return scale


def _bytes(word: int, signed: bool) -> list[int]:
    return [int(b) for b in np.frombuffer(struct.pack("<I", word), np.int8 if signed else np.uint8)]


def _dot(a: int, b: int, signed: tuple[bool, bool]) -> int:
    parts = (_bytes(word, sign) for word, sign in zip((a, b), signed, strict=True))
    return sum(x * y for x, y in zip(*parts, strict=True))


def _permuted(a: int, b: int, choice: int) -> int:
    both = struct.pack("<II", b, a)
    found = 0
    for i in range(4):
        s = choice >> 8 * i & 255
        byte = both[s] if s < 8 else 0 if s == 12 else 255
        if 8 <= s < 12:
            byte = 255 * (both[2 * (s - 8) + 1] >> 7)
        found |= byte << 8 * i
    return found


def _field(a: int, start: int, size: int) -> int:
    return (a >> start) & (1 << size) - 1


def _signed(number: int, bits: int) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> bits - 1 else number


def _sign_bits(number: int, bits: int) -> int:
    """How many bits at the top are the sign; all ones where all are."""
    number = _signed(number, bits)
    found = bits - (~number if number < 0 else number).bit_length()
    return 2**32 - 1 if found == bits else found


def _first_one(number: int) -> int:
    return (number & -number).bit_length() - 1 if number else 2**32 - 1


def _clamped(number: int, low: int, high: int) -> int:
    return max(low, min(high, number))


class Signalling(float):
    """A NaN that is not quiet."""


def _value(kind: str, bits: int) -> Any:
    """The number that bits are, where a signalling NaN is told apart."""
    number = number_of(kind, bits)
    if kind in "fd" and math.isnan(number) and not bits >> (22 if kind == "f" else 51) & 1:
        return Signalling(number)
    return number


def _least(kind: str, sign: int) -> Callable[[float, float], float]:
    def choose(a: float, b: float) -> float:
        if isinstance(a, Signalling) or isinstance(b, Signalling):
            return math.nan
        if math.isnan(a) or math.isnan(b):
            return b if math.isnan(a) else a
        order = [(sign * v, sign * math.copysign(1.0, v), v) for v in (a, b)]
        return min(order)[2]

    return choose


def _to_integer(rounding: Callable[[float], int]) -> Callable[[float], float]:
    def convert(a: float) -> float:
        return a if math.isnan(a) or math.isinf(a) else math.copysign(float(rounding(a)), a)

    return convert


FLOAT: dict[str, Callable[..., Any]] = {}
for _w, _k in (("f32", "f"), ("f64", "d")):
    FLOAT |= {
        f"v_add_{_w}": lambda a, b, k=_k: rounded(k, gmpy2.add, a, b),
        f"v_sub_{_w}": lambda a, b, k=_k: rounded(k, gmpy2.sub, a, b),
        f"v_subrev_{_w}": lambda a, b, k=_k: rounded(k, gmpy2.sub, b, a),
        f"v_mul_{_w}": lambda a, b, k=_k: rounded(k, gmpy2.mul, a, b),
        f"v_fma_{_w}": lambda a, b, c, k=_k: rounded(k, gmpy2.fma, a, b, c),
        f"v_fmac_{_w}": lambda a, b, c, k=_k: rounded(k, gmpy2.fma, a, b, c),
        f"v_min_{_w}": _least(_k, 1),
        f"v_max_{_w}": _least(_k, -1),
        f"v_floor_{_w}": _to_integer(math.floor),
        f"v_ceil_{_w}": _to_integer(math.ceil),
        f"v_trunc_{_w}": _to_integer(math.trunc),
        f"v_rndne_{_w}": _to_integer(lambda a: round(Fraction(a))),
        f"v_ldexp_{_w}": _scaled(_k),
    }
del FLOAT["v_sub_f64"], FLOAT["v_subrev_f64"]


def _median(a: float, b: float, c: float) -> float:
    """Of a NaN's neighbours the least; by value, so that of two equal ones either is one."""
    least = FLOAT["v_min_f32"]
    if any(map(math.isnan, (a, b, c))):
        return least(least(a, b), c)  # type: ignore[no-any-return]
    return sorted((a, b, c), key=lambda v: (v, math.copysign(1.0, v)))[1]


def _fraction(kind: str) -> Callable[[float], float]:
    """The part behind the point, below 1."""
    precision = 24 if kind == "f" else 53

    def part(a: float) -> float:
        if not math.isfinite(a):
            return math.nan
        return min(rounded(kind, gmpy2.sub, a, math.floor(a)) + 0.0, 1 - 2.0**-precision)

    return part


def _segment(a: float, select: int) -> float:
    """53 bits of 2/pi, of its first 1201, as many places on as the angle's exponent says."""
    exponent = struct.unpack("<Q", struct.pack("<d", a))[0] >> 52 & 2047
    shift = select % 32 * 53 + max(exponent - 1077, 0)
    with gmpy2.context(precision=1500):
        known = int(gmpy2.floor(gmpy2.mul_2exp(2 / gmpy2.const_pi(), 1201)))
    bits = (known << shift + 53 >> 1201) % 2**53
    return _scaled("d")(float(bits), -53 - shift + 128 * (exponent >= 1968))


FLOAT |= {
    "v_min3_f32": lambda a, b, c: FLOAT["v_min_f32"](FLOAT["v_min_f32"](a, b), c),
    "v_max3_f32": lambda a, b, c: FLOAT["v_max_f32"](FLOAT["v_max_f32"](a, b), c),
    "v_med3_f32": _median,
    "v_clamp_f32": lambda a: min(a, 1.0) if a > 0 else 0.0,
    "v_clamp_f64": lambda a: min(a, 1.0) if a > 0 else 0.0,
    "v_fract_f32": _fraction("f"),
    "v_fract_f64": _fraction("d"),
    "v_frexp_mant_f32": lambda a: math.frexp(a)[0],
    "v_frexp_mant_f64": lambda a: math.frexp(a)[0],
    "v_trig_preop_f64": _segment,
    "v_fmaak_f32": FLOAT["v_fma_f32"],
    "v_fmamk_f32": FLOAT["v_fma_f32"],
    "v_mac_f32": _apart,
    "v_mad_f32": _apart,
    "v_cvt_f32_f64": lambda a: rounded("f", lambda x: x, a),
    "v_cvt_f64_f32": lambda a: a,
    "v_cvt_f32_i32": lambda a: rounded("f", lambda x: x, a) if a else 0.0,
    "v_cvt_f32_u32": lambda a: rounded("f", lambda x: x, a) if a else 0.0,
    **{
        f"v_cvt_f32_ubyte{k}": lambda a, k=k: float(a >> 8 * k & 255)  # type: ignore[misc]
        for k in range(4)
    },
    "v_cvt_f64_i32": float,
    "v_cvt_f64_u32": float,
}

INTEGER: dict[str, Callable[..., int]] = {
    "v_mov_b32": lambda a: a,
    "v_mov_b64": lambda a: a,
    "v_not_b32": lambda a: ~a,
    "v_accvgpr_read_b32": lambda a: a,
    "v_accvgpr_write_b32": lambda a: a,
    "v_accvgpr_mov_b32": lambda a: a,
    "v_bfrev_b32": lambda a: int(f"{a:032b}"[::-1], 2),
    "v_cvt_i32_f32": lambda a: _clamped(_cut(a), -(2**31), 2**31 - 1),
    "v_cvt_i32_f64": lambda a: _clamped(_cut(a), -(2**31), 2**31 - 1),
    "v_cvt_u32_f32": lambda a: _clamped(_cut(a), 0, 2**32 - 1),
    "v_cvt_u32_f64": lambda a: _clamped(_cut(a), 0, 2**32 - 1),
    "v_add_u32": lambda a, b: a + b,
    "v_add_sat_u32": lambda a, b: min(a + b, 2**32 - 1),
    "v_sub_sat_u32": lambda a, b: max(a - b, 0),
    "v_sub_u32": lambda a, b: a - b,
    "v_subrev_u32": lambda a, b: b - a,
    "v_add3_u32": lambda a, b, c: a + b + c,
    "v_mul_lo_u32": lambda a, b: a * b,
    "v_mul_hi_u32": lambda a, b: a * b >> 32,
    "v_mul_hi_i32": lambda a, b: a * b >> 32,
    "v_mul_hi_u32_u24": lambda a, b: (a % 2**24) * (b % 2**24) >> 32,
    "v_mul_u32_u24": lambda a, b: (a % 2**24) * (b % 2**24),
    "v_mul_i32_i24": lambda a, b: _signed(a, 24) * _signed(b, 24),
    "v_mad_u32_u24": lambda a, b, c: (a % 2**24) * (b % 2**24) + c,
    "v_mad_i32_i24": lambda a, b, c: _signed(a, 24) * _signed(b, 24) + c,
    "v_and_b32": lambda a, b: a & b,
    "v_or_b32": lambda a, b: a | b,
    "v_xor_b32": lambda a, b: a ^ b,
    "v_or3_b32": lambda a, b, c: a | b | c,
    "v_xor3_b32": lambda a, b, c: a ^ b ^ c,
    "v_xad_u32": lambda a, b, c: (a ^ b) + c,
    "v_and_or_b32": lambda a, b, c: (a & b) | c,
    "v_lshlrev_b32": lambda a, b: b << a % 32,
    "v_lshrrev_b32": lambda a, b: b >> a % 32,
    "v_ashrrev_i32": lambda a, b: b >> a % 32,
    "v_lshlrev_b64": lambda a, b: b << a % 64,
    "v_lshrrev_b64": lambda a, b: b >> a % 64,
    "v_ashrrev_i64": lambda a, b: b >> a % 64,
    "v_lshlrev_b16": lambda a, b: b << a % 16 & 0xFFFF,
    "v_lshrrev_b16": lambda a, b: (b & 0xFFFF) >> a % 16,
    "v_add_u16": lambda a, b: (a + b) & 0xFFFF,
    "v_sub_u16": lambda a, b: (a - b) & 0xFFFF,
    "v_subrev_u16": lambda a, b: (b - a) & 0xFFFF,
    "v_mul_lo_u16": lambda a, b: (a * b) & 0xFFFF,
    "v_ashrrev_i16": lambda a, b: _signed(b, 16) >> a % 16 & 0xFFFF,
    "v_min_u16": lambda a, b: min(a & 0xFFFF, b & 0xFFFF),
    "v_max_u16": lambda a, b: max(a & 0xFFFF, b & 0xFFFF),
    "v_min_i16": lambda a, b: min(_signed(a, 16), _signed(b, 16)) & 0xFFFF,
    "v_max_i16": lambda a, b: max(_signed(a, 16), _signed(b, 16)) & 0xFFFF,
    "v_mad_u16": lambda a, b, c: (a * b + c) & 0xFFFF,
    "v_lshl_add_u32": lambda a, b, c: (a << b % 32) + c,
    "v_add_lshl_u32": lambda a, b, c: (a + b) << c % 32,
    "v_lshl_or_b32": lambda a, b, c: (a << b % 32) | c,
    "v_lshl_add_u64": lambda a, b, c: (a << b % 8) + c,
    "v_bfe_u32": lambda a, b, c: _field(a, b % 32, c % 32),
    "v_bfe_i32": lambda a, b, c: _signed(a >> b % 32, c % 32) if c % 32 else 0,
    "v_bfi_b32": lambda a, b, c: (a & b) | (~a & c),
    "v_bcnt_u32_b32": lambda a, b: a.bit_count() + b,
    "v_ffbh_u32": lambda a: 32 - a.bit_length() if a else 2**32 - 1,
    "v_ffbh_i32": lambda a: _sign_bits(a, 32),
    "v_ffbl_b32": lambda a: (a & -a).bit_length() - 1 if a else 2**32 - 1,
    "v_alignbit_b32": lambda a, b, c: (a << 32 | b) >> c % 32,
    "v_perm_b32": _permuted,
    "v_min_i32": min,
    "v_max_i32": max,
    "v_min_u32": min,
    "v_max_u32": max,
    "v_max3_i32": max,
    "v_min3_i32": min,
    "v_max3_u32": max,
    "v_min3_u32": min,
    "v_med3_i32": lambda *v: sorted(v)[1],
    "v_dot4_i32_i8": lambda a, b, c: _dot(a, b, (True, True)) + c,
    "v_dot4_i32_i8_u8": lambda a, b, c: _dot(a, b, (True, False)) + c,
    "v_dot4_i32_u8_i8": lambda a, b, c: _dot(a, b, (False, True)) + c,
    "v_dot4c_i32_i8": lambda a, b, c: _dot(a, b, (True, True)) + c,
    "v_dot4_u32_u8": lambda a, b, c: _dot(a, b, (False, False)) + c,
    "v_frexp_exp_i32_f32": lambda a: math.frexp(a)[1] if math.isfinite(a) else 0,
    "v_frexp_exp_i32_f64": lambda a: math.frexp(a)[1] if math.isfinite(a) else 0,
}


def _turns(a: Any) -> bool:
    """Whether an angle is one that the guides allow, and no zero of the sine or cosine."""
    return abs(a) <= 256 and a * 4 != int(a * 4)


def _outside(a: Any, other: int) -> Any:
    """The sine (other: 0) or cosine (1) of quarter turns, and of what the guides do not allow."""
    if gmpy2.is_nan(a) or gmpy2.is_infinite(a):
        return gmpy2.mpfr(math.nan if gmpy2.is_nan(a) else other)
    return gmpy2.mpfr((0, 1, 0, -1)[int(a * 4 + other) % 4] if abs(a) <= 256 else other)


APPROXIMATE: dict[str, Callable[[float], Any]] = {
    "v_rcp_f32": lambda a: 1 / a,
    "v_rcp_iflag_f32": lambda a: 1 / a,
    "v_rcp_f64": lambda a: 1 / a,
    "v_exp_f32": gmpy2.exp2,
    "v_log_f32": gmpy2.log2,
    "v_sin_f32": lambda a: gmpy2.sin(2 * gmpy2.const_pi() * a) if _turns(a) else _outside(a, 0),
    "v_cos_f32": lambda a: gmpy2.cos(2 * gmpy2.const_pi() * a) if _turns(a) else _outside(a, 1),
    "v_rsq_f32": lambda a: 1 / gmpy2.sqrt(a),
    "v_rsq_f64": lambda a: 1 / gmpy2.sqrt(a),
    "v_sqrt_f32": gmpy2.sqrt,
    "v_sqrt_f64": gmpy2.sqrt,
}

ELSEWHERE = {
    "v_cndmask_b32",
    "v_div_fmas_f32",
    "v_div_fmas_f64",
    "v_div_fixup_f32",
    "v_div_fixup_f64",
    "v_mbcnt_lo_u32_b32",
    "v_mbcnt_hi_u32_b32",
}
"""Tested with masks and divisions, and with lanes, further below."""


def _of_kind(kind: str) -> list[Operation]:
    return [o for o in instructions.operations().values() if o.kind == kind]


def test_every_operation_of_lanes_is_tested() -> None:
    """No operation is without an exact counterpart here."""
    known = FLOAT.keys() | INTEGER.keys() | APPROXIMATE.keys() | ELSEWHERE
    assert {o.name for o in _of_kind("vector")} - instructions.UNFUSED.keys() == known


def _same(kind: str, got: int, expected: Any) -> bool:
    if kind in "fd":
        value = number_of(kind, got)
        if math.isnan(expected):
            # every operation that computes makes a signalling NaN quiet
            return math.isnan(value) and bool(got >> (22 if kind == "f" else 51) & 1)
        layout = "<f" if kind == "f" else "<d"
        return got == int.from_bytes(struct.pack(layout, expected), "little")
    return got == _wrapped(kind, expected)


KEPT = 0x5A5A_1234_A5A5_4321
"""What a lane that is off has in the result's register, before and after."""


def _words(kind: str, column: Sequence[int]) -> list[list[int]]:
    """The words of a column of numbers, the lower ones first."""
    return [[v >> shift & 0xFFFFFFFF for v in column] for shift in range(0, BITS[kind], 32)]


def _joined(words: Sequence[Sequence[int]]) -> list[int]:
    """The numbers that have these words."""
    return [
        sum(int(v) << 32 * i for i, v in enumerate(number)) for number in zip(*words, strict=True)
    ]


def _waves(
    waves: Waves, columns: Sequence[Sequence[int]]
) -> Iterator[tuple[range, list[list[int]]]]:
    """Operands of 64 lanes in as many waves as they take: which ones, and their columns."""
    for start in range(0, LANES, waves.lanes):
        part = range(start, start + waves.lanes)
        yield part, [list(column[start : part.stop]) for column in columns]


def _apply(
    operation: Operation, operands: Sequence[Sequence[int]], waves: Waves, mask: int
) -> Iterator[tuple[int, int]]:
    """What the interpreter makes of 64 operands each, as bits: for lanes that are on; those that
    are off keep what they have.
    """
    for part, columns in _waves(waves, operands):
        rows: list[list[int]] = []
        places = []
        for kind, column in zip(operation.sources, columns, strict=False):
            places.append(_operand(kind, 10 + len(rows)))
            rows += _words(kind, column)
        old = columns[-1] if "old" in operation.text else [KEPT] * waves.lanes
        first, old = 10 + len(rows), [v & (1 << BITS[operation.result]) - 1 for v in old]
        rows += _words(operation.result, old)
        count = BITS[operation.result] // 32
        suffix = "_e32" if operation.name.endswith(instructions.OF_HALVES) else ""
        target = _operand(operation.result, 40)
        lines = [
            *[f"v_mov_b32_e32 v{40 + word}, v{first + word}" for word in range(count)],
            *masked(mask, [f"{operation.name}{suffix} {', '.join([target, *places])}"]),
        ]
        found = _joined(waves.run(lines, np.array(rows, np.uint32), count))
        for lane, (got, before) in enumerate(zip(found, old, strict=True)):
            if on(mask, lane):
                yield part[lane], got
            else:
                assert got == before, lane


def _columns(kinds: str, name: str, turns: int) -> Iterator[tuple[list[list[int]], int]]:
    """Columns of operands, each special one meets others of its kind; and which lanes are on."""
    rng = np.random.default_rng(sum(name.encode()))
    for turn in range(turns):
        columns = [
            np.roll(np.array(special(kind, rng), object), 7 * turn * i).tolist()
            for i, kind in enumerate(kinds)
        ]
        yield columns, (ALL, SOME, ~SOME & ALL)[turn % 3]


@either
@pytest.mark.parametrize("name", sorted(FLOAT.keys() | INTEGER.keys()))
def test_operations_are_exact(name: str, waves: Waves) -> None:
    """Every bit that the exact result, rounded once, has."""
    operation = instructions.operations()[name]
    kinds = operation.sources + operation.result * ("old" in operation.text)
    exact = FLOAT.get(name) or INTEGER[name]
    for columns, mask in _columns(kinds, name, 4):
        for lane, got in _apply(operation, columns, waves, mask):
            values = [_value(k, column[lane]) for k, column in zip(kinds, columns, strict=True)]
            expected = exact(*values)
            if name.startswith("v_frexp_mant") and math.isnan(expected):
                assert got == columns[0][lane]
            else:
                assert _same(operation.result, got, expected), (values, expected, hex(got))


@either
@pytest.mark.parametrize("name", sorted(APPROXIMATE))
def test_approximations_keep_their_error(name: str, waves: Waves) -> None:
    """Within an ulp in float32, within 2^-23 in float64, and special values."""
    operation = instructions.operations()[name]
    kind = operation.sources
    for (column,), mask in _columns(kind, name, 3):
        for lane, got in _apply(operation, [column], waves, mask):
            value, found = number_of(kind, column[lane]), number_of(kind, got)
            if kind == "f":
                value = _flush(value)
            with gmpy2.context(precision=200):
                expected = APPROXIMATE[name](gmpy2.mpfr(value))
                if gmpy2.is_nan(expected):
                    assert math.isnan(found)
                elif gmpy2.is_infinite(expected) or expected == 0:
                    assert found == float(expected)
                elif abs(expected) >= gmpy2.mpfr(2) ** (128 if kind == "f" else 1024):
                    assert math.isinf(found)
                elif abs(expected) < gmpy2.mpfr(2) ** (-126 if kind == "f" else -1022):
                    assert abs(found) <= 2.0 ** (-126 if kind == "f" else -1022)
                else:
                    error = abs((gmpy2.mpfr(found) - expected) / expected)
                    assert error <= 2.0 ** (-23 if kind == "f" else -52), (value, found)


@either
@pytest.mark.parametrize("operation", _of_kind("compare"), ids=lambda o: o.name)
def test_comparisons(operation: Operation, waves: Waves) -> None:
    """A comparison gives one bit a lane, zero for lanes that are off."""
    relation, suffix = operation.name.removeprefix("v_cmp_").rsplit("_", 1)
    kinds = operation.sources
    for columns, mask in _columns(kinds, operation.name, 3):
        if kinds[0] == kinds[1]:
            columns[1][::3] = columns[0][::3]
        first = _operand(kinds[0], 10)
        second = _operand(kinds[1], 10 + BITS[kinds[0]] // 32)
        for _, (left, right) in _waves(waves, columns):
            rows = [*_words(kinds[0], left), *_words(kinds[1], right)]
            line = f"{operation.name} {waves.mask(20)}, {first}, {second}"
            found = _bits(waves, masked(mask, [line]), rows)
            for lane, (a, b) in enumerate(zip(left, right, strict=True)):
                x, y = number_of(kinds[0], a), number_of(kinds[1], b)
                if relation == "class":
                    expected = bool(y >> _class(kinds[0], a) & 1)
                else:
                    expected = _related(relation, kinds[0], x, y, suffix)
                assert on(found, lane) == (expected and on(mask, lane)), (x, y)


def _bits(waves: Waves, lines: Sequence[str], rows: Sequence[Sequence[int]]) -> int:
    """The mask that lines leave from s20 on: one register for 32 lanes, whose neighbour stays."""
    kept = ["s_mov_b32 s21, 0x1234567", *lines, *_moved("s20", "s21")]
    low, high = (int(v) for v in waves.run(kept, np.array(rows, np.uint32), 2)[:, 0])
    if waves.lanes == 64:
        return low | high << 32
    assert high == 0x1234567
    return low


def _related(relation: str, kind: str, x: Any, y: Any, suffix: str = "") -> bool:
    if suffix in ("u16", "i16"):
        x, y = (_signed(v, 16) if suffix == "i16" else v & 0xFFFF for v in (x, y))
    negated = relation.startswith("n") and relation not in ("ne",)
    plain = relation[1:] if negated else relation
    unordered = kind in "fd" and (math.isnan(x) or math.isnan(y))
    truth = {
        "lt": x < y,
        "le": x <= y,
        "gt": x > y,
        "ge": x >= y,
        "eq": x == y,
        "ne": x != y,
        "lg": x < y or x > y,
        "o": not unordered,
        "u": unordered,
    }[plain]
    return truth != negated


def _class(kind: str, bits: int) -> int:
    """0 and 1 NaN (signalling, quiet), 2 to 9 from minus infinity to infinity."""
    value = number_of(kind, bits)
    if math.isnan(value):
        return bits >> (22 if kind == "f" else 51) & 1
    smallest = 2.0 ** (-126 if kind == "f" else -1022)
    size = 0 if value == 0 else 1 if abs(value) < smallest else 2 if abs(value) < math.inf else 3
    return 5 - size if bits >> BITS[kind] - 1 else 6 + size


CARRIES: dict[str, tuple[Callable[..., int], Callable[..., bool]]] = {
    "v_add_co_u32": (lambda a, b: a + b, lambda a, b: a + b >= 2**32),
    "v_sub_co_u32": (lambda a, b: a - b, lambda a, b: a < b),
    "v_subrev_co_u32": (lambda a, b: b - a, lambda a, b: b < a),
    "v_addc_co_u32": (lambda a, b, c: a + b + c, lambda a, b, c: a + b + c >= 2**32),
    "v_subb_co_u32": (lambda a, b, c: a - b - c, lambda a, b, c: a < b + c),
    "v_subbrev_co_u32": (lambda a, b, c: b - a - c, lambda a, b, c: b < a + c),
    "v_mad_u64_u32": (lambda a, b, c: a * b + c, lambda a, b, c: a * b + c >= 2**64),
    "v_mad_i64_i32": (lambda a, b, c: a * b + c, lambda a, b, c: a * b + c < 0),
}


CARRIED = 0x3333_5555_F0F0_9999
"""A carry that comes in, of each lane."""


def _second_results(
    operation: Operation, columns: Sequence[Sequence[int]], waves: Waves, mask: int
) -> Iterator[tuple[int, int, bool]]:
    """For lanes that are on: bits of the result and the bit of the mask. Those that are off keep
    their register, and their bit is zero.
    """
    kinds = operation.sources.replace("m", "")
    for part, given in _waves(waves, columns):
        rows, places = [], []
        for kind, column in zip(kinds, given, strict=True):
            places.append(_operand(kind, 10 + len(rows)))
            rows += _words(kind, column)
        places += [waves.mask(22)] * ("m" in operation.sources)
        count = BITS[operation.result] // 32
        target = _operand(operation.result, 40)
        lines = [
            *[f"v_mov_b32_e32 v{40 + i}, {KEPT >> 32 * i & 0xFFFFFFFF:#x}" for i in range(count)],
            *_halves(CARRIED, 22),
            *masked(mask, [f"{operation.name} {', '.join([target, waves.mask(20), *places])}"]),
        ]
        results = _joined(waves.run(lines, np.array(rows, np.uint32), count))
        carries = _bits(waves, lines, rows)
        for lane, got in enumerate(results):
            if on(mask, lane):
                yield part[lane], got, on(carries, lane)
            else:
                assert got == KEPT & (1 << 32 * count) - 1 and not on(carries, lane)


@either
@pytest.mark.parametrize("name", sorted(CARRIES))
def test_carries(name: str, waves: Waves) -> None:
    """Sum and carry, with a carry that comes in where there is one."""
    operation = instructions.operations()[name]
    value, carry = CARRIES[name]
    kinds = operation.sources.replace("m", "")
    for columns, mask in _columns(kinds, name, 3):
        if "m" in operation.sources:  # sums that a carry alone takes over the edge
            columns[0][:16], columns[1][:16] = [2**32 - 1] * 16, [0] * 8 + [2**32 - 1] * 8
        for lane, got, carried in _second_results(operation, columns, waves, mask):
            given = [number_of(k, column[lane]) for k, column in zip(kinds, columns, strict=True)]
            if "m" in operation.sources:
                given.append(int(on(CARRIED, lane % waves.lanes)))
            assert got == _wrapped(operation.result, value(*given))
            assert carried == carry(*given)


def test_every_second_result_is_tested() -> None:
    """No operation that writes a mask as well is without an exact counterpart here."""
    assert {o.name for o in _of_kind("carry")} == {*CARRIES, "v_div_scale_f32", "v_div_scale_f64"}


@either
def test_choices_by_a_mask(waves: Waves) -> None:
    """v_cndmask_b32: the second where a lane's bit is set; from any registers, and from VCC."""
    operation = instructions.operations()["v_cndmask_b32"]
    for columns, mask in _columns("uu", operation.name, 3):
        for _, (left, right) in _waves(waves, columns):
            lines = [
                "v_mov_b32_e32 v40, 7",
                "v_mov_b32_e32 v41, 7",
                *_halves(CARRIED, 22),
                "s_mov_b64 vcc, s[22:23]",
                "s_mov_b32 s22, s22",
                *masked(
                    mask,
                    [
                        f"v_cndmask_b32_e64 v40, v10, v11, {waves.mask(22)}",
                        "v_cndmask_b32_e32 v41, v10, v11, vcc",
                    ],
                ),
            ]
            found = waves.run(lines, np.array([left, right], np.uint32), 2).tolist()
            for lane, (a, b) in enumerate(zip(left, right, strict=True)):
                chosen = (b if on(CARRIED, lane) else a) if on(mask, lane) else 7
                assert [row[lane] for row in found] == [chosen, chosen]


# --- division, step by step ------------------------------------------------------------------

EXPONENTS = {"f": (23, 8, 96, 64, 23, 150), "d": (52, 11, 768, 128, 53, 1075)}
"""Bits of a mantissa and an exponent; how far apart exponents must be for a quotient near the
largest number; the power by which is scaled; exponents of tiny numerators; the distance below
which a quotient is zero.
"""
DIVIDED = [("v_div_{}_f32", "f"), ("v_div_{}_f64", "d")]


def _exponent(kind: str, bits: int) -> int:
    mantissa, width, *_ = EXPONENTS[kind]
    return bits >> mantissa & (1 << width) - 1


def _is_subnormal(kind: str, x: float) -> bool:
    return x != 0 and abs(x) < 2.0 ** (-126 if kind == "f" else -1022)


def _prepared(kind: str, which: str, d: int, n: int) -> tuple[float, bool]:
    """v_div_scale of the numerator or denominator, from their bits: as the guides have it, but that
    the denominator goes down where its reciprocal and the quotient are subnormal.
    """
    _, _, far, power, tiny, _ = EXPONENTS[kind]
    bottom, top = number_of(kind, d), number_of(kind, n)
    own, scale = {"n": top, "d": bottom}[which], _scaled(kind)
    if not bottom or not top:
        return math.nan, False
    if _exponent(kind, n) - _exponent(kind, d) >= far:
        return scale(own, power) if own == bottom else own, True
    if _is_subnormal(kind, bottom):
        return scale(own, power), False
    small = _is_subnormal(kind, rounded(kind, gmpy2.div, top, bottom))
    if _is_subnormal(kind, rounded(kind, gmpy2.div, 1, bottom)):
        return (own if small and own != bottom else scale(own, -power)), small
    if small:
        return scale(own, power) if own == top else own, True
    return scale(own, power) if _exponent(kind, n) <= tiny else own, False


@either
@pytest.mark.parametrize(("name", "kind"), DIVIDED)
def test_quotients_are_scaled(name: str, kind: str, waves: Waves) -> None:
    """v_div_scale, of numerators and denominators of all exponents."""
    plain = instructions.operations()[name.format("scale")]
    for turn, (columns, mask) in enumerate(_columns(2 * kind, name, 12)):
        d, n = _spread(kind, columns[0], turn), columns[1]
        for which, own in (("d", d), ("n", n)):
            for lane, got, scaled in _second_results(plain, [own, d, n], waves, mask):
                values = number_of(kind, d[lane]), number_of(kind, n[lane])
                if all(map(math.isfinite, values)):
                    expected, back = _prepared(kind, which, d[lane], n[lane])
                    assert _same(kind, got, expected), (which, values, hex(got), expected)
                    assert scaled == back, (which, values)


def _spread(kind: str, column: Sequence[int], turn: int) -> list[int]:
    """Numbers, most of them with other exponents: more at both ends of the range."""
    mantissa, width, *_ = EXPONENTS[kind]
    top, rng = (1 << width) - 2, np.random.default_rng(turn)
    found = list(column[:24])
    for bits in column[24:]:
        near = int(rng.integers(0, 2 * mantissa))
        exponent = (near, top - near, int(rng.integers(0, top)))[turn % 3]
        found.append(bits & ~(((1 << width) - 1) << mantissa) | max(exponent, 0) << mantissa)
    return found


@either
@pytest.mark.parametrize(("name", "kind"), DIVIDED)
def test_quotients_are_scaled_back(name: str, kind: str, waves: Waves) -> None:
    """v_div_fmas: (a b + c) 2^n with one rounding, also where the sum alone rounds to a tie."""
    operation = name.format("fmas")
    power = EXPONENTS[kind][3]
    for turn, (plain, mask) in enumerate(_columns(3 * kind, name, 6)):
        columns = plain if turn < 2 else _ties(kind, turn)
        for part, given in _waves(waves, columns):
            rows = [word for column in given for word in _words(kind, column)]
            count = BITS[kind] // 32
            places = [_operand(kind, 10 + count * i) for i in range(3)]
            lines = [
                *[
                    f"v_mov_b32_e32 v{40 + i}, {KEPT >> 32 * i & 0xFFFFFFFF:#x}"
                    for i in range(count)
                ],
                *_halves(CARRIED, 22),
                "s_mov_b64 vcc, s[22:23]",
                *masked(mask, [f"{operation} {', '.join([_operand(kind, 40), *places])}"]),
            ]
            found = _joined(waves.run(lines, np.array(rows, np.uint32), count))
            for lane, got in enumerate(found):
                a, b, c = (number_of(kind, columns[i][part[lane]]) for i in range(3))
                if not on(mask, lane):
                    assert got == KEPT & (1 << 32 * count) - 1
                    continue
                bias = 127 if kind == "f" else 1023
                up = _exponent(kind, columns[2][part[lane]]) > bias
                shift = (power if up else -power) if on(CARRIED, lane) else 0
                assert _same(kind, got, _sum(kind, a, b, c, shift)), (a, b, c, shift, hex(got))


def _sum(kind: str, a: float, b: float, c: float, shift: int) -> float:
    """(a b + c) 2^shift, rounded once; an infinite sum stays."""
    plain = rounded(kind, gmpy2.fma, a, b, c)
    if not math.isfinite(plain):
        return plain
    exact = (Fraction(a) * Fraction(b) + Fraction(c)) * Fraction(2) ** shift
    return rounded(kind, lambda x: x, gmpy2.mpq(exact)) if exact else plain


def _ties(kind: str, turn: int) -> list[list[int]]:
    """Numbers c that lie between two quotients after scaling, and products far below them, of
    either sign or none: rounded twice, half of the sums go the wrong way.
    """
    mantissa, width, _, power, *_ = EXPONENTS[kind]
    rng = np.random.default_rng(turn)
    columns: list[list[int]] = [[], [], []]
    bias = (1 << width - 1) - 1
    for lane in range(LANES):
        dropped = int(rng.integers(1, mantissa - 1))
        upper = int(rng.integers(0, 1 << 62)) >> 62 - (mantissa - dropped) << dropped
        # a subnormal quotient that loses so many bits, of which the first is one
        exponent = power + 1 - dropped
        columns[2].append(
            upper | 1 << dropped - 1 | exponent << mantissa | lane % 2 << BITS[kind] - 1
        )
        columns[0].append((exponent - mantissa - 8 << mantissa) * (lane % 3 > 0))
        columns[1].append(bias << mantissa | (lane % 3 == 1) << BITS[kind] - 1)
    return columns


@either
@pytest.mark.parametrize(("name", "kind"), DIVIDED)
def test_quotients_are_completed(name: str, kind: str, waves: Waves) -> None:
    """v_div_fixup: special values by the guides; an underflow is zero, a NaN that the steps before
    made of numbers an infinity.
    """
    operation = instructions.operations()[name.format("fixup")]
    for turn, (columns, mask) in enumerate(_columns(3 * kind, name, 9)):
        columns[1] = _spread(kind, columns[1], turn) if turn % 2 else columns[1]
        for lane, got in _apply(operation, columns, waves, mask):
            q, d, n = (_value(kind, column[lane]) for column in columns)
            expected = _completed(kind, q, columns[1][lane], columns[2][lane])
            assert _same(kind, got, expected), (q, d, n, hex(got))


def _completed(kind: str, q: float, d: int, n: int) -> float:
    bottom, top = number_of(kind, d), number_of(kind, n)
    sign = math.copysign(1.0, bottom) * math.copysign(1.0, top)
    if math.isnan(top) or math.isnan(bottom):
        return math.nan
    if (not top and not bottom) or (math.isinf(top) and math.isinf(bottom)):
        return math.nan
    if not bottom or math.isinf(top):
        return sign * math.inf
    far = _exponent(kind, n) - _exponent(kind, d) < -EXPONENTS[kind][5]
    if math.isinf(bottom) or not top or far:
        return sign * 0.0
    return sign * (math.inf if math.isnan(q) else abs(q))


@pytest.mark.parametrize("ieee", [False, True])
def test_signalling_numbers_in_both_modes(ieee: bool) -> None:
    """The least and the greatest: without the mode a number comes before any NaN."""
    waves = Waves("gfx1100", 32, ieee=ieee)
    quiet, signalling, one = 0x7FC01234, 0xFF812345, 0x3F800000
    given = [[quiet, signalling, one, signalling] * 8, [one, one, signalling, signalling] * 8]
    lines = ["v_min_f32 v40, v10, v11", "v_max_f32 v41, v10, v11"]
    made_quiet = signalling | 1 << 22
    chosen = made_quiet if ieee else one
    expected = [one, chosen, chosen, made_quiet] * 8
    assert waves.run(lines, np.array(given, np.uint32), 2).tolist() == [expected, expected]


def _nonzero(kind: str, value: int) -> bool:
    return _wrapped(kind, value) != 0


def _overflows(value: int) -> bool:
    return not -(2**31) <= value < 2**31


def _field_of(a: int, bits: int, b: int) -> int:
    """s_bfe: a signed field of so many bits; those beyond the word are copies of its sign."""
    size = min(bits, b >> 16 & 127)
    return _signed(_signed(a, bits) >> b % bits, size) if size else 0


def _ones(a: int, one: int, bits: int) -> int:
    return a.bit_count() if one else bits - a.bit_count()


Scalar = tuple[Callable[..., Any], Callable[..., bool] | None]
SCALARS: dict[str, Scalar] = {
    "s_mov_b32": (lambda a: a, None),
    "s_mov_b64": (lambda a: a, None),
    "s_movk_i32": (lambda a: a, None),
    "s_brev_b32": (lambda a: int(f"{a:032b}"[::-1], 2), None),
    "s_not_b32": (lambda a: ~a, lambda a: _nonzero("u", ~a)),
    "s_not_b64": (lambda a: ~a, lambda a: _nonzero("l", ~a)),
    "s_sext_i32_i16": (lambda a: _signed(a, 16), None),
    "s_sext_i32_i8": (lambda a: _signed(a, 8), None),
    "s_add_u32": (lambda a, b: a + b, lambda a, b: a + b >= 2**32),
    "s_sub_u32": (lambda a, b: a - b, lambda a, b: a < b),
    "s_addc_u32": (lambda a, b, scc: a + b + scc, lambda a, b, scc: a + b + scc >= 2**32),
    "s_subb_u32": (lambda a, b, scc: a - b - scc, lambda a, b, scc: a < b + scc),
    "s_add_i32": (lambda a, b: a + b, lambda a, b: _overflows(_signed(a, 32) + _signed(b, 32))),
    "s_addk_i32": (lambda a, b: a + b, lambda a, b: _overflows(_signed(a, 32) + _signed(b, 32))),
    "s_sub_i32": (lambda a, b: a - b, lambda a, b: _overflows(_signed(a, 32) - _signed(b, 32))),
    "s_add_nc_u64": (lambda a, b: a + b, None),
    "s_sub_nc_u64": (lambda a, b: a - b, None),
    "s_mul_i32": (lambda a, b: a * b, None),
    "s_mulk_i32": (lambda a, b: a * b, None),
    "s_mul_u64": (lambda a, b: a * b, None),
    "s_mul_hi_u32": (lambda a, b: a * b >> 32, None),
    "s_mul_hi_i32": (lambda a, b: a * b >> 32, None),
    "s_lshl_b32": (lambda a, b: a << b % 32, lambda a, b: _nonzero("u", a << b % 32)),
    "s_lshr_b32": (lambda a, b: a >> b % 32, lambda a, b: _nonzero("u", a >> b % 32)),
    "s_ashr_i32": (lambda a, b: a >> b % 32, lambda a, b: _nonzero("i", a >> b % 32)),
    "s_lshl_b64": (lambda a, b: a << b % 64, lambda a, b: _nonzero("l", a << b % 64)),
    "s_lshr_b64": (lambda a, b: a >> b % 64, lambda a, b: _nonzero("l", a >> b % 64)),
    "s_ashr_i64": (lambda a, b: a >> b % 64, lambda a, b: _nonzero("q", a >> b % 64)),
    "s_bfe_u32": (
        lambda a, b: a >> b % 32 & (1 << min(32, b >> 16 & 127)) - 1,
        lambda a, b: bool(a >> b % 32 & (1 << min(32, b >> 16 & 127)) - 1),
    ),
    "s_bfe_i32": (lambda a, b: _field_of(a, 32, b), lambda a, b: bool(_field_of(a, 32, b))),
    "s_bfe_u64": (
        lambda a, b: _field(a, b % 64, min(64, b >> 16 & 127)),
        lambda a, b: bool(_field(a, b % 64, min(64, b >> 16 & 127))),
    ),
    "s_bfe_i64": (lambda a, b: _field_of(a, 64, b), lambda a, b: bool(_field_of(a, 64, b))),
    "s_bfm_b32": (lambda a, b: (1 << a % 32) - 1 << b % 32, None),
    "s_bfm_b64": (lambda a, b: (1 << a % 64) - 1 << b % 64, None),
    "s_brev_b64": (lambda a: int(f"{a:064b}"[::-1], 2), None),
    **{
        f"s_bcnt{one}_i32_b{bits}": (
            lambda a, one=one, bits=bits: _ones(a, one, bits),
            lambda a, one=one, bits=bits: _ones(a, one, bits) != 0,
        )
        for one in (0, 1)
        for bits in (32, 64)
    },
    **{
        f"s_ff{one}_i32_b{bits}": (
            lambda a, one=one, bits=bits: _first_one(a if one else ~a % 2**bits),
            None,
        )
        for one in (0, 1)
        for bits in (32, 64)
    },
    "s_flbit_i32_b32": (lambda a: 32 - a.bit_length() if a else 2**32 - 1, None),
    "s_flbit_i32_b64": (lambda a: 64 - a.bit_length() if a else 2**32 - 1, None),
    "s_flbit_i32": (lambda a: _sign_bits(a, 32), None),
    "s_flbit_i32_i64": (lambda a: _sign_bits(a, 64), None),
    "s_abs_i32": (abs, lambda a: a != 0),
    "s_absdiff_i32": (lambda a, b: abs(a - b), lambda a, b: a != b),
    **{
        f"s_lshl{k}_add_u32": (
            lambda a, b, k=k: (a << k) + b,
            lambda a, b, k=k: (a << k) + b >= 2**32,
        )
        for k in range(1, 5)
    },
    "s_pack_ll_b32_b16": (lambda a, b: a & 0xFFFF | b << 16, None),
    "s_pack_lh_b32_b16": (lambda a, b: a & 0xFFFF | b & 0xFFFF0000, None),
    "s_pack_hh_b32_b16": (lambda a, b: a >> 16 | b & 0xFFFF0000, None),
    "s_cmov_b32": (lambda a, old, scc: a if scc else old, None),
    "s_cmov_b64": (lambda a, old, scc: a if scc else old, None),
    "s_bitset0_b32": (lambda a, old: old & ~(1 << a % 32), None),
    "s_bitset1_b32": (lambda a, old: old | 1 << a % 32, None),
    "s_cselect_b32": (lambda a, b, scc: a if scc else b, None),
    "s_cselect_b64": (lambda a, b, scc: a if scc else b, None),
    "s_min_u32": (min, lambda a, b: a < b),
    "s_max_u32": (max, lambda a, b: a > b),
    "s_min_i32": (min, lambda a, b: a < b),
    "s_max_i32": (max, lambda a, b: a > b),
    "s_bitcmp0_b32": (lambda a, b: None, lambda a, b: not a >> b % 32 & 1),
    "s_bitcmp1_b32": (lambda a, b: None, lambda a, b: bool(a >> b % 32 & 1)),
    "s_min_num_f32": (_least("f", 1), None),
    "s_max_num_f32": (_least("f", -1), None),
    "v_s_rcp_f32": (lambda a: _flush(rounded("f", gmpy2.div, 1, _flush(a))), None),
    **{
        name.replace("v_", "s_"): (exact, None)
        for name, exact in (FLOAT | INTEGER).items()
        if name
        in (
            "v_add_f32",
            "v_sub_f32",
            "v_mul_f32",
            "v_fmac_f32",
            "v_fmamk_f32",
            "v_fmaak_f32",
            "v_trunc_f32",
            "v_floor_f32",
            "v_ceil_f32",
            "v_rndne_f32",
            "v_cvt_f32_u32",
            "v_cvt_f32_i32",
            "v_cvt_u32_f32",
            "v_cvt_i32_f32",
        )
    },
}
LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}


def _scalar(operation: Operation) -> Scalar:
    """What a scalar operation computes, and the condition that it sets."""
    name, kinds = operation.name, operation.sources
    if name in SCALARS:
        return SCALARS[name]
    family, _, width = name.removeprefix("s_").rpartition("_")
    if family in LOGIC:
        exact, kind = LOGIC[family], "u" if width == "b32" else "l"
        return exact, lambda a, b: _nonzero(kind, exact(a, b))
    _, relation = family.split("_")
    # of integers, "lg" is "not equal"
    plain = "ne" if relation == "lg" and kinds[0] != "f" else relation
    return (lambda a, b: None), lambda a, b: _related(plain, kinds[0], a, b)


@either
@pytest.mark.parametrize("operation", _of_kind("scalar"), ids=lambda o: o.name)
def test_scalars(operation: Operation, waves: Waves) -> None:
    """Scalar operations, the condition that they set, and that it stays where they set none."""
    exact, condition = _scalar(operation)
    kinds = operation.sources
    short = operation.name in ("s_movk_i32", "s_addk_i32", "s_mulk_i32") or "cmpk" in operation.name
    old = operation.result * ("old" in operation.text)
    *_, (columns, _) = _columns(kinds + old, operation.name, 2)
    if operation.name in ("s_addc_u32", "s_subb_u32"):  # what a carry alone takes over the edge
        columns[0][:4], columns[1][:4] = [2**32 - 1] * 4, [0, 0, 2**32 - 1, 2**32 - 1]
    rows, lines = [], []
    cases = list(zip(*(c[:40] for c in columns), strict=True))
    for case, values in enumerate(cases):
        lines += _scalar_lines(operation, case, values, short)
        rows += [[v & 0xFFFFFFFF, v >> 32] for v in values]
    table = np.zeros((len(rows) * 2 + LANES - 1) // LANES * LANES, np.uint32)
    table[: len(rows) * 2] = np.array(rows, np.uint64).reshape(-1)
    given = table.reshape(-1, waves.lanes)
    found = waves.run(lines, given, 3 * len(cases), loaded=0)[:, 0].tolist()
    for case, values in enumerate(cases):
        bits = [*values[: len(kinds)]]
        if short:
            bits[-1] = _halved(bits[-1], operation.name)
        known: list[Any] = [number_of(k, v) for k, v in zip(kinds, bits, strict=True)]
        if old:
            known.append(number_of(operation.result, values[-1]))
        scc = case % 2
        if re.search(r"\bscc\b", operation.text):
            known.append(scc)
        low, high, after = found[3 * case : 3 * case + 3]
        if operation.result:
            got = low | high << 32 if BITS[operation.result] == 64 else low
            assert _same(operation.result, got, exact(*known)), (known, hex(got))
        assert bool(after) == (condition(*known) if condition else bool(scc)), known


def _halved(value: int, name: str) -> int:
    """What 16 bits of an instruction stand for."""
    return value & 0xFFFF if name.endswith("u32") else _signed(value, 16) & 0xFFFFFFFF


def _scalar_lines(operation: Operation, case: int, values: Sequence[int], short: bool) -> list[str]:
    """A case: operands from memory into s[20:27], the result in s[30:31], then to v40 and on."""
    pairs = [f"s[{20 + 2 * i}:{21 + 2 * i}]" for i in range(len(values))]
    lines = [
        f"s_load_dwordx2 {pair}, s[8:9], {hex(8 * (case * len(values) + i))}"
        for i, pair in enumerate(pairs)
    ]
    wide = [BITS[k] == 64 for k in operation.sources]
    places = [
        p if w else f"s{20 + 2 * i}" for i, (p, w) in enumerate(zip(pairs, wide, strict=False))
    ]
    if "old" in operation.text:
        lines.append(f"s_mov_b64 s[30:31], {pairs[len(wide)]}")
    if short:
        half = values[len(wide) - 1] & 0xFFFF
        signed = not operation.name.endswith("u32")
        places[-1] = hex(half) if not signed else str(_signed(half, 16))
    target = [] if not operation.result else ["s[30:31]" if BITS[operation.result] == 64 else "s30"]
    if operation.name in ("s_addk_i32", "s_mulk_i32"):
        # the target is the first source
        lines.append(f"s_mov_b32 s30, {places.pop(0)}")
    at = 40 + 3 * case
    return [
        *lines,
        f"s_cmp_eq_u32 {case % 2}, 1",
        f"{operation.name} {', '.join([*target, *places])}",
        "s_cselect_b32 s32, 1, 0",
        *[f"v_mov_b32_e32 v{at + i}, s{30 + i}" for i in range(3)],
    ]


def _lanes(lines: Sequence[str], results: int = 1, shared: int = 0) -> list[list[int]]:
    """Results where v10 holds 1000 + lane and v11 2000 + 3 lane."""
    return WAVE64.numbered(lines, results, shared=shared)


@pytest.mark.parametrize("addend", ["v[14:21]", "a[0:7]", "0"])
def test_products_of_matrices(addend: str) -> None:
    """A chain of fused multiply-adds in order of k, where AMD's calculator has rows and columns.

    The target may be the addend, and lanes that are off take part.
    """
    rng = np.random.default_rng(1)
    a, b, c = (np.ldexp(rng.standard_normal(n), rng.integers(-9, 9, n)) for n in (64, 64, 256))
    given = np.concatenate(
        [x.reshape(-1, 64).view(np.uint32).reshape(-1, 64, 2) for x in (a, b, c)]
    )
    names = {"v[14:21]": "v", "a[0:7]": "a"}
    target = addend if addend in names else "v[40:47]"
    moved = [f"v_accvgpr_write_b32 a{i}, v{14 + i}" for i in range(8)]
    product = f"v_mfma_f64_16x16x4f64 {target}, v[10:11], v[12:13], {addend}"
    first = {"v": "v_mov_b32_e32 v{}, v{}", "a": "v_accvgpr_read_b32 v{}, a{}"}
    kind, at = names.get(addend, ""), 14 if target[0] == "v" else 0
    back = [first[kind].format(40 + i, f"{at + i}") for i in range(8)] if kind else []
    words = given.transpose(0, 2, 1).reshape(-1, 64)
    found = _run([*(moved if kind == "a" else []), *masked(SOME, [product]), *back], words, 8)
    got = found.reshape(4, 2, 64).transpose(0, 2, 1).copy().view(np.float64)[..., 0]
    for lane in range(64):
        for r in range(4):
            i, j = lane // 16 + 4 * r, lane % 16
            total = c[64 * r + lane] if kind else 0.0
            for k in range(4):
                total = float(gmpy2.fma(gmpy2.mpfr(a[16 * k + i]), b[16 * k + j], total))
            assert got[r, lane] == total


@either
def test_lanes_that_are_off_keep_their_registers(waves: Waves) -> None:
    """EXEC masks writes of registers; its saving and merging."""
    bits = waves.lanes
    vcc, exec_ = ("vcc", "exec") if bits == 64 else ("vcc_lo", "exec_lo")
    (found,) = waves.numbered(
        [
            "v_mov_b32_e32 v40, 7",
            f"v_cmp_lt_u32_e32 {vcc}, v0, v12",
            "s_mov_b32 vcc_lo, 0xf0f0",
            "s_mov_b32 vcc_hi, 0",
            f"s_and_saveexec_b{bits} {waves.mask(20)}, {vcc}",
            "v_mov_b32_e32 v40, v10",
            f"s_or_b{bits} {exec_}, {exec_}, {waves.mask(20)}",
        ]
    )
    assert found == [1000 + i if 0xF0F0 >> i & 1 else 7 for i in range(bits)]


@either
def test_bits_of_the_lanes_below(waves: Waves) -> None:
    """Of a mask's halves, added to what is there."""
    masks = 0x80F31705, 0x1234CDEF
    for name, mask, first in zip(("lo", "hi"), masks, (0, 32), strict=True):
        line = f"v_mbcnt_{name}_u32_b32 v40, {mask:#x}, 7"
        below = [min(max(lane - first, 0), 32) for lane in range(waves.lanes)]
        expected = [7 + (mask & (1 << count) - 1).bit_count() for count in below]
        assert waves.numbered([line]) == [expected]


@either
def test_moves_between_lanes_and_scalars(waves: Waves) -> None:
    """First living lane (the first of all where none lives), any lane whether it lives or not, and
    a lane's register written from a scalar.
    """
    last = waves.lanes - 1
    firsts = {0xFF00: 8, 1: 0, ALL: 0, 1 << last: last, SOME: 2, 0: 0}
    for mask, first in firsts.items():
        found = waves.numbered(
            [
                "v_mov_b32_e32 v42, 1",
                *masked(
                    mask,
                    [
                        "v_readfirstlane_b32 s20, v10",
                        f"v_readlane_b32 s21, v11, {last - 3}",
                        "v_writelane_b32 v42, s20, 3",
                    ],
                ),
                *_moved("s20", "s21"),
            ],
            3,
        )
        assert found == [
            [1000 + first] * waves.lanes,
            [2000 + 3 * (last - 3)] * waves.lanes,
            [1000 + first if i == 3 else 1 for i in range(waves.lanes)],
        ]


def test_parts_of_words() -> None:
    """SDWA: bytes and halves of sources and of the target."""
    low, high, kept = _lanes(
        [
            "v_mov_b32_e32 v20, 0x12345678",
            "v_add_u32_sdwa v40, v20, v10 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1"
            " src1_sel:DWORD",
            "v_add_u32_sdwa v41, v20, v10 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1"
            " src1_sel:DWORD",
            "v_mov_b32_e32 v42, v20",
            "v_add_u32_sdwa v42, v20, v10 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE"
            " src0_sel:DWORD src1_sel:DWORD",
        ],
        3,
    )
    for lane in range(LANES):
        assert low[lane] == 0x56 + 1000 + lane
        assert high[lane] == (0x1234 + 1000 + lane & 0xFFFF) << 16
        assert kept[lane] == 0x12340078 | (0x78 + 1000 + lane & 0xFF) << 8


@either
def test_packed_and_paired_operations_read_before_they_write(waves: Waves) -> None:
    """Two words at once, and two operations at once, that exchange registers."""
    one, two, three, four = waves.numbered(
        [
            "v_mov_b32_e32 v40, v10",
            "v_mov_b32_e32 v41, v11",
            "v_pk_mov_b32 v[40:41], v[40:41], v[40:41] op_sel:[1,0]",
            "v_mov_b32_e32 v42, v10",
            "v_mov_b32_e32 v43, v11",
            "v_dual_mov_b32 v42, v43 :: v_dual_mov_b32 v43, v42",
        ],
        4,
    )
    lane = range(waves.lanes)
    assert one == three == [2000 + 3 * i for i in lane]
    assert two == four == [1000 + i for i in lane]


def test_packed_arithmetic_chooses_words_and_signs() -> None:
    """v_pk_fma_f32: halves by op_sel and op_sel_hi, signs by neg_lo and neg_hi."""
    floats = np.array([np.arange(LANES) + 1, np.arange(LANES) * 0.25 + 3], np.float32)
    found = _run(
        [
            "v_pk_fma_f32 v[40:41], v[10:11], v[10:11], v[10:11] op_sel:[0,1,0] op_sel_hi:[1,1,0]"
            " neg_lo:[0,0,1] neg_hi:[1,0,0]"
        ],
        floats.view(np.uint32),
        2,
    ).view(np.float32)
    a, b = floats
    assert (found[0] == a * b - a).all() and (found[1] == -b * b + a).all()


PACKED: dict[str, Callable[..., int]] = {
    "add_u16": lambda a, b: a + b,
    "add_i16": lambda a, b: a + b,
    "sub_u16": lambda a, b: a - b,
    "sub_i16": lambda a, b: a - b,
    "mul_lo_u16": lambda a, b: a * b,
    "lshlrev_b16": lambda a, b: b << a % 16,
    "lshrrev_b16": lambda a, b: b >> a % 16,
    "ashrrev_i16": lambda a, b: _signed(b, 16) >> a % 16,
    "min_u16": min,
    "max_u16": max,
    "min_i16": lambda a, b: min(_signed(a, 16), _signed(b, 16)),
    "max_i16": lambda a, b: max(_signed(a, 16), _signed(b, 16)),
    "mad_u16": lambda a, b, c: a * b + c,
    "mad_i16": lambda a, b, c: a * b + c,
}


def test_every_packed_operation_is_tested() -> None:
    """Of halves."""
    assert {f"v_pk_{name}" for name in PACKED} == assembler.HALVES.keys()


@either
@pytest.mark.parametrize("name", PACKED)
def test_packed_halves(name: str, waves: Waves) -> None:
    """Two operations of 16 bits, on the halves that op_sel and op_sel_hi choose."""
    exact, count = PACKED[name], 3 if name.startswith("mad") else 2
    words = np.random.default_rng(5).integers(0, 2**32, (count, waves.lanes), np.uint32)
    sources = ", ".join(f"v{10 + i}" for i in range(count))
    more = (",0" * (count - 2), ",1" * (count - 2))
    plain, chosen = waves.run(
        [
            f"v_mov_b32_e32 v{41}, 7",
            f"v_pk_{name} v40, {sources}",
            *masked(
                SOME, [f"v_pk_{name} v41, {sources} op_sel:[1,0{more[0]}] op_sel_hi:[0,0{more[1]}]"]
            ),
        ],
        words,
        2,
    ).tolist()
    for lane, (a, b, *c) in enumerate(words.T.tolist()):
        rest = [[v >> s & 0xFFFF for v in c] for s in (0, 16)]
        low, high = (
            exact(a >> s & 0xFFFF, b >> s & 0xFFFF, *rest[s // 16]) & 0xFFFF for s in (0, 16)
        )
        assert plain[lane] == low | high << 16
        low, high = (
            exact(a >> 16 - s & 0xFFFF, b & 0xFFFF, *rest[s // 16]) & 0xFFFF for s in (0, 16)
        )
        assert chosen[lane] == (low | high << 16 if on(SOME, lane) else 7)


OF_REGISTERS: dict[str, Callable[..., int]] = {
    "v_mov_b16_e32 {d}, {a}": lambda a, b: a,
    "v_not_b16_e32 {d}, {a}": lambda a, b: ~a,
    "v_and_b16 {d}, {a}, {b}": lambda a, b: a & b,
    "v_or_b16 {d}, {a}, {b}": lambda a, b: a | b,
    "v_xor_b16 {d}, {a}, {b}": lambda a, b: a ^ b,
    "v_xor_b16 {d}, {a}, 0x5a5a": lambda a, b: a ^ 0x5A5A,
    "v_mov_b16_e32 {d}, -1": lambda a, b: -1,
    "v_add_nc_u16 {d}, {a}, {b}": lambda a, b: a + b,
    "v_sub_nc_u16 {d}, {a}, {b}": lambda a, b: a - b,
    "v_mul_lo_u16 {d}, {a}, {b}": lambda a, b: a * b,
    "v_lshlrev_b16 {d}, 3, {b}": lambda a, b: b << 3,
    "v_ashrrev_i16 {d}, {a}, {b}": lambda a, b: _signed(b, 16) >> a % 16,
    "v_min_i16 {d}, {a}, {b}": lambda a, b: min(_signed(a, 16), _signed(b, 16)),
    "v_max_u16 {d}, {a}, {b}": max,
    "v_mad_u16 {d}, {a}, {b}, {a}": lambda a, b: a * b + a,
}


@either
@pytest.mark.parametrize("line", OF_REGISTERS)
def test_halves_of_registers(line: str, waves: Waves) -> None:
    """Either half of sources and target; the other one stays, also where they are one register."""
    words = np.random.default_rng(9).integers(0, 2**32, (2, waves.lanes), np.uint32)
    ways = [(d, a, b) for d in "lh" for a in "lh" for b in "lh"]
    lines = []
    for i, (d, a, b) in enumerate(ways):
        text = line.format(d=f"v{40 + i}.{d}", a=f"v{40 + i}.{a}", b=f"v11.{b}")
        lines += [f"v_mov_b32_e32 v{40 + i}, v10", *masked(SOME, [text])]
    found = waves.run(lines, words, len(ways)).tolist()
    for (d, a, b), row in zip(ways, found, strict=True):
        for lane, (x, y) in enumerate(words.T.tolist()):
            sources = (v >> 16 * (which == "h") & 0xFFFF for v, which in ((x, a), (y, b)))
            half = OF_REGISTERS[line](*sources) & 0xFFFF
            expected = x & 0xFFFF | half << 16 if d == "h" else x & 0xFFFF0000 | half
            assert row[lane] == (expected if on(SOME, lane) else x)


@either
def test_halves_of_registers_beside_words(waves: Waves) -> None:
    """Words made of halves, masks of comparisons and choices by masks."""
    words = np.random.default_rng(10).integers(0, 2**32, (2, waves.lanes), np.uint32)
    unsigned, signed, chosen, other = waves.run(
        [
            "v_cvt_u32_u16_e32 v40, v10.h",
            "v_cvt_i32_i16_e32 v41, v10.h",
            f"v_cmp_lt_i16_e64 {waves.mask(20)}, v10.h, v11.l",
            f"v_cndmask_b16 v42.l, v10.l, v11.h, {waves.mask(20)}",
            f"v_cndmask_b16 v42.h, v10.h, v11.l, {waves.mask(20)}",
            "v_mov_b32_e32 v43, v10",
            "v_mov_b16_e32 v43.l, v43.h",
        ],
        words,
        4,
    ).tolist()
    for lane, (a, b) in enumerate(words.T.tolist()):
        assert unsigned[lane] == a >> 16
        assert signed[lane] == _signed(a >> 16, 16) & 0xFFFFFFFF
        less = _signed(a >> 16, 16) < _signed(b, 16)
        assert chosen[lane] == (b >> 16 | (b & 0xFFFF) << 16 if less else a)
        assert other[lane] == a >> 16 | a & 0xFFFF0000


@either
def test_other_half_of_a_result(waves: Waves) -> None:
    """It becomes zero up to gfx9 (_e32, _e64), and stays since gfx10 (no suffix)."""
    words = np.random.default_rng(6).integers(0, 2**32, (2, waves.lanes), np.uint32)
    short, long, shifted, added, own = waves.run(
        [
            *(f"v_mov_b32_e32 v{n}, v11" for n in range(40, 44)),
            "v_mov_b32_e32 v44, v10",
            "v_lshlrev_b16_e32 v40, 8, v10",
            "v_lshlrev_b16_e64 v41, 8, v10",
            "v_lshlrev_b16 v42, 8, v10",
            "v_add_nc_u16 v43, v10, v11",
            "v_lshrrev_b16 v44, 3, v44",
        ],
        words,
        5,
    ).tolist()
    for lane, (a, b) in enumerate(words.T.tolist()):
        assert short[lane] == long[lane] == a << 8 & 0xFFFF
        assert shifted[lane] == b & 0xFFFF0000 | a << 8 & 0xFFFF
        assert added[lane] == b & 0xFFFF0000 | (a + b) & 0xFFFF
        assert own[lane] == a & 0xFFFF0000 | (a & 0xFFFF) >> 3
    with pytest.raises(Unknown, match="the modifier op_sel"):
        _run(["v_add_nc_u16 v40, v10, v11 op_sel:[1,0,0]"], words, 1)


def test_halves_of_words_in_memory() -> None:
    """Loads into one half and stores of one half; the other half of a register stays."""
    low, high, stored = _run(
        [
            "v_mov_b32_e32 v40, v11",
            "v_mov_b32_e32 v41, v11",
            "global_load_short_d16 v40, v1, s[8:9]",
            "global_load_d16_hi_b16 v41, v1, s[8:9]",
            "global_store_short_d16_hi v1, v10, s[8:9]",
            "global_load_ushort v42, v1, s[8:9]",
        ],
        np.array(
            [range(0x7FFF0000, 0x7FFF0000 + LANES), range(0x12340000, 0x12340000 + LANES)],
            np.uint32,
        ),
        3,
    ).tolist()
    lanes = range(LANES)
    assert low == [0x12340000 | i for i in lanes]
    assert high == [i << 16 | i for i in lanes]
    assert stored == [0x7FFF] * LANES


def test_loops_and_branches() -> None:
    """A loop counts down a scalar."""
    (found,) = _lanes(
        [
            "v_mov_b32_e32 v40, 0",
            "s_mov_b32 s20, 5",
            "v_add_u32_e32 v40, v40, v10",
            "s_sub_i32 s20, s20, 1",
            "s_cmp_lg_u32 s20, 0",
            "s_cbranch_scc1 65528",
        ]
    )
    assert found == [5 * (1000 + i) for i in range(LANES)]


def _halves(value: int, at: int = 20) -> list[str]:
    return [f"s_mov_b32 s{at + i}, {value >> 32 * i & 0xFFFFFFFF:#x}" for i in (0, 1)]


def test_jumps_by_address() -> None:
    """Forward over a line, as compilers make far branches, and back into a loop."""
    (found,) = _lanes(
        [
            "v_mov_b32_e32 v40, 0",
            "s_mov_b32 s22, 5",
            "s_getpc_b64 s[20:21]",
            "s_add_u32 s20, s20, 32",
            "s_addc_u32 s21, s21, 0",
            "s_setpc_b64 s[20:21]",  # over the next line
            "v_mov_b32_e32 v40, 1",
            "v_add_u32_e32 v40, v40, v10",
            "s_sub_i32 s22, s22, 1",
            "s_cmp_lg_u32 s22, 0",
            "s_cbranch_scc0 10",
            "s_sub_u32 s20, s20, 8",  # by way of the line before it
            "s_subb_u32 s21, s21, 0",
            "s_mov_b32 s23, 1",
            "s_add_u32 s20, s20, 8",
            "s_setpc_b64 s[20:21]",
        ]
    )
    assert found == [5 * (1000 + i) for i in range(LANES)]


def test_calls_and_returns() -> None:
    """A function between two lines, which is skipped at first."""
    (found,) = _lanes(
        [
            "s_getpc_b64 s[20:21]",
            "s_add_u32 s20, s20, 16",
            "s_branch 4",
            "v_add_u32_e32 v40, v10, v10",  # s20 + 16
            "s_setpc_b64 s[30:31]",
            "s_swappc_b64 s[30:31], s[20:21]",
            "v_add_u32_e32 v40, v40, v11",
        ]
    )
    assert found == [2 * (1000 + i) + 2000 + 3 * i for i in range(LANES)]


@pytest.mark.parametrize("address", [4, 1 << 20, 1 << 32, 2, (1 << 64) - 8])
def test_jumps_to_nowhere(address: int) -> None:
    """Between instructions, or out of the code."""
    with pytest.raises(CheckError, match=f"Jump to address {address:#x}, where no "):
        _lanes([*_halves(address), "s_setpc_b64 s[20:21]"])


@pytest.mark.parametrize(
    "line",
    [
        "s_memtime s[20:21]",
        "s_memrealtime s[20:21]",
        "s_sendmsg_rtn_b64 s[20:21], sendmsg(MSG_RTN_GET_REALTIME)",
        "s_getreg_b32 s20, hwreg(HW_REG_SHADER_CYCLES, 0, 20)",
        "s_getreg_b32 s20, hwreg(HW_REG_SHADER_CYCLES_LO)",
    ],
)
def test_clocks_count_rows(line: str) -> None:
    """Five rows between two readings, and what they read before."""
    later = line.replace("s[20:21]", "s[22:23]").replace("s20", "s22")
    between = ["v_mov_b32_e32 v41, 0"] * 4
    first, second = (row[0] for row in _lanes([line, *between, later, *_moved("s20", "s22")], 2))
    assert 0 < first < 100 and second - first == 5


def _moved(*registers: str) -> list[str]:
    return [f"v_mov_b32_e32 v{40 + i}, {register}" for i, register in enumerate(registers)]


def test_registers_of_the_hardware() -> None:
    """Bases of flat addresses, in one register and as operands; and the upper word of a clock."""
    found = _lanes(
        [
            "s_getreg_b32 s20, hwreg(HW_REG_SH_MEM_BASES, 16, 16)",
            "s_getreg_b32 s21, hwreg(HW_REG_SH_MEM_BASES, 0, 16)",
            "s_lshl_b32 s20, s20, 16",
            "s_lshl_b32 s21, s21, 16",
            "s_mov_b64 s[22:23], src_shared_base",
            "s_mov_b64 s[24:25], src_private_base",
            "s_getreg_b32 s26, hwreg(HW_REG_SHADER_CYCLES_HI)",
            *_moved("s20", "s21", "s22", "s23", "s24", "s25", "s26"),
        ],
        7,
    )
    shared, private, low, high, below, above, clock = (row[0] for row in found)
    assert (shared, private) == (high, above) and shared != private and shared >> 16
    assert low == below == clock == 0


# --- names and operands, as the assembler and the disassembler have them ---------------------

SPELLED = {
    "v_readfirstlane_b32": "s1, v1",
    "v_readlane_b32": "s1, v1, s2",
    "v_writelane_b32": "v1, s1, s2",
    "ds_bpermute_b32": "v1, v2, v3",
    "ds_permute_b32": "v1, v2, v3",
    "s_setpc_b64": "s[2:3]",
    "v_accvgpr_read_b32": "v1, a1",
    "v_accvgpr_write_b32": "a1, v1",
    "v_accvgpr_mov_b32": "a1, a2",
    "v_mfma_f64_16x16x4f64": "a[0:7], v[2:3], v[4:5], a[0:7]",
    "v_mfma_f64_16x16x4_f64": "v[8:15], v[2:3], v[4:5], 0",
    "v_fmaak_f32": "v1, v2, v3, 0x41230000",
    "v_fmamk_f32": "v1, v2, 0x41230000, v3",
    "s_fmaak_f32": "s1, s2, s3, 0x41230000",
    "s_fmamk_f32": "s1, s2, 0x41230000, s3",
    "s_movk_i32": "s1, 0x123",
    "s_addk_i32": "s1, 0x123",
    "s_addk_co_i32": "s1, 0x123",
    "s_mulk_i32": "s1, 0x123",
    "v_div_fmas_f32": "v1, v2, v3, v4",
    "v_div_fmas_f64": "v[2:3], v[4:5], v[6:7], v[8:9]",
    "s_endpgm": "",
    "s_barrier": "",
    "s_barrier_wait": "-1",
}
"""Operands of operations that take others than their table's types say."""

RENAMED = (
    "v_mfma_f64_16x16x4_f64",
    "v_cls_i32",
    "s_clz_i32_u32",
    "s_clz_i32_u64",
    "s_cls_i32",
    "s_cls_i32_i64",
    "s_ctz_i32_b32",
    "s_ctz_i32_b64",
    "v_add_nc_u32",
    "v_sub_nc_u32",
    "v_subrev_nc_u32",
    "v_add_nc_u16",
    "v_sub_nc_u16",
    "v_add_co_ci_u32",
    "v_sub_co_ci_u32",
    "v_subrev_co_ci_u32",
    "s_and_not1_b32",
    "s_or_not1_b64",
    "v_mad_co_u64_u32",
    "s_add_co_u32",
    "v_min_num_f32",
    "v_max_num_f32",
    "v_min_num_f64",
    "v_max_num_f64",
    "s_sub_co_u32",
    "s_add_co_i32",
    "s_addk_co_i32",
    "s_add_co_ci_u32",
    "s_sub_co_ci_u32",
    "s_barrier_wait",
)
MADE = {"v_clamp_f32", "v_clamp_f64", *instructions.DOTS.values()} - {
    "v_dot4_i32_i8",
    "v_dot4_u32_u8",
}
"""Operations that are parts of instructions, or of no other name than these have."""

OTHERS = (
    "v_movreld_b32 v1, v2",
    "v_movrels_b32 v1, v2",
    "s_set_gpr_idx_on s2, gpr_idx(SRC0)",
    "s_set_gpr_idx_off",
    "v_swap_b32 v1, v2",
    "v_mov_b16_e32 v1.l, v2.h",
    "v_mov_b16_e32 v1.h, 0x1234",
    "s_memtime s[2:3]",
    "s_memrealtime s[2:3]",
    "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)",
    "s_sendmsg_rtn_b64 s[2:3], sendmsg(MSG_RTN_GET_REALTIME)",
    "s_getreg_b32 s2, hwreg(HW_REG_SHADER_CYCLES, 0, 20)",
    "s_getreg_b32 s2, hwreg(HW_REG_SHADER_CYCLES_LO)",
    "s_getreg_b32 s2, hwreg(HW_REG_SHADER_CYCLES_HI)",
    "s_getreg_b32 s2, hwreg(HW_REG_SH_MEM_BASES, 16, 16)",
    "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s2",
    "s_mov_b64 s[2:3], src_shared_base",
    "s_mov_b64 s[2:3], src_private_base",
    "s_swappc_b64 s[30:31], s[2:3]",
    "ds_swizzle_b32 v1, v2 offset:swizzle(SWAP,16)",
    "v_permlane16_b32 v1, v2, s3, s4 op_sel:[1,0]",
    "v_permlanex16_b32 v1, v2, s3, s4 op_sel:[1,1]",
    "v_permlane64_b32 v1, v2",
    "v_add_f32_e64 v1, v2, v3 clamp",
    "v_max_f64 v[2:3], v[4:5], v[4:5] clamp",
    "v_mov_b32_dpp v1, v2 dpp8:[7,6,5,4,3,2,1,0]",
    "v_mov_b32_dpp v1, v2 dpp8:[7,6,5,4,3,2,1,0] fi:1",
    *(
        f"v_{operation}_dpp {operands} {way} row_mask:0xf bank_mask:0xf{more}"
        for operation, operands in (("mov_b32", "v1, v2"), ("add_f32", "v1, -v2, |v3|"))
        for way, more in (
            ("quad_perm:[3,2,1,0]", ""),
            ("row_shl:1", " bound_ctrl:1"),
            ("row_shr:15", ""),
            ("row_ror:3", ""),
            ("wave_shl:1", ""),
            ("wave_rol:1", ""),
            ("wave_shr:1", ""),
            ("wave_ror:1", ""),
            ("row_mirror", ""),
            ("row_half_mirror", ""),
            ("row_bcast:15", ""),
            ("row_bcast:31", ""),
            ("row_share:4", " fi:1"),
            ("row_xmask:4", ""),
            ("row_newbcast:4", ""),
        )
    ),
)
MEMORY = (
    "global_load_dword v1, v[2:3], off",
    "global_load_dwordx4 v[4:7], v2, s[4:5] offset:16",
    "global_store_dwordx2 v[2:3], v[4:5], off",
    "global_load_ubyte v1, v[2:3], off",
    "global_store_byte v[2:3], v4, off",
    "s_load_dwordx4 s[4:7], s[0:1], 0x10",
    "ds_read_b32 v1, v2 offset:8",
    "ds_read2_b64 v[4:7], v2 offset1:1",
    "ds_read2st64_b32 v[4:5], v2 offset1:1",
    "ds_write_b128 v2, v[4:7]",
    "ds_write2_b32 v2, v3, v4 offset1:1",
    "scratch_load_dword v1, off, s2",
    "buffer_store_dword v1, v2, s[0:3], 0 offen offset:4",
    "global_load_b128 v[4:7], v2, s[4:5]",
    "ds_load_2addr_b64 v[4:7], v2 offset1:1",
    "scratch_store_b64 off, v[2:3], s2",
    "s_load_b128 s[4:7], s[0:1], 0x10",
    "global_load_ushort v1, v[2:3], off",
    "global_store_short v[2:3], v4, off",
    "global_load_u16 v1, v[2:3], off",
    "global_store_b16 v[2:3], v4, off",
)


def _spelled(operation: Operation, name: str) -> str:
    """An instruction of this name with operands of its types."""
    if name in SPELLED:
        return f"{name} {SPELLED[name]}".strip()
    scalar = operation.kind == "scalar" and not name.startswith("v_s_")
    letter, masks = ("s" if scalar or name.startswith("v_s_") else "v"), iter((20, 22, 24))
    target = ""
    if operation.kind == "control":
        return f"{name} 4"
    if operation.kind == "compare":
        target = "m"
    kinds = [*(operation.result or target), *"m" * (operation.kind == "carry"), *operation.sources]
    texts = []
    for place, kind in enumerate(kinds):
        at = 4 + 2 * place
        mask = next(masks) if kind == "m" else 0
        own = f"{letter}[{at}:{at + 1}]" if kind != "m" and BITS[kind] == 64 else f"{letter}{at}"
        texts.append(f"s[{mask}:{mask + 1}]" if mask else own)
    if "cmpk" in name:
        texts[-1] = "0x123"
    return f"{name} {', '.join(texts)}"


def test_names_are_those_of_the_disassembler() -> None:
    """Each operation is an instruction that exists, and is read as what it is."""
    tiers.check("clang")
    table = instructions.operations()
    other = {*instructions.UNFUSED, *marks.SLEEPS.values(), *MADE}
    no_names = ("memory", "inner")
    wanted = {n: o for n, o in table.items() if n not in other and o.kind not in no_names}
    for new in RENAMED:
        wanted[new] = table[instructions.canonical(new)]
    lines = {_spelled(o, n): o.name for n, o in wanted.items()}
    for (first, second), name in instructions.DOTS.items():
        lines[f"v_dot4_i32_iu8 v1, v2, v3, v4 neg_lo:[{first},{second},0]"] = name
    for plain, name in instructions.SATURATED.items():
        lines[_spelled(table[plain], plain) + " clamp"] = lines.pop(_spelled(table[name], name))
    missing = {*lines, *MEMORY, *OTHERS}
    for arch in emulated.UNITS:
        for line, one in assembled(arch, [*lines, *MEMORY, *OTHERS]).items():
            made = assembler.Assembler(LANES, 0)
            try:
                made.instruction(one)
            except Unknown:
                continue  # refused here: it must be read somewhere
            missing.discard(line)
            if line in lines:
                # what an operation on halves leaves of its result comes after it
                halves = one.mnemonic.endswith(instructions.OF_HALVES)
                row = made.rows[0 if halves and line.startswith("v_") else -1]
                assert row.operation == lines[line], (arch, line, one.text)
    assert not missing


# --- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "v_cvt_f16_f32_e32 v1, v2",
        "v_subrev_u32_e64 v1, v2, v3 clamp",
        "v_mad_u32_u24 v1, v2, v3, v4 clamp",
        "v_mul_f32_e64 v1, v2, v3 mul:2",
        "v_pk_add_f16 v1, v2, v3",
        "s_barrier_wait 0xfffe",
        "s_getreg_b32 s0, hwreg(HW_REG_HW_ID)",
        "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0",
        "s_sendmsg sendmsg(MSG_INTERRUPT)",
        "s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_DOORBELL)",
        "v_mov_b32_e32 v1, src_shared_base",
        "v_add_f16_e32 v1.l, v2.h, v3.l",
        "v_mov_b16_e32 v1.l, 1.0",
        "v_cndmask_b16 v1.l, -v2.h, v3.l, s4",
        "v_add_u32_e32 v1, v2.h, v3",
        "v_mov_b16_dpp v1.l, v2.h row_shl:1 row_mask:0xf bank_mask:0xf",
        "global_store_b16 v[2:3], v4.h, off",
        "v_dot4_i32_i8 v1, v2, v3, v4 op_sel:[1,0,0]",
        "v_dot4_i32_i8 v1, v2, v3, v4 clamp",
        "v_dot4_i32_iu8 v1, v2, v3, v4 neg_lo:[1,1,1]",
        "v_dot4_i32_iu8 v1, v2, v3, v4 neg_hi:[1,1,0]",
        "v_pk_add_u16 v1, v2, v3 neg_lo:[1,0]",
        "v_pk_add_u16 v1, v2, v3 clamp",
        "v_fma_f32 v1, v2, v3, v4 op_sel:[1,0,0]",
        "s_set_gpr_idx_on s2, gpr_idx(SRC1)",
        "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]",
        "v_mfma_f64_4x4x4f64 a[0:1], v[0:1], v[2:3], a[0:1]",
        "v_mfma_f64_16x16x4_f64 v[8:15], v[2:3], v[4:5], v[8:15] neg:[1,0,0]",
    ],
)
def test_what_is_unknown_is_refused_by_name(line: str) -> None:
    """No instruction and no modifier is guessed."""
    with pytest.raises(Unknown, match=line.split(maxsplit=1)[0]):
        assembler.assemble([listing.instruction(line, 0, 8)], LANES, 0)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("global_load_dword v40, v3, s[8:9]", "Invalid read of size 4 at global memory"),
        ("global_store_dword v3, v0, s[8:9]", "Invalid write of size 4 at global memory"),
        ("global_store_dword v1, v0, s[4:5]", "write of size 4 at read-only memory, global"),
        ("ds_read_b32 v40, v1", r"read of size 4 at local memory .* \(there are 0 bytes\)"),
        ("scratch_load_b32 v40, v1, off", "read of size 4 at private memory"),
    ],
)
def test_memory_is_guarded(line: str, words: str) -> None:
    """An access outside of what a block may use names instruction and thread."""
    with pytest.raises(CheckError, match=words) as error:
        _lanes(["v_mov_b32_e32 v3, 0x1000", line])
    assert f"of block (0,0,0) in instruction {line!r} at" in str(error.value)


def test_addresses_of_shared_memory_wrap_around() -> None:
    """A base below zero with an offset that leads back: compilers make such."""
    (found,) = _lanes(
        [
            "ds_write_b32 v1, v10",
            "v_add_u32_e32 v3, 0xfffff000, v1",
            "ds_read_b32 v40, v3 offset:4096",
        ],
        shared=256,
    )
    assert found == [1000 + i for i in range(LANES)]


def test_a_loop_without_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends after a number of rows."""
    monkeypatch.setattr("portmp.emulator.machine.LIMIT", 1)
    with pytest.raises(CheckError, match="does not end"):
        _lanes(["s_branch 65534"])
