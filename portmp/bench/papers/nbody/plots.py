"""A picture of the experiments on gravity: rates by size with the staircase, and the roots."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from portmp.bench.papers.nbody import model as nbody_paper
from portmp.files import pictures

Row = dict[str, Any]


def plot(path: Path, data: Row) -> None:
    """Rates by number of particles beside the model, bars of the roots beside the paper's."""
    plt = pictures.pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(14, 5))
    if "sizes" in data["experiments"]:
        _sizes(left, data["experiments"]["sizes"])
    if "roots" in data["experiments"]:
        _roots(right, data["experiments"]["roots"])
    about = data["device"]
    left.set_title(f"{about['selected']}: {about['facts']['name']}", fontsize=9)
    right.set_title(f"portmp {data['portmp']}, {data['date']}", fontsize=9)
    figure.tight_layout()
    pictures.write(path, figure)


def _sizes(axes: Any, found: Row) -> None:
    """Points that were measured, and the model as a line through the same range."""
    for series in found["series"]:
        rows = series["rows"]
        if not rows:
            continue
        numbers = [row["n"] for row in rows]
        (line,) = axes.plot(
            numbers, [row["flops_max"] for row in rows], "o",
            label=f"{series['format']} {series['root']}",
        )  # fmt: skip
        low, high = math.log2(numbers[0]), math.log2(numbers[-1])
        fine = [round(2 ** (low + (high - low) * i / 400)) for i in range(401)]
        top = max(row["flops_max"] for row in rows)
        model = [top * nbody_paper.staircase(n, series["at_once"]) for n in fine]
        axes.plot(fine, model, "-", linewidth=0.8, color=line.get_color(), label="model")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("particles")
    axes.set_ylabel("flop/s at 22 an interaction")
    axes.legend(fontsize=7)


def _roots(axes: Any, found: Row) -> None:
    """Rates over that of division, by root."""
    series: dict[str, dict[str, float]] = {r["format"]: {} for r in found["rows"]}
    for row in found["rows"]:
        series[row["format"]][row["root"]] = row["over_division"] or 0.0
    series |= {f"{name} (paper)": ratios for name, ratios in found["paper"].items()}
    roots = list(dict.fromkeys(root for ratios in series.values() for root in ratios))
    width = 0.8 / len(series)
    for i, (name, ratios) in enumerate(series.items()):
        places = [g + (i - (len(series) - 1) / 2) * width for g in range(len(roots))]
        axes.bar(places, [ratios.get(root, 0.0) for root in roots], width, label=name)
    axes.set_xticks(range(len(roots)), roots)
    axes.set_ylabel("rate over that of division")
    axes.legend(fontsize=7)
