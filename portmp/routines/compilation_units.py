"""The modules of a format by routine: what ``portmp render`` and ``portmp compile`` know.

A module is what a routine compiles at once; rendered for a device it is exactly the
text that a plain call of the routine compiles there (of DOT and sums, one of long rows).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from portmp import formats
from portmp.backends.base import Device, per_device
from portmp.codegen.kernel_spec import KernelSpec
from portmp.errors import ArgumentError, suggestion
from portmp.formats import Format
from portmp.networks.operators import ARITY
from portmp.routines import elementwise, gemm, gravity, lu, reduce, split2021
from portmp.routines.gemm.schedule import GemmSchedule
from portmp.routines.ozaki import residues, slices
from portmp.runtime.program import Module
from portmp.schedules import database

WITH_SCALAR = {"axpy": ("fma", 3), "scal": ("mul", 2)}
"""Routines that are an operator whose first operand is a scalar."""

KINDS = {
    "dot": ("dot", "one"), "gemv": ("dot", "along"),
    "sum": ("sum", "one"), "max": ("max", "one"), "min": ("min", "one"),
}  # fmt: skip
"""Reductions: kind, and class of shapes."""


EVERYWHERE = ("fast", "rsqrt", "division")
"""Inexact roots of gravity that every platform has."""


def _schedule(routine: str, form: Format, accuracy: str, shape: str, device: Device | None) -> Any:
    task = database.Task(routine, form, accuracy, shape)
    return database.find(task, device) if device else database.default(task)


def _flat(form: Format, op: str, access: tuple[str, ...], device: Device | None) -> Module:
    schedule = _schedule("elementwise", form, "accurate", "flat", device)
    schedule = elementwise.fitted(schedule, op, form.coded, access, (1,), ())
    return (elementwise.kernel_spec(form.name, op, access, 1, schedule),)


def _reduction(form: Format, kind: str, shape: str, accuracy: str, device: Device | None) -> Module:
    schedule = _schedule("reduce", form, accuracy, shape, device)
    return reduce.module(form.name, kind, schedule, accuracy)


def _product(form: Format, split: bool, accuracy: str, device: Device | None) -> Module:
    schedule = _schedule("gemm", form, accuracy, "large", device)
    if split and isinstance(schedule, GemmSchedule):
        schedule = replace(schedule, split=True)
    return gemm.module(form.name, schedule, accuracy)


def modules(form: str, device: Device | None = None) -> Mapping[str, Module]:
    """All modules of a format by routine, as *device* or, without one, a GPU runs them."""
    return _of_device(device, form) if device else _usual(form)


@cache
def _usual(form: str) -> Mapping[str, Module]:
    return _modules(form, None)


@per_device
def _of_device(device: Device, form: str) -> Mapping[str, Module]:
    return _modules(form, device)


def _modules(form: str, device: Device | None) -> Mapping[str, Module]:
    f = formats.get(form)
    found = {op: _flat(f, op, ("contiguous",) * arity, device) for op, arity in ARITY.items()}
    for name, (op, arity) in WITH_SCALAR.items():
        found[name] = _flat(f, op, ("value",) + ("contiguous",) * (arity - 1), device)
    for accuracy, accumulator in f.accumulators.items():
        suffix = accumulator.suffix
        found[f"gemm{suffix}"] = _product(f, False, accuracy, device)
        found[f"gemm_split{suffix}"] = _product(f, True, accuracy, device)
        for name in ("dot", "gemv"):
            found[name + suffix] = _reduction(f, *KINDS[name], accuracy, device)
    for name in ("sum", "max", "min"):
        key = name if name == "sum" else f"reduce_{name}"
        found[key] = _reduction(f, *KINDS[name], "accurate", device)
    if f.coded:
        return found
    if not f.paper:
        schedule = _schedule("nbody", f, "accurate", "all", device)
        found["nbody"] = gravity.module(f.name, schedule, ("acceleration",))
        found["nbody_field"] = gravity.module(
            f.name, schedule, ("acceleration", "potential"), guarded=True
        )
        found["nbody_parts"] = gravity.module(
            f.name, replace(schedule, parts=True), ("acceleration",)
        )
        for root in EVERYWHERE if f.limbs == 1 else ():
            found[f"nbody_{root}"] = gravity.module(f.name, schedule, ("acceleration",), root=root)
        found |= slices.modules(f) | residues.modules(f)
    if f.name == split2021.FORMAT:
        found["split2021"] = (split2021.kernel_spec(),)
    found["solve"] = (lu.kernel_spec(f.name),)
    return found


def kernels(form: str) -> dict[str, KernelSpec]:
    """One kernel of each name of a format: all that differs but for schedules."""
    found: dict[str, KernelSpec] = {}
    for module in modules(form).values():
        for one in module:
            found.setdefault(one.name, one)
    return found


def find(form: str, routine: str, device: Device | None = None) -> Module:
    """The module of a routine: ``gemm``, ``dot``, ``add`` ..."""
    known = modules(form, device)
    if routine in known:
        return known[routine]
    near = suggestion(routine, list(known))
    raise ArgumentError(f"routine: unknown {routine!r}{near}; routines: {', '.join(known)}")
