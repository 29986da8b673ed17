"""Recorded inputs: values made bit by bit from a seed, the same on every machine.

No floating-point arithmetic and no library generator takes part: words are assembled
from integers of a counter-based generator, so digests of results can be compared
between any two hosts.
"""

import hashlib
from typing import Any

import numpy as np

from portmp.formats import encode
from portmp.formats.encodings import PRECISION, SIZES, encoding
from portmp.formats.registry import Format

Plane = np.ndarray[Any, Any]
Host = list[Plane]


class Stream:
    """A stream of 64-bit integers: SplitMix64 from a hashed seed."""

    def __init__(self, seed: str) -> None:
        self._next = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little")

    def integers(self, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The next *count* integers."""
        step = 0x9E3779B97F4A7C15
        mask = (1 << 64) - 1
        first = self._next
        self._next = (first + count * step) & mask
        with np.errstate(over="ignore"):
            z = np.uint64(first) + np.arange(count, dtype=np.uint64) * np.uint64(step)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    def below(self, count: int, limit: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """*count* integers from 0 to limit - 1."""
        return (self.integers(count) % np.uint64(limit)).astype(np.int64)


def random_words(stream: Stream, dtype: str, exponent: Plane) -> Plane:
    """Words with random sign and significand and the given binary exponents.

    Below the normal range the word is 0, above it the largest exponent is used.
    """
    p, bias, kind = PRECISION[dtype], encoding(dtype).bias, encode.IMAGE[dtype]
    count = exponent.size
    bits = stream.integers(count)
    sign = (bits >> np.uint64(63)).astype(kind)
    fraction = ((bits >> np.uint64(5)) & np.uint64((1 << (p - 1)) - 1)).astype(kind)
    biased = np.clip(exponent + bias, 0, 2 * bias).astype(kind)
    word = (
        (sign << kind(SIZES[dtype] - 1))
        | (biased << kind(p - 1))
        | np.where(biased > 0, fraction, 0)
    )
    result: Plane = word.astype(kind).view(dtype)
    return result


def expansions(form: Format, count: int, stream: Stream, low: int, high: int) -> Host:
    """Normalised values with leading exponents from *low* to *high* and full lower limbs.

    One value in eight has a gap between its limbs.
    """
    exponent = low + stream.below(count, high - low + 1)
    planes = []
    for i in range(form.limbs):
        dtype = form.planes[i]
        if i:
            above = PRECISION[form.planes[i - 1]]
            gap = np.where(stream.below(count, 8) == 0, stream.below(count, 20), 0)
            exponent = exponent - above - 1 - gap
        planes.append(random_words(stream, dtype, exponent))
    return encode.stored(form, planes)


def ordinary(form: Format, shape: tuple[int, ...], seed: str) -> Host:
    """Values in (-2, 2), of complex ones both parts."""
    if form.components > 1:
        parts = [ordinary(form.component, shape, f"{seed} {w}") for w in ("real", "imaginary")]
        return [plane for part in parts for plane in part]
    count = int(np.prod(shape, dtype=np.int64))
    planes = expansions(form, count, Stream(f"ordinary {form.name} {seed}"), -3, 0)
    return [p.reshape(shape) for p in planes]


def positive(form: Format, shape: tuple[int, ...], seed: str) -> Host:
    """Values in (0, 2): negative ones are negated as a whole."""
    planes = ordinary(form, shape, seed)
    sign = np.where(planes[0] < 0, -1.0, 1.0)
    return [p * sign.astype(p.dtype) for p in planes]


def wide(form: Format, shape: tuple[int, ...], seed: str) -> Host:
    """Values with widely spread exponents: products overflow and underflow now and then."""
    count = int(np.prod(shape, dtype=np.int64))
    reach = 70 if form.word == "float32" else 560
    reach = min(reach, max(form.encodings[0].overflow - 6, 0))
    planes = expansions(form, count, Stream(f"wide {form.name} {seed}"), -reach, reach)
    return [p.reshape(shape) for p in planes]


def cancelling(form: Format, shape: tuple[int, ...], seed: str) -> Host:
    """Values of which each second one almost cancels its predecessor along the last axis."""
    planes = ordinary(form, shape, f"cancelling {seed}")
    for i, plane in enumerate(planes):
        odd = plane[..., 1::2]
        even = plane[..., 0 : 2 * odd.shape[-1] : 2]
        if i < form.limbs - 1 or form.limbs == 1:
            odd[...] = -even
        if form.limbs == 1:
            odd[...] = np.nextafter(odd, plane.dtype.type(0))
    return encode.stored(form, planes)


def hostile(form: Format, count: int, seed: str) -> Host:
    """Everything at once: wide and ordinary values, subnormals, zeros, infinities, NaN."""
    stream = Stream(f"hostile {form.name} {seed}")
    planes = wide(form, (count,), f"hostile {seed}")
    plain = ordinary(form, (count,), f"hostile {seed}")
    choice = stream.below(count, 4)
    planes = [np.where(choice == 0, a, b) for a, b in zip(planes, plain, strict=True)]
    lead = planes[0].dtype
    info = np.finfo(lead)
    tiny = info.smallest_subnormal
    signed = [x for size in (info.max, tiny, info.tiny, 1.0) for x in (size, -size)]
    others = [1.0 + info.eps, 1.0 - info.epsneg, 3 * tiny, 2.0, 0.5]
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan, *signed, *others]
    which = stream.below(count, 3 * len(specials))
    for i, special in enumerate(specials):
        hit = which == i
        planes[0][hit] = special
        for plane in planes[1:]:
            plane[hit] = 0
    return encode.stored(form, planes)


def with_specials(planes: Host, seed: str, values: tuple[float, ...]) -> Host:
    """A copy with a few entries replaced by *values* (zeros below)."""
    result = [p.copy() for p in planes]
    place = Stream(f"places {seed}").below(len(values), max(result[0].size, 1))
    for at, value in zip(place, values, strict=True):
        for i, plane in enumerate(result):
            plane.reshape(-1)[at] = 0.0 if i else value
    return result
