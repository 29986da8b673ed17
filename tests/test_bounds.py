"""Bounds of networks: the tools that prove them, what they prove, and hunts that find no more."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import proofs
import pytest
from hunting import FOUND, Hunt, limit, preys, stated
from patterns import Prover, Python, Word, Z, half_ulp, ordered, sum_lemmas, word_lemmas
from slow import slow

from portmp import definition, networks
from portmp.networks.language import define

LIMBS = (2, 3, 4)
HUNTED = [name for name in preys() if not name.startswith("accumulate")]


# --- the tools -----------------------------------------------------------------------------


def pattern(value: int) -> Word:
    """What patterns know of a number."""
    size = abs(value)
    if not size:
        return Word(True, False, 0, 0)
    return Word(False, value < 0, size.bit_length() - 1, (size & -size).bit_length() - 1)


def nearest(value: int, p: int) -> int:
    """An integer rounded to p bits, ties to even."""
    shift = abs(value).bit_length() - p
    if shift <= 0:
        return value
    whole, rest = divmod(abs(value), 1 << shift)
    half = 1 << (shift - 1)
    whole += rest > half or (rest == half and whole % 2)
    return int(math.copysign(whole << shift, value))


@pytest.mark.parametrize(("p", "orders"), [(3, 7), (4, 8), (5, 8)])
def test_lemmas_hold_for_all_words_of_a_tiny_precision(p: int, orders: int) -> None:
    """Every pair of words whose exponents are less than *orders* apart."""
    positive = {m << s for m in range(2 ** (p - 1), 2**p) for s in range(orders)} | {0}
    words = sorted(positive | {-w for w in positive})
    known = {w: pattern(w) for w in words}
    for x in words[len(words) // 2 :]:
        for y in words:
            s = nearest(x + y, p)
            r = x + y - s
            lemmas = sum_lemmas(known[x], known[y], pattern(s), pattern(r), p, Python)
            assert all(lemmas), (x, y, lemmas.index(False))
            assert word_lemmas(pattern(r), p, Python)


def test_fast_two_sum_is_exact_where_patterns_say_so() -> None:
    """All words of four bits: in order, the error is right."""
    p = 4
    words = sorted({m << s for m in range(8, 16) for s in range(7)} | {0})
    for x in words:
        for y in [*words, *(-w for w in words)]:
            if ordered(pattern(x), pattern(y), p, Python):
                s = nearest(x + y, p)
                assert nearest(y - nearest(s - x, p), p) == x + y - s, (x, y)


def test_half_an_ulp_is_weak_normalisation() -> None:
    """8 to 15 have an ulp of 1 with four bits: half of it and no more."""
    for x, y, fits in ((16, 1, True), (30, 1, True), (16, 2, False), (32, 2, True), (32, 3, False)):
        assert half_ulp(pattern(x), pattern(y), 4, Python) == fits


def test_a_lost_term_is_counted() -> None:
    """The engine gives a product that drops a term its error, and no less."""
    define(
        "dropping2",
        "x:2 y:2 -> 2",
        "p, e = two_prod(x[0], y[0])\ne = fma(x[0], y[1], e)\nreturn p, e",
        source="-",
        bound="-",
    )
    found = proofs.products("dropping2", (2, 2), 1, 24, 2)
    assert 1 <= found.bound < Fraction(3, 2) + Fraction(1, 2**20)
    del networks.NETWORKS["dropping2"]


# --- what they prove -------------------------------------------------------------------------

needs_z3 = pytest.mark.skipif(Z is None, reason="z3-solver is not installed")
PROVED = ("add2", "add3", "mul2", "mul3", "add2_word", "add3_word", "add4_word")
SLOW_PROOFS = ("add4", "mul4")


def operands(prover: Prover, name: str) -> list[Any]:
    """Weakly normalised values and words of a network; factors from 1 up to 2."""
    found: list[Any] = []
    for _, kind in networks.get(name).inputs:
        value: Any = prover.value(kind.words) if kind.role == "value" else prover.word()
        found.append(value)
        leading = value[0] if isinstance(value, tuple) else value
        if name.startswith("mul"):
            prover.solver.add(Z.Not(leading.zero), leading.e == 0)
    return found


@needs_z3
@pytest.mark.parametrize(
    "name", [*PROVED, *(pytest.param(n, marks=slow("minutes of z3")) for n in SLOW_PROOFS)]
)
def test_sums_are_in_order_normalised_and_bounded(name: str) -> None:
    """For every weakly normalised operand; additions lose what they state at most."""
    limbs = networks.get(name).result.words
    prover = Prover(24, 400)
    result = prover.run(name, *operands(prover, name))
    assert not prover.failed
    assert prover.normalised(result)
    # That of a value and a word, with two limbs, is Joldes, Muller and Popescu's.
    if name.startswith("add") and name != "add2_word":
        lost = prover.lost(result[0], limbs, 64)
        assert lost is not None and lost <= stated(name)


@needs_z3
@pytest.mark.parametrize("precision", [24, 53])
@pytest.mark.parametrize("name", ["finish2", "finish3", "finish4", "finish3_fast", "finish4_fast"])
def test_sums_end_normalised(name: str, precision: int) -> None:
    """Whatever words an accumulator holds. One addition is not exact, of fast sums none."""
    prover = Prover(precision, 120)
    state = [prover.word() for _ in range(networks.get(name).inputs[0][1].words)]
    result = prover.run(name, state)
    assert not prover.failed
    assert prover.normalised(result)
    assert len(prover.dropped) == (0 if name.endswith("fast") else 1)
    if prover.dropped:
        lost = prover.lost(result[0], len(result), 64)
        assert lost is not None
        assert lost == (2 if name == "finish4" else 1)


@pytest.mark.parametrize("p", [24, 53])
def test_products_keep_their_bounds(p: int) -> None:
    """Without search: from what is known of each word."""
    for name, shape, cuts in (
        ("mul2", (2, 2), 4),
        ("mul2_word", (2, 1), 4),
        ("mul3", (3, 3), 2),
        ("mul3_word", (3, 1), 4),
    ):
        found = proofs.products(name, shape, shape[0], p, cuts, ordered=True)
        assert float(found.bound) <= stated(name) * (1 + 2.0**-20), name


@slow("seconds of fractions for each of many parts of the operands")
@pytest.mark.parametrize("p", [24, 53])
def test_longer_products_keep_their_bounds(p: int) -> None:
    """The same with four limbs."""
    for name, shape, cuts in (("mul4", (4, 4), 3), ("mul4_word", (4, 1), 4)):
        found = proofs.products(name, shape, 4, p, cuts, ordered=True)
        assert float(found.bound) <= stated(name), name


LOCAL = {"2": 5, "3": Fraction(45, 2), "4": 62, "2_fast": 5, "3_fast": 23, "4_fast": 64}
"""What a product's own terms lose, in units of u^N of their size."""


@pytest.mark.parametrize("name", ["2", "3", "2_fast", "3_fast"])
def test_products_in_sums_lose_no_more(name: str) -> None:
    """The part of ``slab`` that comes from each product alone."""
    n = int(name[0])
    words = networks.get(f"accumulate{name}").result.words
    found = proofs.products(f"accumulate{name}", (n, n), n, 24, 4, state=words)
    assert found.doubtful == 0
    assert found.bound <= LOCAL[name]


@slow("the same steps with other powers", unless=lambda c: c["p"] == 24)
@pytest.mark.parametrize("p", [24, 53])
@pytest.mark.parametrize("name", LOCAL)
def test_sums_of_products_keep_their_bounds(name: str, p: int) -> None:
    """A slab of 1024 products, in the words of the networks' statements."""
    n, fast = int(name[0]), name.endswith("fast")
    period = definition.FAST_PERIOD if fast else definition.PERIOD
    sums = fast or n == 2
    found = proofs.slab(name, n, p, period, definition.SLAB, Fraction(LOCAL[name]), sums=sums)
    text = networks.get(f"accumulate{name}").bound
    numbers = re.findall(r"([\d.]+)u\^\d (sum|T)", text.split("(proved")[0])
    for number, what in numbers:
        assert float(found.running if what == "sum" else found.total) <= float(number), what
    assert len(numbers) == 1 + sums


# --- hunts -------------------------------------------------------------------------------------


def test_the_issue_s_findings_are_found_again() -> None:
    """A short hunt finds products that err by more than six units."""
    error, words = Hunt(preys()["mul3"], "float32", 0).run(generations=60)
    assert 6 < error <= stated("mul3")
    assert len(words) == 6


@pytest.mark.parametrize("name", list(preys()))
def test_recorded_findings_are_below_the_bounds(name: str) -> None:
    """Each is measured again from its operands: the worst known of each network."""
    recorded = json.loads(FOUND.read_text())
    for word in ("float32", "float64"):
        entry = recorded[f"{name}/{word}"]
        hunt = Hunt(preys()[name], word, 0)
        row = np.array([[float.fromhex(w) for w in entry["words"]]])
        error = float(hunt.measure(row)[0])
        assert error == pytest.approx(entry["error"], rel=1e-6)
        assert error <= limit(name) * (1 + 1e-6)


def test_what_is_measured_is_what_was_found() -> None:
    """Numbers beside bounds: the largest recorded error of either word, rounded up to a tenth."""
    found: dict[str, float] = {}
    for key, entry in json.loads(FOUND.read_text()).items():
        name = re.split("[ /]", key)[0]
        found[name] = max(found.get(name, 0), entry["error"])
    checked = set()
    for name, error in found.items():
        text = networks.get(name).bound
        told = re.search(r"([\d.]+)u\^\d(?: T)? \(measured\)", text)
        if told and "proved" in text:
            checked.add(name)
            assert float(told[1]) == math.ceil(error * 10 - 1e-3) / 10, (name, error)
    assert {"mul2", "mul3", "mul4", "accumulate3", "accumulate4"} <= checked


@slow("seconds of search; each day another part of them")
@pytest.mark.parametrize("word", ["float32", "float64"])
@pytest.mark.parametrize("name", list(preys()))
def test_hunts_find_nothing_above_the_bounds(name: str, word: str) -> None:
    """From other starts than those of the recorded findings."""
    seed = 1000 + definition.VERSION
    error, words = Hunt(preys()[name], word, seed).run(seconds=8)
    assert error <= limit(name) * (1 + 1e-6), words
