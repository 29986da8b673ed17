"""Sorting, searching and sets."""

import math
from typing import Any, NamedTuple

import numpy as np

from portmp.arrays import creation, elementwise, indexing, manipulation, statistics, typed
from portmp.arrays.complexes import is_complex
from portmp.arrays.dtypes import BOOL
from portmp.arrays.typed import Keeping, PlainArray
from portmp.arrays.viewed import AnyArray, called, everywhere, integers, wrapped
from portmp.errors import ArgumentError, ShapeError, choice
from portmp.routines import axes
from portmp.routines.moves import launch as moves
from portmp.routines.order import launch as order
from portmp.routines.plain import launch as plain
from portmp.routines.scan import launch as scan
from portmp.runtime.planes import Numbers, View, allocate_numbers, upload_numbers

__all__ = ["argpartition", "argsort", "argwhere", "flatnonzero", "intersect1d", "isin", "lexsort"]
__all__ += ["nonzero", "partition", "searchsorted", "setdiff1d", "setxor1d", "sort", "union1d"]
__all__ += ["unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "where"]

# --- orders ---------------------------------------------------------------------------------------


def _ordered(
    x: AnyArray, axis: int | None, descending: bool, name: str = "sort"
) -> tuple[View[Any], Numbers, int]:
    """The rows that are sorted, the order of each, and the axis they run along."""
    view = x.planes
    if not view.ndim:
        raise ShapeError(f"{name}: one axis at least is needed")
    (along,) = axes.named(0 if axis is None else axis, view.ndim, f"{name}: axis", count=1)
    rows, _ = axes.rows(view, (along,), moves.dense)
    return rows, order.argsort(rows, descending), along


def _turned(found: View[Any], x: AnyArray, along: int) -> Any:
    """Rows with x's shape, whose axis they run along."""
    shape = [n for i, n in enumerate(x.shape) if i != along]
    return manipulation.moveaxis(wrapped(found.view_as((*shape, found.shape[1]))), -1, along)


def _sorting(name: str, about: str) -> Any:
    def in_order(
        x: AnyArray,
        /,
        axis: int | None = -1,
        *,
        descending: bool = False,
        stable: bool = True,
        kind: str | None = None,
    ) -> Any:
        if kind is not None:
            choice(f"{name}: kind", kind, ("quicksort", "mergesort", "heapsort", "stable"))
        x = manipulation.checked(x, "x")
        x = manipulation.ravel(x) if axis is None else x
        if is_complex(x) and x.ndim:
            along = -1 if axis is None else axis
            found = _by_keys(_keys(x), along, descending)
            return (
                found if name == "argsort" else manipulation.take_along_axis(x, found, axis=along)
            )
        rows, places, along = _ordered(x, axis, descending, name)
        return _turned(places if name == "argsort" else _in_order(rows, places), x, along)

    return called(in_order, name, about)


argsort: typed.Sorted = _sorting(
    "argsort",
    """The indices (int64) that sort along an axis (None: all elements in C order).

    Always stable: equal elements keep their places. NaN is greater than all. Complex numbers are in
    NumPy's order: by real parts, then by imaginary ones; behind all others those with a NaN.
    """,
)
sort: Keeping = _sorting("sort", "The elements in order along an axis, in memory of their own.")


def _in_order(rows: View[Any], places: Numbers) -> View[Any]:
    steps = (
        plain.apply("mul", [places, rows.strides[1]], "int64") if rows.strides[1] != 1 else places
    )
    return moves.gathered(rows, steps, rows.shape, (rows.strides[0], 0))


@typed.gives(typed.PlainArray)
def searchsorted(x1: Any, x2: Any, /, side: str = "left", *, sorter: AnyArray | None = None) -> Any:
    """How many elements of the sorted vector x1 (or sorted by *sorter*) stand before each of x2.

    *side*: ``left``, or ``right``, where equal ones count, too. Complex ones: in ``sort``'s order.
    """
    choice("searchsorted: side:", side, ("left", "right"))
    x1, x2 = elementwise.as_arrays([x1, x2], ("searchsorted: x1", "searchsorted: x2"))
    if x1.ndim != 1:
        raise ShapeError(f"searchsorted: x1: a vector is needed, shape {x1.shape} given")
    first, second = elementwise.views("searchsorted", [x1, x2])
    known = first if sorter is None else first[sorter]
    if is_complex(known):
        return _places_among(known, second, side == "right")
    return wrapped(order.searchsorted(known.planes, second.planes, side == "right"))


def _places_among(known: AnyArray, x: AnyArray, right: bool) -> Any:
    """``searchsorted`` of complex numbers: by the order of both, where equal ones stay in order."""
    parts = [known, manipulation.ravel(x)] if right else [manipulation.ravel(x), known]
    first = parts[0].size
    order = argsort(manipulation.concat(parts))
    is_known = elementwise.less(order, first) if right else elementwise.greater_equal(order, first)
    before = statistics.cumulative_sum(is_known, dtype="int64")[argsort(order)]
    return (before[first:] if right else before[:first]).reshape(x.shape)


# --- where ----------------------------------------------------------------------------------------


def nonzero(x: AnyArray, /) -> tuple[PlainArray, ...]:
    """The indices (int64) of elements other than zero, for each axis, in C order.

    Waits for the device.
    """
    view = manipulation.checked(x, "x").planes
    if not view.ndim:
        raise ShapeError("nonzero: one axis at least is needed")
    truth: Any = elementwise.as_dtype(view, BOOL)
    found: list[Any] = indexing.positions(truth, view.queue)
    return tuple(map(wrapped, found))


@typed.as_(typed.Chosen)
@everywhere
def where(condition: AnyArray, x1: Any = None, x2: Any = None, /) -> Any:
    """x1 where *condition* is true, else x2, with broadcasting; without both ``nonzero``."""
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ArgumentError("where: one of x1 and x2 given; both are needed, or none")
    return elementwise.where(condition, x1, x2)


@typed.gives(typed.PlainArray)
def argwhere(x: AnyArray) -> Any:
    """The indices (int64) of elements other than zero, a row (n, ndim) for each element."""
    return manipulation.stack(nonzero(x), axis=1)


def flatnonzero(x: AnyArray) -> PlainArray:
    """The indices of elements other than zero among all, in C order. Waits for the device."""
    return nonzero(manipulation.ravel(x))[0]


# --- sets -----------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """Different values, where each is first found, which each element is, and how often."""

    values: Any
    indices: PlainArray
    inverse_indices: PlainArray
    counts: PlainArray


class UniqueCounts(NamedTuple):
    """Different values, and how often each is there."""

    values: Any
    counts: PlainArray


class UniqueInverse(NamedTuple):
    """Different values, and which of them each element is."""

    values: Any
    inverse_indices: PlainArray


def unique_all(x: AnyArray, /) -> UniqueAll:
    """Different values in order, with all that is known of them; each NaN differs.

    Waits for the device.
    """
    return _of_all(x, equal_nan=False)


def _of_all(x: AnyArray, equal_nan: bool) -> UniqueAll:
    x = manipulation.checked(x, "x")
    found = _unique(manipulation.ravel(x), equal_nan)
    return found._replace(inverse_indices=found.inverse_indices.reshape(x.shape))


def _keys(x: AnyArray) -> list[Any]:
    """What puts different values in an order, the last one first: NumPy's order of complex ones."""
    return [x.imag, x.real, elementwise.isnan(x)] if is_complex(x) else [x]


def _unique(x: AnyArray, equal_nan: bool) -> UniqueAll:
    """Of a vector, or of the rows of a matrix: in lexicographic order."""
    n, queue = len(x), x.queue
    if not n:
        none = wrapped(allocate_numbers("int64", (0,), queue))
        return UniqueAll(x.copy(), none, none.copy(), none.copy())
    if x.ndim == 1:
        places = argsort(x)
    elif x.shape[1]:
        places = lexsort(list(reversed(manipulation.unstack(x, axis=1))))
    else:
        places = creation.arange(n, device=queue)
    values = x[places]
    new = allocate_numbers("bool", (n,), queue)
    moves.copied(upload_numbers(np.array([True]), queue), new.view((1,), (1,), 0))
    differ = elementwise.not_equal(values[1:], values[:-1])
    if x.ndim > 1:
        differ = statistics.any(differ, axis=1)
    elif equal_nan:
        unknown = elementwise.isnan(values)
        both = elementwise.logical_and(unknown[1:], unknown[:-1])
        differ = elementwise.logical_and(differ, ~both)
    moves.copied(differ.planes, new.view((n - 1,), (1,), 1))
    rank = allocate_numbers("int64", (1, n), queue)
    scan.over_rows("add", plain.apply("copy", [new.view_as((1, n))], "int64"), rank)
    rank = plain.apply("sub", [rank.view_as((n,)), 1], "int64")
    inverse = allocate_numbers("int64", (n,), queue)
    moves.scattered(rank, inverse, places.planes, (n,), (0,))
    (starts,) = nonzero(wrapped(new))
    ends = manipulation.concat([starts[1:], wrapped(upload_numbers(np.array([n]), queue))])
    return UniqueAll(values[starts], places[starts], wrapped(inverse), ends - starts)


def unique_counts(x: AnyArray, /) -> UniqueCounts:
    """Different values in order, and how often each is there. Waits for the device."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: AnyArray, /) -> UniqueInverse:
    """Different values in order, and which of them each element is. Waits for the device."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@typed.keeps
def unique_values(x: AnyArray, /) -> Any:
    """Different values in order. Waits for the device."""
    return unique_all(x).values


@typed.as_(typed.Different)
def unique(
    x: AnyArray,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """Different values in order; with NumPy's options a tuple of what they ask for.

    Waits for the device.

    NaN counts once, unless *equal_nan* is false. Along an *axis*: its different parts, in
    lexicographic order, where each NaN of rows differs.
    """
    x = manipulation.checked(x, "x")
    if axis is None:
        found = _of_all(x, equal_nan)
    else:
        rows = manipulation.moveaxis(x, axis, 0)
        rest = rows.shape[1:]
        flat = rows.reshape(len(rows), math.prod(rest)) if rest else rows
        found = _unique(flat, equal_nan)
        values = found.values.reshape(len(found.values), *rest)
        found = found._replace(values=manipulation.moveaxis(values, 0, axis))
    asked = (return_index, return_inverse, return_counts)
    more = [part for part, wanted in zip(found[1:], asked, strict=True) if wanted]
    return (found.values, *more) if more else found.values


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> PlainArray:
    """Which elements of x1 are among those of x2."""
    first, second = elementwise.views("isin", [x1, x2])
    known = sort(manipulation.ravel(second))
    places = searchsorted(known, first)
    if not known.size:
        found = elementwise.less(places, 0)
    else:
        there = known[elementwise.minimum(places, known.size - 1)]
        found = elementwise.equal(there, first)
    return elementwise.logical_not(found) if invert else found


@typed.meets
def union1d(x1: Any, x2: Any, /) -> Any:
    """The values that one of two arrays has, in order. Waits for the device."""
    first, second = elementwise.views("union1d", [x1, x2])
    return unique(manipulation.concat([first, second], axis=None))


@typed.meets
def intersect1d(x1: Any, x2: Any, /) -> Any:
    """The values that both of two arrays have, in order. Waits for the device."""
    first, second = elementwise.views("intersect1d", [x1, x2])
    found = unique_values(first)
    return found[isin(found, second)]


@typed.meets
def setdiff1d(x1: Any, x2: Any, /) -> Any:
    """The values of the first array that the second has not, in order. Waits for the device."""
    first, second = elementwise.views("setdiff1d", [x1, x2])
    found = unique(first)
    return found[isin(found, second, invert=True)]


@typed.meets
def setxor1d(x1: Any, x2: Any, /) -> Any:
    """The values that exactly one of two arrays has, in order. Waits for the device."""
    first, second = elementwise.views("setxor1d", [x1, x2])
    return union1d(setdiff1d(first, second), setdiff1d(second, first))


# --- orders by NumPy's names ----------------------------------------------------------------------


@typed.gives(typed.PlainArray)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices (int64) that sort by the last key, equal ones by the one before it, and so on."""
    several = isinstance(keys, (list, tuple)) or elementwise.arrayed(keys, "lexsort: keys").ndim > 1
    arrays = [manipulation.checked(key, "lexsort: keys") for key in (keys if several else [])]
    if not arrays or any(x.shape != arrays[0].shape for x in arrays):
        raise ShapeError(
            f"lexsort: keys of one shape are needed, {[x.shape for x in arrays]} given"
        )
    return _by_keys(arrays, axis)


def _by_keys(keys: list[Any], axis: int, descending: bool = False) -> Any:
    found = argsort(keys[0], axis, descending=descending)
    for key in keys[1:]:
        step = argsort(
            manipulation.take_along_axis(key, found, axis=axis), axis, descending=descending
        )
        found = manipulation.take_along_axis(found, step, axis=axis)
    return found


@typed.keeps
def partition(x: Any, kth: Any, /, axis: int | None = -1) -> Any:
    """The elements with the kth in its sorted place, smaller ones before it, larger ones behind.

    All are sorted, as by ``sort``.
    """
    _check_places(x, kth, axis)
    return sort(x, axis)


@typed.gives(typed.PlainArray)
def argpartition(x: Any, kth: Any, /, axis: int | None = -1) -> Any:
    """The indices (int64) of ``partition``: those of ``argsort``."""
    _check_places(x, kth, axis)
    return argsort(x, axis)


def _check_places(x: Any, kth: Any, axis: int | None) -> None:
    """Errors for places that are no integers, or beyond an axis' ends."""
    n = np.size(x) if axis is None else np.shape(x)[axes.named(axis, np.ndim(x), count=1)[0]]
    for place in integers(
        (kth.tolist() if isinstance(kth, np.ndarray) else kth,), "partition: kth"
    ):
        if not -n <= place < n:
            raise ArgumentError(f"partition: kth: {place} given, from {-n} to {n - 1} is allowed")
