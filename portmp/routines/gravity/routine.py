"""Gravity by direct summation, as one object."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import Case
from portmp.routines.gravity import launch, reference
from portmp.routines.gravity.launch import squared
from portmp.routines.gravity.schedule import NbodySchedule, nbody
from portmp.routines.problem import Problem, Space, one_field, values
from portmp.routines.reference import Host
from portmp.routines.routine import ACCURATE, FAST, Routine, Tuned, Units
from portmp.runtime.planes import Planes, allocate
from portmp.runtime.program import CompilationUnit
from portmp.schedules.database import Task

INEXACT = ("fast", "rsqrt", "division")
"""Roots that platforms have, apart from those that few have."""


SOURCES = 1100
"""More than a slab of them."""


def cases(form: Format) -> Iterator[Case]:
    """The cases of a format; none of the papers' own and of storage formats."""
    if form.paper or form.coded:
        return
    mass = inputs.positive(form, (SOURCES,), "mass")
    plain = inputs.ordinary(form, (37, 3), "position")
    pairs = [np.concatenate([p[:20], p[:20]]) for p in plain]
    for name, position, eps in (
        ("ordinary-37", plain, "0.01"),
        ("hard-37", plain, 0),
        ("pairs-40", pairs, "0.01"),
        ("hard-pairs-40", pairs, 0),
    ):
        heavy = [m[: len(position[0])] for m in mass]
        yield _among(form, "nbody", "acceleration", name, position, heavy, eps)
    few = inputs.ordinary(form, (5, 3), "few")
    many = inputs.ordinary(form, (SOURCES, 3), "many")
    yield Case(
        "nbody",
        f"apart-5x{SOURCES}",
        form,
        (many, mass),
        "nbody.acceleration",
        lambda f, r, m: _sums(f, few, r, m, "1e-3", None)[0],
        {"eps": "1e-3", "targets": few},
    )
    light = [m[:37] for m in mass]
    yield _among(form, "nbody_potential", "potential", "ordinary-37", plain, light, "0.01")


def _among(
    form: Format, routine: str, what: str, name: str, position: Host, mass: Host, eps: Any
) -> Case:
    """What particles cause of themselves."""
    which = ("acceleration", "potential").index(what)
    return Case(
        routine,
        name,
        form,
        (position, mass),
        f"nbody.{what}",
        lambda f, r, m: _sums(f, r, r, m, eps, 0)[which],
        {"eps": eps},
    )


def _sums(
    form: Format, targets: Host, sources: Host, mass: Host, eps: Any, first: int | None
) -> list[Host]:
    return reference.gravity(form, targets, sources, mass, squared(eps, form), first)


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


def gravity_problem(task: Task, device: Device, checked: bool) -> Problem:
    """Enough targets for every compute unit; an interaction counts as 22 operations, as usual."""
    form, gpu = task.format, device.properties.kind == "gpu"
    n, m = (2**20, 2**14) if form.limbs == 1 else (2**17, 2**12)
    if checked or not gpu:
        n = m = 1061 if checked else 2**10
    bodies, out = values(form, (n, 4), device, 7), allocate(form, (n, 3), device.queue)
    position, sources = bodies.view((n, 3), (4, 1), 0), bodies.view((m, 4), (4, 1), 0)
    results = {"acceleration": out}
    if checked:
        results["potential"] = allocate(form, (n,), device.queue)
    eps2 = base.scalar_limbs(form, "0" if checked else "1e-4", "eps")
    root = "fast" if task.accuracy == "fast" else "exact"

    def run(schedule: NbodySchedule) -> Planes:
        launch.gravity_sum(position, sources, eps2, results, 0, root=root, schedule=schedule)
        return out

    def units(schedule: NbodySchedule) -> list[CompilationUnit]:
        return [launch.compilation_unit(form.name, schedule, ("acceleration",), root=root)]

    return Problem({"n": n, "m": m}, 22 * n * m, (6 * n + 4 * m) * form.itemsize, run, units)


class Gravity(Routine):
    """Accelerations and potentials of particles."""

    name = "nbody"
    tuned: ClassVar[Tuned] = {"nbody": ("all",)}
    cases = staticmethod(cases)
    problem = staticmethod(gravity_problem)

    def units(self, form: Format, device: Device | None) -> Units:
        """Accelerations; with potentials; with a block for each slab of sources; other roots."""
        if form.paper or form.coded:
            return
        schedule, force = nbody(form, device, ACCURATE), ("acceleration",)
        both = ("acceleration", "potential")
        yield "nbody", launch.compilation_unit(form.name, schedule, force)
        yield "nbody_field", launch.compilation_unit(form.name, schedule, both, guarded=True)
        threads, parts = base.threads(device, launch.COMBINE_THREADS), schedule.for_call(parts=True)
        yield "nbody_parts", launch.compilation_unit(form.name, parts, force, threads=threads)
        for root in INEXACT if form.limbs == 1 else ():
            if device is not None and not launch.has_root(form, device.platform, root):
                continue
            yield f"nbody_{root}", launch.compilation_unit(form.name, schedule, force, root=root)

    def accuracies(self, form: Format) -> tuple[str, ...]:
        """One limb may have an inexact root; the papers' formats have no gravity."""
        if form.paper:
            return ()
        return (ACCURATE, FAST) if form.limbs == 1 else (ACCURATE,)

    def space(self, task: Task, schedule: NbodySchedule) -> Space:
        """Threads, targets of a thread, tiles of sources."""
        return GRAVITY
