"""Similar matrices whose eigenvalues are found faster: balanced, of Hessenberg's form."""

import math
from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.arrays import complexes, elementwise
from portmp.arrays.array import Array, array
from portmp.errors import LinAlgError
from portmp.linalg import operands, scaling
from portmp.linalg.norms import norm
from portmp.progress import doing
from portmp.routines.qr import launch as qr
from portmp.runtime.planes import Planes

REACH = {"float32": 20, "float64": 200}
"""Powers of two that balancing takes lie within these, so that lower limbs stay in range."""

ROUNDS = 50
"""Of balancing: it ends where nothing changes, or after so many."""


class Reduced(NamedTuple):
    """Hessenberg matrices, the powers of two of each matrix and of rows, and reflections."""

    h: Planes
    exponents: np.ndarray[Any, np.dtype[np.int64]]
    rows: np.ndarray[Any, np.dtype[np.int64]]
    z: Planes | None


def reduced(a: Array, name: str, vectors: bool, balance: bool = True) -> Reduced:
    """Matrices (..., n, n), scaled to about 1, balanced where asked for and of Hessenberg's form.

    LinAlgError where they hold infinities or NaN. Reads leading limbs.
    """
    w = operands.stacked(a)
    batch, n, _ = w.shape
    exponents, rows = np.zeros(batch, np.int64), np.zeros((batch, n), np.int64)
    if not w.size:
        return Reduced(w, exponents, rows, w if vectors else None)
    lead = leading(Array(w))
    if not np.isfinite(lead).all():
        entry = int(np.flatnonzero(~np.isfinite(lead).all(axis=(1, 2)))[0])
        where = operands.in_stack(entry, a.shape[:-2])
        raise LinAlgError(f"{name}: a holds infinities or NaN{where}: finite numbers are needed")
    for entry in range(batch):
        sizes = lead[entry]
        before = definition.norm_exponent("float64", float(sizes.max())) or 0
        sizes = np.ldexp(sizes, -before)
        if balance:
            rows[entry] = balanced(sizes, REACH[a.format.word])
        after = definition.norm_exponent("float64", float(sizes.max())) or 0
        exponents[entry] = before + after
    own = scaled(Array(w), -exponents)
    if balance:
        own = own * powers(-rows, a)[:, :, None] * powers(rows, a)[:, None, :]
    h = operands.stacked(own)
    reduce = _by_products if complexes.is_complex(a) else _by_reflectors
    return Reduced(h, exponents, rows, reduce(h, vectors))


def leading(x: Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Sizes by leading limbs, of complex numbers the larger one of both parts'; waits."""
    limbs = x.to_limbs()[:: x.format.limbs]
    found: np.ndarray[Any, np.dtype[np.float64]] = np.max(np.abs(limbs), axis=0).astype(np.float64)
    return found


def scaled(x: Array, exponents: np.ndarray[Any, Any]) -> Array:
    """Matrices (batch, n, n) times a power of two each, in two steps: one may be out of range."""
    if not x.size:
        return x
    half = exponents // 2
    for part in (half, exponents - half):
        x = x * powers(part, x)[:, None, None]
    return x


def powers(exponents: np.ndarray[Any, Any], like: Array) -> Array:
    """Powers of two, real ones, where another array is."""
    return array(np.ldexp(1.0, exponents), like.format.component, like.queue)


def balanced(
    sizes: np.ndarray[Any, np.dtype[np.float64]], reach: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The e of the similar matrix 2^-e_i a_ij 2^e_j in which rows are about as large as columns.

    After Parlett and Reinsch (1969), with the largest elements off the diagonal, whose order does
    not matter, in place of their sums. *sizes* become those of
    that matrix.
    """
    n = len(sizes)
    found = np.zeros(n, np.int64)
    ends = np.diag(sizes).copy()
    np.fill_diagonal(sizes, 0)
    for _ in range(ROUNDS):
        changed = False
        for i in range(n):
            column, row = float(sizes[:, i].max()), float(sizes[i].max())
            if column == 0 or row == 0:
                continue
            # 2^(2 step) is about row / column
            step = (math.frexp(row)[1] - math.frexp(column)[1]) // 2
            step = max(-reach - int(found[i]), min(reach - int(found[i]), step))
            if step and math.ldexp(column, step) + math.ldexp(row, -step) < 0.95 * (column + row):
                sizes[:, i] *= 2.0**step
                sizes[i] *= 2.0**-step
                found[i] += step
                changed = True
        if not changed:
            break
    np.fill_diagonal(sizes, ends)
    return found


def _by_reflectors(h: Planes, vectors: bool) -> Planes | None:
    """Overwrite h by its Hessenberg form; the product of the reflections, where asked for.

    Columns are scaled as in QR meanwhile: what a matrix of low rank leaves of them shrinks by the
    format's roundoff with each column, until its squares vanish.
    """
    batch, n, _ = h.shape
    w = Array(h)
    factors = []
    for k in range(n - 2):
        doing(f"Hessenberg's form, column {k + 1} of {n - 2}")
        near, powers = scaling.columns(w[:, k + 1 :, k : k + 1])
        column = operands.stacked(near)
        one = qr.factor(column, None)
        w[:, k + 1 : k + 2, k : k + 1] = scaling.times_power(Array(column)[:, :1], powers)
        qr.applied(one, w[:, k + 1 :, k + 1 :].planes, transposed=True, method=None)
        turned = w[:, :, k + 1 :].mT
        qr.applied(one, turned.planes, transposed=True, method=None)
        w[:, k + 2 :, k] = 0
        factors.append(qr.moved(one, k + 1))
    if not vectors:
        return None
    z = operands.identity((batch, n, n), h)
    for one in reversed(factors):
        qr.applied(one, z.planes, transposed=False, method=None)
    return z.planes


def _by_products(h: Planes, vectors: bool) -> Planes | None:
    """The same of complex matrices: reflections 1 - 2 v v^H, by products with v."""
    n = h.shape[-1]
    w, found = Array(h), []
    for k in range(n - 2):
        doing(f"Hessenberg's form, column {k + 1} of {n - 2}")
        near, exponents = scaling.columns(w[:, k + 1 :, k : k + 1])
        lead = near[:, :1].copy()
        turn = elementwise.where(lead == 0, 1, elementwise.sign(lead))
        beta = turn * norm(abs(near), axis=-2, keepdims=True)
        v = near.copy()
        v[:, :1] += beta
        size = norm(abs(v), axis=-2, keepdims=True)
        v = v / elementwise.where(size == 0, 1, size)
        _reflect(w[:, k + 1 :, k + 1 :], v)
        turned = w[:, :, k + 1 :]
        turned -= (turned @ v) @ (2 * v.mT.conj())
        w[:, k + 1 : k + 2, k : k + 1] = scaling.times_power(-beta, exponents)
        w[:, k + 2 :, k] = 0
        found.append(v)
    if not vectors:
        return None
    z = operands.identity(h.shape, h)
    for k in reversed(range(n - 2)):
        _reflect(z[:, k + 1 :, k + 1 :], found[k])
    return z.planes


def _reflect(x: Array, v: Array) -> None:
    x -= (2 * v) @ (v.mT.conj() @ x)
