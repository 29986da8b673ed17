"""What storing short does to sums of products: errors by length, rounded and truncated.

Two ways: a matrix is stored short and multiplies vectors of its parent (only inputs are rounded),
and a running sum is stored short after each product. All terms are positive, so that what
truncation takes away adds up. Errors are over the sum of the terms, in units of 2^-p, p the bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

import portmp as mp
from portmp import formats
from portmp.arrays import blas, elementwise
from portmp.arrays.array import Array
from portmp.bench import exact, runner
from portmp.bench.experiment import Case
from portmp.bench.papers.slfp.measured import ONE_LIMB, Bench
from portmp.bench.tables import Row
from portmp.bench.values import Plane, Values, power_of_two
from portmp.formats import Format, encode
from portmp.routines.work import Entry, Walk
from portmp.runtime import planes

INPUTS, SUMS = "inputs", "sums"
"""What is stored short: a matrix, or running sums."""
LENGTHS = (2**6, 2**10, 2**14, 2**18)
TRIALS = 4
"""Rows of inputs stored short whose errors are averaged: few, as exact sums take long."""
STEPS = (2**4, 2**6, 2**8, 2**10)
"""Products after which running sums are looked at."""
LANES = 256
"""Running sums at once."""
Wanted = Mapping[int, Sequence[Entry]]
"""What rows should be, by their length."""


def cases(bench: Bench) -> Iterator[Case]:
    """Both tables, for each format and rounding."""
    lengths = [n for n in LENGTHS if n <= max(LENGTHS[0], bench.size or LENGTHS[-1])]
    took = [0.0]
    for parent, shorts in ONE_LIMB.items():
        form = formats.get(parent)
        if not bench.computes(form):
            bench.skip("accuracy", f"formats of {parent}", f"{bench.device.name} has no float64")
            continue
        values = Values(form, positive=True)
        wanted = {n: _exact(values, n) for n in lengths}
        for name in shorts:
            yield Case(name, partial(_measured, bench, name, values, wanted, took), took[0])


def _measured(
    bench: Bench, name: str, values: Values, wanted: Wanted, took: list[float]
) -> list[Row]:
    """A format's rows in both roundings; *took*: the seconds of the last one."""
    forms = [formats.rounded_as(formats.get(name), r) for r in formats.ROUNDINGS]
    shortest = min(wanted)
    with bench.budget.beside():  # kernels are compiled
        for form in forms:
            _inputs(bench, form, values, {shortest: wanted[shortest]})
            _sums(bench, form, values, 1)
    start = bench.budget.passed()
    rows: list[Row] = []
    for form in forms:
        rows += _inputs(bench, form, values, wanted)
        rows += _sums(bench, form, values, STEPS[-1])
    took[0] = bench.budget.passed() - start
    return rows


def _exact(values: Values, n: int) -> list[Entry]:
    """What the rows times the vector should be."""
    return [values.dot(Walk(i * n), Walk(values.period // 2), n) for i in range(TRIALS)]


def _inputs(bench: Bench, form: Format, values: Values, wanted: Wanted) -> list[Row]:
    """Rows of n positive numbers stored short, times a vector that is not."""
    rows: list[Row] = []
    for n, entries in wanted.items():
        queue = bench.device.queue
        matrix = Array(planes.upload(form, values.take(0, (TRIALS, n)), queue))
        vector = values.take(values.period // 2, (n,))
        out = blas.gemv(matrix, Array(planes.upload(values.form, vector, queue)))
        errors = []
        for i, entry in enumerate(entries):
            found = exact.fraction(runner.entry_of(out, i))
            assert found is not None
            errors.append(float((found - entry.exact) / power_of_two(-form.bits)) / entry.terms)
        rows.append({"what": INPUTS, **_about(form), "n": n, **_spread(errors)})
    return rows


def _sums(bench: Bench, form: Format, values: Values, length: int) -> list[Row]:
    """Sums of products of numbers that the format holds, stored after each product."""
    stored = partial(encode.stored, form)
    x, y = (stored(values.take(at, (length, LANES))) for at in (0, values.period // 2))
    terms = (x[0].astype(np.float64) * y[0].astype(np.float64)).cumsum(axis=0)
    a, b = (Array(planes.upload(form, v, bench.device.queue)) for v in (x, y))
    total = mp.zeros((LANES,), form, bench.device)
    rows: list[Row] = []
    for k in range(length):
        total = elementwise.fma(a[k], b[k], total)
        if k + 1 in STEPS:
            off = (total.to_float64() - terms[k]) / terms[k] * 2.0**form.bits
            rows.append({"what": SUMS, **_about(form), "n": k + 1, **_spread(off)})
    return rows


def _about(form: Format) -> Row:
    return {"format": form.name.removesuffix("_rz"), "rounding": form.rounding}


def _spread(errors: Sequence[float] | Plane) -> Row:
    """The mean, which is what does not cancel, and the root of the mean square."""
    found = np.asarray(errors, np.float64)
    return {"mean": float(found.mean()), "rms": float(np.sqrt((found**2).mean()))}
