"""The routines on the host, by their definitions: the reference that devices must equal.

Operands are lists of limb planes in the dtypes of the format. Every function follows
docs/bits.md step by step, vectorised over independent elements; schedules do not exist
here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import definition, ieee, networks, reference, storage
from portmp.definition import norm_exponent
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.networks import Network
from portmp.routines import nbody
from portmp.routines.reduce import IDENTITY, steps

Plane = np.ndarray[Any, Any]
Host = list[Plane]
Value = tuple[Plane, ...]


class Arithmetic:
    """One format's networks on NumPy arrays; a value is a tuple of word arrays."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.word = np.dtype(form.word)
        self.gates = reference.gates(self.word)

    def load(self, planes: Sequence[Any]) -> Value:
        """Planes as words."""
        return tuple(np.asarray(p).astype(self.word) for p in planes)

    def store(self, value: Sequence[Plane]) -> Host:
        """Words as planes: a low limb beyond its dtype's range is dropped."""
        if self.form.coded:
            return storage.stored(self.form, [np.asarray(word) for word in value])
        planes = []
        for i, word in enumerate(value):
            plane = np.asarray(word).astype(self.form.dtype(i))
            if plane.dtype != self.word:
                plane = np.where(np.isfinite(plane), plane, plane.dtype.type(0))
            planes.append(plane)
        return planes

    def run(self, net: Network, *arguments: Value) -> Value:
        """Evaluate a network on values or sums; one word counts as a tuple of one."""
        kinds = (kind for _, kind in net.inputs)
        plain = [a[0] if k.words == 1 else a for k, a in zip(kinds, arguments, strict=True)]
        result = networks.evaluate(net, self.gates, *plain)
        return result if isinstance(result, tuple) else (result,)

    def operator(self, op: str, *arguments: Value) -> Value:
        """Apply a public operator."""
        return self.run(self.form.operator(op), *arguments)

    def zeros(self, words: int, shape: tuple[int, ...], first: float = 0.0) -> Value:
        """A value or sum of *words* words: *first*, then zeros."""
        return tuple(np.full(shape, 0.0 if i else first, self.word) for i in range(words))


def patched(value: Value, chain: Plane) -> Value:
    """Replace elements that are not finite by *chain* and zeros."""
    bad = ~np.isfinite(value[0])
    lower = [np.where(bad, w.dtype.type(0), w) for w in value[1:]]
    return (np.where(bad, chain, value[0]), *lower)


def scaled(ar: Arithmetic, z: Value | None, alpha: Value, beta: Value, c: Value | None) -> Value:
    """alpha z + beta c; z is None where there is no product, c where beta is zero."""
    if z is not None and not is_number(alpha, 1):
        shape = z[0].shape
        z = ar.operator("mul", tuple(np.broadcast_to(w, shape) for w in alpha), z)
    if c is None:
        assert z is not None
        return z
    addend = c
    if not is_number(beta, 1):
        addend = ar.operator("mul", tuple(np.broadcast_to(w, c[0].shape) for w in beta), c)
    return addend if z is None else ar.operator("add", z, addend)


def is_number(value: Value, number: float) -> bool:
    return bool(value[0] == number) and all(bool(w == 0) for w in value[1:])


def elementwise(form: Format, op: str, *operands: Sequence[Any]) -> Host:
    """A public operator on planes, with broadcasting; ``compare`` gives one int8 plane."""
    ar = Arithmetic(form)
    with ieee.quiet():
        values = [ar.load(o) for o in operands]
        shape = np.broadcast_shapes(*(v[0].shape for v in values))
        result = ar.operator(op, *(tuple(np.broadcast_to(w, shape) for w in v) for v in values))
        return [result[0].astype(np.int8)] if op == "compare" else ar.store(result)


def axpy(form: Format, alpha: Sequence[Any], x: Host, y: Host) -> Host:
    """alpha x + y."""
    if is_number(tuple(alpha), 1):
        return elementwise(form, "add", x, y)
    return (
        [p.copy() for p in y]
        if is_number(tuple(alpha), 0)
        else elementwise(form, "fma", alpha, x, y)
    )


def scal(form: Format, alpha: Sequence[Any], x: Host) -> Host:
    """alpha x."""
    if is_number(tuple(alpha), 1):
        return [p.copy() for p in x]
    return elementwise(form, "mul", alpha, x)


def gemm(
    form: Format, a: Host, b: Host, alpha: Sequence[Any] = (), beta: Sequence[Any] = (),
    c: Host | None = None, accuracy: str = "accurate",
) -> Host:  # fmt: skip
    """alpha a b + beta c for a (m, k), b (k, n)."""
    ar = Arithmetic(form)
    product = None
    if a[0].shape[1] and not (alpha and is_number(ar.load(alpha), 0)):
        with ieee.quiet():
            av, bv = ar.load(a), ar.load(b)
            product = _gemm_slabs(ar, av, bv, accuracy)
            if not np.isfinite(product[0]).all():
                product = patched(product, leading_gemm(av[0], bv[0]))
    return ended(form, (a[0].shape[0], b[0].shape[1]), product, alpha, beta, c)


def ended(
    form: Format, shape: tuple[int, ...], product: Sequence[Plane] | None,
    alpha: Sequence[Any], beta: Sequence[Any], c: Host | None,
) -> Host:  # fmt: skip
    """What a product ends with: alpha times it (None: zero), plus beta c."""
    ar = Arithmetic(form)
    with ieee.quiet():
        scale = ar.load(alpha) if alpha else ar.zeros(form.limbs, (), 1.0)
        add = ar.load(beta) if beta else ar.zeros(1, ())
        addend = None if c is None or is_number(add, 0) else ar.load(c)
        if product is None and addend is None:
            return ar.store(ar.zeros(form.limbs, shape))
        words = None if product is None else tuple(product)
        return ar.store(scaled(ar, words, scale, add, addend))


def _gemm_slabs(ar: Arithmetic, a: Value, b: Value, accuracy: str) -> Value:
    accumulator = ar.form.accumulator(accuracy)
    nets = accumulator.networks
    accumulate, renormalise = nets["accumulate"], nets.get("renormalise")
    shape = (a[0].shape[0], b[0].shape[1])
    k = a[0].shape[1]
    total: Value | None = None
    for slab in range(0, k, definition.SLAB):
        state = ar.zeros(accumulate.result.words, shape)
        end = min(slab + definition.SLAB, k)
        for i in range(slab, end):
            left = tuple(np.broadcast_to(w[:, i, None], shape) for w in a)
            right = tuple(np.broadcast_to(w[None, i, :], shape) for w in b)
            state = ar.run(accumulate, state, left, right)
            if renormalise is not None and (i + 1 - slab) % accumulator.period == 0:
                state = ar.run(renormalise, state)
        part = ar.run(nets["finish"], state)
        total = part if total is None else ar.operator("add", total, part)
    assert total is not None
    return total


def leading_gemm(a: Plane, b: Plane) -> Plane:
    """The chain of leading limbs, slab by slab."""
    k = a.shape[1]
    total: Plane | None = None
    for slab in range(0, k, definition.SLAB):
        chain = np.zeros((a.shape[0], b.shape[1]), a.dtype)
        for i in range(slab, min(slab + definition.SLAB, k)):
            chain = ieee.fma(
                np.broadcast_to(a[:, i, None], chain.shape),
                np.broadcast_to(b[None, i, :], chain.shape),
                chain,
            )
        total = chain if total is None else total + chain
    assert total is not None
    return total


def gemv(
    form: Format, a: Host, x: Host, alpha: Sequence[Any] = (), beta: Sequence[Any] = (),
    y: Host | None = None, accuracy: str = "accurate",
) -> Host:  # fmt: skip
    """alpha a x + beta y for a (m, n), x (n,)."""
    ar = Arithmetic(form)
    with ieee.quiet():
        scale = ar.load(alpha) if alpha else ar.zeros(form.limbs, (), 1.0)
        add = ar.load(beta) if beta else ar.zeros(1, ())
        product = None
        if a[0].shape[1] and not is_number(scale, 0):
            product = _lanes(ar, "dot", ar.load(a), ar.load(x), accuracy)
        addend = None if y is None or is_number(add, 0) else ar.load(y)
        if product is None and addend is None:
            return ar.store(ar.zeros(form.limbs, (a[0].shape[0],)))
        return ar.store(scaled(ar, product, scale, add, addend))


def dot(form: Format, x: Host, y: Host, accuracy: str = "accurate") -> Host:
    """sum_i x_i y_i."""
    return [p[0] for p in gemv(form, [p[None, :] for p in x], y, accuracy=accuracy)]


def over_rows(form: Format, kind: str, x: Host) -> Host:
    """sum, max or min of each row."""
    ar = Arithmetic(form)
    with ieee.quiet():
        if not x[0].shape[1]:
            return ar.store(ar.zeros(form.limbs, (x[0].shape[0],)))
        return ar.store(_lanes(ar, kind, ar.load(x), None))


def _lanes(
    ar: Arithmetic, kind: str, x: Value, y: Value | None, accuracy: str = "accurate"
) -> Value:
    """Lanes in order, then the tree over lanes, then the tree over chunks."""
    nets = steps(ar.form, kind, accuracy)
    period = ar.form.accumulator(accuracy).period
    first = IDENTITY[kind]
    fill = first if kind in ("max", "min") else 0.0
    xs = _by_lane(x, fill)
    ys = None if y is None else _by_lane(tuple(w[None, :] for w in y), 0.0)
    rows, count, length, lanes = xs[0].shape
    state = ar.zeros(nets["step"].result.words, (rows, count, lanes), first)
    done = _chunk_lengths(x[0].shape[1], count)
    for i in range(length):
        active = (i * lanes < done)[None, :, None]
        terms = [tuple(w[:, :, i, :] for w in xs)]
        if ys is not None:
            terms.append(tuple(np.broadcast_to(w[:, :, i, :], state[0].shape) for w in ys))
        new = ar.run(nets["step"], state, *terms)
        if "renormalise" in nets and (i + 1) % period == 0:
            new = ar.run(nets["renormalise"], new)
        state = tuple(np.where(active, n, s) for n, s in zip(new, state, strict=True))
    value = ar.run(nets["finish"], state)
    value = _tree(ar, nets["combine"], value)
    value = tuple(w[..., 0] for w in _tree_of_chunks(ar, nets["combine"], value))
    if kind in ("dot", "sum") and not np.isfinite(value[0]).all():
        return patched(
            value, _leading_lanes(ar, xs[0], None if ys is None else ys[0], x[0].shape[1])
        )
    return value


def _by_lane(value: Value, fill: float) -> Value:
    """Rows (m, n) as (m, chunks, steps, lanes), extended by (*fill*, 0, 0 ...)."""
    rows, n = value[0].shape
    chunks = -(-n // definition.CHUNK)
    shape = (rows, chunks, definition.CHUNK // definition.LANES, definition.LANES)
    result = []
    for i, word in enumerate(value):
        padded = np.full((rows, chunks * definition.CHUNK), 0.0 if i else fill, word.dtype)
        padded[:, :n] = word
        result.append(padded.reshape(shape))
    return tuple(result)


def _chunk_lengths(n: int, chunks: int) -> Plane:
    starts = np.arange(chunks) * definition.CHUNK
    return np.minimum(n - starts, definition.CHUNK)


def _tree(ar: Arithmetic, combine: Network, value: Value) -> Value:
    """Combine the last axis (LANES) pairwise with halving distance; drop it."""
    distance = definition.LANES // 2
    while distance:
        value = ar.run(
            combine,
            tuple(w[..., :distance] for w in value),
            tuple(w[..., distance : 2 * distance] for w in value),
        )
        distance //= 2
    return tuple(w[..., 0] for w in value)


def _tree_of_chunks(ar: Arithmetic, combine: Network, value: Value) -> Value:
    """Combine the last axis pairwise with halving distance, missing partners skipped."""
    count = value[0].shape[-1]
    distance = 1
    while distance < count:
        distance *= 2
    distance //= 2
    while distance:
        upper = tuple(w[..., distance:count] for w in value)
        width = upper[0].shape[-1]
        if width:
            merged = ar.run(combine, tuple(w[..., :width] for w in value), upper)
            value = tuple(
                np.concatenate([m, w[..., width:distance]], axis=-1)
                for m, w in zip(merged, value, strict=True)
            )
        count = min(count, distance)
        distance //= 2
    return value


def _leading_lanes(ar: Arithmetic, x: Plane, y: Plane | None, n: int) -> Plane:
    """The same lanes and trees on leading limbs alone; each lane stops at the last element."""
    chain = np.zeros((x.shape[0], x.shape[1], x.shape[3]), x.dtype)
    counts = _chunk_lengths(n, x.shape[1])[:, None]
    for i in range(x.shape[2]):
        term = x[:, :, i, :]
        if y is None:
            longer = chain + term
        else:
            longer = ieee.fma(term, np.broadcast_to(y[:, :, i, :], chain.shape), chain)
        active = i * x.shape[3] + np.arange(x.shape[3]) < counts
        chain = np.where(active[None], longer, chain)
    add = networks.get("add1")
    lanes = _tree(ar, add, (chain,))
    return _tree_of_chunks(ar, add, lanes)[0][..., 0]


def solve(form: Format, a: Host, b: Host) -> Host:
    """x of a x = b for a (n, n), b (n, r): LU with partial pivoting on [a b]."""
    ar = Arithmetic(form)
    n = a[0].shape[0]
    with ieee.quiet():
        w = [np.concatenate(pair, axis=1) for pair in zip(a, b, strict=True)]

        def part(rows: Any, cols: Any) -> Value:
            return ar.load([p[rows, cols] for p in w])

        def put(rows: Any, cols: Any, value: Value) -> None:
            for plane, stored in zip(w, ar.store(value), strict=True):
                plane[rows, cols] = stored

        for col in range(n):
            sizes = np.nan_to_num(np.abs(w[0][col:, col]), nan=-1.0, posinf=np.inf)
            pivot = col + int(np.argmax(sizes))
            if not sizes.max() > 0:
                raise ArgumentError("a: the matrix is singular (a pivot is zero or NaN)")
            if pivot != col:
                for plane in w:
                    plane[[col, pivot]] = plane[[pivot, col]]
            below, right = slice(col + 1, n), slice(col + 1, None)
            top = part(slice(col, col + 1), slice(col, col + 1))
            left = part(below, slice(col, col + 1))
            if left[0].size:
                wide = tuple(np.broadcast_to(t, left[0].shape) for t in top)
                put(below, slice(col, col + 1), ar.operator("div", left, wide))
                _eliminate(ar, part, put, below, col, right)
        for col in range(n - 1, -1, -1):
            row, rhs = slice(col, col + 1), slice(n, None)
            x = part(row, rhs)
            top = part(row, row)
            put(row, rhs, ar.operator("div", x, tuple(np.broadcast_to(t, x[0].shape) for t in top)))
            if col:
                _eliminate(ar, part, put, slice(0, col), col, rhs)
        return [p[:, n:] for p in w]


def _eliminate(ar: Arithmetic, part: Any, put: Any, rows: slice, col: int, cols: slice) -> None:
    """w[rows, cols] += (-w[rows, col]) w[col, cols]."""
    target = part(rows, cols)
    shape = target[0].shape
    left = ar.operator("neg", part(rows, slice(col, col + 1)))
    top = part(slice(col, col + 1), cols)
    put(
        rows, cols,
        ar.operator(
            "fma",
            tuple(np.broadcast_to(v, shape) for v in left),
            tuple(np.broadcast_to(v, shape) for v in top),
            target,
        ),
    )  # fmt: skip


def nrm2(form: Format, x: Host) -> Host:
    """The Euclidean norm, scaled by a power of two (portmp.blas.nrm2)."""
    flat = [p.reshape(-1) for p in x]
    exponent = norm_exponent(form.word, float(np.abs(flat[0]).max()) if flat[0].size else 0.0)
    if exponent is None:
        return elementwise(form, "sqrt", dot(form, flat, flat))
    zeros = [0.0] * (form.limbs - 1)
    scaled = scal(form, [np.dtype(form.word).type(math.ldexp(1.0, -exponent)), *zeros], flat)
    root = elementwise(form, "sqrt", dot(form, scaled, scaled))
    return scal(form, [np.dtype(form.word).type(math.ldexp(1.0, exponent)), *zeros], root)


def lstsq(form: Format, a: Host, b: Host) -> Host:
    """Least squares by the normal equations."""
    at = [p.T for p in a]
    return solve(form, gemm(form, at, a), gemm(form, at, b))


def gravity(
    form: Format, targets: Host, sources: Host, mass: Host, eps2: Sequence[Any],
    first: int | None = None,
) -> tuple[Host, Host]:  # fmt: skip
    """Accelerations (n, 3) and potentials (n,): see routines.nbody; *first* as there."""
    ar = Arithmetic(form)
    nets = nbody.steps(form, guarded=not float(eps2[0]) >= float(np.finfo(form.word).tiny))
    accumulator = form.accumulator()
    with ieee.quiet():
        t, r, m = ar.load(targets), ar.load(sources), ar.load(mass)
        n, count = t[0].shape[0], r[0].shape[0]
        soft = tuple(np.full(n, w, ar.word) for w in ar.load(eps2))
        totals: list[Value] | None = None
        for slab in range(0, count, definition.SLAB):
            sums = [ar.zeros(accumulator.networks["accumulate"].result.words, (n,))] * 4
            end = min(slab + definition.SLAB, count)
            for j in range(slab, end):
                source = [tuple(np.full(n, w[j, k]) for w in r) for k in range(3)]
                weight = tuple(np.full(n, w[j]) for w in m)
                d = [ar.run(nets["sub"], source[k], tuple(w[:, k] for w in t)) for k in range(3)]
                y = ar.run(nets["inverse"], *d, soft)
                if first is not None and 0 <= j - first < n:
                    own = np.arange(n) == j - first
                    y = tuple(np.where(own, w.dtype.type(0), w) for w in y)
                strength = ar.run(nets["strength"], y, weight)
                terms = [*((strength, d[k]) for k in range(3)), (y, weight)]
                sums = [
                    ar.run(nets["accumulate"], s, *term)
                    for s, term in zip(sums, terms, strict=True)
                ]
                if "renormalise" in nets and (j + 1 - slab) % accumulator.period == 0:
                    sums = [ar.run(nets["renormalise"], s) for s in sums]
            parts = [ar.run(nets["finish"], s) for s in sums]
            if totals is not None:
                parts = [ar.operator("add", a, b) for a, b in zip(totals, parts, strict=True)]
            totals = parts
        if totals is None:
            totals = [ar.zeros(form.limbs, (n,))] * 4
        totals[3] = tuple(-w for w in totals[3])
        settled = [patched(total, total[0]) for total in totals]
        force = [np.stack(w, axis=-1) for w in zip(*settled[:3], strict=True)]
        return ar.store(force), ar.store(settled[3])
