"""Problems of linear algebra that float64 loses digits of, or all: how many each format keeps.

Each has an exact solution, by rational numbers, or is measured by a longer format. Regressions are
solved by QR, systems by LU or Cholesky, roots as eigenvalues of companion matrices.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from importlib import resources
from typing import NamedTuple

import portmp as mp
from portmp.backends.base import Device
from portmp.demos import kriging
from portmp.errors import ArgumentError, ShapeError

Say = Callable[[str], None]
System = tuple[list[list[Fraction]], list[Fraction]]

SIZES = (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
DEGREES = (5, 10, 15, 20, 25, 30, 40, 50, 60)
REGRESSED = ("float64", "dd", "td")
LONG = ("float64", "dd", "td", "qd")
SINGLES = "ts"
"""Three float32 numbers, in which systems are solved, too."""

REACH = 0.2
"""Length over which the covariance of kriging falls, in widths of the square of its sites."""

NUGGET = "1e-18"
"""Variance of the measurements' errors, the process's own being 1: no eigenvalue is smaller."""


class Outcome(NamedTuple):
    """How many decimal digits of a problem's solution are right in a format; 0 where none is.

    ``size`` is the number of unknowns. ``note``: why there is no solution, or what digits count by.
    """

    problem: str
    size: int
    format: str
    digits: float
    note: str = ""


def digits(error: Fraction, size: Fraction, form: str) -> float:
    """Right decimal digits of a number of this size; as many as the format has where all are."""
    held = mp.formats.get(form).bits * math.log10(2)
    if not error:
        return held
    # Of exponents, as both may be out of a float's range.
    ratio = error / size
    log = math.log2(ratio.numerator) - math.log2(ratio.denominator)
    return max(0.0, min(held, -log * math.log10(2)))


def worst(found: Sequence[Fraction], exact: Sequence[Fraction], form: str) -> float:
    """Digits of the component that has the fewest."""
    pairs = zip(found, exact, strict=True)
    return min(digits(abs(x - y), abs(y), form) for x, y in pairs)


def whole(found: Sequence[Fraction], exact: Sequence[Fraction], form: str) -> float:
    """Digits by the largest error and the largest component."""
    error = max(abs(x - y) for x, y in zip(found, exact, strict=True))
    return digits(error, max(abs(y) for y in exact), form)


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows of a table in the package's data."""
    text = resources.files("portmp").joinpath(f"data/{name}").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return list(csv.DictReader(lines))


def powers(x: mp.Array, degree: int) -> mp.Array:
    """The matrix whose columns are the powers of x, from 0 to *degree*."""
    if degree >= x.shape[0]:
        raise ShapeError(
            f"polynomial: degree {degree} needs {degree + 1} points, {x.shape[0]} given"
        )
    table = mp.zeros((x.shape[0], degree + 1), x.format, x.device)
    power = mp.array(["1"] * x.shape[0], x.format, x.device)
    for k in range(degree + 1):
        table[:, k] = power
        power = power * x
    return table


# --- regressions ---------------------------------------------------------------------------------


def exact_solution(a: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """x of a x = b by elimination in rational numbers."""
    n = len(a)
    rows = [[*row, side] for row, side in zip(a, b, strict=True)]
    for k in range(n):
        at = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[at] = rows[at], rows[k]
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            if factor:
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    x = [Fraction(0)] * n
    for k in reversed(range(n)):
        known = sum((rows[k][j] * x[j] for j in range(k + 1, n)), Fraction(0))
        x[k] = (rows[k][n] - known) / rows[k][k]
    return x


def least_squares(a: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """The exact solution of the normal equations."""
    columns = list(zip(*a, strict=True))
    squares = [
        [sum((x * y for x, y in zip(p, q, strict=True)), Fraction(0)) for q in columns]
        for p in columns
    ]
    sides = [sum((x * y for x, y in zip(p, b, strict=True)), Fraction(0)) for p in columns]
    return exact_solution(squares, sides)


def _polynomial(x: list[Fraction], degree: int) -> list[list[Fraction]]:
    return [[v**k for k in range(degree + 1)] for v in x]


def filip() -> System:
    """82 points, a polynomial of degree 10; condition number 2e15."""
    points = rows_of("filip.csv")
    x, y = ([Fraction(p[name]) for p in points] for name in "xy")
    return _polynomial(x, 10), y


def longley() -> System:
    """16 years of employment, explained by six columns that grow together; 5e9."""
    years = rows_of("longley.csv")
    a = [[Fraction(1), *(Fraction(row[f"x{k}"]) for k in range(1, 7))] for row in years]
    return a, [Fraction(row["y"]) for row in years]


def wampler(which: int) -> System:
    """Polynomials of degree 5 at 0, 1, ... 20, from the third on with errors; 7e6."""
    base = Fraction(1, 10) if which == 2 else Fraction(1)
    y = [sum((base**k * Fraction(x) ** k for k in range(6)), Fraction(0)) for x in range(21)]
    if which >= 3:
        errors = [759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048, 2048]
        errors += errors[-2::-1]
        y = [v + 10 ** (2 * (which - 3)) * e for v, e in zip(y, errors, strict=True)]
    return _polynomial([Fraction(x) for x in range(21)], 5), y


def regressions() -> dict[str, System]:
    """The linear sets of NIST's Statistical Reference Datasets that are hardest."""
    sets = {"Filip": filip(), "Longley": longley()}
    return sets | {f"Wampler {k}": wampler(k) for k in range(1, 6)}


def regressed(device: Device, say: Say) -> Iterator[Outcome]:
    """Every set by QR; digits of the worst coefficient, against the exact solution."""
    for name, (a, b) in regressions().items():
        say(f"{name}: exactly")
        exact = least_squares(a, b)
        for form in REGRESSED:
            say(f"{name} in {form}")
            matrix, sides = mp.array(a, form, device), mp.array(b, form, device)
            found = mp.linalg.lstsq(matrix, sides, rcond=0.0).x.to_fractions()
            yield Outcome(name, len(exact), form, worst(found, exact, form))


# --- systems -------------------------------------------------------------------------------------


def hilbert(n: int, form: str, device: Device) -> tuple[mp.Array, mp.Array]:
    """1 / (i + j + 1), and right sides whose solution is ones."""
    places = mp.array([[i + j + 1 for j in range(n)] for i in range(n)], form, device)
    harmonic = [Fraction(0)]
    for k in range(1, 2 * n):
        harmonic.append(harmonic[-1] + Fraction(1, k))
    b = [harmonic[i + n] - harmonic[i] for i in range(n)]
    return 1 / places, mp.array(b, form, device)


def vandermonde(n: int, form: str, device: Device) -> tuple[mp.Array, mp.Array]:
    """Powers from 0 on of 1/n, 2/n, ... 1, and right sides whose solution is ones."""
    x = mp.array(range(1, n + 1), form, device) / n
    nodes = [Fraction(i, n) for i in range(1, n)]
    b = [*((1 - t**n) / (1 - t) for t in nodes), Fraction(n)]
    return powers(x, n - 1), mp.array(b, form, device)


SYSTEMS = {"Hilbert": hilbert, "Vandermonde": vandermonde}


def solved(device: Device, say: Say, sizes: Sequence[int] = SIZES) -> Iterator[Outcome]:
    """Hilbert's and Vandermonde's systems by LU; digits by the largest error."""
    for name, made in SYSTEMS.items():
        for form in (*LONG, SINGLES):
            for n in sizes:
                say(f"{name}, n = {n}, in {form}")
                try:
                    x = mp.linalg.solve(*made(n, form, device)).to_fractions()
                except ArgumentError as error:
                    yield Outcome(name, n, form, 0.0, str(error))
                else:
                    yield Outcome(name, n, form, whole(x, [Fraction(1)] * n, form))


def kahan(form: str, device: Device) -> float:
    """Two equations whose solution is (2, -2): nearly parallel lines (Kahan 1966)."""
    a = mp.array([["1.2969", "0.8648"], ["0.2161", "0.1441"]], form, device)
    b = mp.array(["0.8642", "0.1440"], form, device)
    return whole(mp.linalg.solve(a, b).to_fractions(), [Fraction(2), Fraction(-2)], form)


def rump(form: str, device: Device) -> float:
    """A polynomial at (77617, 33096), -54767/66192, whose terms cancel 37 digits (Rump 1988)."""
    a, b = (mp.array([x], form, device) for x in (77617, 33096))

    def power(x: mp.Array, n: int) -> mp.Array:
        found = x
        for _ in range(n - 1):
            found = found * x
        return found

    inner = 11 * power(a, 2) * power(b, 2) - power(b, 6) - 121 * power(b, 4) - 2
    first = mp.array(["333.75"], form, device) * power(b, 6) + power(a, 2) * inner
    last = mp.array(["5.5"], form, device) * power(b, 8) + a / (2 * b)
    found = (first + last).to_fractions()
    return whole(found, [Fraction(-54767, 66192)], form)


def examples(device: Device, say: Say) -> Iterator[Outcome]:
    """Rump's and Kahan's, which became the usual warnings."""
    for name, size, digits_of in (("Kahan", 2, kahan), ("Rump", 1, rump)):
        for form in ("float32", *LONG):
            say(f"{name} in {form}")
            yield Outcome(name, size, form, digits_of(form, device))


# --- roots ---------------------------------------------------------------------------------------


def wilkinson(degree: int) -> list[Fraction]:
    """Coefficients, highest first, of the polynomial with the roots 1, 2, ... degree."""
    c = [Fraction(1)]
    for root in range(1, degree + 1):
        shifted, times = [*c, Fraction(0)], [Fraction(0), *c]
        c = [x - root * y for x, y in zip(shifted, times, strict=True)]
    return c


def rooted(device: Device, say: Say, degrees: Sequence[int] = DEGREES) -> Iterator[Outcome]:
    """Wilkinson's polynomials by companion matrices; digits of the worst root."""
    for form in LONG:
        for n in degrees:
            say(f"Wilkinson, degree {n}, in {form}")
            found = mp.roots(mp.array(wilkinson(n), form, device))
            parts = list(zip(found.real.to_fractions(), found.imag.to_fractions(), strict=True))
            held = []
            for k in range(1, n + 1):
                # The larger of both parts' errors stands for their root of squares.
                error = min(max(abs(x - k), abs(y)) for x, y in parts)
                held.append(digits(error, Fraction(k), form))
            yield Outcome("Wilkinson", n, form, min(held))


# --- kriging -------------------------------------------------------------------------------------


def gaussian(count: int, form: str, device: Device) -> mp.Array:
    """Covariances exp(-(d / REACH)^2) of Halton's sites, with NUGGET on the diagonal."""
    x, y = (mp.array(v, form, device) for v in kriging.sites(count))
    dx, dy = x[:, None] - x, y[:, None] - y
    a: mp.Array = mp.exp(-(dx * dx + dy * dy) / mp.array(REACH * REACH, form, device))
    for i in range(count):
        a[i, i] = a[i, i] + mp.array(NUGGET, form, device)
    return a


def kriged(device: Device, say: Say, count: int) -> Iterator[Outcome]:
    """Weights of kriging by Cholesky; digits by the largest error, against td."""
    sides = kriging.franke(*kriging.sites(count))
    weights: dict[str, list[Fraction]] = {}
    problems: dict[str, str] = {}
    condition = 0.0
    for form in REGRESSED[::-1]:
        say(f"kriging, {count} sites, in {form}")
        a, b = gaussian(count, form, device), mp.array(sides, form, device)
        if not condition:
            condition = float(mp.linalg.norm(a, 1)) / float(NUGGET)
        try:
            factor = mp.linalg.cholesky(a)
            weights[form] = mp.linalg.cholesky_solve(factor, b).to_fractions()
        except ArgumentError as error:
            problems[form] = str(error)
    about = f"condition number about {condition:.0e}, against td"
    for form in REGRESSED[:-1]:
        if form in weights:
            found = whole(weights[form], weights["td"], form)
            yield Outcome("Kriging", count, form, found, about)
        else:
            yield Outcome("Kriging", count, form, 0.0, problems[form])
