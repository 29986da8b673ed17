"""The process that runs under Oclgrind, whose device is the only one there.

Reads pickled ``(call, arguments)`` from standard input until it ends, and answers each with a
pickled ``("result", value)`` or ``("error", class, message)``; memory and kernels are numbers.
Each call ends when the device has done it, so that the log is complete.
"""

import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np

from portmp.backends.base import Argument, Buffer, Device, Dim3, Kernel, Properties, end_with_parent
from portmp.backends.opencl import runtime as opencl
from portmp.errors import BackendUnavailable, PortmpError

WIDTH = 16
"""Bytes that a thread of ``move_vectors`` moves."""

MOVES = """
__kernel void move_vectors(__global uchar *to, __global const uchar *from, long start, long offset)
{
    const long i = get_global_id(0);
    vstore16(vload16(i, from + offset), i, to + start);
}

__kernel void move_bytes(__global uchar *to, __global const uchar *from, long start, long offset)
{
    const long i = get_global_id(0);
    to[start + i] = from[offset + i];
}
"""
"""Kernels that copy a part of memory, from *offset* on, to *start* and on."""


class Served:
    """What the other process may call."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._buffers: list[Buffer] = []
        self._kernels: list[Kernel] = []

    def properties(self) -> Properties:
        """Facts of the device."""
        return self._device.properties

    def compile(self, source: str) -> None:
        """Only to hear of errors: what is loaded is compiled then."""
        self._device.compile(source)

    def load(self, source: str, names: Sequence[str]) -> list[int]:
        """Numbers of a source's kernels."""
        found = self._device.load(self._device.compile(source), names)
        self._kernels += [found[name] for name in names]
        return list(range(len(self._kernels) - len(names), len(self._kernels)))

    def allocate(self, nbytes: int) -> int:
        """The number of new memory. It is never given back.

        Where memory is allocated again at an address that was freed, Oclgrind 21.10 sometimes
        goes by what the old content was: a false report.
        """
        self._buffers.append(self._device.allocate(nbytes))
        return len(self._buffers) - 1

    def write(self, target: int, content: bytes, offset: int) -> None:
        """Copy to the device."""
        source, held = np.frombuffer(content, np.uint8), self._buffers[target]
        queue = self._device.queue
        if len(content) == held.nbytes:
            queue.write(held, source)
            return
        given = self._device.allocate(len(content))
        queue.write(given, source)
        self._move(held, given, len(content), offset, 0)

    def copy(self, target: int, source: int, nbytes: int, start: int, offset: int) -> None:
        """Copy on the device."""
        self._move(self._buffers[target], self._buffers[source], nbytes, start, offset)

    def _move(self, target: Buffer, source: Buffer, nbytes: int, start: int, offset: int) -> None:
        """Copy by kernels.

        Oclgrind 21.10 takes memory for unset where a write or a copy leaves a part of it as it
        was; what a kernel writes is noted as it is.
        """
        whole = nbytes // WIDTH * WIDTH
        parts = {"move_vectors": (whole // WIDTH, 0), "move_bytes": (nbytes - whole, whole)}
        for name, (count, first) in parts.items():
            if count:
                args: list[Argument] = [target, source, start + first, offset + first]
                self._device.queue.launch(self._moves[name], (count, 1, 1), (1, 1, 1), args)

    @cached_property
    def _moves(self) -> Mapping[str, Kernel]:
        names = ("move_vectors", "move_bytes")
        return self._device.load(self._device.compile(MOVES), names)

    def read(self, source: int, nbytes: int, offset: int) -> bytes:
        """Copy to the host."""
        content = np.empty(nbytes, np.uint8)
        self._device.queue.read(self._buffers[source], content, offset)
        return content.tobytes()

    def launch(
        self, kernel: int, grid: Dim3, block: Dim3, args: Sequence[tuple[bool, Any]]
    ) -> None:
        """Launch: arguments are the numbers of memory, where they say so, or values."""
        given: list[Argument] = [self._buffers[a] if memory else a for memory, a in args]
        self._device.queue.launch(self._kernels[kernel], grid, block, given)


def _served() -> Served:
    """Oclgrind's device."""
    import pyopencl as cl

    # Oclgrind answers an unknown property with an error, as it may.
    cl.Device.warp_size_nv = cl.Device.wavefront_width_amd = 0
    found = opencl.find_devices()[0]
    if "Oclgrind" not in found.properties.name:
        raise BackendUnavailable(f"the process has {found.properties.name}, not Oclgrind's device")
    return Served(found)


def _answer(stream: BinaryIO, *content: Any) -> None:
    pickle.dump(content, stream)
    stream.flush()


def main() -> None:
    """Answer the calls on standard input."""
    end_with_parent(os.getppid())  # a kernel may have no end
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the standard output is for answers alone
    try:
        served = _served()
    except Exception as error:  # anything here means: it is not usable
        _answer(answers, "error", "BackendUnavailable", f"{type(error).__name__}: {error}")
        return
    _answer(answers, "result", None)
    while True:
        try:
            call, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            result = getattr(served, call)(*arguments)
            served._device.queue.synchronize()
        except PortmpError as error:
            _answer(answers, "error", type(error).__name__, str(error))
        else:
            _answer(answers, "result", result)


if __name__ == "__main__":
    main()
