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
    form: str,
    factors: int,
    addend: bool,
    threads: int,
    scaled: bool = False,
    distances: bool = False,
) -> tuple[KernelSpec, ...]:
    """The kernels that add, that fold accumulators, that round, and that multiply by alpha.

    *factors*: 2 for products, 1 for values; *addend*: with beta c; *scaled*: with alpha, which
    makes accumulators longer; *distances*: how far results are off is rounded, not the sums.
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
    times_name = f"{name}{'_times' if scaled else ''}"
    if distances:
        ending = spec(
            f"{times_name}_apart", "exact/apart.mako", f, {}, accumulator=ended, threads=threads
        )
    else:
        ending = spec(
            f"{times_name}_round",
            "exact/round.mako",
            f,
            {},
            accumulator=ended,
            places=accumulator.places(f),
            threads=threads,
        )
    return (
        spec(
            f"{name}{'_and_more' if addend else ''}",
            "exact/accumulate.mako",
            f,
            {},
            accumulator=long,
            addend=addend,
            held=accumulator.HELD.get(f.word, 0) if f.limbs == 1 else 0,
            threads=threads,
        ),
        spec(f"{name}_fold", "exact/add_up.mako", f, {}, planes=long.planes, threads=threads),
        ending,
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
    added = not base.is_number(beta, 0)
    for name, scalar in (("alpha", alpha or ()), ("beta", beta if added else ())):
        if target.size and not all(map(np.isfinite, scalar)):
            raise ArgumentError(
                f"{name}: {scalar[0]} given; what is correctly rounded has finite operands"
            )
    _gemm(a, b, alpha, beta, c if added else None, target)
    for each in np.ndindex(*target.shape[:-2]):
        _refuse_not_finite(base.matrix_of(target, each))
    return target


def gemm_apart(
    result: Planes,
    a: Planes,
    b: Planes,
    *,
    beta: base.ScalarLimbs,
    c: Planes | None = None,
    alpha: base.ScalarLimbs | None = None,
) -> Planes:
    """How far *result* is from alpha a b + beta c: words, each the exact distance rounded up.

    NaN where one of them is not finite. Operands as of ``gemm``.
    """
    added = not base.is_number(beta, 0)
    out = allocate(formats.get(result.format.word), result.shape, result.queue)
    _gemm(a, b, alpha, beta, c if added else None, out, result)
    return out


def _gemm(
    a: Planes,
    b: Planes,
    alpha: base.ScalarLimbs | None,
    beta: base.ScalarLimbs,
    c: Planes | None,
    out: Planes,
    result: Planes | None = None,
) -> None:
    if not out.size:
        return
    if alpha is not None and base.is_number(alpha, 0):
        a = a.view((*a.shape[:-1], 0), a.strides, a.start)
        b = b.view((*b.shape[:-2], 0, b.shape[-1]), b.strides, b.start)
    if alpha is not None and (base.is_number(alpha, 0) or base.is_number(alpha, 1)):
        alpha = None
    batch = out.shape[:-2]
    others = (v if v is None else v.broadcast_to((*batch, *v.shape[-2:])) for v in (c, result))
    views = [*(v.broadcast_to((*batch, *v.shape[-2:])) for v in (a, b)), *others]
    for each in np.ndindex(*batch):
        va, vb, vc, vz = (v and base.matrix_of(v, each) for v in views)
        assert va is not None
        _fill(va, vb, beta, vc, base.matrix_of(out, each), alpha, vz)


def over_rows(x: Planes) -> Planes:
    """The sum of each row of x (m, n), rounded once; shape (m,). Errors as of gemm."""
    out = allocate(x.format, (x.shape[0],), x.queue)
    if out.size:
        _fill(x, None, None, None, _column(out))
    _refuse_not_finite(_column(out))
    return out


def over_rows_apart(result: Planes, x: Planes) -> Planes:
    """How far *result* (m,) is from the sums of the rows of x (m, n), as of ``gemm_apart``."""
    out = allocate(formats.get(x.format.word), result.shape, x.queue)
    if out.size:
        _fill(x, None, None, None, _column(out), None, _column(result))
    return out


def _column(x: Planes) -> Planes:
    return x.view((*x.shape, 1), (*x.strides, 1), x.start)


def _refuse_not_finite(out: Planes) -> None:
    """ArgumentError for a sum that is not a number.

    Sums of finite operands are numbers or infinities: it had an operand that is not.
    """
    if not out.size:
        return
    largest = reduce.over_rows("max", out)
    if np.isnan(largest.read_dense()[0]).any():
        raise ArgumentError(
            "rounding: 'correct' given, which needs finite operands; there is an infinity or a NaN"
        )


def _fill(
    a: Planes,
    b: Planes | None,
    beta: base.ScalarLimbs | None,
    c: Planes | None,
    out: Planes,
    alpha: base.ScalarLimbs | None = None,
    result: Planes | None = None,
) -> None:
    """*out*: the sums, or words, how far *result* is from them."""
    form = a.format
    if not out.device.by_reference:
        _launch(a, b, beta, c, out, alpha, result)
    elif b is None:
        base.on_host(out, partial(reference.over_rows, form), a, result)
    else:
        terms = a, b, beta if c else None, c, alpha, result
        base.on_host(out, partial(reference.gemm, form), *terms)


def _launch(
    a: Planes,
    b: Planes | None,
    beta: base.ScalarLimbs | None,
    c: Planes | None,
    out: Planes,
    alpha: base.ScalarLimbs | None,
    result: Planes | None,
) -> None:
    device, queue, form = out.device, out.queue, a.format
    threads = base.threads(device, THREADS)
    factors = 1 if b is None else 2
    how = factors, c is not None, threads, alpha is not None, result is not None
    specs = compilation_unit(form.name, *how)
    kernels = program.kernels(device, *specs)
    add, fold, ending, *scaling = (kernels[one.name] for one in specs)
    planes = LongAccumulator(form.word, factors).planes
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
        longer = LongAccumulator(form.word, factors + 1).planes
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
        ends = [v for v in (result, out) if v is not None]
        ended = [argument for v in ends for argument in base.strided(v, *v.strides)]
        launch(ending, count, [n, first, count, *_placed(sums, count), *ended])


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
