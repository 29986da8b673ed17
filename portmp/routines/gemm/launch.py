"""GEMM: C = alpha A B + beta C, any strides, batches, schedules.

Definition: k is cut into slabs of definition.SLAB; each slab starts from a zero state,
accumulates in ascending order, is renormalised every definition.PERIOD steps and
finished; slabs are added in ascending order. An element that is not finite is
recomputed from leading limbs. 2mnk operations; (mk + kn + 2mn) values of traffic.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from portmp import definition, formats
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.packed import COUNT, WIDEST
from portmp.codegen.signature import Array, Flag, Index, Value, matrix
from portmp.errors import ShapeError
from portmp.formats import IN_SPANS, Format
from portmp.routines import base
from portmp.routines.gemm import reference
from portmp.routines.gemm import schedule as schedules
from portmp.routines.gemm.schedule import GemmSchedule, PanelSchedule
from portmp.routines.gemm.tiles import Layout
from portmp.routines.moves import launch as moves
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate, blank_like
from portmp.schedules.base import check_class

MAX_GRID_Y = 65535
COMBINE_THREADS = 64

COPIED = 64
"""Columns of C from which on a CPU copies an A whose neighbours in rows lie apart."""

Schedule = GemmSchedule | PanelSchedule

FACTORS = (*(Index(name) for name in ("m", "n", "k")), matrix("a"), matrix("b"))
"""What kernels take of sizes and factors ..."""
ENDING = (
    *(matrix("c"), matrix("out", const=False), Value("alpha"), Value("beta")),
    *(Flag("alpha_is_one"), Flag("beta_kind")),
)
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
        roles |= {op: f.operator(op) for op in ("add", "mul")}
    name = f"gemm{accumulator.suffix}{'_slabs' if schedule.split else ''}"
    tiles: dict[str, Any] = {}
    if isinstance(schedule, GemmSchedule):
        tiles["layout"] = Layout(schedule)
    total = matrix("total", const=False, compute=True)
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
        apart=accumulator.apart,
        takes=[*FACTORS, total, *([] if schedule.split else [Index("slab"), *ENDING])],
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
    roles = {op: f.operator(op) for op in ("add", "mul")}
    combine = spec(
        "gemm_combine",
        "blas/gemm_combine.mako",
        f,
        roles,
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
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    c: Planes | None = None,
    out: Planes | None = None,
    accuracy: str = "accurate",
    schedule: Schedule | None = None,
) -> Planes:
    """alpha a b + beta c for a (..., m, k), b (..., k, n); batch axes broadcast."""
    if base.is_number(beta, 0):
        c = None
    kept, key, plan = launch.find((gemm, accuracy, schedule), (a, b, alpha, beta, c, out))
    if plan is None:
        addend, target = operands(a, b, c, out, beta)
        check_class(schedule, GemmSchedule, PanelSchedule)
        call = _Call(accuracy, schedule, target.shape)
        given = (a, b, alpha, beta, addend, target)
        plan = kept.plan(key, given, call.launch, call.compute, blank_like(target))
    if out is None:
        out = plan.makes.made(plan.queue)
    plan.run((a, b, alpha, beta, out if c is None else c, out))
    return out


@dataclass(frozen=True)
class _Call:
    """A product with what its launches do not find in its operands."""

    accuracy: str
    schedule: Schedule | None
    shape: tuple[int, ...]

    def compute(
        self,
        a: Planes,
        b: Planes,
        alpha: base.ScalarLimbs,
        beta: base.ScalarLimbs,
        c: Planes,
        out: Planes,
    ) -> None:
        """By the reference, a matrix at a time."""
        product = partial(reference.gemm, a.format, accuracy=self.accuracy)
        views = self._views(a, b, c, out)
        for each in np.ndindex(*self.shape[:-2]):
            va, vb, vc, vo = (base.matrix_of(v, each) for v in views)
            base.on_host(vo, product, va, vb, alpha, beta, vc)

    def launch(
        self,
        a: Planes,
        b: Planes,
        alpha: base.ScalarLimbs,
        beta: base.ScalarLimbs,
        c: Planes,
        out: Planes,
    ) -> None:
        """By kernels."""
        if not out.size:
            return
        chosen = fitted(self.schedule or default(out, a.shape[-1], self.accuracy), a, b)
        if self.schedule is not None:
            chosen.check(a.format, a.device)
        depth = 0 if base.is_number(alpha, 0) else a.shape[-1]
        for va, vb, vc, vo in _batches(self._views(a, b, c, out)):
            _launch(a.format, chosen, self.accuracy, va, vb, vc, vo, depth, alpha, beta)

    def _views(self, *views: Planes) -> list[Planes]:
        """Operands with all batches."""
        return [v.broadcast_to((*self.shape[:-2], *v.shape[-2:])) for v in views]


class Updates:
    """c = alpha a b + beta c, many times: of factorisations, whose operands fit by construction.

    Views are (batch, rows, columns) of one format and queue, and c shares no element with a and b.
    Nothing is checked, and schedules are chosen once for each size.
    """

    def __init__(self) -> None:
        self._chosen: dict[tuple[object, ...], Schedule] = {}

    def run(
        self, a: Planes, b: Planes, c: Planes, alpha: base.ScalarLimbs, beta: base.ScalarLimbs
    ) -> None:
        """Overwrite c."""
        if c.device.by_reference:
            gemm(a, b, alpha=alpha, beta=beta, c=c, out=c)
            return
        key = a.shape, b.shape, *_reading(a, b)
        chosen = self._chosen.get(key)
        if chosen is None:
            chosen = fitted(default(c, a.shape[-1], "accurate"), a, b)
            self._chosen[key] = chosen
        _launch(a.format, chosen, "accurate", a, b, c, c, a.shape[-1], alpha, beta)


def with_bound(
    a: Planes,
    b: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    c: Planes | None = None,
    accuracy: str = "accurate",
    one_limb_more: bool = False,
    in_spans: bool = False,
) -> Planes:
    """The same with a bound of each element's error in units of u^N, as a limb below the others.

    The limbs above it are those of ``gemm``; of operands stored as one limb of fewer bits they are
    words. With *one_limb_more* they are those of the ``wider`` format's ``gemm``, where operands
    have a last limb of zero. Bounds leave out underflow and their own rounding
    (``routines.certified``) and, *in_spans*, what norms add (``routines.spans``).
    """
    sums = accuracy + IN_SPANS if in_spans else accuracy
    shape = _shape(a, b)
    addend = None if base.is_number(beta, 0) else _addend(a, c, shape)
    read, given = formats.with_bound(a.format, one_limb_more)
    out = allocate(given, shape, a.queue)
    if not out.size:
        return out
    depth = 0 if base.is_number(alpha, 0) else a.shape[-1]
    # Without an addend planes of the format, which nobody reads.
    c = a.view(out.shape, (0,) * out.ndim, a.start) if addend is None else addend
    views = [v.broadcast_to((*shape[:-2], *v.shape[-2:])) for v in (a, b, c, out)]
    if out.device.by_reference:
        product = partial(reference.gemm, given, accuracy=sums)
        for each in np.ndindex(*shape[:-2]):
            va, vb, vc, vo = (base.matrix_of(v, each) for v in views)
            base.on_host(vo, product, va, vb, alpha, beta, None if addend is None else vc)
        return out
    computed = (formats.wider(a.format) if one_limb_more else None) or a.format
    values = base.values_of(out, computed.arithmetic)
    schedule = fitted(default(values, a.shape[-1], accuracy), a, b)
    schedule = schedule.for_bounds(computed, given.accumulator(sums), out.device)
    views = [v if v.format is given else v.seen_as(read) for v in views]
    scale, add = (base.exact_limbs(given, limbs) for limbs in (alpha, beta))
    for va, vb, vc, vo in _batches(views):
        _launch(read, schedule, sums, va, vb, vc, vo, depth, scale, add, given.name)
    return out


def operands(
    a: Planes, b: Planes, c: Planes | None, out: Planes | None, beta: base.ScalarLimbs
) -> tuple[Planes, Planes]:
    """The addend (where there is none, the output) and the output, once all shapes fit."""
    shape = _shape(a, b)
    target = base.output(out, a, shape, a=a, b=b)
    if base.is_number(beta, 0):
        return target, target
    c = _addend(a, c, shape)
    base.refuse_shift(target, c=c)
    return c, target


def _shape(a: Planes, b: Planes) -> tuple[int, ...]:
    """The product's shape."""
    base.same(a.format, a=a, b=b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"gemm: a {a.shape} and b {b.shape} cannot be multiplied")
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(f"gemm: batches {a.shape[:-2]} and {b.shape[:-2]} differ") from None
    return (*batch, a.shape[-2], b.shape[-1])


def _addend(a: Planes, c: Planes | None, shape: tuple[int, ...]) -> Planes:
    """What beta multiplies, in the product's shape."""
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
    s = schedules.gemm(target.format, target.device, accuracy, m, n)
    copies = base.blocks(k, definition.SLAB) * (target.size // (m * n))
    return shared_out(
        _spread(target.format, s, m, n, copies, target.device.properties.compute_units), target
    )


@lru_cache(maxsize=1024)
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
    others = [s for s in v.strides if s != fast]
    return (
        fast == 1 and not any(n % words for n in (v.start, *others)) and len(others) == v.ndim - 1
    )


def _batches(views: list[Planes]) -> list[list[Planes]]:
    """Cut leading axes into pieces of one batch axis of at most MAX_GRID_Y entries."""
    lead = views[0].shape[:-2]
    if len(lead) == 0 or (len(lead) == 1 and lead[0] <= MAX_GRID_Y):
        return [views]
    pieces = []
    for outer in itertools.product(*(range(n) for n in lead[:-1])):
        for first in range(0, lead[-1], MAX_GRID_Y):
            count = min(MAX_GRID_Y, lead[-1] - first)
            row = []
            for v in views:
                steps = zip((*outer, first), v.strides[: len(lead)], strict=True)
                start = v.start + sum(i * s for i, s in steps)
                row.append(v.view((count, *v.shape[-2:]), v.strides[-3:], start))
            pieces.append(row)
    return pieces


def _launch(
    form: Format,
    s: Schedule,
    accuracy: str,
    a: Planes,
    b: Planes,
    c: Planes,
    out: Planes,
    k: int,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    results: str = "",
) -> None:
    m, n = out.shape[-2:]
    batch = out.shape[0] if out.ndim == 3 else 1
    if k and isinstance(s, PanelSchedule) and n >= COPIED and _far(a):
        a = moves.copied(a)
    if s.split and k <= definition.SLAB:
        s = s.for_call(split=False)
    slabs = base.blocks(k, definition.SLAB) if s.split else 1
    per_launch = MAX_GRID_Y // slabs
    if batch > per_launch:
        for first in range(0, batch, per_launch):
            count = min(per_launch, batch - first)
            pa, pb, pc, po = (
                v.view((count, *v.shape[1:]), v.strides, v.start + first * v.strides[0])
                for v in (a, b, c, out)
            )
            _launch(form, s, accuracy, pa, pb, pc, po, k, alpha, beta, results)
        return
    beta_kind = 0 if base.is_number(beta, 0) else 1 if base.is_number(beta, 1) else 2
    factors = {"m": m, "n": n, "k": k, "a": a, "b": b}
    end = {"c": c, "out": out, "alpha": alpha, "beta": beta, "beta_kind": beta_kind}
    end["alpha_is_one"] = base.is_number(alpha, 1)
    threads = base.threads(out.device, COMBINE_THREADS)
    specs = compilation_unit(form.name, s, accuracy, threads, results)
    block = (s.threads, 1, 1)
    tiles = _tiles(s, m, n)
    if not s.split:
        factors["total"] = _total(out.format, k, c, out, beta_kind)
        for slab in range(0, max(k, 1), definition.SLAB):
            given = factors | end | {"slab": slab}
            launch.run(out.queue, specs, (tiles, batch, 1), block, given)
        return
    work = allocate(form.compute, (batch * slabs, m, n), out.queue)
    launch.run(out.queue, specs, (tiles, batch * slabs, 1), block, factors | {"total": work})
    grid = (base.blocks(m * n, threads), batch, 1)
    given = factors | end | {"slabs": work}
    launch.run(out.queue, specs, grid, (threads, 1, 1), given, "gemm_combine")


def _far(a: Planes) -> bool:
    """Whether neighbours of a row lie apart in memory, so that each is on another page.

    A matrix that is broadcast stays one.
    """
    return abs(a.strides[-2]) < abs(a.strides[-1]) and all(a.strides)


def _total(form: Format, k: int, c: Planes, out: Planes, beta_kind: int) -> Planes:
    """Where slabs add up: the output itself, unless it is read at the end or stored short."""
    if form.compute is form and (k <= definition.SLAB or not (beta_kind and out.overlaps(c))):
        return out
    if k <= definition.SLAB:  # nothing adds up: any memory does for the argument
        return Planes(
            form.compute, out.shape, out.strides, out.start, out.buffers[:1] * form.limbs, out.queue
        )
    return allocate(form.compute, out.shape, out.queue)
