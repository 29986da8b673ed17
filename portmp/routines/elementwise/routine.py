"""Elementwise operators, AXPY and SCAL, as one object."""

from typing import ClassVar

from portmp import formats
from portmp.backends.base import Device
from portmp.formats import Format
from portmp.networks.operators import ARITY, TESTS
from portmp.routines import base
from portmp.routines.elementwise import launch
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise.cases import cases
from portmp.routines.elementwise.schedule import FlatSchedule, flat
from portmp.routines.elementwise.work import Elementwise as Work
from portmp.routines.problem import Problem, Space, one_field, values
from portmp.routines.routine import Routine, Tuned, Units
from portmp.runtime.planes import Planes, allocate
from portmp.runtime.program import CompilationUnit
from portmp.schedules.database import Task

WITH_SCALAR = {"axpy": ("fma", 3), "scal": ("mul", 2)}
"""Routines that are an operator whose first operand is a scalar."""


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


class Elementwise(Routine):
    """out[i] = f(x[i], y[i], z[i])."""

    name = "elementwise"
    tuned: ClassVar[Tuned] = {"axpy": ("flat",)}
    work = (
        Work("axpy", "fma", 2),
        Work("scal", "mul", 1),
        Work("add", "add", 2),
        Work("mul", "mul", 2),
        Work("div", "div", 2),
        Work("sqrt", "sqrt", 1),
    )
    cases = staticmethod(cases)
    problem = staticmethod(flat_problem)

    def units(self, form: Format, device: Device | None) -> Units:
        """Each operator on dense operands; what asks for an order stands for all that compare."""
        schedule, threads = flat(form, device), base.threads(device, launch.THREADS)
        for op, arity in ARITY.items():
            asked = "less" if op == "compare" else op
            yield op, self._unit(form, asked, ("contiguous",) * arity, schedule, threads)
        for name, (op, arity) in WITH_SCALAR.items():
            access = ("value",) + ("contiguous",) * (arity - 1)
            yield name, self._unit(form, op, access, schedule, threads)

    def on_request(self, form: Format, device: Device | None) -> Units:
        """Norms, and the bounds that they give: of words alone."""
        if form.name != form.word:
            return
        sums, read = formats.norms(form.word)
        schedule, threads = flat(form, device), base.threads(device, launch.THREADS)
        yield "norms", self._unit(sums, "sqrt", ("contiguous",), schedule, threads)
        access = "strided", "strided", "value"
        fitted = launch.fitted(schedule, False, False, access, (1,), (), threads)
        yield "bounds_by_norms", (launch.kernel_spec(read.name, "fma", access, 2, fitted),)

    def _unit(
        self, form: Format, op: str, access: tuple[str, ...], schedule: FlatSchedule, threads: int
    ) -> CompilationUnit:
        fitted = launch.fitted(schedule, op in TESTS, form.coded, access, (1,), (), threads)
        return (launch.kernel_spec(form.name, op, access, 1, fitted),)

    def space(self, task: Task, schedule: FlatSchedule) -> Space:
        """Neighbours come without vectors."""
        return FLAT[schedule.elements_per_access > 1 :]
