"""Orders: sorting by merging, searching among sorted elements, where extrema are.

Definition: values are compared by ``compare``; -0 equals +0. Sorting keeps the places of equal
elements; NaN is greater than all, and equal to NaN. The position of an extremum is that of the
first of equals, or of the first NaN.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

from portmp import formats
from portmp.backends.base import Argument
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.errors import ShapeError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.order import reference
from portmp.routines.plain.launch import planned
from portmp.runtime import program
from portmp.runtime.planes import Numbers, Planes, View, allocate_numbers

THREADS = 64
RUN = 16
"""Elements that a work-item puts in order by itself."""
PART = 4096
"""Elements of which a block finds the extremum."""


_NAMES = {"order": "order_runs"}


@cache
def kernel_spec(template: str, elements: str, threads: int, **values: Any) -> KernelSpec:
    """The kernels of a template for *elements* of a format or a plain dtype."""
    known = elements in (*formats.NAMES, *formats.STORED)
    form = formats.get(elements if known else "float32")
    return spec(
        _NAMES.get(template, template),
        f"arrays/{template}.mako",
        form,
        {"compare": form.operator("compare")} if known else {},
        dtype="" if known else elements,
        threads=threads,
        **values,
    )


def _named(x: View[Any]) -> tuple[str, Format | None]:
    """The name of a view's elements, and their format if they are values."""
    return (x.format.name, x.format) if isinstance(x, Planes) else (x.elements, None)


def argsort(x: View[Any], descending: bool = False) -> Numbers:
    """The indices (int64) that put each row of x (m, n) in order."""
    rows, n = x.shape
    elements, form = _named(x)
    found = allocate_numbers("int64", x.shape, x.queue)
    if not found.size:
        return found
    if x.device.by_reference:
        base.on_host(found, partial(reference.argsort, form, descending), x)
        return found
    threads = base.threads(x.device, THREADS)
    key = kernel_spec("order", elements, threads, descending=descending, run=RUN)
    kernels = program.kernels(x.device, key)
    block, view = (threads, 1, 1), base.strided(x, *x.strides)
    runs = base.blocks(n, RUN)
    args: list[Argument] = [rows * runs, n, runs, *view, *found.buffers]
    x.queue.launch(kernels["order_runs"], (base.blocks(rows * runs, threads), 1, 1), block, args)
    width = RUN
    while width < n:
        merged = allocate_numbers("int64", x.shape, x.queue)
        args = [rows * n, n, width, *view, *found.buffers, *merged.buffers]
        x.queue.launch(kernels["order_merge"], (base.blocks(rows * n, threads), 1, 1), block, args)
        found, width = merged, 2 * width
    return found


def searchsorted(x: View[Any], v: View[Any], right: bool = False) -> Numbers:
    """How many elements of the sorted vector x stand before each of v: indices (int64).

    With *right* those that are equal count, too.
    """
    elements, form = _named(x)
    out = allocate_numbers("int64", v.shape, v.queue)
    if not out.size:
        return out
    if v.device.by_reference:
        base.on_host(out, partial(reference.searchsorted, form, right), x, v)
        return out
    sizes, (steps,), of_out = planned(out.place, (v.place,))
    threads = base.threads(v.device, THREADS)
    key = kernel_spec("search", elements, threads, right=right, rank=len(sizes))
    kernel = program.kernels(v.device, key)[key.name]
    count = math.prod(sizes)
    args: list[Argument] = [count, *sizes[1:], *base.strided(v, *steps)]
    args += [*base.strided(x, *x.strides), x.size, *base.strided(out, *of_out)]
    v.queue.launch(kernel, (base.blocks(count, threads), 1, 1), (threads, 1, 1), args)
    return out


def position(x: View[Any], largest: bool) -> Numbers:
    """Where the largest or the smallest element of each row of x (m, n) is: indices (int64)."""
    rows, n = x.shape
    if not n:
        raise ShapeError(f"{'argmax' if largest else 'argmin'}: an empty array has none")
    elements, form = _named(x)
    found = allocate_numbers("int64", (rows,), x.queue)
    if not rows:
        return found
    if x.device.by_reference:
        base.on_host(found, partial(reference.position, form, largest), x)
        return found
    threads = base.threads(x.device, THREADS)
    key = kernel_spec("position", elements, threads, largest=largest, part=PART)
    kernel = program.kernels(x.device, key)[key.name]
    given, candidates = found, n
    for step in range(64):
        blocks = base.blocks(candidates, PART)
        found = allocate_numbers("int64", (rows, blocks), x.queue)
        args: list[Argument] = [candidates, blocks, int(step > 0), *base.strided(x, *x.strides)]
        args += [*given.buffers, *found.buffers]
        x.queue.launch(kernel, (rows * blocks, 1, 1), (threads, 1, 1), args)
        given, candidates = found, blocks
        if blocks == 1:
            break
    return found.view_as((rows,))
