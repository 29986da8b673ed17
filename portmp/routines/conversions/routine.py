"""Conversions, as one object."""

from __future__ import annotations

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.conversions import launch
from portmp.routines.conversions.cases import cases
from portmp.routines.routine import Routine, Units


class Conversions(Routine):
    """Values to other formats; integers to values and back."""

    name = "conversions"
    cases = staticmethod(cases)

    def units(self, form: Format, device: Device | None) -> Units:
        """To the format whose numbers have most kinds of limbs; from and to int64."""
        threads = base.threads(device, launch.THREADS)
        target = "d+s" if form.word == "float64" else "tsin80b"
        if form.name not in (target, "d+s") and not form.paper:
            yield f"to_{target}", (launch.between_spec(form.name, target, 1, threads),)
        if not form.coded:
            there = launch.kernel_spec("from_plain", form.name, 1, threads, source="int64")
            yield "from_integers", (there,)
            ends = {"lowest": -(2**63), "highest": 2**63 - 1}
            back = launch.kernel_spec("to_plain", form.name, 1, threads, target="int64", **ends)
            yield "to_integers", (back,)
