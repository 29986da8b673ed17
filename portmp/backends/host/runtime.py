"""The host as a device: its memory is NumPy's, and routines run by their references.

It compiles nothing and launches no kernel, so it needs no driver and no probe: what the probe
compares a device with is what computes here. Where routines find it (``Device.by_reference``)
they hand their operands to the reference, which gives every recorded digest, slowly.
"""

import os
import platform as machine
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from portmp.backends.base import Buffer, Device, Dim3, Event, Given, Host, Kernel, Properties, Queue
from portmp.codegen.platform import Traits
from portmp.errors import DeviceError, OutOfMemory

UNKNOWN = 1 << 32
"""Bytes of memory, where the system does not tell how many it has."""


class HostBuffer(Buffer):
    """Bytes of the host."""

    def __init__(self, device: Device, memory: Host, nbytes: int) -> None:
        self.device = device
        self.memory = memory
        self.nbytes = nbytes


class HostEvent(Event):
    """A moment: all that was asked for before is done."""

    def __init__(self) -> None:
        self.time = time.perf_counter()

    def wait(self) -> None:
        return

    def seconds_since(self, earlier: Event) -> float:
        assert isinstance(earlier, HostEvent)
        return self.time - earlier.time


class NearQueue(Queue):
    """A queue whose device's memory this process may read and write: copies wait for all work."""

    @abstractmethod
    def _part(self, buffer: Any, nbytes: int, offset: int) -> Host:
        """Bytes of a buffer, which has them."""

    def _span(self, buffer: Buffer, nbytes: int, offset: int) -> Host:
        """A part of a buffer, once all work is done; DeviceError where it has no such part."""
        self.synchronize()
        if not 0 <= offset <= offset + nbytes <= buffer.nbytes:
            raise DeviceError(
                f"{self.device.name}: copy of {nbytes} bytes from {offset} on, the memory has "
                f"{buffer.nbytes}"
            )
        return self._part(buffer, nbytes, offset)

    def write(self, target: Buffer, source: Host, offset: int = 0, *, wait: bool = True) -> None:
        self._span(target, source.nbytes, offset)[...] = source.reshape(-1).view(np.uint8)

    def read(self, source: Buffer, target: Host, offset: int = 0, *, wait: bool = True) -> None:
        target.reshape(-1).view(np.uint8)[...] = self._span(source, target.nbytes, offset)

    def copy(
        self, target: Buffer, source: Buffer, nbytes: int, start: int = 0, offset: int = 0
    ) -> None:
        self._span(target, nbytes, start)[...] = self._span(source, nbytes, offset)

    def record(self) -> HostEvent:
        self.synchronize()
        return HostEvent()


class HostQueue(NearQueue):
    """Everything is done when a call returns."""

    def __init__(self, device: "HostDevice") -> None:
        self.device: HostDevice = device

    def _part(self, buffer: HostBuffer, nbytes: int, offset: int) -> Host:
        return buffer.memory[offset : offset + nbytes]

    def _launcher(self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given) -> Callable[[], None]:
        self.device.refuse()

    def synchronize(self) -> None:
        return


class HostDevice(Device):
    """The machine that runs Python, by the host reference."""

    platform = "host"
    index = 0
    by_reference = True

    def __init__(self) -> None:
        self.properties = Properties(
            name="host reference (NumPy)",
            vendor="NumPy",
            driver=np.__version__,
            arch=machine.machine(),
            kind="cpu",
            compute_units=1,
            warp_size=1,
            max_threads=1,
            shared_memory=0,
            memory=machine_memory(),
            float64=True,
            alignment=np.dtype(np.float64).alignment,
            extra={"platform": f"NumPy {np.__version__}"},
        )
        self.traits = Traits(warp_size=1)
        self.queue = HostQueue(self)

    @property
    def remark(self) -> str:
        """Why it is there, and what it costs."""
        return (
            "slow: no kernels, every routine by its NumPy reference; for machines on which no "
            "device works"
        )

    def allocate(self, nbytes: int) -> HostBuffer:
        try:
            return HostBuffer(self, np.empty(max(nbytes, 1), np.uint8), nbytes)
        except (MemoryError, ValueError):
            raise OutOfMemory(
                f"{self.name}: {nbytes} bytes asked for, the machine has {self.properties.memory}"
            ) from None

    def new_queue(self) -> HostQueue:
        return HostQueue(self)

    def refuse(self) -> NoReturn:
        """Say that it has no kernels."""
        raise DeviceError(
            f"{self.name}: the host device runs no kernels: its routines are computed by the "
            "host reference"
        )

    def compile(self, source: str) -> bytes:
        self.refuse()

    def compiler_key(self) -> str:
        """What computes, since nothing is compiled."""
        return f"host reference, NumPy {np.__version__}, no compiler"

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        self.refuse()

    def __repr__(self) -> str:
        return f"<portmp device {self.name}: {self.properties.name}, {self.remark}>"


def machine_memory() -> int:
    """Bytes of the machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def find_devices() -> list[Device]:
    """The host, which is always there."""
    return [HostDevice()]
