"""Whether parts of arrays fit their devices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from portmp.arrays.dtypes import Dtype
from portmp.backends.base import Device, Queue
from portmp.distributed.layout import Placement, Replicated
from portmp.errors import OutOfMemory
from portmp.formats import Format


def check_room(
    what: str, shape: tuple[int, ...], kind: Dtype, placement: Placement, queues: Sequence[Queue]
) -> None:
    """OutOfMemory where parts do not fit their devices: by how much, and what would fit."""
    parts = kind.parts if isinstance(kind, Format) else (kind.name,)
    item = sum(np.dtype(part).itemsize for part in parts)
    needed: dict[str, int] = {}
    devices: dict[str, Device] = {}
    for i, queue in enumerate(queues):
        name = queue.device.name
        devices[name] = queue.device
        needed[name] = needed.get(name, 0) + item * math.prod(placement.local(i))
    for name, nbytes in needed.items():
        device = devices[name]
        short = nbytes - device.properties.memory
        if short > 0:
            raise OutOfMemory(
                f"{what}: {kind} of shape {shape} takes {nbytes} bytes on {name} "
                f"({placement.layout!r} on {len(queues)} devices), {short} more than it has: "
                f"{device.room()}; {_advice(item * math.prod(shape), placement, queues)}"
            )


def _advice(total: int, placement: Placement, queues: Sequence[Queue]) -> str:
    """What would fit."""
    least = min(queue.device.properties.memory for queue in queues)
    each = -(-total // len({queue.device.name for queue in queues}))
    if placement.layout == Replicated() and each <= least:
        return f"Rows() takes {each} bytes on each"
    return f"Rows() on {-(-total // least)} devices of this size would fit, with nothing beside it"
