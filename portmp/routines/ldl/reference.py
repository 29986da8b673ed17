"""Bunch's and Kaufman's factorisation on the host, bit for bit as on devices."""

from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.ldl.steps import LdlSteps, operators
from portmp.routines.reference import Host
from portmp.routines.triangular import reference as triangular
from portmp.routines.triangular.reference import OnHost, wide


class Factors(NamedTuple):
    """L and D in one matrix; which row came to row i; and what column i of D is."""

    factors: Host
    order: np.ndarray[Any, np.dtype[np.int32]]
    kinds: np.ndarray[Any, np.dtype[np.int32]]


class _OnHost(OnHost, LdlSteps[Host]):
    def __init__(self, form: Format, n: int, hermitian: bool) -> None:
        super().__init__(form)
        self.hermitian, self.ops = hermitian, operators(form, hermitian)
        self.order, self.kinds = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)

    def panel(self, a: Host, v: Host, first: int, end: int) -> int:
        n = len(a[0])
        k = first
        with ieee.quiet():
            while k < end and (k + 1 < end or end == n):
                other, pair = self._pivot(a, v, first, k)
                if other != k + pair:
                    self._swap(a, v, first, k, k + pair, other)
                self.kinds[k : k + 1 + pair] = (1, 2) if pair else 0
                self._columns(a, v, k, k - first, pair)
                k += 1 + pair
        return k

    def _update(self, a: Host, v: Host, first: int, k: int, column: int, to: int) -> None:
        """A column of the matrix from row k on, up to date, to a column of v."""
        signs = self._signs()
        rows = [sign * p[column, k:column] for sign, p in zip(signs, a, strict=True)]
        z = self.load(
            [np.concatenate([r, p[column:, column]])[:, None] for r, p in zip(rows, a, strict=True)]
        )
        for j in range(k - first):
            left = self.load([p[k:, first + j : first + j + 1] for p in a])
            top = self.load([p[column : column + 1, j : j + 1] for p in v])
            minus = self.ar.operator("neg", left)
            z = self.ar.operator(self.ops["update"], minus, wide(top, z), z)
        self.store([p[k:, to : to + 1] for p in v], z)
        for sign, plane in zip(signs, v, strict=True):
            if sign < 0:
                plane[column, to] = 0

    def _signs(self) -> list[int]:
        """What elements above the diagonal are those below it times, plane by plane."""
        limbs, words = self.form.limbs, self.form.words
        return [-1 if self.hermitian and k >= limbs else 1 for k in range(words)]

    def _found(self, v: Host, column: int) -> np.ndarray[Any, Any]:
        """Sizes in a column of v; a NaN is less than any number."""
        sizes = self.sizes([p[:, column] for p in v])
        found: np.ndarray[Any, Any] = np.nan_to_num(sizes, nan=-1.0, posinf=np.inf)
        return found

    def _pivot(self, a: Host, v: Host, first: int, k: int) -> tuple[int, int]:
        """Which row comes to the diagonal, and whether two columns are a pair."""
        mine, word = k - first, self.ar.word.type
        self._update(a, v, first, k, k, mine)
        sizes = self._found(v, mine)
        if k + 1 == len(sizes) or not sizes[k + 1 :].max() > 0:
            return k, 0
        row = k + 1 + int(np.argmax(sizes[k + 1 :]))
        below, here = word(sizes[row]), sizes[k]
        alpha = word(definition.PIVOT)
        if here >= alpha * below:
            return k, 0
        self._update(a, v, first, k, row, mine + 1)
        others = self._found(v, mine + 1)[k:]
        there, others[row - k] = others[row - k], -3
        largest = word(others.max())
        both = (self.ar.zeros(self.form.words, (1,), size) for size in (below, largest))
        ratio = self.ar.operator(self.ops["ratio"], *both)[0][0]
        if here >= alpha * below * ratio:
            return k, 0
        if there >= alpha * largest:
            for plane in v:
                plane[k:, mine] = plane[k:, mine + 1]
            return row, 0
        return row, 1

    def _swap(self, a: Host, v: Host, first: int, k: int, row: int, other: int) -> None:
        """Rows and columns *row* and *other* of what is left; the rows of L and v."""
        for sign, plane in zip(self._signs(), a, strict=True):
            held = plane[:, row].copy()
            plane[other, other] = held[row]
            plane[other, row + 1 : other] = sign * held[row + 1 : other]
            plane[other + 1 :, other] = held[other + 1 :]
            plane[[row, other], :k] = plane[[other, row], :k]
        for plane in v:
            plane[[row, other], : row - first + 1] = plane[[other, row], : row - first + 1]
        self.order[[row, other]] = self.order[[other, row]]

    def _columns(self, a: Host, v: Host, k: int, mine: int, pair: int) -> None:
        """One or two columns of L and D."""
        for plane, held in zip(a, v, strict=True):
            for i in range(1 + pair):
                plane[k + i :, k + i] = held[k + i :, mine + i]
        below = [p[k + 1 + pair :] for p in a]
        if not pair:
            if any(p[k, mine] != 0 for p in v[:: self.form.limbs]):
                self.operate(self.ops["quotient"], [p[:, k : k + 1] for p in below], a, k, k)
            return
        if not len(below[0]):
            return
        ar = self.ar
        top, side, corner = (
            self.load([p[k + i : k + i + 1, mine + j : mine + j + 1] for p in v])
            for i, j in ((0, 0), (1, 0), (1, 1))
        )
        ops, one = self.ops, ar.zeros(self.form.words, (1, 1), 1.0)
        d1, d2 = ar.operator("div", corner, side), ar.operator(ops["across"], top, side)
        rest = ar.operator("fma", d1, d2, ar.operator("neg", one))
        inverse = ar.operator(ops["quotient"], one, rest)
        scales = [ar.operator(op, inverse, side) for op in (ops["across"], "div")]
        x, y = (self.load([p[k + 2 :, mine + i : mine + i + 1] for p in v]) for i in range(2))
        for i, (d, own, far) in enumerate(((d1, x, y), (d2, y, x))):
            z = ar.operator("fma", wide(d, own), own, ar.operator("neg", far))
            column = [p[:, k + i : k + i + 1] for p in below]
            self.store(column, ar.operator("mul", wide(scales[i], z), z))


def factor(form: Format, a: Host, hermitian: bool = False) -> Factors:
    """L and D of a (n, n), packed in the lower triangle."""
    w = triangular.copied(a)
    n = len(w[0])
    steps = _OnHost(form, n, hermitian)
    steps.factor(w, [np.zeros((n, definition.BLOCK), p.dtype) for p in w])
    return Factors(w, steps.order, steps.kinds)


def lower(form: Format, a: Host, hermitian: bool = False) -> Host:
    """L with rows in the order of a: what ``linalg.ldl`` gives first."""
    found = factor(form, a, hermitian)
    unit = triangular.triangle(found.factors, lower=True, unit=True)
    for plane in unit:
        first = np.flatnonzero(found.kinds == 1)
        plane[first + 1, first] = 0
    return [p[np.argsort(found.order)] for p in unit]
