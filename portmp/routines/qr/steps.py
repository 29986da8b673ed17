"""QR by halves of columns, on a device or on the host.

Q is a product of 1 - v t^-1 v^T, the v unit lower trapezoids and the t upper triangles with t + t^T
= v^T v (Puglisi 1992): two neighbours' t join by products, without a system to solve.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, NamedTuple

from portmp import definition
from portmp.routines.triangular.steps import M, Steps


class Reflectors(NamedTuple, Generic[M]):
    """A factor 1 - v t^-1 v^T of Q: where its v begins, v (m - first, width), and t."""

    first: int
    v: M
    t: M


class QrSteps(Steps[M]):
    """What QR takes beside products and triangular systems.

    ``negligible``: what others leave of a column counts as zero up to this length.
    """

    negligible = 0.0

    @abstractmethod
    def panel(self, a: M, t: M) -> None:
        """Factor a of at most BLOCK columns: R, below it the vectors; and their t."""

    @abstractmethod
    def empty(self, rows: int, columns: int, like: M) -> M:
        """New memory, which holds anything, as a (stack of) matrices as *like*."""

    def factor(self, a: M) -> list[Reflectors[M]]:
        """R takes the upper triangle of a; the factors of Q, from the left."""
        m, n = self.shape(a)
        k = min(m, n)
        found = self._columns(a, self.empty(m, k, a), 0, k, False)
        if n > k:
            for one in found:
                self.apply(one, self.part(a, slice(0, m), slice(k, n)), True)
        return found

    def _columns(
        self, a: M, v: M, first: int, end: int, together: bool, t: M | None = None
    ) -> list[Reflectors[M]]:
        """Columns first to end - 1, from row *first* on; *together*: as one factor.

        Its v stands in these columns of *v*, from row *first* on, and zeros above it; its t in *t*,
        if that is given.
        """
        m, _ = self.shape(a)
        width, below, columns = end - first, slice(first, m), slice(first, end)
        if not width:
            return []
        if t is None and (together or width <= definition.BLOCK):
            t = self.empty(width, width, a)
        if t is not None and width <= definition.BLOCK:
            self.panel(self.part(a, below, columns), t)
            whole = slice(0, m)
            self.trapezoid(self.part(a, whole, columns), first, self.part(v, whole, columns))
            return [Reflectors(first, self.part(v, below, columns), t)]
        h = definition.half(width)
        middle, top, bottom = first + h, slice(0, h), slice(h, width)
        corners = [None if t is None else self.part(t, one, one) for one in (top, bottom)]
        left = self._columns(a, v, first, middle, True, corners[0])[0]
        self.apply(left, self.part(a, slice(0, m), slice(middle, end)), True)
        right = self._columns(a, v, middle, end, together, corners[1])
        if t is None:
            return [left, *right]
        both = self.part(left.v, slice(h, m - first), top), right[0].v
        self.multiply(self.turned(both[0]), both[1], self.part(t, top, bottom), "set")
        return [Reflectors(first, self.part(v, below, columns), t)]

    def apply(self, one: Reflectors[M], c: M, transposed: bool) -> None:
        """c becomes q c, or q^T c, for one factor of Q."""
        m, columns = self.shape(c)
        _, width = self.shape(one.v)
        if not columns:
            return
        mine = self.part(c, slice(one.first, m), slice(0, columns))
        w = self.empty(width, columns, c)
        self.multiply(self.turned(one.v), mine, w, "set")
        t = self.turned(one.t) if transposed else one.t
        self.solve(t, w, lower=transposed, unit=False)
        self.multiply(one.v, w, mine, "subtract")

    def apply_all(self, factors: Sequence[Reflectors[M]], c: M, transposed: bool) -> None:
        """c becomes q c, or q^T c."""
        for one in factors if transposed else reversed(factors):
            self.apply(one, c, transposed)
