"""What every search for a schedule does: of a routine of portmp's, or of a kernel of the user's.

Candidates count where they give the right bits. They are timed by device events, the fastest few
once more by turns. What is tried, and how it runs, ``tuner.search`` and ``kernels.tuning`` say.
"""

import datetime
import math
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from portmp.backends.base import Device, Launch, replay
from portmp.errors import PortmpError

FINALISTS = 3
ROUNDS = 5
"""Readings of each finalist."""

SHORTEST = 2e-3
"""Seconds that one reading lasts at least, by repeated launches."""

HOPELESS = 1.3
"""A first reading that much slower than the best ends a trial."""

S = TypeVar("S")
"""Schedules: any that can be keys."""


@dataclass(frozen=True)
class Trial(Generic[S]):
    """A schedule that was tried: seconds of device time, or why it was left out."""

    schedule: S
    seconds: float = math.inf
    left_out: str = ""


@dataclass(frozen=True)
class Winner(Generic[S]):
    """The fastest schedule: its seconds, and those of the default."""

    schedule: S
    seconds: float
    default: float

    @property
    def gain(self) -> float:
        """How many times as fast as the default it is."""
        return self.default / self.seconds if self.seconds else 1.0

    def measured(self, device: Device, **numbers: float) -> dict[str, Any]:
        """What an entry of a database says of the measurement."""
        numbers["times_default"] = self.gain
        return {
            **{name: float(f"{number:.4g}") for name, number in numbers.items()},
            "driver": device.properties.driver,
            "date": datetime.date.today().isoformat(),
        }


class Search(ABC, Generic[S]):
    """The trials of one search. *whose*: with which bits candidates' are compared, in words."""

    def __init__(self, device: Device, default: S, whose: str) -> None:
        self.device, self.default, self.whose = device, default, whose
        self.trials: dict[S, Trial[S]] = {}

    @abstractmethod
    def is_right(self, schedule: S) -> bool:
        """Run a candidate: whether its bits are those of *whose*."""

    @abstractmethod
    def launches(self, schedule: S) -> Sequence[Launch]:
        """What a right candidate launches, recorded."""

    def reading(self, schedule: S, count: int, hopeless: float = math.inf) -> float:
        """Median of *count* readings of the device time, or the first one if it is hopeless."""
        launches = self.launches(schedule)  # which the host repeats faster than calls
        first = timed(self.device, launches)
        if first > hopeless:
            return first
        repeats = max(1, round(SHORTEST / max(first, 1e-9)))
        return statistics.median(timed(self.device, launches, repeats) for _ in range(count))

    def attempt(self, schedule: S, told: Callable[[PortmpError], str] = str) -> None:
        """Run, compare and time a candidate. *told*: an error's text."""
        try:
            if self.is_right(schedule):
                bar = min((t.seconds for t in self.trials.values()), default=math.inf) * HOPELESS
                trial = Trial(schedule, self.reading(schedule, 3, bar))
            else:
                trial = Trial(schedule, left_out=f"its bits differ from {self.whose}")
        except PortmpError as error:
            trial = Trial(schedule, left_out=told(error))
        self.trials[schedule] = trial

    def finalists(self) -> list[S]:
        """The default, where it is right, and the fastest few."""
        right = [trial for trial in self.trials.values() if not trial.left_out]
        ranked = [trial.schedule for trial in sorted(right, key=lambda t: t.seconds)]
        default = [schedule for schedule in ranked if schedule == self.default]
        return list(dict.fromkeys([*default, *ranked[:FINALISTS]]))

    def decide(self) -> Winner[S]:
        """Readings of the finalists by turns; the default stays unless another is faster."""
        times: dict[S, list[float]] = {schedule: [] for schedule in self.finalists()}
        for _ in range(ROUNDS):
            for schedule, readings in times.items():
                readings.append(self.reading(schedule, 1))
        medians = {schedule: statistics.median(readings) for schedule, readings in times.items()}
        best = min(medians, key=lambda schedule: medians[schedule])
        return Winner(best, medians[best], medians.get(self.default, medians[best]))


def timed(device: Device, launches: Sequence[Launch], repeats: int = 1) -> float:
    """Seconds that the launches take, on average over so many times."""
    start = device.queue.record()
    for _ in range(repeats):
        replay(launches)
    return device.queue.record().seconds_since(start) / repeats
