"""The page: one HTML file with all tables, figures and sources, which asks for no other.

Every text of a report is escaped by the template; what is not (figures, the page's own style and
script) is made here. The page's policy lets the browser run this script alone and fetch nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from itertools import groupby
from typing import Any, TypeVar

import portmp as mp
from portmp.bench import options
from portmp.bench.experiment import Experiment, alike
from portmp.bench.tables import Column, Grid, Row, Table, key, quantity
from portmp.codegen import render
from portmp.errors import BackendUnavailable, printable
from portmp.report import checks, drawing, figures, papers, sources
from portmp.report.drawing import Figure
from portmp.report.sources import Source
from portmp.report.subjects import File, Part, Subject, sorted_by_device

S = TypeVar("S")
T = TypeVar("T")
HEADINGS = {
    "devices": "Devices",
    "digests": "The same bits",
    "figures": "Figures",
    "papers": "Beside the papers",
    "tables": "All tables",
    "left": "What was left out",
    "sources": "Sources side by side",
    "made": "How this page was made",
}
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError)
"""What a row raises that is not as its benchmark writes it."""
UNCHECKED = "its rows are not as its benchmarks write them; nothing could be checked"
DIGESTS = (
    "Results of recorded inputs, reduced to digests of their bits: how many equal the recorded "
    "ones, by format. They do not depend on the device; times do. An interpreted device runs AMD's "
    "machine code on a CPU, instruction by instruction, an emulated processor that of another "
    "processor, by qemu: no hardware of that name was there."
)


def grid(title: str, heads: Sequence[str], cells: Sequence[Sequence[str]], names: int = 1) -> Grid:
    """A table of texts; the first *names* columns are names."""
    return Grid(title, heads, cells, [i < names for i in range(len(heads))])


@dataclass(frozen=True)
class Shown:
    """A figure in the page: its series, each with its mark, and what the marks say."""

    title: str
    svg: str
    names: list[tuple[str, str]]
    numbers: list[tuple[str, str]]
    note: str
    wide: bool = False


@dataclass(frozen=True)
class Tables:
    """An experiment's tables behind one line."""

    summary: str
    grids: list[Grid]
    sentences: list[str]


@dataclass
class Device:
    """A device's share of the page."""

    key: str
    title: str
    through: str
    hardware: Grid
    problems: list[str]
    figures: list[Shown] = field(default_factory=list)
    tables: list[Tables] = field(default_factory=list)


class Dressed:
    """A page's style and script."""

    @property
    def style(self) -> str:
        """The style sheet."""
        return data("style.css")

    @property
    def script(self) -> str:
        """The script."""
        return data("script.js")

    @property
    def script_hash(self) -> str:
        """What lets the browser run the script and nothing else."""
        return base64.b64encode(hashlib.sha256(self.script.encode()).digest()).decode()


@dataclass
class Page(Dressed):
    """All that the template shows."""

    title: str
    subtitle: str
    devices: list[Device]
    overview: Grid
    digests: Grid
    tiles: list[tuple[str, str]]
    cover: list[Shown]
    ratios: Grid | None
    left_out: Grid | None
    sources: list[Source]
    files: Grid
    problems: list[str]
    made: str
    headings = HEADINGS
    about_digests = DIGESTS

    @property
    def figures(self) -> bool:
        """Whether there are any."""
        return bool(self.cover) or any(device.figures for device in self.devices)

    @property
    def contents(self) -> list[str]:
        """The parts that there are."""
        missing = {
            "figures": not self.figures,
            "papers": self.ratios is None,
            "left": self.left_out is None,
            "sources": not self.sources,
        }
        return [name for name in HEADINGS if not missing.get(name)]


def data(name: str) -> str:
    """A file of the page's own."""
    return resources.files("portmp").joinpath(f"data/report/{name}").read_text(encoding="utf-8")


def text(page: Any, template: str = "page.mako") -> str:
    """A page as HTML."""
    from mako.lookup import TemplateLookup

    lookup = TemplateLookup(default_filters=["h"], strict_undefined=True)
    for name in ("parts.mako", template):
        lookup.put_string(name, data(name))
    found: str = lookup.get_template(template).render_unicode(page=page)
    return found


# --- devices ------------------------------------------------------------------------------------


def hardware(subject: Subject) -> Grid:
    """What the driver reports, the compiler, clocks, versions."""
    facts = subject.facts
    lines = [
        (name.replace("_", " "), str(value)) for name, value in facts.items() if name != "extra"
    ]
    lines += [(name, str(value)) for name, value in facts.get("extra", {}).items()]
    lines += [("compiler", one) for one in subject.texts("compiler")]
    lines += [("remark", subject.remark)] if subject.remark else []
    lines += [("energy", one) for one in subject.texts("energy.read")]
    lines += [("energy", one) for one in subject.texts("energy.problem")]
    hosts = {" ".join(map(str, report["host"].values())): None for report, _ in subject.parts}
    lines += [("host", one) for one in hosts]
    return grid("", ("what", "is"), lines, 2)


def _memory(row: Row) -> str | None:
    memory = row["facts"].get("memory")
    return f"{memory / 2**30:.1f} GiB" if memory else None


_FMA = "ceilings.instructions_per_second.{}.fma"
OVERVIEW = (
    *map(key, ("device", "through")),
    Column("units", "facts.compute_units", "words"),
    Column("memory", _memory, "words"),
    *(Column(f"{word} fma", _FMA.format(word), "/s") for word in ("float64", "float32")),
    Column("bandwidth", "ceilings.memory.bytes_per_second", "B/s"),
    Column("digests", "digests", "words"),
    Column("direct GEMM dd", "best.operations_per_second", "/s"),
    Column("J/op", "thrifty.energy.joules_per_operation", "J"),
    Column("newest", "newest", "words"),
)


def overview(subjects: Sequence[Subject]) -> Grid:
    """A line for each device."""
    lines = []
    for subject in subjects:
        verdict = next(iter(checks.verdicts(subject)), None)
        row = {
            "device": subject.title,
            "through": subject.through,
            "facts": subject.facts,
            "ceilings": subject.ceilings,
            "digests": verdict and f"{verdict.passed} of {verdict.total}",
            "best": safely(partial(best_product, subject), None),
            "thrifty": safely(partial(best_product, subject, True), None),
            "newest": subject.dates[-1],
        }
        lines.append([column.cell(row) for column in OVERVIEW])
    heads = [column.heading for column in OVERVIEW]
    return grid("What was measured, and the largest rates that it showed", heads, lines, 2)


def best_product(
    subject: Subject, energy: bool = False, methods: Collection[str] = ("gemm",)
) -> Row | None:
    """The fastest product in double-double by some methods, of those whose *energy* is known.

    By default the direct one.
    """
    rows = [
        r
        for r in figures.latest(subject)
        if r["routine"] in methods
        and (r["format"], r["accuracy"]) == ("dd", "accurate")
        and (r.get("energy") or not energy)
    ]
    return max(rows, key=lambda r: float(r["operations_per_second"]), default=None)


def digests(subjects: Sequence[Subject]) -> Grid:
    """How many digests are the recorded ones, by device, definition and format."""
    found = [(s, v) for s in subjects for v in checks.verdicts(s)]
    names = list(dict.fromkeys(name for _, v in found for name in v.formats))
    lines = []
    for subject, verdict in found:
        of = verdict.formats
        cells = [_of(*of[name]) if name in of else "-" for name in names]
        both = _of(verdict.passed, verdict.total)
        lines.append([subject.title, subject.through, verdict.words, both, *cells])
    heads = ["device", "through", "verdict", "all", *names]
    return grid(
        "Digests that equal the recorded ones, of those that were computed", heads, lines, 3
    )


def tiles(subjects: Sequence[Subject]) -> list[tuple[str, str]]:
    """What the page says in few numbers, each with what it is."""
    first = [found[0] for found in map(checks.verdicts, subjects) if found]
    found = [(str(len(subjects)), "devices and targets")]
    if first:
        alike = sum(verdict.passed == verdict.total for verdict in first)
        found.append((f"{alike} of {len(first)}", "give the recorded bits"))
        most = max(verdict.passed for verdict in first)
        found.append((f"{most:,}", "results with the recorded bits, at most"))
    every = partial(best_product, methods=figures.METHODS)
    rows = [row for s in subjects if (row := safely(partial(every, s), None))]
    if rows:
        best = max(rows, key=lambda row: float(row["operations_per_second"]))
        how = f"operations, the fastest product in dd, {figures.METHODS[best['routine']]}"
        found.append((quantity(best["operations_per_second"], "/s"), how))
    return found


def _of(passed: int, total: int) -> str:
    return str(total) if passed == total else f"{passed} of {total}"


def left_out(subjects: Sequence[Subject]) -> Grid | None:
    """What was skipped, and why."""
    lines: list[tuple[str, ...]] = []
    for subject in subjects:
        who = subject.title, subject.through
        for family, found in groupby(subject.skipped, key=lambda one: one[0]):
            for one in alike([row for _, row in found]):
                lines.append((*who, family, one["experiment"], one["what"], one["reason"]))
        lines += [(*who, "all", "all", "all", reason) for reason in subject.refusals]
    heads = ("device", "through", "benchmark", "experiment", "what", "reason")
    return grid("", heads, list(dict.fromkeys(lines)), 6) if lines else None


def ratios(subjects: Sequence[Subject]) -> Grid | None:
    """All ratios that papers state, beside those measured."""
    lines = []
    for subject in subjects:
        for row in listed(papers.rows, subject):
            what = subject.title, subject.through, row["paper"], row["what"]
            here, stated, over = (f"{row[name]:.3g}" for name in ("here", "stated", "over"))
            lines.append([*what, here, row["machine"], stated, over])
    heads = ("device", "through", "paper", "ratio", "here", "machine", "stated", "here over it")
    title = "Ratios on each device, and as the papers state them for their machines"
    return grid(title, heads, lines, 4) if lines else None


# --- tables and figures ---------------------------------------------------------------------------


def safely(make: Callable[..., T], otherwise: T) -> T:
    """What is made of rows, or something else where they are not as a benchmark writes them."""
    try:
        return make()
    except UNREADABLE:
        return otherwise


def listed(make: Callable[[S], Iterable[T]], of: S) -> list[T]:
    """All that is made of rows, or nothing where they are not as a benchmark writes them."""
    none: list[T] = []
    return safely(lambda: list(make(of)), none)


def tables(part: Part) -> Iterator[Tables]:
    """The tables of a device's part of a report, by experiment."""
    report, mine = part
    family = options.family(report["family"])
    for name, found in mine["experiments"].items():
        if report["family"] == "verify" or not found["rows"]:
            continue  # the digests have a table of their own
        what = name if len(family.experiments) > 1 else report["family"]
        made = f"portmp {report['portmp']}, {report['date'][:10]}"
        label = report["family"] if what == report["family"] else f"{report['family']}, {what}"
        summary = f"{label}: {len(found['rows'])} rows ({made})"
        broken = Tables(summary, [], ["These rows are not as this benchmark writes them."])
        yield safely(partial(_tables, summary, family.by_name.get(name), found), broken)


def _tables(summary: str, experiment: Experiment | None, found: Row) -> Tables:
    if experiment is None:
        raise KeyError(summary)
    parts = experiment.parts(found)
    grids = [grid for one in parts if isinstance(one, Table) for grid in one.grids()]
    return Tables(summary, grids, [one for one in parts if isinstance(one, str)])


def drawn(subject: Subject, problems: list[str]) -> list[Shown]:
    """A device's figures."""
    makers = (*figures.OF_A_DEVICE, papers.figures)
    found = [figure for make in makers for figure in listed(make, subject)]
    return _shown(found, subject.key, problems)


def _shown(found: Sequence[Figure], key: str, problems: list[str]) -> list[Shown]:
    """Figures; none where matplotlib is missing, which is told once."""
    shown = []
    for i, figure in enumerate(found):
        try:
            svg = drawing.drawn(figure, f"{key}f{i}")
            if figure.wide:
                broad = drawing.drawn(figure, f"{key}f{i}b", broad=True)
                svg = f'<div class="narrow">{svg}</div><div class="broad">{broad}</div>'
        except BackendUnavailable as error:
            if str(error) not in problems:
                problems.append(f"{error}; without it the page has tables alone")
            return []
        numbers = [(s.name, "; ".join(said for _, _, said in s.points)) for s in figure.series]
        names = [(drawing.letter(j, s), s.name) for j, s in enumerate(figure.series)]
        shown.append(Shown(figure.title, svg, names, numbers, figure.note, figure.wide))
    return shown


def built(reports: Sequence[Row], files: Sequence[File], title: str = "portmp, measured") -> Page:
    """The page of some reports; of these *files*."""
    subjects = sorted_by_device(reports)
    problems: list[str] = []
    devices = [
        Device(
            subject.key,
            subject.title,
            subject.through,
            hardware(subject),
            safely(partial(checks.contradictions, subject), [UNCHECKED]),
            drawn(subject, problems),
            [one for part in subject.parts for one in tables(part)],
        )
        for subject in subjects
    ]
    dates = sorted(report["date"][:10] for report in reports)
    count = f"{len(subjects)} device{'s' * (len(subjects) != 1)}, {len(reports)} reports"
    return Page(
        title,
        f"{count}, {' to '.join(sorted({*dates[:1], *dates[-1:]}))}: "
        "arithmetic beyond float64, the same bits on every device",
        devices,
        overview(subjects),
        digests(subjects),
        tiles(subjects),
        _shown(listed(figures.cover, subjects), "all", problems),
        ratios(subjects),
        left_out(subjects),
        list(sources.of(subjects)),
        _files(reports, files),
        list(dict.fromkeys(problems)),
        f"By portmp {mp.__version__} (portmp report) from the files below; the templates of this "
        f"version are {render.templates_digest()}. Figures are matplotlib's; the page asks for no "
        "other file.",
    )


def _files(reports: Sequence[Row], files: Sequence[File]) -> Grid:
    heads = ("file or benchmark", "portmp", "commit", "templates", "definition", "date")
    words = {True: "left out: ", False: ""}
    lines: list[list[Any]] = [
        [f"{printable(f.path.name)} {words[bool(f.reason)]}{f.reason}".strip(), *[""] * 5]
        for f in files
    ]
    lines += [
        [
            r["family"],
            r["portmp"],
            (r["commit"] or "-")[:12],
            r["templates"],
            str(r["definition"]),
            r["date"],
        ]
        for r in reports
    ]
    return grid("Files, and the reports in them", heads, lines, 4)
