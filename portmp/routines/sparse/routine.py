"""Products of sparse matrices, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from portmp import definition
from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import ALPHA, BETA, Case, In, hostile, scalar
from portmp.routines.reference import Host
from portmp.routines.routine import Routine
from portmp.routines.sparse import launch, reference
from portmp.runtime.planes import Planes
from portmp.runtime.program import CompilationUnit


class Sparse(Routine):
    """A sparse matrix, stored by rows, times a vector or a matrix."""

    name = "sparse"
    kinds = "fc"

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Products with vectors, and with matrices where they have kernels of their own."""
        alone = launch.by_itself(device)
        threads = launch.threads_of(device, alone)
        names = form.arithmetic.name, form.name
        yield "csr", (launch.kernel_spec(*names, threads, alone),)
        if not alone:
            yield "csr_columns", (launch.kernel_spec(*names, threads, alone, True),)

    def cases(self, form: Format) -> Iterator[Case]:
        """What ``portmp verify`` compares by digests: short, empty and long rows.

        Of complex numbers also real matrices times complex vectors, and complex ones times real.
        """
        vectors, part = form.arithmetic, form.component
        for name in SHAPES:
            yield _case(form, vectors, form, name)
        if part is not form:
            yield _case(form, form, part, "hostile-6x41x3", "real matrix ")
            yield _case(form, part, form, "hostile-6x41x3", "real vectors ")


LONG = definition.SPARSE_CHUNK + 75
SHAPES = {
    "hostile-6x41x3": ((0, 1, 5, 8, 9, 40), 41, hostile),
    "long-3x83x2": ((7, LONG, 3), 83, inputs.ordinary),
}
"""Elements of each row, columns, and kinds of numbers."""


def _case(form: Format, vectors: Format, matrix: Format, name: str, what: str = "") -> Case:
    lengths, columns, kind = SHAPES[name]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(starts[-1], dtype=np.int64)
    there = (places * 7 % columns).astype(np.int32)
    sizes = {
        "": (int(starts[-1]),),
        "x ": (columns, int(name[-1])),
        "y ": (len(lengths), int(name[-1])),
    }
    forms = {"": matrix, "x ": vectors, "y ": form.arithmetic}
    operands = [
        In(one, _numbers(kind, one, sizes[of], f"csr {of}{name}")) for of, one in forms.items()
    ]
    return Case(
        "csr",
        what.replace(" ", "-") + name,
        form,
        tuple(operands),
        partial(_multiplied, starts, there),
        partial(_reference, starts, there),
    )


def _numbers(kind: Any, form: Format, shape: tuple[int, ...], seed: str) -> Host:
    """Numbers of a kind; of complex ones both parts."""
    if form.components == 1:
        return list(kind(form, shape, seed))
    parts = (kind(form.component, shape, f"{seed} {part}") for part in ("real", "imaginary"))
    return [plane for part in parts for plane in part]


def _multiplied(starts: Any, columns: Any, values: Any, x: Any, y: Any) -> Any:
    """The product by way of the device's kernels; operands are arrays."""
    planes: Planes = values.planes
    found = launch.times(
        launch.rows_of(planes, starts, columns, x.shape[0]),
        x.planes,
        alpha=base.scalar_limbs(x.format.component, ALPHA, "alpha"),
        beta=base.scalar_limbs(x.format.component, BETA, "beta"),
        y=y.planes,
    )
    return type(y)(found)


def _reference(starts: Any, columns: Any, form: Format, *host: Host) -> Host:
    values, x, y = host
    part = form.arithmetic.component
    words = scalar(part, ALPHA), scalar(part, BETA)
    return reference.times(part, values, x, *words, y, [columns], [starts])
