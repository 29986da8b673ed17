"""Symmetric indefinite matrices: p a p^T = l d l^T, d of blocks of one or two, by panels.

Definition (Bunch and Kaufman 1977; the lower triangle counts): panels of ``definition.BLOCK``
columns from the left; one whose last column could begin a pair leaves it to the next, unless the
matrix ends there. With w = l d of the panel's columns so far, column c of what is left is, from row
k on, a_ic (above its diagonal a_ci), then fma(-l_ij, w_cj, it) for the panel's columns j in order.
By leading limbs, NaN smaller than any number, alpha = ``definition.PIVOT``, in plain products, s of
column k the largest below the diagonal, the first of equals, in row r; t of column r, diagonal left
out: the pivot is a_kk if s is not above 0, or |a_kk| >= alpha s, or |a_kk| >= (alpha s) q, q =
div(s, t); else it is a_rr, swapped to k, if |a_rr| >= alpha t; else the pair of rows k and r, r
swapped to k + 1. Of one: l_ik = div(w_ik, w_kk), left out for a zero. Of a pair, with e = w_k+1,k:
x = div(w_k+1,k+1, e), y = div(w_kk, e), z = div(div(1, fma(x, y, -1)), e), l_ik = mul(z, fma(x,
w_ik, -w_i,k+1)), l_i,k+1 = mul(z, fma(y, w_i,k+1, -w_ik)). After a panel the rest loses GEMM's
product of l and w^T (alpha = -1, beta = 1). 1/3 n^3 operations.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Flag, Index, Scratch, matrix
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.factor import small
from portmp.routines.ldl import reference
from portmp.routines.ldl.steps import LdlSteps, operators
from portmp.routines.triangular.launch import OnDevice
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate, allocate_numbers, upload_numbers

THREADS = 256
FEW = 2 * definition.BLOCK
"""Matrices of so many rows are factored as a whole, all of a stack at once."""


@cache
def kernel_spec(
    form: str, threads: int = THREADS, whole: bool = False, hermitian: bool = False
) -> KernelSpec:
    """A panel, or a *whole* matrix of few panels; *hermitian*: of complex numbers L D L^H."""
    f = formats.get(form)
    roles = {role: f.operator(op) for role, op in operators(f, hermitian).items()}
    roles = small.products(f) | roles if whole else roles
    sizes: dict[str, Any] = {"threads": threads, "most": definition.BLOCK, "whole": whole}
    sizes |= {"alpha": definition.PIVOT, "hermitian": hermitian, **small.sums(f)}
    sizes["takes"] = (
        *(Index("n"), *(Flag(name) for name in (() if whole else ("first", "end")))),
        *(matrix("a", const=False), matrix("v", const=False)),
        *(Scratch(n, "int32") for n in ("places", "kinds", *(() if whole else ("ends",)))),
    )
    name = "ldl_small" if whole else "ldl_panel_hermitian" if hermitian else "ldl_panel"
    return spec(name, "linalg/ldl_panel.mako", f, roles, **sizes)


class Factored(NamedTuple):
    """What a factorisation says beside its factors, for each matrix.

    ``order`` (batch, n): which row came to row i. ``kinds`` (batch, n): 0 where a column of D
    stands alone, 1 and 2 for the first and second of a pair.
    """

    order: np.ndarray[Any, np.dtype[np.int32]]
    kinds: np.ndarray[Any, np.dtype[np.int32]]


class _OnDevice(OnDevice, LdlSteps[Planes]):
    def __init__(self, a: Planes, hermitian: bool) -> None:
        super().__init__(a.format, None)
        self.hermitian = hermitian
        batch, n, _ = a.shape
        self.threads = base.threads_of(a.device, THREADS)
        self.order = upload_numbers(np.tile(np.arange(n, dtype=np.int32), (batch, 1)), a.queue)
        self.kinds = allocate_numbers("int32", (batch, n), a.queue)
        self.ends = allocate_numbers("int32", (batch,), a.queue)

    def factor(self, a: Planes, v: Planes) -> None:
        if a.shape[1] > few(a.format):
            super().factor(a, v)
            return
        self._launch(True, a, v)

    def _launch(self, whole: bool, a: Planes, v: Planes, **more: Any) -> None:
        unit = (kernel_spec(self.form.name, self.threads, whole, self.hermitian),)
        given = {"n": a.shape[1], "a": a, "v": v, "places": self.order, "kinds": self.kinds}
        launch.run(a.queue, unit, (a.shape[0], 1, 1), (self.threads, 1, 1), given | more)

    def panel(self, a: Planes, v: Planes, first: int, end: int) -> int:
        self._launch(False, a, v, first=first, end=end, ends=self.ends)
        # The last panel takes all columns: only of others the end must be asked for.
        return end if end == a.shape[1] else int(self.ends.read_parts()[0][0])


def few(form: Format) -> int:
    """The most rows of matrices that are factored as a whole: none of complex numbers."""
    return FEW if form.components == 1 else 0


def factor(a: Planes, hermitian: bool = False) -> Factored:
    """Overwrite the lower triangles of a (batch, n, n) by L and D; waits for the device.

    The upper triangles hold anything afterwards. Matrices of more than FEW rows, and complex ones,
    go one by one: how many columns a panel has depends on the matrix. *hermitian*: complex ones are
    L D L^H, else L D L^T.
    """
    hermitian = hermitian and a.format.components > 1
    return launch.do((a,), partial(_factor, hermitian), partial(_factor_on_host, hermitian))


def _factor_on_host(hermitian: bool, a: Planes) -> Factored:
    made = partial(reference.factor, a.format, hermitian=hermitian)
    every = base.each_changed([a], made, a)
    said = np.array([(one.order, one.kinds) for one in every], np.int32)
    order, kinds = np.moveaxis(said.reshape(a.shape[0], 2, a.shape[1]), 1, 0)
    return Factored(order, kinds)


def _factor(hermitian: bool, a: Planes) -> Factored:
    batch, n, _ = a.shape
    order, kinds = np.zeros((2, batch, n), np.int32)
    if not a.size:
        return Factored(order, kinds)
    together = batch if n <= few(a.format) else 1
    for first in range(0, batch, together):
        mine = a.view((together, n, n), a.strides, a.start + first * a.strides[0])
        steps = _OnDevice(mine, hermitian)
        steps.factor(mine, allocate(a.format, (together, n, definition.BLOCK), a.queue))
        which = slice(first, first + together)
        order[which], kinds[which] = steps.order.read_parts()[0], steps.kinds.read_parts()[0]
    return Factored(order, kinds)
