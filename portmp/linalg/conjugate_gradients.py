"""Conjugate gradients, with the matrix read short and the solution refined.

An iteration reads the whole matrix once, so its time is the matrix's bytes. Rounds of iterations
with a short copy find corrections; after each the residual is taken with the matrix itself, so
that the copy's rounding slows convergence and leaves no error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from portmp import definition, formats
from portmp.arrays import blas
from portmp.arrays.array import Array, operand, zeros
from portmp.backends.base import Launch, recording, replay
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import Format
from portmp.routines import base, reduce
from portmp.routines.elementwise import apply, scal
from portmp.runtime.planes import allocate

SLACK = 16
"""How many units of roundoff of trace(a) |x| + |b| full accuracy may miss: gemv's own errors."""

DEEPEST = {"float32": 2.0**-50, "float64": 2.0**-400}
"""A round reduces residuals no further: their squares must not underflow in these words."""

AHEAD = 8
"""So many iterations at most (2 or more) are launched before their numbers are read."""

NEAR = 24
"""Traces within 2^-24 and 2^24 need no scaling: products with the matrix do not underflow."""

HALVED = 0.5
"""A round that leaves more than this of the residual is the last: more of them would not help."""


@dataclass(frozen=True)
class Solution:
    """What ``cg`` found.

    ``residual`` is \\|b - a x\\| / \\|b\\| in the Euclidean norm, computed in b's format, and
    ``converged`` whether it is as small as was asked for. ``rounds`` are the iterations of each
    round, ``residuals`` the residuals after each.
    """

    x: Array
    residual: float
    converged: bool
    rounds: tuple[int, ...]
    residuals: tuple[float, ...]

    @property
    def iterations(self) -> int:
        """Iterations of all rounds: products with the inner matrix."""
        return sum(self.rounds)


def cg(
    a: Array,
    b: Array,
    *,
    inner: Array | str | Format | None = None,
    tolerance: float | None = None,
    reduction: float | None = None,
    iterations: int | None = None,
) -> Solution:
    """The solution x of a x = b for symmetric positive definite a (n, n) and b (n,).

    *inner* is a copy of a that iterations read instead, or the format to make it in: a storage
    format of b's, or any other; iterations compute in what it computes as. Each round of them
    reduces the residual by *reduction* (below 0.5; default: about the cube root of inner's unit
    roundoff; without inner all that is asked for), then b - a x is taken anew with a itself, in
    b's format. a may be in a storage format of b's, too: then x solves the system with the
    rounded matrix.

    Ends where |b - a x| <= *tolerance* |b|; without one where it is at most 16 u (trace(a) |x| +
    |b|), u being the unit roundoff of b's format, which is as good as the exact solution of a
    system whose numbers were rounded. Ends early, ``converged`` being False, after *iterations*
    (default 10 n for each limb of b), or after a round that has not halved the residual: inner is
    then too short for a's condition number, or *tolerance* beyond the format. Of all rounds' x that
    with the smallest residual is given.

    Bits are the same on every device. Reads numbers once for up to eight iterations (a wait), the
    last of which may be for nothing. Raises ArgumentError where p.(a p) <= 0 shows that a, or its
    short copy, is not positive definite, and where numbers are not finite.
    """
    _check(a, b)
    for name, value, most in (("tolerance", tolerance, 1), ("reduction", reduction, HALVED)):
        if value is not None and not (isinstance(value, float) and 0 < value < most):
            raise ArgumentError(
                f"cg: {name} {value!r} given, a float between 0 and {most} is needed"
            )
    if iterations is not None and not (type(iterations) is int and iterations >= 1):
        raise ArgumentError(f"cg: iterations {iterations!r} given, a whole number is needed")
    matrix = _inner(a, b, inner)
    floor = DEEPEST[matrix.format.word]
    usual = a.format.arithmetic.unit_roundoff if matrix is a else _third(matrix.format)
    depth = max(floor, reduction or usual)
    left = iterations or 10 * b.size * b.format.limbs
    x, size = zeros(b.shape, b.format, b.device), _norm(b)
    if size == 0:
        return Solution(x, 0.0, True, (), ())
    goal = _Goal(tolerance, b.format.unit_roundoff, _trace(a) if tolerance is None else 0.0, size)
    residual, now = b, size
    power = _power(matrix)
    work = _Iterates(matrix, power)
    rounds: list[int] = []
    residuals: list[float] = []
    while now > goal.at(x) and left > 0:
        enough = goal.at(x) / now / 2
        change, count = _round(work, residual, max(depth, enough), left)
        left -= count
        found = x + change
        fresh = _residual(a, found, b, power)
        after = _norm(fresh)
        rounds.append(count)
        residuals.append(after / size)
        helped, settled = after < now, after > HALVED * now
        if helped:
            x, residual, now = found, fresh, after
        if settled:
            break
    return Solution(x, now / size, now <= goal.at(x), tuple(rounds), tuple(residuals))


@dataclass(frozen=True)
class _Goal:
    """How small a residual is asked for."""

    tolerance: float | None
    unit: float
    trace: float
    size: float

    def at(self, x: Array) -> float:
        """The largest norm of the residual of *x* that is small enough."""
        if self.tolerance is not None:
            return self.tolerance * self.size
        return SLACK * self.unit * (self.trace * _norm(x) + self.size)


def _check(a: Array, b: Array) -> None:
    operand(a, "cg: a")
    operand(b, "cg: b")
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ShapeError(f"cg: a must be square, {a.shape} given")
    if b.shape != a.shape[:1]:
        raise ShapeError(f"cg: b {b.shape} does not fit a {a.shape}: ({a.shape[0]},) is needed")
    base.computes(b.format, "cg: b")
    if a.format.arithmetic is not b.format:
        base.same(b.format, b=b.planes, a=a.planes)
    base.same_device(b.planes, "b", a=a.planes)


def _inner(a: Array, b: Array, inner: Array | str | Format | None) -> Array:
    """The matrix that iterations read."""
    if inner is None:
        return a
    if not isinstance(inner, Array):
        form = formats.get(inner)
        return a if form is a.format else a.astype(form)
    if inner.shape != a.shape:
        raise ShapeError(f"cg: inner has shape {inner.shape}, a {a.shape}")
    base.same_device(b.planes, "b", inner=inner.planes)
    return inner


def _third(form: Format) -> float:
    """About the cube root of a format's unit roundoff: a power of two, the same everywhere."""
    bits = 1 - math.frexp(form.unit_roundoff)[1]
    return math.ldexp(1.0, -bits // 3)


def _norm(x: Array) -> float:
    """The Euclidean norm; ArgumentError where it is not finite."""
    norm = float(blas.nrm2(x)) if x.size else 0.0
    if not math.isfinite(norm):
        raise ArgumentError(
            f"cg: a norm is {norm}: a or b hold infinities or NaN, or are too large for "
            f"{x.format.name}"
        )
    return norm


def _trace(a: Array) -> float:
    """The sum of the diagonal, which bounds the norm of a positive definite matrix."""
    trace = _diagonal_sum(a)
    if not math.isfinite(trace):
        raise ArgumentError(f"cg: a's diagonal sums to {trace}: it holds infinities or NaN")
    return trace


def _diagonal_sum(a: Array) -> float:
    planes = a.planes
    diagonal = Array(planes.view(a.shape[:1], (sum(planes.strides),), planes.start))
    return float(_as(diagonal, a.format.arithmetic).sum()) if diagonal.size else 0.0


def _power(a: Array) -> int:
    """The exponent of a matrix's trace, by which vectors are scaled; 0 where that is near 1."""
    exponent = definition.norm_exponent(a.format.arithmetic.word, abs(_diagonal_sum(a))) or 0
    return exponent if abs(exponent) > NEAR else 0


def _scaled(x: Array, power: int) -> Array:
    return blas.scal(math.ldexp(1.0, power), x) if power else x


def _residual(a: Array, x: Array, b: Array, power: int) -> Array:
    """b - a x, with x and b scaled so that products do not underflow."""
    power = min(power, 0)
    fresh = blas.gemv(a, _scaled(x, -power), alpha=-1, beta=1, y=_scaled(b, -power))
    return _scaled(fresh, power)


def _round(work: _Iterates, b: Array, reduction: float, most: int) -> tuple[Array, int]:
    """A correction x with a x near b, and its iterations: conjugate gradients from x = 0.

    b is scaled by a power of two, exactly, so that formats of a shorter range hold it.
    """
    largest = float(abs(b).max())
    exponent = definition.norm_exponent(b.format.word, largest) or 0
    first = size = work.start(_as(blas.scal(math.ldexp(1.0, -exponent), b), work.format))
    enough, count = size * reduction * reduction, 0
    while size > enough and count < most:
        more = min(_ahead(count, first, size, enough), most - count)
        for curvature, size in work.run(more):
            count += 1
            _refuse(curvature, size, work.matrix.format, count)
            if size <= enough:
                break
    found = _scaled(_as(work.x(count), b.format), -work.power)
    return blas.scal(math.ldexp(1.0, exponent), found), count


def _ahead(count: int, first: float, size: float, enough: float) -> int:
    """How many iterations to launch at once: half of those that the last *count* let expect.

    Those after the one whose residual is small enough are for nothing; so never more than there
    were so far, as some systems end all at once. Estimates change no bits.
    """
    expected = float(count)
    if size < first:
        expected *= math.log(size / enough) / math.log(first / size)
    return max(1, min(AHEAD, count, int(expected / 2)))


class _Iterates:
    """Conjugate gradients with one matrix: their vectors and numbers, in memory of their own.

    A GPU would wait while the host reads numbers and puts an iteration's launches together. So
    several iterations are launched before their numbers are read: iteration k leaves x and its
    numbers in place k modulo ``AHEAD``. Each place's launches are recorded the first time, then
    repeated.
    """

    def __init__(self, a: Array, power: int) -> None:
        self.matrix, self.format, self.power = a.planes, a.format.arithmetic, power
        self.enlarged = allocate(self.format, a.shape[:1], a.planes.queue) if power < 0 else None
        vectors = [allocate(self.format, a.shape[:1], a.planes.queue) for _ in range(3 + AHEAD)]
        self.residual, self.direction, self.image, *self.places = vectors
        self.numbers = zeros((2 * AHEAD,), self.format, a.device)
        numbers = [self.numbers[i, ...].planes for i in range(2 * AHEAD)]
        self.curvatures, self.squares = numbers[:AHEAD], numbers[AHEAD:]
        self.step, self.back, self.ratio, self.zero = (
            zeros((), self.format, a.device).planes for _ in range(4)
        )
        self.recorded: dict[int, list[Launch]] = {}
        self.launched = 0

    def start(self, residual: Array) -> float:
        """Begin at x = 0, whose *residual* is given; its square."""
        for vector in (self.residual, self.direction):
            apply("copy", [residual.planes], vector)
        apply("copy", [self.zero.broadcast_to(residual.shape)], self.places[0])
        self.launched = 0
        reduce.dot(self.residual, self.residual, out=self.squares[0])
        return float(self.numbers.to_float64()[AHEAD])

    def run(self, count: int) -> list[tuple[float, float]]:
        """*count* iterations, at most ``AHEAD``.

        Of each the direction's curvature p.(a p), and the square of the residual.
        """
        places = [(self.launched + i) % AHEAD for i in range(1, count + 1)]
        for place in places:
            if place in self.recorded:
                replay(self.recorded[place])
            else:
                with recording() as self.recorded[place]:
                    self._launch(place)
        self.launched += count
        found = self.numbers.to_float64().tolist()
        return [(found[place], found[AHEAD + place]) for place in places]

    def x(self, count: int) -> Array:
        """x after *count* iterations, one of the last run."""
        return Array(self.places[count % AHEAD])

    def _launch(self, place: int) -> None:
        form = self.format
        one, zero = base.scalar_limbs(form, 1, "alpha"), base.scalar_limbs(form, 0, "beta")
        curvature, square = self.curvatures[place], self.squares[place]
        # Before the first place comes the last.
        x, before = self.places[place - 1], self.squares[place - 1]
        # Small products are enlarged before, large ones reduced after, so that none underflow.
        direction, after = self.direction, one
        factor = base.scalar_limbs(form, math.ldexp(1.0, -self.power), "alpha")
        if self.enlarged is not None:
            direction = scal(factor, direction, self.enlarged)
        elif self.power:
            after = factor
        reduce.gemv(self.matrix, direction, alpha=after, beta=zero, out=self.image)
        reduce.dot(self.direction, self.image, out=curvature)
        apply("div", [before, curvature], self.step)
        apply("neg", [self.step], self.back)
        apply("fma", [self.direction, self.step, x], self.places[place])
        apply("fma", [self.image, self.back, self.residual], self.residual)
        reduce.dot(self.residual, self.residual, out=square)
        apply("div", [square, before], self.ratio)
        apply("fma", [self.direction, self.ratio, self.residual], self.direction)


def _as(x: Array, form: Format) -> Array:
    return x if x.format is form else x.astype(form)


def _refuse(curvature: float, size: float, form: Format, count: int) -> None:
    """ArgumentError where an iteration shows that it cannot go on."""
    stored = f"the matrix in {form.name}"
    if not curvature > 0 and not math.isnan(curvature):
        raise ArgumentError(
            f"cg: {stored} is not positive definite: p.(a p) = {curvature:.2g} in iteration "
            f"{count}; a format with more bits rounds it less"
        )
    if not math.isfinite(size) or not math.isfinite(curvature):
        raise ArgumentError(
            f"cg: {stored} gives infinities or NaN in iteration {count}: it holds some, or its "
            "numbers are beyond the format's range"
        )
