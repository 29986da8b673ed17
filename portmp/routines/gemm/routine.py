"""GEMM by the format's own multiply-accumulate, as one object."""

from typing import ClassVar

from portmp import formats
from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.gemm import launch, schedule, space
from portmp.routines.gemm.cases import cases
from portmp.routines.gemm.work import Gemm as Work
from portmp.routines.problem import Space
from portmp.routines.routine import ACCURATE, Routine, Tuned, Units
from portmp.routines.work import summed
from portmp.runtime.program import CompilationUnit
from portmp.schedules.base import Schedule
from portmp.schedules.database import Task


class Gemm(Routine):
    """C = alpha A B + beta C."""

    name = "gemm"
    tuned: ClassVar[Tuned] = {"gemm": tuple(schedule.SHAPES)}
    work = (Work("gemm"), Work("gemm-narrow"), Work("gemm-batched"))
    cases = staticmethod(cases)
    accuracies = staticmethod(summed)
    problem = staticmethod(space.gemm_problem)

    def units(self, form: Format, device: Device | None) -> Units:
        """Products of large matrices; *split*: slabs of k to blocks of their own."""
        threads = base.threads(device, launch.COMBINE_THREADS)
        for accuracy, accumulator in form.accumulators.items():
            found = schedule.of_class(form, device, accuracy, "large")
            for name, chosen in (("gemm", found), ("gemm_split", found.for_call(split=True))):
                unit = launch.compilation_unit(form.name, chosen, accuracy, threads)
                yield name + accumulator.suffix, unit

    def on_request(self, form: Format, device: Device | None) -> Units:
        """Products that have a bound beside them, and those for tight ones."""
        if not formats.has_bounds(form):
            return
        threads = base.threads(device, launch.COMBINE_THREADS)

        def unit(accuracy: str, tight: bool = False) -> CompilationUnit:
            read, results = formats.with_bound(form, tight)
            computed = (formats.wider(form) if tight else None) or form
            found = schedule.of_class(computed.arithmetic, device, accuracy, "large")
            chosen = found.for_bounds(computed, results.accumulator(accuracy))
            return launch.compilation_unit(read.name, chosen, accuracy, threads, results.name)

        for accuracy, accumulator in formats.with_bound(form)[1].accumulators.items():
            yield f"gemm{accumulator.suffix}", unit(accuracy)
        if formats.wider(form) is not None:
            yield "gemm_tight", unit(ACCURATE, tight=True)

    def space(self, task: Task, schedule: Schedule) -> Space:
        """Tiles of a block, or panels of a CPU's work-item."""
        return space.of(task, schedule.kind)
