"""The triple-single paper's own Ozaki scheme, as printed but for its misprints.

A and B are split into k float32 matrices each, all k^2 products are SGEMMs, added up in
triple-single, the first of A with all of B first. A slice takes the bits above 2^(e + ceil((24 +
log2 n) / 2)), e the exponent of its row's largest rest; the last one takes the leading word of
what is left, whose products round: results depend on the SGEMM. ``portmp.ozaki`` has neither
limit. Corrected (the paper's algorithm 1): the last slice is not taken away twice, products are
a-th by b-th slices, and C is added to. The exponent is that of the least power of two above the
largest entry: the paper's logarithm differs for entries that are powers of two, which is as exact.
As in the paper nothing is scaled: entries must stay below about 2^100, and far above 2^-126.

Its future work, slices of two words: as many bits as sums of products may have in double-single (18
for n = 4096, which one word holds), but for the last, which is all that two words hold of the rest.
"""

import itertools
from functools import cache, partial
from typing import Any

from portmp import formats, networks
from portmp.backends.base import Multiplication, Rows
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Flag, Index, Scratch
from portmp.errors import ArgumentError, ShapeError
from portmp.routines import base
from portmp.routines.conversions import launch as conversions
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.gemm import launch as product
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


def gemm(a: Planes, b: Planes, slices: int, words: int = 1) -> Planes:
    """a b for a (m, k), b (k, n) of format ts2021, by *slices* slices of each; k > 0.

    *words* of 2: of double-single, whose products are portmp's.
    """
    base.same(formats.get(FORMAT), a=a, b=b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or not a.size or not b.size:
        raise ShapeError(f"split2021: a {a.shape} and b {b.shape} cannot be multiplied")
    if not 1 <= slices <= MOST:
        raise ArgumentError(f"slices: {slices} given, 1 to {MOST} are allowed")
    if words not in (1, 2):
        raise ArgumentError(f"words: {words} given, 1 and 2 are allowed")
    out = allocate(a.format, (a.shape[0], b.shape[1]), a.queue)
    if words == 1:
        by_host = base.hosted(partial(reference.gemm, a.format, slices=slices))
        launch.do((a, b, out), partial(_multiply, slices), by_host)
        return out
    pair = formats.get("ds")
    sides = (
        [conversions.between(x, pair) for x in split(v, slices, words)]
        for v in (a, b.transposed((1, 0)))
    )
    one, zero = (base.scalar_limbs(pair, number, "alpha") for number in (1, 0))
    for i, (x, y) in enumerate(itertools.product(*sides)):
        found = conversions.between(product.gemm(x, y.transposed((1, 0)), one, zero), a.format)
        elementwise.apply(*(("add", [out, found]) if i else ("copy", [found])), out)
    return out


def _multiply(slices: int, a: Planes, b: Planes, out: Planes) -> None:
    (m, k), n, queue = a.shape, b.shape[1], a.queue
    engine = engines.get(a.device, "auto", "float32")
    left, right = split(a, slices), split(b.transposed((1, 0)), slices)
    part = allocate(formats.get("float32"), (m, n), queue)
    threads = base.threads(a.device, ozaki.THREADS)
    unit = (kernel_spec(threads),)
    for i, (x, y) in enumerate(itertools.product(left, right)):
        sums = Rows(part.buffers[0], n)
        # Of what is left the leading word is the last slice.
        rows, columns = (Rows(one.buffers[0], k) for one in (x, y))
        asked = Multiplication("float32", m, n, k, rows, columns, sums)
        engine.multiply(queue, asked)
        given = {"count": m * n, "first": i == 0, "product": part, "c": out}
        launch.over(queue, unit, m * n, threads, given, "split2021_add")


def split(view: Planes, slices: int, words: int = 1) -> list[Planes]:
    """The slices of *view* (rows, depth), by its rows, as dense float32 matrices; last the rest.

    Sums of their products are exact in so many *words*.
    """
    rows, depth = view.shape
    rest = elementwise.apply("copy", [view], allocate(view.format, view.shape, view.queue))
    single = formats.get("float32")
    found = [allocate(single, view.shape, view.queue) for _ in range(slices - 1)]
    if view.device.by_reference:
        by_host = partial(reference.split, view.format, slices=slices, words=words)
        base.all_on_host([*found, rest], by_host, view)
        return [*found, rest]
    threads = base.threads(view.device, ozaki.THREADS)
    count = rows * depth
    given: dict[str, Any] = {"count": count, "columns": depth, "a": rest}
    given["above"] = reference.bits_above(depth, words)
    for part in found:
        given["exponents"], given["out"] = ozaki.found_of_rows(rest)["most"], part
        launch.over(view.queue, (kernel_spec(threads),), count, threads, given)
    return [*found, rest]
