"""Softened gravity by direct summation: accelerations and potentials of targets.

Definition: the sources are taken in order, in slabs of SLAB; a slab's terms m d / r^3 are
summed by the format's accurate accumulator, renormalised every GRAVITY_PERIOD steps; slabs are
added in ascending order. docs/bits.md has the interaction.
"""

import math
from collections.abc import Mapping
from functools import cache, lru_cache, partial

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.backends.host.runtime import HostDevice
from portmp.codegen import platform
from portmp.codegen.kernel_spec import spec
from portmp.codegen.signature import Array, Index, Value
from portmp.errors import ArgumentError, OutOfMemory, choice
from portmp.formats import Format, convert
from portmp.networks import gravity
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.gravity import reference
from portmp.routines.gravity import schedule as schedules
from portmp.routines.gravity.layout import Layout
from portmp.routines.gravity.reference import steps
from portmp.routines.gravity.schedule import NbodySchedule
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate
from portmp.runtime.program import CompilationUnit
from portmp.schedules.base import check_class

COMBINE_THREADS = 128

MOST_PARTS, MOST_SLABS = 2**26, 65535
"""Words of a limb that slabs' sums may take until a second kernel adds them; slabs of a launch."""

BUSY = {"gpu": 2048, "cpu": 1}
"""Work-items that keep a compute unit busy."""

FULL, SCHEDULERS = 0.9, 4
"""Share of their turns that a GPU's units should work; schedulers of a unit."""

RESULTS = {
    "acceleration": Array("out", ("row", "axis"), const=False),
    "potential": Array("pot", ("step",), const=False),
}
"""What may be wanted, and where it goes."""

SPARED = 16
"""Slabs' sums may take this part of the device's memory where blocks fill the turns badly."""


def check_root(form: Format, on: str, root: str) -> None:
    """ArgumentError or FormatError where the format or the platform has no such root."""
    _check_root(form, on, choice("root:", root, gravity.ROOTS))


@cache
def _check_root(form: Format, on: str, root: str) -> None:
    steps(form, root)
    if on == HostDevice.platform:
        reference.check_root(form, root)
    elif root not in ("exact", "division"):
        platform.get(on).root("estimate" if root == "fast" else root, form.word)


def has_root(form: Format, on: str, root: str) -> bool:
    """Whether a platform has such a root for a format."""
    try:
        check_root(form, on, root)
    except ArgumentError:
        return False
    return True


@cache
def compilation_unit(
    form: str,
    s: NbodySchedule,
    wanted: tuple[str, ...],
    distinct: bool = True,
    root: str = "exact",
    guarded: bool = False,
    threads: int = COMBINE_THREADS,
) -> CompilationUnit:
    """The kernels; *wanted*: acceleration, potential; *distinct*: no target acts on itself.

    *threads*: of a block that adds slabs.
    """
    f = formats.get(form)
    nets = steps(f, root, guarded)
    words = ["gravity", "field" if len(wanted) > 1 else wanted[0]]
    words += ["parts"] * s.parts + [root] * (root != "exact")
    own = [Index("self")] if distinct else []
    outs = [RESULTS[one] for one in wanted]
    part = [Array("part", const=False, start=False, compute=True)]
    main = spec(
        "_".join(words),
        "nbody/gravity.mako",
        f,
        nets,
        takes=[
            *(Index("targets"), Index("sources"), Array("target", ("row", "axis"))),
            *(Array("source"), Value("softening"), *own, *(part if s.parts else outs)),
        ],
        width=s.width,
        s=s,
        wanted=wanted,
        distinct=distinct,
        layout=Layout(s, wanted, distinct),
        parts=s.parts,
        slab=definition.SLAB,
        period=definition.GRAVITY_PERIOD,
    )
    if not s.parts:
        return (main,)
    combine = spec(
        "gravity_combine",
        "nbody/gravity_combine.mako",
        f,
        {"add": f.operator("add")},
        takes=[
            *(Index("targets"), Index("slabs"), Array("part", start=False, compute=True)),
            *outs,
        ],
        threads=threads,
        wanted=wanted,
    )
    return main, combine


def packed(position: Planes, mass: Planes) -> Planes:
    """Particles as x, y, z, mass (n, 4): the operands themselves if they are such views."""
    n = mass.shape[0]
    if (
        position.strides == (4, 1)
        and mass.strides == (4,)
        and not position.start % 4
        and position.start + 3 == mass.start
        and all(a is b for a, b in zip(position.buffers, mass.buffers, strict=True))
    ):
        return position.view((n, 4), (4, 1), position.start)
    bodies = allocate(position.format, (n, 4), position.queue)
    if n:
        elementwise.apply("copy", [position], bodies.view((n, 3), (4, 1), 0))
        elementwise.apply("copy", [mass], bodies.view((n,), (4,), 3))
    return bodies


def squared(eps: base.Scalar, form: Format) -> base.ScalarLimbs:
    """The square of eps, which is first rounded to the format, rounded once more."""
    square = _squared(form, *(float(word) for word in base.scalar_limbs(form, eps, "eps")))
    if square is None:
        raise ArgumentError(f"eps: {eps!r} given, a number with a finite square is needed")
    return square


@lru_cache(maxsize=64)
def _squared(form: Format, *words: float) -> base.ScalarLimbs | None:
    if not all(map(math.isfinite, words)):
        return None
    square = base.scalar_limbs(form, convert.to_fraction(words) ** 2, "eps")
    return square if np.isfinite(square[0]) else None


def gravity_sum(
    targets: Planes,
    bodies: Planes,
    eps2: base.ScalarLimbs,
    results: Mapping[str, Planes],
    first: int | None,
    *,
    root: str = "exact",
    schedule: NbodySchedule | None = None,
) -> None:
    """Fill *results* by name: accelerations (n, 3), potentials (n,), or both in this order.

    *targets* (n, 3), *bodies* (m, 4): packed sources; *first* is the source that the first
    target is, the others follow; None where they are apart.
    """
    if not targets.size:
        return
    check_class(schedule, NbodySchedule)
    call = tuple(results), first, root
    operands: list[launch.Given] = [targets, bodies, eps2, *results.values()]
    launch.do(operands, partial(_launch, *call, schedule), partial(_on_host, *call))


def _launch(
    wanted: tuple[str, ...],
    first: int | None,
    root: str,
    schedule: NbodySchedule | None,
    targets: Planes,
    bodies: Planes,
    eps2: base.ScalarLimbs,
    *results: Planes,
) -> None:
    form, device, n = targets.format, targets.device, targets.shape[0]
    slabs = base.blocks(bodies.shape[0], definition.SLAB)
    if schedule is None:
        schedule = _usual(form, device, root, n, slabs)
    else:
        schedule.check(form, device)
    work = _room(schedule, targets, slabs, 3 * ("acceleration" in wanted) + ("potential" in wanted))
    if work is None and schedule.parts:
        schedule = schedule.for_call(parts=False)
    guarded = not float(eps2[0]) >= float(np.finfo(form.word).tiny)
    # Also where softening makes a particle's own term zero: m y^3 may overflow.
    distinct = first is not None
    threads = base.threads(device, COMBINE_THREADS)
    specs = compilation_unit(form.name, schedule, wanted, distinct, root, guarded, threads)
    outs = {RESULTS[one].name: planes for one, planes in zip(wanted, results, strict=True)}
    given = {"targets": n, "sources": bodies.shape[0], "target": targets, "source": bodies}
    given |= {"softening": eps2} | ({"self": first} if distinct else {})
    blocks = base.blocks(n, schedule.threads * schedule.targets * schedule.width)
    block, queue = (schedule.threads, 1, 1), targets.queue
    if work is None:
        launch.run(queue, specs, (blocks, 1, 1), block, {**given, **outs})
        return
    launch.run(queue, specs, (blocks, slabs, 1), block, {**given, "part": work})
    given = {"targets": n, "slabs": slabs, "part": work, **outs}
    launch.over(queue, specs, n, threads, given, "gravity_combine")


def _on_host(
    wanted: tuple[str, ...],
    first: int | None,
    root: str,
    targets: Planes,
    bodies: Planes,
    eps2: base.ScalarLimbs,
    *results: Planes,
) -> None:
    """The same by the host reference."""
    count, start = bodies.shape[0], bodies.start
    sources = bodies.view((count, 3), bodies.strides, start)
    mass = bodies.view((count,), bodies.strides[:1], start + 3 * bodies.strides[1])
    sums = partial(reference.gravity, targets.format, first=first, root=root, wanted=wanted)
    base.all_on_host(results, sums, targets, sources, mass, eps2)


def _room(s: NbodySchedule, targets: Planes, slabs: int, sums: int) -> Planes | None:
    """Memory for slabs' sums; None where there are none, or where they do not fit it."""
    form, device, n = targets.format, targets.device, targets.shape[0]
    if not s.parts or not (_separable(n, slabs) or _spared(form, device, n, slabs)):
        return None
    try:
        return allocate(form.compute, (slabs, sums, n), targets.queue)
    except OutOfMemory:
        return None


def workspace(form: Format, device: Device, count: int) -> int:
    """Bytes on the device that accelerations of so many particles take beside the arrays."""
    if not count or device.by_reference:
        return 0
    slabs = base.blocks(count, definition.SLAB)
    parts = _usual(form, device, "exact", count, slabs).parts
    return 3 * slabs * count * form.compute.itemsize * parts


def _usual(form: Format, device: Device, root: str, targets: int, slabs: int) -> NbodySchedule:
    """The schedule of a call without one."""
    accuracy = "accurate" if root == "exact" else "fast"
    return _spread(schedules.nbody(form, device, accuracy), form, device, targets, slabs)


def _separable(targets: int, slabs: int) -> bool:
    """Whether slabs may go to blocks of their own."""
    return 0 < slabs <= MOST_SLABS and 4 * targets * slabs <= MOST_PARTS


def _spared(form: Format, device: Device, targets: int, slabs: int) -> bool:
    """Whether they may where that is worth more memory."""
    needed = 4 * targets * slabs * form.compute.itemsize
    return 0 < slabs <= MOST_SLABS and SPARED * needed <= device.properties.memory


def filled(blocks: int, threads: int, units: int, warp: int) -> float:
    """The share of their turns in which units work, for *blocks* equal blocks.

    A turn is as many blocks as all units take at once; the last one is seldom full. What a
    unit takes is not known here: at least so many blocks that each scheduler has a warp of
    *warp* threads, or twice that, if there are more. The lesser of both shares counts.
    """
    least = max(1, SCHEDULERS * warp // threads)
    turns = [units * least, units * least * 2]
    return min(
        blocks / (base.blocks(blocks, turn) * turn)
        for turn in turns
        if turn == turns[0] or turn < blocks
    )


@lru_cache(maxsize=1024)
def _spread(
    s: NbodySchedule, form: Format, device: Device, targets: int, slabs: int
) -> NbodySchedule:
    """A block takes one slab where targets are too few or leave units idle; then fewer targets."""
    facts = device.properties
    units = facts.compute_units

    def blocks(s: NbodySchedule) -> int:
        count = base.blocks(targets, s.threads * s.targets * s.width)
        return count * slabs if s.parts else count

    few = blocks(s) * s.threads < units * BUSY[facts.kind] and _separable(targets, slabs)
    idle = facts.kind == "gpu" and filled(blocks(s), s.threads, units, facts.warp_size) < FULL
    if slabs > 1 and (few or (idle and _spared(form, device, targets, slabs))):
        s = s.for_call(parts=True)
    finer = s.finer()
    while finer and blocks(s) < units:
        s, finer = finer, finer.finer()
    return s
