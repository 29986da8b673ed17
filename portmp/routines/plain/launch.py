"""Elementwise operations on plain integers and truth values: out[i] = f(x[i], y[i]).

Definition: operands are taken in integers of 64 bits, signed ones or, of unsigned dtypes, unsigned
ones; sums and products wrap around; the result is cut to the output's dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from portmp import formats
from portmp.backends.base import Argument, Queue
from portmp.codegen.elements import wide
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.errors import ArgumentError
from portmp.routines import axes, base
from portmp.routines.plain.operations import OPERATIONS
from portmp.runtime import launch, program
from portmp.runtime.planes import (
    Host,
    Numbers,
    Place,
    allocate_numbers,
    blank_like,
    broadcast_strides,
)

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
    lines = "\n" in operation.text
    return spec(
        f"plain_{op}",
        "arrays/plain.mako",
        formats.get("float32"),
        {},
        op=op,
        operands=tuple((n, d, d == SCALAR) for n, d in zip(NAMES, dtypes, strict=False)),
        out=out,
        wide=_wide((*dtypes, out)),
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
        by = partial(_launch, op), partial(_compute, op)
        plan = kept.plan(key, (*given, target), *by, blank_like(target))
    if out is None:
        out = plan.makes.made(plan.queue)
    else:
        arrays = {n: o for n, o in zip(NAMES, given, strict=False) if isinstance(o, Numbers)}
        base.refuse_shift(out, **arrays)
    plan.run((*given, out))
    return out


def _launch(op: str, *given: Any) -> None:
    *operands, out = given
    if not out.size:
        return
    arrays = [o if isinstance(o, Numbers) else None for o in operands]
    dtypes = tuple([o.dtype if o else SCALAR for o in arrays])
    sizes, strides, of_out = planned(out.place, tuple([o.place if o else None for o in arrays]))
    threads = base.threads(out.device, THREADS)
    key = kernel_spec(op, dtypes, out.dtype, len(sizes), threads)
    kernel = program.kernels(out.device, key)[key.name]
    args: list[Argument] = [math.prod(sizes), *sizes[1:]]
    for operand, steps in zip(operands, strides, strict=True):
        args += base.strided(operand, *steps) if isinstance(operand, Numbers) else operand
    args += base.strided(out, *of_out)
    blocks = base.blocks(math.prod(sizes), threads)
    out.queue.launch(kernel, (blocks, 1, 1), (threads, 1, 1), args)


def _compute(op: str, *given: Any) -> None:
    *operands, out = given
    long = _wide([o.dtype if isinstance(o, Numbers) else SCALAR for o in operands])
    base.on_host(out, partial(_reference, OPERATIONS[op].call, long, out.dtype), *operands)


def _reference(call: Callable[..., Any], long: str, dtype: str, *operands: Sequence[Any]) -> Host:
    with np.errstate(all="ignore"):
        found = call(*(np.asarray(o[0]).astype(long) for o in operands))
        return [np.asarray(found).astype(dtype)]


def _wide(dtypes: Sequence[str]) -> str:
    """The longest integers of the operands' kind; truth values are of any."""
    return wide(next((d for d in dtypes if d not in (SCALAR, "bool")), "int64"))


@lru_cache(maxsize=4096)
def planned(
    out: Place, operands: tuple[Place | None, ...]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Lengths of as few axes as are needed, strides of each operand (none: a number) and *out*."""
    views = [broadcast_strides(p.shape, p.strides, out.shape) for p in operands if p]
    sizes, strides = axes.collapsed(out.shape, [out.strides, *views])
    rest = iter(strides[1:])
    return sizes, tuple(next(rest) if p else () for p in operands), strides[0]


def counted(start: int, step: int, count: int, dtype: str, queue: Queue) -> Numbers:
    """start, start + step, start + 2 step ...: so many numbers."""
    out = allocate_numbers(dtype, (count,), queue)
    fill(out, start, step)
    return out


def fill(out: Numbers, start: int, step: int = 0) -> None:
    """Set dense numbers to start, start + step, start + 2 step ..., modulo their range."""
    long = np.dtype(_wide([out.dtype])).type
    given = out, (long(start),), (long(step),)
    kept, key, plan = launch.find((fill,), given)
    plan = plan or kept.plan(key, given, _launch_fill, _compute_fill)
    plan.run(given)


def _launch_fill(out: Numbers, start: Any, step: Any) -> None:
    if not out.size:
        return
    threads = base.threads(out.device, THREADS)
    key = kernel_spec("counted", (SCALAR, SCALAR), out.dtype, 1, threads)
    kernel = program.kernels(out.device, key)[key.name]
    flat = out.view_as((out.size,))
    args: list[Argument] = [out.size, *start, *step, *base.strided(flat, *flat.strides)]
    out.queue.launch(kernel, (base.blocks(out.size, threads), 1, 1), (threads, 1, 1), args)


def _compute_fill(out: Numbers, start: Any, step: Any) -> None:
    base.on_host(out, lambda: [start[0] + np.arange(out.size, dtype=start[0].dtype) * step[0]])
