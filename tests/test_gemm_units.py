"""GEMM by matrix units: the kernel with a stand-in for the unit, the probe, schedules, texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from tiers import interpreted, need, problem

import portmp as mp
from portmp import definition, discovery, formats
from portmp.backends.base import Device
from portmp.codegen import kernel_spec, platform
from portmp.codegen.platform import MatrixUnit
from portmp.codegen.writer import Writer
from portmp.compilers import amd_code, select
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.discovery import probe
from portmp.emulator import device as emulated
from portmp.emulator import listing
from portmp.emulator.assembler import Row
from portmp.emulator.machine import Settings
from portmp.errors import ArgumentError
from portmp.formats import inputs
from portmp.routines import ceilings
from portmp.routines.gemm import launch
from portmp.routines.gemm.schedule import GemmSchedule, UnitSchedule, of_class
from portmp.routines.gemm.units import UnitLayout
from portmp.schedules import database as tuning
from portmp.schedules.database import Task

SHARED = 4096
"""Numbers of block memory in front of those that stand-ins for units share."""
SCHEDULES = (
    UnitSchedule(warps_m=1, warps_n=1, warp_m=16, warp_n=16, stages=2),
    UnitSchedule(warps_m=2, warps_n=1, warp_m=16, warp_n=8, stages=3, group=1),
)
WIDE = UnitSchedule(warps_m=2, warps_n=2, warp_m=32, warp_n=32, stages=2)


NVIDIAS, AMDS = platform.get("cuda").matrix_units, platform.get("rocm").matrix_units
MADE = UnitSchedule(warps_m=2, warps_n=1, warp_m=16, warp_n=16, tile_k=8, stages=3, lanes=64, pad=1)


NUMBERS = count()


def by_hand_of(unit: MatrixUnit) -> MatrixUnit:
    """One of its layout, of multiply-adds for which the threads of a warp share what they hold."""

    def statement(sums: Sequence[str], left: Sequence[str], right: Sequence[str]) -> str:
        lane = f"get_local_id(0) % {unit.lanes}"
        warp = f"const int lane = {lane}, warp = get_local_id(0) / {unit.lanes};"
        held = f"((__local double *)dynamic_ + {SHARED} + warp * 128)"
        (along, step), (row, column) = unit.factors, unit.sums
        lines = [
            f"{held}[({along} + {unit.across * i}) * 4 + {step}] = {x};" for i, x in enumerate(left)
        ]
        lines.append(f"{held}[64 + ({step}) * {unit.columns} + {along}] = {right[0]};")
        lines.append("barrier(CLK_LOCAL_MEM_FENCE);")
        for t in range(unit.steps):
            lines += [
                f"{one} = fma({held}[({row} + {i // unit.beside * unit.row_step}) * 4 + {t}], "
                f"{held}[64 + {t * unit.columns} + {column} + {i % unit.beside}], {one});"
                for i, one in enumerate(sums)
            ]
        return " ".join(["{", warp, *lines, "barrier(CLK_LOCAL_MEM_FENCE); }"])

    return replace(unit, statement=statement)


def copied(nbytes: int) -> str:
    """What a copy to block memory does, at once."""
    words = [f"({{0}})[{i}] = ({{2}}) > {8 * i} ? ({{1}})[{i}] : 0.0;" for i in range(nbytes // 8)]
    return " ".join(words)


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[MatrixUnit], Device]]:
    """A CPU that is given a stand-in for a unit."""
    if (missing := problem("cpu")) is not None:
        need("cpu", missing)
    device = discovery.get("cpu:0")
    kept = device.traits

    def given(unit: MatrixUnit) -> Device:
        name = f"by hand {next(NUMBERS)}"  # texts are kept by it
        table = replace(
            platform.get(device.platform),
            matrix_units={name: unit},
            tile_copies={nbytes: copied(nbytes) for nbytes in (8, 16)},
            tile_copies_end="",
            tile_copies_wait="",
        )
        monkeypatch.setitem(platform.PLATFORMS, device.platform, table)
        device.traits = replace(kept, matrix_unit=name)
        return device

    shared = 8 * (SHARED + 8 * 128)
    monkeypatch.setattr(UnitSchedule, "block_memory", lambda schedule: shared)
    yield given
    device.traits = kept


def host(x: Any) -> np.ndarray[Any, Any]:
    """Numbers as they are."""
    return np.asarray(x, np.float64)


def same(x: Any, y: Any) -> bool:
    """Whether all bits are equal; NaN is NaN."""
    x, y = host(x), host(y)
    return bool(np.all((x.view(np.int64) == y.view(np.int64)) | (np.isnan(x) & np.isnan(y))))


def numbers(shape: tuple[int, ...], kind: str) -> np.ndarray[Any, Any]:
    """Numbers of a kind: ordinary ones, hostile ones, or zeros and what underflows."""
    form = formats.get("float64")
    count = int(np.prod(shape))
    if kind == "hostile":
        return inputs.hostile(form, count, f"units {shape}")[0].reshape(shape)
    ordinary = inputs.ordinary(form, shape, f"units {shape}")[0]
    if kind == "tiny":
        return np.where(np.abs(ordinary) < 0.7, -0.0, np.ldexp(ordinary, -560))
    return ordinary


def operands(
    where: Any, sizes: tuple[int, int, int], kind: str, turned: str
) -> tuple[mp.Array, ...]:
    """Numbers of a kind for a product and its addend; those *turned* lie transposed."""
    m, n, k = sizes
    hosts = {"a": numbers((m, k), kind), "b": numbers((k, n), kind), "c": numbers((m, n), kind)}
    return tuple(
        mp.array(one.T.copy(), "float64", where).T
        if name in turned
        else mp.array(one, "float64", where)
        for name, one in hosts.items()
    )


@pytest.mark.parametrize(
    ("m", "n", "k", "kind", "schedule", "turned"),
    [
        (1, 1, 1, "ordinary", SCHEDULES[0], ""),
        (17, 23, 37, "tiny", SCHEDULES[1], "a"),
        (16, 8, definition.SLAB + 19, "tiny", SCHEDULES[0], "b"),
        (33, 18, 64, "hostile", SCHEDULES[1], ""),
        (4, 6, 2 * definition.SLAB, "ordinary", SCHEDULES[1], "ab"),
        (5, 3, 0, "ordinary", SCHEDULES[0], ""),
        (33, 18, 43, "hostile", MADE, "a"),
    ],
)
def test_products(
    m: int,
    n: int,
    k: int,
    kind: str,
    schedule: UnitSchedule,
    turned: str,
    by_hand: Callable[[MatrixUnit], Device],
) -> None:
    """Any sizes, *turned* operands, slabs apart and together, addends in place: the same bits."""
    unit = AMDS["16x16x4"] if schedule.lanes == 64 else NVIDIAS["16x8x4"]
    queue = by_hand(by_hand_of(unit)).queue

    def product(where: Any, **options: Any) -> Any:
        x, y, z = operands(where, (m, n, k), kind, turned)
        return mp.gemm(x, y, alpha=-2.5, beta=0.5, c=z, out=z, **options), mp.gemm(x, y, **options)

    for one in (schedule, schedule.for_call(split=True)):
        for got, expected in zip(product(queue, schedule=one), product("host"), strict=True):
            assert same(got, expected)


def test_batches_and_views(by_hand: Callable[[MatrixUnit], Device]) -> None:
    """Batches, rows that lie apart, odd starts: what lies around is not touched."""
    queue = by_hand(by_hand_of(NVIDIAS["8x8x4"])).queue
    a, b = numbers((3, 40, 50), "ordinary"), numbers((3, 50, 19), "ordinary")
    x, y = mp.array(a, "float64", queue), mp.array(b, "float64", queue)
    around = mp.full((3, 40, 24), 7.0, "float64", queue)
    out = around[:, ::2, 1:20]
    mp.gemm(x[:, ::2, 1:], y[:, 1:], out=out, schedule=SCHEDULES[0])
    expected = mp.gemm(
        mp.array(a[:, ::2, 1:], "float64", "host"), mp.array(b[:, 1:], "float64", "host")
    )
    assert same(out, expected)
    out[...] = 7.0
    assert same(around, np.full((3, 40, 24), 7.0))


# --- the probe -------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [*NVIDIAS.values(), *AMDS.values()], ids=[*NVIDIAS, *AMDS])
def test_other_orders_differ(unit: MatrixUnit) -> None:
    """What a unit would make that adds up otherwise is told from the chain, often."""
    a, b, c = probe.factors(unit.rows, unit.columns)
    chain = probe.chain(a, b, c)
    with np.errstate(all="ignore"):
        products = a[..., None] * b[:, None]
        sums = {
            "descending": probe.chain(a[..., ::-1], b[:, ::-1], c),
            "products rounded": _in_groups(products, c, 1),
            "pairs first": _in_groups(products, c, 2),
            "the sum last": _in_groups(products, c, probe.DEPTH),
            "flushed": np.where(np.abs(chain) < np.finfo(float).tiny, 0.0, chain),
        }
    for name, other in sums.items():
        wrong, _ = probe._differences([other], [chain])
        assert wrong > 100, name


def _in_groups(products: np.ndarray[Any, Any], c: np.ndarray[Any, Any], size: int) -> Any:
    """So many neighbouring products are rounded and added first, then to the sum."""
    for step in range(0, products.shape[2], size):
        c = c + products[:, :, step : step + size].sum(2)
    return c.ravel()


def in_probe(unit: MatrixUnit, order: str) -> MatrixUnit:
    """A stand-in for the probe's kernel, which reads its operands where they lie."""

    def statement(sums: Sequence[str], left: Sequence[str], right: Sequence[str]) -> str:
        lines, (first, column) = [], unit.sums
        for i, one in enumerate(sums):
            place = f"{first} + {i // unit.beside * unit.row_step}"
            row = f"(block * {unit.rows} + {place}) * {probe.DEPTH} + step"
            at = f"(block * {probe.DEPTH} + step) * {unit.columns} + {column} + {i % unit.beside}"
            a = [f"a0[{row} + {t}]" for t in range(unit.steps)]
            b = [f"b0[{at} + {unit.columns * t}]" for t in range(unit.steps)]
            steps = list(zip(a, b, strict=True))
            if order == "pairs":
                pairs = [(steps[0], steps[1]), (steps[2], steps[3])]
                lines += [f"{one} += fma({x}, {y}, {z} * {w});" for (x, y), (z, w) in pairs]
            else:
                steps = steps[::-1] if order == "descending" else steps
                lines += [f"{one} = fma({x}, {y}, {one});" for x, y in steps]
        return " ".join(lines)

    return replace(unit, statement=statement)


@pytest.mark.parametrize(
    ("unit", "order"),
    [
        (NVIDIAS["16x8x4"], "chain"),
        (NVIDIAS["16x8x4"], "descending"),
        (AMDS["16x16x4"], "chain"),
        (AMDS["16x16x4"], "pairs"),
    ],
)
def test_unit_that_adds_up_otherwise(
    unit: MatrixUnit, order: str, by_hand: Callable[[MatrixUnit], Device]
) -> None:
    """Only the definition's order is taken."""
    verdict = probe.examine(by_hand(in_probe(unit, order)))
    assert not verdict.refusal
    assert bool(verdict.traits.matrix_unit) == (order == "chain")


def test_unit_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that refuses its text costs the unit, not the device."""
    if (missing := problem("cpu")) is not None:
        need("cpu", missing)
    device = discovery.get("cpu:0")
    monkeypatch.setattr(device, "traits", replace(device.traits, matrix_unit="16x8x4"))
    verdict = probe.examine(device)
    assert not verdict.refusal
    assert not verdict.traits.matrix_unit
    assert any("matrix unit" in repair for repair in verdict.repairs)


# --- schedules -------------------------------------------------------------------------------


def test_schedules_are_checked(by_hand: Callable[[MatrixUnit], Device]) -> None:
    """What does not fit is named."""
    device = by_hand(by_hand_of(NVIDIAS["16x8x4"]))
    form = formats.get("float64")
    for wrong, word in (
        (UnitSchedule(warp_m=24), "warp_m 24"),
        (UnitSchedule(warp_n=12), "warp_n 12"),
        (UnitSchedule(tile_k=24), "tile_k 24"),
        (UnitSchedule(stages=1), "1 stages"),
        (UnitSchedule(warp_m=128), "results"),
        (UnitSchedule(warps_m=0), "warps_m"),
        (UnitSchedule(warp_m=48, warps_n=1), "tile_m 96 and 64 threads"),
        (UnitSchedule(pad=-1), "pad -1"),
        (UnitSchedule(lanes=64), "lanes 64 given, warps of .* have 32"),
    ):
        with pytest.raises(ArgumentError, match=word):
            wrong.check(form, device)
    SCHEDULES[0].check(form, device)
    for name in ("dd", "float32"):
        with pytest.raises(ArgumentError, match="they are for float64"):
            SCHEDULES[0].check(formats.get(name), device)


@pytest.mark.parametrize("lanes", [32, 64])
def test_smaller_tiles_fit(lanes: int) -> None:
    """Tiles for few rows or columns, or for many compute units, are such that checks take."""
    whole = UnitSchedule() if lanes == 32 else AMD
    seen = [whole]
    while (smaller := seen[-1].spread(formats.get("float64"))) is not None:
        seen.append(smaller)
    seen += [whole.fitting(m, n) for m in (9, 40, 1000) for n in (9, 40, 1000)]
    for one in seen:
        assert one.tile_m * one.tile_k % one.threads == one.tile_n * one.tile_k % one.threads == 0
        assert one.warp_m % 16 == one.warp_n % (lanes // 4) == 0
        assert one.threads * one.blocks <= 512
        assert all(
            one.for_call(a_order=a, b_order=b).block_memory() <= 65536 for a, b in ORDERS
        ) or (lanes == 32)
    assert (seen[1].tile_m, seen[1].tile_n) == (64, 64)


# --- compiled --------------------------------------------------------------------------------


@pytest.mark.parametrize(("a_order", "b_order"), [("k", "n"), ("m", "k")])
def test_reads_meet_no_bank_twice(a_order: str, b_order: str) -> None:
    """Of block memory, whose 16 banks of eight bytes serve half of a warp of 32 at a time."""
    task = Task("gemm", formats.get("float64"), "accurate", "large")
    nvidia = {"kind": "gpu", "platform": "cuda", "vendor": "NVIDIA"}
    chosen = next(tuning._candidates(nvidia, task)).schedule
    assert isinstance(chosen, UnitSchedule)
    table = platform.get("cuda")
    traits = replace(table.defaults, matrix_unit="16x8x4")
    writer = Writer(table, traits, formats.get("float64"), 1, set(), ())
    schedules = [chosen]
    while smaller := schedules[-1].spread(formats.get("float64")):
        schedules.append(smaller)
    for schedule in schedules:
        called = schedule.for_call(a_order=a_order, b_order=b_order)
        for tile in UnitLayout(called).tiles(writer):
            for half in range(2):
                lanes = range(16 * half, 16 * half + 16)
                places = [eval(tile.index(str(lane // 4), str(lane % 4))) for lane in lanes]
                assert len({place % 16 for place in places}) == 16


@pytest.mark.parametrize(("arch", "unit"), [("sm_80", "8x8x4"), ("sm_90", "16x8x4")])
def test_compiles(arch: str, unit: str) -> None:
    """NVRTC takes the texts."""
    if (missing := problem("nvrtc")) is not None:
        need("nvrtc", missing)
    traits = replace(platform.get("cuda").defaults, matrix_unit=unit)
    for schedule in (WIDE, WIDE.for_call(a_order="m", b_order="k", wide=False, split=True)):
        specs = launch.compilation_unit("float64", schedule)
        text = kernel_spec.rendered(specs, "cuda", traits).text
        assert f"mma.sync.aligned.m{unit.split('x', maxsplit=1)[0]}n8k4" in text
        assert NvrtcCompiler().compile(text, arch)
    rate = ceilings.unit_rate_spec(256).render("cuda", traits).text
    assert rate.count("mma.sync.aligned") == ceilings.CHAINS
    assert NvrtcCompiler().compile(rate, arch)


AMD = UnitSchedule(tile_k=8, stages=2, lanes=64, pad=1)
ORDERS = ("kn", "kk", "mn", "mk")


@pytest.mark.parametrize(("arch", "tier"), [("gfx90a", "hiprtc"), ("gfx942", "clang")])
def test_compiles_for_amd(arch: str, tier: str) -> None:
    """The default: its matrix instructions, sums that stay in registers, nothing in memory."""
    if (missing := problem(tier)) is not None:
        need(tier, missing)
    traits = replace(platform.get("rocm").defaults, matrix_unit="16x16x4")
    text = kernel_spec.rendered(launch.compilation_unit("float64", AMD), "rocm", traits).text
    code = select.amd(arch).compile(text, arch)
    (report,) = amd_code.report(code, arch)
    assert report.registers <= 256 and not report.scratch
    names = Counter(one.mnemonic for _, one in listing.instructions(amd_code.unbundle(code)))
    products = [n for name, n in names.items() if name.startswith("v_mfma_f64_16x16x4")]
    assert products == [AMD.tile_k // 4 * (AMD.warp_m // 16) * (AMD.warp_n // 16)]
    assert not any(name.startswith("v_accvgpr") for name in names)


# --- interpreted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "n", "k", "kind", "turned"),
    [(17, 23, 37, "hostile", "ab"), (33, 18, definition.SLAB + 19, "tiny", "")],
)
def test_interpreted(m: int, n: int, k: int, kind: str, turned: str) -> None:
    """AMD's instruction: odd sizes, both orders, slabs together and apart, an addend in place."""
    device = interpreted("emulated:gfx90a")

    def product(where: Any, **options: Any) -> Any:
        x, y, z = operands(where, (m, n, k), kind, turned)
        return mp.gemm(x, y, alpha=-2.5, beta=0.5, c=z, out=z, **options)

    expected = product("host")
    for schedule in (MADE, MADE.for_call(split=True)):
        assert same(product(device, schedule=schedule), expected)
    assert same(product(device), expected)
    chosen = of_class(formats.get("float64"), device, "accurate", "large")
    assert chosen == AMD


def test_interpreted_unit_that_adds_pairs() -> None:
    """The instruction that adds two products first: the probe's numbers tell."""
    interpreted("emulated:gfx90a")

    def pairs(row: Row) -> Row:
        matrices = row.operation.startswith("v_mfma")
        return replace(row, operation=f"unfused_{row.operation}") if matrices else row

    for mutation, right in ((None, True), (pairs, False)):
        settings = Settings(mutation=mutation)
        device = emulated.opened("gfx90a", "gfx90a", discovery.interpreter(), settings)
        wrong, _ = probe._multiplied(device)
        assert (wrong == 0) == right


# --- on a device that has units --------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ordinary", "tiny", "hostile"])
def test_on_the_device(device: Device, kind: str) -> None:
    """Products of sizes with rests, by all orders, have the bits of tiles."""
    if not device.traits.matrix_unit:
        pytest.skip(f"{device.name} has no matrix unit")
    unit = platform.get(device.platform).matrix_units[device.traits.matrix_unit]
    wide = replace(WIDE, lanes=unit.lanes)
    for m, n, k in ((130, 127, 1030), (64, 64, 64), (261, 264, 2100), (7, 300, 33)):
        a, b = (mp.array(numbers(shape, kind), "float64", device) for shape in ((m, k), (k, n)))
        expected = mp.gemm(a, b, schedule=GemmSchedule())
        assert same(mp.gemm(a, b, schedule=wide), expected)
        assert same(mp.gemm(a, b), expected)
        other = mp.array(host(a).T.copy(), "float64", device).T
        assert same(mp.gemm(other, b, schedule=wide), expected)
