"""Operands that are hard for arithmetic, as bits, and their exact results rounded by MPFR."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import gmpy2
import numpy as np

COUNT = 64
"""Operands of a column: a wave's lanes."""

BITS = {"u": 32, "i": 32, "f": 32, "l": 64, "q": 64, "d": 64}
CONTEXTS = {
    "f": gmpy2.context(precision=24, emin=-148, emax=128, subnormalize=True),
    "d": gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True),
}


def special(kind: str, rng: np.random.Generator) -> list[int]:
    """Bits of 64 operands: special ones, then random ones."""
    bits = BITS[kind]
    if kind in "fd":
        p, top = (24, 0x7F800000) if kind == "f" else (53, 0x7FF0000000000000)
        one = 1 << p - 1
        chosen = [0, 1, one - 1, one, one + 1, top, top - 1, top + (one >> 1), top + 1]
        near = (127 if kind == "f" else 1023) << p - 1
        chosen += [near, near + 1, near - 1, near + one // 2, near + one, near - 30 * one]
        chosen += [c | 1 << bits - 1 for c in chosen]
        many = [int(rng.integers(0, 1 << 63)) << 1 & (1 << bits) - 1 for _ in range(14)]
        close = [near + int(rng.integers(-40 * one, 40 * one)) for _ in range(COUNT - 44)]
        return (chosen + many + close)[:COUNT]
    chosen = [0, 1, 2, 31, 32, 33, 63, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1, 0xFFFF]
    return chosen + [
        int(rng.integers(0, 1 << 63)) * 2 + int(rng.integers(2)) & (1 << bits) - 1
        for _ in range(COUNT - len(chosen))
    ]


def number_of(kind: str, bits: int) -> Any:
    """The number that bits are."""
    if kind in "fd":
        layout = "<f" if kind == "f" else "<d"
        return struct.unpack(layout, bits.to_bytes(BITS[kind] // 8, "little"))[0]
    return bits - (1 << BITS[kind]) if kind in "iq" and bits >> BITS[kind] - 1 else bits


def rounded(kind: str, compute: Callable[..., Any], *values: float) -> float:
    """What MPFR makes of it in this format."""
    with gmpy2.context(CONTEXTS[kind]):
        return float(compute(*(gmpy2.mpfr(v) for v in values)))


def rationals(planes: Sequence[Any]) -> Any:
    """The exact values of finite limb planes, as gmpy2's rational numbers."""
    return np.asarray(sum(map(np.frompyfunc(gmpy2.mpq, 1, 1), planes)), object)
