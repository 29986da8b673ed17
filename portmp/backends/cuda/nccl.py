"""NCCL, by nccl4py: memory of a GPU to that of another process.

A pair of processes has a communicator for each direction. NCCL's kernels wait on the GPU for the
other end: one begins only after the work so far in the queue that asks for it, so that nothing it
waits for can wait for it. The first message of a communicator waits on the host, too, until the
other end has asked for it as well: it is sent as both open it.
"""

from __future__ import annotations

from typing import Any

from portmp.backends import dlpack
from portmp.backends.base import Buffer, Channel, Event, Queue
from portmp.backends.cuda_array import DEVICE_TYPE
from portmp.backends.driver_api import GpuBuffer, GpuDevice
from portmp.errors import BackendUnavailable, DeviceError, one_line

_FIRST = 8
"""Bytes of the first message."""
_INSTALL = "pip install '.[nccl]' in a checkout of portmp installs nccl4py"


class NcclChannel(Channel):
    """One direction between two GPUs."""

    def __init__(self, device: GpuDevice, key: Any, end: int) -> None:
        self.side, self.device, self.other = device.new_queue(), device, 1 - end
        self.comm = self._asked(lambda: library().Communicator.init(2, end, key))
        (first,) = self.side.allocate_parts((_FIRST,))
        self._move("recv" if end else "send", self.side, first, _FIRST)

    @classmethod
    def key(cls, device: GpuDevice) -> Any:
        device.driver.current()
        return library().get_unique_id()

    def send(self, queue: Queue, source: Buffer, nbytes: int) -> tuple[Event, Event]:
        return self._move("send", queue, source, nbytes)

    def receive(self, queue: Queue, target: Buffer, nbytes: int) -> tuple[Event, Event]:
        begun, ended = self._move("recv", queue, target, nbytes)
        queue.wait(ended)
        return begun, ended

    def _move(self, how: str, queue: Queue, buffer: Buffer, nbytes: int) -> tuple[Event, Event]:
        self.side.wait(queue.record())
        begun = self.side.record()
        buffer.note(self.side)
        assert isinstance(buffer, GpuBuffer)
        memory = _Memory(buffer, nbytes)
        move, stream = getattr(self.comm, how), self.device.stream_number(self.side)
        self._asked(lambda: move(memory, self.other, stream=stream))
        return begun, self.side.record()

    def _asked(self, ask: Any) -> Any:
        """What NCCL does with this GPU; DeviceError in its words."""
        self.device.driver.current()
        try:
            return ask()
        except Exception as error:  # NCCL's own types
            raise DeviceError(f"NCCL on {self.device.name}: {one_line(error)}") from error


class _Memory:
    """Bytes of a GPU by DLPack, which says whose they are: NCCL's package need not find out."""

    def __init__(self, buffer: GpuBuffer, nbytes: int) -> None:
        self.buffer, self.nbytes = buffer, nbytes

    def __dlpack_device__(self) -> tuple[int, int]:
        return DEVICE_TYPE, self.buffer.device.index

    def __dlpack__(self, **asked: Any) -> Any:
        """In order already, whatever stream is named."""
        place, size = self.__dlpack_device__(), (self.nbytes,)
        return dlpack.lent(self.buffer, self.buffer.pointer, place, "uint8", size, (1,))


def library() -> Any:
    """nccl4py; BackendUnavailable says how to install it."""
    try:
        from nccl import core
    except Exception as error:  # several types, for a missing package and a missing library
        raise BackendUnavailable(f"NCCL is missing ({one_line(error)}); {_INSTALL}") from error
    return core
