"""Interpreted devices: code objects of AMD architectures, run instruction by instruction on a CPU.

Such a device appears only when it is asked for: ``emulated:gfx908``. It is no hardware: it
checks results, not times. ``emulated:gfx908+1`` and ``-1`` let every approximate reciprocal and
root err upwards or downwards by as much as is documented, an ulp (float32) or 2^-23 (float64);
``~1`` either way by its bits.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from portmp.backends.base import Device
from portmp.backends.pool import Places
from portmp.backends.rocm import runtime as rocm
from portmp.backends.rocm.blas import HipBlas
from portmp.backends.rocm.runtime import RocmDevice, RocmDriver
from portmp.compilers import select
from portmp.emulator import lines, marks
from portmp.emulator.hip import Hip
from portmp.emulator.machine import CAPACITY, LIMIT, SLOTS, Machine, Settings
from portmp.errors import BackendUnavailable, DeviceError, PortmpError, suggestion

UNITS = {
    "gfx906": 60,
    "gfx908": 120,
    "gfx90a": 104,
    "gfx942": 304,
    "gfx1030": 40,
    "gfx1100": 48,
    "gfx1201": 32,
}
"""Architectures, with the compute units of a card that has it: schedules depend on them."""

NAME = "emulated"
_LABEL = re.compile(r"(gfx[0-9a-f]+)(?:([+~-])1)?")
_SHIFTS = {None: 0, "+": 1, "-": -1, "~": 2}


class EmulatedDevice(RocmDevice):
    """A device whose runtime is the interpreter."""

    interpreted = True

    def __init__(self, label: str, hip: Hip, **given: Any) -> None:
        super().__init__(0, RocmDriver(hip, 0), **given)
        # What is freed counts as nobody's, and what is new as never written.
        self.reserve.limit, self.reserve.poison = 0, False
        self.hip = hip
        self._label = label

    @property
    def name(self) -> str:
        """The name that selects this device: ``emulated:gfx908``."""
        return f"{NAME}:{self._label}"

    @property
    def remark(self) -> str:
        """How fast the interpreter was, and what it does not take."""
        machine = self.hip.machine
        rate = machine.rows_run / machine.seconds / 1e6 if machine.seconds else 0.0
        return (
            f"interpreter: {machine.rows_run / 1e6:.0f} million rows, each an operation of a wave "
            f"of {self.properties.warp_size} lanes, in {machine.seconds:.1f} s ({rate:.0f} million "
            f"a second); limits: {CAPACITY >> 20} MiB of memory, blocks of at most "
            f"1024 threads, {LIMIT << 20} rows of a launch on each of {SLOTS} slots, no "
            f"half-precision operations, of matrices those of float64"
        )

    whole = False

    def take(self, sizes: Sequence[int], stream: Any) -> Places:
        """Each by itself, so that what lies beside a plane belongs to nobody."""
        found: list[int] = []
        try:
            for nbytes in sizes:
                found += super().take((nbytes,), stream)
        except PortmpError:
            self.give(tuple(found), stream)
            raise
        return tuple(found)

    def give(self, places: Places, stream: Any) -> None:
        for place in places:
            self.driver.free(place, stream)

    def library(self) -> HipBlas:
        """None: a library's own code is not interpreted."""
        raise BackendUnavailable(f"{self.name} has no BLAS library: it is no hardware")

    def compile(self, source: str) -> bytes:
        """Compile with what checks go by: a table of lines, and marks of barriers."""
        return super().compile(marks.marked(source, self.properties.warp_size))

    def compiler_key(self) -> str:
        """That of the compiler, marked: nothing kept for hardware is taken for this device."""
        host = self.hip.machine.host.compiler_key()
        return f"{super().compiler_key()} interpreted, {marks.VERSION}, by {host}"


def find(label: str, cpu: Device, settings: Settings | None = None) -> EmulatedDevice:
    """The device of an architecture that *cpu* interprets; DeviceError says which there are."""
    found = _LABEL.fullmatch(label)
    if not found or found[1] not in UNITS:
        near = suggestion(label, list(UNITS))
        raise DeviceError(
            f"device 'emulated:{label}'{near}: interpreted are {', '.join(UNITS)}, each also with "
            f"+1, -1 or ~1 behind it"
        )
    return opened(label, found[1], cpu, settings or Settings(shift=_SHIFTS[found[2]]))


@cache
def opened(label: str, arch: str, cpu: Device, settings: Settings) -> EmulatedDevice:
    """One device an architecture and settings."""
    lanes = 32 if arch >= "gfx1" and not arch.startswith("gfx9") else 64
    facts = {
        "name": f"interpreter of {arch} code, no hardware",
        "gcnArchName": arch,
        "multiProcessorCount": UNITS[arch],
        "warpSize": lanes,
        "maxThreadsPerBlock": 1024,
        "sharedMemPerBlock": 65536,
        "totalGlobalMem": CAPACITY,
        "clockRate": 0,
    }
    hip = Hip(Machine(arch, cpu, settings, f"{NAME}:{label}"), facts)
    properties, traits = rocm.facts_of(hip, 0)
    compiler = select.amd(arch, *lines.OPTIONS)
    return EmulatedDevice(label, hip, properties=properties, traits=traits, compiler=compiler)
