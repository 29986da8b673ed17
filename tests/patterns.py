"""Proofs about sums by what z3 knows of exponents: fast_two_sum's order, normalisation, bounds.

A word is zero, or known by its sign, the exponent e of its leading bit and the exponent f of its
last bit that is set (f <= e < f + p). What IEEE 754 lets a sum and its error be is said in these
four, by the lemmas of ``sum_lemmas``, which ``test_bounds.py`` tries on all words of a tiny
precision. That is Zhang and Aiken's idea (CAV 2025: sign, exponent and trailing zeros), with lemmas
of our own. A claim is proved where z3 finds no exponents that fulfil the lemmas and break it;
exponents have no ends, so overflow and underflow are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from portmp import networks

Z: Any = None
try:
    import z3 as Z
except ImportError:  # a developer's tool: tests that need it are skipped
    Z = None


@dataclass(frozen=True)
class Word:
    """A word's pattern; booleans and integers, of z3 or of Python."""

    zero: Any
    negative: Any
    e: Any
    f: Any


class Python:
    """The words of logic for plain values: to try lemmas on numbers."""

    @staticmethod
    def all(*parts: bool) -> bool:
        return all(parts)

    @staticmethod
    def any(*parts: bool) -> bool:
        return any(parts)

    @staticmethod
    def no(part: bool) -> bool:
        return not part

    @staticmethod
    def iff(a: bool, b: bool) -> bool:
        return a == b

    @staticmethod
    def if_then(a: bool, b: bool) -> bool:
        return not a or b


class Solver:
    """The same for z3."""

    @staticmethod
    def all(*parts: Any) -> Any:
        return Z.And(*parts)

    @staticmethod
    def any(*parts: Any) -> Any:
        return Z.Or(*parts)

    @staticmethod
    def no(part: Any) -> Any:
        return Z.Not(part)

    @staticmethod
    def iff(a: Any, b: Any) -> Any:
        return a == b

    @staticmethod
    def if_then(a: Any, b: Any) -> Any:
        return Z.Implies(a, b)


def word_lemmas(x: Word, p: Any, logic: Any) -> Any:
    """What every word is."""
    return logic.any(x.zero, logic.all(x.f <= x.e, x.e < x.f + p))


def same(x: Word, y: Word, logic: Any) -> Any:
    """Equal patterns, as equal words have."""
    equal = logic.all(
        logic.no(x.zero),
        logic.no(y.zero),
        x.e == y.e,
        x.f == y.f,
        logic.iff(x.negative, y.negative),
    )
    return logic.any(logic.all(x.zero, y.zero), equal)


def half_ulp(x: Word, y: Word, p: Any, logic: Any) -> Any:
    """|y| <= ulp(x) / 2, y zero where x is."""
    return logic.any(
        y.zero,
        logic.all(
            logic.no(x.zero), logic.any(y.e < x.e - p, logic.all(y.e == x.e - p, y.f == y.e))
        ),
    )


def ordered(x: Word, y: Word, p: Any, logic: Any) -> Any:
    """fast_two_sum(x, y) is exact: x is zero, or a multiple of ulp(y)."""
    return logic.any(x.zero, y.zero, x.e >= y.e, x.f >= y.e - p + 1)


def sum_lemmas(x: Word, y: Word, s: Word, r: Word, p: Any, logic: Any) -> list[Any]:
    """What the rounded sum s of x and y and its error r are."""
    al, an, no, then = logic.all, logic.any, logic.no, logic.if_then
    both = al(no(x.zero), no(y.zero))
    found = [
        then(x.zero, al(same(s, y, logic), r.zero)),
        then(y.zero, al(same(s, x, logic), r.zero)),
        # the error: at most half an ulp, a tie goes to even; below a power of two ulps are halved
        an(
            r.zero,
            al(
                no(s.zero),
                an(r.e < s.e - p, al(r.e == s.e - p, r.f == r.e, s.f >= s.e - p + 2)),
                an(
                    s.f < s.e,
                    logic.iff(r.negative, s.negative),
                    r.e < s.e - p - 1,
                    al(r.e == s.e - p - 1, r.f == r.e),
                ),
            ),
        ),
    ]
    for a, b in ((x, y), (y, x)):
        alike = logic.iff(a.negative, b.negative)
        lowest = al(both, b.f <= a.f)  # b has the last bit
        found += [
            then(al(lowest, no(s.zero)), s.f >= b.f),
            then(al(lowest, no(r.zero)), r.f >= b.f),
            then(al(both, b.f < a.f, no(r.zero)), r.f == b.f),
            then(al(both, b.f < a.f, r.zero), al(no(s.zero), s.f == b.f)),
            then(al(both, b.f == a.f, no(r.zero)), r.f > b.f),
            then(al(both, b.f == a.f, r.zero, no(s.zero)), s.f > b.f),
            # the nearest is as near as a or b
            then(al(both, no(r.zero)), r.e <= b.e),
            # exponents and signs
            then(al(both, a.e > b.e), al(no(s.zero), logic.iff(s.negative, a.negative))),
            then(al(both, a.e > b.e, alike), an(s.e == a.e, al(s.e == a.e + 1, b.e >= a.f - 1))),
            then(
                al(both, a.e > b.e + 1, no(alike)),
                an(
                    s.e == a.e,
                    al(
                        s.e == a.e - 1,
                        an(
                            al(a.f < a.e, b.e >= a.f),
                            al(a.f == a.e, b.e > a.e - p - 1),
                            al(a.f == a.e, b.e == a.e - p - 1, b.f < b.e),
                        ),
                    ),
                ),
            ),
            then(al(both, a.e == b.e + 1, no(alike)), s.e <= a.e),
            then(
                al(both, a.e == b.e + 1, no(alike), a.f == a.e),
                an(s.e < b.e, al(b.f == b.e, s.e == b.e)),
            ),
            # a carry or a borrow leaves no more than b above, or below, a power of two
            then(
                al(both, a.e > b.e, alike, s.e == a.e + 1),
                an(s.f == s.e, s.f <= b.e + 1, s.f <= s.e - p + 1),
            ),
            then(
                al(both, a.e > b.e + 1, no(alike), s.e == a.e - 1),
                an(s.f <= b.e + 1, s.f <= s.e - p + 1),
            ),
            # b is below all of a's bits: it is rounded alone
            then(
                al(both, b.e < a.f - 1, no(r.zero)),
                an(al(same(s, a, logic), same(r, b, logic)), s.f <= b.e + 1),
            ),
            # b is lost beside a
            then(
                al(
                    both,
                    an(
                        b.e < a.e - p - 1,
                        al(b.e == a.e - p - 1, an(alike, a.f < a.e, b.f == b.e)),
                        al(b.e == a.e - p, b.f == b.e, a.f >= a.e - p + 2, an(alike, a.f < a.e)),
                    ),
                ),
                al(same(s, a, logic), same(r, b, logic)),
            ),
        ]
    alike = logic.iff(x.negative, y.negative)
    found += [
        then(
            al(both, x.e == y.e, alike),
            al(no(s.zero), logic.iff(s.negative, x.negative), s.e == x.e + 1),
        ),
        then(al(both, x.e == y.e, no(alike)), al(r.zero, an(s.zero, s.e < x.e))),
        then(s.zero, r.zero),
        then(al(both, s.zero), al(x.e == y.e, x.f == y.f, no(alike))),
    ]
    return found


class Prover:
    """A network whose words are patterns; ``failed`` are the claims that z3 did not prove."""

    def __init__(self, precision: int, seconds: float = 60) -> None:
        self.p = precision
        self.solver = Z.SolverFor("QF_LIA")
        self.solver.set("timeout", int(seconds * 1000))
        self.count = 0
        self.dropped: list[tuple[Word, Word]] = []
        self.failed: list[str] = []
        self.claims = 0

    def word(self) -> Word:
        """A word of which nothing is known yet."""
        self.count += 1
        n = self.count
        new = Word(Z.Bool(f"z{n}"), Z.Bool(f"n{n}"), Z.Int(f"e{n}"), Z.Int(f"f{n}"))
        self.solver.add(word_lemmas(new, self.p, Solver))
        return new

    def value(self, limbs: int) -> tuple[Word, ...]:
        """A weakly normalised value."""
        words = tuple(self.word() for _ in range(limbs))
        for x, y in pairwise(words):
            self.solver.add(half_ulp(x, y, self.p, Solver))
        return words

    def holds(self, claim: Any) -> bool:
        """Whether the claim follows."""
        self.claims += 1
        self.solver.push()
        self.solver.add(Z.Not(claim))
        answer = self.solver.check()
        self.solver.pop()
        return bool(answer == Z.unsat)

    def two_sum(self, x: Word, y: Word) -> tuple[Word, Word]:
        """Sum and error."""
        s, r = self.word(), self.word()
        self.solver.add(*sum_lemmas(x, y, s, r, self.p, Solver))
        return s, r

    def fast_two_sum(self, x: Word, y: Word) -> tuple[Word, Word]:
        """The same, once the words' order is proved."""
        claim = ordered(x, y, self.p, Solver)
        if self.holds(claim):
            self.solver.add(claim)
        else:
            self.failed.append(f"fast_two_sum after {self.count} words")
        return self.two_sum(x, y)

    def two_prod(self, x: Word, y: Word) -> tuple[Word, Word]:
        """Product and error, an error of at most half an ulp; by exponents alone."""
        q, r = self.word(), self.word()
        nought = Z.Or(x.zero, y.zero)
        tie = Z.And(r.e == q.e - self.p, r.f == r.e)
        self.solver.add(
            q.zero == nought,
            Z.Implies(nought, r.zero),
            Z.Implies(
                Z.Not(nought),
                Z.And(
                    q.negative == Z.Xor(x.negative, y.negative),
                    Z.Or(q.e == x.e + y.e, q.e == x.e + y.e + 1),
                    q.f >= x.f + y.f,
                    Z.Or(r.zero, Z.And(r.f >= x.f + y.f, Z.Or(r.e < q.e - self.p, tie))),
                    Z.Implies(Z.Or(x.f == x.e, y.f == y.e), r.zero),
                ),
            ),
        )
        return q, r

    def mul(self, x: Word, y: Word) -> Word:
        """A rounded product."""
        return self.two_prod(x, y)[0]

    def fma(self, x: Word, y: Word, z: Word) -> Word:
        """A product and a sum, rounded once: no larger than what has both roundings."""
        q, _ = self.two_prod(x, y)
        s = self.word()
        larger = Z.If(q.zero, z.e, Z.If(z.zero, q.e, Z.If(q.e > z.e, q.e, z.e)))
        self.solver.add(Z.Or(s.zero, Z.And(Z.Not(Z.And(q.zero, z.zero)), s.e <= larger + 1)))
        return s

    def add(self, x: Word, y: Word) -> Word:
        """A sum whose error is dropped."""
        s, r = self.two_sum(x, y)
        self.dropped.append((s, r))
        return s

    def neg(self, x: Word) -> Word:
        """-x."""
        return Word(x.zero, Z.Not(x.negative), x.e, x.f)

    def gates(self) -> dict[str, Callable[..., Any]]:
        """For ``networks.evaluate``."""
        return {
            "two_sum": self.two_sum,
            "fast_two_sum": self.fast_two_sum,
            "two_prod": self.two_prod,
            "fma": self.fma,
            "mul": self.mul,
            "add": self.add,
            "neg": self.neg,
        }

    def run(self, name: str, *arguments: Any) -> Any:
        """A network's result."""
        return networks.evaluate(networks.get(name), self.gates(), *arguments)

    def normalised(self, words: Sequence[Word]) -> bool:
        """Whether words are weakly normalised."""
        return all(self.holds(half_ulp(x, y, self.p, Solver)) for x, y in pairwise(words))

    def lost(self, leading: Word, limbs: int, most: int) -> int | None:
        """The dropped errors' sum in units of u^limbs |leading|: the least bound up to *most*.

        An error is at most half an ulp of its sum s, 2^(e - p).
        """
        shares = []
        for s, r in self.dropped:
            half, own = s.e - self.p, r.e + 1
            size = Z.If(half < own, half, own) - leading.e + self.p * limbs
            share: Any = Z.IntVal(most + 1)
            for k in range(most.bit_length(), -1, -1):
                share = Z.If(size <= k, Z.IntVal(2**k), share)
            shares.append(Z.If(r.zero, Z.IntVal(0), share))
        total = Z.Sum(shares)
        self.solver.add(Z.Not(leading.zero))
        if not self.holds(total <= most):
            return None
        low, high = 0, most
        while low < high:
            middle = (low + high) // 2
            if self.holds(total <= middle):
                high = middle
            else:
                low = middle + 1
        return high
