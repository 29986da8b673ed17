"""``portmp demo krylov``: more digits take fewer iterations, on the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portmp import cli
from portmp.backends.base import Device
from portmp.demos import krylov


def test_the_spectrum() -> None:
    """Ends as stated, most of it at the small end, and a matrix that has it."""
    values = krylov.eigenvalues(64, 0.9)
    assert values[0] == 1e-4 and values[-1] == pytest.approx(1e4)
    assert (np.diff(values) > 0).all() and np.median(values) < 1e3
    found = np.linalg.eigvalsh(krylov.matrix(64, 0.9))
    assert found == pytest.approx(values, abs=1e-9)


def test_fewer_iterations(device: Device, tmp_path: Path, capsys: Any) -> None:
    """Each format in fewer than the shorter one; a report, a table, a picture."""
    pytest.importorskip("matplotlib")
    report, picture = tmp_path / "r.json", tmp_path / "p.png"
    words = ["demo", "krylov", "--device", device.name, "--size", "256"]
    assert cli.main([*words, "-o", str(report), "--plot", str(picture)]) == 0
    data = json.loads(report.read_text())
    assert data["passed"] and picture.stat().st_size > 1000
    counts = {(s["equations"], s["format"]): s["iterations"] for s in data["solves"]}
    assert counts[256, "dd"] < counts[256, "float64"]
    # The same numbers, of which it reads half as many bytes.
    assert counts[256, "ddin64b"] == counts[256, "dd"] and counts[64, "ddin64b"] == counts[64, "dd"]
    # Where it saves more iterations than one costs.
    assert 64 < counts[64, "qd"] < counts[64, "dd"] < counts[64, "float64"] / 2
    shown = capsys.readouterr().out
    assert "the fastest that converged" in shown and f"device {device.name}" in shown


def test_what_does_not_pass() -> None:
    """A longer format that does not converge, or takes as many iterations."""
    rows = [
        krylov.Solve(64, 0.9, f, count, 1.0, 1e-9, True)
        for f, count in (("float64", 300), ("dd", 200), ("qd", 100))
    ]
    assert krylov.passed(rows)
    assert not krylov.passed([*rows[:2], rows[2]._replace(iterations=200)])
    assert not krylov.passed([rows[0], rows[1]._replace(converged=False), rows[2]])
    assert krylov.passed([rows[0]._replace(converged=False), *rows[1:]])
    short = rows[1]._replace(format="ddin64b")
    assert krylov.passed([rows[0], short, *rows[1:]])
    assert not krylov.passed([rows[0], short._replace(iterations=201), *rows[1:]])


@pytest.mark.parametrize("words", [["--size", "8"], ["--format", "dd"]])
def test_bad_words(words: list[str], capsys: Any) -> None:
    """Refused before a device is opened."""
    assert cli.main(["demo", "krylov", "--device", "none:7", *words]) == 2
    assert words[0] in capsys.readouterr().err
