"""Triangular systems and products, as one object."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import ALPHA, BETA, Case, scalar, transposed
from portmp.routines.reference import Host
from portmp.routines.routine import Routine
from portmp.routines.triangular import launch, reference
from portmp.routines.triangular.steps import SOLVED
from portmp.runtime.program import CompilationUnit


class Triangular(Routine):
    """x of a x = b, and a b, for triangular a; triangles of a a^T."""

    name = "triangular"
    stored = False
    kinds = "fc"

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Systems, on CPUs blocks of unknowns; copies of triangles."""
        whole, threads = launch.whole(device, form), base.threads_of(device, launch.THREADS)
        if whole:
            for layout in launch.layouts(form.name):
                each = base.threads_of(device, launch.LAYOUTS[layout]["threads"])
                yield f"triangular_{layout}", (launch.system_spec(form.name, layout, each),)
        for taken in SOLVED if form.components > 1 else ("",):
            end = f"_{taken}" if taken else ""
            if threads > 1:
                for lanes in launch.LANES:
                    sizes = threads, min(lanes, threads)
                    shared = launch.lanes_spec(form.name, *sizes, taken=taken)
                    yield f"triangular_lanes{lanes}{end}", (shared,)
            if device is None or threads == 1:  # as text, that of CPUs too
                width = launch.width_for(form, device)
                yield f"triangular{end}", (launch.kernel_spec(form.name, width, taken),)
        copying = base.threads(device, launch.COPYING)
        yield "triangle", (launch.copy_spec(form.name, copying),)

    def cases(self, form: Format) -> Iterator[Case]:
        for name, n, r in (
            ("ordinary-7x3", 7, 3),
            ("blocks-45x2", 45, 2),
            ("halves-150x5", 150, 5),
        ):
            a, b = dominant(form, n, f"triangular {name}"), inputs.ordinary(form, (n, r), name)
            for lower, unit in product((True, False), repeat=2):
                marks = ("lower" if lower else "upper") + ("-unit" if unit else "")
                given = "solve_triangular", f"{name}-{marks}", form, (a, b)
                solved = partial(reference.solve, lower=lower, unit=unit)
                options = {"lower": lower, "unit_diagonal": unit}
                yield Case(*given, "linalg.solve_triangular", solved, options)
            if form.components > 1:
                yield from _adjoint(form, name, a, b)
        a, b = inputs.ordinary(form, (9, 9), "trmm a"), inputs.ordinary(form, (9, 2), "trmm b")
        times = partial(reference.times, lower=True)
        yield Case("trmm", "ordinary-9x2", form, (a, b), "linalg.trmm", times, {"lower": True})
        if form.components > 1:
            return
        a, c = inputs.ordinary(form, (6, 11), "syrk a"), inputs.ordinary(form, (6, 6), "syrk c")
        more = {"alpha": ALPHA, "beta": BETA, "c": c, "lower": True}
        yield Case("syrk", "ordinary-6x11", form, (a,), "linalg.syrk", partial(_syrk, c=c), more)


def _adjoint(form: Format, name: str, a: Host, b: Host) -> Iterator[Case]:
    """x of a^H x = b."""
    for lower in (True, False):

        def solved(form: Format, a: Host, b: Host, upper: bool = lower) -> Host:
            return reference.solve(form, transposed(a), b, lower=not upper, taken="conjugated")

        marked = f"{name}-{'lower' if lower else 'upper'}-adjoint"
        options = {"lower": lower, "trans": "C"}
        call = "linalg.solve_triangular"
        yield Case("solve_triangular", marked, form, (a, b), call, solved, options)


def dominant(form: Format, n: int, seed: str) -> Host:
    """Ordinary numbers with a large diagonal, so that unknowns stay small."""
    planes = inputs.ordinary(form, (n, n), seed)
    for i, plane in enumerate(planes):
        plane[range(n), range(n)] = 0 if i else 64
    return planes


def _syrk(form: Format, a: Host, c: Any) -> Host:
    alpha, beta = scalar(form, ALPHA), scalar(form, BETA)
    found = reference.square(form, a, c, alpha, beta, lower=True)
    return reference.triangle(found, lower=True, unit=False)
