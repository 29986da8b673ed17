"""Products of sparse matrices on the host, bit for bit as on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import definition
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.reduce.reference import steps
from portmp.routines.reference import Arithmetic, Host, Plane, Value, is_number, patched, scaled

LANES = definition.SPARSE_LANES


def times(
    form: Format,
    values: Host,
    x: Host,
    alpha: Sequence[Any],
    beta: Sequence[Any],
    y: Host | None,
    *pattern: Host,
) -> Host:
    """alpha a x + beta y, x (n,) or (n, r); *pattern*: elements' columns and where rows begin.

    *form*: the format of parts, of which a, x or both may have two.
    """
    (columns,), (starts,) = pattern[:2]
    ar = Arithmetic(form)
    vector = x[0].ndim == 1
    rows = len(starts) - 1
    with ieee.quiet():
        left = _parts(form, ar.load(values))
        right = _parts(form, [w[:, None] if vector else w for w in ar.load(x)])
        scale, add = ar.load(alpha), ar.load(beta)
        several = max(len(left), len(right))
        addends: list[Value | None] = [None] * several
        if y is not None and not is_number(add, 0):
            addends[:] = _parts(form, [w.reshape(rows, -1) for w in ar.load(y)])
        shape = (rows, right[0][0].shape[1])
        filled = np.diff(starts) > 0 if not is_number(scale, 0) else np.zeros(rows, bool)
        some = np.flatnonzero(filled)
        products: list[Value] = []
        if some.size:
            products = [_rows(ar, p, columns, starts, q, some) for p in left for q in right]
        if len(products) == 4:
            real, cross, other, rest = products
            products = [ar.operator("sub", real, rest), ar.operator("add", cross, other)]
        words: list[Plane] = []
        for i, addend in enumerate(addends):
            found = tuple(w.copy() for w in ar.zeros(form.limbs, shape))
            for there, product in ((filled, products[i] if products else None), (~filled, None)):
                rest_of = None if addend is None else tuple(w[there] for w in addend)
                if product is None and (rest_of is None or not there.any()):
                    continue
                for mine, word in zip(found, scaled(ar, product, scale, add, rest_of), strict=True):
                    mine[there] = word
            words += ar.store([w[:, 0] if vector else w for w in found])
        return words


def _parts(form: Format, words: Sequence[Plane]) -> list[Value]:
    """The parts of values: one of real ones, two of complex ones."""
    return [tuple(words[i : i + form.limbs]) for i in range(0, len(words), form.limbs)]


def _rows(
    ar: Arithmetic, values: Value, columns: Plane, starts: Plane, x: Value, rows: Plane
) -> Value:
    """The products of rows that have elements: chunk after chunk of each added."""
    begin, end = starts[rows], starts[rows + 1]
    total: Value | None = None
    chunk = 0
    while True:
        first = begin + chunk * definition.SPARSE_CHUNK
        there = np.flatnonzero(first < end)
        if not there.size:
            assert total is not None
            return total
        last = np.minimum(first + definition.SPARSE_CHUNK, end)
        found = _chunks(ar, values, columns, first[there], last[there], x)
        if total is None:
            total = found
        else:
            longer = ar.operator("add", tuple(w[there] for w in total), found)
            for mine, word in zip(total, longer, strict=True):
                mine[there] = word
        chunk += 1


def _chunks(
    ar: Arithmetic, values: Value, columns: Plane, first: Plane, last: Plane, x: Value
) -> Value:
    """Chunks by how many steps their lanes take."""
    counts = last - first
    lengths = -(-counts // LANES)
    result = ar.zeros(ar.form.limbs, (len(first), x[0].shape[1]))
    for length in np.unique(lengths):
        same = np.flatnonzero(lengths == length)
        part = _lanes(ar, values, columns, first[same], counts[same], int(length), x)
        for mine, word in zip(result, part, strict=True):
            mine[same] = word
    return result


def _lanes(
    ar: Arithmetic,
    values: Value,
    columns: Plane,
    first: Plane,
    counts: Plane,
    length: int,
    x: Value,
) -> Value:
    nets = steps(ar.form, "dot")
    period = ar.form.accumulator("accurate").period
    shape = (len(first), LANES, x[0].shape[1])
    lane = np.arange(LANES)
    state = ar.zeros(nets["step"].result.words, shape)
    chain = np.zeros(shape, ar.word)
    for i in range(length):
        place = i * LANES + lane[None, :]
        active = place < counts[:, None]
        at = np.where(active, first[:, None] + place, first[:, None])
        left = tuple(np.broadcast_to(w[at][:, :, None], shape) for w in values)
        right = tuple(w[columns[at]] for w in x)
        new = ar.run(nets["step"], state, left, right)
        if "renormalise" in nets and (i + 1) % period == 0:
            new = ar.run(nets["renormalise"], new)
        chosen = active[:, :, None]
        state = tuple(np.where(chosen, n, s) for n, s in zip(new, state, strict=True))
        chain = np.where(chosen, ieee.fma(left[0], right[0], chain), chain)
    value = ar.run(nets["finish"], state)
    for distance in definition.halvings(LANES):
        pairs = (lane[:distance] + distance < counts[:, None])[:, :, None]
        both = tuple(w[:, :distance] for w in value), tuple(w[:, distance:] for w in value)
        merged = ar.run(nets["combine"], *both)
        value = tuple(np.where(pairs, m, w) for m, w in zip(merged, both[0], strict=True))
        chain = np.where(pairs, chain[:, :distance] + chain[:, distance:], chain[:, :distance])
    return patched(tuple(w[:, 0] for w in value), chain[:, 0])
