"""Columns made orthogonal from the right: b v has orthogonal columns (Hestenes 1958).

Definition: g = b^H b by GEMM, of two columns an element g_pq counts as zero up to w u^N sqrt(g_pp)
sqrt(g_qq), w = 2^(3 + ceil(log2(m) / 2)) for m rows, or up to m 2^-1064 (float32 words: m 2^-140).
Up to ``definition.ROTATED`` columns: while an element of g is not zero, g is turned as a small
symmetric or Hermitian matrix with sweeps of at most 30, and b and v become GEMM's products with its
vectors; 60 times at most. Beyond that sweeps over pairs of blocks of columns as Jacobi's method by
blocks has them, g being the product of a pair's columns; they begin while the whole b^H b has an
element that is not zero, 60 at most; a pair's elements count as zero up to half of that, so that
what the whole product shows is turned, although the pair's own product rounds otherwise.

A beginning in the first limb has v, widened by zeros, as x. While r = 1 - x^H x is above w u^N / 4,
or an element of g = (b x)^H (b x) does not count as zero and the largest one beside the diagonal is
at most a sixteenth of what it was with the last r that was small enough, but 24 times at most, x is
corrected as eigenvectors are, with g for s. Then b becomes b x, and v = x. There and afterwards an
element of g also counts as zero up to 2^(ceil(log2(m) / 2) - 2) u^N 2^ceil(e / 2) times the larger
of sqrt(g_pp) and sqrt(g_qq), e being the exponent of the largest element of its diagonal.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.formats import Format
from portmp.progress import doing
from portmp.routines import base
from portmp.routines.bounds.certified import leading
from portmp.routines.jacobi import blocks, parts, symmetric
from portmp.routines.jacobi.launch import measured, turned
from portmp.routines.jacobi.rule import Rule
from portmp.routines.moves import launch as moves
from portmp.routines.triangular.launch import OnDevice
from portmp.routines.triangular.steps import Method
from portmp.runtime.planes import Planes, allocate, upload_numbers

PATIENCE = 8
"""Turns (of large matrices sweeps) in which products are taken down to the smallest."""
INNER = 30
"""Sweeps, at most, over the products of up to ``definition.ROTATED`` columns."""


class Orthogonal(NamedTuple):
    """``b`` (batch, m, n) with orthogonal columns and ``v`` (batch, n, n) that made it.

    ``left``: of each matrix how many pairs of columns are not orthogonal. ``negligible``: the
    length up to which columns may be anything, as rounding errors are.
    """

    b: Planes
    v: Planes | None
    left: np.ndarray[Any, Any]
    negligible: np.ndarray[Any, Any]


def rule_of(form: Format, m: int, turns: int) -> Rule:
    """What counts as orthogonal after so many turns.

    Columns that are nothing but rounding errors, as those of matrices of low rank become, shrink
    without end: late turns leave products alone that are below rounding errors of the longest. The
    squares of such columns have not all limbs left in ``ts``, ``qs`` and ``d+s``: there what the
    shorter of two has of the longer one's direction need only be below these errors.
    """
    word = np.dtype(form.word).type
    width = 2.0 ** (3 + math.ceil(math.log2(max(m, 1)) / 2))
    least = m * _smallest(form, turns >= PATIENCE)
    lost = "float32" in form.planes and form.unit_roundoff**2 < 2.0**-110
    careful = turns >= PATIENCE and lost
    edge = form.unit_roundoff * 2.0 ** definition.LIFTED[form.word] if careful else 0.0
    return Rule(word(width * form.unit_roundoff), word(least), word(edge))


def _by_longest(rule: Rule, g: Planes, form: Format, m: int) -> Rule:
    """The same, and small is what is so in comparison with the longest column.

    b x has rounding errors of that size in all columns; orthogonal short ones cost a sweep in all
    limbs, and neither values nor vectors are better for it than ``svd`` promises.
    """
    longest = 2.0 ** -(-parts.exponent(parts.diagonal(g)) // 2)
    edge = np.dtype(form.word).type(symmetric.slack(form, m) / 8 * longest)
    return rule._replace(edge=max(rule.edge, edge))


def _smallest(form: Format, late: bool) -> float:
    """Products of columns that are left alone, for each row; the largest are near 4^LIFTED."""
    single = form.word == "float32"
    if late:
        most = form.unit_roundoff**2 * 4.0 ** definition.LIFTED[form.word]
        return max(2.0**-110 if single else 2.0**-1000, most)
    return 2.0**-140 if single else 2.0**-1064


def _negligible(b: Planes, late: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Eight times the length of columns whose products are left alone, of each matrix."""
    first, then = (math.sqrt(_smallest(b.format, end)) for end in (False, True))
    return 8 * math.sqrt(b.shape[-2]) * np.where(late, then, first)


def orthogonal(b: Planes, *, vectors: bool, method: Method, begun: bool) -> Orthogonal:
    """Turn the columns of b (batch, m, n), which is overwritten; waits for the device.

    *begun*: with the first limb, where there are more, and beyond ``ROTATED`` columns.
    """
    batch, _, n = b.shape
    if not b.size:
        v = parts.filled(b, (batch, n, n), 1.0) if vectors else None
        return Orthogonal(b, v, np.zeros(batch, int), np.zeros(batch))
    if n <= definition.ROTATED:
        return _small(b, vectors)
    v = allocate(b.format, (batch, n, n), b.queue) if vectors else None
    left, late = np.zeros(batch, int), np.zeros(batch, bool)
    for each in range(batch):
        one = base.matrix_of(b, (each,))
        begin = _begun(one, method) if begun and symmetric.begins_short(b.format) else None
        mine, x = begin or (one, None)
        found = _large(mine, x, vectors, method)
        moves.copied(found.b, out=one)
        if v is not None and found.v is not None:
            moves.copied(found.v, out=base.matrix_of(v, (each,)))
        left[each], late[each] = found.left, found.late
    return Orthogonal(b, v, left, _negligible(b, late))


def _small(b: Planes, vectors: bool) -> Orthogonal:
    batch, m, n = b.shape
    direct = OnDevice(b.format, None)
    v = parts.filled(b, (batch, n, n), 1.0) if vectors else None
    g, u = (allocate(b.format, (batch, n, n), b.queue) for _ in range(2))
    late = np.zeros(batch, bool)
    for turn in range(blocks.SWEEPS + 1):
        direct.multiply(parts.turned(b), b, g, "set", "a")
        rule = rule_of(b.format, m, turn)
        left = measured(g, rule).counts
        if turn == PATIENCE - 1:
            late = left > 0
        if not left.any() or turn == blocks.SWEEPS:
            break
        turned(g, rule, sweeps=INNER, v=u, counted=False)
        b = _times(b, u, left, direct)
        v = None if v is None else _times(v, u, left, direct)
    return Orthogonal(b, v, left, _negligible(b, late))


def _times(x: Planes, u: Planes, left: np.ndarray[Any, Any], multiply: OnDevice) -> Planes:
    """x u of those entries of a stack that are not done; the others as they are."""
    out = allocate(x.format, x.shape, x.queue)
    multiply.multiply(x, u, out, "set")
    if left.all():
        return out
    return moves.selected(upload_numbers((left > 0).reshape(-1, 1, 1), x.queue), out, x)


class _One(NamedTuple):
    b: Planes
    v: Planes | None
    left: int
    late: bool


def _large(b: Planes, x: Planes | None, vectors: bool, method: Method) -> _One:
    """Of one matrix; x: vectors to begin with."""
    m, n = b.shape
    w = blocks.padded(b, rows=m)
    other = allocate(w.format, w.shape, w.queue)
    v = spare = None
    if vectors:
        v = blocks.unit(b) if x is None else blocks.padded(x, rows=n)
        spare = allocate(v.format, v.shape, v.queue)
    g = allocate(w.format, (w.shape[1],) * 2, w.queue)
    made = 0
    while True:
        parts.multiply(parts.turned(w), w, g, "set", method, "a")
        rule = rule_of(b.format, m, made)
        if x is not None:
            rule = _by_longest(rule, g, b.format, m)
        left = int(measured(parts.stack(g), rule).counts[0])
        if not left or made == blocks.SWEEPS:
            break
        made += 1
        doing(f"sweep {made} of {w.format.name}, {left} pairs of columns left")
        for pairs in blocks.steps(n):
            squares = allocate(w.format, (pairs.pairs, *2 * (2 * pairs.block,)), w.queue)
            u = allocate(w.format, squares.shape, w.queue)
            columns = pairs.columns(w)
            product = parts.turned(columns), columns, squares
            OnDevice(w.format, None).multiply(*product, "set", "a")
            turned(squares, rule.halved(), sweeps=1, v=u, shift=pairs.block, counted=False)
            blocks.times(pairs, w, u, other)
            w, other = other, w
            if v is not None and spare is not None:
                blocks.times(pairs, v, u, spare)
                v, spare = spare, v
    found = None if v is None else blocks.in_order(v, n, made)
    return _One(blocks.in_order(w, n, made), found, left, made >= PATIENCE)


def _begun(b: Planes, method: Method) -> tuple[Planes, Planes] | None:
    """b x and x, orthogonal in b's format, by the first limbs; None where x does not become so."""
    first = _large(leading(b), None, True, method)
    assert first.v is not None
    n = b.shape[1]
    x, one = parts.filled(b, (n, n)), parts.filled(b, (n, n), 1.0)
    moves.copied(first.v, out=leading(x))
    m, rule = b.shape[0], rule_of(b.format, b.shape[0], 0)
    r, g = (allocate(b.format, (n, n), b.queue) for _ in range(2))
    product, before = allocate(b.format, (m, n), b.queue), math.inf
    for _ in range(symmetric.CORRECTIONS):
        moves.copied(one, out=r)
        parts.multiply(parts.turned(x), x, r, "subtract", method, "a")
        parts.multiply(b, x, product, "set", method)
        parts.multiply(parts.turned(product), product, g, "set", method, "a")
        (count,), (largest,), _ = measured(parts.stack(g), _by_longest(rule, g, b.format, m))
        doing(f"corrections in {b.format.name}, {int(count)} pairs of columns left")
        far = symmetric.distance(r)
        if far <= float(rule.tolerance) / 4:
            if not count or largest * 16 > before:
                return product, x
            before = float(largest)
        apart = symmetric.APART * max(
            float(largest), far * 2.0 ** parts.exponent(parts.diagonal(g))
        )
        better = moves.copied(x)
        parts.multiply(x, symmetric.correction(g, r, apart), better, "add", method)
        x = better
    return None
