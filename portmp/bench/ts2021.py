"""``portmp bench ts2021``: the experiments of the triple-single paper, on any device."""

from __future__ import annotations

import datetime
import json
import math
import sys
from pathlib import Path
from typing import Any

from portmp import discovery, files, pictures
from portmp.bench import ts2021_report
from portmp.bench.measure import Budget
from portmp.bench.ts2021_experiments import (
    BLOCKED_SIZES,
    EXPERIMENTS,
    SHARES,
    Bench,
)
from portmp.bench.words import choice, listed, size
from portmp.errors import ArgumentError
from portmp.progress import Progress

SECONDS = {"gpu": 120.0, "cpu": 60.0}
"""The limit without --seconds."""


def _largest(text: str | None) -> int:
    sizes = listed(text, size)
    if len(sizes) > 1:
        raise ArgumentError(f"--size: {text} given, one order is needed")
    found = sizes[0] if sizes else BLOCKED_SIZES[-1]
    if found < BLOCKED_SIZES[0]:
        raise ArgumentError(f"--size: {found} given, at least {BLOCKED_SIZES[0]} is needed")
    return found


def command(args: Any) -> int:
    """``portmp bench ts2021``: 0 once all is measured or skipped."""
    start = datetime.datetime.now(datetime.UTC)
    wanted = listed(args.experiment, lambda name: choice(name, "experiment", EXPERIMENTS))
    largest = _largest(args.size)
    if args.seconds is not None and not (args.seconds > 0 and math.isfinite(args.seconds)):
        raise ArgumentError(f"--seconds: {args.seconds} given, a positive number is needed")
    if args.runs is not None and args.runs < 1:
        raise ArgumentError(f"--runs: {args.runs} given, at least 1 is needed")
    output, picture = (Path(name) if name else None for name in (args.output, args.plot))
    if output:
        files.check_place(output)
    if picture:
        pictures.check(picture)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    device = discovery.get(args.device)
    limit = args.seconds or SECONDS[device.properties.kind]
    budget = Budget(limit, {e: s for e, s in SHARES.items() if not wanted or e in wanted})
    bench = Bench(device, largest, args.runs or 0, budget, progress)
    found = {e: run(bench) for e, run in EXPERIMENTS.items() if not wanted or e in wanted}
    progress.clear()
    data = ts2021_report.report(bench, found, start)
    text = json.dumps(data, indent=1, allow_nan=False)
    if output:
        files.replace(output, f"{text}\n".encode())
    print(text if args.json else ts2021_report.table(data))
    if picture:
        ts2021_report.plot(picture, data)
    return 0
