"""What storing operands short costs in accuracy: dot products, and systems solved with a matrix.

Errors of dot products stand beside what theory predicts. Systems are solved with the short matrix
alone, which solves another system, and refined, which does not.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import portmp as mp
from portmp.backends.base import Device
from portmp.demos import kriging
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.formats.inputs import Stream

Plane = np.ndarray[Any, Any]
Say = Callable[[str], None]

LENGTHS = (2**10, 2**16, 2**22)
DRAWS = 2**20
"""Numbers of a row of the table: as many vectors as they make, at most 16, at least one."""

DATA = ("positive", "signed")
EXPECTED = {
    ("toward_zero", "positive"): (4 / 3, 0.0),
    ("toward_zero", "signed"): (math.sqrt(2 * 28 / 9 + 2 * 9 / 4) / (9 / 4), 0.5),
    ("nearest", "positive"): (math.sqrt(2 * 7 / 9) / (9 / 4), 0.5),
    ("nearest", "signed"): (math.sqrt(2 * 7 / 9) / (9 / 4), 0.5),
}
"""c and e of the error c u n^-e of a dot product, relative to the sum of |x_i y_i|, with u = 2^-p.

Sizes of entries are uniform in [1, 2), where numbers of p bits lie 2u apart. Truncation takes u
off each on average, of a mean of 3/2: off the product of two, 2 u / (3/2). What is rounded to
nearest, or has random signs, averages out: the mean squares of errors are u^2 / 3 and, truncated,
4 u^2 / 3. The sum's own errors in float64 (1e-16 or less) are not in it.
"""


@dataclass(frozen=True)
class DotError:
    """A format's error of dot products of length n: the root of the mean square, as expected."""

    format: str
    data: str
    n: int
    error: float
    expected: float


@dataclass(frozen=True)
class Solve:
    """A system solved by conjugate gradients whose iterations read a matrix in *format*.

    ``rounding``: the norm of what rounding changed, over the least eigenvalue that there can be.
    Residuals are relative to the right side, errors to the solution, both in the Euclidean norm.
    ``bytes`` of matrices were read, in all. ``problem``: why there is no solution.
    """

    format: str
    rounding: float
    plain: "Attempt"
    refined: "Attempt"


@dataclass(frozen=True)
class Attempt:
    """One solution, or why there is none."""

    converged: bool = False
    rounds: tuple[int, ...] = ()
    residual: float | None = None
    error: float | None = None
    bytes: int = 0
    seconds: float = 0.0
    problem: str = ""


# --- dot products ----------------------------------------------------------------------------


def operand(n: int, data: str, seed: str) -> Plane:
    """Integers whose 2^-52-fold are sizes in [1, 2), of random sign where *data* is signed."""
    bits = Stream(f"shortened {data} {n} {seed}").integers(n)
    size = (bits >> np.uint64(12)).astype(np.int64) + 2**52
    return size * (1 - 2 * (bits & np.uint64(1)).astype(np.int64)) if data == "signed" else size


def exact_dot(x: Plane, y: Plane) -> int:
    """The sum of products of integers below 2^53 in size, exactly: of halves, in blocks."""
    total = 0
    for a, high in ((x >> 27, 27), (x & (2**27 - 1), 0)):
        for b, low in ((y >> 27, 27), (y & (2**27 - 1), 0)):
            blocks = np.add.reduceat(a * b, np.arange(0, x.size, 256))
            total += sum(blocks.tolist()) << (high + low)
    return total


def dot_error(form: Format, data: str, n: int, device: Device) -> DotError:
    """The error of x.y with x and y in *form*, the sum in the format that computes.

    y is decoded beforehand, as a product of a short and a full operand keeps the result full.
    """
    squares, draws = 0.0, max(1, min(16, DRAWS // n))
    for draw in range(draws):
        x, y = (operand(n, data, f"{name} {draw}") for name in "xy")
        short_x, short_y = (mp.array(np.ldexp(v, -52), form, device) for v in (x, y))
        found = mp.gemv(short_x.reshape(1, n), short_y.astype(form.arithmetic))
        error = found.to_fractions()[0] - Fraction(exact_dot(x, y), 2**104)
        squares += float(error / Fraction(exact_dot(abs(x), abs(y)), 2**104)) ** 2
    factor, power = EXPECTED[form.rounding, data]
    expected = factor * form.unit_roundoff * n**-power
    return DotError(form.name, data, n, math.sqrt(squares / draws), expected)


# --- systems ---------------------------------------------------------------------------------


class LinearSystem:
    """Kriging's matrix and right side in float64 on a device, and a solution from dd."""

    def __init__(self, size: int, device: Device, say: Say) -> None:
        places = kriging.sites(size)
        self.tolerance = 1e-15 * size
        self.a = mp.array(kriging.covariance(*places), "float64", device)
        self.b = mp.array(kriging.observed(*places), "float64", device)
        say(f"solving {size} equations in dd")
        full = (self.a.astype("dd"), self.b.astype("dd"))
        found = mp.linalg.cg(*full, inner=self.a, tolerance=1e-25)
        if not found.converged:
            raise ArgumentError(
                f"--size: {size} equations cannot be solved to a residual of 1e-25 in dd"
            )
        self.solution = found.x
        self.condition = _norm(self.a) / kriging.VARIANCE

    def solve(self, form: Format, say: Say) -> Solve:
        """Solve with the matrix in *form*, alone and refined."""
        same = form is self.a.format
        short = self.a if same else self.a.astype(form)
        say(f"{form.name}: what rounding changes")
        rounding = 0.0 if same else self._rounding(short)
        say(f"{form.name}: the short matrix alone")
        # Its rounding is the error that remains: iterations far below it would be for nothing.
        alone = max(self.tolerance, form.unit_roundoff / 16)
        plain = self._attempt(short, short, tolerance=alone)
        if same:
            return Solve(form.name, rounding, plain, plain)
        say(f"{form.name}: refined")
        refined = self._attempt(short, self.a, inner=short, tolerance=self.tolerance)
        return Solve(form.name, rounding, plain, refined)

    def _rounding(self, short: mp.Array) -> float:
        """The norm of what is rounded in *short*, over the least eigenvalue that there can be."""
        changed = short.astype(self.a.format)
        # In place: beside the system there is no room for more than dd's copy had.
        return _norm(mp.axpy(-1, self.a, changed, out=changed)) / kriging.VARIANCE

    def _attempt(self, short: mp.Array, full: mp.Array, **options: Any) -> Attempt:
        """Iterations read the *short* matrix, the residuals of rounds the *full* one."""
        solve = partial(mp.linalg.cg, full, self.b, **options)
        try:
            solve(iterations=1)  # compiles what is new
            start = time.perf_counter()
            found = solve()
            seconds = time.perf_counter() - start
        except ArgumentError as error:
            return Attempt(problem=str(error))
        residual = mp.gemv(self.a, found.x, alpha=-1, beta=1, y=self.b)
        distance = mp.nrm2(found.x.astype("dd") - self.solution)
        read = found.iterations * short.format.itemsize + len(found.rounds) * full.format.itemsize
        return Attempt(
            found.converged,
            found.rounds,
            float(mp.nrm2(residual)) / float(mp.nrm2(self.b)),
            float(distance) / float(mp.nrm2(self.solution)),
            short.size * read,
            seconds,
        )


def _norm(matrix: mp.Array, steps: int = 30) -> float:
    """The largest size of an eigenvalue of a symmetric matrix, by the power method."""
    start = np.ones(matrix.shape[0])
    start[::3] = -0.5
    vector = mp.array(start, matrix.format, matrix.device)
    size = float(mp.nrm2(vector))
    for _ in range(steps):
        vector = mp.gemv(matrix, mp.scal(1 / size, vector))
        size = float(mp.nrm2(vector))
        if not size:
            break
    return size
