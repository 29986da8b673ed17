"""LU by halves of columns, on a device or on the host."""

from abc import abstractmethod

from portmp import definition
from portmp.routines.triangular.steps import M, Steps

TOGETHER = 256
"""Rows of so many columns are swapped after each panel among them; of others, after many: a
schedule."""


class LuSteps(Steps[M]):
    """What LU takes beside products and triangular systems."""

    beyond = definition.BEYOND_FACTORS

    @abstractmethod
    def panel(self, w: M, first: int, end: int, columns: slice) -> None:
        """Factor columns first to end - 1 of w from row *first* on; swap rows of some *columns*.

        These are among them.
        """

    @abstractmethod
    def swap(self, w: M, first: int, end: int, columns: slice) -> None:
        """Do the swaps of panels in columns first to end - 1 in other columns."""

    def factor(self, w: M) -> None:
        """w becomes L below the diagonal and U on and above it."""
        m, n = self.shape(w)
        k = min(m, n)
        self._columns(w, 0, k)
        if k and n > k:
            self._right(w, 0, k, slice(k, n))

    def _columns(self, w: M, first: int, end: int, together: slice | None = None) -> None:
        """Columns first to end - 1; a panel's swaps reach those *together* with it at once."""
        if together is None and end - first <= TOGETHER:
            together = slice(first, end)
        if together and end - first <= definition.BLOCK:
            if end > first:
                self.panel(w, first, end, together)
            return
        middle = first + definition.half(end - first)
        self._columns(w, first, middle, together)
        self._right(w, first, middle, slice(middle, end), swapped=together is not None)
        self._columns(w, middle, end, together)
        if together is None:
            self.swap(w, middle, end, slice(first, middle))

    def _right(self, w: M, first: int, middle: int, columns: slice, swapped: bool = False) -> None:
        """What factors of columns first to middle - 1 do to columns right of them."""
        m, _ = self.shape(w)
        left, below = slice(first, middle), slice(middle, m)
        if not swapped:
            self.swap(w, first, middle, columns)
        top = self.part(w, left, columns)
        self.solve(self.part(w, left, left), top, lower=True, unit=True)
        if middle < m:
            self.multiply(self.part(w, below, left), top, self.part(w, below, columns), "subtract")
