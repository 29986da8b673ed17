"""Arrays of plain integers and truth values on a device: indices, flags and counts of kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import discovery
from portmp.arrays.viewed import Viewed, integers
from portmp.backends.base import Device, Queue
from portmp.errors import ArgumentError, FormatError, OutOfMemory, ShapeError
from portmp.runtime.planes import Numbers, allocate_numbers

DTYPES = (*("int8", "int16", "int32", "int64"), *("uint8", "uint16", "uint32", "uint64"), "bool")
"""What elements may be: NumPy's dtypes. Truth values take a byte."""


class PlainArray(Viewed[Numbers]):
    """A strided view of plain numbers on one device.

    Kernels compute with them (``portmp.Kernel``); Python's operators but ``==`` and ``!=`` do not.
    ``to_numpy`` copies to the host and waits.
    """

    __slots__ = ()
    __array_ufunc__ = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of the elements."""
        return np.dtype(self.planes.dtype)

    def _dense(self) -> Numbers:
        return plain_array(self.to_numpy(), self.planes.dtype, self.planes.queue).planes

    def copy(self) -> PlainArray:
        """A dense copy on the same device, through the host."""
        return PlainArray(self._dense())

    def to(self, device: str | Device | Queue) -> PlainArray:
        """The array on another device (itself if it is there already), through the host.

        In another queue of the same device it is the same memory: what is done there comes after
        all that was given to its own queue so far.
        """
        queue = discovery.queue_of(device)
        if queue.device is not self.device:
            return plain_array(self.to_numpy(), None, queue)
        return PlainArray(self.planes.in_queue(queue)) if isinstance(device, Queue) else self

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        if not self.size:
            return np.empty(self.shape, self.dtype)
        return self.planes.read_span()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a copy is needed: the elements are in a device's memory")
        values = self.to_numpy()
        return values if dtype is None else values.astype(dtype)

    def __eq__(self, other: object) -> Any:
        """Which elements are equal to those of another array, or to a number: on the host."""
        return self.to_numpy() == _copied(other)

    def __ne__(self, other: object) -> Any:
        return self.to_numpy() != _copied(other)

    def __hash__(self) -> int:
        raise TypeError("a PlainArray has no hash: its elements may change")

    def __setitem__(self, key: Any, value: Any) -> None:
        """Copy numbers (broadcast) into the elements of a view, through the host."""
        target = self[key].planes
        target.write_span(_host(_copied(value), target.dtype, "value"))

    def __repr__(self) -> str:
        values = np.array2string(self.to_numpy(), separator=", ", threshold=1000)
        return f"portmp.PlainArray({values}, {self.planes.dtype!r}, device={self.device.name!r})"


def _copied(value: object) -> Any:
    """A PlainArray's elements on the host; anything else as it is."""
    return value.to_numpy() if isinstance(value, PlainArray) else value


def plain_array(
    data: Any, dtype: str | None = None, device: str | Device | Queue | None = None
) -> PlainArray:
    """An array of integers or truth values on *device*.

    *data*: what NumPy makes an array of, or a PlainArray (which is copied). *dtype*: one of DTYPES,
    by default that of *data*. FormatError for numbers that the dtype does not hold.
    """
    if isinstance(data, PlainArray):
        dtype, device, data = (
            dtype or data.planes.dtype,
            device or data.planes.queue,
            data.to_numpy(),
        )
    host = _host(data, _checked(dtype) if dtype else None, "data")
    queue = discovery.queue_of(device)
    made = allocate_numbers(_checked(host.dtype.name), host.shape, queue)
    if made.size:
        made.write_parts([host])
    return PlainArray(made)


def plain_zeros(
    shape: int | Sequence[int], dtype: str = "int32", device: str | Device | Queue | None = None
) -> PlainArray:
    """An array of zeros."""
    return plain_full(shape, 0, dtype, device)


def plain_full(
    shape: int | Sequence[int],
    value: int,
    dtype: str = "int32",
    device: str | Device | Queue | None = None,
) -> PlainArray:
    """An array of equal numbers."""
    sizes, queue = integers((shape,), "shape"), discovery.queue_of(device)
    if any(not 0 <= n < 2**63 for n in sizes):
        raise ShapeError(
            f"shape: {tuple(sizes)!s:.80} given, lengths from 0 to 2^63 - 1 are allowed"
        )
    target = queue.device
    needed, memory = math.prod(sizes) * np.dtype(_checked(dtype)).itemsize, target.properties.memory
    if needed > memory:
        raise OutOfMemory(f"shape: {needed} bytes asked for, {target.name} has {memory}")
    return plain_array(np.full(sizes, _host(value, dtype, "value")), dtype, queue)


def _checked(dtype: object) -> str:
    name = "bool" if dtype is bool else str(dtype)
    if name not in DTYPES:
        raise FormatError(
            f"dtype: {name!r} given, {', '.join(DTYPES)} are allowed; portmp.array makes arrays of "
            "floating-point numbers"
        )
    return name


def _host(data: Any, dtype: str | None, argument: str) -> np.ndarray[Any, Any]:
    """*data* as a C-contiguous NumPy array of *dtype*, with the same values."""
    try:
        given = np.asarray(data)
    except (ValueError, OverflowError) as error:
        raise ArgumentError(f"{argument}: no array of numbers: {error}") from None
    if dtype is None and given.dtype.kind in "iub":
        return np.ascontiguousarray(given).reshape(given.shape)
    wanted = dtype or "int64"
    if given.dtype.kind not in "iub" and not (given.size == 0 or _whole(given)):
        raise FormatError(f"{argument}: integers or truth values are needed, {given.dtype} given")
    low, high = (0, 1) if wanted == "bool" else (np.iinfo(wanted).min, np.iinfo(wanted).max)
    if given.size and not (low <= int(given.min()) and int(given.max()) <= high):
        raise FormatError(
            f"{argument}: from {int(given.min())} to {int(given.max())} given, {wanted} holds "
            f"{low} to {high}"
        )
    return np.ascontiguousarray(given.astype(wanted)).reshape(given.shape)


def _whole(given: np.ndarray[Any, Any]) -> bool:
    """Whether numbers of Python or of float dtypes are integers."""
    if given.dtype.kind == "O":
        return all(isinstance(x, (int, np.integer)) for x in given.ravel())
    return given.dtype.kind == "f" and bool(np.all(np.isfinite(given) & (given == np.floor(given))))
