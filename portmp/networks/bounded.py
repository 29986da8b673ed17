"""Arithmetic on values with a bound of their error: one more word, in units of u^N.

A value of N + 1 words is an enclosure: the exact number is within the last word, times u^N, of the
sum of the others, which are those of the plain networks, bit for bit. Sums of products add up what
their proved bounds are made of: running sums and products by magnitude. Where a result is not
finite, or so large that its lower limbs may be lost, the last word is not finite. Rounding errors
of the last word itself are left to the end (``routines.certified``).
"""

from __future__ import annotations

from dataclasses import dataclass

from portmp.networks.language import NETWORKS, define
from portmp.networks.operators import operator

ADD = {1: 1.0, 2: 6.0, 3: 16.0, 4: 16.0}
MUL = {1: 1.0, 2: 7.0, 3: 23.0, 4: 50.0}
"""What the networks lose of a result, in u^N (docs/bits.md)."""


@dataclass(frozen=True)
class Loss:
    """What a slab or lane loses: *weight* (*sums* sum|S_i| + T), without T where *products* do not
    count, and *end* of its value."""

    weight: float
    sums: float
    products: bool
    end: float


LOSSES = {
    (1, ""): Loss(1.0, 1.0, False, 0.0),
    (2, ""): Loss(9.0078125, 0.125, True, 1.0),
    (3, ""): Loss(24.0, 0.0, True, 1.0),
    (4, ""): Loss(83.0, 0.0, True, 2.0),
    (2, "_fast"): Loss(25.0078125, 0.375, True, 2.0),
    (3, "_fast"): Loss(212.0, 0.34375, True, 2.0),
    (4, "_fast"): Loss(1517.0, 0.25390625, True, 2.0),
}
"""By limbs and what ends the names of networks; above the proved bounds, in numbers of few bits."""


def _split(name: str) -> tuple[str, list[str]]:
    """A network's listing without its end, and the words that it returns."""
    lines = NETWORKS[name].listing.strip().splitlines()
    return "\n".join(lines[:-1]), lines[-1].removeprefix("return ").split(", ")


def _accumulate(n: int, fast: str, loss: Loss) -> None:
    state = n + 1 if n > 1 and not fast else n
    if n == 1:
        body, words = "a = fma(x[0], y[0], s[0])", ["a"]
    else:
        body, words = _split(f"accumulate{n}{fast}")
    lines = [body, f"radius = s[{state}]"]
    if loss.sums:
        lines.append(f"radius = fma({loss.sums}, fabs({words[0]}), radius)")
    if loss.products:
        lines.append("radius = fma(fabs(x[0]), fabs(y[0]), radius)")
    lines.append(f"return {', '.join(words)}, radius")
    _define(
        f"bounded_accumulate{n}{fast}", f"s:+{state + 1} x:{n + 1} y:{n + 1} -> +{state + 1}", lines
    )
    if n == 1:
        body, words = "a = s[0]", ["a"]
    else:
        body, words = _split(f"renormalise{n}{fast}")
        lines = [body, f"return {', '.join(words)}, s[{state}]"]
        _define(f"bounded_renormalise{n}{fast}", f"s:+{state + 1} -> +{state + 1}", lines)
        body, words = _split(f"finish{n}{fast}")
    lines = [body, f"radius = {loss.weight} * s[{state}]"]
    if loss.end:
        lines.append(f"radius = fma({loss.end}, fabs({words[0]}), radius)")
    lines += _checked(words[0])
    lines.append(f"return {', '.join(words)}, radius")
    _define(f"bounded_finish{n}{fast}", f"s:+{state + 1} -> {n + 1}", lines)


def _checked(leading: str) -> list[str]:
    """No bound is known where the lower limbs may be lost near overflow."""
    return [f"twice = {leading} + {leading}", "radius = select(finite(twice), radius, fabs(twice))"]


def _operation(name: str, n: int, inner: str, radius: list[str], loss: float) -> None:
    x, y = (", ".join(f"{v}[{i}]" for i in range(n)) for v in ("x", "y"))
    call = f"r = {inner}(({x}), ({y}))" if n > 1 else f"r = {inner}({x}, {y})"
    lines = [call, *radius, f"radius = fma({loss}, fabs(r[0]), radius)", *_checked("r[0]")]
    lines.append("return " + ", ".join([*(f"r[{i}]" for i in range(n)), "radius"]))
    _define(name, f"x:{n + 1} y:{n + 1} -> {n + 1}", lines)


def _define(name: str, signature: str, lines: list[str]) -> None:
    define(name, signature, "\n".join(lines), source="the plain network", bound="in its last word")


for _n in range(1, 5):
    _sum = [f"radius = x[{_n}] + y[{_n}]"]
    _product = [f"radius = fabs(x[0]) * y[{_n}]", f"radius = fma(fabs(y[0]), x[{_n}], radius)"]
    _networks = tuple(f"{_op}{_n}" for _op in ("add", "mul", "div", "sqrt"))
    _operation(f"bounded_add{_n}", _n, f"add{_n}", _sum, ADD[_n])
    _operation(f"bounded_add{_n}_guarded", _n, operator("add", *_networks).name, _sum, ADD[_n])
    _operation(f"bounded_mul{_n}_guarded", _n, operator("mul", *_networks).name, _product, MUL[_n])
for (_n, _fast), _loss in LOSSES.items():
    _accumulate(_n, _fast, _loss)
