"""Cholesky's factorisation by halves, on a device or on the host."""

from __future__ import annotations

from abc import abstractmethod

from portmp import definition
from portmp.routines.triangular.steps import M, Steps


class CholeskySteps(Steps[M]):
    """What Cholesky's factorisation takes beside products and triangular systems."""

    @abstractmethod
    def block(self, a: M, origin: int) -> None:
        """Factor a block of at most BLOCK rows, which is at *origin* in the matrix."""

    def factor(self, a: M, origin: int = 0) -> None:
        """The lower triangle of a becomes L; the upper one holds anything afterwards."""
        n, _ = self.shape(a)
        if n <= definition.BLOCK:
            if n:
                self.block(a, origin)
            return
        h = definition.half(n)
        first, last = slice(0, h), slice(h, n)
        corner, below = self.part(a, first, first), self.part(a, last, first)
        rest = self.part(a, last, last)
        self.factor(corner, origin)
        self.solve(corner, self.turned(below), lower=True, unit=False)
        self.square(below, rest, "subtract")
        self.factor(rest, origin + h)
