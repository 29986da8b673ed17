"""Parts that methods for eigenvalues and singular values share: copies, products, first limbs."""

import math
from collections.abc import Callable
from contextvars import ContextVar

import numpy as np

from portmp.routines.bounds.certified import leading
from portmp.routines.complexes import launch as complexes
from portmp.routines.moves import launch as moves
from portmp.routines.triangular.launch import OnDevice
from portmp.routines.triangular.steps import Method
from portmp.runtime.planes import Planes, allocate, upload, upload_numbers

DIVIDED: ContextVar[Callable[[OnDevice, Planes, Planes, Planes, str, str], bool] | None]
DIVIDED = ContextVar("divided", default=None)
"""What makes large products on several devices, where it says so: the same bits."""


def filled(like: Planes, shape: tuple[int, ...], first: float = 0.0) -> Planes:
    """New matrices of zeros, or with a diagonal of another number."""
    form = like.format
    out = allocate(form, shape, like.queue)
    for value, target in ((0.0, out), (first, diagonal(out))):
        if target.size and (value or target is out):
            limbs = [np.full((), 0.0 if i else value, form.dtype(i)) for i in range(form.words)]
            moves.copied(upload(form, limbs, like.queue), target)
    return out


def diagonal(w: Planes) -> Planes:
    """The diagonals of matrices: a view."""
    count = min(w.shape[-2:])
    return w.view((*w.shape[:-2], count), (*w.strides[:-2], sum(w.strides[-2:])), w.start)


def turned(w: Planes) -> Planes:
    """Matrices transposed: a view."""
    axes = range(w.ndim)
    return w.transposed((*axes[:-2], w.ndim - 1, w.ndim - 2))


def stack(w: Planes) -> Planes:
    """One matrix as a stack of one: a view."""
    return w.view((1, *w.shape), (0, *w.strides), w.start)


def corner(w: Planes, rows: int, columns: int) -> Planes:
    """The upper left part of a matrix: a view."""
    return w.view((rows, columns), w.strides, w.start)


def columns(w: Planes, first: int, end: int) -> Planes:
    """Some columns of a matrix: a view."""
    return w.view((w.shape[0], end - first), w.strides, w.start + first * w.strides[1])


def mirrored(w: Planes) -> Planes:
    """A symmetric or Hermitian matrix by the lower triangle of w, in memory of its own."""
    n, other = w.shape[0], turned(w)
    if w.format.components > 1:
        other = complexes.apply("conj", other.halves)
    return moves.selected(upload_numbers(np.tri(n, dtype=bool), w.queue), w, other)


def multiply(
    a: Planes, b: Planes, c: Planes, kind: str, method: Method, conjugated: str = ""
) -> None:
    """c = a b, c + a b or c - a b by *kind* (``set``, ``add``, ``subtract``) of two matrices.

    *conjugated*: which one's conjugate is taken.
    """
    steps, divided = OnDevice(c.format, method), DIVIDED.get()
    operands = stack(a), stack(b), stack(c)
    if divided is None or not divided(steps, *operands, kind, conjugated):
        steps.multiply(*operands, kind, conjugated)


def largest(w: Planes) -> float:
    """The largest size of leading limbs of a vector, of their real parts; reads them."""
    return float(np.abs(moves.copied(leading(w)).read_parts()[0]).max(initial=0))


def exponent(w: Planes) -> int:
    """The power of two above all of a vector's leading limbs; reads them."""
    return math.frexp(largest(w))[1]
