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

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """Products with vectors, and with matrices where they have kernels of their own."""
        alone = launch.by_itself(device)
        threads = launch.threads_of(device, alone)
        names = form.arithmetic.name, form.name
        yield "csr", (launch.kernel_spec(*names, threads, alone),)
        if not alone:
            yield "csr_columns", (launch.kernel_spec(*names, threads, alone, True),)

    def cases(self, form: Format) -> Iterator[Case]:
        """What ``portmp verify`` compares by digests: short, empty and long rows."""
        parent = form.arithmetic
        long = definition.SPARSE_CHUNK + 75
        short = (0, 1, 5, 8, 9, 40)
        for name, lengths, columns, kind in (
            ("hostile-6x41x3", short, 41, hostile),
            ("long-3x83x2", (7, long, 3), 83, inputs.ordinary),
        ):
            starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            places = np.arange(starts[-1], dtype=np.int64)
            there = (places * 7 % columns).astype(np.int32)
            width = int(name[-1])
            values = kind(form, (int(starts[-1]),), f"csr {name}")
            x, y = (
                In(parent, kind(parent, (n, width), f"csr {what} {name}"))
                for n, what in ((columns, "x"), (len(lengths), "y"))
            )
            yield Case(
                "csr",
                name,
                form,
                (values, x, y),
                partial(_multiplied, starts, there),
                partial(_reference, starts, there),
            )


def _multiplied(starts: Any, columns: Any, values: Any, x: Any, y: Any) -> Any:
    """The product by way of the device's kernels; operands are arrays."""
    planes: Planes = values.planes
    found = launch.times(
        launch.rows_of(planes, starts, columns, x.shape[0]),
        x.planes,
        alpha=base.scalar_limbs(x.format, ALPHA, "alpha"),
        beta=base.scalar_limbs(x.format, BETA, "beta"),
        y=y.planes,
    )
    return type(y)(found)


def _reference(starts: Any, columns: Any, form: Format, *host: Host) -> Host:
    values, x, y = host
    parent = form.arithmetic
    words = scalar(parent, ALPHA), scalar(parent, BETA)
    return reference.times(parent, values, x, *words, y, [columns], [starts])
