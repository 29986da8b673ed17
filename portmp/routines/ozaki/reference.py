"""Products by integers on the host, by their definition: integers of any length, no moduli."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.gemm import reference as gemm_reference
from portmp.routines.ozaki.integers import Integers, Plane, doubles
from portmp.routines.reference import ended

Host = list[Plane]


def product(
    form: Format,
    numbers: Integers,
    a: Host,
    b: Host,
    alpha: Sequence[Any] = (),
    beta: Sequence[Any] = (),
    c: Host | None = None,
) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n) by integers of some slices or moduli."""
    k, shape = a[0].shape[1], (a[0].shape[0], b[0].shape[1])
    if not k or (alpha and not any(alpha)):
        return ended(form, shape, None, alpha, beta, c)
    bits = numbers.bits
    with ieee.quiet():
        left, a_exponents = integers(bits, a)
        right, b_exponents = integers(bits, [p.T for p in b])
        scale = a_exponents[:, None] + b_exponents[None, :] - 2 * bits + numbers.shift
        found = rounded(form, numbers.base, numbers.digits, numbers.sums(left, right), scale)
        special = np.logical_not(
            np.isfinite(a[0]).all(1, keepdims=True) & np.isfinite(b[0]).all(0, keepdims=True)
        )
        if special.any():
            chain = gemm_reference.leading_gemm(a[0].astype(form.word), b[0].astype(form.word))
            zero = np.zeros_like(chain)
            found = [
                np.where(special, zero if i else chain, plane) for i, plane in enumerate(found)
            ]
    return ended(form, shape, found, alpha, beta, c)


def integers(bits: int, planes: Host) -> tuple[Plane, Plane]:
    """The integers of rows, as Python's, and the rows' exponents; zeros where one is special."""
    lead = planes[0]
    largest = exponents_of(lead)
    finite = np.asarray(np.isfinite(lead).all(1, keepdims=True))
    total = np.zeros(lead.shape, object)
    for plane in planes:
        words = np.where(finite, plane.astype(np.float64), 0.0)
        scaled = np.rint(np.ldexp(words, (bits - largest)[:, None]))
        total = total + np.vectorize(int, otypes=[object])(scaled)
    return total, np.where(finite[:, 0], largest, 0)


def exponents_of(lead: Plane) -> Plane:
    """Of each row the least e with |x| < 2^e for all its leading limbs, which are finite."""
    least = np.finfo(lead.dtype).minexp + 1
    found: Plane = np.where(lead == 0, least, np.maximum(np.frexp(lead)[1], least)).max(1)
    return found


def rounded(form: Format, base: int, count: int, sums: Plane, scale: Plane) -> Host:
    """Integers times 2^scale as words of *form*, rounded from *count* digits of *base* bits."""
    parts, rest = [], sums
    for _ in range(count - 1):
        low = ((rest + (1 << (base - 1))) & ((1 << base) - 1)) - (1 << (base - 1))
        parts.append(low)
        rest = (rest - low) >> base
    s = [np.ldexp(np.asarray(d, np.float64), base * t) for t, d in enumerate([*parts, rest])]
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
