"""QR iteration of Hessenberg matrices, as one object."""

from collections.abc import Iterator

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines.base import threads_of
from portmp.routines.routine import Routine
from portmp.routines.schur import launch
from portmp.runtime.program import CompilationUnit


class Schur(Routine):
    """Eigenvalues of Hessenberg matrices, and Schur's form."""

    name = "schur"
    kinds = "fc"
    stored = False

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Steps of the iteration."""
        threads = threads_of(device, launch.THREADS)
        yield "schur", (launch.kernel_spec(form.name, threads),)
