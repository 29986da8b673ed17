"""Correctly rounded sums and products: exact sums in long accumulators, rounded once.

Definition: the exact value of alpha sum_k a_ik b_kj + beta c_ij, or of the sum of a row, whatever
cancels in it. Its limbs are those that conversion of exact numbers gives: each is what is left,
rounded as its plane is stored, to nearest with ties to even (truncated where the format says so).
A sum that is zero has limbs +0. Operands that are not finite are refused. Integers are added, so
that neither the number of work-items nor the order shows in the bits.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from portmp import formats
from portmp.backends.base import Argument, Device, Kernel
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.errors import ArgumentError
from portmp.routines import base, reduce
from portmp.routines.exact import accumulator, reference
from portmp.routines.exact.accumulator import LongAccumulator
from portmp.routines.gemm import launch as products
from portmp.runtime import program
from portmp.runtime.planes import Numbers, Planes, allocate, allocate_numbers

THREADS = 64
ITEMS = 512
"""Long accumulators for each compute unit: enough work-items, and not too much memory."""
FEWEST = 64
"""Terms of a sum that are worth an accumulator."""
FOLDED = 64
"""Accumulators that one work-item adds up."""


@cache
def compilation_unit(
    form: str, factors: int, addend: bool, threads: int, scaled: bool = False
) -> tuple[KernelSpec, ...]:
    """The kernels that add, that fold accumulators, that round, and that multiply by alpha.

    *factors*: 2 for products, 1 for values; *addend*: with beta c; *scaled*: with alpha, which
    makes accumulators longer.
    """
    f = formats.get(form)
    long = LongAccumulator(f.word, factors)
    ended = LongAccumulator(f.word, factors + scaled)
    name = "exact_product" if factors == 2 else "exact_sum"
    times = spec(
        f"{name}_times{'_and_more' if addend else ''}",
        "exact/scale.mako",
        f,
        {},
        given=long,
        accumulator=ended,
        addend=addend,
        threads=threads,
    )
    addend = addend and not scaled
    return (
        spec(
            f"{name}{'_and_more' if addend else ''}",
            "exact/accumulate.mako",
            f,
            {},
            accumulator=long,
            addend=addend,
            threads=threads,
        ),
        spec(f"{name}_fold", "exact/add_up.mako", f, {}, planes=long.planes, threads=threads),
        spec(
            f"{name}{'_times' if scaled else ''}_round",
            "exact/round.mako",
            f,
            {},
            accumulator=ended,
            places=accumulator.places(f),
            threads=threads,
        ),
        *((times,) if scaled else ()),
    )


def gemm(
    a: Planes,
    b: Planes,
    *,
    beta: base.ScalarLimbs,
    c: Planes | None = None,
    out: Planes | None = None,
    alpha: base.ScalarLimbs | None = None,
) -> Planes:
    """alpha a b + beta c for a (..., m, k), b (..., k, n), rounded once; batch axes broadcast.

    alpha = 0 does not read a and b. ArgumentError where an operand is not finite; it waits for the
    device to know.
    """
    c, target = products.operands(a, b, c, out, beta)
    if not target.size:
        return target
    added = not base.is_number(beta, 0)
    for name, scalar in (("alpha", alpha or ()), ("beta", beta if added else ())):
        if not all(map(np.isfinite, scalar)):
            raise ArgumentError(
                f"{name}: {scalar[0]} given; what is correctly rounded has finite operands"
            )
    if alpha is not None and base.is_number(alpha, 0):
        a = a.view((*a.shape[:-1], 0), a.strides, a.start)
        b = b.view((*b.shape[:-2], 0, b.shape[-1]), b.strides, b.start)
    if alpha is not None and (base.is_number(alpha, 0) or base.is_number(alpha, 1)):
        alpha = None
    batch = target.shape[:-2]
    views = [v.broadcast_to((*batch, *v.shape[-2:])) for v in (a, b, c, target)]
    for each in np.ndindex(*batch):
        va, vb, vc, vo = (base.matrix_of(v, each) for v in views)
        _fill(va, vb, beta, vc if added else None, vo, alpha)
    return target


def over_rows(x: Planes) -> Planes:
    """The sum of each row of x (m, n), rounded once; shape (m,). Errors as of gemm."""
    out = allocate(x.format, (x.shape[0],), x.queue)
    if out.size:
        _fill(x, None, None, None, out.view((x.shape[0], 1), (1, 1), 0))
    return out


def _fill(
    a: Planes,
    b: Planes | None,
    beta: base.ScalarLimbs | None,
    c: Planes | None,
    out: Planes,
    alpha: base.ScalarLimbs | None = None,
) -> None:
    form = out.format
    if not out.device.by_reference:
        _launch(a, b, beta, c, out, alpha)
    elif b is None:
        base.on_host(out, partial(reference.over_rows, form), a)
    else:
        base.on_host(out, partial(reference.gemm, form), a, b, beta if c else None, c, alpha)
    # Sums of finite operands are numbers or infinities: what is NaN had an operand that is not.
    largest = reduce.over_rows("max", out)
    if np.isnan(largest.read_dense()[0]).any():
        raise ArgumentError(
            "rounding: 'correct' given, which needs finite operands; there is an infinity or a NaN"
        )


def _launch(
    a: Planes,
    b: Planes | None,
    beta: base.ScalarLimbs | None,
    c: Planes | None,
    out: Planes,
    alpha: base.ScalarLimbs | None,
) -> None:
    device, queue = out.device, out.queue
    threads = base.threads(device, THREADS)
    factors = 1 if b is None else 2
    specs = compilation_unit(out.format.name, factors, c is not None, threads, alpha is not None)
    kernels = program.kernels(device, *specs)
    add, fold, rounding, *scaling = (kernels[one.name] for one in specs)
    planes = LongAccumulator(out.format.word, factors).planes
    k, n = a.shape[1], out.shape[1]
    together, parts = shares(device, out.size, k)
    work = allocate_numbers("int64", (planes, together * parts), queue)
    spare = allocate_numbers("int64", (planes, together * base.blocks(parts, FOLDED)), queue)

    def launch(kernel: Kernel, items: int, args: list[Argument]) -> None:
        queue.launch(kernel, (base.blocks(items, threads), 1, 1), (threads, 1, 1), args)

    operands: list[Argument] = base.strided(a, *a.strides)
    if b is not None:
        operands += base.strided(b, *b.strides)
    more: list[Argument] = []
    if c is not None and beta is not None:
        more = [*base.strided(c, *c.strides), *beta]
    if alpha is None:
        operands += more
    else:
        longer = LongAccumulator(out.format.word, factors + 1).planes
        product = allocate_numbers("int64", (longer, together), queue)
    for first in range(0, out.size, together):
        count = min(together, out.size - first)
        sums, other, left = work, spare, parts
        terms: list[Argument] = [n, k, first, count, parts, *operands]
        launch(add, count * parts, [*terms, *_placed(sums, count * left)])
        while left > 1:
            fewer = base.blocks(left, FOLDED)
            places = [*_placed(sums, count * left), *_placed(other, count * fewer)]
            launch(fold, planes * count * fewer, [count, left, fewer, *places])
            sums, other, left = other, sums, fewer
        if alpha is not None:
            places = [*_placed(sums, count), *_placed(product, count)]
            launch(scaling[0], count, [n, first, count, *alpha, *more, *places])
            sums = product
        place = base.strided(out, *out.strides)
        launch(rounding, count, [n, first, count, *_placed(sums, count), *place])


def _placed(work: Numbers, accumulators: int) -> list[Argument]:
    """Memory, how far apart accumulators begin there, and how far a digit is from the next.

    Neighbouring work-items of a GPU have neighbours in memory; a CPU's have each its own lines.
    """
    if work.device.properties.kind == "cpu":
        return [*work.buffers, work.shape[0], 1]
    return [*work.buffers, 1, accumulators]


def shares(device: Device, elements: int, k: int) -> tuple[int, int]:
    """How many elements are summed at a time, and among how many accumulators each."""
    items = ITEMS * device.properties.compute_units
    together = min(elements, items)
    useful = base.blocks(max(k, 1), FEWEST)
    parts = max(1, min(useful, items // together), base.blocks(k, accumulator.LONGEST))
    return together, parts
