"""Results at thresholds: of overflow, of the smallest number, of ties, and in borrowed memory."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.routines.ozaki.options import Ozaki1, Ozaki2

HOST = "host:0"
WORDS = ("float32", "float64")
LIMBS = ("ds", "dd", "ts", "td", "qs", "qd")
KINDS: tuple[Any, ...] = (True, "tight", "normwise")
ADD = {2: 6, 3: 16, 4: 16}
MUL = {2: 7, 3: 23, 4: 50}
"""docs/bits.md: units of u^N of the result."""


def power(exponent: int) -> Fraction:
    """2^exponent."""
    return Fraction(2) ** exponent


def exact(x: mp.Array) -> Any:
    """The exact values, as an array of Fractions."""
    return np.array(x.to_fractions(), dtype=object).reshape(x.shape)


def number(x: mp.Array) -> Fraction:
    """The only one."""
    return Fraction(exact(x).item())


def scalar(value: Any, form: str) -> Fraction:
    """What a scalar is in a format."""
    return number(mp.array(value, formats.get(form).arithmetic, HOST))


def smallest(f: Format) -> Fraction:
    """The smallest subnormal number."""
    return power(f.encodings[0].smallest)


def largest(f: Format) -> Fraction:
    """The largest leading limb."""
    one = f.encodings[0]
    return power(one.overflow) - power(one.overflow - one.bits)


def rounded(found: mp.Array, wanted: Any) -> None:
    """Limbs are those of the exact numbers."""
    same = mp.array(np.asarray(wanted, object).tolist(), found.format, HOST).reshape(found.shape)
    for a, b in zip(found.to_limbs(), same.to_limbs(), strict=True):
        assert np.array_equal(a, b)


def within(pair: tuple[mp.Array, mp.Array], wanted: Any) -> bool:
    """No bound is below the error; whether all are numbers."""
    value, limit = pair
    assert limit.shape == value.shape
    known = np.atleast_1d(np.isfinite(limit.to_limbs()[0])).ravel()
    planes = [np.atleast_1d(p).ravel() for p in (*value.to_limbs(), limit.to_limbs()[0])]
    for i, one in enumerate(np.atleast_1d(np.asarray(wanted, object)).ravel()):
        if known[i]:
            *limbs, error = (Fraction(float(p[i])) for p in planes)
            assert abs(sum(limbs) - one) <= error, i
    return bool(known.all())


# --- correct rounding ------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*WORDS, "float16", "bfloat16"])
@pytest.mark.parametrize("sign", [1, -1])
def test_overflow_begins_at_half_an_ulp(form: str, sign: int) -> None:
    """The largest number and half of its last bit: a tie, which goes to infinity; less does not."""
    f = formats.get(form)
    half = power(f.encodings[0].overflow - f.encodings[0].bits - 1)
    for beyond, overflows in ((0, True), (1, True), (-1, False)):
        terms = [sign * v for v in (largest(f), half, beyond * smallest(f))]
        x, ones = mp.array(terms, form, HOST), mp.array([1, 1, 1], form, HOST)
        for found in (
            x.sum(rounding="correct"),
            mp.dot(x, ones, rounding="correct"),
            mp.gemm(x[None], ones[:, None], rounding="correct")[0, 0],
        ):
            value = float(found.to_float64())
            assert value == sign * (math.inf if overflows else float(largest(f)))


@pytest.mark.parametrize("form", LIMBS)
def test_lower_limbs_at_the_largest_number(form: str) -> None:
    """They are there as long as the leading limb is."""
    f = formats.get(form)
    half = power(f.encodings[0].overflow - f.encodings[0].bits - 1)
    x = mp.array([largest(f), half, -half / 2], form, HOST)
    assert number(x.sum(rounding="correct")) == largest(f) + half / 2
    x = mp.array([largest(f), half, -smallest(f)], form, HOST)
    assert np.isfinite(x.sum(rounding="correct").to_limbs()[0])


@pytest.mark.parametrize("form", WORDS)
def test_ties_below_the_smallest_number(form: str) -> None:
    """Half of it is 0 with its sign, a product far below breaks the tie, and 3/2 are 2."""
    e = formats.get(form).encodings[0].smallest
    left, right = e // 2 - 1, e - e // 2
    for sign in (1, -1):
        for beyond, wanted in ((0, 0), (1, 1)):
            x = mp.array([power(left), beyond * power(e)], form, HOST)
            y = mp.array([sign * power(right), sign * power(e)], form, HOST)
            found = mp.dot(x, y, rounding="correct")
            assert number(found) == sign * wanted * power(e)
            assert np.signbit(found.to_limbs()[0]) == (sign < 0)
        x, y = mp.array([3 * power(left)], form, HOST), mp.array([sign * power(right)], form, HOST)
        assert number(mp.dot(x, y, rounding="correct")) == sign * 2 * power(e)


@pytest.mark.parametrize("form", [*WORDS, *LIMBS])
def test_products_of_three_that_cancel(form: str) -> None:
    """alpha a b from the largest and the smallest number, less as much of C."""
    f = formats.get(form)
    top, low = largest(f), smallest(f)
    a, b = mp.array([[top, low]], form, HOST), mp.array([[low], [top]], form, HOST)
    c = mp.array([[-2 * top * low]], form, HOST)
    for text in (1, 1024 * low, top, "-0.7"):
        alpha = scalar(text, form)
        for beta in (1, text):
            found = mp.gemm(a, b, alpha=text, beta=beta, c=c, rounding="correct")
            rounded(found, alpha * 2 * top * low + scalar(beta, form) * number(c))


@pytest.mark.parametrize("form", ["float32", "dd", "qs", "d+s"])
def test_neither_order_nor_routine_shows(form: str) -> None:
    """Sums, dot products and products of matrices and vectors of the same terms, shuffled."""
    rng, known = random.Random(5), set()
    terms = [Fraction(rng.getrandbits(60) - 2**59, 2 ** rng.randrange(0, 120)) for _ in range(301)]
    terms += [-v for v in terms[:290]]
    for _ in range(3):
        rng.shuffle(terms)
        x, ones = mp.array(terms, form, HOST), mp.ones(len(terms), form, HOST)
        for found in (
            x.sum(rounding="correct"),
            x[::-1].sum(axis=0, rounding="correct"),
            mp.dot(x, ones, rounding="correct"),
            mp.gemv(x[None], ones, rounding="correct")[0],
            mp.gemm(ones[None], x[:, None], rounding="correct")[0, 0],
        ):
            known.add(tuple(float(limb) for limb in found.to_limbs()))
    assert len(known) == 1


def test_carries_of_equal_terms(device: Device) -> None:
    """More terms with all bits set than an accumulator takes between two carries."""
    count = 2**24 + 3
    x = mp.from_limbs([np.full(count, 2 - 2.0**-23, np.float32)], "float32", device)
    one = 2 - power(-23)
    rounded(x.sum(rounding="correct"), count * one)
    rounded(mp.dot(x, -x, rounding="correct"), -count * one * one)


LONG_AND_SHORT = [
    ("qd", "float32"),
    ("qd", "ds"),
    ("qd", "d+s"),
    ("qd", "tsin80b"),
    ("qd", "float16_rz"),
    ("qs", "float32"),
    ("qs", "ds"),
    ("td", "ts"),
    ("td", "float64"),
    ("ts", "float16"),
    ("dd", "float16"),
    ("dd", "slfp64in48b"),
    ("dd", "d+s"),
]


@pytest.mark.parametrize(("long", "short"), LONG_AND_SHORT)
def test_conversions_round_once(long: str, short: str) -> None:
    """Ties of the short format that limbs far below break, or do not."""
    f, values = formats.get(short), []
    p, low = f.encodings[0].bits, max(-140, 8 - formats.get(long).bits)
    for beyond in (0, 1, -1):
        for place in (p, f.bits, f.bits + 1):
            values.append(1 + power(-place) + beyond * power(low))
            values.append(-1 - power(1 - p) - power(-place) + beyond * power(low))
    x = mp.array(values, long, HOST)
    rounded(x.astype(short), exact(x))


# --- bounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dd", "ts", "td", "qs"])
@pytest.mark.parametrize("period", [4, 31, 32, 33])
def test_sums_that_cancel_as_they_are_renormalised(form: str, period: int) -> None:
    """Every so often a term takes away all that was summed, down to its last limbs."""
    rng, p, terms = random.Random(period), formats.get(form).encodings[0].bits, list[Fraction]()
    for i in range(6 * period):
        if i % period == period - 1:
            terms.append(-sum(terms[1 - period :], Fraction(0)))
        else:
            low = rng.choice([-1, 0, 1]) * power(-p) + rng.choice([-1, 1]) * power(-2 * p)
            one = 1 + rng.randrange(4) * power(1 - p) + low
            terms.append(one * power(rng.choice([0, 0, p, 2 * p // 3, -p])))
    factors = [1 + rng.choice([-1, 1]) * power(-p) + power(-2 * p) for _ in terms]
    x, y = mp.array(terms, form, HOST), mp.array(factors, form, HOST)
    wanted = (exact(x) * exact(y)).sum()
    for accuracy in ("accurate", "fast"):
        for bound in KINDS:
            pair = mp.gemm(x[None], y[:, None], accuracy=accuracy, bound=bound)
            assert within(pair, wanted)
            if bound != "normwise":
                assert within(mp.dot(x, y, accuracy=accuracy, bound=bound), wanted)


@pytest.mark.parametrize("form", [*WORDS, "ds", "dd", "ts", "td", "qs", "d+s"])
@pytest.mark.parametrize("k", [1, 7, 300])
def test_few_digits_and_few_moduli(form: str, k: int) -> None:
    """Products by integers of far fewer bits than the format has."""
    rng = random.Random(k)
    a, b = (
        mp.array(
            [
                [Fraction(rng.getrandbits(200) - 2**199, 2 ** rng.randrange(*spread)) for _ in row]
                for row in ([0] * n for _ in range(m))
            ],
            form,
            HOST,
        )
        for m, n, spread in ((2, k, (190, 230)), (k, 2, (150, 210)))
    )
    wanted = exact(a).dot(exact(b))
    methods = (Ozaki1(slices=2), Ozaki1(slices=3, width=4), Ozaki2(moduli=5), Ozaki2(moduli=9))
    for method in methods:
        for bound in ("normwise", "tight"):
            kind: Any = bound
            assert within(mp.gemm(a, b, method=method, bound=kind), wanted)


@pytest.mark.parametrize("form", ["float64", "dd", "qs"])
def test_what_is_not_read_has_no_say(form: str) -> None:
    """NaN in a product times 0, or in an addend times 0; elsewhere there is no bound."""
    bad = mp.array([[math.nan, math.inf]], form, HOST)
    a, b = mp.array([[1, 2]], form, HOST), mp.array([[1], [2]], form, HOST)
    c = mp.array([[Fraction(1, 3)]], form, HOST)
    for kind in KINDS:
        assert within(mp.gemm(bad, b, alpha=0, beta=3, c=c, bound=kind), 3 * number(c))
        assert within(mp.gemm(a, b, beta=0, c=bad[:, :1], bound=kind), 5)
        assert not within(mp.gemm(a, b, beta=1, c=bad[:, :1], bound=kind), 5)
    rounded(mp.gemm(bad, b, alpha=0, beta=3, c=c, rounding="correct"), [[3 * number(c)]])
    rounded(mp.gemm(a, b, c=bad[:, :1], rounding="correct"), [[5]])
    with pytest.raises(ArgumentError, match="finite"):
        mp.gemm(a, b, beta=1, c=bad[:, :1], rounding="correct")


def ways() -> Iterator[dict[str, Any]]:
    """Options of products that have a bound or are rounded once."""
    yield {"rounding": "correct"}
    for kind in KINDS:
        yield {"bound": kind}
    yield {"rounding": "correct", "bound": "tight"}
    yield {"rounding": "correct", "bound": "normwise"}


@pytest.mark.parametrize("form", ["float32", "dd", "ts", "qd", "float16", "d+s"])
def test_addends_that_are_overwritten_in_place(form: str) -> None:
    """Of a matrix' every other row backwards: the rest of it stays."""
    rng = random.Random(4)

    def matrix(m: int, n: int) -> mp.Array:
        terms = [[Fraction(rng.getrandbits(90) - 2**89, 2**90) for _ in range(n)] for _ in range(m)]
        return mp.array(terms, form, HOST)

    a, b, whole = matrix(3, 5), matrix(5, 4), matrix(8, 9)
    for options in ways():
        held = whole.copy()
        part, others = held[1:7:2, 8:0:-2], np.ones((8, 9), bool)
        others[1:7:2, 8:0:-2] = False
        wanted = exact(a).dot(exact(b)) / -2 + 3 * exact(part)
        found: Any = mp.gemm(a, b, alpha="-0.5", beta=3, c=part, out=part, **options)
        if "bound" in options:
            value, limit = found
            assert within((part, limit), wanted)
        else:
            value = found
        for x, y in zip(value.to_limbs(), part.to_limbs(), strict=True):
            assert np.array_equal(x, y)
        if "rounding" in options:
            rounded(part, wanted)
        assert (exact(held)[others] == exact(whole)[others]).all()


# --- near the ends of the range --------------------------------------------------------------


@pytest.mark.parametrize("form", LIMBS)
def test_quotients_about_the_smallest_number(form: str) -> None:
    """Off by less than two of it, where they are not above, by a part of it."""
    f, rng = formats.get(form), random.Random(11)
    e, unit = f.encodings[0].smallest, smallest(f)
    near = 0
    for _ in range(100):
        up = rng.randrange(-3, 6)
        x, y = (
            mp.array([Fraction(rng.getrandbits(40) | 2**39, 2**39) * power(at)], form, HOST)
            for at in (e // 2, e // 2 - e - up)
        )
        wanted, found = number(x) / number(y), number(x / y)
        if wanted < 2 * unit:
            near += 1
            assert abs(found - wanted) <= 2 * unit
        else:
            assert abs(found - wanted) <= unit
    assert near > 10


def edges(f: Format, rng: np.random.Generator, leading: Any, sign: int) -> mp.Array:
    """Numbers whose lower limbs are half an ulp of the one above, or just less."""
    word = np.dtype(f.word).type
    planes, p = [leading.astype(f.word)], f.encodings[0].bits
    for _ in range(1, f.limbs):
        _, exponent = np.frexp(planes[-1].astype(np.float64))
        tie = np.ldexp(rng.choice([1, 1 - 2.0**-p], leading.size), exponent - 1 - p)
        planes.append((sign * tie).astype(word))
    return mp.from_limbs(planes, f, HOST)


@pytest.mark.parametrize("form", LIMBS)
def test_lower_limbs_are_lost_only_within_two_roundings_of_overflow(form: str) -> None:
    """Products and sums about the largest number: finite and bounded where they are farther."""
    f, rng = formats.get(form), np.random.default_rng(8)
    p, end, count = f.encodings[0].bits, f.encodings[0].overflow, 400
    limit, roundoff = power(end) * (1 - 2 * power(-p)), Fraction(f.unit_roundoff)
    m = 1 + np.floor(rng.random(count) * 2.0 ** (p - 1)) * 2.0 ** (1 - p)
    steps = rng.integers(-6, 3, count) * 2.0 ** (2 - p)
    other = np.minimum(4 - m + steps, np.nextafter(4, 0, dtype=f.word))
    half = end // 2
    signs = [(-1, -1), (-1, 1), (1, 1)]
    lost, kept = 0, 0
    for low, high in signs:
        x, y = (
            edges(f, rng, np.ldexp(v, e), sign)
            for v, e, sign in ((m, half, low), (2 / m + steps / 4, end - half - 1, high))
        )
        u, v = (edges(f, rng, np.ldexp(w, end - 2), sign) for w, sign in ((m, low), (other, high)))
        with np.errstate(over="ignore", invalid="ignore"):
            cases = (
                (x * y, exact(x) * exact(y), MUL[f.limbs]),
                (u + v, exact(u) + exact(v), ADD[f.limbs]),
            )
        for found, wanted, factor in cases:
            limbs = found.to_limbs()
            for i, value in enumerate(wanted):
                finite = np.isfinite(limbs[0][i])
                if value >= limit:
                    lost += not finite
                    continue
                assert finite
                error = abs(sum(Fraction(float(limb[i])) for limb in limbs) - value)
                assert error <= factor * roundoff * value
                kept += 1
    assert lost > 100 and kept > 100


@pytest.mark.parametrize("form", LIMBS)
def test_equal_values_with_other_limbs(form: str) -> None:
    """1 and half an ulp, and the next number less half of one: one value everywhere."""
    f = formats.get(form)
    word, u = np.dtype(f.word).type, 2.0 ** -f.encodings[0].bits
    rest = [np.zeros(1, word)] * (f.limbs - 2)
    x, y = (
        mp.from_limbs([np.array([a], word), np.array([b], word), *rest], f, HOST)
        for a, b in ((1.0, u), (1 + 2 * u, -u))
    )
    assert not np.array_equal(x.to_limbs()[0], y.to_limbs()[0])
    assert bool((x == y).all()) and bool((x <= y).all())
    assert not bool((x < y).any()) and not bool((x != y).any())
    both = mp.concatenate([x, y])
    assert mp.unique(both).size == 1
    assert int(both.argmax()) == int(both.argmin()) == int(mp.searchsorted(y, x)[0]) == 0
    assert x.to_strings() == y.to_strings()
    for short in ("float32", "float16", "d+s"):
        for a, b in zip(x.astype(short).to_limbs(), y.astype(short).to_limbs(), strict=True):
            assert np.array_equal(a, b)
