"""Times: warm-up, runs, median and quartiles, on the device's clock or the wall's."""

import math
import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from portmp import paths
from portmp.backends.base import Device

WARM_UP = 0.05
"""Seconds of work before the first run that counts: clocks rise, memory is touched."""
SAMPLE = 2e-3
"""Seconds that a run lasts at least; shorter work is repeated within it."""
BUDGET = {"gpu": 0.25, "cpu": 0.5}
"""Seconds for all runs where their number is not given."""
FEWEST, MOST = 3, 15
MAX_CALLS = 200
REST = 0.2
"""Seconds around work on the host, until a library's threads no longer wait for more."""


class Budget:
    """A limit in seconds that experiments share out; what one leaves is the next one's.

    *whole*: nothing is left out, neither compiling nor energy.
    """

    def __init__(self, seconds: float, shares: Mapping[str, int], whole: bool = False) -> None:
        self.seconds = seconds
        self.whole = whole
        self.start = time.monotonic()
        self._shares = shares
        self._until: dict[str, float] = {}
        self.share_out(0.0)

    def share_out(self, passed: float, first: str = "") -> None:
        """Share what is left after *passed* seconds among all experiments, or from *first* on."""
        names = [*self._shares]
        names = names[names.index(first) if first else 0 :]
        total, end = sum(self._shares[name] for name in names), passed
        for name in names:
            end += max(0.0, self.seconds - passed) * self._shares[name] / total
            self._until[name] = end

    def begin(self, experiment: str) -> None:
        """What those before it took beyond their share is taken off all that come."""
        before = [*self._shares][: [*self._shares].index(experiment)]
        if before and self.passed() > self._until[before[-1]]:
            self.share_out(self.passed(), experiment)

    def passed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    def leave_out(self, seconds: float) -> None:
        """Do not count some of the seconds that have passed."""
        if not self.whole:
            self.start += seconds

    @contextmanager
    def beside(self) -> Iterator[None]:
        """What the block does takes no time of the limit."""
        start = self.passed()
        yield
        self.leave_out(self.passed() - start)

    def left(self, experiment: str, parts: int = 1) -> float:
        """Seconds that an experiment may still take, for one of *parts* parts to come."""
        return max(0.0, self._until[experiment] - self.passed()) / parts


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: median and quartiles of *runs*, each the mean of *calls* calls.

    ``clock_mhz`` is the clock while the device worked, where it can be read; ``each``: of a call in
    every run.
    """

    median: float
    lower: float
    upper: float
    runs: int
    calls: int
    clock_mhz: float | None = None
    each: tuple[float, ...] = ()

    @property
    def spread(self) -> float:
        """The distance of the quartiles over the median."""
        return (self.upper - self.lower) / self.median if self.median else 0.0

    def as_dict(self) -> dict[str, Any]:
        """What the results' file holds under ``seconds``."""
        found = asdict(self) | {"each": list(self.each)}
        del found["clock_mhz"]
        return found


def summary(times: Sequence[float], calls: int, clock_mhz: float | None = None) -> Timing:
    """Median and quartiles of the seconds of runs of *calls* calls each."""
    each = [t / calls for t in times]
    lower, median, upper = map(float, np.percentile(each, (25, 50, 75)))
    return Timing(median, lower, upper, len(each), calls, clock_mhz, tuple(each))


def calls_of(once: float, sample: float = SAMPLE) -> int:
    """How many calls of *once* seconds make a run."""
    return max(1, min(MAX_CALLS, math.ceil(sample / max(once, 1e-9))))


def runs_of(run: float, budget: float) -> int:
    """How many runs of *run* seconds fit the budget; a few in any case."""
    return max(FEWEST, min(MOST, int(budget / max(run, 1e-9))))


def timed(device: Device, work: Callable[[], object], runs: int = 0) -> Timing:
    """Device time of a call of *work*, which launches on the device's queue; the first compiles.

    *runs* of 0 chooses their number.
    """
    work()
    device.queue.synchronize()
    return by_turns(device, {"": work}, runs, BUDGET[device.properties.kind]).timing("")


def once(work: Callable[[], object], wait: Callable[[], object]) -> float:
    """Wall time of one call, until *wait* returns."""
    start = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - start


def timed_by_wall(
    work: Callable[[], object],
    wait: Callable[[], object],
    runs: int = 0,
    budget: float = 1.0,
    agreed: Callable[[float], float] = float,
) -> Timing:
    """Wall time of a call of *work*; *wait* returns when all work is done.

    *agreed*: the seconds of a run by which several processes choose equal numbers of runs.
    """

    def run(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            work()
        wait()
        return time.perf_counter() - start

    run(1)
    once = agreed(run(1))
    calls = calls_of(once)
    return summary([run(calls) for _ in range(runs or runs_of(calls * once, budget))], calls)


class Rounds:
    """Times of several works by turns, so that what slows the device down slows all of them."""

    def __init__(self, names: Iterable[str], calls: dict[str, int]) -> None:
        self.calls = calls
        self.clock_mhz: float | None = None
        self.seconds: dict[str, list[float]] = {name: [] for name in names}

    def timing(self, name: str) -> Timing:
        """The time of a call of one of them."""
        calls = self.calls[name]
        return summary([calls * t for t in self.seconds[name]], calls, self.clock_mhz)

    def faster(self, name: str, base: str) -> float:
        """How many times as fast as *base* one of them is: the median over the rounds."""
        pairs = zip(self.seconds[base], self.seconds[name], strict=True)
        return statistics.median(b / t for b, t in pairs)


def _warmed(names: Collection[str], seconds: Callable[[str, int], float]) -> dict[str, float]:
    """Seconds of a call of each: of the first one, or of so many that warm up, if it is short."""
    once = {name: seconds(name, 1) for name in names}
    warm = {n: calls_of(t, WARM_UP / len(names)) for n, t in once.items() if t < WARM_UP}
    return once | {name: seconds(name, calls) for name, calls in warm.items()}


def by_turns(
    device: Device,
    works: Mapping[str, Callable[[], object]],
    runs: int,
    seconds: float,
    on_host: Collection[str] = (),
) -> Rounds:
    """Times of *works*, which were called before, in rounds of one run each.

    All runs are in the queue before the first is waited for, so that the clock is read while the
    device works.
    *runs* of 0: as many as *seconds* allow, a few at least. Those *on_host* come after the others,
    and are timed by the wall's clock: the threads of libraries wait for more work with the
    processor busy, which others would suffer from.
    """
    queue = device.queue

    def run(name: str, calls: int) -> Callable[[], float]:
        if name in on_host:
            begin = time.perf_counter()
            for _ in range(calls):
                works[name]()
            passed = time.perf_counter() - begin
            return lambda: passed
        start = queue.record()
        for _ in range(calls):
            works[name]()
        end = queue.record()
        return lambda: end.seconds_since(start)

    found = Rounds(works, {})
    groups = [n for n in works if n not in on_host], [n for n in works if n in on_host]
    count = runs
    time.sleep(REST if on_host else 0.0)
    for names in filter(None, groups):
        once = _warmed(names, lambda name, calls: run(name, calls)() / calls)
        found.calls |= {name: calls_of(t) for name, t in once.items()}
        count = count or runs_of(sum(found.calls[n] * t for n, t in once.items()), seconds)
        marks = [{name: run(name, found.calls[name]) for name in names} for _ in range(count)]
        found.clock_mhz = found.clock_mhz or device.current_clock_mhz()
        queue.synchronize()
        for turn in marks:
            for name, taken in turn.items():
                found.seconds[name].append(taken() / found.calls[name])
    time.sleep(REST if on_host else 0.0)
    return found


def issued(
    works: Mapping[str, Callable[[], object]],
    waits: Mapping[str, Callable[[], object]],
    runs: int,
    seconds: float,
) -> tuple[Rounds, Rounds]:
    """Wall times of *works* by turns: until a call returns, and until *waits* say that it is done.

    They were called before. *runs* of 0: as many as *seconds* allow, one in any case.
    """

    def run(name: str, calls: int, whole: bool) -> float:
        work, wait = works[name], waits[name]
        start = time.perf_counter()
        for _ in range(calls):
            work()
            if whole:
                wait()
        passed = time.perf_counter() - start
        wait()
        return passed / calls

    for wait in waits.values():
        wait()
    once = _warmed(works, partial(run, whole=True))
    calls = {name: calls_of(t) for name, t in once.items()}
    found = Rounds(works, calls), Rounds(works, calls)
    total = 2 * sum(calls[name] * t for name, t in once.items())
    for _ in range(runs or max(1, min(MOST, int(seconds / total)))):
        for name in works:
            for rounds, whole in zip(found, (False, True), strict=True):
                rounds.seconds[name].append(run(name, calls[name], whole))
    return found


def counted(work: Callable[[], object], which: Callable[[FrameType, str], bool]) -> int:
    """How many events of this thread's profile are of those, while *work* runs."""
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += which(frame, event)

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def frames(call: Callable[[], object]) -> int:
    """How many of portmp's own Python functions run in a call: what it costs the host, as a count.

    Of this thread, in the second of two calls: the first one compiles, loads and remembers.
    """
    own = str(paths.PACKAGE)
    call()
    return counted(
        call, lambda frame, event: event == "call" and frame.f_code.co_filename.startswith(own)
    )
