"""Cholesky's factorisation and systems of positive definite matrices."""

from functools import partial
from typing import Any, cast

import numpy as np

from portmp.arrays.array import Array
from portmp.arrays.foreign import A, as_they_are
from portmp.errors import LinAlgError
from portmp.linalg import operands
from portmp.linalg.operands import By
from portmp.routines.cholesky import launch as routine
from portmp.routines.triangular import launch

TAKEN = {False: ("", "conjugated"), True: ("conjugated", "")}
"""How l and its transpose are taken where l l^H, or its conjugate (True), is what is divided by."""


@as_they_are
def cholesky(a: A, *, upper: bool = False, overwrite_a: bool = False, method: By = "auto") -> A:
    """l with a = l l^H, or with *upper* u with a = u^H u, for positive definite a (..., n, n).

    Only the lower (*upper*: the upper) triangle of a is read, of its diagonal the real part.
    *method* as in ``lu_factor``.
    *overwrite_a*: the factor takes a's memory, and is a. Waits for the device. Raises ArgumentError
    with the order of the first leading minor that is not positive. Backward stable: |a - l l^H| is
    at most about n u^N |l| |l^H|, elementwise.
    """
    matrix = operands.matrix(a, "cholesky", square=True, kinds="fc")
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
    name = "cholesky_solve"
    if parts := operands.real_beside_complex(factor, b, name):
        how: Any = {"upper": upper, "method": method}
        found = operands.by_parts(parts[1], partial(cholesky_solve, parts[0], **how))
        return cast("A", found)
    like = b if isinstance(b, Array) else None
    matrix = operands.values(factor, f"{name}: factor", like)
    if matrix.format.components > 1:
        matrix, b = cast("tuple[Array, A]", operands.alike(matrix, b, name))
    matrix = operands.matrix(matrix, name, square=True, argument="factor", kinds="fc")
    operands.refuse_singular(matrix, name, "factor")
    left = matrix.mT if upper else matrix
    given = operands.sides_of(left, b, name, overwrite_b)
    return cast("A", _solved(left, given, method, name, overwrite_b, upper))


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
    matrix = operands.matrix(a, "solve", square=True, kinds="fc")
    given = operands.sides_of(matrix, b, "solve", overwrite_a or overwrite_b)
    factor = _factored(matrix if lower else matrix.mT, method, "solve", overwrite_a)
    return _solved(factor, given, method, "solve", overwrite_b, not lower)


def _solved(
    factor: Array, given: operands.Sides, method: By, name: str, overwrite: bool, turned: bool
) -> Array:
    """The x of l l^H x = b for the lower factor l, *turned* of its conjugate."""
    sides, vector, batch = given
    x = operands.worked(sides, name, "b", overwrite, batch)
    lower = operands.stacked(factor, batch, own=False)
    by = operands.by(method, factor.format, name)
    taken = TAKEN[turned]
    launch.solve(lower, x, lower=True, unit=False, method=by, taken=taken[0])
    upper = lower.transposed((0, 2, 1))
    launch.solve(upper, x, lower=False, unit=False, method=by, taken=taken[1])
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
