"""Bunch's and Kaufman's factorisation, as one object."""

from collections.abc import Iterator
from functools import partial

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines.base import threads_of
from portmp.routines.case import Case
from portmp.routines.ldl import launch, reference
from portmp.routines.routine import Routine
from portmp.runtime.program import CompilationUnit


class Ldl(Routine):
    """p a p^T = l d l^T by panels."""

    name = "ldl"
    stored = False
    kinds = "fc"

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """A panel; small matrices whole."""
        threads = threads_of(device, launch.THREADS)
        yield "ldl", (launch.kernel_spec(form.name, threads),)
        if form.components > 1:
            yield "ldl_hermitian", (launch.kernel_spec(form.name, threads, hermitian=True),)
        else:
            yield "ldl_small", (launch.kernel_spec(form.name, threads, whole=True),)

    def cases(self, form: Format) -> Iterator[Case]:
        for name, n in (("ordinary-7", 7), ("panels-35", 35)):
            a = inputs.ordinary(form, (n, n), f"ldl {name}")
            lower = partial(reference.lower, hermitian=form.components > 1)
            yield Case("ldl", name, form, (a,), "linalg.ldl", lower)
            if form.components > 1:
                how = {"hermitian": False}
                named = f"symmetric-{name}"
                yield Case("ldl", named, form, (a,), "linalg.ldl", reference.lower, how)
