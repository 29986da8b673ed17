"""Results with a bound of their errors: the last step from what kernels add up (docs/bounds.md).

A kernel gives, beside each value, what the proved bounds of its operations add up to, in units of
u^N and by rounded additions. Here that is made a number which is not below the error: it is raised
for those roundings, and for what underflows and what is stored short.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from portmp import formats
from portmp.arrays.array import Array
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines import base, elementwise
from portmp.routines.exact.accumulator import SMALLEST
from portmp.routines.gemm import launch as products
from portmp.routines.reduce import launch as reductions
from portmp.runtime.planes import Planes

RAISED = 1.01
"""For the roundings of a bound's own sums, some thousand terms one after the other at most, and for
leading limbs instead of values."""

LOST = {1: 1, 2: 3, 3: 6, 4: 10}
"""By limbs: parts of a product that may underflow, each by half the smallest subnormal number."""

ROOT = {1: 1.0, 2: 25 / 8, 3: 1.01, 4: 1.01}
"""What square roots lose, in u^N."""

Pair = tuple[Array, Array]


def check(accuracy: str, schedule: object, method: object = "direct") -> None:
    """ArgumentError for options that do not go with a bound."""
    if schedule is not None or method != "direct":
        raise ArgumentError("bound: True given; it has no schedule or method to choose")
    formats.get("float64").accumulator(accuracy)


def gemm(
    a: Planes,
    b: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    c: Planes | None,
    out: Planes | None,
    accuracy: str,
) -> Pair:
    """As ``portmp.gemm``, with a bound of each element's error."""
    z = products.with_bound(a, b, alpha=alpha, beta=beta, c=c, accuracy=accuracy)
    return _ended(z, a.format, _lost(a.format, a.shape[-1], alpha), out)


def gemv(
    a: Planes,
    x: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    y: Planes | None,
    out: Planes | None,
    accuracy: str,
) -> Pair:
    """As ``portmp.gemv``, with a bound of each element's error."""
    z = reductions.gemv_with_bound(a, x, alpha=alpha, beta=beta, y=y, accuracy=accuracy)
    return _ended(z, x.format, _lost(x.format, a.shape[1], alpha), out)


def dot(x: Planes, y: Planes, accuracy: str) -> Pair:
    """As ``portmp.dot``, with a bound of its error."""
    row = x.view((1, *x.shape), (0, *x.strides), x.start)
    one, zero = (base.scalar_limbs(x.format, number, "alpha") for number in (1, 0))
    value, bound = gemv(row, y, alpha=one, beta=zero, y=None, out=None, accuracy=accuracy)
    return value[0], bound[0]


def over_rows(x: Planes) -> Pair:
    """The sum of each row of x (m, n), with a bound of its error."""
    return _ended(reductions.sums_with_bound(x), x.format, 0.0, None)


def root(norm: Array, largest: float, square: Pair, count: int, exponent: int | None) -> Array:
    """The bound of *norm*, 2^exponent sqrt(square): of *count* entries up to *largest* in size."""
    value, error = square
    form = value.format
    if largest == 0 or exponent is None:
        return error
    unit = 2.0 ** max(one.smallest for one in form.encodings if one.parts)
    # What scaling loses of the lower limbs of small entries counts twice in a square.
    error = error + _up(2 * count * form.limbs * unit, form.word)
    size = Array(elementwise.apply("sqrt", [abs(_leading(value)).planes]))
    # Storage formats round the root, and what it is scaled to.
    relative = ROOT[form.limbs] * form.arithmetic.unit_roundoff
    relative += 2 * 2.0 ** (1 - form.bits) if form.compute is not form else 0.0
    total = (error / size + size * relative) * (RAISED * math.ldexp(1.0, exponent))
    total = total + _up((form.limbs + 1) * unit, form.word)
    if form.limbs > 1 and form.compute is not form:
        total = total + _cut(form, _leading(norm))
    return total


def _lost(form: Format, k: int, alpha: Sequence[np.generic]) -> float:
    """What may underflow of an element's products, those with alpha and beta included."""
    unit = LOST[form.limbs] * 2.0 ** SMALLEST[form.word]
    return unit * (k * abs(float(alpha[0])) + 2) if math.isfinite(float(alpha[0])) else math.inf


def _up(number: float, word: str) -> float:
    """A number of *word* that is not below, and not zero."""
    kind = np.dtype(word).type
    with np.errstate(over="ignore", under="ignore"):
        return float(np.nextafter(kind(number), kind(np.inf)))


def _ended(z: Planes, form: Format, lost: float, out: Planes | None) -> Pair:
    """Values in *form* (copied to *out*), and numbers that are not below their errors."""
    word = form.word
    computed = form if form.limbs > 1 else form.arithmetic
    value = Array(base.values_of(z, computed))
    unit = computed.arithmetic.unit_roundoff * RAISED
    bound = Array(base.bounds_of(z)) * unit + _up(lost, word)
    if computed is not form:
        short = Array(elementwise.converted(value.planes, form))
        kept = Array(elementwise.converted(short.planes, computed))
        value, bound = short, bound + abs(kept - value) * RAISED
    elif form.compute is not form:
        bound = bound + _cut(form, _leading(value))
    if out is not None:
        one = base.scalar_limbs(form, 1, "alpha")
        value = Array(elementwise.scal(one, value.planes, base.output(out, value.planes, z.shape)))
    return value, bound


def _leading(value: Array) -> Array:
    """Leading limbs as numbers of the word, which they are in memory."""
    planes, form = value.planes, value.format
    if form.limbs == 1 and form.coded:
        return Array(elementwise.converted(planes, form.arithmetic))
    word, first = formats.get(form.word), planes.buffers[:1]
    return Array(Planes(word, planes.shape, planes.strides, planes.start, first, planes.queue))


def _cut(form: Format, leading: Array) -> Array:
    """What values of several limbs lose where the last one is stored short."""
    last = [one for one in form.encodings if one.parts][-1]
    size = abs(leading)
    lost = size * (2.0 ** (1 - form.bits) * RAISED) + _up(2.0**last.smallest, form.word)
    if last.word == form.word:
        return lost
    # A low limb of d+s beyond float32's range is not stored.
    over = size - 2.0 ** (last.overflow + 52)
    over = Array(elementwise.apply("max", [over.planes, base.scalar_limbs(over.format, 0, "0")]))
    return lost + over * 2.0**-52
