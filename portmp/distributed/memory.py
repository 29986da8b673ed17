"""Whether parts of arrays fit their devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from portmp.arrays.dtypes import Dtype
from portmp.backends.base import Device, Queue
from portmp.distributed.layout import Placement, Replicated
from portmp.errors import OutOfMemory
from portmp.formats import Format

SMALL = 2**26
"""Bytes for which there is room, as a rule."""


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
        short = nbytes - _free(device, nbytes)
        if short > 0 and what == "gather":
            rows = (nbytes - short) * shape[0] // nbytes
            advice = f"a device with {nbytes} bytes free would fit, or here {rows} of its rows"
        elif short > 0:
            advice = _advice(item * math.prod(shape), placement, queues)
        if short > 0:
            lies = f" ({placement.layout!r} on {len(queues)} devices)" if len(queues) > 1 else ""
            beyond = "it has" if nbytes > device.properties.memory else "is free"
            raise OutOfMemory(
                f"{what}: {kind} of shape {shape} takes {nbytes} bytes on {name}{lies}, "
                f"{short} more than {beyond}: {device.room()}; {advice}"
            )


@contextmanager
def room_told(
    what: str, shape: tuple[int, ...], kind: Dtype, placement: Placement, queues: Sequence[Queue]
) -> Iterator[None]:
    """Where memory for a result is missing, OutOfMemory as of ``check_room``."""
    try:
        yield
    except OutOfMemory:
        check_room(what, shape, kind, placement, queues)
        raise


def _free(device: Device, nbytes: int) -> int:
    """Bytes that arrays may take: of few it is not asked which are free, nor of other processes."""
    free = device.free_memory() if device.rank is None and nbytes >= SMALL else None
    total = device.properties.memory
    return total if free is None else min(free, total)


def _advice(total: int, placement: Placement, queues: Sequence[Queue]) -> str:
    """What would fit."""
    least = min(queue.device.properties.memory for queue in queues)
    each = -(-total // len({queue.device.name for queue in queues}))
    if placement.layout == Replicated() and each <= min(
        _free(queue.device, each) for queue in queues
    ):
        return f"Rows() takes {each} bytes on each"
    count = -(-total // least)
    many = f"{count} devices" if count > 1 else "one device"
    return f"Rows() on {many} of this size would fit, with nothing beside it"
