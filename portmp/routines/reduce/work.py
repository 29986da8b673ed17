"""What is measured of DOT and GEMV."""

import math
from collections.abc import Sequence
from typing import Any

from portmp.formats import Format
from portmp.routines.reduce.reference import steps
from portmp.routines.work import Entry, Known, Shape, Sum, Walk


class _OfLanes(Sum):
    def renormalises(self, form: Format, accuracy: str) -> bool:
        """Whether a chunk is long enough for it."""
        return "renormalise" in steps(form, "dot", accuracy)


class Gemv(_OfLanes):
    """y = A x, or A^T x, for A of shape (m, n)."""

    axes = "m n"

    def __init__(self, name: str) -> None:
        self.name = name
        self.transposed = name == "gemv-transposed"

    def operands(self, shape: Shape) -> tuple[Shape, ...]:
        return shape, (shape[0 if self.transposed else 1],)

    def result(self, shape: Shape) -> Shape:
        return (shape[1 if self.transposed else 0],)

    def call(self, face: Any, inputs: Sequence[Any], out: Any, accuracy: str) -> Any:
        return face.gemv(*inputs, trans=self.transposed, out=out, accuracy=accuracy)

    def multiply_adds(self, shape: Shape) -> int:
        return math.prod(shape)

    def entry(self, values: Known, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        m, n = shape
        if self.transposed:
            return values.dot(Walk(starts[0] + index, n), Walk(starts[1]), m)
        return values.dot(Walk(starts[0] + index * n), Walk(starts[1]), n)

    def sized(self, n: int, kind: str) -> list[Shape]:
        return [(n, n)]

    def usual(self, kind: str, limbs: int) -> list[int]:
        return [16384 if kind == "gpu" else 2048]


class Dot(_OfLanes):
    """The sum of x_i y_i."""

    name = "dot"
    axes = "n"

    def operands(self, shape: Shape) -> tuple[Shape, ...]:
        return shape, shape

    def result(self, shape: Shape) -> Shape:
        return ()

    def call(self, face: Any, inputs: Sequence[Any], out: Any, accuracy: str) -> Any:
        return face.dot(*inputs, accuracy=accuracy)

    def multiply_adds(self, shape: Shape) -> int:
        return shape[0]

    def entry(self, values: Known, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        return values.dot(Walk(starts[0]), Walk(starts[1]), shape[0])

    def sized(self, n: int, kind: str) -> list[Shape]:
        return [(n,)]

    def usual(self, kind: str, limbs: int) -> list[int]:
        return [2**26] if kind == "gpu" else [2**20, 2**23]
