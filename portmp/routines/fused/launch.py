"""Expressions of elementwise operations as one kernel, with a reduction at the end or without.

Definition: each operation has the bits that it has alone, a result that is stored short is rounded
after each; a reduction is that of ``routines.reduce``, of elements that are computed where it would
read them. So the reference is the operations one by one.
"""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from portmp import formats
from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.signature import Computed, Index
from portmp.errors import UnsupportedError
from portmp.routines import axes, base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.elementwise import schedule as schedules
from portmp.routines.elementwise.schedule import FlatSchedule
from portmp.routines.fused.expression import TRUTH, Expression
from portmp.routines.reduce import launch as reduce
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
        given = (*operands, makes.made(views[0].queue))
        # Where there are no kernels the function itself is called.
        plan = kept.plan(key, given, partial(_launch, of, shape, rows), _launch, makes)
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
        coded = [form for form in of.stored.values() if form.coded]
        schedule = schedules.flat(coded[-1] if coded else of.form, out.device)
        truths = TRUTH in (of.result, *of.leaves)
        spec_of = partial(kernel_spec, of)
        _check(of, len(shape))
        elementwise.launched(out, of.names, operands, schedule, truths, bool(coded), spec_of)


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
