"""What an experiment declares, and the one runner of all: limit of time, report, text, picture.

An experiment declares its cases, the columns of its rows, its tables and what is drawn. A family
is what one command runs: experiments that share a device, a limit of time and a paper.
"""

import datetime
import json
import math
import os
import platform as host_platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp import definition, discovery
from portmp.backends.base import Device, available_memory
from portmp.bench import options, plots, tables
from portmp.bench.energy import Observer, Work
from portmp.bench.journal import Done, Journal
from portmp.bench.measure import Budget
from portmp.bench.options import ALL, Request
from portmp.bench.tables import Column, Row, Rows, Table, duration
from portmp.codegen import render
from portmp.errors import OutOfMemory, PortmpError
from portmp.files import target
from portmp.formats import Format
from portmp.progress import Progress

SCHEMA = {"name": "portmp bench", "version": 3}
ALIKE = 4
"""More than so many that are skipped for one reason are one line."""
USED = 0.7
"""The share of a device's memory that a case may take."""
LIMITS = {"gpu": 120.0, "cpu": 60.0}
"""Seconds that a paper's experiments may take without --seconds."""


@cache
def paper_of(name: str) -> Row:
    """What a paper states, from data/NAME_paper.json."""
    text = resources.files("portmp").joinpath(f"data/{name}_paper.json").read_text()
    found: Row = json.loads(text)
    return found


# --- declarations -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Something to measure, as a line says it: *measure* gives its rows.

    ``seconds``: how long it will take, as far as that is known; ``parts``: cases to come, it
    included, that share the time; ``memory``: bytes that it needs. ``rest``: what is left out with
    it where the time is short (``Run.short``). ``more``: what the report says of it where it is
    skipped; ``hint``: what the line on the terminal adds. ``taken``: told the rows and seconds of
    an earlier run that are taken instead.
    """

    what: str
    measure: Callable[[], Rows]
    seconds: float = 0.0
    parts: int = 1
    memory: int = 0
    rest: str = ""
    more: Row = field(default_factory=dict)
    hint: str = ""
    taken: Callable[[list[Row], float], None] | None = None


class _Known(Row):
    """What was found, and a dash for what was not."""

    def __missing__(self, name: str) -> str:
        return "-"


@dataclass(frozen=True)
class Experiment:
    """One experiment: its cases on a run, what its rows hold, and how they are shown.

    ``columns``: those of its table below *title* (with fields of what was found in braces), of
    which the keys and the compared ones also serve to compare two reports; ``tables``: its tables,
    where they are others than that. ``found``: what it tells beside its rows. ``share``: of the
    time. ``drawings``: what is drawn of it; ``label``: how a row is named; ``judged``: whether an
    error beyond rounding makes a result wrong.
    """

    name: str
    cases: Callable[[Any], Iterable[Case]]
    columns: tuple[Column, ...]
    title: str = ""
    share: int = 1
    tables: Callable[[Row], Iterator[Table | str]] | None = None
    found: Callable[[Any, list[Row]], Row] = lambda *_: {}
    drawings: Callable[[Row], Iterable[plots.Draw]] = lambda _: ()
    label: Callable[[Row], str] | None = None
    judged: bool = True

    def measured(self, run: "Run") -> Row:
        """All cases that time and memory allow."""
        rows: list[Row] = []
        run.budget.begin(self.name)
        try:
            for case in self.cases(run):
                rows += self._measured(run, case)
        except OutOfMemory as error:
            run.skip(self.name, "the rest" if rows else "all", str(error))
        beside, run.beside = run.beside, {}
        return {**beside, **self.found(run, rows), "rows": rows}

    def _measured(self, run: "Run", case: Case) -> Rows:
        """The rows of a case, or none where it is skipped."""
        run.show(self.name, f"{case.what}{case.hint}")
        run.short = False
        known = run.journal.get(run.device.compiler_key(), run.device.name, self.name, case.what)
        if known:
            run.beside |= known.beside
            if case.taken:
                case.taken(known.rows, known.seconds)
            return known.rows
        reason = lacking(case.memory, run.device)
        if reason:
            run.skip(self.name, case.what, reason, **case.more)
            return ()
        if run.too_long(self.name, case.rest or case.what, case.seconds, case.parts):
            return ()
        start = time.monotonic()
        try:
            rows = list(case.measure())
        except PortmpError as error:
            failed = not isinstance(error, OutOfMemory)
            run.skip(self.name, case.what, str(error), failed, **case.more)
            return ()
        if rows:  # what the time did not allow may be measured in another run
            done = Done(rows, run.beside, time.monotonic() - start)
            run.journal.add(done, run.device.compiler_key(), run.device.name, self.name, case.what)
        return rows

    def shown(self, found: Row) -> list[str]:
        """Its tables as text."""
        return tables.text(self.parts(found)) or [f"{self.name}: nothing was measured"]

    def parts(self, found: Row) -> list[Table | str]:
        """Its tables, and sentences between them."""
        if self.tables:
            return list(self.tables(found))
        title = self.title.format_map(_Known((k, v) for k, v in found.items() if v is not None))
        return [Table(title, self.columns, found["rows"], found.get("paper", {}))]

    @property
    def key(self) -> list[Column]:
        """The columns that tell rows apart."""
        return [c for c in self.columns if c.key]

    def named(self, row: Row) -> str:
        """A row in words."""
        return self.label(row) if self.label else ", ".join(c.cell(row) for c in self.key)

    def wrong(self, row: Row) -> bool:
        """Whether a result is beyond rounding, or not the same bits as another way gives."""
        if not self.judged:
            return False
        error = row.get("error")
        beyond = isinstance(error, Mapping) and error.get("wrong", False)
        return bool(beyond) or not row.get("same_bits", True)


SOON = 2.0
"""Seconds that the first case of each experiment may take, whatever others took before."""


@dataclass
class Run:
    """One run on one device: what was asked for, the time that is left, what was left out."""

    device: Device
    size: int | None
    runs: int
    budget: Budget
    progress: Progress
    forms: Sequence[Format] = ()
    observer: Observer = field(default_factory=lambda: Observer(None))
    skipped: list[Row] = field(default_factory=list)
    short: bool = False
    """Whether the time did not allow the last case."""
    beside: Row = field(default_factory=dict)
    """What an experiment tells that belongs to no row."""
    journal: Journal = field(default_factory=Journal)
    begun: set[str] = field(default_factory=set)
    """Experiments of which a case was about to be measured."""

    @property
    def kind(self) -> str:
        """gpu or cpu."""
        return self.device.properties.kind

    def computes(self, form: Format) -> bool:
        """Whether the device has the words of a format."""
        return self.device.properties.float64 or form.word == "float32"

    def show(self, experiment: str, what: str) -> None:
        """Say what is being done."""
        self.progress.show(f"bench {self.device.name}: {experiment}: {what}")

    def skip(
        self, experiment: str, what: str, reason: str, failed: bool = False, **more: Any
    ) -> None:
        """Note what was left out."""
        reason = " ".join(reason.split())
        found = {"experiment": experiment, "what": what, "reason": reason, "failed": failed}
        self.skipped.append(found | more)

    def too_long(self, experiment: str, what: str, seconds: float, parts: int = 1) -> bool:
        """Whether *seconds* are more than this part may take; then it is noted as skipped.

        Among others that share a limit each experiment begins: a short first case has its time.
        """
        left = self.budget.left(experiment, parts)
        begins = self.budget.whole and experiment not in self.begun and seconds < SOON
        self.begun.add(experiment)
        if seconds <= left or begins:
            return False
        reason = (
            f"would take about {duration(seconds)}; {left:.1f} s of the limit of "
            f"{self.budget.seconds:g} s (--seconds) are left for it"
        )
        self.skip(experiment, what, reason)
        self.short = True
        return True

    def energy(self, work: Work, operations: float, seconds: float = 0.0) -> Row:
        """The energy of work as a part of its row, beside the limit of time."""
        with self.budget.beside():
            return self.observer.part(work, operations, seconds)


def lacking(nbytes: int, device: Device) -> str:
    """Why so many bytes are too many for the device, a CPU's also for the host; or nothing."""
    there = device.properties.memory
    if nbytes > USED * there:
        return (
            f"needs {_size(nbytes)}; {device.name} has {_size(there)}, of "
            f"which {100 * USED:.0f} % may be used"
        )
    free = available_memory() if nbytes and device.properties.kind == "cpu" else None
    if free is not None and nbytes > USED * free:
        return (
            f"needs {_size(nbytes)}; {_size(free)} of the host's memory are "
            f"free, of which {100 * USED:.0f} % may be used"
        )
    return ""


def _size(nbytes: int) -> str:
    return f"{nbytes / 2**30:.1f} GiB" if nbytes >= 2**30 // 2 else f"{nbytes / 2**20:.0f} MiB"


class Family:
    """What one command runs. ``limits``: of time by kind of device, where there is one.

    ``run``: the kind of its runs; ``runs``: of a case, where none are asked for and the family has
    a number of its own; ``paper``: whose data lie in data/PAPER_paper.json; ``rule``: how rates
    are counted; ``by_reference``: whether it also runs on the host's reference.
    """

    name: str
    experiments: Sequence[Experiment]
    limits: Mapping[str, float] | None = LIMITS
    run: type[Run] = Run
    runs = 0
    paper = ""
    rule = ""
    by_reference = False

    @property
    def by_name(self) -> dict[str, Experiment]:
        """The experiments by their names."""
        return {e.name: e for e in self.experiments}

    def check(self, request: Request) -> None:
        """ArgumentError for a request that cannot be met on any device."""

    def begin(self, request: Request, device: Device, budget: Budget, progress: Progress) -> Run:
        """A run; ArgumentError for a request that this device cannot meet."""
        runs = request.runs or self.runs
        run = self.run(device, request.size, runs, budget, progress, request.forms)
        self.ready(run, request)
        return run

    def ready(self, run: Any, request: Request) -> None:
        """What a run of the family has beside; ArgumentError for what its device cannot do."""

    def compiled(self, request: Request, progress: Progress) -> list[Row] | None:
        """Parts of the report that need no device; None where devices are asked for."""
        return None

    def facts(self, run: Any) -> Row:
        """What a device's part of the report says beside its experiments."""
        return {}

    def others(self, request: Request, devices: Sequence[Device], progress: Progress) -> list[Row]:
        """Results of what else is installed."""
        return []

    def first_line(self, part: Row) -> str:
        """What the line of a device adds."""
        return ""

    def head(self, part: Row) -> list[str]:
        """Lines below that of a device."""
        return []

    def legend(self, data: Row) -> list[str]:
        """Lines below all tables."""
        return []

    def part(
        self, request: Request, device: Device, progress: Progress, journal: Journal | None = None
    ) -> Row:
        """One device's part of the report; what *journal* knows is not measured again."""
        wanted = {n: e for n, e in self.by_name.items() if n in request.experiments}
        limit = request.seconds or (self.limits or {}).get(device.properties.kind, math.inf)
        shares = {name: e.share for name, e in wanted.items()}
        budget = Budget(limit, shares, request.whole)
        run = self.begin(request, device, budget, progress)
        run.journal = journal or run.journal
        with budget.beside():
            if request.energy:
                progress.show(f"bench {device.name}: measuring idle power")
                run.observer = Observer(device, brief=request.whole)
        found = {name: experiment.measured(run) for name, experiment in wanted.items()}
        progress.clear()
        return self.part_of(run, found)

    def part_of(self, run: Run, found: Row) -> Row:
        """What a run found as a part of the report."""
        limit = run.budget.seconds
        return {
            **about(run.device),
            "refusal": None,
            **self.facts(run),
            **run.observer.facts(),
            "limit_seconds": limit if math.isfinite(limit) else None,
            "runs": run.runs,
            "experiments": found,
            "skipped": run.skipped,
            "seconds": round(run.budget.passed(), 3),
        }

    def report(self, parts: Rows, start: datetime.datetime, others: Rows = ()) -> Row:
        """Everything of one run of the command."""
        return {
            "schema": SCHEMA,
            "family": self.name,
            "portmp": mp.__version__,
            "definition": definition.VERSION,
            "templates": render.templates_digest(),
            "commit": commit(),
            "date": start.isoformat(timespec="seconds"),
            "host": host(),
            "rule": self.rule or None,
            "paper": paper_of(self.paper) if self.paper else None,
            "devices": list(parts),
            "peers": list(others),
        }

    # --- text and picture ---

    def table(self, data: Row) -> str:
        """A report as text."""
        lines: list[str] = []
        for part in data["devices"]:
            lines += [*self._head(part, data), *self._body(part), ""]
        if data["peers"]:
            lines += [*peer_lines(data["peers"]), ""]
        return "\n".join([*lines, *self.legend(data)]).rstrip()

    def _head(self, part: Row, data: Row) -> list[str]:
        lines = [f"{part['selected']}: {part['about']}"] if "about" in part else []
        facts = part["facts"]
        if facts:
            platform = str(facts.get("extra", {}).get("platform") or "").partition(",")[0]
            names = [f"{facts['compute_units']} units", *filter(None, [" ".join(platform.split())])]
            about = ", ".join([facts["name"], *names, f"driver {facts['driver']}"])
            lines = [f"{part['selected']}: {about}{self.first_line(part)}"]
        if data["paper"] and facts:
            rule = f"{data['rule']}; " if data["rule"] else ""
            lines.append(f"{rule}paper: {data['paper']['source']}")
        return [*lines, *self.head(part), *tables.energy_lines(part)]

    def _body(self, part: Row) -> list[str]:
        if part["refusal"]:
            return ["", f"refused: {part['refusal']}"]
        lines: list[str] = []
        skipped: dict[str, list[str]] = {}
        for one in alike(part["skipped"]):
            text = f"skipped: {self._of(one['experiment'], one['what'])}: {one['reason']}"
            skipped.setdefault(one["experiment"], []).append(text)
        for name, found in part["experiments"].items():
            lines += ["", *self.by_name[name].shown(found), *skipped.pop(name, [])]
        rest = [text for texts in skipped.values() for text in texts]
        rest += [f"WRONG: {what}" for what in self.wrong(part)]
        return lines + ([""] if rest else []) + rest

    def _of(self, experiment: str, what: str) -> str:
        """Which experiment, where the family has several, and what of it."""
        return f"{experiment}, {what}" if len(self.experiments) > 1 else what

    def wrong(self, part: Row) -> list[str]:
        """The results that are not right, in words."""
        return [
            self._of(name, self.by_name[name].named(row))
            for name, found in part["experiments"].items()
            for row in found["rows"]
            if self.by_name[name].wrong(row)
        ]

    def failed(self, data: Row) -> bool:
        """Whether a result is wrong, a case failed or a device was refused."""
        return any(
            part["refusal"] or self.wrong(part) or any(s["failed"] for s in part["skipped"])
            for part in data["devices"]
        )

    def as_file(self, data: Row, place: Path) -> Row:
        """What is written to *place*."""
        return data

    def command(self, args: Any) -> int:
        """Run it: 1 if a result is wrong, a case failed or a device was refused, else 0."""
        start = datetime.datetime.now(datetime.UTC)
        request = options.read(args, [e.name for e in self.experiments])
        self.check(request)
        progress = Progress(sys.stderr.isatty())
        journal = journal_of(self.name, request)
        parts, used = self.compiled(request, progress), []
        if parts is None:
            found = devices(
                request.devices, progress, lambda one: self.by_reference and one.by_reference
            )
            parts = [
                unmeasured(device, refusal)
                if refusal
                else self.part(request, device, progress, journal)
                for device, refusal in found
            ]
            used = [device for device, refusal in found if not refusal]
        data = self.report(parts, start, self.others(request, used, progress))
        text = json.dumps(data, indent=1, allow_nan=False)
        if request.output:
            whole = json.dumps(self.as_file(data, request.output), indent=1, allow_nan=False)
            target.replace(request.output, f"{whole}\n".encode())
            journal.close()
        print(text if args.json else self.table(data))
        if request.picture:
            self.plot(request.picture, data)
        return 1 if self.failed(data) else 0

    def plot(self, path: Path, data: Row) -> None:
        """Draw what the experiments of each device draw."""
        drawings = [
            drawing
            for part in data["devices"]
            for name, found in part["experiments"].items()
            for drawing in (self.by_name[name].drawings(found) if found["rows"] else ())
        ]
        devices = "; ".join(f"{p['selected']}: {p['facts']['name']}" for p in data["devices"])
        plots.draw(path, drawings, f"{devices}; portmp {data['portmp']}, {data['date']}")


def alike(skipped: Rows) -> list[Row]:
    """What was skipped, each on its own; many of one experiment for the same reason as one."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for one in skipped:
        reason = re.sub(r"[0-9.e+-]+( [mun]?s\b)?", "#", one["reason"])
        groups.setdefault((one["experiment"], reason), []).append(one)
    found: list[Row] = []
    for first, *others in groups.values():
        many = len(others) >= ALIKE
        more = {"what": f"{first['what']} and {len(others)} more"} if many else {}
        found += [first | more, *([] if many else others)]
    return found


# --- the runner -------------------------------------------------------------------------------


def devices(
    names: Sequence[str], progress: Progress, allowed: Callable[[Device], bool]
) -> list[tuple[Device, str]]:
    """The devices asked for, each with its refusal or nothing; only ``all`` may be refused.

    DeviceError for interpreters and the host's reference, unless they are *allowed*.
    """
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    if ALL in names:
        return discovery.opened()
    chosen = [discovery.get(name) for name in names] or [discovery.get()]
    return [(d if allowed(d) else discovery.hardware(d), "") for d in dict.fromkeys(chosen)]


def journal_of(benchmark: str, request: Request) -> Journal:
    """What the same command has measured before, where it was ended; a line says so."""
    found = Journal(request.output, _key_of(benchmark, request), request.again)
    if found.known:
        words = f"{found.path}: goes on; cases that were measured: {found.known}"
        print(f"portmp: {words}", file=sys.stderr)
    return found


def _key_of(benchmark: str, request: Request) -> Row:
    """What two runs share where the cases of one count for the other: not their limits of time."""
    asked = {
        name: value
        for name, value in sorted(vars(request.args).items())
        if name not in ("seconds", "output", "plot", "json", "again") and not callable(value)
    }
    versions = mp.__version__, definition.VERSION, render.templates_digest(), commit()
    return {"benchmark": benchmark, "versions": versions, "asked": asked}


@cache
def commit() -> str | None:
    """The commit of the checkout that runs, ``-dirty`` where files differ; None without one."""
    checkout = Path(mp.__file__).parents[1]
    if not (checkout / ".git").exists():
        return None
    words = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=40", "--exclude=*"]
    try:
        found = subprocess.run(
            [*words, "--dirty"], capture_output=True, text=True, check=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None


def about(device: Device) -> Row:
    """What says which device a part of a report is of."""
    return {
        "selected": device.name,
        "facts": device.properties.as_dict(),
        "compiler": device.compiler_key(),
        **({"remark": device.remark} if device.remark else {}),
    }


def unmeasured(device: Device, refusal: str | None) -> Row:
    """The part of a device that is not used."""
    return {**about(device), "refusal": refusal, "experiments": {}, "skipped": [], "seconds": 0.0}


def host() -> Row:
    """The machine that the devices are in."""
    return {
        "machine": host_platform.machine(),
        "processor": _processor(Path("/proc/cpuinfo")),
        "cores": os.cpu_count() or 1,
        "system": f"{host_platform.system()} {host_platform.release()}",
        "python": host_platform.python_version(),
        "numpy": np.__version__,
    }


def _processor(table: Path) -> str:
    """The processor's name, where the system tells one."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", table.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else host_platform.processor()


# --- columns that several families have ---------------------------------------------------------


def spread(row: Row) -> float:
    """The distance of the quartiles over the median."""
    seconds = row["seconds"]
    return float((seconds["upper"] - seconds["lower"]) / (seconds["median"] or 1))


def relative(row: Row) -> str:
    """The largest relative error."""
    error = row["error"]
    finite = error["relative"] is not None and error["scaled"] is not None
    return f"{error['relative']:.1e}" if finite else "not finite"


TIMES = (Column("time", "seconds.median", "s"), Column("spread", spread, "%"))
RATE = Column("rate", "operations_per_second", "/s", compared=True)
SHAPE = tables.key("shape", unit="shape")
_PEER_COLUMNS = (
    *map(tables.key, ("peer", "routine", "format")),
    Column("bits", "bits"),
    SHAPE,
    *TIMES,
    RATE,
    Column("error", relative, "words"),
)


def peer_lines(peers: Rows) -> list[str]:
    """The table of what else is installed, and what is missing of it."""
    rows = [
        {**row, "peer": f"{peer['name']} {peer['version'] or ''}".strip()}
        for peer in peers
        for row in peer["results"]
    ]
    lines = Table("", _PEER_COLUMNS, rows).lines() if rows else ["peers:"]
    return lines + [f"{p['name']}: {p['problem']}" for p in peers if p["problem"]]
