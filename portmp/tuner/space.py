"""What may be tuned: for each routine the parameters of its schedules, and a problem to time.

A space is a list of groups: fields that are changed together, and their values. The
search changes one group at a time; what does not fit the definition, the device or its
registers is left out before anything is compiled.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines.problem import Group, Problem, Space
from portmp.routines.registry import ROUTINES
from portmp.schedules import database
from portmp.schedules.base import Schedule
from portmp.schedules.database import Task

NAMES = {
    name: (routine.name, shapes)
    for routine in ROUTINES.values()
    for name, shapes in routine.tuned.items()
}
"""What can be tuned, by the name that users know: the routine and the shapes of its tasks."""


def space(task: Task, schedule: Schedule) -> Space:
    """The groups of parameters of *task* about *schedule*: as many for all of its kind."""
    return ROUTINES[task.routine].space(task, schedule)


def problem(task: Task, device: Device, checked: bool) -> Problem:
    """What is timed or, with *checked*, a small odd problem whose bits are compared."""
    return ROUTINES[task.routine].problem(task, device, checked)


def allowed(task: Task, schedule: Schedule, device: Device) -> bool:
    """Whether a schedule fits the definition, the device and the registers of a GPU."""
    if not database.fits(schedule, task.format, device):
        return False
    return device.properties.kind != "gpu" or schedule.affordable(task.format)


def candidates(task: Task, schedule: Schedule, group: Group, device: Device) -> Iterator[Schedule]:
    """The schedules that differ from *schedule* in one group of parameters and are allowed."""
    names, values = group
    for value in values:
        changes: dict[str, Any] = dict(zip(names, value, strict=True))
        changed = replace(schedule, **changes).consistent()  # type: ignore[type-var]
        if changed != schedule and allowed(task, changed, device):
            yield changed


def tasks(
    routines: Iterable[str], forms: Iterable[Format], accuracies: Iterable[str]
) -> list[Task]:
    """Every task of the routines and formats, of the accuracies that differ there."""
    return [
        Task(routine, form, accuracy, shape)
        for form, routine in itertools.product(forms, routines)
        for shape, accuracy in itertools.product(
            database.SHAPES[routine],
            [a for a in ROUTINES[routine].accuracies(form) if a in accuracies],
        )
    ]
