"""Triangular systems and products: op(a) x = b and op(a) b for triangular a, and a a^T.

Definition: a system is cut by halves at multiples of ``definition.BLOCK`` rows; products between
the parts are GEMM's with alpha = -1 and beta = 1. In a block, unknowns are found in order: x_i =
div(b_i, a_ii), left out for a unit diagonal, then fma(-a_ji, x_i, b_j) for all rows j that follow.
A product is cut by halves down to ``definition.TRIANGLE`` rows, which GEMM takes with zeros beyond
the diagonal; the part beside it is added by GEMM with beta = 1. A system's matrix on the right is a
transposed one on the left. Elements of a a^T are GEMM's. n^2 r operations for n unknowns and r
columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Flag, Index, matrix
from portmp.errors import OutOfMemory
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.complexes import products
from portmp.routines.gemm import launch as gemm
from portmp.routines.moves import launch as moves
from portmp.routines.ozaki import choose, judged
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.options import Auto, of_both
from portmp.routines.plain import launch as plain
from portmp.routines.products.product import Product, entries
from portmp.routines.triangular import reference
from portmp.routines.triangular.steps import (
    WHOLE_BY_INTEGERS,
    Method,
    Run,
    Steps,
    factors,
    made,
    solving,
)
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, View, allocate, allocate_numbers
from portmp.schedules.base import widths

THREADS = 128
TILE = 16
"""Right-hand sides of a block of threads."""
LAYOUTS = {
    "narrow": {"threads": 256, "resident": 1, "tile": 4, "across": 1, "down": 2, "depth": 8},
    "wide": {"threads": 256, "resident": 2, "tile": 16, "across": 2, "down": 2, "depth": 8},
    "broad": {"threads": 256, "resident": 2, "tile": 32, "across": 4, "down": 2, "depth": 8},
}
"""Of a system's blocks of threads: how many, and right-hand sides; of a product a thread's columns
and rows, and the steps that are kept at once."""
ENOUGH = {"narrow": 1, "wide": 1280, "broad": 4096}
"""From so many right-hand sides on a layout's blocks keep a GPU busy; with fewer each has less."""
LONG, LONGEST = 50, 200
"""Operations that a step of products may have in others than the narrow layout, and in that one
where a thread has several rows: more would be too long, written out."""
LANES = {16: 0, 8: 2048, 4: 6144, 2: 12288}
"""Threads of a right-hand side in a block of unknowns, and from how many sides on."""
MEMORY = 32768
"""Bytes of block memory that every GPU has."""
SYSTEM = 256
"""Unknowns that GPUs find in one launch, with the products between their blocks: direct ones ..."""
ALONE = 1024
"""... but for so many right-hand sides in the narrow layout: there GEMM's are faster."""
PLANNED, LATER = 4096, {"gpu": 16384, "cpu": 4096}
"""Rows of matrices whose factorisations are planned, those of more than the first number where they
come again: a plan of many launches takes longer than to begin. Launches of larger ones, by the kind
of a device, take longer than to be issued."""
COPYING, EACH = 256, 8
"""Threads of a block that copies triangles, and elements of each."""
EVERYTHING, ZEROS, INSIDE = 0, 1, 2
"""What such a copy writes: all elements, those beyond the triangle, those of the triangle."""
SIDES = *(Index(name) for name in ("n", "columns", "tiles")), Flag("unit")
OPERANDS = matrix("a"), matrix("b", const=False)
"""What kernels of systems take."""


@cache
def kernel_spec(form: str, width: int = 1, taken: str = "") -> KernelSpec:
    """A block's unknowns, for many right-hand sides and matrices; *width* of them a vector.

    For CPUs: one thread has a tile of them. *taken* as in ``SOLVED``.
    """
    f = formats.get(form)
    roles = solving(f, taken)
    template = "triangular" if width == 1 else "triangular_vectors"
    sizes: dict[str, Any] = {"threads": 1, "tile": TILE, "most": definition.BLOCK}
    sizes |= {"takes": (*SIDES, *OPERANDS), "width": width}
    return spec(_called("solve", taken), f"linalg/{template}.mako", f, roles, **sizes)


def _called(kernel: str, taken: str) -> str:
    return "_".join(filter(None, ("triangular", kernel, taken)))


@cache
def lanes_spec(
    form: str, threads: int, lanes: int, most: int = definition.BLOCK, taken: str = ""
) -> KernelSpec:
    """The same for GPUs, of *most* unknowns, *lanes* threads a right-hand side."""
    f = formats.get(form)
    roles = solving(f, taken)
    sizes: dict[str, Any] = {"threads": threads, "lanes": lanes, "most": most}
    sizes["takes"] = *SIDES, *OPERANDS
    return spec(_called("lanes", taken), "linalg/triangular_lanes.mako", f, roles, **sizes)


def width_for(form: Format, device: Device | None) -> int:
    """Right-hand sides of a vector: 1 on GPUs, and where planes round what is stored."""
    if device is None or device.properties.kind != "cpu":
        return 1
    if any(plane != form.word for plane in form.planes):
        return 1
    return max(width for width in widths(form, device) if TILE % width == 0)


def lanes_for(columns: int) -> int:
    """Threads that share one of so many right-hand sides."""
    return min(lanes for lanes, least in LANES.items() if columns >= least)


def layouts(form: str) -> tuple[str, ...]:
    """Which layouts a format has: with long operations the narrow one alone."""
    return tuple(LAYOUTS) if _operations(form) <= LONG else ("narrow",)


@cache
def _operations(form: str) -> int:
    """Of a step of products."""
    return sum(formats.get(form).accumulator("accurate").networks["accumulate"].cost.values())


def layout_for(form: str, batch: int, columns: int) -> str:
    """The layout for so many right-hand sides of each of a batch's systems."""
    for name in reversed(layouts(form)):
        if columns >= LAYOUTS[name]["tile"] and batch * columns >= ENOUGH[name]:
            return name
    return layouts(form)[0]


@cache
def system_spec(form: str, layout: str, threads: int) -> KernelSpec:
    """Systems of at most SYSTEM unknowns whole, for many right-hand sides and matrices."""
    f = formats.get(form)
    accumulator = f.accumulator("accurate")
    roles = accumulator.networks | f.roles("div", "neg", "fma", "add", "mul")
    sizes: dict[str, Any] = {"most": definition.BLOCK, **LAYOUTS[layout], "threads": threads}
    if _operations(form) > LONGEST:
        sizes["down"] = 1
    kept = threads * sizes["across"] * sizes["down"] // sizes["tile"] + 1 + sizes["tile"]
    while sizes["depth"] * kept * f.limbs * np.dtype(f.word).itemsize > MEMORY:
        sizes["depth"] //= 2
    sums: dict[str, Any] = {"slab": definition.SLAB, "period": accumulator.period}
    takes = *SIDES, Flag("upper"), *OPERANDS
    path = "linalg/triangular_system.mako"
    return spec("triangular_system", path, f, roles, takes=takes, **sizes, **sums)


def whole(device: Device | None, form: Format) -> bool:
    """Whether systems are solved whole: not on CPUs, whose threads take turns at barriers.

    Nor those of complex numbers, whose products are of their parts.
    """
    return form.components == 1 and base.threads_of(device, THREADS) == THREADS


@cache
def copy_spec(form: str, threads: int = COPYING) -> KernelSpec:
    """Copies of triangles with zeros beyond the diagonal."""
    sizes: dict[str, Any] = {"threads": threads, "each": EACH}
    counts = (Index(name) for name in ("lines", "rows", "columns", "held", "begin"))
    flags = (Flag(name) for name in ("lower", "unit", "written", "spread"))
    takes = *counts, *flags, matrix("a"), matrix("out", const=False)
    return spec("triangle", "linalg/triangle.mako", formats.get(form), {}, takes=takes, **sizes)


def copied_triangle(
    a: Planes,
    *,
    lower: bool,
    unit: bool,
    rows: int | None = None,
    first: int = 0,
    out: Planes | None = None,
    inside: bool = False,
) -> Planes:
    """Matrices (batch, rows, columns) with zeros beyond a triangle; *unit*: ones on the diagonal.

    *rows*: as many as are copied of them, the first ones; more than there are become rows of zeros.
    *first*: the row in which the diagonal begins. *out*: where they are written to; a itself is
    changed in place. *inside*: no zeros are written, what lies beyond the triangle stays.
    """
    rows = a.shape[-2] if rows is None else rows
    if out is None:
        out = allocate(a.format, (*a.shape[:-2], rows, a.shape[-1]), a.queue)
    if not out.size:
        return out
    made = partial(reference.triangle, lower=lower, unit=unit, rows=rows, first=first)

    def by_reference(a: Planes, out: Planes) -> None:
        assert not inside
        base.each_on_host(out, made, a)

    written = INSIDE if inside else ZEROS if out is a else EVERYTHING
    asked = {"rows": rows, "begin": first, "lower": lower, "unit": unit, "written": written}
    launch.do((a, out), partial(_copy_triangle, asked), by_reference)
    return out


def _copy_triangle(asked: dict[str, int], a: Planes, out: Planes) -> None:
    threads = base.threads(out.device, COPYING)
    key = copy_spec(a.format.name, threads)
    columns = out.shape[-1]
    lines = out.size // columns
    # Neighbours of GPUs' threads are neighbours in memory; on CPUs each thread has a few.
    apart = 1 if out.device.properties.kind == "gpu" else EACH
    spread = min(threads, 1 << (base.blocks(columns, apart) - 1).bit_length()).bit_length() - 1
    across, down = base.blocks(columns, EACH << spread), base.blocks(lines, threads >> spread)
    given: dict[str, Any] = {"a": a, "out": out, "held": a.shape[-2], **asked}
    given |= {"lines": lines, "columns": columns, "spread": spread}
    launch.run(out.queue, (key,), (across * down, 1, 1), (threads, 1, 1), given)


class OnDevice(Steps[Planes]):
    """Blocks of batches of matrices (batch, rows, columns) on a device that runs kernels."""

    def __init__(self, form: Format, method: Method) -> None:
        self.form, self.method = form, method
        self.factors = factors(form)
        self.updates = gemm.Updates()
        self._ways: dict[int, ozaki.Way] = {}

    def shape(self, x: Planes) -> tuple[int, int]:
        return x.shape[1], x.shape[2]

    def part(self, x: Planes, rows: slice, columns: slice) -> Planes:
        shape = (x.shape[0], rows.stop - rows.start, columns.stop - columns.start)
        start = x.start + rows.start * x.strides[1] + columns.start * x.strides[2]
        return x.view(shape, x.strides, start)

    def turned(self, x: Planes) -> Planes:
        return x.transposed((0, 2, 1))

    def backwards(self, x: Planes, columns: bool) -> Planes:
        batch, row, column = x.strides
        start = x.start + (x.shape[1] - 1) * row
        if columns:
            return x.view(x.shape, (batch, -row, -column), start + (x.shape[2] - 1) * column)
        return x.view(x.shape, (batch, -row, column), start)

    def halves(self, x: Planes) -> tuple[Planes, Planes]:
        return x.part(0), x.part(1)

    def product(
        self, a: Planes, b: Planes, c: Planes, kind: str, method: Method, conjugated: str = ""
    ) -> None:
        if c.format.components > 1 and method is None:
            self.by_parts(a, b, c, kind, conjugated)
            return
        if c.format.components > 1:
            left, right = (
                products.rows(a, conjugated == "a"),
                products.columns(b, conjugated == "b"),
            )
            both = products.stacked(c.halves, -2)
            self.product(left, right, both, kind, of_both(method))
            for half, found in zip(c.halves, products.halves_of_rows(both), strict=True):
                moves.copied(found, out=half)
            return
        given = Product(a, b, *self.factors[kind], c, c)
        if method is None:
            self.updates.run(given)
            return
        if isinstance(method, Auto):
            for each in entries(given):
                judged.update(each, method)
            return
        way = self._way(c.device, method, a.shape[2])
        for each in entries(given):
            ozaki.update(each, way)

    def whole_squares(self, a: Planes, method: Method) -> tuple[int, bool]:
        found = super().whole_squares(a, method)
        return found if method is None else (WHOLE_BY_INTEGERS[a.device.properties.kind], False)

    def products(
        self, a: Planes, c: Planes, parts: Sequence[Run], kind: str, method: Method
    ) -> None:
        """By integers: rows of a are cut once for all blocks."""
        if method is None:
            for part in parts:
                self._run(a, c, part, kind)
            return
        if isinstance(method, Auto) or c.format.components > 1:
            super().products(a, c, parts, kind, method)
            return
        alpha, beta = self.factors[kind]
        way = self._way(c.device, method, a.shape[2])
        spans = [b for part in parts for b in part.each()]
        for each in range(a.shape[0]):
            mine, target = (base.matrix_of(v, (each,)) for v in (a, c))
            ozaki.square(mine, target, spans, alpha=alpha, beta=beta, way=way)

    def _way(self, device: Device, method: choose.ByIntegers, k: int) -> ozaki.Way:
        """How products by integers over *k* steps are made."""
        if k not in self._ways:
            self._ways[k] = choose.way(self.form.component, device, k, method)
        return self._ways[k]

    def _run(self, a: Planes, c: Planes, run: Run, kind: str) -> None:
        """Direct products of one matrix's blocks in one launch."""
        if run.blocks == 1 or a.shape[0] > 1:
            super().products(a, c, [run], kind, None)
            return
        k = a.shape[2]
        down, across = a.strides[1:]
        left, right = (
            a.view((run.blocks, v.stop - v.start, k), (run.distance * down, down, across), start)
            for v, start in ((v, a.start + v.start * down) for v in run[:2])
        )
        self.product(left, self.turned(right), self._matrices(c, run)[0], kind, None, "b")

    def square_alone(self, a: Planes, c: Planes, kind: str, lower: bool) -> None:
        """``square`` that leaves what lies beyond the triangle as it is.

        Blocks on the diagonal are computed whole, so what they hold beyond it is kept meanwhile.
        """
        runs = [run for run in self.parts_of_square(a, lower) if run.rows == run.columns]
        blocks = [block for run in runs for block in self._matrices(c, run)]
        kept = [moves.copied(block) for block in blocks]
        self.square(a, c, kind, lower)
        for mine, block in zip(kept, blocks, strict=True):
            first = -1 if lower else 1  # without the diagonal
            copied_triangle(mine, lower=not lower, unit=False, first=first, out=block, inside=True)

    def _matrices(self, c: Planes, run: Run) -> list[Planes]:
        """A run's blocks as batches: all of one matrix, or one of all matrices."""
        found = [self.part(c, *block) for block in run.each()]
        if c.shape[0] > 1:
            return found
        shape, distance = (run.blocks, *found[0].shape[1:]), run.distance * sum(c.strides[1:])
        return [c.view(shape, (distance, *c.strides[1:]), found[0].start)]

    def solve(self, a: Planes, b: Planes, *, lower: bool, unit: bool, taken: str = "") -> None:
        """Overwrite b; of few unknowns in one launch where the device has such a kernel."""
        batch, n, columns = b.shape
        h = definition.half(n)
        direct = n <= SYSTEM and self.method_for(n - h, columns, h) is None
        one = n > definition.BLOCK and direct and whole(b.device, self.form)
        if one and columns >= ALONE:
            one = layouts(self.form.name) != ("narrow",)
        if not b.size or not one:
            super().solve(a, b, lower=lower, unit=unit, taken=taken)
            return
        layout = layout_for(self.form.name, batch, columns)
        threads = base.threads_of(b.device, LAYOUTS[layout]["threads"])
        key = system_spec(self.form.name, layout, threads)
        tiles = base.blocks(columns, LAYOUTS[layout]["tile"])
        if not lower:
            a, b = self.backwards(a, True), self.backwards(b, False)
        given: dict[str, Any] = {"n": n, "columns": columns, "tiles": tiles}
        given |= {"unit": unit, "upper": not lower, "a": a, "b": b}
        launch.run(b.queue, (key,), (batch * tiles, 1, 1), (threads, 1, 1), given)

    def solve_again(self, a: Planes, b: Planes, **how: Any) -> None:
        """By a plan, unless products within it wait for the host."""
        form, method, beyond, wide = self.form, self.method, self.beyond, self.wide
        if isinstance(method, Auto) and method.unmade is None:
            self.solve(a, b, **how)
            return

        def solved(a: Planes, b: Planes, *unmade: Any) -> None:
            mine = replace(method, unmade=unmade[0]) if isinstance(method, Auto) else method
            steps = OnDevice(form, mine)
            steps.beyond, steps.wide = beyond, wide
            steps.solve(a, b, **how)

        left: tuple[Numbers, ...] = ()
        if isinstance(method, Auto):
            left, method = (method.unmade,), replace(method, unmade=None)
        what = OnDevice.solve_again, method, beyond, wide, *how.values()
        launch.repeat(what, (a, b, *left), solved, solved, later=True)

    def solve_block(self, a: Planes, b: Planes, unit: bool, taken: str = "") -> None:
        threads = base.threads_of(b.device, THREADS)
        batch, n, columns = b.shape
        if threads == 1:
            key = kernel_spec(self.form.name, width_for(self.form, b.device), taken)
            tiles = base.blocks(columns, TILE)
        else:
            lanes = min(lanes_for(batch * columns), threads)
            sides = 1 << (columns - 1).bit_length()
            threads = min(threads, max(lanes * sides, b.device.properties.warp_size))
            most = definition.BLOCK if n > definition.BLOCK // 2 else definition.BLOCK // 2
            key = lanes_spec(self.form.name, threads, lanes, most, taken)
            tiles = base.blocks(columns, threads // lanes)
        given = {"n": n, "columns": columns, "tiles": tiles, "unit": unit, "a": a, "b": b}
        launch.run(b.queue, (key,), (batch * tiles, 1, 1), (threads, 1, 1), given)

    def copied(self, x: Planes) -> Planes:
        return moves.copied(x)

    def trapezoid(self, a: Planes, first: int, out: Planes, unit: bool = True) -> None:
        copied_triangle(a, lower=True, unit=unit, first=first, out=out)


launch.TAKES_COMPLEX.add(OnDevice.solve_again)


def repeat(
    what: Sequence[Any],
    method: Method,
    given: Sequence[View[Any]],
    by_kernels: Callable[..., None],
    by_reference: Callable[..., None],
    changed: int = 1,
) -> None:
    """Do it, by a plan where that is worth one.

    *given*: a stack of matrices first, and what else is passed to *by_kernels*, after the method,
    or, where no kernels run, to *by_reference*. The first *changed* ones are read before they are
    written.
    """
    # No product has more rows, columns or steps: in a plan none may be judged unforeseen.
    most = max(size for one in given for size in one.shape[1:])
    repeated = _repeated((*what, method), given[0])
    do(method, (most, most, most), given, by_kernels, by_reference, changed, repeated)


def _repeated(what: Sequence[Any], first: View[Any]) -> Callable[..., None]:
    """What does *what* with operands like the first one, by a plan where that is worth one."""
    side = max(first.shape[1:])
    if side > LATER[first.device.properties.kind]:
        return launch.do
    return partial(launch.repeat, what, later=side > PLANNED)


def do(
    method: Method,
    largest: tuple[int, int, int],
    given: Sequence[View[Any]],
    by_kernels: Callable[..., None],
    by_reference: Callable[..., None],
    changed: int = 1,
    repeated: Callable[..., None] = launch.do,
) -> None:
    """The same, *repeated* as it is; *largest*: sizes that no product exceeds.

    Where elements are judged nothing waits for any at first: if some are left in the end, all is
    done again.
    """
    first = given[0]
    assert isinstance(first, Planes)
    chosen = made(method, first.format, *largest)
    if isinstance(method, Auto) and method.unmade is not None:
        repeated = launch.do  # a part of longer work: a plan would tell the first one's memory
    if isinstance(chosen, Auto) and chosen.unmade is None and not first.device.by_reference:
        if _hoped(chosen, given, by_kernels, changed, repeated):
            return
        repeated = launch.do
    repeated(given, partial(by_kernels, method), by_reference)


def _hoped(
    method: Auto,
    given: Sequence[View[Any]],
    by_kernels: Callable[..., None],
    changed: int,
    repeated: Callable[..., None],
) -> bool:
    """Whether it was done without waiting, in the memory there is; else it is as it was."""

    def without_waiting(*operands: Any) -> None:
        *mine, unmade = operands
        by_kernels(replace(method, unmade=unmade), *mine)

    kept: list[View[Any]] = []
    try:
        kept += [moves.copied(one) for one in given[:changed]]
        unmade = allocate_numbers("int32", (1,), given[0].queue)
        plain.fill(unmade, 0)
        repeated((*given, unmade), without_waiting, without_waiting)
        if not unmade.read_parts()[0][0]:
            return True
    except OutOfMemory:  # product by product less is taken
        pass
    for one, copy in zip(given, kept, strict=False):
        moves.copied(copy, out=one)
    return False


def solve(
    a: Planes, b: Planes, *, lower: bool, unit: bool, method: Method, taken: str = ""
) -> None:
    """Overwrite b (batch, n, r) by the x of a x = b for triangular a (batch, n, n).

    *taken* as in ``SOLVED``, if they are complex.
    """
    if not b.size:
        return
    how: dict[str, Any] = {"lower": lower, "unit": unit, "taken": taken}
    solved = partial(reference.solve, b.format, method=method, **how)

    def by_kernels(method: Method, b: Planes, a: Planes) -> None:
        OnDevice(b.format, method).solve(a, b, **how)

    def by_reference(b: Planes, a: Planes) -> None:
        base.each_on_host(b, solved, a, b)

    _, n, columns = b.shape
    repeated = _repeated((solve, method, *how.values()), b)
    do(method, (n, columns, n), (b, a), by_kernels, by_reference, 1, repeated)


def times(
    a: Planes, b: Planes, *, lower: bool, unit: bool, method: Method, overwrite: bool = False
) -> Planes:
    """a b for triangular a (batch, n, n) and b (batch, n, r); with *overwrite* in b's memory."""
    out = b if overwrite else allocate(b.format, b.shape, b.queue)
    if not out.size:
        return out
    made = partial(reference.times, b.format, lower=lower, unit=unit, method=method)

    def by_kernels(method: Method, out: Planes, a: Planes, b: Planes) -> None:
        alone = copied_triangle(a, lower=lower, unit=unit)
        OnDevice(b.format, method).times(alone, b, None if overwrite else out, lower=lower)

    def by_reference(out: Planes, a: Planes, b: Planes) -> None:
        base.each_on_host(out, made, a, b)

    _, n, columns = b.shape
    repeated = _repeated((times, method, lower, unit, overwrite), b)
    do(method, (n, columns, n), (out, a, b), by_kernels, by_reference, int(overwrite), repeated)
    return out


launch.TAKES_COMPLEX |= {solve, times}


def square(
    a: Planes,
    c: Planes,
    *,
    lower: bool,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    method: Method,
    alone: bool = False,
) -> None:
    """The triangle of c (batch, n, n) becomes alpha a a^T + beta c.

    The other triangle holds anything afterwards; with *alone* what it held.
    """
    if not c.size:
        return
    if base.is_number(alpha, 0):
        a = a.view((*a.shape[:-1], 0), a.strides, a.start)  # as in gemm, a is not read
    made = partial(reference.square, c.format, lower=lower, method=method)

    def by_kernels(method: Method, c: Planes, a: Planes) -> None:
        steps = OnDevice(c.format, method)
        steps.factors["given"] = alpha, beta
        (steps.square_alone if alone else steps.square)(a, c, "given", lower)

    _, n, k = a.shape

    def by_reference(c: Planes, a: Planes) -> None:
        base.each_on_host(c, made, a, c, alpha, beta)

    do(method, (n, n, k), (c, a), by_kernels, by_reference)
