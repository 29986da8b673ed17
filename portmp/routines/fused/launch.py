"""Expressions of elementwise operations as one kernel, with a reduction at the end or without.

Definition: each operation has the bits that it has alone, a result that is stored short is rounded
after each; a reduction is that of ``routines.reduce``, of elements that are computed where it would
read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import formats
from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.signature import Computed, Index
from portmp.errors import UnsupportedError
from portmp.networks import evaluate, ieee
from portmp.routines import axes, base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise import schedule as schedules
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.fused.expression import ROUNDING, TRUTH, Expression
from portmp.routines.reduce import launch as reduce
from portmp.routines.reduce import reference
from portmp.routines.reference import Arithmetic, Host
from portmp.runtime import launch
from portmp.runtime.planes import Place, Planes, View, blank, dense_strides

MOST = 120
"""Arguments of a kernel, of eight bytes: every OpenCL driver takes 1024 bytes."""


class Rows(Planes):
    """A matrix that lies nowhere, with what gives its elements: *given*, by parameters' names."""

    __slots__ = ("given",)
    given: dict[str, Any]


def apply(of: Expression, operands: Sequence[Any], shape: tuple[int, ...], rows: Place) -> Any:
    """The elements of an expression of this *shape*, or the reduction of its *rows*.

    *rows*: where the elements of rows lie in dense memory of the shape; without a reduction the
    elements themselves.
    """
    kept, key, plan = launch.find((apply, of, shape, rows), (*operands, None))
    if plan is None:
        views = [one for one in operands if isinstance(one, View)]
        base.same_device(views[0], **{f"operand {i}": one for i, one in enumerate(views)})
        result: Any = formats.get(of.result) if of.result != TRUTH else TRUTH
        makes = blank(result, rows.shape[:1] if of.reduction else shape)
        by_kernels, by_host = (partial(f, of, shape, rows) for f in (_launch, _compute))
        given = (*operands, makes.made(views[0].queue))
        plan = kept.plan(key, given, by_kernels, by_host, makes)
    return plan.run((*operands, None))


@cache
def kernel_spec(
    of: Expression, access: tuple[str, ...], rank: int, schedule: FlatSchedule
) -> KernelSpec:
    """The kernel of an expression whose operands are read so."""
    operands = tuple(zip(of.names, access, strict=True))
    return elementwise.network_spec(
        "expression", of.form, of.network, operands, rank, schedule, of.stored
    )


def _launch(of: Expression, shape: tuple[int, ...], rows: Place, *views: Any) -> None:
    *operands, out = views
    if of.reduction:
        _reduce(of, shape, rows, operands, out)
    elif out.size:
        coded = [form.coded for form in of.stored.values()]
        schedule = schedules.flat(formats.get(of.result) if any(coded) else of.form, out.device)
        spec_of = partial(kernel_spec, of)
        _check(of, len(shape))
        elementwise.launched(out, of.names, operands, schedule, of.truths, any(coded), spec_of)


def _reduce(
    of: Expression, shape: tuple[int, ...], place: Place, operands: Sequence[Any], out: Planes
) -> None:
    dense = Planes(out.format, shape, dense_strides(shape), 0, (), out.queue)
    walked = axes.walked(dense, dict(zip(of.names, operands, strict=True)))
    sizes = walked.pop("out").shape
    walked = {n if n in of.names else f"x_{n}": one for n, one in walked.items() if n != "n"}
    access = elementwise.accesses([walked[name] for name in of.names], sizes)
    read = tuple(zip(of.names, access, strict=True))
    lengths = [Index(f"x_size{axis}") for axis in range(1, len(sizes))]
    parts = (*lengths, *elementwise.taken(of.network, read, len(sizes)))
    x = Rows(out.format, *place, (), out.queue)
    x.given = walked
    computed = Computed("x", of.network.name, read, parts, len(sizes))
    neighbours = "strided" not in access and TRUTH not in of.leaves
    _check(of, len(sizes))
    lies = tuple((name, form) for name, form in of.stored.items() if name != "out")
    reduce.computed_rows(of.reduction, x, out, computed, lies, neighbours)


def _check(of: Expression, rank: int) -> None:
    """UnsupportedError where a kernel would take more arguments than drivers do."""
    lies = of.stored
    counts = [len(lies[n].parts) if n in lies else of.form.limbs for n in (*of.names, "out")]
    if sum(counts) + (1 + rank) * len(counts) + rank + 8 > MOST:
        raise UnsupportedError(
            f"fuse: {len(of.leaves)} operands of {of.form} are more than a kernel takes; "
            "make two functions of it"
        )


# --- where the host computes --------------------------------------------------------------------


def _compute(of: Expression, shape: tuple[int, ...], rows: Place, *views: Any) -> None:
    *operands, out = views
    base.on_host(out, partial(_reference, of, shape, rows), *operands)


def _reference(of: Expression, shape: tuple[int, ...], rows: Place, *operands: Any) -> Host:
    ar = Arithmetic(of.form)
    gates = dict(ar.gates)
    for name in of.network.calls:
        if name.startswith(ROUNDING):
            gates[name] = partial(_rounded, Arithmetic(of.stored[name]))
    with ieee.quiet():
        given = []
        for leaf, operand in zip(of.leaves, operands, strict=True):
            words = [np.asarray(operand[0]) != 0] if leaf == TRUTH else ar.load(operand)
            told = tuple([np.broadcast_to(word, shape) for word in words])
            given.append(told if len(told) > 1 else told[0])
        found = evaluate(of.network, gates, *given)
        found = found if isinstance(found, tuple) else (found,)
        found = tuple([np.broadcast_to(word, shape) for word in found])
        if of.result == TRUTH:
            return [found[0]]
        form = formats.get(of.result)
        values = Arithmetic(form).store(found)
        if not of.reduction:
            return values
        places = rows.start + np.zeros(rows.shape, np.int64)
        for axis, (n, step) in enumerate(zip(rows.shape, rows.strides, strict=True)):
            places += np.arange(n).reshape([-1 if axis == a else 1 for a in range(2)]) * step
        return reference.over_rows(
            form, of.reduction, [np.asarray(plane).reshape(-1)[places] for plane in values]
        )


def _rounded(stored: Arithmetic, value: Any) -> Any:
    """A value as its format is stored."""
    words = value if isinstance(value, tuple) else (value,)
    found = stored.load(stored.store(words))
    return found if len(found) > 1 else found[0]
