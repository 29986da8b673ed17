"""``bench/devices``: each file is taken, the table and the page are theirs; what is refused."""

from __future__ import annotations

import copy
import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import devices_page
import pytest

from portmp import cli, definition
from portmp.bench import reports
from portmp.bench.tables import Row
from portmp.report import checks, devices, figures, subjects
from portmp.verify import cases

pytest.importorskip("jsonschema")

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "bench" / "devices"
FILES = sorted(FOLDER.glob("*.json"))
H200 = FOLDER / "nvidia-h200-cuda.json"


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The schema of these files takes seconds, and is looked at by ``test_files_are_taken``."""
    monkeypatch.setattr(reports, "broken", lambda data: "")


def few() -> Row:
    """A file with some rows of what is checked."""
    data: Row = json.loads(H200.read_text())
    checked = ("blas", "nbody", "verify")
    data["reports"] = [report for report in data["reports"] if report["family"] in checked]
    for report in data["reports"]:
        for found in report["devices"][0]["experiments"].values():
            found["rows"] = found["rows"][:40]
    return data


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_are_taken(path: Path, request: pytest.FixtureRequest) -> None:
    """Schema, digests and rates of each."""
    assert devices.refusals(path) == []
    request.getfixturevalue("trusted")
    (subject,) = subjects.sorted_by_device(reports.read_all(path))
    kind, _, _ = path.stem.partition("-")
    told = {"interpreted": "no hardware", "emulated": "emulated by"}
    assert subject.interpreted == (kind in told)
    assert told.get(kind, "") in subject.title


def test_the_table_is_of_these_files(trusted: None) -> None:
    """README.md there is what the script writes."""
    written = devices_page.page()
    assert written == (FOLDER / "README.md").read_text()
    assert all(path.name in written for path in FILES)


def test_the_page_is_of_these_files() -> None:
    """The page in the documentation names each of them, and is not too large."""
    text = (ROOT / "docs" / "measured.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 3e6
    assert all(f'<td class="n">{path.name}<' in text for path in FILES)


def test_the_picture_is_of_recorded_results(trusted: None) -> None:
    """Of each format the fastest product of this GPU, and those of other libraries."""
    pytest.importorskip("matplotlib")
    figure = (ROOT / "docs" / "measured.svg").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in figure
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs" / "pictures" / "draw.py")
    assert spec and spec.loader
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    found = subjects.sorted_by_device(reports.read_all(H200))
    (picture,) = figures.cover(found, list(draw.recorded()))
    said = [words for series in picture.series for _, _, words in series.points]
    assert sorted(re.findall(r"<title>([^<]*)</title>", figure)) == sorted(said)
    names = {series.name.partition(",")[0] for series in picture.series}
    assert names == {"portmp", "NumPy", "CuPy", "mpmath", "python-flint"}


# --- what is refused ------------------------------------------------------------------------------


def a_digest(data: Row) -> None:
    """One bit of a digest."""
    found = next(r for r in data["reports"] if r["family"] == "verify")["devices"][0]
    digests = found["experiments"]["digests"]["rows"][0]["digests"]
    key = next(iter(digests))
    digests[key] = f"{int(digests[key][0], 16) ^ 1:x}{digests[key][1:]}"


def an_unknown_digest(data: Row) -> None:
    """A result that nobody recorded."""
    found = next(r for r in data["reports"] if r["family"] == "verify")["devices"][0]
    found["experiments"]["digests"]["rows"][0]["digests"]["gemm.1/dd.1/another"] = "0" * 32


def all_unknown(data: Row) -> None:
    """Results that nobody recorded, and no others."""
    for report in (r for r in data["reports"] if r["family"] == "verify"):
        for row in report["devices"][0]["experiments"]["digests"]["rows"]:
            row["digests"] = {f"{key}-x": digest for key, digest in row["digests"].items()}


def no_digests(data: Row) -> None:
    """Rates alone."""
    data["reports"] = [r for r in data["reports"] if r["family"] != "verify"]


def blas_rows(data: Row) -> list[Row]:
    """Those with floors."""
    found = next(r for r in data["reports"] if r["family"] == "blas")["devices"][0]
    rows: list[Row] = found["experiments"]["blas"]["rows"]
    return rows


def a_rate(data: Row) -> None:
    """A rate that its own time contradicts."""
    blas_rows(data)[0]["operations_per_second"] *= 1.01


def above_the_ceiling(data: Row) -> None:
    """A rate and a time that agree, above what the hardware showed."""
    row = max(blas_rows(data), key=lambda r: float(r["share"]) * (r["floor"]["bound"] != "memory"))
    for name in ("median", "lower", "upper"):
        row["seconds"][name] /= 2
    for name in ("operations_per_second", "bytes_per_second", "share"):
        row[name] *= 2


def interactions(data: Row) -> None:
    """A rate of gravity."""
    measured = (
        row
        for report in data["reports"]
        if report["family"] == "nbody"
        for row in report["devices"][0]["experiments"]["sizes"]["rows"]
    )
    next(measured)["interactions_per_second"] *= 3


def an_old_schema(data: Row) -> None:
    """A version before this one."""
    data["schema"]["version"] = 2


def another_definition(data: Row) -> None:
    """Bits of a definition that is to come."""
    next(r for r in data["reports"] if r["family"] == "verify")["definition"] = 99


def two_devices(data: Row) -> None:
    """A second device in the same file."""
    other = copy.deepcopy(data["reports"][0])
    other["devices"][0]["facts"]["name"] = "another"
    data["reports"].append(other)


def a_missing_field(data: Row) -> None:
    """Something that the schema asks for."""
    del data["reports"][0]["host"]


REFUSED = [
    (a_digest, "is recorded", "as an issue"),
    (no_digests, "no digests are in it", "portmp bench all -o FILE"),
    (all_unknown, "no digests are in it", "portmp bench all -o FILE"),
    (a_rate, "operations_per_second", "measure again"),
    (above_the_ceiling, "ceiling, at most 110 % are possible", "measure again"),
    (interactions, "interactions_per_second", "measure again"),
    (an_old_schema, '"version": 2', "portmp bench all -o FILE"),
    (another_definition, "definition 99 of the bits", "as an issue"),
    (two_devices, "one device a file is needed, this has 2", "--device NAME"),
    (a_missing_field, "'host' is a required property", "as portmp wrote it"),
]


@pytest.mark.parametrize(
    ("change", "what", "advice"), REFUSED, ids=lambda value: getattr(value, "__name__", "")
)
def test_what_is_refused(
    change: Callable[[Row], None], what: str, advice: str, tmp_path: Path, capsys: Any
) -> None:
    """With words on what to send again."""
    data, good = few(), tmp_path / "good.json"
    good.write_text(json.dumps(data))
    change(data)
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(data))
    assert cli.main(["report", "--check", str(good), str(file)]) == 1
    out, error = capsys.readouterr()
    assert out == f"{good}: is taken\n"
    assert what in error and advice in error and error.startswith(f"{file}: ")


def test_results_that_are_not_recorded(tmp_path: Path) -> None:
    """Of a version with other cases: they are not judged, and the table says how many."""
    data = few()
    an_unknown_digest(data)
    found = next(r for r in data["reports"] if r["family"] == "verify")["devices"][0]
    row = found["experiments"]["digests"]["rows"][0]
    row["cases"] = len(row["digests"])
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(data))
    assert devices.refusals(file) == []
    (verdict,) = checks.verdicts(subjects.sorted_by_device(reports.read_all(file))[0])
    assert "gemm.1/dd.1/another" in verdict.unknown and verdict.passed == verdict.total
    assert verdict.words == f"{verdict.state}, {len(verdict.unknown)} others unknown"
    assert verdict.state.startswith("as recorded")
    row["passed"] += 1
    row["passed"] += 1
    file.write_text(json.dumps(data))
    assert "are said to agree" in devices.refusals(file)[0]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.97])
def test_truncated_files(share: float, tmp_path: Path, capsys: Any) -> None:
    """Their end is missing."""
    whole = H200.read_bytes()
    file = tmp_path / "mine.json"
    file.write_bytes(whole[: int(share * len(whole))])
    assert cli.main(["report", "--check", str(file)]) == 1
    assert "its end is missing" in capsys.readouterr().err


def test_rows_of_another_shape(tmp_path: Path) -> None:
    """No traceback for rows that the schema lets pass."""
    data = few()
    for report in data["reports"]:
        for part in report["devices"]:
            for name, found in part["experiments"].items():
                if name not in ("blas", "digests"):
                    found["rows"] = [{"interactions_per_second": 1.0, "seconds": {"least": 1}}]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(data))
    assert devices.refusals(file) == ["rows are missing something; " + devices.UNTOUCHED]


def test_a_script_as_a_name(tmp_path: Path) -> None:
    """Is text, in the table too."""
    data = json.loads((FOLDER / "interpreted-gfx908.json").read_text())
    evil = "<script>alert(1)</script> | `x` [y](http://z)"
    data["reports"][0]["devices"][0]["facts"]["name"] = evil
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(data))
    assert devices.refusals(file) == []
    text = devices_page.table([(file, subjects.cleaned(reports.read_all(file)))])
    assert "&lt;script&gt;" in text and "\\| \\`x\\` \\[y\\]" in text and "<script" not in text


# --- one file a device ----------------------------------------------------------------------------


def test_reports_of_one_device(tmp_path: Path, capsys: Any) -> None:
    """Joined, chosen by name, equal to what was there; refused where there are several."""
    folder = ROOT / "bench" / "results"
    both = [str(folder / name) for name in ("energy-h200-2026-11-22.json",)]
    target = tmp_path / "one.json"
    assert cli.main(["report", *both, "-o", str(target)]) == 2
    assert "choose with --device" in capsys.readouterr().err
    assert cli.main(["report", *both, "--device", "cuda:9", "-o", str(target)]) == 2
    assert "the files have cuda:0, opencl:0" in capsys.readouterr().err
    assert cli.main(["report", *both, "--device", "cuda:0", "-o", str(target)]) == 0
    (found,) = reports.read_all(target)
    whole = reports.read_all(both[0])[0]
    assert found["devices"] == [d for d in whole["devices"] if d["selected"] == "cuda:0"]
    assert {**found, "devices": []} == {**whole, "devices": []}
    assert not reports.broken(json.loads(target.read_text()))


# --- definitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, definition.VERSION + 1))
def test_digests_of_all_definitions(version: int) -> None:
    """Those of earlier definitions are kept, so that files of then are read as what they are."""
    found = cases.recorded_as(version)
    assert len(found) > 2000
    assert all(key.partition("/")[0].endswith(f".{version}") for key in found)
    assert cases.recorded_as(definition.VERSION) == cases.recorded()
    assert cases.recorded_as(99) == {}


def test_an_earlier_definition(trusted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files say so, and are not wrong."""
    (subject,) = subjects.sorted_by_device(reports.read_all(H200))
    (verdict,) = checks.verdicts(subject)
    known = cases.recorded_as(verdict.definition)
    monkeypatch.setattr(checks, "recorded_as", lambda version: known)
    monkeypatch.setattr(definition, "VERSION", verdict.definition + 1)
    (verdict,) = checks.verdicts(subject)
    assert verdict.words.startswith(f"as recorded with definition {verdict.definition}")
    assert verdict.passed == verdict.total > 2000
    assert checks.contradictions(subject) == []
