"""Conjugate gradients, with the matrix read short and the solution refined.

An iteration reads the whole matrix once, so its time is the matrix's bytes. Rounds of iterations
with a short copy find corrections; after each the residual is taken with the matrix itself, so
that the copy's rounding slows convergence and leaves no error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from portmp import formats
from portmp.arrays import blas
from portmp.arrays.array import Array, zeros
from portmp.backends.base import Launch, recording, replay
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import Format
from portmp.linalg import iterative, operators
from portmp.linalg.iterative import (
    DEEPEST,
    Approximation,
    Goal,
    Solution,
    approximation,
    given_back,
)
from portmp.linalg.operators import Linear, Matrix, Operator, Scaled, normal, scaled
from portmp.linalg.sparse import csr_array
from portmp.progress import doing
from portmp.routines import base
from portmp.routines.elementwise.launch import apply
from portmp.routines.reduce import launch as reduce
from portmp.runtime.planes import allocate

AHEAD = 8
"""So many iterations at most (2 or more) are launched before their numbers are read."""

HALVED = 0.5
"""A round that leaves more than this of the residual is the last: more of them would not help."""


Callback = Callable[[Array], object]


def cg(
    a: Linear,
    b: Array,
    x0: Array | None = None,
    *,
    inner: Linear | str | Format | None = None,
    tolerance: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    reduction: float | None = None,
    iterations: int | None = None,
    maxiter: int | None = None,
    M: Linear | None = None,
    callback: Callback | None = None,
) -> Solution:
    """The solution x of a x = b for symmetric positive definite a (n, n) and b (n,).

    a is an Array, a ``sparse.csr_array``, a function of an Array (n,), or an object with SciPy's
    ``shape`` and ``matvec``. *inner* is a copy of a that iterations read instead, or (for matrices)
    the format to make it in: a storage format of b's, or any other; iterations compute in what it
    computes as. Each round of them reduces the residual by *reduction* (below 0.5; default: about
    the cube root of inner's unit roundoff; without inner all that is asked for), then b - a x is
    taken anew with a itself, in b's format. a may be in a storage format of b's, too: then x solves
    the system with the rounded matrix.

    *x0* is where the first round starts (default zeros), *M* an operator near the inverse of a,
    also symmetric and positive definite, which gets vectors in the format of the iterations.
    *callback* is called with x after each iteration, which costs time.

    Ends where |b - a x| <= max(*tolerance* |b|, *atol*), *atol* being 0 by default; without a
    *tolerance* 16 u (trace(a) |x| + |b|) stands for its part, u being the unit roundoff of b's
    format, which is as good as the exact solution of a system whose numbers were rounded; of a
    function, the largest curvature that was met stands for the trace. Ends early, ``converged``
    being False, after *iterations* (default 10 n for each limb of b), or after a round that has not
    halved the residual: inner is then too short for a's condition number, or *tolerance* beyond the
    format. Of all rounds' x that with the smallest residual is given. *rtol* and *maxiter* are
    SciPy's names of *tolerance* and *iterations*.

    Bits are the same on every device. With matrices, numbers are read once for up to eight
    iterations (a wait), the last of which may be for nothing. Raises ArgumentError where p.(a p) <=
    0 shows that a, or its short copy, is not positive definite, where r.(M r) <= 0 shows it of M,
    and where numbers are not finite, the solution's too. In ``d+s``, whose low limbs have float32's
    range, a's numbers are to be within about 2^100 of 1 for all of its digits.
    """
    called = [
        "tolerance" if rtol is None else "rtol",
        "iterations" if maxiter is None else "maxiter",
    ]
    tolerance = _one(tolerance, rtol, "tolerance", "rtol")
    iterations = _one(iterations, maxiter, "iterations", "maxiter")
    b = iterative.vector(b, "cg")
    outer = operators.operator(a, b, "cg")
    least = _checked(tolerance, atol, reduction, iterations, callback, *called)
    first = iterative.started(x0, b, "cg")
    short = _inner(a, b, inner)
    matrix = outer if short is a else _operator(short, b, "inner")
    form = b.format if matrix.elements is None else matrix.elements.format
    usual = b.format.unit_roundoff if matrix is outer else _third(form)
    depth = max(DEEPEST[form.word], reduction or usual)
    size = iterative.norm(b, "cg")
    if size == 0:
        return Solution(zeros(b.shape, b.format, b.device), 0.0, True, (), ())
    # All is scaled by powers of two, so that a, b and what comes of them are near 1.
    side, exponent = normal(b)
    size = iterative.norm(side, "cg")
    power = _power(matrix, b)
    known = tolerance is None and outer.elements is not None
    trace = math.ldexp(_trace(outer), -power) if known else 0.0
    goal = Goal(tolerance, b.format.unit_roundoff, trace, size, math.ldexp(least, -exponent))
    exact = Scaled(outer, power, side)
    best = Approximation(zeros(b.shape, b.format, b.device), side, size, 0.0)
    if first is not None:
        best = approximation("cg", scaled(first, power - exponent), exact, side)

    def told(x: Array) -> Callback | None:
        if callback is None:
            return None
        return lambda change: callback(scaled(x + change, exponent - power))

    work = _Iterates(matrix, power, form, b, M, callback is not None)
    most = iterations or 10 * b.size * b.format.limbs
    best, counts, residuals = _refined(best, exact, side, goal, work, depth, most, told)
    x = given_back("cg", best, exponent - power)
    ratios = tuple(after / size for after in residuals)
    return Solution(x, best.left / size, best.left <= goal.at(best.length), tuple(counts), ratios)


def _refined(
    best: Approximation,
    a: Scaled,
    b: Array,
    goal: Goal,
    work: _Iterates,
    depth: float,
    most: int,
    told: Callable[[Array], Callback | None],
) -> tuple[Approximation, list[int], list[float]]:
    """Rounds of iterations from the best x on, until it is good enough or they are of no use.

    With how many iterations each round took, and what it left.
    """
    counts: list[int] = []
    residuals: list[float] = []
    while best.left > goal.at(best.length) and most > sum(counts):
        enough = goal.at(best.length) / best.left / 2
        target = max(depth, enough)
        change, count = _round(work, best.residual, target, most - sum(counts), told(best.x))
        after = approximation("cg", best.x + change, a, b)
        counts.append(count)
        residuals.append(after.left)
        if a.of.elements is None:
            goal.matrix = max(goal.matrix, work.curvature)
        useful = after.left <= HALVED * best.left
        if after.left < best.left:
            best = after
        if not useful:
            break
    return best, counts, residuals


def _checked(
    tolerance: float | None,
    atol: float | None,
    reduction: float | None,
    most: int | None,
    callback: Any,
    rtol: str,
    maxiter: str,
) -> float:
    """*atol*, 0 by default, once all of them are what they have to be."""
    iterative.check_number("cg", "reduction", reduction, HALVED)
    iterative.check_count("cg", maxiter, most)
    iterative.check_callback("cg", callback)
    return iterative.check_tolerances("cg", rtol, tolerance, atol)


def _one(value: Any, other: Any, name: str, alias: str) -> Any:
    """An argument that has two names."""
    if value is not None and other is not None:
        raise ArgumentError(f"cg: {alias}: given beside {name}, which is the same")
    return other if value is None else value


def _inner(a: Linear, b: Array, inner: Linear | str | Format | None) -> Linear:
    """What iterations multiply by."""
    if inner is None or inner is a:
        return a
    if isinstance(inner, (str, Format)):
        if not isinstance(a, (Array, csr_array)):
            raise ArgumentError("cg: inner: a format given, but a is a function; give another one")
        form = formats.get(inner)
        return a if form is a.format else a.astype(form)
    if isinstance(inner, (Array, csr_array)):
        if inner.shape != (b.shape[0], b.shape[0]):
            raise ShapeError(f"cg: inner has shape {inner.shape}, a {(b.shape[0], b.shape[0])}")
        planes = inner.data.planes if isinstance(inner, csr_array) else inner.planes
        base.same_device(b.planes, "b", inner=planes)
    return inner


def _operator(inner: Linear, b: Array, argument: str) -> Operator:
    """An operator in a format of its own."""
    if isinstance(inner, (Array, csr_array)):
        return Operator("cg", argument, inner, None)
    return operators.operator(inner, b, "cg", argument)


def _third(form: Format) -> float:
    """About the cube root of a format's unit roundoff: a power of two, the same everywhere."""
    bits = 1 - math.frexp(form.unit_roundoff)[1]
    return math.ldexp(1.0, -bits // 3)


def _trace(a: Operator) -> float:
    """The sum of the diagonal, which bounds the norm of a positive definite matrix."""
    trace = _diagonal_sum(a.matrix)
    if not math.isfinite(trace):
        raise ArgumentError(f"cg: a's diagonal sums to {trace}: it holds infinities or NaN")
    return trace


def _diagonal_sum(a: Matrix | None) -> float:
    if isinstance(a, csr_array):
        diagonal = a.diagonal()
    else:
        assert a is not None
        planes = a.planes
        diagonal = Array(planes.view(a.shape[:1], (sum(planes.strides),), planes.start))
    return float(_as(diagonal, a.format.arithmetic).sum()) if diagonal.size else 0.0


def _power(a: Operator, b: Array) -> int:
    """The exponent of a matrix' trace, by which vectors are scaled; 0 where that is near 1."""
    if a.elements is None:
        return operators.power_of(a, b)
    return operators.exponent_of(a.elements.format, _diagonal_sum(a.matrix))


def _round(
    work: _Iterates, b: Array, reduction: float, most: int, told: Callback | None
) -> tuple[Array, int]:
    """A correction x with a x near b, and its iterations: conjugate gradients from x = 0.

    b is scaled by a power of two, exactly, so that formats of a shorter range hold it.
    """
    small, exponent = normal(b)
    first = size = work.start(_as(small, work.format))

    def correction(count: int) -> Array:
        return blas.scal(math.ldexp(1.0, exponent), _as(work.x(count), b.format))

    enough, count = size * reduction * reduction, 0
    while size > enough and count < most:
        doing(f"cg: iteration {count + 1}, residual {math.sqrt(size / first):.1e} of the round's")
        more = min(_ahead(count, first, size, enough), most - count, work.ahead)
        for curvature, size, conditioned in work.run(more):
            count += 1
            _refuse(curvature, size, conditioned, work.called, count)
            if told is not None:
                told(correction(count))
            if size <= enough:
                break
    return correction(count), count


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

    def __init__(
        self,
        a: Operator,
        power: int,
        form: Format,
        like: Array,
        preconditioner: Linear | None,
        each: bool,
    ) -> None:
        self.format = form.arithmetic
        self.called = f"the matrix in {form.name}" if a.elements is not None else "the function"
        shape, queue = like.shape, like.queue
        vectors = [allocate(self.format, shape, queue) for _ in range(3 + AHEAD)]
        self.residual, self.direction, self.image, *self.places = vectors
        self.matrix = Scaled(a, power, Array(self.residual))
        self.numbers = zeros((3 * AHEAD,), self.format, queue)
        numbers = [self.numbers[i, ...].planes for i in range(3 * AHEAD)]
        self.curvatures, self.squares = numbers[:AHEAD], numbers[AHEAD : 2 * AHEAD]
        self.step, self.back, self.ratio, self.zero = (
            zeros((), self.format, queue).planes for _ in range(4)
        )
        # Without a preconditioner the squares of residuals are what it would give.
        self.preconditioner: Scaled | None = None
        self.conditioned, self.products = self.residual, self.squares
        self.given = preconditioner
        if preconditioner is not None:
            self.conditioned = allocate(self.format, shape, queue)
            self.products = numbers[2 * AHEAD :]
        self.repeats = a.elements is not None and preconditioner is None
        self.ahead = AHEAD if self.repeats and not each else 1
        self.recorded: dict[int, list[Launch]] = {}
        self.launched = 0
        self.curvature = 0.0

    def start(self, residual: Array) -> float:
        """Begin at x = 0, whose *residual* is given; its square."""
        apply("copy", [residual.planes], self.residual)
        if self.given is not None and self.preconditioner is None:
            of = operators.operator(self.given, residual, "cg", "M")
            power = operators.power_of_image(of, residual)
            self.preconditioner = Scaled(of, power, residual)
        if self.preconditioner is not None:
            self.preconditioner.launch(self.residual, self.conditioned)
            reduce.dot(self.residual, self.conditioned, out=self.products[0])
        apply("copy", [self.conditioned], self.direction)
        apply("copy", [self.zero.broadcast_to(residual.shape)], self.places[0])
        self.launched = 0
        reduce.dot(self.residual, self.residual, out=self.squares[0])
        found = self.numbers.to_float64()
        self.before = found[AHEAD], 0.0
        if self.preconditioner is not None:
            _refuse_preconditioner(float(found[2 * AHEAD]), 0)
        return float(found[AHEAD])

    def run(self, count: int) -> list[tuple[float, float, float]]:
        """*count* iterations, at most ``AHEAD``.

        Of each the direction's curvature p.(a p), the square of the residual, and r.(M r).
        """
        places = [(self.launched + i) % AHEAD for i in range(1, count + 1)]
        for place in places:
            if place in self.recorded:
                replay(self.recorded[place])
            elif self.repeats:
                with recording() as self.recorded[place]:
                    self._launch(place)
            else:
                self._launch(place)
        self.launched += count
        found = self.numbers.to_float64().tolist()
        third = 2 * AHEAD if self.preconditioner is not None else AHEAD
        numbers = [(found[p], found[AHEAD + p], found[third + p]) for p in places]
        for curvature, square, _ in numbers:
            self._note(curvature, square)
        return numbers

    def _note(self, curvature: float, square: float) -> None:
        """Keep the largest diagonal element of Lanczos' matrix: none is above the norm of a."""
        size, ratio = self.before
        if self.preconditioner is None and size > 0 and math.isfinite(curvature / size):
            step = curvature / size
            self.curvature = max(self.curvature, step + ratio)
            self.before = square, square / size * step

    def x(self, count: int) -> Array:
        """x after *count* iterations, one of the last run."""
        return Array(self.places[count % AHEAD])

    def _launch(self, place: int) -> None:
        curvature, square = self.curvatures[place], self.squares[place]
        # Before the first place comes the last.
        x, before = self.places[place - 1], self.products[place - 1]
        self.matrix.launch(self.direction, self.image)
        reduce.dot(self.direction, self.image, out=curvature)
        apply("div", [before, curvature], self.step)
        apply("neg", [self.step], self.back)
        apply("fma", [self.direction, self.step, x], self.places[place])
        apply("fma", [self.image, self.back, self.residual], self.residual)
        reduce.dot(self.residual, self.residual, out=square)
        if self.preconditioner is not None:
            self.preconditioner.launch(self.residual, self.conditioned)
            reduce.dot(self.residual, self.conditioned, out=self.products[place])
        apply("div", [self.products[place], before], self.ratio)
        apply("fma", [self.direction, self.ratio, self.conditioned], self.direction)


def _as(x: Array, form: Format) -> Array:
    return x if x.format is form else x.astype(form)


def _refuse(curvature: float, size: float, conditioned: float, called: str, count: int) -> None:
    """ArgumentError where an iteration shows that it cannot go on."""
    if not curvature > 0 and not math.isnan(curvature):
        raise ArgumentError(
            f"cg: {called} is not positive definite: p.(a p) = {curvature:.2g} in iteration "
            f"{count}; minres and solve take others, more bits help where rounding made it so"
        )
    if not math.isfinite(size) or not math.isfinite(curvature):
        raise ArgumentError(
            f"cg: {called} gives infinities or NaN in iteration {count}: it holds some, or its "
            "numbers are beyond the format's range"
        )
    if size > 0:
        _refuse_preconditioner(conditioned, count)


def _refuse_preconditioner(conditioned: float, count: int) -> None:
    if not conditioned > 0:
        raise ArgumentError(
            f"cg: M is not positive definite: r.(M r) = {conditioned:.2g} in iteration {count}"
        )
