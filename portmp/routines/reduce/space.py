"""Schedules of reductions that a search tries, and the problems that it times."""

from portmp import definition
from portmp.backends.base import Device
from portmp.routines import base
from portmp.routines.problem import Group, Problem, Space, one_field, values
from portmp.routines.reduce import launch as reduce
from portmp.routines.reduce.schedule import Schedule
from portmp.runtime.planes import Planes, allocate
from portmp.runtime.program import CompilationUnit
from portmp.schedules.database import Task

_SIDE_BY_SIDE: Group = (
    ("elements_per_access", "teams", "rows", "unroll", "staged"),
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
REDUCE_PACKED: Space = (
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


SPACES: dict[str, Space] = {
    "blas/reduce.mako": REDUCE,
    "blas/reduce_staged.mako": REDUCE,
    "blas/reduce_packed.mako": REDUCE_PACKED,
    "blas/reduce_sweep.mako": SWEEP,
}
"""By the template that a schedule takes."""


def reduce_problem(task: Task, device: Device, checked: bool) -> Problem:
    """GEMV stands for what goes over many rows, DOT for what goes over one."""
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
    one, zero = base.scalar_limbs(beside, 1, "alpha"), base.scalar_limbs(beside, 0, "beta")

    def run(schedule: Schedule) -> Planes:
        return reduce.gemv(
            matrix, y, alpha=one, beta=zero, out=out, accuracy=task.accuracy, schedule=schedule
        )

    def units(schedule: Schedule) -> list[CompilationUnit]:
        s, chunks = reduce.fitted(schedule, matrix, y), -(-k // definition.CHUNK)
        names = beside.name, task.accuracy, form.name
        return [reduce.unit_for("dot", s, m, chunks, *names)]

    nbytes = m * k * form.itemsize + (k + m) * beside.itemsize
    return Problem({"m": m, "k": k}, 2 * m * k, nbytes, run, units)
