"""Elementary functions: errors against MPFR, special values, the same bits on devices.

Bounds hold for the networks, which the host reference evaluates; digests hold devices to it.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr
from scripts import of_bench
from slow import TURNS, by_turns, mostly_slow, slow

import portmp as mp
from portmp import formats
from portmp.arrays.functions import FUNCTIONS
from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.networks import constants, ieee
from portmp.networks.functions import ARITY
from portmp.routines.elementwise.reference import elementwise
from portmp.verify import cases, command

function_errors = of_bench("function_errors")
Host = list[np.ndarray]
COUNT = 60
FAST = ("float64", "ts", "dd")
FORMATS = [name for name in formats.STANDARD if name != "d+s"]
PAIRS = [(name, form) for name in ARITY for form in FORMATS]
BOUND = 1.2
"""Units of u^N: what any function may err, where its operands' lower limbs do not underflow."""
LARGEST = {"float32": 127, "float64": 1023}
SMALLEST = {"float32": mpfr(2) ** -149, "float64": mpfr(2) ** -1074}


def _power(x: Any, y: Any) -> Any:
    return x**y if x >= 0 or gmpy2.is_integer(y) else mpfr("nan")


EXACT: dict[str, Callable[..., Any]] = {
    name: getattr(gmpy2, name) for name in ARITY if hasattr(gmpy2, name)
} | {"pow": _power, "round": gmpy2.rint, "lgamma": lambda x: gmpy2.lgamma(x)[0]}


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    """MPFR with enough bits for any operand, without under- or overflow."""
    with gmpy2.context(precision=1400, emax=1 << 30, emin=-(1 << 30)):
        yield


# --- operands ---------------------------------------------------------------------------


def expansions(form: Format, seed: str, low: int, high: int) -> Host:
    """Values with exponents from *low* to *high*."""
    return inputs.expansions(form, COUNT, inputs.Stream(f"functions {seed}"), low, high)


def near(form: Format, number: float, seed: str) -> Host:
    """Values that are *number* but for their lower limbs."""
    p = form.encodings[0].bits
    lower = expansions(form, seed, -3 * p, -p - 2)
    return [np.full(COUNT, number, form.word), *lower[:-1]]


def multiples(form: Format, seed: str) -> Host:
    """Multiples of pi/2, pi/64 and pi/7, as near as the format has them."""
    draw = random.Random(seed)
    rows = []
    for _ in range(COUNT):
        m = draw.getrandbits(draw.randint(1, 50 if form.word == "float32" else 600))
        angle = constants.fraction(constants.pi()) * m / draw.choice((1, 2, 64, 7))
        rows.append(constants.words_of(angle, form.word, form.limbs))
    return [np.array([row[i] for row in rows], form.word) for i in range(form.limbs)]


def operands(form: Format, name: str) -> dict[str, list[Host]]:
    """Operands of a function, by kind."""
    top = LARGEST[form.word]
    kinds = {
        "small": expansions(form, "s", -40, -1),
        "middle": expansions(form, "m", -3, 3),
        "large": expansions(form, "l", 2, 7 if form.word == "float32" else 10),
        "any": expansions(form, "a", 8 - top, top - 7),
    }
    if form.limbs > 1:
        kinds |= {f"near {x}": near(form, x, str(x)) for x in (1.0, -1.0, 2.0, 0.5)}
    if name in ("sin", "cos", "tan"):
        kinds["multiples of pi"] = multiples(form, name)
        kinds["nearest to multiples of pi"] = function_errors.nearest_multiples(form, COUNT)
    if ARITY[name] == 1:
        return {kind: [x] for kind, x in kinds.items()}
    wide = (-top // 8, top // 8)
    second = {kind: wide if kind == "any" and name != "pow" else (-3, 3) for kind in kinds}
    return {kind: [x, expansions(form, "y", *second[kind])] for kind, x in kinds.items()}


def exact(limbs: Host, i: int) -> Any:
    """The value of element *i*."""
    return sum((mpfr(float(limb[i])) for limb in limbs), mpfr(0))


def wrong(form: Format, result: Host, i: int, expected: Any) -> float:
    """The error of element *i* in units of u^N, beyond a few of the smallest numbers."""
    found = exact(result, i)
    if abs(expected) >= mpfr(2) ** (LARGEST[form.word] + 1):
        expected = mpfr("inf") * gmpy2.sign(expected)
    if not gmpy2.is_finite(expected) or not gmpy2.is_finite(found):
        same = found == expected or (gmpy2.is_nan(found) and gmpy2.is_nan(expected))
        return 0.0 if same else math.inf
    error = max(mpfr(0), abs(found - expected) - 8 * SMALLEST[form.word])
    if not expected:
        return math.inf if error else 0.0
    return float(error / abs(expected) * mpfr(2) ** form.bits)


def excused(form: Format, name: str, kind: str) -> bool:
    """Where a function is ill-conditioned and float32's range ends first: poles of the tangent."""
    near_poles = form.word == "float32" and name == "tan" and kind.endswith("multiples of pi")
    return near_poles and form.limbs > 2


# --- errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "form"),
    mostly_slow(PAIRS, [p for p in PAIRS if p[1] in FAST], "other numbers of limbs are alike"),
)
def test_errors(name: str, form: str) -> None:
    """No result is wrong by more than the bound; all are normalised."""
    f = formats.get(form)
    for kind, given in operands(f, name).items():
        result = elementwise(f, name, *given)
        for upper, lower in pairwise(result):
            held = np.isfinite(result[0])
            assert (np.abs(lower) <= np.spacing(np.abs(upper)) / 2)[held].all()
        if excused(f, name, kind):
            continue
        for i in range(COUNT):
            expected = EXACT[name](*(exact(x, i) for x in given))
            error = wrong(f, result, i, expected)
            shown = [[float(limb[i]) for limb in x] for x in given]
            assert error <= BOUND, f"{kind} {shown}: {[float(p[i]) for p in result]}"


HARD = {
    "exp": ("7.5417527749959590085206221e-10", "-0x1.ED318EFB627EAp-27", "-0x1.3475AC05CEAD7p-29"),
    "log": ("0x1.62A88613629B6p+678",),
    "log2": ("0x1.B4EBE40C95A01p+0",),
    "log10": ("0x1.E12D66744FF81p+429",),
    "sin": ("0x1.FE767739D0F6Dp-2",),
    "cos": ("0x1.34EC2F9FC9C00p+1", "0x1.06B505550E6B2p-9"),
    "tan": ("0x1.50486B2F87014p-5",),
    "asin": ("0x1.C373FF4AAD79Bp-14", "0x1.E9950730C4696p-2"),
    "acos": ("0x1.FD737BE914578p-11",),
    "atan": ("0x1.22E8D75E2BC7Fp-11",),
    "cbrt": ("0x1.9B78223AA307Cp+1",),
}
"""Operands of float64 whose results are nearest to the middle of two numbers, or to one."""


@pytest.mark.parametrize("name", HARD)
def test_hardest_to_round(name: str) -> None:
    """Known worst cases of correct rounding: right to the last bit or its neighbour's middle."""
    for text in HARD[name]:
        x = float.fromhex(text) if "0x" in text else float(text)
        expected = EXACT[name](mpfr(x))
        halves = abs(expected) * mpfr(2) ** (53 - gmpy2.floor(gmpy2.log2(abs(expected))))
        assert abs(halves - gmpy2.rint(halves)) < 2.0**-53, "an ordinary operand"
        for form in ("float64", "dd", "td", "qd"):
            f = formats.get(form)
            given = [np.array([x if i == 0 else 0.0]) for i in range(f.limbs)]
            found = elementwise(f, name, given)
            assert wrong(f, found, 0, expected) <= BOUND, (form, text)


def test_the_hardest_reduction_of_float64() -> None:
    """6381956970095103 2^797 is nearest to a multiple of pi/2 of all numbers of float64."""
    assert function_errors.nearest_to_quarter_turns(797, 53)[-1] == 6381956970095103
    f = formats.get("float64")
    found = elementwise(f, "cos", [np.array([6381956970095103 * 2.0**797])])
    assert wrong(f, found, 0, gmpy2.cos(mpfr(6381956970095103) * mpfr(2) ** 797)) <= BOUND
    assert abs(found[0][0]) < 2.0**-60


# --- special values (C99, Annex F) ----------------------------------------------------------

INF, NAN, PI = math.inf, math.nan, "pi"
ODD = {name: [(0.0, 0.0), (-0.0, -0.0)] for name in ("expm1", "log1p", "sin", "tan", "asin")}
ODD |= dict.fromkeys(("atan", "sinh", "tanh", "asinh", "atanh", "cbrt", "erf"), ODD["sin"])
LOGARITHM = [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (INF, INF), (-INF, NAN)]
SPECIAL: dict[str, list[tuple[Any, ...]]] = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (-INF, 0.0), (INF, INF), (1e4, INF), (-1e4, 0.0)],
    "expm1": [*ODD["expm1"], (-INF, -1.0), (INF, INF), (1e4, INF), (-1e4, -1.0)],
    "log": LOGARITHM,
    "log2": [*LOGARITHM, (8.0, 3.0), (2.0**-100, -100.0)],
    "log10": [*LOGARITHM, (1000.0, 3.0), (1e9, 9.0)],
    "log1p": [*ODD["log1p"], (-1.0, -INF), (-2.0, NAN), (INF, INF), (-INF, NAN)],
    "sin": [*ODD["sin"], (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan": [*ODD["tan"], (INF, NAN), (-INF, NAN)],
    "asin": [*ODD["asin"], (1.0, PI, 0.5), (-1.0, PI, -0.5), (2.0, NAN), (-INF, NAN)],
    "acos": [(1.0, 0.0), (0.0, PI, 0.5), (-1.0, PI, 1.0), (1.5, NAN), (INF, NAN)],
    "atan": [*ODD["atan"], (INF, PI, 0.5), (-INF, PI, -0.5), (1.0, PI, 0.25)],
    "sinh": [*ODD["sinh"], (INF, INF), (-INF, -INF), (-1e4, -INF)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (-1e4, INF)],
    "tanh": [*ODD["tanh"], (INF, 1.0), (-INF, -1.0), (1e4, 1.0)],
    "asinh": [*ODD["asinh"], (INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (-INF, NAN), (INF, INF)],
    "atanh": [*ODD["atanh"], (1.0, INF), (-1.0, -INF), (2.0, NAN), (-INF, NAN)],
    "cbrt": [*ODD["cbrt"], (INF, INF), (-INF, -INF), (-27.0, -3.0), (2.0**-60, 2.0**-20)],
    "erf": [*ODD["erf"], (INF, 1.0), (-INF, -1.0), (30.0, 1.0)],
    "erfc": [(0.0, 1.0), (-INF, 2.0), (INF, 0.0), (-30.0, 2.0), (50.0, 0.0)],
    "gamma": [
        *((0.0, INF), (-0.0, -INF), (-1.0, NAN), (-1e30, NAN), (-INF, NAN), (INF, INF)),
        *((1.0, 1.0), (2.0, 1.0), (5.0, 24.0), (10.0, 362880.0), (1e4, INF)),
    ],
    "lgamma": [
        *((0.0, INF), (-0.0, INF), (-3.0, INF), (-INF, INF), (INF, INF), (1.0, 0.0), (2.0, 0.0))
    ],
    "floor": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1.5, 1.0), (-0.5, -1.0)],
    "ceil": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1.5, 2.0), (-0.5, -0.0)],
    "trunc": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1.5, 1.0), (-0.5, -0.0)],
    "round": [
        *((0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1.5, 2.0), (-0.5, -0.0)),
        *((2.5, 2.0), (-3.5, -4.0), (0.75, 1.0)),
    ],
    "hypot": [(INF, NAN, INF), (NAN, -INF, INF), (0.0, -0.0, 0.0), (3.0, -4.0, 5.0)],
    "fmod": [
        *((0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (1.0, 0.0, NAN), (INF, 2.0, NAN), (5.0, INF, 5.0)),
        *((5.5, -2.0, 1.5), (-5.5, 2.0, -1.5), (-4.0, 2.0, -0.0), (1e30, 1.0, 0.0)),
    ],
    "atan2": [
        *((0.0, -0.0, PI, 1.0), (-0.0, -0.0, PI, -1.0), (0.0, 0.0, 0.0), (-0.0, 0.0, -0.0)),
        *((0.0, -1.0, PI, 1.0), (-0.0, -1.0, PI, -1.0), (0.0, 1.0, 0.0), (-0.0, 1.0, -0.0)),
        *((-1.0, -0.0, PI, -0.5), (-1.0, 0.0, PI, -0.5), (1.0, 0.0, PI, 0.5), (1.0, -0.0, PI, 0.5)),
        *((1.0, -INF, PI, 1.0), (-1.0, -INF, PI, -1.0), (1.0, INF, 0.0), (-1.0, INF, -0.0)),
        *((INF, 1.0, PI, 0.5), (-INF, 1.0, PI, -0.5), (INF, -INF, PI, 0.75)),
        *((-INF, -INF, PI, -0.75), (INF, INF, PI, 0.25), (-INF, INF, PI, -0.25)),
    ],
    "pow": [
        *((0.0, -3.0, INF), (-0.0, -3.0, -INF), (0.0, -2.0, INF), (-0.0, -2.0, INF)),
        *((0.0, -INF, INF), (-0.0, 3.0, -0.0), (0.0, 3.0, 0.0), (-0.0, 2.0, 0.0)),
        *((-0.0, 2.5, 0.0), (-0.0, -2.5, INF), (-1.0, INF, 1.0), (-1.0, -INF, 1.0)),
        *((1.0, NAN, 1.0), (1.0, INF, 1.0), (NAN, 0.0, 1.0), (INF, -0.0, 1.0), (0.0, 0.0, 1.0)),
        *((-2.0, 0.5, NAN), (-INF, 0.5, INF), (0.5, -INF, INF), (-2.0, -INF, 0.0)),
        *((0.5, INF, 0.0), (-2.0, INF, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0)),
        *((-INF, 3.0, -INF), (-INF, 2.0, INF), (INF, -1.0, 0.0), (INF, 1.0, INF)),
        *((3.0, 2.0, 9.0), (-3.0, 3.0, -27.0), (2.0, 0.5, "root", 2.0), (10.0, 9.0, 1e9)),
        *(
            (NAN, 1.0, NAN),
            (2.0, NAN, NAN),
            (2.0, 1e4, INF),
            (-2.0, 1e4 + 1, -INF),
            (2.0, -1e4, 0.0),
        ),
    ],
}


def expected_value(result: tuple[Any, ...]) -> Any:
    """A special result: a number, a multiple of pi, or a root."""
    match result:
        case ("pi", factor):
            return gmpy2.const_pi() * factor
        case ("root", number):
            return gmpy2.sqrt(mpfr(number))
    return mpfr(result[0])


@pytest.mark.parametrize("form", ["float32", "float64", "dd", "ts", "qd"])
@pytest.mark.parametrize("name", ARITY)
def test_special_values(name: str, form: str) -> None:
    """Zeros with their signs, infinities, NaN, domains' ends, and exact results."""
    f = formats.get(form)
    arity = ARITY[name]
    rows = [*SPECIAL[name], *([(NAN, NAN)] if arity == 1 else [(NAN, NAN, NAN)])]
    given = [
        [np.array([row[i] for row in rows], f.word)]
        + [np.zeros(len(rows), f.word) for _ in range(f.limbs - 1)]
        for i in range(arity)
    ]
    found = elementwise(f, name, *given)
    for i, row in enumerate(rows):
        expected = expected_value(row[arity:])
        shown = f"{row}: {[float(limb[i]) for limb in found]}"
        assert wrong(f, found, i, expected) <= (0 if len(row) == arity + 1 else BOUND), shown
        head = float(found[0][i])
        assert math.isnan(head) or math.copysign(1, head) == gmpy2.sign(expected) or not head, shown
        if not expected and not gmpy2.is_nan(expected):
            assert math.copysign(1, head) == math.copysign(1, row[arity]), shown
        if not math.isfinite(head):
            assert all(limb[i] == 0 for limb in found[1:]), shown


def test_rounding_of_several_limbs() -> None:
    """Halves between limbs: what a leading limb alone would round another way."""
    f = formats.get("dd")
    big, tiny = 2.0**60, 2.0**-70
    rows = [
        (big, 0.5, "round", (big, 0.0)),
        (big, 1.5, "round", (big, 2.0)),
        (big, -0.5, "round", (big, 0.0)),
        (2.5, tiny, "round", (3.0, 0.0)),
        (2.5, -tiny, "round", (2.0, 0.0)),
        (3.5, -tiny, "round", (3.0, 0.0)),
        (0.5, tiny, "round", (1.0, 0.0)),
        (3.0, -tiny, "floor", (2.0, 0.0)),
        (3.0, tiny, "ceil", (4.0, 0.0)),
        (-3.0, tiny, "trunc", (-2.0, 0.0)),
        (big, -0.25, "floor", (big, -1.0)),
        (-big, -0.25, "trunc", (-big, 0.0)),
        (1.0, -tiny, "floor", (0.0, 0.0)),
        (2.0**53 + 2, -1.0, "round", (2.0**53 + 2, -1.0)),
    ]
    for high, low, name, expected in rows:
        found = elementwise(f, name, [np.array([high]), np.array([low])])
        total = sum(Fraction(float(limb[0])) for limb in found)
        assert total == sum(map(Fraction, expected)), (high, low, name)


def test_remainders_are_exact() -> None:
    """Of integers with as many bits as the format has, for quotients of any size."""
    f = formats.get("dd")
    draw = random.Random(7)
    for _ in range(40):
        x = draw.getrandbits(100) << draw.choice([0, 30, 50, 60, draw.randint(0, 800)])
        y = (draw.getrandbits(100) | 1) << draw.randint(0, 20)
        given = [
            [np.array([w]) for w in constants.words_of(Fraction(v), "float64", 2)] for v in (x, y)
        ]
        found = elementwise(f, "fmod", *given)
        assert sum(Fraction(float(limb[0])) for limb in found) == x % y


@pytest.mark.parametrize("form", ["float32", "float64", "ds", "dd", "d+s", "ts", "qd"])
def test_remainders_of_the_largest_numbers(form: str) -> None:
    """Where the nearest multiple overflows: quotients of any size, the largest number itself."""
    f = formats.get(form)
    largest = float(np.finfo(f.word).max)
    draw = random.Random(form)
    exponent = math.frexp(largest)[1]
    for i in range(60):
        x = largest if i % 3 == 0 else float(np.dtype(f.word).type(draw.uniform(0.3, 1) * largest))
        y = x / draw.choice([1.0, draw.uniform(1, 4), 2.0 ** draw.uniform(2, 60)])
        if i % 5 == 0:
            y = math.ldexp(draw.uniform(1, 2), -draw.randint(0, exponent - 2))
        y = float(np.dtype(f.word).type(y))
        given = [[np.array([w if k == 0 else 0.0], f.word) for k in range(f.limbs)] for w in (x, y)]
        found = elementwise(f, "fmod", *given)
        assert sum(Fraction(float(w[0])) for w in found) == Fraction(x) % Fraction(y), (x, y)


@pytest.mark.parametrize("form", ["ts", "ds", "dd", "qd"])
def test_remainders_of_limbs_with_gaps(form: str) -> None:
    """They have more bits than the format: u^N of y, for quotients up to u^-4."""
    f = formats.get(form)
    p = formats.get(f.word).bits
    draw = random.Random(form)
    for _ in range(40):
        x, y = (
            [
                draw.uniform(1, 2) * 2.0 ** -((p + draw.randint(p // 2, p)) * i)
                for i in range(f.limbs)
            ]
            for _ in range(2)
        )
        up = 2.0 ** draw.choice([0, p // 2, draw.randint(p, min(4 * p - 4, LARGEST[f.word] // 2))])
        given = [[np.array([w], f.word) for w in words] for words in ([v * up for v in x], y)]
        with ieee.quiet():
            found = elementwise(f, "fmod", *given)
        dividend, divisor, result = (
            sum(Fraction(float(w[0])) for w in limbs) for limbs in (*given, found)
        )
        error = abs(result - dividend % divisor)
        assert error <= divisor / 2**f.bits


# --- devices ------------------------------------------------------------------------------


def _cases(name: str, functions: tuple[str, ...]) -> list[Any]:
    return [case for case in cases.cases(name) if case.routine in functions]


@slow(TURNS, unless=by_turns("form", ("dd", "ts")))
@pytest.mark.parametrize("form", ["dd", "ts"])
def test_the_same_bits_anywhere(anywhere: Device, form: str) -> None:
    """Tables, folds, branches and bits of words, in machine code of other vendors too."""
    outcomes = command.run(anywhere, _cases(form, ("exp", "sin", "log1p")))
    assert outcomes and all(outcome.ok for outcome in outcomes)


@slow("each function has the same gates")
@pytest.mark.parametrize("form", ["float32", "float64", "ds", "td", "qs", "qd", "d+s"])
def test_all_functions_anywhere(anywhere: Device, form: str) -> None:
    """Every function's recorded digests."""
    outcomes = command.run(anywhere, _cases(form, tuple(ARITY)))
    assert outcomes and all(outcome.ok for outcome in outcomes)


@pytest.mark.parametrize("form", ["ds", "dd"])
def test_remainders_of_mixed_neighbours(device: Device, form: str) -> None:
    """Pairs whose quotient is one word between those that take the branch: the limits of both."""
    f = formats.get(form)
    p, top = formats.get(f.word).bits, LARGEST[f.word]
    draw = random.Random(form)
    pairs: list[tuple[list[float], list[float]]] = []
    for bits in (0, 1, p - 4, p - 3, p - 2, p, 2 * p - 4):
        for up in (0, top - 1 - bits, 3 * p - top):
            y = Fraction(draw.getrandbits(2 * p) | 1 << (2 * p - 1), 1 << 2 * p) * Fraction(2) ** up
            for part in (0, draw.randint(-3, 3) / 2.0**p, draw.random()):
                x = y * 2**bits * (1 + Fraction(part))
                words = [list(constants.words_of(v, f.word, 2)) for v in (x, y)]
                pairs.append((words[0], words[1]))
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 3.0, float(np.finfo(f.word).max)]
    pairs += [([x, 0.0], [y, 0.0]) for x in special for y in special]
    draw.shuffle(pairs)
    given = [[np.array([pair[k][i] for pair in pairs], f.word) for i in (0, 1)] for k in (0, 1)]
    found = mp.fmod(*(mp.from_limbs(limbs, form, device=device) for limbs in given)).to_limbs()
    with ieee.quiet():
        expected = elementwise(f, "fmod", *given)
    for a, b in zip(expected, found, strict=True):
        assert np.array_equal(a, b, equal_nan=True)
        assert np.array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(a)])
    for (x, y), high, low in zip(pairs, *found, strict=True):
        if math.isinf(y[0]) and math.isfinite(x[0]):
            assert [high, low] == x
            continue
        if not (math.isfinite(x[0]) and math.isfinite(y[0]) and y[0]):
            assert math.isnan(high) and low == 0
            continue
        dividend, divisor = (Fraction(limbs[0]) + Fraction(limbs[1]) for limbs in (x, y))
        rest = abs(dividend) % divisor * (-1 if dividend < 0 else 1)
        error = abs(Fraction(float(high)) + Fraction(float(low)) - rest)
        assert error <= divisor / 2**f.bits, (x, y)


# --- the public functions -----------------------------------------------------------------


def test_names() -> None:
    """Every network is a function of portmp, and the other way round."""
    assert set(FUNCTIONS) == set(ARITY)
    others = {name: function for name, function in FUNCTIONS.items() if name != "pow"}
    assert all(getattr(mp, name) is function for name, function in others.items())
    assert mp.pow is mp.power  # products for small whole exponents, else the network


def test_operands_and_output(device: Device) -> None:
    """Views, an output that is an operand, formats stored short, and what is refused."""
    x = mp.array([["0.5", "1"], ["2", "3"]], "dd", device=device)
    expected = [str(mp.exp(x[i, j])) for j in range(2) for i in range(2)]
    assert [
        str(v) for row in [mp.exp(x.T)[0], mp.exp(x.T)[1]] for v in (row[0], row[1])
    ] == expected
    out = mp.zeros((2, 2), "dd", device=device)
    assert mp.exp(x, out=out).planes.buffers == out.planes.buffers
    mp.log(out, out=out)
    assert abs(out - x).max() < 1e-30
    short = mp.array([1.0], "slfp64in48b", device=device)
    assert mp.exp(short).format is short.format
    with pytest.raises(mp.errors.FormatError, match=r"ts2021 is a paper's format.*astype\('ts'\)"):
        mp.exp(mp.array([1], "ts2021", device=device))
    assert str(mp.exp(2)) == str(mp.exp(mp.array(2, "dd")))
    with pytest.raises(mp.errors.ArgumentError, match="dict given, an array is needed"):
        mp.exp({})


# --- constants ------------------------------------------------------------------------------


def test_constants() -> None:
    """What tables are made of is right to all its bits but a few."""
    with gmpy2.context(precision=constants.BITS + 50):
        x = Fraction(5, 7)
        given = constants.real(5, 7)
        number = mpfr(5) / 7
        for found, expected in (
            (constants.pi(), gmpy2.const_pi()),
            (constants.ln2(), gmpy2.const_log2()),
            (constants.exp(given), gmpy2.exp(number)),
            (constants.log(given), gmpy2.log(number)),
            (constants.sin_cos(given)[0], gmpy2.sin(number)),
            (constants.sin_cos(given)[1], gmpy2.cos(number)),
            (constants.arctan(given), gmpy2.atan(number)),
            (constants.sqrt(given), gmpy2.sqrt(number)),
        ):
            assert abs(mpfr(found) - expected * mpfr(2) ** constants.BITS) < 16
    words = constants.words_of(x, "float32", 3)
    assert words[0] == float(np.float32(5 / 7))
    assert abs(sum(map(Fraction, words)) - x) < Fraction(1, 2**72)


def test_examples_of_the_page() -> None:
    """Blocks of docs/functions.md run in order, in one process."""
    page = Path(__file__).resolve().parents[1] / "docs/functions.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    assert float(abs(names["z"]).to_float64().max()) <= 2.0**-104
