"""Fourier transforms, as one object."""

from __future__ import annotations

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.fourier import launch
from portmp.routines.fourier.steps import passes
from portmp.routines.routine import Routine, Units


class Fourier(Routine):
    """X[k] = sum over j of x[j] exp(-2 pi i j k / n)."""

    name = "fft"
    stored = False

    def units(self, form: Format, device: Device | None) -> Units:
        """The kernels of lengths 4^a and 2 4^a: of their first steps, and of later ones."""
        threads = base.threads(device, launch.THREADS)
        for i, (before, radices) in enumerate([*passes(4**8, form)][:2]):
            first = before == 1
            name = "fft" if first else "fft_later"
            yield name, (launch.kernel_spec(form.name, radices, first, threads),)
