"""Running sums and products along rows: s_0 = x_0, s_i = s_(i-1) + x_i.

Definition: a row is cut into chunks of SCAN elements. Within a chunk elements are combined in order
by the guarded operator, beginning with its first. The chunks' totals have running results of their
own, by this definition; each element of a later chunk, as it is stored, is combined with that of
the chunk before: operator(total, element).
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from portmp import definition, formats
from portmp.backends.base import Argument
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.routines import base
from portmp.routines.scan import reference
from portmp.runtime import program
from portmp.runtime.planes import Planes, View, allocate, allocate_numbers

THREADS = 64
PLAIN = {"add": "({T})(({U}){0} + ({U}){1})", "mul": "({T})(({U}){0} * ({U}){1})"}


@cache
def kernel_spec(op: str, elements: str, threads: int) -> KernelSpec:
    """The kernels for *elements* of a format or a plain dtype."""
    plain = elements not in formats.NAMES
    form = formats.get("float32" if plain else elements)
    return spec(
        "scan_chunks",
        "arrays/scan.mako",
        form,
        {} if plain else {"step": form.operator(op)},
        dtype=elements if plain else "",
        text=PLAIN[op],
        chunk=definition.SCAN,
        threads=threads,
    )


def over_rows(op: str, x: View[Any], out: View[Any]) -> None:
    """Running sums (``add``) or products (``mul``) of each row of x (m, n) in *out* (m, n).

    Both of one format that computes, or of one dtype.
    """
    if not out.size:
        return
    if isinstance(x, Planes):
        base.computes(x.format, "cumulative sums")
    if out.device.by_reference:
        if isinstance(out, Planes):
            base.on_host(out, partial(reference.over_rows, out.format, op), x)
        else:
            base.on_host(out, partial(reference.plain, op, out.elements), x)
        return
    rows, n = x.shape
    chunks = base.blocks(n, definition.SCAN)
    threads = base.threads(out.device, THREADS)
    elements = out.format.name if isinstance(out, Planes) else out.elements
    key = kernel_spec(op, elements, threads)
    kernels = program.kernels(out.device, key)
    totals: View[Any]
    if isinstance(out, Planes):
        totals = allocate(out.format.compute, (rows, chunks), out.queue)
    else:
        totals = allocate_numbers(out.elements, (rows, chunks), out.queue)
    block = (threads, 1, 1)
    args: list[Argument] = [rows, n, chunks, *base.strided(x, *x.strides)]
    args += [*base.strided(out, *out.strides), *totals.buffers]
    out.queue.launch(
        kernels["scan_chunks"], (base.blocks(rows * chunks, threads), 1, 1), block, args
    )
    if chunks == 1:
        return
    over_rows(op, totals, totals)
    args = [rows * n, n, chunks, *base.strided(out, *out.strides), *totals.buffers]
    out.queue.launch(kernels["scan_carry"], (base.blocks(rows * n, threads), 1, 1), block, args)
