"""``portmp demo spectra``: eigenvalues of matrices that are far from normal, in each format.

Those of a band matrix with constant diagonals (Toeplitz) move by its rounding errors times a number
that grows like a power of its order: float64 finds others, far from them and as plausible.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import portmp as mp
from portmp.backends.base import Device
from portmp.demos import ill_conditioned
from portmp.demos.presented import presented
from portmp.files import pictures
from portmp.progress import Progress

FORMATS = ("float64", "dd", "qd")
SIZE, SIZES = 100, (10, 400)
BANDS = {"Grcar": {-3: 1.0, -2: 1.0, -1: 1.0, 0: 1.0, 1: -1.0}, "Toeplitz": {-1: 1.0, 1: 0.25}}
"""Diagonals, by how far above the main one they are; Grcar's matrix is transposed."""
ENOUGH = 15
"""Digits that qd has of all at least, to the usual size."""


class Outcome(NamedTuple):
    """The eigenvalues of a matrix that a format gives, and how many of their digits are right.

    By the largest distance between one of them and the exact one that is nearest, or the other way
    round, relative to the largest.
    """

    matrix: str
    size: int
    format: str
    digits: float
    eigenvalues: list[complex]


def banded(name: str, n: int, form: str, device: Device) -> mp.Array:
    """A matrix of order n by its diagonals."""
    host = sum((value * np.eye(n, k=k) for k, value in BANDS[name].items()), np.zeros((n, n)))
    made: mp.Array = mp.array(host, form, device)
    return made


def exact(name: str, n: int, device: Device) -> mp.Array:
    """The eigenvalues in qd: known ones, or those of the transpose, whose rounding harms less."""
    if name == "Toeplitz":
        k: Any = mp.arange(1, n + 1, dtype="qd", device=device)
        known: mp.Array = mp.cos(k * mp.pi / (n + 1)).astype("cqd")
        return known
    return mp.linalg.eigvals(banded(name, n, "qd", device).T)


def furthest(found: mp.Array, known: mp.Array) -> Any:
    """How far one of either is from the nearest of the others at most."""
    between = abs(found.astype("cqd")[:, None] - known)
    return max(x.max().to_fractions() for x in (between.min(0), between.min(1)))


def run(device: Device, n: int, progress: Progress) -> list[Outcome]:
    """Both matrices in all formats."""
    outcomes = []
    for name in BANDS:
        progress.show(f"{name}: exactly")
        known = exact(name, n, device)
        size = abs(known).max().to_fractions()
        for form in FORMATS:
            progress.show(f"{name} in {form}")
            found = mp.linalg.eigvals(banded(name, n, form, device))
            right = ill_conditioned.digits(furthest(found, known), size, form)
            outcomes.append(Outcome(name, n, form, right, found.to_numpy().tolist()))
    return outcomes


def passed(found: list[Outcome]) -> bool:
    """Whether qd has digits enough, beyond the usual size any."""
    return all(o.digits > (ENOUGH if o.size <= SIZE else 0) for o in found if o.format == "qd")


def table(device: Device, found: list[Outcome]) -> str:
    """A line a matrix and format: digits, and the largest imaginary part."""
    lines = [
        f"device {device.name}: {device.properties.name}, driver {device.properties.driver}",
        "",
        f"{'matrix':10}{'order':>6}  {'format':9}{'right digits':>13}"
        f"{'largest imaginary part':>25}",
    ]
    for one in found:
        imaginary = max(z.imag for z in one.eigenvalues)
        lines.append(
            f"{one.matrix:10}{one.size:6}  {one.format:9}{one.digits:13.1f}{imaginary:25.6f}"
        )
    return "\n".join(lines)


def as_json(found: list[Outcome]) -> dict[str, Any]:
    """Everything, for machines."""
    rows = [
        {**o._asdict(), "eigenvalues": [[z.real, z.imag] for z in o.eigenvalues]} for o in found
    ]
    return {"outcomes": rows, "passed": passed(found)}


def plot(path: Path, found: list[Outcome]) -> None:
    """A panel for each matrix: eigenvalues in the plane."""
    figure, panels = pictures.pyplot().subplots(1, 2, figsize=(11, 5), layout="constrained")
    marks = dict(zip(FORMATS, (("x", "C0"), ("o", "C1"), (".", "C3")), strict=True))
    for axis, name in zip(panels, BANDS, strict=True):
        for one in (o for o in found if o.matrix == name):
            x, y = zip(*((z.real, z.imag) for z in one.eigenvalues), strict=True)
            mark, colour = marks[one.format]
            fill = "none" if mark == "o" else colour
            label = f"{one.format}: {one.digits:.1f} digits"
            axis.scatter(x, y, 24, marker=mark, color=colour, facecolor=fill, label=label)
        axis.set_title(f"{name}, order {found[0].size}")
        axis.set_xlabel("real part")
        axis.set_ylabel("imaginary part")
        axis.legend(fontsize=8)
    pictures.write(path, figure)


def command(args: Any) -> int:
    """``portmp demo spectra``: 0 if qd has the digits that it must, else 1."""
    return presented(args, SIZE, SIZES, run, table, as_json, plot)
