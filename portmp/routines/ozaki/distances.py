"""How far results are from products: the products' integers less the results', by few moduli.

Definition: rows of A and columns of B are cut as for products by integers, to K bits: the format's,
SPARE and the logarithm of limbs times steps. With s the sum of an element's exponents each limb of
the result times 2^(2K - s) is rounded to an integer, half to even. What is left of the exact sum
over k of the integers' products, less the sum of the limbs' integers, is a number d. As a result is
near the product by its own bound, d is small, so that moduli for numbers of its size tell what it
is. The bound is (|d| + cut) 2^(s - 2K) (1 + 2^-20) and four of the smallest numbers; *cut* is what
integers may be off. Where s is so small that the results' own underflow may be more than that bound
it is the bound itself; where s is so large that sums may overflow it is not a number.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from portmp import formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.networks import ieee
from portmp.networks.bounded import SMALLEST
from portmp.routines import base
from portmp.routines.bounds import normwise
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki import reference, residues, systems
from portmp.routines.ozaki.integers import Plane
from portmp.routines.ozaki.launch import Way
from portmp.routines.ozaki.reference import Host
from portmp.routines.ozaki.residues import Residues
from portmp.routines.ozaki.systems import ResidueSystem, Results
from portmp.routines.products import engines
from portmp.routines.products.methods import Computed
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate
from portmp.runtime.program import CompilationUnit

SPARE = 30
"""What operands are cut off changes products by at most 2^-SPARE u^N times the powers of two above
the largest entries of a row and a column."""

RAISED = 1 + 2.0**-20
"""For roundings of the bound."""


@dataclass(frozen=True)
class Limits:
    """What bounds are made of.

    ``cut``: what integers may be off, in their unit; ``known``: what results may be, in units of
    two to the exponents' sum, but for underflow, which is at most ``lost``. d is known where the
    sum is from ``least`` to ``most``.
    """

    bits: int
    cut: float
    known: float
    lost: float
    least: int
    most: int


_LIMITS = "cut", "known", "lost", "least", "most"
"""What kernels are told of them."""


class Differences(Residues):
    """Residues of products, and of the results that are taken from them."""

    raised = RAISED

    def __init__(self, count: int, bits: int, depth: int, known: float) -> None:
        super().__init__(ResidueSystem(bits, count))
        size = depth * (1 + math.ceil(known))
        self.beside = count
        self.results = _OfResults(Results(2 * bits + size.bit_length() + 1, count, 2 * bits))


class _OfResults(Residues):
    """Residues of results, by which the products' are made less."""

    across = True


def limits(form: Format, k: int, computed: Computed) -> Limits:
    """Of products over *k* steps, by how they were computed."""
    depth, n = systems.counted(k), form.limbs
    known, lost = normwise.known(form, depth, computed)
    bits = form.bits + SPARE + (n * depth - 1).bit_length()
    # Two factors, whose limbs' integers are off by n / 2, and the result's.
    cut = depth * (n * ((1 << bits) + (1 << bits >> 20)) + n * n) + n
    # A norm is at most the root of the depth times the power of two.
    known = known * depth
    # Running sums stay below the largest number, with a margin.
    most = (128 if form.word == "float32" else 1024) - 5 - depth.bit_length()
    return Limits(bits, float(cut), known, lost, math.frexp(lost / known)[1] + 1, most)


def differences(form: Format, k: int, found: Limits) -> Differences | None:
    """How results are compared with products over *k* steps; None where moduli are too few."""
    if k > residues.DEPTH:
        return None
    # What may underflow is at most as much again.
    largest = math.ceil(Fraction(found.known) * 2 * 4**found.bits) + int(found.cut) + 1
    count = systems.telling(largest)
    depth = systems.counted(k)
    return None if count is None else Differences(count, found.bits, depth, found.known)


def units(form: Format, device: Device | None = None) -> dict[str, CompilationUnit]:
    """The compilation units of bounds of products over few steps, by name."""
    if form.compute is not form or not formats.has_bounds(form):
        return {}
    scheme = differences(form, 1, limits(form, 1, "accurate"))
    assert scheme is not None
    results = scheme.results.cut_spec(form, False, False, base.threads(device, ozaki.THREADS))
    found = [*ozaki.units_of(scheme, form, device), results]
    return {f"{one.name}_tight": (one,) for one in found}


def product(result: Planes, a: Planes, b: Planes, computed: Computed) -> Planes | None:
    """A bound of the error of *result*, a b for a (..., m, k) and b (..., k, n), as words.

    None where moduli are too few for what it may be off, or for so many steps.
    """
    form, k, device = result.format, a.shape[-1], result.device
    found = limits(form, k, computed)
    scheme = differences(form, k, found)
    if scheme is None:
        return None
    if not device.properties.float64:
        raise ArgumentError(
            f"bound: 'tight' given; products of this size are compared by integers, for which "
            f"{device.name} has no float64; True and 'normwise' do without"
        )
    way = Way(scheme, engines.get(device, "auto", "int8"))
    out = allocate(formats.get(form.word), result.shape, result.queue)

    def by_kernels(z: Planes, a: Planes, b: Planes, out: Planes) -> None:
        _Distances(z, a, b, out, found, way).run()

    by_reference = base.hosted(partial(on_host, form, found))
    batch = result.shape[:-2]
    views = [result, *(v.broadcast_to((*batch, *v.shape[-2:])) for v in (a, b)), out]
    for each in np.ndindex(*batch):
        z, va, vb, vo = (base.matrix_of(v, each) for v in views)
        launch.do((z, va, vb, vo), by_kernels, by_reference)
    return out


class _Distances(ozaki.InBlocks):
    """The bound of one product."""

    def __init__(
        self, z: Planes, a: Planes, b: Planes, out: Planes, found: Limits, way: Way
    ) -> None:
        left = ozaki.operand(a, way, second=False)
        right = ozaki.operand(b.transposed((1, 0)), way, second=True)
        super().__init__(left, right, z.format, way)
        assert isinstance(way.scheme, Differences)
        self.scheme, self.limits, self.out = way.scheme.results, found, out
        self.z = replace(left, view=z, others=right.exponents)

    def others(self, rows: slice, columns: slice, plane: int) -> dict[str, Any]:
        """The result and its integers' words, where the bound goes, and what it is made of."""
        (i, m), (j, n) = ((v.start, v.stop - v.start) for v in (rows, columns))
        given = {one: getattr(self.limits, one) for one in _LIMITS}
        given |= {"stride": plane, "results": self.z.cut(self.scheme, i, m, j, n)}
        given["z"] = ozaki.part_of(self.z.view, rows, columns)
        given["out"] = ozaki.part_of(self.out, rows, columns)
        return given


def on_host(form: Format, found: Limits, z: Host, a: Host, b: Host) -> Host:
    """The bounds by their definition: integers of any length, no moduli."""
    bits = found.bits
    with ieee.quiet():
        left, rows = reference.integers(bits, a)
        right, columns = reference.integers(bits, [p.T for p in b])
        scale = rows[:, None] + columns[None, :]
        finite = [np.asarray(np.isfinite(v[0]).all(axis)) for v, axis in ((a, 1), (b, 0))]
        here = (scale >= found.least) & (scale <= found.most) & np.isfinite(z[0])
        rest = left @ right.T
        for plane in z:
            words = np.where(here, plane.astype(np.float64), 0.0)
            # A power of two is applied in halves, as neither overflows then.
            shift = np.where(here, 2 * bits - scale, 0)
            scaled = np.rint(np.ldexp(np.ldexp(words, shift // 2), shift - shift // 2))
            rest = rest - np.vectorize(int, otypes=[object])(scaled)
        size = np.where(here, np.abs(_rounded(rest)) + found.cut, found.known)
        scale = np.where(here, scale - 2 * bits, scale)
        near = np.clip(scale, -1000, 1000)
        far = np.clip(scale - near, -1022, 1023)
        size = size * np.ldexp(1.0, near) * np.ldexp(1.0, far) * RAISED
        word = np.dtype(form.word).type
        bound = np.where(here, size, size + found.lost).astype(word)
        bound = bound + word(4 * 2.0 ** SMALLEST[form.word])
        large = ~(finite[0][:, None] & finite[1]) | (scale > found.most)
        twice = np.where(large, np.finfo(word).max, z[0].astype(word)) * word(2)
        return [bound + (twice - twice)]


def _rounded(numbers: Plane) -> Plane:
    """Integers as float64, from digits of DIGIT bits with a sign, each but the last rounded to."""
    found: Plane = np.zeros(numbers.shape)
    half, rest = 1 << (systems.DIGIT - 1), numbers
    digits: list[Plane] = []
    base = np.full(numbers.shape, 2.0**systems.DIGIT)
    while (rest != 0).any():
        low = ((rest + half) & (2 * half - 1)) - half
        digits.append(low.astype(np.float64))
        rest = (rest - low) >> systems.DIGIT
    for low in reversed(digits):
        found = ieee.fma(found, base, low)
    return found
