"""The vendor's AXPY and GEMM, to compare with: the platform's BLAS on GPUs, OpenBLAS on CPUs.

On CPUs it is the OpenBLAS that NumPy's or SciPy's wheels bring, called directly: NumPy itself has
no AXPY. It runs on the host's threads and is timed by the wall's clock.
"""

from __future__ import annotations

import ctypes
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from portmp.arrays.array import Array
from portmp.backends.base import Device, Library, Queue, Rows
from portmp.bench.runner import Pool, entry_of
from portmp.errors import BackendUnavailable, PortmpError
from portmp.runtime.planes import allocate

Plane = np.ndarray[Any, Any]
Signs = Iterator[float]
_ROWS_FIRST, _AS_IT_IS, _TRANSPOSED = 101, 111, 112
"""CBLAS's words."""
_CTYPES: dict[str, type[ctypes.c_float] | type[ctypes.c_double]] = {
    "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip
_LETTERS = {"float32": "s", "float64": "d"}


@dataclass(frozen=True)
class Subject:
    """A library's call, the limbs of its result's entries, and whether the host runs it."""

    work: Callable[[], object]
    entry: Callable[[int], list[float]]
    on_host: bool


class Vendor(ABC):
    """A vendor's library. ``name`` says which, and on how many threads."""

    name: str
    copies: ClassVar[int] = 0
    """Bytes of the host's memory that it takes for a value of portmp's operands."""

    @abstractmethod
    def axpy(self, pool: Pool, n: int, start: int, factors: Signs) -> Subject:
        """y = f x + y of a pool's vectors, at 0 and at *start*, f from *factors* by turns."""

    @abstractmethod
    def gemm(self, pool: Pool, n: int, start: int) -> Subject:
        """A B^T of a pool's matrices, at 0 and at *start*."""


class OnDevice(Vendor):
    """The platform's BLAS."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.name = library.name

    def axpy(self, pool: Pool, n: int, start: int, factors: Signs) -> Subject:
        (buffer,) = pool.planes.buffers
        queue, word = pool.planes.queue, pool.values.form.word
        x, y = Rows(buffer, 1), Rows(buffer, 1, start)

        def work() -> None:
            self.library.axpy(queue, word, n, next(factors), x, y)

        return Subject(work, partial(entry_of, Array(pool.planes.view((n,), (1,), start))), False)

    def gemm(self, pool: Pool, n: int, start: int) -> Subject:
        (buffer,) = pool.planes.buffers
        queue: Queue = pool.planes.queue
        out = allocate(pool.values.form, (n, n), queue)
        a, b, c = Rows(buffer, n), Rows(buffer, n, start), Rows(out.buffers[0], n)
        multiply = self.library.multiply
        work = partial(multiply, queue, pool.values.form.word, n, n, n, a, b, c)
        return Subject(work, partial(entry_of, Array(out)), False)


class OpenBlas(Vendor):
    """OpenBLAS on the host's threads. Operands are its own, gathered by indices."""

    copies = 24

    def __init__(self) -> None:
        self._library, self._prefix, self._suffix = _openblas()
        self._integer = ctypes.c_int64 if self._suffix.startswith("64") else ctypes.c_int32
        config = self._function("openblas_get_config")
        config.restype = ctypes.c_char_p
        about = " ".join(config().decode(errors="replace").split()[:2])
        self.threads = int(self._function("openblas_get_num_threads")())
        self.name = f"{about or 'OpenBLAS'}, {self.threads} threads"

    def _function(self, name: str) -> Any:
        return getattr(self._library, f"{self._prefix}{name}{self._suffix}")

    def axpy(self, pool: Pool, n: int, start: int, factors: Signs) -> Subject:
        x, y = (pool.values.take(first, (n,))[0] for first in (0, start))
        real, integer = _CTYPES[x.dtype.name], self._integer
        function = self._function(f"cblas_{_LETTERS[x.dtype.name]}axpy")
        function.restype = None
        ends = integer(n), _address(x), integer(1), _address(y), integer(1)

        def work() -> None:
            function(ends[0], real(next(factors)), *ends[1:])

        kept = x  # the call knows addresses only
        return Subject(work, lambda place: [float(y[place])] if kept.size else [], True)

    def gemm(self, pool: Pool, n: int, start: int) -> Subject:
        a, b = (pool.values.take(first, (n, n))[0] for first in (0, start))
        c = np.zeros_like(a)
        real, order = _CTYPES[a.dtype.name], self._integer(n)
        function = self._function(f"cblas_{_LETTERS[a.dtype.name]}gemm")
        function.restype = None
        work = partial(
            function, _ROWS_FIRST, _AS_IT_IS, _TRANSPOSED, order, order, order, real(1),
            _address(a), order, _address(b), order, real(0), _address(c), order,
        )  # fmt: skip
        kept = a, b  # the call knows addresses only
        return Subject(work, lambda place: [float(c.flat[place])] if kept else [], True)


def _address(array: Plane) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _openblas() -> tuple[ctypes.CDLL, str, str]:
    """The library of a wheel, and what surrounds the names in it."""
    for file in _files():
        try:
            library = ctypes.CDLL(str(file))
        except OSError:
            continue
        for prefix in ("scipy_", ""):
            for suffix in ("64_", ""):
                if hasattr(library, f"{prefix}cblas_daxpy{suffix}"):
                    return library, prefix, suffix
    raise BackendUnavailable(
        "no OpenBLAS is found among the libraries of NumPy and SciPy: their wheels of PyPI have one"
    )


def _files() -> Iterator[Path]:
    for package in ("numpy", "scipy"):
        found = importlib.util.find_spec(package)
        for folder in found.submodule_search_locations or () if found else ():
            place = Path(folder)
            for libraries in (place.parent / f"{package}.libs", place / ".dylibs"):
                yield from sorted(libraries.glob("*openblas*"))


def find(device: Device) -> tuple[Vendor | None, str]:
    """Whom a device is compared with, or why with nobody."""
    try:
        if device.properties.kind == "cpu":
            return OpenBlas(), ""
        return OnDevice(device.library()), ""
    except PortmpError as error:
        return None, str(error)
