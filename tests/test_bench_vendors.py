"""``portmp bench blas --vendors``: portmp beside NumPy, and a stand-in for a GPU's library."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import cli, formats
from portmp.backends.base import Device
from portmp.bench import complexes, measure, peers, reports, roofline, vendors
from portmp.bench.roofline import Ceilings
from portmp.bench.vendors import CALLS, COLUMNS, THEIRS
from portmp.routines.complexes import launch

SMALL = ((3, 4, 4), (8, 8))
"""A stack and a matrix."""


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes are small, and each call is timed once."""
    monkeypatch.setattr(measure, "SAMPLE", 0.0)
    monkeypatch.setattr(measure, "WARM_UP", 0.0)
    monkeypatch.setattr(measure, "REST", 0.0)
    for name, (text, shapes, count) in CALLS.items():
        small = tuple(s for s in SMALL if len(s) in map(len, shapes)) or ((50,),)
        monkeypatch.setitem(CALLS, name, (text, small, count))


def run(*words: str) -> int:
    """The command, each call timed once."""
    return cli.main(["bench", "blas", "--vendors", "--runs", "1", *words])


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The rows of a file's only device, which is as the schema says."""
    report = reports.read_all(file)[0]
    assert report["family"] == "vendors" and not reports.broken(json.loads(file.read_text()))
    (part,) = report["devices"]
    found: list[dict[str, Any]] = part["experiments"]["vendors"]["rows"]
    return found


def test_command(device: Device, tmp_path: Path, capsys: Any) -> None:
    """A row for each call, format and shape; the table, the picture, the page, two files."""
    pytest.importorskip("scipy")
    file, page = tmp_path / "v.json", tmp_path / "page.html"
    words = ("--device", device.name, "-o", str(file), "--plot", str(tmp_path / "v.svg"))
    assert run(*words) == 0
    text = capsys.readouterr().out
    assert all(column.heading in text for column in COLUMNS)
    assert "numpy " in text.splitlines()[0]
    rows = rows_of(file)
    assert [(r["routine"], r["format"], tuple(r["shape"])) for r in rows] == [
        (name, form, shapes[i])
        for i in range(2)
        for name, (_, shapes, _) in sorted((n, CALLS[n]) for n in vendors.VENDORS)
        if i < len(shapes)
        for form in vendors.FORMATS
    ]
    for row in rows:
        assert "problem" not in row
        mine, its = row["seconds"]["median"], row[THEIRS]["seconds"]["median"]
        assert row["share"] == its / mine
        assert row["operations_per_second"] == row["operations"] / mine
        assert row["done"]["runs"] == row[THEIRS]["done"]["runs"] == 1
    assert cli.main(["report", str(file), "-o", str(page)]) == 0
    assert "done" in page.read_text() and "cholesky" in page.read_text()
    assert cli.main(["bench", "compare", str(file), str(file)]) == 0
    joined = tmp_path / "device.json"
    assert cli.main(["report", str(file), "--device", device.name, "-o", str(joined)]) == 0
    assert [r["family"] for r in reports.read_all(joined)] == ["vendors"]


@pytest.mark.parametrize("name", vendors.VENDORS)
@pytest.mark.parametrize("form", vendors.FORMATS)
def test_both_compute_the_same(name: str, form: str, device: Device) -> None:
    """One text, and operands of equal numbers: results as far apart as rounding makes them."""
    pytest.importorskip("scipy")
    text, shapes, _ = CALLS[name]
    for shape in shapes:
        mine = vendors.operands(text, shape, formats.get(form), device)
        own = {"xp": mp, "gemv": mp.gemv, "lu_factor": mp.linalg.lu_factor}
        ours = vendors.made(text, mine | own)()
        theirs = vendors.of_library(np, True, text, mine)()
        ours, theirs = (x[0] if isinstance(x, tuple) else x for x in (ours, theirs))
        assert np.asarray(theirs).dtype == form == ours.format.name
        near = 1e-4 if form == "float32" else 1e-12
        assert abs(np.asarray(ours) - theirs).max() <= near * max(1, abs(theirs).max())


def test_factorisations_in_every_format(device: Device, tmp_path: Path, capsys: Any) -> None:
    """Residuals are the format's, and float64 alone stands beside a library."""
    file = tmp_path / "l.json"
    words = ("--device", device.name, "--format", "float64,td", "-o", str(file), "--runs", "1")
    assert cli.main(["bench", "linalg", *words, "--plot", str(tmp_path / "l.svg")]) == 0
    text = capsys.readouterr().out
    assert all(column.heading in text for column in COLUMNS)
    (part,) = reports.read_all(file)[0]["devices"]
    rows = part["experiments"]["linalg"]["rows"]
    assert {(r["routine"], r["format"]) for r in rows} == {
        (name, form) for name in vendors.FACTORED for form in ("float64", "td")
    }
    for row in rows:
        assert row["residual"] < 1e5 * formats.get(row["format"]).unit_roundoff, row
        assert ("share" in row) == (row["format"] == "float64"), row.get("problem")
    assert cli.main(["bench", "compare", str(file), str(file)]) == 0
    assert cli.main(["report", str(file), "-o", str(tmp_path / "page.html")]) == 0
    assert cli.main(["bench", "linalg", "--routine", "gemm"]) == 2
    assert "--routine: 'gemm' given" in capsys.readouterr().err


def test_complex_calls(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    """Products by residues and functions, with floors; complex128 beside the library."""
    rates = {"float64": {"fma": 1e9, "add": 1e9}, "float64 products": {"fma": 1e9}}
    limits = Ceilings(device.properties.kind, rates | {"int8": {"fma": 1e9}}, 1e9, "copy")
    monkeypatch.setattr(roofline, "measured", lambda *_: limits)
    file, calls = tmp_path / "c.json", ("complex-gemm-ozaki2", "complex-mul", "complex-abs")
    words = ("--device", device.name, "-o", str(file), "--runs", "1")
    assert cli.main(["bench", "complex", *words, "--routine", ",".join(calls)]) == 0
    text = capsys.readouterr().out
    assert all(column.heading in text for column in complexes.COLUMNS)
    report = reports.read_all(file)[0]
    assert report["family"] == "complex" and not reports.broken(json.loads(file.read_text()))
    rows = report["devices"][0]["experiments"]["complex"]["rows"]
    assert {(r["routine"], r["format"]) for r in rows} == {
        (name, form) for name in calls for form in ("cdd", "complex128")
    }
    for row in rows:
        assert "problem" not in row and row["floor"]["seconds"] > 0
        assert ("share" in row) == (row["format"] == "complex128")
    assert cli.main(["bench", "compare", str(file), str(file)]) == 0
    assert cli.main(["report", str(file), "-o", str(tmp_path / "page.html")]) == 0


def test_floors_of_complex_calls() -> None:
    """Instructions and bytes of functions; of products four real ones, or those of residues."""
    rates = {"float64": {"fma": 2.0, "add": 2.0}, "int8": {"fma": 4.0}}
    limits = Ceilings("gpu", rates, 8.0, "copy")
    shared = {"format": "complex128", "routine": "complex-mul", "shape": (10,)}
    found = complexes.floor(shared, "gpu", limits)
    assert found.memory == 10 * 48 / 8
    cost = launch.network("mul", formats.get("float64")).cost
    assert found.arithmetic == 10 * sum(cost.get(op, 0) for op in roofline.PIPES) / 2
    found = complexes.floor(shared | {"routine": "complex-abs"}, "gpu", limits)
    assert found.memory == 10 * 24 / 8
    products = {"routine": "complex-gemm-direct", "shape": (8192, 8192)}
    found = complexes.floor(shared | products, "gpu", limits)
    assert found.arithmetic == pytest.approx(4 * 8192**3 / 2)
    for form, name, count in (
        ("complex128", "complex-gemm-ozaki2", 32),
        ("cdd", "complex-gemm", 79),
    ):
        asked = products | {"format": form, "routine": name}
        assert complexes.floor(asked, "gpu", limits).arithmetic == count * 8192**3 / 4


def test_operations() -> None:
    """Counts of the books, to the leading term."""
    counted = {name: count(8 * 8, 8) for name, (_, _, count) in CALLS.items()}
    assert counted == pytest.approx({
        "gemm": 1024, "gemv": 128, "dot": 128, "sum": 64, "lu": 1024 / 3, "cholesky": 512 / 3,
        "solve": 1024 / 3 + 128, "qr": 4096 / 3, "inv": 1024, "eigh": 4608, "svd": 11264,
        **dict.fromkeys(["complex-gemm", "complex-gemm-direct", "complex-gemm-ozaki2"], 4096),
        **dict.fromkeys(["complex-mul", "complex-div", "complex-abs", "complex-exp"], 64),
    })  # fmt: skip


def test_a_library_in_portmps_stream(
    device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    """A GPU's works by turns with portmp on its stream and memory; what fails there is told."""
    inside: list[Any] = []
    entered: list[int] = []

    @contextlib.contextmanager
    def stream(number: int) -> Iterator[None]:
        entered.append(number)
        inside.append(number)
        yield
        inside.pop()

    def matmul(a: Any, b: Any) -> Any:
        assert inside and isinstance(a, mp.Array)
        return a @ b

    def broken(a: Any) -> Any:
        raise RuntimeError("no sums here")

    library = SimpleNamespace(
        __version__="7.0",
        from_dlpack=lambda x: x,
        cuda=SimpleNamespace(ExternalStream=stream, Device=contextlib.nullcontext),
        matmul=matmul,
        sum=broken,
    )
    monkeypatch.setattr(type(device), "stream_number", lambda *_: 99)
    monkeypatch.setattr(device, "properties", replace(device.properties, kind="gpu"))
    cupy = next(peer for peer in peers.PEERS if peer.module == "cupy")
    beside = replace(cupy, platform=device.platform)
    monkeypatch.setattr(peers, "PEERS", (beside,))
    monkeypatch.setattr(peers, "imported", lambda _: (library, None))
    file = tmp_path / "v.json"
    words = ("--device", device.name, "--format", "float64", "--routine", "gemv,sum")
    assert run(*words, "-o", str(file)) == 0
    assert "library: cupy 7.0" in capsys.readouterr().out
    gemv, total = rows_of(file)
    assert entered == [99, 99] and not inside
    assert gemv["routine"] == "gemv" and gemv["share"] > 0 and gemv["done_share"] > 0
    assert total["problem"] == "no sums here" and THEIRS not in total and "share" not in total


def test_no_library(device: Device, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """portmp alone, with the reason."""
    monkeypatch.setattr(peers, "imported", lambda peer: (None, f"pip install {peer.package}"))
    assert run("--device", device.name, "--routine", "dot", "--size", "50") == 0
    text = capsys.readouterr().out
    assert "library: none: pip install numpy" in text and "dot" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--peers",), "--vendors: takes neither --peers nor --accuracy"),
        (("--accuracy", "fast"), "--vendors: takes neither"),
        (("--format", "dd"), "--format: 'dd' given"),
        (("--routine", "qr"), "--routine: 'qr' given"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], said: str, capsys: Any) -> None:
    assert run(*words) == 2
    assert said in capsys.readouterr().err


def test_no_time(device: Device, capsys: Any) -> None:
    """What would take longer than the limit is listed, by its last size's rate."""
    assert run("--device", device.name, "--routine", "gemm", "--seconds", "0.0001") == 0
    assert "skipped: gemm float32 8x8" in capsys.readouterr().out
