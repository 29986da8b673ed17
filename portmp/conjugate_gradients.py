"""Conjugate gradients, with the matrix read short and the solution refined.

An iteration reads the whole matrix once, so its time is the matrix's bytes. Rounds of iterations
with a short copy find corrections; after each the residual is taken with the matrix itself, so
that the copy's rounding slows convergence and leaves no error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from portmp import blas, definition, formats
from portmp.array import Array, operand, zeros
from portmp.backends.base import Launch, recording, replay
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import Format
from portmp.planes import Planes
from portmp.routines import base, reduce
from portmp.routines.elementwise import apply

SLACK = 16
"""How many units of roundoff of trace(a) |x| + |b| full accuracy may miss: gemv's own errors."""

DEEPEST = {"float32": 2.0**-50, "float64": 2.0**-400}
"""A round reduces residuals no further: their squares must not underflow in these words."""

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

    Bits are the same on every device. Reads numbers in each iteration (a wait). Raises
    ArgumentError where p.(a p) <= 0 shows that a, or its short copy, is not positive definite, and
    where numbers are not finite.
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
    rounds: list[int] = []
    residuals: list[float] = []
    while now > goal.at(x) and left > 0:
        enough = goal.at(x) / now / 2
        change, count = _round(matrix, residual, max(depth, enough), left)
        left -= count
        found = x + change
        fresh = blas.gemv(a, found, alpha=-1, beta=1, y=b)
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
    base.neighbours(b.planes, "b", a=a.planes)


def _inner(a: Array, b: Array, inner: Array | str | Format | None) -> Array:
    """The matrix that iterations read."""
    if inner is None:
        return a
    if not isinstance(inner, Array):
        form = formats.get(inner)
        return a if form is a.format else a.astype(form)
    if inner.shape != a.shape:
        raise ShapeError(f"cg: inner has shape {inner.shape}, a {a.shape}")
    base.neighbours(b.planes, "b", inner=inner.planes)
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
    planes = a.planes
    diagonal = Array(planes.view(a.shape[:1], (sum(planes.strides),), planes.start))
    trace = float(_as(diagonal, a.format.arithmetic).sum()) if diagonal.size else 0.0
    if not math.isfinite(trace):
        raise ArgumentError(f"cg: a's diagonal sums to {trace}: it holds infinities or NaN")
    return trace


def _round(a: Array, b: Array, reduction: float, most: int) -> tuple[Array, int]:
    """A correction x with a x near b, and its iterations: conjugate gradients from x = 0.

    b is scaled by a power of two, exactly, so that formats of a shorter range hold it.
    """
    form = a.format.arithmetic
    largest = float(abs(b).max())
    exponent = definition.norm_exponent(b.format.word, largest) or 0
    now = _Iterates(a, _as(blas.scal(math.ldexp(1.0, -exponent), b), form))
    size = now.start()
    enough = size * reduction * reduction
    while size > enough and now.count < most:
        curvature, size = now.iterate()
        _refuse(curvature, size, a, now.count)
    return blas.scal(math.ldexp(1.0, exponent), _as(Array(now.x), b.format)), now.count


class _Iterates:
    """Conjugate gradients' vectors and numbers, from x = 0 on, in memory of their own.

    Each iteration launches the same kernels on the same memory, but for the square of the
    residual, which every other one finds where the one before left it: two are recorded, and
    their launches repeated. Put together anew, an iteration takes the host longer than a GPU.
    """

    def __init__(self, a: Array, residual: Array) -> None:
        self.matrix, self.residual = a.planes, residual.planes
        self.x, self.direction, self.image = (
            v.planes for v in (_zeros_like(residual), residual.copy(), _zeros_like(residual))
        )
        self.numbers = zeros((3,), residual.format, residual.device)
        self.curvature, *self.squares = (self.numbers[i].planes for i in range(3))
        self.step, self.back, self.ratio = (
            zeros((), residual.format, residual.device).planes for _ in range(3)
        )
        self.recorded: list[list[Launch]] = []
        self.count = 0  # iterations so far

    def start(self) -> float:
        """The square of the first residual."""
        reduce.dot(self.residual, self.residual, out=self.squares[0])
        return float(self.numbers.to_float64()[1])

    def iterate(self) -> tuple[float, float]:
        """One iteration: the direction's curvature p.(a p), and the square of the residual."""
        turn = self.count % 2
        if turn == len(self.recorded):
            with recording() as launches:
                self._launch(self.squares[turn], self.squares[1 - turn])
            self.recorded.append(launches)
        else:
            replay(self.recorded[turn])
        self.count += 1
        # Read last, and at once, so that the device has an iteration's work.
        curvature, *squares = self.numbers.to_float64().tolist()
        return curvature, squares[1 - turn]

    def _launch(self, before: Planes, square: Planes) -> None:
        form = self.x.format
        one, zero = base.words(form, 1, "alpha"), base.words(form, 0, "beta")
        reduce.gemv(self.matrix, self.direction, alpha=one, beta=zero, out=self.image)
        reduce.dot(self.direction, self.image, out=self.curvature)
        apply("div", [before, self.curvature], self.step)
        apply("neg", [self.step], self.back)
        apply("fma", [self.direction, self.step, self.x], self.x)
        apply("fma", [self.image, self.back, self.residual], self.residual)
        reduce.dot(self.residual, self.residual, out=square)
        apply("div", [square, before], self.ratio)
        apply("fma", [self.direction, self.ratio, self.residual], self.direction)


def _zeros_like(x: Array) -> Array:
    return zeros(x.shape, x.format, x.device)


def _as(x: Array, form: Format) -> Array:
    return x if x.format is form else x.astype(form)


def _refuse(curvature: float, size: float, a: Array, count: int) -> None:
    """ArgumentError where an iteration shows that it cannot go on."""
    stored = f"the matrix in {a.format.name}"
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
