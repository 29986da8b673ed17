"""NCCL, by nccl4py: memory of a GPU to that of another process.

A pair of processes has a communicator for each direction. NCCL's kernels wait on the GPU for the
other end: one begins only after the work so far in the queue that asks for it, so that nothing it
waits for can wait for it.
"""

from __future__ import annotations

from typing import Any

from portmp.backends.base import Buffer, Channel, Queue
from portmp.backends.cuda_array import NAME, lent
from portmp.backends.driver_api import GpuBuffer, GpuDevice
from portmp.errors import BackendUnavailable, DeviceError, one_line

_INSTALL = "pip install '.[nccl]' in a checkout of portmp installs nccl4py"


class _Bytes:
    """Memory as NCCL reads it."""

    def __init__(self, buffer: Buffer, nbytes: int) -> None:
        assert isinstance(buffer, GpuBuffer)
        setattr(self, NAME, lent(buffer.pointer, "uint8", (nbytes,), (1,), None))


class NcclChannel(Channel):
    """One direction between two GPUs; *end*: 0 sends, 1 receives."""

    def __init__(self, device: GpuDevice, key: Any, end: int) -> None:
        self.side, self.device, self.other = device.new_queue(), device, 1 - end
        device.driver.current()
        try:
            self.comm = library().Communicator.init(2, end, key)
        except Exception as error:  # NCCL's own types
            raise DeviceError(f"NCCL on {device.name}: {one_line(error)}") from error

    def send(self, queue: Queue, source: Buffer, nbytes: int) -> None:
        self._move("send", queue, source, nbytes)

    def receive(self, queue: Queue, target: Buffer, nbytes: int) -> None:
        self._move("recv", queue, target, nbytes)
        queue.wait(self.side.record())

    def _move(self, how: str, queue: Queue, buffer: Buffer, nbytes: int) -> None:
        self.side.wait(queue.record())
        buffer.note(self.side)
        self.device.driver.current()
        try:
            move = getattr(self.comm, how)
            move(_Bytes(buffer, nbytes), self.other, stream=self.device.stream_number(self.side))
        except Exception as error:  # NCCL's own types
            raise DeviceError(f"NCCL on {self.device.name}: {one_line(error)}") from error


def library() -> Any:
    """nccl4py; BackendUnavailable says how to install it."""
    try:
        from nccl import core

        return core
    except Exception as error:  # several types, for a missing package and a missing library
        raise BackendUnavailable(f"NCCL is missing ({one_line(error)}); {_INSTALL}") from error
