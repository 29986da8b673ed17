"""The device ``oclgrind``: a CPU that checks each access of each thread of a kernel.

Oclgrind replaces the OpenCL of a whole process, so it runs in one of its own (``worker``), whatever
this one has loaded. A launch waits for its end, and raises what was found.
"""

import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from shutil import which
from typing import Any, NoReturn

import numpy as np

from portmp import errors, paths
from portmp.backends import findings
from portmp.backends.base import Buffer, Device, Dim3, Given, Host, Kernel, Queue
from portmp.backends.host.runtime import HostEvent
from portmp.backends.oclgrind import log
from portmp.codegen.platform import Traits
from portmp.errors import BackendUnavailable, DeviceError, OutOfMemory, PortmpError

NAME = "oclgrind"
REMEDY = "on Debian and Ubuntu apt-get install oclgrind; and pip install '.[opencl]'"
MEMORY, SHARED = 1 << 30, 1 << 16
"""Bytes of memory, none of which is given back; bytes of block memory."""

_OPTIONS = (
    *("--data-races", "--uniform-writes", "--uninitialized", "--max-errors", "100000"),
    *("--global-mem-size", str(MEMORY), "--local-mem-size", str(SHARED)),
    # Optimised code turns a read of an uninitialised variable into nothing at all.
    "--build-options",
    "-cl-opt-disable",
)


class _Worker:
    """The process under Oclgrind."""

    def __init__(self) -> None:
        program = which("oclgrind")
        if program is None:
            raise BackendUnavailable(f"device {NAME!r}: oclgrind is not on PATH; {REMEDY}")
        folder = paths.process_folder(NAME)
        self._log = folder / "log"
        self._printed = folder / "printed"
        self._read = 0
        self._lock = threading.Lock()
        (folder / "drivers").mkdir()
        with self._printed.open("wb") as printed:
            self._process = subprocess.Popen(
                [
                    *(program, *_OPTIONS, "--log", str(self._log)),
                    *(sys.executable, "-P", "-m", "portmp.backends.oclgrind.worker"),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                env={
                    **os.environ,
                    "PYTHONPATH": paths.python_path(),
                    "PORTMP_CACHE_DIR": "",
                    "PORTMP_ICD_ONLY": "1",
                    "OCL_ICD_VENDORS": str(folder / "drivers"),
                },
                start_new_session=True,  # Ctrl-C is this process's to handle
            )
        try:
            self._answer()
        except PortmpError as error:
            raise BackendUnavailable(
                f"device {NAME!r} does not start ({error}); {REMEDY}"
            ) from None

    def call(self, name: str, *arguments: Any) -> Any:
        """What the worker answers; portmp's errors as they are there."""
        with self._lock:
            return self._asked(name, arguments)

    def checked(self, name: str, *arguments: Any) -> str:
        """What Oclgrind's log says of a call."""
        with self._lock:
            self._news()
            self._asked(name, arguments)
            return self._news()

    def _asked(self, name: str, arguments: Sequence[Any]) -> Any:
        assert self._process.stdin
        try:
            pickle.dump((name, arguments), self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            self._ended()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout
        try:
            kind, *content = pickle.load(self._process.stdout)
        except EOFError:
            self._ended()
        except BaseException:
            self._process.kill()  # its answer would be taken for that of the next call
            raise
        if kind == "error":
            raise getattr(errors, content[0])(content[1].replace("opencl:0", NAME))
        return content[0]

    def _ended(self) -> NoReturn:
        status = self._process.wait()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        said = self._printed.read_text(errors="replace").strip().splitlines()
        raise DeviceError(
            f"{NAME}: its process ended with {how} ({said[-1] if said else 'no message'}); its "
            "arrays are lost, and the device is there again in a new process"
        )

    def _news(self) -> str:
        """What the log got since it was last read."""
        if not self._log.exists():
            return ""
        with self._log.open("rb") as log:
            log.seek(self._read)
            news = log.read()
        self._read += len(news)
        return news.decode(errors="replace")


class CheckedBuffer(Buffer):
    """Memory of the worker's, by its number."""

    def __init__(self, device: Device, number: int, nbytes: int) -> None:
        self.device = device
        self.number = number
        self.nbytes = nbytes


class CheckedKernel(Kernel):
    """A kernel of the worker's, by its number."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number


class CheckedQueue(Queue):
    """Everything is done, and checked, when a call returns."""

    def __init__(self, device: "CheckedDevice", worker: _Worker) -> None:
        self.device: CheckedDevice = device
        self._worker = worker

    def write(self, target: Buffer, source: Host, offset: int = 0, *, wait: bool = True) -> None:
        assert isinstance(target, CheckedBuffer)
        self._worker.call("write", target.number, source.tobytes(), offset)

    def read(self, source: Buffer, target: Host, offset: int = 0, *, wait: bool = True) -> None:
        assert isinstance(source, CheckedBuffer)
        content = self._worker.call("read", source.number, target.nbytes, offset)
        target.reshape(-1).view(np.uint8)[...] = np.frombuffer(content, np.uint8)

    def copy(
        self, target: Buffer, source: Buffer, nbytes: int, start: int = 0, offset: int = 0
    ) -> None:
        assert isinstance(target, CheckedBuffer) and isinstance(source, CheckedBuffer)
        self._worker.call("copy", target.number, source.number, nbytes, start, offset)

    def _launcher(self, kernel: Kernel, grid: Dim3, block: Dim3, args: Given) -> Callable[[], None]:
        assert isinstance(kernel, CheckedKernel)
        given = [
            (True, arg.number) if isinstance(arg, CheckedBuffer) else (False, arg) for arg in args
        ]

        def run() -> None:
            text = self._worker.checked("launch", kernel.number, grid, block, given)
            if found := log.parsed(text):
                raise findings.check_error(self.device.name, kernel.name, grid, block, found)

        return run

    def record(self) -> HostEvent:
        return HostEvent()

    def synchronize(self) -> None:
        return


class CheckedDevice(Device):
    """Oclgrind's device, with fused multiply-adds as GPUs have them."""

    platform = "opencl"
    index = 0
    interpreted = True

    @property
    def remedy(self) -> str:
        """What installs it."""
        return REMEDY

    def __init__(self) -> None:
        self._worker = _Worker()
        self._numbers = itertools.count()
        self._used = 0
        self.properties = self._worker.call("properties")
        self.traits = Traits(fma="builtin", root="ieee")
        self.queue = CheckedQueue(self, self._worker)

    @property
    def name(self) -> str:
        return NAME

    @property
    def remark(self) -> str:
        """What it is."""
        return "Oclgrind checks each access of each thread: its times say nothing"

    def allocate(self, nbytes: int) -> CheckedBuffer:
        if self._used + nbytes > MEMORY:
            raise OutOfMemory(
                f"{NAME}: {nbytes} bytes asked for, {MEMORY - self._used} are left of the "
                f"{MEMORY} of a process: what was used is not given back, so that each access "
                "is known"
            )
        found = CheckedBuffer(self, self._worker.call("allocate", nbytes), nbytes)
        self._used += nbytes
        return found

    def new_queue(self) -> CheckedQueue:
        return CheckedQueue(self, self._worker)

    def compile(self, source: str) -> bytes:
        """The source itself, once Oclgrind has compiled it."""
        self._worker.call("compile", source)
        return source.encode()

    def compiler_key(self) -> str:
        return f"{NAME} {self.properties.driver} {' '.join(_OPTIONS)}"

    def load(self, binary: bytes, kernels: Sequence[str]) -> dict[str, Kernel]:
        numbers = self._worker.call("load", binary.decode(), list(kernels))
        return {name: CheckedKernel(name, n) for name, n in zip(kernels, numbers, strict=True)}


@cache
def find() -> CheckedDevice:
    """The device, once a process; BackendUnavailable says what installs it."""
    return CheckedDevice()
