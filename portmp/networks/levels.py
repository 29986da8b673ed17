"""Sums and products of any number of limbs, by levels.

What stands at level i is about u^i of the leading word. A level is summed by two_sum, whose errors
go one level down; the last level is summed plainly. ``settle`` then brings the words into order.
These are the pieces that functions end with, where what they add is not of one format's length;
and arithmetic of five limbs and more, which the fixed networks (``expansions``) do not have.
"""

from collections.abc import Sequence

from portmp.networks import gravity  # noqa: F401  # whose networks are called
from portmp.networks.language import NETWORKS, define

MOST = 4
"""Limbs of the longest format."""

LONGEST = 7
"""Limbs of the longest values that functions compute with."""


class Listing:
    """Lines of a listing that is being written."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self._names = 0
        self._taken: set[str] = set()

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def fresh(self) -> str:
        """A name that is not yet taken."""
        self._names += 1
        return f"t{self._names}"

    def write(self, text: str) -> None:
        """Append lines."""
        self.lines += [line.strip() for line in text.strip().splitlines()]

    def named(self, expression: str, name: str = "") -> str:
        """The name of a new variable: *name*, if it is not yet taken."""
        if not name or name in self._taken:
            name = self.fresh()
        self._taken.add(name)
        self.lines.append(f"{name} = {expression}")
        return name

    def nearest(self, expression: str, big: str, name: str = "") -> str:
        """The nearest integer: *big* is 3/2 2^(p-1), the number below 2^(p-2)."""
        number = self.named(expression)
        return self.named(f"({number} + {big}) - {big}", name)

    def two_sum(self, a: str, b: str, *, fast: bool = False) -> tuple[str, str]:
        """Sum and error."""
        s, e = self.fresh(), self.fresh()
        self.lines.append(f"{s}, {e} = {'fast_' if fast else ''}two_sum({a}, {b})")
        return s, e

    def two_prod(self, a: str, b: str) -> tuple[str, str]:
        """Product and error."""
        p, e = self.fresh(), self.fresh()
        self.lines.append(f"{p}, {e} = two_prod({a}, {b})")
        return p, e

    def cascade(self, levels: Sequence[Sequence[str]]) -> list[str]:
        """One word a level: errors go one level down, the last level's sum is plain."""
        sums: list[str] = []
        down: list[str] = []
        for i, level in enumerate(levels):
            words = [*level, *down]
            down = []
            total = words[0]
            for word in words[1:]:
                if i == len(levels) - 1:
                    total = self.named(f"{total} + {word}")
                else:
                    total, error = self.two_sum(total, word)
                    down.append(error)
            sums.append(total)
        return sums

    def settle(
        self, words: Sequence[str], count: int, *, robust: bool = False, ordered: bool = False
    ) -> list[str]:
        """Words in order of size as *count* normalised limbs; the last is rounded.

        Zeros may stand between them. *robust*: where the leading ones may have cancelled;
        *ordered*: where each is larger than the next, but for errors of the size of the last
        limb's.
        """
        found = list(words)
        last = len(found) - 1
        for _ in range(max(last - 1, 1) if robust else 0):
            # What cancels brings words of one size above each other.
            for i in range(last - 1, -1, -1):
                found[i], found[i + 1] = self.two_sum(found[i], found[i + 1])
        for first in range(count):
            final = first == count - 1
            for i in range(last - 1, first - 1, -1):
                a, b = found[i], found[i + 1]
                if final:
                    found[i] = self.named(f"{a} + {b}")
                else:
                    found[i], found[i + 1] = self.two_sum(
                        a, b, fast=ordered or (first > 0 and not robust)
                    )
        return found[:count]

    def product(self, x: Sequence[str], y: Sequence[str], levels: list[list[str]]) -> None:
        """Add the words of x y to *levels*; what is below the last is left out."""
        last = len(levels) - 1
        rest = ""
        for level in range(last + 1):
            for i, a in enumerate(x):
                j = level - i
                if not 0 <= j < len(y):
                    continue
                if level < last:
                    p, e = self.two_prod(a, y[j])
                    levels[level].append(p)
                    levels[level + 1].append(e)
                elif rest:
                    rest = self.named(f"fma({a}, {y[j]}, {rest})")
                else:
                    rest = self.named(f"{a} * {y[j]}")
        if rest:
            levels[last].append(rest)

    def products(self, count: int, *pairs: tuple[Sequence[str], Sequence[str]]) -> list[str]:
        """The sum of products x y as *count* limbs."""
        levels: list[list[str]] = [[] for _ in range(count)]
        for x, y in pairs:
            self.product(x, y, levels)
        return self.settle(self.cascade(levels), count)


def limbs(name: str, count: int) -> list[str]:
    """The words of a value: x[0], x[1] ..."""
    return [f"{name}[{i}]" for i in range(count)]


def value(words: Sequence[str]) -> str:
    """The value of these words."""
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def kind(words: int) -> str:
    """What a signature calls a value of so many words."""
    return "word" if words == 1 else str(words)


def returned(words: Sequence[str]) -> str:
    """The last line of a listing."""
    return f"return {', '.join(words)}"


def paired(*groups: Sequence[str]) -> list[list[str]]:
    """Levels of values: each group's words from the first level on."""
    count = max(map(len, groups))
    return [[group[i] for group in groups if i < len(group)] for i in range(count)]


def _sum(n: int, y: Sequence[str]) -> str:
    out = Listing()
    words = out.cascade(paired(limbs("x", n), y))
    out.write(returned(out.settle(words, n, robust=True)))
    return str(out)


def _product(n: int, y: Sequence[str]) -> str:
    out = Listing()
    out.write(returned(out.products(n, (limbs("x", n), y))))
    return str(out)


def _horner(n: int) -> str:
    """c + a x, for |a x| below |c|."""
    out = Listing()
    levels: list[list[str]] = [[c] for c in limbs("c", n)]
    out.product(limbs("a", n), limbs("x", n), levels)
    head, error = out.two_sum(*levels[0], fast=True)
    rest = out.cascade([[*levels[1], error], *levels[2:]])
    out.write(returned(out.settle([head, *rest], n, ordered=True)))
    return str(out)


def _residual(out: Listing, x: Sequence[str], a: Sequence[str], b: Sequence[str]) -> str:
    """The leading word of x - a b, where a b is x but for the last of x's limbs."""
    levels: list[list[str]] = [[word] for word in x]
    out.product([out.named(f"-{word}") for word in a], b, levels)
    return out.settle(out.cascade(levels), min(2, len(x)), robust=True)[0]


def _quotient(n: int) -> str:
    """A quotient of one limb less, and the next word from its residual."""
    m = n - 1
    out = Listing()
    short = value(limbs("x", m)), value(limbs("y", m))
    out.named(f"{short[0]} / {short[1]}" if m == 1 else f"div{m}({short[0]}, {short[1]})", "q")
    rest = _residual(out, limbs("x", n), limbs("q", m), limbs("y", n))
    words = [*limbs("q", m), out.named(f"{rest} / y[0]")]
    out.write(returned(out.settle(words, n, ordered=True)))
    return str(out)


def _root(n: int) -> str:
    """A square root of one limb less, and the next word from its residual."""
    m = n - 1
    out = Listing()
    out.named(f"sqrt{'' if m == 1 else m}({value(limbs('x', m))})", "g")
    rest = _residual(out, limbs("x", n), limbs("g", m), limbs("g", m))
    words = [*limbs("g", m), out.named(f"{rest} / (g[0] + g[0])")]
    out.write(returned(out.settle(words, n, ordered=True)))
    return str(out)


for _n in range(2, LONGEST + 1):
    define(
        f"select{_n}",
        f"f:flag x:{_n} y:{_n} -> {_n}",
        "return " + ", ".join(f"select(f, x[{i}], y[{i}])" for i in range(_n)),
        source="a choice",
        bound="exact",
    )
    define(
        f"horner{_n}",
        f"a:{_n} x:{_n} c:{_n} -> {_n}",
        _horner(_n),
        source="Horner's rule: c + a x where c is the larger",
        bound=f"a few u^{_n}",
    )
define(
    "horner1",
    "a:word x:word c:word -> word",
    "return fma(a, x, c)",
    source="Horner's rule",
    bound="u",
)
for _n in range(5, LONGEST + 1):
    for _tail, _kind, _y in (("", _n, limbs("y", _n)), ("_word", "word", ["y"])):
        for _op, _made, _of in (("add", _sum, " of the larger operand"), ("mul", _product, "")):
            define(
                f"{_op}{_n}{_tail}",
                f"x:{_n} y:{_kind} -> {_n}",
                _made(_n, _y),
                source="sums by levels",
                bound=f"a few u^{_n}{_of}",
            )
for _n in range(2, LONGEST + 1):
    for _listing, _takes, _names in (
        (_quotient, "x:{0} y:{0}", ("quotient", "div")),
        (_root, "x:{0}", ("root", "sqrt")),
    ):
        for _name in _names:
            if f"{_name}{_n}" not in NETWORKS:
                define(
                    f"{_name}{_n}",
                    f"{_takes.format(_n)} -> {_n}",
                    _listing(_n),
                    source=f"{_names[1]} of {_n - 1} limbs and one word more",
                    bound=f"a few u^{_n}",
                )
