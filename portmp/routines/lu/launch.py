"""LU with partial pivoting: p a = l u, by blocks, any number of rows and columns.

Definition: columns are cut by halves at multiples of ``definition.BLOCK`` (Toledo 1997): the left
half is factored, its rows' swaps reach all columns, the upper right block becomes that of a unit
triangular system, the lower right block loses GEMM's product with alpha = -1 and beta = 1, and is
factored. In a panel of at most BLOCK columns: the pivot is the largest leading limb at or below the
diagonal, the first of equals, NaN never larger than a number; l_ik = div(w_ik, w_kk), left out for
a pivot of zero; w_ij = fma(-l_ik, w_kj, w_ij). 2/3 n^3 operations of a square matrix.
"""

from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Flag, Index, Parameter, Scratch, matrix
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.factor import panel, small
from portmp.routines.factor.panel import Panels, Shape
from portmp.routines.lu import reference
from portmp.routines.lu.steps import LuSteps
from portmp.routines.plain import launch as plain
from portmp.routines.triangular import launch as triangular
from portmp.routines.triangular.launch import COPYING, OnDevice
from portmp.routines.triangular.steps import Method
from portmp.runtime import launch
from portmp.runtime.planes import (
    Numbers,
    Planes,
    allocate,
    allocate_numbers,
    allocate_together,
    upload_numbers,
)

PARTS = 4
"""A row of a small matrix of two panels is cut into so many parts at most."""
THREADS = 256
ROWS = {"gpu": (64, 128, 256), "cpu": (256,)}
"""Rows that a block of threads in a panel may have, the usual number first."""
REGISTERS = 64
"""32-bit registers of a thread that elements of a panel may stay in from step to step."""
PRODUCTS = 64
"""Of a column's products, those that a thread compares with its pivot."""
TILE = 16
"""Columns of a block of threads that swaps rows."""


def _panel(f: Format) -> tuple[Parameter, ...]:
    """What a panel's kernel takes."""
    return panel.taken(
        *(Flag(name) for name in ("origin", "pivot_count")),
        matrix("w", const=False),
        Array("tops", start=False, const=False),
        Scratch("candidates", f.word),
        *(Scratch(name, "int32") for name in ("candidate_places", "candidate_rows", "places")),
        Index("slot"),
        *(Scratch(name, "int32") for name in ("firsts", "chosen", "pivots", "singular")),
    )


@cache
def panel_spec(
    form: str, threads: int = THREADS, rows: int = ROWS["gpu"][0], together: bool = False
) -> KernelSpec:
    """Steps of a panel; *together*: whose blocks wait for each other between them."""
    f = formats.get(form)
    sizes: dict[str, Any] = {"threads": threads, "rows": rows, "most": definition.BLOCK}
    sizes |= {"registers": REGISTERS, "together": together, "takes": _panel(f)}
    return spec("lu_panel", "linalg/lu_panel.mako", f, f.roles("div", "neg", "fma"), **sizes)


@cache
def alone_spec(form: str, width: int, rows: int) -> KernelSpec:
    """Whole panels in vectors of *width* columns, a thread each: for CPUs."""
    f = formats.get(form)
    roles = f.roles("div", "neg", "fma")
    sizes: dict[str, Any] = {"rows": rows, "most": definition.BLOCK, "takes": _panel(f)}
    return spec("lu_panel", "linalg/lu_panel_vectors.mako", f, roles, width=width, **sizes)


@cache
def small_spec(form: str, shape: small.Shape) -> KernelSpec:
    """Panels of few rows whole, of many matrices; or these whole, which have a few panels."""
    f = formats.get(form)
    takes = (
        *(Flag(name) for name in (*_counts(shape), "pivot_count")),
        *(Index("slot"), Flag("place_count"), Flag("order_count")),
        *(*small.taken("a"), *small.taken("out", const=False)),
        *(Scratch(name, "int32") for name in _Found._fields),
    )
    return small.kernel("lu", f, shape, f.roles("div", "neg", "fma"), takes)


def _counts(shape: small.Shape) -> tuple[str, ...]:
    """What rows, columns, steps and the first column of these are called."""
    return ("m", "width", "steps", "origin") if shape.panels == 1 else ("m", "n", "count", "start")


def small_shape(form: Format, device: Device | None, rows: int, columns: int) -> small.Shape | None:
    """How matrices are cut that one launch factors."""
    most = definition.BLOCK
    if min(rows, columns) <= most:
        return small.shape_of(form, device, rows, columns)
    if max(rows, columns) <= 2 * most:
        twice = 2 * [form.operator("fma")]  # both panels are written out
        panel = small.shape_of(form, device, 2 * most, most, twice, PARTS)
        return small.two_panels(form, device, panel)
    return None


@cache
def rows_spec(form: str, threads: int = COPYING) -> KernelSpec:
    """Rows in another order."""
    takes = (
        *(Index(name) for name in ("count", "m", "n")),
        *(matrix("a"), Scratch("order", "int32", const=True)),
        Array("out", start=False, const=False),
    )
    return spec("rows", "linalg/rows.mako", formats.get(form), {}, takes=takes, threads=threads)


@cache
def swap_spec(form: str, threads: int = THREADS) -> KernelSpec:
    """A panel's swaps in all columns."""
    sizes: dict[str, Any] = {"threads": threads, "tile": TILE, "most": definition.BLOCK}
    takes = (
        *(Flag("steps"), *(Index(name) for name in ("columns", "tiles", "batch", "slot"))),
        matrix("w", const=False),
        *(Scratch(name, "int32", const=True) for name in ("places", "chosen")),
    )
    return spec("lu_swap", "linalg/lu_swap.mako", formats.get(form), {}, takes=takes, **sizes)


@cache
def weak_spec(form: str, threads: int = COPYING) -> KernelSpec:
    """Pivots that may be rounding errors alone."""
    f = formats.get(form)
    takes = (
        *(Index(name) for name in ("count", "n", "parts")),
        *(matrix("w"), Scratch("singular", "int32")),
    )
    sizes: dict[str, Any] = {"threads": threads, "each": PRODUCTS, "takes": takes}
    sizes |= {"root": reference.root(f), "infinity": reference.INFINITY}
    return spec("weak_pivots", "linalg/weak_pivots.mako", f, {}, **sizes)


def threads_for(device: Device | None) -> int:
    """Threads of a block: at least one for each column of a panel, or a single one."""
    threads = base.threads_of(device, THREADS)
    return threads if threads >= definition.BLOCK else 1


def of_many(form: Format, device: Device | None) -> KernelSpec:
    """The kernel of a panel that several blocks of threads share."""
    rows = ROWS[device.properties.kind if device else "gpu"][0]
    together = bool(device and device.blocks_wait)
    return panel_spec(form.name, threads_for(device), rows, together)


Integers = np.ndarray[Any, np.dtype[np.int32]]


@dataclass
class Factored:
    """What a factorisation says beside its factors, on its device until the host asks for it."""

    pivots_there: Numbers
    singular_there: Numbers
    order_there: Numbers | None = None

    @cached_property
    def pivots(self) -> Integers:
        """(batch, k): row i was swapped with row pivots[i], in order. Waits for the device."""
        return self.pivots_there.read_parts()[0]

    @cached_property
    def singular(self) -> Integers:
        """(batch,): the first column whose pivot is zero or NaN, counted from 1; 0 where there is
        none. Waits for the device."""
        return self.singular_there.read_parts()[0]

    def judged(self, w: Planes) -> Integers:
        """``singular`` of square factors w, with negative numbers as ``solved`` has them."""
        if w.size:
            launch.do((w, self.singular_there), _weak, _weak_on_host)
        return self.singular

    def order(self, rows: int) -> Numbers | Integers:
        """(batch, rows): which row of the matrix comes where."""
        there = self.order_there
        return reference.swapped(self.pivots, rows) if there is None else there


class _Found(NamedTuple):
    """What kernels say beside factors, for a stack: pivots and singular columns as Factored has
    them; of each panel where its first rows went, and which came there."""

    pivots: Numbers
    singular: Numbers
    places: Numbers
    order: Numbers


def _found(
    w: Planes, panels: int, placed: int, ordered: int, singular: Numbers | None = None
) -> _Found:
    batch, m, n = w.shape
    shapes = [(batch, min(m, n)), (batch,), (panels, batch, placed), (panels, batch, ordered)]
    found = _Found(*allocate_together("int32", shapes, w.queue))
    return found if singular is None else found._replace(singular=singular)


def _few_rows(shape: small.Shape, a: Planes, out: Planes, first: int, found: _Found) -> None:
    """What has few rows: out becomes the factors of a, which may be out itself."""
    batch, m, width = a.shape
    given: dict[str, Any] = dict(
        zip(_counts(shape), (m, width, min(m, width), first), strict=True),
        slot=first // definition.BLOCK * batch,
        pivot_count=found.pivots.shape[-1],
        place_count=found.places.shape[-1],
        order_count=found.order.shape[-1],
    )
    given |= small.given("a", a) | small.given("out", out) | found._asdict()
    small.run(small_spec(out.format.name, shape), shape, a, given)


class LuOnDevice(OnDevice, LuSteps[Planes]):
    """LU of batches of matrices on a device that runs kernels."""

    def __init__(
        self, w: Planes, method: Method, singular: Numbers, pivots: Numbers | None = None
    ) -> None:
        super().__init__(w.format, method)
        batch, m, n = w.shape
        self.count = min(m, n)
        self.threads = threads_for(w.device)
        self.batch = batch
        panels = base.blocks(self.count, definition.BLOCK)
        self.found = _found(w, panels, definition.BLOCK, definition.BLOCK, singular)
        if pivots is not None:
            self.found = self.found._replace(pivots=pivots)
        if small.shape_of(w.format, w.device, m, min(self.count, definition.BLOCK)):
            return  # panels of few rows need nothing else
        plain.fill(self.found.singular, 0)
        form, rows = w.format.name, ROWS[w.device.properties.kind]

        def stepped(shape: Shape, many: bool, together: bool) -> KernelSpec:
            return panel_spec(form, shape.threads, shape.rows, together)

        single = panel.alone(alone_spec, w.format, w.device)
        shapes = [Shape(each, self.threads) for each in rows]
        self.panels = Panels(w.queue, stepped, shapes[0], shapes, single)
        most = base.blocks(m, rows[0])
        counts = [(batch * m,), *[(2 * batch * most,)] * 2]
        names = "places", "candidate_places", "candidate_rows"
        memory = zip(names, allocate_together("int32", counts, w.queue), strict=True)
        self.memory: dict[str, Any] = dict(memory)
        self.memory["candidates"] = allocate(formats.get(w.format.word), counts[1], w.queue)
        self.memory["tops"] = allocate(w.format, (*counts[1], definition.BLOCK), w.queue)
        self.memory |= {"firsts": self.found.places, "chosen": self.found.order}
        self.memory |= {"pivots": self.found.pivots, "singular": self.found.singular}

    def alone(self, panel: Planes, first: int) -> bool:
        _, rows, width = panel.shape
        shape = small.shape_of(panel.format, panel.device, rows, width)
        if shape:
            _few_rows(shape, panel, panel, first, self.found)
            return True
        own = {"origin": first, "pivot_count": self.count, "w": panel, "slot": self.slot(first)}
        self.panels.run(self.batch, rows, width, own | self.memory)
        return False

    def slot(self, first: int) -> int:
        """How many matrices have panels left of a column."""
        return first // definition.BLOCK * self.batch

    def swap(self, w: Planes, first: int, end: int, columns: slice) -> None:
        self.swapped(self.part(w, slice(first, w.shape[1]), columns), first, end - first)

    def swapped(self, rows: Planes, first: int, steps: int) -> None:
        """Do so many swaps in columns whose rows from *first* on are given."""
        count = rows.shape[2]
        if not count:
            return
        swap = swap_spec(self.form.name, self.threads)
        tiles = base.blocks(count, TILE)
        given: dict[str, Any] = {"steps": steps, "columns": count, "tiles": tiles}
        given |= {"batch": self.batch, "slot": self.slot(first), "w": rows}
        given |= {"places": self.found.places, "chosen": self.found.order}
        launch.run(rows.queue, (swap,), (self.batch * tiles, 1, 1), (self.threads, 1, 1), given)


def factor(a: Planes, w: Planes, method: Method) -> Factored:
    """w (batch, m, n) becomes the factors of a, which may be w itself."""
    batch, m, n = w.shape
    count = min(m, n)
    if not w.size:
        pivots, singular = allocate_together("int32", [(batch, count), (batch,)], w.queue)
        singular.write_parts([np.zeros(batch, np.int32)])
        return Factored(pivots, singular)
    shape = small_shape(w.format, w.device, m, n)
    if shape:
        kept = _found(w, 1, 0, m)
        _few_rows(shape, a, w, 0, kept)
        return Factored(kept.pivots, kept.singular, kept.order.view_as((batch, m)))
    if a is not w:
        elementwise.apply("copy", [a], w)
    pivots, singular = allocate_together("int32", [(batch, count), (batch,)], w.queue)
    by = _factor, partial(_factor_on_host, method)
    triangular.repeat((factor,), method, (w, pivots, singular), *by)
    return Factored(pivots, singular)


def _factor(method: Method, w: Planes, pivots: Numbers, singular: Numbers) -> None:
    LuOnDevice(w, method, singular, pivots).factor(w)


def _factor_on_host(method: Method, w: Planes, pivots: Numbers, singular: Numbers) -> None:
    every = base.each_changed([w], partial(reference.factor, w.format, method=method), w)
    pivots.fill([np.array([one.pivots for one in every], np.int32)])
    singular.fill([np.array([one.singular for one in every], np.int32)])


def solved(a: Planes, b: Planes, x: Planes, method: Method) -> Integers:
    """x becomes the solution of a x = b, all (batch, n, ...).

    Returns the first columns without a pivot, as ``Factored`` has them, and waits for the device.
    They are negative where all have one, and one of them may be rounding errors alone.
    """
    if not a.size:
        return np.zeros(a.shape[0], np.int32)
    singular = allocate_numbers("int32", a.shape[:1], a.queue)
    by = _solve, partial(_solve_on_host, method)
    triangular.repeat((solved,), method, (a, b, x, singular), *by, changed=0)
    return singular.read_parts()[0]


def _solve(method: Method, a: Planes, b: Planes, x: Planes, singular: Numbers) -> None:
    batch, n, _ = a.shape
    w = allocate(a.format, a.shape, a.queue)
    shape = small_shape(a.format, a.device, n, n)
    if shape:
        kept = _found(w, 1, 0, n, singular)
        _few_rows(shape, a, w, 0, kept)
        ordered(b, kept.order.view_as((batch, n)), x)
    else:
        elementwise.apply("copy", [a], w)
        steps = LuOnDevice(w, method, singular)
        steps.factor(w)
        elementwise.apply("copy", [b], x)
        steps.swap(x, 0, n, slice(0, x.shape[2]))
    _weak(w, singular)
    _by_factors(w, x, method)


def _solve_on_host(method: Method, a: Planes, b: Planes, x: Planes, singular: Numbers) -> None:
    w = allocate(a.format, a.shape, a.queue)
    found = factor(a, w, method)
    singular.fill([found.singular])
    _weak_on_host(w, singular)
    ordered(b, found.order(a.shape[1]), x)
    _by_factors(w, x, method)


def _weak(w: Planes, singular: Numbers) -> None:
    batch, n, _ = w.shape
    parts, threads = base.blocks(n, PRODUCTS), base.threads(w.device, COPYING)
    count, unit = batch * parts * n, (weak_spec(w.format.name, threads),)
    given = {"count": count, "n": n, "parts": parts, "w": w, "singular": singular}
    launch.over(w.queue, unit, count, threads, given)


def _weak_on_host(w: Planes, singular: Numbers) -> None:
    base.on_host(singular, partial(reference.weak, w.format), w, singular)


def _by_factors(w: Planes, x: Planes, method: Method) -> None:
    triangular.solve(w, x, lower=True, unit=True, method=method)
    triangular.solve(w, x, lower=False, unit=False, method=method)


def ordered(b: Planes, order: Numbers | np.ndarray[Any, Any], out: Planes | None = None) -> Planes:
    """Copies of matrices (batch, m, n) with row order[e, i] of entry e as its row i.

    *order* on b's device, or on the host; *out* is dense.
    """
    out = allocate(b.format, b.shape, b.queue) if out is None else out
    if not out.size:
        return out
    launch.do((b, out), partial(_order, order), partial(_order_on_host, order))
    return out


def _order(order: Numbers | np.ndarray[Any, Any], b: Planes, out: Planes) -> None:
    if not isinstance(order, Numbers):
        order = upload_numbers(order.astype(np.int32), b.queue)
    threads = base.threads(b.device, COPYING)
    given = {"count": out.size, "m": b.shape[1], "n": b.shape[2], "a": b, "order": order}
    unit = (rows_spec(b.format.name, threads),)
    launch.over(b.queue, unit, out.size, threads, given | {"out": out})


def _order_on_host(order: Numbers | np.ndarray[Any, Any], b: Planes, out: Planes) -> None:
    host = order.read_parts()[0] if isinstance(order, Numbers) else order
    rows = host[..., None]
    base.on_host(out, lambda planes: [np.take_along_axis(p, rows, 1) for p in planes], b)


launch.TAKES_COMPLEX |= {factor, solved}
