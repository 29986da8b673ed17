"""Tight bounds: not below the errors, in every format, and hardly above them, however long sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq
from slow import mostly_slow, one_in, slow
from test_certified_hostile import CASES, HOST, LONG, RANGE, Sums, exact, number

import portmp as mp
from portmp import formats
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError
from portmp.formats import inputs

ALL = [*formats.STANDARD, *formats.STORED]
EXACT = [name for name in ALL if formats.wider(formats.get(name)) is None]
"""Formats of four limbs, whose results are compared with exact sums."""
MORE = 10**4
"""Steps of a sum, at most, times what each product may lose."""
SMALLEST = {"float32": mpq(2) ** -149, "float64": mpq(2) ** -1074}


def test_which_formats_have_one_limb_more() -> None:
    """All but those of four limbs."""
    assert {formats.get(name).compute.name for name in EXACT} == {"qs", "qd"}
    assert {
        name: str(formats.wider(formats.get(name)))
        for name in ("float16", "float64", "d+s", "tsin80b")
    } == {"float16": "ds", "float64": "dd", "d+s": "td", "tsin80b": "qs"}


def near(pair: tuple[Array, Array], plain: Array, sums: Any, terms: Any = None) -> int:
    """Results are those without bounds, bounds are near errors; how many bounds are numbers.

    Bounds are at most 1.02 times the errors, and what the sums of *terms'* magnitudes give with one
    limb more. Of four limbs they are the errors, rounded up.
    """
    value, bound = pair
    form = value.format
    wide = formats.wider(form)
    for a, b in zip(value.to_limbs(), plain.to_limbs(), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    assert bound.shape == value.shape
    assert bound.format.name == form.word
    limits = np.atleast_1d(bound.to_limbs()[0]).ravel()
    planes = [np.atleast_1d(p).ravel() for p in value.to_limbs()]
    wanted = np.asarray(sums, object).ravel()
    sizes = None if terms is None else np.asarray(terms, object).ravel()
    word = np.dtype(form.word).type
    for i, limit in enumerate(limits):
        if not np.isfinite(limit):
            continue
        error = abs(sum((mpq(float(p[i])) for p in planes), mpq(0)) - wanted[i])
        assert error <= mpq(float(limit)), (i, float(limit))
        if wide is None:
            below = np.nextafter(limit, word(0))
            assert limit == 0 or mpq(float(below)) < error
        elif sizes is not None:
            more = sizes[i] * mpq(wide.unit_roundoff) + SMALLEST[form.word]
            assert mpq(float(limit)) <= mpq(102, 100) * error + MORE * more
    return int(np.isfinite(limits).sum())


def root_error(norm: mpq, square: mpq) -> mpq:
    """|norm - sqrt(square)|."""
    with gmpy2.context(gmpy2.get_context(), precision=4000, emin=-(10**6), emax=10**6):
        found = abs(gmpy2.sqrt(mpq(square)) - mpq(norm))
        return mpq(found)


def near_root(norm: Array, bound: Array, square: mpq) -> None:
    """The bound of one norm: not below the error, and at most 1.05 times it but for tiny ones."""
    limit = bound.to_limbs()[0].item()
    if not math.isfinite(limit):
        return
    value, form = number(norm), norm.format
    error = root_error(value, square)
    assert error <= mpq(limit)
    u = mpq(2) ** (-24 if form.word == "float32" else -53)
    unit = mpq(form.unit_roundoff)
    less = 99 * u * unit * abs(value) + 99 * SMALLEST[form.word]
    assert mpq(limit) <= mpq(105, 100) * error + less


def check(case: Sums, form: str, device: Any, subnormal: bool = False) -> int:
    """GEMM, GEMV, DOT, sums and norms of a case; how many bounds are numbers.

    *subnormal*: with subnormal numbers times large ones, where bounds add up more than T.
    """
    f = formats.get(form)
    a, b = (v if isinstance(v, Array) else mp.array(v, f, device) for v in (case.a, case.b))
    c = None if case.c is None else mp.array(case.c, f, device)
    xs, ys = exact(a), exact(b)
    product = np.dot(xs, ys) if a.shape[1] else np.full((a.shape[0], b.shape[1]), mpq(0))
    alpha, beta = (number(mp.array(v, f.arithmetic, HOST)) for v in (case.alpha, case.beta))
    sums = alpha * product + (0 if c is None else beta * exact(c))
    terms = abs(alpha) * (np.dot(abs(xs), abs(ys)) if a.shape[1] else 0 * abs(product))
    terms = terms + (0 if c is None else abs(beta * exact(c)))
    more = np.abs(xs).sum() + np.abs(ys).sum() if subnormal else 0
    terms = terms + more
    ends: dict[str, Any] = {"alpha": case.alpha, "beta": case.beta, "c": c}
    known = near(mp.gemm(a, b, bound="tight", **ends), mp.gemm(a, b, **ends), sums, terms)
    ends = {"alpha": case.alpha, "beta": case.beta, "y": None if c is None else c[:, 0]}
    found = mp.gemv(a, b[:, 0], bound="tight", **ends)
    known += near(found, mp.gemv(a, b[:, 0], **ends), sums[:, 0], terms[:, 0])
    found = mp.dot(a[0], b[:, 1], bound="tight")
    known += near(found, mp.dot(a[0], b[:, 1]), product[0, 1], abs(xs[0]) @ abs(ys[:, 1]) + more)
    for axis in (1, None):
        totals, sizes = (
            np.asarray(v.sum(axis=axis) if v.size else np.zeros(v.shape).sum(axis=axis))
            for v in (xs, abs(xs))
        )
        known += near(a.sum(axis=axis, bound="tight"), a.sum(axis=axis), totals, sizes)
    near_root(*mp.nrm2(a, bound="tight"), sum((v * v for v in xs.ravel()), mpq(0)))
    return known


FEW = ["float16_rz", "slfp32in16b", "tsin80b", "qdin192b", "fp64infp32"]


FAST = ["float64", "d+s", "qs", "ts"]
QUARTER = one_in(4, name=CASES, form=FAST)


@slow("the same code", unless=lambda p: p["form"] in FAST and QUARTER(p))
@pytest.mark.parametrize("form", [*formats.STANDARD, *FEW])
@pytest.mark.parametrize("name", CASES)
def test_hostile_sums(name: str, form: str) -> None:
    """On the host, at the ends of the range and with all that cancels."""
    subnormal = name == "largest and smallest"
    known = check(CASES[name](formats.get(form)), form, HOST, subnormal)
    assert known or name in RANGE or form.startswith("float16")


@pytest.mark.parametrize("form", ["float64", "ts"])
@pytest.mark.parametrize("name", LONG)
def test_hostile_sums_of_several_slabs(name: str, form: str) -> None:
    """Sums just below, at and above the lengths at which slabs end."""
    assert check(LONG[name](formats.get(form)), form, HOST)


@pytest.mark.parametrize(
    "form",
    mostly_slow(
        ALL,
        ["float64", "ts", "d+s", "qd", "float16", "slfp64in48b", "tsin80b", "fp64infp32_rz"],
        "storage formats compute as these",
    ),
)
def test_long_random_sums_are_within_two_percent(form: str) -> None:
    """Three thousand steps: what a bound without signs is hundreds of times above."""
    f = formats.get(form)
    x, y = (inputs.ordinary(f, s, "tight") for s in ((2, 3000), (3000, 2)))
    a, b = mp.from_limbs(x, f, HOST), mp.from_limbs(y, f, HOST)
    product = np.dot(exact(a), exact(b))
    found, limits = mp.gemm(a, b, bound="tight")
    for value, limit, wanted in zip(
        exact(found).ravel(), limits.to_limbs()[0].ravel(), product.ravel(), strict=True
    ):
        error = abs(value - wanted)
        assert error <= mpq(float(limit))
        if error > abs(wanted) * mpq(f.unit_roundoff) / 1000:
            assert mpq(float(limit)) <= mpq(102, 100) * error


@pytest.mark.parametrize(
    "form",
    mostly_slow(
        ["dd", "qs", "d+s", "float64", "ts", "float16", "qdin192b"], ["dd"], "the same kernels"
    ),
)
def test_devices_have_the_bits_of_the_host(device: Device, form: str) -> None:
    """Products of several slabs with alpha and beta, sums, norms."""
    f = formats.get(form)
    x, y, z = (inputs.ordinary(f, s, "bits") for s in ((5, 1100), (1100, 3), (5, 3)))
    results = []
    for where in (device, HOST):
        a, b, c = (mp.from_limbs(v, f, where) for v in (x, y, z))
        pairs = [
            mp.gemm(a, b, bound="tight"),
            mp.gemm(a, b, alpha="0.3", beta="-1.7", c=c, bound="tight"),
            mp.gemv(a, b[:, 1], alpha=2, bound="tight"),
            mp.dot(a[0], a[1], bound="tight"),
            a.sum(axis=1, bound="tight"),
            mp.nrm2(a, bound="tight"),
            mp.linalg.norm(a, axis=1, bound="tight"),
        ]
        results.append([limb for pair in pairs for v in pair for limb in v.to_limbs()])
    for here, there in zip(*results, strict=True):
        assert np.array_equal(here, there)


# --- how they are called -------------------------------------------------------------------


def test_any_way_of_computing_has_one() -> None:
    """Fast sums, the Ozaki scheme, correct roundings; outputs of one's own, also c itself."""
    f = formats.get("td")
    a, b, c = (mp.from_limbs(inputs.wide(f, (6, 6), s), f, HOST) for s in "abc")
    small = [np.where(np.abs(p) < 1e30, p, 0) for p in a.to_limbs()]
    a = mp.from_limbs(small, f, HOST)
    product = np.dot(exact(a), exact(b))
    options: list[dict[str, Any]] = [
        {"accuracy": "fast"},
        {"method": "ozaki1"},
        {"method": "ozaki2"},
        {"rounding": "correct"},
    ]
    errors = []
    for option in options:
        pair = mp.gemm(a, b, bound="tight", **option)
        near(pair, mp.gemm(a, b, **option), product)
        errors.append(float(pair[1].max()))
    assert errors[3] <= min(errors)
    out = c.copy()
    result, limit = mp.gemm(a, b, beta=3, c=out, out=out, bound="tight")
    assert result.planes is out.planes or result.planes.same_view(out.planes)
    sizes = np.dot(abs(exact(a)), abs(exact(b))) + 3 * abs(exact(c))
    near((result, limit), mp.gemm(a, b, beta=3, c=c), product + 3 * exact(c), sizes)
    vector = c[:, 0].copy()
    result, limit = mp.gemv(a, b[0], beta=-1, y=vector, out=vector, bound="tight")
    assert result.planes.same_view(vector.planes)
    near(
        (result, limit),
        mp.gemv(a, b[0], beta=-1, y=c[:, 0]),
        np.dot(exact(a), exact(b)[0]) - exact(c)[:, 0],
    )
    x = a[0]
    near(
        mp.dot(x, x, rounding="correct", bound="tight"),
        mp.dot(x, x, rounding="correct"),
        exact(x) @ exact(x),
    )
    near(a.sum(rounding="correct", bound="tight"), a.sum(rounding="correct"), exact(a).sum())


@pytest.mark.parametrize("form", ["qd", "float16", "ts"])
def test_batches_and_views(form: str) -> None:
    """Broadcast, backwards, transposed."""
    f = formats.get(form)
    a = mp.from_limbs(inputs.ordinary(f, (3, 4, 7), "a"), f, HOST)[:, ::-1, ::2]
    b = mp.from_limbs(inputs.ordinary(f, (2, 4), "b"), f, HOST)
    pair = mp.gemm(a, b, trans_b=True, bound="tight")
    near(pair, mp.gemm(a, b, trans_b=True), np.matmul(exact(a.copy()), exact(b).T))
    near(a.sum(axis=(0, 2), bound="tight"), a.sum(axis=(0, 2)), exact(a.copy()).sum(axis=(0, 2)))


def test_short_matrices() -> None:
    """A matrix in a storage format of the vector's."""
    for parent, short in (("ts", "tsin80b"), ("qd", "qdin192b"), ("float32", "bfloat16")):
        f, g = formats.get(parent), formats.get(short)
        a = mp.from_limbs(inputs.ordinary(g, (4, 50), "a"), g, HOST)
        x = mp.from_limbs(inputs.ordinary(f, (50,), "x"), f, HOST)
        near(mp.gemv(a, x, bound="tight"), mp.gemv(a, x), exact(a) @ exact(x))


@pytest.mark.parametrize("form", ["float64", "dd", "qd", "float16_rz"])
def test_what_is_not_finite_has_none(form: str) -> None:
    """Infinite or NaN in its row, and nowhere else."""
    for bad in (math.inf, -math.inf, math.nan):
        a = mp.array([[1.0, 2.0, 3.0], [4.0, bad, 6.0]], form, HOST)
        b = mp.array([[1.0, -1.0], [0.0, 2.0], [3.0, 1.0]], form, HOST)
        for limits in (
            mp.gemm(a, b, bound="tight")[1].to_limbs()[0],
            a.sum(axis=1, bound="tight")[1].to_limbs()[0],
            mp.linalg.norm(a, axis=1, bound="tight")[1].to_limbs()[0],
            mp.linalg.norm(a, math.inf, axis=1, bound="tight")[1].to_limbs()[0],
        ):
            assert np.isfinite(limits[0]).all()
            assert not np.isfinite(limits[1]).any()
        assert not np.isfinite(mp.nrm2(a, bound="tight")[1].to_limbs()[0])
        for limits in (
            mp.gemm(a[:1], b, alpha=bad, bound="tight")[1],
            mp.gemm(a[:1], b, beta=bad, c=b[:1], bound="tight")[1],
        ):
            assert not np.isfinite(limits.to_limbs()[0]).any()


def test_nothing() -> None:
    """Sums of nothing are exact."""
    for form in ("dd", "qs"):
        for value, bound in (
            mp.zeros(0, form, HOST).sum(bound="tight"),
            mp.dot(*2 * [mp.zeros(0, form, HOST)], bound="tight"),
            mp.nrm2(mp.zeros(0, form, HOST), bound="tight"),
            mp.nrm2(mp.zeros(4, form, HOST), bound="tight"),
        ):
            assert float(value.to_float64()) == 0
            assert 0 <= float(bound.to_limbs()[0]) < 1e-30
        empty = mp.gemm(mp.zeros((0, 3), form, HOST), mp.zeros((3, 2), form, HOST), bound="tight")
        assert [v.shape for v in empty] == [(0, 2), (0, 2)]


def test_what_is_refused() -> None:
    """Other words, a paper's formats, matrices for dot."""
    x = mp.array([[1.0, 2.0]], "dd", HOST)
    for call in (
        lambda bound: mp.gemm(x, x, trans_b=True, bound=bound),
        lambda bound: mp.gemv(x, x[0], bound=bound),
        lambda bound: mp.dot(x[0], x[0], bound=bound),
        lambda bound: x.sum(bound=bound),
        lambda bound: mp.nrm2(x, bound=bound),
        lambda bound: mp.linalg.norm(x, bound=bound),
    ):
        with pytest.raises(ArgumentError, match="'tight'"):
            call("tigth")
        with pytest.raises(ArgumentError, match="bound: None"):
            call(None)
    y = mp.array([1.0, 2.0], "qd2011", HOST)
    with pytest.raises(FormatError, match="bound: qd2011"):
        mp.dot(y, y, bound="tight")
    with pytest.raises(FormatError, match="bound: qd2011"):
        mp.nrm2(y, bound="tight")


# --- norms ---------------------------------------------------------------------------------

VECTORS = (None, 2, 1, math.inf, -math.inf, 0)
MATRICES = (None, "fro", 1, -1, math.inf, -math.inf)


def exact_norm(values: Any, order: Any) -> mpq | None:
    """The exact norm of a vector or a matrix; None for the root of the sum of squares."""
    sizes = np.vectorize(abs, otypes=[object])(values)
    if order in (None, 2, "fro"):
        return None
    if values.ndim == 1:
        if order == 0:
            return mpq(int((values != 0).sum()))
        return mpq(sizes.sum() if order == 1 else sizes.max() if order > 0 else sizes.min())
    sums = sizes.sum(axis=0 if abs(order) == 1 else 1)
    return mpq(sums.max() if order > 0 else sums.min())


def check_norm(pair: tuple[Array, Array], values: Any, order: Any, tight: bool) -> None:
    """One norm's bound: not below the error and, of tight ones, hardly above it."""
    norm, bound = pair
    wanted = exact_norm(values, order)
    limit = mpq(bound.to_limbs()[0].item())
    if wanted is None:
        square = sum((v * v for v in values.ravel()), mpq(0))
        error = root_error(number(norm), square)
    else:
        error = abs(number(norm) - wanted)
    assert error <= limit
    if tight:
        least = mpq(norm.format.unit_roundoff) * abs(number(norm)) / 1000
        assert limit <= mpq(105, 100) * error + least + 99 * SMALLEST[norm.format.word]


KINDS = ["ordinary", "positive", "wide"]


@slow("each format and each kind, by turns", one_in(2, kind=KINDS, form=[*formats.STANDARD, *FEW]))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [*formats.STANDARD, *FEW])
def test_norms_have_bounds(form: str, kind: str) -> None:
    """Along axes, of vectors and of matrices, each order that has one."""
    f = formats.get(form)
    make = getattr(inputs, kind)
    x = mp.from_limbs(make(f, (2, 5, 40), f"norm {kind}"), f, HOST)
    if form.startswith("float16"):
        x = x * mp.array(2.0**-8, f, HOST)
    values = exact(x)
    for bound in (True, "tight"):
        for order in VECTORS:
            norms, limits = mp.linalg.norm(x, order, axis=2, bound=bound)
            plain = mp.linalg.norm(x, order, axis=2)
            for a, b in zip(norms.to_limbs(), plain.to_limbs(), strict=True):
                assert np.array_equal(a, b, equal_nan=True)
            for i in np.ndindex(2, 5):
                if np.isfinite(limits.to_limbs()[0][i]):
                    check_norm((norms[i], limits[i]), values[i], order, bound == "tight")
        for order in MATRICES:
            norms, limits = mp.linalg.norm(x, order, axis=(1, 2), bound=bound)
            for i in range(2):
                if np.isfinite(limits.to_limbs()[0][i]):
                    check_norm((norms[i], limits[i]), values[i], order, bound == "tight")


def test_norms_keep_their_shapes() -> None:
    """keepdims, no axis, negative ones; one row of zeros has no error to speak of."""
    x = mp.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0]], "ds", HOST)
    for options, shape in (
        ({}, ()),
        ({"keepdims": True}, (1, 1)),
        ({"axis": -1}, (2,)),
        ({"axis": 0, "keepdims": True}, (1, 3)),
        ({"ord": 1}, ()),
        ({"ord": "fro", "keepdims": True}, (1, 1)),
    ):
        for bound in (True, "tight"):
            norm: Any = mp.linalg.norm  # the options are drawn
            found: tuple[Array, Array] = norm(x, bound=bound, **options)
            assert [v.shape for v in found] == [shape] * 2
    limits = mp.linalg.norm(x, axis=1, bound=True)[1].to_limbs()[0]
    assert limits[1] < 1e-40
    assert (
        mp.linalg.norm(mp.zeros((3, 0), "dd", HOST), axis=1, bound=True)[1].to_limbs()[0].tolist()
        == [0] * 3
    )


def test_largest_sums_that_are_near_each_other() -> None:
    """The exact largest sum need not be the one that is largest as computed."""
    third = mpq(1, 3)
    columns: Sequence[Any] = [[third, third, third], [1, mpq(2) ** -130, 0], [mpq(2) ** -140, 1, 0]]
    x = mp.array(np.array(columns, object).T.tolist(), "dd", HOST)
    for order in (1, -1):
        for bound in (True, "tight"):
            check_norm(mp.linalg.norm(x, order, bound=bound), exact(x), order, tight=False)


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_singular_values_have_no_bound(order: Any) -> None:
    """They are refused by name, as other powers of vectors."""
    x = mp.array([[1.0, 2.0], [3.0, 5.0]], "dd", HOST)
    with pytest.raises(ArgumentError, match=f"norm: bound: given with ord {order!r} of matrices"):
        mp.linalg.norm(x, order, bound=True)
    with pytest.raises(ArgumentError, match="norm: bound: given with ord 3 of vectors"):
        mp.linalg.norm(x[0], 3, bound="tight")


@slow("a minute of random and hostile products; other ones each day")
@pytest.mark.parametrize("form", ["float64", "ds", "ts", "qs", "dd", "td", "qd", "d+s", "bfloat16"])
def test_tight_bounds_of_many_products(device: Device, form: str) -> None:
    """A hundred thousand products, of all kinds."""
    f = formats.get(form)
    for seed in range(4):
        for kind in ("ordinary", "positive", "cancelling"):
            make = getattr(inputs, kind)
            k = 4 + 30 * seed
            x, y = (
                make(f, (90, k), f"tight {kind} {seed}"),
                make(f, (k, 90), f"tight {kind} {seed} y"),
            )
            a, b = mp.from_limbs(x, f, device), mp.from_limbs(y, f, device)
            near(mp.gemm(a, b, bound="tight"), mp.gemm(a, b), np.dot(exact(a), exact(b)))
