"""Proofs of error bounds: networks evaluated on what is known of their words.

A word is known by a linear form, which says exactly what it is (a sum of input words, of exact
products of two of them, and of rounding errors), and by an upper bound of its magnitude. Each gate
makes a new rounding error with a bound of its own; the errors of error-free transformations
appear twice, with opposite signs, and cancel. So the sum of a network's results less the exact
result is a short sum of rounding errors, and the sum of their bounds is a proof: all terms, of all
orders, for a word of ``precision`` bits, barring overflow and underflow.

``fast_two_sum`` is exact where its first word is zero or a multiple of an ulp of its second. It is
shown from magnitudes, or from grids: a word may be known to be a multiple of another word's ulp.
Where neither shows it, the error that it may make is added to the bound.

All numbers are Fractions; nothing is rounded. docs/bounds.md explains the method, and how the
bounds in docs/bits.md follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, pairwise, product
from typing import Any

from portmp import networks
from portmp.networks.language import WORD

Form = Mapping[str, Fraction]
"""A linear form: what is added, by name, times its coefficient."""

ZERO, ONE = Fraction(0), Fraction(1)


def power_below(x: Fraction) -> Fraction:
    """The largest power of two that is at most x > 0."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    power = Fraction(2) ** exponent
    return power if power <= x else power / 2


@dataclass(eq=False)
class Known:
    """What is known of a word.

    ``form`` is its exact value, ``high`` and ``low`` bound its magnitude. It is a multiple of an
    ulp of each word of ``grids``, and at most half an ulp of each word of ``halves``. ``power``: it
    is zero or a power of two.
    """

    form: dict[str, Fraction]
    high: Fraction
    low: Fraction = ZERO
    grids: frozenset[int] = frozenset()
    halves: frozenset[int] = frozenset()
    power: bool = False
    name: str = ""
    key: int = 0


@dataclass
class Model:
    """One evaluation: a precision, and what is known of each term and rounding error."""

    precision: int
    ordered: bool = False
    """Whether fast_two_sum's condition is proved elsewhere (tests/patterns.py)."""
    sizes: dict[str, Fraction] = field(default_factory=dict)
    products: set[tuple[str, str]] = field(default_factory=set)
    doubtful: int = 0
    _keys: Iterable[int] = field(default_factory=lambda: count(1))

    @property
    def u(self) -> Fraction:
        """The unit roundoff."""
        return Fraction(1, 2**self.precision)

    # --- words ------------------------------------------------------------------------------

    def word(self, form: Form, high: Fraction, low: Fraction = ZERO, **known: Any) -> Known:
        """A word with a key of its own; its magnitude is also bounded by its form's."""
        kept = {name: c for name, c in form.items() if c}
        summed = sum((abs(c) * self.sizes[name] for name, c in kept.items()), ZERO)
        key = next(iter(self._keys))
        return Known(kept, min(high, summed), low, key=key, **known)

    def given(
        self, name: str, high: Fraction, low: Fraction = ZERO, *, power: bool = False
    ) -> Known:
        """An input word."""
        self.sizes[name] = high
        return self.word({name: ONE}, high, low, power=power, name=name)

    def error(self, size: Fraction) -> str:
        """A new rounding error of at most *size*."""
        name = f"e{len(self.sizes)}"
        self.sizes[name] = size
        return name

    def rounded(self, x: Fraction) -> Fraction:
        """x >= 0 rounded to nearest (ties upward, which bounds ties to even)."""
        if not x:
            return ZERO
        unit = 2 * self.u * power_below(x)
        return math.floor(x / unit + Fraction(1, 2)) * unit

    def half_ulp(self, high: Fraction) -> Fraction:
        """The largest error of rounding a number of at most *high*."""
        return self.u * power_below(high) if high else ZERO

    # --- gates ------------------------------------------------------------------------------

    def add(self, a: Known, b: Known, *, exact_error: bool = False) -> tuple[Known, Known]:
        """The rounded sum, and its error as a word (which counts only where it is used)."""
        exact = _sum(a.form, b.form)
        high = min(a.high + b.high, self._size(exact))
        if not a.high or not b.high:
            other = b if not a.high else a
            s = self.word(exact, high, other.low, grids=other.grids, name="")
            return s, self.word({}, ZERO)
        error = self.error(min(self.half_ulp(high), a.high, b.high))
        low = max(a.low - b.high, b.low - a.high, ZERO)
        grids = self._shared(a, b)
        s = self.word(_sum(exact, {error: -ONE}), self.rounded(high), self._down(low), grids=grids)
        e = self.word({error: ONE}, self.sizes[error], grids=grids, halves=frozenset({s.key}))
        return s, e

    def plus(self, a: Known, b: Known) -> Known:
        """a + b."""
        return self.add(a, b)[0]

    def two_sum(self, a: Known, b: Known) -> tuple[Known, Known]:
        """Sum and error."""
        return self.add(a, b)

    def fast_two_sum(self, a: Known, b: Known) -> tuple[Known, Known]:
        """Sum and error; with an error of its own where its condition is not shown."""
        s, e = self.add(a, b)
        if self.ordered or self._ordered(a, b):
            return s, e
        self.doubtful += 1
        wrong = self.error(2 * self.half_ulp(2 * b.high))
        e = self.word(_sum(e.form, {wrong: ONE}), e.high + self.sizes[wrong])
        return s, e

    def two_prod(self, a: Known, b: Known) -> tuple[Known, Known]:
        """Product and error."""
        exact = self._product(a, b)
        high = a.high * b.high
        if a.power or b.power:
            return self.word(exact, high, a.low * b.low), self.word({}, ZERO)
        error = self.error(self.half_ulp(high))
        p = self.word(_sum(exact, {error: -ONE}), self.rounded(high), self._down(a.low * b.low))
        return p, self.word({error: ONE}, self.sizes[error], halves=frozenset({p.key}))

    def times(self, a: Known, b: Known) -> Known:
        """a * b."""
        return self.two_prod(a, b)[0]

    def fma(self, a: Known, b: Known, c: Known) -> Known:
        """a * b + c, rounded once."""
        exact = _sum(self._product(a, b), c.form)
        high = min(a.high * b.high + c.high, self._size(exact))
        if not high:
            return self.word({}, ZERO)
        error = self.error(self.half_ulp(high))
        low = max(a.low * b.low - c.high, c.low - a.high * b.high, ZERO)
        return self.word(_sum(exact, {error: -ONE}), self.rounded(high), self._down(low))

    def minus(self, a: Known) -> Known:
        """-a."""
        return Known(
            {n: -c for n, c in a.form.items()},
            a.high,
            a.low,
            a.grids,
            a.halves,
            a.power,
            f"-{a.name}" if a.name else "",
            a.key,
        )

    def literal(self, value: float) -> Known:
        """A number."""
        if not value:
            return self.word({}, ZERO, power=True)
        name = f"{value!r}"
        self.sizes[name] = abs(Fraction(value))
        size = abs(Fraction(value))
        return self.word({name: ONE}, size, size, power=size == power_below(size), name=name)

    def gates(self) -> dict[str, Callable[..., Any]]:
        """For ``networks.evaluate``."""
        return {
            "two_sum": self.two_sum,
            "fast_two_sum": self.fast_two_sum,
            "two_prod": self.two_prod,
            "fma": self.fma,
            "add": self.plus,
            "sub": lambda a, b: self.plus(a, self.minus(b)),
            "mul": self.times,
            "neg": self.minus,
            "literal": self.literal,
        }

    # --- what gates need ----------------------------------------------------------------------

    def _product(self, a: Known, b: Known) -> dict[str, Fraction]:
        """The exact product of two input words (or their negatives) as a term of its own."""
        if not a.high or not b.high:
            return {}
        if not (a.name and b.name):
            raise ValueError("a product of words that are no inputs: bound it by hand")
        sign = ONE if a.name.startswith("-") == b.name.startswith("-") else -ONE
        names = tuple(sorted((a.name.lstrip("-"), b.name.lstrip("-"))))
        pair = (names[0], names[1])
        self.products.add(pair)
        self.sizes["*".join(pair)] = a.high * b.high
        return {"*".join(pair): sign}

    def _size(self, form: Form) -> Fraction:
        return sum((abs(c) * self.sizes[name] for name, c in form.items()), ZERO)

    def _down(self, low: Fraction) -> Fraction:
        return low * (1 - self.u)

    def _on(self, a: Known, grid: int, ulp_of: Mapping[int, Known] | None = None) -> bool:
        return grid == a.key or grid in a.grids

    def _shared(self, a: Known, b: Known) -> frozenset[int]:
        """Words of whose ulps both a and b are multiples."""
        mine, other = {a.key, *a.grids}, {b.key, *b.grids}
        shared = mine & other
        if a.low >= b.high:
            shared |= other
        if b.low >= a.high:
            shared |= mine
        return frozenset(shared)

    def _ordered(self, a: Known, b: Known) -> bool:
        """Whether fast_two_sum(a, b) is exact."""
        if not a.high or not b.high or a.low >= b.high:
            return True
        # Then a is zero or at least an ulp of w, and b at most half of it; or a multiple of ulp(b).
        return b.key in a.grids or bool({a.key, *a.grids} & b.halves)


def _sum(a: Form, b: Form) -> dict[str, Fraction]:
    total = dict(a)
    for name, c in b.items():
        total[name] = total.get(name, ZERO) + c
    return {name: c for name, c in total.items() if c}


# --- products and multiply-adds -------------------------------------------------------------


def limbs(
    model: Model, name: str, count: int, low: Fraction, high: Fraction, ties: Sequence[bool]
) -> list[Known]:
    """A weakly normalised value with its leading limb from *low* to *high*, in [1, 2].

    ``ties[i]``: limb i + 1 is exactly half an ulp of the one above, and so a power of two; else it
    is less, and its own half ulp half as large.
    """
    u = model.u
    found = [model.given(f"{name}0", min(high, 2 - 2 * u), low)]
    most = u
    for i, tie in enumerate(ties[: count - 1], start=1):
        if tie:
            found.append(model.given(f"{name}{i}", most, most, power=True))
            most *= u
        else:
            found.append(model.given(f"{name}{i}", most * (1 - u)))
            most *= u / 2
    return found


@dataclass(frozen=True)
class Found:
    """A bound in units of u^N, and how many fast_two_sums were not shown to be exact."""

    bound: Fraction
    doubtful: int


def products(
    name: str,
    limbs_of: tuple[int, int],
    unit: int,
    precision: int,
    cuts: int,
    *,
    state: int = 0,
    ordered: bool = False,
) -> Found:
    """The error of a product of values of so many limbs (a word: 1) over |x0 y0|, times u^-unit.

    Leading limbs are taken from 1 to 2 in *cuts* intervals each, lower ones with and without ties.
    With *state* words of an accumulator, which are zero: the errors of the product's own terms.
    """
    net = networks.get(name)
    worst, doubtful = ZERO, 0
    n, k = limbs_of
    edges = [ONE + Fraction(i, cuts) for i in range(cuts + 1)]
    for tx, ty in product(_ties(n), _ties(k)):
        for (a, b), (c, d) in product(pairwise(edges), repeat=2):
            model = Model(precision, ordered)
            x = limbs(model, "x", n, a, b, tx)
            y = limbs(model, "y", k, c, d, ty)
            given: list[Any] = [[model.word({}, ZERO) for _ in range(state)]] if state else []
            for (_, kind), words in zip(net.inputs[len(given) :], (x, y), strict=True):
                given.append(words[0] if kind == WORD else words)
            result = networks.evaluate(net, model.gates(), *given)
            error = _over(model, result, x, y)
            worst = max(worst, error / (a * c))
            doubtful = max(doubtful, model.doubtful)
    return Found(worst * 2 ** (precision * unit), doubtful)


def _ties(count: int) -> Iterable[tuple[bool, ...]]:
    return product((False, True), repeat=count - 1)


def _over(model: Model, result: Any, x: Sequence[Known], y: Sequence[Known]) -> Fraction:
    """The bound of a result's error against the product of x and y."""
    words = result if isinstance(result, tuple) else (result,)
    total: dict[str, Fraction] = {}
    for word in words:
        total = _sum(total, word.form)
    error = ZERO
    for a, b in product(x, y):
        if not a.high or not b.high:
            continue
        found = total.pop("*".join(sorted((a.name, b.name))), ZERO)
        if found not in (0, 1):
            raise ValueError(f"{a.name} {b.name} counts {found} times")
        if not found:
            error += a.high * b.high
    return error + model._size(total)


# --- sums of products -----------------------------------------------------------------------

Size = Mapping[str, Fraction]
"""A bound of a magnitude: a sum of named magnitudes with coefficients that are not negative."""


def _plus(*sizes: Size, times: Fraction = ONE) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for size in sizes:
        for name, c in size.items():
            total[name] = total.get(name, ZERO) + c * times
    return total


@dataclass(frozen=True)
class Part:
    """A word of an accumulation: a bound of its size, and whether it comes from the state."""

    size: Size
    state: bool = False
    limb: int = -1


class Sums:
    """Bounds of an accumulator's words over the steps between two renormalisations.

    Every rounding error is taken as u times the size of what is rounded. ``lost`` collects those in
    which the state has a part; those of the product alone are ``products``'.
    """

    def __init__(self, precision: int, left: Collection[int] | None = None) -> None:
        self.u = Fraction(1, 2**precision)
        self.lost: dict[str, Fraction] = {}
        self.now = ""
        self.left = left
        self.sums = 0

    def _rounded(self, size: Size, state: bool, *, dropped: bool) -> tuple[Part, Part]:
        error = _plus(size, times=self.u)
        if dropped and state:
            self.lost = _plus(self.lost, error)
        return Part(_plus(size, error), state), Part(error, state)

    def two_sum(self, a: Part, b: Part) -> tuple[Part, Part]:
        """Sum and error."""
        return self._rounded(_plus(a.size, b.size), a.state or b.state, dropped=False)

    def add(self, a: Part, b: Part) -> Part:
        """A sum whose error is lost; nothing is, where a word is zero."""
        self.sums += 1
        if not a.size or not b.size:
            return a if a.size else b
        counts = self.left is None or self.sums - 1 in self.left
        return self._rounded(_plus(a.size, b.size), a.state or b.state, dropped=counts)[0]

    def fast_two_sum(self, a: Part, b: Part) -> tuple[Part, Part]:
        """Sum and error, which is off by u times the second word at most where that is larger."""
        wrong = _plus(b.size, times=self.u * (1 + 5 * self.u))
        self.lost = _plus(self.lost, wrong)
        s, e = self.two_sum(a, b)
        return s, Part(_plus(e.size, wrong), e.state)

    def _product(self, a: Part, b: Part) -> dict[str, Fraction]:
        return {self.now: self.u ** (a.limb + b.limb)}

    def two_prod(self, a: Part, b: Part) -> tuple[Part, Part]:
        """Product and error."""
        return self._rounded(self._product(a, b), False, dropped=False)

    def fma(self, a: Part, b: Part, c: Part) -> Part:
        """A product and a sum, rounded once."""
        return self._rounded(_plus(self._product(a, b), c.size), c.state, dropped=True)[0]

    def mul(self, a: Part, b: Part) -> Part:
        """A rounded product."""
        return self.two_prod(a, b)[0]

    def gates(self) -> dict[str, Callable[..., Any]]:
        """For ``networks.evaluate``."""
        return {
            "two_sum": self.two_sum,
            "fast_two_sum": self.fast_two_sum,
            "two_prod": self.two_prod,
            "fma": self.fma,
            "add": self.add,
            "mul": self.mul,
        }


@dataclass(frozen=True)
class Slab:
    """A sum of products errs by at most *running* sum|S_i| + *total* T, in units of u^N."""

    running: Fraction
    total: Fraction


def slab(
    name: str, count: int, precision: int, period: int, steps: int, local: Fraction, *, sums: bool
) -> Slab:
    """The bound of *steps* multiply-adds, renormalised after every *period*; without the end.

    *name* is the accumulator's (``3``, ``3_fast``), *local* what a product's own terms lose
    (``products``). With *sums* running sums stay in the bound; else each is at most T.
    """
    unit = 2 ** (precision * count)
    lost = _period(Sums(precision), name, count, period)
    running = {name: c for name, c in lost.items() if name[0] in "SR"}
    of_products = {name: c for name, c in lost.items() if name[0] in "PQ"}
    total = max((c for n, c in of_products.items() if n != "Q"), default=ZERO)
    total = local + (total + of_products.get("Q", ZERO)) * unit * SLACK
    if not sums:
        periods = -(-steps // period)
        return Slab(ZERO, total + periods * sum(running.values(), ZERO) * unit * SLACK)
    # The last sum of a period is the next one's first.
    edge = running.get("S0", ZERO) + running.get(f"S{period}", ZERO)
    inner = (c for n, c in running.items() if n not in ("S0", "R", f"S{period}"))
    most = max([edge, *inner]) + running.get("R", ZERO)
    return Slab(most * unit * SLACK, total)


def _period(model: Sums, name: str, count: int, period: int) -> dict[str, Fraction]:
    """What is lost from one renormalisation to the next one, by sums and products."""
    step, settle = networks.get(f"accumulate{name}"), networks.get(f"renormalise{name}")
    x = tuple(Part({}, limb=i) for i in range(count))
    words = step.inputs[0][1].words
    state = tuple(Part({"S0": model.u**i}, True) for i in range(words))
    # What a period leaves for the next shrinks by u from one to the next: four of them, and slack.
    for _ in range(PERIODS):
        model.lost = {}
        for i in range(1, period + 1):
            model.now, model.sums = f"P{i}", 0
            state = networks.evaluate(step, model.gates(), state, x, x)
            # The leading word is the running sum less the other words and what was lost.
            lower = _plus(*(w.size for w in state[1:]), model.lost)
            state = (Part(_plus({f"S{i}": ONE}, lower), True), *state[1:])
        settled = networks.evaluate(settle, model.gates(), state)
        state = tuple(Part(_before(w.size, period), True) for w in settled)
    return model.lost


@dataclass(frozen=True)
class Left:
    """What a step's plain sums lose in a period, in units of u^N, where only some of them count.

    *sums* times the size of the running sum at its end, *products* T of the period and *before* T
    of all that came before it.
    """

    sums: Fraction
    products: Fraction
    before: Fraction


def left(name: str, count: int, precision: int, period: int, sums: Collection[int]) -> Left:
    """The part of an accumulator's loss that ``bounded`` does not follow.

    A running sum of the period is at most that at its end and T of the period.
    """
    lost = _period(Sums(precision, sums), name, count, period)
    unit = 2 ** (precision * count) * SLACK
    running = sum((c for n, c in lost.items() if n[0] == "S"), ZERO)
    most = max((c for n, c in lost.items() if n[0] == "P"), default=ZERO)
    before = lost.get("R", ZERO) + lost.get("Q", ZERO)
    return Left(running * unit, (running + most) * unit, before * unit)


PERIODS, SLACK = 4, 1 + Fraction(1, 2**20)


def _before(size: Size, period: int) -> dict[str, Fraction]:
    """A size in the names of the next period: its S0, earlier sums (R), earlier products (Q)."""
    named: dict[str, Fraction] = {}
    for name, c in size.items():
        new = "S0" if name == f"S{period}" else "R" if name[0] in "SR" else "Q"
        named[new] = named.get(new, ZERO) + c
    return named
