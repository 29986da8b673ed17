"""``portmp bench blas``: what is asked for, checked before anything is measured."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Sequence
from typing import Any

from portmp import discovery
from portmp.backends.base import Device
from portmp.bench import cases as blas
from portmp.bench import peers, plots, runner, tables
from portmp.bench.cases import Case, Routine
from portmp.bench.energy import observing
from portmp.bench.options import ALL, check_runs, choice, listed, listed_formats, places, size
from portmp.progress import Progress

ACCURACIES = (blas.ACCURATE, blas.FAST, blas.BOTH)


def _routines(text: str | None) -> list[Routine]:
    if text == ALL:
        return list(blas.ROUTINES.values())
    return listed(text, blas.routine) or [blas.routine(name) for name in blas.USUAL_ROUTINES]


def _devices(names: Sequence[str] | None) -> list[tuple[Device, str]]:
    """The devices asked for, each with its refusal or nothing; only ``all`` may be refused."""
    if not names:
        return [(discovery.hardware(), "")]
    if ALL not in names:
        return [(device, "") for device in dict.fromkeys(discovery.hardware(n) for n in names)]
    return [found for found in discovery.opened() if not found[0].by_reference]


def _measured(
    device: Device, cases: Sequence[Case], runs: int, progress: Progress, energy: bool | None
) -> dict[str, Any]:
    """One device's part of the report."""
    start = time.monotonic()
    observer = observing(device, energy, progress)
    found = runner.run(device, cases, runs, progress, observer)
    duration = time.monotonic() - start
    part = tables.device_report(device, found.ceilings, found.results, found.skipped, duration)
    return part | observer.facts()


def command(args: Any) -> int:
    """``portmp bench blas``: 1 if a result is wrong, a case failed or a device was refused."""
    routines, forms, sizes = (
        _routines(args.routine),
        listed_formats(args.format),
        listed(args.size, size),
    )
    accuracy = choice(args.accuracy, "accuracy", ACCURACIES)
    check_runs(args.runs)
    output, picture = places(args)
    blas.plan("cpu", routines, forms or blas.usual_formats(True), accuracy, sizes)
    start = datetime.datetime.now(datetime.UTC)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    parts, planned, used = [], [], []
    for device, refusal in _devices(args.device):
        if refusal:
            parts.append(tables.device_report(device, None, [], [], 0.0, refusal))
            continue
        facts = device.properties
        chosen = forms or blas.usual_formats(facts.float64)
        cases = blas.plan(facts.kind, routines, chosen, accuracy, sizes)
        parts.append(_measured(device, cases, args.runs or 0, progress, args.energy))
        planned += cases
        used.append(device)
    others = peers.run(planned, used, args.runs or 0, progress) if args.peers else []
    data = tables.report(parts, others, start)
    tables.write(data, tables.table, output, args.json)
    if picture:
        plots.plot(picture, data)
    return 1 if tables.failed(data) else 0
