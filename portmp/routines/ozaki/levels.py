"""Which elements of a product are made by integers, and of how many bits: ``method="auto"``.

An element is a function of its row, its column, k and the format. At each level, with K bits, an
element passes if integers cannot lose more than the direct product may, c u^N T, T being the sum of
|a_i b_i|: with e and f the exponents of its row and its column, entries lose at most 0.76 2^(e - K)
and 0.76 2^(f - K), so that the sum loses at most 0.76 2^-K (2^e sum |b| + 2^f sum |a|). Sums of
magnitudes are known, and products of sizes, whole numbers of seven bits, are never above T: sizes
are rounded down, and lifted where the mean of a row is far below its largest entry. Or the ranges
of exponents of both tell it. What passes no level is direct (docs/bits.md; docs/bounds.md has the
proof).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from portmp import definition
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.gemm import reference as gemm_reference
from portmp.routines.ozaki import reference, systems
from portmp.routines.ozaki.integers import FINE, LIFTS, Plane
from portmp.routines.ozaki.reference import Host

SIZES = 7
"""Bits of sizes."""

LARGEST = (1 << SIZES) - 1
"""Of sizes."""

DIRECT = (0, 3, 4, 6)
"""log2 of the direct product's c, rounded down, by the number of limbs less one."""


def margin(form: Format, more: int) -> int:
    """log2 of c 2^K u^N for so many bits more: what integers are better by."""
    return DIRECT[form.compute.limbs - 1] + more


@cache
def system(form: Format, more: int, k: int) -> systems.System:
    """The integers of so many bits more than the format has."""
    return systems.exactly(form.compute.bits + more, k)


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
    beyond: Sequence[int] = definition.BEYOND,
) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n), on the host; *beyond*: bits more, by level."""
    k, scalars = a[0].shape[1], (alpha, beta, c)
    if not k or (alpha and not any(alpha)):
        return gemm_reference.gemm(form, a, b, *scalars)
    chosen = judged(form, a, b, beyond)

    def made(level: int) -> Host:
        if not level:
            return gemm_reference.gemm(form, a, b, *scalars)
        return reference.product(form, system(form, beyond[level - 1], k), a, b, *scalars)

    levels = np.unique(chosen)
    if levels.size < 2:
        return made(max(levels, default=0))
    where = [chosen == level for level in levels]
    return [np.select(where, planes) for planes in zip(*map(made, levels), strict=True)]


def judged(form: Format, a: Host, b: Host, beyond: Sequence[int] = definition.BEYOND) -> Plane:
    """The level of each element of a b; 0: direct."""
    k = a[0].shape[1]
    with ieee.quiet():
        rows, columns = _Rows(a[0]), _Rows(b[0].T)
        # Sums of less than 2^53, which float64 has exactly in any order.
        assert k < 1 << (53 - 2 * SIZES)
        both = (rows.sizes @ columns.sizes.T).astype(np.int64)
        lost = rows.sums[:, None] + columns.sums[None, :]
        lift = rows.lift[:, None] + columns.lift[None, :]
        widest = np.maximum(rows.ranges[:, None], columns.ranges[None, :])
        found = np.zeros(both.shape, np.int8)
        for level, more in reversed(list(enumerate(beyond, 1))):
            shift = margin(form, more) + FINE - 2 * SIZES - lift
            less = np.maximum(shift, 0)
            needed = np.where(shift < 0, lost << np.maximum(-shift, 0), -(-lost >> less))
            found[(both >= needed) | (widest <= margin(form, more) - 2)] = level
        found[rows.special[:, None] | columns.special[None, :]] = 1
        found[rows.last[:, None] < columns.first[None, :]] = 1
        found[columns.last[None, :] < rows.first[:, None]] = 1
    return found


class _Rows:
    """Of rows: sizes of entries (float64), and what they are lifted by; sums of magnitudes, ranges
    of exponents, where the first and the last entry stand that are not 0; special ones.
    """

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
        there = lead != 0
        count, k = there.sum(1), lead.shape[1]
        self.first = np.where(count > 0, there.argmax(1), k)
        self.last = np.where(count > 0, k - 1 - there[:, ::-1].argmax(1), -1)
        fine = np.maximum(np.ceil(_scaled(lead, FINE - largest)), 1)
        self.sums = np.where(there, fine, 0.0).sum(1).astype(np.int64)
        self.lift = np.zeros_like(self.sums)
        for lift in range(1, LIFTS + 1):
            self.lift[self.sums << (lift + 2) <= count << FINE] = lift
        self.sizes = np.minimum(np.floor(_scaled(lead, SIZES - largest + self.lift)), LARGEST)


def _scaled(lead: Plane, shift: Plane) -> Plane:
    """|x| 2^shift; a power of two is applied in halves, as neither overflows then."""
    half, rest = (v[:, None] for v in (shift // 2, shift - shift // 2))
    found: Plane = np.ldexp(np.ldexp(np.abs(lead).astype(np.float64), half), rest)
    return found
