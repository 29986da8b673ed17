"""Stated bounds, tried as an auditor would: operations at any scale, sums of any shape."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from gmpy2 import mpq
from hunting import FOUND, PRECISION, Hunt, Prey
from operands import rationals
from slow import slow

import portmp as mp
from portmp import definition, formats
from portmp.arrays.array import Array
from portmp.formats import Format, inputs

HOST = "host:0"
SEVERAL = ["ds", "ts", "qs", "dd", "td", "qd"]
OPERATIONS = {
    "add": {2: 6, 3: 16, 4: 16},
    "mul": {2: 7, 3: 23, 4: 50},
    "div": {2: mpq(15001, 1000), 3: mpq(101, 100), 4: mpq(102, 100)},
    "sqrt": {2: mpq(25, 8), 3: mpq(101, 100), 4: mpq(101, 100)},
}
"""docs/bits.md: units of u^N of the result."""
SUMS: dict[tuple[int, str], tuple[mpq, mpq]] = {
    (1, "accurate"): (mpq(1001, 1000), mpq(0)),
    (2, "accurate"): (mpq(1001, 1000), mpq(9001, 1000)),
    (3, "accurate"): (mpq(0), mpq(24)),
    (4, "accurate"): (mpq(0), mpq(83)),
    (2, "fast"): (mpq(11001, 1000), mpq(29001, 1000)),
    (3, "fast"): (mpq(71), mpq(212)),
    (4, "fast"): (mpq(383), mpq(1517)),
}
"""The same of sums of products: of the running sums' magnitudes, and of T."""
ADD = {1: 1, 2: 6, 3: 16, 4: 16}
RANGE = {"float32": (-149, -126, 127), "float64": (-1074, -1022, 1023)}
"""Exponents of the smallest subnormal, the smallest normal and the largest numbers."""


def values(x: Array) -> list[mpq]:
    """Exact values of a vector."""
    return list(rationals(x.to_limbs()))


def hostile(f: Format, count: int, seed: int, low: int, high: int) -> Array:
    """Weakly normalised numbers with leading exponents from *low* up to *high*: ties, few bits."""
    hunt = Hunt(Prey(f"mul{f.limbs}", (f.limbs, f.limbs), lambda v, r, s: 0.0), f.word, seed)
    rows = np.concatenate([hunt._changed(hunt._starts(40)) for _ in range(-(-count // 960))])[
        :count
    ]
    generator = np.random.default_rng(seed)
    power = generator.integers(low, high, count) * 1.0
    planes = []
    with np.errstate(under="ignore", over="ignore"):
        for i in range(f.limbs):
            half = np.ldexp(rows[:, i], (power // 2).astype(int))
            planes.append(np.ldexp(half, (power - power // 2).astype(int)).astype(f.word))
    sign = generator.choice([-1, 1], count).astype(f.word)
    return mp.from_limbs([sign * plane for plane in planes], f, HOST)


def scales(word: str, op: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Ranges of exponents of both operands, up to both ends of what the word holds."""
    smallest, low, top = RANGE[word]
    ends = (
        (smallest, smallest + 40),
        (low, low + 60),
        (-3, 4),
        (top // 2 - 30, top // 2),
        (top - 40, top),
    )
    for x in ends:
        for y in ends if op != "sqrt" else ((0, 1),):
            yield x, y


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("form", SEVERAL)
def test_operations_keep_their_bounds_at_any_scale(form: str, op: str) -> None:
    """Wherever results are finite; below the normal range by the smallest numbers besides."""
    f = formats.get(form)
    for seed, (of_x, of_y) in enumerate(scales(f.word, op)):
        check_operation(f, op, hostile(f, 60, 2 * seed, *of_x), hostile(f, 60, 2 * seed + 1, *of_y))


@slow("other operands each day")
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("form", SEVERAL)
def test_more_operations_keep_their_bounds(form: str, op: str) -> None:
    """Some ten thousand of each."""
    f = formats.get(form)
    for seed, (of_x, of_y) in enumerate(scales(f.word, op)):
        check_operation(
            f, op, hostile(f, 900, 500 + 2 * seed, *of_x), hostile(f, 900, 501 + 2 * seed, *of_y)
        )


def check_operation(f: Format, op: str, x: Array, y: Array) -> None:
    """One operation on vectors: errors, and weakly normalised results."""
    if op == "sqrt":
        x = abs(x)
    calls: dict[str, Callable[[], Array]] = {
        "add": lambda: x + y,
        "mul": lambda: x * y,
        "div": lambda: x / y,
        "sqrt": lambda: mp.sqrt(x),
    }
    limbs = calls[op]().to_limbs()
    smallest, _, top = RANGE[f.word]
    unit, relative = mpq(2) ** smallest, mpq(f.unit_roundoff) * OPERATIONS[op][f.limbs]
    parts = {2: 3, 3: 6, 4: 10}[f.limbs]
    lost = {"add": 0, "mul": unit * parts / 2, "div": f.limbs * unit, "sqrt": f.limbs * unit}[op]
    known = np.isfinite(limbs[0])
    for i, (a, b) in enumerate(zip(values(x), values(y), strict=True)):
        if not known[i] or (op == "div" and not b):
            continue
        found = sum((mpq(float(limb[i])) for limb in limbs), mpq(0))
        if op == "sqrt":
            exact = (found * found + a) / (2 * found) if found else mpq(0)
        else:
            exact = {"add": a + b, "mul": a * b, "div": a / b if b else a}[op]
        if abs(exact) >= mpq(2) ** (top - PRECISION[f.word]):
            continue  # lower limbs may be lost: docs/bits.md
        assert abs(found - exact) <= relative * abs(exact) + lost, (i, a, b)
        for above, below in pairwise(float(limb[i]) for limb in limbs):
            assert abs(below) <= np.spacing(np.dtype(f.word).type(abs(above))) / 2


# --- sums of products ----------------------------------------------------------------------


def worst(form: str) -> tuple[Array, Array]:
    """The operands whose product an accurate sum is known to lose most of."""
    f = formats.get(form)
    found = json.loads(FOUND.read_text())[f"accumulate{f.limbs} x 1/{f.word}"]["words"]
    words = [np.array([float.fromhex(w)], f.word) for w in found]
    x, y = (mp.from_limbs(words[i : i + f.limbs], f, HOST) for i in (0, f.limbs))
    return x, y


def repeated(x: Array, count: int) -> Array:
    """One number many times."""
    return mp.broadcast_to(x, (count,)).copy()


def equal(form: str, count: int) -> tuple[Array, Array]:
    """The worst product many times."""
    x, y = worst(form)
    return repeated(x, count), repeated(y, count)


def alternating(x: Array) -> Array:
    """Every other one with its sign changed."""
    signs = mp.array([(-1) ** i for i in range(x.size)], x.format, HOST)
    return x * signs


Pair = tuple[Array, Array]
SHAPES: dict[str, Callable[[str], Pair]] = {
    "one": worst,
    "4 equal": lambda f: equal(f, 4),
    "33 equal": lambda f: equal(f, 33),
    "1024 equal": lambda f: equal(f, 1024),
    "2049 equal": lambda f: equal(f, 2049),
    "alternating": lambda f: (alternating(repeated(worst(f)[0], 99)), repeated(worst(f)[1], 99)),
    "hostile": lambda f: random(f, 200, 1),
    "hostile, one sign": lambda f: (abs(random(f, 200, 2)[0]), abs(random(f, 200, 2)[1])),
    "hostile, backwards": lambda f: (random(f, 200, 3)[0][::-1], random(f, 200, 3)[1][::-1]),
    "hostile, every other": lambda f: (random(f, 400, 4)[0][::2], random(f, 400, 4)[1][::-2]),
    "cancelling": lambda f: cancelling(f, 100),
    "small": lambda f: scaled(f, -20, -20),
    "large": lambda f: scaled(f, 30, 25),
    "zeros between": lambda f: between(f, 0.0),
    "negative zeros between": lambda f: between(f, -0.0),
    "growing": lambda f: (random(f, 40, 7)[0] * powers(f, 1), random(f, 40, 8)[1]),
    "shrinking": lambda f: (random(f, 40, 7)[0] * powers(f, -1), random(f, 40, 8)[1]),
}


def random(form: str, count: int, seed: int) -> Pair:
    """Hostile numbers of size one."""
    f = formats.get(form)
    return hostile(f, count, 40 + seed, -2, 3), hostile(f, count, 80 + seed, -2, 3)


def cancelling(form: str, half: int) -> Pair:
    """Pairs whose products cancel, and one that does not."""
    x, y = random(form, half, 5)
    left, right = mp.concat([x, -x[::-1], x[:1]]), mp.concat([y, y[::-1], y[:1]])
    return left, right


def scaled(form: str, of_x: int, of_y: int) -> Pair:
    """By powers of two."""
    x, y = random(form, 70, 6)
    return x * 2.0**of_x, y * 2.0**of_y


def between(form: str, zero: float) -> Pair:
    """Zeros between numbers."""
    x, y = random(form, 90, 9)
    mask = mp.array([float(i % 3 > 0) for i in range(90)], form, HOST)
    return x * mask + zero, y


def powers(form: str, sign: int) -> Array:
    """Powers of two."""
    return mp.array([2.0 ** (sign * i) for i in range(40)], form, HOST)


def stated(f: Format, accuracy: str, slabs: list[list[mpq]]) -> tuple[mpq, mpq]:
    """What sums of parts, each in its order, lose at most, and T; additions of parts besides."""
    of_sums, of_terms = SUMS[f.limbs, accuracy]
    u, running, total = mpq(f.unit_roundoff), mpq(0), mpq(0)
    for terms in slabs:
        partial = mpq(0)
        for term in terms:
            partial += term
            running += abs(partial)
            total += abs(term)
    return u * (of_sums * running + (of_terms + 2) * total), total


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", SEVERAL)
def test_sums_keep_what_is_stated(form: str, shape: str) -> None:
    """GEMM by slabs and DOT by lanes, accurate and fast."""
    f = formats.get(form)
    x, y = SHAPES[shape](form)
    check_sums(f, x, y)


@pytest.mark.parametrize("form", ["float32", "float64", "ts", "dd"])
def test_long_sums_keep_what_is_stated(form: str) -> None:
    """A hundred thousand equal products, and as many that differ."""
    f = formats.get(form)
    if f.limbs > 1:
        x, y = (repeated(v, 100_000) for v in worst(form))
        check_sums(f, x, y, ("accurate",))
    a, b = (mp.from_limbs(inputs.ordinary(f, (20_000,), s), f, HOST) for s in "ab")
    check_sums(f, a, b, ("accurate",))


def check_sums(
    f: Format, x: Array, y: Array, accuracies: tuple[str, ...] = ("accurate", "fast")
) -> None:
    """The bounds of docs/bits.md and of the docstrings, element by element."""
    products = [a * b for a, b in zip(values(x), values(y), strict=True)]
    exact, slab, chunk = sum(products, mpq(0)), definition.SLAB, definition.CHUNK
    u = mpq(f.unit_roundoff)
    slabs = [products[i : i + slab] for i in range(0, len(products), slab)]
    lanes = [
        products[i : i + chunk][lane :: definition.LANES]
        for i in range(0, len(products), chunk)
        for lane in range(definition.LANES)
    ]
    chunks = -(-len(products) // chunk)
    levels = definition.LANES.bit_length() - 1 + (chunks - 1).bit_length()
    tiny = mpq(2) ** RANGE[f.word][0] * 20 * len(products)
    for accuracy in accuracies:
        lost, total = stated(f, accuracy, slabs)
        more = (len(slabs) - 1) * ADD[f.limbs] * u * total * mpq(1001, 1000)
        product = mp.gemm(x[None, :], y[:, None], accuracy=accuracy)[0, 0]
        assert abs(mpq(product) - exact) <= lost + more + tiny
        turned = mp.gemm(y[:, None], x[:, None], trans_a=True, accuracy=accuracy)[0, 0]
        assert abs(mpq(turned) - exact) <= lost + more + tiny
        lost, total = stated(f, accuracy, lanes)
        more = levels * ADD[f.limbs] * u * total * mpq(1001, 1000)
        assert abs(mpq(mp.dot(x, y, accuracy=accuracy)) - exact) <= lost + more + tiny


@pytest.mark.parametrize("form", formats.STORED)
def test_sums_in_storage_formats_keep_what_is_stated(form: str) -> None:
    """Computed as their parents' and rounded once more; a truncated one by twice as much."""
    f = formats.get(form)
    parent = f.arithmetic
    a, b = (mp.from_limbs(inputs.ordinary(f, (70,), s), f, HOST) for s in "ab")
    products = [p * q for p, q in zip(values(a), values(b), strict=True)]
    lost, total = stated(parent, "accurate", [products])
    exact = sum(products, mpq(0))
    levels = definition.LANES.bit_length() - 1
    more = levels * ADD[f.limbs] * mpq(parent.unit_roundoff) * total
    lost += more + 2 * mpq(2) ** -f.bits * (abs(exact) + lost + more)
    lost += mpq(2) ** min(one.smallest for one in f.encodings if one.parts)
    assert abs(mpq(mp.dot(a, b)) - exact) <= lost
    assert abs(mpq(mp.gemm(a[None, :], b[:, None])[0, 0]) - exact) <= lost


def test_what_an_audit_found_is_below_the_bounds() -> None:
    """Operands of an independent audit of the first definition, each above what was stated then."""
    words = [
        ["0x1.000216p+1", "0x1.fff932p-24", "0x1.ffffd4p-49"],
        ["0x1.000452p+0", "0x1.7fda76p-25", "0x1.ffffbcp-50"],
    ]
    ts = formats.get("ts")
    pair = [
        mp.from_limbs([np.array([float.fromhex(w)], np.float32) for w in one], ts, HOST)
        for one in words
    ]
    for form, rest in (("ts", []), ("qs", [np.zeros(1, np.float32)])):
        x, y = (mp.from_limbs([*v.to_limbs(), *rest], form, HOST) for v in pair)
        for count in (1, 4, 1024):
            check_sums(formats.get(form), repeated(x, count), repeated(y, count))
    words = [
        ["0x1.00000cp+1", "0x1p-23", "0x1.fffffep-48"],
        ["0x1.000002p+1", "0x1.ffffeap-24", "0x1.fffffep-49"],
    ]
    x, y = (
        mp.from_limbs([np.array([float.fromhex(w)], np.float32) for w in one], ts, HOST)
        for one in words
    )
    check_operation(ts, "mul", x, y)
    words = [["0x1.6b2c26p+1", "0x1.ff7p-24", "0x1.7ffd8p-50", "0x1.ff7ef4p-76"]]
    qs = formats.get("qs")
    (x,) = (
        mp.from_limbs([np.array([float.fromhex(w)], np.float32) for w in one], qs, HOST)
        for one in words
    )
    check_operation(qs, "sqrt", x, x)


@pytest.mark.parametrize("form", SEVERAL)
def test_quotients_of_the_largest_number_keep_their_lower_limbs(form: str) -> None:
    """Divisors just below the range where quotients were once scaled."""
    f = formats.get(form)
    most = np.finfo(f.word).max
    generator = np.random.default_rng(6)
    y = ((1 + generator.random(300)) * 2.0 ** (900 if f.word == "float64" else 110)).astype(f.word)
    rest = [np.zeros(300, f.word)] * (f.limbs - 1)
    x = mp.from_limbs([np.full(300, most, f.word), *rest], f, HOST)
    check_operation(f, "div", x, mp.from_limbs([y, *rest], f, HOST))


@pytest.mark.parametrize("form", SEVERAL)
def test_results_of_sums_are_kept_by_from_limbs(form: str) -> None:
    """They are weakly normalised, also where they cancel."""
    f = formats.get(form)
    a, b = inputs.cancelling(f, (40, 40), "kept a"), inputs.positive(f, (40, 40), "kept b")
    for accuracy in ("accurate", "fast"):
        c = mp.gemm(mp.from_limbs(a, f, HOST), mp.from_limbs(b, f, HOST), accuracy=accuracy)
        for p, q in zip(c.to_limbs(), mp.from_limbs(c.to_limbs(), f, HOST).to_limbs(), strict=True):
            assert np.array_equal(p, q)
