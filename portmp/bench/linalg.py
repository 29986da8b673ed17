"""``portmp bench linalg``: factorisations, systems and spectra in every format, and their errors.

An error is what a matrix' factors make of right-hand sides, less what that should be, relative to
the largest element. float32 and float64 stand beside the device's library.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from portmp import formats
from portmp.bench import plots
from portmp.bench.options import Request
from portmp.bench.tables import Row
from portmp.bench.vendors import FACTORED, Vendors


def drawings(found: Row) -> Iterator[plots.Draw]:
    """Rates by order, a line for each routine and format."""
    points: dict[str, list[tuple[float, float]]] = {}
    for row in found["rows"]:
        if len(row["shape"]) == 2:
            point = float(row["shape"][0]), float(row["operations_per_second"])
            points.setdefault(f"{row['routine']} {row['format']}", []).append(point)
    up = "operations of the format (1/s)"
    yield partial(plots.lines, series=points, across="order", up=up)


FEW = 500
"""Matrices of a stack on CPUs."""


class Linalg(Vendors):
    """What ``portmp.linalg`` makes of matrices."""

    name = "linalg"
    calls = tuple(FACTORED)
    allowed = formats.STANDARD
    usual: Collection[str] = ("dd", "td", "float64")
    experiments = (replace(Vendors.experiments[0], name="linalg", drawings=drawings),)

    def check(self, request: Request) -> None:
        self.planned(request)

    def ready(self, run: Any, request: Request) -> None:
        super().ready(run, request)
        if run.kind == "cpu":
            run.planned = [
                (name, form, shape if len(shape) < 3 else (min(FEW, shape[0]), *shape[1:]))
                for name, form, shape in run.planned
            ]


FAMILY = Linalg()
