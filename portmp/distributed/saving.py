"""Arrays on several devices in files: written some rows at once, by one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from portmp import discovery
from portmp.distributed import transport
from portmp.distributed.array import HOST, DistributedArray
from portmp.distributed.functions import known
from portmp.errors import ArgumentError
from portmp.files import hdf5, saved
from portmp.files.arrays import Rows
from portmp.routines.moves import launch as moves

AT_ONCE = 1 << 26
"""Bytes of a plane's rows that come to the writing process at once, or one row."""


@known("save")
def save(function: Callable[..., Any], file: Any, array: DistributedArray) -> None:
    """The file as of an array of one device; all processes wait until it is written.

    Rows come to the first one in order, plane by plane, so that none has the whole. A text is made
    of the whole, which comes to the first one.
    """
    several = any(map(transport.is_distant, array.queues))
    if hdf5.is_group(file):
        if several:
            raise ArgumentError("save: file: a group given by several processes; name the file")
        function(file, array.gather(HOST))
        return
    path, view = saved.checked_path(file, "save"), array.views[array.home]
    root = 0 if several else None
    if not array.ndim or not saved.by_rows(path, view.elements):
        whole = array.gather(HOST, root)
        array.by_one(lambda: function(path, whole), f"that {path} is written")
        return
    parts = [
        Rows(array.shape, np.dtype(part), _rows(array, i, root))
        for i, part in enumerate(view.parts)
    ]

    def written() -> None:
        try:
            saved.save_parts(path, view.elements, array.shape, parts)
        finally:
            sent()

    def sent() -> None:
        """All rows are asked for in every process, also after an error."""
        for part in parts:
            for _ in part.blocks:
                pass

    if transport.is_distant(array.queues[0]):
        sent()
    array.by_one(written, f"that {path} is written")


def _rows(array: DistributedArray, plane: int, root: int | None) -> Iterator[np.ndarray[Any, Any]]:
    """A plane's rows; nothing in processes that only send them."""
    pieces = [view.raw(plane) for view in array.views]
    word = np.dtype(array.views[array.home].parts[plane])
    length, queue = array.shape[0], discovery.queue_of(HOST)
    step = max(AT_ONCE * length // max(array.size * word.itemsize, 1), 1)
    for begin in range(0, length, step):
        span = begin, min(begin + step, length)
        found = transport.whole(pieces, array.placement, queue, root, span)
        if found is not None:
            (block,) = moves.dense(found).read_parts()
            yield block.view(word)
