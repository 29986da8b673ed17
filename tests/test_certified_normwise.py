"""Bounds by norms: never below the error, whatever the method, near the ends of the range too."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpq
from hunting import FOUND
from hypothesis import given, settings
from hypothesis import strategies as st
from slow import mostly_slow, one_in, slow
from test_certified import ALL, HOST, MAKERS, fractions
from test_certified import check as check_bounds

import portmp as mp
from portmp import formats, networks
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError
from portmp.formats import inputs
from portmp.networks.normwise import HELD, SIZES
from portmp.routines.bounds import normwise
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.routines.reduce import launch as reductions

NORMWISE: dict[str, Any] = {"bound": "normwise"}
LEAST = {"float32": -149, "float64": -1074}


def check(pair: tuple[mp.Array, mp.Array], plain: mp.Array, exact: Any) -> None:
    """Of entries over the whole range norms may overflow where products do not."""
    check_bounds(pair, plain, exact, always=False)


def scalar(form: str, text: str) -> mpq:
    """A factor as it is converted."""
    arithmetic = formats.get(form).arithmetic
    return mpq(fractions(mp.array(text, arithmetic, HOST).to_limbs()).item())


def ways(form: str) -> list[dict[str, Any]]:
    """How products of a format are computed."""
    f = formats.get(form)
    found: list[dict[str, Any]] = [{}, {"rounding": "correct"}]
    if "fast" in f.accumulators:
        found.append({"accuracy": "fast"})
    if not f.coded:
        found += [{"method": "ozaki1"}, {"method": Ozaki1(slices=3)}]
        found.append({"method": Ozaki2(moduli=6)})
        found += [{"method": "ozaki2"}] if f.bits < 200 else []
    return found


def products(form: str, a: Any, b: Any, c: Any, device: Any, how: dict[str, Any]) -> None:
    """A product, with alpha and beta too."""
    left, right, addend = (mp.from_limbs(v, form, device) for v in (a, b, c))
    exact = np.dot(fractions(a), fractions(b))
    check(mp.gemm(left, right, **how, **NORMWISE), mp.gemm(left, right, **how), exact)
    alpha, beta = scalar(form, "0.3"), scalar(form, "-1.7")
    given: dict[str, Any] = {"alpha": "0.3", "beta": "-1.7", "c": addend, **how}
    ended = alpha * exact + beta * fractions(c)
    check(mp.gemm(left, right, **given, **NORMWISE), mp.gemm(left, right, **given), ended)


HALF = one_in(2, kind=MAKERS, form=ALL)


@slow("the same code", unless=lambda p: p["form"] in formats.STANDARD or HALF(p))
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("form", ALL)
def test_bounds_hold_on_the_host(form: str, kind: str) -> None:
    """Every format, by every method."""
    f, make = formats.get(form), MAKERS[kind]
    a, b, c = make(f, (4, 70), "a"), make(f, (70, 3), "b"), make(f, (4, 3), "c")
    for how in ways(form):
        products(form, a, b, c, HOST, how)
    x, y = make(f, (70,), "x"), make(f, (4,), "y")
    matrix, vector, other = (mp.from_limbs(v, form, HOST) for v in (a, x, y))
    ended = scalar(form, "0.3") * np.dot(fractions(a), fractions(x)) + fractions(y)
    for how in ways(form):
        if "method" not in how:
            options: dict[str, Any] = {"alpha": "0.3", "beta": 1, "y": other, **how}
            pair = mp.gemv(matrix, vector, **options, **NORMWISE)
            check(pair, mp.gemv(matrix, vector, **options), ended)


@pytest.mark.parametrize("form", mostly_slow(ALL, ["dd", "float32", "float16"], "same kernels"))
def test_the_same_bits_on_devices(device: Device, form: str) -> None:
    """Long sums, rows that lie across, batches; and bounds hold there."""
    f = formats.get(form)
    products(
        form,
        inputs.wide(f, (5, 40), "a"),
        inputs.ordinary(f, (40, 6), "b"),
        inputs.ordinary(f, (5, 6), "c"),
        device,
        {},
    )
    a, b = inputs.wide(f, (2, 5, 9000), "a"), inputs.ordinary(f, (7, 9000), "b")
    results = []
    for where in (device, HOST):
        left, right = mp.from_limbs(a, form, where), mp.from_limbs(b, form, where)
        found = [*mp.gemm(left, right, trans_b=True, **NORMWISE)]
        found += [*mp.gemm(left[:, ::2, ::3], right[::2, 2::3].T[:3000], **NORMWISE)]
        found += [*mp.gemv(left[1], right[3], **NORMWISE)]
        results.append([plane for one in found for plane in one.to_limbs()])
    for here, there in zip(*results, strict=True):
        assert np.array_equal(here, there, equal_nan=True)


# --- norms -------------------------------------------------------------------------------------


def norms(values: Any, word: str) -> Any:
    """Norms of rows as they are held, times 2^HELD."""
    x = mp.array(np.asarray(values, word), word, HOST)
    found = normwise._norms(x.planes, 0.0)
    words = found.seen_as(formats.get(word)).in_place()[0]
    return [mpq(float(v)) * 2**HELD if math.isfinite(v) else v for v in words]


@pytest.mark.parametrize("word", LEAST)
@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_norms_are_not_below(word: str, data: st.DataObject) -> None:
    """Over the whole range, subnormal numbers too; at most a hundredth too large."""
    width = 32 if word == "float32" else 64
    sizes = SIZES[word]
    number = st.one_of(
        st.floats(width=width, allow_nan=False, allow_infinity=False),
        st.builds(
            lambda m, e: float(np.ldexp(np.dtype(word).type(m), e)),
            st.sampled_from([1.0, 0.75, 2 - 2.0**-20]),
            st.sampled_from([LEAST[word], sizes.small, sizes.small - 1, 0, sizes.large]),
        ),
    )
    row = data.draw(st.lists(number, min_size=1, max_size=40))
    (held,) = norms([row], word)
    square = sum(mpq(v) ** 2 for v in row)
    raised = held * mpq(1001, 1000)  # RAISED covers the roundings
    assert raised**2 >= square
    unit = mpq(2) ** (LEAST[word] + HELD)  # added to small ones, before half of it rounds
    assert max(held - 3 * unit / 2, 0) ** 2 <= square * mpq(1001, 1000)


@pytest.mark.parametrize("word", LEAST)
def test_norms_at_the_ends(word: str) -> None:
    """Of nothing, of zeros, of the largest numbers, of what is no number."""
    top, least = float(np.finfo(word).max), 2.0 ** LEAST[word]
    assert norms(np.zeros((2, 0)), word) == [0, 0]
    assert norms([[0.0, -0.0]], word) == [0]
    (large,) = norms([[top] * 4096], word)
    assert mpq(top) * 64 <= large * mpq(1001, 1000)
    (small,) = norms([[least, 0.0]], word)
    assert small >= mpq(least)
    for value in (np.inf, -np.inf, np.nan):
        assert not math.isfinite(norms([[1.0, value, least]], word)[0])


# --- hostile products --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["float32", "float64", "ds", "dd", "ts", "td", "qs", "qd", "d+s"])
def test_rows_and_columns_of_all_sizes(form: str) -> None:
    """Scaled to both ends of the range: bounds hold, and are relative to their own row."""
    f = formats.get(form)
    far = 60 if f.word == "float32" else 500
    a, b = inputs.ordinary(f, (5, 12), "a"), inputs.ordinary(f, (12, 5), "b")
    powers = np.array([-2 * far, -far, 0, far, 2 * far])
    with np.errstate(over="ignore", under="ignore"):
        # Lower limbs that underflow leave normalised numbers.
        a = [np.ldexp(p, powers[:, None]).astype(p.dtype) for p in a]
        b = [np.ldexp(p, -powers[None, :]).astype(p.dtype) for p in b]
    a, b = ([np.where(np.isfinite(p), p, 0) for p in v] for v in (a, b))
    c = inputs.ordinary(f, (5, 5), "c")
    for how in ways(form):
        products(form, a, b, c, HOST, how)
    left, right = mp.from_limbs(a, form, HOST), mp.from_limbs(b, form, HOST)
    result, bound = mp.gemm(left, right, **NORMWISE)
    sizes, limits = (np.abs(v.to_limbs()[0].astype(float)) for v in (result, bound))
    least = max(one.smallest for one in f.encodings)
    known = np.isfinite(limits) & (sizes > 2.0 ** (least + 60))
    assert known.sum() >= 8
    if f.limbs < 3:
        assert (limits[known] < sizes[known] * 1e-3).all()


@pytest.mark.parametrize("form", ["float64", "dd", "qs", "bfloat16", "float16", "tsin80b"])
def test_zero_rows_and_nothing(form: str) -> None:
    """No steps, no alpha, rows of zeros: little more than nothing may be lost."""
    f = formats.get(form)
    values = np.ones((3, 4))
    values[1] = 0
    a, b = mp.array(values, form, HOST), mp.array(np.ones((4, 2)), form, HOST)
    rest = 2.0 ** (max(one.smallest for one in f.encodings if one.parts) + 10)
    assert (mp.gemm(a, b, **NORMWISE)[1].to_float64()[1] < rest).all()
    bad = mp.array(np.full((3, 4), np.nan), form, HOST)
    for left, right, alpha in ((a[:, :0], b[:0], 1), (bad, b, 0)):
        result, bound = mp.gemm(left, right, alpha=alpha, **NORMWISE)
        assert (result.to_float64() == 0).all()
        assert (bound.to_float64() < rest).all()
    empty = mp.gemm(a[:0], b, **NORMWISE)
    assert [v.shape for v in empty] == [(0, 2), (0, 2)]
    assert [v.shape for v in mp.gemv(a[:0], b[:, 0].copy(), **NORMWISE)] == [(0,), (0,)]


@pytest.mark.parametrize(
    "form", ["float64", "dd", "td", "qd", "d+s", "ts", "float16", "bfloat16_rz"]
)
def test_what_overflows_has_no_bound(form: str) -> None:
    """Operands that are not finite, sums that overflow, results that are stored as the largest."""
    f = formats.get(form)
    top = float(2.0 ** (f.encodings[0].overflow - 1))
    for row in ([np.inf, 1.0, 1.0], [np.nan, 1.0, 1.0], [-np.inf, 0.0, 1.0]):
        x = mp.array([row, [1.0, 1.0, 1.0]], form, HOST)
        ones = mp.array(np.ones((3, 1)), form, HOST)
        limits = mp.gemm(x, ones, **NORMWISE)[1].to_float64()
        assert not np.isfinite(limits[0]) and np.isfinite(limits[1])
    x = mp.array([[top, top, 1.0], [top, -top, 1.0]], form, HOST)
    y = mp.array([[1.5], [1.5], [1.5]], form, HOST)
    result, bound = mp.gemm(x, y, **NORMWISE)
    assert not np.isfinite(bound.to_float64()[0])
    sure = np.isfinite(bound.to_float64())
    assert (np.abs(result.to_float64()[sure]) < top).all()
    c = mp.array([[np.inf]], form, HOST)
    one = mp.array([[1.0]], form, HOST)
    assert not np.isfinite(mp.gemm(one, one, beta=1, c=c, **NORMWISE)[1].to_float64()[0, 0])


def test_large_numbers_with_small_ones() -> None:
    """The norms of the largest numbers overflow nowhere where products do not."""
    for form in ("float32", "ts", "dd"):
        f = formats.get(form)
        top = float(np.finfo(f.word).max)
        small = 2.0 ** (-90 if f.word == "float32" else -900)
        x = mp.array(np.full((1, 9), top), form, HOST)
        y = mp.array(np.full((9, 1), small), form, HOST)
        pair = mp.gemm(x, y, **NORMWISE)
        assert np.isfinite(pair[1].to_float64()).all()
        check(pair, mp.gemm(x, y), np.array([[9 * mpq(top) * mpq(small)]]))


@pytest.mark.parametrize("form", ["ds", "ts", "qs", "dd", "qd", "d+s", "float32"])
def test_products_that_underflow_partly(form: str) -> None:
    """Lower limbs, or whole products, below the smallest subnormal number."""
    f, generator = formats.get(form), np.random.default_rng(8)
    low = LEAST[f.word] + 9
    for exponent in (low // 2, low // 2 + 20, low):
        values = [generator.uniform(-1, 1, (4, 40)) * 2.0**exponent for _ in range(2)]
        x, y = (mp.array([[mpq(v) / 3 for v in r] for r in m], form, HOST) for m in values)
        exact = np.dot(fractions(x.to_limbs()), fractions(y.to_limbs()).T)
        for how in ways(form):
            pair = mp.gemm(x, y, trans_b=True, **how, **NORMWISE)
            check(pair, mp.gemm(x, y, trans_b=True, **how), exact)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_product(data: st.DataObject) -> None:
    """Words and numbers of two limbs of any size, few steps, any alpha and beta."""
    form = data.draw(st.sampled_from(["float32", "float64", "ds", "dd"]))
    f = formats.get(form)
    width = 32 if f.word == "float32" else 64
    number = st.floats(width=width, allow_nan=False, allow_infinity=False)
    k = data.draw(st.integers(0, 4))

    def matrix(m: int, n: int) -> mp.Array:
        lead = [[data.draw(number) for _ in range(n)] for _ in range(m)]
        planes = [np.array(lead, f.word).reshape(m, n)]
        for _ in range(1, f.limbs):
            with np.errstate(all="ignore"):
                half = np.nan_to_num(np.spacing(np.abs(planes[-1])) / 2, posinf=0.0)
                part = data.draw(st.sampled_from([0.0, 1.0, -1.0, 0.3]))
                planes.append((half * part).astype(f.word))
        return mp.from_limbs(planes, form, HOST)

    a, b, c = matrix(2, k), matrix(k, 2), matrix(2, 2)
    alpha, beta = (data.draw(st.sampled_from(["1", "0", "-0.3", "1e30", "1e-30"])) for _ in "ab")
    exact = np.zeros((2, 2), object) + mpq(0)
    if k:
        exact = np.dot(fractions(a.to_limbs()), fractions(b.to_limbs()))
    exact = scalar(form, alpha) * exact + scalar(form, beta) * fractions(c.to_limbs())
    pair = mp.gemm(a, b, alpha=alpha, beta=beta, c=c, **NORMWISE)
    check(pair, mp.gemm(a, b, alpha=alpha, beta=beta, c=c), exact)


# --- what it is made of, and how it is called --------------------------------------------------


@pytest.mark.parametrize("key", normwise.SUMS)
def test_the_proved_bounds_are_taken(key: tuple[int, str]) -> None:
    """The numbers that the networks state."""
    limbs, accuracy = key
    tail = "" if accuracy == "accurate" else "_fast"
    text = networks.get(f"accumulate{limbs}{tail}").bound.split("(proved")[0]
    told = {w: float(v) for v, w in re.findall(r"([\d.]+)u\^\d (sum|T)", text)}
    assert normwise.SUMS[key] == (told.get("sum", 0.0), told["T"])


@pytest.mark.parametrize("form", ["float64", "dd", "ts", "qd"])
def test_near_the_proved_bound(form: str) -> None:
    """Of random numbers norms' product is 1.2 to 1.6 times T, and no more is added."""
    f, generator = formats.get(form), np.random.default_rng(3)
    a, b = generator.standard_normal((8, 200)), generator.standard_normal((200, 8))
    left, right = mp.array(a, form, HOST), mp.array(b, form, HOST)
    _, bound = mp.gemm(left, right, **NORMWISE)
    proved = normwise.direct(f, 200, "accurate", lanes=False) * (np.abs(a) @ np.abs(b))
    ratio = bound.to_float64() / proved
    assert ratio.min() >= 1 and 1.2 < np.median(ratio) < 1.7


@pytest.mark.parametrize("form", ["ds", "dd", "ts", "td", "qs", "qd"])
@pytest.mark.parametrize("accuracy", ["accurate", "fast"])
def test_the_worst_products_that_are_known(form: str, accuracy: str) -> None:
    """One product many times, whose error comes near what is proved: so does the bound."""
    f = formats.get(form)
    tail = "" if accuracy == "accurate" else "_fast"
    entry = json.loads(FOUND.read_text())[f"accumulate{f.limbs}{tail} x 64/{f.word}"]
    words = np.array([float.fromhex(w) for w in entry["words"]]).reshape(2, f.limbs, 1)
    a, b = ([np.full((1, 64), w[0], f.word) for w in value] for value in words)
    x, y = (mp.from_limbs(planes, form, HOST) for planes in (a, b))
    exact = np.dot(fractions(a), fractions(b).T)
    pair = mp.gemm(x, y, trans_b=True, accuracy=accuracy, **NORMWISE)
    check(pair, mp.gemm(x, y, trans_b=True, accuracy=accuracy), exact)
    error = abs(fractions(pair[0].to_limbs()) - exact).item()
    assert error == pytest.approx(entry["error"] * f.unit_roundoff * exact.item(), rel=1e-3)
    proved = normwise.direct(f, 64, accuracy, lanes=False) * exact.item()
    assert float(pair[1]) == pytest.approx(proved, rel=0.03)


def test_outputs_that_hold_the_addend() -> None:
    """C is read before the result takes its place; gemv with a matrix stored short."""
    a, c = mp.array(np.eye(3), "dd", HOST), mp.array(np.full((3, 3), 0.5), "dd", HOST)
    want = mp.gemm(a, a, beta="0.1", c=c, **NORMWISE)
    found = mp.gemm(a, a, beta="0.1", c=c, out=c, **NORMWISE)
    assert found[0].planes.same_view(c.planes)
    for x, y in zip(want, found, strict=True):
        assert (x.to_limbs()[0] == y.to_limbs()[0]).all()
    short = mp.array(np.eye(3), "float16", HOST)
    vector = mp.array([1.0, 2.0, 3.0], "float32", HOST)
    result, bound = mp.gemv(short, vector, **NORMWISE)
    assert (result.to_float64() == [1, 2, 3]).all() and (bound.to_float64() < 1e-5).all()


def test_where_there_is_none() -> None:
    """Sums, norms and dot products are refused by name; a paper's format; other words."""
    x = mp.array([1.0, 2.0], "dd", HOST)
    for call in (
        lambda: mp.dot(x, x, bound="normwise"),
        lambda: x.sum(bound="normwise"),
        lambda: mp.nrm2(x, bound="normwise"),
        lambda: mp.linalg.norm(x, bound="normwise"),
    ):
        with pytest.raises(ArgumentError, match="'normwise' is for gemm and gemv"):
            call()
    a = mp.array([[1.0]], "dd", HOST)
    with pytest.raises(ArgumentError, match="did you mean 'normwise'"):
        mp.gemm(a, a, bound="norm wise")
    with pytest.raises(FormatError, match="bound"):
        mp.gemm(a.astype("qd2011"), a.astype("qd2011"), **NORMWISE)


def test_sums_of_squares_of_long_rows() -> None:
    """More than a chunk of each size of numbers."""
    word = "float32"
    row = np.concatenate([np.full(9000, 2.0**e, word) for e in (-120, 0, 60)])
    x = mp.array(row[None], word, HOST)
    sums = reductions.squares(x.planes).in_place()
    shift = SIZES[word].shift
    for plane, size in zip(sums, (60 - shift, 0, shift - 120), strict=True):
        assert float(plane[0]) == pytest.approx(9000 * 4.0**size, rel=1e-3)
