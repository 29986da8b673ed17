"""Eigenvalues and vectors of symmetric or Hermitian matrices of any size, elements at most 1.

Definition: up to ``definition.ROTATED`` rows Jacobi's method turns a matrix as a whole, beyond that
by blocks. An element counts as zero up to u^N, by blocks times the largest power of two that is not
above |a|_F / sqrt(n) (``dot`` of the leading limbs, of complex ones both parts', its root in
float64), if that is above 1. Eigenvalues are the diagonal.

More limbs than one, beyond ``ROTATED`` rows, begin with the matrix of the first limbs, where 16
times as much counts as zero; its vectors, ordered by eigenvalues and widened by zeros, are x, which
products correct (after Ogita and Aishima 2018, 2019). r = 1 - x^H x, s = x^H (a x). An element
counts as zero up to w u^N g, w = 2^(1 + ceil(log2(n) / 2)) and g the smallest power of two above
the leading limbs of s's diagonal; x is good where r's leading limbs are at most w u^N. With m the
largest leading limb of s beside the diagonal and d that of r, elements of the diagonal are apart
where the leading limb of their difference is above 256 max(m, d g) (in float64, rounded to a word).

- x becomes x + x e, e_ij = div(fma(s_jj, r_hl, s_hl), sub(s_jj, s_ii)) where i and j are apart, h
  and l being the higher and the lower of them, else mul(1/2, r_hl). Complex elements are computed
  by parts, with real s_jj - s_ii and s_jj, and are conjugate where i is lower.
- With a good x that ends where all of s counts as zero beside the diagonal. Where m is above a
  sixteenth of what it was with the last good x, clusters are split instead: neighbours on the
  diagonal belong together that are not apart (differences of limbs in float64, summed from the
  first one on). Of a cluster with an element that does not count as zero the square in s, by its
  lower triangle, its first diagonal element taken from all of them and scaled near 1 by a power of
  two, has vectors by the same way, ordered by eigenvalues; the columns of x become their products
  with these. The next good x is as the first one.
- That ends after 24 corrections, or where clusters were split as often as there are limbs. What is
  then left of s Jacobi's method by blocks turns, with x as its vectors; without a good x, a itself.
"""

import math
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from portmp import definition, formats
from portmp.backends.base import Device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index, Plain, matrix
from portmp.formats import Format
from portmp.progress import doing
from portmp.routines import base
from portmp.routines.bounds.certified import leading
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.jacobi import blocks, parts, reference
from portmp.routines.jacobi.blocks import Diagonal
from portmp.routines.jacobi.launch import measured, parts_of, turned
from portmp.routines.jacobi.rule import Rule
from portmp.routines.lu.launch import ordered
from portmp.routines.moves import launch as moves
from portmp.routines.reduce import launch as reduce
from portmp.routines.triangular.steps import Method
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate

THREADS = 128
CORRECTIONS = 24
APART = 256.0
ROUGH = 16.0


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
    whole = formats.get(form)
    f = whole.component
    roles = f.roles("sub", "mul", "div", "fma", *(["neg"] if whole is not f else []))
    operands = matrix("s"), matrix("r"), Array("out", start=False, const=False)
    sizes: dict[str, Any] = {"takes": (Index("n"), Plain("apart", f.word), *operands)}
    sizes |= {"threads": threads, "parts": whole.components}
    sizes["stored"] = parts_of(whole, "s", "r", "out")
    return spec("correction", "linalg/correction.mako", f, roles, **sizes)


def correction_unit(form: Format, device: Device | None) -> tuple[KernelSpec, ...]:
    """The kernel of corrections."""
    return (correction_spec(form.name, base.threads(device, THREADS)),)


def rule_of(form: Format, least: float, tolerance: float = 0.0) -> Rule:
    """What counts as zero, as words of a format."""
    word = np.dtype(form.word).type
    return Rule(word(tolerance), word(least))


def small(a: Planes) -> float:
    """What counts as zero beside the diagonal of a (n, n)."""
    lead, n = moves.copied(leading(a)), a.shape[0]
    flat = (half.view_as((n * n,)) for half in lead.halves)
    square = sum(float(reduce.dot(x, x).read_parts()[0].reshape(())) for x in flat)
    exponent = math.frexp(math.sqrt(square / n))[1] - 1
    return float(a.format.unit_roundoff * 2.0 ** max(0, exponent))


def slack(form: Format, n: int) -> float:
    """What products of n steps may miss: about twice the root of n in units of roundoff."""
    return float(2.0 ** (1 + math.ceil(math.log2(n) / 2)) * form.unit_roundoff)


def spectrum(a: Planes, *, vectors: bool, method: Method) -> Spectrum:
    """Eigenvalues of symmetric or Hermitian a (batch, n, n), which is overwritten; waits for the
    device."""
    batch, n, _ = a.shape
    form = a.format
    values = allocate(form.component, (batch, n), a.queue)
    v = allocate(form, a.shape, a.queue) if vectors else None
    left = np.zeros(batch)
    if not a.size:
        return Spectrum(values, v, left)
    if n <= definition.ROTATED:
        rule = rule_of(form, form.unit_roundoff)
        made = turned(a, rule, sweeps=blocks.SWEEPS, v=v)
        moves.copied(parts.diagonal(a).halves[0], out=values)
        bad = made == blocks.SWEEPS
        if bad.any():
            left = np.where(bad, measured(a, rule).largest, 0.0)
        return Spectrum(values, v, left)
    for each in range(batch):
        one = base.matrix_of(a, (each,))
        found = _turned(one, vectors, method)
        moves.copied(found.values, out=base.matrix_of(values, (each,)))
        if v is not None and found.v is not None:
            moves.copied(found.v, out=base.matrix_of(v, (each,)))
        left[each] = found.left
    return Spectrum(values, v, left)


def _turned(a: Planes, vectors: bool, method: Method) -> Diagonal:
    form, least, x = a.format, small(a), None
    if begins_short(form):
        corrected = _corrected(a, _begun(a), method)
        if corrected is not None:
            a, x, least, done = corrected
            if done:
                return Diagonal(parts.diagonal(a).halves[0], x, 0.0)
    return blocks.diagonalise(a, rule_of(form, least), vectors=vectors, x=x)


def begins_short(form: Format) -> bool:
    """Whether a format's first limbs are values of a format of one limb."""
    return form.limbs > 1 and form.planes[0] == form.word


def _begun(a: Planes) -> Planes:
    """Vectors of the first limbs, in a's format."""
    first = leading(a)
    rule = rule_of(first.format, ROUGH * small(first))
    found = blocks.diagonalise(first, rule, vectors=True)
    assert found.v is not None
    x = parts.filled(a, a.shape)
    moves.copied(_ordered(found.values, found.v), out=leading(x))
    return x


def _ordered(values: Planes, v: Planes) -> Planes:
    """Columns in ascending order of values, whose leading limbs tell."""
    sizes = moves.copied(leading(values)).read_parts()[0]
    order = np.argsort(sizes, kind="stable").astype(np.int32)
    rows = ordered(parts.stack(parts.turned(v)), order[None])
    return parts.turned(base.matrix_of(rows, (0,)))


def _split(s: Planes, x: Planes, apart: float, left: np.ndarray[Any, Any], method: Method) -> None:
    """Replace columns of x that belong to clusters by products with the vectors of these.

    *left*: of each row, how many elements before the diagonal do not count as zero.
    """
    limbs = moves.copied(parts.diagonal(s).halves[0]).read_dense()
    gaps = sum(np.diff(limb.astype(np.float64)) for limb in limbs)
    ends = [*(np.flatnonzero(gaps > apart) + 1).tolist(), len(left)]
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        if not left[first + 1 : end].any():
            continue
        count = end - first
        corner = s.view((count, count), s.strides, s.start + first * sum(s.strides))
        square = parts.mirrored(corner)
        middle = parts.diagonal(square).halves[0]
        shift = moves.copied(middle.view((1,), (1,), middle.start))
        elementwise.apply("sub", [middle, shift.broadcast_to((count,))], middle)
        size = max(distance(square), parts.largest(middle))
        one = base.scalar_limbs(middle.format, 2.0 ** -math.frexp(size)[1], "alpha")
        for half in square.halves:
            elementwise.scal(one, half, half)
        found = spectrum(parts.stack(square), vectors=True, method=method)
        if found.left.any() or found.v is None:
            continue
        w = _ordered(*(base.matrix_of(v, (0,)) for v in (found.values, found.v)))
        mine = parts.columns(x, first, end)
        made = allocate(x.format, mine.shape, x.queue)
        parts.multiply(mine, w, made, "set", method)
        moves.copied(made, out=mine)


def _corrected(a: Planes, x: Planes, method: Method) -> tuple[Planes, Planes, float, bool] | None:
    """s = x^H a x for better vectors x, what counts as zero, and whether all of s does beside the
    diagonal; None where vectors do not become orthonormal."""
    form, n = a.format, a.shape[0]
    unit = slack(form, n)
    one = parts.filled(a, (n, n), 1.0)
    before, splits = math.inf, 0
    s, r, ax = (allocate(form, (n, n), a.queue) for _ in range(3))
    for _ in range(CORRECTIONS):
        moves.copied(one, out=r)
        parts.multiply(parts.turned(x), x, r, "subtract", method, "a")
        parts.multiply(a, x, ax, "set", method)
        parts.multiply(parts.turned(x), ax, s, "set", method, "a")
        top = 2.0 ** parts.exponent(parts.diagonal(s))
        least = unit * top
        (count,), (largest,), (rows,) = measured(parts.stack(s), rule_of(form, least))
        doing(f"corrections in {form.name}, {int(count)} elements left")
        far = distance(r)
        apart = APART * max(float(largest), far * top)
        if far <= unit:
            if not count or splits == form.limbs:
                return s, x, least, not count
            if largest * 16 > before:
                _split(s, x, apart, rows, method)
                splits, before = splits + 1, math.inf
                continue
            before = float(largest)
        moves.copied(x, out=ax)
        parts.multiply(x, correction(s, r, apart), ax, "add", method)
        x, ax = ax, x
    return None


def distance(r: Planes) -> float:
    """The largest leading limb of a symmetric or Hermitian matrix, by its lower triangle."""
    beside = measured(parts.stack(r), rule_of(r.format, 0.0)).largest[0]
    return max(float(beside), parts.largest(parts.diagonal(r)))


def correction(s: Planes, r: Planes, apart: float) -> Planes:
    """e of the definition by s and r (n, n)."""
    out = allocate(s.format, s.shape, s.queue)
    made = partial(reference.correction, s.format, apart=apart)

    def by_kernels(s: Planes, r: Planes, out: Planes) -> None:
        unit = correction_unit(s.format, s.device)
        threads = dict(unit[0].values)["threads"]
        given = {"n": s.shape[0], "apart": apart, "s": s, "r": r, "out": out}
        launch.over(s.queue, unit, out.size, threads, given)

    launch.do((s, r, out), by_kernels, lambda s, r, out: base.on_host(out, made, s, r))
    return out
