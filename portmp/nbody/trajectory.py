"""Particles on their way: the plan of a run, what it gave in a format, and how far it is.

A run that is interrupted goes on from what ``Stage`` holds, with the same bits.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from portmp.arrays.array import Array, array
from portmp.errors import InputError
from portmp.formats import convert
from portmp.nbody.system import System
from portmp.progress import Progress

BURST = 64
"""Steps that are launched before the host waits: a progress line in between costs little."""

BLOCK = 4096
"""Particles whose exact positions are compared at once: fractions take much memory."""


@dataclass(frozen=True)
class Plan:
    """How the particles move."""

    scheme: str
    dt: Fraction
    steps: int
    samples: int
    reverse: bool
    ways: bool
    """Whether positions are kept at each sample."""


@dataclass
class Course:
    """What a format's run gave; errors are relative to the values at the start.

    ``returned``: the largest distance of a particle from its start after the way back,
    relative to its distance from the origin.
    """

    format: str
    times: list[float] = field(default_factory=list)
    energy_errors: list[float] = field(default_factory=list)
    momentum_errors: list[float] = field(default_factory=list)
    energy: str = ""
    returned: float | None = None
    seconds: float = 0.0
    positions: list[Any] = field(default_factory=list, repr=False)


@dataclass
class Stage:
    """How far a format's run is: the system, steps done (on the way back, too), what it gave.

    ``energy``, ``momentum`` and ``origin`` (limbs of positions, for the way back) are the start's.
    """

    system: System
    course: Course
    energy: Fraction
    momentum: list[Fraction]
    origin: Sequence[Any]
    done: int = 0

    def values(self) -> tuple[Fraction, list[Fraction]]:
        """Energy and angular momentum now."""
        read = [self.system.energy(), *self.system.angular_momentum()]
        first, *others = (_fraction(value) for value in read)
        return first, others

    def sample(self, ways: bool) -> None:
        """Note the present state, with positions where *ways* are kept."""
        energy, momentum = self.values()
        size = math.sqrt(float(sum(x * x for x in self.momentum)))
        change = math.sqrt(
            float(sum((x - y) ** 2 for x, y in zip(momentum, self.momentum, strict=True)))
        )
        self.course.times.append(float(self.system.time))
        error = energy - self.energy
        error = error / self.energy if self.energy else error
        self.course.energy_errors.append(abs(float(error)))
        self.course.momentum_errors.append(change / size if size else change)
        if ways:
            self.course.positions.append(self.system.position.to_float64())


def begun(moving: System, plan: Plan) -> Stage:
    """The start of a run, sampled."""
    stage = Stage(moving, Course(moving.format.name), Fraction(0), [], [])
    stage.energy, stage.momentum = stage.values()
    stage.course.energy = str(array([stage.energy], moving.format, moving.device).to_strings()[0])
    stage.origin = moving.position.to_limbs() if plan.reverse else []
    stage.sample(plan.ways)
    return stage


def _fraction(value: Array) -> Fraction:
    number = float(value)
    if not math.isfinite(number):
        raise InputError(
            f"the particles' energy is {number}: two met without softening (--eps), or the "
            "step (--dt) is too long"
        )
    found: Fraction = value.to_fractions()
    return found


def go_on(stage: Stage) -> None:
    """What a run that is not saved does between bursts of steps."""


def follow(stage: Stage, plan: Plan, progress: Progress, pause: Callable[[Stage], None]) -> Course:
    """Move a system as planned from where it is, sampling; *pause* may save the stage."""
    moving, course, began = stage.system, stage.course, time.monotonic()
    before, first = course.seconds, stage.done
    marks = sorted({round(plan.steps * k / plan.samples) for k in range(1, plan.samples + 1)})
    total = plan.steps * (2 if plan.reverse else 1)
    most = 1 if any(q.device.by_reference for q in moving.queues) else BURST
    while stage.done < total:
        out = stage.done < plan.steps
        stop = next(mark for mark in marks if mark > stage.done) if out else total
        burst = min(stop - stage.done, most)
        moving.step(plan.dt if out else -plan.dt, burst, plan.scheme)
        for queue in moving.queues:
            queue.synchronize()
        stage.done += burst
        if out and stage.done == stop:
            stage.sample(plan.ways)
        took = time.monotonic() - began
        course.seconds = before + took
        progress.show(
            f"{course.format}: step {stage.done} of {total}, energy error "
            f"{course.energy_errors[-1]:.1e}, "
            f"{took * (total - stage.done) / (stage.done - first):.0f} s left"
        )
        pause(stage)
    if plan.reverse:
        course.returned = _distance(moving.position.to_limbs(), stage.origin)
    progress.clear()
    return course


def _distance(now: Sequence[Any], origin: Sequence[Any]) -> float:
    """The largest distance between rows, relative to the rows' lengths where they have one."""
    largest = 0.0
    for first in range(0, len(now[0]), BLOCK):
        rows = [convert.to_fractions([p[first : first + BLOCK] for p in x]) for x in (now, origin)]
        for new, old in zip(*rows, strict=True):
            size = float(sum(x * x for x in old))
            gap = float(sum((x - y) ** 2 for x, y in zip(new, old, strict=True)))
            largest = max(largest, math.sqrt(gap / size if size else gap))
    return largest
