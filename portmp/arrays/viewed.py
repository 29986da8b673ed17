"""Views of arrays on devices: shapes, indices and axes, whatever the elements are."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np

from portmp.backends.base import Device, Event, Queue, is_recording
from portmp.errors import ArgumentError, ShapeError
from portmp.runtime.planes import View

V = TypeVar("V", bound=View[Any])


class Viewed(ABC, Generic[V]):
    """What arrays of all kinds share; ``planes`` is the view of device memory."""

    __slots__ = ("planes",)

    def __init__(self, planes: V) -> None:
        self.planes = planes

    @abstractmethod
    def _dense(self) -> V:
        """The same elements in memory of their own, in C order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.planes.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.planes.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.planes.size

    @property
    def device(self) -> Device:
        """The device that holds the limbs."""
        return self.planes.device

    @property
    def queue(self) -> Queue:
        """The queue that its work is given to."""
        return self.planes.queue

    # --- copies that the host does not wait for ---------------------------------------------

    def write_from(self, *host: np.ndarray[Any, Any]) -> Event:
        """Copy NumPy arrays, one for each plane, to this dense array without waiting.

        Planes are what ``to_parts`` gives, of a plain array its numbers. The arrays must stay as
        they are until the event that is returned: ``event.wait()``. Only from ``portmp.pinned``
        memory does the device copy by itself.
        """
        self._matched("write_from", host)
        self.planes.write_parts(list(host), wait=False)
        return self.queue.record()

    def read_into(self, *host: np.ndarray[Any, Any]) -> Event:
        """Copy this dense array to NumPy arrays, one for each plane, without waiting.

        They hold the numbers from the event on that is returned: ``event.wait()``.
        """
        self._matched("read_into", host)
        if any(not plane.flags.writeable for plane in host):
            raise ArgumentError("read_into: a NumPy array that cannot be written was given")
        self.planes.read_into(list(host), wait=False)
        return self.queue.record()

    def _matched(self, what: str, host: Sequence[np.ndarray[Any, Any]]) -> None:
        """Errors where the host's arrays are not what the planes are."""
        if is_recording():
            raise ArgumentError(f"{what}: recorded work is launches alone, no copies")
        if not self.planes.contiguous:
            raise ArgumentError(
                f"{what}: a dense array is needed, its strides are {self.planes.strides}"
            )
        wanted = self.planes.parts
        if len(host) != len(wanted):
            raise ArgumentError(f"{what}: {len(host)} arrays given, there are {len(wanted)} planes")
        for i, (plane, dtype) in enumerate(zip(host, wanted, strict=True)):
            if not isinstance(plane, np.ndarray):
                raise ArgumentError(
                    f"{what}: plane {i}: {type(plane).__name__} given, no NumPy array"
                )
            if plane.dtype != dtype or plane.shape != self.shape or not plane.flags.c_contiguous:
                raise ArgumentError(
                    f"{what}: plane {i}: {plane.dtype} of shape {plane.shape} given, C-contiguous "
                    f"{dtype} of shape {self.shape} is needed"
                )

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("len: an array of shape () has no length")
        return self.shape[0]

    def reshape(self, *shape: int | Sequence[int]) -> Self:
        """Another shape of the same elements, a view where possible; -1 is worked out."""
        sizes = integers(shape, "reshape")
        if sizes.count(-1) == 1:
            known = math.prod(n for n in sizes if n != -1)
            if known and self.size % known == 0:
                sizes[sizes.index(-1)] = self.size // known
        if math.prod(sizes) != self.size or any(n < 0 for n in sizes):
            raise ShapeError(
                f"reshape: {self.shape} has {self.size} elements, {tuple(sizes)} given"
            )
        view = self.planes.reshaped(sizes)
        return type(self)(view or self._dense().view_as(sizes))

    def transpose(self, *axes: int | Sequence[int]) -> Self:
        """A view with the axes reversed, or in the given order."""
        order = integers(axes, "transpose") or list(reversed(range(self.ndim)))
        order = [a + self.ndim if a < 0 else a for a in order]
        if sorted(order) != list(range(self.ndim)):
            raise ShapeError(f"transpose: {axes} is no order of {self.ndim} axes")
        return type(self)(self.planes.transposed(order))

    @property
    def T(self) -> Self:
        """The view with all axes reversed."""
        return self.transpose()

    def __getitem__(self, key: Any) -> Self:
        """A view by integers, slices, None and ``...``."""
        p = self.planes
        shape: list[int] = []
        strides: list[int] = []
        start, axis = p.start, 0
        for item in _expanded(key, self.ndim):
            if item is None:
                shape.append(1)
                strides.append(0)
                continue
            size, stride = p.shape[axis], p.strides[axis]
            if isinstance(item, slice):
                first, last, step = item.indices(size)
                count = len(range(first, last, step))
                start += first * stride if count else 0
                shape.append(count)
                strides.append(stride * step)
            else:
                index = item + size if item < 0 else item
                if not 0 <= index < size:
                    raise IndexError(
                        f"index {item} is out of range for axis {axis} of length {size}"
                    )
                start += index * stride
            axis += 1
        return type(self)(p.view(shape, strides, start))

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))


def integers(values: Sequence[Any], argument: str) -> list[int]:
    """Integers given one by one or as one sequence."""
    if len(values) == 1 and isinstance(values[0], Sequence) and not isinstance(values[0], str):
        values = values[0]
    try:
        return [operator.index(n) for n in values]
    except TypeError:
        raise ArgumentError(f"{argument}: integers are needed, {values!r} given") from None


def _expanded(key: Any, ndim: int) -> list[Any]:
    """An index as a list with one entry an axis (and None for new axes)."""
    items = list(key) if isinstance(key, tuple) else [key]
    for item in items:
        if not (item is None or item is Ellipsis or isinstance(item, (int, np.integer, slice))):
            raise IndexError(f"index: integers, slices, None and ... are allowed, {item!r} given")
        if isinstance(item, bool):
            raise IndexError("index: a truth value is no index")
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("index: ... is allowed once")
    items = [operator.index(i) if isinstance(i, np.integer) else i for i in items]
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > ndim:
        raise IndexError(f"index: {used} indices for {ndim} axes")
    rest = [slice(None)] * (ndim - used)
    if any(item is Ellipsis for item in items):
        place = next(i for i, item in enumerate(items) if item is Ellipsis)
        return items[:place] + rest + items[place + 1 :]
    return items + rest
