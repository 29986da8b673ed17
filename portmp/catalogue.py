"""Every kernel of a format by name: what ``portmp render`` and ``portmp compile`` know."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from portmp import formats, tuning
from portmp.backends.base import Device
from portmp.errors import ArgumentError, suggestion
from portmp.networks.operators import ARITY
from portmp.routines import elementwise, gemm, lu, reduce
from portmp.spec import KernelSpec

THREADS = 256
ALIASES = {
    "dot": ("dot_chunks", "dot_combine"),
    "gemv": ("dot_chunks", "dot_combine"),
    "sum": ("sum_chunks", "sum_combine"),
    "axpy": ("elementwise_fma",),
    "scal": ("elementwise_mul",),
    "solve": ("lu",),
}
"""Routines that are made of kernels with other names."""


@cache
def kernels(form: str, device: Device | None = None) -> dict[str, KernelSpec]:
    """All kernels of a format by name, with the default schedules of *device*, else of GPUs."""
    f = formats.get(form)
    product = tuning.gemm(f, device) if device else tuning.gpu_gemm(f)
    schedule = tuning.reduce(f, device, 2) if device else tuning.ReduceSchedule()
    specs = [
        elementwise.kernel_spec(f.name, op, ("contiguous",) * arity, 1, THREADS)
        for op, arity in ARITY.items()
    ]
    for split in (False, True):
        specs.append(gemm.kernel_spec(f.name, replace(product, split=split)))
    specs.append(gemm.combine_spec(f.name, THREADS))
    for kind in reduce.IDENTITY:
        specs.append(reduce.partial_spec(f.name, kind, schedule))
        specs.append(reduce.combine_spec(f.name, kind, schedule.combine_threads))
    specs.append(lu.kernel_spec(f.name))
    return {s.name: s for s in specs}


def find(form: str, routine: str, device: Device | None = None) -> list[KernelSpec]:
    """The kernels of a routine: by kernel name, operator (``add``) or routine (``dot``)."""
    known = kernels(form, device)
    for names in (ALIASES.get(routine, ()), (routine,), (f"elementwise_{routine}",)):
        if names and all(name in known for name in names):
            return [known[name] for name in names]
    words = [*ALIASES, *(name.removeprefix("elementwise_") for name in known)]
    near = suggestion(routine, words)
    raise ArgumentError(f"routine: unknown {routine!r}{near}; routines: {', '.join(words)}")
