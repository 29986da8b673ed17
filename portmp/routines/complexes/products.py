"""Products of complex matrices and vectors, made of those of their real and imaginary parts.

Definition, for a = p + iq and b = r + is: sub(p r, q s) and add(p s, q r), of four direct products,
each of which ends by itself. So a a^H of one limb, whose multiply-accumulate treats both factors
alike, is exactly Hermitian. What is judged element by element, made by integers or rounded once is
the product of the real matrices [p, -q; q, p] and [r; s] instead, of twice the steps: both parts
are rounded once from exact sums, whatever real products these are made of. By residues these are
two or three of a modulus (``ozaki.systems``), not four. Beside a real operand there are two real
products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from portmp import formats
from portmp.routines.complexes import launch
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.moves import launch as moves
from portmp.routines.ozaki.options import of_both
from portmp.routines.products.product import last
from portmp.runtime.planes import Planes, allocate

Multiply = Callable[[Planes, Planes], Planes]
"""A product of real matrices or vectors."""


def by_four(a: Planes, b: Planes, multiply: Multiply, out: Planes | None = None) -> Planes:
    """The product by real ones of the operands' parts: four, or two beside a real operand."""
    before, alike, found = last.made, True, []
    for x in a.halves:
        for y in b.halves:
            found.append(multiply(x, y))
            alike = alike and last.alike
    op = "copy"
    if last.made and last.made is not before:
        last.made, last.alike = (formats.complex_of(last.made[0]), *last.made[1:]), alike
    if len(found) == 4:
        real, cross, other, rest = found
        op, found = "combined", [real, rest, cross, other]
    product: Planes = launch.apply(op, found, out)
    return product


def rows(a: Planes, conjugated: bool = False) -> Planes:
    """The real matrix [p, -q; q, p] of a matrix p + iq or of its conjugate, batches likewise."""
    *batch, m, k = a.shape
    made = allocate(a.format.component, (*batch, 2 * m, 2 * k), a.queue)
    p, q = a.halves
    opposite, same = ((m, 0), (0, k)) if conjugated else ((0, k), (m, 0))
    for half, (row, column) in ((p, (0, 0)), (q, same), (p, (m, k))):
        moves.copied(half, _block(made, row, column, a.shape))
    elementwise.apply("neg", [q], _block(made, *opposite, a.shape))
    return made


def columns(b: Planes, conjugated: bool = False) -> Planes:
    """The real matrix [r; s] of a matrix r + is or of its conjugate, batches likewise."""
    made = stacked(b.halves, -2)
    if conjugated:
        elementwise.apply("neg", [b.halves[1]], halves_of_rows(made)[1])
    return made


def stacked(parts: Sequence[Planes], axis: int) -> Planes:
    """Two views of one shape, one behind the other along an axis."""
    first = parts[0]
    shape = list(first.shape)
    length = shape[axis]
    shape[axis] *= 2
    made = allocate(first.format, shape, first.queue)
    for i, part in enumerate(parts):
        start = i * length * made.strides[axis]
        moves.copied(part, made.view(first.shape, made.strides, start))
    return made


def _block(of: Planes, row: int, column: int, shape: Sequence[int]) -> Planes:
    start = row * of.strides[-2] + column * of.strides[-1]
    return of.view(shape, of.strides, start)


def by_one(a: Planes, b: Planes, method: object, multiply: Callable[..., Planes]) -> Planes:
    """The product of matrices as one real product of ``rows`` and ``columns``, by a *method* of
    gemm's that *multiply* takes as its third argument.
    """
    if a.format.components == 1 or b.format.components == 1:
        return by_four(a, b, partial(multiply, method=method))
    found = multiply(rows(a), columns(b), method=of_both(method))
    return launch.joined(*halves_of_rows(found))


def halves_of_rows(z: Planes) -> tuple[Planes, Planes]:
    """The upper and the lower half of a matrix: real and imaginary parts."""
    *batch, twice, n = z.shape
    m = twice // 2
    shape = (*batch, m, n)
    upper, lower = (z.view(shape, z.strides, z.start + i * m * z.strides[-2]) for i in range(2))
    return upper, lower
