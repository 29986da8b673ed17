"""``portmp bench slfp``: the experiments of the paper on reduced-length formats, on any device."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from portmp import discovery
from portmp.bench import slfp_accuracy, slfp_interleaved, slfp_report, vendors
from portmp.bench.energy import observing
from portmp.bench.measure import Budget
from portmp.bench.report import write
from portmp.bench.slfp_experiments import KINDS, Bench, Row, run
from portmp.bench.words import check_runs, check_seconds, choice, listed, one_size, places
from portmp.errors import ArgumentError
from portmp.progress import Progress

EXPERIMENTS: Mapping[str, Callable[[Bench], Row]] = {
    **{name: partial(run, kind=kind) for name, kind in KINDS.items()},
    "interleaved": slfp_interleaved.run, "accuracy": slfp_accuracy.run,
}  # fmt: skip
SHARES = {"axpy": 6, "gemm": 4, "gemv": 2, "dot": 2, "interleaved": 1, "accuracy": 2}
"""How the experiments share the time."""
TIMES = {"gpu": 120.0, "cpu": 60.0}
"""The limit without --seconds."""
SMALLEST = 32


def _size(text: str | None) -> int | None:
    found = one_size(text, "length or order")
    if found is not None and found < SMALLEST:
        raise ArgumentError(f"--size: {found} given, at least {SMALLEST} is needed")
    return found


def command(args: Any) -> int:
    """``portmp bench slfp``: 0 once all is measured or skipped, 1 where a result is wrong."""
    start = datetime.datetime.now(datetime.UTC)
    wanted = listed(args.experiment, lambda name: choice(name, "experiment", EXPERIMENTS))
    size = _size(args.size)
    check_seconds(args.seconds)
    check_runs(args.runs)
    output, picture = places(args)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    device = discovery.hardware(args.device)
    vendor, problem = vendors.find(device)
    limit = args.seconds or TIMES[device.properties.kind]
    budget = Budget(limit, {e: s for e, s in SHARES.items() if not wanted or e in wanted})
    bench = Bench(device, size, args.runs or 0, budget, progress, vendor)
    with budget.beside():
        bench.observer = observing(device, args.energy, progress)
    found = {e: act(bench) for e, act in EXPERIMENTS.items() if not wanted or e in wanted}
    progress.clear()
    data = slfp_report.report(bench, found, problem, start)
    write(data, slfp_report.table, output, args.json)
    if picture:
        slfp_report.plot(picture, data)
    return 1 if slfp_report.wrong(data) else 0
