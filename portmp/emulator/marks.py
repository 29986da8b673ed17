"""Marks in the code where threads meet, so that checks see it, and what names arrays.

The barrier of a warp leaves no instruction, nor does one of a block that is a single wave: lanes
run in step. Code for the interpreter has an instruction there that does nothing. Code without such
barriers is compiled as it is.
"""

import hashlib
import re
from pathlib import Path

from portmp.emulator import lines

VERSION = f"marks {hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]}"
"""What code with marks is kept by: what stands here decides which marks it has."""

SLEEPS = {113: "block_mark", 114: "warp_mark"}
"""Times of s_sleep that no code asks for, and the interpreter's operations that they stand for."""

_MEETINGS = {"__syncthreads": 113, "__builtin_amdgcn_wave_barrier": 114}
_THREADS = re.compile(r"__launch_bounds__\((\d+)")


TEXT, SIZES = ".portmp_text", ".portmp_sizes"
"""Parts of a code object: the rendered text, and bytes of its arrays in block memory."""

SHARED = re.compile(r"__shared__\s+([\w ]*\w)\s+(\w+)\s*((?:\[[^];]+\])+)\s*;")
"""An array of block memory: its type, its name, and its lengths, which a launch does not decide."""

_KEPT = 'extern "C" __device__ __attribute__((used, section("{}"))) const {}[] = {{{}}};\n'


def _kept(source: str) -> str:
    """The text, and sizes of its arrays, as constants that nothing reads."""
    sizes = [f"sizeof({kind}{many}), sizeof({kind})" for kind, _, many in SHARED.findall(source)]
    text = _KEPT.format(TEXT, "char portmp_text", ",".join(map(str, source.encode())))
    return text + _KEPT.format(SIZES, "unsigned portmp_sizes", ", ".join(["0", *sizes]))


def marked(source: str, lanes: int) -> str:
    """HIP source, its barriers with marks where waves of so many lanes need them, and its text.

    Lines keep their numbers.
    """
    block, warp = (name in source for name in _MEETINGS)
    single = any(int(threads) <= lanes for threads in _THREADS.findall(source))
    wanted = warp or (block and single)
    macros = (
        f"#define {name}() ({name}(), __builtin_amdgcn_s_sleep({sleep}))\n"
        for name, sleep in _MEETINGS.items()
    )
    return ("".join(macros) if wanted else "") + lines.HEAD + source + "\n" + _kept(source)
