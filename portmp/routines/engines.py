"""Engines: who multiplies int8 matrices on a device.

Either the platform's BLAS library, found by its backend, or portmp's own kernels. Where
products and sums are exact, all give the same bits.
"""

from __future__ import annotations

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


class Own(Library):
    """portmp's kernel for int8."""

    name = "portmp"

    def multiply(
        self, queue: Queue, word: str, m: int, n: int, k: int, batch: int,
        a: Buffer, b: Buffer, c: Buffer, c_start: int,
    ) -> None:  # fmt: skip
        """As a library does; *k* is a multiple of four."""
        if word != "int8":
            raise ArgumentError(f"word: {word!r} given, portmp's engine multiplies int8")
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


def get(device: Device, choice: str = "auto") -> Library:
    """Who multiplies int8 matrices; ``auto`` takes the library where there is one that works.

    BackendUnavailable where ``library`` is asked for and there is none.
    """
    check(choice)
    if choice == "own":
        return Own()
    if choice == "library":
        return device.library()
    if device not in _found:
        _found[device] = _first(device)
    return _found[device]


_found: WeakKeyDictionary[Device, Library] = WeakKeyDictionary()


def _first(device: Device) -> Library:
    """The library, if a small product succeeds there, else portmp's kernel."""
    try:
        library, room = device.library(), device.allocate(4 * TRIAL**2)
        target = device.allocate(room.nbytes)
        library.multiply(device.queue, "int8", TRIAL, TRIAL, TRIAL, 1, room, room, target, 0)
        device.queue.synchronize()
    except (BackendUnavailable, DeviceError):
        return Own()
    return library
