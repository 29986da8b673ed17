"""Ill-conditioned problems: exact solutions are exact, digits are counted, the command's words."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

import portmp as mp
from portmp.backends.base import Device
from portmp.cli import main
from portmp.demos import ill_conditioned as problems
from portmp.demos import linear_algebra
from portmp.demos.filip import rows_of
from portmp.demos.ill_conditioned import Outcome


def silent(text: str) -> None:
    """Progress of nobody's interest."""


def test_exact_solutions() -> None:
    """NIST's certified digits of Filip; Wampler's coefficients; a permuted system."""
    found = problems.least_squares(*problems.filip())
    certified = [Fraction(row["estimate"]) for row in rows_of("filip_certified.csv")]
    assert all(abs(x / y - 1) < 1e-14 for x, y in zip(found, certified, strict=True))
    for which in (1, 3, 4, 5):
        assert problems.least_squares(*problems.wampler(which)) == [1] * 6
    tenths = [Fraction(1, 10) ** k for k in range(6)]
    assert problems.least_squares(*problems.wampler(2)) == tenths
    # the first and the last of NIST's certified values
    longley = problems.least_squares(*problems.longley())
    assert abs(longley[0] / Fraction("-3482258.63459582") - 1) < 1e-14
    assert abs(longley[6] / Fraction("1829.15146461355") - 1) < 1e-14
    turned = [[Fraction(0), Fraction(2)], [Fraction(3), Fraction(0)]]
    assert problems.exact_solution(turned, [Fraction(4), Fraction(9)]) == [3, 2]


def test_digits() -> None:
    """None, some, and as many as the format has."""
    assert problems.digits(Fraction(5), Fraction(2), "dd") == 0
    assert problems.digits(Fraction(1, 1000), Fraction(1), "dd") == pytest.approx(3)
    assert problems.digits(Fraction(0), Fraction(1), "float64") == pytest.approx(15.95, abs=0.01)
    assert problems.digits(Fraction(1, 10**500), Fraction(1, 10**480), "qd") == pytest.approx(20)
    values = [Fraction(1), Fraction(100)]
    near = [Fraction(11, 10), Fraction(100)]
    assert problems.worst(near, values, "dd") == pytest.approx(1)
    assert problems.whole(near, values, "dd") == pytest.approx(3)


def test_regressions(device: Device) -> None:
    """Digits of the formats, less those of the condition."""
    found = {(o.problem, o.format): o.digits for o in problems.regressed(device, silent)}
    assert len(found) == 7 * 3
    for (name, form), right in found.items():
        lost = 12 if name == "Wampler 5" else 10
        assert right > mp.formats.get(form).bits * math.log10(2) - lost


def test_systems_and_roots(device: Device) -> None:
    """More digits in longer formats, fewer for larger systems, none at last."""
    found = list(problems.solved(device, silent, (5, 20)))
    found += problems.rooted(device, silent, (5, 20))
    table = {(o.problem, o.size, o.format): o.digits for o in found}
    for name in ("Hilbert", "Vandermonde", "Wilkinson"):
        for small, large in (("float64", "dd"), ("dd", "td"), ("td", "qd")):
            assert table[name, 20, large] > table[name, 20, small] + 4
        for form in problems.LONG:
            assert table[name, 5, form] > table[name, 20, form]
    assert table["Hilbert", 20, "float64"] == 0
    # Three words of float32 are more than one of float64, and fewer digits than two.
    assert table["Hilbert", 5, "float64"] + 3 < table["Hilbert", 5, "ts"]
    assert table["Hilbert", 5, "ts"] + 3 < table["Hilbert", 5, "dd"]
    assert table["Wilkinson", 20, "qd"] > 40


def test_examples(device: Device) -> None:
    """Rump's polynomial has no digit in dd, Kahan's lines none in float32."""
    found = {(o.problem, o.format): o.digits for o in problems.examples(device, silent)}
    assert found["Rump", "dd"] == 0 and found["Rump", "td"] > 9
    assert found["Kahan", "float32"] < 1 and 6 < found["Kahan", "float64"] < 12


def test_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A table, a report, a picture; the status says whether digits were missing."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(problems, "LONG", ("float64", "dd"))
    monkeypatch.setattr(problems, "SIZES", (5,))
    monkeypatch.setattr(problems.solved, "__defaults__", ((5,),))
    monkeypatch.setattr(problems.rooted, "__defaults__", ((5,),))
    status = main(["demo", "linalg", "--size", "40", "-o", "r.json", "--plot", "r.png"])
    out = capsys.readouterr().out
    data = json.loads(Path("r.json").read_text())
    assert status == 0 and data["passed"]
    assert Path("r.png").stat().st_size > 5000
    assert "Decimal digits that are right" in out and "Wampler 5" in out
    assert {o["problem"] for o in data["outcomes"]} >= {"Filip", "Rump", "Hilbert", "Kriging"}
    bad = [Outcome("Filip", 11, "td", 3.0)]
    assert not linear_algebra.passed(bad)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--size", "15"), "--size: 15 given, 16 to 4096 are allowed"),
        (("--format", "dd"), "--format: belongs to portmp demo storage"),
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
    monkeypatch.setattr(linear_algebra, "run", pytest.fail)
    status = main(["demo", "linalg", *words])
    error = capsys.readouterr().err
    assert status == 2 and message in error and len(error.splitlines()) == 1
