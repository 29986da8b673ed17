"""Logarithms: log(x) = k ln2 - log(c_j) + log1p(s).

x = 2^k m, and s = m c_j - 1 for a short c_j near 1/m. With w = s / (2 + s), log1p(s) = s + w (2
w^2 (1/3 + w^2/5 + ...) - s): what follows s is at most 2^-8 of it, so only that has the errors of
the format's arithmetic. About x = 1 both k and log(c_j) are zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from portmp.networks import constants
from portmp.networks.functions.setting import Setting, chopped, chosen, guarded, odd
from portmp.networks.levels import Listing, limbs, paired, value

STEPS = 128
"""Entries of the table."""
REACH = 8.0
"""|w| <= 2^-REACH."""
SMALL = 2.0**-8
"""Below, log1p takes its operand for s."""
SOURCE = "table of logarithms, series of artanh"


@cache
def _rows(scale: str) -> tuple[tuple[Fraction, int, int], ...]:
    """For each part of [1, 2): c, whether that is in the upper half, and -log(c) or -log(2 c).

    Logarithms to base e, 2 or 10; the upper half begins at the square root of 2.
    """
    found = []
    for i in range(STEPS):
        c = Fraction(round(1024 / (1 + Fraction(2 * i + 1, 2 * STEPS))), 1024)
        c = {0: Fraction(1), STEPS - 1: Fraction(1, 2)}.get(i, c)
        high = int(c * c < Fraction(1, 2))
        power = c * (1 + high)
        found.append(
            (c, high, -over(constants.log(constants.real(*power.as_integer_ratio())), scale))
        )
    return tuple(found)


def over(logarithm: int, scale: str) -> int:
    """A natural logarithm as one to another base."""
    if scale == "e":
        return logarithm
    base = {"2": constants.ln2(), "10": constants.log(constants.real(10))}[scale]
    return constants.over(logarithm, base)


def _table(s: Setting, scale: str) -> str:
    rows = [(float(c), float(high), *s.words(log, s.limbs + 1)) for c, high, log in _rows(scale)]
    return s.table(f"log{'' if scale == 'e' else scale}_table", rows, "c, and -log(c) or -log(2 c)")


def normal(
    out: Listing, s: Setting, words: list[str], others: Sequence[str] = ()
) -> tuple[list[str], str]:
    """Words of a positive number scaled to leading ones from 1 up to 2, and the exponent.

    *Others* follow, scaled by the same power.
    """
    up = 30 if s.word == "float32" else 60
    above = out.named(f"less(1, {words[0]})")
    factor = out.named(f"select({above}, 0.25, {2.0**up})")
    step = [out.named(f"{word} * {factor}") for word in (*words, *others)]
    e = out.named(f"exponent({step[0]})")
    power = out.named(f"power_of_two(-{e})")
    k = out.named(f"{e} + select({above}, 2, {-up})", "k")
    return [out.named(f"{word} * {power}") for word in step], k


@dataclass(frozen=True)
class Reduced:
    """Words of what a logarithm is the sum of: k (once ln2), the table's, and s."""

    k: str
    table: list[str]
    s: list[str]


def reduced(out: Listing, s: Setting, words: list[str], scale: str = "e") -> Reduced:
    """Of a positive number, whose leading word is finite; all with one limb more."""
    m, k = normal(out, s, words)
    index = out.named(f"fma({m[0]}, {STEPS}, {-STEPS})")
    index = out.nearest(f"{index} - 0.5", s.nearest, "index")
    row = out.named(f"{_table(s, scale)}({index})", "row")
    levels: list[list[str]] = [[] for _ in range(s.limbs + 1)]
    out.product([f"{row}[0]"], m, levels)
    levels[0].append("-1")
    rest = out.settle(out.cascade(levels), s.limbs + 1, robust=True)
    k = out.named(f"{k} + {row}[1]")
    return Reduced(k, [f"{row}[{i + 2}]" for i in range(s.limbs + 1)], rest)


def series(out: Listing, s: Setting, words: list[str]) -> list[str]:
    """The words of log1p(s) - s, at most 2^-8 of it."""
    # 2/3 + 2 z/5 + 2 z^2/7 + ..., z = w^2
    bits, k = s.bits + 6 - 2 * REACH, min(s.limbs, -(-(s.bits + 6 - 8 + 4) // s.p))
    terms, most = s.series("log_terms", lambda i: Fraction(2, 2 * i + 3), 2 * REACH, bits)
    short = out.named(value(words[:k]), "s")
    w = out.named(f"{short} / {out.named(f'{short} + 2')}", "w")
    z = out.named(f"{w} * {w}", "z")
    head = out.named(value(limbs(z, most)))
    inner = out.named(f"{head} * {terms}({head})")
    inner = out.named(value([*limbs(inner, most), *["0"] * (k - most)]))
    inner = out.named(f"{inner} - {short}")
    return limbs(out.named(f"{w} * {inner}", "rest"), k)


def total(
    out: Listing, s: Setting, parts: Reduced, rest: list[str], scale: str = "e"
) -> list[list[str]]:
    """The levels of a logarithm."""
    n = s.limbs + 1
    levels: list[list[str]] = [[] for _ in range(n)]
    out.product([parts.k], s.texts(over(constants.ln2(), scale), n), levels)
    if scale != "e":
        small = out.settle(out.cascade(paired(parts.s, rest)), n)
        out.product(small, s.texts(over(constants.real(1), scale), n), levels)
        found = [parts.table]
    else:
        found = [parts.table, parts.s, ["", *rest]]
    for group in found:
        for level, word in zip(levels, group, strict=False):
            if word:
                level.append(word)
    return levels


def valid(out: Listing, x0: str) -> str:
    """Whether a number has a logarithm that is finite; leaves ``x0``, 1 where it has not."""
    out.write(f"inside = both(less(0, {x0}), finite({x0}))")
    out.write(f"x0 = select(inside, {x0}, 1)")
    return "inside"


def special(out: Listing, x0: str) -> str:
    """The logarithm of zero, of negative numbers, of infinity and NaN."""
    out.write(f"below = select(nonzero({x0}), 1e999 - 1e999, -1e999)")
    return out.named(f"select(either(less(0, {x0}), isnan({x0})), {x0}, below)", "special")


def _logarithm(s: Setting, op: str, scale: str) -> str:
    out = Listing()
    inside = valid(out, "x[0]")
    parts = reduced(out, s, ["x0", *limbs("x", s.limbs)[1:]], scale)
    rest = series(out, s, parts.s)
    words = out.settle(out.cascade(total(out, s, parts, rest, scale)), s.limbs, robust=True)
    if scale != "e":
        words = chopped(out, s, words)
    guarded(out, words, inside, special(out, "x[0]"))
    return s.function(op, out, SOURCE)


@cache
def log(s: Setting) -> str:
    """The natural logarithm."""
    return _logarithm(s, "log", "e")


@cache
def log2(s: Setting) -> str:
    """The logarithm to base 2: exact for powers of two."""
    return _logarithm(s, "log2", "2")


@cache
def log10(s: Setting) -> str:
    """The logarithm to base 10."""
    return _logarithm(s, "log10", "10")


@dataclass(frozen=True)
class Other:
    """Where ``flag`` is set, the logarithm of ``words`` and of 2^k instead."""

    flag: str
    words: list[str]
    k: str


def plus_one(out: Listing, s: Setting, u: list[str], other: Other | None = None) -> list[list[str]]:
    """The levels of log1p(u), for words u with a finite leading one.

    Leaves ``y0``, the leading word of 1 + u, and ``inside`` where that is positive.
    """
    n = s.limbs + 1
    y = out.settle(out.cascade(paired(u, ["1"], ["0"] * n)), n, robust=True)
    if other:
        y = chosen(out, other.flag, other.words, y)
    out.write(f"y0 = {y[0]}\ninside = less(0, y0)\ny1 = select(inside, y0, 1)")
    parts = reduced(out, s, ["y1", *y[1:]])
    k = out.named(f"{parts.k} + select({other.flag}, {other.k}, 0)") if other else parts.k
    small = out.named(f"less(fabs({u[0]}), {SMALL})", "small")
    parts = Reduced(
        out.named(f"select({small}, 0, {k})"),
        [out.named(f"select({small}, 0, {word})") for word in parts.table],
        chosen(out, small, u, parts.s),
    )
    return total(out, s, parts, series(out, s, parts.s))


@cache
def log1p(s: Setting) -> str:
    """log(1 + x)."""
    out = Listing()
    out.write("x0 = select(finite(x[0]), x[0], 0)")
    levels = plus_one(out, s, ["x0", *limbs("x", s.limbs)[1:]])
    words = out.settle(out.cascade(levels), s.limbs, robust=True)
    head = odd(out, words[0], "x[0]")
    out.write("inside = both(inside, finite(x[0]))")
    guarded(
        out, [head, *words[1:]], "inside", special(out, out.named("select(finite(x[0]), y0, x[0])"))
    )
    return s.function("log1p", out, SOURCE)
