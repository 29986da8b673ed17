"""Hostile input of many kinds: the ends of the range, ties, odd numbers, long sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portmp as mp
from portmp import formats
from portmp.errors import ArgumentError, FormatError

HOST = "host:0"
SEVERAL = ("float32", "float64", "ds", "dd", "ts", "td", "qs", "qd")
LONGEST = 10**5000
"""More digits than Python writes of an integer."""


def values(x: mp.Array) -> list[Fraction]:
    """Exact values of a vector."""
    return [Fraction(v) for v in x.to_fractions()]


# --- numbers ---------------------------------------------------------------------------------


NO_NUMBERS = (
    *("１２", "−1", "१२", "𝟙", "1e٣", "1ｅ3", "0x１", "0x1.8P１", "½", "1²", "Ⅷ", "∞", "ｎａｎ"),
    *("ſnan", "infinıty", "1⁄2", "1٫5", "\u200b1", "1\x00", "n\u0430n", "1_000", "--1", "1e"),
)


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_text_that_is_no_number(text: str) -> None:
    """Digits, signs and letters beyond ASCII, and what Python alone takes."""
    for form in ("dd", "float32", "float16"):
        with pytest.raises(ValueError, match="is not a number") as caught:
            mp.array(text, form, HOST)
        assert isinstance(caught.value, mp.PortmpError)


def unit() -> mp.Array:
    """A matrix."""
    return mp.eye(2, dtype="dd", device=HOST)


def system(**options: Any) -> mp.system.System:
    """Two particles."""
    planes = ([["0", "0", "0"], ["1", "0", "0"]], [["0", "0", "0"], ["0", "1", "0"]], ["1", "1e-3"])
    return mp.system.System(*(mp.array(p, "dd", HOST) for p in planes), **options)


@pytest.mark.parametrize(
    "call",
    [
        lambda: system().step(LONGEST),
        lambda: system().step(Fraction(1, LONGEST)),
        lambda: system().step(Fraction(-LONGEST, 3)),
        lambda: system().step("0", -LONGEST),
        lambda: system(eps=LONGEST),
        lambda: system(eps=Fraction(1, LONGEST)),
        lambda: system(time=Fraction(LONGEST)),
        lambda: system(time=Fraction(1, LONGEST)),
        lambda: mp.gemm(unit(), unit(), bound=LONGEST),
        lambda: mp.linalg.cg(unit(), mp.ones(2, "dd", HOST), rtol=LONGEST),
        lambda: mp.linalg.cg(unit(), mp.ones(2, "dd", HOST), atol=LONGEST),
        lambda: mp.linalg.cg(unit(), mp.ones(2, "dd", HOST), maxiter=-LONGEST),
    ],
)
def test_numbers_that_python_does_not_write(call: Callable[[], object]) -> None:
    """Refused in words, whatever their length."""
    with pytest.raises(ArgumentError) as caught:
        call()
    assert len(str(caught.value)) < 200
    with pytest.raises(FormatError, match="range"):
        mp.ones(2, "dd", HOST) ** LONGEST


@pytest.mark.parametrize(
    "dt", ["-0", "1e-2100", "1/3", "0x1p-1074", Fraction(1, 3**2000), 2.0**-1074, "-1e-1999"]
)
def test_odd_steps_are_saved(dt: Any, tmp_path: Path) -> None:
    """What a step takes a file holds."""
    one = system(eps="1e-4500", time=Fraction(1, 7))
    one.step(dt)
    one.save(tmp_path / "state.npz")
    other = mp.system.load(tmp_path / "state.npz", device=HOST)
    assert (one.time, one.steps) == (other.time, other.steps)
    for a, b in zip(one.position.to_limbs(), other.position.to_limbs(), strict=True):
        assert np.array_equal(a, b)


# --- systems of any scale --------------------------------------------------------------------


@pytest.mark.parametrize("form", SEVERAL)
def test_conjugate_gradients_at_any_scale(form: str) -> None:
    """Matrix and right-hand side times powers of two, up to both ends."""
    f = formats.get(form)
    far = 1000 if f.word == "float64" else 110
    smallest, top = np.finfo(f.word).minexp, np.finfo(f.word).maxexp
    root = np.random.default_rng(5).integers(-3, 4, (6, 6))
    matrix, wanted = root @ root.T + 5 * np.eye(6, dtype=int), np.array([3, -5, 1, 4, -2, 5])
    for a_power in (-far, -far // 2, 0, far):
        for b_power in (-far, 0, far):
            a, b = (
                mp.array(np.vectorize(Fraction, otypes=[object])(v) * Fraction(2) ** e, form, HOST)
                for v, e in ((matrix, a_power), (matrix @ wanted, b_power))
            )
            power = b_power - a_power
            if power + 3 > top:
                with pytest.raises(ArgumentError, match="beyond the range"):
                    mp.linalg.cg(a, b)
                continue
            found = mp.linalg.cg(a, b)
            assert found.converged
            if power - f.bits > smallest:
                for x, want in zip(values(found.x), wanted.tolist(), strict=True):
                    error = abs(x / Fraction(2) ** power - want)
                    assert error < 1000 * Fraction(f.unit_roundoff)


def test_solutions_beyond_the_range_are_refused() -> None:
    """By the other iterative methods, too."""
    a = mp.array(np.array([[2.0, 1.0], [1.0, 3.0]]) * 2.0**-600, "dd", HOST)
    b = mp.array([2.0**600, 0.0], "dd", HOST)
    for method in (mp.linalg.cg, mp.linalg.gmres, mp.linalg.minres):
        with pytest.raises(ArgumentError, match=r"range of dd: its norm is near 2\^1"):
            method(a, b)


# --- correct rounding ------------------------------------------------------------------------


def ties(form: str) -> list[list[Fraction]]:
    """Terms whose sum is a tie of the format's last limb, or next to one, at both signs."""
    f, found = formats.get(form), []
    two, least = Fraction(2), np.finfo(f.word).minexp - np.finfo(f.word).nmant
    for e in (-3, 5):
        for place in range(f.bits - 1, f.bits + 3):
            for sign in (1, -1):
                for beyond in (0, 1, -1):
                    terms = [two**40, sign * two**e, sign * two ** (e - place), -(two**40)]
                    found.append([*terms, beyond * two ** max(least, e - 3 * f.bits)])
    return found


@pytest.mark.parametrize("form", [*SEVERAL, "d+s", "tsin80b", "qdin192b", "slfp64in24b_rz"])
def test_ties_are_rounded_as_numbers_are(form: str) -> None:
    """Sums, dot products with powers of two, and those times alpha."""
    for terms in ties(form):
        x = mp.array(terms, form, HOST)
        exact = sum(values(x))
        powers = [Fraction(2) ** ((7 * i) % 11 - 5) for i in range(len(terms))]
        y = mp.array(powers, form, HOST)
        product = sum(a * b for a, b in zip(values(x), values(y), strict=True))
        alpha = values(mp.array(["-0.1"], formats.get(form).arithmetic, HOST))[0]
        for found, wanted in (
            (x.sum(rounding="correct"), exact),
            (mp.dot(x, y, rounding="correct"), product),
            (mp.gemm(x[None], y[:, None], alpha="-0.1", rounding="correct")[0, 0], alpha * product),
        ):
            same = mp.array(wanted, form, HOST)
            for a, b in zip(found.to_limbs(), same.to_limbs(), strict=True):
                assert np.array_equal(a, b)


# --- bounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*SEVERAL, "d+s", "tsin80b"])
def test_products_about_the_smallest_number(form: str) -> None:
    """Some parts of some products underflow, and alpha brings them back or all below."""
    f, generator = formats.get(form), np.random.default_rng(4)
    middle = (np.finfo(f.word).minexp - np.finfo(f.word).nmant) // 2
    for _ in range(4):
        x, y = (
            mp.array(
                [
                    Fraction(2) ** int(e) * Fraction(int(n), 7)
                    for e, n in zip(
                        generator.integers(middle - 30, middle + 60, 7),
                        generator.integers(-9, 9, 7),
                        strict=True,
                    )
                ],
                form,
                HOST,
            )
            for _ in "xy"
        )
        exact = sum(a * b for a, b in zip(values(x), values(y), strict=True))
        for text in ("1", "1e10", "-1e-10"):
            alpha = values(mp.array([text], f.arithmetic, HOST))[0]
            for bound in (True, "tight", "normwise"):
                result, limit = mp.gemm(x[None], y[:, None], alpha=text, bound=bound)
                error = abs(values(result.ravel())[0] - alpha * exact)
                assert error <= values(limit.ravel())[0]


@pytest.mark.parametrize("form", ["float32", "float64", "ds", "ts"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_million_terms(form: str, sign: int) -> None:
    """One number many times, its sign the same or changing: errors add up as far as they do."""
    count = 2**20 + 77
    f = formats.get(form)
    limbs = [np.full(count, 1 + 3 * 2.0**-22, f.word)]
    limbs += [np.full(count, 2.0 ** (-25 * i), f.word) for i in range(1, f.limbs)]
    limbs = [plane * np.where(np.arange(count) % 3, 1, sign).astype(f.word) for plane in limbs]
    x = mp.from_limbs(limbs, form, HOST)
    one = values(x[1:2])[0]
    exact = one * (count - math.ceil(count / 3) * (1 - sign))
    for bound in (True, "tight"):
        result, limit = x.sum(bound=bound)
        assert abs(values(result.reshape(1))[0] - exact) <= values(limit.reshape(1))[0]
    ones = mp.ones(count, form, HOST)
    for how in (True, "normwise"):
        result, limit = mp.gemv(x[None], ones, bound=how)
        assert abs(values(result)[0] - exact) <= values(limit)[0]
        assert values(limit)[0] < 400 * count * Fraction(f.unit_roundoff)
    assert (
        values(x.sum(rounding="correct").reshape(1))[0] == values(mp.array([exact], form, HOST))[0]
    )
