"""Gravity by direct summation on the host, bit for bit as on devices."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import definition, formats, networks
from portmp.errors import ArgumentError, FormatError
from portmp.formats import Format
from portmp.networks import Network, ieee
from portmp.networks.gravity import ROOTS, roles
from portmp.routines import base
from portmp.routines.reference import Arithmetic, Host, Value, patched

BOTH = ("acceleration", "potential")


def check_root(form: Format, root: str) -> None:
    """ArgumentError where the host has no such root of the format's words."""
    if root == "rounded" and form.word == "float64":
        known = ", ".join(kind for kind in ROOTS if kind != root)
        raise ArgumentError(f"root: {root!r} given, the host has for {form.word}: {known}")


def gravity(
    form: Format,
    targets: Host,
    sources: Host,
    mass: Host,
    eps2: Sequence[Any],
    first: int | None = None,
    root: str = "exact",
    wanted: Sequence[str] = BOTH,
) -> list[Host]:
    """Accelerations (n, 3) and potentials (n,), as far as *wanted*: see routines.gravity.

    *first* as there.
    """
    ar = Arithmetic(form)
    guarded = not float(eps2[0]) >= float(np.finfo(form.word).tiny)
    nets = steps(form, root, guarded)
    accumulator = form.accumulator()
    with ieee.quiet():
        t, r, m = ar.load(targets), ar.load(sources), ar.load(mass)
        n, count = t[0].shape[0], r[0].shape[0]
        soft = tuple(np.full(n, w, ar.word) for w in ar.load(eps2))
        columns = 3 * (BOTH[0] in wanted) + (BOTH[1] in wanted)
        totals: list[Value] | None = None
        for slab in range(0, count, definition.SLAB):
            state = [ar.zeros(accumulator.networks["accumulate"].result.words, (n,))] * columns
            end = min(slab + definition.SLAB, count)
            for j in range(slab, end):
                source = [tuple(np.full(n, w[j, k]) for w in r) for k in range(3)]
                weight = tuple(np.full(n, w[j]) for w in m)
                d = [ar.run(nets["sub"], source[k], tuple(w[:, k] for w in t)) for k in range(3)]
                y = ar.run(nets["inverse"], *d, soft)
                if first is not None and 0 <= j - first < n:
                    own = np.arange(n) == j - first
                    y = tuple(np.where(own, w.dtype.type(0), w) for w in y)
                terms = []
                if BOTH[0] in wanted:
                    strength = ar.run(nets["strength"], y, weight)
                    terms += [(strength, d[k]) for k in range(3)]
                if BOTH[1] in wanted:
                    terms.append((y, weight))
                state = [
                    ar.run(nets["accumulate"], s, *term)
                    for s, term in zip(state, terms, strict=True)
                ]
                if "renormalise" in nets and (j + 1 - slab) % definition.GRAVITY_PERIOD == 0:
                    state = [ar.run(nets["renormalise"], s) for s in state]
            parts = [ar.run(nets["finish"], s) for s in state]
            if totals is not None:
                parts = [ar.operator("add", a, b) for a, b in zip(totals, parts, strict=True)]
            totals = parts
        if totals is None:
            totals = [ar.zeros(form.limbs, (n,))] * columns
        if BOTH[1] in wanted:
            totals[-1] = tuple(-w for w in totals[-1])
        settled = [patched(total, total[0]) for total in totals]
        found = []
        if BOTH[0] in wanted:
            force = [np.stack(w, axis=-1) for w in zip(*settled[:3], strict=True)]
            found.append(ar.store(force))
        if BOTH[1] in wanted:
            found.append(ar.store(settled[-1]))
        return found


def steps(form: Format, root: str = "exact", guarded: bool = True) -> dict[str, Network]:
    """The networks of a sum of interactions; FormatError for a paper's own format."""
    if form.paper:
        known = ", ".join(formats.STANDARD)
        raise FormatError(
            f"nbody: format {form.name} given, a paper's own arithmetic, in which there is no "
            f"gravity; allowed are {known}"
        )
    base.computes(form, "nbody")
    form.operator("sub")  # derives the plain difference
    return {
        **roles(form.limbs, form.word, root, guarded),
        "sub": networks.get(f"sub{form.limbs}"),
        **form.accumulator().networks,
        "add": form.operator("add"),
    }
