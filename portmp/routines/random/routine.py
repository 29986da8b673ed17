"""Random numbers, as one object."""

from __future__ import annotations

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.random import launch
from portmp.routines.random.cases import cases
from portmp.routines.routine import Routine, Units


class Random(Routine):
    """out[i] = f(place of i in a stream of words)."""

    name = "random"
    cases = staticmethod(cases)

    def on_request(self, form: Format, device: Device | None) -> Units:
        """Uniform and normal values; with float32 integers of 64 bits too, which have no format."""
        for kind in ("uniform", "normal"):
            block = launch.shape_of_block(kind, form, device)
            yield f"random_{kind}", (launch.kernel_spec(kind, form.name, *block),)
        if form.name == "float32":
            threads = base.threads(device, launch.THREADS)
            yield "random_integers", (launch.integers_spec(8, False, threads),)
