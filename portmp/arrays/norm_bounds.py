"""Bounds of the errors of Euclidean norms (docs/bounds.md), however they were computed."""

import math

import numpy as np

from portmp import definition, formats
from portmp.arrays import manipulation
from portmp.arrays.array import Array
from portmp.arrays.creation import array, zeros
from portmp.arrays.elementwise import maximum, minimum, sqrt
from portmp.networks.bounded import MUL, SMALLEST
from portmp.routines import base
from portmp.routines.bounds import certified
from portmp.routines.bounds.certified import LOST, RAISED, ROOT
from portmp.routines.exact import launch as exact
from portmp.routines.products.product import Product


def of_rows(norms: Array, x: Array, *, tight: bool) -> Array:
    """What *norms* (m,), those of the rows of x (m, n), are off at most: words.

    They are compared with norms whose bounds follow from those of sums, in the same words or, where
    the bounds are to be *tight*, with one limb more; where no format has that, with exact sums.
    """
    form = x.format
    formats.with_bound(form)  # refuses a paper's format
    if not x.size:
        none: Array = zeros(norms.shape, form.word, x.queue)
        return none
    wide = formats.wider(form) if tight else form.compute
    if wide is None:
        return _from_exact_sums(norms.astype(form.compute), x.astype(form.compute))
    value, bound = _with_bound(x.astype(wide))
    distance = Array(certified.distance(norms.planes, (value.planes, bound.planes)))
    # Not a number where lower limbs may be lost near overflow.
    twice = leading(norms) * 2
    found: Array = distance + (twice - twice)
    return found


def _with_bound(x: Array) -> tuple[Array, Array]:
    """Norms of rows that are scaled by powers of two, and what their errors are not above."""
    form, count = x.format, x.shape[1]
    powers, inverse, largest = _powers(x)
    scaled = x * inverse[:, None]
    square, error = (scaled * scaled).sum(axis=1, bound=True)
    unit, relative = 2.0 ** SMALLEST[form.word], form.unit_roundoff
    # What each square loses, and what scaling loses of the lower limbs of small entries.
    lost = unit * (LOST[form.limbs] + 2 * form.limbs * largest)
    error = error + leading(square) * (MUL[form.limbs] * relative * RAISED)
    error = error + certified.upwards(count * lost, form.word)
    root = sqrt(square)
    size = leading(root)
    # Roots of S and S' are apart by |S - S'| / (sqrt(S) + sqrt(S')), so by sqrt(|S - S'|) at most.
    bound = minimum(error / maximum(size, unit), sqrt(error))
    bound = (bound + size * (ROOT[form.limbs] * relative)) * RAISED
    bound = bound * (leading(powers) * RAISED)
    return root * powers, bound + certified.upwards((form.limbs + 1) * unit, form.word)


def _from_exact_sums(norms: Array, x: Array) -> Array:
    """|S - n^2| / (sqrt(S) + n) for the exact sum S of squares and n what is called its root."""
    form, count = x.format, x.shape[1]
    powers, inverse, largest = _powers(x)
    unit = 2.0 ** SMALLEST[form.word]
    root, scaled = norms * inverse, x * inverse[:, None]
    left, right = (manipulation.concat([scaled, end[:, None]], axis=1) for end in (root, -root))
    none = zeros((len(norms), 1, 1), form, x.queue)
    factors = left[:, None, :].planes, right[:, :, None].planes
    one, zero = (base.scalar_limbs(form, number, "alpha") for number in (1, 0))
    errors = exact.gemm_distances(none.planes, Product(*factors, one, zero, None, None))
    error = Array(errors).reshape(len(norms))
    # Scaling loses lower limbs of small entries, and of the norm.
    error = (error + certified.upwards(2 * count * form.limbs * unit * largest, form.word)) * RAISED
    size = maximum(leading(root), unit)
    bound = error / maximum(2 * size - error / size, size) * RAISED
    bound = (bound + form.limbs * unit) * (leading(powers) * RAISED)
    found: Array = bound + certified.upwards(unit, form.word)
    return found


def _powers(x: Array) -> tuple[Array, Array, float]:
    """Powers of two near the largest of each row (0 for a row of zeros), what scales by them, and
    how large entries are then."""
    largest = leading(abs(x).max(axis=1)).to_limbs()[0].astype(np.float64)
    exponents = [definition.norm_exponent(x.format.word, float(one)) or 0 for one in largest]
    inverse = np.array([math.ldexp(1.0, -one) for one in exponents])
    scaled = largest * inverse
    most = float(np.max(scaled, where=np.isfinite(scaled), initial=1.0))
    powers = np.where(largest == 0, 0.0, 1 / inverse)
    return array(powers, x.format, x.queue), array(inverse, x.format, x.queue), most


def leading(x: Array) -> Array:
    """Leading limbs, as numbers of the word."""
    return Array(certified.leading(x.planes))
