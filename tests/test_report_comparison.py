"""``portmp report --compare``: what is marked, the page, what is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from portmp import cli
from portmp.bench import reports
from portmp.bench.tables import Row
from portmp.report import comparison

RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results"
CPU = RESULTS / "slfp-axpy-cpu-2026-11-22.json"
INTEL = RESULTS / "slfp-axpy-cpu-intel-2026-11-22.json"


def both(tmp_path: Path, change: Any) -> tuple[str, str]:
    """A file, and the same with something changed."""
    old = reports.read_all(CPU)[0]
    new = copy.deepcopy(old)
    change(new["devices"][0]["experiments"]["axpy"]["rows"])
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, data in zip(paths, (old, new), strict=True):
        path.write_text(json.dumps(data))
    return str(paths[0]), str(paths[1])


def slower(row: Row, by: float) -> None:
    """A row whose times are longer, with the same spread."""
    for name in ("median", "lower", "upper"):
        row["seconds"][name] *= by
    row["operations_per_second"] /= by


def spread(row: Row) -> float:
    """The distance of the quartiles over the median."""
    seconds = row["seconds"]
    return float((seconds["upper"] - seconds["lower"]) / seconds["median"])


def test_marks_are_beyond_both_spreads(tmp_path: Path) -> None:
    """Just within (1 + a)(1 + b) nothing is marked, just beyond it is; either way."""

    def change(rows: list[Row]) -> None:
        for i, sign in enumerate((1, -1)):
            for row, more in ((rows[2 * i], 0.999), (rows[2 * i + 1], 1.001)):
                slower(row, ((1 + spread(row)) ** 2 * more) ** sign)

    found = comparison.compared(both(tmp_path, change))
    (pair,) = found.pairs
    (grid,) = pair.grids
    at = list(grid.heads).index("change")
    marks = [line[at] for line in grid.cells]
    assert marks[:4] == ["within", "CHANGED", "within", "CHANGED"]
    assert set(marks[4:]) == {"within"}
    assert [number for number, _ in found.tiles] == ["2", str(len(marks) - 2), "0"]


def test_rows_without_repetitions(tmp_path: Path) -> None:
    """Nothing is said of them, nor of rows that one file lacks."""

    def change(rows: list[Row]) -> None:
        slower(rows[0], 2)
        rows[0]["seconds"] = {"median": rows[0]["seconds"]["median"]}
        del rows[1]

    found = comparison.compared(both(tmp_path, change))
    marks = [line[3:] for grid in found.pairs[0].grids for line in grid.cells]
    assert sum("no spread" in line for line in marks) == 2
    assert "missing" in comparison.text(found)


def test_text_and_page(tmp_path: Path, capsys: Any) -> None:
    """Two drivers of one machine, by the command."""
    assert cli.main(["report", "--compare", str(CPU), str(INTEL)]) == 0
    text = capsys.readouterr().out
    assert "CHANGED" in text and "changed beyond both spreads" in text
    page = tmp_path / "changes.html"
    assert cli.main(["report", "--compare", str(CPU), str(INTEL), "-o", str(page)]) == 0
    found = page.read_text(encoding="utf-8")
    assert '<td class="mark">CHANGED' in found and "opencl:2" in found
    assert "http" not in found.replace("http-equiv", "")


def test_a_script_as_a_name(tmp_path: Path) -> None:
    """Is text in a comparison, too."""
    data = reports.read_all(CPU)[0]
    data["devices"][0]["facts"]["name"] = "<script>alert(1)</script>"
    bad, page = tmp_path / "<b>.json", tmp_path / "page.html"
    bad.write_text(json.dumps(data))
    assert cli.main(["report", "--compare", str(bad), str(bad), "-o", str(page)]) == 0
    text = page.read_text()
    assert (
        "&lt;script&gt;alert(1)" in text and text.count("<script") == 1 and "<b>.json" not in text
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([CPU], "two files are needed, 1 given"),
        ([CPU, RESULTS / "energy-h200-2026-11-22.json"], "two of one benchmark are needed"),
        ([CPU, RESULTS / "soak-cpu-2026-11-24.json"], "is no report of portmp bench"),
    ],
)
def test_bad_use(files: list[Path], message: str, capsys: Any) -> None:
    """One line."""
    assert cli.main(["report", "--compare", *map(str, files)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_bad_endings(tmp_path: Path, capsys: Any) -> None:
    """What cannot be written is told before anything is read."""
    assert cli.main(["report", str(CPU), "-o", str(tmp_path / "page.pdf")]) == 2
    assert "it ends in .html or .json or .svg" in capsys.readouterr().err
    target = tmp_path / "page.html"
    assert cli.main(["report", str(CPU), "-o", str(target), "--device", "opencl:0"]) == 2
    assert "chooses what -o FILE.json is of" in capsys.readouterr().err
    assert cli.main(["report", str(CPU), "-o", str(tmp_path / "figure.svg")]) == 2
    assert "no report has products of matrices" in capsys.readouterr().err
