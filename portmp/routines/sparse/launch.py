"""Products of a sparse matrix, stored by rows, with a vector or the columns of a matrix.

Definition: a row's stored elements are taken in their order in memory. Element i of the row
belongs to chunk i div ``definition.SPARSE_CHUNK`` and, e being its place in the chunk, to lane e
mod ``definition.SPARSE_LANES``; a lane accumulates in order as a lane of DOT does, then
``finish``; the lanes that hold elements combine pairwise by ``add`` with halving distance, a
lane without partner staying as it is. Where the chunk's leading limb is not finite it is what
the same lanes give of leading limbs. Chunks are added in order, then alpha and beta as in GEMM;
a row without elements is a product over nothing. All is the same for each column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Argument, Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.errors import ShapeError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.reduce.roles import steps
from portmp.routines.sparse import reference
from portmp.runtime import program
from portmp.runtime.planes import Host, Numbers, Planes, allocate, allocate_numbers

THREADS = 128
"""Work-items of a block: teams of one for each lane."""
ALONE = 32
"""The same where a work-item has all lanes of a row, as on CPUs."""


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

    def upload(numbers: Any, dtype: str) -> Numbers:
        made = allocate_numbers(dtype, numbers.shape, values.queue)
        if numbers.size:
            made.write_parts([numbers.astype(dtype)])
        return made

    chunk = definition.SPARSE_CHUNK
    counts = -(-np.diff(starts) // chunk)
    chunks: Numbers | None = None
    first: Numbers | None = None
    if counts.size and counts.max() > 1:
        firsts = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(firsts[-1]) - np.repeat(firsts[:-1], counts)
        borders = np.repeat(starts[:-1], counts) + places * chunk
        chunks = upload(np.concatenate([borders, starts[-1:]]), "int64")
        first = upload(firsts, "int64")
    shape = (len(starts) - 1, width)
    return Rows(shape, values, upload(columns, "int32"), upload(starts, "int64"), chunks, first)


@cache
def kernel_spec(
    form: str, matrix: str, threads: int, alone: bool, across: bool = False
) -> KernelSpec:
    """The kernels that multiply chunks, and that add the chunks of rows.

    *matrix*: the format of the stored elements; *alone*: a work-item takes all lanes of a chunk;
    *across*: neighbouring work-items, not of one team, read neighbouring columns.
    """
    f = formats.get(form)
    accumulator = f.accumulator("accurate")
    nets = steps(f, "dot")
    roles = nets | {op: f.operator(op) for op in ("add", "mul")}
    return spec(
        "csr_rows",
        "linalg/csr.mako",
        f,
        roles,
        stored={"a": formats.get(matrix)} if matrix != form else None,
        lanes=definition.SPARSE_LANES,
        period=accumulator.period,
        threads=threads,
        alone=alone,
        across=across,
    )


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

    The stored elements may be in a storage format of x's. *alone* chooses the kernel, for tests.
    """
    form = x.format
    base.computes(form, "x")
    base.same(form, x=x, **({} if a.values.format.arithmetic is form else {"a": a.values}))
    base.same_device(x, a=a.values)
    if x.ndim not in (1, 2) or x.shape[0] != a.shape[1]:
        raise ShapeError(f"@: a sparse matrix {a.shape} and {x.shape} cannot be multiplied")
    shape = (a.shape[0], *x.shape[1:])
    target = base.output(out, x, shape, a=a.values, x=x)
    if y is None and not base.is_number(beta, 0):
        raise ShapeError("beta is not 0 but y is missing")
    addend = target if y is None or base.is_number(beta, 0) else y
    if addend is not target:
        base.same(form, x=x, y=addend)
        if addend.shape != shape:
            raise ShapeError(f"y: shape {addend.shape} given, {shape} needed")
        base.refuse_shift(target, y=addend)
    if not target.size:
        return target
    if target.device.by_reference:
        given = None if base.is_number(beta, 0) else addend
        product = partial(_on_host, a.values.format.arithmetic, alpha, beta)
        base.on_host(target, product, a.values, a.columns, a.starts, x, given)
        return target
    _launch(a, x, alpha, beta, addend, target, alone)
    return target


def _on_host(
    form: Format,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    values: Host,
    columns: Host,
    starts: Host,
    x: Host,
    y: Host | None,
) -> Host:
    return reference.times(form, values, columns[0], starts[0], x, alpha, beta, y)


def _launch(
    a: Rows,
    x: Planes,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    y: Planes,
    out: Planes,
    alone: bool | None,
) -> None:
    device, queue = out.device, out.queue
    width = x.shape[1] if x.ndim == 2 else 1
    alone = by_itself(device) if alone is None else alone
    threads = threads_of(device, alone)
    names = x.format.name, a.values.format.name
    # Only a team has neighbours that read the same elements.
    key = kernel_spec(*names, threads, alone, width > 1 and not alone)
    kernels = program.kernels(device, key)
    each = threads if alone else threads // definition.SPARSE_LANES
    zero = base.is_number(alpha, 0)

    def launch(name: str, starts: Numbers, rest: list[Argument]) -> None:
        count = (starts.shape[0] - 1) * width
        args: list[Argument] = [count, width, 0 if zero else 1, *base.strided(a.values)]
        args += [*a.columns.buffers, *starts.buffers, *base.strided(x, *_steps(x)), *rest]
        queue.launch(kernels[name], (base.blocks(count, each), 1, 1), (threads, 1, 1), args)

    kind = 0 if base.is_number(beta, 0) else 1 if base.is_number(beta, 1) else 2
    end: list[Argument] = [*base.strided(y, *_steps(y)), *base.strided(out, *_steps(out))]
    end += [*alpha, *beta, np.int32(base.is_number(alpha, 1)), np.int32(kind)]
    if a.chunks is None or a.first is None or zero:
        launch("csr_rows", a.starts, end)
        return
    work = allocate(x.format.compute, (a.chunks.shape[0] - 1, width), queue)
    launch("csr_chunks", a.chunks, list(work.buffers))
    count = a.shape[0] * width
    args: list[Argument] = [count, width, *a.first.buffers, *work.buffers, *end]
    blocks = (base.blocks(count, threads), 1, 1)
    queue.launch(kernels["csr_add"], blocks, (threads, 1, 1), args)


def _steps(v: Planes) -> tuple[int, int]:
    """The strides of rows and columns; a vector is one column."""
    return (v.strides[0], v.strides[1]) if v.ndim == 2 else (v.strides[0], 0)
