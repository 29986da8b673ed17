"""What is measured of products by integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from portmp.formats import Format
from portmp.routines.gemm.work import Gemm
from portmp.routines.ozaki import residues, slices
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.routines.work import Shape

PRODUCTS = {"int8": "int8", "float64": "float64 products"}
"""Names of the rates at which engines multiply matrices, by word."""


def has(form: Format, method: Ozaki1 | Ozaki2) -> bool:
    """Whether the format has products by *method*."""
    return not (form.paper or form.coded) and (
        isinstance(method, Ozaki1) or bool(residues.units(form))
    )


class Integers(Gemm):
    """C = A B by slices or residues; its floor counts the engine's products only."""

    def __init__(self, name: str, method: Ozaki1 | Ozaki2) -> None:
        super().__init__(name)
        self.method = method

    def word(self, form: Format) -> str:
        return PRODUCTS[self.method.word if isinstance(self.method, Ozaki1) else "int8"]

    def accuracies(self, form: Format) -> tuple[str, ...]:
        return ("accurate",) if has(form, self.method) else ()

    def call(self, face: Any, inputs: Sequence[Any], out: Any, accuracy: str) -> Any:
        return face.gemm(*inputs, out=out, method=self.method)

    def instructions(self, form: Format, accuracy: str, shape: Shape) -> dict[str, float]:
        if isinstance(self.method, Ozaki1):
            count = slices.slices(form, self.method.word).count
            products = count * (count + 1) // 2
        else:
            products = residues.system(form, shape[-1]).count
        return {"fma": products * float(math.prod(shape))}

    def usual(self, kind: str, limbs: int) -> list[int]:
        return [4096, 8192] if kind == "gpu" else [256, 512]
