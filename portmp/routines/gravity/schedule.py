"""Schedules of direct sums over particles."""

from dataclasses import dataclass, replace

from portmp import definition
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.schedules.base import Schedule, check_block, check_positive, check_width, kind
from portmp.schedules.database import Task, find, register

WRITTEN_OUT = 128
"""Interactions of one limb that a loop may write out; one of n limbs counts as n^3."""


@dataclass(frozen=True)
class Slabs:
    """What the numbers of particles fix: with ``parts`` a block takes one slab of sources."""

    parts: bool = False


@kind("nbody")
@dataclass(frozen=True)
class NbodySchedule(Schedule):
    """Direct sums over sources: ``targets`` of them (or vectors of ``width``) a work-item.

    Sources come in tiles of ``tile``: with ``shared`` = 1 through memory that a block
    shares, 2 that a warp shares, 0 straight from global memory; with ``stages`` = 2 the next
    tile is on its way meanwhile, with ``async_copy`` = 1 without passing through registers.
    ``ilp`` interactions go through their steps side by side, ``unroll`` are written out.
    """

    threads: int = 128
    targets: int = 1
    tile: int = 128
    unroll: int = 4
    shared: int = 1
    width: int = 1
    stages: int = 1
    async_copy: int = 0
    ilp: int = 1
    call: Slabs = Slabs()

    halved = "width", "targets", "threads"

    @property
    def parts(self) -> bool:
        """Whether a block takes one slab of sources."""
        return self.call.parts

    def for_call(self, parts: bool) -> "NbodySchedule":
        """The same with a block for each slab of sources, or for all of them."""
        return replace(self, call=Slabs(parts))

    def team(self, device: Device) -> int:
        """Threads that fetch a tile together."""
        return {0: 1, 1: self.threads, 2: device.traits.warp_size}[self.shared]

    def check(self, form: Format, device: Device) -> None:
        check_positive(self, "threads", "targets", "tile", "unroll", "stages", "ilp")
        check_width(self.width, form, device)
        for name, allowed in (("shared", (0, 1, 2)), ("stages", (1, 2)), ("async_copy", (0, 1))):
            if getattr(self, name) not in allowed:
                raise ArgumentError(
                    f"schedule: {name} {getattr(self, name)} given, "
                    f"{', '.join(map(str, allowed))} are allowed"
                )
        if (
            definition.GRAVITY_PERIOD % self.tile
            or self.tile % self.unroll
            or self.unroll % self.ilp
        ):
            raise ArgumentError(
                f"schedule: tile {self.tile}, unroll {self.unroll} and ilp {self.ilp} given, a "
                f"divisor of {definition.GRAVITY_PERIOD}, one of the tile and one of unroll are "
                "needed"
            )
        if self.width > 1 and device.traits.root != "ieee":
            raise ArgumentError(
                f"schedule: width {self.width} given, {device.name} has 1: its estimate of roots "
                "was tried for single words"
            )
        dialect, warp = platform.get(device.platform), device.traits.warp_size
        if self.shared == 2 and (not dialect.warp_barrier or self.threads % warp):
            raise ArgumentError(
                f"schedule: shared 2 with {self.threads} threads given; {device.name} "
                + (f"needs multiples of {warp}" if dialect.warp_barrier else "has 0 and 1")
            )
        if self.stages == 2 and (not self.shared or self.tile % self.team(device)):
            raise ArgumentError(
                f"schedule: stages 2 with shared {self.shared} and tile {self.tile} given, a "
                f"shared tile of a multiple of {self.team(device)} is needed"
            )
        if self.async_copy and (self.stages == 1 or not dialect.async_copy):
            raise ArgumentError(
                "schedule: async_copy 1 given, stages 2 and a platform that has it are needed"
            )
        check_block(self.threads, self.shared_bytes(form, device), device)

    def shared_bytes(self, form: Format, device: Device) -> int:
        """Shared memory of a block."""
        if not self.shared:
            return 0
        tiles = self.stages * (self.threads // self.team(device))
        return tiles * self.tile * 4 * form.itemsize

    def affordable(self, form: Format) -> bool:
        """Whether a GPU's registers hold the interactions that are written out."""
        return self.targets * self.unroll * form.limbs**3 <= WRITTEN_OUT

    def smaller(self) -> "NbodySchedule | None":
        if self.stages > 1 or self.shared > 1:
            return replace(self, stages=1, async_copy=0, shared=1)
        if self.tile > 32:
            return replace(self, tile=32, unroll=min(self.unroll, 32))
        return super().smaller()

    def finer(self) -> "NbodySchedule | None":
        """With half the targets a thread, or half the threads; None at one warp or so."""
        if self.targets % 2 == 0:
            return replace(self, targets=self.targets // 2)
        if self.threads % 2 == 0 and self.threads > 64 and self.shared != 2:
            return replace(self, threads=self.threads // 2)
        return None


SHAPES = register("nbody", {"all": ()})


def nbody(form: Format, device: Device | None, accuracy: str) -> NbodySchedule:
    """The schedule of direct sums over particles; *accuracy* fast: with an inexact root."""
    found: NbodySchedule = find(Task("nbody", form, accuracy, "all"), device)
    return found
