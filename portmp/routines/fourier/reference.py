"""Fourier transforms on the host, bit for bit as on devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.fourier import roots
from portmp.routines.fourier.steps import factors
from portmp.routines.reference import Arithmetic, Host, Value

Pair = tuple[Value, Value]
"""Real and imaginary parts."""


class _Numbers:
    """Operations on values and pairs, by the format's own networks."""

    def __init__(self, form: Format) -> None:
        self.ar = Arithmetic(form)
        self.nets = {op: form.network(op) for op in ("add", "mul")}

    def add(self, x: Value, y: Value) -> Value:
        return self._of("add", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        return self._of("add", x, tuple(-w for w in y))

    def mul(self, x: Value, y: Value) -> Value:
        return self._of("mul", x, y)

    def _of(self, op: str, x: Value, y: Value) -> Value:
        shape = np.broadcast_shapes(x[0].shape, y[0].shape)
        spread = (tuple(np.broadcast_to(w, shape) for w in one) for one in (x, y))
        return self.ar.run(self.nets[op], *spread)

    def each(self, by: Callable[[Value, Value], Value], x: Pair, y: Pair) -> Pair:
        """An operation on both parts."""
        return by(x[0], y[0]), by(x[1], y[1])

    def turned(self, x: Pair, root: Pair) -> Pair:
        """A number times a root."""
        (a, b), (c, s) = x, root
        return self.sub(self.mul(a, c), self.mul(b, s)), self.add(self.mul(a, s), self.mul(b, c))


def transformed(form: Format, real: Host, imaginary: Host) -> list[Host]:
    """The transforms of rows of equal length: real and imaginary parts."""
    by = _Numbers(form)
    rows, n = real[0].shape
    with ieee.quiet():
        x: Pair = by.ar.load(real), by.ar.load(imaginary)
        before = 1
        for radix in factors(n):
            # By q, the transform and k, as they lie in memory.
            shape = (rows, radix, n // radix // before, before)
            cut = [tuple(w.reshape(shape) for w in part) for part in x]
            given: list[Pair] = [
                (tuple(w[:, q] for w in cut[0]), tuple(w[:, q] for w in cut[1]))
                for q in range(radix)
            ]
            if before > 1:
                for q in range(1, radix):
                    planes = roots.of(form.name, q * np.arange(before), radix * before)
                    root = tuple(planes[: form.limbs]), tuple(planes[form.limbs :])
                    given[q] = by.turned(given[q], root)
            found = SMALL.get(radix, _odd)(by, given)
            before *= radix
            real_parts, imaginary_parts = zip(*found, strict=True)
            x = _joined(real_parts, rows, n), _joined(imaginary_parts, rows, n)
        return [by.ar.store(part) for part in x]


def _joined(values: Sequence[Value], rows: int, n: int) -> Value:
    """Rows of the elements p of transforms, by p."""
    limbs = zip(*values, strict=True)
    return tuple(np.stack(planes, axis=2).reshape(rows, n) for planes in limbs)


def _two(by: _Numbers, x: list[Pair]) -> list[Pair]:
    return [by.each(by.add, x[0], x[1]), by.each(by.sub, x[0], x[1])]


def _four(by: _Numbers, x: list[Pair]) -> list[Pair]:
    s, d = by.each(by.add, x[0], x[2]), by.each(by.sub, x[0], x[2])
    t, u = by.each(by.add, x[1], x[3]), by.each(by.sub, x[1], x[3])
    return [
        by.each(by.add, s, t),
        (by.add(d[0], u[1]), by.sub(d[1], u[0])),
        by.each(by.sub, s, t),
        (by.sub(d[0], u[1]), by.add(d[1], u[0])),
    ]


def _odd(by: _Numbers, x: list[Pair]) -> list[Pair]:
    """Of pairs of elements q and r - q: sums and differences, times cos and sin of 2 pi p q / r."""
    form, r = by.ar.form, len(x)
    half = range(1, (r + 1) // 2)
    planes = roots.of(form.name, np.arange(r), r)
    cos = [tuple(p[j] for p in planes[: form.limbs]) for j in range(r)]
    sin = [tuple(-p[j] for p in planes[form.limbs :]) for j in range(r)]
    sums = {q: by.each(by.add, x[q], x[r - q]) for q in half}
    differences = {q: by.each(by.sub, x[q], x[r - q]) for q in half}
    first = x[0]
    for q in half:
        first = by.each(by.add, first, sums[q])
    found = [first] + [first] * (r - 1)
    for p in half:
        across: Pair = x[0]
        beside: Pair | None = None
        for q in half:
            j = p * q % r
            t, u = sums[q], differences[q]
            across = by.each(by.add, across, (by.mul(t[0], cos[j]), by.mul(t[1], cos[j])))
            term = by.mul(u[0], sin[j]), by.mul(u[1], sin[j])
            beside = term if beside is None else by.each(by.add, beside, term)
        assert beside is not None
        found[p] = by.add(across[0], beside[1]), by.sub(across[1], beside[0])
        found[r - p] = by.sub(across[0], beside[1]), by.add(across[1], beside[0])
    return found


SMALL = {2: _two, 4: _four}
