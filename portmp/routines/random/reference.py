"""Random numbers on the host, bit for bit as on devices."""

from typing import Any

import numpy as np

from portmp.networks import functions, ieee
from portmp.routines.random.layout import BLOCK, MULTIPLIERS, ROUNDS, STEPS, WORD_BITS, Draw, Stream
from portmp.routines.reference import Arithmetic, Host, Value

Words = np.ndarray[Any, np.dtype[np.uint64]]
_ONES = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(WORD_BITS)


def philox(counter: list[Words], key: tuple[int, int]) -> list[Words]:
    """The four words of Philox4x32-10 for each counter (four words of 32 bits, in uint64)."""
    x = list(counter)
    keys = [np.uint64(k) for k in key]
    for _ in range(ROUNDS):
        first, second = x[0] * np.uint64(MULTIPLIERS[0]), x[2] * np.uint64(MULTIPLIERS[1])
        x = [
            (second >> _HALF) ^ x[1] ^ keys[0],
            second & _ONES,
            (first >> _HALF) ^ x[3] ^ keys[1],
            first & _ONES,
        ]
        keys = [
            np.uint64((int(k) + step) & 0xFFFFFFFF) for k, step in zip(keys, STEPS, strict=True)
        ]
    return x


def words(stream: Stream, first: int, count: int) -> Words:
    """Words *first* and following of a stream."""
    start, skipped = divmod(first, BLOCK)
    blocks = -(-(skipped + count) // BLOCK)
    number = np.arange(blocks, dtype=np.uint64) + np.uint64(start)
    rest = [np.full(blocks, word, np.uint64) for word in stream.upper]
    found = philox([number & _ONES, number >> _HALF, *rest], stream.key)
    return np.stack(found, axis=1).ravel()[skipped : skipped + count]


def _uniform(ar: Arithmetic, rows: Words, at: int, bits: tuple[int, ...], per: int) -> Value:
    """A uniform number of each row's words from *at* on."""
    limbs, weight = [], 0
    for i, count in enumerate(bits):
        digits = rows[:, at + per * i]
        if per == 2:
            digits = digits | rows[:, at + per * i + 1] << _HALF
        weight += count
        kept = digits >> np.uint64(per * WORD_BITS - count)
        limbs.append(np.ldexp(kept.astype(np.float64), -weight).astype(ar.word))
    return ar.run(functions.function("uniform", ar.form.word, len(limbs)), tuple(limbs))


def values(draw: Draw, stream: Stream, first: int, count: int) -> Host:
    """Limb planes of *count* elements, the first made of the words from *first* on."""
    form = draw.form
    rows = words(stream, first, count * draw.words).reshape(count, draw.words)
    ar = Arithmetic(form.arithmetic)
    with ieee.quiet():
        given, at = [], 0
        for bits in draw.bits:
            given.append(_uniform(ar, rows, at, bits, draw.per_limb))
            at += draw.per_limb * len(bits)
        if draw.kind == "uniform":
            missing = form.limbs - len(given[0])
            result = (*given[0], *(np.zeros(count, ar.word) for _ in range(missing)))
        else:
            result = ar.run(functions.function("normal", form.word, form.limbs), *given)
        return Arithmetic(form).store(result)


def integers(stream: Stream, first: int, count: int, low: int, span: int, dtype: str) -> Host:
    """floor(X span / 2^128) + low, X of 128 bits, for each of *count* blocks."""
    rows = words(stream, first, count * BLOCK).reshape(count, BLOCK)
    # Multiplied word by word from the lowest; what is above 2^128 is the result.
    parts = [np.uint64(span & 0xFFFFFFFF), np.uint64(span >> WORD_BITS & 0xFFFFFFFF)]
    total = [np.zeros(count, np.uint64) for _ in range(BLOCK + 3)]
    for i in range(BLOCK):
        for j, part in enumerate(parts):
            product = rows[:, i] * part
            total[i + j] = total[i + j] + (product & _ONES)
            total[i + j + 1] = total[i + j + 1] + (product >> _HALF)
    carry = np.zeros(count, np.uint64)
    for i, word in enumerate(total):
        whole = word + carry
        total[i], carry = whole & _ONES, whole >> _HALF
    above = total[BLOCK] | total[BLOCK + 1] << _HALF
    if span == 1 << 64:
        above = rows[:, 2] | rows[:, 3] << _HALF
    return [(above + np.uint64(low & (1 << 64) - 1)).astype(np.dtype(dtype))]
