"""Cholesky's factorisation, as one object."""

from collections.abc import Iterator
from functools import partial

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines.case import Case
from portmp.routines.cholesky import launch, reference
from portmp.routines.factor import small
from portmp.routines.routine import Routine
from portmp.routines.triangular.routine import dominant
from portmp.runtime.program import CompilationUnit


class Cholesky(Routine):
    """a = l l^T by blocks."""

    name = "cholesky"
    stored = False
    kinds = "fc"

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """A block's factor; those of small matrices."""
        rows = launch.panel_rows(form, device)
        if not rows:
            yield "cholesky", (launch.kernel_spec(form.name),)
        for each in rows:
            yield f"cholesky_panel{each}", (launch.panel_spec(form.name, each),)
        shape = partial(launch.small_shape, form, device)
        yield from small.units(form, shape, launch.small_spec)

    def cases(self, form: Format) -> Iterator[Case]:
        for name, n in (("ordinary-7", 7), ("blocks-40", 40), ("small-16", 16), ("small-20", 20)):
            a = dominant(form, n, f"cholesky {name}")
            yield Case("cholesky", name, form, (a,), "linalg.cholesky", reference.lower)
