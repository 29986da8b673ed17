"""Blocks of matrices on the host, bit for bit as on devices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.gemm.reference import gemm
from portmp.routines.ozaki import choose, levels
from portmp.routines.ozaki import reference as by_integers
from portmp.routines.ozaki.options import Auto, of_both
from portmp.routines.reference import Arithmetic, Host, Plane, Value
from portmp.routines.triangular.steps import SOLVED, Method, Steps, factors


class OnHost(Steps[Host]):
    """Blocks of a matrix of NumPy planes."""

    def __init__(self, form: Format, method: Method = None) -> None:
        self.form, self.method, self.ar = form, method, Arithmetic(form)
        self.factors = factors(form)

    def shape(self, x: Host) -> tuple[int, int]:
        rows, columns = x[0].shape
        return rows, columns

    def part(self, x: Host, rows: slice, columns: slice) -> Host:
        return [p[rows, columns] for p in x]

    def turned(self, x: Host) -> Host:
        return [p.T for p in x]

    def backwards(self, x: Host, columns: bool) -> Host:
        return [p[::-1, ::-1] if columns else p[::-1] for p in x]

    def halves(self, x: Host) -> tuple[Host, Host]:
        return x[: self.form.limbs], x[self.form.limbs :]

    def product(
        self, a: Host, b: Host, c: Host, kind: str, method: Method, conjugated: str = ""
    ) -> None:
        form = self.form.component
        if len(c) > form.words and method is None:
            self.by_parts(a, b, c, kind, conjugated)
            return
        if len(c) > form.words:
            # One real product of [p, -q; q, p] and [r; s]: both parts are rounded once.
            (p, q), (r, s) = self.halves(a), self.halves(b)
            q, s = (
                [-y for y in q] if conjugated == "a" else q,
                [-y for y in s] if conjugated == "b" else s,
            )
            left = [np.block([[y, -z], [z, y]]) for y, z in zip(p, q, strict=True)]
            right = [np.vstack(pair) for pair in zip(r, s, strict=True)]
            both = [np.vstack(pair) for pair in zip(*self.halves(c), strict=True)]
            self.product(left, right, both, kind, of_both(method))
            put(c, [np.vsplit(plane, 2)[part] for part in range(2) for plane in both])
            return
        rest = (*self.factors[kind], c)
        if method is None:
            found = gemm(form, a, b, *rest)
        elif isinstance(method, Auto):
            found = levels.product(form, a, b, *rest, beyond=method.beyond)
        else:
            numbers = choose.cut(form, a[0].shape[1], method)
            found = by_integers.product(form, numbers, a, b, *rest)
        put(c, found)

    def solve_block(self, a: Host, b: Host, unit: bool, taken: str = "") -> None:
        n, ops = a[0].shape[0], {"div": "div", "neg": "neg", **SOLVED[taken]}
        with ieee.quiet():
            for i in range(n):
                if not unit:
                    self.operate(ops["div"], [p[i : i + 1] for p in b], a, i, i)
                x = self.load([p[i : i + 1] for p in b])
                left = self.load([p[i + 1 :, i : i + 1] for p in a])
                self.eliminate([p[i + 1 :] for p in b], left, x, neg=ops["neg"])

    def copied(self, x: Host) -> Host:
        return copied(x)

    def trapezoid(self, a: Host, first: int, out: Host, unit: bool = True) -> None:
        put(out, triangle(a, lower=True, unit=unit, first=first))

    # --- elements ---------------------------------------------------------------------------

    def load(self, planes: Host) -> Value:
        """Words."""
        return self.ar.load(planes)

    def store(self, target: Host, value: Value) -> None:
        """Words to planes."""
        put(target, self.ar.store(value))

    def operate(self, op: str, target: Host, a: Host, i: int, j: int) -> None:
        """The target's elements, and an element of a: an operator's result replaces the first."""
        if target[0].size:
            x = self.load(target)
            y = self.load([p[i : i + 1, j : j + 1] for p in a])
            self.store(target, self.ar.operator(op, x, wide(y, x)))

    def eliminate(
        self, target: Host, left: Value, top: Value, neg: str = "neg", fma: str = "fma"
    ) -> None:
        """Each element becomes fma(-left, top, itself), left being a column and top a row."""
        if target[0].size:
            z = self.load(target)
            minus = self.ar.operator(neg, left)
            self.store(target, self.ar.operator(fma, wide(minus, z), wide(top, z), z))

    def sizes(self, x: Host) -> Plane:
        """How large elements are when pivots are chosen: |re| + |im| of leading limbs."""
        with ieee.quiet():
            found: Plane = np.sum(np.abs(x[:: self.form.limbs]), axis=0)
        return found


def put(target: Host, found: Host) -> None:
    """Set planes in place."""
    for plane, new in zip(target, found, strict=True):
        plane[...] = new


def wide(value: Value, like: Value) -> Value:
    """A value broadcast to the shape of another."""
    return tuple(np.broadcast_to(w, like[0].shape) for w in value)


def copied(planes: Host) -> Host:
    """A copy of planes."""
    return [p.copy() for p in planes]


def triangle(a: Host, *, lower: bool, unit: bool, rows: int | None = None, first: int = 0) -> Host:
    """A copy with zeros beyond a triangle; *rows*: so many of them, zeros beyond a's.

    *first*: the row in which the diagonal begins.
    """
    found = []
    for i, plane in enumerate(a):
        kept = np.tril(plane, -first) if lower else np.triu(plane, -first)
        out = np.zeros((plane.shape[0] if rows is None else rows, plane.shape[1]), plane.dtype)
        count = min(len(kept), len(out))
        out[:count] = kept[:count]
        if unit:
            diagonal = np.arange(min(len(out) - first, out.shape[1]))
            out[first + diagonal, diagonal] = 0 if i else 1
        found.append(out)
    return found


def solve(
    form: Format,
    a: Host,
    b: Host,
    *,
    lower: bool = True,
    unit: bool = False,
    method: Method = None,
    taken: str = "",
) -> Host:
    """x of a x = b for triangular a (n, n), b (n, r), *taken* as in ``SOLVED``."""
    x = copied(b)
    OnHost(form, method).solve(a, x, lower=lower, unit=unit, taken=taken)
    return x


def times(
    form: Format, a: Host, b: Host, *, lower: bool = True, unit: bool = False, method: Method = None
) -> Host:
    """a b for triangular a."""
    out = copied(b)
    steps = OnHost(form, method)
    steps.times(triangle(a, lower=lower, unit=unit), out, None, lower=lower)
    return out


def square(
    form: Format,
    a: Host,
    c: Host,
    alpha: Sequence[Any],
    beta: Sequence[Any],
    *,
    lower: bool,
    method: Method = None,
) -> Host:
    """The lower or the upper triangle of alpha a a^T + beta c, c's elements beyond it."""
    out = copied(c)
    steps = OnHost(form, method)
    steps.factors["given"] = tuple(alpha), tuple(beta)
    steps.square(a, out, "given", lower)
    inside = np.tri(len(out[0]), dtype=bool)
    if not lower:
        inside = inside.T
    return [np.where(inside, new, old) for new, old in zip(out, c, strict=True)]
