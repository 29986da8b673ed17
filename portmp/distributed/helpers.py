"""Large products within what is done on one device: the other devices make parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from portmp.backends.base import Queue
from portmp.distributed import transport
from portmp.distributed.tiles import block
from portmp.routines.moves import launch as moves
from portmp.routines.triangular.launch import OnDevice
from portmp.runtime.planes import Planes, allocate

LEAST = 2**33
"""Rows times columns times steps from which on a product is divided: a schedule."""


class Helpers:
    """Devices that make columns of products (1, m, n) beside the one where operands lie."""

    def __init__(self, queues: Sequence[Queue]) -> None:
        self.queues = queues

    def multiply(
        self, steps: OnDevice, a: Planes, b: Planes, c: Planes, kind: str, conjugated: str
    ) -> bool:
        """``Steps.multiply``, by the same method for all columns; False where it is too small."""
        (m, n), k = steps.shape(c), a.shape[2]
        method = steps.method_for(m, n, k)
        if method is None or m * n * k < LEAST:
            return False
        queues = [c.queue, *self.queues]
        cuts = [n * i // len(queues) for i in range(len(queues) + 1)]
        tasks, made = [], []
        for queue, first, end in zip(queues, cuts, cuts[1:], strict=False):
            columns = slice(first, end)
            right, mine = block(b, slice(0, k), columns), block(c, slice(0, m), columns)
            left, right = transport.sent(a, queue), transport.sent(right, queue)
            out = mine
            if queue is not c.queue:
                out = allocate(c.format, mine.shape, queue)
                if kind != "set":
                    out = transport.sent(mine, queue)
            made.append((out, mine))
            product = OnDevice(c.format, method).product
            tasks.append(partial(product, left, right, out, kind, method, conjugated))
        transport.together(tasks, [queue.device for queue in queues])
        for out, mine in made[1:]:
            moves.copied(transport.sent(out, c.queue), out=mine)
        return True
