"""The exponential function: x = (64 e + j) ln2/64 + r, exp(x) = 2^e T_j (1 + r + r^2 q(r)).

T_j = 2^(j/64) is a table with one limb more than the format, so only T_j (exp(r) - 1), which is at
most 2^-7.5 of it, has the errors of the format's products.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import factorial

from portmp.networks import constants
from portmp.networks.functions.setting import Setting, guarded, odd, scaled
from portmp.networks.levels import Listing, limbs, paired, value

STEPS = 64
"""Entries of the table."""
REACH = 7.5
"""|r| <= 2^-REACH."""
SOURCE = "table of 2^(j/64), Taylor series"


def _table(s: Setting) -> str:
    step = constants.ln2() // STEPS
    rows = [s.words(constants.exp(j * step), s.limbs + 1) for j in range(STEPS)]
    return s.table("exp_table", rows, "2^(j/64)")


def reduced(out: Listing, s: Setting, x: list[str], n: int) -> tuple[list[str], str, str, str]:
    """r in *n* words, k = 64 e + j, e and j, of words with a bounded leading one."""
    k = out.named(f"{x[0]} * {s.words(STEPS * Fraction(constants.ONE, constants.ln2()), 1)[0]!r}")
    k = out.nearest(k, s.nearest, "k")
    e = out.nearest(f"fma({k}, {1 / STEPS}, {-0.5 + 0.5 / STEPS})", s.nearest, "e")
    j = out.named(f"fma({e}, {-STEPS}, {k})", "j")
    levels = [x[i : i + 1] for i in range(n + 1)]
    out.product([out.named(f"-{k}")], s.texts(constants.ln2() // STEPS, n + 1), levels)
    return out.settle(out.cascade(levels), n, robust=True), k, e, j


def _near_one(
    out: Listing, s: Setting, r: list[str], j: str, terms: tuple[str, int], n: int
) -> tuple[str, list[str]]:
    """T_j, and exp(r) - 1 in *n* words, by the *terms* of (exp(r) - 1 - r) / r^2."""
    polynomial, k = terms
    t = out.named(f"{_table(s)}({j})", "table")
    short = out.named(value(r[:k]), "r")
    square = out.named(f"{short} * {short}", "square")
    rest = out.named(f"{square} * {polynomial}({short})", "rest")
    return t, out.settle(out.cascade(paired(r, limbs(rest, k))), n, ordered=True)


def _terms(s: Setting, op: str, bits: float) -> tuple[str, int]:
    return s.series(op, lambda i: Fraction(1, factorial(i + 2)), REACH, bits)


def scaled_down(out: Listing, s: Setting, x: list[str], count: int) -> tuple[list[str], str]:
    """So many words of 2^-e exp(x), the sum of T (one limb more) and T (exp(r) - 1); and e."""
    r, _, e, j = reduced(out, s, x, s.limbs)
    terms = _terms(s, "exp_terms", s.bits + 6 - 2 * REACH)
    t, p = _near_one(out, s, r, j, terms, s.limbs)
    head = out.named(value(limbs(t, s.limbs)))
    small = out.named(f"{head} * {out.named(value(p))}")
    levels = paired(limbs(t, s.limbs + 1), limbs(small, s.limbs))
    return out.settle(out.cascade(levels), count, ordered=True), e


@cache
def exp(s: Setting) -> str:
    """exp(x)."""
    out = Listing()
    out.write(f"inside = less(fabs(x[0]), {limit(s)})\nx0 = select(inside, x[0], 0)")
    words, e = scaled_down(out, s, ["x0", *limbs("x", s.limbs)[1:]], s.limbs)
    out.write("special = select(less(x[0], 0), 0, x[0] + 1e999)")
    guarded(out, scaled(out, words, e, s), "inside", "special")
    return s.function("exp", out, SOURCE)


def limit(s: Setting) -> float:
    """A number whose exponential is infinite, and that of its negative zero."""
    return 104.0 if s.word == "float32" else 746.0


@dataclass(frozen=True)
class Wide:
    """exp(x) = 2^e times the words ``y``, and where ``unit`` (e = j = 0) exp(x) - 1 is ``p``.

    All with one limb more than the format, and right to nearly as much.
    """

    y: list[str]
    e: str
    unit: str
    p: list[str]


def wide(out: Listing, s: Setting, x: list[str]) -> Wide:
    """The exponential of words with a bounded leading one."""
    n = s.limbs + 1
    r, k, e, j = reduced(out, s, x, n)
    t, p = _near_one(out, s, r, j, _terms(s, "expm1_terms", s.bits + 6 - REACH), n)
    levels = [[word] for word in limbs(t, n)]
    out.product(limbs(t, n), p, levels)
    y = out.settle(out.cascade(levels), n)
    return Wide(y, e, out.named(f"opposite(nonzero({k}))", "unit"), p)


def less_one(out: Listing, s: Setting, found: Wide) -> list[str]:
    """Words of exp(x) - 1, one limb more."""
    n = s.limbs + 1
    whole = scaled(out, found.y, found.e, s)
    rest = out.settle(out.cascade(paired(whole, ["-1"])), n, robust=True)
    return [
        out.named(f"select({found.unit}, {a}, {b})") for a, b in zip(found.p, rest, strict=True)
    ]


@cache
def expm1(s: Setting) -> str:
    """exp(x) - 1."""
    out = Listing()
    out.write(f"inside = less(fabs(x[0]), {limit(s)})\nx0 = select(inside, x[0], 0)")
    found = wide(out, s, ["x0", *limbs("x", s.limbs)[1:]])
    top = out.named(f"{scaled(out, found.y[:1], found.e, s)[0]}", "top")
    words = out.settle(less_one(out, s, found), s.limbs, ordered=True)
    head = odd(out, out.named(f"select(finite({top}), {words[0]}, {top})"), "x[0]")
    out.write("special = select(less(x[0], 0), -1, x[0] + 1e999)")
    guarded(out, [head, *words[1:]], "inside", "special")
    return s.function("expm1", out, SOURCE)
