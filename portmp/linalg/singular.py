"""Singular values and vectors, and what follows from them: ranks, pseudoinverses."""

from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.arrays import elementwise, manipulation, sorting, statistics, typed
from portmp.arrays.array import Array, zeros
from portmp.arrays.manipulation import stack
from portmp.arrays.typed import Operand
from portmp.arrays.viewed import everywhere, wrapped
from portmp.errors import ArgumentError, LinAlgError, ShapeError
from portmp.formats import convert
from portmp.linalg import operands, scaling
from portmp.linalg.eigen import eigh, signed_by
from portmp.linalg.operands import By
from portmp.linalg.orthogonal import Reflections, reflected
from portmp.progress import lasting
from portmp.routines.jacobi import columns, parts, symmetric
from portmp.routines.lu.launch import ordered
from portmp.routines.triangular.steps import Method
from portmp.runtime.planes import Planes, upload


class SVD(NamedTuple):
    """a = U diag(S) Vh; ``S`` descending real numbers, columns of ``U`` and rows of ``Vh``
    orthonormal.

    The largest element by absolute values of each row of Vh that belongs to a singular value, the
    first of equals, is positive.
    """

    U: Array
    S: Array
    Vh: Array


@everywhere
def svd(
    a: Operand,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    *,
    relative: bool = False,
    method: By = "auto",
) -> SVD | Array:
    """Singular values and vectors of a (..., m, n), k the smaller of m and n; as NumPy's.

    U (..., m, m), S (..., k), Vh (..., n, n), or without *full_matrices* (..., m, k) and (..., k,
    n); without *compute_uv* S alone. *hermitian*: a is symmetric or Hermitian, by ``eigh``.
    *method* as in ``lu_factor``.

    By Jacobi's one-sided method, of rectangles after QR; beyond 64 columns, in formats of several
    limbs, first in the format's first limb. Waits for the device. Values are those of a matrix that
    differs from a by about 10 n u^N |a|; U and V are orthogonal within 10 n u^N. With *relative*
    nothing is done in the first limb, which is slower; then, and always up to 64 columns, small
    values are relatively as exact as the scales of columns (of a wide matrix: rows) allow: errors
    are about n u^N times the condition number of a with columns scaled to length 1. Float32 limbs
    hold no such columns shorter than about 2^-30 of the longest. Raises LinAlgError where a holds
    infinities or NaN and where the method does not converge.
    """
    matrix = operands.matrix(a, "svd", kinds="fc")
    if hermitian:
        return _of_symmetric(matrix, compute_uv, method, "svd")
    return _decomposed(matrix, full_matrices, compute_uv, relative, method, "svd")


@everywhere
def svdvals(a: Operand, *, relative: bool = False, method: By = "auto") -> Array:
    """The singular values (..., k) of a (..., m, n), descending, as ``svd`` computes them."""
    matrix = operands.matrix(a, "svdvals", kinds="fc")
    found = _decomposed(matrix, False, False, relative, method, "svdvals")
    assert isinstance(found, Array)
    return found


@typed.gives(typed.PlainArray)
@everywhere
def matrix_rank(
    A: Operand,  # NumPy's name
    tol: float | Array | None = None,
    hermitian: bool = False,
    *,
    rtol: float | Array | None = None,
    method: By = "auto",
) -> Any:
    """How many singular values are above *tol*, of a vector whether it is not zero.

    *tol* is *rtol* times the largest one, *rtol* max(m, n) u^N. Integers, of a stack's shape (...).
    Both may be arrays, with a tolerance for each matrix of a stack.
    """
    if isinstance(A, Array) and A.ndim < 2:
        return statistics.any(A != 0).astype("int64")
    matrix = operands.matrix(A, "matrix_rank", argument="A", kinds="fc")
    if tol is not None and rtol is not None:
        raise ArgumentError("matrix_rank: tol and rtol given, one is allowed")
    if not matrix.size:
        return statistics.sum(abs(matrix) > 0, (-2, -1))
    s = _thin(matrix, False, hermitian, method, "matrix_rank")
    assert isinstance(s, Array)
    limit = tol
    if limit is None:
        limit = s.max(-1, keepdims=True) * _rtol(matrix, rtol, "matrix_rank", "rtol")
    elif isinstance(limit, Array) and limit.ndim:
        limit = limit[..., None]
    return statistics.count_nonzero(s > limit, axis=-1)


def pinv(
    a: Operand,
    rcond: float | Array | None = None,
    hermitian: bool = False,
    *,
    rtol: float | Array | None = None,
    method: By = "auto",
) -> Array:
    """The pseudoinverse (..., n, m) of a (..., m, n) by singular values.

    Those that are at most *rcond* (or *rtol*, its other name) times the largest one count as zero:
    max(m, n) u^N by default. An array has one for each matrix of a stack.
    """
    matrix = operands.matrix(a, "pinv", kinds="fc")
    if rcond is not None and rtol is not None:
        raise ArgumentError("pinv: rcond and rtol given, one is allowed")
    if not matrix.size:
        return operands.adjoint(matrix).copy()
    argument = "rcond" if rtol is None else "rtol"
    limit = _rtol(matrix, rcond if rtol is None else rtol, "pinv", argument)
    found = _thin(matrix, True, hermitian, method, "pinv")
    assert isinstance(found, SVD)
    s = found.S
    kept = s > s.max(-1, keepdims=True) * limit
    inverse = elementwise.where(kept, 1 / elementwise.where(kept, s, 1), 0)
    made: Array = operands.adjoint(found.Vh) @ (operands.adjoint(found.U) * inverse[..., None])
    return made


def _rtol(a: Array, given: object, routine: str, argument: str) -> float | Array:
    """A number, or an array (..., 1) in a's format that goes with singular values of a stack.

    Any from 0 on, as the standard has it: from 1 on all singular values count as zero.
    """
    if given is None:
        return max(a.shape[-2:]) * a.format.unit_roundoff
    name = f"{routine}: {argument}"
    if isinstance(given, (int, float, np.floating)):
        if not given >= 0:
            raise ArgumentError(f"{name} {given!r} given, a number from 0 on is needed")
        return float(given)
    limits: Array = operands.values(given, name, a.real).astype(a.format.component, copy=False)
    stack = a.shape[:-2]
    if not _fits(limits.shape, stack):
        raise ShapeError(f"{name} of shape {limits.shape} given, {stack} or a part is needed")
    if not statistics.all(limits >= 0):
        raise ArgumentError(f"{name} has a negative number or NaN, numbers from 0 on are needed")
    by_matrix: Array = limits[..., None]
    return by_matrix


def _fits(shape: tuple[int, ...], stack: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, stack) == stack
    except ValueError:
        return False


def _thin(a: Array, vectors: bool, hermitian: bool, method: By, name: str) -> SVD | Array:
    """Without vectors of which no singular value is; *name* is whom errors speak of."""
    if hermitian:
        return _of_symmetric(a, vectors, method, name)
    return _decomposed(a, False, vectors, False, method, name)


def _of_symmetric(a: Array, vectors: bool, method: By, name: str) -> SVD | Array:
    """By eigenvalues: their sizes, and signs that go to the left vectors."""
    try:
        found = eigh(a, method=method)
    except (ArgumentError, ShapeError) as error:
        raise type(error)(str(error).replace("eigh:", f"{name}:", 1)) from None
    size = abs(found.eigenvalues)
    places = sorting.argsort(size, axis=-1, descending=True)
    s: Array = manipulation.take_along_axis(size, places, axis=-1)
    if not vectors:
        return s
    at = places[..., None, :]
    right = manipulation.take_along_axis(found.eigenvectors, at, axis=-1)
    minus = manipulation.take_along_axis(found.eigenvalues, places, axis=-1)[..., None, :] < 0
    return SVD(elementwise.where(minus, -right, right), s, operands.adjoint(right))


@lasting("singular values")
def _decomposed(
    a: Array, full: bool, vectors: bool, relative: bool, method: By, name: str
) -> SVD | Array:
    by = operands.by(method, a.format, name)
    near, powers = scaling.near_one(a, name, lifted=definition.LIFTED[a.format.word])
    m, n = a.shape[-2:]
    wide = m < n
    tall = operands.adjoint(near) if wide else near
    found = _found(tall, full, vectors, relative, wide, by, name)
    s = scaling.times_power(found.s, powers)
    if found.u is None or found.v is None:
        return s
    if wide:
        return SVD(found.v, s, operands.adjoint(found.u))
    return SVD(found.u, s, operands.adjoint(found.v))


class _Tall(NamedTuple):
    """Of a (..., m, n) with m >= n: left vectors (..., m, n or m), values, right vectors."""

    u: Array | None
    s: Array
    v: Array | None


def _found(
    a: Array, full: bool, vectors: bool, relative: bool, by_left: bool, method: Method, name: str
) -> _Tall:
    """By columns or, of matrices with which that does not end, by the rows of their triangle R.

    Rows of very different sizes are such: their columns are all as long, and nearly parallel.
    """
    try:
        return _tall(a, full, vectors, relative, by_left, method, name)
    except LinAlgError:
        pass
    if a.ndim > 2:
        entries = a.reshape((-1, *a.shape[-2:]))
        each = [_found(one, full, vectors, relative, by_left, method, name) for one in entries]
        u, s, v = (
            None if one[0] is None else stack(one).reshape((*a.shape[:-2], *one[0].shape))
            for one in zip(*each, strict=True)
        )
        assert s is not None
        return _Tall(u, s, v)
    m, n = a.shape
    factors, r = reflected(a, method, n)
    turned = _tall(operands.adjoint(r).copy(), False, vectors, True, False, method, name)
    if turned.u is None or turned.v is None:
        return turned
    left = _applied(factors, turned.v[None], m if full else n, m, method)
    left, right = _signed(left, turned.u[None], n, by_left)
    return _Tall(left[0], turned.s, right[0])


def _tall(
    a: Array, full: bool, vectors: bool, relative: bool, by_left: bool, method: Method, name: str
) -> _Tall:
    """*by_left*: signs go by the left vectors."""
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    factors = None
    if m == n:
        square = operands.stacked(a)
    else:
        factors, r = reflected(a, method, n)
        square = operands.stacked(r, own=False)
    found = columns.orthogonal(square, vectors=vectors, method=method, begun=not relative)
    if found.left.any():
        entry = int(np.flatnonzero(found.left)[0])
        where = operands.in_stack(entry, batch)
        raise LinAlgError(
            f"{name}: a: Jacobi's method does not converge{where}: {found.left[entry]} pairs of "
            f"columns are not orthogonal, by a cosine of up to {_cosine(found.b, entry):.2e}"
        )
    lengths, units = _lengths(Array(found.b).mT, found.negligible)
    places = sorting.argsort(lengths, axis=-1, descending=True)
    s = manipulation.take_along_axis(lengths, places, axis=-1).reshape((*batch, n))
    if found.v is None:
        return _Tall(None, s, None)
    order = places.to_numpy().astype(np.int32)
    left = _orthonormal(Array(ordered(units.planes, order)).mT, method)
    right = Array(ordered(found.v.transposed((0, 2, 1)), order)).mT
    if factors is not None:
        left = _applied(factors, left, m if full else n, m, method)
    left, right = _signed(left, right, n, by_left)
    return _Tall(left.reshape((*batch, *left.shape[1:])), s, right.reshape((*batch, n, n)))


def _cosine(b: Planes, entry: int) -> float:
    """The largest of two columns, as float64 has it."""
    columns_of = Array(b)[entry].to_numpy()
    sizes = np.abs(columns_of).max(axis=0)
    near = columns_of / np.where(sizes > 0, sizes, 1)
    lengths = np.sqrt((abs(near) ** 2).sum(axis=0))
    units = near / np.where(lengths > 0, lengths, 1)
    return float(np.abs(np.tril(units.conj().T @ units, -1)).max())


def _lengths(rows: Array, negligible: np.ndarray[Any, Any]) -> tuple[Array, Array]:
    """Lengths of rows (batch, n, m), each scaled by a power of two, and rows of length 1 or 0.

    Rows are 0 up to a *negligible* length, of each entry.
    """
    if not rows.size:
        return zeros(rows.shape[:-1], rows.format.component, rows.queue), rows
    sizes = scaling.sizes(rows).max(axis=-1).to_limbs()[0].astype(np.float64)
    powers = np.frexp(sizes)[1].astype(np.int64)
    near = scaling.times_power(rows, -powers)
    length = elementwise.sqrt(scaling.squares(near).sum(axis=-1))
    divisor = elementwise.where(length > 0, length, 1)
    lengths = scaling.times_power(length, powers)
    units = near / divisor[..., None]
    part = rows.format.component
    limbs = convert.to_limbs(negligible[:, None], part)
    least = wrapped(upload(part, limbs, rows.queue))
    return lengths, elementwise.where((lengths > least)[..., None], units, 0)


def _orthonormal(u: Array, method: Method) -> Array:
    """Orthonormal columns near those of u (batch, n, n), which may be overwritten.

    Any where those are zero. Beyond 64 columns a matrix stays as it is where its columns are
    orthonormal as eigenvectors have to be, whatever else is in the stack.
    """
    if not u.size:
        return u
    if u.shape[-1] <= definition.ROTATED:
        return _by_reflections(u, method)
    for each in range(len(u)):
        if not _is_orthonormal(u[each], method):
            u[each] = _by_reflections(u[each : each + 1], method)[0]
    return u


def _by_reflections(u: Array, method: Method) -> Array:
    """q of u = q r, with signs that make the diagonal of r positive."""
    n = u.shape[-1]
    reflections, r = reflected(u, method, n)
    minus = manipulation.diagonal(r, 0, -2, -1).real < 0
    q = operands.identity(u.shape, u)
    reflections.applied(q.planes, transposed=False, method=method)
    found: Array = elementwise.where(minus[..., None, :], -q, q)
    return found


def _is_orthonormal(u: Array, method: Method) -> bool:
    """Whether products of columns are those of orthonormal ones, as good as products can tell."""
    n = u.shape[-1]
    r = operands.identity((n, n), u).planes
    parts.multiply(parts.turned(u.planes), u.planes, r, "subtract", method, "a")
    return symmetric.distance(r) <= symmetric.slack(u.format, n)


def _signed(left: Array, right: Array, n: int, by_left: bool) -> tuple[Array, Array]:
    """Both with signs or phases that make one's largest elements of n columns positive."""
    if not right.size:
        return left, right
    mine = left[..., :n]
    found, right = signed_by(mine if by_left else right, mine, right)
    mine[...] = found
    return left, right


def _applied(factors: Reflections, u: Array, count: int, m: int, method: Method) -> Array:
    """The first columns of q times u beside the identity: (batch, m, count)."""
    batch, n, _ = u.shape
    made = zeros((batch, m, count), u.format, u.queue)
    made[:, :n, :n] = u
    manipulation.diagonal(made[:, n:, n:], 0, -2, -1)[...] = 1
    planes: Planes = made.planes
    factors.applied(planes, transposed=False, method=method)
    return made
