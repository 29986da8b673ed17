"""What portmp's functions do with arrays on several devices: elements, sums, products of vectors.

Each device runs the function on its parts. What joins them is the routine's definition: chunks of
sums in order, whole rows and columns of products. So results have the bits of one device's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from portmp import definition
from portmp.arrays import complexes, creation, elementwise, manipulation
from portmp.arrays.array import Array
from portmp.arrays.plain import plain_array
from portmp.arrays.viewed import Elsewhere, Viewed, wrapped
from portmp.backends.base import Queue
from portmp.distributed import transport
from portmp.distributed.array import FUNCTIONS, DistributedArray, has_elements
from portmp.distributed.layout import Axis, Placement, Replicated, Rows, columns, whole
from portmp.distributed.memory import room_told
from portmp.errors import ArgumentError, DeviceError, FormatError, ShapeError
from portmp.formats import Format
from portmp.formats.meeting import meeting
from portmp.routines import axes, base
from portmp.routines.complexes import launch as by_parts
from portmp.routines.conversions import launch as conversions
from portmp.routines.exact import accumulator
from portmp.routines.exact import launch as exact
from portmp.routines.moves import launch as moves
from portmp.routines.reduce import launch as reduce
from portmp.runtime.planes import Planes, allocate, blank

T = TypeVar("T")
Queues = tuple[Queue, ...]


def known(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say what functions of these names do."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return keep


def team(*operands: Any) -> tuple[list[DistributedArray], Queues]:
    """The arrays among operands that lie on several devices, and these; others are refused.

    Arrays of one element and numbers go along with all.
    """
    found = [x for x in operands if isinstance(x, DistributedArray)]
    first = found[0].queues
    if any(x.queues != first for x in found):
        names = " and ".join(str([d.name for d in x.devices]) for x in found)
        raise DeviceError(f"operands: on {names}; redistribute(layout, devices) copies")
    for x in operands:
        if not isinstance(x, DistributedArray) and has_elements(x):
            shape = f" of shape {x.shape}" if hasattr(x, "shape") else ""
            raise DeviceError(
                f"operands: {type(x).__name__}{shape} beside an array on {len(first)} devices; "
                "portmp.shard(x, like=a) cuts it up as well, with layout=portmp.Replicated each "
                "device has all of it"
            )
    return found, first


# --- elements -------------------------------------------------------------------------------------


@known("where", "exponents")
def each(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """A function of elements, with broadcasting."""
    usual = {"out": None, "where": True}
    given = {k: v for k, v in options.items() if k not in usual or v is not usual[k]}
    out, name = given.get("out"), getattr(function, "func", function).__name__
    outs = out if isinstance(out, tuple) else (out,)
    arrays, queues = team(*args, *[v for k, v in given.items() if k != "out"], *outs)
    if isinstance(out, tuple) or (name == "where" and len(args) < 3):
        raise Elsewhere(arrays[0])
    more = [v for k, v in given.items() if k not in usual]
    operands: list[Any] = [x for x in (*args, *more) if isinstance(x, Viewed)]
    shape = axes.common_shape(name, operands)
    place = _meeting(arrays, shape, len(queues))
    # Axes that an array of one element alone has are whole everywhere.
    alone = len(shape) - max([x.ndim for x in operands if isinstance(x, DistributedArray)] or [0])
    place = place._replace(axes=(*map(whole, shape[:alone]), *place.axes[alone:]))
    if isinstance(out, DistributedArray):
        if out.shape != shape:
            raise ShapeError(f"{name}: out: shape {out.shape} given, {shape} needed")
        place = out.placement
    if out is not None and (alone or not isinstance(out, DistributedArray)):
        raise Elsewhere(arrays[0])
    if "where" in given:
        given["where"] = _mask(given["where"], name, operands, shape, queues)
    parts = [_seen(x, place, queues) for x in args]
    named = {k: _seen(v, place, queues) for k, v in given.items()}

    def made(i: int) -> Any:
        return function(*[part[i] for part in parts], **{k: v[i] for k, v in named.items()})

    with room_told(name, shape, arrays[0].dtype, place, queues):
        found = here(made, queues)
    if out is not None:
        return out
    first = found[queues.index(transport.home(queues))]
    if isinstance(first, tuple):
        several = zip(*(one or [None] * len(first) for one in found), strict=True)
        return tuple(joined(one, place, queues) for one in several)
    return joined(found, place, queues)


def _mask(mask: Any, name: str, operands: list[Any], shape: tuple[int, ...], queues: Queues) -> Any:
    """Truth values that broadcast to a result's shape."""
    if not isinstance(mask, Viewed):
        mask = creation.asarray(mask, device=transport.home(queues))
    if axes.common_shape(name, [*operands, mask]) != shape:
        raise ShapeError(f"{name}: where: shape {mask.shape} given, {shape} needed")
    return mask


def here(made: Callable[[int], T], queues: Sequence[Queue]) -> list[T | None]:
    """What is made for each device of this process, by its number; None for those of others."""
    return [None if transport.is_distant(queue) else made(i) for i, queue in enumerate(queues)]


def joined(pieces: Any, place: Placement, queues: Queues) -> DistributedArray:
    """Results of all devices of this process, with what others have, as one array."""
    views = [None if piece is None else piece.planes for piece in pieces]
    assert all(v is None or v.shape == place.local(i) for i, v in enumerate(views)), place
    return DistributedArray.made(views, place, queues)


def _meeting(arrays: list[DistributedArray], shape: tuple[int, ...], count: int) -> Placement:
    """Where a result of a shape lies: as the first operand of that shape that is cut up."""
    cut = [x for x in arrays if not x.placement.replicated]
    for x in cut:
        if x.shape == shape:
            return x.placement
    return (Rows() if cut else Replicated()).place(shape, count)


def _seen(x: Any, place: Placement, queues: Queues) -> list[Any]:
    """What each device has of an operand that is broadcast to a result, or the number itself."""
    if not isinstance(x, DistributedArray):
        alone = isinstance(x, Viewed)
        return [x.to(queue) if alone and not transport.is_distant(queue) else x for queue in queues]
    lead = len(place.axes) - x.ndim
    mine = [
        axis if n != 1 or axis.n == 1 else whole(1)
        for n, axis in zip(x.shape, place.axes[lead:], strict=True)
    ]
    return list(x.placed(Placement(place.grid, tuple(mine)), queues).pieces)


# --- sums and the like ----------------------------------------------------------------------------


@known("sum", "prod", "max", "min", "all", "any")
def reduced(
    function: Callable[..., Any],
    x: Any,
    axis: Any = None,
    *,
    keepdims: bool = False,
    rounding: str | None = None,
    initial: Any = None,
    **options: Any,
) -> Any:
    """Of all elements an array on the first device (of each process); along axes one on all."""
    usual = {"where": True, "bound": False}
    asked = any(v is not None and v is not usual.get(k) for k, v in options.items())
    if asked or not isinstance(x, DistributedArray):
        arrays, _ = team(x, initial, *options.values())
        raise Elsewhere(arrays[0])
    initial = number(initial, x, "initial")
    over, queues = axes.named(axis, x.ndim), x.queues
    named = {"rounding": rounding, "initial": initial}
    called = partial(function, **{k: v for k, v in named.items() if v is not None})
    if not x.size:
        x = x.placed(Replicated().place(x.shape, len(queues)), queues)
    if x.placement.replicated:
        first = called(x.pieces[x.home], axis, keepdims=keepdims)
        if len(over) == x.ndim and not keepdims:
            return first
        made = here(lambda i: called(x.pieces[i], axis, keepdims=keepdims), queues)
        return joined(made, Replicated().place(first.shape, len(queues)), queues)
    if initial is not None:
        found = reduced(function, x, axis, keepdims=keepdims, rounding=rounding)
        return _JOINED_BY[function.__name__](initial, found)
    if len(over) == x.ndim:
        found = _of_all(function, x, rounding)
        return found.reshape((1,) * x.ndim) if keepdims else found
    place = x.placement
    if any(place.axes[i].parts > 1 for i in over):
        if 0 not in over:
            place = Rows().place(x.shape, len(queues))
        elif x.ndim == 2:
            place = columns(x.shape, len(queues))
        else:
            raise Elsewhere(x)
    mine = x.placed(place, queues)
    pieces = here(lambda i: called(mine.pieces[i], over, keepdims=keepdims), queues)
    return joined(pieces, _left(place, over, keepdims), queues)


def _of_all(function: Callable[..., Any], x: DistributedArray, rounding: str | None) -> Any:
    """Of all elements, whatever they are."""
    kind, form = function.__name__, x.dtype
    if not isinstance(form, Format) or kind in ("all", "any"):
        if rounding is not None:
            raise FormatError(f"{kind}: rounding and bound need an array of values, integers given")
        return _of_numbers(function, x)
    if form.components > 1:
        if kind != "sum":
            raise Elsewhere(x)
        return complexes.joined(*(_of_all(function, half, rounding) for half in _halves(x)))
    if rounding is None:
        return total(kind, x.reshape(-1))
    base.check_rounding(rounding, False)
    return exactly([(x, None, 1)])


def _halves(x: DistributedArray) -> list[DistributedArray]:
    """Real and imaginary parts: views of the same memory."""

    def half(which: int) -> DistributedArray:
        return x._each(lambda piece: wrapped(piece.planes.part(which)))

    return [half(0), half(1)]


def _of_numbers(function: Callable[..., Any], x: DistributedArray) -> Any:
    """Of integers and truth values, and whether elements are 0: the same in any order, as sums of
    64 bits wrap around.
    """
    kind, queues = function.__name__, x.queues
    neutral = kind not in ("max", "min")
    own = [function(piece).to_numpy() for piece in x._once() if piece.size or neutral]
    if kind == "sum":
        found = transport.summed(np.add.reduce(np.array(own), keepdims=True), queues, "a sum")
    else:
        every = [n for each in transport.shared(own, queues, kind) for n in each]
        found = _JOINS[kind].reduce(np.array(every), keepdims=True)
    return plain_array(found[0], found.dtype.name, transport.home(queues))


_JOINED_BY: dict[str, Any] = {
    "sum": elementwise.add,
    "prod": elementwise.multiply,
    "max": elementwise.maximum,
    "min": elementwise.minimum,
}
_JOINS: dict[str, Any] = {
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "all": np.logical_and,
    "any": np.logical_or,
}

Term = tuple[DistributedArray, DistributedArray | None, int]
"""An array, another one by whose elements its own are multiplied, and a sign."""


def exactly(terms: Sequence[Term]) -> Array:
    """The exact sum of all elements of some arrays, or of products of two, rounded once.

    Each device adds up its own; the sums are integers, which processes add in any order.
    """
    first, second, _ = terms[0]
    form, queues, factors = first.format, first.queues, 1 if second is None else 2
    alone = first.placement.replicated
    found = bad = 0
    for x, y, sign in terms:
        for i in [x.home] if alone else range(len(queues)):
            if transport.is_distant(queues[i]):
                continue
            views = [v.pieces[i].reshape(-1).planes for v in (x, y) if v is not None]
            units, missing = exact.accumulated(*views)
            found, bad = found + sign * units, bad + missing
    if not alone:
        count = accumulator.LongAccumulator(form.word, factors).digits + 1
        integers = np.array([*accumulator.digits_of(found, count), bad], np.int64)
        *digits, bad = transport.summed(integers, queues, "an exact sum").tolist()
        found = accumulator.number(digits)
    return Array(exact.rounded(form, found, factors, bad, transport.home(queues)))


def _left(place: Placement, over: tuple[int, ...], keepdims: bool) -> Placement:
    """Where results along some axes lie."""
    kept = [
        whole(1) if i in over else axis
        for i, axis in enumerate(place.axes)
        if keepdims or i not in over
    ]
    if kept and kept[0].along == 1 and not keepdims:
        kept[0] = kept[0]._replace(along=0)
        return Placement((place.devices, 1), tuple(kept))
    return Placement(place.grid, tuple(kept))


def total(kind: str, x: DistributedArray, y: DistributedArray | None = None) -> Array:
    """What a vector comes to, of *kind* dot with y: by the chunks of the definition, in order."""
    form = x.format
    if y is not None and not x.size:
        return Array(reduce.dot(x.views[x.home], y.views[x.home]))
    vectors = [_in_words(v) for v in (x, y) if v is not None]
    found = _combined(kind, vectors)
    if kind in ("sum", "dot") and not np.isfinite(found.read_dense()[0]):
        # As on one device: the chain of leading limbs, in the same lanes and trees.
        leading = [_leading(v) for v in vectors]
        chain = _combined(kind, leading)
        for buffer, word in zip(range(1, form.limbs), found.format.planes[1:], strict=True):
            found.raw(buffer).write_parts([np.zeros((), f"uint{8 * np.dtype(word).itemsize}")])
        first = found.seen_as(chain.format)
        moves.copied(chain, out=first)
    return Array(conversions.between(found, form) if found.format is not form else found)


def _in_words(x: DistributedArray) -> DistributedArray:
    """In the format that computes, by contiguous parts of the vector."""
    queues = x.queues
    form = x.format.arithmetic.compute
    mine = (
        x
        if x.format is form
        else x._each(lambda piece: wrapped(conversions.between(piece.planes, form)))
    )
    first = mine.placement.axes[0]
    each = first.block * first.parts >= first.n and first.parts in (1, len(queues))
    return mine if each else mine.placed(Rows().place(x.shape, len(queues)), queues)


def _leading(x: DistributedArray) -> DistributedArray:
    return x._each(lambda piece: piece.limbs[0])


def _combined(kind: str, vectors: list[DistributedArray]) -> Planes:
    """What vectors come to, on the first device of each process."""
    first = vectors[0]
    if any(v.placement != first.placement for v in vectors):
        vectors = [v.placed(first.placement, first.queues) for v in vectors]
    queues, size = first.queues, definition.CHUNK
    if first.placement.replicated:
        return reduce.combined(kind, reduce.chunks(kind, *[v.views[v.home] for v in vectors]))
    axis, n, home = first.placement.axes[0], first.shape[0], transport.home(queues)
    kept: Planes = allocate(first.format, (-(-n // size),), home)
    values: list[tuple[Planes, Planes]] = []
    for i, queue in enumerate(queues):
        begin, end = next(axis.blocks(i), (n, n))
        low, high = -(-begin // size) * size, -(-end // size) * size
        if low >= end:
            continue
        # Chunks that lie here, and one that ends on other devices.
        inside = end if end == n else end // size * size
        spans = [(low, inside)] * (low < inside) + [(inside, min(high, n))] * (inside < end)
        for span in spans:
            parts: Any = [_span(v, span, i, queue) for v in vectors]
            place = kept.view((-(-(span[1] - span[0]) // size),), (1,), span[0] // size)
            x, y = (*parts, None)[:2]
            made = reduce.chunks(kind, x, y, out=None if queue is not home or span[0] else place)
            values.append((made, place))
    for made, place in values:
        there = transport.known(made, queues)
        if there is not place:
            moves.copied(there, out=place)
    return reduce.combined(kind, kept)


def _span(x: DistributedArray, span: tuple[int, int], device: int, queue: Queue) -> Planes:
    """Elements of a vector on a device: a view of its part, or with what the next ones have."""
    (low, high), axis = span, x.placement.axes[0]
    begin, end = next(axis.blocks(device))
    mine = x.views[device]
    if high <= end:
        start = mine.start + (low - begin) * mine.strides[0]
        seen: Planes = mine.view((high - low,), mine.strides, start)
        return seen
    found: Planes = blank(x.dtype, (high - low,)).made(queue)
    for i, view in enumerate(x.views):
        first, last = next(axis.blocks(i), (0, 0))
        at, to = max(first, low), min(last, high)
        if at < to:
            part = view.view((to - at,), view.strides, view.start + (at - first) * view.strides[0])
            target = found.view((to - at,), (1,), at - low)
            moves.copied(transport.sent(part, queue), out=target)
    return found


@known("dot")
def dot(
    function: Callable[..., Any], x: Any, y: Any, *, rounding: str | None = None, **options: Any
) -> Any:
    """Of two vectors an array on the first device (of each process); else matrices' product."""
    arrays, queues = team(x, y)
    usual = (None, False, "accurate")
    asked = [v for v in options.values() if isinstance(v, Viewed) or v not in usual]
    if asked or len(arrays) < 2 or not all(isinstance(v.dtype, Format) for v in arrays):
        raise Elsewhere(arrays[0])
    alike(x, "x", y, "y")
    if x.ndim != 1 or y.ndim != 1:
        if rounding is not None:
            raise Elsewhere(x)
        return FUNCTIONS["matmul"](function, x, y)
    if x.shape != y.shape:
        raise ShapeError(f"dot: vectors of one length expected, x {x.shape} and y {y.shape} given")
    place = (x if not x.placement.replicated else y).placement
    a, b = x.placed(place, queues), y.placed(place, queues)
    if rounding is not None:
        base.check_rounding(rounding, False)
    sides = [(p, q) for p in _parts(a) for q in _parts(b)]
    if len(sides) == 1:
        return total("dot", a, b) if rounding is None else exactly([(a, b, 1)])
    rr, ri, ir, ii = sides
    if rounding is not None:
        return complexes.joined(exactly([(*rr, 1), (*ii, -1)]), exactly([(*ri, 1), (*ir, 1)]))
    combined = [total("dot", *side).planes for side in (rr, ii, ri, ir)]
    return Array(by_parts.apply("combined", combined))


def _parts(x: DistributedArray) -> list[DistributedArray]:
    """Both parts of complex numbers, real ones themselves."""
    return _halves(x) if x.format.components > 1 else [x]


# --- BLAS -----------------------------------------------------------------------------------------


@known("nrm2")
def nrm2(function: Callable[..., Any], x: Any, *, bound: Any = False) -> Any:
    """Of complex numbers: that of all real parts and then all imaginary ones."""
    if bound or not (isinstance(x, DistributedArray) and complexes.is_complex(x)):
        raise Elsewhere(x)
    flat = x.reshape(-1)
    halves, axis = _halves(flat), flat.placement.axes[0]
    pieces = here(lambda i: manipulation.stack([h.pieces[i] for h in halves]), x.queues)
    place = Placement(flat.placement.grid, (whole(2), axis))
    return function(joined(pieces, place, x.queues).reshape(-1))


@known("axpy", "scal")
def scaled(
    function: Callable[..., Any], alpha: Any, *vectors: Any, out: Any = None, **named: Any
) -> Any:
    """alpha x + y, or alpha x: alpha is a number, read from its device where it has one."""
    options = {} if out is None else {"out": out}
    vectors += tuple([named.pop(name) for name in ("x", "y") if name in named])
    arrays, _ = team(*vectors, *named.values(), out)
    return each(partial(function, number(alpha, arrays[0], "alpha")), *vectors, **options)


def number(value: Any, like: DistributedArray, argument: str) -> Any:
    """A factor; of an array of shape () its element, which all processes have."""
    if not isinstance(value, Viewed):
        return value
    if complexes.is_complex(value) != complexes.is_complex(like):
        raise Elsewhere(like)
    alike(like, "the array", value, argument)
    if value.shape:
        raise ShapeError(f"{argument}: one number expected, shape {value.shape} given")
    one: Any = value
    return one.item()


def alike(x: Any, first: str, y: Any, second: str) -> None:
    """FormatError where two arrays have not one format."""
    if complexes.is_complex(x) != complexes.is_complex(y):
        raise Elsewhere(x)
    if x.dtype is not y.dtype:
        advice = meeting((x.format, y.format)) if isinstance(y.dtype, Format) else "astype copies"
        raise FormatError(f"{second}: format {y.dtype}, {first} has {x.dtype}; {advice}")


@known("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
def transformed(
    function: Callable[..., Any], x: Any, n: Any = None, axis: Any = -1, *more: Any, **options: Any
) -> Any:
    """As x is cut up: each device its rows. An axis that is cut is whole meanwhile, and another one
    cut; of a vector each device has all.
    """
    arrays, _ = team(x, *more, *options.values())
    if len(arrays) > 1 or arrays[0] is not x:
        raise Elsewhere(arrays[0])
    if axis is None or isinstance(axis, Sequence):
        raise ArgumentError(f"{function.__name__}: axis: {axis!r:.60} given, an integer is needed")
    (at,) = axes.named(axis, x.ndim)

    def with_axis(place: Placement, one: Axis) -> Placement:
        return place._replace(axes=(*place.axes[:at], one, *place.axes[at + 1 :]))

    cut, place = x.placement.axes[at], x.placement
    if cut.parts > 1:
        others = x.shape[:at] + x.shape[at + 1 :]
        found = Rows().place(others, len(x.queues))
        place = Placement(found.grid, (*found.axes[:at], whole(cut.n), *found.axes[at:]))
    rows = x.placed(place, x.queues)
    pieces = here(lambda i: function(rows.pieces[i], n, axis, *more, **options), x.queues)
    length = next(piece.shape[at] for piece in pieces if piece is not None)
    result = joined(pieces, with_axis(place, whole(length)), x.queues)
    if cut.parts > 1:
        result = result.placed(with_axis(x.placement, cut._replace(n=length)), x.queues)
    return result
