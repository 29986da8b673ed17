"""What compiled kernels of the user's take of a compute unit, without a device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portmp.codegen.render import RenderedSource
from portmp.compilers import select
from portmp.compilers.base import KernelReport
from portmp.compilers.occupancy import Residency, residency
from portmp.errors import CompileError
from portmp.runtime import program

_HEAD = ("kernel", "threads", "regs", "spills", "scratch", "shared", "blocks", "warps", "limit")
_LINE = "{:24}{:>8}{:>6}{:>8}{:>9}{:>8}{:>8}{:>9}  {:14} {}"


@dataclass(frozen=True)
class KernelResources(KernelReport):
    """A kernel's report with the threads of its blocks, and how many a compute unit holds.

    ``resident`` is None for an architecture that ``compilers.occupancy`` does not know.
    """

    threads: int = 0
    resident: Residency | None = None

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        held = vars(self.resident) if self.resident else None
        return {**super().as_dict(), "resident": held}

    def row(self) -> str:
        """A line of the table."""
        numbers = (self.threads, self.registers, self.spills, self.scratch, self.shared)
        held = self.resident
        told = (str(held.blocks), f"{held.warps}/{held.most}", held.limit) if held else ("-",) * 3
        classes = " ".join(f"{k} {v}" for k, v in sorted(self.instructions.items()) if v)
        texts = ("-" if n is None else str(n) for n in numbers)
        return _LINE.format(self.name, *texts, *told, classes).rstrip()


class Resources(Sequence[KernelResources]):
    """Those of a module's kernels, which print as a table: one line a kernel.

    blocks and warps: what a compute unit holds at once; limit: of what there is no more.
    """

    def __init__(self, compiler: str, arch: str, kernels: Sequence[KernelResources]) -> None:
        self.compiler, self.arch = compiler, arch
        self._kernels = tuple(kernels)

    def __getitem__(self, index: Any) -> Any:
        return self._kernels[index]

    def __len__(self) -> int:
        return len(self._kernels)

    def __str__(self) -> str:
        head = _LINE.format(*_HEAD, "instructions")
        return "\n".join([f"{self.compiler}, {self.arch}", head, *(k.row() for k in self)])

    __repr__ = __str__

    def as_dicts(self) -> list[dict[str, Any]]:
        """A dictionary a kernel, for JSON."""
        return [kernel.as_dict() for kernel in self]


def compiled(
    source: RenderedSource, platform: str, arch: str, threads: Mapping[str, int]
) -> Resources:
    """Compile a module for an architecture; *threads* of each kernel's blocks."""
    compiler, chosen = select.compiler_for(platform, arch)
    try:
        reports = compiler.report(compiler.compile(source.text, chosen), chosen)
    except CompileError as error:
        raise program.explained(error, source) from None
    found = [
        KernelResources(**vars(one), threads=count, resident=residency(one, count))
        for one in reports
        for count in [threads[one.name]]
    ]
    return Resources(f"{compiler.name} {compiler.version()}", chosen, found)
