"""Results with a bound of their errors: the last step from what kernels add up (docs/bounds.md).

A kernel gives, beside each value, what the proved bounds of its operations add up to, in units of
u^N and by rounded additions. Here that is made a number which is not below the error: it is raised
for those roundings, and for what underflows and what is stored short.

What ends in ``error_bound`` bounds the errors of results that are there already, tightly, however
they were computed: by their distance from the same with one limb more and its bound or, where no
format has one limb more, from the exact sum.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from portmp import definition, formats
from portmp.errors import ArgumentError, shown, suggestion
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.conversions import launch as conversions
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.exact import launch as exact
from portmp.routines.exact.accumulator import SMALLEST
from portmp.routines.gemm import launch as products
from portmp.routines.products.product import Asked, of_vectors
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

FOLLOWED, TIGHT, NORMWISE = KINDS = "followed", "tight", "normwise"
"""Bounds of what each rounding may lose, by one limb more, by norms."""


def wanted(bound: object, form: Format, *, normwise: bool = False) -> str:
    """What *bound* asks for: nothing, or one of KINDS; *normwise*: whether that is to be had.

    ArgumentError for what *bound* cannot be, FormatError for a paper's format.
    """
    if bound is False:
        return ""
    known = [kind for kind in KINDS if kind != FOLLOWED and (normwise or kind != NORMWISE)]
    if not isinstance(bound, (bool, np.bool_)) and bound not in known:
        reason = "; 'normwise' is for gemm and gemv" if bound == NORMWISE else ""
        near = "" if reason else suggestion(shown(bound), known)
        allowed = ", ".join(["False", "True", *map(repr, known)])
        raise ArgumentError(f"bound: {shown(bound)} given{near}{reason}; allowed are {allowed}")
    if bound:
        formats.with_bound(form)
    return bound if isinstance(bound, str) else FOLLOWED if bound else ""


def check(
    accuracy: str, schedule: object, method: object = "direct", rounding: str | None = None
) -> None:
    """ArgumentError for options that do not go with a bound of what kernels add up."""
    if rounding is not None:
        base.check_rounding(rounding, bound=True)
    if schedule is not None or method not in ("auto", "direct"):
        raise ArgumentError(
            "bound: True given; it has no schedule or method to choose, 'tight' takes any, and "
            "'normwise' of matrices"
        )
    formats.get("float64").accumulator(accuracy)


def product(given: Asked, accuracy: str, *, vector: bool = False) -> Pair:
    """A product, as of ``gemm``, or of ``gemv`` for a *vector* b, with a bound.

    Each rounding is followed: a product of two limbs takes about a quarter more time for it, one
    limb's twice as long (docs/bounds.md).
    """
    form = given.b.format
    z, raised = _with_bound(given, vector, accuracy=accuracy)
    least = lost(form, given.steps, given.alpha)
    return _ended(z, form, _whole(z, form, least, raised), given.out)


def _with_bound(given: Asked, vector: bool, **how: Any) -> tuple[Planes, float]:
    """Values with what kernels add up, and what that is raised by."""
    if vector:
        return reductions.gemv_with_bound(given, **how), RAISED
    z = products.with_bound(given, **how)
    # Slabs are added one after the other, by four roundings of the bound each.
    unit = formats.get(given.b.format.word).unit_roundoff
    roundings = 4 * (given.steps // definition.SLAB) * unit
    raised = RAISED / (1 - roundings) if roundings < 1 else math.inf
    return z, raised


def dot(x: Planes, y: Planes, accuracy: str) -> Pair:
    """As ``dot``, with a bound of its error."""
    value, bound = product(of_vectors(x, y), accuracy, vector=True)
    return value.view_as(()), bound.view_as(())


def over_rows(x: Planes) -> Pair:
    """The sum of each row of x (m, n), with a bound of its error."""
    z = reductions.sums_with_bound(x)
    return _ended(z, x.format, _whole(z, x.format))


# --- bounds of results that are there -------------------------------------------------------------


def error_bound(result: Planes, given: Asked) -> Planes:
    """A tight bound of the error of *result*, a product with a matrix or a vector."""
    wide = formats.wider(given.b.format)
    if wide is None:
        return _exactly(result, given)
    z, raised = _with_bound(given, given.b.ndim == 1, one_limb_more=True)
    bound = _whole(z, wide, lost(wide, given.steps, given.alpha), raised)
    return distance(result, _ended(z, wide, bound))


def dot_error_bound(result: Planes, x: Planes, y: Planes) -> Planes:
    """A tight bound of the error of *result*, which is the sum of x_i y_i."""
    held = result.view((1,), (1,), result.start)
    return error_bound(held, of_vectors(x, y)).view_as(())


def over_rows_error_bound(result: Planes, x: Planes) -> Planes:
    """A tight bound of the errors of *result*, the sums of the rows of x (m, n)."""
    wide = formats.wider(x.format)
    if wide is None:
        return exact.over_rows_distances(result, x)
    sums = reductions.sums_with_bound(x, one_limb_more=True)
    return distance(result, _ended(sums, wide, _whole(sums, wide)))


def _exactly(result: Planes, given: Asked) -> Planes:
    if not all(map(np.isfinite, (*given.alpha, *(given.beta if given.adds else ())))):
        return of("mul", leading(result), math.nan)
    z = result
    if given.b.ndim == 1:
        z, given = base.column_of(result), given.in_columns()
        if given.a.format is not given.b.format:
            given = given._replace(a=conversions.between(given.a, given.b.format))
    return exact.gemm_distances(z, given).view_as(result.shape)


def distance(result: Planes, near: Pair) -> Planes:
    """What *result* is off at most from what *near* is off from by at most its bound."""
    value, bound = near
    there = conversions.between(result, value.format)
    away = of("abs", leading(elementwise.apply("sub", [value, there])))
    return of("fma", away, RAISED, bound)


def root(norm: Planes, largest: float, square: Pair, count: int, exponent: int | None) -> Planes:
    """The bound of *norm*, 2^exponent sqrt(square): of *count* entries up to *largest* in size."""
    value, error = square
    form = value.format
    if largest == 0 or exponent is None:
        return error
    unit = 2.0 ** max(one.smallest for one in form.encodings if one.parts)
    # What scaling loses of the lower limbs of entries counts twice in a square.
    most = max(1.0, math.ldexp(largest, -exponent))
    error = of("add", error, upwards(2 * count * form.limbs * unit * most, form.word))
    size = of("sqrt", of("abs", leading(value)))
    # Storage formats round the root, and what it is scaled to.
    relative = ROOT[form.limbs] * form.compute.unit_roundoff
    relative += 2 * 2.0 ** (1 - form.bits) if form.compute is not form else 0.0
    total = of("add", of("div", error, size), of("mul", size, relative))
    total = of("mul", total, RAISED * math.ldexp(1.0, exponent))
    total = of("add", total, upwards((form.limbs + 1) * unit, form.word))
    first = leading(norm)
    if form.compute is form:
        # Not a number where lower limbs may be lost near overflow.
        twice = of("add", first, first)
        return of("add", total, of("sub", twice, twice))
    if form.limbs > 1:
        return of("add", total, _cut(form, first))
    # What is cut off at the largest number is more than a rounding.
    away = of("sub", of("mul", size, math.ldexp(1.0, exponent)), first)
    return of("add", total, of("mul", of("abs", away), RAISED))


def of(op: str, x: Planes, *others: Planes | float) -> Planes:
    """An elementwise operation on words."""
    kind = np.dtype(x.format.word).type
    with np.errstate(over="ignore", under="ignore"):
        given = [(kind(o),) if isinstance(o, float) else o for o in others]
    return elementwise.apply(op, [x, *given])


def lost(form: Format, k: int, alpha: Sequence[np.generic]) -> float:
    """What may underflow of an element's products, those with alpha and beta included."""
    unit = LOST[form.limbs] * 2.0 ** SMALLEST[form.word]
    return unit * (k * abs(float(alpha[0])) + 2) if math.isfinite(float(alpha[0])) else math.inf


@lru_cache(maxsize=1024)
def upwards(number: float, word: str) -> float:
    """A number of *word* that is not below, and not zero."""
    kind = np.dtype(word).type
    with np.errstate(over="ignore", under="ignore"):
        return float(np.nextafter(kind(number), kind(np.inf)))


def _whole(z: Planes, form: Format, least: float = 0.0, raised: float = RAISED) -> Planes:
    """The bounds of *z*, no more in units of u^N, with what may underflow."""
    unit = form.compute.unit_roundoff * raised
    return of("fma", base.bounds_of(z), unit, upwards(least, form.word))


def _ended(z: Planes, form: Format, bound: Planes, out: Planes | None = None) -> Pair:
    """Values in *form* (copied to *out*), and numbers that are not below their errors."""
    computed = form if form.limbs > 1 else form.arithmetic
    value = z.seen_as(computed)
    if computed is not form:
        short = elementwise.converted(value, form)
        away = of("abs", of("sub", elementwise.converted(short, computed), value))
        value, bound = short, of("add", bound, of("mul", away, RAISED))
    elif form.compute is not form:
        bound = of("add", bound, _cut(form, leading(value)))
    if out is not None:
        one = base.scalar_limbs(form, 1, "alpha")
        value = elementwise.scal(one, value, base.output(out, value, z.shape))
    return value, bound


def leading(value: Planes) -> Planes:
    """Leading limbs as numbers of the word, which they are in memory; of complex ones by parts."""
    form = value.format
    if form.components > 1:
        short = formats.complex_of(formats.get(form.word))
        place = value.shape, value.strides, value.start
        return Planes(short, *place, value.buffers[:: form.limbs], value.queue)
    if form.limbs == 1 and form.coded:
        return elementwise.converted(value, form.arithmetic)
    return value.seen_as(formats.get(form.word))


def stored_short(bound: Planes, result: Planes) -> Planes:
    """*bound*, of a value, with what is lost where that is stored as *result*."""
    form = result.format
    if form.compute is form:
        return bound
    first = leading(result)
    if form.limbs > 1:
        return of("add", bound, _cut(form, first))
    one = form.encodings[0]
    relative = 2.0 ** (-form.bits if form.rounding == "nearest" else 1 - form.bits)
    total = of("fma", of("abs", first), relative * RAISED, bound)
    total = of("add", total, upwards(2.0**one.smallest, form.word))
    # What is near the largest number may be far below what was computed.
    end = formats.get(form.word).encodings[0].overflow
    far = of("mul", first, 2.0 ** (end + 2 - one.overflow))
    return of("add", total, of("sub", far, far))


def _cut(form: Format, first: Planes) -> Planes:
    """What values of several limbs lose where the last one is stored short."""
    last = [one for one in form.encodings if one.parts][-1]
    size = of("abs", first)
    total = of("mul", size, 2.0 ** (1 - form.bits) * RAISED)
    total = of("add", total, upwards(2.0**last.smallest, form.word))
    if last.word == form.word:
        return total
    # A low limb of d+s beyond float32's range is not stored.
    over = of("max", of("sub", size, 2.0 ** (last.overflow + 52)), 0.0)
    return of("add", total, of("mul", over, 2.0**-52))
