"""Correctly rounded sums and products, against rounding by MPFR and sums of Fractions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import gmpy2
import numpy as np
import pytest
import tiers
from gmpy2 import mpq
from operands import rationals
from slow import mostly_slow, slow

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, ShapeError
from portmp.formats import inputs
from portmp.routines.exact import launch
from portmp.routines.exact.accumulator import HELD, LONGEST, SAFE, SMALLEST, LongAccumulator
from portmp.routines.reference import Host
from portmp.verify import cases, command

HOST = "host:0"
CORRECT: dict[str, Any] = {"rounding": "correct"}


# --- what is expected ----------------------------------------------------------------------


def rounded(value: mpq, dtype: str) -> float:
    """The word nearest to a number, ties to even, subnormal ones included, by MPFR."""
    bits, top = (24, 128) if dtype == "float32" else (53, 1024)
    lowest = SMALLEST[dtype] + 1
    with gmpy2.context(precision=bits, emax=top, emin=lowest, subnormalize=True):
        return float(gmpy2.mpfr(mpq(value)))


def expected(value: mpq, form: str) -> list[float]:
    """Limbs of a format whose limbs are words: each what is left, rounded."""
    limbs: list[float] = []
    for dtype in formats.get(form).planes:
        limb = rounded(value, dtype)
        if not np.isfinite(limb):
            limb = 0.0 if limbs else limb
            return [*limbs, limb] + [0.0] * (formats.get(form).limbs - len(limbs) - 1)
        limbs.append(limb)
        value -= mpq(limb)
    return limbs


def check(result: mp.Array, sums: Any) -> None:
    """Every limb of *result* is that of the exact sums."""
    form = result.format.name
    planes = [p.ravel() for p in result.to_limbs()]
    for i, value in enumerate(np.asarray(sums, object).ravel()):
        found = [float(p[i]) for p in planes]
        assert found == expected(mpq(value), form), (i, float(value))


# --- hostile sums --------------------------------------------------------------------------


def hostile(form: str, rows: int, pairs: int, seed: int) -> tuple[Host, Host]:
    """Rows of products that cancel but for a small rest: their condition is up to 1e100 and more.

    The exponents run over the whole range of the word.
    """
    f = formats.get(form)
    x = inputs.wide(f, (rows, pairs), f"exact x {seed}")
    y = inputs.wide(f, (rows, pairs), f"exact y {seed}")
    generator = np.random.default_rng(seed)
    order = generator.permutation(2 * pairs)
    left = [np.concatenate([p, p], axis=1)[:, order] for p in x]
    right = [np.concatenate([p, -p], axis=1)[:, order] for p in y]
    # In every other row the last limb of one factor is missing: a rest is left.
    left[-1][::2, 0] = 0
    small = np.ldexp(generator.uniform(-1, 1, rows), generator.integers(-40, 40, rows))
    left[0][:, 1], right[0][:, 1] = small.astype(f.word), 1
    for plane in (*left[1:], *right[1:]):
        plane[:, 1] = 0
    return left, right


def exact_products(x: Host, y: Host) -> Iterator[mpq]:
    """The exact sums of rows' products."""
    for row in rationals(x) * rationals(y):
        yield sum(row, mpq(0))


def dots(form: str, x: Host, y: Host, device: Any) -> mp.Array:
    """The rows' sums of products, one batch entry each."""
    a, b = mp.from_limbs(x, form, device), mp.from_limbs(y, form, device)
    product: mp.Array = mp.gemm(a[:, None, :], b[:, :, None], **CORRECT)
    return product


WORDS = ["float32", "ds", "ts", "qs", "float64", "dd", "td", "qd", "d+s"]


@pytest.mark.parametrize("form", WORDS)
def test_the_reference_rounds_as_mpfr(form: str) -> None:
    """Sums of any condition, on the host."""
    x, y = hostile(form, 60, 8, 1)
    check(dots(form, x, y, HOST), list(exact_products(x, y)))


@pytest.mark.parametrize("form", mostly_slow(WORDS, ["ds", "dd"], "the same kernels"))
def test_devices_round_as_mpfr(device: Device, form: str) -> None:
    """Each sum of a product of matrices, whatever the condition."""
    x, y = hostile(form, 40, 8, 2)
    a, b = mp.from_limbs(x, form, device), mp.from_limbs([p.T.copy() for p in y], form, device)
    found = mp.gemm(a, b, **CORRECT)
    sums = np.dot(rationals(x), rationals(y).T)
    check(found, sums)


def test_sums_held_in_words(device: Device) -> None:
    """Sums that words hold, that are too wide for them, and products that are none of theirs."""
    least, most = (int(np.log2(v)) for v in SAFE)
    generator = np.random.default_rng(31)
    wide = range(-53 * (HELD["float64"] + 3), 0, 8)
    for exponents in ([0], wide, range(least - 4, least + 5), range(most - 4, most + 5)):
        of_terms = generator.choice(list(exponents), (60, 24))
        x = np.ldexp(generator.uniform(1, 2, (60, 24)), of_terms - of_terms // 2)
        y = np.ldexp(generator.uniform(-2, 2, (60, 24)), of_terms // 2)
        # All but four of the products cancel.
        x, y = np.hstack([x, x[:, 4:]]), np.hstack([y, -y[:, 4:]])
        order = generator.permutation(x.shape[1])
        x, y = ([v[:, order]] for v in (x, y))
        check(dots("float64", x, y, device), list(exact_products(x, y)))
        values = np.ldexp(x[0], of_terms[:, :1] // 2) * np.sign(y[0])
        found = mp.array(values, "float64", device).sum(axis=1, **CORRECT)
        check(found, [sum(map(mpq, row), mpq(0)) for row in values.tolist()])


@slow("ten thousand sums of each word's formats")
@pytest.mark.parametrize("form", WORDS)
def test_many_sums(device: Device, form: str) -> None:
    """Ten thousand sums, condition numbers to 1e100 and beyond."""
    for seed in range(100):
        x, y = hostile(form, 10, 6, 100 + seed)
        a, b = mp.from_limbs(x, form, device), mp.from_limbs([p.T.copy() for p in y], form, device)
        sums = np.dot(rationals(x), rationals(y).T)
        check(mp.gemm(a, b, **CORRECT), sums)


@pytest.mark.parametrize(
    ("anywhere", "form"),
    [
        ("default", "ts"),
        ("default", "dd"),
        (tiers.INTERPRETED[0], "dd"),
        (tiers.INTERPRETED[1], "ts"),
    ],
    indirect=["anywhere"],
)
def test_the_same_bits_anywhere(anywhere: Device, form: str) -> None:
    """The recorded digests, in machine code of other vendors too."""
    chosen = [c for c in cases.cases(form) if c.routine.startswith("exact")]
    outcomes = command.run(anywhere, chosen)
    assert outcomes and all(outcome.ok for outcome in outcomes)


OTHERS = [*(f for f in formats.STANDARD if f not in ("dd", "ts")), *formats.STORED]


@pytest.mark.parametrize("form", mostly_slow(OTHERS, ["float16_rz"], "the same kernels"))
def test_all_formats(device: Device, form: str) -> None:
    """The recorded digests of every format, storage formats by their values."""
    chosen = [c for c in cases.cases(form) if c.routine.startswith("exact")]
    outcomes = command.run(device, chosen)
    assert outcomes and all(outcome.ok for outcome in outcomes)


# --- single sums ---------------------------------------------------------------------------

TINY = 2.0**-1074
LARGEST = np.finfo(np.float64).max
SUMS: dict[str, list[float]] = {
    "a tie": [1.0, 2.0**-53],
    "above a tie, far below": [1.0, 2.0**-53, TINY],
    "below a tie, far below": [1.0, 2.0**-53, -TINY],
    "an odd tie": [1.0 + 2.0**-52, 2.0**-53],
    "nothing": [],
    "zero": [-0.0, -0.0],
    "cancels": [1e300, 1.0, -1e300, -1.0],
    "subnormal": [TINY, TINY, -3 * TINY],
    "overflows": [LARGEST, LARGEST],
    "does not overflow": [LARGEST, LARGEST, -LARGEST, -LARGEST / 2],
    "just infinite": [LARGEST, 2.0**969, 2.0**969],
    "just finite": [LARGEST, 2.0**969, 2.0**969, -TINY],
    "negative": [-1.0, -(2.0**-53), -TINY],
}


@pytest.mark.parametrize("form", ["float64", "dd", "qd"])
@pytest.mark.parametrize("terms", SUMS.values(), ids=SUMS)
def test_sums(form: str, terms: list[float]) -> None:
    """Ties, zeros, the ends of the range."""
    values = np.array(terms, np.float64)
    x = mp.from_limbs([values, *[0 * values] * (formats.get(form).limbs - 1)], form, HOST)
    found = x.sum(**CORRECT)
    check(found, sum(map(mpq, terms), mpq(0)))
    if not sum(map(mpq, terms)):
        assert not any(np.signbit(p) for p in found.to_limbs())


def test_sums_on_devices(device: Device) -> None:
    """All of these as rows of one array."""
    rows: list[list[float]] = list(SUMS.values())
    longest = max(map(len, rows))
    values = np.array([row + [0.0] * (longest - len(row)) for row in rows])
    x = mp.from_limbs([values, 0 * values], "dd", device)
    found = x.sum(axis=1, **CORRECT)
    check(found, [sum(map(mpq, row), mpq(0)) for row in rows])
    assert x.sum(axis=0, **CORRECT).shape == (longest,)


@pytest.mark.parametrize("n", [0, 1, 7, 20000])
def test_lengths(device: Device, n: int) -> None:
    """Sums of nothing, of one product, and of so many that accumulators are folded."""
    x = inputs.wide(formats.get("dd"), (n,), "exact n")
    x = [np.where(np.abs(x[0]) < 1e150, p, 0) for p in x]
    found = mp.dot(*2 * [mp.from_limbs(x, "dd", device)], **CORRECT)
    check(found, sum((v * v for v in rationals(x)), mpq(0)))
    if n == 20000:
        assert launch.shares(device, 1, n)[1] > 1


def test_operands(device: Device) -> None:
    """Transposed, strided and broadcast operands, an addend, an output, a matrix and a vector."""
    f = formats.get("dd")
    a, b, c = (inputs.ordinary(f, s, "exact") for s in ((2, 5, 7), (7, 4), (5, 4)))
    left, right, addend = (mp.from_limbs(v, f, device) for v in (a, b, c))
    values = [rationals(v) for v in (a, b, c)]
    out = mp.zeros((2, 8, 5), "dd", device)
    turned = mp.gemm(
        right,
        left,
        trans_a=True,
        trans_b=True,
        beta=-3,
        c=addend.transpose(1, 0),
        out=out[:, ::2, :],
        **CORRECT,
    )
    sums = [(np.dot(v, values[1]) - 3 * values[2]).T for v in values[0]]
    check(turned, sums)
    check(out[:, ::2, :].copy(), sums)
    vector = mp.gemv(right, addend[:, 1].copy()[:4], beta=2, y=left[0, 0], **CORRECT)
    check(vector, np.dot(values[1], values[2][:4, 1]) + 2 * values[0][0, 0])


ALPHAS = ("-0.3", "1e-7", -1, 2**30, 1)


@pytest.mark.parametrize("form", mostly_slow(WORDS, ["dd"], "the same kernels"))
def test_alpha_multiplies_the_exact_sum(device: Device, form: str) -> None:
    """With and without an addend, which may cancel; the sum is no number of the format."""
    f = formats.get(form)
    x, y = hostile(form, 12, 5, 3)
    addend = inputs.ordinary(f, (12, 12), "exact addend")
    places: list[Any] = [device, HOST]
    sums = np.dot(rationals(x), rationals(y).T)
    for alpha in ALPHAS:
        scale = rationals(mp.array(alpha, f.arithmetic, HOST).to_limbs()).item()
        for beta in (0, -1, "0.7"):
            add = rationals(mp.array(beta, f.arithmetic, HOST).to_limbs()).item()
            wanted = scale * sums + add * rationals(addend)
            for place in places:
                a, b = (mp.from_limbs(v, form, place) for v in (x, [p.T.copy() for p in y]))
                c = mp.from_limbs(addend, form, place) if beta else None
                check(mp.gemm(a, b, alpha=alpha, beta=beta, c=c, **CORRECT), wanted)


def test_scaled_sums_at_the_ends_of_the_range(device: Device) -> None:
    """Products that overflow or vanish, scaled back by alpha; an addend of the other size."""
    for form, top in (("td", 1000), ("ts", 120)):
        for sign in (1, -1):
            values = [2.0**top, 2.0**top, -(2.0**-top) * 3, 1.5]
            x, y = (mp.array(v, form, device) for v in (values, [2.0**20, 5.0, 2.0**-40, 7.0]))
            exact = sum(map(operator.mul, *(rationals(v.to_limbs()) for v in (x, y))))
            for alpha in (sign * 2.0**-30, sign * 2.0**-top, sign * 3.0):
                c = mp.array([[-(2.0**-top)]], form, device)
                found = mp.gemm(x[None, :], y[:, None], alpha=alpha, beta=2, c=c, **CORRECT)
                check(found, [[mpq(alpha) * exact - 2 * mpq(2) ** -top]])


def test_alpha_of_zero_reads_nothing() -> None:
    """As without correct rounding, operands may be anything then."""
    x = mp.array([[float("nan"), 1.0]], "dd", HOST)
    c = mp.array([[3.0]], "dd", HOST)
    found = mp.gemm(x, x, trans_b=True, alpha=0, beta="0.1", c=c, **CORRECT)
    tenth = rationals(mp.array("0.1", "dd", HOST).to_limbs()).item()
    check(found, [[3 * tenth]])
    assert float(mp.gemm(x, x, trans_b=True, alpha=0, **CORRECT).to_float64().item()) == 0


def test_short_matrices_of_a_vector() -> None:
    """A storage format of the vector's is read exactly."""
    x = mp.array([0.1, 0.2], "float32", HOST)
    a = mp.array([[1.5, -3]], "bfloat16", HOST)
    found = mp.gemv(a, x, **CORRECT)
    values = rationals(x.to_limbs())
    check(found, [mpq(3, 2) * values[0] - 3 * values[1]])


@pytest.mark.parametrize("form", ["float16", "float16_rz", "bfloat16", "tsin80b", "qdin192b_rz"])
def test_storage_formats_round_once(form: str) -> None:
    """As numbers that are converted, not by way of the parent's words."""
    x = inputs.ordinary(formats.get(form), (50, 9), "exact")
    values = rationals(x)
    found = mp.from_limbs(x, form, HOST).sum(axis=1, **CORRECT).to_limbs()
    wanted = mp.array([sum(row) for row in values], form, HOST).to_limbs()
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    a = mp.from_limbs(x, form, HOST)
    c = mp.broadcast_to(a[:, :1], (50, 50))
    scaled = mp.gemm(a, a, trans_b=True, alpha=-3, beta=-1, c=c, **CORRECT).to_limbs()
    exact = -3 * np.dot(values, values.T) - values[:, :1]
    wanted = mp.array(exact.tolist(), form, HOST).to_limbs()
    for plane, other in zip(scaled, wanted, strict=True):
        assert np.array_equal(plane, other)


def test_double_rounding_does_not_happen() -> None:
    """A sum that float32 rounds to a tie of float16."""
    x = mp.array([1.0, 2.0**-11, 2.0**-14, -(2.0**-14)], "float16", HOST)
    tail = mp.array([2.0**-24, 2.0**-24], "float16", HOST)
    assert float(x.sum(**CORRECT).to_float64()) == 1.0
    together = mp.array([1.0, 2.0**-11, 2.0**-24], "float16", HOST)
    assert float(together.sum(**CORRECT).to_float64()) == 1.0 + 2.0**-10
    assert float(tail.sum(**CORRECT).to_float64()) == 2.0**-23


# --- refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("where", ["host:0", "device"])
def test_operands_that_are_not_finite(device: Device, where: str, bad: float) -> None:
    """Refused, also where the other factor is zero."""
    place: Any = device if where == "device" else where
    x = mp.array([1.0, bad, 2.0], "dd", place)
    y = mp.array([1.0, 0.0, 2.0], "dd", place)
    calls: tuple[Callable[[], mp.Array], ...] = (
        lambda: mp.dot(x, y, **CORRECT),
        lambda: x.sum(**CORRECT),
        lambda: mp.gemm(y[None, :], y[:, None], beta=1, c=x[1:2, None], **CORRECT),
        lambda: mp.gemm(y[None, :], y[:, None], beta=bad, c=y[:1, None], **CORRECT),
    )
    for call in calls:
        with pytest.raises(ArgumentError, match="finite"):
            call()


def test_options_that_do_not_fit() -> None:
    """What is allowed is said."""
    x = mp.array([1.0, 2.0], "dd", HOST)
    with pytest.raises(ArgumentError, match="did you mean 'correct'"):
        mp.dot(x, x, rounding="corect")
    with pytest.raises(ArgumentError, match="accuracy"):
        mp.dot(x, x, accuracy="fast", **CORRECT)
    with pytest.raises(ArgumentError, match="method"):
        mp.gemm(x[None, :], x[:, None], method="ozaki1", **CORRECT)
    with pytest.raises(ArgumentError, match=r"alpha.*finite"):
        mp.gemm(x[None, :], x[:, None], alpha=float("inf"), **CORRECT)
    with pytest.raises(ArgumentError, match="half an ulp"):
        x.sum(bound=True, **CORRECT)
    with pytest.raises(ShapeError):
        mp.dot(x, x[:1], **CORRECT)
    with pytest.raises(FormatError):
        mp.dot(x, mp.array([1.0, 2.0], "td", HOST), **CORRECT)


# --- accumulators --------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["float32", "float64"])
@pytest.mark.parametrize("factors", [1, 2])
def test_accumulators_hold_every_sum(word: str, factors: int) -> None:
    """2^40 of the largest terms stay below the sign's digit, and digits within their integers."""
    long = LongAccumulator(word, factors)
    largest = mpq(float(np.finfo(word).max)) ** factors
    assert 2**40 * largest / mpq(2) ** long.unit < 2 ** (32 * (long.digits - 1))
    assert mpq(2) ** long.unit == mpq(float(np.finfo(word).smallest_subnormal)) ** factors
    assert LONGEST * 16 * 2**33 < 2**63
