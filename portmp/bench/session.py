"""What the papers' experiments share: a run on a device, its limit of time, what was left out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from portmp import discovery
from portmp.backends.base import Device
from portmp.bench.energy import Observer, observing
from portmp.bench.measure import Budget
from portmp.bench.options import check_runs, check_seconds, choice, listed
from portmp.bench.tables import duration
from portmp.progress import Progress


class Session:
    """Base of the runs of a paper's experiments, which have these fields."""

    device: Device
    budget: Budget
    progress: Progress
    skipped: list[dict[str, Any]]
    observer: Observer

    @property
    def kind(self) -> str:
        """gpu or cpu."""
        return self.device.properties.kind

    def skip(self, experiment: str, what: str, reason: str) -> None:
        """Note what was left out."""
        self.skipped.append({"experiment": experiment, "what": what, "reason": reason})

    def too_long(self, experiment: str, what: str, seconds: float, parts: int = 1) -> bool:
        """Whether *seconds* are more than this part may take; then it is noted as skipped."""
        left = self.budget.left(experiment, parts)
        if seconds <= left:
            return False
        reason = (
            f"would take about {duration(seconds)}; {left:.1f} s of the limit of "
            f"{self.budget.seconds:g} s (--seconds) are left for it"
        )
        self.skip(experiment, what, reason)
        return True


Run = TypeVar("Run", bound=Session)
Found = dict[str, dict[str, Any]]


def measured(
    args: Any,
    experiments: Mapping[str, Callable[[Run], dict[str, Any]]],
    shares: Mapping[str, int],
    limits: Mapping[str, float],
    begin: Callable[[Device, Budget, Progress], Run],
) -> tuple[Run, Found]:
    """The run that a command's words ask for, and what each experiment found.

    *shares* are those of the time, *limits* in seconds without --seconds, by kind of device.
    """
    wanted = listed(args.experiment, lambda name: choice(name, "experiment", experiments))
    wanted = wanted or list(experiments)
    check_seconds(args.seconds)
    check_runs(args.runs)
    progress = Progress(sys.stderr.isatty())
    progress.show("opening the device (the first time it is probed, which takes some seconds)")
    device = discovery.hardware(args.device)
    limit = args.seconds or limits[device.properties.kind]
    run = begin(device, Budget(limit, {e: s for e, s in shares.items() if e in wanted}), progress)
    with run.budget.beside():
        run.observer = observing(device, args.energy, progress)
    found = {e: act(run) for e, act in experiments.items() if e in wanted}
    progress.clear()
    return run, found
