"""LU with partial pivoting, and what follows from it: systems, inverses, determinants."""

import math
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from portmp.arrays import manipulation
from portmp.arrays.array import Array, array, from_limbs
from portmp.arrays.creation import plain_host
from portmp.arrays.elementwise import sign, where
from portmp.arrays.foreign import A, as_they_are
from portmp.arrays.functions import log
from portmp.arrays.plain import PlainArray, plain_array
from portmp.arrays.typed import Operand
from portmp.arrays.viewed import AnyArray
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg import operands
from portmp.linalg.operands import By
from portmp.networks import ieee
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.lu import launch as routine
from portmp.routines.lu.launch import ordered
from portmp.routines.lu.reference import swapped
from portmp.routines.reference import Arithmetic, Value
from portmp.routines.triangular import launch as triangular
from portmp.runtime.planes import Numbers, Planes, allocate


class LuFactors(NamedTuple):
    """``lu``: U on and above the diagonal, L below it, whose own diagonal is ones. ``piv``: row i
    was swapped with row piv[i], in order; int32, from 0."""

    lu: Array
    piv: PlainArray


class Lu(NamedTuple):
    """a = p l u: ``p`` a matrix (or, asked for, the order of rows), ``l`` and ``u``."""

    p: Array | PlainArray
    l: Array  # noqa: E741  # SciPy's name
    u: Array


class SignAndLog(NamedTuple):
    """A determinant is ``sign`` times the exponential of ``logabsdet``."""

    sign: Array
    logabsdet: Array


@as_they_are
def lu_factor(a: AnyArray, overwrite_a: bool = False, *, method: By = "auto") -> LuFactors:
    """L and U of a (..., m, n) with partial pivoting, as ``lu_solve`` takes them.

    The pivot is the largest leading limb, the first of equals. A column without one, all zeros,
    stays as it is; NaN and infinities spread. *method*: how large products (``docs/bits.md``)
    are made: ``auto``, ``direct``, ``ozaki1``, ``ozaki2`` (or these with options, as in gemm); it
    changes bits, the device does not. *overwrite_a*: the factors take a's memory, any view's, and
    ``lu`` is a. Backward stable: |p a - l u| is at most about n u^N |l| |u|,
    elementwise.
    """
    matrix = operands.matrix(a, "lu_factor", kinds="fc")
    w, found = _factored(matrix, method, "lu_factor", overwrite_a)
    batch, count = matrix.shape[:-2], min(matrix.shape[-2:])
    piv = PlainArray(found.pivots_there.view_as((*batch, count)))
    return LuFactors(matrix if overwrite_a else operands.unstacked(w, batch), piv)


@as_they_are
def lu_solve(
    lu_and_piv: LuFactors, b: A, trans: int = 0, overwrite_b: bool = False, *, method: By = "auto"
) -> A:
    """The x of a x = b by the factors of a (..., n, n), or of a^T x = b, *trans* 1, a^H x = b, 2.

    b is (n,) or (..., n, r); with *overwrite_b* x takes its memory. LinAlgError for a zero on U's
    diagonal.
    """
    if not isinstance(lu_and_piv, (tuple, list)) or len(lu_and_piv) != 2:
        raise ArgumentError(
            f"lu_solve: lu_and_piv: {type(lu_and_piv).__name__} given, a pair is needed: lu, piv"
        )
    factors, piv = lu_and_piv
    if parts := operands.real_beside_complex(factors, b, "lu_solve"):
        pair, how = LuFactors(parts[0], piv), dict[str, Any](trans=trans, method=method)
        found: Any = operands.by_parts(parts[1], partial(lu_solve, pair, **how))
        return cast("A", found)
    matrix = operands.matrix(factors, "lu_solve", square=True, argument="lu", kinds="fc")
    if matrix.format.components > 1:
        matrix, b = cast("tuple[Array, A]", operands.alike(matrix, b, "lu_solve"))
    if trans not in (0, 1, 2):
        raise ArgumentError(f"lu_solve: trans {trans!r} given, 0, 1 or 2 is needed")
    n, batch = matrix.shape[-1], matrix.shape[:-2]
    pivots = plain_host(piv, None, "lu_solve: piv")
    if pivots.shape != (*batch, n):
        raise ShapeError(f"lu_solve: piv {pivots.shape} does not fit lu {matrix.shape}")
    pivots = pivots.reshape(math.prod(batch), n).astype(np.int64)
    if pivots.size and not ((pivots >= 0) & (pivots < n)).all():
        raise ArgumentError(f"lu_solve: piv holds numbers outside 0 to {n - 1}")
    operands.refuse_singular(matrix, "lu_solve", "lu")
    given = operands.sides_of(matrix, b, "lu_solve", overwrite_b)
    order = swapped(pivots, n)
    return cast("A", _solved(matrix, order, given, trans, method, "lu_solve", overwrite_b))


@as_they_are
def lu(a: AnyArray, *, p_indices: bool = False, method: By = "auto") -> Lu:
    """p, l, u with a = p l u for a (..., m, n): l (..., m, k) with ones on its diagonal, u
    (..., k, n), k the smaller of m and n. Named as SciPy's.

    p is a matrix of ones and zeros or, with *p_indices*, integers (..., m): a = l[p] @ u.
    """
    matrix = operands.matrix(a, "lu", kinds="fc")
    m, n = matrix.shape[-2:]
    count, batch = min(m, n), matrix.shape[:-2]
    w, found = _factored(matrix, method, "lu")
    left = w.view((w.shape[0], m, count), w.strides, w.start)
    lower = triangular.copied_triangle(left, lower=True, unit=True)
    upper = triangular.copied_triangle(w, lower=False, unit=False, rows=count)
    order = np.argsort(swapped(found.pivots, m), axis=1).astype(np.int32).reshape(*batch, m)
    p: Array | PlainArray
    if p_indices:
        p = plain_array(order, "int32", matrix.queue)
    else:
        eye = np.eye(m)[order] if order.size else np.zeros((*batch, m, m))
        p = array(eye, matrix.format.component, matrix.queue)
    return Lu(p, operands.unstacked(lower, batch), operands.unstacked(upper, batch))


def solve_directly(
    a: Array,
    b: Array,
    *,
    method: By = "auto",
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    name: str = "solve",
) -> Array:
    """``solve`` without refinement."""
    matrix = operands.matrix(a, name, square=True, kinds="fc")
    given = operands.sides_of(matrix, b, name, overwrite_a or overwrite_b)
    sides, vector, batch = given
    if not (overwrite_a or overwrite_b) and matrix.shape[:-2] == batch:
        left, right = (operands.stacked(each, batch, own=False) for each in (matrix, sides))
        x = allocate(right.format, right.shape, right.queue)
        operands.refuse(
            routine.solved(left, right, x, operands.by(method, x.format, name)), matrix, name
        )
        return operands.unstacked(x, batch, vector)
    w, found = _factored(matrix, method, name, overwrite_a)
    operands.refuse(found.judged(w), matrix, name)
    lower = matrix if overwrite_a else operands.unstacked(w, matrix.shape[:-2])
    order = found.order(matrix.shape[-1])
    return _solved(lower, order, given, 0, method, name, overwrite_b)


@as_they_are
def inv(a: A, *, method: By = "auto") -> A:
    """The inverse of a (..., n, n), column by column the solution of a x = e, with the
    errors and warnings of ``solve``.
    """
    return cast("A", _inverse(operands.matrix(a, "inv", square=True, kinds="fc"), method, "inv"))


def _inverse(matrix: Array, method: By, name: str) -> Array:
    identity = operands.identity(matrix.shape[-2:], matrix)
    return solve_directly(matrix, identity, method=method, name=name)


def det(a: Operand, *, method: By = "auto") -> Array:
    """The determinant of a (..., n, n): shape (...), 0 for a singular matrix.

    Only the result may overflow or underflow: factors of two are kept apart.
    """
    matrix = operands.matrix(a, "det", square=True, kinds="fc")
    ar = Arithmetic(matrix.format)
    value, exponent = _determinant(ar, matrix, method, "det")
    with ieee.quiet():
        # In two steps: a number's own exponent is near 0, a sum of many of them is not.
        limit = 2 * np.finfo(matrix.format.word).maxexp
        total = np.clip(exponent, -limit, limit)
        first = total // 2
        words = [np.ldexp(np.ldexp(w, first), total - first) for w in value]
        limbs = matrix.format.limbs
        finite = [np.isfinite(lead) for lead in words[::limbs]]
        words = [np.where(finite[i // limbs] | (i % limbs == 0), w, 0) for i, w in enumerate(words)]
    return from_limbs(ar.store(words), matrix.format, matrix.queue)


def slogdet(a: Operand, *, method: By = "auto") -> SignAndLog:
    """The sign (-1, 0, 1; of complex numbers one of size 1, or 0) and the natural logarithm of the
    size of the determinant.

    The logarithm is that of a number from 1/2 to 1 plus a multiple of that of 2: its error is about
    that of n products beside the format's.
    """
    matrix = operands.matrix(a, "slogdet", square=True, kinds="fc")
    form, ar = matrix.format, Arithmetic(matrix.format)
    value, exponent = _determinant(ar, matrix, method, "slogdet")
    mantissa = from_limbs(ar.store(value), form, matrix.queue)
    size, two = abs(mantissa), log(array(2, form.component, matrix.queue))
    twos = where(size == 0, 0, array(exponent, form.component, matrix.queue))
    return SignAndLog(sign(mantissa), log(size) + twos * two)


def matrix_power(a: Operand, n: int) -> Array:
    """a (..., m, m) to the whole power n, by squaring; negative ones of the inverse."""
    matrix = operands.matrix(a, "matrix_power", square=True, kinds="fc")
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise ArgumentError(f"matrix_power: n {n!r} given, a whole number is needed")
    if n == 0:
        return operands.identity(matrix.shape, matrix)
    square = _inverse(matrix, "auto", "matrix_power") if n < 0 else matrix
    found: Array | None = None
    left = abs(int(n))
    while left:
        if left & 1:
            found = square if found is None else found @ square
        left >>= 1
        if left:
            square = square @ square
    assert found is not None
    return found.copy() if found is matrix else found


def _factored(
    a: Array, method: By, name: str, overwrite: bool = False
) -> tuple[Planes, routine.Factored]:
    if overwrite:
        given = w = operands.worked(a, name, "a", True)
    else:
        given = operands.stacked(a, own=False)
        w = allocate(given.format, given.shape, given.queue)
    return w, routine.factor(given, w, operands.by(method, a.format, name))


def _solved(
    factors: Array,
    order: Numbers | np.ndarray[Any, Any],
    given: operands.Sides,
    trans: int,
    method: By,
    name: str,
    overwrite: bool = False,
) -> Array:
    sides, vector, batch = given
    by = operands.by(method, factors.format, name)
    left = operands.stacked(factors, batch, own=False)
    order = _repeated(order, factors.shape[:-2], batch)
    x = operands.stacked(sides, batch, own=False)
    target = operands.worked(sides, name, "b", True, batch) if overwrite else None
    if trans:
        turned = left.transposed((0, 2, 1))
        x = operands.stacked(sides, batch)
        taken = "conjugated" if trans == 2 else ""
        triangular.solve(turned, x, lower=True, unit=False, method=by, taken=taken)
        triangular.solve(turned, x, lower=False, unit=True, method=by, taken=taken)
        assert isinstance(order, np.ndarray)
        x = ordered(x, np.argsort(order, axis=1))
    else:
        x = ordered(x, order)
        triangular.solve(left, x, lower=True, unit=True, method=by)
        triangular.solve(left, x, lower=False, unit=False, method=by)
    if target is not None:
        elementwise.apply("copy", [x], target)
        return sides[..., 0] if vector else sides
    return operands.unstacked(x, batch, vector)


def _repeated(
    order: Numbers | np.ndarray[Any, Any], stack: tuple[int, ...], batch: tuple[int, ...]
) -> Numbers | np.ndarray[Any, Any]:
    """Orders (entries, n) of rows of a stack's matrices for those of a larger stack."""
    if stack == batch:
        return order
    host = order.read_parts()[0] if isinstance(order, Numbers) else order
    n = host.shape[1]
    return np.broadcast_to(host.reshape(*stack, n), (*batch, n)).reshape(math.prod(batch), n)


def _determinant(
    ar: Arithmetic, a: Array, method: By, name: str
) -> tuple[Value, np.ndarray[Any, Any]]:
    """A number of leading limb from 1/2 to 1 (or 0, or not finite) and the power of two with it.

    Of complex numbers the larger part's.
    """
    n, batch = a.shape[-1], a.shape[:-2]
    w, found = _factored(a, method, name)
    diagonal = manipulation.diagonal(Array(w), 0, -2, -1).to_limbs()
    swaps = (found.pivots != np.arange(n)).sum(axis=1)
    value, exponent = product(ar, ar.load(diagonal))
    odd = swaps % 2 == 1
    value = tuple(np.where(odd, -w, w).reshape(batch) for w in value)
    return value, exponent.reshape(batch)


def product(ar: Arithmetic, factors: Value) -> tuple[Value, np.ndarray[Any, Any]]:
    """The product along the last axis, as a number near 1 and a power of two, pairwise.

    Each level multiplies neighbours; of an odd number the last one stays. On the host.
    """
    entries = factors[0].shape[0]
    if not factors[0].shape[1]:
        return ar.zeros(len(factors), (entries,), 1.0), np.zeros(entries, np.int64)
    exponent = np.zeros(factors[0].shape, np.int64)
    with ieee.quiet():
        while True:
            size = np.max(np.abs(factors[:: ar.form.limbs]), axis=0)  # of complex ones' parts
            finite = np.isfinite(size)
            shift = np.where(finite, np.frexp(np.where(finite, size, 0))[1], 0)
            factors = tuple(np.ldexp(w, -shift) for w in factors)
            exponent = exponent + shift
            count = factors[0].shape[1]
            if count == 1:
                return tuple(w[:, 0] for w in factors), exponent[:, 0]
            even = count - count % 2
            left, right = (tuple(w[:, i:even:2] for w in factors) for i in (0, 1))
            made = ar.operator("mul", left, right)
            sums = exponent[:, 0:even:2] + exponent[:, 1:even:2]
            factors = tuple(
                np.concatenate([m, w[:, even:]], axis=1) for m, w in zip(made, factors, strict=True)
            )
            exponent = np.concatenate([sums, exponent[:, even:]], axis=1)
