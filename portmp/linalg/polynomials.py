"""Polynomials through points, by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from portmp.arrays import creation, elementwise, products, statistics
from portmp.arrays.array import Array
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg import operands
from portmp.linalg.least_squares import lstsq
from portmp.linalg.qr import qr
from portmp.linalg.triangular import solve_triangular


def polyfit(x: Any, y: Any, deg: int, *, w: Any = None, cov: bool | str = False) -> Any:
    """Coefficients, the highest power's first, of the polynomial of degree *deg* nearest to points.

    That is nearest in the sum of (w (y - p(x)))^2, with x (m,) and y (m,) or (m, r) of one format
    (lists and integers become values): ``lstsq`` of the powers of x, each column over its largest
    element. With *cov* also their covariances (deg + 1, deg + 1), of each column of y a matrix
    along a last axis: the inverse of V^T V for the weighted powers V, times the sum of squares of
    the residuals over m - deg - 1; ``unscaled``: not times that.
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
    found = lstsq(powers / scale, values)
    divided: Array = found.x / (scale if values.ndim == 1 else scale[:, None])
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
