"""What a routine takes of the host: its launches, and the time until all are given to a driver.

``python tests/host_time.py lu 32768 --devices 2`` compiles kernels for the GPU of a recorded report
by NVRTC, and gives them to a driver that does nothing: no GPU is needed. What drivers take
themselves is left out; numbers that routines read are zeros. The first call compiles, it or the
second one makes plans; later ones are as in a loop.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import itertools
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from cuda.bindings import driver as bindings

import portmp as mp
from portmp import distributed
from portmp.backends import base, capabilities
from portmp.backends.cuda import runtime
from portmp.codegen import platform
from portmp.codegen.platform import Traits
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.discovery import probe
from portmp.routines.products import engines

REPORT = Path(__file__).resolve().parents[1] / "bench" / "devices" / "nvidia-h200-cuda.json"
WARP = 32
TILE = 512

ROUTINES: dict[str, Callable[[Any], Any]] = {
    "lu": mp.linalg.lu_factor,
    "cholesky": mp.linalg.cholesky,
    "qr": lambda a: mp.linalg.qr(a, "r"),
    "gemm": lambda a: a @ a,
    "sum": lambda a: a.sum(),
}


class Driver:
    """The driver API: it counts calls, and hands out addresses that nobody follows."""

    def __init__(self) -> None:
        self.calls: collections.Counter[str] = collections.Counter()
        self.sizes: dict[int, int] = {}
        self.taken = self.most = 0
        self.addresses = itertools.count(1 << 40, 1 << 40)
        self.handles = itertools.count(1)
        self.host: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu") or name[2].islower():
            return getattr(bindings, name)
        act = getattr(self, f"_{name}", lambda *given: 1)

        def call(*given: Any) -> tuple[Any, ...]:
            self.calls[name] += 1
            return 0, act(*given)

        setattr(self, name, call)
        return call

    def _cuMemAllocAsync(self, nbytes: int, stream: Any) -> int:
        address = next(self.addresses)
        self.sizes[address] = nbytes
        self.taken += nbytes
        self.most = max(self.most, self.taken)
        return address

    def _cuMemFreeAsync(self, address: int, stream: Any) -> None:
        self.taken -= self.sizes.pop(address)

    def _cuMemHostAlloc(self, nbytes: int, flags: int) -> int:
        self.host.append((ctypes.c_uint8 * nbytes)())
        return ctypes.addressof(self.host[-1])

    def _cuMemcpyDtoHAsync(self, to: int, source: int, nbytes: int, stream: Any) -> None:
        ctypes.memset(to, 0, nbytes)

    def _cuModuleGetFunction(self, module: Any, name: bytes) -> str:
        return name.decode()

    def _cuStreamCreate(self, flags: int) -> int:
        return next(self.handles)


class Card(runtime.CudaDriver):
    """One of the GPUs that are not there."""

    def __init__(self, api: Driver, number: int, facts: base.Properties) -> None:
        super().__init__(api, number)
        self.facts = facts

    def attribute(self, name: str) -> int:
        return 1

    def memory(self) -> tuple[int, int]:
        return self.facts.memory, self.facts.memory

    def resident_blocks(self, function: Any, threads: int) -> int:
        return self.facts.compute_units

    def is_reached(self, event: Any) -> bool:
        return True


class Products(base.Library):
    """A library of products that does nothing."""

    name, launches, preferred = "none", True, True

    def multiply(self, queue: base.Queue, asked: base.Multiplication) -> None:
        """Nothing."""


class Device(runtime.CudaDevice):
    """One GPU of them."""

    def library(self) -> Any:
        return Products()


def devices(count: int) -> Driver:
    """The driver of so many GPUs, which portmp finds in the place of those that are here."""
    report = json.loads(REPORT.read_text())["reports"][0]["devices"][0]["facts"]
    facts, api, compiler = base.Properties(**report), Driver(), NvrtcCompiler()
    unit = capabilities.matrix_unit(facts.arch, platform.CUDA.matrix_units)
    traits = Traits(WARP, dot4=capabilities.dot4(facts.arch), matrix_unit=unit)
    found = [Device(i, Card(api, i, facts), facts, traits, compiler) for i in range(count)]
    approve, first = probe.approve, engines._first

    def approved(device: base.Device) -> None:
        if not isinstance(device, Device):
            approve(device)

    def library(device: base.Device, word: str) -> base.Library:
        return device.library() if isinstance(device, Device) else first(device, word)

    for module, name, instead in (
        (runtime, "find_devices", lambda: [*found]),
        (probe, "approve", approved),
        (engines, "_first", library),
    ):
        mock.patch.object(module, name, instead).start()
    return api


def main(arguments: list[str]) -> None:
    """Print a line for each call."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("routine", choices=ROUTINES)
    parser.add_argument("n", type=int)
    parser.add_argument("--format", default="dd")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--calls", type=int, default=4)
    asked = parser.parse_args(arguments)
    api, names = devices(asked.devices), [f"cuda:{i}" for i in range(asked.devices)]
    make = partial(mp.empty, (asked.n, asked.n), asked.format, names[0])
    if asked.devices > 1:
        layout = mp.BlockCyclic(TILE, 1, asked.devices)
        make = partial(
            distributed.zeros, (asked.n,) * 2, asked.format, layout=layout, devices=names
        )
    a = make()
    for call in range(1, asked.calls + 1):
        api.calls.clear()
        start = time.thread_time()
        ROUTINES[asked.routine](a)
        seconds = time.thread_time() - start
        launches = sum(n for name, n in api.calls.items() if "Launch" in name)
        most = api.most / asked.devices / 1e9
        print(
            f"call {call}: {seconds * 1e3:8.1f} ms of the host, {launches} launches, "
            f"{api.calls['cuMemcpyPeerAsync']} copies between devices, {most:.1f} GB of each",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
