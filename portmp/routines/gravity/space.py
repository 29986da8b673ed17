"""Schedules of gravity that a search tries, and the problem that it times."""

from __future__ import annotations

from portmp.backends.base import Device
from portmp.routines import base
from portmp.routines.gravity import launch as gravity
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.routines.problem import Problem, Space, one_field, values
from portmp.runtime.planes import Planes, allocate
from portmp.runtime.program import CompilationUnit
from portmp.schedules.database import Task

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
        gravity.gravity_sum(position, sources, eps2, results, 0, root=root, schedule=schedule)
        return out

    def units(schedule: NbodySchedule) -> list[CompilationUnit]:
        return [gravity.compilation_unit(form.name, schedule, ("acceleration",), root=root)]

    return Problem({"n": n, "m": m}, 22 * n * m, (6 * n + 4 * m) * form.itemsize, run, units)
