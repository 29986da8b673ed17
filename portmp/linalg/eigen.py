"""Eigenvalues and vectors of symmetric and Hermitian matrices, and of pairs of them."""

import math
from typing import Any, NamedTuple

import numpy as np

from portmp.arrays import composed, creation, elementwise, manipulation, sorting, statistics
from portmp.arrays.array import Array
from portmp.arrays.plain import plain_array
from portmp.arrays.typed import Operand
from portmp.arrays.viewed import everywhere
from portmp.errors import ArgumentError, LinAlgError, ShapeError, suggestion
from portmp.linalg import operands, scaling
from portmp.linalg.operands import By
from portmp.linalg.positive_definite import cholesky
from portmp.linalg.triangular import solve_triangular
from portmp.progress import lasting
from portmp.routines.jacobi import symmetric
from portmp.routines.lu.launch import ordered

TRIANGLES = ("L", "U")


class Eigh(NamedTuple):
    """``eigenvalues`` (..., n), ascending real numbers; column j of ``eigenvectors`` (..., n, n)
    belongs to eigenvalue j, has length 1, and its largest element by absolute values, the first of
    equals, is positive."""

    eigenvalues: Array
    eigenvectors: Array


@everywhere
def eigh(
    a: Operand,
    b: Array | str | None = None,
    UPLO: str = "L",  # NumPy's name
    *,
    subset_by_index: tuple[int, int] | None = None,
    subset_by_value: tuple[float, float] | None = None,
    method: By = "auto",
) -> Eigh:
    """Eigenvalues, ascending, and vectors of symmetric a (..., n, n), or of a x = w b x.

    Or of Hermitian a. Only the lower triangle of a (with *UPLO* ``U``: the upper one) is read, of
    its diagonal the real parts; as in NumPy's function that may be the second argument. With
    symmetric or Hermitian positive definite b (n, n), of which the same triangle is read, as
    SciPy's type 1: by Cholesky's factor of b; then vectors have x^H b x = 1.
    *subset_by_index*: only values number lo to hi (from 0, both included); *subset_by_value*, of
    one matrix: only those above lo and not above hi; the others are computed all the same. *method*
    as in ``lu_factor``.

    By Jacobi's method; beyond 64 rows, in formats of several limbs, first in the format's first
    limb, then corrected by products. Waits for the device. Values are those of a matrix that
    differs from a by about 10 n u^N |a|, small ones are not relatively exact; vectors are
    orthogonal within 10 n u^N. Matrices are scaled by powers of two first. Raises LinAlgError
    where a holds infinities or NaN, where b is not positive definite, and where the method does not
    converge.
    """
    matrix = operands.matrix(a, "eigh", square=True, kinds="fc")
    lower = _is_lower(b if isinstance(b, str) else UPLO, "eigh")
    chosen = _subset(subset_by_index, subset_by_value, matrix, "eigh")
    left, factor = _reduced(matrix, b, lower, method, "eigh")
    values, vectors = _eigen(left, True, method, "eigh")
    if factor is not None:
        vectors = solve_triangular(factor, vectors, lower=True, trans="C", method=method)
        vectors = positive(vectors)
    return _selected(Eigh(values, vectors), chosen)


@everywhere
def eigvalsh(
    a: Operand,
    b: Array | str | None = None,
    UPLO: str = "L",  # NumPy's name
    *,
    subset_by_index: tuple[int, int] | None = None,
    subset_by_value: tuple[float, float] | None = None,
    method: By = "auto",
) -> Array:
    """The eigenvalues that ``eigh`` gives, the same up to rounding; arguments are its."""
    matrix = operands.matrix(a, "eigvalsh", square=True, kinds="fc")
    lower = _is_lower(b if isinstance(b, str) else UPLO, "eigvalsh")
    chosen = _subset(subset_by_index, subset_by_value, matrix, "eigvalsh")
    left, _ = _reduced(matrix, b, lower, method, "eigvalsh")
    return _selected(_eigen(left, False, method, "eigvalsh"), chosen).eigenvalues


def positive(vectors: Array) -> Array:
    """Columns with signs, or phases, that make the largest element of each, the first of equals,
    positive."""
    return signed_by(vectors, vectors)[0] if vectors.size else vectors


def signed_by(chosen: Array, *vectors: Array) -> list[Array]:
    """Columns of *vectors* times what makes the largest elements of those *chosen* positive."""
    at = statistics.argmax(abs(chosen), axis=-2, keepdims=True)
    lead = manipulation.take_along_axis(chosen, at, axis=-2)
    if lead.format.components == 1:
        minus = lead < 0
        return [elementwise.where(minus, -each, each) for each in vectors]
    phase = composed.conj(elementwise.sign(lead))
    found = [each * phase for each in vectors]
    for each, given in zip(found, vectors, strict=True):
        if given is chosen:
            rows = creation.arange(chosen.shape[-2], dtype="int64", device=chosen.queue)
            side = each.imag
            side[...] = elementwise.where(rows[:, None] == at, 0, side)
    return found


def _is_lower(name: Any, routine: str) -> bool:
    wanted = name.upper() if isinstance(name, str) else name
    if wanted not in TRIANGLES:
        near = suggestion(str(name), list(TRIANGLES))
        raise ArgumentError(f"{routine}: UPLO {name!r} given{near}; allowed are 'L' and 'U'")
    return bool(wanted == "L")


def _whole(a: Array, lower: bool) -> Array:
    """Symmetric or Hermitian matrices by one of their triangles, in memory of their own."""
    n = a.shape[-1]
    kept = np.tri(n, dtype=bool)
    mask = plain_array(kept if lower else kept.T, "bool", a.queue)
    found: Array = elementwise.where(mask, a, operands.adjoint(a))
    if a.format.components > 1:
        manipulation.diagonal(found.imag, 0, -2, -1)[...] = 0
    return found


def _reduced(a: Array, b: Any, lower: bool, method: By, name: str) -> tuple[Array, Array | None]:
    """l^-1 a l^-H for b = l l^H, and l; a itself, whole, without b."""
    if b is None or isinstance(b, str):
        return _whole(a, lower), None
    a, right = operands.alike(a, b, name)
    right = operands.matrix(right, name, square=True, argument="b", kinds="fc")
    operands.right(right, a, name, a.shape[-1])
    operands.batch_of(a, right, name)
    try:
        factor = cholesky(right, upper=not lower, method=method)
    except ArgumentError as error:
        raise type(error)(str(error).replace("cholesky: a:", f"{name}: b:")) from None
    if not lower:
        factor = operands.adjoint(factor)
    half = solve_triangular(factor, _whole(a, lower), lower=True, method=method)
    both = solve_triangular(factor, operands.adjoint(half), lower=True, method=method)
    return _whole(both, True), factor


@lasting("eigenvalues")
def _eigen(a: Array, vectors: bool, method: By, name: str) -> Eigh:
    """Of whole symmetric or Hermitian matrices, which may be overwritten."""
    by = operands.by(method, a.format, name)
    batch, n = a.shape[:-2], a.shape[-1]
    near, powers = scaling.near_one(a, name)
    found = symmetric.spectrum(operands.stacked(near), vectors=vectors, method=by)
    if found.left.any():
        entry = int(np.flatnonzero(found.left)[0])
        where = operands.in_stack(entry, batch)
        size = found.left[entry] * 2.0 ** float(powers.reshape(-1)[entry])
        raise LinAlgError(
            f"{name}: a: Jacobi's method does not converge{where}: an element beside the diagonal "
            f"of {size:.2e} is left"
        )
    values = Array(found.values)
    places = sorting.argsort(values, axis=-1)
    values = scaling.times_power(
        manipulation.take_along_axis(values, places, axis=-1).reshape((*batch, n)), powers
    )
    if found.v is None:
        return Eigh(values, values)
    order = places.to_numpy().astype(np.int32)
    rows = Array(ordered(found.v.transposed((0, 2, 1)), order))
    return Eigh(values, positive(rows.reshape((*batch, n, n)).mT))


_Subset = slice | tuple[float, float] | None
"""Eigenvalues by their numbers, or above a number and not above another; None: all."""


def _subset(index: Any, value: Any, a: Array, name: str) -> _Subset:
    if index is not None and value is not None:
        raise ArgumentError(f"{name}: subset_by_index and subset_by_value given, one is allowed")
    given, argument = (index, "subset_by_index") if value is None else (value, "subset_by_value")
    if given is None:
        return None
    try:
        low, high = given
    except (TypeError, ValueError):
        raise ArgumentError(f"{name}: {argument} {given!r} given, two numbers are needed") from None
    n = a.shape[-1]
    if value is None:
        whole = all(isinstance(x, (int, np.integer)) for x in (low, high))
        if not whole or not 0 <= low <= high < n:
            raise ArgumentError(
                f"{name}: subset_by_index {given!r} given, two whole numbers from 0 to {n - 1} are "
                "needed, the first one not above the second"
            )
        return slice(int(low), int(high) + 1)
    if a.ndim > 2:
        raise ShapeError(f"{name}: a {a.shape} given, subset_by_value takes one matrix")
    if (
        not all(isinstance(x, (int, float)) and not math.isnan(x) for x in (low, high))
        or low >= high
    ):
        raise ArgumentError(
            f"{name}: subset_by_value {given!r} given, two numbers are needed, the first one below "
            "the second"
        )
    return low, high


def _selected(found: Eigh, chosen: _Subset) -> Eigh:
    if isinstance(chosen, tuple):
        low, high = chosen
        values = found.eigenvalues
        at = np.flatnonzero(((values > low) & (values <= high)).to_numpy())
        chosen = slice(int(at[0]), int(at[-1]) + 1) if at.size else slice(0, 0)
    return Eigh(*(each[..., chosen] for each in found)) if chosen is not None else found
