"""The search for the fastest values and block of a user's kernel, on a device and for arguments.

All combinations are tried, since the user says what to try. Each is compiled and run once on the
arguments, and its bits are compared with the first one's, which is the kernel as it is declared;
then it is timed as ``portmp tune`` times (``tuner.trials``). Arrays that the kernel changes are
set back before every run. The fastest few are measured again by turns.
"""

import itertools
import math
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portmp import discovery
from portmp.arrays.viewed import Viewed
from portmp.backends.base import Device, Launch, recording
from portmp.errors import ArgumentError, DeviceError, one_line, suggestion
from portmp.kernels import tuned
from portmp.kernels.extent import block_of
from portmp.kernels.tuned import Schedule, Subject
from portmp.progress import lasting
from portmp.runtime.digests import digest
from portmp.schedules import database
from portmp.tuner.trials import SHORTEST, Search, Trial, timed
from portmp.verify.outcome import planes_of

BLOCK = "block"
"""What a space calls the threads of a block."""
MOST_RUNS = 100
"""Runs of a reading where arrays are set back before each."""
MOST = 10_000
"""Combinations that a space may have."""


@dataclass(frozen=True)
class Tuning:
    """What came of ``Kernel.tune``: prints as a table, the fastest first."""

    kernel: str
    device: str
    candidates: tuple[Trial[Schedule], ...]
    schedule: Schedule
    times_declared: float
    file: str

    @property
    def left_out(self) -> tuple[Trial[Schedule], ...]:
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
        rows = [
            f"{c.schedule.words():40} {c.left_out or f'{c.seconds * 1e6:.4g} microseconds'}"
            for c in sorted(self.candidates, key=lambda c: (bool(c.left_out), c.seconds))
        ]
        return "\n".join([head, *rows])

    __repr__ = __str__


class _KernelSearch(Search[Schedule]):
    """The search for one kernel and its arguments. Arrays that it changes are kept, and set back
    before every run.
    """

    def __init__(
        self, kernel: Subject, device: Device, arguments: Mapping[str, Any], declared: Schedule
    ) -> None:
        super().__init__(device, declared, "the first one's")
        self._kernel, self._arguments = kernel, arguments
        self._right: list[str] | None = None
        self._launches: dict[Schedule, list[Launch]] = {}
        parameters = kernel.signature.parameters
        written = [(p, arguments[p.name]) for p in parameters if p.is_array and p.written]
        self._written = [array for _, array in written]
        self._results = [b for p, a in written if p.way == "out" for b in a.planes.buffers]
        changed = [b for p, a in written if p.way == "inout" for b in a.planes.buffers]
        self._changed = [(buffer, device.allocate(buffer.nbytes)) for buffer in changed]
        for buffer, copy in self._changed:
            device.queue.copy(copy, buffer, buffer.nbytes)

    def set_back(self) -> None:
        """Give the arrays that a run changes the content that they had."""
        for buffer, copy in self._changed:
            self.device.queue.copy(buffer, copy, buffer.nbytes)

    def clear(self) -> None:
        """Leave no results of another candidate in the arrays that go out."""
        for buffer in self._results:
            self.device.queue.write(buffer, np.full(buffer.nbytes, 0xFF, np.uint8))

    def is_right(self, schedule: Schedule) -> bool:
        variant = self._kernel.varied(schedule)
        self.clear()
        self.set_back()
        with recording() as self._launches[schedule]:
            variant(device=self.device, **self._arguments)
        bits = [digest(planes_of(array)) for array in self._written]
        self._right = self._right or bits
        return bits == self._right

    def launches(self, schedule: Schedule) -> list[Launch]:
        return self._launches[schedule]

    def reading(self, schedule: Schedule, count: int, hopeless: float = math.inf) -> float:
        """Between runs arrays are set back, which the clock does not see."""
        if not self._changed:
            return super().reading(schedule, count, hopeless)
        times: list[float] = []
        while len(times) < MOST_RUNS and (len(times) < count or sum(times) < SHORTEST):
            self.set_back()
            times.append(timed(self.device, self.launches(schedule)))
            if times[0] > hopeless:
                break
        return statistics.median(times)


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
    search = _KernelSearch(kernel, device, arguments, declared)
    told = ["compiling"]

    def text() -> str:
        return f"tune {kernel.name}: {told[0]}"

    try:
        with lasting(text, sys.stderr.isatty()):
            for i, schedule in enumerate(schedules, 1):
                told[0] = f"{i} of {len(schedules)}, {schedule.words()}"
                search.attempt(schedule, one_line)
            tried = tuple(search.trials.values())
            if all(trial.left_out for trial in tried):
                raise ArgumentError(f"{kernel.name}: tune: no candidate runs: {tried[0].left_out}")
            told[0] = "comparing the fastest"
            best = search.decide()
    finally:
        search.set_back()
        device.queue.synchronize()
    entry = tuned.purpose(kernel, device) | {
        "schedule": {"values": dict(best.schedule.values), "block": list(best.schedule.block)},
        "measured": best.measured(device, seconds=best.seconds),
    }
    database.store([], target, [entry])
    database.reload()
    return Tuning(kernel.name, device.name, tried, best.schedule, best.gain, str(target))


def _device(name: str, arguments: Mapping[str, Any], asked: str | Device | None) -> Device:
    """The device of the arrays, or the one that is asked for: hardware, which can be timed."""
    arrays = [a for a in arguments.values() if isinstance(a, Viewed)]
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
