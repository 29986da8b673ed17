#!/usr/bin/env python3
"""Small arrays and long expressions: calls one by one, fused (``mp.fuse``) and captured.

A planet's orbit by arrays of 3 numbers (leapfrog, 13 calls a step), microseconds a step: of plain
calls, of fused functions, and of both captured and replayed by a thousand steps until they are
done. Then abs(a b + c - d) of long vectors, by plain calls and fused, beside a copy of an array.
All by turns; medians, least and largest.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import portmp as mp
from portmp.errors import PortmpError

STEPS, REPLAYED, TURNS = 100, 1000, 11
Orbit = tuple[Any, Any, Any]


def pull(x: Any, square: Any) -> Any:
    """The acceleration at x."""
    return -x / (square * mp.sqrt(square))


def square(x: Any) -> Any:
    """The squared distance."""
    return (x * x).sum()


def moved(x: Any, v: Any, step: Any) -> Any:
    """x after a step by v."""
    return x + v * step


def expression(a: Any, b: Any, c: Any, d: Any) -> Any:
    """A product, two sums and a choice of sign."""
    return abs(a * b + c - d)


def stepped(fused: bool, half: Any, whole: Any) -> Callable[[Any, Any, Any], Orbit]:
    """A step of leapfrog, by fused functions or not."""
    to, of, by = (mp.fuse(f) if fused else f for f in (moved, square, pull))

    def step(x: Any, v: Any, a: Any) -> Orbit:
        v = to(v, a, half)
        x = to(x, v, whole)
        a = by(x, of(x))
        return x, to(v, a, half), a

    return step


def orbits(form: str, device: Any) -> dict[str, tuple[Callable[[], None], int]]:
    """What goes on by so many steps, by name."""
    half, whole = mp.array("0.0005", form, device), mp.array("0.001", form, device)
    found: dict[str, tuple[Callable[[], None], int]] = {}
    for fused in (False, True):
        step = stepped(fused, half, whole)
        state = [mp.array(p, form, device) for p in ([1, 0, 0], [0, 1, 0], [-1, 0, 0])]

        def plain(step: Any = step, state: list[Any] = state) -> None:
            state[:] = step(*state)

        plain()
        there = [x.copy() for x in state]
        with mp.capture() as loop:
            for x, new in zip(there, step(*there), strict=True):
                x[...] = new
        name = "fused" if fused else "plain"
        found[name] = plain, 1
        found[f"{name}, captured"] = (lambda loop=loop: loop.replay(REPLAYED)), REPLAYED
    return found


def vectors(form: str, n: int, device: Any) -> dict[str, tuple[Callable[[], None], int]]:
    """The expression, and a copy, by name."""
    a, b, c, d = (mp.random.default_rng(i).random(n, form, device) for i in range(4))
    fused, out = mp.fuse(expression), mp.empty(n, form, device)
    return {
        "expression, plain": (lambda: expression(a, b, c, d) is None, 1),
        "expression, fused": (lambda: fused(a, b, c, d) is None, 1),
        "copy": (lambda: mp.positive(a, out=out) is None, 1),
    }


def measured(
    queue: Any, ways: dict[str, tuple[Callable[[], None], int]], count: int
) -> dict[str, dict[str, float]]:
    """Microseconds of each: so many at once (or as many as it does by itself), until done."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS + 1):
        for name, (call, done) in ways.items():
            queue.synchronize()
            began, calls = time.perf_counter(), max(count // done, 1)
            for _ in range(calls):
                call()
            queue.synchronize()
            times[name].append((time.perf_counter() - began) / (calls * done) * 1e6)
    return {
        name: {"median": statistics.median(t[1:]), "least": min(t[1:]), "most": max(t[1:])}
        for name, t in times.items()
    }


def main() -> int:
    """0 once it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("--format", default="dd")
    parser.add_argument("-n", type=int, default=2**24, help="numbers of a vector")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    try:
        queue = mp.zeros(1, args.format, args.device).queue
        found = measured(queue, orbits(args.format, queue), STEPS)
        found |= measured(queue, vectors(args.format, args.n, queue), 1)
    except PortmpError as error:
        print(f"loops: {error}", file=sys.stderr)
        return 2
    report = {
        "date": datetime.date.today().isoformat(),
        "device": queue.device.properties.as_dict(),
        "format": args.format,
        "n": args.n,
        "microseconds": found,
    }
    if args.output:
        args.output.write_text(json.dumps(report, indent=1) + "\n")
    for name, times in found.items():
        print(f"{name:20} {times['median']:12.1f} us ({times['least']:.1f} to {times['most']:.1f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
