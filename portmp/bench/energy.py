"""Energy of work on a device: joules and watts while it is repeated, beside idle power.

``Observer(device)`` opens what tells the device's energy (``Device.energy_meters``) and measures
its idle power; ``observe`` repeats work for at least two seconds while a thread reads. A device
that cannot be read gives a reason, never an error: the run goes on. Others' work on the same
board or processor counts as well.
"""

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from portmp.backends.base import Device, Event, Queue
from portmp.backends.energy import JOULES, WATTS, Meter
from portmp.bench import measure
from portmp.errors import DeviceError, PortmpError
from portmp.progress import every

Work = Callable[[], object]
INTERVALS = {JOULES: 0.005, WATTS: 0.02}
"""Seconds between readings: a counter's steps are found to within them."""


@dataclass(frozen=True)
class Spans:
    """Seconds of an observation, of the idle one, and of a batch of calls; least samples of power.

    Readings count as samples where they are power, a counter's where they differ from the last.
    """

    work: float = 2.0
    idle: float = 1.0
    batch: float = 0.05
    samples: int = 50


SPANS = Spans()
BRIEF = Spans(work=0.5, idle=0.5, samples=10)
"""Where an observation is a part of a limit of time: the ends make an error of 1 %."""


class Timer:
    """The host's clock, and what happens by it."""

    def now(self) -> float:
        """Seconds since some start."""
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def every(self, interval: float, act: Callable[[], object]) -> AbstractContextManager[None]:
        """Call *act* each *interval* seconds beside the block, in a thread of its own."""
        return every(interval, act)


class Readings:
    """What a meter gave: seconds and values. A failure ends them, and is kept."""

    def __init__(self, meter: Meter, timer: Timer) -> None:
        self.meter = meter
        self.timer = timer
        self.taken: list[tuple[float, float]] = []
        self.problem = ""

    def take(self) -> None:
        """Read once, at the time halfway through the reading."""
        if self.problem:
            return
        before = self.timer.now()
        try:
            value = self.meter.read()
        except Exception as error:  # in a thread, where nobody else would see it
            self.problem = str(error) or type(error).__name__
        else:
            self.taken.append(((before + self.timer.now()) / 2, value))

    def enough(self, since: float, seconds: float, samples: int) -> bool:
        """Whether *seconds* have passed with so many samples of power, or no more will come."""
        if self.problem:
            return True
        if self.timer.now() - since < seconds:
            return False
        return self.meter.unit == JOULES or sum(t >= since for t, _ in self.taken) >= samples

    def power(self, start: float, end: float) -> tuple[float, int]:
        """Mean watts between two times, and the samples behind it; DeviceError where none is."""
        if self.problem:
            raise DeviceError(self.problem)
        within = [(t, v) for t, v in self.taken if start <= t <= end]
        mean = counted_power if self.meter.unit == JOULES else sampled_power
        watts, samples = mean(within)
        if not 0 < watts < math.inf:
            raise DeviceError(f"{watts:g} W were read")
        return watts, samples


def counted_power(readings: Sequence[tuple[float, float]]) -> tuple[float, int]:
    """Mean watts by a counter of joules, from its first step to its last, and the steps.

    So a counter's steps, however long they are, make no error: only the time of the first and of
    the last one is uncertain, by an interval of readings.
    """
    steps = [
        (time, value)
        for (_, before), (time, value) in itertools.pairwise(readings)
        if value != before
    ]
    if len(steps) < 2:
        raise DeviceError(f"the counter moved {len(steps)} times, at least 2 are needed")
    (first, low), (last, high) = steps[0], steps[-1]
    return (high - low) / (last - first), len(steps)


def sampled_power(readings: Sequence[tuple[float, float]]) -> tuple[float, int]:
    """Mean watts of samples of power, which may lie unevenly in time, and their number."""
    if len(readings) < 2:
        raise DeviceError("too few samples of the power")
    joules = sum((t - s) * (v + w) / 2 for (s, v), (t, w) in itertools.pairwise(readings))
    return joules / (readings[-1][0] - readings[0][0]), len(readings)


@dataclass(frozen=True)
class Energy:
    """Energy of *calls* calls in *seconds*, each of so many *operations*, at a mean of *watts*."""

    read: str
    watts: float
    idle_watts: float
    seconds: float
    calls: int
    samples: int
    operations: float

    def as_dict(self) -> dict[str, Any]:
        """What a results' file holds under ``energy`` of a case: joules with idle power."""
        joules = self.watts * self.seconds
        rate = self.calls * self.operations / self.seconds
        return {
            "read": self.read,
            "samples": self.samples,
            "seconds": self.seconds,
            "calls": self.calls,
            "watts": self.watts,
            "idle_watts": self.idle_watts,
            "joules": joules,
            "joules_per_call": joules / self.calls,
            "joules_per_operation": joules / (self.calls * self.operations),
            "joules_per_operation_above_idle": (self.watts - self.idle_watts) / rate,
            "operations_per_second": rate,
            "gflops_per_watt": rate / self.watts * 1e-9,
        }


class Observer:
    """The energy of work on one device, or why there is none (``problem``).

    Made before the work: it opens the meter and measures idle power, about a second. Without a
    device nothing was asked for, and all of it does and gives nothing. *brief*: in less time.
    """

    def __init__(
        self, device: Device | None, timer: Timer | None = None, brief: bool = False
    ) -> None:
        self.device = device
        self.spans = BRIEF if brief else SPANS
        self.timer = timer or Timer()
        self.problem = ""
        self.idle_watts = 0.0
        self.meter = self._opened(device) if device else None

    def _opened(self, device: Device) -> Meter | None:
        """The first meter that tells the idle power, which is kept."""
        if device.interpreted:
            self.problem = f"{device.name} takes no energy of its own: it is no hardware"
            return None
        try:
            meters = device.energy_meters()
        except PortmpError as error:
            self.problem = str(error)
            return None
        device.queue.synchronize()
        problems = []
        for meter in meters:
            try:
                self.idle_watts = self._idle(meter)
            except DeviceError as error:
                problems.append(f"{meter.about}: {error}")
            else:
                return meter
        self.problem = "; ".join(problems)
        return None

    def _idle(self, meter: Meter) -> float:
        """Watts while nothing runs."""
        timer, readings = self.timer, Readings(meter, self.timer)
        interval = INTERVALS[meter.unit]
        with timer.every(interval, readings.take):
            timer.sleep(meter.lag)
            start = timer.now()
            while not readings.enough(start, self.spans.idle, self.spans.samples):
                timer.sleep(interval)
            end = timer.now()
        return readings.power(start, end)[0]

    def observe(self, work: Work, operations: float, seconds: float = 0.0) -> Energy | None:
        """Repeat *work*, calls on the device's queue that have been run before; None if unread.

        *operations*: of the format, in a call; *seconds*: how long about a call takes, by default
        measured. The repetitions last two seconds, or until there are 50 samples of power. Errors
        of *work* are the caller's.
        """
        if self.device is None or self.meter is None:
            return None
        once = seconds or measure.timed(self.device, work, 1).median
        readings = Readings(self.meter, self.timer)
        with self.timer.every(INTERVALS[self.meter.unit], readings.take):
            start, end, calls = self._repeat(work, once, readings)
        self.device.queue.synchronize()
        try:
            watts, samples = readings.power(start, end)
        except DeviceError as error:
            self.problem = f"{self.meter.about}: {error}"
            return None
        return Energy(
            self.meter.about, watts, self.idle_watts, end - start, calls, samples, operations
        )

    def _repeat(self, work: Work, once: float, readings: Readings) -> tuple[float, float, int]:
        """Start, end and number of the calls that count.

        Some come before them, until the meter tells nothing of what was before; a call that lasts
        an observation is its own.
        """
        assert self.device and self.meter
        now, long = self.timer.now, once >= self.spans.work
        size = measure.calls_of(once, self.spans.batch)
        done = batches(self.device.queue, work, size, ahead=1 if long else 2)
        start, calls = now(), 0
        if not long:
            while now() - start < self.meter.lag:
                next(done)
            start = now()
        while not calls or not readings.enough(start, self.spans.work, self.spans.samples):
            next(done)
            calls += size
        return start, now(), calls

    def duration(self, once: float) -> float:
        """About how many seconds ``observe`` takes for calls of *once* seconds."""
        if self.meter is None:
            return 0.0
        return once if once >= self.spans.work else self.meter.lag + self.spans.work + 2 * once

    def part(self, work: Work, operations: float, seconds: float = 0.0) -> dict[str, Any]:
        """``observe`` as a part of a case's results: nothing, or ``energy`` with data or null."""
        if self.device is None:
            return {}
        found = self.observe(work, operations, seconds)
        return {"energy": found.as_dict() if found else None}

    def facts(self) -> dict[str, Any]:
        """What a report says of its device: what is read, idle power, and what went wrong."""
        if self.device is None:
            return {}
        return {
            "energy": {
                "read": self.meter.about if self.meter else None,
                "idle_watts": self.idle_watts if self.meter else None,
                "problem": self.problem or None,
            }
        }


def batches(queue: Queue, work: Work, size: int, ahead: int) -> Iterator[None]:
    """Batches of *size* calls without a pause: yields when one is done, *ahead* - 1 wait behind."""
    marks: deque[Event] = deque()
    while True:
        while len(marks) < ahead:
            for _ in range(size):
                work()
            marks.append(queue.record())
        marks.popleft().wait()
        yield
