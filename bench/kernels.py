#!/usr/bin/env python3
"""Kernels of the gallery against plain CUDA text of the same algorithm, compiled by NVRTC.

Both run by turns on the same arrays of one device; results are compared first. Beside the ratio
stand bytes a second: each kernel is bound by memory.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import portmp as mp
from portmp import discovery
from portmp.backends.base import Device, Kernel
from portmp.bench import measure
from portmp.errors import PortmpError

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"
SECONDS = 4.0

TRANSPOSE = """
extern "C" __global__ void __launch_bounds__(256)
turned(const double *a, double *b, long long m, long long n)
{
    __shared__ double held[32][33];
    const int x = threadIdx.x, y = threadIdx.y;
    const long long row = blockIdx.y * 32LL + y, column = blockIdx.x * 32LL + x;
    for (int k = 0; k < 32; k += 8)
        if (row + k < m && column < n)
            held[y + k][x] = a[(row + k) * n + column];
    __syncthreads();
    const long long to_row = blockIdx.x * 32LL + y, to_column = blockIdx.y * 32LL + x;
    for (int k = 0; k < 32; k += 8)
        if (to_row + k < n && to_column < m)
            b[(to_row + k) * m + to_column] = held[x][y + k];
}
"""

PREFIX = """
extern "C" __global__ void __launch_bounds__(256)
within(const double *x, double *y, double *totals, long long n)
{
    __shared__ double warps[8];
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double sum = i < n ? x[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        const double other = __shfl_up_sync(0xffffffff, sum, d);
        if (lane >= d)
            sum = other + sum;
    }
    if (lane == 31)
        warps[warp] = sum;
    __syncthreads();
    double before = 0;
    for (int w = 0; w < warp; w++)
        before += warps[w];
    sum = before + sum;
    if (i < n)
        y[i] = sum;
    if (threadIdx.x == 255)
        totals[blockIdx.x] = sum;
}
extern "C" __global__ void __launch_bounds__(256)
onward(const double *before, double *y, long long n)
{
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < n && blockIdx.x > 0)
        y[i] = before[blockIdx.x - 1] + y[i];
}
"""

HISTOGRAM = """
extern "C" __global__ void __launch_bounds__(256)
counted(const int *k, int *count, long long n)
{
    __shared__ int held[256];
    held[threadIdx.x] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL)
        atomicAdd(&held[k[i]], 1);
    __syncthreads();
    atomicAdd(&count[threadIdx.x], held[threadIdx.x]);
}
"""


class Case(NamedTuple):
    """The two ways, what reads their results, and the bytes that a run moves at least."""

    own: Callable[[], object]
    plain: Callable[[], object]
    results: Callable[[], Sequence[np.ndarray[Any, Any]]]
    nbytes: int


def gallery(name: str) -> Any:
    """A file of the gallery as a module."""
    spec = importlib.util.spec_from_file_location(name, GALLERY / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(device: Device, text: str, *names: str) -> dict[str, Kernel]:
    """Plain kernels on the device."""
    return dict(device.load(device.compile(text), names))


def transpose(device: Device, size: int) -> Case:
    """A square matrix of doubles."""
    own = gallery("transpose").transpose
    turned = compiled(device, TRANSPOSE, "turned")["turned"]
    a = mp.array(np.random.default_rng(1).standard_normal((size, size)), "float64", device)
    b, c = mp.zeros((size, size), "float64", device), mp.zeros((size, size), "float64", device)
    grid = (-(-size // 32), -(-size // 32), 1)
    given = [*a.planes.buffers, *c.planes.buffers, size, size]
    return Case(
        lambda: own(a=a, b=b),
        lambda: device.queue.launch(turned, grid, (32, 8, 1), given),
        lambda: [b.to_limbs()[0], c.to_limbs()[0]],
        2 * 8 * size * size,
    )


def prefix_sum(device: Device, size: int) -> Case:
    """Doubles; each is read and written twice."""
    text = gallery("prefix_sum").module.text
    module = mp.Module(text, format="float64")
    within = module.kernel(
        "within(x: in [n], y: out [n], totals: out [blocks])", grid="blocks", block=256
    )
    onward = module.kernel("onward(before: in [blocks], y: inout [n])", grid="blocks", block=256)
    plain = compiled(device, PREFIX, "within", "onward")
    # of few bits, so that sums are exact
    x = mp.array(np.random.default_rng(2).integers(0, 9, size), "float64", device)

    def room(count: int) -> list[tuple[mp.Array, mp.Array]]:
        """Sums and totals of each level."""
        blocks = -(-count // 256)
        both = mp.zeros(count, "float64", device), mp.zeros(blocks, "float64", device)
        return [both, *(room(blocks) if blocks > 1 else [])]

    def by_portmp(x: mp.Array, levels: Any) -> mp.Array:
        (y, totals), *more = levels
        within(x=x, y=y, totals=totals)
        if more:
            onward(before=by_portmp(totals, more), y=y)
        return y

    def by_hand(x: mp.Array, levels: Any) -> mp.Array:
        (y, totals), *more = levels
        grid = (totals.size, 1, 1)
        planes = [one.planes.buffers[0] for one in (x, y, totals)]
        device.queue.launch(plain["within"], grid, (256, 1, 1), [*planes, x.size])
        if more:
            before = by_hand(totals, more).planes.buffers[0]
            given = [before, planes[1], x.size]
            device.queue.launch(plain["onward"], grid, (256, 1, 1), given)
        return y

    own, other = room(size), room(size)
    return Case(
        lambda: by_portmp(x, own),
        lambda: by_hand(x, other),
        lambda: [own[0][0].to_limbs()[0], other[0][0].to_limbs()[0]],
        4 * 8 * size,
    )


def histogram(device: Device, size: int) -> Case:
    """Integers from 0 to 255, each as often as others."""
    own = gallery("histogram")
    counted = compiled(device, HISTOGRAM, "counted")["counted"]
    numbers = np.random.default_rng(3).integers(0, own.BINS, size, np.int32)
    k = mp.plain_array(numbers, "int32", device)
    counts = [mp.plain_zeros(own.BINS, "int32", device) for _ in range(2)]
    grid = (min(-(-size // 256), own.BLOCKS), 1, 1)
    given = [*k.planes.buffers, *counts[1].planes.buffers, size]
    return Case(
        lambda: own.histogram(k=k, count=counts[0]),
        lambda: device.queue.launch(counted, grid, (256, 1, 1), given),
        lambda: [one.to_numpy() for one in counts],
        4 * size,
    )


CASES: dict[str, tuple[Callable[[Device, int], Case], int]] = {
    "transpose": (transpose, 1 << 14),
    "prefix_sum": (prefix_sum, 1 << 27),
    "histogram": (histogram, 1 << 29),
}
"""Each with its size."""


def measured(device: Device, case: Case, seconds: float) -> dict[str, Any]:
    """Times of both ways, by turns; the ratio of the plain one's to ours."""
    case.own()
    case.plain()
    first, second = case.results()
    works = {"portmp": case.own, "plain": case.plain}
    rounds = measure.by_turns(device, works, 0, seconds)
    times = {name: sorted(found) for name, found in rounds.seconds.items()}
    ratios = sorted(
        b / a for a, b in zip(rounds.seconds["portmp"], rounds.seconds["plain"], strict=True)
    )
    return {
        "equal": bool((first == second).all()),
        "rounds": len(ratios),
        "seconds": {name: found[len(found) // 2] for name, found in times.items()},
        "gigabytes_a_second": {
            name: case.nbytes / found[len(found) // 2] / 1e9 for name, found in times.items()
        },
        "rate_of_plain": {
            "median": ratios[len(ratios) // 2],
            "least": ratios[0],
            "most": ratios[-1],
        },
    }


def main() -> int:
    """0 once it is measured, 1 where results differ, 2 where there is no such device."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--scale", type=int, default=0, metavar="K", help="sizes over 2^K")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    args = parser.parse_args()
    try:
        device = discovery.get(args.device)
        cases = {
            name: measured(device, make(device, size >> args.scale), SECONDS)
            for name, (make, size) in CASES.items()
        }
    except PortmpError as error:
        print(f"kernels: {error}", file=sys.stderr)
        return 2
    report = {
        "date": datetime.date.today().isoformat(),
        "device": device.properties.as_dict(),
        "compiler": device.compiler_key(),
        "sizes": {name: size >> args.scale for name, (_, size) in CASES.items()},
        "cases": cases,
    }
    if args.output:
        args.output.write_text(json.dumps(report, indent=1) + "\n")
    for name, found in cases.items():
        rates, ratio = found["gigabytes_a_second"], found["rate_of_plain"]
        print(
            f"{name:10} portmp {rates['portmp']:7.0f} GB/s, plain {rates['plain']:7.0f} GB/s, "
            f"ratio {ratio['median']:.3f} ({ratio['least']:.3f} to {ratio['most']:.3f}), "
            f"{'equal' if found['equal'] else 'DIFFERENT'} results"
        )
    return 0 if all(found["equal"] for found in cases.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
