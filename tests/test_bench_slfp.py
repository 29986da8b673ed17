"""``portmp bench slfp``: the paper's numbers, layouts, libraries, reports, and bad use."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiers
from slow import slow

import portmp as mp
from portmp import cli, formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import exact, experiment, measure, peers, reports
from portmp.bench.measure import Budget
from portmp.bench.papers.slfp import accuracy, layouts
from portmp.bench.papers.slfp import experiments as slfp
from portmp.bench.papers.slfp.measured import BLOCKS, KINDS, SWEPT, Axpy, Bench, cases
from portmp.bench.runner import Pool
from portmp.bench.values import values_of
from portmp.errors import BackendUnavailable
from portmp.progress import Progress


def measured(name: str, one: Bench) -> dict[str, Any]:
    """What an experiment finds."""
    return slfp.FAMILY.by_name[name].measured(one)


def bench(device: Device, seconds: float = 1000.0, **more: Any) -> Bench:
    """A run of two rounds."""
    shares = Budget(seconds, dict.fromkeys(slfp.FAMILY.by_name, 1))
    return Bench(device, None, 2, shares, Progress(False), **more)


@pytest.mark.parametrize(
    ("kind", "experiment", "figure", "ratios"),
    [
        ("cpu", "axpy", "gflops", "0.83 1.30 1.17 1.98 1.17 2.93"),
        ("cpu", "gemm", "gflops", "0.51 0.63 0.64 0.77 0.65 0.78"),
        ("gpu", "axpy", "gflops", "1.03 1.28 1.48 1.94 2.09 3.14"),
        ("gpu", "gemm", "gflops", "0.82 0.93 0.93 1.03 0.89 1.01"),
        ("cpu", "axpy", "mflops_per_watt", "0.69 1.21 0.98 1.95 1.01 2.84"),
        ("cpu", "gemm", "mflops_per_watt", "0.50 0.62 0.62 0.76 0.65 0.81"),
        ("gpu", "axpy", "mflops_per_watt", "0.94 1.19 1.38 1.89 1.82 2.90"),
        ("gpu", "axpy", "board_mflops_per_watt", "0.90 1.15 1.32 1.87 1.70 2.80"),
        ("gpu", "gemm", "mflops_per_watt", "0.86 0.94 0.96 1.06 0.99 1.16"),
    ],
)
def test_the_papers_ratios(kind: str, experiment: str, figure: str, ratios: str) -> None:
    """Rates and watts as they are in the file give the ratios that the paper has."""
    _, rows = slfp.theirs(kind, experiment)
    names = [f"slfp64in{bits}b" for bits in (56, 48, 40, 32, 24, 16)]
    found = [float(slfp.stated(rows, name, figure)) for name in names]
    assert found == pytest.approx(list(map(float, ratios.split())), abs=0.0055)


def test_the_papers_short_floats() -> None:
    """Beside float64, in brackets beside float32; what it does not have is a dash."""
    _, rows = slfp.theirs("gpu", "axpy")
    assert slfp.stated(rows, "slfp32in16b") == "3.24 (1.65)"
    assert slfp.stated(rows, "tsin80b") == "-"
    assert slfp.stated(slfp.theirs("cpu", "axpy")[1], "float64", "board_mflops_per_watt") == "-"


def test_ratios_are_of_one_round() -> None:
    """What slows a round down slows all of it: the median of the rounds' own ratios."""
    rounds = measure.Rounds(("a", "b"), {"a": 1, "b": 10})
    rounds.seconds["a"] += [2.0, 20.0, 4.0]
    rounds.seconds["b"] += [1.0, 10.0, 4.0]
    assert rounds.faster("b", "a") == 2.0 and rounds.faster("a", "b") == 0.5
    assert rounds.timing("b").median == 4.0 and rounds.timing("b").calls == 10


def test_turns(device: Device) -> None:
    """Each work runs as often as the others; one on the host waits for the device."""
    calls = {"device": 0, "host": 0}

    def work(name: str) -> Callable[[], None]:
        def call() -> None:
            calls[name] += 1

        return call

    works = {name: work(name) for name in calls}
    rounds = measure.by_turns(device, works, 4, 1.0, ["host"])
    for name, times in rounds.seconds.items():
        # One call, the warm-up, and the runs.
        warm = calls[name] - 1 - 4 * rounds.calls[name]
        assert len(times) == 4 and 0 <= warm <= measure.MAX_CALLS


@pytest.mark.parametrize("name", layouts.FORMATS)
def test_layouts_agree(device: Device, name: str) -> None:
    """Packed elements give the bits of planes, in a length that fills no block."""
    form, n = formats.get(name), 1003
    case = Axpy().case(form, n)
    pool = Pool(values_of(form), case.starts[-1], device)
    x, y = pool.inputs(case)
    packed = layouts.Packed(pool, n, (case.starts[0], case.starts[1]))
    before = packed.read(0, n)
    assert all(np.array_equal(p, q) for p, q in zip(before, y.to_parts(), strict=True))
    packed.axpy("0.3")
    assert not layouts.same_bits(packed, y.planes)
    blas.axpy("0.3", x, y, out=y)
    assert layouts.same_bits(packed, y.planes)
    assert layouts.kernel_spec(name, 64).values[0] == ("unit", 2 if "48" in name else 1)


@slow("words are called alike", unless=lambda p: (p["kind"], p["word"]) != ("gemm", "float32"))
@pytest.mark.parametrize("kind", ["axpy", "gemm"])
@pytest.mark.parametrize("word", ["float32", "float64"])
def test_libraries(kind: str, word: str, device: Device) -> None:
    """OpenBLAS on the host, the platform's library on the device: right results, both."""
    found = []
    if device.properties.kind == "cpu":
        vendor, problem = peers.find(device)
        if vendor is None:
            tiers.need("openblas", problem)
        assert re.search(r"[0-9] threads$", vendor.name)
        found.append(vendor)
    try:
        found.append(peers.OnDevice(device.library()))
    except BackendUnavailable as error:
        if not found:
            tiers.need("clblast", error)
    form, n = formats.get(word), 300 if kind == "axpy" else 40
    for vendor in found:
        pool = KINDS[kind].prepare(device, form, n, None).pool
        library = KINDS[kind].library(vendor, pool, n)
        assert library is not None and not library[1].wrong
        assert library[0].on_host == isinstance(vendor, peers.OpenBlas)


def test_no_library(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are missing, and the table says why."""
    monkeypatch.setattr(peers, "_files", lambda: iter(()))
    monkeypatch.setattr(
        peers, "OnDevice", lambda _: (_ for _ in ()).throw(BackendUnavailable("none here"))
    )
    vendor, problem = peers.find(device)
    assert vendor is None and problem
    data = reported(bench(device, no_vendor=problem), {})
    assert f"library: none: {problem}" in slfp.FAMILY.table(data)


def reported(one: Bench, found: dict[str, Any]) -> dict[str, Any]:
    """A report of what was found."""
    part = slfp.FAMILY.part_of(one, found)
    return slfp.FAMILY.report([part], datetime.datetime.now(datetime.UTC))


def test_too_little_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made that does not fit the device, or a CPU's host."""
    one = bench(device)
    one.size = 2**38
    assert measured("axpy", one)["rows"] == []
    assert len(one.skipped) == 18 and "may be used" in one.skipped[0]["reason"]
    monkeypatch.setattr(experiment, "available_memory", lambda: 2**20)
    facts = dataclasses.replace(device.properties, kind="cpu")
    monkeypatch.setattr(device, "properties", facts)
    assert "host's memory" in experiment.lacking(2**20, device)
    assert not experiment.lacking(2**19, device)


def test_without_float64(device: Device, short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The formats of float32 are left, and compared with float32."""
    facts = dataclasses.replace(device.properties, float64=False)
    monkeypatch.setattr(device, "properties", facts)
    one = bench(device)
    one.size = 64
    found = measured("axpy", one)
    assert [r["type"] for r in found["rows"]] == ["float32", "slfp32in16b", "slfp32in16b_rz"]
    assert all(list(r["over"]) == ["float32"] for r in found["rows"])
    assert measured("interleaved", one) == {"rows": []}
    assert {s["what"] for s in one.skipped} == {"formats of float64"}
    one.no_vendor = "not looked for"
    assert "1 x float32" in slfp.FAMILY.table(reported(one, {"axpy": found}))


def test_time_is_kept(device: Device) -> None:
    """What is known to take too long is skipped, with the reason."""
    one = bench(device, seconds=60.0)
    one.once["gemm", "float64"] = 1.0
    assert one.expected(KINDS["gemm"], ["float64"], 10, 0) == measure.FEWEST * 2300
    one.size = 10
    one.once |= {("gemm", f): 1.0 for f in ("float32", *formats.STORAGE)}
    assert measured("gemm", one)["rows"] == []
    assert all("would take about" in s["reason"] for s in one.skipped)


def test_truncation_takes_away(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut inputs are too small by a fixed share of an ulp, rounded ones by less with more terms."""
    monkeypatch.setattr(accuracy, "LENGTHS", (2**6, 2**10))
    monkeypatch.setattr(accuracy, "STEPS", (16,))
    monkeypatch.setattr(accuracy, "ONE_LIMB", {"float32": ("slfp32in24b",)})
    found = measured("accuracy", bench(device))["rows"]
    rows = {(r["rounding"], r["n"]): r for r in found if r["what"] == "inputs"}
    for n in (2**6, 2**10):
        assert -0.8 < rows["toward_zero", n]["mean"] < -0.5
        assert abs(rows["nearest", n]["mean"]) <= rows["nearest", n]["rms"] < 0.2
    sums = {r["rounding"]: r for r in found if r["what"] == "sums"}
    assert sums["toward_zero"]["mean"] < -4 and abs(sums["nearest"]["mean"]) < 0.3


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few formats: kernels of all of them take long to compile."""
    few = {"float64": ("slfp64in48b",), "float32": ("slfp32in16b",)}
    for kind in (*KINDS.values(), *SWEPT):
        monkeypatch.setattr(type(kind), "families", few)
    monkeypatch.setattr(layouts, "FORMATS", ("slfp64in48b",))
    monkeypatch.setattr(accuracy, "ONE_LIMB", {"float32": ("slfp32in16b",)})
    monkeypatch.setattr(accuracy, "STEPS", (4,))
    yield


def test_command(device: Device, tmp_path: Path, short: None, capsys: Any, metered: str) -> None:
    """A report with all experiments, tables beside the paper's numbers, and a picture."""
    pytest.importorskip("matplotlib")
    report, picture = tmp_path / "r.json", tmp_path / "p.png"
    words = ["bench", "slfp", "--device", device.name, "--size", "64", "--runs", "2", "--energy"]
    words += ["--seconds", "1000", "-o", str(report), "--plot", str(picture)]
    assert cli.main(words) == 0
    shown = capsys.readouterr().out
    data = json.loads(report.read_text())
    (part,) = data["devices"]
    assert data["schema"] == experiment.SCHEMA and not part["skipped"]
    assert data["family"] == "slfp" and not reports.broken(data)
    assert slfp.FAMILY.table(data) in shown and picture.stat().st_size > 1000
    assert list(part["experiments"]) == list(slfp.FAMILY.by_name)
    rows = {r["type"]: r for r in part["experiments"]["axpy"]["rows"]}
    assert {"float64", "slfp64in48b", "slfp64in48b_rz", "float32", "slfp32in16b"} <= set(rows)
    row = rows["slfp32in16b"]
    assert list(row["over"]) == ["float64", "float32"] and row["base"] == "float32"
    assert row["ideal"] == 2 and row["reached"] == row["over"]["float32"] / 2
    assert rows["float32"]["base"] == "float64" and rows["float64"]["over"] == {"float64": 1}
    assert row["bytes_per_second"] == pytest.approx(3 * row["operations_per_second"])
    assert part["energy"]["read"] == metered and row["energy"]["watts"] > 0
    assert "energy" not in rows["slfp64in48b_rz"]
    gemm = part["experiments"]["gemm"]["rows"]
    assert all(
        r["operations_per_second"] * r["seconds"]["median"] == pytest.approx(2 * 64**3 + 3 * 64**2)
        for r in gemm
    )
    by_paper = {r["type"]: r for r in gemm if r["type"].startswith("paper ")}
    assert set(by_paper) == {
        f"paper {f}" for f in ("float64", "slfp64in48b", "float32", "slfp32in16b")
    }
    # Over the same kernel's float64, as in the paper, not over portmp's.
    assert by_paper["paper float64"]["over"]["float64"] == 1
    assert list(by_paper["paper slfp32in16b"]["over"]) == ["float64", "float32"]
    assert not any(r["error"]["wrong"] for r in gemm)
    (layout,) = part["experiments"]["interleaved"]["rows"]
    assert layout["same_bits"] and layout["word"] == 2
    for text in ("paper x", "1.3", "eff x", "truncated", "same bits", "toward zero"):
        assert text in shown, text


def test_the_papers_kernel(device: Device) -> None:
    """The same bits as portmp's schedule gives: tiles of 128 x 16, blocks of 256 on CPUs."""
    gemm = KINDS["gemm"]
    kind = device.properties.kind
    assert BLOCKS["gpu"].tile_m == 128 and BLOCKS["gpu"].threads == 256
    assert BLOCKS["cpu"].rows == 256
    ready = gemm.prepare(device, formats.get("slfp64in48b"), 100, None)
    assert ready.paper and kind in BLOCKS
    own, theirs = (work().to_limbs() for work in (ready.work, ready.paper))
    assert np.array_equal(own, theirs)
    assert KINDS["axpy"].prepare(device, formats.get("float64"), 100, None).paper is None


def test_sizes_and_order(device: Device, short: None) -> None:
    """A length and an order; curves end there; the shortest first, tables in the paper's order."""
    one = bench(device)
    assert one.sizes(KINDS["gemv"]) == KINDS["gemv"].sizes[one.kind]
    one.size, one.order = 2**13, 40
    assert one.sizes(KINDS["dot"]) == (2**13,) and one.sizes(KINDS["gemm"]) == (40,)
    lengths = one.sizes(SWEPT[0])
    assert lengths[-1] == 2**13 and one.sizes(SWEPT[1]) == (40,)
    one.size = 100
    found = measured("sweep", one)
    assert {(r["routine"], r["n"]) for r in found["rows"]} == {("axpy", 100), ("gemm", 40)}
    assert not any(r["type"].endswith("_rz") for r in found["rows"])
    shown = "\n".join(slfp.FAMILY.by_name["sweep"].shown(found))
    assert shown.index("float64") < shown.index("slfp64in48b") < shown.index("float32")


def test_short_formats_first(device: Device) -> None:
    """After their parent the shortest, which tell most where the time does not allow all."""
    one = bench(device)
    one.size = 100
    names = [case.what.partition(",")[0] for case in cases(one, KINDS["axpy"])]
    assert names[:4] == ["float64", "slfp64in16b", "slfp64in24b", "fp64infp32"]


def test_wrong_results(
    device: Device, monkeypatch: pytest.MonkeyPatch, short: None, capsys: Any
) -> None:
    """Rounding errors count as wrong here, and are named; so do layouts that do not agree."""
    monkeypatch.setattr(exact, "WRONG", 0.0)
    monkeypatch.setattr(layouts, "same_bits", lambda *_: False)
    words = ["--experiment", "axpy,interleaved", "--size", "300", "--runs", "1"]
    assert cli.main(["bench", "slfp", "--device", device.name, *words]) == 1
    shown = capsys.readouterr().out
    assert "WRONG: axpy, float64, n = 300" in shown
    assert "WRONG: interleaved, slfp64in48b, n = 300" in shown
    assert "WRONG: axpy, slfp32in16b" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--experiment", "axpi"], "--experiment: 'axpi' given.*did you mean"),
        (["--size", "16"], "--size: 16 given, at least 32"),
        (["--size", "64,128,256"], "--size: 64,128,256 given, one length, and one order"),
        (["--seconds", "-1"], "--seconds: -1.0 given"),
        (["--runs", "0"], "--runs: 0 given"),
    ],
)
def test_bad_words(words: list[str], message: str, capsys: Any) -> None:
    """Refused before a device is opened."""
    assert cli.main(["bench", "slfp", "--device", "none:7", *words]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_vectors_are_read_short(device: Device) -> None:
    """Sums over short operands on their fast path are those of single elements."""
    n = 8192 + 77
    for name in ("slfp64in56b_rz", "float16"):
        form = formats.get(name)
        values = values_of(form)
        x, y = (mp.from_limbs(values.take(s, (n,)), form, device) for s in (0, 5000))
        apart = Array(x[::-1].planes)
        back = mp.from_limbs([p[::-1] for p in x.to_limbs()], form, device)
        got, wanted = (mp.dot(v, y).to_limbs()[0] for v in (apart, back))
        assert math.isfinite(float(got)) and got.tobytes() == wanted.tobytes()
