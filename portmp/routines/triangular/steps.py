"""Blocks of matrices, on a device or on the host: what factorisations are written in.

An algorithm by halves stands here, or in a routine's ``steps``, once. What a block takes is a
kernel on devices and NumPy's on the host, which share nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Generic, NamedTuple, TypeVar

from portmp import definition
from portmp.formats import Format
from portmp.networks import Network
from portmp.routines import base
from portmp.routines.ozaki import levels
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2

M = TypeVar("M")


def factors(form: Format) -> dict[str, tuple[base.ScalarLimbs, base.ScalarLimbs]]:
    """alpha and beta of products by what they do to their output, of complex ones of each part."""
    one, zero, minus = (base.scalar_limbs(form.component, n, "alpha") for n in (1, 0, -1))
    return {"set": (one, zero), "add": (one, one), "subtract": (minus, one)}


OPPOSITE = {"add": "subtract", "subtract": "add"}

SOLVED = {
    "": {},
    "conjugated": {"neg": "neg_conj", "div": "div_conj"},
    "factor": {"neg": "neg_conj", "div": "div_real"},
}
"""Operators of a triangular system with a matrix of complex numbers, with the conjugate of one, and
with that of a Cholesky factor, whose diagonal is real, by what they stand for."""


def solving(form: Format, taken: str) -> dict[str, Network]:
    """What a block of unknowns takes, *taken* one of ``SOLVED``: its operators by role."""
    return {op: form.operator(SOLVED[taken].get(op, op)) for op in ("div", "neg", "fma")}


Method = Auto | Ozaki1 | Ozaki2 | None
"""How products are made: None is the direct one."""


def made(method: Method, form: Format, m: int, n: int, k: int) -> Method:
    """How a product of these sizes is made: directly, if it is small."""
    if isinstance(method, Auto) and not levels.has(form.component):
        return None
    if isinstance(method, Auto) and method.smallest is not None:
        large = min(m, n, k) >= method.smallest
    else:
        large = definition.by_integers(m, n, k, form.limbs)
    return method if large else None


class Steps(ABC, Generic[M]):
    """Blocks of matrices *M* that are changed in place.

    ``method`` makes large products (``made``); smaller ones are direct.
    """

    form: Format
    method: Method
    beyond = definition.BEYOND_ROTATIONS
    """Levels of elements that are judged."""
    wide = 0
    """Columns of results that are worked on by parts: their products are made as the whole's."""

    # --- what a matrix is -------------------------------------------------------------------

    @abstractmethod
    def shape(self, x: M) -> tuple[int, int]:
        """Rows and columns."""

    @abstractmethod
    def part(self, x: M, rows: slice, columns: slice) -> M:
        """A block: a view."""

    @abstractmethod
    def turned(self, x: M) -> M:
        """The transpose: a view."""

    @abstractmethod
    def backwards(self, x: M, columns: bool) -> M:
        """Rows in reversed order, and with *columns* these, too: a view."""

    # --- what is done with them -------------------------------------------------------------

    @abstractmethod
    def product(self, a: M, b: M, c: M, kind: str, method: Method, conjugated: str = "") -> None:
        """c = alpha a b + beta c by *kind*: ``set``, ``add``, ``subtract`` (``factors``).

        Of complex numbers the conjugate of ``a`` or ``b`` where it is named.
        """

    @abstractmethod
    def halves(self, x: M) -> tuple[M, M]:
        """Real and imaginary parts of complex numbers: views."""

    def by_parts(self, a: M, b: M, c: M, kind: str, conjugated: str) -> None:
        """The direct ``product`` of complex numbers by four real ones, each ends by itself.

        Of p + iq and r + is the real part takes p r, then q s, and the imaginary part q r and p s,
        of which the one that a conjugate negates comes last.
        """
        (p, q), (r, s), (real, imaginary) = map(self.halves, (a, b, c))
        then = "add" if kind == "set" else kind
        less = OPPOSITE[then]
        crossed = [(q, r), (p, s)] if conjugated != "a" else [(p, s), (q, r)]
        self.product(p, r, real, kind, None)
        self.product(q, s, real, then if conjugated else less, None)
        self.product(*crossed[0], imaginary, kind, None)
        self.product(*crossed[1], imaginary, less if conjugated else then, None)

    @abstractmethod
    def solve_block(self, a: M, b: M, unit: bool, taken: str = "") -> None:
        """b becomes the x of a x = b for lower triangular a of at most BLOCK rows.

        *taken*: one of ``SOLVED``.
        """

    @abstractmethod
    def copied(self, x: M) -> M:
        """A copy."""

    @abstractmethod
    def trapezoid(self, a: M, first: int, out: M, unit: bool = True) -> None:
        """out becomes the lower trapezoid of a from row *first* on, and zeros above it."""

    def method_for(self, m: int, n: int, k: int) -> Method:
        """How a product of these sizes is made."""
        found = made(self.method, self.form, m, self.wide or n, k)
        if not isinstance(found, Auto) or found.beyond == self.beyond:
            return found
        return replace(found, beyond=self.beyond)

    def multiply(self, a: M, b: M, c: M, kind: str, conjugated: str = "") -> None:
        """The same, made as its sizes say."""
        method = self.method_for(*self.shape(c), self.shape(a)[1])
        self.product(a, b, c, kind, method, conjugated)

    # --- by halves --------------------------------------------------------------------------

    def solve(self, a: M, b: M, *, lower: bool, unit: bool, taken: str = "") -> None:
        """b becomes the x of a x = b for triangular a, *taken* as in ``SOLVED`` if complex."""
        n, columns = self.shape(b)
        taken = taken if self.form.components > 1 else ""
        if not n or not columns:
            return
        if n <= definition.BLOCK:
            if not lower:
                a, b = self.backwards(a, True), self.backwards(b, False)
            self.solve_block(a, b, unit, taken)
            return
        h = definition.half(n)
        parts = slice(0, h), slice(h, n)
        first, then = parts if lower else parts[::-1]
        whole = slice(0, columns)
        known, rest = self.part(b, first, whole), self.part(b, then, whole)
        self.solve(self.part(a, first, first), known, lower=lower, unit=unit, taken=taken)
        self.multiply(self.part(a, then, first), known, rest, "subtract", "a" if taken else "")
        self.solve(self.part(a, then, then), rest, lower=lower, unit=unit, taken=taken)

    def solve_again(self, a: M, b: M, *, lower: bool, unit: bool, taken: str = "") -> None:
        """``solve`` of one of many systems of these sizes."""
        self.solve(a, b, lower=lower, unit=unit, taken=taken)

    def times(self, t: M, b: M, out: M | None, *, lower: bool) -> None:
        """out = t b for triangular t, whose other triangle is zeros; without out b becomes t b."""
        n, columns = self.shape(b)
        if n <= definition.TRIANGLE:
            if out is None:
                self.multiply(t, self.copied(b), b, "set")
            else:
                self.multiply(t, b, out, "set")
            return
        h = definition.half(n)
        parts, whole = (slice(0, h), slice(h, n)), slice(0, columns)
        # What needs all of b first: in place nothing reads it afterwards.
        mine, other = parts[::-1] if lower else parts
        b_mine, b_other = self.part(b, mine, whole), self.part(b, other, whole)
        outs = [None if out is None else self.part(out, each, whole) for each in (mine, other)]
        self.times(self.part(t, mine, mine), b_mine, outs[0], lower=lower)
        self.multiply(
            self.part(t, mine, other), b_other, b_mine if outs[0] is None else outs[0], "add"
        )
        self.times(self.part(t, other, other), b_other, outs[1], lower=lower)

    def square(self, a: M, c: M, kind: str, lower: bool = True) -> None:
        """The triangle of c (n, n) as ``multiply(a, a^H, c, kind)`` gives it.

        Beyond the diagonal too where a block is small. Elements do not depend on blocks.
        """
        n, k = self.shape(a)
        self.products(a, c, self.parts_of_square(a, lower), kind, self.method_for(n, n, k))

    def parts_of_square(self, a: M, lower: bool) -> "list[Run]":
        """The blocks of ``square``."""
        n, k = self.shape(a)
        parts = parts_of_trapezoid(n, n, *self.whole_squares(a, self.method_for(n, n, k)))
        return parts if lower else [p.turned() for p in parts]

    def square_and_below(self, a: M, c: M, kind: str) -> None:
        """The lower trapezoid of c (m, n) as ``multiply(a, a[:n]^H, c, kind)`` gives it."""
        (m, n), k = self.shape(c), self.shape(a)[1]
        method = self.method_for(m, n, k)
        self.products(a, c, parts_of_trapezoid(m, n, *self.whole_squares(a, method)), kind, method)

    def whole_squares(self, a: M, method: Method) -> tuple[int, bool]:
        """Rows of squares that are multiplied whole, and whether rows below are, with the last."""
        return (WHOLE, True) if method is None else (WHOLE_BY_INTEGERS["gpu"], False)

    def products(self, a: M, c: M, parts: "Sequence[Run]", kind: str, method: Method) -> None:
        """Blocks of c by rows of a and rows of a^H: ``square``'s, one by one."""
        steps = slice(0, self.shape(a)[1])
        for rows, columns in (block for part in parts for block in part.each()):
            left, right = self.part(a, rows, steps), self.part(a, columns, steps)
            self.product(left, self.turned(right), self.part(c, rows, columns), kind, method, "b")


class Run(NamedTuple):
    """Blocks of one size along a diagonal: the first one, how many, and how far apart."""

    rows: slice
    columns: slice
    blocks: int = 1
    distance: int = 0

    def turned(self) -> "Run":
        """The same of the transposed matrix."""
        return self._replace(rows=self.columns, columns=self.rows)

    def each(self) -> Iterator[tuple[slice, slice]]:
        """Rows and columns of each block."""
        for at in range(0, self.blocks * self.distance or 1, self.distance or 1):
            rows, columns = (slice(v.start + at, v.stop + at) for v in self[:2])
            yield rows, columns


def blocks_of_square(n: int, whole: int, first: int = 0) -> Iterator[Run]:
    """Blocks that cover the lower triangle of n rows and columns, squares of up to *whole*."""
    if n <= whole:
        if n:
            yield Run(slice(first, first + n), slice(first, first + n))
        return
    middle, end = first + definition.half(n), first + n
    yield Run(slice(middle, end), slice(first, middle))
    yield from blocks_of_square(middle - first, whole, first)
    yield from blocks_of_square(end - middle, whole, middle)


@cache
def parts_of_trapezoid(m: int, n: int, whole: int, below: bool) -> list[Run]:
    """The same of a lower trapezoid of m rows, those of one size along a diagonal together."""
    if below and n <= whole:
        return [Run(slice(0, m), slice(0, n))] if m and n else []
    found = runs(blocks_of_square(n, whole))
    return [*found, Run(slice(n, m), slice(0, n))] if n < m else found


def runs(blocks: Iterable[Run]) -> list[Run]:
    """The same blocks, those that follow each other along a diagonal together."""
    found: dict[tuple[int, ...], list[Run]] = {}
    for block in blocks:
        (top, bottom), (left, right) = ((v.start, v.stop) for v in block[:2])
        mine = found.setdefault((bottom - top, right - left, top - left), [])
        last = mine[-1] if mine else None
        distance = 0 if last is None else top - last.rows.start - (last.blocks - 1) * last.distance
        if last is not None and (last.blocks == 1 or distance == last.distance):
            mine[-1] = last._replace(blocks=last.blocks + 1, distance=distance)
        else:
            mine.append(block)
    return [run for mine in found.values() for run in mine]


WHOLE, WHOLE_BY_INTEGERS = 128, {"gpu": 1024, "cpu": 256}
"""Squares of so many rows are multiplied as a whole, both triangles: a schedule, no definition."""
