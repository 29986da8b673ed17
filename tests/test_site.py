"""The documentation's pages: examples run and print what stands there, the site builds."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import tiers

import portmp as mp

DOCS = Path(__file__).resolve().parents[1] / "docs"
WHOLE = ("index", "tutorial", "precision", "recipes", "foreign_arrays", "digits")
EXECUTED = {**dict.fromkeys(WHOLE), "distributed": 1}
"""Pages whose blocks of Python run one after another, as a reader would type them, and how many;
None: all."""

_BLOCK = re.compile(
    r"(?:<!-- needs (?P<needs>[\w, ]+) -->\n)?```python\n(?P<code>.*?)```"
    r"(?:\n\n```text\n(?P<text>.*?)```)?",
    re.DOTALL,
)


@pytest.mark.parametrize("page", EXECUTED)
def test_examples_print_what_stands_there(page: str, tmp_path: Path) -> None:
    """A block that needs packages which are not here is left out, and what follows from it."""
    names: dict[str, Any] = {}
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = list(_BLOCK.finditer(text))[: EXECUTED[page]]
    assert blocks
    with contextlib.chdir(tmp_path):
        for block in blocks:
            needed = re.findall(r"\w+", block["needs"] or "")
            if not all(map(importlib.util.find_spec, needed)):
                continue
            line = text[: block.start("code")].count("\n")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * line + block["code"], f"{page}.md", "exec"), names)
            assert block["text"] is None or printed.getvalue() == block["text"], block["code"]


def test_site_builds_without_warnings(tmp_path: Path) -> None:
    """All pages, with a reference that has everything that portmp offers."""
    tiers.check("sphinx")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*command, str(DOCS), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    content = (tmp_path / "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split()[0] for line in zlib.decompress(content).decode().splitlines()}
    offered = {f"portmp.{name}" for name in mp.__all__ if callable(getattr(mp, name))}
    assert offered - known == {"portmp.PortmpError"}  # below portmp.errors
    assert {"portmp.errors.PortmpError", "portmp.linalg.solve"} <= known
