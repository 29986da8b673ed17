"""``add.reduce``, ``maximum.accumulate``, ``add.reduceat``, ``subtract.outer``, ``add.at``: as
NumPy's functions have them.

``reduce`` is there where the order of the operations is defined: sums, products, extrema, truth,
bits.
"""

import functools
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from portmp.arrays import composed, creation, elementwise, indexing, manipulation, statistics
from portmp.arrays.viewed import AnyArray, Viewed
from portmp.errors import ArgumentError, PlaceError, ShapeError
from portmp.routines import axes

REDUCED: dict[str, Callable[..., Any]] = {
    "add": statistics.sum,
    "multiply": statistics.prod,
    "maximum": statistics.max,
    "minimum": statistics.min,
    "logical_and": statistics.all,
    "logical_or": statistics.any,
}
"""What ``reduce`` is, along axis 0 where no other is named."""
FOLDED = ("bitwise_and", "bitwise_or", "bitwise_xor", "logical_xor")
"""What has a ``reduce``, too: bits and truth values, for which the order does not matter."""
RUNNING: dict[str, Callable[..., Any]] = {
    "add": statistics.cumulative_sum,
    "multiply": statistics.cumulative_prod,
}
"""What ``accumulate`` is; of extrema it is worked out here."""
EXTREMA = ("maximum", "minimum")
BINARY: dict[str, Callable[..., Any]] = {
    name: getattr(elementwise, name)
    for name, row in elementwise.FUNCTIONS.items()
    if row.arity == 2
} | {name: getattr(composed, name) for name in ("floor_divide", "remainder", "power")}
"""Functions of two operands, which have ``outer`` and ``at``."""


def reduced(name: str) -> Callable[..., Any]:
    """The reduction by a function."""

    def reduce(
        x: Any,
        axis: Any = 0,
        *,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        given = manipulation.checked(x, f"{name}.reduce: x")
        if name in FOLDED:
            if not (dtype is None and initial is None and where is True):
                raise ArgumentError(f"{name}.reduce: dtype, initial and where are not taken")
            return _folded(BINARY[name], given, axis, keepdims)
        options = {"dtype": dtype, "initial": initial}
        asked = {option: value for option, value in options.items() if value is not None}
        return REDUCED[name](given, axis=axis, keepdims=keepdims, where=where, **asked)

    return _named(reduce, name)


def _folded(function: Callable[..., Any], x: AnyArray, axis: Any, keepdims: bool) -> Any:
    """A reduction in halves, of a function for which the order does not matter."""
    over = axes.named(axis, x.ndim)
    if 0 in [x.shape[i] for i in over]:
        raise ShapeError(f"{function.__name__}.reduce: an empty array has none")
    for along in over:
        ahead = (slice(None),) * along
        while (n := x.shape[along]) > 1:
            lower, upper = x[(*ahead, slice(n // 2))], x[(*ahead, slice(n - n // 2, n))]
            folded = function(lower, upper)
            middle = x[(*ahead, slice(n // 2, n - n // 2))]
            x = manipulation.concat([folded, middle], axis=along) if n % 2 else folded
    return x if keepdims else manipulation.squeeze(x, axis=over)


def running(name: str) -> Callable[..., Any]:
    """The running results of a function along an axis."""

    def accumulate(x: Any, axis: int = 0, *, dtype: Any = None) -> Any:
        given = manipulation.checked(x, f"{name}.accumulate: x")
        if name in RUNNING:
            return RUNNING[name](given, axis=axis, dtype=dtype)
        if not given.ndim:
            raise ShapeError(f"{name}.accumulate: one axis at least is needed")
        if dtype is not None:
            given = given.astype(dtype)
        return _extremes(BINARY[name], given, axes.named(axis, given.ndim, count=1)[0])

    return _named(accumulate, name)


def _extremes(function: Callable[..., Any], x: AnyArray, along: int) -> Any:
    """Running extrema: each step looks twice as far back, and none of them rounds."""
    found = manipulation.moveaxis(x.copy(), along, -1)
    reach = 1
    while reach < found.shape[-1]:
        further = found.copy()
        further[..., reach:] = function(found[..., reach:], found[..., :-reach])
        found, reach = further, 2 * reach
    return manipulation.moveaxis(found, -1, along)


def parts(name: str) -> Callable[..., Any]:
    """The reductions of parts of an axis."""

    def reduceat(x: Any, indices: Any, axis: int = 0, *, dtype: Any = None) -> Any:
        """The reductions from each index to the next, the last to the end; of one that is not
        below the next the element there. Each is a launch of its own."""
        given = manipulation.checked(x, f"{name}.reduceat: x")
        (along,) = axes.named(axis, given.ndim, count=1)
        starts, n = indexing.on_host(indices, f"{name}.reduceat: indices"), given.shape[along]
        if starts.ndim != 1 or starts.dtype.kind not in "iu" or not starts.size:
            raise ArgumentError(f"{name}.reduceat: indices: a vector of integers is needed")
        if not 0 <= starts.min() <= starts.max() < n:
            raise PlaceError(
                f"{name}.reduceat: indices from {starts.min()} to {starts.max()}, size {n}"
            )
        turned = manipulation.moveaxis(given, along, 0)
        ends = np.append(starts[1:], n)
        found = [
            reduced(name)(turned[first : max(first + 1, last)], dtype=dtype)
            for first, last in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
        return manipulation.moveaxis(manipulation.stack(found), 0, along)

    return _named(reduceat, name)


def outer(name: str) -> Callable[..., Any]:
    """A function of all elements of one operand with all of another."""

    def outer(x1: Any, x2: Any) -> Any:
        first, second = (manipulation.checked(x, f"{name}.outer") for x in (x1, x2))
        return BINARY[name](first.reshape((*first.shape, *[1] * second.ndim)), second)

    return _named(outer, name)


def at(name: str) -> Callable[..., Any]:
    """A function in place at indices, of which one may come several times, in their order.

    Each time is a round of its own, in which every place is used once at most: of what comes k
    times some 4 k kernels are launched. Sums of many values at few places are much faster by
    ``bincount`` with weights.
    """

    def at(a: AnyArray, indices: Any, b: Any) -> None:
        a = elementwise.written(a, f"{name}.at: a")
        key = indices if isinstance(indices, tuple) else (indices,)
        what = f"{name}.at: indices"
        key = tuple(indexing.on_host(x, what) if isinstance(x, Viewed) else x for x in key)
        if not all(_whole(part) for part in key):
            # Slices and truth values name an element once.
            a[indices] = BINARY[name](a[indices], b)
            return
        lists = np.broadcast_arrays(*(np.asarray(part) for part in key))
        if len(lists) > a.ndim:
            raise PlaceError(f"{name}.at: {len(lists)} indices given, a has {a.ndim} axes")
        for part, n in zip(lists, a.shape, strict=False):
            if part.size and not (-n <= part.min() and part.max() < n):
                raise PlaceError(f"{name}.at: indices from {part.min()} to {part.max()}, size {n}")
        flat = [
            np.where(part < 0, part + n, part).ravel()
            for part, n in zip(lists, a.shape, strict=False)
        ]
        rest = a.shape[len(flat) :]
        values = b if isinstance(b, Viewed) else creation.asarray(b, device=a.queue)
        spread = manipulation.broadcast_to(values, (*lists[0].shape, *rest))
        spread = spread.reshape((lists[0].size, *rest))
        if not lists[0].size:
            return
        places = np.ravel_multi_index(tuple(flat), a.shape[: len(flat)])
        for chosen in _rounds(places):
            there = tuple(part[chosen] for part in flat)
            a[there] = BINARY[name](a[there], spread[chosen])

    return _named(at, name)


def _rounds(places: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Which entries come first at their place, which second, and so on."""
    order = np.argsort(places, kind="stable")
    arranged = places[order]
    starts = np.flatnonzero(np.r_[True, arranged[1:] != arranged[:-1]])
    turn = np.arange(places.size) - np.repeat(starts, np.diff(np.r_[starts, places.size]))
    return [order[turn == k] for k in range(int(turn.max()) + 1)]


def _whole(part: Any) -> bool:
    """Whether a part of a key is an integer, or an array or a list of them."""
    if isinstance(part, (slice, type(None), type(Ellipsis))):
        return False
    return np.asarray(part).dtype.kind in "iu"


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The method of a function, with *out*."""

    @functools.wraps(function)
    def method(*operands: Any, out: Any = None, **options: Any) -> Any:
        found = function(*operands, **options)
        return found if out is None else elementwise.given_back(found.planes, out)

    method.__qualname__ = f"{name}.{function.__name__}"
    return method


METHODS: dict[Callable[[str], Callable[..., Any]], Collection[str]] = {
    reduced: (*REDUCED, *FOLDED),
    running: (*RUNNING, *EXTREMA),
    parts: REDUCED,
    outer: BINARY,
    at: BINARY,
}
"""What makes methods, and the functions that have them."""

for _made, _names in METHODS.items():
    for _name in _names:
        _method = _made(_name)
        setattr(BINARY[_name], _method.__name__, _method)
