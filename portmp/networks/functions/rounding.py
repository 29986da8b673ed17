"""Rounding to integers, and the remainder."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from portmp.networks.functions.setting import Setting, chosen, guarded, magnitude, signed
from portmp.networks.language import NETWORKS, Stage, fold
from portmp.networks.levels import Listing, limbs, paired, returned, value

SOURCE = "limb by limb"
EXACT = "exact"
_OWN_SIGN = "copysign(0, x[0])"


def integral(out: Listing, s: Setting, word: str) -> str:
    """The integer nearest to a word of any size, ties to even; zero has the word's sign."""
    big = repr(2.0 ** (s.p - 1))
    size = out.named(f"fabs({word})")
    near = out.named(f"select(less({size}, {big}), ({size} + {big}) - {big}, {size})")
    return out.named(f"copysign({near}, {word})")


def floor_word(out: Listing, s: Setting, word: str) -> str:
    """The largest integer that is not above a word."""
    near = integral(out, s, word)
    return out.named(f"select(less({word}, {near}), {near} - 1, {near})")


def exclusive(out: Listing, a: str, b: str) -> str:
    """Whether one of two flags is set, and the other not."""
    both, one = out.named(f"both({a}, {b})"), out.named(f"either({a}, {b})")
    return out.named(f"both({one}, opposite({both}))")


def odd_sum(out: Listing, s: Setting, integers: list[str]) -> str:
    """Whether the sum of integral words is odd: so it is with an odd number of odd ones."""
    odd = ""
    for word in integers:
        half = out.named(f"0.5 * {word}")
        uneven = out.named(f"nonzero({half} - {integral(out, s, half)})")
        odd = exclusive(out, odd, uneven) if odd else uneven
    return odd


def whole(out: Listing, s: Setting, words: list[str]) -> list[str]:
    """The words of the largest integer that is not above the sum of limbs.

    A limb counts where all above it are integers.
    """
    found, exact = [floor_word(out, s, words[0])], ""
    for above, word in pairwise(words):
        same = out.named(f"opposite(nonzero({found[-1]} - {above}))")
        exact = out.named(f"both({exact}, {same})") if exact else same
        found.append(out.named(f"select({exact}, {floor_word(out, s, word)}, 0)"))
    return found


def _of_head(out: Listing, s: Setting, op: str, head: str, full: str, rare: str = "") -> str:
    """A network that is *head* alone, and where that decides nothing, what limbs give (*full*).

    That is *rare*, as a rule where the leading limb is integral.
    What is usual stands without guards: infinities and NaN are their own heads, zeros are rare.
    """
    words, rare = [head], rare or f"opposite(nonzero(x[0] - {head}))"
    if s.limbs > 1:
        plain = value([head, *["0"] * (s.limbs - 1)])
        words = limbs(out.named(f"seldom({rare}, {full}(x), {plain})", "found"), s.limbs)
    out.write(returned(words))
    return s.function(op, out, SOURCE, bound=EXACT)


def _full(s: Setting, op: str, out: Listing, words: list[str], zero: str) -> str:
    """The network of all limbs of a finite number; its name. *zero*: with its sign."""
    first = out.named(f"select(nonzero({words[0]}), {words[0]}, {zero})")
    guarded(out, [first, *words[1:]], "")
    return s.function(f"{op}_limbs", out, SOURCE, bound=EXACT)


def _floor_limbs(s: Setting, negative: bool) -> str:
    """The floor, or less the floor of -x."""
    out = Listing()
    x = [out.named(f"-{word}") for word in limbs("x", s.limbs)] if negative else limbs("x", s.limbs)
    words = out.settle([*whole(out, s, x), "0"], s.limbs, robust=True)
    if negative:
        words = [out.named(f"-{word}") for word in words]
        return _full(s, "ceil", out, words, _OWN_SIGN)
    return _full(s, "floor", out, words, "select(nonzero(x[0]), 0, x[0])")


def _trunc_limbs(s: Setting) -> str:
    out = Listing()
    a, sign = magnitude(out, "x", s.limbs)
    words = out.settle([*whole(out, s, a), "0"], s.limbs, robust=True)
    return _full(s, "trunc", out, signed(out, words, sign), _OWN_SIGN)


def _round_limbs(s: Setting) -> str:
    """floor(x + 1/2), less one where that is odd and x half way."""
    n = s.limbs + 1
    out = Listing()
    a, sign = magnitude(out, "x", s.limbs)
    more = out.settle(out.cascade(paired(a, ["0.5"], ["0"] * n)), n, robust=True)
    words = out.settle([*whole(out, s, more), "0"], n, robust=True)
    rest = ""
    for word, other in zip(words, more, strict=True):
        differs = out.named(f"nonzero({word} - {other})")
        rest = out.named(f"either({rest}, {differs})") if rest else differs
    odd = odd_sum(out, s, words)
    tie = out.named(f"both({odd}, opposite({rest}))", "tie")
    less = out.named(f"select({tie}, -1, 0)")
    words = out.settle(out.cascade(paired(words, [less])), s.limbs, robust=True)
    return _full(s, "round", out, signed(out, words, sign), _OWN_SIGN)


@cache
def floor(s: Setting) -> str:
    """The largest integer that is not above x."""
    out = Listing()
    head = floor_word(out, s, "x[0]")
    return _of_head(out, s, "floor", head, _floor_limbs(s, False))


@cache
def ceil(s: Setting) -> str:
    """The smallest integer that is not below x."""
    out = Listing()
    head = out.named(f"-{floor_word(out, s, out.named('-x[0]'))}")
    return _of_head(out, s, "ceil", head, _floor_limbs(s, True))


@cache
def trunc(s: Setting) -> str:
    """The integer part."""
    out = Listing()
    head = out.named(f"copysign({floor_word(out, s, out.named('fabs(x[0])'))}, x[0])")
    return _of_head(out, s, "trunc", head, _trunc_limbs(s))


@cache
def round(s: Setting) -> str:
    """The nearest integer, ties to even: lower limbs decide where the leading one is half way."""
    out = Listing()
    head = integral(out, s, "x[0]")
    off = out.named(f"fabs(x[0] - {head})")
    rare = f"opposite(both(nonzero({off}), nonzero({off} - 0.5)))"
    return _of_head(out, s, "round", head, _round_limbs(s), rare)


# --- remainder ------------------------------------------------------------------------------


NEAR, FAR = 2, 4
"""Words more than the format's that a remainder keeps, for quotients of one word and for others.

What has more bits loses those below: limbs with gaps between them, if the quotient is beyond u^-4.
"""


def _step(s: Setting, kept: int) -> str:
    """Subtracts the multiple of b 2^m nearest to r, m as small as leaves the multiple below 2^p.

    Of huge r one that is below r, as the nearest one may overflow: the last or the one before.
    """
    n = s.limbs
    out = Listing()
    m = out.named(f"exponent(r[0]) - exponent(b[0]) - {s.p - 3}")
    m = out.named(f"select(less({m}, 0), 0, {m})")
    half = out.nearest(f"0.5 * {m}", s.nearest)
    first, second = out.named(f"power_of_two({half})"), out.named(f"power_of_two({m} - {half})")
    b = [out.named(f"({word} * {first}) * {second}") for word in limbs("b", n)]
    exact = out.named(f"r[0] / {b[0]}")
    q = integral(out, s, exact)
    if kept > n + NEAR:
        last = floor_word(out, s, exact)
        last = out.named(f"select(less({last}, 2), {last}, {last} - 1)")
        q = out.named(f"select({_huge(s, 'r[0]')}, {last}, {q})")
    levels = [[word] for word in limbs("r", kept)]
    out.product([out.named(f"-{q}")], b, levels)
    out.write(returned(out.settle(out.cascade(levels), kept, robust=True)))
    return s.define(
        s.of(kept).named(f"fmod_step_{n}_limbs"),
        f"r:{kept} b:{n} i:word -> {kept}",
        out,
        "long division",
        EXACT,
    )


def _huge(s: Setting, word: str) -> str:
    """Whether a multiple that is nearest to a positive word may overflow."""
    return f"less({2.0 ** (s.largest_exponent - 1)!r}, {word})"


def _one_word(s: Setting, ratio: str) -> str:
    """Whether a quotient is at most 2^(p - 3), below the word after that: NaN is not."""
    return f"less({ratio}, {2.0 ** (s.p - 3) + 0.25!r})"


def _far(s: Setting) -> str:
    """The remainder nearest to zero for a quotient of any size, in the words of a near one."""
    n, kept = s.limbs, s.limbs + FAR
    steps = 2 * (s.largest_exponent + s.p) // (s.p - 4) + 3
    loop = s.named("fmod_steps")
    if loop not in NETWORKS:
        stage = Stage(_step(s, kept), tuple((float(i),) for i in range(steps)))
        fold(loop, f"r:{kept} b:{n} -> {kept}", (), [stage], source="long division", bound=EXACT)
    out = Listing()
    found = out.named(f"{loop}({value([*limbs('a', n), *['0'] * FAR])}, b)")
    out.write(returned(out.settle(limbs(found, kept), n + NEAR, robust=True)))
    signature = f"a:{s.kind} b:{s.kind} -> {n + NEAR}"
    return s.define(s.named("fmod_far"), signature, out, "long division", EXACT)


def _not_negative(out: Listing, s: Setting, r: Sequence[str], b: Sequence[str]) -> list[str]:
    """The remainder nearest to zero, or that and b."""
    below = out.named(f"less({r[0]}, 0)")
    more = [out.named(f"select({below}, {word}, 0)") for word in b]
    return out.settle(out.cascade(paired(r, more)), s.limbs, robust=True)


_NEAR_OF_TWO_LIMBS = """
p, e = two_prod(q, b[0])
d, f = two_prod(q, b[1])
h = a[0] + p
t, e1 = two_sum(a[1], e)
h, e2 = two_sum(h, d)
h, l = two_sum(h, t)
e1, e3 = two_sum(e1, e2)
e1, e4 = two_sum(e1, f)
l, e5 = two_sum(l, e1)
rest = (e3 + e4) + e5
below = less((h + l) + rest, 0)
h, e1 = fast_two_sum(select(below, b[0], 0), h)
l, e2 = two_sum(l, select(below, b[1], 0))
l, e3 = two_sum(l, e1)
h, l = two_sum(h, l)
l = l + (rest + (e2 + e3))
h, l = fast_two_sum(h, l)
return h, l
"""


def _near(s: Setting) -> str:
    """The remainder of a quotient of one word; -q is the integer that is nearest to it.

    The difference of the leading words is exact (Sterbenz). Sums keep their errors; what is left of
    them, *rest*, is zero where the limbs of a and b have no gaps. What is below zero is so by less
    than b: up to 2^(p - 3) the quotient's rounding, b[1] and a[1] move it by an eighth each.
    """
    out = Listing()
    out.write(_NEAR_OF_TWO_LIMBS)
    return s.define(
        s.named("fmod_near"), f"a:2 b:2 q:word -> {s.kind}", out, "long division", EXACT
    )


def _settled(s: Setting, op: str) -> str:
    """The remainder of any operands; of two limbs those of which a quotient of one word is none."""
    n, near = s.limbs, s.limbs + NEAR
    out = Listing()
    a, sign = magnitude(out, "x", n)
    b, _ = magnitude(out, "y", n)
    out.write(f"defined = both(finite(x[0]), nonzero(y[0]))\nall_of = opposite(finite({b[0]}))")
    out.write("inside = both(defined, opposite(all_of))")
    a, b = chosen(out, "inside", a, ["0"]), chosen(out, "inside", b, ["1"])
    if n == 2:
        once, far = value(["0"] * near), f"opposite({_one_word(s, out.named(f'{a[0]} / {b[0]}'))})"
    else:
        once = out.named(f"{_step(s, near)}({value([*a, *['0'] * NEAR])}, {value(b)}, 0)")
        far = out.named(f"less({s.p - 3}, exponent({a[0]}) - exponent({b[0]}))")
    far = out.named(f"either({far}, {_huge(s, a[0])})")
    r = limbs(out.named(f"seldom({far}, {_far(s)}({value(a)}, {value(b)}), {once})"), near)
    words = _not_negative(out, s, r, b)
    words = chosen(out, "all_of", limbs("x", n), signed(out, words, sign))
    head = out.named(f"select(nonzero({words[0]}), {words[0]}, copysign(0, x[0]))")
    out.write("ok = both(defined, opposite(isnan(y[0])))")
    guarded(out, [head, *words[1:]], "ok", "1e999 - 1e999")
    return s.function(op, out, "long division", "xy", _REMAINDER)


def _of_two_limbs(s: Setting) -> str:
    """The remainder of finite operands whose quotient is one word; of others it is seldom asked.

    So that a branch keeps all of them apart, no guard stands beside what is usual. Signs are
    factors: flags would have to outlive the branch.
    """
    out = Listing()
    signs = [out.named(f"copysign(1, {name}[0])") for name in "xy"]
    a, b = (
        [out.named(f"fabs({name}[0])"), out.named(f"{name}[1] * {sign}")]
        for name, sign in zip("xy", signs, strict=True)
    )
    ratio = out.named(f"{a[0]} / {b[0]}", "ratio")
    q = out.named(f"{s.nearest} - ({ratio} + {s.nearest})", "q")
    near = out.named(_one_word(s, ratio), "near")
    rare = out.named(f"either({_huge(s, a[0])}, opposite(both({near}, finite({b[0]}))))", "rare")
    words = limbs(out.named(f"{_near(s)}({value(a)}, {value(b)}, {q})"), 2)
    usual = value([out.named(f"{word} * {signs[0]}") for word in words])
    others = f"{_settled(s, 'fmod_of_any')}(x, y)"
    out.write(returned(limbs(out.named(f"seldom({rare}, {others}, {usual})"), 2)))
    return s.function("fmod", out, "long division", "xy", _REMAINDER)


_REMAINDER = "u^N of y where x / y is below u^-4; exact where the limbs of x and y have no gaps"
"""The bound of remainders."""


@cache
def fmod(s: Setting) -> str:
    """Long division, a word of the quotient a step, to the nearest multiple; then to that below."""
    return _of_two_limbs(s) if s.limbs == 2 else _settled(s, "fmod")
