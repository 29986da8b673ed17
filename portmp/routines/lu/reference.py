"""LU on the host, bit for bit as on devices."""

from typing import Any, NamedTuple

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.lu.steps import LuSteps
from portmp.routines.reference import Host
from portmp.routines.triangular import reference as triangular
from portmp.routines.triangular.reference import OnHost
from portmp.routines.triangular.steps import Method

INFINITY = 0x7F800000
"""The bits of float32's."""
WEAK = 15 / 16
"""The share of a format's bits that a pivot may lose before it counts as rounding errors alone."""
FEW = 32
"""Orders of rows of up to so many matrices are found one by one, of more all at once."""


class Factors(NamedTuple):
    """L and U in one matrix, swaps in order, and the first column without a pivot (from 1)."""

    factors: Host
    pivots: np.ndarray[Any, Any]
    singular: int


class _OnHost(OnHost, LuSteps[Host]):
    def __init__(self, form: Format, method: Method, count: int) -> None:
        super().__init__(form, method)
        self.pivots = np.zeros(count, np.int32)
        self.singular = 0

    def panel(self, w: Host, first: int, end: int, columns: slice) -> None:
        with ieee.quiet():
            for col in range(first, end):
                sizes = self.sizes([p[col:, col] for p in w])
                sizes = np.nan_to_num(sizes, nan=-1.0, posinf=np.inf)
                row = col + int(np.argmax(sizes))
                self.pivots[col] = row
                if not sizes.max() > 0 and not self.singular:
                    self.singular = col + 1
                self._exchange(w, col, columns)
                below = slice(col + 1, None)
                if any(p[col, col] != 0 for p in w[:: self.form.limbs]):
                    self.operate("div", [p[below, col : col + 1] for p in w], w, col, col)
                self.eliminate(
                    [p[below, col + 1 : end] for p in w],
                    self.load([p[below, col : col + 1] for p in w]),
                    self.load([p[col : col + 1, col + 1 : end] for p in w]),
                )

    def swap(self, w: Host, first: int, end: int, columns: slice) -> None:
        for col in range(first, end):
            self._exchange(w, col, columns)

    def _exchange(self, w: Host, col: int, columns: slice) -> None:
        """Row *col* and that of its pivot change places."""
        row = self.pivots[col]
        for plane in w:
            plane[[col, row], columns] = plane[[row, col], columns]


def factor(form: Format, a: Host, method: Method = None) -> Factors:
    """L and U of a (m, n), packed."""
    w = triangular.copied(a)
    steps = _OnHost(form, method, min(w[0].shape))
    steps.factor(w)
    return Factors(w, steps.pivots, steps.singular)


def swapped(pivots: np.ndarray[Any, Any], rows: int) -> np.ndarray[Any, Any]:
    """Which row comes where once rows were swapped in order: (batch, rows) for (batch, k)."""
    batch, count = pivots.shape
    order = np.tile(np.arange(rows, dtype=np.int32), (batch, 1))
    if batch <= FEW:
        for entry, swaps in zip(order, pivots.tolist(), strict=True):
            places = entry.tolist()
            for i, row in enumerate(swaps):
                places[i], places[row] = places[row], places[i]
            entry[:] = places
        return order
    entries = np.arange(batch)
    for i in range(count):
        row = pivots[:, i]
        held = order[:, i].copy()
        order[:, i] = order[entries, row]
        order[entries, row] = held
    return order


def packed(form: Format, a: Host, method: Method = None) -> Host:
    """L and U of a (m, n), packed."""
    return factor(form, a, method).factors


def solve(form: Format, a: Host, b: Host, method: Method = None) -> Host:
    """x of a x = b for a (n, n), b (n, r)."""
    found = factor(form, a, method)
    order = swapped(found.pivots[None], len(a[0]))[0]
    x = [p[order] for p in b]
    for lower in (True, False):
        x = triangular.solve(form, found.factors, x, lower=lower, unit=lower, method=method)
    return x


def weak(form: Format, factors: Host, found: Host) -> Host:
    """First columns without a pivot (from 1) or, where there are none, negative numbers for pivots
    that may be rounding errors alone: INFINITY less is in the bits of the least ratio (``ratio``).
    """
    size, scale = OnHost(form).sizes(factors), factors[0].dtype.type(root(form))
    with ieee.quiet():
        products = np.tril(size, -1) * np.triu(size, 1).swapaxes(1, 2)
        limits = products.max(2) * (16 * size.shape[1] * scale)
        own = np.diagonal(size, axis1=1, axis2=2) / scale
        ratios = np.where(own < limits, own / limits, np.inf).min(1).astype(np.float32)
    return [np.where(found[0], found[0], ratios.view(np.int32) - INFINITY)]


def ratio(found: int, rows: int, form: Format) -> tuple[float, float]:
    """How much a pivot is of what was subtracted on its way, by what ``weak`` says of it, and how
    much it should be.
    """
    limit = 16 * rows * root(form) ** 2
    return float(np.int32(found + INFINITY).view(np.float32)) * limit, limit


def root(form: Format) -> float:
    """The root of what a pivot must be of each product, by 16 n: within the range of all words."""
    return float(2.0 ** (-WEAK * form.bits / 2))
