"""Eigenvectors of Schur's forms by back substitution, and their lengths and phases."""

from typing import Any

import numpy as np

from portmp.arrays import complexes, creation, elementwise, manipulation, statistics
from portmp.arrays.array import Array
from portmp.arrays.manipulation import diagonal
from portmp.linalg import scaling
from portmp.linalg.hessenberg import leading, powers
from portmp.linalg.norms import norm

REACH = {"float32": 2.0**16, "float64": 2.0**200}
"""Vectors with larger elements are scaled back to 1 on their way, by word."""

Rows = np.ndarray[Any, np.dtype[np.int64]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]


def vectors(t: Array, z: Array, values: Array, rows: Rows) -> Array:
    """Those of 2^r z t z^H 2^-r (batch, n, n), r by rows, and complex values (batch, n); waits.

    t is a Schur form about 1 and z unitary. Columns have length 1, and their largest element, the
    first of equals, is real and above 0; of the second value of a pair they are the first one's
    conjugate.
    """
    found: Array = creation.zeros(t.shape, values.format, t.queue)
    firsts = np.zeros(values.shape, bool)
    if not t.size:
        return found
    if not complexes.is_complex(t):
        firsts = values.imag.to_limbs()[0] > 0
    for pattern in np.unique(firsts, axis=0):
        entries = np.flatnonzero((firsts == pattern).all(axis=1))
        second = np.roll(pattern, 1)
        own = Array(values.planes) if len(entries) == len(firsts) else values[entries]
        form, basis = (x if len(entries) == len(firsts) else x[entries] for x in (t, z))
        x = basis @ _substituted(form, own[:, ~second], pattern)
        x = _normalised(x * powers(rows[entries], t)[:, :, None])
        spread = x[:, :, np.cumsum(~second) - 1]
        spread[:, :, second] = spread[:, :, second].conj()
        found[entries] = spread
    return found


def left_vectors(t: Array, z: Array, values: Array, rows: Rows) -> Array:
    """The same of the conjugate transpose: y^H a = value y^H."""
    turned = manipulation.flip(t.mT.conj(), axis=(-2, -1))
    ends = manipulation.flip(values.conj(), axis=-1)
    found = vectors(turned, manipulation.flip(z, axis=-1), ends, -rows)
    order: Array = manipulation.flip(found, axis=-1)
    return order


def _substituted(t: Array, values: Array, firsts: Truths) -> Array:
    """Vectors of forms t that have pairs at the same places, of all values but pairs' second ones.

    Row by row from below x_k = -(sum of t_kj x_j) / (t_kk - value), of a block of two by
    elimination with the larger pivot. No divisor is smaller than the format's roundoff, which is
    how large the form's errors are.
    """
    n, count = len(firsts), values.shape[-1]
    small = t.format.unit_roundoff
    ends = diagonal(t, 0, -2, -1)
    gaps = _large(ends[:, :, None] - values[:, None, :], small)
    x: Array = creation.zeros((len(t), n, count), values.format, t.queue)
    at = count
    for k in reversed(range(n)):
        if k and firsts[k - 1]:
            continue
        below, after = k + 1 + bool(firsts[k]), slice(at, None)
        at -= 1
        if firsts[k]:
            x[:, k, at] = values[:, at] - ends[:, k + 1]
            x[:, k + 1, at] = t[:, k + 1, k]
            # Near 1: of tiny numbers the lower limbs are lost.
            x[:, k:below, at] *= powers(-np.frexp(leading(x[:, k, at]))[1], t)[:, None]
        else:
            x[:, k, at] = 1
        if below == n:
            continue
        right = -(t[:, k:below, below:] @ x[:, below:, after])
        if firsts[k]:
            _pair(t[:, k:below, k:below], gaps[:, k:below, after], right, x[:, k:, after], small)
        else:
            x[:, k, after] = right[:, 0] / gaps[:, k, after]
        _kept_near(x[:, k:, after], None)
    return x


def _pair(block: Array, gaps: Array, right: Array, x: Array, small: float) -> None:
    """Overwrite the first two rows of x by the solutions of a block of two less each value."""
    one, other = block[:, :1, 1], block[:, 1:, 0]
    turned = abs(gaps[:, 0]) < abs(other)
    above, below = (gaps[:, 0], one, right[:, 0]), (other, gaps[:, 1], right[:, 1])
    (u, v, r), (p, q, s) = (
        [elementwise.where(turned, y, x) for x, y in zip(*rows, strict=True)]
        for rows in ((above, below), (below, above))
    )
    factor = p / u
    x[:, 1] = (s - factor * r) / _large(q - factor * v, small)
    r = _kept_near(x[:, 1:], r)
    x[:, 0] = (r - v * x[:, 1]) / u


def _large(x: Array, small: float) -> Array:
    found: Array = elementwise.where(abs(x) < small, small, x)
    return found


def _kept_near(x: Array, more: Any) -> Any:
    """Scale columns back to 1 whose first element is large, and *more* (batch, columns) too."""
    sizes = leading(x[:, 0])
    large = sizes > REACH[x.format.word]
    if not large.any():
        return more
    by = powers(np.where(large, -np.frexp(sizes)[1], 0), x)
    x *= by[:, None, :]
    return None if more is None else more * by


def _normalised(x: Array) -> Array:
    near = scaling.columns(x).x
    at = statistics.argmax(abs(near), axis=-2, keepdims=True)
    turned = near * elementwise.sign(manipulation.take_along_axis(near, at, axis=-2)).conj()
    places = creation.arange(x.shape[-2], device=x.queue)[:, None]
    turned.imag[...] = elementwise.where(places == at, 0, turned.imag)
    found: Array = turned / norm(abs(turned), axis=-2, keepdims=True)
    return found
