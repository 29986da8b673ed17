"""Eigenvalues and eigenvectors of real matrices that need not be symmetric."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, NoReturn

import numpy as np

from portmp import definition
from portmp.arrays.array import Array, array, operand, zeros
from portmp.arrays.blas import scal
from portmp.arrays.manipulation import diagonal
from portmp.errors import ArgumentError, LinAlgError, ShapeError, UnsupportedError
from portmp.linalg import operands, scaling
from portmp.progress import doing
from portmp.routines import base
from portmp.routines.qr import launch as qr
from portmp.routines.schur.launch import Unfinished, iterate
from portmp.runtime.planes import Planes

REACH = {"float32": 20, "float64": 200}
"""Powers of two that balancing takes lie within these, so that lower limbs stay in range."""

ROUNDS = 50
"""Of balancing: it ends where nothing changes, or after so many."""


class Complex(NamedTuple):
    """Complex numbers as two real arrays."""

    real: Array
    imag: Array


def eigvals(a: Array) -> Complex:
    """The eigenvalues of real a (..., n, n), as ``real`` and ``imag`` (..., n); NumPy's name.

    In no particular order, conjugate pairs side by side, the positive imaginary part first. a is
    balanced by powers of two, reduced to Hessenberg's form by reflections and iterated on by
    Francis's sweeps with two shifts, all in the format: eigenvalues are those of a balanced matrix
    that is changed by about n u^N of its norm. How far that moves them is their condition: for a
    defective matrix the root of it. Infinities and NaN are refused; so is, by LinAlgError, a
    matrix whose iteration does not end, with how many eigenvalues are left. Waits for the device.
    """
    matrix = operands.matrix(a, "eigvals", square=True)
    reduced = _reduced(matrix, "eigvals", False)
    values, unfinished = iterate(reduced.h, None)
    _refuse(unfinished, matrix, reduced, "eigvals")
    found = _scaled(Array(values), reduced.exponents, matrix)
    return Complex(*(found[:, :, i].copy().reshape(matrix.shape[:-1]) for i in range(2)))


def eig(a: Array) -> NoReturn:
    """Refused: eigenvectors of nonsymmetric matrices are complex, which is not made yet.

    ``eigvals`` gives the eigenvalues as two arrays, ``schur`` orthonormal bases of the invariant
    subspaces, ``eigh`` the eigenvectors of symmetric matrices.
    """
    raise UnsupportedError(
        "eig: eigenvectors of a nonsymmetric matrix are complex, which is not made yet: "
        "eigvals(a) gives the eigenvalues as .real and .imag, schur(a) orthonormal bases of "
        "invariant subspaces, eigh(a) eigenvectors of a symmetric matrix; a.to_float64() gives "
        "NumPy arrays, rounded to float64"
    )


class Schur(NamedTuple):
    """a = Z T Z^T; SciPy's names. ``Z`` is orthogonal; ``T`` is upper triangular but for blocks of
    two on its diagonal, each of a conjugate pair of eigenvalues."""

    T: Array
    Z: Array


def schur(a: Array) -> Schur:
    """Schur's real form of a (..., n, n), by the steps of ``eigvals`` without balancing.

    |a - Z T Z^T| and |Z^T Z - 1| are at most about n u^N (of a's norm). Refuses as ``eigvals``
    does. Waits for the device.
    """
    matrix = operands.matrix(a, "schur", square=True)
    reduced = _reduced(matrix, "schur", True, balance=False)
    assert reduced.z is not None
    _, unfinished = iterate(reduced.h, reduced.z)
    _refuse(unfinished, matrix, reduced, "schur")
    t = _scaled(Array(reduced.h), reduced.exponents, matrix)
    return Schur(t.reshape(matrix.shape), Array(reduced.z).reshape(matrix.shape))


class _Reduced(NamedTuple):
    """Hessenberg matrices, the powers of two of each matrix and of rows, and reflections."""

    h: Planes
    exponents: np.ndarray[Any, np.dtype[np.int64]]
    rows: np.ndarray[Any, np.dtype[np.int64]]
    z: Planes | None


def _reduced(a: Array, name: str, vectors: bool, balance: bool = True) -> _Reduced:
    w = operands.stacked(a)
    batch, n, _ = w.shape
    exponents, rows = np.zeros(batch, np.int64), np.zeros((batch, n), np.int64)
    if not w.size:
        return _Reduced(w, exponents, rows, w if vectors else None)
    lead = Array(w).to_limbs()[0].astype(np.float64)
    if not np.isfinite(lead).all():
        entry = int(np.flatnonzero(~np.isfinite(lead).all(axis=(1, 2)))[0])
        where = operands.in_stack(entry, a.shape[:-2])
        raise LinAlgError(f"{name}: a holds infinities or NaN{where}: finite numbers are needed")
    for entry in range(batch):
        sizes = np.abs(lead[entry])
        before = definition.norm_exponent("float64", float(sizes.max())) or 0
        sizes = np.ldexp(sizes, -before)
        if balance:
            rows[entry] = balanced(sizes, REACH[a.format.word])
        after = definition.norm_exponent("float64", float(sizes.max())) or 0
        exponents[entry] = before + after
    own = _scaled(Array(w), -exponents, a)
    if balance:
        own = own * _powers(-rows, a)[:, :, None] * _powers(rows, a)[:, None, :]
    h = operands.stacked(own)
    return _Reduced(h, exponents, rows, _hessenberg(h, vectors))


def _scaled(x: Array, exponents: np.ndarray[Any, Any], like: Array) -> Array:
    """Matrices (batch, n, n) times a power of two each, in two steps: one may be out of range."""
    if not x.size:
        return x
    half = exponents // 2
    for part in (half, exponents - half):
        x = x * _powers(part, like)[:, None, None]
    return x


def _powers(exponents: np.ndarray[Any, Any], like: Array) -> Array:
    return array(np.ldexp(1.0, exponents), like.format, like.queue)


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


def _hessenberg(h: Planes, vectors: bool) -> Planes | None:
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


def _refuse(unfinished: Unfinished | None, a: Array, reduced: _Reduced, name: str) -> None:
    if unfinished is not None:
        where = operands.in_stack(unfinished.entry, a.shape[:-2])
        size = math.ldexp(unfinished.size, int(reduced.exponents[unfinished.entry]))
        raise LinAlgError(
            f"{name}: not converged{where}: {unfinished.left} of {a.shape[-1]} eigenvalues are "
            f"left, an element below the diagonal of {size:.2e} does not become small"
        )


def companion(c: Array) -> Array:
    """The companion matrix (n, n) of the polynomial with coefficients c (n + 1,), highest first.

    Its eigenvalues are the polynomial's roots; SciPy's name and form: the first row is -c_i / c_0,
    ones are below the diagonal.
    """
    given = operand(c, "companion: c")
    base.computes(given.format, "companion: c")
    if given.ndim != 1 or given.shape[0] < 2:
        raise ShapeError(f"companion: c {given.shape} given, two coefficients at least are needed")
    if bool(given[0] == 0):
        raise ArgumentError("companion: c[0] is zero: the highest coefficient must not be")
    n = given.shape[0] - 1
    found = zeros((n, n), given.format, given.queue)
    found[0] = scal(-1, given[1:]) / given[0]
    diagonal(found, -1)[...] = 1
    return found


def roots(p: Array) -> Complex:
    """The roots of the polynomial with coefficients p, highest first (or a poly1d); NumPy's name.

    They are the eigenvalues of its companion matrix (``eigvals``); leading zeros are left out,
    trailing ones are roots at zero, the last of the result.
    """
    given = operands.values(getattr(p, "coeffs", p), "roots: p")
    base.computes(given.format, "roots: p")
    if given.ndim != 1:
        raise ShapeError(f"roots: p {given.shape} given, one axis is needed")
    used = np.flatnonzero(given.to_limbs()[0] != 0)
    if not len(used):
        return Complex(*(zeros((0,), given.format, given.queue) for _ in range(2)))
    first, last = int(used[0]), int(used[-1])
    count, at_zero = last - first, given.shape[0] - 1 - last
    found = [zeros((count + at_zero,), given.format, given.queue) for _ in range(2)]
    if count:
        for whole, part in zip(found, eigvals(companion(given[first : last + 1])), strict=True):
            whole[:count] = part
    return Complex(*found)
