#!/usr/bin/env python3
"""Rates of factorisations, eigh, svd, solve and sparse products, wall time with waiting.

Operations: LU and solve 2/3 n^3 (solve and 2 n^2 more), Cholesky 1/3 n^3, QR 4/3 n^3; eigh 9 n^3
and svd 22 n^3, which is what LAPACK's methods need, whatever these do. Matrices are
of random numbers; Cholesky's has n on its diagonal. Each case runs once small, so that kernels are
compiled, then once or, below a second, three times (the median counts), and is checked with a
vector v: l (u v) against p a v, l (l^T v) against a v, |r v| against |a v|, a x against b, vectors
and values times v against a v, relative to the largest element. Cases that do not fit the rest of
``--seconds`` are left out, by the rate of the case before. ``refine`` is ``solve(refine=True)`` of
a matrix with the condition number 10^10, beside float64 factors alone; ``csr`` the product of a
sparse matrix of 27 elements a row with a vector: bytes of elements, indices, borders and both
vectors over the time. ``--routine peers`` measures python-flint's and mpmath's factorisations with
as many bits, where they are installed, and portmp's beside them, products too: the least of some
turns, by the clock and in seconds of all processors, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import portmp as mp
from portmp import discovery
from portmp.backends.base import Device
from portmp.bench import peers
from portmp.errors import PortmpError

OPERATIONS = {"lu": 2 / 3, "solve": 2 / 3, "cholesky": 1 / 3, "qr": 4 / 3}
SPECTRAL = {"eigh": 9.0, "svd": 22.0}
METHODS = {"float64": "direct", "dd": "ozaki2", "td": "ozaki2", "qd": "ozaki1"}
"""What is meant for GPUs; CPUs take ``direct``."""
SIZES = {
    "gpu": {"dd": (1024, 4096, 8192, 16384), "td": (4096, 8192, 16384), "qd": (8192, 16384)},
    "cpu": {"dd": (256, 512, 1024), "td": (256,), "qd": (256,)},
}
SPECTRAL_SIZES = {
    "gpu": {"float64": (1024, 4096), "dd": (512, 1024, 4096), "td": (1024, 4096), "qd": (1024,)},
    "cpu": {"float64": (256,), "dd": (128, 256), "td": (128,)},
}
BATCH = {"gpu": 10_000, "cpu": 500}
REFINED = {"gpu": (1024, 4096, 8192, 16384), "cpu": (256, 512)}
CONDITION = 1e10
SPARSE = {"gpu": 1 << 20, "cpu": 1 << 16}
"""Rows of sparse matrices."""
SPARSE_FORMATS = ("float64", "slfp64in48b", "slfp64in32b", "dd", "td", "qd", "ds", "ts", "d+s")
BITS = {"dd": 106, "td": 159, "qd": 212}
PEER_SIZES = {"portmp": (128, 256, 1024), "python-flint": (256, 1024), "mpmath": (128,)}


class Case(NamedTuple):
    """What is measured: a routine on ``count`` matrices of order n."""

    routine: str
    format: str
    n: int
    method: str
    count: int = 1

    @property
    def operations(self) -> float:
        """Of the format."""
        return self.count * (OPERATIONS | SPECTRAL)[self.routine] * self.n**3


def cases(kind: str, formats: list[str] | None, method: str | None) -> Iterator[Case]:
    """All that is measured on a kind of device, small ones first."""
    for n in (8, 16, 32, 64):
        yield from (Case(r, "dd", n, "direct", BATCH[kind]) for r in ("lu", "cholesky", "qr"))
    sizes = {f: n for f, n in SIZES[kind].items() if formats is None or f in formats}
    for n in sorted({n for one in sizes.values() for n in one}):
        for form in (f for f in sizes if n in sizes[f]):
            usual = METHODS[form] if kind == "gpu" else "direct"
            for routine in OPERATIONS:
                yield Case(routine, form, n, method or usual)
    yield from spectral_cases(kind, formats, method)


def spectral_cases(kind: str, formats: list[str] | None, method: str | None) -> Iterator[Case]:
    """Of eigenvalues and singular values, small ones first."""
    for routine in SPECTRAL:
        yield Case(routine, "dd", 16, "direct", BATCH[kind])
    table = SPECTRAL_SIZES[kind]
    known = [(n, form) for form, sizes in table.items() for n in sizes]
    for n, form in sorted(known):
        usual = METHODS[form] if kind == "gpu" else "direct"
        if formats is None or form in formats:
            yield from (Case(routine, form, n, method or usual) for routine in SPECTRAL)


def matrix(case: Case, device: Device) -> mp.Array:
    """A random matrix, or a stack of them."""
    shape = (case.n, case.n) if case.count == 1 else (case.count, case.n, case.n)
    values = mp.random.default_rng(case.n).standard_normal(shape, case.format, device)
    if case.routine in ("eigh", "cholesky"):
        values = (values + values.mT) / 2
    if case.routine == "cholesky":
        values += mp.eye(case.n, dtype=case.format, device=device) * (2 * case.n)
    return values


def ways(case: Case, a: mp.Array) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    """What runs, and the error of what it gives."""
    v = mp.array(np.linspace(-1, 1, case.n), case.format, a.device)
    linalg, by = mp.linalg, case.method

    def relative(found: mp.Array, wanted: mp.Array) -> float:
        return float(abs(found - wanted).max()) / float(abs(wanted).max())

    def lu_error(found: Any) -> float:
        u = linalg.trmm(found.lu, v)
        left = linalg.trmm(found.lu, u, lower=True, unit_diagonal=True)
        wanted = (a @ v).to_limbs()
        order = np.arange(case.n)
        for i, row in enumerate(found.piv.to_numpy()):
            order[[i, row]] = order[[row, i]]
        permuted = mp.from_limbs([w[order] for w in wanted], case.format, a.device)
        return relative(left, permuted)

    def cholesky_error(found: mp.Array) -> float:
        return relative(mp.gemv(found, mp.gemv(found, v, trans=True)), a @ v)

    def qr_error(found: mp.Array) -> float:
        return relative(mp.nrm2(found @ v), mp.nrm2(a @ v))

    def eigh_error(found: Any) -> float:
        w, x = found
        return relative(x @ (w * (x.T @ v)), a @ v)

    def svd_error(found: Any) -> float:
        return relative(found.U @ (found.S * (found.Vh @ v)), a @ v)

    table: dict[str, tuple[Callable[[], Any], Callable[[Any], float]]] = {
        "lu": (lambda: linalg.lu_factor(a, method=by), lu_error),
        "cholesky": (lambda: linalg.cholesky(a, method=by), cholesky_error),
        "qr": (lambda: linalg.qr(a, "r", method=by), qr_error),
        "eigh": (lambda: linalg.eigh(a, method=by), eigh_error),
        "svd": (lambda: linalg.svd(a, method=by), svd_error),
        "solve": (lambda: linalg.solve(a, v, method=by), lambda x: relative(a @ x, v)),
    }
    return table[case.routine]


def measured(case: Case, device: Device) -> dict[str, Any]:
    """Seconds, rate and error of a case."""
    a = matrix(case, device)
    run, error = ways(case, a)
    settled(run())  # compiles what this size takes
    times: list[float] = []
    while not times or (len(times) < 3 and times[0] < 1):
        start = time.perf_counter()
        found = settled(run())
        times.append(time.perf_counter() - start)
    seconds = statistics.median(times)
    return case._asdict() | {
        "seconds": seconds,
        "rate": case.operations / seconds,
        "error": error(found) if case.count == 1 else None,
    }


def seconds_of(run: Callable[[], Any]) -> tuple[float, Any]:
    """The median of three runs after one that is not counted, and the last result."""
    settled(run())
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        found = settled(run())
        times.append(time.perf_counter() - start)
    return statistics.median(times), found


def refined(n: int, device: Device) -> dict[str, Any]:
    """``solve(refine=True)`` in dd beside the float64 factors, of a matrix of condition 10^10.

    The matrix is h d h, h reflections and d a diagonal: exact products are not needed.
    """
    form = "dd"
    rng = np.random.default_rng(n)
    sizes = mp.array(10.0 ** -np.linspace(0, np.log10(CONDITION), n), form, device)
    a = mp.zeros((n, n), form, device)
    mp.diagonal(a)[...] = sizes
    for _ in range(3):
        for axis in (0, 1):
            v = mp.array(rng.standard_normal(n), form, device)
            v = v / mp.nrm2(v)
            a = a - 2 * (v[:, None] * (v @ a) if axis == 0 else (a @ v)[:, None] * v)
    b = a @ mp.array(np.ones(n), form, device)
    first = a.limbs[0].copy()
    method = METHODS["float64"]
    factors, _ = seconds_of(lambda: mp.linalg.lu_factor(first, method=method))
    seconds, found = seconds_of(lambda: mp.linalg.solve(a, b, refine=True))
    x, info = found
    return {
        "routine": "refine",
        "format": form,
        "n": n,
        "seconds": seconds,
        "factors": factors,
        "ratio": seconds / factors,
        "error": float(abs(x - 1).max()),
        "info": info._asdict(),
    }


def sparse(form: str, device: Device) -> dict[str, Any]:
    """The product of 27 diagonals, those of a cube's neighbours, with a vector."""
    n = SPARSE[device.properties.kind]
    side = round(n ** (1 / 3))
    steps = [i + side * (j + side * k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)]
    columns = np.arange(n)[:, None] + np.sort(steps)
    there = (columns >= 0) & (columns < n)
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    values = np.random.default_rng(1).standard_normal(int(starts[-1]))
    parent = "float64" if form.startswith("slfp64") else form
    a = mp.sparse.csr_array((values, columns[there], starts), form, device, shape=(n, n))
    x = mp.array(np.random.default_rng(2).standard_normal(n), parent, device)
    y = mp.zeros(n, parent, device)
    repeats = 20

    def run() -> mp.Array:
        for _ in range(repeats):
            a.times(x, out=y)
        return y

    seconds, found = seconds_of(run)
    host = a.to_scipy() @ x.to_float64()
    size = a.nbytes + x.nbytes + y.nbytes
    return {
        "routine": "csr",
        "format": form,
        "n": n,
        "seconds": seconds / repeats,
        "bytes": size,
        "bandwidth": size * repeats / seconds,
        "error": float(np.abs(found.to_float64() - host).max() / np.abs(host).max()),
    }


def others(device: Device, left: Callable[[], float]) -> Iterator[dict[str, Any]]:
    """Refinement and sparse products, as long as there is time."""
    kind = device.properties.kind
    for n in REFINED[kind]:
        if left() < 20:
            return
        row = refined(n, device)
        info = row["info"]
        print(
            f"refine    dd      n = {n:5}  {row['seconds']:9.4f} s  {row['ratio']:5.2f} times the "
            f"float64 factors  {info['corrections']} corrections  error {row['error']:.1e}",
            flush=True,
        )
        yield row
    for form in SPARSE_FORMATS:
        if left() < 10:
            return
        row = sparse(form, device)
        print(
            f"csr       {form:12} n = {row['n']}  {row['seconds'] * 1e6:9.1f} us  "
            f"{row['bandwidth'] / 1e9:8.1f} GB/s  error {row['error']:.1e}",
            flush=True,
        )
        yield row


Run = tuple[str, str, Callable[[], Any]]
"""A routine as ``operations_of`` calls it, the function of a library, and what calls that."""


def operations_of(routine: str, n: int) -> float:
    """Of a product, a factorisation or a solution with one right-hand side."""
    return ((OPERATIONS | {"gemm": 2.0})[routine] * n + 2 * (routine == "solve")) * n**2


def of_portmp(form: str, n: int, device: Device) -> Iterator[Run]:
    """What portmp offers, by its default method and by residues."""
    a = matrix(Case("lu", form, n, "direct"), device)
    positive = matrix(Case("cholesky", form, n, "direct"), device)
    b = mp.array(np.linspace(-1, 1, n), form, device)
    linalg = mp.linalg
    for method in ("direct", "ozaki2"):
        by: dict[str, Any] = {"method": method}
        end = "" if method == "direct" else f", {method}"
        yield "gemm", f"gemm{end}", lambda by=by: settled(mp.gemm(a, a, **by))
        yield "lu", f"linalg.lu_factor{end}", lambda by=by: settled(linalg.lu_factor(a, **by))
        yield (
            "cholesky",
            f"linalg.cholesky{end}",
            lambda by=by: settled(linalg.cholesky(positive, **by)),
        )
        yield "qr", f"linalg.qr, mode r{end}", lambda by=by: settled(linalg.qr(a, "r", **by))
        yield "solve", f"linalg.solve{end}", lambda by=by: settled(linalg.solve(a, b, **by))


def of_flint(form: str, n: int, device: Device) -> Iterator[Run]:
    """Its products, of balls, and its fastest solution, without bounds; no factors are offered."""
    flint = peers.FlintEngine(__import__("flint"), BITS[form], None)
    flint.module.ctx.threads = os.cpu_count()
    a = flint.load(matrix(Case("lu", form, n, "direct"), device).to_limbs())
    b = flint.load(mp.array(np.linspace(-1, 1, n), form, device).to_limbs())
    yield "gemm", "arb_mat.__mul__", lambda: a * a
    yield "solve", "arb_mat.solve, algorithm approx", lambda: a.solve(b, algorithm="approx")


def of_mpmath(form: str, n: int, device: Device) -> Iterator[Run]:
    """Factors by its Python, of numbers by gmpy2 where that is installed."""
    engine = peers.MpmathEngine(__import__("mpmath"), BITS[form], None)
    a = engine.load(matrix(Case("lu", form, n, "direct"), device).to_limbs())
    positive = engine.load(matrix(Case("cholesky", form, n, "direct"), device).to_limbs())
    yield "lu", "LU_decomp", lambda: engine.context.LU_decomp(a, use_cache=False)
    yield "cholesky", "cholesky", lambda: engine.context.cholesky(positive)
    yield "qr", "qr, mode raw", lambda: engine.context.qr(a, mode="raw")


LIBRARIES = {"portmp": of_portmp, "python-flint": of_flint, "mpmath": of_mpmath}


def beside(
    device: Device, formats: list[str] | None, left: Callable[[], float]
) -> Iterator[dict[str, Any]]:
    """portmp and other libraries with as many bits, as long as there is time."""
    kept = {name: mp.__version__ if name == "portmp" else installed(name) for name in LIBRARIES}
    for form in (f for f in BITS if formats is None or f in formats):
        for name, runs in LIBRARIES.items():
            for n in PEER_SIZES[name] if kept[name] else ():
                if left() < 0:
                    return
                given = list(runs(form, n, device))
                for (routine, function, _), measured in zip(given, by_turns(given), strict=True):
                    seconds, processors = measured
                    rate = operations_of(routine, n) / seconds
                    print(
                        f"{name:12} {function:31} {form:3} n = {n:5}  {seconds:9.4f} s  "
                        f"{rate / 1e9:8.4f} G/s  {processors:9.4f} s of processors",
                        flush=True,
                    )
                    yield {
                        "routine": routine,
                        "library": name,
                        "version": kept[name],
                        "function": function,
                        "format": form,
                        "bits": BITS[form],
                        "n": n,
                        "seconds": seconds,
                        "processor_seconds": processors,
                        "rate": rate,
                        "load": os.getloadavg()[0],
                    }


def installed(package: str) -> str | None:
    """The version of a package, if there is one."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def by_turns(runs: Sequence[Run]) -> list[tuple[float, float]]:
    """Seconds of each by the clock and of all processors, the least of two to eight turns.

    The first turn may compile. What takes longer than ten seconds of processors runs once. A
    machine's rate changes with time: by turns all have the same share of it.
    """
    times: list[list[tuple[float, float]]] = [[] for _ in runs]
    begun = time.perf_counter()
    for turn in range(8):
        if turn > 1 and time.perf_counter() - begun > 8 * len(runs):
            break
        for (*_, run), mine in zip(runs, times, strict=True):
            if mine and mine[0][1] > 10:
                continue
            clock, processors = time.perf_counter(), time.process_time()
            run()
            mine.append((time.perf_counter() - clock, time.process_time() - processors))
    return [(min(t for t, _ in mine), min(p for _, p in mine)) for mine in times]


def settled(found: Any) -> Any:
    """The result, once the device has it."""
    first = found[0] if isinstance(found, tuple) else found
    float(first[(0,) * first.ndim])
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure, print lines, write JSON; 0 unless an error is far above what the format allows."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--format", help="dd, td, qd by commas")
    parser.add_argument(
        "--routine",
        help="lu, solve, cholesky, qr, eigh, svd, others (refine, csr), peers by commas",
    )
    parser.add_argument("--method", help="direct, ozaki1 or ozaki2 for all")
    parser.add_argument("--seconds", type=float, default=170, help="to be ended after")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args(arguments)
    begun = time.perf_counter()
    rows: list[dict[str, Any]] = []
    bad = 0
    try:
        device = discovery.get(options.device)
        formats = options.format.split(",") if options.format else None
        rates: dict[tuple[str, str], float] = {}
        chosen = options.routine.split(",") if options.routine else None
        for case in cases(device.properties.kind, formats, options.method):
            if chosen and case.routine not in chosen:
                continue
            rate = rates.get((case.routine, case.format), 0.0)
            left = options.seconds - (time.perf_counter() - begun)
            needed = 3 * case.operations / rate if rate else 0
            if needed > left:
                print(f"{case.routine:9} {case.format:7} n = {case.n}: no time left", flush=True)
                continue
            row = measured(case, device)
            rows.append(row)
            if case.count == 1:
                # Launches' time grows more slowly than operations: four times as large, not eight.
                gain = 4.0 if case.routine in SPECTRAL else 2.0
                rates[case.routine, case.format] = row["rate"] * gain
                unit = mp.zeros((), case.format, device).format.unit_roundoff
                large = row["error"] > 1e6 * case.n * unit
                bad += large
            print(
                f"{case.routine:9} {case.format:7} n = {case.n:5}  count {case.count:6}  "
                f"{case.method:7} {row['seconds']:9.4f} s  {row['rate'] / 1e9:10.2f} G/s  error "
                f"{'-' if row['error'] is None else format(row['error'], '.1e')}",
                flush=True,
            )
        if "others" in chosen if chosen else formats is None:
            rows += others(device, lambda: options.seconds - (time.perf_counter() - begun))
        if chosen and "peers" in chosen:
            rows += beside(device, formats, lambda: options.seconds - (time.perf_counter() - begun))
    except PortmpError as problem:
        print(f"bench/linalg.py: error: {problem}", file=sys.stderr)
        return 2
    if options.output:
        facts = {
            "device": device.properties.as_dict() | {"platform": device.platform},
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "rows": rows,
        }
        options.output.write_text(json.dumps(facts, indent=1) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
