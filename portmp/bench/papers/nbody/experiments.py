"""Experiments of the N-body paper: roots, sizes, steps, copies and the bound by instructions."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from portmp import discovery
from portmp.backends.base import Device
from portmp.bench.papers.nbody import model as nbody_paper
from portmp.bench.papers.nbody import static
from portmp.bench.papers.nbody.measured import LARGEST, SMALLEST, Bench, Row, roots_of, timed
from portmp.compilers import loops
from portmp.errors import ArgumentError, PortmpError
from portmp.formats import Format
from portmp.routines import ceilings, gravity
from portmp.routines.gravity import schedule
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.runtime import program

ROOT_SIZES = {"gpu": 2**22, "cpu": 2**13}
"""Particles for the comparison of roots: the paper's, where time allows."""
COPY_SIZES = {"gpu": range(10, 29), "cpu": range(10, 27)}
"""Exponents of copied bytes."""
STEP_THREADS = {("gpu", 32): 1024, ("gpu", 64): 256}
"""Threads of a block, by kind and warp size: the paper's on A100 and MI100."""
OTHER_THREADS = 256
ROUNDS = 4
"""Steps of time are looked for after 1, 2, ... rounds of blocks."""
SERIES = ("fast", "exact")
"""Roots whose rate is measured by size and put beside its bound."""
MODEL_SLOTS = {("float32", "fast"): 1, ("float32", "exact"): 8}
"""Instructions of a root where none can be read: one, or one and a residual step of seven."""
FROM_ANOTHER = "from another device"
_LONG = ("fma64", "add64", "mul64")
_BY_CODE = "instructions of the loop in machine code, as they take turns"


def roots(bench: Bench) -> Row:
    """Each root of each format at one number of particles, and its rate over division's."""
    pairs = [(form, root) for form in bench.forms for root in roots_of(form, bench.device)]
    most = ROOT_SIZES[bench.kind]
    n = bench.size or bench.affordable("roots", pairs, most)
    if not bench.size and n < most:
        bench.skip("roots", f"N = {most}", f"time allows N = {n} (--seconds)")
    rows = []
    for i, (form, root) in enumerate(pairs):
        bench.progress.show(f"roots: {form.name} {root}, N = {n}")
        what = f"{form.name} {root}, N = {n}"
        if not bench.too_long("roots", what, bench.expected(form, root, n), len(pairs) - i):
            rows.append(bench.measure(form, root, n))
    base = {r["format"]: r["flops_max"] for r in rows if r["root"] == "division"}
    for row in rows:
        divided = base.get(row["format"])
        row["over_division"] = row["flops_max"] / divided if divided else None
    paper = {name: nbody_paper.ratios(name) for name in nbody_paper.devices()}
    return {"n": n, "rows": rows, "paper": paper}


def sizes(bench: Bench) -> Row:
    """The rate by number of particles, doubled until time is over."""
    chosen = [
        (form, root)
        for form in bench.forms
        for root in SERIES
        if root in roots_of(form, bench.device)
    ]
    found = [_series(bench, *pair, len(chosen) - i) for i, pair in enumerate(chosen)]
    paper = {
        name: {"at_once": nbody_paper.largest_at_once(name), "rows": about["sizes"]}
        for name, about in nbody_paper.devices().items()
    }
    return {"series": found, "paper": paper}


def _series(bench: Bench, form: Format, root: str, parts: int) -> Row:
    s = schedule.nbody(form, bench.device, "accurate" if root == "exact" else "fast")
    at_once = bench.device.properties.compute_units * s.threads * s.targets * s.width
    rows: list[Row] = []
    most = bench.size or LARGEST
    n = min(SMALLEST, most)
    while n <= most:
        bench.progress.show(f"sizes: {form.name} {root}, N = {n}")
        what = f"{form.name} {root}, N = {n} and more"
        # Larger ones are slower a step but not an interaction: the last rate is a lower bound.
        if bench.too_long("sizes", what, bench.expected(form, root, n), parts):
            break
        rows.append(bench.measure(form, root, n))
        n *= 2
    fastest = max((row["flops_max"] for row in rows), default=0.0)
    for row in rows:
        row["share"] = row["flops_max"] / fastest
        row["model"] = nbody_paper.staircase(row["n"], at_once)
    return {"format": form.name, "root": root, "at_once": at_once, "rows": rows}


def step_schedule(bench: Bench) -> NbodySchedule:
    """One target a thread, the paper's threads a block, sources not cut up."""
    facts = bench.device.properties
    threads = STEP_THREADS.get((facts.kind, facts.warp_size), OTHER_THREADS)
    gpu = facts.kind == "gpu"
    return NbodySchedule(
        threads=min(threads, facts.max_threads), targets=1, tile=256 if gpu else 64,
        unroll=8 if gpu else 1, shared=int(gpu), parts=False,
    )  # fmt: skip


def steps(bench: Bench) -> Row:
    """The time of a step just before and after one block more than the units take at once."""
    form = bench.forms[0]
    root = next(r for r in SERIES if r in roots_of(form, bench.device))
    s = step_schedule(bench)
    s.check(form, bench.device)
    at_once = bench.device.properties.compute_units * s.threads
    rows: list[Row] = []
    for k in range(1, ROUNDS + 1):
        n = k * at_once
        bench.progress.show(f"steps: {form.name} {root}, N = {n} and {n + s.threads}")
        seconds = 2 * bench.expected(form, root, n + s.threads, s)
        if bench.too_long("steps", f"N = {n} and more", seconds):
            break
        before, after = (bench.measure(form, root, m, s) for m in (n, n + s.threads))
        rows.append({
            "k": k, "before": _short(before), "after": _short(after),
            "ratio": after["seconds"]["least"] / before["seconds"]["least"],
            "ideal": (k + 1) / k,
            "paper": {
                name: about["steps"][k - 1]["ratio"]
                for name, about in nbody_paper.devices().items()
            },
        })  # fmt: skip
    return {
        "format": form.name, "root": root, "threads": s.threads, "at_once": at_once, "rows": rows,
    }  # fmt: skip


def _short(row: Row) -> Row:
    return {name: row[name] for name in ("n", "seconds", "flops_max")}


# --- copies -----------------------------------------------------------------------------------


def copies(bench: Bench) -> Row:
    """Bytes a second to, from and within the device, by size; medians of all runs.

    Copies to and from the host by the wall's clock, until they are done, with host memory as
    NumPy allocates it; within the device, and from a second one of its platform where there
    is one, by its own clock.
    """
    exponents = COPY_SIZES[bench.kind]
    queue = bench.device.queue
    largest = 2 ** exponents[-1]
    source, target = (bench.device.allocate(largest) for _ in range(2))
    other = _another(bench.device)
    afar = other.allocate(largest) if other else None
    host = np.zeros(largest, np.uint8)
    queue.write(source, host)
    rows: list[Row] = []
    for exponent in exponents:
        nbytes = 2**exponent
        part = host[:nbytes]
        bench.progress.show(f"copies: {nbytes} bytes")
        if rows and bench.too_long("copies", f"{nbytes} bytes and more", _copy_time(rows, bench)):
            break
        times = {
            "to the device": _walls(bench, partial(queue.write, source, part)),
            "from the device": _walls(bench, partial(queue.read, source, part)),
            "within the device": ceilings.times(
                bench.device, partial(queue.copy, target, source, nbytes), bench.runs
            ),
        }
        if other and afar:
            times[FROM_ANOTHER] = ceilings.times(
                bench.device, partial(queue.receive, target, other.queue, afar, nbytes), bench.runs
            )
        rows += [
            {"way": way, "bytes": nbytes, "seconds": timed(found),
             "bytes_per_second": nbytes / statistics.median(found)}
            for way, found in times.items()
        ]  # fmt: skip
    return {"rows": rows, "another": other.name if other else None}


def _another(device: Device) -> Device | None:
    """A second GPU of the same platform."""
    others = (d for d in discovery.find(device.platform).devices if d.index != device.index)
    return next((d for d in others if d.properties.kind == "gpu"), None)


def _copy_time(rows: list[Row], bench: Bench) -> float:
    """Seconds that the next size will take: twice those of the last one."""
    same = (row for row in rows if row["bytes"] == rows[-1]["bytes"])
    last = sum(float(row["seconds"]["median"]) for row in same)
    return 2 * last * (bench.runs + 2)


def _walls(bench: Bench, copy: Callable[[], Any]) -> list[float]:
    """Wall times of copies, after a first one."""
    times = []
    for _ in range(bench.runs + 1):
        start = time.perf_counter()
        copy()
        bench.device.queue.synchronize()
        times.append(time.perf_counter() - start)
    return times[1:]


# --- the bound --------------------------------------------------------------------------------


def bound(bench: Bench) -> Row:
    """Rates beside what the measured rate of fmas allows, and by other ways of counting."""
    rows = []
    for form in bench.forms:
        for root in roots_of(form, bench.device) if form.limbs == 1 else ():
            if (form.name, root) in bench.best or root in SERIES:
                bench.progress.show(f"bound: {form.name} {root}")
                rows += _bounded(bench, form, root)
        if form.limbs > 1:
            bench.skip("bound", form.name, "the paper counts instructions of one word only")
    return {"rows": rows, "counts": list(nbody_paper.COUNTS)}


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
    return [{
        "format": form.name, "root": root, "slots": slots, "slots_by": source,
        "interactions_per_second": reached, "bound": most, "share": reached / most,
        "flops": {str(count): count * reached for count in nbody_paper.COUNTS},
        "peak_share": nbody_paper.FLOP * reached / (2 * bench.fma_rate(form.word)),
    }]  # fmt: skip


def _slots(bench: Bench, form: Format, root: str) -> tuple[float | None, str]:
    """Turns of float32 instructions that an interaction takes, and how they were found.

    An instruction of 64 bits takes as many as the measured rates of fmas say.
    """
    reason = "machine code of this platform is not read"
    if loops.readable(bench.device.platform):
        try:
            s = schedule.nbody(form, bench.device, "accurate" if root == "exact" else "fast")
            module = gravity.module(form.name, s, ("acceleration",), root=root)
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


def check_size(size: int | None) -> None:
    """ArgumentError for a number of particles outside of the range."""
    if size is not None and not SMALLEST // 4 <= size <= LARGEST:
        raise ArgumentError(f"--size: {size} given, {SMALLEST // 4} to {LARGEST} is allowed")
