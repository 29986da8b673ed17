"""Conjugate gradients, with the matrix read short and the solution refined.

An iteration reads the whole matrix once, so its time is the matrix's bytes. Rounds of iterations
with a short copy find corrections; after each the residual is taken with the matrix itself, so
that the copy's rounding slows convergence and leaves no error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from portmp import formats
from portmp.arrays import manipulation
from portmp.arrays.array import Array, zeros
from portmp.backends.base import Repeated, recording
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import Format
from portmp.linalg import iterative, operators
from portmp.linalg.iterative import DEEPEST, Solution
from portmp.linalg.operators import Linear, Matrix, Operator, Scaled
from portmp.linalg.rounds import Callback, Method, System
from portmp.linalg.sparse import csr_array
from portmp.progress import doing
from portmp.routines import base
from portmp.routines.elementwise.launch import apply
from portmp.routines.reduce import launch as reduce
from portmp.runtime.planes import Planes, allocate

AHEAD = 8
"""So many iterations at most (2 or more) are launched before their numbers are read."""

HALVED = 0.5
"""A round that leaves more than this of the residual is the last: more of them would not help."""


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
    """The solution x of a x = b for positive definite a (n, n), symmetric or Hermitian, and b (n,).

    a is an Array, a ``sparse.csr_array``, a function of an Array (n,), or an object with SciPy's
    ``shape`` and ``matvec``. *inner* is a copy of a that iterations read instead, or (for matrices)
    the format to make it in: a storage format of b's, or any other; iterations compute in what it
    computes as. Each round of them reduces the residual by *reduction* (below 0.5; default: about
    the cube root of inner's unit roundoff; without inner all that is asked for), then b - a x is
    taken anew with a itself, in b's format. a may be in a storage format of b's, too: then x solves
    the system with the rounded matrix.

    *x0* is where the first round starts (default zeros), *M* an operator near the inverse of a,
    also positive definite, which gets vectors in the format of the iterations.
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
    goal = "tolerance" if rtol is None else "rtol"
    limit = "iterations" if maxiter is None else "maxiter"
    tolerance = _one(tolerance, rtol, "tolerance", "rtol")
    iterations = _one(iterations, maxiter, "iterations", "maxiter")
    inner = formats.get(inner) if isinstance(inner, str) else inner
    b = iterative.vector(b, "cg", a, x0, M, inner)
    outer = operators.operator(a, b, "cg")
    iterative.check_number("cg", "reduction", reduction, HALVED)
    iterative.check_count("cg", limit, iterations)
    iterative.check_callback("cg", callback)
    least = iterative.check_tolerances("cg", goal, tolerance, atol)
    first = iterative.started(x0, b, "cg")
    matrix = _inner(a, outer, b, inner)
    form = b.format if matrix.elements is None else matrix.elements.format
    usual = b.format.unit_roundoff if matrix is outer else _third(form)
    depth = max(DEEPEST[form.word], reduction or usual)
    if iterative.norm(b, "cg") == 0:
        return iterative.nothing(b)
    system = System("cg", outer, b, _power(matrix, b))
    work = _Iterates(matrix, system.matrix, b, form, M, callback)
    if tolerance is None and outer.elements is not None:
        work.size = math.ldexp(_trace(outer), -system.matrix.power)
    most = iterations or iterative.usual(b)
    return system.solved(work, first, tolerance, least, depth, most)


def _one(value: Any, other: Any, name: str, alias: str) -> Any:
    """An argument that has two names."""
    if value is not None and other is not None:
        raise ArgumentError(f"cg: {alias}: given beside {name}, which is the same")
    return other if value is None else value


def _inner(a: Linear, outer: Operator, b: Array, inner: Linear | Format | None) -> Operator:
    """What iterations multiply by, in a format of its own."""
    if inner is None or inner is a:
        return outer
    if isinstance(inner, Format):
        if not isinstance(a, (Array, csr_array)):
            raise ArgumentError("cg: inner: a format given, but a is a function; give another one")
        return outer if inner is a.format else Operator("cg", "inner", a.astype(inner), None)
    if not isinstance(inner, (Array, csr_array)):
        return operators.operator(inner, b, "cg", "inner")
    if inner.shape != (b.shape[0], b.shape[0]):
        raise ShapeError(f"cg: inner has shape {inner.shape}, a {(b.shape[0], b.shape[0])}")
    planes = inner.data.planes if isinstance(inner, csr_array) else inner.planes
    base.same_device(b.planes, "b", inner=planes)
    return Operator("cg", "inner", inner, None)


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
    assert a is not None
    diagonal = a.diagonal() if isinstance(a, csr_array) else manipulation.diagonal(a)
    diagonal = diagonal.real
    if not diagonal.size:
        return 0.0
    return float(diagonal.astype(a.format.arithmetic.component, copy=False).sum())


def _power(a: Operator, b: Array) -> int:
    """The exponent of a matrix' trace, by which vectors are scaled; 0 where that is near 1."""
    if a.elements is None:
        return operators.power_of(a, b)
    return operators.exponent_of(a.elements.format, _diagonal_sum(a.matrix))


def _ahead(count: int, first: float, size: float, enough: float) -> int:
    """How many iterations to launch at once: half of those that the last *count* let expect.

    Those after the one whose residual is small enough are for nothing; so never more than there
    were so far, as some systems end all at once. Estimates change no bits.
    """
    expected = float(count)
    if size < first:
        expected *= math.log(size / enough) / math.log(first / size)
    return max(1, min(AHEAD, count, int(expected / 2)))


class _Iterates(Method):
    """Conjugate gradients with one matrix: their vectors and numbers, in memory of their own.

    A GPU would wait while the host reads numbers and puts an iteration's launches together. So
    several iterations are launched before their numbers are read: iteration k leaves x and its
    numbers in place k modulo ``AHEAD``. Each place's launches are recorded the first time, then
    repeated.
    """

    helps = HALVED

    def __init__(
        self,
        a: Operator,
        outer: Scaled,
        b: Array,
        form: Format,
        preconditioner: Linear | None,
        callback: Callback | None,
    ) -> None:
        self.format = form.arithmetic
        if b.format.components > 1:
            self.format = formats.complex_of(self.format)
        self.called = f"the matrix in {form.name}" if a.elements is not None else "the function"
        shape, queue = b.shape, b.queue
        vectors = [allocate(self.format, shape, queue) for _ in range(3 + AHEAD)]
        self.residual, self.direction, self.image, *self.places = vectors
        super().__init__(Scaled(a, outer.power, Array(self.residual)), None, callback)
        self.told_size = outer.of.elements is not None
        part = self.format.component
        self.numbers = zeros((3 * AHEAD,), part, queue)
        numbers = [self.numbers[i, ...].planes for i in range(3 * AHEAD)]
        self.curvatures, self.squares = numbers[:AHEAD], numbers[AHEAD : 2 * AHEAD]
        self.step, self.back, self.ratio, self.zero, *self.sides = (
            zeros((), part, queue).planes for _ in range(6)
        )
        # Without a preconditioner the squares of residuals are what it would give.
        self.conditioned, self.products = self.residual, self.squares
        self.given = preconditioner
        if preconditioner is not None:
            self.conditioned = allocate(self.format, shape, queue)
            self.products = numbers[2 * AHEAD :]
        self.repeats = a.elements is not None and preconditioner is None
        self.ahead = AHEAD if self.repeats and callback is None else 1
        self.recorded: dict[int, Repeated] = {}
        self.launched = 0
        self.curvature = 0.0

    def correction(self, residual: Array, enough: float, most: int) -> tuple[Array, int]:
        def change() -> Array:
            """x so far, as residuals are."""
            found: Array = Array(self.places[count % AHEAD]).astype(residual.format, copy=False)
            return found

        first = size = self.start(residual.astype(self.format, copy=False))
        least, count = size * enough * enough, 0
        while size > least and count < most:
            done = math.sqrt(size / first)
            doing(f"cg: iteration {count + 1}, residual {done:.1e} of the round's")
            more = min(_ahead(count, first, size, least), most - count, self.ahead)
            for curvature, size, conditioned in self.run(more):
                count += 1
                _refuse(curvature, size, conditioned, self.called, count)
                if self.callback is not None:
                    self.callback(self.whole(change()))
                if size <= least:
                    break
        if not self.told_size:
            self.size = self.curvature
        return change(), count

    def start(self, residual: Array) -> float:
        """Begin at x = 0, whose *residual* is given; its square."""
        _each("copy", [residual.planes], self.residual)
        if self.given is not None and self.preconditioner is None:
            of = operators.operator(self.given, residual, "cg", "M")
            power = operators.power_of_image(of, residual)
            self.preconditioner = Scaled(of, power, residual)
        if self.preconditioner is not None:
            self.preconditioner.launch(self.residual, self.conditioned)
            self._dot(self.residual, self.conditioned, self.products[0])
        _each("copy", [self.conditioned], self.direction)
        _each("copy", [self.zero.broadcast_to(residual.shape)], self.places[0])
        self.launched = 0
        self._dot(self.residual, self.residual, self.squares[0])
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
                self.recorded[place]()
            elif self.repeats:
                with recording() as launches:
                    self._launch(place)
                self.recorded[place] = Repeated(launches)
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

    def _launch(self, place: int) -> None:
        curvature, square = self.curvatures[place], self.squares[place]
        # Before the first place comes the last.
        x, before = self.places[place - 1], self.products[place - 1]
        self.matrix.launch(self.direction, self.image)
        self._dot(self.direction, self.image, curvature)
        apply("div", [before, curvature], self.step)
        apply("neg", [self.step], self.back)
        _each("fma", [self.direction, self.step, x], self.places[place])
        _each("fma", [self.image, self.back, self.residual], self.residual)
        self._dot(self.residual, self.residual, square)
        if self.preconditioner is not None:
            self.preconditioner.launch(self.residual, self.conditioned)
            self._dot(self.residual, self.conditioned, self.products[place])
        apply("div", [self.products[place], before], self.ratio)
        _each("fma", [self.direction, self.ratio, self.conditioned], self.direction)

    def _dot(self, x: Planes, y: Planes, out: Planes) -> None:
        """The inner product, of complex vectors its real part."""
        if len(x.halves) == 1:
            reduce.dot(x, y, out=out)
            return
        for p, q, side in zip(x.halves, y.halves, self.sides, strict=True):
            reduce.dot(p, q, out=side)
        apply("add", self.sides, out)


def _each(op: str, operands: Sequence[Planes], out: Planes) -> None:
    """A real operation on each part of vectors, beside real numbers."""
    for i, part in enumerate(out.halves):
        apply(op, [one.halves[i % len(one.halves)] for one in operands], part)


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
