"""Words that lanes read of one another: every way, with lanes off, in both sizes of waves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from waves import ALL, SOME, WAVE32, WAVE64, Waves, either, on
from waves import masked as only

from portmp.emulator import assembler, listing
from portmp.emulator.assembler import Unknown

MASKS = (ALL, SOME, 0x7FFF_FFFE_7FFF_FFFE, 0x8000_0001_0000_8001)
"""Lanes that are on."""


def masked(mask: int, lines: Sequence[str]) -> list[str]:
    """Lines for some lanes; v40 is 7 before, so that it shows which are written."""
    return ["v_mov_b32_e32 v40, 7", "v_mov_b32_e32 v41, 7", *only(mask, lines)]


# Where each lane's word comes from; None: from no lane. All written from the guides' pictures of
# rows of 16 lanes, not from the interpreter's expressions.
SOURCES: dict[str, Callable[[int, int], int | None]] = {
    "quad_perm:[3,1,0,2]": lambda i, n: i // 4 * 4 + [3, 1, 0, 2][i % 4],
    "row_shl:1": lambda i, n: None if i % 16 == 15 else i + 1,
    "row_shl:5": lambda i, n: None if i % 16 > 10 else i + 5,
    "row_shr:1": lambda i, n: None if i % 16 == 0 else i - 1,
    "row_shr:15": lambda i, n: i - 15 if i % 16 == 15 else None,
    "row_ror:3": lambda i, n: i // 16 * 16 + (i % 16 + 13) % 16,
    "wave_shl:1": lambda i, n: i + 1 if i + 1 < n else None,
    "wave_rol:1": lambda i, n: (i + 1) % n,
    "wave_shr:1": lambda i, n: i - 1 if i else None,
    "wave_ror:1": lambda i, n: (i - 1) % n,
    "row_mirror": lambda i, n: i // 16 * 16 + 15 - i % 16,
    "row_half_mirror": lambda i, n: i // 8 * 8 + 7 - i % 8,
    "row_bcast:15": lambda i, n: i // 16 * 16 - 1 if i >= 16 else None,
    "row_bcast:31": lambda i, n: 31 if i >= 32 else None,
    "row_newbcast:4": lambda i, n: i // 16 * 16 + 4,
    "row_share:9": lambda i, n: i // 16 * 16 + 9,
    "row_xmask:6": lambda i, n: i ^ 6,
}
DPP8 = [7, 2, 2, 5, 1, 0, 6, 3]


def expected(
    source: int | None, mask: int, value: Callable[[int], int], old: int, bound: bool, fetched: bool
) -> int:
    """What a lane that is on gets."""
    if source is None or not (on(mask, source) or fetched):
        return 0 if bound else old
    return value(source)


@either
@pytest.mark.parametrize("way", SOURCES)
def test_words_of_lanes(way: str, waves: Waves) -> None:
    """Each way of DPP, with and without bound_ctrl and fi; lanes that get no word keep theirs."""
    for mask in MASKS:
        for bound in (False, True):
            for fetched in (False, True):
                more = " bound_ctrl:1" * bound + " fi:1" * fetched
                line = f"v_mov_b32_dpp v40, v10 {way} row_mask:0xf bank_mask:0xf{more}"
                (found,) = waves.numbered(masked(mask, [line]))
                for lane, got in enumerate(found):
                    source = SOURCES[way](lane, waves.lanes)
                    wanted = expected(source, mask, lambda i: 1000 + i, 7, bound, fetched)
                    assert got == (wanted if on(mask, lane) else 7), (line, hex(mask), lane)


@either
def test_eight_lanes_in_any_order(waves: Waves) -> None:
    """dpp8; lanes that are off give zero, or their word with fi."""
    for mask in MASKS:
        for fetched in (False, True):
            line = f"v_mov_b32_dpp v40, v10 dpp8:{DPP8}".replace(" [", "[").replace(", ", ",")
            line = line.replace("v40,v10", "v40, v10") + " fi:1" * fetched
            (found,) = waves.numbered(masked(mask, [line]))
            for lane, got in enumerate(found):
                source = lane // 8 * 8 + DPP8[lane % 8]
                wanted = expected(source, mask, lambda i: 1000 + i, 7, True, fetched)
                assert got == (wanted if on(mask, lane) else 7)


@either
def test_rows_and_banks(waves: Waves) -> None:
    """row_mask and bank_mask: which lanes are written at all."""
    line = "v_mov_b32_dpp v40, v10 row_ror:1 row_mask:0x{:x} bank_mask:0x{:x} bound_ctrl:1"
    for row, bank in ((0xF, 0x5), (0xA, 0xF), (0x3, 0x6), (0, 0xF)):
        (found,) = waves.numbered(masked(MASKS[0], [line.format(row, bank)]))
        for lane, got in enumerate(found):
            written = row >> lane // 16 & 1 and bank >> lane // 4 % 4 & 1
            assert got == (1000 + lane // 16 * 16 + (lane - 1) % 16 if written else 7)


@either
def test_operations_on_words_of_lanes(waves: Waves) -> None:
    """Additions, carries and comparisons with a word of another lane, and its sign."""
    end = "row_shr:1 row_mask:0xf bank_mask:0xf"
    added, carried, old, low = waves.numbered(
        masked(
            MASKS[0],
            [
                f"v_add_u32_dpp v40, v10, v11 {end} bound_ctrl:1",
                f"v_add_co_u32_dpp v41, vcc, v10, v11 {end}",
                "v_mov_b32_e32 v42, v11",
                f"v_mov_b32_dpp v42, -v10 {end}",
                "s_mov_b32 s20, -1",
                f"v_cmp_eq_u32_e64_dpp s[20:21], v10, v11 {end}",
                "v_mov_b32_e32 v43, s20",
            ],
        ),
        4,
    )
    for lane in range(waves.lanes):
        own, first = 2000 + 3 * lane, lane % 16 == 0
        assert added[lane] == own + (0 if first else 1000 + lane - 1)
        assert carried[lane] == (7 if first else own + 1000 + lane - 1)
        assert old[lane] == (own if first else (1000 + lane - 1) | 1 << 31)
    assert low == [0] * waves.lanes  # no bit of a lane that gets no word either


def test_what_reads_the_target_reads_it_first() -> None:
    """A register that is moved onto itself."""
    (found,) = WAVE64.numbered(
        ["v_mov_b32_e32 v40, v10", "v_mov_b32_dpp v40, v40 wave_rol:1 row_mask:0xf bank_mask:0xf"]
    )
    assert found == [1000 + (i + 1) % 64 for i in range(64)]


SWIZZLES: dict[str, Callable[[int], int]] = {
    ' offset:swizzle(BITMASK_PERM,"01pip")': lambda i: (
        i & 32 | 1 << 3 | i & 4 | (i & 2 ^ 2) | i & 1
    ),
    " offset:swizzle(SWAP,16)": lambda i: i ^ 16,
    " offset:swizzle(SWAP,1)": lambda i: i ^ 1,
    " offset:swizzle(REVERSE,8)": lambda i: i // 8 * 8 + 7 - i % 8,
    " offset:swizzle(BROADCAST,8,3)": lambda i: i // 8 * 8 + 3,
    " offset:swizzle(BROADCAST,32,1)": lambda i: i // 32 * 32 + 1,
    " offset:swizzle(QUAD_PERM,3,0,2,1)": lambda i: i // 4 * 4 + [3, 0, 2, 1][i % 4],
    " offset:31": lambda i: i,
    "": lambda i: i // 32 * 32,
}


@either
@pytest.mark.parametrize("offset", SWIZZLES)
def test_swizzled_words(offset: str, waves: Waves) -> None:
    """Patterns of ds_swizzle; lanes that are off give zero."""
    for mask in MASKS:
        (found,) = waves.numbered(masked(mask, [f"ds_swizzle_b32 v40, v10{offset}"]))
        for lane, got in enumerate(found):
            source = SWIZZLES[offset](lane)
            wanted = 1000 + source if on(mask, source) else 0
            assert got == (wanted if on(mask, lane) else 7), (lane, hex(mask))


@either
def test_words_to_other_lanes(waves: Waves) -> None:
    """ds_permute: of lanes that give to one the last; lanes that are off neither give nor get."""
    for mask in MASKS:
        (found,) = waves.numbered(
            masked(
                mask,
                [
                    "v_lshrrev_b32_e32 v20, 1, v0",
                    "v_lshlrev_b32_e32 v20, 2, v20",
                    "ds_permute_b32 v40, v20, v10 offset:12",
                ],
            )
        )
        given = [0] * waves.lanes
        for lane in range(waves.lanes):
            if on(mask, lane):
                given[(lane // 2 + 3) % waves.lanes] = 1000 + lane
        for lane, got in enumerate(found):
            assert got == (given[lane] if on(mask, lane) else 7)


@either
def test_words_of_other_lanes_by_their_address(waves: Waves) -> None:
    """ds_bpermute: addresses modulo the wave, four bytes a lane; a lane that is off gives zero."""
    for mask in MASKS:
        (found,) = waves.numbered(
            masked(
                mask, ["v_lshlrev_b32_e32 v20, 2, v10", "ds_bpermute_b32 v40, v20, v11 offset:9"]
            )
        )
        for lane, got in enumerate(found):
            source = (1000 + lane + 2) % waves.lanes
            wanted = 2000 + 3 * source if on(mask, source) else 0
            assert got == (wanted if on(mask, lane) else 7)


@pytest.mark.parametrize("name", ["v_permlane16_b32", "v_permlanex16_b32"])
@pytest.mark.parametrize(("fetched", "bound"), [(0, 0), (1, 0), (0, 1)])
def test_words_of_a_row(name: str, fetched: int, bound: int) -> None:
    """By four bits a lane, of the same row or of the one beside it."""
    choice = 0xFEDC_0123_4567_A98B
    more = f" op_sel:[{fetched},{bound}]" if fetched or bound else ""
    for mask in MASKS:
        (found,) = WAVE32.numbered(
            masked(
                mask,
                [
                    f"s_mov_b32 s20, {choice & 0xFFFFFFFF:#x}",
                    f"s_mov_b32 s21, {choice >> 32:#x}",
                    f"{name} v40, v10, s20, s21{more}",
                ],
            )
        )
        for lane, got in enumerate(found):
            row = lane // 16 ^ ("x16" in name)
            source = 16 * row + (choice >> 4 * (lane % 16) & 15)
            wanted = expected(source, mask, lambda i: 1000 + i, 7, bool(bound), bool(fetched))
            assert got == (wanted if on(mask, lane) else 7)


@either
def test_halves_of_a_wave(waves: Waves) -> None:
    """Exchanged in a wave of 64 lanes; without effect in one of 32."""
    for mask in MASKS:
        (found,) = waves.numbered(masked(mask, ["v_permlane64_b32 v40, v10"]))
        wide = waves.lanes == 64
        for lane, got in enumerate(found):
            assert got == (1000 + (lane ^ 32) if wide and on(mask, lane) else 7)


def test_two_registers_exchanged() -> None:
    """v_swap_b32, in lanes that are on."""
    one, two = WAVE64.numbered(masked(MASKS[1], ["v_swap_b32 v40, v10", "v_mov_b32 v41, v10"]), 2)
    for lane in range(64):
        assert (one[lane], two[lane]) == ((1000 + lane, 7) if on(MASKS[1], lane) else (7, 7))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("v_mov_b32_dpp v1, v2 row_mask:0xf bank_mask:0xf", "how lanes are exchanged"),
        ("v_mov_b32_dpp v1, v2 row_turn:1 row_mask:0xf bank_mask:0xf", "modifier row_turn"),
        ("v_mov_b32_dpp v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0", "bound_ctrl:0"),
        ("v_mov_b32_dpp v1, v2 row_bcast:7 row_mask:0xf bank_mask:0xf", "row_bcast:7"),
        ("v_mov_b32_dpp v1, v2 wave_shl:2 row_mask:0xf bank_mask:0xf", "wave_shl:2"),
        ("v_mov_b64_dpp v[1:2], v[2:3] row_newbcast:1 row_mask:0xf bank_mask:0xf", "32 bits"),
        ("v_add_u16_dpp v1, v2, v3 row_shl:1 row_mask:0xf bank_mask:0xf", "32 bits"),
        ("v_cvt_f16_f32_dpp v1, v2 row_shl:1 row_mask:0xf bank_mask:0xf", "not one of those"),
        ("v_mov_b32_dpp v1, v2 swizzle:1 row_mask:0xf bank_mask:0xf", "modifier swizzle"),
        ("v_mov_b32_e32 v1, v2 quad_perm:[0,1,2,3]", "modifier quad_perm"),
        ("v_mov_b32_e32 v1, v2 row_mirror", "modifier row_mirror"),
        ("ds_swizzle_b32 v1, v2 offset:swizzle(ROTATE,0,5)", "ROTATE"),
        ("ds_swizzle_b32 v1, v2 offset:swizzle(FFT,5)", "FFT"),
        ("ds_swizzle_b32 v1, v2 offset:65535", "offset:65535"),
        ("v_permlane16_var_b32 v1, v2, v3", "not one of those"),
    ],
)
def test_other_ways_are_refused(line: str, words: str) -> None:
    """By their name."""
    with pytest.raises(Unknown, match=words):
        assembler.assemble([listing.instruction(line, 0, 8)], 64, 0)
