"""QR by halves of columns, on a device or on the host.

Q is a product of 1 - v t^-1 v^H, the v unit lower trapezoids and the t upper triangles with t + t^H
= v^H v (Puglisi 1992): two neighbours' t join by products, without a system to solve. What is kept
is v^T, whose conjugate products take.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Generic, NamedTuple

from portmp import definition
from portmp.routines.triangular.steps import M, Steps


class Kept(NamedTuple, Generic[M]):
    """Memory of Q's factors: all v side by side, all v^T, and each t from its first row on."""

    v: M
    across: M
    t: M


class Reflectors(NamedTuple, Generic[M]):
    """A factor 1 - v t^-1 v^T of Q: where its v begins, v (m - first, width), v^T, and t."""

    first: int
    v: M
    across: M
    t: M


def reflectors(firsts: Sequence[int], memory: Sequence[M]) -> list[Reflectors[M]]:
    """Factors that begin in these rows, by their memory, one's after the other's."""
    each = zip(firsts, memory[::3], memory[1::3], memory[2::3], strict=True)
    return [Reflectors(*one) for one in each]


class QrSteps(Steps[M]):
    """What QR takes beside products and triangular systems.

    ``negligible``: what others leave of a column counts as zero up to this length.
    """

    negligible = 0.0

    @abstractmethod
    def panel(self, a: M, t: M) -> None:
        """Factor a of at most BLOCK columns: R, below it the vectors; and their t."""

    copies_across = False
    """Whether v^T has memory of its own."""

    def across(self, v: M) -> M:
        """v^T as products read it."""
        rows, columns = self.shape(v)
        return self.empty(columns, rows, v) if self.copies_across else self.turned(v)

    @abstractmethod
    def put(self, x: M, out: M) -> None:
        """out = x."""

    @abstractmethod
    def subtract(self, x: M, out: M) -> None:
        """out becomes out - x, element by element."""

    @abstractmethod
    def conjugate(self, x: M) -> None:
        """x becomes its conjugate: nothing of real numbers."""

    @abstractmethod
    def empty(self, rows: int, columns: int, like: M) -> M:
        """New memory, which holds anything, as a (stack of) matrices as *like*."""

    def kept(self, a: M) -> Kept[M]:
        """New memory for the factors of Q of a."""
        m, n = self.shape(a)
        k = min(m, n)
        v = self.empty(m, k, a)
        return Kept(v, self.across(v), self.empty(k, cuts(k)[1], a))

    def all_reflectors(self, kept: Kept[M]) -> list[Reflectors[M]]:
        """The factors of Q, from the left."""
        _, k = self.shape(kept.v)
        return [
            self.reflectors(kept, at, end, self.part(kept.t, slice(at, end), slice(0, end - at)))
            for at, end in pairwise(cuts(k))
        ]

    def factor(self, a: M, kept: Kept[M]) -> None:
        """R takes the upper triangle of a; *kept* the factors of Q."""
        m, n = self.shape(a)
        for each, end in zip(self.all_reflectors(kept), cuts(min(m, n))[1:], strict=True):
            self._columns(a, kept, each.t, each.first, end)
            self.apply(each, self.part(a, slice(0, m), slice(end, n)), True)

    def reflectors(self, kept: Kept[M], first: int, end: int, t: M) -> Reflectors[M]:
        """What columns first to end - 1 of all v make, with this t."""
        m, _ = self.shape(kept.v)
        below, columns = slice(first, m), slice(first, end)
        v, across = self.part(kept.v, below, columns), self.part(kept.across, columns, below)
        return Reflectors(first, v, across, t)

    def _columns(self, a: M, kept: Kept[M], t: M, first: int, end: int) -> Reflectors[M]:
        """Columns first to end - 1, from row *first* on, as one factor.

        Its v stands in these columns of all v, from row *first* on, and zeros above it.
        """
        m, _ = self.shape(a)
        width, columns = end - first, slice(first, end)
        found = self.reflectors(kept, first, end, t)
        if width <= definition.BLOCK:
            self.panel(self.part(a, slice(first, m), columns), t)
            whole = slice(0, m)
            v, across = self.part(kept.v, whole, columns), self.part(kept.across, columns, whole)
            self.trapezoid(self.part(a, whole, columns), first, v)
            if self.copies_across:
                self.put(self.turned(v), across)
            return found
        h = definition.half(width)
        middle, top, bottom = first + h, slice(0, h), slice(h, width)
        left = self._columns(a, kept, self.part(t, top, top), first, middle)
        self.apply(left, self.part(a, slice(0, m), slice(middle, end)), True)
        right = self._columns(a, kept, self.part(t, bottom, bottom), middle, end)
        beside = self.part(left.across, top, slice(h, m - first))
        self._across(beside, right, self.part(t, top, bottom))
        return found

    def _across(self, a: M, one: Reflectors[M], out: M) -> None:
        """out = conj(a) v."""
        method = self.method_for(*self.shape(out), self.shape(a)[1])
        if method is None:
            self.product(a, one.v, out, "set", method, "a")
            return
        rows, width = self.shape(out)
        self.put(self.part(a, slice(0, rows), slice(0, width)), out)
        self.conjugate(out)
        with self._without_ones(one):
            self.product(a, one.v, out, "add", method, "a")

    @contextmanager
    def _without_ones(self, one: Reflectors[M]) -> Iterator[None]:
        """v without the ones of its diagonal meanwhile.

        They are far above what stands below them, so that integers would need bits for both.
        """
        _, width = self.shape(one.v)
        square = slice(0, width)
        parts = [self.part(one.v, square, square)]
        if self.copies_across:
            parts.append(self.turned(self.part(one.across, square, square)))
        for part in parts:
            self.trapezoid(part, 1, part, unit=False)
        try:
            yield
        finally:
            for part in parts:
                self.trapezoid(part, 0, part)

    def apply(self, one: Reflectors[M], c: M, transposed: bool) -> None:
        """c becomes q c, or q^H c, for one factor of Q."""
        m, columns = self.shape(c)
        _, width = self.shape(one.v)
        if not columns:
            return
        mine = self.part(c, slice(one.first, m), slice(0, columns))
        w = self.empty(width, columns, c)
        t = self.turned(one.t) if transposed else one.t
        taken = "conjugated" if transposed and self.form.components > 1 else ""
        method = self.method_for(width, columns, m - one.first)
        if method is None:
            self.product(one.across, mine, w, "set", method, "a")
            self.solve(t, w, lower=transposed, unit=False, taken=taken)
            self.product(one.v, w, mine, "subtract", method)
            return
        top = self.part(mine, slice(0, width), slice(0, columns))
        self.put(top, w)
        with self._without_ones(one):
            self.product(one.across, mine, w, "add", method, "a")
            self.solve(t, w, lower=transposed, unit=False, taken=taken)
            self.product(one.v, w, mine, "subtract", method)
        self.subtract(w, top)

    def apply_all(self, factors: Sequence[Reflectors[M]], c: M, transposed: bool) -> None:
        """c becomes q c, or q^H c."""
        for one in factors if transposed else reversed(factors):
            self.apply(one, c, transposed)


def cuts(k: int) -> list[int]:
    """Where factors of k columns begin, and k: left halves of what is on the right."""
    found = [0] if k else []
    while found and found[-1] < k:
        rest = k - found[-1]
        found.append(found[-1] + (definition.half(rest) if rest > definition.BLOCK else rest))
    return found
