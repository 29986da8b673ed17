"""``portmp bench``: floors, exact errors, results as data, comparison, bad use."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from portmp import formats
from portmp.backends.base import Device
from portmp.backends.cuda import nvml
from portmp.backends.cuda import runtime as cuda
from portmp.backends.opencl import runtime as opencl
from portmp.backends.rocm import runtime as rocm
from portmp.bench import blas as bench_blas
from portmp.bench import cases as blas
from portmp.bench import compare, exact, experiment, measure, options, peers, reports, roofline
from portmp.bench.cases import Case
from portmp.bench.roofline import Ceilings
from portmp.bench.tables import Column, Table, key
from portmp.bench.values import Values, power_of_two
from portmp.cli import main
from portmp.discovery import finding
from portmp.errors import ArgumentError, BackendUnavailable, DeviceError, InputError
from portmp.formats import convert, inputs
from portmp.routines.elementwise.work import root
from portmp.routines.work import Entry, Walk

Run = Callable[..., tuple[int, str, str]]
RATES = {
    "float32": {"fma": 8e9, "add": 4e9},
    "float64": {"fma": 2e9, "add": 1e9},
    "int8": {"fma": 3e9},
    "float64 products": {"fma": 1e9},
}
GPU, CPU = (Ceilings(kind, RATES, 1e9, by) for kind, by in (("gpu", "copy"), ("cpu", "triad")))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run ``portmp bench`` in a folder of its own; gives status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        try:
            status = main(["bench", *words])
        except SystemExit as stop:
            status = int(str(stop.code))
        out = capsys.readouterr()
        return status, out.out, out.err

    return call


@pytest.fixture
def given_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ceilings without measuring them."""
    monkeypatch.setattr(roofline, "measured", lambda device, words, *_: CPU)


@cache
def validator() -> Any:
    """What validates reports by the schema, which is one."""
    kind = importlib.import_module("jsonschema").Draft202012Validator
    kind.check_schema(reports.schema())
    return kind(reports.schema())


def described(data: dict[str, Any]) -> None:
    """The schema describes a report."""
    if importlib.util.find_spec("jsonschema"):
        assert list(validator().iter_errors(data)) == []


def rows_of(device: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a device's part."""
    found: list[dict[str, Any]] = device["experiments"]["blas"]["rows"]
    return found


def case(routine: str, form: str, shape: tuple[int, ...], accuracy: str = "accurate") -> Case:
    """A case by names."""
    return Case(blas.routine(routine), formats.get(form), accuracy, shape)


# --- floors --------------------------------------------------------------------------------


def test_floors_by_hand() -> None:
    """Instructions of the networks, bytes once each, the larger time of the two."""
    # dd: 18 a step and 18 every 32 steps; fast: 12 and 3 every 4. Bytes: A, B, C of 16 each.
    shape, steps = (4, 8, 1024), 4 * 8 * 1024
    values = 4 * 1024 + 1024 * 8 + 4 * 8
    accurate = roofline.floor(case("gemm", "dd", shape), GPU)
    assert accurate.arithmetic == pytest.approx(steps * (18 + 18 / 32) / 2e9, rel=1e-12)
    assert accurate.memory == pytest.approx(16 * values / 1e9, rel=1e-12)
    assert (accurate.seconds, accurate.bound) == (accurate.arithmetic, "arithmetic")
    fast = roofline.floor(case("gemm", "dd", shape, "fast"), GPU)
    assert fast.arithmetic == pytest.approx(steps * (12 + 3 / 4) / 2e9, rel=1e-12)
    # So it is in each lane of a reduction.
    dot = roofline.floor(case("dot", "dd", (1000,)), GPU)
    assert dot.arithmetic == pytest.approx(1000 * (18 + 18 / 32) / 2e9, rel=1e-12)
    assert dot.memory == pytest.approx(16 * 2001 / 1e9, rel=1e-12)
    assert dot.bound == "memory"
    # axpy: add2 (20) of mul2 (9), and the guard's fma. One limb: one fma.
    axpy = roofline.floor(case("axpy", "dd", (1000,)), GPU)
    assert axpy.arithmetic == pytest.approx(1000 * 30 / 2e9, rel=1e-12)
    assert axpy.memory == pytest.approx(16 * 3000 / 1e9, rel=1e-12)
    plain = roofline.floor(case("gemv", "float32", (10, 20)), GPU)
    assert plain.arithmetic == pytest.approx(200 / 8e9, rel=1e-12)
    assert plain.memory == pytest.approx(4 * (200 + 20 + 10) / 1e9, rel=1e-12)
    # Products of float64: at the rate of matrix units where there are some.
    product, words = case("gemm", "float64", (10, 20, 30)), {"fma": 2e9, "add": 2e9}
    for rates, rate in ((words, 2e9), (words | {"unit": 5e9}, 5e9)):
        limits = roofline.Ceilings("gpu", {"float64": rates}, 1e9, "copy")
        assert roofline.floor(product, limits).arithmetic == pytest.approx(6000 / rate, rel=1e-12)


def test_floors_of_cpus() -> None:
    """Additions have pipes of their own there: the slower kind counts."""
    # A step of dd: 14 additions, 1 product and 3 fmas; renormalisation: 18 additions.
    floor = roofline.floor(case("gemm", "dd", (4, 8, 256)), CPU)
    assert floor.arithmetic == pytest.approx(4 * 8 * 256 * (14 + 18 / 32) / 1e9, rel=1e-12)
    assert (
        roofline.arithmetic(
            {"add": 2, "mul": 3, "fma": 4, "div": 1, "select": 9}, "cpu", {"fma": 2, "add": 1}
        )
        == 4
    )
    assert roofline.arithmetic({"add": 2, "mul": 3, "fma": 4, "select": 9}, "gpu", {"fma": 3}) == 3


def test_the_better_ceilings_count() -> None:
    """Each rate on its own."""
    other = Ceilings(
        "cpu",
        {
            "float32": {"fma": 9e9, "add": 1e9},
            "float64": RATES["float64"],
            "int8": RATES["int8"],
            "float64 products": RATES["float64 products"],
        },
        5e8,
        "triad",
    )
    best = CPU.best(other)
    assert best.instructions["float32"] == {"fma": 9e9, "add": 4e9}
    assert (best.memory, best.memory_by, best.kind) == (1e9, "triad", "cpu")
    assert best.as_dict()["memory"] == {"bytes_per_second": 1e9, "by": "triad"}


def test_ceilings_need_float64() -> None:
    """A device without it is told so before anything is measured."""
    device: Any = SimpleNamespace(name="x:0", properties=SimpleNamespace(float64=False))
    with pytest.raises(ArgumentError, match="x:0 has no float64"):
        roofline.measured(device, {"float64"})
    assert {f.word for f in blas.usual_formats(False)} == {"float32"}


# --- exact errors --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float32", "qs", "dd", "d+s", "qd"])
def test_values_are_full_and_exactly_known(name: str) -> None:
    """Normalised, in (-1, 1), and the same as integers; any place gives the same value."""
    form = formats.get(name)
    values = Values(form)
    places = np.arange(0, values.period, values.period // 50)
    integers = values.integers(places)
    for place, integer in zip(places, integers, strict=True):
        value = convert.to_fraction([float(p[place]) for p in values.block])
        assert value == int(integer) * power_of_two(values.exponent) == values.number(place)
    assert all(np.abs(p).max() <= 1 for p in values.block)
    for high, low in zip(values.block, values.block[1:], strict=False):
        assert (np.abs(low) <= np.spacing(np.abs(high)) / 2).all()
        assert np.count_nonzero(low) > 0.99 * low.size
    taken = values.take(values.period - 3, (2, 4))
    assert [p[1, 0] for p in taken] == [p[1] for p in values.block]
    assert (Values(form, positive=True).block[0] >= 0).all()


def test_sums_of_any_length() -> None:
    """A walk longer than the period is the sum of its rounds."""
    values = Values(formats.get("dd"))
    values.block = [p[:10] for p in values.block]
    numbers = [values.number(i) for i in range(10)]
    for x, y, count in (
        (Walk(3), Walk(8, 3), 27),
        (Walk(0, 7), Walk(9), 10),
        (Walk(1), Walk(1), 4),
    ):
        products = [
            numbers[(x.first + i * x.step) % 10] * numbers[(y.first + i * y.step) % 10]
            for i in range(count)
        ]
        entry = values.dot(x, y, count)
        assert entry.exact == sum(products)
        assert entry.terms == pytest.approx(float(sum(map(abs, products))), rel=1e-12)


@pytest.mark.parametrize(
    ("routine", "shape"),
    [
        ("gemm", (3, 4, 5)),
        ("gemm-batched", (2, 3, 4, 5)),
        ("gemv", (3, 5)),
        ("gemv-transposed", (3, 5)),
        ("dot", (7,)),
        ("axpy", (7,)),
        ("scal", (7,)),
        ("add", (7,)),
        ("mul", (7,)),
        ("div", (7,)),
        ("sqrt", (7,)),
    ],
)
def test_entries(routine: str, shape: tuple[int, ...]) -> None:
    """What an entry should be, against NumPy in float64 on the same operands."""
    one = case(routine, "float64", shape)
    values = Values(one.form, one.routine.positive)
    x, *rest = (values.take(s, n)[0] for s, n in zip(one.starts, one.operands, strict=False))
    y = rest[0] if rest else x
    expected = {
        "gemm": lambda: x @ y,
        "gemm-batched": lambda: x @ y,
        "gemv": lambda: x @ y,
        "gemv-transposed": lambda: x.T @ y,
        "dot": lambda: x @ y,
        "axpy": lambda: 0.3 * x + y,
        "scal": lambda: 0.3 * x,
        "add": lambda: x + y,
        "mul": lambda: x * y,
        "div": lambda: x / y,
        "sqrt": lambda: np.sqrt(x),
    }[routine]()
    assert np.shape(expected) == one.routine.result(shape)
    assert one.outputs == np.size(expected)
    for index, value in enumerate(np.ravel(expected)):
        entry = one.routine.entry(values, one.starts, shape, index)
        assert abs(float(entry.exact) - value) <= 1e-15 * entry.terms
        assert entry.terms >= abs(float(entry.exact)) * (1 - 1e-15)


def test_a_wrong_value_is_found() -> None:
    """An ulp is rounding, a lost limb is wrong, NaN has no error at all."""
    values = Values(formats.get("dd"))
    one = case("dot", "dd", (1000,))
    entry = one.routine.entry(values, one.starts, one.shape, 0)
    limbs = convert.round_to_limbs(entry.exact, one.form)
    unit = power_of_two(-106)
    good = exact.errors([exact.fraction(limbs)], [entry], unit)
    assert good.relative < 2**-106 and not good.wrong
    near = exact.errors([exact.fraction((limbs[0], np.nextafter(limbs[1], 1)))], [entry], unit)
    assert 0 < near.relative < 2**-100 and not near.wrong
    lost = exact.errors([exact.fraction((limbs[0], 0.0))], [entry], unit)
    assert lost.wrong and lost.relative == pytest.approx(abs(limbs[1] / limbs[0]), rel=1e-9)
    assert exact.fraction((math.nan, 0.0)) is None
    none = exact.errors([None], [entry], unit)
    assert none.wrong
    assert none.as_dict() == {"samples": 1, "relative": None, "scaled": None, "wrong": True}
    zero = exact.errors([Fraction(1)], [Entry(Fraction(0), 0.0)], unit)
    assert zero.wrong and zero.as_dict()["relative"] is None


def test_roots_of_small_numbers() -> None:
    """As many right bits as of large ones."""
    for x in (Fraction(2), Fraction(2, 10**40), Fraction(10**40, 3)):
        assert abs(root(x, 200) ** 2 / x - 1) < Fraction(1, 2**199)


# --- times ---------------------------------------------------------------------------------


def test_summary() -> None:
    """Median and quartiles of a call."""
    timing = measure.summary([8.0, 2.0, 4.0, 6.0, 10.0], 2)
    assert (timing.lower, timing.median, timing.upper) == (2.0, 3.0, 4.0)
    assert (timing.runs, timing.calls) == (5, 2)
    one = measure.summary([3.0], 1)
    assert (one.lower, one.median, one.upper) == (3.0, 3.0, 3.0)
    assert measure.calls_of(1e-9) == measure.MAX_CALLS
    assert measure.calls_of(1.0) == 1
    assert measure.runs_of(100.0, 1.0) == measure.FEWEST
    assert measure.runs_of(1e-3, 1.0) == measure.MOST


def test_clocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Read where a system tells them; else None, never an error."""
    table = tmp_path / "table"
    table.write_text("0: 132Mhz\n1: 1700Mhz *\n2: 2100Mhz\n")
    assert rocm._current_clock(table) == 1700
    table.write_text("cpu MHz\t\t: 1200.5\nflags: x\ncpu MHz\t\t: 2400.25\n")
    assert opencl._host_clock(table) == 2400.25
    assert rocm._current_clock(table) is None
    assert opencl._host_clock(tmp_path / "none") is rocm._current_clock(tmp_path / "none") is None

    def clock(handle: object, kind: int, target: Any) -> int:
        assert kind == 1
        target._obj.value = 1980
        return 0

    def version(target: Any, length: Any) -> int:
        target.value = b"580.1"
        return 0

    library = SimpleNamespace(
        nvmlDeviceGetHandleByPciBusId_v2=lambda address, handle: address != b"0000:19:00.0",
        nvmlDeviceGetClockInfo=clock,
        nvmlSystemGetDriverVersion=version,
    )
    found: dict[str, Any] = {"address": b"0000:19:00.0"}
    monkeypatch.setattr(nvml, "library", lambda: library)
    api = SimpleNamespace(
        CUdevice_attribute=SimpleNamespace(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED=0),
        cuDeviceGetAttribute=lambda attribute, device: (0, 0),
        cuDeviceGetPCIBusId=lambda length, device: (0, found["address"]),
    )
    driver = cuda.CudaDriver(api, 0)
    assert driver.clock_mhz() == 1980
    assert cuda._driver_version(13050) == "580.1 (CUDA 13.5)"
    del library.nvmlDeviceGetClockInfo
    assert driver.clock_mhz() is None
    found["address"] = b"another"
    assert cuda.CudaDriver(api, 0).clock_mhz() is None

    def missing() -> Any:
        raise BackendUnavailable("none")

    monkeypatch.setattr(nvml, "library", missing)
    found["address"] = b"0000:19:00.0"
    assert cuda.CudaDriver(api, 0).clock_mhz() is None
    assert cuda._driver_version(13050) == "CUDA 13.5"


# --- plans ---------------------------------------------------------------------------------


def test_plan() -> None:
    """Each case once; one-limb formats have one accuracy, elementwise routines none."""
    forms = [formats.get("dd"), formats.get("float64")]
    cases = blas.plan("cpu", [blas.routine("gemm"), blas.routine("axpy")], forms, "both", [64, 64])
    assert [str(c) for c in cases] == [
        "gemm dd accurate 64x64x64",
        "gemm dd fast 64x64x64",
        "axpy dd 64",
        "gemm float64 accurate 64x64x64",
        "axpy float64 64",
    ]
    with pytest.raises(ArgumentError, match="ts2021 have only accurate"):
        blas.plan("cpu", [blas.routine("dot")], [formats.get("ts2021")], "fast")
    for kind in ("cpu", "gpu"):
        for form in formats.STANDARD:
            usual = blas.plan(kind, list(blas.ROUTINES.values()), [formats.get(form)], "both")
            assert len({str(c) for c in usual}) == len(usual)
            assert all(c.memory < 70 * 2**30 for c in usual)


def test_samples_are_within() -> None:
    """The first and the last entry among them, the same each time."""
    one = case("gemm", "dd", (100, 90, 5))
    assert one.samples == one.samples
    assert len(one.samples) == 16 and {0, 8999} <= set(one.samples)
    assert all(0 <= i < 9000 for i in one.samples)
    assert case("dot", "dd", (100,)).samples == [0]


# --- runs ----------------------------------------------------------------------------------


def test_a_run(run: Run) -> None:
    """A file that the schema describes, a table and a picture; a second one is comparable."""
    words = ["blas", "--format", "dd", "--routine", "gemm,gemv,dot,axpy", "--size", "40"]
    words += ["--accuracy", "accurate", "--runs", "3", "--peers", "-o", "r.json"]
    plot = ["--plot", "p.png"] if importlib.util.find_spec("matplotlib") else []
    status, out, err = run(*words, *plot)
    assert (status, err) == (0, "")
    assert not plot or Path("p.png").stat().st_size > 5000
    data = reports.read_all("r.json")[0]
    described(data)
    (device,) = data["devices"]
    assert device["skipped"] == []
    assert [r["routine"] for r in rows_of(device)] == ["gemm", "gemv", "dot", "axpy"]
    for r in rows_of(device):
        assert r["share"] == pytest.approx(r["floor"]["seconds"] / r["seconds"]["median"])
        assert r["seconds"]["lower"] <= r["seconds"]["median"] <= r["seconds"]["upper"]
        assert r["seconds"]["runs"] == 3
        assert r["error"]["relative"] < 1e-27 and r["error"]["scaled"] < 20
        assert r["kernels"] and r["schedule"]["kind"].endswith("Schedule")
        assert f"{r['routine']} " in out
    rates = device["ceilings"]["instructions_per_second"]
    assert set(rates) == {"float64"} and min(rates["float64"].values()) > 1e6
    numpy = next(p for p in data["peers"] if p["name"] == "NumPy float64")
    assert {r["routine"] for r in numpy["results"]} == {"gemm", "gemv", "dot", "axpy"}
    assert all(not r["error"]["wrong"] for p in data["peers"] for r in p["results"])
    assert not [p for p in data["peers"] if not p["results"] and not p["problem"]]
    status, out, _ = run("compare", "r.json", "r.json", "--json")
    (pair,) = json.loads(out)
    assert status == 0
    assert [row["ratio"] for row in pair["rows"]] == [1.0] * 4


def test_every_routine(run: Run, given_ceilings: None) -> None:
    """All routines in one format, tiny: right within rounding."""
    status, out, _ = run(
        "blas", "--format", "float64", "--routine", "all", "--size", "9", "--runs", "1", "--json"
    )
    (device,) = json.loads(out)["devices"]
    assert status == 0
    assert {r["routine"] for r in rows_of(device)} == set(blas.ROUTINES)
    assert max(r["error"]["scaled"] for r in rows_of(device)) < 5


@pytest.mark.parametrize("name", ["slfp64in56b_rz", "float16"])
def test_storage_formats(run: Run, given_ceilings: None, name: str) -> None:
    """Inputs are the numbers that the format holds, bytes those in memory, results rounded once."""
    routines = "gemm,gemv,gemv-transposed,dot,axpy"
    words = ["blas", "--format", name, "--routine", routines, "--size", "40", "--runs", "1"]
    status, out, _ = run(*words, "--accuracy", "accurate", "--json")
    assert status == 0
    form = formats.get(name)
    for r in rows_of(json.loads(out)["devices"][0]):
        shape = blas.ROUTINES[r["routine"]].sized(40, "cpu")[0]
        moved = blas.ROUTINES[r["routine"]].values_moved(shape)
        assert r["bytes"] == moved * form.itemsize
        assert r["error"]["scaled"] < 2.1
    status, _, error = run("blas", "--format", name, "--routine", "gemm-ozaki1", "--runs", "1")
    assert status == 2 and "nor storage formats have products by integers" in error


def test_short_results_may_be_off_by_their_own_rounding_only() -> None:
    """Five bits are no excuse: what is off by more than storing explains is wrong."""
    form = formats.get("slfp64in16b")
    entry = Entry(Fraction(17, 16), 1.0625)
    assert not exact.of_format([Fraction(1)], [entry], form).wrong
    assert not exact.of_format([Fraction(17, 16)], [entry], form).wrong
    assert exact.of_format([Fraction(5, 4)], [entry], form).wrong
    many = Entry(Fraction(1, 1000), 100.0)
    assert exact.of_format([Fraction(0)], [many], form).wrong


def test_wrong_results_have_status_one(
    run: Run, given_ceilings: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounding errors count as wrong here, and are named."""
    monkeypatch.setattr(exact, "WRONG", 0.0)
    words = ["blas", "--format", "float64", "--routine", "axpy", "--size", "500", "--runs", "1"]
    status, out, _ = run(*words, "-o", "r.json")
    assert status == 1
    assert "WRONG: axpy float64 500" in out
    assert bench_blas.FAMILY.failed(reports.read_all("r.json")[0])


def test_what_does_not_fit_is_skipped(run: Run, given_ceilings: None) -> None:
    """With the sizes, and without failing."""
    status, out, _ = run("blas", "--format", "dd", "--routine", "gemm", "--size", "2^20")
    assert status == 0
    assert "skipped: gemm dd 1048576x1048576x1048576: needs 65536.0 GiB" in out
    assert "skipped: gemm dd fast" in out


def test_too_little_memory(
    run: Run, given_ceilings: None, monkeypatch: pytest.MonkeyPatch, device: Device
) -> None:
    """What a driver does not allocate is skipped; smaller cases run."""
    from portmp.errors import OutOfMemory
    from portmp.runtime import planes

    allocate = planes.allocate

    def limited(form: formats.Format, shape: tuple[int, ...], queue: object) -> planes.Planes:
        if math.prod(shape) > 10000:
            raise OutOfMemory("full")
        return allocate(form, shape, queue)  # type: ignore[arg-type]

    monkeypatch.setattr(planes, "allocate", limited)
    words = ["blas", "--format", "float64", "--routine", "axpy", "--runs", "1"]
    status, out, _ = run(*words, "--size", "500,2^15", "--json")
    (found,) = json.loads(out)["devices"]
    assert status == 0
    assert [r["shape"] for r in rows_of(found)] == [[500]]
    assert found["skipped"][0]["shape"] == [2**15]
    assert "did not allocate" in found["skipped"][0]["reason"]
    assert found["selected"] == device.name


def test_a_refused_device_is_reported(
    run: Run, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for all: an entry with the refusal, status 1."""

    def get(name: str) -> None:
        raise DeviceError(f"{name}: does not round")

    monkeypatch.setattr(finding, "listed", lambda: [device])
    monkeypatch.setattr(finding, "get", get)
    status, out, _ = run("blas", "--device", "all", "--format", "dd", "-o", "r.json")
    assert status == 1
    assert f"refused: {device.name}: does not round" in out
    assert reports.read_all("r.json")[0]["devices"][0]["experiments"] == {}


def test_peers_that_are_missing_or_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing one says what installs it, a broken one what it raised; others go on."""

    class Broken(peers.Engine):
        def gemm(self, a: Any, b: Any) -> Any:
            raise RuntimeError("no luck")

    table = (
        peers.Peer("none", "no_such_module", "some-package", peers.Engine, 53, ("float64",)),
        peers.Peer("broken", "numpy", "numpy", Broken, 53, ("float64",)),
        peers.Peer("gpu", "numpy", "numpy", peers.Engine, 53, ("float64",), "cuda"),
    )
    monkeypatch.setattr(peers, "PEERS", table)
    cases = [case("gemm", "float64", (8, 8, 8)), case("axpy", "float64", (8,))]
    none, broken = peers.run(cases, [], 1, bench_blas.Progress(False))
    assert none["problem"] == "not installed: pip install some-package"
    assert broken["problem"] == "gemm float64: RuntimeError: no luck"
    assert [r["routine"] for r in broken["results"]] == ["axpy"]


def test_tasks_of_peers() -> None:
    """One format for each precision; float64 in any case; the largest size."""
    cases = [case("gemm", form, (n, n, n)) for form in ("dd", "dd2011", "ts") for n in (8, 16)]
    cases += [case("add", "qd", (9,))]
    tasks = {
        peer.name: [(f.name, which.name, cap) for f, which, cap in peers._tasks(peer, cases)]
        for peer in peers.PEERS
    }
    assert tasks["mpmath"] == [("dd", "gemm", 16), ("ts", "gemm", 16)]
    assert tasks["NumPy float64"] == [("float64", "gemm", 16)]
    assert tasks["torch-dd"] == [("dd", "gemm", 16)]


# --- the runner ----------------------------------------------------------------------------


def test_the_runner(device: Device) -> None:
    """What fails, does not fit or takes too long is skipped, and said to have failed or not."""
    from portmp.errors import OutOfMemory

    def raising(error: Exception) -> Callable[[], list[dict[str, Any]]]:
        def measure() -> list[dict[str, Any]]:
            raise error

        return measure

    good = {"name": "a", "seconds": 1.0}
    cases = [
        experiment.Case("good", lambda: [good]),
        experiment.Case("broken", raising(DeviceError("no luck,\nnone"))),
        experiment.Case("full", raising(OutOfMemory("full"))),
        experiment.Case("large", lambda: [good], memory=2**60),
        experiment.Case("long", lambda: [good], seconds=1e9, rest="long and more"),
    ]
    one = experiment.Experiment("x", lambda run: cases, (key("name"),), "x of {name}")
    run = experiment.Run(
        device, None, 1, measure.Budget(10.0, {"x": 1}), bench_blas.Progress(False)
    )
    found = one.measured(run)
    assert found == {"rows": [good]} and run.short
    assert [(s["what"], s["failed"]) for s in run.skipped] == [
        ("broken", True),
        ("full", False),
        ("large", False),
        ("long and more", False),
    ]
    assert run.skipped[0]["reason"] == "no luck, none" and "may be used" in run.skipped[2]["reason"]
    assert one.shown(found) == ["x of -", "name", "a"]
    for nothing in ({"rows": []}, {"rows": [], "name": None}):
        assert one.shown(nothing) == ["x of -", "nothing was measured"]


@pytest.mark.parametrize("whole", [True, False])
def test_each_experiment_begins(device: Device, whole: bool) -> None:
    """Among others that share a limit, however little is left: with a case that is short."""
    budget = measure.Budget(1e-9, {"x": 1, "y": 1}, whole)
    run = experiment.Run(device, None, 1, budget, bench_blas.Progress(False))
    told = [run.too_long(name, name, t) for name, t in (("x", 1.0), ("x", 0.1), ("y", 3.0))]
    assert told == [not whole, True, True] and len(run.skipped) == sum(told)


def test_tables() -> None:
    """Paths, units, the paper's values; values that head columns; energies behind, or below."""
    rows: list[dict[str, Any]] = [
        {"n": n, "way": way, "at": {"time": t}, "energy": None}
        for n, way, t in ((8, "a", 1e-3), (8, "b", 2e-3), (16, "b", 0.5))
    ]
    time = Column("time", "at.time", "s")
    plain = Table(
        "t", (key("n"), key("way"), time, Column("it", paper="{way}.{n}")), rows, {"a": {"8": 7.0}}
    )
    assert [line.split() for line in plain.lines()] == [
        ["t"],
        ["n", "way", "time", "it"],
        ["8", "a", "1", "ms", "7"],
        ["8", "b", "2", "ms", "-"],
        ["16", "b", "500", "ms", "-"],
    ]
    rows[1]["energy"] = {"gflops_per_watt": 2.0, "joules_per_operation": 5e-10}
    assert plain.lines()[1].split()[-2:] == ["GFLOP/s/W", "J/op"]
    assert plain.lines()[3].endswith("2  500 pJ") and plain.lines()[2].endswith("-       -")
    spread = Table("t: u", (key("n"), Column("way", "at.time", "s"), time), rows, pivot="way")
    assert [line.split() for line in spread.lines()] == [
        ["t:", "u"],
        ["n", "a", "b", "time"],
        ["8", "1", "ms", "2", "ms", "2", "ms"],
        ["16", "-", "500", "ms", "500", "ms"],
        [],
        ["energy,", "t:", "GFLOP/s/W", "and", "J/op"],
        ["n", "a", "b"],
        ["8", "-", "2,", "500", "pJ"],
        ["16", "-", "-"],
    ]


# --- files ---------------------------------------------------------------------------------


def result(routine: str, rate: float) -> dict[str, Any]:
    """A result with a rate."""
    seconds = {"median": 1.0, "lower": 1.0, "upper": 1.0, "runs": 3, "calls": 1}
    return {
        "routine": routine,
        "format": "dd",
        "accuracy": "accurate",
        "shape": [8],
        "kernels": [],
        "schedule": None,
        "seconds": seconds,
        "operations": 16,
        "operations_per_second": rate,
        "bytes": 8,
        "bytes_per_second": 8.0,
        "floor": {
            "seconds": 0.5,
            "bound": "memory",
            "arithmetic_seconds": 0.1,
            "memory_seconds": 0.5,
        },
        "share": 0.5,
        "clock_mhz": None,
        "error": {"samples": 1, "relative": 0.0, "scaled": 0.0, "wrong": False},
    }


def written(name: str, **devices: list[dict[str, Any]]) -> dict[str, Any]:
    """A results' file with these results by device, and its content."""
    facts = {
        "name": "a device",
        "vendor": "",
        "driver": "1",
        "arch": "",
        "kind": "gpu",
        "compute_units": 1,
        "memory": 1,
        "clock_mhz": 1,
    }
    data: dict[str, Any] = {
        "schema": dict(experiment.SCHEMA),
        "family": "blas",
        "rule": None,
        "paper": None,
        "portmp": "0",
        "definition": 1,
        "templates": "",
        "commit": None,
        "date": "today",
        "host": experiment.host(),
        "peers": [],
        "devices": [
            {
                "selected": device,
                "facts": facts,
                "compiler": "",
                "refusal": None,
                "ceilings": None,
                "experiments": {"blas": {"rows": results}},
                "skipped": [],
                "seconds": 1.0,
            }
            for device, results in devices.items()
        ],
    }
    Path(name).write_text(json.dumps(data))
    return data


def test_compare(run: Run) -> None:
    """New over old, row by row; what one file lacks is missing; devices pair up by name."""
    written("old.json", a=[result("dot", 2e9), result("gemm", 1e9)])
    written("new.json", b=[result("dot", 3e9), result("axpy", 5e6)])
    status, out, _ = run("compare", "old.json", "new.json")
    lines = [line.split() for line in out.splitlines()]
    assert status == 0
    assert lines[0][:2] == ["old:", "a"] and lines[1][:2] == ["new:", "b"]
    by_routine = {line[0]: line for line in lines[4:] if line}
    assert by_routine["dot"][4:] == ["2", "G/s", "3", "G/s", "1.500", "yes", "50", "%", "50", "%"]
    assert by_routine["gemm"][6:8] == ["missing", "-"]
    assert by_routine["axpy"][4] == "missing"
    written("both.json", a=[result("dot", 1e9)], c=[result("dot", 1e9)])
    pairs = compare.compared(
        bench_blas.FAMILY, reports.read_all("old.json")[0], reports.read_all("both.json")[0]
    )
    assert [(p["old"], p["new"]) for p in pairs] == [("a", "a"), (None, "c")]
    assert pairs[0]["rows"][0]["ratio"] == 0.5
    assert "not there" in run("compare", "old.json", "both.json")[1]
    written("none.json", a=[])
    assert run("compare", "none.json", "none.json")[1].splitlines()[3].startswith("neither report")
    written("odd.json", **{"a\x1b[31m\x9b": [result("dot", 1e9)]})
    out = run("compare", "odd.json", "odd.json")[1]
    assert "\x1b" not in out and "\x9b" not in out and r"a\x1b[31m\x9b" in out


def test_a_ratio_within_the_spreads_is_no_change(run: Run) -> None:
    """A factor of two says nothing where both runs spread by 81 %."""
    wide = {"seconds": {"median": 1.0, "lower": 0.6, "upper": 1.41, "runs": 9, "calls": 1}}
    written("old.json", a=[result("dot", 2e9) | wide, result("gemm", 2e9)])
    written("new.json", a=[result("dot", 4e9) | wide, result("gemm", 4e9)])
    rows = json.loads(run("compare", "old.json", "new.json", "--json")[1])[0]["rows"]
    assert [(r["ratio"], r["change"]) for r in rows] == [(2.0, False), (2.0, True)]
    lines = run("compare", "old.json", "new.json")[1].splitlines()
    assert [line.split()[9] for line in lines if "2.000" in line] == ["no", "yes"]


def broken(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], str]:
    def text(data: dict[str, Any]) -> str:
        change(data)
        return json.dumps(data)

    return text


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], str], str]] = {
    "no JSON": (lambda data: "{", "is no JSON"),
    "nothing": (lambda data: "", "is no JSON"),
    "not finite": (lambda data: json.dumps(data).replace("0.5", "NaN"), "NaN is no number"),
    "a list": (lambda data: "[]", "an object that names its schema is needed"),
    "no schema": (broken(lambda d: d.pop("schema")), "an object that names its schema is needed"),
    "another schema": (
        broken(lambda d: d["schema"].update(version=4)),
        "is a report 'portmp bench 4'; this portmp reads version 3",
    ),
}
BROKEN_BY_SCHEMA: dict[str, tuple[Callable[[dict[str, Any]], str], str]] = {
    "no devices": (broken(lambda d: d.pop("devices")), "'devices' is a required property"),
    "text": (
        broken(lambda d: rows_of(d["devices"][0])[0].update(share="x")),
        "devices[0].experiments.blas.rows[0].share: 'x' is not of type 'number'",
    ),
    "truth": (
        broken(lambda d: rows_of(d["devices"][0])[0].update(operations=True)),
        "operations: True is not of type 'integer'",
    ),
    "negative": (
        broken(lambda d: rows_of(d["devices"][0])[0]["seconds"].update(median=-1)),
        "seconds.median: -1 is less than the minimum of 0",
    ),
    "a new word": (
        broken(lambda d: d["devices"][0]["facts"].update(kind="tpu")),
        "facts.kind: 'tpu' is not one of",
    ),
    "too much": (broken(lambda d: d["host"].update(user="me")), "host: Additional properties"),
    "ceilings": (broken(lambda d: d["devices"][0].update(ceilings={})), "devices[0].ceilings: "),
    "memory": (
        broken(lambda d: d["devices"][0].update(ceilings={"instructions_per_second": {}})),
        "ceilings: 'memory' is a required property",
    ),
    "another family": (broken(lambda d: d.update(family="blsa")), "family: 'blsa' is not one of"),
}


@pytest.mark.parametrize("name", [*BROKEN, *BROKEN_BY_SCHEMA])
def test_broken_files(run: Run, name: str) -> None:
    """One line that says where, status 2."""
    if name in BROKEN_BY_SCHEMA:
        pytest.importorskip("jsonschema")
    data = written("good.json", a=[result("dot", 1e9)])
    change, message = (BROKEN | BROKEN_BY_SCHEMA)[name]
    Path("bad.json").write_text(change(data))
    status, out, err = run("compare", "good.json", "bad.json")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith("portmp: error: bad.json: ")
    assert message in err


def test_broken_files_without_jsonschema(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are compared; what is missing in one is still a line that names it, status 2."""
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    data = written("good.json", a=[result("dot", 1e9)])
    assert run("compare", "good.json", "good.json")[0] == 0
    data.pop("devices")
    Path("bad.json").write_text(json.dumps(data))
    status, out, err = run("compare", "good.json", "bad.json")
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert "bad.json" in err and "pip install jsonschema" in err


def test_reports_of_two_benchmarks(run: Run) -> None:
    """Nothing to compare."""
    data = written("a.json", a=[result("dot", 1e9)])
    part = data["devices"][0] | {"experiments": {}}
    Path("b.json").write_text(json.dumps(data | {"family": "slfp", "devices": [part]}))
    status, _, err = run("compare", "a.json", "b.json")
    assert status == 2 and "a.json is a report of bench blas, b.json one of bench slfp" in err


RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results"


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_reports(path: Path, run: Run) -> None:
    """A file that names a schema, or is of portmp verify, is read and shown as this version would.

    Others are refused in one line.
    """
    if "schema" not in json.loads(path.read_text()) and not path.name.startswith("verify-"):
        with pytest.raises(InputError, match=f"{path.name}: is no report of portmp bench"):
            reports.read_all(path)
        return
    (data,) = reports.read_all(path)
    described(data)
    status, out, _ = run("compare", str(path), str(path), "--json")
    found = [row["ratio"] for pair in json.loads(out) for row in pair["rows"]]
    assert status == 0 and found and set(found) == {1.0}
    family, shown = options.family(data["family"]), 1 if data["family"] == "verify" else 10
    assert len(family.table(data).splitlines()) > min(len(found), shown)
    assert not family.failed(data)


def test_files_that_cannot_be_read(run: Run) -> None:
    """Missing, a folder, not text."""
    Path("folder").mkdir()
    Path("bytes").write_bytes(b"\xff\xfe\x00")
    for name in ("none.json", "folder", "bytes", "a\0b"):
        with pytest.raises(InputError, match=r"cannot be read|is a folder|not a text|damaged"):
            reports.read_all(name)[0]


BAD_USE = {
    "routine": (["--routine", "axpi"], "did you mean 'axpy'"),
    "format": (["--format", "dd,dq"], "unknown format 'dq'"),
    "size": (["--size", "1e3"], "--size: '1e3' given"),
    "zero": (["--size", "0"], "1 to 2^40"),
    "huge": (["--size", "9^999"], "1 to 2^40"),
    "long": (["--size", "2^" + "9" * 20], "--size"),
    "accuracy": (["--accuracy", "fats"], "did you mean 'fast'"),
    "only accurate": (["--accuracy", "fast", "--format", "dd2011", "--routine", "dot"], "only acc"),
    "runs": (["--runs", "0"], "--runs: 0 given"),
    "runs in words": (["--runs", "x"], "--runs: invalid int"),
    "folder": (["-o", "no/r.json"], "does not exist"),
    "device": (["--device", "opencl:99"], "does not exist"),
    "empty": (["--format", ""], "--format: is empty"),
    "picture": (["--plot", "p.doc"], "'.doc'"),
}


@pytest.mark.parametrize("name", BAD_USE)
def test_bad_use(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Status 2 and one line, before anything is measured."""
    if name == "picture":
        pytest.importorskip("matplotlib")
    monkeypatch.setattr(roofline, "measured", pytest.fail)
    words, message = BAD_USE[name]
    status, out, err = run("blas", *words)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith("portmp: error: ")
    assert message in err
    assert list(Path().iterdir()) == []


def test_usage(run: Run) -> None:
    """Without a benchmark, or with an unknown one."""
    assert run()[0] == run("blsa")[0] == run("compare", "x")[0] == 2
    assert run("--help")[0] == run("blas", "--help")[0] == 0


def test_lists() -> None:
    """Commas, blanks, repetitions, powers."""
    assert options.listed(" 64, 2^10,64,", options.size) == [64, 1024]
    assert options.listed_formats("all")[0].name == "float32"
    assert len(bench_blas.routines_of("all")) == len(blas.ROUTINES)
    assert inputs.Stream("x").below(3, 5).tolist() == inputs.Stream("x").below(3, 5).tolist()
