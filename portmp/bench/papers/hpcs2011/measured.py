"""AXPY, GEMV and GEMM in float64, double-double and quad-double: what is measured of each, and how.

A *way* is whose kernels run: the ``paper``'s (one thread a result, its blocks; on GPUs),
``portmp``'s, or the ``library`` of the device's vendor. All are checked against exact arithmetic.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial

from portmp import formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.bench import measure, roofline, runner
from portmp.bench.cases import ACCURATE, ROUTINES, Case
from portmp.bench.exact import Errors
from portmp.bench.experiment import Case as Measurement
from portmp.bench.experiment import paper_of
from portmp.bench.options import FULL, QUICK
from portmp.bench.peers import LIBRARY, BesideVendor, Subject
from portmp.bench.roofline import Ceilings
from portmp.bench.runner import Pool
from portmp.bench.tables import Row
from portmp.bench.values import values_of
from portmp.codegen import signature
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.gemm.schedule import GemmSchedule
from portmp.routines.work import ALPHA
from portmp.runtime import launch, planes

PAPER, PORTMP = "paper", "portmp"
ROUTINE_NAMES = ("axpy", "gemv", "gemm")
WITHOUT_FMA = "nofma"
ARITHMETIC = {
    "float64": (PORTMP, LIBRARY),
    "dd2011": (PAPER, PORTMP),
    "dd2011nofma": (PAPER, PORTMP),
    "dd": (PORTMP,),
    "qd2011": (PAPER, PORTMP),
    "qd2011nofma": (PAPER, PORTMP),
    "qd": (PORTMP,),
}
"""Formats, the paper's arithmetic by its year, and whose kernels run them."""
SWEPT = {"float64": (PORTMP, LIBRARY), "dd2011": (PAPER, PORTMP), "qd2011": (PAPER, PORTMP)}
"""What is measured by size, as in the paper's figures."""
SIZES: Mapping[str, Mapping[str, int]] = {
    FULL: paper_of("hpcs2011")["sizes"],
    QUICK: {"axpy": 1024000, "gemv": 2048, "gemm": 512},
}
USUAL = {"gpu": FULL, "cpu": QUICK}
LEAST = {"axpy": 2**14, "gemv": 128, "gemm": 64}
"""Sizes below which nothing is measured, however little time there is."""
GROWTH = {"axpy": 16, "gemv": 4, "gemm": 4}
LONG_ENOUGH = 2e-3
"""What is tried first grows so many times, up to a call of so many seconds."""
HOST = 50
"""So many times as long for a library on the host, whose threads wait for one another."""
LONGER = 4
"""Products of extended precision have so many times as much of the time as others."""
THREADS = 128
"""The paper's blocks of AXPY and GEMV; GEMM has 8 x 8 in DD and 16 x 16 in QD."""
EDGE = {2: 8, 4: 16}


@dataclass(frozen=True)
class Task:
    """A routine in a format at a size, by somebody's kernels."""

    routine: str
    form: Format
    way: str
    n: int

    @property
    def key(self) -> str:
        """What tells it from others that are timed by turns with it."""
        return f"{self.form.name}, {self.way}"

    @property
    def known(self) -> tuple[str, str, str]:
        """What its rate is known by."""
        return self.routine, self.form.name, self.way

    @property
    def case(self) -> Case:
        """What is checked. The paper's GEMV reads columns: a row of the transposed matrix."""
        name = "gemv-transposed" if (self.routine, self.way) == ("gemv", PAPER) else self.routine
        work = ROUTINES[name]
        return Case(work, self.form, ACCURATE, work.sized(self.n, "gpu")[0])

    def __str__(self) -> str:
        return f"{self.routine} {self.key}, N = {self.n}"


@dataclass
class Bench(BesideVendor):
    """One run on one device, at the *sizes* by routine."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    ceilings: Ceilings | None = None
    rates: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """Operations a second by routine, format and way, as far as they are known."""
    rates_of: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """The same as it was measured: what a CPU is compared with."""

    def limits(self) -> Ceilings:
        """The device's own rates, measured once, beside the limit of time."""
        if self.ceilings is None:
            self.progress.show(f"bench {self.device.name}: measuring the ceilings")
            rounds = 1 if self.budget.whole else roofline.ROUNDS
            with self.budget.beside():
                self.ceilings = roofline.measured(self.device, {"float64"}, rounds)
        return self.ceilings

    def affordable(
        self, experiment: str, tasks: Sequence[Task], parts: int, calls: int = measure.FEWEST + 2
    ) -> list[Task]:
        """Tasks at the largest size, halved as often as needed, that their share of time allows.

        None of them where so many *calls* of each at the least size are too many. How long they
        take follows from calls of small ones.
        """
        for task in tasks:
            if task.known not in self.rates:
                self.rates[task.known] = self._tried(task)
        first, found = tasks[0], list(tasks)
        left, least = self.budget.left(experiment, parts), LEAST[first.routine]

        def seconds() -> float:
            return calls * sum(t.case.operations / self.rates[t.known] for t in found)

        while seconds() > left and found[0].n > least:
            found = [replace(t, n=max(t.n // 2, least)) for t in found]
        if self.too_long(experiment, str(found[0]), seconds(), parts):
            return []
        if found[0].n < first.n:
            self.skip(experiment, str(first), f"time allows N = {found[0].n} (--seconds)")
        return found

    def _tried(self, task: Task) -> float:
        """Operations a second of the least size, or of one that is long enough to tell."""
        n = min(task.n, LEAST[task.routine])
        while True:
            small = replace(task, n=n)
            call, wait = called(self, small, {}), self.device.queue.synchronize
            with self.budget.beside():  # the first call compiles
                measure.once(call.work, wait)
                time.sleep(measure.REST if call.on_host else 0.0)
            seconds = measure.once(call.work, wait)
            if seconds > LONG_ENOUGH * (HOST if call.on_host else 1) or n == task.n:
                return small.case.operations / seconds
            n = min(task.n, GROWTH[task.routine] * n)


Pools = dict[tuple[Format, int], Pool]
"""Operands of a format, as many as a task reads: what several ways share."""


def prepared(bench: Bench, task: Task, pools: Pools | None = None) -> tuple[Subject, Errors]:
    """Make operands, call once and check the result; compiling takes no time of the limit."""
    call = called(bench, task, {} if pools is None else pools)
    with bench.budget.beside():
        call.work()
        bench.device.queue.synchronize()
    return call, call.errors()


def called(bench: Bench, task: Task, pools: Pools) -> Subject:
    """A task's call on operands that are on the device."""
    case = task.case
    key = task.form, case.starts[-1]
    if key not in pools:
        pools[key] = Pool(values_of(task.form), case.starts[-1], bench.device)
    pool = pools[key]
    if task.way == LIBRARY:
        assert bench.vendor
        return bench.vendor.routines[task.routine](pool, case)
    a, b = pool.inputs(case)
    shape = case.routine.result(case.shape)
    out = Array(planes.allocate(task.form, shape, bench.device.queue))
    usual = partial(case.routine.call, blas, (a, b), out, ACCURATE)
    work = _PAPERS[task.routine](a, b, out) if task.way == PAPER else usual
    return Subject(case, work, partial(runner.entry_of, out), partial(case.entry, pool.values))


# --- the paper's kernels ------------------------------------------------------------------------


def _axpy(x: Array, y: Array, out: Array) -> Callable[[], object]:
    words = base.scalar_limbs(x.format, ALPHA, "alpha")
    one = FlatSchedule(threads=base.threads(x.device, THREADS))
    operands = words, x.planes, y.planes
    return lambda: elementwise.apply("fma", operands, out.planes, schedule=one)


@cache
def gemv_spec(form: str, threads: int) -> KernelSpec:
    """The kernel of one thread a row."""
    f = formats.get(form)
    roles = f.accumulator(ACCURATE).networks
    return spec(
        "gemv_by_rows",
        "bench/gemv_by_rows.mako",
        f,
        {role: roles[role] for role in ("accumulate", "finish")},
        takes=[
            *(signature.Index(one) for one in "nk"),
            *(signature.Array(one) for one in "ax"),
            signature.Array("y", const=False, start=False),
        ],
        threads=threads,
    )


def _gemv(a: Array, x: Array, out: Array) -> Callable[[], object]:
    queue = a.planes.queue
    key = gemv_spec(a.format.name, base.threads(queue.device, THREADS))
    threads = dict(key.values)["threads"]
    k, n = a.shape
    given = {"n": n, "k": k, "a": a.planes, "x": x.planes, "y": out.planes}
    grid = base.blocks(n, threads), 1, 1
    return lambda: launch.run(queue, (key,), grid, (threads, 1, 1), given)


def _gemm(a: Array, b: Array, out: Array) -> Callable[[], object]:
    edge = EDGE[a.format.limbs]
    blocks = GemmSchedule(edge, edge, thread_m=1, thread_n=1, tile_k=edge, unroll=edge)
    return partial(blas.gemm, a, b, out=out, schedule=blocks)


_PAPERS: Mapping[str, Callable[[Array, Array, Array], Callable[[], object]]] = {
    "axpy": _axpy,
    "gemv": _gemv,
    "gemm": _gemm,
}


# --- measuring ------------------------------------------------------------------------------------


def tasks(
    bench: Bench, arithmetic: Mapping[str, Sequence[str]], share: Fraction = Fraction(1)
) -> Iterator[Task]:
    """Formats by routines by ways, as far as the device has them, at a *share* of the sizes."""
    for (name, ways), routine in itertools.product(arithmetic.items(), ROUTINE_NAMES):
        for way in ways:
            lacking = way == LIBRARY and bench.vendor is None
            if not lacking and not (way == PAPER and bench.kind == "cpu"):
                yield Task(routine, formats.get(name), way, int(bench.sizes[routine] * share))


def cases(bench: Bench) -> Iterator[Measurement]:
    """All tasks on this device."""
    if not bench.device.properties.float64:
        bench.skip("rates", "all", f"{bench.device.name} has no float64")
        return
    bench.limits()
    bench.budget.share_out(bench.budget.passed(), "rates")  # that took time of all
    yield from measurements(bench, "rates", list(tasks(bench, ARITHMETIC)))


def sweep(bench: Bench) -> Iterator[Measurement]:
    """The paper's formats at a quarter, a half and three quarters of the sizes: its figures."""
    if bench.device.properties.float64:
        bench.limits()
        shares = (Fraction(part, 4) for part in (1, 2, 3))
        found = [task for share in shares for task in tasks(bench, SWEPT, share)]
        yield from measurements(bench, "sweep", found)


def measurements(bench: Bench, experiment: str, wanted: Sequence[Task]) -> Iterator[Measurement]:
    """Tasks by turns: those of a routine and size in formats of as many limbs, beside float64.

    float64's own rows come last: it runs beside all others.
    """
    groups: dict[tuple[str, int, int], list[Task]] = {}
    for task in wanted:
        groups.setdefault((task.routine, task.n, task.form.limbs), []).append(task)
    ordered = sorted(groups.items(), key=lambda group: group[0][2] == 1)
    weights = [LONGER if r == "gemm" and limbs > 1 else 1 for (r, _, limbs), _ in ordered]
    for i, ((routine, n, _), mine) in enumerate(ordered):
        beside = [t for t in groups[routine, n, 1] if t not in mine]
        names = ", ".join(dict.fromkeys(t.form.name for t in mine))
        parts = max(1, sum(weights[i:]) // weights[i])
        yield Measurement(
            f"{routine} {names}, N = {n}",
            partial(_measured, bench, experiment, mine, beside, parts),
            parts=parts,
            memory=sum({t.form: t.case.memory for t in (*mine, *beside)}.values()),
        )


def _measured(
    bench: Bench, experiment: str, mine: Sequence[Task], beside: Sequence[Task], parts: int
) -> list[Row]:
    """Rows of tasks, timed by turns; none where not even the least size fits the time."""
    fitting = bench.affordable(experiment, [*mine, *beside], parts)
    if not fitting:
        return []
    return measured(bench, fitting, len(mine), bench.budget.left(experiment, parts))


def measured(bench: Bench, found: Sequence[Task], mine: int, left: float = math.inf) -> list[Row]:
    """Time tasks by turns; of the first few rates, shares of the peak and the floor, errors.

    Runs, but for the fewest that there are, take half the time that is *left* at most.

    Times over float64's of each way, and what fma gives, are medians of ratios within rounds.
    """
    pools: Pools = {}
    ready = {task.key: (task, *prepared(bench, task, pools)) for task in found}
    works = {key: call.work for key, (_, call, _) in ready.items()}
    on_host = [key for key, (_, call, _) in ready.items() if call.on_host]
    seconds = min(len(works) * measure.BUDGET[bench.kind], left / 2)
    rounds = measure.by_turns(bench.device, works, bench.runs, seconds, on_host)
    rows = []
    for key, (task, call, errors) in itertools.islice(ready.items(), mine):
        timing, limits = rounds.timing(key), bench.limits()
        rate = task.case.operations / timing.median
        without = f"{task.form.name}{WITHOUT_FMA}, {task.way}"
        row = {
            "routine": task.routine,
            "format": task.form.name,
            "way": task.way,
            "n": task.n,
            "seconds": timing.as_dict(),
            "operations_per_second": rate,
            "bytes_per_second": task.case.nbytes / timing.median,
            "peak_share": rate * flops(task.form) / 2 / (2 * limits.instructions["float64"]["fma"]),
            "error": errors.as_dict(),
            "clock_mhz": timing.clock_mhz,
            "over_float64": {
                t.way: rounds.faster(k, key) for k, (t, *_) in ready.items() if t.form.limbs == 1
            },
            **runner.bounded(task.case, {"seconds": timing.as_dict()}, limits),
        }
        if without in ready:
            row["gain"] = rounds.faster(key, without)
        if not call.on_host:
            row |= bench.energy(call.work, task.case.operations, timing.median)
        rows.append(row)
    return rows


def flops(form: Format) -> float:
    """Operations of float64 in a product and a sum, an fma counted as two: the paper's, or ours."""
    stated = paper_of("hpcs2011")["flops"].get(form.name)
    if stated is not None:
        return float(stated)
    cost = form.accumulator(ACCURATE).networks["accumulate"].cost
    return float(sum(cost.get(op, 0) for op in roofline.PIPES) + cost.get("fma", 0))
