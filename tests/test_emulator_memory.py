"""The interpreter's memories: bytes and halves, atomic operations, flat addresses, guards."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tiers
from operands import BITS, number_of, special
from waves import ALL, SOME, WAVE32, WAVE64, Waves, assembled, either, machine, masked, on

from portmp.emulator import assembler, atomics, listing
from portmp.emulator import device as emulated
from portmp.errors import CheckError

# --- bytes and halves -------------------------------------------------------------------------

MEMORIES = {
    "global": ("global_{way}", "{load}, v5, s[10:11]", "v5, {store}, s[10:11]"),
    "pointer": ("global_{way}", "{load}, v[6:7], off", "v[6:7], {store}, off"),
    "shared": ("ds_{way}", "{load}, v5", "v5, {store}"),
    "scratch": ("scratch_{way}", "{load}, v5, off", "v5, {store}, off"),
    "buffer": ("buffer_{way}", "{load}, v5, s[0:3], 0 offen", "{store}, v5, s[0:3], 0 offen"),
    "flat": ("flat_{way}", "{load}, v[6:7]", "v[6:7], {store}"),
    "flat shared": ("flat_{way}", "{load}, v[30:31]", "v[30:31], {store}"),
    "flat private": ("flat_{way}", "{load}, v[32:33]", "v[32:33], {store}"),
}
"""Name, operands of a load and of a store, by which each memory is reached."""

ADDRESSES = [
    "v_lshlrev_b32_e32 v5, 2, v0",
    "v_mov_b32_e32 v7, s11",
    "v_add_co_u32_e32 v6, vcc, s10, v5",
    "v_addc_co_u32_e32 v7, vcc, 0, v7, vcc",
    "s_mov_b64 s[14:15], src_shared_base",
    "s_mov_b64 s[16:17], src_private_base",
    "v_mov_b32_e32 v30, v5",
    "v_mov_b32_e32 v31, s15",
    "v_mov_b32_e32 v32, v5",
    "v_mov_b32_e32 v33, s17",
]
"""A word of each lane: its offset in v5, its address in v[6:7], flat ones of block memory and of
a lane's own in v[30:31] and v[32:33].
"""

OF_BLOCKS = {
    "dword": "b32",
    "dwordx2": "b64",
    "ubyte": "u8",
    "sbyte": "i8",
    "ushort": "u16",
    "sshort": "i16",
    "byte": "b8",
    "short": "b16",
    "short_d16": "u16_d16",
    "short_d16_hi": "u16_d16_hi",
    "ubyte_d16": "u8_d16",
    "ubyte_d16_hi": "u8_d16_hi",
    "sbyte_d16": "i8_d16",
    "sbyte_d16_hi": "i8_d16_hi",
}


def access(memory: str, way: str, width: str, data: str, offset: int = 0) -> str:
    """A load into, or a store of, *data* at the word of each lane in a memory."""
    name, load, store = MEMORIES[memory]
    if memory == "shared":
        stem = {"load": "read", "store": "write"}[way]
        plain = {"short_d16_hi": "b16_d16_hi", "byte_d16_hi": "b8_d16_hi"} if way == "store" else {}
        name = f"ds_{stem}_{plain.get(width) or OF_BLOCKS[width]}"
    else:
        name = f"{name.format(way=way)}_{width}"
    operands = (load if way == "load" else store).format(load=data, store=data)
    return f"{name} {operands}" + (f" offset:{offset}" if offset else "")


def reach(waves: Waves, lines: list[str], given: Any, results: int) -> list[list[int]]:
    """Run with every memory, each of a word a lane."""
    found = waves.run(
        [*ADDRESSES, *lines], given, results, shared=4 * waves.lanes, scratch=4 * waves.lanes
    )
    return [[int(v) for v in row] for row in found]


def words(waves: Waves, count: int) -> Any:
    return np.random.default_rng(3).integers(0, 2**32, (count, waves.lanes), np.uint32)


def signed(number: int, bits: int) -> int:
    return (number - (1 << bits) if number >> bits - 1 else number) & 0xFFFFFFFF


LOADS: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "ubyte": (1, lambda x, old: x),
    "sbyte": (1, lambda x, old: signed(x, 8)),
    "ushort": (2, lambda x, old: x),
    "sshort": (2, lambda x, old: signed(x, 16)),
    "short_d16": (2, lambda x, old: old & 0xFFFF0000 | x),
    "short_d16_hi": (2, lambda x, old: old & 0xFFFF | x << 16),
    "ubyte_d16": (1, lambda x, old: old & 0xFFFF0000 | x),
    "ubyte_d16_hi": (1, lambda x, old: old & 0xFFFF | x << 16),
    "sbyte_d16": (1, lambda x, old: old & 0xFFFF0000 | signed(x, 8) & 0xFFFF),
    "sbyte_d16_hi": (1, lambda x, old: old & 0xFFFF | (signed(x, 8) & 0xFFFF) << 16),
}


@either
@pytest.mark.parametrize("memory", MEMORIES)
def test_loads_of_parts(memory: str, waves: Waves) -> None:
    """Each byte and half of a word, with its sign or without, to a register or to one half."""
    lines, expected = [access(memory, "store", "dword", "v10")], []
    given = words(waves, 2)
    for width, (nbytes, exact) in LOADS.items():
        for offset in range(0, 4, nbytes):
            target = f"v{40 + len(expected)}"
            lines += [f"v_mov_b32_e32 {target}, v11"]
            lines += [access(memory, "load", width, target, offset)]
            mask = (1 << 8 * nbytes) - 1
            expected.append([exact(x >> 8 * offset & mask, old) for x, old in given.T.tolist()])
    assert reach(waves, lines, given, len(expected)) == expected


@either
@pytest.mark.parametrize("memory", MEMORIES)
def test_stores_of_parts(memory: str, waves: Waves) -> None:
    """One byte or half changes, the others stay."""
    given = words(waves, 2)
    lines, expected = [], []
    for width, nbytes, shift in (
        ("byte", 1, 0),
        ("short", 2, 0),
        ("byte_d16_hi", 1, 16),
        ("short_d16_hi", 2, 16),
    ):
        for offset in range(0, 4, nbytes):
            lines += [access(memory, "store", "dword", "v11")]
            lines += [access(memory, "store", width, "v10", offset)]
            lines += [access(memory, "load", "dword", f"v{40 + len(expected)}")]
            mask = (1 << 8 * nbytes) - 1
            expected.append(
                [
                    old & ~(mask << 8 * offset) | (x >> shift & mask) << 8 * offset
                    for x, old in given.T.tolist()
                ]
            )
    assert reach(waves, lines, given, len(expected)) == expected


@either
def test_each_memory_is_another(waves: Waves) -> None:
    """Flat addresses reach arrays, block memory and a lane's own; the last is the buffer's too."""
    given = words(waves, 3)
    lines = [
        access("flat", "store", "dword", "v10"),
        access("flat shared", "store", "dword", "v11"),
        access("flat private", "store", "dword", "v12"),
        access("global", "load", "dword", "v40"),
        access("shared", "load", "dword", "v41"),
        access("buffer", "load", "dword", "v42"),
        access("scratch", "load", "dword", "v43"),
    ]
    expected = [*given.tolist(), given[2].tolist()]
    assert reach(waves, lines, given, 4) == expected


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ("global", "at global memory address 0x[0-9a-f]+: "),
        ("flat", "at global memory address 0x[0-9a-f]+: "),
        ("shared", r"at local memory address 0x100 \(there are 256 bytes\)"),
        ("scratch", r"at private memory address 0x100 \(there are 256 bytes\)"),
        ("buffer", r"at private memory address 0x100 \(there are 256 bytes\)"),
        ("flat shared", r"at local memory address 0x100 \(there are 256 bytes\)"),
        ("flat private", r"at private memory address 0x100 \(there are 256 bytes\)"),
    ],
)
def test_what_lies_beyond_is_refused(memory: str, message: str) -> None:
    """The last byte may be read, the one behind it not."""
    reach(WAVE64, [access(memory, "load", "ubyte", "v40", 3)], words(WAVE64, 1), 1)
    with pytest.raises(CheckError, match=f"Invalid read of size 1 {message}") as error:
        reach(WAVE64, [access(memory, "load", "ubyte", "v40", 4)], words(WAVE64, 1), 1)
    assert "thread (63,0,0) of block (0,0,0)" in str(error.value)


@either
@pytest.mark.parametrize("memory", MEMORIES)
def test_accesses_at_any_address(memory: str, waves: Waves) -> None:
    """Words and halves that reach over two words, as compilers store and load bytes together."""
    given = words(waves, 3)
    lines = [
        "s_mov_b32 exec_lo, 0x55555555",
        "s_mov_b32 exec_hi, 0x55555555",
        access(memory, "store", "dwordx2", "v[11:12]"),
        access(memory, "store", "dword", "v10", 1),
        access(memory, "load", "dwordx2", "v[40:41]"),
        access(memory, "load", "ushort", "v42", 1),
        access(memory, "load", "ushort", "v43", 3),
        *[access(memory, "load", "dword", f"v{44 + i}", 1 + i) for i in range(3)],
        access(memory, "store", "short", "v10", 3),
        access(memory, "load", "dwordx2", "v[47:48]"),
        "s_mov_b64 exec, -1",
    ]
    found = np.array(reach(waves, lines, given, 9), np.uint32)
    for lane in range(0, waves.lanes, 2):
        x, *old = (int(v).to_bytes(4, "little") for v in given[:, lane])
        held = bytearray(b"".join(old))
        held[1:5] = x
        got = found[:, lane].tobytes()
        assert got[:8] == held
        assert [got[8:12], got[12:16]] == [held[k : k + 2] + bytes(2) for k in (1, 3)]
        assert [got[4 * k : 4 * k + 4] for k in (4, 5, 6)] == [held[k : k + 4] for k in (1, 2, 3)]
        held[3:5] = x[:2]
        assert got[28:36] == held


@either
@pytest.mark.parametrize("memory", MEMORIES)
def test_lanes_that_are_off_touch_no_memory(memory: str, waves: Waves) -> None:
    """They store nothing, load nothing, and their addresses mean nothing."""
    given = words(waves, 2)
    lines = [
        access(memory, "store", "dword", "v10"),
        "v_mov_b32_e32 v40, 7",
        *masked(SOME, [access(memory, "store", "dword", "v11")]),
        access(memory, "load", "dword", "v41"),
        *masked(~SOME & ALL, [f"v_mov_b32_e32 v{i}, 0xfffff00" for i in (5, 6, 7, 30, 32)]),
        *masked(SOME, [access(memory, "load", "dword", "v40")]),
    ]
    loaded, stored = reach(waves, lines, given, 2)
    for lane, (before, after) in enumerate(given.T.tolist()):
        assert loaded[lane] == (after if on(SOME, lane) else 7)
        assert stored[lane] == (after if on(SOME, lane) else before)


@either
def test_arrays_lie_across_multiples_of_4_gib(waves: Waves) -> None:
    """A kernel that loses the carry into an address's upper word reaches no array, also behind an
    array that was given back.
    """
    memory = machine(waves.arch).memory
    for nbytes in (512, 4096, 100_000):
        address = memory.allocate(nbytes)
        assert address is not None
        assert address >> 32 != address + nbytes - 1 >> 32 and not address % 256
        assert memory.holds(address, nbytes) and not memory.holds(address, nbytes + 1)
        assert memory.free(address) and not memory.holds(address, 1)
    given = np.arange(4 * waves.lanes, dtype=np.uint32)[None, :].reshape(4, waves.lanes)
    step = 8 * waves.lanes  # the second half of the array
    carried = [
        f"s_add_u32 s20, s8, {step}",
        "s_addc_u32 s21, s9, 0",
        "global_load_dword v40, v1, s[20:21]",
    ]
    assert waves.run(carried, given, 1)[0].tolist() == given[2].tolist()
    with pytest.raises(CheckError, match="Invalid read of size 4 at global memory"):
        waves.run([carried[0], "s_mov_b32 s21, s9", carried[2]], given, 1)


def test_other_buffers_are_refused() -> None:
    """The descriptor that the launch gave is the only one."""
    with pytest.raises(CheckError, match="descriptor is not that of private memory"):
        reach(
            WAVE64,
            ["s_add_u32 s0, s0, 16", access("buffer", "load", "dword", "v40")],
            words(WAVE64, 1),
            1,
        )


# --- atomic operations ------------------------------------------------------------------------

EXACT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda old, a, b: old + a,
    "sub": lambda old, a, b: old - a,
    "rsub": lambda old, a, b: a - old,
    "csub": lambda old, a, b: max(old - a, 0),
    "cond_sub": lambda old, a, b: old - a if old >= a else old,
    "min": lambda old, a, b: min(old, a),
    "max": lambda old, a, b: max(old, a),
    "inc": lambda old, a, b: old + 1 if old < a else 0,
    "dec": lambda old, a, b: old - 1 if 0 < old <= a else a,
    "and": lambda old, a, b: old & a,
    "or": lambda old, a, b: old | a,
    "xor": lambda old, a, b: old ^ a,
    "swap": lambda old, a, b: a,
    "cmpswap": lambda old, a, b: a if old == b else old,
}
TINY = 2.0**-126


def flush(x: float) -> float:
    return float(np.copysign(0.0, x)) if abs(x) < TINY else x


def number_less(x: float, y: float, sign: int) -> float:
    """The lesser number (sign 1) or the greater (-1), a NaN only of two."""
    if np.isnan(x) or np.isnan(y):
        return y if np.isnan(x) else x
    return min((x, y), key=lambda v: (sign * v, sign * np.copysign(1.0, v)))


def _added(old: float, a: float) -> float:
    with np.errstate(all="ignore"):
        return old + a


REAL: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda old, a, b: _added(old, a),
    "flushed_add": lambda old, a, b: flush(np.float32(_added(flush(old), flush(a)))),
    "min": lambda old, a, b: a if a < old else old,
    "max": lambda old, a, b: a if a > old else old,
    "min_num": lambda old, a, b: number_less(a, old, 1),
    "max_num": lambda old, a, b: number_less(a, old, -1),
    "cmpswap": lambda old, a, b: a if old == b else old,
}

OLD_NAMES = {
    "add_u": "add",
    "sub_u": "sub",
    "csub_u": "csub",
    "min_i": "smin",
    "min_u": "umin",
    "max_i": "smax",
    "max_u": "umax",
    "inc_u": "inc",
    "dec_u": "dec",
    "and_b": "and",
    "or_b": "or",
    "xor_b": "xor",
    "swap_b": "swap",
    "cmpswap_b": "cmpswap",
    "min_f": "fmin",
    "max_f": "fmax",
    "cmpswap_f": "fcmpswap",
}


def spellings(operation: atomics.Atomic, space: str, returns: bool) -> list[str]:
    """The names of an operation on a memory."""
    name = operation.name.removeprefix("flushed_")
    stem, bits = name[:-2], name[-2:]
    if space != "shared":
        older = f"{OLD_NAMES[stem]}{'_x2' if bits == '64' else ''}" if stem in OLD_NAMES else name
        return [f"{space}_atomic_{n}" for n in {name, older} if "rsub" not in n]
    plain, kind = stem.rsplit("_", 1)
    both = {"swap": ["wrxchg", "storexchg"], "cmpswap": ["cmpst", "cmpstore"]}.get(plain, [plain])
    return [f"ds_{one}{'_rtn' if returns else ''}_{kind}{bits}" for one in both]


def numbers(operation: atomics.Atomic, waves: Waves) -> list[list[int]]:
    """Bits of old numbers, of operands, and of what a swap expects: for each third lane the old."""
    rng = np.random.default_rng(8)
    columns = [special(operation.kind, rng) for _ in range(3)]
    columns[1] = columns[1][7:] + columns[1][:7]
    columns[2][::3] = columns[0][::3]
    return [column[: waves.lanes] for column in columns]


def stored(operation: atomics.Atomic, old: int, a: int, b: int) -> int:
    """The bits that are stored; of a NaN, all ones."""
    values = [number_of(operation.kind, v) for v in (old, a, b)]
    if operation.kind not in "fd":
        exact = EXACT[operation.name.rsplit("_", 1)[0]](*values)
        return int(exact) & (1 << BITS[operation.kind]) - 1
    result = REAL[operation.name.rsplit("_", 1)[0]](*values)
    dtype = np.float32 if operation.kind == "f" else np.float64
    with np.errstate(over="ignore"):
        return -1 if np.isnan(result) else int.from_bytes(dtype(result).tobytes(), "little")


def is_nan(kind: str, bits: int) -> bool:
    return kind in "fd" and bool(np.isnan(number_of(kind, bits)))


def run_atomic(
    waves: Waves, name: str, operation: atomics.Atomic, space: str, returns: bool
) -> tuple[list[int], list[int]]:
    """What each lane's number is afterwards, and what it got back."""
    count, shared = operation.nbytes // 4, "shared" in space
    columns = numbers(operation, waves)
    rows = [[v >> 32 * w & 0xFFFFFFFF for v in c] for c in columns for w in range(count)]

    def registers(at: int, of: int = 1) -> str:
        return f"v{at}" if of * count == 1 else f"v[{at}:{at + of * count - 1}]"

    first, other = registers(10 + count), registers(10 + 2 * count)
    if "cmp" not in name:
        operands = first
    elif space != "shared":
        operands = registers(10 + count, 2)
    else:
        operands = f"{other}, {first}" if "cmpst_" in name else f"{first}, {other}"
    target = f"{registers(50)}, " if returns else ""
    address = {"flat shared": "v[30:31]", "flat": "v[6:7]"}.get(space, "v5")
    end = ", s[10:11]" * (space == "global") + " glc" * (returns and space != "shared")
    memory = "shared" if shared else "global"
    width = {1: "dword", 2: "dwordx2"}[count]
    lines = [
        f"v_lshlrev_b32_e32 v5, {1 + count}, v0",
        *ADDRESSES[1:],
        access(memory, "store", width, registers(10)),
        f"{name} {target}{address}, {operands}{end}",
        access(memory, "load", width, registers(40)),
        *[f"v_mov_b32_e32 v{40 + count + i}, v{50 + i}" for i in range(count)],
    ]
    found = waves.run(lines, np.array(rows, np.uint32), 2 * count, shared=8 * waves.lanes)
    whole = found.astype(np.uint64).reshape(2, count, -1)
    after, before = (sum(one[i] << np.uint64(32 * i) for i in range(count)) for one in whole)
    return after.tolist(), before.tolist()


def flushes(name: str, space: str, waves: Waves) -> bool:
    """Whether this addition is in an array, of an architecture whose memory flushes."""
    return name.endswith("add_f32") and (waves, space) == (WAVE64, "global")


OPERATIONS = [
    pytest.param(name, space, waves, id=f"{name}-{space}-{waves}")
    for name in atomics.operations()
    for space in ("global", "flat", "flat shared", "shared")
    for waves in (WAVE64, WAVE32)
    if name.startswith("flushed_") == flushes(name, space, waves)
]


@pytest.mark.parametrize(("name", "space", "waves"), OPERATIONS)
def test_atomics_store_what_they_should(name: str, space: str, waves: Waves) -> None:
    """Every operation under each of its names, with and without the number before."""
    operation = atomics.operations()[name]
    where = space.split(maxsplit=1)[0]
    columns = numbers(operation, waves)
    for returns in (True, False):
        for spelled in spellings(operation, where, returns):
            after, before = run_atomic(waves, spelled, operation, space, returns)
            for lane, (old, a, b) in enumerate(zip(*columns, strict=True)):
                expected = stored(operation, old, a, b)
                if expected == -1:
                    assert is_nan(operation.kind, after[lane]), spelled
                else:
                    assert after[lane] == expected, (spelled, hex(old), hex(a), hex(b))
                assert before[lane] == old or not returns, spelled


@either
def test_blocks_that_run_together_lose_nothing(waves: Waves) -> None:
    """Every lane of 64 blocks adds to the same numbers, of both widths, as integers and reals."""
    turns = 50
    lines = [
        "v_mov_b32_e32 v5, 0",
        "v_mov_b32_e32 v6, 1",
        "v_mov_b32_e32 v7, 0",
        "v_mov_b32_e32 v8, 1.0",
        "v_mov_b32_e32 v10, 0",
        "v_mov_b32_e32 v11, 0x3ff00000",
        f"s_mov_b32 s20, {turns}",
        "global_atomic_add_u32 v5, v6, s[8:9]",
        "global_atomic_add_x2 v5, v[6:7], s[8:9] offset:8",
        "global_atomic_add_f32 v5, v8, s[8:9] offset:16",
        "global_atomic_add_f64 v5, v[10:11], s[8:9] offset:24",
        "global_atomic_smax v5, v0, s[8:9] offset:32",
        "s_sub_i32 s20, s20, 1",
        "s_cmp_lg_u32 s20, 0",
        "s_cbranch_scc1 65520",
    ]
    given = np.zeros(9, np.uint32)
    given[0] = given[2] = 0xFFFF_FFFF  # the carry goes into the upper word
    after, _ = waves.launch(lines, given, 1, blocks=64)
    total = 64 * waves.lanes * turns
    assert after[0] == total - 1
    assert struct.unpack("<Q", after[2:4].tobytes())[0] == 0xFFFF_FFFF + total
    assert struct.unpack("<f", after[4:5].tobytes())[0] == total
    assert struct.unpack("<d", after[6:8].tobytes())[0] == total
    assert after[8] == waves.lanes - 1


def test_lanes_add_in_their_order() -> None:
    """Each lane gets what those before it left; lanes that are off take no part."""
    lines = [
        "v_mov_b32_e32 v5, 0",
        "ds_write_b32 v5, v5",
        "v_mov_b32_e32 v40, 7",
        "s_mov_b32 exec_lo, 0xfffffff0",
        "ds_add_rtn_u32 v40, v5, v10",
        "s_mov_b64 exec, -1",
        "ds_read_b32 v41, v5",
    ]
    before, after = WAVE32.numbered(lines, 2, shared=4)
    sums = [sum(1000 + i for i in range(4, lane)) for lane in range(4, 33)]
    assert before == [7] * 4 + sums[:-1] and after == [sums[-1]] * 32


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("flat_atomic_add v[32:33], v10", "Invalid atomic access of size 4 at private .* 0x0: "),
        ("global_atomic_add v11, v10, s[10:11]", "Invalid atomic access of size 4 at global"),
        ("global_atomic_add v5, v10, s[4:5]", "write of size 4 at read-only memory, global"),
        ("global_atomic_add v5, v10, s[10:11] offset:2", "Misaligned .* size 4 at global"),
        ("global_atomic_add_x2 v5, v[10:11], s[10:11] offset:4", "Misaligned .* size 8 at global"),
        ("ds_add_u64 v5, v[10:11] offset:4", "Misaligned atomic access of size 8 at local"),
        ("ds_add_u32 v5, v10 offset:256", r"size 4 at local .* 0x100 \(there are 256 bytes\)"),
    ],
)
def test_atomics_are_guarded(line: str, message: str) -> None:
    """Where they may not be, and where hardware has none."""
    with pytest.raises(CheckError, match=message) as error:
        reach(WAVE64, ["v_mov_b32_e32 v11, 0x1000", line], words(WAVE64, 1), 1)
    assert line in str(error.value)


@pytest.mark.parametrize(
    "line",
    [
        "global_atomic_pk_add_f16 v1, v2, s[0:1]",
        "global_atomic_ordered_add_b64 v1, v[2:3], s[0:1]",
        "ds_mskor_b32 v1, v2, v3",
        "ds_wrxchg2_rtn_b32 v[1:2], v3, v4, v5",
        "ds_add_u32 v1, v2 gds",
        "global_atomic_add v1, v2, v3, s[0:1]",
        "global_atomic_add v2, v3, s[0:1] glc",
        "buffer_atomic_add v1, v2, s[0:3], 0 offen",
        "global_load_dword v1, v2, s[0:1] lds",
        "buffer_load_dword v1, v2, s[0:3], 0 idxen",
        "global_load_dwordx8 v[0:7], v2, s[0:1]",
        "ds_read_b32 v1, v2 unheard",
    ],
)
def test_accesses_that_are_unknown_are_refused(line: str) -> None:
    """By their name: other operations, other modifiers, and a return that is not asked for."""
    with pytest.raises(assembler.Unknown, match=line.split(maxsplit=1)[0]):
        assembler.assemble([listing.instruction(line, 0, 8)], 64, 0)


def test_additions_that_flush() -> None:
    """In arrays those of gfx908 and gfx90a, in block memory none."""
    flushing = {
        (arch, space)
        for arch in ("gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")
        for space, name in (
            ("global", "global_atomic_add_f32"),
            ("flat", "flat_atomic_add_f32"),
            ("shared", "ds_add_f32"),
            ("double", "global_atomic_add_f64"),
        )
        if (found := atomics.access(name, arch)) and found.operation.name.startswith("flushed")
    }
    assert flushing == {("gfx908", "global"), ("gfx90a", "global")}


RETURNS = (" glc", " sc0", " th:TH_ATOMIC_RETURN")


def spelled(operation: atomics.Atomic) -> Iterator[str]:
    """Lines of all names of an operation, with and without the number before."""
    count = operation.nbytes // 4

    def registers(at: int, of: int = 1) -> str:
        return f"v{at}" if of * count == 1 else f"v[{at}:{at + of * count - 1}]"

    for returns in (False, True):
        target = f"{registers(2)}, " * returns
        for name in spellings(operation, "shared", returns):
            yield f"{name} {target}v1, {registers(4)}" + f", {registers(8)}" * ("cmp" in name)
        for space, address, end in (("global", "v1", ", s[4:5]"), ("flat", "v[10:11]", "")):
            for name in spellings(operation, space, returns):
                numbers = registers(4, 2 if "cmp" in name else 1)
                for word in RETURNS if returns else ("",):
                    yield f"{name} {target}{address}, {numbers}{end}{word}"


def test_names_of_atomics_are_those_of_the_assembler() -> None:
    """What LLVM takes for an architecture is read as the operation that it is; no other is made."""
    tiers.check("clang")
    table = atomics.operations()
    missing = set(table)
    for arch in emulated.UNITS:
        lines = {line: name for name, one in table.items() for line in spelled(one)}
        for line, one in assembled(arch, list(lines)).items():
            made = assembler.Assembler(64, 0, arch)
            made.instruction(one)
            (row,) = made.rows
            read = list(table)[row.flags >> 16 & 255]
            meant = lines[line].removeprefix("flushed_")
            if arch.startswith("gfx12"):  # which has those of numbers, by either name
                meant = re.sub(r"^(min|max)_f", r"\1_num_f", meant)
            assert read.removeprefix("flushed_") == meant, line
            assert (row.target != assembler.SINK) == ("_rtn_" in line or line.endswith(RETURNS))
            missing.discard(read)
    assert not missing
