"""Which compiler makes code for a platform and an architecture, without a device."""

import os
from collections.abc import Callable
from typing import NamedTuple

from portmp.compilers.base import Compiler
from portmp.compilers.clang import ClangCompiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import ArgumentError

HIPRTC_ARCHITECTURES = ("gfx906", "gfx908", "gfx90a", "gfx1030")
"""What hiprtc of ROCm 5 compiles; it crashes on newer ones, which clang compiles.

A clang that the user names compiles all."""


class Offline(NamedTuple):
    """How a platform's source is compiled without a device: what names of architectures start
    with, which is the default, and what compiles for any.
    """

    start: str
    arch: str
    compiler: Callable[[str], Compiler]


def amd(arch: str, *more: str) -> Compiler:
    """The compiler for an architecture of AMD's, with more options than its own."""
    named = os.environ.get("PORTMP_CLANG")
    known = arch in HIPRTC_ARCHITECTURES and not named
    return HiprtcCompiler(*more) if known else ClangCompiler(*more)


OFFLINE = {
    "cuda": Offline("sm_", "sm_90", lambda arch: NvrtcCompiler()),
    "rocm": Offline("gfx", "gfx90a", amd),
}
"""By platform. What is not here is compiled by the driver of a device."""


def platform_of(arch: str) -> str:
    """The platform whose architectures are named like *arch*; ArgumentError where none is."""
    for platform, offline in OFFLINE.items():
        if arch.startswith(offline.start):
            return platform
    known = ", ".join(f"{offline.start}... ({name})" for name, offline in OFFLINE.items())
    raise ArgumentError(f"--arch: {arch!r} given, names of architectures are {known}")


def compiler_for(platform: str, arch: str = "") -> tuple[Compiler, str]:
    """The compiler for a platform's *arch*, or its default, and the architecture."""
    if platform not in OFFLINE:
        raise ArgumentError(
            f"platform: {platform!r} is compiled by the driver of a device; give --device, not "
            f"--arch; without a device: {', '.join(OFFLINE)}"
        )
    offline = OFFLINE[platform]
    chosen = arch or offline.arch
    return offline.compiler(chosen), chosen
