"""Cholesky's factorisation by halves, on a device or on the host."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial

from portmp import definition
from portmp.routines.triangular.steps import AHEAD, NOW, M, Steps


class CholeskySteps(Steps[M]):
    """What Cholesky's factorisation takes beside products and triangular systems."""

    @abstractmethod
    def block(self, a: M, origin: int) -> None:
        """Factor a block of at most BLOCK rows, which is at *origin* in the matrix."""

    def factor(self, a: M) -> None:
        """The lower triangle of a becomes L; the upper one holds anything afterwards."""
        with self.ordered():
            self._factor(self.first(a), 0, self.shape(a)[0])

    def _factor(self, a: M, first: int, end: int) -> None:
        """Rows and columns first to end - 1, which lost products with all before them."""
        if end - first <= definition.BLOCK:
            if end > first:
                mine = slice(first, end)
                self.needed(mine)
                self.block(self.part(a, mine, mine), first)
            return
        middle = first + definition.half(end - first)
        self._factor(a, first, middle)
        corner = self.part(a, slice(first, middle), slice(first, middle))
        parts = (slice(middle, end), slice(first, middle)), (slice(middle, end),) * 2
        below, rest = (self.part(a, *part) for part in parts)
        now, *later = _shares(end - middle)
        self.needed(slice(middle, middle + now.stop))
        self._rows(corner, below, rest, now)
        for rows in later:
            there = slice(middle + rows.start, middle + rows.stop)
            self.later(there, partial(self._rows_there, corner, below, rest, rows))
        self._factor(a, middle, end)

    def _rows_there(
        self, corner: M, below: M, rest: M, rows: slice, there: Callable[[M], M]
    ) -> None:
        self._rows(there(corner), there(below), there(rest), rows)

    def _rows(self, corner: M, below: M, rest: M, rows: slice) -> None:
        """Some rows of *below* become L's; *rest* loses their products with those before them."""
        before, width = slice(0, rows.start), slice(0, self.shape(below)[1])
        mine = self.part(below, rows, width)
        self.solve(corner, self.turned(mine), lower=True, unit=False)
        if rows.start:
            above = self.turned(self.part(below, before, width))
            self.multiply(mine, above, self.part(rest, rows, before), "subtract")
        self.square(mine, self.part(rest, rows, rows), "subtract")


def _shares(count: int) -> list[slice]:
    """Rows in parts, those that are needed first and others later: cut as ``square`` cuts them."""
    ends = [count]
    while count >= AHEAD and ends[0] > NOW:
        ends.insert(0, definition.half(ends[0]))
    return [slice(first, end) for first, end in zip([0, *ends], ends, strict=False)]
