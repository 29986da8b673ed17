"""One case on a device: its inputs, its time, its errors, and its floor."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any

from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.bench import exact, measure, roofline
from portmp.bench.cases import Case
from portmp.bench.exact import Errors
from portmp.bench.experiment import Run
from portmp.bench.roofline import Ceilings
from portmp.bench.tables import Row
from portmp.bench.values import Values, pieces
from portmp.codegen.kernel_spec import KernelSpec
from portmp.errors import OutOfMemory
from portmp.formats import encode
from portmp.runtime import planes, program


class Pool:
    """The inputs of a format on a device: as many values as its largest case reads."""

    def __init__(self, values: Values, size: int, device: Device) -> None:
        self.values = values
        self.planes = planes.allocate(values.form, (size,), device.queue)
        self.block = encode.parts_of(values.form, values.block)
        self.fill(0, size)

    def fill(self, start: int, end: int) -> None:
        """Write the values from *start* to *end*, *start* being a multiple of ALIGNMENT."""
        for first, some in pieces(self.values.period, start, end - start):
            parts = [part[some] for part in self.block]
            self.planes.view((parts[0].size,), (1,), start + first).write_parts(parts)

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


def key_of(case: Case) -> Row:
    """What tells a case from all others."""
    return {
        "routine": case.routine.name,
        "format": case.form.name,
        "accuracy": case.accuracy,
        "shape": list(case.shape),
    }


def measured(run: Run, pool: Pool, case: Case) -> Row:
    """Time a case, check its result, and observe its energy where that was asked for."""
    device = pool.planes.device
    inputs = pool.inputs(case)
    shape = case.routine.result(case.shape)
    out = Array(planes.allocate(case.form, shape, device.queue))
    work = partial(case.routine.call, blas, inputs, out, case.accuracy)
    with program.watching() as specs:
        last = work()
    timing = measure.timed(device, work, run.runs)
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
        **run.energy(work, case.operations, timing.median),
    }


def bounded(case: Case, row: Row, limits: Ceilings) -> Row:
    """A case's floor, and the share of it that was reached."""
    floor = roofline.floor(case, limits)
    return {
        "floor": {
            "seconds": floor.seconds,
            "bound": floor.bound,
            "arithmetic_seconds": floor.arithmetic,
            "memory_seconds": floor.memory,
        },
        "share": floor.seconds / row["seconds"]["median"],
    }


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
    entry = partial(case.entry, values)
    return exact.sampled(case.samples, partial(entry_of, result), entry, case.form)


def entry_of(result: Array, place: int) -> list[float]:
    """Limbs of an entry (in C order) of a dense result."""
    flat = result.planes
    return [float(limb[0]) for limb in flat.view((1,), (1,), flat.start + place).read_dense()]
