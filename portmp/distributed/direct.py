"""Messages of devices' memory as it lies, where a job asks for them: the host takes no part.

By MPI that reads and writes such memory itself, or by a library of the devices' vendor.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from portmp.backends.base import Buffer, Channel, Device, Event, Queue
from portmp.errors import BackendUnavailable, PortmpError, ProcessError, choice

T = TypeVar("T")
PAUSE = 0.05
"""Seconds after which it is looked again at what the vendor's library waits for."""


def version_of(mpi: Any) -> str:
    """Which MPI it is, and its version."""
    return " ".join(mpi.Get_library_version().split(",")[0].split("\n")[0].split())


class MpiChannel(Channel):
    """By MPI to or from a rank: the host waits for what is sent, as MPI knows no queues."""

    def __init__(self, job: Any, rank: int, tag: int, what: str) -> None:
        self.job, self.rank, self.tag, self.what = job, rank, tag, what

    def send(self, queue: Queue, source: Buffer, nbytes: int) -> Sequence[Event]:
        self.job.send(self._memory(queue, source, nbytes), self.rank, self.tag, source)
        return ()

    def receive(self, queue: Queue, target: Buffer, nbytes: int) -> Sequence[Event]:
        self.job.receive(self._memory(queue, target, nbytes), self.rank, self.tag, self.what)
        return ()

    def _memory(self, queue: Queue, buffer: Buffer, nbytes: int) -> Any:
        """Memory that is there, and that no earlier work uses."""
        queue.synchronize()
        return self.job.mpi.buffer.fromaddress(queue.device.address(buffer), nbytes)


class Direct:
    """Messages between devices of one backend by MPI; of ``processes.Processes``."""

    def __init__(self, job: Any, device: Device) -> None:
        self.job, self.backend = job, device.backend
        self.waits: list[Wait] = []
        """What others are waited for, beside the host."""

    def takes(self, one: Device, other: Device) -> bool:
        """Whether messages between two devices of different processes go this way."""
        return one.backend == other.backend == self.backend

    def channel(self, sender: int, receiver: int, tag: int, what: str) -> Channel:
        """From a rank to another one, of which this process has one."""
        return MpiChannel(self.job, sender + receiver - self.job.rank, tag, what)

    @staticmethod
    def refusal(job: Any, own: Sequence[Device]) -> str:
        """Why this process cannot send so; nothing where it can."""
        for device in own:
            if not device.mpi_names:
                return f"has {device.name}, whose memory MPI may not be given"
            asked = [f"MPIX_Query_{name}_support" for name in device.mpi_names]
            library = ctypes.CDLL(job.mpi.__file__)
            if not any(getattr(library, name, int)() for name in asked):
                found = version_of(job.mpi)
                return f"has {found}, which is not GPU-aware ({' and '.join(asked)} say no)"
        return ""


@dataclass(eq=False)
class Wait:
    """What the vendor's library waits for: a rank, and why; whether it has begun, and is over."""

    rank: int
    what: str
    begun: Callable[[], bool]
    over: Callable[[], bool]
    since: float = math.inf


class Watched(Channel):
    """The vendor's way to or from a rank, of whose waits the job is told."""

    def __init__(self, way: ByLibrary, channel: Channel, rank: int, what: str) -> None:
        self.way, self.channel, self.rank, self.what = way, channel, rank, what

    def send(self, queue: Queue, source: Buffer, nbytes: int) -> Sequence[Event]:
        return self._noted(lambda: self.channel.send(queue, source, nbytes))

    def receive(self, queue: Queue, target: Buffer, nbytes: int) -> Sequence[Event]:
        return self._noted(lambda: self.channel.receive(queue, target, nbytes))

    def _noted(self, ask: Callable[[], Sequence[Event]]) -> Sequence[Event]:
        marks = self.way.asked(ask, self.rank, self.what)
        if marks:
            begun, over = marks
            self.way.waits.append(Wait(self.rank, self.what, begun.reached, over.reached))
        return marks


class ByLibrary(Direct):
    """By the vendor's library, in queues: a channel for each direction between two processes.

    So no message waits for one that goes another way. The library knows no time limit, neither in
    its calls nor on the device: a thread looks at both, and ends the job.
    """

    def __init__(self, job: Any, device: Device) -> None:
        super().__init__(job, device)
        threading.Thread(target=self._watch, daemon=True).start()
        kind, own = device.channels(), job.rank
        mine = {(own, rank): kind.key(device) for rank in range(job.count) if rank != own}
        keys = {ends: key for each in job.share(mine, "keys") for ends, key in each.items()}
        # All open them in one order, as both ends wait for each other.
        self.channels = {
            ends: self.asked(
                partial(kind, device, keys[ends], ends.index(own)), sum(ends) - own, "a channel"
            )
            for ends in sorted(keys)
            if own in ends
        }

    def channel(self, sender: int, receiver: int, tag: int, what: str) -> Channel:
        channel, rank = self.channels[sender, receiver], sender + receiver - self.job.rank
        return Watched(self, channel, rank, what)

    def asked(self, ask: Callable[[], T], rank: int, what: str) -> T:
        """What a call of the library gives, which may wait for a rank."""
        over = threading.Event()
        self.waits.append(Wait(rank, what, lambda: True, over.is_set))
        try:
            return ask()
        finally:
            over.set()

    def _watch(self) -> None:
        """End the job where something takes longer than the limit."""
        while True:
            for wait in list(self.waits):
                if self._is_over(wait):
                    self.waits.remove(wait)
            time.sleep(PAUSE)

    def _is_over(self, wait: Wait) -> bool:
        """Whether nothing is waited for, or was for too long, which ends the job."""
        try:
            if wait.over():
                return True
            if wait.since == math.inf and wait.begun():
                wait.since = time.monotonic()
            useless = self.job.useless(wait.since, wait.what, wait.rank)
            if not useless or wait.over():
                return False
            self.job.fail(ProcessError(useless))
        except PortmpError:
            pass  # of the device, which the program meets as well
        return True

    @staticmethod
    def refusal(job: Any, own: Sequence[Device]) -> str:
        if len(own) > 1:
            return f"has {len(own)} devices, one is allowed"
        try:
            own[0].channels()
        except PortmpError as error:
            return f"cannot: {error}"
        return ""


WAYS: dict[str, type[Direct] | None] = {"host": None, "mpi": Direct, "nccl": ByLibrary}
"""What ``initialize`` calls them."""


def opened(transport: str, job: Any, own: Sequence[Device], host: str) -> Direct | None:
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
        for objection in [each for each, holds in objections.items() if holds][:1]:
            raise BackendUnavailable(
                f"initialize: transport: {transport!r} given; rank {rank} {objection}; 'host', "
                "the default, goes everywhere"
            )
    return None if way is None else way(job, own[0])
