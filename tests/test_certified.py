"""Bounds beside results: never below the error, in every format and at the ends of the range."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import proofs
import pytest
from gmpy2 import mpq
from hunting import Hunt, Prey
from operands import rationals
from slow import TURNS, by_turns, mostly_slow, one_in, slow

import portmp as mp
from portmp import definition, formats, networks
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.formats import inputs
from portmp.networks import bounded, evaluator, ieee, language
from portmp.routines.gemm import launch as products
from portmp.routines.gemm.schedule import GemmSchedule
from portmp.routines.reference import Host

HOST = "host:0"
STEPS = definition.SLAB + 77
"""Two slabs."""
ALL = [*formats.STANDARD, *formats.STORED]
MAKERS = {
    "ordinary": inputs.ordinary,
    "positive": inputs.positive,
    "wide": inputs.wide,
    "cancelling": inputs.cancelling,
}


def fractions(planes: Sequence[Any]) -> Any:
    """Exact values, those that are not finite as zero."""
    found = [np.array(p) for p in planes]
    bad = ~np.isfinite(found[0])
    for plane in found:
        plane[bad] = 0
    return rationals(found)


def check(
    pair: tuple[mp.Array, mp.Array], plain: mp.Array, exact: Any, always: bool = True
) -> float:
    """Bounds hold, and results are those without bounds. Returns error / bound, the median.

    *always*: a result that is 0 has one.
    """
    result, bound = pair
    assert bound.format.name == result.format.word and bound.shape == result.shape
    for a, b in zip(result.to_limbs(), plain.to_limbs(), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    values = [np.atleast_1d(v).ravel() for v in (fractions(result.to_limbs()), exact)]
    limits = np.atleast_1d(bound.to_limbs()[0]).ravel()
    known = np.isfinite(limits)
    if always:
        assert (known | ~(np.atleast_1d(result.to_limbs()[0]).ravel() == 0)).all()
    ratios = []
    for found, wanted, limit in zip(*(v[known] for v in values), limits[known], strict=True):
        assert abs(found - mpq(wanted)) <= mpq(float(limit))
        ratios.append(float(abs(found - mpq(wanted)) / mpq(float(limit))))
    return float(np.median(ratios)) if ratios else 0.0


def check_norm(x: mp.Array) -> None:
    """The norm's bound, by squares."""
    result, bound = mp.nrm2(x, bound=True)
    if not np.isfinite(float(bound.to_limbs()[0])):
        return
    value, limit = (mpq(fractions(v.to_limbs()).item()) for v in (result, bound))
    square = sum((v * v for v in fractions(x.to_limbs())), mpq(0))
    assert max(value - limit, mpq(0)) ** 2 <= square <= (value + limit) ** 2


def check_all(form: str, kind: str, device: Any, accuracy: str = "accurate") -> None:
    """Products, with alpha and beta too, sums and norms of one kind of operands."""
    f, make = formats.get(form), MAKERS[kind]
    a, b, c = make(f, (4, 70), "a"), make(f, (70, 3), "b"), make(f, (4, 3), "c")
    left, right, addend = (mp.from_limbs(v, form, device) for v in (a, b, c))
    product = np.dot(fractions(a), fractions(b))
    alpha, beta = (
        mpq(fractions(mp.array(text, f.arithmetic, HOST).to_limbs()).item())
        for text in ("0.3", "-1.7")
    )
    options: dict[str, Any] = {"alpha": "0.3", "beta": "-1.7", "c": addend, "accuracy": accuracy}
    plain = mp.gemm(left, right, accuracy=accuracy)
    check(mp.gemm(left, right, accuracy=accuracy, bound=True), plain, product)
    ended = alpha * product + beta * fractions(c)
    check(mp.gemm(left, right, bound=True, **options), mp.gemm(left, right, **options), ended)
    x, y = make(f, (70,), "x"), make(f, (4,), "y")
    vector, other = mp.from_limbs(x, form, device), mp.from_limbs(y, form, device)
    options = {"alpha": "0.3", "beta": 1, "y": other, "accuracy": accuracy}
    ended = alpha * np.dot(fractions(a), fractions(x)) + fractions(y)
    check(mp.gemv(left, vector, bound=True, **options), mp.gemv(left, vector, **options), ended)
    x, y = make(f, (300,), "dot x"), make(f, (300,), "dot y")
    vector, other = mp.from_limbs(x, form, device), mp.from_limbs(y, form, device)
    total = np.dot(fractions(x), fractions(y))
    plain = mp.dot(vector, other, accuracy=accuracy)
    check(mp.dot(vector, other, accuracy=accuracy, bound=True), plain, total)
    check(vector.sum(bound=True), vector.sum(), sum(fractions(x)))
    check(left.sum(axis=0, bound=True), left.sum(axis=0), fractions(a).sum(axis=0))
    check_norm(vector)


HALF = one_in(2, kind=MAKERS, form=ALL)


@slow("the same code", unless=lambda p: p["form"] in formats.STANDARD or HALF(p))
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("form", ALL)
def test_bounds_hold_on_the_host(form: str, kind: str) -> None:
    """Every format; storage formats with what their storing loses."""
    check_all(form, kind, HOST)


@pytest.mark.parametrize("form", ["ds", "dd", "ts", "qd", "float64", "tsin80b"])
def test_bounds_of_fast_sums_hold(form: str) -> None:
    """The sums without a word in reserve."""
    for kind in MAKERS:
        check_all(form, kind, HOST, "fast")


ON_DEVICES = ["dd", "ts", *(f for f in ALL if f not in ("dd", "ts"))]


@pytest.mark.parametrize("form", mostly_slow(ON_DEVICES, ["dd"], "the same kernels"))
def test_bounds_hold_on_devices(device: Device, form: str) -> None:
    """Kernels, with the bits that the host has."""
    check_all(form, "ordinary", device)
    f = formats.get(form)
    a, b = inputs.wide(f, (5, 3000), "a"), inputs.wide(f, (3000, 6), "b")
    small = [np.abs(v[0]) < 1e15 for v in (a, b)]
    a, b = ([np.where(s, p, 0) for p in v] for v, s in zip((a, b), small, strict=True))
    pairs = [
        mp.gemm(mp.from_limbs(a, form, where), mp.from_limbs(b, form, where), bound=True)
        for where in (device, HOST)
    ]
    for here, there in zip(*pairs, strict=True):
        for p, q in zip(here.to_limbs(), there.to_limbs(), strict=True):
            assert np.array_equal(p, q, equal_nan=True)


@pytest.mark.parametrize("form", ["ts"])
def test_the_same_bits_anywhere(anywhere: Device, form: str) -> None:
    """In machine code of other vendors, matrices of odd sizes."""
    f = formats.get(form)
    a, x = inputs.ordinary(f, (5, 130), "a"), inputs.ordinary(f, (130,), "x")
    pairs = [
        (
            *mp.gemv(mp.from_limbs(a, form, where), mp.from_limbs(x, form, where), bound=True),
            *mp.from_limbs(x, form, where).sum(bound=True),
        )
        for where in (anywhere, HOST)
    ]
    for here, there in zip(*pairs, strict=True):
        for p, q in zip(here.to_limbs(), there.to_limbs(), strict=True):
            assert np.array_equal(p, q)


# --- the ends of the range -----------------------------------------------------------------


@pytest.mark.parametrize("form", ["float64", "dd", "td", "qd", "d+s", "ts"])
def test_results_near_overflow_have_no_bound(form: str) -> None:
    """Infinite or NaN where lower limbs are lost, also where leading limbs give a number."""
    f = formats.get(form)
    top = float(np.finfo(f.dtype(0)).max)
    rest = [np.zeros(3, f.dtype(i)) for i in range(1, f.limbs)]
    for values in ([top, top, 1.0], [top, top / 2**30, 0.0], [np.inf, 1.0, 1.0], [np.nan, 1, 1]):
        x = mp.from_limbs([np.array(values, f.dtype(0)), *rest], form, HOST)
        ones = mp.array([1.0, 1.0, 1.0], form, HOST)
        for _, bound in (x.sum(bound=True), mp.dot(x, ones, bound=True)):
            assert not np.isfinite(float(bound.to_limbs()[0]))
    x = mp.from_limbs([np.array([top, -top, 1.0], f.dtype(0)), *rest], form, HOST)
    twos = mp.array([2.0, 2.0, 2.0], form, HOST)
    _, bound = mp.gemm(x[None, :], twos[:, None], bound=True)
    assert not np.isfinite(float(bound.to_limbs()[0].item()))


@pytest.mark.parametrize("form", ["ds", "ts", "qs", "dd", "qd", "d+s"])
def test_underflow_is_counted(form: str) -> None:
    """Products whose parts are below the smallest subnormal number."""
    f, generator = formats.get(form), np.random.default_rng(8)
    low = -140 if f.word == "float32" else -1070
    for exponent in (low // 2, low // 2 + 20, low):
        x = [generator.uniform(-1, 1, 40) * 2.0**exponent for _ in range(2)]
        vectors = [mp.array([mpq(v) / 3 for v in values], form, HOST) for values in x]
        exact = np.dot(*(fractions(v.to_limbs()) for v in vectors))
        check(mp.dot(*vectors, bound=True), mp.dot(*vectors), exact)
        check_norm(vectors[0])


def test_nothing() -> None:
    """Sums of nothing, matrices without rows, products over no steps."""
    for value, bound in (
        mp.zeros(0, "dd", HOST).sum(bound=True),
        mp.dot(*2 * [mp.zeros(0, "ts", HOST)], bound=True),
        mp.nrm2(mp.zeros(0, "ts", HOST), bound=True),
        mp.nrm2(mp.zeros(4, "dd", HOST), bound=True),
    ):
        assert float(value.to_float64()) == 0
        assert 0 <= float(bound.to_limbs()[0]) < 1e-30
    empty = mp.gemm(mp.zeros((0, 3), "dd", HOST), mp.zeros((3, 2), "dd", HOST), bound=True)
    assert [v.shape for v in empty] == [(0, 2), (0, 2)]


# --- how they are called -------------------------------------------------------------------


def test_outputs_and_batches(device: Device) -> None:
    """Into an output of one's own, transposed and broadcast."""
    f = formats.get("dd")
    a, b = inputs.ordinary(f, (3, 5, 7), "a"), inputs.ordinary(f, (4, 7), "b")
    left, right = mp.from_limbs(a, f, device), mp.from_limbs(b, f, device)
    out = mp.zeros((3, 5, 8), "dd", device)[..., ::2]
    exact = np.array([np.dot(v, fractions(b).T) for v in fractions(a)])
    pair = mp.gemm(left, right, trans_b=True, out=out, bound=True)
    plain = mp.gemm(left, right, trans_b=True)
    check(pair, plain, exact)
    check((out.copy(), pair[1]), plain, exact)


def test_what_has_no_bound() -> None:
    """A paper's formats, the Ozaki scheme, schedules of one's own."""
    x = mp.array([1.0, 2.0], "qd2011", HOST)
    with pytest.raises(FormatError, match="bound"):
        mp.dot(x, x, bound=True)
    y = mp.array([[1.0, 2.0]], "dd", HOST)
    with pytest.raises(ArgumentError, match="bound"):
        mp.gemm(y, y, trans_b=True, method="ozaki2", bound=True)
    with pytest.raises(ArgumentError, match="accuracy"):
        mp.gemm(y, y, trans_b=True, accuracy="fats", bound=True)
    with pytest.raises(ShapeError, match=r"gemm: a \(\)"):
        mp.gemm(y[0, 0], y, method="ozaki2")
    for bound in (False, True, "tight", "normwise"):
        with pytest.raises(ShapeError, match="gemm"):
            mp.gemm(y, y[0], bound=bound)
        with pytest.raises(ShapeError, match=r"gemm: a \(\)"):
            mp.gemm(y[0, 0], y, bound=bound)
        with pytest.raises(ShapeError, match="gemv"):
            mp.gemv(y, y, trans=True, bound=bound)
        with pytest.raises(ShapeError, match="gemv"):
            mp.gemv(y, y[0], y=y[0], beta=1, bound=bound)


# --- what bounds are made of ---------------------------------------------------------------


@pytest.mark.parametrize("form", ["float32", "float64", "dd"])
def test_whole_vectors_are_the_hosts(device: Device, form: str) -> None:
    """Rows longer than vectors, over two slabs, with what is not finite and with an addend."""
    f, found = formats.get(form), []
    a, b = inputs.ordinary(f, (20, STEPS), "a"), inputs.ordinary(f, (STEPS, 41), "b")
    c = inputs.ordinary(f, (20, 41), "c")
    a[0][3, 9], a[0][7, STEPS - 1], b[0][5, 17] = np.nan, np.inf, np.inf
    for where in (device, HOST):
        left, right, addend = (mp.from_limbs(v, form, where) for v in (a, b, c))
        more: dict[str, Any] = {"alpha": "-0.3", "beta": "1.7", "c": addend}
        results = [mp.gemm(left, right), mp.gemm(left, right, **more)]
        results += mp.gemm(left, right, bound=True)
        results += mp.gemm(left, right, bound=True, **more)
        found.append([limb for v in results for limb in v.to_limbs()])
    for here, there in zip(*found, strict=True):
        assert np.array_equal(here, there, equal_nan=True)


@pytest.mark.parametrize(
    "schedule",
    [
        GemmSchedule(8, 8, 2, 4, tile_k=32, vector=2, pad=2),
        GemmSchedule(4, 8, 2, 2, tile_k=8).for_call(split=True),
    ],
    ids=["four", "two, each slab a block"],
)
@slow(TURNS, unless=by_turns("form", ("float32", "float64")))
@pytest.mark.parametrize("form", ["float32", "float64"])
def test_whole_tiles_are_the_hosts(
    anywhere: Device, form: str, schedule: GemmSchedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over two slabs, and tiles that are cut; few steps, NaN."""
    monkeypatch.setattr(products, "default", lambda *given: schedule)
    f, found = formats.get(form), []
    a, b = inputs.ordinary(f, (20, STEPS), "a"), inputs.ordinary(f, (STEPS, 68), "b")
    a[0][3, 9] = np.nan
    for where in (anywhere, HOST):
        left, right = (mp.from_limbs(v, form, where) for v in (a, b))
        pairs = [mp.gemm(left[:, :k], right[:k], bound=True) for k in (STEPS, 40)]
        found.append([limb for pair in pairs for v in pair for limb in v.to_limbs()])
    for here, there in zip(*found, strict=True):
        assert np.array_equal(here, there, equal_nan=True)


@pytest.mark.parametrize("word", bounded.PRECISION)
def test_bounds_near_the_ends_of_the_range(word: str) -> None:
    """Large entries that meet small ones over two slabs, in either operand, or in alpha."""
    f, big = formats.get(word), {"float32": 1e35, "float64": 1e305}[word]
    one, left, right = (
        mp.from_limbs([np.full((1, STEPS), x, word)], word, HOST) for x in (1, big, 1 / big)
    )
    for a, b, alpha in ((left, right, 1), (right, left, 1), (one, right, str(big))):
        value, limit = mp.gemm(a, b.T, alpha=alpha, bound=True)
        product = np.dot(fractions(a.to_limbs()), fractions(b.T.to_limbs()))
        scale = fractions(mp.array([alpha], f, HOST).to_limbs())[0]
        away = abs(fractions(value.to_limbs()).item() - scale * product.item())
        size = STEPS**2 * f.unit_roundoff
        assert away <= fractions(limit.to_limbs()).item() <= size


def counted(how: bounded.Sum, operands: Any, u: mpq) -> list[Any]:
    """What counts of operands, exactly: multiples of their limbs' sizes."""
    return [
        sum(mpq(by) / u**i * abs(fractions([v[i]])) for i, by in enumerate(shares) if by)
        for v, shares in zip(operands, how.shares, strict=True)
    ]


def plain_sums(name: str, starts: tuple[str, ...]) -> set[int]:
    """Which plain additions of a network, counted from 0, are in lines that begin so."""
    found, count = set(), 0
    for line in networks.get(name).listing.strip().splitlines()[:-1]:
        nodes = ast.walk(ast.parse(line.strip()))
        here = sum(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) for node in nodes)
        found |= set(range(count, count + here)) if line.startswith(starts) else set()
        count += here
    return found


def covers(how: bounded.Sum, key: tuple[int, str, str], left_out: Any) -> None:
    """What counts is not below what a step loses, for all limbs that do not grow.

    Both sides are linear in x and in y: so limbs of 1 and of 0 suffice.
    """
    n, fast, word = key
    periods, state = definition.SLAB // definition.PERIOD, mpq(0)
    sums = set() if fast else plain_sums(f"accumulate{n}", how.left)
    if sums:
        lost = proofs.left(f"{n}{fast}", n, bounded.PRECISION[word], definition.PERIOD, sums)
        state = lost.products + periods * lost.before
        if how.settled:
            assert how.settled >= lost.sums
        else:  # a running sum is at most T
            state += periods * lost.sums
    more = mpq(1, 10**6)  # terms of higher order
    rays = [[1] * count + [0] * (n - count) for count in range(1, n + 1)]
    for x, y in itertools.product(rays, rays):
        counts = mpq(how.products)
        for limbs, shares in zip((x, y), how.shares, strict=True):
            counts *= sum(a * mpq(b) for a, b in zip(limbs, shares, strict=False))
        lost_here = sum(left_out[i][j] * x[i] * y[j] for i in range(n) for j in range(n))
        assert counts >= (lost_here + state * x[0] * y[0]) * (1 + more)


LEFT_OUT = {
    2: ((2, 2), (1, 1)),
    3: ((0, 0, 0), (0, 0, 1), (0, 1, 0)),
    4: ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 0)),
}
"""How many times a step may lose u^N |x_i|/u^i |y_j|/u^j, in first order (docs/bounds.md)."""

KEYS = [key for key in bounded.SUMS if key[0] > 1]


def named(key: tuple[int, str, str]) -> str:
    """A test's name."""
    return f"{key[0]}{key[1]}_{key[2]}"


@slow(
    "seconds; both words have two limbs, four are as they were proved",
    unless=lambda p: p["key"][0::2] not in ((3, "float64"), (4, "float64")),
)
@pytest.mark.parametrize("key", KEYS, ids=named)
def test_counts_cover_what_is_left_out(key: tuple[int, str, str]) -> None:
    """Products of lower limbs, two fma of two limbs, and the state's own losses."""
    covers(bounded.SUMS[key], key, LEFT_OUT[key[0]])


@pytest.mark.parametrize("key", KEYS, ids=named)
def test_words_of_products_have_what_counts(key: tuple[int, str, str]) -> None:
    """Not less, where they underflow neither, and hardly more elsewhere."""
    (n, fast, word), how = key, bounded.SUMS[key]
    x, y, _ = hostile_operands("mul", n, word)
    unit = mpq(2) ** -bounded.PRECISION[word]
    smallest = mpq(2) ** bounded.SMALLEST[word]
    listing = networks.get(f"bounded_accumulate{n}{fast}_{word}").listing
    lines = [line for line in listing.splitlines() if "size" in line]
    lines = ["radius = 0", *lines, "return xsize, ysize, radius"]
    made_of = language.network("words", f"x:{n} y:{n} -> +3", "\n".join(lines), source="", bound="")
    for scale in (1.0, 2.0 ** (bounded.SMALLEST[word] // 2), 2.0 ** bounded.SMALLEST[word]):
        a, b = (tuple(limb * np.dtype(word).type(scale) for limb in v) for v in (x, y))
        with ieee.quiet():
            *sizes, radius = networks.evaluate(made_of, evaluator.gates(word), a, b)
        wanted = mpq(how.products) * np.multiply(*counted(how, (a, b), unit)) * unit ** (n - 1)
        made = np.multiply(*(fractions([size]) for size in sizes))
        assert (made * mpq(100001, 100000) >= wanted).all()
        if scale == 1.0:
            assert (fractions([radius]) * mpq(100001, 100000) >= wanted).all()
            assert (made <= wanted * mpq(100001, 100000) + 1000 * smallest).all()


@pytest.mark.parametrize("key", KEYS, ids=named)
def test_ends_count_what_they_drop(key: tuple[int, str, str]) -> None:
    """Whatever a state holds: no less than they lose, no more than is proved of all."""
    n, fast, word = key
    words, kind = networks.get(f"accumulate{n}{fast}").result.words, np.dtype(word)
    generator, unit = np.random.default_rng(n), mpq(2) ** -bounded.PRECISION[word]
    sizes = (
        2.0 ** generator.integers(-20, 20, (words, 300)) * float(unit) ** np.arange(words)[:, None]
    )
    state = tuple((generator.uniform(-1, 1, sizes.shape) * sizes).astype(word))
    zero = np.zeros(300, word)
    found = evaluator.run(f"bounded_finish{n}{fast}_{word}", kind, (*state, zero))
    lost = abs(fractions(state) - fractions(found[:-1]))
    settled = mpq(bounded.SUMS[key].settled) * unit**3 * abs(fractions([found[0]]))
    limit = fractions([found[-1]]) * unit**n
    assert (lost <= limit).all()
    if fast:
        assert not limit.any()
    else:
        most = (2 if n == 4 else 1) * unit**n * abs(fractions([found[0]]))
        assert (limit - settled <= most * mpq(101, 100)).all()
        assert lost.any()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_additions_lose_what_is_proved(n: int) -> None:
    """The numbers in the kernels, and those that the networks state."""
    for op, losses in (("add", bounded.ADD), ("mul", bounded.MUL)):
        number = re.match(r"([\d.]+)u", networks.get(f"{op}{n}").bound)
        assert n == 1 or (number and losses[n] >= float(number[1]))


@pytest.mark.parametrize("key", KEYS, ids=named)
def test_every_plain_operation_is_followed(key: tuple[int, str, str]) -> None:
    """As many magnitudes are added as there are operations that round, but for those named."""
    n, fast, word = key
    plain = networks.get(f"accumulate{n}{fast}").cost
    rounding = plain["add"] + plain["mul"] + plain["fma"]
    for gate, count in (("two_sum", 6), ("two_prod", 2)):
        rounding -= count * networks.get(f"accumulate{n}{fast}").listing.count(gate)
    listing = networks.get(f"bounded_accumulate{n}{fast}_{word}").listing
    left = {(2, ""): 3, (3, ""): 3, (2, "_fast"): 2}.get((n, fast), 0)
    left += 4 if key == (4, "", "float64") else 0
    assert listing.count("radius = radius + fabs(") == rounding - left


def hostile_operands(op: str, n: int, word: str) -> tuple[Any, Any, Any]:
    """Where hunts of an operation begin, as words of x and of y, and as many zeros."""
    seed = {"mul": 5, "add": 6}[op]
    hunt = Hunt(Prey(f"{op}{n}", (n, n), lambda v, r, s: 0.0), word, seed)
    rows = np.concatenate([hunt.best, hunt._changed(hunt.best)])
    x, y = (tuple(rows[:, i + k].astype(word) for k in range(n)) for i in (0, n))
    return x, y, np.zeros(len(rows), word)


@pytest.mark.parametrize("key", KEYS, ids=named)
def test_each_step_keeps_its_bound(key: tuple[int, str, str]) -> None:
    """Hostile operands and states: what one step loses is at most u times what it adds."""
    n, fast, word = key
    words = networks.get(f"accumulate{n}{fast}").result.words
    x, y, zero = hostile_operands("mul", n, word)
    state = tuple(zero for _ in range(words + 1))
    u, exact = mpq(2) ** -bounded.PRECISION[word], fractions(x) * fractions(y)
    for _ in range(5):
        before = state
        name = f"bounded_accumulate{n}{fast}_{word}"
        state = evaluator.run(name, np.dtype(word), before, (*x, zero), (*y, zero))
        lost = abs(fractions(state[:-1]) - fractions(before[:-1]) - exact)
        limit = (fractions([state[-1]]) - fractions([before[-1]])) * u * mpq(101, 100)
        assert (lost <= limit).all()


@pytest.mark.parametrize("word", bounded.PRECISION)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_each_addition_keeps_its_bound(n: int, word: str) -> None:
    """Hostile operands, which may cancel; the bound is at most the proved one."""
    x, y, zero = hostile_operands("add", n, word)
    found = evaluator.run(f"bounded_add{n}_{word}", np.dtype(word), (*x, zero), (*y, zero))
    unit = mpq(2) ** (-n * bounded.PRECISION[word])
    lost = abs(fractions(found[:-1]) - fractions(x) - fractions(y))
    limit = fractions([found[-1]]) * unit * mpq(101, 100)
    assert (lost <= limit).all()
    most = abs(fractions([found[0]])) * unit * mpq(bounded.ADD[n])
    assert (limit <= most * mpq(102, 100)).all()


@pytest.mark.parametrize(("steps", "most"), [(1, 22), (4, 28), (16, 42)])
@pytest.mark.parametrize("form", ["float64", "ds", "dd", "ts", "td", "qs", "qd"])
def test_bounds_are_near_errors_of_random_numbers(form: str, steps: int, most: int) -> None:
    """Sums of a few products: within fifty times of the error, the median of 144 elements."""
    f, generator = formats.get(form), np.random.default_rng(12)
    a, b = (uniform(generator, shape, f) for shape in ((12, steps), (steps, 12)))
    left, right = (mp.from_limbs(v, form, HOST) for v in (a, b))
    pair = mp.gemm(left, right, bound=True)
    median = check(pair, mp.gemm(left, right), np.dot(fractions(a), fractions(b)))
    assert median * most >= 1


def uniform(generator: np.random.Generator, shape: tuple[int, ...], form: Any) -> Host:
    """Values from -1 up to 1 whose limbs are all random."""
    planes = [generator.uniform(-1, 1, shape).astype(form.dtype(0))]
    for i in range(1, form.limbs):
        half = np.spacing(np.abs(planes[-1])) / 2
        planes.append((half * generator.uniform(-1, 1, shape)).astype(form.dtype(i)))
    return planes


# --- a hunt --------------------------------------------------------------------------------


@slow("minutes of random and hostile products; other ones each day")
@pytest.mark.parametrize("form", ["ds", "ts", "qs", "dd", "td", "qd", "d+s", "bfloat16"])
def test_bounds_of_many_products(device: Device, form: str) -> None:
    """Two hundred thousand products, of all kinds."""
    f = formats.get(form)
    for seed in range(5):
        for kind, make in MAKERS.items():
            a, b = (
                make(f, s, f"{kind} {seed}") for s in ((100, 4 + 9 * seed), (4 + 9 * seed, 100))
            )
            left, right = mp.from_limbs(a, form, device), mp.from_limbs(b, form, device)
            exact = np.dot(fractions(a), fractions(b))
            check(mp.gemm(left, right, bound=True), mp.gemm(left, right), exact)
