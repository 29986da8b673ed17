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

    def panel(self, w: M, first: int, end: int, columns: slice) -> None:
        """Factor columns first to end - 1 of w from row *first* on; swap rows of some *columns*.

        These are among them.
        """
        m, _ = self.shape(w)
        if self.alone(self.part(w, slice(first, m), slice(first, end)), first):
            self.swap(w, first, end, slice(columns.start, first))
            self.swap(w, first, end, slice(end, columns.stop))
        else:
            self.swap(w, first, end, columns)

    def alone(self, panel: M, first: int) -> bool:
        """Factor a panel that begins in row *first*; whether its own rows were swapped, too."""
        raise NotImplementedError

    @abstractmethod
    def swap(self, w: M, first: int, end: int, columns: slice) -> None:
        """Do the swaps of panels in columns first to end - 1 in other columns."""

    def factor(self, w: M) -> None:
        """w becomes L below the diagonal and U on and above it."""
        m, n = self.shape(w)
        k = min(m, n)
        self._columns(w, 0, k)
        if k and n > k:
            self.right(w, 0, k, self.part(w, slice(0, m), slice(k, n)))

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
        right = self.part(w, slice(0, self.shape(w)[0]), slice(middle, end))
        self.right(w, first, middle, right, swapped=together is not None)
        self._columns(w, middle, end, together)
        if together is None:
            self.swap(w, middle, end, slice(first, middle))

    def right(self, w: M, first: int, middle: int, c: M, swapped: bool = False) -> None:
        """What factors of columns first to middle - 1 do to columns c right of them."""
        m, count = self.shape(c)
        left, below, columns = slice(first, middle), slice(middle, m), slice(0, count)
        if not swapped:
            self.swap(c, first, middle, columns)
        top = self.part(c, left, columns)
        self.solve_again(self.part(w, left, left), top, lower=True, unit=True)
        if middle < m:
            self.multiply(self.part(w, below, left), top, self.part(c, below, columns), "subtract")
