"""Schedules change speed, never bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow, slow
from tiers import INTERPRETED

import portmp as mp
from portmp import definition, discovery, formats
from portmp.arrays.viewed import wrapped
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.errors import ArgumentError
from portmp.formats import convert, inputs
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise import schedule as elementwise_schedule
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.gemm import launch as gemm_launch
from portmp.routines.gemm import schedule as gemm_schedule
from portmp.routines.gemm.schedule import GemmCall, GemmSchedule, PanelSchedule
from portmp.routines.reduce import launch as reduce
from portmp.routines.reduce import schedule as reduce_schedule
from portmp.routines.reduce.schedule import ACROSS, ReduceSchedule, SweepSchedule
from portmp.schedules import database

FORMATS = ("float32", "dd", "qs", "qd", "d+s")
WHY = "dozens of kernels a format; schedules move elements alike, whatever they are"
GEMM = (
    GemmSchedule(4, 4, 1, 1, 8, unroll=1),
    GemmSchedule(2, 8, 1, 2, 16, pad=1, stages=2, unroll=2),
    GemmSchedule(8, 2, 1, 1, 32, unroll=1, call=GemmCall(split=True)),
    GemmSchedule(4, 2, 2, 2, 4, vector=2, pad=2, stages=2, unroll=1, blocks=2),
    PanelSchedule(5, 1, 1),
    PanelSchedule(4, 3, 1),
)
"""Few results a work-item: CPU compilers take long for more."""

LARGE = GemmSchedule(16, 8, 4, 4, 8, vector=2, pad=2, unroll=8, blocks=2)

REDUCE = (
    ReduceSchedule(1, 1, 1),
    ReduceSchedule(3, 1, 2, combine_threads=32, call=ACROSS),
    ReduceSchedule(2, 2, 1, combine_threads=128),
    ReduceSchedule(2, 1, 1, staged=2),
    ReduceSchedule(1, 1, 1, staged=4),
    ReduceSchedule(5, 2, 2, staged=2, elements_per_access=4),
    SweepSchedule(3, 1, 2),
    SweepSchedule(3, 1, call=ACROSS),
)


def _with_widths(schedule: Any, device: Device) -> list[Any]:
    """The schedule with each vector width that the device's platform has; GPUs use none."""
    widths = platform.get(device.platform).vectors if device.properties.kind == "cpu" else (1,)
    return [replace(schedule, width=w) for w in widths]


def gemm_schedules(device: Device) -> list[Any]:
    """Schedules for any device."""
    return [*GEMM, *_with_widths(PanelSchedule(8, 2, 1), device)]


def reduce_schedules(device: Device) -> list[Any]:
    """Schedules for any device."""
    return [
        *REDUCE,
        *_with_widths(SweepSchedule(2), device),
        *_with_widths(SweepSchedule(2, call=ACROSS), device),
    ]


def _bits(result: mp.Array) -> list[bytes]:
    return [plane.tobytes() for plane in result.to_limbs()]


def _array(name: str, shape: tuple[int, ...], seed: str, device: Device) -> mp.Array:
    form = formats.get(name)
    return mp.from_limbs(inputs.ordinary(form, shape, seed), form, device)


@pytest.mark.parametrize("name", mostly_slow(FORMATS, ("dd",), WHY))
def test_gemm(device: Device, name: str) -> None:
    """Tiles, results a thread, vectors, padding, slabs shared by blocks: one result."""
    a = _array(name, (5, 2100), "a", device)
    b = _array(name, (2100, 8), "b", device)[:, :7]  # rows begin at multiples of 16 bytes
    c = _array(name, (5, 7), "c", device)
    usual = _bits(mp.gemm(a, b, alpha="0.1", beta=3, c=c))
    for schedule in gemm_schedules(device):
        got = mp.gemm(a, b, alpha="0.1", beta=3, c=c, schedule=schedule)
        assert _bits(got) == usual, schedule


WORDS = ["float32", "float64", "float16", "bfloat16", "fp64infp32"]


@slow(
    "each format with one device and one width",
    unless=lambda p: (
        p["anywhere"] == ("default", *INTERPRETED)[WORDS.index(p["form"]) % 3]
        and p["vector"] == (4, 2)[WORDS.index(p["form"]) // 3]
    ),
)
@pytest.mark.parametrize("vector", [4, 2])
@pytest.mark.parametrize("form", WORDS)
def test_whole_tiles_of_one_limb_are_the_hosts(anywhere: Device, form: str, vector: int) -> None:
    """Neighbours are stored at once: over slabs, beside tiles that are cut off, with infinities."""
    schedule = GemmSchedule(4, 4, 2, 4, 8, vector=min(vector, 2), pad=2, unroll=1)
    if vector == 4:
        schedule = replace(schedule, thread_m=4, vector=4, pad=4)
    m, n, k = schedule.tile_m + 3, schedule.tile_n + vector, definition.SLAB + 8
    f, found = formats.get(form), []
    a, b, c = (inputs.ordinary(f, s, "whole") for s in ((m, k), (k, n), (m, n)))
    a[0][1, 5], a[0][m - 1, 7], b[0][k - 1, 2] = np.inf, np.nan, -np.inf
    for where in (anywhere, "host:0"):
        left, right, addend = (mp.from_limbs(v, form, where) for v in (a, b, c))
        wide = mp.zeros((m, n + 1), form, where)
        left_out = mp.zeros((m, n + 3), form, where)
        given = [
            mp.gemm(left, right, schedule=schedule),
            mp.gemm(left, right, alpha="-0.3", beta="1.7", c=addend, schedule=schedule),
            mp.gemm(left, right, out=wide[:, :n], schedule=schedule),
            mp.gemm(left, right, out=left_out[:, 3:], schedule=schedule),
            mp.gemm(left, right, out=mp.zeros((n, m), form, where).T, schedule=schedule),
        ]
        found.append([v.to_limbs()[0] for v in (*given, wide, left_out)])
    for here, there in zip(*found, strict=True):
        assert np.array_equal(here, there, equal_nan=True)


@pytest.mark.parametrize("transposed", [False, True])
def test_gemm_of_a_short_format(device: Device, transposed: bool) -> None:
    """Tiles whose halves are stored apart, by rows and by columns; results that are not finite."""
    schedule = GemmSchedule(2, 4, 4, 4, 4, vector=2, pad=2, unroll=1)
    form = formats.get("slfp64in48b")
    first, second = (inputs.ordinary(form, (24, 24), seed) for seed in "ab")
    first[0][3, 5], first[0][21, 7], second[0][2, 22] = np.inf, np.nan, -np.inf
    a, b, c = (mp.from_limbs(v, form, device) for v in (first, second, first))
    if transposed:
        a, b = a.T, b.T
    usual = mp.gemm(a, b, alpha="0.1", beta=3, c=c)
    got = mp.gemm(a, b, alpha="0.1", beta=3, c=c, schedule=schedule)
    assert not np.isfinite(usual.to_limbs()[0]).all()
    assert _bits(got) == _bits(usual)


def test_few_tiles_get_finer() -> None:
    """Until each compute unit has one; large products keep their tiles."""
    coarse, dd = GemmSchedule(16, 8, 4, 4, 8, vector=2, pad=2), mp.formats.get("dd")
    assert gemm_launch._spread(dd, coarse, 4096, 4096, 1, 132) == coarse
    assert gemm_launch._spread(dd, coarse, 64, 64, 100, 132) == coarse
    two = gemm_launch._spread(dd, coarse, 256, 256, 1, 120)
    assert two == GemmSchedule(16, 8, 2, 2, 32, vector=2, pad=2)
    assert gemm_launch._spread(dd, coarse, 8, 8, 1, 132) == GemmSchedule(16, 8, 1, 1, 8)
    rows = ReduceSchedule(16, 8, 1, call=ACROSS)
    assert reduce._spread(rows, 2**14, 2, 132) == rows
    assert reduce._spread(rows, 2**13, 1, 132).rows == 2
    assert reduce._spread(rows, 100, 1, 132).rows == 1
    assert reduce._spread(SweepSchedule(8), 1, 1, 64).rows == 8


def test_bounds_leave_threads_on_a_compute_unit() -> None:
    """Half the results a thread where registers end, or where whole tiles leave three blocks."""
    tile = GemmSchedule(threads_m=8, threads_n=16, thread_m=8, thread_n=8, tile_k=8, vector=2)
    found = {
        name: tile.for_bounds(form, formats.with_bound(form)[1].accumulator("accurate"))
        for name, form in ((name, formats.get(name)) for name in ("float32", "float64"))
    }
    assert found["float32"] == replace(tile, thread_m=4, blocks=3)
    assert found["float64"] == replace(tile, thread_m=4)
    fixed, form = replace(tile, blocks=2), formats.get("float32")
    sums = formats.with_bound(form)[1].accumulators
    assert fixed.for_bounds(form, sums["accurate"]) == fixed
    two, form = GemmSchedule(thread_m=4, tile_k=16, vector=2, blocks=2), formats.get("qs")
    sums = formats.with_bound(form)[1].accumulators
    assert two.for_bounds(form, sums["accurate"]) == replace(two, thread_m=2)
    assert two.for_bounds(form, sums["fast"]) == two


def test_deeper_tiles_fit_every_block() -> None:
    """Tiles of few blocks get deeper while memory that every GPU has holds them, no further."""
    for form in map(mp.formats.get, mp.formats.STANDARD):
        for stages in (1, 2):
            s = GemmSchedule(4, 16, 2, 4, 16, vector=2, pad=2, stages=stages)
            before = s.shared_bytes(form)
            for n in (64, 1000, 4480, 8192):
                found = gemm_launch._spread(form, s, 8, n, 1, 132)
                assert found.shared_bytes(form) <= max(before, 32768), (form.name, stages, n)


def test_tiles_of_thin_products() -> None:
    """As wide as the product, not twice as wide; the other side as it was."""
    wide = GemmSchedule(8, 16, 8, 8, 8, vector=2, pad=2, unroll=8)
    assert wide.fitting(4096, 4096) == wide
    thin = wide.fitting(4096, 64)
    assert (thin.tile_m, thin.tile_n, thin.thread_n, thin.vector) == (64, 64, 4, 2)
    assert wide.fitting(4096, 65) == wide
    least = wide.fitting(1, 2)
    assert (least.tile_m, least.tile_n) == (8, 16) and (least.vector, least.pad) == (1, 0)


@pytest.mark.parametrize("name", mostly_slow(["ts", "dd"], ("ts",), WHY))
def test_fast_sums(device: Device, name: str) -> None:
    """The same of the fast accumulators, whose steps come in fours; every third schedule."""
    a, b = (_array(name, shape, "fast", device) for shape in ((3, 1036), (1036, 6)))
    x = b[:, 0].copy()
    usual = _bits(mp.gemm(a, b, accuracy="fast")), _bits(mp.gemv(a, x, accuracy="fast"))
    assert usual[0] != _bits(a @ b)
    for schedule in gemm_schedules(device)[::3]:
        got = mp.gemm(a, b, accuracy="fast", schedule=schedule)
        assert _bits(got) == usual[0], schedule
    for schedule in reduce_schedules(device)[2::3]:
        assert _bits(mp.gemv(a, x, accuracy="fast", schedule=schedule)) == usual[1], schedule


def _part(case: dict[str, Any]) -> bool:
    return case["part"] is not None


@slow("each schedule with one of the formats", unless=_part)
@pytest.mark.parametrize(
    ("name", "part"),
    [("float32", 0), ("qs", 1), ("d+s", 2), ("float32", None), ("qs", None), ("d+s", None)],
)
def test_gemv_and_dot(device: Device, name: str, part: int | None) -> None:
    """Rows a block, vectors, which index runs fastest: one result. *part*: of three."""
    a = _array(name, (5, 8300), "a", device)
    x = _array(name, (8300,), "x", device)
    usual = _bits(mp.gemv(a, x)), _bits(mp.dot(a[0], x))
    schedules = reduce_schedules(device)
    for schedule in schedules if part is None else schedules[part::3]:
        got = _bits(mp.gemv(a, x, schedule=schedule)), _bits(mp.dot(a[0], x, schedule=schedule))
        assert got == usual, schedule


@pytest.mark.parametrize("chunks", [31, 33, 100, 256, 257, 700])
def test_many_chunks(device: Device, chunks: int) -> None:
    """Chunks that threads combine in memory, in registers and in shared memory: one tree."""
    size = chunks * definition.CHUNK - 5
    x = mp.from_limbs(
        [np.resize(inputs.ordinary(formats.get("float32"), (99991,), "m")[0], size)],
        "float32",
        device,
    )
    usual = _bits(mp.dot(x, x))
    for threads in (32, 64):
        got = mp.dot(x, x, schedule=ReduceSchedule(8, 1, 4, combine_threads=threads))
        assert _bits(got) == usual, threads


ROWS = ["float32", "ts", "slfp64in48b"]


@slow(
    "each format with the default device and another one",
    unless=lambda p: (
        p["anywhere"] == "default"
        or (p["anywhere"], p["name"]) in zip(INTERPRETED, ROWS[1:], strict=True)
    ),
)
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_one_chunk(anywhere: Device, name: str) -> None:
    """A kernel alone ends them: scaled, added to, and where they are not finite, as on the host."""
    form, rows = formats.get(name), 5
    for size in (1, 70):
        planes = [p.copy() for p in inputs.ordinary(form, (rows, size), "rows")]
        for row, values in ((1, [np.inf]), (2, [np.nan]), (3, [-np.inf, np.inf][-size:])):
            for i, limb in enumerate(planes):
                limb[row, -len(values) :] = values if i == 0 else 0
        found = []
        for where in (anywhere, discovery.get("host:0")):
            a = mp.from_limbs(planes, name, where)
            x, c = (_array(name, (n,), "x", where) for n in (size, rows))
            for schedule in (ReduceSchedule(1), ReduceSchedule(2, staged=2)):
                given = [
                    mp.gemv(a, x, alpha="0.3", beta="-1.7", y=c, schedule=schedule),
                    mp.gemv(a, x, alpha=0, beta=1, y=c, schedule=schedule),
                    mp.dot(a[0], x, schedule=schedule),
                ]
                given += [wrapped(reduce.over_rows(k, a.planes, schedule)) for k in ("sum", "max")]
                found.append([convert.canonical_nan_bits(p) for v in given for p in v.to_limbs()])
        for one in found:
            assert all(map(np.array_equal, one, found[-1])), size
            assert len(one) == len(found[-1])


def test_rows_that_a_work_item_combines_alone(device: Device) -> None:
    """Also those that are not finite: infinities stay, where limbs alone would give NaN."""
    name = "ts"
    host = inputs.ordinary(formats.get(name), (70 * 8300,), "rows")
    planes = [p.reshape(70, 8300).copy() for p in host]
    for row, column, value in (
        (3, 5, np.nan),
        (7, 8299, np.inf),
        (9, 3, np.inf),
        (9, 4, -np.inf),
        (66, 8250, -np.inf),
    ):
        planes[0][row, column] = value
        for lower in planes[1:]:
            lower[row, column] = 0
    a = mp.from_limbs(planes, name, device)
    x = mp.array(np.ones(8300), name, device)
    alone, block = (
        mp.gemv(a, x, schedule=ReduceSchedule(2, 1, 1, combine_threads=threads)).to_limbs()
        for threads in (32, 128)
    )
    for one, other in zip(alone, block, strict=True):
        assert (convert.canonical_nan_bits(one) == convert.canonical_nan_bits(other)).all()
    assert alone[0][[7, 66]].tolist() == [np.inf, -np.inf]
    assert np.isnan(alone[0][[3, 9]]).all() and np.isfinite(alone[0]).sum() == 66
    for kind in ("sum", "max"):
        one, other = (
            reduce.over_rows(kind, a.planes, ReduceSchedule(2, 1, 1, combine_threads=threads))
            for threads in (32, 128)
        )
        for p, q in zip(one.read_dense(), other.read_dense(), strict=True):
            assert (convert.canonical_nan_bits(p) == convert.canonical_nan_bits(q)).all(), kind


@pytest.mark.parametrize(
    "name",
    mostly_slow(["float32", "ds", "td", "d+s", "slfp64in40b"], ("ds", "d+s", "slfp64in40b"), WHY),
)
def test_elementwise(device: Device, name: str) -> None:
    """Threads, elements a thread, vectors; dense and strided operands, starts at any word."""
    x, y, z = (_array(name, (1003,), seed, device) for seed in "xyz")
    schedules = [FlatSchedule(32, 3), FlatSchedule(64, 1)]
    for schedule in schedules + _with_widths(FlatSchedule(3, 2), device):
        for first, step in ((3, 1), (4, 1), (3, 2)):
            views = [v[first:1001:step] for v in (x, y, z)]
            wanted = _bits(mp.fma(*views))
            got = elementwise.apply("fma", [v.planes for v in views], schedule=schedule)
            assert [p.tobytes() for p in got.read_dense()] == wanted, (schedule, first, step)
            whole = mp.zeros(1003, name, device)
            inside = whole[first:1001:step]
            elementwise.apply("fma", [v.planes for v in views], inside.planes, schedule=schedule)
            assert _bits(inside) == wanted
            outside = np.ones(1003, bool)
            outside[first:1001:step] = False
            assert not whole.to_limbs()[0][outside].any(), "written beyond the end"


def test_other_things_are_no_schedules(device: Device) -> None:
    """With words."""
    a = _array("dd", (2, 2), "a", device)
    for wrong in ("fast", {}, ReduceSchedule()):
        with pytest.raises(ArgumentError, match=r"schedule: .* is allowed"):
            mp.gemm(a, a, schedule=wrong)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"schedule: .* is allowed"):
        mp.gemv(a, a[0], schedule=GemmSchedule())  # type: ignore[arg-type]


@pytest.fixture
def forgetful() -> Iterator[None]:
    """What was found for a changed device is not kept for others."""
    yield
    database.reload()


def test_defaults_fit_small_devices(
    device: Device, monkeypatch: pytest.MonkeyPatch, forgetful: None
) -> None:
    """A GPU that allows 64 threads a block, a CPU with 32 KiB of local memory."""
    facts = device.properties
    small = replace(facts, kind="gpu", max_threads=64)
    monkeypatch.setattr(device, "properties", small)
    database.reload()
    for name in formats.STANDARD:
        form = formats.get(name)
        for shape in ((1000, 1000), (100, 100), (1000, 1), (20, 1000)):
            size = gemm_schedule.gemm_shape(*shape)
            gemm_schedule.of_class(form, device, "fast", size).check(form, device)
        for rows in database.SHAPES["reduce"]:
            reduce_schedule.reduce(form, device, "accurate", rows).check(form, device)
        assert elementwise_schedule.flat(form, device).threads <= 64
    monkeypatch.setattr(device, "properties", replace(facts, kind="cpu", shared_memory=32768))
    database.reload()
    for name in formats.STANDARD:
        form = formats.get(name)
        for shape in ((1000, 1000), (100, 100), (1000, 1), (20, 1000)):
            size = gemm_schedule.gemm_shape(*shape)
            gemm_schedule.of_class(form, device, "fast", size).check(form, device)


def test_short_rows(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """One row of few chunks for each compute unit has schedules of its own; bits are the same."""
    x = _array("qs", (3 * definition.CHUNK + 3,), "x", device)
    facts, found = device.properties, {}
    monkeypatch.setattr(reduce, "SHORT", 3)
    for units in (1, 2):
        monkeypatch.setattr(device, "properties", replace(facts, compute_units=units))
        found[reduce.shape_class(x.reshape(1, -1).planes)] = _bits(mp.dot(x, x))
    assert list(found) == ["one", "short"]
    assert len(set(map(tuple, found.values()))) == 1
    assert reduce.shape_class(x.reshape(3, -1).planes) == "along"
    assert reduce.shape_class(x.reshape(-1, 3).T.planes) == "across"


def test_dot_is_gemv_with_one_row(device: Device) -> None:
    """One definition for both."""
    a = _array("td", (3, 500), "a", device)
    x = _array("td", (500,), "x", device)
    rows = mp.gemv(a, x).to_limbs()
    one = mp.dot(a[1], x).to_limbs()
    assert all(np.array_equal(r[1], o) for r, o in zip(rows, one, strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tile_k": 24}, r"tile_k 24 does not divide 32"),
        ({"tile_k": 2, "unroll": 1}, r"tile_k 2 is no multiple of 4"),
        ({"tile_k": 0}, "tile_k 0 given, positive"),
        ({"unroll": 3}, "unroll 3 does not divide 8"),
        ({"thread_m": -1}, "thread_m -1 given, positive"),
        ({"pad": -2}, "pad -2 given"),
        ({"thread_n": 6}, "tile_n 48 and 128 threads"),
        ({"pad": 1}, "pad 1 is no multiple of vector 2"),
        ({"stages": 3}, "stages 3 given"),
        ({"threads_m": 4096, "threads_n": 4096}, r"threads a block, .* allows \d+"),
        ({"thread_m": 16, "thread_n": 8}, "16 x 8 results of a thread given, at most 64"),
        ({"threads_m": 64, "tile_k": 32}, r"\d+ bytes of shared memory, .* has \d+"),
    ],
)
def test_schedules_that_do_not_fit_are_refused(
    device: Device, change: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the numbers."""
    small = replace(device.properties, shared_memory=2**16, extra={})
    monkeypatch.setattr(device, "properties", small)
    a = _array("dd", (2, 2), "a", device)
    with pytest.raises(ArgumentError, match=message):
        mp.gemm(a, a, schedule=replace(LARGE, **change))
