"""GEMM by integers, as one object."""

from __future__ import annotations

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines.ozaki import distances, judged, levels, residues, slices
from portmp.routines.ozaki.cases import cases
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.routines.ozaki.work import Integers
from portmp.routines.routine import Routine, Units


class Ozaki(Routine):
    """C = alpha A B + beta C by slices or residues."""

    name = "ozaki"
    work = (
        Integers("gemm-ozaki1", Ozaki1()),
        Integers("gemm-ozaki1-float64", Ozaki1(word="float64")),
        Integers("gemm-ozaki2", Ozaki2()),
    )
    cases = staticmethod(cases)

    def units(self, form: Format, device: Device | None) -> Units:
        """Each kernel by itself: what is cut, multiplied and rebuilt."""
        if not (form.paper or form.coded):
            yield from (slices.units(form, device) | residues.units(form, device)).items()
        if levels.has(form):
            yield from judged.units(form, device).items()

    def on_request(self, form: Format, device: Device | None) -> Units:
        """How far results are from products by integers."""
        yield from distances.units(form, device).items()
