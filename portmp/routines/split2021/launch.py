"""The triple-single paper's own Ozaki scheme, as printed but for its misprints.

A and B are split into k float32 matrices each, all k^2 products are SGEMMs, added up in
triple-single, the first of A with all of B first. A slice takes the bits above 2^(e + ceil((24 +
log2 n) / 2)), e the exponent of its row's largest rest; the last one takes the leading word of
what is left, whose products round: results depend on the SGEMM. ``portmp.ozaki`` has neither
limit. Corrected (the paper's algorithm 1): the last slice is not taken away twice, products are
a-th by b-th slices, and C is added to. The exponent is that of the least power of two above the
largest entry: the paper's logarithm differs for entries that are powers of two, which is as exact.
As in the paper nothing is scaled: entries must stay below about 2^100, and far above 2^-126.
"""

from __future__ import annotations

import itertools
from functools import cache, partial
from typing import Any

from portmp import formats, networks
from portmp.backends.base import Buffer, Multiplication, Rows
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Flag, Index, Scratch
from portmp.errors import ArgumentError, ShapeError
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.products import engines
from portmp.routines.split2021 import reference
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate

FORMAT = "ts2021"
MOST = 32
"""Slices, at most: by then nothing is left."""


@cache
def kernel_spec(threads: int = ozaki.THREADS) -> KernelSpec:
    """The kernels that split and add."""
    return spec(
        "split2021_slice",
        "ozaki/split2021.mako",
        formats.get(FORMAT),
        {"add": networks.get("add3_2021")},
        takes={
            "split2021_slice": [
                *(Index("count"), Index("columns"), Flag("above")),
                Scratch("exponents", "int32", const=True),
                *(Array("a", const=False, start=False), Scratch("out", "float32")),
            ],
            "split2021_add": [
                *(Index("count"), Flag("first"), Scratch("product", "float32", const=True)),
                Array("c", const=False, start=False),
            ],
        },
        threads=threads,
    )


def gemm(a: Planes, b: Planes, slices: int) -> Planes:
    """a b for a (m, k), b (k, n) of format ts2021, by *slices* slices of each; k > 0."""
    base.same(formats.get(FORMAT), a=a, b=b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or not a.size or not b.size:
        raise ShapeError(f"split2021: a {a.shape} and b {b.shape} cannot be multiplied")
    if not 1 <= slices <= MOST:
        raise ArgumentError(f"slices: {slices} given, 1 to {MOST} are allowed")
    out = allocate(a.format, (a.shape[0], b.shape[1]), a.queue)
    by_host = base.hosted(partial(reference.gemm, a.format, slices=slices))
    launch.do((a, b, out), partial(_multiply, slices), by_host)
    return out


def _multiply(slices: int, a: Planes, b: Planes, out: Planes) -> None:
    (m, k), n, queue = a.shape, b.shape[1], a.queue
    engine = engines.get(a.device, "auto", "float32")
    left, right = split(a, slices), split(b.transposed((1, 0)), slices)
    product = allocate(formats.get("float32"), (m, n), queue)
    threads = base.threads(a.device, ozaki.THREADS)
    unit = (kernel_spec(threads),)
    for i, (x, y) in enumerate(itertools.product(left, right)):
        sums = Rows(product.buffers[0], n)
        asked = Multiplication("float32", m, n, k, Rows(x, k), Rows(y, k), sums)
        engine.multiply(queue, asked)
        given = {"count": m * n, "first": i == 0, "product": product, "c": out}
        launch.over(queue, unit, m * n, threads, given, "split2021_add")


def split(view: Planes, slices: int) -> list[Buffer]:
    """The slices of *view* (rows, depth), by its rows, as dense float32 matrices."""
    rows, depth = view.shape
    rest = elementwise.apply("copy", [view], allocate(view.format, view.shape, view.queue))
    threads = base.threads(view.device, ozaki.THREADS)
    found, count = [], rows * depth
    given: dict[str, Any] = {"count": count, "columns": depth, "a": rest}
    given["above"] = reference.bits_above(depth)
    for _ in range(slices - 1):
        given["exponents"] = ozaki.found_of_rows(rest)["most"]
        given["out"] = allocate(formats.get("float32"), view.shape, view.queue)
        launch.over(view.queue, (kernel_spec(threads),), count, threads, given)
        found += given["out"].buffers
    return [*found, rest.buffers[0]]
