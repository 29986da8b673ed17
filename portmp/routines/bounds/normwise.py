"""Bounds of products' errors by norms: cheap, since they take no step of the product.

|a_i1 b_1j| + ... is at most |a_i| |b_j|, the Euclidean norms of a row and a column (Cauchy and
Schwarz). A proved bound of a product, in units of that sum, becomes one for each element by the
norms of all rows and columns and one product of two words. docs/bounds.md has the proof.
"""

import math
from dataclasses import dataclass

import numpy as np

from portmp import definition, formats
from portmp.formats import Format
from portmp.networks.bounded import ADD, MUL, SMALLEST
from portmp.networks.normwise import HELD
from portmp.routines import base
from portmp.routines.bounds.certified import RAISED, leading, lost, of, stored_short, upwards
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.products.methods import Computed
from portmp.routines.products.product import Asked
from portmp.routines.reduce import launch as reductions
from portmp.runtime.planes import Planes

SUMS = {
    (2, "accurate"): (1.001, 9.001),
    (3, "accurate"): (0.0, 24.0),
    (4, "accurate"): (0.0, 83.0),
    (2, "fast"): (11.001, 29.001),
    (3, "fast"): (71.0, 212.0),
    (4, "fast"): (383.0, 1517.0),
}
"""What sums of products lose, in u^N: of each running sum, and of T (docs/bits.md)."""

END = 2.0
"""What the end of a sum loses of the result, at most, in u^N."""


def direct(form: Format, k: int, accuracy: str, *, lanes: bool) -> float:
    """What a direct product over k steps loses of T, at most; *lanes*: of GEMV, else of GEMM."""
    if lanes:
        steps = min(base.blocks(k, definition.LANES), definition.CHUNK // definition.LANES)
        chunks = base.blocks(k, definition.CHUNK)
        additions = definition.LANES.bit_length() - 1 + (max(chunks, 1) - 1).bit_length()
    else:
        steps = min(k, definition.SLAB)
        additions = base.blocks(k, definition.SLAB) - 1
    n, unit = form.limbs, form.compute.unit_roundoff
    if n == 1:
        # Each of these operations may lose u of what is at most T.
        return math.expm1((steps + additions) * math.log1p(unit))
    of_sums, of_all = SUMS[n, accuracy]
    return (of_sums * steps + of_all + END + ADD[n] * additions) * unit


def by_integers(form: Format, k: int, bits: int, slices: int) -> float:
    """The same of a product of integers of so many bits, cut into *slices* if it is not 0.

    Numbers of a row are rounded to 2^-bits times a power of two that is at most twice the norm.
    """
    n, step = form.limbs, 2.0**-bits
    left_out = 4.4 * k * slices * step if slices else 0.0
    rounded = 2 * n * math.sqrt(k) * step + k * (n * step) ** 2
    return rounded + left_out + END * form.compute.unit_roundoff


RAISING = 2.0**60
"""Times this the smallest norm is above what norms of products by integers count as at least."""


@dataclass(frozen=True)
class _Loss:
    """Of T, and of an addend's magnitude; *floor*: norms count as that at least, but for 0."""

    product: float
    addend: float
    floor: float = 0.0


def _loss(
    form: Format,
    k: int,
    computed: Computed,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    *,
    lanes: bool,
) -> _Loss:
    n, unit = form.limbs, form.compute.unit_roundoff
    if computed == "correct":
        return _Loss(unit, unit)
    added = 0.0 if base.is_number(beta, 0) else ADD[n] * unit
    addend = added if base.is_number(beta, 1) else added + MUL[n] * unit
    more = added if base.is_number(alpha, 1) else added + MUL[n] * unit
    if isinstance(computed, str):
        return _Loss(direct(form, k, computed, lanes=lanes) + more, addend)
    # Seldom wanted, and much to import.
    from portmp.routines.ozaki import choose

    integers = choose.cut(form, k, computed)
    cut = by_integers(form, k, integers.bits, integers.left_out)
    floor = float(np.finfo(form.word).smallest_normal)
    return _Loss(cut + more, addend, floor)


def known(form: Format, k: int, computed: Computed) -> tuple[float, float]:
    """What a product a b may lose, at most, of norms' product, and by underflow."""
    one, zero = (base.scalar_limbs(form, number, "alpha") for number in (1, 0))
    loss = _loss(form, k, computed, one, zero, lanes=False).product
    return loss * _raised(loss), _underflow(form, k, one)


def _raised(loss: float) -> float:
    """More where sums of very many steps, or of integers of few bits, are far from T."""
    return RAISED * (1 + loss) ** 2


def _underflow(form: Format, k: int, alpha: base.ScalarLimbs) -> float:
    """Where an addend is added, two more roundings may underflow."""
    return lost(form, k, alpha) + 4 * 2.0 ** SMALLEST[form.word]


def product(result: Planes, given: Asked, computed: Computed) -> Planes:
    """A bound of the error of *result*, a product with a matrix or, as of GEMV, a vector.

    With a vector a may be in a storage format of the others'. It takes no time beside a large
    product, and is above the bound in units of T by no more than norms are above T: for random
    numbers by a half, much where large entries of a row meet small ones of the column.
    """
    if given.b.ndim > 1:
        return _of_matrices(result, given, computed, lanes=False)
    z = base.column_of(result)
    return _of_matrices(z, given.in_columns(), computed, lanes=True).view_as(result.shape)


def _of_matrices(result: Planes, given: Asked, computed: Computed, *, lanes: bool) -> Planes:
    """The same of matrices; *lanes*: of a column that was computed as GEMV's."""
    a, b, alpha, beta, c, _ = given
    form, k = result.format, given.steps
    loss = _loss(form, k, computed, alpha, beta, lanes=lanes)
    raised = _raised(loss.product)
    if base.is_number(alpha, 0):
        k = 0
    rows = _norms(a.view((*a.shape[:-1], k), a.strides, a.start), loss.floor)
    turned = [*range(b.ndim - 2), b.ndim - 1, b.ndim - 2]
    of_b = b.view((*b.shape[:-2], k, b.shape[-1]), b.strides, b.start)
    columns = _norms(of_b.transposed(turned), loss.floor)
    least = _underflow(form, k, alpha)
    numbers = loss.product * raised * 4.0**HELD, abs(float(alpha[0])), least
    kind = np.dtype(form.word).type
    words = tuple(kind(upwards(number, form.word)) for number in numbers)
    across = rows.view((*rows.shape, 1), (*rows.strides, 0), rows.start)
    along = (*columns.shape[:-1], 1, columns.shape[-1])
    steps = (*columns.strides[:-1], 0, columns.strides[-1])
    known = elementwise.apply("fma", [across, columns.view(along, steps, columns.start), words])
    bound = known.seen_as(formats.get(form.word))
    if c is not None and given.adds:
        bound = _with_addend(bound, c, abs(float(beta[0])), loss.addend * raised)
    return stored_short(bound, result)


def _norms(x: Planes, floor: float) -> Planes:
    """The norms of rows of x (..., m, k), over 2^HELD: the first of three words."""
    words = leading(x)
    flat = words if words.ndim == 2 else elementwise.contiguous(words)
    count, length = math.prod(x.shape[:-1]), x.shape[-1]
    squares = reductions.squares(flat if flat.ndim == 2 else flat.view_as((count, length)))
    found = elementwise.apply("sqrt", [squares])
    _, read = formats.norms(words.format.name)
    norms = Planes(read, found.shape, found.strides, found.start, found.buffers[:1], found.queue)
    if floor:
        held = norms.seen_as(words.format)
        raised = of("min", of("mul", held, RAISING), math.ldexp(floor, -HELD))
        norms = of("max", held, raised).seen_as(read)
    return norms.view_as(x.shape[:-1])


def _with_addend(bound: Planes, c: Planes, beta: float, loss: float) -> Planes:
    """With what *loss* of beta c counts; not finite where that may overflow."""
    word = bound.format.name
    size = of("fma", of("abs", leading(c)), beta, 2.0 ** SMALLEST[word])
    room = of("mul", size, 8.0)
    total = of("fma", size, upwards(loss, word), bound)
    return of("add", total, of("sub", room, room))
