"""A hunt for the largest errors of networks: hill-climbing from hostile starts.

Each of many herds keeps the operands with the largest error that it has seen, changes them a little
(a bit, an ulp, a tie, a limb of another) and takes what is worse. Errors are exact: integers of any
length. So what a hunt finds is a lower bound of a network's worst error; docs/bits.md states it
beside the proved bound, and a hunt that finds more than that bound has found a fault.

``python tests/hunting.py --seconds 60 --seed 1 mul3 div3`` prints what it finds.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import multiprocessing
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from portmp import networks
from portmp.networks import evaluator

Array = np.ndarray[Any, Any]
PRECISION = {"float32": 24, "float64": 53}
FOUND = Path(__file__).parent / "data" / "hunted.json"
"""What the longest hunts found: operands, errors and seeds."""

HERD, HERDS = 24, 40
"""Changed copies of a herd's best in a generation, and how many herds there are."""


def integers(words: Array, scale: int) -> list[int]:
    """Exact sums of words (count, limbs), times 2^scale."""
    mantissas, exponents = np.frexp(words.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64).tolist()
    shifts = (exponents - 53 + scale).tolist()
    return [
        sum(m << s if s >= 0 else m >> -s for m, s in zip(ms, ss, strict=True))
        for ms, ss in zip(whole, shifts, strict=True)
    ]


@dataclass(frozen=True)
class Prey:
    """A network to hunt: its operands' kinds (limbs, or 0 for a word), and its error.

    ``error`` takes exact operands, the exact result and the scale, and gives the error relative
    to what the bound is relative to.
    """

    name: str
    operands: tuple[int, ...]
    error: Callable[[Sequence[int], int, int], float]
    run: Callable[[str, Sequence[Any]], Any] | None = None
    limbs: int = 0

    def result(self, word: str, values: Sequence[Any]) -> Array:
        """Words of the results, (count, limbs)."""
        if self.run is not None:
            found = self.run(word, values)
        else:
            found = evaluator.run(self.name, np.dtype(word), *values)
        found = found if isinstance(found, tuple) else (found,)
        return np.stack([np.broadcast_to(w, found[0].shape) for w in found], axis=1)


def _of_sum(v: Sequence[int], r: int, s: int) -> float:
    exact = v[0] + v[1]
    return abs(r - exact) / abs(exact) if exact else (math.inf if r else 0.0)


def _of_product(v: Sequence[int], r: int, s: int) -> float:
    exact = v[0] * v[1]
    return abs((r << s) - exact) / abs(exact)


def _of_quotient(v: Sequence[int], r: int, s: int) -> float:
    return abs(r * v[1] - (v[0] << s)) / abs(v[0] << s)


def _of_reciprocal(v: Sequence[int], r: int, s: int) -> float:
    return abs(r * v[0] - (1 << 2 * s)) / (1 << 2 * s)


def _of_root(v: Sequence[int], r: int, s: int) -> float:
    return abs(r * r - (v[0] << s)) / (2 * (v[0] << s))


def _of_inverse_root(v: Sequence[int], r: int, s: int) -> float:
    return abs(r * r * v[0] - (1 << 3 * s)) / (2 << 3 * s)


def _rooted(name: str) -> Callable[[str, Sequence[Any]], Any]:
    def run(word: str, values: Sequence[Any]) -> Any:
        seed = evaluator.run("rsqrt_word", np.dtype(word), values[0][0])
        return evaluator.run(name, np.dtype(word), values[0], seed)

    return run


def _summed(limbs: int, tail: str, steps: int) -> Callable[[str, Sequence[Any]], Any]:
    """The same product *steps* times."""

    def run(word: str, values: Sequence[Any]) -> Any:
        dtype = np.dtype(word)
        net = networks.get(f"accumulate{limbs}{tail}")
        words = net.result.words
        state: Any = tuple(np.zeros(len(values[0][0]), dtype) for _ in range(words))
        period = 4 if tail else networks_period()
        for i in range(steps):
            state = evaluator.run(net.name, dtype, state, *values)
            if (i + 1) % period == 0:
                state = evaluator.run(f"renormalise{limbs}{tail}", dtype, state)
        return evaluator.run(f"finish{limbs}{tail}", dtype, state)

    return run


def networks_period() -> int:
    """Steps between two renormalisations of accurate sums."""
    from portmp import definition

    return definition.PERIOD


def _of_sums(steps: int) -> Callable[[Sequence[int], int, int], float]:
    def error(v: Sequence[int], r: int, s: int) -> float:
        exact = steps * v[0] * v[1]
        return abs((r << s) - exact) / abs(exact)

    return error


def preys() -> dict[str, Prey]:
    """All that is hunted."""
    found = []
    for n in (2, 3, 4):
        found += [
            Prey(f"add{n}", (n, n), _of_sum),
            Prey(f"add{n}_word", (n, 0), _of_sum),
            Prey(f"mul{n}", (n, n), _of_product),
            Prey(f"mul{n}_word", (n, 0), _of_product),
            Prey(f"div{n}", (n, n), _of_quotient),
            Prey(f"sqrt{n}", (n,), _of_root),
            Prey(f"rsqrt{n}", (n,), _of_inverse_root, _rooted(f"rsqrt{n}"), n),
        ]
        for tail in ("", "_fast"):
            found += [
                Prey(f"accumulate{n}{tail} x {k}", (n, n), _of_sums(k), _summed(n, tail, k), n)
                for k in (1, 64)
            ]
    found += [
        Prey("add2_jmp6", (2, 2), _of_sum),
        Prey("mul2_jmp12", (2, 2), _of_product),
        Prey("reciprocal2", (2,), _of_reciprocal),
    ]
    return {one.name: one for one in found}


class Hunt:
    """Herds of operands of one network."""

    def __init__(self, prey: Prey, word: str, seed: int) -> None:
        self.prey, self.word = prey, word
        self.precision = PRECISION[word]
        self.limbs = prey.limbs or networks.get(prey.name.split(" ")[0]).result.words
        self.rng = np.random.default_rng([seed, len(prey.name), self.precision])
        self.columns = [max(1, n) for n in prey.operands]
        self.width = sum(self.columns)
        self.scale = 2 * self.precision * (max(self.columns) + 2)
        self.tried = 0
        self.best = self._starts(HERDS)
        self.errors = self.measure(self.best)

    # --- operands -------------------------------------------------------------------------

    def _mantissas(self, shape: tuple[int, ...]) -> Array:
        """Hostile significands from 1 up to 2: few bits, all ones, ties, random."""
        p, rng = self.precision, self.rng
        step = 2.0 ** (1 - p)
        few = 1 + rng.integers(0, 8, shape) * step
        ones = 2 - rng.integers(1, 8, shape) * step
        short = 1 + rng.integers(0, 16, shape) / 16
        free = 1 + np.floor(rng.random(shape) * 2.0 ** (p - 1)) * step
        middle = rng.choice([1.25, 4 / 3, math.sqrt(2), 1.5, 1.75], shape)
        near = np.round((middle + rng.integers(-8, 9, shape) * step) / step) * step
        kinds = rng.integers(0, 5, shape)
        return np.choose(kinds, [few, ones, short, free, near])

    def _starts(self, size: int) -> Array:
        rng, p = self.rng, self.precision
        words = np.zeros((size, self.width))
        at = 0
        for n in self.columns:
            below = np.zeros(size, np.int64)
            for i in range(n):
                m = self._mantissas((size,))
                if i:
                    below += p + np.where(rng.random(size) < 0.9, 1, rng.integers(1, p, size))
                    m = np.where(rng.random(size) < 0.3, 2.0, m)
                    m *= rng.choice([-1, 1], size)
                words[:, at + i] = np.ldexp(m, -below)
            at += n
        return self._settled(words)

    def _settled(self, words: Array) -> Array:
        """Leading limbs from 1 up to 4 (1 up to 2 but for roots); limbs at most half an ulp."""
        p = self.precision
        words = words.astype(self.word).astype(np.float64)
        at = 0
        for n in self.columns:
            words[:, at] = np.where(words[:, at] == 0, 1.0, words[:, at])
            m, e = np.frexp(words[:, at])
            keep = self.prey.name.startswith(("add", "sqrt", "rsqrt"))
            span = (
                np.clip(e, -2 * p, 2 * p) if self.prey.name.startswith("add") else (e - 1) % 2 + 1
            )
            if not keep:
                span = np.ones_like(e)
            if not self.prey.name.startswith("add"):
                m = np.abs(m)
            shift = span - e
            for i in range(n):
                words[:, at + i] = np.ldexp(words[:, at + i], shift)
            for i in range(1, n):
                above = words[:, at + i - 1]
                half = np.where(above == 0, 0.0, np.ldexp(1.0, np.frexp(above)[1] - 1 - p))
                here = words[:, at + i]
                over = np.abs(here) > half
                down = np.maximum(np.frexp(np.abs(here))[1] - np.frexp(half)[1] + 1, 0)
                words[:, at + i] = np.where(over, np.ldexp(here, -down), here)
                words[:, at + i] = np.where(half == 0, 0.0, words[:, at + i])
            if not self.prey.name.startswith("add"):
                words[:, at] = np.abs(words[:, at])
            at += n
        return words.astype(self.word).astype(np.float64)

    def _changed(self, words: Array) -> Array:
        """Copies, each changed in one to three ways."""
        rng, p = self.rng, self.precision
        out = np.repeat(words, HERD, axis=0)
        rows = np.arange(len(out))
        for _ in range(3):
            column = rng.integers(0, self.width, len(out))
            here = out[rows, column]
            _, e = np.frexp(here)
            bit = np.ldexp(1.0, e - 1 - rng.integers(0, p, len(out)))
            ulp = np.ldexp(1.0, e - p)
            other = out[rows, rng.integers(0, self.width, len(out))]
            om, _ = np.frexp(other)
            free = np.ldexp(self._mantissas((len(out),)), e - 1) * np.sign(here)
            tie = np.sign(here) * np.ldexp(1.0, e)
            choices = [
                here,
                here + bit * rng.choice([-1, 1], len(out)),
                here + ulp * rng.integers(-3, 4, len(out)),
                -here,
                np.ldexp(om, e),
                free,
                np.ldexp(here, rng.choice([-1, 1], len(out))),
                tie,
            ]
            kind = rng.integers(0, len(choices), len(out))
            out[rows, column] = np.choose(kind, choices)
        if len(self.columns) == 2 and self.columns[0] == self.columns[1]:
            n = self.columns[0]
            alike = rng.random(len(out)) < 0.05
            out[alike, n:] = out[alike, :n]
        return self._settled(out)

    # --- errors ---------------------------------------------------------------------------

    def measure(self, words: Array) -> Array:
        """The error of each row's operands, in units of u^N."""
        self.tried += len(words)
        values: list[Any] = []
        exact: list[list[int]] = []
        at = 0
        for n, kind in zip(self.columns, self.prey.operands, strict=True):
            limbs = tuple(words[:, at + i].astype(self.word) for i in range(n))
            values.append(limbs if kind else limbs[0])
            exact.append(integers(words[:, at : at + n], self.scale))
            at += n
        with np.errstate(all="ignore"):
            found = self.prey.result(self.word, values)
        got = integers(found, self.scale)
        unit = 2.0 ** (self.precision * self.limbs)
        return np.array(
            [
                self.prey.error(row, r, self.scale) * unit
                for *row, r in zip(*exact, got, strict=True)
            ]
        )

    def begin_from(self, rows: Array) -> None:
        """Let some herds begin from known operands."""
        rows = self._settled(rows[: HERDS // 2])
        self.best[: len(rows)] = rows
        self.errors[: len(rows)] = self.measure(rows)

    def generation(self) -> None:
        """Each herd's best changed copy takes its place if it is worse than the best so far."""
        changed = self._changed(self.best)
        errors = self.measure(changed).reshape(HERDS, HERD)
        winner = errors.argmax(axis=1)
        rows = np.arange(HERDS)
        found = errors[rows, winner]
        better = found >= self.errors
        chosen = changed.reshape(HERDS, HERD, self.width)[rows, winner]
        self.best[better] = chosen[better]
        self.errors[better] = found[better]

    def restarted(self) -> None:
        """The worse half of the herds begins anew: from hostile starts, and from the best."""
        order = np.argsort(self.errors)
        low = order[: HERDS // 2]
        fresh = self._starts(len(low))
        self.best[low] = fresh
        self.errors[low] = self.measure(fresh)

    def run(
        self, *, seconds: float = math.inf, generations: float = math.inf
    ) -> tuple[float, list[str]]:
        """Hunt for so long; the largest error, and its operands' words in hexadecimal.

        What *generations* find is the same on every machine, however slow.
        """
        end, count = time.monotonic() + seconds, 0
        top, words = -1.0, self.best[0]
        while True:
            self.generation()
            at = int(self.errors.argmax())
            if self.errors[at] > top:
                top, words = float(self.errors[at]), self.best[at].copy()
            count += 1
            if count >= generations or time.monotonic() >= end:
                return top, [float(w).hex() for w in words]
            if count % 150 == 0:
                self.restarted()


def translated(words: Sequence[float], source: str, target: str, columns: Sequence[int]) -> Array:
    """Operands in the other word: as many last bits from a power of two, limbs as far apart."""
    steps = [2.0 ** (1 - PRECISION[word]) for word in (source, target)]
    apart = PRECISION[source] - PRECISION[target]
    found, place = [], [i for n in columns for i in range(n)]
    for i, word in zip(place, words, strict=True):
        m, e = math.frexp(abs(word))
        above, below = (2 * m - 1) / steps[0], (2 - 2 * m) / steps[0]
        m = 1 + above * steps[1] if above < 64 else 2 - below * steps[1] if below < 64 else 2 * m
        found.append(math.copysign(math.ldexp(m, e - 1 + i * apart) if word else 0.0, word))
    return np.array(found)


def known_starts(prey: Prey, word: str, columns: Sequence[int], recorded: Any) -> Array:
    """What networks of the same kind are known to do worst with, in either word."""
    kin = [one.name for one in preys().values() if one.operands == prey.operands]
    rows = [
        translated([float.fromhex(w) for w in recorded[f"{name}/{of}"]["words"]], of, word, columns)
        for name in sorted(kin, key=lambda name: name[:3] != prey.name[:3])
        for of in PRECISION
        if f"{name}/{of}" in recorded
    ]
    return np.array(rows).reshape(len(rows), sum(columns))


def stated(name: str) -> float:
    """The proved bound that a network states, in units of u^N."""
    text = networks.get(name).bound
    found = re.match(r"([\d./]+) ?u\^\d(?: \+ (\d+)u\^\d)?(?:\|result\|)?(?: T)? \(proved", text)
    assert found, text
    return float(Fraction(found[1])) + (float(found[2] or 0) * 2.0**-24)


def limit(name: str) -> float:
    """What a hunt may find."""
    plain = name.split(" ", maxsplit=1)[0]
    if not plain.startswith("accumulate"):
        return stated(plain) if plain != "reciprocal2" else math.inf
    n = int(plain[len("accumulate")])
    text = networks.get(plain).bound.split("(proved")[0]
    numbers = {w: float(v) for v, w in re.findall(r"([\d.]+)u\^\d (sum|T)", text)}
    steps = int(name.rsplit(" ", maxsplit=1)[-1])
    # Of equal products the running sums add up to (steps + 1) / 2 times T.
    ended = 2 if n == 4 else 1
    return numbers.get("T", 0) + numbers.get("sum", 0) * (steps + 1) / 2 + ended


def _hunted(task: tuple[str, str, int, float, Any]) -> tuple[str, dict[str, Any], int]:
    """One network in one word: its key, the worst that was found, and how many were tried."""
    name, word, seed, seconds, recorded = task
    hunt = Hunt(preys()[name], word, seed)
    if recorded:
        hunt.begin_from(known_starts(hunt.prey, word, hunt.columns, recorded))
    error, words = hunt.run(seconds=seconds)
    return f"{name}/{word}", {"error": error, "words": words, "seed": seed}, hunt.tried


def _recorded(found: dict[str, Any]) -> None:
    """What is worse than what was known."""
    known = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    for key, one in found.items():
        if one["error"] > known.get(key, {"error": 0})["error"]:
            known[key] = one
    FOUND.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


def main(arguments: Iterable[str] | None = None) -> int:
    """Hunt networks by name; 1 where a bound was exceeded.

    With ``--output`` what was found is written after each network; ``--record`` keeps what is worse
    than what was known, with ``--merge`` that of runs elsewhere.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=20, help="for each network and word")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--word", default="float32,float64")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--known", action="store_true", help="begin from what is recorded, too")
    parser.add_argument("--merge", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    given = parser.parse_args(list(arguments) if arguments is not None else None)
    for file in given.merge:
        _recorded(json.loads(file.read_text())["found"])
    if given.merge:
        return 0
    known = json.loads(FOUND.read_text()) if given.known else None
    tasks = [
        (name, word, given.seed, given.seconds, known)
        for name in given.names or preys()
        for word in given.word.split(",")
    ]
    found: dict[str, Any] = {}
    hours, tried, above = 0.0, 0, []
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        for key, one, count in pool.imap_unordered(_hunted, tasks):
            name = key.split("/")[0]
            found[key] = one
            hours += given.seconds / 3600
            tried += count
            if one["error"] > limit(name) * (1 + 1e-6):
                above.append(key)
            told = "  ABOVE ITS BOUND" if key in above else ""
            print(
                f"{key:32} {one['error']:10.4f} of {limit(name):g}  {count} tried{told}", flush=True
            )
            if given.output:
                report = {
                    "date": datetime.date.today().isoformat(),
                    "seed": given.seed,
                    "hours": round(hours, 3),
                    "tried": tried,
                    "above": above,
                    "found": dict(sorted(found.items())),
                }
                fresh = given.output.with_suffix(".part")
                fresh.write_text(json.dumps(report, indent=1) + "\n")
                fresh.replace(given.output)
    if given.record:
        _recorded(found)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
