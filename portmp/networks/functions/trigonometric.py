"""Sine, cosine, tangent: x = k pi/64 + r, sin(x) = S + C r + (C (sin(r) - r) + S (cos(r) - 1)).

S and C, sine and cosine of k pi/64, come from a table with one limb more than the format. r has
one limb more too: by Cody and Waite's reduction where x is not large and r not tiny, else by Payne
and Hanek's, with as many bits of 1/(2 pi) as it takes for any finite x.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import factorial

from portmp.networks import constants
from portmp.networks.functions.setting import Setting, divided, guarded, odd
from portmp.networks.language import NETWORKS, Stage, define, fold
from portmp.networks.levels import MOST, Listing, limbs, value

STEPS = 128
"""Entries of the table in a turn."""
REACH = 5.35
"""|r| <= pi/128 < 2^-REACH."""
SOURCE = "table of sines, Taylor series"


def _table(s: Setting) -> str:
    step = 2 * constants.pi() // STEPS
    # From a turn and a quarter cosines are read too; all are of angles up to an eighth of a turn.
    sines = []
    for j in range(STEPS // 8 + 1):
        sines.append(constants.sin_cos(j * step))
    rows = []
    for j in range(STEPS + STEPS // 4):
        quarter, rest = divmod(j % STEPS, STEPS // 4)
        low = rest <= STEPS // 8
        sine, cosine = sines[rest] if low else sines[STEPS // 4 - rest][::-1]
        number = cosine if quarter & 1 else sine
        if rest == 0:
            number = constants.ONE * (quarter & 1)
        rows.append(s.words(-number if quarter & 2 else number, s.limbs + 1))
    return s.table("sin_table", rows, "sin(2 pi j / 128)")


def _series(s: Setting) -> tuple[tuple[str, int], tuple[str, int]]:
    """(sin(r) - r) / r^3 and (cos(r) - 1) / r^2 as polynomials in r^2."""

    def terms(name: str, power: int) -> tuple[str, int]:
        def coefficient(i: int) -> Fraction:
            return Fraction((-1) ** (i + 1), factorial(2 * i + power))

        return s.series(name, coefficient, 2 * REACH, s.bits - 2 * power)

    return terms("sin_terms", 3), terms("cos_terms", 2)


# --- reduction --------------------------------------------------------------------------------


def _far_unit(s: Setting) -> float:
    """What stands for a turn: float32 keeps its small words above the smallest numbers so."""
    return 2.0**60 if s.word == "float32" else 1.0


def _far_step(s: Setting, levels: int) -> str:
    """Adds a chunk's product, modulo a turn, to a sum; the next chunk's is 2^-p as much."""
    p, unit = s.p, _far_unit(s)
    first = s.of(levels + 1)
    name = first.named("far_step")
    out = Listing()
    out.write(f"chunk = {_far_chunks(s)}(index + i)")
    words = limbs("state", levels)
    a = f"state[{levels}]"
    for product in out.two_prod(a, "chunk"):
        # Multiples of a turn above 2^p turns; then of four turns, then of one.
        word = out.named(f"select(less(fabs({product}), {unit * 2.0**p}), {product}, 0)")
        for turns in (4.0, 1.0):
            big = repr(1.5 * 2.0 ** (p - 1) * turns * unit)
            whole = out.named(f"({word} + {big}) - {big}")
            word = out.named(f"{word} - {whole}")
        for i in range(levels):
            words[i], word = out.two_sum(words[i], word)
    out.write(f"return {', '.join(words)}, {a} * {2.0**-p}")
    return s.define(
        name,
        f"state:{levels + 1} index:word i:word -> {levels + 1}",
        out,
        "a chunk of 1/(2 pi)",
        "exact but for the last word",
    )


def _far_chunks(s: Setting) -> str:
    """1/(2 pi) in chunks of p bits, each as a number below 1."""
    last = (s.largest_exponent - s.p + 1) // s.p
    count = last + _far_levels(s.of(MOST)) + 2
    turn = (1 << (2 * constants.BITS)) // (2 * constants.pi())
    digits = turn >> (constants.BITS - s.p * count)
    rows = [
        (float(Fraction((digits >> (s.p * (count - 1 - j))) & ((1 << s.p) - 1), 1 << s.p)),)
        for j in range(count)
    ]
    return s.table("turn_chunks", rows, "bits of 1/(2 pi)")


def _far_levels(s: Setting) -> int:
    """Words of a turn: r has its limbs even where x has none of them but one multiple of pi's."""
    return 2 * s.limbs + 2


def _far(s: Setting) -> str:
    """Payne and Hanek's reduction: r, one limb more, and k of any finite x."""
    n, levels, unit, p = s.limbs, _far_levels(s), _far_unit(s), s.p
    name = s.named("far")
    if name in NETWORKS:
        return name
    step = _far_step(s, levels)
    sums = s.of(levels + 1).named("far_sum")
    fold(
        sums,
        f"state:{levels + 1} index:word -> {levels + 1}",
        (),
        [Stage(step, tuple((float(i),) for i in range(levels + 2)))],
        source="Payne and Hanek's reduction of a word",
        bound="exact but for the last word",
    )
    out = Listing()
    words = ["0"] * levels
    for i in range(n):
        e = out.named(f"exponent(x[{i}]) - {p - 1}")
        chunk = out.nearest(f"fma({e}, {1 / p!r}, {-0.5 + 0.5 / p!r})", s.nearest)
        chunk = out.named(f"select(less({e}, 0), 0, {chunk})")
        scale = out.named(f"power_of_two({-p} * {chunk})")
        a = out.named(f"x[{i}] * {scale}")
        if unit != 1.0:
            a = out.named(f"{a} * {unit}")
        total = out.named(f"{sums}(({', '.join([*words, a])}), {chunk})")
        words = limbs(total, levels)
    words = out.settle(words, levels, robust=True)
    # in steps, of which there are 128 in a turn
    steps = [out.named(f"{word} * {STEPS}") for word in words]
    big = repr(1.5 * 2.0 ** (p - 1) * unit)
    k = out.named(f"({steps[0]} + {big}) - {big}")
    rest = [out.named(f"{steps[0]} - {k}"), *steps[1:]]
    rest = out.settle(rest, n + 1, robust=True)
    angle = value(s.texts(constants.pi() // (STEPS // 2), n + 1))
    r = out.named(f"mul{n + 1}({value(rest)}, {angle})")
    k = out.named(f"{k} * {1 / unit}")
    j = _modulo(out, s, k)
    shrunk = [out.named(f"{word} * {1 / unit}") for word in limbs(r, n + 1)]
    out.write(f"return {', '.join([*shrunk, j])}")
    signature = f"x:{s.kind} -> {n + 2}"
    define(
        name, signature, str(out), source="Payne and Hanek's reduction", bound=f"a few u^{n + 1}"
    )
    return name


def _modulo(out: Listing, s: Setting, k: str) -> str:
    """k modulo the steps of a turn."""
    turns = out.nearest(f"fma({k}, {1 / STEPS}, {-0.5 + 0.5 / STEPS})", s.nearest)
    return out.named(f"fma({turns}, {-STEPS}, {k})")


def reduced(out: Listing, s: Setting) -> str:
    """r, one limb more, and k modulo a turn's steps, as one value: of x with a finite x0."""
    n = s.limbs
    largest, least = (2.0**8, 2.0**-30) if s.word == "float32" else (2.0**19, 2.0**-70)
    steps = s.words(Fraction(STEPS // 2 * constants.ONE, constants.pi()), 1)[0]
    out.write(f"far = less({largest}, fabs(x0))\nnear = select(far, 0, x0)")
    k = out.nearest(f"near * {steps!r}", s.nearest, "k")
    levels: list[list[str]] = [["near"], *([word] for word in limbs("x", n)[1:]), [], []]
    out.product([out.named(f"-{k}")], s.texts(constants.pi() // (STEPS // 2), n + 2), levels)
    r = out.settle(out.cascade(levels), n + 1, robust=True)
    j = _modulo(out, s, k)
    out.write(f"lost = both(nonzero({k}), less(fabs({r[0]}), {least}))")
    close = out.named(value([*r, j]))
    whole = value(["x0", *limbs("x", n)[1:]])
    return out.named(f"seldom(either(far, lost), {_far(s)}({whole}), {close})", "reduced")


# --- sums -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Angle:
    """Words of S and C, of r, and sin(r) - r and cos(r) - 1 as values of a few limbs."""

    sine: list[str]
    cosine: list[str]
    r: list[str]
    odd: tuple[str, int]
    even: tuple[str, int]


def angle(out: Listing, s: Setting) -> Angle:
    """What sines and cosines of x, with x0 finite, are made of."""
    n = s.limbs + 1
    found = reduced(out, s)
    return of_angle(out, s, f"{found}[{n}]", limbs(found, n))


def of_angle(out: Listing, s: Setting, j: str, r: list[str]) -> Angle:
    """The same of j pi/64 + r, r with one limb more and at most pi/128."""
    n = s.limbs + 1
    table = _table(s)
    sine = out.named(f"{table}({j})", "sine")
    cosine = out.named(f"{table}({j} + {STEPS // 4})", "cosine")
    (of_sine, k), (of_cosine, m) = _series(s)
    most = max(k, m)
    short = out.named(value(r[:most]), "r")
    square = out.named(f"{short} * {short}", "square")
    first = out.named(value(limbs(square, k)))
    cube = out.named(f"{first} * {out.named(value(r[:k]))}")
    rest = out.named(f"{cube} * {of_sine}({first})", "rest")
    second = out.named(value(limbs(square, m)))
    versed = out.named(f"{second} * {of_cosine}({second})", "versed")
    return Angle(limbs(sine, n), limbs(cosine, n), r, (rest, k), (versed, m))


def ratio(out: Listing, s: Setting, r: list[str]) -> list[str]:
    """Words of sin(r)/r - 1."""
    (terms, k), _ = _series(s)
    short = out.named(value(r[:k]))
    square = out.named(f"{short} * {short}")
    return limbs(out.named(f"{square} * {terms}({square})"), k)


def _combined(
    out: Listing, s: Setting, a: list[str], b: list[str], x: Angle, sign: str
) -> list[str]:
    """Words, one a level, of a + b r + b (sin(r) - r) + a (cos(r) - 1); *sign* is b's."""
    b = [out.named(f"{sign}{word}") for word in b] if sign else b
    levels = [[word] for word in a]
    out.product(b, x.r, levels)
    for factor, (name, k) in ((b, x.odd), (a, x.even)):
        small = out.named(f"{out.named(value(factor[:k]))} * {name}")
        for level, word in zip(levels[1:], limbs(small, k), strict=False):
            level.append(word)
    return out.cascade(levels)


def sine(out: Listing, s: Setting, x: Angle) -> list[str]:
    """Words, one a level, of the sine."""
    return _combined(out, s, x.sine, x.cosine, x, "")


def cosine(out: Listing, s: Setting, x: Angle) -> list[str]:
    """Words, one a level, of the cosine."""
    return _combined(out, s, x.cosine, x.sine, x, "-")


def _finished(out: Listing, s: Setting, words: list[str], op: str) -> str:
    """The network of these results; infinities have none."""
    guarded(out, words, "inside", "x[0] - x[0]")
    return s.function(op, out, SOURCE)


def _begun() -> Listing:
    out = Listing()
    out.write("inside = finite(x[0])\nx0 = select(inside, x[0], 0)")
    return out


@cache
def sin(s: Setting) -> str:
    """The sine."""
    out = _begun()
    words = out.settle(sine(out, s, angle(out, s)), s.limbs, robust=True)
    return _finished(out, s, [odd(out, words[0], "x[0]"), *words[1:]], "sin")


@cache
def cos(s: Setting) -> str:
    """The cosine."""
    out = _begun()
    return _finished(out, s, out.settle(cosine(out, s, angle(out, s)), s.limbs, robust=True), "cos")


@cache
def tan(s: Setting) -> str:
    """The tangent, the quotient of sine and cosine with one limb more."""
    n = s.limbs + 1
    out = _begun()
    x = angle(out, s)
    above = out.settle(sine(out, s, x), n, robust=True)
    below = out.settle(cosine(out, s, x), n, robust=True)
    words = out.settle(divided(out, s, above, below), s.limbs, ordered=True)
    return _finished(out, s, [odd(out, words[0], "x[0]"), *words[1:]], "tan")
