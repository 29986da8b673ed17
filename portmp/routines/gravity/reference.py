"""Gravity by direct summation on the host, bit for bit as on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import definition
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines import gravity as gravity_routine
from portmp.routines.reference import Arithmetic, Host, Value, patched


def gravity(
    form: Format, targets: Host, sources: Host, mass: Host, eps2: Sequence[Any],
    first: int | None = None,
) -> tuple[Host, Host]:  # fmt: skip
    """Accelerations (n, 3) and potentials (n,): see routines.nbody; *first* as there."""
    ar = Arithmetic(form)
    nets = gravity_routine.steps(
        form, guarded=not float(eps2[0]) >= float(np.finfo(form.word).tiny)
    )
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
