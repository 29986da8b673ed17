"""``portmp bench nbody``: the experiments of a paper on direct N-body summation, on any device.

Arguments are checked before a device is opened; what the time does not allow is skipped and
listed with the reason. ``--static`` compiles only, and needs no device.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from portmp import discovery, formats
from portmp.backends.base import Device
from portmp.bench.energy import observing
from portmp.bench.measure import Budget
from portmp.bench.options import (
    check_runs,
    check_seconds,
    choice,
    listed,
    listed_formats,
    one_size,
    places,
)
from portmp.bench.papers.nbody import experiments as nbody_experiments
from portmp.bench.papers.nbody import kernels, plots, report, static
from portmp.bench.papers.nbody.measured import SHARES, Bench, Row
from portmp.bench.tables import write
from portmp.errors import ArgumentError, OutOfMemory
from portmp.formats import Format
from portmp.progress import Progress
from portmp.routines import gravity

EXPERIMENTS: dict[str, Callable[[Bench], Row]] = {
    "roots": nbody_experiments.roots,
    "sizes": nbody_experiments.sizes,
    "steps": nbody_experiments.steps,
    "cycles": kernels.cycles,
    "build": kernels.build,
    "copies": nbody_experiments.copies,
    "bound": nbody_experiments.bound,
}
DEFAULT_FORMAT = "float32"
SECONDS = {"gpu": 120.0, "cpu": 60.0}
"""The limit without --seconds."""
RUNS = 10
_WITH_A_DEVICE = ("device", "format", "experiment", "size", "seconds", "runs", "plot", "energy")


def _experiment(name: str) -> str:
    return choice(name, "experiment", EXPERIMENTS)


def _checked_formats(text: str | None) -> list[Format]:
    chosen = listed_formats(text) or [formats.get(DEFAULT_FORMAT)]
    for form in chosen:
        gravity.steps(form)  # a paper's own format has no gravity
    return chosen


def _number_of_particles(text: str | None) -> int | None:
    found = one_size(text, "number of particles")
    nbody_experiments.check_size(found)
    return found


def _opened(name: str | None, forms: Sequence[Format]) -> Device:
    device = discovery.hardware(name)
    lacking = [f.name for f in forms if f.word == "float64"]
    if lacking and not device.properties.float64:
        raise ArgumentError(f"--format: {', '.join(lacking)} given, {device.name} has no float64")
    return device


def run(bench: Bench, experiments: Sequence[str]) -> dict[str, Row]:
    """The experiments in their order; one that does not fit the memory is skipped."""
    found: dict[str, Row] = {}
    for name in experiments:
        bench.progress.show(f"bench {bench.device.name}: {name}")
        try:
            found[name] = EXPERIMENTS[name](bench)
        except OutOfMemory as error:
            bench.skip(name, "all", str(error))
    bench.progress.clear()
    return found


def _static(args: Any, output: Path | None, start: datetime.datetime) -> int:
    given = [name for name in _WITH_A_DEVICE if getattr(args, name) is not None]
    if given:
        raise ArgumentError(f"--{given[0]}: cannot be given with --static, which runs nothing")
    names = listed(args.static, str)
    if not names:
        raise ArgumentError("--static: is empty; architectures are needed")
    for name in names:
        static.platform_of(name)
    progress = Progress(sys.stderr.isatty())
    parts = [static.report(name, progress) for name in names]
    data = report.head(start) | {"static": parts}
    write(data, report.static_table, output, args.json)
    return 0


def command(args: Any) -> int:
    """``portmp bench nbody``: 0 once all is measured, skipped or compiled."""
    start = datetime.datetime.now(datetime.UTC)
    output, picture = places(args)
    if args.static is not None:
        return _static(args, output, start)
    wanted = listed(args.experiment, _experiment) or list(EXPERIMENTS)
    experiments = [name for name in EXPERIMENTS if name in wanted]
    forms, size = _checked_formats(args.format), _number_of_particles(args.size)
    check_seconds(args.seconds)
    check_runs(args.runs)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    device = _opened(args.device, forms)
    limit = args.seconds or SECONDS[device.properties.kind]
    budget = Budget(limit, {name: SHARES[name] for name in experiments})
    bench = Bench(device, forms, size, args.runs or RUNS, budget, progress)
    with budget.beside():
        bench.observer = observing(device, args.energy, progress)
    found = run(bench, experiments)
    data = report.report(bench, found, start)
    write(data, report.table, output, args.json)
    if picture:
        plots.plot(picture, data)
    return 0
