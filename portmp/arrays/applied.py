"""Facts about arrays, and places of their elements, by NumPy's names."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from portmp.arrays import (
    arranging,
    complexes,
    composed,
    creation,
    elementwise,
    indexing,
    manipulation,
    typed,
)
from portmp.arrays.viewed import Viewed
from portmp.routines import axes

__all__ = ["ascontiguousarray", "iscomplex", "iscomplexobj", "isreal", "isrealobj", "isscalar"]
__all__ += ["ndim", "ndindex", "shape", "size", "unravel_index"]


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


@typed.gives(typed.PlainArray)
def isreal(x: Any) -> Any:
    """Whether each element has no imaginary part but 0."""
    return elementwise.equal(composed.imag(manipulation.checked(x, "isreal: x")), 0)


@typed.gives(typed.PlainArray)
def iscomplex(x: Any) -> Any:
    """Whether each element has an imaginary part other than 0."""
    return elementwise.not_equal(composed.imag(manipulation.checked(x, "iscomplex: x")), 0)


def isscalar(element: Any) -> bool:
    """Whether something is a number or a text, and no array, not even one of shape ()."""
    return elementwise.is_number(element) and not isinstance(element, np.ndarray)


def iscomplexobj(x: Any) -> bool:
    """Whether something has complex numbers."""
    return complexes.is_complex(x) if isinstance(x, Viewed) else np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """Whether something has no complex numbers."""
    return not iscomplexobj(x)


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    """The indices of all elements of a shape, in C order."""
    return iter(np.ndindex(*shape))


@typed.gives(tuple[typed.PlainArray, ...])
def unravel_index(indices: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """Indices along each axis (int64) of places in C order."""
    found = arranging.placed(
        "unravel_index",
        np.unravel_index,
        indexing.on_host(indices, "unravel_index: indices"),
        tuple(shape),
    )
    return _like(found, indices)


def _like(found: Sequence[Any], given: Any) -> tuple[Any, ...]:
    """Integers of the host, as arrays where these were asked with; single ones as numbers."""
    if not isinstance(given, Viewed) or not given.ndim:
        return tuple(int(x) if np.ndim(x) == 0 else creation.asarray(np.int64(x)) for x in found)
    return tuple(creation.asarray(np.asarray(x, np.int64), device=given.queue) for x in found)


@typed.as_(typed.Dense)
def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """A dense array: itself, if it is one."""
    made = creation.asarray(a, dtype=dtype)
    return made if made.planes.contiguous else made.copy()
