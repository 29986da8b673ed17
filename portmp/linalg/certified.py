"""Solutions with a rigorous bound of each component's error, after Rump.

With R near the inverse of a, C = I - R a and the residual r of x, the error e of x satisfies e = R
r + C e. Where |C| w < w for some w > 0, a is regular, and |e| <= w max(z / (w - |C| w)) for any z
that is not below |R r|. R is computed in as few limbs as do. C, R r and all other products are
those of ``gemm`` with its bound; r is the exact residual rounded once. Every further operation is
the host's, in float64, and raised for its roundings: no rounding but to nearest is needed. Of
complex systems all sizes are magnitudes, and w is real (docs/bounds.md).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portmp import formats
from portmp.arrays.array import Array, array
from portmp.arrays.blas import gemm
from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format
from portmp.formats.registry import has_bounds
from portmp.linalg import operands
from portmp.linalg.elimination import lu_solve
from portmp.linalg.operands import By
from portmp.linalg.operators import normal, scaled
from portmp.linalg.refinement import factored, first_limbs, shorter, widened
from portmp.progress import doing

Plane = np.ndarray[Any, np.dtype[np.float64]]

TRIES = 8
"""Weights w are changed so often before R counts as too far from the inverse."""

MOST = 60
"""Corrections of x at most."""

UP = 1 + 2.0**-48
"""For a few roundings in float64, one after the other."""

LEAST = 2.0**-1070
"""For the same where they underflow."""

FLOOR = 2.0**-60
"""Weights are at least so much of the largest of their column."""


class Certificate(NamedTuple):
    """How a bound came about.

    ``format``: that of the approximate inverse R; ``corrections``: how many of x with it;
    ``contraction``: the largest (\\|C\\| w) / w of all right-hand sides, below 1.
    """

    format: str
    corrections: int
    contraction: float


class Certified(NamedTuple):
    """``x``; ``bound``, of its shape and in words, which \\|x - exact\\| does not exceed in any
    component; ``info`` of how it came about."""

    x: Array
    bound: Array
    info: Certificate


def certified(a: Array, b: Array, method: By) -> Certified:
    """x of a x = b, with the proof that a is regular and a bound of each component's error."""
    matrix, sides, vector = operands.one_system(a, b, "solve", "certify")
    n, form = matrix.shape[0], matrix.format
    if not has_bounds(form.component):
        raise FormatError(
            f"solve: certify: {form.name} has networks of its own, of which no bound is proved"
        )
    operands.by(method, form, "solve")
    word = formats.get(form.word)
    if not sides.size:
        none = array(np.zeros(b.shape), word, b.queue)
        return Certified(b.copy(), none, Certificate(form.name, 0, 0.0))
    largest = [float(abs(v).max()) for v in (matrix, sides)]
    if not all(map(math.isfinite, largest)):
        raise ArgumentError("solve: a or b holds infinities or NaN")
    (left, power), (right, exponent) = _exactly_scaled(matrix), _exactly_scaled(sides)
    closest = math.inf
    for short in shorter(form):
        doing(f"an inverse in {short.name}")
        factors = factored(left, short, method)
        if factors is None:
            continue
        identity = operands.identity((n, n), matrix, short)
        inverse = _Inverse(left, lu_solve(factors, identity, method=method))
        found = inverse.solved(right)
        if found is not None:
            x, bound, corrections = found
            shift = exponent - power
            with np.errstate(over="ignore", under="ignore"):
                limit = np.ldexp(bound, shift) * UP + (16 * _smallest(form) if shift else 0.0)
            # Where x or the bound is beyond the words, nothing is known.
            x = scaled(x, shift)
            for leading in x.to_limbs()[:: form.limbs]:
                limit = np.where(np.isfinite(leading), limit, math.inf)
            errors = array(_up(limit, word), word, matrix.queue)
            info = Certificate(short.name, corrections, inverse.contraction)
            pair = (x[:, 0], errors[:, 0]) if vector else (x, errors)
            return Certified(*pair, info)
        closest = min(closest, inverse.contraction)
    raise ArgumentError(
        f"solve: certify: a cannot be proved regular in {form.name}: |I - R a|, R being the "
        f"approximate inverse, is below {closest:.2g}, not below 1"
        + "; a format with more bits may do"
        * (form.bits < formats.get("qd").bits)
    )


def _exactly_scaled(x: Array) -> tuple[Array, int]:
    """x 2^-e with elements up to about 1, and e; 0 where that would lose bits of small ones."""
    small, exponent = normal(x)
    if exponent and not bool((scaled(small, exponent) == x).all()):
        return x, 0
    return small, exponent


def _up(values: Plane, word: Format) -> Plane:
    """Numbers of a word that are not below."""
    kind = np.dtype(word.word).type
    with np.errstate(over="ignore", under="ignore"):
        near = values.astype(kind)
        raised = np.where(near < values, np.nextafter(near, kind(math.inf)), near)
    return np.asarray(raised)


def _smallest(form: Format) -> float:
    """The smallest positive number; of complex ones, not below what it makes of both parts."""
    return form.components * 2.0 ** max(one.smallest for one in form.encodings)


def magnitudes(x: Array) -> Array:
    """Not below those of complex numbers of one limb, in words."""
    return array(_up(_lengths(x), x.format.component), x.format.component, x.queue)


class _Inverse:
    """An approximate inverse R of a matrix, and bounds of C = I - R a in words."""

    def __init__(self, a: Array, r: Array) -> None:
        self.a, self.r = a, r
        self.form, self.short = a.format, r.format
        self.word = formats.get(a.format.word)
        self.contraction = math.inf
        # What sums of up to three (of complex numbers six) magnitudes are multiplied with.
        self.sums = 1 + 4 * self.form.components * self.word.unit_roundoff
        n = a.shape[0]
        identity = operands.identity((n, n), a, self.short)
        rest, bound = gemm(r, first_limbs(a, self.short), alpha=-1, beta=1, c=identity, bound=True)
        self.of_inverse = _sizes(r, self.word)
        self.parts = [(_sizes(v, self.word), self.raised(v.format)) for v in (rest, bound)]
        self.below = self.rest(a)

    def rest(self, x: Array) -> Array | None:
        """About the sum of the magnitudes of the other limbs; None without any."""
        if self.short is self.form:
            return None
        halves = map(Array, x.planes.halves)
        behind = [limb for half in halves for limb in half.limbs[self.short.limbs :]]
        limbs = [limb.astype(self.word, copy=False) for limb in behind]
        total: Array = abs(limbs[0])
        for limb in limbs[1:]:
            total = total + abs(limb)
        return total

    def raised(self, form: Format) -> float:
        """What a leading limb is multiplied with, so that it is not below the whole value."""
        return self.sums if len(form.planes) > 1 else 1.0

    def times(self, matrix: Array, weights: Plane) -> Plane:
        """Not below the product of a matrix without signs and *weights* (n, r)."""
        right = array(_up(weights, self.word), self.word, matrix.queue)
        value, error = gemm(matrix, right, bound=True)
        found = value.to_limbs()[0].astype(np.float64) + error.to_limbs()[0].astype(np.float64)
        return np.asarray(found * UP)

    def of_weights(self, weights: Plane) -> Plane:
        """Not below |C| w."""
        total = np.zeros_like(weights)
        for matrix, factor in self.parts:
            total = (total + self.times(matrix, weights) * factor) * UP
        if self.below is not None:
            outer = self.times(self.below, weights) * self.sums * UP
            total = (total + self.times(self.of_inverse, outer) * self.raised(self.short)) * UP
        return total

    def solved(self, b: Array) -> tuple[Array, Plane, int] | None:
        """x, bounds of its components' errors, and how many corrections; None without a proof."""
        ones = np.ones((self.a.shape[0], 1))
        with np.errstate(all="ignore"):
            first = self.proof(ones)
            if first is None:
                return None
            x, count = self.corrected(b)
            z = self.image(self.residual(x, b))
            # Weights near 1, whatever the sizes of z, so that nothing underflows.
            weights = np.maximum(z / z.max(axis=0, keepdims=True), FLOOR)
            found = self.proof(weights)
            if found is None:
                return None
            weights, rest = found
            # Divisions and products round by less than UP, or by less than LEAST.
            ratio = (z / rest).max(axis=0, keepdims=True) * UP + LEAST
            bound = weights * ratio * UP + LEAST
            bound = np.fmin(bound, (z + self.of_weights(bound)) * UP + LEAST)
            bound = np.where(np.isnan(bound), math.inf, bound)
        return x, bound, count

    def proof(self, weights: Plane) -> tuple[Plane, Plane] | None:
        """Weights w, and positive numbers that are not above w - |C| w; None if none is found."""
        start = weights
        for _ in range(TRIES):
            made = self.of_weights(weights)
            rest = (weights - made) / UP
            self.contraction = float((made / weights).max())
            if (rest > 0).all():
                return weights, rest
            weights = start + 2 * made
            if not np.isfinite(weights).all():
                return None
            weights = (
                weights / weights.max(axis=0, keepdims=True) * start.max(axis=0, keepdims=True)
            )
        return None

    def corrected(self, b: Array) -> tuple[Array, int]:
        """x by corrections R r from zero."""
        unit, short = self.form.unit_roundoff, self.short
        steps = 1 + math.ceil(math.log(unit) / math.log(max(self.contraction, 2.0**-40)))
        x: Array = b * 0
        residual = b
        for count in range(min(MOST, steps + 1)):
            small, exponent = normal(residual)
            change = widened(gemm(self.r, first_limbs(small, short)), self.form)
            x = x + scaled(change, exponent)
            residual = self.residual(x, b)
            step, size = (abs(v).to_limbs()[0] for v in (scaled(change, exponent), x))
            if (step <= unit * size).all():
                return x, count + 1
        return x, count + 1

    def residual(self, x: Array, b: Array) -> Array:
        """b - a x, exactly, rounded once."""
        found: Array = gemm(self.a, -x, beta=1, c=b, rounding="correct")
        return found

    def image(self, residual: Array) -> Plane:
        """Not below |R r|, r the exact residual."""
        small, exponent = normal(residual)
        leading, smallest = _lengths(small), _smallest(self.form)
        # What the residual's rounding left out, what scaling lost, and d+s beyond float32's range.
        lost = leading * 4 * self.form.unit_roundoff + 16 * smallest
        lost += max(math.ldexp(4 * smallest, -exponent), 2.0**-1074)
        if self.form.encodings[-1].word != self.form.word:
            lost = np.where(leading > 2.0**120, math.inf, lost)
        rest = self.rest(small)
        if rest is not None:
            limb = rest.to_limbs()[0].astype(np.float64)
            lost = (lost + limb * self.sums) * UP
        value, error = gemm(self.r, first_limbs(small, self.short), bound=True)
        total = _lengths(value) * self.raised(self.short) + _lengths(error)
        total = total + self.times(self.of_inverse, lost) * self.raised(self.short)
        return np.asarray(np.ldexp(total * UP, exponent) + LEAST)


def _sizes(x: Array, word: Format) -> Array:
    """The magnitudes of leading limbs, in words: of complex numbers the sums of both parts'."""
    sizes: list[Array] = [abs(first_limbs(Array(half), word)) for half in x.planes.halves]
    return sizes[0] + sizes[1] if len(sizes) > 1 else sizes[0]


def _lengths(x: Array) -> Plane:
    """The same on the host, of complex numbers not below the root of both parts' squares."""
    limbs = x.to_limbs()[:: x.format.limbs]
    sizes: list[Plane] = [np.abs(v.astype(np.float64)) for v in limbs]
    if len(sizes) == 1:
        return sizes[0]
    with np.errstate(all="ignore"):
        most = np.maximum(*sizes)
        ratio = np.fmin(np.minimum(*sizes) / np.where(most > 0, most, 1), 1)
        return np.asarray(most * np.sqrt(1 + ratio * ratio) * UP + LEAST)
