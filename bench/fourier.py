"""Fourier transforms on a device: times, beside cuFFT (by CuPy) and mpmath.

python bench/fourier.py --device cuda:0 [--length 16777216] [-o fourier.json]

A script, since its peers are of one kind of numbers and its sizes of one routine.
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp

FORMATS = "complex64", "complex128", "cds", "cdd", "ctd", "cqd"


def seconds(work: Callable[[], object], wait: Callable[[], object], runs: int = 7) -> float:
    """The median time of a call until its work is done."""
    work()
    wait()
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        wait()
        found.append(time.perf_counter() - start)
    return sorted(found)[runs // 2]


def of_cufft(rows: int, n: int, kind: str) -> float | None:
    """The same by cuFFT; None where there is no CuPy."""
    try:
        import cupy
    except ImportError:
        return None
    z = cupy.ones((rows, n), kind)
    return seconds(lambda: cupy.fft.fft(z, axis=1), cupy.cuda.Stream.null.synchronize)


def of_mpmath(n: int, digits: int) -> float:
    """A transform of mpmath's numbers by steps of 2, in Python."""
    import mpmath

    def fft(x: list[Any]) -> list[Any]:
        if len(x) == 1:
            return x
        even, odd = fft(x[::2]), fft(x[1::2])
        half = len(x) // 2
        turned = [roots[k * (n // len(x))] * odd[k] for k in range(half)]
        return [a + b for a, b in zip(even, turned, strict=True)] + [
            a - b for a, b in zip(even, turned, strict=True)
        ]

    with mpmath.workdps(digits):
        roots = [mpmath.expjpi(mpmath.mpf(-2) * k / n) for k in range(n // 2)]
        x = [mpmath.mpc(k, 1) for k in range(n)]
        start = time.perf_counter()
        fft(x)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=None)
    parser.add_argument("--length", type=int, default=1 << 24, help="of the long row")
    parser.add_argument("-o", "--output")
    given = parser.parse_args()
    device = mp.zeros(1, device=given.device).queue.device
    cells = []
    side = 1 << (given.length.bit_length() // 2)
    for rows, n in ((1, 1 << 16), (1, given.length), (side, given.length // side)):
        for form in FORMATS:
            z = mp.ones((rows, n), form, device)
            found = seconds(lambda z=z: mp.fft.fft(z), z.queue.synchronize)
            peer = of_cufft(rows, n, form) if form.startswith("complex") else None
            flops = 5 * rows * n * math.log2(n) / found
            cells.append(
                {
                    "format": form,
                    "rows": rows,
                    "n": n,
                    "seconds": found,
                    "cufft": peer,
                    "flops": flops,
                }
            )
            beside = f", cuFFT {peer * 1e3:.3f} ms" if peer else ""
            print(f"{form:10} {rows:6} x {n:9}: {found * 1e3:.3f} ms{beside}", flush=True)
    host = of_mpmath(1 << 12, 32)
    print(f"mpmath, 32 digits, {1 << 12}: {host:.2f} s")
    if given.output:
        facts = {"device": device.properties.name, "driver": device.properties.driver}
        facts |= {"date": datetime.now(UTC).isoformat(), "numpy": np.__version__}
        text = json.dumps({**facts, "rows": cells, "mpmath_4096": host}, indent=1)
        Path(given.output).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
