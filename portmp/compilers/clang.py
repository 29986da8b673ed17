"""HIP source to AMD code objects with a plain clang: no ROCm and no GPU needed."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

from portmp import paths
from portmp.compilers import amd_code, tools
from portmp.compilers.base import Compiler, KernelReport
from portmp.errors import BackendUnavailable, CompileError

_OLDEST = 17
_PRELUDE = Path(__file__).with_name("hip_prelude.h")
_REMEDY = "Debian and Ubuntu: apt-get install clang-19 lld-19; or name one in PORTMP_CLANG"


@lru_cache(maxsize=8)
def _version_of(path: str) -> tuple[int, str]:
    """Major number and first line of ``--version``; (0, reason) when it cannot run."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        return 0, str(error)
    match = re.search(r"version (\d+)\.", done.stdout)
    return (int(match[1]) if match else 0), (done.stdout.splitlines() or ["no output"])[0]


def _find() -> tuple[str, str]:
    """Path and version line of the compiler to use."""
    wanted = os.environ.get("PORTMP_CLANG")
    paths = [wanted] if wanted else map(str, tools.versioned_tools("clang++", tools.ROCM_FOLDERS))
    for path in paths:
        major, line = _version_of(path)
        if major >= _OLDEST:
            return path, line
        if wanted:
            raise BackendUnavailable(f"PORTMP_CLANG={wanted} is no clang of at least 17: {line}")
    raise BackendUnavailable(f"no clang++ of at least version {_OLDEST} is on PATH; {_REMEDY}")


@lru_cache(maxsize=1)
def _prelude_key() -> str:
    """Digest of the prelude, which is part of what the compiler sees."""
    from hashlib import sha256

    return sha256(_PRELUDE.read_bytes()).hexdigest()[:12]


class ClangCompiler(Compiler):
    """The newest clang++ on PATH, or the one that PORTMP_CLANG names."""

    name = "clang"

    def version(self) -> str:
        """Version line of clang, and a digest of the prelude."""
        return f"{_find()[1]} prelude {_prelude_key()}"

    def options(self, arch: str) -> tuple[str, ...]:
        """Options for one AMD architecture; the prelude replaces the headers of HIP."""
        return (
            "-x",
            "hip",
            "--offload-device-only",
            "--no-gpu-bundle-output",
            "-nogpulib",
            "-nogpuinc",
            f"--offload-arch={arch}",
            "-std=c++17",
            "-O3",
            "-ffp-contract=off",
        )

    def compile(self, source: str, arch: str) -> bytes:
        """Compile to a code object; messages place lines in ``<stdin>``."""
        command = [_find()[0], *self.options(arch), "-include", str(_PRELUDE), "-"]
        with paths.temporary_folder("tool") as folder:
            output = folder / "code"
            done = subprocess.run(
                [*command, "-o", str(output)],
                input=source.encode(),
                capture_output=True,
                check=False,
            )
            if done.returncode or not output.exists():
                log = done.stderr.decode(errors="replace").strip()
                raise CompileError(log or f"clang ended with status {done.returncode}")
            return output.read_bytes()

    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        """Instructions of each function, through llvm-objdump."""
        return amd_code.disassemble(binary)

    def report(self, binary: bytes, arch: str) -> list[KernelReport]:
        """Resources of every kernel, from the metadata note."""
        return amd_code.report(binary, arch)
