"""What is measured of products by integers."""

import math
from collections.abc import Sequence
from typing import Any

from portmp.formats import Format
from portmp.routines.gemm.work import Gemm
from portmp.routines.ozaki import residues, slices
from portmp.routines.ozaki.options import Ozaki1, Ozaki2
from portmp.routines.work import Instructions, Shape

PRODUCTS = {"int8": "int8", "float64": "float64 products"}
"""Names of the rates at which engines multiply matrices, by word."""


def has(form: Format) -> bool:
    """Whether the format has products by integers."""
    return not (form.paper or form.coded)


class Integers(Gemm):
    """C = A B by slices or residues; its floor counts the engine's products only."""

    def __init__(self, name: str, method: Ozaki1 | Ozaki2) -> None:
        super().__init__(name)
        self.method = method

    def word(self, form: Format, kind: str) -> str:
        if isinstance(self.method, Ozaki1):
            return PRODUCTS[self.method.word]
        return PRODUCTS[residues.numbers(form, kind, 1, self.method).word]

    def accuracies(self, form: Format) -> tuple[str, ...]:
        return ("accurate",) if has(form) else ()

    def call(self, face: Any, inputs: Sequence[Any], out: Any, accuracy: str) -> Any:
        return face.gemm(*inputs, out=out, method=self.method)

    def instructions(self, form: Format, accuracy: str, shape: Shape, kind: str) -> Instructions:
        if isinstance(self.method, Ozaki1):
            count = slices.slices(form, self.method.word).count
            products = count * (count + 1) // 2
        else:
            products = residues.numbers(form, kind, shape[-1], self.method).products
        return {"fma": products * float(math.prod(shape))}

    def usual(self, kind: str, limbs: int) -> list[int]:
        return [4096, 8192] if kind == "gpu" else [256, 512]
