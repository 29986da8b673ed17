"""Schedules: how a kernel is cut up. They change speed, never bits.

Plain data with checks: what the definition and a device allow. Which schedule a call
takes is the business of portmp.tuning.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from portmp import definition, platform
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format
from portmp.neighbours import COUNT

MOST_RESULTS = 64
"""Results of a thread in GEMM: a bit of a word each, where it notes those that are not finite."""

ADDRESSES = 40
"""Registers of a GEMM thread that hold no values of the format: about this many."""


@dataclass(frozen=True)
class GemmSchedule:
    """Tile shape of GEMM: threads of a block, results of a thread, depth of a tile.

    ``vector`` results of a thread are neighbours (so that it reads them from shared
    memory at once), ``pad`` words are appended to a row of a tile; ``stages``: 2 holds
    two tiles, with one barrier a tile; ``unroll`` steps of k are written out; ``blocks``
    share a compute unit. ``split`` gives each slab of k to a block of its own;
    ``a_order``, ``b_order`` say along which index neighbouring threads read, and ``wide``
    that they read several neighbours at once there.
    """

    threads_m: int = 16
    threads_n: int = 16
    thread_m: int = 2
    thread_n: int = 2
    tile_k: int = 8
    vector: int = 1
    pad: int = 0
    stages: int = 1
    unroll: int = 4
    blocks: int = 1
    split: bool = False
    a_order: str = "k"
    b_order: str = "n"
    wide: bool = True

    template: ClassVar[str] = "blas/gemm.mako"
    width: ClassVar[int] = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.threads_m * self.threads_n

    @property
    def tile_m(self) -> int:
        """Rows of C of a block."""
        return self.threads_m * self.thread_m

    @property
    def tile_n(self) -> int:
        """Columns of C of a block."""
        return self.threads_n * self.thread_n

    @property
    def pitch_a(self) -> int:
        """Words from one step of k to the next in A's tile."""
        return self.tile_m + self.pad

    @property
    def pitch_b(self) -> int:
        """Words from one step of k to the next in B's tile."""
        return self.tile_n + self.pad

    def shared_bytes(self, form: Format) -> int:
        """Shared memory of a block."""
        words = self.tile_k * (self.pitch_a + self.pitch_b) * self.stages
        return words * form.limbs * np.dtype(form.word).itemsize

    def registers(self, form: Format) -> int:
        """About how many 32-bit registers a thread needs at least: sums, operands, addresses."""
        fetched = -(-self.tile_k * (self.tile_m + self.tile_n) // self.threads)
        sums = self.thread_m * self.thread_n * (form.limbs + (form.limbs > 1))
        held = (self.thread_m + self.thread_n + fetched) * form.limbs
        return (sums + held) * np.dtype(form.word).itemsize // 4 + ADDRESSES

    def consistent(self) -> GemmSchedule:
        """With neighbours, padding and unrolling that fit the results and the depth."""
        vector = math.gcd(self.vector, self.thread_m, self.thread_n)
        pad = min(self.pad, vector) if vector > 1 else self.pad % 2
        return replace(self, vector=vector, pad=pad, unroll=min(self.unroll, self.tile_k))

    def finer(self) -> GemmSchedule | None:
        """With half the results a thread, for products with few tiles; None at one."""
        name = "thread_m" if self.thread_m >= self.thread_n else "thread_n"
        length = getattr(self, name)
        return None if length % 2 else replace(self, **{name: length // 2}).consistent()

    def smaller(self) -> GemmSchedule | None:
        """The next smaller one, for a device that this one does not fit."""
        if self.stages > 1 or self.blocks > 1:
            return replace(self, stages=1, blocks=1)
        if self.tile_k > 8:
            return replace(self, tile_k=self.tile_k // 2, unroll=min(self.unroll, self.tile_k // 2))
        for name in ("thread_m", "thread_n", "threads_m", "threads_n"):
            length = getattr(self, name)
            if length % 2 == 0:
                return replace(self, vector=1, pad=0, **{name: length // 2})
        return None

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the definition or the device."""
        check_positive(self, "threads_m", "threads_n", "thread_m", "thread_n", "tile_k", "unroll")
        check_positive(self, "vector", "stages", "blocks")
        for name, most in (("pad", 32), ("stages", 2)):
            if not 0 <= getattr(self, name) <= most:
                raise ArgumentError(
                    f"schedule: {name} {getattr(self, name)} given, at most {most} is allowed"
                )
        if self.thread_m * self.thread_n > MOST_RESULTS:
            raise ArgumentError(
                f"schedule: {self.thread_m} x {self.thread_n} results of a thread given, at most "
                f"{MOST_RESULTS} are allowed"
            )
        if definition.PERIOD % self.tile_k:
            raise ArgumentError(
                f"schedule: tile_k {self.tile_k} does not divide {definition.PERIOD}"
            )
        if self.tile_k % self.unroll:
            raise ArgumentError(f"schedule: unroll {self.unroll} does not divide {self.tile_k}")
        if self.tile_k % definition.FAST_PERIOD:
            raise ArgumentError(
                f"schedule: tile_k {self.tile_k} is no multiple of {definition.FAST_PERIOD}"
            )
        for name in ("thread_m", "thread_n", "pad"):
            if getattr(self, name) % self.vector:
                raise ArgumentError(
                    f"schedule: {name} {getattr(self, name)} is no multiple of vector {self.vector}"
                )
        for name in ("tile_k", "tile_m", "tile_n"):
            length = getattr(self, name)
            if self.threads % length and length % self.threads:
                raise ArgumentError(
                    f"schedule: {name} {length} and {self.threads} threads a block do not divide "
                    "each other"
                )
        check_block(self.threads, self.shared_bytes(form), device)


@dataclass(frozen=True)
class PanelSchedule:
    """GEMM on a CPU: a work-item computes ``rows`` rows of a packed panel of B.

    It holds ``results_m`` rows x ``results_n`` vectors of ``width`` columns at a time.
    """

    rows: int = 64
    results_m: int = 4
    results_n: int = 2
    width: int = 1

    template: ClassVar[str] = "blas/gemm_panels.mako"
    threads: ClassVar[int] = 1
    split: ClassVar[bool] = False

    @property
    def tile_m(self) -> int:
        """Rows of C of a work-item."""
        return self.rows

    @property
    def tile_n(self) -> int:
        """Columns of C of a work-item."""
        return self.results_n * self.width

    def shared_bytes(self, form: Format) -> int:
        """Memory of the packed panel."""
        return definition.SLAB * self.tile_n * form.limbs * np.dtype(form.word).itemsize

    def smaller(self) -> PanelSchedule | None:
        """The next smaller one, for a device that this one does not fit."""
        for name in ("width", "results_n", "results_m"):
            if getattr(self, name) > 1:
                return replace(self, **{name: getattr(self, name) // 2})
        return None

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the device."""
        check_positive(self, "rows", "results_m", "results_n")
        check_width(self.width, form, device)
        check_block(self.threads, self.shared_bytes(form), device)


WIDEST = 16
"""Bytes that a thread can read or write at once."""


def check_positive(schedule: object, *fields: str) -> None:
    for name in fields:
        value = getattr(schedule, name)
        if not isinstance(value, int) or value < 1:
            raise ArgumentError(f"schedule: {name} {value!r} given, positive integers are allowed")


def check_block(threads: int, shared: int, device: Device) -> None:
    """Raise ArgumentError where a block does not fit the device."""
    limit = device.properties
    if threads > limit.max_threads:
        raise ArgumentError(
            f"schedule: {threads} threads a block, {device.name} allows {limit.max_threads}"
        )
    most = int(limit.extra.get("static_shared_memory", limit.shared_memory))
    if shared > most:
        raise ArgumentError(f"schedule: {shared} bytes of shared memory, {device.name} has {most}")


def check_width(width: int, form: Format, device: Device) -> None:
    """Refuse a vector width that the platform or the format does not have."""
    allowed = (1,) if form.scalar else platform.get(device.platform).vectors
    if width not in allowed:
        widths = ", ".join(map(str, allowed))
        raise ArgumentError(
            f"schedule: width {width} given, {form.name} on {device.name} has {widths}"
        )


NEIGHBOURS = (1, COUNT)
"""Elements stored short that a work-item may take side by side: whole words of each part."""


def check_neighbours(schedule: FlatSchedule | ReduceSchedule) -> None:
    if type(schedule.neighbours) is not int or schedule.neighbours not in NEIGHBOURS:
        allowed = ", ".join(map(str, NEIGHBOURS))
        raise ArgumentError(
            f"schedule: neighbours {schedule.neighbours} given, allowed are {allowed}"
        )


@dataclass(frozen=True)
class ReduceSchedule:
    """DOT, GEMV, sums: a team of 32 work-items, one for each lane, takes ``rows`` rows.

    ``teams`` share a block, a work-item loads ``unroll`` steps at once; with ``across``
    neighbouring work-items read neighbouring rows. With ``staged`` a block takes one chunk of
    one row: its threads fetch ``staged`` elements each at a time, and 32 of them are the lanes.
    With ``neighbours`` = 4 a work-item of contiguous rows holds four lanes, a team has 8, and
    ``staged`` steps of the vector at a time go through memory that the block's teams share.
    """

    teams: int = 4
    rows: int = 1
    unroll: int = 4
    across: bool = False
    combine_threads: int = 64
    staged: int = 0
    neighbours: int = 1

    width: ClassVar[int] = 1
    combining: ClassVar[str] = "blas/reduce_combine.mako"

    @property
    def template(self) -> str:
        """The template of the first half."""
        if self.neighbours > 1:
            return "blas/reduce_neighbours.mako"
        return "blas/reduce_staged.mako" if self.staged else "blas/reduce.mako"

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return definition.LANES // self.neighbours * self.teams

    def blocks(self, rows: int, chunks: int) -> int:
        """Blocks for *rows* rows of so many chunks."""
        if self.staged and self.neighbours == 1:
            return rows * chunks
        groups = -(-rows // self.rows)
        if self.across or self.staged:
            return -(-groups // self.teams) * chunks
        return -(-groups * chunks // self.teams)

    def smaller(self) -> ReduceSchedule | None:
        """The next smaller one, for a device that this one does not fit."""
        if self.combine_threads > definition.LANES:
            return replace(self, combine_threads=max(self.combine_threads // 2, definition.LANES))
        if self.neighbours > 1 and self.staged:
            return replace(self, staged=0)
        for name in ("staged", "teams"):
            if getattr(self, name) > 1:
                return replace(self, **{name: getattr(self, name) // 2})
        return None

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the definition or the device."""
        check_positive(self, "teams", "rows", "unroll", "combine_threads")
        if self.staged:
            check_positive(self, "staged")
        check_neighbours(self)
        shared = definition.LANES * self.teams * form.compute.itemsize
        if self.neighbours > 1:
            shared = definition.LANES * (self.teams * self.rows + self.staged)
            shared *= form.compute.itemsize
            if self.across:
                raise ArgumentError("schedule: neighbours need across False")
            if self.staged % self.unroll:
                raise ArgumentError(
                    f"schedule: staged {self.staged} is no multiple of unroll {self.unroll}"
                )
        elif self.staged:
            shared *= 2 * self.staged
            if self.rows != 1 or self.across:
                raise ArgumentError("schedule: staged needs rows 1 and across False")
            if definition.CHUNK % (self.threads * self.staged):
                raise ArgumentError(
                    f"schedule: {self.threads} threads x staged {self.staged} do not divide "
                    f"{definition.CHUNK}"
                )
        check_block(self.threads, shared, device)
        check_block(self.combine_threads, self.combine_threads * form.compute.itemsize, device)
        shares, rest = divmod(self.combine_threads, definition.LANES)
        if rest or shares & (shares - 1):
            raise ArgumentError(
                f"schedule: combine_threads {self.combine_threads} given, {definition.LANES} times "
                "a power of two is needed"
            )


@dataclass(frozen=True)
class SweepSchedule:
    """DOT, GEMV, sums on a CPU: a work-item goes through a chunk in order, with all its lanes.

    It takes ``rows`` rows, vectors of ``width`` lanes, ``unroll`` of them written out; or,
    where rows lie side by side (``across``), ``rows`` vectors of ``width`` rows.
    """

    rows: int = 1
    width: int = 1
    unroll: int = 1
    across: bool = False

    template: ClassVar[str] = "blas/reduce_sweep.mako"
    combining: ClassVar[str] = "blas/reduce_combine_sweep.mako"
    threads: ClassVar[int] = 1
    combine_threads: ClassVar[int] = 1

    def blocks(self, rows: int, chunks: int) -> int:
        """Blocks for *rows* rows of so many chunks."""
        return -(-rows // (self.rows * (self.width if self.across else 1))) * chunks

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the definition or the device."""
        check_positive(self, "rows", "unroll")
        check_width(self.width, form, device)
        if definition.LANES % self.unroll:
            raise ArgumentError(
                f"schedule: unroll {self.unroll} does not divide {definition.LANES}"
            )

    def smaller(self) -> SweepSchedule | None:
        """The next smaller one, for a device that this one does not fit."""
        for name in ("width", "rows"):
            if getattr(self, name) > 1:
                return replace(self, **{name: getattr(self, name) // 2})
        return None


@dataclass(frozen=True)
class FlatSchedule:
    """Elementwise kernels: threads of a block, elements of a thread.

    With a ``width`` dense operands are taken in explicit vectors, ``items`` of them a thread.
    ``neighbours`` (1 or 4) elements that are stored short are read and written at once.
    """

    threads: int = 256
    items: int = 1
    width: int = 1
    neighbours: int = 1

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the device."""
        check_positive(self, "threads", "items")
        check_neighbours(self)
        check_width(self.width, form, device)
        check_block(self.threads, 0, device)

    def smaller(self) -> FlatSchedule | None:
        """The next smaller one, for a device that this one does not fit."""
        for name in ("width", "threads"):
            if getattr(self, name) > 1:
                return replace(self, **{name: getattr(self, name) // 2})
        return None


@dataclass(frozen=True)
class NbodySchedule:
    """Direct sums over sources: ``targets`` of them (or vectors of ``width``) a work-item.

    Sources come in tiles of ``tile``: with ``shared`` = 1 through memory that a block
    shares, 2 that a warp shares, 0 straight from global memory; with ``stages`` = 2 the next
    tile is on its way meanwhile, with ``async_copy`` = 1 without passing through registers.
    ``ilp`` interactions go through their steps side by side, ``unroll`` are written out.
    With ``parts`` a block takes one slab of sources.
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
    parts: bool = False

    def team(self, device: Device) -> int:
        """Threads that fetch a tile together."""
        return {0: 1, 1: self.threads, 2: device.traits.warp_size}[self.shared]

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the definition or the device."""
        check_positive(self, "threads", "targets", "tile", "unroll", "stages", "ilp")
        check_width(self.width, form, device)
        for name, allowed in (("shared", (0, 1, 2)), ("stages", (1, 2)), ("async_copy", (0, 1))):
            if getattr(self, name) not in allowed:
                raise ArgumentError(
                    f"schedule: {name} {getattr(self, name)} given, "
                    f"{', '.join(map(str, allowed))} are allowed"
                )
        if definition.PERIOD % self.tile or self.tile % self.unroll or self.unroll % self.ilp:
            raise ArgumentError(
                f"schedule: tile {self.tile}, unroll {self.unroll} and ilp {self.ilp} given, a "
                f"divisor of {definition.PERIOD}, one of the tile and one of unroll are needed"
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

    def smaller(self) -> NbodySchedule | None:
        """The next smaller one, for a device that this one does not fit."""
        if self.stages > 1 or self.shared > 1:
            return replace(self, stages=1, async_copy=0, shared=1)
        if self.tile > 32:
            return replace(self, tile=32, unroll=min(self.unroll, 32))
        for name in ("width", "targets", "threads"):
            if getattr(self, name) > 1:
                return replace(self, **{name: getattr(self, name) // 2})
        return None

    def finer(self) -> NbodySchedule | None:
        """With half the targets a thread, or half the threads; None at one warp or so."""
        if self.targets % 2 == 0:
            return replace(self, targets=self.targets // 2)
        if self.threads % 2 == 0 and self.threads > 64 and self.shared != 2:
            return replace(self, threads=self.threads // 2)
        return None


Schedule = (
    GemmSchedule | PanelSchedule | ReduceSchedule | SweepSchedule | FlatSchedule | NbodySchedule
)
KINDS: dict[str, type[Schedule]] = {
    "tiles": GemmSchedule, "panels": PanelSchedule, "reduce": ReduceSchedule,
    "sweep": SweepSchedule, "flat": FlatSchedule, "nbody": NbodySchedule,
}  # fmt: skip
"""What a schedule is called in a file."""

CHOSEN_AT_THE_CALL = ("split", "parts", "a_order", "b_order", "wide", "across")
"""What follows from the shape and the strides, and is therefore not kept in files."""


def as_data(schedule: Schedule) -> dict[str, Any]:
    """Plain data for a file."""
    kind = next(name for name, cls in KINDS.items() if isinstance(schedule, cls))
    kept = {k: v for k, v in asdict(schedule).items() if k not in CHOSEN_AT_THE_CALL}
    return {"kind": kind, **kept}


def from_data(data: dict[str, Any]) -> Schedule:
    """The schedule that *data* describes; ArgumentError where it describes none."""
    given = dict(data)
    kind = given.pop("kind", None)
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise ArgumentError(f"schedule: kind {kind!r} given, {', '.join(KINDS)} are allowed")
    known = [f.name for f in fields(cls) if f.name not in CHOSEN_AT_THE_CALL]
    for name, value in given.items():
        if name not in known or isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentError(
                f"schedule: {name}={value!r} given, {kind} has the integers {', '.join(known)}"
            )
    return cls(**given)
