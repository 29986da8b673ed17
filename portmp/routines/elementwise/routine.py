"""Elementwise operators, AXPY and SCAL, as one object."""

from __future__ import annotations

from typing import ClassVar

from portmp import formats
from portmp.backends.base import Device
from portmp.formats import Format
from portmp.networks.operators import ARITY, TESTS
from portmp.routines import base
from portmp.routines.elementwise import launch, space
from portmp.routines.elementwise.cases import cases
from portmp.routines.elementwise.schedule import FlatSchedule, flat
from portmp.routines.elementwise.work import Elementwise as Work
from portmp.routines.problem import Space
from portmp.routines.routine import Routine, Tuned, Units
from portmp.runtime.program import CompilationUnit
from portmp.schedules.database import Task

WITH_SCALAR = {"axpy": ("fma", 3), "scal": ("mul", 2)}
"""Routines that are an operator whose first operand is a scalar."""


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
    problem = staticmethod(space.flat_problem)

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
        return space.FLAT[schedule.elements_per_access > 1 :]
