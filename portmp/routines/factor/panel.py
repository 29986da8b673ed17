"""Panels of few columns whose steps take all blocks of threads: launches, many or one.

A panel's kernel does steps ``first_step`` to ``end_step`` - 1, between which all of its blocks must
wait for each other. It takes rows, width, these two, blocks of a matrix, its own, and the counter
of a barrier.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from portmp.backends.base import Device, Queue
from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.signature import Flag, Index, Parameter, Scratch
from portmp.formats import Format
from portmp.routines.plain import launch as plain
from portmp.routines.triangular.launch import width_for
from portmp.runtime import launch, program
from portmp.runtime.planes import allocate_numbers
from portmp.runtime.program import CompilationUnit

ALONE = {1: 4096, 2: 2048, 3: 1024, 4: 1024}
"""Rows of a panel that one core of a CPU does in vectors, by limbs: fewer launches are worth more
than more cores."""


def rows_alone(form: Format, device: Device) -> int:
    """So many, of which the device's block memory holds a column twice, and a number for each."""
    rows = ALONE[form.limbs]
    row = np.dtype(np.int32).itemsize + 2 * form.words * np.dtype(form.word).itemsize
    while rows * row > device.properties.shared_memory:
        rows //= 2
    return rows


def alone(
    spec: Callable[[str, int, int], KernelSpec], form: Format, device: Device | None
) -> KernelSpec | None:
    """The kernel of whole panels in vectors, by width and rows; None where there are no vectors."""
    width = width_for(form, device)
    if device is None or width == 1:
        return None
    return spec(form.name, width, rows_alone(form, device))


def units(single: KernelSpec | None, many: KernelSpec) -> Iterator[tuple[str, CompilationUnit]]:
    """What does panels, by a routine's name: that of one core, if it can, and of many blocks."""
    name, _, _ = many.name.partition("_panel")
    yield name, (single or many,)
    if single:
        yield f"{name}_tall", (many,)


class Shape(NamedTuple):
    """How a panel is shared out: each *rows* of it are *blocks* blocks', of so many threads."""

    rows: int
    threads: int
    blocks: int = 1

    def count(self, height: int) -> int:
        """Blocks of a matrix."""
        return -(-height // self.rows) * self.blocks


def taken(*own: Parameter) -> tuple[Parameter, ...]:
    """What a panel's kernel takes: its *own* beside what all take."""
    steps = (Flag(name) for name in ("width", "first_step", "end_step"))
    return Index("m"), *steps, Index("blocks"), *own, Scratch("arrived", "int32")


Spec = Callable[[Shape, bool, bool], KernelSpec]
"""The kernel of a shape, of many blocks or of one, whose blocks wait or do not."""


class Panels:
    """Launches of panels in one queue: by *one* block or, in shapes the usual one first, *many*.

    *single*: the kernel in vectors that does it instead of one block (``alone``).
    """

    def __init__(
        self, queue: Queue, spec: Spec, one: Shape, many: Sequence[Shape], single: KernelSpec | None
    ) -> None:
        self.queue, self.spec, self.many, self.single = queue, spec, many, single
        self.one = Shape(dict(single.values)["rows"], 1) if single else one
        self.arrived = allocate_numbers("int32", (1,), queue)
        plain.fill(self.arrived, 0)

    def run(self, batch: int, height: int, width: int, own: Mapping[str, Any]) -> None:
        """Do all steps, 0 to *width*, of panels of a stack of matrices."""
        many = height > self.one.rows
        together = self._together(batch, height) if many else None
        shape = together or (self.many[0] if many else self.one)
        every = 1 if many and together is None else width + 1
        single = None if many else self.single
        unit = (single or self.spec(shape, many, together is not None),)
        blocks = shape.count(height)
        given = {"m": height, "width": width, "blocks": blocks, "arrived": self.arrived, **own}
        for step in range(0, width + 1, every):
            given |= {"first_step": step, "end_step": step + every}
            launch.run(self.queue, unit, (batch * blocks, 1, 1), (shape.threads, 1, 1), given)

    def _together(self, batch: int, height: int) -> Shape | None:
        """The first shape whose blocks can all be there at once, and so wait for each other."""
        device = self.queue.device
        if not device.blocks_wait:
            return None
        for shape in self.many:
            key = self.spec(shape, True, True)
            if self.queue.awaits((key,)):
                return shape  # most likely
            kernel = program.kernels(device, key)[key.name]
            there = device.together(kernel, shape.threads)
            if batch * shape.count(height) <= there:
                return shape
        return None
