"""Powers, cube roots and lengths."""

from fractions import Fraction
from functools import cache

from portmp.networks.functions import exponential, logarithm
from portmp.networks.functions.rounding import integral, odd_sum
from portmp.networks.functions.setting import (
    Setting,
    chopped,
    chosen,
    guarded,
    magnitude,
    scaled,
    signed,
    square_root,
)
from portmp.networks.levels import Listing, limbs, paired, value

# --- pow --------------------------------------------------------------------------------------


def _parity(out: Listing, s: Setting, name: str) -> tuple[str, str]:
    """Whether a value is an integer, that is all its limbs are, and whether it is an odd one."""
    broken, integers = "", []
    for word in limbs(name, s.limbs):
        integers.append(integral(out, s, word))
        fraction = out.named(f"nonzero({word} - {integers[-1]})")
        broken = out.named(f"either({broken}, {fraction})") if broken else fraction
    whole = out.named(f"opposite({broken})", "whole")
    return whole, out.named(f"both({whole}, {odd_sum(out, s, integers)})", "odd")


@cache
def pow(s: Setting) -> str:
    """exp(y log|x|), the logarithm and the product with one limb more."""
    n = s.limbs + 1
    out = Listing()
    a, sign = magnitude(out, "x", s.limbs)
    out.write(f"plain = both(less(0, {a[0]}), finite({a[0]}))\na0 = select(plain, {a[0]}, 1)")
    parts = logarithm.reduced(out, s.wide, ["a0", *a[1:]])
    rest = logarithm.series(out, s.wide, parts.s)
    log = out.settle(out.cascade(logarithm.total(out, s.wide, parts, rest)), n, robust=True)
    # What is far out is decided by the leading words, as infinities and zeros are.
    out.write(f"of_end = select(less(0, {a[0]}), {a[0]}, -1e999)")
    out.write(f"head = select(plain, {log[0]}, select(isnan({a[0]}), {a[0]}, of_end))")
    out.write(f"size = y[0] * head\ninside = less(fabs(size), {exponential.limit(s)})")
    y = chosen(out, "inside", limbs("y", s.limbs), ["0"])
    exponent = out.products(n, (y, log))
    words, e = exponential.scaled_down(out, s, exponent, s.limbs)
    words = scaled(out, chopped(out, s, words), e, s)
    whole, odd = _parity(out, s, "y")
    out.write(f"endless = opposite(either(finite(y[0]), isnan(y[0])))\nminus = both({sign}, {odd})")
    out.write("beyond = select(less(size, 0), 0, select(isnan(size), size, 1e999))")
    out.write(
        f"real = either(opposite({sign}), either({whole}, opposite(both(plain, finite(y[0])))))"
    )
    out.write("beyond = select(real, select(minus, -beyond, beyond), 1e999 - 1e999)")
    # One to any power, anything to the power zero, and -1 to an infinite one.
    out.write(
        f"level = both(both(plain, opposite(nonzero({log[0]}))), either(opposite({sign}), endless))"
    )
    out.write("unit = either(level, opposite(nonzero(y[0])))")
    words = signed(out, words, "minus")
    out.write("ok = both(inside, both(real, opposite(unit)))")
    guarded(out, words, "ok", "select(unit, 1, beyond)")
    return s.function("pow", out, "logarithm with one limb more, exponential", "xy")


# --- cube root ----------------------------------------------------------------------------------

_SEEDS = 32
"""Seeds of an octave."""


def _cube_root(number: Fraction) -> Fraction:
    """The cube root of a number about 1, to a hundred bits."""
    scaled_up = (number.numerator << 300) // number.denominator
    root = 1 << (scaled_up.bit_length() // 3 + 1)
    while True:
        following = (2 * root + scaled_up // (root * root)) // 3
        if following >= root:
            return Fraction(root, 1 << 100)
        root = following


def _seeds(s: Setting) -> str:
    middles = [1 + Fraction(2 * i + 1, 2 * _SEEDS) for i in range(_SEEDS)]
    rows = [s.words(1 / _cube_root(m * 2**octave), 1) for octave in range(3) for m in middles]
    return s.table("cbrt_seeds", rows, "1/cbrt(m)")


@cache
def cbrt(s: Setting) -> str:
    """A word by Newton's method on 1/cbrt(m), then a limb more for each residual."""
    n = s.limbs + 1
    out = Listing()
    a, sign = magnitude(out, "x", s.limbs)
    out.write(f"inside = both(less(0, {a[0]}), finite({a[0]}))\na0 = select(inside, {a[0]}, 1)")
    m, e = logarithm.normal(out, s, ["a0", *a[1:]])
    third = out.named(
        f"fma({e}, {s.words(Fraction(1, 3), 1)[0]!r}, {-s.words(Fraction(1, 3), 1)[0]!r})"
    )
    third = out.nearest(third, s.nearest, "third")
    octave = out.named(f"fma({third}, -3, {e})", "octave")
    index = out.nearest(f"fma({m[0]}, {_SEEDS}, {-_SEEDS - 0.5})", s.nearest)
    z = out.named(f"{_seeds(s)}(fma({octave}, {_SEEDS}, {index}))")
    power = out.named(f"power_of_two({octave})")
    m = [out.named(f"{word} * {power}") for word in m]
    third_word = repr(s.words(Fraction(1, 3), 1)[0])
    for _ in range(2 if s.p == 24 else 3):
        square = out.named(f"{z} * {z}")
        cube = out.named(f"{square} * {z}")
        rest = out.named(f"fma(-{m[0]}, {cube}, 1)")
        step = out.named(f"{z} * {third_word}")
        z = out.named(f"fma({step}, {rest}, {z})")
    square = out.named(f"{z} * {z}")
    y = [out.named(f"{m[0]} * {square}")]
    slope = out.named(f"{square} * {third_word}")
    for k in range(2, n + 1):
        # y has k - 1 words: the residual m - y^3 tells the next.
        word = out.named(value([*y, "0"]))
        third_power = limbs(out.named(f"({word} * {word}) * {word}"), k)
        minus = [out.named(f"-{part}") for part in third_power]
        rest = out.settle(out.cascade(paired(m[:k], minus)), 2, robust=True)[0]
        y = out.settle([*y, out.named(f"{rest} * {slope}")], k, ordered=True)
    words = chopped(out, s, out.settle(y, s.limbs, ordered=True))
    up = out.named(f"power_of_two({third})")
    words = signed(out, [out.named(f"{word} * {up}") for word in words], sign)
    guarded(out, words, "inside", "x[0]")
    return s.function("cbrt", out, "Newton's method, a residual for each limb")


# --- hypot --------------------------------------------------------------------------------------


_ENDLESS = """
far_x = opposite(either(finite(a), isnan(a)))
far_y = opposite(either(finite(b), isnan(b)))
endless = either(far_x, far_y)
"""
_OF_TWO_LIMBS = """
a = fabs(x[0])
b = fabs(y[0])
s = scale(select(less(a, b), b, a))
back = scale(s)
x0 = x[0] * s
x1 = x[1] * s
y0 = y[0] * s
y1 = y[1] * s
p, ep = two_prod(x0, x0)
q, eq = two_prod(y0, y0)
c, ec = two_prod(x0 + x0, x1)
d, ed = two_prod(y0 + y0, y1)
t, et = two_sum(p, q)
g = sqrt(t)
r = fma(-g, g, t)
ep, e1 = two_sum(ep, eq)
c, e2 = two_sum(c, d)
r, e3 = two_sum(r, et)
ep, e4 = two_sum(ep, c)
r, e5 = two_sum(r, ep)
rest = fma(x1, x1, ec) + fma(y1, y1, ed)
rest = rest + (((e1 + e2) + (e3 + e4)) + e5)
v = 0.5 / g
l = r * v
r = fma(-(g + g), l, r)
r = fma(-l, l, r)
r = r + rest
g, l = fast_two_sum(g, l)
l = fma(r, v, l)
g, l = fast_two_sum(g, l)
"""


@cache
def hypot(s: Setting) -> str:
    """The root of the sum of squares, both scaled by a power of two.

    Of two limbs a root and one step, of which what is left is known with twice a word's bits.
    """
    if s.limbs == 2:
        out = Listing()
        out.write(_OF_TWO_LIMBS)
        words = [out.named(f"{word} * back") for word in chopped(out, s, ["g", "l"])]
        out.write(f"{_ENDLESS}ok = finite({words[0]})")
        special = "select(endless, 1e999, a + b)"
        out.write(f"return select(ok, {words[0]}, {special}), select(ok, {words[1]}, 0)")
        source = "square root of exact squares, one step with what is left in two words"
        return s.function("hypot", out, source, "xy")
    n = s.limbs + 1
    out = Listing()
    a, _ = magnitude(out, "x", s.limbs)
    b, _ = magnitude(out, "y", s.limbs)
    out.write(f"inside = both(finite({a[0]}), finite({b[0]}))\nless_y = less({b[0]}, {a[0]})")
    high, low = chosen(out, "less_y", a, b), chosen(out, "less_y", b, a)
    out.write(f"some = both(inside, nonzero({high[0]}))\nhigh = select(some, {high[0]}, 1)")
    words, k = logarithm.normal(out, s, ["high", *high[1:]], low)
    x, y = words[: s.limbs], words[s.limbs :]
    root = square_root(out, s, out.products(n, (x, x), (y, y)))
    words = scaled(out, chopped(out, s, out.settle(root, s.limbs, ordered=True)), k, s)
    out.write(f"a = {a[0]}\nb = {b[0]}{_ENDLESS}")
    special = f"select(endless, 1e999, {a[0]} + {b[0]})"
    guarded(out, words, "some", special)
    return s.function("hypot", out, "square root with one limb more", "xy")
