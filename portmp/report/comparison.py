"""Two files side by side: what changed beyond the spreads of both, as text or as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from portmp.bench import compare, options, reports
from portmp.bench.experiment import Family
from portmp.bench.tables import Grid, Row
from portmp.errors import InputError, printable
from portmp.files import target
from portmp.report import page
from portmp.report.subjects import cleaned

CHANGED, WITHIN, UNTOLD = "CHANGED", "within", "no spread"
MARKS = {True: CHANGED, False: WITHIN, None: UNTOLD}
MADE = (
    f"{CHANGED}: the ratio, new over old, is beyond both spreads: with the distances of the "
    "quartiles over the medians a and b, it is above (1 + a)(1 + b) or below the inverse. "
    f"{WITHIN}: it is not, and says nothing. {UNTOLD}: one of the files has no repetitions of "
    "that row, so nothing is said. Runs at different times on a machine that is not idle may "
    "differ beyond their spreads all the same: bench/history.py of a checkout measures by turns."
)


@dataclass(frozen=True)
class Pair:
    """Two parts of reports of one benchmark: who they are, their tables."""

    title: str
    old: str
    new: str
    grids: list[Grid]


@dataclass
class Comparison(page.Dressed):
    """All that the template shows."""

    title: str
    subtitle: str
    tiles: list[tuple[str, str]]
    pairs: list[Pair]
    made = MADE


def _grids(family: Family, old: Row | None, new: Row | None) -> Iterator[tuple[Grid, list[Row]]]:
    """The tables of two devices, with marks."""
    for experiment in family.by_name.values():
        found = compare.rows(old, new, experiment)
        for grid in compare.as_table(family, experiment, found, MARKS).grids():
            yield grid, found


def compared(paths: Sequence[str]) -> Comparison:
    """Two files; InputError where they have no benchmark in common."""
    old, new = (cleaned(reports.read_all(path)) for path in paths)
    both = compare.matched(old, new)
    if not both:
        first, second = (", ".join(dict.fromkeys(r["family"] for r in f)) for f in (old, new))
        raise InputError(
            f"{paths[0]} has bench {first}, {paths[1]} has {second}: two of one benchmark are "
            "needed"
        )
    pairs, rows = [], []
    for one, other in both:
        family = options.family(one["family"])
        for a, b in compare.pairs(one, other):
            try:
                found = list(_grids(family, a, b))
            except page.UNREADABLE:
                raise InputError(
                    f"{paths[0]}, {paths[1]}: rows are not as {one['family']} writes them"
                ) from None
            rows += [row for _, some in found for row in some]
            before, after = (compare.title("", r, p)[2:] for r, p in ((one, a), (other, b)))
            grids = [grid for grid, _ in found]
            pairs += [Pair(one["family"], before, after, grids)] if found else []
    changes = [row["change"] for row in rows]
    tiles = [
        (str(changes.count(True)), "changed beyond both spreads"),
        (str(changes.count(False)), "within the spreads"),
        (str(changes.count(None)), "in one file only, or without a spread"),
    ]
    first, second = (printable(Path(path).name) for path in paths)
    return Comparison("portmp, compared", f"{first} and {second}", tiles, pairs)


def text(found: Comparison) -> str:
    """The same for a terminal."""
    lines = []
    for pair in found.pairs:
        lines += [pair.title, f"old: {pair.old}", f"new: {pair.new}", ""]
        for grid in pair.grids:
            lines += [*grid.lines(), ""]
    return "\n".join([*lines, "; ".join(f"{number} {words}" for number, words in found.tiles)])


def command(paths: Sequence[str], place: Path | None) -> int:
    """``portmp report --compare A B``: 0 once both are read."""
    found = compared(paths)
    if place is None:
        print(text(found))
        return 0
    target.replace(place, page.text(found, "comparison.mako").encode())
    print(f"{place}: {'; '.join(f'{number} {words}' for number, words in found.tiles)}")
    return 0
