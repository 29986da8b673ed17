"""Hyperbolic functions and their inverses, by expm1 and log1p with one more limb."""

import math
from functools import cache

from portmp.networks.functions import exponential, logarithm
from portmp.networks.functions.setting import (
    Setting,
    chosen,
    guarded,
    magnitude,
    odd,
    scaled,
    signed,
    square_root,
)
from portmp.networks.levels import Listing, limbs, paired, value

OF_EXP = "expm1 with one limb more"
OF_LOG = "log1p with one limb more"


def _plain(s: Setting) -> float:
    """Beyond it exp(-2 x) is no part of a result."""
    return float(math.ceil(s.bits * math.log(2) / 2 + 3))


def _exponential(
    out: Listing, s: Setting, limit: float, factor: str = ""
) -> tuple[exponential.Wide, str]:
    """exp(|x|), or of a multiple, with ``inside`` where |x| is below the limit; and x's sign."""
    a, sign = magnitude(out, "x", s.limbs)
    out.write(f"inside = less({a[0]}, {limit})\nx0 = select(inside, {a[0]}, 0)")
    words = ["x0", *a[1:]]
    if factor:
        words = [out.named(f"{factor} * {word}") for word in words]
    return exponential.wide(out, s, words), sign


def _half(out: Listing, s: Setting, found: exponential.Wide) -> list[str]:
    """exp(x) / 2 in the format's limbs."""
    words = out.settle(found.y, s.limbs, ordered=True)
    return scaled(out, words, out.named(f"{found.e} - 1"), s)


@cache
def sinh(s: Setting) -> str:
    """(h + h / (h + 1)) / 2 with h = expm1(|x|), beyond exp(|x|) / 2."""
    n = s.limbs + 1
    out = Listing()
    found, sign = _exponential(out, s, exponential.limit(s))
    h = exponential.less_one(out, s, found)
    below = out.settle(out.cascade(paired(h, ["1"])), n)
    quotient = out.named(f"quotient{n}({value(h)}, {value(below)})")
    words = out.settle(out.cascade(paired(h, limbs(quotient, n))), s.limbs, ordered=True)
    small = [out.named(f"0.5 * {word}") for word in words]
    far = out.named(f"less({_plain(s)}, x0)")
    words = signed(out, chosen(out, far, _half(out, s, found), small), sign)
    guarded(out, words, "inside", "x[0] * 1e999")
    return s.function("sinh", out, OF_EXP)


@cache
def cosh(s: Setting) -> str:
    """(exp(|x|) + exp(-|x|)) / 2, beyond exp(|x|) / 2."""
    n = s.limbs + 1
    out = Listing()
    found, _ = _exponential(out, s, exponential.limit(s))
    far = out.named(f"less({_plain(s)}, x0)")
    whole = scaled(out, found.y, out.named(f"select({far}, 0, {found.e})"), s)
    quotient = out.named(f"quotient{n}({value(['1', *['0'] * (n - 1)])}, {value(whole)})")
    words = out.settle(out.cascade(paired(whole, limbs(quotient, n))), s.limbs)
    small = [out.named(f"0.5 * {word}") for word in words]
    guarded(out, chosen(out, far, _half(out, s, found), small), "inside", "fabs(x[0]) * 1e999")
    return s.function("cosh", out, OF_EXP)


@cache
def tanh(s: Setting) -> str:
    """h / (h + 2) with h = expm1(2 |x|)."""
    n = s.limbs + 1
    out = Listing()
    found, sign = _exponential(out, s, _plain(s), "2")
    h = exponential.less_one(out, s, found)
    below = out.settle(out.cascade(paired(h, ["2"])), n)
    quotient = out.named(f"quotient{n}({value(h)}, {value(below)})")
    words = signed(out, out.settle(limbs(quotient, n), s.limbs, ordered=True), sign)
    guarded(out, words, "inside", "select(isnan(x[0]), x[0], copysign(1, x[0]))")
    return s.function("tanh", out, OF_EXP)


# --- inverses -------------------------------------------------------------------------------


def _large(s: Setting) -> float:
    """Beyond it 1 is no part of 1 + x^2."""
    return 2.0 ** (s.bits // 2 + 4)


@cache
def asinh(s: Setting) -> str:
    """log1p(x + x^2 / (1 + sqrt(1 + x^2))) of |x|, beyond log(2 |x|)."""
    n = s.limbs + 1
    out = Listing()
    a, sign = magnitude(out, "x", s.limbs)
    a[0] = out.named(f"select(finite({a[0]}), {a[0]}, 1)")
    large = out.named(f"less({_large(s)}, {a[0]})")
    x = chosen(out, large, ["1"], a)
    square = out.products(n, (x, x))
    inner = out.settle(out.cascade(paired(square, ["1"])), n, robust=True)
    root = limbs(out.named(f"root{n}({value(inner)})"), n)
    below = value(out.settle(out.cascade(paired(root, ["1"])), n))
    rest = limbs(out.named(f"quotient{n}({value(square)}, {below})"), n)
    u = out.settle(out.cascade(paired(x, rest)), n, robust=True)
    other = logarithm.Other(large, [*a, "0"], "1")
    words = out.settle(out.cascade(logarithm.plus_one(out, s, u, other)), s.limbs, robust=True)
    guarded(out, signed(out, words, sign), out.named("finite(x[0])"), "x[0]")
    return s.function("asinh", out, OF_LOG)


@cache
def acosh(s: Setting) -> str:
    """log1p(t + sqrt(t (x + 1))) with t = x - 1, beyond log(2 x)."""
    n = s.limbs + 1
    out = Listing()
    a = limbs("x", s.limbs)
    a[0] = out.named("select(finite(x[0]), x[0], 2)")
    large = out.named(f"less({_large(s)}, {a[0]})")
    x = chosen(out, large, ["2"], a)
    t = out.settle(out.cascade(paired(x, ["-1"], ["0"] * n)), n, robust=True)
    out.write(f"gap = {t[0]}\nvalid = less(0, gap)\nsafe = select(valid, gap, 1)")
    t = ["safe", *t[1:]]
    above = out.settle(out.cascade(paired(x, ["1"], ["0"] * n)), n, robust=True)
    root = square_root(out, s, t, above)
    u = out.settle(out.cascade(paired(t, root)), n, robust=True)
    other = logarithm.Other(large, [*a, "0"], "1")
    words = out.settle(out.cascade(logarithm.plus_one(out, s, u, other)), s.limbs, robust=True)
    out.write("ok = both(valid, finite(x[0]))\nbelow = select(nonzero(gap), 1e999 - 1e999, 0)")
    special = "select(either(isnan(x[0]), less(1, x[0])), x[0], below)"
    guarded(out, words, "ok", special)
    return s.function("acosh", out, OF_LOG)


@cache
def atanh(s: Setting) -> str:
    """log1p(2 x / (1 - x)) / 2 of |x|, from 1/2 on log((1 + x) / (1 - x)) / 2."""
    n = s.limbs + 1
    out = Listing()
    a, sign = magnitude(out, "x", s.limbs)
    a = chosen(out, out.named(f"less({a[0]}, 2)"), a, ["2"])
    below = out.settle(
        out.cascade(paired([out.named(f"-{word}") for word in a], ["1"], ["0"] * n)), n, robust=True
    )
    out.write(f"gap = {below[0]}\nvalid = less(0, gap)\nsafe = select(valid, gap, 1)")
    below = ["safe", *below[1:]]
    e = out.named("exponent(safe)")
    power = out.named(f"power_of_two(-{e})")
    below = [out.named(f"{word} * {power}") for word in below]
    large = out.named(f"less(0.5, {a[0]})")
    above = out.settle(out.cascade(paired(a, ["1"], ["0"] * n)), n, robust=True)
    twice = [out.named(f"({word} + {word}) * {power}") for word in a]
    above = chosen(out, large, above, twice)
    quotient = limbs(out.named(f"quotient{n}({value(above)}, {value(below)})"), n)
    u = chosen(out, large, ["1"], quotient)
    other = logarithm.Other(large, quotient, out.named(f"-{e}"))
    words = out.settle(out.cascade(logarithm.plus_one(out, s, u, other)), s.limbs, robust=True)
    words = signed(out, [out.named(f"0.5 * {word}") for word in words], sign)
    out.write("at_end = opposite(either(nonzero(gap), isnan(x[0])))")
    special = "select(at_end, copysign(1e999, x[0]), x[0] - x[0] + 1e999 - 1e999)"
    guarded(out, [odd(out, words[0], "x[0]"), *words[1:]], "valid", special)
    return s.function("atanh", out, OF_LOG)
