"""Bounds and correct roundings of hostile sums beside exact arithmetic, in all formats."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest
from gmpy2 import mpq
from operands import rationals
from slow import mostly_slow, one_in, slow

import portmp as mp
from portmp import formats
from portmp.arrays.array import Array
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format, convert, inputs

HOST = "host:0"
ALL = [*formats.STANDARD, *formats.STORED]
SMALLEST = {"float32": -149, "float64": -1074}
LARGEST = {"float32": 127, "float64": 1023}

Numbers = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Sums:
    """alpha a b + beta c of numbers, or of arrays, in lists of rows."""

    a: Any
    b: Any
    c: Any = None
    alpha: Any = 1
    beta: Any = 0


def rows(terms: Sequence[Any], factors: Sequence[Any] | None = None) -> Sums:
    """One sum of products in a product of matrices of two rows and two columns.

    The others are the same backwards, and with the signs changed.
    """
    other = [1] * len(terms) if factors is None else factors
    back = list(reversed(other))
    return Sums(
        [list(terms), list(reversed(terms))], list(zip(other, [-v for v in back], strict=True))
    )


def limbs(f: Format, *values: mpq) -> Array:
    """Weakly normalised limbs as given, cut to the format's; a storage format rounds them."""
    kept = values[: f.limbs]
    if f.compute is not f:
        return mp.array(sum(kept, mpq(0)), f, HOST)
    return mp.from_limbs([np.array(float(v), f.dtype(i)) for i, v in enumerate(kept)], f, HOST)


def number(x: Array) -> mpq:
    """The value of one element."""
    return exact(x).item()


def power(exponent: int) -> mpq:
    """2^exponent."""
    return mpq(2) ** exponent


def uniform(seed: int, count: int) -> list[mpq]:
    """Numbers from -1 up to 1 with more bits than any format has."""
    generator = np.random.default_rng(seed)
    words = generator.integers(-(2**62), 2**62, (count, 6))
    return [sum(mpq(int(w), 2 ** (62 * (i + 1))) for i, w in enumerate(row)) for row in words]


# --- the cases -----------------------------------------------------------------------------


def tails(f: Format, signs: Sequence[int]) -> Array:
    """1 + ulp, and below it limbs of half an ulp each: as far as weak normalisation goes."""
    p, found = f.encodings[0].bits, [1 + power(1 - f.encodings[0].bits)]
    exponent = -p
    for sign in signs[: f.limbs - 1]:
        found.append(sign * power(exponent))
        exponent -= p
    return limbs(f, *found)


def full(f: Format, sign: int) -> Array:
    """Limbs whose bits are all one, each just below half an ulp of the one before."""
    p = f.encodings[0].bits
    return limbs(
        f, *((sign if i else 1) * (power(1) - power(1 - p)) * power(-i * (p + 1)) for i in range(4))
    )


def same(x: Array, y: Array, count: int) -> Sums:
    """A product that is repeated."""
    return rows([number(x)] * count, [number(y)] * count)


def audit(f: Format, count: int) -> Sums:
    """The operands whose products an early network lost most of."""
    p = f.encodings[0].bits
    shift = power(24 - p)
    x = [mpq(float.fromhex(v)) for v in ("0x1.000216p+1", "0x1.fff932p-24", "0x1.ffffd4p-49")]
    y = [mpq(float.fromhex(v)) for v in ("0x1.000452p+0", "0x1.7fda76p-25", "0x1.ffffbcp-50")]
    a, b = (sum(v * shift**i for i, v in enumerate(values[: f.limbs])) for values in (x, y))
    return rows([a] * count, [b] * count)


def subnormal(f: Format) -> Sums:
    tiny = power(f.encodings[0].smallest)
    return rows([tiny, 3 * tiny, -tiny, 5 * tiny] * 5, uniform(1, 20))


def straddling(f: Format) -> Sums:
    """Products whose parts are on both sides of the smallest subnormal number."""
    half = max(SMALLEST[f.word], 2 * f.encodings[0].smallest) // 2
    scale = [power(min(half + 7 * (i % 9), f.encodings[0].overflow - 1)) for i in range(27)]
    return rows(
        [v * s for v, s in zip(uniform(2, 27), scale, strict=True)],
        [v * s for v, s in zip(uniform(3, 27), reversed(scale), strict=True)],
    )


def low_limbs(f: Format) -> Sums:
    """Operands whose second, third and fourth limbs are subnormal or vanish."""
    p, low = f.encodings[0].bits, f.encodings[0].smallest
    scale = [power(min(low + p * (i % 5) + 3, f.encodings[0].overflow - 1)) for i in range(25)]
    return rows([v * s for v, s in zip(uniform(4, 25), scale, strict=True)], uniform(5, 25))


def halves_below(f: Format) -> Sums:
    """Errors of products that are half of the smallest subnormal number."""
    half = -(-max(SMALLEST[f.word], 2 * f.encodings[0].smallest) // 2)
    eps = power(1 - f.encodings[0].bits)
    return rows(
        [power(half) * (1 + eps), power(half) * 3, power(half - 1)] * 4,
        [power(half) * (1 + eps), power(half - 1), power(half)] * 4,
    )


def biggest(f: Format) -> mpq:
    one = f.encodings[0]
    return power(one.overflow) - power(one.overflow - one.bits)


def cliffs(f: Format) -> Sums:
    """Numbers that cancel about a small one, at each place of a renormalisation."""
    high = power(min(f.encodings[0].overflow - 3, 60))
    terms: list[mpq] = []
    for i, v in enumerate(uniform(6, 40)):
        terms += [high * (i + 1) / 64, v, -high * (i + 1) / 64]
    return rows(terms)


def ladder(f: Format, step: int, signs: Sequence[int] = (1,)) -> Sums:
    """Terms that are each 2^-step of the one before."""
    low = max(f.encodings[0].smallest, -8 * f.encodings[0].bits)
    count = min(40, -low // step)
    return rows([s * power(-step * i) for i, s in zip(range(count), cycle(signs))])


def lost_ties(f: Format, count: int, exponent: int) -> Sums:
    """One, and numbers that are half of what its last bit is worth, or just above that half."""
    small = power(max(exponent, f.encodings[0].smallest))
    return rows([mpq(1), *[small] * count], None)


def sticky(f: Format) -> Sums:
    """A tie at each limb, and the smallest number to break it."""
    bits, low = f.bits, f.encodings[0].smallest
    tiny = power(low)
    tie = max(-bits, low)
    return rows([mpq(1), power(tie), tiny, -power(tie), power(tie), -tiny, tiny])


def overflowing(f: Format) -> Sums:
    top = biggest(f)
    return rows([top / 2, top / 2, top / 4, -top, top / 2, -top / 3, 1])


def beyond(f: Format) -> Sums:
    """Products beyond the range that cancel."""
    top = biggest(f)
    return rows([top, top, 3, -top, -top, power(-3)], [top, 2, 5, top, 2, 7])


def largest_and_smallest(f: Format) -> Sums:
    top, low = biggest(f), power(f.encodings[0].smallest)
    return rows([top, low, low, -top] * 3, [low, top, low, low] * 3)


def zeros(f: Format) -> Sums:
    return rows([0.0, -0.0, 1, -1, 0.0], [-0.0, 3, 0.0, -0.0, -5])


def opposite(f: Format) -> Sums:
    values = uniform(7, 30)
    return rows([*values, *(-v for v in reversed(values))])


def geometric(f: Format) -> Sums:
    return rows([mpq(1, 3**i) for i in range(30)], [mpq(-2) ** (i % 5) for i in range(30)])


def harmonic(f: Format) -> Sums:
    return rows([mpq((-1) ** i, i + 1) for i in range(99)], [mpq(1, 2 * i + 1) for i in range(99)])


def squares(f: Format) -> Sums:
    """(h + 1)(h - 1) - h^2 = -1, for h that fill the format."""
    h = power(min(f.bits, f.encodings[0].overflow - 2) - 1)
    h = h if f.limbs == 1 else power(f.encodings[0].bits * f.limbs // 2 - 1) + 1
    return rows([h + 1, h, -1, 1], [h - 1, -h, -1, mpq(1, 7)])


def hilbert(f: Format) -> Sums:
    """The Hilbert matrix times a column of its inverse: integers that cancel."""
    n = 8
    binomials = [math.comb(n + i, n - 1) * math.comb(n, n - i - 1) for i in range(n)]
    inverse = [mpq((-1) ** i * n * v, 2**12) for i, v in enumerate(binomials)]
    return rows([mpq(1, i + 1) for i in range(n)], inverse)


def balanced(f: Format) -> Sums:
    """alpha a b + beta c, where c is nearly what cancels the product."""
    x, y = uniform(8, 33), uniform(9, 33)
    exact = sum(a * b for a, b in zip(x, y, strict=True))
    return Sums([x, x], [[v, -v] for v in y], [[-exact, exact], [-exact, exact]], 1, 1)


def scaled(f: Format, alpha: Any, beta: Any) -> Sums:
    found = rows(uniform(10, 35), uniform(11, 35))
    c = [uniform(12, 2), uniform(13, 2)]
    return Sums(found.a, found.b, c, alpha, beta)


def tiny_addend(f: Format) -> Sums:
    tiny = power(f.encodings[0].smallest)
    return Sums([[0, 0], [1, -1]], [[1, 1], [1, 1]], [[tiny, -tiny], [3 * tiny, 0]], 3, "0.5")


def one_product(f: Format) -> Sums:
    return rows(uniform(14, 1), uniform(15, 1))


def nothing(f: Format) -> Sums:
    return Sums(np.zeros((2, 0)), np.zeros((0, 2)), [uniform(16, 2), uniform(17, 2)], 3, "-0.7")


def of_signs(f: Format, count: int) -> Sums:
    values = list(islice(cycle(uniform(18, 7)), count))
    return rows(
        [abs(v) * (-1) ** i for i, v in enumerate(values)],
        list(islice(cycle(uniform(19, 5)), count)),
    )


def wide(f: Format) -> Sums:
    x = convert.to_fractions(inputs.wide(f, (30,), "hostile x"))
    y = convert.to_fractions(inputs.wide(f, (30,), "hostile y"))
    return rows([*x, *x], [*y, *(-y)])


CASES: dict[str, Callable[[Format], Sums]] = {
    "subnormal": subnormal,
    "straddling": straddling,
    "low limbs vanish": low_limbs,
    "halves of the smallest": halves_below,
    "half ulps": lambda f: same(tails(f, (1, 1, 1)), tails(f, (1, 1, 1)), 40),
    "half ulps, alternating": lambda f: same(tails(f, (1, -1, 1)), tails(f, (-1, 1, -1)), 40),
    "half ulps below": lambda f: same(tails(f, (-1, -1, -1)), tails(f, (1, -1, -1)), 33),
    "full limbs": lambda f: same(full(f, 1), full(f, 1), 32),
    "full limbs, signs": lambda f: same(full(f, -1), full(f, 1), 31),
    "of the audit": lambda f: audit(f, 257),
    "cliffs": cliffs,
    "opposite": opposite,
    "ladder of ties": lambda f: ladder(f, f.encodings[0].bits),
    "ladder, signs": lambda f: ladder(f, f.encodings[0].bits + 1, (1, -1)),
    "powers of two": lambda f: ladder(f, 1),
    "powers of two, signs": lambda f: ladder(f, 3, (1, 1, -1)),
    "lost halves": lambda f: lost_ties(f, 100, -f.encodings[0].bits),
    "lost halves of the last limb": lambda f: lost_ties(f, 100, -f.bits),
    "lost just above halves": lambda f: lost_ties(f, 64, -f.bits + 1),
    "sticky": sticky,
    "overflowing sums": overflowing,
    "products beyond the range": beyond,
    "largest and smallest": largest_and_smallest,
    "zeros": zeros,
    "geometric": geometric,
    "harmonic": harmonic,
    "squares": squares,
    "hilbert": hilbert,
    "product and addend cancel": balanced,
    "alpha and beta": lambda f: scaled(f, "-0.3", "1.7"),
    "alpha of one": lambda f: scaled(f, 1, "1e-3"),
    "alpha of minus one": lambda f: scaled(f, -1, -1),
    "small alpha": lambda f: scaled(f, power(f.encodings[0].smallest), 1),
    "alpha near the smallest root": lambda f: scaled(
        f, power(f.encodings[0].smallest // 2), power(-3)
    ),
    "large alpha": lambda f: scaled(f, power(f.encodings[0].overflow - 2), "-1"),
    "large beta": lambda f: scaled(f, power(-9), power(f.encodings[0].overflow - 1)),
    "alpha of zero": lambda f: scaled(f, 0, "0.9"),
    "tiny addend": tiny_addend,
    "one product": one_product,
    "no products": nothing,
    "wide, cancelling": wide,
    "31 steps": lambda f: of_signs(f, 31),
    "32 steps": lambda f: of_signs(f, 32),
    "33 steps": lambda f: of_signs(f, 33),
    "255 steps": lambda f: of_signs(f, 255),
    "256 steps": lambda f: of_signs(f, 256),
}
LONG: dict[str, Callable[[Format], Sums]] = {
    "1023 steps": lambda f: of_signs(f, 1023),
    "1024 equal steps": lambda f: audit(f, 1024),
    "1025 steps": lambda f: of_signs(f, 1025),
    "4097 equal steps": lambda f: same(tails(f, (1, 1, 1)), tails(f, (1, 1, 1)), 4097),
}


# --- how they are checked ------------------------------------------------------------------


def exact(x: Array) -> Any:
    """The exact values."""
    return rationals(x.to_limbs())


def within(pair: tuple[Array, Array], plain: Array, sums: Any) -> bool:
    """Bounds hold and results are those without; whether all bounds are numbers."""
    value, bound = pair
    assert bound.shape == value.shape
    for a, b in zip(value.to_limbs(), plain.to_limbs(), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    limits = np.atleast_1d(bound.to_limbs()[0]).ravel()
    assert not (limits < 0).any()
    planes = [np.atleast_1d(p).ravel() for p in value.to_limbs()]
    wanted = np.asarray(sums, object).ravel()
    for i, limit in enumerate(limits):
        if not np.isfinite(limit):
            continue
        found = sum((mpq(float(p[i])) for p in planes), mpq(0))
        assert abs(found - wanted[i]) <= mpq(float(limit)), (i, float(limit))
    return bool(np.isfinite(limits).all())


def rounded(value: Array, sums: Any) -> None:
    """Each element is its exact sum, rounded as numbers are."""
    wanted = mp.array(np.asarray(sums, object).tolist(), value.format, HOST)
    for a, b in zip(value.to_limbs(), wanted.to_limbs(), strict=True):
        assert np.array_equal(a, b)
        zero = a == 0
        assert not np.signbit(a[zero & np.asarray(np.asarray(sums, object) == 0)]).any()


def check(case: Sums, form: str, device: Any) -> Iterator[bool]:
    """GEMM, GEMV, DOT, sums and norms of a case; whether each has all its bounds."""
    f = formats.get(form)
    a, b = (v if isinstance(v, Array) else mp.array(v, f, device) for v in (case.a, case.b))
    c = None if case.c is None else mp.array(case.c, f, device)
    xs, ys = exact(a), exact(b)
    product = np.dot(xs, ys) if a.shape[1] else np.full((a.shape[0], b.shape[1]), mpq(0))
    alpha, beta = (number(mp.array(v, f.arithmetic, HOST)) for v in (case.alpha, case.beta))
    sums = alpha * product + (0 if c is None else beta * exact(c))
    ends: dict[str, Any] = {"alpha": case.alpha, "beta": case.beta, "c": c}
    for accuracy in ("accurate", "fast") if f.limbs > 1 else ("accurate",):
        ends["accuracy"] = accuracy
        yield within(mp.gemm(a, b, bound=True, **ends), mp.gemm(a, b, **ends), sums)
    del ends["accuracy"]
    rounded(mp.gemm(a, b, rounding="correct", **ends), sums)
    ends = {"alpha": case.alpha, "beta": case.beta, "y": None if c is None else c[:, 0]}
    yield within(mp.gemv(a, b[:, 0], bound=True, **ends), mp.gemv(a, b[:, 0], **ends), sums[:, 0])
    rounded(mp.gemv(a, b[:, 0], rounding="correct", **ends), sums[:, 0])
    yield within(mp.dot(a[0], b[:, 1], bound=True), mp.dot(a[0], b[:, 1]), product[0, 1])
    rounded(mp.dot(a[0], b[:, 1], rounding="correct"), product[0, 1])
    for axis in (0, 1, None):
        totals = np.asarray(xs.sum(axis=axis) if xs.size else np.zeros(xs.shape).sum(axis=axis))
        yield within(a.sum(axis=axis, bound=True), a.sum(axis=axis), totals)
        rounded(a.sum(axis=axis, rounding="correct"), totals)
    norm, limit = (
        exact(v).item() if np.isfinite(v.to_limbs()[0]) else None for v in mp.nrm2(a, bound=True)
    )
    if norm is not None and limit is not None:
        square = sum(v * v for v in xs.ravel())
        assert max(norm - limit, 0) ** 2 <= square <= (norm + limit) ** 2
    yield limit is not None


RANGE = {
    "overflowing sums",
    "products beyond the range",
    "largest and smallest",
    "large alpha",
    "large beta",
    "wide, cancelling",
}
"""Cases whose results or parts of them may be beyond the range, so that no bound may be known."""
SHORT_RANGE = {"straddling", "low limbs vanish"}
"""Cases whose sums are beyond float16's largest number, 65504."""


@slow("a twelfth stands for all: each case, each format", one_in(12, name=CASES, form=ALL))
@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("name", CASES)
def test_hostile_sums(name: str, form: str) -> None:
    """Every format, on the host: no bound below the error, no rounding that is not correct."""
    known = list(check(CASES[name](formats.get(form)), form, HOST))
    beyond = RANGE | (SHORT_RANGE if form.startswith("float16") else set())
    assert name in beyond or all(known)


@pytest.mark.parametrize("form", ["float64", "ts"])
@pytest.mark.parametrize("name", LONG)
def test_hostile_sums_of_several_slabs(name: str, form: str) -> None:
    """Sums just below, at and above the lengths at which slabs end."""
    assert all(check(LONG[name](formats.get(form)), form, HOST))


@pytest.mark.parametrize("form", mostly_slow(["dd", "ts"], ["dd"], "the same kernels"))
def test_hostile_sums_on_devices(device: Device, form: str) -> None:
    """Kernels, which have the bits of the host."""
    for name, make in CASES.items():
        known = list(check(make(formats.get(form)), form, device))
        assert name in RANGE or all(known), name


@pytest.mark.parametrize("form", ["float16", "slfp32in16b", "dd", "tsin80b"])
def test_views_and_batches(form: str) -> None:
    """Backwards, every other element, transposed, and one row for all."""
    f = formats.get(form)
    x, y = (inputs.ordinary(f, s, "hostile views") for s in ((3, 8, 14), (14, 8)))
    a, b = mp.from_limbs(x, f, HOST)[:, ::-2, ::2], mp.from_limbs(y, f, HOST)[::2, ::-1]
    rows = mp.broadcast_to(a[:1, :1], (3, 4, 7))
    for left in (a, a[0], rows):
        for right, turned in ((b, False), (b.transpose(1, 0), True)):
            sums = np.matmul(exact(left.copy()), exact(b.copy()))
            pair = mp.gemm(left, right, trans_b=turned, bound=True)
            assert within(pair, mp.gemm(left, right, trans_b=turned), sums)
            rounded(mp.gemm(left, right, trans_b=turned, rounding="correct"), sums)
    totals = exact(a.copy()).sum(axis=(0, 2))
    assert within(a.sum(axis=(0, 2), bound=True), a.sum(axis=(0, 2)), totals)
    rounded(a.sum(axis=(0, 2), rounding="correct"), totals)


@pytest.mark.parametrize("form", ["float64", "dd", "qs", "float16_rz"])
def test_one_infinity_or_nan(form: str) -> None:
    """It takes the bound of its row, no other, and is refused where roundings are correct."""
    for bad in (math.inf, -math.inf, math.nan):
        a = mp.array([[1.0, 2.0, 3.0], [4.0, bad, 6.0]], form, HOST)
        b = mp.array([[1.0, -1.0], [0.0, 2.0], [3.0, 1.0]], form, HOST)
        limits = mp.gemm(a, b, bound=True)[1].to_limbs()[0]
        assert np.isfinite(limits[0]).all() and not np.isfinite(limits[1]).any()
        limits = a.sum(axis=1, bound=True)[1].to_limbs()[0]
        assert np.isfinite(limits[0]) and not np.isfinite(limits[1])
        assert not np.isfinite(mp.nrm2(a, bound=True)[1].to_limbs()[0])
        with pytest.raises(ArgumentError, match="finite"):
            mp.gemm(a, b, rounding="correct")


@pytest.mark.parametrize("form", ["float16", "float16_rz", "fp64infp32", "fp64infp32_rz"])
def test_norms_beyond_the_largest_number(form: str) -> None:
    """Toward zero they end at the largest number, which may be far from them."""
    f = formats.get(form)
    x = mp.array([biggest(f)] * 9, f, HOST)
    norm, limit = (float(v.to_limbs()[0]) for v in mp.nrm2(x, bound=True))
    assert limit >= 1.99 * float(biggest(f))
    assert norm == (float(biggest(f)) if form.endswith("_rz") else math.inf)


def test_norms_near_overflow_have_no_bound() -> None:
    """As other results near the largest number."""
    for values in ([1.7e308] * 3, [1.7e308, 0.0]):
        x = mp.array(values, "dd", HOST)
        assert not np.isfinite(mp.nrm2(x, bound=True)[1].to_limbs()[0])


@pytest.mark.parametrize("form", ["float16", "float16_rz", "bfloat16", "fp64infp32", "tsin80b"])
def test_single_numbers_in_storage_formats(form: str) -> None:
    """They have no axis, and are stored without a warning from NumPy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [mp.array(v, form, HOST) for v in (0.0, 1e-6, 1.5, -3.0)]
    assert [x.shape for x in found] == [()] * 4
    assert [float(x.to_float64()) for x in found[2:]] == [1.5, -3.0]
