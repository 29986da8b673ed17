"""The triple-single paper's splitting and experiments: exact splits, errors, reports."""

from __future__ import annotations

import io
import itertools
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import cli, formats
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import reports, values
from portmp.bench.experiment import SCHEMA, Experiment, paper_of
from portmp.bench.measure import Budget
from portmp.bench.papers.ts2021 import experiments
from portmp.bench.papers.ts2021.experiments import Bench
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.formats import convert
from portmp.progress import Progress
from portmp.routines.split2021 import launch as split2021
from portmp.runtime import planes


def same(first: Any, second: Any) -> bool:
    """Whether limbs have the same bits."""
    return all(x.tobytes() == y.tobytes() for x, y in zip(first, second, strict=True))


FORM = formats.get(split2021.FORMAT)


def factors(n: int, fill: str, device: Device) -> tuple[Array, Array]:
    """Two of the paper's matrices."""
    return experiments.factors(FORM, n, fill, device)


def matrices(a: Array, slices: int) -> list[np.ndarray[Any, Any]]:
    """Slices of a matrix, on the host."""
    return [s.read_dense()[0] for s in split2021.split(a.planes, slices)]


def test_entries() -> None:
    """(ru - 0.5) exp(rn); a float64's limbs, or full ones within half an ulp of those above."""
    full, short = (values.lognormal(FORM, (40, 40), fill, 1) for fill in ("full", "float64"))
    assert all(np.array_equal(x, y) for x, y in zip(full[:1], short[:1], strict=True))
    value = (np.random.default_rng(1).random((40, 40)) - 0.5) * 1.0
    assert (np.sign(value) == np.sign(full[0])).all()
    for limbs in (full, short):
        for above, below in itertools.pairwise(limbs):
            assert (abs(below) <= np.spacing(abs(above)) / 2).all()
    # 53 bits leave at most 5 for the third limb.
    third = np.frexp(short[2])[0] * 2**6
    assert (third == np.rint(third)).all() and not (np.frexp(full[2])[0] * 2**6 % 1 == 0).all()
    assert np.count_nonzero(full[2]) > 1500


@pytest.mark.parametrize("slices", [1, 2, 5, 12])
def test_slices_add_up(slices: int, device: Device) -> None:
    """Slices are what is taken away, exactly; the last is the leading word of the rest."""
    a, _ = factors(24, "full", device)
    found = matrices(a, slices)
    assert len(found) == slices
    rest = np.array(convert.to_fractions(a.to_limbs()), object)
    for s in found[:-1]:
        rest = rest - np.array(convert.to_fractions([s]), object)
    left = np.vectorize(float, otypes=[float])(rest)
    assert np.array_equal(found[-1], left.astype(np.float32))
    for s, t in itertools.pairwise(found):
        assert abs(t).max() < abs(s).max() / 64


def units(matrix: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The largest number of which all entries of a row are multiples, for each row."""
    whole = np.ldexp(matrix.astype(np.float64), 100).astype(object)
    return np.array([math.gcd(*(int(v) for v in row)) * 2.0**-100 for row in whole])


def test_products_of_slices_are_exact(device: Device) -> None:
    """All but those with a last slice: in any order sums are multiples that 24 bits hold."""
    a, b = factors(200, "full", device)
    turned = Array(planes.upload(FORM, b.T.to_limbs(), device.queue))
    left, right = matrices(a, 6)[:-1], matrices(turned, 6)[:-1]
    for x in left:
        for y in right:
            size = abs(x).astype(np.float64) @ abs(y.T).astype(np.float64)
            assert (size <= 2**24 * units(x)[:, None] * units(y)[None, :]).all()


def test_errors_fall_with_slices(device: Device) -> None:
    """Twelve are as good as the format, whatever fills it; misprints would show."""
    for fill in experiments.FILLS:
        a, b = factors(40, fill, device)
        left, right = (np.array(v.to_fractions(), object) for v in (a, b))
        exact = left @ right
        size = abs(left) @ abs(right)
        errors = []
        for slices in (2, 4, 6, 12):
            got = np.array(Array(split2021.gemm(a.planes, b.planes, slices)).to_fractions(), object)
            errors.append(float((abs(got - exact) / size).max()))
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] < 40 * 2.0**-70 and errors[0] > 1e-9
        # Three of two words each are as good as twelve of one.
        pairs = mp.split2021(a, b, 3, words=2)
        got = np.array(pairs.to_fractions(), object)
        assert float((abs(got - exact) / size).max()) < 40 * 2.0**-70
        on_host = (v.to_device("host") for v in (a, b))
        assert same(mp.split2021(*on_host, 3, words=2).to_limbs(), pairs.to_limbs())
        assert same(mp.split2021(a, b).to_limbs(), mp.split2021(a, b, 9).to_limbs())


def test_bad_products(device: Device) -> None:
    """Shapes, formats and numbers of slices."""
    a, b = factors(4, "full", device)
    for slices in (0, 33):
        with pytest.raises(ArgumentError, match=f"slices: {slices} given, 1 to 32"):
            split2021.gemm(a.planes, b.planes, slices)
    with pytest.raises(ArgumentError, match="words: 3 given, 1 and 2"):
        mp.split2021(a, b, words=3)
    with pytest.raises(ShapeError, match="split2021"):
        split2021.gemm(a.planes, b[:3].planes, 9)
    ts = mp.zeros((4, 4), "ts", device).planes
    with pytest.raises(FormatError):
        split2021.gemm(ts, ts, 9)


def test_ratios() -> None:
    """The largest over all orders at which both were measured."""
    rows = [
        {"n": n, "blocks": "paper", "format": f, "operations_per_second": rate}
        for f, n, rate in (
            ("ts2021", 32, 6.0),
            ("dd", 32, 2.0),
            ("ts2021", 64, 9.0),
            ("dd", 64, 4.5),
            ("ts2021", 128, 90.0),
            ("ds", 64, 4.0),
            ("float64", 64, 8.0),
        )
    ]
    assert experiments.ratios(rows, "paper") == {
        "ts_over_d+s": None,
        "ts_over_dd": 3.0,
        "df_over_double": 0.5,
    }


@pytest.fixture
def clocked(device: Device, monkeypatch: pytest.MonkeyPatch) -> tuple[Bench, list[float]]:
    """A run with a limit of 100 s, compiling too, and the seconds that have passed of it."""
    bench = Bench(device, 2048, 1, Budget(100.0, {"split": 1}, whole=True), Progress(False))
    clock = [0.0]
    monkeypatch.setattr(bench.budget, "passed", lambda: clock[0])
    return bench, clock


def ordered(bench: Bench, sizes: tuple[int, ...], act: Any) -> list[int]:
    """The orders that were measured."""
    seen: list[int] = []

    def one(there: Bench, n: int) -> list[dict[str, Any]]:
        seen.append(n)
        act(n)
        return []

    measured = Experiment("split", lambda run: run.orders(sizes, one), ())
    assert measured.measured(bench) == {"rows": []}
    return seen


def test_time_is_kept(clocked: tuple[Bench, list[float]]) -> None:
    """An order whose time is not left is skipped, with all above, and the reason is told."""
    bench, clock = clocked

    def act(n: int) -> None:
        clock[0] += {256: 1.0, 512: 7.0, 1024: 30.0}[n]

    # Five times as long at first, then as the last was longer: 5 s and 49 s.
    assert ordered(bench, (256, 512, 1024, 2048), act) == [256, 512, 1024]
    assert bench.skipped == [
        {
            "experiment": "split",
            "what": "N = 2048",
            "failed": False,
            "reason": (
                "would take about 129 s; 62.0 s of the limit of 100 s (--seconds) are left for it"
            ),
        }
    ]


def test_compiling_says_nothing_of_larger_orders(clocked: tuple[Bench, list[float]]) -> None:
    """Nor do orders so small that they all take as long."""
    bench, clock = clocked
    bench.size = None

    def act(n: int) -> None:
        clock[0] += 5.0
        if n == 32:
            clock[0] += 20.0
            bench.compiled(20.0)

    assert ordered(bench, (32, 64, 128, 256, 512), act) == [32, 64, 128, 256, 512]
    assert not bench.skipped


def test_ways_in_time(clocked: tuple[Bench, list[float]]) -> None:
    """The first in any case; those for which no time is left are told."""
    bench, clock = clocked
    clock[0] = 200.0
    assert list(bench.in_time("split", 64, ("blocked", "9", "12"))) == ["blocked"]
    assert bench.skipped == [
        {
            "experiment": "split",
            "what": "9, 12, N = 64",
            "reason": "its part of the limit of 100 s (--seconds) is over",
            "failed": False,
        }
    ]
    clock[0] = 50.0
    assert list(bench.in_time("split", 64, ("blocked", "9"))) == ["blocked", "9"]


def test_larger_orders(clocked: tuple[Bench, list[float]]) -> None:
    """A size above the paper's goes on beyond it, one below ends before."""
    bench, _ = clocked
    assert ordered(bench, (256, 512), lambda n: None) == [256, 512, 1024, 2048]
    bench.size = 300
    assert ordered(bench, (256, 512), lambda n: None) == [256]


def test_blocks_are_for_gpus(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """On CPUs the paper's arithmetic has portmp's schedule: its blocks would turn its finding."""
    given: list[Any] = []

    def gemm(a: Array, b: Array, schedule: Any = None, **_: Any) -> Array:
        given.append(schedule)
        return a

    monkeypatch.setattr(experiments.blas, "gemm", gemm)
    bench = Bench(device, 32, 1, Budget(100.0, {"split": 1, "blocked": 1}), Progress(False))
    for kind, schedule in (("gpu", experiments.BLOCK), ("cpu", None)):
        monkeypatch.setattr(Bench, "kind", kind)
        experiments._ways(bench, 32, "full")["blocked"]()
        assert given.pop() is schedule
    rows = experiments.blocked(bench, 32)
    assert {r["blocks"] for r in rows} == {"portmp"} and set(given) == {None}
    assert [r["format"] for r in rows] == [*experiments.ON_CPUS["portmp"]]
    assert {"ts2021", "ts2021cpu", "ts", "ddin96b"} < {r["format"] for r in rows}


def test_command(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, metered: str
) -> None:
    """A report with all experiments, tables beside the paper's numbers, and a picture."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(experiments, "SPLIT_SIZES", (32,))
    few = {"paper": (experiments.PAPER, "dd"), "portmp": ("ts", "dd")}
    monkeypatch.setattr(experiments, "BLOCKED", few)
    monkeypatch.setattr(experiments, "ON_CPUS", {"portmp": ("ts2021", "ts", "dd")})
    monkeypatch.setattr(experiments, "COMPILED", {"gpu": 0, "cpu": 0})
    report, picture = tmp_path / "r.json", tmp_path / "p.png"
    words = ["bench", "ts2021", "--device", device.name, "--size", "32", "--runs", "1"]
    words += ["--seconds", "1000", "-o", str(report), "--plot", str(picture), "--energy"]
    assert cli.main(words) == 0
    shown = capsys.readouterr().out
    data = json.loads(report.read_text())
    (part,) = data["devices"]
    assert data["schema"] == SCHEMA and not part["skipped"]
    assert data["family"] == "ts2021" and not reports.broken(data)
    assert experiments.FAMILY.table(data) in shown and picture.stat().st_size > 1000
    found = part["experiments"]
    wanted = experiments.BLOCKED if part["facts"]["kind"] == "gpu" else experiments.ON_CPUS
    assert [r["format"] for r in found["blocked"]["rows"]] == [
        f for names in wanted.values() for f in names
    ]
    times = {row["way"]: row for row in found["split"]["rows"]}
    assert times["blocked"]["over_blocked"] == 1
    assert all(row["seconds"]["median"] > 0 for row in times.values())
    errors = found["accuracy"]["rows"]
    for fill in experiments.FILLS:
        each = {row["way"]: row["relative_error"] for row in errors if row["fill"] == fill}
        assert each["12"] < 1e-18 and each["3 DF"] < 1e-18 and each["ozaki2 28 moduli"] < 1e-20
        assert set(each) == set(times) and all(map(math.isfinite, each.values()))
        assert {r["way"]: r["over_blocked"] for r in errors if r["fill"] == fill} == {
            way: row["over_blocked"] for way, row in times.items()
        }
    assert "5.9" in shown and "the largest over N = 32 to 32" in shown
    assert part["energy"]["read"] == metered and "energy, split: GFLOP/s/W and J/op" in shown
    assert all(row["energy"]["watts"] > 0 for row in times.values())
    for row in found["blocked"]["rows"]:
        rate = row["energy"]["operations_per_second"]
        assert rate == pytest.approx(row["energy"]["calls"] * 2 * 32**3 / row["energy"]["seconds"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--experiment", "bloked"], "--experiment: 'bloked' given.*did you mean"),
        (["--size", "16"], "--size: 16 given, at least 32"),
        (["--size", "64,128"], "--size: 64,128 given, one order"),
        (["--seconds", "-1"], "--seconds: -1.0 given"),
        (["--runs", "0"], "--runs: 0 given"),
    ],
)
def test_bad_words(words: list[str], message: str, capsys: Any) -> None:
    """Refused before a device is opened."""
    assert cli.main(["bench", "ts2021", "--device", "none:7", *words]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_names_that_a_terminal_cannot_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's authors are told in letters that not every terminal has: escaped there."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["formats"]) == 0
    print(paper_of("ts2021")["source"], flush=True)
    shown = written.getvalue().decode()
    assert r"\u6253\u6850\u5927\u96c5 and T. Kouya" in shown
