"""What the papers' experiments share: a run on a device, its limit of time, what was left out."""

from __future__ import annotations

from typing import Any

from portmp.backends.base import Device
from portmp.bench.measure import Budget
from portmp.bench.report import duration
from portmp.progress import Progress


class Session:
    """Base of the runs of a paper's experiments, which have these fields."""

    device: Device
    budget: Budget
    progress: Progress
    skipped: list[dict[str, Any]]

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
