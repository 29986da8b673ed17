"""Storage formats on the host: numbers to the parts that lie in memory, and back.

Decoding is exact. Encoding rounds once, to nearest with ties to even or toward zero; a NaN
stays one, whatever bits are cut off. Numbers beyond the range become infinities (toward
zero: the largest number), none is flushed to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.errors import FormatError, ShapeError
from portmp.formats.encodings import SIZES, Coding
from portmp.formats.registry import Format

Plane = np.ndarray[Any, Any]
_IMAGE = {"float32": np.uint32, "float64": np.uint64}
_HALF_NORMAL = np.uint32(0x38800000)
"""2^-14, binary16's smallest normal number, as binary32."""
_HALF_BEYOND = np.uint32(0x47800000)
"""2^16, which binary16 does not hold."""


def encoded(words: Plane, coding: Coding, rounding: str = "nearest") -> list[Plane]:
    """The parts of words; ``rounding``: ``nearest`` or ``toward_zero``."""
    words = np.ascontiguousarray(words, coding.word)
    if coding.kind in ("word", "none"):
        return [words][: len(coding.parts)]
    truncates = rounding == "toward_zero"
    if coding.kind == "single":
        return [_single(words, truncates)]
    image = words.view(_IMAGE[coding.word])
    if coding.kind == "half":
        return [_half(words, image, truncates).astype(np.uint16)]
    kept = _cut(words, image, coding.dropped, truncates)
    parts = []
    for dtype, offset in zip(coding.parts, coding.offsets, strict=True):
        shift = coding.size - offset - SIZES[dtype]
        parts.append((kept >> kept.dtype.type(shift)).astype(dtype))
    return parts


def decoded(parts: Sequence[Plane], coding: Coding) -> Plane:
    """The words that parts hold, exactly."""
    if coding.kind == "none":
        raise FormatError(f"coding {coding.name} is not stored")
    if coding.kind == "word":
        return np.asarray(parts[0])
    if coding.kind == "single":
        with np.errstate(all="ignore"):
            return np.asarray(parts[0]).astype(np.float64)
    if coding.kind == "half":
        with np.errstate(all="ignore"):
            return np.asarray(parts[0]).view(np.float16).astype(np.float32)
    kind = _IMAGE[coding.word]
    image = np.zeros(np.shape(parts[0]), kind)
    for part, offset in zip(parts, coding.offsets, strict=True):
        image |= part.astype(kind) << kind(SIZES[coding.word] - offset - SIZES[part.dtype.name])
    return image.view(coding.word)


def _single(words: Plane, truncates: bool) -> Plane:
    """Doubles as binary32."""
    with np.errstate(all="ignore"):
        short = words.astype(np.float32)
        beyond = truncates & (np.abs(short.astype(np.float64)) > np.abs(words))
    short.view(np.uint32)[beyond] -= np.uint32(1)
    return short


def _half(words: Plane, image: Plane, truncates: bool) -> Plane:
    """Bits of floats as binary16."""
    sign = image >> np.uint32(16) & np.uint32(0x8000)
    size = image & np.uint32(0x7FFFFFFF)
    with np.errstate(all="ignore"):
        units = np.minimum(np.abs(words), np.float32(1)) * np.float32(2.0**24)
        low = (np.floor(units) if truncates else np.rint(units)).astype(np.uint32)
    step = np.uint32(0) if truncates else np.uint32(0xFFF) + (size >> np.uint32(13) & np.uint32(1))
    high = (size - np.uint32(0x38000000) + step) >> np.uint32(13)
    # toward zero: only an infinity is one
    most = np.where(np.isinf(words), 0x7C00, 0x7BFF if truncates else 0x7C00).astype(np.uint32)
    found = np.where(size < _HALF_NORMAL, low, np.where(size < _HALF_BEYOND, high, most))
    quiet = np.uint32(0x7E00) | size >> np.uint32(13) & np.uint32(0x3FF)
    result: Plane = sign | np.where(np.isnan(words), quiet, found)
    return result


def _cut(words: Plane, image: Plane, dropped: int, truncates: bool) -> Plane:
    """The top bits of images, as integers."""
    kind = image.dtype.type
    kept = image >> kind(dropped)
    quiet = kept | kind(1) << kind(np.finfo(words.dtype).nmant - 1 - dropped)
    if not truncates:
        kept = (image + kind((1 << dropped - 1) - 1) + (kept & kind(1))) >> kind(dropped)
    result: Plane = np.where(np.isnan(words), quiet, kept)
    return result


def parts_of(form: Format, limbs: Sequence[Plane]) -> list[Plane]:
    """All planes in memory of limbs on the host."""
    return [
        part
        for limb, coding, dtype in zip(limbs, form.codings, form.planes, strict=True)
        for part in (
            encoded(limb, coding, form.rounding)
            if form.coded
            else [np.ascontiguousarray(limb, dtype)]
        )
    ]


def limbs_of(form: Format, parts: Sequence[Plane]) -> list[Plane]:
    """The limbs of planes in memory."""
    limbs: list[Plane] = []
    rest = list(parts)
    for coding in form.codings:
        mine, rest = rest[: len(coding.parts)], rest[len(coding.parts) :]
        limbs.append(decoded(mine, coding) if mine else np.zeros_like(limbs[0]))
    return limbs


def stored(form: Format, limbs: Sequence[Plane]) -> list[Plane]:
    """Limbs as *form* holds them: rounded where it is a storage format."""
    return limbs_of(form, parts_of(form, limbs)) if form.coded else list(limbs)


def rounded(values: Plane, rest: Plane, coding: Coding, rounding: str) -> Plane:
    """Float64 *values* plus *rest*, of which only signs count, rounded once to a coding's numbers.

    The word in between is rounded to odd, so that it is no tie where the value is none.
    """
    with np.errstate(all="ignore"):
        words = values.astype(coding.word)
        error = np.sign(values - words.astype(np.float64))
        error = np.where(np.isfinite(words), np.where(error == 0, np.sign(rest), error), 0.0)
        error = np.where(np.isinf(words) & np.isfinite(values), -np.sign(values), error)
    image = words.view(_IMAGE[coding.word])
    one = image.dtype.type(1)
    image[(error != 0) & (error * np.where(np.signbit(words), -1.0, 1.0) < 0)] -= one
    image[error != 0] |= one
    return decoded(encoded(words, coding, rounding), coding)


def interleaved(form: Format, parts: Sequence[Plane]) -> Plane:
    """Parts of one value behind another: bytes (..., itemsize), least significant part last."""
    planes = [np.ascontiguousarray(p)[..., None].view(np.uint8) for p in parts]
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
        part = np.ascontiguousarray(content[..., at : at + size]).view(dtype)[..., 0]
        parts.append(part)
        at += size
    return parts
