"""Schedules of GEMM: tiles of a block on GPUs, panels of a work-item on CPUs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from portmp import definition
from portmp.backends.base import Device
from portmp.codegen import platform
from portmp.errors import ArgumentError
from portmp.formats import Accumulator, Format, with_bound
from portmp.schedules import base
from portmp.schedules.database import Task, find, register

MOST_RESULTS = 64
"""Results of a thread in GEMM: a bit of a word each, where it notes those that are not finite."""

ADDRESSES = 40
"""Registers of a GEMM thread that hold no values of the format: about this many."""


BLOCK_MEMORY = 32768
"""Bytes of memory that a block has on every GPU."""

REGISTERS, OF_A_THREAD = 65536, 255
"""32-bit registers of a compute unit and of a thread, as most GPUs have them."""

RESIDENT = 384
"""Threads that bounds leave on a compute unit where those of whole tiles are as many without."""


@dataclass(frozen=True)
class GemmCall:
    """What a product's shape and strides fix.

    ``split`` gives each slab of k to a block of its own; ``a_order``, ``b_order`` say along which
    index neighbouring threads read, and ``wide`` that they read several neighbours at once there.
    """

    split: bool = False
    a_order: str = "k"
    b_order: str = "n"
    wide: bool = True


@base.kind("tiles")
@dataclass(frozen=True)
class GemmSchedule(base.Schedule):
    """Tile shape of GEMM: threads of a block, results of a thread, depth of a tile.

    ``vector`` results of a thread are neighbours (so that it reads them from shared
    memory at once), ``pad`` words are appended to a row of a tile; ``stages``: 2 holds
    two tiles, with one barrier a tile; ``unroll`` steps of k are written out; ``blocks``
    share a compute unit.
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
    call: GemmCall = GemmCall()

    template: ClassVar[str] = "blas/gemm.mako"
    width: ClassVar[int] = 1
    all_slabs: ClassVar[bool] = False

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

    def registers(self, form: Format, state: int = 0) -> int:
        """About how many 32-bit registers a thread needs at least: sums, operands, addresses.

        *state*: words of a running sum, if not those of accurate ones.
        """
        fetched = -(-self.tile_k * (self.tile_m + self.tile_n) // self.threads)
        limbs = form.limbs - form.bounded
        sums = self.thread_m * self.thread_n * (state or limbs + (limbs > 1) + form.bounded)
        held = (self.thread_m + self.thread_n + fetched) * limbs
        return (sums + held) * np.dtype(form.word).itemsize // 4 + ADDRESSES

    @property
    def split(self) -> bool:
        """Whether each slab of k has a block of its own."""
        return self.call.split

    def for_call(self, **fixed: Any) -> GemmSchedule:
        """The same with fields of the call."""
        found: GemmSchedule = _for_call(self, *fixed.items())
        return found

    def consistent(self) -> GemmSchedule:
        """With neighbours, padding and unrolling that fit the results and the depth."""
        vector = math.gcd(self.vector, self.thread_m, self.thread_n)
        pad = min(self.pad, vector) if vector > 1 else self.pad % 2
        return replace(self, vector=vector, pad=pad, unroll=min(self.unroll, self.tile_k))

    def affordable(self, form: Format) -> bool:
        """Whether a GPU's registers hold what its threads need at least."""
        needed = self.registers(form)
        return needed <= OF_A_THREAD and needed * self.threads * self.blocks <= REGISTERS

    def for_bounds(self, form: Format, sums: Accumulator) -> GemmSchedule:
        """For values of *form* with a bound, one word longer, of these *sums*.

        With as few results a thread as registers hold, and as leave two blocks on a compute unit
        (of MOST_RESULTS a thread ``RESIDENT`` threads), or as many as the schedule says, where
        there are so many without.
        """
        return _for_bounds(self, form, sums)

    def finer(self) -> GemmSchedule | None:
        """With half the results a thread, for products with few tiles; None at one."""
        return _finer(self)

    def spread(self, form: Format) -> GemmSchedule | None:
        """``finer``, and with a deeper tile: few blocks must wait for memory less often.

        As deep as before where a block of some GPU has too little memory for it.
        """
        finer = self.finer()
        deeper = finer and replace(finer, tile_k=min(2 * self.tile_k, definition.PERIOD))
        return deeper if deeper and deeper.shared_bytes(form) <= BLOCK_MEMORY else finer

    def fitting(self, m: int, n: int) -> GemmSchedule:
        """With fewer results a thread along a side of which half a tile is enough."""
        s = self
        for name, length in (("m", m), ("n", n)):
            results, threads = f"thread_{name}", getattr(s, f"threads_{name}")
            while (count := getattr(s, results)) % 2 == 0 and threads * count >= 2 * length:
                s = replace(s, **{results: count // 2}).consistent()
        return s

    def smaller(self) -> GemmSchedule | None:
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
        base.check_positive(self, "threads_m", "threads_n", "thread_m", "thread_n", "tile_k")
        base.check_positive(self, "unroll", "vector", "stages", "blocks")
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
        _check_sides(self)
        base.check_block(self.threads, self.shared_bytes(form), device)


def _check_sides(s: GemmSchedule | UnitSchedule) -> None:
    """ArgumentError where threads do not share out rows of tiles alike."""
    for name in ("tile_k", "tile_m", "tile_n"):
        length = getattr(s, name)
        if s.threads % length and length % s.threads:
            raise ArgumentError(
                f"schedule: {name} {length} and {s.threads} threads a block do not divide "
                "each other"
            )


@base.kind("units")
@dataclass(frozen=True)
class UnitSchedule(base.Schedule):
    """GEMM of float64 by matrix units: a warp multiplies ``warp_m`` x ``warp_n`` results.

    ``warps_m`` x ``warps_n`` warps of so many ``lanes`` share tiles of A and B, ``tile_k`` steps
    deep, of which ``stages`` are on their way or in use; ``blocks`` share a compute unit. Behind
    each row of a tile are ``pad`` numbers, so that lanes read other banks. Blocks in ``group`` rows
    of tiles follow each other, so that what they read lies near.
    """

    warps_m: int = 2
    warps_n: int = 4
    warp_m: int = 64
    warp_n: int = 32
    tile_k: int = 16
    stages: int = 4
    blocks: int = 1
    group: int = 8
    lanes: int = 32
    pad: int = 4
    call: GemmCall = GemmCall()

    template: ClassVar[str] = "blas/gemm_units.mako"
    width: ClassVar[int] = 1
    all_slabs: ClassVar[bool] = True

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.warps_m * self.warps_n * self.lanes

    @property
    def tile_m(self) -> int:
        """Rows of C of a block."""
        return self.warps_m * self.warp_m

    @property
    def tile_n(self) -> int:
        """Columns of C of a block."""
        return self.warps_n * self.warp_n

    @property
    def least(self) -> dict[str, int]:
        """The smallest tiles: units have at most 16 rows, and lanes / 4 columns."""
        return {"warps_m": 1, "warps_n": 1, "warp_m": 16, "warp_n": self.lanes // 4}

    @property
    def split(self) -> bool:
        """Whether each slab of k has a block of its own."""
        return self.call.split

    def block_memory(self) -> int:
        """Bytes of block memory."""
        along_k = self.call.a_order == "k", self.call.b_order == "k"
        tiles = [
            rows * (row + self.pad)
            for length, by_steps in zip((self.tile_m, self.tile_n), along_k, strict=True)
            for rows, row in [(length, self.tile_k) if by_steps else (self.tile_k, length)]
        ]
        return 8 * self.stages * sum(tiles)

    def for_call(self, **fixed: Any) -> UnitSchedule:
        """The same with fields of the call."""
        found: UnitSchedule = _for_call(self, *fixed.items())
        return found

    def for_bounds(self, form: Format, sums: Accumulator) -> GemmSchedule:
        """Tiles, since units add up without a bound."""
        return GemmSchedule(thread_m=4, thread_n=4, vector=2, pad=2).for_bounds(form, sums)

    def _halved(self, *names: str) -> UnitSchedule | None:
        """With half of the first of these that is above the least, and tiles that are no less deep
        than 16; so many blocks are resident."""
        for name in names:
            if (length := getattr(self, name)) > self.least[name]:
                half = replace(self, tile_k=max(self.tile_k, 16), **{name: length // 2})
                blocks = max(1, _RESIDENT[self.lanes] // half.threads)
                return replace(half, stages=min(self.stages, 3), blocks=blocks)
        return None

    def spread(self, form: Format) -> UnitSchedule | None:
        """With smaller tiles, for products with few; None at the smallest."""
        if self.tile_m * self.tile_n > 64 * 64:
            half = self._halved("warps_n", "warps_m")
            return half and (half._halved("warp_m", "warp_n") or half)
        if self.tile_m * self.tile_n > 32 * 32:
            return self._halved("warp_m" if self.tile_m > self.tile_n else "warp_n")
        return None

    def fitting(self, m: int, n: int) -> UnitSchedule:
        """With fewer results along a side of which half a tile is enough."""
        s = self
        while s.tile_m >= 2 * m and (half := s._halved("warp_m", "warps_m")):
            s = half
        while s.tile_n >= 2 * n and (half := s._halved("warps_n", "warp_n")):
            s = half
        return s

    def smaller(self) -> UnitSchedule | None:
        return replace(self, stages=self.stages - 1, blocks=1) if self.stages > 2 else None

    def check(self, form: Format, device: Device) -> None:
        base.check_positive(self, *self.least, "tile_k", "stages", "blocks", "group", "lanes")
        unit = device.traits.matrix_unit
        if form.name != "float64" or not unit:
            raise ArgumentError(
                f"schedule: units given for {form.name} on {device.name}; they are for float64, "
                "on devices whose matrix units add up as products are defined"
            )
        lanes = platform.get(device.platform).matrix_units[unit].lanes
        if self.lanes != lanes:
            raise ArgumentError(
                f"schedule: lanes {self.lanes} given, warps of {device.name} have {lanes}"
            )
        if not 0 <= self.pad <= 32:
            raise ArgumentError(f"schedule: pad {self.pad} given, 0 to 32 are allowed")
        if definition.SLAB % self.tile_k or self.tile_k % 8:
            raise ArgumentError(
                f"schedule: tile_k {self.tile_k} given, 8 times a power of two is allowed"
            )
        for name, warps in (("warp_m", self.warps_n), ("warp_n", self.warps_m)):
            # of which each thread copies as many
            parts = math.lcm(self.least[name], self.lanes * warps // min(self.tile_k, 16))
            if getattr(self, name) % parts:
                raise ArgumentError(
                    f"schedule: {name} {getattr(self, name)} is no multiple of {parts}"
                )
        results = self.warp_m * self.warp_n // self.lanes
        if results > MOST_RESULTS or self.stages < 2:
            raise ArgumentError(
                f"schedule: {results} results of a thread and {self.stages} stages given, at most "
                f"{MOST_RESULTS} and at least 2 are allowed"
            )
        _check_sides(self)
        base.check_block(self.threads, 0, device)
        needed = max(self.for_call(a_order=a, b_order=b).block_memory() for a in "km" for b in "kn")
        if needed > device.properties.shared_memory:
            raise ArgumentError(
                f"schedule: {needed} bytes of shared memory, {device.name} has "
                f"{device.properties.shared_memory}"
            )


_RESIDENT = {32: 384, 64: 512}
"""Threads of smaller tiles that share a compute unit, by the lanes of a warp."""


@lru_cache(maxsize=1024)
def _for_call(s: Any, *fixed: tuple[str, Any]) -> Any:
    """``for_call``: once for each, as the following ones."""
    return replace(s, call=replace(s.call, **dict(fixed)))


@lru_cache(maxsize=1024)
def _finer(s: GemmSchedule) -> GemmSchedule | None:
    name = "thread_m" if s.thread_m >= s.thread_n else "thread_n"
    length = getattr(s, name)
    return None if length % 2 else replace(s, **{name: length // 2}).consistent()


@lru_cache(maxsize=1024)
def _for_bounds(given: GemmSchedule, form: Format, sums: Accumulator) -> GemmSchedule:
    """``for_bounds``: once for each, since products of a program have few schedules."""
    read, _ = with_bound(form)
    state = sums.networks["accumulate"].result.words
    share = REGISTERS // given.threads
    most = given.thread_m * given.thread_n == MOST_RESULTS
    enough = max(2, RESIDENT // given.threads) if most else 2
    wanted = given.blocks if given.blocks > 1 else enough
    kept = min(wanted, max(1, share // given.registers(form.compute)))

    s, finer = given, given.finer()
    while finer and s.registers(read, state) > min(OF_A_THREAD, share // kept):
        s, finer = finer, finer.finer()
    fewer = s.tile_m * s.tile_n < given.tile_m * given.tile_n
    return replace(s, blocks=kept) if kept > 2 and fewer else s


@base.kind("panels")
@dataclass(frozen=True)
class PanelSchedule(base.Schedule):
    """GEMM on a CPU: a work-item computes ``rows`` rows of a packed panel of B.

    It holds ``results_m`` rows x ``results_n`` vectors of ``width`` columns at a time.
    """

    rows: int = 64
    results_m: int = 4
    results_n: int = 2
    width: int = 1

    halved = "width", "results_n", "results_m"
    template: ClassVar[str] = "blas/gemm_panels.mako"
    threads: ClassVar[int] = 1
    split: ClassVar[bool] = False
    all_slabs: ClassVar[bool] = False

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

    def for_call(self, **fixed: Any) -> PanelSchedule:
        """Itself: a work-item takes all of k, and packs what it reads."""
        return self

    def for_bounds(self, form: Format, sums: Accumulator) -> PanelSchedule:
        """Of several limbs half the rows at a time: a CPU's registers are few at any rate."""
        return replace(self, results_m=max(1, self.results_m // 2)) if form.limbs > 1 else self

    def spread(self, form: Format) -> None:
        """None: a work-item's share is small."""

    def fitting(self, m: int, n: int) -> PanelSchedule:
        """Itself: a work-item leaves out what is beyond the product."""
        return self

    def check(self, form: Format, device: Device) -> None:
        base.check_positive(self, "rows", "results_m", "results_n")
        base.check_width(self.width, form, device)
        base.check_block(self.threads, self.shared_bytes(form), device)


Schedule = GemmSchedule | PanelSchedule | UnitSchedule

WIDTHS = (1, 8, 32)
"""Products with so few columns or rows have schedules of their own."""

SMALL = 128
"""Up to so many rows and columns a product is small: one of a batch, as a rule."""

SHAPES = register(
    "gemm",
    {
        "large": (),
        "small": ("large",),
        "columns-1": ("columns-8", "columns-32", "large"),
        "columns-8": ("columns-32", "large"),
        "columns-32": ("large",),
        "rows-1": ("rows-8", "rows-32", "large"),
        "rows-8": ("rows-32", "large"),
        "rows-32": ("large",),
    },
)
"""``columns-8`` has at most 8 columns, ``rows-8`` at most 8 rows."""


def gemm_shape(m: int, n: int) -> str:
    """The class of a product's shape (..., m, n)."""
    for width in WIDTHS:
        if n <= width < m:
            return f"columns-{width}"
        if m <= width < n:
            return f"rows-{width}"
    return "small" if max(m, n) <= SMALL else "large"


def of_class(form: Format, device: Device | None, accuracy: str, shape: str) -> Schedule:
    """The schedule of products of a class of shapes."""
    found: Schedule = find(Task("gemm", form, accuracy, shape), device)
    return found
