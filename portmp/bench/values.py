"""Inputs: uniform on (-1, 1), all limbs full, the same on every machine, exact as integers.

A block of values is made once a format and repeated to any length, so that an operand
of gigabytes needs neither the host's memory nor minutes, and every entry is known exactly.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from portmp.formats import Format, encode
from portmp.formats.encodings import PRECISION
from portmp.formats.inputs import Stream
from portmp.routines.work import Entry, Walk

Plane = np.ndarray[Any, Any]
FULL, SHORT = "full", "float64"
"""How entries get their limbs: all filled, or those of a float64."""
PERIOD = 2**20 + 2**8
"""Values in a block: no multiple of a matrix's order, so that rows differ."""


def uniform(stream: Stream, count: int) -> Plane:
    """float64 numbers on a grid of 2^-53 in [-1, 1)."""
    signed = (stream.integers(count) >> np.uint64(10)).astype(np.int64) - 2**53
    result: Plane = signed * 2.0**-53
    return result


def full_limbs(form: Format, count: int, seed: str, positive: bool = False) -> list[Plane]:
    """Normalised values whose leading limbs are uniform and whose lower limbs are full.

    Each lower limb is uniform within half an ulp of the one above. *positive* negates
    whole values.
    """
    stream = Stream(f"bench {form.name} {seed}")
    planes: list[Plane] = []
    for i in range(form.limbs):
        unit = np.spacing(np.abs(planes[-1])).astype(np.float64) / 2 if planes else 1.0
        planes.append((uniform(stream, count) * unit).astype(form.dtype(i)))
    if positive:
        sign = np.where(planes[0] < 0, -1, 1)
        planes = [(p * sign).astype(p.dtype) for p in planes]
    return planes


def lognormal(
    form: Format, shape: tuple[int, ...], fill: str, seed: int, phi: float = 1.0
) -> list[Plane]:
    """Limbs of (ru - 0.5) exp(phi rn), ru uniform on [0, 1) and rn normal.

    *fill*: ``full`` or ``float64``, the limbs of a float64.
    """
    rng = np.random.default_rng(seed)
    value = (rng.random(shape) - 0.5) * np.exp(phi * rng.standard_normal(shape))
    limbs = [value.astype(form.dtype(0))]
    for i in range(1, form.limbs):
        if fill == SHORT:
            value = value - limbs[-1].astype(np.float64)
            limbs.append(value.astype(form.dtype(i)))
        else:
            half = np.spacing(np.abs(limbs[-1])).astype(np.float64) / 2
            limbs.append((half * rng.uniform(-1, 1, shape)).astype(form.dtype(i)))
    return limbs


def exponent(planes: Sequence[Plane]) -> int:
    """The exponent of the power of two of which all these limbs are multiples."""
    lowest = []
    for plane in planes:
        last = np.frexp(plane.astype(np.float64))[1] - PRECISION[plane.dtype.name]
        lowest += [int(last[plane != 0].min())] if plane.any() else []
    return min(lowest, default=0)


def integers(planes: Sequence[Plane], common: int) -> Plane:
    """Limb planes as Python integers: value = integer * 2^common."""
    total: Plane = np.zeros(planes[0].shape, object)
    for plane in planes:
        bits = PRECISION[plane.dtype.name]
        fraction, above = np.frexp(plane.astype(np.float64))
        number = np.ldexp(fraction, bits).astype(np.int64).astype(object)
        shift = np.where(plane != 0, above.astype(int) - bits - common, 0)
        total = total + (number << shift.astype(object))
    return total


def power_of_two(exponent: int) -> Fraction:
    """2^exponent, exactly."""
    return Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent)


class Values:
    """An endless sequence of values of a format: a block of PERIOD values, repeated.

    Those of a storage format are what it holds of them.
    """

    def __init__(self, form: Format, positive: bool = False) -> None:
        self.form = form
        self.block = encode.stored(form, full_limbs(form, PERIOD, "blas", positive))
        self.exponent = exponent(self.block)
        self._asked = 0

    @property
    def period(self) -> int:
        """After how many values the sequence repeats."""
        return int(self.block[0].size)

    @cached_property
    def _integers(self) -> Plane:
        return integers(self.block, self.exponent)

    def integers(self, places: Plane) -> Plane:
        """The values at *places* of the block as integers, in units of 2^exponent."""
        # A few are quicker on their own; where many are asked for, all of them are made once.
        self._asked += places.size
        if 4 * self._asked > self.period:
            result: Plane = self._integers[places]
            return result
        return integers([plane[places] for plane in self.block], self.exponent)

    @cached_property
    def sizes(self) -> Plane:
        """Magnitudes of the block, as float64."""
        result: Plane = np.abs(self.block[0].astype(np.float64))
        return result

    def take(self, first: int, shape: Sequence[int]) -> list[Plane]:
        """Limb planes of the array of this shape that starts at value *first*."""
        places = (first + np.arange(math.prod(shape))) % self.period
        return [plane[places].reshape(shape) for plane in self.block]

    def number(self, index: int) -> Fraction:
        """Value *index* of the sequence."""
        place = np.array([index % self.period])
        return int(self.integers(place)[0]) * power_of_two(self.exponent)

    def dot(self, x: Walk, y: Walk, count: int, others: "Values | None" = None) -> Entry:
        """The sum of *count* products of two walks through the values (y's through *others*').

        Products repeat with the values, so one period of them is enough for any length.
        """
        others = others or self
        rounds, rest = divmod(count, self.period)
        total, terms = 0, 0.0
        for times, length in ((rounds, self.period), (1, rest)):
            if times and length:
                part, size = self._products(x, others, y, length)
                total += times * part
                terms += times * size
        return Entry(total * power_of_two(self.exponent + others.exponent), terms)

    def _products(self, x: Walk, others: "Values", y: Walk, count: int) -> tuple[int, float]:
        """The integer sum of products, and the sum of their magnitudes."""
        steps = np.arange(count)
        at_x, at_y = ((w.first + w.step * steps) % self.period for w in (x, y))
        total = int(np.dot(self.integers(at_x), others.integers(at_y)))
        return total, float(np.dot(self.sizes[at_x], others.sizes[at_y]))


@lru_cache(maxsize=4)
def values_of(form: Format) -> Values:
    """The inputs in a format."""
    return Values(form)


def pieces(period: int, start: int, count: int) -> Iterator[tuple[int, slice]]:
    """Where *count* values from *start* on lie in a block of *period*, piece by piece.

    Each with the number of values before it.
    """
    done = 0
    while done < count:
        first = (start + done) % period
        some = slice(first, min(period, first + count - done))
        yield done, some
        done += some.stop - first
