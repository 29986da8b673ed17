"""Errors of gemm's methods: exact references, reports, what auto takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portmp import cli, formats
from portmp.backends.base import Device
from portmp.bench import gemm_methods, reports
from portmp.bench.experiment import SCHEMA
from portmp.formats import convert


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows and samples."""
    monkeypatch.setattr(gemm_methods, "ORDER", 6)
    monkeypatch.setattr(gemm_methods, "SAMPLES", 9)


@pytest.mark.parametrize("form", ["float64", "dd", "ts"])
@pytest.mark.parametrize("kind", list(gemm_methods.INPUTS))
def test_entries_are_exact(form: str, kind: str) -> None:
    """Against sums of Fractions, sampled in all rows; sums that should cancel do."""
    factors = gemm_methods.INPUTS[kind](formats.get(form), 30)
    a, b = (np.array(convert.to_fractions(limbs), object) for limbs in (factors.a, factors.b))
    places, found = gemm_methods.entries(factors)
    assert {i for i, _ in places} == set(range(6)) and len(set(places)) > 5
    for (i, j), entry in zip(places, found, strict=True):
        terms = a[i] * b[j]
        assert entry.exact == sum(terms) and entry.terms == float(sum(abs(terms)))
    cancelled = max(abs(float(e.exact)) / e.terms for e in found)
    assert cancelled < 1e-2 if kind == "ill-conditioned" else cancelled > 1e-2


def test_command(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A row for each format, kind of entries and depth; auto keeps the direct product's bound."""
    kept = ("uniform", "phi 4")
    monkeypatch.setattr(gemm_methods, "INPUTS", {k: gemm_methods.INPUTS[k] for k in kept})
    output = tmp_path / "r.json"
    words = ["bench", "methods", "--device", device.name, "--format", "dd,qd", "--size", "40"]
    assert cli.main([*words, "-o", str(output)]) == 0
    shown, data = capsys.readouterr().out, json.loads(output.read_text())
    assert data["schema"] == SCHEMA and gemm_methods.FAMILY.table(data) in shown
    assert data["family"] == "methods" and not reports.broken(data)
    rows = data["devices"][0]["experiments"]["methods"]["rows"]
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for r in rows:
        found.setdefault((r["format"], r["entries"], r["k"]), {})[r["method"]] = r
    assert list(found) == [
        (form, kind, 40) for form in ("dd", "qd") for kind in gemm_methods.INPUTS
    ]
    for (form, _, _), methods in found.items():
        assert set(methods) == {"direct", "ozaki1", "ozaki2", "auto"}
        # c u^N T of gemm's docstring, and 2 u^N of the result.
        assert methods["auto"]["error"]["scaled"] <= (9 if form == "dd" else 0.07) + 2
        assert methods["auto"]["takes"]
    steep = found["dd", "phi 4", 40]
    assert steep["ozaki1"]["error"]["scaled"] > steep["direct"]["error"]["scaled"]
    assert steep["ozaki1"]["above_direct"]
    assert "*" in shown


def test_energy(device: Device, metered: str, monkeypatch: Any, capsys: Any) -> None:
    """Of each method, where it is asked for; a second table has it."""
    monkeypatch.setattr(gemm_methods, "INPUTS", {"uniform": gemm_methods.INPUTS["uniform"]})
    words = ["bench", "methods", "--device", device.name, "--format", "dd", "--size", "40"]
    assert cli.main([*words, "--energy", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    (part,) = data["devices"]
    rows = part["experiments"]["methods"]["rows"]
    assert part["energy"]["read"] == metered
    assert {r["method"] for r in rows} == {"direct", "ozaki1", "ozaki2", "auto"}
    for found in (row["energy"] for row in rows):
        each = found["joules_per_operation"]
        assert found["joules_per_call"] == pytest.approx(each * 2 * 6 * 6 * 40)
    assert "energy, dd: GFLOP/s/W and J/op" in gemm_methods.FAMILY.table(data)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "dd2011"], "--format: dd2011 given, it has the direct method only"),
        (["--size", "1"], "--size: 1 given, at least 2"),
        (["--device", "none:7"], "none"),
    ],
)
def test_bad_words(words: list[str], message: str, capsys: Any) -> None:
    """A sentence and exit status 2."""
    assert cli.main(["bench", "methods", *words]) == 2
    assert message in capsys.readouterr().err
