"""Indices of arrays, with NumPy's meaning: views by slices, copies by arrays of indices.

A key's items are integers, slices, None, ``...``, and arrays: of integers, which are broadcast
together, or of truth values, which stand for the indices where they are true. Arrays may be on the
device, NumPy's, or lists. How many truth values are true, and whether indices on the device are
within the ends, is read from the device: a wait.
"""

import math
import operator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from portmp.backends.base import Queue
from portmp.errors import PlaceError, ShapeError, shown
from portmp.formats import convert
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.moves import launch as moves
from portmp.routines.order import launch as order
from portmp.routines.plain import launch as plain
from portmp.routines.plain import reduction
from portmp.routines.scan import launch as scan
from portmp.runtime.planes import (
    Numbers,
    Planes,
    View,
    allocate_numbers,
    broadcast_strides,
    upload_numbers,
)

V = TypeVar("V", bound=View[Any])
Indices = Numbers | np.ndarray[Any, Any]
"""Indices on the device or on the host."""


# --- keys -----------------------------------------------------------------------------------------


def _items(key: Any) -> list[Any]:
    """A key's items: integers, slices, None, Ellipsis, and arrays on the device or of NumPy."""
    return [_item(item) for item in (key if isinstance(key, tuple) else (key,))]


def on_host(key: Any, argument: str) -> Any:
    """A key of one item, a slice or an array of the host: PlaceError names the *argument*."""
    item = _item(key, argument)
    if isinstance(item, slice):
        return item
    return item.read_span() if isinstance(item, Numbers) else np.asarray(item)


def _item(item: Any, argument: str = "index") -> Any:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    planes = getattr(item, "planes", None)
    if isinstance(planes, View):
        if not isinstance(planes, Numbers):
            found = whole(planes, argument)
            return found if found.ndim else int(found)
        return planes if planes.ndim or planes.dtype == "bool" else int(planes.read_span())
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item)
    if isinstance(item, (list, range, np.ndarray)) or hasattr(item, "__array__"):
        convert.refuse_masked(item, argument)
        found = np.asarray(item)
        if not found.size and isinstance(item, (list, range)):
            found = found.astype(np.int64)
        if found.dtype.kind not in "iub":
            raise PlaceError(
                f"{argument}: integers of 64 bits or truth values are needed, "
                f"{shown(item) if found.dtype.kind == 'O' else found.dtype} given"
            )
        return found if found.ndim or found.dtype.kind == "b" else int(found)
    try:
        return operator.index(item)
    except TypeError:
        raise PlaceError(
            f"{argument}: integers, slices, None, ... and arrays of integers or truth values are "
            f"allowed, {item!r:.60} given"
        ) from None


def whole(view: View[Any], argument: str = "index") -> np.ndarray[Any, Any]:
    """The integers that an array of values holds, as ``array([0, 2])`` does; else PlaceError."""
    assert isinstance(view, Planes)
    limbs = elementwise.contiguous(view).read_dense() if view.size else []
    if limbs and not any(part.any() for part in limbs[1:]):
        found = limbs[0].astype(np.float64)
        if np.all(found == np.rint(found)) and np.all(np.abs(found) < 2**53):
            return found.astype(np.int64)
    raise PlaceError(
        f"{argument}: an array of integers or truth values is needed, values given that are no "
        "whole numbers: portmp.asarray([0, 2]), or array(..., dtype=int), makes integers"
    )


def _is_array(item: Any) -> bool:
    return isinstance(item, (Numbers, np.ndarray))


def _axes(item: Any) -> int:
    """How many axes an item takes."""
    if _is_mask(item):
        return int(item.ndim)
    return 0 if item is None or item is Ellipsis else 1


def _is_mask(item: Any) -> bool:
    return _is_array(item) and np.dtype(item.dtype) == np.bool_


def _expanded(key: Any, ndim: int) -> list[Any]:
    """A key's items without Ellipsis, which take all axes."""
    items = _items(key)
    if sum(item is Ellipsis for item in items) > 1:
        raise PlaceError("index: ... is allowed once")
    used = sum(map(_axes, items))
    if used > ndim:
        raise PlaceError(f"index: {used} indices for {ndim} axes")
    rest = [slice(None)] * (ndim - used)
    for place, item in enumerate(items):
        if item is Ellipsis:
            return items[:place] + rest + items[place + 1 :]
    return items + rest


# --- views ----------------------------------------------------------------------------------------


def _viewed(view: V, items: list[Any]) -> V:
    """A view by integers, slices and None, one for each axis (and None for new ones)."""
    shape: list[int] = []
    strides: list[int] = []
    start, axis = view.start, 0
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        size, stride = view.shape[axis], view.strides[axis]
        if isinstance(item, slice):
            try:  # as in _ends, without a call
                first, last, step = item.indices(size)
            except (TypeError, ValueError) as error:
                raise _no_slice(item, error) from None
            count = len(range(first, last, step))
            start += first * stride if count else 0
            shape.append(count)
            strides.append(stride * step)
        else:
            start += _inside(item, axis, size) * stride
        axis += 1
    return view.view(shape, strides, start)


def _ends(item: slice, size: int) -> tuple[int, int, int]:
    try:
        return item.indices(size)
    except (TypeError, ValueError) as error:
        raise _no_slice(item, error) from None


def _no_slice(item: slice, error: Exception) -> PlaceError:
    return PlaceError(f"index: {item} given: {error}")


def _inside(index: int, axis: int, size: int) -> int:
    if not -size <= index < size:
        raise PlaceError(f"index {index} is out of range for axis {axis} of length {size}")
    return index + size if index < 0 else index


# --- arrays of indices ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Chosen:
    """Elements that arrays of indices choose: ``offsets`` beyond a view of *shape* and *strides*.

    *distinct*: no element is chosen twice.
    """

    offsets: Numbers
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    distinct: bool


def _chosen(view: View[Any], items: list[Any]) -> _Chosen:
    """Where the elements are that a key with arrays chooses."""
    before: list[tuple[int, int]] = []
    after: list[tuple[int, int]] = []
    chosen: list[tuple[Indices, int, int]] = []  # indices, stride, length and axis
    axis, start, places = 0, view.start, []
    distinct = True
    for place, item in enumerate(items):
        if item is None or isinstance(item, slice):
            (after if chosen else before).append(_run(view, item, axis))
            if isinstance(item, slice):
                first, _, _ = _ends(item, view.shape[axis])
                start += first * view.strides[axis] if view.shape[axis] else 0
                axis += 1
            continue
        places.append(place)
        if isinstance(item, Numbers):
            base.same_device(view, "the array", index=item)
        if _is_mask(item):
            lengths = view.shape[axis : axis + item.ndim]
            _check_mask(item.shape, lengths)
            found = positions(item, view.queue)
            chosen += zip(found, view.strides[axis : axis + item.ndim], lengths, strict=True)
            if not item.ndim:
                chosen.append((_at_none(item), 0, 1))
            axis += item.ndim
            continue
        size, stride = view.shape[axis], view.strides[axis]
        if isinstance(item, int):
            chosen.append((np.asarray(_inside(item, axis, size)), stride, size))
        else:
            distinct = False
            chosen.append((_within(item, axis, size), stride, size))
        axis += 1
    offsets, lead = _offsets(chosen, view.queue)
    if places != list(range(places[0], places[0] + len(places))):
        before, after = [], before + after
    runs = [*before, *((n, 0) for n in offsets.shape), *after]
    steps = [*([0] * len(before)), *offsets.strides, *([0] * len(after))]
    shape = tuple(n for n, _ in runs)
    return _Chosen(
        offsets.view(shape, steps, offsets.start),
        start + lead,
        shape,
        tuple(step for _, step in runs),
        distinct,
    )


def _check_mask(shape: tuple[int, ...], lengths: tuple[int, ...]) -> None:
    """Truth values fit axes that are as long; an axis of none fits any, and chooses nothing."""
    fits = len(shape) == len(lengths)
    if not (fits and all(n in (0, length) for n, length in zip(shape, lengths, strict=True))):
        raise PlaceError(f"index: truth values of shape {shape} for axes {lengths}")


def _run(view: View[Any], item: slice | None, axis: int) -> tuple[int, int]:
    """Length and stride of an axis of the result."""
    if item is None:
        return 1, 0
    first, last, step = _ends(item, view.shape[axis])
    return len(range(first, last, step)), view.strides[axis] * step


def _at_none(mask: Indices) -> Indices:
    """What a single truth value chooses: one element, or none."""
    value = mask if isinstance(mask, np.ndarray) else mask.read_span()
    return np.zeros(int(bool(value)), np.int64)


def _within(indices: Indices, axis: int, size: int) -> Indices:
    """Indices from 0 on; PlaceError for one that is beyond the ends."""
    if isinstance(indices, np.ndarray):
        if indices.size:
            for found in (int(indices.min()), int(indices.max())):
                _inside(found, axis, size)
        indices = indices.astype(np.int64)
        return np.where(indices < 0, indices + size, indices)
    if not indices.size:
        return indices
    flat = moves.dense(indices).view_as((1, indices.size))
    for kind in ("min", "max"):
        end = reduction.over_rows(kind, flat, indices.dtype)
        _inside(int(end.read_span()[0]), axis, size)
    return plain.apply("remainder", [indices, size], "int64")


def _offsets(chosen: list[tuple[Indices, int, int]], queue: Queue) -> tuple[Numbers, int]:
    """The sum of indices times strides, on the device, and what is the same for all elements."""
    try:
        shape = np.broadcast_shapes(*(indices.shape for indices, _, _ in chosen))
    except ValueError:
        named = " and ".join(str(indices.shape) for indices, _, _ in chosen)
        raise ShapeError(f"index: arrays of shapes {named} do not broadcast") from None
    known = np.zeros((), np.int64)
    total: Numbers | None = None
    for indices, stride, _ in chosen:
        if isinstance(indices, np.ndarray):
            known = known + indices.astype(np.int64) * stride
            continue
        scaled = plain.apply("mul", [indices, stride], "int64")
        total = scaled if total is None else plain.apply("add", [total, scaled], "int64")
    if total is None:
        return upload_numbers(np.broadcast_to(known, shape), queue), 0
    if known.ndim:
        total = plain.apply("add", [total, upload_numbers(known, queue)], "int64")
        known = np.zeros((), np.int64)
    strides = broadcast_strides(total.shape, total.strides, shape)
    return total.view(shape, strides, total.start), int(known)


def positions(mask: Indices, queue: Queue) -> list[Indices]:
    """The indices of true elements, for each axis of truth values: in C order.

    Waits for the device.
    """
    if isinstance(mask, np.ndarray):
        return list(np.nonzero(mask)) if mask.ndim else []
    if not mask.ndim:
        return []
    if not mask.size:
        return [allocate_numbers("int64", (0,), queue)] * mask.ndim
    flat = moves.dense(mask).view_as((1, mask.size))
    places = _true_places(flat)
    if mask.ndim == 1:
        return [places]
    found: list[Indices] = []
    for axis, size in enumerate(mask.shape):
        step = math.prod(mask.shape[axis + 1 :])
        index = plain.apply("floor_divide", [places, step], "int64") if step != 1 else places
        found.append(plain.apply("remainder", [index, size], "int64") if axis else index)
    return found


def _true_places(flat: Numbers) -> Numbers:
    """Where the elements of truth values (1, n) are true."""
    n = flat.shape[1]
    if not n:
        return allocate_numbers("int64", (0,), flat.queue)
    counts = allocate_numbers("int64", flat.shape, flat.queue)
    scan.over_rows("add", plain.apply("copy", [flat], "int64"), counts)
    total = int(counts.view((1,), (1,), n - 1).read_span()[0])
    found = allocate_numbers("int64", (total,), flat.queue)
    if total:
        targets = plain.apply("sub", [counts.view_as((n,)), 1], "int64")
        every = plain.counted(0, 1, n, "int64", flat.queue)
        moves.scattered(every, found, targets, (n,), (0,), cond=flat.view_as((n,)))
    return found


# --- reading --------------------------------------------------------------------------------------


def taken(view: V, key: Any, *, alone: bool = True) -> V:
    """The elements that a key names: a view where slices and integers can say it, else a copy.

    A single element is copied, so that it stays as it is, unless *alone* is false.
    """
    if type(key) in (int, slice) and view.shape:
        found = _viewed(view, [key] + [slice(None)] * (len(view.shape) - 1))
        if alone and not found.shape:
            found = moves.copied(found)
            found.copied = True
        return found
    items = _expanded(key, view.ndim)
    if any(map(_is_array, items)):
        chosen = _chosen(view, items)
        whole = view.view(view.shape, view.strides, chosen.start)
        return moves.gathered(whole, chosen.offsets, chosen.shape, chosen.strides)
    found = _viewed(view, items)
    single = alone and items and all(isinstance(item, int) for item in items)
    if single and Ellipsis not in _items(key):
        found = moves.copied(found)
        found.copied = True
    return found


# --- writing --------------------------------------------------------------------------------------


def named(view: V, key: Any) -> V | None:
    """The elements that a key names, where they are a view."""
    items = _expanded(key, view.ndim)
    return None if any(map(_is_array, items)) else _viewed(view, items)


def put(view: V, key: Any, value: V) -> None:
    """Write elements, which are broadcast, to those that a key names.

    *value*: of the same kind, on the same queue. Where an element is named several times, the last
    one stays.
    """
    items = _expanded(key, view.ndim)
    if not any(map(_is_array, items)):
        _copy(value, _viewed(view, items))
        return
    if (
        len(items) == 1
        and isinstance(items[0], Numbers)
        and _is_mask(items[0])
        and not value.size > 1
    ):
        mask = items[0]
        _check_mask(mask.shape, view.shape)
        if not mask.size:
            return
        if not value.size:
            # None for each place, of which there may be none.
            places = positions(mask, view.queue)[0] if mask.ndim else _at_none(mask)
            _trimmed(value, 1).broadcast_to(places.shape)
            return
        one = value.view((), (), value.start)
        moves.scattered(one, view, None, view.shape, view.strides, cond=mask)
        return
    chosen = _chosen(view, items)
    value = _trimmed(value, len(chosen.shape))
    source = value.broadcast_to(chosen.shape)
    target = view.view(view.shape, view.strides, chosen.start)
    if target.overlaps(source):
        source = moves.copied(source)
    last = None if chosen.distinct else _last(chosen.offsets)
    moves.scattered(source, target, chosen.offsets, chosen.shape, chosen.strides, cond=last)


def _trimmed(value: V, ndim: int) -> V:
    """A value without leading axes of length 1 that its target has not."""
    while value.ndim > ndim and value.shape[0] == 1:
        value = value.view(value.shape[1:], value.strides[1:], value.start)
    return value


def _copy(source: V, target: V) -> None:
    if source.same_view(target):
        return
    source = _trimmed(source, target.ndim).broadcast_to(target.shape)
    if target.overlaps(source):
        source = moves.copied(source)
    moves.copied(source, target)


def _last(offsets: Numbers) -> Numbers | None:
    """Which elements of offsets are the last of equal ones; None where all are.

    Axes along which all offsets are the same are of the elements, not of the indices.
    """
    own = [axis for axis, step in enumerate(offsets.strides) if step]
    shape = tuple(offsets.shape[axis] for axis in own)
    n = math.prod(shape)
    if n < 2:
        return None
    steps = tuple(offsets.strides[axis] for axis in own)
    row = moves.dense(offsets.view(shape, steps, offsets.start)).view_as((1, n))
    places = order.argsort(row).view_as((n,))
    sorted_ = moves.gathered(row.view_as((n,)), places, (n,), (0,))
    ends = allocate_numbers("bool", (n,), offsets.queue)
    moves.copied(upload_numbers(np.array([True]), offsets.queue), ends.view((1,), (1,), n - 1))
    head, tail = sorted_.view((n - 1,), (1,), 0), sorted_.view((n - 1,), (1,), 1)
    plain.apply("not_equal", [head, tail], "bool", ends.view((n - 1,), (1,), 0))
    found = allocate_numbers("bool", (n,), offsets.queue)
    moves.scattered(ends, found, places, (n,), (0,))
    spread = [0] * offsets.ndim
    for axis, step in zip(own, found.view_as(shape).strides, strict=True):
        spread[axis] = step
    return found.view(offsets.shape, spread, 0)
