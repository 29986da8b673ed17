"""DOT, GEMV, sums and norms on the host, bit for bit as on devices."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import definition, networks
from portmp.definition import norm_exponent
from portmp.formats import Format, convert
from portmp.networks import Network, ieee
from portmp.routines.elementwise.reference import elementwise, scal
from portmp.routines.reference import Arithmetic, Host, Plane, Value, ended, is_number, patched


def gemv(
    form: Format,
    a: Host,
    x: Host,
    alpha: Sequence[Any] = (),
    beta: Sequence[Any] = (),
    y: Host | None = None,
    accuracy: str = "accurate",
) -> Host:
    """alpha a x + beta y for a (m, n), x (n,)."""
    ar = Arithmetic(form)
    form.accumulator(accuracy)  # refuses one that there is not, also where nothing is summed
    product = None
    if a[0].shape[1] and not (alpha and is_number(ar.load(alpha), 0)):
        with ieee.quiet():
            product = _lanes(ar, "dot", ar.load(a), ar.load(x), accuracy)
    return ended(form, a[0].shape[:1], product, alpha, beta, y)


def dot(form: Format, x: Host, y: Host, accuracy: str = "accurate") -> Host:
    """sum_i x_i y_i."""
    return [p[0] for p in gemv(form, [p[None, :] for p in x], y, accuracy=accuracy)]


def over_rows(form: Format, kind: str, x: Host) -> Host:
    """sum, prod, max or min of each row."""
    ar = Arithmetic(form)
    with ieee.quiet():
        if not x[0].shape[1]:
            return ar.store(ar.zeros(form.limbs, (x[0].shape[0],), IDENTITY[kind]))
        return ar.store(_lanes(ar, kind, ar.load(x), None))


def mean(form: Format, x: Host) -> Host:
    """The sum of each row divided by its length."""
    return elementwise(form, "div", over_rows(form, "sum", x), _whole(form, x[0].shape[1]))


def var(form: Format, x: Host) -> Host:
    """The sum of the squares of differences from the mean, divided by the length, of each row."""
    centre = [word[:, None] for word in mean(form, x)]
    distance = elementwise(form, "sub", x, centre)
    squares = elementwise(form, "mul", distance, distance)
    return elementwise(form, "div", over_rows(form, "sum", squares), _whole(form, x[0].shape[1]))


def _whole(form: Format, number: int) -> Host:
    """A small integer as planes of shape ()."""
    words = convert.round_to_limbs(number, form)
    return [np.asarray(word, form.dtype(i)) for i, word in enumerate(words)]


def chunks(form: Format, kind: str, accuracy: str, x: Host, y: Host | None = None) -> Host:
    """What each chunk of a vector comes to, in words."""
    ar = Arithmetic(form)
    with ieee.quiet():
        row = tuple(word[None] for word in ar.load(x))
        found = _chunks(ar, kind, row, None if y is None else ar.load(y), accuracy)
    return [word[0] for word in found]


def combined(form: Format, kind: str, values: Host) -> Host:
    """What chunks come to, as one element."""
    ar = Arithmetic(form)
    with ieee.quiet():
        combine = steps(form, kind, "accurate")["combine"]
        return [word[:1] for word in _tree_of_chunks(ar, combine, ar.load(values))]


def _lanes(
    ar: Arithmetic, kind: str, x: Value, y: Value | None, accuracy: str = "accurate"
) -> Value:
    """What chunks come to, then the tree over them."""
    nets = steps(ar.form, kind, accuracy)
    value = _chunks(ar, kind, x, y, accuracy)
    value = tuple(w[..., 0] for w in _tree_of_chunks(ar, nets["combine"], value))
    if kind in ("dot", "sum") and not np.isfinite(value[0]).all():
        xs, ys = _by_lane(x[:1], 0.0)[0], None if y is None else _by_lane((y[0][None],), 0.0)[0]
        leading = _leading_lanes(ar, xs, ys, x[0].shape[1])
        return patched(value, leading, ar.form.bounded)
    return value


def _chunks(ar: Arithmetic, kind: str, x: Value, y: Value | None, accuracy: str) -> Value:
    """Lanes in order, then the tree over lanes: (rows, chunks)."""
    nets = steps(ar.form, kind, accuracy)
    period = ar.form.accumulator(accuracy).period
    first = IDENTITY[kind]
    xs = _by_lane(x, first)
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
    return _tree(ar, nets["combine"], ar.run(nets["finish"], state))


def _by_lane(value: Value, fill: float) -> Value:
    """Rows (m, n) as (m, chunks, steps, lanes), extended by (*fill*, 0, 0 ...)."""
    rows, n = value[0].shape
    chunks = -(-n // definition.CHUNK)
    # One chunk takes as many steps as it has elements for.
    length = min(definition.CHUNK, -(-n // definition.LANES) * definition.LANES)
    shape = (rows, chunks, length // definition.LANES, definition.LANES)
    result = []
    for i, word in enumerate(value):
        padded = np.full((rows, chunks * length), 0.0 if i else fill, word.dtype)
        padded[:, :n] = word
        result.append(padded.reshape(shape))
    return tuple(result)


def _chunk_lengths(n: int, chunks: int) -> Plane:
    starts = np.arange(chunks) * definition.CHUNK
    return np.minimum(n - starts, definition.CHUNK)


def _tree(ar: Arithmetic, combine: Network, value: Value) -> Value:
    """Combine the last axis (LANES) pairwise with halving distance; drop it."""
    for distance in definition.halvings(definition.LANES):
        value = ar.run(
            combine,
            tuple(w[..., :distance] for w in value),
            tuple(w[..., distance : 2 * distance] for w in value),
        )
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


def nrm2(form: Format, x: Host) -> Host:
    """The Euclidean norm, scaled by a power of two (portmp.nrm2)."""
    flat = [p.reshape(-1) for p in x]
    exponent = norm_exponent(form.word, float(np.abs(flat[0]).max()) if flat[0].size else 0.0)
    if exponent is None:
        return elementwise(form, "sqrt", dot(form, flat, flat))
    zeros = [0.0] * (form.limbs - 1)
    scaled = scal(form, [np.dtype(form.word).type(math.ldexp(1.0, -exponent)), *zeros], flat)
    root = elementwise(form, "sqrt", dot(form, scaled, scaled))
    return scal(form, [np.dtype(form.word).type(math.ldexp(1.0, exponent)), *zeros], root)


IDENTITY = {"dot": 0.0, "sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def steps(form: Format, kind: str, accuracy: str = "accurate") -> dict[str, Network]:
    """The networks of a reduction: step, finish, combine, and renormalise where it is needed."""
    keep = networks.get(f"keep{form.limbs}")
    if kind == "dot":
        accumulator = form.accumulator(accuracy)
        nets = accumulator.networks
        found = {
            "step": nets["accumulate"],
            "finish": nets["finish"],
            "combine": form.operator("add"),
        }
        # Where a lane of a chunk is long enough for it.
        if accumulator.period < definition.CHUNK // definition.LANES:
            found |= {role: nets[role] for role in ("renormalise",) if role in nets}
        return found
    if kind == "sum":
        return {"step": form.network("add"), "finish": keep, "combine": form.operator("add")}
    operator = form.operator("mul" if kind == "prod" else kind)
    return {"step": operator, "finish": keep, "combine": operator}
