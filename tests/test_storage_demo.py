"""What short operands cost: dot products as theory says, systems refined, the command's words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.cli import main
from portmp.demos import kriging, storage, storage_accuracy
from portmp.demos.storage_accuracy import LinearSystem


def test_exact_dot() -> None:
    """As Python's integers have it, over more than one block."""
    x, y = (storage_accuracy.operand(1000, "signed", name) for name in "xy")
    assert min(x) < 0 < max(x)
    assert abs(x).min() >= 2**52 and abs(x).max() < 2**53
    expected = sum(a * b for a, b in zip(x.tolist(), y.tolist(), strict=True))
    assert storage_accuracy.exact_dot(x, y) == expected


@pytest.mark.parametrize("name", ["slfp64in40b", "slfp64in24b_rz", "slfp64in16b"])
@pytest.mark.parametrize("data", storage_accuracy.DATA)
def test_errors_of_dot_products(name: str, data: str, device: Device) -> None:
    """Within the bound; truncation of positive numbers does not average out, all else does."""
    form = formats.get(name)
    truncates = form.rounding == "toward_zero"
    found = [storage_accuracy.dot_error(form, data, n, device) for n in (2**10, 2**16)]
    unit = form.unit_roundoff * (2 if truncates else 1)
    assert all(0 < f.error <= 2 * unit + unit * unit for f in found)
    biased = truncates and data == "positive"
    near = 0.02 if biased else 0.5
    assert all(f.error == pytest.approx(f.expected, rel=near) for f in found)


def test_kriging_is_what_it_says() -> None:
    """Symmetric, no eigenvalue below the variance, few entries that a storage format holds."""
    x, y = kriging.sites(64)
    assert x[:3].tolist() == [0.5, 0.25, 0.75]
    assert y[0] == pytest.approx(1 / 3)
    matrix = kriging.covariance(x, y)
    assert (matrix == matrix.T).all()
    assert np.linalg.eigvalsh(matrix)[0] >= kriging.VARIANCE * (1 - 1e-9)
    held = mp.array(matrix, "slfp64in56b").to_float64() == matrix
    assert held.mean() < 0.05
    noise = kriging.observed(*kriging.sites(4096)) - kriging.franke(*kriging.sites(4096))
    assert noise.var() == pytest.approx(kriging.VARIANCE, rel=0.1)


def test_system(device: Device) -> None:
    """Short alone errs by the rounding, refined does not; 16 bits are too few, and say so."""
    silent: list[str] = []
    system = LinearSystem(128, device, silent.append)
    exact = mp.linalg.solve(system.a.astype("dd"), system.b.astype("dd"))
    distance = float(mp.nrm2(system.solution - exact)) / float(mp.nrm2(exact))
    assert distance < 1e-21
    full = system.solve(formats.get("float64"), silent.append)
    short = system.solve(formats.get("slfp64in24b_rz"), silent.append)
    assert full.refined.converged and full.rounding == 0
    assert full.refined.bytes == 128 * 128 * 8 * (full.refined.rounds[0] + 1)
    assert short.refined.converged and len(short.refined.rounds) > 3
    assert short.refined.residual is not None and short.refined.residual <= system.tolerance
    assert short.refined.error is not None and short.refined.error < 1e-11
    assert short.plain.error is not None and 1e-4 < short.plain.error < 2 * short.rounding
    worst = system.solve(formats.get("slfp64in16b"), silent.append)
    assert worst.rounding > 1
    assert "not positive definite" in worst.refined.problem
    assert worst.plain.residual is None
    assert any("refined" in line for line in silent)


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        status = main(["demo", "storage", *words])
    except SystemExit as stop:
        status = int(str(stop.code))
    out = capsys.readouterr()
    return status, out.out, out.err


def test_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The table, and as JSON what it shows; a report and a picture."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(storage_accuracy, "LENGTHS", (256, 1024))
    status, out, _ = _run(
        capsys,
        "--size",
        "96",
        "--format",
        "slfp64in32b, slfp64in16b",
        "-o",
        "r.json",
        "--plot",
        "r.png",
    )
    data = json.loads(Path("r.json").read_text())
    assert status == 0 and data["passed"]
    assert Path("r.png").stat().st_size > 5000
    assert [s["format"] for s in data["solves"]] == ["float64", "slfp64in32b", "slfp64in16b"]
    assert len(data["dots"]) == 8
    assert "no solution: see below" in out
    assert "slfp64in16b: cg: the matrix in slfp64in16b is not positive definite" in out
    row = next(
        line for line in out.splitlines() if line.startswith("slfp64in32b   ") and "/" in line
    )
    full, short = (data["solves"][i]["refined"] for i in (0, 1))
    assert f"{len(short['rounds'])}/{sum(short['rounds'])}" in row
    assert f"{short['bytes'] / full['bytes']:.2f}" in row
    nothing = storage_accuracy.Attempt()
    solve = storage_accuracy.Solve("slfp64in32b", 0.1, nothing, nothing)
    failed = storage.Findings(1, 1.0, 1.0, [], [solve])
    assert not failed.passed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--size", "15"), "--size: 15 given, 16 to 32768 are allowed"),
        (("--format", "slfp64in33b"), "did you mean 'slfp64in3"),
        (("--format", "dd"), "--format: dd given, storage formats of float64 are needed"),
        (("--format", "bfloat16"), "storage formats of float64"),
        (("-o", "no/r.json"), "does not exist"),
        (("--plot", "r.doc"), "'.doc'"),
    ],
)
def test_bad_use(
    words: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line, before anything is computed."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(storage, "run", pytest.fail)
    status, out, err = _run(capsys, *words)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert message in err


def test_options_of_the_other_demonstration(capsys: pytest.CaptureFixture[str]) -> None:
    """They are refused, not ignored."""
    assert main(["demo", "--size", "3"]) == 2
    assert "--size: belongs to portmp demo storage" in capsys.readouterr().err
