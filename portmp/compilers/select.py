"""Which compiler makes code for a platform and an architecture."""

from __future__ import annotations

from portmp.compilers.base import Compiler
from portmp.compilers.clang import ClangCompiler
from portmp.compilers.hiprtc import HiprtcCompiler
from portmp.compilers.nvrtc import NvrtcCompiler
from portmp.errors import ArgumentError

DEFAULT_ARCH = {"cuda": "sm_90", "rocm": "gfx90a"}
HIPRTC_ARCHITECTURES = ("gfx906", "gfx908", "gfx90a", "gfx1030")
"""What hiprtc of ROCm 5 compiles; it crashes on newer ones, which clang compiles."""


def compiler_for(platform: str, arch: str) -> Compiler:
    """The compiler that needs no device for *arch* of ``cuda`` or ``rocm``."""
    if platform == "cuda":
        return NvrtcCompiler()
    if platform == "rocm":
        return HiprtcCompiler() if arch in HIPRTC_ARCHITECTURES else ClangCompiler()
    raise ArgumentError(
        f"platform: {platform!r} is compiled by the driver of a device; give --device, not --arch"
    )
