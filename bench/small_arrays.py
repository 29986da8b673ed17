#!/usr/bin/env python3
"""From which size arrays pay: a product and an exponential of n numbers, beside mpmath's.

    python bench/small_arrays.py --device opencl:0 -o report.json

mpmath computes number by number, with as many bits; portmp's arrays lie on the device before, and
each call is waited for. Both by turns, the least time of them, of calls that are repeated.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

import portmp as mp
from portmp import formats

SIZES, TURNS = (1, 10, 30, 100, 300, 1000, 10_000, 100_000), 9
SECONDS = 0.02
"""What a turn takes at least, where one call takes less."""


def least(calls: list[Callable[[], Any]]) -> list[float]:
    """Seconds of each call, by turns."""
    times = [[] for _ in calls]  # type: list[list[float]]
    for call in calls:
        call()
    for _ in range(TURNS):
        for call, found in zip(calls, times, strict=True):
            start, count = time.perf_counter(), 0
            while not count or time.perf_counter() - start < SECONDS:
                call()
                count += 1
            found.append((time.perf_counter() - start) / count)
    return [min(found) for found in times]


def row(name: str, n: int, device: Any) -> dict[str, Any]:
    """Times of one format and size."""
    rng = np.random.default_rng(n)
    texts = [[str(v) for v in rng.random(n)] for _ in range(2)]
    x, y = (mp.array(text, name, device) / 3 for text in texts)
    mpmath.mp.prec = formats.get(name).bits
    p, q = ([mpmath.mpf(v) / 3 for v in text] for text in texts)

    def done(made: Any) -> Any:
        device.queue.synchronize()
        return made

    times = least(
        [
            lambda: done(x * y),
            lambda: [u * v for u, v in zip(p, q, strict=True)],
            lambda: done(mp.exp(x)),
            lambda: [mpmath.exp(u) for u in p],
        ]
    )
    names = ("product", "product, mpmath", "exp", "exp, mpmath")
    return {"format": name, "n": n} | dict(zip(names, times, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    device = mp.discovery.get(args.device)
    rows = []
    for name in ("dd", "qd"):
        for n in SIZES:
            rows.append(row(name, n, device))
            print(rows[-1], flush=True)
    report = {
        "date": datetime.date.today().isoformat(),
        "device": {"name": device.properties.name, **device.properties.as_dict()},
        "mpmath": f"{mpmath.__version__}, {mpmath.libmp.BACKEND}",
        "turns": TURNS,
        "seconds by size": rows,
    }
    Path(args.output).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
