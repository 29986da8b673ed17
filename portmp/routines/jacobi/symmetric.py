"""Eigenvalues and vectors of symmetric matrices of any size, their elements at most 1.

Definition: up to ``definition.ROTATED`` rows Jacobi's method turns a matrix as a whole, beyond that
by blocks; an element counts as zero up to u^N / 8. More limbs than one begin with that of the
first limbs beyond ``ROTATED`` rows, whose vectors, widened by zeros, are x, and correct x by
products (after Ogita and Aishima 2018): r = 1 - x^T x, s = x^T (a x). An element counts as zero up
to w u^N g, w = 2^(1 + ceil(log2(n) / 2)) and g the smallest power of two above the leading limbs of
s's diagonal; x is good where r's leading limbs are at most w u^N. x becomes x + x e, e_ij =
div(fma(s_jj, r_hl, s_hl), sub(s_jj, s_ii)), h and l the higher and the lower of i and j, where
|s_hl| and max(|s_ii|, |s_jj|) |r_hl| are at most 2^-8 |s_jj - s_ii| (plain operations on leading
limbs), else mul(1/2, r_hl). That ends with a good x where all of s counts as zero beside the
diagonal, or where the largest there is not below a sixteenth of what it was with the last good x;
after 12 corrections at the latest. What is left of s Jacobi's method by blocks turns, with x as its
vectors; without a good x it turns a itself. Eigenvalues are the diagonal.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.jacobi import blocks, parts, reference
from portmp.routines.jacobi.launch import measured, turned
from portmp.routines.jacobi.rule import Rule
from portmp.routines.triangular.steps import Method
from portmp.runtime import program
from portmp.runtime.planes import Planes, allocate

THREADS = 128
CORRECTIONS = 12


class Spectrum(NamedTuple):
    """Eigenvalues (batch, n) in no order, vectors as columns (batch, n, n).

    ``left``: of each matrix the largest element beside the diagonal, where it is too large; else 0.
    """

    values: Planes
    v: Planes | None
    left: np.ndarray[Any, np.dtype[np.float64]]


@cache
def correction_spec(form: str, threads: int = THREADS) -> KernelSpec:
    """Corrections of vectors."""
    f = formats.get(form)
    roles = {op: f.operator(op) for op in ("sub", "mul", "div", "fma")}
    return spec("correction", "linalg/correction.mako", f, roles, threads=threads)


def correction_unit(form: Format, device: Device | None) -> tuple[KernelSpec, ...]:
    """The kernel of corrections."""
    return (correction_spec(form.name, base.threads(device, THREADS)),)


def rule_of(form: Format, least: float, tolerance: float = 0.0) -> Rule:
    """What counts as zero, as words of a format."""
    word = np.dtype(form.word).type
    return Rule(word(tolerance), word(least))


def slack(form: Format, n: int) -> float:
    """What products of n steps may miss: about twice the root of n in units of roundoff."""
    return float(2.0 ** (1 + math.ceil(math.log2(n) / 2)) * form.unit_roundoff)


def spectrum(a: Planes, *, vectors: bool, method: Method) -> Spectrum:
    """Eigenvalues of symmetric a (batch, n, n), which is overwritten; waits for the device."""
    batch, n, _ = a.shape
    form = a.format
    values = allocate(form, (batch, n), a.queue)
    v = allocate(form, a.shape, a.queue) if vectors else None
    left = np.zeros(batch)
    if not a.size:
        return Spectrum(values, v, left)
    if n <= definition.ROTATED:
        rule = rule_of(form, form.unit_roundoff / 8)
        made = turned(a, rule, sweeps=blocks.SWEEPS, v=v)
        parts.copy(parts.diagonal(a), values)
        bad = made == blocks.SWEEPS
        if bad.any():
            left = np.where(bad, measured(a, rule).largest, 0.0)
        return Spectrum(values, v, left)
    for each in range(batch):
        one = base.matrix_of(a, (each,))
        found = _turned(one, vectors, method)
        parts.copy(found.values, values.view((n,), (1,), values.start + each * n))
        if v is not None and found.v is not None:
            parts.copy(found.v, base.matrix_of(v, (each,)))
        left[each] = found.left
    return Spectrum(values, v, left)


class _One(NamedTuple):
    values: Planes
    v: Planes | None
    left: float


def _turned(a: Planes, vectors: bool, method: Method) -> _One:
    form, n = a.format, a.shape[0]
    least, x = form.unit_roundoff / 8, None
    if begins_short(form):
        corrected = _corrected(a, _begun(a), method)
        if corrected is not None:
            a, x, least, done = corrected
            if done:
                return _One(parts.diagonal(a), x, 0.0)
    w, v = blocks.padded(a), None
    if vectors:
        v = blocks.padded(x, rows=n) if x is not None else blocks.unit(a)
    found = blocks.diagonalise(w, v, rule_of(form, least))
    left = found.largest if found.left else 0.0
    values = blocks.in_order(parts.diagonal(w), n, found.sweeps)
    return _One(values, found.v and blocks.in_order(found.v, n, found.sweeps), left)


def begins_short(form: Format) -> bool:
    """Whether a format's first limbs are values of a format of one limb."""
    return form.limbs > 1 and form.planes[0] == form.word


def _begun(a: Planes) -> Planes:
    """Vectors of the first limbs, in a's format."""
    n = a.shape[0]
    first = parts.first_limbs(a)
    rule = rule_of(first.format, first.format.unit_roundoff / 8)
    found = blocks.diagonalise(blocks.padded(first), blocks.unit(first), rule)
    assert found.v is not None
    x = parts.filled(a, (n, n))
    parts.copy(blocks.in_order(found.v, n, found.sweeps), parts.first_limbs(x))
    return x


class _Corrected(NamedTuple):
    s: Planes
    x: Planes
    least: float
    done: bool


def _corrected(a: Planes, x: Planes, method: Method) -> _Corrected | None:
    """s = x^T a x for better vectors x; None where they do not become orthonormal."""
    form, n = a.format, a.shape[0]
    unit = slack(form, n)
    one = parts.filled(a, (n, n), 1.0)
    before = math.inf
    s, r, ax = (allocate(form, (n, n), a.queue) for _ in range(3))
    for _ in range(CORRECTIONS):
        parts.copy(one, r)
        parts.multiply(parts.turned(x), x, r, "subtract", method)
        parts.multiply(a, x, ax, "set", method)
        parts.multiply(parts.turned(x), ax, s, "set", method)
        least = unit * 2.0 ** math.frexp(parts.largest(parts.diagonal(s)))[1]
        (count,), (largest,) = measured(parts.stack(s), rule_of(form, least))
        if distance(r) <= unit:
            if not count or largest * 16 > before:
                return _Corrected(s, x, least, not count)
            before = float(largest)
        parts.copy(x, ax)
        parts.multiply(x, correction(s, r), ax, "add", method)
        x, ax = ax, x
    return None


def distance(r: Planes) -> float:
    """The largest leading limb of a symmetric matrix, by its lower triangle."""
    beside = measured(parts.stack(r), rule_of(r.format, 0.0)).largest[0]
    return max(float(beside), parts.largest(parts.diagonal(r)))


def correction(s: Planes, r: Planes) -> Planes:
    """e of the definition by s and r (n, n)."""
    out = allocate(s.format, s.shape, s.queue)
    if s.device.by_reference:
        base.on_host(out, lambda *given: reference.correction(s.format, *given), s, r)
        return out
    (key,) = correction_unit(s.format, s.device)
    threads = dict(key.values)["threads"]
    s.queue.launch(
        program.kernels(s.device, key)[key.name],
        (base.blocks(out.size, threads), 1, 1),
        (threads, 1, 1),
        [s.shape[0], *base.batched(s), *base.batched(r), *out.buffers],
    )
    return out
