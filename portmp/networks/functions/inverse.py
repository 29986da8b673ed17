"""Inverse circular functions, by the angle of a point (b, a) with 0 <= a <= b.

atan(a/b) = atan(t) + atan(z) with t = i/64 near a/b and z = (a - t b) / (b + t a), at most 1/128.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from portmp.networks import constants
from portmp.networks.functions.logarithm import normal
from portmp.networks.functions.setting import (
    Setting,
    chosen,
    guarded,
    magnitude,
    signed,
    square_root,
)
from portmp.networks.levels import Listing, limbs, paired, value

STEPS = 64
REACH = 7.0
"""|z| <= 2^-REACH."""
SOURCE = "table of arctangents, Taylor series"


def _table(s: Setting) -> str:
    angles = [constants.arctan(constants.real(i, STEPS)) for i in range(STEPS + 1)]
    return s.table("atan_table", [s.words(a, s.limbs + 1) for a in angles], "atan(i/64)")


def _terms(s: Setting) -> tuple[str, int]:
    """(atan(z) - z) / z^3."""
    return s.series(
        "atan_terms",
        lambda i: Fraction((-1) ** (i + 1), 2 * i + 3),
        2 * REACH,
        s.bits + 6 - 2 * REACH - 1.5,
    )


def angle(out: Listing, s: Setting, a: Sequence[str], b: Sequence[str]) -> list[list[str]]:
    """The levels of atan(a/b), one limb more; 0 <= a <= b, b > 0."""
    n = s.limbs + 1
    a, b = [*a, *["0"] * (n - len(a))], [*b, *["0"] * (n - len(b))]
    i = out.nearest(f"{STEPS} * ({a[0]} / {b[0]})", s.nearest, "i")
    t, minus = out.named(f"{1 / STEPS} * {i}", "t"), out.named(f"{-1 / STEPS} * {i}")
    levels = [[word] for word in a]
    out.product([minus], b, levels)
    above = out.settle(out.cascade(levels), n, robust=True)
    levels = [[word] for word in b]
    out.product([t], a, levels)
    below = out.settle(out.cascade(levels), n)
    z = limbs(out.named(f"quotient{n}({value(above)}, {value(below)})", "z"), n)
    terms, k = _terms(s)
    short = out.named(value(z[:k]))
    square = out.named(f"{short} * {short}", "square")
    cube = out.named(f"{square} * {short}")
    rest = limbs(out.named(f"{cube} * {terms}({square})", "rest"), k)
    levels = paired(limbs(out.named(f"{_table(s)}({i})", "table"), n), z)
    for level, word in zip(levels[1:], rest, strict=False):
        level.append(word)
    return levels


def placed(
    out: Listing, s: Setting, levels: list[list[str]], base: Sequence[str], minus: str
) -> list[str]:
    """Limbs of *base* plus an angle, or less it where a flag is set."""
    words = out.cascade(levels)
    words = signed(out, words, minus)
    return out.settle(out.cascade(paired(base, words)), s.limbs, robust=True)


def _circle(s: Setting) -> tuple[list[str], list[str]]:
    """pi/2 and pi, one limb more."""
    return (s.texts(constants.pi() // 2, s.limbs + 1), s.texts(constants.pi(), s.limbs + 1))


def _base(out: Listing, s: Setting, steep: str, left: str) -> list[str]:
    """pi/2 where the point is nearer to the other axis, else pi where it is on the left, or 0."""
    quarter, half = _circle(s)
    return chosen(out, steep, quarter, [out.named(f"select({left}, {word}, 0)") for word in half])


@cache
def atan(s: Setting) -> str:
    """The arctangent: of |x| above 1, pi/2 less that of 1/|x|."""
    out = Listing()
    a, sign = magnitude(out, "x", s.limbs)
    out.write(f"inside = finite({a[0]})\nsteep = opposite(less({a[0]}, 1))")
    low = chosen(out, "steep", ["select(inside, 1, 0)"], a)
    high = chosen(out, "both(steep, inside)", a, ["1"])
    zero = ["0"] * (s.limbs + 1)
    base = chosen(out, "steep", _circle(s)[0], zero)
    words = placed(out, s, angle(out, s, low, high), base, "steep")
    guarded(out, signed(out, words, sign), "opposite(isnan(x[0]))", "x[0]")
    return s.function("atan", out, SOURCE)


def _of_unit_circle(out: Listing, s: Setting) -> tuple[list[str], list[str], str]:
    """|x| and sqrt(1 - x^2), one limb more, and x's sign; ``inside`` where |x| <= 1."""
    n = s.limbs + 1
    a, sign = magnitude(out, "x", s.limbs)
    a = chosen(out, out.named(f"less({a[0]}, 2)"), a, ["2"])
    minus = [out.named(f"-{word}") for word in a]
    gap = out.settle(out.cascade(paired(minus, ["1"], ["0"] * n)), n, robust=True)
    out.write(f"gap = {gap[0]}\ninside = opposite(either(less(gap, 0), isnan(x[0])))")
    out.write("open = less(0, gap)\nsafe = select(open, gap, 1)")
    above = out.settle(out.cascade(paired(a, ["1"], ["0"] * n)), n, robust=True)
    root = square_root(out, s, ["safe", *gap[1:]], above)
    return a, chosen(out, "open", root, ["0"]), sign


@cache
def asin(s: Setting) -> str:
    """atan(x / sqrt(1 - x^2))."""
    out = Listing()
    a, b, sign = _of_unit_circle(out, s)
    out.write(f"steep = less({b[0]}, {a[0]})")
    levels = angle(out, s, chosen(out, "steep", b, a), chosen(out, "steep", a, b))
    base = chosen(out, "steep", _circle(s)[0], ["0"])
    words = signed(out, placed(out, s, levels, base, "steep"), sign)
    guarded(out, words, "inside", "1e999 - 1e999")
    return s.function("asin", out, SOURCE)


@cache
def acos(s: Setting) -> str:
    """The angle of (x, sqrt(1 - x^2))."""
    out = Listing()
    a, b, sign = _of_unit_circle(out, s)
    out.write(f"steep = less({a[0]}, {b[0]})")
    levels = angle(out, s, chosen(out, "steep", a, b), chosen(out, "steep", b, a))
    base = _base(out, s, "steep", sign)
    # On the right and steep, or on the left and flat.
    minus = out.named(f"either(both(steep, opposite({sign})), both(opposite(steep), {sign}))")
    guarded(out, placed(out, s, levels, base, minus), "inside", "1e999 - 1e999")
    return s.function("acos", out, SOURCE)


@cache
def atan2(s: Setting) -> str:
    """The angle of the point (x, y)."""
    out = Listing()
    a, below = magnitude(out, "y", s.limbs)
    b, left = magnitude(out, "x", s.limbs)
    out.write(f"far_y = opposite(finite({a[0]}))\nfar_x = opposite(finite({b[0]}))")
    # An infinity beside a finite number is 1 beside 0.
    a, b = (
        chosen(out, "far_y", ["1"], chosen(out, "far_x", ["0"], a)),
        chosen(out, "far_x", ["1"], chosen(out, "far_y", ["0"], b)),
    )
    out.write(f"steep = less({b[0]}, {a[0]})")
    low, high = chosen(out, "steep", b, a), chosen(out, "steep", a, b)
    high[0] = out.named(f"select(nonzero({high[0]}), {high[0]}, 1)")
    words, _ = normal(out, s, high, low)
    levels = angle(out, s, words[s.limbs :], words[: s.limbs])
    base = _base(out, s, "steep", left)
    minus = out.named(f"either(both(steep, opposite({left})), both(opposite(steep), {left}))")
    words = signed(out, placed(out, s, levels, base, minus), below)
    guarded(out, words, "opposite(either(isnan(x[0]), isnan(y[0])))", "x[0] + y[0]")
    return s.function("atan2", out, SOURCE, "yx")
