"""Schedules of GEMM that a search tries, and the products that it times."""

from portmp import definition
from portmp.backends.base import Device
from portmp.routines import base
from portmp.routines.gemm import launch as gemm
from portmp.routines.gemm.schedule import PanelSchedule, Schedule, UnitSchedule
from portmp.routines.problem import Problem, Space, one_field, values
from portmp.runtime.planes import Planes, allocate
from portmp.schedules.database import Task

THREADS = ((8, 8), (8, 16), (16, 8), (16, 16), (8, 32), (32, 8), (32, 16), (16, 32))
COLUMNS = ((16, 8), (32, 4), (32, 8), (64, 2), (64, 1), (64, 4), (128, 1), (128, 2), (256, 1))
_RESULTS = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 2), (2, 4), (4, 4), (8, 4), (4, 8), (8, 8))
TILES: Space = (
    (("thread_m", "thread_n"), _RESULTS),
    (("tile_k", "stages"), tuple((k, s) for k in (8, 16, 32) for s in (1, 2))),
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

UNITS: Space = (
    (
        ("warps_m", "warps_n", "warp_m", "warp_n"),
        (
            (2, 4, 64, 32),
            (4, 2, 32, 64),
            (2, 2, 64, 32),
            (2, 4, 32, 32),
            (2, 2, 32, 32),
            (2, 2, 16, 16),
        ),
    ),
    (("tile_k", "stages"), tuple((k, s) for k in (8, 16, 32) for s in (2, 3, 4, 5))),
    one_field("blocks", 1, 2, 3, 4),
    one_field("group", 4, 8, 16),
)


def of(task: Task, kind: str) -> Space:
    """The groups of parameters of schedules of a kind: threads side by side where few are rows."""
    if kind in _SPACES:
        return _SPACES[kind]
    side, _, _ = task.shape.partition("-")
    threads = {"columns": COLUMNS, "rows": tuple((n, m) for m, n in COLUMNS)}.get(side, THREADS)
    return ((("threads_m", "threads_n"), threads), *TILES)


_SPACES = {PanelSchedule.kind: PANELS, UnitSchedule.kind: UNITS}
"""Of kinds that are the same for all shapes."""

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
    """A square product, one with few columns or rows, or a batch of small ones."""
    form = task.format
    batch, m, n, k = _gemm_shape(task, device.properties.kind, checked)
    a = values(form, (batch, m, k), device, 1)
    b = values(form, (batch, k, n), device, 2)
    out = allocate(form, (batch, m, n), device.queue)
    one, zero = base.scalar_limbs(form, 1, "alpha"), base.scalar_limbs(form, 0, "beta")

    def fitted(schedule: Schedule) -> Schedule:
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
        lambda s: [gemm.compilation_unit(form.name, fitted(s), task.accuracy)],
    )
