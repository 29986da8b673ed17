"""Plain numbers of each row reduced to one.

Definition: sums and products wrap around, in integers of 64 bits; the result is cut to its dtype.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from portmp import formats
from portmp.codegen.elements import wide
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index
from portmp.errors import ShapeError
from portmp.routines import base
from portmp.routines.reference import Host
from portmp.runtime import launch
from portmp.runtime.planes import Numbers, allocate_numbers, blank_like

THREADS = 64
PART = 8192
"""Elements that a block reduces."""


class Kind(NamedTuple):
    """A reduction: of two numbers as text, on arrays, and what it starts from.

    Extrema start from the far end of the longest integers.
    """

    text: str
    call: Callable[..., Any]
    start: str


KINDS = {
    "sum": Kind("({T})(({U}){0} + ({U}){1})", np.add.reduce, "0"),
    "prod": Kind("({T})(({U}){0} * ({U}){1})", np.multiply.reduce, "1"),
    "max": Kind("{0} < {1} ? {1} : {0}", np.maximum.reduce, "{lowest}"),
    "min": Kind("{1} < {0} ? {1} : {0}", np.minimum.reduce, "{highest}"),
    "any": Kind("{0} != 0 || {1} != 0", np.logical_or.reduce, "0"),
    "all": Kind("{0} != 0 && {1} != 0", np.logical_and.reduce, "1"),
    "count": Kind("{0} + {1}", np.add.reduce, "0"),
}
_ENDS = {
    "int64": {"lowest": "-9223372036854775807 - 1", "highest": "9223372036854775807"},
    "uint64": {"lowest": "0", "highest": "18446744073709551615u"},
}


@cache
def kernel_spec(kind: str, source: str, out: str, threads: int) -> KernelSpec:
    """The kernel that reduces numbers of *source* to those of *out*."""
    long = wide(source)
    return spec(
        f"plain_{kind}",
        "arrays/plain_reduce.mako",
        formats.get("float32"),
        {},
        takes=[
            *(Index("k"), Index("blocks"), Array("x", ("row", "col"), plain=(source,))),
            Array("out", const=False, plain=(out,), start=False),
        ],
        source=source,
        out=out,
        wide=long,
        start=KINDS[kind].start.format(**_ENDS[long]),
        text=KINDS[kind].text,
        part=PART,
        threads=threads,
    )


def over_rows(kind: str, x: Numbers, dtype: str) -> Numbers:
    """One of KINDS of each row of x (m, n), as a number of *dtype*; shape (m,)."""
    kept, key, plan = launch.find((over_rows, kind, dtype), (x,))
    if plan is None:
        rows, n = x.shape
        if kind in ("max", "min") and not n:
            raise ShapeError(f"{kind}: an empty array has none")
        target = allocate_numbers(dtype, (rows,), x.queue)
        by_host = base.hosted(partial(_reference, kind, wide(x.dtype), dtype))
        plan = kept.plan(key, (x, target), partial(_launch, kind), by_host, blank_like(target))
    return plan.run((x, None))


def _launch(kind: str, x: Numbers, out: Numbers) -> None:
    rows = out.size
    threads = base.threads(x.device, THREADS)
    blocks = 0
    while rows and blocks != 1:
        blocks = max(base.blocks(x.shape[1], PART), 1)
        target = out if blocks == 1 else allocate_numbers(wide(x.dtype), (rows, blocks), x.queue)
        key = kernel_spec(kind, x.dtype, target.dtype, threads)
        given = {"k": x.shape[1], "blocks": blocks, "x": x, "out": target}
        launch.run(x.queue, (key,), (rows * blocks, 1, 1), (threads, 1, 1), given)
        x = target


def _reference(kind: str, long: str, dtype: str, x: Host) -> Host:
    found = KINDS[kind].call(x[0].astype(long), axis=1)
    return [np.asarray(found).astype(dtype)]
