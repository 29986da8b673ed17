"""What is measured of products of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from portmp.formats import Format
from portmp.routines.work import Entry, Instructions, Known, Shape, Sum, Walk


class Gemm(Sum):
    """C = A B; ``batch`` products at once where the shape begins with their number."""

    axes = "m n k"

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "gemm-batched":
            self.axes = "batch m n k"

    def operands(self, shape: Shape) -> tuple[Shape, ...]:
        *batch, m, n, k = shape
        return (*batch, m, k), (*batch, k, n)

    def result(self, shape: Shape) -> Shape:
        return shape[:-1]

    def call(self, face: Any, inputs: Sequence[Any], out: Any, accuracy: str) -> Any:
        return face.gemm(*inputs, out=out, accuracy=accuracy, method="direct")

    def multiply_adds(self, shape: Shape) -> int:
        return math.prod(shape)

    def instructions(self, form: Format, accuracy: str, shape: Shape, kind: str) -> Instructions:
        """Those of the sums; of float64 matrix units do them, where a device has such."""
        if form.name == "float64":
            return {"unit": self.multiply_adds(shape)}
        return super().instructions(form, accuracy, shape, kind)

    def entry(self, values: Known, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        m, n, k = shape[-3:]
        product, place = divmod(index, m * n)
        row, column = divmod(place, n)
        a = Walk(starts[0] + (product * m + row) * k)
        b = Walk(starts[1] + product * k * n + column, n)
        return values.dot(a, b, k)

    def sized(self, n: int, kind: str) -> list[Shape]:
        if self.name == "gemm-narrow":
            return [(n, columns, n) for columns in (1, 8, 32)]
        if self.name == "gemm-batched":
            return [(1000 if kind == "gpu" else 100, n, n, n)]
        return [(n, n, n)]

    def usual(self, kind: str, limbs: int) -> list[int]:
        if self.name == "gemm-batched":
            return [64]
        if self.name == "gemm-narrow":
            return [4096 if kind == "gpu" else 1024]
        if kind == "gpu":
            return [1024, 4096] if limbs < 3 else [1024, 2048]
        return [256, 512, 1024] if limbs < 3 else [256, 512]
