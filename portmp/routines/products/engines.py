"""Engines: who multiplies plain matrices on a device.

Either the platform's BLAS library, found by its backend, or portmp's own kernels. Where
products and sums are exact, all give the same bits.
"""

from functools import cache, partial
from typing import Any

import numpy as np

from portmp import errors, formats
from portmp.backends.base import Device, Library, Multiplication, Queue, Rows, per_device
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Array, Index, Parameter
from portmp.errors import BackendUnavailable, DeviceError, OutOfMemory
from portmp.formats import Format
from portmp.routines import base
from portmp.routines.gemm import launch as gemm
from portmp.runtime import launch, planes
from portmp.runtime.planes import Numbers, Planes
from portmp.schedules.base import widths

CHOICES = ("auto", "library", "own")
TRIAL = 32
"""Order of the product by which a library is tried."""

SIDE, RESULTS, LINES = 16, 4, 32
"""Of int8 tiles: threads along a side, and results a thread along a side; on CPUs, where one thread
makes a tile, results along its side."""

DOWN, ACROSS, STEPS = 96, 32, 256
"""Of tiles of float32 and float64 on CPUs: results along both sides, and steps that are packed."""

ROWS, WIDTH = 6, 8
"""Rows and columns that a thread takes at once there: results that registers of AVX2 hold."""

BYTES = Format("bytes", ("int8",), "float32", {}, {}, "factors of eight bits")
INTS = Format("integers", ("int32",), "float32", {}, {}, "sums of products of bytes")
FACTORS = {"int8": BYTES, "float32": formats.get("float32"), "float64": formats.get("float64")}
SUMS = FACTORS | {"int8": INTS}
"""What is multiplied, and what sums are, by word."""

_ENTRIES = {"int8": (-127, -128), "float32": (-511, 4095), "float64": (1 - 2**24, 2**26 - 1)}
"""Of full rows and of rows with one entry, whose products fill the bits of a sum."""

OWN = "portmp"
"""What portmp's own kernels are called among libraries."""


class Own(Library):
    """portmp's kernels."""

    name = OWN
    launches = True

    def multiply(self, queue: Queue, asked: Multiplication) -> None:
        """As a library does; rows of int8 hold whole words of four."""
        word, m, n, k, a, b, c, batch = asked
        alone = queue.device.properties.kind == "cpu"
        given: dict[str, Any] = {"m": m, "n": n}
        if word != "int8" and alone:
            key = panels_for(word, queue.device)
            grid = (base.blocks(m, DOWN) * base.blocks(n, ACROSS), batch, 1)
            views = {name: _seen(v, word, queue) for name, v in zip("abc", (a, b, c), strict=True)}
            launch.run(queue, (key,), grid, (1, 1, 1), {**given, "depth": k, **views})
            return
        if word != "int8":
            form = formats.get(word)
            va, vb, vc = (
                Planes(form, (batch, *s), (v.batch, v.row, 1), v.start, (v.buffer,), queue)
                for v, s in ((a, (m, k)), (b, (n, k)), (c, (m, n)))
            )
            one, zero = base.scalar_limbs(form, 1, "alpha"), base.scalar_limbs(form, 0, "beta")
            gemm.gemm(va, vb.transposed((0, 2, 1)), alpha=one, beta=zero, out=vc)
            return
        key = product_spec(queue.device)
        threads = 1 if alone else side(queue.device)
        tile = LINES if alone else threads * RESULTS
        grid = (base.blocks(m, tile) * base.blocks(n, tile), batch, 1)
        given |= {"words": k // 4, "c": _seen(c, "int32", queue)}
        given |= {"a": _seen(a, "int32", queue, 4), "b": _seen(b, "int32", queue, 4)}
        launch.run(queue, (key,), grid, (threads * threads, 1, 1), given)


def _seen(v: Rows, word: str, queue: Queue, together: int = 1) -> Numbers:
    """Where rows and matrices of a batch are, in so many elements *together*."""
    steps = v.row // together, v.batch // together
    return Numbers(word, (1, 1), steps, v.start // together, (v.buffer,), queue)


def _taken(depth: str, factors: str, sums: str) -> list[Parameter]:
    """What a kernel of products takes: sizes, factors and sums of these words."""
    rows = partial(Array, strides=("row", "batch"), numbered=False)
    return [
        *(Index("m"), Index("n"), Index(depth)),
        *(rows("a", plain=(factors,)), rows("b", plain=(factors,))),
        rows("c", plain=(sums,), const=False),
    ]


def side(device: Device | None) -> int:
    """Threads along a side of int8 tiles, as many as the device allows."""
    found = SIDE
    while device and found > 1 and found * found > device.properties.max_threads:
        found //= 2
    return found


def product_spec(device: Device | None) -> KernelSpec:
    """The kernel of int8 products."""
    if device and device.properties.kind == "cpu":
        return lines_spec()
    return _tiles_spec(side(device))


@cache
def lines_spec() -> KernelSpec:
    """The same for CPUs, in float32 vectors."""
    return spec(
        "int8_product",
        "ozaki/product_lines.mako",
        formats.get("float32"),
        {},
        takes=_taken("words", "int8", "int32"),
        tile=LINES,
        rows=2,
        columns=4,
        lanes=8,
    )


def panels_for(word: str, device: Device) -> KernelSpec:
    """The kernel of float32 or float64 products for CPUs, in vectors."""
    form = formats.get(word)
    width = min(WIDTH, max(widths(form, device)))
    steps = STEPS
    while steps > 1 and steps * ACROSS * np.dtype(word).itemsize > device.properties.shared_memory:
        steps //= 2
    return panels_spec(word, width, steps)


@cache
def panels_spec(word: str, width: int, steps: int) -> KernelSpec:
    """The same, of vectors of *width*, whose rows are packed for so many *steps*."""
    return spec(
        f"{word}_product",
        "ozaki/product_panels.mako",
        formats.get(word),
        {},
        width=width,
        takes=_taken("depth", word, word),
        vectors=WIDTH // width,
        rows=ROWS,
        down=DOWN,
        across=ACROSS,
        steps=steps,
    )


@cache
def _tiles_spec(threads_side: int) -> KernelSpec:
    return spec(
        "int8_product",
        "ozaki/product.mako",
        formats.get("float32"),
        {},
        takes=_taken("words", "int32", "int32"),
        threads_side=threads_side,
        results=RESULTS,
    )


def get(device: Device, choice: str = "auto", word: str = "int8") -> Library:
    """Who multiplies matrices of *word*; ``auto`` takes a vendor's library that is exact.

    BackendUnavailable where ``library`` is asked for and there is none.
    """
    errors.choice("engine:", choice, CHOICES)
    if choice == "own":
        return Own()
    if choice == "library":
        if word not in device.library_words:
            raise BackendUnavailable(
                f"engine: library given, those of the platform {device.platform} multiply "
                f"{', '.join(device.library_words)} only, not {word}"
            )
        return device.library()
    return _first(device, word)


@per_device
def _first(device: Device, word: str) -> Library:
    """The library, if it multiplies a small matrix by its transpose exactly, else portmp's kernels.

    Entries and sums take as many bits as digits and sums of them may have: a library that computes
    with fewer, as some may be told to, gives others.
    """
    full, single = _ENTRIES[word]
    host = np.full((TRIAL, TRIAL), full)
    host[:, 0] = np.arange(TRIAL)
    host[TRIAL // 2 :] = single * np.eye(TRIAL, dtype=int)[TRIAL // 2 :]
    try:
        library = device.library()
        if not library.preferred or word not in device.library_words:
            return Own()
        factor = planes.upload(FACTORS[word], [host], device.queue)
        target = planes.allocate(SUMS[word], host.shape, device.queue)
        rows, sums = Rows(factor.buffers[0], TRIAL), Rows(target.buffers[0], TRIAL)
        asked = Multiplication(word, TRIAL, TRIAL, TRIAL, rows, rows, sums)
        library.multiply(device.queue, asked)
        exact = np.array_equal(target.read_dense()[0], host @ host.T)
    except OutOfMemory:
        raise  # says nothing about the library
    except (BackendUnavailable, DeviceError):
        return Own()
    return library if exact else Own()
