"""Results of the short formats' experiments as JSON, as tables beside the paper's, as a picture."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from portmp.bench.cases import shape_text
from portmp.bench.papers.slfp.experiments import LIBRARY, ONE_LIMB, Bench
from portmp.bench.tables import (
    about,
    columns,
    energy_lines,
    number,
    origin,
    paper_of,
    quantity,
    sections,
    with_energy,
)
from portmp.files import pictures

SCHEMA = "portmp slfp bench 1"
Row = dict[str, Any]
Lines = list[str]

paper = partial(paper_of, "slfp")


def theirs(kind: str, experiment: str) -> tuple[str, Row]:
    """The paper's device of a kind, and its rows of an experiment; none where it has no such."""
    name = next(n for n, d in paper()["devices"].items() if d["kind"] == kind)
    return name, paper()["devices"][name].get(experiment, {}).get("rows", {})


def report(
    bench: Bench, experiments: Mapping[str, Row], problem: str, start: datetime.datetime
) -> Row:
    """Everything of one run on a device; *problem*: why there is no vendor's library."""
    library = {"name": bench.vendor.name if bench.vendor else None, "problem": problem or None}
    return origin(SCHEMA, start) | about(bench.device) | {
        "paper": paper(), "library": library,
        "runs": bench.runs, "limit_seconds": bench.budget.seconds,
        "experiments": {
            name: {"kind": bench.kind, **found} for name, found in experiments.items()
        },
        "skipped": bench.skipped,
        "seconds": round(bench.budget.passed(), 3), **bench.observer.facts(),
    }  # fmt: skip


def wrong(data: Row) -> list[str]:
    """What is not right: errors beyond rounding, layouts that do not agree in all bits."""
    found = data["experiments"]
    rows = [(name, row) for name, part in found.items() for row in part.get("rows", ())]
    return [
        f"{name}, {row.get('type', row['format'])}, n = {row['n']}"
        for name, row in rows
        if not row.get("same_bits", True) or row.get("error", {"wrong": False})["wrong"]
    ]


# --- tables ------------------------------------------------------------------------------


def table(data: Row) -> str:
    """All experiments of a report."""
    facts, library = data["device"]["facts"], data["library"]
    lines = [
        f"{data['device']['selected']}: {facts['name']}, {facts['compute_units']} units, driver "
        f"{data['driver']}; {LIBRARY}: {library['name'] or 'none: ' + library['problem']}",
        f"paper: {data['paper']['source']}",
        *energy_lines(data),
    ]
    lines += sections(data, _TABLES)
    return "\n".join([*lines, *(f"WRONG: {what}" for what in wrong(data))])


def times(over: Mapping[str, float]) -> str:
    """How many times as fast as float64, in brackets as float32: the paper's columns."""
    first, *more = [number(ratio) for ratio in over.values()]
    if "float64" not in over:
        return f"{first} x {next(iter(over))}"
    return f"{first} ({more[0]})" if more else first


def stated(rows: Row, name: str, figure: str = "gflops") -> str:
    """The paper's ratio of a format's figure to FP64's, for short floats to FP32's in brackets."""
    if figure not in rows.get(name, {}):
        return "-"
    bases = ["float64", *(["float32"] if name in ONE_LIMB["float32"] else [])]
    return times({base: rows[name][figure] / rows[base][figure] for base in bases})


def _kind(name: str) -> Callable[[Row], Lines]:
    return lambda found: _routine(name, found)


def _routine(name: str, found: Row) -> Lines:
    lines: Lines = []
    machine, rows_there = theirs(found["kind"], name)
    by_bytes = name != "gemm"
    for n in dict.fromkeys(row["n"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["n"] == n]
        cut = {row["format"].removesuffix("_rz"): row for row in rows if row["type"][-3:] == "_rz"}
        shown = [row for row in rows if row not in cut.values()]
        beside = f", beside the paper's {machine}" if rows_there else ""
        heads = (
            "type", "GFlop/s", *(("GB/s",) if by_bytes else ()), "x float64",
            *(("ideal", "reached") if by_bytes else ()),
            *(("truncated",) if cut else ()), *(("paper x",) if rows_there else ()),
        )  # fmt: skip
        cells = [
            [row["type"], number(row["operations_per_second"] / 1e9, 4),
             *([number(row["bytes_per_second"] / 1e9, 4)] if by_bytes else []),
             times(row["over"]),
             *([number(row["ideal"]), f"{100 * row['reached']:.0f} %"] if by_bytes else []),
             *([_cut(row, cut)] if cut else []),
             *([stated(rows_there, row["type"])] if rows_there else [])]
            for row in shown
        ]  # fmt: skip
        heads, cells = _watts(*with_energy(heads, cells, shown), shown, rows_there)
        lines += [*columns(f"{name}, n = {shape_text([n])}{beside}", heads, cells, 1)]
        lines += [*_own_over_library(rows, rows_there), ""]
    return lines[:-1] or [f"{name}: nothing was measured"]


def _cut(row: Row, cut: Mapping[str, Row]) -> str:
    """The truncated format's ratio."""
    return times(cut[row["format"]]["over"]) if row["type"] in cut else "-"


def _watts(
    heads: Sequence[str], cells: Sequence[Sequence[str]], rows: Sequence[Row], there: Row
) -> tuple[tuple[str, ...], list[list[str]]]:
    """Where energy was read: watts, and the rate kept up meanwhile and efficiency over parents'."""
    read = {row["type"]: row["energy"] for row in rows if row.get("energy")}
    if not read:
        return tuple(heads), [list(line) for line in cells]
    figures = [figure for figure in _FIGURES if figure in there.get("float64", {})]
    more = []
    for row in rows:
        mine = read.get(row["type"])
        kept, efficient = (
            {b: mine[figure] / read[b][figure] for b in row["over"] if mine and b in read}
            for figure in ("operations_per_second", "gflops_per_watt")
        )
        more.append([
            number(mine["watts"]) if mine else "-", times(kept) if kept else "-",
            times(efficient) if efficient else "-",
            *(stated(there, row["type"], figure) for figure in figures),
        ])  # fmt: skip
    heads = (*heads, "W", "x kept up", "eff x", *(_FIGURES[figure] for figure in figures))
    return heads, [[*line, *extra] for line, extra in zip(cells, more, strict=True)]


_FIGURES = {"mflops_per_watt": "paper eff x", "board_mflops_per_watt": "of its board"}
"""What the paper's efficiency may be of, and how its column is called."""


def _own_over_library(rows: Sequence[Row], there: Row) -> Lines:
    """portmp's own kernels beside the library's."""
    rates = {row["type"]: row["over"] for row in rows}
    words = []
    for form in ONE_LIMB:
        key = f"{LIBRARY} {form}"
        if key in rates:
            text = f"{form} {number(1 / rates[key][form])}"
            if key in there:
                ratio = there[form]["gflops"] / there[key]["gflops"]
                text += f" (the paper {number(ratio)})"
            words.append(text)
    return [f"own kernel over the {LIBRARY}'s: {', '.join(words)}"] if words else []


def _interleaved(found: Row) -> Lines:
    rows = [
        [r["format"], str(r["word"]),
         *(quantity(r["bytes_per_second"][layout], "B/s") for layout in _LAYOUTS),
         number(r["planar_over_interleaved"]), "yes" if r["same_bits"] else "NO"]
        for r in found["rows"]
    ]  # fmt: skip
    sizes = ", ".join(shape_text([n]) for n in dict.fromkeys(r["n"] for r in found["rows"]))
    title = (
        f"interleaved: AXPY with parts one behind another, in words of so many bytes, n = {sizes}"
    )
    heads = ("format", "word", *_LAYOUTS, "planar over interleaved", "same bits")
    return columns(title, heads, rows, 1)


_LAYOUTS = ("planar", "interleaved")


def _accuracy(found: Row) -> Lines:
    lines: Lines = []
    for key, title in (
        ("inputs", "accuracy: a matrix's positive entries are stored short, vectors are not"),
        ("sums", "accuracy: running sums of positive products, stored short after each"),
    ):
        values = {(r["format"], r["rounding"], r["n"]): r for r in found[key]}
        sizes = sorted({n for _, _, n in values})
        rows = [
            [form, rounding.replace("_", " "), *(
                f"{values[form, rounding, n]['mean']:+.3g}, {values[form, rounding, n]['rms']:.3g}"
                for n in sizes
            )]
            for form, rounding in dict.fromkeys((f, r) for f, r, _ in values)
        ]  # fmt: skip
        whole = (
            f"{title}: errors over the sum in units of 2^-p, mean and root mean square, by terms"
        )
        lines += [*columns(whole, ("format", "rounding", *map(str, sizes)), rows, 2), ""]
    return lines[:-1]


_TABLES: Mapping[str, Callable[[Row], Lines]] = {
    **{name: _kind(name) for name in ("axpy", "gemm", "gemv", "dot")},
    "interleaved": _interleaved, "accuracy": _accuracy,
}  # fmt: skip


# --- picture -----------------------------------------------------------------------------


def plot(path: Path, data: Row) -> None:
    """Rates over float64's by format, and rates over watts where they were read."""
    plt = pictures.pyplot()
    drawn = [
        (name, per_watt)
        for name in ("axpy", "gemm", "gemv", "dot")
        for per_watt in (False, True)
        if _bars(data, name, per_watt)
    ]
    figure, axes = plt.subplots(max(1, len(drawn)), 1, figsize=(11, 3.6 * max(1, len(drawn))))
    for place, (name, per_watt) in zip([axes] if len(drawn) < 2 else axes, drawn, strict=False):
        for i, (label, bars) in enumerate(_bars(data, name, per_watt).items()):
            places = [k + 0.27 * (i - 1) for k in range(len(_NAMES))]
            place.bar(places, [bars.get(form, 0) for form in _NAMES], 0.25, label=label)
        place.axhline(1, color="black", linewidth=0.8, linestyle=":")
        place.set_xticks(range(len(_NAMES)), _NAMES, rotation=20, fontsize=8)
        place.set_ylabel(f"{name}: {'rate per watt' if per_watt else 'rate'} over float64's")
        place.legend(fontsize=7)
    facts = data["device"]
    figure.suptitle(f"{facts['selected']}: {facts['facts']['name']}, {data['date']}", fontsize=10)
    figure.tight_layout()
    pictures.write(path, figure)


_NAMES = [name for parent, shorts in ONE_LIMB.items() for name in (parent, *shorts)]


def _bars(data: Row, name: str, per_watt: bool) -> dict[str, dict[str, float]]:
    """Bars by label and format: one for each size, and the paper's."""
    found = data["experiments"].get(name, {"rows": []})["rows"]
    series: dict[str, dict[str, float]] = {}
    for row in found:
        value = row["energy"]["gflops_per_watt"] if row.get("energy") else 0.0
        if not per_watt:
            value = row["operations_per_second"]
        if value and row["type"] in _NAMES:
            series.setdefault(f"n = {shape_text([row['n']])}", {})[row["type"]] = value
    series = {key: bars for key, bars in series.items() if "float64" in bars}
    if series:
        machine, there = theirs(data["device"]["facts"]["kind"], name)
        figure = "mflops_per_watt" if per_watt else "gflops"
        theirs_bars = {f: r[figure] for f, r in there.items() if f in _NAMES}
        series |= {f"the paper's {machine}": theirs_bars} if theirs_bars else {}
    return {k: {f: v / bars["float64"] for f, v in bars.items()} for k, bars in series.items()}
