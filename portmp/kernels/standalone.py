"""A user's kernel as a program in one file, which the platform's own compiler builds."""

from pathlib import Path

from portmp.codegen import platform as platforms
from portmp.codegen import render
from portmp.codegen.render import RenderedSource
from portmp.compilers import host_programs
from portmp.files import target as targets
from portmp.formats import Format
from portmp.kernels.signature import Declaration, Size
from portmp.kernels.words.base import ALIGNMENT, BlockMemory
from portmp.kernels.words.threads import c_name
from portmp.kernels.words.types import Block

Grid = tuple[bool, tuple[Size, ...], dict[str, int]]
"""Whether threads are counted or blocks; along each axis, nothing where a function of Python says
it; the values of the template that these are made of."""


def program(
    platform: str,
    signature: Declaration,
    form: Format,
    source: RenderedSource,
    block: Block,
    grid: Grid,
    memory: BlockMemory,
) -> RenderedSource:
    """The text of the program."""
    context = {
        "part": host_programs.get(platforms.get(platform).name),
        "text": source.text,
        "name": signature.name,
        "symbol": c_name(signature.name),
        "signature": signature,
        "form": form,
        "block": block.dimensions,
        "grid": grid,
        "memory": memory,
        "alignment": ALIGNMENT,
    }
    return render.render("/programs/kernel.mako", context)


def write(platform: str, name: str, text: str, folder: Path) -> Path:
    """Put the program into a folder, in one step; its file."""
    file = folder / f"{name}{host_programs.get(platform).ending}"
    targets.check_place(file)
    targets.replace(file, text.encode())
    return file
