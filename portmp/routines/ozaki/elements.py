"""Single elements of a product by the direct definition, where a list says which: no host waits.

A block of few threads makes an element, which share its slabs; a product of few slabs keeps most of
them idle, so that this is for few elements only.
"""

from functools import cache
from typing import Any, NamedTuple

from portmp import definition, formats
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index, Scratch
from portmp.routines import base
from portmp.routines.products.product import SCALARS, Product
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, allocate

THREADS = 32
GROUPS = 1024
"""Blocks of a launch, which take the list by turns: its length is not known beforehand."""

FEWEST, SHARE = 64, 256
"""Elements of which a list tells: at least so many, and one of so many of a matrix."""


class Listed(NamedTuple):
    """Elements by their places, row n + column: the first *tickets* of *places*, or all."""

    places: Numbers
    tickets: Numbers


def most(m: int, n: int) -> int:
    """Of how many elements of a matrix a list tells."""
    return max(m * n // SHARE, FEWEST)


@cache
def kernel_spec(form: str, threads: int) -> KernelSpec:
    """The kernels that make listed elements, and put them in their places."""
    f = formats.get(form)
    accumulator = f.accumulator()
    name = "gemm_elements"
    pairs = ("row", "col")
    count = [Array("tickets", plain=("int32",), numbered=False)]
    shared = [Index("n"), Index("most"), Index("groups"), *count]
    places = Scratch("list", "int64", const=True)
    factors = [Array(one, pairs) for one in "abc"]
    return spec(
        name,
        "ozaki/elements.mako",
        f,
        accumulator.networks | f.roles("add", "mul"),
        takes={
            name: [
                *(Index("k"), *shared, places, *factors, *SCALARS),
                Array("values", const=False),
            ],
            f"{name}_put": [*shared, places, Array("values"), Array("out", pairs, const=False)],
        },
        threads=threads,
        slab=definition.SLAB,
        period=accumulator.period,
    )


def made(given: Product[Planes], listed: Listed) -> Planes:
    """The values of listed elements, in the list's order; nothing is written to the output."""
    found = allocate(given.out.format, listed.places.shape, given.out.queue)
    ending = {n: one for n, one in given.ending.items() if n != "out"}
    more = {"a": given.a, "b": given.b, "k": given.steps, **ending}
    _run(given, listed, found, more, "")
    return found


def put(given: Product[Planes], listed: Listed, values: Planes) -> None:
    """Write them to the output."""
    _run(given, listed, values, {"out": given.out}, "_put")


def _run(
    given: Product[Planes], listed: Listed, values: Planes, more: dict[str, Any], which: str
) -> None:
    places, tickets = listed
    threads = base.threads_of(values.device, THREADS)
    key = kernel_spec(given.out.format.name, threads)
    groups = min(GROUPS, places.size)
    shared = {"n": given.out.shape[1], "most": places.size, "groups": groups, "tickets": tickets}
    shared |= {"list": places, "values": values, **more}
    launch.run(values.queue, (key,), (groups, 1, 1), (threads, 1, 1), shared, f"{key.name}{which}")
