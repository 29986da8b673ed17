"""Orders: sorting by merging, searching among sorted elements, where extrema are.

Definition: values are compared by ``compare``; -0 equals +0. Sorting keeps the places of equal
elements; NaN is greater than all, and equal to NaN. The position of an extremum is that of the
first of equals, or of the first NaN.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from portmp import formats
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index, Parameter, Scratch, vector
from portmp.errors import ShapeError
from portmp.formats import Format
from portmp.routines import axes, base
from portmp.routines.order import reference
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, View, allocate_numbers, blank_like

THREADS = 64
RUN = 16
"""Elements that a work-item puts in order by itself."""
PART = 4096
"""Elements of which a block finds the extremum."""


def _taken(template: str, plain: tuple[str, ...], rank: int) -> dict[str, list[Parameter]]:
    """The kernels of a template, and what they take: elements of the *plain* dtype, or values."""
    n, k = Index("n"), Index("k")
    x = Array("x", ("row", "col"), plain=plain)
    found, left = Scratch("to", "int64"), Scratch("from", "int64", const=True)
    if template == "order":
        return {
            "order_runs": [n, k, Index("runs"), x, found],
            "order_merge": [n, k, Index("width"), x, left, found],
        }
    if template == "position":
        return {template: [k, Index("blocks"), Index("given"), x, left, found]}
    among = Array("sorted", ("step",), plain=plain), Index("count")
    out = vector("out", rank, const=False, plain=("int64",))
    return {template: [*axes.taken(rank), vector("x", rank, plain=plain), *among, out]}


@cache
def kernel_spec(template: str, elements: str, threads: int, **values: Any) -> KernelSpec:
    """The kernels of a template for *elements* of a format or a plain dtype."""
    known = elements in (*formats.NAMES, *formats.STORED)
    form = formats.get(elements if known else "float32")
    takes = _taken(template, () if known else (elements,), values.get("rank", 1))
    return spec(
        next(iter(takes)),
        f"arrays/{template}.mako",
        form,
        {"compare": form.operator("compare")} if known else {},
        takes=takes,
        dtype="" if known else elements,
        threads=threads,
        **values,
    )


def _named(x: View[Any]) -> tuple[str, Format | None]:
    """The name of a view's elements, and their format if they are values."""
    return (x.format.name, x.format) if isinstance(x, Planes) else (x.elements, None)


def _found(
    what: Sequence[Any], given: Sequence[View[Any]], shape: tuple[int, ...], launches: Any, by: Any
) -> Numbers:
    """Indices of this shape, by *launches* or, where no kernels run, by a reference."""
    kept, key, plan = launch.find(what, given)
    if plan is None:
        out = allocate_numbers("int64", shape, given[0].queue)
        plan = kept.plan(key, (*given, out), launches, base.hosted(by), blank_like(out))
    return plan.run((*given, None))


def argsort(x: View[Any], descending: bool = False) -> Numbers:
    """The indices (int64) that put each row of x (m, n) in order."""
    by = partial(reference.argsort, _named(x)[1], descending=descending)
    return _found((argsort, descending), (x,), x.shape, partial(_sort, descending), by)


def _sort(descending: bool, x: View[Any], out: View[Any]) -> None:
    rows, n = x.shape
    if not out.size:
        return
    threads = base.threads(x.device, THREADS)
    unit = (kernel_spec("order", _named(x)[0], threads, descending=descending, run=RUN),)
    runs, width = base.blocks(n, RUN), RUN
    # Runs and merged ones take turns, so that the last are in *out*.
    turns = (runs - 1).bit_length()
    found, other = out, allocate_numbers("int64", x.shape, x.queue) if turns else out
    if turns % 2:
        found, other = other, found
    given = {"n": rows * runs, "k": n, "runs": runs, "x": x, "to": found}
    launch.over(x.queue, unit, rows * runs, threads, given)
    while width < n:
        given = {"n": rows * n, "k": n, "width": width, "x": x, "from": found, "to": other}
        launch.over(x.queue, unit, rows * n, threads, given, "order_merge")
        found, other, width = other, found, 2 * width


def searchsorted(x: View[Any], v: View[Any], right: bool = False) -> Numbers:
    """How many elements of the sorted vector x stand before each of v: indices (int64).

    With *right* those that are equal count, too.
    """
    by = partial(reference.searchsorted, _named(x)[1], right=right)
    return _found((searchsorted, right), (x, v), v.shape, partial(_search, right), by)


def _search(right: bool, x: View[Any], v: View[Any], out: View[Any]) -> None:
    def kernel(rank: int, threads: int) -> KernelSpec:
        return kernel_spec("search", _named(x)[0], threads, right=right, rank=rank)

    axes.launched(out, {"x": v}, THREADS, kernel, sorted=x, count=x.size)


def position(x: View[Any], largest: bool) -> Numbers:
    """Where the largest or the smallest element of each row of x (m, n) is: indices (int64)."""
    rows, n = x.shape
    if not n:
        raise ShapeError(f"{'argmax' if largest else 'argmin'}: an empty array has none")
    by = partial(reference.position, _named(x)[1], largest=largest)
    return _found((position, largest), (x,), (rows,), partial(_seek, largest), by)


def _seek(largest: bool, x: View[Any], out: View[Any]) -> None:
    rows, candidates = x.shape
    if not rows:
        return
    threads = base.threads_of(x.device, THREADS)
    key = kernel_spec("position", _named(x)[0], threads, largest=largest, part=PART)
    left, step, blocks = out, 0, 0
    while blocks != 1:
        blocks = base.blocks(candidates, PART)
        found = out if blocks == 1 else allocate_numbers("int64", (rows, blocks), x.queue)
        given = {"k": candidates, "blocks": blocks, "given": step > 0, "x": x}
        given |= {"from": left, "to": found}
        launch.run(x.queue, (key,), (rows * blocks, 1, 1), (threads, 1, 1), given)
        left, candidates, step = found, blocks, 1
