"""A kernel as the interpreter has it loaded, with what tells of its lines and arrays."""

from dataclasses import dataclass
from functools import cached_property

from portmp.backends.base import Buffer
from portmp.compilers import elf
from portmp.emulator import marks
from portmp.emulator.arrays import Arrays
from portmp.emulator.assembler import Program
from portmp.emulator.codeobject import CodeObject, Kernel
from portmp.emulator.lines import Lines


@dataclass(frozen=True)
class Loaded:
    """A kernel in memory: its rows and their copies on the host device.

    ``code``: the code object, where it was compiled with lines and marks, so that how threads use
    block memory and barriers can be checked.
    """

    kernel: Kernel
    program: Program
    rows: Buffer
    code: CodeObject | None = None

    @cached_property
    def lines(self) -> Lines | None:
        """The lines of the rendered text that instructions come from, where they are known."""
        return Lines(self.code.binary, self.kernel.code) if self.code else None

    @cached_property
    def arrays(self) -> Arrays | None:
        """The kernel's arrays, where they are known."""
        known = self.code and marks.TEXT in elf.sections(self.code.binary)
        return Arrays(self.code.binary, self.kernel) if self.code and known else None
