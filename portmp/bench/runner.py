"""One device's run: ceilings, then each case timed, checked and put beside its floor."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import exact, measure, roofline
from portmp.bench.cases import Case
from portmp.bench.energy import Observer
from portmp.bench.exact import Errors
from portmp.bench.roofline import Ceilings
from portmp.bench.values import Values
from portmp.codegen.kernel_spec import KernelSpec
from portmp.errors import OutOfMemory, PortmpError
from portmp.formats import Format, encode
from portmp.nbody import memory as budget
from portmp.progress import Progress
from portmp.runtime import planes, program

USED = 0.7
"""The share of a device's memory that a case may take."""
OVERHEAD = 0.3
"""Seconds of a case beside its runs, for the first estimate of a run's duration."""


class Remaining:
    """How long a run still takes: weights of the cases, scaled by what the done ones took."""

    def __init__(
        self, cases: Sequence[Case], limits: Ceilings, runs: int, observer: Observer
    ) -> None:
        self.weights = [_weight(case, limits, runs, observer) for case in cases]
        self.start = time.monotonic()

    def seconds(self, done: int) -> float:
        """Seconds left after *done* cases."""
        left, passed = sum(self.weights[done:]), sum(self.weights[:done])
        return left * ((time.monotonic() - self.start) / passed if passed else 1.0)


def _weight(case: Case, limits: Ceilings, runs: int, observer: Observer) -> float:
    """Seconds that a case takes if it reaches 70 % of its floor."""
    once = roofline.floor(case, limits).seconds / 0.7
    count = runs or measure.runs_of(once, measure.BUDGET[limits.kind])
    return OVERHEAD + once * (count + 2) + observer.duration(once)


class Pool:
    """The inputs of a format on a device: as many values as its largest case reads."""

    def __init__(self, values: Values, size: int, device: Device) -> None:
        self.values = values
        self.planes = planes.allocate(values.form, (size,), device.queue)
        self.block = encode.parts_of(values.form, values.block)
        self.fill(0, size)

    def fill(self, start: int, end: int) -> None:
        """Write the values from *start* to *end*, *start* being a multiple of ALIGNMENT."""
        while start < end:
            first = start % self.values.period
            count = min(self.values.period - first, end - start)
            parts = [part[first : first + count] for part in self.block]
            self.planes.view((count,), (1,), start).write_parts(parts)
            start += count

    def inputs(self, case: Case) -> list[Array]:
        """The operands of a case: dense views; OutOfMemory where there was too little for them."""
        if case.starts[-1] > self.planes.size:
            raise OutOfMemory(
                f"{self.planes.device.name}: the driver did not allocate the "
                f"{case.starts[-1] * case.form.itemsize} bytes of the inputs"
            )
        return [
            Array(self.planes.view(shape, planes.dense_strides(shape), start))
            for shape, start in zip(case.operands, case.starts, strict=False)
        ]


@dataclass(frozen=True)
class Run:
    """What a run gave: ceilings, results, and the cases without one, with the reason."""

    ceilings: Ceilings
    results: list[dict[str, Any]]
    skipped: list[dict[str, Any]]


def run(
    device: Device, cases: Sequence[Case], runs: int, progress: Progress, observer: Observer
) -> Run:
    """Measure *cases* on *device*: ceilings, cases, and the ceilings once more.

    Of each ceiling the better measurement counts. Cases of a format share its inputs.
    """
    words = {case.word for case in cases}
    progress.show(f"bench {device.name}: measuring the ceilings")
    limits = roofline.measured(device, words)
    rows: list[tuple[Case, dict[str, Any]]] = []
    skipped: list[dict[str, Any]] = []
    fitting = []
    for case in cases:
        reason = too_large(case, device)
        skipped += [_skipped(case, reason, failed=False)] if reason else []
        fitting += [] if reason else [case]
    left, done = Remaining(fitting, limits, runs, observer), 0
    for group in _groups(fitting):
        pool: Pool | None = None
        for case in group:
            about = f"bench {device.name}: {done}/{len(fitting)} {case}"
            progress.show(f"{about}, about {left.seconds(done):.0f} s left")
            try:
                pool = pool or _largest_pool(group, device)
                rows.append((case, measured(pool, case, runs, observer)))
            except PortmpError as error:
                skipped.append(_skipped(case, str(error), not isinstance(error, OutOfMemory)))
            done += 1
    progress.show(f"bench {device.name}: measuring the ceilings")
    if rows:
        limits = limits.best(roofline.measured(device, words))
    progress.clear()
    return Run(limits, [row | bounded(case, row, limits) for case, row in rows], skipped)


def _largest_pool(group: Sequence[Case], device: Device) -> Pool:
    """Inputs for as many of the cases as memory allows: a driver may give less than it has."""
    positive, form = group[0].routine.positive, group[0].form
    sizes = sorted({case.starts[-1] for case in group}, reverse=True)
    values = Values(form, positive)
    for size in sizes[:-1]:
        with contextlib.suppress(OutOfMemory):
            return Pool(values, size, device)
    return Pool(values, sizes[-1], device)


def too_large(case: Case, device: Device) -> str:
    """Why a case does not fit the device's memory, or nothing."""
    return lacking(case.memory, device)


def lacking(nbytes: int, device: Device) -> str:
    """Why so many bytes are too many for the device, a CPU's also for the host; or nothing."""
    memory = device.properties.memory
    if nbytes > USED * memory:
        return (
            f"needs {nbytes / 2**30:.1f} GiB; {device.name} has {memory / 2**30:.1f} GiB, of "
            f"which {100 * USED:.0f} % may be used"
        )
    free = budget.free() if device.properties.kind == "cpu" else None
    if free is not None and nbytes > USED * free:
        return (
            f"needs {nbytes / 2**30:.1f} GiB; {free / 2**30:.1f} GiB of the host's memory are "
            f"free, of which {100 * USED:.0f} % may be used"
        )
    return ""


def _groups(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Cases that share inputs: one format, and all or none of them positive."""
    groups: dict[tuple[Format, bool], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.form, case.routine.positive), []).append(case)
    yield from groups.values()


def _skipped(case: Case, reason: str, failed: bool) -> dict[str, Any]:
    return {**key_of(case), "reason": " ".join(reason.split()), "failed": failed}


def key_of(case: Case) -> dict[str, Any]:
    """What tells a case from all others."""
    return {
        "routine": case.routine.name, "format": case.form.name, "accuracy": case.accuracy,
        "shape": list(case.shape),
    }  # fmt: skip


def measured(pool: Pool, case: Case, runs: int, observer: Observer) -> dict[str, Any]:
    """Time a case, check its result, and observe its energy where that was asked for."""
    device = pool.planes.device
    inputs = pool.inputs(case)
    shape = case.routine.result(case.shape)
    out = Array(planes.allocate(case.form, shape, device.queue))
    work = partial(case.routine.call, inputs, out, case.accuracy)
    with program.watching() as specs:
        last = work()
    timing = measure.timed(device, work, runs)
    return {
        **key_of(case),
        **_kernels(specs),
        "seconds": timing.as_dict(),
        "operations": case.operations,
        "operations_per_second": case.operations / timing.median,
        "bytes": case.nbytes,
        "bytes_per_second": case.nbytes / timing.median,
        "error": checked(pool.values, case, last).as_dict(),
        "clock_mhz": timing.clock_mhz,
        **observer.part(work, case.operations, timing.median),
    }


def bounded(case: Case, row: dict[str, Any], limits: Ceilings) -> dict[str, Any]:
    """A case's floor, and the share of it that was reached."""
    floor = roofline.floor(case, limits)
    return {
        "floor": {
            "seconds": floor.seconds, "bound": floor.bound,
            "arithmetic_seconds": floor.arithmetic, "memory_seconds": floor.memory,
        },
        "share": floor.seconds / row["seconds"]["median"],
    }  # fmt: skip


def _kernels(specs: Sequence[KernelSpec]) -> dict[str, Any]:
    """Names of the kernels and the schedule that they share."""
    schedule = None
    for spec in specs:
        plan = dict(spec.values).get("s")
        if schedule is None and dataclasses.is_dataclass(plan) and not isinstance(plan, type):
            schedule = {"kind": type(plan).__name__, **dataclasses.asdict(plan)}
    return {"kernels": list(dict.fromkeys(s.name for s in specs)), "schedule": schedule}


def checked(values: Values, case: Case, result: Array) -> Errors:
    """The errors of sampled entries of a result."""
    places = case.samples
    found = [exact.fraction(entry_of(result, place)) for place in places]
    entries = [case.routine.entry(values, case.starts, case.shape, place) for place in places]
    return exact.of_format(found, entries, case.form)


def entry_of(result: Array, place: int) -> list[float]:
    """Limbs of an entry (in C order) of a dense result."""
    flat = result.planes
    return [float(limb[0]) for limb in flat.view((1,), (1,), flat.start + place).read_dense()]
