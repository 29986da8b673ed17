"""Experiments of the N-body paper: roots, sizes, steps, copies and the bound by instructions."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from portmp import discovery, formats
from portmp.backends.base import Device, Queue
from portmp.bench import measure, options
from portmp.bench.experiment import Case, Experiment, Family
from portmp.bench.options import Request
from portmp.bench.papers.nbody import kernels, report, static
from portmp.bench.papers.nbody import model as nbody_paper
from portmp.bench.papers.nbody.measured import LARGEST, SMALLEST, Bench, roots_of, timed
from portmp.bench.tables import Row
from portmp.compilers import loops
from portmp.errors import ArgumentError, PortmpError
from portmp.formats import Format
from portmp.progress import Progress
from portmp.routines import base, ceilings
from portmp.routines.gravity import launch as gravity
from portmp.routines.gravity import reference, schedule
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.runtime import program

ROOT_SIZES = {"gpu": 2**22, "cpu": 2**13}
"""Particles for the comparison of roots: the paper's, where time allows."""
COPY_SIZES = {"gpu": range(3, 29), "cpu": range(3, 27)}
"""Exponents of copied bytes: the paper's begin with ten."""
STEP_THREADS = {("gpu", 32): 1024, ("gpu", 64): 256}
"""Threads of a block, by kind and warp size: the paper's on A100 and MI100."""
OTHER_THREADS = 256
ROUNDS, AROUND = 4, {"gpu": 4, "cpu": 2}
"""Steps of time are looked for after 1, 2, ... rounds of blocks, so many blocks below and above."""
VARIED_ROOTS = ("rsqrt", "rounded", "division", "fast")
VARIED = (0, 1, 2), (4, 2, 8, 16, 1), (256, 1024, 512, 128)
"""Where sources are read (global memory, a block's, a warp's), ILP, threads: what is tried."""
VARIANT_SECONDS = {"gpu": 0.05, "cpu": 0.05}
"""What a run of a variant takes, about."""
VARIANT_RUNS, BESIDE_VARIANT = 3, 8
"""Runs of a variant, and how many take as long as it with its warm-up and its compilation."""
SERIES = ("fast", "exact")
"""Roots whose rate is measured by size and put beside its bound."""
MODEL_SLOTS = {("float32", "fast"): 1, ("float32", "exact"): 8}
"""Instructions of a root where none can be read: one, or one and a residual step of seven."""
FROM_ANOTHER, AS_ANOTHER = "from another device", "within it, as another's"
_LONG = ("fma64", "add64", "mul64")
_BY_CODE = "instructions of the loop in machine code, as they take turns"


def roots(bench: Bench) -> Iterator[Case]:
    """Each root of each format at one number of particles."""
    pairs = [(form, root) for form in bench.forms for root in roots_of(form, bench.device)]
    most = ROOT_SIZES[bench.kind]
    bench.tried("roots", pairs)
    n = bench.size or bench.affordable("roots", pairs, most)
    if not bench.size and n < most:
        bench.skip("roots", f"N = {most}", f"time allows N = {n} (--seconds)")
    for i, (form, root) in enumerate(pairs):
        expected = bench.expected(form, root, n)
        yield _case(bench, form, root, n, seconds=expected, parts=len(pairs) - i)


def _case(bench: Bench, form: Format, root: str, n: int, **more: Any) -> Case:
    """A measurement of n particles."""
    return Case(f"{form.name} {root}, N = {n}", lambda: [bench.measure(form, root, n)], **more)


def over_division(bench: Bench, rows: list[Row]) -> Row:
    """Rates over that of a format's division."""
    base = {r["format"]: r["flops_max"] for r in rows if r["root"] == "division"}
    for row in rows:
        divided = base.get(row["format"])
        row["over_division"] = row["flops_max"] / divided if divided else None
    paper = {name: nbody_paper.ratios(name) for name in nbody_paper.devices()}
    return {"n": rows[0]["n"] if rows else bench.size, "paper": paper}


def sizes(bench: Bench) -> Iterator[Case]:
    """The rate by number of particles, doubled until time is over."""
    chosen = [
        (form, root)
        for form in bench.forms
        for root in SERIES
        if root in roots_of(form, bench.device)
    ]
    most = bench.size or LARGEST
    for i, (form, root) in enumerate(chosen):
        n, bench.short = min(SMALLEST, most), False
        while n <= most and not bench.short:
            # Larger ones are slower a step but not an interaction: the last rate is a lower bound.
            expected = bench.expected(form, root, n)
            rest = f"{form.name} {root}, N = {n} and more"
            yield _case(bench, form, root, n, seconds=expected, parts=len(chosen) - i, rest=rest)
            n *= 2


def staircases(bench: Bench, rows: list[Row]) -> Row:
    """Shares of each series' fastest, beside the model's and the paper's."""
    for form in bench.forms:
        for root in SERIES:
            series = [r for r in rows if (r["format"], r["root"]) == (form.name, root)]
            if series:
                _beside_the_model(bench, form, root, series)
    return {
        "paper": {
            name: {"at_once": nbody_paper.largest_at_once(name), "rows": about["sizes"]}
            for name, about in nbody_paper.devices().items()
        }
    }


def _beside_the_model(bench: Bench, form: Format, root: str, series: list[Row]) -> None:
    s = schedule.nbody(form, bench.device, "accurate" if root == "exact" else "fast")
    at_once = bench.device.properties.compute_units * s.threads * s.targets * s.width
    fastest = max(row["flops_max"] for row in series)
    for row in series:
        row["at_once"], row["share"] = at_once, row["flops_max"] / fastest
        row["model"] = nbody_paper.staircase(row["n"], at_once)


def step_schedule(bench: Bench) -> NbodySchedule:
    """One target a thread, the paper's threads a block, sources not cut up."""
    facts = bench.device.properties
    threads = STEP_THREADS.get((facts.kind, facts.warp_size), OTHER_THREADS)
    gpu = facts.kind == "gpu"
    return NbodySchedule(
        threads=base.threads(bench.device, threads),
        targets=1,
        tile=256 if gpu else 64,
        unroll=8 if gpu else 1,
        shared=int(gpu),
    )


def steps(bench: Bench) -> Iterator[Case]:
    """The time of a step just before and after one block more than the units take at once."""
    form = bench.forms[0]
    root = next(r for r in SERIES if r in roots_of(form, bench.device))
    s = step_schedule(bench)
    s.check(form, bench.device)
    at_once = bench.device.properties.compute_units * s.threads
    bench.beside = {"format": form.name, "root": root, "threads": s.threads, "at_once": at_once}
    for k in range(1, ROUNDS + 1):
        n = k * at_once
        blocks = _around(bench, n, s)
        seconds = len(blocks) * bench.expected(form, root, n + s.threads, s)
        act = partial(_step, bench, form, root, k, n, s)
        what = f"N = {n} and blocks around it"
        yield Case(what, act, seconds, rest=f"N = {n} and more")
        if bench.short:
            return


def _around(bench: Bench, n: int, s: NbodySchedule) -> list[int]:
    """Numbers of blocks above a step at *n* targets, from some below it."""
    most = max(0, min(AROUND[bench.kind], n // s.threads - 1))
    return list(range(-most, max(most, 1) + 1))


def _step(bench: Bench, form: Format, root: str, k: int, n: int, s: NbodySchedule) -> list[Row]:
    numbers = [n + blocks * s.threads for blocks in _around(bench, n, s)]
    found = {m: bench.measure(form, root, m, s) for m in numbers}
    before, after = found[n], found[n + s.threads]
    return [
        {
            "k": k,
            "before": _short(before),
            "after": _short(after),
            "around": [(m, row["seconds"]["least"]) for m, row in found.items()],
            "ratio": after["seconds"]["least"] / before["seconds"]["least"],
            "ideal": (k + 1) / k,
            "paper": {
                name: about["steps"][k - 1]["ratio"]
                for name, about in nbody_paper.devices().items()
                if form.name == nbody_paper.FORMAT
            },
        }
    ]


def _short(row: Row) -> Row:
    return {name: row[name] for name in ("n", "seconds", "flops_max")}


# --- variants ---------------------------------------------------------------------------------


def variants(bench: Bench) -> Iterator[Case]:
    """The search of the paper: roots, shared memory, ILP and threads of a block, one target each.

    What differs least from the first comes first, where time ends the search.
    """
    form = formats.get(nbody_paper.FORMAT)
    roots = [root for root in VARIED_ROOTS if root in roots_of(form, bench.device)]
    axes: tuple[Sequence[Any], ...] = (roots, *VARIED)
    found = list(itertools.product(*axes))
    found.sort(key=lambda one: sum(axis.index(v) > 0 for axis, v in zip(axes, one, strict=True)))
    each = VARIANT_SECONDS[bench.kind]
    n = SMALLEST
    while n < LARGEST and 4.0 * n**2 / bench.rate(form, roots[0]) < each:
        n *= 2
    bench.beside = {"n": n}
    refused = set()
    for i, (root, shared, ilp, threads) in enumerate(found):
        s = NbodySchedule(threads, 1, 256, unroll=max(ilp, 8), shared=shared, ilp=ilp)
        what = f"{root}, shared {shared}, ILP {ilp}, {threads} threads"
        try:
            s.check(form, bench.device)
        except PortmpError as error:
            if (shared, threads) not in refused:
                bench.skip("variants", what, str(error))
            refused.add((shared, threads))
            continue
        act = partial(_variant, bench, form, root, n, s)
        yield Case(what, act, BESIDE_VARIANT * each, rest=f"{what} and {len(found) - i - 1} more")
        if bench.short:
            return


def _variant(bench: Bench, form: Format, root: str, n: int, s: NbodySchedule) -> list[Row]:
    row = bench.measure(form, root, n, s, runs=min(bench.runs, VARIANT_RUNS))
    return [row | {"shared": s.shared, "ilp": s.ilp, "threads": s.threads}]


# --- copies -----------------------------------------------------------------------------------


def copies(bench: Bench) -> Iterator[Case]:
    """Bytes a second to, from and within the device, by size; medians of all runs.

    Copies to and from the host by the wall's clock, until they are done, with host memory as
    NumPy allocates it; by the device's own clock within it (there also by the driver's copy
    between devices, where it has one), and from a second one of its platform where there is one.
    """
    exponents = COPY_SIZES[bench.kind]
    queue = bench.device.queue
    largest = 2 ** exponents[-1]
    source, target = (bench.device.allocate(largest) for _ in range(2))
    other = _another(bench.device)
    bench.beside = {"another": other.name if other else None}
    afar = other.allocate(largest) if other else None
    host = np.zeros(largest, np.uint8)
    queue.write(source, host)
    last = 0.0

    def measure(nbytes: int) -> list[Row]:
        nonlocal last
        part = host[:nbytes]
        times = {
            "to the device": _walls(bench, partial(queue.write, source, part)),
            "from the device": _walls(bench, partial(queue.read, source, part)),
            "within the device": ceilings.times(
                bench.device, partial(queue.copy, target, source, nbytes), bench.runs
            ),
        }
        if type(queue).receive is not Queue.receive:
            times[AS_ANOTHER] = ceilings.times(
                bench.device, partial(queue.receive, target, queue, source, nbytes), bench.runs
            )
        if other and afar:
            times[FROM_ANOTHER] = ceilings.times(
                bench.device, partial(queue.receive, target, other.queue, afar, nbytes), bench.runs
            )
        last = sum(map(statistics.median, times.values()))
        return [
            {
                "way": way,
                "bytes": nbytes,
                "seconds": timed(found),
                "bytes_per_second": nbytes / statistics.median(found),
            }
            for way, found in times.items()
        ]

    for nbytes in (2**exponent for exponent in exponents):
        # Twice as many bytes take twice as long.
        expected = 2 * last * (bench.runs + 2)
        what = f"{nbytes} bytes"
        yield Case(what, partial(measure, nbytes), expected, rest=f"{what} and more")
        if bench.short:
            return


def _another(device: Device) -> Device | None:
    """A second GPU of the same platform."""
    gpus = (d for d in discovery.find(device.platform).devices if d.properties.kind == "gpu")
    return next(discovery.accepted(d for d in gpus if d.index != device.index), None)


def _walls(bench: Bench, copy: Callable[[], Any]) -> list[float]:
    """Wall times of copies, after a first one."""
    wait = bench.device.queue.synchronize
    return [measure.once(copy, wait) for _ in range(bench.runs + 1)][1:]


# --- the bound --------------------------------------------------------------------------------


def bound(bench: Bench) -> Iterator[Case]:
    """Rates beside what the measured rate of fmas allows, and by other ways of counting."""
    for form in bench.forms:
        for root in roots_of(form, bench.device) if form.limbs == 1 else ():
            if (form.name, root) in bench.best or root in SERIES:
                yield Case(f"{form.name} {root}", partial(_bounded, bench, form, root))
        if form.limbs > 1:
            bench.skip("bound", form.name, "the paper counts instructions of one word only")


def _bounded(bench: Bench, form: Format, root: str) -> list[Row]:
    what = f"{form.name} {root}"
    slots, source = _slots(bench, form, root)
    if slots is None:
        bench.skip("bound", what, source)
        return []
    if (form.name, root) not in bench.best:
        n = bench.affordable("bound", [(form, root)], ROOT_SIZES[bench.kind])
        if bench.too_long("bound", what, bench.expected(form, root, n)):
            return []
        bench.measure(form, root, n)
    reached = bench.best[form.name, root]
    most = bench.fma_rate("float32") / slots
    return [
        {
            "format": form.name,
            "root": root,
            "slots": slots,
            "slots_by": source,
            "interactions_per_second": reached,
            "bound": most,
            "share": reached / most,
            "flops": {str(count): count * reached for count in nbody_paper.COUNTS},
            "peak_share": nbody_paper.FLOP * reached / (2 * bench.fma_rate(form.word)),
        }
    ]


def _slots(bench: Bench, form: Format, root: str) -> tuple[float | None, str]:
    """Turns of float32 instructions that an interaction takes, and how they were found.

    An instruction of 64 bits takes as many as the measured rates of fmas say.
    """
    reason = "machine code of this platform is not read"
    if loops.readable(bench.device.platform):
        try:
            s = schedule.nbody(form, bench.device, "accurate" if root == "exact" else "fast")
            module = gravity.compilation_unit(form.name, s, ("acceleration",), root=root)
            binary = bench.device.compile(program.source(bench.device, *module).text)
            for loop in loops.hot_loops(bench.device.platform, binary).values():
                counted = loop.with_reads(static.reads(form.name, s))
                longer = bench.fma_rate("float32") / bench.fma_rate(form.word) - 1
                return counted.turns + longer * counted.each(*_LONG), _BY_CODE
            reason = "no loop with roots is found in the machine code"
        except PortmpError as error:
            reason = str(error)
    model = MODEL_SLOTS.get((form.name, root))
    if model is None:
        return None, f"{reason}, and there is no model of this root"
    return float(nbody_paper.PLAIN_SLOTS + model), f"model: {reason}"


# --- the experiments --------------------------------------------------------------------------


class Nbody(Family):
    """``portmp bench nbody``: experiments of a paper on direct N-body summation, on any device.

    What the time does not allow is skipped and listed with the reason. ``--static`` compiles
    only, and needs no device.
    """

    name = paper = "nbody"
    rule = "flops: 22 N^2 / t; interactions a second: N^2 / t"
    run = Bench
    runs = 10
    experiments = (
        Experiment(
            "cycles",
            kernels.cycles,
            report.CYCLES,
            tables=report.cycles,
            found=lambda bench, _: kernels.clock(bench),
        ),
        Experiment(
            "build",
            kernels.build,
            report.BUILD,
            "build: the paper's final kernels by hand and rendered ones, through one compiler; "
            "difference: the largest of results",
        ),
        Experiment("copies", copies, report.COPIES, tables=report.copies),
        Experiment(
            "steps", steps, report.STEPS, share=2, tables=report.steps, drawings=report.draw_steps
        ),
        Experiment(
            "roots",
            roots,
            report.ROOTS,
            "roots: N = {n}, the fastest of the runs; beside it the paper's table 3",
            share=6,
            found=over_division,
            drawings=report.draw_roots,
        ),
        Experiment(
            "sizes",
            sizes,
            report.SIZES,
            share=9,
            found=staircases,
            tables=report.sizes,
            drawings=report.draw_sizes,
        ),
        Experiment("variants", variants, report.VARIANTS, share=2, tables=report.variants),
        Experiment(
            "bound",
            bound,
            report.BOUND,
            share=3,
            tables=report.bound,
            found=lambda *_: {"counts": list(nbody_paper.COUNTS)},
        ),
    )

    @property
    def by_name(self) -> dict[str, Experiment]:
        return {**super().by_name, "static": _STATIC}

    def check(self, request: Request) -> None:
        args = request.args
        if args.static is None:
            options.check_one_size(request.sizes, args.size, "number of particles")
            for n in request.sizes:
                if not SMALLEST // 4 <= n <= LARGEST:
                    raise ArgumentError(
                        f"--size: {n} given, {SMALLEST // 4} to {LARGEST} is allowed"
                    )
            for form in request.forms:
                reference.steps(form)  # a paper's own format has no gravity
            return
        given = [name for name in _WITH_A_DEVICE if getattr(args, name) is not None]
        if given:
            raise ArgumentError(f"--{given[0]}: cannot be given with --static, which runs nothing")
        for name in options.listed(args.static, str):
            static.known(name)

    def ready(self, run: Bench, request: Request) -> None:
        run.forms = request.forms or [formats.get(DEFAULT_FORMAT)]
        run.asked = bool(request.runs)
        lacking = ", ".join(f.name for f in run.forms if not run.computes(f))
        if lacking:
            raise ArgumentError(f"--format: {lacking} given, {run.device.name} has no float64")

    def compiled(self, request: Request, progress: Progress) -> list[Row] | None:
        if request.args.static is None:
            return None
        names = options.listed(request.args.static, str)
        if not names:
            raise ArgumentError("--static: is empty; architectures are needed")
        return [static.report(name, progress) for name in names]

    def facts(self, run: Bench) -> Row:
        clock = {"nominal": run.device.properties.clock_mhz, "under_load": run.clock_mhz()}
        return {"clock_mhz": clock, "ceilings": {"instructions_per_second": run.ceilings}}

    def first_line(self, part: Row) -> str:
        clock = part["clock_mhz"]["under_load"]
        return f", {clock:.0f} MHz under load" if clock else ""

    def legend(self, data: Row) -> list[str]:
        compiled = any("static" in part["experiments"] for part in data["devices"])
        return list(report.STATIC_LEGEND) if compiled else []


_STATIC = Experiment("static", lambda _: (), report.STATIC, tables=report.static)
DEFAULT_FORMAT = "float32"
_WITH_A_DEVICE = ("device", "format", "experiment", "size", "seconds", "runs", "plot", "energy")
FAMILY = Nbody()
