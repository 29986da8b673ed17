"""What a page is about: devices, each with all reports on it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from portmp.bench import reports
from portmp.bench.tables import Row, value_of
from portmp.discovery.finding import INTERPRETED
from portmp.errors import InputError, printable

_COMMON = re.compile(r"\bOpenCL [0-9.]+|Portable Computing Language|\bLinux\b|\(R\)", re.IGNORECASE)
"""What names of platforms have in common, or what says nothing of them."""
Part = tuple[Row, Row]
"""A report, and what it says of one device."""


def cleaned(data: Any) -> Any:
    """The same with texts in which no control character is left."""
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, Mapping):
        return {printable(str(k)): cleaned(v) for k, v in data.items()}
    return [cleaned(v) for v in data] if isinstance(data, list) else data


@dataclass
class Subject:
    """A device through a platform. ``key`` is its name in the page."""

    key: str
    title: str
    backend: str
    platform: str
    parts: list[Part] = field(default_factory=list)

    @property
    def interpreted(self) -> bool:
        """Whether its code ran on no hardware of its kind."""
        return self.backend == INTERPRETED or bool(self.emulator)

    @property
    def emulator(self) -> str:
        """What emulated a processor, if anything did."""
        return str(value_of(self.facts, "extra.emulator") or "")

    @property
    def through(self) -> str:
        """Through what it was used, in few words."""
        if self.interpreted:
            return "emulated processor" if self.emulator else "interpreted"
        return f"{self.backend}: {self.platform}" if self.platform else self.backend or "not run"

    @cached_property
    def facts(self) -> Row:
        """What its driver reports, the newest first; empty where nothing ran."""
        found = (part["facts"] for _, part in reversed(self.parts))
        return next((facts for facts in found if facts), {})

    @property
    def kind(self) -> str:
        """gpu, cpu, or nothing where no device was there."""
        return str(self.facts.get("kind", ""))

    @property
    def remark(self) -> str:
        """What is to be known of its results: they are interpreted."""
        return next((str(p["remark"]) for _, p in self.parts if p.get("remark")), "")

    def texts(self, path: str) -> list[str]:
        """The different values of a field of its parts, in their order."""
        found = (value_of(part, path) for _, part in self.parts)
        return list(dict.fromkeys(str(v) for v in found if v))

    @property
    def refusals(self) -> list[str]:
        """Why it was not used."""
        return self.texts("refusal")

    @property
    def dates(self) -> list[str]:
        """The days on which it was measured."""
        return sorted({report["date"][:10] for report, _ in self.parts})

    def of(self, family: str) -> Iterator[Part]:
        """Its parts of a benchmark."""
        return (both for both in self.parts if both[0]["family"] == family)

    def rows(self, family: str, experiment: str) -> Iterator[tuple[Row, Row]]:
        """Rows of an experiment, each with its part."""
        for _, part in self.of(family):
            found = part["experiments"].get(experiment, {"rows": ()})
            yield from ((row, part) for row in found["rows"])

    @property
    def skipped(self) -> list[tuple[str, Row]]:
        """What was left out, by benchmark."""
        return [(report["family"], s) for report, part in self.parts for s in part["skipped"]]

    @property
    def ceilings(self) -> Row | None:
        """Its measured rates of instructions and memory: the best of all its reports."""
        best: Row = {"instructions_per_second": {}, "memory": None}
        for _, part in self.parts:
            found = part.get("ceilings")
            if not found:
                continue
            for word, rates in found["instructions_per_second"].items():
                mine = best["instructions_per_second"].setdefault(word, {})
                for op, rate in rates.items():
                    mine[op] = max(rate, mine.get(op, 0.0))
            memory = found.get("memory")
            rate = memory["bytes_per_second"] if memory else 0.0
            if memory and (not best["memory"] or best["memory"]["bytes_per_second"] < rate):
                best["memory"] = memory
        return best if best["instructions_per_second"] else None


_POCL = re.compile(r"(?:pthread|cpu)-(?:([a-z0-9-]+)-)?(.+)")
"""How PoCL names processors: its threads, the target of its compiler, the processor's own name."""


def readable(name: str) -> str:
    """A device's name without what its driver puts around it."""
    found = _POCL.fullmatch(name)
    if found:
        name = f"{found[2]} ({found[1]})" if found[1] else found[2]
    return re.sub(r"\((?:R|TM)\)", "", name)


def identity(part: Row) -> tuple[str, str, str]:
    """What tells devices apart: name, backend, and the platform that OpenCL names."""
    facts = part["facts"]
    backend = part["selected"].partition(":")[0]
    if facts is None:
        return f"{part['selected']}, compiled only", "", ""
    platform = str(value_of(facts, "extra.platform") or "").partition(",")[0]
    words = _COMMON.sub(" ", platform).split()
    return facts["name"], backend, " ".join(dict.fromkeys(words))


def sorted_by_device(found: Sequence[Row]) -> list[Subject]:
    """Devices in the order in which reports name them, GPUs first, then CPUs, then the rest."""
    subjects: dict[tuple[str, str, str], Subject] = {}
    for report in found:
        for part in report["devices"]:
            name, backend, platform = identity(part)
            subject = subjects.setdefault(
                (name, backend, platform), Subject("", readable(name), backend, platform)
            )
            subject.parts.append((report, part))

    def rank(subject: Subject) -> int:
        if subject.interpreted or not subject.facts:
            return 2 + (not subject.facts)
        return int(subject.kind != "gpu")

    ordered = sorted(subjects.values(), key=rank)
    for i, subject in enumerate(ordered):
        subject.key = f"d{i}"
    return ordered


@dataclass(frozen=True)
class File:
    """A file that was read: its reports, or why it was left out."""

    path: Path
    reports: list[Row]
    reason: str = ""


def read(paths: Sequence[str | Path]) -> tuple[list[Row], list[File]]:
    """All reports of some files and of folders' files, and the files.

    InputError for the first file that is no report. A folder may hold other files.
    """
    files: list[File] = []
    for path in map(Path, paths):
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            try:
                files.append(File(file, cleaned(reports.read_all(file))))
            except InputError as error:
                if file == path:
                    raise
                files.append(File(file, [], str(error).removeprefix(f"{file}: ")))
    found = [report for file in files for report in file.reports]
    if not found:
        raise InputError(f"{', '.join(map(str, paths))}: no report of portmp bench is there")
    return found, files
