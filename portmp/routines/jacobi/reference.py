"""Jacobi's method on the host, bit for bit as on devices."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from portmp.formats import Format
from portmp.networks import complexes, ieee
from portmp.routines.jacobi.rule import Rule, large, pairs
from portmp.routines.reference import Arithmetic, Host, Plane, Value
from portmp.routines.triangular.reference import copied


class Turned(NamedTuple):
    """The matrix, vectors as columns, and how many sweeps had a turn."""

    a: Host
    v: Host
    sweeps: int


Parts = list[Value]
"""Of numbers their one part, of complex ones the real and the imaginary part."""


def turned(form: Format, a: Host, rule: Rule, sweeps: int, shift: int = 0) -> Turned:
    """Turn a symmetric or Hermitian matrix (m, m), of which the lower triangle counts, until it is
    diagonal."""
    ar, m = Arithmetic(form.component), len(a[0])
    lower = np.tril(np.ones((m, m), bool))
    a = [np.where(lower, p, -p.T if i >= form.limbs else p.T) for i, p in enumerate(a)]
    v = [np.eye(m, dtype=p.dtype) * (not i) for i, p in enumerate(a)]
    made = 0
    with ieee.quiet():
        for _ in range(sweeps):
            turns = [_step(ar, a, v, low, high, rule) for low, high in pairs(m)]
            if not any(turns):
                break
            made += 1
    return Turned(copied(a), [np.roll(p, shift, axis=1) for p in v], made)


def _parts(ar: Arithmetic, planes: Host) -> Parts:
    """Elements by parts, as words."""
    n = ar.form.limbs
    return [ar.load(planes[i : i + n]) for i in range(0, len(planes), n)]


def _size(ar: Arithmetic, a: Host) -> Plane:
    """The leading limb's size, of complex numbers that of the larger part."""
    real, *side = (np.abs(part[0]) for part in _parts(ar, a))
    return np.where(real > side[0], real, side[0]) if side else real


def _put(ar: Arithmetic, a: Host, i: Any, j: Any, new: Sequence[Plane]) -> None:
    """Set elements (i, j), and (j, i) to their conjugates."""
    for k, (w, value) in enumerate(zip(a, new, strict=True)):
        w[j, i] = -value if k >= ar.form.limbs else value
        w[i, j] = value


def _step(ar: Arithmetic, a: Host, v: Host, low: Plane, high: Plane, rule: Rule) -> bool:
    """One step: all its pairs (a lonely index has none). Whether there was a turn."""
    m = len(a[0])
    both = high < m
    p, q = low[both], high[both]
    size = np.abs(ar.load(a[:1])[0])
    limit = rule.limit(np.sqrt(size[p, p]), np.sqrt(size[q, q]))
    now = _size(ar, [w[q, p] for w in a]) > limit
    if not now.any():
        return False
    n = ar.form.limbs
    x, y = (ar.load([w[i, i] for w in a[:n]]) for i in (p, q))
    given = _parts(ar, [w[q, p] for w in a])
    one, half = (ar.zeros(n, p.shape, number) for number in (1.0, 0.5))
    op = ar.operator
    b = op("hypot", *given) if len(given) > 1 else given[0]
    slant = op("div", op("sub", y, x), op("add", b, b))
    minus = slant[0] < 0
    far = _where(minus, op("neg", slant), slant)
    root = op("sqrt", op("add", op("mul", far, far), one))
    t = _where(far[0] > large(ar.word), op("div", half, far), op("div", one, op("add", far, root)))
    t = _where(minus, op("neg", t), t)
    c = op("div", one, op("sqrt", op("add", op("mul", t, t), one)))
    s = op("mul", t, c)
    g, h = op("div", s, op("add", one, c)), op("mul", t, b)
    rest = [np.zeros_like(p, w.dtype)[now] for w in a]
    for i, j, value in ((p, p, op("sub", x, h)), (q, q, op("add", y, h)), (q, p, None)):
        own = [] if value is None else [w[now] for w in ar.store(value)]
        _put(ar, a, i[now], j[now], [*own, *rest[len(own) :]])
    turn: list[Parts] = [[s], [g]]
    if len(given) > 1:
        unit = ar.run(complexes.network("sign", ar.form.word, n), *given)
        turn = [[op("mul", size, part) for part in (unit[:n], unit[n:])] for size in (s, g)]
    turn = [[tuple(w[now] for w in part) for part in each] for each in turn]
    columns = [_conjugate(ar, each) for each in turn]
    i, j = p[now], q[now]
    x_y = (_parts(ar, [w[:, at] for w in v]) for at in (i, j))
    for at, found in zip((i, j), _turn(ar, *x_y, *columns), strict=True):
        for w, new in zip(v, _stored(ar, found), strict=True):
            w[:, at] = new
    _turn_rest(ar, a, low, high, np.flatnonzero(both)[now], turn)
    return True


def _conjugate(ar: Arithmetic, x: Parts) -> Parts:
    return [ar.operator("neg", part) if i else part for i, part in enumerate(x)]


def _stored(ar: Arithmetic, x: Parts) -> Host:
    return [plane for part in x for plane in ar.store(part)]


def _turn_rest(
    ar: Arithmetic, a: Host, low: Plane, high: Plane, turning: Plane, turn: list[Parts]
) -> None:
    """Elements of two pairs: by the turn of the pair with the lower number, then by the other's."""
    m, count = len(a[0]), len(low)
    turns = np.zeros(count, bool)
    turns[turning] = True
    whole = [[tuple(np.zeros(count, ar.word) for _ in part) for part in each] for each in turn]
    for held, given in zip(whole, turn, strict=True):
        for part, new in zip(held, given, strict=True):
            for word, value in zip(part, new, strict=True):
                word[turning] = value
    rows = [[tuple(w[:, None] for w in part) for part in each] for each in whole]
    columns = [_conjugate(ar, [tuple(w[None, :] for w in part) for part in each]) for each in whole]
    first = np.arange(count)[:, None] < np.arange(count)[None, :]
    # beyond the end: any element, whose result is not kept
    at = np.where(low < m, low, 0), np.where(high < m, high, 0)
    z = {
        (i, j): _parts(ar, [w[at[i][:, None], at[j][None, :]] for w in a])
        for i in (0, 1)
        for j in (0, 1)
    }
    for j in (0, 1):
        for i, made in enumerate(_turn(ar, z[0, j], z[1, j], *rows)):
            z[i, j] = _kept(ar, turns[:, None], made, z[i, j])
    for i in (0, 1):
        for j, made in enumerate(_turn(ar, z[i, 0], z[i, 1], *columns)):
            z[i, j] = _kept(ar, turns[None, :], made, z[i, j])
    inside = low < m, high < m
    for (i, j), found in z.items():
        here, there = np.nonzero(first & inside[i][:, None] & inside[j][None, :])
        _put(ar, a, at[i][here], at[j][there], [p[here, there] for p in _stored(ar, found)])


def _kept(ar: Arithmetic, now: Plane, new: Parts, old: Parts) -> Parts:
    """Elements as memory gives them back, those that are not turned *now* as they were."""
    chosen = np.broadcast_to(now, old[0][0].shape)
    stored = (ar.load(ar.store(part)) for part in new)
    return [_where(chosen, x, y) for x, y in zip(stored, old, strict=True)]


def _turn(ar: Arithmetic, x: Parts, y: Parts, s: Parts, g: Parts) -> tuple[Parts, Parts]:
    """c x - s y and s x + c y, of complex numbers with the conjugates of s and of none."""
    shape, n = x[0][0].shape, ar.form.limbs
    s, g = ([tuple(np.broadcast_to(w, shape) for w in part) for part in each] for each in (s, g))
    if len(x) > 1:
        nets = (complexes.network(f"rotated_{which}", ar.form.word, n) for which in ("low", "high"))
        low, high = (ar.run(net, *x, *y, *s, *g) for net in nets)
        return [low[:n], low[n:]], [high[:n], high[n:]]
    op = ar.operator
    (x0,), (y0,), (s0,), (g0,) = x, y, s, g
    first = op("fma", op("neg", s0), op("fma", g0, x0, y0), x0)
    return [first], [op("fma", s0, op("fma", op("neg", g0), y0, x0), y0)]


def _where(condition: Plane, x: Value, y: Value) -> Value:
    return tuple(np.where(condition, a, b) for a, b in zip(x, y, strict=True))


def measured(form: Format, a: Host, rule: Rule) -> tuple[Plane, Plane]:
    """Of each row how many elements left of the diagonal are to be turned away, and the largest."""
    with ieee.quiet():
        ar = Arithmetic(form.component)
        size, root = _size(ar, a), np.sqrt(np.abs(np.diagonal(ar.load(a[:1])[0])))
        lower = np.tril(np.ones(size.shape, bool), -1)
        over = ~(size <= rule.limit(root[None, :], root[:, None])) & lower
        largest = np.where(lower & ~np.isnan(size), size, 0).max(axis=1, initial=0)
        return over.sum(axis=1).astype(np.int32), largest


def correction(form: Format, s: Host, r: Host, apart: float) -> Host:
    """What vectors are to be multiplied by, less 1; of pairs the lower element counts."""
    ar = Arithmetic(form.component)
    n, op = len(s[0]), ar.operator
    i, j = np.indices((n, n))
    high, low = np.maximum(i, j), np.minimum(i, j)
    found: Host = []
    with ieee.quiet():
        left, right = (ar.load([p[k, k] for p in s[: form.limbs]]) for k in (i, j))
        gap = op("sub", right, left)
        for which, (at, rest) in enumerate(
            zip(*(_parts(ar, [p[high, low] for p in w]) for w in (s, r)), strict=True)
        ):
            quotient = op("div", op("fma", right, rest, at), gap)
            half = op("mul", ar.zeros(len(at), (n, n), 0.5), rest)
            z = _where(np.abs(gap[0]) > ar.word.type(apart), quotient, half)
            found += ar.store(_where(i < j, op("neg", z), z) if which else z)
    return found
