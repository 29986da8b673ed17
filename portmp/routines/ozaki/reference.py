"""Products by integers on the host, by their definition: integers of any length, no moduli."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.gemm import reference as gemm_reference
from portmp.routines.ozaki import residues, slices
from portmp.routines.ozaki.integers import Integers
from portmp.routines.ozaki.launch import doubles
from portmp.routines.ozaki.residues import DIGIT, ResidueSystem
from portmp.routines.ozaki.slices import Slices

Plane = np.ndarray[Any, Any]
Host = list[Plane]


@dataclass(frozen=True)
class _Sums:
    """Which integers are multiplied, and how sums of products are rounded.

    Sums are cut into *digits* of *base* bits; their unit is 2^weight times that of products.
    With *cut* only antidiagonals of digits are summed.
    """

    integers: Integers
    base: int
    digits: int
    weight: int = 0
    cut: Slices | None = None


def gemm1(
    form: Format,
    a: Host,
    b: Host,
    alpha: Sequence[Any] = (),
    beta: Sequence[Any] = (),
    c: Host | None = None,
    cut: Slices | None = None,
) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n) by slices, those of int8 by default."""
    return product(form, cut or slices.slices(form, "int8"), a, b, alpha, beta, c)


def gemm2(
    form: Format,
    a: Host,
    b: Host,
    alpha: Sequence[Any] = (),
    beta: Sequence[Any] = (),
    c: Host | None = None,
    moduli: int | None = None,
) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n) by residues."""
    return product(form, residues.system(form, a[0].shape[1], moduli), a, b, alpha, beta, c)


def _sums(numbers: Integers) -> _Sums:
    if isinstance(numbers, Slices):
        return _Sums(numbers, numbers.base, numbers.digits, numbers.shift, numbers)
    assert isinstance(numbers, ResidueSystem)
    return _Sums(numbers, DIGIT, numbers.digits)


def product(
    form: Format,
    numbers: Integers,
    a: Host,
    b: Host,
    alpha: Sequence[Any],
    beta: Sequence[Any],
    c: Host | None,
) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n) by integers of some slices or moduli."""
    how = _sums(numbers)
    k, shape = a[0].shape[1], (a[0].shape[0], b[0].shape[1])
    if not k or (alpha and not any(alpha)):
        return gemm_reference.ended(form, shape, None, alpha, beta, c)
    bits = how.integers.bits
    with ieee.quiet():
        left, a_exponents = integers(bits, a)
        right, b_exponents = integers(bits, [p.T for p in b])
        sums = antidiagonals(how.cut, left, right) if how.cut else _exact(left, right)
        scale = a_exponents[:, None] + b_exponents[None, :] - 2 * bits + how.weight
        found = rounded(form, how.base, how.digits, sums, scale)
        special = np.logical_not(
            np.isfinite(a[0]).all(1, keepdims=True) & np.isfinite(b[0]).all(0, keepdims=True)
        )
        if special.any():
            chain = gemm_reference.leading_gemm(a[0].astype(form.word), b[0].astype(form.word))
            zero = np.zeros_like(chain)
            found = [
                np.where(special, zero if i else chain, plane) for i, plane in enumerate(found)
            ]
    return gemm_reference.ended(form, shape, found, alpha, beta, c)


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


def _exact(left: Plane, right: Plane) -> Plane:
    return np.asarray(left @ right.T, dtype=object)


def digits(cut: Slices, numbers: Plane) -> list[Plane]:
    """Signed digits, the highest first."""
    shifted = numbers + cut.bias
    half, mask = 1 << (cut.width - 1), (1 << cut.width) - 1
    return [((shifted >> (cut.width * t)) & mask) - half for t in reversed(range(cut.count))]


def antidiagonals(cut: Slices, left: Plane, right: Plane) -> Plane:
    """Sums of the products of digits t and u with t + u < count, the least weight the unit."""
    x, y = digits(cut, left), digits(cut, right)
    total = np.zeros((left.shape[0], right.shape[0]), object)
    for d in range(cut.count):
        total = total << cut.width
        for t in range(d + 1):
            total = total + _exact(x[t], y[d - t])
    return total


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
