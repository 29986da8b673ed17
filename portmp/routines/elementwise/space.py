"""Schedules of elementwise kernels that a search tries, and the problem that it times."""

from __future__ import annotations

from portmp.backends.base import Device
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.problem import Problem, Space, one_field, values
from portmp.runtime.planes import Planes, allocate
from portmp.runtime.program import CompilationUnit
from portmp.schedules.database import Task

FLAT: Space = (
    one_field("width", 1, 2, 4, 8),
    one_field("threads", 1, 32, 64, 128, 256, 512, 1024),
    one_field("items", 1, 2, 4, 8, 16, 64, 256),
)


def flat_problem(task: Task, device: Device, checked: bool) -> Problem:
    """AXPY stands for all elementwise operators: two numbers read, one written."""
    form, gpu = task.format, device.properties.kind == "gpu"
    n = 10007 if checked else 2**26 if gpu else 2**21
    x, y = values(form, (n,), device, 5), values(form, (n,), device, 6)
    out = allocate(form, (n,), device.queue)
    alpha = base.scalar_limbs(form, "0.3", "alpha")

    def run(schedule: FlatSchedule) -> Planes:
        return elementwise.apply("fma", [alpha, x, y], out, schedule=schedule)

    def units(schedule: FlatSchedule) -> list[CompilationUnit]:
        access = ("value", "contiguous", "contiguous")
        return [(elementwise.kernel_spec(form.name, "fma", access, 1, schedule),)]

    return Problem({"n": n}, 2 * n, 3 * n * form.itemsize, run, units)
