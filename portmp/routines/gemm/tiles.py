"""How the threads of a GEMM block share its tiles.

Index text for the kernel's template: of the elements of A and B that a thread brings to shared
memory, and of the rows and columns of its results.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from portmp.codegen.elements import plus, times
from portmp.codegen.packed import COUNT, WIDEST
from portmp.codegen.writer import Writer
from portmp.routines.gemm.schedule import GemmSchedule, UnitSchedule


@dataclass(frozen=True)
class Axis:
    """Rows or columns of a block's results: so many threads with so many results each.

    ``vector`` results of a thread are neighbours.
    """

    name: str
    threads: int
    results: int
    vector: int

    def spaced(self, index: str) -> str:
        """How far a thread's row or column of this index is from its first one in shared memory."""
        if self.vector == 1:
            return f"{index} * {self.threads}"
        return f"{index} / {self.vector} * {self.threads * self.vector} + {index} % {self.vector}"

    def in_tile(self, index: str) -> str:
        """Where it is there."""
        return f"thread_{self.name} * {self.vector} + {self.spaced(index)}"


@dataclass(frozen=True)
class Tile:
    """One operand's tile of ``length`` by ``depth`` (along k), and how a block's threads fetch it.

    Threads that are neighbours read neighbours: ``across``, along the axis, else along k. A thread
    reads so many ``neighbours`` at once if they fit the tile, and stores ``widest`` words at most.
    ``coded``: elements lie in memory otherwise than they are computed with.
    """

    operand: str
    axis: Axis
    extent: str
    strides: tuple[str, str]
    threads: int
    depth: int
    length: int
    pitch: int
    stages: int
    across: bool
    neighbours: int
    widest: int
    coded: bool

    @property
    def elements(self) -> int:
        """Elements of the tile."""
        return self.length * self.depth

    @property
    def size(self) -> int:
        """Words of a limb's tile in shared memory."""
        return self.depth * self.pitch

    @property
    def count(self) -> int:
        """Elements that a thread fetches."""
        return -(-self.elements // self.threads)

    @property
    def partial(self) -> bool:
        """Whether some threads fetch one less."""
        return self.elements % self.threads != 0

    @cached_property
    def _run(self) -> tuple[int, int]:
        """What lies one behind another is so many units, each of so many neighbours."""
        fast = self.length if self.across else self.depth
        units, rest = divmod(fast, self.neighbours)
        fits = not rest and self.elements % (self.threads * self.neighbours) == 0
        if not fits or (self.threads % units and units % self.threads):
            return fast, 1
        return units, self.neighbours

    @property
    def read(self) -> int:
        """Elements that a thread reads at once."""
        return self._run[1]

    @property
    def stored(self) -> int:
        """Words that it stores at once."""
        stored = min(self.read, self.widest)
        return stored if self.across and self.pitch % stored == 0 else 1

    @property
    def stays_packed(self) -> bool:
        """Whether elements stay as they are in memory until they go to shared memory."""
        return self.read > 1 and self.coded

    @property
    def halved(self) -> bool:
        """Whether a thread's two stores go to two halves of a row.

        The first stores of all threads then lie together, without gaps that would have the same
        banks, and so do the second ones.
        """
        pair = 1 < self.stored == self.axis.vector == self.read // 2
        return pair and self.axis.results % self.read == 0

    @cached_property
    def begin(self) -> tuple[str, str]:
        """A thread's first element: its step of k, and its place along the axis."""
        units, read = self._run
        fast, slow = times(f"thread % {units}", read), f"thread / {units}"
        if units > self.threads:
            fast, slow = times("thread", read), "0"
        return (slow, fast) if self.across else (fast, slow)

    @cached_property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """From a thread's first element to its u-th: in k, and along the axis."""
        units, read = self._run
        found = []
        for u in range(self.count):
            slow, unit = divmod(u // read * self.threads, units)
            fast = unit * read + u % read
            found.append((slow, fast) if self.across else (fast, slow))
        return tuple(found)

    @property
    def stage(self) -> str:
        """Where the tile of the stage begins in shared memory, to add to."""
        return f"stage * {self.size} + " if self.stages > 1 else ""

    def at_step(self, u: int) -> str:
        """The index of a thread's u-th element."""
        (in_k, along), (k_stride, stride) = self.steps[u], self.strides
        return plus(f"{self.operand}_at", times(k_stride, in_k), times(stride, along))

    def place(self, u: int) -> str:
        """Where it goes in shared memory, from a stage's begin."""
        in_k, along = self.steps[u]
        at = f"{self.operand}_{self.axis.name}_in_tile"
        if self.halved:
            lane = along % self.read
            at = f"{at} / 2"
            along = (along - lane) // 2 + lane // self.stored * (self.length // 2)
        step = plus(f"{self.operand}_kk", in_k)
        return plus(f"{f'({step})' if in_k else step} * {self.pitch} + {at}", along)

    def inside(self, u: int) -> str:
        """Whether it lies in the matrix and the slab."""
        in_k, along = self.steps[u]
        place = plus(f"first_{self.axis.name} + {self.operand}_{self.axis.name}_in_tile", along)
        return f"{plus(f'{self.operand}_kk', in_k)} < there && {place} < {self.extent}"

    @property
    def first(self) -> str:
        """The row or column in the tile of a thread's first result."""
        return f"thread_{self.axis.name} * {self.axis.vector * (2 if self.halved else 1)}"

    def offset(self, index: str) -> str:
        """Rows or columns from there to the result of this index."""
        if not self.halved:
            return self.axis.spaced(index)
        vector, results = self.axis.vector, self.axis.results
        group = f"{index} / {vector} % {results // (2 * vector)}"
        second = f"{index} / {results // 2} * {vector}"
        return f"{group} * {2 * vector * self.axis.threads} + {second} + {index} % {vector}"


def of_operand(operand: str, s: GemmSchedule | UnitSchedule) -> dict[str, Any]:
    """What a schedule fixes of an operand's tile."""
    rows = operand == "a"
    return {
        "extent": "m" if rows else "n",
        "strides": ("a_col", "a_row") if rows else ("b_row", "b_col"),
        "threads": s.threads,
        "depth": s.tile_k,
        "length": s.tile_m if rows else s.tile_n,
        "stages": s.stages,
        "across": s.call.a_order == "m" if rows else s.call.b_order == "n",
    }


@dataclass(frozen=True)
class Layout:
    """The tiles of a schedule, once it is known how the operands lie in memory."""

    schedule: GemmSchedule

    def tiles(self, w: Writer) -> tuple[Tile, Tile]:
        """A's and B's tile."""
        s = self.schedule
        a = self._tile(w, "a", Axis("row", s.threads_m, s.thread_m, s.vector))
        return a, self._tile(w, "b", Axis("col", s.threads_n, s.thread_n, s.vector))

    def _tile(self, w: Writer, operand: str, axis: Axis) -> Tile:
        s, rows = self.schedule, operand == "a"
        widest = WIDEST // _bytes(w)
        coded = not w.plain(operand)
        neighbours = (COUNT if coded else widest) if s.call.wide and w.memory_vectors else 1
        return Tile(
            operand,
            axis,
            **of_operand(operand, s),
            pitch=s.pitch_a if rows else s.pitch_b,
            neighbours=neighbours,
            widest=widest,
            coded=coded,
        )

    def aligned(self, w: Writer) -> int:
        """Bytes that tiles are aligned to: what a thread reads or stores at once."""
        return _bytes(w) * max(self.schedule.vector, *(t.stored for t in self.tiles(w)))


def _bytes(w: Writer) -> int:
    """Bytes of a word."""
    return 4 if w.scalar == "float" else 8
