"""Engines: who multiplies plain matrices of int8, float32 or float64 on a device.

Either the platform's BLAS library, found by its backend, or portmp's own kernels. Where
products and sums are exact, all give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from weakref import WeakKeyDictionary

from portmp import formats, program
from portmp.backends.base import Buffer, Device, Library, Queue
from portmp.errors import ArgumentError, BackendUnavailable, DeviceError, suggestion
from portmp.routines import base
from portmp.spec import KernelSpec, spec

CHOICES = ("auto", "library", "own")
TRIAL = 32
"""Order of the product by which a library is tried."""

SIDE, RESULTS = 16, 4
"""Of int8 tiles: threads along a side, and results a thread along a side."""


class Engine(ABC):
    """Multiplies matrices whose rows lie along the depth."""

    name: str

    @abstractmethod
    def multiply(
        self, queue: Queue, m: int, n: int, k: int, batch: int, a: Buffer, b: Buffer, c: Buffer,
        c_start: int = 0,
    ) -> None:  # fmt: skip
        """c[l][i][j] = sum over k of a[l][i][k] b[l][j][k] for l below *batch*, all dense.

        a (batch, m, k), b (batch, n, k), c (batch, m, n) from element *c_start* on; of int8 c
        holds int32, and k is a multiple of four.
        """


class LibraryEngine(Engine):
    """The platform's BLAS."""

    def __init__(self, library: Library, word: str) -> None:
        self.name = library.name
        self._library, self._word = library, word

    def multiply(
        self, queue: Queue, m: int, n: int, k: int, batch: int, a: Buffer, b: Buffer, c: Buffer,
        c_start: int = 0,
    ) -> None:  # fmt: skip
        self._library.multiply(queue, self._word, m, n, k, batch, a, b, c, c_start)


class OwnInt8(Engine):
    """portmp's kernel."""

    name = "portmp"

    def multiply(
        self, queue: Queue, m: int, n: int, k: int, batch: int, a: Buffer, b: Buffer, c: Buffer,
        c_start: int = 0,
    ) -> None:  # fmt: skip
        key = product_spec()
        kernel = program.kernels(queue.device, key)[key.name]
        side, words = SIDE * RESULTS, k // 4
        grid = (base.blocks(m, side) * base.blocks(n, side), batch, 1)
        queue.launch(
            kernel, grid, (SIDE * SIDE, 1, 1),
            [m, n, words, a, m * words, b, n * words, c, c_start, m * n],
        )  # fmt: skip


@cache
def product_spec() -> KernelSpec:
    """The kernel of int8 products."""
    return spec(
        "int8_product", "ozaki/product.mako", formats.get("float32"), {},
        threads_side=SIDE, results=RESULTS,
    )  # fmt: skip


def check(choice: str) -> None:
    """ArgumentError for a choice that there is not."""
    if choice not in CHOICES:
        near = suggestion(str(choice), list(CHOICES))
        raise ArgumentError(f"engine: {choice!r} given{near}; allowed are {', '.join(CHOICES)}")


def get(device: Device, word: str, choice: str = "auto") -> Engine:
    """The engine for matrices of *word*; ``auto`` takes the library where there is one that works.

    BackendUnavailable where ``library`` is asked for and there is none.
    """
    check(choice)
    if choice == "own":
        return OwnInt8()
    if choice == "library":
        return LibraryEngine(device.library(), word)
    known = _found.setdefault(device, {})
    if word not in known:
        known[word] = _first(device, word)
    return known[word]


_found: WeakKeyDictionary[Device, dict[str, Engine]] = WeakKeyDictionary()


def _first(device: Device, word: str) -> Engine:
    """The library, if a small product succeeds there, else portmp's kernel."""
    try:
        engine = LibraryEngine(device.library(), word)
        room = device.allocate(8 * TRIAL**2)
        engine.multiply(
            device.queue, TRIAL, TRIAL, TRIAL, 1, room, room, device.allocate(room.nbytes)
        )
        device.queue.synchronize()
    except (BackendUnavailable, DeviceError):
        return OwnInt8()
    return engine
