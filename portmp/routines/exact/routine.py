"""Correctly rounded sums and products, as one object."""

from collections.abc import Iterator
from dataclasses import replace
from operator import methodcaller

import numpy as np

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.case import ALPHA, BETA, Case, ended, scalar
from portmp.routines.exact import launch, reference
from portmp.routines.reference import Host
from portmp.routines.routine import Routine, Units

CORRECT = {"rounding": "correct"}
_SUM = methodcaller("sum", axis=-1, rounding="correct")


class Exact(Routine):
    """Sums and products that are rounded once."""

    name = "exact"

    def units(self, form: Format, device: Device | None) -> Units:
        """Products, the same with an addend and times alpha, sums, and how far results are off."""
        threads = base.threads(device, launch.THREADS)
        for name, factors, addend in (
            ("exact_product", 2, False),
            ("exact_product_and_more", 2, True),
            ("exact_sum", 1, False),
        ):
            yield name, launch.compilation_unit(form.name, factors, addend, threads)
        unit = launch.compilation_unit(form.name, 2, addend=True, threads=threads, scaled=True)
        yield "exact_product_times", unit
        for name, factors in (("exact_product_distances", 2), ("exact_sum_distances", 1)):
            unit = launch.compilation_unit(form.name, factors, False, threads, distances=True)
            yield name, unit

    def cases(self, form: Format) -> Iterator[Case]:
        if form.paper:
            return
        for n in (1, 33, 1000):
            x, y = inputs.wide(form, (n,), "exact x"), inputs.wide(form, (n,), "exact y")
            yield Case("exact_dot", f"wide-{n}", form, (x, y), "dot", reference.dot, CORRECT)
        x, y = cancelling(form, 501), inputs.positive(form, (1002,), "exact")
        ones = [np.full(1002, 0.0 if i else 1.0, p.dtype) for i, p in enumerate(x)]
        yield Case("exact_dot", "cancelling-1002", form, (x, ones), "dot", reference.dot, CORRECT)
        yield Case("exact_dot", "positive-1002", form, (x, y), "dot", reference.dot, CORRECT)
        yield Case("exact_sum", "extreme-4x300", form, (extreme(form),), _SUM, reference.over_rows)
        a, b, c = (inputs.wide(form, s, "exact") for s in ((5, 70), (70, 3), (5, 3)))
        plain = Case("exact_gemm", "wide-5x70x3", form, (a, b), "gemm", reference.gemm, CORRECT)
        yield plain
        yield replace(
            plain,
            name="beta-5x70x3",
            reference=lambda f, a, b: reference.gemm(f, a, b, None, scalar(f, BETA), c),
            options=CORRECT | {"beta": BETA, "c": c},
        )
        yield replace(
            plain,
            name="alpha-5x70x3",
            reference=lambda f, a, b: reference.gemm(f, a, b, alpha=scalar(f, ALPHA)),
            options=CORRECT | {"alpha": ALPHA},
        )
        yield ended(replace(plain, name="alpha-beta-5x70x3"), c=c)


def cancelling(form: Format, pairs: int) -> Host:
    """Numbers and their opposites, one of which is off by its last limb."""
    x = inputs.wide(form, (pairs,), "exact pairs")
    planes = [np.concatenate([p, -p[::-1]]) for p in x]
    planes[-1][pairs // 2] = 0
    return planes


def extreme(form: Format) -> Host:
    """Rows of the largest and the smallest numbers, and of what cancels."""
    x = [p.reshape(4, 300) for p in inputs.wide(form, (1200,), "exact extreme")]
    first, word = form.encodings[0], x[0].dtype.type
    largest = np.ldexp(word(2 - 2.0 ** (1 - first.bits)), first.overflow - 1)
    x[0][0, ::3], x[0][1, ::7] = largest, -largest
    x[0][2, :] = np.ldexp(word(1), first.smallest)
    for plane in x[1:]:
        plane[0, ::3], plane[1, ::7], plane[2, :] = 0, 0, 0
    for plane in x:
        plane[3, 150:] = -plane[3, :150]
    return x
