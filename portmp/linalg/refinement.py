"""Systems solved by factors of few limbs and refined to all of them.

Factors cost n^3 operations, a correction n^2. A value's first limbs are the value in a shorter
format, where they lie: nothing is converted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from portmp import formats
from portmp.arrays import complexes
from portmp.arrays.array import Array, zeros
from portmp.arrays.blas import gemm, scal
from portmp.arrays.elementwise import isfinite
from portmp.arrays.manipulation import stack
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.linalg import operands
from portmp.linalg.elimination import LuFactors, lu_factor, lu_solve
from portmp.linalg.minimal_residuals import preconditioned
from portmp.linalg.norms import norm_estimate
from portmp.linalg.operands import By
from portmp.linalg.operators import normal
from portmp.progress import doing
from portmp.routines.complexes import products as by_parts

MOST = 40
"""Corrections with the same factors."""

SLOW = 0.5
"""A correction that leaves more than this of the backward error is the last of its factors."""

STEP, MOST_STEPS, FEWEST_STEPS = 32, 50, 4
"""GMRES: an iteration for so many rows, at most so many, and not at all with fewer."""

SUM = 10
"""Of a residual's own rounding: this times n u^N (|a| |x| + |b|) is above the bounds of sums, and
twice this above complex ones', whose parts are sums of twice as many products."""


class Refinement(NamedTuple):
    """What was done to a solution.

    ``format``: whose factors; ``corrections``: how many with them; ``backward``: the largest over
    right-hand sides of |b - a x| / (|a| |x| + |b|); ``condition``: |a| |a^-1|, the inverse's norm
    being estimated with the factors; ``bound``: of |x - exact| / |x| by that estimate, the residual
    and its own rounding; ``iterations``: of GMRES with the factors as preconditioner, where
    corrections alone did not do. Norms are those of the largest element and of sums of rows.
    """

    format: str
    corrections: int
    backward: float
    condition: float
    bound: float
    iterations: int = 0


class Refined(NamedTuple):
    """``x``, and ``info`` of how it came about."""

    x: Array
    info: Refinement


def refined(a: Array, b: Array, method: By) -> Refined:
    """x of a x = b by factors of as few limbs as do."""
    matrix, sides, vector = operands.one_system(a, b, "solve", "refine")
    n, form = matrix.shape[0], matrix.format
    operands.by(method, form, "solve")
    if not sides.size:
        return Refined(b.copy(), Refinement(form.name, 0, 0.0, 0.0, 0.0))
    size = float(abs(matrix).sum(1).max())
    if not math.isfinite(size) or not math.isfinite(float(abs(sides).max())):
        raise ArgumentError("solve: a or b holds infinities or NaN, or sums of them overflow")
    for short in shorter(form):
        doing(f"factors in {short.name}")
        factors = factored(matrix, short, method)
        if factors is None:
            continue
        x, count, errors = _corrected(matrix, sides, factors, size)
        enough = n * form.unit_roundoff
        steps, inverse = 0, 1.0
        if short is not form and float(errors.max()) > enough and worth(n, sides.shape[1]):
            x, steps, inverse = _by_gmres(matrix, sides, x, factors)
            errors = _residual(matrix, sides, x, size)[1]
        if short is form or float(errors.max()) <= enough:
            info = _described(matrix, sides, x, factors, size, inverse, errors)
            info = info._replace(corrections=count, iterations=steps)
            return Refined(x[:, 0] if vector else x, info)
    raise AssertionError("the format itself is the last")


def shorter(form: Format) -> Iterator[Format]:
    """Formats of fewer limbs, one first, that the first limbs of *form* are; then itself."""
    for limbs in range(1, form.limbs):
        found = formats.get(_NAMES[form.word][limbs - 1])
        if form.planes[:limbs] == (form.word,) * limbs:
            yield formats.complex_of(found) if form.components > 1 else found
    yield form


_NAMES = {"float32": ("float32", "ds", "ts", "qs"), "float64": ("float64", "dd", "td", "qd")}


def first_limbs(x: Array, form: Format) -> Array:
    """The first limbs of an array as values of a shorter format: a view."""
    return x if form is x.format else Array(x.planes.seen_as(form))


def factored(a: Array, form: Format, method: By) -> LuFactors | None:
    """Those of first limbs. With a zero on U's diagonal none; of all limbs LinAlgError."""
    factors = lu_factor(first_limbs(a, form), method=method)
    if form is a.format:
        operands.refuse_singular(factors.lu, "solve")
    return None if operands.is_singular(factors.lu) else factors


def worth(n: int, columns: int) -> int:
    """How many iterations of GMRES, for each of so many columns, cost no more than a limb more.

    An iteration is a product and two triangular systems, of n^2 steps each, which read all their
    numbers once; factors are n^3 steps at the rate of products of matrices. 0 where there would be
    too few to be of use.
    """
    most = min(MOST_STEPS, n // (STEP * columns))
    return most if most >= FEWEST_STEPS else 0


def _by_gmres(a: Array, b: Array, x: Array, factors: LuFactors) -> tuple[Array, int, float]:
    """x of each column by GMRES from the x so far, how many iterations, and the largest |(a M)^-1|.

    The factors are applied as the inverse in the format itself (Carson and Higham 2017). Complex
    systems are those of their real and imaginary parts, which have the same size.
    """
    wide = LuFactors(widened(factors.lu, a.format), factors.piv)
    whole, parts = _as_real(b.shape[0]) if a.format.components > 1 else (_same, _same)
    matrix = a if parts is _same else Array(by_parts.rows(a.planes))
    columns, steps, inverse = [], 0, 1.0
    for j in range(b.shape[1]):
        column = x[:, j]
        if bool(isfinite(column).all()):
            found, size = preconditioned(
                matrix,
                parts(b[:, j]),
                lambda v: parts(lu_solve(wide, whole(v))),
                parts(column),
                worth(*b.shape),
            )
            column, steps, inverse = whole(found.x), steps + found.iterations, max(inverse, size)
        columns.append(column)
    return stack(columns, axis=1), steps, inverse


def _same(v: Array) -> Array:
    return v


def _as_real(n: int) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Complex vectors (n,) of their parts, one behind the other, and these of them."""
    return (
        lambda v: complexes.joined(v[:n], v[n:]),
        lambda z: Array(by_parts.stacked(z.planes.halves, -1)),
    )


def widened(x: Array, form: Format) -> Array:
    """Values of a shorter format as those of a longer one: a copy with zeros behind."""
    made = zeros(x.shape, form, x.queue)
    first_limbs(made, x.format)[...] = x
    return made


def _corrected(
    a: Array, b: Array, factors: LuFactors, size: float
) -> tuple[Array, int, np.ndarray[Any, Any]]:
    """x, how many corrections were made, and the backward errors of its columns."""
    n, form = a.shape[0], a.format
    x = _solved(factors, b, form)
    residual, errors = _residual(a, b, x, size)
    count = 0
    while count < MOST and float(errors.max()) > n * form.unit_roundoff:
        better = x + _solved(factors, residual, form)
        rest, after = _residual(a, b, better, size)
        count += 1
        before = float(errors.max())
        if not float(after.max()) < before:
            break
        x, residual, errors = better, rest, after
        if float(after.max()) > SLOW * before:
            break
    return x, count, errors


def _solved(factors: LuFactors, b: Array, form: Format) -> Array:
    """x in the format *form* by factors of a shorter one; b is scaled by a power of two."""
    small, exponent = normal(b)
    found = widened(lu_solve(factors, first_limbs(small, factors.lu.format)), form)
    return scal(math.ldexp(1.0, exponent), found)


def _residual(
    a: Array, b: Array, x: Array, size: float
) -> tuple[Array, np.ndarray[Any, np.dtype[np.float64]]]:
    """b - a x, and of each column its size relative to |a| |x| + |b|; inf where it is no number."""
    rest = gemm(a, x, alpha=-1, beta=1, c=b)
    largest, solution, side = (_largest(v) for v in (rest, x, b))
    with np.errstate(all="ignore"):
        errors = largest / (size * solution + side)
    errors = np.where(largest == 0, 0.0, errors)
    return rest, np.where(np.isnan(errors), math.inf, errors)


def _largest(x: Array) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The largest leading limb of each column."""
    found: Array = abs(x).max(0)
    return found.to_limbs()[0].astype(np.float64)


def _described(
    a: Array,
    b: Array,
    x: Array,
    factors: LuFactors,
    size: float,
    inverse_of_rest: float,
    errors: np.ndarray[Any, Any],
) -> Refinement:
    form, short = a.format, factors.lu.format
    inverse = norm_estimate(
        lambda v: lu_solve(factors, v, trans=2), lambda v: lu_solve(factors, v), factors.lu
    )
    condition = size * inverse * inverse_of_rest
    solution, side = _largest(x), _largest(b)
    with np.errstate(all="ignore"):
        relative = np.where(solution > 0, 1 + side / (size * solution), 1.0)
    rounding = SUM * form.components * a.shape[0] * form.unit_roundoff
    bound = float((condition * relative * (errors + rounding)).max())
    return Refinement(short.name, 0, float(errors.max()), condition, bound)
