"""Measured ratios beside those that papers state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from portmp.bench.experiment import paper_of
from portmp.bench.papers.hpcs2011 import experiments as hpcs2011
from portmp.bench.papers.nbody import model
from portmp.bench.papers.slfp import experiments as slfp
from portmp.bench.papers.slfp.measured import PAPER
from portmp.bench.papers.ts2021.experiments import STATED
from portmp.bench.peers import LIBRARY
from portmp.bench.tables import Row, shape_text, value_of
from portmp.report.drawing import Figure, Point, Series
from portmp.report.subjects import Subject


class Pair(NamedTuple):
    """A ratio: what it is of, on the device, in the paper, on whose machine."""

    what: str
    here: float
    stated: float
    machine: str


def _hpcs2011(subject: Subject) -> Iterator[Pair]:
    kind = subject.kind
    machine = hpcs2011.GPU if kind == "gpu" else hpcs2011.CPU
    for row, _ in subject.rows("hpcs2011", "rates"):
        form, stated = row["format"], None
        if form in ("dd2011", "qd2011", "dd", "qd"):
            routine, both = row["routine"], hpcs2011.precision(form)
            stated = hpcs2011.stated("over_float64", kind, routine, both)
        here = row["over_float64"].get(LIBRARY)  # the paper's are over CUBLAS and GotoBLAS2
        if stated and here:
            what = f"{row['routine']} {form}, {row['way']}: time over the library's float64"
            yield Pair(what, here, stated, machine)
    for _, part in subject.of("hpcs2011"):
        for gain in part["experiments"].get("rates", {}).get("gains", ()):
            stated = hpcs2011.stated_gain(gain)
            if stated:
                what = f"{gain['routine']} {gain['format']}, {gain['way']}: gain by fma"
                yield Pair(what, gain["gain"], stated, hpcs2011.GPU)
    for row, _ in subject.rows("hpcs2011", "cpu"):
        both = hpcs2011.precision(row["format"])
        stated = hpcs2011.stated("over_cpu", row["routine"], both)
        if stated and row["over_cpu"]:
            what = f"{row['routine']} {row['format']}: over its CPU"
            yield Pair(what, row["over_cpu"], stated, hpcs2011.GPU)


_SIZES = {"axpy": 2**24, "gemm": 5120}
"""The paper's largest; of others that were measured the nearest stands beside it."""


def _slfp(subject: Subject) -> Iterator[Pair]:
    for name, size in _SIZES.items():
        machine, there = slfp.theirs(subject.kind, name)
        base = value_of(there, "float64.gflops")
        found = [row for row, _ in subject.rows("slfp", name)]
        nearest = min((row["n"] for row in found), key=lambda n: abs(n - size), default=0)
        rows = {row["type"]: row for row in found if row["n"] == nearest}
        for form, stated in there.items() if base else ():
            # By the paper's kernel where that was measured.
            row = rows.get(f"{PAPER} {form}") or rows.get(form) or {"over": {}}
            if row["over"].get("float64") and form != "float64":
                what = f"{name} {row['type']}, n = {shape_text([nearest])}: rate over float64's"
                yield Pair(what, row["over"]["float64"], stated["gflops"] / base, machine)


def _nbody(subject: Subject) -> Iterator[Pair]:
    for name in model.devices():
        stated = model.ratios(name)
        for row, _ in subject.rows("nbody", "roots"):
            root, here = row["root"], row.get("over_division")
            if row["format"] == "float32" and root != "division" and here and root in stated:
                yield Pair(f"{root} over division, N = {row['n']}", here, stated[root], name)


def _ts2021(subject: Subject) -> Iterator[Pair]:
    paper = paper_of("ts2021")["ratios"]
    for _, part in subject.of("ts2021"):
        blocked = part["experiments"].get("blocked", {})
        most = max((row["n"] for row in blocked.get("rows", ())), default=0)
        for blocks, ratios in blocked.get("ratios", {}).items():
            for name in ("ts_over_dd", "ts_over_d+s", "df_over_double"):
                for machine, theirs in paper.items():
                    if ratios.get(name):
                        what = f"{name.replace('_', ' ')}, {blocks} blocks, N to {most}"
                        yield Pair(what, ratios[name], theirs[STATED[name]], machine)


PAPERS: dict[str, tuple[str, Callable[[Subject], Iterator[Pair]]]] = {
    "hpcs2011": ("DD and QD BLAS (HPCS2011)", _hpcs2011),
    "nbody": ("Gravity on MI100 and A100", _nbody),
    "ts2021": ("Triple-single products", _ts2021),
    "slfp": ("Reduced-length formats", _slfp),
}


def pairs(subject: Subject, paper: str) -> list[Pair]:
    """All ratios of a paper, the newest of each."""
    found: dict[tuple[str, str], Pair] = {}
    if subject.kind:
        found = {(pair.what, pair.machine): pair for pair in PAPERS[paper][1](subject)}
    return list(found.values())


def figures(subject: Subject) -> Iterator[Figure]:
    """For each kind of ratio of each paper a figure: here, and as the paper states it."""
    for paper, (title, _) in PAPERS.items():
        kinds: dict[str, list[Pair]] = {}
        for pair in pairs(subject, paper):
            kinds.setdefault(pair.what.partition(": ")[2], []).append(pair)
        for kind, found in kinds.items():
            names = list(dict.fromkeys(pair.what.partition(": ")[0] for pair in found))
            series: dict[str, list[Point]] = {"here": []}
            for p in found:
                at = float(names.index(p.what.partition(": ")[0]))
                here = p.here, at, f"{p.what}: {p.here:.3g}"
                if here not in series["here"]:
                    series["here"].append(here)
                mark = p.stated, at, f"{p.what}, {p.machine}: {p.stated:.3g}"
                series.setdefault(f"the paper's {p.machine}", []).append(mark)
            yield Figure(
                f"Beside the paper: {title}",
                "Ratios on this device and as the paper states them, one line each: the nearer the "
                "marks, the more alike.",
                [Series(name, points, line=False) for name, points in series.items()],
                kind or "ratio",
                "",
                subject.key,
                logs=(True, False),
                names=names,
            )


def rows(subject: Subject) -> list[Row]:
    """The same as rows of a table."""
    return [
        {"paper": PAPERS[name][0], **pair._asdict(), "over": pair.here / pair.stated}
        for name in PAPERS
        for pair in pairs(subject, name)
    ]
