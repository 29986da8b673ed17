"""HIP source to AMD code objects with AMD's run-time compiler, through hip-python.

hiprtc runs in a process of its own (see hiprtc_worker), since versions in use abort on
architectures that they do not know.
"""

from __future__ import annotations

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
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from portmp.compilers import amd_code
from portmp.compilers.base import Compiler, KernelReport
from portmp.errors import BackendUnavailable, CompileError

Result = bytes | CompileError
_PACKAGES = Path(__file__).resolve().parents[2]
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
def bridge(name: str, library: Path) -> tempfile.TemporaryDirectory[str]:
    """A private folder with ``lib/lib<name>.so``, the only name that hip-python opens."""
    folder = tempfile.TemporaryDirectory(prefix="portmp-rocm-")
    inner = Path(folder.name) / "lib"
    inner.mkdir()
    (inner / f"lib{name}.so").symlink_to(library)
    return folder


@contextlib.contextmanager
def findable(name: str) -> Iterator[None]:
    """While it is open, hip-python finds a library, which it knows by its unversioned name only."""
    library = find_library(name)
    if library is None or "ROCM_PATH" in os.environ or _loads(f"lib{name}.so"):
        yield
        return
    os.environ["ROCM_PATH"] = bridge(name, library).name
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
    paths = [str(_PACKAGES), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    library = _hiprtc_library()
    if library and library.name != "libhiprtc.so":
        # Only the worker's loader sees this folder; a hiprtc that it finds first wins.
        own = [environment.get("LD_LIBRARY_PATH", ""), f"{bridge('hiprtc', library).name}/lib"]
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, own))
    return environment


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no message"


def _ask_worker(jobs: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, list[Result]]:
    """Run one worker; the version, and the results of the jobs up to the first crash."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "portmp.compilers.hiprtc_worker"],
            input=json.dumps({"jobs": jobs}).encode(),
            capture_output=True,
            env=_environment(),
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CompileError(f"hiprtc did not finish in {_SECONDS} seconds") from error
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if not answers:
        raise BackendUnavailable(f"hiprtc cannot run ({_last_line(done.stderr)}); {_REMEDY}")
    if "version" not in answers[0]:
        raise BackendUnavailable(f"hiprtc is missing ({answers[0]['unavailable']}); {_REMEDY}")
    results: list[Result] = [
        base64.b64decode(answer["code"]) if "code" in answer else CompileError(answer["error"])
        for answer in answers[1:]
    ]
    if len(results) < len(jobs):
        results.append(_crash(jobs[len(results)][1], done.returncode, done.stderr))
    return answers[0]["version"], results


def _crash(options: Sequence[str], status: int, printed: bytes) -> CompileError:
    """What to say about a worker that died."""
    how = f"status {status}"
    if status < 0:
        how = signal.Signals(-status).name
    arch = options[-1].rpartition("=")[2]
    return CompileError(
        f"hiprtc crashed ({how}: {_last_line(printed)}) compiling for {arch}, which this "
        f"version may not support; use the clang compiler for {arch}"
    )


@lru_cache(maxsize=1)
def _version() -> str:
    version, _ = _ask_worker([])
    library = _hiprtc_library()
    # hiprtc's own number says little: the name of the library carries ROCm's version.
    return f"hiprtc {version}" + (f" ({library.resolve().name})" if library else "")


class HiprtcCompiler(Compiler):
    """hiprtc, of the ROCm that is installed."""

    name = "hiprtc"

    def version(self) -> str:
        """Version of hiprtc and the file name of its library."""
        return _version()

    def options(self, arch: str) -> tuple[str, ...]:
        """Options for one architecture; the architecture comes last."""
        return ("-O3", "-ffp-contract=off", f"--offload-arch={arch}")

    def compile(self, source: str, arch: str) -> bytes:
        """Compile to a code object."""
        (result,) = self.compile_many([(source, arch)])
        if isinstance(result, CompileError):
            raise result
        return result

    def compile_many(self, jobs: Sequence[tuple[str, str]]) -> list[Result]:
        """Compile several (source, arch) pairs in one process: code, or the error of each."""
        waiting = [(source, self.options(arch)) for source, arch in jobs]
        results: list[Result] = []
        while len(results) < len(waiting):
            # Every round answers at least one job: a crash is the answer of its job.
            results += _ask_worker(waiting[len(results) :])[1]
        return results

    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        """Instructions of each function, through llvm-objdump."""
        return amd_code.disassemble(binary)

    def report(self, binary: bytes, arch: str) -> list[KernelReport]:
        """Resources of every kernel, from the metadata note."""
        return amd_code.report(binary, arch)
