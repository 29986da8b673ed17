"""Francis's iteration on the host, bit for bit as on devices."""

from typing import Any, NamedTuple

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.reference import Arithmetic, Host, Value

MOST = 200
"""Sweeps for one eigenvalue (or two), after which there is none."""

PATIENCE = 30
"""After so many a sweep begins as low as elements allow whose product is as good as zero."""


class Found(NamedTuple):
    """Eigenvalues (n, 2); h and z as they are at the end; how many eigenvalues were not found."""

    values: Host
    form: Host
    vectors: Host | None
    left: int


def least(form: Format) -> float:
    """Subdiagonal elements of this size are as good as zero, the matrix being scaled to 1."""
    return float(np.finfo(form.word).smallest_normal) * 2.0**10


class Raising(NamedTuple):
    """The first column of a sweep is multiplied *by* a number while its parts are *below* one."""

    below: float
    by: float
    times: int


RAISING = {"float32": Raising(2.0**-20, 2.0**20, 5), "float64": Raising(2.0**-160, 2.0**160, 5)}


OF_COMPLEX = ("sub", "conj", "neg_conj", "conj_fma", "mul_real", "div_real", "root")
"""Operations of complex formats' kernels beside those of both."""


Place = tuple[slice, slice]


class _Iteration:
    def __init__(self, form: Format, h: Host, z: Host | None) -> None:
        self.form, self.ar = form, Arithmetic(form)
        self.h = [p.copy() for p in h]
        self.z = None if z is None else [p.copy() for p in z]
        self.n = len(h[0])
        self.values = [np.zeros((self.n, 2), p.dtype) for p in h]
        self.word = self.ar.word.type

    # --- arithmetic -------------------------------------------------------------------------

    def op(self, name: str, *given: Value) -> Value:
        shape = np.broadcast_shapes(*(g[0].shape for g in given))
        wide = (tuple(np.broadcast_to(w, shape) for w in g) for g in given)
        return self.ar.operator(name, *wide)

    def neg(self, x: Value) -> Value:
        return self.ar.operator("neg", x)

    def lead(self, number: Any) -> Value:
        return self.ar.zeros(self.form.words, (1, 1), number)

    def at(self, i: int, j: int) -> Value:
        return self.ar.load([p[i : i + 1, j : j + 1] for p in self.h])

    def size(self, i: int, j: int) -> Any:
        return self.word(abs(self.h[0][i, j]))

    def put(self, planes: Host, rows: slice, columns: slice, value: Value) -> None:
        for plane, found in zip(planes, self.ar.store(value), strict=True):
            plane[rows, columns] = found

    # --- the iteration ----------------------------------------------------------------------

    def run(self) -> int:
        last, swept = self.n - 1, 0
        while last >= 0 and swept < MOST:
            begin = self.begin(last)
            if begin:
                for plane in self.h:
                    plane[begin, begin - 1] = 0
            if begin == last:
                self.put(self.values, slice(last, last + 1), slice(0, 1), self.at(last, last))
                last, swept = last - 1, 0
            elif begin == last - 1 and self.form.components == 1:
                self.pair(last)
                last, swept = last - 2, 0
            else:
                swept += 1
                self.sweep(begin, last, swept)
        return last + 1

    def begin(self, last: int) -> int:
        small, tiny = self.word(self.form.unit_roundoff), self.word(least(self.form))
        for i in range(last, 0, -1):
            total = self.size(i - 1, i - 1) + self.size(i, i)
            limit = small * (total if total > 0 else self.word(1))
            off = self.size(i, i - 1)
            if not off > limit or not off > tiny:
                return i
        return 0

    def pair(self, last: int) -> None:
        up = last - 1
        d = self.at(last, last)
        difference = self.op("mul", self.lead(0.5), self.op("add", self.at(up, up), self.neg(d)))
        total = self.word(abs(difference[0][0, 0])) + self.size(up, last) + self.size(last, up)
        scale = self.lead(total)
        e, b, c = (
            self.op("div", x, scale) for x in (difference, self.at(up, last), self.at(last, up))
        )
        product = self.op("mul", b, c)
        square = self.op("add", self.op("mul", e, e), product)
        real = bool(square[0][0, 0] >= 0)
        root = self.op("sqrt", square if real else self.neg(square))
        both = self.op("add", e, self.neg(root) if e[0][0, 0] < 0 else root)
        rows = slice(up, last + 1)
        if real:
            x1 = self.op("add", d, self.op("mul", both, scale))
            x2 = x1
            if both[0][0, 0] != 0:
                part = self.op("mul", self.op("div", product, both), scale)
                x2 = self.op("add", d, self.neg(part))
            found = tuple(np.concatenate(pair) for pair in zip(x1, x2, strict=True))
            self.put(self.values, rows, slice(0, 1), found)
            if self.z is not None:
                self.turn(up, both, c)
        else:
            middle = self.op("add", d, difference)
            self.put(self.values, rows, slice(0, 1), middle)
            y = self.op("mul", root, scale)
            found = tuple(np.concatenate(pair) for pair in zip(y, self.neg(y), strict=True))
            self.put(self.values, rows, slice(1, 2), found)

    def turn(self, up: int, both: Value, c: Value) -> None:
        """The block of two becomes a triangle."""
        assert self.z is not None
        length = self.op("sqrt", self.op("add", self.op("mul", both, both), self.op("mul", c, c)))
        cosine, sine = self.op("div", both, length), self.op("div", c, length)

        def turned(planes: Host, one: tuple[slice, slice], two: tuple[slice, slice]) -> None:
            u, v = (
                self.ar.load([p[rows, columns] for p in planes]) for rows, columns in (one, two)
            )
            first = self.op("fma", cosine, u, self.op("mul", sine, v))
            second = self.op("fma", cosine, v, self.neg(self.op("mul", sine, u)))
            self.put(planes, *one, first)
            self.put(planes, *two, second)

        one, two = slice(up, up + 1), slice(up + 1, up + 2)
        right, above, whole = slice(up, self.n), slice(0, up + 2), slice(0, self.n)
        turned(self.h, (one, right), (two, right))
        turned(self.h, (above, one), (above, two))
        turned(self.z, (whole, one), (whole, two))
        for plane in self.h:
            plane[up + 1, up] = 0

    def start(self, begin: int, last: int, swept: int) -> tuple[int, list[Value]]:
        """Where a sweep begins, and the first column there of the product of both shifted matrices,
        over its second element."""
        x, y = self.at(last, last), self.at(last - 1, last - 1)
        one, other = self.at(last, last - 1), self.at(last - 1, last)
        if swept % 10 == 0:
            ending = swept % 20 != 0
            near, far = (last, last - 1) if ending else (begin + 1, begin + 2)
            s = self.lead(self.size(near, near - 1) + self.size(far, far - 1))
            part = self.op("mul", self.lead(0.75), s)
            x = y = self.op("add", part, x if ending else self.at(begin, begin))
            one, other = self.op("mul", self.lead(-0.4375), s), s
        place = last - 2 if swept > PATIENCE else begin
        while True:
            v = self.column(place, x, y, one, other)
            if place == begin or self.apart(place, v):
                return place, v
            place -= 1

    def column(self, k: int, x: Value, y: Value, one: Value, other: Value) -> list[Value]:
        less = self.neg(self.at(k, k))
        r, s = self.op("add", x, less), self.op("add", y, less)
        second = self.op("add", self.at(k + 1, k + 1), less)
        second = self.op("add", self.op("add", second, self.neg(r)), self.neg(s))
        rest = self.at(k + 1, k), self.at(k, k + 1), second, self.at(k + 2, k + 1)
        up = self.raised(r, s, one, other)
        r, s, one, other, below, right, second, third = (
            tuple(word * up for word in value) for value in (r, s, one, other, *rest)
        )
        product = self.op("mul", one, other)
        first = self.op("div", self.op("fma", r, s, self.neg(product)), below)
        return [self.op("add", first, right), second, third]

    def apart(self, k: int, v: list[Value]) -> bool:
        """Whether a sweep may begin at k: what it leaves out is as good as zero."""
        first, second, third = (self.word(abs(x[0][0, 0])) for x in v)
        others = second + third
        total = first + others
        around = self.size(k - 1, k - 1) + self.size(k, k) + self.size(k + 1, k + 1)
        small = self.word(self.form.unit_roundoff)
        return bool(self.size(k, k - 1) * (others / total) < small * (first / total * around))

    def raised(self, *factors: Value) -> Any:
        """A power of two that keeps products of small factors from vanishing."""
        below, by, times = (self.word(x) for x in RAISING[self.form.word])
        most, up = max(self.word(abs(x[0][0, 0])) for x in factors), self.word(1)
        for _ in range(int(times)):
            if most < below:
                most, up = most * by, up * by
        return up

    def sweep(self, begin: int, last: int, swept: int) -> None:
        first, column = self.start(begin, last, swept)
        for k in range(first, last):
            three = k + 2 <= last
            v = [self.at(k + i, k - 1) for i in range(2 + three)] if k > first else column
            if len(v) == 2:
                v.append(self.lead(0.0))
            sizes = [self.word(abs(x[0][0, 0])) for x in v]
            total = sizes[0] + sizes[1] + sizes[2]
            if not total > 0:
                continue
            scale = self.lead(total)
            v1, v2, v3 = (self.op("div", x, scale) for x in v)
            square = self.op("fma", v2, v2, self.op("mul", v1, v1))
            root = self.op("sqrt", self.op("fma", v3, v3, square))
            s = self.neg(root) if v1[0][0, 0] < 0 else root
            if k == first and k > begin:
                before = self.neg(self.at(k, k - 1))
                self.put(self.h, slice(k, k + 1), slice(k - 1, k), before)
            if k > first:
                beta = self.neg(self.op("mul", s, scale))
                self.put(self.h, slice(k, k + 1), slice(k - 1, k), beta)
                for plane in self.h:
                    plane[k + 1 : k + 2 + three, k - 1] = 0
            v1 = self.op("add", v1, s)
            x = [self.op("div", w, s) for w in (v1, v2, v3)][: 2 + three]
            y = [self.op("div", w, v1) for w in (v2, v3)][: 1 + three]
            whole = self.z is not None
            self.rows(k, slice(k, self.n if whole else last + 1), x, y)
            self.columns(self.h, k, slice(0 if whole else begin, min(last, k + 3) + 1), x, y)
            if self.z is not None:
                self.columns(self.z, k, slice(0, self.n), x, y)

    def rows(self, k: int, columns: slice, x: list[Value], y: list[Value]) -> None:
        """Rows from k on lose a reflection."""
        given = [
            self.ar.load([p[k + i : k + i + 1, columns] for p in self.h]) for i in range(len(x))
        ]
        t = given[0]
        for factor, row in zip(y, given[1:], strict=True):
            t = self.op("fma", factor, row, t)
        less = self.neg(t)
        for i, (factor, row) in enumerate(zip(x, given, strict=True)):
            self.put(self.h, slice(k + i, k + i + 1), columns, self.op("fma", less, factor, row))

    def columns(self, planes: Host, k: int, rows: slice, x: list[Value], y: list[Value]) -> None:
        """Columns from k on lose a reflection."""
        places = range(k, k + len(x))
        given = [self.ar.load([p[rows, i : i + 1] for p in planes]) for i in places]
        t = self.op("mul", x[0], given[0])
        for factor, column in zip(x[1:], given[1:], strict=True):
            t = self.op("fma", factor, column, t)
        less = self.neg(t)
        found = [self.op("add", given[0], less)]
        found += [self.op("fma", less, f, c) for f, c in zip(y, given[1:], strict=True)]
        for i, value in enumerate(found):
            self.put(planes, rows, slice(k + i, k + i + 1), value)


class _Complex(_Iteration):
    """The same of complex matrices: rotations, one shift."""

    def size(self, i: int, j: int) -> Any:
        return self.size_of(self.at(i, j))

    def size_of(self, x: Value) -> Any:
        return self.word(abs(x[0][0, 0]) + abs(x[self.form.limbs][0, 0]))

    def shift(self, begin: int, last: int, swept: int) -> Value:
        """The eigenvalue of the last two rows and columns that is nearer to the last element."""
        d = self.at(last, last)
        if swept % 10 == 0:
            ending = swept % 20 != 0
            near = self.size(last, last - 1) if ending else self.size(begin + 1, begin)
            more = self.lead(near * self.word(0.75))
            return self.op("add", d if ending else self.at(begin, begin), more)
        difference = self.op("sub", self.at(last - 1, last - 1), d)
        e = tuple(word * self.word(0.5) for word in difference)
        b, x = self.at(last - 1, last), self.at(last, last - 1)
        scale = self.lead(self.size_of(e) + self.size_of(b) + self.size_of(x))
        e, b, x = (self.op("div_real", v, scale) for v in (e, b, x))
        product = self.op("fma", b, x, self.lead(0.0))
        root = self.op("sqrt", self.op("fma", e, e, product))
        n = self.form.limbs
        if (e[0] * root[0] + e[n] * root[n])[0, 0] < 0:
            root = self.neg(root)
        below = self.op("add", e, root)
        if not (below[0].any() or below[n].any()):
            return d
        return self.op("sub", d, self.op("mul_real", self.op("div", product, below), scale))

    def sweep(self, begin: int, last: int, swept: int) -> None:
        shift, nothing = self.shift(begin, last, swept), self.lead(0.0)
        x, y = self.op("sub", self.at(begin, begin), shift), self.at(begin + 1, begin)
        whole = self.z is not None
        for k in range(begin, last):
            if k > begin:
                x, y = self.at(k, k - 1), self.at(k + 1, k - 1)
            one, two = self.size_of(x), self.size_of(y)
            if not two > 0:
                continue
            scale = self.lead(one + two)
            phase = self.op("div_real", x, self.lead(one)) if one > 0 else self.lead(1.0)
            unit = self.op("root", self.op("conj_fma", phase, phase, nothing))
            phase = self.op("div_real", phase, unit)
            m = self.op("div_real", self.op("mul_real", unit, self.lead(one)), scale)
            y = self.op("div_real", y, scale)
            r = self.op("root", self.op("conj_fma", y, y, self.op("fma", m, m, nothing)))
            c = self.op("div_real", m, r)
            s = self.op("div_real", self.op("conj_fma", y, phase, nothing), r)
            if k > begin:
                beta = self.op("mul_real", self.op("mul_real", phase, r), scale)
                self.put(self.h, slice(k, k + 1), slice(k - 1, k), beta)
                self.put(self.h, slice(k + 1, k + 2), slice(k - 1, k), nothing)
            first, second = slice(k, k + 1), slice(k + 1, k + 2)
            right = slice(k, self.n if whole else last + 1)
            above = slice(0 if whole else begin, min(k + 2, last) + 1)
            back = self.op("neg_conj", s)
            self.rotate(self.h, (first, right), (second, right), c, s, back)
            turned, minus = self.op("conj", s), self.neg(s)
            self.rotate(self.h, (above, first), (above, second), c, turned, minus)
            if self.z is not None:
                every = slice(0, self.n)
                self.rotate(self.z, (every, first), (every, second), c, turned, minus)

    def rotate(
        self, planes: Host, one: Place, two: Place, c: Value, s: Value, minus: Value
    ) -> None:
        u, v = (self.ar.load([p[place] for p in planes]) for place in (one, two))
        self.put(planes, *one, self.op("fma", s, v, self.op("mul_real", u, c)))
        self.put(planes, *two, self.op("fma", minus, u, self.op("mul_real", v, c)))


def iterate(form: Format, h: Host, z: Host | None = None) -> Found:
    """Eigenvalues of a Hessenberg matrix (n, n); with z its Schur form, too."""
    steps = (_Iteration if form.components == 1 else _Complex)(form, h, z)
    with ieee.quiet():
        left = steps.run()
    return Found(steps.values, steps.h, steps.z, left)
