"""A GPU's BLAS library: what both vendors' have in common.

They count by columns and take the same arguments but for the codes of types.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portmp.backends.base import Library, Queue, Rows
from portmp.backends.gpu import Driver, GpuBuffer, GpuQueue
from portmp.errors import ArgumentError, DeviceError

_Scalar = type[ctypes.c_int32] | type[ctypes.c_float] | type[ctypes.c_double]
_SCALARS: dict[str, _Scalar] = {
    "int8": ctypes.c_int32, "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip


@dataclass(frozen=True)
class Interface:
    """Names and codes of one library.

    ``kinds``: for each word the codes of its type, of the results' type, and of how sums are
    computed. ``end``: the last arguments.
    """

    name: str
    create: str
    set_stream: str
    gemm: str
    plain: int
    transposed: int
    kinds: Mapping[str, tuple[int, int, int]]
    end: tuple[int, ...]
    statuses: Mapping[int, str] = field(default_factory=dict)


class BlasLibrary(Library):
    """One library on one device; its handle is made when it is first needed."""

    def __init__(self, interface: Interface, library: Any, driver: Driver) -> None:
        self.name = interface.name
        self._interface, self._library, self._driver = interface, library, driver
        self._handle: Any = None
        self._lock = threading.Lock()

    def multiply(
        self, queue: Queue, word: str, m: int, n: int, k: int, a: Rows, b: Rows, c: Rows,
        batch: int = 1,
    ) -> None:  # fmt: skip
        """c[l][i][j] = sum over k of a[l][i][k] b[l][j][k]."""
        if not isinstance(queue, GpuQueue):
            raise ArgumentError(f"{self.name}: the queue is of another platform")
        if max(m, n, k, a.row, b.row, c.row) >= 2**31:
            raise DeviceError(f"{self.name}: {m}x{n}x{k} in rows of {a.row} is beyond its 32 bits")
        names, scalar = self._interface, _SCALARS[word]
        kind, result, compute = names.kinds[word]
        alpha, beta = scalar(1), scalar(0)
        # By columns, C is b's transpose times a.
        nbytes = np.dtype(word).itemsize
        factors = [_matrix(b, kind, nbytes), _matrix(a, kind, nbytes)]
        target = _matrix(c, result, ctypes.sizeof(scalar))
        with self._lock:
            handle = self._open()
            self._call(names.set_stream, handle, ctypes.c_void_p(int(queue.stream)))
            self._call(
                names.gemm, handle, names.transposed, names.plain, n, m, k, _address(alpha),
                *factors[0], *factors[1], _address(beta), *target, batch, compute, *names.end,
            )  # fmt: skip

    def _open(self) -> Any:
        """The handle, with the device current in the calling thread."""
        self._driver.current()
        if self._handle is None:
            self._handle = self._create()
        return self._handle

    def _create(self) -> Any:
        handle = ctypes.c_void_p()
        self._call(self._interface.create, ctypes.byref(handle))
        return handle

    def _call(self, function: str, *arguments: object) -> None:
        self._check(function, getattr(self._library, function)(*arguments))

    def _check(self, function: str, status: int) -> None:
        if status:
            words = self._interface.statuses.get(status, f"status {status}")
            raise DeviceError(f"{self.name}: {function}: {words}")


def _address(value: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(ctypes.addressof(value))


def _matrix(rows: Rows, kind: int, nbytes: int) -> tuple[object, ...]:
    """Arguments of a batch of matrices: address, type, steps from column to column and on."""
    if not isinstance(rows.buffer, GpuBuffer):
        raise ArgumentError("the buffer is of another platform")
    address = rows.buffer.pointer + rows.start * nbytes
    return ctypes.c_void_p(address), kind, rows.row, ctypes.c_int64(rows.batch)
