"""Results with a bound of their errors: the last step from what kernels add up (docs/bounds.md).

A kernel gives, beside each value, what the proved bounds of its operations add up to, in units of
u^N and by rounded additions. Here that is made a number which is not below the error: it is raised
for those roundings, and for what underflows and what is stored short.

What ends in ``_apart`` bounds the errors of results that are there already, tightly, however they
were computed: by their distance from the same with one limb more and its bound or, where no format
has one limb more, from the exact sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from portmp import definition, formats
from portmp.errors import ArgumentError, suggestion
from portmp.formats import Format
from portmp.routines import base, conversions, elementwise, exact
from portmp.routines.exact.accumulator import SMALLEST
from portmp.routines.gemm import launch as products
from portmp.routines.reduce import launch as reductions
from portmp.runtime.planes import Planes

RAISED = 1.01
"""For the roundings of a bound's own sums, some thousand terms one after the other, and for leading
limbs instead of values."""

LOST = {1: 1, 2: 3, 3: 6, 4: 10}
"""By limbs: parts of a product that may underflow, each by half the smallest subnormal number."""

ROOT = {1: 1.0, 2: 25 / 8, 3: 1.01, 4: 1.01}
"""What square roots lose, in u^N."""

Pair = tuple[Planes, Planes]


def wanted(bound: object, form: Format) -> bool:
    """Whether a bound is wanted, and a tight one; ArgumentError for what *bound* cannot be.

    FormatError for a paper's format.
    """
    if not isinstance(bound, (bool, np.bool_)) and bound != "tight":
        near = suggestion(str(bound), ["tight"])
        raise ArgumentError(f"bound: {bound!r} given{near}; allowed are False, True and 'tight'")
    if bound:
        formats.with_bound(form)
    return isinstance(bound, str)


def check(accuracy: str, schedule: object, method: object = "direct") -> None:
    """ArgumentError for options that do not go with a bound of what kernels add up."""
    if schedule is not None or method != "direct":
        raise ArgumentError(
            "bound: True given; it has no schedule or method to choose, 'tight' takes any"
        )
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
    """As ``gemm``, with a bound of each element's error."""
    z = products.with_bound(a, b, alpha=alpha, beta=beta, c=c, accuracy=accuracy)
    raised = _raised(a.format, a.shape[-1])
    return _ended(z, a.format, _lost(a.format, a.shape[-1], alpha), out, raised)


def _raised(form: Format, k: int) -> float:
    """RAISED for products over k steps: slabs are added one after the other, by four roundings of
    the bound each."""
    roundings = 4 * (k // definition.SLAB) * formats.get(form.word).unit_roundoff
    return RAISED / (1 - roundings) if roundings < 1 else math.inf


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
    """As ``gemv``, with a bound of each element's error."""
    z = reductions.gemv_with_bound(a, x, alpha=alpha, beta=beta, y=y, accuracy=accuracy)
    return _ended(z, x.format, _lost(x.format, a.shape[1], alpha), out)


def dot(x: Planes, y: Planes, accuracy: str) -> Pair:
    """As ``dot``, with a bound of its error."""
    row = x.view((1, *x.shape), (0, *x.strides), x.start)
    one, zero = (base.scalar_limbs(x.format, number, "alpha") for number in (1, 0))
    value, bound = gemv(row, y, alpha=one, beta=zero, y=None, out=None, accuracy=accuracy)
    return value.view_as(()), bound.view_as(())


def over_rows(x: Planes) -> Pair:
    """The sum of each row of x (m, n), with a bound of its error."""
    return _ended(reductions.sums_with_bound(x), x.format, 0.0, None)


# --- bounds of results that are there -------------------------------------------------------------


def gemm_apart(
    result: Planes,
    a: Planes,
    b: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    c: Planes | None = None,
) -> Planes:
    """A tight bound of the error of *result*, which is alpha a b + beta c for matrices."""
    form = a.format
    wide = formats.wider(form)
    if wide is None:
        return _exactly(result, a, b, alpha, beta, c)
    z = products.with_bound(a, b, alpha=alpha, beta=beta, c=c, one_limb_more=True)
    raised = _raised(form, a.shape[-1])
    return distance(result, _ended(z, wide, _lost(wide, a.shape[-1], alpha), None, raised))


def gemv_apart(
    result: Planes,
    a: Planes,
    x: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    y: Planes | None = None,
) -> Planes:
    """A tight bound of the error of *result*, which is alpha a x + beta y for a vector x."""
    form = x.format
    wide = formats.wider(form)
    if wide is None:
        matrix = a if a.format is form else conversions.between(a, form)
        columns = [v and v.view((*v.shape, 1), (*v.strides, 1), v.start) for v in (result, x, y)]
        z, column, addend = columns
        assert z is not None
        assert column is not None
        return _exactly(z, matrix, column, alpha, beta, addend).view_as(result.shape)
    product = reductions.gemv_with_bound(a, x, alpha=alpha, beta=beta, y=y, one_limb_more=True)
    return distance(result, _ended(product, wide, _lost(wide, a.shape[1], alpha), None))


def dot_apart(result: Planes, x: Planes, y: Planes) -> Planes:
    """A tight bound of the error of *result*, which is the sum of x_i y_i."""
    row = x.view((1, *x.shape), (0, *x.strides), x.start)
    one, zero = (base.scalar_limbs(x.format, number, "alpha") for number in (1, 0))
    held = result.view((1,), (1,), result.start)
    return gemv_apart(held, row, y, alpha=one, beta=zero).view_as(())


def over_rows_apart(result: Planes, x: Planes) -> Planes:
    """A tight bound of the errors of *result*, the sums of the rows of x (m, n)."""
    wide = formats.wider(x.format)
    if wide is None:
        return exact.over_rows_apart(result, x)
    sums = reductions.sums_with_bound(x, one_limb_more=True)
    return distance(result, _ended(sums, wide, 0.0, None))


def _exactly(
    result: Planes,
    a: Planes,
    b: Planes,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    c: Planes | None,
) -> Planes:
    scalars = (*alpha, *(() if base.is_number(beta, 0) else beta))
    if all(map(np.isfinite, scalars)):
        return exact.gemm_apart(result, a, b, alpha=alpha, beta=beta, c=c)
    return _of("mul", leading(result), math.nan)


def distance(result: Planes, near: Pair) -> Planes:
    """What *result* is off at most from what *near* is off from by at most its bound."""
    value, bound = near
    there = conversions.between(result, value.format)
    away = _of("abs", leading(elementwise.apply("sub", [value, there])))
    return _of("fma", away, RAISED, bound)


def root(norm: Planes, largest: float, square: Pair, count: int, exponent: int | None) -> Planes:
    """The bound of *norm*, 2^exponent sqrt(square): of *count* entries up to *largest* in size."""
    value, error = square
    form = value.format
    if largest == 0 or exponent is None:
        return error
    unit = 2.0 ** max(one.smallest for one in form.encodings if one.parts)
    # What scaling loses of the lower limbs of entries counts twice in a square.
    most = max(1.0, math.ldexp(largest, -exponent))
    error = _of("add", error, upwards(2 * count * form.limbs * unit * most, form.word))
    size = _of("sqrt", _of("abs", leading(value)))
    # Storage formats round the root, and what it is scaled to.
    relative = ROOT[form.limbs] * form.compute.unit_roundoff
    relative += 2 * 2.0 ** (1 - form.bits) if form.compute is not form else 0.0
    total = _of("add", _of("div", error, size), _of("mul", size, relative))
    total = _of("mul", total, RAISED * math.ldexp(1.0, exponent))
    total = _of("add", total, upwards((form.limbs + 1) * unit, form.word))
    first = leading(norm)
    if form.compute is form:
        # Not a number where lower limbs may be lost near overflow.
        twice = _of("add", first, first)
        return _of("add", total, _of("sub", twice, twice))
    if form.limbs > 1:
        return _of("add", total, _cut(form, first))
    # What is cut off at the largest number is more than a rounding.
    away = _of("sub", _of("mul", size, math.ldexp(1.0, exponent)), first)
    return _of("add", total, _of("mul", _of("abs", away), RAISED))


def _of(op: str, x: Planes, *others: Planes | float) -> Planes:
    """An elementwise operation on words."""
    kind = np.dtype(x.format.word).type
    with np.errstate(over="ignore", under="ignore"):
        given = [(kind(o),) if isinstance(o, float) else o for o in others]
    return elementwise.apply(op, [x, *given])


def _lost(form: Format, k: int, alpha: Sequence[np.generic]) -> float:
    """What may underflow of an element's products, those with alpha and beta included."""
    unit = LOST[form.limbs] * 2.0 ** SMALLEST[form.word]
    return unit * (k * abs(float(alpha[0])) + 2) if math.isfinite(float(alpha[0])) else math.inf


def upwards(number: float, word: str) -> float:
    """A number of *word* that is not below, and not zero."""
    kind = np.dtype(word).type
    with np.errstate(over="ignore", under="ignore"):
        return float(np.nextafter(kind(number), kind(np.inf)))


def _ended(
    z: Planes, form: Format, lost: float, out: Planes | None, raised: float = RAISED
) -> Pair:
    """Values in *form* (copied to *out*), and numbers that are not below their errors."""
    word = form.word
    computed = form if form.limbs > 1 else form.arithmetic
    value = base.values_of(z, computed)
    bound = _of("fma", base.bounds_of(z), form.compute.unit_roundoff * raised, upwards(lost, word))
    if computed is not form:
        short = elementwise.converted(value, form)
        away = _of("abs", _of("sub", elementwise.converted(short, computed), value))
        value, bound = short, _of("add", bound, _of("mul", away, RAISED))
    elif form.compute is not form:
        bound = _of("add", bound, _cut(form, leading(value)))
    if out is not None:
        one = base.scalar_limbs(form, 1, "alpha")
        value = elementwise.scal(one, value, base.output(out, value, z.shape))
    return value, bound


def leading(value: Planes) -> Planes:
    """Leading limbs as numbers of the word, which they are in memory."""
    form = value.format
    if form.limbs == 1 and form.coded:
        return elementwise.converted(value, form.arithmetic)
    word, first = formats.get(form.word), value.buffers[:1]
    return Planes(word, value.shape, value.strides, value.start, first, value.queue)


def _cut(form: Format, first: Planes) -> Planes:
    """What values of several limbs lose where the last one is stored short."""
    last = [one for one in form.encodings if one.parts][-1]
    size = _of("abs", first)
    lost = _of("mul", size, 2.0 ** (1 - form.bits) * RAISED)
    lost = _of("add", lost, upwards(2.0**last.smallest, form.word))
    if last.word == form.word:
        return lost
    # A low limb of d+s beyond float32's range is not stored.
    over = _of("max", _of("sub", size, 2.0 ** (last.overflow + 52)), 0.0)
    return _of("add", lost, _of("mul", over, 2.0**-52))
