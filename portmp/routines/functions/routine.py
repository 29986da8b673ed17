"""Elementary functions, as one object: out[i] = f(x[i], y[i]).

Definition: the function's network for the format's word and number of limbs
(``portmp.networks.functions``). Launches and the reference are those of elementwise operators.
"""

from collections.abc import Iterable, Iterator

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.networks.functions import ARITY
from portmp.routines import base
from portmp.routines.case import COUNT, Case
from portmp.routines.elementwise import launch
from portmp.routines.elementwise.cases import applied, makers
from portmp.routines.elementwise.schedule import flat
from portmp.routines.routine import Routine, Units

MENDED = {("fmod", "hostile"): "hostile-2"}
"""Cases whose recorded results were wrong once: reports of before are not judged by today's."""


def cases(form: Format) -> Iterator[Case]:
    """Values about 1, of all sizes, and everything that is special."""
    for name, arity in ARITY.items():
        for kind, make in makers(form, COUNT).items():
            label = MENDED.get((name, kind), kind)
            yield applied(form, name, label, [make(f"{name}{i}") for i in range(arity)], name)


class Functions(Routine):
    """out[i] = f(x[i], y[i])."""

    name = "functions"

    def on_request(self, form: Format, device: Device | None) -> Units:
        """Each function on dense operands."""
        if form.paper:
            return
        schedule, threads = flat(form, device), base.threads(device, launch.THREADS)
        for name, arity in ARITY.items():
            access = ("contiguous",) * arity
            one = launch.fitted(schedule, False, form.coded, access, (1,), (), threads)
            yield name, (launch.kernel_spec(form.name, name, access, 1, one),)

    def cases(self, form: Format) -> Iterable[Case]:
        return () if form.coded or form.paper else cases(form)
