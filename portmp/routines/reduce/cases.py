"""What ``verify`` compares of DOT, GEMV, sums, extrema and norms."""

from collections.abc import Callable, Iterator
from operator import methodcaller

import numpy as np

from portmp import definition
from portmp.formats import Format, inputs
from portmp.routines.case import Case, In, ended, sums, transposed
from portmp.routines.reduce import reference
from portmp.routines.reference import Host

TAIL = definition.CHUNK + 77
"""Elements of a row of two chunks."""


def cases(form: Format) -> Iterator[Case]:
    """The cases of a format; those stored short, and rounded, have fewer."""
    if not form.coded:
        for name, x, y in _pairs(form):
            yield from sums("dot", name, form, (x, y), reference.dot)
        yield from _rows(form)
        yield from _products(form)
        yield from _norms(form)
    elif form.rounding == "nearest":
        yield from _short(form)


def _pairs(form: Format) -> Iterator[tuple[str, Host, Host]]:
    """Vectors for DOT, by name."""

    def pair(make: Callable[..., Host], n: int) -> tuple[Host, Host]:
        return make(form, (n,), f"dot x {n}"), make(form, (n,), f"dot y {n}")

    for n in (1, 31, 33, TAIL):
        yield (f"ordinary-{n}", *pair(inputs.ordinary, n))
    yield ("positive-3000", *pair(inputs.positive, 3000))
    x, _ = pair(inputs.cancelling, 1001)
    yield "cancelling-1001", x, inputs.positive(form, (1001,), "dot y")
    yield ("wide-97", *pair(inputs.wide, 97))
    x, y = pair(inputs.ordinary, 200)
    yield "infinite-200", inputs.with_specials(x, "inf", (np.inf,)), y
    yield "opposite-200", inputs.with_specials(x, "opp", (np.inf, -np.inf, 0.0)), y
    yield "nan-200", inputs.with_specials(x, "nan", (np.nan,)), y


def _rows(form: Format) -> Iterator[Case]:
    matrices = {
        f"ordinary-{m}x{n}": inputs.ordinary(form, (m, n), "sum")
        for m, n in ((1, 1), (3, 50), (2, definition.CHUNK + 5))
    }
    matrices["wide-4x61"] = inputs.wide(form, (4, 61), "sum")
    plain = inputs.ordinary(form, (4, 40), "sum")
    matrices["special-4x40"] = inputs.with_specials(plain, "s", (np.inf, np.nan, -0.0))
    for name, x in matrices.items():
        for kind in ("sum", "prod", "max", "min"):
            yield _row_by_row(form, kind, name, x)
    x = inputs.ordinary(form, (3, 50), "mean")
    yield Case("mean", "ordinary-3x50", form, (x,), "mean", reference.mean, {"axis": -1})
    yield Case("var", "ordinary-3x50", form, (x,), "var", reference.var, {"axis": -1})


def _row_by_row(form: Format, kind: str, name: str, x: Host) -> Case:
    def on_host(form: Format, x: Host) -> Host:
        return reference.over_rows(form, kind, x)

    return Case(f"reduce_{kind}", name, form, (x,), methodcaller(kind, axis=-1), on_host)


def _products(form: Format) -> Iterator[Case]:
    for name, make, (m, n) in (
        ("ordinary-5x300", inputs.ordinary, (5, 300)),
        ("wide-6x65", inputs.wide, (6, 65)),
        ("ordinary-37x1", inputs.ordinary, (37, 1)),
    ):
        a, x, y = make(form, (m, n), "a"), make(form, (n,), "x"), make(form, (m,), "y")
        yield _case(form, name, a, x)
        yield ended(_case(form, f"alpha-beta-{name}", a, x), y=y)
        yield _transposed(form, f"transposed-{name}", a, make(form, (m,), "xt"))
    a, x = inputs.cancelling(form, (5, 333), "a"), inputs.positive(form, (333,), "x")
    yield from sums("gemv", "cancelling-5x333", form, (a, x), reference.gemv)
    a = inputs.with_specials(inputs.ordinary(form, (7, 90), "a"), "gemv", (np.inf, np.nan, -np.inf))
    x = inputs.ordinary(form, (90,), "x")
    yield _case(form, "special-7x90", a, x)


def _case(form: Format, name: str, a: Host, x: Host) -> Case:
    return Case("gemv", name, form, (a, x), "gemv", reference.gemv)


def _transposed(form: Format, name: str, a: Host, x: Host) -> Case:
    def on_host(form: Format, a: Host, x: Host) -> Host:
        return reference.gemv(form, transposed(a), x)

    return Case("gemv", name, form, (a, x), "gemv", on_host, {"trans": True})


def _norms(form: Format) -> Iterator[Case]:
    for name, x in (
        ("ordinary-150", inputs.ordinary(form, (150,), "nrm2")),
        ("wide-150", inputs.wide(form, (150,), "nrm2")),
        ("hostile-200", inputs.hostile(form, 200, "nrm2")),
    ):
        yield Case("nrm2", name, form, (x,), "nrm2", reference.nrm2)


def _short(form: Format) -> Iterator[Case]:
    """What is read short and summed in the parent's words."""
    for name, x, y in _pairs(form):
        if name in ("ordinary-33", "wide-97", f"ordinary-{TAIL}", "nan-200"):
            yield Case("dot", name, form, (x, y), "dot", reference.dot)
    x = inputs.ordinary(form, (2, definition.CHUNK + 5), "sum")
    yield _row_by_row(form, "sum", f"ordinary-2x{definition.CHUNK + 5}", x)
    a, x = inputs.ordinary(form, (5, 300), "a"), inputs.ordinary(form, (300,), "x")
    y, parent = inputs.ordinary(form, (5,), "y"), form.arithmetic
    yield ended(_case(form, "alpha-beta-5x300", a, x), y=y)
    yield _transposed(form, "transposed-5x300", a, y)
    special = inputs.with_specials(a, "gemv", (np.inf, np.nan, -np.inf))
    yield Case(
        "gemv",
        "short-matrix-5x300",
        form,
        (special, In(parent, x)),
        "gemv",
        lambda f, a, x: reference.gemv(parent, a, x),
    )
