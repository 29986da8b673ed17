"""Orders, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import ClassVar

import numpy as np

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import Case, hostile
from portmp.routines.order import launch, reference
from portmp.routines.reference import Host
from portmp.routines.routine import Routine
from portmp.runtime.program import CompilationUnit


class Order(Routine):
    """Elements put in order."""

    name = "order"
    launch: ClassVar[ModuleType] = launch
    reference: ClassVar[ModuleType] = reference

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Sorting, searching, where the largest element is."""
        threads = base.threads(device, launch.THREADS)
        if form.coded:
            return
        sorting = launch.kernel_spec("order", form.name, threads, descending=False, run=launch.RUN)
        yield "argsort", (sorting,)
        search = launch.kernel_spec("search", form.name, threads, right=False, rank=1)
        yield "searchsorted", (search,)
        largest = launch.kernel_spec("position", form.name, threads, largest=True, part=launch.PART)
        yield "argmax", (largest,)

    def cases(self, form: Format) -> Iterator[Case]:
        """What ``portmp verify`` compares by digests: elements in order."""
        if form.coded:
            return
        for name, x in (
            ("hostile-3x65", hostile(form, (3, 65), "sort")),
            ("ordinary-2x300", inputs.ordinary(form, (2, 300), "sort")),
        ):
            yield Case("sort", name, form, (x,), "sort", _in_order, {"axis": -1})


def _in_order(form: Format, x: Host) -> Host:
    (places,) = reference.argsort(form, False, x)
    return [np.take_along_axis(plane, places, axis=1) for plane in x]
