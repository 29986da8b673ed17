#!/usr/bin/env python3
"""The same calls on several devices of one machine, by turns in one process.

    python bench/processors.py cpu:0 opencl:0 -o report.json

Each device has operands of its own; each call is waited for; a device's time is the least of its
turns, and its rate is told over that of the last device given. The geometric mean is of the calls
that take a millisecond or more there.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp import discovery

TURNS, SECONDS = 9, 0.03
Work = Callable[..., Any]
RNG = np.random.default_rng(1)

POLYNOMIAL = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n) {
        ${value} sum = ${load("x", "i")};
        const ${value} x = sum;
        for (int k = 0; k < 20; ++k)
            sum = ${fma("sum", "x", "sum")};
        ${store("y", "i", "sum")}
    }
}
"""
AXPY = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n) {
        const ${value} sum = ${fma(load("a"), load("x", "i"), load("y", "i"))};
        ${store("y", "i", "sum")}
    }
}
"""


def positive(n: int) -> np.ndarray[Any, Any]:
    """A positive definite matrix."""
    a = RNG.standard_normal((n, n))
    found: np.ndarray[Any, Any] = a @ a.T + n * np.eye(n)
    return found


def calls() -> Iterator[tuple[str, str, list[np.ndarray[Any, Any]], Work]]:
    """Name, format, operands, call."""
    random = RNG.standard_normal
    for form, n in {"ds": 384, "ts": 256, "dd": 256, "td": 192, "qd": 128}.items():
        yield f"gemm {form} {n}", form, [random((n, n)), random((n, n))], mp.gemm
    yield "gemm dd 512", "dd", [random((512, 512)), random((512, 512))], mp.gemm
    for form in ("dd", "qd"):
        for function in (mp.exp, mp.sin, mp.log):
            yield f"{function.__name__} {form}", form, [abs(random(100_000))], function
        vectors = [random(200_000), random(200_000)]
        yield f"axpy {form}", form, vectors, lambda x, y: mp.axpy(2, x, y)
        yield f"dot {form}", form, vectors, mp.dot
        n = 256 if form == "dd" else 128
        for name in ("lu_factor", "qr"):
            yield f"{name} {form} {n}", form, [random((n, n))], getattr(mp.linalg, name)
        yield f"cholesky {form} {n}", form, [positive(n)], mp.linalg.cholesky
        yield f"solve {form} {n}", form, [random((n, n)), random(n)], mp.linalg.solve
    bodies = [random((2048, 3)), abs(random(2048))]
    yield "gravity dd 2048", "dd", bodies, lambda p, m: mp.nbody.acceleration(p, m, eps="0.1")
    for form in ("float32", "float64", "dd", "qd"):
        axpy = mp.Kernel(AXPY, "axpy(a: value, x: in [n], y: inout [n])", threads="n", format=form)
        signature = "polynomial(x: in [n], y: out [n])"
        polynomial = mp.Kernel(POLYNOMIAL, signature, threads="n", format=form)
        pair = [RNG.random(1 << 18), RNG.random(1 << 18)]
        yield f"a kernel, axpy {form}", form, pair, lambda x, y, k=axpy: k(a="0.5", x=x, y=y)
        yield f"a kernel, polynomial {form}", form, pair[:1], lambda x, k=polynomial: k(x=x)
    small = [random(16), random(16)]
    yield "a + b of 16", "dd", small, lambda x, y: x + y
    yield "dot of 16", "dd", small, mp.dot
    for n in (4, 64):
        yield f"gemm dd {n}", "dd", [random((n, n)), random((n, n))], mp.gemm
    yield "exp dd of 1000", "dd", [random(1000)], mp.exp
    yield "solve dd 64", "dd", [random((64, 64)), random(64)], mp.linalg.solve


def timed(works: list[tuple[Any, Callable[[], Any]]]) -> list[float]:
    """Seconds of a call on each device: the least of the turns."""
    best = [math.inf] * len(works)
    for device, work in works:
        for _ in range(3):
            work()
        device.queue.synchronize()
    for _ in range(TURNS):
        for place, (device, work) in enumerate(works):
            start, count = time.perf_counter(), 0
            while not count or time.perf_counter() - start < SECONDS:
                work()
                device.queue.synchronize()
                count += 1
            best[place] = min(best[place], (time.perf_counter() - start) / count)
    return best


def main() -> None:
    """Print a line a call; write all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("devices", nargs="+")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--only", default="", help="calls whose names begin so")
    args = parser.parse_args()
    devices = [discovery.get(name) for name in args.devices]
    rows = []
    for name, form, hosts, call in calls():
        if not name.startswith(args.only):
            continue
        operands = [[mp.array(h, form, device=d) for h in hosts] for d in devices]
        works = [
            (d, lambda given=given, call=call: call(*given))
            for d, given in zip(devices, operands, strict=True)
        ]
        seconds = timed(works)
        rows.append({"call": name, "seconds": seconds})
        told = "".join(f"{1e6 * s:12.1f}" for s in seconds)
        over = "".join(f"{seconds[-1] / s:8.2f}" for s in seconds[:-1])
        print(f"{name:28}{told} us{over}", flush=True)
    long = [row["seconds"] for row in rows if row["seconds"][-1] >= 1e-3]
    means = [
        math.exp(sum(math.log(s[-1] / s[place]) for s in long) / max(len(long), 1))
        for place in range(len(devices) - 1)
    ]
    print("geometric mean of rates:", ", ".join(f"{mean:.2f}" for mean in means))
    if args.output:
        report = {
            "date": datetime.date.today().isoformat(),
            "devices": [{"name": d.name, **d.properties.as_dict()} for d in devices],
            "turns": TURNS,
            "rows": rows,
            "means": means,
        }
        args.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
