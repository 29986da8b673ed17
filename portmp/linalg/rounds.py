"""Rounds of an iterative method: corrections from zero, and residuals taken anew between them.

The system is scaled by powers of two first, so that the matrix, the right-hand side and with them
all vectors of a round are near 1 and nothing underflows, whatever the words.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from portmp.arrays.array import Array, zeros
from portmp.linalg import iterative, operators
from portmp.linalg.iterative import (
    DEEPEST,
    Approximation,
    Goal,
    Solution,
    approximation,
    given_back,
)
from portmp.linalg.operators import Linear, Scaled, normal, scaled


class Method(ABC):
    """An iterative method: ``correction`` is what it does in a round."""

    name: str
    helps: float
    """A round that leaves more than this of the residual is the last."""

    def __init__(self, matrix: Scaled, preconditioner: Scaled | None) -> None:
        self.matrix, self.preconditioner = matrix, preconditioner
        self.size = 0.0  # the largest |a v| / |v| so far: none is above the norm of a
        self.done = 0
        self.relative = 1.0  # the norm of the round's residual over that of b
        self.whole: Callable[[Array], Array] = lambda change: change  # x with a round's correction

    @abstractmethod
    def correction(self, residual: Array, enough: float, most: int) -> tuple[Array, int]:
        """x with a x near *residual*, by at most *most* iterations from zero, and their number.

        They may end when the residual's norm is *enough* times that of what was given.
        """


Callback = Callable[[Any], object]


def solved(
    make: Callable[[Scaled, Scaled | None], Method],
    name: str,
    a: Linear,
    b: Array,
    *,
    x0: Array | None,
    rtol: float | None,
    atol: float | None = None,
    maxiter: int | None,
    M: Linear | None,
    callback: Callback | None,
    each_round: bool = False,
) -> Solution:
    """The solution of a x = b by rounds of the method that *make* makes.

    *callback* is only checked, as *make* has it; *each_round*: it is called with x after rounds.
    """
    b = iterative.vector(b, name)
    of = operators.operator(a, b, name)
    least = _checked(name, rtol, atol, maxiter, callback)
    first = iterative.started(x0, b, name)
    conditioning = None if M is None else operators.operator(M, b, name, "M")
    x = zeros(b.shape, b.format, b.queue)
    size = iterative.norm(b, name)
    if size == 0:
        return Solution(x, 0.0, True, (), ())
    side, exponent = normal(b)
    power = operators.power_of(of, b)
    matrix = Scaled(of, power, side)
    preconditioner = None
    if conditioning is not None:
        preconditioner = Scaled(conditioning, operators.power_of_image(conditioning, b), side)
    size = iterative.norm(side, name)
    best = Approximation(x, side, size, 0.0)
    if first is not None:
        best = approximation(name, scaled(first, power - exponent), matrix, side)
    goal = Goal(rtol, b.format.unit_roundoff, 0.0, size, math.ldexp(least, -exponent))
    depth = DEEPEST[b.format.word]
    left = maxiter or 10 * b.size * b.format.limbs
    rounds: list[int] = []
    residuals: list[float] = []

    def unscaled(z: Array) -> Array:
        return scaled(z, exponent - power)

    def whole(x: Array, shift: int) -> Callable[[Array], Array]:
        return lambda change: unscaled(x + scaled(change, shift))

    method = make(matrix, preconditioner)
    while best.left > goal.at(best.length) and left > 0:
        small, shift = normal(best.residual)
        enough = max(depth, goal.at(best.length) / best.left / 2)
        method.relative, method.whole = best.left / size, whole(best.x, shift)
        change, count = method.correction(small, enough, left)
        left -= count
        after = approximation(name, best.x + scaled(change, shift), matrix, side)
        goal.matrix = method.size
        rounds.append(count)
        residuals.append(after.left / size)
        settled = not after.left <= method.helps * best.left
        if after.left < best.left:
            best = after
        if each_round and callback is not None:
            callback(unscaled(best.x))
        if settled or count == 0:
            break
    found = given_back(name, best, exponent - power)
    reached = best.left <= goal.at(best.length)
    return Solution(found, best.left / size, reached, tuple(rounds), tuple(residuals))


def _checked(
    name: str, rtol: float | None, atol: float | None, maxiter: int | None, callback: object
) -> float:
    """*atol*, 0 by default, once all of them are what they have to be."""
    iterative.check_count(name, "maxiter", maxiter)
    iterative.check_callback(name, callback)
    return iterative.check_tolerances(name, "rtol", rtol, atol)


def largest(*values: float) -> float:
    """The largest number; infinities and NaN do not count."""
    return max((v for v in values if math.isfinite(v)), default=0.0)
