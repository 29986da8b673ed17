"""What the experiments on gravity share: particles, one measurement, and the time that is left."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from portmp import nbody
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import values
from portmp.bench.experiment import Run
from portmp.bench.papers.nbody import model
from portmp.bench.tables import Row
from portmp.codegen.kernel_spec import KernelSpec
from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format
from portmp.networks import gravity
from portmp.routines import ceilings
from portmp.routines.gravity import launch as routine
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.runtime import planes, program

EPS = 0.01
"""The softening length: particles fill a cube of edge 1."""
SMALLEST, LARGEST = 2**10, 2**24
"""Numbers of particles: those of the paper's table A.1."""
LONG_ENOUGH = 0.01
"""Seconds of a run that says how fast larger ones are."""
PATIENCE = 10.0
"""Seconds that the runs of a measurement may take where their number is not asked for."""
LONG = 1.0
"""Seconds of a run beside which the first one's launch is nothing."""


def roots_of(form: Format, device: Device) -> list[str]:
    """The inverse square roots that a format has on a device, in the order of gravity.ROOTS."""
    found = []
    for root in gravity.ROOTS:
        try:
            routine.check_root(form, device.platform, root)
        except (ArgumentError, FormatError):
            continue
        found.append(root)
    return found


def schedule_of(specs: Sequence[KernelSpec]) -> NbodySchedule | None:
    """The schedule of a call, from the kernels that it looked up."""
    plans = (dict(spec.values).get("s") for spec in specs)
    return next((plan for plan in plans if isinstance(plan, NbodySchedule)), None)


@dataclass
class Bench(Run):
    """One run on one device. ``best``: interactions a second by format and root.

    ``asked``: whether the number of runs was.
    """

    asked: bool = False
    best: dict[tuple[str, str], float] = field(default_factory=dict)
    ceilings: dict[str, dict[str, float]] = field(default_factory=dict)
    last: Callable[[], object] | None = None
    _rates: dict[tuple[str, str, NbodySchedule | None], float] = field(default_factory=dict)
    _room: tuple[Array, Array] | None = None

    def bodies(self, form: Format, n: int) -> tuple[Array, Array, Array]:
        """Positions, masses and the output for *n* particles of one format at a time.

        They are views of one array of x, y, z, mass, and of one for results: nothing is packed.
        """
        if self._room is None or self._room[0].format is not form or self._room[0].shape[0] < n:
            self._room = None  # freed before more is asked for
            limbs = values.full_limbs(form, 4 * n, "nbody", positive=True)
            made, room = (planes.allocate(form, (n, k), self.device.queue) for k in (4, 3))
            made.write([limb.reshape(n, 4) for limb in limbs])
            self._room = Array(made), Array(room)
        bodies, out = self._room
        return bodies[:n, :3], bodies[:n, 3], out[:n]

    def work(
        self, form: Format, root: str, n: int, schedule: NbodySchedule | None = None
    ) -> Callable[[], object]:
        """The call that is measured."""
        position, mass, out = self.bodies(form, n)
        return lambda: nbody.acceleration(
            position, mass, eps=EPS, out=out, root=root, schedule=schedule
        )

    def measure(
        self, form: Format, root: str, n: int, schedule: NbodySchedule | None = None, runs: int = 0
    ) -> Row:
        """Times and rates of accelerations of *n* particles."""
        work = self.work(form, root, n, schedule)
        count, apart = (runs, 1) if runs else self.planned(form, root, n, schedule)
        with program.watching() as specs:
            times = ceilings.times(self.device, work, count, apart)
        used, self.last = schedule_of(specs), work
        least = min(times)
        rate = float(n) ** 2 / least
        key = form.name, root
        if not runs:  # a short run that only says how fast longer ones are is no result
            self.best[key] = max(rate, self.best.get(key, 0.0))
        self._rates[form.name, root, schedule] = rate
        return {
            "format": form.name,
            "root": root,
            "n": n,
            "seconds": timed(times),
            "interactions_per_second": rate,
            "flops_max": model.flops(n, least),
            "flops_median": model.flops(n, statistics.median(times)),
            "schedule": dataclasses.asdict(used) if used else None,
            # Not of short runs, nor where only times are compared, with a schedule for it.
            **({} if runs or schedule else self.energy_of(work, n, times)),
        }

    def energy_of(self, work: Callable[[], object], n: int, times: Sequence[float]) -> Row:
        """The energy of accelerations that take these times."""
        return self.energy(work, model.FLOP * n**2, statistics.median(times))

    def rate(self, form: Format, root: str, schedule: NbodySchedule | None = None) -> float:
        """Interactions a second that the last run had; of short runs until one is long enough."""
        key = form.name, root, schedule
        n = SMALLEST
        while key not in self._rates:
            row = self.measure(form, root, n, schedule, runs=1)
            if row["seconds"]["least"] < LONG_ENOUGH and n < LARGEST:
                del self._rates[key]
                n *= 2
        return self._rates[key]

    def tried(self, experiment: str, pairs: Sequence[tuple[Format, str]]) -> None:
        """Know the rates of pairs; the time that takes is taken off all experiments to come."""
        for form, root in pairs:
            self.rate(form, root)
        self.budget.share_out(self.budget.passed(), experiment)

    def expected(
        self, form: Format, root: str, n: int, schedule: NbodySchedule | None = None
    ) -> float:
        """Seconds that a measurement will take, at the rate of the last run, its warm-up too."""
        each = float(n) ** 2 / self.rate(form, root, schedule)
        return each * (sum(self.planned(form, root, n, schedule)) + 1)

    def planned(
        self, form: Format, root: str, n: int, schedule: NbodySchedule | None = None
    ) -> tuple[int, int]:
        """Runs of a measurement, fewer where they are long, and those that do not count."""
        each = float(n) ** 2 / self.rate(form, root, schedule)
        runs = self.runs if self.asked else max(1, min(self.runs, int(PATIENCE / each)))
        return runs, int(each < LONG)

    def affordable(self, experiment: str, pairs: Sequence[tuple[Format, str]], most: int) -> int:
        """The largest power of two, up to *most*, for which all *pairs* can be measured."""
        n = most
        while n > SMALLEST and sum(
            self.expected(form, root, n) for form, root in pairs
        ) > self.budget.left(experiment):
            n //= 2
        return n

    def fma_rate(self, word: str) -> float:
        """The measured rate of fmas in a word, in words a second; measured once."""
        if word not in self.ceilings:
            self.progress.show(f"bench {self.device.name}: measuring the rate of {word} fmas")
            self.ceilings[word] = {"fma": ceilings.instruction_rate(self.device, word)}
        return self.ceilings[word]["fma"]

    def clock_mhz(self) -> float | None:
        """The clock while the device does what it did last."""
        if self.last is None:
            return self.device.current_clock_mhz()
        for _ in range(3):
            self.last()
        clock = self.device.current_clock_mhz()
        self.device.queue.synchronize()
        return clock


def timed(times: Sequence[float]) -> Row:
    """Seconds of runs: median, least and most, how many, and each."""
    return {
        "median": statistics.median(times),
        "least": min(times),
        "most": max(times),
        "runs": len(times),
        "each": list(times),
    }
