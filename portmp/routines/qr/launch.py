"""Householder's QR: a = q r, by blocks, any number of rows and columns.

Definition: q is a product of factors 1 - v t^-1 v^T; v is unit lower trapezoidal and t upper
triangular with t + t^T = v^T v. Columns are cut by halves at multiples of ``definition.BLOCK``: the
left half is factored, as one factor; applied to the right half, which is factored. Two factors
become one where their half is a left one: v side by side, v_1^T v_2 in the corner of t. Applying
q^T or q to c: w = v^T c, w from the triangular system with t^T or t, c - v w; products are GEMM's,
systems those of ``routines.triangular``.

In a panel of at most BLOCK columns, rows counted from its first: for column k, with g_j the sum of
a_ik a_ij over the rows i below k, s = sqrt(add(mul(a_kk, a_kk), g_k)), beta = s where a_kk is
negative and else -s, p = sub(a_kk, beta): v_ik = div(a_ik, p); y_j = add(a_kj, div(g_j, p)) for all
other columns j; those left of k are t's column above t_kk = div(-beta, p); for those right of k f_j
= mul(div(-p, beta), y_j), a_kj = sub(a_kj, f_j), a_ij = fma(-v_ik, f_j, a_ij); a_kk = beta. Where s
is zero, v_ik = 0, y_j = a_kj, t_kk = 1/2 and f_j = mul(2, y_j). The sums g are cut into chunks of
``definition.ROWS`` rows, row i of a chunk belonging to lane i mod ``definition.ROW_LANES``; a lane
accumulates its rows in order and is finished, lanes combine pairwise by add with distances 4, 2, 1.
Chunk c belongs to lane c mod ROW_LANES, which adds its chunks in order to +0; these lanes combine
likewise. 2 n^2 (m - n/3) operations.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Argument, Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.formats import Format
from portmp.networks import Network
from portmp.routines import base, small
from portmp.routines.moves import launch as moves
from portmp.routines.panel import Panels, Shape, rows_alone
from portmp.routines.qr import reference
from portmp.routines.qr.steps import QrSteps, Reflectors, Vectors, cuts
from portmp.routines.reference import Host
from portmp.routines.triangular.launch import OnDevice, threads_of, width_for
from portmp.routines.triangular.steps import Method
from portmp.runtime import program
from portmp.runtime.planes import Planes, allocate

THREADS = 256
HALVES = 2
"""Blocks of threads that share a chunk of rows where there are many chunks: each half its lanes."""


def shapes(threads: int) -> list[Shape]:
    """Blocks that panels of many rows may have, the usual ones first."""
    whole = Shape(definition.ROWS, threads)
    halves = Shape(definition.ROWS, threads // HALVES, HALVES)
    return [halves, whole] if threads == THREADS else [whole]


def _roles(f: Format) -> dict[str, Network]:
    nets = f.accumulator().networks
    roles = {role: nets[role] for role in ("accumulate", "finish")}
    return roles | {op: f.operator(op) for op in ("add", "sub", "mul", "div", "sqrt", "neg", "fma")}


@cache
def panel_spec(form: str, shape: Shape, many: bool = True, together: bool = False) -> KernelSpec:
    """Steps of a panel, of *many* blocks or one; *together*: which wait for each other."""
    f = formats.get(form)
    sizes: dict[str, Any] = {
        "threads": shape.threads,
        "rows": shape.rows,
        "split": shape.blocks,
        "lanes": definition.ROW_LANES,
        "most": definition.BLOCK,
        "many": many,
        "together": together,
    }
    return spec("qr_panel", "linalg/qr_panel.mako", f, _roles(f), **sizes)


@cache
def alone_spec(form: str, width: int, rows: int) -> KernelSpec:
    """Whole panels in vectors of *width* columns, a thread each: for CPUs."""
    f = formats.get(form)
    sizes: dict[str, Any] = {"rows": rows, "most": definition.BLOCK}
    sizes |= {"lanes": definition.ROW_LANES, "chunk": definition.ROWS}
    path = "linalg/qr_panel_vectors.mako"
    return spec("qr_panel", path, f, _roles(f), width=width, **sizes)


def alone(form: Format, device: Device | None) -> KernelSpec | None:
    """That kernel; None where there are no vectors."""
    width = width_for(form, device)
    if device is None or width == 1:
        return None
    return alone_spec(form.name, width, rows_alone(form, device))


def panel_shape(form: Format, device: Device | None, rows: int, columns: int) -> small.Shape | None:
    """How panels of few rows are cut, a thread a column."""
    nets = [net for role, net in _roles(form).items() if role in ("accumulate", "fma")]
    return small.shape_of(form, device, columns, rows, nets, definition.ROW_LANES)


def small_shape(form: Format, device: Device | None, rows: int, columns: int) -> small.Shape | None:
    """How matrices are cut that one launch factors."""
    most = definition.BLOCK
    if columns <= min(most, rows):
        return panel_shape(form, device, rows, columns)
    if max(rows, columns) <= 2 * most:
        return small.two_panels(form, device, panel_shape(form, device, 2 * most, most))
    return None


@cache
def small_spec(form: str, shape: small.Shape) -> KernelSpec:
    """Panels of few rows whole, of many matrices; or these whole, which have a few panels."""
    f = formats.get(form)
    return spec(
        "qr_small" if shape.panels == 1 else "qr_panels",
        "linalg/qr_small.mako",
        f,
        _roles(f) | small.roles(f, (), shape),
        **small.values(f, shape),
        lanes=definition.ROW_LANES,
    )


def unit(form: Format, device: Device | None) -> tuple[KernelSpec, ...]:
    """The kernel of a panel."""
    single = alone(form, device)
    return (single,) if single else of_many(form, device)


def of_many(form: Format, device: Device | None) -> tuple[KernelSpec, ...]:
    """The kernel of a panel that several blocks of threads share."""
    return (panel_spec(form.name, shapes(threads_of(device, THREADS))[0]),)


class Factored(NamedTuple):
    """The factors of Q, from the left: on devices, or of each matrix on the host."""

    on_device: list[Reflectors[Planes]]
    on_host: list[list[Reflectors[Host]]]

    def moved(self, rows: int) -> Factored:
        """The same for a matrix with *rows* more rows above."""
        return Factored(
            [one._replace(first=one.first + rows) for one in self.on_device],
            [[one._replace(first=one.first + rows) for one in each] for each in self.on_host],
        )


class _OnDevice(OnDevice, QrSteps[Planes]):
    def __init__(self, like: Planes, method: Method, negligible: float = 0.0) -> None:
        super().__init__(like.format, method)
        self.negligible = negligible
        self.batch = like.shape[0]
        self.queue = like.queue

    @cached_property
    def panels(self) -> Panels:
        """Launches of panels of many rows."""
        name = self.form.name
        threads = threads_of(self.queue.device, THREADS)

        single = alone(self.form, self.queue.device)

        def stepped(shape: Shape, many: bool, together: bool) -> KernelSpec:
            if single and not many:
                return single
            return panel_spec(name, shape, many, together)

        usual = Shape(dict(single.values)["rows"] if single else definition.ROWS, threads)
        return Panels(self.queue, stepped, usual, shapes(threads))

    def panel(self, a: Planes, t: Planes) -> None:
        batch, m, width = a.shape
        shape = panel_shape(self.form, a.device, m, width)
        if shape:
            self._few_rows(shape, a, t, None)
            return
        blocks = max(shape.count(m) for shape in self.panels.many)
        sums = allocate(self.form.compute, (2 * batch * blocks, definition.BLOCK), a.queue)
        saved = allocate(self.form.compute, (2 * batch, definition.BLOCK), a.queue)
        own = [*base.batched(a), *base.batched(t), self._least, *sums.buffers, *saved.buffers]
        self.panels.run(batch, m, width, own)

    @property
    def _least(self) -> Argument:
        least: np.generic[Any] = np.dtype(self.form.word).type(self.negligible)
        return least

    def _few_rows(self, shape: small.Shape, a: Planes, t: Planes, v: Planes | None) -> None:
        """What has few rows; its vectors become v, where that is given."""
        key = small_spec(self.form.name, shape)
        shares = []
        if shape.panels > 1:  # of a factor of Q in columns on the right
            shares = base.batched(self.empty(definition.BLOCK, definition.BLOCK, a))
        a.queue.launch(
            program.kernels(a.device, key)[key.name],
            (shape.blocks(self.batch), 1, 1),
            (shape.threads, 1, 1),
            [
                self.batch,
                *map(np.int32, a.shape[1:]),
                *small.operand(self.turned(a)),
                *base.batched(t),
                *base.batched(a if v is None else v),
                np.int32(v is not None),
                *shares,
                self._least,
            ],
        )

    def factor(self, a: Planes) -> list[Reflectors[Planes]]:
        """In one launch where a has few rows and columns."""
        _, m, n = a.shape
        k = min(m, n)
        shape = small_shape(self.form, a.device, m, n)
        if shape is None:
            return super().factor(a)
        v, t = self.empty(m, k, a), self.empty(k, min(k, definition.BLOCK), a)
        self._few_rows(shape, a, t, v)
        every = Vectors(v, self.across(v))
        return [
            self.reflectors(every, at, end, self.part(t, slice(at, end), slice(0, end - at)))
            for at, end in pairwise(cuts(k))
        ]

    def across(self, v: Planes) -> Planes:
        """On CPUs memory of its own: products read a first factor along its rows."""
        if self.queue.device.properties.kind != "cpu":
            return super().across(v)
        return self.empty(v.shape[2], v.shape[1], v)

    def keep_across(self, v: Planes, across: Planes) -> None:
        if self.queue.device.properties.kind == "cpu":
            moves.copied(self.turned(v), out=across)

    def empty(self, rows: int, columns: int, like: Planes) -> Planes:
        return allocate(self.form, (self.batch, rows, columns), like.queue)


def factor(a: Planes, method: Method, negligible: float = 0.0) -> Factored:
    """Overwrite the upper triangles of a (batch, m, n) by R; the factors of Q.

    Columns of which others leave at most *negligible*, a length, count as zero.
    """
    if not a.size:
        return Factored([], [])
    if a.device.by_reference:
        found: list[list[Reflectors[Host]]] = []
        for each in range(a.shape[0]):

            def factored(planes: Host) -> Host:
                packed, reflectors = reference.factor(a.format, planes, method, negligible)
                found.append(reflectors)
                return packed

            mine = base.matrix_of(a, (each,))
            base.on_host(mine, factored, mine)
        return Factored([], found)
    return Factored(_OnDevice(a, method, negligible).factor(a), [])


def applied(factors: Factored, c: Planes, *, transposed: bool, method: Method) -> None:
    """Overwrite c (batch, m, r) by q c, or q^T c."""
    if not c.size:
        return
    if c.device.by_reference:
        for each, mine in enumerate(factors.on_host):

            def product(planes: Host, mine: list[Reflectors[Host]] = mine) -> Host:
                return reference.applied(c.format, mine, planes, transposed, method)

            block = base.matrix_of(c, (each,))
            base.on_host(block, product, block)
        return
    _OnDevice(c, method).apply_all(factors.on_device, c, transposed)
