"""What the hardware can do: the rate of its own instructions and of plain copies.

Every share of a floor that portmp reports divides by these, measured in the same run.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import cache

import numpy as np

from portmp import formats, platform, program
from portmp.backends.base import Device
from portmp.planes import allocate
from portmp.spec import KernelSpec, spec

CHAINS, STEPS, THREADS = 8, 32, 256


@cache
def rate_spec(form: str, op: str, width: int, threads: int) -> KernelSpec:
    """The kernel of independent chains of *op* (add or fma)."""
    return spec(
        f"{op}_rate", "bench/rate.mako", formats.get(form), {}, width=width,
        chains=CHAINS, steps=STEPS, threads=threads, op=op,
    )  # fmt: skip


def seconds(device: Device, work: Callable[[], object], repeats: int = 5) -> float:
    """Median device time of *work*'s launches, after one warm-up."""
    work()
    device.queue.synchronize()
    times = []
    for _ in range(repeats):
        start = device.queue.record()
        work()
        times.append(device.queue.record().seconds_since(start))
    return statistics.median(times)


def instruction_rate(device: Device, word: str, op: str = "fma") -> float:
    """Words a second that *op* (add or fma) produces on *device*: ``word`` float32 or float64."""
    gpu = device.properties.kind == "gpu"
    width = 1 if gpu else max(platform.get(device.platform).vectors)
    threads = min(THREADS, device.properties.max_threads) if gpu else 1
    key = rate_spec(word, op, width, threads)
    kernel = program.kernels(device, key)[key.name]
    blocks = device.properties.compute_units * (16 if gpu else 4)
    kind = np.dtype(word).type
    out = allocate(formats.get(word), (1,), device.queue)
    iterations = 256 if gpu else 20000

    def work() -> None:
        args = [np.int32(iterations), kind(0.5), kind(1.0), *out.buffers]
        device.queue.launch(kernel, (blocks, 1, 1), (threads, 1, 1), args)

    words = blocks * threads * width * CHAINS * STEPS * iterations
    return words / seconds(device, work)


def copy_rate(device: Device, nbytes: int = 0) -> float:
    """Bytes read and written a second by a plain copy of *nbytes* (default 1/32 of memory)."""
    from portmp.routines import elementwise

    size = nbytes or min(device.properties.memory // 32, 2**30)
    form = formats.get("float64" if device.properties.float64 else "float32")
    count = size // form.itemsize
    source, target = (allocate(form, (count,), device.queue) for _ in range(2))
    elementwise.apply("sub", [source, source], source)
    return (
        2
        * count
        * form.itemsize
        / seconds(device, lambda: elementwise.apply("copy", [source], target))
    )
