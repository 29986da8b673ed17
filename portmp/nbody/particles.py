"""Particles to start from: files of initial values, and spheres made from a seed.

Numbers from text are exact (decimal fractions); spheres consist of float32 numbers, so that
hosts with different mathematical libraries make the same ones.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from portmp.errors import ArgumentError, InputError, suggestion
from portmp.files import arrays as files
from portmp.files import content
from portmp.formats import parse

COLUMNS = ("mass", "x", "y", "z", "vx", "vy", "vz")
EXAMPLES = ("outer_solar_system",)
"""Initial values that come with the package."""

_CONSTANT = re.compile(r"#\s*G\s*=\s*(.*?)\s*$")
_TRIES = 64
"""Draws of a speed until one is kept; each is with more than 2 in 10 chances."""


@dataclass(frozen=True)
class Particles:
    """Names (may be empty), masses times the gravitational constant, positions, velocities.

    Lists of exact numbers: (n,), (n, 3) and (n, 3).
    """

    names: tuple[str, ...]
    mass: Sequence[Any]
    position: Sequence[Any]
    velocity: Sequence[Any]


def read(path: str | Path) -> Particles:
    """Particles from a .csv file with the columns of COLUMNS, or from an example by its name.

    Separators are those of ``portmp.load``: semicolons, commas or blanks, as the heading has them.
    Lines that begin with # are comments; one that says ``# G = number`` gives the
    gravitational constant (else 1). A first column of another name holds names. A .npz file
    holds arrays: position (n, 3), velocity (n, 3), mass (n,), and G where it is not 1.
    """
    file = Path(path)
    if file.suffix.lower() == ".npz":
        return _arrays(file)
    if str(path) in EXAMPLES:
        file = Path(f"{path}.csv")
        text = resources.files("portmp").joinpath("data", file.name).read_text()
    else:
        text = content.text(file)
    with content.reading(file):
        return _parsed(file, text)


def _parsed(file: Path, text: str) -> Particles:
    """Particles from the text of a table."""
    constant, mark = Fraction(1), None
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _CONSTANT.match(line):
            constant = _exact(file, number, "G", match[1])
        if line.strip() and not line.startswith("#"):
            mark = mark if rows else next((m for m in ";," if m in line), None)
            fields = next(csv.reader([line], delimiter=mark)) if mark else line.split()
            rows.append((number, [field.strip() for field in fields]))
    return _particles(file, rows, constant)


def _arrays(file: Path) -> Particles:
    """Particles from arrays by name; float64 numbers are taken as they are."""
    found = files.members(file)
    shapes = {"position": 2, "velocity": 2, "mass": 1}
    missing = [name for name in shapes if name not in found]
    if missing:
        raise InputError(
            f"{file}: no array {missing[0]!r}; needed are position (n, 3), velocity (n, 3) and "
            "mass (n,), or a saved state"
        )
    count = len(found["mass"]) if found["mass"].ndim == 1 else -1
    for name, axes in shapes.items():
        array = found[name]
        if array.shape != (count, 3)[:axes] or array.dtype.kind not in "fiu":
            raise InputError(
                f"{file}: {name}: {array.dtype.name} of shape {array.shape} given, numbers of "
                f"shape {'(n, 3)' if axes == 2 else '(n,)'} are needed, with one n"
            )
        if not np.isfinite(array).all():
            raise InputError(f"{file}: {name}: not all numbers are finite")
    if not count:
        raise InputError(f"{file}: holds no particles")
    values: list[Any] = [found[name].astype(np.float64) for name in shapes]
    position, velocity, mass = values
    constant = found.get("G", np.array(1.0))
    if constant.shape or constant.dtype.kind not in "fiu":
        raise InputError(
            f"{file}: G: {constant.dtype.name} of shape {constant.shape} given, a number is needed"
        )
    if not np.isfinite(constant):
        raise InputError(f"{file}: G: {constant.item()} given, a finite number is needed")
    factor = _fraction(constant)
    weights = mass if factor == 1 else [factor * Fraction(m) for m in mass.tolist()]
    return Particles(("",) * count, weights, position, velocity)


def _fraction(number: Any) -> Fraction:
    """The exact value of a NumPy number; a long double goes by its parts."""
    high = float(number)
    return Fraction(high) + Fraction(float(number - number.dtype.type(high)))


def _particles(file: Path, rows: list[tuple[int, list[str]]], constant: Fraction) -> Particles:
    if not rows:
        raise InputError(f"{file}: holds no particles")
    heading = rows.pop(0)[1]
    twice = [name for name in heading if heading.count(name) > 1]
    if twice:
        raise InputError(f"{file}: two columns are called {twice[0]!r}")
    missing = [name for name in COLUMNS if name not in heading]
    if missing:
        near = suggestion(missing[0], heading)
        raise InputError(f"{file}: no column {missing[0]!r}{near}; needed are {', '.join(COLUMNS)}")
    names, values = [], []
    for number, fields in rows:
        if len(fields) != len(heading):
            raise InputError(
                f"{file}, line {number}: {len(fields)} fields, the heading has {len(heading)}"
            )
        row = dict(zip(heading, fields, strict=True))
        names.append(fields[0] if heading[0] not in COLUMNS else "")
        values.append([_exact(file, number, name, row[name]) for name in COLUMNS])
    if not rows:
        raise InputError(f"{file}: holds no particles")
    return Particles(
        tuple(names),
        [constant * v[0] for v in values],
        [v[1:4] for v in values],
        [v[4:7] for v in values],
    )


def _exact(file: Path, line: int, name: str, text: str) -> Fraction:
    try:
        return Fraction(parse.parse_number(text, name))
    except (InputError, ValueError, OverflowError):
        raise InputError(f"{file}, line {line}: {name}: {text!r} is no finite number") from None


# --- spheres --------------------------------------------------------------------------------


def plummer(count: int, seed: int = 0) -> Particles:
    """A Plummer sphere in N-body units: G = M = 1, energy -1/4 (Aarseth, Henon, Wielen 1974)."""
    draw = _generator(count, seed)
    # Radii with the mass inside uniform, without the outermost thousandth.
    radius = 1 / np.sqrt(np.cbrt(draw.uniform(1e-9, 0.999, count)) ** -2 - 1)
    speed = np.zeros(count)
    left = np.arange(count)
    for _ in range(_TRIES):
        q, height = draw.uniform(0, 1, left.size), draw.uniform(0, 0.1, left.size)
        kept = height < q**2 * (1 - q**2) ** 3.5
        speed[left[kept]] = q[kept]
        left = left[~kept]
    speed *= np.sqrt(2 / np.sqrt(1 + radius**2))
    length = 3 * np.pi / 16
    position = _directions(draw, count) * (radius * length)[:, None]
    velocity = _directions(draw, count) * (speed / np.sqrt(length))[:, None]
    return _sphere(position, velocity)


def uniform(count: int, seed: int = 0) -> Particles:
    """A cold sphere of radius 1 and uniform density: G = M = 1, all at rest."""
    draw = _generator(count, seed)
    position = _directions(draw, count) * np.cbrt(draw.uniform(0, 1, count))[:, None]
    return _sphere(position, np.zeros((count, 3)))


SPHERES = {"plummer": plummer, "uniform": uniform}


def _generator(count: int, seed: int) -> np.random.Generator:
    for name, value, least in (("number", count, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or value < least:
            raise ArgumentError(f"{name}: {value!r} given, an integer from {least} on is needed")
    return np.random.default_rng(seed)


def _directions(draw: np.random.Generator, count: int) -> Any:
    """Unit vectors, uniform on the sphere."""
    z, angle = draw.uniform(-1, 1, count), draw.uniform(0, 2 * np.pi, count)
    ring = np.sqrt(1 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)


def _sphere(position: Any, velocity: Any) -> Particles:
    """At rest around the origin, with equal masses that sum to 1, all rounded to float32."""
    mass = np.full(len(position), 1 / len(position))
    moved = [x - x.mean(axis=0) for x in (position, velocity)]
    return Particles((), *(x.astype(np.float32).astype(np.float64) for x in (mass, *moved)))
