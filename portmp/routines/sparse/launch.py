"""Products of a sparse matrix, stored by rows, with a vector or the columns of a matrix.

Definition: a row's stored elements are taken in their order in memory. Element i of the row
belongs to chunk i div ``definition.SPARSE_CHUNK`` and, e being its place in the chunk, to lane e
mod ``definition.SPARSE_LANES``; a lane accumulates in order as a lane of DOT does, then
``finish``; the lanes that hold elements combine pairwise by ``add`` with halving distance, a
lane without partner staying as it is. Where the chunk's leading limb is not finite it is what
the same lanes give of leading limbs. Chunks are added in order, then alpha and beta as in GEMM;
a row without elements is a product over nothing. All is the same for each column. Of complex
numbers, a = p + iq and x = r + is, a row has the sums p r, p s, q r and q s, each like that; then
come sub(p r, q s) and add(p s, q r), and alpha and beta, which are real, with both. A real operand
leaves two sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index, Scratch
from portmp.errors import ShapeError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.products.product import (
    SCALARS,
    Asked,
    Product,
    completed,
    computed_by,
    vector_addend,
)
from portmp.routines.reduce.reference import steps
from portmp.routines.sparse import reference
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, allocate, blank_like, upload_numbers

THREADS = 128
"""Work-items of a block: teams of one for each lane."""
ALONE = 32
"""The same where a work-item has all lanes of a row, as on CPUs."""
MATRIX = "row", "col"
"""Strides of what is no batch; a vector is a matrix of one column."""
FACTORS = (
    *(Index(name) for name in ("chunks", "width", "some")),
    *(Array("a"), Scratch("columns", "int32", const=True), Scratch("starts", "int64", const=True)),
    Array("x", MATRIX),
)
ENDING = (Array("c", MATRIX), Array("out", MATRIX, const=False), *SCALARS)
TAKES = {
    "csr_rows": (*FACTORS, *ENDING),
    "csr_chunks": (*FACTORS, Array("out", start=False, const=False, compute=True)),
    "csr_add": (
        *(Index("rows"), Index("width"), Scratch("firsts", "int64", const=True)),
        *(Array("partial", start=False, compute=True), *ENDING),
    ),
}
"""What the kernels take."""


@dataclass(frozen=True)
class Rows:
    """A sparse matrix: row i has elements ``starts[i]`` to ``starts[i + 1]`` (int64), whose columns
    are ``columns`` (int32) and whose values are ``values``, in any format.

    ``chunks`` are the same borders of chunks (int64), and ``first`` the first chunk of each row and
    the end (int64), where a row has more than one; else they are None.
    """

    shape: tuple[int, int]
    values: Planes
    columns: Numbers
    starts: Numbers
    chunks: Numbers | None = None
    first: Numbers | None = None


def rows_of(values: Planes, starts: Any, columns: Any, width: int) -> Rows:
    """A matrix of so many columns whose elements are *values*, by indices on the host."""
    chunk = definition.SPARSE_CHUNK
    counts = -(-np.diff(starts) // chunk)
    numbers = [columns.astype(np.int32), starts.astype(np.int64)]
    if counts.size and counts.max() > 1:
        firsts = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(firsts[-1]) - np.repeat(firsts[:-1], counts)
        borders = np.repeat(starts[:-1], counts) + places * chunk
        numbers += [np.concatenate([borders, starts[-1:]]), firsts]
    lists = (upload_numbers(one, values.queue) for one in numbers)
    return Rows((len(starts) - 1, width), values, *lists)


@cache
def kernel_spec(
    form: str, matrix: str, threads: int, alone: bool, across: bool = False
) -> KernelSpec:
    """The kernels that multiply chunks, and that add the chunks of rows.

    *form*: the format of vectors; *matrix*: that of the stored elements; *alone*: a work-item takes
    all lanes of a chunk; *across*: neighbouring work-items, not of one team, read neighbouring
    columns.
    """
    operands = {"a": formats.get(matrix), "x": formats.get(form)}
    f = operands["x"].component
    if of := complex_of(*operands.values()):
        operands |= {"c": of, "out": of}
    accumulator = f.accumulator("accurate")
    nets = steps(f, "dot")
    roles = nets | f.roles("add", "mul", *(["sub"] if of else []))
    return spec(
        "csr_rows",
        "linalg/csr.mako",
        f,
        roles,
        takes=TAKES,
        stored={name: one for name, one in operands.items() if one is not f},
        lanes=definition.SPARSE_LANES,
        period=accumulator.period,
        threads=threads,
        alone=alone,
        across=across,
    )


def complex_of(a: Format, x: Format) -> Format | None:
    """The format of the products of complex numbers; None of real ones."""
    return formats.complex_of(x) if a.components + x.components > 2 else None


def threads_of(device: Device | None, alone: bool) -> int:
    """Work-items of a block."""
    return base.threads(device, ALONE if alone else THREADS)


def by_itself(device: Device | None) -> bool:
    """Whether a work-item takes all lanes: where its neighbours do not run in step with it."""
    return device is not None and device.properties.warp_size <= 1


def times(
    a: Rows,
    x: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    y: Planes | None = None,
    out: Planes | None = None,
    alone: bool | None = None,
) -> Planes:
    """alpha a x + beta y for a (m, n), x (n,) or (n, r); y and out (m,) or (m, r).

    The stored elements may be in a storage format of x's. a, x or both may be complex; *alpha* and
    *beta* are limbs of a part. *alone* chooses the kernel, for tests.
    """
    if base.is_number(beta, 0):
        y = None
    pattern = [a.columns, a.starts]
    if a.chunks is not None and a.first is not None:
        pattern += [a.chunks, a.first]
    factors = a.values, x, alpha, beta
    kept, key, plan = launch.find((times, a.shape, alone), (*factors, y, out, *pattern))
    if plan is None:
        given = _checked(Product(*factors, y, out), a.shape)
        by = partial(_by_kernels, alone), computed_by(partial(reference.times, x.format.component))
        plan = kept.plan(key, (*given, *pattern), *by, blank_like(given.out))
    return plan.run((*factors, y, None, *pattern), out)


def _checked(given: Asked, shape: tuple[int, int]) -> Product[Planes]:
    """With an output, and what is added (where there is none, the output), once all fit."""
    values, x = given.a, given.b
    form = x.format
    base.computes(form.component, "x")
    alike = values.format.arithmetic.component is form.component
    base.same(form, x=x, **({} if alike else {"a": values}))
    base.same_device(x, a=values)
    if x.ndim not in (1, 2) or x.shape[0] != shape[1]:
        raise ShapeError(f"@: a sparse matrix {shape} and {x.shape} cannot be multiplied")
    like = x if complex_of(values.format, form) in (None, form) else values
    found = completed(given._replace(b=like), (shape[0], *x.shape[1:]), vector_addend, "x", "y")
    base.refuse_overlap(found.out, x=x)
    return found._replace(b=x)


launch.TAKES_COMPLEX.add(times)


def _by_kernels(alone: bool | None, *operands: Any) -> None:
    given: Product[Planes] = Product(*operands[:6])
    columns, starts, *borders = operands[6:]
    if not given.out.size:
        return
    if given.out.ndim == 1:
        given = given.in_columns()
    values, x, out = given.a, given.b, given.out
    device, queue = out.device, out.queue
    width = out.shape[1]
    alone = by_itself(device) if alone is None else alone
    threads = threads_of(device, alone)
    names = x.format.name, values.format.name
    # Only a team has neighbours that read the same elements.
    unit = (kernel_spec(*names, threads, alone, width > 1 and not alone),)
    each = threads if alone else threads // definition.SPARSE_LANES
    some = not base.is_number(given.alpha, 0)

    def multiply(name: str, starts: Numbers, rest: dict[str, Any]) -> None:
        count = (starts.shape[0] - 1) * width
        what = {"chunks": count, "width": width, "some": some, "a": values, "x": x, **rest}
        what |= {"columns": columns, "starts": starts}
        grid = (base.blocks(count, each), 1, 1)
        launch.run(queue, unit, grid, (threads, 1, 1), what, name)

    if not borders or not some:
        multiply("csr_rows", starts, given.ending)
        return
    chunks, firsts = borders
    terms = values.format.components * x.format.components
    work = allocate(x.format.component.compute, (chunks.shape[0] - 1, width * terms), queue)
    multiply("csr_chunks", chunks, {"out": work})
    what = {"rows": out.size, "width": width, "firsts": firsts, "partial": work, **given.ending}
    launch.over(queue, unit, out.size, threads, what, "csr_add")
