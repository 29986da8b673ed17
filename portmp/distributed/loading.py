"""Arrays on several devices from files: each process reads what it has."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from portmp.distributed import processes, transport
from portmp.distributed.array import HOST, Devices, DistributedArray, queues_of
from portmp.distributed.creation import new, shard
from portmp.errors import InputError
from portmp.files import saved

AT_ONCE = 1 << 26
"""Bytes that are brought to a device at once, or one row."""


def load(
    file: Any, format: Any = None, *, devices: Devices | None = None, layout: Any = None
) -> DistributedArray:
    """The array that ``portmp.load`` gives of a file, on several devices, by ``Rows()`` by default.

    Of .npy, .npz (unless packed), .h5 and .hdf5 each process reads the parts that its devices have,
    so that the file may be larger than its memory. Texts and packed archives, and standard input
    ("-"), are read by the first process, which sends all to the others. InputError where processes
    find different arrays.
    """
    path, queues = saved.checked_path(file, "load"), queues_of(devices)
    job = processes.job() if any(map(transport.is_distant, queues)) else None
    with saved.stored(path, format, *((job.rank, job.count) if job else ())) as source:
        mine = f"{source.dtype} of shape {source.shape}" if source else "what is read as a whole"
        other = transport.first(lambda: mine, queues, f"what {path} holds")
        if mine != other:
            raise InputError(f"{path}: holds {mine}, and in process 0 {other}")
        if source is not None:
            found = new(source.shape, source.dtype, devices, layout, "load")
            for tile in found.tiles():
                _read(source, tile.start, tile.array)
            return found
    read = partial(saved.load, file, format, HOST)
    return shard(transport.first(read, queues, f"what {path} holds"), devices, layout)


def _read(source: saved.Stored, start: tuple[int, ...], out: Any) -> None:
    """A block of the file, some rows at once."""
    step = max(AT_ONCE // max(math.prod(out.shape[1:]) * out.itemsize, 1), 1)
    rest = [slice(at, at + n) for at, n in zip(start[1:], out.shape[1:], strict=True)]
    if not out.ndim:
        out[...] = source.part((), out.queue)
    for begin in range(0, out.shape[0] if out.ndim else 0, step):
        target = out[begin : begin + step]
        first = slice(start[0] + begin, start[0] + begin + len(target))
        target[...] = source.part((first, *rest), out.queue)
