"""Triangular systems and products, and products of a matrix with its transpose."""

from functools import partial
from typing import Any, cast

from portmp.arrays.array import Array, Number, zeros
from portmp.arrays.blas import CONJUGATED, Trans, scalar, transposes
from portmp.arrays.composed import conj
from portmp.arrays.foreign import A, as_they_are
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg import operands
from portmp.linalg.hermitian import symmetric
from portmp.linalg.operands import By
from portmp.routines import base
from portmp.routines.triangular import launch


@as_they_are
def solve_triangular(
    a: A,
    b: A,
    *,
    lower: bool = False,
    trans: Trans = False,
    unit_diagonal: bool = False,
    left: bool = True,
    overwrite_b: bool = False,
    method: By = "auto",
) -> A:
    """The x of op(a) x = b, or with *left* false of x op(a) = b, for triangular a (..., n, n).

    Only the upper triangle of a is read, with *lower* the lower one; *unit_diagonal*: the diagonal
    is not read and counts as ones. op is the transpose with *trans* (True, 1, "T"), the conjugate
    transpose with 2 or "C". b is (n,), (..., n, r) or,
    from the right, (..., r, n); stacks broadcast. Names and meaning are SciPy's. *method*: how
    large products (``docs/bits.md``) are made (``auto``, ``direct``, ``ozaki1``, ``ozaki2`` as in
    gemm; it changes bits). *overwrite_b*: x takes b's memory, unless that is converted.
    LinAlgError for a zero on the diagonal, which waits for the device. Backward stable: row by row,
    with errors as n products' of the format.
    """
    name = "solve_triangular"
    if parts := operands.real_beside_complex(a, b, name):
        if not left:
            parts = parts[0], parts[1].mT
        how: Any = {"lower": lower, "trans": transposes(trans, f"{name}: trans") != (not left)}
        how |= {"unit_diagonal": unit_diagonal, "method": method}
        found = operands.by_parts(parts[1], partial(solve_triangular, parts[0], **how))
        return cast("A", found if left else found.mT)
    matrix, lower, (sides, vector, batch) = _given(a, b, lower, trans, left, name, overwrite_b)
    if not unit_diagonal:
        operands.refuse_singular(matrix, name)
    x = operands.worked(sides, name, "b", overwrite_b, batch)
    known = operands.stacked(matrix, batch, own=False)
    by = operands.by(method, matrix.format, name)
    taken = "conjugated" if trans in CONJUGATED else ""
    launch.solve(known, x, lower=lower, unit=unit_diagonal, method=by, taken=taken)
    found = _found(sides if overwrite_b else operands.unstacked(x, batch), left, vector)
    return cast("A", found)


def trmm(
    a: Array,
    b: Array,
    *,
    lower: bool = False,
    trans: Trans = False,
    unit_diagonal: bool = False,
    left: bool = True,
    overwrite_b: bool = False,
    method: By = "auto",
) -> Array:
    """op(a) b, or with *left* false b op(a), for triangular a (..., n, n) and matrices b.

    Arguments are ``solve_triangular``'s; with *overwrite_b* up to 256 rows of b are copied at a
    time. Zeros beyond the diagonal of blocks of 256 rows take part: an infinity or NaN of b gives
    NaN in rows of its block.
    """
    name = "trmm"
    matrix, lower, (sides, vector, batch) = _given(a, b, lower, trans, left, name, overwrite_b)
    if overwrite_b:
        factor = operands.worked(sides, name, "b", True, batch)
    else:
        factor = operands.stacked(sides, batch, own=False)
    if trans in CONJUGATED:
        matrix = conj(matrix)
    known = operands.stacked(matrix, batch, own=False)
    by = operands.by(method, matrix.format, name)
    made = launch.times(
        known, factor, lower=lower, unit=unit_diagonal, method=by, overwrite=overwrite_b
    )
    return _found(sides if overwrite_b else operands.unstacked(made, batch), left, vector)


def _given(
    a: object, b: object, lower: bool, trans: Trans, left: bool, name: str, overwrite: bool
) -> tuple[Array, bool, operands.Sides]:
    """op(a), from the right transposed; whether that is lower; b as what stands right of it."""
    known, given = operands.alike(a, b, name)
    matrix = operands.matrix(known, name, square=True, kinds="fc")
    if not left:
        if given.ndim < 2:
            raise ShapeError(f"{name}: b {given.shape} given, from the right matrices are needed")
        given = given.mT
    sides = operands.sides_of(matrix, given, name, overwrite)
    turned = transposes(trans, f"{name}: trans") != (not left)
    return (matrix.mT, not lower, sides) if turned else (matrix, lower, sides)


def _found(x: Array, left: bool, vector: bool) -> Array:
    """A result as b was given."""
    if not left:
        return x.mT
    return x[..., 0] if vector else x


def syrk(
    a: Array,
    *,
    alpha: Number | complex | Array = 1,
    beta: Number | complex | Array = 0,
    c: Array | None = None,
    trans: Trans = False,
    lower: bool = False,
    overwrite_c: bool = False,
    method: By = "auto",
) -> Array:
    """The upper (*lower*: the lower) triangle of alpha a a^T + beta c, zeros beyond it.

    With *trans* of alpha a^T a + beta c. a is (..., n, k), c (..., n, n), of which that triangle is
    read; stacks broadcast. c is left out where beta is 0 and c is not overwritten. *overwrite_c*:
    that triangle of c's memory, unless c is converted, becomes the result's, what c holds beyond it
    stays, as in the BLAS; beside c that takes what gemm takes, and memory for squares of 128 rows
    along the diagonal, by integers of 1024. Elements are gemm's: n^2 k operations for large n. Of
    complex numbers, too, alpha and beta among them: a a^T, and c is converted to no other format.
    Errors name *c*: missing where beta is not 0 or *overwrite_c* is given, of another shape, or in
    a's memory and to be overwritten.
    """
    name = "syrk"
    addend = None
    first = operands.values(a, f"{name}: a", c if isinstance(c, Array) else None)
    number = scalar(beta if isinstance(beta, Array) else first, beta, "beta")
    read = not base.is_number(number, 0)
    if read or overwrite_c:
        if c is None:
            reason = "beta is not 0" if read else "overwrite_c is given"
            raise ArgumentError(f"{name}: {reason} but c is missing")
        first, addend = operands.alike(first, c, name, "c")
    matrix = operands.matrix(first, name, kinds="fc")
    factor = matrix.mT if transposes(trans, f"{name}: trans") else matrix
    if matrix.format.components > 1:
        if trans in CONJUGATED:
            raise ArgumentError(
                f"{name}: trans {trans!r} given, of complex numbers herk takes conjugates"
            )
        return symmetric(factor, (alpha, beta), addend, lower, overwrite_c, method)
    n, batch = factor.shape[-2], factor.shape[:-2]
    factors = {"alpha": scalar(matrix, alpha, "alpha"), "beta": scalar(matrix, beta, "beta")}
    if addend is not None:
        base.same(matrix.format, a=matrix.planes, c=addend.planes)
        if addend.shape[-2:] != (n, n):
            raise ShapeError(f"{name}: c {addend.shape} given, {(*batch, n, n)} is needed")
        batch = operands.batch_of(factor, addend, name, "c")
    if addend is not None and overwrite_c:
        operands.refuse_overlap(factor, addend, name, "c")
        out = operands.worked(addend, name, "c", True, batch)
    else:
        made = zeros((*batch, n, n), matrix.format, matrix.queue)
        if addend is not None:
            made[...] = addend
        out = operands.stacked(made, own=False)
    left, by = operands.stacked(factor, batch, own=False), operands.by(method, matrix.format, name)
    launch.square(left, out, lower=lower, method=by, alone=overwrite_c, **factors)
    if addend is not None and overwrite_c:
        return addend
    return operands.unstacked(launch.copied_triangle(out, lower=lower, unit=False, out=out), batch)
