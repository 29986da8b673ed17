"""The host reference: IEEE arithmetic, the networks' recorded results, QD's branches."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from portmp import networks
from portmp.networks import evaluator, ieee

Array = npt.NDArray[Any]
Vector = dict[str, Any]

DTYPES: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float64)]
DTYPE = {"f32": DTYPES[0], "f64": DTYPES[1], "f64+f32": DTYPES[1]}
RECORDED = Path(__file__).parent / "data" / "vectors.json"
VECTORS: list[Vector] = json.loads(RECORDED.read_text())["vectors"]


def bits(x: Array) -> Array:
    """The words' bits, all NaN made one."""
    one_nan = np.where(np.isnan(x), x.dtype.type(np.nan), x)
    return one_nan.view(f"i{x.dtype.itemsize}")


def assert_same(got: Array, wanted: Array, signed_zeros: bool = False) -> None:
    """Equal bit for bit; NaN equals NaN, and zeros have no sign unless asked for."""
    assert got.dtype == wanted.dtype
    if not signed_zeros:
        got, wanted = got + got.dtype.type(0), wanted + wanted.dtype.type(0)
    wrong = np.flatnonzero((bits(got) != bits(wanted)).ravel())
    assert not wrong.size, [
        (int(i), float(got.ravel()[i]).hex(), float(wanted.ravel()[i]).hex()) for i in wrong[:5]
    ]


# --- fma and two_prod -------------------------------------------------------------------


def specials(dtype: np.dtype[Any]) -> Array:
    """Zeros, ones, infinities, NaN and the limits of the range."""
    info = np.finfo(dtype)
    positive = [0.0, 1.0, np.inf, info.max, info.tiny, info.smallest_subnormal]
    signed = [sign * word for word in positive for sign in (1, -1)]
    return np.array([*signed, np.nan], dtype)


def hostile(dtype: np.dtype[Any], count: int, seed: int) -> Array:
    """Words of every kind: all exponents, few or many bits, zeros, limits, inf and NaN."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    full = rng.uniform(1, 2, count)
    sparse = 1 + 2.0 ** -rng.integers(1, info.nmant + 1, count)
    significand = np.where(rng.random(count) < 0.5, full, sparse).astype(dtype)
    low = info.minexp - info.nmant
    wide = rng.integers(low, info.maxexp, count)
    exponent = np.where(rng.random(count) < 0.5, wide, rng.integers(-30, 30, count))
    words = np.ldexp(significand, exponent.astype(np.int32)) * rng.choice([-1, 1], count)
    special = specials(dtype)
    chosen = rng.random(count) < 0.1
    return np.where(chosen, rng.choice(special, count), words).astype(dtype)


def triples(dtype: np.dtype[Any], count: int) -> tuple[Array, Array, Array]:
    """Factors and addends; of these a third cancel, and a third are ties or near ties."""
    with ieee.quiet():
        a, b, c = (hostile(dtype, count, seed) for seed in (1, 2, 3))
        rng = np.random.default_rng(4)
        ulp = np.spacing(a * b)
        cancel = -(a * b) + rng.integers(-2, 3, count) * ulp
        # One bit times any factor: the sum is a tie when b's exponent meets c's half ulp.
        few_bits = (a.dtype.type(1) + 2 * np.spacing(a.dtype.type(1))) * np.sign(a)
        tie = np.sign(b) * np.ldexp(b.dtype.type(0.5), rng.integers(-2, 1, count))
        near = rng.integers(1, 2**20, count) / b.dtype.type(2**10) * few_bits
        case = rng.integers(0, 3, count)
        a = np.where(case == 2, few_bits, a)
        b = np.where(case == 2, tie * np.spacing(near), b)
        c = np.select([case == 0, case == 1], [c, cancel], near)
    return a.astype(dtype), b.astype(dtype), c.astype(dtype)


def exact_fma(a: Array, b: Array, c: Array) -> Array:
    """The same through MPFR."""
    gmpy2 = pytest.importorskip("gmpy2")
    context = gmpy2.ieee(8 * a.dtype.itemsize)
    values = []
    with gmpy2.context(context):
        for x, y, z in zip(a.tolist(), b.tolist(), c.tolist(), strict=True):
            values.append(float(gmpy2.fma(gmpy2.mpfr(x), gmpy2.mpfr(y), gmpy2.mpfr(z))))
    return np.array(values, a.dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fma_rounds_once(dtype: np.dtype[Any]) -> None:
    a, b, c = triples(dtype, 20_000)
    with ieee.quiet():
        assert_same(ieee.fma(a, b, c), exact_fma(a, b, c), signed_zeros=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fma_of_ordinary_words_rounds_once(dtype: np.dtype[Any]) -> None:
    """Arrays without exceptional elements, and sums of every relative size."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(10_000).astype(dtype) for _ in range(2))
    shift = rng.integers(-120, 121, 10_000).astype(np.int32)
    c = np.ldexp(rng.standard_normal(10_000).astype(dtype), shift)
    assert_same(ieee.fma(a, b, c), exact_fma(a, b, c), signed_zeros=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fma_of_special_words(dtype: np.dtype[Any]) -> None:
    grid = np.meshgrid(*[specials(dtype)] * 3)
    a, b, c = (words.ravel() for words in grid)
    with ieee.quiet():
        assert_same(ieee.fma(a, b, c), exact_fma(a, b, c), signed_zeros=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fma_where_the_error_of_the_product_underflows(dtype: np.dtype[Any]) -> None:
    """Products on both sides of the last exact error, cancelled by the addend."""
    rng = np.random.default_rng(11)
    info = np.finfo(dtype)
    a, b = (rng.uniform(1, 2, 10_000).astype(dtype) for _ in range(2))
    exponent = info.minexp + info.nmant + rng.integers(-info.nmant, 6, 10_000)
    b = np.ldexp(b, exponent.astype(np.int32))
    c = -(a * b)
    assert_same(ieee.fma(a, b, c), exact_fma(a, b, c), signed_zeros=True)
    assert_same(ieee.two_prod(a, b)[1], exact_fma(a, b, c), signed_zeros=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fma_rounds_sums_just_below_a_tie_down(dtype: np.dtype[Any]) -> None:
    """The product is half an ulp of the odd addend less its own last bit, at every scale."""
    info = np.finfo(dtype)
    one, eps = dtype.type(1), info.eps
    scale = np.arange(info.minexp - info.nmant, info.maxexp - info.nmant - 2, dtype=np.int32)
    a = np.full(len(scale), one + eps)
    b = np.ldexp(one - eps, scale)
    c = np.ldexp(one + eps, scale + np.int32(info.nmant + 1))
    assert_same(ieee.fma(a, b, c), exact_fma(a, b, c), signed_zeros=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_two_prod_is_product_and_fma(dtype: np.dtype[Any]) -> None:
    a, b, _ = triples(dtype, 10_000)
    with ieee.quiet():
        p, e = ieee.two_prod(a, b)
        assert_same(p, a * b, signed_zeros=True)
        assert_same(e, exact_fma(a, b, -(a * b)), signed_zeros=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fma_broadcasts_and_keeps_the_dtype(dtype: np.dtype[Any]) -> None:
    a, b, c = np.ones((3, 1), dtype), np.full(4, 2, dtype), dtype.type(3)
    result = ieee.fma(a, b, c)
    assert result.shape == (3, 4)
    assert result.dtype == dtype
    assert (result == 5).all()
    with ieee.quiet():
        p, e = ieee.two_prod(dtype.type(2), np.array([0.0, np.inf, 1.5], dtype))
    assert p.dtype == e.dtype == dtype
    assert_same(p, np.array([0.0, np.inf, 3.0], dtype))
    assert_same(e, np.array([0.0, np.nan, 0.0], dtype))
    assert ieee.fma(c, c, c) == 12


# --- the recorded results of the networks -------------------------------------------------

NETWORK_OF = {
    "add_fpan": "add{}",
    "mul_fpan": "mul{}",
    "addf": "add{}_word",
    "mulf": "mul{}_word",
    "div": "div{}",
    "sqrt": "sqrt{}",
    "add_jmp6": "add2_jmp6",
    "mul_jmp12": "mul2_jmp12",
    "add_seed_gpu": "add3_2021",
    "add_seed_cpu": "add3_2021_cpu",
    "mul_seed_gpu": "mul3_2021",
    "mul_seed_cpu": "mul3_2021_cpu",
    "add_qd_ieee": "add4_2011",
    "add_qd_sloppy": "add4_2011_sloppy",
    "mul_qd_acc": "mul4_2011",
    "ds_add": "add2",
    "ds_mul": "mul2",
    "rsqrt_cr": "rsqrt_word",
}
GATES: dict[str, Callable[..., tuple[Array, Array]]] = {
    "two_sum": ieee.two_sum,
    "fast_two_sum": ieee.fast_two_sum,
    "two_prod_fma": ieee.two_prod,
}
DOTS = {"dot_F2P": 2, "dot_F4c": 3, "dot_F5c": 4}


def floats(vectors: Sequence[Vector], key: str, dtype: np.dtype[Any]) -> list[Array]:
    """One array for each word of ``vector[key]``, over all vectors."""
    rows = [[float.fromhex(word) for word in vector[key]] for vector in vectors]
    with ieee.quiet():
        return list(np.array(rows, dtype).T)


def grouped(*, skip: Sequence[str] = ()) -> dict[tuple[str, str, int], list[Vector]]:
    """The vectors of each operation, format and length."""
    groups: dict[tuple[str, str, int], list[Vector]] = defaultdict(list)
    for vector in VECTORS:
        if vector["op"] not in skip:
            groups[vector["op"], vector["fmt"], vector["n"]].append(vector)
    return groups


CONVERSIONS = ("compare", "to_f64", "from_f64")
WORDWISE = [key for key in grouped(skip=CONVERSIONS) if key[0] not in DOTS]


def apply(op: str, n: int, dtype: np.dtype[Any], words: list[Array]) -> tuple[Array, ...]:
    """The result of a vector's operation on its words."""
    if op in GATES:
        with ieee.quiet():
            return GATES[op](*words)
    if op == "rsqrt":
        value = words if n > 2 else words[:2]
        return tuple(evaluator.run(f"rsqrt{n}", dtype, value, seed_of(words[0])))
    net = networks.get(NETWORK_OF[op].format(n))
    rest = iter(words)
    arguments = [
        next(rest) if kind.role == "word" else [next(rest) for _ in range(kind.words)]
        for _, kind in net.inputs
    ]
    result = evaluator.run(net.name, dtype, *arguments)
    return result if isinstance(result, tuple) else (result,)


def seed_of(x: Array) -> Array:
    """The reciprocal square root of a word, which the vectors take correctly rounded."""
    return np.asarray(evaluator.run("rsqrt_word", x.dtype, x))


@pytest.mark.parametrize("key", WORDWISE, ids=lambda key: "-".join(map(str, key)))
def test_recorded_results(key: tuple[str, str, int]) -> None:
    op, fmt, n = key
    vectors = grouped()[key]
    dtype = DTYPE[fmt]
    got = list(apply(op, n, dtype, floats(vectors, "in", dtype)))
    wanted = floats(vectors, "out", dtype)
    if fmt == "f64+f32":
        # Computed with two float64 words; the low one is stored short.
        got[1] = got[1].astype(np.float32).astype(np.float64)
    for mine, theirs in zip(got, wanted, strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("op", DOTS)
@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_recorded_dot_products(op: str, fmt: str) -> None:
    """Accumulated in order without renormalisation, then finished; grouped by length."""
    n, dtype = DOTS[op], DTYPE[fmt]
    by_length: dict[int, list[Vector]] = defaultdict(list)
    for vector in grouped()[op, fmt, n]:
        by_length[vector["len"]].append(vector)
    for length, vectors in by_length.items():
        state: Any = [np.zeros(len(vectors), dtype)] * (n + 1)
        for k in range(length):
            terms = [{"x": v["x"][k], "y": v["y"][k]} for v in vectors]
            x, y = (floats(terms, name, dtype) for name in ("x", "y"))
            state = evaluator.run(f"accumulate{n}", dtype, state, x, y)
        result = evaluator.run(f"finish{n}", dtype, state)
        for mine, theirs in zip(result, floats(vectors, "out", dtype), strict=True):
            assert_same(mine, theirs)


# --- reciprocal square root of a word -----------------------------------------------------


def test_rsqrt_word_is_correctly_rounded_in_float32() -> None:
    """A sample over the whole range; every float32 has been tried outside this suite."""
    pattern = np.random.default_rng(6).integers(1, 0x7F800000, 200_000, dtype=np.uint32)
    x = pattern.view(np.float32)
    # Two roundings in float64 leave no float32 on the wrong side of a midpoint.
    wanted = (1 / np.sqrt(x.astype(np.float64))).astype(np.float32)
    assert_same(evaluator.run("rsqrt_word", np.float32, x), wanted)


def test_rsqrt_word_is_correctly_rounded_in_float64() -> None:
    """Random words, and those whose result is as near a midpoint as a word allows."""
    gmpy2 = pytest.importorskip("gmpy2")
    rng = np.random.default_rng(7)
    with gmpy2.context(precision=200):
        middles = [gmpy2.mpfr(y) + gmpy2.mpfr(2) ** -54 for y in rng.uniform(0.5, 1, 3000)]
        near = np.array([float(1 / (middle * middle)) for middle in middles])
        random = np.ldexp(rng.uniform(1, 2, 3000), rng.integers(-1074, 1024, 3000))
        x = np.concatenate([near, random])
        wanted = np.array([float(gmpy2.rec_sqrt(gmpy2.mpfr(value))) for value in x.tolist()])
    assert_same(evaluator.run("rsqrt_word", np.float64, x), wanted)


# --- QD's renormalisation and addition, against branching code ---------------------------

Word = Any


def branching_renorm(c: list[Word]) -> list[Word]:
    """QD's renormalisation of four or five words, branch by branch."""
    c = list(c)
    s = c[-1]
    for i in reversed(range(len(c) - 1)):
        s, c[i + 1] = ieee.fast_two_sum(c[i], s)
    zero = type(s)(0)
    words = [s, c[1], zero, zero]
    k = 1 if c[1] != 0 else 0
    for error in c[2:]:
        if k == 3:
            words[3] = words[3] + error
            continue
        words[k], words[k + 1] = ieee.fast_two_sum(words[k], error)
        if words[k + 1] != 0:
            k += 1
    return words


def branching_add(a: list[Word], b: list[Word]) -> list[Word]:
    """QD's addition by merging, branch by branch, for one pair of values."""
    i = j = k = 0

    def take() -> Word:
        nonlocal i, j
        if i < 4 and (j >= 4 or abs(a[i]) > abs(b[j])):
            i += 1
            return a[i - 1]
        j += 1
        return b[j - 1]

    x = [type(a[0])(0)] * 4
    first = take()
    u, v = ieee.fast_two_sum(first, take())
    while k < 4:
        if i == 4 and j == 4:
            x[k] = u
            if k < 3:
                x[k + 1] = v
            break
        s, low = ieee.two_sum(v, take())
        s, middle = ieee.two_sum(u, s)
        if middle != 0 and low != 0:
            x[k], u, v = s, middle, low
            k += 1
        else:
            u, v = s, (middle if low == 0 else low)
    for rest in (*a[i:], *b[j:]):
        x[3] = x[3] + rest
    return branching_renorm(x)


def gappy(dtype: np.dtype[Any], limbs: int, count: int, seed: int) -> list[Array]:
    """Limbs that overlap, touch, leave gaps or are zero, in every combination."""
    rng = np.random.default_rng(seed)
    bits_of_word = np.finfo(dtype).nmant + 1
    exponent = rng.integers(-3, 4, count)
    words = []
    for _ in range(limbs):
        few = rng.integers(1, 8, count) / 4
        significand = np.where(rng.random(count) < 0.5, few, rng.uniform(1, 2, count))
        word = np.ldexp(significand.astype(dtype), exponent.astype(np.int32))
        word *= rng.choice([-1, 1], count).astype(dtype)
        words.append(np.where(rng.random(count) < 0.25, dtype.type(0), word))
        exponent -= rng.choice([0, 2, bits_of_word, bits_of_word + 1, 2 * bits_of_word], count)
    return words


def elementwise(function: Callable[..., list[Word]], *values: list[Array]) -> list[Array]:
    """Apply a function of scalar values to each element."""
    columns = [list(zip(*value, strict=True)) for value in values]
    results = [function(*map(list, row)) for row in zip(*columns, strict=True)]
    return list(np.array(results).T)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("terms", [4, 5])
def test_renormalisation_by_selects_is_that_by_branches(dtype: np.dtype[Any], terms: int) -> None:
    c = gappy(dtype, terms, 6000, seed=8)
    got = evaluator.run(f"renorm{terms}_2011", dtype, c)
    for mine, theirs in zip(got, elementwise(branching_renorm, c), strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_merging_addition_is_that_by_branches(dtype: np.dtype[Any]) -> None:
    a, b = gappy(dtype, 4, 4000, seed=9), gappy(dtype, 4, 4000, seed=10)
    for n in range(4):  # cancel the leading limbs of some pairs: one, two, three or all
        for limb in range(n + 1):
            b[limb][n::8] = -a[limb][n::8]
    got = evaluator.run("add4_2011", dtype, a, b)
    for mine, theirs in zip(got, elementwise(branching_add, a, b), strict=True):
        assert_same(mine, theirs)


def test_merging_addition_keeps_shapes() -> None:
    a = [np.full((2, 3), 2.0**-k) for k in (0, 60, 120, 180)]
    got = evaluator.run("add4_2011", np.float64, a, [1.0, 0.0, 0.0, 0.0])
    assert [limb.shape for limb in got] == [(2, 3)] * 4
    assert (got[0] == 2).all()
    assert (got[1] == 2.0**-60).all()
