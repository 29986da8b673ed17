#!/usr/bin/env python3
"""Host time of a warm launch: of a kernel of the user's own, and of the driver's call by hand.

One block of 64 threads adds two short vectors. Five ways by turns: ``portmp.Kernel`` called with
arrays by name, one that takes a number too (another one each time), the first one's launches
captured and replayed by hundreds (until they are done), portmp's queue with the same arguments, and
the driver's own API (cuLaunchKernel by cuda-bindings, clSetKernelArg and
clEnqueueNDRangeKernel by pyopencl, or, on a processor, the C function of the pool by ctypes, which
computes so small a launch before it returns).
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import portmp as mp
from portmp.backends.base import Device
from portmp.bench import measure
from portmp.errors import PortmpError

TURNS = 31
CAPTURED = 100
"""Launches of a loop."""

ADD = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n) {
        ${store("y", "i", add(load("x", "i"), load("y", "i")))}
    }
}
"""


SCALE = ADD.replace('load("x", "i")', 'mul(load("a"), load("x", "i"))')


def ways(device: str | None) -> tuple[Device, dict[str, Callable[[], None]]]:
    """The device, and what launches once in each way."""
    kernel = mp.Kernel(
        ADD, "add_to(x: in [n], y: inout [n])", threads="n", block=64, format="float64"
    )
    scaled = mp.Kernel(
        SCALE, "add_to(a: value, x: in [n], y: inout [n])", threads="n", block=64, format="float64"
    )
    x, y = (mp.array([1.0] * 64, "float64", device) for _ in range(2))
    kernel(x=x, y=y)
    scaled(a=0.5, x=x, y=y)
    numbers = itertools.count(0.5, 2.0**-20)  # each launch has another
    target, queue = x.device, x.planes.queue
    with mp.capture() as loop:
        for _ in range(CAPTURED):
            kernel(x=x, y=y)

    def replayed() -> None:
        loop.replay()
        queue.synchronize()

    loaded = kernel.module.load(target, kernel.name, frozenset("xy"))["add_to"].kernel
    arguments = [*x.planes.buffers, *y.planes.buffers, 64]
    grid, block = (1, 1, 1), (64, 1, 1)
    return target, {
        "kernel": lambda: kernel(x=x, y=y),
        "with a number": lambda: scaled(a=next(numbers), x=x, y=y),
        "captured": replayed,
        "queue": lambda: queue.launch(loaded, grid, block, arguments),
        "driver": BY_HAND[target.name.partition(":")[0]](queue, loaded, arguments),
    }


def _opencl(queue: Any, loaded: Any, arguments: list[Any]) -> Callable[[], None]:
    import pyopencl as cl

    handle, stream = loaded.kernel, queue.queue
    handle.set_scalar_arg_dtypes([None, None, np.int64])
    x, y, n = arguments[0].mem, arguments[1].mem, arguments[2]

    def launch() -> None:
        handle.set_args(x, y, n)
        cl.enqueue_nd_range_kernel(stream, handle, (64, 1, 1), (64, 1, 1))

    return launch


def _cuda(queue: Any, loaded: Any, arguments: list[Any]) -> Callable[[], None]:
    import ctypes

    from cuda.bindings import driver

    pointers = [int(buffer.pointer) for buffer in arguments[:2]]
    values = (*pointers, arguments[2])
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong)
    function, stream = loaded.function, queue.stream

    def launch() -> None:
        driver.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, (values, types), 0)

    return launch


def _processor(queue: Any, loaded: Any, arguments: list[Any]) -> Callable[[], None]:
    again = queue.relauncher(loaded, (1, 1, 1), (64, 1, 1), arguments, {})
    return lambda: again(())  # the C function that launches, by ctypes, with what it takes


BY_HAND = {"opencl": _opencl, "cuda": _cuda, "cpu": _processor}


def measured(device: Device, known: dict[str, Callable[[], None]]) -> dict[str, dict[str, float]]:
    """Microseconds of a launch in each way: median, least and largest of the turns."""
    rounds, _ = measure.issued(known, device.queue.synchronize, TURNS, 0.0)
    found: dict[str, dict[str, float]] = {}
    for name, seconds in rounds.seconds.items():
        times = [1e6 * each / (CAPTURED if name == "captured" else 1) for each in seconds]
        found[name] = {"median": statistics.median(times), "least": min(times), "most": max(times)}
    return found


def main() -> int:
    """0 once it is measured, 2 where the device has no such API."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    try:
        device, known = ways(args.device)
    except (PortmpError, KeyError) as error:
        print(f"launch: {error}", file=sys.stderr)
        return 2
    report = {
        "date": datetime.date.today().isoformat(),
        "device": device.properties.as_dict(),
        "turns": TURNS,
        "microseconds": measured(device, known),
    }
    text = json.dumps(report, indent=1) + "\n"
    if args.output:
        args.output.write_text(text)
    for name, times in report["microseconds"].items():
        print(f"{name:13} {times['median']:8.1f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
