"""GEMM on the host, bit for bit as on devices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import definition
from portmp.formats import Accumulator, Format
from portmp.networks import ieee
from portmp.routines.reference import Arithmetic, Host, Plane, Value, ended, is_number, patched


def gemm(
    form: Format,
    a: Host,
    b: Host,
    alpha: Sequence[Any] = (),
    beta: Sequence[Any] = (),
    c: Host | None = None,
    accuracy: str = "accurate",
) -> Host:
    """alpha a b + beta c for a (m, k), b (k, n)."""
    ar, accumulator = Arithmetic(form), form.accumulator(accuracy)
    product = None
    if a[0].shape[1] and not (alpha and is_number(ar.load(alpha), 0)):
        with ieee.quiet():
            av, bv = ar.load(a), ar.load(b)
            product = _gemm_slabs(ar, av, bv, accumulator)
            if not np.isfinite(product[0]).all():
                product = patched(product, leading_gemm(av[0], bv[0]), form.bounded)
    return ended(form, (a[0].shape[0], b[0].shape[1]), product, alpha, beta, c)


TOGETHER = 2**15
"""Elements whose slabs are taken side by side: NumPy's calls cost more than short arrays."""


def _gemm_slabs(ar: Arithmetic, a: Value, b: Value, accumulator: Accumulator) -> Value:
    (m, k), n = a[0].shape, b[0].shape[1]
    total: Value | None = None
    first = 0
    while first < k:
        length = min(definition.SLAB, k - first)
        count = max(1, min(TOGETHER // max(1, m * n), (k - first) // length))
        end = first + count * length
        left = tuple(w[:, first:end].reshape(m, count, length).swapaxes(0, 1) for w in a)
        right = tuple(w[first:end].reshape(count, length, n) for w in b)
        parts = _slabs(ar, left, right, accumulator)
        for i in range(count):
            part = tuple(w[i] for w in parts)
            total = part if total is None else ar.operator("add", total, part)
        first = end
    assert total is not None
    return total


def _slabs(ar: Arithmetic, a: Value, b: Value, accumulator: Accumulator) -> Value:
    """The values of slabs, each by itself: a (slabs, m, steps), b (slabs, steps, n)."""
    nets = accumulator.networks
    renormalise = nets.get("renormalise")
    shape = (*a[0].shape[:2], b[0].shape[2])
    state = ar.zeros(nets["accumulate"].result.words, shape)
    steps = a[0].shape[2]
    for i in range(steps):
        left = tuple(np.broadcast_to(w[:, :, i, None], shape) for w in a)
        right = tuple(np.broadcast_to(w[:, None, i, :], shape) for w in b)
        state = ar.run(nets["accumulate"], state, left, right)
        if renormalise is not None and (i + 1) % accumulator.period == 0:
            state = ar.run(renormalise, state)
    return ar.run(nets["finish"], state)


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
