"""Energy of the host's processors by the counters that Linux shows as "powercap" (RAPL).

Packages (all cores and what is beside them) are added up, with their memory where that has a
counter of its own. Other names, such as psys, count the same energy again.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from portmp.backends.energy import JOULES, Meter
from portmp.errors import BackendUnavailable, DeviceError

FOLDER = Path("/sys/class/powercap")
_ZONE = re.compile(r"[a-z]+-rapl:[0-9:]+")
"""Names of counters; the same ones come again as intel-rapl-mmio."""
_COUNTED = re.compile(r"package-.*|dram")
_MICRO = 1e-6


class Zone:
    """One counter, unrolled: it begins again at 0 after its largest value."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = (folder / "name").read_text().strip()
        self._range = int((folder / "max_energy_range_uj").read_text()) + 1
        self._last = self._value()
        self._total = 0

    def _value(self) -> int:
        return int((self.folder / "energy_uj").read_text())

    def joules(self) -> float:
        """Joules since the first reading, if there is a reading at least once a round."""
        now = self._value()
        self._total += (now - self._last) % self._range
        self._last = now
        return self._total * _MICRO


def meters(folder: Path = FOLDER) -> Sequence[Meter]:
    """The sum of all packages; BackendUnavailable where there is none that may be read."""
    try:
        zones = [Zone(place) for place in _places(folder)]
    except PermissionError as error:
        kind = Path(str(error.filename)).parent.name.partition(":")[0]
        raise BackendUnavailable(
            f"{error.filename} may be read by root alone; until the next start this lets all users "
            f"read it: sudo chmod a+r {folder}/{kind}:*/energy_uj"
        ) from None
    except (OSError, ValueError) as error:
        raise BackendUnavailable(f"the energy counters in {folder} do not read: {error}") from None
    if not zones:
        raise BackendUnavailable(
            f"{folder} shows no energy counter of a processor: virtual machines and containers "
            f"often have none; else the kernel's modules intel_rapl_common and intel_rapl_msr "
            f"(for AMD as well) are missing"
        )

    def read() -> float:
        try:
            return sum(zone.joules() for zone in zones)
        except (OSError, ValueError) as error:
            raise DeviceError(f"the energy counters in {folder} do not read: {error}") from None

    return [Meter(f"RAPL counters of {', '.join(zone.name for zone in zones)}", JOULES, read)]


def _places(folder: Path) -> list[Path]:
    """The folders of the counters that are added up."""
    if not folder.is_dir():
        return []
    return [
        place
        for place in sorted(folder.iterdir())
        if _ZONE.fullmatch(place.name) and _COUNTED.fullmatch((place / "name").read_text().strip())
    ]
