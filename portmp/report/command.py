"""``portmp report``: files of ``portmp bench`` and ``portmp verify`` as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from portmp.errors import ArgumentError
from portmp.files import target
from portmp.report import page, subjects


def command(args: Any) -> int:
    """Write the page: 0 once all files are read, 1 where a digest or a rate is wrong."""
    if not args.files:
        raise ArgumentError("report: no file given; portmp bench all -o FILE writes one")
    if not args.output:
        raise ArgumentError("report: -o PAGE.html is needed")
    place = Path(args.output)
    target.check_place(place)
    found, files = subjects.read(args.files)
    made = page.built(found, files)
    text = page.text(made).encode()
    target.replace(place, text)
    wrong = [problem for device in made.devices for problem in device.problems]
    about = f"{len(made.devices)} devices, {len(found)} reports, {len(text) / 2**20:.1f} MiB"
    print(f"{place}: {about}" + (f"; {len(wrong)} results are wrong" if wrong else ""))
    return int(bool(wrong))
