"""Arithmetic on values with a bound of their error: one more word, in units of u^N.

A value of N + 1 words is an enclosure: the exact number is within the last word, times u^N, of the
sum of the others, which are those of the plain networks, bit for bit. A plain operation errs by
u times its result at most, so the bound is made of the results at hand: each plain operation of a
network is followed by the addition of its magnitude. What is left out, and what would cost too much
to follow, is bounded by one product of words of the operands (``Sum``). Where a result is not
finite, or so large that its lower limbs may be lost, the last word is not finite. Rounding errors
of the last word itself are left to the end (``routines.bounds.certified``). docs/bounds.md has the
proofs.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from portmp.networks.constants import PRECISION
from portmp.networks.language import NETWORKS, define
from portmp.networks.operators import operator

SMALLEST = {"float32": -149, "float64": -1074}
"""Exponents of the smallest subnormal numbers."""

ADD = {1: 1.0, 2: 6.0, 3: 16.0, 4: 16.0}
MUL = {1: 1.0, 2: 7.0, 3: 23.0, 4: 50.0}
"""What the networks lose of a result, in u^N (docs/bits.md)."""

EVEN = "y0 = y0 + x1"
"""The addition in ``add2`` of two words of about one size."""

Shares = tuple[tuple[float, ...], tuple[float, ...]]
"""Of x and of y: how many times |x_0|, |x_1|/u and |x_2|/u^2 count."""


@dataclass(frozen=True)
class Sum:
    """How a sum of products is followed.

    A step adds what its plain operations give, but those of lines that begin as one of *left*, all
    in units of u. What else it may lose is at most *products* u^N times what counts of x, by
    *shares*, times what counts of y.
    Where words are renormalised and at the end *settled* u^2 times the leading word is added, with
    *second* the second word where they are renormalised.
    """

    products: float = 0.0
    shares: Shares = ((1.0,), (1.0,))
    left: tuple[str, ...] = ()
    settled: float = 0.0
    second: bool = False


def _alike(*shares: float) -> Shares:
    return shares, shares


TWO: Shares = ((1.0, 0.5), (1.0, 1.0))
THREE, FOUR = (0.7109375, 0.7109375), (0.578125, 1.15625)
"""What counts of limbs below the first, for the products of them that are left out."""

SUMS = {
    (n, fast, word): how
    for word in PRECISION
    for (n, fast), how in {
        (1, ""): Sum(),
        (2, ""): Sum(2.03125, TWO, ("e = fma", "c = s[2]")),
        (2, "_fast"): Sum(2.03125, TWO, ("e = fma",), second=True),
        (3, "_fast"): Sum(1.0, _alike(0.0, *THREE)),
        (4, "_fast"): Sum(1.0, _alike(0.0, *FOUR)),
    }.items()
} | {
    (3, "", "float32"): Sum(
        1.0, _alike(0.1875, 0.5390625, 0.703125), ("d = s[3]",), settled=0.0234375
    ),
    (3, "", "float64"): Sum(1.0, _alike(2.0**-14, *THREE), ("d = s[3]",)),
    (4, "", "float32"): Sum(1.0, _alike(0.0, *FOUR)),
    (4, "", "float64"): Sum(1.0, _alike(2.0**-12, *FOUR), ("e = s[4]",)),
}
"""By limbs, what ends the names of networks, and words: of float64 a state's last word loses
nearly nothing, which what counts of leading words covers."""


def factors(how: Sum, n: int, word: str) -> list[tuple[float, ...]]:
    """What multiplies the limbs of x and of y in the words whose product a step adds.

    It is in units of u, so that u^(N-1) is shared out, and halved so that neither overflows.
    """
    u = 2.0 ** -PRECISION[word]
    scales = 2 * how.products * u ** (n // 2), u ** ((n - 1) // 2) / 2
    return [
        tuple(scale * by * u**-i for i, by in enumerate(each))
        for scale, each in zip(scales, how.shares, strict=True)
    ]


def _split(name: str) -> tuple[list[str], list[str]]:
    """A network's lines without its end, and the words that it returns."""
    lines = [line for line in NETWORKS[name].listing.splitlines() if line]
    return lines[:-1], lines[-1].removeprefix("return ").split(", ")


class _Followed(ast.NodeTransformer):
    """Plain operations as lines of their own, each followed by the addition of its size."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.follow = True

    def line(self, text: str, how: Sum) -> None:
        """A line of a listing."""
        node = ast.parse(text).body[0]
        assert isinstance(node, ast.Assign)
        self.follow = not text.startswith(how.left)
        outer = node.value
        plain = self._plain(outer)
        self.generic_visit(outer)
        self.lines.append(f"{ast.unparse(node.targets[0])} = {ast.unparse(outer)}")
        if plain and self.follow:
            self._add(ast.unparse(node.targets[0]))

    def _plain(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "fma"
        return isinstance(node, ast.BinOp)

    def _add(self, name: str) -> None:
        self.lines.append(f"radius = radius + fabs({name})")

    def _named(self, node: Any) -> Any:
        self.generic_visit(node)
        if not self._plain(node) or not self.follow:
            return node
        name = f"part{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {ast.unparse(node)}")
        self._add(name)
        return ast.Name(name, ast.Load())

    visit_BinOp = _named
    visit_Call = _named


def followed(name: str, how: Sum) -> tuple[list[str], list[str]]:
    """A network's lines with their sizes added to ``radius``, and the words that it returns."""
    lines, words = _split(name)
    found = _Followed()
    for line in lines:
        found.line(line, how)
    return found.lines, words


def _counting(lines: list[str], count: str) -> Iterator[str]:
    """Lines with what their plain additions lose counted before each: their second word at most."""
    for line in lines:
        if (plain := re.fullmatch(r"\w+ = \w+ \+ (\w+)", line)) and line != EVEN:
            yield count.format(plain[1])
        yield line


def _covered(how: Sum, n: int, word: str) -> list[str]:
    """The product of what counts of x and of y."""
    lines = []
    for v, each in zip("xy", factors(how, n, word), strict=True):
        # Twice the smallest number, for what three multiplications may lose that underflow.
        size = f"{2.0 ** (SMALLEST[word] + 1)!r}"
        for i, factor in reversed(list(enumerate(each))):
            if factor:
                lines.append(f"{v}size = fma(fabs({v}[{i}]), {factor!r}, {size})")
                size = f"{v}size"
    return [*lines, "radius = fma(xsize, ysize, radius)"]


def _accumulate(n: int, fast: str, word: str, how: Sum) -> None:
    state = NETWORKS[f"accumulate{n}{fast}"].result.words
    tail = f"{n}{fast}_{word}"
    if n == 1:
        lines, words = ["a = fma(x[0], y[0], s[0])", "radius = radius + fabs(a)"], ["a"]
    else:
        lines, words = followed(f"accumulate{n}{fast}", how)
        lines += _covered(how, n, word)
    lines = [f"radius = s[{state}]", *lines, f"return {', '.join(words)}, radius"]
    signature = f"s:+{state + 1} x:{n + 1} y:{n + 1} -> +{state + 1}"
    _define(f"bounded_accumulate{tail}", signature, lines)
    u = 2.0 ** -PRECISION[word]
    settled = how.settled * u * u
    settling = f"radius = fma({settled!r}, fabs({{}}), radius)"
    if n > 1:
        lines, words = _split(f"renormalise{n}{fast}")
        lines = [*lines, f"radius = s[{state}]"]
        if settled:
            lines.append(settling.format(words[0]))
        if how.second:
            lines.append("radius = radius + fabs(s[1])")
        lines.append(f"return {', '.join(words)}, radius")
        _define(f"bounded_renormalise{tail}", f"s:+{state + 1} -> +{state + 1}", lines)
    lines, words = _split(f"finish{n}{fast}") if n > 1 else (["a = s[0]"], ["a"])
    dropped = f"radius = fma(fabs({{}}), {1 / u!r}, radius)"
    lines = [f"radius = s[{state}]", *_counting(lines, dropped)]
    if settled:
        lines.append(settling.format(words[0]))
    if n > 1:
        lines.append(f"radius = radius * {u ** (1 - n)!r}")
    lines += _checked(n, words[0])
    lines.append(f"return {', '.join(words)}, radius")
    _define(f"bounded_finish{tail}", f"s:+{state + 1} -> {n + 1}", lines)


def _checked(n: int, leading: str) -> list[str]:
    """No bound is known where the lower limbs, if there are some, may be lost near overflow."""
    twice = [
        f"twice = {leading} + {leading}",
        "radius = select(finite(twice), radius, fabs(twice))",
    ]
    return twice if n > 1 else []


def _add(n: int, word: str) -> None:
    """What both operands have lost, and what the addition may lose or drops, whichever is less.

    A sum of two words drops no more than either of them, nor than u times the sum.
    """
    u = 2.0 ** -PRECISION[word]
    if n == 1:
        lines, words = ["a = x[0] + y[0]", "lost = fabs(a)"], ["a"]
    else:
        given, words = _split(f"add{n}")
        lines = ["lost = 0"]
        for line in _counting(given, "lost = lost + fabs({})"):
            lines.append(line)
            if line == EVEN:
                lines.append(f"lost = fma({u!r}, fabs(y0), lost)")
        lines += [f"lost = lost * {u**-n!r}", f"most = {ADD[n]} * fabs({words[0]})"]
        lines.append("lost = select(less(lost, most), lost, most)")
    lines += [f"radius = x[{n}] + y[{n}]", "radius = radius + lost"]
    for end in ("", "_guarded"):
        if end and n > 1:
            lines += [f"ok = finite({words[0]})", "h = x[0] + y[0]"]
            lines += [f"leading = select(ok, {words[0]}, h)"]
            words = ["leading", *(f"select(ok, {w}, 0)" for w in words[1:])]
        ended = [*lines, *_checked(n, words[0]), f"return {', '.join(words)}, radius"]
        _define(f"bounded_add{n}_{word}{end}", f"x:{n + 1} y:{n + 1} -> {n + 1}", ended)


def _mul(n: int, word: str) -> None:
    x, y = (", ".join(f"{v}[{i}]" for i in range(n)) for v in ("x", "y"))
    inner = operator("mul", *(f"{op}{n}" for op in ("add", "mul", "div", "sqrt"))).name
    lines = [f"r = {inner}(({x}), ({y}))" if n > 1 else f"r = {inner}({x}, {y})"]
    lines += [f"radius = fabs(x[0]) * y[{n}]", f"radius = fma(fabs(y[0]), x[{n}], radius)"]
    lines += [f"radius = fma({MUL[n]}, fabs(r[0]), radius)", *_checked(n, "r[0]")]
    lines.append("return " + ", ".join([*(f"r[{i}]" for i in range(n)), "radius"]))
    _define(f"bounded_mul{n}_{word}_guarded", f"x:{n + 1} y:{n + 1} -> {n + 1}", lines)


def _define(name: str, signature: str, lines: list[str]) -> None:
    define(name, signature, "\n".join(lines), source="the plain network", bound="in its last word")


for _word in PRECISION:
    for _n in range(1, 5):
        _add(_n, _word)
        _mul(_n, _word)
for (_n, _fast, _word), _how in SUMS.items():
    _accumulate(_n, _fast, _word, _how)
