"""``portmp bench ts2021``: the experiments of the triple-single paper, on any device."""

from __future__ import annotations

import datetime
import sys
from typing import Any

from portmp import discovery
from portmp.bench import ts2021_report
from portmp.bench.energy import observing
from portmp.bench.measure import Budget
from portmp.bench.report import write
from portmp.bench.ts2021_experiments import (
    BLOCKED_SIZES,
    EXPERIMENTS,
    SHARES,
    Bench,
)
from portmp.bench.words import check_runs, check_seconds, choice, listed, one_size, places
from portmp.errors import ArgumentError
from portmp.progress import Progress

SECONDS = {"gpu": 120.0, "cpu": 60.0}
"""The limit without --seconds."""


def _largest(text: str | None) -> int:
    found = one_size(text, "order") or BLOCKED_SIZES[-1]
    if found < BLOCKED_SIZES[0]:
        raise ArgumentError(f"--size: {found} given, at least {BLOCKED_SIZES[0]} is needed")
    return found


def command(args: Any) -> int:
    """``portmp bench ts2021``: 0 once all is measured or skipped."""
    start = datetime.datetime.now(datetime.UTC)
    wanted = listed(args.experiment, lambda name: choice(name, "experiment", EXPERIMENTS))
    largest = _largest(args.size)
    check_seconds(args.seconds)
    check_runs(args.runs)
    output, picture = places(args)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    device = discovery.hardware(args.device)
    limit = args.seconds or SECONDS[device.properties.kind]
    budget = Budget(limit, {e: s for e, s in SHARES.items() if not wanted or e in wanted})
    bench = Bench(device, largest, args.runs or 0, budget, progress)
    with budget.beside():
        bench.observer = observing(device, args.energy, progress)
    found = {e: run(bench) for e, run in EXPERIMENTS.items() if not wanted or e in wanted}
    progress.clear()
    data = ts2021_report.report(bench, found, start)
    write(data, ts2021_report.table, output, args.json)
    if picture:
        ts2021_report.plot(picture, data)
    return 0
