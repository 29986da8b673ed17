"""Elementwise operations on complex numbers: out[i] = f(a[i] + i b[i], c[i] + i d[i]).

Definition: the operation's network for the parts' word and number of limbs
(``portmp.networks.complexes``). Operands are real and imaginary parts, each on its own: so a real
number beside a complex one is one operand, and no zero is made for its imaginary part.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from portmp import formats
from portmp.codegen.kernel_spec import KernelSpec
from portmp.formats import Format
from portmp.networks import complexes
from portmp.networks.language import FLAG, Network
from portmp.routines import axes, base
from portmp.routines.complexes import reference
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise import schedule as schedules
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.runtime import launch
from portmp.runtime.planes import Planes, View, allocate, blank_like


def network(op: str, form: Format) -> Network:
    """The network of an operation on parts of a format; of ``abs`` and ``angle`` a real one."""
    if op in REAL:
        return form.operator(REAL[op])
    return complexes.network(op, form.word, form.limbs)


REAL = {"abs": "hypot", "angle": "atan2"}
"""Operations that are functions of two real numbers."""


@cache
def kernel_spec(
    op: str, form: str, access: tuple[str, ...], rank: int, schedule: FlatSchedule
) -> KernelSpec:
    """The kernel of an operation on parts of a format that are read so."""
    f = formats.get(form)
    net = network(op, f)
    operands = tuple(zip([name for name, _ in net.inputs], access, strict=True))
    stored = {"out": formats.complex_of(f)} if net.result.role == "complex" else None
    name = f"{complexes.PREFIX}{op}"
    return elementwise.network_spec(name, f, net, operands, rank, schedule, stored)


def apply(op: str, parts: Sequence[elementwise.Operand], out: Any = None) -> Any:
    """An operation on real and imaginary parts, with broadcasting; one part at least is Planes."""
    kept, key, plan = launch.find((apply, op), (*parts, out))
    if plan is None:
        views = [part for part in parts if isinstance(part, Planes)]
        form = views[0].format
        base.same(form, **{f"part {i}": view for i, view in enumerate(views)})
        net, queue = network(op, form), views[0].queue
        shape = axes.common_shape(op.removesuffix("_real"), views)
        target: View[Any]
        if net.result == FLAG:
            target = base.output_numbers(out, "bool", shape, queue)
        else:
            given = formats.complex_of(form) if net.result.role == "complex" else form
            target = allocate(given, shape, queue) if out is None else out
            base.check_out(target, given, shape, queue)
        for view in views:
            base.refuse_shift(target, operand=view)
        by_kernel = partial(_launch, op, form.name)
        plan = kept.plan(
            key, (*parts, target), by_kernel, partial(_on_host, net, form), blank_like(target)
        )
    return plan.run((*parts, None), out)


def _on_host(net: Network, form: Format, *views: Any) -> None:
    *parts, out = views
    base.on_host(out, partial(reference.elementwise, form, net), *parts)


def _launch(op: str, form: str, *views: Any) -> None:
    *parts, out = views
    if not out.size:
        return
    f = formats.get(form)
    net = network(op, f)
    names = [name for name, _ in net.inputs]
    spec_of = partial(kernel_spec, op, form)
    schedule = schedules.flat(f, out.device)
    elementwise.launched(out, names, parts, schedule, net.result == FLAG, False, spec_of)


def joined(real: Planes, imaginary: Planes) -> Planes:
    """Complex numbers of two views of one shape, which are copied."""
    found: Planes = apply("copy", [real, imaginary])
    return found


launch.TAKES_COMPLEX.add(apply)
