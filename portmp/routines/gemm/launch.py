"""GEMM: C = alpha A B + beta C, any strides, batches, schedules.

Definition: k is cut into slabs of definition.SLAB; each slab starts from a zero state,
accumulates in ascending order, is renormalised every definition.PERIOD steps and
finished; slabs are added in ascending order. An element that is not finite is
recomputed from leading limbs. 2mnk operations; (mk + kn + 2mn) values of traffic.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import definition, formats
from portmp.backends.base import LaunchMemory
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.packed import COUNT, WIDEST
from portmp.codegen.signature import Array, BlockMemory, Index, matrix
from portmp.errors import ShapeError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.gemm import reference
from portmp.routines.gemm import schedule as schedules
from portmp.routines.gemm.schedule import GemmSchedule, PanelSchedule, Schedule, UnitSchedule
from portmp.routines.gemm.tiles import Layout
from portmp.routines.gemm.units import UnitLayout
from portmp.routines.moves import launch as moves
from portmp.routines.products.product import (
    SCALARS,
    Asked,
    Product,
    completed,
    computed_by,
    entries,
)
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate, blank_like
from portmp.schedules.base import check_class

MAX_GRID_Y = 65535
COMBINE_THREADS = 64

COPIED = 64
"""Columns of C from which on a CPU copies an A whose neighbours in rows lie apart."""

FACTORS = (*(Index(name) for name in ("m", "n", "k")), matrix("a"), matrix("b"))
"""What kernels take of sizes and factors ..."""
ENDING = (matrix("c"), matrix("out", const=False), *SCALARS)
"""... and of what ends an element: the addend, the result and the scalars."""


@cache
def kernel_spec(
    form: str, schedule: Schedule, accuracy: str = "accurate", out: str = ""
) -> KernelSpec:
    """The product kernel; with ``schedule.split`` it stores slabs for the combining kernel.

    *out*: the results' format where it is not *form*.
    """
    f = formats.get(form)
    accumulator = f.accumulator(accuracy)
    roles = accumulator.networks
    if not schedule.split:
        roles |= f.roles("add", "mul")
    name = f"gemm{accumulator.suffix}{'_slabs' if schedule.split else ''}"
    tiles: dict[str, Any] = {}
    if isinstance(schedule, GemmSchedule):
        tiles["layout"] = Layout(schedule)
    elif isinstance(schedule, UnitSchedule):
        tiles["layout"] = UnitLayout(schedule)
    total = matrix("total", const=False, compute=True)
    slab = [] if schedule.all_slabs else [Index("slab")]
    return spec(
        name,
        schedule.template,
        f,
        roles,
        width=schedule.width,
        stored=_results(out),
        s=schedule,
        slab=definition.SLAB,
        period=accumulator.period,
        takes=[
            *FACTORS,
            total,
            *([] if schedule.split else [*slab, *ENDING]),
            *([BlockMemory()] if isinstance(schedule, UnitSchedule) else []),
        ],
        **tiles,
    )


@cache
def compilation_unit(
    form: str,
    schedule: Schedule,
    accuracy: str = "accurate",
    threads: int = COMBINE_THREADS,
    out: str = "",
) -> tuple[KernelSpec, ...]:
    """The product kernel and, for split slabs, the one that adds them and ends the element.

    *threads*: of a block of the second one.
    """
    product = kernel_spec(form, schedule, accuracy, out)
    if not schedule.split:
        return (product,)
    f = formats.get(form)
    combine = spec(
        "gemm_combine",
        "blas/gemm_combine.mako",
        f,
        f.roles("add", "mul"),
        stored=_results(out),
        threads=threads,
        slab=definition.SLAB,
        takes=[*FACTORS, Array("slabs", start=False, compute=True), *ENDING],
    )
    return product, combine


def _results(out: str) -> dict[str, Format] | None:
    return {"out": formats.get(out)} if out else None


def gemm(
    a: Planes,
    b: Planes,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    c: Planes | None = None,
    out: Planes | None = None,
    *,
    accuracy: str = "accurate",
    schedule: Schedule | None = None,
) -> Planes:
    """alpha a b + beta c for a (..., m, k), b (..., k, n); batch axes broadcast."""
    if base.is_number(beta, 0):
        c = None
    kept, key, plan = launch.find((gemm, accuracy, schedule), (a, b, alpha, beta, c, out))
    if plan is None:
        given = checked(Product(a, b, alpha, beta, c, out))
        check_class(schedule, GemmSchedule, PanelSchedule, UnitSchedule)
        by_kernels = partial(_by_kernels, accuracy, schedule)
        by_reference = computed_by(partial(reference.gemm, a.format, accuracy=accuracy))
        plan = kept.plan(key, given, by_kernels, by_reference, blank_like(given.out))
    return plan.run((a, b, alpha, beta, c, None), out)


def _by_kernels(accuracy: str, schedule: Schedule | None, *operands: Any) -> None:
    given: Product[Planes] = Product(*operands)
    a, b, out = given.a, given.b, given.out
    if not out.size:
        return
    chosen = fitted(schedule or default(out, given.steps, accuracy), a, b)
    if schedule is not None:
        chosen.check(a.format, a.device)
    for batch in entries(given, axes=3):
        _launch(batch, chosen, accuracy)


class Updates:
    """c = alpha a b + beta c, many times: of factorisations, whose operands fit by construction.

    Views are (batch, rows, columns) of one format and queue, and c shares no element with a and b.
    Nothing is checked, and schedules are chosen once for each size.
    """

    def __init__(self) -> None:
        self._chosen: dict[tuple[object, ...], Schedule] = {}

    def run(self, given: Product[Planes]) -> None:
        """Overwrite c, which is the output."""
        launch.do(given, self._by_kernels, gemm)

    def _by_kernels(self, *operands: Any) -> Any:
        given: Product[Planes] = Product(*operands)
        a, b = given.a, given.b
        key = a.shape, b.shape, *_reading(a, b)
        chosen = self._chosen.get(key)
        if chosen is None:
            chosen = fitted(default(given.out, given.steps, "accurate"), a, b)
            self._chosen[key] = chosen
        _launch(given, chosen, "accurate")


def with_bound(given: Asked, *, accuracy: str = "accurate", one_limb_more: bool = False) -> Planes:
    """The same with a bound of each element's error in units of u^N, as a limb below the others.

    The limbs above it are those of ``gemm``; of operands stored as one limb of fewer bits they are
    words. With *one_limb_more* they are those of the ``wider`` format's ``gemm``, where operands
    have a last limb of zero. Bounds leave out underflow and their own rounding
    (``routines.bounds.certified``).
    """
    a = given.a
    shape = shape_of(a, given.b)
    # Without an addend planes of the format, which nobody reads.
    c = _addend(given, shape) if given.adds else a.view(shape, (0,) * len(shape), a.start)
    read, results = formats.with_bound(a.format, one_limb_more)
    out = allocate(results, shape, a.queue)

    def by_kernels(*operands: Any) -> None:
        given: Product[Planes] = Product(*operands)
        a, b, alpha, beta, c, out = given
        computed = (formats.wider(a.format) if one_limb_more else None) or a.format
        values = out.seen_as(computed.arithmetic)
        schedule = fitted(default(values, given.steps, accuracy), a, b)
        schedule = schedule.for_bounds(computed, results.accumulator(accuracy))
        a, b, c = (v.seen_as(read) for v in (a, b, c))
        alpha, beta = (base.exact_limbs(results, limbs) for limbs in (alpha, beta))
        for batch in entries(Product(a, b, alpha, beta, c, out), axes=3):
            _launch(batch, schedule, accuracy, results.name)

    if out.size:
        by_reference = computed_by(partial(reference.gemm, results, accuracy=accuracy))
        launch.do(Product(a, given.b, given.alpha, given.beta, c, out), by_kernels, by_reference)
    return out


def checked(given: Asked) -> Product[Planes]:
    """With an output, and an addend in its shape, once all shapes fit."""
    return completed(given, shape_of(given.a, given.b), _addend)


def shape_of(a: Planes, b: Planes) -> tuple[int, ...]:
    """The product's shape."""
    base.same(a.format, a=a, b=b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"gemm: a {a.shape} and b {b.shape} cannot be multiplied")
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(f"gemm: batches {a.shape[:-2]} and {b.shape[:-2]} differ") from None
    return (*batch, a.shape[-2], b.shape[-1])


def _addend(given: Asked, shape: Sequence[int]) -> Planes:
    """What beta multiplies, in the product's shape."""
    a, c = given.a, given.c
    if c is None:
        raise ShapeError("gemm: beta is not 0 but c is missing")
    base.same(a.format, a=a, c=c)
    if c.shape == shape:
        return c
    if c.shape[-2:] != shape[-2:]:
        raise ShapeError(f"gemm: c {c.shape} given, {shape} needed")
    return c.broadcast_to(shape)


def default(target: Planes, k: int, accuracy: str) -> Schedule:
    """The schedule of a product over k steps with this output."""
    m, n = target.shape[-2:]
    shape = schedules.gemm_shape(m, n)
    s = schedules.of_class(target.format, target.device, accuracy, shape)
    copies = base.blocks(k, definition.SLAB) * (target.size // (m * n))
    return shared_out(
        _spread(target.format, s, m, n, copies, target.device.properties.compute_units), target
    )


def _spread(form: Format, s: Schedule, m: int, n: int, copies: int, units: int) -> Schedule:
    """With fewer results a thread, where half a tile is enough or compute units would have none."""
    s = s.fitting(m, n)
    while _tiles(s, m, n) * copies < units and (more := s.spread(form)):
        s = more
    return s


def _tiles(s: Schedule, m: int, n: int) -> int:
    return base.blocks(m, s.tile_m) * base.blocks(n, s.tile_n)


def shared_out(s: Schedule, target: Planes) -> Schedule:
    """Where tiles are too few for the device, blocks share out the slabs of k."""
    m, n = target.shape[-2:]
    tiles = _tiles(s, m, n) * (target.size // (m * n))
    if tiles >= 2 * target.device.properties.compute_units:
        return s
    return s.for_call(split=True)


def fitted(schedule: Schedule, a: Planes, b: Planes) -> Schedule:
    """Threads read operands along their contiguous index; one slab needs no split."""
    a_order, b_order, wide = _reading(a, b)
    return schedule.for_call(
        a_order=a_order,
        b_order=b_order,
        wide=wide,
        split=schedule.split and 1 < base.blocks(a.shape[-1], definition.SLAB) <= MAX_GRID_Y,
    )


def _reading(a: Planes, b: Planes) -> tuple[str, str, bool]:
    """Along which index operands are read, and whether by several words at once."""
    return (
        "m" if abs(a.strides[-2]) < abs(a.strides[-1]) else "k",
        "k" if abs(b.strides[-2]) < abs(b.strides[-1]) else "n",
        _aligned(a) and _aligned(b),
    )


def _aligned(v: Planes) -> bool:
    """Whether elements follow each other along one index, from aligned starts on."""
    form = v.format
    words = WIDEST // form.dtype(0).itemsize if form.compute is form else COUNT
    fast = min(v.strides[-2:])
    if fast != 1 or v.strides.count(1) > 1:
        return False
    return not any(n % words for n in (v.start, *v.strides[:-2], max(v.strides[-2:])))


def _launch(given: Product[Planes], s: Schedule, accuracy: str, results: str = "") -> None:
    """A product with one batch axis or none; *results*: the output's format if it is another."""
    (a, b, *_, out), k = given, given.depth
    m, n = out.shape[-2:]
    batch = out.shape[0] if out.ndim == 3 else 1
    # Neighbours of a row lie apart, each on another page; what is broadcast is one matrix.
    far = abs(a.strides[-2]) < abs(a.strides[-1]) and all(a.strides)
    if k and isinstance(s, PanelSchedule) and n >= COPIED and far:
        a = moves.copied(a)
        given = given._replace(a=a)
    if s.split and k <= definition.SLAB:
        s = s.for_call(split=False)
    slabs = base.blocks(k, definition.SLAB) if s.split else 1
    per_launch = MAX_GRID_Y // slabs
    if batch > per_launch:
        for first in range(0, batch, per_launch):
            some = partial(_some, first=first, count=min(per_launch, batch - first))
            _launch(given.each(some), s, accuracy, results)
        return
    factors = {"m": m, "n": n, "k": k, "a": a, "b": b}
    threads = base.threads(out.device, COMBINE_THREADS)
    specs = compilation_unit(a.format.name, s, accuracy, threads, results)
    block = (s.threads, 1, 1)
    tiles = _tiles(s, m, n)
    own: dict[str, Any] = factors
    if isinstance(s, UnitSchedule):
        own = factors | {"dynamic_": LaunchMemory(s.block_memory())}
    if not s.split:
        what = own | given.ending
        what["total"] = _total(given, s.all_slabs or k > definition.SLAB)
        if s.all_slabs:
            launch.run(out.queue, specs, (tiles, batch, 1), block, what)
            return
        for slab in range(0, max(k, 1), definition.SLAB):
            launch.run(out.queue, specs, (tiles, batch, 1), block, what | {"slab": slab})
        return
    work = allocate(a.format.compute, (batch * slabs, m, n), out.queue)
    launch.run(out.queue, specs, (tiles, batch * slabs, 1), block, own | {"total": work})
    grid = (base.blocks(m * n, threads), batch, 1)
    what = factors | given.ending | {"slabs": work}
    launch.run(out.queue, specs, grid, (threads, 1, 1), what, "gemm_combine")


def _some(v: Planes, first: int, count: int) -> Planes:
    """So many matrices of a batch."""
    return v.view((count, *v.shape[1:]), v.strides, v.start + first * v.strides[0])


def _total(given: Product[Planes], adds_up: bool) -> Planes:
    """Where slabs add up: the output itself, unless it is read at the end or stored short."""
    out, form = given.out, given.out.format
    if form.compute is form and not (adds_up and given.adds and out.overlaps(given.c)):
        return out
    if not adds_up:  # nothing adds up: any memory does for the argument
        held = out.buffers[:1] * form.limbs
        return Planes(form.compute, out.shape, out.strides, out.start, held, out.queue)
    return allocate(form.compute, out.shape, out.queue)
