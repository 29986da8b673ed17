"""The entries of the porting reference, by what `portmp port` says of a construct.

An entry is a file ``entries/GROUP/NAME.toml``; its evidence is for the tests (``tests/porting``).
"""

import tomllib
from dataclasses import dataclass
from functools import cache

from portmp.paths import PACKAGE
from portmp.porting.tables import table

FOLDER = PACKAGE / "porting/entries"

GROUPS: dict[str, str] = table("groups")
"""Groups, in the order of the pages."""


@dataclass(frozen=True)
class Entry:
    """What a construct becomes in HIP and OpenCL. ``name`` is ``GROUP/NAME``."""

    name: str
    hip: str
    opencl: str
    constructs: tuple[str, ...] = ()


@cache
def every() -> tuple[Entry, ...]:
    """All entries, in the order of the groups."""
    found = []
    for group in GROUPS:
        for path in sorted((FOLDER / group).glob("*.toml"), key=lambda path: path.stem):
            held = tomllib.loads(path.read_text(encoding="utf-8"))
            hip, opencl = (" ".join(held[key].split()) for key in ("hip", "opencl"))
            name = f"{group}/{path.stem}"
            found.append(Entry(name, hip, opencl, tuple(held.get("constructs", ()))))
    return tuple(found)
