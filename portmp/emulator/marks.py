"""Marks in the code where threads meet, so that checks see it.

A barrier of a warp leaves no instruction, nor does one of a block of a single wave: lanes run in
step. Code for the interpreter has an instruction there that does nothing.
"""

from __future__ import annotations

from portmp.emulator import lines

SLEEPS = {113: "block_mark", 114: "warp_mark"}
"""Times of s_sleep that no code asks for, and the interpreter's operations that they stand for."""

VERSION = "marks 1"
"""What code with marks is kept by."""

_MEETINGS = {"__syncthreads": 113, "__builtin_amdgcn_wave_barrier": 114}


def marked(source: str) -> str:
    """HIP source with marks behind barriers; its lines keep their numbers."""
    macros = (
        f"#define {name}() ({name}(), __builtin_amdgcn_s_sleep({sleep}))\n"
        for name, sleep in _MEETINGS.items()
    )
    return "".join(macros) + lines.HEAD + source
