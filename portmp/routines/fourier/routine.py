"""Fourier transforms, as one object."""

from __future__ import annotations

from collections.abc import Iterator

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.case import Case
from portmp.routines.complexes.cases import halves, made
from portmp.routines.fourier import launch, reference
from portmp.routines.fourier.steps import passes
from portmp.routines.reference import Host
from portmp.routines.routine import Routine, Units

LENGTHS = (210, 512)
"""Of all factors; of several passes in every format."""


class Fourier(Routine):
    """X[k] = sum over j of x[j] exp(-2 pi i j k / n)."""

    name = "fft"
    kinds = "c"

    def units(self, form: Format, device: Device | None) -> Units:
        """The kernels of lengths 4^a: of their first steps, and of later ones."""
        part, threads = form.component, base.threads(device, launch.THREADS)
        for before, radices, columns in [*passes(4**8, part, launch.blocked(device))][:2]:
            name = "fft" if before == 1 else "fft_later"
            yield (
                name,
                (launch.kernel_spec(part.name, radices, before == 1, True, columns, threads),),
            )

    def cases(self, form: Format) -> Iterator[Case]:
        for n in LENGTHS:
            z = made(form, "ordinary", f"fft {n}", (2, n))
            yield Case("fft", f"2x{n}", form, (z,), "fft.fft", _transformed)


def _transformed(form: Format, z: Host) -> Host:
    real, imaginary = reference.transformed(form.component, *halves(form, z))
    return [*real, *imaginary]
