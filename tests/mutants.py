"""Mistakes put into the gallery's kernels, which devices that check kernels must find.

To extend: a file of the gallery needs an entry of ``RUNS`` and, where it can go wrong in a way that
checks see, of ``MUTANTS``.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"
NAMES = sorted(file.stem for file in GALLERY.glob("*.py"))

WAVE64, WAVE32, OCLGRIND = "emulated:gfx90a", "emulated:gfx1100", "oclgrind"
DEVICES = (WAVE64, WAVE32, OCLGRIND)


def text_of(name: str, old: str = "", new: str = "") -> str:
    """The text of a file of the gallery with one part replaced."""
    text = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new, 1)


def module_of(text: str) -> Any:
    """A file's text as a module."""
    module = types.ModuleType("mutant")
    exec(compile(text, "mutant", "exec"), module.__dict__)
    return module


def line_of(text: str, part: str) -> int:
    """The line of a file's template that has *part*, the one of the opening quotes being 1."""
    begins = re.search(r'(mp\.(Kernel|Module)\(\s*|TEMPLATE = )(?=""")', text)
    assert begins
    start = begins.end()
    return text[start : text.index(part, start)].count("\n") + 1


# --- small runs of each file, and what they must give --------------------------------------------


def scaled(module: Any, device: str) -> None:
    """More than a block."""
    y = mp.array([2] * 300, "qd", device)
    module.axpy(a=3, x=mp.array([1] * 300, "qd", device), y=y)
    assert (y.to_float64() == 5).all()


def heated(module: Any, device: str) -> None:
    """A step on a plate of two by two blocks, none of them whole but the first."""
    u = mp.zeros((20, 18), "ds", device)
    u[0] = 1
    expected = np.zeros((20, 18))
    expected[0], expected[1, 1:-1] = 1, 0.25
    assert np.array_equal(module.step(rate="0.25", old=u).to_float64(), expected)


def turned(module: Any, device: str) -> None:
    """A matrix that is no multiple of the tile."""
    a = np.arange(40 * 33.0).reshape(40, 33)
    b = module.transpose(a=mp.array(a, "float64", device))
    assert np.array_equal(b.to_float64(), a.T)


def counted(module: Any, device: str) -> None:
    """How often each of 256 numbers comes, whose neighbours are often equal."""
    numbers = np.arange(700) // 3
    count = mp.plain_zeros(256, "int32", device)
    module.histogram(k=mp.plain_array(numbers, "int32", device), count=count)
    assert np.array_equal(count.to_numpy(), np.bincount(numbers, minlength=256))


def pulled(module: Any, device: str) -> None:
    """Forces between atoms of more than one tile."""
    places = np.random.default_rng(1).random((70, 3)) * module.BOX
    found = module.forces("float64")(mp.array(places, "float64", device))
    assert np.isfinite(found.to_float64()).all()


def solved(module: Any, device: str) -> None:
    """Two systems, whose rows change places."""
    a = mp.array(np.stack([np.eye(4)[::-1]] * 2), "dd", device)
    x = module.solve("dd")(a, mp.array([[1, 2, 3, 4]] * 2, "dd", device))
    assert np.array_equal(x.to_float64(), [[4, 3, 2, 1]] * 2)


def escaped(module: Any, device: str) -> None:
    """A picture of less than two blocks."""
    count = module.escape("dd")("0.1", "0.2", "0.1", 20, m=3, n=9, device=device)
    assert count.shape == (3, 9)


def drawn(module: Any, device: str) -> None:
    """A few points, in one block."""
    counts = module.inside(points=300, seed=1, blocks=1, device=device)
    assert 0 < counts.to_numpy().sum() <= 300


def summed(module: Any, device: str) -> None:
    """Prefix sums of more than a block."""
    y = module.prefix_sum(mp.array([1] * 300, "dd", device))
    assert np.array_equal(y.to_float64(), np.arange(1.0, 301))


def rows_summed(module: Any, device: str) -> None:
    """Rows that are longer than a block and no multiple of it."""
    a = mp.array([[1] * 45, [2] * 45], "slfp64in32b", device)
    assert module.row_sums(a=a).to_float64().tolist() == [45, 90]


def measured(module: Any, device: str) -> None:
    """Distances on a picture of less than two blocks."""
    kernel = module.boundary("complex128")
    assert kernel("0.1+0.2j", "0.1", 20, m=3, n=9, device=device).shape == (3, 9)


def waved(module: Any, device: str) -> None:
    """A wave at one place, which is turned to its neighbour, of more than a block."""
    wave = mp.zeros(70, "complex64", device)
    wave[69] = 1
    given = mp.ones(70, "complex64", device), wave
    found = module.turn("complex64", "float32")("0.5", "0.25", 1, *given)
    assert found[[0, 68, 69]].tolist() == [0.25j, 0, 0.5]


RUNS: dict[str, Callable[[Any, str], None]] = {
    "axpy": scaled,
    "boundary": measured,
    "heat": heated,
    "histogram": counted,
    "lennard_jones": pulled,
    "mandelbrot": escaped,
    "mixed": rows_summed,
    "monte_carlo": drawn,
    "prefix_sum": summed,
    "schroedinger": waved,
    "solver4": solved,
    "transpose": turned,
}

# --- mistakes ------------------------------------------------------------------------------------

ADDRESS = "memory address 0x[0-9a-f]+"
RACE = f"(Read-write|Write-write) data race at local {ADDRESS}"
OUTSIDE = rf"Invalid (read|write) of size \d+ at (global|local) {ADDRESS}"
UNSET = f"Uninitialized value (read from|written to) (global|local) {ADDRESS}"
DIVERGENCE = r"Work-group divergence detected \(barrier\)"
ABSENT = r"Shuffle from thread \(\d+,\d+,\d+\), which does not take part"


@dataclass(frozen=True)
class Mutant:
    """A part of a file replaced; *what* is found in *kernel*, at the line with *place*.

    *read*: where the interpreter finds it, if elsewhere: it tells values that were never written
    where they are read, Oclgrind where they go; and compilers change the order of accesses. *on*:
    the devices that find it.
    """

    file: str
    kernel: str
    old: str
    new: str
    what: str
    place: str
    read: str = ""
    on: tuple[str, ...] = DEVICES


MUTANTS = {
    "axpy: a bound off by one": Mutant(
        "axpy", "axpy", "if (i < n)", "if (i <= n)", OUTSIDE, "const ${value} sum"
    ),
    "heat: a barrier removed": Mutant(
        "heat", "step", "        ${barrier()}\n", "", RACE, "const ${value} beside"
    ),
    "heat: a halo not read": Mutant(
        "heat",
        "step",
        "if (x == 1 && column > 0)",
        "if (0)",
        UNSET,
        '${store("new"',
        read="const ${value} beside",
    ),
    "heat: a barrier that some reach": Mutant(
        "heat", "step", "${barrier()}", "if (inside) { ${barrier()} }", DIVERGENCE, "${barrier()}"
    ),
    "histogram: an operation that is not atomic": Mutant(
        "histogram",
        "histogram",
        '${atomic("add", "held", load("k", "i"), 1)}',
        'held[${load("k", "i")}] += 1',
        RACE,
        'held[${load("k", "i")}] += 1',
    ),
    "histogram: not set to zero": Mutant(
        "histogram",
        "histogram",
        "            held[bin] = 0;",
        "            if (bin != 7) held[bin] = 0;",
        UNSET,
        '${atomic("add", "count"',
        read='${atomic("add", "held"',
    ),
    "lennard_jones: a tile that is read too early": Mutant(
        "lennard_jones",
        "forces",
        "        ${barrier()}\n        for",
        "        for",
        RACE,
        'tile[t][${d}] = ${load("position"',
    ),
    "lennard_jones: a tile that is written too early": Mutant(
        "lennard_jones",
        "forces",
        "        ${barrier()}\n% for",
        "% for",
        RACE,
        'tile[t][${d}] = ${load("position"',
    ),
    "mandelbrot: a bound off by one": Mutant(
        "mandelbrot", "escape", "j < n", "j <= n", OUTSIDE, '${store("count"'
    ),
    "mixed: a bound off by one": Mutant(
        "mixed", "row_sums", "j < n", "j <= n", OUTSIDE, "const double one"
    ),
    "mixed: a sum that some take part in": Mutant(
        "mixed",
        "row_sums",
        "sum = ${warp_reduce",
        "if (${thread_id()} < 13) sum = ${warp_reduce",
        ABSENT,
        "sum = ${warp_reduce",
        on=(WAVE64, WAVE32),
    ),
    "monte_carlo: one warp too many": Mutant(
        "monte_carlo",
        "inside",
        'f"{global_id()} / 32"',
        'f"{global_id()} / 32 + 1"',
        OUTSIDE,
        '${store("counts"',
    ),
    "prefix_sum: a barrier removed": Mutant(
        "prefix_sum", "within", "        ${barrier()}\n", "", RACE, 'before = ${add("before"'
    ),
    "prefix_sum: a mask of 64 lanes": Mutant(
        "prefix_sum",
        "within",
        "if (${lane()} == 31)",
        "if ((${thread_id()} & ${warp_size - 1}) == 31)",
        UNSET,
        'before = ${add("before"',
        on=(WAVE64,),
    ),
    "prefix_sum: totals that nobody stores": Mutant(
        "prefix_sum",
        "within",
        "if (${thread_id()} == ${block_size() - 1})",
        "if (0)",
        UNSET,
        '${store("y", "i", "sum")}',
        read='sum = ${load("x", "i")}',
    ),
    "prefix_sum: one warp too many": Mutant(
        "prefix_sum",
        "within",
        "w < ${warp()}",
        "w <= ${warp()} + 1",
        OUTSIDE,
        'before = ${add("before"',
    ),
    "schroedinger: a neighbour beyond the ring": Mutant(
        "schroedinger", "turn", "(i + n - 1) % n", "i - 1", OUTSIDE, "const ${value} beside"
    ),
    "solver4: a bound off by one": Mutant(
        "solver4",
        "solve",
        "if (i < n)",
        "if (i <= n)",
        OUTSIDE,
        'x[${r}] = ${load("b"',
        'a[${r}][${c}] = ${load("a"',
    ),
    "transpose: an index off by one": Mutant(
        "transpose",
        "transpose",
        'f"row + {k}", "column")',
        'f"row + {k} + 1", "column")',
        OUTSIDE,
        'held[y + ${k}][x] = ${load("a"',
    ),
    "transpose: a bound off by one": Mutant(
        "transpose",
        "transpose",
        "if (to_row + ${k} < n",
        "if (to_row + ${k} <= n",
        OUTSIDE,
        '${store("b"',
    ),
    "transpose: a barrier removed": Mutant(
        "transpose", "transpose", "${barrier()}", "", RACE, '${store("b"'
    ),
    "transpose: a barrier that some reach": Mutant(
        "transpose",
        "transpose",
        "${barrier()}",
        "if (x < 7) { ${barrier()} }",
        DIVERGENCE,
        "${barrier()}",
    ),
}
