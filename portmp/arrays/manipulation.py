"""Other arrangements of the same elements: views where strides can say it, else copies."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portmp.arrays import dtypes, elementwise, indexing, typed
from portmp.arrays.typed import keeps
from portmp.arrays.viewed import AnyArray, Viewed, integers, made, wrapped
from portmp.errors import ArgumentError, MatrixShapeError, PlaceError, ShapeError, choice
from portmp.routines import axes, base
from portmp.routines.moves import launch as moves
from portmp.routines.order import launch as order
from portmp.routines.plain import launch as plain
from portmp.routines.plain import reduction
from portmp.routines.scan.launch import over_rows as running
from portmp.runtime.planes import Numbers, View, allocate_numbers, upload_numbers

__all__ = ["array_split", "astype", "atleast_1d", "atleast_2d", "broadcast_arrays"]
__all__ += ["broadcast_shapes", "broadcast_to", "column_stack", "concat", "diagonal", "expand_dims"]
__all__ += ["flatten", "flip", "fliplr", "flipud", "hstack", "matrix_transpose", "moveaxis", "pad"]
__all__ += ["permute_dims", "ravel", "repeat", "reshape", "roll", "split", "squeeze", "stack"]
__all__ += ["swapaxes", "take", "take_along_axis", "tile", "transpose", "unstack", "vstack"]

checked = elementwise.arrayed


# --- shapes ---------------------------------------------------------------------------------------


@keeps
def reshape(
    x: AnyArray, /, shape: int | Sequence[int], *, copy: bool | None = None, order: str = "C"
) -> Any:
    """Another shape of the same elements in C order, a view where possible; -1 is worked out.

    *copy*: always (True), only where needed (None), or never (False: ValueError where needed).
    """
    x = checked(x, "x")
    found = x.reshape(shape, order=order)
    viewed = found.planes.buffers[0] is x.planes.buffers[0]
    if copy is False and not viewed:
        raise ValueError("reshape: copy=False given, the strides need a copy")
    return found.copy() if copy and viewed else found


@keeps
def ravel(x: AnyArray, order: str = "C") -> Any:
    """The elements as a vector, in C order: a view where possible; or in Fortran's (F)."""
    x = checked(x, "x")
    x = x.T if choice("ravel: order:", order, ("C", "F")) == "F" else x
    return x.reshape(-1) if x.size else x.reshape(0)


@keeps
def flatten(x: AnyArray, order: str = "C") -> Any:
    """The elements as a vector in memory of its own, in C order or in Fortran's (F)."""
    return ravel(x, order).copy()


@keeps
def squeeze(x: AnyArray, /, axis: int | Sequence[int] | None = None) -> Any:
    """The view without axes of length 1: all of them, or those that are named."""
    x = checked(x, "x")
    view = x.planes
    gone = axes.named(axis, x.ndim) if axis is not None else ()
    gone = gone if axis is not None else tuple(i for i, n in enumerate(x.shape) if n == 1)
    for i in gone:
        if view.shape[i] != 1:
            raise ShapeError(f"squeeze: axis {i} has length {view.shape[i]}, 1 is needed")
    kept = [i for i in range(x.ndim) if i not in gone]
    return wrapped(
        view.view([view.shape[i] for i in kept], [view.strides[i] for i in kept], view.start)
    )


@keeps
def expand_dims(x: AnyArray, /, axis: int | Sequence[int] = 0) -> Any:
    """The view with new axes of length 1 at these places of the result."""
    x = checked(x, "x")
    count = x.ndim + (len(axis) if isinstance(axis, Sequence) else 1)
    new = axes.named(axis, count)
    key = tuple(None if i in new else slice(None) for i in range(count))
    return x[key]


@keeps
def permute_dims(x: AnyArray, /, axes: Sequence[int]) -> Any:
    """The view with the axes in another order."""
    return checked(x, "x").transpose(axes)


@keeps
def transpose(x: AnyArray, axes: Sequence[int] | None = None) -> Any:
    """The view with the axes reversed, or in the given order."""
    return checked(x, "x").transpose(*(() if axes is None else (axes,)))


@keeps
def matrix_transpose(x: AnyArray, /) -> Any:
    """The view with the last two axes exchanged."""
    return checked(x, "x").mT


@keeps
def swapaxes(x: AnyArray, axis1: int, axis2: int) -> Any:
    """The view with two axes exchanged."""
    x = checked(x, "x")
    first, second = axes.named(axis1, x.ndim, count=1)[0], axes.named(axis2, x.ndim, count=1)[0]
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return x.transpose(*order)


@keeps
def moveaxis(x: AnyArray, source: int | Sequence[int], destination: int | Sequence[int], /) -> Any:
    """The view with some axes at other places; the others keep their order."""
    x = checked(x, "x")
    left = axes.named(source, x.ndim, "source")
    there = axes.named(destination, x.ndim, "destination")
    if len(left) != len(there):
        raise ArgumentError(f"moveaxis: {source} and {destination} given: as many of both")
    order = [i for i in range(x.ndim) if i not in left]
    for place, axis in sorted(zip(there, left, strict=True)):
        order.insert(place, axis)
    return x.transpose(*order)


@keeps
def broadcast_to(x: AnyArray, /, shape: int | Sequence[int]) -> Any:
    """The view with this shape: elements are repeated along axes of length 1 and new ones."""
    x = checked(x, "x")
    return wrapped(x.planes.broadcast_to(tuple(integers((shape,), "shape"))))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape to which arrays of these shapes are broadcast."""
    given = [tuple(integers((shape,), "broadcast_shapes: shapes")) for shape in shapes]
    try:
        return np.broadcast_shapes(*given)
    except ValueError:
        named = " and ".join(map(str, given))
        raise ShapeError(f"broadcast_shapes: {named} do not broadcast") from None


@typed.as_(typed.Together)
def broadcast_arrays(*arrays: AnyArray) -> list[Any]:
    """Views of arrays with the shape to which they broadcast together."""
    given = [checked(x, f"arrays[{i}]") for i, x in enumerate(arrays)]
    shape = broadcast_shapes(*(x.shape for x in given))
    return [broadcast_to(x, shape) for x in given]


@typed.as_(typed.Widened)
def atleast_1d(x: AnyArray, *more: AnyArray) -> Any:
    """The view with one axis at least; of several arrays a tuple."""
    if more:
        return tuple(map(atleast_1d, (x, *more)))
    x = checked(x, "x")
    return x if x.ndim else x.reshape(1)


@typed.as_(typed.Widened)
def atleast_2d(x: AnyArray, *more: AnyArray) -> Any:
    """The view with two axes at least, new ones come first; of several arrays a tuple."""
    if more:
        return tuple(map(atleast_2d, (x, *more)))
    x = checked(x, "x")
    return x if x.ndim > 1 else atleast_1d(x)[None, :]


@typed.as_(typed.Cast)
def astype(x: AnyArray, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """The elements in another dtype, each rounded once: values nearest, integers toward zero."""
    found = checked(x, "x").astype(dtype, copy=copy)
    return found if device is None else found.to(device)


# --- joining and splitting ------------------------------------------------------------------------


def _several(arrays: Any, what: str) -> list[AnyArray]:
    """Arrays of a sequence of what can be one, or the parts of an array along its first axis."""
    if not isinstance(arrays, (Sequence, Viewed, np.ndarray)) or isinstance(arrays, str):
        raise ArgumentError(f"{what}: arrays: {type(arrays).__name__} given, a list is needed")
    if any(isinstance(x, Viewed) for x in arrays):
        return elementwise.as_arrays(
            list(arrays), [f"{what}: arrays[{i}]" for i in range(len(arrays))]
        )
    return [checked(x, f"{what}: arrays[{i}]") for i, x in enumerate(arrays)]


def _alike(arrays: Sequence[Any], what: str) -> list[View[Any]]:
    """Views of one dtype."""
    given = _several(arrays, what)
    if not given:
        raise ArgumentError(f"{what}: no arrays given")
    kind = elementwise.common_dtype(what, given)
    return [elementwise.as_dtype(x.planes, kind) for x in given]


@typed.joins
def concat(arrays: Sequence[AnyArray], /, axis: int | None = 0, out: AnyArray | None = None) -> Any:
    """Arrays one after the other along an axis; with None, all their elements as a vector."""
    if axis is None:
        arrays, axis = [ravel(x) for x in _several(arrays, "concat")], 0
    views = _alike(arrays, "concat")
    first = views[0]
    if not first.ndim:
        raise ShapeError("concat: arrays of shape () given; stack joins those")
    (along,) = axes.named(axis, first.ndim, count=1)
    before, after = first.shape[:along], first.shape[along + 1 :]
    for i, view in enumerate(views):
        others = view.shape[:along], view.shape[along + 1 :]
        if view.ndim != first.ndim or others != (before, after):
            raise ShapeError(
                f"concat: arrays[{i}]: shape {view.shape} given, arrays[0] has {first.shape}; all "
                f"but axis {along} must be the same"
            )
    shape = (*before, sum(view.shape[along] for view in views), *after)
    target = moves.like(first, shape) if out is None else elementwise.target(out)
    if out is not None:
        inputs = {f"arrays[{i}]": view for i, view in enumerate(views)}
        base.check_out(target, first.elements, shape, first.queue, **inputs)
    place = 0
    for view in views:
        start = target.start + place * target.strides[along]
        moves.copied(view, target.view(view.shape, target.strides, start))
        place += view.shape[along]
    return wrapped(target) if out is None else out


@typed.joins
def stack(arrays: Sequence[AnyArray], /, axis: int = 0, out: AnyArray | None = None) -> Any:
    """Arrays of one shape along a new axis."""
    arrays = _several(arrays, "stack")
    shapes = {x.shape for x in arrays}
    if len(shapes) > 1:
        raise ShapeError(f"stack: arrays of shapes {sorted(shapes)} given, one shape is needed")
    return concat([expand_dims(x, axis=axis) for x in arrays], axis=axis, out=out)


@typed.as_(typed.Slices)
def unstack(x: AnyArray, /, axis: int = 0) -> tuple[Any, ...]:
    """Views of an array's slices along an axis."""
    x = checked(x, "x")
    return tuple(
        moveaxis(x, axis, 0)[i, ...] for i in range(x.shape[axes.named(axis, x.ndim, count=1)[0]])
    )


@typed.joins
def vstack(arrays: Sequence[AnyArray]) -> Any:
    """Arrays below each other; vectors are rows."""
    return concat([atleast_2d(x) for x in _several(arrays, "vstack")], axis=0)


@typed.joins
def hstack(arrays: Sequence[AnyArray]) -> Any:
    """Arrays beside each other; vectors one after the other."""
    made = [atleast_1d(x) for x in _several(arrays, "hstack")]
    return concat(made, axis=0 if made and made[0].ndim == 1 else 1)


@typed.joins
def column_stack(arrays: Sequence[AnyArray]) -> Any:
    """Arrays beside each other; vectors are columns."""
    made = [atleast_1d(x) for x in _several(arrays, "column_stack")]
    return concat([x if x.ndim > 1 else x[:, None] for x in made], axis=1)


@typed.cuts
def array_split(x: AnyArray, parts: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Views of so many parts along an axis, as equal as can be, or cut at these indices."""
    x = checked(x, "x")
    (along,) = axes.named(axis, x.ndim, count=1)
    n = x.shape[along]
    if isinstance(parts, (int, np.integer)):
        if parts < 1:
            raise ArgumentError(f"split: {parts} parts asked for, 1 at least is allowed")
        size, more = divmod(n, int(parts))
        cuts = [i * size + min(i, more) for i in range(int(parts) + 1)]
    else:
        given = parts if isinstance(parts, Viewed) else list(np.atleast_1d(parts))
        cuts = [0, *integers((given,), "split: parts"), n]
    lead = (slice(None),) * along
    return [x[(*lead, slice(a, b))] for a, b in itertools.pairwise(cuts)]


@typed.cuts
def split(x: AnyArray, parts: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Views of equal parts along an axis, or cut at these indices."""
    x = checked(x, "x")
    n = x.shape[axes.named(axis, x.ndim, count=1)[0]]
    if isinstance(parts, (int, np.integer)) and (parts < 1 or n % parts):
        raise ShapeError(f"split: an axis of length {n} has no {parts} equal parts")
    return array_split(x, parts, axis)


# --- other orders ---------------------------------------------------------------------------------


@keeps
def flip(x: AnyArray, /, axis: int | Sequence[int] | None = None) -> Any:
    """The view with some axes (all, where none is named) backwards."""
    x = checked(x, "x")
    turned = axes.named(axis, x.ndim)
    return x[tuple(slice(None, None, -1 if i in turned else None) for i in range(x.ndim))]


@keeps
def flipud(x: AnyArray) -> Any:
    """The view with its first axis backwards."""
    return flip(x, axis=0)


@keeps
def fliplr(x: AnyArray) -> Any:
    """The view with its second axis backwards."""
    return flip(x, axis=1)


@keeps
def roll(
    x: AnyArray, /, shift: int | Sequence[int], axis: int | Sequence[int] | None = None
) -> Any:
    """Elements moved along axes; those that leave at the end come in at the beginning.

    Without an axis they move along all of them, in C order.
    """
    x = checked(x, "x")
    if axis is None:
        return roll(ravel(x), sum(integers((shift,), "shift")), axis=0).reshape(x.shape)
    along = [
        axes.named(one, x.ndim, count=1)[0]
        for one in (axis if isinstance(axis, Sequence) else (axis,))
    ]
    steps = integers((shift,), "shift")
    steps = steps * len(along) if len(steps) == 1 else steps
    if len(steps) != len(along):
        raise ArgumentError(f"roll: shift {shift} and axis {axis} given: as many of both")
    found = x
    for step, one in zip(steps, along, strict=True):
        n = found.shape[one]
        cut = -step % n if n else 0
        lead = (slice(None),) * one
        pieces = [found[(*lead, slice(cut, None))], found[(*lead, slice(None, cut))]]
        found = concat(pieces, axis=one)
    return found.copy() if found is x else found


@keeps
def tile(x: AnyArray, repetitions: int | Sequence[int], /) -> Any:
    """The array, so many times along each axis; missing numbers and axes are 1, at the front."""
    x = checked(x, "x")
    counts = integers((repetitions,), "repetitions")
    if any(n < 0 for n in counts):
        raise ArgumentError(
            f"tile: repetitions: {repetitions} given, numbers from 0 on are allowed"
        )
    ndim = max(len(counts), x.ndim)
    counts = [1] * (ndim - len(counts)) + counts
    sizes = [1] * (ndim - x.ndim) + list(x.shape)
    spread = x.reshape([n for size in sizes for n in (1, size)])
    whole = broadcast_to(spread, [n for pair in zip(counts, sizes, strict=True) for n in pair])
    made = whole.copy()
    return made.reshape([a * b for a, b in zip(counts, sizes, strict=True)])


@keeps
def repeat(x: AnyArray, repeats: int | AnyArray, /, axis: int | None = None) -> Any:
    """Each element so many times, one after the other; without an axis of all, in C order.

    *repeats*: a number, or an array of integers, one for each element along the axis; their sum is
    read from the device: a wait.
    """
    x = checked(x, "x")
    if axis is None:
        x, axis = ravel(x), 0
    (along,) = axes.named(axis, x.ndim, count=1)
    n = x.shape[along]
    if isinstance(repeats, (int, np.integer)):
        if repeats < 0:
            raise ArgumentError(f"repeat: {repeats} given, a number from 0 on is allowed")
        wide = expand_dims(x, axis=along + 1)
        shape = (*x.shape[: along + 1], int(repeats), *x.shape[along + 1 :])
        made = broadcast_to(wide, shape).copy()
        return made.reshape((*x.shape[:along], n * int(repeats), *x.shape[along + 1 :]))
    counts = _counts(repeats, n, x)
    ends = allocate_numbers("int64", (1, n), x.queue)
    running("add", counts.view_as((1, n)), ends)
    total = int(ends.view((1,), (1,), n - 1).read_span()[0]) if n else 0
    every = plain.counted(0, 1, total, "int64", x.queue)
    places = order.searchsorted(ends.view_as((ends.size,)), every, right=True)
    return take(x, wrapped(places), axis=along)


def _counts(repeats: Any, n: int, x: AnyArray) -> Numbers:
    """How often each of n elements is repeated, on the device."""
    given = repeats.planes if isinstance(repeats, Viewed) else None
    if not isinstance(given, Numbers):
        of = "repeat: repeats"
        host = np.asarray(repeats) if given is None else indexing.whole(given, of)
        if host.dtype.kind not in "iub" and host.size:
            raise ArgumentError(f"repeat: repeats: {repeats!r:.60} given, integers are needed")
        given = upload_numbers(host.astype(np.int64), x.queue)
    if given.size == 1:
        given = moves.dense(given).view_as((1,)).broadcast_to((n,))
    if given.shape != (n,):
        raise ShapeError(f"repeat: repeats: shape {given.shape} given, ({n},) is needed")
    found = elementwise.as_dtype(given, dtypes.INTEGER)
    found = moves.dense(found)
    assert isinstance(found, Numbers)
    row = found.view_as((1, n))
    ends = (reduction.over_rows(kind, row, "int64") for kind in ("min", "max"))
    least, most = (int(x.read_span()[0]) for x in ends) if n else (0, 0)
    if least < 0:
        raise ArgumentError("repeat: repeats: a negative number given")
    if most * n >= 2**63:
        raise ArgumentError(f"repeat: repeats: {most} given, which is too many")
    return found


# --- chosen elements ------------------------------------------------------------------------------


def bounded(indices: AnyArray, n: int, mode: str) -> Any:
    """Indices taken into 0 to n - 1: *mode* ``wrap`` (modulo) or ``clip``."""
    view = indices.planes
    if not isinstance(view, Numbers):
        view = upload_numbers(indexing.whole(view), view.queue)
    if mode == "wrap" and n:
        return wrapped(plain.apply("remainder", [view, n], "int64"))
    return elementwise.clip(wrapped(elementwise.as_dtype(view, dtypes.INTEGER)), 0, n - 1)


@keeps
def take(
    x: AnyArray,
    indices: Any,
    /,
    axis: int | None = None,
    out: AnyArray | None = None,
    mode: str = "raise",
) -> Any:
    """Elements by their indices along an axis, without one of all elements in C order.

    *mode*: a PlaceError for indices beyond the ends, ``wrap`` (modulo) or ``clip``.
    """
    x = checked(x, "x")
    if axis is None:
        x, axis = (x, 0) if x.ndim == 1 else (ravel(x), 0)
    (along,) = axes.named(axis, x.ndim, count=1)
    if choice("take: mode:", mode, ("raise", "wrap", "clip")) != "raise":
        indices = indices if isinstance(indices, Viewed) else made(indices, device=x.queue)
        indices = bounded(indices, x.shape[along], mode)
    return elementwise.given_back(x[(*(slice(None),) * along, indices)].planes, out)


@keeps
def take_along_axis(x: AnyArray, indices: AnyArray, /, axis: int | None = -1) -> Any:
    """Elements by indices that are given for each place of the other axes.

    Without an axis of all elements in C order.
    """
    x, indices = checked(x, "x"), checked(indices, "indices")
    if axis is None:
        x, axis = ravel(x), 0
    (along,) = axes.named(axis, x.ndim, count=1)
    if indices.ndim != x.ndim:
        raise ShapeError(f"take_along_axis: indices have {indices.ndim} axes, x has {x.ndim}")
    if indices.dtype == dtypes.BOOL:
        raise PlaceError("take_along_axis: indices: truth values given, integers are needed")
    shape = list(
        broadcast_shapes(*((*s[:along], 1, *s[along + 1 :]) for s in (x.shape, indices.shape)))
    )
    shape[along] = indices.shape[along]
    key = [broadcast_to(indices, shape)] * x.ndim
    for i, n in enumerate(x.shape):
        if i != along:
            every = wrapped(plain.counted(0, 1, n, "int64", x.queue))
            key[i] = every.reshape([n if j == i else 1 for j in range(x.ndim)])
    return x[tuple(key)]


@keeps
def diagonal(x: AnyArray, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The view of the diagonals of matrices, which lie in two axes; the offset-th above the main
    one. They run along the last axis.
    """
    x = checked(x, "x")
    if x.ndim < 2:
        raise MatrixShapeError(f"diagonal: matrices are needed, shape {x.shape} given")
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    (offset,) = integers((offset,), "diagonal: offset", count=1)
    view = x.planes
    rows, cols = x.shape[-2:]
    down, right = view.strides[-2:]
    lead = offset * right if offset >= 0 else -offset * down
    count = max(0, min(rows, cols - offset) if offset >= 0 else min(rows + offset, cols))
    return wrapped(
        view.view(
            (*x.shape[:-2], count),
            (*view.strides[:-2], down + right),
            view.start + (lead if count else 0),
        )
    )


@keeps
def pad(x: AnyArray, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """The array with elements around it: so many before and after it along each axis.

    *mode*: ``constant_values``, or by ``edge`` the last elements, by ``wrap`` those of the other
    end, by ``reflect`` and ``symmetric`` those in front of the end, without and with itself.
    """
    x = checked(x, "x")
    given = np.asarray(pad_width)
    if given.dtype.kind not in "iu" or (given < 0).any():
        raise ArgumentError(f"pad: pad_width: {pad_width!r:.50} given, integers from 0 on needed")
    try:
        widths = np.broadcast_to(given, (x.ndim, 2)).tolist()
    except ValueError:
        raise ShapeError(f"pad: pad_width: {given.shape} given for {x.ndim} axes") from None
    if mode in _AROUND:
        for along, (before, after) in enumerate(widths):
            n = x.shape[along]
            if before or after:
                if not n:
                    raise ShapeError(f"pad: mode: {mode!r} given, axis {along} is empty")
                x = take(x, _AROUND[mode](np.arange(-before, n + after), n), axis=along)
        return x if any(map(any, widths)) else x.copy()
    choice("pad: mode:", mode, ("constant", *_AROUND))
    shape = [n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)]
    made = moves.like(x.planes, tuple(shape))
    kind = x.dtype
    elementwise.refuse_rounding(constant_values, kind, "constant_values")
    fill = elementwise.number(constant_values, kind, "constant_values")
    moves.copied(elementwise.like_number(fill, made), made)
    found = wrapped(made)
    found[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))] = x
    return found


_AROUND: dict[str, Callable[[Any, int], Any]] = {
    "edge": lambda i, n: np.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n,
    "symmetric": lambda i, n: np.minimum(i % (2 * n), 2 * n - 1 - i % (2 * n)),
    "reflect": lambda i, n: (n - 1) - np.abs(i % max(2 * n - 2, 1) - (n - 1)),
}
"""Which of n elements stands at places before and after them."""
