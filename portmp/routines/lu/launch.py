"""LU with partial pivoting and back substitution on an augmented matrix."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from portmp import formats
from portmp.backends.base import Argument, Buffer
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.lu import reference
from portmp.runtime import program
from portmp.runtime.planes import Planes, allocate

THREADS = 64
_FLAG = Format("flag", ("int32",), "float32", {}, {}, "whether a pivot was zero")


@cache
def kernel_spec(form: str, threads: int = THREADS) -> KernelSpec:
    """The four kernels of elimination and back substitution; *threads*: a power of two."""
    f = formats.get(form)
    roles = {op: f.operator(op) for op in ("div", "neg", "fma")}
    return spec("lu", "linalg/lu.mako", f, roles, threads=threads)


def solve_augmented(w: Planes) -> None:
    """Overwrite columns n.. of the dense matrix w (n, n + r) by the solutions.

    Partial pivoting by leading limbs, the first of equals. Waits for the device, and
    raises ArgumentError when a pivot is zero or NaN.
    """
    n, columns = w.shape
    if w.device.by_reference:
        left = w.view((n, n), w.strides, w.start)
        right = w.view((n, columns - n), w.strides, w.start + n)
        base.on_host(right, partial(reference.solve, w.format), left, right)
        return
    threads = base.threads(w.device, THREADS)
    kernels = program.kernels(w.device, kernel_spec(w.format.name, threads))
    flag = allocate(_FLAG, (1,), w.queue)
    flag.write([np.zeros(1, np.int32)])

    def launch(name: str, col: int, work: int, *extra: Buffer) -> None:
        if work > 0:
            args: list[Argument] = [n, columns, col, *w.buffers, *extra]
            grid = 1 if name == "lu_pivot" else base.blocks(work, threads)
            w.queue.launch(kernels[name], (grid, 1, 1), (threads, 1, 1), args)

    for col in range(n):
        launch("lu_pivot", col, 1, *flag.buffers)
        launch("lu_update", col, (n - col - 1) * (columns - col - 1))
    for col in range(n - 1, -1, -1):
        launch("lu_divide", col, columns - n)
        launch("lu_eliminate", col, col * (columns - n))
    if flag.read_dense()[0][0]:
        raise ArgumentError("a: the matrix is singular (a pivot is zero or NaN)")
