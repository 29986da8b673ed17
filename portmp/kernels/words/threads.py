"""Words of kernels, of threads in blocks and grids, and of how threads meet."""

from collections.abc import Sequence

from portmp.codegen.signature import Parameter
from portmp.errors import RenderError
from portmp.kernels.requirements import PARAMETER
from portmp.kernels.words.base import Base

OPENING = "\x04"
"""Stands where a kernel's body must begin, until its declarations do."""

MORE = "\x05"
"""Stands where parameters may follow that the kernel's body turns out to need."""


def c_name(kernel: str) -> str:
    """What a kernel is called in C: a language has functions of its own called step or exp."""
    return f"{kernel}_kernel"


def _names(declarations: Sequence[str]) -> list[str]:
    """What declarations of parameters declare."""
    return [one.rsplit(None, 1)[-1].strip("*") for one in ", ".join(declarations).split(", ")]


class Threads(Base):
    """The head of a kernel, indices of threads and blocks, barriers and fences."""

    def kernel(self, name: str = "") -> str:
        """The head of a kernel: qualifiers, name and parameters. Its body follows in braces."""
        if not name and len(self.signatures) == 1:
            (name,) = self.signatures
        if name not in self.signatures:
            raise RenderError(
                f"kernel: {name!r} given, the signatures are of {', '.join(self.signatures)}"
            )
        self._kernel = name
        block = self.blocks[name]
        head = self.platform.block_kernel.format(*block.dimensions, block.threads)
        signature = self.signatures[name]
        lines = self._declared(signature.taken(self.dense[name]).parameters)
        made: dict[str, str] = {}
        for parameter in signature.taken(()).parameters:
            parts = [one for one in _names(self._declared([parameter])) if one != parameter.name]
            made |= dict.fromkeys(parts, f"a part of {parameter.name}")
        self.made[name] = made
        declared = _names(lines)
        if twice := [one for one in declared if declared.count(one) > 1]:
            raise RenderError(
                f"{name}: {twice[0]!r} is the name of two things: planes of x are called x0, x1 ..."
            )
        return f"{head} {c_name(name)}(\n    " + ",\n    ".join(lines) + MORE + ")" + OPENING

    def more_parameters(self, kernel: str) -> list[str]:
        """What a kernel takes beside its signature: assertions and dynamic block memory."""
        found = []
        if self.requirements[kernel]:
            found.append(f"{self.platform.pointer.format(self.type('uint32'))}{PARAMETER}")
        if self.platform.dynamic_parameter and self.memory[kernel].dynamic:
            found.append(self.platform.dynamic_parameter)
        return found

    def _declared(self, taken: Sequence[Parameter]) -> list[str]:
        """The present kernel's parameters in C, each spelled for its format."""
        by_name = self.signatures[self._kernel].by_name
        texts: list[str] = []
        for one in taken:
            form = self.computing(by_name[one.name]) if one.name in by_name else self.form
            texts += one.texts(self.writer(form))
        return texts

    def _axis(self, axis: int) -> int:
        if axis not in (0, 1, 2):
            raise RenderError(f"axis {axis!r} given, 0, 1 and 2 are the axes of blocks and grids")
        return axis

    def thread_id(self, axis: int = 0) -> str:
        """The thread's index in its block."""
        return f"(int){self.platform.axis(self.platform.local_id, self._axis(axis))}"

    def block_id(self, axis: int = 0) -> str:
        """The block's index in the grid."""
        return f"(int){self.platform.axis(self.platform.group_id, self._axis(axis))}"

    def block_size(self, axis: int = 0) -> int:
        """Threads of a block along an axis: a number."""
        return self.blocks[self._current("block_size")].dimensions[self._axis(axis)]

    def grid_size(self, axis: int = 0) -> str:
        """Blocks of the grid along an axis."""
        return f"(int){self.platform.axis(self.platform.group_count, self._axis(axis))}"

    def global_id(self, axis: int = 0) -> str:
        """The thread's index in the whole grid, with 64 bits."""
        first = f"({self.index}){self.block_id(axis)} * {self.block_size(axis)}"
        return f"({first} + {self.thread_id(axis)})"

    def global_size(self, axis: int = 0) -> str:
        """Threads of the whole grid along an axis, with 64 bits."""
        return f"(({self.index}){self.grid_size(axis)} * {self.block_size(axis)})"

    def linear_id(self) -> str:
        """The thread's number in its block: axis 0 first."""
        block = self.blocks[self._current("linear_id")]
        text = self.thread_id(0)
        if block.y * block.z > 1:
            text = f"({text} + {block.x} * {self.thread_id(1)}"
            text += f" + {block.x * block.y} * {self.thread_id(2)})" if block.z > 1 else ")"
        return text

    def barrier(self, memory: str = "block") -> str:
        """All threads of the block meet. What they wrote to block memory before is seen after.

        ``"all"``: the same of the device's memory, among the block's threads. ``"warp"``: the same
        of block memory, among the threads of a logical warp alone.
        """
        texts = {
            "block": self.platform.barrier,
            "all": self.platform.device_barrier,
            "warp": self.platform.warp_barrier or self.platform.barrier,
        }
        if memory not in texts:
            raise RenderError(
                f"barrier: {memory!r} given, 'block' or 'all' memory or a 'warp' is meant"
            )
        return texts[memory]

    def fence(self, memory: str = "block") -> str:
        """Order this thread's accesses: those before it are seen before those after it.

        By threads of its block in block memory, or with ``"device"`` by all threads in both
        memories. It does not wait for any thread.
        """
        if memory not in self.platform.fences:
            known = ", ".join(map(repr, self.platform.fences))
            raise RenderError(f"fence: {memory!r} given, {known} are the memories")
        return self.platform.fences[memory]
