"""The triple-single paper's experiments: blocked products, its splitting, and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

import portmp as mp
from portmp import formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import measure, values
from portmp.bench.energy import Observer
from portmp.bench.measure import Budget
from portmp.bench.session import Session
from portmp.errors import PortmpError
from portmp.formats import Format
from portmp.progress import Progress
from portmp.routines import split2021
from portmp.routines.gemm.schedule import GemmSchedule
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.runtime import planes

Row = dict[str, Any]
Work = Callable[[], Array]
T = TypeVar("T")

PAPER = split2021.FORMAT
SLICES = (9, 10, 11, 12)
BLOCKED_SIZES = tuple(2**e for e in range(5, 14))
SPLIT_SIZES = tuple(2**e for e in range(8, 13))
FILLS = (values.FULL, values.SHORT)
"""How entries get their limbs; the paper does not say which."""

BLOCK = GemmSchedule(threads_m=32, threads_n=32, thread_m=1, thread_n=1, tile_k=32, unroll=32)
"""The paper's: 32 x 32 results a block, one a thread, tiles in shared memory."""

BLOCKED = {
    "paper": (PAPER, "ds", "d+s", "dd", "float64"),
    "portmp": ("ts", "ds", "d+s", "dd", "float64"),
}
"""Formats that are compared, with the paper's blocks and with portmp's schedules."""

COMPILED = {"gpu": 512, "cpu": 256}
"""Orders, at most, whose schedules are new, so that kernels are compiled beside the work."""

REPEATED = 1024
"""The order of the blocks of matrices that are only multiplied for the time it takes."""

GROWTH = 8
"""Twice the order takes so many times as long."""

METHODS: Mapping[str, str | Ozaki1 | Ozaki2] = {
    "auto": "auto", "ozaki1": Ozaki1(), "ozaki2": Ozaki2(),
    "ozaki1 96 bits": Ozaki1(bits=96), "ozaki2 28 moduli": Ozaki2(moduli=28),
}  # fmt: skip
"""portmp's own ways beside its direct product."""


@dataclass
class Bench(Session):
    """One run on one device, with orders up to *largest*."""

    device: Device
    largest: int
    runs: int
    budget: Budget
    progress: Progress
    skipped: list[Row] = field(default_factory=list)
    observer: Observer = field(default_factory=lambda: Observer(None))
    _next: float = 0.0

    def forms(self, names: tuple[str, ...]) -> list[Format]:
        """Formats that the device can compute in."""
        found = [formats.get(name) for name in names]
        words = {"float32", "float64"} if self.device.properties.float64 else {"float32"}
        return [f for f in found if f.word in words]

    def seconds(self, work: Work) -> float:
        """The median of the runs of a call; compiling does not count as time passed."""
        start = self.budget.passed()
        work()
        self.device.queue.synchronize()
        first = self.budget.passed() - start
        found = measure.timed(self.device, work, self.runs)
        self.budget.leave_out(max(0.0, first - found.median))
        calls = found.runs * found.calls
        self._next += max(self.budget.passed() - start, GROWTH * found.median * calls)
        return found.median

    def once(self, work: Callable[[], T]) -> T:
        """What a call gives that takes eight times as long for the next order."""
        start = self.budget.passed()
        found = work()
        self._next += GROWTH * (self.budget.passed() - start)
        return found

    def sizes(self, experiment: str, sizes: tuple[int, ...]) -> Iterator[int]:
        """Orders that the time allows, by how long the last one took; the rest is skipped."""
        self._next = 0.0
        wanted = [n for n in sizes if n <= self.largest]
        for i, n in enumerate(wanted):
            if self.too_long(experiment, f"N = {', '.join(map(str, wanted[i:]))}", self._next):
                return
            self.progress.show(f"bench {self.device.name}: {experiment}, N = {n}")
            self._next = 0.0
            yield n


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


def _split(a: Array, b: Array, slices: int) -> Array:
    return Array(split2021.gemm(a.planes, b.planes, slices))


def blocked(bench: Bench) -> Row:
    """Rates of products in blocks, by format (experiments 1 and 2 of the paper)."""
    rows = []
    for n in bench.sizes("blocked", BLOCKED_SIZES):
        for blocks, names in BLOCKED.items():
            for form in bench.forms(names):
                work = _blocked(*factors(form, n, "full", bench.device, REPEATED), blocks)
                try:
                    seconds = bench.seconds(work)
                except PortmpError as error:
                    bench.skip("blocked", f"{form.name}, N = {n}, {blocks}", str(error))
                    continue
                with bench.budget.beside():
                    energy = bench.observer.part(work, 2 * n**3, seconds)
                rows.append({
                    "n": n, "blocks": blocks, "format": form.name, "seconds": seconds,
                    "operations_per_second": 2 * n**3 / seconds, **energy,
                })  # fmt: skip
    return {"rows": rows, "ratios": {name: ratios(rows, name) for name in BLOCKED}}


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
        "ts_over_d+s": largest(ts, "d+s"), "ts_over_dd": largest(ts, "dd"),
        "df_over_double": largest("ds", "float64"),
    }  # fmt: skip


def _ways(bench: Bench, n: int, fill: str) -> dict[str, Work]:
    """The triple-single products that are compared, by name."""
    a, b = factors(formats.get(PAPER), n, fill, bench.device)
    x, y = (mp.from_limbs(v.to_limbs(), "ts", bench.device) for v in (a, b))
    found: dict[str, Work] = {"blocked": partial(blas.gemm, a, b, schedule=BLOCK)}
    found |= {str(k): partial(_split, a, b, k) for k in SLICES}
    found["ts"] = partial(blas.gemm, x, y)
    if bench.device.properties.float64:
        found |= {name: partial(blas.gemm, x, y, method=m) for name, m in METHODS.items()}
    return found


def split(bench: Bench) -> Row:
    """Times of the paper's splitting with 9 to 12 slices, over its blocked product (3)."""
    rows = []
    for n in bench.sizes("split", SPLIT_SIZES):
        ways = _ways(bench, n, "full")
        times = {name: bench.seconds(work) for name, work in ways.items()}
        over = {name: t / times["blocked"] for name, t in times.items()}
        with bench.budget.beside():
            energy = bench.observer.parts(ways, 2 * n**3, times)
        rows.append({"n": n, "seconds": times, "over_blocked": over, **energy})
    return {"rows": rows}


def accuracy(bench: Bench) -> Row:
    """The largest relative errors of all n^2 elements, against quad-double (4)."""
    rows: list[Row] = []
    if not bench.device.properties.float64:
        bench.skip("accuracy", "all", f"{bench.device.name} has no float64")
        return {"rows": rows}
    for n in bench.sizes("accuracy", SPLIT_SIZES):
        for fill in FILLS:
            if n <= COMPILED[bench.device.properties.kind]:
                _errors(bench, n, fill)
            errors = bench.once(partial(_errors, bench, n, fill))
            rows.append({"n": n, "fill": fill, "errors": errors})
    return {"rows": rows}


def _errors(bench: Bench, n: int, fill: str) -> dict[str, float]:
    a, b = (x.astype("qd") for x in factors(formats.get(PAPER), n, fill, bench.device))
    # Three words of the sums are far more than errors need.
    exact = mp.from_limbs(blas.gemm(a, b).to_limbs()[:3], "td", bench.device)
    del a, b
    return {name: _error(work(), exact) for name, work in _ways(bench, n, fill).items()}


def _error(found: Array, exact: Array) -> float:
    return float(abs((found.astype("td") - exact) / exact).max().to_float64())


EXPERIMENTS: Mapping[str, Callable[[Bench], Row]] = {
    "blocked": blocked, "split": split, "accuracy": accuracy,
}  # fmt: skip
SHARES = {"blocked": 3, "split": 3, "accuracy": 4}
"""How the experiments share the time."""
