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
from portmp.linalg.iterative import DEEPEST, SLACK, Approximation, Solution, given_back
from portmp.linalg.operators import Linear, Operator, Scaled, normal, scaled

Callback = Callable[[Any], object]


class Method(ABC):
    """An iterative method: ``correction`` is what it does in a round."""

    name: str
    helps: float
    """A round that leaves more than this of the residual is the last."""

    def __init__(
        self, matrix: Scaled, preconditioner: Scaled | None, callback: Callback | None = None
    ) -> None:
        self.matrix, self.preconditioner, self.callback = matrix, preconditioner, callback
        self.size = 0.0  # the largest |a v| / |v| so far: none is above the norm of a
        self.done = 0
        self.relative = 1.0  # the norm of the round's residual over that of b
        self.whole: Callable[[Array], Array] = lambda change: change  # x with a round's correction

    @abstractmethod
    def correction(self, residual: Array, enough: float, most: int) -> tuple[Array, int]:
        """x with a x near *residual*, by at most *most* iterations from zero, and their number.

        They may end when the residual's norm is *enough* times that of what was given.
        """


class System:
    """a x = b, scaled by powers of two: ``matrix`` 2^-power a, and ``side`` with its norm."""

    def __init__(self, name: str, a: Operator, b: Array, power: int) -> None:
        self.name = name
        self.side, self.exponent = normal(b)
        self.matrix = Scaled(a, power, self.side)
        self.size = iterative.norm(self.side, name)

    def solved(
        self,
        method: Method,
        x0: Array | None,
        rtol: float | None,
        atol: float,
        depth: float,
        most: int,
        told: Callback | None = None,
    ) -> Solution:
        """The solution by rounds from *x0* on, until it is good enough or they are of no use.

        A round reduces residuals to *depth* at most, all take *most* iterations. *told* gets x
        after each round.
        """
        shift, unit = self.exponent - self.matrix.power, self.side.format.unit_roundoff
        least = math.ldexp(atol, -self.exponent)
        nothing = zeros(self.side.shape, self.side.format, self.side.queue)
        best = Approximation(nothing, self.side, self.size, 0.0)
        if x0 is not None:
            best = self._approximation(scaled(x0, -shift))
        rounds: list[int] = []
        residuals: list[float] = []

        def goal() -> float:
            """The largest norm of a residual that is small enough."""
            asked = rtol if rtol is not None else SLACK * unit
            known = 0.0 if rtol is not None else method.size * best.length
            return max(asked * (known + self.size), least)

        def whole(x: Array, power: int) -> Callable[[Array], Array]:
            return lambda change: scaled(x + scaled(change, power), shift)

        while best.left > goal() and most > sum(rounds):
            small, power = normal(best.residual)
            enough = max(depth, goal() / best.left / 2)
            method.relative, method.whole = best.left / self.size, whole(best.x, power)
            change, count = method.correction(small, enough, most - sum(rounds))
            after = self._approximation(best.x + scaled(change, power))
            rounds.append(count)
            residuals.append(after.left / self.size)
            settled = not after.left <= method.helps * best.left
            if after.left < best.left:
                best = after
            if told is not None:
                told(scaled(best.x, shift))
            if settled or count == 0:
                break
        found = given_back(self.name, best, shift)
        reached = best.left <= goal()
        return Solution(found, best.left / self.size, reached, tuple(rounds), tuple(residuals))

    def _approximation(self, x: Array) -> Approximation:
        """x with its residual, which is taken anew; ArgumentError where a norm is not finite."""
        rest = self.matrix.residual(x, self.side)
        left, length = (iterative.norm(v, self.name) for v in (rest, x))
        return Approximation(x, rest, left, length)


def solved(
    make: Callable[[Scaled, Scaled | None], Method],
    name: str,
    a: Linear,
    b: Array,
    x0: Array | None,
    rtol: float | None,
    atol: float | None,
    maxiter: int | None,
    M: Linear | None,
    callback: Callback | None,
    each_round: bool = False,
) -> Solution:
    """The solution of a x = b by rounds of the method that *make* makes.

    *callback* is only checked, as *make* has it; *each_round*: it is called with x after rounds.
    """
    b = iterative.vector(b, name, a, x0, M)
    of = operators.operator(a, b, name)
    iterative.check_count(name, "maxiter", maxiter)
    iterative.check_callback(name, callback)
    least = iterative.check_tolerances(name, "rtol", rtol, atol)
    first = iterative.started(x0, b, name)
    conditioning = None if M is None else operators.operator(M, b, name, "M")
    if iterative.norm(b, name) == 0:
        return iterative.nothing(b)
    system = System(name, of, b, operators.power_of(of, b))
    preconditioner = None
    if conditioning is not None:
        power = operators.power_of_image(conditioning, b)
        preconditioner = Scaled(conditioning, power, system.side)
    method = make(system.matrix, preconditioner)
    most = maxiter or iterative.usual(b)
    told = callback if each_round else None
    return system.solved(method, first, rtol, least, DEEPEST[b.format.word], most, told)


def largest(*values: float) -> float:
    """The largest number; infinities and NaN do not count."""
    return max((v for v in values if math.isfinite(v)), default=0.0)
