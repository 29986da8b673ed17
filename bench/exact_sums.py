#!/usr/bin/env python3
"""Correctly rounded sums and dot products of float64 beside those of other libraries.

Nanoseconds an element, the least of several runs, and whether results are the exact ones rounded:
of ordinary numbers, and of such that cancel to a part in 10^100. Others are taken where they are
installed: math.fsum, gmpy2, mpmath, and from PyPI accupy, uniaccurate and xsum (which brings a
package called tests that hides a checkout's: give it an environment of its own). ExBLAS is no
package: ``--exblas`` names its OpenCL kernel ExDOT.FPE.EX.8.cl (github.com/riakymch/exblas,
src/gpu/blas1); what its work-groups add up is merged and rounded on the host.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import json
import math
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp import discovery
from portmp.backends.base import Device
from portmp.errors import ArgumentError, PortmpError

EXACT = 2200
"""Bits that hold every sum of products of doubles of usual size."""
CHECKED = 100_000
"""Elements of sums that are compared with the exact ones."""
SLOW = 100
"""What takes microseconds an element is given a hundredth of them."""
GROUPS, THREADS, COPIES, BINS, DIGIT, UNITS_DIGIT = 1024, 256, 16, 39, 56, 20
"""ExBLAS: work-groups, their work-items and accumulators: bins, their bits, that of units."""
MASK = (1 << 28) - 1

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Way = tuple[str, Callable[[], float], int]
"""A name, what computes a result, and of how many elements."""


def ordinary(count: int) -> tuple[Numbers, Numbers]:
    """Numbers from -1 up to 1."""
    generator = np.random.default_rng(27)
    return generator.uniform(-1, 1, count), generator.uniform(-1, 1, count)


def cancelling(count: int) -> tuple[Numbers, Numbers]:
    """Large products that cancel in pairs, far from each other, about a small sum."""
    generator = np.random.default_rng(28)
    half = count // 2
    x = generator.uniform(1, 2, half) * 2.0 ** generator.integers(-10, 330, half)
    y = generator.uniform(1, 2, half)
    left, right = np.concatenate([x, -x[::-1], [1e-3]]), np.concatenate([y, y[::-1], [1 / 3]])
    order = generator.permutation(left.size)
    return left[order], right[order]


def exact_sum(x: Numbers, count: int) -> Fraction:
    """The sum of the first *count* numbers, exactly."""
    unit = 1074
    total = sum(n * ((1 << unit) // d) for n, d in map(float.as_integer_ratio, x[:count].tolist()))
    return Fraction(total, 1 << unit)


def exact_dot(x: Numbers, y: Numbers, count: int) -> Fraction:
    """The sum of the first products, exactly."""
    unit, total = 1 << 1074, 0
    for a, b in zip(x[:count].tolist(), y[:count].tolist(), strict=True):
        (n, d), (m, e) = a.as_integer_ratio(), b.as_integer_ratio()
        total += n * (unit // d) * m * (unit // e)
    return Fraction(total, unit * unit)


def sums(x: Numbers, device: Device) -> list[Way]:
    """Ways to sum numbers."""
    here, plain = mp.array(x, "float64", device), x.tolist()
    found: list[Way] = [
        ("portmp, a chain of additions", lambda: float(here.sum()), x.size),
        ("portmp, tight bound beside it", lambda: float(here.sum(bound="tight")[1]), x.size),
        ("portmp, correct", lambda: float(here.sum(rounding="correct")), x.size),
        ("math.fsum", lambda: math.fsum(plain), x.size),
    ]
    if gmpy2 := library("gmpy2"):
        some = [gmpy2.mpfr(v) for v in plain]
        found.append(("gmpy2.fsum", lambda: float(gmpy2.fsum(some)), x.size))
    if xsum := library("xsum"):

        def by_xsum() -> float:
            accumulator = xsum.xsum_large()
            accumulator.add(x)
            return float(accumulator.round())

        found.append(("xsum_large", by_xsum, x.size))
    if uniaccurate := library("uniaccurate"):
        found.append(("uniaccurate.exact_sum", lambda: float(uniaccurate.exact_sum(x)), x.size))
        found.append(("uniaccurate.near_sum", lambda: float(uniaccurate.near_sum(x)), x.size))
    if accupy := library("accupy"):
        found.append(("accupy.ksum, K = 2", lambda: float(accupy.ksum(x, K=2)), x.size))
        few = x[: max(2, x.size // SLOW)]
        found.append(("accupy.fsum", lambda: float(accupy.fsum(few)), few.size))
    return found


def dots(x: Numbers, y: Numbers, device: Device, exblas: Path | None) -> list[Way]:
    """Ways to sum products."""
    a, b = (mp.array(v, "float64", device) for v in (x, y))
    found: list[Way] = [
        ("portmp, a chain of fma", lambda: float(mp.dot(a, b)), x.size),
        ("portmp, tight bound beside it", lambda: float(mp.dot(a, b, bound="tight")[1]), x.size),
        ("portmp, correct", lambda: float(mp.dot(a, b, rounding="correct")), x.size),
    ]
    if exblas is not None:
        found.append(("ExBLAS, expansions of 8", by_exblas(a, b, exblas), x.size))
    few = [v[: max(2, x.size // SLOW)] for v in (x, y)]
    if mpmath := library("mpmath"):
        terms = [[mpmath.mpf(v) for v in one.tolist()] for one in few]

        def by_mpmath() -> float:
            with mpmath.workprec(EXACT):
                return float(mpmath.fdot(*terms))

        found.append(("mpmath.fdot", by_mpmath, few[0].size))
    if uniaccurate := library("uniaccurate"):
        found.append(("uniaccurate.exact_dot", lambda: float(uniaccurate.exact_dot(x, y)), x.size))
    if accupy := library("accupy"):
        found.append(("accupy.kdot, K = 2", lambda: float(accupy.kdot(x, y, K=2)), x.size))
        found.append(("accupy.fdot", lambda: float(accupy.fdot(*few)), few[0].size))
    return found


def library(name: str) -> Any:
    """A package, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def by_exblas(a: mp.Array, b: mp.Array, path: Path) -> Callable[[], float]:
    """ExBLAS's dot product on the arrays' device, an OpenCL one."""
    device, queue = a.device, a.planes.queue
    if device.platform != "opencl":
        raise ArgumentError(f"--exblas: {device.name} given, a device of OpenCL is needed")
    sizes = {"WARP_COUNT": COPIES, "WARP_SIZE": THREADS // COPIES}
    text = "#pragma OPENCL FP_CONTRACT OFF\n"
    text += "".join(f"#define {name} {size}\n" for name, size in sizes.items())
    # Its second kernel merges groups' accumulators before others may have written theirs.
    text += path.read_text().partition("// Merging")[0]
    kernels = device.load(device.compile(text), ["ExDOT"])
    partial = device.allocate(8 * BINS * GROUPS)
    held = np.zeros((GROUPS, BINS), np.int64)

    def run() -> float:
        one = np.uint32(1)
        terms = [partial, *a.planes.buffers, one, *b.planes.buffers, one, np.uint32(a.size)]
        queue.launch(kernels["ExDOT"], (GROUPS, 1, 1), (THREADS, 1, 1), terms)
        queue.read(partial, held, 0)
        halves = enumerate(zip((held >> 28).sum(axis=0), (held & MASK).sum(axis=0), strict=True))
        digits = [(i, (int(high) << 28) + int(low)) for i, (high, low) in halves]
        return float(sum(Fraction(2) ** (DIGIT * (i - UNITS_DIGIT)) * n for i, n in digits))

    return run


def measured(ways: list[Way], device: Device, seconds: float) -> dict[str, dict[str, float]]:
    """Nanoseconds an element of each way."""
    found = {}
    for name, run, count in ways:
        run()
        times, end = [], time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            device.queue.synchronize()
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        found[name] = {"elements": count, "ns_an_element": 1e9 * min(times) / count}
    return found


def compared(
    ways: list[Way], exact: Callable[[int], Fraction], into: dict[str, dict[str, Any]], key: str
) -> None:
    """Which results are the exact ones, rounded to a double."""
    known: dict[int, float] = {}
    for name, run, count in ways:
        if "beside" not in name:
            wanted = known.setdefault(count, float(exact(count)))
            into[name][key] = run() == wanted


def main() -> int:
    """0 once it is measured, 2 for a device or a file that cannot be had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--count", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each way")
    parser.add_argument("--exblas", type=Path, metavar="FILE")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    try:
        device = discovery.get(args.device)
        cases: dict[str, Any] = {}
        x, y = ordinary(args.count)
        cases["sum"] = measured(sums(x, device), device, args.seconds)
        cases["dot"] = measured(dots(x, y, device, args.exblas), device, args.seconds)
        for make in (ordinary, cancelling):
            x, y = make(CHECKED)
            key = f"correct_{make.__name__}"
            compared(sums(x, device), partial(exact_sum, x), cases["sum"], key)
            compared(dots(x, y, device, args.exblas), partial(exact_dot, x, y), cases["dot"], key)
    except (PortmpError, OSError) as error:
        print(f"exact_sums: {error}", file=sys.stderr)
        return 2
    for routine, found in cases.items():
        for name, facts in found.items():
            right = ", ".join(k for k, v in facts.items() if v is True) or "-"
            print(f"{routine}  {name:30} {facts['ns_an_element']:10.2f} ns an element  {right}")
    packages = ("numpy", "gmpy2", "mpmath", "xsum", "uniaccurate", "accupy")
    report = {
        "date": datetime.date.today().isoformat(),
        "device": device.properties.as_dict(),
        "compiler": device.compiler_key(),
        "python": sys.version.split()[0],
        "packages": {p: importlib.metadata.version(p) for p in packages if library(p)},
        "cases": cases,
    }
    if args.output:
        args.output.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
