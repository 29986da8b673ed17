"""Words beside the computation: the platform's own functions, its clock, what a thread prints."""

from __future__ import annotations

import json

from portmp.errors import RenderError
from portmp.kernels.words.base import Base
from portmp.kernels.words.types import typed


class Tools(Base):
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
