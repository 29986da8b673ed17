"""bench/history.py: two builds by turns, what counts as a change, files over commits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripts import of_bench
from slow import slow

from portmp import cli
from portmp.backends.base import Device
from portmp.bench import reports

ROOT = Path(__file__).resolve().parents[1]
history, turns = of_bench("history"), of_bench("turns")


def row(old: list[list[float]], new: list[list[float]]) -> Any:
    """What is said of times by start."""
    ready = {"calls": 4, "n": 8, "digest": "d"}
    return history.judged("dot dd", history.Turns(ready, ready, old, new))


STEADY = [[0.98, 0.99, 1.0, 1.01, 1.02]] * 3
SLOW = [[t * 1.2 for t in start] for start in STEADY]


def test_what_is_a_change() -> None:
    """Beyond both spreads, in every start, in nearly every turn."""
    found = row(STEADY, SLOW)
    assert found["change"] == "SLOWER" and found["ratio"]["median"] == pytest.approx(1 / 1.2)
    assert found["seconds"]["runs"] == 15 and found["seconds"]["median"] == pytest.approx(1.2)
    assert row(SLOW, STEADY)["change"] == "faster"
    assert row(STEADY, STEADY)["change"] == history.NONE
    slightly = [[t * 1.002 for t in start] for start in STEADY]
    assert row(STEADY, slightly)["change"] == history.NONE
    # One start of three says the contrary.
    assert row(STEADY, [*SLOW[:2], [0.9] * 5])["change"] == history.NONE
    # Many turns that were as fast.
    some = [[1.2, 1.2, 1.2, 1.0, 0.99]] * 3
    assert row(STEADY, some)["change"] == history.NONE
    # Times that vary more than the ratio.
    noisy = [[1.0, 1.5, 0.8, 1.3, 1.1]] * 3
    assert row(noisy, [[t * 1.2 for t in each] for each in noisy])["change"] == history.NONE


def test_two_builds(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A build beside itself has the same bits; a file keeps one run after another."""
    few = {name: turns.KERNELS[name] for name in ("dot dd", "div qd")}
    monkeypatch.setattr(turns, "KERNELS", few)
    file = tmp_path / "history.json"
    words = ["--device", device.name, "--reference", str(ROOT)]
    words += ["--runs", "2", "--seconds", "20", "-o", str(file)]
    assert history.main(words) == 0
    assert "runs in the file: 1" in capsys.readouterr().out
    assert history.main(words) == 0
    text = capsys.readouterr().out
    assert "runs in the file: 2" in text and "over those of the reference" in text
    assert str(ROOT) not in file.read_text()
    found = reports.read_all(file)
    assert len(found) == 2 and not reports.broken(json.loads(file.read_text()))
    rows = found[1]["devices"][0]["experiments"]["turns"]["rows"]
    assert [r["kernel"] for r in rows] == ["dot dd", "div qd"]
    for one in rows:
        assert one["bits"] == "same" and len(one["starts"]) == history.STARTS
        assert one["seconds"]["runs"] == 2 * history.STARTS == one["reference_seconds"]["runs"]
    page = tmp_path / "page.html"
    assert cli.main(["report", str(file), "-o", str(page)]) == 0
    assert "new/reference" in page.read_text()


@slow("ci/history runs them in every run of CI")
def test_all_kernels(device: Device) -> None:
    """Each of the fifteen runs, and gives the same digest twice."""
    side = turns.Side(device.name)
    assert len(turns.KERNELS) == 15
    for name in turns.KERNELS:
        found = side.ready(name, 1)
        assert found["calls"] == 1 and side.ready(name, 1)["digest"] == found["digest"]
        assert side.run(name)["seconds"] > 0


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no-such-commit", "a commit of the checkout is needed"),
        ("--upload-pack=x", "a folder or a commit is needed"),
        ("/nowhere", "a commit of the checkout is needed"),
    ],
)
def test_no_such_reference(reference: str, message: str, capsys: Any) -> None:
    """One line."""
    assert history.main([f"--reference={reference}"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_builds_that_fail(device: Device, tmp_path: Path, capsys: Any) -> None:
    """A reference that does not start is told, and nothing is measured."""
    folder = tmp_path / "old"
    (folder / "portmp").mkdir(parents=True)
    (folder / "portmp" / "__init__.py").write_text("raise ImportError('it is broken')\n")
    words = ["--device", device.name, "--reference", str(folder)]
    assert history.main(words) == 1
    assert "ended with status 1: ImportError: it is broken" in capsys.readouterr().out


def test_files_of_others(tmp_path: Path, capsys: Any) -> None:
    """A file of another benchmark is not written over."""
    file = tmp_path / "r.json"
    text = (ROOT / "bench" / "results" / "energy-h200-2026-11-22.json").read_text()
    file.write_text(text)
    assert history.main(["--reference", str(ROOT), "-o", str(file)]) == 2
    assert "a file of bench history is needed" in capsys.readouterr().err
    assert file.read_text() == text
