#!/usr/bin/env python3
"""Correctly rounded sums and products of float64 beside those of other libraries.

Nanoseconds an element (of products of matrices: a product of two elements), the least of several
runs, on a CPU also those of all its cores together; and whether results are the exact ones rounded:
of ordinary numbers, and of such that cancel to a part in 10^100. Others are taken where they are
installed: math.fsum, gmpy2, mpmath, and from PyPI accupy, uniaccurate and xsum (which brings a
package called tests that hides a checkout's: give it an environment of its own). ``--exblas`` names
ExBLAS's kernel src/gpu/blas1/ExDOT.FPE.EX.8.cl, ``--exblas-gemm`` its
src/gpu/blas3/ExGEMM.FPE.EX.8.cl, ``--reproblas`` a shared library of ReproBLAS's objects
(``exact_peers.py``); ``--orders`` those of the matrices.
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
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from exact_peers import BLOCKS, Numbers, ReproBlas, exblas_dot, exblas_gemm

import portmp as mp
from portmp import discovery
from portmp.backends.base import Device
from portmp.errors import PortmpError

EXACT = 2200
"""Bits that hold every sum of products of doubles of usual size."""
CHECKED = 100_000
"""Elements of sums that are compared with the exact ones."""
SLOW = 100
"""What takes microseconds an element is given a hundredth of them."""
ROWS = 4
"""Rows of products of matrices that are compared with the exact ones."""

Way = tuple[str, Callable[[], Any], int]
"""A name, what computes a result, and of how many elements; of a product of matrices its first rows
at least, and how many products of elements."""


@dataclass(frozen=True)
class Files:
    """What is no package: files that were named."""

    exblas: Path | None
    exblas_gemm: Path | None
    reproblas: ReproBlas | None


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


def ordinary_matrices(n: int) -> tuple[Numbers, Numbers]:
    """Square matrices of numbers from -1 up to 1."""
    x, y = ordinary(n * n)
    return x.reshape(n, n), y.reshape(n, n)


def cancelling_matrices(n: int) -> tuple[Numbers, Numbers]:
    """Square matrices with sums like those of ``cancelling``."""
    generator = np.random.default_rng(29)
    half = (n - 1) // 2
    x = generator.uniform(1, 2, (n, half)) * 2.0 ** generator.integers(-10, 330, half)
    y, small = generator.uniform(1, 2, (half, n)), (n, n - 2 * half)
    left = np.hstack([x, -x[:, ::-1], generator.uniform(1e-3, 2e-3, small)])
    right = np.vstack([y, y[::-1], generator.uniform(-1, 1, small[::-1])])
    order = generator.permutation(n)
    return np.ascontiguousarray(left[:, order]), np.ascontiguousarray(right[order])


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


def exact_rows(a: Numbers, b: Numbers) -> list[list[float]]:
    """The first rows of the product a b, each element rounded once."""
    columns = [np.ascontiguousarray(b[:, j]) for j in range(b.shape[1])]
    return [[float(exact_dot(row, v, v.size)) for v in columns] for row in a[:ROWS]]


def sums(x: Numbers, device: Device, files: Files) -> list[Way]:
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
    if files.reproblas:
        found.append(("ReproBLAS dsum", partial(files.reproblas.sum, x), x.size))
    return found


def dots(x: Numbers, y: Numbers, device: Device, files: Files) -> list[Way]:
    """Ways to sum products."""
    a, b = (mp.array(v, "float64", device) for v in (x, y))
    found: list[Way] = [
        ("portmp, a chain of fma", lambda: float(mp.dot(a, b)), x.size),
        ("portmp, tight bound beside it", lambda: float(mp.dot(a, b, bound="tight")[1]), x.size),
        ("portmp, correct", lambda: float(mp.dot(a, b, rounding="correct")), x.size),
    ]
    if files.exblas:
        found.append(("ExBLAS, expansions of 8", exblas_dot(a, b, files.exblas), x.size))
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
    if files.reproblas:
        found.append(("ReproBLAS ddot", partial(files.reproblas.dot, x, y), x.size))
    return found


def products(x: Numbers, y: Numbers, device: Device, files: Files) -> list[Way]:
    """Ways to multiply square matrices."""
    n, a, b = x.shape[0], *(mp.array(v, "float64", device) for v in (x, y))

    def ended(product: Callable[[], mp.Array]) -> Callable[[], mp.Array]:
        def run() -> mp.Array:
            result = product()
            result.planes.queue.synchronize()
            return result

        return run

    found: list[Way] = [
        ("portmp, a chain of fma", ended(lambda: mp.gemm(a, b)), n**3),
        ("portmp, tight bound beside it", ended(lambda: mp.gemm(a, b, bound="tight")[0]), n**3),
        ("portmp, correct", ended(lambda: mp.gemm(a, b, rounding="correct")), n**3),
    ]
    if files.exblas_gemm:
        for block in (size for size in BLOCKS if n % size == 0):
            run = exblas_gemm(a, b, files.exblas_gemm, block)
            found.append((f"ExBLAS, expansions of 8, blocks of {block}", ended(run), n**3))
    if mpmath := library("mpmath"):
        row = [mpmath.mpf(v) for v in x[0].tolist()]
        columns = [[mpmath.mpf(v) for v in column] for column in y.T.tolist()]

        def by_mpmath() -> list[list[float]]:
            with mpmath.workprec(EXACT):
                return [[float(mpmath.fdot(row, column)) for column in columns]]

        found.append(("mpmath.fdot", by_mpmath, n**2))
    if files.reproblas:
        found.append(("ReproBLAS dgemm", partial(files.reproblas.gemm, x, y), n**3))
    return found


def library(name: str) -> Any:
    """A package, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def measured(ways: list[Way], device: Device, seconds: float) -> dict[str, dict[str, float]]:
    """Nanoseconds an element of each way; on processors also those of all cores together."""
    found: dict[str, dict[str, float]] = {}
    for name, run, count in ways:
        run()
        times: list[float] = []
        processor: list[float] = []
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            device.queue.synchronize()
            start, used = time.perf_counter(), time.process_time()
            run()
            times.append(time.perf_counter() - start)
            processor.append(time.process_time() - used)
        found[name] = {"elements": count, "ns_an_element": 1e9 * min(times) / count}
        if device.properties.kind == "cpu":
            found[name]["processor_ns_an_element"] = 1e9 * min(processor) / count
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


def first_rows(product: Any) -> list[list[float]]:
    """The rows of a result that are compared."""
    if isinstance(product, mp.Array):
        product = product.to_float64()
    rows: list[list[float]] = np.asarray(product)[:ROWS].tolist()
    return rows


def compared_rows(
    ways: list[Way], exact: list[list[float]], into: dict[str, dict[str, Any]], key: str
) -> None:
    """How large a share of the first rows' elements is the exact one, rounded to a double."""
    for name, run, _ in ways:
        if "beside" not in name:
            pairs = zip(first_rows(run()), exact, strict=False)
            right = [v == wanted for row in pairs for v, wanted in zip(*row, strict=True)]
            into[name][key] = sum(right) / len(right)


def main() -> int:
    """0 once it is measured, 2 for a device or a file that cannot be had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--count", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each way")
    parser.add_argument("--exblas", type=Path, metavar="FILE")
    parser.add_argument("--exblas-gemm", type=Path, metavar="FILE")
    parser.add_argument("--reproblas", type=Path, metavar="LIBRARY")
    parser.add_argument("--orders", default="64,128,256", metavar="N,N", help="of matrices")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    try:
        device = discovery.get(args.device)
        reproblas = ReproBlas(args.reproblas) if args.reproblas else None
        files = Files(args.exblas, args.exblas_gemm, reproblas)
        cases: dict[str, Any] = {}
        x, y = ordinary(args.count)
        cases["sum"] = measured(sums(x, device, files), device, args.seconds)
        cases["dot"] = measured(dots(x, y, device, files), device, args.seconds)
        for make in (ordinary, cancelling):
            x, y = make(CHECKED)
            key = f"correct_{make.__name__}"
            compared(sums(x, device, files), partial(exact_sum, x), cases["sum"], key)
            compared(dots(x, y, device, files), partial(exact_dot, x, y), cases["dot"], key)
        for n in map(int, filter(None, args.orders.split(","))):
            a, b = ordinary_matrices(n)
            ways = products(a, b, device, files)
            cases[f"gemm {n}"] = found = measured(ways, device, args.seconds)
            compared_rows(ways, exact_rows(a, b), found, "correct_ordinary")
            a, b = cancelling_matrices(n)
            ways = products(a, b, device, files)
            compared_rows(ways, exact_rows(a, b), found, "correct_cancelling")
    except (PortmpError, OSError) as error:
        print(f"exact_sums: {error}", file=sys.stderr)
        return 2
    for routine, found in cases.items():
        for name, facts in found.items():
            right = ", ".join(f"{k} {v:g}" for k, v in facts.items() if k.startswith("correct"))
            taken = f"{facts['ns_an_element']:10.3f} ns an element"
            if used := facts.get("processor_ns_an_element"):
                taken += f" ({used:.3f} of processors)"
            print(f"{routine}  {name:40} {taken}  {right}")
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
