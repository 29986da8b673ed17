"""Integers and truth values, as one object: it has no format, and goes with float32."""

from portmp.backends.base import Device
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.moves import launch as moves
from portmp.routines.plain import launch, reduction
from portmp.routines.routine import Routine, Units


class Plain(Routine):
    """out[i] = f(x[i], y[i]) on plain numbers, and elements moved as they are."""

    name = "plain"

    def units(self, form: Format, device: Device | None) -> Units:
        """A few that stand for all."""
        if form.name != "float32":
            return
        threads = base.threads(device, launch.THREADS)
        for op, kinds in (("remainder", ("int64", "int64")), ("pow", ("uint64", "uint64"))):
            yield f"integers_{op}", (launch.kernel_spec(op, kinds, kinds[0], 1, threads),)
        zeros = launch.kernel_spec("counted", (launch.SCALAR,) * 2, "int32", 1, threads)
        yield "integers_counted", (zeros,)
        some = base.threads(device, reduction.THREADS)
        yield "integers_sum", (reduction.kernel_spec("sum", "int32", "int64", some),)
        every = ("x", "y", "cond")
        parts = ("uint64", "uint64")
        yield "where", (moves.kernel_spec(parts, every, "", 1, threads),)
        yield "take", (moves.kernel_spec(parts, ("x", "offset"), "x", 1, threads),)
