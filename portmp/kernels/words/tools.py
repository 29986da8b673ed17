"""Words beside the computation: the platform's own functions, its clock, what a thread prints."""

import json

from portmp.errors import RenderError
from portmp.kernels import requirements
from portmp.kernels.requirements import Requirement
from portmp.kernels.words.threads import Threads
from portmp.kernels.words.types import typed


class Tools(Threads):
    """What is not the same everywhere, or is for finding faults."""

    def approximate(self, function: str, *operands: object, kind: str | None = None) -> str:
        """A function of the platform's library, on float or double: **its bits differ** by device.

        rcp, rsqrt, exp, exp2, log, log2, sin, cos, tan, tanh, pow, atan2; *kind*: the type, real
        if none is given.
        """
        kind = self.of(self.form.name).real if kind is None else typed("approximate", kind)
        if kind.number not in ("float32", "float64"):
            raise RenderError(f"approximate: {kind} given, float and double have such functions")
        known = [name for name, word in self.platform.library if word == kind.number]
        if function not in known:
            raise RenderError(f"approximate: {function!r} given, {', '.join(known)} are known")
        wanted = 2 if function in ("pow", "atan2") else 1
        if len(operands) != wanted:
            raise RenderError(
                f"approximate: {function}: {len(operands)} operands given, {wanted} needed"
            )
        text = self.platform.library[function, kind.number]
        return text.format(*(f"({kind})({one})" for one in operands))

    def clock(self) -> str:
        """Cycles of the compute unit's counter, 64 bits; where the platform has one."""
        if not self.platform.clock:
            raise RenderError(f"clock: {self.platform.title} has no clock in its kernels")
        return f"({self.type('int64')}){self.platform.clock}"

    def printf(self, text: str, *operands: object) -> str:
        """The statement by which each thread prints, in C's manner: ``printf("%d", "i")``."""
        if not isinstance(text, str):
            raise RenderError(f"printf: {type(text).__name__} given, a text is needed")
        return f"printf({', '.join([json.dumps(text), *map(str, operands)])});"

    def require(self, condition: str, message: str = "") -> str:
        """The statement that asserts a condition, where the kernel is ``checked``; else none.

        The call then raises CheckError with the template's line, the first thread (in the order of
        blocks and of threads in them) that finds it false, and the *message*. Threads go on.
        """
        for what, text in (("condition", condition), ("message", message)):
            if not isinstance(text, str) or "\n" in text:
                raise RenderError(
                    f"require: {what} {text!r:.60} given, a text of one line is needed"
                )
        found = self.requirements[self._current("require")]
        if not self.checked:
            return ";"
        known = f"const {self.index} thread_ = {self._number_in_grid()};"
        most = requirements.LAST
        first = f"({self.type('uint32')})(thread_ < {most}u ? thread_ : {most}u)"
        kept = self.platform.atomics["min", "uint32"].format(requirements.place(len(found)), first)
        found.append(Requirement(condition, message))
        return f"{{ if (!({condition})) {{ {known} {kept}; }} }}"

    def _number_in_grid(self) -> str:
        """The thread's number in the whole grid."""
        block = self.blocks[self._kernel]
        group = f"(({self.index}){self.block_id(2)} * {self.grid_size(1)} + {self.block_id(1)})"
        group = f"({group} * {self.grid_size(0)} + {self.block_id(0)})"
        return f"({group} * {block.threads} + {self.linear_id()})"
