"""Bounds of products with many steps, of which not every one is followed (docs/bounds.md)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from slow import mostly_slow
from test_certified import (
    ALL,
    HOST,
    MAKERS,
    check,
    counted,
    covers,
    fractions,
    hostile_operands,
    named,
    uniform,
)

import portmp as mp
from portmp import definition, formats, networks
from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.networks import bounded, evaluator
from portmp.networks.bounded import SPANS
from portmp.routines import spans
from portmp.routines.gemm import launch as products
from portmp.routines.gemm.schedule import GemmSchedule

STEPS = definition.SLAB + definition.SPAN + 13
"""Two slabs, the second of a whole span and a part of one."""
KEYS = list(SPANS)


def compare(form: str, kind: str, accuracy: str, steps: int = STEPS) -> None:
    """A product, and one with alpha and beta."""
    f, make = formats.get(form), MAKERS[kind]
    a, b, c = make(f, (1, steps), "a"), make(f, (steps, 2), "b"), make(f, (1, 2), "c")
    left, right, addend = (mp.from_limbs(v, form, HOST) for v in (a, b, c))
    product = np.dot(fractions(a), fractions(b))
    plain = mp.gemm(left, right, accuracy=accuracy)
    check(mp.gemm(left, right, accuracy=accuracy, bound=True), plain, product)
    more: dict[str, Any] = {"alpha": "-0.3", "beta": "1.7", "c": addend, "accuracy": accuracy}
    alpha, beta = (
        Fraction(fractions(mp.array(text, f.arithmetic, HOST).to_limbs()).item())
        for text in (more["alpha"], more["beta"])
    )
    ended = alpha * product + beta * fractions(c)
    check(mp.gemm(left, right, bound=True, **more), mp.gemm(left, right, **more), ended)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("form", mostly_slow(ALL, ["float64", "ds", "td"], "the same networks"))
def test_bounds_hold_on_the_host(form: str, kind: str) -> None:
    """Every format and kind of operands."""
    for accuracy in formats.get(form).accumulators:
        compare(form, kind, accuracy)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("form", ["ds", "dd"])
def test_bounds_hold_where_norms_begin(form: str, kind: str) -> None:
    """Two limbs: a part of a span."""
    f = formats.get(form)
    for accuracy, one in f.accumulators.items():
        steps = SPANS[2, one.suffix, f.word].steps
        assert spans.of(f, steps, accuracy)
        assert not spans.of(f, steps - 1, accuracy)
        compare(form, kind, accuracy, steps)


@pytest.mark.parametrize(
    "form", mostly_slow(["dd", *(f for f in ALL if f != "dd")], ["dd", "float64"], "the same text")
)
def test_devices_have_the_hosts_bounds(device: Device, form: str) -> None:
    """Bits of values and bounds, of batches and of operands in any order, too."""
    f = formats.get(form)
    a, b = inputs.ordinary(f, (2, 1, 5, 700), "a"), inputs.wide(f, (3, 700, 4), "b")
    for accuracy in f.accumulators:
        found = []
        for where in (device, HOST):
            left, right = (mp.from_limbs(v, form, where) for v in (a, b))
            turned = left.swapaxes(-1, -2).copy().swapaxes(-1, -2)
            pairs = [mp.gemm(v, right, accuracy=accuracy, bound=True) for v in (left, turned)]
            pairs.append(mp.gemm(left[0, 0], right[1], accuracy=accuracy, bound=True))
            found.append([limb for pair in pairs for v in pair for limb in v.to_limbs()])
        for here, there in zip(*found, strict=True):
            assert np.array_equal(here, there, equal_nan=True)


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


@pytest.mark.parametrize("form", ["float32", "float64", "float16", "dd"])
def test_bounds_of_few_elements_are_the_hosts(anywhere: Device, form: str) -> None:
    """Of one limb they lie in a block's memory on GPUs; a slab for each block, too."""
    f = formats.get(form)
    least = SPANS[f.limbs, "", "float64"].steps
    for m, k, n in ((9, STEPS if f.limbs == 1 else least + definition.SPAN, 7), (1, least, 5)):
        a, b = inputs.ordinary(f, (m, k), "a"), inputs.ordinary(f, (k, n), "b")
        found = []
        for where in (anywhere, HOST):
            left, right = (mp.from_limbs(v, form, where) for v in (a, b))
            pair = mp.gemm(left, right, alpha="-0.3", bound=True)
            found.append([limb for v in pair for limb in v.to_limbs()])
        for here, there in zip(*found, strict=True):
            assert np.array_equal(here, there)


@pytest.mark.parametrize(
    "schedule",
    [
        GemmSchedule(8, 8, 2, 4, tile_k=32, vector=2, pad=2),
        GemmSchedule(4, 8, 3, 8, tile_k=16, stages=2),
        GemmSchedule(4, 8, 2, 2, tile_k=8).for_call(split=True),
    ],
    ids=["four", "two groups of four", "two, each slab a block"],
)
@pytest.mark.parametrize("form", ["float32", "float64"])
def test_bounds_in_groups_are_the_hosts(
    anywhere: Device, form: str, schedule: GemmSchedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbours in a block's memory, over two slabs, in whole tiles and others; few steps, NaN."""
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
def test_coarse_words_are_above(word: str) -> None:
    """By little: their lower halves are zero. Infinity and NaN do not become numbers."""
    x = np.abs(inputs.wide(formats.get(word), (500,), "x")[0])
    x = np.append(x[np.isfinite(x)], [0, 2.0 ** bounded.SMALLEST[word], np.finfo(word).max])
    found = evaluator.coarse(x.astype(word))
    half = 4 * found.dtype.itemsize
    assert not np.any(found.view(f"u{found.dtype.itemsize}") & ((1 << half) - 1))
    assert (found > x).all()
    normal = (x >= np.finfo(word).tiny) & (x < np.finfo(word).max / 2)
    assert (found[normal] <= x[normal] * (1 + 2.0 ** (half - bounded.PRECISION[word] + 1))).all()
    assert not np.isfinite(evaluator.coarse(np.array([np.inf, np.nan], word))).any()


def cancelling(f: Format, period: int) -> tuple[list[Fraction], list[Fraction]]:
    """Products whose sum is near zero after each period, and large between."""
    if f.limbs == 1:
        small = f.unit_roundoff * Fraction(63, 128)
        terms = [Fraction(1), *[Fraction(small)] * (period - 2), Fraction(-1)]
        return terms * (definition.SLAB // period), [Fraction(1)] * definition.SLAB
    x, y = (fractions(inputs.positive(f, (definition.SLAB,), name)) for name in "xy")
    for first in range(0, definition.SLAB, period):
        last = first + period - 1
        x[last] = -sum(x[first:last] * y[first:last]) / y[last]
    return list(x), list(y)


@pytest.mark.parametrize(("form", "accuracy"), [("float64", "accurate"), ("dd", "fast")])
def test_sums_that_are_large_between(form: str, accuracy: str) -> None:
    """Running sums are small wherever they are looked at; what is lost is lost between."""
    f = formats.get(form)
    way = spans.of(f, definition.SLAB, accuracy)
    assert way is not None
    x, y = (mp.array(v, form, HOST) for v in cancelling(f, way.period))
    pair = mp.gemm(x[None, :], y[:, None], accuracy=accuracy, bound=True)
    exact = np.dot(fractions(x.to_limbs()), fractions(y.to_limbs()))
    value, limit = (Fraction(fractions(v.to_limbs()).item()) for v in pair)
    assert 0 < abs(value - exact) <= limit
    if f.limbs == 1:  # nearly half a rounding is lost each step; norms lose a root of the period
        assert limit <= 9 * abs(value - exact)


@pytest.mark.parametrize("key", KEYS, ids=named)
def test_what_products_between_count(key: tuple[int, str, str]) -> None:
    """A step's running sum differs from the nearer known one by the products between."""
    known = SPANS[key]
    unit, products = known.unit, known.followed.products
    if not known.period:
        assert known.weights == (products * unit,)
        return
    counts = [0] * known.period
    for step in range(1, known.period + 1):
        before = range(step) if step <= known.period // 2 else range(step, known.period)
        for i in before:
            counts[i] += 1
    assert known.weights == tuple((products + n) * unit or 1.0 for n in counts)


@pytest.mark.parametrize("word", bounded.PRECISION)
def test_known_sums_count(word: str) -> None:
    """Fast sums of two limbs: u^2 times the running sum for each step of a period."""
    u, kind = 2.0 ** -bounded.PRECISION[word], np.dtype(word)
    state = tuple(np.array([v], word) for v in (-3.0, 0.0, 0.0))
    settled = evaluator.run(f"bounded_renormalise2_fast_spans_{word}", kind, state)
    assert settled[-1] == 3 * definition.FAST_PERIOD * u
    ended = evaluator.run(f"bounded_finish2_fast_spans_{word}", kind, state)
    assert ended[-1] == 3 * definition.FAST_PERIOD


LEFT_OUT = {
    2: ((3, 3), (2, 1)),
    3: ((1, 6, 2), (6, 3, 1), (1, 1, 0)),
    4: ((0, 0, 6, 4), (0, 5, 2, 1), (6, 1, 1, 0), (3, 1, 0, 0)),
}
"""Fast sums: how many times a step may lose u^N |x_i|/u^i |y_j|/u^j, in first order."""


@pytest.mark.parametrize("key", [key for key in KEYS if key[0] > 1], ids=named)
def test_counts_cover_what_is_left_out(key: tuple[int, str, str]) -> None:
    """Accurate sums are followed as those of few steps are."""
    if key[1]:
        covers(SPANS[key].followed, key, LEFT_OUT[key[0]])
    else:
        assert SPANS[key].followed is bounded.SUMS[key]


@pytest.mark.parametrize("key", [key for key in KEYS if key[0] > 1], ids=named)
def test_each_step_keeps_its_bound(key: tuple[int, str, str]) -> None:
    """Hostile operands and states: what is not followed is what norms and known sums count."""
    (n, fast, word), known = key, SPANS[key]
    words = networks.get(f"accumulate{n}{fast}").result.words
    x, y, zero = hostile_operands("mul", n, word)
    state = tuple(zero for _ in range(words + 1))
    u, exact = Fraction(2) ** -bounded.PRECISION[word], fractions(x) * fractions(y)
    size = np.multiply(*counted(known.followed, (x, y), u))
    name = f"bounded_accumulate{n}{fast}_spans_{word}"
    for _ in range(5):
        before = state
        state = evaluator.run(name, np.dtype(word), before, (*x, zero), (*y, zero))
        lost = abs(fractions(state[:-1]) - fractions(before[:-1]) - exact)
        followed = (fractions([state[-1]]) - fractions([before[-1]])) * u
        left = Fraction(known.followed.products) * size
        if known.period:
            left += abs(fractions([state[0]]))
        assert (lost <= (followed + left * u**n) * Fraction(101, 100)).all()


@pytest.mark.parametrize("key", KEYS, ids=named)
def test_norms_are_not_below(key: tuple[int, str, str]) -> None:
    """Ordinary numbers, all of the range, subnormal ones, zeros; and hardly above."""
    size, known, word = 3 * definition.SPAN - 5, SPANS[key], key[2]
    f = formats.of_words(word, known.limbs)
    counts, unit = known.weights, known.unit
    total = sum(map(Fraction, counts)) * (definition.SPAN // len(counts))
    smallest = 2.0 ** bounded.SMALLEST[word]
    rest = [np.zeros(size, word)] * (f.limbs - 1)
    largest = np.where(np.arange(size) % 99 == 3, np.finfo(word).max / 2, 1)
    rows = [
        v
        for make in (inputs.ordinary, inputs.wide)
        for v in zip(*make(f, (4, size), "x"), strict=True)
    ]
    rows += [(np.full(size, smallest, word), *rest), (np.zeros(size, word), *rest)]
    rows += [(np.where(np.arange(size) % 7 == 3, 3 * smallest, 0).astype(word), *rest)]
    rows += [(largest.astype(word), *rest)]
    x = [np.stack(limbs) for limbs in zip(*rows, strict=True)]
    gone = ~np.isfinite(x[0])
    for i, limb in enumerate(x):
        limb[gone] = 0 if i else 1
    planes = mp.from_limbs(x, f.name, HOST).planes
    turned = planes.transposed([1, 0])
    sizes = counted(known.followed, (x, x), Fraction(2) ** -bounded.PRECISION[word])
    for whole, found in zip(sizes, spans.norms(planes, turned, known), strict=True):
        for row, norms in zip(whole, found.read_dense()[0].T, strict=False):
            for first, norm in enumerate(norms):
                part = row[first * definition.SPAN : (first + 1) * definition.SPAN]
                square = sum(
                    Fraction(counts[i % len(counts)] / unit) * v**2 for i, v in enumerate(part)
                )
                if not np.isfinite(norm):
                    assert max(part) > Fraction(float(np.finfo(word).max)) / 2
                    continue
                least = Fraction(float(norm)) * Fraction(10001, 10000)
                assert square <= least**2 * total
                above = max(Fraction(float(norm)) - 2 * Fraction(smallest), Fraction(0))
                assert square * 2 >= above**2 * total


@pytest.mark.parametrize("word", bounded.PRECISION)
def test_bounds_near_the_ends_of_the_range(word: str) -> None:
    """Large entries that meet small ones, in either operand, or in alpha."""
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


@pytest.mark.parametrize(
    ("form", "most"),
    [("float64", 175), ("ds", 150), ("dd", 165), ("td", 165), ("qs", 205), ("qd", 220)],
)
def test_bounds_are_near_errors_of_random_numbers(form: str, most: int) -> None:
    """The median of 36 elements over 600 steps, all limbs random."""
    f, generator = formats.get(form), np.random.default_rng(12)
    a, b = (uniform(generator, shape, f) for shape in ((6, 600), (600, 6)))
    left, right = (mp.from_limbs(v, form, HOST) for v in (a, b))
    pair = mp.gemm(left, right, bound=True)
    median = check(pair, mp.gemm(left, right), np.dot(fractions(a), fractions(b)))
    assert median * most >= 1
