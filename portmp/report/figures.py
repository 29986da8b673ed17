"""What is drawn of devices: where kernels lie under the roof, rates by size, digits, joules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from portmp import formats
from portmp.bench.blas import largest, named, series_name
from portmp.bench.tables import Row, joules, quantity
from portmp.errors import FormatError
from portmp.report.drawing import Figure, Point, Series
from portmp.report.subjects import Subject

Product = tuple[str, str, float, str]
"""A product of square matrices: whose, in which format, operations a second, and what else."""


def word_of(name: str) -> str:
    """The word that a format computes in; nothing for one that this version does not know."""
    try:
        return formats.get(name).word
    except FormatError:
        return ""


def latest(subject: Subject) -> list[Row]:
    """The BLAS's rows, of each case the newest."""
    found: dict[tuple[Any, ...], tuple[str, Row]] = {}
    for report, part in subject.of("blas"):
        for row in part["experiments"].get("blas", {"rows": ()})["rows"]:
            case = row["routine"], row["format"], row["accuracy"], tuple(row["shape"])
            if case not in found or found[case][0] <= report["date"]:
                found[case] = report["date"], row
    return [row for _, row in found.values()]


def grouped(
    rows: Sequence[Row], name: Callable[[Row], str], point: Callable[[Row], Point | None]
) -> dict[str, list[Point]]:
    """Points by name, each name's from left to right."""
    found: dict[str, list[Point]] = {}
    for row in rows:
        place = point(row)
        if place is not None and all(math.isfinite(x) and x > 0 for x in place[:2]):
            found.setdefault(name(row), []).append(place)
    return {series: sorted(points) for series, points in found.items()}


# --- the roof ---------------------------------------------------------------------------------


def roofline(subject: Subject) -> Iterator[Figure]:
    """Instructions a second of each kernel over instructions a byte, below the device's roofs."""
    limits = subject.ceilings
    if not limits or not limits["memory"]:
        return
    bandwidth = limits["memory"]["bytes_per_second"]
    peaks = {
        word: rates["fma"]
        for word, rates in limits["instructions_per_second"].items()
        if word in ("float32", "float64")
    }

    def point(row: Row) -> Point | None:
        peak = peaks.get(word_of(row["format"]))
        if peak is None or row["routine"].startswith("gemm-ozaki"):
            return None
        instructions = row["floor"]["arithmetic_seconds"] * peak
        rate = instructions / row["seconds"]["median"] if row["seconds"]["median"] else 0.0
        share = f"{100 * row['share']:.0f} % of the floor"
        return instructions / row["bytes"], rate, f"{named(row)}: {quantity(rate, '/s')}, {share}"

    points = grouped(latest(subject), series_name, point)
    if not points:
        return
    left = min(p[0] for series in points.values() for p in series) / 2
    right = max(p[0] for series in points.values() for p in series) * 2
    roofs = []
    for word, peak in peaks.items():
        corner = peak / bandwidth
        xs = [left, *([corner] if left < corner < right else []), right]
        roofs.append(
            Series(
                f"roof of {word}",
                [(x, min(peak, x * bandwidth), f"{word}: {quantity(peak, '/s')}") for x in xs],
                marked=False,
                dashed=True,
            )
        )
    found = [Series(name, series, line=False) for name, series in points.items()]
    tops = ", ".join(f"{word} {quantity(peak, '/s')}" for word, peak in peaks.items())
    yield Figure(
        "Under the roof",
        "Each kernel's instructions a second over its instructions a byte of traffic, in the words "
        f"of its format. Roofs: {tops}, memory {quantity(bandwidth, 'B/s')}.",
        [*found, *roofs],
        "instructions a byte",
        "instructions a second",
        subject.key,
        note="A mark on the roof uses all that the hardware has; products by slices and residues, "
        "which use other engines, are left out.",
    )


# --- rates ------------------------------------------------------------------------------------


OPERATIONS = ("operations_per_second", "operations of the format a second", "/s")
INTERACTIONS = ("interactions_per_second", "interactions a second", "interactions/s")
"""What is counted: its field in a row, its words, its unit."""


def rates(subject: Subject) -> Iterator[Figure]:
    """Rates by size: of products, of gravity, of the paper's blocked products."""

    def series(row: Row) -> str:
        return f"{row['format']} {row['root']}"

    products = latest(subject)
    direct = [r for r in products if r["routine"] == "gemm"]
    yield from _by_size("GEMM by size", subject, direct, series_name, named)
    yield from _by_size(
        "GEMM by slices and residues",
        subject,
        [r for r in products if r["routine"].startswith("gemm-ozaki")],
        lambda r: f"{r['format']} {r['routine'].removeprefix('gemm-')}",
        named,
        least=1,
    )
    yield from _by_size(
        "Gravity by particles",
        subject,
        [row for row, _ in subject.rows("nbody", "sizes")],
        series,
        lambda r: f"{series(r)}, N = {r['n']}",
        INTERACTIONS,
    )
    yield from _by_size(
        "Products of the triple-single paper",
        subject,
        [row for row, _ in subject.rows("ts2021", "blocked") if row["blocks"] == "portmp"],
        lambda r: str(r["format"]),
        lambda r: f"{r['format']}, N = {r['n']}",
    )


def _by_size(
    title: str,
    subject: Subject,
    rows: Sequence[Row],
    name: Callable[[Row], str],
    what: Callable[[Row], str],
    counted: tuple[str, str, str] = OPERATIONS,
    least: int = 2,
) -> Iterator[Figure]:
    """Lines over sizes, where some series has several; *name* of one, *what* a row is."""
    field, up, unit = counted

    def point(row: Row) -> Point:
        size = row["shape"][0] if "shape" in row else row["n"]
        return float(size), float(row[field]), f"{what(row)}: {quantity(row[field], unit)}"

    points = grouped(rows, name, point)
    if max(map(len, points.values()), default=0) < least:
        return
    best = {name: max(p[1] for p in series) for name, series in points.items()}
    words = ", ".join(f"{name} {quantity(rate, '/s')}" for name, rate in best.items())
    yield Figure(
        title,
        f"Rates over sizes, a line for each series; the largest: {words}.",
        [Series(name, series) for name, series in points.items()],
        "order or number",
        up,
        subject.key,
        base=2,
    )


# --- digits and joules --------------------------------------------------------------------------


def cover(subjects: Sequence[Subject], others: Sequence[Product] = ()) -> Iterator[Figure]:
    """All devices and their peers in one picture: digits of formats over rates of products."""
    best: dict[str, dict[str, Point]] = {}
    for whose, name, rate, what in (*_products(subjects), *others):
        points, digits = best.setdefault(whose, {}), formats.get(name).digits
        if name not in points or points[name][0] < rate:
            points[name] = rate, digits, f"{what}: {digits} digits, {quantity(rate, '/s')}"
    series = []
    for whose, points in best.items():
        names = sorted(points, key=lambda name: points[name][1])
        labels = [*names[:-1], f"{names[-1]}: {whose}"]
        series.append(Series(whose, [points[name] for name in names], labels=labels))
    if series:
        yield Figure(
            "Products of matrices: digits and speed. Up and to the right is better",
            "Decimal digits of formats over operations of the format a second in products of "
            "square matrices, of each device and library the fastest: up and right is better.",
            series,
            "operations of the format a second",
            "digits of the format",
            logs=(True, False),
            ends={"y": (0.0, 1.12 * max(y for each in series for _, y, _ in each.points))},
            wide=True,
        )


def _products(subjects: Sequence[Subject]) -> Iterator[Product]:
    """What is measured of products of square matrices, portmp's and its peers'."""
    for subject in subjects:
        rows = [r for r in latest(subject) if r["routine"] in METHODS]
        cores = f"{subject.facts['compute_units']} cores of " * (subject.kind == "cpu")
        whose = f"portmp, {cores}{subject.title}, {subject.backend}"
        word = max((word_of(row["format"]) for row in rows), default="")
        for row in rows:
            if row["accuracy"] == "accurate" and word_of(row["format"]) == word != "":
                what = f"{named(row)}, {METHODS[row['routine']]}"
                yield whose, row["format"], float(row["operations_per_second"]), what
        for report, _ in subject.parts:
            for peer in report["peers"]:
                for row in (r for r in peer["results"] if r["routine"] == "gemm"):
                    n, rate = row["shape"][0], float(row["operations_per_second"])
                    name = peer["name"].removesuffix(" float64")
                    yield name, row["format"], rate, f"{row['bits']} bits, n = {n}"


METHODS = {
    "gemm": "direct product",
    "gemm-ozaki1": "by slices of int8",
    "gemm-ozaki1-float64": "by slices of float64",
    "gemm-ozaki2": "by residues",
}


def energy(subject: Subject) -> Iterator[Figure]:
    """Joules of an operation by routine and format."""
    rows = [r for r in latest(subject) if r.get("energy")]
    found = largest(rows)
    if not found:
        return
    joules_of: dict[str, list[float]] = {}
    for (_, form), row in found.items():
        joules_of.setdefault(form, []).append(row["energy"]["joules_per_operation"])
    names = sorted(joules_of, key=lambda form: min(joules_of[form]))
    series: dict[str, list[Point]] = {}
    for (routine, form), row in found.items():
        each = row["energy"]["joules_per_operation"]
        what = f"{named(row)}: {joules(each)}, {row['energy']['watts']:.0f} W"
        series.setdefault(routine, []).append((each, float(names.index(form)), what))
    yield Figure(
        "Joules of an operation",
        "Joules of one operation of each format, by routine, idle power included: to the left is "
        "less.",
        [
            Series(name, sorted(points, key=lambda p: p[1]), line=False)
            for name, points in series.items()
        ],
        "joules",
        "",
        subject.key,
        logs=(True, False),
        names=names,
    )


OF_A_DEVICE = (roofline, rates, energy)
