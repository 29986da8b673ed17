"""What may be tuned: for each routine the parameters of its schedules, and a problem to time.

A space is a list of groups: fields that are changed together, and their values. The
search changes one group at a time; what does not fit the definition, the device or its
registers is left out before anything is compiled.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.elementwise.space import FLAT, flat_problem
from portmp.routines.gemm.schedule import PanelSchedule
from portmp.routines.gemm.space import (
    COLUMNS,
    PANELS,
    THREADS,
    TILES,
    gemm_problem,
    turned,
)
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.routines.gravity.space import GRAVITY, gravity_problem
from portmp.routines.problem import Group, Problem, Space
from portmp.routines.reduce.schedule import ReduceSchedule, SweepSchedule
from portmp.routines.reduce.space import REDUCE, REDUCE_NEIGHBOURS, SWEEP, reduce_problem
from portmp.schedules import database
from portmp.schedules.base import Schedule
from portmp.schedules.database import Task


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
    return device.properties.kind != "gpu" or schedule.affordable(task.format)


def neighbours(task: Task, schedule: Schedule, group: Group, device: Device) -> Iterator[Schedule]:
    """The schedules that differ from *schedule* in one group of parameters and are allowed."""
    names, values = group
    for value in values:
        changes: dict[str, Any] = dict(zip(names, value, strict=True))
        changed = replace(schedule, **changes).consistent()  # type: ignore[type-var]
        if changed != schedule and allowed(task, changed, device):
            yield changed


def problem(task: Task, device: Device, checked: bool) -> Problem:
    """What is timed or, with *checked*, a small odd problem whose bits are compared."""
    makers = {
        "gemm": gemm_problem,
        "reduce": reduce_problem,
        "elementwise": flat_problem,
        "nbody": gravity_problem,
    }
    return makers[task.routine](task, device, checked)


def tasks(routines: list[str], forms: list[Format], accuracies: list[str]) -> list[Task]:
    """Every task of the routines and formats; one limb and elementwise have one accuracy."""
    found = []
    for form, routine in itertools.product(forms, routines):
        own = [a for a in accuracies if a == "accurate" or _has_fast(form, routine)]
        if routine == "nbody" and form.paper:
            continue
        for shape, accuracy in itertools.product(database.SHAPES[routine], own):
            found.append(Task(routine, form, accuracy, shape))
    return found


def _has_fast(form: Format, routine: str) -> bool:
    if routine == "nbody":
        return form.limbs == 1
    fast = form.accumulators.get("fast")
    return routine in ("gemm", "reduce") and fast is not None and bool(fast.suffix)
