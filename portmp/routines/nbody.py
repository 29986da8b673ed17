"""Softened gravity by direct summation: accelerations and potentials of targets.

Definition: the sources are taken in order, in slabs of SLAB; a slab's terms m d / r^3 are
summed by the format's accurate accumulator, renormalised every PERIOD steps; slabs are
added in ascending order. docs/bits.md has the interaction.
"""

from __future__ import annotations

from functools import cache

from portmp import definition, formats, networks, program, tuning
from portmp.backends.base import Argument
from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format
from portmp.networks import Network, gravity
from portmp.planes import Planes
from portmp.routines import base
from portmp.schedules import NbodySchedule
from portmp.spec import KernelSpec, spec


def steps(form: Format) -> dict[str, Network]:
    """The networks of a sum of interactions; FormatError for a paper's own format."""
    if form.paper:
        known = ", ".join(formats.STANDARD)
        raise FormatError(f"nbody: format {form.name} has none; formats: {known}")
    form.operator("sub")  # derives the plain difference
    return {
        **gravity.roles(form.limbs),
        "sub": networks.get(f"sub{form.limbs}"),
        **form.accumulator().networks,
        "add": form.operator("add"),
    }


@cache
def kernel_spec(form: str, s: NbodySchedule, wanted: tuple[str, ...], distinct: bool) -> KernelSpec:
    """The kernel; *wanted*: acceleration, potential; *distinct*: no target acts on itself."""
    f = formats.get(form)
    return spec(
        "_".join(("gravity", *wanted)), "nbody/gravity.mako", f, steps(f), width=s.width, s=s,
        wanted=wanted, distinct=distinct, slab=definition.SLAB, period=definition.PERIOD,
    )  # fmt: skip


def gravity_sum(
    targets: Planes,
    sources: Planes,
    mass: Planes,
    eps2: base.Words,
    acceleration: Planes | None,
    potential: Planes | None,
    first: int | None,
    schedule: NbodySchedule | None = None,
) -> None:
    """Fill *acceleration* (n, 3) and *potential* (n,), where given.

    *targets* (n, 3), *sources* (m, 3), *mass* (m,); *first* is the source that the first
    target is, the others follow; None where they are apart.
    """
    form, device = targets.format, targets.device
    if not targets.size:
        return
    if schedule is None:
        schedule = tuning.nbody(form, device)
    elif not isinstance(schedule, NbodySchedule):
        raise ArgumentError(f"schedule: {schedule!r} given, an NbodySchedule is needed")
    else:
        schedule.check(form, device)
    # With softening a particle's own term is zero, except for the potential.
    distinct = first is not None and (potential is not None or base.is_number(eps2, 0))
    results = {"acceleration": acceleration, "potential": potential}
    wanted = tuple(name for name, planes in results.items() if planes is not None)
    key = kernel_spec(form.name, schedule, wanted, distinct)
    kernel = program.kernels(device, key)[key.name]
    args: list[Argument] = [
        targets.shape[0], sources.shape[0], *base.strided(targets, *targets.strides),
        *base.strided(sources, *sources.strides), *base.strided(mass, *mass.strides), *eps2,
    ]  # fmt: skip
    if distinct:
        assert first is not None
        args.append(first)
    for planes in results.values():
        if planes is not None:
            args += base.strided(planes, *planes.strides)
    grid = base.blocks(targets.shape[0], schedule.threads * schedule.targets * schedule.width)
    targets.queue.launch(kernel, (grid, 1, 1), (schedule.threads, 1, 1), args)
