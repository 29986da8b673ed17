"""What a report proves by itself: digests that are the recorded ones, rates below its ceilings.

A file that fails was damaged, changed, or measured while other work ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from portmp import definition
from portmp.bench.tables import Row, quantity, shape_text, value_of
from portmp.report.subjects import Subject
from portmp.verify.cases import recorded

TOLERANCE = 1e-6
"""How far a rate may be from what its row's time and operations say."""
ABOVE = {"gpu": 1.1, "cpu": 1.5}
"""How far above a ceiling of the same run a rate may be: clocks rise, other work ends."""
CACHED = 2**28
"""Bytes up to which operands may lie in a cache."""


def digests(part: Row) -> Iterator[str]:
    """Digests that are not the recorded ones, one sentence each."""
    for row in part["experiments"].get("digests", {"rows": ()})["rows"]:
        wrong = 0
        for key, digest in row["digests"].items():
            wrong += recorded().get(key) != digest
            if key not in recorded():
                yield f"digest of {key}: no result of this version of portmp"
            elif recorded()[key] != digest:
                said = row["errors"].get(key) or f"{digest or 'none'} given"
                yield f"digest of {key}: {said}, {recorded()[key]} is recorded"
        if row["passed"] != len(row["digests"]) - wrong or row["cases"] != len(row["digests"]):
            yield (
                f"digests of {row['routine']} {row['format']}: {row['passed']} of {row['cases']} "
                f"are said to agree, {len(row['digests']) - wrong} of {len(row['digests'])} do"
            )


def rates(part: Row) -> Iterator[str]:
    """Rates of the BLAS that its own times or ceilings contradict."""
    for row in part["experiments"].get("blas", {"rows": ()})["rows"]:
        what = f"{row['routine']} {row['format']} {shape_text(row['shape'])}"
        median = row["seconds"]["median"]
        for name, count in (
            ("operations_per_second", row["operations"]),
            ("bytes_per_second", row["bytes"]),
        ):
            if not _near(row[name] * median, count):
                yield (
                    f"{what}: {name} {row[name]:.6g} given, {count} in {median:.6g} s are "
                    f"{count / median if median else 0:.6g}"
                )
        if not _near(row["share"] * median, row["floor"]["seconds"]):
            yield f"{what}: share {row['share']:.6g} given, its floor says otherwise"
        yield from _above(part, row, what)


def counts(report: Row, part: Row) -> Iterator[str]:
    """Rates of the other benchmarks that their own times contradict."""
    for name, found in part["experiments"].items():
        known = _COUNTS.get((report["family"], name))
        for row in found["rows"] if known else ():
            assert known
            field, seconds, count = known
            rate, time = value_of(row, field), value_of(row, seconds)
            if rate is not None and time and not _near(rate * time, count(row)):
                yield (
                    f"{name}, n = {row['n']}: {field} {rate:.6g} given, its time says "
                    f"{count(row) / time:.6g}"
                )


_POWERS = {"axpy": 1, "gemv": 2, "gemm": 3}
_INTERACTIONS = "interactions_per_second", "seconds.least", lambda row: float(row["n"]) ** 2
_MEDIAN = "operations_per_second", "seconds.median"
_COUNTS: dict[tuple[str, str], tuple[str, str, Callable[[Row], float]]] = {
    ("nbody", "roots"): _INTERACTIONS,
    ("nbody", "sizes"): _INTERACTIONS,
    ("ts2021", "blocked"): (*_MEDIAN, lambda row: 2.0 * row["n"] ** 3),
    ("slfp", "axpy"): (*_MEDIAN, lambda row: 2.0 * row["n"]),
    ("slfp", "dot"): (*_MEDIAN, lambda row: 2.0 * row["n"]),
    ("slfp", "gemv"): (*_MEDIAN, lambda row: 2.0 * row["n"] ** 2),
    ("slfp", "gemm"): (*_MEDIAN, lambda row: 2.0 * row["n"] ** 3 + 3.0 * row["n"] ** 2),
    ("hpcs2011", "rates"): (*_MEDIAN, lambda row: 2.0 * row["n"] ** _POWERS[row["routine"]]),
}
"""What each rate is, the time that it belongs to, and how many operations that took."""


def _near(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= TOLERANCE * abs(wanted)


def _above(part: Row, row: Row, what: str) -> Iterator[str]:
    """Rates above the ceilings of the same run."""
    facts, median = part["facts"], row["seconds"]["median"]
    limit = ABOVE.get(facts["kind"], 1.0) if facts else 1.0
    floor = row["floor"]
    if floor["arithmetic_seconds"] > limit * median:
        share = floor["arithmetic_seconds"] / median
        most = f"at most {100 * limit:.0f} % are possible"
        yield f"{what}: {100 * share:.0f} % of its instructions' ceiling, {most}"
    memory = (part.get("ceilings") or {}).get("memory")
    if (
        memory
        and row["bytes"] > CACHED
        and row["bytes_per_second"] > (limit * memory["bytes_per_second"])
    ):
        yield (
            f"{what}: {quantity(row['bytes_per_second'], 'B/s')}, the ceiling of memory is "
            f"{quantity(memory['bytes_per_second'], 'B/s')}"
        )


def versions(report: Row) -> Iterator[str]:
    """A definition of bits that is not this version's."""
    if report["definition"] != definition.VERSION:
        yield (
            f"definition {report['definition']} of the bits is given, this portmp has "
            f"{definition.VERSION}"
        )


def problems(report: Row, part: Row) -> list[str]:
    """All that is wrong with one device's part of a report."""
    return [*versions(report), *digests(part), *rates(part), *counts(report, part)]


def verdict(subject: Subject) -> dict[str, Any]:
    """How many of a device's digests are the recorded ones, and by format; what is wrong."""
    keys: dict[str, bool] = {}
    for row, _ in subject.rows("verify", "digests"):
        keys |= {key: recorded().get(key) == digest for key, digest in row["digests"].items()}
    formats: dict[str, list[bool]] = {}
    for key, right in keys.items():
        formats.setdefault(key.split("/")[1].rpartition(".")[0], []).append(right)
    return {
        "passed": sum(keys.values()),
        "total": len(keys),
        "formats": {name: (sum(found), len(found)) for name, found in formats.items()},
        "problems": [
            f"{report['family']}, {report['date'][:10]}: {text}"
            for report, part in subject.parts
            for text in problems(report, part)
        ],
    }
