"""``portmp bench blas``: what is asked for, checked before anything is measured."""

from __future__ import annotations

import datetime
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from portmp import discovery, files, formats, pictures
from portmp.backends.base import Device
from portmp.bench import blas, peers, plot, report, runner
from portmp.bench.blas import Case, Routine
from portmp.errors import ArgumentError, suggestion
from portmp.formats import Format
from portmp.progress import Progress

ALL = "all"
ACCURACIES = (blas.ACCURATE, blas.FAST, blas.BOTH)
_SIZE = re.compile(r"([0-9]+)(?:\^([0-9]+))?")
_LARGEST_SIZE = 2**40
T = TypeVar("T")


def _listed(text: str | None, read: Callable[[str], T]) -> list[T]:
    """The items of ``A,B,C``, each once."""
    words = [w.strip() for part in (text or "").split(",") for w in [part] if w.strip()]
    return list(dict.fromkeys(read(word) for word in words))


def _size(text: str) -> int:
    """``4096`` or ``2^26``."""
    match = _SIZE.fullmatch(text)
    exponent = int(match[2] or 1) if match and len(match[2] or "") < 4 else 1000
    if match is None or len(match[1]) > 15:
        raise ArgumentError(
            f"--size: {text[:40]!r} given, an integer such as 4096 or 2^26 is needed"
        )
    size: int = int(match[1]) ** exponent
    if not 1 <= size <= _LARGEST_SIZE:
        raise ArgumentError(f"--size: {text[:40]} given, 1 to 2^40 is allowed")
    return size


def _routines(text: str | None) -> list[Routine]:
    if text == ALL:
        return list(blas.ROUTINES.values())
    return _listed(text, blas.routine) or [blas.routine(name) for name in blas.USUAL_ROUTINES]


def _formats(text: str | None) -> list[Format]:
    if text == ALL:
        return [formats.get(name) for name in formats.STANDARD]
    return _listed(text, formats.get)


def _accuracy(text: str) -> str:
    if text not in ACCURACIES:
        near = suggestion(text, list(ACCURACIES))
        raise ArgumentError(
            f"--accuracy: {text!r} given{near}; allowed are {', '.join(ACCURACIES)}"
        )
    return text


def _devices(names: Sequence[str] | None) -> list[tuple[Device, str]]:
    """The devices asked for, each with its refusal or nothing; only ``all`` may be refused."""
    if not names:
        return [(discovery.get(), "")]
    if ALL not in names:
        return [(device, "") for device in dict.fromkeys(discovery.get(name) for name in names)]
    return discovery.opened()


def _measured(
    device: Device, cases: Sequence[Case], runs: int, progress: Progress
) -> dict[str, Any]:
    """One device's part of the report."""
    start = time.monotonic()
    found = runner.run(device, cases, runs, progress)
    duration = time.monotonic() - start
    return report.device_report(device, found.ceilings, found.results, found.skipped, duration)


def command(args: Any) -> int:
    """``portmp bench blas``: 1 if a result is wrong, a case failed or a device was refused."""
    routines, forms, sizes = (
        _routines(args.routine),
        _formats(args.format),
        _listed(args.size, _size),
    )
    accuracy = _accuracy(args.accuracy)
    if args.runs is not None and args.runs < 1:
        raise ArgumentError(f"--runs: {args.runs} given, at least 1 is needed")
    output, picture = (Path(name) if name else None for name in (args.output, args.plot))
    if output:
        files.check_place(output)
    if picture:
        pictures.check(picture)
    blas.plan("cpu", routines, forms or blas.usual_formats(True), accuracy, sizes)
    start = datetime.datetime.now(datetime.UTC)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    parts, planned, used = [], [], []
    for device, refusal in _devices(args.device):
        if refusal:
            parts.append(report.device_report(device, None, [], [], 0.0, refusal))
            continue
        facts = device.properties
        chosen = forms or blas.usual_formats(facts.float64)
        cases = blas.plan(facts.kind, routines, chosen, accuracy, sizes)
        parts.append(_measured(device, cases, args.runs or 0, progress))
        planned += cases
        used.append(device)
    others = peers.run(planned, used, args.runs or 0, progress) if args.peers else []
    data = report.report(parts, others, start)
    if output:
        files.replace(output, (json.dumps(data, indent=1, allow_nan=False) + "\n").encode())
    print(json.dumps(data, indent=1, allow_nan=False) if args.json else report.table(data))
    if picture:
        plot.plot(picture, data)
    return 1 if report.failed(data) else 0
