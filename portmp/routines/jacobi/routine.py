"""Jacobi's method, as one object."""

from collections.abc import Iterator

from portmp import definition
from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines.jacobi import launch, symmetric
from portmp.routines.routine import Routine
from portmp.runtime.program import CompilationUnit


class Jacobi(Routine):
    """Eigenvalues of symmetric matrices, and singular values: cases of them are composed ones."""

    name = "jacobi"
    stored = False
    kinds = "fc"

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Sweeps, their end, and corrections of vectors."""
        yield "jacobi", launch.unit(form, device, definition.ROTATED)
        yield "off_diagonal", launch.measure_unit(form, device)
        yield "correction", symmetric.correction_unit(form, device)
