"""How many warps a scheduler holds: from registers, shared memory and the architecture.

A compute unit has S schedulers (SIMD units). A scheduler's register file has R registers for
each lane, which a warp takes in pieces of g, and room for M warps. With r registers a thread,
w warps a block and l bytes of shared memory a block, out of L of the unit:

    by registers   min(M, floor(R / (g ceil(r / g))))
    by memory      floor(L / (l + l0)) w / S,   l0: what the system keeps for itself

The smaller one counts. Whole blocks share a unit (``residency``): the fewest of

    by warps       floor(M S / w)
    by registers   floor(floor(R / (g ceil(r / g))) S / w)
    by memory      floor(L / (l + l0))
    by blocks      B, where a block of one warp needs no barrier on AMD's units

Sources: AMD: LLVM's AMDGPU back end (AMDGPUBaseInfo.cpp: total VGPRs, allocation granule, waves
per EU, work-groups per CU; 64 KiB of LDS for a compute unit). NVIDIA: the table of technical
specifications in the CUDA C++ Programming Guide.
"""

from dataclasses import asdict, dataclass
from typing import Any

from portmp.compilers.base import KernelReport


@dataclass(frozen=True)
class Unit:
    """A compute unit: its schedulers, and for each of them registers a lane, their granule,
    warps at most; lanes of a warp; shared memory and what of it a block costs beside its own;
    instructions that a scheduler issues while one of float32 takes its turn; blocks at most, and
    whether those of one warp count among them.
    """

    registers: int
    granule: int
    warps: int
    lanes: int
    shared: int
    schedulers: int = 4
    reserved: int = 0
    issue: int = 1
    blocks: int = 16
    single: bool = True

    @property
    def rate(self) -> int:
        """Lanes that take an instruction of float32 in a clock; a warp of 64 takes four of them."""
        return self.schedulers * self.lanes // (4 if self.lanes == 64 else self.issue)


_LDS = 64 * 1024
_KIB = 1024
UNITS: dict[str, Unit] = {
    "gfx906": Unit(256, 4, 10, 64, _LDS, single=False),
    "gfx908": Unit(256, 4, 10, 64, _LDS, single=False),
    "gfx90a": Unit(512, 8, 8, 64, _LDS, single=False),
    "gfx942": Unit(512, 8, 8, 64, _LDS, single=False),
    "gfx1030": Unit(1024, 16, 16, 32, _LDS, schedulers=2, single=False),
    "gfx1100": Unit(1536, 24, 16, 32, _LDS, schedulers=2, single=False),
    "gfx1201": Unit(1536, 24, 16, 32, _LDS, schedulers=2, single=False),
    "sm_75": Unit(512, 8, 8, 32, 64 * _KIB, issue=2),
    "sm_80": Unit(512, 8, 16, 32, 164 * _KIB, reserved=_KIB, issue=2, blocks=32),
    "sm_86": Unit(512, 8, 12, 32, 100 * _KIB, reserved=_KIB),
    "sm_89": Unit(512, 8, 12, 32, 100 * _KIB, reserved=_KIB, blocks=24),
    "sm_90": Unit(512, 8, 16, 32, 228 * _KIB, reserved=_KIB, blocks=32),
    "sm_100": Unit(512, 8, 16, 32, 228 * _KIB, reserved=_KIB, blocks=32),
    "sm_120": Unit(512, 8, 12, 32, 100 * _KIB, reserved=_KIB, blocks=24),
}


@dataclass(frozen=True)
class Occupancy:
    """Warps a scheduler: of so many at most, and what limits them."""

    warps: float
    most: int
    limit: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def _resources(report: KernelReport, threads: int) -> tuple[Unit, int, int, int | None] | None:
    """A unit; a block's warps; warps of a scheduler by registers; blocks of a unit by its memory.

    None for an unknown architecture or kernel; no blocks where it takes no memory.
    """
    unit = UNITS.get(report.arch)
    if unit is None or report.registers is None or report.shared is None:
        return None
    taken = -(-max(report.registers, 1) // unit.granule) * unit.granule
    by_memory = unit.shared // (report.shared + unit.reserved) if report.shared else None
    return unit, -(-threads // unit.lanes), unit.registers // taken, by_memory


def occupancy(report: KernelReport, threads: int) -> Occupancy | None:
    """Of a kernel in blocks of *threads*; None for an unknown architecture or kernel."""
    found = _resources(report, threads)
    if found is None:
        return None
    unit, warps, held, blocks = found
    by_memory = float(unit.warps) if blocks is None else blocks * warps / unit.schedulers
    by_registers = float(min(unit.warps, held))
    limits = {"warps": float(unit.warps), "registers": by_registers, "shared memory": by_memory}
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], unit.warps, limit)


@dataclass(frozen=True)
class Residency:
    """Whole blocks and their warps that a compute unit holds at once, of so many warps at most;
    what limits them.
    """

    blocks: int
    warps: int
    most: int
    limit: str


def residency(report: KernelReport, threads: int) -> Residency | None:
    """Of a kernel in blocks of *threads*; None for an unknown architecture or kernel."""
    found = _resources(report, threads)
    if found is None:
        return None
    unit, warps, held, by_memory = found
    most = unit.warps * unit.schedulers
    limits = {"warps": most // warps, "registers": held * unit.schedulers // warps}
    if by_memory is not None:
        limits["shared memory"] = by_memory
    if warps > 1 or unit.single:
        limits["blocks"] = unit.blocks
    limit = min(limits, key=lambda name: limits[name])
    return Residency(limits[limit], limits[limit] * warps, most, limit)
