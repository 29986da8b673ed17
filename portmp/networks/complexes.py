"""Operations on complex numbers as networks of those on real ones, each written once.

Operands are real and imaginary parts, a + ib and c + id, each a value of one format; a complex
result has the words of its real part, then those of its imaginary part. Special values are those of
C99's Annex G, branch cuts too; what it leaves open is the same everywhere, and no result depends on
the sign of a NaN. The inverse functions are Kahan's (Branch cuts for complex elementary functions,
1987), whose sums do not cancel.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from portmp.networks import constants, operators
from portmp.networks.functions import ARITY, function
from portmp.networks.functions.setting import Setting
from portmp.networks.language import NETWORKS, Network, define, get
from portmp.networks.levels import Listing, kind, limbs, value

NAN = "1e999 - 1e999"
PREFIX = "complex_"
"""What names of complex operations' networks begin with."""
KAHAN = "Kahan 1987"


class Parts:
    """The listing of a network that is being written: calls of networks by their operations."""

    def __init__(self, s: Setting) -> None:
        self.s = s
        self.out = Listing()

    def __call__(self, op: str, *operands: str) -> str:
        """The name of what a public operator, a function or another complex operation gives."""
        return self.out.named(f"{self.net(op)}({', '.join(operands)})")

    def net(self, op: str) -> str:
        """The name of an operation's network."""
        if op.startswith(PREFIX):
            return network(op.removeprefix(PREFIX), self.s.word, self.s.limbs).name
        if op in ARITY:
            return function(op, self.s.word, self.s.limbs).name
        n = self.s.limbs
        return operators.operator(op, f"add{n}", f"mul{n}", f"div{n}", f"sqrt{n}").name

    def named(self, text: str) -> str:
        """The name of an expression: a flag, a word or a value."""
        return self.out.named(text)

    def constant(self, number: Fraction | int) -> str:
        """A number as a value."""
        return self.named(value(self.s.texts(number, self.s.limbs)))

    def word(self, text: str) -> str:
        """A word as a value."""
        return self.named(value([text, *["0"] * (self.s.limbs - 1)]))

    def times(self, x: str, power: str) -> str:
        """A value times a power of two."""
        return self.named(value([self.named(f"{w} * {power}") for w in limbs(x, self.s.limbs)]))

    def select(self, flag: str, x: str, y: str) -> str:
        """One of two values."""
        return self.named(f"select({flag}, {x}, {y})")

    def seldom(self, flag: str, op: str, operands: str, other: str) -> str:
        """A value, and where a flag is set what an operation gives."""
        return self.named(f"seldom({flag}, {self.net(op)}({operands}), {other})")

    def product(self, x: str, y: str) -> str:
        """A product in which zeros have signs, as those of words."""
        found = self("mul", x, y)
        zero = self.word(self.named(f"{x}[0] * {y}[0]"))
        return self.select(self.is_zero(found), zero, found)

    def minus(self, x: str) -> str:
        """Whether a number is negative, -0 too; of NaN not."""
        return self.named(f"both(negative({x}[0]), opposite(isnan({x}[0])))")

    def signed(self, size: str, x: str) -> str:
        """A value, negated where another one is negative."""
        return self.select(self.minus(x), self.named(f"-{size}"), size)

    def infinite(self, x: str) -> str:
        """Whether a number is infinite."""
        return self.named(f"both(opposite(isnan({x}[0])), opposite(finite({x}[0])))")

    def either(self, x: str, y: str) -> str:
        return self.named(f"either({x}, {y})")

    def both(self, x: str, y: str) -> str:
        return self.named(f"both({x}, {y})")

    def opposite(self, x: str) -> str:
        return self.named(f"opposite({x})")

    def is_zero(self, x: str) -> str:
        return self.named(f"opposite(either(nonzero({x}[0]), isnan({x}[0])))")

    def not_finite(self, x: str) -> str:
        return self.named(f"opposite(finite({x}[0]))")

    def larger(self, x: str, y: str) -> str:
        """The larger one of two magnitudes, as a word."""
        first, second = self.named(f"fabs({x}[0])"), self.named(f"fabs({y}[0])")
        return self.named(f"select(less({first}, {second}), {second}, {first})")

    def extremes(self, size: str) -> tuple[str, str]:
        """Whether a magnitude is huge, and whether it is tiny."""
        most, half = self.s.largest_exponent, self.s.largest_exponent // 2
        return (
            self.named(f"less({2.0 ** (most - 5)!r}, {size})"),
            self.named(f"less({size}, {2.0**-half!r})"),
        )

    def chosen_power(self, huge: str, tiny: str, down: int, up: int) -> str:
        """2^down, 2^up or 1."""
        inner = self.named(f"select({tiny}, {2.0**up!r}, 1)")
        return self.named(f"select({huge}, {2.0**down!r}, {inner})")

    def returned(self, real: str, imaginary: str = "") -> str:
        """The listing, with what it returns."""
        parts = [part for part in (real, imaginary) if part]
        words = [word for part in parts for word in limbs(part, self.s.limbs)]
        self.out.write(f"return {', '.join(words)}")
        return str(self.out)


# --- sums and products ----------------------------------------------------------------------------


def _each(*parts: str) -> Callable[[Parts], str]:
    """Results of one operation each, ``add a c``, or operands, ``-d`` with the other sign."""

    def part(p: Parts, text: str) -> str:
        return p(*text.split()) if " " in text else p.named(text) if text[0] == "-" else text

    return lambda p: p.returned(*[part(p, text) for text in parts])


def _products(p: Parts, a: str, b: str, c: str, d: str) -> tuple[str, str]:
    """a c - b d and a d + b c."""
    real = p("sub", p("mul", a, c), p("mul", b, d))
    return real, p("add", p("mul", a, d), p("mul", b, c))


def _mul(p: Parts) -> str:
    """sub(a c, b d) and add(a d, b c); where both are NaN, Annex G's infinities."""
    real, imaginary = _products(p, "a", "b", "c", "d")
    lost = p.both(p.named(f"isnan({real}[0])"), p.named(f"isnan({imaginary}[0])"))
    p.out.write("minus_c = -c")
    real = p.seldom(lost, "complex_mul_recovered", "a, b, c, d", real)
    return p.returned(real, p.seldom(lost, "complex_mul_recovered", "a, b, d, minus_c", imaginary))


def _boxed(p: Parts, x: str, of: str) -> str:
    """1 of an infinity and 0 of another number, with its sign, where *of* is set; else 0 of NaN."""
    size = p.named(f"select(finite({x}[0]), 0, 1)")
    inside = p.named(f"select({of}, copysign({size}, {x}[0]), {x}[0])")
    return p.named(f"select(isnan({x}[0]), 0, {inside})")


def _mul_recovered(p: Parts) -> str:
    """The real part of a product of which both parts are NaN."""
    first = p.either(p.infinite("a"), p.infinite("b"))
    second = p.either(p.infinite("c"), p.infinite("d"))
    known = p.either(first, second)
    for x, y in ("ac", "bd", "ad", "bc"):
        product = p.named(f"{x}[0] * {y}[0]")
        known = p.either(known, p.infinite(product))
    a, b = (_boxed(p, x, first) for x in "ab")
    c, d = (_boxed(p, x, second) for x in "cd")
    ac, bd = p.named(f"{a} * {c}"), p.named(f"{b} * {d}")
    return p.returned(p.word(p.named(f"select({known}, 1e999 * ({ac} - {bd}), {NAN})")))


def _div(p: Parts) -> str:
    """(a + ib)(c - id) / (c^2 + d^2), of both operands times powers of two: nothing overflows.

    The divisor's larger part is brought between 1 and 4, huge and tiny dividends nearer to 1.
    """
    power = p.named(f"scale({p.larger('c', 'd')})")
    huge, tiny = p.extremes(p.larger("a", "b"))
    half = p.s.largest_exponent // 2
    to = p.chosen_power(huge, tiny, -8, half)
    a, b, c, d = p.times("a", to), p.times("b", to), p.times("c", power), p.times("d", power)
    below = p("add", p("mul", c, c), p("mul", d, d))
    back = p.chosen_power(huge, tiny, 8, -half)
    found = []
    for above in (
        p("add", p("mul", a, c), p("mul", b, d)),
        p("sub", p("mul", b, c), p("mul", a, d)),
    ):
        found.append(p.times(p.times(p("div", above, below), power), back))
    lost = p.both(p.named(f"isnan({found[0]}[0])"), p.named(f"isnan({found[1]}[0])"))
    p.out.write("minus_a = -a")
    real = p.seldom(lost, "complex_div_recovered", "a, b, c, d", found[0])
    return p.returned(real, p.seldom(lost, "complex_div_recovered", "b, minus_a, c, d", found[1]))


def _div_recovered(p: Parts) -> str:
    """The real part of a quotient of which both parts are NaN."""
    zero = p.both(p.is_zero("c"), p.is_zero("d"))
    zero = p.both(zero, p.opposite(p.both(p.named("isnan(a[0])"), p.named("isnan(b[0])"))))
    first = p.either(p.infinite("a"), p.infinite("b"))
    second = p.either(p.infinite("c"), p.infinite("d"))
    finite = {x: p.named(f"finite({x}[0])") for x in "abcd"}
    of_first = p.both(first, p.both(finite["c"], finite["d"]))
    of_second = p.both(second, p.both(finite["a"], finite["b"]))
    a, b = (_boxed(p, x, first) for x in "ab")
    c, d = (_boxed(p, x, second) for x in "cd")
    ac, bd = p.named(f"{a} * {c}"), p.named(f"{b} * {d}")
    total = p.named(f"{ac} + {bd}")
    found = p.named(f"select({of_second}, 0 * {total}, {NAN})")
    found = p.named(f"select({of_first}, 1e999 * {total}, {found})")
    pole = p.named("copysign(1e999, c[0]) * a[0]")
    return p.returned(p.word(p.named(f"select({zero}, {pole}, {found})")))


# --- steps of elimination -------------------------------------------------------------------------


def _fma(first: str = "", second: str = "") -> Callable[[Parts], str]:
    """x y + z by real ones: fma(a, c, fma(-b, d, e)) and fma(a, d, fma(b, c, f)).

    ``-`` conjugates the first or the second factor.
    """

    def listing(p: Parts) -> str:
        b, d = (p.named(f"-{x}") if sign else x for x, sign in (("b", first), ("d", second)))
        real = p("fma", "a", "c", p("fma", p.named(f"-{b}"), d, "e"))
        return p.returned(real, p("fma", "a", d, p("fma", b, "c", "f")))

    return listing


def _div_conj(p: Parts) -> str:
    return p.returned(*_halves(p, p("complex_div", "a", "b", "c", p.named("-d"))))


def _root(p: Parts) -> str:
    """The root of the real part."""
    return p.returned(p("sqrt", "a"), p.word("0"))


def _accumulate(p: Parts) -> str:
    """x + conj(y) z."""
    real = p("fma", "c", "e", p("fma", "d", "f", "a"))
    return p.returned(real, p("fma", "c", "f", p("fma", p.named("-d"), "e", "b")))


def _length(p: Parts) -> str:
    """The root of |x|^2 + Re y."""
    square = p("add", p("mul", "a", "a"), p("mul", "b", "b"))
    return p.returned(p("sqrt", p("add", square, "c")), p.word("0"))


# --- parts ----------------------------------------------------------------------------------------


def _sign(p: Parts) -> str:
    """z / |z|, of numbers scaled to about 1, and 0 of 0; infinities are 1 beside numbers' 0."""
    largest = p.larger("a", "b")
    power = p.named(f"scale({largest})")
    endless = p.either(p.infinite("a"), p.infinite("b"))
    parts = []
    for x in "ab":
        unit = p.named(f"copysign(select(finite({x}[0]), 0, 1), {x}[0])")
        unit = p.word(p.named(f"select(isnan({x}[0]), {x}[0], {unit})"))
        parts.append(p.select(endless, unit, p.times(x, power)))
    size = p("hypot", *parts)
    zero = p.both(p.is_zero("a"), p.is_zero("b"))
    nothing = p.word("0")
    return p.returned(*(p.select(zero, nothing, p("div", part, size)) for part in parts))


def _sqrt(p: Parts) -> str:
    """t = sqrt((|a| + |z|) / 2) and |b| / 2t, of numbers that are scaled if huge or tiny."""
    huge, tiny = p.extremes(p.larger("a", "b"))
    up = 2 * (p.s.largest_exponent // 4)
    to = p.chosen_power(huge, tiny, -8, up)
    a, b = p.times("a", to), p.times("b", to)
    total = p("add", p("abs", a), p("hypot", a, b))
    root = p("sqrt", p.times(total, "0.5"))
    other = p("div", p.times(p("abs", b), "0.5"), root)
    back = p.chosen_power(huge, tiny, 4, -up // 2)
    root, other = p.times(root, back), p.times(other, back)
    left, zero = p.minus("a"), p.both(p.is_zero("a"), p.is_zero("b"))
    real = p.select(zero, p.word("0"), p.select(left, other, root))
    imaginary = p.signed(p.select(zero, p.word("0"), p.select(left, root, other)), "b")
    endless = p.infinite("b")
    return p.returned(p.select(endless, p.word("1e999"), real), p.select(endless, "b", imaginary))


# --- rotations ------------------------------------------------------------------------------------


def _rotated_low(p: Parts) -> str:
    """x - conj(w) (r x + y) for x = a + ib, y = c + id, w = e + if, r = g + ih."""
    for x in "efh":
        p.out.write(f"minus_{x} = -{x}")
    real = p("fma", "g", "a", p("fma", "minus_h", "b", "c"))
    imaginary = p("fma", "g", "b", p("fma", "h", "a", "d"))
    return p.returned(
        p("fma", "minus_e", real, p("fma", "minus_f", imaginary, "a")),
        p("fma", "minus_e", imaginary, p("fma", "f", real, "b")),
    )


def _rotated_high(p: Parts) -> str:
    """y + w (x - conj(r) y)."""
    for x in "fgh":
        p.out.write(f"minus_{x} = -{x}")
    real = p("fma", "minus_g", "c", p("fma", "minus_h", "d", "a"))
    imaginary = p("fma", "minus_g", "d", p("fma", "h", "c", "b"))
    return p.returned(
        p("fma", "e", real, p("fma", "minus_f", imaginary, "c")),
        p("fma", "e", imaginary, p("fma", "f", real, "d")),
    )


# --- exponentials and logarithms ------------------------------------------------------------------


def _limit(p: Parts) -> float:
    """Beyond it an exponential is made of two factors."""
    return float(math.floor(p.s.largest_exponent * math.log(2)) - 1)


def _exp(p: Parts) -> str:
    """e^a (cos b + i sin b); e^a as a square where it may overflow."""
    large = p.named(f"less({_limit(p)}, fabs(a[0]))")
    factor = p("exp", p.select(large, p.times("a", "0.5"), "a"))
    again = p.select(large, factor, p.word("1"))
    real = p.product(p.product(factor, p("cos", "b")), again)
    imaginary = p.product(p.product(factor, p("sin", "b")), again)
    imaginary = p.select(p.is_zero("b"), "b", imaginary)
    special = p.both(p.infinite("a"), p.not_finite("b"))
    end = p.named("select(less(a[0], 0), 0, 1e999)")
    real = p.select(special, p.word(end), real)
    return p.returned(real, p.select(special, p.word(p.named(f"{end} * 0")), imaginary))


def _expm1(p: Parts) -> str:
    """expm1(a) cos b - 2 sin(b/2)^2 and e^a sin b; beyond |a| = 2 e^z - 1."""
    real, imaginary = _halves(p, p("complex_exp", "a", "b"))
    half = p("sin", p.times("b", "0.5"))
    near = p("sub", p("mul", p("expm1", "a"), p("cos", "b")), p.times(p("mul", half, half), "2"))
    far = p.named("less(2, fabs(a[0]))")
    return p.returned(p.select(far, p("sub", real, p.word("1")), near), imaginary)


def _log_near(p: Parts) -> str:
    """log |z| near 1, of its larger part a and its smaller b, which are not negative.

    It is log1p((a - 1)(a + 1) + b^2) / 2.
    """
    one = p.word("1")
    beyond = p("mul", p("sub", "a", one), p("add", "a", one))
    return p.returned(p.times(p("log1p", p("add", beyond, p("mul", "b", "b"))), "0.5"))


def _log(base: int) -> Callable[[Parts], str]:
    """log |z| + i arg z to a base; 0 stands for e."""

    def listing(p: Parts) -> str:
        huge, tiny = p.extremes(p.larger("a", "b"))
        up = p.s.largest_exponent // 2
        to = p.chosen_power(huge, tiny, -8, up)
        size = p("hypot", p.times("a", to), p.times("b", to))
        unit = constants.fraction(constants.ln2())
        natural = Fraction(1)
        if base:
            natural = 1 / constants.fraction(constants.log(constants.real(base)))
            unit = natural * unit if base != 2 else Fraction(1)
        shift = p.select(tiny, p.constant(-up * unit), p.word("0"))
        shift = p.select(huge, p.constant(8 * unit), shift)
        real = p("add", p(f"log{base or ''}", size), shift)
        first, second = p("abs", "a"), p("abs", "b")
        swapped = p.named(f"less({first}[0], {second}[0])")
        larger, smaller = p.select(swapped, second, first), p.select(swapped, first, second)
        around = p.named(f"both(less(0.5, {size}[0]), less({size}[0], 2))")
        around = p.both(around, p.both(p.named(f"nonzero({smaller}[0])"), p.opposite(tiny)))
        imaginary = p("atan2", "b", "a")
        if base:
            factor = p.constant(natural)
            near = p.seldom(around, "complex_log_near", f"{larger}, {smaller}", p.word("0"))
            real = p.select(around, p("mul", near, factor), real)
            return p.returned(real, p.product(imaginary, factor))
        return p.returned(
            p.seldom(around, "complex_log_near", f"{larger}, {smaller}", real), imaginary
        )

    return listing


def _halves(p: Parts, name: str) -> tuple[str, str]:
    """The parts of a complex result."""
    words, n = limbs(name, 2 * p.s.limbs), p.s.limbs
    return p.named(value(words[:n])), p.named(value(words[n:]))


def _log1p(p: Parts) -> str:
    """log1p(a (2 + a) + b^2) / 2 where both parts are below 1/2, else log(1 + z)."""
    after = p("add", p.word("1"), "a")
    far, imaginary = _halves(p, p("complex_log", after, "b"))
    small = p.named(f"less({p.larger('a', 'b')}, 0.5)")
    inner = p("add", p("mul", "a", p("add", p.word("2"), "a")), p("mul", "b", "b"))
    near = p.times(p("log1p", inner), "0.5")
    return p.returned(p.select(small, near, far), imaginary)


def _pow(p: Parts) -> str:
    """exp(w log z); 1 of w = 0."""
    real, imaginary = _halves(p, p("complex_log", "a", "b"))
    product = _halves(p, p("complex_mul", "c", "d", real, imaginary))
    found = _halves(p, p("complex_exp", *product))
    one = p.both(p.is_zero("c"), p.is_zero("d"))
    return p.returned(p.select(one, p.word("1"), found[0]), p.select(one, p.word("0"), found[1]))


def _pow_real(p: Parts) -> str:
    """|z|^c (cos c arg z + i sin c arg z)."""
    size = p("pow", p("hypot", "a", "b"), "c")
    angle = p("mul", "c", p("atan2", "b", "a"))
    real, imaginary = p("mul", size, p("cos", angle)), p("mul", size, p("sin", angle))
    return p.returned(real, p.select(p.is_zero(angle), angle, imaginary))


# --- hyperbolic functions -------------------------------------------------------------------------


def _hyperbolic(p: Parts, first: str, second: str) -> tuple[str, str]:
    """first(a) cos b and second(a) sin b; beyond a limit e^|a| / 2 as a product."""
    large = p.named(f"less({_limit(p)}, fabs(a[0]))")
    half = p.seldom(large, "exp", p.times(p("abs", "a"), "0.5"), p.word("1"))
    end = p.times(half, "0.5")
    ends = {"cosh": end, "sinh": p.signed(end, "a")}
    found = []
    for op, turn in ((first, "cos"), (second, "sin")):
        size = p.select(large, ends[op], p(op, "a"))
        found.append(p.product(p.product(size, p(turn, "b")), half))
    return found[0], found[1]


def _sinh(p: Parts) -> str:
    real, imaginary = _hyperbolic(p, "sinh", "cosh")
    special = p.both(p.not_finite("b"), p.either(p.infinite("a"), p.is_zero("a")))
    return p.returned(p.select(special, "a", real), p.select(p.is_zero("b"), "b", imaginary))


def _cosh(p: Parts) -> str:
    real, imaginary = _hyperbolic(p, "cosh", "sinh")
    unknown = p.not_finite("b")
    real = p.select(p.both(unknown, p.infinite("a")), p.word("1e999"), real)
    imaginary = p.select(p.both(unknown, p.is_zero("a")), p.word("0"), imaginary)
    return p.returned(real, p.select(p.is_zero("b"), p.signed("b", "a"), imaginary))


def _tanh(p: Parts) -> str:
    """sinh a cosh a / h^2 and sin b cos b / h^2 with h = hypot(sinh a, cos b).

    Where e^(-2 |a|) is no part of 1 it is 1 and 4 sin b cos b e^(-2 |a|).
    """
    far = p.named(f"less({float(math.ceil(p.s.bits * math.log(2) / 2 + 3))}, fabs(a[0]))")
    a = p.select(far, p.word("1"), "a")
    sine, cosine, up, side = p("sin", "b"), p("cos", "b"), p("sinh", a), p("cosh", a)
    size = p("hypot", up, cosine)
    real = p.product(p("div", up, size), p("div", side, size))
    imaginary = p.product(p("div", sine, size), p("div", cosine, size))
    decay = p.seldom(far, "exp", p.named(f"-{p('abs', 'a')}"), p.word("1"))
    twice = p.times(decay, "2")
    rest = p.product(p.product(sine, twice), p.product(cosine, twice))
    unknown = p.not_finite("b")
    known = p.both(far, p.either(p.infinite("a"), p.named("finite(b[0])")))
    real = p.select(known, p.signed(p.word("1"), "a"), real)
    imaginary = p.select(far, rest, imaginary)
    real = p.select(p.is_zero("a"), p.select(unknown, "a", p.signed(p("abs", real), "a")), real)
    imaginary = p.select(p.both(unknown, p.infinite("a")), p.word("0"), imaginary)
    return p.returned(real, p.select(p.is_zero("b"), "b", imaginary))


def _turned(op: str) -> Callable[[Parts], str]:
    """-i f(iz)."""

    def listing(p: Parts) -> str:
        real, imaginary = _halves(p, p(f"complex_{op}", p.named("-b"), "a"))
        return p.returned(imaginary, p.named(f"-{real}"))

    return listing


def _cos(p: Parts) -> str:
    """cosh(iz)."""
    return p.returned(*_halves(p, p("complex_cosh", p.named("-b"), "a")))


# --- inverse functions ----------------------------------------------------------------------------


def _ends(p: Parts) -> tuple[str, str]:
    """Whether a number is not finite, and whether one of its parts is infinite."""
    unknown = p.either(p.not_finite("a"), p.not_finite("b"))
    return unknown, p.either(p.infinite("a"), p.infinite("b"))


def _asinh(p: Parts) -> str:
    """asinh(Im(conj(s) r)) and atan2(b, Re(s r)) with r = sqrt(1 + iz) and s = sqrt(1 - iz)."""
    one = p.word("1")
    r, r_i = _halves(p, p("complex_sqrt", p("sub", one, "b"), "a"))
    s, s_i = _halves(p, p("complex_sqrt", p("add", one, "b"), p.named("-a")))
    unknown, endless = _ends(p)
    end = p.signed(p.word(p.named(f"select({endless}, 1e999, {NAN})")), "a")
    across = p("sub", p("mul", s, r_i), p("mul", s_i, r))
    along = p("sub", p("mul", s, r), p("mul", s_i, r_i))
    real = p("asinh", p.select(unknown, end, across))
    real = p.select(p.is_zero(real), p.signed(p.word("0"), "a"), real)
    imaginary = p("atan2", "b", p.select(unknown, p("abs", "a"), along))
    return p.returned(real, p.select(p.is_zero("b"), "b", imaginary))


def _acos(p: Parts) -> str:
    """2 atan2(Re s, Re r) and asinh(Im(conj(r) s)) with r = sqrt(1 + z) and s = sqrt(1 - z)."""
    one = p.word("1")
    r, r_i = _halves(p, p("complex_sqrt", p("add", one, "a"), "b"))
    s, s_i = _halves(p, p("complex_sqrt", p("sub", one, "a"), p.named("-b")))
    unknown, endless = _ends(p)
    angle = p("atan2", p.select(unknown, p("abs", "b"), s), p.select(unknown, "a", r))
    real = p.select(unknown, angle, p.times(angle, "2"))
    right = p.both(p.is_zero("a"), p.named("isnan(b[0])"))
    real = p.select(right, p.constant(constants.fraction(constants.pi()) / 2), real)
    size = p.word(p.named(f"select({endless}, -1e999, {NAN})"))
    across = p("sub", p("mul", r, s_i), p("mul", r_i, s))
    imaginary = p("asinh", p.select(unknown, p.signed(size, "b"), across))
    zero = p.is_zero(imaginary)
    return p.returned(real, p.select(zero, p.signed(p.word("-0.0"), "b"), imaginary))


def _acosh(p: Parts) -> str:
    """i or -i times acos, with a real part that is not negative."""
    real, imaginary = _halves(p, p("complex_acos", "a", "b"))
    return p.returned(p("abs", imaginary), p.signed(real, "b"))


def _atanh(p: Parts) -> str:
    """log1p(4 |a| / h^2) / 4 and atan2(2 b, (1 - |a|)(1 + |a|) - b^2) / 2, h = hypot(1 - |a|, b).

    Far from 0 the first term of 1 / z, and pi/2.
    """
    one, size = p.word("1"), p("abs", "a")
    gap = p("sub", one, size)
    least, power = (-300, 300) if p.s.word == "float64" else (-55, 60)
    near = p.named(f"less({p.larger(gap, 'b')}, {2.0**least!r})")
    scale = p.named(f"select({near}, {2.0**power!r}, 1.0)")
    distance = p("hypot", p.times(gap, scale), p.times("b", scale))
    ratio = p("div", p.times(size, "4"), distance)
    real = p("log1p", p("div", ratio, distance))
    scaled = p.constant(2 * power * constants.fraction(constants.ln2()))
    other = p("add", p("sub", p("log", ratio), p("log", distance)), scaled)
    real = p.signed(p.times(p.select(near, other, real), "0.25"), "a")
    below = p("sub", p("mul", gap, p("add", one, size)), p("mul", "b", "b"))
    imaginary = p.times(p("atan2", p.times("b", "2"), below), "0.5")
    large = p.named(f"less({2.0 ** (p.s.bits // 2 + 5)!r}, {p.larger('a', 'b')})")
    a, b = p.times("a", repr(2.0**-8)), p.times("b", repr(2.0**-8))
    far = p("hypot", a, b)
    quarter = p.constant(constants.fraction(constants.pi()) / 2)
    end = p.signed(quarter, "b")
    first, second = (p.times(p("div", p("div", x, far), far), repr(2.0**-8)) for x in (a, b))
    real = p.select(large, first, real)
    real = p.select(p.is_zero(real), p.signed(p.word("0"), "a"), real)
    imaginary = p.select(large, p("sub", end, second), imaginary)
    unknown, endless = _ends(p)
    nothing = p.word("0")
    lost = p.word(NAN)
    known = p.either(endless, p.is_zero("a"))
    real = p.select(unknown, p.select(known, p.signed(nothing, "a"), lost), real)
    certain = p.both(endless, p.opposite(p.named("isnan(b[0])")))
    imaginary = p.select(unknown, p.select(certain, end, lost), imaginary)
    return p.returned(real, imaginary)


# --- questions ------------------------------------------------------------------------------------


def _test(text: str) -> Callable[[Parts], str]:
    """A question about leading words."""

    def listing(p: Parts) -> str:
        p.out.write(f"return {text}")
        return str(p.out)

    return listing


def _isinf(p: Parts) -> str:
    p.out.write(f"return either({p.infinite('a')}, {p.infinite('b')})")
    return str(p.out)


def _same(op: str, gate: str) -> Callable[[Parts], str]:
    """A comparison of both parts."""

    def listing(p: Parts) -> str:
        p.out.write(f"return {gate}({p(op, 'a', 'c')}, {p(op, 'b', 'd')})")
        return str(p.out)

    return listing


_Listing = Callable[[Parts], str]
_NORM = "u^N of the result's absolute value (measured)"
_SUMS = "that of the parts' operations"
_EXACT = "exact"
_OPERATIONS: dict[str, tuple[str, str, _Listing, str, str]] = {
    # operands, result, listing, source, bound
    "add": ("abcd", "c", _each("add a c", "add b d"), "by parts", _SUMS),
    "add_real": ("abc", "c", _each("add a c", "b"), "by parts", _SUMS),
    "real_add": ("acd", "c", _each("add a c", "d"), "by parts", _SUMS),
    "sub": ("abcd", "c", _each("sub a c", "sub b d"), "by parts", _SUMS),
    "sub_real": ("abc", "c", _each("sub a c", "b"), "by parts", _SUMS),
    "real_sub": ("acd", "c", _each("sub a c", "-d"), "by parts", _SUMS),
    "mul": ("abcd", "c", _mul, "a c - b d and a d + b c", f"4{_NORM}"),
    "combined": ("abcd", "c", _each("sub a b", "add c d"), "by parts", _SUMS),
    "mul_real": ("abc", "c", _each("mul a c", "mul b c"), "by parts", _SUMS),
    "real_mul": ("acd", "c", _each("mul a c", "mul a d"), "by parts", _SUMS),
    "mul_recovered": ("abcd", "v", _mul_recovered, "C99, Annex G.5.1", _EXACT),
    "div": ("abcd", "c", _div, "(a + ib)(c - id) / (c^2 + d^2), scaled", f"8{_NORM}"),
    "div_real": ("abc", "c", _each("div a c", "div b c"), "by parts", _SUMS),
    "div_recovered": ("abcd", "v", _div_recovered, "C99, Annex G.5.1", _EXACT),
    "neg": ("ab", "c", _each("-a", "-b"), "by parts", _EXACT),
    "conj": ("ab", "c", _each("a", "-b"), "by parts", _EXACT),
    "copy": ("ab", "c", _each("a", "b"), "by parts", _EXACT),
    "sign": ("ab", "c", _sign, "z / |z|", f"4{_NORM}"),
    "sqrt": ("ab", "c", _sqrt, KAHAN, f"4{_NORM}"),
    "rotated_low": ("abcdefgh", "c", _rotated_low, "x - conj(w) (r x + y)", _SUMS),
    "rotated_high": ("abcdefgh", "c", _rotated_high, "y + w (x - conj(r) y)", _SUMS),
    "exp": ("ab", "c", _exp, "e^a (cos b + i sin b)", f"4{_NORM}"),
    "expm1": ("ab", "c", _expm1, "expm1(a) cos b - 2 sin(b/2)^2", f"8{_NORM}"),
    "log_near": ("ab", "v", _log_near, KAHAN, f"4{_NORM}"),
    "log": ("ab", "c", _log(0), KAHAN, f"4{_NORM}"),
    "log2": ("ab", "c", _log(2), KAHAN, f"8{_NORM}"),
    "log10": ("ab", "c", _log(10), KAHAN, f"8{_NORM}"),
    "log1p": ("ab", "c", _log1p, KAHAN, f"8{_NORM}"),
    "pow": ("abcd", "c", _pow, "exp(w log z)", f"8(1 + |w log z|){_NORM}"),
    "pow_real": ("abc", "c", _pow_real, "|z|^c, c arg z", f"8(1 + |c arg z|){_NORM}"),
    "sinh": ("ab", "c", _sinh, "sinh a cos b + i cosh a sin b", f"4{_NORM}"),
    "cosh": ("ab", "c", _cosh, "cosh a cos b + i sinh a sin b", f"4{_NORM}"),
    "tanh": ("ab", "c", _tanh, KAHAN, f"12{_NORM}"),
    "sin": ("ab", "c", _turned("sinh"), "-i sinh(iz)", f"4{_NORM}"),
    "cos": ("ab", "c", _cos, "cosh(iz)", f"4{_NORM}"),
    "tan": ("ab", "c", _turned("tanh"), "-i tanh(iz)", f"12{_NORM}"),
    "asinh": ("ab", "c", _asinh, KAHAN, f"8{_NORM}"),
    "acos": ("ab", "c", _acos, KAHAN, f"8{_NORM}"),
    "acosh": ("ab", "c", _acosh, KAHAN, f"8{_NORM}"),
    "atanh": ("ab", "c", _atanh, KAHAN, f"8{_NORM}"),
    "asin": ("ab", "c", _turned("asinh"), "-i asinh(iz)", f"8{_NORM}"),
    "atan": ("ab", "c", _turned("atanh"), "-i atanh(iz)", f"8{_NORM}"),
    "fma": ("abcdef", "c", _fma(), "by real ones", _SUMS),
    "fma_conj": ("abcdef", "c", _fma(second="-"), "by real ones", _SUMS),
    "conj_fma": ("abcdef", "c", _fma("-"), "by real ones", _SUMS),
    "div_conj": ("abcd", "c", _div_conj, "x / conj(y)", f"8{_NORM}"),
    "neg_conj": ("ab", "c", _each("-a", "b"), "-conj(x)", _EXACT),
    "root": ("ab", "c", _root, "the root of the real part", "that of the root"),
    "accumulate": ("abcdef", "c", _accumulate, "by real ones", _SUMS),
    "length": ("abc", "c", _length, "by parts", _SUMS),
    "abs": ("ab", "v", _each("hypot a b"), "hypot", f"4{_NORM}"),
    "equal": ("abcd", "f", _same("equal", "both"), "by parts", _EXACT),
    "not_equal": ("abcd", "f", _same("not_equal", "either"), "by parts", _EXACT),
    "isnan": ("ab", "f", _test("either(isnan(a[0]), isnan(b[0]))"), "by parts", _EXACT),
    "isfinite": ("ab", "f", _test("both(finite(a[0]), finite(b[0]))"), "by parts", _EXACT),
    "isinf": ("ab", "f", _isinf, "by parts", _EXACT),
    "angle": ("ab", "v", _each("atan2 b a"), "atan2", f"4{_NORM}"),
    "real": ("ab", "v", _each("a"), "by parts", _EXACT),
    "imag": ("ab", "v", _each("b"), "by parts", _EXACT),
    "nonzero": ("ab", "f", _test("either(nonzero(a[0]), nonzero(b[0]))"), "by parts", _EXACT),
}
"""Operations by name."""


INNER = ("mul_recovered", "div_recovered", "log_near", "rotated_low", "rotated_high")
"""Operations that only others, or factorisations, call."""

STEPS = (
    *("fma", "fma_conj", "conj_fma", "div_conj", "neg_conj", "root", "abs"),
    *("accumulate", "length"),
)
"""Those of whole values in kernels alone: no functions on arrays."""

READ = ("angle", "real", "imag")
"""What kernels of users read of a value."""

NAMES = tuple(name for name in _OPERATIONS if name not in (*INNER, *STEPS, *READ))
"""Those on complex numbers."""

OF_VALUES = tuple(name for name in _OPERATIONS if name not in INNER)
"""Operations that ``of_values`` has."""


@cache
def network(op: str, word: str, limbs: int) -> Network:
    """The network of an operation on parts of so many limbs."""
    operands, result, listing, source, bound = _OPERATIONS[op]
    name = f"{PREFIX}{op}{limbs}_{word}"
    takes = " ".join(f"{operand}:{kind(limbs)}" for operand in operands)
    gives = {"c": f"c{2 * limbs}", "v": kind(limbs), "f": "flag"}[result]
    text = listing(Parts(Setting(word, limbs)))
    if name not in NETWORKS:
        define(name, f"{takes} -> {gives}", text, source=source, bound=bound)
    return get(name)


@cache
def of_values(op: str, word: str, limbs: int) -> Network:
    """The same on whole values x, y and z: of their parts so many limbs each.

    What stands for kernels' values in templates: ``w.value`` of a complex format is the type of
    such a value. Of an operand whose real part alone counts, as in ``div_real``, so it is here.
    """
    inner, (operands, result, _, source, bound) = network(op, word, limbs), _OPERATIONS[op]
    parts = {letter: ("xyz"[i // 2], i % 2) for i, letter in enumerate("abcdef")}
    out = Listing()
    for letter in operands:
        name, half = parts[letter]
        words = [f"{name}[{half * limbs + k}]" for k in range(limbs)]
        out.named(value(words), letter)
    out.write(f"return {inner.name}({', '.join(operands)})")
    name = f"c{op}{limbs}_{word}"
    if name not in NETWORKS:
        takes = " ".join(f"{x}:c{2 * limbs}" for x in dict.fromkeys(parts[o][0] for o in operands))
        gives = {"c": f"c{2 * limbs}", "v": kind(limbs), "f": "flag"}[result]
        define(name, f"{takes} -> {gives}", str(out), source=source, bound=bound)
    return get(name)
