"""``portmp demo krylov``: where more digits pay, by iterations of conjugate gradients.

The future work of the paper on quadruple precision BLAS (``portmp bench hpcs2011``): in a method
that rounding slows down, double-double pays off where it saves more iterations than one costs.
Matrices are dense, with the spectrum of Strakos, on which rounding delays conjugate gradients most.
"""

import itertools
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import portmp as mp
from portmp import formats
from portmp.backends.base import Device
from portmp.demos.presented import presented
from portmp.files import pictures
from portmp.progress import Progress

FORMATS = ("float64", "ddin64b", "dd", "qd")
"""``ddin64b``: float64's matrix, read as dd, and vectors in dd."""
SIZE, SIZES = 1024, (64, 8192)
SYSTEMS = ((SIZE // 4, 0.95, FORMATS), (SIZE, 0.99, FORMATS[:3]))
"""Equations, how eigenvalues cluster (with other numbers as much at the end), and formats.

Double-double pays in the first, and does not in the second.
"""
LEAST, MOST = 1e-4, 1e4
"""The eigenvalues' ends."""
TOLERANCE, ENOUGH = 1e-8, 100
"""Of the residual; and iterations for each equation, at most."""


class Solve(NamedTuple):
    """A system in a format: iterations and seconds, and whether the residual became small."""

    equations: int
    rho: float
    format: str
    iterations: int
    seconds: float
    residual: float
    converged: bool


def eigenvalues(n: int, rho: float) -> np.ndarray[Any, Any]:
    """Those of Strakos: from LEAST to MOST, the closer together the smaller *rho*."""
    i = np.arange(n)
    return np.asarray(LEAST + i / (n - 1) * (MOST - LEAST) * rho ** (n - 1 - i))


def matrix(n: int, rho: float) -> np.ndarray[Any, Any]:
    """A symmetric matrix of float64 with these eigenvalues, but for its rounding."""
    basis, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))
    product = (basis * eigenvalues(n, rho)) @ basis.T
    return np.asarray((product + product.T) / 2)


def run(device: Device, size: int, progress: Progress) -> list[Solve]:
    """Both systems in each format: the same numbers, which all formats hold."""
    found = []
    for usual, cluster, names in SYSTEMS:
        n = usual * size // SIZE
        rho = round(float(cluster ** (usual / n)), 4)
        whole, right = matrix(n, rho), np.random.default_rng(2).standard_normal(n)
        for name in names:
            progress.show(f"{n} equations in {name}")
            a, b = (
                mp.array(v, "float64", device).astype(form)
                for v, form in ((whole, name), (right, formats.get(name).arithmetic))
            )
            mp.linalg.cg(a, b, tolerance=0.5, iterations=8)  # compiles
            start = time.perf_counter()
            solved = mp.linalg.cg(a, b, tolerance=TOLERANCE, iterations=ENOUGH * n)
            seconds = time.perf_counter() - start
            told = solved.iterations, seconds, float(solved.residual), solved.converged
            found.append(Solve(n, rho, name, *told))
    return found


def passed(found: list[Solve]) -> bool:
    """Whether all of more digits converged, in fewer iterations the more they are.

    In as many where only the matrix in memory is another one.
    """
    fewer = all(
        (t.iterations < s.iterations) == (formats.get(s.format).arithmetic != t.format)
        and t.iterations <= s.iterations
        for s, t in itertools.pairwise(found)
        if s.equations == t.equations
    )
    return fewer and all(s.converged for s in found if s.format != FORMATS[0])


def table(device: Device, found: list[Solve]) -> str:
    """A line for each format, and what pays."""
    lines = [
        f"device {device.name}: {device.properties.name}, driver {device.properties.driver}",
        "",
        f"Conjugate gradients to a residual of {TOLERANCE:.0e}, spectrum of Strakos "
        f"({LEAST:g} to {MOST:g}), dense",
        f"{'equations':>9}{'rho':>8}  {'format':8}{'digits':>7}{'iterations':>11}{'time':>10}"
        f"{'an iteration':>14}{'over float64':>14}",
    ]
    base = {s.equations: s.seconds for s in found if s.format == FORMATS[0]}
    for s in found:
        each, over = 1e6 * s.seconds / max(s.iterations, 1), s.seconds / base[s.equations]
        lines.append(
            f"{s.equations:9}{s.rho:8}  {s.format:8}{formats.get(s.format).digits:7}"
            f"{s.iterations:11}{s.seconds:8.2f} s{each:11.1f} us{over:14.2f}"
            + ("" if s.converged else f"  not converged: {s.residual:.0e}")
        )
    for n in base:
        best = min((s for s in found if s.equations == n and s.converged), key=lambda s: s.seconds)
        lines.append(f"{n} equations: {best.format} is the fastest that converged")
    return "\n".join(lines)


def as_json(found: list[Solve]) -> dict[str, Any]:
    """Everything, for machines."""
    return {"tolerance": TOLERANCE, "solves": [s._asdict() for s in found], "passed": passed(found)}


def plot(path: Path, found: list[Solve]) -> None:
    """Iterations and seconds over float64's, by format, for both systems."""
    figure, panels = pictures.pyplot().subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    for axis, field in zip(panels, ("iterations", "seconds"), strict=True):
        base = {s.equations: getattr(s, field) for s in found if s.format == FORMATS[0]}
        series = {
            form: {
                f"{s.equations}, rho = {s.rho}": getattr(s, field) / base[s.equations]
                for s in found
                if s.format == form
            }
            for form in FORMATS
        }
        pictures.bars(axis, series, fontsize=8)
        axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
        axis.set_ylabel(f"{field} over float64's")
        axis.set_xlabel("equations")
        axis.legend(fontsize=8)
    pictures.write(path, figure)


def command(args: Any) -> int:
    """``portmp demo krylov``: 0 if more digits took fewer iterations, else 1."""
    return presented(args, SIZE, SIZES, run, table, as_json, plot)
