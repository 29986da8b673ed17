"""The split of a paper of 2021, as one object."""

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.routine import Routine, Units
from portmp.routines.split2021 import launch


class Split2021(Routine):
    """A B in the paper's own format. Its bits depend on the SGEMM: ``verify`` has no cases."""

    name = "split2021"

    def units(self, form: Format, device: Device | None) -> Units:
        """What splits and adds."""
        if form.name == launch.FORMAT:
            yield "split2021", (launch.kernel_spec(base.threads(device, ozaki.THREADS)),)
