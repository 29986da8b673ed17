"""Arrays of several processes: the bits of one process's, errors that end all, time limits.

Processes are started by mpiexec, one job for each number of them; what needs none is tried alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import types
from collections.abc import Sequence
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any, cast

import every_grid
import numpy as np
import pytest
import ranks as job
import slow
import tiers

import portmp as mp
from portmp import cli, discovery, paths
from portmp.backends import dlpack
from portmp.backends.base import Channel, Device, Event
from portmp.backends.cuda import nccl
from portmp.backends.driver_api import Driver, GpuBuffer
from portmp.distributed import direct, launched, processes
from portmp.errors import ArgumentError, BackendUnavailable, DeviceError, ProcessError
from portmp.nbody.checkpoint import Checkpoint
from portmp.nbody.trajectory import Stage
from portmp.verify import ranks as verified


def started(count: int, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """So many processes of Python, until all have ended."""
    tiers.check("mpi")
    environment = verified.ANYWHERE | os.environ | more
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), paths.python_path()])
    command = [verified.launcher(), "-n", str(count), sys.executable, *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=300
    )


@cache
def alone(names: str) -> dict[str, list[str]]:
    """What one process finds on one device."""
    found = job.digests(lambda a, way: a, names.split(","))
    return {**found, "drawn": [job._digest(job.drawn((19, 13), 1))]}


EVERY = ",".join(job.WORKS)
JOBS = (
    (1, "cpu:0,cpu:0,cpu:0", EVERY),
    (2, "cpu:0,host:0", "products,elements,sums,exact,forces,made"),
    (3, "cpu:0", EVERY),
    (4, "cpu:0", EVERY),
    (7, "cpu:0", "sums"),
    (7, "cpu:0", EVERY),
)


@pytest.mark.parametrize(
    ("count", "devices", "names"),
    slow.mostly_slow(JOBS, (JOBS[2], JOBS[4]), "other numbers of processes"),
)
def test_same_bits(count: int, devices: str, names: str, tmp_path: Path) -> None:
    """Any number of processes, with one device or several each, finds what one device does."""
    tiers.check("cpu")
    file = tmp_path / "found.json"
    with mp.device("cpu:0"):
        wanted = alone(names)  # first, so that kernels are compiled once
    ended = started(count, str(Path(job.__file__)), str(file), devices, names)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(file.read_text()) == wanted


PAIRS = tuple(zip(every_grid.JOBS, ("dd", "cdd", "float32", "qs") * 2, strict=True))


@slow.slow("layouts and routines by turns; every_grid.py runs all pairs of all formats, recorded")
@pytest.mark.parametrize(("sizes", "form"), PAIRS)
def test_every_layout_and_routine(sizes: tuple[int, int], form: str) -> None:
    """Recorded digests, in a format for each number of processes and devices."""
    tiers.check("cpu")
    tiers.check("mpi")
    rows = every_grid.started(*sizes, [form])
    assert len(rows) == len(verified.layouts(sizes[0] * sizes[1]))
    for row in rows:
        assert row["differ"] == [] and row["routines"][form] > 12, row


WAYS = (("mpi", "sums"), ("nccl", "products"), ("mpi", EVERY), ("nccl", EVERY))


@pytest.mark.parametrize(
    ("transport", "names"), slow.mostly_slow(WAYS, WAYS[:2], "all works by both transports")
)
def test_same_bits_without_the_host(transport: str, names: str, tmp_path: Path) -> None:
    """Device memory as it lies, with processors in the place of GPUs."""
    tiers.check("cpu")
    file = tmp_path / "found.json"
    with mp.device("cpu:0"):
        wanted = alone(names)
    ended = started(3, str(Path(job.__file__)), str(file), "cpu:0", names, transport)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(file.read_text()) == wanted


class Told:
    """What stands for the processes of a job, of which others say what is given."""

    rank, count, mpi = 0, 2, None

    def __init__(self, *others: Any) -> None:
        self.others = others

    def share(self, mine: object, what: str) -> list[Any]:
        return [mine, *self.others]

    def useless(self, begun: float, what: str, rank: int) -> str:
        return f"{what} of rank {rank}" if time.monotonic() - begun > 0.2 else ""


def told(*others: Any) -> Any:
    """The same, for what takes a job."""
    return Told(*others)


def test_transports_that_are_not_there(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence in all processes: which one has it not, and why."""
    found = told(("mpi", "", ("a", "cpu:0"), "cpu"))
    with pytest.raises(ArgumentError, match="transport 'ucx' given; allowed are host, mpi, nccl"):
        direct.opened("ucx", found, [device], "a")
    assert direct.opened("host", told(("host", "", ("b", "gpu"), "gpu")), [device], "a") is None
    with pytest.raises(BackendUnavailable, match=r"'host' given; rank 1 asks for 'mpi'"):
        direct.opened("host", found, [device], "a")
    with pytest.raises(BackendUnavailable, match=f"rank 0 has {device.name}, whose memory"):
        direct.opened("mpi", found, [device], "a")
    with pytest.raises(BackendUnavailable, match=f"rank 0 cannot: {device.name} has no library"):
        direct.opened("nccl", told(("nccl", "", ("b", "gpu"), "gpu")), [device], "a")
    monkeypatch.setattr(direct.ByLibrary, "refusal", staticmethod(lambda job, own: ""))
    for theirs, why in (
        (("nccl", "", ("b", "cpu:0"), "other"), "rank 1 has other, rank 0"),
        (("nccl", "", ("a", device.name), device.backend), f"shares {device.name} with another"),
        (("nccl", "no", ("b", device.name), device.backend), "rank 1 no;"),
    ):
        with pytest.raises(BackendUnavailable, match=why):
            direct.opened("nccl", told(theirs), [device], "a")


def test_channels_are_opened_in_one_order(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends wait for each other: all ranks must take pairs in the same order."""
    opened: list[tuple[str, int]] = []

    class Noted:
        def __init__(self, device: Device, key: str, end: int) -> None:
            opened.append((key, end))

        @classmethod
        def key(cls, device: Device) -> str:
            return "1 to ?"

    monkeypatch.setattr(type(device), "channels", lambda self: Noted)
    found = told({(0, 1): "0 to 1", (0, 2): "0 to 2"}, {(2, 0): "2 to 0", (2, 1): "2 to 1"})
    found.rank, found.count = 1, 3
    way = direct.ByLibrary(found, device)
    assert opened == [("0 to 1", 1), ("1 to ?", 0), ("1 to ?", 0), ("2 to 1", 1)]
    assert way.takes(device, device)


class Mark(Event):
    """What is reached when a test says so."""

    def __init__(self, there: bool) -> None:
        self.there = there

    def wait(self) -> None:
        raise AssertionError("the host waits for a mark")

    def reached(self) -> bool:
        return self.there

    def seconds_since(self, earlier: Event) -> float:
        return 0.0


def test_waits_of_a_library_have_limits(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its calls, and what waits on the device: from when it has begun there, until it is over."""
    opening, early, soon, late = threading.Event(), Mark(False), Mark(True), Mark(False)
    marks = [(early, late), (soon, soon), (soon, late)]

    class Slow(Channel):
        def __init__(self, device: Device, key: str, end: int) -> None:
            assert end or opening.wait(60)

        @classmethod
        def key(cls, device: Device) -> str:
            return "key"

        def send(self, queue: Any, source: Any, nbytes: int) -> Sequence[Event]:
            return marks.pop(0)

        receive = send

    def failed(error: BaseException) -> None:
        told_.append(str(error))
        opening.set()

    told_: list[str] = []
    monkeypatch.setattr(type(device), "channels", lambda self: Slow)
    monkeypatch.setattr(direct, "PAUSE", 0.01)
    found = told({(1, 0): "key"})
    found.fail = failed
    way = direct.ByLibrary(found, device)
    assert told_ == ["a channel of rank 1"]
    own: Any = None
    way.channel(0, 1, 0, "what comes after other work").send(own, own, 8)
    way.channel(0, 1, 0, "what has arrived").send(own, own, 8)
    time.sleep(0.4)
    assert len(told_) == 1 and len(way.waits) == 1
    way.channel(1, 0, 0, "what never comes").receive(own, own, 8)
    end = time.monotonic() + 30
    while len(told_) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert told_[1:] == ["what never comes of rank 1"]
    late.there = True


def test_drivers_are_asked_without_waiting() -> None:
    """600 is what CUDA and HIP say of an event that was not reached."""
    answers = iter((600, 0, 700))
    api = types.SimpleNamespace(cuCtxSetCurrent=lambda device: (0,))
    api.cuEventQuery = lambda event: (next(answers),)
    gpu: Any = types.SimpleNamespace(_describe=lambda status: f"error {status}")
    gpu.current, gpu.names = lambda: api, types.SimpleNamespace(prefix="cu")
    gpu._check = lambda result: Driver._check(gpu, result)
    asked = [lambda: Driver.is_reached(gpu, "event")] * 2
    assert [ask() for ask in asked] == [False, True]
    with pytest.raises(DeviceError, match="error 700"):
        asked[0]()


def test_mpi_is_given_what_is_there() -> None:
    """After the work so far, which MPI knows nothing of."""
    done: list[Any] = []
    job = told()
    job.mpi = types.SimpleNamespace(buffer=types.SimpleNamespace(fromaddress=lambda *at: at))
    job.send = lambda *given: done.append(("sent", *given))
    job.receive = lambda *given: done.append(("received", *given))
    device = types.SimpleNamespace(address=lambda buffer: 4096, backend="gpu")
    queue: Any = types.SimpleNamespace(device=device, synchronize=lambda: done.append("waited"))
    buffer: Any = "memory"
    way = direct.Direct(job, cast(Device, device))
    way.channel(0, 1, 2, "elements").send(queue, buffer, 24)
    way.channel(1, 0, 2, "elements").receive(queue, buffer, 24)
    assert done[:2] == ["waited", ("sent", (4096, 24), 1, 2, "memory")]
    assert done[2:] == ["waited", ("received", (4096, 24), 1, 2, "elements")]


def test_nccl_is_asked_in_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the work so far, with memory that stays meanwhile; what comes is waited for there."""
    done: list[Any] = []

    class Stream:
        def __init__(self, name: str) -> None:
            self.name = name

        def record(self) -> str:
            return f"mark of {self.name}"

        def wait(self, event: str) -> None:
            done.append(f"{self.name} waits for {event}")

        def allocate_parts(self, sizes: tuple[int, ...]) -> list[GpuBuffer]:
            return [GpuBuffer(gpu, 8192, nbytes, None) for nbytes in sizes]

    class Communicator:
        @classmethod
        def init(cls, count: int, rank: int, key: str) -> Communicator:
            done.append((count, rank, key))
            return cls()

        def send(self, memory: Any, peer: int, stream: int) -> None:
            told = dlpack.borrowed(memory.__dlpack__(stream=stream, max_version=(1, 0)))
            assert told.device == memory.__dlpack_device__() == (2, 1)
            done.append(("send", told.pointer, told.shape, told.dtype, peer, stream))

        def recv(self, memory: Any, peer: int, stream: int) -> None:
            raise RuntimeError("remote process exited")

    core = types.SimpleNamespace(Communicator=Communicator)
    monkeypatch.setattr(nccl, "library", lambda: core)
    driver = types.SimpleNamespace(current=lambda: done.append("current"))
    facts: dict[str, Any] = {
        "stream_number": lambda side: 7,
        "new_queue": lambda: Stream("side"),
        "name": "gpu",
    }
    facts["index"] = 1
    gpu: Any = types.SimpleNamespace(driver=driver, **facts)
    monkeypatch.setattr(GpuBuffer, "note", lambda self, queue: done.append(f"noted {queue.name}"))
    buffer, queue = GpuBuffer(gpu, 4096, 24, None), Stream("queue")
    channel: Any = nccl.NcclChannel(gpu, "key", 0)
    asked = ["side waits for mark of side", "noted side", "current"]
    assert done[:2] == ["current", (2, 0, "key")]
    assert done[2:] == [*asked, ("send", 8192, (8,), "uint8", 1, 7)], "both ends open it"
    done.clear()
    channel.send(queue, buffer, 24)
    asked = ["side waits for mark of queue", "noted side", "current"]
    assert done == [*asked, ("send", 4096, (24,), "uint8", 1, 7)]
    with pytest.raises(DeviceError, match="NCCL on gpu: remote process exited"):
        channel.receive(queue, buffer, 24)
    monkeypatch.setattr(Communicator, "recv", lambda *given, stream: done.append("received"))
    assert channel.receive(queue, buffer, 24) == ("mark of side", "mark of side")
    assert done[-2:] == ["received", "queue waits for mark of side"]
    monkeypatch.undo()
    if importlib.util.find_spec("nccl") is None:
        with pytest.raises(BackendUnavailable, match=r"NCCL is missing .*\[nccl\]"):
            nccl.library()


def test_whether_mpi_reads_memory_of_devices(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked by its own functions; those of pip's libraries say no."""
    tiers.check("mpi")
    monkeypatch.setattr(type(device), "mpi_names", ("cuda", "nothing"))
    found = told()
    found.mpi = processes.imported()
    assert "which is not GPU-aware (MPIX_Query_cuda_support and" in direct.Direct.refusal(
        found, [device]
    )
    answers = {"MPIX_Query_cuda_support": lambda: 1}
    monkeypatch.setattr(direct.ctypes, "CDLL", lambda file: types.SimpleNamespace(**answers))
    assert direct.Direct.refusal(found, [device]) == ""
    assert "2 devices, one" in direct.ByLibrary.refusal(found, [device, device])


FAILS = """
import sys, time
import portmp as mp
job = mp.distributed.initialize(devices=["host:0"], limit=float(sys.argv[2]))
if job.rank == 1:
    if sys.argv[1] == "raises": mp.array([1], "nonsense", "host:0")
    if sys.argv[1] == "ends": sys.exit(0)
    time.sleep(40)
job.share(1, "a number")
"""
ENDS = {
    "raises": ("600", "rank 1 of 3: FormatError: unknown format 'nonsense'"),
    "ends": ("600", "rank 1: a number; it has ended"),
    "sleeps": ("1.5", "rank 1: a number; nothing came in 1.5 seconds"),
}


@pytest.mark.parametrize("how", slow.mostly_slow(ENDS, ("raises", "sleeps"), "a program's own end"))
def test_one_that_fails_ends_all(how: str, tmp_path: Path) -> None:
    """With one sentence, soon: whether it raises, ends, or does not answer."""
    script = tmp_path / "fails.py"
    script.write_text(FAILS)
    limit, told = ENDS[how]
    begun = time.monotonic()
    ended = started(3, str(script), how, limit)
    assert ended.returncode != 0 and time.monotonic() - begun < 35
    said = [line for line in ended.stderr.splitlines() if line.startswith("portmp:")]
    assert len(said) == 1 and told in said[0] and "fails.py, line" in said[0], ended.stderr
    assert "Traceback" not in ended.stderr


LATE = """
import os, time
import portmp as mp
if (os.environ.get("PMI_RANK") or os.environ["OMPI_COMM_WORLD_RANK"]) == "1": time.sleep(40)
mp.distributed.initialize(devices=["host:0"])
"""


def test_one_that_does_not_join() -> None:
    """The others wait in MPI's own start, which knows no limit."""
    begun = time.monotonic()
    ended = started(2, "-c", LATE, PORTMP_MPI_LIMIT="1.5")
    assert ended.returncode != 0 and time.monotonic() - begun < 35
    (said,) = [line for line in ended.stderr.splitlines() if line.startswith("portmp:")]
    assert "rank 0 of 2: ProcessError: initialize: MPI did not start in 1.5 seconds" in said


UNLIKE = """
import portmp as mp
from portmp.distributed import processes
processes.PIECE = 1000
job = mp.distributed.initialize(devices=["host:0"], limit=60)
for n in (0, 900, 3000):
    assert job.share("x" * n, "texts") == ["x" * n] * 2

def tried(act, *given, **options):
    try:
        found = act(*given, **options)
        assert job.rank or found is None, "nothing was noticed"
    except mp.errors.ProcessError as error:
        print(error, flush=True)

for sizes in ((1000, 400), (400, 1000)):
    tried(mp.distributed.ones(sizes[job.rank], "dd").gather, root=0)
tried(job.share, 1, ("a number", "a pair")[job.rank])
"""


def test_messages_of_another_length_or_kind() -> None:
    """Processes that do different things are told so, instead of wrong numbers."""
    ended = started(2, "-c", UNLIKE)
    assert ended.returncode == 0, ended.stderr
    asks, said = f": {processes.SAME}", ended.stdout.splitlines()
    waits = "rank 0 waits for rank 1:"
    assert [line for line in said if line.startswith(waits)] == [
        f"{waits} elements dd of shape (1, 500); 8000 bytes were expected and 3200 came{asks}",
        f"{waits} elements dd of shape (1, 200); 3200 bytes were expected and 4000 came{asks}",
        f"{waits} a number; it tells a pair{asks}",
    ]


def test_all_that_fail_alike(tmp_path: Path) -> None:
    """One sentence, and the command's own exit status."""
    file = tmp_path / "stack.npz"
    mp.save(file, mp.ones((2, 3, 3), "dd", "host:0"))
    ended = started(3, "-m", "portmp", "gemm", str(file), str(file), "--device", "host:0")
    (said,) = [line for line in ended.stderr.splitlines() if line.startswith("portmp:")]
    assert "shape (2, 3, 3) given, several processes take matrices; one process, with" in said
    assert ended.returncode == 2, ended.stderr


KILLED = """
import os, signal
import portmp as mp
from portmp.files import arrays
job = mp.distributed.initialize(devices=["host:0"])
x = mp.distributed.ones((30, 4), "dd")
arrays._put = lambda stream, array: os.kill(os.getpid(), signal.SIGKILL)
mp.save("x.npz", x)
"""


@slow.slow("a process that is killed: most jobs that end are told why by one of theirs")
def test_what_a_killed_job_leaves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All end at once; half a file has another name, which the next run tells."""
    begun = time.monotonic()
    ended = started(3, "-c", f"import os; os.chdir({str(tmp_path)!r})\n{KILLED}")
    assert ended.returncode != 0 and time.monotonic() - begun < 35
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".x.npz.")
    mp.save(tmp_path / "x.npz", mp.ones((2, 2), "dd", "host:0"))
    assert f"{left}: left by a run that ended while it wrote" in capsys.readouterr().err
    assert mp.load(tmp_path / "x.npz").shape == (2, 2)


def files(folder: Path) -> None:
    """Matrices of several kinds, and a run of particles that was ended after 64 steps."""
    a, b = job.drawn((37, 37), 1), job.drawn((37, 5), 2)
    for name, x in {"a.npz": a, "b.npz": b, "b.h5": b, "a.csv": a, "s.npz": a @ a.T}.items():
        mp.save(folder / name, x)
    mp.save(folder / "f.npy", a.astype("float64"))
    np.savez_compressed(folder / "packed.npz", b.to_float64())
    mp.save(folder / "pairs.csv", b[:, :2])

    def ended(self: Checkpoint, stage: Stage) -> None:
        self.save(stage)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setattr(Checkpoint, "pause", ended)
        words = ["nbody", *RUN.split(), "--checkpoint", "c.npz", "-o", "state.npz"]
        assert cli.main([*words, "--device", "cpu:0"]) == 130


RUN = "plummer --number 10 --format dd --steps 70 --dt 0.01 --eps 0.1 --samples 2 --scheme leapfrog"
COMMANDS = (
    "gemm a.npz b.h5 -o product.npz",
    "gemm f.npy a.csv --format float64 -o product.npy --trans-a --alpha 1/3",
    "gemm a.npz packed.npz -C b.npz -o product.h5",
    "solve a.npz b.npz -o x.csv",
    "solve --positive s.npz b.h5 -o x.h5",
    "solve a.npz b.npz --refine -o refined.npz",
    "solve a.npz b.npz --certify -o certified.npz",
    "lstsq b.h5 b.npz -o least.npz",
    "lstsq --polynomial 2 pairs.csv -o fit.npz",
    "eigh s.npz -o values.npz --vectors vectors.npz",
    "svd b.npz -o values.csv",
    f"nbody {RUN} -o state.npz --trajectory way.npz",
    f"nbody {RUN} -o resumed.npz --checkpoint c.npz --every 0",
)
MADE = ("product.npz", "product.npy", "product.h5", "x.csv", "x.h5", "values.npz", "vectors.npz")
MADE = (
    *MADE,
    "refined.npz",
    "certified.npz",
    "least.npz",
    "fit.npz",
    "values.csv",
    "state.npz",
    "way.npz",
    "resumed.npz",
)
MEASURED = "bench devices --experiment sum --size 1000 --runs 1 -o measured.json"
SCRIPT = """
import os, sys
from portmp import cli
os.chdir(sys.argv[1])
for line in open("commands.txt"):
    assert cli.main(line.split() + ["--device", "cpu"]) == 0, line
"""


@pytest.mark.parametrize("count", slow.mostly_slow((2, 3, 4), (3,), "other numbers of processes"))
def test_commands(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files by several processes are those of one, byte for byte; a run is resumed by others."""
    tiers.check("cpu")
    whole, parts = tmp_path / "one", tmp_path / "several"
    whole.mkdir()
    files(whole)
    shutil.copytree(whole, parts)
    monkeypatch.chdir(whole)
    assert all(cli.main([*line.split(), "--device", "cpu:0"]) == 0 for line in COMMANDS)
    (parts / "commands.txt").write_text("\n".join((*COMMANDS, MEASURED)))
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = started(count, str(tmp_path / "script.py"), str(parts))
    assert ended.returncode == 0, ended.stderr
    for name in MADE:
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name
    assert not list(parts.glob(".*")) and not (parts / "c.npz").exists()
    assert (parts / "resumed.npz").read_bytes() == (parts / "state.npz").read_bytes()
    (found,) = json.loads((parts / "measured.json").read_text())["devices"]
    rows = found["experiments"]["sum"]["rows"]
    assert [(row["ranks"], row["count"], row["same_bits"]) for row in rows] == [
        (1, count, True),
        (count, count, True),
    ]


LACKS = """
import os, sys
from portmp import cli
if cli.launched()[0] == 1: os.chdir(sys.argv[1])
cli.main(["gemm", "a.npz", "a.npz", "--device", "host:0"])
"""


@pytest.mark.parametrize("how", slow.mostly_slow(("lacks", "other"), ("other",), "no file at all"))
def test_a_file_that_one_process_has_not(how: str, tmp_path: Path) -> None:
    """One sentence, soon, and no result: no such file, or another one of that name."""
    there = tmp_path / "elsewhere"
    there.mkdir()
    mp.save(tmp_path / "a.npz", mp.ones((4, 4), "dd", "host:0"))
    if how == "other":
        mp.save(there / "a.npz", mp.ones((3, 3), "dd", "host:0"))
    begun = time.monotonic()
    ended = started(2, "-c", f"import os; os.chdir({str(tmp_path)!r})\n{LACKS}", str(there))
    assert ended.returncode != 0 and time.monotonic() - begun < 35 and not ended.stdout
    said = [line for line in ended.stderr.splitlines() if line.startswith("portmp:")]
    told = "cannot be read: No such" if how == "lacks" else "dd of shape (3, 3), and in process 0"
    assert len(said) == 1 and "rank 1 of 2: InputError: a.npz: " in said[0], ended.stderr
    assert told in said[0] and "Traceback" not in ended.stderr


def test_commands_of_one_process(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others say so, once."""
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setenv("PMI_RANK", "0")
    for words in (["formats"], ["verify", "--format", "dd"], ["bench", "blas"]):
        assert cli.main(words) == 2
        told = capsys.readouterr().err
        assert "started 3 times, and one process does it" in told
        assert "nbody, bench devices" in told


def test_processes_that_mpi_does_not_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm starts several, each of which MPI believes alone: refused, before anything is done."""
    world = types.SimpleNamespace(Get_size=lambda: 1)
    version = "MPICH Version:      4.2\nother lines"
    mpi = types.SimpleNamespace(COMM_WORLD=world, Get_library_version=lambda: version)
    monkeypatch.setattr(processes, "imported", lambda: mpi)
    monkeypatch.setenv("SLURM_NTASKS", "4")  # of the whole job: a batch script is one process
    assert launched.launched() == (0, 1, "")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    monkeypatch.setenv("SLURM_PROCID", "3")
    assert launched.launched() == (3, 4, "SLURM_STEP_NUM_TASKS")
    told = (
        r"4 processes were started \(SLURM_STEP_NUM_TASKS\), .* alone by MPICH Version: 4.2, which"
    )
    with pytest.raises(ProcessError, match=told):
        processes.initialize()
    assert not processes.job()


def test_verify_by_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    """The command starts its processes; what they find are the recorded digests."""
    tiers.check("mpi")
    tiers.check("cpu")
    words = ["verify", "--ranks", "2", "--format", "dd", "--routine", "lu", "--json"]
    assert cli.main(words) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["ranks"] == 2 and report["total"] == report["passed"] == 9
    assert report["devices"] == ["cpu:0", "cpu:0"]


def test_verify_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """mpi4py, mpiexec, a number of processes: each with what helps."""
    words = ["verify", "--device", "host:0", "--format", "dd", "--routine", "lu", "--ranks"]
    assert cli.main([*words, "0"]) == 2
    assert "--ranks: 0 given" in capsys.readouterr().err
    assert cli.main(["verify", "--ranks", "2", "--format", "dd", "--routine", "sort"]) == 2
    assert "without cases on several devices" in capsys.readouterr().err
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert cli.main([*words, "2"]) == 2
    assert "pip install '.[mpi]'" in capsys.readouterr().err
    monkeypatch.setattr(verified.shutil, "which", lambda name, path=None: None)
    with pytest.raises(BackendUnavailable, match=r"mpiexec is neither .*\[mpi\]"):
        verified.launcher()


def test_why_a_job_ended() -> None:
    """The sentence of the process that failed, of all that mpiexec writes; else its first lines."""
    text = "noise\nportmp: rank 1 of 2: it broke\n-----\nMPI_ABORT was invoked"
    assert (
        verified._reason(text, 1) == "--ranks: mpiexec ended with status 1: rank 1 of 2: it broke"
    )
    assert "no such option" in verified._reason("-----\nno such option", 213)


def test_arguments_of_initialize() -> None:
    """What is no communicator, no device, no limit."""
    tiers.check("mpi")
    for comm in ("x", processes.imported().COMM_NULL):
        with pytest.raises(
            ArgumentError, match=r"comm: .* given, an intracommunicator of mpi4py's"
        ):
            processes.initialize(comm)
    for devices in (3, {}, []):
        with pytest.raises(ArgumentError, match=r"initialize: devices: .* given, a list is needed"):
            processes._own(cast(Any, devices), 0)
    for limit in ([3], 10**400, -1):
        with pytest.raises(ArgumentError, match=r"limit: .* given, seconds above 0"):
            processes.initialize(limit=cast(Any, limit))
    assert not processes.job()


def test_time_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument, else the environment variable, else ten minutes."""
    assert processes._limit(None) == 600 and processes._limit(3) == 3
    monkeypatch.setenv(processes.LIMIT, "25")
    assert processes._limit(None) == 25
    for wrong in ("soon", "0", "nan"):
        monkeypatch.setenv(processes.LIMIT, wrong)
        with pytest.raises(ArgumentError, match=f"PORTMP_MPI_LIMIT: '{wrong}' given"):
            processes._limit(None)


def test_devices_of_others_do_nothing(device: Device) -> None:
    """Functions give arrays of the right shapes there, compile nothing and read nothing."""
    other = processes.DistantDevice(1, 0, processes.Facts.of(device))
    assert other.name == f"{device.name} of rank 1"
    a, there = (mp.ones((3, 4), "dd", where) for where in (device, other.queue))
    assert mp.exp(there + 1).shape == (3, 4) and there.sum(0).shape == (4,)
    assert there[1:, ::2].T.copy().shape == (2, 2)
    with pytest.raises(DeviceError, match="another process"):
        there.to_limbs()
    with pytest.raises(DeviceError, match="of rank 1"):
        a + there
    assert discovery.get(device) is device


def test_messages_have_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long ones are cut, empty ones are one; the last part is short, and so tells the end."""
    data = np.arange(10, dtype=np.uint8)
    pieces: Any = processes._pieces
    assert [p.size for p in pieces(data[:0])] == [0]
    assert np.array_equal(np.concatenate(pieces(data)), data)
    monkeypatch.setattr(processes, "PIECE", 5)
    assert [p.size for p in pieces(data)] == [5, 5, 0] and [p.size for p in pieces(data[:7])] == [
        5,
        2,
    ]
