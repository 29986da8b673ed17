"""``portmp report``: files of measured results as a page, joined, compared, checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from portmp.bench.tables import Row
from portmp.errors import ArgumentError, InputError, printable
from portmp.files import target
from portmp.progress import lasting
from portmp.report import comparison, devices, drawing, figures, page, subjects

ENDINGS = (".html", ".json", ".svg")


def command(args: Any) -> int:
    """Do what was asked for: 0; 1 where a digest or a rate is wrong or a file is not taken."""
    if args.compare:
        if len(args.files) != 2:
            raise ArgumentError(f"--compare: two files are needed, {len(args.files)} given")
        return comparison.command(args.files, _place(args.output, (".html",)))
    if not args.files:
        raise ArgumentError("report: no file given; portmp bench all -o FILE writes one")
    if args.check:
        return _checked(args.files)
    place = _place(args.output, ENDINGS)
    if place is None:
        raise ArgumentError("report: -o PAGE.html is needed")
    if args.device and place.suffix != ".json":
        raise ArgumentError("--device: chooses what -o FILE.json is of")
    with lasting(f"writing {place.name}"):
        found, files = subjects.read(args.files)
        text, line, status = _WRITERS[place.suffix](found, files, args)
    target.replace(place, text.encode())
    print(f"{place}: {line}")
    return status


def _place(output: str | None, endings: Sequence[str]) -> Path | None:
    """Where to write, once that is possible."""
    place = Path(output) if output else None
    if place and place.suffix not in endings:
        raise ArgumentError(f"-o: {place.name!r} given; it ends in {' or '.join(endings)}")
    if place:
        target.check_place(place)
    return place


# --- what is written ------------------------------------------------------------------------------

Files = Sequence[subjects.File]


def _page(found: Sequence[Row], files: Files, args: Any) -> tuple[str, str, int]:
    made = page.built(found, files)
    text = page.text(made)
    wrong = [problem for device in made.devices for problem in device.problems]
    about = f"{len(made.devices)} devices, {len(found)} reports, {len(text) / 2**20:.1f} MiB"
    return text, about + (f"; {len(wrong)} results are wrong" if wrong else ""), int(bool(wrong))


def _joined(found: Sequence[Row], files: Files, args: Any) -> tuple[str, str, int]:
    data = devices.joined(found, args.device)
    return devices.as_file(data), f"{len(data['reports'])} reports of one device", 0


def _figure(found: Sequence[Row], files: Files, args: Any) -> tuple[str, str, int]:
    drawn = list(figures.cover(subjects.sorted_by_device(found)))
    if not drawn:
        raise InputError("no report has products of matrices, which this figure is about")
    return drawing.alone(drawn[0], page.data("style.css")), drawn[0].title, 0


_WRITERS: dict[str, Callable[[Sequence[Row], Files, Any], tuple[str, str, int]]] = {
    ".html": _page,
    ".json": _joined,
    ".svg": _figure,
}


# --- what is checked ------------------------------------------------------------------------------


def _checked(names: Sequence[str]) -> int:
    """Whether files would be taken into the table of devices."""
    failed = False
    for path in map(Path, names):
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            found = devices.refusals(file)
            failed |= bool(found)
            for text in found:
                print(printable(f"{file}: {text}"), file=sys.stderr)
            if not found:
                print(printable(f"{file}: is taken"))
    return int(failed)
