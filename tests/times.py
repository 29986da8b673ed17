"""What the tests of each file take: processor time, which other work on a machine changes little.

It is information, printed at the end of a run of many files: no test fails by it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

BUDGET = 3300
"""Seconds of the processor that the tests of ``.ci/run`` may take, of all workers together."""

SHOWN = 5.0
"""Seconds above which a file has a line of its own."""

MANY = 10
"""Files of a run that is told of."""

_last = 0.0
TICKS = os.sysconf("SC_CLK_TCK")
"""In a second: systems count in these."""


def processor() -> float:
    """Seconds of the processor that this process and those that it started have taken."""
    taken = os.times()
    waited = taken.user + taken.system + taken.children_user + taken.children_system
    return round((waited + sum(_living())) * TICKS) / TICKS  # what was added up in any order


def _living() -> Iterator[float]:
    """Those of processes that nobody waited for yet, where /proc tells of them."""
    for path in Path("/proc/self/task").glob("*/children"):
        try:
            for child in path.read_text().split():
                numbers = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                yield sum(map(int, numbers[11:15])) / TICKS
        except OSError:
            continue  # it has ended


def lap() -> float:
    """Seconds since the last call, from the first on."""
    global _last
    before, _last = _last, processor()
    return _last - before


def by_file(reports: Iterable[Any]) -> Counter[str]:
    """Seconds of each file, of the reports that have ``processor``."""
    found: Counter[str] = Counter()
    for report in reports:
        found[report.nodeid.partition("::")[0]] += getattr(report, "processor", 0.0)
    return found


def table(files: Mapping[str, float], whole: float) -> list[str]:
    """Lines for people: files that take long, the others, what is no test's; sum and budget."""
    if len(files) < MANY:
        return []
    rows = sorted(((s, name) for name, s in files.items() if s >= SHOWN), reverse=True)
    tests = sum(files.values())
    others = tests - sum(seconds for seconds, _ in rows)
    rows.append((others, f"{len(files) - len(rows)} other files"))
    rows.append((max(0.0, whole - tests), "workers' starts, and finding the tests"))
    lines = [f"{seconds:8.1f} {name}" for seconds, name in rows]
    total = f"{max(whole, tests):.0f} s of a budget of {BUDGET} s"
    return ["processor time, seconds:", *lines, f"{total} (processor time of the workers)"]
