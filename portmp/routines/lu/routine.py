"""LU with partial pivoting, as one object."""

from collections.abc import Iterator

import numpy as np

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import Case
from portmp.routines.factor import panel, small
from portmp.routines.lu import launch, reference
from portmp.routines.routine import Routine
from portmp.routines.triangular.launch import COPYING
from portmp.runtime.program import CompilationUnit


class Lu(Routine):
    """p a = l u by blocks, and systems by it."""

    name = "lu"
    stored = False
    kinds = "fc"

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Panels and their swaps, those of few rows; rows in another order."""
        many = launch.of_many(form, device)
        yield from panel.units(panel.alone(launch.alone_spec, form, device), many)
        threads = launch.threads_for(device)
        yield "lu_swap", (launch.swap_spec(form.name, threads),)
        yield from small.units(
            form, lambda n: launch.small_shape(form, device, n, n), launch.small_spec
        )
        threads = base.threads(device, COPYING)
        yield "rows", (launch.rows_spec(form.name, threads),)
        yield "weak_pivots", (launch.weak_spec(form.name, threads),)

    def cases(self, form: Format) -> Iterator[Case]:
        for name, shape in (
            ("ordinary-7x7", (7, 7)),
            ("blocks-39x37", (39, 37)),
            ("wide-5x41", (5, 41)),
            ("tall-150x7", (150, 7)),
            ("small-16x16", (16, 16)),
            ("small-9x20", (9, 20)),
            ("small-40x32", (40, 32)),
        ):
            a = inputs.ordinary(form, shape, f"lu {name}")
            yield Case("lu", name, form, (a,), "linalg.lu_factor", reference.packed)
        for m, n in ((39, 37), (70, 5)):  # columns that become zero
            a = [np.full((m, n), 0 if i else 1, form.dtype(i)) for i in range(len(form.planes))]
            yield Case("lu", f"ones-{m}x{n}", form, (a,), "linalg.lu_factor", reference.packed)
        a, b = inputs.ordinary(form, (7, 7), "solve a"), inputs.ordinary(form, (7, 2), "solve b")
        yield Case("solve", "ordinary-7x2", form, (a, b), "linalg.solve", reference.solve)
