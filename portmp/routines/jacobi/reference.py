"""Jacobi's method on the host, bit for bit as on devices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.jacobi.rule import Rule, large, pairs
from portmp.routines.reference import Arithmetic, Host, Plane, Value
from portmp.routines.triangular.reference import copied


class Turned(NamedTuple):
    """The matrix, vectors as columns, and how many sweeps had a turn."""

    a: Host
    v: Host
    sweeps: int


def turned(form: Format, a: Host, rule: Rule, sweeps: int, shift: int = 0) -> Turned:
    """Turn a symmetric matrix (m, m), of which the lower triangle counts, until it is diagonal."""
    ar, m = Arithmetic(form), len(a[0])
    lower = np.tril(np.ones((m, m), bool))
    a = [np.where(lower, p, p.T) for p in a]
    v = [np.eye(m, dtype=p.dtype) * (not i) for i, p in enumerate(a)]
    made = 0
    with ieee.quiet():
        for _ in range(sweeps):
            turns = [_step(ar, a, v, low, high, rule) for low, high in pairs(m)]
            if not any(turns):
                break
            made += 1
    return Turned(copied(a), [np.roll(p, shift, axis=1) for p in v], made)


def _step(ar: Arithmetic, a: Host, v: Host, low: Plane, high: Plane, rule: Rule) -> bool:
    """One step: all its pairs (a lonely index has none). Whether there was a turn."""
    m = len(a[0])
    both = high < m
    p, q = low[both], high[both]
    size = np.abs(ar.load(a)[0])
    limit = rule.limit(np.sqrt(size[p, p]), np.sqrt(size[q, q]))
    now = size[q, p] > limit
    if not now.any():
        return False
    x, y, b = (ar.load([w[i, j] for w in a]) for i, j in ((p, p), (q, q), (q, p)))
    one, half = (ar.zeros(len(x), p.shape, n) for n in (1.0, 0.5))
    op = ar.operator
    slant = op("div", op("sub", y, x), op("add", b, b))
    minus = slant[0] < 0
    far = _where(minus, op("neg", slant), slant)
    root = op("sqrt", op("add", op("mul", far, far), one))
    t = _where(far[0] > large(ar.word), op("div", half, far), op("div", one, op("add", far, root)))
    t = _where(minus, op("neg", t), t)
    c = op("div", one, op("sqrt", op("add", op("mul", t, t), one)))
    s = op("mul", t, c)
    g, h = op("div", s, op("add", one, c)), op("mul", t, b)
    for i, j, value in (
        (p, p, op("sub", x, h)),
        (q, q, op("add", y, h)),
        (q, p, ar.zeros(len(x), p.shape)),
    ):
        for w, new in zip(a, ar.store(value), strict=True):
            w[i[now], j[now]] = w[j[now], i[now]] = new[now]
    _turn_vectors(ar, v, p[now], q[now], [w[now] for w in s], [w[now] for w in g])
    _turn_rest(ar, a, low, high, np.flatnonzero(both)[now], s, g, now)
    return True


def _turn_vectors(
    ar: Arithmetic, v: Host, p: Plane, q: Plane, s: list[Plane], g: list[Plane]
) -> None:
    x, y = (ar.load([w[:, i] for w in v]) for i in (p, q))
    for i, value in zip((p, q), _turn(ar, x, y, tuple(s), tuple(g)), strict=True):
        for w, new in zip(v, ar.store(value), strict=True):
            w[:, i] = new


def _turn_rest(
    ar: Arithmetic, a: Host, low: Plane, high: Plane, turning: Plane, s: Value, g: Value, now: Plane
) -> None:
    """Elements of two pairs: by the turn of the pair with the lower number, then by the other's."""
    m, count = len(a[0]), len(low)
    turns = np.zeros(count, bool)
    turns[turning] = True
    whole = [np.zeros(count, ar.word) for _ in s], [np.zeros(count, ar.word) for _ in g]
    for held, given in zip(whole, (s, g), strict=True):
        for word, new in zip(held, given, strict=True):
            word[turning] = new[now]
    sine, slope = (tuple(w[:, None] for w in each) for each in whole)
    sine_j, slope_j = (tuple(w[None, :] for w in each) for each in whole)
    first = np.arange(count)[:, None] < np.arange(count)[None, :]
    # beyond the end: any element, whose result is not kept
    at = np.where(low < m, low, 0), np.where(high < m, high, 0)
    z = {
        (i, j): ar.load([w[at[i][:, None], at[j][None, :]] for w in a])
        for i in (0, 1)
        for j in (0, 1)
    }
    for j in (0, 1):
        made = _turn(ar, z[0, j], z[1, j], sine, slope)
        for i in (0, 1):
            kept = ar.load(ar.store(made[i]))
            z[i, j] = _where(np.broadcast_to(turns[:, None], first.shape), kept, z[i, j])
    for i in (0, 1):
        made = _turn(ar, z[i, 0], z[i, 1], sine_j, slope_j)
        for j in (0, 1):
            kept = ar.load(ar.store(made[j]))
            z[i, j] = _where(np.broadcast_to(turns[None, :], first.shape), kept, z[i, j])
    inside = low < m, high < m
    for (i, j), value in z.items():
        rows, columns = np.nonzero(first & inside[i][:, None] & inside[j][None, :])
        x, y = at[i][rows], at[j][columns]
        for w, new in zip(a, ar.store(value), strict=True):
            w[x, y] = w[y, x] = new[rows, columns]


def _turn(ar: Arithmetic, x: Value, y: Value, s: Value, g: Value) -> tuple[Value, Value]:
    """c x - s y and s x + c y."""
    shape = x[0].shape
    s, g = (tuple(np.broadcast_to(w, shape) for w in value) for value in (s, g))
    op = ar.operator
    first = op("fma", op("neg", s), op("fma", g, x, y), x)
    return first, op("fma", s, op("fma", op("neg", g), y, x), y)


def _where(condition: Plane, x: Value, y: Value) -> Value:
    return tuple(np.where(condition, a, b) for a, b in zip(x, y, strict=True))


def measured(form: Format, a: Host, rule: Rule) -> tuple[Plane, Plane]:
    """Of each row how many elements left of the diagonal are to be turned away, and the largest."""
    with ieee.quiet():
        size = np.abs(Arithmetic(form).load(a)[0])
        root = np.sqrt(np.diagonal(size))
        lower = np.tril(np.ones(size.shape, bool), -1)
        over = ~(size <= rule.limit(root[None, :], root[:, None])) & lower
        largest = np.where(lower & ~np.isnan(size), size, 0).max(axis=1, initial=0)
        return over.sum(axis=1).astype(np.int32), largest


def correction(form: Format, s: Host, r: Host, apart: float) -> Host:
    """What vectors are to be multiplied by, less 1; of pairs the lower element counts."""
    ar = Arithmetic(form)
    n = len(s[0])
    op = ar.operator
    with ieee.quiet():
        i, j = np.indices((n, n))
        high, low = np.maximum(i, j), np.minimum(i, j)
        at, rest = ar.load([p[high, low] for p in s]), ar.load([p[high, low] for p in r])
        left, right = (ar.load([p[k, k] for p in s]) for k in (i, j))
        gap = op("sub", right, left)
        quotient = op("div", op("fma", right, rest, at), gap)
        half = op("mul", ar.zeros(len(at), (n, n), 0.5), rest)
        return ar.store(_where(np.abs(gap[0]) > ar.word.type(apart), quotient, half))
