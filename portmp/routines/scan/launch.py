"""Running sums and products along rows: s_0 = x_0, s_i = s_(i-1) + x_i.

Definition: a row is cut into chunks of SCAN elements. Within a chunk elements are combined in order
by the guarded operator, beginning with its first. The chunks' totals have running results of their
own, by this definition; each element of a later chunk, as it is stored, is combined with that of
the chunk before: operator(total, element).
"""

from functools import cache, partial
from typing import Any

from portmp import definition, formats
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index
from portmp.routines import base
from portmp.routines.scan import reference
from portmp.runtime import launch
from portmp.runtime.planes import Planes, View, blank

THREADS = 64
PLAIN = {"add": "({T})(({U}){0} + ({U}){1})", "mul": "({T})(({U}){0} * ({U}){1})"}


@cache
def kernel_spec(op: str, elements: str, threads: int) -> KernelSpec:
    """The kernels for *elements* of a format or a plain dtype."""
    plain = elements not in formats.NAMES
    form = formats.get("float32" if plain else elements)
    held, cells = (elements,) if plain else (), ("row", "col")
    sizes = Index("k"), Index("chunks")
    out = Array("out", cells, const=False, plain=held)
    total = Array("total", const=False, plain=held, start=False, compute=True)
    return spec(
        "scan_chunks",
        "arrays/scan.mako",
        form,
        {} if plain else {"step": form.operator(op)},
        takes={
            "scan_chunks": [Index("rows"), *sizes, Array("x", cells, plain=held), out, total],
            "scan_carry": [Index("n"), *sizes, out, total],
        },
        dtype=elements if plain else "",
        text=PLAIN[op],
        chunk=definition.SCAN,
        threads=threads,
    )


def over_rows(op: str, x: View[Any], out: View[Any]) -> None:
    """Running sums (``add``) or products (``mul``) of each row of x (m, n) in *out* (m, n).

    Both of one format that computes, or of one dtype.
    """
    if isinstance(x, Planes):
        base.computes(x.format, "cumulative sums")
    kept, key, plan = launch.find((over_rows, op), (x, out))
    if plan is None:
        by = partial(reference.plain, op, out.elements)
        if isinstance(out, Planes):
            by = partial(reference.over_rows, out.format, op)
        plan = kept.plan(key, (x, out), partial(_launch, op), base.hosted(by))
    plan.run((x, out))


def _launch(op: str, x: View[Any], out: View[Any]) -> None:
    if not out.size:
        return
    (rows, n), queue = x.shape, out.queue
    chunks = base.blocks(n, definition.SCAN)
    threads = base.threads(out.device, THREADS)
    name, held = out.elements, out.elements
    if isinstance(out, Planes):
        name, held = out.format.name, out.format.compute
    unit = (kernel_spec(op, name, threads),)
    totals = blank(held, (rows, chunks)).made(queue)
    given = {"k": n, "chunks": chunks, "out": out, "total": totals}
    launch.over(queue, unit, rows * chunks, threads, {**given, "rows": rows, "x": x})
    if chunks == 1:
        return
    _launch(op, totals, totals)
    launch.over(queue, unit, rows * n, threads, {**given, "n": rows * n}, "scan_carry")
