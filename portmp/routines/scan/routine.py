"""Running sums and products, as one object."""

from collections.abc import Iterator

import numpy as np

from portmp.backends.base import Device
from portmp.definition import SCAN
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import Case
from portmp.routines.reference import Host
from portmp.routines.routine import Routine, Units
from portmp.routines.scan import launch, reference


class Scan(Routine):
    """s_0 = x_0, s_i = s_(i-1) + x_i."""

    name = "scan"
    stored = False

    def units(self, form: Format, device: Device | None) -> Units:
        """The kernels of sums; those of products differ by one network."""
        threads = base.threads(device, launch.THREADS)
        yield "cumulative_sum", (launch.kernel_spec("add", form.name, threads),)

    def cases(self, form: Format) -> Iterator[Case]:
        long = inputs.ordinary(form, (2, 2 * SCAN + 9), "scan")
        plain = inputs.ordinary(form, (4, 40), "scan")
        special = inputs.with_specials(plain, "scan", (np.inf, np.nan, -0.0))
        wide = inputs.wide(form, (3, 61), "scan")
        for name, x in ((f"ordinary-2x{2 * SCAN + 9}", long), ("special-4x40", special)):
            yield _case(form, "add", name, x)
            yield _case(form, "mul", name, x)
        yield _case(form, "add", "wide-3x61", wide)


def _case(form: Format, op: str, name: str, x: Host) -> Case:
    routine = {"add": "cumulative_sum", "mul": "cumulative_prod"}[op]
    return Case(
        routine, name, form, (x,), routine, lambda f, x: reference.over_rows(f, op, x), {"axis": -1}
    )
