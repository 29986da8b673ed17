"""More arrangements of elements by NumPy's names: stacks, blocks, turns, grids, parts left out."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portmp.arrays import (
    complexes,
    composed,
    creation,
    dtypes,
    elementwise,
    functions,
    indexing,
    manipulation,
    typed,
)
from portmp.arrays.creation import Where
from portmp.arrays.products import diag
from portmp.arrays.viewed import AnyArray, Viewed, called, integers
from portmp.errors import ArgumentError, PlaceError, ShapeError
from portmp.formats import constants
from portmp.routines import axes as named_axes

__all__ = ["atleast_3d", "block", "copy", "delete", "diag_indices", "diagflat", "dsplit", "dstack"]
__all__ += ["fill_diagonal", "fromfunction", "geomspace", "hsplit", "indices", "insert", "ix_"]
__all__ += ["logspace", "resize", "rot90", "tri", "tril_indices", "trim_zeros", "triu_indices"]
__all__ += ["vsplit"]


def _arrays(given: Any, what: str) -> list[Any]:
    """Arrays of a sequence, or of an array's first axis."""
    if not isinstance(given, (list, tuple, Viewed)):
        raise ArgumentError(f"{what}: {type(given).__name__} given, a list of arrays is needed")
    numbers = isinstance(given, (list, tuple)) and given and all(map(elementwise.is_number, given))
    made = list(creation.asarray(given) if numbers else given)
    if not made:
        raise ArgumentError(f"{what}: no arrays given")
    return elementwise.as_arrays(made, what)


@typed.keeps
def copy(a: Any) -> Any:
    """A dense copy."""
    return manipulation.checked(a, "a").copy()


@typed.as_(typed.Widened)
def atleast_3d(x: Any, *more: Any) -> Any:
    """The view with three axes at least: vectors as (1, n, 1), matrices as (m, n, 1).

    Of several arrays a tuple.
    """
    if more:
        return tuple(map(atleast_3d, (x, *more)))
    given = manipulation.checked(x, "x")
    if given.ndim < 2:
        return given.reshape(1, given.size, 1)
    return given[:, :, None] if given.ndim == 2 else given


@typed.joins
def dstack(arrays: Any) -> Any:
    """Arrays one after the other along the third axis."""
    return manipulation.concat([atleast_3d(x) for x in _arrays(arrays, "dstack")], axis=2)


def _splitting(name: str, axis: int, about: str) -> Any:
    def split(x: AnyArray, parts: int | Sequence[int]) -> list[Any]:
        x = manipulation.checked(x, "x")
        least = 1 if name == "hsplit" else max(2, axis + 1)
        if x.ndim < least:
            raise ShapeError(f"{name}: {least} axes at least are needed, shape {x.shape} given")
        return manipulation.split(x, parts, min(axis, x.ndim - 1))

    return called(split, name, about)


hsplit: typed.Cutting = _splitting(
    "hsplit", 1, "Parts along the second axis, of vectors along the only one."
)
vsplit: typed.Cutting = _splitting("vsplit", 0, "Parts along the first axis.")
dsplit: typed.Cutting = _splitting("dsplit", 2, "Parts along the third axis.")


def block(arrays: Any) -> Any:
    """Nested lists of arrays as one: the innermost along the last axis, and so on outwards."""

    def depth(given: Any) -> int:
        return 1 + max(map(depth, given)) if isinstance(given, list) and given else 0

    def joined(given: Any, level: int) -> Any:
        if level == 0:
            return given.reshape((1,) * (most - given.ndim) + given.shape)
        if not isinstance(given, list) or not given:
            raise ArgumentError("block: lists of one depth are needed, none of them empty")
        return manipulation.concat([joined(x, level - 1) for x in given], axis=-level)

    def leaves(given: Any) -> list[Any]:
        return [x for part in given for x in leaves(part)] if isinstance(given, list) else [given]

    levels = depth(arrays)
    if not leaves(arrays):
        raise ArgumentError("block: no arrays given")
    made = elementwise.as_arrays(leaves(arrays), "block")
    most, each = max(levels, *(x.ndim for x in made)), iter(made)

    def filled(given: Any) -> Any:
        return [filled(x) for x in given] if isinstance(given, list) else next(each)

    return joined(filled(arrays), levels)


@typed.keeps
def rot90(x: AnyArray, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """The array turned k times by 90 degrees in the plane of two axes, from the first to the
    second: a view.
    """
    x = manipulation.checked(x, "x")
    (turns,) = integers((k,), "k", count=1)
    plane = named_axes.named(axes, x.ndim, "rot90: axes", count=2)
    if turns % 2:
        return manipulation.flip(manipulation.swapaxes(x, *plane), axis=plane[turns % 4 == 3])
    return manipulation.flip(x, axis=plane) if turns % 4 else x


@typed.keeps
def resize(x: Any, new_shape: int | Sequence[int]) -> Any:
    """The elements in C order, again and again, as an array of another shape."""
    given = manipulation.ravel(manipulation.checked(x, "x"))
    shape = tuple(integers((new_shape,), "new_shape"))
    if any(n < 0 for n in shape):
        raise ShapeError(f"resize: new_shape: {shape} given, lengths from 0 on are allowed")
    count = math.prod(shape)
    if not given.size:
        return creation.zeros(shape, given.dtype, given.queue)
    return manipulation.tile(given, -(-count // given.size))[:count].reshape(shape)


@typed.keeps
def trim_zeros(x: Any, trim: str = "fb") -> Any:
    """A vector without zeros at its front (*trim* has f), its back (b), or both: a view.

    Waits for the device.
    """
    given = manipulation.checked(x, "x")
    if not isinstance(trim, str):
        raise ArgumentError(f"trim_zeros: trim: {trim!r:.40} given, 'f', 'b' or both are needed")
    if given.ndim != 1:
        raise ShapeError(f"trim_zeros: a vector is needed, shape {given.shape} given")
    kept = np.flatnonzero(np.asarray(elementwise.not_equal(given, 0)))
    if not len(kept):
        return given[:0]
    first = int(kept[0]) if "f" in trim.lower() else 0
    last = int(kept[-1]) + 1 if "b" in trim.lower() else given.size
    return given[first:last]


@typed.keeps
def delete(x: Any, obj: Any, axis: int | None = None) -> Any:
    """A copy without the parts along an axis that integers, a slice or truth values name.

    Without an axis of all elements in C order.
    """
    given, along = _along(x, axis, "delete")
    kept = placed("delete", np.delete, np.arange(given.shape[along]), _key(obj, "delete"))
    return manipulation.take(given, kept, axis=along)


@typed.keeps
def insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """A copy with *values* before the places along an axis that an integer, or some, name.

    Places are those of x. Without an axis of all elements in C order.
    """
    given, along = _along(elementwise.near(x, values), axis, "insert")
    n, key = given.shape[along], _key(obj, "insert")
    if isinstance(key, np.ndarray) and key.dtype.kind == "b":
        if key.shape != (n,):
            raise PlaceError(f"insert: obj: truth values of shape {key.shape} given, ({n},) needed")
        key = np.flatnonzero(key)
    more = elementwise.beside_one(values, given, given.dtype, "insert: values")
    more = more.reshape((1,) * (given.ndim - more.ndim) + more.shape)
    one = not isinstance(key, slice) and np.ndim(key) == 0
    if one:
        # At one place a list's items are parts one after the other.
        more = manipulation.moveaxis(more, 0, along)
        count = more.shape[along]
    else:
        count = np.arange(n)[key].size if isinstance(key, slice) else np.size(key)
    shape = tuple(count if i == along else m for i, m in enumerate(given.shape))
    both = manipulation.concat([given, manipulation.broadcast_to(more, shape)], axis=along)
    order = placed("insert", np.insert, np.arange(n), key, np.arange(n, n + count))
    return manipulation.take(both, order, axis=along)


def placed(what: str, function: Callable[..., Any], *given: Any) -> Any:
    """What one of NumPy's functions makes of places; PlaceError where it refuses them."""
    try:
        return function(*given)
    except (IndexError, TypeError, ValueError) as error:
        raise PlaceError(f"{what}: {error}") from None


def _key(obj: Any, what: str) -> Any:
    """Places on the host: a slice or an array."""
    return indexing.on_host(obj, f"{what}: obj")


def _along(x: Any, axis: int | None, what: str) -> tuple[Any, int]:
    """An array and the axis that is meant; without one its elements as a vector."""
    given = manipulation.checked(x, f"{what}: x")
    if axis is None:
        return manipulation.ravel(given), 0
    return given, named_axes.named(axis, given.ndim, count=1)[0]


def tri(
    n: int, m: int | None = None, k: int = 0, dtype: Any = None, *, device: Where = None
) -> Any:
    """Ones on and below a diagonal, the k-th above the main one, zeros above it."""
    kind = creation.chosen(None, dtype)
    return creation.tril(creation.ones((n, n if m is None else m), kind, device), k=k)


@typed.keeps
def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with these elements, in C order, on its k-th diagonal."""
    return diag(manipulation.ravel(manipulation.checked(v, "v")), k)


def fill_diagonal(a: AnyArray, val: Any) -> None:
    """Set the main diagonal of a matrix, or of a cube of any number of axes, in its memory."""
    a = elementwise.written(a, "fill_diagonal: a")
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ShapeError(
            f"fill_diagonal: a: a matrix or equal axes are needed, shape {a.shape} given"
        )
    n = min(a.shape)
    if not elementwise.is_number(val):
        val = resize(creation.asarray(elementwise.near(val, a), device=a.queue), n)
    a[(np.arange(n),) * a.ndim] = val


# --- grids ----------------------------------------------------------------------------------------


@typed.gives(tuple[typed.PlainArray, ...])
def ix_(*vectors: Any) -> tuple[Any, ...]:
    """Vectors of indices, each along an axis of its own: ``a[ix_(rows, columns)]``."""
    found = []
    for i, given in enumerate(vectors):
        x = indexing.on_host(given, f"ix_: argument {i}")
        x = np.flatnonzero(x) if x.dtype == bool else x.astype(np.int64) if not x.size else x
        if x.ndim != 1 or x.dtype.kind not in "iu":
            raise ArgumentError(f"ix_: argument {i}: integers or truths in a vector are needed")
        found.append(x)
    return tuple(map(creation.asarray, _crossed(found)))


def _crossed(lines: Sequence[Any]) -> list[Any]:
    """Vectors, each along an axis of its own."""
    return [
        x.reshape([x.size if j == i else 1 for j in range(len(lines))]) for i, x in enumerate(lines)
    ]


def _grid(lines: Sequence[Any], sparse: bool) -> Any:
    """Vectors as the coordinates of all points of a grid, or as open ones."""
    opened, shape = _crossed(lines), [x.size for x in lines]
    if sparse:
        return tuple(opened)
    return manipulation.stack([manipulation.broadcast_to(x, shape) for x in opened])


def indices(
    dimensions: Sequence[int], dtype: Any = int, sparse: bool = False, *, device: Where = None
) -> Any:
    """The indices of all elements of a shape: an array of those of each axis, or open grids."""
    sizes = integers((dimensions,), "dimensions")
    kind = dtypes.resolved(dtype)
    if not sizes and not sparse:
        return creation.zeros((0,), kind, device)
    return _grid([creation.arange(n, dtype=kind, device=device) for n in sizes], sparse)


def fromfunction(
    function: Callable[..., Any], shape: Sequence[int], *, dtype: Any = None, **options: Any
) -> Any:
    """What a function gives of the indices of all elements, as arrays of the default format."""
    if not callable(function):
        raise ArgumentError(f"fromfunction: function: {function!r:.60} given, which is none")
    kind = dtypes.resolved(dtype)
    return function(*indices(shape, kind), **options)


@typed.gives(typed.Array)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10,
    dtype: Any = None,
    *,
    device: Where = None,
) -> Any:
    """Powers of *base* whose exponents ``linspace`` gives; a format may follow *num*, as there."""
    endpoint, dtype = (True, endpoint) if creation.is_format(endpoint) else (endpoint, dtype)
    exponents = creation.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)
    return composed.power(base, exponents)


@typed.gives(typed.Array)
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    *,
    device: Where = None,
) -> Any:
    """*num* numbers of equal ratios from *start* to *stop*, which are of one sign: by logarithms.

    Element i is start e^(i log(stop / start) / d), d as of ``linspace``; the ends are exact.
    Between complex numbers, of any angle, that is a spiral, the shorter way round (half a turn:
    against the clock). Where the quotient leaves the format's range, it is that of numbers over
    powers of two. A format may follow *num*, as in ``linspace``.
    """
    endpoint, dtype = (True, endpoint) if creation.is_format(endpoint) else (endpoint, dtype)
    ends = creation.linspace(start, stop, 2, dtype=dtype, device=device)
    first, last = ends[0], ends[1]
    if not first.size:
        return creation.linspace(first, last, num, endpoint=endpoint)
    whole = complexes.is_complex(ends)
    size = elementwise.maximum(*map(abs, complexes.halves(ends))) if whole else ends
    sizes = size.to_limbs()[0].astype(np.float64)
    if not np.isfinite(sizes).all() or not sizes.all() or np.ptp(np.sign(sizes), axis=0).any():
        needed = "but 0 are" if whole else "of one sign are"
        raise ArgumentError(
            f"geomspace: start, stop: {start!s:.40}, {stop!s:.40} given, finite numbers "
            f"{needed} needed"
        )
    ratio, pieces = last / first, 1
    if composed.in_range(size[1] / size[0] if whole else ratio, least=True):
        wide = _log(ratio)
    else:
        power = composed.exponents(size)
        near, pieces = composed.times_powers(ends, -power), 2
        twos = (power[1] - power[0]).astype(size.dtype)
        wide = _log(near[1] / near[0]) / 2 + twos / 2 * constants.ln2
    factors = functions.exp(creation.linspace(wide * 0, wide, num, endpoint=endpoint))
    found = first * factors
    if pieces == 2:
        found = found * factors
    if num > 0:
        found[0] = first
    if num > 1 and endpoint:
        found[-1] = last
    return found


def _log(ratio: AnyArray) -> Any:
    """Its logarithm; where an imaginary part is -0, as of 0."""
    return functions.log(ratio + 0j if complexes.is_complex(ratio) else ratio)


# --- places of triangles and diagonals ------------------------------------------------------------


def _places(function: Callable[..., Any], device: Where, **sizes: Any) -> tuple[Any, ...]:
    """Arrays of integers that NumPy finds, on the device of what they are for."""
    for name, n in sizes.items():
        integers((0 if n is None else n,), f"{function.__name__}: {name}", count=1)
    return tuple(creation.asarray(x, dtype="int64", device=device) for x in function(**sizes))


@typed.gives(tuple[typed.PlainArray, typed.PlainArray])
def tril_indices(n: int, k: int = 0, m: int | None = None, device: Where = None) -> Any:
    """Rows and columns of a lower triangle of a matrix (n, m or n), up to the k-th diagonal."""
    return _places(np.tril_indices, device, n=n, k=k, m=m)


@typed.gives(tuple[typed.PlainArray, typed.PlainArray])
def triu_indices(n: int, k: int = 0, m: int | None = None, device: Where = None) -> Any:
    """The indices (rows, columns) of an upper triangle, from the k-th diagonal on."""
    return _places(np.triu_indices, device, n=n, k=k, m=m)


@typed.gives(tuple[typed.PlainArray, ...])
def diag_indices(n: int, ndim: int = 2, device: Where = None) -> Any:
    """The places of the diagonal of an array of *ndim* axes of length n."""
    return _places(np.diag_indices, device, n=n, ndim=ndim)
