"""ExBLAS and ReproBLAS beside portmp: neither is a package, so that their files are named.

ExBLAS (github.com/riakymch/exblas): OpenCL kernels of ``src/gpu``, built without the launcher's
``-cl-fast-relaxed-math``. ReproBLAS (github.com/willow-ahrens/ReproBLAS): a shared library of its
objects, called through ctypes on one core.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp.backends.base import Argument, Device, Kernel, LaunchMemory
from portmp.errors import ArgumentError

GROUPS, THREADS, COPIES = 1024, 256, 16
"""ExBLAS's sums: work-groups, their work-items and accumulators."""
BINS, DIGIT, UNITS_DIGIT = 39, 56, 20
"""An accumulator's bins, their bits, and which has that of units."""
MASK = (1 << 28) - 1
BLOCKS = 16, 32
"""ExBLAS's products: rows and columns of a work-group. Its launcher takes one or the other."""

_TWO_BLOCKS = re.compile(r"__local\s+data_t\s*\*\s*As,\s*__local\s+data_t\s*\*\s*Bs\s*\)\s*\{")
_ONE_PIECE = "__local data_t* As) {\n    __local data_t* Bs = As + BLOCK_SIZE * BLOCK_SIZE;"

Numbers = np.ndarray[Any, np.dtype[np.float64]]


def _kernel(device: Device, name: str, text: str, sizes: dict[str, int], option: str) -> Kernel:
    if device.platform != "opencl":
        raise ArgumentError(f"{option}: {device.name} given, a device of OpenCL is needed")
    head = "#pragma OPENCL FP_CONTRACT OFF\n"
    head += "".join(f"#define {size} {value}\n" for size, value in sizes.items())
    return device.load(device.compile(head + text), [name])[name]


def exblas_dot(a: mp.Array, b: mp.Array, path: Path) -> Callable[[], float]:
    """Its dot product on the arrays' device, an OpenCL one; groups are merged on the host."""
    device, queue = a.device, a.planes.queue
    sizes = {"WARP_COUNT": COPIES, "WARP_SIZE": THREADS // COPIES}
    # Its second kernel merges groups' accumulators before others may have written theirs.
    text = path.read_text().partition("// Merging")[0]
    kernel = _kernel(device, "ExDOT", text, sizes, "--exblas")
    partial = device.allocate(8 * BINS * GROUPS)
    held = np.zeros((GROUPS, BINS), np.int64)
    # Where vectors begin is an argument of its later versions.
    places: list[Argument] = [np.uint32(1), *([np.uint32(0)] if "offseta" in text else [])]
    terms = [partial, *a.planes.buffers, *places, *b.planes.buffers, *places, np.uint32(a.size)]

    def run() -> float:
        queue.launch(kernel, (GROUPS, 1, 1), (THREADS, 1, 1), terms)
        queue.read(partial, held, 0)
        halves = enumerate(zip((held >> 28).sum(axis=0), (held & MASK).sum(axis=0), strict=True))
        digits = [(i, (int(high) << 28) + int(low)) for i, (high, low) in halves]
        return float(sum(Fraction(2) ** (DIGIT * (i - UNITS_DIGIT)) * n for i, n in digits))

    return run


def exblas_gemm(a: mp.Array, b: mp.Array, path: Path, block: int) -> Callable[[], mp.Array]:
    """Its product of square matrices, orders multiples of *block*, on an OpenCL device."""
    device, queue, n = a.device, a.planes.queue, a.shape[0]
    text, found = _TWO_BLOCKS.subn(_ONE_PIECE, path.read_text())
    named = re.search(r"__kernel\s+void\s+(\w+)", text)
    if not found or not named:
        raise ArgumentError(f"--exblas-gemm: {path} given, which has no kernel of As and Bs")
    kernel = _kernel(device, named[1], text, {"BLOCK_SIZE": block}, "--exblas-gemm")

    def run() -> mp.Array:
        c, order, zero = mp.zeros((n, n), "float64", device), np.uint32(n), np.float64(0)
        terms: list[Argument] = [order, order, order, np.float64(1), *a.planes.buffers, order]
        terms += [*b.planes.buffers, order, zero, *c.planes.buffers, order]
        grid = (n // block, n // block, 1)
        queue.launch(kernel, grid, (block, block, 1), [*terms, LaunchMemory(16 * block * block)])
        return c

    return run


class ReproBlas:
    """Its routines of double precision with its default fold."""

    def __init__(self, path: Path) -> None:
        number, count, place = ctypes.c_double, ctypes.c_int, ctypes.c_void_p
        try:
            library = ctypes.CDLL(str(path.resolve()))
            self._sum, self._dot = library.reproBLAS_dsum, library.reproBLAS_ddot
            self._gemm = library.reproBLAS_dgemm
        except (OSError, AttributeError) as error:
            raise ArgumentError(
                f"--reproblas: {path} given, a shared library of ReproBLAS is needed: {error}"
            ) from None
        self._sum.restype = self._dot.restype = number
        self._sum.argtypes = [count, place, count]
        self._dot.argtypes = [*self._sum.argtypes, place, count]
        self._gemm.restype = None
        self._gemm.argtypes = [*[ctypes.c_char] * 3, *[count] * 3, number, place, count]
        self._gemm.argtypes += [place, count, number, place, count]

    def sum(self, x: Numbers) -> float:
        """The sum of contiguous numbers."""
        return float(self._sum(x.size, x.ctypes.data, 1))

    def dot(self, x: Numbers, y: Numbers) -> float:
        """The sum of the rounded products of contiguous numbers."""
        return float(self._dot(x.size, x.ctypes.data, 1, y.ctypes.data, 1))

    def gemm(self, a: Numbers, b: Numbers) -> Numbers:
        """a b for contiguous square matrices."""
        n, c = a.shape[0], np.empty_like(a)
        left, right, result = ((v.ctypes.data, n) for v in (a, b, c))
        self._gemm(b"r", b"n", b"n", n, n, n, 1.0, *left, *right, 0.0, *result)
        return c
