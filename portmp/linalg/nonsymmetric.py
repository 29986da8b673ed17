"""Eigenvalues and vectors of general matrices, Schur's forms, and roots of polynomials."""

import math
from typing import Literal, NamedTuple, overload

import numpy as np

from portmp import formats
from portmp.arrays import complexes, creation, elementwise, functions
from portmp.arrays.array import Array, operand, zeros
from portmp.arrays.manipulation import diagonal
from portmp.arrays.typed import Operand
from portmp.errors import ArgumentError, LinAlgError, ShapeError, choice
from portmp.formats import Format
from portmp.linalg import eigenvectors, operands
from portmp.linalg.hessenberg import Reduced, leading, reduced, scaled
from portmp.routines import base
from portmp.routines.schur.launch import Unfinished, iterate


class Eig(NamedTuple):
    """``eigenvalues`` (..., n); column j of ``eigenvectors`` (..., n, n) belongs to value j, has
    length 1, and its largest element, the first of equals, is real and above 0."""

    eigenvalues: Array
    eigenvectors: Array


class LeftEig(NamedTuple):
    """The same with ``left`` vectors, y^H a = value y^H, in SciPy's order."""

    eigenvalues: Array
    left: Array
    eigenvectors: Array


def eigvals(a: Operand) -> Array:
    """The eigenvalues (..., n) of real or complex a (..., n, n), always complex; NumPy's name.

    In no particular order, those of real matrices with conjugate pairs side by side, the positive
    imaginary part first. a is balanced by powers of two, reduced to Hessenberg's form by
    reflections and iterated on by Francis's sweeps with two shifts, complex matrices by QR sweeps
    with one, all in the format: eigenvalues are those of a balanced matrix that is changed by about
    n u^N of its norm. How far that moves them is their condition: for a defective matrix the root
    of it. Infinities and NaN are refused; so is, by LinAlgError, a matrix whose iteration does not
    end, with how many eigenvalues are left. FormatError for formats without complex numbers, whose
    ``schur`` is real. Waits for the device.
    """
    matrix, form = _given(a, "eigvals")
    found = reduced(matrix, "eigvals", False)
    values = scaled(_iterated(found, matrix, form, "eigvals")[:, :, None], found.exponents)
    return values.reshape(matrix.shape[:-1])


@overload
def eig(a: Operand, *, left: Literal[False] = False) -> Eig: ...


@overload
def eig(a: Operand, *, left: Literal[True]) -> LeftEig: ...


def eig(a: Operand, *, left: bool = False) -> Eig | LeftEig:
    """Eigenvalues as ``eigvals`` gives them, and vectors, a v = value v; NumPy's name.

    By Schur's form of the balanced matrix and back substitution; for real eigenvalues of real
    matrices vectors are real, of conjugate pairs they are conjugate. |a v - value v| is about n u^N
    times the norm of a, or of what balancing undoes of it. Vectors of values that are as good as
    equal may be as good as parallel: those of a defective matrix are. *left* gives left vectors
    too. Refuses as ``eigvals`` does. Waits for the device.
    """
    matrix, form = _given(a, "eig")
    found = reduced(matrix, "eig", True)
    assert found.z is not None
    values = _iterated(found, matrix, form, "eig")
    given = Array(found.h), Array(found.z), values, found.rows
    vectors = eigenvectors.vectors(*given).reshape(matrix.shape)
    lefts = eigenvectors.left_vectors(*given).reshape(matrix.shape) if left else None
    values = scaled(values[:, :, None], found.exponents).reshape(matrix.shape[:-1])
    return Eig(values, vectors) if lefts is None else LeftEig(values, lefts, vectors)


class Schur(NamedTuple):
    """a = Z T Z^H; SciPy's names. ``Z`` is unitary; ``T`` is upper triangular, in the real form but
    for blocks of two on its diagonal, each of a conjugate pair of eigenvalues."""

    T: Array
    Z: Array


def schur(a: Operand, output: str = "real") -> Schur:
    """Schur's form of a (..., n, n), by the steps of ``eigvals`` without balancing.

    Of real matrices the real form, with *output* ``complex`` the triangular one (``rsf2csf``).
    |a - Z T Z^H| and |Z^H Z - 1| are at most about n u^N (of a's norm). Refuses as ``eigvals``
    does. Waits for the device.
    """
    matrix = operands.matrix(a, "schur", square=True, kinds="fc")
    choice("schur: output", output, ("real", "complex"))
    found = reduced(matrix, "schur", True, balance=False)
    assert found.z is not None
    _, unfinished = iterate(found.h, found.z)
    _refuse(unfinished, matrix, found, "schur")
    t = scaled(Array(found.h), found.exponents).reshape(matrix.shape)
    form = Schur(t, Array(found.z).reshape(matrix.shape))
    return rsf2csf(*form) if output == "complex" else form


def rsf2csf(T: Array, Z: Array) -> Schur:  # SciPy's names
    """The complex form, T triangular, of Schur's real one (..., n, n); SciPy's name.

    Blocks of two are turned by the vector of one of their eigenvalues, all at once, by products.
    """
    z = operands.matrix(Z, "rsf2csf", square=True, argument="Z", kinds="fc")
    t = operands.matrix(T, "rsf2csf", square=True, argument="T", kinds="fc")
    if t.shape != z.shape or t.format is not z.format:
        raise ShapeError(
            f"rsf2csf: T {t.shape} in {t.format} and Z {z.shape} in {z.format} given, one shape "
            "and format is needed"
        )
    form = formats.complex_of(t.format)
    if complexes.is_complex(t) or not (t.size and t.shape[-1] > 1):
        return Schur(t.astype(form), z.astype(form))
    ends, low = diagonal(t, 0, -2, -1), diagonal(t, -1, -2, -1)
    half, high = (ends[..., :-1] - ends[..., 1:]) * 0.5, diagonal(t, 1, -2, -1)
    size = abs(half) + abs(high) + abs(low)
    half, high, below = (x / elementwise.where(size == 0, 1, size) for x in (half, high, low))
    root = elementwise.sqrt((half * half + high * below).astype(form))
    x = half + elementwise.where((half < 0) & (root.real > 0), -root, root)
    length = functions.hypot(abs(x), below)
    alone = (low == 0) | (length == 0)
    x, y = (elementwise.where(alone, 0, part / length) for part in (x, below))
    turn = operands.identity(t.shape, t, form)
    ends, up, down = (diagonal(turn, k, -2, -1) for k in (0, 1, -1))
    up[...], down[...] = -y, y
    ends[..., :-1] = elementwise.where(alone, ends[..., :-1], x)
    ends[..., 1:] = elementwise.where(alone, ends[..., 1:], x.conj())
    found = creation.triu(turn.mT.conj() @ t @ turn)
    return Schur(found, z @ turn)


def _given(a: Operand, name: str) -> tuple[Array, Format]:
    """Square matrices, and the format of their eigenvalues."""
    matrix = operands.matrix(a, name, square=True, kinds="fc")
    return matrix, formats.complex_of(matrix.format)


def _iterated(found: Reduced, matrix: Array, form: Format, name: str) -> Array:
    """Eigenvalues (batch, n) of what is reduced, which becomes Schur's form where it has z."""
    values, unfinished = iterate(found.h, found.z)
    _refuse(unfinished, matrix, found, name)
    if matrix.format is form:
        return Array(values)[:, :, 0]
    made: Array = creation.zeros(values.shape[:-1], form, values.queue)
    made.real[...], made.imag[...] = (Array(values)[:, :, i] for i in range(2))
    return made


def _refuse(unfinished: Unfinished | None, a: Array, reduced: Reduced, name: str) -> None:
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
    base.computes(given.format.component, "companion: c")
    if given.ndim != 1 or given.shape[0] < 2:
        raise ShapeError(f"companion: c {given.shape} given, two coefficients at least are needed")
    if bool(given[0] == 0):
        raise ArgumentError("companion: c[0] is zero: the highest coefficient must not be")
    n = given.shape[0] - 1
    found = zeros((n, n), given.format, given.queue)
    found[0] = -given[1:] / given[0]
    diagonal(found, -1)[...] = 1
    return found


def roots(p: Array) -> Array:
    """The roots, always complex, of the polynomial with coefficients p, highest first, or a poly1d.

    NumPy's name. They are the eigenvalues of its companion matrix (``eigvals``); leading zeros are
    left out, trailing ones are roots at zero, the last of the result. LinAlgError for infinities
    and NaN.
    """
    given = operands.values(getattr(p, "coeffs", p), "roots: p")
    base.computes(given.format.component, "roots: p")
    form = formats.complex_of(given.format)
    if given.ndim != 1:
        raise ShapeError(f"roots: p {given.shape} given, one axis is needed")
    sizes = leading(given)
    if not np.isfinite(sizes).all():
        raise LinAlgError("roots: p holds infinities or NaN: finite numbers are needed")
    used = np.flatnonzero(sizes)
    if not len(used):
        return zeros((0,), form, given.queue)
    first, last = int(used[0]), int(used[-1])
    found = zeros((given.shape[0] - 1 - first,), form, given.queue)
    if last > first:
        found[: last - first] = eigvals(companion(given[first : last + 1]))
    return found
