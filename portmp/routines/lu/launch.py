"""LU with partial pivoting: p a = l u, by blocks, any number of rows and columns.

Definition: columns are cut by halves at multiples of ``definition.BLOCK`` (Toledo 1997): the left
half is factored, its rows' swaps reach all columns, the upper right block becomes that of a unit
triangular system, the lower right block loses GEMM's product with alpha = -1 and beta = 1, and is
factored. In a panel of at most BLOCK columns: the pivot is the largest leading limb at or below the
diagonal, the first of equals, NaN never larger than a number; l_ik = div(w_ik, w_kk), left out for
a pivot of zero; w_ij = fma(-l_ik, w_kj, w_ij). 2/3 n^3 operations of a square matrix.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.lu import reference
from portmp.routines.lu.steps import LuSteps
from portmp.routines.panel import Panels, Shape
from portmp.routines.reference import Host
from portmp.routines.triangular.launch import COPYING, OnDevice, threads_of
from portmp.routines.triangular.steps import Method
from portmp.runtime import program
from portmp.runtime.planes import Numbers, Planes, allocate, allocate_numbers

THREADS = 256
ROWS = {"gpu": (64, 128, 256), "cpu": (256,)}
"""Rows that a block of threads in a panel may have, the usual number first."""
FEW = (16, 32)
"""Rows of small matrices, whose blocks have fewer threads: more matrices are worked on at once."""
REGISTERS = 64
"""32-bit registers of a thread that elements of a panel may stay in from step to step."""
TILE = 16
"""Columns of a block of threads that swaps rows."""


@cache
def panel_spec(
    form: str, threads: int = THREADS, rows: int = ROWS["gpu"][0], together: bool = False
) -> KernelSpec:
    """Steps of a panel; *together*: whose blocks wait for each other between them."""
    f = formats.get(form)
    roles = {op: f.operator(op) for op in ("div", "neg", "fma")}
    sizes: dict[str, Any] = {"threads": threads, "rows": rows, "most": definition.BLOCK}
    sizes |= {"registers": REGISTERS, "together": together}
    return spec("lu_panel", "linalg/lu_panel.mako", f, roles, **sizes)


@cache
def rows_spec(form: str, threads: int = COPYING) -> KernelSpec:
    """Rows in another order."""
    return spec("rows", "linalg/rows.mako", formats.get(form), {}, threads=threads)


@cache
def swap_spec(form: str, threads: int = THREADS) -> KernelSpec:
    """A panel's swaps in all columns."""
    sizes: dict[str, Any] = {"threads": threads, "tile": TILE, "most": definition.BLOCK}
    return spec("lu_swap", "linalg/lu_swap.mako", formats.get(form), {}, **sizes)


def threads_for(device: Device | None) -> int:
    """Threads of a block: at least one for each column of a panel, or a single one."""
    threads = threads_of(device, THREADS)
    return threads if threads >= definition.BLOCK else 1


def panel_shape(form: Format, device: Device, m: int) -> tuple[int, tuple[int, ...]]:
    """Threads of a panel's blocks, and the rows that one may have, for matrices of *m* rows."""
    threads = threads_for(device)
    rows = next((few for few in FEW if threads > 1 and m <= few), None)
    if rows is None:
        return threads, ROWS[device.properties.kind]
    few = definition.BLOCK
    words = form.limbs * np.dtype(form.word).itemsize // 4
    while few < threads and rows * definition.BLOCK // few * words > REGISTERS:
        few *= 2
    return few, (rows,)


def unit(form: Format, device: Device | None) -> tuple[KernelSpec, ...]:
    """The kernel of a panel."""
    rows = ROWS[device.properties.kind if device else "gpu"][0]
    return (panel_spec(form.name, threads_for(device), rows),)


class Factored(NamedTuple):
    """What a factorisation says beside its factors.

    ``pivots`` (batch, k): row i was swapped with row pivots[i], in order. ``singular`` (batch,):
    the first column whose pivot is zero or NaN, counted from 1; 0 where there is none.
    """

    pivots: np.ndarray[Any, np.dtype[np.int32]]
    singular: np.ndarray[Any, np.dtype[np.int32]]


class _OnDevice(OnDevice, LuSteps[Planes]):
    def __init__(self, w: Planes, method: Method) -> None:
        super().__init__(w.format, method)
        batch, m, n = w.shape
        self.count = min(m, n)
        self.threads = threads_for(w.device)
        threads, rows = panel_shape(w.format, w.device, m)
        form = w.format.name

        def stepped(shape: Shape, _: bool, together: bool) -> KernelSpec:
            return panel_spec(form, shape.threads, shape.rows, together)

        shapes = [Shape(each, threads) for each in rows]
        self.panels = Panels(w.queue, stepped, shapes[0], shapes)
        self.batch = batch

        def integers(count: int) -> Numbers:
            return allocate_numbers("int32", (count,), w.queue)

        most = base.blocks(m, rows[0])
        self.candidates = allocate(formats.get(w.format.word), (2 * batch * most,), w.queue)
        self.tops = allocate(w.format, (2 * batch * most, definition.BLOCK), w.queue)
        self.where = [integers(2 * batch * most) for _ in range(2)]
        self.places, self.chosen = integers(batch * m), integers(batch * definition.BLOCK)
        self.pivots, self.singular = integers(batch * self.count), integers(batch)
        self.singular.write_parts([np.zeros(batch, np.int32)])

    def panel(self, w: Planes, first: int, end: int) -> None:
        _, m, n = w.shape
        height, width = m - first, end - first
        mine = self.part(w, slice(first, m), slice(first, end))
        own = [
            np.int32(first),
            np.int32(self.count),
            *base.batched(mine),
            *self.tops.buffers,
            *self.candidates.buffers,
            *(b for numbers in self.where for b in numbers.buffers),
            *self.places.buffers,
            *self.chosen.buffers,
            *self.pivots.buffers,
            *self.singular.buffers,
        ]
        self.panels.run(self.batch, height, width, own)
        swap = swap_spec(self.form.name, self.threads)
        tiles = base.blocks(n, TILE)
        w.queue.launch(
            program.kernels(w.device, swap)[swap.name],
            (self.batch * tiles, 1, 1),
            (self.threads, 1, 1),
            [
                height,
                np.int32(width),
                n,
                tiles,
                *base.batched(self.part(w, slice(first, m), slice(0, n))),
                *self.places.buffers,
                *self.chosen.buffers,
            ],
        )


def factor(w: Planes, method: Method) -> Factored:
    """Overwrite w (batch, m, n) by its factors. Waits for the device."""
    batch, m, n = w.shape
    count = min(m, n)
    pivots = np.zeros((batch, count), np.int32)
    singular = np.zeros(batch, np.int32)
    if not w.size:
        return Factored(pivots, singular)
    if w.device.by_reference:
        for each in range(batch):

            def factored(planes: Host, each: int = each) -> Host:
                found = reference.factor(w.format, planes, method)
                pivots[each], singular[each] = found.pivots, found.singular
                return found.factors

            mine = base.matrix_of(w, (each,))
            base.on_host(mine, factored, mine)
        return Factored(pivots, singular)
    steps = _OnDevice(w, method)
    steps.factor(w)
    return Factored(
        steps.pivots.read_parts()[0].reshape(batch, count), steps.singular.read_parts()[0]
    )


def ordered(b: Planes, order: np.ndarray[Any, Any]) -> Planes:
    """Copies of matrices (batch, m, n) with row order[e, i] of entry e as its row i."""
    out = allocate(b.format, b.shape, b.queue)
    if not out.size:
        return out
    if b.device.by_reference:
        for each, rows in enumerate(order):

            def taken(planes: Host, rows: np.ndarray[Any, Any] = rows) -> Host:
                return [p[rows] for p in planes]

            base.on_host(base.matrix_of(out, (each,)), taken, base.matrix_of(b, (each,)))
        return out
    where = allocate_numbers("int32", order.shape, b.queue)
    where.write_parts([order.astype(np.int32)])
    threads = base.threads(b.device, COPYING)
    key = rows_spec(b.format.name, threads)
    b.queue.launch(
        program.kernels(b.device, key)[key.name],
        (base.blocks(out.size, threads), 1, 1),
        (threads, 1, 1),
        [out.size, *b.shape[1:], *base.batched(b), *where.buffers, *out.buffers],
    )
    return out
