"""A short search for faster schedules, as an experiment: what ``portmp bench all --tune`` adds."""

from collections.abc import Iterator
from functools import partial

from portmp import formats
from portmp.bench.experiment import RATE, Case, Experiment, Family, Run
from portmp.bench.tables import Column, Row, key
from portmp.errors import ArgumentError
from portmp.schedules import base as schedules
from portmp.schedules import database
from portmp.schedules.database import Task
from portmp.tuner import search, space

ROUTINES = ("gemm", "gemv", "dot")
FORMATS = ("dd", "qd", "ds")
PASSES = 1


def cases(run: Run) -> Iterator[Case]:
    """The usual shapes of a few routines; the results are kept as ``portmp tune`` keeps them."""
    target = database.user_file()
    if target is None:
        run.skip("schedules", "all", "no folder for the results: set PORTMP_CONFIG_DIR")
        return
    usable = list(filter(run.computes, map(formats.get, FORMATS)))
    found: list[Task] = []
    for name in ROUTINES:
        routine, shapes = space.NAMES[name]
        found += [
            task for task in space.tasks([routine], usable, ["accurate"]) if task.shape == shapes[0]
        ]
    for i, task in enumerate(found):
        yield Case(str(task), partial(_searched, run, task, len(found) - i))


def _searched(run: Run, task: Task, parts: int) -> list[Row]:
    target = database.user_file()
    assert target
    device, seconds = run.device, max(1.0, run.budget.left("schedules", parts))
    found = search.TaskSearch(task, device, search.Journal(device), None, seconds).run(
        PASSES, lambda text: run.show("schedules", text)
    )
    if found.is_wrong:
        raise ArgumentError(f"{task}: {found.errors[0]}")
    database.store([search.entry(found, device)], target)
    database.reload()
    return [
        {
            "routine": task.routine,
            "format": task.format.name,
            "shape": task.shape,
            "seconds": {"median": found.seconds},
            "operations_per_second": found.rate,
            "times_default": found.gain,
            "tried": found.tried,
            "schedule": schedules.as_data(found.schedule),
        }
    ]


class Tune(Family):
    """Schedules, as far as time allows."""

    name = "tune"
    limits = None
    experiments = (
        Experiment(
            "schedules",
            cases,
            (
                *map(key, ("routine", "format", "shape")),
                Column("tried", "tried", ".0f"),
                RATE,
                Column("x default", "times_default"),
            ),
            "schedules: what a short search found; later cases take them",
        ),
    )


FAMILY = Tune()
