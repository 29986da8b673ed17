"""Panels of few columns whose steps take all blocks of threads: launches, many or one.

A panel's kernel does steps ``first_step`` to ``end_step`` - 1, between which all of its blocks must
wait for each other. Its arguments: rows, width, these two, blocks of a matrix, its own, and the
counter of a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from portmp.backends.base import Argument, Device, Kernel, Queue
from portmp.codegen.kernel_spec import KernelSpec
from portmp.runtime import program
from portmp.runtime.planes import allocate_numbers

Spec = Callable[[int, bool, bool], KernelSpec]
"""The kernel for so many rows a block, of many blocks or of one, whose blocks wait or do not."""


class Panels:
    """Launches of panels in one queue. *rows*: what a block may have, the usual number first."""

    def __init__(self, queue: Queue, spec: Spec, rows: Sequence[int], threads: int) -> None:
        self.queue, self.spec, self.rows, self.threads = queue, spec, rows, threads
        self.arrived = allocate_numbers("int32", (1,), queue)
        self.arrived.write_parts([np.zeros(1, np.int32)])

    def run(self, batch: int, height: int, width: int, own: Sequence[Argument]) -> None:
        """Do all steps, 0 to *width*, of panels of a stack of matrices."""
        device = self.queue.device
        usual = self.rows[0]
        blocks = -(-height // usual)
        rows, every = usual, width + 1 if blocks == 1 else 1
        if blocks > 1 and device.blocks_wait:
            rows, every = self._together(device, batch, height, width)
        blocks = -(-height // rows)
        kernel = self._kernel(rows, blocks > 1, blocks > 1 and every > 1)
        for step in range(0, width + 1, every):
            numbers: list[Argument] = [
                height,
                np.int32(width),
                np.int32(step),
                np.int32(step + every),
                blocks,
            ]
            self.queue.launch(
                kernel,
                (batch * blocks, 1, 1),
                (self.threads, 1, 1),
                [*numbers, *own, *self.arrived.buffers],
            )

    def _together(self, device: Device, batch: int, height: int, width: int) -> tuple[int, int]:
        """Rows of a block, and how many steps a launch has."""
        for rows in self.rows:
            blocks = batch * -(-height // rows)
            if blocks <= device.together(self._kernel(rows, True, True), self.threads):
                return rows, width + 1
        return self.rows[0], 1

    def _kernel(self, rows: int, many: bool, together: bool) -> Kernel:
        key = self.spec(rows, many, together)
        return program.kernels(self.queue.device, key)[key.name]
