"""``portmp bench complex``: products and functions of complex numbers, beside the device's library.

A product of matrices counts 8 n^3 operations, in real ones. A floor is the larger of two times: of
its instructions, or of the integer products that residues need, at the device's rates, and of the
bytes that operands and results take at a copy's.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from portmp import definition, formats
from portmp.bench import linalg, roofline, vendors
from portmp.bench.experiment import Case
from portmp.bench.roofline import Ceilings, Floor
from portmp.bench.tables import Column, Row
from portmp.formats import Format
from portmp.routines.complexes import launch
from portmp.routines.gemm.work import Gemm
from portmp.routines.ozaki import levels, systems
from portmp.routines.ozaki.work import PRODUCTS
from portmp.routines.work import Instructions, scaled

CALLS = tuple(name for name in vendors.CALLS if name.startswith("complex-"))
REAL = Gemm("gemm")
SIZES = 4
"""Products of integers that tell which elements residues may make."""


def needed(name: str, form: Format, size: int, n: int, kind: str) -> tuple[str, Instructions]:
    """Whose rate bounds a call, and how many instructions or products it needs."""
    part, depth = form.component, 2 * n
    if not name.startswith("complex-gemm"):
        return part.word, scaled(launch.network(name.split("-")[1], part).cost, size)
    judged = name == "complex-gemm" and levels.judges(part, n, n, n)
    if not judged and name != "complex-gemm-ozaki2":
        return part.word, REAL.instructions(part, "accurate", (4, n, n, n), kind)
    given = levels.system(part, definition.BEYOND[0], depth) if judged else None
    by = systems.of_complex(given or systems.system(part, depth), depth, kind == "gpu")
    return PRODUCTS[by.word], {"fma": (by.products + SIZES * judged) * float(size * n)}


def floor(row: Row, kind: str, limits: Ceilings) -> Floor:
    """Of a call on a kind of device."""
    name, form, shape = row["routine"], formats.get(row["format"]), row["shape"]
    size = math.prod(shape)
    word, instructions = needed(name, form, size, shape[-1], kind)
    operands = 1 + ("(a, b" in vendors.CALLS[name][0])
    result = form.component if name == "complex-abs" else form
    nbytes = size * (operands * form.itemsize + result.itemsize)
    rates = limits.instructions[word]
    return Floor(roofline.arithmetic(instructions, kind, rates), nbytes / limits.memory)


def cases(run: Any) -> Iterator[Case]:
    """All that were planned, with their floors by rates that are measured before."""
    words = {
        needed(name, form, math.prod(shape), shape[-1], run.kind)[0]
        for name, form, shape in run.planned
    }
    limits = roofline.measured(run.device, words) if words else None

    def bounded(case: Case) -> list[Row]:
        rows = list(case.measure())
        for row in rows:
            assert limits
            found = floor(row, run.kind, limits)
            row["floor"] = {"seconds": found.seconds, "bound": found.bound}
            row["floor_share"] = found.seconds / row["seconds"]["median"]
        return rows

    for case in vendors.cases(run):
        yield replace(case, measure=partial(bounded, case))


COLUMNS = (
    *vendors.COLUMNS[:-1],
    Column("floor", "floor_share", "%", compared=True),
    Column("of the", "floor.bound", "text"),
)


class Complexes(linalg.Linalg):
    """Products and functions of complex numbers."""

    name = "complex"
    calls = CALLS
    allowed = formats.COMPLEX
    usual = ("cdd", "complex128")
    experiments = (
        replace(linalg.Linalg.experiments[0], name="complex", cases=cases, columns=COLUMNS),
    )


FAMILY = Complexes()
