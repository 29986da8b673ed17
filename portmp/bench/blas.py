"""``portmp bench blas``: rates, shares of the floor and errors of the BLAS on devices."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from portmp.backends.base import Device
from portmp.bench import cases as blas
from portmp.bench import measure, options, peers, plots, roofline, runner
from portmp.bench.cases import ACCURATE, Case
from portmp.bench.energy import Observer
from portmp.bench.experiment import RATE, SHAPE, TIMES, Experiment, Family, Run, lacking, relative
from portmp.bench.experiment import Case as Measurement
from portmp.bench.options import ALL, Request, listed
from portmp.bench.roofline import Ceilings
from portmp.bench.runner import Pool
from portmp.bench.tables import Column, Row, Rows, key, quantity, shape_text
from portmp.bench.values import Values
from portmp.errors import OutOfMemory, choice
from portmp.formats import Format
from portmp.progress import Progress
from portmp.routines.work import Work

ACCURACIES = (blas.ACCURATE, blas.FAST, blas.BOTH)
SHARES = 4
"""A case may take so many times what an equal part of the time that is left would be."""
OVERHEAD = 0.3
"""Seconds of a case beside its runs, for the first estimate of a run's duration."""


# --- cases ------------------------------------------------------------------------------------


@dataclass
class Bench(Run):
    """One run on one device: its cases, and its ceilings, measured before them and after."""

    cases: Sequence[Case] = ()
    ceilings: Ceilings | None = None

    def measured_ceilings(self) -> Ceilings:
        """What the cases are compared with; once where everything counts as time."""
        words = {case.word for case in self.cases}
        rounds = 1 if self.budget.whole else roofline.ROUNDS
        return roofline.measured(self.device, words, rounds)


def _weight(case: Case, limits: Ceilings, runs: int, observer: Observer) -> float:
    """Seconds that a case takes if it reaches 70 % of its floor."""
    once = roofline.floor(case, limits).seconds / 0.7
    count = runs or measure.runs_of(once, measure.BUDGET[limits.kind])
    return OVERHEAD + once * (count + 2) + observer.duration(once)


def cases(run: Bench) -> Iterator[Measurement]:
    """All that were planned. Cases of a format share its inputs."""
    run.show("blas", "measuring the ceilings")
    run.ceilings = run.measured_ceilings()
    fitting = [case for case in run.cases if not lacking(case.memory, run.device)]
    for case in run.cases:
        if case not in fitting:
            yield _measurement(case, run, [case], {})
    weights = [_weight(case, run.ceilings, run.runs, run.observer) for case in fitting]
    start, measured, done = time.monotonic(), 0.0, 0
    for group in _groups(fitting):
        pools: dict[str, Pool] = {}
        for case in group:
            # What is to come takes as much longer than its weight as what was measured.
            slower = (time.monotonic() - start) / measured if measured else 1.0
            left = slower * sum(weights[done:])
            hint = f", {done}/{len(fitting)}, about {left:.0f} s left"
            found = _measurement(case, run, group, pools, hint)
            parts = max(1, (len(fitting) - done) // SHARES)
            yield replace(found, seconds=slower * weights[done], parts=parts)
            measured += 0.0 if run.short else weights[done]
            done += 1


def _measurement(
    case: Case, run: Bench, group: Sequence[Case], pools: dict[str, Pool], hint: str = ""
) -> Measurement:
    act = partial(_measured, run, case, group, pools)
    more = runner.key_of(case)
    return Measurement(named(more), act, memory=case.memory, more=more, hint=hint)


def _measured(run: Bench, case: Case, group: Sequence[Case], pools: dict[str, Pool]) -> list[Row]:
    """A case's row, but for its floor; its group's inputs are made once."""
    if "" not in pools:
        pools[""] = _largest_pool(group, run.device)
    return [runner.measured(run, pools[""], case)]


def _largest_pool(group: Sequence[Case], device: Device) -> Pool:
    """Inputs for as many of the cases as memory allows: a driver may give less than it has."""
    positive, form = group[0].routine.positive, group[0].form
    sizes = sorted({case.starts[-1] for case in group}, reverse=True)
    values = Values(form, positive)
    for size in sizes[:-1]:
        with contextlib.suppress(OutOfMemory):
            return Pool(values, size, device)
    return Pool(values, sizes[-1], device)


def _groups(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Cases that share inputs: one format, and all or none of them positive."""
    groups: dict[tuple[Format, bool], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.form, case.routine.positive), []).append(case)
    yield from groups.values()


def bounded(run: Bench, rows: list[Row]) -> Row:
    """Each row's floor and share, by the better of the ceilings before and after the cases."""
    assert run.ceilings
    if rows:
        run.show("blas", "measuring the ceilings")
        run.ceilings = run.ceilings.best(run.measured_ceilings())
    planned = {named(runner.key_of(case)): case for case in run.cases}
    for row in rows:
        row.update(runner.bounded(planned[named(row)], row, run.ceilings))
    return {}


# --- text and pictures ------------------------------------------------------------------------


def named(row: Row) -> str:
    """A case in words."""
    accuracy = "" if row["accuracy"] == ACCURATE else f" {row['accuracy']}"
    return f"{row['routine']} {row['format']}{accuracy} {shape_text(row['shape'])}"


def _scaled(row: Row) -> float | None:
    error = row["error"]
    return None if error["relative"] is None else error["scaled"]


COLUMNS = (
    *map(key, ("routine", "format", "accuracy")),
    SHAPE,
    *TIMES,
    RATE,
    Column("traffic", "bytes_per_second", "B/s"),
    Column("share", "share", "%", compared=True),
    Column("of the", "floor.bound", "text"),
    Column("error", relative, "words"),
    Column("in u^N T", _scaled, ".2g"),
)
_LEGEND = (
    "time: median of a call; spread: between the quartiles; rate: operations of the format;",
    "share: of the floor, by the ceilings of this run; error: largest of the sampled entries",
    "against exact arithmetic, relative and over u^N times the sum of the terms' magnitudes",
)
_ENERGY_LEGEND = (
    "GFLOP/s/W and J/op: operations as in the rate, while the case is repeated for two seconds,",
    "idle power included",
)


def series_name(row: Row) -> str:
    """A format, and that its sums are fast."""
    return f"{row['format']}{' fast' if row.get('accuracy') == 'fast' else ''}"


def largest(rows: Rows) -> dict[tuple[str, str], Row]:
    """Of each routine and series the row with most operations."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        name = row["routine"], series_name(row)
        if name not in found or row["operations"] > found[name]["operations"]:
            found[name] = row
    return found


def drawings(rows: Rows, share: str) -> Iterator[plots.Draw]:
    """Bars of shares by routine at its largest shape, and rates of gemm by size.

    A hue for each format, dark for accurate sums and light for fast ones. *share*: of what.
    """
    hues = plots.hues()
    forms = list(dict.fromkeys(r["format"] for r in rows))
    colours = {
        series_name(r): hues((2 * forms.index(r["format"]) + (series_name(r) != r["format"])) % 20)
        for r in rows
    }
    shares: dict[str, dict[str, float]] = {}
    for (routine, name), row in largest(rows).items():
        shares.setdefault(name, {})[routine] = 100 * row["share"]
    up = f"{share} (%)"
    yield partial(plots.bars, series=shares, across="routine", up=up, line=100, colours=colours)
    routines = [r["routine"] for r in rows]
    which = "gemm" if "gemm" in routines else routines[0]
    points: dict[str, list[tuple[float, float]]] = {}
    for r in sorted(rows, key=lambda r: r["operations"]):
        if r["routine"] == which:
            point = r["operations"], r["operations_per_second"]
            points.setdefault(series_name(r), []).append(point)
    yield partial(
        plots.lines,
        series=points,
        across=f"operations of one {which}",
        up="operations of the format (1/s)",
        colours=colours,
    )


# --- the family -------------------------------------------------------------------------------


def routines_of(text: str | None) -> list[Work]:
    """Routines by name; ``all``, or without names the usual ones."""
    if text == ALL:
        return list(blas.ROUTINES.values())
    return listed(text, blas.routine) or [blas.routine(name) for name in blas.USUAL_ROUTINES]


class Blas(Family):
    """The BLAS, on one device or several."""

    name = "blas"
    limits = None
    run = Bench
    experiments = (
        Experiment(
            *("blas", cases, COLUMNS),
            found=bounded,
            drawings=lambda found: drawings(found["rows"], "share of the floor"),
            label=named,
        ),
    )

    def command(self, args: Any) -> int:
        """Run it, or the comparison with vendors' libraries where that is asked for."""
        return options.family("vendors").command(args) if args.vendors else super().command(args)

    def check(self, request: Request) -> None:
        choice("--accuracy:", request.args.accuracy, ACCURACIES)
        self._plan(request, "cpu", True)

    def _plan(self, request: Request, kind: str, float64: bool) -> list[Case]:
        forms = request.forms or blas.usual_formats(float64)
        routines = routines_of(request.args.routine)
        return blas.plan(kind, routines, forms, request.args.accuracy, request.sizes)

    def ready(self, run: Bench, request: Request) -> None:
        run.cases = self._plan(request, run.kind, run.device.properties.float64)

    def facts(self, run: Bench) -> Row:
        return {"ceilings": run.ceilings.as_dict() if run.ceilings else None}

    def others(self, request: Request, devices: Sequence[Device], progress: Progress) -> list[Row]:
        if not request.args.peers:
            return []
        facts = [device.properties for device in devices]
        planned = [case for f in facts for case in self._plan(request, f.kind, f.float64)]
        return peers.run(planned, devices, request.runs, progress)

    def first_line(self, part: Row) -> str:
        found = part["experiments"].get("blas", {"rows": ()})
        clocks = sorted({r["clock_mhz"] for r in found["rows"] if r["clock_mhz"]})
        if not clocks:
            return ""
        seen = f"{clocks[0]:.0f}" + (f" to {clocks[-1]:.0f}" if len(clocks) > 1 else "")
        return f", {seen} MHz under load"

    def head(self, part: Row) -> list[str]:
        limits = part.get("ceilings")
        if not limits:
            return []
        texts = [
            f"{word} {op} {quantity(rate, '/s')}"
            for word, ops in limits["instructions_per_second"].items()
            for op, rate in ops.items()
        ]
        memory = limits["memory"]
        texts.append(f"{memory['by']} {quantity(memory['bytes_per_second'], 'B/s')}")
        return ["ceilings: " + ", ".join(texts)]

    def legend(self, data: Row) -> list[str]:
        rows = [r for p in data["devices"] for e in p["experiments"].values() for r in e["rows"]]
        return [*_LEGEND, *(_ENERGY_LEGEND if any(r.get("energy") for r in rows) else ())]


FAMILY = Blas()
