"""Correctly rounded sums and products: exact sums in long accumulators, rounded once.

Definition: the exact value of alpha sum_k a_ik b_kj + beta c_ij, or of the sum of a row, whatever
cancels in it. Its limbs are those that conversion of exact numbers gives: each is what is left,
rounded as its plane is stored, to nearest with ties to even (truncated where the format says so).
A sum that is zero has limbs +0. Operands that are not finite are refused. Integers are added, so
that neither the number of work-items nor the order shows in the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import formats
from portmp.backends.base import Device, Queue
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index, Parameter, Scratch, Value
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.exact import accumulator, reference
from portmp.routines.exact.accumulator import LongAccumulator
from portmp.routines.gemm import launch as products
from portmp.routines.products.product import Asked, Product, entries
from portmp.routines.reduce import launch as reduce
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, allocate, allocate_numbers, upload

THREADS = 64
ITEMS = 512
"""Long accumulators for each compute unit: enough work-items, and not too much memory."""
FEWEST = 64
"""Terms of a sum that are worth an accumulator."""
FOLDED = 64
"""Accumulators that one work-item adds up."""
NOT_FINITE = "rounding: 'correct' given, which needs finite operands; there is an infinity or a NaN"


def _places(name: str, const: bool = False) -> tuple[Parameter, ...]:
    """Accumulators: memory, how far apart they are there, and how far a digit is from the next."""
    lead = "" if name == "work" else f"{name}_"
    return Scratch(name, "int64", const), Index(f"{lead}stride"), Index(f"{lead}step")


MATRIX = ("row", "col")
WHICH = Index("n"), Index("first"), Index("count")
"""Which elements of a matrix with n columns are computed."""
WORK, SUMS = _places("work"), _places("sums")


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
    long, ended = LongAccumulator(f.word, factors), LongAccumulator(f.word, factors + scaled)
    name = "exact_product" if factors == 2 else "exact_sum"
    times = f"{name}_times" if scaled else name
    more = (Array("c", MATRIX), Value("beta")) if addend else ()
    early = () if scaled else more  # beta c is added to what is scaled

    def kernel(called: str, template: str, *takes: Parameter, **values: Any) -> KernelSpec:
        path = f"exact/{template}.mako"
        return spec(called, path, f, {}, takes=takes, threads=threads, **values)

    add = kernel(
        f"{name}_and_more" if early else name,
        "accumulate",
        *(Index("n"), Index("k"), Index("first"), Index("count"), Index("parts")),
        *(Array(one, MATRIX) for one in "ab"[:factors]),
        *(*early, *WORK),
        accumulator=long,
        addend=bool(early),
        held=accumulator.HELD.get(f.word, 0) if f.limbs == 1 else 0,
    )
    sizes = Index("count"), Index("parts"), Index("fewer")
    there = _places("work", const=True)
    fold = kernel(f"{name}_fold", "add_up", *sizes, *there, *SUMS, planes=long.planes)
    if distances:
        far = Array("out", MATRIX, const=False, plain=(f.word,), numbered=False)
        far_from = *WHICH, *WORK, Array("z", MATRIX), far
        ending = kernel(f"{times}_distances", "distances", *far_from, accumulator=ended)
    else:
        takes = *WHICH, *WORK, Array("out", MATRIX, const=False)
        places = accumulator.places(f)
        ending = kernel(f"{times}_round", "round", *takes, accumulator=ended, places=places)
    if not scaled:
        return add, fold, ending
    called = f"{times}_and_more" if addend else times
    takes = *WHICH, Value("alpha"), *more, *SUMS, *WORK
    values = {"given": long, "accumulator": ended, "addend": addend}
    return add, fold, ending, kernel(called, "scale", *takes, **values)


def gemm(given: Asked) -> Planes:
    """alpha a b + beta c for a (..., m, k), b (..., k, n), rounded once; batch axes broadcast.

    alpha = 0 does not read a and b. ArgumentError where an operand is not finite; it waits for the
    device to know.
    """
    whole = products.checked(given)
    out = whole.out
    for name, scalar in (("alpha", whole.alpha), ("beta", whole.beta if whole.adds else ())):
        if out.size and not all(map(np.isfinite, scalar)):
            raise ArgumentError(
                f"{name}: {scalar[0]} given; what is correctly rounded has finite operands"
            )
    _gemm(whole)
    for each in np.ndindex(*out.shape[:-2]):
        _refuse_not_finite(base.matrix_of(out, each))
    return out


def gemm_distances(result: Planes, given: Asked) -> Planes:
    """How far *result* is from alpha a b + beta c: words, each the exact distance rounded up.

    NaN where one of them is not finite. Operands as of ``gemm``.
    """
    out = allocate(formats.get(result.format.word), result.shape, result.queue)
    a, b, alpha, beta, c, _ = given
    _gemm(Product(a, b, alpha, beta, c if c and given.adds else out, out), result)
    return out


def _gemm(given: Product[Planes], result: Planes | None = None) -> None:
    if not given.out.size:
        return
    scale: base.ScalarLimbs | None = given.alpha
    if base.is_number(given.alpha, 0):
        a, b, scale = given.a, given.b, None
        a = a.view((*a.shape[:-1], 0), a.strides, a.start)
        given = given._replace(a=a, b=b.view((*b.shape[:-2], 0, b.shape[-1]), b.strides, b.start))
    elif base.is_number(given.alpha, 1):
        scale = None
    places = np.ndindex(*given.out.shape[:-2])
    for place, (a, b, _, beta, c, out) in zip(places, entries(given), strict=True):
        more = (beta, c) if given.adds else (None, None)
        _fill(a, b, scale, *more, result and base.matrix_of(result, place), out)


def over_rows(x: Planes) -> Planes:
    """The sum of each row of x (m, n), rounded once; shape (m,). Errors as of gemm."""
    out = allocate(x.format, (x.shape[0],), x.queue)
    if out.size:
        _fill(x, *[None] * 5, base.column_of(out))
    _refuse_not_finite(base.column_of(out))
    return out


def over_rows_distances(result: Planes, x: Planes) -> Planes:
    """How far *result* (m,) is from the sums of the rows of x (m, n), as of ``gemm_distances``."""
    out = allocate(formats.get(x.format.word), result.shape, x.queue)
    if out.size:
        _fill(x, *[None] * 4, base.column_of(result), base.column_of(out))
    return out


def _refuse_not_finite(out: Planes) -> None:
    """ArgumentError for a sum that is not a number.

    Sums of finite operands are numbers or infinities: it had an operand that is not.
    """
    if not out.size:
        return
    largest = reduce.over_rows("max", out)
    if np.isnan(largest.read_dense()[0]).any():
        raise ArgumentError(NOT_FINITE)


def _fill(*terms: Any) -> None:
    """Fill the last one, as ``_launch`` does."""
    a, b, *_ = terms
    by = reference.gemm if b else lambda form, a, *terms: reference.over_rows(form, a, terms[-1])
    launch.do(terms, _launch, base.hosted(partial(by, a.format)))


def _launch(
    a: Planes,
    b: Planes | None,
    alpha: base.ScalarLimbs | None,
    beta: base.ScalarLimbs | None,
    c: Planes | None,
    result: Planes | None,
    out: Planes,
) -> None:
    """*out*: the sums, or words, how far *result* is from them; None for what does not count."""
    device, queue, form = out.device, out.queue, a.format
    threads = base.threads(device, THREADS)
    factors = 1 if b is None else 2
    how = factors, c is not None, threads, alpha is not None, result is not None
    specs = compilation_unit(form.name, *how)
    add, fold, ending, *scaling = (one.name for one in specs)
    planes = LongAccumulator(form.word, factors).planes
    k, n = a.shape[1], out.shape[1]
    together, parts = shares(device, out.size, k)
    work = allocate_numbers("int64", (planes, together * parts), queue)
    spare = allocate_numbers("int64", (planes, together * base.blocks(parts, FOLDED)), queue)

    def run(kernel: str, items: int, given: Mapping[str, Any]) -> None:
        launch.over(queue, specs, items, threads, given, kernel)

    operands: dict[str, Any] = {"a": a} if b is None else {"a": a, "b": b}
    more = {} if c is None else {"c": c, "beta": beta}
    ends = {"out": out} if result is None else {"z": result, "out": out}
    if alpha is None:
        operands |= more
    else:
        longer = LongAccumulator(form.word, factors + 1).planes
        product = allocate_numbers("int64", (longer, together), queue)
    for first in range(0, out.size, together):
        count = min(together, out.size - first)
        which = {"n": n, "first": first, "count": count}
        sums = _added(run, (add, fold), which, (k, parts), (work, spare), operands)
        if alpha is not None:
            places = _placed(sums, count, "sums") | _placed(product, count)
            run(scaling[0], count, {**which, "alpha": alpha, **more, **places})
            sums = product
        run(ending, count, which | _placed(sums, count) | ends)


def _added(
    run: Callable[[str, int, Mapping[str, Any]], None],
    kernels: tuple[str, str],
    which: Mapping[str, int],
    sizes: tuple[int, int],
    memory: tuple[Numbers, Numbers],
    operands: Mapping[str, Any],
) -> Numbers:
    """Sums of some elements, each of so many terms in so many parts, in one of two memories."""
    (add, fold), count, (k, parts) = kernels, which["count"], sizes
    sums, other = memory
    places = _placed(sums, count * parts)
    run(add, count * parts, {**which, "k": k, "parts": parts, **operands, **places})
    left = parts
    while left > 1:
        fewer = base.blocks(left, FOLDED)
        places = _placed(sums, count * left) | _placed(other, count * fewer, "sums")
        run(
            fold,
            sums.shape[0] * count * fewer,
            {"count": count, "parts": left, "fewer": fewer} | places,
        )
        sums, other, left = other, sums, fewer
    return sums


def accumulated(x: Planes, y: Planes | None = None) -> tuple[int, int]:
    """The exact sum of a vector x, or of its products with y, in units of the smallest subnormal,
    or of its square; and how many terms are not finite. It waits for the device.

    So sums of parts of vectors are added up as integers, and rounded once (``rounded``).
    """
    if not x.size:
        return 0, 0
    row = x.view((1, *x.shape), (0, *x.strides), x.start)
    column = None if y is None else base.column_of(y)
    given: Any = row, column
    return launch.do(given, _accumulated, reference.accumulated)


def _accumulated(a: Planes, b: Planes | None) -> tuple[int, int]:
    queue, k = a.queue, a.shape[1]
    factors, threads = (1 if b is None else 2), base.threads(queue.device, THREADS)
    specs = compilation_unit(a.format.name, factors, False, threads)
    planes = LongAccumulator(a.format.word, factors).planes
    _, parts = shares(queue.device, 1, k)
    work, spare = (
        allocate_numbers("int64", (planes, n), queue) for n in (parts, base.blocks(parts, FOLDED))
    )

    def run(kernel: str, items: int, given: Mapping[str, Any]) -> None:
        launch.over(queue, specs, items, threads, given, kernel)

    operands: dict[str, Any] = {"a": a} if b is None else {"a": a, "b": b}
    which = {"n": 1, "first": 0, "count": 1}
    kernels = specs[0].name, specs[1].name
    sums = _added(run, kernels, which, (k, parts), (work, spare), operands)
    # One accumulator is left: digit after digit.
    *digits, bad = sums.view((planes,), (1,), 0).read_parts()[0].tolist()
    return accumulator.number(digits), bad


def rounded(form: Format, total: int, factors: int, missing: int, queue: Queue) -> Planes:
    """An exact sum in those units as a value; ArgumentError where terms are *missing*."""
    if missing:
        raise ArgumentError(NOT_FINITE)
    limbs = reference.rounded(form, np.array(total, object), factors, np.array(False))
    return upload(form, limbs, queue)


def _placed(work: Numbers, accumulators: int, name: str = "work") -> dict[str, Any]:
    """The arguments for ``_places``.

    Neighbouring work-items of a GPU have neighbours in memory; a CPU's have each its own lines.
    """
    alone = work.device.properties.kind == "cpu"
    steps = (work.shape[0], 1) if alone else (1, accumulators)
    return dict(zip((p.name for p in _places(name)), (work, *steps), strict=True))


def shares(device: Device, elements: int, k: int) -> tuple[int, int]:
    """How many elements are summed at a time, and among how many accumulators each."""
    items = ITEMS * device.properties.compute_units
    together = min(elements, items)
    useful = base.blocks(max(k, 1), FEWEST)
    parts = max(1, min(useful, items // together), base.blocks(k, accumulator.LONGEST))
    return together, parts
