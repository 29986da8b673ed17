"""Products of matrices and vectors on several devices.

Each device makes its part of the result from whole rows of a and whole columns of b, so that no sum
over k is cut up: an element is a function of its row and its column, on whatever device. Blocks of
b's columns travel while those before are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from portmp.arrays import blas
from portmp.arrays.viewed import Elsewhere, wrapped
from portmp.backends.base import Queue
from portmp.distributed import transport
from portmp.distributed.array import FUNCTIONS, DistributedArray
from portmp.distributed.functions import Queues, alike, here, joined, known, number, team
from portmp.distributed.layout import Axis, Placement, Replicated, Rows, columns, whole
from portmp.distributed.memory import room_told
from portmp.errors import ArgumentError, ShapeError
from portmp.formats import Format
from portmp.routines.ozaki import levels
from portmp.routines.ozaki.options import Auto
from portmp.routines.products import methods
from portmp.runtime.planes import View, blank

COLUMNS = 4096
"""Columns of b that a device is sent at once, of at least so many of its own: a schedule."""
SHARE = 16
"""They take at most one part in so many of a device's memory."""


@known("matmul")
def matmul(function: Callable[..., Any], x1: Any, x2: Any, *, out: Any = None) -> Any:
    """The product of matrices; of a matrix and a vector on either side."""
    (first, *_), queues = team(x1, x2)
    if out is not None or not _both(x1, x2):
        raise Elsewhere(first)
    if x1.ndim == x2.ndim == 1:
        if x1.shape != x2.shape:
            raise ShapeError(f"matmul: {x1.shape} and {x2.shape} cannot be multiplied")
        return FUNCTIONS["dot"](function, x1, x2)
    if x1.ndim == 1:  # a row: columns of x2 are what is cut up
        count = len(queues)
        rows = x1.placed(Replicated().place(x1.shape, count), queues)
        across = x2.placed(columns(x2.shape, count), queues)
        found = here(lambda i: function(rows.pieces[i], across.pieces[i]), queues)
        return joined(found, Rows().place(x2.shape[1:], count), queues)
    if x2.ndim == 1:
        return vectors(function, x1, x2, queues)
    return product(function, x1, x2, {}, queues)


def _both(a: Any, b: Any) -> bool:
    """Whether both are distributed matrices or vectors, of one format; beside a vector a matrix may
    be stored in another one.
    """
    given = isinstance(a, DistributedArray) and isinstance(b, DistributedArray)
    if not given or not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2):
        return False
    if not (isinstance(a.dtype, Format) and isinstance(b.dtype, Format)):
        return False
    stored = b.ndim == 1 and a.format.arithmetic is b.format
    if not stored:
        alike(a, "a", b, "b")
    return True


def vectors(
    function: Callable[..., Any],
    a: DistributedArray,
    x: DistributedArray,
    queues: Queues,
    y: DistributedArray | None = None,
    **options: Any,
) -> DistributedArray:
    """A function of a matrix and a vector that gives a vector, row by row."""
    if a.shape[1] != x.shape[0]:
        raise ShapeError(f"{function.__name__}: a {a.shape} and x {x.shape} cannot be multiplied")
    place = a.placement
    if place.axes[1].parts > 1:
        place = Rows().place(a.shape, len(queues))
    every, results = Replicated().place(x.shape, len(queues)), Placement(place.grid, place.axes[:1])
    left, right = a.placed(place, queues).pieces, x.placed(every, queues).pieces
    more = _addends("gemv: y", y, options, results, queues)

    def made(i: int) -> Any:
        addend = {} if more[i] is None else {"y": more[i]}
        return function(left[i], right[i], **options, **addend)

    return joined(here(made, queues), results, queues)


def _addends(
    what: str, given: Any, options: dict[str, Any], place: Placement, queues: Queues
) -> list[Any]:
    """What each device adds to its part of a result; None where beta is 0, or nothing given."""
    beta = options.get("beta", 0)
    if given is None or (isinstance(beta, (int, float)) and beta == 0):
        return [None] * len(queues)
    if not isinstance(given, DistributedArray):
        raise ArgumentError(
            f"{what}: {type(given).__name__} given, an array on the same devices is needed: "
            "portmp.shard(y, like=a)"
        )
    if given.shape != place.shape:
        raise ShapeError(f"{what}: shape {given.shape} given, {place.shape} needed")
    return list(given.placed(place, queues).pieces)


def _numbers(a: DistributedArray, options: dict[str, Any]) -> dict[str, Any]:
    """Options with factors as numbers."""
    return {k: number(v, a, k) if k in ("alpha", "beta") else v for k, v in options.items()}


@known("gemv")
def gemv(
    function: Callable[..., Any],
    a: Any,
    x: Any,
    *,
    y: Any = None,
    trans: blas.Trans = False,
    **more: Any,
) -> Any:
    """alpha a x + beta y, by rows of a."""
    arrays, queues = team(a, x, y)
    known_options = {"alpha", "beta", "accuracy", "rounding"}
    fits = _both(a, x) and a.ndim == 2 and x.ndim == 1
    if not fits or more.keys() - known_options:
        raise Elsewhere(arrays[0])
    matrix: Any = blas.turned(a, trans, "gemv: trans")
    return vectors(function, matrix, x, queues, y, **_numbers(a, more))


@known("gemm")
def gemm(
    function: Callable[..., Any],
    a: Any,
    b: Any,
    *,
    c: Any = None,
    out: Any = None,
    trans_a: blas.Trans = False,
    trans_b: blas.Trans = False,
    bound: Any = False,
    **options: Any,
) -> Any:
    """alpha a b + beta c by any method, accuracy and rounding."""
    arrays, queues = team(a, b, c)
    if not _both(a, b) or out is not None or bound:
        raise Elsewhere(arrays[0])
    if a.ndim + b.ndim < 4:
        raise ShapeError(f"gemm: a {a.shape} and b {b.shape} cannot be multiplied")
    left: Any = blas.turned(a, trans_a, "gemm: trans_a")
    right: Any = blas.turned(b, trans_b, "gemm: trans_b")
    return product(function, left, right, _numbers(a, options), queues, c)


def product(
    function: Callable[..., Any],
    a: DistributedArray,
    b: DistributedArray,
    options: dict[str, Any],
    queues: Queues,
    c: DistributedArray | None = None,
) -> DistributedArray:
    """The product of matrices, by a function of parts of them: gemm, or matmul."""
    (m, k), (rows, n) = a.shape, b.shape
    if k != rows:
        raise ShapeError(f"{function.__name__}: {a.shape} and {b.shape} cannot be multiplied")
    a, b = a.settled(), b.settled()
    count = len(queues)
    place = _results(a, b, (m, n), count)
    addends = _addends("gemm: c", c, options, place, queues)
    made = partial(blas.gemm, **_method(function.__name__, a, b, options))
    told = room_told(function.__name__, place.shape, a.format, place, queues)
    with told, transport.lent(a.views) as left, transport.lent(b.views) as right:
        sides = (left, a), (right, b)
        work = [partial(_local, made, sides, place, i, queues, addends[i]) for i in range(count)]
        found = transport.together(work, [queue.device for queue in queues])
    return DistributedArray.made(found, place, queues)


def _method(
    name: str, a: DistributedArray, b: DistributedArray, options: dict[str, Any]
) -> dict[str, Any]:
    """Options with the method that the whole product has, since parts have other sizes."""
    (m, k), n, method = a.shape, b.shape[1], options.get("method", methods.AUTO)
    auto = method == methods.AUTO or isinstance(method, Auto)
    if options.get("rounding") is not None or not auto:
        return options
    own = method if isinstance(method, Auto) else Auto()
    if own is method and a.format.components > 1:  # one real product, whatever its sizes
        judged = levels.judges(a.format.component, 2 * m, n, 2 * k, own.smallest)
        return {**options, "method": replace(own, smallest=1 if judged else 2**62)}
    judged = levels.judges(a.format, m, n, k, own.smallest)
    if name == "matmul" and min(m, n) == 1:
        judged = False
    return {**options, "method": replace(own, smallest=1) if judged else "direct"}


def _results(
    a: DistributedArray, b: DistributedArray, shape: tuple[int, int], count: int
) -> Placement:
    """Where the product lies: rows as those of a, columns as those of b on the same grid."""
    if a.placement.replicated and b.placement.replicated:
        return Replicated().place(shape, count)
    if a.placement.replicated:
        lead = b.placement
        if lead.axes[1].parts == 1:
            return Rows().place(shape, count)
        return Placement(lead.grid, (_axis(shape[0], lead, 0), lead.axes[1]))
    lead = a.placement
    other = b.placement.axes[1]
    own = other if other.parts > 1 and b.placement.grid == lead.grid else _axis(shape[1], lead, 1)
    first = lead.axes[0] if lead.axes[0].parts > 1 else _axis(shape[0], lead, 0)
    return Placement(lead.grid, (first, own))


def _axis(n: int, lead: Placement, along: int) -> Axis:
    """An axis that is cut along the grid as others of a layout are."""
    block, parts = max(axis.block for axis in lead.axes if axis.parts > 1), lead.grid[along]
    return Axis(n, block, parts, along) if parts > 1 else whole(n)


Side = tuple[list[View[Any]], DistributedArray]
"""An operand, and its parts as they are sent."""


def _local(
    function: Callable[..., Any],
    sides: tuple[Side, Side],
    place: Placement,
    device: int,
    queues: Queues,
    addend: Any,
) -> View[Any]:
    """What one device makes of the product."""
    queue = queues[device]
    (sent_a, a), (sent_b, b) = sides
    out: View[Any] = blank(a.format, place.local(device)).made(queue)
    if not out.size:
        if not transport.is_distant(queue):  # options are looked at
            more = {} if addend is None else {"c": addend[:0, :0]}
            none = wrapped(blank(a.format, (0, 0)).made(queue))
            function(none, none, **more)
        return out
    rows, across = place.axes
    every = Placement(place.grid, (rows, whole(a.shape[1])))
    near = [*sent_a[:device], a.views[device], *sent_a[device + 1 :]]
    left = wrapped(transport.piece(near, a.placement, every, device, queue))
    near = [*sent_b[:device], b.views[device], *sent_b[device + 1 :]]
    for first, last, right in _stripes(near, b, across, place, device, queue):
        if transport.is_distant(queue):
            continue
        more = {} if addend is None else {"c": addend[:, first:last]}
        function(left, right, out=wrapped(out)[:, first:last], **more)
    return out


def _stripes(
    near: list[View[Any]],
    b: DistributedArray,
    across: Axis,
    place: Placement,
    device: int,
    queue: Queue,
) -> Iterator[tuple[int, int, Any]]:
    """A device's columns of b, some at once, each asked for before the last one is multiplied."""
    every = Placement(place.grid, (whole(b.shape[0]), across))
    k, n = every.local(device)
    limit = queue.device.properties.memory // (SHARE * b.itemsize * max(k, 1))
    width = max(min(COLUMNS, limit), 1)
    cuts = list(range(0, n, width))
    ahead = None
    for i, first in enumerate(cuts):
        last = min(first + width, n)
        if i > 1:  # of three of them the first was multiplied
            transport.beside(queue).wait(queue.record())
        span = (first, last) if len(cuts) > 1 else None
        view = transport.piece(near, b.placement, every, device, queue, span)
        if ahead is not None:
            yield ahead
        ahead = first, last, wrapped(view)
    assert ahead is not None
    yield ahead
