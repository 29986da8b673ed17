"""The gamma function and its logarithm: Stirling's series after a shift to arguments from M on.

With y = x + M below M, else y = x: gamma(x) x (x + 1) ... (x + M - 1) = gamma(y), and
log gamma(y) = (y - 1/2) log(y) - y + log(2 pi)/2 + 1/(12 y) - ... Negative arguments by
reflection. Near 1 and 2, its zeros, the logarithm has a power series about 2.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from portmp.networks import constants
from portmp.networks.functions import exponential, logarithm, trigonometric
from portmp.networks.functions.rounding import exclusive, integral, odd_sum
from portmp.networks.functions.setting import (
    Setting,
    chopped,
    chosen,
    divided,
    guarded,
    magnitude,
    scaled,
    signed,
)
from portmp.networks.language import NETWORKS, Stage, fold
from portmp.networks.levels import Listing, limbs, paired, value

SOURCE = "Stirling's series after a shift"
_NEAR = 0.25
"""The logarithm's power series is used so near to 1 and 2."""


def _bernoulli(i: int) -> Fraction:
    """The coefficients of Stirling's series in 1/y^2, after 1/y."""
    k = 2 * (i + 1)
    return constants.bernoulli(k) / (k * (k - 1))


@cache
def _shift(bits: int) -> int:
    """The least even M from which the series reaches so many bits while its terms fall."""
    for m in range(4, 100, 2):
        i = 0
        while abs(_bernoulli(i + 1)) * 2 < abs(_bernoulli(i)) * m * m:
            i += 1
            if abs(_bernoulli(i)) < Fraction(m ** (2 * i + 1), 2 ** (bits + 8)):
                return m
    raise AssertionError(bits)


def _stirling(s: Setting) -> tuple[str, int]:
    """1/12 - w/360 + ..., w = 1/y^2."""
    m = _shift(s.bits)
    return s.series("stirling_terms", _bernoulli, 2 * math.log2(m), s.bits + 7 - math.log2(12 * m))


def _product(s: Setting) -> str:
    """(x + 1) ... (x + M - 2) from q = x (x + M - 1): of pairs q + i (M - 1 - i)."""
    n, m = s.limbs + 1, _shift(s.bits)
    name = s.wide.named("rising_product")
    if name in NETWORKS:
        return name
    step = s.wide.named("rising_step")
    out = Listing()
    out.write("return a * (q + c)")
    s.define(step, f"a:{n} q:{n} c:word -> {n}", out, "two factors", f"a few u^{n}")
    rows = tuple((float(i * (m - 1 - i)),) for i in range(1, m // 2))
    start = (1.0, *[0.0] * (n - 1))
    fold(
        name,
        f"q:{n} -> {n}",
        start,
        [Stage(step, rows)],
        source="a product of factors in pairs",
        bound=f"a few u^{n}",
    )
    return name


@dataclass(frozen=True)
class Parts:
    """What gamma(|x|) and sin(pi |x|) are made of, all words with one limb more.

    ``log``: of gamma(y), times ``unit``, a power of two that is not 1 for the largest y.
    ``product``: what follows x among the factors of the shift, 1 without; ``shifted`` says which.
    """

    a: list[str]
    sign: str
    log: list[str]
    unit: str
    product: list[str]
    shifted: str


def _times(out: Listing, n: int, a: list[str], b: list[str]) -> list[str]:
    return limbs(out.named(f"mul{n}({value(a)}, {value(b)})"), n)


def _parts(out: Listing, s: Setting, limit: float) -> Parts:
    """Of x; leaves ``inside`` where |x| is neither zero nor beyond the limit."""
    n, m = s.limbs + 1, _shift(s.bits)
    a, sign = magnitude(out, "x", s.limbs)
    out.write(f"inside = both(less(0, {a[0]}), opposite(less({limit!r}, {a[0]})))")
    out.write("inside = both(inside, finite(x[0]))")
    a = [*chosen(out, "inside", a, ["1"]), "0"]
    shifted = out.named(f"less({a[0]}, {m})", "shifted")
    x = chosen(out, shifted, a, ["1"])
    following = out.settle(out.cascade(paired(x, [f"{m - 1}"])), n, robust=True)
    q = _times(out, n, x, following)
    inner = limbs(out.named(f"{_product(s)}({value(q)})"), n)
    product = chosen(out, shifted, _times(out, n, following, inner), ["1"])
    more = out.named(f"select({shifted}, {m}, 0)")
    y = out.settle(out.cascade(paired(a, [more])), n, robust=True)
    # The largest numbers, of whose logarithm times them only the last bits leave the range.
    huge = 2.0 ** (s.largest_exponent - 27)
    unit = out.named(f"select(less({huge!r}, {y[0]}), {2.0**16}, 1)")
    small = out.named(f"select(less({huge!r}, {y[0]}), {2.0**-16}, 1)")
    parts = logarithm.reduced(out, s.wide, y)
    rest = logarithm.series(out, s.wide, parts.s)
    log = out.settle(out.cascade(logarithm.total(out, s.wide, parts, rest)), n, robust=True)
    half = out.settle(out.cascade(paired(y, ["-0.5"])), n, robust=True)
    half = [out.named(f"{word} * {small}") for word in half]
    terms, k = _stirling(s)
    short = out.named(value(y[: s.limbs]))
    inverse = limbs(out.named(f"{value(['1', *['0'] * (s.limbs - 1)])} / {short}"), s.limbs)
    w = out.named(value(inverse[:k]))
    w = out.named(f"{w} * {w}")
    correction = limbs(out.named(f"{terms}({w}) * {out.named(value(inverse[:k]))}"), k)
    root = s.texts(constants.log(2 * constants.pi()) // 2, n)
    levels: list[list[str]] = [[] for _ in range(n)]
    out.product(half, log, levels)
    for i in range(n):
        levels[i].append(out.named(f"-{y[i]} * {small}"))
        levels[i].append(out.named(f"{root[i]} * {small}"))
        if i < k:
            levels[i].append(correction[i])
    return Parts(a, sign, out.settle(out.cascade(levels), n, robust=True), unit, product, shifted)


@dataclass(frozen=True)
class Sine:
    """Words of |sin(pi a)| times 2^k, one limb more; whether that is negative, or zero."""

    words: list[str]
    k: str
    odd: str
    zero: str


def _sine(out: Listing, s: Setting, a: list[str]) -> Sine:
    """Of a >= 0: by the fraction f, small ones as f 2^k times pi sin(pi f) / (pi f)."""
    n = s.limbs + 1
    integers = [integral(out, s, word) for word in a[: s.limbs]]
    words = [out.named(f"{word} - {near}") for word, near in zip(a, integers, strict=False)]
    f = out.settle([*words, "0"], n, robust=True)
    # A sum of fractions may be one above a half.
    near = integral(out, s, f[0])
    odd = odd_sum(out, s, [*integers, near])
    f = out.settle(out.cascade(paired(f, [f"-{near}"])), n, robust=True)
    steps = trigonometric.STEPS // 2
    j = out.nearest(f"{steps} * {f[0]}", s.nearest)
    part = out.named(f"{1 / steps} * {j}")
    g = out.settle(out.cascade(paired(f, [f"-{part}"])), n, robust=True)
    pi = s.texts(constants.pi(), n)
    r = _times(out, n, g, pi)
    turn = out.named(f"{j} + select(less({j}, 0), {2 * steps}, 0)")
    whole = trigonometric.sine(out, s, trigonometric.of_angle(out, s, turn, r))
    whole = out.settle(whole, n, robust=True)
    slope = trigonometric.ratio(out, s, r)
    levels = [[word] for word in pi]
    out.product(pi, slope, levels)
    e = out.named(f"exponent({f[0]})")
    power = out.named(f"power_of_two(-{e})")
    scaled_f = [out.named(f"{word} * {power}") for word in f]
    close = out.named(f"nonzero({j})")
    near_zero = _times(out, n, scaled_f, out.settle(out.cascade(levels), n))
    words = chosen(out, close, whole, near_zero)
    below = out.named(f"less({words[0]}, 0)")
    k = out.named(f"select({close}, 0, -{e})")
    zero = out.named(f"opposite(nonzero({f[0]}))", "zero")
    return Sine(signed(out, words, below), k, exclusive(out, odd, below), zero)


@cache
def gamma(s: Setting) -> str:
    """gamma(y) over the shift's factors; of negative x, -pi / (|x| sin(pi |x|) gamma(|x|))."""
    n = s.limbs + 1
    out = Listing()
    limit = 44.0 if s.word == "float32" else 190.0
    parts = _parts(out, s, limit)
    whole, e = exponential.scaled_down(out, s, parts.log, n)
    a = signed(out, limbs("x", s.limbs), parts.sign)
    a[0] = out.named(f"select(finite({a[0]}), {a[0]}, 0)")
    sine = _sine(out, s, a)
    # x itself, scaled to about 1
    k = out.named(f"exponent({parts.a[0]})")
    power = out.named(f"power_of_two(-{k})")
    x = [out.named(f"{word} * {power}") for word in parts.a]
    one = ["1", *["0"] * (n - 1)]
    pi = s.texts(constants.pi(), n)
    # Right of zero: gamma(y) / (x product), or gamma(y); left: pi product / (sine gamma(y)), or
    # pi / (x sine gamma(y)).
    below = _times(out, n, parts.product, chosen(out, parts.shifted, x, one))
    left = _times(out, n, chosen(out, sine.zero, one, sine.words), whole)
    left = chosen(out, parts.shifted, left, _times(out, n, left, x))
    above = chosen(out, parts.sign, _times(out, n, pi, parts.product), whole)
    words = divided(out, s, above, chosen(out, parts.sign, left, below))
    right = out.named(f"{e} - select({parts.shifted}, {k}, 0)")
    other = out.named(f"{sine.k} - {e} - select({parts.shifted}, 0, {k})")
    words = chopped(out, s, out.settle(words, s.limbs, ordered=True))
    words = scaled(out, words, out.named(f"select({parts.sign}, {other}, {right})"), s)
    minus = out.named(f"both({parts.sign}, opposite({sine.odd}))")
    words = signed(out, words, minus)
    out.write(f"pole = both({parts.sign}, {sine.zero})\nok = both(inside, opposite(pole))")
    out.write(f"far = select({minus}, -0.0, 0)\nfar = select(pole, 1e999 - 1e999, far)")
    out.write(f"far = select({parts.sign}, far, 1e999)")
    out.write("far = select(nonzero(x[0]), far, copysign(1e999, x[0]))")
    guarded(out, words, "ok", "select(isnan(x[0]), x[0], far)")
    return s.function("gamma", out, SOURCE)


# --- logarithm --------------------------------------------------------------------------------


def _about_two(s: Setting) -> tuple[str, int]:
    """log gamma(2 + h) / h."""

    def coefficient(i: int) -> Fraction:
        if i == 0:
            return 1 - constants.fraction(constants.euler())
        return constants.fraction(constants.zeta_less_one(i + 1)) * Fraction((-1) ** (i + 1), i + 1)

    return s.wide.series("lgamma_terms", coefficient, -math.log2(_NEAR), s.bits + 6)


def _near(out: Listing, s: Setting, a: list[str]) -> tuple[list[str], str]:
    """log gamma(a) near 1 and 2, of words: h P(h) or h P(h) - log1p(h); and whether that holds."""
    n = s.limbs + 1
    first = out.named(f"less(fabs({a[0]} - 1), {_NEAR})")
    second = out.named(f"less(fabs({a[0]} - 2), {_NEAR})")
    base = out.named(f"select({first}, -1, -2)")
    near = out.named(f"either({first}, {second})", "near")
    h = out.settle(out.cascade(paired(a, [base])), n, robust=True)
    h = [out.named(f"select({near}, {word}, 0)") for word in h]
    terms, k = _about_two(s)
    series = limbs(out.named(f"{terms}({value(h[:k])})"), k)
    words = _times(out, n, h, [*series, *["0"] * (n - k)])
    u = [out.named(f"select({first}, {word}, 0)") for word in h]
    log = out.cascade(logarithm.plus_one(out, s, u))
    minus = [out.named(f"-{word}") for word in log]
    return out.settle(out.cascade(paired(words, minus)), s.limbs, robust=True), near


@cache
def lgamma(s: Setting) -> str:
    """log|gamma(x)|, near 1 and 2 by its power series."""
    n = s.limbs + 1
    out = Listing()
    parts = _parts(out, s, (2 - 2.0 ** (1 - s.p)) * 2.0**s.largest_exponent)
    out.write("valid = inside")
    sine = _sine(out, s, parts.a)
    x, e = logarithm.normal(out, s, parts.a)
    one = ["1", *["0"] * (n - 1)]
    height = chosen(out, sine.zero, one, sine.words)
    # Right of zero: less the logarithm of x product, or of 1; left: of sine / product, or x sine.
    right = _times(out, n, parts.product, chosen(out, parts.shifted, x, one))
    quotient = limbs(out.named(f"quotient{n}({value(height)}, {value(parts.product)})"), n)
    left = chosen(out, parts.shifted, quotient, _times(out, n, height, x))
    inner = chosen(out, parts.sign, left, right)
    with_x = exclusive(out, parts.shifted, parts.sign)
    e = out.named(f"select({with_x}, {e}, 0) - select({parts.sign}, {sine.k}, 0)")
    found = logarithm.reduced(out, s, inner)
    found = logarithm.Reduced(out.named(f"{found.k} + {e}"), found.table, found.s)
    rest = logarithm.series(out, s, found.s)
    log = out.settle(out.cascade(logarithm.total(out, s, found, rest)), n, robust=True)
    whole = signed(out, parts.log, parts.sign)
    down = out.named(f"1 / {parts.unit}")
    log = [out.named(f"-{word} * {down}") for word in log]
    constant = [
        out.named(f"select({parts.sign}, {word}, 0) * {down}")
        for word in s.texts(constants.log(constants.pi()), n)
    ]
    words = out.settle(out.cascade(paired(whole, log, constant)), s.limbs, robust=True)
    words = [out.named(f"{word} * {parts.unit}") for word in words]
    about, near = _near(out, s, parts.a)
    words = chosen(out, f"both({near}, opposite({parts.sign}))", about, words)
    out.write(
        f"ok = both(valid, both(finite({words[0]}), opposite(both({parts.sign}, {sine.zero}))))"
    )
    guarded(out, words, "ok", "select(isnan(x[0]), x[0], 1e999)")
    return s.function("lgamma", out, SOURCE)
