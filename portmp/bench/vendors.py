"""``portmp bench blas --vendors``: float32 and float64 beside the libraries that devices come with.

What equal bits on every device cost. The libraries are called through CuPy, on portmp's memory and
in its stream, and through NumPy and SciPy on the host's threads.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import portmp as mp
from portmp import formats
from portmp.bench import measure, peers, plots
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
ALL: tuple[Shape, ...] = (*ORDERS, (1000, 32, 32), (10000, 16, 16))
OURS, THEIRS = "portmp", peers.LIBRARY


class Call(NamedTuple):
    """A routine: its text for portmp and for modules with NumPy's names (``xp``), shapes of a.

    ``operations``: by how many elements a has, and its last axis.
    """

    text: str
    shapes: tuple[Shape, ...]
    operations: Callable[[int, int], float]


CALLS = {
    "gemm": Call("xp.matmul(a, b)", ALL, lambda size, n: 2 * size * n),
    "gemv": Call("gemv(a, v)", (*ORDERS, (2**14, 2**14)), lambda size, n: 2 * size),
    "dot": Call("xp.dot(a, b)", LENGTHS, lambda size, n: 2 * size),
    "sum": Call("xp.sum(a)", LENGTHS, lambda size, n: size),
    "lu": Call("lu_factor(a)", ORDERS, lambda size, n: 2 / 3 * size * n),
    "cholesky": Call("xp.linalg.cholesky(p)", ALL, lambda size, n: size * n / 3),
    "solve": Call("xp.linalg.solve(a, v)", ALL, lambda size, n: size * (2 / 3 * n + 2)),
}


@dataclass
class Bench(peers.BesideVendor):
    """A run with what was planned, and each call's operations and seconds at its last size."""

    vendor: Any = None
    planned: Sequence[tuple[str, Format, Shape]] = ()
    took: dict[tuple[str, Format], tuple[float, float]] = field(default_factory=dict)


class Library(NamedTuple):
    """What a device comes with: a module with NumPy's names, and the one with its LU."""

    name: str
    xp: Any
    solvers: str


def cases(run: Bench) -> Iterator[Case]:
    """All that were planned."""
    for name, form, shape in run.planned:
        size = math.prod(shape)
        operations = CALLS[name].operations(size, shape[-1])
        before, seconds = run.took.get((name, form), (operations, 0.0))
        act = partial(_measured, run, name, form, shape, operations)
        what = f"{name} {form.name} {shape_text(shape)}"
        arrays = 2 + 2 * sum(CALLS[name].text.count(each) for each in ("(a", "b)", "p)"))
        memory = arrays * size * form.itemsize
        yield Case(what, act, seconds * operations / before, memory=memory)


def operands(text: str, shape: Shape, form: Format, device: Any) -> Row:
    """Those of a text, uniform on (-1, 1): a, b, right-hand sides v; positive definite p."""
    sides = (*shape[:-1], 1) if len(shape) > 2 else shape[:-1]
    draw = partial(mp.random.default_rng(1).uniform, -1, 1, format=form, device=device)
    used = text[text.index("(") :]
    found = {name: draw(sides if name == "v" else shape) for name in "abvp" if name in used}
    if "p" in found:
        eye = mp.eye(shape[-1], dtype=form, device=device)
        found["p"] = found["p"] + found["p"].mT + eye * (2 * shape[-1])
    return found


def of_library(library: Library, text: str, mine: Row, near: bool) -> Callable[[], Any]:
    """The library's call, on a GPU with portmp's memory."""
    take = library.xp.asarray if near else library.xp.from_dlpack
    names = {name: take(x) for name, x in mine.items()}
    names |= {"xp": library.xp, "gemv": library.xp.matmul}
    if "lu_factor" in text:
        names["lu_factor"] = importlib.import_module(library.solvers).lu_factor
    return made(text, names)


def _measured(run: Bench, name: str, form: Format, shape: Shape, operations: float) -> list[Row]:
    """portmp's call and the library's, by turns: on the device's clock, and until each is done."""
    text, queue, near, row = CALLS[name].text, run.device.queue, run.kind == "cpu", Row()
    mine = operands(text, shape, form, run.device)
    own = {"xp": mp, "gemv": mp.gemv, "lu_factor": mp.linalg.lu_factor}
    works = {OURS: made(text, mine | own)}
    works[OURS]()
    stream: Any = contextlib.nullcontext()
    if run.vendor and not near:
        stream = run.vendor.xp.cuda.ExternalStream(run.device.stream_number(queue))
    with stream:
        try:
            if run.vendor:
                work = of_library(run.vendor, text, mine, near)
                work()
                works[THEIRS] = work
        except Exception as error:  # whatever a foreign library raises
            row["problem"] = one_line(error)
        beside, budget = [THEIRS] if near and THEIRS in works else [], measure.BUDGET[run.kind]
        rounds = measure.by_turns(run.device, works, run.runs, budget, beside)
        done: dict[str, measure.Timing] = {}
        # Threads of the host's libraries wait busily: there each is timed alone.
        for each in [{one: works[one]} for one in works] if beside else [works]:
            time.sleep(measure.REST if beside else 0.0)
            there = measure.issued(each, queue.synchronize, run.runs, budget)[1]
            done |= {one: there.timing(one) for one in each}
    run.took[name, form] = operations, 8 * sum(times.median for times in done.values())
    found = {
        one: {
            "seconds": rounds.timing(one).as_dict(),
            "operations_per_second": operations / rounds.timing(one).median,
            "done": times.as_dict(),
        }
        for one, times in done.items()
    }
    if THEIRS in found:
        row |= {THEIRS: found[THEIRS], "share": rounds.faster(OURS, THEIRS)}
        row["done_share"] = done[THEIRS].median / done[OURS].median
    row |= {"routine": name, "format": form.name, "shape": list(shape), "operations": operations}
    return [row | found[OURS] | run.energy(works[OURS], operations, rounds.timing(OURS).median)]


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
)
_LEGEND = (
    "time, rate: of a call on the device's clock (the host's library: on the wall's), by turns;",
    "done: with the host's work; share: the library's time over portmp's",
)


def drawings(found: Row) -> Iterator[plots.Draw]:
    """Shares of the library's rate by routine, at its largest case."""
    shares: dict[str, dict[str, float]] = {}
    for row in (r for r in found["rows"] if "share" in r):
        shares.setdefault(row["format"], {})[row["routine"]] = 100 * row["share"]
    up = "rate over the library's (%)"
    yield partial(plots.bars, series=shares, across="routine", up=up, line=100)


class Vendors(peers.FamilyBesideVendor):
    """The routines that vendors' libraries have, too."""

    name = "vendors"
    limits = {"gpu": 400.0, "cpu": 120.0}  # noqa: RUF012
    run = Bench
    experiments = (Experiment("vendors", cases, COLUMNS, drawings=drawings),)

    def check(self, request: Request) -> None:
        if request.args.peers or request.args.accuracy != "both":
            raise ArgumentError("--vendors: takes neither --peers nor --accuracy")
        for form in request.forms:
            choice("--format:", form.name, FORMATS)
        _calls(request)

    def ready(self, run: Any, request: Request) -> None:
        forms = request.forms or list(map(formats.get, FORMATS))
        ordered = sorted((i, n, s) for n in _calls(request) for i, s in enumerate(CALLS[n].shapes))
        shapes = [(n, s) for _, n, s in ordered if not request.sizes or s[-1] in request.sizes]
        run.planned = [(n, form, s) for n, s in shapes for form in forms if run.computes(form)]
        run.vendor, run.no_vendor = _library(run)

    def legend(self, data: Row) -> list[str]:
        return [*_LEGEND]


def _calls(request: Request) -> list[str]:
    found = listed(request.args.routine, lambda name: choice("--routine:", name, CALLS))
    return found or [*CALLS]


def _library(run: Bench) -> tuple[Library | None, str]:
    """A device's library, or why there is none."""
    near = run.kind == "cpu"
    peer = next(peer for peer in peers.PEERS if peer.module == ("numpy" if near else "cupy"))
    if peer.platform not in ("", run.device.platform):
        return None, f"{peer.name} runs beside {peer.platform} alone"
    xp, problem = peers.imported(peer)
    if problem:
        return None, problem
    name = f"{peer.module} {xp.__version__}"
    with contextlib.suppress(PortmpError):
        name += f", {peers.OpenBlas().name}" if near else ""
    return Library(name, xp, "scipy.linalg" if near else "cupyx.scipy.linalg"), ""


FAMILY = Vendors()
