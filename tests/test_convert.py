"""Conversions are exact up to one rounding: checked against Fractions."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from work import calls, peak

from portmp import formats
from portmp.errors import ArgumentError, BackendUnavailable, FormatError, InputError, ShapeError
from portmp.formats import convert, decimal, inputs, parse

ALL = [formats.get(name) for name in formats.STANDARD]
MULTIPLE = [fmt for fmt in ALL if fmt.limbs > 1]
DS, TS, QS, DD, TD, QD, DPS = (
    formats.get(name) for name in ("ds", "ts", "qs", "dd", "td", "qd", "d+s")
)
SINGLE, DOUBLE = formats.get("float32"), formats.get("float64")
INFINITY = math.inf
TINY32 = 2.0**-149
MAX32 = (2 - 2.0**-23) * 2.0**127
MAX64 = float(np.finfo(np.float64).max)


def short(value: object) -> str:
    """A test id that stays readable for long texts."""
    return repr(value)[:24] if isinstance(value, str) else ""


def bits(limbs: Any) -> list[bytes]:
    return [struct.pack("<d", limb) for limb in limbs]


def planes_of(rows: list[tuple[float, ...]], fmt: formats.Format) -> list[np.ndarray]:
    return [np.array([row[i] for row in rows], dtype=fmt.dtype(i)) for i in range(fmt.limbs)]


def weakly_normalised(limbs: tuple[float, ...], fmt: formats.Format) -> bool:
    ulps = [float(np.spacing(fmt.dtype(i).type(abs(x)))) for i, x in enumerate(limbs)]
    return all(2 * abs(x) <= ulp for x, ulp in zip(limbs[1:], ulps, strict=False))


def random_fraction(rng: random.Random, fmt: formats.Format) -> Fraction:
    """A value well inside the format's range, with more bits than the format holds."""
    span = 20 if "float32" in fmt.planes else 300
    mantissa = rng.getrandbits(fmt.bits + 40) | 1
    return Fraction(rng.choice([-1, 1]) * mantissa, rng.getrandbits(70) | 1) * Fraction(2) ** (
        rng.randint(-span, span) - fmt.bits
    )


# --- parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.1", Fraction(11, 10)),
        ("-3e-400", Fraction(-3, 10**400)),
        ("+.5E+1", Fraction(5)),
        ("7.", Fraction(7)),
        ("1/3", Fraction(1, 3)),
        ("-2 / 6", Fraction(-1, 3)),
        ("0x1.8p3", Fraction(12)),
        ("-0X.8P-1", Fraction(-1, 4)),
        ("0xff", Fraction(255)),
        (" 2\n", Fraction(2)),
        ("1e-000000000000003", Fraction(1, 1000)),
        ("0e999999999999999", Fraction(0)),
        ("0." + "0" * 9000 + "1e9001", Fraction(1)),
        ("9" * 1999, Fraction(10**1999 - 1)),
    ],
    ids=short,
)
def test_parse_exact(text: str, value: Fraction) -> None:
    parsed = parse.parse_number(text, "x")
    assert isinstance(parsed, Fraction)
    assert parsed == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("inf", INFINITY),
        ("+Infinity", INFINITY),
        ("-INF", -INFINITY),
        ("-0", -0.0),
        ("-0.000e7", -0.0),
        ("-0x0p5", -0.0),
        ("-0/3", -0.0),
        ("1e999999999", INFINITY),
        ("9" * 5000, INFINITY),
        ("-1e" + "9" * 6000, -INFINITY),
        ("1e-999999999", 0.0),
        ("-12.5e-20010", -0.0),
        ("0x1p999999999999", INFINITY),
        ("-0x1p-999999999999", -0.0),
        ("-0x1p-99999", -0.0),
    ],
    ids=short,
)
def test_parse_floats(text: str, value: float) -> None:
    parsed = parse.parse_number(text, "x")
    assert isinstance(parsed, float)
    assert bits([parsed]) == bits([value])
    assert peak(lambda: parse.parse_number(text, "x")) < 10**6


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "+NAN"])
def test_parse_nan(text: str) -> None:
    assert math.isnan(parse.parse_number(text, "x"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "1_000",
        "1,5",
        "e5",
        "1e",
        "1/0",
        "1/",
        "1.5/2",
        "0x",
        "0xp3",
        "1p3",
        "--1",
        "+-inf",
        "infin",
        "1 2",
        "0x1e+",
        "٣",
        "1j",
        "9" * 9_000 + "x",
        "9" * 10_001,
    ],
    ids=short,
)
def test_parse_refuses(text: str) -> None:
    with pytest.raises(InputError, match="weights") as caught:
        parse.parse_number(text, "weights")
    assert repr(text)[:20] in str(caught.value)
    assert len(str(caught.value)) < 300


# --- round_to_limbs


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_rounding_is_greedy_and_close(fmt: formats.Format) -> None:
    rng = random.Random(1)
    for _ in range(300):
        value = random_fraction(rng, fmt)
        limbs = convert.round_to_limbs(value, fmt)
        assert weakly_normalised(limbs, fmt)
        error = abs(convert.to_fraction(limbs) - value)
        underflow = Fraction(1, 2**150) if "float32" in fmt.planes else 0
        assert error <= abs(value) * Fraction(2) ** -fmt.bits + underflow
        rest = value
        for i, limb in enumerate(limbs):
            assert float(fmt.dtype(i).type(limb)) == limb
            if fmt.planes[i] == "float64":
                assert limb == float(rest)
            rest -= Fraction(limb)


def test_float32_is_rounded_once() -> None:
    # Through float64 this would become a tie and round down to 1.
    value = 1 + Fraction(1, 2**24) + Fraction(1, 2**80)
    assert convert.round_to_limbs(value, SINGLE) == (1 + 2.0**-23,)
    assert float(np.float32(float(value))) == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 + Fraction(1, 2**24), 1.0),
        (1 + Fraction(3, 2**24), 1 + 2.0**-22),
        (-1 - Fraction(3, 2**24), -1 - 2.0**-22),
        (2 - Fraction(1, 2**24), 2.0),
        (2**24 + 1, 2.0**24),
        (Fraction(1, 2**149), TINY32),
        (Fraction(1, 2**150), 0.0),
        (-Fraction(1, 2**150), -0.0),
        (Fraction(1, 2**150) + Fraction(1, 2**900), TINY32),
        (Fraction(3, 2**150), 2 * TINY32),
        (Fraction(5, 2**150), 2 * TINY32),
        (Fraction(2**24 - 1, 2**150), 2.0**-126),
        (Fraction(MAX32), MAX32),
        (Fraction(MAX32) + Fraction(2) ** 103, INFINITY),
        (Fraction(MAX32) + Fraction(2) ** 103 - 1, MAX32),
        (-(10**4000), -INFINITY),
        (Fraction(-1, 10**5000), -0.0),
    ],
)
def test_float32_edges(value: Fraction | int, expected: float) -> None:
    assert bits(convert.round_to_limbs(value, SINGLE)) == bits([expected])


def test_float64_edges_agree_with_true_division() -> None:
    rng = random.Random(2)
    for _ in range(500):
        value = Fraction(rng.getrandbits(60) | 1, 1 << 59) * Fraction(2) ** rng.randint(-1080, 1020)
        assert convert.round_to_limbs(value, DOUBLE) == (float(value),)
    assert convert.round_to_limbs(Fraction(1, 2**1075), DOUBLE) == (0.0,)
    assert convert.round_to_limbs(Fraction(3, 2**1075), DOUBLE) == (2 * 2.0**-1074,)
    assert convert.round_to_limbs(2**1024 - 2**970, DOUBLE) == (INFINITY,)
    assert convert.round_to_limbs(2**1024 - 2**970 - 1, DOUBLE) == (MAX64,)


@pytest.mark.parametrize("fmt", ALL, ids=str)
@pytest.mark.parametrize("value", [INFINITY, -INFINITY, -0.0, 0.0])
def test_specials_lead(value: float, fmt: formats.Format) -> None:
    expected = [value] + [0.0] * (fmt.limbs - 1)
    assert bits(convert.round_to_limbs(value, fmt)) == bits(expected)
    for data in (value, np.float32(value), [value][0:1], np.array([value]), np.array([value], "O")):
        planes = convert.to_limbs(data, fmt)
        assert bits([float(p.ravel()[0]) for p in planes]) == bits(expected)


def test_nan_leads() -> None:
    limbs = convert.round_to_limbs(math.nan, QD)
    assert math.isnan(limbs[0])
    assert bits(limbs[1:]) == bits([0.0] * 3)


@pytest.mark.parametrize("fmt", MULTIPLE, ids=str)
def test_overflow_is_infinite_with_zeros_below(fmt: formats.Format) -> None:
    expected = [-INFINITY] + [0.0] * (fmt.limbs - 1)
    assert bits(convert.round_to_limbs(-(10**400), fmt)) == bits(expected)


def test_low_limb_of_dps() -> None:
    exact = 2**60 + 1
    assert convert.round_to_limbs(exact, DPS) == (2.0**60, 1.0)
    assert convert.round_to_limbs(2**1000 + 2**940, DPS) == (2.0**1000, 0.0)
    assert convert.round_to_limbs(Fraction(1, 3), DPS) == (
        1 / 3,
        float(np.float32(float(Fraction(1, 3) - Fraction(1 / 3)))),
    )


# --- to_limbs

VECTORS = [
    ("0x1.921fb54442d18p+1", ["0x1.921fb6p+1", "-0x1.777a5cp-24", "-0x1.0p-48"]),
    ("0x1.5555555555555p-2", ["0x1.555556p-2", "-0x1.555556p-27", "0x1.4p-52"]),
    ("0x1.999999999999ap-4", ["0x1.99999ap-4", "-0x1.99999ap-30", "0x1.0p-55"]),
    ("0x1.0000000000001p+0", ["0x1.0p+0", "0x1.0p-52", "0x0.0p+0"]),
    ("0x1.4cccccccccccdp-100", ["0x1.4ccccc0000000p-100", "0x1.99999ap-125", "-0x0.0p+0"]),
    ("0x1.913c4381e2cecp+124", ["0x1.913c44p+124", "-0x1.f874c4p+98", "-0x1.0p+74"]),
    ("0x0.0000000000001p-1022", ["0x0.0p+0", "0x0.0p+0", "0x0.0p+0"]),
    ("0x1.6d601ad376ab9p-150", ["0x1.0p-149", "-0x0.0p+0", "-0x0.0p+0"]),
]


@pytest.mark.parametrize(("given", "words"), VECTORS)
def test_float64_to_ts_vectors(given: str, words: list[str]) -> None:
    value = float.fromhex(given)
    expected = bits(map(float.fromhex, words))
    assert bits(convert.round_to_limbs(value, TS)) == expected
    assert bits([float(p) for p in convert.to_limbs(np.float64(value), TS)]) == expected
    assert bits([float(p) for p in convert.to_limbs(given, TS)]) == expected
    assert bits([float(p) for p in convert.to_limbs(value, DS)]) == expected[:2]


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_vectorised_path_equals_exact_path(fmt: formats.Format) -> None:
    rng = random.Random(3)
    values = [math.ldexp(rng.uniform(-1, 1), rng.randint(-170, 140)) for _ in range(500)]
    values += [MAX32, -MAX32 * (1 + 2.0**-24), MAX64, 5e-324, -5e-324, 1 + 2.0**-24, -0.0]
    fast = convert.to_limbs(np.array(values), fmt)
    assert [p.dtype.name for p in fast] == list(fmt.planes)
    for i, value in enumerate(values):
        assert bits([float(p[i]) for p in fast]) == bits(convert.round_to_limbs(value, fmt))


def test_large_float64_conversion_is_vectorised() -> None:
    data = np.random.default_rng(4).standard_normal(100_000)
    assert np.array_equal(convert.to_float64(convert.to_limbs(data, TS)), data)
    assert calls(lambda: convert.to_limbs(data, TS)) < 1000


def test_arrays_are_copied_and_contiguous() -> None:
    data = np.arange(12.0).reshape(3, 4)
    for source in (data, data.T, data[::2, ::-1], data.astype(">f8"), data.astype("float32")):
        for fmt in (DOUBLE, DD, DS):
            planes = convert.to_limbs(source, fmt)
            assert all(p.flags.c_contiguous and p.dtype.isnative for p in planes)
            assert not np.shares_memory(planes[0], source)
            assert np.array_equal(planes[0], source)
            assert not planes[-1].any() or fmt.limbs == 1


def test_shapes() -> None:
    assert [p.shape for p in convert.to_limbs("1.5", DD)] == [(), ()]
    assert [p.shape for p in convert.to_limbs(2.5, DS)] == [(), ()]
    assert [p.shape for p in convert.to_limbs([], DD)] == [(0,), (0,)]
    assert [p.shape for p in convert.to_limbs([[], []], DD)] == [(2, 0), (2, 0)]
    assert [p.shape for p in convert.to_limbs(np.empty((0, 3)), DD)] == [(0, 3)] * 2
    assert [p.shape for p in convert.to_limbs(np.empty((0, 3), int), DS)] == [(0, 3)] * 2
    nested = [[["1", 2, 3.0]], [(Fraction(4), Decimal(5), np.float32(6))]]
    planes = convert.to_limbs(nested, QS)
    assert planes[0].tolist() == [[[1, 2, 3]], [[4, 5, 6]]]
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    assert convert.to_limbs(rows, DD)[0].tolist() == [[1, 2], [3, 4]]
    assert convert.to_limbs(range(3), DD)[0].tolist() == [0, 1, 2]


def test_ragged_nesting_is_refused() -> None:
    itself: list[Any] = []
    itself.append(itself)
    for data in ([[1, 2], [3]], [1, [2]], [[1], 2], [[[1]], [[1, 2]]], itself, ["12", ["1", "2"]]):
        with pytest.raises(ShapeError, match="ragged"):
            convert.to_limbs(data, DD)


@pytest.mark.parametrize("dtype", ["U", "S", "O"])
def test_string_arrays(dtype: str) -> None:
    planes = convert.to_limbs(np.array([["0.1", "-1/3"], ["0x1p-3", "inf"]], dtype=dtype), DD)
    assert planes[0].tolist() == [[0.1, -1 / 3], [0.125, INFINITY]]
    assert convert.to_fraction((planes[0][0, 0], planes[1][0, 0])) == convert.to_fraction(
        convert.round_to_limbs(Fraction(1, 10), DD)
    )


def test_bad_text_is_named_with_its_place() -> None:
    with pytest.raises(InputError, match=r"masses\[1, 0\].*'x1'"):
        convert.to_limbs([["1", "2"], ["x1", "3"]], DD, "masses")
    with pytest.raises(InputError, match=r"data: b?'.*xff' is not"):
        convert.to_limbs(b"\xff", DD)


def test_decimals_fractions_longdoubles() -> None:
    third = convert.round_to_limbs(Fraction(1, 3), QD)
    assert tuple(float(p) for p in convert.to_limbs(Fraction(1, 3), QD)) == third
    tenth = convert.round_to_limbs(Fraction(1, 10), QD)
    assert tuple(float(p) for p in convert.to_limbs(Decimal("0.1"), QD)) == tenth
    assert math.isnan(convert.to_limbs(Decimal("sNaN"), DD)[0])
    assert convert.to_limbs(Decimal("-Infinity"), DD)[0] == -INFINITY
    assert convert.to_limbs(Decimal("1e999999"), DD)[0] == INFINITY
    assert math.copysign(1, convert.to_limbs(Decimal("-0"), DD)[0]) == -1
    long = np.longdouble(1) / np.longdouble(3)
    numerator, denominator = long.as_integer_ratio()
    for data in (long, [long], np.array([long])):
        planes = convert.to_limbs(data, DD)
        limbs = [float(p.ravel()[0]) for p in planes]
        assert convert.to_fraction(limbs) == Fraction(numerator, denominator)
    specials = convert.to_limbs(np.array([np.nan, -np.inf, -0.0], np.longdouble), DD)
    assert repr(specials[0].tolist()) == "[nan, -inf, -0.0]"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_integer_arrays(dtype: str) -> None:
    info = np.iinfo(dtype)
    data = np.array([0, 1, info.min, info.max], dtype=dtype)
    planes = convert.to_limbs(data, QS)
    assert convert.to_fractions(planes).tolist() == data.tolist()
    assert convert.to_fractions(convert.to_limbs(data.tolist(), DD)).tolist() == data.tolist()


def test_integers_are_never_rounded() -> None:
    assert convert.to_limbs(2**53 + 1, DD)[1] == 1
    assert convert.to_limbs(np.array([2**24]), SINGLE)[0][0] == 2**24
    assert convert.to_limbs(2**1000, DOUBLE)[0] == 2.0**1000
    for data, fmt in [
        (2**53 + 1, DOUBLE),
        (np.uint64(2**53 + 1), DOUBLE),
        (np.array([2**24 + 1]), SINGLE),
        (np.array([2**62 + 2**30 + 1]), DS),
        ([1, 2**200 + 2**100 + 1], DD),
        (2**1024, QD),
        (10**400, QD),
        (10**9000, DS),
        (2**1000 + 2**940, DPS),
    ]:
        with pytest.raises(FormatError, match=r"values.* integer .* (not exact|beyond)"):
            convert.to_limbs(data, fmt, "values")
    # The place of the first one is named.
    with pytest.raises(FormatError, match=r"data\[1\]: the integer 16777217 "):
        convert.to_limbs(np.array([1, 2**24 + 1]), SINGLE)
    # Text, Fractions and Decimals are rounded on purpose.
    assert convert.to_limbs(Decimal(2**53 + 1), DOUBLE)[0] == 2.0**53
    assert convert.to_limbs(str(2**53 + 1), DOUBLE)[0] == 2.0**53
    assert convert.to_limbs(Fraction(2**53 + 1), DOUBLE)[0] == 2.0**53


@pytest.mark.parametrize(
    "data",
    [
        True,
        np.True_,
        [True],
        np.array([True, False]),
        1j,
        np.complex64(1),
        np.array([1j]),
        np.float16(1),
        [np.float16(1), 2.0],
        np.array([1], np.float16),
        None,
        [None],
        {1.0: 2},
        {1.0},
        np.array([None], dtype=object),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.zeros(2, dtype=[("a", "f8")]),
        np.ma.masked_array([1.0, 2.0], [True, False]),
        object(),
        (x for x in [1.0]),
        bytearray(b"1"),
    ],
    ids=lambda data: type(data).__name__,
)
def test_refused_types(data: object) -> None:
    with pytest.raises(FormatError, match=r"^weights.* not accepted"):
        convert.to_limbs(data, DD, "weights")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (np.array([1], np.float16), "float16"),
        (np.float16(1), "float16"),
        ([np.float16(1)], "float16"),
        (np.array([1j]), "complex128"),
        (1j, "complex"),
        (True, "bool"),
        (np.array([True]), "bool"),
    ],
)
def test_refused_types_are_named(data: object, name: str) -> None:
    with pytest.raises(FormatError, match=name):
        convert.to_limbs(data, DD)


def test_mpmath_numbers() -> None:
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workprec(300):
        value = -mpmath.mpf(1) / 3
    numerator = -((2**301 + 1) // 3)
    expected = convert.round_to_limbs(Fraction(numerator, 2**301), QD)
    planes = convert.to_limbs([value, 1], QD)
    assert tuple(float(p[0]) for p in planes) == expected
    given = np.array([mpmath.inf, -mpmath.inf, mpmath.nan, mpmath.mpf(0), mpmath.mpf("1e9999999")])
    assert repr(convert.to_limbs(given, DD)[0].tolist()) == "[inf, -inf, nan, 0.0, inf]"
    assert convert.to_limbs(mpmath.mpf("-1e-9999999"), DD)[0] == 0
    assert convert.to_limbs(mpmath.pi, DOUBLE)[0] == math.pi
    with pytest.raises(FormatError, match="a complex number is not"):
        convert.to_limbs(mpmath.mpc(1, 2), DD)


def test_gmpy2_numbers() -> None:
    gmpy2 = pytest.importorskip("gmpy2")
    data = [gmpy2.mpz(2**60 + 1), gmpy2.mpq(1, 3), gmpy2.mpfr("-0.1", 200)]
    planes = convert.to_limbs(data, QD)
    rows = list(zip(*(p.tolist() for p in planes), strict=True))
    assert convert.to_fraction(rows[0]) == 2**60 + 1
    assert rows[1] == convert.round_to_limbs(Fraction(1, 3), QD)
    numerator, denominator = data[2].as_integer_ratio()
    assert convert.to_fraction(rows[2]) == Fraction(int(numerator), int(denominator))
    special = [gmpy2.mpfr(t) for t in ("nan", "inf", "-inf", "-0", "1e99999999", "-1e-99999999")]
    planes = convert.to_limbs(special, DD)
    assert repr(planes[0].tolist()) == "[nan, inf, -inf, -0.0, inf, -0.0]"
    with pytest.raises(FormatError, match="not exact"):
        convert.to_limbs(gmpy2.mpz(2**60 + 1), DOUBLE)
    with pytest.raises(FormatError, match="a complex number is not"):
        convert.to_limbs(gmpy2.mpc(1, 2), DD)


# --- to_fraction, to_float64


def test_to_fractions() -> None:
    assert convert.to_fraction((1.0, 2.0**-60, -5e-324)) == (
        1 + Fraction(1, 2**60) - Fraction(1, 2**1074)
    )
    planes: list[np.ndarray] = [np.array([[1.0, -2.0]]), np.array([[0.5, 0.25]], np.float32)]
    assert convert.to_fractions(planes).tolist() == [[Fraction(3, 2), Fraction(-7, 4)]]
    assert convert.to_fractions([np.array(3.0)])[()] == 3
    for limbs in ((math.nan, 0.0), (1.0, INFINITY)):
        with pytest.raises(FormatError, match="no exact value"):
            convert.to_fraction(limbs)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((1, 2.0**-25, 2.0**-53), "0x1.0000008000000p+0"),
        ((1, 2.0**-53, 2.0**-80), "0x1.0000000000001p+0"),
        ((1, 2.0**-53, -(2.0**-80)), "0x1.0p+0"),
        ((1, 2.0**-53, 0), "0x1.0p+0"),
        ((1, -(2.0**-54), 2.0**-100), "0x1.0p+0"),
        ((1, -(2.0**-54), -(2.0**-100)), "0x1.fffffffffffffp-1"),
    ],
)
def test_to_float64_vectors(words: tuple[float, ...], expected: str) -> None:
    for fmt in (TS, QS, TD, QD):
        padded = [np.array(w, fmt.word) for w in (*words, 0.0)[: fmt.limbs]]
        result = convert.to_float64(padded)
        assert result.shape == ()
        assert float(result) == float.fromhex(expected)


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_to_float64_is_correctly_rounded(fmt: formats.Format) -> None:
    rng = random.Random(5)
    rows = [convert.round_to_limbs(random_fraction(rng, fmt), fmt) for _ in range(300)]
    # Near-ties, cancellation and arbitrary order and overlap.
    for _ in range(700):
        words = [
            rng.choice([1, -1])
            * rng.choice([1.0, 1.5, 1 + 2.0**-20, rng.random()])
            * 2.0 ** rng.choice([0, 1, -1, -24, -25, -52, -53, -54, -55, -80, -106, -107, -120])
            * rng.choice([1.0, 1.0, 0.0])
            for _ in fmt.planes
        ]
        rows.append(tuple(float(fmt.dtype(i).type(w)) for i, w in enumerate(words)))
    result = convert.to_float64(planes_of(rows, fmt))
    for row, value in zip(rows, result, strict=True):
        assert value == float(convert.to_fraction(row)), row


@pytest.mark.parametrize("source", [DS, TS, QS, DD, TD, DPS], ids=str)
@pytest.mark.parametrize("target", [DD, TD, QD], ids=str)
def test_wider_words_hold_each_value_as_rounding_gives_it(
    source: formats.Format, target: formats.Format
) -> None:
    """All values at once, and what is left over one by one: the limbs of the exact value."""
    if target.limbs < source.limbs or source.planes == target.planes[: source.limbs]:
        return  # rounded one by one, or taken over as they are
    ulp = 2.0**-23 if source.dtype(0) == np.float32 else 2.0**-52
    rest = [0.0] * (source.limbs - 2)
    rows = [
        [1.0, ulp / 2, *rest],
        [1 + ulp, ulp / 2, *rest],
        [1 + ulp, -ulp / 2, *rest],
        [1.0, -ulp / 4, *rest],
        [0.0, 0.0, *rest],
        [-0.0, 0.0, *rest],
        [1.0, -ulp / 2**30, *rest],
        [-2.0, ulp / 3 / 2**20, *rest],
        [INFINITY, 0.0, *rest],
        [math.nan, 0.0, *rest],
        [1e-30, 1e-38, *rest],
    ]
    planes = [
        np.concatenate([np.array(column, source.dtype(i)), more])
        for i, (column, more) in enumerate(
            zip(zip(*rows, strict=True), inputs.wide(source, (200,), "widened"), strict=True)
        )
    ]
    found = convert.change_format(planes, source, target)
    values = [
        convert.to_fraction(row) if row[0] and math.isfinite(row[0]) else row[0]
        for row in zip(*(p.tolist() for p in planes), strict=True)
    ]
    for got, want in zip(found, convert.to_limbs(values, target), strict=True):
        assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


def test_to_float64_specials() -> None:
    rows: list[tuple[float, ...]] = [
        (INFINITY, math.nan, math.nan, 0.0),
        (-INFINITY, 0.0, 0.0, 0.0),
        (math.nan, 0.0, 0.0, 0.0),
        (-0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0),
        (1.0, -1.0, 0.0, 0.0),
        (MAX64, 2.0**969, 0.0, 0.0),
        (MAX64, MAX64, 0.0, 0.0),
        (MAX64, MAX64, -MAX64, 0.0),
        (MAX64, 2.0**970, -5e-324, 0.0),
        (5e-324, 5e-324, 0.0, 0.0),
        (1.0, INFINITY, 0.0, 0.0),
    ]
    expected = [
        INFINITY,
        -INFINITY,
        math.nan,
        -0.0,
        0.0,
        0.0,
        MAX64,
        INFINITY,
        MAX64,
        MAX64,
        1e-323,
        INFINITY,
    ]
    result = convert.to_float64(planes_of(rows, QD))
    assert repr(result.tolist()) == repr(expected)


def test_to_float64_keeps_shape_and_refuses_mixed_shapes() -> None:
    planes = [np.ones((2, 3), np.float32)] * 3
    assert np.array_equal(convert.to_float64(planes), np.full((2, 3), 3.0))
    assert convert.to_float64([np.empty((0, 2))] * 3).shape == (0, 2)
    with pytest.raises(ShapeError, match="plane 1"):
        convert.to_float64([np.ones(2), np.ones(3)])
    with pytest.raises(ShapeError, match="no planes"):
        convert.to_float64([])
    with pytest.raises(FormatError, match="int64"):
        convert.to_float64([np.ones(2, np.int64)])


def test_to_float64_is_vectorised() -> None:
    rng = np.random.default_rng(6)
    planes = [rng.standard_normal(100_000) * 2.0 ** (-53 * i) for i in range(4)]
    assert calls(lambda: convert.to_float64(planes)) < 1000


# --- normalise


@pytest.mark.parametrize("fmt", MULTIPLE, ids=str)
def test_normalise_keeps_values(fmt: formats.Format) -> None:
    rng = random.Random(7)
    rows: list[tuple[float, ...]] = []
    while len(rows) < 400:
        scale = [2.0 ** (-rng.randint(10, 26) * i) for i in range(fmt.limbs)]
        words = [rng.choice([-1, 1, 0]) * rng.getrandbits(12) * s for s in scale]
        rng.shuffle(words)
        rows.append(tuple(float(fmt.dtype(i).type(w)) for i, w in enumerate(words)))
    planes = planes_of(rows, fmt)
    result = convert.normalise(planes, fmt)
    assert [p.dtype.name for p in result] == list(fmt.planes)
    assert convert.to_fractions(result).tolist() == convert.to_fractions(planes).tolist()
    for limbs in zip(*(p.tolist() for p in result), strict=True):
        assert weakly_normalised(limbs, fmt)


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_normalise_leaves_normalised_bits(fmt: formats.Format) -> None:
    rng = random.Random(8)
    rows = [convert.round_to_limbs(random_fraction(rng, fmt), fmt) for _ in range(100)]
    top = MAX64 if fmt.planes[0] == "float64" else MAX32
    rows += [convert.round_to_limbs(x, fmt) for x in (-0.0, 0.0, INFINITY, -INFINITY, top)]
    rows.append(tuple([1.0] + [-0.0] * (fmt.limbs - 1)))
    if fmt.limbs > 1:  # a tie with an odd leading limb is allowed
        ulp = 2.0**-23 if fmt.planes[0] == "float32" else 2.0**-52
        rows.append((1 + ulp, ulp / 2, *[0.0] * (fmt.limbs - 2)))
    planes = planes_of(rows, fmt)
    for before, after in zip(planes, convert.normalise(planes, fmt), strict=True):
        assert before.tobytes() == after.tobytes()
        assert not np.shares_memory(before, after)


def test_normalise_shapes_and_hard_cases() -> None:
    planes = [np.array([[1.0], [2.0**-60]]), np.array([[1.0], [1.0]])]
    high, low = convert.normalise(planes, DD)
    assert high.tolist() == [[2], [1]]
    assert low.tolist() == [[0], [2.0**-60]]
    gap = [np.array(x) for x in (1.0, 0.0, 0.0, 2.0**-300)]
    assert [float(p) for p in convert.normalise(gap, QD)] == [1, 2.0**-300, 0, 0]
    # The sweeps overflow here, the value does not.
    large = [np.array(x) for x in (MAX64, MAX64, -MAX64)]
    assert [float(p) for p in convert.normalise(large, TD)] == [MAX64, 0, 0]


def test_normalise_specials_and_refusals() -> None:
    planes = [np.array([INFINITY, math.nan]), np.array([math.nan, 3.0])]
    high, low = convert.normalise(planes, DD)
    assert repr(high.tolist()) == "[inf, nan]"
    assert bits(low.tolist()) == bits([0.0, 0.0])
    with pytest.raises(FormatError, match=r"limb is not finite.*at \[1\]"):
        convert.normalise([np.ones(2), np.array([0.0, math.nan])], DD)
    with pytest.raises(FormatError, match=r"dtypes.*ds"):
        convert.normalise([np.ones(2), np.ones(2)], DS)
    with pytest.raises(FormatError, match="dtypes"):
        convert.normalise([np.ones(2)], DD)
    with pytest.raises(FormatError, match="exact sum"):
        convert.normalise([np.array(MAX64), np.array(MAX64)], DD)
    with pytest.raises(FormatError, match=r"limbs: .*exact sum"):
        low_bits = 2.0**-40 / 3
        convert.normalise([np.array(low_bits), np.array(1, np.float32)], DPS, "limbs")


def test_canonical_nan_bits() -> None:
    odd64 = np.array([0xFFF8000000000001, 0x7FF0000000000001], np.uint64).view(np.float64)
    result = convert.canonical_nan_bits(np.append(odd64, [1.0, -0.0, INFINITY]))
    assert result.dtype == np.uint64
    assert [hex(x) for x in result.tolist()] == [
        "0x7ff8000000000000",
        "0x7ff8000000000000",
        "0x3ff0000000000000",
        "0x8000000000000000",
        "0x7ff0000000000000",
    ]
    odd32 = np.array([[0xFFC00001, 0x3F800000]], np.uint32).view(np.float32)
    narrow = convert.canonical_nan_bits(odd32)
    assert narrow.dtype == np.uint32
    assert narrow.tolist() == [[0x7FC00000, 0x3F800000]]
    assert odd32.view(np.uint32)[0, 0] == 0xFFC00001
    assert convert.canonical_nan_bits(np.array(math.nan)).shape == ()
    with pytest.raises(FormatError, match="int64"):
        convert.canonical_nan_bits(np.ones(2, np.int64))


# --- text


def test_to_string_of_plain_floats_matches_repr() -> None:
    rng = random.Random(9)
    values = [math.ldexp(rng.uniform(-1, 1), rng.randint(-1070, 1020)) for _ in range(200)]
    values += [0.1, 1e15, 1e22, 1e-5, 0.0001, 123456.0, -2.5, MAX64, 5e-324, 9.5, 1.0]
    for value in values:
        text = decimal.to_string((value,), DOUBLE, "round-trip")
        assert float(text) == value
        assert len(text.rstrip("0")) <= len(repr(value).rstrip("0")) + 1
        assert float(decimal.to_string((value,), DOUBLE)) == value


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.5, None, "0.5"),
        (1.0, None, "1.0"),
        (2.5, 1, "2.0"),
        (3.5, 1, "4.0"),
        (-9.96, 2, "-10.0"),
        (9.96, 1, "10.0"),
        (0.00012345, 3, "0.000123"),
        (0.000012345, 3, "1.23e-05"),
        (1e16, None, "10000000000000000.0"),
        (1e17, None, "1e+17"),
        (123456.0, 2, "120000.0"),
        (1.5e300, 3, "1.5e+300"),
        (5e-324, 3, "4.94e-324"),
        (0.1, 10**6, "0.1000000000000000055511151231257827021181583404541015625"),
        (math.nan, None, "nan"),
        (-math.nan, 3, "nan"),
        (INFINITY, "round-trip", "inf"),
        (-INFINITY, None, "-inf"),
        (0.0, None, "0.0"),
        (-0.0, "round-trip", "-0.0"),
    ],
)
def test_to_string_layout(value: float, digits: Any, text: str) -> None:
    assert decimal.to_string((value, 0.0), DD, digits) == text


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_strings_are_correctly_rounded(fmt: formats.Format) -> None:
    rng = random.Random(10)
    for digits in (1, 2, 7, 30, fmt.digits):
        limbs = convert.round_to_limbs(random_fraction(rng, fmt), fmt)
        value = convert.to_fraction(limbs)
        text = decimal.to_string(limbs, fmt, digits)
        parsed = Fraction(parse.parse_number(text, "text"))
        exponent = math.floor(math.log10(abs(value)))
        assert abs(parsed - value) <= Fraction(10) ** (exponent - digits + 1) / 2
        mantissa = text.lower().split("e")[0].strip("-0").replace(".", "").strip("0")
        assert len(mantissa) <= digits


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_strings_round_trip(fmt: formats.Format) -> None:
    rng = random.Random(11)
    rows = [convert.round_to_limbs(random_fraction(rng, fmt), fmt) for _ in range(60)]
    for limbs in rows:
        text = decimal.to_string(limbs, fmt, "round-trip")
        assert convert.round_to_limbs(parse.parse_number(text, "text"), fmt) == limbs
    tenth = convert.round_to_limbs(Fraction(1, 10), fmt)
    assert decimal.to_string(tenth, fmt, "round-trip") == "0.1"


def awkward(rng: random.Random, fmt: formats.Format) -> tuple[float, ...]:
    """Limbs of a value at an edge: near powers of two, ties, zeros and the ends of the range."""
    top = 127 if "float32" in fmt.planes else 1023
    power = Fraction(2) ** rng.choice([-149, -148, -126, -120, -1, 0, 1, top - 1, top])
    fine = Fraction(2) ** -rng.choice([fmt.bits - 1, fmt.bits, fmt.bits + 1, 24, 25, 53, 54, 90])
    value = rng.choice(
        [
            power,
            power * (1 + fine),
            power * (1 - fine),
            power * rng.randint(1, 99) / 64,
            Fraction(rng.randint(1, 99)) * Fraction(10) ** rng.randint(-40, 36),
            Fraction(math.ldexp(rng.random() + 1, rng.randint(-100, 100))),
        ]
    )
    return convert.round_to_limbs(rng.choice([-1, 1]) * value, fmt)


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_round_trip_is_as_short_as_a_bisection_finds(fmt: formats.Format) -> None:
    """The text gives the value back, and correctly rounded to one digit less it does not."""

    def gives_back(text: str, limbs: tuple[float, ...]) -> bool:
        back = convert.round_to_limbs(parse.parse_number(text, "text"), fmt)
        finite = math.isfinite(back[0])
        return finite and convert.to_fraction(back) == convert.to_fraction(limbs)

    rng = random.Random(14)
    rows = [awkward(rng, fmt) for _ in range(120)]
    rows += [convert.round_to_limbs(random_fraction(rng, fmt), fmt) for _ in range(80)]
    for limbs in (row for row in rows if row[0] and math.isfinite(row[0])):
        text = decimal.to_string(limbs, fmt, "round-trip")
        assert gives_back(text, limbs), limbs
        count = len(text.split("e")[0].strip("-").replace(".", "").strip("0"))
        assert text == decimal.to_string(limbs, fmt, count)
        if count > 1:
            assert not gives_back(decimal.to_string(limbs, fmt, count - 1), limbs), limbs


@pytest.mark.parametrize(
    ("limbs", "fmt", "text"),
    [
        ((TINY32,), SINGLE, "1e-45"),
        ((2.0**-126,), SINGLE, "1.1754944e-38"),
        ((2.0**-1022,), DOUBLE, "2.2250738585072014e-308"),
        ((1e23,), DOUBLE, "1e+23"),
        ((MAX32, 0.0), DS, "3.4028234663852885981170418348451692544e+38"),
        ((5e-324, 0.0), DD, "5e-324"),
        ((0.1, 0.0), DD, "0.1000000000000000055511151231257827021181583404541015625"),
        ((1.0, -(2.0**-54)), DD, "0.99999999999999994448884876874217"),
        ((1.0, 2.0**-53, 0, 0), QD, "1.00000000000000011102230246251565404236316680908203125"),
        ((1.0, TINY32), DPS, "1.000000000000000000000000000000000000000000001"),
        (
            (2.0**200, 0.0),
            DPS,
            "1.606938044258990275541962092341162602522202993782792835301376e+60",
        ),
    ],
)
def test_round_trip_texts(limbs: tuple[float, ...], fmt: formats.Format, text: str) -> None:
    """Powers of two, ties, subnormals, the largest number, last limbs of 0."""
    assert decimal.to_string(limbs, fmt, "round-trip") == text


@pytest.mark.parametrize("fmt", ALL, ids=str)
def test_shown_is_short_where_the_formats_digits_are_enough(fmt: formats.Format) -> None:
    """What is printed: 0.1 as 0.1, and never more digits than the format has."""
    tenth = convert.round_to_limbs(Fraction(1, 10), fmt)
    for name in ("short", "round-trip", "shown"):
        assert decimal.to_string(tenth, fmt, name) == "0.1"
    rng = random.Random(15)
    rows = [awkward(rng, fmt) for _ in range(60)]
    rows += [convert.round_to_limbs(random_fraction(rng, fmt), fmt) for _ in range(60)]
    for limbs in (row for row in rows if row[0] and math.isfinite(row[0])):
        short = decimal.to_string(limbs, fmt, "short")
        enough = len(short.split("e")[0].strip("-").replace(".", "").strip("0")) <= fmt.digits
        wanted = short if enough else decimal.to_string(limbs, fmt)
        assert decimal.to_string(limbs, fmt, "shown") == wanted


def test_round_trip_is_fast() -> None:
    """A few times the calls of a known number of digits, not the many of parsing texts."""
    for fmt in (DD, QD):
        head = np.random.default_rng(15).standard_normal(3000)
        planes = [head * 2.0 ** (-53.5 * i) for i in range(fmt.limbs)]
        known = calls(partial(decimal.to_strings, planes, fmt, fmt.digits))
        assert calls(partial(decimal.to_strings, planes, fmt, "round-trip")) < 4 * known


@pytest.mark.parametrize(
    ("limbs", "fmt"),
    [
        ((1.0, 2.0**-100), DS),
        ((1.0, -TINY32), DS),
        ((1.0, 2.0**-60, TINY32), TS),
        ((1.0, 5e-324), DD),
        ((MAX64, 5e-324), DD),
        ((2.0**-1074, 0.0), DD),
        ((MAX32, 2.0**-149), DS),
        ((1.0, TINY32), DPS),
        ((2.0**1023, 1.0, 2.0**-500, 5e-324), QD),
    ],
)
def test_gaps_round_trip(limbs: tuple[float, ...], fmt: formats.Format) -> None:
    text = decimal.to_string(limbs, fmt, "round-trip")
    back = convert.round_to_limbs(parse.parse_number(text, "text"), fmt)
    assert convert.to_fraction(back) == convert.to_fraction(limbs)


def test_values_outside_the_format_are_written_out() -> None:
    limbs = (1.0, 2.0**-100, 2.0**-300)
    text = decimal.to_string(limbs, DS, "round-trip")
    assert parse.parse_number(text, "text") == convert.to_fraction(limbs)
    cancelled = decimal.to_string((1.0, -1.0), DD)
    assert cancelled == "0.0"
    assert decimal.to_string((1.0, math.nan), DD) == "nan"


def test_to_string_refuses_digits() -> None:
    bad: list[Any] = [0, -1, 2.5, True, "all"]
    for digits in bad:
        with pytest.raises(ArgumentError, match="digits="):
            decimal.to_string((1.0, 0.0), DD, digits)
    assert decimal.to_string((0.125, 0.0), DD, np.int64(2)) == "0.12"  # type: ignore[arg-type]


def test_to_strings() -> None:
    planes = convert.to_limbs([["1.1", "-inf"], ["1e-30", "1/3"]], QD)
    strings = decimal.to_strings(planes, QD, "round-trip")
    assert strings.dtype == object
    assert strings[:, 0].tolist() == ["1.1", "1e-30"]
    assert strings[0, 1] == "-inf"
    assert decimal.to_strings(planes, QD, 5)[1, 1] == "0.33333"
    assert decimal.to_strings([np.array(2.0), np.array(0.0)], DD)[()] == "2.0"
    assert decimal.to_strings([np.empty((0, 2))] * 2, DD).shape == (0, 2)


def test_to_mpmath() -> None:
    mpmath = pytest.importorskip("mpmath")
    rng = random.Random(12)
    for limbs in [
        *(convert.round_to_limbs(random_fraction(rng, QD), QD) for _ in range(20)),
        (1.0, 5e-324),
        (-MAX64, 5e-324),
        (0.0, 0.0),
        (2.0**1000, 0.0),
    ]:
        before = mpmath.mp.prec
        sign, mantissa, exponent, _ = decimal.to_mpmath(limbs)._mpf_
        value = (-1) ** sign * int(mantissa) * Fraction(2) ** int(exponent)
        assert value == convert.to_fraction(limbs)
        assert mpmath.mp.prec == before
    assert decimal.to_mpmath((-INFINITY, 0.0)) == -mpmath.inf
    assert mpmath.isnan(decimal.to_mpmath((math.nan, 0.0)))


def test_missing_mpmath_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mpmath", None)
    with pytest.raises(BackendUnavailable, match="pip install mpmath"):
        decimal.to_mpmath((1.0,))
