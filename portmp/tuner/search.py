"""``portmp tune``: search for the fastest schedule of each task on a device.

Coordinate descent: one group of parameters at a time, all of its values, until a pass
changes nothing. Candidates are compiled in parallel processes, their bits compared with
the default schedule's, and timed by device events. Every trial is written to a journal
in the cache folder, so that an interrupted search goes on where it stopped; the best
schedule goes into the user's database.
"""

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import portmp as mp
from portmp import definition, discovery, formats, paths
from portmp.backends.base import Device, Launch, recording
from portmp.codegen import render
from portmp.codegen.render import RenderedSource
from portmp.discovery import isolated
from portmp.errors import ArgumentError, PortmpError, choice
from portmp.files import target as targets
from portmp.progress import Progress
from portmp.routines.problem import Problem
from portmp.runtime import program
from portmp.schedules import base as schedules
from portmp.schedules import database
from portmp.schedules.base import Schedule
from portmp.schedules.database import Task
from portmp.tuner import space
from portmp.tuner.trials import Search, Trial, Winner


@dataclass(frozen=True)
class Found(Winner[Schedule]):
    """The outcome of a search."""

    task: Task
    rate: float
    tried: int
    errors: list[str]

    @property
    def is_wrong(self) -> bool:
        """Whether a candidate gave other bits."""
        return any("bits differ" in error for error in self.errors)


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
        self._trials: dict[str, tuple[float, str]] = {}
        content = paths.read_private(self._path) if self._path else None
        for line in (content or b"").splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                item = json.loads(line)
                self._trials[str(item["trial"])] = float(item["seconds"]), str(item["error"])

    @staticmethod
    def _key(task: Task, schedule: Schedule) -> str:
        return f"{task}: {json.dumps(schedules.as_data(schedule))}"

    def get(self, task: Task, schedule: Schedule) -> Trial[Schedule] | None:
        """A trial made before."""
        known = self._trials.get(self._key(task, schedule))
        return Trial(schedule, *known) if known else None

    def add(self, task: Task, trial: Trial[Schedule]) -> None:
        """Keep a trial."""
        key = self._key(task, trial.schedule)
        self._trials[key] = trial.seconds, trial.left_out
        if self._path:
            line = json.dumps({"trial": key, "seconds": trial.seconds, "error": trial.left_out})
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


def _compile(device: str, sources: Sequence[RenderedSource]) -> str:
    """In another process: compile and load, so that the cache and the driver know the binary."""
    try:
        for source in sources:
            program.load(discovery.get(device), source)
    except PortmpError as error:
        return str(error)
    return ""


# --- one search ------------------------------------------------------------------------------


class TaskSearch(Search[Schedule]):
    """The search for one task."""

    def __init__(
        self,
        task: Task,
        device: Device,
        journal: Journal,
        pool: isolated.Workers | None,
        limit: float,
    ) -> None:
        super().__init__(device, database.find(task, device), "the default schedule's")
        self.task, self.journal, self.pool = task, journal, pool
        self.end = time.monotonic() + limit

    @cached_property
    def timed(self) -> Problem:
        """What is timed; made when the first candidate needs it."""
        return space.problem(self.task, self.device, False)

    @cached_property
    def checked(self) -> Problem:
        """A small odd problem, whose bits are compared."""
        return space.problem(self.task, self.device, True)

    @cached_property
    def right(self) -> list[bytes]:
        """The default schedule's bits."""
        return self._bits(self.default)

    def _bits(self, schedule: Schedule) -> list[bytes]:
        return [plane.tobytes() for plane in self.checked.run(schedule).read_dense()]

    def is_right(self, schedule: Schedule) -> bool:
        return self.right == self._bits(schedule)

    def launches(self, schedule: Schedule) -> list[Launch]:
        with recording() as launches:
            self.timed.run(schedule)
        return launches

    @property
    def best(self) -> Schedule:
        """The fastest so far."""
        return min(self.trials, key=lambda s: self.trials[s].seconds)

    def run(self, passes: int, show: Callable[[str], None]) -> Found:
        """Descend, then measure the best few against the default once more."""
        self.try_all([self.default], show)
        first = self.trials[self.default]
        if first.left_out:
            raise ArgumentError(f"tune {self.task}: the default schedule fails: {first.left_out}")
        for _ in range(passes):
            before = self.best
            for which in range(len(space.space(self.task, self.default))):
                group = space.space(self.task, self.best)[which]
                self.try_all(space.candidates(self.task, self.best, group, self.device), show)
            if self.best == before or time.monotonic() > self.end:
                break
        show(f"{self.task}: comparing the best {len(self.finalists())}")
        winner = self.decide()
        told = {t.left_out.splitlines()[0] for t in self.trials.values() if t.left_out}
        rate = self.timed.operations / winner.seconds
        return Found(
            **vars(winner), task=self.task, rate=rate, tried=len(self.trials), errors=sorted(told)
        )

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
            if error:
                self.trials[schedule] = Trial(schedule, left_out=error)
            else:
                self.attempt(schedule)
            self.journal.add(self.task, self.trials[schedule])
            best, start = self.trials[self.best].seconds, self.trials[self.default].seconds
            show(f"{self.task}: {len(self.trials)} tried, best {start / best:.3f} x default")

    def _compiled(
        self, new: list[Schedule], show: Callable[[str], None]
    ) -> Iterator[tuple[Schedule, str]]:
        """Schedules as they are ready, each with its compiler's error or nothing."""
        if self.pool is None or len(new) < 2:
            for schedule in new:
                show(f"{self.task}: compiling")
                yield schedule, ""
            return
        units = map(self.timed.units, new)
        sources = [[program.source(self.device, *unit) for unit in some] for some in units]
        tasks = [(self.device.name, some) for some in sources]
        yield from zip(new, self.pool.run(_compile, tasks), strict=True)


# --- the command -----------------------------------------------------------------------------


def entry(found: Found, device: Device) -> dict[str, Any]:
    """An entry of a database."""
    task = found.task
    return {
        "where": database.identity(device),
        "routine": task.routine,
        "format": task.format.name,
        "accuracy": task.accuracy,
        "shape": task.shape,
        "schedule": schedules.as_data(found.schedule),
        "measured": found.measured(device, rate=found.rate),
    }


def chosen(args: Any) -> list[Task]:
    """The tasks that the command line names."""
    if args.routine is not None:
        choice("routine:", args.routine, space.NAMES)
    names = args.format.split(",") if args.format else formats.STANDARD
    forms = [formats.get(name.strip()) for name in names]
    accuracies = ["accurate", "fast"] if args.accuracy == "both" else [args.accuracy]
    if args.accuracy != "both":
        for form in forms:
            form.accumulator(args.accuracy)
    found = []
    for name in [args.routine] if args.routine else space.NAMES:
        routine, shapes = space.NAMES[name]
        known = [t for t in space.tasks([routine], forms, accuracies) if t.shape in shapes]
        found += [t for t in known if args.shape in (None, t.shape)]
    if not found:
        allowed = sorted({s for _, shapes in space.NAMES.values() for s in shapes})
        if args.shape is not None:
            choice("--shape:", args.shape, allowed)
        what = args.routine or "any routine"
        raise ArgumentError(
            f"nothing to tune: {what} has no task of --format {args.format or 'all'}, "
            f"--accuracy {args.accuracy}, --shape {args.shape or 'all'}"
        )
    return found


def _show(tasks: Sequence[Task], device: Device, as_json: bool) -> int:
    """Print the schedules in effect."""
    rows: list[dict[str, Any]] = [
        {
            "task": str(task),
            "schedule": schedules.as_data(database.find(task, device)),
            "origin": database.origin(task, device),
        }
        for task in tasks
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        print(f"{row['task']:32} {row['origin']:22} {_words(row['schedule'])}")
    return 0


def _words(schedule: dict[str, Any]) -> str:
    """A schedule's data in a line."""
    return " ".join(f"{k}={v}" for k, v in schedule.items() if k != "kind")


def command(args: Any) -> int:
    """``portmp tune``: 0, or 1 if a candidate gave other bits."""
    tasks = chosen(args)
    for name in ("workers", "passes", "seconds"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            raise ArgumentError(f"--{name}: {getattr(args, name)} given, at least 1 is needed")
    target = Path(args.output) if args.output else database.user_file()
    device = discovery.hardware(args.device)
    if args.show:
        return _show(tasks, device, args.json)
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
    handed_over = workers > 1 and paths.cache_folder() is not None  # binaries, by the cache
    pool = isolated.Workers(workers) if handed_over else None
    try:
        for task in tasks:
            search = TaskSearch(task, device, journal, pool, args.seconds)
            found = search.run(args.passes, progress.show)
            progress.clear()
            made = entry(found, device)
            database.store([made], target)
            wrong |= found.is_wrong
            results.append(made | {"tried": found.tried, "errors": found.errors})
            if not args.json:
                _tell(found)
    finally:
        if pool is not None:
            pool.close()
        database.reload()
    if args.json:
        print(json.dumps({"file": str(target), "entries": results}, indent=1))
    else:
        print(f"{len(results)} schedules written to {target}")
    return 1 if wrong else 0


def _tell(found: Found) -> None:
    print(
        f"{found.task!s:32} {found.rate / 1e9:10.4g} G/s, {found.gain:.3f} x default,"
        f" {found.tried} tried: {_words(schedules.as_data(found.schedule))}",
        flush=True,
    )
    for error in found.errors:
        print(f"    {error}")
