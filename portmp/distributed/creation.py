"""Arrays on several devices: cut up, made where their parts lie, or read there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from portmp.arrays import creation, manipulation
from portmp.arrays.array import Array
from portmp.arrays.dtypes import Dtype
from portmp.arrays.plain import PlainArray
from portmp.arrays.viewed import Viewed, integers, wrapped
from portmp.backends.base import Queue
from portmp.distributed import factor, forces, functions, processes, products, saving, transport
from portmp.distributed.array import HOST, Devices, DistributedArray, queues_of
from portmp.distributed.layout import Placement, Rows, alone, chosen
from portmp.distributed.memory import check_room
from portmp.errors import ArgumentError, FormatError, InputError, ShapeError
from portmp.files import saved
from portmp.formats import Format, real_only
from portmp.random.generator import Generator
from portmp.routines.moves import launch as moves
from portmp.routines.random import launch as values
from portmp.routines.random.layout import draw
from portmp.runtime.planes import View, blank

AT_ONCE = 1 << 26
"""Bytes that are read of a file and brought to a device at once, or one row."""
NUMBERS = "biufc"
"""NumPy's kinds of numbers: arrays of them have one format, whatever the elements are."""
OPERATIONS = factor, forces, functions, products, saving
"""The modules that say what functions do with such arrays, known as soon as there is one."""


def shard(
    a: Any,
    devices: Devices | None = None,
    layout: Any = None,
    format: Any = None,
    *,
    dtype: Any = None,
    like: DistributedArray | None = None,
) -> DistributedArray:
    """An array whose parts lie on several *devices*, by a *layout*: ``Rows()`` by default,
    ``Replicated()`` or ``BlockCyclic(nb, p, q)``.

    *a*: an array, or what ``portmp.array`` makes one of, in a *format* (or *dtype*). Of the host's
    numbers each device gets its part alone, so that they may be more than one has room for.
    *devices*: names or what ``portmp.device`` takes; one that is named several times has several
    parts; by default those of all processes, each of which gives the same *a*. *like*: an array
    whose devices, and layout where that fits, are taken. Raises OutOfMemory where a part does not
    fit its device, which says what would.
    """
    if like is not None:
        if devices is not None or not isinstance(like, DistributedArray):
            raise ArgumentError(
                "shard: like: a distributed array is needed, and no devices beside it"
            )
        layout = like.layout if layout is None else layout
    queues = like.queues if like is not None else queues_of(devices)
    by = chosen(Rows() if layout is None else layout)
    if isinstance(a, DistributedArray):
        found = a if format is None and dtype is None else a.astype(creation.chosen(format, dtype))
        return found.placed(by.place(a.shape, len(queues)), queues)
    if not isinstance(a, Viewed) and not (isinstance(a, np.ndarray) and a.dtype.kind in NUMBERS):
        # Once on the host, from where each device takes its part.
        a = creation.array(a, format, HOST, dtype=dtype)
        format = dtype = None
    kind = None if format is None and dtype is None else creation.chosen(format, dtype)
    if isinstance(a, (Array, PlainArray)):
        a = a if kind is None else a.astype(kind, copy=False)
        placement = by.place(a.shape, len(queues))
        _check("shard", a.shape, a.dtype, placement, queues)
        views = transport.cut(a.planes, placement, queues)
        kept = [wrapped(v).copy().planes if v is a.planes else v for v in views]
        return DistributedArray.made(kept, placement, queues)
    placement = by.place(a.shape, len(queues))
    first = creation.array(a.flat[:1], kind, HOST)
    _check("shard", a.shape, first.dtype, placement, queues)

    def part(i: int) -> View[Any]:
        each = zip(placement.axes, placement.parts(i), strict=True)
        mine = a[np.ix_(*[axis.places(one) for axis, one in each])] if a.ndim else a
        made: View[Any] = creation.array(mine, kind, queues[i]).planes
        return made

    return DistributedArray.made(functions.here(part, queues), placement, queues)


def new(
    shape: Any, kind: Dtype, devices: Devices | None, layout: Any, what: str
) -> DistributedArray:
    """New memory with undefined content."""
    sizes = tuple(integers((shape,), "shape"))
    if min(sizes, default=0) < 0:
        raise ShapeError(f"{what}: shape {sizes} given, lengths cannot be negative")
    queues = queues_of(devices)
    placement = chosen(Rows() if layout is None else layout).place(sizes, len(queues))
    _check(what, sizes, kind, placement, queues)
    elements: Any = kind if isinstance(kind, Format) else kind.name
    views = [blank(elements, placement.local(i)).made(q) for i, q in enumerate(queues)]
    return DistributedArray.made(views, placement, queues)


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
        mine = f"{source[0]} of shape {source[1]}" if source else "what is read as a whole"
        other = transport.first(lambda: mine, queues, f"what {path} holds")
        if mine != other:
            raise InputError(f"{path}: holds {mine}, and in process 0 {other}")
        if source is not None:
            found = new(source[1], source[0], devices, layout, "load")
            for tile in found.tiles():
                _read(source[2], tile.start, tile.array)
            return found
    read = partial(saved.load, file, format, HOST)
    return shard(transport.first(read, queues, f"what {path} holds"), devices, layout)


def _read(part: Callable[..., Any], start: tuple[int, ...], out: Any) -> None:
    """A block of the file, some rows at once."""
    step = max(AT_ONCE // max(math.prod(out.shape[1:]) * out.itemsize, 1), 1)
    rest = [slice(at, at + n) for at, n in zip(start[1:], out.shape[1:], strict=True)]
    if not out.ndim:
        out[...] = part((), out.queue)
    for begin in range(0, out.shape[0] if out.ndim else 0, step):
        target = out[begin : begin + step]
        first = slice(start[0] + begin, start[0] + begin + len(target))
        target[...] = part((first, *rest), out.queue)


def full(
    shape: Any,
    value: Any,
    format: Any = None,
    *,
    devices: Devices | None = None,
    layout: Any = None,
) -> DistributedArray:
    """An array of equal numbers on several devices, made where its parts lie.

    Arrays and lists are broadcast.
    """
    value = value.to(HOST) if isinstance(value, Viewed) else value
    if isinstance(value, (list, tuple, np.ndarray)):
        value = creation.asarray(value, device=HOST)
    every = creation.full(getattr(value, "shape", ()), value, format, HOST)
    if every.shape:
        return shard(manipulation.broadcast_to(every, shape), devices, layout)
    found = new(shape, every.dtype, devices, layout, "full")
    for piece in found.pieces:
        if not transport.is_distant(piece.queue):
            piece[...] = value
    return found


def zeros(
    shape: Any, format: Any = None, *, devices: Devices | None = None, layout: Any = None
) -> DistributedArray:
    """``full`` of 0."""
    return full(shape, 0, creation.chosen(format, None), devices=devices, layout=layout)


def ones(
    shape: Any, format: Any = None, *, devices: Devices | None = None, layout: Any = None
) -> DistributedArray:
    """``full`` of 1."""
    return full(shape, 1, creation.chosen(format, None), devices=devices, layout=layout)


def eye(
    n: int, format: Any = None, *, devices: Devices | None = None, layout: Any = None
) -> DistributedArray:
    """The identity (n, n) on several devices, made where its parts lie."""
    found = zeros((n, n), format, devices=devices, layout=layout)
    for tile in found.tiles():
        (row, column), (m, k) = tile.start, tile.array.shape
        first, last = max(row, column), min(row + m, column + k)
        if first < last:
            block = tile.array[first - row : last - row, first - column : last - column]
            manipulation.diagonal(block, 0, -2, -1)[...] = 1
    return found


def random(
    rng: Generator,
    shape: Any,
    format: Any = None,
    *,
    devices: Devices | None = None,
    layout: Any = None,
) -> DistributedArray:
    """The numbers that ``rng.random(shape, format)`` draws, made where parts lie."""
    return _drawn("uniform", rng, shape, format, devices, layout)


def standard_normal(
    rng: Generator,
    shape: Any,
    format: Any = None,
    *,
    devices: Devices | None = None,
    layout: Any = None,
) -> DistributedArray:
    """The numbers that ``rng.standard_normal(shape, format)`` draws, made where parts lie."""
    return _drawn("normal", rng, shape, format, devices, layout)


def _drawn(
    kind: str, rng: Generator, shape: Any, format: Any, devices: Devices | None, layout: Any
) -> DistributedArray:
    if not isinstance(rng, Generator):
        raise ArgumentError(f"rng: {type(rng).__name__} given, random.default_rng(seed) makes one")
    form = creation.chosen(format, None)
    if not isinstance(form, Format):
        raise FormatError(f"format: {form} given, random values have a format")
    real_only(form, "format")
    found = new(shape, form, devices, layout, "random")
    words = draw(kind, form.name).words
    stream, first = rng.bit_generator.reserve(found.size, words)
    place = found.placement
    if not found.shape:
        for view in found.views:
            values.fill(kind, stream, first, view)
        return found
    length = found.size // max(found.shape[0], 1)
    rows, *rest = place.axes
    for i, (view, queue) in enumerate(zip(found.views, found.queues, strict=True)):
        if transport.is_distant(queue):
            continue
        at = 0
        for begin, end in rows.blocks(place.part(i, 0)):
            block = wrapped(view)[at : at + end - begin].planes
            at += end - begin
            mine = block
            whole_rows = alone((end - begin, *found.shape[1:]))
            if any(axis.parts > 1 for axis in rest):
                mine = blank(form, whole_rows.shape).made(queue)
            values.fill(kind, stream, first + begin * length * words, mine)
            if mine is not block:
                cut = Placement(place.grid, (whole_rows.axes[0], *rest))
                moves.copied(transport.piece([mine], whole_rows, cut, i, queue), out=block)
    return found


def _check(
    what: str, shape: tuple[int, ...], kind: Dtype, placement: Placement, queues: Sequence[Queue]
) -> None:
    """FormatError for devices without the format's words, OutOfMemory where parts do not fit."""
    for queue in queues:
        creation.opened(kind, queue)
    check_room(what, shape, kind, placement, queues)
