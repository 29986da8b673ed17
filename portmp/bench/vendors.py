"""``portmp bench blas --vendors`` and ``portmp bench linalg``: calls beside devices' libraries.

What equal bits on every device cost in float32 and float64, and what factorisations, systems and
spectra of any format take. The libraries are called through CuPy, on portmp's memory and in its
stream, and through NumPy and SciPy on the host's threads.
"""

import contextlib
import importlib
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import portmp as mp
from portmp import formats
from portmp.bench import blas, measure, peers
from portmp.bench.everyday import made
from portmp.bench.experiment import RATE, SHAPE, TIMES, Case, Experiment
from portmp.bench.options import Request, listed
from portmp.bench.tables import Column, Row, key, shape_text
from portmp.errors import ArgumentError, PortmpError, choice, one_line
from portmp.formats import Format

Shape = tuple[int, ...]
FORMATS = ("float32", "float64")
ORDERS: tuple[Shape, ...] = tuple((2**i, 2**i) for i in range(8, 14))
LENGTHS: tuple[Shape, ...] = tuple((2**i,) for i in range(16, 29, 2))
STACKS: tuple[Shape, ...] = ((1000, 32, 32), (10000, 16, 16))
ALL: tuple[Shape, ...] = (*STACKS, *ORDERS)
SPECTRAL: tuple[Shape, ...] = (STACKS[1], (64, 64), (128, 128), *ORDERS[:5])
OURS, THEIRS = "portmp", peers.LIBRARY

CALLS: dict[str, tuple[str, tuple[Shape, ...], Callable[[int, int], float]]] = {
    "gemm": ("xp.matmul(a, b)", ALL, lambda size, n: 2 * size * n),
    "gemv": ("gemv(a, v)", (*ORDERS, (2**14, 2**14)), lambda size, n: 2 * size),
    "dot": ("xp.dot(a, b)", LENGTHS, lambda size, n: 2 * size),
    "sum": ("xp.sum(a)", LENGTHS, lambda size, n: size),
    "lu": ("lu_factor(a)", ORDERS, lambda size, n: 2 / 3 * size * n),
    "cholesky": ("xp.linalg.cholesky(p)", ALL, lambda size, n: size * n / 3),
    "solve": ("xp.linalg.solve(a, v)", ALL, lambda size, n: size * (2 / 3 * n + 2)),
    "qr": ("xp.linalg.qr(a)", ALL, lambda size, n: 8 / 3 * size * n),
    "inv": ("xp.linalg.inv(a)", ALL, lambda size, n: 2 * size * n),
    "eigh": ("xp.linalg.eigh(p)", SPECTRAL, lambda size, n: 9 * size * n),
    "svd": ("xp.linalg.svd(a)", SPECTRAL, lambda size, n: 22 * size * n),
    "complex-gemm": ("xp.matmul(a, b)", ORDERS, lambda size, n: 8 * size * n),
    **{
        f"complex-gemm-{how}": (f"gemm(a, b, method={how!r})", ORDERS, lambda size, n: 8 * size * n)
        for how in ("direct", "ozaki2")
    },
    "complex-mul": ("xp.multiply(a, b)", LENGTHS, lambda size, n: size),
    "complex-div": ("xp.divide(a, b)", LENGTHS, lambda size, n: size),
    "complex-abs": ("xp.abs(a)", LENGTHS, lambda size, n: size),
    "complex-exp": ("xp.exp(a)", LENGTHS, lambda size, n: size),
}
"""Texts for portmp and for modules with NumPy's names (``xp``), shapes of the matrix or vector a,

and operations by how many elements a has, and its last axis: of spectra those that LAPACK's methods
need, whatever portmp's do.
"""
VENDORS = ("gemm", "gemv", "dot", "sum", "lu", "cholesky", "solve")


def _scaled(values: Any, sides: Any) -> Any:
    """Right-hand sides times values, whether they are vectors or have a last axis of their own."""
    return (values if values.ndim == sides.ndim else values[..., None]) * sides


FACTORED: dict[str, Callable[[Any, Any, Any], tuple[Any, Any]]] = {
    "lu": lambda found, a, v: (a @ mp.linalg.lu_solve(found, v), v),
    "cholesky": lambda found, a, v: (found @ (found.mT @ v), a @ v),
    "solve": lambda found, a, v: (a @ found, v),
    "qr": lambda found, a, v: (found[0] @ (found[1] @ v), a @ v),
    "inv": lambda found, a, v: (a @ (found @ v), v),
    "eigh": lambda found, a, v: (found[1] @ _scaled(found[0], found[1].mT @ v), a @ v),
    "svd": lambda found, a, v: (found[0] @ _scaled(found[1], found[2] @ v), a @ v),
}
"""What a matrix' factors make of right-hand sides, and what that should be."""


@dataclass
class Bench(peers.BesideVendor):
    """A run with what was planned, and each call's operations and seconds at its last size.

    The vendor has a name, and ``xp``, a module with NumPy's names.
    """

    vendor: Any = None
    planned: Sequence[tuple[str, Format, Shape]] = ()
    took: dict[tuple[str, Format], tuple[float, float]] = field(default_factory=dict)


def cases(run: Bench) -> Iterator[Case]:
    """All that were planned."""
    for name, form, shape in run.planned:
        size, (text, _, count) = math.prod(shape), CALLS[name]
        operations = count(size, shape[-1])
        before, seconds = run.took.get((name, form), (operations, 0.0))
        act = partial(_measured, run, name, form, shape, operations)
        what = f"{name} {form.name} {shape_text(shape)}"
        memory = (2 + 2 * sum(text.count(each) for each in ("(a", "b)", "p)"))) * size
        yield Case(what, act, seconds * operations / before, memory=memory * form.itemsize)


def operands(text: str, shape: Shape, form: Format, device: Any, more: str = "") -> Row:
    """Those of a text and *more*, uniform on (-1, 1): a, b, right-hand sides v;

    positive definite p.
    """
    sides = (*shape[:-1], 1) if len(shape) > 2 else shape[:-1]
    draw = partial(mp.random.default_rng(1).uniform, -1, 1, format=form, device=device)
    used = text[text.index("(") :] + more
    if form.components > 1:
        draw = partial(_complex, partial(draw, format=form.component), form)
    found = {name: draw(sides if name == "v" else shape) for name in "abvp" if name in used}
    if "p" in found:
        eye = mp.eye(shape[-1], dtype=form, device=device)
        found["p"] = found["p"] + found["p"].mT + eye * (2 * shape[-1])
    return found


def _complex(draw: Callable[[Shape], Any], form: Format, shape: Shape) -> Any:
    """Numbers of which both parts are drawn."""
    found = mp.zeros(shape, form, draw(()).queue)
    found.real[...], found.imag[...] = draw(shape), draw(shape)
    return found


def of_library(xp: Any, near: bool, text: str, mine: Row) -> Callable[[], Any]:
    """The library's call, on a GPU with portmp's memory."""
    take = xp.asarray if near else xp.from_dlpack
    names = {name: take(x) for name, x in mine.items()} | {"xp": xp, "gemv": xp.matmul}
    names["gemm"] = lambda a, b, **_: xp.matmul(a, b)
    if "lu_factor" in text:
        solvers = importlib.import_module("scipy.linalg" if near else "cupyx.scipy.linalg")
        names["lu_factor"] = solvers.lu_factor
    return made(text, names)


def _measured(run: Bench, name: str, form: Format, shape: Shape, operations: float) -> list[Row]:
    """portmp's call and the library's, by turns: on the device's clock, and until each is done."""
    text, device, near = CALLS[name][0], run.device, run.kind == "cpu"
    xp = run.vendor and run.vendor.xp
    row: Row = {"routine": name, "format": form.name, "shape": shape, "operations": operations}
    mine = operands(text, shape, form, device, "v" * (name in FACTORED))
    own = {"xp": mp, "gemm": mp.gemm, "gemv": mp.gemv, "lu_factor": mp.linalg.lu_factor}
    works = {OURS: made(text, mine | own)}
    found = works[OURS]()
    if name in FACTORED:
        made_of, wanted = FACTORED[name](found, mine.get("p", mine.get("a")), mine["v"])
        row["residual"] = float(abs(made_of - wanted).max()) / float(abs(wanted).max())
    with contextlib.ExitStack() as within:
        if xp and not near:
            within.enter_context(xp.cuda.Device(device.index))
            within.enter_context(xp.cuda.ExternalStream(device.stream_number(device.queue)))
        try:
            if xp and form.name in (*FORMATS, "complex64", "complex128"):
                work = of_library(xp, near, text, mine)
                work()
                works[THEIRS] = work
        except Exception as error:  # whatever a foreign library raises
            row["problem"] = one_line(error)
        budget, beside = measure.BUDGET[run.kind], [THEIRS] if near and THEIRS in works else []
        rounds = measure.by_turns(device, works, run.runs, budget, beside)
        done = rounds  # on CPUs the device's clock is the wall's
        if not near:
            waits = dict.fromkeys(works, device.queue.synchronize)
            done = measure.issued(works, waits, run.runs, budget)[1]
    run.took[name, form] = operations, 6 * sum(done.timing(one).median for one in works)
    for one in works:
        times = rounds.timing(one)
        told: Row = {"seconds": times.as_dict(), "done": done.timing(one).as_dict()}
        told["operations_per_second"] = operations / times.median
        row |= told if one == OURS else {THEIRS: told}
    if THEIRS in works:
        row["share"], row["done_share"] = (by.faster(OURS, THEIRS) for by in (rounds, done))
    return [row | run.energy(works[OURS], operations, rounds.timing(OURS).median)]


COLUMNS = (
    *map(key, ("routine", "format")),
    SHAPE,
    *TIMES,
    RATE,
    Column(THEIRS, f"{THEIRS}.operations_per_second", "/s"),
    Column("share", "share", "%", compared=True),
    Column("done", "done.median", "s"),
    Column(THEIRS, f"{THEIRS}.done.median", "s"),
    Column("share", "done_share", "%"),
    Column("residual", "residual", ".1e"),
)


class Vendors(peers.FamilyBesideVendor):
    """The routines that vendors' libraries have, too.

    ``calls``: their names; ``allowed``: formats, ``usual`` without an option.
    """

    name = "vendors"
    calls: Collection[str] = VENDORS
    allowed: Collection[str] = FORMATS
    usual: Collection[str] = FORMATS
    limits = {"gpu": 400.0, "cpu": 120.0}  # noqa: RUF012
    run = Bench
    experiments = (
        Experiment(
            *("vendors", cases, COLUMNS),
            drawings=lambda found: blas.drawings(
                [row for row in found["rows"] if "share" in row], "rate over the library's"
            ),
            judged=False,
        ),
    )

    def check(self, request: Request) -> None:
        if request.args.peers or request.args.accuracy != "both":
            raise ArgumentError("--vendors: takes neither --peers nor --accuracy")
        self.planned(request)

    def ready(self, run: Any, request: Request) -> None:
        run.planned = [each for each in self.planned(request) if run.computes(each[1])]
        near = run.kind == "cpu"
        peer = next(peer for peer in peers.PEERS if peer.module == ("numpy" if near else "cupy"))
        xp, run.no_vendor = peers.imported(peer)
        if peer.platform not in ("", run.device.platform):
            run.no_vendor = f"{peer.name} runs beside {peer.platform} alone"
        if not run.no_vendor:
            name = f"{peer.module} {xp.__version__}"
            with contextlib.suppress(PortmpError):
                name += f", {peers.OpenBlas().name}" if near else ""
            run.vendor = SimpleNamespace(name=name, xp=xp)

    def legend(self, data: Row) -> list[str]:
        return [
            "time, rate: on the device's clock (the host's library: on the wall's), by turns;",
            "done: with the host's work; share: the library's time over portmp's",
        ]

    def planned(self, request: Request) -> list[tuple[str, Format, Shape]]:
        """What is asked for: all calls at their first shapes, then at larger ones."""
        known = self.calls
        names = listed(request.args.routine, lambda name: choice("--routine:", name, known))
        forms = [choice("--format:", form.name, self.allowed) for form in request.forms]
        shapes = sorted((i, n, s) for n in names or known for i, s in enumerate(CALLS[n][1]))
        asked = [(n, s) for _, n, s in shapes if not request.sizes or s[-1] in request.sizes]
        return [(name, formats.get(form), s) for name, s in asked for form in forms or self.usual]


FAMILY = Vendors()
