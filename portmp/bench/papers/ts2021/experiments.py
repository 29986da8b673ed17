"""The triple-single paper's experiments: blocked products, its splitting, and errors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import portmp as mp
from portmp import formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import measure, options, plots, values
from portmp.bench.experiment import RATE, Case, Experiment, Family, Run, paper_of
from portmp.bench.measure import Timing
from portmp.bench.options import Request
from portmp.bench.tables import Column, Row, Table, duration, key, number
from portmp.errors import PortmpError
from portmp.formats import Format
from portmp.routines.gemm.schedule import GemmSchedule
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.routines.products import engines
from portmp.routines.split2021 import launch as split2021
from portmp.runtime import planes

Work = Callable[[], Array]

PAPER = split2021.FORMAT
SLICES, PAIRS = (9, 10, 11, 12), (3, 4)
"""The paper's slices, and those of two words each (DF), its future work."""
BLOCKED_SIZES = tuple(2**e for e in range(5, 14))
SPLIT_SIZES = tuple(2**e for e in range(8, 13))
FILLS = (values.FULL, values.SHORT)
"""How entries get their limbs; the paper does not say which."""

BLOCK = GemmSchedule(threads_m=32, threads_n=32, thread_m=1, thread_n=1, tile_k=32, unroll=32)
"""The paper's: 32 x 32 results a block, one a thread, tiles in shared memory."""

BLOCKED = {
    "paper": (PAPER, "ds", "d+s", "ddin96b", "dd", "float64"),
    "portmp": ("ts", "ds", "d+s", "ddin96b", "dd", "float64"),
}
"""Formats that are compared, with the paper's blocks and with portmp's schedules; D+I: ddin96b."""
ON_CPUS = {"portmp": (PAPER, "ts2021cpu", *BLOCKED["portmp"])}
"""The same on CPUs, where blocks of 1024 threads are no way to multiply; its CPU listing, too."""

STATED = {
    "ts_over_d+s": "ts_over_float64_formats",
    "ts_over_dd": "ts_over_float64_formats",
    "df_over_double": "df_over_double",
}
"""Ratios of their rates, and what the paper's data call them."""

COMPILED = {"gpu": 512, "cpu": 256}
"""Orders, at most, whose schedules are new, so that kernels are compiled beside the work."""

REPEATED = 1024
"""The order of the blocks of matrices that are only multiplied for the time it takes."""

GROWTH = 2.0, 8.0
"""Twice the order takes so many times as long, at least and at most."""

BYTES = 256
"""Memory for an entry of the matrices: limbs, slices of both, results in quad-double."""

METHODS: Mapping[str, str | Ozaki1 | Ozaki2] = {
    "auto": "auto",
    "ozaki2": Ozaki2(),
    "ozaki2 28 moduli": Ozaki2(moduli=28),
    "ozaki1": Ozaki1(),
    "ozaki1 96 bits": Ozaki1(bits=96),
}
"""portmp's own ways beside its direct product."""


@dataclass
class Bench(Run):
    """One run on one device, with orders up to *size*."""

    compiling: float = 0.0
    """Seconds of the last order that only its first call takes."""
    known: float = 0.0
    """Seconds that an earlier run tells of the last order."""
    over: dict[tuple[int, str], float] = field(default_factory=dict)
    """Times over the blocked product's, by order and way."""

    def timed(self, work: Work) -> Timing:
        """The runs of a call; how long compiling took says nothing of larger orders."""
        start = self.budget.passed()
        work()
        self.device.queue.synchronize()
        first = self.budget.passed() - start
        found = measure.timed(self.device, work, self.runs)
        self.compiled(max(0.0, first - found.median))
        return found

    def in_time(self, experiment: str, n: int, ways: Collection[str]) -> Iterator[str]:
        """The ways of an order, the first in any case, while the experiment's time is not over."""
        names = list(ways)
        for i, name in enumerate(names):
            if i and not self.budget.left(experiment):
                what = f"{', '.join(names[i:])}, N = {n}"
                limit = f"{self.budget.seconds:g} s (--seconds)"
                self.skip(experiment, what, f"its part of the limit of {limit} is over")
                return
            yield name

    def compiled(self, seconds: float) -> None:
        """Leave *seconds* out: of the limit, where compiling does not count, else of the order."""
        self.budget.leave_out(seconds)
        self.compiling += seconds if self.budget.whole else 0.0

    def orders(self, sizes: Sequence[int], act: Callable[[Bench, int], list[Row]]) -> Cases:
        """Orders that the time allows, twice as large each, to *size*; the rest is skipped.

        How long one takes follows from the last two.
        """
        wanted = [n for n in sizes if n <= (self.size or n)]
        while wanted and 2 * wanted[-1] <= (self.size or 0):
            wanted.append(2 * wanted[-1])
        took: list[float] = []
        for i, n in enumerate(wanted):
            last = took[-1] if took else 0.0
            grown = last / took[-2] if len(took) > 1 and took[-2] else sum(GROWTH) / 2
            expected = last * min(max(grown, GROWTH[0]), GROWTH[1])
            rest = f"N = {', '.join(map(str, wanted[i:]))}"
            start, self.compiling, self.known = self.budget.passed(), 0.0, 0.0
            act_ = partial(act, self, n)
            memory = BYTES * n * n
            yield Case(f"N = {n}", act_, expected, rest=rest, memory=memory, taken=self._taken)
            if self.short:
                return
            took.append(self.known or max(self.budget.passed() - start - self.compiling, 0.0))

    def _taken(self, rows: list[Row], seconds: float) -> None:
        """An order that was measured before tells how long the next one takes, too."""
        self.known = seconds


Cases = Iterator[Case]


def factors(
    form: Format, n: int, fill: str, device: Device, different: int = 0
) -> tuple[Array, Array]:
    """Two matrices; blocks of order *different* are repeated, by default none."""
    size = min(n, different or n)
    a, b = (
        [
            np.tile(limb, (n // size, n // size))
            for limb in values.lognormal(form, (size, size), fill, seed)
        ]
        for seed in (1, 2)
    )
    return Array(planes.upload(form, a, device.queue)), Array(planes.upload(form, b, device.queue))


def blocked(bench: Bench, n: int) -> list[Row]:
    """Rates of products in blocks, by format (experiments 1 and 2 of the paper)."""
    rows = []
    compared = BLOCKED if bench.kind == "gpu" else ON_CPUS
    works = {
        f"{form.name}, {blocks}": partial(_timed_block, bench, form, n, blocks)
        for blocks, names in compared.items()
        for form in filter(bench.computes, map(formats.get, names))
    }
    for name in bench.in_time("blocked", n, works):
        try:
            rows.append(works[name]())
        except PortmpError as error:  # a device may have no block of so many threads
            bench.skip("blocked", f"{name}, N = {n}", str(error))
    return rows


def _timed_block(bench: Bench, form: Format, n: int, blocks: str) -> Row:
    work = _blocked(*factors(form, n, "full", bench.device, REPEATED), blocks)
    timing = bench.timed(work)
    return {
        "n": n,
        "blocks": blocks,
        "format": form.name,
        "seconds": timing.as_dict(),
        "operations_per_second": 2 * n**3 / timing.median,
        **bench.energy(work, 2 * n**3, timing.median),
    }


def _blocked(a: Array, b: Array, blocks: str) -> Work:
    out = mp.zeros(a.shape, a.format, a.planes.device)
    return partial(blas.gemm, a, b, out=out, schedule=BLOCK if blocks == "paper" else None)


def ratios(rows: list[Row], blocks: str) -> Row:
    """Rates of TS over D+S and DD, and of DF over float64: the largest over all orders."""
    rates = {
        (r["format"], r["n"]): r["operations_per_second"] for r in rows if r["blocks"] == blocks
    }
    ts = BLOCKED[blocks][0]

    def largest(above: str, below: str) -> float | None:
        found = [
            rate / rates[below, n]
            for (f, n), rate in rates.items()
            if f == above and (below, n) in rates
        ]
        return max(found, default=None)

    return {
        "ts_over_d+s": largest(ts, "d+s"),
        "ts_over_dd": largest(ts, "dd"),
        "df_over_double": largest("ds", "float64"),
    }


def _ways(bench: Bench, n: int, fill: str) -> dict[str, Work]:
    """The triple-single products that are compared, by name."""
    a, b = factors(formats.get(PAPER), n, fill, bench.device)
    x, y = (mp.from_limbs(v.to_limbs(), "ts", bench.device) for v in (a, b))
    block = BLOCK if bench.kind == "gpu" else None
    found: dict[str, Work] = {"blocked": partial(blas.gemm, a, b, schedule=block)}
    found |= {str(k): partial(blas.split2021, a, b, k) for k in SLICES}
    found |= {f"{k} DF": partial(blas.split2021, a, b, k, words=2) for k in PAIRS}
    found["ts"] = partial(blas.gemm, x, y)
    if bench.device.properties.float64:
        found |= {name: partial(blas.gemm, x, y, method=m) for name, m in METHODS.items()}
    return found


def split(bench: Bench, n: int) -> list[Row]:
    """Times of the paper's splitting with 9 to 12 slices, over its blocked product (3)."""
    ways = _ways(bench, n, "full")
    times = {name: bench.timed(ways[name]) for name in bench.in_time("split", n, ways)}
    return [
        {
            "n": n,
            "way": name,
            "seconds": t.as_dict(),
            "over_blocked": t.median / times["blocked"].median,
            **bench.energy(ways[name], 2 * n**3, t.median),
        }
        for name, t in times.items()
    ]


def _kept(bench: Bench, rows: list[Row]) -> Row:
    """What the picture of errors takes from the experiment on times."""
    bench.over = {(r["n"], r["way"]): r["over_blocked"] for r in rows}
    return {}


def accuracy(bench: Bench) -> Cases:
    """The largest relative errors of all n^2 elements, against quad-double (4)."""
    if bench.device.properties.float64:
        yield from bench.orders(SPLIT_SIZES, _errors_of)
    else:
        bench.skip("accuracy", "all", f"{bench.device.name} has no float64")


def _errors_of(bench: Bench, n: int) -> list[Row]:
    rows: list[Row] = []
    for fill in FILLS:
        times: list[float] = []
        for _ in range(2 if n <= COMPILED[bench.kind] else 1):
            if times and not bench.budget.left("accuracy"):
                break
            start = bench.budget.passed()
            found = _errors(bench, n, fill)
            times.append(bench.budget.passed() - start)
        bench.compiled(max(0.0, times[0] - times[-1]))
        at = {"n": n, "fill": fill}
        rows += [
            {**at, "way": way, "relative_error": e, "over_blocked": bench.over.get((n, way))}
            for way, e in found.items()
        ]
    return rows


def _errors(bench: Bench, n: int, fill: str) -> dict[str, float]:
    a, b = (x.astype("qd") for x in factors(formats.get(PAPER), n, fill, bench.device))
    # Three words of the sums are far more than errors need.
    exact = mp.from_limbs(blas.gemm(a, b).to_limbs()[:3], "td", bench.device)
    del a, b
    ways = _ways(bench, n, fill)
    return {name: _error(ways[name](), exact) for name in bench.in_time("accuracy", n, ways)}


def _error(found: Array, exact: Array) -> float:
    return float(abs((found.astype("td") - exact) / exact).max().to_float64())


# --- tables and pictures ----------------------------------------------------------------------


def _blocked_tables(found: Row) -> Iterator[Table | str]:
    columns = (key("N", "n"), Column("format", "operations_per_second", "/s"))
    for blocks in dict.fromkeys(r["blocks"] for r in found["rows"]):
        rows = [r for r in found["rows"] if r["blocks"] == blocks]
        whose = "32 x 32 results a block" if blocks == "paper" else "portmp's schedules"
        title = f"blocked, {whose}: operations of the format a second"
        yield Table(title, columns, rows, pivot="format")
    theirs = paper_of("ts2021")["ratios"]
    heads = (
        key("rate over rate, largest", lambda r: r["ratio"].replace("_", " ")),
        *(Column(f"{b} blocks", b) for b in BLOCKED),
        *(Column(name, paper=f"{name}.{{stated}}") for name in theirs),
    )
    ratios = [
        {"ratio": name, "stated": stated, **{b: found["ratios"][b][name] for b in BLOCKED}}
        for name, stated in STATED.items()
    ]
    if found["rows"]:
        orders = [r["n"] for r in found["rows"]]
        over = f"N = {min(orders)} to {max(orders)}"
        title = f"ratios, the largest over {over}, beside the paper's, over 32 to 8192"
        yield Table(title, heads, ratios, theirs)


def _time(row: Row) -> str:
    """The blocked product's time, of others their times over it."""
    if row["way"] == "blocked":
        return duration(row["seconds"]["median"])
    return number(row["over_blocked"])


def _split_tables(found: Row) -> Iterator[Table | str]:
    title = (
        "split: times over that of the paper's product in blocks (its 32 x 32 on GPUs, on CPUs "
        "portmp's); 9 to 12: its slices; DF: slices of two words "
        f"(the paper: {paper_of('ts2021')['split_over_blocked']})"
    )
    columns = key("N", "n"), Column("way", _time, "words")
    yield Table(title, columns, found["rows"], pivot="way")


def _accuracy_tables(found: Row) -> Iterator[Table | str]:
    rows, stated = found["rows"], paper_of("ts2021")["errors"]
    theirs = [
        {"n": int(n), "fill": "paper", "way": way, "relative_error": by_size[n]}
        for way, by_size in stated.items()
        for n in by_size
    ]
    ways = {r["way"] for r in rows}
    beside = sorted((r for r in theirs if r["way"] in ways), key=lambda r: r["n"])
    columns = (key("N", "n"), key("filled", "fill"), Column("way", "relative_error", ".2g"))
    title = "accuracy: largest relative error of all elements, by how low limbs are filled"
    yield Table(title, columns, [*rows, *beside] if rows else [], pivot="way")


def _drawn(
    field: str, name: str, label: str, found: Row, across: str = "", **which: Any
) -> list[plots.Draw]:
    """Lines of a field by order, one for each *name*, of the rows that have *which*."""
    rows = [r for r in found["rows"] if all(r.get(k, v) == v for k, v in which.items())]

    def of(row: Row) -> str:
        return f"{row[name]} slices" if row[name].isdigit() else str(row[name])

    series = plots.grouped(rows, of, "over_blocked" if across else "n", field)
    across, base = across or "order N of the matrices", 10 if across else 2
    return [partial(plots.lines, series=series, across=across, up=label, base=base)]


def _draw_blocked(found: Row) -> Iterator[plots.Draw]:
    for b in BLOCKED:
        label = f"rate, {b} blocks (operations/s)"
        yield from _drawn("operations_per_second", "format", label, found, blocks=b)


def _draw_errors(found: Row) -> Iterator[plots.Draw]:
    """By order, and over time: the paper's slices beside residues, at the largest order."""
    up = "largest relative error, all limbs filled"
    yield from _drawn("relative_error", "way", up, found, fill="full")
    timed = {"rows": [r for r in found["rows"] if r.get("over_blocked")]}
    most = max((r["n"] for r in timed["rows"]), default=0)
    across = f"time over the paper's product in blocks, N = {most}"
    yield from _drawn("relative_error", "way", up, timed, across, fill="full", n=most)


class Ts2021(Family):
    """``portmp bench ts2021``: the experiments of the triple-single paper, on any device."""

    name = paper = "ts2021"
    run = Bench
    experiments = (
        Experiment(
            "blocked",
            lambda bench: bench.orders(BLOCKED_SIZES, blocked),
            (key("blocks"), key("N", "n"), key("format"), RATE),
            tables=_blocked_tables,
            share=3,
            drawings=_draw_blocked,
            found=lambda bench, rows: {"ratios": {name: ratios(rows, name) for name in BLOCKED}},
        ),
        Experiment(
            "split",
            lambda bench: bench.orders(SPLIT_SIZES, split),
            (key("N", "n"), key("way"), Column("seconds", "seconds.median", "s", compared=True)),
            tables=_split_tables,
            share=3,
            drawings=partial(_drawn, "seconds.median", "way", "time (s)"),
            found=_kept,
        ),
        Experiment(
            "accuracy",
            accuracy,
            (
                key("N", "n"),
                key("filled", "fill"),
                key("way"),
                Column("error", "relative_error", ".2g", compared=True),
            ),
            tables=_accuracy_tables,
            share=4,
            drawings=_draw_errors,
        ),
    )

    def check(self, request: Request) -> None:
        options.check_one_size(request.sizes, request.args.size, "order")
        options.check_least_size(request.sizes, BLOCKED_SIZES[0])

    def facts(self, run: Run) -> Row:
        words = "int8", "float32", "float64"
        return {"engines": {word: engines.get(run.device, "auto", word).name for word in words}}

    def first_line(self, part: Row) -> str:
        used = ", ".join(f"{word} {name}" for word, name in part["engines"].items())
        return f"; products of matrices: {used}"


FAMILY = Ts2021()
