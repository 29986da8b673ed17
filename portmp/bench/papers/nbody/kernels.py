"""Experiments with small kernels: cycles of each root, and a rendered against a plain kernel."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np

from portmp import formats, nbody, networks
from portmp.arrays.array import Array
from portmp.backends.base import Argument, Device
from portmp.bench import measure
from portmp.bench.experiment import Case
from portmp.bench.measure import summary
from portmp.bench.papers.nbody import model
from portmp.bench.papers.nbody.measured import EPS, Bench, roots_of, timed
from portmp.bench.tables import Row
from portmp.codegen import platform
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.render import RenderedSource
from portmp.codegen.signature import Flag, Plain, Scratch
from portmp.compilers import loops
from portmp.errors import BackendUnavailable
from portmp.formats import Format
from portmp.routines import base, ceilings
from portmp.routines.gravity import launch as gravity
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.runtime import launch, program
from portmp.runtime.planes import allocate, allocate_numbers

STEPS = 32
"""Operations of a chain that are written out."""
ITERATIONS = {"gpu": (64, 192), "cpu": (4000, 12000)}
"""Lengths of two chains: the difference is free of what surrounds them."""
FMA = "fma"
PLAIN, PLATFORMS = "plain_gravity.cu", ("cuda", "rocm")
"""The paper's final kernels as a plain program, to compare rendered ones with, and who takes it."""
PLAIN_SIZES = {"gpu": 2**20, "cpu": 2**10}


# --- cycles ----------------------------------------------------------------------------------


@cache
def chain_spec(form: str, op: str, threads: int) -> KernelSpec:
    """The kernel of one dependent chain of *op*: fma, or a kind of root."""
    f = formats.get(form)
    tail = "" if op == "exact" else f"_{op}"
    if op == "exact" and f.word == "float64":
        tail = "_double"
    roles = {} if op == FMA else {"root": networks.get(f"inverse_root{tail}")}
    takes = [
        *(Flag("iterations"), *(Plain(one, f.word) for one in ("start", "scale", "shift"))),
        *(Scratch("out", f.word), Scratch("cycles", "int64")),
    ]
    path = "bench/root_cycles.mako"
    return spec(f"{op}_chain", path, f, roles, takes=takes, steps=STEPS, threads=threads)


def cycles(bench: Bench) -> Iterator[Case]:
    """Cycles from an operation to the next one that needs its result, beside those of an fma.

    By the device's own clock where the platform has one; else times by the queue's marks,
    which give the same ratios.
    """
    for form in bench.forms:
        if form.limbs > 1:
            bench.skip("cycles", form.name, "has no inverse root of one word")
        else:
            yield Case(form.name, partial(_latencies, bench, form))


def _latencies(bench: Bench, form: Format) -> list[Row]:
    latencies: dict[str, tuple[float, float | None]] = {}
    for op in (FMA, *roots_of(form, bench.device)):
        bench.show("cycles", f"{form.name} {op}")
        latencies[op] = latency(bench, form, op)
    first = 1 if latencies[FMA][1] is not None else 0
    rows: list[Row] = []
    for op, found in latencies.items():
        one, fma = found[first], latencies[FMA][first]
        assert one is not None and fma is not None
        rows.append(
            {
                "format": form.name,
                "op": op,
                "seconds": found[0],
                "cycles": found[1],
                "over_fma": one / fma if fma > 0 else None,
            }
        )
    return rows


def clock(bench: Bench) -> Row:
    """By which clock cycles were counted, and the paper's."""
    paper = {n: d["cycles"] for n, d in model.devices().items() if "cycles" in d}
    return {"clock": platform.get(bench.device.platform).clock or None, "paper": paper}


def latency(bench: Bench, form: Format, op: str) -> tuple[float, float | None]:
    """Seconds and, by the device's clock, cycles of one step of a dependent chain of *op*."""
    device = bench.device
    threads = base.threads(device, device.properties.warp_size) if bench.kind == "gpu" else 1
    key = chain_spec(form.name, op, threads)
    clocked = bool(platform.get(device.platform).clock)
    short, long = (_chain(bench, form, key, threads, count) for count in ITERATIONS[bench.kind])
    more = STEPS * (ITERATIONS[bench.kind][1] - ITERATIONS[bench.kind][0])
    counted = (long[1] - short[1]) / more if clocked else None
    return (long[0] - short[0]) / more, counted


def _chain(
    bench: Bench, form: Format, key: KernelSpec, threads: int, iterations: int
) -> tuple[float, int]:
    """Least seconds and cycles of a chain."""
    device, queue = bench.device, bench.device.queue
    counter = allocate_numbers("int64", (1,), queue)
    counter.write_parts([np.zeros(1, np.int64)])
    given: dict[str, Any] = {"iterations": iterations, "start": 3.0, "scale": 0.5, "shift": 1.0}
    given |= {"out": allocate(formats.get(form.word), (1,), queue), "cycles": counter}

    def work() -> None:
        launch.run(queue, (key,), (1, 1, 1), (threads, 1, 1), given)

    least = min(ceilings.times(device, work, bench.runs))
    counts = []
    for _ in range(bench.runs):
        work()
        counts.append(int(counter.read_parts()[0][0]))
    return least, min(counts)


# --- rendered and plain ------------------------------------------------------------------------


def build(bench: Bench) -> Iterator[Case]:
    """Rendered kernels beside plain programs of the same algorithm, one compiler for both.

    These are the paper's final kernels for both of its GPUs. The rendered text is itself valid for
    the plain compiler, so there is no translation whose cost could be measured; what is compared is
    generated code with code written by hand.
    """
    device, form = bench.device, formats.get(model.FORMAT)
    if device.platform not in PLATFORMS:
        bench.skip("build", "all", f"there is no plain kernel for the platform {device.platform}")
        return
    finals = {name: final(name) for name in model.devices()}
    most = bench.size or PLAIN_SIZES[bench.kind]
    pairs = [(form, root) for root, _ in finals.values()]
    n = bench.size or bench.affordable("build", pairs, most)
    for i, (name, (root, s)) in enumerate(finals.items()):
        act = partial(_built, bench, name, form, root, n, s)
        expected = 2 * bench.expected(form, root, n)
        yield Case(f"{name}'s, N = {n}", act, expected, parts=len(finals) - i)


def final(name: str) -> tuple[str, NbodySchedule]:
    """The root of the paper's final kernel for a GPU, and the schedule that is nearest to it."""
    about = model.devices()[name]
    one = NbodySchedule(
        about["threads"], 1, 256, unroll=8, shared=about["shared"], ilp=about["ilp"]
    )
    return about["root"], one


def _built(bench: Bench, name: str, form: Format, root: str, n: int, s: NbodySchedule) -> list[Row]:
    device = bench.device
    s.check(form, device)
    text, kernel_name = plain_source(), f"plain_{name}"
    kernel = program.load(device, text)[kernel_name]
    position, mass, out = bench.bodies(form, n)
    result = Array(allocate(form, (n, 3), device.queue))
    bodies = gravity.packed(position.planes, mass.planes)
    args: list[Argument] = [n, *bodies.buffers, *nbody.squared(EPS, form), *result.planes.buffers]
    grid = base.blocks(n, s.threads)

    def plain() -> None:
        device.queue.launch(kernel, (grid, 1, 1), (s.threads, 1, 1), args)

    works = {"rendered": bench.work(form, root, n, s), "plain": plain}
    for work in works.values():
        work()
    rounds = measure.by_turns(device, works, bench.runs, bench.budget.left("build", 2))
    module = gravity.compilation_unit(form.name, s, ("acceleration",), root=root)
    texts = {"rendered": program.source(device, *module), "plain": text}
    times = {of: list(rounds.seconds[of]) for of in works}
    return [
        {
            "kernel": f"{name}'s, {of}",
            "n": n,
            "seconds": timed(times[of]),
            "spread": summary(times[of], 1).spread,
            "flops_median": model.flops(n, statistics.median(times[of])),
            "loop": _loop(device, texts[of], kernel_name),
            "over_rendered": rounds.faster(of, "rendered"),
            "difference": _difference(out, result),
            **bench.energy_of(work, n, times[of]),
        }
        for of, work in works.items()
    ]


def plain_source() -> RenderedSource:
    """The plain program's text."""
    text = resources.files("portmp").joinpath(f"data/{PLAIN}").read_text()
    names = tuple(f"plain_{name}" for name in model.devices())
    return RenderedSource(text, (None,) * len(text.splitlines()), names)


def _loop(device: Device, text: RenderedSource, name: str) -> dict[str, Any] | None:
    """What the innermost loop issues; None where the disassembler is missing.

    Both kernels read a source at once, for one target.
    """
    try:
        found = loops.hot_loops(device.platform, device.compile(text.text))
    except BackendUnavailable:
        return None
    loop = found.get(name) or next(iter(found.values()), None)
    return loop.with_reads(1).as_dict() if loop else None


def _difference(a: Array, b: Array) -> float:
    """The largest difference of components over the largest component."""
    x, y = (v.planes.view(v.shape, (3, 1), 0).read_dense()[0] for v in (a, b))
    return float(np.abs(x - y).max() / np.abs(x).max())
