"""The error function: its power series below 1, the trapezoidal rule above.

erfc(x) = (2 h x/pi) exp(-x^2) (1/(2 x^2) + sum_k exp(-k^2 h^2) / (x^2 + k^2 h^2)), up to
exp(-pi^2/h^2) relative, less 2 / (exp(2 pi x/h) - 1) for x < pi/h (Chiarella and Reichel 1968,
Hunter and Regan 1972). With a short h all k^2 h^2 are words.
"""

import math
from fractions import Fraction
from functools import cache

from portmp.networks import constants
from portmp.networks.functions import exponential
from portmp.networks.functions.setting import (
    MEASURED,
    Setting,
    chosen,
    guarded,
    magnitude,
    scaled,
    signed,
)
from portmp.networks.language import NETWORKS, fold, staged
from portmp.networks.levels import Listing, limbs, paired, value

SOURCE = "power series; trapezoidal rule (Hunter and Regan 1972)"


def _near(s: Setting) -> tuple[str, int]:
    """erf(x) / x as a polynomial in x^2, for |x| < 1."""
    factor = constants.over(2 * constants.ONE, constants.sqrt(constants.pi()))
    number = constants.fraction(factor)
    return s.wide.series(
        "erf_terms",
        lambda i: number * Fraction((-1) ** i, math.factorial(i) * (2 * i + 1)),
        0,
        s.bits + 6,
    )


def _step(s: Setting) -> Fraction:
    """h, in parts of 32."""
    return Fraction(int(32 * math.pi / math.sqrt((s.bits + 8) * math.log(2))), 32)


def _sum(s: Setting) -> str:
    """1/(2 z) and the sum over exp(-k^2 h^2) / (z + k^2 h^2): small terms first, in fewer limbs."""
    n, h = s.limbs + 1, _step(s)
    name = s.wide.named("erfc_sum")
    if name in NETWORKS:
        return name
    rows: list[tuple[int, Fraction, Fraction]] = [(n, Fraction(0), Fraction(1, 2))]
    while True:
        square = (len(rows) * h) ** 2
        weight = -float(square) / math.log(2)
        if weight < -s.bits - 8:
            break
        c = constants.fraction(constants.exp(constants.real(*(-square).as_integer_ratio())))
        rows.append((min(n, max(1, math.ceil((s.bits + weight + 12) / s.p))), square, c))
    terms = (
        (_term(s.of(k)), (*s.words(square, 1), *s.words(c, k))) for k, square, c in reversed(rows)
    )
    fold(
        name,
        f"z:{n} -> {n}",
        (0.0,),
        staged(terms),
        source=f"the trapezoidal rule with steps of {h}",
        bound=f"a few u^{n}",
    )
    return name


def _term(s: Setting) -> str:
    """a + c / (z + t)."""
    out = Listing()
    out.write("return a + c / (z + t)")
    signature = f"a:{s.kind} z:{s.kind} t:word c:{s.kind} -> {s.kind}"
    return s.define(s.named("erfc_term"), signature, out, "a term of the rule", "a few u^N")


def _far(s: Setting) -> str:
    """erfc(x) for 1 <= x, as words scaled by 2^-e, and e."""
    n, h = s.limbs + 1, _step(s)
    name = s.named("erfc_far")
    out = Listing()
    x = limbs("x", s.limbs)
    z = out.products(n, (x, x))
    minus = [out.named(f"-{word}") for word in z]
    words, e = exponential.scaled_down(out, s, minus, n)
    whole = value(words)
    total = out.named(f"{_sum(s)}({value(z)})")
    factor = constants.over(constants.real(2 * h.numerator, h.denominator), constants.pi())
    scale = value(s.texts(factor, n))
    wide_x = value([*x, "0"])
    head = out.named(f"mul{n}(mul{n}({total}, {whole}), mul{n}({wide_x}, {scale}))")
    # The poles' part: v / (1 - v) twice, v = exp(-2 pi x/h).
    angle = -2 * constants.pi() * h.denominator // h.numerator
    power = out.products(n, (x, s.texts(angle, n)))
    out.write(f"near = less(x[0], {math.pi / float(h):.3f})")
    power = chosen(out, "near", power, ["-16"])
    v, other = exponential.scaled_down(out, s, power, s.limbs)
    below = out.named(f"-{value(scaled(out, v, other, s))} + 1")
    quotient = out.named(f"{value(v)} / {below}")
    rest = scaled(out, limbs(quotient, s.limbs), out.named(f"{other} - {e} + 1"), s)
    minus = [out.named(f"select(near, -{word}, 0)") for word in rest]
    words = out.settle(out.cascade(paired(limbs(head, n), minus)), n, robust=True)
    out.write(f"return {', '.join([*words, e])}")
    return s.define(name, f"x:{s.kind} -> {n + 1}", out, SOURCE, MEASURED)


def _parts(out: Listing, s: Setting, limit: float) -> tuple[list[str], list[str], str, str, str]:
    """Words of erf(|x|) below 1 and erfc(|x|) above, scaled by 2^-e; e; whether above; x's sign.

    Leaves ``inside``, where |x| is below the limit.
    """
    n = s.limbs + 1
    a, sign = magnitude(out, "x", s.limbs)
    out.write(f"inside = less({a[0]}, {limit})\nx0 = select(inside, {a[0]}, 2)")
    a = ["x0", *[out.named(f"select(inside, {word}, 0)") for word in a[1:]]]
    above = out.named("less(1, x0)", "above")
    small = chosen(out, above, ["1"], a)
    terms, k = _near(s)
    square = out.products(n, (small, small))
    series = limbs(out.named(f"{terms}({value(square[:k])})"), k)
    near = out.products(n, (small, series))
    nothing = value(["0"] * (n + 1))
    large = value(chosen(out, above, a, ["1"]))
    far = out.named(f"seldom({above}, {_far(s)}({large}), {nothing})")
    return near, limbs(far, n), f"{far}[{n}]", above, sign


@cache
def erf(s: Setting) -> str:
    """erf(x), from 1 on 1 - erfc(x)."""
    out = Listing()
    # Beyond it erfc is no part of 1.
    limit = math.ceil(math.sqrt((s.bits + 4) * math.log(2)))
    near, far, e, above, sign = _parts(out, s, float(limit))
    n = s.limbs + 1
    minus = [out.named(f"-{word}") for word in scaled(out, far, e, s)]
    rest = out.settle(out.cascade(paired(["1"], minus)), n)
    words = signed(out, out.settle(chosen(out, above, rest, near), s.limbs, ordered=True), sign)
    guarded(out, words, "inside", "select(isnan(x[0]), x[0], copysign(1, x[0]))")
    return s.function("erf", out, SOURCE)


@cache
def erfc(s: Setting) -> str:
    """1 - erf(x)."""
    out = Listing()
    limit = 10.5 if s.word == "float32" else 28.0
    near, far, e, above, sign = _parts(out, s, limit)
    n = s.limbs + 1
    # 1 - erf(x), 1 + erf(|x|), or 2 - erfc(|x|)
    left = chosen(out, above, [out.named(f"-{word}") for word in scaled(out, far, e, s)], near)
    left = out.settle(out.cascade(paired([f"select({above}, 2, 1)"], left)), n)
    right = out.settle(out.cascade(paired(["1"], [out.named(f"-{word}") for word in near])), n)
    words = out.settle(chosen(out, sign, left, right), s.limbs, robust=True)
    tail = scaled(out, out.settle(far, s.limbs, ordered=True), e, s)
    words = chosen(out, f"both({above}, opposite({sign}))", tail, words)
    guarded(out, words, "inside", "select(isnan(x[0]), x[0], select(less(x[0], 0), 2, 0))")
    return s.function("erfc", out, SOURCE)
