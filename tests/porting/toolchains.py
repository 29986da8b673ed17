"""The compilers that the reference's texts are given to: what each compiles, and with what options.

Unlike portmp's own kernels these texts are compiled as a porter would: by each compiler's defaults,
and the options that a claim names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from portmp import paths
from portmp.backends.opencl import drivers
from portmp.compilers.base import Compiler
from portmp.compilers.clang import ClangCompiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import BackendUnavailable, CompileError, InputError

if TYPE_CHECKING:
    from portmp.backends.opencl.runtime import ClDevice

Options = tuple[str, ...]


class EntryError(InputError):
    """An entry of the porting reference that says too little, too much or what it may not."""


class _Nvrtc(NvrtcCompiler):
    def __init__(self, options: Options) -> None:
        self._options = options

    def options(self, arch: str) -> Options:
        return (f"--gpu-architecture={arch}", *self._options)


class _Hiprtc(HiprtcCompiler):
    def options(self, arch: str) -> Options:
        return (*self._more, f"--offload-arch={arch}")


class _Clang(ClangCompiler):
    """With the contraction that clang has where nothing is said of it."""

    def options(self, arch: str) -> Options:
        said = len(self._more)
        usual = super().options(arch)[: -said or None]
        return (*(option for option in usual if not option.startswith("-ffp-")), *self._more)


@cache
def pocl() -> ClDevice:
    """The newest PoCL that works here; BackendUnavailable where there is none."""
    from portmp import discovery

    found = discovery.find("opencl")
    mine = [d for d in found.devices if "PoCL" in str(d.properties.extra.get("platform", ""))]
    mine.sort(key=lambda d: str(d.properties.driver), reverse=True)
    for device in discovery.accepted(mine):
        return cast("ClDevice", device)
    refused = f"the arithmetic probe refuses {', '.join(d.name for d in mine)}" if mine else ""
    raise BackendUnavailable(refused or found.problem or "none of the OpenCL drivers is PoCL")


@cache
def pocl_with(options: Options) -> ClDevice:
    """That device, compiling with *options* alone."""
    from portmp.backends.opencl.runtime import ClDevice

    device = pocl()
    mine = ClDevice(device.index, device.handle)
    standard = [option for option in options if option.startswith("-cl-std=")]
    mine.compiler.build_options = (*([] if standard else ["-cl-std=CL1.2"]), *options)
    return mine


def _opencl(options: Options) -> Compiler:
    compiler = pocl_with(options).compiler
    assert compiler is not None
    return compiler


class _Program(Compiler):
    """A command that takes a whole program, with code for the host, and tells of its mistakes."""

    def __init__(self, command: Sequence[str], ending: str, options: Options) -> None:
        self._command = command
        self._ending = ending
        self._options = options

    def version(self) -> str:
        if shutil.which(self._command[0]) is None:
            raise BackendUnavailable(f"{self._command[0]} is not on PATH")
        return self._command[0]

    def options(self, arch: str) -> Options:
        return tuple(word.replace("ARCH", arch) for word in self._command[1:]) + self._options

    def compile(self, source: str, arch: str) -> bytes:
        """What the command writes; its messages place lines in ``program``."""
        self.version()
        with paths.temporary_folder("porting") as folder:
            (folder / f"program{self._ending}").write_text(source, encoding="utf-8")
            done = subprocess.run(
                [self._command[0], *self.options(arch)],
                cwd=folder,
                env=os.environ | {"HIP_PLATFORM": "amd"},
                capture_output=True,
                check=False,
            )
            if done.returncode:
                said = (done.stderr + done.stdout).decode(errors="replace").strip()
                raise CompileError(said or f"{self._command[0]} ended with {done.returncode}")
            made = folder / "made"
            return made.read_bytes() if made.exists() else b""

    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        raise BackendUnavailable(f"what {self._command[0]} makes is not disassembled")

    report = None  # type: ignore[assignment]


def _program(ending: str, *command: str) -> Callable[[Options], Compiler]:
    return lambda options: _Program(command, ending, options)


@dataclass(frozen=True)
class Toolchain:
    """A compiler: the dialect that it takes, whether whole programs or kernels alone, for what
    architecture it compiles if a claim names none, what messages of it are headed, and the compiler
    with given options.
    """

    name: str
    dialect: str
    programs: bool
    arch: str
    about: str
    make: Callable[[Options], Compiler]

    def problem(self) -> str:
        """Why it cannot be used here; nothing if it can."""
        try:
            self.make(()).version()
        except BackendUnavailable as error:
            return str(error)
        return ""


TOOLCHAINS = {
    tool.name: tool
    for tool in (
        Toolchain("nvrtc", "cuda", False, "sm_90", "NVRTC 13.5", _Nvrtc),
        Toolchain(
            "hiprtc",
            "hip",
            False,
            "gfx90a",
            "hiprtc of ROCm 5.2",
            lambda options: _Hiprtc(*options),
        ),
        Toolchain(
            "clang",
            "hip",
            False,
            "gfx1100",
            "clang 19 with portmp's prelude",
            lambda options: _Clang(*options),
        ),
        Toolchain("pocl", "opencl", False, "", "PoCL 3.1, LLVM 15", _opencl),
        Toolchain(
            "nvcc",
            "cuda",
            True,
            "sm_90",
            "nvcc 13.0",
            _program(".cu", "nvcc", "-arch=ARCH", "-c", "-o", "made", "program.cu"),
        ),
        Toolchain(
            "hipcc",
            "hip",
            True,
            "gfx90a",
            "hipcc of ROCm 5.2",
            _program(
                ".hip.cpp",
                "hipcc",
                "--offload-arch=ARCH",
                "-fsyntax-only",
                "-Wno-unused-command-line-argument",
                "program.hip.cpp",
            ),
        ),
        Toolchain(
            "cc",
            "opencl",
            True,
            "",
            "a C compiler with OpenCL's headers",
            _program(".c", "cc", "-o", "made", "program.c", "-lOpenCL"),
        ),
    )
}
"""By name. CI has all but nvcc."""


def get(name: str) -> Toolchain:
    """The toolchain of that name; EntryError where there is none."""
    if name not in TOOLCHAINS:
        raise EntryError(f"by: {name!r} given, compilers are {', '.join(TOOLCHAINS)}")
    return TOOLCHAINS[name]


@cache
def problem(name: str) -> str:
    """Why a toolchain cannot be used here; nothing if it can. Asked once."""
    return get(name).problem()


def run_program(binary: bytes, arguments: Sequence[str] = ()) -> str:
    """What a program for this machine prints, with its status where that is not 0.

    OpenCL programs of the reference take the first device that they find: they find ``pocl``.
    """
    alone = drivers.alone(pocl().handle.platform.int_ptr)
    with paths.temporary_folder("porting") as folder:
        file = Path(folder) / "program"
        file.write_bytes(binary)
        file.chmod(0o700)
        done = subprocess.run(
            [str(file), *arguments],
            env=os.environ | alone,
            capture_output=True,
            timeout=120,
            check=False,
            cwd=folder,
        )
    said = done.stdout.decode(errors="replace").strip()
    return said if not done.returncode else f"{said}\nstatus {done.returncode}".strip()
