"""Which elements of a product are made by integers, and of how many bits: ``method="auto"``.

An element is a function of its row, its column, k and the format. At each level, with K bits, an
element passes if integers cannot lose more than the direct product may, c u^N T: with e and f the
exponents of its row and its column, entries lose at most 0.76 2^(e - K) and 0.76 2^(f - K), so that
the sum loses at most 0.76 2^-K (2^e sum |b| + 2^f sum |a|), over the steps where both are not zero.
Sizes tell T and these sums: of an entry x its size is |x| 2^(7 - e), rounded up to a whole number
and at most 127. Or the ranges of exponents of both tell it. What passes no level is direct
(docs/bits.md; docs/bounds.md has the proof).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from portmp import definition
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.gemm import reference as gemm_reference
from portmp.routines.ozaki import reference, systems
from portmp.routines.ozaki.integers import Plane
from portmp.routines.ozaki.reference import Host
from portmp.routines.ozaki.systems import ResidueSystem, WideSystem

BEYOND = (2, 20)
"""Bits of operands beyond the format's, by level."""

LEVELS = tuple(range(1, len(BEYOND) + 1))

SIZES = 7
"""Bits of sizes."""

LARGEST = (1 << SIZES) - 1
"""Of sizes."""

DIRECT = (0, 3, 4, 6)
"""log2 of the direct product's c, rounded down, by the number of limbs less one."""


def bits(form: Format, level: int) -> int:
    """K of a level."""
    return form.compute.bits + BEYOND[level - 1]


def margin(form: Format, level: int) -> int:
    """log2 of c 2^K u^N: what integers of that many bits are better by."""
    return DIRECT[form.compute.limbs - 1] + BEYOND[level - 1]


@cache
def system(form: Format, level: int, k: int) -> ResidueSystem | WideSystem:
    """The integers of a level."""
    return systems.exactly(bits(form, level), k)


def has(form: Format) -> bool:
    """Whether products of the format have levels: of one limb none is ever better."""
    return form.compute.limbs > 1 and not (form.paper or form.coded)


def judges(form: Format, m: int, n: int, k: int, smallest: int | None = None) -> bool:
    """Whether elements of products of these sizes are judged; else all are direct."""
    if smallest is None:
        return has(form) and definition.judges(m, n, k, form.word, form.limbs)
    return has(form) and min(m, n, k) >= smallest


def product(
    form: Format,
    a: Host,
    b: Host,
    alpha: Sequence[Any] = (),
    beta: Sequence[Any] = (),
    c: Host | None = None,
    first: int = 1,
) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n), on the host; *first*: the level tried first."""
    k, scalars = a[0].shape[1], (alpha, beta, c)
    if not k or (alpha and not any(alpha)):
        return gemm_reference.gemm(form, a, b, *scalars)
    chosen, found = judged(form, a, b, first), None
    for level in np.unique(chosen):
        if level:
            here = reference.product(form, system(form, int(level), k), a, b, *scalars)
        else:
            here = gemm_reference.gemm(form, a, b, *scalars)
        found = (
            here
            if found is None
            else [np.where(chosen == level, *z) for z in zip(here, found, strict=True)]
        )
    return found or gemm_reference.gemm(form, a, b, *scalars)


def judged(form: Format, a: Host, b: Host, first: int = 1) -> Plane:
    """The level of each element of a b, *first* at least; 0: direct."""
    k = a[0].shape[1]
    with ieee.quiet():
        rows, columns = _sizes(a[0]), _sizes(b[0].T)
        # Sums of less than 2^53, which float64 has exactly in any order.
        assert k < 1 << (53 - 2 * SIZES)
        both = (rows.sizes @ columns.sizes.T).astype(np.int64)
        alone = rows.sums[:, None] + columns.sums[None, :]
        met = np.maximum(k - rows.zeros[:, None] - columns.zeros[None, :], 0)
        widest = np.maximum(rows.ranges[:, None], columns.ranges[None, :])
        found = np.zeros(both.shape, np.int8)
        for level in reversed(LEVELS[first - 1 :]):
            more = margin(form, level) - SIZES
            least = alone << -more if more < 0 else -(-alone >> more)
            passed = (both - alone + met >= least) | (widest <= margin(form, level) - 2)
            found[passed | (both == 0)] = level
        found[rows.special[:, None] | columns.special[None, :]] = first
        found[both == 0] = first
    return found


class _Sizes:
    """Of rows: sizes of entries (float64), their sums, ranges of exponents, special ones."""

    def __init__(self, lead: Plane) -> None:
        self.special = ~np.asarray(np.isfinite(lead).all(1))
        lead = np.where(self.special[:, None], 0, lead)
        largest = reference.exponents_of(lead)
        facts = np.finfo(lead.dtype)
        normal = np.frexp(lead)[1]
        lowest = facts.minexp - facts.nmant + 1
        own = np.where(normal > facts.minexp, normal, lowest)
        least = np.where(lead == 0, np.iinfo(np.int32).max, own).min(1)
        self.ranges = np.maximum(largest - least, 0)
        # A power of two is applied in halves, as neither overflows then.
        shift = (SIZES - largest)[:, None]
        scaled = np.ldexp(np.ldexp(np.abs(lead).astype(np.float64), shift // 2), shift - shift // 2)
        sizes = np.clip(np.ceil(scaled), 1, LARGEST)
        self.sizes = np.where(lead == 0, 0.0, sizes)
        self.sums = self.sizes.sum(1).astype(np.int64)
        self.zeros = (lead == 0).sum(1)


_sizes = _Sizes
