"""Conversions of integers, as one object."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import ClassVar

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.conversions import launch, reference
from portmp.routines.routine import Routine
from portmp.runtime.program import CompilationUnit


class Conversions(Routine):
    """Integers to values and back."""

    name = "conversions"
    launch: ClassVar[ModuleType] = launch
    reference: ClassVar[ModuleType] = reference

    def units(self, form: Format, device: Device | None) -> Iterator[tuple[str, CompilationUnit]]:
        """From and to int64."""
        if not form.coded:
            threads = base.threads(device, launch.THREADS)
            there = launch.kernel_spec("from_plain", form.name, 1, threads, source="int64")
            yield "from_integers", (there,)
            ends = {"lowest": -(2**63), "highest": 2**63 - 1}
            back = launch.kernel_spec("to_plain", form.name, 1, threads, target="int64", **ends)
            yield "to_integers", (back,)
