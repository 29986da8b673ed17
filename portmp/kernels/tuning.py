"""The search for the fastest values and block of a user's kernel, on a device and for arguments.

All combinations are tried, since the user says what to try. Each is compiled and run once on the
arguments, and its bits are compared with the first one's, which is the kernel as it is declared;
then it is timed as ``portmp tune`` times (``runtime.timing``). Arrays that the kernel changes are
set back before every run. The fastest few are measured again by turns.
"""

from __future__ import annotations

import datetime
import itertools
import math
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portmp import discovery
from portmp.arrays.array import Array
from portmp.arrays.plain import PlainArray
from portmp.backends.base import Buffer, Device, Launch, recording
from portmp.errors import ArgumentError, DeviceError, PortmpError, one_line, suggestion
from portmp.kernels import tuned
from portmp.kernels.extent import block_of
from portmp.kernels.tuned import Schedule, Subject
from portmp.progress import lasting
from portmp.runtime import timing
from portmp.runtime.digests import digest
from portmp.schedules import database

BLOCK = "block"
"""What a space calls the threads of a block."""
FINALISTS = 3
ROUNDS = 5
MOST_RUNS = 100
"""Runs of a reading where arrays are set back before each."""
MOST = 10_000
"""Combinations that a space may have."""


@dataclass(frozen=True)
class Candidate:
    """A schedule that was tried: seconds of device time, or why it was left out."""

    schedule: Schedule
    seconds: float = math.inf
    left_out: str = ""

    def row(self) -> str:
        """A line of the table."""
        told = self.left_out or f"{self.seconds * 1e6:.4g} microseconds"
        return f"{self.schedule.words():40} {told}"


@dataclass(frozen=True)
class Tuning:
    """What came of ``Kernel.tune``: prints as a table, the fastest first."""

    kernel: str
    device: str
    candidates: tuple[Candidate, ...]
    schedule: Schedule
    times_declared: float
    file: str

    @property
    def left_out(self) -> tuple[Candidate, ...]:
        """Those that do not compile, do not fit, or give other bits."""
        return tuple(c for c in self.candidates if c.left_out)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = [
            {**c.schedule.as_dict(), "seconds": None if c.left_out else c.seconds}
            | ({"left_out": c.left_out} if c.left_out else {})
            for c in self.candidates
        ]
        return {
            "kernel": self.kernel,
            "device": self.device,
            "schedule": self.schedule.as_dict(),
            "times_declared": self.times_declared,
            "file": self.file,
            "candidates": rows,
        }

    def __str__(self) -> str:
        head = (
            f"{self.kernel} on {self.device}: {self.schedule.words()}, "
            f"{self.times_declared:.3f} x declared, {len(self.candidates)} tried, kept in "
            f"{self.file}"
        )
        rows = sorted(self.candidates, key=lambda c: (bool(c.left_out), c.seconds))
        return "\n".join([head, *(c.row() for c in rows)])

    __repr__ = __str__


class _Arrays:
    """The arrays that a kernel writes: those that it changes are kept and set back."""

    def __init__(self, kernel: Subject, arguments: Mapping[str, Any], device: Device) -> None:
        self._queue = device.queue
        self._changed: list[tuple[Buffer, Buffer]] = []
        self._written: list[Array | PlainArray] = []
        for parameter in kernel.signature.parameters:
            if parameter.is_array and parameter.written:
                self._written.append(arguments[parameter.name])
                if parameter.way == "inout":
                    self._keep(arguments[parameter.name].planes.buffers)

    def _keep(self, buffers: Sequence[Buffer]) -> None:
        for buffer in buffers:
            copy = self._queue.device.allocate(buffer.nbytes)
            self._queue.copy(copy, buffer, buffer.nbytes)
            self._changed.append((buffer, copy))

    @property
    def are_changed(self) -> bool:
        """Whether a run must be undone before the next one."""
        return bool(self._changed)

    def set_back(self) -> None:
        """Give the arrays that a run changes the content that they had."""
        for buffer, copy in self._changed:
            self._queue.copy(buffer, copy, buffer.nbytes)

    def prepare(self) -> None:
        """The same, and no results of another candidate in the arrays that go out."""
        known = [buffer for buffer, _ in self._changed]
        for array in self._written:
            for buffer in array.planes.buffers:
                if not any(buffer is one for one in known):
                    self._queue.write(buffer, np.full(buffer.nbytes, 0xFF, np.uint8))
        self.set_back()

    def digests(self) -> list[str]:
        """What tells the bits of what the kernel wrote."""
        return [
            digest([a.to_numpy()] if isinstance(a, PlainArray) else a.to_limbs())
            for a in self._written
        ]


class _Search:
    """The candidates of one search."""

    def __init__(
        self, kernel: Subject, device: Device, arguments: Mapping[str, Any], arrays: _Arrays
    ) -> None:
        self._kernel, self._device, self._arguments = kernel, device, arguments
        self._arrays = arrays
        self._bits: list[str] | None = None
        self._launches: dict[Schedule, list[Launch]] = {}
        self.tried: list[Candidate] = []

    def try_one(self, schedule: Schedule) -> None:
        """Run, compare and time a candidate."""
        try:
            variant = self._kernel.varied(schedule)
            self._arrays.prepare()
            with recording() as launches:
                variant(device=self._device, **self._arguments)
            bits = self._arrays.digests()
            if self._bits is None:
                self._bits = bits
            if bits != self._bits:
                found = Candidate(schedule, left_out="its bits differ from the first one's")
            else:
                bar = min((c.seconds for c in self.tried), default=math.inf) * timing.HOPELESS
                found = Candidate(schedule, self.reading(launches, 3, bar))
                self._launches[schedule] = launches
        except PortmpError as error:
            found = Candidate(schedule, left_out=one_line(error))
        self.tried.append(found)

    def reading(self, launches: list[Launch], count: int, hopeless: float = math.inf) -> float:
        """Seconds of a run; between runs arrays are set back, which the clock does not see."""
        if not self._arrays.are_changed:
            return timing.reading(self._device, launches, count, hopeless)
        times: list[float] = []
        while len(times) < MOST_RUNS and (len(times) < count or sum(times) < timing.SHORTEST):
            self._arrays.set_back()
            times.append(timing.timed(self._device, launches))
            if times[0] > hopeless:
                break
        return statistics.median(times)

    def decide(self, declared: Schedule) -> tuple[Schedule, float, float]:
        """The fastest, by turns with the declared one; its seconds, and how many times as fast."""
        right = sorted((c for c in self.tried if not c.left_out), key=lambda c: c.seconds)
        if not right:
            raise ArgumentError(
                f"{self._kernel.name}: tune: no candidate runs: {self.tried[0].left_out}"
            )
        finalists = [c.schedule for c in right[:FINALISTS]]
        if declared in self._launches and declared not in finalists:
            finalists.append(declared)
        times: dict[Schedule, list[float]] = {s: [] for s in finalists}
        for _ in range(ROUNDS):
            for schedule in finalists:
                times[schedule].append(self.reading(self._launches[schedule], 1))
        medians = {s: statistics.median(t) for s, t in times.items()}
        best = min(finalists, key=lambda s: medians[s])
        base = medians.get(declared, medians[best])
        return best, medians[best], base / medians[best] if medians[best] else 1.0


def tune(
    kernel: Subject,
    space: Mapping[str, Sequence[Any]],
    given: Sequence[Any],
    named: Mapping[str, Any],
    asked: str | Device | None,
) -> Tuning:
    """Try all of a space on the arguments; keep the fastest in the user's database."""
    declared = tuned.own(kernel)
    schedules = list(dict.fromkeys([declared, *_schedules(kernel, space, declared)]))
    target = database.user_file()
    if target is None:
        raise ArgumentError(
            f"{kernel.name}: tune: no folder for the result: PORTMP_CONFIG_DIR names one"
        )
    arguments = kernel.arguments(given, named)
    device = _device(kernel.name, arguments, asked)
    arguments |= kernel.new_arrays(arguments, device.queue)
    arrays = _Arrays(kernel, arguments, device)
    search = _Search(kernel, device, arguments, arrays)
    told = ["compiling"]

    def text() -> str:
        return f"tune {kernel.name}: {told[0]}"

    try:
        with lasting(text, sys.stderr.isatty()):
            for i, schedule in enumerate(schedules, 1):
                told[0] = f"{i} of {len(schedules)}, {schedule.words()}"
                search.try_one(schedule)
            told[0] = "comparing the fastest"
            best, seconds, gain = search.decide(declared)
    finally:
        arrays.set_back()
        device.queue.synchronize()
    database.store([], target, [_entry(kernel, device, best, seconds, gain)])
    database.reload()
    return Tuning(kernel.name, device.name, tuple(search.tried), best, gain, str(target))


def _entry(
    kernel: Subject, device: Device, best: Schedule, seconds: float, gain: float
) -> dict[str, Any]:
    """What the database keeps."""
    return tuned.purpose(kernel, device) | {
        "schedule": {"values": dict(best.values), "block": list(best.block)},
        "measured": {
            "seconds": float(f"{seconds:.4g}"),
            "times_default": float(f"{gain:.4g}"),
            "driver": device.properties.driver,
            "date": datetime.date.today().isoformat(),
        },
    }


def _device(name: str, arguments: Mapping[str, Any], asked: str | Device | None) -> Device:
    """The device of the arrays, or the one that is asked for: hardware, which can be timed."""
    arrays = [a for a in arguments.values() if isinstance(a, (Array, PlainArray))]
    device = arrays[0].device if arrays else discovery.get(asked)
    if any(one.queue is not device.queue for one in arrays):
        raise DeviceError(
            f"{name}: tune: arrays in another queue than {device.name}'s first one given, whose "
            "time is taken"
        )
    try:
        return discovery.hardware(device)
    except DeviceError as error:
        raise DeviceError(f"{name}: tune: {error}") from None


def _schedules(
    kernel: Subject, space: Mapping[str, Sequence[Any]], declared: Schedule
) -> Iterator[Schedule]:
    """All combinations of a space."""
    where = f"{kernel.name}: tune"
    if not isinstance(space, Mapping) or not space:
        raise ArgumentError(
            f"{where}: {space!r:.60} given as the space; names of values or block, each with a "
            "list of what to try, are needed: {'tile': [8, 16], 'block': [64, 128]}"
        )
    known = dict(declared.values)
    for name, values in space.items():
        if name not in known and name != BLOCK:
            near = suggestion(str(name), [*known, BLOCK])
            raise ArgumentError(
                f"{where}: {name!r} is no value of the template{near}; "
                f"{', '.join([*known, BLOCK])} can be tuned"
            )
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence) or not values:
            raise ArgumentError(f"{where}: {name}: {values!r:.60} given, a list is needed")
    count = math.prod(len(values) for values in space.values())
    if count > MOST:
        raise ArgumentError(f"{where}: {count} combinations given, at most {MOST} are tried")
    for combination in itertools.product(*space.values()):
        chosen = dict(zip(space, combination, strict=True))
        asked = chosen.pop(BLOCK, kernel.declared.block)
        block = block_of(where, asked, kernel.module.values | chosen).dimensions
        for name, value in chosen.items():
            if type(value) not in (int, float, str, bool):
                raise ArgumentError(
                    f"{where}: {name}: {value!r:.60} given, numbers and texts can be kept"
                )
        yield Schedule(tuple((known | chosen).items()), block)
