"""LU by halves of columns, on a device or on the host."""

from __future__ import annotations

from abc import abstractmethod

from portmp import definition
from portmp.routines.triangular.steps import M, Steps


class LuSteps(Steps[M]):
    """What LU takes beside products and triangular systems."""

    @abstractmethod
    def panel(self, w: M, first: int, end: int) -> None:
        """Factor columns first to end - 1 of w from row *first* on; swap whole rows of w."""

    def factor(self, w: M) -> None:
        """w becomes L below the diagonal and U on and above it."""
        m, n = self.shape(w)
        k = min(m, n)
        self._columns(w, 0, k)
        if k and n > k:
            rows, rest = slice(0, k), slice(k, n)
            left = self.part(w, rows, slice(0, k))
            self.solve(left, self.part(w, rows, rest), lower=True, unit=True)

    def _columns(self, w: M, first: int, end: int) -> None:
        m, _ = self.shape(w)
        if end - first <= definition.BLOCK:
            if end > first:
                self.panel(w, first, end)
            return
        middle = first + definition.half(end - first)
        left, right = slice(first, middle), slice(middle, end)
        self._columns(w, first, middle)
        top = self.part(w, left, right)
        self.solve(self.part(w, left, left), top, lower=True, unit=True)
        below = slice(middle, m)
        self.multiply(self.part(w, below, left), top, self.part(w, below, right), "subtract")
        self._columns(w, middle, end)
