"""Runs of ``portmp bench`` that were ended go on: what was measured is not measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portmp import cli
from portmp.backends.base import Device
from portmp.bench import experiment, reports, roofline, runner
from portmp.bench.journal import Done, Journal
from portmp.bench.roofline import Ceilings

RATES = {"float64": {"fma": 2e9, "add": 1e9}, "float32": {"fma": 2e9, "add": 1e9}}
KEY = {"family": "a", "asked": {"size": [1]}}


def test_cases_are_kept(tmp_path: Path) -> None:
    """Whole lines of a run with the same key count; others begin the file anew."""
    file = tmp_path / "r.json"
    done = Done([{"n": 1, "seconds": 0.1}], {"clock": "x"}, 2.5)
    first = Journal(file, KEY)
    first.add(done, "device", "blas", "gemm")
    assert first.path == tmp_path / "r.json.partial"
    with first.path.open("a") as stream:
        stream.write('\n{"case": "half')
    second = Journal(file, KEY)
    assert second.known == 1 and second.get("device", "blas", "gemm") == done
    assert second.get("device", "blas", "gemv") is None
    second.add(done, "device", "blas", "gemv")
    assert Journal(file, KEY).known == 2
    assert Journal(file, KEY, again=True).known == 0
    second.add(done, "device", "blas", "gemv")
    assert Journal(file, {"family": "b"}).known == 0
    assert Journal(file, KEY).known == 0
    second.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "x", "{}", "[]", "\xff", '{"run": 1}\n{"case": []}'])
def test_damaged_files_count_for_nothing(text: str, tmp_path: Path) -> None:
    """Whatever lies there."""
    file = tmp_path / "r.json"
    (tmp_path / "r.json.partial").write_text(text, encoding="latin-1")
    assert Journal(file, KEY).known == 0


def test_nothing_is_kept_without_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where it cannot be written, which stops nothing."""
    monkeypatch.chdir(tmp_path)
    Journal().add(Done([], {}, 0.0), "a")
    assert not list(tmp_path.iterdir())
    (tmp_path / "r.json.partial").mkdir()
    found = Journal(tmp_path / "r.json", KEY)
    found.add(Done([], {}, 0.0), "a")
    found.close()


def test_an_ended_run_goes_on(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The same command measures what is left, and its report holds all."""
    limits = Ceilings("cpu", RATES, 1e9, "triad")
    monkeypatch.setattr(roofline, "measured", lambda device, words, *_: limits)
    measured, whole = [], runner.measured

    def ending(run: Any, pool: Any, case: Any) -> Any:
        if len(measured) == 1:
            raise KeyboardInterrupt
        measured.append(str(case))
        return whole(run, pool, case)

    def counted(run: Any, pool: Any, case: Any) -> Any:
        measured.append(str(case))
        return whole(run, pool, case)

    report = tmp_path / "r.json"
    words = ["bench", "blas", "--device", device.name, "--format", "dd,ds", "--routine", "axpy,dot"]
    words += ["--size", "64", "--accuracy", "accurate", "--runs", "1", "-o", str(report)]
    monkeypatch.setattr(runner, "measured", ending)
    assert cli.main(words) == 130 and not report.exists()
    monkeypatch.setattr(runner, "measured", counted)
    assert cli.main(words) == 0
    assert "r.json.partial: goes on; cases that were measured: 1" in capsys.readouterr().err
    assert len(set(measured)) == len(measured) == 4
    rows = reports.read_all(report)[0]["devices"][0]["experiments"]["blas"]["rows"]
    assert len(rows) == 4 and all(row["share"] > 0 for row in rows)
    assert all(len(row["seconds"]["each"]) == 1 for row in rows)
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
    assert cli.main([*words, "--again"]) == 0 and len(measured) == 8


def test_commit_of_the_checkout() -> None:
    """A report names it, or nothing."""
    found = experiment.commit()
    assert found is None or len(found.removesuffix("-dirty")) == 40
