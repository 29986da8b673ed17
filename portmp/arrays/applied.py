"""Functions of Python's applied to parts of arrays, and the facts and places of arrays, by NumPy's
names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from portmp.arrays import (
    arranging,
    complexes,
    composed,
    creation,
    elementwise,
    indexing,
    manipulation,
)
from portmp.arrays.viewed import Viewed
from portmp.errors import ArgumentError, ShapeError
from portmp.routines import axes


def apply_along_axis(function: Callable[..., Any], axis: int, x: Any, *args: Any, **kw: Any) -> Any:
    """What a function gives of each vector along an axis, in that axis' place.

    It is called for one vector after the other, so that each launches kernels of its own. Where the
    function takes an axis itself (``sum``, ``sort``, ``linalg.norm``), give it that: one launch.
    """
    given = manipulation.checked(x, "apply_along_axis: x")
    (along,) = axes.named(axis, given.ndim, count=1)
    turned = manipulation.moveaxis(given, along, -1)
    rest = turned.shape[:-1]
    if not turned.size:
        raise ShapeError(f"apply_along_axis: x: shape {given.shape} given, elements are needed")
    rows = turned.reshape(-1, turned.shape[-1])
    found = manipulation.stack(
        [manipulation.checked(function(row, *args, **kw), "apply_along_axis") for row in rows]
    )
    ndim = found.ndim - 1
    found = found.reshape((*rest, *found.shape[1:]))
    there = tuple(range(along, along + ndim))
    return manipulation.moveaxis(found, tuple(range(len(rest), len(rest) + ndim)), there)


def apply_over_axes(function: Callable[..., Any], x: Any, axes: int | Sequence[int]) -> Any:
    """A reduction along one axis after the other, each of which keeps length 1."""
    found = manipulation.checked(x, "apply_over_axes: x")
    for axis in (axes,) if isinstance(axes, int) else axes:
        reduced = function(found, axis)
        if reduced.ndim == found.ndim - 1:
            reduced = manipulation.expand_dims(reduced, axis)
        found = reduced
    return found


class vectorize:
    """A function of numbers as one of arrays, which broadcast: called for each element in turn.

    It gets elements as arrays of shape (), with all their digits, and launches its kernels for each
    of them. Functions that take arrays need no ``vectorize``; ``where`` chooses between what two of
    them give, ``piecewise`` and ``select`` among several: in few launches.
    """

    def __init__(self, pyfunc: Callable[..., Any], otypes: Any = None, doc: str | None = None):
        if not callable(pyfunc):
            raise ArgumentError(f"pyfunc: {type(pyfunc).__name__} given, a function is needed")
        self.pyfunc, self.otypes = pyfunc, otypes
        self.__doc__ = pyfunc.__doc__ if doc is None else doc

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        arrays = manipulation.broadcast_arrays(
            *(manipulation.checked(x, "vectorize") for x in arguments)
        )
        shape = arrays[0].shape
        flat = [manipulation.ravel(x) for x in arrays]
        if not flat[0].size:
            raise ShapeError(f"vectorize: shape {shape} given, elements are needed")
        found = [self.pyfunc(*items, **options) for items in zip(*flat, strict=True)]
        if not isinstance(found[0], tuple):
            return self._made(found, shape)
        return tuple(self._made(list(one), shape) for one in zip(*found, strict=True))

    def _made(self, found: list[Any], shape: tuple[int, ...]) -> Any:
        made = creation.asarray(found).reshape(shape)
        return made if self.otypes is None else made.astype(self.otypes[0], copy=False)


# --- facts and places -----------------------------------------------------------------------------


def ndim(a: Any) -> int:
    """Number of axes."""
    return a.ndim if isinstance(a, Viewed) else np.ndim(a)


def shape(a: Any) -> tuple[int, ...]:
    """Lengths of the axes."""
    return a.shape if isinstance(a, Viewed) else np.shape(a)


def size(a: Any, axis: int | None = None) -> int:
    """Number of elements, or length of an axis."""
    lengths = shape(a)
    return math.prod(lengths[i] for i in axes.named(axis, len(lengths), "size: axis"))


def isreal(x: Any) -> Any:
    """Whether each element has no imaginary part but 0."""
    return elementwise.equal(composed.imag(manipulation.checked(x, "isreal: x")), 0)


def iscomplex(x: Any) -> Any:
    """Whether each element has an imaginary part other than 0."""
    return elementwise.not_equal(composed.imag(manipulation.checked(x, "iscomplex: x")), 0)


def isscalar(element: Any) -> bool:
    """Whether something is a number or a text, and no array, not even one of shape ()."""
    return elementwise.is_number(element) and not isinstance(element, np.ndarray)


def iterable(y: Any) -> bool:
    """Whether something gives its parts one by one."""
    return bool(y.ndim) if isinstance(y, Viewed) else np.iterable(y)


def iscomplexobj(x: Any) -> bool:
    """Whether something has complex numbers."""
    return complexes.is_complex(x) if isinstance(x, Viewed) else np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """Whether something has no complex numbers."""
    return not iscomplexobj(x)


def shares_memory(a: Any, b: Any) -> bool:
    """Whether two arrays lie, as far as their first and last elements say, in the same memory."""
    one, two = manipulation.checked(a, "a"), manipulation.checked(b, "b")
    if one.planes.buffers[0] is not two.planes.buffers[0] or not one.size or not two.size:
        return False
    return bool(one.planes.overlaps(two.planes))


may_share_memory = shares_memory


def ndenumerate(x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Indices and elements, in C order."""
    given = manipulation.checked(x, "x")
    return zip(np.ndindex(*given.shape), manipulation.ravel(given), strict=True)


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    """The indices of all elements of a shape, in C order."""
    return iter(np.ndindex(*shape))


def nditer(x: Any) -> Iterator[Any]:
    """The elements, in C order; NumPy's flags and several operands are not here."""
    return iter(manipulation.ravel(manipulation.checked(x, "x")))


def unravel_index(indices: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """Indices along each axis (int64) of places in C order."""
    found = arranging.placed(
        "unravel_index",
        np.unravel_index,
        indexing.on_host(indices, "unravel_index: indices"),
        tuple(shape),
    )
    return _like(found, indices)


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: Literal["raise", "wrap", "clip"] = "raise",
) -> Any:
    """The places in C order (int64) of indices along each axis."""
    arrays = tuple(indexing.on_host(i, "ravel_multi_index: multi_index") for i in multi_index)
    found = arranging.placed("dims", np.ravel_multi_index, arrays, tuple(dims), mode)
    known = next((i for i in multi_index if isinstance(i, Viewed)), None)
    return _like((found,), known)[0]


def _like(found: Sequence[Any], given: Any) -> tuple[Any, ...]:
    """Integers of the host, as arrays where these were asked with; single ones as numbers."""
    if not isinstance(given, Viewed) or not given.ndim:
        return tuple(int(x) if np.ndim(x) == 0 else creation.asarray(np.int64(x)) for x in found)
    return tuple(creation.asarray(np.asarray(x, np.int64), device=given.queue) for x in found)


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """A dense array: itself, if it is one."""
    made = creation.asarray(a, dtype=dtype)
    return made if made.planes.contiguous else made.copy()
