"""Elementwise operators, AXPY and SCAL: out[i] = f(x[i], y[i], z[i])."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any

from portmp import formats
from portmp.backends.base import Argument
from portmp.codegen.answers import TESTS
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.formats import Format
from portmp.routines import axes, base
from portmp.routines.elementwise import reference
from portmp.routines.elementwise import schedule as schedules
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.runtime import program
from portmp.runtime.planes import (
    Numbers,
    Place,
    Planes,
    View,
    allocate,
    broadcast_strides,
    copied,
    dense_strides,
)

NAMES = ("x", "y", "z")
THREADS = 256
"""Of a block where operands are strided, instead of vectors."""
Operand = Planes | base.ScalarLimbs


@cache
def kernel_spec(
    form: str,
    op: str,
    access: tuple[str, ...],
    rank: int,
    schedule: FlatSchedule,
    source: str = "",
    test: str = "",
) -> KernelSpec:
    """The kernel of operator *op*; access says how each operand is read.

    ``value``: one scalar passed by value, ``contiguous``: like the output, ``strided``.
    *form* is the output's format, *source* that of x where it is another of these words. With a
    *test* the output are truth values: what TESTS ask of the operator's result.
    """
    f = formats.get(form)
    stored = None
    if source:
        both = {"x": formats.get(source), "out": f}
        f, stored = f.arithmetic, {name: held for name, held in both.items() if held.coded}
    network = f.operator(op)
    template = "elementwise_vectors" if schedule.width > 1 else "elementwise"
    if schedule.elements_per_access > 1:
        template = "elementwise_parts"
    return spec(
        f"elementwise_{test or op}",
        f"blas/{template}.mako",
        f,
        {"operator": network},
        width=schedule.width,
        operands=tuple(zip(NAMES, access, strict=False)),
        rank=rank,
        stored=stored,
        s=schedule,
        flag=test,
    )


def apply(
    op: str,
    operands: Sequence[Operand],
    out: Planes | None = None,
    names: Sequence[str] = NAMES,
    schedule: FlatSchedule | None = None,
) -> Planes:
    """Apply operator *op* to planes and scalar words, with broadcasting.

    At least one operand is Planes. Scalars are limbs in the word type; messages call the
    operands *names*. Returns *out*.
    """
    arrays = {n: o for n, o in zip(names, operands, strict=False) if isinstance(o, Planes)}
    first = next(iter(arrays.values()))
    form = first.format
    base.same(form, **arrays)
    shape = axes.common_shape(op, list(arrays.values()))
    target = base.output(out, first, shape)
    base.refuse_shift(target, **arrays)
    if op == "copy" and schedule is None and copied(first.broadcast_to(shape), target):
        return target
    _run(op, form, operands, target, schedule)
    return target


def tested(
    test: str, operands: Sequence[Operand], out: Numbers | None = None, names: Sequence[str] = NAMES
) -> Numbers:
    """The answers to one of TESTS for each element, with broadcasting: truth values."""
    arrays = {n: o for n, o in zip(names, operands, strict=False) if isinstance(o, Planes)}
    first = next(iter(arrays.values()))
    base.same(first.format, **arrays)
    shape = axes.common_shape(test, list(arrays.values()))
    target = base.output_numbers(out, "bool", shape, first.queue)
    _run(TESTS[test].op, first.format, operands, target, test=test)
    return target


def _run(
    op: str,
    form: Format,
    operands: Sequence[Operand],
    out: View[Any],
    schedule: FlatSchedule | None = None,
    source: str = "",
    test: str = "",
) -> None:
    if not out.size:
        return
    if out.device.by_reference:
        holds = TESTS[test].holds if test else None
        base.on_host(out, partial(reference.elementwise, form, op, holds=holds), *operands)
        return
    if schedule is None:
        schedule = schedules.flat(
            formats.get(source) if source and not form.coded else form, out.device
        )
    places = tuple([o.place if isinstance(o, Planes) else None for o in operands])
    threads = base.threads(out.device, THREADS)
    plan = _planned(op, form.name, schedule, out.place, places, source, threads, test)
    kernel = program.kernels(out.device, plan.kernel)[plan.kernel.name]
    args: list[Argument] = [*plan.sizes]
    for operand, strides in zip((*operands, out), plan.strides, strict=True):
        args += base.strided(operand, *strides) if isinstance(operand, View) else operand
    out.queue.launch(kernel, (plan.blocks, 1, 1), (plan.threads, 1, 1), args)


@dataclass(frozen=True)
class _Plan:
    """A launch: ``sizes`` are the number of elements and all axes' lengths but the first's.

    ``strides``: of each operand and the output those that the kernel is told.
    """

    kernel: KernelSpec
    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    blocks: int
    threads: int


@lru_cache(maxsize=4096)
def _planned(
    op: str,
    form: str,
    schedule: FlatSchedule,
    out: Place,
    operands: tuple[Place | None, ...],
    source: str,
    threads: int,
    test: str,
) -> _Plan:
    """How to launch operator *op* on operands that lie there; None: scalars."""
    shape, out_strides, start = out
    views = {
        i: broadcast_strides(place.shape, place.strides, shape)
        for i, place in enumerate(operands)
        if place
    }
    sizes, strides = axes.collapsed(shape, [out_strides, *views.values()])
    dense = dense_strides(sizes)
    by_operand = dict(zip(views, strides[1:], strict=True))
    access = tuple(
        "value" if i not in views else "contiguous" if by_operand[i] == dense else "strided"
        for i in range(len(operands))
    )
    starts = [start, *(place.start for place in operands if place)]
    coded = any(formats.get(name).coded for name in (form, source) if name)
    schedule = fitted(schedule, test or op, coded, access, strides[0], starts, threads)
    told = [by_operand[i] if kind == "strided" else () for i, kind in enumerate(access)]
    size = math.prod(sizes)
    each = schedule.items * schedule.width * schedule.elements_per_access
    return _Plan(
        kernel_spec(form, op, access, len(sizes), schedule, source, test),
        (size, *sizes[1:]),
        (*told, strides[0]),
        base.blocks(size, schedule.threads * each),
        schedule.threads,
    )


def fitted(
    schedule: FlatSchedule,
    op: str,
    coded: bool,
    access: tuple[str, ...],
    out_strides: tuple[int, ...],
    starts: Sequence[int],
    threads: int = THREADS,
) -> FlatSchedule:
    """Vectors only where neighbours are neighbours in memory; else blocks of *threads*.

    Neighbours of which some are stored short (*coded*) also begin (*starts*) where a word of
    each part does.
    """
    dense = out_strides == (1,) and "strided" not in access
    dense &= op not in TESTS
    if schedule.elements_per_access > 1:
        whole = not any(start % schedule.elements_per_access for start in starts)
        return schedule if dense and whole and coded else _alone(schedule)
    return schedule if schedule.width == 1 or dense else _scalar(threads)


@cache
def _scalar(threads: int) -> FlatSchedule:
    return FlatSchedule(threads)


@cache
def _alone(schedule: FlatSchedule) -> FlatSchedule:
    return replace(schedule, elements_per_access=1)


def contiguous(planes: Planes) -> Planes:
    """*planes* itself if dense, else a dense copy."""
    if planes.contiguous:
        return planes
    return apply("copy", [planes], allocate(planes.format, planes.shape, planes.queue))


def converts(source: Format, target: Format) -> bool:
    """Whether ``converted`` makes *target* of *source*: one limb of the same words, both."""
    return source.arithmetic is target.arithmetic and source.limbs == 1


def converted(x: Planes, form: Format) -> Planes:
    """Dense planes in another format of the same words: decoded and encoded on the device."""
    out = allocate(form, x.shape, x.queue)
    _run("copy", form, [x], out, source=x.format.name)
    return out


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
