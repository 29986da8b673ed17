"""Cholesky's factorisation and systems of positive definite matrices."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from portmp.arrays.array import Array
from portmp.arrays.foreign import A, as_they_are
from portmp.errors import LinAlgError
from portmp.linalg import operands
from portmp.linalg.operands import By
from portmp.routines.cholesky import launch as routine
from portmp.routines.triangular import launch


@as_they_are
def cholesky(a: A, *, upper: bool = False, overwrite_a: bool = False, method: By = "auto") -> A:
    """l with a = l l^T, or with *upper* u with a = u^T u, for positive definite a (..., n, n).

    Only the lower (*upper*: the upper) triangle of a is read. *method* as in ``lu_factor``.
    *overwrite_a*: the factor takes a's memory, and is a. Waits for the device. Raises ArgumentError
    with the order of the first leading minor that is not positive. Backward stable: |a - l l^T| is
    at most about n u^N |l| |l^T|, elementwise.
    """
    matrix = operands.matrix(a, "cholesky", square=True)
    given = matrix.mT if upper else matrix
    found = _factored(given, method, "cholesky", overwrite_a)
    return cast("A", found.mT if upper else found)


@as_they_are
def cholesky_solve(
    factor: A, b: A, *, upper: bool = False, overwrite_b: bool = False, method: By = "auto"
) -> A:
    """The x of a x = b by the result of ``cholesky(a, upper=upper)``; b (n,) or (..., n, r).

    With *overwrite_b* x takes b's memory.
    """
    like = b if isinstance(b, Array) else None
    matrix = operands.values(factor, "cholesky_solve: factor", like)
    matrix = operands.matrix(matrix, "cholesky_solve", square=True, argument="factor")
    operands.refuse_singular(matrix, "cholesky_solve", "factor")
    left = matrix.mT if upper else matrix
    given = operands.sides_of(left, b, "cholesky_solve", overwrite_b)
    return cast("A", _solved(left, given, method, "cholesky_solve", overwrite_b))


def solve_positive(
    a: Array,
    b: Array,
    *,
    lower: bool = False,
    method: By = "auto",
    overwrite_a: bool = False,
    overwrite_b: bool = False,
) -> Array:
    """``solve`` of a positive definite matrix, of which one triangle is read, as *lower* says."""
    matrix = operands.matrix(a, "solve", square=True)
    given = operands.sides_of(matrix, b, "solve", overwrite_a or overwrite_b)
    factor = _factored(matrix if lower else matrix.mT, method, "solve", overwrite_a)
    return _solved(factor, given, method, "solve", overwrite_b)


def _solved(factor: Array, given: operands.Sides, method: By, name: str, overwrite: bool) -> Array:
    """The x of l l^T x = b for the lower factor l."""
    sides, vector, batch = given
    x = operands.worked(sides, name, "b", overwrite, batch)
    lower = operands.stacked(factor, batch, own=False)
    by = operands.by(method, factor.format, name)
    launch.solve(lower, x, lower=True, unit=False, method=by)
    launch.solve(lower.transposed((0, 2, 1)), x, lower=False, unit=False, method=by)
    found = sides if overwrite else operands.unstacked(x, batch)
    return found[..., 0] if vector else found


def _factored(a: Array, method: By, name: str, overwrite: bool = False) -> Array:
    given = operands.worked(a, name, "a", True) if overwrite else operands.stacked(a, own=False)
    by = operands.by(method, a.format, name)
    found = routine.factor(given, by, overwrite=overwrite)
    refuse(found.failed, a, name)
    return a if overwrite else operands.unstacked(found.factors, a.shape[:-2])


def refuse(failed: np.ndarray[Any, np.dtype[np.int32]], a: Array, name: str) -> None:
    """LinAlgError for the first matrix that is not positive definite, as ``Factored`` tells."""
    if failed.any():
        entry = int(np.flatnonzero(failed)[0])
        where = operands.in_stack(entry, a.shape[:-2])
        raise LinAlgError(
            f"{name}: a: the matrix is not positive definite{where}: its leading minor of order "
            f"{failed[entry]} is not positive"
        )
