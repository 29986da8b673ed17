"""The table of devices: ``python tests/devices_page.py > bench/devices/README.md`` writes it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from portmp.bench.tables import Row, quantity
from portmp.report import checks, subjects
from portmp.report.page import best_product
from portmp.report.subjects import Subject, sorted_by_device

FOLDER = Path(__file__).resolve().parents[1] / "bench" / "devices"
HEAD = """# Which devices give the same bits

One file for each device that somebody ran. `portmp report bench/devices -o page.html` makes one
page of them all, which is here as [docs/measured.html](../../docs/measured.html); this table is
written by `python tests/devices_page.py > bench/devices/README.md`. To add a device:
[docs/your_device.md](../../docs/your_device.md).

"Digests" are results of `portmp verify`, reduced to their bits: how many were computed, and
whether they are the recorded ones, with the version of the definition of bits where it is not
today's; "others" are of inputs that `portmp verify` does not have any more. An *interpreted*
device runs AMD's machine code on a CPU, instruction by instruction, an *emulated processor* that of
another processor, by qemu: no hardware of that name was there, and its results say nothing about
speed or driver.

| device | through | driver | digests | direct GEMM `dd` | formats | newest | file |
|---|---|---|---|---|---|---|---|
"""


def table(files: Sequence[tuple[Path, Sequence[Row]]]) -> str:
    """The files of devices as a page in Markdown."""
    lines: list[tuple[int, str]] = []
    for path, found in files:
        for subject in sorted_by_device(found):
            lines.append((_rank(subject), f"| {' | '.join(_cells(subject, path))} |"))
    return HEAD + "\n".join(line for _, line in sorted(lines, key=lambda one: one[0])) + "\n"


def _rank(subject: Subject) -> int:
    if subject.interpreted:
        return 2
    return int(subject.kind != "gpu")


def _cells(subject: Subject, path: Path) -> list[str]:
    words = [f"{v.total} {v.words}" for v in checks.verdicts(subject)]
    formats = {name for v in checks.verdicts(subject) for name in v.formats}
    best = best_product(subject)
    return [
        _escaped(subject.title),
        f"*{subject.through}*" if subject.interpreted else _escaped(subject.through),
        _escaped(str(subject.facts.get("driver", ""))),
        "; ".join(words) or "none",
        quantity(best["operations_per_second"], "/s") if best else "",
        str(len(formats)),
        subject.dates[-1],
        f"[{path.name}]({path.name})",
    ]


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    special = "\\`*_{}[]|"
    words = html.escape(" ".join(text.split()), quote=False)
    return "".join(f"\\{c}" if c in special else c for c in words)


def page() -> str:
    """The table of all files."""
    _, files = subjects.read([FOLDER])
    return table([(file.path, file.reports) for file in files if file.reports])


if __name__ == "__main__":
    print(page(), end="")
