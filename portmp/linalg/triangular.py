"""Triangular systems and products, and products of a matrix with its transpose."""

from __future__ import annotations

from portmp.arrays.array import Array, Number, operand, zeros
from portmp.arrays.blas import scalar
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg import operands
from portmp.linalg.operands import By
from portmp.routines import base, triangular
from portmp.routines.triangular import launch


def solve_triangular(
    a: Array,
    b: Array,
    *,
    lower: bool = False,
    trans: bool = False,
    unit_diagonal: bool = False,
    left: bool = True,
    overwrite_b: bool = False,
    method: By = "direct",
) -> Array:
    """The x of op(a) x = b, or with *left* false of x op(a) = b, for triangular a (..., n, n).

    Only the upper triangle of a is read, with *lower* the lower one; *unit_diagonal*: the diagonal
    is not read and counts as ones. op is the transpose with *trans*. b is (n,), (..., n, r) or,
    from the right, (..., r, n); stacks broadcast. Names and meaning are SciPy's. *method*: how
    large products (``docs/bits.md``) are made (``direct``, ``ozaki1``, ``ozaki2`` as in gemm; it
    changes bits). *overwrite_b*: x takes b's memory, unless that is converted. A zero
    on the diagonal gives infinities and NaN, as a division does. Backward stable: row by row, with
    errors as n products' of the format.
    """
    name = "solve_triangular"
    a, given = operands.alike(a, b, name)
    matrix = operands.matrix(a, name, square=True)
    if not left:
        if given.ndim < 2:
            raise ShapeError(f"{name}: b {given.shape} given, from the right matrices are needed")
        given = operands.turned(given)
    sides, vector, batch = operands.sides_of(matrix, given, name, overwrite_b)
    turned = trans != (not left)
    x = operands.worked(sides, name, "b", overwrite_b, batch)
    launch.solve(
        operands.stacked(operands.turned(matrix) if turned else matrix, batch, own=False),
        x,
        lower=lower != turned,
        unit=unit_diagonal,
        method=operands.by(method, matrix.format, name),
    )
    found = sides if overwrite_b else operands.unstacked(x, batch)
    if not left:
        return operands.turned(found)
    return found[..., 0] if vector else found


def trmm(
    a: Array,
    b: Array,
    *,
    lower: bool = False,
    trans: bool = False,
    unit_diagonal: bool = False,
    left: bool = True,
    method: By = "direct",
) -> Array:
    """op(a) b, or with *left* false b op(a), for triangular a (..., n, n) and matrices b.

    Arguments are ``solve_triangular``'s. Zeros beyond the diagonal of blocks of 256 rows take part:
    an infinity or NaN of b gives NaN in rows of its block.
    """
    matrix = operands.matrix(a, "trmm", square=True)
    given = operand(b, "trmm: b")
    if not left:
        if given.ndim < 2:
            raise ShapeError(f"trmm: b {given.shape} given, from the right matrices are needed")
        given = operands.turned(given)
    sides, vector, batch = operands.sides_of(matrix, given, "trmm")
    turned = trans != (not left)
    found = operands.unstacked(
        launch.times(
            operands.stacked(operands.turned(matrix) if turned else matrix, batch, own=False),
            operands.stacked(sides, batch, own=False),
            lower=lower != turned,
            unit=unit_diagonal,
            method=operands.by(method, matrix.format, "trmm"),
        ),
        batch,
    )
    if not left:
        return operands.turned(found)
    return found[..., 0] if vector else found


def syrk(
    a: Array,
    *,
    alpha: Number | Array = 1,
    beta: Number | Array = 0,
    c: Array | None = None,
    trans: bool = False,
    lower: bool = False,
    method: By = "direct",
) -> Array:
    """The upper (*lower*: the lower) triangle of alpha a a^T + beta c, zeros beyond it.

    With *trans* of alpha a^T a + beta c. c is (..., n, n), of which that triangle is read.
    Elements are gemm's: n^2 k operations for large n.
    """
    matrix = operands.matrix(a, "syrk")
    factor = operands.turned(matrix) if trans else matrix
    n, batch = factor.shape[-2], factor.shape[:-2]
    words = scalar(matrix, alpha, "alpha"), scalar(matrix, beta, "beta")
    made = zeros((*batch, n, n), matrix.format, matrix.queue)
    if not base.is_number(words[1], 0):
        if c is None:
            raise ArgumentError("syrk: beta is not 0 but c is missing")
        addend = operand(c, "syrk: c")
        if addend.shape[-2:] != (n, n):
            raise ShapeError(f"syrk: c {addend.shape} given, {(*batch, n, n)} is needed")
        made[...] = addend
    if not made.size:
        return made
    out = operands.stacked(made, own=False)
    launch.square(
        operands.stacked(factor, own=False),
        out,
        lower=lower,
        alpha=words[0],
        beta=words[1],
        method=operands.by(method, matrix.format, "syrk"),
    )
    return operands.unstacked(triangular.copied_triangle(out, lower=lower, unit=False), batch)
