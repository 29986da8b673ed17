"""Linear systems and least squares, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import ClassVar

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import Case
from portmp.routines.lu import launch, reference
from portmp.routines.routine import Routine
from portmp.runtime.program import CompilationUnit


class Lu(Routine):
    """x of a x = b by elimination with partial pivoting."""

    name = "lu"
    launch: ClassVar[ModuleType] = launch
    reference: ClassVar[ModuleType] = reference

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Its four kernels."""
        if not form.coded:
            yield "solve", (launch.kernel_spec(form.name, base.threads(device, launch.THREADS)),)

    def cases(self, form: Format) -> Iterator[Case]:
        """What ``portmp verify`` compares by digests."""
        if form.coded:
            return
        a, b = inputs.ordinary(form, (7, 7), "solve a"), inputs.ordinary(form, (7, 2), "solve b")
        yield Case("solve", "ordinary-7x2", form, (a, b), "linalg.solve", reference.solve)
        a, b = inputs.ordinary(form, (12, 4), "lstsq a"), inputs.ordinary(form, (12, 1), "lstsq b")
        yield Case("lstsq", "ordinary-12x4", form, (a, b), "linalg.lstsq", reference.lstsq)
