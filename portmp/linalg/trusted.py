"""How far a least-squares solution can be trusted, told by its own residual."""

import math
from typing import NamedTuple

from portmp.arrays import elementwise, products, sorting, statistics
from portmp.arrays.array import Array
from portmp.linalg.least_squares import lstsq
from portmp.linalg.norms import norm


class Trust(NamedTuple):
    """The residual |b - a x| / |b|, and how many digits of each unknown a correction leaves.

    The correction is the least-squares solution for the residual: what one step of refinement would
    change. That is an estimate, no bound; 0 where a correction is as large as an unknown.
    """

    residual: float
    digits: int


def trust(a: Array, b: Array, x: Array, rcond: float | None = None) -> Trust:
    """How far the solution x of ``lstsq(a, b, rcond)`` can be trusted."""
    left = b - products.matmul(a, x)
    size = float(norm(b.reshape(-1)))
    residual = float(norm(left.reshape(-1))) / size if size else 0.0
    change = elementwise.abs(lstsq(a, left, rcond).x)
    known = elementwise.abs(x)
    ratio = sorting.where(known > 0, change / known, elementwise.sign(change))
    worst = float(statistics.max(ratio)) if x.size else 0.0
    if not math.isfinite(worst):
        return Trust(residual, 0)
    held = math.floor(x.format.bits * math.log10(2))
    found = held if worst == 0 else math.floor(-math.log10(worst))
    return Trust(residual, max(0, min(held, found)))
