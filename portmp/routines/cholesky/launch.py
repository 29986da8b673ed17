"""Cholesky's factorisation: a = l l^T for symmetric positive definite a, by blocks.

Definition: columns are cut by halves at multiples of ``definition.BLOCK``. The left ones are
factored in all rows from the diagonal down, the right ones lose GEMM's product of those rows with
the transpose of the first of them, as many as there are columns (alpha = -1, beta = 1), and are
factored. In a block of at most BLOCK columns: l_kk = sqrt(a_kk), l_ik = div(a_ik, l_kk), a_ij =
fma(-l_ik, l_jk, a_ij); rows below become the x of x l^T = b. Only the lower triangle is read. 1/3
n^3 operations.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Flag, Index, Scratch, matrix
from portmp.formats import Format
from portmp.networks import Network
from portmp.routines import base
from portmp.routines.cholesky import reference
from portmp.routines.cholesky.steps import CholeskySteps, operators
from portmp.routines.factor import small
from portmp.routines.moves import launch as moves
from portmp.routines.plain import launch as plain
from portmp.routines.triangular.launch import OnDevice, copied_triangle, repeat
from portmp.routines.triangular.steps import Method
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, Planes, allocate, allocate_numbers

MANY = 64
"""In stacks of so many matrices blocks are made as small matrices are, many at once."""
TEAM, LANES = 128, 4
"""Threads that factor a block on the diagonal, and those of each row below it."""
ROWS = {32: 2, 64: 2, 128: 1}
"""Rows below of a block of threads, and how many of a row's products are computed at once: with
many threads each has fewer registers."""
MOST_ROWS = {4: 64, 6: 64, 8: 32}
"""The most rows by words of a value, where that is less."""
FAILED = Scratch("failed", "int32")


def _roles(form: Format) -> dict[str, Network]:
    return {role: form.operator(op) for role, op in operators(form).items()}


def panel_rows(form: Format, device: Device | None) -> list[int]:
    """How many rows below a block of threads may have; none where one thread does everything."""
    if base.threads_of(device, TEAM + LANES * min(ROWS)) == 1:
        return []
    most = device.properties.max_threads if device else TEAM + LANES * max(ROWS)
    limit = MOST_ROWS.get(form.words, max(ROWS))
    return [rows for rows in ROWS if rows <= limit and TEAM + LANES * rows <= most]


@cache
def kernel_spec(form: str) -> KernelSpec:
    """A block's factor, by one thread."""
    f = formats.get(form)
    roles = _roles(f)
    takes = Index("n"), Flag("origin"), matrix("a", const=False), FAILED
    return spec("cholesky", "linalg/cholesky.mako", f, roles, takes=takes, most=definition.BLOCK)


@cache
def panel_spec(form: str, rows: int) -> KernelSpec:
    """A block's factor, and *rows* rows below it in each block of threads."""
    f = formats.get(form)
    roles = _roles(f)
    sizes: dict[str, Any] = {"team": TEAM, "lanes": LANES, "rows": rows, "at_once": ROWS[rows]}
    sizes["takes"] = (
        *(*(Index(name) for name in ("n", "below", "tiles")), Flag("origin"), matrix("a")),
        *(matrix("b", const=False), matrix("out", const=False), FAILED),
    )
    most = definition.BLOCK
    return spec("cholesky_panel", "linalg/cholesky_panel.mako", f, roles, most=most, **sizes)


@cache
def small_spec(form: str, shape: small.Shape) -> KernelSpec:
    """Whole factors of few rows, of many matrices."""
    f = formats.get(form)
    roles = _roles(f)
    counts = (Flag(name) for name in _counts(shape))
    matrices = *small.taken("a"), *small.taken("out", const=False)
    return small.kernel("cholesky", f, shape, roles, (*counts, *matrices, FAILED))


def _counts(shape: small.Shape) -> tuple[str, ...]:
    """What rows and the first column are called there."""
    return ("n", "origin") if shape.panels == 1 else ("all", "start")


def small_shape(form: Format, device: Device | None, n: int) -> small.Shape | None:
    """How matrices are cut that one launch factors."""
    most = definition.BLOCK
    if n <= most:
        return small.shape_of(form, device, n, n)
    panel = small.shape_of(form, device, most, most)
    return small.two_panels(form, device, panel) if n <= 2 * most else None


class CholeskyOnDevice(OnDevice, CholeskySteps[Planes]):
    """Cholesky's factors of batches of matrices on a device that runs kernels."""

    def __init__(self, a: Planes, method: Method, failed: Numbers) -> None:
        super().__init__(a.format, method)
        self.failed = failed
        plain.fill(failed, 0)
        self.small = small.shape_of(a.format, a.device, definition.BLOCK, definition.BLOCK)
        if a.shape[0] < MANY:
            self.small = None
        self.rows = [] if self.small else panel_rows(a.format, a.device)
        if self.rows:
            self.corners = allocate(a.format, (*a.shape[:2], definition.BLOCK), a.queue)

    def block(self, a: Planes, origin: int) -> None:
        if self.small:
            _small(self.small, a, a, origin, self.failed)
            return
        unit = (kernel_spec(self.form.name),)
        given = {"n": a.shape[1], "origin": origin, "a": a, "failed": self.failed}
        launch.run(a.queue, unit, (a.shape[0], 1, 1), (1, 1, 1), given)

    def panel(self, corner: Planes, below: Planes, origin: int) -> None:
        """In one launch where the device can.

        All blocks of threads read the corner, so its factor is kept elsewhere until the end.
        """
        if not self.rows:
            super().panel(corner, below, origin)
            return
        batch, n, _ = corner.shape
        wide = below.shape[1] * batch
        units = corner.device.properties.compute_units
        rows = next((r for r in self.rows if wide <= r * units), self.rows[-1])
        tiles = max(1, base.blocks(below.shape[1], rows))
        unit = (panel_spec(self.form.name, rows),)
        out = self.part(self.corners, slice(origin, origin + n), slice(0, n))
        given: dict[str, Any] = {"n": n, "below": below.shape[1], "tiles": tiles}
        given |= {"a": corner, "b": below, "out": out, "origin": origin, "failed": self.failed}
        block = (TEAM + LANES * rows, 1, 1)
        launch.run(corner.queue, unit, (batch * tiles, 1, 1), block, given)

    def factor(self, a: Planes) -> None:
        super().factor(a)
        self.put_corners(a, 0, a.shape[1])

    def put_corners(self, a: Planes, first: int, end: int) -> None:
        """Put blocks of the factor on the diagonal, in some columns, that panels kept elsewhere."""
        if not self.rows:
            return
        size = definition.BLOCK
        blocks, rest = divmod(end - first, size)
        for begin, count, rows in ((first, blocks, size), (end - rest, 1, rest)):
            if count and rows:
                here, there = (
                    v.view(
                        (v.shape[0], count, rows, rows),
                        (v.strides[0], size * step, *v.strides[1:]),
                        v.start + begin * step,
                    )
                    for v, step in (
                        (self.corners, self.corners.strides[1]),
                        (a, sum(a.strides[1:])),
                    )
                )
                moves.copied(here, out=there)


class Factored(NamedTuple):
    """Factors (batch, n, n), and of each matrix the order of the first leading minor that is not
    positive; 0 where it is positive definite."""

    factors: Planes
    failed: np.ndarray[Any, np.dtype[np.int32]]


def factor(a: Planes, method: Method, *, overwrite: bool = False) -> Factored:
    """The factors of a (batch, n, n), whose lower triangles are read; zeros above the diagonal.

    With *overwrite* in a's memory. Waits for the device.
    """
    if not a.size:
        return Factored(a, np.zeros(a.shape[0], np.int32))
    failed = allocate_numbers("int32", (a.shape[0],), a.queue)
    shape = small_shape(a.format, a.device, a.shape[1])
    if shape:
        out = a if overwrite else allocate(a.format, a.shape, a.queue)
        _small(shape, a, out, 0, failed)
        return Factored(out, failed.read_parts()[0])
    w = a if overwrite else copied_triangle(a, lower=True, unit=False)
    made = partial(reference.factor, w.format, method=method)

    def by_kernels(method: Method, w: Planes, failed: Numbers) -> None:
        CholeskyOnDevice(w, method, failed).factor(w)

    def by_reference(w: Planes, failed: Numbers) -> None:
        failed.fill([np.array([first for _, first in base.each_changed([w], made, w)])])

    repeat((factor,), method, (w, failed), by_kernels, by_reference)
    lower = copied_triangle(w, lower=True, unit=False, out=w)
    return Factored(lower, failed.read_parts()[0])


def _small(shape: small.Shape, a: Planes, out: Planes, origin: int, failed: Numbers) -> None:
    """A block of few rows: out becomes the factors of a, which may be out itself."""
    given: dict[str, Any] = dict(zip(_counts(shape), (a.shape[1], origin), strict=True))
    given |= {"failed": failed, **small.given("a", a), **small.given("out", out)}
    small.run(small_spec(a.format.name, shape), shape, a, given)


launch.TAKES_COMPLEX.add(factor)
