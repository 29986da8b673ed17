"""Random numbers: the stream, full width, any split, state, errors; the same bits on devices."""

from __future__ import annotations

import copy
import math
import pickle
import random
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow import TURNS, by_turns, slow

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.errors import ArgumentError, FormatError, OutOfMemory, ShapeError
from portmp.networks import functions, ieee
from portmp.random.philox import LENGTH
from portmp.routines.random import reference
from portmp.routines.random.layout import Stream, draw
from portmp.routines.reference import Arithmetic
from portmp.verify import cases, command

ALL = (*formats.STANDARD, *formats.STORED)

# --- the stream ---------------------------------------------------------

VECTORS = [
    # of Random123's file of known answers: counter, key, words
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), VECTORS)
def test_known_answers(
    counter: tuple[int, ...], key: tuple[int, int], expected: tuple[int, ...]
) -> None:
    """Of the reference and of the device."""
    found = reference.philox([np.array([word], np.uint64) for word in counter], key)
    assert tuple(int(word[0]) for word in found) == expected
    stream = mp.random.Philox(0)
    place = 4 * (counter[0] | counter[1] << 32)
    stream.state = stream.state | {"key": key, "upper": counter[2:], "position": place}
    assert tuple(stream.random_raw(4).to_numpy().tolist()) == expected


def test_words_follow_each_other(device: Device) -> None:
    """From any place, across the end of the counter's lower half too."""
    stream = Stream((5, 6), (7, 8))
    whole = reference.words(stream, 0, 40)
    for first in range(9):
        assert (reference.words(stream, first, 20) == whole[first : first + 20]).all()
    a, b = mp.random.Philox(3), mp.random.Philox(3)
    parts = [a.random_raw(n, device).to_numpy() for n in (1, 2, 3, 5, 10)]
    assert (np.concatenate(parts) == b.random_raw(21, device).to_numpy()).all()


# --- uniform values ---------------------------------------------------------


def values(form: str, kind: str, count: int, first: int = 0) -> Any:
    """Limbs of the reference's values."""
    return reference.values(draw(kind, form), Stream((1, 2), (3, 4)), first, count)


def exact(limbs: list[np.ndarray[Any, Any]], i: int) -> Fraction:
    """The value of element *i*."""
    return sum((Fraction(float(limb[i])) for limb in limbs), Fraction(0))


@pytest.mark.parametrize("form", ALL)
def test_uniform_values_are_the_streams_bits(form: str) -> None:
    """Each is the integer of its words' leading bits over 2^b, in normalised limbs."""
    f, one = formats.get(form), draw("uniform", form)
    found = values(form, "uniform", 50)
    words = reference.words(Stream((1, 2), (3, 4)), 0, 50 * one.words).reshape(50, one.words)
    size = 32 * one.per_limb
    for i, row in enumerate(words.tolist()):
        number = 0
        for limb, bits in enumerate(one.bits[0]):
            parts = row[limb * one.per_limb : (limb + 1) * one.per_limb]
            digits = sum(word << 32 * k for k, word in enumerate(parts))
            number = number << bits | digits >> size - bits
        assert exact(found, i) == Fraction(number, 1 << f.bits)
    for upper, lower in pairwise(found):
        assert (abs(lower.astype(float)) <= np.spacing(abs(upper)).astype(float) / 2).all()


@pytest.mark.parametrize("form", ["ds", "ts", "qs", "dd", "td", "qd"])
def test_digits_of_any_kind(form: str) -> None:
    """Zeros, ones, halves: sums of digits are exact and normalised, and below 1."""
    f = formats.get(form)
    p = formats.get(f.word).bits
    draw_from = random.Random(form)
    top = (1 << p) - 1
    kinds = [0, 1, top, top - 1, 1 << p - 1, (1 << p - 1) - 1, (1 << p - 1) + 1]
    rows = [
        [draw_from.choice([*kinds, draw_from.getrandbits(p)]) for _ in range(f.limbs)]
        for _ in range(4000)
    ]
    given = [
        np.array([math.ldexp(row[i], -p * (i + 1)) for row in rows], f.word) for i in range(f.limbs)
    ]
    net = functions.function("uniform", f.word, f.limbs)
    found = Arithmetic(f).run(net, tuple(given))
    for i in range(len(rows)):
        assert exact(list(found), i) == exact(given, i) < 1
    for upper, lower in pairwise(found):
        assert (abs(lower) <= np.spacing(abs(upper)) / 2).all()


@pytest.mark.parametrize("form", ["float32", "float64", "ds", "dd", "qd", "d+s", "float16"])
@pytest.mark.parametrize("kind", ["random", "standard_normal"])
def test_any_split_gives_the_same(device: Device, form: str, kind: str) -> None:
    """Element i depends on its place alone."""
    whole = getattr(mp.random.default_rng(9), kind)((3, 14), form, device).to_parts()
    rng = mp.random.default_rng(9)
    parts = [getattr(rng, kind)(n, form, device).to_parts() for n in (1, 5, 0, 2, 11, 23)]
    for plane, pieces in zip(whole, zip(*parts, strict=True), strict=True):
        assert (plane.ravel() == np.concatenate(pieces)).all()


def test_draws_of_other_kinds_between(device: Device) -> None:
    """A draw starts where an element may: the next multiple of its words."""
    rng = mp.random.default_rng(4)
    rng.random(3, "float32", device)
    rng.random(1, "qd", device)
    assert rng.bit_generator.state["position"] == 16
    expected = reference.values(draw("uniform", "qd"), rng.bit_generator.reserve(0, 1)[0], 8, 1)
    other = mp.random.default_rng(4)
    other.bit_generator.advance(1)
    found = other.random(1, "qd", device).to_limbs()
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))


# --- distributions: seeds are fixed, so these are facts -------------------------------------------


def test_uniform_moments_and_bits() -> None:
    """Of 2^16 values: mean, variance, each bit of the limbs, neighbours without correlation."""
    n = 1 << 16
    high, low = values("dd", "uniform", n)
    assert ((high >= 0) & (high <= 1)).all()
    assert abs(high.mean() - 1 / 2) < 5 * math.sqrt(1 / 12 / n)
    assert abs(high.var() - 1 / 12) < 5 * math.sqrt(1 / 180 / n)
    # the low limb in units of the high one's last place: uniform, too
    shares = low / np.spacing(high)
    assert abs(shares.mean()) < 5 * math.sqrt(1 / 12 / n)
    assert abs(shares.var() - 1 / 12) < 0.01
    ranks = np.histogram(high, 256, (0, 1))[0]
    assert ((ranks - n / 256) ** 2 / (n / 256)).sum() < 255 + 5 * math.sqrt(2 * 255)
    centred = high - 1 / 2
    for distance in (1, 2, 3, 32):
        product = (centred[distance:] * centred[:-distance]).mean()
        assert abs(product) < 5 / 12 / math.sqrt(n)


@pytest.mark.parametrize("form", ["float32", "float64", "dd", "ts"])
def test_normal_moments(form: str) -> None:
    """The first four, and the empirical distribution function."""
    n = 1 << 14
    z = sum(limb.astype(np.float64) for limb in values(form, "normal", n))
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - moment) < 5 * math.sqrt(variance / n)
    cumulated = np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in np.sort(z)])
    assert abs(cumulated - (np.arange(n) + 0.5) / n).max() < 1.95 / math.sqrt(n)


@pytest.mark.parametrize("form", ["float32", "float64", "ds", "ts", "qs", "dd", "td", "qd"])
def test_normal_values_are_exact(form: str) -> None:
    """Beside MPFR: a few u^N, where the cosine is not small."""
    import gmpy2

    f, one = formats.get(form), draw("normal", form)
    stream, n = Stream((1, 2), (3, 4)), 200
    rows = reference.words(stream, 0, n * one.words).reshape(n, one.words)
    found = values(form, "normal", n)
    size = 32 * one.per_limb
    with gmpy2.context(precision=700):
        for i, row in enumerate(rows.tolist()):
            numbers, at = [], 0
            for limbs in one.bits:
                number = 0
                for bits in limbs:
                    digits = sum(row[at + k] << 32 * k for k in range(one.per_limb))
                    number, at = number << bits | digits >> size - bits, at + one.per_limb
                numbers.append(gmpy2.mpfr(number) / (1 << sum(limbs)))
            u = 1 - numbers[0]
            if f.limbs == 1:
                u = gmpy2.mpfr(float(np.dtype(f.word).type(float(u))))
            cosine = gmpy2.cos(2 * gmpy2.const_pi() * numbers[1])
            expected = gmpy2.sqrt(-2 * gmpy2.log(u)) * cosine
            value = sum(gmpy2.mpfr(float(limb[i])) for limb in found)
            if abs(cosine) > 1e-3:
                assert abs(value - expected) <= 6 * abs(expected) * 2.0**-f.bits


def test_the_ends_of_the_normal_distribution() -> None:
    """x = 0 gives zero, not NaN; the largest x a finite number far out."""
    for form, far in (("float32", 8), ("float64", 12), ("dd", 12), ("qs", 11)):
        f = formats.get(form)
        net = functions.function("normal", f.word, f.limbs)
        p, n = formats.get(f.word).bits, max(f.limbs, 2)
        zero = tuple(np.zeros(1, f.word) for _ in range(n))
        last = (np.ones(1, f.word), *(np.zeros(1, f.word) for _ in range(n - 2)))
        last += (np.full(1, -(2.0 ** (-p * n)), f.word),)
        y = tuple(np.zeros(1, f.word) for _ in range(f.limbs))
        almost = tuple(np.full(1, 1 - 2.0**-p if i == 0 else 0, f.word) for i in range(f.limbs))
        ar = Arithmetic(f)
        with ieee.quiet():
            assert all(limb[0] == 0 for limb in ar.run(net, zero, y))
            assert far < ar.run(net, last, y)[0][0] < far + 3
            assert math.isfinite(ar.run(net, last, almost)[0][0])


# --- parameters ---------------------------------------------------------


def test_uniform_between_bounds(device: Device) -> None:
    """low + (high - low) x by the format's fma; arrays as bounds broadcast."""
    x = mp.random.default_rng(1).random((2, 3), "dd", device)
    found = mp.random.default_rng(1).uniform("-1.5", 2, (2, 3), "dd", device)
    expected = mp.fma(x, mp.array("3.5", "dd", device), mp.array("-1.5", "dd", device))
    assert (found == expected).all()
    low = mp.array([["1"], ["2"]], "dd", device)
    found = mp.random.default_rng(1).uniform(low, low + [1, 2, 3][0], (2, 3))
    assert ((found >= low) & (found <= low + 1)).all()
    out = mp.zeros((3, 2), "dd", device)
    assert mp.random.default_rng(1).uniform("-1.5", 2, out=out[:, :].T) is not None
    assert (expected == out.T).all()


def test_normal_with_mean_and_deviation(device: Device) -> None:
    """loc + scale z by the format's fma; a storage format's as its own z."""
    z = mp.random.default_rng(1).standard_normal(5, "qd", device)
    found = mp.random.default_rng(1).normal("0.1", 3, 5, "qd", device)
    assert (found == mp.fma(z, mp.array(3, "qd", device), mp.array("0.1", "qd", device))).all()
    assert mp.random.default_rng(1).normal(loc=z).shape == (5,)
    with pytest.raises(ArgumentError, match="scale: -1 given"):
        mp.random.default_rng(1).normal(0, -1)


def test_output_and_shapes(device: Device) -> None:
    """One number, no numbers, views that are filled in C order."""
    rng = mp.random.default_rng(2)
    assert rng.random(format="ts", device=device).shape == ()
    assert rng.random((0, 3), device=device).size == 0
    assert rng.random(2, dtype=np.float64, device=device).format.name == "float64"
    with mp.default_format("qs"):
        assert rng.normal(size=2, device=device).format.name == "qs"
    out = mp.zeros((4, 6), "ds", device)
    rng = mp.random.default_rng(2)
    assert rng.random(out=out[1:3, ::2]).shape == (2, 3)
    expected = mp.random.default_rng(2).random((2, 3), "ds", device)
    assert (out[1:3, ::2] == expected).all()
    assert float(out[0].max()) == 0


# --- integers ---------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"])
def test_integers_are_scaled_words(device: Device, dtype: str) -> None:
    """low + floor(X (high - low) / 2^128), by Python's integers."""
    held = np.iinfo(dtype)
    low_values = [int(held.min), 0, 3]
    for low in low_values:
        for high in (low + 1, low + 100, int(held.max), int(held.max) + 1):
            rng = mp.random.default_rng([1, 2])
            found = rng.integers(low, high, (3, 5), dtype, device).to_numpy().ravel().tolist()
            words = mp.random.Philox([1, 2]).random_raw(60).to_numpy().reshape(15, 4).tolist()
            for number, row in zip(found, words, strict=True):
                x = sum(word << 32 * k for k, word in enumerate(row))
                assert number == low + (x * (high - low) >> 128)


def test_integers_as_numpy_takes_them(device: Device) -> None:
    """One bound, the last one too; what is refused."""
    rng = mp.random.default_rng(5)
    found = rng.integers(6, size=600, device=device).to_numpy()
    assert set(found.tolist()) == set(range(6)) and found.dtype == np.int64
    assert set(rng.integers(1, 6, 600, endpoint=True).to_numpy().tolist()) == set(range(1, 7))
    for low, high, dtype, error in (
        (3, 3, "int64", "low, high: from 3 to 2 asked for"),
        (0, 257, "uint8", "uint8 holds 0 to 255"),
        (0.5, 2, "int64", "integers are needed"),
    ):
        with pytest.raises(ArgumentError, match=error):
            rng.integers(low, high, dtype=dtype)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="dtype: float64 given"):
        rng.integers(5, dtype="float64")


# --- seeds and states ---------------------------------------------------------


def test_seeds_are_numpys() -> None:
    """The key is SeedSequence's; equal seeds give equal numbers."""
    words = np.random.SeedSequence([7, 8]).generate_state(4).tolist()
    state = mp.random.default_rng([7, 8]).bit_generator.state
    assert [*state["key"], *state["upper"]] == words and state["position"] == 0
    same = mp.random.default_rng(np.random.SeedSequence([7, 8]))
    assert same.bit_generator.state == state
    assert mp.random.default_rng(same) is same
    assert (
        mp.random.default_rng().bit_generator.state != mp.random.default_rng().bit_generator.state
    )
    for bad in (-1, "x", 1.5, [1, -2]):
        with pytest.raises(ArgumentError, match="seed: "):
            mp.random.default_rng(bad)


def test_states_come_back() -> None:
    """Saved, set, pickled, copied; a wrong one is refused by name."""
    rng = mp.random.default_rng(3)
    rng.random(5)
    state = rng.bit_generator.state
    expected = rng.random(4, "qd").to_limbs()
    other = mp.random.default_rng(0)
    other.bit_generator.state = state
    again = [other, pickle.loads(pickle.dumps(mp.random.default_rng(3)))]
    again[1].random(5)
    again.append(copy.deepcopy(again[1]))
    for one in again:
        found = one.random(4, "qd").to_limbs()
        assert all((a == b).all() for a, b in zip(found, expected, strict=True))
    for change in (
        {"bit_generator": "PCG64"},
        {"position": -1},
        {"key": [1]},
        {"upper": [1, 2**32]},
    ):
        with pytest.raises(ArgumentError, match="state: "):
            other.bit_generator.state = state | change
    with pytest.raises(ArgumentError, match="state: "):
        other.bit_generator.state = 5  # type: ignore[assignment]


def test_children_and_jumps() -> None:
    """spawn is SeedSequence's; a jump goes 2^66 words on, to where no draw comes."""
    rng = mp.random.default_rng(11)
    children = rng.spawn(2)
    expected = [mp.random.Philox(s) for s in np.random.SeedSequence(11).spawn(2)]
    assert [c.bit_generator.state for c in children] == [p.state for p in expected]
    here = rng.bit_generator
    far, farther = here.jumped(), here.jumped(3)
    assert far.state["upper"] != here.state["upper"] and far.state["key"] == here.state["key"]
    assert far.jumped(2).state == farther.state
    assert here.advance(LENGTH).state == far.state
    far.advance(LENGTH - 3)
    assert far.reserve(2, 4)[1] == 0
    with pytest.raises(ArgumentError, match="words: -1 given"):
        here.advance(-1)


def test_refused(device: Device) -> None:
    """Shapes, formats, devices, memory."""
    rng = mp.random.default_rng(1)
    with pytest.raises(ShapeError, match="size: "):
        rng.random(-1)
    with pytest.raises(ArgumentError, match="size: integers are needed"):
        rng.random("x")  # type: ignore[arg-type]
    with pytest.raises(OutOfMemory, match="bytes asked for"):
        rng.random(2**50, "qd", device)
    with pytest.raises(FormatError, match="unknown format"):
        rng.random(3, "quad")
    out = mp.zeros(3, "dd", device)
    with pytest.raises(ShapeError, match="out: shape"):
        rng.random(4, out=out)
    with pytest.raises(FormatError, match="dtype: int32 given, a format is needed"):
        rng.random(3, dtype="int32")
    with pytest.raises(FormatError, match="format: qd given, out has dd"):
        rng.random(3, "qd", out=out)


# --- devices ---------------------------------------------------------


# --- orders and samples ---------------------------------------------------------------------------


def keys(seed: int, rows: int, n: int) -> np.ndarray[Any, Any]:
    """The integers of 64 bits whose order counts, of a generator's first draw."""
    stream = mp.random.default_rng(seed).bit_generator.reserve(1, 4)[0]
    (found,) = reference.integers(stream, 0, rows * n, 0, 1 << 64, "uint64")
    return found.reshape(rows, n)


def test_orders_are_those_of_integers(device: Device) -> None:
    """permutation, permuted and shuffle: the definition, along any axis, in place in a view."""
    exact = np.arange(60.0).reshape(5, 12)
    x = mp.array(exact, "td", device)
    (order,) = np.argsort(keys(11, 1, 12), axis=1, kind="stable")
    draw = mp.random.default_rng
    assert draw(11).permutation(12, device=device).tolist() == order.tolist()
    assert draw(11).permutation(x, axis=1).to_float64().tolist() == exact[:, order].tolist()
    each = np.argsort(keys(11, 5, 12), axis=1, kind="stable")
    rows = draw(11).permuted(x, axis=1)
    assert rows.to_float64().tolist() == np.take_along_axis(exact, each, axis=1).tolist()
    (flat,) = np.argsort(keys(11, 1, 60), axis=1, kind="stable")
    whole = draw(11).permuted(x, out=mp.zeros((5, 12), "td", device))
    assert whole.to_float64().tolist() == exact.ravel()[flat].reshape(5, 12).tolist()
    draw(11).shuffle(x[:, ::-1].T)  # columns from the last on
    assert x.to_float64().tolist() == exact[:, ::-1][:, order][:, ::-1].tolist()
    flags = mp.plain_array(np.arange(12) < 3, None, device)
    draw(11).shuffle(flags)
    assert flags.tolist() == (np.arange(12) < 3)[order].tolist()


def test_all_orders_are_as_likely() -> None:
    """Of 12,000 orders of three things each of the six comes 2000 times, within five sigma."""
    rows = mp.plain_array(np.tile(np.arange(3), (12000, 1)))
    found = mp.random.default_rng(3).permuted(rows, axis=1).to_numpy()
    counts = np.unique(found, axis=0, return_counts=True)[1]
    assert counts.size == 6 and abs(counts - 2000).max() < 5 * math.sqrt(2000 * 5 / 6)


def test_choice(device: Device) -> None:
    """With and without replacement, with probabilities, from integers and along axes."""
    draw = mp.random.default_rng
    even = draw(5).choice(7, (2, 3), device=device)
    assert even.tolist() == draw(5).integers(0, 7, (2, 3), device=device).tolist()
    (order,) = np.argsort(keys(5, 1, 9), axis=1, kind="stable")
    assert draw(5).choice(9, 4, replace=False, device=device).tolist() == order[:4].tolist()
    table = mp.array(np.arange(12.0).reshape(3, 4), "dd", device)
    columns = draw(5).choice(table, 4, replace=False, axis=1).to_float64()
    assert sorted(columns[0].tolist()) == [0, 1, 2, 3]
    assert (columns - columns[0] == [[0], [4], [8]]).all()
    assert draw(5).choice(["0.1"], device=device).shape == ()

    p = mp.array(["0.1", "0", "0.6", "0.3"], "dd", device)
    found = draw(5).choice(4, 10000, p=p).to_numpy()
    uniform = draw(5).random(10000, "dd").to_fractions()
    ends = np.cumsum([Fraction(1, 10), 0, Fraction(6, 10)])
    wanted = [sum(u >= end for end in ends) for u in uniform]
    assert found.tolist() == wanted
    rows = [draw(seed).choice(4, 3, replace=False, p=p).tolist() for seed in range(300)]
    assert all(sorted(row) == [0, 2, 3] for row in rows)
    first = [row[0] for row in rows].count(2)
    assert abs(first - 180) < 5 * math.sqrt(300 * 0.6 * 0.4)


@pytest.mark.parametrize(
    ("draw", "error", "words"),
    [
        (lambda r: r.choice(0), ArgumentError, "nothing to choose"),
        (lambda r: r.choice(3, 4, replace=False), ArgumentError, "there are 3"),
        (lambda r: r.choice(3, 3, False, [0.5, 0.5, 0]), ArgumentError, "there are 2"),
        (lambda r: r.choice(3, p=[1, 0]), ShapeError, "there are 3"),
        (lambda r: r.choice(2, p=[0.5, 0.6]), ArgumentError, "sum"),
        (lambda r: r.choice(2, p=[-0.5, 1.5]), ArgumentError, "0 or more"),
        (lambda r: r.choice(2.5), ArgumentError, "integer"),
        (lambda r: r.permutation(-1), ArgumentError, "integer from 0"),
        (lambda r: r.permutation(mp.array("1")), ShapeError, "one axis"),
        (lambda r: r.permuted(3), ArgumentError, "array"),
        (lambda r: r.shuffle((1, 2)), ArgumentError, "array or a list"),
    ],
)
def test_samples_refused(draw: Any, error: type[Exception], words: str) -> None:
    """What cannot be drawn is said by its argument's name."""
    with pytest.raises(error, match=words):
        draw(mp.random.default_rng(1))


def _cases(form: str) -> list[Any]:
    return [case for case in cases.cases(form) if case.routine.startswith("random")]


@slow(TURNS, unless=by_turns("form", ("float32", "dd", "d+s")))
@pytest.mark.parametrize("form", ["float32", "dd", "d+s"])
def test_the_same_bits_anywhere(anywhere: Device, form: str) -> None:
    """Recorded digests: values, integers, words."""
    outcomes = command.run(anywhere, _cases(form))
    assert outcomes and all(outcome.ok for outcome in outcomes)


@slow("other formats have the same gates")
@pytest.mark.parametrize("form", ["float64", "ds", "ts", "qs", "td", "qd", "float16", "qdin192b"])
def test_more_formats_anywhere(anywhere: Device, form: str) -> None:
    """Recorded digests of the others."""
    outcomes = command.run(anywhere, _cases(form))
    assert outcomes and all(outcome.ok for outcome in outcomes)


def test_examples_of_the_page() -> None:
    """Blocks of docs/random.md run in order, in one process."""
    page = Path(__file__).resolve().parents[1] / "docs/random.md"
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(page), "exec"), names)
