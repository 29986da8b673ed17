"""DOT, GEMV, sums and extrema: lanes, chunks and a fixed tree.

Definition: element i belongs to lane i mod LANES of chunk i div CHUNK; a lane
accumulates in order; lanes, then chunks, combine pairwise with halving distance.
Vectors are extended to a multiple of LANES by the identity. Products and sums that
are not finite are recomputed from leading limbs in the same lanes and tree.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from portmp import definition, formats
from portmp.backends.base import Device, per_device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Computed, Index, Parameter
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import Format
from portmp.networks import Network
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.products.product import (
    SCALARS,
    Asked,
    Product,
    completed,
    computed_by,
    of_vectors,
    vector_addend,
)
from portmp.routines.reduce import reference
from portmp.routines.reduce import schedule as schedules
from portmp.routines.reduce.reference import IDENTITY, steps
from portmp.routines.reduce.schedule import ReduceSchedule, Schedule, SweepSchedule
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate, blank_like
from portmp.schedules.base import check_class


@cache
def compilation_unit(
    form: str,
    kind: str,
    schedule: Schedule,
    accuracy: str = "accurate",
    matrix: str = "",
    alone: bool = False,
    out: str = "",
    single: bool = False,
    computed: Computed | None = None,
    lies: tuple[tuple[str, Format], ...] = (),
) -> tuple[KernelSpec, ...]:
    """The kernels that reduce each chunk of each row, and that combine a row's chunks.

    *matrix* is the rows' format where it is not *form*: a storage format of it; *alone*: a GPU's
    work-item combines a row alone; *out*: the results' format where it is not *form*; *single*: one
    kernel for rows of one chunk. *computed*: what the matrix is that lies nowhere, of operands that
    lie as *lies* says.
    """
    f = formats.get(form)
    nets = steps(f, kind, accuracy)
    accumulator = f.accumulator(accuracy)
    suffix = accumulator.suffix if kind == "dot" else ""
    others = {"x": matrix, "out": out}
    stored = {name: formats.get(one) for name, one in others.items() if one and one != form}
    stored |= dict(lies)
    sizes = [Index(name) for name in ("rows", "k", "chunks")]
    rows: list[Parameter] = [*sizes, computed or Array("x", ("row", "col"))]
    partials = Array("partial", const=False, start=False, compute=True)
    ended: list[Parameter] = [ENDED]
    if kind == "dot":
        rows.append(Array("y", ("step",)))
        ended = [Array("c", ("step",)), *ended, *SCALARS]
    ending = f.roles("add", "mul") if kind == "dot" else {}
    recompute = kind in ("dot", "sum")
    partial = spec(
        f"{kind}{suffix}_{'chunk' if single else 'chunks'}",
        schedule.template,
        f,
        nets | ending if single else nets,
        width=schedule.width,
        stored=stored,
        s=schedule,
        period=accumulator.period,
        takes=[*rows, *(ended if single else [partials])],
        single=single,
        recompute=recompute,
        **_definition(kind),
    )
    if single:
        return (partial,)
    combining = "blas/reduce_combine_rows.mako" if alone else schedule.combining
    combine = spec(
        f"{kind}_combine",
        combining,
        f,
        {"combine": nets["combine"], **ending},
        stored=stored,
        threads=schedule.combine_threads,
        held=_held(nets["combine"]),
        recompute=recompute,
        takes=[*rows, partials, *ended],
        **_definition(kind),
    )
    return partial, combine


def _held(combine: Network) -> int:
    """How many chunks a thread combines in registers: as many as keep the kernel short."""
    cost = sum(combine.cost.values())
    return (
        1 if combine.foreign else max(n for n in (1, 2, 4, 8) if n == 1 or (n - 1) * cost <= LONG)
    )


LONG = 600
"""Instructions of combinations written one after the other in a kernel."""
FEW = 16
"""Chunks of a row, at most, that a work-item combines alone."""
FAR = 4096
"""From this distance on all threads of a device combine chunks; below a block does."""
ENDED = Array("out", ("step",), const=False)
"""Where a row's end goes."""

SHORT = 8
"""Chunks for each compute unit, at most, of one row that is short: its time is that of a chunk."""


def _definition(kind: str) -> dict[str, Any]:
    return {
        "terms": "product" if kind == "dot" else "value",
        "identity": IDENTITY[kind],
        "start": IDENTITY[kind],
        "lanes": definition.LANES,
        "chunk": definition.CHUNK,
    }


def gemv(
    a: Planes,
    x: Planes,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    y: Planes | None = None,
    out: Planes | None = None,
    *,
    accuracy: str = "accurate",
    schedule: Schedule | None = None,
) -> Planes:
    """alpha a x + beta y for a (m, n), x (n,); a may be in a storage format of x's."""
    if base.is_number(beta, 0):
        y = None
    kept, key, plan = launch.find((gemv, accuracy, schedule), (a, x, alpha, beta, y, out))
    if plan is None:
        given = checked(Product(a, x, alpha, beta, y, out))
        check_class(schedule, ReduceSchedule, SweepSchedule)
        by_kernels = partial(_by_kernels, accuracy, schedule)
        by_reference = computed_by(partial(reference.gemv, x.format, accuracy=accuracy))
        plan = kept.plan(key, given, by_kernels, by_reference, blank_like(given.out))
    return plan.run((a, x, alpha, beta, y, None), out)


_addend = partial(vector_addend, what="gemv: ")


def _by_kernels(accuracy: str, schedule: Schedule | None, *operands: Any) -> None:
    given: Product[Planes] = Product(*operands)
    _reduce("dot", given.a, given.out, schedule, accuracy, given)


def checked(given: Asked) -> Product[Planes]:
    """With an output, and what is added (where there is none, the output), once all shapes fit."""
    return completed(given, shape_of(given.a, given.b), _addend, "x", "y")


def shape_of(a: Planes, x: Planes) -> tuple[int]:
    """The product's shape."""
    form = x.format
    base.same(form, x=x, **({} if a.format.arithmetic is form else {"a": a}))
    base.same_device(x, a=a)
    if a.ndim != 2 or x.ndim != 1 or a.shape[1] != x.shape[0]:
        raise ShapeError(f"gemv: a {a.shape} and x {x.shape} cannot be multiplied")
    return (a.shape[0],)


def gemv_with_bound(
    given: Asked, *, accuracy: str = "accurate", one_limb_more: bool = False
) -> Planes:
    """The same with a bound of each element's error, as of ``gemm.launch.with_bound``."""
    a, x, alpha, beta, _, _ = given
    shape = shape_of(a, x)
    # Without an addend planes of the format, which nobody reads.
    y = _addend(given, shape) if given.adds else x.view(shape, (0,), x.start)
    read, results = formats.with_bound(x.format, one_limb_more)
    out = allocate(results, shape, x.queue)

    def by_kernels(*operands: Any) -> None:
        a, x, alpha, beta, y, out = operands
        matrix = a.seen_as(formats.with_bound(a.format, one_limb_more)[0])
        scalars = base.exact_limbs(results, alpha), base.exact_limbs(results, beta)
        product: Product[Planes] = Product(matrix, x.seen_as(read), *scalars, y, out)
        schedule = _for_bounds(a, product.depth, read, accuracy, one_limb_more)
        _reduce("dot", matrix, out, schedule, accuracy, product, read)

    by_reference = computed_by(partial(reference.gemv, results, accuracy=accuracy))
    launch.do((a, x, alpha, beta, y, out), by_kernels, by_reference)
    return out


def sums_with_bound(x: Planes, one_limb_more: bool = False) -> Planes:
    """The sum of each row of x (m, n) with a bound of its error, likewise."""
    read, results = formats.with_bound(x.format, one_limb_more)
    out = allocate(results, (x.shape[0],), x.queue)

    def by_kernels(x: Planes, out: Planes) -> None:
        schedule = _for_bounds(x, x.shape[1], read, one_limb_more=one_limb_more)
        _reduce("sum", x.seen_as(read), out, schedule, read=read)

    launch.do((x, out), by_kernels, _on_host("sum", results))
    return out


def squares(x: Planes) -> Planes:
    """The sum of the squares of each row of words x (m, n), in three words (``formats.norms``)."""
    sums, read = formats.norms(x.format.name)
    out = allocate(sums, (x.shape[0],), x.queue)

    def by_kernels(seen: Planes, out: Planes) -> None:
        _reduce("sum", seen, out, _for_bounds(x, x.shape[1], sums))

    launch.do((x.seen_as(read), out), by_kernels, _on_host("sum", sums))
    return out


@cache
def _on_host(kind: str, form: Format) -> Callable[..., None]:
    """Reduces rows by the reference."""
    return base.hosted(partial(reference.over_rows, form, kind))


def _for_bounds(
    x: Planes, k: int, read: Format, accuracy: str = "accurate", one_limb_more: bool = False
) -> Schedule:
    """The schedule for values that have a bound, and are longer: smaller where it does not fit."""
    wide = formats.wider(x.format) if one_limb_more else None
    usual = default(x.seen_as(wide) if wide else x, accuracy)
    units = x.device.properties.compute_units
    s = _spread(usual, x.shape[0], base.blocks(k, definition.CHUNK), units)
    return _fitting(x.device, s, read)


@per_device
def _fitting(device: Device, s: Schedule, read: Format) -> Schedule:
    while True:
        try:
            s.check(read, device)
            return s
        except ArgumentError:
            smaller = s.smaller()
            if smaller is None:
                raise
            s = smaller


def dot(
    x: Planes,
    y: Planes,
    accuracy: str = "accurate",
    schedule: Schedule | None = None,
    out: Planes | None = None,
) -> Planes:
    """sum_i x_i y_i of two vectors; shape ()."""
    kept, key, plan = launch.find((dot, accuracy, schedule), (x, y, out))
    if plan is None:
        base.same(x.format, x=x, y=y)
        if x.ndim != 1 or x.shape != y.shape:
            raise ShapeError(
                f"dot: vectors of one length expected, x {x.shape} and y {y.shape} given"
            )
        check_class(schedule, ReduceSchedule, SweepSchedule)
        target = base.output(out, x, (), x=x, y=y)

        def by_kernels(x: Planes, y: Planes, out: Planes) -> None:
            _by_kernels(accuracy, schedule, *of_vectors(x, y, out))

        by_reference = base.hosted(partial(reference.dot, x.format, accuracy=accuracy))
        plan = kept.plan(key, (x, y, target), by_kernels, by_reference, blank_like(target))
    return plan.run((x, y, None), out)


def over_rows(kind: str, x: Planes, schedule: Schedule | None = None) -> Planes:
    """sum, prod, max or min of each row of x (m, n); shape (m,)."""
    kept, key, plan = launch.find((over_rows, kind, schedule), (x,))
    if plan is None:
        if kind in ("max", "min") and not x.shape[1]:
            raise ShapeError(f"{kind}: an empty array has none")
        check_class(schedule, ReduceSchedule, SweepSchedule)
        target = allocate(x.format, (x.shape[0],), x.queue)

        def by_kernels(x: Planes, out: Planes) -> None:
            _reduce(kind, x, out, schedule)

        on_host = _on_host(kind, x.format)
        plan = kept.plan(key, (x, target), by_kernels, on_host, blank_like(target))
    return plan.run((x, None))


def chunks(
    kind: str,
    x: Planes,
    y: Planes | None = None,
    accuracy: str = "accurate",
    out: Planes | None = None,
) -> Planes:
    """What each chunk of a vector x comes to, of *kind* dot with y, in words: before they combine.

    x in a format that computes. Shape (chunks,); *out*: dense, and from its memory's start on.
    """
    form, count = x.format.compute, base.blocks(x.shape[0], definition.CHUNK)
    out = allocate(form, (count,), x.queue) if out is None else out
    given = (x, out) if y is None else (x, y, out)

    def by_kernels(x: Planes, *more: Planes) -> None:
        *vector, out = more
        row = x.view((1, *x.shape), (0, *x.strides), x.start)
        s = _spread(default(row, accuracy), 1, count, x.device.properties.compute_units)
        s = fitted(s, row, vector[0] if vector else None)
        unit = compilation_unit(x.format.name, kind, s, accuracy)
        sizes: dict[str, Any] = {"rows": 1, "k": x.shape[0], "chunks": count, "x": row}
        sizes |= {"partial": out} | dict(zip("y", vector, strict=False))
        launch.run(x.queue, unit, (s.blocks(1, count), 1, 1), (s.threads, 1, 1), sizes)

    if count:
        made = partial(reference.chunks, x.format, kind, accuracy)
        launch.repeat((chunks, kind, accuracy), given, by_kernels, base.hosted(made))
    return out


@cache
def combining_unit(form: str, kind: str, schedule: Schedule) -> KernelSpec:
    """The kernel that combines what chunks of a vector on several devices come to."""
    f = formats.get(form)
    combine = steps(f, kind, "accurate")["combine"]
    sizes = [Index(name) for name in ("rows", "k", "chunks")]
    return spec(
        f"{kind}_combined",
        schedule.combining,
        f,
        {"combine": combine},
        stored={},
        threads=schedule.combine_threads,
        held=_held(combine),
        recompute=False,
        takes=[*sizes, Array("partial", const=False, start=False, compute=True), ENDED],
        **_definition(kind),
    )


def combined(kind: str, values: Planes) -> Planes:
    """What chunks, which are overwritten, come to in order: pairwise with halving distance."""
    kind = "sum" if kind == "dot" else kind
    operator = {"sum": "add", "prod": "mul"}.get(kind, kind)
    out = allocate(values.format, (1,), values.queue)

    def by_kernels(values: Planes, out: Planes) -> None:
        count = values.shape[0]
        distance = 1 << max(count - 1, 0).bit_length() >> 1
        while distance >= FAR:
            upper = values.view((count - distance,), values.strides, values.start + distance)
            lower = values.view(upper.shape, values.strides, values.start)
            elementwise.apply(operator, [lower, upper], lower)
            count, distance = distance, distance >> 1
        s = default(values.view((1, count), (0, 1), values.start), "accurate")
        unit = (combining_unit(values.format.name, kind, s),)
        given = {"rows": 1, "k": 0, "chunks": count, "partial": values, "out": out}
        launch.run(values.queue, unit, (1, 1, 1), (s.combine_threads, 1, 1), given)

    made = partial(reference.combined, values.format, kind)
    launch.repeat((combined, kind), (values, out), by_kernels, base.hosted(made))
    return out.view((), (), 0)


def computed_rows(
    kind: str,
    x: Planes,
    out: Planes,
    computed: Computed,
    lies: tuple[tuple[str, Format], ...],
    dense: bool,
) -> None:
    """Launch what reduces rows that lie nowhere: x says how they would.

    *dense*: whether neighbours there are neighbours in all operands.
    """
    schedule = one_by_one(default(x, "accurate"))
    if isinstance(schedule, SweepSchedule) and not dense:
        schedule = replace(schedule, width=1)
    _reduce(kind, x, out, schedule, computed=(computed, lies))


def default(x: Planes, accuracy: str) -> Schedule:
    """The schedule that reduces the rows of x: threads read along its contiguous index."""
    return schedules.reduce(x.format, x.device, accuracy, shape_class(x))


def shape_class(x: Planes) -> str:
    """The class of shapes, as the database of schedules names it."""
    if x.shape[0] == 1:
        few = SHORT * x.device.properties.compute_units
        return "short" if x.shape[1] <= few * definition.CHUNK else "one"
    return "across" if abs(x.strides[0]) < abs(x.strides[1]) else "along"


def _spread(s: Schedule, rows: int, chunks: int, units: int) -> Schedule:
    """With fewer rows a work-item, where a GPU's compute units would be left without work."""
    finer = s.finer()
    while finer and s.blocks(rows, chunks) < units:
        s, finer = finer, finer.finer()
    return s


def fitted(s: Schedule, x: Planes, y: Planes | None) -> Schedule:
    """Neighbours are read at once only where they lie side by side, from whole words on."""
    if s.elements_per_access > 1:
        row, step = x.strides
        starts = [x.start, row if x.shape[0] > 1 else 0]
        steps = [step]
        if y is not None:
            starts.append(y.start)
            steps += y.strides
        if set(steps) != {1} or any(start % s.elements_per_access for start in starts):
            return one_by_one(s)
    return s


def one_by_one(s: Schedule) -> Schedule:
    """The same load on each thread, an element at a time."""
    if not isinstance(s, ReduceSchedule) or s.elements_per_access == 1:
        return s
    return replace(
        s, elements_per_access=1, staged=0, teams=max(1, s.teams // s.elements_per_access)
    )


def _reduce(
    kind: str,
    x: Planes,
    out: Planes,
    schedule: Schedule | None,
    accuracy: str = "accurate",
    product: Product[Planes] | None = None,
    read: Format | None = None,
    computed: tuple[Any, ...] = (),
) -> None:
    """*product*: of which x is the matrix; *read*: operands' format where results are bounded.

    *computed*: what x is that lies nowhere, and how its operands lie.
    """
    rows = x.shape[0]
    if not rows:
        return
    k, y = (x.shape[1], None) if product is None else (product.depth, product.b)
    form, device, queue = read or out.format, x.device, x.queue
    results = out.format.name if read else ""
    if schedule is None or computed:
        units, chunks = device.properties.compute_units, base.blocks(k, definition.CHUNK)
        schedule = _spread(schedule or default(x, accuracy), rows, chunks, units)
    else:
        schedule.check(form, device)
    s = fitted(schedule, x, y)
    chunks = base.blocks(k, definition.CHUNK)
    unit = unit_for(kind, s, rows, chunks, form.name, accuracy, x.format.name, results, *computed)
    given: dict[str, Any] = {"rows": rows, "k": k, "chunks": chunks, "x": x}
    if y is not None:
        given["y"] = y
    ended = {"out": out} if product is None else product.ending
    grid, block = (s.blocks(rows, chunks), 1, 1), (s.threads, 1, 1)
    if len(unit) == 1:
        launch.run(queue, unit, grid, block, given | ended)
        return
    given["partial"] = allocate(form.compute, (rows, max(chunks, 1)), queue)
    if chunks:
        launch.run(queue, unit, grid, block, given)
    alone = _combines_alone(s, rows, chunks)
    grid = (base.blocks(rows, s.combine_threads) if alone else rows, 1, 1)
    block = (s.combine_threads, 1, 1)
    launch.run(queue, unit, grid, block, given | ended, unit[1].name)


def _combines_alone(s: Schedule, rows: int, chunks: int) -> bool:
    """Whether a work-item combines a row: a block a row would leave most of its threads idle."""
    return s.combines_alone and chunks <= FEW and rows >= s.combine_threads


def unit_for(
    kind: str,
    s: Schedule,
    rows: int,
    chunks: int,
    form: str,
    accuracy: str,
    stored: str,
    results: str = "",
    computed: Computed | None = None,
    lies: tuple[tuple[str, Format], ...] = (),
) -> tuple[KernelSpec, ...]:
    """The kernels for so many rows of so many chunks, in the format *stored*, by a fitted schedule.

    Rows of one chunk are done by the first of them.
    """
    alone, single = _combines_alone(s, rows, chunks), chunks == 1 and s.ends
    return compilation_unit(form, kind, s, accuracy, stored, alone, results, single, computed, lies)
