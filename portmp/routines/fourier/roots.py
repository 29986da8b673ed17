"""Roots of unity, each part rounded once: those of the first eighth of the circle, and all others.

exp(-2 pi i j / order) is found from cos and sin of an angle up to pi/4 by signs and exchanges,
which are exact. Angles are integers: multiples of a whole circle's part.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from portmp import formats
from portmp.formats import Format
from portmp.networks import constants

GUARD = 96
"""Bits that are computed beyond those of a format's last limb ..."""
NOISE = 16
"""... of which these may be wrong: 1/2, which is a sine, comes out without them."""
Words = np.ndarray[Any, Any]


@cache
def _pi(bits: int) -> int:
    return constants.pi() >> (constants.BITS - bits)


def _by_series(parts: list[int], order: int, bits: int) -> tuple[Words, Words]:
    """cos and sin of 2 pi part / order below pi/4, as integers scaled by 2^bits."""
    found = []
    for part in parts:
        x = 2 * _pi(bits) * part // order
        terms, k, term = [1 << bits, x], 2, x
        while term:
            term = (term * x >> bits) // k
            terms.append(term)
            k += 1
        sums = [sum(terms[i::4]) - sum(terms[i + 2 :: 4]) for i in range(2)]
        found.append(sums)
    cosines, sines = zip(*found, strict=True)
    return np.array(cosines, object), np.array(sines, object)


@lru_cache(maxsize=8)
def table(form: str, order: int) -> Words:
    """The words of cos and sin of 2 pi j / order, j from 0 to order / 8, in rows; 8 divides order.

    The angles are sums of a coarse one and a fine one, whose roots are multiplied as integers.
    """
    f = formats.get(form)
    bits = f.bits + GUARD + order.bit_length()
    count = order // 8 + 1
    fine = 1 << (count.bit_length() + 1) // 2
    cosines, sines = _by_series(list(range(fine)), order, bits)
    far = range(0, count, fine)
    words = np.empty((count, 2 * f.limbs), f.word)
    for start, cos, sin in zip(far, *_by_series(list(far), order, bits), strict=True):
        here = words[start : start + fine]
        c, s = cosines[: len(here)], sines[: len(here)]
        here[:, : f.limbs] = _rounded(cos * c - sin * s, bits, f)
        here[:, f.limbs :] = _rounded(sin * c + cos * s, bits, f)
    return words


def _rounded(numbers: Words, bits: int, form: Format) -> Words:
    """Integers scaled by 2^(2 bits) as words, each the nearest of what is left; none is halfway."""
    shift, bits = bits + NOISE, bits - NOISE
    rest = (numbers + (1 << shift - 1)) >> shift
    found = np.empty((len(numbers), form.limbs), form.word)
    for k in range(form.limbs):
        near = rest.astype(np.float64)  # of integers the nearest
        if form.word == "float32":
            near = _of_single(near, rest)
        found[:, k] = np.ldexp(near, -bits)
        rest = rest - _integers(near)
    return found


_integers = np.frompyfunc(int, 1, 1)


def _of_single(near: Words, exact: Words) -> Words:
    """The numbers of float32 next to integers, of which *near* are those of float64."""
    found = np.frexp(near)[0].astype(np.float32).astype(np.float64)
    size = np.frexp(near)[1]
    halfway = np.flatnonzero(np.abs(found - np.frexp(near)[0]) == 2.0**-25)
    for i in halfway:  # the side on which the integer is
        beyond = exact[i] - int(near[i])
        if beyond:
            towards = np.inf if beyond > 0 else -np.inf
            found[i] = np.float32(np.nextafter(np.frexp(near[i])[0], towards))
    rounded: Words = np.ldexp(found, size)
    return rounded


def of(form: str, numbers: Words, order: int) -> list[Words]:
    """exp(-2 pi i j / order) for integers j from 0 on, below order: planes of both parts."""
    f = formats.get(form)
    step = 8 // np.gcd(order, 8)
    known = table(form, int(order * step))
    eighth = len(known) - 1
    j = np.asarray(numbers, np.int64) * step
    half, j = np.divmod(j, 4 * eighth)
    quarter, j = np.divmod(j, 2 * eighth)
    over = j > eighth
    rows = known[np.where(over, 2 * eighth - j, j)]
    cosines, sines = rows[..., : f.limbs], rows[..., f.limbs :]
    turned = (over != quarter)[..., None]
    real = np.where(turned, sines, cosines) * np.where(half != quarter, -1, 1)[..., None]
    imaginary = np.where(turned, cosines, sines) * np.where(half, 1, -1)[..., None]
    return [part[..., k].astype(f.word) for part in (real, imaginary) for k in range(f.limbs)]
