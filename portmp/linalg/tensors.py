"""Systems and inverses of arrays of more axes, seen as square matrices; NumPy's names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from portmp.arrays.array import Array, operand
from portmp.arrays.manipulation import moveaxis, ravel
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg.lu import inv
from portmp.linalg.operands import By
from portmp.linalg.solve import solve


def tensorsolve(
    a: Array, b: Array, axes: Sequence[int] | None = None, *, method: By = "direct"
) -> Array:
    """The x with ``tensordot(a, x, x.ndim) == b``: a's axes after b.ndim are x's.

    *axes* of a are moved to its end first. Errors are ``solve``'s.
    """
    given, sides = operand(a, "tensorsolve: a"), operand(b, "tensorsolve: b")
    if axes is not None:
        given = moveaxis(given, tuple(axes), tuple(range(given.ndim - len(axes), given.ndim)))
    shape = given.shape[sides.ndim :]
    count = math.prod(shape)
    if given.ndim <= sides.ndim or sides.size != count or given.size != count * count:
        raise ShapeError(
            f"tensorsolve: a {given.shape} does not fit b {sides.shape}: as many unknowns as "
            "equations are needed"
        )
    found: Array = solve(given.reshape((count, count)), ravel(sides), method=method)
    return found.reshape(shape)


def tensorinv(a: Array, ind: int = 2, *, method: By = "direct") -> Array:
    """The inverse of a as an operator from its last axes to its first *ind* ones."""
    given = operand(a, "tensorinv: a")
    if not isinstance(ind, int) or ind <= 0:
        raise ArgumentError(f"tensorinv: ind {ind!r} given, a whole number above 0 is needed")
    first, last = given.shape[:ind], given.shape[ind:]
    count = math.prod(last)
    if math.prod(first) != count:
        raise ShapeError(f"tensorinv: a {given.shape} with ind {ind} is no square matrix")
    return inv(given.reshape((count, count)), method=method).reshape((*last, *first))
