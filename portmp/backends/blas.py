"""A GPU's BLAS library: what both vendors' have in common.

They count by columns and take the same arguments but for the codes of types.
"""

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portmp.backends.base import Buffer, Library, Multiplication, Queue, Rows
from portmp.backends.driver_api import Driver, GpuBuffer, GpuQueue
from portmp.errors import ArgumentError, DeviceError

_Scalar = type[ctypes.c_int32] | type[ctypes.c_float] | type[ctypes.c_double]
_SCALARS: dict[str, _Scalar] = {
    "int8": ctypes.c_int32,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


@dataclass(frozen=True)
class Interface:
    """Names and codes of one library.

    ``kinds``: for each word the codes of its type, of the results' type, and of how sums are
    computed. ``end``: the last arguments. ``axpy``, ``gemv``: functions by word.
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
    axpy: Mapping[str, str] = field(default_factory=dict)
    gemv: Mapping[str, str] = field(default_factory=dict)


class BlasLibrary(Library):
    """One library on one device; its handle is made when it is first needed."""

    def __init__(self, interface: Interface, library: Any, driver: Driver) -> None:
        self.name = interface.name
        self._interface, self._library, self._driver = interface, library, driver
        self._handle: Any = None
        self._lock = threading.Lock()

    def multiply(self, queue: Queue, asked: Multiplication) -> None:
        self.prepared(queue, asked)(asked.a.buffer, asked.b.buffer, asked.c.buffer)

    def prepared(self, queue: Queue, asked: Multiplication) -> Callable[..., None]:
        word, m, n, k, a, b, c, batch = asked
        if max(m, n, k, a.row, b.row, c.row) >= 2**31:
            raise DeviceError(f"{self.name}: {m}x{n}x{k} in rows of {a.row} is beyond its 32 bits")
        names, scalar = self._interface, _SCALARS[word]
        kind, result, compute = names.kinds[word]
        numbers = scalar(1), scalar(0)
        alpha, beta = map(_address, numbers)
        # By columns, C is b's transpose times a.
        sizes = names.transposed, names.plain, n, m, k
        steps = ((v.row, ctypes.c_int64(v.batch)) for v in (a, b, c))
        of_a, of_b, of_c = ((code, *s) for code, s in zip((kind, kind, result), steps, strict=True))
        factor, total = np.dtype(word).itemsize, ctypes.sizeof(scalar)
        from_a, from_b, from_c = a.start * factor, b.start * factor, c.start * total
        end = batch, compute, *names.end

        def run(first: Buffer, second: Buffer, target: Buffer, held: object = numbers) -> None:
            pa, pb = _pointer(first, from_a), _pointer(second, from_b)
            pc = _pointer(target, from_c)
            with self._on(queue) as handle:
                given = *sizes, alpha, pb, *of_b, pa, *of_a, beta, pc, *of_c
                self._call(names.gemm, handle, *given, *end)

        return run

    def axpy(self, queue: Queue, word: str, n: int, alpha: float, x: Rows, y: Rows) -> None:
        if n >= 2**31:
            raise DeviceError(f"{self.name}: vectors of {n} are beyond its 32 bits")
        factor = (ctypes.c_float if word == "float32" else ctypes.c_double)(alpha)
        first, second = (_pointer(v.buffer, v.start * ctypes.sizeof(factor)) for v in (x, y))
        name, scale = self._interface.axpy[word], _address(factor)
        with self._on(queue) as handle:
            self._call(name, handle, n, scale, first, 1, second, 1)

    def gemv(self, queue: Queue, word: str, m: int, n: int, a: Rows, x: Rows, y: Rows) -> None:
        if max(m, n, a.row) >= 2**31:
            raise DeviceError(f"{self.name}: {m}x{n} in rows of {a.row} is beyond its 32 bits")
        numbers = _SCALARS[word](1), _SCALARS[word](0)
        one, none = map(_address, numbers)
        size = ctypes.sizeof(numbers[0])
        pa, px, py = (_pointer(v.buffer, v.start * size) for v in (a, x, y))
        names = self._interface
        with self._on(queue) as handle:  # by columns, A is an n x m matrix to be transposed
            sizes = names.transposed, n, m
            self._call(names.gemv[word], handle, *sizes, one, pa, a.row, px, 1, none, py, 1)

    @contextmanager
    def _on(self, queue: Queue) -> Iterator[Any]:
        """The handle, which works on this queue meanwhile."""
        if not isinstance(queue, GpuQueue):
            raise ArgumentError(f"{self.name}: the queue is of another platform")
        with self._lock:
            handle = self._open()
            self._call(self._interface.set_stream, handle, ctypes.c_void_p(int(queue.stream)))
            yield handle

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


def _pointer(buffer: Buffer, offset: int) -> ctypes.c_void_p:
    """Where the first entry is, *offset* bytes into a buffer."""
    if not isinstance(buffer, GpuBuffer):
        raise ArgumentError("the buffer is of another platform")
    return ctypes.c_void_p(buffer.pointer + offset)
