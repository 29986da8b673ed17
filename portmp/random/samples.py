"""What is drawn from elements that are there: orders of them, and samples."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from portmp import discovery
from portmp.arrays import creation, elementwise, functions, manipulation, sorting, statistics
from portmp.arrays.array import Array
from portmp.arrays.creation import Where
from portmp.arrays.viewed import AnyArray, Viewed, wrapped
from portmp.backends.base import Queue
from portmp.errors import ArgumentError, ShapeError
from portmp.random.philox import Philox
from portmp.routines import axes
from portmp.routines.random import launch
from portmp.routines.random.layout import BLOCK
from portmp.runtime.planes import Numbers

_SUM_OFF = 1.5e-8
"""How far probabilities' sum may be from 1, as in NumPy: or the root of their last digit's size."""
_MOST = 2**63


def whole(value: Any, argument: str, least: int = 0) -> int:
    """An integer from *least* on and below 2^63; ArgumentError for others."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number >= _MOST:
        raise ArgumentError(f"{argument}: {value!s:.60} given, integers below 2^63 are allowed")
    if number < least or isinstance(value, (bool, np.bool_)):
        raise ArgumentError(
            f"{argument}: {value!r:.60} given, an integer from {least} on is needed"
        )
    return number


def orders(generator: Philox, rows: int, n: int, queue: Queue) -> Numbers:
    """An order of n things in each of some rows (int64): rows n integers are put in order."""
    stream, first = generator.reserve(rows * n, BLOCK)
    return launch.orders(stream, first, rows, n, queue)


def arranged(generator: Philox, x: AnyArray, axis: int) -> Any:
    """A copy of x whose parts along an axis are in a random order."""
    if not x.ndim:
        raise ShapeError("x: shape () given, one axis at least is needed")
    (along,) = axes.named(axis, x.ndim, count=1)
    n = x.shape[along]
    order = orders(generator, 1, n, x.queue).view_as((n,))
    return manipulation.take(x, wrapped(order), axis=along)


def arranged_each(generator: Philox, x: AnyArray, axis: int | None) -> Any:
    """A copy of x whose rows along an axis (None: all elements) have an order each."""
    if axis is None or not x.ndim:
        return arranged(generator, manipulation.ravel(x), 0).reshape(x.shape)
    (along,) = axes.named(axis, x.ndim, count=1)
    last = manipulation.moveaxis(x, along, -1)
    n = last.shape[-1]
    order = orders(generator, math.prod(last.shape[:-1]), n, x.queue).view_as(last.shape)
    found = manipulation.take_along_axis(last, wrapped(order), axis=-1)
    return manipulation.moveaxis(found, -1, along)


def chosen(
    generator: Philox,
    uniform: Callable[..., Array],
    a: Any,
    size: int | tuple[int, ...],
    replace: bool,
    p: Any,
    axis: int,
    device: Where,
) -> Any:
    """Elements of *a* along an axis, or integers below it: so many as *size* says."""
    array = a if isinstance(a, Viewed) else None
    if isinstance(a, np.ndarray) and not a.ndim:
        a = a[()]
    if array is None and isinstance(a, (list, tuple, np.ndarray, range)):
        array = creation.asarray(a, device=device)
    if array is not None and not array.ndim:
        raise ShapeError("a: shape () given; an integer or an array with an axis is needed")
    queue = discovery.queue_of(device) if array is None else array.queue
    along = 0 if array is None else axes.named(axis, array.ndim, count=1)[0]
    n = whole(a, "a") if array is None else array.shape[along]
    shape = (size,) if isinstance(size, int) else size
    count = math.prod(shape)
    if count and not n:
        raise ArgumentError(f"a: nothing to choose {count} from")
    weights = None if p is None else _weights(p, n, queue)
    if replace:
        found = _with_replacement(generator, uniform, n, count, weights, queue)
    else:
        found = _without_replacement(generator, uniform, n, count, weights, queue)
    places = found.reshape(shape)
    return places if array is None else manipulation.take(array, places, axis=along)


def _weights(p: Any, n: int, queue: Queue) -> Array:
    """Probabilities as a vector that computes; ArgumentError where they are none."""
    given = p if isinstance(p, Array) else creation.asarray(p, device=queue)
    if not isinstance(given, Array):
        given = creation.asarray(p, dtype="float64", device=queue)
    if given.shape != (n,):
        raise ShapeError(f"p: shape {given.shape} given, there are {n} to choose from")
    if given.format.coded:
        given = given.astype(given.format.arithmetic)
    if not n:
        return given
    lowest, total = float(given.min()), float(given.sum())
    if not lowest >= 0:
        raise ArgumentError(f"p: {lowest} is among them, probabilities are 0 or more")
    own = getattr(p, "dtype", None)
    if isinstance(own, np.dtype) and own.kind == "f":
        last_digit = float(np.finfo(own).eps)
    else:
        last_digit = 2 * given.format.unit_roundoff
    if not abs(total - 1) <= max(_SUM_OFF, math.sqrt(last_digit)):
        raise ArgumentError(f"p: their sum is {total}, 1 is needed")
    return given


def _with_replacement(
    generator: Philox, uniform: Any, n: int, count: int, weights: Array | None, queue: Queue
) -> Any:
    if weights is None:
        out = creation.new((count,), np.dtype("int64"), queue, "choice")
        assert isinstance(out, Numbers)
        stream, first = generator.reserve(count, BLOCK)
        launch.fill_integers(stream, first, 0, n, out)
        return wrapped(out)
    # Sums of a scan may fall by their rounding: in order, each of them has its share.
    (possible,) = sorting.nonzero(weights)
    sums = sorting.sort(statistics.cumulative_sum(manipulation.take(weights, possible)))
    drawn = uniform(count, weights.format, weights.queue)
    found = sorting.searchsorted(sums / sums[-1], drawn, side="right")
    return manipulation.take(possible, found)


def _without_replacement(
    generator: Philox, uniform: Any, n: int, count: int, weights: Array | None, queue: Queue
) -> Any:
    possible = n if weights is None else int(statistics.count_nonzero(weights))
    if count > possible:
        raise ArgumentError(
            f"size: {count} asked for without replacement, there are {possible} to choose from"
        )
    if weights is None:
        return wrapped(orders(generator, 1, n, queue).view_as((n,)))[:count].copy()
    # Whose exponentially distributed time comes first, at a rate of its weight.
    drawn = uniform(n, weights.format, weights.queue)
    times = -functions.log1p(-drawn) / weights
    never = elementwise.equal(weights, 0)
    late = elementwise.where(never, creation.full_like(weights, math.inf), times)
    return sorting.argsort(late)[:count].copy()
