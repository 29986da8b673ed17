"""Messages of devices' memory as it lies, where a job asks for them: the host takes no part.

By MPI that reads and writes such memory itself, or by a library of the devices' vendor.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from portmp.backends.base import Buffer, Channel, Device, Host, Queue
from portmp.errors import BackendUnavailable, PortmpError, choice


class Job(Protocol):
    """What is needed of the processes of a job."""

    mpi: Any
    rank: int
    count: int

    def send(self, data: Host, rank: int, tag: int, owner: object = None) -> None:
        """Begin to send bytes, of memory that an owner keeps."""

    def receive(self, data: Host, rank: int, tag: int, what: str) -> None:
        """Wait for bytes."""

    def share(self, mine: object, what: str) -> list[Any]:
        """What each process tells all."""


class Direct(ABC):
    """Messages between devices of one backend, in the order in which they were asked for."""

    def __init__(self, job: Job, device: Device) -> None:
        self.job, self.backend = job, device.backend

    def takes(self, one: Device, other: Device) -> bool:
        """Whether messages between two devices of different processes go this way."""
        return one.backend == other.backend == self.backend

    @abstractmethod
    def send(self, queue: Queue, source: Buffer, nbytes: int, rank: int, tag: int) -> None:
        """Begin to send what a buffer holds after the work so far in a queue."""

    @abstractmethod
    def receive(
        self, queue: Queue, target: Buffer, nbytes: int, rank: int, tag: int, what: str
    ) -> None:
        """Let what comes be in a buffer before further work in its queue."""


class ByMpi(Direct):
    """By MPI: the host waits for what is sent, as MPI knows no queues."""

    def send(self, queue: Queue, source: Buffer, nbytes: int, rank: int, tag: int) -> None:
        queue.synchronize()
        self.job.send(self._memory(queue, source, nbytes), rank, tag, source)

    def receive(
        self, queue: Queue, target: Buffer, nbytes: int, rank: int, tag: int, what: str
    ) -> None:
        queue.synchronize()  # earlier work may still use the memory
        self.job.receive(self._memory(queue, target, nbytes), rank, tag, what)

    def _memory(self, queue: Queue, buffer: Buffer, nbytes: int) -> Any:
        return self.job.mpi.buffer.fromaddress(queue.device.address(buffer), nbytes)

    @staticmethod
    def refusal(job: Job, own: Sequence[Device]) -> str:
        """Why this process cannot send so; nothing where it can."""
        for device in own:
            if not device.mpi_names:
                return f"has {device.name}, whose memory MPI may not be given"
            asked = [f"MPIX_Query_{name}_support" for name in device.mpi_names]
            library = ctypes.CDLL(job.mpi.__file__)
            if not any(getattr(library, name, int)() for name in asked):
                version = job.mpi.Get_library_version().split(",")[0].split("\n")[0]
                return f"has {version}, which is not GPU-aware ({' and '.join(asked)} say no)"
        return ""


class ByLibrary(Direct):
    """By the vendor's library, in queues: a channel for each direction between two processes.

    So no message waits for one that goes another way.
    """

    def __init__(self, job: Job, device: Device) -> None:
        super().__init__(job, device)
        others = [rank for rank in range(job.count) if rank != job.rank]
        mine = {(job.rank, rank): device.channel_key() for rank in others}
        keys: dict[tuple[int, int], Any] = {}
        for each in job.share(mine, "keys of channels"):
            keys |= each
        # All open them in one order, as both ends wait for each other.
        self.channels: dict[tuple[int, int], Channel] = {
            ends: device.channel(keys[ends], ends.index(job.rank))
            for ends in sorted(keys)
            if job.rank in ends
        }

    def send(self, queue: Queue, source: Buffer, nbytes: int, rank: int, tag: int) -> None:
        self.channels[self.job.rank, rank].send(queue, source, nbytes)

    def receive(
        self, queue: Queue, target: Buffer, nbytes: int, rank: int, tag: int, what: str
    ) -> None:
        self.channels[rank, self.job.rank].receive(queue, target, nbytes)

    @staticmethod
    def refusal(job: Job, own: Sequence[Device]) -> str:
        """Why this process cannot send so; nothing where it can."""
        if len(own) > 1:
            return f"has {len(own)} devices, one is allowed"
        try:
            own[0].channel_key()
        except PortmpError as error:
            return f"cannot: {error}"
        return ""


WAYS: dict[str, type[ByMpi] | type[ByLibrary] | None] = {
    "host": None,
    "mpi": ByMpi,
    "nccl": ByLibrary,
}
"""What ``initialize`` calls them."""


def opened(transport: str, job: Job, own: Sequence[Device], host: str) -> Direct | None:
    """The way of messages that is asked for; None through the host.

    BackendUnavailable, in all processes, says in which one it is not there, and why.
    """
    way = WAYS[choice("initialize: transport", transport, WAYS)]
    refusal = "" if way is None else way.refusal(job, own)
    told = job.share((transport, refusal, (host, own[0].name), own[0].backend), "its transport")
    places = [place for _, _, place, _ in told]
    for rank, (theirs, why, place, backend) in enumerate(told):
        objections = {
            f"asks for {theirs!r}": theirs != transport,
            why: bool(why),
            f"has {backend}, rank {job.rank} {own[0].backend}": way and backend != own[0].backend,
            f"shares {place[1]} with another one": way is ByLibrary and places.count(place) > 1,
        }
        for objection, holds in objections.items():
            if holds:
                raise BackendUnavailable(
                    f"initialize: transport: {transport!r} given; rank {rank} {objection}; 'host', "
                    "the default, goes everywhere"
                )
    return None if way is None else way(job, own[0])
