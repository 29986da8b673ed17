"""Texts side by side: rows, the terminal's columns, the page."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from portmp import cli
from portmp.codegen import columns

A = "head\nfloat a = __fma_rn(x, y, z);\nonly here\n}\n"
B = "#pragma on\nhead\nfloat a = fma(x, y, z);\n}\n"
C = "head\nfloat a = mad(x, y, z);\n__local float s[4];\n}\n"


def test_rows() -> None:
    """Lines that are alike share a row; others have a row of their own, in their order."""
    assert columns.aligned([A, B]) == [
        (None, "#pragma on"),
        ("head", "head"),
        ("float a = __fma_rn(x, y, z);", "float a = fma(x, y, z);"),
        ("only here", None),
        ("}", "}"),
    ]
    rows = columns.aligned([A, B, C])
    for place, text in enumerate((A, B, C)):
        assert [row[place] for row in rows if row[place] is not None] == text.splitlines()
    assert (
        "float a = __fma_rn(x, y, z);",
        "float a = fma(x, y, z);",
        "float a = mad(x, y, z);",
    ) in rows
    assert columns.aligned(["", ""]) == []
    assert columns.aligned(["", "x\n"]) == [(None, "x")]


def test_large_changes_are_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where too much differs for an alignment, nothing is left out."""
    monkeypatch.setattr(columns, "_LARGEST", 3)
    rows = columns.aligned(["a\nb\nc\n", "d\ne\n"])
    assert rows == [("a", "d"), ("b", "e"), ("c", None)]


def test_terminal() -> None:
    """What differs has a mark; long lines go on below; what is the same is left out."""
    same = "".join(f"line {n}\n" for n in range(20))
    rows = columns.aligned([same + "x = one(1);\n", same + "x = two(1);\n"])
    lines = list(columns.terminal(rows, ["cuda", "rocm"], 63))
    assert lines[0] == "cuda" + " " * 26 + " | rocm"
    assert lines[2].startswith("...")
    assert "x = one(1);".ljust(30) + " | x = two(1);" in lines
    assert "line 17".ljust(30) + "   line 17" in lines
    assert not any("line 16" in line for line in lines)
    assert max(map(len, lines)) <= 63
    long = columns.aligned(["    " + "word " * 30 + "\n", "    other\n"])
    wrapped = list(columns.terminal(long, ["a", "b"], 63))
    assert len(wrapped) > 6 and all(len(line) <= 63 for line in wrapped)
    assert "".join(line[:30].strip() for line in wrapped[2:]).count("word") == 30


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th", "mark"):
            self.rows[-1][-1] += data


def test_the_page(tmp_path: Path) -> None:
    """Well-formed, whole, with nothing of the texts taken for HTML."""
    texts = [A.replace("head", 'if (a < b && c) "x"'), B]
    rows = columns.aligned(texts)
    page = columns.page(rows, ["cuda", "rocm"], "mul, dd")
    found = _Cells()
    found.feed(page)
    assert not found.open
    assert found.rows[0] == ["cuda", "rocm"]
    assert found.rows[1:] == [[line or "" for line in row] for row in rows]
    assert "<mark>fma</mark>" in page
    assert 'name="viewport"' in page


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two or three platforms on the terminal, or in a file."""
    assert cli.main(["render", "mul", "--platform", "cuda", "--diff", "rocm"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["cuda", "|", "rocm"]
    assert "__fma_rn(a, b, -p);" in out and " fma(a, b, -p);" in out
    file = tmp_path / "mul.html"
    words = ["render", "mul", "--platform", "cuda", "--diff", "rocm,opencl", "--html", str(file)]
    assert cli.main(words) == 0
    found = _Cells()
    found.feed(file.read_text())
    assert found.rows[0] == ["cuda", "rocm", "opencl"]
    for platform, place in (("cuda", 0), ("opencl", 2)):
        capsys.readouterr()
        assert cli.main(["render", "mul", "--platform", platform]) == 0
        lines = capsys.readouterr().out.splitlines()
        column = [row[place] for row in found.rows[1:]]
        assert [line for line in column if line] == [line for line in lines if line]
    assert cli.main(["render", "mul", "--platform", "rocm", "--diff", "rocm"]) == 0
    assert capsys.readouterr().out == "mul: the same text for rocm and rocm\n"
    for words, message in (
        (["--diff", "a,b,c"], "--diff: 'a,b,c' given, one platform or two are needed"),
        (["--html", "x"], "--html: give --diff"),
        (["--diff", "metal"], "unknown platform 'metal'"),
    ):
        assert cli.main(["render", "mul", *words]) == 2
        assert message in capsys.readouterr().err
