"""The same bits everywhere: digests of results on recorded inputs.

The routines say what is compared (``routines.case``). A case's result on a device is reduced to
a digest of its limbs' bits (NaN made canonical) and compared with the digest recorded in the
package, which the host reference gives too. Keys carry the version of the definition.
"""

import json
from functools import cache
from importlib import resources
from pathlib import Path

from portmp import definition, formats, paths
from portmp.backends.base import Device
from portmp.errors import choice
from portmp.routines import registry
from portmp.routines.case import Case
from portmp.routines.reference import Host
from portmp.runtime import digests
from portmp.verify import composed

REFERENCE = "reference"
digest = digests.digest


def device_result(case: Case, device: Device) -> Host:
    """Limb planes that *device* computes of a case, by what users call."""
    return composed.computed(case.call, case.form, device.queue, case.operands, case.options)


@cache
def cases(name: str) -> tuple[Case, ...]:
    """All cases of one format."""
    form = formats.get(name)
    routines = (case for routine in registry.of(form) for case in routine.cases(form))
    return (*routines, *composed.cases(form))


def selected(format_name: str | None, routine: str | None) -> list[Case]:
    """The cases of all formats, or of one format or routine."""
    every = (*formats.NAMES, *formats.COMPLEX, *formats.STORED)
    names = [formats.get(format_name).name] if format_name else every
    found = [c for name in names for c in cases(name) if routine in (None, c.routine)]
    if not found:
        choice("routine:", routine, sorted({c.routine for c in cases(names[0])}))
    return found


# --- recorded digests --------------------------------------------------------------------


def recorded() -> dict[str, str]:
    """The digests in the package, by key."""
    return recorded_as(definition.VERSION)


@cache
def recorded_as(version: int) -> dict[str, str]:
    """The digests of this definition or of an earlier one; none of a definition not known here."""
    name = "digests" if version == definition.VERSION else f"digests-{version}"
    file = resources.files("portmp").joinpath(f"data/{name}.json")
    known: dict[str, str] = json.loads(file.read_text())["digests"] if file.is_file() else {}
    return known


def record(path: Path) -> int:
    """Write the host reference's digests of all cases to *path*; returns their number."""
    digests = {c.key: digest(c.host_result()) for c in selected(None, None)}
    data = {"definition": definition.VERSION, "digests": dict(sorted(digests.items()))}
    paths.replace_file(path, (json.dumps(data, indent=1) + "\n").encode())
    return len(digests)
