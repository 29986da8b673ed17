"""What an audit found untrue, each case by itself: bounds of sums, products, quotients and roots,
normalised results, products that underflow, ends of the range, texts that are no numbers."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from pathlib import Path

import numpy as np
import pytest

import portmp as mp
from portmp import formats
from portmp.arrays.array import Array
from portmp.errors import InputError, PortmpError
from portmp.formats import convert
from portmp.nbody.system import System, load

HOST = "host:0"


def number(form: str, *limbs: str) -> Array:
    """A value from texts of its limbs."""
    f = formats.get(form)
    values = [float.fromhex(limb) for limb in (*limbs, *["0x0p+0"] * (f.limbs - len(limbs)))]
    return mp.from_limbs([np.array(v, f.dtype(i)) for i, v in enumerate(values)], f, HOST)


def exact(x: Array) -> Fraction:
    """The value of an array of one element."""
    return Fraction(convert.to_fractions(x.to_limbs()).item())


def units(form: str) -> Fraction:
    """u^N."""
    f = formats.get(form)
    return Fraction(1, 2**f.bits)


def error(result: Array, expected: Fraction) -> Fraction:
    """The relative error in u^N."""
    return abs(exact(result) / expected - 1) / units(result.format.name)


def normalised(x: Array) -> bool:
    """Whether limbs are weakly normalised, and are kept as they are by ``from_limbs``."""
    again = mp.from_limbs(x.to_limbs(), x.format, HOST).to_limbs()
    return all(np.array_equal(a, b) for a, b in zip(again, x.to_limbs(), strict=True))


# --- 1: sums of products ---------------------------------------------------------------------

SUMS = {"ds": 9 + 1025 / 2, "ts": 24, "td": 24, "qs": 83, "qd": 83}
"""Bounds for equal products, and for a few products, in u^N T."""


@pytest.mark.parametrize("form", ["ts", "qs"])
def test_equal_products(form: str) -> None:
    """Where the terms that an earlier network dropped are largest."""
    x = number(form, "0x1.000216p+1", "0x1.fff932p-24", "0x1.ffffd4p-49")
    y = number(form, "0x1.000452p+0", "0x1.7fda76p-25", "0x1.ffffbcp-50")
    many = [mp.from_limbs([np.full(1024, p[()]) for p in v.to_limbs()], form, HOST) for v in (x, y)]
    expected = 1024 * exact(x) * exact(y)
    assert error(mp.dot(*many), expected) <= SUMS[form] + 2
    product = mp.gemm(many[0][None, :], many[1][:, None])[0, 0]
    assert error(product, expected) <= SUMS[form] + 2


@pytest.mark.parametrize("form", ["ts", "td", "qs", "qd"])
@pytest.mark.parametrize("k", [1, 4])
def test_few_products(form: str, k: int) -> None:
    """Random entries, few of them: the structural loss of a product shows."""
    f, generator = formats.get(form), np.random.default_rng(27)
    planes = [
        generator.uniform(-1, 1, (2, 500, k)).astype(f.dtype(0)) * f.dtype(0).type(2.0 ** (-p * i))
        for i, p in enumerate([sum(e.bits for e in f.encodings[:1])] * f.limbs)
    ]
    planes = convert.normalise(planes, f)
    x, y = ([p[side] for p in planes] for side in (0, 1))
    a, b = mp.from_limbs(x, f, HOST), mp.from_limbs(y, f, HOST)
    terms = convert.to_fractions(x) * convert.to_fractions(y)
    for i in range(500):
        found = exact(mp.dot(a[i], b[i]))
        total = sum(terms[i])
        size = sum(map(abs, terms[i]))
        assert abs(found - total) <= units(form) * (SUMS[form] * size + 2 * abs(total) + 80 * size)


# --- 2 and 3: products, quotients, roots -----------------------------------------------------


def test_products() -> None:
    """Above the eight units that were once declared, and below what is proved."""
    x = number("ts", "0x1.00000cp+1", "0x1p-23", "0x1.fffffep-48")
    y = number("ts", "0x1.000002p+1", "0x1.ffffeap-24", "0x1.fffffep-49")
    assert error(x * y, exact(x) * exact(y)) <= 23


def test_a_root_of_four_limbs() -> None:
    """Formerly wrong by 53.9 units."""
    x = number("qs", "0x1.6b2c26p+1", "0x1.ff7p-24", "0x1.7ffd8p-50", "0x1.ff7ef4p-76")
    scaled = exact(x) * 2**600
    root = Fraction(isqrt(int(scaled)), 2**300)
    assert error(mp.sqrt(x), root) <= Fraction("1.011")


@pytest.mark.parametrize(("form", "bound"), [("ts", "1.01"), ("td", "1.01"), ("qs", "1.02")])
def test_quotients(form: str, bound: str) -> None:
    """Of random numbers: formerly up to 14.5 and 37 units."""
    generator = np.random.default_rng(3)
    numbers = [
        [Fraction(int(generator.integers(1, 2**60)), 2**59 + int(v)) for v in range(300)]
        for _ in range(2)
    ]
    x, y = (mp.array(v, form, HOST) for v in numbers)
    found = convert.to_fractions((x / y).to_limbs())
    given = [convert.to_fractions(v.to_limbs()) for v in (x, y)]
    errors = [abs(q * b / a - 1) / units(form) for q, a, b in zip(found, *given, strict=True)]
    assert max(errors) <= Fraction(bound)


# --- 4: normalised results -------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ds", "ts", "td", "qs", "qd"])
def test_cancelling_sums_end_normalised(form: str) -> None:
    """Equal numbers have equal limbs after a copy by way of the host."""
    generator = np.random.default_rng(4)
    f = formats.get(form)
    u = 2.0 ** -f.encodings[0].bits
    for n in (2, 3, 5):
        x = [generator.uniform(-1, 1, (300, n)) * u**i for i in range(f.limbs)]
        x = convert.normalise([p.astype(f.dtype(0)) for p in x], f)
        y = [np.concatenate([p[:, : n // 2], -p[:, : n - n // 2]], axis=1) for p in x]
        a, b = mp.from_limbs(x, f, HOST), mp.from_limbs(y, f, HOST)
        assert all(normalised(mp.dot(a[i], b[i])) for i in range(300))


@pytest.mark.parametrize(("form", "size"), [("td", 1022), ("ts", 126)])
def test_large_quotients_are_normalised(form: str, size: int) -> None:
    """Operands near overflow."""
    generator = np.random.default_rng(5)
    values = [Fraction(int(v), 2**62) * 2**size for v in generator.integers(2**61, 2**62, 200)]
    x = mp.array(values, form, HOST)
    y = mp.array(values[::-1], form, HOST)
    assert normalised(x / y)


# --- 5: conjugate gradients ------------------------------------------------------------------


def test_small_matrices_are_definite() -> None:
    """A matrix whose products with directions underflow."""
    a = mp.array([["1e-30", 0], [0, "1e-30"]], "ts", HOST)
    found = mp.linalg.cg(a, mp.array(["1e-30", "2e-30"], "ts", HOST))
    assert found.converged
    assert np.abs(found.x.to_float64() - [1, 2]).max() < 1e-6


# --- 6: the ends of the range ----------------------------------------------------------------


def test_the_largest_dividend() -> None:
    """It keeps its lower limbs in quotients by numbers just below a power of two."""
    f = formats.get("dd")
    top = np.array(np.finfo(np.float64).max)
    x = mp.from_limbs([top, np.array(0.0)], f, HOST)
    for i in range(200):
        y = mp.array([Fraction(2) ** 901 * (1 - Fraction(3 * i + 1, 2**60))], f, HOST)[0]
        assert error(x / y, exact(x) / exact(y)) <= 15 + Fraction(1, 2**40)


@pytest.mark.parametrize(
    ("form", "exponents", "bound"),
    [("ts", (-84, -70, 0, 100, 126), "1.01"), ("qs", (-52, 0, 104, 126), "1.02")],
)
def test_quotients_and_roots_at_the_ends(form: str, exponents: tuple[int, ...], bound: str) -> None:
    """Every operand whose result, lower limbs included, is normal."""
    generator = np.random.default_rng(6)
    lowest = -126 + 24 * (formats.get(form).limbs - 1) + 2

    def scaled(exponent: int) -> Fraction:
        significand = 1 + Fraction(int(generator.integers(0, 2**61)), 2**61)
        return significand * Fraction(2) ** exponent

    for e in exponents:
        for other in exponents:
            if not lowest <= e - other <= 126:
                continue
            x, y = (mp.array(scaled(s), form, HOST) for s in (e, other))
            assert error(x / y, exact(x) / exact(y)) <= Fraction(bound), (e, other)
        x = mp.array(scaled(e), form, HOST)
        root = mp.sqrt(x)
        if e // 2 >= lowest:
            square = exact(root) ** 2
            # (1 + d)^2 is about 1 + 2 d
            assert abs(square / exact(x) - 1) / units(form) <= 2 * Fraction("1.0101"), e


# --- 7: small ones ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["ınf", "İnf", "ınfinity", "nаn"])
def test_letters_that_look_alike(text: str) -> None:
    """Only ASCII spells numbers."""
    with pytest.raises(InputError):
        mp.array(text, "ts", HOST)


@pytest.mark.parametrize("step", ["1e-1900", "1e-2100", "1e-4500", Fraction(1, 7**3000)])
def test_steps_that_no_file_holds(step: str | Fraction, tmp_path: Path) -> None:
    """They are refused, or what is saved can be loaded."""
    places = [[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 1, 0]], [1, 1]
    system = System(*(mp.array(v, "dd", HOST) for v in places))
    try:
        system.step(step)
    except PortmpError as error:
        assert "dt" in str(error)
        return
    system.save(tmp_path / "state.npz")
    assert load(tmp_path / "state.npz", device=HOST).time == system.time
