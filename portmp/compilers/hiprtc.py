"""HIP source to AMD code objects with AMD's run-time compiler, through hip-python.

hiprtc runs in a process of its own (see hiprtc_worker), since versions in use abort on
architectures that they do not know.
"""

import base64
import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from portmp import paths
from portmp.compilers.amd_code import AmdCompiler
from portmp.errors import BackendUnavailable, CompileError

_REMEDY = (
    "install ROCm, or on Debian and Ubuntu apt-get install libamdhip64-5 libhiprtc-builtins5 "
    "rocm-device-libs, and pip install hip-python"
)
_SECONDS = 600


def _library_folders() -> Iterator[Path]:
    """Folders that may hold ROCm's libraries, most specific first."""
    named = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    roots = [os.environ.get("ROCM_PATH", ""), os.environ.get("ROCM_HOME", ""), "/opt/rocm"]
    system = ["/usr/lib64", "/usr/lib", "/usr/local/lib"]
    multiarch = sorted(Path("/usr/lib").glob("*-linux-gnu"))
    plain = [*named, *(f"{root}/lib" for root in roots if root)]
    for folder in [*map(Path, filter(None, plain)), *multiarch, *map(Path, system)]:
        if folder.is_dir():
            yield folder


def find_library(name: str) -> Path | None:
    """``lib<name>.so``, or the newest versioned one: runtime packages ship only that."""
    versioned: list[tuple[int, Path]] = []
    for folder in _library_folders():
        exact = folder / f"lib{name}.so"
        if exact.exists():
            return exact
        for path in folder.glob(f"lib{name}.so.*"):
            match = re.fullmatch(r"\d+", path.name.rpartition(".so.")[2])
            if match:
                versioned.append((int(match[0]), path))
    return max(versioned, key=lambda item: item[0])[1] if versioned else None


@lru_cache(maxsize=1)
def _hiprtc_library() -> Path | None:
    """hiprtc's library; before ROCm 6 its functions were a part of libamdhip64."""
    return find_library("hiprtc") or find_library("amdhip64")


@lru_cache(maxsize=4)
def bridge(name: str, library: Path) -> Path:
    """A private folder with ``lib/lib<name>.so``, the only name that hip-python opens."""
    folder = paths.process_folder(f"rocm-{name}")
    (folder / "lib").mkdir()
    (folder / "lib" / f"lib{name}.so").symlink_to(library)
    return folder


@contextlib.contextmanager
def findable(name: str) -> Iterator[None]:
    """While it is open, hip-python finds a library, which it knows by its unversioned name only."""
    library = find_library(name)
    if library is None or "ROCM_PATH" in os.environ or _loads(f"lib{name}.so"):
        yield
        return
    os.environ["ROCM_PATH"] = str(bridge(name, library))
    try:
        yield
    finally:
        del os.environ["ROCM_PATH"]


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _environment() -> dict[str, str]:
    """Environment of the worker: it finds this package, and hiprtc under any name."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = paths.python_path()
    library = _hiprtc_library()
    if library and library.name != "libhiprtc.so":
        # Only the worker's loader sees this folder; a hiprtc that it finds first wins.
        own = [environment.get("LD_LIBRARY_PATH", ""), str(bridge("hiprtc", library) / "lib")]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, own))
    return environment


class _Worker:
    """A process that compiles one source after the other, and ends when its input does."""

    def __init__(self) -> None:
        self._late = False
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "portmp.compilers.hiprtc_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            env=_environment(),
            start_new_session=True,  # so that Ctrl-C ends a compilation, and no waiting process
        )
        first = self._answer()
        if not first:
            raise BackendUnavailable(f"hiprtc cannot run ({self._last_line()}); {_REMEDY}")
        if "version" not in first:
            raise BackendUnavailable(f"hiprtc is missing ({first['unavailable']}); {_REMEDY}")
        self.version = first["version"]

    def compile(self, source: str, options: Sequence[str]) -> bytes:
        """A code object; CompileError holds the compiler's log, or says how it crashed."""
        answer = self._answer(json.dumps([source, options]).encode() + b"\n")
        if "code" in answer:
            return base64.b64decode(answer["code"])
        raise CompileError(answer.get("error") or self._crash(options[-1].rpartition("=")[2]))

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def _answer(self, question: bytes = b"") -> dict[str, str]:
        """What it says next; nothing where it died."""
        assert self._process.stdin and self._process.stdout
        limit = threading.Timer(_SECONDS, self._end)
        limit.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(question)
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BaseException:
            self._process.kill()  # its answer would be taken for the next question's
            raise
        finally:
            limit.cancel()
        if not line:
            self._process.wait()
        answer: dict[str, str] = json.loads(line or b"{}")
        return answer

    def _end(self) -> None:
        self._late = True
        self._process.kill()

    def _last_line(self) -> str:
        self._printed.seek(0)
        lines = self._printed.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "no message"

    def _crash(self, arch: str) -> str:
        """What to say about a process that died."""
        if self._late:
            return f"hiprtc did not finish in {_SECONDS} seconds"
        status = self._process.returncode
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return (
            f"hiprtc crashed ({how}: {self._last_line()}) compiling for {arch}, which this "
            f"version may not support; use the clang compiler for {arch}"
        )


_lock = threading.Lock()


@lru_cache(maxsize=1)
def _started(process: int) -> _Worker:
    """The worker of this process: a fork must not share it."""
    return _Worker()


def _worker() -> _Worker:
    """A worker that lives."""
    if not _started(os.getpid()).alive:
        _started.cache_clear()
    return _started(os.getpid())


class HiprtcCompiler(AmdCompiler):
    """hiprtc, of the ROCm that is installed."""

    name = "hiprtc"

    def version(self) -> str:
        """Version of hiprtc and the file name of its library."""
        with _lock:
            version = _worker().version
        library = _hiprtc_library()
        # hiprtc's own number says little: the name of the library carries ROCm's version.
        return f"hiprtc {version}" + (f" ({library.resolve().name})" if library else "")

    def options(self, arch: str) -> tuple[str, ...]:
        """Options for one architecture; the architecture comes last."""
        return ("-O3", "-ffp-contract=off", *self._more, f"--offload-arch={arch}")

    def compile(self, source: str, arch: str) -> bytes:
        """Compile to a code object."""
        with _lock:
            return _worker().compile(source, self.options(arch))
