"""Polynomials through points, by least squares, and polynomials as objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from portmp.arrays import (
    creation,
    elementwise,
    manipulation,
    numpy_protocol,
    polynomials,
    products,
    statistics,
)
from portmp.arrays.array import Array
from portmp.errors import ArgumentError, LinAlgWarning, ShapeError
from portmp.formats import losses
from portmp.linalg import operands
from portmp.linalg.least_squares import LeastSquares, lstsq
from portmp.linalg.nonsymmetric import roots
from portmp.linalg.norms import norm
from portmp.linalg.orthogonal import qr
from portmp.linalg.singular import svdvals
from portmp.linalg.triangular import solve_triangular


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """Coefficients, the highest power's first, of the polynomial of degree *deg* nearest to points.

    That is nearest in the sum of (w (y - p(x)))^2, with x (m,) and y (m,) or (m, r) of one format
    (lists and integers become values): ``lstsq`` of the powers of x, each column over its largest
    element, with *rcond*. With *full* also the sum of squares of the residuals of each column of y
    (none where the rank is less than deg + 1, or m is no more), the rank, the singular values of
    the weighted powers, each column over its length, and *rcond*. With *cov* (and not *full*) also
    their covariances (deg + 1, deg + 1), of each column of y a matrix along a last axis: the
    inverse of V^T V for the weighted powers V, times the sum of squares of the residuals over
    m - deg - 1; ``unscaled``: not times that.
    """
    if isinstance(deg, bool) or not isinstance(deg, (int, np.integer)) or deg < 0:
        raise ArgumentError(f"deg: {deg!r:.60} given, an integer from 0 on is needed")
    if cov not in (False, True, "unscaled"):
        raise ArgumentError(f"cov: {cov!r:.60} given, allowed are False, True and 'unscaled'")
    known = next((v for v in (x, y) if isinstance(v, Array)), None)
    places = operands.values(x, "polyfit: x", known)
    values = operands.values(y, "polyfit: y", known)
    if places.ndim != 1 or values.ndim not in (1, 2) or values.shape[0] != places.size:
        raise ShapeError(
            f"polyfit: x {places.shape}, y {values.shape} given, (m,) and (m,) or (m, r) are needed"
        )
    if not places.size:
        raise ShapeError("polyfit: x: a point at least is needed")
    powers = products.vander(places, int(deg) + 1)
    if w is not None:
        weights = operands.values(w, "polyfit: w", places)
        if weights.shape != places.shape:
            raise ShapeError(f"polyfit: w {weights.shape} given, {places.shape} is needed")
        powers = powers * weights[:, None]
        values = values * (weights if values.ndim == 1 else weights[:, None])
    largest = statistics.max(elementwise.abs(powers), axis=0)
    scale = elementwise.where(elementwise.equal(largest, 0), 1, largest)
    found = lstsq(powers / scale, values, rcond)
    divided: Array = found.x / (scale if values.ndim == 1 else scale[:, None])
    if full:
        return divided, *_details(powers, found, rcond)
    if found.rank < powers.shape[1]:
        told = f"polyfit: rank {found.rank} of {powers.shape[1]}: x has too few points that differ"
        losses.warn(f"{told} for this deg, or rcond is too large", LinAlgWarning)
    if not cov:
        return divided
    left = places.size - powers.shape[1]
    if left <= 0 and cov is True:
        raise ShapeError(
            f"polyfit: cov: {places.size} points given, {powers.shape[1] + 1} at least are needed"
        )
    r = qr(powers / scale)[1]
    inverse = solve_triangular(r, creation.eye(r.shape[0], dtype=r.format, device=r.queue))
    inverse = inverse / scale[:, None]
    spread = inverse @ inverse.T
    if cov == "unscaled":
        return divided, spread
    size = found.residuals / left
    return divided, spread[:, :, None] * size if values.ndim == 2 else spread * size


def _details(powers: Array, found: LeastSquares, rcond: float | None) -> tuple[Any, ...]:
    """What ``full`` adds."""
    m, n = powers.shape
    lengths = norm(powers, axis=0)
    scaled = powers / elementwise.where(elementwise.equal(lengths, 0), 1, lengths)
    residuals = manipulation.atleast_1d(found.residuals)
    limit = max(m, n) * powers.format.unit_roundoff if rcond is None else float(rcond)
    known = found.rank == n < m
    return residuals if known else residuals[:0], found.rank, svdvals(scaled), limit


class poly1d:
    """A polynomial of one variable as NumPy's: of coefficients, the highest power's first.

    *r*: what is given are its roots. ``p(x)`` is ``polyval`` (of a polynomial x the composition),
    ``p[k]`` the coefficient of the k-th power; ``+``, ``-``, ``*``, ``**`` and ``/`` take
    polynomials, coefficients and numbers, and ``/`` by a polynomial gives quotient and remainder.
    Coefficients are an array of a format, without leading zeros.
    """

    __slots__ = ("coeffs", "variable")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None
    """NumPy's numbers leave operators to this class."""

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        given = c_or_r.coeffs if isinstance(c_or_r, poly1d) else c_or_r
        if r:
            given = polynomials.poly(given)
        (found,) = polynomials._coefficients(given, what="poly1d")
        if not found.size:  # as of a constant's derivative
            found = creation.zeros((1,), found.dtype, found.queue)
        self.coeffs: Array = polynomials._trimmed(found)
        self.variable = variable or getattr(c_or_r, "variable", "x")

    c = coef = coefficients = property(lambda self: self.coeffs)

    @property
    def order(self) -> int:
        """The highest power."""
        return self.coeffs.size - 1

    o = order

    @property
    def roots(self) -> Array:
        """The roots, complex: ``portmp.roots``."""
        return roots(self.coeffs)

    r = roots

    def __call__(self, x: Any) -> Any:
        if not isinstance(x, poly1d):
            made = isinstance(x, (list, tuple, np.ndarray))
            return products.polyval(
                self.coeffs, operands.values(x, "poly1d: x", self.coeffs) if made else x
            )
        found = poly1d(self.coeffs[:1])
        for coefficient in self.coeffs[1:]:
            found = found * x + coefficient
        return found

    def _with(self, function: Callable[..., Any], other: Any, turned: bool = False) -> poly1d:
        first, second = self.coeffs, _of(other)
        return poly1d(function(second, first) if turned else function(first, second))

    def __add__(self, other: Any) -> poly1d:
        return self._with(polynomials.polyadd, other)

    def __sub__(self, other: Any) -> poly1d:
        return self._with(polynomials.polysub, other)

    def __rsub__(self, other: Any) -> poly1d:
        return self._with(polynomials.polysub, other, turned=True)

    def __mul__(self, other: Any) -> poly1d:
        return self._with(polynomials.polymul, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Any:
        if elementwise.is_number(other) and not isinstance(other, poly1d):
            return poly1d(self.coeffs / other)
        return tuple(map(poly1d, polynomials.polydiv(self.coeffs, _of(other))))

    def __rtruediv__(self, other: Any) -> Any:
        return tuple(map(poly1d, polynomials.polydiv(_of(other), self.coeffs)))

    def __pow__(self, power: int) -> poly1d:
        if isinstance(power, bool) or not isinstance(power, (int, np.integer)) or power < 0:
            raise ArgumentError(f"poly1d: power {power!r:.60} given, a number from 0 on is needed")
        found = poly1d(creation.ones((1,), self.coeffs.dtype, self.coeffs.queue))
        for _ in range(int(power)):
            found = found * self
        return found

    def __neg__(self) -> poly1d:
        return poly1d(-self.coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, poly1d):
            return NotImplemented
        same = self.coeffs.shape == other.coeffs.shape
        return same and bool((self.coeffs == other.coeffs).all())

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator[Any]:
        return iter(self.coeffs)

    def __getitem__(self, power: int) -> Any:
        there = 0 <= power <= self.order
        return self.coeffs[self.order - power] if there else self.coeffs[0] * 0

    def __setitem__(self, power: int, value: Any) -> None:
        if power < 0:
            raise ArgumentError(f"poly1d: power {power} given, a number from 0 on is needed")
        longer = manipulation.pad(self.coeffs, (max(power - self.order, 0), 0))
        longer[longer.size - 1 - power] = value
        self.coeffs = polynomials._trimmed(longer)

    def deriv(self, m: int = 1) -> poly1d:
        """The m-th derivative."""
        return poly1d(polynomials.polyder(self.coeffs, m))

    def integ(self, m: int = 1, k: Any = None) -> poly1d:
        """The m-th antiderivative, with constants *k* (0 by default)."""
        return poly1d(polynomials.polyint(self.coeffs, m, k))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's functions of polynomials are portmp's."""
        return numpy_protocol.function(self.coeffs, func, types, args, kwargs)

    def __repr__(self) -> str:
        return f"poly1d({self.coeffs})"

    def __str__(self) -> str:
        parts = []
        for k, value in zip(range(self.order, -1, -1), self.coeffs, strict=True):
            power = "" if k == 0 else f" {self.variable}" + (f"^{k}" if k > 1 else "")
            parts.append(f"{value}{power}")
        return " + ".join(parts).replace("+ -", "- ")


def _of(other: Any) -> Any:
    """The coefficients of a polynomial; others as they are."""
    return other.coeffs if isinstance(other, poly1d) else other
