"""The compilation units of a format by routine: what ``portmp render`` and ``portmp compile`` know.

A unit is what a routine compiles at once; rendered for a device it is exactly the text that a plain
call of the routine compiles there for operands that fill the device (of DOT and sums, one of long
rows). Smaller ones, and those whose last blocks would leave much of it idle, a GPU may cut finer.
"""

from collections.abc import Mapping
from functools import cache

from portmp import formats
from portmp.backends.base import Device, per_device
from portmp.codegen.kernel_spec import KernelSpec
from portmp.errors import choice
from portmp.routines import registry
from portmp.runtime.program import CompilationUnit


def units(form: str, device: Device | None = None) -> Mapping[str, CompilationUnit]:
    """All units of a format by name, as *device* or, without one, a large GPU runs them."""
    return _of_device(device, form) if device else _usual(form)


@cache
def _usual(form: str) -> Mapping[str, CompilationUnit]:
    return _units(form, None)


@per_device
def _of_device(device: Device, form: str) -> Mapping[str, CompilationUnit]:
    return _units(form, device)


def _units(form: str, device: Device | None) -> Mapping[str, CompilationUnit]:
    f = formats.get(form)
    return dict(unit for routine in registry.of(f) for unit in routine.units(f, device))


def _all(form: str, device: Device | None) -> dict[str, CompilationUnit]:
    """All units, and those that are compiled only where their name is given."""
    f = formats.get(form)
    more = (unit for routine in registry.of(f) for unit in routine.on_request(f, device))
    return {**units(form, device), **dict(more)}


def kernels(form: str) -> dict[str, KernelSpec]:
    """One kernel of each name of a format: all that differs but for schedules."""
    found: dict[str, KernelSpec] = {}
    for unit in units(form).values():
        for one in unit:
            found.setdefault(one.name, one)
    return found


def names(form: str, device: Device | None = None) -> list[str]:
    """What ``find`` knows."""
    return list(_all(form, device))


def find(form: str, routine: str, device: Device | None = None) -> CompilationUnit:
    """The unit of a routine: ``gemm``, ``dot``, ``add`` ..."""
    known = _all(form, device)
    return known[choice("routine:", routine, known)]
