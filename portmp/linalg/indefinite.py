"""L D L^T of symmetric indefinite matrices, and systems by it."""

from typing import NamedTuple

import numpy as np

from portmp.arrays import manipulation
from portmp.arrays.array import Array, zeros
from portmp.arrays.composed import conj
from portmp.arrays.elementwise import where
from portmp.arrays.plain import PlainArray, plain_array
from portmp.arrays.typed import Operand
from portmp.errors import LinAlgError
from portmp.linalg import operands, scaling
from portmp.linalg.operands import By
from portmp.routines.ldl import launch as routine
from portmp.routines.lu.launch import ordered
from portmp.routines.triangular import launch as triangular
from portmp.routines.triangular.launch import solve
from portmp.runtime.planes import Planes


class Ldl(NamedTuple):
    """a = lu d lu^T, or lu d lu^H; SciPy's names. lu[perm] is triangular with ones on its
    diagonal, d symmetric or Hermitian with blocks of one and two; perm int32."""

    lu: Array
    d: Array
    perm: PlainArray


def ldl(a: Operand, lower: bool = True, hermitian: bool = True) -> Ldl:
    """lu, d, perm with a = lu d lu^H of Hermitian a (..., n, n), positive definite or not.

    That is lu d lu^T of real symmetric matrices; of complex symmetric ones with *hermitian* false.
    Only the lower triangle of a is read, with *lower* false the upper one; lu[perm] is lower
    (upper) triangular. Partial pivoting by Bunch and Kaufman, ties to the first row (of the upper
    triangle: to the last). Backward stable: |a - lu d lu^T| is at most about n u^N |lu| |d| |lu|^T,
    elementwise, seldom much more than |a|. Singular matrices have zeros in d. NaN and infinities
    spread. Waits for the device.
    """
    matrix = operands.matrix(a, "ldl", square=True, kinds="fc")
    w, found, batch, powers = _factored(matrix, lower, hermitian)
    left, order = _unit(w, found), found.order
    near = ordered(left, np.argsort(order, axis=1)) if left.size else left
    d = scaling.times_power(operands.unstacked(_blocks(w, found, hermitian), batch), powers)
    lu = operands.unstacked(near, batch)
    if not lower:
        lu, d = (one[..., ::-1, ::-1].copy() for one in (lu, d))
        order = order.shape[1] - 1 - order[:, ::-1]
    piv = plain_array(order.reshape(*batch, order.shape[1]), "int32", matrix.queue)
    return Ldl(lu, d, piv)


def solve_symmetric(
    a: Array, b: Array, *, lower: bool = False, hermitian: bool = True, method: By = "auto"
) -> Array:
    """``solve`` of a Hermitian matrix, or a symmetric one, of which the upper (*lower*: the lower)
    triangle is read.
    """
    matrix = operands.matrix(a, "solve", square=True, kinds="fc")
    n = matrix.shape[-1]
    sides, vector, batch = operands.sides_of(matrix, b, "solve")
    by = operands.by(method, matrix.format, "solve")
    w, found, own, powers = _factored(matrix, lower, hermitian)
    left = _unit(w, found)
    x = operands.stacked(sides if lower else sides[..., ::-1, :], batch, own=False)
    many = np.arange(left.shape[0]).reshape(own)
    entries = np.broadcast_to(many, batch).reshape(-1)
    order = found.order[entries]
    if not x.size:
        return zeros(b.shape if vector else (*batch, *sides.shape[-2:]), b.format, b.queue)
    x = ordered(x, order)
    near = operands.stacked(operands.unstacked(left, own), batch, own=False)
    solve(near, x, lower=True, unit=True, method=by)
    inner = operands.unstacked(w, own)
    kinds = found.kinds.reshape(*own, n)
    x = _divided(inner, kinds, operands.unstacked(x, batch), lower, hermitian)
    taken = "conjugated" if hermitian else ""
    solve(near.transposed((0, 2, 1)), x, lower=False, unit=True, method=by, taken=taken)
    x = ordered(x, np.argsort(order, axis=1))
    powers = np.broadcast_to(powers, batch)
    result = scaling.times_power(operands.unstacked(x, batch), -powers)
    if not lower:
        result = result[..., ::-1, :].copy()
    return result[..., 0] if vector else result


def _factored(
    matrix: Array, lower: bool, hermitian: bool
) -> tuple[Planes, routine.Factored, tuple[int, ...], scaling.Powers]:
    """Factors, the stack's shape, and by which powers of two matrices were divided before.

    A pair of rows takes the inverse of an element, whose limbs would be lost near overflow.
    """
    kept = np.tri(matrix.shape[-1], dtype=bool)
    mask = plain_array(kept if lower else kept.T, "bool", matrix.queue)
    # The other triangle is not read, not even for the scale.
    near, powers = scaling.for_squares(where(mask, matrix, 0))
    w = operands.stacked(near if lower else near[..., ::-1, ::-1])
    return w, routine.factor(w, hermitian), matrix.shape[:-2], powers


def _diagonal(a: Array, offset: int = 0) -> Array:
    """The diagonals of matrices, or with -1 what lies below them: a view."""
    found: Array = manipulation.diagonal(a, offset, -2, -1)
    return found


def _unit(w: Planes, found: routine.Factored) -> Planes:
    """L: ones on the diagonal, zeros where D has elements beside its own."""
    left = triangular.copied_triangle(w, lower=True, unit=True)
    if w.shape[1] > 1 and (found.kinds == 1).any():
        beside = _diagonal(Array(left), -1)
        beside[...] = where(plain_array(found.kinds[:, :-1] == 1, "bool", w.queue), 0, beside)
    return left


def _blocks(w: Planes, found: routine.Factored, hermitian: bool) -> Planes:
    """D as matrices."""
    d = zeros(w.shape, w.format, w.queue)
    if d.size:
        _diagonal(d)[...] = _diagonal(Array(w))
    if d.size and w.shape[1] > 1:
        pairs = plain_array(found.kinds[:, :-1] == 1, "bool", w.queue)
        beside = where(pairs, _diagonal(Array(w), -1), 0)
        _diagonal(d, -1)[...] = beside
        _diagonal(d, 1)[...] = conj(beside) if hermitian else beside
    return d.planes


def _divided(
    w: Array,
    kinds: np.ndarray[tuple[int, ...], np.dtype[np.int32]],
    b: Array,
    lower: bool,
    hermitian: bool,
) -> Planes:
    """The x of d x = b, b (..., n, r): of an element, or of a pair by the inverse of 2 x 2.

    With e the element below the diagonal (in the second row its conjugate, where d is Hermitian),
    f what mirrors it, o the other element on the diagonal, a the own one and z the other row of b:
    x = (o/e b/f - z/e) / (o/e a/f - 1).
    """
    n = kinds.shape[-1]
    own = _diagonal(w)
    zeros_alone = np.asarray(own == 0) & (kinds == 0)
    if zeros_alone.any():
        at = np.argwhere(zeros_alone)[0]
        entry = int(np.ravel_multi_index(at[:-1], kinds.shape[:-1])) if kinds.ndim > 1 else 0
        stack = operands.in_stack(entry, kinds.shape[:-1])
        step = int(at[-1]) if lower else n - 1 - int(at[-1])  # the upper triangle goes backwards
        raise LinAlgError(
            f"solve: a: the matrix is singular{stack}: d has a zero in its step {step}"
        )
    if not (kinds == 1).any():
        return operands.stacked(b / own[..., None], b.shape[:-2])
    place = np.arange(n) + np.array([0, 1, -1])[kinds]
    pairs = plain_array(kinds > 0, "bool", w.queue)
    beside = zeros(own.shape, w.format, w.queue)
    beside[..., :-1] = _diagonal(w, -1)
    first = np.arange(n) - (kinds == 2)
    e = where(pairs, _rows(beside[..., None], first, w.shape[:-2])[..., 0], 1)
    mirrored = e
    if hermitian:
        seconds = plain_array(kinds == 2, "bool", w.queue)
        e, mirrored = where(seconds, conj(e), e), where(seconds, e, conj(e))
    across = _rows(own[..., None], place, w.shape[:-2])[..., 0]
    many = np.broadcast_to(place, (*b.shape[:-2], n))
    far = _rows(b, many, b.shape[:-2])
    other, mine = across / e, own / mirrored
    below = other * mine - 1
    x = (other[..., None] * (b / mirrored[..., None]) - far / e[..., None]) / below[..., None]
    found = where(pairs[..., None], x, b / own[..., None])
    return operands.stacked(found, b.shape[:-2])


def _rows(
    a: Array, order: np.ndarray[tuple[int, ...], np.dtype[np.int_]], batch: tuple[int, ...]
) -> Array:
    """Rows of matrices in another order for each."""
    planes = operands.stacked(a, batch, own=False)
    return operands.unstacked(ordered(planes, order.reshape(-1, order.shape[-1])), batch)
