"""Cholesky's factorisation by halves of columns, on a device or on the host."""

from abc import abstractmethod

from portmp import definition
from portmp.formats import Format
from portmp.routines.triangular.steps import M, Steps


def operators(form: Format) -> dict[str, str]:
    """Operators by what they are for: of complex numbers the second factor is a conjugate.

    Of rows below a block, which are found by its elements, that is the first one.
    """
    found = {"sqrt": "sqrt", "div": "div", "neg": "neg", "fma": "fma", "below": "fma"}
    if form.components > 1:
        found |= {"sqrt": "root", "div": "div_real", "fma": "fma_conj", "below": "conj_fma"}
    return found


class CholeskySteps(Steps[M]):
    """What Cholesky's factorisation takes beside products and triangular systems."""

    beyond = definition.BEYOND_FACTORS

    @abstractmethod
    def block(self, a: M, origin: int) -> None:
        """Factor a block of at most BLOCK rows, which is at *origin* in the matrix."""

    def panel(self, corner: M, below: M, origin: int) -> None:
        """Factor a block, and find the rows below it: the x of x l^H = b."""
        self.block(corner, origin)
        self.solve(corner, self.turned(below), lower=True, unit=False, taken="factor")

    def factor(self, a: M) -> None:
        """The lower triangle of a becomes L; the upper one holds anything afterwards."""
        n, _ = self.shape(a)
        if n:
            self._columns(a, 0, n)

    def _columns(self, a: M, first: int, end: int) -> None:
        """Columns first to end - 1, in all rows from the diagonal down."""
        rows, _ = self.shape(a)
        if end - first <= definition.BLOCK:
            columns, below = slice(first, end), slice(end, rows)
            self.panel(self.part(a, columns, columns), self.part(a, below, columns), first)
            return
        middle = first + definition.half(end - first)
        below, right = slice(middle, rows), slice(middle, end)
        self._columns(a, first, middle)
        left = self.part(a, below, slice(first, middle))
        self.square_and_below(left, self.part(a, below, right), "subtract")
        self._columns(a, middle, end)
