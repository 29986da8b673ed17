"""Schedules: how a kernel is cut up. They change speed, never bits."""

from __future__ import annotations

from dataclasses import dataclass

from portmp import platform
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import PRECISION, Format


@dataclass(frozen=True)
class GemmSchedule:
    """Tile shape of GEMM: threads of a block, results of a thread, depth of a tile.

    ``width`` is the explicit vector's length over columns (1 on GPUs), ``pad`` words
    appended to a row of A's tile, ``split`` gives each slab of k to a block of its own;
    ``a_order``, ``b_order`` say along which index neighbouring threads read.
    """

    threads_m: int = 16
    threads_n: int = 16
    thread_m: int = 2
    thread_n: int = 2
    tile_k: int = 8
    width: int = 1
    pad: int = 0
    split: bool = False
    a_order: str = "k"
    b_order: str = "n"

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
        return self.threads_n * self.thread_n * self.width

    def shared_bytes(self, form: Format) -> int:
        """Shared memory of a block."""
        words = self.tile_k * (self.tile_m + self.pad + self.tile_n)
        return words * form.limbs * (PRECISION[form.word] // 24 * 4)

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the definition or the device."""
        from portmp.definition import PERIOD

        if PERIOD % self.tile_k:
            raise ArgumentError(f"schedule: tile_k {self.tile_k} does not divide {PERIOD}")
        limit = device.properties
        if self.threads > limit.max_threads:
            raise ArgumentError(
                f"schedule: {self.threads} threads a block, "
                f"{device.name} allows {limit.max_threads}"
            )
        shared = int(limit.extra.get("static_shared_memory", limit.shared_memory))
        if self.shared_bytes(form) > shared:
            raise ArgumentError(
                f"schedule: {self.shared_bytes(form)} bytes of shared memory, "
                f"{device.name} has {shared}"
            )


@dataclass(frozen=True)
class ReduceSchedule:
    """DOT, GEMV, sums: ``rows`` of a block, vector ``width``, which index varies fastest."""

    rows: int = 4
    width: int = 1
    rows_fastest: bool = False
    combine_threads: int = 64


@dataclass(frozen=True)
class FlatSchedule:
    """Elementwise kernels: threads of a block."""

    threads: int = 256


def _width(form: Format, device: Device) -> int:
    if device.properties.kind == "gpu" or form.scalar:
        return 1
    wanted = 8 if form.word == "float32" else 4
    return max(v for v in platform.get(device.platform).vectors if v <= wanted)


def gemm(form: Format, device: Device) -> GemmSchedule:
    """The default GEMM schedule."""
    width = _width(form, device)
    if device.properties.kind != "gpu":
        # One work-item a block: code grows with its results, and CPU compilers' time with it.
        results = {1: (4, 2), 2: (4, 2), 3: (4, 1), 4: (2, 1)}[form.limbs]
        return GemmSchedule(1, 1, *results, 64, width)
    return gpu_gemm(form)


def gpu_gemm(form: Format) -> GemmSchedule:
    """The default GEMM schedule of a GPU."""
    results = {1: (4, 4), 2: (4, 2), 3: (2, 2), 4: (2, 1)}[form.limbs]
    return GemmSchedule(16, 16, *results)


def reduce(form: Format, device: Device, rows: int) -> ReduceSchedule:
    """The default schedule of DOT, GEMV and sums over *rows* rows."""
    if device.properties.kind != "gpu":
        return ReduceSchedule(1, _width(form, device), combine_threads=32)
    return ReduceSchedule(rows=4 if rows > 1 else 1)


def flat(form: Format, device: Device) -> FlatSchedule:
    """The default schedule of elementwise kernels."""
    return FlatSchedule(256 if device.properties.max_threads >= 256 else 64)
