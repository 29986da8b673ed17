"""The paper on DD and QD BLAS: its kernels, copies overlapped and not, its numbers, reports."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from portmp import cli, formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import experiment, measure, peers, reports
from portmp.bench.experiment import paper_of
from portmp.bench.measure import Budget
from portmp.bench.papers.hpcs2011 import copies, experiments, measured
from portmp.bench.papers.hpcs2011.measured import PAPER, PORTMP, Bench, Task
from portmp.bench.peers import LIBRARY
from portmp.bench.roofline import Ceilings
from portmp.bench.runner import Pool
from portmp.bench.values import values_of
from portmp.discovery import finding
from portmp.errors import DeviceError
from portmp.progress import Progress
from portmp.runtime import planes

RATES = {"float64": {"fma": 2e9, "add": 1e9}}
SMALL = {"axpy": 3000, "gemv": 70, "gemm": 40}


def bench(device: Device, seconds: float = 1e6) -> Bench:
    """A run with ceilings that were not measured."""
    shares = {"rates": 1, "copies": 1, "sweep": 1, "cpu": 1}
    found = Bench(device, None, 1, Budget(seconds, shares), Progress(False), sizes=SMALL)
    found.ceilings = Ceilings("cpu", RATES, 1e9, "triad")
    return found


def operands(task: Task, device: Device) -> tuple[Array, Array, Array]:
    """A case's inputs and room for its result."""
    case = task.case
    pool = Pool(values_of(task.form), case.starts[-1], device)
    shape = case.routine.result(case.shape)
    a, b = pool.inputs(case)
    return a, b, Array(planes.allocate(task.form, shape, device.queue))


def same(x: Array, y: Array) -> bool:
    """Whether two arrays have the same bits."""
    return all(np.array_equal(a, b) for a, b in zip(x.to_limbs(), y.to_limbs(), strict=True))


def test_flops_are_the_papers() -> None:
    """Its counts of a product and a sum are those of the networks in double-double."""
    for name in ("dd2011", "dd2011nofma"):
        cost = formats.get(name).accumulator("accurate").networks["accumulate"].cost
        total = sum(cost.get(op, 0) for op in ("add", "mul")) + 2 * cost.get("fma", 0)
        assert total == measured.flops(formats.get(name))
    assert measured.flops(formats.get("float64")) == 2
    # 14 additions, a product and three fmas.
    assert measured.flops(formats.get("dd")) == 14 + 1 + 6


def test_the_papers_numbers_agree() -> None:
    """Rates, shares of the peak and times over double are not independent."""
    data = paper_of("hpcs2011")
    found = 0
    for gpu, peak in data["peaks"].items():
        for routine, shares in data["peak_shares"][gpu].items():
            for form in shares:
                share = data["rates"][gpu][routine][form] * data["flops"][form] / 2 / peak
                assert share == pytest.approx(shares[form], rel=0.02)
                double = data["in_float64"][gpu].get(routine, {}).get(form, share * peak)
                assert double == pytest.approx(share * peak, rel=0.02)
                found += 1
    assert found == 9
    over = data["over_float64"]["gpu"]
    for gpu, forms in (("C2050", ("dd", "qd")),):
        rates = data["rates"][gpu]
        for form in forms:
            ratio = rates["gemv"][f"{form}2011"] / rates["axpy"][f"{form}2011"]
            assert ratio == pytest.approx(data["gemv_over_axpy"][gpu][form], rel=0.06)
    for routine in ("axpy", "gemm"):
        rates = data["rates"]["C2050"][routine]
        for form in ("dd", "qd"):
            ratio = rates["float64"] / rates[f"{form}2011"]
            assert ratio == pytest.approx(over[routine][form], rel=0.03)


@pytest.mark.parametrize("form", ["dd2011", "dd2011nofma", "qd2011"])
def test_the_papers_kernels(form: str, device: Device) -> None:
    """AXPY and GEMM have portmp's bits; GEMV sums a row in order, as GEMM does with one column."""
    f = formats.get(form)
    axpy, gemv, gemm = (Task(r, f, PAPER, n) for r, n in SMALL.items())
    x, y, out = operands(axpy, device)
    measured._PAPERS["axpy"](x, y, out)()
    assert same(out, blas.axpy("0.3", x, y))
    a, b, product = operands(gemm, device)
    measured._PAPERS["gemm"](a, b, product)()
    assert same(product, blas.gemm(a, b))
    a, x, out = operands(gemv, device)
    measured._PAPERS["gemv"](a, x, out)()
    assert same(out, blas.gemm(a, x.reshape(-1, 1), trans_a=True).reshape(-1))


@pytest.mark.parametrize("routine", measured.ROUTINE_NAMES)
def test_results_are_checked(routine: str, device: Device) -> None:
    """Sampled entries against exact arithmetic, whoever's kernel it is."""
    run = bench(device)
    task = Task(routine, formats.get("dd2011"), PAPER, SMALL[routine])
    _, errors = measured.prepared(run, task)
    assert not errors.wrong and 0 < errors.relative < 1e-28


def test_a_library(device: Device) -> None:
    """AXPY in place and A B^T, on operands that the call keeps."""
    run = bench(device)
    run.vendor, problem = peers.find(device)
    if run.vendor is None:
        pytest.skip(problem)
    float64 = formats.get("float64")
    for routine in measured.ROUTINE_NAMES:
        tasks = [Task(routine, float64, LIBRARY, SMALL[routine])]
        (row,) = measured.measured(run, tasks, 1)
        assert row["way"] == LIBRARY and not row["error"]["wrong"]
        assert row["over_float64"] == {LIBRARY: 1}
    names = [(t.routine, t.way) for t in measured.tasks(run, {"float64": (PORTMP, LIBRARY)})]
    assert {(r, LIBRARY) for r in measured.ROUTINE_NAMES} <= set(names)


def test_turns(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratios are of runs beside each other: what slows the device down slows all of them."""
    run = bench(device)
    tasks = [
        Task("axpy", formats.get(name), PORTMP, SMALL["axpy"])
        for name in ("dd2011", "dd2011nofma", "float64")
    ]
    # The machine gets four times as slow in the second round, for all.
    rounds = measure.Rounds([t.key for t in tasks], {t.key: 1 for t in tasks})
    for slower in (1.0, 4.0, 4.0):
        for task, seconds in zip(tasks, (3.0, 6.0, 1.5), strict=True):
            rounds.seconds[task.key].append(slower * seconds)
    seen = []

    def by_turns(there: Device, works: dict[str, Any], *more: Any) -> measure.Rounds:
        seen.append(list(works))
        return rounds

    monkeypatch.setattr(measured.measure, "by_turns", by_turns)
    rows = measured.measured(run, tasks, 2)
    assert seen == [[t.key for t in tasks]]
    assert [r["format"] for r in rows] == ["dd2011", "dd2011nofma"]
    assert rows[0]["gain"] == 2 and "gain" not in rows[1]
    assert [r["over_float64"] for r in rows] == [{PORTMP: 2}, {PORTMP: 4}]
    groups = [m.what for m in measured.measurements(run, "rates", tasks)]
    assert groups == ["axpy dd2011, dd2011nofma, N = 3000", "axpy float64, N = 3000"]


def test_words_of_the_paper() -> None:
    """At most one per cent is said so; a correction has what is printed; sizes that differ."""
    row = {"routine": "gemm", "format": "qd2011", "way": PAPER, "n": 4096}
    assert experiments._stated_share("C2050", row) == "<= 1.0%"
    assert experiments._stated_share("C1060", row | {"format": "float64"}) == "3.5%"
    assert experiments._stated_share("C2050", row | {"n": 512}) == "<= 1.0% at 4096"
    assert (
        experiments._there("C2050", row) == "0.97 G/s, 137.4 G/s of float64, 26.7%, printed 33.1%"
    )
    assert experiments._there("C1060", row | {"format": "float64"}) == "75.2 G/s, 96.4%"
    assert experiments._over("cpu", row) == "1016"
    assert experiments._over("gpu", row | {"n": 64}) == "179 at 4096"
    assert experiments._over_axpy("C1060", {"format": "float64"}) == 3.2


@pytest.mark.parametrize("routine", measured.ROUTINE_NAMES)
@pytest.mark.parametrize("form", ["float64", "qd"])
def test_pieces_have_the_same_bits(routine: str, form: str, device: Device) -> None:
    """Overlapped and one after the other; and all of the operands go there."""
    task = Task(routine, formats.get(form), PORTMP, SMALL[routine])
    transfer = copies.Transfer(bench(device), task)
    values = values_of(task.form)
    for memory, start, shape in zip(
        (transfer.left, transfer.right), task.case.starts, task.case.operands, strict=False
    ):
        wanted = values.take(start, shape)
        assert all(np.array_equal(a, b) for a, b in zip(memory.host, wanted, strict=True))
    seconds = transfer.in_order()
    one = transfer.result()
    assert set(seconds) == {copies.TO, copies.WORK, copies.BACK} and any(p.any() for p in one)
    transfer.overlapped()
    other = transfer.result()
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    x, y, out = operands(task, device)
    expected = task.case.routine.call(blas, (x, y), out, "accurate").to_limbs()
    assert all(np.array_equal(a, b) for a, b in zip(one, expected, strict=True))
    assert len(transfer.steps) == copies.PIECES
    assert transfer.nbytes[copies.BACK] == sum(p.nbytes for p in one)


def test_values_wrap_around(device: Device) -> None:
    """Operands longer than the block of values repeat it, from any start."""
    values: Any = SimpleNamespace(block=[np.arange(7.0), -np.arange(7.0)])
    for n, start in ((20, 0), (20, 5), (3, 6), (7, 3), (1, 6)):
        memory = copies.Memory(formats.get("dd"), (n,), device.queue).fill(values, start)
        wanted = (start + np.arange(n)) % 7
        assert memory.host[0].tolist() == wanted.tolist()
        assert memory.host[1].tolist() == (-1.0 * wanted).tolist()


def test_sizes_that_time_allows(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halved until they fit, down to a least one; what is left out is said."""
    run = bench(device, seconds=4.0)
    passed = 0.0
    monkeypatch.setattr(run.budget, "passed", lambda: passed)
    task = Task("axpy", formats.get("dd"), PORTMP, 2**20)
    run.rates["axpy", "dd", PORTMP] = (
        5 * 2.0**19
    )  # operations a second: five calls of 2^18 take a second
    (found,) = run.affordable("rates", [task], 1)
    assert found.n == 2**18
    assert run.skipped[0]["reason"] == "time allows N = 262144 (--seconds)"
    less = dataclasses.replace(task, n=2**18)
    assert run.affordable("rates", [less], 1) and len(run.skipped) == 1
    # Two by turns take twice as long, and have one size.
    assert [t.n for t in run.affordable("rates", [task, task], 1)] == [2**17, 2**17]
    del run.skipped[1:]
    passed = 0.99
    assert run.affordable("rates", [task], 1) == []
    assert "would take about 62.5 ms; 0.0 s of the limit" in run.skipped[1]["reason"]


@pytest.mark.parametrize("whole", [False, True])
def test_ceilings_take_no_time_of_the_limit(
    device: Device, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else little of a short one would be left for the table; in suites they are short."""
    run, clock = bench(device), [0.0]
    monkeypatch.setattr(measure.time, "monotonic", lambda: clock[0])
    run.budget, run.ceilings = Budget(10.0, {"rates": 1}, whole), None

    def slow(device: Device, words: set[str], rounds: int) -> Ceilings:
        clock[0] += 4.0 * rounds
        return Ceilings("cpu", RATES, 1e9, "triad")

    monkeypatch.setattr(measured.roofline, "measured", slow)
    run.limits()
    run.limits()
    assert run.budget.left("rates") == (6.0 if whole else 10.0)


def command(device: Device, *words: str) -> int:
    """``portmp bench hpcs2011`` on a device."""
    return cli.main(["bench", "hpcs2011", "--device", device.name, "--runs", "1", *words])


@pytest.fixture
def small(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small sizes and ceilings that are not measured, on the test's device."""
    monkeypatch.setattr(experiment.discovery, "hardware", lambda name=None: device)
    monkeypatch.setattr(measured, "SIZES", {"full": SMALL, "quick": SMALL})
    limits = Ceilings("cpu", RATES, 1e9, "triad")
    monkeypatch.setattr(measured.roofline, "measured", lambda device, words, *_: limits)


def test_command(
    small: None, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """On a CPU: a report as the schema says, tables beside the paper's numbers, a picture."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(Bench, "kind", "cpu")
    report, picture = tmp_path / "r.json", tmp_path / "p.png"
    words = ["--seconds", "1000", "-o", str(report), "--plot", str(picture)]
    assert command(device, *words) == 0
    shown = capsys.readouterr().out
    data = json.loads(report.read_text())
    (part,) = data["devices"]
    assert not reports.broken(data) and not part["skipped"] and picture.stat().st_size > 1000
    rows = part["experiments"]["rates"]["rows"]
    named = {(r["routine"], r["format"], r["way"]) for r in rows}
    assert {(r, f, PORTMP) for r in SMALL for f in measured.ARITHMETIC} <= named
    assert not any(way == PAPER for _, _, way in named)
    rate = {(r["routine"], r["format"], r["way"]): r["operations_per_second"] for r in rows}
    for row in rows:
        assert not row["error"]["wrong"] and len(row["seconds"]["each"]) == 1
        doubled = rate[row["routine"], "float64", PORTMP]
        over = doubled / row["operations_per_second"]
        own = row["format"] == "float64"  # others have a run of float64 beside them
        assert row["over_float64"][PORTMP] > 0
        assert not own or row["over_float64"][PORTMP] == pytest.approx(over)
        flops = measured.flops(formats.get(row["format"]))
        assert row["peak_share"] == pytest.approx(row["operations_per_second"] * flops / 8e9)
    swept = part["experiments"]["sweep"]["rows"]
    sizes = {r: [n // 4, n // 2, 3 * n // 4] for r, n in SMALL.items()}
    for routine, wanted in sizes.items():
        mine = (r["n"] for r in swept if (r["routine"], r["format"]) == (routine, "qd2011"))
        assert list(mine) == wanted
    gains = {(g["routine"], g["format"]): g["gain"] for g in part["experiments"]["rates"]["gains"]}
    assert set(gains) == {(r, f) for r in SMALL for f in ("dd2011", "qd2011")}
    moved = part["experiments"]["copies"]["rows"]
    assert len(moved) == 3 * len(copies.FORMATS) and all(r["same_bits"] for r in moved)
    assert all(0 < r["share"] < 1 for r in moved)
    assert part["experiments"]["cpu"]["rows"] == []
    # The paper's: DD GEMM over double's on its CPU, the share of copies, the gain of fma.
    for number in ("84 at 4096", "93.1% at 8192000", "1.41", "this is what a GPU stands beside"):
        assert number in shown


def test_beside_a_cpu(
    small: None, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A GPU runs the paper's kernels as well, and the same on the host's processor."""
    found = {"float64": (PORTMP,), "dd2011": (PAPER, PORTMP), "dd": (PORTMP,)}
    monkeypatch.setattr(measured, "ARITHMETIC", found)
    monkeypatch.setattr(experiments, "_BESIDE", {"float64": (PORTMP,), "dd2011": (PORTMP,)})
    monkeypatch.setattr(Bench, "kind", "gpu")
    report = tmp_path / "r.json"
    assert command(device, "-o", str(report), "--experiment", "rates,cpu", "--seconds", "999") == 0
    shown = capsys.readouterr().out
    data = json.loads(report.read_text())
    assert not reports.broken(data)
    (part,) = data["devices"]
    rates, beside = (part["experiments"][name]["rows"] for name in ("rates", "cpu"))
    assert {r["way"] for r in rates if r["format"] == "dd2011"} == {PAPER, PORTMP}
    assert len(beside) == 6 and part["experiments"]["cpu"]["processor"]
    for row in beside:
        (mine,) = (
            r["operations_per_second"]
            for r in rates
            if all(r[k] == row[k] for k in ("routine", "format", "way"))
        )
        assert row["over_cpu"] == mine / row["operations_per_second"]
    assert "GPU over it" in shown and "29" in shown
    capsys.readouterr()
    nothing = DeviceError("no CPU is here")

    def missing() -> Device:
        raise nothing

    monkeypatch.setattr(experiments.discovery, "interpreter", missing)
    assert command(device, "--experiment", "cpu") == 0
    assert "skipped: cpu, all: no CPU is here" in capsys.readouterr().out


def test_without_float64(
    small: None, device: Device, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Everything is left out, with the reason."""
    facts = dataclasses.replace(device.properties, float64=False)
    monkeypatch.setattr(device, "properties", facts)
    assert command(device) == 0
    shown = capsys.readouterr().out
    for name in ("rates", "copies"):
        assert f"skipped: {name}, all: {device.name} has no float64" in shown


def test_with_little_memory(
    small: None, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases that do not fit are left out."""
    facts = dataclasses.replace(device.properties, memory=200_000)
    monkeypatch.setattr(device, "properties", facts)
    report = tmp_path / "r.json"
    assert command(device, "--experiment", "copies", "-o", str(report)) == 0
    (part,) = json.loads(report.read_text())["devices"]
    left = {s["what"] for s in part["skipped"]}
    assert {"axpy qd", "gemm qd"} <= left
    assert all("of which 70 % may be used" in s["reason"] for s in part["skipped"])
    rows = part["experiments"]["copies"]["rows"]
    assert len(rows) + len(left) == 3 * len(copies.FORMATS) and len(rows) >= 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--experiment", "rate"], "--experiment: 'rate' given.*did you mean"),
        (["--sizes", "ful"], "--sizes: 'ful' given.*did you mean"),
        (["--seconds", "0"], "--seconds: 0.0 given"),
        (["--runs", "-1"], "--runs: -1 given"),
    ],
)
def test_bad_words(words: list[str], message: str, capsys: Any) -> None:
    """Refused before a device is opened."""
    assert cli.main(["bench", "hpcs2011", "--device", "none:7", *words]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_the_processor_is_a_cpu() -> None:
    """What a GPU stands beside."""
    there = finding.accepted(finding.find("opencl").devices)
    if not any(d.properties.kind == "cpu" for d in there):
        pytest.skip("no OpenCL CPU device")
    assert finding.interpreter().properties.kind == "cpu"
