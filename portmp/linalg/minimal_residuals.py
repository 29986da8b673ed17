"""GMRES and MINRES: solutions of systems that are not positive definite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from portmp.arrays import blas
from portmp.arrays.array import Array, array, zeros
from portmp.arrays.composed import conj
from portmp.arrays.elementwise import sqrt
from portmp.arrays.products import dot
from portmp.errors import ArgumentError, choice
from portmp.linalg import iterative, rounds
from portmp.linalg.iterative import (
    DIGITS,
    Solution,
    exact,
    fma,
    fraction,
    hypotenuse,
    negated,
    over,
    rotated,
    rotation,
)
from portmp.linalg.operators import Linear, Scaled, normal, scaled
from portmp.linalg.rounds import Callback, Method
from portmp.progress import doing

RESTART = 100
"""GMRES: iterations of a round; as many vectors are kept, and added to."""

CALLBACKS = ("pr_norm", "legacy", "x")
"""GMRES: what its callback is given; SciPy's names."""

STALLED = 1 - 2.0**-10
"""GMRES: a round that leaves more than this of the residual is the last."""

HALVED = 0.5
"""MINRES: the same."""

FLAT = 1024
"""MINRES: with so many units of roundoff of |a| |r| in a r, r is as small as it can be made."""


def gmres(
    a: Linear,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Linear | None = None,
    callback: Callback | None = None,
    callback_type: str | None = None,
) -> Solution:
    """The solution x of a x = b for any regular a (n, n) and b (n,), by restarted GMRES.

    a is an Array, a ``sparse.csr_array`` (both also in a storage format of b's), a function of an
    Array (n,), or an object with SciPy's ``shape`` and ``matvec``. Where one operand is complex, b
    and x are; a real matrix stays real. Names are SciPy's: *x0* is the
    start (default zeros), *restart* the iterations of a round (default 100, at most n), each of
    which keeps a vector (with *M* two), *maxiter* those of all rounds (default 10 n for each limb
    of b), *M* an operator near the inverse of a, by which vectors are multiplied before a (it may
    change from one iteration to the next). *callback* is called in each iteration with the norm of
    the residual over that of b, as the iteration's recurrence has it (*callback_type* ``pr_norm``
    or ``legacy``), or after each round with x (``x``).

    Ends where |b - a x| <= max(*rtol* |b|, *atol*), *atol* being 0 by default; without an *rtol*
    16 u (|a| |x| + |b|) stands for its part, u being the unit roundoff of b's format and |a| the
    largest |a v| / |v| that was met: which is as good as the exact solution of a system whose
    numbers were rounded. After each round the residual
    is taken anew. Ends early, ``converged`` being False, after *maxiter* iterations or after a
    round that hardly changed the residual: it stagnates, a is singular, or *rtol* is beyond the
    format. Waits for the device a few times an iteration. Bits are the same on every device.
    """
    iterative.check_count("gmres", "restart", restart)
    if callback_type is not None:
        choice("gmres: callback_type", callback_type, CALLBACKS)
    each_round = callback_type == "x"
    inner = None if each_round else callback
    made = partial(_Gmres, callback=inner, restart=restart or RESTART)
    return rounds.solved(
        made, "gmres", a, b, x0, rtol, atol, maxiter, M, callback, each_round=each_round
    )


def minres(
    a: Linear,
    b: Array,
    x0: Array | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    maxiter: int | None = None,
    M: Linear | None = None,
    callback: Callback | None = None,
) -> Solution:
    """The solution x of a x = b for symmetric a (n, n), definite or not, and b (n,).

    Arguments, kinds of a, and where it ends are ``gmres``'s, but *M*, which must be symmetric and
    positive definite, and *callback*, which is given x. a must be symmetric, of complex numbers
    Hermitian (M too), which is not checked.
    Of a singular a whose system has no solution, the x of a least-squares solution is found, with
    ``converged`` False. Keeps five vectors. A round's residuals lose accuracy as its vectors lose
    orthogonality; so rounds end where their recurrence says that it is enough, and the residual is
    taken anew; the last is that which has not halved it.
    """
    made = partial(_Minres, callback=callback)
    return rounds.solved(made, "minres", a, b, x0, rtol, atol, maxiter, M, callback)


class Preconditioned(NamedTuple):
    """What ``preconditioned`` found, and |(a M)^-1| as its vectors show it: seldom too large."""

    solution: Solution
    inverse: float


def preconditioned(a: Array, b: Array, M: Linear, x0: Array, most: int) -> Preconditioned:
    """The solution of a x = b by at most two rounds of *most* iterations from *x0*."""
    methods: list[_Gmres] = []

    def made(matrix: Scaled, preconditioner: Scaled | None) -> Method:
        methods.append(_Gmres(matrix, preconditioner, restart=most))
        return methods[0]

    found = rounds.solved(made, "solve", a, b, x0, None, None, 2 * most, M, None)
    if not methods:
        return Preconditioned(found, 0.0)
    method = methods[0]
    power = method.matrix.power + (method.preconditioner.power if method.preconditioner else 0)
    return Preconditioned(found, math.ldexp(method.inverse, -power))


class _Gmres(Method):
    """Arnoldi's vectors, orthogonalised twice, and the host's triangular matrix."""

    name, helps = "gmres", STALLED

    def __init__(
        self,
        matrix: Scaled,
        preconditioner: Scaled | None,
        callback: Callback | None = None,
        *,
        restart: int,
    ) -> None:
        super().__init__(matrix, preconditioner, callback)
        self.restart = restart
        self.inverse = 0.0  # of the largest triangular matrix, its norm by squares

    def correction(self, residual: Array, enough: float, most: int) -> tuple[Array, int]:
        form, n = residual.format, residual.shape[0]
        unit = Decimal(form.unit_roundoff)
        most = min(most, self.restart, n)
        basis = zeros((most + 1, n), form, residual.queue)
        directions = basis if self.preconditioner is None else zeros((most, n), form, basis.queue)
        length = blas.nrm2(residual)
        first = exact(length, self.name, self.done)[0]
        if not first:
            return zeros((n,), form, residual.queue), 0
        basis[0] = residual / length
        rest: list[Any] = [first]
        columns, turns = list[list[Any]](), list[tuple[Any, Decimal]]()
        for j in range(most):
            column, last, image = self._step(basis, directions, j)
            for i, (c, s) in enumerate(turns):
                column[i], column[i + 1] = rotated(c, s, column[i], column[i + 1])
            c, s, column[j] = rotation(column[j], last)
            turns.append((c, s))
            if column[j] <= unit * image:
                break  # a v is a sum of vectors before: it adds nothing
            columns.append(column)
            rest[j:] = rotated(c, s, rest[j], Decimal(0))
            size = rest[-1].copy_abs() if isinstance(rest[-1], Decimal) else hypotenuse(rest[-1:])
            left = float(DIGITS.divide(size, first))
            doing(f"gmres: iteration {self.done}, residual {left * self.relative:.1e}")
            if self.callback is not None:
                self.callback(left * self.relative)
            if left <= enough or last <= unit * image:
                break
        y = _upwards(columns, rest)
        units = ([Decimal(i == j) for i in range(len(y))] for j in range(len(y)))
        inverse = hypotenuse([v for unit in units for v in _upwards(columns, unit)])
        self.inverse = max(self.inverse, float(inverse))
        if not y:
            return zeros((n,), form, residual.queue), 0
        factors = array([fraction(v, form) for v in y], form, residual.queue)
        return blas.gemv(directions[: len(y)], factors, trans=True), len(y)

    def _step(self, basis: Array, directions: Array, j: int) -> tuple[list[Any], Decimal, Decimal]:
        """The next vector: its parts along those before, what is left, the image's length."""
        self.done += 1
        z = basis[j]
        if self.preconditioner is not None:
            z = self.preconditioner.times(z)
            directions[j] = z
        w = self.matrix.times(z)
        known = basis[: j + 1]
        parts = _along(known, w)
        w = blas.gemv(known, parts, trans=True, alpha=-1, beta=1, y=w)
        more = _along(known, w)
        w = blas.gemv(known, more, trans=True, alpha=-1, beta=1, y=w)
        length = blas.nrm2(w)
        column = exact(parts + more, self.name, self.done)
        last = exact(length, self.name, self.done)[0]
        image = hypotenuse([*column, last])
        size = float(image)
        if self.preconditioner is not None:
            size /= iterative.norm(z, self.name) or 1.0
        self.size = rounds.largest(self.size, size)
        if last and j + 1 < basis.shape[0]:
            basis[j + 1] = w / length
        return column, last, image


def _along(rows: Array, w: Array) -> Array:
    """conj(rows) w."""
    found: Array = conj(blas.gemv(rows, conj(w)))
    return found


def _upwards(columns: list[list[Any]], right: Sequence[Any]) -> list[Any]:
    """y of an upper triangular system, from its last unknown on."""
    y = list(right[: len(columns)])
    for j in reversed(range(len(columns))):
        y[j] = over(y[j], columns[j][j])
        for i in range(j):
            y[i] = fma(negated(columns[j][i]), y[j], y[i])
    return y


class _Minres(Method):
    """Lanczos' vectors, and the last rotations of the tridiagonal matrix."""

    name, helps = "minres", HALVED

    def correction(self, residual: Array, enough: float, most: int) -> tuple[Array, int]:
        form = residual.format
        unit = Decimal(form.unit_roundoff)
        nothing = zeros(residual.shape, form, residual.queue)
        zero, one = Decimal(0), Decimal(1)
        v, q, length, beta = self._normal(residual)
        before, x, w, w_before = nothing, nothing, nothing, nothing
        first = left = beta
        if not first:
            return nothing, 0
        beta, scale = zero, nothing
        (c, s), (c_before, s_before) = (one, zero), (one, zero)
        for count in range(1, most + 1):
            self.done += 1
            p = self.matrix.times(v)
            if count > 1:
                p = p - scale * before
            part = _real_dot(v, p)
            alpha = exact(part, self.name, self.done)[0]
            p = p - part * q
            v_next, q_next, length, after = self._normal(p)
            # A column of the triangular factor: epsilon, delta, gamma from above.
            epsilon = DIGITS.multiply(s_before, beta)
            upper = DIGITS.multiply(c_before, beta)
            delta = DIGITS.fma(c, upper, DIGITS.multiply(s, alpha))
            corner = DIGITS.subtract(DIGITS.multiply(c, alpha), DIGITS.multiply(s, upper))
            image = hypotenuse([beta, alpha, after])
            size = float(image)
            if self.preconditioner is not None:
                # What was measured in M's norm is that of M's product with a.
                size = iterative.norm(p, self.name) / (iterative.norm(v, self.name) or 1.0)
            self.size = rounds.largest(self.size, size)
            # |a r| / |r| of the x so far; near zero, r cannot be made smaller.
            slope = hypotenuse([corner, DIGITS.multiply(c, after)])
            if slope <= FLAT * unit * image and count > 1:
                return x, count
            s_before, c_before = s, c
            c, s, gamma = rotation(corner, after)
            if gamma <= unit * image:
                return x, count
            step = DIGITS.multiply(c, left)
            left = DIGITS.multiply(s, left).copy_negate()
            new = blas.axpy(fraction(delta.copy_negate(), form), w, v)
            new = blas.axpy(fraction(epsilon.copy_negate(), form), w_before, new)
            w_before, w = w, blas.scal(fraction(DIGITS.divide(one, gamma), form), new)
            x = blas.axpy(fraction(step, form), w, x)
            reduced = float(DIGITS.divide(left.copy_abs(), first))
            doing(f"minres: iteration {self.done}, residual {reduced * self.relative:.1e}")
            if self.callback is not None:
                self.callback(self.whole(x))
            if reduced <= enough or after <= unit * image:
                return x, count
            before, q, v, beta, scale = q, q_next, v_next, after, length
        return x, most

    def _normal(self, p: Array) -> tuple[Array, Array, Array, Decimal]:
        """M p and p over the root of p.(M p), and that root, on the device and on the host."""
        small, exponent = normal(p)
        z = small if self.preconditioner is None else self.preconditioner.times(small)
        root = sqrt(_real_dot(small, z))
        if self.preconditioner is not None and not float(root) >= 0:
            raise ArgumentError(
                f"minres: M is not positive definite, or gives NaN, in iteration {self.done}"
            )
        length = DIGITS.multiply(exact(root, self.name, self.done)[0], DIGITS.power(2, exponent))
        return z / root, small / root, scaled(root, exponent), length


def _real_dot(x: Array, y: Array) -> Array:
    """The real part of the inner product."""
    found: Array = dot(x.real, y.real)
    return found if x.format.components == 1 else found + dot(x.imag, y.imag)
