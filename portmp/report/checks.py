"""What a report proves by itself: digests that are the recorded ones, rates below its ceilings.

A file that fails was damaged, changed, or measured while other work ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from portmp import definition
from portmp.bench.tables import Row, quantity, shape_text, value_of
from portmp.report.subjects import Subject
from portmp.verify.cases import recorded_as

TOLERANCE = 1e-6
"""How far a rate may be from what its row's time and operations say."""
ABOVE = {"gpu": 1.1, "cpu": 1.5}
"""How far above a ceiling of the same run a rate may be: clocks rise, other work ends."""
CACHED = 2**28
"""Bytes up to which operands may lie in a cache."""


def digests(report: Row, part: Row) -> Iterator[str]:
    """Digests that are not those recorded for the report's definition, one sentence each.

    Results that this version does not record, of earlier or later ones, are not judged.
    """
    known = recorded_as(report["definition"])
    found = part["experiments"].get("digests", {"rows": ()})["rows"]
    if found and not known:
        yield (
            f"definition {report['definition']} of the bits is given; this portmp knows 1 to "
            f"{definition.VERSION}"
        )
        return
    for row in found:
        wrong = unknown = 0
        for key, digest in row["digests"].items():
            unknown += key not in known
            if known.get(key, digest) != digest:
                wrong += 1
                said = row["errors"].get(key) or f"{digest or 'none'} given"
                yield f"digest of {key}: {said}, {known[key]} is recorded"
        right = len(row["digests"]) - wrong
        told = right - unknown <= row["passed"] <= right
        if not told or row["cases"] != len(row["digests"]):
            yield (
                f"digests of {row['routine']} {row['format']}: {row['passed']} of {row['cases']} "
                f"are said to agree, {right} of {len(row['digests'])} do"
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


def problems(report: Row, part: Row) -> list[str]:
    """All that is wrong with one device's part of a report."""
    return [*digests(report, part), *rates(part), *counts(report, part)]


@dataclass
class Verdict:
    """How many digests of a device are the recorded ones of a definition, and by format."""

    definition: int
    right: dict[str, bool] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Results that this version does not record."""

    @property
    def passed(self) -> int:
        """Digests that are the recorded ones."""
        return sum(self.right.values())

    @property
    def total(self) -> int:
        """Digests that were computed, of those that are recorded."""
        return len(self.right)

    @property
    def formats(self) -> dict[str, tuple[int, int]]:
        """Both of each format."""
        found: dict[str, list[bool]] = {}
        for key, right in self.right.items():
            found.setdefault(key.split("/")[1].rpartition(".")[0], []).append(right)
        return {name: (sum(each), len(each)) for name, each in found.items()}

    @property
    def state(self) -> str:
        """What it comes to."""
        if self.passed < self.total:
            return "NOT AS RECORDED"
        earlier = self.definition < definition.VERSION
        return f"as recorded{f' with definition {self.definition}' if earlier else ''}"

    @property
    def words(self) -> str:
        """The same, and how many results could not be judged."""
        return self.state + (f", {len(self.unknown)} others unknown" if self.unknown else "")


def verdicts(subject: Subject) -> list[Verdict]:
    """A verdict for each definition that a device's digests were computed by, the newest first."""
    found: dict[int, Verdict] = {}
    for report, part in subject.parts:
        for row in part["experiments"].get("digests", {"rows": ()})["rows"]:
            version = report["definition"]
            known = recorded_as(version)
            verdict = found.setdefault(version, Verdict(version))
            for key, digest in row["digests"].items():
                if key not in known:
                    verdict.unknown.add(key)
                    continue
                right = known[key] == digest
                verdict.right[key] = right and verdict.right.get(key, True)
    return sorted(found.values(), key=lambda verdict: -verdict.definition)


def contradictions(subject: Subject) -> list[str]:
    """All that is wrong with a device's reports, each with what it is of."""
    return [
        f"{report['family']}, {report['date'][:10]}: {text}"
        for report, part in subject.parts
        for text in problems(report, part)
    ]
