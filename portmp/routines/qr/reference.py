"""QR on the host, bit for bit as on devices."""

from collections.abc import Sequence

import numpy as np

from portmp import definition
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.qr.steps import Kept, QrSteps, reflectors
from portmp.routines.reference import Arithmetic, Host, Value
from portmp.routines.triangular import reference as triangular
from portmp.routines.triangular.reference import OnHost, copied, put, wide
from portmp.routines.triangular.steps import Method


class _OnHost(OnHost, QrSteps[Host]):
    copies_across = True

    def __init__(self, form: Format, method: Method, negligible: float = 0.0) -> None:
        super().__init__(form, method)
        self.negligible = negligible

    def panel(self, a: Host, t: Host) -> None:
        ar, width = self.ar, a[0].shape[1]
        by, opposite = ("div", "neg") if ar.form.components == 1 else ("div_conj", "neg_conj")
        with ieee.quiet():
            for k in range(width):
                row = self.load([p[k : k + 1] for p in a])
                sums = _sums(ar, a, k)
                alpha, g = (tuple(w[:, k : k + 1] for w in x) for x in (row, sums))
                size = _length(ar, alpha, g)
                zero = bool(size[0][0, 0] <= self.negligible)
                beta = size if alpha[0][0, 0] < 0 else ar.operator(opposite, size)
                p = ar.operator("sub", alpha, beta)
                y = row if zero else ar.operator("add", row, ar.operator(by, sums, wide(p, row)))
                two, half = (ar.zeros(len(row), (1, 1), x) for x in (2.0, 0.5))
                if not zero:
                    two = ar.operator("div", ar.operator(opposite, p), beta)
                    half = ar.operator("div", ar.operator(opposite, beta), p)
                f = ar.operator("mul", wide(two, y), y)
                products = ar.operator("conj", y) if ar.form.components > 1 else y
                self.store([x[:k, k : k + 1].T for x in t], tuple(w[:, :k] for w in products))
                self.store([x[k : k + 1, k : k + 1] for x in t], half)
                right = slice(k + 1, None)
                self.store(
                    [x[k : k + 1, right] for x in a],
                    ar.operator(
                        "sub", tuple(w[:, right] for w in row), tuple(w[:, right] for w in f)
                    ),
                )
                self.store([x[k : k + 1, k : k + 1] for x in a], beta)
                below = [x[right, k : k + 1] for x in a]
                if below[0].size:
                    v = self.load(below)
                    divided = ar.operator("div", v, wide(p, v))
                    self.store(below, ar.zeros(len(v), v[0].shape) if zero else divided)
                self.eliminate(
                    [x[right, right] for x in a], self.load(below), tuple(w[:, right] for w in f)
                )

    def put(self, x: Host, out: Host) -> None:
        put(out, x)

    def subtract(self, x: Host, out: Host) -> None:
        with ieee.quiet():
            self.store(out, self.ar.operator("sub", self.load(out), self.load(x)))

    def conjugate(self, x: Host) -> None:
        for plane in x[self.form.limbs :]:
            np.negative(plane, out=plane)

    def empty(self, rows: int, columns: int, like: Host) -> Host:
        return [np.zeros((rows, columns), p.dtype) for p in like]


def _length(ar: Arithmetic, alpha: Value, rest: Value) -> Value:
    """The root of |alpha|^2 and a sum of squares."""
    if ar.form.components > 1:
        return ar.operator("length", alpha, rest)
    return ar.operator("sqrt", ar.operator("add", ar.operator("mul", alpha, alpha), rest))


def _sums(ar: Arithmetic, a: Host, k: int) -> Value:
    """Products of column k with all columns over the rows below k: shape (1, width)."""
    if ar.form.components > 1:
        nets = {"accumulate": ar.form.operator("accumulate"), "finish": ar.form.operator("copy")}
    else:
        nets = ar.form.accumulator().networks
    m, width = a[0].shape
    lanes = definition.ROW_LANES
    words = ar.load(a)
    totals = [ar.zeros(len(words), (1, width)) for _ in range(lanes)]
    for chunk, first in enumerate(range(0, m, definition.ROWS)):
        last = min(first + definition.ROWS, m)
        parts = []
        for lane in range(lanes):
            state = ar.zeros(nets["accumulate"].result.words, (1, width))
            for i in range(first + lane, last, lanes):
                if i > k:
                    other = tuple(w[i : i + 1] for w in words)
                    one = wide(tuple(w[:, k : k + 1] for w in other), other)
                    state = ar.run(nets["accumulate"], state, one, other)
            parts.append(ar.run(nets["finish"], state))
        lane = chunk % lanes
        totals[lane] = ar.operator("add", totals[lane], _tree(ar, parts))
    return _tree(ar, totals)


def _tree(ar: Arithmetic, parts: list[Value]) -> Value:
    for distance in definition.halvings(len(parts)):
        parts = [ar.operator("add", parts[i], parts[i + distance]) for i in range(distance)]
    return parts[0]


def factor(
    form: Format, a: Host, method: Method = None, negligible: float = 0.0
) -> tuple[Host, Host, Host, Host]:
    """a (m, n) with R in its upper triangle, and what is ``Kept`` of the factors of Q."""
    w = copied(a)
    steps = _OnHost(form, method, negligible)
    kept = steps.kept(w)
    steps.factor(w, kept)
    return w, *kept


def applied(
    form: Format, firsts: Sequence[int], transposed: bool, method: Method, c: Host, *memory: Host
) -> Host:
    """q c, or q^H c, by the memory of factors that begin in these rows."""
    found = copied(c)
    _OnHost(form, method).apply_all(reflectors(firsts, memory), found, transposed)
    return found


def upper(form: Format, a: Host, method: Method = None) -> Host:
    """R of a (m, n): its first min(m, n) rows."""
    packed = factor(form, a, method)[0]
    return triangular.triangle(packed, lower=False, unit=False, rows=min(a[0].shape))


def orthogonal(form: Format, a: Host, method: Method = None) -> Host:
    """Q of a (m, n): its first min(m, n) columns."""
    steps, kept = _OnHost(form, method), Kept(*factor(form, a, method)[1:])
    m, k = len(a[0]), min(a[0].shape)
    eye = [np.eye(m, k, dtype=p.dtype) * (not i) for i, p in enumerate(a)]
    steps.apply_all(steps.all_reflectors(kept), eye, False)
    return eye
