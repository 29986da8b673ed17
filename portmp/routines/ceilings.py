"""What the hardware can do: the rates of its own instructions and of plain memory traffic.

Every share of a floor that portmp reports divides by these, measured in the same run. A
ceiling is the fastest of several runs: what disturbs a run only makes it slower.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np

from portmp import formats
from portmp.backends.base import Device, Multiplication, Rows
from portmp.codegen import platform
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Flag, Index, Plain, Scratch
from portmp.routines import base
from portmp.routines.elementwise import launch as elementwise
from portmp.routines.products import engines
from portmp.runtime import launch
from portmp.runtime.planes import allocate
from portmp.schedules.base import widths

CHAINS, STEPS, THREADS = 8, 32, 256
RUNS = 20
_CPU_WIDTHS = (4, 8)
_PRODUCT_ORDER = {"gpu": 8192, "cpu": 1024}
_PRODUCT_SECONDS = 3.0
_LARGEST = {"gpu": 2**30, "cpu": 2**27}
"""Bytes of an array whose traffic is measured: far more than any cache."""


@cache
def rate_spec(form: str, op: str, width: int, threads: int) -> KernelSpec:
    """The kernel of independent chains of *op* (add or fma)."""
    return spec(
        f"{op}_rate",
        "bench/rate.mako",
        formats.get(form),
        {},
        width=width,
        takes=[
            *(Flag("iterations"), Plain("scale", form), Plain("shift", form)),
            Scratch("out", form),
        ],
        chains=CHAINS,
        steps=STEPS,
        threads=threads,
        op=op,
    )


@cache
def unit_rate_spec(threads: int) -> KernelSpec:
    """The kernel of independent chains of a matrix unit's products."""
    return spec(
        "unit_rate",
        "bench/unit_rate.mako",
        formats.get("float64"),
        {},
        takes=[Flag("iterations"), Plain("scale", "float64"), Scratch("out", "float64")],
        chains=CHAINS,
        threads=threads,
    )


@cache
def triad_spec(form: str, width: int) -> KernelSpec:
    """The kernel of STREAM's triad, out = x + scale y, for CPUs."""
    x, y = (Scratch(one, form, const=True, lanes=width) for one in "xy")
    takes = Index("vectors"), Plain("scale", form), x, y, Scratch("out", form, lanes=width)
    return spec("triad", "bench/triad.mako", formats.get(form), {}, width=width, takes=takes)


def times(device: Device, work: Callable[[], object], runs: int = 5, apart: int = 1) -> list[float]:
    """Device time of *work*'s launches in seconds, for each run, after a warm-up.

    All runs are in the queue before the first is waited for. The first of them starts when
    the host has launched it and is not counted: launching takes tens of microseconds. With *apart*
    of 0 it is: where a run takes far longer.
    """
    queue = device.queue
    work()
    queue.synchronize()
    marks = [queue.record()]
    for _ in range(runs + apart):
        work()
        marks.append(queue.record())
    return [end.seconds_since(start) for start, end in itertools.pairwise(marks)][apart:]


def instruction_rate(device: Device, word: str, op: str = "fma") -> float:
    """Words a second that *op* (add or fma) produces on *device*: ``word`` float32 or float64.

    On CPUs the best of the vector widths: wider vectors than the hardware's run out of
    registers, narrower ones leave a part of it idle.
    """
    gpu = device.properties.kind == "gpu"
    known = [] if gpu else [w for w in widths(formats.get(word), device) if w in _CPU_WIDTHS]
    return max(_rate(device, word, op, width) for width in known or [1])


def _rate(device: Device, word: str, op: str, width: int) -> float:
    gpu = device.properties.kind == "gpu"
    threads = base.threads(device, THREADS) if gpu else 1
    key = rate_spec(word, op, width, threads)
    blocks = device.properties.compute_units * (16 if gpu else 4)
    out = allocate(formats.get(word), (1,), device.queue)
    iterations = 256 if gpu else 20000

    def work() -> None:
        given = {"iterations": iterations, "scale": 0.5, "shift": 1.0, "out": out}
        launch.run(device.queue, (key,), (blocks, 1, 1), (threads, 1, 1), given)

    words = blocks * threads * width * CHAINS * STEPS * iterations
    return words / min(times(device, work, RUNS))


def unit_rate(device: Device) -> float:
    """Multiply-adds of float64 a second that the matrix units of *device* do."""
    unit = platform.get(device.platform).matrix_units[device.traits.matrix_unit]
    warps, iterations = THREADS // unit.lanes, 1024
    key = unit_rate_spec(warps * unit.lanes)
    blocks = device.properties.compute_units * 16
    out = allocate(formats.get("float64"), (1,), device.queue)

    def work() -> None:
        given = {"iterations": iterations, "scale": 0.5, "out": out}
        launch.run(device.queue, (key,), (blocks, 1, 1), (warps * unit.lanes, 1, 1), given)

    each = unit.rows * unit.columns * unit.steps
    return float(blocks * warps * each * CHAINS * iterations) / min(times(device, work, RUNS))


def product_rate(device: Device, word: str) -> float:
    """Products a second (each added to a sum) of matrices of *word*, by the fastest engine."""
    n = _PRODUCT_ORDER[device.properties.kind]
    a, b = (allocate(engines.FACTORS[word], (n, n), device.queue) for _ in range(2))
    c = allocate(engines.SUMS[word], (n, n), device.queue)
    for factor in (a, b):
        factor.write([np.resize(np.arange(-128, 128), (n, n))])
    engine = engines.get(device, "auto", word)
    x, y, z = (Rows(v.buffers[0], n) for v in (a, b, c))

    def work() -> None:
        engine.multiply(device.queue, Multiplication(word, n, n, n, x, y, z))

    taken = times(device, work, 1)
    taken += times(device, work, max(2, min(RUNS, int(_PRODUCT_SECONDS / taken[0]))))
    return float(n) ** 3 / min(taken)


def memory_rate(device: Device) -> tuple[str, float]:
    """What memory gives, in bytes a second, and how it was found: ``copy`` or ``triad``.

    GPUs copy; CPUs run STREAM's triad, whose bytes are counted as STREAM does (a line
    that is fetched in order to be written is not counted).
    """
    if device.properties.kind == "gpu":
        return "copy", copy_rate(device)
    return "triad", triad_rate(device)


def copy_rate(device: Device) -> float:
    """Bytes read and written a second by a plain copy of 1/32 of memory."""
    form = _plain(device)
    count = _array_bytes(device) // form.itemsize
    source, target = (allocate(form, (count,), device.queue) for _ in range(2))
    elementwise.apply("sub", [source, source], source)
    best = min(times(device, lambda: elementwise.apply("copy", [source], target), RUNS))
    return 2 * count * form.itemsize / best


def triad_rate(device: Device) -> float:
    """Bytes read and written a second by STREAM's triad."""
    form = _plain(device)
    width = max(w for w in widths(form, device) if w <= 64 // form.itemsize)
    blocks = device.properties.compute_units * 64
    vectors = _array_bytes(device) // (form.itemsize * width * blocks)
    count = vectors * width * blocks
    x, y, out = (allocate(form, (count,), device.queue) for _ in range(3))
    for planes in (x, y):
        planes.write([np.ones(count, form.word)])
    key = triad_spec(form.name, width)
    given = {"vectors": vectors, "scale": 0.5, "x": x, "y": y, "out": out}

    def work() -> None:
        launch.run(device.queue, (key,), (blocks, 1, 1), (1, 1, 1), given)

    return 3 * count * form.itemsize / min(times(device, work, RUNS))


def _plain(device: Device) -> formats.Format:
    return formats.get("float64" if device.properties.float64 else "float32")


def _array_bytes(device: Device) -> int:
    facts = device.properties
    return min(facts.memory // 32, _LARGEST[facts.kind])
