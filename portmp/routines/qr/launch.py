"""Householder's QR: a = q r, by blocks, any number of rows and columns.

Definition: q is a product of factors 1 - v t^-1 v^H; v is unit lower trapezoidal and t upper
triangular with t + t^H = v^H v. Columns are cut by halves at multiples of ``definition.BLOCK``: the
left half is factored, as one factor; applied to the right half, which is factored. Two factors
become one where their half is a left one: v side by side, v_1^H v_2 in the corner of t. Applying
q^H or q to c: w = v^H c, w from the triangular system with t^H or t, c - v w; products are GEMM's,
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

Of complex numbers beta is real, -s or s by the sign of a_kk's real part, g_j the sum of conj(a_ik)
a_ij, s = sqrt(add(add(mul(x, x), mul(y, y)), g_k)) for a_kk = x + iy and g_k's real part, y_j =
add(a_kj, div(g_j, conj(p))), of which the conjugates are t's column, and f_j = mul(div(-conj(p),
beta), y_j). So R's diagonal is real. Operations are those of ``networks.complexes``, a lane
accumulates by its fma of conj(a_ik), a_ij and the sum so far.
"""

from functools import cache, cached_property, partial
from typing import Any

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Flag, Parameter, Plain, matrix
from portmp.formats import Format
from portmp.networks import Network
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.factor import panel, small
from portmp.routines.factor.panel import Panels, Shape
from portmp.routines.moves import launch as moves
from portmp.routines.qr import reference
from portmp.routines.qr.steps import Kept, QrSteps, Reflectors, reflectors
from portmp.routines.triangular import launch as triangular
from portmp.routines.triangular.launch import OnDevice
from portmp.routines.triangular.steps import Method
from portmp.runtime import launch
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
    if f.components > 1:
        roles = f.roles("accumulate", "length", "conj", "neg_conj", "div_conj")
        roles["finish"] = f.operator("copy")
    else:
        nets = f.accumulator().networks
        roles = {role: nets[role] for role in ("accumulate", "finish")}
    root = ["sqrt"] if f.components == 1 else []
    return roles | f.roles("add", "sub", "mul", "div", *root, "neg", "fma")


def _panel(f: Format) -> tuple[Parameter, ...]:
    """What a panel's kernel takes."""
    memory = (Array(n, start=False, const=False, compute=True) for n in ("sums", "saved"))
    operands = (matrix(name, const=False) for name in ("a", "t"))
    return panel.taken(*operands, Plain("negligible", f.word), *memory)


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
        "takes": _panel(f),
    }
    return spec("qr_panel", "linalg/qr_panel.mako", f, _roles(f), **sizes)


@cache
def alone_spec(form: str, width: int, rows: int) -> KernelSpec:
    """Whole panels in vectors of *width* columns, a thread each: for CPUs."""
    f = formats.get(form)
    sizes: dict[str, Any] = {"rows": rows, "most": definition.BLOCK}
    sizes |= {"lanes": definition.ROW_LANES, "chunk": definition.ROWS, "takes": _panel(f)}
    path = "linalg/qr_panel_vectors.mako"
    return spec("qr_panel", path, f, _roles(f), width=width, **sizes)


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
    takes = (
        *(*(Flag(name) for name in _counts(shape)), *small.taken("a", const=False)),
        *(matrix("t", const=False), matrix("v", const=False), Flag("vectors")),
        *([matrix("share", const=False)] if shape.panels > 1 else []),
        Plain("negligible", f.word),
    )
    return small.kernel("qr", f, shape, _roles(f), takes, lanes=definition.ROW_LANES)


def _counts(shape: small.Shape) -> tuple[str, str]:
    """What rows and columns are called there."""
    return ("m", "n") if shape.panels == 1 else ("high", "wide")


def of_many(form: Format, device: Device | None) -> KernelSpec:
    """The kernel of a panel that several blocks of threads share."""
    together = bool(device and device.blocks_wait)
    return panel_spec(form.name, shapes(base.threads_of(device, THREADS))[0], together=together)


Factors = list[Reflectors[Planes]]
"""The factors of Q of each matrix, from the left."""


def moved(factors: Factors, rows: int) -> Factors:
    """The same for matrices with *rows* more rows above."""
    return [one._replace(first=one.first + rows) for one in factors]


class QrOnDevice(OnDevice, QrSteps[Planes]):
    """QR of batches of matrices on a device that runs kernels."""

    def __init__(self, like: Planes, method: Method, negligible: float = 0.0) -> None:
        super().__init__(like.format, method)
        self.negligible = negligible
        self.batch = like.shape[0]
        self.queue = like.queue
        # Products on CPUs read a first factor along its rows.
        self.copies_across = like.device.properties.kind == "cpu"

    @cached_property
    def panels(self) -> Panels:
        """Launches of panels of many rows."""
        device, stepped = self.queue.device, partial(panel_spec, self.form.name)
        threads = base.threads_of(device, THREADS)
        one, single = Shape(definition.ROWS, threads), panel.alone(alone_spec, self.form, device)
        return Panels(self.queue, stepped, one, shapes(threads), single)

    def panel(self, a: Planes, t: Planes) -> None:
        batch, m, width = a.shape
        shape = panel_shape(self.form, a.device, m, width)
        if shape:
            self._few_rows(shape, a, t, None)
            return
        blocks = max(shape.count(m) for shape in self.panels.many)
        sums = allocate(self.form.compute, (2 * batch * blocks, definition.BLOCK), a.queue)
        saved = allocate(self.form.compute, (2 * batch, definition.BLOCK), a.queue)
        own = {"a": a, "t": t, "negligible": self.negligible, "sums": sums, "saved": saved}
        self.panels.run(batch, m, width, own)

    def _few_rows(self, shape: small.Shape, a: Planes, t: Planes, v: Planes | None) -> None:
        """What has few rows; its vectors become v, where that is given."""
        given: dict[str, Any] = dict(zip(_counts(shape), a.shape[1:], strict=True))
        given |= {**small.given("a", self.turned(a)), "t": t}
        given |= {"v": a if v is None else v, "vectors": v is not None}
        if shape.panels > 1:  # of a factor of Q in columns on the right
            given["share"] = self.empty(definition.BLOCK, definition.BLOCK, a)
        given["negligible"] = self.negligible
        small.run(small_spec(self.form.name, shape), shape, a, given)

    def factor(self, a: Planes, kept: Kept[Planes]) -> None:
        """In one launch where a has few rows and columns."""
        shape = small_shape(self.form, a.device, *a.shape[1:])
        if shape is None:
            super().factor(a, kept)
        else:
            self._few_rows(shape, a, kept.t, kept.v)

    def put(self, x: Planes, out: Planes) -> None:
        moves.copied(x, out=out)

    def subtract(self, x: Planes, out: Planes) -> None:
        for mine, target in zip(x.halves, out.halves, strict=True):
            elementwise.apply("sub", [target, mine], out=target)

    def conjugate(self, x: Planes) -> None:
        for side in x.halves[1:]:
            elementwise.apply("neg", [side], out=side)

    def empty(self, rows: int, columns: int, like: Planes) -> Planes:
        return allocate(self.form, (self.batch, rows, columns), like.queue)


def factor(a: Planes, method: Method, negligible: float = 0.0) -> Factors:
    """Overwrite the upper triangles of a (batch, m, n) by R; the factors of Q.

    Columns of which others leave at most *negligible*, a length, count as zero.
    """
    if not a.size:
        return []
    steps = QrOnDevice(a, method, negligible)
    kept = steps.kept(a)

    def by_kernels(method: Method, a: Planes, *kept: Planes) -> None:
        QrOnDevice(a, method, negligible).factor(a, Kept(*kept))

    def by_reference(a: Planes, *kept: Planes) -> None:
        made = partial(reference.factor, a.format, method=method, negligible=negligible)
        base.each_changed([a, *kept], made, a)

    if small_shape(a.format, a.device, *a.shape[1:]):
        by_kernels(method, a, *kept)  # one launch
    else:
        _repeat((factor, negligible), method, (a, *kept), kept.v, by_kernels, by_reference)
    return steps.all_reflectors(kept)


def applied(factors: Factors, c: Planes, *, transposed: bool, method: Method) -> None:
    """Overwrite c (batch, m, r) by q c, or q^H c."""
    if not c.size or not factors:
        return
    firsts = tuple([one.first for one in factors])
    memory = [x for one in factors for x in one[1:]]

    def by_kernels(method: Method, c: Planes, *memory: Planes) -> None:
        QrOnDevice(c, method).apply_all(reflectors(firsts, memory), c, transposed)

    def by_reference(c: Planes, *memory: Planes) -> None:
        made = partial(reference.applied, c.format, firsts, transposed, method)
        base.each_on_host(c, made, c, *memory)

    what = applied, transposed, firsts
    _repeat(what, method, (c, *memory), memory[0], by_kernels, by_reference)


def _repeat(
    what: Any, method: Method, given: Any, v: Planes, by_kernels: Any, by_reference: Any
) -> None:
    """By a plan, but for single columns: each of a matrix's has another length."""
    if v.shape[2] > 1:
        triangular.repeat(what, method, given, by_kernels, by_reference)
    else:
        launch.do(given, partial(by_kernels, method), by_reference)


launch.TAKES_COMPLEX |= {factor, applied}
