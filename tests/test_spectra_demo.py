"""``portmp demo spectra``: known eigenvalues, digits by format, the command's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import portmp as mp
from portmp import cli
from portmp.backends.base import Device
from portmp.demos import spectra
from portmp.demos.spectra import Outcome


def test_known_eigenvalues(device: Device) -> None:
    """Of both matrices, by their determinants and traces; distances go both ways."""
    for name in spectra.BANDS:
        known, a = spectra.exact(name, 10, device), spectra.banded(name, 10, "qd", device)
        assert float(abs(mp.prod(known) - mp.linalg.det(a))) < 1e-55
        assert float(abs(known.sum() - mp.linalg.trace(a))) < 1e-55
    known = mp.array([1, 2, 2j], "cqd", device)
    few = mp.array([1, 1, 2], "cdd", device)
    assert float(spectra.furthest(few, known)) == pytest.approx(5**0.5)
    assert spectra.furthest(mp.array([1, 2, 2j, 5], "cdd", device), known) == 3


def test_digits_by_format(device: Device, tmp_path: Path, capsys: Any) -> None:
    """float64 finds imaginary parts where there are none; a report, a table, a picture."""
    pytest.importorskip("matplotlib")
    report, picture = tmp_path / "r.json", tmp_path / "p.png"
    words = ["demo", "spectra", "--device", device.name, "--size", "60"]
    assert cli.main([*words, "-o", str(report), "--plot", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "Grcar         60  float64" in shown and picture.stat().st_size > 1000
    rows = {(o["matrix"], o["format"]): o for o in json.loads(report.read_text())["outcomes"]}
    for name in spectra.BANDS:
        right = [rows[name, form]["digits"] for form in spectra.FORMATS]
        assert right[0] + 10 < right[1] and right[1] + 25 < right[2]
    line = rows["Toeplitz", "float64"]["eigenvalues"]
    assert len(line) == 60 and max(abs(y) for _, y in line) > 0.01
    assert all(abs(y) < 1e-10 for _, y in rows["Toeplitz", "qd"]["eigenvalues"])


def test_what_fails() -> None:
    """Too few digits of qd; beyond the usual order some are enough."""
    few = [Outcome("Grcar", n, "qd", 12.0, [1j]) for n in (100, 200)]
    assert not spectra.passed(few[:1]) and spectra.passed(few[1:])
    assert cli.main(["demo", "spectra", "--size", "5"]) == 2
