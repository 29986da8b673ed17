"""``portmp bench all`` and ``papers``: members, time, what is left out, one file of all reports."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiers
from slow import slow

from portmp import cli, discovery, formats
from portmp.backends.base import Device
from portmp.bench import digests, options, reports, suites, tuned
from portmp.bench.experiment import Case, Experiment, Family, Run
from portmp.bench.measure import Budget
from portmp.bench.suites import Member, Suite
from portmp.bench.tables import key
from portmp.errors import DeviceError
from portmp.progress import Progress
from portmp.routines.case import Case as Result
from portmp.verify import cases as verified

SEEN: list[tuple[str, float]] = []
"""Members that ran, with their limits of time."""


class Pretended(Family):
    """A family that measures nothing, but says so."""

    def __init__(self, name: str, cases: Any = None) -> None:
        self.name = name
        self.experiments = (Experiment("rows", cases or self.cases, (key("name"),)),)

    def cases(self, run: Run) -> Iterator[Case]:
        """One row."""
        SEEN.append((self.name, run.budget.seconds))
        assert run.budget.whole
        yield Case("a", lambda: [{"name": self.name}])


def failing(run: Run) -> Iterator[Case]:
    """A device that is lost."""
    raise DeviceError("it fell off the bus")
    yield


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two families in the place of all."""
    SEEN.clear()
    found = {name: Pretended(name) for name in ("nbody", "slfp")}
    found["ts2021"] = Pretended("ts2021", failing)
    monkeypatch.setattr(options, "family", found.__getitem__)


def run(suite: Suite, *given: str) -> int:
    """A suite by the options of ``all``."""
    parser = cli.command_line()
    args = parser.parse_args(["bench", "all", *given])
    return suite.command(args)


def test_members_share_the_time(
    pretended: None, device: Device, tmp_path: Path, capsys: Any
) -> None:
    """What one leaves is the next one's; a member that fails leaves the others."""
    suite = Suite(
        "all",
        (
            Member("nbody", 1),
            Member("ts2021", 2),
            Member("slfp", 1, asked="tune"),
            Member("slfp", 1),
        ),
        {"gpu": 40.0, "cpu": 40.0},
    )
    file = tmp_path / "r.json"
    assert run(suite, "--device", device.name, "-o", str(file)) == 1
    assert [name for name, _ in SEEN] == ["nbody", "slfp"]
    assert SEEN[0][1] == 10 and 35 < SEEN[1][1] <= 40
    assert "skipped: all: it fell off the bus" in capsys.readouterr().out
    found = reports.read_all(file)
    assert [r["family"] for r in found] == ["nbody", "ts2021", "slfp"]
    assert not reports.broken(json.loads(file.read_text()))
    (part,) = found[1]["devices"]
    assert part["experiments"] == {} and part["skipped"][0]["failed"]
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
    SEEN.clear()
    assert run(suite, "--device", device.name, "--tune", "--seconds", "8", "--json") == 1
    assert [name for name, _ in SEEN] == ["nbody", "slfp", "slfp"] and SEEN[0][1] == 8 / 5
    assert json.loads(capsys.readouterr().out)["family"] == "all"


def test_a_suite_goes_on(
    pretended: None, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Members that were measured are not measured again."""
    measured: list[str] = []

    def cases(run: Run) -> Iterator[Case]:
        for name in "ab":

            def measure(name: str = name) -> list[dict[str, str]]:
                if len(measured) == 3:
                    measured.append("ended")
                    raise KeyboardInterrupt
                measured.append(name)
                return [{"name": name}]

            yield Case("nothing", list)
            yield Case(name, measure)

    monkeypatch.setattr(options, "family", lambda name: Pretended(name, cases))
    suite = Suite("all", (Member("nbody", 1), Member("slfp", 1)), {"gpu": 9, "cpu": 9})
    file = tmp_path / "r.json"
    given = "--device", device.name, "-o", str(file)
    with pytest.raises(KeyboardInterrupt):
        run(suite, *given)
    # The member that was done is in the file, the cases of the other one beside it.
    assert [report["family"] for report in reports.read_all(file)] == ["nbody"]
    assert run(suite, *given) == 0
    assert measured == ["a", "b", "a", "ended", "b"]
    assert "cases that were measured: 3" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
    for report in reports.read_all(file):
        rows = report["devices"][0]["experiments"]["rows"]["rows"]
        assert [row["name"] for row in rows] == ["a", "b"]


def test_a_refused_device(
    pretended: None, device: Device, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """It is told in each report, and the others are measured."""
    monkeypatch.setattr(discovery, "opened", lambda: [(device, ""), (device, "it cannot divide")])
    suite = Suite("all", (Member("nbody", 1),), {"gpu": 9, "cpu": 9})
    assert run(suite, "--device", "all") == 1
    assert "refused: it cannot divide" in capsys.readouterr().out and len(SEEN) == 1


def test_interpreters_are_not_timed(pretended: None, capsys: Any) -> None:
    """Only their bits count."""
    device = tiers.interpreted(tiers.INTERPRETED[0])
    suite = Suite("all", (Member("nbody", 1, timed=False), Member("slfp", 1)), {"gpu": 9, "cpu": 9})
    assert run(suite, "--device", device.name, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    first, second = (r["devices"][0] for r in data["reports"])
    assert len(SEEN) == 1 and "interpreter" in first["remark"]
    assert second["skipped"] == [
        {
            "experiment": "slfp",
            "what": "all",
            "reason": "an interpreter: its times say nothing of any device",
            "failed": False,
        }
    ]


@pytest.mark.parametrize("float64", [True, False])
@pytest.mark.parametrize("name", list(suites.SUITES))
def test_every_member_takes_its_words(
    name: str, float64: bool, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formats, routines and experiments that there are, on devices with float64 and without."""
    facts = dataclasses.replace(device.properties, float64=float64)
    monkeypatch.setattr(device, "properties", facts)
    args = cli.command_line().parse_args(["bench", name])
    for member in suites.SUITES[name].members:
        family = options.family(member.family)
        request = options.read(
            options.parsed(member.family, member.words(device, args)), family.by_name
        )
        family.check(request)
        budget = Budget(1.0, dict.fromkeys(family.by_name, 1))
        assert isinstance(family.begin(request, device, budget, Progress(False)), Run)
        for form in request.forms:
            assert float64 or form.word == "float32"
    shares = [m.share for m in suites.SUITES[name].members]
    assert min(shares) > 0 and max(suites.SUITES[name].seconds.values()) <= 600


# --- digests ----------------------------------------------------------------------------------


def few(name: str) -> tuple[Result, ...]:
    """A case of each of three routines."""
    found = {c.routine: c for c in verified.cases(name) if c.routine in ("add", "mul", "neg")}
    return tuple(found.values())


@pytest.fixture
def some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few results of few formats."""
    monkeypatch.setattr(digests, "results", few)
    monkeypatch.setattr(digests.formats, "NAMES", ("float32", "dd"))
    for others in ("COMPLEX", "STORED"):
        monkeypatch.setattr(digests.formats, others, ())


def test_digests(some: None, device: Device, capsys: Any, tmp_path: Path) -> None:
    """Each result's digest is in the report, and the recorded one."""
    suite = Suite("all", (Member("verify", 1, timed=False),), {"gpu": 99, "cpu": 99})
    file = tmp_path / "r.json"
    assert run(suite, "--device", device.name, "-o", str(file)) == 0
    assert "digests: 6 of 6 as recorded" in capsys.readouterr().out
    report = reports.read_all(file)[0]
    rows = report["devices"][0]["experiments"]["digests"]["rows"]
    assert [(r["format"], r["routine"]) for r in rows][:2] == [("dd", "add"), ("dd", "mul")]
    found = {k: v for row in rows for k, v in row["digests"].items()}
    assert len(found) == 6 and all(verified.recorded()[k] == v for k, v in found.items())
    # The same bits from the old form.
    old = tmp_path / "old.json"
    words_ = ["verify", "--device", device.name, "--format", "dd", "--routine", "add"]
    assert cli.main([*words_, "-o", str(old)]) == 0
    again = reports.read_all(old)[0]["devices"][0]["experiments"]["digests"]["rows"]
    assert again[0]["routine"] == "add" and again[0]["same_bits"]
    assert rows[0]["digests"].items() <= again[0]["digests"].items()


def test_a_wrong_digest(
    some: None, device: Device, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Is named, and the exit status is 1."""
    recorded = dict(verified.recorded())
    wrong = next(c.key for c in few("dd") if c.routine == "mul")
    monkeypatch.setattr(digests.command, "recorded", lambda: recorded | {wrong: "0" * 32})
    suite = Suite("all", (Member("verify", 1, timed=False),), {"gpu": 99, "cpu": 99})
    assert run(suite, "--device", device.name) == 1
    shown = capsys.readouterr().out
    assert "digests: 5 of 6 as recorded; those that are not:" in shown
    assert "WRONG: mul dd" in shown


def test_digests_in_little_time(
    some: None, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What most tells comes first; the rest is left out in one line."""
    bench = digests.Bench(device, None, 1, Budget(10.0, {"digests": 1}), Progress(False))
    passed = iter([0.0, 0.0, 9.9])
    monkeypatch.setattr(bench.budget, "passed", lambda: next(passed))
    bench.took = [1.0, 3.0]
    found = digests.FAMILY.by_name["digests"].measured(bench)["rows"]
    assert [(r["format"], r["routine"]) for r in found] == [("dd", "add"), ("dd", "mul")]
    (left,) = bench.skipped
    assert left["what"] == "add float32 and what follows, 4 results"
    facts = dataclasses.replace(device.properties, float64=False)
    monkeypatch.setattr(device, "properties", facts)
    bench = digests.Bench(device, None, 1, Budget(1e6, {"digests": 1}), Progress(False))
    found = digests.FAMILY.by_name["digests"].measured(bench)["rows"]
    assert {r["format"] for r in found} == {"float32"} and bench.skipped[0]["what"] == "dd"


def test_order_of_digests() -> None:
    """All results of all formats once."""
    names = [*formats.NAMES, *formats.COMPLEX, *formats.STORED]
    found = [c.key for _, _, group in digests.order(names) for c in group]
    assert sorted(found) == sorted(verified.recorded())
    first = [form.name for form, routine, _ in digests.order(names) if routine == "gemm"]
    assert first[: len(digests.FIRST)] == list(digests.FIRST)


# --- schedules --------------------------------------------------------------------------------


def test_schedules(device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A short search keeps its result where ``portmp tune`` does."""
    target = tmp_path / "schedules.json"
    monkeypatch.setattr(tuned, "ROUTINES", ("dot",))
    monkeypatch.setattr(tuned, "FORMATS", ("ds",))
    monkeypatch.setattr(tuned.database, "user_file", lambda: target)
    monkeypatch.setattr(tuned.search.space, "candidates", lambda *_: [])
    run = Run(device, None, 1, Budget(1.0, {"schedules": 1}), Progress(False))
    (row,) = tuned.FAMILY.by_name["schedules"].measured(run)["rows"]
    assert row["routine"] == "reduce" and row["tried"] == 1 and row["times_default"] == 1
    assert json.loads(target.read_text())["entries"][0]["format"] == "ds"
    monkeypatch.setattr(tuned.database, "user_file", lambda: None)
    assert tuned.FAMILY.by_name["schedules"].measured(run)["rows"] == []
    assert "PORTMP_CONFIG_DIR" in run.skipped[-1]["reason"]


# --- bad use ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["all", "--seconds", "-1"], "--seconds: -1.0 given"),
        (["papers", "--runs", "0"], "--runs: 0 given"),
        (["papers", "--sizes", "huge"], "--sizes: 'huge' given; allowed are full, quick"),
        (["all", "--device", "none:7"], "no device called 'none:7'"),
        (["papers", "-o", "no/such/r.json"], "the folder .* does not exist"),
    ],
)
def test_bad_words(given: list[str], message: str, capsys: Any) -> None:
    """Refused before anything is measured."""
    assert cli.main(["bench", *given]) == 2
    assert re.search(message, capsys.readouterr().err)


@slow("all of a suite's members, a minute; each is tested alone")
def test_a_small_device(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    """No float64, 48 MiB, a few seconds: all ends cleanly, and the page says what is missing."""
    facts = dataclasses.replace(device.properties, float64=False, memory=48 * 2**20)
    monkeypatch.setattr(device, "properties", facts)
    file, page = tmp_path / "r.json", tmp_path / "page.html"
    given = ["--device", device.name, "--seconds", "10", "-o", str(file)]
    assert cli.main(["bench", "all", *given]) == 0
    assert not reports.broken(json.loads(file.read_text()))
    assert cli.main(["report", "--check", str(file)]) == 0
    assert cli.main(["report", str(file), "-o", str(page)]) == 0
    text = page.read_text()
    assert f"{device.name} has no float64" in text and f"{device.name} has 48 MiB" in text
    capsys.readouterr()


@pytest.mark.parametrize("name", ["nbody", "slfp"])
def test_no_time_at_all(name: str, device: Device, tmp_path: Path, capsys: Any) -> None:
    """A real member ends cleanly, and the page says what was left out."""
    member = next(m for m in suites.SUITES["papers"].members if m.family == name)
    suite = Suite("papers", (member,), {"gpu": 1.0, "cpu": 1.0})
    file, page = tmp_path / "r.json", tmp_path / "page.html"
    assert run(suite, "--device", device.name, "--seconds", "0.01", "-o", str(file)) == 0
    assert "skipped: " in capsys.readouterr().out
    assert not reports.broken(json.loads(file.read_text()))
    (report,) = reports.read_all(file)
    assert set(report["devices"][0]["experiments"]) == {
        e.name for e in options.family(name).experiments
    }
    assert cli.main(["report", str(file), "-o", str(page)]) == 0
    assert "of the limit of" in page.read_text()
