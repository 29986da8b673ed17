"""The page of the four papers: made from what is stored, and with every number of the papers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import papers_page
import pytest

from portmp import cli
from portmp.bench import options
from portmp.bench.experiment import paper_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "papers.md"
MEANT = {"sizes", "peaks", "units", "lanes", "clock", "threads", "n", "at_most", "note", "printed"}
"""Fields of settings, and of what stands in words."""


def test_the_page_is_of_today() -> None:
    """It cannot go stale: with new records or numbers it is written anew."""
    written = PAGE.read_text(encoding="utf-8")
    assert written == papers_page.page(), "python tests/papers_page.py > docs/papers.md"


def numbers(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """All numbers of a paper's data, with where they stand."""
    if isinstance(data, dict):
        for name, value in data.items():
            if name not in MEANT:
                yield from numbers(value, (*path, name))
    elif isinstance(data, list):
        for value in data:
            yield from numbers(value, path)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield path, data


def shown(value: float) -> set[str]:
    """How a number may stand on the page."""
    plain = {f"{value:g}", str(value), f"{value / 1e9:g} G/s", f"{value:.2f}", f"{value / 1e3:g}"}
    return plain | {f"{100 * value:.1f}%", f"{100 * value:.1f} %", f"{value:.0e}"}


@pytest.mark.parametrize("name", papers_page.PAPERS)
def test_every_number_of_the_papers(name: str) -> None:
    """In the paper's part, in a cell of its own or as a word of one."""
    text = papers_page.page().partition(f"## {papers_page.PAPERS[name][0]}\n")[2]
    text = re.split(r"\n## ", text)[0]
    words = set(re.findall(r"[^\s|(),:]+(?: G/s| %)?", text))
    words |= set(re.findall(r"[^\s|(),:]+", text))
    found = list(numbers(paper_of(name)))
    missing = [(path, value) for path, value in found if not shown(value) & words]
    assert len(found) >= 10 and not missing


def test_numbers_stand_in_the_right_company() -> None:
    """Fifty rates, drawn by lot: in the row of their format, below their machine."""
    table = re.findall(r"^\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    lines = {line.split(" | ")[0]: line.split(" | ")[1:] for line in table}
    rates = paper_of("hpcs2011")["rates"]["C2050"]
    for routine in rates:
        for form in papers_page._DOUBLED:
            stated = f"{rates[routine][form] / 1e9:g} G/s"
            assert lines[f"{routine} {form}"][0].partition(",")[0] == stated
    drawn = random.Random(58).sample(
        [
            (machine, routine, form)
            for machine, about in paper_of("slfp")["devices"].items()
            for routine in ("axpy", "gemm")
            for form in about[routine]["rows"]
        ],
        50,
    )
    text = PAGE.read_text(encoding="utf-8")
    for machine, routine, form in drawn:
        stated = paper_of("slfp")["devices"][machine][routine]["rows"][form]
        part = text.partition(f"{routine.upper()} on {machine}, N =")[2]
        part = part.partition(
            f"### Table ({paper_of('slfp')['devices'][machine][routine]['table']})"
        )[2]
        row = re.search(rf"^\| {form} \| (\S+) \|", part, re.MULTILINE)
        assert row and row[1] == f"{stated['gflops']:g}"


def test_commands_are_ones() -> None:
    """Each place's command is one that portmp has, with experiments that there are."""
    for found in papers_page.places().values():
        for place in found:
            for line in place.command.splitlines():
                first, *words = line.split()
                if first == "python":
                    assert (ROOT / words[0]).exists()
                    continue
                args = cli.command_line().parse_args(words)
                if words[0] == "bench":
                    family = options.family(words[1])
                    options.read(args, family.by_name)


def test_linked_and_cited() -> None:
    """The README has the papers' names as the data have them, and leads to the page."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    flat = " ".join(readme.split())
    assert "docs/papers.md" in readme and "papers\n" in (ROOT / "docs" / "index.md").read_text()
    for name in papers_page.PAPERS:
        assert paper_of(name)["source"] in flat
    for text in (readme, PAGE.read_text(encoding="utf-8")):
        assert not re.search(r"surviv|are lost|is lost|seed paper", text)
