"""``portmp bench ts2021``: the experiments of the triple-single paper, on any device."""

from __future__ import annotations

import datetime
from typing import Any

from portmp.backends.base import Device
from portmp.bench.measure import Budget
from portmp.bench.options import one_size, places
from portmp.bench.papers.ts2021 import report
from portmp.bench.papers.ts2021.experiments import BLOCKED_SIZES, EXPERIMENTS, SHARES, Bench
from portmp.bench.session import measured
from portmp.bench.tables import write
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
    largest = _largest(args.size)
    output, picture = places(args)

    def begin(device: Device, budget: Budget, progress: Progress) -> Bench:
        return Bench(device, largest, args.runs or 0, budget, progress)

    bench, found = measured(args, EXPERIMENTS, SHARES, SECONDS, begin)
    data = report.report(bench, found, start)
    write(data, report.table, output, args.json)
    if picture:
        report.plot(picture, data)
    return 0
