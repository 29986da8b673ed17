"""What may be tuned: for each routine the parameters of its schedules, and a problem to time.

A space is a list of groups: fields that are changed together, and their values. The
search changes one group at a time; what does not fit the definition, the device or its
registers is left out before anything is compiled.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portmp import definition, inputs, tuning
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.planes import Planes, allocate, upload
from portmp.program import Module
from portmp.routines import base, elementwise, gemm, nbody, reduce
from portmp.schedules import (
    FlatSchedule,
    GemmSchedule,
    NbodySchedule,
    PanelSchedule,
    ReduceSchedule,
    Schedule,
    SweepSchedule,
)
from portmp.tuning import Task

REGISTERS, OF_A_THREAD = 65536, 255
"""32-bit registers of a compute unit and of a thread, as most GPUs have them."""

WRITTEN_OUT = 128
"""Interactions of one limb that a loop may write out; one of n limbs counts as n^3."""

DISTINCT = 2**20

Group = tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]
Space = tuple[Group, ...]


def one_field(name: str, *values: int) -> Group:
    return (name,), tuple((v,) for v in values)


THREADS = ((8, 8), (8, 16), (16, 8), (16, 16), (8, 32), (32, 8), (32, 16), (16, 32))
COLUMNS = ((16, 8), (32, 4), (32, 8), (64, 2), (64, 1), (64, 4), (128, 1), (128, 2), (256, 1))
_RESULTS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 2), (2, 4), (4, 4), (8, 4), (4, 8), (8, 8))
TILES: Space = (
    (("thread_m", "thread_n"), _RESULTS),
    (("tile_k", "stages"), tuple((k, s) for k in (8, 16, 32, 64) for s in (1, 2))),
    (("vector", "pad"), ((1, 0), (1, 1), (2, 0), (2, 2), (4, 0), (4, 4))),
    one_field("unroll", 1, 2, 4, 8, 16),
    one_field("blocks", 1, 2, 3, 4),
)
PANELS: Space = (
    (
        ("results_m", "results_n", "width"),
        tuple(
            (m, n, width)
            for m, n in ((1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (2, 2), (3, 2), (4, 2))
            for width in (1, 2, 4, 8)
            if m * n * width <= 32
        ),
    ),
    one_field("rows", 8, 16, 32, 64, 128),
)
_SIDE_BY_SIDE: Group = (
    ("neighbours", "teams", "rows", "unroll", "staged"),
    ((1, 1, 1, 4, 0), (1, 4, 1, 4, 0), (4, 8, 1, 4, 0), (4, 16, 1, 4, 16), (4, 16, 2, 4, 16)),
)
"""Starts with and without neighbours, whose other parameters have little in common."""
REDUCE: Space = (
    _SIDE_BY_SIDE,
    (("teams", "rows"), tuple((t, r) for t in (1, 2, 4, 8, 16, 32) for r in (1, 2, 4, 8))),
    (
        ("unroll", "staged"),
        ((1, 0), (2, 0), (4, 0), (8, 0), (12, 0), (16, 0), (4, 1), (4, 2), (4, 4), (4, 8)),
    ),
    one_field("combine_threads", 32, 64, 128, 256, 512, 1024),
)
REDUCE_NEIGHBOURS: Space = (
    *REDUCE[:2],
    (
        ("unroll", "staged"),
        ((2, 0), (4, 0), (8, 0), (16, 0), (2, 32), (4, 16), (4, 32), (4, 64), (8, 32)),
    ),
    REDUCE[3],
)
SWEEP: Space = (
    one_field("width", 1, 2, 4, 8),
    one_field("rows", 1, 2, 4, 8),
    one_field("unroll", 1, 2, 4, 8),
)
FLAT: Space = (
    one_field("width", 1, 2, 4, 8),
    one_field("threads", 1, 32, 64, 128, 256, 512, 1024),
    one_field("items", 1, 2, 4, 8, 16, 64, 256),
)
GRAVITY: Space = (
    one_field("width", 1, 2, 4, 8),
    (
        ("threads", "targets"),
        tuple((t, n) for t in (1, 32, 64, 128, 256, 512, 1024) for n in (1, 2, 3, 4, 6, 8)),
    ),
    (("tile", "shared"), tuple((t, s) for t in (32, 64, 128, 256) for s in (0, 1, 2))),
    (
        ("unroll", "ilp"),
        tuple((n, i) for n in (1, 2, 4, 8, 16, 32) for i in (1, 2, 4, 8) if n >= i),
    ),
    (("stages", "async_copy"), ((1, 0), (2, 0), (2, 1))),
)


def turned(pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return tuple((n, m) for m, n in pairs)


def space(task: Task, schedule: Schedule) -> Space:
    """The groups of parameters of *task* about *schedule*: as many for all of its kind."""
    if isinstance(schedule, PanelSchedule):
        return PANELS
    if isinstance(schedule, ReduceSchedule):
        return REDUCE if schedule.neighbours == 1 else REDUCE_NEIGHBOURS
    if isinstance(schedule, SweepSchedule):
        return SWEEP
    if isinstance(schedule, FlatSchedule):
        return FLAT[schedule.neighbours > 1 :]  # neighbours come without vectors
    if isinstance(schedule, NbodySchedule):
        return GRAVITY
    threads: tuple[tuple[int, ...], ...] = THREADS
    if task.shape.startswith("columns"):
        threads = COLUMNS
    elif task.shape.startswith("rows"):
        threads = turned(COLUMNS)
    return ((("threads_m", "threads_n"), threads), *TILES)


def allowed(task: Task, schedule: Schedule, device: Device) -> bool:
    """Whether a schedule fits the definition, the device and the registers of a GPU."""
    try:
        schedule.check(task.format, device)
    except ArgumentError:
        return False
    if isinstance(schedule, GemmSchedule) and device.properties.kind == "gpu":
        needed = schedule.registers(task.format)
        return needed <= OF_A_THREAD and needed * schedule.threads * schedule.blocks <= REGISTERS
    if isinstance(schedule, NbodySchedule) and device.properties.kind == "gpu":
        return schedule.targets * schedule.unroll * task.format.limbs**3 <= WRITTEN_OUT
    return True


def neighbours(task: Task, schedule: Schedule, group: Group, device: Device) -> Iterator[Schedule]:
    """The schedules that differ from *schedule* in one group of parameters and are allowed."""
    names, values = group
    for value in values:
        changes: dict[str, Any] = dict(zip(names, value, strict=True))
        changed = replace(schedule, **changes)
        if isinstance(changed, GemmSchedule):
            changed = changed.consistent()
        if changed != schedule and allowed(task, changed, device):
            yield changed


# --- problems --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Inputs of a task, ready on a device.

    ``run`` launches with a schedule and returns the output; ``operations`` are those of the
    format (2 a multiply-add, 1 an elementwise result), ``nbytes`` must move.
    """

    shape: dict[str, int]
    operations: int
    nbytes: int
    run: Callable[[Schedule], Planes]
    modules: Callable[[Schedule], list[Module]]


def values(form: Format, shape: tuple[int, ...], device: Device, seed: int) -> Planes:
    """Numbers with all limbs filled; long arrays repeat them."""
    host = inputs.ordinary(form, (min(math.prod(shape), DISTINCT),), f"tune {seed}")
    return upload(form, [np.resize(plane, shape) for plane in host], device.queue)


def problem(task: Task, device: Device, checked: bool) -> Problem:
    """What is timed or, with *checked*, a small odd problem whose bits are compared."""
    makers = {
        "gemm": gemm_problem,
        "reduce": reduce_problem,
        "elementwise": flat_problem,
        "nbody": gravity_problem,
    }
    return makers[task.routine](task, device, checked)


_SIZES = {"gpu": (2048, 4096, 4096, 1000), "cpu": (256, 1024, 512, 8)}
"""By kind of device: a square product, rows and depth of a narrow one, how many small ones."""


def _gemm_shape(task: Task, kind: str, checked: bool) -> tuple[int, int, int, int]:
    """Batch, m, n, k."""
    square, rows, depth, batch = _SIZES[kind]
    more = 0
    if checked:
        # Tiles with a rest; columns and steps that let threads read neighbours at once.
        square, rows, depth, batch, more = 261, 261, definition.SLAB + 76, 3, 3
        if kind == "cpu":
            square, rows = 69, 133
    side, _, width = task.shape.partition("-")
    if side == "columns":
        return 1, rows, int(width), depth
    if side == "rows":
        return 1, int(width), rows + more, depth
    if side == "small":
        return batch, 64, 64, 64
    return 1, square, square + more, depth if checked else square


def gemm_problem(task: Task, device: Device, checked: bool) -> Problem:
    form = task.format
    batch, m, n, k = _gemm_shape(task, device.properties.kind, checked)
    a = values(form, (batch, m, k), device, 1)
    b = values(form, (batch, k, n), device, 2)
    out = allocate(form, (batch, m, n), device.queue)
    one, zero = base.words(form, 1, "alpha"), base.words(form, 0, "beta")

    def fitted(schedule: Schedule) -> GemmSchedule | PanelSchedule:
        assert isinstance(schedule, (GemmSchedule, PanelSchedule))
        return gemm.fitted(gemm.shared_out(schedule, out), a, b)

    def run(schedule: Schedule) -> Planes:
        chosen = fitted(schedule)
        return gemm.gemm(
            a, b, alpha=one, beta=zero, out=out, accuracy=task.accuracy, schedule=chosen
        )

    return Problem(
        {"batch": batch, "m": m, "n": n, "k": k},
        2 * batch * m * n * k,
        batch * (m * k + k * n + m * n) * form.itemsize,
        run,
        lambda s: [gemm.module(form.name, fitted(s), task.accuracy)],
    )


def reduce_problem(task: Task, device: Device, checked: bool) -> Problem:
    form, gpu = task.format, device.properties.kind == "gpu"
    # Beside a matrix stored short, vectors have its parent's format.
    vectors = task.shape in ("one", "short")
    beside = form if vectors else form.arithmetic
    if checked:
        # Rows begin at multiples of four, so that neighbours are read at once.
        m, k = (1 if vectors else 77), 2 * definition.CHUNK + 77
    elif task.shape == "short":
        # In the middle of its sizes, by the time that a row of them takes.
        m, k = 1, reduce.SHORT * device.properties.compute_units * definition.CHUNK // 4
    elif task.shape == "one":
        m, k = 1, 2**26 if gpu else 2**21
    else:
        m = k = 2**14 if gpu else 2**11
    across = task.shape == "across"
    pitch = -(-k // 4) * 4
    x = values(form, (k, m) if across else (m, pitch), device, 3)
    matrix = x.transposed([1, 0]) if across else x.view((m, k), (pitch, 1), 0)
    y = values(beside, (k,), device, 4)
    out = allocate(beside, (m,), device.queue)
    one, zero = base.words(beside, 1, "alpha"), base.words(beside, 0, "beta")

    def run(schedule: Schedule) -> Planes:
        assert isinstance(schedule, (ReduceSchedule, SweepSchedule))
        return reduce.gemv(
            matrix, y, alpha=one, beta=zero, out=out, accuracy=task.accuracy, schedule=schedule
        )

    def modules(schedule: Schedule) -> list[Module]:
        assert isinstance(schedule, (ReduceSchedule, SweepSchedule))
        plan = reduce.planned(
            "dot", schedule, matrix.place, y.place, k, beside.name, task.accuracy, form.name
        )
        return [(plan.partial, plan.combine)]

    nbytes = m * k * form.itemsize + (k + m) * beside.itemsize
    return Problem({"m": m, "k": k}, 2 * m * k, nbytes, run, modules)


def flat_problem(task: Task, device: Device, checked: bool) -> Problem:
    """AXPY stands for all elementwise operators: two numbers read, one written."""
    form, gpu = task.format, device.properties.kind == "gpu"
    n = 10007 if checked else 2**26 if gpu else 2**21
    x, y = values(form, (n,), device, 5), values(form, (n,), device, 6)
    out = allocate(form, (n,), device.queue)
    alpha = base.words(form, "0.3", "alpha")

    def run(schedule: Schedule) -> Planes:
        assert isinstance(schedule, FlatSchedule)
        return elementwise.apply("fma", [alpha, x, y], out, schedule=schedule)

    def modules(schedule: Schedule) -> list[Module]:
        assert isinstance(schedule, FlatSchedule)
        access = ("value", "contiguous", "contiguous")
        return [(elementwise.kernel_spec(form.name, "fma", access, 1, schedule),)]

    return Problem({"n": n}, 2 * n, 3 * n * form.itemsize, run, modules)


def gravity_problem(task: Task, device: Device, checked: bool) -> Problem:
    """Enough targets for every compute unit; an interaction counts as 22 operations, as usual."""
    form, gpu = task.format, device.properties.kind == "gpu"
    n, m = (2**20, 2**14) if form.limbs == 1 else (2**17, 2**12)
    if checked or not gpu:
        n = m = 1061 if checked else 2**10
    bodies, out = values(form, (n, 4), device, 7), allocate(form, (n, 3), device.queue)
    position, sources = bodies.view((n, 3), (4, 1), 0), bodies.view((m, 4), (4, 1), 0)
    phi = allocate(form, (n,), device.queue) if checked else None
    eps2 = base.words(form, "0" if checked else "1e-4", "eps")
    root = "fast" if task.accuracy == "fast" else "exact"

    def run(schedule: Schedule) -> Planes:
        assert isinstance(schedule, NbodySchedule)
        nbody.gravity_sum(position, sources, eps2, out, phi, 0, root=root, schedule=schedule)
        return out

    def modules(schedule: Schedule) -> list[Module]:
        assert isinstance(schedule, NbodySchedule)
        return [nbody.module(form.name, schedule, ("acceleration",), root=root)]

    return Problem({"n": n, "m": m}, 22 * n * m, (6 * n + 4 * m) * form.itemsize, run, modules)


def tasks(routines: list[str], forms: list[Format], accuracies: list[str]) -> list[Task]:
    """Every task of the routines and formats; one limb and elementwise have one accuracy."""
    found = []
    for form, routine in itertools.product(forms, routines):
        own = [a for a in accuracies if a == "accurate" or _has_fast(form, routine)]
        if routine == "nbody" and form.paper:
            continue
        for shape, accuracy in itertools.product(tuning.SHAPES[routine], own):
            found.append(Task(routine, form, accuracy, shape))
    return found


def _has_fast(form: Format, routine: str) -> bool:
    if routine == "nbody":
        return form.limbs == 1
    fast = form.accumulators.get("fast")
    return routine in ("gemm", "reduce") and fast is not None and bool(fast.suffix)
