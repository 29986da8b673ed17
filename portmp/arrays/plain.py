"""Arrays of plain integers and truth values on a device: indices, flags and counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import discovery
from portmp.arrays import creation, dtypes, elementwise, typed
from portmp.arrays.creation import Where
from portmp.arrays.methods import Methods
from portmp.arrays.viewed import Viewed
from portmp.backends.base import Device, Queue
from portmp.errors import FormatError
from portmp.runtime.planes import Numbers, upload_numbers

__all__ = ["PlainArray", "plain_array", "plain_full", "plain_zeros"]

DTYPES = dtypes.PLAIN
"""What elements may be: NumPy's dtypes. Truth values take a byte."""


class PlainArray(Methods[Numbers], holds=Numbers):
    """A strided view of plain numbers on one device.

    Operators work elementwise with NumPy's broadcasting; sums and products wrap around. With an
    array of values they become values, if its format holds all numbers of their dtype.
    ``to_numpy`` copies to the host and waits.
    """

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of the elements."""
        return np.dtype(self.planes.elements)

    @typed.as_(typed.OwnCast)
    def astype(self, dtype: Any, *, copy: bool = True) -> Any:
        """A copy of another dtype, cut to its bits, or in a format, each rounded once.

        Without *copy* an array that is of this dtype already is returned as it is.
        """
        kind = dtypes.cast(dtype, self.dtype)
        if kind == self.dtype:
            return self.copy() if copy else self
        return elementwise.converted(self, kind)

    def to(self, device: str | Device | Queue) -> "PlainArray":
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

    def tolist(self) -> Any:
        """The elements as nested lists of Python's numbers, or one number."""
        return self.to_numpy().tolist()

    def __index__(self) -> int:
        if self.shape or self.planes.dtype == "bool":
            raise TypeError("only integers of shape () are indices")
        return int(self.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a copy is needed: the elements are in a device's memory")
        values = self.to_numpy()
        return values if dtype is None else values.astype(dtype)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.size == 1 else str(self)


def plain_array(data: Any, dtype: str | None = None, device: Where = None) -> PlainArray:
    """An array of integers or truth values on *device*.

    *data*: what NumPy makes an array of, or a PlainArray (which is copied). *dtype*: one of DTYPES,
    by default that of *data*. FormatError for numbers that the dtype does not hold.
    """
    if isinstance(data, Viewed) and isinstance(data.planes, Numbers):
        dtype, device = dtype or data.planes.dtype, device or data.queue
        data = np.asarray(data)
    host = creation.plain_host(data, _checked(dtype) if dtype else None, "data")
    _checked(host.dtype.name)
    return PlainArray(upload_numbers(host, discovery.queue_of(device)))


def plain_zeros(
    shape: int | Sequence[int], dtype: str = "int32", device: Where = None
) -> PlainArray:
    """An array of zeros."""
    return plain_full(shape, 0, dtype, device)


def plain_full(
    shape: int | Sequence[int], value: int, dtype: str = "int32", device: Where = None
) -> PlainArray:
    """An array of equal numbers."""
    kind = np.dtype(_checked(dtype))
    host = creation.plain_host(value, kind.name, "value")
    made: PlainArray = creation.full(shape, host[()], kind, device)
    return made


def _checked(dtype: object) -> str:
    name = "bool" if dtype is bool else str(dtype)
    if name not in DTYPES:
        raise FormatError(
            f"dtype: {name!r} given, {', '.join(DTYPES)} are allowed; portmp.array makes arrays of "
            "floating-point numbers"
        )
    return name
