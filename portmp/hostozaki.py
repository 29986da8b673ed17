"""Products by residues on the host, by their definition: integers of any length, no moduli."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import hostblas, ieee
from portmp.formats import Format
from portmp.ozaki import residues
from portmp.ozaki.residues import DIGIT, System
from portmp.routines.ozaki2 import doubles

Plane = np.ndarray[Any, Any]
Host = list[Plane]


def gemm2(
    form: Format, a: Host, b: Host, alpha: Sequence[Any] = (), beta: Sequence[Any] = (),
    c: Host | None = None, moduli: int | None = None,
) -> Host:  # fmt: skip
    """alpha a b + beta c for a (m, k), b (k, n) by the Ozaki scheme II."""
    k, shape = a[0].shape[1], (a[0].shape[0], b[0].shape[1])
    system = residues.system(form, k, moduli)
    if not k or (alpha and not any(alpha)):
        return hostblas.ended(form, shape, None, alpha, beta, c)
    with ieee.quiet():
        left, a_exponents = integers(system, a)
        right, b_exponents = integers(system, [p.T for p in b])
        sums = np.asarray(left @ right.T, dtype=object)
        scale = a_exponents[:, None] + b_exponents[None, :] - 2 * system.bits
        product = rounded(form, system, sums, scale)
        special = np.logical_not(
            np.isfinite(a[0]).all(1, keepdims=True) & np.isfinite(b[0]).all(0, keepdims=True)
        )
        if special.any():
            chain = hostblas.leading_gemm(a[0].astype(form.word), b[0].astype(form.word))
            zero = np.zeros_like(chain)
            product = [
                np.where(special, zero if i else chain, plane) for i, plane in enumerate(product)
            ]
    return hostblas.ended(form, shape, product, alpha, beta, c)


def integers(system: System, planes: Host) -> tuple[Plane, Plane]:
    """The integers of rows, as Python's, and the rows' exponents; zeros where one is special."""
    lead = planes[0]
    exponents = np.maximum(np.frexp(lead)[1], np.finfo(lead.dtype).minexp + 1)
    largest = np.where(lead == 0, np.finfo(lead.dtype).minexp + 1, exponents).max(1)
    finite = np.asarray(np.isfinite(lead).all(1, keepdims=True))
    total = np.zeros(lead.shape, object)
    for plane in planes:
        words = np.where(finite, plane.astype(np.float64), 0.0)
        scaled = np.rint(np.ldexp(words, (system.bits - largest)[:, None]))
        total = total + np.vectorize(int, otypes=[object])(scaled)
    return total, np.where(finite[:, 0], largest, 0)


def rounded(form: Format, system: System, sums: Plane, scale: Plane) -> Host:
    """Integers times 2^scale as words of *form*."""
    digits, rest = [], sums
    for _ in range(system.digits - 1):
        low = ((rest + (1 << (DIGIT - 1))) & ((1 << DIGIT) - 1)) - (1 << (DIGIT - 1))
        digits.append(low)
        rest = (rest - low) >> DIGIT
    s = [np.ldexp(np.asarray(d, np.float64), DIGIT * t) for t, d in enumerate([*digits, rest])]
    words = []
    for i in range(doubles(form)):
        z = s[0] if i < len(s) else np.zeros_like(s[0])
        for t in range(1, len(s) - i):
            z, s[t - 1] = ieee.two_sum(s[t], z)
        words.append(z)
    for i in range(1, len(words)):
        words[i - 1], words[i] = ieee.fast_two_sum(words[i - 1], words[i])
    near = np.clip(scale, -1000, 1000)
    far = np.clip(scale - near, -1022, 1023)
    words = [w * np.ldexp(1.0, near) * np.ldexp(1.0, far) for w in words]
    if form.word == "float64":
        return [words[0], *(np.where(np.isfinite(words[0]), w, 0.0) for w in words[1:])]
    limbs = []
    for _ in range(form.limbs):
        limbs.append(words[0].astype(np.float32))
        words[0] = words[0] - limbs[-1].astype(np.float64)
        for j in range(1, len(words)):
            words[j - 1], words[j] = ieee.two_sum(words[j - 1], words[j])
    finite = np.isfinite(limbs[0])
    return [limbs[0], *(np.where(finite, limb, np.float32(0)) for limb in limbs[1:])]
