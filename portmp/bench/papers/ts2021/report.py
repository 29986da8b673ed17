"""Results of the triple-single paper's experiments as JSON, as tables and as a picture."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from portmp.bench.papers.ts2021.experiments import BLOCKED, Bench
from portmp.bench.tables import (
    about,
    columns,
    duration,
    energy_lines,
    energy_table,
    number,
    origin,
    paper_of,
    quantity,
    sections,
)
from portmp.files import pictures
from portmp.routines import engines

SCHEMA = "portmp ts2021 bench 1"
Row = dict[str, Any]
Lines = list[str]

paper = partial(paper_of, "ts2021")


def report(bench: Bench, experiments: Mapping[str, Row], start: datetime.datetime) -> Row:
    """Everything of one run on a device."""
    device = bench.device
    return origin(SCHEMA, start) | about(device) | {
        "paper": paper(),
        "engines": {w: engines.get(device, "auto", w).name for w in ("int8", "float32", "float64")},
        "runs": bench.runs, "limit_seconds": bench.budget.seconds,
        "experiments": dict(experiments), "skipped": bench.skipped,
        "seconds": round(bench.budget.passed(), 3), **bench.observer.facts(),
    }  # fmt: skip


# --- tables ------------------------------------------------------------------------------


def table(data: Row) -> str:
    """All experiments of a report."""
    facts = data["device"]["facts"]
    used = ", ".join(f"{word} {name}" for word, name in data["engines"].items())
    lines = [
        f"{data['device']['selected']}: {facts['name']}, {facts['compute_units']} units, driver "
        f"{data['driver']}; products of matrices: {used}",
        f"paper: {data['paper']['source']}",
        *energy_lines(data),
    ]
    return "\n".join([*lines, *sections(data, _TABLES)])


def _blocked(found: Row) -> Lines:
    lines: Lines = []
    for blocks, names in BLOCKED.items():
        rates = {(r["format"], r["n"]): r for r in found["rows"] if r["blocks"] == blocks}
        sizes = sorted({n for _, n in rates})
        rows = [
            [str(n), *(
                quantity(rates[f, n]["operations_per_second"], "/s") if (f, n) in rates else "-"
                for f in names
            )]
            for n in sizes
        ]  # fmt: skip
        whose = "32 x 32 results a block" if blocks == "paper" else "portmp's schedules"
        title = f"blocked: operations of the format a second, {whose}"
        lines += columns(title, ("N", *names), rows, 1)
        energies = [
            ([str(n)], {f: rates[f, n].get("energy") for f in names if (f, n) in rates})
            for n in sizes
        ]
        lines += [*energy_table(f"blocked, {whose}", ("N",), names, energies), ""]
    heads = ("rate over rate, largest", *(f"{b} blocks" for b in BLOCKED), *paper()["ratios"])
    stated = {
        "ts_over_d+s": "ts_over_float64_formats", "ts_over_dd": "ts_over_float64_formats",
        "df_over_double": "df_over_double",
    }  # fmt: skip
    rows = [
        [name.replace("_", " "), *(number(found["ratios"][b][name]) for b in BLOCKED),
         *(number(device[key]) for device in paper()["ratios"].values())]
        for name, key in stated.items()
    ]  # fmt: skip
    return [*lines, *columns("ratios, beside the paper's", heads, rows, 1)]


def _split(found: Row) -> Lines:
    names = list(found["rows"][0]["seconds"]) if found["rows"] else []
    rows = [
        [str(r["n"]), duration(r["seconds"]["blocked"]),
         *(number(r["over_blocked"][name]) for name in names[1:])]
        for r in found["rows"]
    ]  # fmt: skip
    title = (
        "split: times over that of the paper's blocked product; 9 to 12: its slices "
        f"(the paper: {paper()['split_over_blocked']})"
    )
    energies = [([str(r["n"])], r.get("energy", {})) for r in found["rows"]]
    return [
        *columns(title, ("N", "blocked", *names[1:]), rows, 1),
        *energy_table("split", ("N",), names, energies),
    ]


def _accuracy(found: Row) -> Lines:
    names = list(found["rows"][0]["errors"]) if found["rows"] else []
    rows = [
        [str(r["n"]), r["fill"], *(number(r["errors"][name], 2) for name in names)]
        for r in found["rows"]
    ]
    stated = paper()["errors"]
    sizes = sorted({int(n) for by_size in stated.values() for n in by_size})
    rows += [
        [str(n), "paper", *(number(stated.get(name, {}).get(str(n)), 2) for name in names)]
        for n in sizes
    ]
    title = "accuracy: largest relative error of all elements, by how low limbs are filled"
    return columns(title, ("N", "filled", *names), rows, 2)


_TABLES: Mapping[str, Callable[[Row], Lines]] = {
    "blocked": _blocked, "split": _split, "accuracy": _accuracy,
}  # fmt: skip


# --- picture -----------------------------------------------------------------------------


def plot(path: Path, data: Row) -> None:
    """Rates, times and errors by order, as the paper's figures show them."""
    plt = pictures.pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(13, 9))
    found = data["experiments"]
    for place, blocks in zip(axes[0], BLOCKED, strict=True):
        rows = [r for r in found.get("blocked", {"rows": []})["rows"] if r["blocks"] == blocks]
        series: dict[str, list[tuple[int, float]]] = {}
        for r in rows:
            series.setdefault(r["format"], []).append((r["n"], r["operations_per_second"] / 1e9))
        _lines(place, series, f"G operations/s, {blocks} blocks")
    for place, name, of, label in (
        (axes[1][0], "split", "seconds", "seconds"),
        (axes[1][1], "accuracy", "errors", "largest relative error, all limbs filled"),
    ):
        series = {}
        for r in found.get(name, {"rows": []})["rows"]:
            for way, value in r[of].items() if r.get("fill", "full") == "full" else ():
                series.setdefault(way, []).append((r["n"], value))
        _lines(place, series, label)
    about = data["device"]
    figure.suptitle(f"{about['selected']}: {about['facts']['name']}, {data['date']}", fontsize=10)
    figure.tight_layout()
    pictures.write(path, figure)


def _lines(axes: Any, series: Mapping[str, list[tuple[int, float]]], label: str) -> None:
    for i, (name, points) in enumerate(series.items()):
        text = f"{name} slices" if name.isdigit() else name
        # There are ten colours.
        style = ("o-", "s--", "^:")[i // 10]
        axes.plot([x for x, _ in points], [y for _, y in points], style, markersize=3, label=text)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("N")
    axes.set_ylabel(label)
    if series:
        axes.legend(fontsize=7)
