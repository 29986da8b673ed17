"""Storage formats on the host: numbers to the parts that lie in memory, and back.

Decoding is exact. Encoding rounds once, to nearest with ties to even or toward zero; a NaN
stays one, whatever bits are cut off. Numbers beyond the range become infinities (toward
zero: the largest number), none is flushed to zero.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.errors import FormatError, ShapeError
from portmp.formats.encodings import PRECISION, SIZES, Encoding
from portmp.formats.registry import Format

Plane = np.ndarray[Any, Any]
IMAGE: dict[str, Any] = {"float32": np.uint32, "float64": np.uint64}
"""Integers of words' bits."""


def encoded(words: Plane, encoding: Encoding, rounding: str = "nearest") -> list[Plane]:
    """The parts of words; ``rounding``: ``nearest`` or ``toward_zero``."""
    shape = np.shape(words)
    # A single number becomes a vector here: as a scalar, NumPy warns of integers that wrap around.
    words = np.ascontiguousarray(words, encoding.word)
    if encoding.plain or not encoding.parts:
        return [words.reshape(shape)][: len(encoding.parts)]
    truncates = rounding == "toward_zero"
    if encoding.native:
        return [_narrowed(words, truncates).reshape(shape)]
    kept = _image(words, encoding, truncates).reshape(shape)
    return [
        np.asarray(kept >> kept.dtype.type(shift)).astype(dtype)
        for dtype, shift in zip(encoding.parts, encoding.shifts, strict=True)
    ]


def decoded(parts: Sequence[Plane], encoding: Encoding) -> Plane:
    """The words that parts hold, exactly; FormatError where there are none."""
    if not encoding.parts:
        raise FormatError(f"encoding {encoding.name} is not stored")
    if encoding.native:
        with np.errstate(all="ignore"):
            return np.asarray(parts[0]).astype(encoding.word, copy=False)
    kind, above = IMAGE[encoding.word], SIZES[encoding.word] - encoding.size
    image = np.zeros(np.shape(parts[0]), kind)
    for part, shift in zip(parts, encoding.shifts, strict=True):
        image |= part.astype(kind) << kind(above + shift)
    if encoding.rescaled:
        sign, infinity, rebias = _marks(encoding)
        small = (image & ~sign) >> kind(above - encoding.dropped)
        size = (small.view(encoding.word) * np.float32(2.0**encoding.rebias)).view(kind)
        image = image & sign | size | np.where(size < infinity - rebias, kind(0), infinity)
    return image.view(encoding.word)


def _marks(encoding: Encoding) -> tuple[Any, Any, Any]:
    """In the word's bits: its sign, its infinity, and the difference of the exponents."""
    kind, fraction = IMAGE[encoding.word], PRECISION[encoding.word] - 1
    sign = 1 << SIZES[encoding.word] - 1
    return kind(sign), kind(sign - (1 << fraction)), kind(encoding.rebias << fraction)


def _narrowed(words: Plane, truncates: bool) -> Plane:
    """Doubles as binary32."""
    with np.errstate(all="ignore"):
        short = words.astype(np.float32)
        beyond = truncates & (np.abs(short.astype(np.float64)) > np.abs(words))
    short.view(np.uint32)[beyond] -= np.uint32(1)
    return short


def _image(words: Plane, encoding: Encoding, truncates: bool) -> Plane:
    """What lies in memory, as integers."""
    kind, dropped = IMAGE[encoding.word], IMAGE[encoding.word](encoding.dropped)
    one, fraction = kind(1), kind(encoding.bits - 1)
    sign, infinity, rebias = _marks(encoding)
    image = words.view(kind)
    size = image & ~sign
    step = kind(0) if truncates else (one << dropped - one) - one + (size >> dropped & one)
    found = (size - rebias + step) >> dropped
    if encoding.rescaled:
        least = rebias + (one << dropped + fraction)  # the smallest normal number
        with np.errstate(all="ignore"):
            units = np.where(size < least, np.abs(words), 0) * np.float32(2.0**-encoding.smallest)
        low = (np.floor(units) if truncates else np.rint(units)).astype(kind)
        found = np.where(size < least, low, found)
    # toward zero: only an infinity is one
    most = (infinity - rebias - rebias) >> dropped
    edge = np.where(np.isinf(words), most, most - one) if truncates else most
    found = np.where(size < infinity - rebias, found, edge)
    quiet = most | one << fraction - one | size >> dropped & (one << fraction) - one
    found = np.where(np.isnan(words), quiet, found)
    result: Plane = (image & sign) >> kind(SIZES[encoding.word] - encoding.size) | found
    return result


def parts_of(form: Format, limbs: Sequence[Plane]) -> list[Plane]:
    """All planes in memory of limbs on the host."""
    return [
        part
        for limb, encoding in zip(limbs, form.encodings, strict=True)
        for part in encoded(limb, encoding, form.rounding)
    ]


def limbs_of(form: Format, parts: Sequence[Plane]) -> list[Plane]:
    """The limbs of planes in memory."""
    if not form.coded:
        return list(parts)
    limbs: list[Plane] = []
    rest = list(parts)
    for encoding in form.encodings:
        mine, rest = rest[: len(encoding.parts)], rest[len(encoding.parts) :]
        limbs.append(decoded(mine, encoding) if mine else np.zeros_like(limbs[0]))
    return limbs


def stored(form: Format, limbs: Sequence[Plane]) -> list[Plane]:
    """Limbs as *form* holds them: rounded where it is a storage format."""
    return limbs_of(form, parts_of(form, limbs)) if form.coded else list(limbs)


def rounded(values: Plane, rest: Plane, encoding: Encoding, rounding: str) -> Plane:
    """Float64 *values* plus *rest*, of which only signs count, rounded once to an encoding.

    The word in between is rounded to odd, so that it is no tie where the value is none.
    """
    with np.errstate(all="ignore"):
        words = values.astype(encoding.word)
        error = np.sign(values - words.astype(np.float64))
        error = np.where(np.isfinite(words), np.where(error == 0, np.sign(rest), error), 0.0)
        error = np.where(np.isinf(words) & np.isfinite(values), -np.sign(values), error)
    image = words.view(IMAGE[encoding.word])
    one = image.dtype.type(1)
    image[(error != 0) & (error * np.where(np.signbit(words), -1.0, 1.0) < 0)] -= one
    image[error != 0] |= one
    return decoded(encoded(words, encoding, rounding), encoding)


def interleaved(form: Format, parts: Sequence[Plane]) -> Plane:
    """Parts of one value behind another: bytes (..., itemsize), least significant part last."""
    planes = [np.asarray(p, order="C")[..., None].view(np.uint8) for p in parts]
    return np.concatenate(planes, axis=-1)


def planar(form: Format, content: Plane) -> list[Plane]:
    """The parts of ``interleaved`` bytes; ShapeError where they are no such."""
    if content.dtype != np.uint8 or content.shape[-1:] != (form.itemsize,):
        raise ShapeError(
            f"content: {content.dtype} {content.shape} given, bytes (uint8) with a last axis of "
            f"{form.itemsize} are needed for {form.name}"
        )
    parts, at = [], 0
    for dtype in form.parts:
        size = SIZES[dtype] // 8
        part = np.asarray(content[..., at : at + size], order="C").view(dtype)[..., 0]
        parts.append(part)
        at += size
    return parts
