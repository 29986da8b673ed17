"""``portmp bench everyday``: calls that users type, as they type them, beside the best there is.

A call is a text: what a user writes, with arguments at their defaults. NumPy and CuPy, whose names
portmp has, run the same text, and so do mpmath's and python-flint's numbers of as many digits, in
NumPy's arrays or in matrices of their own. Other ways to ask portmp for the same are texts, too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

import portmp as mp
from portmp import formats, paths
from portmp.arrays.array import Array
from portmp.arrays.viewed import Viewed
from portmp.backends.base import Device
from portmp.bench import measure, peers, plots
from portmp.bench.experiment import Case, Experiment, Family, Run
from portmp.bench.options import FULL, QUICK, Request
from portmp.bench.tables import TEXT, Column, Row, Table, key, number
from portmp.bench.values import Plane, values_of
from portmp.errors import DeviceError, PortmpError, one_line
from portmp.formats import Format
from portmp.runtime import planes
from portmp.runtime.digests import digest
from portmp.verify.outcome import planes_of

SECONDS = 0.8
"""What the runs of a call and of its other ways may take; each is run once in any case."""
CALLED = 12
"""So many calls a way takes at least, with checks, and arrays it may have at once."""
LONG = 0.2
"""Seconds that the runs of a peer may take; one that takes them at once is called once."""
LATE = 10.0
"""Seconds that first calls may take."""
SIZES = {
    FULL: {"n": 1000, "order": 64, "middle": 512, "gpu": 4096, "cpu": 1024, "small": 32},
    QUICK: {"n": 100, "order": 8, "middle": 24, "gpu": 256, "cpu": 48, "small": 4},
}
"""The length of vectors, orders of matrices (the largest by kind of device), that of many."""
FEW, MANY = 8, {FULL: 1000, QUICK: 20}
DEFAULT, OUT = "default", "out="
FAST, DIRECT, RESIDUES = 'accuracy="fast"', 'method="direct"', 'method="ozaki2"'
OTHERS = (FAST, DIRECT, RESIDUES, "mp.gemv")
"""Ways whose bits are others by their definition."""

# --- what is called -----------------------------------------------------------------------------

BEFORE = """
mask = a > 0

def step(M, E):
    M = M + 0.25
    E = E + 0.25
    for _ in range(2):
        E = E - (E - 0.125 * mp.sin(E) - M) / (1 - 0.125 * mp.cos(E))
    return M, E

def orbit(M, E):
    for _ in range(10):
        M, E = step(M, E)
    return E
"""
"""What a user has typed before: a planet moves on, and Newton's method corrects its angle twice."""
RECORDED = """
M, E = k + 0, k + 0
with mp.capture() as once:
    M[...], E[...] = step(M, E)

def replayed():
    M[...], E[...] = k, k
    for _ in range(10):
        once.replay()
    return E
"""
NEWTON = '''
newton = mp.Kernel("""
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n) {
        ${value} M = ${load("k", "i")}, E = M;
        for (int j = 0; j < 20; ++j) {
            if (j % 2 == 0) {
                M = ${add("M", number(0.25))};
                E = ${add("E", number(0.25))};
            }
            const ${value} f = ${sub(sub("E", mul(number(0.125), sin("E"))), "M")};
            E = ${sub("E", div("f", sub(number(1), mul(number(0.125), cos("E")))))};
        }
        ${store("b", "i", "E")}
    }
}
""", "newton(k: in [n], b: out [n])", threads="n", block=64, format=k.format)
'''
READY = {"mp.capture": RECORDED, "mp.Kernel": NEWTON}
"""What a way needs before."""


@dataclass(frozen=True)
class Call:
    """What a user types. ``ways``: other texts for the same, by what they are called.

    ``sizes``: the names of its operands' sizes.
    """

    text: str
    ways: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[str, ...] = ("n",)


_M = {way: f"mp.gemm(m, m, {way})" for way in (DIRECT, RESIDUES)} | {OUT: "mp.gemm(m, m, out=w)"}
_SOLVE = {RESIDUES: f"mp.linalg.solve(m, v, {RESIDUES})"}
_ORBIT = {"mp.capture": "replayed()", "mp.Kernel": "newton(k=k, b=b)"}
_ORDERS = ("order", "middle", "largest")
CALLS = (
    Call("a + a", {OUT: "mp.add(a, a, out=b)"}),
    Call("a * 2.5", {OUT: "mp.multiply(a, 2.5, out=b)"}),
    Call("mp.exp(a)", {OUT: "mp.exp(a, out=b)"}),
    Call("b += a"),
    Call("mp.zeros({n})"),
    Call("mp.arange({n})"),
    Call("mp.where(a > 0, a, -a)", {"mp.abs": "mp.abs(a)"}),
    Call("a > 0", {OUT: "mp.greater(a, 0, out=mask)"}),
    Call("a[mask]"),
    Call("float(a[0])"),
    Call("int(a[0])"),
    Call("a[3:50]"),
    Call("b[3:50] = 1"),
    Call("str(a[:10])"),
    Call("a.sum()", {OUT: "mp.sum(a, out=s)"}),
    Call("mp.dot(a, a)", {OUT: "mp.dot(a, a, out=s)", FAST: f"mp.dot(a, a, {FAST})"}),
    Call("t @ t", {"mp.gemm": "mp.gemm(t, t)", OUT: "mp.gemm(t, t, out=u)"}, ("four",)),
    Call("m @ v", {"mp.gemv": "mp.gemv(m, v)"}, ("order",)),
    Call("m @ m", _M, _ORDERS),
    Call("mp.linalg.solve(m, v)", _SOLVE, _ORDERS),
    Call("mp.linalg.inv(m)", sizes=("order",)),
    Call("mp.linalg.cholesky(p)", sizes=("order",)),
    Call("mp.linalg.qr(m)", sizes=("order",)),
    Call("mp.linalg.eigh(p)", sizes=("order",)),
    Call("g @ g", {OUT: "mp.gemm(g, g, out=z)"}, ("small",)),
    Call("mp.linalg.solve(g, h)", sizes=("small",)),
    Call("orbit(k, k)", _ORBIT, ("few",)),
)


def _operands(bench: Bench, texts: str, n: int, form: Format) -> dict[str, list[Plane]]:
    """Limb planes by the names that texts give them: vectors, a system, a number (s),

    matrices of which p is as good as positive definite, and stacks.
    """
    shapes: dict[str, tuple[int, ...]] = {"v": (n,), "s": (), "h": (bench.many, n, 1)}
    shapes |= dict.fromkeys("mptuw", (n, n)) | dict.fromkeys("gz", (bench.many, n, n))
    used = re.findall(r"\b[a-z]\b", texts)
    shapes = dict.fromkeys("abk", (n,)) | {name: shapes[name] for name in used if name in shapes}
    found = {name: values_of(form).take(0, shape) for name, shape in shapes.items()}
    for i, each in enumerate(found.get("p", ())):
        np.fill_diagonal(each, 0 if i else n)  # only the lower triangle is read
    return found


def made(text: str, names: dict[str, Any]) -> Callable[[], Any]:
    """A text as a function; of an assignment it returns what is changed."""
    changed = re.match(r"(\w+)\S* \+?= ", text)
    lines = f" global {changed[1]}\n {text}\n return {changed[1]}" if changed else f" return {text}"
    exec(f"def call():\n{lines}", names)  # no file of portmp's, so that it is not counted
    call: Callable[[], Any] = names["call"]
    return call


def bits(result: Any) -> Any:
    """What results of the same bits share."""
    if isinstance(result, tuple):
        return tuple(map(bits, result))
    return digest(planes_of(result)) if isinstance(result, Viewed) else str(result)


# --- peers --------------------------------------------------------------------------------------

OWN = {
    "numpy": {},
    "cupy": {},
    "flint": {"solve": "solve", "inv": "inv"},
    "mpmath": {"solve": "lu_solve", "inv": "inverse", "qr": "qr", "cholesky": "cholesky"},
}
"""Peers by module, and what those with numbers of their own call functions of matrices."""


def _at_hand(device: Device) -> list[tuple[peers.Peer, str]]:
    """The peers, each with the reason why it is not there, or nothing."""
    found = []
    for peer in peers.PEERS:
        beside = peer.platform in ("", device.platform)
        problem = peers.imported(peer)[1] if beside else f"runs beside {peer.platform} alone"
        found += [(peer, problem or "")] if peer.module in OWN else []
    return found


def _of_peer(engine: peers.Engine, own: Mapping[str, str], given: Row) -> dict[str, Any]:
    """The names of a text for a peer: operands, and what stands for portmp."""
    if not isinstance(engine, peers.ExactlyLoaded):
        return {name: engine.load(limbs) for name, limbs in given.items()} | {"mp": engine.module}
    context = getattr(engine, "context", None)
    functions, matrices = context or engine.module.arb, context or engine.module.arb_mat
    ufuncs = {name: np.frompyfunc(getattr(functions, name), 1, 1) for name in ("exp", "sin", "cos")}
    linalg = SimpleNamespace(**{name: getattr(matrices, its) for name, its in own.items()})
    names: dict[str, Any] = {
        "mp": SimpleNamespace(where=np.where, dot=np.dot, linalg=linalg, **ufuncs)
    }
    for name, limbs in given.items():
        one_by_one = (engine.load(each) for each in zip(*limbs, strict=True))
        names[name] = np.array([*one_by_one], object) if name in "abk" else engine.load(limbs)
    return names


@dataclass
class Beside:
    """A peer's form of a call, called before, or what it says of it."""

    work: Callable[[], object] = str
    wait: Callable[[], object] = str
    seconds: float = 0.0
    problem: str = ""

    @property
    def short(self) -> bool:
        """Whether it takes turns with portmp's; else its one call is all that is known."""
        return not self.problem and self.seconds < LONG


def _beside(bench: Bench, call: Call, n: int, form: Format) -> dict[str, Beside]:
    """A call by the peers, by their names."""
    found = {}
    many_digits = form.limbs > 1 and n <= bench.sizes[call.sizes[0]]
    for peer, problem in bench.peers:
        own = OWN[peer.module]
        if problem or (own and not many_digits):
            continue
        try:
            engine = peer.engine(
                peers.imported(peer)[0], peer.bits or form.bits, bench.device.index
            )
            names = _of_peer(engine, own, _operands(bench, call.text, n, form))
            text = call.text.format(n=n).replace(*(" @ ", " * ") if own else ("", ""))
            exec(BEFORE, names)
            work = made(text, names)
            taken = measure.once(work, engine.wait)
            # The first call of a GPU's library compiles, and says nothing of the next one.
            taken = measure.once(work, engine.wait) if peer.platform and taken >= LONG else taken
            found[peer.name] = Beside(work, engine.wait, taken)
        except Exception as error:  # whatever a foreign library raises
            found[peer.name] = Beside(problem=one_line(error))
    return found


# --- the experiment -----------------------------------------------------------------------------


@dataclass
class Bench(Run):
    """A run with its *sizes*, *many* small matrices, and the peers."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    many: int = 1
    peers: list[tuple[peers.Peer, str]] = field(default_factory=list)
    took: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    """The last size of a call in a format, and seconds of all its ways."""


def cases(bench: Bench) -> Iterator[Case]:
    """All calls in all formats at their first sizes, the first calls, then larger sizes."""
    for turn in range(len(_ORDERS)):
        for call in (c for c in CALLS if turn < len(c.sizes)):
            n = bench.sizes[call.sizes[turn]]
            for form in bench.forms:
                before, seconds = bench.took.get((call.text, form.name), (n, 0.0))
                yield Case(
                    f"{call.text.format(n=n)}, {n}, {form.name}",
                    partial(_measured, bench, call, n, form),
                    CALLED * seconds * (n / before) ** 2 or SECONDS,
                    memory=CALLED * n * n * form.itemsize if turn else 0,
                )
        if not turn and not bench.device.by_reference:
            yield Case("first calls", partial(_first, bench, bench.forms[0]), LATE)


def _measured(bench: Bench, call: Call, n: int, form: Format) -> list[Row]:
    """A call, other ways to ask for the same, and the peers."""
    queue, text = bench.device.queue, call.text.format(n=n)
    works, known, left_out = {}, {}, {}
    with mp.device(bench.device), mp.default_format(form):
        with bench.budget.beside():
            texts = " ".join([text, *call.ways.values()])
            given = _operands(bench, texts, n, form).items()
            names: dict[str, Any] = {"mp": mp}
            names |= {name: Array(planes.upload(form, limbs, queue)) for name, limbs in given}
            exec(BEFORE, names)
            for way, asked in {DEFAULT: text, **call.ways}.items():
                try:
                    exec(READY.get(way, ""), names)
                    work = made(asked, names)
                    known[way], works[way] = bits(work()), work
                except PortmpError as error:
                    if way == DEFAULT:
                        raise
                    left_out[way] = one_line(error)
            count = measure.frames(works[DEFAULT])
            beside = _beside(bench, call, n, form)
        turns = {name: each for name, each in beside.items() if each.short}
        waits = dict.fromkeys(works, queue.synchronize) | {n: p.wait for n, p in turns.items()}
        every = works | {name: each.work for name, each in turns.items()}
        times = measure.issued(every, waits, bench.runs, SECONDS)
        medians = [{name: each.timing(name).median for name in every} for each in times]
        energy = bench.energy(works[DEFAULT], 1.0, medians[1][DEFAULT])
    best = min(works, key=medians[1].__getitem__)
    bench.took[call.text, form.name] = n, sum(medians[1][way] for way in works)
    row: Row = {"call": text, "n": n, "format": form.name, "frames": count}
    for which, each in zip(("issue", "seconds"), times, strict=True):
        row[which] = each.timing(DEFAULT).as_dict()
        row[f"best_{which}"] = each.timing(best).as_dict()
    return [
        {
            **row,
            "best": best,
            "over_best": times[1].faster(best, DEFAULT),
            "same_bits": all(known[w] == known[DEFAULT] for w in works if w not in OTHERS),
            "left_out": left_out,
            "peers": {
                name: each.problem
                or ([of[name] for of in medians] if each.short else [each.seconds] * 2)
                for name, each in beside.items()
            },
            **energy,
        }
    ]


FIRST = """
import json, sys, time
marks = [time.perf_counter()]
import numpy as np
import portmp as mp
a = mp.array(np.ones((64, 64)), *sys.argv[1:])
for work in (lambda: a, lambda: a + a, lambda: a @ a):
    work().queue.synchronize()
    marks.append(time.perf_counter())
print(json.dumps([after - before for before, after in zip(marks, marks[1:])]))
"""


def _first(bench: Bench, form: Format) -> list[Row]:
    """The first calls of a process: with nothing that is kept on disk, and with what was kept."""
    found = []
    with tempfile.TemporaryDirectory(prefix="portmp-") as folder:
        # NVIDIA's OpenCL driver keeps kernels, too.
        more = {"PORTMP_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1"}
        settings = os.environ | more | {"PYTHONPATH": paths.python_path()}
        words = [sys.executable, "-P", "-c", FIRST, form.name, bench.device.name]
        for _ in range(2):
            done = subprocess.run(words, capture_output=True, check=False, text=True, env=settings)
            if done.returncode:
                said = (done.stderr.strip().splitlines() or [""])[-1]
                raise DeviceError(f"a process ended with status {done.returncode}: {said:.200}")
            found.append(json.loads(done.stdout))
    row: Row = {"n": 64, "format": form.name, "best": "kept", "left_out": {}, "peers": {}}
    return [
        {"call": f"first {what}", "seconds": {"median": cold}, **row}
        | {"best_seconds": {"median": warm}, "over_best": cold / warm}
        for what, cold, warm in zip(("array", "a + a", "a @ a"), *found, strict=True)
    ]


COLUMNS = (
    *map(key, ("call", "n", "format")),
    Column("functions", "frames", ".0f"),
    Column("returns", "issue.median", "s"),
    Column("done", "seconds.median", "s", compared=True),
    Column("best: returns", "best_issue.median", "s"),
    Column("done", "best_seconds.median", "s"),
    Column("default/best", "over_best", ".2f"),
    Column("best by", "best", TEXT),
)


def _over(row: Row) -> str:
    """The default's times over a peer's."""
    both = zip((row["issue"], row["seconds"]), row["times"], strict=True)
    return ", ".join(number(mine["median"] / its) for mine, its in both)


def tables(found: Row) -> Iterator[Table | str]:
    """Defaults against the best, against peers, and what is not there."""
    rows = found["rows"]
    yield Table("as users type it: until it returns, until its work is done", COLUMNS, rows)
    each = [
        {**row, "peer": name, "times": times, "energy": None}
        for row in rows
        for name, times in row["peers"].items()
        if not isinstance(times, str)
    ]
    if each:
        title = "over a peer's times: until it returns, until its work is done"
        yield Table(title, (*COLUMNS[:3], Column("peer", _over, "words")), each, pivot="peer")
    yield from (f"{name}: {problem}" for name, problem in found["peers"].items() if problem)
    said = (f"{r['call']} by {way}: {why}" for r in rows for way, why in r["left_out"].items())
    yield from dict.fromkeys(said)


def drawings(found: Row) -> Iterator[plots.Draw]:
    """Bars of the defaults over the best, by format, where another way is the best."""
    series: dict[str, dict[str, float]] = {}
    for row in (r for r in found["rows"] if r["best"] != DEFAULT):
        series.setdefault(row["format"], {})[f"{row['call']}, {row['n']}"] = row["over_best"]
    yield partial(plots.bars, series=series, across="", up="default over the best", log=True)


class Everyday(Family):
    """Calls that users type."""

    name = "everyday"
    run = Bench
    by_reference = True
    experiments = (
        Experiment(
            "everyday",
            cases,
            COLUMNS,
            tables=tables,
            found=lambda run, _: {"peers": {peer.name: why for peer, why in run.peers}},
            drawings=drawings,
        ),
    )

    def ready(self, run: Bench, request: Request) -> None:
        device = run.device
        usual = ("dd", "float64") if device.properties.float64 else ("ds", "float32")
        run.forms = request.forms or [formats.get(name) for name in usual]
        which = request.args.sizes or (QUICK if device.by_reference else FULL)
        more = {"four": 4, "few": FEW, "largest": SIZES[which][run.kind]}
        run.sizes, run.many, run.peers = SIZES[which] | more, MANY[which], _at_hand(device)


FAMILY = Everyday()
