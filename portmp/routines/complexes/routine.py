"""Operations on complex numbers, as one object."""

from __future__ import annotations

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.networks import complexes
from portmp.routines import base
from portmp.routines.complexes import launch
from portmp.routines.complexes.cases import cases
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise.schedule import flat
from portmp.routines.ozaki import residues
from portmp.routines.routine import Routine, Units


class Complexes(Routine):
    """out[i] = f(z[i], w[i])."""

    name = "complexes"
    kinds = "c"
    cases = staticmethod(cases)

    def on_request(self, form: Format, device: Device | None) -> Units:
        """Each operation on dense operands; what products by residues have of their own."""
        part = form.component
        schedule, threads = flat(part, device), base.threads(device, elementwise.THREADS)
        for op in (*launch.REAL, *complexes.NAMES):
            net = launch.network(op, part)
            access = ("contiguous",) * len(net.inputs)
            truths = net.result.role == "flag"
            one = elementwise.fitted(schedule, truths, False, access, (1,), (), threads)
            yield op, (launch.kernel_spec(op, part.name, access, 1, one),)
        yield from residues.of_complex(part, device).items()
