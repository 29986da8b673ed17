"""The exponential of matrices: Taylor's polynomial of a scaled matrix, squared.

With T the polynomial of degree m and norms the 1-norm, T(x) = e^x (1 + E), |E| at most e^h h^(m+1)
/ (m+1)! / (1 - h / (m+2)) for |x| up to h, and E is a function of x. So T(a 2^-s)^(2^s) is the
exponential of a + 2^s log(1 + E) exactly: a is changed by at most -log(1 - |E|) / h of its norm
(Higham and Al-Mohy 2010), which a degree's h keeps below the format's roundoff. By rational
numbers, so that degrees are the same everywhere.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from portmp import definition
from portmp.arrays.array import Array, zeros
from portmp.arrays.blas import axpy, gemm, scal
from portmp.arrays.manipulation import concat
from portmp.arrays.typed import Operand
from portmp.linalg import operands
from portmp.linalg.operands import By

MOST = 8
"""Powers of a polynomial's matrix that are made: degrees go to MOST (MOST + 1)."""

LARGEST = Fraction(1)
"""Norms that a polynomial takes: terms of larger ones would cancel."""

MARGIN = Fraction(1025, 1024)
"""A norm is computed, and may be off by so much."""


class Degree(NamedTuple):
    """A polynomial in x^powers of degree *steps*, for x with a norm of at most *largest*."""

    powers: int
    steps: int
    largest: Fraction


class Plan(NamedTuple):
    """A polynomial's powers and steps, and how often it is squared."""

    powers: int
    steps: int
    squarings: int


def change(degree: int, norm: Fraction) -> Fraction:
    """A bound of how much of its norm (below 64) a matrix is changed by Taylor's polynomial."""
    whole = (1 - norm / 64) ** -64  # above e^norm
    rest = whole * norm ** (degree + 1) / math.factorial(degree + 1) / (1 - norm / (degree + 2))
    # -log(1 - r) is at most r / (1 - r)
    return rest / (1 - rest) / norm if rest < 1 else Fraction(1)


@cache
def degrees(bits: int) -> tuple[Degree, ...]:
    """Polynomials whose change is at most 2^-bits, cheapest first."""
    found = []
    for powers in range(1, MOST + 1):
        for steps in (powers, powers + 1):
            found.append(Degree(powers, steps, _largest(powers * steps, Fraction(1, 2**bits))))
    return tuple(found)


def _largest(degree: int, allowed: Fraction) -> Fraction:
    """The largest norm t/8 2^e, t from 8 to 15, up to LARGEST whose change is allowed."""

    def norm(place: int) -> Fraction:
        return Fraction(8 + place % 8, 8) * Fraction(2) ** (place // 8)

    low, high = -8 * 256, 1
    while high - low > 1:
        middle = (low + high) // 2
        within = norm(middle) <= LARGEST and change(degree, norm(middle) * MARGIN) <= allowed
        low, high = (middle, high) if within else (low, middle)
    return norm(low)


def plan(bits: int, norm: float) -> Plan:
    """The fewest products for a matrix of this norm; of equal numbers the fewest squarings."""

    def squarings(degree: Degree) -> int:
        count, scaled = 0, Fraction(norm)
        while scaled > degree.largest:
            count, scaled = count + 1, scaled / 2
        return count

    plans = [Plan(d.powers, d.steps, squarings(d)) for d in degrees(bits)]
    return min(plans, key=lambda p: (p.powers + p.steps + p.squarings, p.squarings))


def expm(a: Operand, *, method: By = "auto") -> Array:
    """The exponential of a (..., n, n), matrix by matrix; SciPy's name.

    By a Taylor polynomial of a 2^-s in the format, squared s times; its degree and s by the 1-norm
    alone. The polynomial stands for the exponential of a matrix that differs from a by at most
    u^N of its 1-norm. Roundings come on top: about n u^N of each product, which squarings carry
    along, so a result is accurate to about 2^s n u^N and the condition of the exponential; where
    powers of a are much smaller than those of its norm (triangular matrices with large elements off
    the diagonal), a sum of large intermediate results may lose more. Where the 1-norm is not
    finite, all elements are NaN; of complex matrices what overflows may be NaN, too.
    *method* as in ``lu_factor``. Waits for the device to read norms.
    """
    matrix = operands.matrix(a, "expm", square=True, kinds="fc")
    operands.by(method, matrix.format, "expm")
    if not matrix.size:
        return matrix.copy()
    n, batch = matrix.shape[-1], matrix.shape[:-2]
    flat = operands.unstacked(operands.stacked(matrix), (math.prod(batch),))
    norms = abs(flat).sum(axis=-2).max(axis=-1).to_limbs()[0].astype(np.float64)
    groups: dict[Plan | None, list[int]] = {}
    for entry, norm in enumerate(norms):
        found = plan(matrix.format.bits, float(norm)) if math.isfinite(norm) else None
        groups.setdefault(found, []).append(entry)
    by_integers = definition.by_integers(n, n, n, matrix.format.limbs)
    large: By = method if by_integers else "direct"
    parts = []
    for kind, entries in groups.items():
        mine = flat if len(groups) == 1 else flat[entries]
        if kind is None:
            unknown = complex(math.nan, math.nan) if mine.format.components > 1 else math.nan
            parts.append(zeros(mine.shape, mine.format, mine.queue) + unknown)
        else:
            parts.append(_exponential(mine, kind, large))
    order = np.argsort([e for entries in groups.values() for e in entries])
    joined: Array = parts[0] if len(parts) == 1 else concat(parts, axis=0)[order]
    return joined.reshape(matrix.shape)


def _exponential(a: Array, kind: Plan, method: By) -> Array:
    """Of matrices (entries, n, n) that take the same polynomial and squarings."""
    x = scal(math.ldexp(1.0, -kind.squarings), a)
    one = operands.identity(x.shape, x)
    powers = [one, x]
    for _ in range(kind.powers - 1):
        powers.append(gemm(powers[-1], x, method=method))
    y = powers[kind.powers]

    def block(step: int) -> Array:
        found = scal(_coefficient(step * kind.powers), one)
        for i in range(1, kind.powers):
            found = axpy(_coefficient(step * kind.powers + i), powers[i], found)
        return found

    last = kind.steps - 1
    found = axpy(_coefficient(kind.powers * kind.steps), y, block(last))
    for step in range(last - 1, -1, -1):
        found = gemm(found, y, beta=1, c=block(step), method=method)
    for _ in range(kind.squarings):
        found = gemm(found, found, method=method)
    return found


def _coefficient(k: int) -> Fraction:
    return Fraction(1, math.factorial(k))
