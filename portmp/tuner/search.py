"""``portmp tune``: search for the fastest schedule of each task on a device.

Coordinate descent: one group of parameters at a time, all of its values, until a pass
changes nothing. Candidates are compiled in parallel processes, their bits compared with
the default schedule's, and timed by device events. Every trial is written to a journal
in the cache folder, so that an interrupted search goes on where it stopped; the best
schedule goes into the user's database.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import portmp as mp
from portmp import definition, discovery, formats, paths
from portmp.backends.base import Device, recording
from portmp.codegen import render
from portmp.codegen.render import RenderedSource
from portmp.discovery import isolated
from portmp.errors import ArgumentError, PortmpError, suggestion
from portmp.files import target as targets
from portmp.progress import Progress
from portmp.routines.ozaki import choose
from portmp.routines.problem import Problem
from portmp.runtime import program, timing
from portmp.runtime.planes import Host
from portmp.schedules import base as schedules
from portmp.schedules import database
from portmp.schedules.base import Schedule
from portmp.schedules.database import Task
from portmp.tuner import space

FINALISTS = 3


@dataclass(frozen=True)
class Trial:
    """What a candidate took, in seconds of device time, or why it has no time."""

    seconds: float = float("inf")
    error: str = ""


@dataclass
class Found:
    """The outcome of a search."""

    task: Task
    schedule: Schedule
    seconds: float
    default: float
    rate: float
    tried: int
    errors: list[str] = field(default_factory=list)


# --- the journal -----------------------------------------------------------------------------


class Journal:
    """Trials on disk, a line each: for one device, driver, compiler, set of templates and way
    of timing.
    """

    def __init__(self, device: Device) -> None:
        facts = (
            device.compiler_key(),
            device.properties.name,
            render.templates_digest(),
            definition.VERSION,
            mp.__version__,
            "launches repeated",
        )
        name = hashlib.sha256(repr(facts).encode()).hexdigest()[:32]
        folder = paths.cache_folder()
        self._path = folder / f"tune-{name}.jsonl" if folder else None
        self._trials: dict[str, Trial] = {}
        content = paths.read_private(self._path) if self._path else None
        for line in (content or b"").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                item = json.loads(line)
                trial = Trial(float(item["seconds"]), str(item["error"]))
                self._trials[str(item["trial"])] = trial

    @staticmethod
    def _key(task: Task, schedule: Schedule) -> str:
        return f"{task}: {json.dumps(schedules.as_data(schedule))}"

    def get(self, task: Task, schedule: Schedule) -> Trial | None:
        """A trial made before."""
        return self._trials.get(self._key(task, schedule))

    def add(self, task: Task, schedule: Schedule, trial: Trial) -> None:
        """Keep a trial."""
        key = self._key(task, schedule)
        self._trials[key] = trial
        if self._path:
            line = json.dumps({"trial": key, "seconds": trial.seconds, "error": trial.error})
            with contextlib.suppress(OSError), open(self._path, "ab", opener=_private) as file:
                # In one step: searches may share it. A killed one's half line ends before it.
                file.write(f"\n{line}\n".encode())

    def forget(self) -> None:
        """Drop all trials."""
        self._trials.clear()
        if self._path:
            self._path.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    """Open a file that others neither read nor write."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


# --- compiling -------------------------------------------------------------------------------


@cache
def _opened(name: str) -> Device:
    return discovery.get(name)


def _compile(device: str, sources: Sequence[RenderedSource]) -> str:
    """In another process: compile and load, so that the cache and the driver know the binary."""
    try:
        for source in sources:
            program.load(_opened(device), source)
    except PortmpError as error:
        return str(error)
    return ""


def compilers(workers: int) -> isolated.Workers | None:
    """Processes that compile; None without a cache to hand binaries over."""
    if workers < 2 or paths.cache_folder() is None:
        return None
    return isolated.Workers(workers)


# --- one search ------------------------------------------------------------------------------


class Search:
    """The search for one task."""

    def __init__(
        self,
        task: Task,
        device: Device,
        journal: Journal,
        pool: isolated.Workers | None,
        limit: float,
    ) -> None:
        self.task, self.device, self.journal, self.pool = task, device, journal, pool
        self.default = database.find(task, device)
        self.trials: dict[Schedule, Trial] = {}
        self.end = time.monotonic() + limit
        self._timed: Problem | None = None
        self._checked: tuple[Problem, Host] | None = None

    @property
    def timed(self) -> Problem:
        """What is timed; made when the first candidate needs it."""
        if self._timed is None:
            self._timed = space.problem(self.task, self.device, False)
        return self._timed

    @property
    def checked(self) -> tuple[Problem, Host]:
        """A small odd problem and the default schedule's bits."""
        if self._checked is None:
            problem = space.problem(self.task, self.device, True)
            self._checked = problem, problem.run(self.default).read_dense()
        return self._checked

    @property
    def best(self) -> Schedule:
        """The fastest so far."""
        return min(self.trials, key=lambda s: self.trials[s].seconds)

    def run(self, passes: int, show: Callable[[str], None]) -> Found:
        """Descend, then measure the best few against the default once more."""
        self.try_all([self.default], show)
        first = self.trials[self.default]
        if first.error:
            raise ArgumentError(f"tune {self.task}: the default schedule fails: {first.error}")
        for _ in range(passes):
            before = self.best
            for which in range(len(space.space(self.task, self.default))):
                group = space.space(self.task, self.best)[which]
                self.try_all(space.candidates(self.task, self.best, group, self.device), show)
            if self.best == before or time.monotonic() > self.end:
                break
        return self.decide(show)

    def try_all(self, candidates: Iterable[Schedule], show: Callable[[str], None]) -> None:
        """Compile what is new in parallel, time it one by one."""
        new = []
        for schedule in dict.fromkeys(candidates):
            known = self.journal.get(self.task, schedule)
            if known is not None:
                self.trials[schedule] = known
            elif schedule not in self.trials:
                new.append(schedule)
        for schedule, error in self._compiled(new, show):
            if time.monotonic() > self.end and len(self.trials) > 1:
                continue
            trial = Trial(error=error) if error else self._trial(schedule)
            self.trials[schedule] = trial
            self.journal.add(self.task, schedule, trial)
            show(self.state())

    def state(self) -> str:
        """One line of progress."""
        tried = len(self.trials)
        best, start = self.trials[self.best].seconds, self.trials[self.default].seconds
        return f"{self.task}: {tried} tried, best {start / best:.3f} x default"

    def _compiled(
        self, new: list[Schedule], show: Callable[[str], None]
    ) -> Iterator[tuple[Schedule, str]]:
        """Schedules as they are ready, each with its compiler's error or nothing."""
        if self.pool is None or len(new) < 2:
            for schedule in new:
                show(f"{self.task}: compiling")
                yield schedule, ""
            return
        tasks = [
            (
                self.device.name,
                [program.source(self.device, *u) for u in self.timed.units(schedule)],
            )
            for schedule in new
        ]
        yield from zip(new, self.pool.run(_compile, tasks), strict=True)

    def _trial(self, schedule: Schedule) -> Trial:
        try:
            problem, expected = self.checked
            result = problem.run(schedule).read_dense()
            if any(x.tobytes() != y.tobytes() for x, y in zip(result, expected, strict=True)):
                return Trial(error="its bits differ from the default schedule's")
            bar = min((t.seconds for t in self.trials.values()), default=float("inf"))
            return Trial(reading(self.device, self.timed, schedule, 3, bar * timing.HOPELESS))
        except PortmpError as error:
            return Trial(error=str(error))

    def decide(self, show: Callable[[str], None]) -> Found:
        """Readings of the best few in turns; the default stays unless another is faster."""
        right = [s for s, trial in self.trials.items() if not trial.error]
        ranked = sorted(right, key=lambda s: self.trials[s].seconds)[:FINALISTS]
        finalists = list(dict.fromkeys([self.default, *ranked]))
        times: dict[Schedule, list[float]] = {s: [] for s in finalists}
        for _ in range(5):
            for schedule in finalists:
                show(f"{self.task}: comparing the best {len(finalists)}")
                times[schedule].append(reading(self.device, self.timed, schedule, 1))
        medians = {s: statistics.median(t) for s, t in times.items()}
        best = min(finalists, key=lambda s: medians[s])
        errors = sorted({t.error.splitlines()[0] for t in self.trials.values() if t.error})
        return Found(
            self.task,
            best,
            medians[best],
            medians[self.default],
            self.timed.operations / medians[best],
            len(self.trials),
            errors,
        )


def reading(
    device: Device, problem: Problem, schedule: Schedule, count: int, hopeless: float = float("inf")
) -> float:
    """Median of *count* readings of the device time, or the first one if it is hopeless."""
    with recording() as launches:  # which the host repeats faster than calls
        problem.run(schedule)
    return timing.reading(device, launches, count, hopeless)


# --- the command -----------------------------------------------------------------------------


def entry(found: Found, device: Device) -> dict[str, Any]:
    """An entry of a database."""
    task, facts = found.task, device.properties
    return {
        "where": database.identity(device),
        "routine": task.routine,
        "format": task.format.name,
        "accuracy": task.accuracy,
        "shape": task.shape,
        "schedule": schedules.as_data(found.schedule),
        "measured": {
            "rate": float(f"{found.rate:.4g}"),
            "times_default": float(f"{found.default / found.seconds:.4g}"),
            "driver": facts.driver,
            "date": datetime.date.today().isoformat(),
        },
    }


def chosen(args: Any) -> list[Task]:
    """The tasks that the command line names."""
    if args.routine not in (None, *space.NAMES):
        near = suggestion(args.routine, list(space.NAMES))
        raise ArgumentError(
            f"routine: unknown {args.routine!r}{near}; routines: {', '.join(space.NAMES)}"
        )
    names = args.format.split(",") if args.format else formats.STANDARD
    forms = [formats.get(name.strip()) for name in names]
    accuracies = ["accurate", "fast"] if args.accuracy == "both" else [args.accuracy]
    for form in forms:
        for accuracy in accuracies:
            if args.accuracy != "both":
                form.accumulator(accuracy)
    found = []
    for name in [args.routine] if args.routine else space.NAMES:
        routine, shapes = space.NAMES[name]
        known = [t for t in space.tasks([routine], forms, accuracies) if t.shape in shapes]
        found += [t for t in known if args.shape in (None, t.shape)]
    if not found:
        allowed = sorted({s for _, shapes in space.NAMES.values() for s in shapes})
        if args.shape is None or args.shape in allowed:
            what = args.routine or "any routine"
            raise ArgumentError(
                f"nothing to tune: {what} has no task of --format {args.format or 'all'}, "
                f"--accuracy {args.accuracy}, --shape {args.shape or 'all'}"
            )
        near = suggestion(args.shape, allowed)
        raise ArgumentError(f"--shape: {args.shape!r} given{near}; shapes: {', '.join(allowed)}")
    return found


def _table(tasks: Sequence[Task], device: Device) -> list[dict[str, Any]]:
    """The schedules in effect."""
    return [
        {
            "task": str(task),
            "schedule": schedules.as_data(database.find(task, device)),
            "origin": database.origin(task, device),
        }
        for task in tasks
    ]


def _print_schedules(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        values = " ".join(f"{k}={v}" for k, v in row["schedule"].items() if k != "kind")
        print(f"{row['task']:32} {row['origin']:22} {values}")


def command(args: Any) -> int:
    """``portmp tune``: 0, or 1 if a candidate gave other bits."""
    tasks = chosen(args)
    for name in ("workers", "passes", "seconds"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise ArgumentError(f"--{name}: {getattr(args, name)} given, at least 1 is needed")
    target = Path(args.output) if args.output else database.user_file()
    device = discovery.hardware(args.device)
    if args.show:
        rows = _table(tasks, device)
        print(json.dumps(rows, indent=1)) if args.json else _print_schedules(rows)
        return 0
    if args.rates:
        return _rates(device, args.json)
    if target is None:
        raise ArgumentError("tune: no folder for the results: set PORTMP_CONFIG_DIR or give -o")
    if args.output:
        targets.check_place(target)
    journal = Journal(device)
    if args.again:
        journal.forget()
    results, wrong = [], False
    progress = Progress(sys.stderr.isatty())
    workers = args.workers or os.cpu_count() or 1
    pool = compilers(workers)
    try:
        for task in tasks:
            search = Search(task, device, journal, pool, args.seconds)
            found = search.run(args.passes, progress.show)
            progress.clear()
            database.store([entry(found, device)], target)
            wrong |= _tell(found, args.json)
            results.append(entry(found, device) | {"tried": found.tried, "errors": found.errors})
    finally:
        if pool is not None:
            pool.close()
        database.reload()
    if args.json:
        print(json.dumps({"file": str(target), "entries": results}, indent=1))
    else:
        print(f"{len(results)} schedules written to {target}")
    return 1 if wrong else 0


def _rates(device: Device, as_json: bool) -> int:
    """Measure rates of *device* for gemm's method ``auto``, which keeps them."""
    if paths.cache_folder() is None:
        raise ArgumentError("tune: no cache folder to keep rates in: unset PORTMP_CACHE_DIR")
    progress = Progress(sys.stderr.isatty())
    progress.show(f"measuring rates of {device.name} ...")
    found = choose.measured(device)
    progress.clear()
    if as_json:
        print(json.dumps(asdict(found), indent=1))
        return 0
    for what, rates in (("fma", found.fma), ("products", found.products)):
        for word, rate in rates.items():
            print(f"{what:10} {word:10} {rate / 1e9:12.4g} G/s")
    return 0


def _tell(found: Found, quiet: bool) -> bool:
    """Print a result; whether a candidate gave wrong bits."""
    wrong = any("bits differ" in error for error in found.errors)
    if not quiet:
        values = " ".join(
            f"{k}={v}" for k, v in schedules.as_data(found.schedule).items() if k != "kind"
        )
        gain = found.default / found.seconds
        print(
            f"{found.task!s:32} {found.rate / 1e9:10.4g} G/s, {gain:.3f} x default,"
            f" {found.tried} tried: {values}",
            flush=True,
        )
        for error in found.errors:
            print(f"    {error}")
    return wrong
