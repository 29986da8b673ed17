"""A system to solve: the covariance matrix of kriging (regression by a Gaussian process).

Sites are Halton's points of the unit square, observed is Franke's function (1979, the usual test
of scattered-data interpolation) with errors of measurement. Their variance on the diagonal bounds
the smallest eigenvalue from below, whatever the sites are. Unlike the matrices of finite
differences, whose small integers every storage format holds exactly, all entries are rounded.
"""

from typing import Any

import numpy as np

from portmp.formats.inputs import Stream

Plane = np.ndarray[Any, np.dtype[np.float64]]

REACH = 0.2
"""Length over which the covariance falls."""

VARIANCE = 0.01
"""Of the measurements' errors, the process's own being 1; no eigenvalue is smaller."""


def sites(count: int) -> tuple[Plane, Plane]:
    """Coordinates x and y of Halton's first points."""
    return _halton(count, 2), _halton(count, 3)


def _halton(count: int, base: int) -> Plane:
    """The digits of 1, 2, ... in *base*, mirrored at the point."""
    rest, digit = np.arange(1, count + 1), 1.0
    found = np.zeros(count)
    while rest.any():
        digit /= base
        found += digit * (rest % base)
        rest //= base
    return found


def franke(x: Plane, y: Plane) -> Plane:
    """Franke's function: two peaks, a saddle and a dip."""
    u, v = 9 * x, 9 * y
    found: Plane = (
        0.75 * np.exp(-((u - 2) ** 2 + (v - 2) ** 2) / 4)
        + 0.75 * np.exp(-((u + 1) ** 2) / 49 - (v + 1) / 10)
        + 0.5 * np.exp(-((u - 7) ** 2 + (v - 3) ** 2) / 4)
        - 0.2 * np.exp(-((u - 4) ** 2) - (v - 7) ** 2)
    )
    return found


def covariance(x: Plane, y: Plane) -> Plane:
    """Matern's covariance of order 3/2 between all sites, and the errors' variance."""
    scaled = np.hypot(x[:, None] - x, y[:, None] - y) * (np.sqrt(3.0) / REACH)
    found: Plane = (1 + scaled) * np.exp(-scaled)
    found[np.diag_indices_from(found)] += VARIANCE
    return found


def observed(x: Plane, y: Plane) -> Plane:
    """What is measured: the function, and errors that sums of twelve uniform numbers give."""
    uniform = Stream("kriging").integers(12 * x.size).reshape(12, -1) * 2.0**-64
    found: Plane = franke(x, y) + np.sqrt(VARIANCE) * (uniform.sum(axis=0) - 6)
    return found
