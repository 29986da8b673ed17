"""Gravity by direct summation, as one object."""

from __future__ import annotations

from typing import ClassVar

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.gravity import launch, space
from portmp.routines.gravity.cases import cases
from portmp.routines.gravity.schedule import NbodySchedule, nbody
from portmp.routines.problem import Space
from portmp.routines.routine import ACCURATE, FAST, Routine, Tuned, Units
from portmp.schedules.database import Task

INEXACT = ("fast", "rsqrt", "division")
"""Roots that platforms have, apart from those that few have."""


class Gravity(Routine):
    """Accelerations and potentials of particles."""

    name = "nbody"
    tuned: ClassVar[Tuned] = {"nbody": ("all",)}
    cases = staticmethod(cases)
    problem = staticmethod(space.gravity_problem)

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
        return space.GRAVITY
