"""The interpreter of AMD machine code: its instructions, its guards, and portmp's bits on it."""

from __future__ import annotations

import gc
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import gmpy2
import numpy as np
import pytest
import tiers

from portmp import discovery, formats, inputs, nbody, planes, verify
from portmp.array import Array
from portmp.backends import emulated
from portmp.backends.emulator import assembler, hip, instructions, listing
from portmp.backends.emulator.assembler import Row, Unknown
from portmp.backends.emulator.codeobject import Argument, Kernel
from portmp.backends.emulator.instructions import Operation
from portmp.backends.emulator.machine import Loaded, Machine, Settings
from portmp.errors import DeviceError, LaunchError, OutOfMemory, PortmpError

ARCHITECTURES = {"gfx908": "hiprtc", "gfx90a": "hiprtc", "gfx1100": "clang"}
"""What CI runs: wave64 with one and with two words in a register pair, and wave32."""

LANES = 64


@cache
def _machine() -> Machine:
    return Machine("gfx908", emulated._host())


# --- instructions against exact arithmetic ------------------------------------------------

Words = np.ndarray[Any, Any]
BITS = {"u": 32, "i": 32, "f": 32, "l": 64, "q": 64, "d": 64}
CONTEXTS = {
    "f": gmpy2.context(precision=24, emin=-148, emax=128, subnormalize=True),
    "d": gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True),
}


def _kernel(lines: Sequence[str], shared: int) -> Loaded:
    """A kernel of these instructions: arguments are addresses of what it reads and writes."""
    text = ["s_load_dwordx4 s[8:11], s[4:5], 0x0", *lines, "s_endpgm"]
    code = tuple(listing.instruction(line, 8 * i, 8) for i, line in enumerate(text))
    arguments = (Argument(0, 8, "global_buffer"), Argument(8, 8, "global_buffer"))
    kernel = Kernel(
        "test", "gfx908", LANES, shared, 0, 16, arguments, (("arguments", 2),), 6,
        (True, False, False), False, code,
    )  # fmt: skip
    kernel = replace(kernel, user=(("private_segment_buffer", 4), ("arguments", 2)))
    rows = assembler.assemble(code, LANES, 0)
    machine = _machine()
    buffer = machine.host.allocate(rows.rows.nbytes)
    machine.host.queue.write(buffer, rows.rows)
    return Loaded(kernel, rows, buffer)


def _run(lines: Sequence[str], given: Words, results: int, shared: int = 0) -> Words:
    """Run *lines* with a lane's words of *given* (words, lanes) in v10, v11 ...; v40 ... come back.

    v1 is four times the lane, s[8:9] the input's and s[10:11] the output's address.
    """
    machine = _machine()
    memory = machine.memory
    source = memory.allocate(given.nbytes)
    target = memory.allocate(4 * LANES * results)
    assert source is not None and target is not None
    memory.write(source, np.ascontiguousarray(given))
    row = 4 * LANES
    load = ["v_lshlrev_b32_e32 v1, 2, v0"]
    for i in range(given.shape[0]):
        load += [f"v_add_u32_e32 v2, {row * i}, v1", f"global_load_dword v{10 + i}, v2, s[8:9]"]
    store = []
    for i in range(results):
        store += [f"v_add_u32_e32 v2, {row * i}, v1", f"global_store_dword v2, v{40 + i}, s[10:11]"]
    values = [struct.pack("<Q", source), struct.pack("<Q", target)]
    try:
        machine.launch(_kernel([*load, *lines, *store], shared), (1, 1, 1), (LANES, 1, 1), values)
        found = np.empty((results, LANES), np.uint32)
        memory.read(target, found)
    finally:
        memory.free(source)
        memory.free(target)
    return found


def _operand(kind: str, at: int) -> str:
    return f"v[{at}:{at + 1}]" if BITS[kind] == 64 else f"v{at}"


def _special(kind: str, rng: np.random.Generator) -> list[int]:
    """Bits of 64 operands: special ones, then random ones."""
    bits = BITS[kind]
    if kind in "fd":
        p, top = (24, 0x7F800000) if kind == "f" else (53, 0x7FF0000000000000)
        one = 1 << p - 1
        chosen = [0, 1, one - 1, one, one + 1, top, top - 1, top + (one >> 1), top + 1]
        near = (127 if kind == "f" else 1023) << p - 1
        chosen += [near, near + 1, near - 1, near + one // 2, near + one, near - 30 * one]
        chosen += [c | 1 << bits - 1 for c in chosen]
        many = [int(rng.integers(0, 1 << 63)) << 1 & (1 << bits) - 1 for _ in range(14)]
        close = [near + int(rng.integers(-40 * one, 40 * one)) for _ in range(LANES - 44)]
        return (chosen + many + close)[:LANES]
    chosen = [0, 1, 2, 31, 32, 33, 63, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1, 0xFFFF]
    return chosen + [
        int(rng.integers(0, 1 << 63)) * 2 + int(rng.integers(2)) & (1 << bits) - 1
        for _ in range(LANES - len(chosen))
    ]


def _value(kind: str, bits: int) -> Any:
    """The number that bits are."""
    if kind in "fd":
        layout = "<f" if kind == "f" else "<d"
        return struct.unpack(layout, bits.to_bytes(BITS[kind] // 8, "little"))[0]
    return bits - (1 << BITS[kind]) if kind in "iq" and bits >> BITS[kind] - 1 else bits


def _rounded(kind: str, compute: Callable[..., Any], *values: float) -> float:
    """What MPFR makes of it in this format."""
    with gmpy2.context(CONTEXTS[kind]):
        return float(compute(*(gmpy2.mpfr(v) for v in values)))


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
    product = _flush(_rounded("f", gmpy2.mul, _flush(a), _flush(b)))
    return _flush(_rounded("f", gmpy2.add, product, _flush(c)))


def _scaled(kind: str) -> Callable[[float, int], float]:
    def scale(a: float, n: int) -> float:
        with gmpy2.context(CONTEXTS[kind]):
            return float(gmpy2.mul_2exp(gmpy2.mpfr(a), n) if n >= 0 else
                         gmpy2.div_2exp(gmpy2.mpfr(a), min(-n, 2**30)))  # fmt: skip

    return scale


def _bytes(word: int, signed: bool) -> list[int]:
    return [int(b) for b in np.frombuffer(struct.pack("<I", word), np.int8 if signed else np.uint8)]


def _dot(a: int, b: int, signed: bool) -> int:
    return sum(x * y for x, y in zip(_bytes(a, signed), _bytes(b, signed), strict=True))


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


def _clamped(number: int, low: int, high: int) -> int:
    return max(low, min(high, number))


def _least(kind: str, sign: int) -> Callable[[float, float], float]:
    def choose(a: float, b: float) -> float:
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
        f"v_add_{_w}": lambda a, b, k=_k: _rounded(k, gmpy2.add, a, b),
        f"v_sub_{_w}": lambda a, b, k=_k: _rounded(k, gmpy2.sub, a, b),
        f"v_subrev_{_w}": lambda a, b, k=_k: _rounded(k, gmpy2.sub, b, a),
        f"v_mul_{_w}": lambda a, b, k=_k: _rounded(k, gmpy2.mul, a, b),
        f"v_fma_{_w}": lambda a, b, c, k=_k: _rounded(k, gmpy2.fma, a, b, c),
        f"v_fmac_{_w}": lambda a, b, c, k=_k: _rounded(k, gmpy2.fma, a, b, c),
        f"v_min_{_w}": _least(_k, 1),
        f"v_max_{_w}": _least(_k, -1),
        f"v_floor_{_w}": _to_integer(math.floor),
        f"v_ceil_{_w}": _to_integer(math.ceil),
        f"v_trunc_{_w}": _to_integer(math.trunc),
        f"v_rndne_{_w}": _to_integer(lambda a: round(Fraction(a))),
        f"v_ldexp_{_w}": _scaled(_k),
    }
del FLOAT["v_sub_f64"], FLOAT["v_subrev_f64"]
FLOAT |= {
    "v_fmaak_f32": FLOAT["v_fma_f32"], "v_fmamk_f32": FLOAT["v_fma_f32"],
    "v_mac_f32": _apart, "v_mad_f32": _apart,
    "v_cvt_f32_f64": lambda a: _rounded("f", lambda x: x, a), "v_cvt_f64_f32": lambda a: a,
    "v_cvt_f32_i32": lambda a: _rounded("f", lambda x: x, a) if a else 0.0,
    "v_cvt_f32_u32": lambda a: _rounded("f", lambda x: x, a) if a else 0.0,
    "v_cvt_f64_i32": float, "v_cvt_f64_u32": float,
}  # fmt: skip

INTEGER: dict[str, Callable[..., int]] = {
    "v_mov_b32": lambda a: a, "v_mov_b64": lambda a: a, "v_not_b32": lambda a: ~a,
    "v_accvgpr_read_b32": lambda a: a, "v_accvgpr_write_b32": lambda a: a,
    "v_accvgpr_mov_b32": lambda a: a,
    "v_bfrev_b32": lambda a: int(f"{a:032b}"[::-1], 2),
    "v_cvt_i32_f32": lambda a: _clamped(_cut(a), -(2**31), 2**31 - 1),
    "v_cvt_i32_f64": lambda a: _clamped(_cut(a), -(2**31), 2**31 - 1),
    "v_cvt_u32_f32": lambda a: _clamped(_cut(a), 0, 2**32 - 1),
    "v_cvt_u32_f64": lambda a: _clamped(_cut(a), 0, 2**32 - 1),
    "v_add_u32": lambda a, b: a + b, "v_sub_u32": lambda a, b: a - b,
    "v_subrev_u32": lambda a, b: b - a, "v_add3_u32": lambda a, b, c: a + b + c,
    "v_mul_lo_u32": lambda a, b: a * b, "v_mul_hi_u32": lambda a, b: a * b >> 32,
    "v_mul_hi_i32": lambda a, b: a * b >> 32,
    "v_mul_u32_u24": lambda a, b: (a % 2**24) * (b % 2**24),
    "v_mul_i32_i24": lambda a, b: _signed(a, 24) * _signed(b, 24),
    "v_mad_u32_u24": lambda a, b, c: (a % 2**24) * (b % 2**24) + c,
    "v_mad_i32_i24": lambda a, b, c: _signed(a, 24) * _signed(b, 24) + c,
    "v_and_b32": lambda a, b: a & b, "v_or_b32": lambda a, b: a | b,
    "v_xor_b32": lambda a, b: a ^ b, "v_or3_b32": lambda a, b, c: a | b | c,
    "v_xor3_b32": lambda a, b, c: a ^ b ^ c, "v_and_or_b32": lambda a, b, c: (a & b) | c,
    "v_lshlrev_b32": lambda a, b: b << a % 32, "v_lshrrev_b32": lambda a, b: b >> a % 32,
    "v_ashrrev_i32": lambda a, b: b >> a % 32, "v_lshlrev_b64": lambda a, b: b << a % 64,
    "v_lshrrev_b64": lambda a, b: b >> a % 64, "v_ashrrev_i64": lambda a, b: b >> a % 64,
    "v_lshl_add_u32": lambda a, b, c: (a << b % 32) + c,
    "v_add_lshl_u32": lambda a, b, c: (a + b) << c % 32,
    "v_lshl_or_b32": lambda a, b, c: (a << b % 32) | c,
    "v_lshl_add_u64": lambda a, b, c: (a << b % 8) + c,
    "v_bfe_u32": lambda a, b, c: _field(a, b % 32, c % 32),
    "v_bfe_i32": lambda a, b, c: _signed(a >> b % 32, c % 32) if c % 32 else 0,
    "v_bfi_b32": lambda a, b, c: (a & b) | (~a & c),
    "v_alignbit_b32": lambda a, b, c: (a << 32 | b) >> c % 32,
    "v_perm_b32": _permuted,
    "v_min_i32": min, "v_max_i32": max, "v_min_u32": min, "v_max_u32": max,
    "v_max3_i32": max, "v_min3_i32": min, "v_med3_i32": lambda *v: sorted(v)[1],
    "v_dot4_i32_i8": lambda a, b, c: _dot(a, b, True) + c,
    "v_dot4c_i32_i8": lambda a, b, c: _dot(a, b, True) + c,
    "v_dot4_u32_u8": lambda a, b, c: _dot(a, b, False) + c,
}  # fmt: skip

APPROXIMATE: dict[str, Callable[[float], Any]] = {
    "v_rcp_f32": lambda a: 1 / a, "v_rcp_iflag_f32": lambda a: 1 / a, "v_rcp_f64": lambda a: 1 / a,
    "v_rsq_f32": lambda a: 1 / gmpy2.sqrt(a), "v_rsq_f64": lambda a: 1 / gmpy2.sqrt(a),
    "v_sqrt_f32": gmpy2.sqrt, "v_sqrt_f64": gmpy2.sqrt,
}  # fmt: skip

ELSEWHERE = {"v_cndmask_b32", "v_div_fmas_f32", "v_div_fmas_f64", "v_div_fixup_f32",
             "v_div_fixup_f64"}  # fmt: skip
"""Tested with masks and divisions, further below."""


def _of_kind(kind: str) -> list[Operation]:
    return [o for o in instructions.operations().values() if o.kind == kind]


def test_every_operation_of_lanes_is_tested() -> None:
    """No operation is without an exact counterpart here."""
    known = FLOAT.keys() | INTEGER.keys() | APPROXIMATE.keys() | ELSEWHERE
    assert {o.name for o in _of_kind("vector")} - instructions.UNFUSED.keys() == known


def _same(kind: str, got: int, expected: Any) -> bool:
    if kind in "fd":
        value = _value(kind, got)
        if math.isnan(expected):
            return math.isnan(value)
        layout = "<f" if kind == "f" else "<d"
        return got == int.from_bytes(struct.pack(layout, expected), "little")
    return got == _wrapped(kind, expected)


def _apply(operation: Operation, operands: Sequence[Sequence[int]]) -> list[int]:
    """What the interpreter makes of 64 operands each, as bits."""
    rows: list[list[int]] = []
    places = []
    for kind, column in zip(operation.sources, operands, strict=False):
        places.append(_operand(kind, 10 + len(rows)))
        rows.append([v & 0xFFFFFFFF for v in column])
        if BITS[kind] == 64:
            rows.append([v >> 32 for v in column])
    lines = []
    if "old" in operation.text:
        for word, column in enumerate(operands[-1:] * (BITS[operation.result] // 32)):
            rows.append([v >> 32 * word & 0xFFFFFFFF for v in column])
            lines.append(f"v_mov_b32_e32 v{40 + word}, v{9 + len(rows)}")
    target = _operand(operation.result, 40)
    lines.append(f"{operation.name} {', '.join([target, *places])}")
    found = _run(lines, np.array(rows, np.uint32), BITS[operation.result] // 32)
    words = [[int(v) for v in row] for row in found]
    return words[0] if len(words) == 1 else [a | b << 32 for a, b in zip(*words, strict=True)]


def _columns(kinds: str, name: str, turns: int) -> Iterator[list[list[int]]]:
    """Columns of operands: each special one meets others of its kind."""
    rng = np.random.default_rng(sum(name.encode()))
    for turn in range(turns):
        yield [
            np.roll(np.array(_special(kind, rng), object), 7 * turn * i).tolist()
            for i, kind in enumerate(kinds)
        ]


@pytest.mark.parametrize("name", sorted(FLOAT.keys() | INTEGER.keys()))
def test_operations_are_exact(name: str) -> None:
    """Every bit that the exact result, rounded once, has."""
    operation = instructions.operations()[name]
    kinds = operation.sources + operation.result * ("old" in operation.text)
    exact = FLOAT.get(name) or INTEGER[name]
    for columns in _columns(kinds, name, 4):
        got = _apply(operation, columns)
        for lane, operands in enumerate(zip(*columns, strict=True)):
            values = [_value(k, v) for k, v in zip(kinds, operands, strict=True)]
            expected = exact(*values)
            assert _same(operation.result, got[lane], expected), (values, expected, hex(got[lane]))


@pytest.mark.parametrize("name", sorted(APPROXIMATE))
def test_approximations_keep_their_error(name: str) -> None:
    """Within an ulp in float32, within 2^-23 in float64, and special values."""
    operation = instructions.operations()[name]
    kind = operation.sources
    for (column,) in _columns(kind, name, 3):
        for lane, got in enumerate(_apply(operation, [column])):
            value, found = _value(kind, column[lane]), _value(kind, got)
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


@pytest.mark.parametrize("operation", _of_kind("compare"), ids=lambda o: o.name)
def test_comparisons(operation: Operation) -> None:
    """A comparison gives one bit a lane, zero for lanes that are off."""
    relation = operation.name.removeprefix("v_cmp_").rsplit("_", 1)[0]
    kinds = operation.sources
    for columns in _columns(kinds, operation.name, 3):
        if kinds[0] == kinds[1]:
            columns[1][::3] = columns[0][::3]
        rows = [
            [v >> 32 * word & 0xFFFFFFFF for v in column]
            for kind, column in zip(kinds, columns, strict=True)
            for word in range(BITS[kind] // 32)
        ]
        first = _operand(kinds[0], 10)
        second = _operand(kinds[1], 10 + BITS[kinds[0]] // 32)
        lines = [
            "s_mov_b32 exec_lo, 0xffff0fff",
            f"{operation.name} s[20:21], {first}, {second}",
            "s_mov_b32 exec_lo, -1",
            "v_mov_b32_e32 v40, s20", "v_mov_b32_e32 v41, s21",
        ]  # fmt: skip
        low, high = _run(lines, np.array(rows, np.uint32), 2)[:, 0]
        found = int(low) | int(high) << 32
        for lane, (a, b) in enumerate(zip(*columns, strict=True)):
            x, y = _value(kinds[0], a), _value(kinds[1], b)
            if relation == "class":
                expected = bool(y >> _class(kinds[0], a) & 1)
            else:
                expected = _related(relation, kinds[0], x, y)
            assert bool(found >> lane & 1) == (expected and not 12 <= lane < 16), (x, y)


def _related(relation: str, kind: str, x: Any, y: Any) -> bool:
    negated = relation.startswith("n") and relation not in ("ne",)
    plain = relation[1:] if negated else relation
    unordered = kind in "fd" and (math.isnan(x) or math.isnan(y))
    truth = {
        "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y, "ne": x != y,
        "lg": x < y or x > y, "o": not unordered, "u": unordered,
    }[plain]  # fmt: skip
    return truth != negated


def _class(kind: str, bits: int) -> int:
    """0 and 1 NaN (signalling, quiet), 2 to 9 from minus infinity to infinity."""
    value = _value(kind, bits)
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
}


@pytest.mark.parametrize("name", sorted(CARRIES))
def test_carries(name: str) -> None:
    """Sum and carry, with a carry that comes in where there is one."""
    operation = instructions.operations()[name]
    value, carry = CARRIES[name]
    mask = 0x9249_2492_F00F_1234
    kinds = operation.sources.replace("m", "")
    for columns in _columns(kinds, name, 3):
        rows, places = [], []
        for kind, column in zip(kinds, columns, strict=True):
            places.append(_operand(kind, 10 + len(rows)))
            rows += [[v >> 32 * i & 0xFFFFFFFF for v in column] for i in range(BITS[kind] // 32)]
        places += ["s[22:23]"] * ("m" in operation.sources)
        lines = [
            f"s_mov_b32 s22, {hex(mask & 0xFFFFFFFF)}", f"s_mov_b32 s23, {hex(mask >> 32)}",
            f"{name} {', '.join([_operand(operation.result, 40), 's[20:21]', *places])}",
            "v_mov_b32_e32 v42, s20", "v_mov_b32_e32 v43, s21",
        ]  # fmt: skip
        low, high, first, second = (
            [int(v) for v in w] for w in _run(lines, np.array(rows, np.uint32), 4)
        )
        found = first[0] | second[0] << 32
        for lane, operands in enumerate(zip(*columns, strict=True)):
            given = [*operands, *[mask >> lane & 1] * ("m" in operation.sources)]
            got = low[lane] | high[lane] << 32 if operation.result == "l" else low[lane]
            assert got == _wrapped(operation.result, value(*given))
            assert bool(found >> lane & 1) == carry(*given)


SCALARS: dict[str, tuple[Callable[..., int], Callable[..., bool] | None]] = {
    "s_add_u32": (lambda a, b, c: a + b, lambda a, b, c: a + b >= 2**32),
    "s_sub_u32": (lambda a, b, c: a - b, lambda a, b, c: a < b),
    "s_addc_u32": (lambda a, b, c: a + b + c, lambda a, b, c: a + b + c >= 2**32),
    "s_subb_u32": (lambda a, b, c: a - b - c, lambda a, b, c: a < b + c),
    "s_add_i32": (
        lambda a, b, c: a + b, lambda a, b, c: abs(_signed(a, 32) + _signed(b, 32) + 0.5) > 2**31
    ),
    "s_sub_i32": (
        lambda a, b, c: a - b, lambda a, b, c: abs(_signed(a, 32) - _signed(b, 32) + 0.5) > 2**31
    ),
    "s_mul_i32": (lambda a, b, c: a * b, None),
    "s_mul_hi_u32": (lambda a, b, c: a * b >> 32, None),
    "s_lshl_b32": (lambda a, b, c: a << b % 32, lambda a, b, c: bool(a << b % 32 & 0xFFFFFFFF)),
    "s_lshr_b32": (lambda a, b, c: a >> b % 32, lambda a, b, c: bool(a >> b % 32)),
    "s_bfe_u32": (lambda a, b, c: a >> b % 32 & (1 << min(32, b >> 16 & 127)) - 1, None),
    "s_and_b32": (lambda a, b, c: a & b, lambda a, b, c: bool(a & b)),
    "s_andn2_b32": (lambda a, b, c: a & ~b, lambda a, b, c: bool(a & ~b)),
    "s_orn2_b32": (lambda a, b, c: a | ~b, lambda a, b, c: bool((a | ~b) & 0xFFFFFFFF)),
    "s_xor_b32": (lambda a, b, c: a ^ b, lambda a, b, c: a != b),
    "s_cselect_b32": (lambda a, b, c: a if c else b, None),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SCALARS))
def test_scalars(name: str) -> None:
    """Scalar integers and the condition that they set, which comes in set and clear."""
    value, condition = SCALARS[name]
    rng = np.random.default_rng(3)
    pairs = list(zip(_special("u", rng)[:24], np.roll(_special("u", rng)[:24], 5), strict=True))
    for a, b in pairs:
        for carry in (0, 1):
            lines = [
                f"s_mov_b32 s20, {hex(a)}", f"s_mov_b32 s21, {hex(int(b))}",
                f"s_cmp_eq_u32 s20, {'s20' if carry else 'exec_lo'}",
                f"{name} s22, s20, s21", "s_cselect_b32 s23, 1, 0",
                "v_mov_b32_e32 v40, s22", "v_mov_b32_e32 v41, s23",
            ]  # fmt: skip
            if a == 0xFFFFFFFF and not carry:
                continue
            found = _run(lines, np.zeros((1, LANES), np.uint32), 2)[:, 0]
            assert int(found[0]) == _wrapped("u", value(a, int(b), carry)), (a, b)
            if condition:
                assert bool(found[1]) == condition(a, int(b), carry), (a, b)


def test_bits_of_scalars() -> None:
    """One bit cleared and set."""
    low, high = _lanes([
        "s_mov_b32 s20, 0xf000000f", "s_mov_b32 s21, s20", "s_bitset0_b32 s20, 31",
        "s_bitset1_b32 s21, 36", "v_mov_b32_e32 v40, s20", "v_mov_b32_e32 v41, s21",
    ], 2)  # fmt: skip
    assert (low[0], high[0]) == (0x7000000F, 0xF000001F)


def _lanes(lines: Sequence[str], results: int = 1, shared: int = 0) -> list[list[int]]:
    """Results where v10 holds 1000 + lane and v11 2000 + 3 lane."""
    lane = np.arange(LANES, dtype=np.uint32)
    found = _run(lines, np.array([1000 + lane, 2000 + 3 * lane], np.uint32), results, shared)
    return [[int(v) for v in row] for row in found]


def test_lanes_that_are_off_keep_their_registers() -> None:
    """EXEC masks writes of registers and memory; its saving and merging."""
    (found,) = _lanes([
        "v_mov_b32_e32 v40, 7", "v_cmp_lt_u32_e32 vcc, v0, v12", "s_mov_b32 vcc_lo, 0xf0f0",
        "s_mov_b32 vcc_hi, 0", "s_and_saveexec_b64 s[20:21], vcc", "v_mov_b32_e32 v40, v10",
        "s_or_b64 exec, exec, s[20:21]",
    ])  # fmt: skip
    assert found == [1000 + i if 0xF0F0 >> i & 1 else 7 for i in range(LANES)]


def test_moves_between_lanes_and_scalars() -> None:
    """First living lane, any lane, and a lane's register written from a scalar."""
    (first, any_lane, written) = _lanes([
        "s_mov_b64 exec, 0xff00", "v_readfirstlane_b32 s20, v10", "s_mov_b64 exec, -1",
        "v_readlane_b32 s21, v11, 5", "v_mov_b32_e32 v40, s20", "v_mov_b32_e32 v41, s21",
        "v_mov_b32_e32 v42, 1", "v_writelane_b32 v42, s20, 3",
    ], 3)  # fmt: skip
    assert first == [1008] * LANES and any_lane == [2015] * LANES
    assert written == [1008 if i == 3 else 1 for i in range(LANES)]


def test_parts_of_words() -> None:
    """SDWA: bytes and halves of sources and of the target."""
    low, high, kept = _lanes([
        "v_mov_b32_e32 v20, 0x12345678",
        "v_add_u32_sdwa v40, v20, v10 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1"
        " src1_sel:DWORD",
        "v_add_u32_sdwa v41, v20, v10 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1"
        " src1_sel:DWORD",
        "v_mov_b32_e32 v42, v20",
        "v_add_u32_sdwa v42, v20, v10 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE"
        " src0_sel:DWORD src1_sel:DWORD",
    ], 3)  # fmt: skip
    for lane in range(LANES):
        assert low[lane] == 0x56 + 1000 + lane
        assert high[lane] == (0x1234 + 1000 + lane & 0xFFFF) << 16
        assert kept[lane] == 0x12340078 | (0x78 + 1000 + lane & 0xFF) << 8


def test_packed_and_paired_operations_read_before_they_write() -> None:
    """Two words at once, and two operations at once, that exchange registers."""
    one, two, three, four = _lanes([
        "v_mov_b32_e32 v40, v10", "v_mov_b32_e32 v41, v11",
        "v_pk_mov_b32 v[40:41], v[40:41], v[40:41] op_sel:[1,0]",
        "v_mov_b32_e32 v42, v10", "v_mov_b32_e32 v43, v11",
        "v_dual_mov_b32 v42, v43 :: v_dual_mov_b32 v43, v42",
    ], 4)  # fmt: skip
    lane = range(LANES)
    assert one == three == [2000 + 3 * i for i in lane]
    assert two == four == [1000 + i for i in lane]


def test_packed_arithmetic_chooses_words_and_signs() -> None:
    """v_pk_fma_f32: halves by op_sel and op_sel_hi, signs by neg_lo and neg_hi."""
    floats = np.array([np.arange(LANES) + 1, np.arange(LANES) * 0.25 + 3], np.float32)
    found = _run(
        ["v_pk_fma_f32 v[40:41], v[10:11], v[10:11], v[10:11] op_sel:[0,1,0] op_sel_hi:[1,1,0]"
         " neg_lo:[0,0,1] neg_hi:[1,0,0]"],
        floats.view(np.uint32), 2,
    ).view(np.float32)  # fmt: skip
    a, b = floats
    assert (found[0] == a * b - a).all() and (found[1] == -b * b + a).all()


def test_loops_and_branches() -> None:
    """A loop counts down a scalar."""
    (found,) = _lanes([
        "v_mov_b32_e32 v40, 0", "s_mov_b32 s20, 5", "v_add_u32_e32 v40, v40, v10",
        "s_sub_i32 s20, s20, 1", "s_cmp_lg_u32 s20, 0", "s_cbranch_scc1 65528",
    ])  # fmt: skip
    assert found == [5 * (1000 + i) for i in range(LANES)]


# --- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["v_sin_f32_e32 v1, v2", "v_add_f32_e64 v1, v2, v3 clamp", "v_mul_f32_e64 v1, v2, v3 mul:2",
     "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "s_setpc_b64 s[0:1]",
     "global_atomic_add v1, v2, s[0:1]", "v_pk_add_f16 v1, v2, v3", "ds_bpermute_b32 v1, v2, v3",
     "global_load_ushort v1, v2, s[0:1]", "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]"],
)  # fmt: skip
def test_what_is_unknown_is_refused_by_name(line: str) -> None:
    """No instruction and no modifier is guessed."""
    with pytest.raises(Unknown, match=line.split(maxsplit=1)[0]):
        assembler.assemble([listing.instruction(line, 0, 8)], LANES, 0)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("global_load_dword v40, v3, s[8:9]", "reads 4 bytes .* outside of every buffer"),
        ("global_store_dword v3, v0, s[8:9]", "writes 4 bytes .* outside of every buffer"),
        ("global_store_dword v1, v0, s[4:5]", "for reading only"),
        ("global_load_dword v40, v0, s[8:9]", "misaligned"),
        ("ds_read_b32 v40, v1", "shared memory"),
        ("scratch_load_b32 v40, v1, off", "private memory"),
    ],
)
def test_memory_is_guarded(line: str, words: str) -> None:
    """An access outside of what a block may use names instruction and thread."""
    with pytest.raises(LaunchError, match=words) as error:
        _lanes(["v_mov_b32_e32 v3, 0x1000", line])
    assert line in str(error.value) and "thread" in str(error.value)


def test_addresses_of_shared_memory_wrap_around() -> None:
    """A base below zero with an offset that leads back: compilers make such."""
    (found,) = _lanes([
        "ds_write_b32 v1, v10", "v_add_u32_e32 v3, 0xfffff000, v1",
        "ds_read_b32 v40, v3 offset:4096",
    ], shared=256)  # fmt: skip
    assert found == [1000 + i for i in range(LANES)]


def test_a_loop_without_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends after a number of rows."""
    monkeypatch.setattr("portmp.backends.emulator.machine.LIMIT", 1)
    with pytest.raises(LaunchError, match="does not end"):
        _lanes(["s_branch 65534"])


# --- portmp on it --------------------------------------------------------------------------

ROUTINES = ("axpy", "dot", "gemv", "gemm", "nbody", "nbody_potential", "reduce_sum", "add", "mul",
            "div", "sqrt", "fma", "compare", "min", "copy")  # fmt: skip


def _device(arch: str) -> emulated.EmulatedDevice:
    tiers.check(ARCHITECTURES[arch])
    device = discovery.get(f"emulated:{arch}")
    assert isinstance(device, emulated.EmulatedDevice)
    return device


def _failures(device: Any, form: str, routines: Sequence[str]) -> list[verify.Outcome]:
    cases = [c for c in verify.selected(form, None) if c.routine in routines]
    assert cases
    return [o for o in verify.run(device, cases) if not o.ok]


@pytest.mark.parametrize("form", formats.NAMES)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_recorded_digests(
    arch: str, form: str, record_property: Callable[[str, object], None]
) -> None:
    """The code objects of the platform give the recorded bits; speed and limits are printed."""
    device = _device(arch)
    assert not _failures(device, form, ROUTINES)
    record_property(f"remark {device.name}", device.remark)


def _settled(settings: Settings) -> emulated.EmulatedDevice:
    """The interpreter of gfx908 with settings of a test's own."""
    plain = _device("gfx908")
    device = emulated.opened("gfx908", "gfx908", settings)
    device.traits = plain.traits
    return device


@pytest.mark.parametrize("label", ["gfx908+1", "gfx908-1", "gfx908~1"])
def test_results_do_not_depend_on_approximations(label: str) -> None:
    """Reciprocals and roots may err by as much as is documented."""
    tiers.check("hiprtc")
    device = discovery.get(f"emulated:{label}")
    for form in ("float32", "float64", "dd", "ts"):
        assert not _failures(device, form, ("div", "sqrt", "nbody", "nrm2"))


def test_an_approximation_that_is_worse_is_noticed() -> None:
    """Off by 2^-6: the digests of gravity, which starts from the estimate, differ."""
    assert _failures(_settled(Settings(shift=-(2**18))), "float32", ("nbody",))


def test_approximations_are_really_moved() -> None:
    """The inexact root changes with its estimate; the exact one does not."""
    plain, moved = _device("gfx908"), _settled(Settings(shift=1))
    for root, changes in (("fast", True), ("exact", False)):
        found = []
        for device in (plain, moved):
            form = formats.get("float32")
            host = [inputs.ordinary(form, (64, 3), "position"), inputs.ordinary(form, (64,), "m")]
            r, m = (Array(planes.upload(form, h, device.queue)) for h in host)
            sums = nbody.acceleration(r, m, eps="0.01", root=root).to_limbs()[0]
            found.append(sums.tobytes())
        assert (found[0] != found[1]) == changes


def _unfused(row: Row) -> Row:
    known = f"unfused_{row.operation}"
    return replace(row, operation=known) if known in instructions.UNFUSED else row


def _without_exec(row: Row) -> Row:
    kind = instructions.operations()[row.operation].kind
    return replace(row, flags=row.flags | assembler.EVERY_LANE) if kind == "vector" else row


def _without_barrier(row: Row) -> Row:
    if row.operation != "s_barrier":
        return row
    return replace(row, operation="s_mov_b32", target=assembler.SINK, sources=(assembler.SINK,))


@pytest.mark.parametrize(
    ("mutation", "form", "routines"),
    [
        (_unfused, "dd", ("mul", "gemm")),
        (_unfused, "ts", ("mul",)),
        (_without_exec, "dd", ("div", "dot", "gemm")),
        (_without_barrier, "dd", ("gemm",)),
    ],
    ids=["fma", "fma32", "exec", "barrier"],
)
def test_broken_instructions_are_noticed(
    mutation: assembler.Mutation, form: str, routines: Sequence[str]
) -> None:
    """A multiply-add rounded twice, lanes that should be off, a missing barrier."""
    assert _failures(_settled(Settings(mutation=mutation)), form, routines)


def test_waves_may_run_in_any_order() -> None:
    """Between barriers: the same bits when the last wave of a block runs first."""
    device = _settled(Settings(descending=True))
    assert not _failures(device, "dd", ("gemm", "dot", "gemv", "nbody"))


def test_an_access_behind_an_array_is_reported() -> None:
    """A kernel that is told of more elements than there are."""
    device = _device("gfx908")
    form = formats.get("dd")
    x = planes.upload(form, inputs.ordinary(form, (300,), "x"), device.queue)
    from portmp.routines import elementwise

    longer = x.view((4000,), (1,), 0)
    with pytest.raises(LaunchError, match=r"elementwise_neg, instruction 'global_load.*thread"):
        elementwise.apply("neg", [longer])


# --- the host's side -----------------------------------------------------------------------


def test_interpreted_devices_appear_only_when_they_are_asked_for() -> None:
    """They are in no list, and are not timed."""
    device = _device("gfx908")
    assert device not in discovery.devices()
    assert "interpreter" in device.properties.name and "no hardware" in device.properties.name
    with pytest.raises(DeviceError, match="interpreter"):
        discovery.hardware(device)
    with pytest.raises(DeviceError, match="gfx908, gfx90a"):
        discovery.get("emulated:gfx9")


def test_nothing_is_left_behind() -> None:
    """Memory, streams and events that the backend made are given back."""
    device = _device("gfx908")
    gc.collect()
    memory, events, streams = (
        device.hip.machine.memory.allocations, len(device.hip.events), len(device.hip.streams)
    )  # fmt: skip
    form = formats.get("dd")
    for _ in range(3):
        host = [inputs.ordinary(form, (50,), "left")] * 2
        x, y = (Array(planes.upload(form, h, device.queue)) for h in host)
        queue = device.new_queue()
        mark = device.queue.record()
        (x * y).to_limbs()
        device.queue.record().seconds_since(mark)
        del x, y, queue, mark
    gc.collect()
    kernels = device.hip.machine.memory.allocations - memory
    assert kernels <= 1, "only a module that was loaded now"
    assert (len(device.hip.events), len(device.hip.streams)) == (events, streams)


@pytest.mark.parametrize(
    ("call", "status", "error"),
    [
        ("hipMalloc", hip.hipError_t.hipErrorOutOfMemory, OutOfMemory),
        ("hipMalloc", hip.hipError_t.hipErrorInvalidValue, DeviceError),
        ("hipMemcpyHtoDAsync", hip.hipError_t.hipErrorInvalidValue, DeviceError),
        ("hipMemcpyDtoHAsync", hip.hipError_t.hipErrorInvalidValue, DeviceError),
        ("hipStreamSynchronize", hip.hipError_t.hipErrorLaunchFailure, DeviceError),
        ("hipModuleLaunchKernel", hip.hipError_t.hipErrorLaunchFailure, LaunchError),
        ("hipSetDevice", hip.hipError_t.hipErrorInvalidValue, DeviceError),
    ],
)
def test_failing_calls_become_errors(
    call: str, status: hip.hipError_t, error: type[PortmpError]
) -> None:
    """Each call's failure reaches the user as portmp's own error, and the device goes on."""
    device = _device("gfx908")
    form = formats.get("dd")

    def work() -> Array:
        x = Array(planes.upload(form, inputs.ordinary(form, (9,), "x"), device.queue))
        result: Array = x + x
        result.to_limbs()
        return result

    work()
    device.hip.failing[call] = status
    try:
        with pytest.raises(error):
            work()
    finally:
        device.hip.failing.clear()
    work()


def test_calls_of_one_result_in_their_order() -> None:
    """Memory, copy, launch, copy back, wait, and memory given back."""
    device = _device("gfx908")
    form = formats.get("dd")
    host = inputs.ordinary(form, (9,), "x")
    (Array(planes.upload(form, host, device.queue)) + 1).to_limbs()
    gc.collect()
    device.hip.calls = []
    try:
        result = Array(planes.upload(form, host, device.queue)) + 1
        result.to_limbs()
        del result
        gc.collect()
        calls = [c for c in device.hip.calls if c not in ("hipSetDevice", "hipError_t")]
    finally:
        device.hip.calls = None
    order = ["hipMalloc", "hipMemcpyHtoDAsync", "hipModuleLaunchKernel", "hipMemcpyDtoHAsync",
             "hipStreamSynchronize", "hipFree"]  # fmt: skip
    places = [calls.index(name) for name in order[:4]]
    assert places == sorted(places)
    assert calls.index("hipStreamSynchronize", places[3]) > places[3]
    assert calls.count("hipMalloc") == calls.count("hipFree")


def test_calls_are_those_of_hip_python() -> None:
    """Every call and status that the interpreter offers is there, with the same number."""
    tiers.check("hiprtc")
    from hip import hip as real

    for name in vars(hip.Hip):
        if name.startswith("hip"):
            assert hasattr(real, name), name
    for kind in (hip.hipError_t, hip.hipMemLocationType):
        for member in kind:
            assert int(getattr(getattr(real, kind.__name__), member.name)) == int(member)
    assert hasattr(real.hipDeviceAttribute_t, "hipDeviceAttributeMemoryPoolsSupported")
