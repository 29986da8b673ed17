"""``portmp bench everyday``: calls as they are typed, the best ways to ask, peers, first calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from slow import slow
from work import frames

import portmp as mp
from portmp import cli
from portmp.backends.base import Device
from portmp.bench import everyday, measure, peers, reports
from portmp.bench.everyday import CALLS, COLUMNS, DEFAULT, OTHERS, Call

FACTORS = ("inv", "cholesky", "qr", "eigh")
"""Functions whose kernels take long to compile."""
SMALL = {"n": 60, "order": 4, "middle": 6, "gpu": 8, "cpu": 8, "small": 2}
PRINTING = "print('[1.5, 2.5, 3.5]')"


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are small, each call is timed once, and first calls are pretended."""
    monkeypatch.setattr(measure, "SAMPLE", 0.0)
    monkeypatch.setattr(measure, "WARM_UP", 0.0)
    monkeypatch.setattr(everyday, "FIRST", PRINTING)
    monkeypatch.setitem(everyday.SIZES, "quick", SMALL)
    monkeypatch.setitem(everyday.MANY, "quick", 3)


def run(*words: str) -> int:
    """The command with quick sizes."""
    return cli.main(["bench", "everyday", "--sizes", "quick", "--runs", "1", *words])


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The rows of a file's only device, which is as the schema says."""
    report = reports.read_all(file)[0]
    assert not reports.broken(json.loads(file.read_text()))
    (part,) = report["devices"]
    found: list[dict[str, Any]] = part["experiments"]["everyday"]["rows"]
    return found


def checked(row: dict[str, Any]) -> None:
    """What each row of a call has."""
    (call,) = (c for c in CALLS if c.text.format(n=row["n"]) == row["call"])
    assert row["same_bits"] and row["best"] in (DEFAULT, *call.ways)
    assert isinstance(row["frames"], int) and row["frames"] > 0
    for name in ("issue", "seconds", "best_issue", "best_seconds"):
        assert row[name]["runs"] == 1 and row[name]["median"] > 0
    assert row["over_best"] == row["seconds"]["median"] / row["best_seconds"]["median"]
    assert set(row["left_out"]) <= set(call.ways)


def test_command(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A row for each call, its best way with the same bits; the table, the page, two files."""
    few = tuple(c for c in CALLS if not any(name in c.text for name in FACTORS))
    monkeypatch.setattr(everyday, "CALLS", few)
    file, page = tmp_path / "r.json", tmp_path / "page.html"
    assert run("--device", device.name, "--format", "dd", "-o", str(file)) == 0
    text = capsys.readouterr().out
    assert all(column.heading in text for column in COLUMNS)
    rows = rows_of(file)
    assert len(rows) == sum(len(c.sizes) for c in few) + 3
    for row in rows:
        if not row["call"].startswith("first "):
            checked(row)
    first = [row for row in rows if row["call"].startswith("first ")]
    assert [r["seconds"]["median"] for r in first] == [1.5, 2.5, 3.5]
    (orbit,) = (row for row in rows if row["call"] == "orbit(k, k)")
    assert orbit["left_out"] == {}
    for name in ("NumPy float64", "mpmath", "python-flint"):
        assert len(orbit["peers"].get(name, (0, 0))) == 2
    assert cli.main(["report", str(file), "-o", str(page)]) == 0
    assert "default/best" in page.read_text() and "orbit(k, k)" in page.read_text()
    assert cli.main(["bench", "compare", str(file), str(file)]) == 0
    assert "mp.where(a &gt; 0" in page.read_text()


def test_on_the_host(tmp_path: Path, capsys: Any) -> None:
    """All calls by the reference; what the host does not have is told."""
    file = tmp_path / "r.json"
    assert run("--device", "host", "--format", "float64", "-o", str(file)) == 0
    text = capsys.readouterr().out
    assert "orbit(k, k) by mp.Kernel: newton: host:0 runs no kernels" in text
    rows = rows_of(file)
    assert len(rows) == sum(len(call.sizes) for call in CALLS)
    for row in rows:
        checked(row)
        assert row["best"] != "mp.Kernel"
        assert set(row["peers"]) == {"NumPy float64"}


def test_missing_peers_are_told(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    """Each with what installs it, on a line; the rest is measured."""
    absent = [p for p in peers.PEERS if p.module in everyday.OWN]
    monkeypatch.setattr(peers, "imported", lambda peer: (None, f"pip install {peer.package}"))
    monkeypatch.setattr(everyday, "CALLS", (Call("a + a"),))
    file = tmp_path / "r.json"
    assert run("--device", device.name, "--format", "dd", "-o", str(file)) == 0
    text = capsys.readouterr().out
    for peer in absent:
        beside = peer.platform in ("", device.platform)
        why = f"pip install {peer.package}" if beside else "runs beside cuda alone"
        assert f"{peer.name}: {why}" in text
    assert all(row["peers"] == {} for row in rows_of(file))


def test_a_way_with_other_bits_is_wrong(
    device: Device, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The exit status and a line say so, unless its bits are others by definition."""
    call = Call("a * 2.5", {"out=": "mp.multiply(a, 2.25, out=b)"})
    monkeypatch.setattr(everyday, "CALLS", (call,))
    assert run("--device", device.name, "--format", "dd") == 1
    assert "WRONG: a * 2.5, 60, dd" in capsys.readouterr().out
    call = Call("a * 2.5", {OTHERS[0]: "mp.multiply(a, 2.25, out=b)"})
    monkeypatch.setattr(everyday, "CALLS", (call,))
    assert run("--device", device.name, "--format", "dd") == 0


def test_first_calls_that_fail(
    device: Device, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Are told with the last line, and the rest is measured."""
    monkeypatch.setattr(everyday, "FIRST", "raise SystemExit('it is broken')")
    monkeypatch.setattr(everyday, "CALLS", (Call("a + a"),))
    assert run("--device", device.name, "--format", "dd") == 1
    text = capsys.readouterr().out
    assert "skipped: first calls: a process ended with status 1: it is broken" in text
    assert "a + a" in text


def test_no_time_at_all(device: Device, capsys: Any) -> None:
    """Everything is left out, with the reason."""
    assert run("--device", device.name, "--seconds", "0.001") == 0
    assert "of the limit of 0.001 s" in capsys.readouterr().out


@slow("a process that compiles with nothing kept, ten seconds")
def test_first_calls(device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was kept makes the second process's first calls quicker."""
    monkeypatch.undo()
    monkeypatch.setattr(everyday, "CALLS", ())
    file = tmp_path / "r.json"
    assert run("--device", device.name, "--format", "float64", "-o", str(file)) == 0
    rows = rows_of(file)
    assert [row["call"] for row in rows] == ["first array", "first a + a", "first a @ a"]
    assert all(row["seconds"]["median"] > 0 < row["best_seconds"]["median"] for row in rows)


def test_bad_words(capsys: Any) -> None:
    """A sentence and exit status 2; interpreters are not timed."""
    assert cli.main(["bench", "everyday", "--sizes", "huge"]) == 2
    assert "--sizes: 'huge' given; allowed are full, quick" in capsys.readouterr().err


def test_texts() -> None:
    """A text is a function; an assignment gives what it changes."""
    names = {"b": [1, 2, 3], "c": 1}
    assert everyday.made("b[0]", names)() == 1
    assert everyday.made("b[1:] = [7]", names)() == [1, 7] == names["b"]
    more = everyday.made("c += 2", names)
    assert (more(), more(), names["c"]) == (3, 5, 5)
    assert everyday.made("b == 2", names)() is False


def test_functions_are_counted(device: Device) -> None:
    """Of portmp alone, the same number each time."""
    a = mp.zeros(8, "dd", device)
    assert frames(lambda: sorted([2, 1])) == 0
    assert frames(lambda: a.ndim) == frames(lambda: a.ndim) > 0
    assert frames(lambda: (a.ndim, a.ndim)) == 2 * frames(lambda: a.ndim)
    once = frames(lambda: a + a)
    assert once == frames(lambda: a + a) > 0
