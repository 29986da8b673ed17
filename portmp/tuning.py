"""Schedules: how a kernel is cut up. They change speed, never bits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from portmp import definition, platform
from portmp.backends.base import Device
from portmp.errors import ArgumentError
from portmp.formats import Format


@dataclass(frozen=True)
class GemmSchedule:
    """Tile shape of GEMM: threads of a block, results of a thread, depth of a tile.

    ``vector`` results of a thread are neighbours (so that it reads them from shared
    memory at once), ``pad`` words are appended to a row of a tile; ``stages``: 2 holds
    two tiles, with one barrier a tile; ``unroll`` steps of k are written out; ``blocks``
    share a compute unit. ``split`` gives each slab of k to a block of its own;
    ``a_order``, ``b_order`` say along which index neighbouring threads read.
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

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the definition or the device."""
        _positive(self, "threads_m", "threads_n", "thread_m", "thread_n", "tile_k", "unroll")
        _positive(self, "vector", "stages", "blocks")
        for name, most in (("pad", 32), ("stages", 2)):
            if not 0 <= getattr(self, name) <= most:
                raise ArgumentError(
                    f"schedule: {name} {getattr(self, name)} given, at most {most} is allowed"
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
        _fits(self.threads, self.shared_bytes(form), device)


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

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the device."""
        _positive(self, "rows", "results_m", "results_n")
        check_width(self.width, form, device)
        _fits(self.threads, self.shared_bytes(form), device)


def _positive(schedule: object, *fields: str) -> None:
    for name in fields:
        value = getattr(schedule, name)
        if not isinstance(value, int) or value < 1:
            raise ArgumentError(f"schedule: {name} {value!r} given, positive integers are allowed")


def _fits(threads: int, shared: int, device: Device) -> None:
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


@dataclass(frozen=True)
class ReduceSchedule:
    """DOT, GEMV, sums: a team of work-items holds the 32 lanes of ``rows`` rows.

    ``teams`` share a block, a work-item holds ``width`` neighbouring lanes and loads
    ``unroll`` steps at once; with ``rows_fastest`` neighbouring work-items read
    neighbouring rows. With ``staged`` a block takes one chunk of one row: its threads
    fetch ``staged`` elements each at a time, and 32 of them are the lanes.
    """

    teams: int = 4
    rows: int = 1
    width: int = 1
    unroll: int = 4
    rows_fastest: bool = False
    combine_threads: int = 64
    staged: int = 0

    @property
    def template(self) -> str:
        """The template of the first half."""
        return "blas/reduce_staged.mako" if self.staged else "blas/reduce.mako"

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return definition.LANES // self.width * self.teams

    def check(self, form: Format, device: Device) -> None:
        """Raise ArgumentError where the schedule does not fit the definition or the device."""
        _positive(self, "teams", "rows", "unroll", "combine_threads")
        check_width(self.width, form, device)
        shared = self.threads * self.width * form.compute.itemsize
        if self.staged:
            _positive(self, "staged")
            shared *= 2 * self.staged
            if self.width != 1 or self.rows != 1 or self.rows_fastest:
                raise ArgumentError("schedule: staged needs width 1, rows 1 and rows_fastest False")
        _fits(self.threads, shared, device)
        _fits(self.combine_threads, 0, device)
        if self.combine_threads % definition.LANES:
            raise ArgumentError(
                f"schedule: combine_threads {self.combine_threads} is no multiple of "
                f"{definition.LANES}"
            )


@dataclass(frozen=True)
class FlatSchedule:
    """Elementwise kernels: threads of a block, elements of a thread."""

    threads: int = 256
    items: int = 1


def _width(form: Format, device: Device) -> int:
    if device.properties.kind == "gpu" or form.scalar:
        return 1
    wanted = 8 if form.word == "float32" else 4
    return max(v for v in platform.get(device.platform).vectors if v <= wanted)


def gemm(form: Format, device: Device) -> GemmSchedule | PanelSchedule:
    """The default GEMM schedule."""
    if device.properties.kind == "gpu":
        schedule = gpu_gemm(form)
        while schedule.threads > device.properties.max_threads:
            schedule = replace(schedule, threads_m=schedule.threads_m // 2)
        return schedule
    # Code grows with the results of a work-item, and CPU compilers' time with it.
    results = {1: (4, 2), 2: (4, 1), 3: (4, 1), 4: (2, 1)}[form.limbs]
    panels = PanelSchedule(64, *results, _width(form, device))
    while panels.shared_bytes(form) > device.properties.shared_memory and panels.width > 1:
        panels = replace(panels, width=panels.width // 2)
    return panels


_GPU_GEMM = {
    ("float32", 1): GemmSchedule(16, 16, 4, 4, 16, 4, 4, 1, 8, 1),
    ("float64", 1): GemmSchedule(16, 16, 4, 4, 8, 2, 2, 1, 8, 1),
    ("float32", 2): GemmSchedule(16, 16, 4, 4, 16, 4, 4, 1, 4, 1),
    ("float64", 2): GemmSchedule(16, 8, 4, 4, 8, 2, 2, 1, 8, 2),
    ("float32", 3): GemmSchedule(16, 16, 4, 2, 16, 2, 2, 1, 4, 2),
    ("float64", 3): GemmSchedule(16, 8, 2, 2, 8, 2, 2, 2, 4, 1),
    ("float32", 4): GemmSchedule(16, 16, 4, 2, 16, 2, 2, 1, 4, 2),
    ("float64", 4): GemmSchedule(16, 8, 2, 2, 8, 2, 2, 2, 4, 2),
}
"""By word and limbs: what a GPU with 64 Ki registers and 48 KiB of shared memory does well."""


def gpu_gemm(form: Format) -> GemmSchedule:
    """The default GEMM schedule of a GPU."""
    if form.scalar:
        # Each accumulation branches on data and is long: one copy of it.
        return GemmSchedule(16, 16, 1, 1, 8, unroll=1)
    return _GPU_GEMM[form.word, form.limbs]


def reduce(form: Format, device: Device, rows: int) -> ReduceSchedule:
    """The default schedule of DOT, GEMV and sums over *rows* rows."""
    if device.properties.kind != "gpu":
        return ReduceSchedule(1, 1, _width(form, device), 1, combine_threads=32)
    schedule = gpu_reduce(form, rows)
    while schedule.threads > device.properties.max_threads:
        schedule = replace(schedule, teams=schedule.teams // 2)
    return schedule


def gpu_reduce(form: Format, rows: int) -> ReduceSchedule:
    """The default schedule of reductions on a GPU."""
    return ReduceSchedule(16, 2, 1, 2) if rows > 1 else ReduceSchedule(1, 1, 1, 8)


def flat(form: Format, device: Device) -> FlatSchedule:
    """The default schedule of elementwise kernels."""
    schedule = gpu_flat(form) if device.properties.kind == "gpu" else FlatSchedule()
    return replace(schedule, threads=min(schedule.threads, device.properties.max_threads))


def gpu_flat(form: Format) -> FlatSchedule:
    """The default schedule of elementwise kernels on a GPU."""
    return FlatSchedule(256, 2 if form.limbs < 3 else 1)
