"""``portmp bench nbody``: what it promises as data, the paper's numbers, counts in machine code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiers import check, interpreted

from portmp import formats
from portmp.backends.base import Device
from portmp.bench import measure, reports
from portmp.bench.experiment import SCHEMA, paper_of
from portmp.bench.measure import Budget
from portmp.bench.papers.nbody import experiments, kernels, model, report, static
from portmp.bench.papers.nbody.measured import Bench
from portmp.cli import main
from portmp.compilers import loops
from portmp.compilers.base import KernelReport
from portmp.compilers.loops import Instruction
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.compilers.occupancy import UNITS, occupancy
from portmp.discovery import finding
from portmp.errors import ArgumentError
from portmp.progress import Progress
from portmp.routines import ceilings

Run = Callable[..., tuple[int, str, str]]
LABELS = ("format", "root", "threads", "at_once")
TIERS = {"gfx908": ("hiprtc",), "gfx942": ("clang",), "sm_90": ("nvrtc", "nvdisasm")}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run ``portmp bench nbody`` in a folder of its own; gives status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        try:
            status = main(["bench", "nbody", *words])
        except SystemExit as stop:
            status = int(str(stop.code))
        out = capsys.readouterr()
        return status, out.out, out.err

    return call


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few copies, short chains, and a rate of fmas that is not measured."""
    monkeypatch.setattr(ceilings, "instruction_rate", lambda device, word, op="fma": 1e11)
    for table in (experiments.COPY_SIZES,):
        for kind in table:
            monkeypatch.setitem(table, kind, range(10, 13))
    monkeypatch.setitem(kernels.ITERATIONS, "cpu", (100, 300))
    monkeypatch.setattr(experiments, "VARIED", ((0, 1), (4,), (64,)))
    monkeypatch.setattr(experiments, "VARIED_ROOTS", ("rsqrt",))


# --- results ---------------------------------------------------------------------------------


def measured(part: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows that have a number of particles and times."""
    found = part["experiments"]
    rows = [*found["roots"]["rows"], *found["sizes"]["rows"]]
    rows += [row[k] for row in found["steps"]["rows"] for k in ("before", "after")]
    return rows


def test_results(run: Run, small: None, device: Device) -> None:
    """Every experiment is there; rates follow from the times; the file holds what is printed."""
    words = ("--size", "2^9", "--runs", "2", "--seconds", "60", "--json", "-o", "r.json")
    status, out, err = run(*words)
    data = json.loads(out)
    assert (status, err) == (0, "")
    assert json.loads(Path("r.json").read_text()) == data
    assert data["schema"] == SCHEMA and data["family"] == "nbody"
    assert not reports.broken(data)
    (part,) = data["devices"]
    assert {"portmp", "templates", "date"} <= set(data)
    assert {"clock_mhz", "ceilings"} <= set(part) and part["facts"]["driver"]
    assert part["selected"] == device.name
    assert {r["shared"] for r in part["experiments"]["variants"]["rows"]} == {0, 1}
    assert list(part["experiments"]) == [e.name for e in experiments.FAMILY.experiments]
    rows = measured(part)
    assert len(rows) >= 4
    for row in rows:
        seconds = row["seconds"]
        assert 0 < seconds["least"] <= seconds["median"] <= seconds["most"]
        assert row["flops_max"] == pytest.approx(22 * row["n"] ** 2 / seconds["least"])
    for row in part["experiments"]["roots"]["rows"]:
        assert row["interactions_per_second"] * 22 == pytest.approx(row["flops_max"])
        assert row["flops_median"] == pytest.approx(22 * 512**2 / row["seconds"]["median"])
    for row in part["experiments"]["bound"]["rows"]:
        assert row["share"] == pytest.approx(row["interactions_per_second"] / row["bound"])
        assert row["bound"] == pytest.approx(1e11 / row["slots"])
        assert set(row["flops"]) == {"22", "21", "20", "38"}


def test_the_table(run: Run, small: None, metered: str) -> None:
    """Titles of the experiments that were asked for, and of no others; energy of the roots."""
    words = ("--size", "512", "--runs", "1", "--experiment", "steps,roots,cycles,build,copies")
    status, out, _ = run(*words, "--energy")
    titles = [line.split(":")[0] for line in out.splitlines()]
    assert status == 0
    places = [titles.index(name) for name in ("cycles", "build", "copies", "steps", "roots")]
    assert places == sorted(places) and "sizes" not in titles
    assert "paper" in out and "22 N^2 / t" in out
    assert f"energy: {metered}; idle" in out
    assert "GFLOP/s/W" in out.splitlines()[titles.index("roots") + 1]


def test_several_formats(run: Run) -> None:
    """A format of several limbs has one root, and is left out where words are counted."""
    words = ("--format", "dd,float64", "--experiment", "roots,cycles", "--size", "256")
    status, out, _ = run(*words, "--runs", "1", "--json")
    (part,) = json.loads(out)["devices"]
    roots = [(r["format"], r["root"]) for r in part["experiments"]["roots"]["rows"]]
    assert status == 0
    assert ("dd", "exact") in roots and ("dd", "fast") not in roots
    assert ("float64", "division") in roots
    assert {
        "experiment": "cycles",
        "what": "dd",
        "reason": "has no inverse root of one word",
        "failed": False,
    } in part["skipped"]


def test_time_limits(run: Run) -> None:
    """What would take longer is skipped, with its reason."""
    words = ("--experiment", "roots,sizes,steps", "--size", "2^24", "--seconds", "1e-6")
    status, out, _ = run(*words, "--runs", "1", "--json")
    (part,) = json.loads(out)["devices"]
    roots = {s["what"]: s["reason"] for s in part["skipped"] if s["experiment"] == "roots"}
    assert status == 0 and "float32 exact, N = 16777216" in roots
    for reason in roots.values():
        assert re.fullmatch(r"would take about .* of the limit of 1e-06 s \(--seconds\) .*", reason)


def test_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experiments get their shares, and what those before them left."""
    shares = {e.name: e.share for e in experiments.FAMILY.experiments}
    budget = Budget(160.0, {"sizes": shares["sizes"], "bound": shares["bound"]})
    assert budget.left("sizes") == pytest.approx(120, abs=1)
    assert budget.left("bound", 2) == pytest.approx(80, abs=1)
    assert Budget(0.0, {"roots": 1}).left("roots") == 0
    # What one took beyond its share, all that come lose, not the next one alone.
    budget = Budget(40.0, {"a": 1, "b": 1, "c": 1, "d": 1})
    monkeypatch.setattr(budget, "passed", lambda: 25.0)
    assert budget.left("b") == 0
    budget.begin("c")
    assert budget.left("c") == pytest.approx(7.5)
    budget.begin("b")
    assert budget.left("b") == pytest.approx(5) and budget.left("d") == pytest.approx(15)
    assert len(shares) == 8


def test_trying_takes_time_of_all(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of the roots alone: they have their share of what is left."""
    bench = Bench(device, None, 10, Budget(40.0, {"roots": 1, "sizes": 3}), Progress(False))
    passed = 0.0
    monkeypatch.setattr(bench.budget, "passed", lambda: passed)

    def rate(form: Any, root: str, schedule: Any = None) -> float:
        nonlocal passed
        if root not in seen:
            passed += 10.0
        seen.append(root)
        return 2.0**20

    seen: list[str] = []
    monkeypatch.setattr(bench, "rate", rate)
    monkeypatch.setattr(experiments, "roots_of", lambda form, device: ["exact", "fast"])
    bench.forms = [formats.get("float32")]
    cases = list(experiments.roots(bench))
    # 20 of 40 s are over; a quarter of the rest is for the roots: 2^20 interactions take a second,
    # of runs and of those beside them.
    assert bench.budget.left("roots") == 5 and bench.budget.left("sizes") == 20
    assert [c.what for c in cases] == ["float32 exact, N = 1024", "float32 fast, N = 1024"]
    assert "time allows N = 1024" in bench.skipped[0]["reason"]


def test_long_runs_are_few(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as asked for, else so few that they take ten seconds."""
    bench = Bench(device, None, 10, Budget(1e6, {"roots": 1}), Progress(False))
    form, calls = formats.get("float32"), []
    bench._rates[form.name, "fast", None] = 2.0**30

    def times(device: Device, work: Any, runs: int, apart: int) -> list[float]:
        calls.append((runs, apart))
        return [1.0] * runs

    monkeypatch.setattr(ceilings, "times", times)
    monkeypatch.setattr(Bench, "work", lambda *_: lambda: None)
    # A run takes 2^-6, 1, 4 and 64 s.
    assert [bench.planned(form, "fast", 2**k) for k in (12, 15, 16, 18)] == [
        (10, 1),
        (10, 0),
        (2, 0),
        (1, 0),
    ]
    assert bench.expected(form, "fast", 2**18) == 128
    bench.measure(form, "fast", 2**16)
    bench.asked = True
    bench._rates[form.name, "fast", None] = 2.0**30
    bench.measure(form, "fast", 2**16)
    assert calls == [(2, 0), (10, 0)]


def test_the_papers_numbers_are_of_its_format(device: Device) -> None:
    """No share of table A.1 and no step of tables 4 and 5 stands beside another format."""
    paper = {n: {"at_once": 1, "rows": d["sizes"]} for n, d in model.devices().items()}
    row = {"root": "fast", "n": 1024, "flops_max": 1.0, "flops_median": 1.0, "schedule": None}
    rows = [row | {"format": f, "share": 1, "model": 1, "at_once": 1} for f in ("float32", "dd")]
    single, double = report.sizes({"paper": paper, "rows": rows})
    assert "MI100" in single.lines()[1] and "table A.1" in single.title
    assert "MI100" not in double.lines()[1] and "paper" not in double.title
    for name, wanted in (("float32", {"MI100", "A100"}), ("float64", set())):
        bench = Bench(device, None, 1, Budget(1e6, {"steps": 1}), Progress(False))
        s = experiments.step_schedule(bench)
        (found,) = experiments._step(bench, formats.get(name), "exact", 1, 64, s)
        assert set(found["paper"]) == wanted
        numbers = [n for n, _ in found["around"]]
        assert numbers == [*range(numbers[0], numbers[-1] + 1, s.threads)] and numbers[0] > 0
        assert dict(found["around"])[64 + s.threads] == found["after"]["seconds"]["least"]
        labels = dict.fromkeys(LABELS, s.threads)
        told, around = report.steps({"rows": [found], **labels})
        assert "+1" in around.lines()[1] and "figure 5" in around.title and told.rows == [found]


def test_variants(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those nearest to the first come first; what a device lacks is told once; the best of each."""
    bench = Bench(device, None, 10, Budget(1e6, {"variants": 1}), Progress(False))
    monkeypatch.setattr(bench, "rate", lambda form, root: 2.0**30)
    measured: list[tuple[Any, ...]] = []

    def measure(form: Any, root: str, n: int, s: Any, runs: int) -> dict[str, Any]:
        assert (n, runs, s.targets) == (2**12, 3, 1)
        measured.append((root, s.shared, s.ilp, s.threads))
        return {"root": root, "flops_max": float(s.ilp * s.threads)}

    monkeypatch.setattr(bench, "measure", measure)
    monkeypatch.setattr(experiments, "VARIED", ((0, 7), (4, 2), (64, 32)))
    monkeypatch.setattr(experiments, "VARIED_ROOTS", ("rsqrt", "division"))
    rows = [row for case in experiments.variants(bench) for row in case.measure()]
    assert measured[:4] == [
        ("rsqrt", 0, 4, 64),
        ("rsqrt", 0, 4, 32),
        ("rsqrt", 0, 2, 64),
        ("division", 0, 4, 64),
    ]
    assert len(rows) == 8 == len(set(measured)) and bench.beside == {"n": 2**12}
    assert [s["what"] for s in bench.skipped] == [
        "rsqrt, shared 7, ILP 4, 64 threads",
        "rsqrt, shared 7, ILP 4, 32 threads",
    ]
    whole, best, *papers = report.variants({"rows": rows, "n": 2**12})
    assert whole.rows[0]["flops_max"] == 256 and len(whole.rows) == 8
    assert {r["choice"]: r["flops_max"] for r in best.rows}["ilp 2"] == 128
    assert papers[0].endswith("MI100: rounded, shared 0, ILP 4, 256 threads")


def test_beside_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done there leaves the experiments their time."""
    budget = Budget(10.0, {"roots": 1})
    start, passed = budget.start, iter([3.0, 8.0])
    monkeypatch.setattr(budget, "passed", lambda: next(passed))
    with budget.beside():
        pass
    assert budget.start == start + 5


def test_plot(run: Run, small: None) -> None:
    """A picture, also where an experiment is missing."""
    pytest.importorskip("matplotlib")
    words = ("--experiment", "roots,sizes", "--size", "2^9", "--runs", "1", "--plot", "p.png")
    assert run(*words)[0] == 0
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


BAD_USE = {
    "experiment": (["--experiment", "sizs"], "did you mean 'sizes'"),
    "format": (["--format", "flot32"], "unknown format 'flot32'"),
    "a paper's format": (["--format", "dd2011"], "dd2011 given, a paper's own arithmetic"),
    "size": (["--size", "1e3"], "--size: '1e3' given"),
    "small": (["--size", "9"], "--size: 9 given, 256 to 16777216 is allowed"),
    "two sizes": (["--size", "512,1024"], "one number of particles is needed"),
    "seconds": (["--seconds", "0"], "--seconds: 0.0 given"),
    "for ever": (["--seconds", "inf"], "--seconds: inf given"),
    "runs": (["--runs", "0"], "--runs: 0 given"),
    "folder": (["-o", "no/r.json"], "does not exist"),
    "device": (["--device", "opencl:99"], "does not exist"),
    "architecture": (["--static", "gfx907"], "--static: 'gfx907' given (did you mean"),
    "no architecture": (["--static", ","], "--static: is empty"),
    "both": (["--static", "sm_90", "--runs", "3"], "--runs: cannot be given with --static"),
    "energy": (["--static", "sm_90", "--energy"], "--energy: cannot be given with --static"),
    "picture": (["--plot", "p.doc"], "'.doc'"),
}


@pytest.mark.parametrize("name", BAD_USE)
def test_bad_use(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Status 2 and one line, before anything is measured."""
    if name == "picture":
        pytest.importorskip("matplotlib")
    monkeypatch.setattr(ceilings, "times", pytest.fail)
    words, message = BAD_USE[name]
    status, out, err = run(*words)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith("portmp: error: ")
    assert message in err
    assert list(Path().iterdir()) == []


def test_devices_without_float64(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Formats of float64 are refused there, by name."""

    class Facts:
        float64 = False
        kind = "gpu"

    class Small:
        name = "x:0"
        interpreted = False
        by_reference = False
        properties = Facts()

    monkeypatch.setattr(finding, "get", lambda name: Small())
    status, _, err = run("--format", "float32,dd,float64")
    assert (status, err) == (2, "portmp: error: --format: dd, float64 given, x:0 has no float64\n")


# --- the paper ---------------------------------------------------------------------------------


def test_the_papers_ratios() -> None:
    """Table 3 gives the ratios that its text names."""
    for name, named in paper_of("nbody")["ratios"].items():
        derived = model.ratios(name)
        assert {k: round(v, 2) for k, v in derived.items() if k in named} == named


def test_the_papers_steps() -> None:
    """Times of tables 4 and 5 have the rates of table A.1; misprinted rows are marked."""
    for about in model.devices().values():
        threads = about["threads"]
        for k, row in enumerate(about["steps"], 1):
            (n, before), (more, after) = row["before"], row["after"]
            assert n == k * about["units"] * threads and more == n + threads
            right = "misprint" not in row
            assert right == (after / before == pytest.approx(row["ratio"], rel=0.015))
            assert right == (model.flops(n, before) < about["best"] * 1e12 * 1.01)
    assert sum("misprint" in r for d in model.devices().values() for r in d["steps"]) == 1


def test_the_papers_sizes() -> None:
    """N doubles; medians are at most maxima; the best rate is the table's."""
    for about in model.devices().values():
        sizes = about["sizes"]
        assert [row[0] for row in sizes] == [2**k for k in range(10, 25)]
        assert all(median <= most for _, most, median in sizes)
        assert max(row[1] for row in sizes) == about["best"]
    plain = [row[2] for row in model.devices()["A100"]["sizes_cuda"]]
    hip = [row[2] for row in model.devices()["A100"]["sizes"]]
    assert all(0.999 < a / b < 1.001 for a, b in zip(plain, hip, strict=True))


def test_the_papers_slots_and_cycles() -> None:
    """Slots are cycles over an fma's; bounds and shares as the text has them."""
    mi100, a100 = (model.devices()[name] for name in ("MI100", "A100"))
    cycles = mi100["cycles"]
    for root, slots in mi100["root_slots"].items():
        assert round(cycles[root] / cycles["fma"]) == slots
    for about, root in ((mi100, "rounded"), (a100, "rsqrt")):
        assert about["slots"] == model.PLAIN_SLOTS + about["root_slots"][root]
    assert [model.slots("gfx908", r) for r in ("rounded", "rsqrt", "division")] == [15, 20, 41]
    assert model.slots("gfx908", "fast") == 15 and model.slots("sm_80", "fast") == 16
    assert model.slots("gfx90a", "fast") is None is model.slots("gfx908", "exact")
    assert 22 / (2 * mi100["slots"]) == pytest.approx(0.73, abs=0.005)
    assert 22 / (2 * a100["slots"]) == pytest.approx(0.69, abs=0.005)
    for name in ("MI100", "A100"):
        peak = 2 * model.lane_rate(name) / 1e12
        assert peak == pytest.approx(model.devices()[name]["peak"], rel=0.005)
    assert mi100["best"] / (mi100["peak"] * 22 / 30) == pytest.approx(0.86, abs=0.005)


def test_the_staircase() -> None:
    """Linear up to a full round, then a drop to one half, two thirds, ..."""
    assert model.staircase(50, 100) == 0.5
    assert [model.staircase(100 * k, 100) for k in (1, 2, 3)] == [1, 1, 1]
    assert model.staircase(101, 100) == pytest.approx(0.505)
    # Where one block fills a unit, the model is table A.1 within a few per cent.
    about, at_once = model.devices()["A100"], model.largest_at_once("A100")
    assert at_once == 110592
    for n, most, _ in about["sizes"]:
        assert model.staircase(n, at_once) * about["best"] == pytest.approx(most, rel=0.025)


# --- machine code ------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", TIERS)
def test_static_counts(run: Run, monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    """The loop of float32 fast: 3 subtractions, 3 products, 6 fmas and one root."""
    for tier in TIERS[arch]:
        check(tier)
    monkeypatch.setattr(static, "KERNELS", {"float32": ("fast", "exact")})
    status, out, _ = run("--static", arch, "--json")
    assert status == 0
    data = json.loads(out)
    (found,) = data["devices"]
    assert found["selected"] == arch and not reports.broken(data)
    part = found["experiments"]["static"]
    fast, exact = part["rows"]
    each = fast["loop"]["an_interaction"]
    assert part["note"].startswith("compiled, not run")
    packed = 2 if arch == "gfx942" else 1  # two operations in one instruction
    floats = sum(each[c] for c in ("fma32", "add32", "mul32"))
    assert 12 / packed <= floats <= 12
    assert each["special"] == 1
    assert 12 / packed < fast["slots"]["counted"] < 18
    assert exact["slots"]["counted"] > fast["slots"]["counted"]
    assert fast["spills"] == 0 and 0 < fast["registers"] <= 128
    assert 1 <= fast["occupancy"]["warps"] <= fast["occupancy"]["most"]
    if arch == "gfx908":
        paper = part["bounds"]["MI100"]["roots"]["by its own count"]
        assert paper["bound"] == pytest.approx(16.9e12, rel=0.01)
        assert paper["share"] == pytest.approx(14.63e12 / paper["bound"])
        exact_bound = part["bounds"]["MI100"]["roots"]["exact"]
        lanes = 120 * 64 * 1.502e9
        assert exact_bound == {"bound": pytest.approx(22 * lanes / exact["slots"]["counted"])}
    assert "compiled, not run" in experiments.FAMILY.table(data)


def test_cards_of_ones_own() -> None:
    """Units and clock beside an architecture, and the paper's cards by their names."""
    assert static.known("gfx90a") == ("gfx90a", 0, 0.0)
    assert static.known("mi100").arch == "gfx908" and static.known("A100").arch == "sm_80"
    assert static.known("gfx942:304x2.1") == ("gfx942", 304, 2.1)
    for bad in (
        "gfx942:",
        "gfx942:304",
        "gfx942:0x2",
        "gfx942:304x0",
        "gfx942:304x2.1x",
        "mi100:x",
    ):
        with pytest.raises(ArgumentError, match="units and clock in GHz are needed"):
            static.known(bad)
    # MI100's rates of lanes are those of the paper's model.
    for name, about in model.devices().items():
        assert UNITS[about["arch"]].rate == about["lanes"], name
    slots = {"instructions": {}, "turns": 16.0}
    rows = [
        {"format": "float32", "root": "fast", "loop": slots, "slots": {"counted": 16.0}},
        {"format": "float32", "root": "division", "loop": slots | {"turns": 62.0}, "slots": None},
    ]
    card = static._bounds(static.known("gfx942:304x2.1"), rows)["304 units of 2.1 GHz"]
    assert card["lane_rate"] == pytest.approx(304 * 64 * 2.1e9)
    assert card["roots"]["fast"] == {"bound": pytest.approx(22 * card["lane_rate"] / 16)}
    mi100 = static._bounds(static.known("mi100"), rows)["MI100"]
    # The paper's division is faster than portmp's, which goes through float64, could be.
    assert mi100["roots"]["division"]["share"] == pytest.approx(1.30, abs=0.005)
    shown = report.static({"note": "", "rows": [], "bounds": {"MI100": mi100}})
    told = [part for part in shown if isinstance(part, str)]
    assert "(the paper's: 130 %)" in told[0] and "goes another way" in told[1]


def test_a_missing_compiler(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own words, in one line."""
    from portmp.errors import BackendUnavailable

    def missing(self: NvrtcCompiler) -> str:
        raise BackendUnavailable("NVRTC is missing; pip install it")

    monkeypatch.setattr(NvrtcCompiler, "version", missing)
    status, out, err = run("--static", "sm_90")
    assert (status, out) == (2, "")
    assert err == "portmp: error: NVRTC is missing; pip install it\n"


def test_the_plain_kernels() -> None:
    """They compile without a header, and their loops are the same arithmetic."""
    for tier in TIERS["sm_90"]:
        check(tier)
    found = loops.hot_loops("cuda", NvrtcCompiler().compile(kernels.plain_source().text, "sm_90"))
    loop = found["plain_A100"].with_reads(1)
    assert loop.each("fma32", "add32") == 9
    assert loop.special == 1
    assert set(found) == {"plain_A100", "plain_MI100"}


def test_build_on_amd(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's final kernels, interpreted: the rendered ones' results, from any number."""
    monkeypatch.setattr(measure, "WARM_UP", 0.0)
    bench = Bench(interpreted("emulated:gfx908"), 41, 1, Budget(1e6, {"build": 1}), Progress(False))
    bench._rates |= {("float32", root, None): 2.0**40 for root in ("rounded", "rsqrt")}
    rows = [row for case in kernels.build(bench) for row in case.measure()]
    names = ["MI100's, rendered", "MI100's, plain", "A100's, rendered", "A100's, plain"]
    assert [row["kernel"] for row in rows] == names and not bench.skipped
    assert all(row["difference"] < 1e-6 and row["loop"]["special"] == 1 for row in rows)
    assert rows[0]["over_rendered"] == 1 and rows[1]["over_rendered"] > 0
    shown = "\n".join(experiments.FAMILY.by_name["build"].shown({"rows": rows}))
    assert "A100's, plain" in shown and "0.0e+00" in shown
    for name, about in model.devices().items():
        root, s = kernels.final(name)
        assert (root, s.threads, s.shared, s.ilp) == tuple(
            about[k] for k in ("root", "threads", "shared", "ilp")
        )


def test_loops_by_hand() -> None:
    """The longest of the innermost loops with a root; outer ones and others do not count."""
    code = [
        Instruction("start"),
        Instruction("root a"),
        Instruction("jump", 1),  # a short loop
        Instruction("outer"),
        Instruction("root b"),
        Instruction("root c"),
        Instruction("jump", 4),
        Instruction("jump", 3),
        Instruction("no"),
        Instruction("no"),
        Instruction("no"),
        Instruction("jump", 8),
    ]
    body = loops.innermost(code, lambda head: head == "root")
    assert [i.text for i in body] == ["root b", "root c", "jump"]
    assert [i.target for i in body] == [None, None, 0]
    assert loops.innermost(code, lambda head: head == "none") == []
    assert loops.readable("cuda") and not loops.readable("opencl")


def test_slow_paths_by_hand() -> None:
    """What a jump skips is left out where it calls a function."""
    code = [
        Instruction("root a"),
        Instruction("skip", 4),
        Instruction("move"),
        Instruction("call f"),
        Instruction("root b"),
        Instruction("skip", 7),
        Instruction("rare"),
        Instruction("jump", 0),
    ]
    usual = loops.usual(code, lambda head: head == "call")
    assert [i.text for i in usual] == ["root a", "skip", "root b", "skip", "rare", "jump"]
    assert loops.usual(code, lambda head: head == "none") == code


def test_interactions_are_counted_by_reads() -> None:
    """Where there are any: a root's slow path may hold another root."""
    loop = loops.Loop(8, 80, 4, loops.Counter(special=8, shared=2, fma32=24))
    assert (loop.plain, loop.special, loop.turns) == (9, 1, 13)
    twice = loop.with_reads(0.5)
    assert (twice.interactions, twice.special, twice.each("fma32")) == (4, 2, 6)
    assert loops.Loop(8, 80, 4, loops.Counter(special=8)).with_reads(1).interactions == 8


def test_occupancy_by_hand() -> None:
    """Registers in pieces, blocks by shared memory, warps at most."""

    def held(arch: str, registers: int, shared: int, threads: int) -> tuple[float, str]:
        report = KernelReport("k", arch, registers, None, 0, 0, shared)
        found = occupancy(report, threads)
        assert found is not None
        return found.warps, found.limit

    assert held("gfx908", 51, 0, 128) == (4, "registers")  # 256 / 52
    assert held("gfx908", 24, 0, 64) == (10, "warps")
    assert held("gfx90a", 100, 0, 64) == (4, "registers")  # 512 / 104
    assert held("gfx908", 16, 32 * 1024, 256) == (2, "shared memory")  # two blocks of 4 warps
    assert held("sm_90", 80, 2048, 128) == (6, "registers")  # 512 / 80
    report = KernelReport("k", "gfx000", 1, None, 0, 0, 0)
    assert occupancy(report, 64) is None


def test_a_chain_takes_longer_than_a_shorter_one(device: Device) -> None:
    """It is not optimised away: the kernel of a root computes, and gives its fixed point."""
    bench = Bench(device, None, 2, Budget(9.0, {"cycles": 1}), Progress(False))
    form = formats.get("float32")
    seconds, cycles = kernels.latency(bench, form, "division")
    assert seconds > 0
    assert cycles is None or cycles > 1
