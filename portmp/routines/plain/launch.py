"""Elementwise operations on plain integers and truth values: out[i] = f(x[i], y[i]).

Definition: operands are taken in integers of 64 bits, signed ones or, of unsigned dtypes, unsigned
ones; sums and products wrap around; the result is cut to the output's dtype.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from portmp import formats
from portmp.backends.base import Queue
from portmp.codegen.elements import wide
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Plain, vector
from portmp.errors import ArgumentError
from portmp.routines import axes, base
from portmp.routines.plain.operations import OPERATIONS
from portmp.runtime import launch
from portmp.runtime.planes import Host, Numbers, allocate_numbers, blank_like

NAMES = ("x", "y")
THREADS = 256
Operand = Numbers | int
_ALL = 2**64 - 1
SCALAR = ""
"""Stands for the dtype of an operand that is one number."""


@cache
def kernel_spec(op: str, dtypes: tuple[str, ...], out: str, rank: int, threads: int) -> KernelSpec:
    """The kernel of operation *op* on operands of *dtypes*, SCALAR where one is a number."""
    operation = OPERATIONS[op]
    operands = tuple(zip(NAMES, dtypes, strict=False))
    long = _wide((*dtypes, out))
    lines = "\n" in operation.text
    return spec(
        f"plain_{op}",
        "arrays/plain.mako",
        formats.get("float32"),
        {},
        takes=[
            *axes.taken(rank),
            *(vector(n, rank, plain=(d,)) if d != SCALAR else Plain(n, long) for n, d in operands),
            vector("out", rank, const=False, plain=(out,)),
        ],
        op=op,
        operands=tuple((name, dtype) for name, dtype in operands if dtype != SCALAR),
        out=out,
        wide=long,
        expression=operation.text,
        helper=operation.text if lines else "",
        rank=rank,
        threads=threads,
    )


def apply(op: str, operands: Sequence[Operand], dtype: str, out: Numbers | None = None) -> Numbers:
    """Apply *op* with broadcasting; the result is of *dtype*, or truth values where op says so.

    At least one operand is an array; numbers fit the arrays' kind.
    """
    long = np.dtype(_wide([o.dtype if isinstance(o, Numbers) else SCALAR for o in operands])).type
    given = [o if isinstance(o, Numbers) else (long(o),) for o in operands]
    kept, key, plan = launch.find((apply, op, dtype), (*given, out))
    if plan is None:
        arrays = {n: o for n, o in zip(NAMES, operands, strict=False) if isinstance(o, Numbers)}
        first = next(iter(arrays.values()))
        base.same_device(first, next(iter(arrays)), **arrays)
        kinds = {wide(a.dtype) for a in arrays.values() if a.dtype != "bool"}
        if len(kinds) > 1:
            named = " and ".join(a.dtype for a in arrays.values())
            raise ArgumentError(
                f"{op}: {named} given, which have no common dtype; convert one of them"
            )
        shape = axes.common_shape(op, list(arrays.values()))
        result = "bool" if OPERATIONS[op].boolean else dtype
        target = base.output_numbers(out, result, shape, first.queue)
        base.refuse_shift(target, **arrays)
        call = partial(_reference, OPERATIONS[op].call, long, target.dtype)
        by = partial(_launch, op), base.hosted(call)
        plan = kept.plan(key, (*given, target), *by, blank_like(target))
    return plan.run((*given, None), out)


def _launch(op: str, *given: Any) -> None:
    *operands, out = given
    dtypes = tuple([o.dtype if isinstance(o, Numbers) else SCALAR for o in operands])
    kernel = partial(kernel_spec, op, dtypes, out.dtype)
    axes.launched(out, dict(zip(NAMES, operands, strict=False)), THREADS, kernel)


def _reference(call: Callable[..., Any], long: Any, dtype: str, *operands: Sequence[Any]) -> Host:
    with np.errstate(all="ignore"):
        found = call(*(np.asarray(o[0]).astype(long) for o in operands))
        return [np.asarray(found).astype(dtype)]


def _wide(dtypes: Sequence[str]) -> str:
    """The longest integers of the operands' kind; truth values are of any."""
    return wide(next((d for d in dtypes if d not in (SCALAR, "bool")), "int64"))


def counted(start: int, step: int, count: int, dtype: str, queue: Queue) -> Numbers:
    """start, start + step, start + 2 step ...: so many numbers."""
    out = allocate_numbers(dtype, (count,), queue)
    fill(out, start, step)
    return out


def fill(out: Numbers, start: int, step: int = 0) -> None:
    """Set dense numbers to start, start + step, start + 2 step ..., modulo their range."""
    long = np.dtype(_wide([out.dtype])).type
    given = (long(start),), (long(step),), out.view_as((out.size,))
    kept, key, plan = launch.find((fill,), given)
    if plan is None:
        count = out.size
        by_host = base.hosted(lambda a, step: [a[0] + np.arange(count, dtype=long) * step[0]])
        plan = kept.plan(key, given, partial(_launch, "counted"), by_host)
    plan.run(given)
