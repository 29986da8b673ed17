"""What every compiler offers, and the resource report of compiled code."""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

CLASSES = (
    *("fma64", "add64", "mul64", "fma32", "add32", "mul32"),
    *("special", "load", "store", "shared", "branch", "barrier", "other"),
)
"""Instruction classes of a report; ``special`` are reciprocals, roots and their kin."""


@dataclass(frozen=True)
class KernelReport:
    """Resources of one compiled kernel, read from the machine code.

    ``registers`` are 32-bit registers (VGPRs on AMD), ``spills`` spilled registers or
    bytes of spill stores, ``scratch`` bytes of private memory, ``shared`` bytes of
    shared memory, ``instructions`` static counts by class.
    """

    name: str
    arch: str
    registers: int | None
    scalar_registers: int | None
    spills: int | None
    scratch: int | None
    shared: int | None
    instructions: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {**self.__dict__, "instructions": dict(self.instructions)}


class Compiler(ABC):
    """Source text to machine code."""

    name: str

    @abstractmethod
    def version(self) -> str:
        """Version of the compiler; raises BackendUnavailable with the remedy when missing."""

    @abstractmethod
    def options(self, arch: str) -> tuple[str, ...]:
        """Options used for *arch*: contraction off, subnormals kept, no fast mathematics."""

    @abstractmethod
    def compile(self, source: str, arch: str) -> bytes:
        """Compile to machine code; raises CompileError with the compiler's message."""

    @abstractmethod
    def disassemble(self, binary: bytes) -> dict[str, list[str]]:
        """Instructions of each kernel, one text line each, mnemonic first."""

    @abstractmethod
    def report(self, binary: bytes, arch: str) -> list[KernelReport]:
        """Resources of every kernel in *binary*."""
