"""Correctly rounded sums and products on the host, by Python's integers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import formats
from portmp.formats import Format, convert
from portmp.routines.exact.accumulator import SMALLEST
from portmp.routines.reference import Host, Plane
from portmp.runtime.planes import Planes


def gemm(
    form: Format,
    a: Host,
    b: Host,
    alpha: Sequence[Any] | None = None,
    beta: Sequence[Any] = (),
    c: Host | None = None,
    result: Host | None = None,
) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n), rounded once; NaN for operands not finite.

    With a *result*, how far that is from it, rounded up to a word.
    """
    left, right = _integers(form, a), _integers(form, b)
    shape = left.shape[0], right.shape[1]
    sums = np.full(shape, 0, object)
    bad = np.zeros(shape, bool)
    if left.shape[1]:
        sums = np.dot(left, right)
        rows, columns = np.asarray(~_finite(a).all(axis=1)), np.asarray(~_finite(b).all(axis=0))
        bad = rows[:, None] | columns[None, :]
    factors = 2
    if alpha is not None:
        sums, factors = sums * _integer(form, alpha), 3
    if c is not None:
        more = _integer(form, beta) << (factors - 2) * -SMALLEST[form.word]
        sums = sums + _integers(form, c) * more
        bad = bad | ~_finite(c)
    return _ended(form, sums, factors, bad, result)


def _integer(form: Format, number: Sequence[Any]) -> int:
    (found,) = _integers(form, [np.asarray(word).reshape(1) for word in number])
    return int(found)


def dot(form: Format, x: Host, y: Host) -> Host:
    """sum_i x_i y_i, rounded once."""
    return [p[0, 0] for p in gemm(form, [p[None, :] for p in x], [p[:, None] for p in y])]


def over_rows(form: Format, x: Host, result: Host | None = None) -> Host:
    """The sum of each row of x (m, n), rounded once; NaN where one is not finite.

    With a *result* as ``gemm``.
    """
    sums = np.array([sum(row) for row in _integers(form, x)], object)
    bad = np.asarray(~_finite(x).all(axis=1))
    return _ended(form, sums.reshape(x[0].shape[:1]), 1, bad, result)


def _finite(x: Host) -> Plane:
    found: Plane = np.logical_and.reduce([np.isfinite(plane) for plane in x])
    return found


def _integers(form: Format, x: Host) -> Plane:
    """Values in units of the word's smallest subnormal; 0 for what is not finite."""
    unit = 1 << -SMALLEST[form.word]

    def units(word: float) -> int:
        if not math.isfinite(word):
            return 0
        numerator, denominator = float(word).as_integer_ratio()
        return numerator * (unit // denominator)

    rows = convert.element_rows(x)
    return convert.object_array([sum(map(units, row)) for row in rows], x[0].shape)


def _ended(form: Format, sums: Plane, factors: int, bad: Plane, result: Host | None) -> Host:
    """Sums, or how far *result* is from them."""
    if result is None:
        return rounded(form, sums, factors, bad)
    flat = [plane.reshape(sums.shape) for plane in result]
    less = _integers(form, flat) << (factors - 1) * -SMALLEST[form.word]
    unit = 1 << -factors * SMALLEST[form.word]
    word = np.dtype(form.word)
    found = [_upwards(abs(value), unit, word) for value in (sums - less).ravel()]
    distances = np.array(found, word).reshape(sums.shape)
    distances[bad | ~_finite(flat)] = np.nan
    return [distances]


def _upwards(number: int, unit: int, word: np.dtype[Any]) -> Any:
    """The least word that is not below number / unit, which is not negative."""
    form = formats.get(word.name)
    (found,), _ = convert.round_ratio(number, unit, form)
    if not math.isfinite(found):
        return found
    over, under = float(found).as_integer_ratio()
    return found if over * unit >= number * under else np.nextafter(found, word.type(np.inf))


def accumulated(a: Planes, b: Planes | None) -> tuple[int, int]:
    """The sum of a row a, or of its products with a column b, as of ``launch.accumulated``."""
    x = a.decoded()
    found, bad = _integers(a.format, x), ~_finite(x)
    if b is not None:
        y = b.decoded()
        found, bad = found * _integers(a.format, y).T, bad | ~_finite(y).T
    return int(found.sum()), int(bad.sum())


def rounded(form: Format, sums: Plane, factors: int, bad: Plane) -> Host:
    """Integers in units of the smallest subnormal to the power of *factors*, rounded once."""
    unit = 1 << -factors * SMALLEST[form.word]
    rows = [convert.round_ratio(value, unit, form)[0] for value in sums.ravel()]
    planes = [
        np.array([row[i] for row in rows], form.dtype(i)).reshape(sums.shape)
        for i in range(form.limbs)
    ]
    for i, plane in enumerate(planes):
        plane[bad] = 0.0 if i else np.nan
    return planes
