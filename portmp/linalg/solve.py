"""Systems of equations."""

from __future__ import annotations

from typing import Literal, overload

from portmp.arrays.array import Array
from portmp.linalg.lu import solve_directly
from portmp.linalg.operands import By
from portmp.linalg.refinement import Refined, refined


@overload
def solve(
    a: Array, b: Array, *, method: By = "direct", refine: Literal[False] = False
) -> Array: ...


@overload
def solve(a: Array, b: Array, *, method: By = "direct", refine: Literal[True]) -> Refined: ...


def solve(a: Array, b: Array, *, method: By = "direct", refine: bool = False) -> Array | Refined:
    """The solution x of a x = b for a (..., n, n), b (n,) or (..., n, r), by LU with partial
    pivoting.

    Backward stable in the format's precision. *method* as in ``lu_factor``. Raises ArgumentError
    for a singular matrix, naming the column whose pivot is zero or NaN.

    With *refine* (one matrix) the factors are computed in one limb, and x is refined with residuals
    in the format until its backward error is at most n u^N, as one of the format's own LU; where
    that does not come about, as for condition numbers near the limb's 1/u, with one limb more, up
    to the format itself. The result is a ``Refined``: ``x``, and in ``info`` which format's factors
    it took, how many corrections, and an estimated bound of the error.
    """
    if refine:
        return refined(a, b, method)
    return solve_directly(a, b, method=method)
