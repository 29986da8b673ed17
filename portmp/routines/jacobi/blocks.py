"""Jacobi's method for larger symmetric or Hermitian matrices, by blocks of columns and GEMM.

Definition: n rows are cut into c = ceil(n / 32) blocks (half of ``definition.ROTATED``) of b =
ceil(n / c), which rows and columns of zeros fill. A sweep has c steps; step r takes the
neighbouring blocks (r mod 2, r mod 2 + 1), the next two, and so on, and all places are swapped: so
each block meets each other one once, and a sweep leaves the blocks in reversed order. The 2b rows
and columns of a pair are turned as a small matrix by one of its own sweeps, giving vectors u;
columns become GEMM's products with u, then rows the products with u^H, the vectors' columns the
products with u, and where the pair's rows and columns meet the small matrix stands. Sweeps begin
while an element below the diagonal is to be turned away, 60 at most.
"""

from collections.abc import Iterator
from typing import NamedTuple

from portmp import definition
from portmp.progress import doing
from portmp.routines.jacobi import parts
from portmp.routines.jacobi.launch import measured, turned
from portmp.routines.jacobi.rule import Rule
from portmp.routines.moves import launch as moves
from portmp.routines.triangular.launch import OnDevice
from portmp.runtime.planes import Planes, allocate

SWEEPS = 60


class Pairs(NamedTuple):
    """The blocks of a step: from column ``first`` on so many pairs, each of 2 ``block`` columns."""

    first: int
    pairs: int
    block: int

    def columns(self, w: Planes) -> Planes:
        """Columns of a matrix by pairs: (pairs, rows, 2 block)."""
        (row, column), wide = w.strides, 2 * self.block
        start = w.start + self.first * column
        return w.view((self.pairs, w.shape[0], wide), (wide * column, row, column), start)

    def squares(self, w: Planes) -> Planes:
        """What lies on the diagonal: (pairs, 2 block, 2 block)."""
        (row, column), wide = w.strides, 2 * self.block
        start = w.start + self.first * (row + column)
        return w.view((self.pairs, wide, wide), (wide * (row + column), row, column), start)

    def idle(self, w: Planes) -> Iterator[Planes]:
        """Columns that no pair has."""
        end = self.first + 2 * self.pairs * self.block
        for first, last in ((0, self.first), (end, w.shape[1])):
            if last > first:
                start = w.start + first * w.strides[1]
                yield w.view((w.shape[0], last - first), w.strides, start)


def cut(n: int) -> tuple[int, int]:
    """How many blocks n columns have, and the columns of a block."""
    count = -(-n // (definition.ROTATED // 2))
    return count, -(-n // count)


def steps(n: int) -> Iterator[Pairs]:
    """The steps of a sweep over n columns, which blocks fill."""
    count, block = cut(n)
    for step in range(count):
        yield Pairs(step % 2 * block, (count - step % 2) // 2, block)


def swapped(squares: Planes, block: int) -> Planes:
    """The same squares with their halves' places swapped: a view of five axes."""
    batch, row, column = squares.strides
    start = squares.start + block * (row + column)
    strides = (batch, -block * row, row, -block * column, column)
    return squares.view((squares.shape[0], 2, block, 2, block), strides, start)


def halves(squares: Planes, block: int) -> Planes:
    """Squares with halves as axes of their own."""
    batch, row, column = squares.strides
    strides = (batch, block * row, row, block * column, column)
    return squares.view((squares.shape[0], 2, block, 2, block), strides, squares.start)


def padded(w: Planes, rows: int | None = None) -> Planes:
    """A matrix (n, n) with zeros behind its columns, so that blocks fill them.

    And as many below its rows, unless *rows* says how many there are in all.
    """
    n = w.shape[1]
    count, block = cut(n)
    out = parts.filled(w, (rows or count * block, count * block))
    moves.copied(w, out=parts.corner(out, *w.shape))
    return out


def unit(like: Planes) -> Planes:
    """Vectors to begin with: those of a diagonal matrix."""
    n = like.shape[1]
    count, block = cut(n)
    return parts.filled(like, (n, count * block), 1.0)


def in_order(w: Planes, n: int, sweeps: int) -> Planes:
    """The first n columns, or numbers, as they were before so many sweeps."""
    count, block = cut(n)
    *rows, column = w.strides
    step, start = (-block, (count - 1) * block) if sweeps % 2 else (block, 0)
    shape = (*w.shape[:-1], count, block)
    found = moves.copied(w.view(shape, (*rows, step * column, column), w.start + start * column))
    dense = found.view_as((*w.shape[:-1], count * block))
    return dense.view((*w.shape[:-1], n), dense.strides, dense.start)


def times(pairs: Pairs, w: Planes, u: Planes, out: Planes, conjugated: str = "") -> None:
    """Columns of w by pairs times u (pairs, 2 block, 2 block), and the others as they are.

    *conjugated*: b for the conjugate of u.
    """
    product = pairs.columns(w), u, pairs.columns(out)
    OnDevice(w.format, None).multiply(*product, "set", conjugated)
    for old, new in zip(pairs.idle(w), pairs.idle(out), strict=True):
        moves.copied(old, out=new)


class Diagonal(NamedTuple):
    """Values, vectors, and the largest element that is left to be turned away; 0 without any."""

    values: Planes
    v: Planes | None
    left: float


def diagonalise(a: Planes, rule: Rule, *, vectors: bool, x: Planes | None = None) -> Diagonal:
    """The diagonal that symmetric or Hermitian a (n, n) becomes, real numbers, and the vectors, or
    x (n, n) times these."""
    n, made = a.shape[0], 0
    w, v = padded(a), None
    if vectors:
        v = unit(a) if x is None else padded(x, rows=n)
    other = allocate(w.format, w.shape, w.queue)
    spare = None if v is None else allocate(v.format, v.shape, v.queue)
    while True:
        (count,), (largest,), _ = measured(parts.stack(w), rule)
        if not count or made == SWEEPS:
            values = in_order(parts.diagonal(w).halves[0], n, made)
            left = float(largest) if count else 0.0
            return Diagonal(values, None if v is None else in_order(v, n, made), left)
        made += 1
        doing(f"sweep {made} of {w.format.name}, {int(count)} elements left")
        for pairs in steps(n):
            squares = allocate(w.format, (pairs.pairs, *2 * (2 * pairs.block,)), w.queue)
            u = allocate(w.format, squares.shape, w.queue)
            moves.copied(pairs.squares(w), out=squares)
            turned(squares, rule, sweeps=1, v=u, shift=pairs.block, counted=False)
            times(pairs, w, u, other)
            times(pairs, parts.turned(other), u, parts.turned(w), "b")
            moves.copied(halves(squares, pairs.block), out=swapped(pairs.squares(w), pairs.block))
            if v is not None and spare is not None:
                times(pairs, v, u, spare)
                v, spare = spare, v
