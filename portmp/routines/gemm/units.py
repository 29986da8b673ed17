"""How warps with matrix units share GEMM's tiles: index text for the kernel's template.

Tiles lie in block memory as the operands do in memory, so that copies take what is contiguous.
"""

from dataclasses import dataclass

from portmp.codegen.writer import Writer
from portmp.routines.gemm.schedule import UnitSchedule
from portmp.routines.gemm.tiles import Axis, Tile, of_operand


@dataclass(frozen=True)
class Staged(Tile):
    """A tile of one operand that copies bring: rows along what is contiguous, with ``pad``."""

    pad: int

    @property
    def pitch_in_tile(self) -> int:
        """Numbers from one row of the tile to the next."""
        return (self.length if self.across else self.depth) + self.pad

    @property
    def size(self) -> int:
        """Numbers of a tile in block memory."""
        return (self.depth if self.across else self.length) * self.pitch_in_tile

    @property
    def start_step(self) -> str:
        """The step of k of a thread's first copy, in the tile."""
        return f"{self.operand}_step"

    @property
    def start_along(self) -> str:
        """Its row of A, or column of B."""
        return f"{self.operand}_along"

    def index(self, along: str, step: str) -> str:
        """Where the number of a row of A, or a column of B, and of a step of k lies in a tile."""
        row, place = (step, along) if self.across else (along, step)
        return f"({row}) * {self.pitch_in_tile} + {place}"

    @property
    def target(self) -> str:
        """Where a thread's first copy goes."""
        return self.index(self.start_along, self.start_step)

    def ahead(self, u: int) -> int:
        """How far from there its u-th one goes."""
        in_k, along = self.steps[u * self.read]
        row, place = (in_k, along) if self.across else (along, in_k)
        return row * self.pitch_in_tile + place

    def source(self, u: int) -> str:
        """How far from the first one the u-th one comes from, to add to."""
        (in_k, along), (k_stride, stride) = self.steps[u * self.read], self.strides
        return (f" + {in_k} * {k_stride}" if in_k else "") + (
            f" + {along} * {stride}" if along else ""
        )

    @property
    def _lefts(self) -> tuple[str, str]:
        """From a thread's first copy on, how many numbers there are in a row, and how many rows."""
        steps, along = f"there - {self.start_step}", f"{self.operand}_left"
        return (along, steps) if self.across else (steps, along)

    @property
    def bytes(self) -> str:
        """How many bytes of a copy lie in the matrix and the slab, along what is contiguous."""
        left, _ = self._lefts
        most = f"{left} > 1 ? 16 : " if self.read > 1 else ""
        return f"{most}{left} > 0 ? 8 : 0"

    def there(self, u: int) -> str:
        """How many of the u-th one's."""
        in_k, along = self.steps[u * self.read]
        slow = in_k if self.across else along
        return f"{self._lefts[1]} > {slow} ? {self.operand}_bytes : 0"


@dataclass(frozen=True)
class UnitLayout:
    """The tiles of a schedule, once it is known how the operands lie in memory."""

    schedule: UnitSchedule

    def tiles(self, w: Writer) -> tuple[Staged, Staged]:
        """A's and B's."""
        s, unit = self.schedule, w.platform.matrix_units[w.traits.matrix_unit]
        beside, across = unit.beside, unit.columns // unit.beside
        axes = {
            "a": Axis("row", unit.row_step, s.warp_m // unit.row_step, 1),
            "b": Axis("col", across, s.warp_n // across, beside),
        }
        aligned = s.pad % 2 == 0 or w.platform.tile_stores  # which take a number at a time
        a, b = (
            Staged(
                operand,
                axis,
                **of_operand(operand, s),
                pitch=0,
                neighbours=2 if s.call.wide and aligned else 1,
                widest=1,
                coded=False,
                pad=s.pad,
            )
            for operand, axis in axes.items()
        )
        return a, b
