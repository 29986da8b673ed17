"""The exponential function: x = (64 e + j) ln2/64 + r, exp(x) = 2^e T_j (1 + r + r^2 q(r)).

T_j = 2^(j/64) is a table with one limb more than the format, so only T_j (exp(r) - 1), which is at
most 2^-7.5 of it, has the errors of the format's products.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial

from portmp.networks import constants
from portmp.networks.functions.setting import Setting, guarded, scaled
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


def _terms(s: Setting) -> tuple[str, int]:
    """(exp(r) - 1 - r) / r^2."""
    return s.series(
        "exp_terms", lambda i: Fraction(1, factorial(i + 2)), REACH, s.bits + 6 - 2 * REACH
    )


def reduced(out: Listing, s: Setting, x0: str, lower: list[str]) -> tuple[list[str], str, str]:
    """r as limbs, e and j, of x with the bounded leading word *x0*."""
    n = s.limbs
    k = out.named(f"{x0} * {s.words(STEPS * Fraction(constants.ONE, constants.ln2()), 1)[0]!r}")
    k = out.nearest(k, s.nearest, "k")
    e = out.nearest(f"fma({k}, {1 / STEPS}, {-0.5 + 0.5 / STEPS})", s.nearest, "e")
    j = out.named(f"fma({e}, {-STEPS}, {k})", "j")
    levels = paired([x0, *lower], [""] * (n + 1))
    levels = [[word for word in level if word] for level in levels]
    out.product([out.named(f"-{k}")], s.texts(constants.ln2() // STEPS, n + 1), levels)
    return out.settle(out.cascade(levels), n, robust=True), e, j


def parts(out: Listing, s: Setting, x0: str, lower: list[str]) -> tuple[list[str], list[str], str]:
    """T (one limb more), T (exp(r) - 1) and e: exp(x) = 2^e times their sum."""
    r, e, j = reduced(out, s, x0, lower)
    terms, k = _terms(s)
    t = out.named(f"{_table(s)}({j})", "table")
    short = out.named(value(r[:k]), "r")
    square = out.named(f"{short} * {short}", "square")
    rest = out.named(f"{square} * {terms}({short})", "rest")
    p = out.settle(out.cascade(paired(r, limbs(rest, k))), s.limbs, ordered=True)
    head = out.named(value(limbs(t, s.limbs)))
    small = out.named(f"{head} * {out.named(value(p))}")
    return limbs(t, s.limbs + 1), limbs(small, s.limbs), e


@cache
def exp(s: Setting) -> str:
    """exp(x)."""
    limit = 104.0 if s.word == "float32" else 746.0
    out = Listing()
    out.write(f"inside = less(fabs(x[0]), {limit})\nx0 = select(inside, x[0], 0)")
    table, small, e = parts(out, s, "x0", limbs("x", s.limbs)[1:])
    words = out.settle(out.cascade(paired(table, small)), s.limbs, ordered=True)
    out.write("special = select(less(x[0], 0), 0, x[0] + 1e999)")
    guarded(out, scaled(out, words, e, s), "inside", "special")
    return s.define(s.named("exp"), f"x:{s.kind} -> {s.kind}", out, SOURCE, "1.1u^N (measured)")
