"""How arrays are cut up among devices.

Devices stand in a grid of p rows and q columns, device number i in row i div q. An axis of an array
is whole on each of them, or cut into blocks that go round among the grid's rows, or its columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portmp.errors import ArgumentError, ShapeError

Shape = tuple[int, ...]


class Axis(NamedTuple):
    """An axis of *n* elements in blocks of so many, which go round among *parts*.

    ``along``: whose parts they are, the grid's rows (0) or its columns (1).
    """

    n: int
    block: int
    parts: int = 1
    along: int = 0

    def count(self, part: int) -> int:
        """How many elements a part has."""
        whole, rest = divmod(self.n, self.block * self.parts)
        return whole * self.block + min(max(rest - part * self.block, 0), self.block)

    def blocks(self, part: int) -> Iterator[tuple[int, int]]:
        """The first element of each block of a part, and the one behind its last."""
        for first in range(part * self.block, self.n, self.block * self.parts):
            yield first, min(first + self.block, self.n)

    def places(self, part: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The elements of a part, in order."""
        every = np.arange(self.n, dtype=np.int64)
        mine: np.ndarray[Any, np.dtype[np.int64]]
        mine = every[every // self.block % self.parts == part]
        return mine


def whole(n: int) -> Axis:
    """An axis that is not cut."""
    return Axis(n, max(n, 1))


class Run(NamedTuple):
    """Blocks of one *length* that two parts of an axis have in common, so many of them.

    ``here``, ``there``: where the first begins in each part; and how far apart they are.
    """

    times: int
    length: int
    here: int
    here_step: int
    there: int
    there_step: int


@lru_cache(maxsize=4096)
def common(here: Axis, part: int, there: Axis, other: int) -> tuple[Run, ...]:
    """What a part of an axis has in common with a part of the same axis that is cut otherwise."""
    found: list[Run] = []
    place = 0
    for first, end in here.blocks(part):
        for length, at, beyond in _overlaps(there, other, first, end):
            _follow(found, Run(1, length, place + at - first, 0, beyond, 0))
        place += end - first
    return tuple(found)


def _overlaps(axis: Axis, part: int, first: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Lengths of a part's blocks between two elements, where they begin, and their places in it."""
    period = axis.block * axis.parts
    begin = first // period
    for turn in range(begin, -(-end // period)):
        block = turn * period + part * axis.block
        low, high = max(first, block), min(end, block + axis.block, axis.n)
        if low < high:
            yield high - low, low, turn * axis.block + low - block


def within(runs: tuple[Run, ...], first: int, end: int) -> tuple[Run, ...]:
    """What lies between two places of the other part, counted from the first of them."""
    found: list[Run] = []
    for run in runs:
        for i in range(run.times):
            at = run.there + i * run.there_step
            low, high = max(at, first), min(at + run.length, end)
            if low < high:
                here = run.here + i * run.here_step + low - at
                _follow(found, Run(1, high - low, here, 0, low - first, 0))
    return tuple(found)


def _follow(found: list[Run], one: Run) -> None:
    """Add a block: to the last run, where it continues that."""
    last = found[-1] if found else None
    if last is None or last.length != one.length:
        found.append(one)
        return
    steps = one.here - last.here, one.there - last.there
    if last.times == 1:
        found[-1] = last._replace(times=2, here_step=steps[0], there_step=steps[1])
    elif steps == (last.times * last.here_step, last.times * last.there_step):
        found[-1] = last._replace(times=last.times + 1)
    else:
        found.append(one)


class Placement(NamedTuple):
    """How an array's axes are cut up among the devices of a grid."""

    grid: tuple[int, int]
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> Shape:
        """Of the whole array."""
        return tuple([axis.n for axis in self.axes])

    @property
    def replicated(self) -> bool:
        """Whether each device has all of it."""
        return all(axis.parts == 1 for axis in self.axes)

    def part(self, device: int, axis: int) -> int:
        """Which part of an axis a device has."""
        one = self.axes[axis]
        return divmod(device, self.grid[1])[one.along] if one.parts > 1 else 0

    def parts(self, device: int) -> Shape:
        """The same of all axes."""
        return tuple([self.part(device, i) for i in range(len(self.axes))])

    def local(self, device: int) -> Shape:
        """The shape of what a device has."""
        return tuple([axis.count(self.part(device, i)) for i, axis in enumerate(self.axes)])

    @property
    def devices(self) -> int:
        """How many there are."""
        return self.grid[0] * self.grid[1]

    @property
    def layout(self) -> Layout:
        """The layout that places arrays so."""
        if self.replicated:
            return Replicated()
        cut = [axis for axis in self.axes if axis.parts > 1]
        if len(cut) == 1 and self.axes[0].parts > 1:
            return Rows(cut[0].block)
        return BlockCyclic(cut[0].block, *self.grid)


@dataclass(frozen=True)
class Layout:
    """How an array lies on several devices: ``Replicated``, ``Rows`` or ``BlockCyclic``."""

    def place(self, shape: Shape, devices: int) -> Placement:
        """How an array of a shape is cut up among so many devices."""
        raise NotImplementedError


@dataclass(frozen=True)
class Replicated(Layout):
    """Each device has all of the array."""

    def place(self, shape: Shape, devices: int) -> Placement:
        return Placement((1, devices), tuple(map(whole, shape)))


@dataclass(frozen=True)
class Rows(Layout):
    """The first axis in blocks that go round among devices; by default each has one block."""

    block: int | None = None

    def __post_init__(self) -> None:
        if self.block is not None:
            _positive(self, block=self.block)

    def place(self, shape: Shape, devices: int) -> Placement:
        if not shape:
            return Replicated().place(shape, devices)
        block = self.block or max(-(-shape[0] // devices), 1)
        first = Axis(shape[0], block, devices) if devices > 1 else whole(shape[0])
        return Placement((devices, 1), (first, *map(whole, shape[1:])))


@dataclass(frozen=True)
class BlockCyclic(Layout):
    """Tiles of *nb* rows and columns; tile (i, j) lies on row i mod p, column j mod q of a grid.

    A vector is cut as a column: q must be 1.
    """

    nb: int
    p: int
    q: int

    def __post_init__(self) -> None:
        _positive(self, nb=self.nb, p=self.p, q=self.q)

    def place(self, shape: Shape, devices: int) -> Placement:
        if self.p * self.q != devices:
            raise ArgumentError(
                f"layout: {self!r} given, a grid of {self.p * self.q} devices; there are {devices}"
            )
        if not shape:
            return Replicated().place(shape, devices)
        if len(shape) > 2 or (len(shape) == 1 and self.q > 1):
            raise ShapeError(
                f"layout: {self!r} given for shape {shape}; it cuts matrices up, and vectors where "
                "q is 1: Rows() cuts the first axis of any array"
            )
        grid = (self.p, self.q)
        axes = [
            Axis(n, self.nb, grid[i], i) if grid[i] > 1 else whole(n) for i, n in enumerate(shape)
        ]
        return Placement((self.p, self.q), tuple(axes))


def columns(shape: Shape, devices: int, block: int = 0) -> Placement:
    """Matrices whose second axis is cut into blocks, by default one for each device."""
    m, n = shape
    block = block or max(-(-n // devices), 1)
    return Placement(
        (1, devices), (whole(m), Axis(n, block, devices, 1) if devices > 1 else whole(n))
    )


def chosen(layout: object) -> Layout:
    """A layout itself, or one that is named by its class."""
    if layout in (Replicated, Rows):
        assert isinstance(layout, type)
        layout = layout()
    if not isinstance(layout, Layout) or type(layout) is Layout:
        raise ArgumentError(
            f"layout: {layout!r:.60} given; Replicated, Rows() or BlockCyclic(nb, p, q) is needed"
        )
    return layout


def alone(shape: Shape) -> Placement:
    """All of an array on one device."""
    return Placement((1, 1), tuple(map(whole, shape)))


def _positive(layout: Layout, **given: int) -> None:
    """Check what a layout was made with, and keep it as Python's integers."""
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ArgumentError(
                f"{type(layout).__name__}: {name}: {value!r:.60} given, an integer from 1 on is "
                "needed"
            )
        object.__setattr__(layout, name, int(value))
