"""What ``verify`` compares of products of matrices."""

from collections.abc import Iterator

import numpy as np

from portmp.formats import Format, inputs
from portmp.routines.case import Case, ended, of_turned, scalar, sums
from portmp.routines.gemm import reference
from portmp.routines.reference import Host


def cases(form: Format) -> Iterator[Case]:
    """The cases of a format; those stored short have fewer."""
    return _short(form) if form.coded else _all(form)


def _all(form: Format) -> Iterator[Case]:
    for name, make, (m, n, k) in (
        ("ordinary-7x5x33", inputs.ordinary, (7, 5, 33)),
        ("ordinary-1x1x1", inputs.ordinary, (1, 1, 1)),
        ("ordinary-17x19x23", inputs.ordinary, (17, 19, 23)),
        ("wide-9x8x20", inputs.wide, (9, 8, 20)),
        ("slabs-3x2x1100", inputs.ordinary, (3, 2, 1100)),
        ("positive-2x3x600", inputs.positive, (2, 3, 600)),
    ):
        a, b = make(form, (m, k), f"a {name}"), make(form, (k, n), f"b {name}")
        yield from sums("gemm", name, form, (a, b), reference.gemm)
    a, b = inputs.ordinary(form, (6, 30), "a"), inputs.ordinary(form, (30, 11), "b")
    c = inputs.ordinary(form, (6, 11), "c")
    yield ended(_case(form, "alpha-beta-6x11x30", a, b), c=c)
    one = scalar(form, "1")
    yield Case(
        "gemm",
        "beta-one-6x11x30",
        form,
        (a, b),
        "gemm",
        lambda f, a, b: reference.gemm(f, a, b, (), one, c),
        {"beta": 1, "c": c},
    )
    yield of_turned(_case(form, "transposed-6x11x30", a, b))
    cancelling = inputs.cancelling(form, (4, 101), "a")
    positive = inputs.positive(form, (101, 4), "b")
    yield from sums("gemm", "cancelling-4x4x101", form, (cancelling, positive), reference.gemm)
    special = inputs.with_specials(a, "gemm", (np.inf, -np.inf, np.nan))
    zeros = inputs.with_specials(b, "gemm b", (0.0, np.inf))
    yield from sums("gemm", "special-6x11x30", form, (special, zeros), reference.gemm)
    batch = inputs.ordinary(form, (3, 5, 14), "batch")
    yield Case("gemm", "batch-3x5x11x14", form, (batch, [p[:14] for p in b]), "gemm", _batch)


def _short(form: Format) -> Iterator[Case]:
    a, b = inputs.ordinary(form, (17, 23), "a"), inputs.ordinary(form, (23, 19), "b")
    c = inputs.ordinary(form, (17, 19), "c")
    yield ended(_case(form, "alpha-beta-17x19x23", a, b), c=c)
    if form.rounding != "nearest":
        return
    for name, (m, n, k) in (("slabs-3x2x1100", (3, 2, 1100)), ("ordinary-40x35x9", (40, 35, 9))):
        a, b = inputs.ordinary(form, (m, k), f"a {name}"), inputs.wide(form, (k, n), f"b {name}")
        yield _case(form, name, a, b)
    yield of_turned(_case(form, "transposed-40x35x9", a, b))


def _case(form: Format, name: str, a: Host, b: Host) -> Case:
    return Case("gemm", name, form, (a, b), "gemm", reference.gemm)


def _batch(form: Format, a: Host, b: Host) -> Host:
    results = [reference.gemm(form, [p[i] for p in a], b) for i in range(a[0].shape[0])]
    return [np.stack(planes) for planes in zip(*results, strict=True)]
