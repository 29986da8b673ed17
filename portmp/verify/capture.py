"""A device that computes nothing and notes what a routine asks of it: memory, kernels, launches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portmp.backends.base import (
    Argument,
    Buffer,
    Device,
    Dim3,
    Event,
    Kernel,
    LaunchMemory,
    Properties,
    Queue,
)
from portmp.codegen import platform as platforms
from portmp.discovery import probe
from portmp.errors import ArgumentError

THREADS = 256
"""Threads of a block at most: what every GPU and nearly every OpenCL device takes."""


class Memory(Buffer):
    """Device memory that begins with *content*; ``number``: which of the program's it is."""

    def __init__(self, device: "CaptureDevice", nbytes: int) -> None:
        self.device = device
        self.nbytes = max(nbytes, 1)
        self.content = np.zeros(self.nbytes, np.uint8)
        self.number = len(device.memories)
        self.launched = False


@dataclass(frozen=True)
class Named(Kernel):
    """A kernel of a source text."""

    name: str
    text: str


@dataclass(frozen=True)
class Launched:
    """A launch: memory by its number, other arguments as their bytes."""

    kernel: Named
    grid: Dim3
    block: Dim3
    arguments: tuple[int | bytes, ...]
    memory: int


@dataclass(frozen=True)
class Result:
    """What is read back: from which memory, from which byte on, how many bytes."""

    memory: int
    offset: int
    nbytes: int


class _Never(Event):
    def wait(self) -> None:
        """There is nothing to wait for."""

    def seconds_since(self, earlier: Event) -> float:
        return 0.0


def cannot(what: str) -> ArgumentError:
    """Why a routine has no program."""
    return ArgumentError(f"--standalone: {what}: no program of kernels alone does that")


@dataclass(eq=False)
class CaptureQueue(Queue):
    """Notes launches, and what is written and read."""

    copies = False
    device: "CaptureDevice"
    launches: list[Launched] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def write(
        self, target: Buffer, source: np.ndarray[Any, Any], offset: int = 0, *, wait: bool = True
    ) -> None:
        assert isinstance(target, Memory)
        if target.launched:
            raise cannot("the routine writes memory that kernels have had")
        content = np.frombuffer(np.ascontiguousarray(source).tobytes(), np.uint8)
        target.content[offset : offset + len(content)] = content

    def read(
        self, source: Buffer, target: np.ndarray[Any, Any], offset: int = 0, *, wait: bool = True
    ) -> None:
        assert isinstance(source, Memory)
        target.fill(0)
        self.results.append(Result(source.number, offset, target.nbytes))

    def copy(
        self, target: Buffer, source: Buffer, nbytes: int, start: int = 0, offset: int = 0
    ) -> None:
        raise cannot("the routine copies memory")

    def _launcher(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Argument]
    ) -> Callable[[], None]:
        assert isinstance(kernel, Named)
        given: list[int | bytes] = []
        more = 0
        for one in args:
            if isinstance(one, Memory):
                given.append(one.number)
            elif isinstance(one, LaunchMemory):
                more = one.nbytes
            else:
                given.append((np.int64(one) if isinstance(one, int) else one).tobytes())  # type: ignore[union-attr]
        launched = Launched(kernel, grid, block, tuple(given), more)

        def run() -> None:
            if self.results:
                raise cannot("the routine computes on the host between kernels")
            for one in args:
                if isinstance(one, Memory):
                    one.launched = True
            self.launches.append(launched)

        return run

    def record(self) -> Event:
        return _Never()

    def synchronize(self) -> None:
        """There is nothing to wait for."""


class CaptureDevice(Device):
    """Any device of a platform, with the platform's usual traits."""

    index = 0
    library_words = ()

    def __init__(self, platform: str) -> None:
        table = platforms.get(platform)
        self.platform = table.name
        self.traits = table.defaults
        self.memories: list[Memory] = []
        self.properties = Properties(
            name=f"any of {table.name}",
            vendor="",
            driver="",
            arch="",
            kind="gpu",
            compute_units=16,
            warp_size=self.traits.warp_size,
            max_threads=THREADS,
            shared_memory=32768,
            memory=2**32,
            float64=True,
        )
        self.notes = CaptureQueue(self)
        self.queue = self.notes
        probe.trust(self)

    @property
    def name(self) -> str:
        """No other device has it."""
        return f"any:{self.platform}"

    def allocate(self, nbytes: int) -> Buffer:
        self.memories.append(Memory(self, nbytes))
        return self.memories[-1]

    def new_queue(self) -> Queue:
        return self.notes

    def compile(self, source: str) -> bytes:
        return source.encode()

    def compiler_key(self) -> str:
        return f"none {self.platform}"

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        text = binary.decode()
        return {name: Named(name, text) for name in kernels}
