"""Polynomials through points, by least squares."""

from __future__ import annotations

import numpy as np

from portmp.arrays import elementwise, products, statistics
from portmp.arrays.array import Array, operand
from portmp.errors import ArgumentError, ShapeError
from portmp.linalg.least_squares import lstsq


def polyfit(x: Array, y: Array, deg: int, *, w: Array | None = None) -> Array:
    """Coefficients, the highest power's first, of the polynomial of degree *deg* nearest to points.

    That is nearest in the sum of (w (y - p(x)))^2, with x (m,) and y (m,) or (m, r) of one format:
    ``lstsq`` of the powers of x, each column over its largest element.
    """
    if isinstance(deg, bool) or not isinstance(deg, (int, np.integer)) or deg < 0:
        raise ArgumentError(f"deg: {deg!r:.60} given, an integer from 0 on is needed")
    places = operand(x, "polyfit: x")
    values = operand(y, "polyfit: y")
    if places.ndim != 1 or values.ndim not in (1, 2) or values.shape[0] != places.size:
        raise ShapeError(
            f"polyfit: x {places.shape}, y {values.shape} given, (m,) and (m,) or (m, r) are needed"
        )
    if not places.size:
        raise ShapeError("polyfit: x: a point at least is needed")
    powers = products.vander(places, int(deg) + 1)
    if w is not None:
        weights = operand(w, "polyfit: w")
        if weights.shape != places.shape:
            raise ShapeError(f"polyfit: w {weights.shape} given, {places.shape} is needed")
        powers = powers * weights[:, None]
        values = values * (weights if values.ndim == 1 else weights[:, None])
    largest = statistics.max(elementwise.abs(powers), axis=0)
    scale = elementwise.where(elementwise.equal(largest, 0), 1, largest)
    found = lstsq(powers / scale, values).x
    divided: Array = found / (scale if values.ndim == 1 else scale[:, None])
    return divided
