"""Several processes by MPI: who they are, their messages, time limits, and how a job ends.

Each process runs the same program (docs/distributed.md, "Several processes"). Of its own devices it
has the memory; for those of others there are stand-ins, which do nothing: what is told to them is
done by the process that has them. Messages are copies of the host's, but where others are
asked for (``direct``); none is waited for without a limit.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from portmp import discovery
from portmp.backends.base import Buffer, Device, Event, Given, Host, Kernel, Properties, Queue
from portmp.codegen.platform import Traits
from portmp.distributed import direct
from portmp.distributed.launched import launched
from portmp.errors import (
    ArgumentError,
    BackendUnavailable,
    DeviceError,
    ProcessError,
    one_line,
    shown,
)

T = TypeVar("T")

LIMIT = "PORTMP_MPI_LIMIT"
"""The environment variable that says how many seconds a process waits for another one."""
TRANSPORT = "PORTMP_MPI_TRANSPORT"
"""... and that how messages go (``initialize``)."""
USUAL_LIMIT = 600.0
LIMITS = f"initialize(limit=...) or {LIMIT} sets them"
PIECE = 1 << 30
"""Bytes of a message, at most: MPI counts them in 32 bits. The last one of several has fewer."""
SAME = "do all processes call the same functions with the same arrays?"
WHOLE, TALK, GONE = 30_000, 30_001, 30_002
"""Tags of what goes to no part of an array, of what processes tell each other, and that one ends;
those of parts of arrays are numbers of devices."""
INSTALL = "pip install '.[mpi]' in a checkout of portmp installs mpi4py and MPICH"
WATCH = """
import os, select, sys
parent, seconds, told = sys.argv[1:]
if not select.select([0], [], [], float(seconds))[0] and os.getppid() == int(parent):
    os.write(2, told.encode(errors="backslashreplace"))
    os.kill(int(parent), 9)
"""
"""The program that ends its parent after some seconds, or itself where its input is closed."""


class Facts(NamedTuple):
    """What processes know of each other's devices."""

    name: str
    platform: str
    properties: Properties
    traits: Traits
    by_reference: bool = False

    @classmethod
    def of(cls, device: Device) -> Facts:
        """Those of a device of this process."""
        d = device
        return cls(d.name, d.platform, d.properties, d.traits, d.by_reference)


class DistantBuffer(Buffer):
    """What stands for memory of another process."""

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device, self.nbytes = device, nbytes


class DistantEvent(Event):
    """What stands for a mark: there is nothing to wait for."""

    def wait(self) -> None:
        return

    def seconds_since(self, earlier: Event) -> float:
        return 0.0


class DistantQueue(Queue):
    """What stands for a queue of another process: what is asked for is done there."""

    copies = False

    def __init__(self, device: DistantDevice) -> None:
        self.device: DistantDevice = device

    def allocate_parts(self, sizes: Sequence[int]) -> tuple[Buffer, ...]:
        return tuple([DistantBuffer(self.device, n) for n in sizes])

    def write(self, target: Buffer, source: Host, offset: int = 0, *, wait: bool = True) -> None:
        return

    def copy(
        self, target: Buffer, source: Buffer, nbytes: int, start: int = 0, offset: int = 0
    ) -> None:
        return

    def read(self, source: Buffer, target: Host, offset: int = 0, *, wait: bool = True) -> None:
        self._launcher()

    def _launcher(self, *asked: Any) -> NoReturn:
        raise DeviceError(f"{self.device.name} belongs to another process, which alone uses it")

    def do(self, act: Callable[..., None], given: tuple[Any, ...], args: Given) -> None:
        return

    def record(self) -> Event:
        return DistantEvent()

    def wait(self, event: Event) -> None:
        return

    def synchronize(self) -> None:
        return


class DistantDevice(Device):
    """What stands for a device of another process: number *number* of those that it has."""

    def __init__(self, rank: int, number: int, facts: Facts) -> None:
        self.rank, self.number = rank, number
        self.known, self.platform, self.properties, self.traits, self.by_reference = facts
        self.queue = DistantQueue(self)

    @property
    def name(self) -> str:
        """The name that it has there, and the process."""
        return f"{self.known} of rank {self.rank}"

    def allocate(self, nbytes: int) -> Buffer:
        return DistantBuffer(self, nbytes)

    def new_queue(self) -> Queue:
        return DistantQueue(self)

    def free_memory(self) -> None:
        """Another process would have to be asked."""

    def compile(self, source: str) -> bytes:
        raise DeviceError(f"{self.name} belongs to another process, which compiles for it")

    def compiler_key(self) -> str:
        """It compiles nothing here."""
        return self.name

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        return {}


class Processes:
    """The processes of a job: this one's ``rank`` among ``count``, and ``devices`` of all.

    ``queues``: the devices' in order of ranks, those of other processes as stand-ins. ``limit``:
    seconds that one waits for another.
    """

    def __init__(self, comm: Any, mpi: Any, limit: float) -> None:
        self.mpi, self.limit = mpi, limit
        self.rank, self.count = int(comm.Get_rank()), int(comm.Get_size())
        self.queues: tuple[Queue, ...] = ()
        self._numbers: dict[Queue, int] = {}
        self._lock = threading.RLock()
        self.comm, joined = comm.Idup()
        self._wait(joined.Test, "initialize, which all processes call")
        self._sending: list[tuple[Any, object]] = []
        self.direct: direct.Direct | None = None
        self._more = threading.Condition(self._lock)
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def names(self) -> list[str]:
        """What the devices of all processes are called there."""
        return [getattr(device, "known", device.name) for device in self.devices]

    @property
    def devices(self) -> tuple[Device, ...]:
        """Those of all processes, in order of ranks."""
        return tuple([queue.device for queue in self.queues])

    def __repr__(self) -> str:
        names = [device.name for device in self.devices]
        return f"<portmp process {self.rank} of {self.count}: {names}>"

    def join(self, own: Sequence[Queue]) -> None:
        """Tell others of this process's devices, and hear of theirs."""
        mine = [Facts.of(queue.device) for queue in own]
        found: list[Queue] = []
        for rank, theirs in enumerate(self.share(mine, "its devices")):
            if rank == self.rank:
                found += own
            else:
                found += [DistantDevice(rank, i, one).queue for i, one in enumerate(theirs)]
        self.queues = tuple(found)
        self._numbers = {queue: i for i, queue in enumerate(own)}

    def ends(self, own: Queue) -> list[Queue]:
        """A queue of this process beside its devices', and what stands for others', by ranks."""
        facts = Facts.of(own.device)
        others = [DistantDevice(rank, WHOLE, facts).queue for rank in range(self.count)]
        return [*others[: self.rank], own, *others[self.rank + 1 :]]

    def number(self, queue: Queue) -> int:
        """Which of this process's devices a queue belongs to: what messages to it are told by."""
        return self._numbers.get(queue, WHOLE)

    # --- messages -------------------------------------------------------------------------------

    def send(self, data: Host, rank: int, tag: int, owner: object = None) -> None:
        """Begin to send bytes, which must stay as they are, with their owner; nothing is waited
        for."""
        with self._more:
            for part in _pieces(data):
                request = self.comm.Isend([part, self.mpi.BYTE], dest=rank, tag=tag)
                self._sending.append((request, (part, owner)))
            self._more.notify()

    def receive(self, data: Host, rank: int, tag: int, what: str) -> None:
        """Wait for bytes, up to the limit; ProcessError where fewer come, or more."""
        came = 0
        for part in _pieces(data):
            message, nbytes = self._next(rank, tag, what)
            came += nbytes
            if nbytes != part.nbytes:
                raise ProcessError(
                    f"{self._waits(what, rank)}; {data.nbytes} bytes were expected and "
                    f"{came} came: {SAME}"
                )
            self._take(message, part, what, rank)

    def _next(self, rank: int, tag: int, what: str) -> tuple[Any, int]:
        """A message that has come, and its bytes."""
        status = self.mpi.Status()
        probe = partial(self.comm.Improbe, rank, tag, status)
        # What comes within the first call MPICH tells in the next one.
        message = self._wait(lambda: probe() or probe(), what, rank)
        return message, status.Get_count(self.mpi.BYTE)

    def _take(self, message: Any, data: Host, what: str, rank: int) -> None:
        """The bytes of a message that has come."""
        begin = partial(message.Irecv, [data, self.mpi.BYTE])
        self._wait(self._answer(begin, what, rank).Test, what, rank)

    def _wait(self, asked: Callable[[], T], what: str, rank: int | None = None) -> T:
        """What MPI answers once it has done something; ProcessError where that takes too long."""
        begun, pause, useless = time.monotonic(), 1e-6, ""
        while not (found := self._answer(asked, what, rank)):
            if useless:
                raise ProcessError(useless)
            useless = self.useless(begun, what, rank)
            time.sleep(pause)
            pause = min(2 * pause, 1e-3)
        return found

    def _answer(self, asked: Callable[[], T], what: str, rank: int | None) -> T:
        """What MPI says now; ProcessError where that is an error of its own."""
        try:
            with self._lock:
                return asked()
        except self.mpi.Exception as error:
            told = f"{self._waits(what, rank)}; MPI says {one_line(error)!r}: {SAME}"
            raise ProcessError(told) from None

    def _waits(self, what: str, rank: int | None) -> str:
        """Who waits for whom, and for what."""
        whom = "others" if rank is None else f"rank {rank}"
        return f"rank {self.rank} waits for {whom}: {what}"

    def useless(self, begun: float, what: str, rank: int | None) -> str:
        """Why it is useless to wait on for another process: a sentence, or nothing."""
        told = self._waits(what, rank)
        if rank is not None and self._gone(rank):
            return f"{told}; it has ended: {SAME}"
        if time.monotonic() - begun > self.limit:
            return f"{told}; nothing came in {self.limit:g} seconds ({LIMITS}): {SAME}"
        return ""

    def _gone(self, rank: int) -> bool:
        """Whether a process told that it ends."""
        with self._lock:
            return bool(self.comm.Iprobe(source=rank, tag=GONE))

    def share(self, mine: object, what: str) -> list[Any]:
        """What each process tells all others, by ranks: small things."""
        data = np.frombuffer(pickle.dumps((what, mine)), np.uint8)
        for rank in self._others():
            self.send(data, rank, TALK)
        found: list[Any] = [mine] * self.count
        for rank in self._others():
            theirs, told = pickle.loads(self._told(rank, what))
            if _ends(theirs) != _ends(what):
                raise ProcessError(f"{self._waits(what, rank)}; it tells {theirs}: {SAME}")
            found[rank] = told
        return found

    def _told(self, rank: int, what: str) -> bytes:
        """What another process tells, however long it is."""
        parts: list[Host] = []
        while not parts or parts[-1].nbytes == PIECE:
            message, nbytes = self._next(rank, TALK, what)
            parts.append(np.empty(nbytes, np.uint8))
            self._take(message, parts[-1], what, rank)
        return np.concatenate(parts).tobytes()

    def _others(self) -> Iterator[int]:
        """Other ranks, the next one first, so that not all ask one at the same time."""
        for step in range(1, self.count):
            yield (self.rank + step) % self.count

    def total(self, integers: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
        """Sums over all processes, by MPI's own reduction: of integers, so in any order."""
        found = np.empty_like(integers)
        with self._lock:
            request = self.comm.Iallreduce(integers, found, self.mpi.SUM)
        self._wait(request.Test, what)
        return found

    def _serve(self) -> None:
        """Let messages on their way come to an end while this process computes."""
        while True:
            with self._more:
                while not self._sending:
                    self._more.wait()
                self._sending = [one for one in self._sending if not one[0].Test()]
            time.sleep(1e-3)

    # --- the end --------------------------------------------------------------------------------

    def leave(self) -> None:
        """Before this process ends: what it sent arrives, and then others are told."""
        self._settle()
        for rank in self._others():
            self.send(np.empty(0, np.uint8), rank, GONE)
        self._settle()

    def _settle(self) -> None:
        """Wait until all that was sent has arrived, up to the limit."""
        end = time.monotonic() + self.limit
        while (self._sending or (self.direct and self.direct.waits)) and time.monotonic() < end:
            time.sleep(1e-3)
        with self._lock:
            self._sending = []

    def fail(self, error: BaseException, status: int = 1) -> NoReturn:
        """End the job: what went wrong is said once, by the first process to which it happened."""
        time.sleep(self.rank and 1 + self.rank / self.count)  # where it went wrong in all of them
        where = [f for f in traceback.extract_tb(error.__traceback__) if not _is_own(f.filename)]
        at = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
        notes = getattr(error, "__notes__", [])
        said = " ".join(" ".join([str(error), *notes]).split())
        told = f"portmp: rank {self.rank} of {self.count}: {type(error).__name__}: {said}{at}"
        sys.stdout.flush()
        os.write(2, f"{told}\n".encode(errors="backslashreplace"))
        time.sleep(0.2)  # what is written is passed on before all ends
        # Where the communicator is not COMM_WORLD, the status of MPICH's mpiexec may be a killed
        # process's; where it is, Abort may return before the process is killed.
        world = self.mpi.COMM_WORLD
        (world if world.Get_size() == self.count else self.comm).Abort(status)
        time.sleep(5)
        os._exit(status)


def _pieces(data: Host) -> list[Host]:
    """Bytes of a message in parts that MPI counts, of which the last one, perhaps empty, is short:
    so its end is known."""
    return [data[at : at + PIECE] for at in range(0, data.nbytes + 1, PIECE)]


def _ends(what: str) -> list[str]:
    """What is told, without names of files in the midst, which processes may call otherwise."""
    first, *_, last = f"{what} {what}".split()
    return [first, last]


def _is_own(file: str) -> bool:
    """Whether a file is one of portmp's, or of Python's, not of the program that uses it."""
    python = Path(file).parent == Path(os.__file__).parent
    return str(Path(__file__).parents[1]) in file or file.startswith("<") or python


_job: list[Processes] = []


def job() -> Processes | None:
    """The processes that ``initialize`` met, if it was called."""
    return _job[0] if _job else None


def initialize(
    comm: Any = None,
    devices: str | Sequence[str | Device | Queue] | None = None,
    *,
    limit: float | None = None,
    transport: str | None = None,
) -> Processes:
    """Join the processes of a job: each calls it once, and then all call the same functions.

    From then on arrays that are made without ``devices`` lie on those of all processes, in order of
    ranks. *comm*: a communicator of mpi4py's, ``COMM_WORLD`` by default. *devices*: those of this
    process; by default one, process number r of a machine has device number r, modulo those there
    are; ``"cuda"`` means one of this backend likewise. *limit*: seconds that a process waits for
    another one, 600 by default, or what PORTMP_MPI_LIMIT says. *transport*: how arrays go from one
    to another, ``"host"`` by default, or what PORTMP_MPI_TRANSPORT says: through the host's memory;
    ``"mpi"``: GPUs' memory as it lies, by an MPI that reads it; ``"nccl"``: by NCCL, with one GPU
    of its own for each process. An error that nothing catches is told once and ends all processes.
    BackendUnavailable where mpi4py or MPI are missing says what installs them; of a transport, in
    all processes, where it is not and why.
    """
    if _job:
        raise ArgumentError("initialize: called before; a process has one job")
    seconds = _limit(limit)
    rank, count, variable = launched()
    with _watched(seconds, rank, count):
        mpi = imported()
    if comm is not None and not (isinstance(comm, mpi.Intracomm) and comm != mpi.COMM_NULL):
        raise ArgumentError(
            f"initialize: comm: {shown(comm)} given, an intracommunicator of mpi4py's is needed, "
            "such as MPI.COMM_WORLD"
        )
    if comm is None and count > mpi.COMM_WORLD.Get_size() == 1:
        raise ProcessError(
            f"initialize: {count} processes were started ({variable}), and this one is "
            f"alone by {direct.version_of(mpi)}, which mpi4py has loaded: what starts them must "
            "belong to the same MPI (its own mpiexec; srun --mpi=pmix or pmi2, as it was built)"
        )
    found = Processes(mpi.COMM_WORLD if comm is None else comm, mpi, seconds)
    hook, here = sys.excepthook, socket.gethostname()
    atexit.register(found.leave)

    def ended(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        from portmp.errors import PortmpError

        if not issubclass(kind, PortmpError):
            hook(kind, error, trace)
        found.fail(error)

    if found.count > 1:
        sys.excepthook = ended
    hosts = found.share(here, "the name of its machine")
    own = _own(devices, hosts[: found.rank].count(here))
    found.join(own)
    way = transport or os.environ.get(TRANSPORT) or "host"
    found.direct = direct.opened(way, found, [queue.device for queue in own], here)
    _job.append(found)
    return found


def _own(devices: str | Sequence[str | Device | Queue] | None, turn: int) -> list[Queue]:
    """This process's devices: those that are named, or one of those that are alike."""
    backend = devices if isinstance(devices, str) and devices in discovery.BACKENDS else None
    if devices is not None and backend is None:
        devices = [devices] if isinstance(devices, str) else devices
        if not isinstance(devices, Sequence) or not devices:
            raise ArgumentError(
                f"initialize: devices: {shown(devices)} given, a list is needed: ['cuda:0'], or a "
                "name: 'cuda'"
            )
        first = [discovery.queue_of(one) for one in devices]
        again = [queue in first[:i] for i, queue in enumerate(first)]
        return [
            queue.device.new_queue() if seen else queue
            for queue, seen in zip(first, again, strict=True)
        ]
    best = discovery.get(backend)
    if os.environ.get("PORTMP_DEVICE") and backend is None:
        return [best.queue]
    alike = list(discovery.accepted(discovery.find(best.backend).devices)) or [best]
    return [alike[turn % len(alike)].queue]


def _limit(given: float | None) -> float:
    """Seconds that a process waits for another one."""
    told = os.environ.get(LIMIT, "") if given is None else given
    try:
        seconds = float(told) if told != "" else USUAL_LIMIT
    except (TypeError, ValueError, OverflowError):
        seconds = 0.0
    if not seconds > 0:
        name = "limit" if given is not None else LIMIT
        raise ArgumentError(f"{name}: {shown(told)} given, seconds above 0 are needed")
    return seconds


@contextmanager
def _watched(seconds: float, rank: int, count: int) -> Iterator[None]:
    """While MPI is loaded, which waits for all processes: another one ends this one, in time.

    MPI waits in a call that lets no thread of Python's work.
    """
    if count < 2 or "mpi4py.MPI" in sys.modules:
        yield
        return
    told = (
        f"portmp: rank {rank} of {count}: ProcessError: initialize: MPI did not start in "
        f"{seconds:g} seconds ({LIMITS}): do all processes call initialize?\n"
    )
    later = rank and 1 + rank / count  # where several wait one tells it
    words = [str(os.getpid()), str(min(seconds + later, 1e8)), told]
    command = [sys.executable, "-I", "-S", "-c", WATCH, *words]
    quiet: Any = {"stdout": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, stdin=subprocess.PIPE, **quiet) as watching:
        try:
            yield
        finally:
            watching.kill()


def imported() -> Any:
    """mpi4py's MPI; BackendUnavailable where it, or a library of MPI, is missing."""
    try:
        MPI = importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise BackendUnavailable(f"mpi4py: {one_line(error)}: {INSTALL}") from None
    except RuntimeError as error:
        raise BackendUnavailable(
            f"mpi4py finds no library of MPI: {INSTALL} ({one_line(error)})"
        ) from None
    return MPI
