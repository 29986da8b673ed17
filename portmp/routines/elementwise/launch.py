"""Elementwise operators, AXPY and SCAL: out[i] = f(x[i], y[i], z[i])."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import formats
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Parameter, Value, vector
from portmp.formats import Format
from portmp.networks import Network
from portmp.networks.language import FLAG
from portmp.networks.operators import TESTS
from portmp.routines import axes, base
from portmp.routines.elementwise import reference
from portmp.routines.elementwise import schedule as schedules
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.moves import launch as moves
from portmp.runtime import launch
from portmp.runtime.planes import Planes, View, allocate, blank_like, copied, dense_strides

NAMES = ("x", "y", "z")
THREADS = 256
"""Of a block where operands are strided, instead of vectors."""
Operand = Planes | base.ScalarLimbs


@cache
def kernel_spec(
    form: str, op: str, access: tuple[str, ...], rank: int, schedule: FlatSchedule, source: str = ""
) -> KernelSpec:
    """The kernel of operator *op*; access says how each operand is read.

    ``value``: one scalar passed by value, ``contiguous``: like the output, ``strided``.
    *form* is the output's format (of TESTS the operands'), *source* that of x where it is another
    of these words.
    """
    f = formats.get(form)
    stored = None
    if source:
        both = {"x": formats.get(source), "out": f}
        f, stored = f.arithmetic, {name: held for name, held in both.items() if held.coded}
    operands = tuple(zip(NAMES, access, strict=False))
    return network_spec(f"elementwise_{op}", f, f.operator(op), operands, rank, schedule, stored)


def network_spec(
    name: str,
    form: Format,
    network: Network,
    operands: tuple[tuple[str, str], ...],
    rank: int,
    schedule: FlatSchedule,
    stored: Mapping[str, Format] | None = None,
) -> KernelSpec:
    """The kernel of a network on *operands*, by their names and how each is read.

    Flags of the network are truth values in memory.
    """
    template = "elementwise_vectors" if schedule.width > 1 else "elementwise"
    if schedule.elements_per_access > 1:
        template = "elementwise_parts"
    return spec(
        name,
        f"blas/{template}.mako",
        form,
        {"operator": network},
        width=schedule.width,
        takes=[
            *axes.taken(rank),
            *taken(network, operands, rank),
            vector("out", rank, const=False, plain=("bool",) * (network.result == FLAG)),
        ],
        operands=operands,
        rank=rank,
        stored=stored,
        s=schedule,
    )


def taken(
    network: Network, operands: Sequence[tuple[str, str]], rank: int
) -> tuple[Parameter, ...]:
    """The parameters of a network's operands, by how each is read."""
    kinds = zip(operands, network.inputs, strict=True)
    return tuple(
        Value(name)
        if access == "value"
        else vector(name, rank * (access == "strided"), plain=("bool",) * (kind == FLAG))
        for (name, access), (_, kind) in kinds
    )


def apply(
    op: str,
    operands: Sequence[Operand],
    out: Any = None,
    names: Sequence[str] = NAMES,
    schedule: FlatSchedule | None = None,
) -> Planes:
    """Apply operator *op* to planes and scalar words, with broadcasting.

    At least one operand is Planes. Scalars are limbs in the word type; messages call the
    operands *names*. Returns *out*: planes of the operands' format, of TESTS Numbers.
    """
    if op == "copy" and schedule is None and out is not None and _is_copied(operands[0], out):
        copied: Planes = out
        return copied
    kept, key, plan = launch.find((apply, op, schedule), (*operands, out))
    if plan is None:
        first, shape = _checked(op, operands, names)
        target: View[Any]
        if op in TESTS:
            target = base.output_numbers(out, "bool", shape, first.queue)
        else:
            target = base.output(out, first, shape)
        arrays = {n: o for n, o in zip(names, operands, strict=False) if isinstance(o, Planes)}
        base.refuse_shift(target, **arrays)
        by = _by(op, first.format, schedule)
        plan = kept.plan(key, (*operands, target), *by, blank_like(target))
    found: Planes = plan.run((*operands, None), out)
    return found


launch.TAKES_COMPLEX.add((apply, "copy"))


def fill(out: Planes, number: base.ScalarLimbs) -> None:
    """Set all elements to a number, given in words of the arithmetic."""
    if out.format.components > 1:
        for i, half in enumerate(out.halves):
            fill(half, number[i * half.format.limbs :][: half.format.limbs])
        return
    kept, key, plan = launch.find((fill,), (number, out))
    if plan is None:
        shape, (by_kernel, _) = out.shape, _by("copy", out.format)
        by_host = base.hosted(lambda words: [np.broadcast_to(w, shape) for w in words])
        plan = kept.plan(key, (number, out), by_kernel, by_host)
    plan.run((number, out))


def _checked(
    op: str, operands: Sequence[Operand], names: Sequence[str]
) -> tuple[Planes, tuple[int, ...]]:
    """The first operand that is an array, and the shape of the result."""
    arrays = {n: o for n, o in zip(names, operands, strict=False) if isinstance(o, Planes)}
    first = next(iter(arrays.values()))
    base.same(first.format, **arrays)
    return first, axes.common_shape(op, list(arrays.values()))


def _is_copied(x: Operand, out: Planes) -> bool:
    """Whether the host has copied the few elements of x to *out*."""
    if not isinstance(x, Planes) or x.elements is not out.elements or x.queue is not out.queue:
        return False
    if any(n > 1 and not step for n, step in zip(out.shape, out.strides, strict=True)):
        return False
    if x.shape != out.shape or (x.overlaps(out) and not x.same_view(out)):
        return False
    return copied(x, out)


def _by(
    op: str, form: Format, schedule: FlatSchedule | None = None, source: str = ""
) -> tuple[Callable[..., None], Callable[..., None]]:
    """What fills the last of its views by an operator: a kernel, and the reference.

    *source*: the format of x where it is another one of *form*'s words.
    """

    def by_kernel(*views: Any) -> None:
        *operands, out = views
        if not out.size:
            return
        told = formats.get(source) if source and not form.coded else form
        coded = any(formats.get(name).coded for name in (form.name, source) if name)

        def spec_of(access: tuple[str, ...], rank: int, s: FlatSchedule) -> KernelSpec:
            return kernel_spec(form.name, op, access, rank, s, source)

        chosen = schedule or schedules.flat(told, out.device)
        launched(out, NAMES, operands, chosen, op in TESTS, coded, spec_of)

    return by_kernel, base.hosted(partial(reference.elementwise, form, op))


def launched(
    out: View[Any],
    names: Sequence[str],
    operands: Sequence[Any],
    schedule: FlatSchedule,
    truths: bool,
    coded: bool,
    spec_of: Callable[[tuple[str, ...], int, FlatSchedule], KernelSpec],
) -> None:
    """Launch the kernel that there is for how operands are read, for so many axes.

    *truths*: whether there are truth values in memory, *coded*: or numbers that are stored short.
    """
    given = axes.walked(out, dict(zip(names, operands, strict=False)))
    target = given["out"]
    told = [given[name] for name, _ in zip(names, operands, strict=False)]
    access = accesses(told, target.shape)
    starts = [o.start for o in (target, *told) if isinstance(o, View)]
    threads = base.threads(out.device, THREADS)
    s = fitted(schedule, truths, coded, access, target.strides, starts, threads)
    count = base.blocks(given["n"], s.threads * s.items * s.width * s.elements_per_access)
    key = spec_of(access, target.ndim, s)
    launch.run(out.queue, (key,), (count, 1, 1), (s.threads, 1, 1), given)


def accesses(operands: Sequence[Any], shape: tuple[int, ...]) -> tuple[str, ...]:
    """How operands are read that were walked along a shape."""
    dense = dense_strides(shape)
    return tuple(
        ("contiguous" if o.strides == dense else "strided") if isinstance(o, View) else "value"
        for o in operands
    )


def fitted(
    schedule: FlatSchedule,
    truths: bool,
    coded: bool,
    access: tuple[str, ...],
    out_strides: tuple[int, ...],
    starts: Sequence[int],
    threads: int = THREADS,
) -> FlatSchedule:
    """Vectors only where neighbours are neighbours in memory; else blocks of *threads*.

    Truth values (*truths*) are read and written one by one.
    Neighbours of which some are stored short (*coded*) also begin (*starts*) where a word of
    each part does.
    """
    dense = out_strides == (1,) and "strided" not in access
    dense &= not truths
    if schedule.elements_per_access > 1:
        whole = not any(start % schedule.elements_per_access for start in starts)
        fits = dense and whole and coded
        return schedule if fits else replace(schedule, elements_per_access=1)
    return schedule if schedule.width == 1 or dense else FlatSchedule(threads)


def contiguous(planes: Planes) -> Planes:
    """*planes* itself if dense, else a dense copy."""
    if planes.contiguous:
        return planes
    if planes.format.components > 1:
        return moves.dense(planes)
    return apply("copy", [planes], allocate(planes.format, planes.shape, planes.queue))


def converts(source: Format, target: Format) -> bool:
    """Whether ``converted`` makes *target* of *source*: one limb of the same words, both."""
    return source.arithmetic is target.arithmetic and source.limbs == 1


def converted(x: Planes, form: Format) -> Planes:
    """Dense planes in another format of the same words: decoded and encoded on the device."""
    kept, key, plan = launch.find((converted, form), (x,))
    if plan is None:
        by = _by("copy", form, source=x.format.name)
        target = allocate(form, x.shape, x.queue)
        plan = kept.plan(key, (x, target), *by, blank_like(target))
    return plan.run((x, None))


def axpy(alpha: base.ScalarLimbs, x: Planes, y: Planes, out: Planes | None = None) -> Planes:
    """alpha x + y: add(mul(alpha, x), y); one limb: fma; alpha = 1 skips the product."""
    if base.is_number(alpha, 1):
        return apply("add", [x, y], out)
    if base.is_number(alpha, 0):
        base.same(x.format, x=x, y=y)
        return apply("copy", [y.broadcast_to(axes.common_shape("axpy", [x, y]))], out, ("y",))
    return apply("fma", [alpha, x, y], out, ("alpha", "x", "y"))


def scal(alpha: base.ScalarLimbs, x: Planes, out: Planes | None = None) -> Planes:
    """alpha x; alpha = 1 copies."""
    if base.is_number(alpha, 1):
        return apply("copy", [x], out)
    return apply("mul", [alpha, x], out, ("alpha", "x"))
