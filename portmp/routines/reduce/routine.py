"""DOT, GEMV, sums and extrema, as one object."""

from typing import ClassVar

from portmp import formats
from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines.problem import Space
from portmp.routines.reduce import launch, schedule, space
from portmp.routines.reduce.cases import cases
from portmp.routines.reduce.schedule import Schedule
from portmp.routines.reduce.work import Dot, Gemv
from portmp.routines.routine import ACCURATE, Routine, Tuned, Units
from portmp.routines.work import summed
from portmp.runtime.program import CompilationUnit
from portmp.schedules.database import Task


class Reduce(Routine):
    """alpha A x + beta y, and what is summed or chosen over rows."""

    name = "reduce"
    tuned: ClassVar[Tuned] = {"gemv": ("along", "across"), "dot": ("one", "short")}
    work = (Gemv("gemv"), Gemv("gemv-transposed"), Dot())
    cases = staticmethod(cases)
    accuracies = staticmethod(summed)
    problem = staticmethod(space.reduce_problem)

    def units(self, form: Format, device: Device | None) -> Units:
        """DOT and what else goes over one long row, and GEMV of a matrix read along its rows."""

        def unit(kind: str, shape: str, accuracy: str = ACCURATE) -> CompilationUnit:
            found = schedule.reduce(form, device, accuracy, shape)
            return launch.compilation_unit(form.name, kind, found, accuracy)

        for accuracy, accumulator in form.accumulators.items():
            yield f"dot{accumulator.suffix}", unit("dot", "one", accuracy)
            yield f"gemv{accumulator.suffix}", unit("dot", "along", accuracy)
        for name, kind in (("sum", "sum"), ("reduce_max", "max"), ("reduce_min", "min")):
            yield name, unit(kind, "one")

    def on_request(self, form: Format, device: Device | None) -> Units:
        """What combines several devices' chunks; DOT, GEMV and sums with bounds beside them, those
        for tight ones, and sums of squares.
        """
        one = schedule.reduce(form, device, ACCURATE, "one")
        yield "sum_combined", (launch.combining_unit(form.name, "sum", one),)
        if not formats.has_bounds(form):
            return
        if form.name == form.word:
            sums, read = formats.norms(form.word)
            for name, shape in (("squares", "along"), ("squares_across", "across")):
                found = schedule.reduce(form, device, ACCURATE, shape)
                yield name, launch.compilation_unit(sums.name, "sum", found, matrix=read.name)

        def bounded(kind: str, shape: str, accuracy: str, tight: bool = False) -> CompilationUnit:
            read, results = formats.with_bound(form, tight)
            computed = (formats.wider(form) if tight else None) or form
            found = schedule.reduce(computed, device, accuracy, shape)
            return launch.compilation_unit(read.name, kind, found, accuracy, out=results.name)

        kinds = {"dot": ("dot", "one"), "gemv": ("dot", "along"), "sum": ("sum", "one")}
        for name, how in kinds.items():
            for accuracy, accumulator in form.accumulators.items():
                if accuracy == ACCURATE or name != "sum":
                    yield f"{name}{accumulator.suffix}_bounded", bounded(*how, accuracy)
        if formats.wider(form) is not None:
            for name, how in kinds.items():
                yield f"{name}_tight", bounded(*how, ACCURATE, tight=True)

    def space(self, task: Task, schedule: Schedule) -> Space:
        """Teams of a block, sweeps of a CPU, and what holds neighbours."""
        return space.SPACES[schedule.template]
