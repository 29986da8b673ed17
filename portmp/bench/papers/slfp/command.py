"""``portmp bench slfp``: the experiments of the paper on reduced-length formats, on any device."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from portmp.backends.base import Device
from portmp.bench import vendors
from portmp.bench.measure import Budget
from portmp.bench.options import one_size, places
from portmp.bench.papers.slfp import accuracy, layouts, report
from portmp.bench.papers.slfp.experiments import KINDS, Bench, Row, run
from portmp.bench.session import measured
from portmp.bench.tables import write
from portmp.errors import ArgumentError
from portmp.progress import Progress

EXPERIMENTS: Mapping[str, Callable[[Bench], Row]] = {
    **{name: partial(run, kind=kind) for name, kind in KINDS.items()},
    "interleaved": layouts.run, "accuracy": accuracy.run,
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
    size = _size(args.size)
    output, picture = places(args)

    def begin(device: Device, budget: Budget, progress: Progress) -> Bench:
        vendor, problem = vendors.find(device)
        return Bench(device, size, args.runs or 0, budget, progress, vendor, problem)

    bench, found = measured(args, EXPERIMENTS, SHARES, TIMES, begin)
    data = report.report(bench, found, bench.no_vendor, start)
    write(data, report.table, output, args.json)
    if picture:
        report.plot(picture, data)
    return 1 if report.wrong(data) else 0
