"""Pictures of results: lines and bars, each beside the others of a report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from portmp.bench.tables import Row, Rows, value_of
from portmp.files import pictures

Draw = Callable[[Any], object]
Points = Sequence[tuple[float, float]]


def draw(path: Path, drawings: Sequence[Draw], title: str) -> None:
    """All *drawings* in a picture, two beside each other."""
    plt = pictures.pyplot()
    columns = min(2, max(1, len(drawings)))
    lines = -(-max(1, len(drawings)) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(7.5 * columns, 4.5 * lines), squeeze=False)
    places = [place for line in axes for place in line]
    for place, drawing in zip(places, drawings, strict=False):
        drawing(place)
    for place in places[len(drawings) :]:
        place.set_axis_off()
    figure.suptitle(title, fontsize=10)
    figure.tight_layout()
    pictures.write(path, figure)


def hues() -> Any:
    """Twenty colours, a light one behind each dark one."""
    return pictures.pyplot().get_cmap("tab20")


def grouped(
    rows: Rows, name: Callable[[Row], str], x: str, y: str
) -> dict[str, list[tuple[float, float]]]:
    """Two fields of rows as points, by the rows' names."""
    points: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        points.setdefault(name(row), []).append((value_of(row, x), value_of(row, y)))
    return points


def curves(name: Callable[[Row], str], found: Row) -> Iterator[Draw]:
    """Rates of an experiment's rows by size, a picture for each routine."""
    for routine in dict.fromkeys(row["routine"] for row in found["rows"]):
        rows = [row for row in found["rows"] if row["routine"] == routine]
        series = grouped(rows, name, "n", "operations_per_second")
        up = f"{routine}: operations of the format a second"
        yield partial(lines, series=series, across="N", up=up)


def lines(
    axes: Any,
    series: Mapping[str, Points],
    across: str,
    up: str,
    base: int = 10,
    colours: Mapping[str, Any] | None = None,
) -> None:
    """Points by name, both axes logarithmic."""
    for i, (name, points) in enumerate(series.items()):
        # There are ten colours.
        style = ("o-", "s--", "^:")[0 if colours else i // 10 % 3]
        more = {"color": colours[name]} if colours else {}
        x, y = [x for x, _ in points], [y for _, y in points]
        axes.plot(x, y, style, markersize=4, label=name, **more)
    axes.set_xscale("log", base=base)
    axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    if series:
        axes.legend(fontsize=7, ncols=1 + len(series) // 8)


def bars(
    axes: Any,
    series: Mapping[str, Mapping[str, float]],
    across: str,
    up: str,
    line: float = 1.0,
    colours: Mapping[str, Any] | None = None,
    log: bool = False,
) -> None:
    """A group of bars for each name that the series have, in their order, and a line across."""
    pictures.bars(axes, series, colours, rotation=20, fontsize=8)
    axes.axhline(line, color="black", linewidth=0.8, linestyle=":")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    if log:
        axes.set_yscale("log")
    if series:
        axes.legend(fontsize=7, ncols=2)
