"""A picture of results: shares of the floor, and rates by size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from portmp.files import pictures

Row = dict[str, Any]


def plot(path: Path, data: Row) -> None:
    """A row for each device: bars of shares by routine and format, rates of gemm by size."""
    devices = [d for d in data["devices"] if d["results"]]
    plt = pictures.pyplot()
    figure, axes = plt.subplots(
        max(len(devices), 1), 2, figsize=(15, 4.5 * max(len(devices), 1)), squeeze=False
    )
    for (left, right), device in zip(axes, devices, strict=False):
        _shares(left, device["results"])
        _rates(right, device["results"])
        left.set_title(f"{device['selected']}: {device['facts']['name']}", fontsize=9)
        right.set_title(f"portmp {data['portmp']}, {data['date']}", fontsize=9)
    figure.tight_layout()
    pictures.write(path, figure)


def series(results: list[Row]) -> list[str]:
    """Formats and accuracies in the order of the results: ``dd``, ``dd fast``."""
    return list(dict.fromkeys(_series(r) for r in results))


def _series(result: Row) -> str:
    fast = " fast" if result["accuracy"] == "fast" else ""
    return f"{result['format']}{fast}"


def colours(results: list[Row]) -> dict[str, Any]:
    """A hue for each format, dark for accurate sums and light for fast ones."""
    hues = pictures.pyplot().get_cmap("tab20")
    forms = list(dict.fromkeys(r["format"] for r in results))
    return {
        _series(r): hues((2 * forms.index(r["format"]) + (r["accuracy"] == "fast")) % 20)
        for r in results
    }


def largest(results: list[Row]) -> dict[tuple[str, str], Row]:
    """Of each routine and series the result with the most operations."""
    found: dict[tuple[str, str], Row] = {}
    for result in results:
        key = (result["routine"], _series(result))
        if key not in found or result["operations"] > found[key]["operations"]:
            found[key] = result
    return found


def _shares(axes: Any, results: list[Row]) -> None:
    """Bars in per cent, a group for each routine, at its largest shape."""
    names, routines = series(results), list(dict.fromkeys(r["routine"] for r in results))
    best, colour = largest(results), colours(results)
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        places = [g + (i - (len(names) - 1) / 2) * width for g in range(len(routines))]
        shares = [100 * best[r, name]["share"] if (r, name) in best else 0 for r in routines]
        axes.bar(places, shares, width, label=name, color=colour[name])
    axes.axhline(100, color="black", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(routines)), routines, rotation=20, fontsize=8)
    axes.set_ylabel("share of the floor, %")
    axes.legend(fontsize=7, ncols=2)


def _rates(axes: Any, results: list[Row]) -> None:
    """Rates by operations of one routine: gemm, or the first that was run."""
    routines = dict.fromkeys(r["routine"] for r in results)
    which = "gemm" if "gemm" in routines else next(iter(routines))
    colour = colours(results)
    for name in series(results):
        points = sorted(
            (r["operations"], r["operations_per_second"])
            for r in results
            if r["routine"] == which and _series(r) == name
        )
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=name, color=colour[name])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"operations of one {which}")
    axes.set_ylabel("operations of the format a second")
    axes.legend(fontsize=7, ncols=2)
