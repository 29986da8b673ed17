"""The kernels that were measured, in three dialects side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from portmp import formats
from portmp.codegen import columns, kernel_spec
from portmp.codegen.platform import PLATFORMS
from portmp.errors import PortmpError
from portmp.report.subjects import Subject
from portmp.routines import compilation_units

NAMES = {
    "gemm-narrow": "gemm",
    "gemm-batched": "gemm",
    "gemv-transposed": "gemv",
    "gemm-ozaki1": "ozaki_gather_int8",
    "gemm-ozaki2": "ozaki_residues",
}
"""What ``portmp render`` calls the kernels of a measured routine, as far as it is another name."""
PREFERRED = ("dd", "ds", "qd", "float64", "float32")
"""Whose arithmetic is shown, of the formats that were measured: one format a routine."""


@dataclass(frozen=True)
class Source:
    """A routine's kernels: for each platform lines side by side, and whether they differ."""

    routine: str
    format: str
    texts: dict[str, list[tuple[str, bool]]]


def measured(subjects: Sequence[Subject]) -> dict[str, str]:
    """Routines as ``portmp render`` calls them, each with a format in which it was measured."""
    found: dict[str, set[str]] = {}
    for subject in subjects:
        for row, _ in subject.rows("blas", "blas"):
            name = str(row["routine"])
            found.setdefault(NAMES.get(name, name), set()).add(row["format"])
        for name in ("roots", "sizes"):
            for row, _ in subject.rows("nbody", name):
                found.setdefault("nbody", set()).add(row["format"])
    known = {routine: [f for f in PREFERRED if f in forms] for routine, forms in found.items()}
    return {routine: forms[0] for routine, forms in known.items() if forms}


@cache
def rendered(routine: str, form: str) -> Source | None:
    """A routine's source for every platform; None where this version has no such routine."""
    try:
        module = compilation_units.find(formats.get(form).name, routine, None)
        texts = {name: kernel_spec.rendered(module, name).text for name in PLATFORMS}
    except PortmpError:
        return None
    rows = columns.aligned(list(texts.values()))
    marked = [[((line or "").rstrip(), columns.differs(row)) for line in row] for row in rows]
    return Source(
        routine, form, dict(zip(texts, map(list, zip(*marked, strict=True)), strict=True))
    )


def of(subjects: Sequence[Subject]) -> Iterator[Source]:
    """The source of each routine that was measured."""
    for routine, form in measured(subjects).items():
        found = rendered(routine, form)
        if found:
            yield found
