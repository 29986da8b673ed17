"""Systems of equations between arrays of more axes, as matrices of all their elements."""

import math
from collections.abc import Sequence
from typing import Any

from portmp.arrays import manipulation
from portmp.arrays.array import Array
from portmp.arrays.viewed import integers
from portmp.errors import ArgumentError, MatrixShapeError
from portmp.linalg import operands
from portmp.linalg.elimination import inv
from portmp.linalg.operands import By
from portmp.linalg.systems import solve
from portmp.routines import axes as named_axes


def tensorsolve(
    a: Any, b: Any, axes: int | Sequence[int] | None = None, *, method: By = "auto"
) -> Array:
    """The x with ``tensordot(a, x, x.ndim) == b``: a (\\*b.shape, \\*x.shape), by ``solve``.

    *axes* of a are moved to its end first. ShapeError where a is no square matrix so.
    """
    known = next((v for v in (a, b) if isinstance(v, Array)), None)
    given = operands.values(a, "tensorsolve: a", known)
    side = operands.values(b, "tensorsolve: b", given)
    if axes is not None:
        there = named_axes.named(axes, given.ndim, "axes")
        rest = [k for k in range(given.ndim) if k not in there]
        given = manipulation.permute_dims(given, (*rest, *there))
    unknown = given.shape[side.ndim :]
    n = math.prod(unknown)
    if given.shape[: side.ndim] != side.shape or n != side.size:
        raise MatrixShapeError(
            f"tensorsolve: a {given.shape} does not fit b {side.shape}: the shape of b and as many "
            "unknowns are needed"
        )
    found: Array = solve(given.reshape(n, n), side.reshape(n), method=method).reshape(unknown)
    return found


def tensorinv(a: Any, ind: int = 2, *, method: By = "auto") -> Array:
    """The inverse of ``tensordot`` with a: before *ind* axes as many elements as after them."""
    given = operands.values(a, "tensorinv: a")
    (count,) = integers((ind,), "ind", count=1)
    if count <= 0:
        raise ArgumentError(f"tensorinv: ind {ind} given, a number from 1 on is needed")
    rows, columns = given.shape[:count], given.shape[count:]
    n = math.prod(rows)
    if n != math.prod(columns):
        raise MatrixShapeError(f"tensorinv: a {given.shape} with ind {count} is no square matrix")
    found: Array = inv(given.reshape(n, n), method=method).reshape((*columns, *rows))
    return found
