"""Orders, as one object."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import Case, hostile
from portmp.routines.order import launch, reference
from portmp.routines.reference import Host
from portmp.routines.routine import Routine, Units


class Order(Routine):
    """Elements put in order."""

    name = "order"
    stored = False

    def units(self, form: Format, device: Device | None) -> Units:
        """Sorting, searching, where the largest element is."""
        threads = base.threads(device, launch.THREADS)
        sorting = launch.kernel_spec("order", form.name, threads, descending=False, run=launch.RUN)
        yield "argsort", (sorting,)
        search = launch.kernel_spec("search", form.name, threads, right=False, rank=1)
        yield "searchsorted", (search,)
        threads = base.threads_of(device, launch.THREADS)
        largest = launch.kernel_spec("position", form.name, threads, largest=True, part=launch.PART)
        yield "argmax", (largest,)

    def cases(self, form: Format) -> Iterator[Case]:
        """What ``portmp verify`` compares by digests: elements in order."""
        for name, x in (
            ("hostile-3x65", hostile(form, (3, 65), "sort")),
            ("ordinary-2x300", inputs.ordinary(form, (2, 300), "sort")),
        ):
            yield Case("sort", name, form, (x,), "sort", _in_order, {"axis": -1})
            for descending in (False, True):
                down = {"descending": True} if descending else {}
                call = partial(reference.argsort, descending=descending)
                key = f"{name}-descending" if descending else name
                yield Case("argsort", key, form, (x,), "argsort", call, {"axis": -1} | down)
            for op in ("argmax", "argmin"):
                call = partial(reference.position, largest=op == "argmax")
                yield Case(op, name, form, (x,), op, call, {"axis": -1})
            for part in ("values", "indices", "inverse_indices", "counts"):
                call, key = partial(_unique, part), f"{name}-{part}"
                yield Case("unique", key, form, (x,), partial(_of_unique, part), call)
        row, wanted = hostile(form, (1, 130), "sorted"), hostile(form, (77,), "wanted")
        row = [p[0] for p in _in_order(form, row)]
        wanted = [np.concatenate([w, r[::9]]) for w, r in zip(wanted, row, strict=True)]
        for side in ("left", "right"):
            call = partial(reference.searchsorted, right=side == "right")
            given = (row, wanted)
            yield Case("searchsorted", side, form, given, "searchsorted", call, {"side": side})


def _in_order(form: Format, x: Host) -> Host:
    (places,) = reference.argsort(form, x)
    return [np.take_along_axis(plane, places, axis=1) for plane in x]


def _of_unique(part: str, x: Any) -> Any:
    return getattr(x.__array_namespace__().unique_all(x), part)


def _unique(part: str, form: Format, x: Host) -> Host:
    return reference.unique(form, x)[part]
