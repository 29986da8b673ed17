"""The reduced-length formats' paper: AXPY and GEMM, and beside it GEMV and DOT, by format.

A row's formats are timed by turns: each short format with its own parent and with float64, so that
ratios hold whatever clocks do meanwhile. AXPY runs in place, as in the paper.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from portmp import formats
from portmp.arrays import blas, products
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import exact, measure, runner
from portmp.bench.cases import ACCURATE, ROUTINES, Case
from portmp.bench.exact import Errors
from portmp.bench.experiment import Case as Measurement
from portmp.bench.peers import LIBRARY, BesideVendor, Subject, Vendor, factors
from portmp.bench.runner import Pool
from portmp.bench.tables import Row
from portmp.bench.values import Values, values_of
from portmp.errors import PortmpError
from portmp.formats import Format
from portmp.routines.elementwise.work import alpha
from portmp.routines.gemm.schedule import GemmSchedule, PanelSchedule, UnitSchedule, of_class
from portmp.routines.work import ALPHA, Entry, Walk
from portmp.runtime.planes import allocate
from portmp.schedules.base import Schedule

BETA = "0.7"
PAPER = "paper"
"""What the paper's own kernel is called in tables."""
BLOCKS = {
    "gpu": GemmSchedule(16, 16, thread_m=8, thread_n=8, tile_k=16, unroll=16),
    "cpu": PanelSchedule(rows=256, results_m=4, results_n=4),
}
"""The paper's GEMM: 16 x 16 threads of 8 x 8 results, tiles of 128 x 16; on CPUs blocks of 256."""
ONE_LIMB = {
    "float64": (
        "slfp64in56b",
        "slfp64in48b",
        "slfp64in40b",
        "fp64infp32",
        "slfp64in32b",
        "slfp64in24b",
        "slfp64in16b",
    ),
    "float32": ("slfp32in24b", "slfp32in16b", "float16"),
}
"""The paper's formats by the one that computes, in its order; float16 for comparison."""
BEYOND = {"ts": ("tsin80b",), "dd": ("d+s",), "qd": ("qdin192b",)}
"""What the paper does not have."""
ROWS = 6
"""Rows of GEMV that are checked: each is a sum as long as a row."""
LARGE = 2**26
"""Bytes of operands whose making tells how long larger ones take."""
SWEEP = "sweep"
SECONDS = {"gpu": 0.25, "cpu": 0.4}
"""What the runs of a row may take at most."""


@dataclass
class Bench(BesideVendor):
    """One run on one device. ``size``: the only length, or None; ``order``: of matrices."""

    order: int | None = None
    once: dict[tuple[str, str], float] = field(default_factory=dict)
    made: tuple[float, float] = (1.0, 0.0)
    """Bytes of operands so far, and the seconds that they took."""

    def sizes(self, kind: Kind) -> tuple[int, ...]:
        """The sizes of a routine: its own, or the one that was asked for, curves up to that."""
        own, asked = kind.sizes[self.kind], self.size if kind.axes == 1 else self.order or self.size
        if asked is None:
            return own
        return (*(n for n in own if n < asked and kind.experiment == SWEEP), asked)

    def expected(self, kind: Kind, names: Sequence[str], n: int, nbytes: int) -> float:
        """Seconds that a few rounds of these formats take, as far as that is known.

        And to make operands of *nbytes* bytes.
        """
        rounds = measure.FEWEST * sum(
            self.once.get((kind.name, name), 0.0) * kind.operations(n) for name in names
        )
        return rounds + nbytes * self.made[1] / self.made[0]

    def prepared(self, kind: Kind, form: Format, n: int, pool: Pool | None = None) -> Prepared:
        """Operands of a format; how long they took is kept."""
        start = self.budget.passed()
        found = kind.prepare(self.device, form, n, pool)
        passed = max(0.0, self.budget.passed() - start - found.first)
        nbytes = kind.memory(form, n)
        if nbytes >= LARGE:
            self.made = self.made[0] + nbytes, self.made[1] + passed
        return found


@dataclass(frozen=True)
class Prepared:
    """A format's operands on the device: the call, and what is known of its result.

    ``first``: seconds of the first call, which compiles; ``paper``: the call of its kernel.
    """

    pool: Pool
    work: Callable[[], Array]
    errors: Errors
    first: float
    paper: Callable[[], Array] | None = None


def first_call(work: Callable[[], Array]) -> tuple[Array, float]:
    """The result of a call, once it is there, and its seconds."""
    start = time.perf_counter()
    result = work()
    result.planes.queue.synchronize()
    return result, time.perf_counter() - start


class Kind(ABC):
    """A routine of the paper, of 2 n^axes operations. ``sizes`` by kind of device.

    ``truncates``: both roundings; ``checked``: so many results, at most.
    """

    name: str
    axes: ClassVar[int] = 1
    sizes: ClassVar[Mapping[str, tuple[int, ...]]]
    families: ClassVar[Mapping[str, tuple[str, ...]]] = ONE_LIMB | BEYOND
    truncates = in_place = False
    checked: ClassVar[int | None] = None

    @property
    def experiment(self) -> str:
        """The experiment that it is a part of."""
        return self.name

    def case(self, form: Format, n: int) -> Case:
        """What is checked: a call on untouched operands."""
        return Case(ROUTINES[self.name], form, ACCURATE, (n,) * self.axes)

    def operations(self, n: int) -> int:
        """Operations of the format."""
        return 2 * int(n**self.axes)

    @abstractmethod
    def nbytes(self, form: Format, n: int) -> int:
        """Bytes that must move."""

    def memory(self, form: Format, n: int) -> int:
        """Bytes of what ``prepare`` makes."""
        return self.values(form, n) * form.itemsize

    def values(self, form: Format, n: int) -> int:
        """How many values the operands take."""
        return self.case(form, n).starts[-1]

    def renew(self, pool: Pool, case: Case) -> None:
        """Undo what calls did to a pool."""
        if self.in_place:
            pool.fill(case.starts[1], case.starts[2])

    @abstractmethod
    def work(self, pool: Pool, case: Case) -> Callable[[], Array]:
        """The call on operands of a pool."""

    def paper(self, pool: Pool, case: Case) -> Callable[[], Array] | None:
        """The same by the paper's kernel, where that is another one."""
        return None

    def expected(self, values: Values, case: Case, place: int) -> Entry:
        """What an entry of the result should be."""
        return case.entry(values, place)

    def prepare(self, device: Device, form: Format, n: int, pool: Pool | None) -> Prepared:
        """Make operands (or take another rounding's *pool*), and check the result of one call."""
        case = self.case(form, n)
        if pool:
            self.renew(pool, case)
        else:
            pool = Pool(values_of(form), self.values(form, n), device)
        work = self.work(pool, case)
        result, first = first_call(work)
        errors = self._errors(case, pool, result)
        return Prepared(pool, work, errors, first, self.paper(pool, case))

    def checked_as(self, name: str, n: int, pool: Pool, work: Callable[[], Array]) -> Errors:
        """The errors of another call on a pool's operands."""
        return self._errors(self.case(formats.get(name), n), pool, work())

    def _errors(self, case: Case, pool: Pool, result: Array) -> Errors:
        entry = partial(runner.entry_of, result)
        expected = partial(self.expected, pool.values, case)
        return exact.sampled(case.samples[: self.checked], entry, expected, result.format)

    def library(self, vendor: Vendor, pool: Pool, n: int) -> tuple[Subject, Errors] | None:
        """The same by a library, called once and checked; None where portmp calls no such one."""
        case = self.case(pool.values.form, n)
        if self.name not in vendor.routines:
            return None
        self.renew(pool, case)
        subject = vendor.routines[self.name](pool, case)
        subject.work()
        return subject, subject.errors()


class Axpy(Kind):
    """y = a x + y, in place."""

    name = "axpy"
    sizes: ClassVar = {"gpu": (2**24, 2**28), "cpu": (2**24,)}
    truncates = in_place = True

    def nbytes(self, form: Format, n: int) -> int:
        return 3 * n * form.itemsize

    def work(self, pool: Pool, case: Case) -> Callable[[], Array]:
        x, y = (Array(v.planes.seen_as(case.form)) for v in pool.inputs(case))
        signs = factors()
        return lambda: blas.axpy(next(signs), x, y, out=y)


class Gemm(Kind):
    """C = alpha A B + beta C, into another matrix; a library's row is A B^T alone."""

    name = "gemm"
    axes: ClassVar = 3
    sizes: ClassVar = {"gpu": (5120,), "cpu": (1024,)}
    families: ClassVar[Mapping[str, tuple[str, ...]]] = ONE_LIMB

    def operations(self, n: int) -> int:
        return 2 * n**3 + 3 * n**2

    def nbytes(self, form: Format, n: int) -> int:
        return 4 * n * n * form.itemsize

    def memory(self, form: Format, n: int) -> int:
        # A short format's sums of slabs have memory of their own.
        extra = form.compute.itemsize if form.coded else 0
        return n * n * (4 * form.itemsize + extra)

    def values(self, form: Format, n: int) -> int:
        return super().values(form, n) + n * n

    def work(self, pool: Pool, case: Case) -> Callable[[], Array]:
        large = partial(of_class, device=pool.planes.device, accuracy="accurate", shape="large")
        # Matrix units read no short format: float64 is compared by the kernel that reads all.
        units = isinstance(large(case.form), UnitSchedule)
        return self._by(large(formats.get("slfp64in56b")) if units else None, pool, case)

    def paper(self, pool: Pool, case: Case) -> Callable[[], Array] | None:
        return self._by(BLOCKS[pool.planes.device.properties.kind], pool, case)

    def _by(self, schedule: Schedule | None, pool: Pool, case: Case) -> Callable[[], Array]:
        a, b = pool.inputs(case)
        c = Array(pool.planes.view(a.shape, (len(a), 1), case.starts[-1]))
        out = Array(allocate(case.form, a.shape, pool.planes.queue))
        return partial(blas.gemm, a, b, alpha=ALPHA, beta=BETA, c=c, out=out, schedule=schedule)

    def expected(self, values: Values, case: Case, place: int) -> Entry:
        """alpha times the product's entry, plus beta times C's."""
        product = case.entry(values, place)
        scale, more = alpha(values.form), alpha(values.form, BETA)
        addend = more * values.number(case.starts[-1] + place)
        terms = float(scale) * product.terms + abs(float(addend))
        return Entry(scale * product.exact + addend, terms)


class Gemv(Kind):
    """y = A x with A stored short, x and y in its parent."""

    name = "gemv"
    axes: ClassVar = 2
    sizes: ClassVar = {"gpu": (16384,), "cpu": (4096,)}
    checked: ClassVar = ROWS

    def nbytes(self, form: Format, n: int) -> int:
        return n * n * form.itemsize + 2 * n * form.arithmetic.itemsize

    def memory(self, form: Format, n: int) -> int:
        return self.nbytes(form, n)

    def values(self, form: Format, n: int) -> int:
        return n * n

    def work(self, pool: Pool, case: Case) -> Callable[[], Array]:
        n, device = case.shape[-1], pool.planes.device
        theirs = values_of(case.form.arithmetic)
        x = Array(Pool(theirs, n, device).planes)
        out = Array(allocate(theirs.form, (n,), device.queue))
        return partial(blas.gemv, Array(pool.planes.view((n, n), (n, 1), 0)), x, out=out)

    def library(self, vendor: Vendor, pool: Pool, n: int) -> tuple[Subject, Errors] | None:
        return None  # the paper has no such routine

    def expected(self, values: Values, case: Case, place: int) -> Entry:
        n, theirs = case.shape[-1], values_of(case.form.arithmetic)
        return values.dot(Walk(place * n), Walk(0), n, theirs)


class Dot(Kind):
    """The sum of x_i y_i, both stored short, as is the result."""

    name = "dot"
    families: ClassVar = ONE_LIMB
    sizes: ClassVar = {"gpu": (2**26,), "cpu": (2**24,)}

    def nbytes(self, form: Format, n: int) -> int:
        return 2 * n * form.itemsize

    def work(self, pool: Pool, case: Case) -> Callable[[], Array]:
        x, y = pool.inputs(case)
        return lambda: products.dot(x, y)


class _Swept:
    """By size, as the paper's curves; the largest sizes are those of its tables."""

    experiment = SWEEP
    families: ClassVar[Mapping[str, tuple[str, ...]]] = ONE_LIMB
    truncates = False


class SweptAxpy(_Swept, Axpy):
    """AXPY by length."""

    sizes: ClassVar = {"gpu": (2**14, 2**18, 2**22, 2**26), "cpu": (2**12, 2**16, 2**20, 2**22)}


class SweptGemm(_Swept, Gemm):
    """GEMM by order."""

    sizes: ClassVar = {"gpu": (1024, 2048, 3072, 4096), "cpu": (256, 512, 768, 1536)}


SWEPT: tuple[Kind, ...] = SweptAxpy(), SweptGemm()
KINDS: dict[str, Kind] = {kind.name: kind for kind in (Axpy(), Gemm(), Gemv(), Dot())}


# --- measuring -------------------------------------------------------------------------------


def cases(bench: Bench, *kinds: Kind) -> Iterator[Measurement]:
    """All formats of routines of one experiment at their sizes, the smallest of each first."""
    if not bench.device.properties.float64:
        what, reason = "formats of float64", f"{bench.device.name} has no float64"
        bench.skip(kinds[0].experiment, what, reason)
    for sizes in itertools.zip_longest(*map(bench.sizes, kinds)):
        for kind, n in zip(kinds, sizes, strict=True):
            for parent, shorts in kind.families.items() if n else ():
                if bench.computes(formats.get(parent)):
                    yield from _family(bench, kind, n, parent, shorts)


def _family(
    bench: Bench, kind: Kind, n: int, parent: str, shorts: Sequence[str]
) -> Iterator[Measurement]:
    """A parent and the formats that are stored shorter, each timed beside it.

    The shortest, which tell most, come first, where the time does not allow all.
    """
    bases = [parent]
    if parent == "float32" and bench.device.properties.float64:
        bases = ["float64", parent]
    kept: dict[str, Prepared] = {}
    of = "" if kind.experiment == kind.name else f"{kind.name} "
    for name in (parent, *sorted(shorts, key=lambda short: formats.get(short).itemsize)):
        memory = {f: kind.memory(formats.get(f), n) for f in dict.fromkeys([*bases, name])}
        known = [name if (kind.name, name) in bench.once else parent, *bases]
        known += [f"{PAPER} {each}" for each in known]
        new = sum(nbytes for f, nbytes in memory.items() if f not in kept)
        yield Measurement(
            f"{of}{name}, n = {n}",
            partial(_rows, bench, kind, n, bases, name, kept),
            bench.expected(kind, known, n, new),
            memory=sum(memory.values()) + _copies(bench, kind, name, n),
        )
        for other in set(kept) - set(bases):
            del kept[other]


def _copies(bench: Bench, kind: Kind, name: str, n: int) -> int:
    """Bytes that the vendor's library takes beside portmp's operands."""
    if bench.vendor is None or name not in ONE_LIMB:
        return 0
    form = formats.get(name)
    return bench.vendor.copies * kind.memory(form, n) // form.itemsize


def _rows(
    bench: Bench, kind: Kind, n: int, bases: Sequence[str], name: str, kept: dict[str, Prepared]
) -> list[Row]:
    """A format's row, timed beside those of *bases*; also truncated, and a library's."""
    for f in (*bases, name):
        if f not in kept:
            kept[f] = bench.prepared(kind, formats.get(f), n)
    mine = kept[name]
    theirs = {f"{PAPER} {f}": work for f in (*bases, name) if (work := kept[f].paper)}
    works: dict[str, Callable[[], object]] = {f: kept[f].work for f in (*bases, name)}
    found, first = {name: mine.errors}, mine.first
    form, on_host = formats.get(name), []
    if kind.truncates and form.coded:
        cut = formats.rounded_as(form, "toward_zero")
        truncated = bench.prepared(kind, cut, n, mine.pool)
        works[cut.name], found[cut.name] = truncated.work, truncated.errors
        first += truncated.first
    if theirs:
        own = f"{PAPER} {name}"
        try:
            found[own] = kind.checked_as(name, n, mine.pool, theirs[own])
            works |= theirs
        except PortmpError as error:  # a device may have no block of so many threads
            bench.skip(kind.experiment, f"{own}, n = {n}", str(error))
    library = _library(bench, kind, mine.pool, n)
    if library:
        key = f"{LIBRARY} {name}"
        works[key], found[key] = library[0].work, library[1]
        on_host = [key] if library[0].on_host else []
    left = bench.budget.left(kind.experiment)
    rounds = measure.by_turns(
        bench.device, works, bench.runs, min(left, SECONDS[bench.kind]), on_host
    )
    for f in works:
        bench.once[kind.name, f] = rounds.timing(f).median / kind.operations(n)
    bench.budget.leave_out(max(0.0, first - 2 * rounds.timing(name).median))
    rows = []
    for f, errors in found.items():
        row = _row(kind, n, f, rounds, bases) | {"error": errors.as_dict()}
        if formats.get(row["format"]).rounding == "nearest" and kind.experiment != SWEEP:
            row |= bench.energy(works[f], kind.operations(n), rounds.timing(f).median)
        rows.append(row)
    return rows


def _library(bench: Bench, kind: Kind, pool: Pool, n: int) -> tuple[Subject, Errors] | None:
    """The vendor's own kernel, for the formats that it has."""
    if bench.vendor is None or pool.values.form.name not in ONE_LIMB:
        return None
    try:
        return kind.library(bench.vendor, pool, n)
    except PortmpError as error:
        bench.skip(kind.experiment, f"{LIBRARY} {pool.values.form.name}, n = {n}", str(error))
        return None


def _row(kind: Kind, n: int, name: str, rounds: measure.Rounds, bases: Sequence[str]) -> Row:
    """One line: rates, and how many times as fast as the parents it is.

    Compared with its own parent, float32 with float64.
    """
    own = name.removeprefix(LIBRARY).removeprefix(PAPER).strip()
    form, by = formats.get(own), f"{PAPER} " * name.startswith(PAPER)
    base = bases[0] if own == bases[-1] and name != f"{LIBRARY} {own}" else bases[-1]
    timing, over = rounds.timing(name), {b: rounds.faster(name, by + b) for b in bases}
    nbytes = kind.nbytes(form, n)
    ideal = kind.nbytes(formats.get(base), n) / nbytes
    return {
        "type": name,
        "routine": kind.name,
        "format": form.name,
        "n": n,
        "seconds": timing.as_dict(),
        "operations_per_second": kind.operations(n) / timing.median,
        "bytes_per_second": nbytes / timing.median,
        "over": over,
        "base": base,
        "ideal": ideal,
        "reached": over[base] / ideal,
    }
