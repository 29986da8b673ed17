"""Bunch's and Kaufman's factorisation by panels, on a device or on the host."""

from abc import abstractmethod

from portmp import definition
from portmp.formats import Format
from portmp.routines.triangular.steps import WHOLE, M, Steps, blocks_of_square


def operators(form: Format, hermitian: bool) -> dict[str, str]:
    """Operators by what they are for.

    Of Hermitian matrices the second factor of what a column loses is a conjugate, as is one element
    of a pair, and pivots are real; ratios of sizes are real in any case.
    """
    names = {"mul": "mul", "div": "div", "neg": "neg", "fma": "fma", "update": "fma"}
    names |= {"quotient": "div", "across": "div", "ratio": "div"}
    if form.components > 1:
        names["ratio"] = "div_real"
    if hermitian:
        names |= {"update": "fma_conj", "quotient": "div_real", "across": "div_conj"}
    return names


class LdlSteps(Steps[M]):
    """What L D L^T takes beside products; ``hermitian``: L D L^H, of complex numbers."""

    hermitian = False

    @abstractmethod
    def panel(self, a: M, v: M, first: int, end: int) -> int:
        """Factor columns from *first* on, before *end*; the number of the column to go on with.

        v (n, BLOCK) takes the columns of L D.
        """

    def factor(self, a: M, v: M) -> None:
        """The lower triangle of a becomes L, with D on its diagonal and beside it."""
        n, _ = self.shape(a)
        first = 0
        while first < n:
            end = min(first + definition.BLOCK, n)
            then = self.panel(a, v, first, end)
            rest = slice(then, n)
            left = self.part(a, rest, slice(first, then))
            right = self.part(v, rest, slice(0, then - first))
            self._take(left, right, self.part(a, rest, rest))
            first = then

    def _take(self, left: M, right: M, c: M) -> None:
        """The lower triangle of c loses left right^T, or left right^H; beyond it too where a block
        is small.
        """
        n, k = self.shape(left)
        steps = slice(0, k)
        for rows, columns, *_ in blocks_of_square(n, WHOLE):
            top = self.turned(self.part(right, columns, steps))
            mine, target = self.part(left, rows, steps), self.part(c, rows, columns)
            self.multiply(mine, top, target, "subtract", "b" if self.hermitian else "")
