"""What is measured of AXPY, SCAL and the operators on vectors."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from portmp.formats import Format, convert
from portmp.routines import base
from portmp.routines.elementwise.launch import apply
from portmp.routines.work import ALPHA, Entry, Instructions, Known, Shape, Work, scaled


class Elementwise(Work):
    """AXPY, SCAL and the operators on vectors: ``operator`` is the network that runs."""

    axes = "n"
    sums = False

    def __init__(self, name: str, operator: str, count: int) -> None:
        self.name = name
        self.operator = operator
        self.count = count
        self.positive = name == "sqrt"

    def operands(self, shape: Shape) -> tuple[Shape, ...]:
        return (shape,) * self.count

    def result(self, shape: Shape) -> Shape:
        return shape

    def call(self, face: Any, inputs: Sequence[Any], out: Any, accuracy: str) -> Any:
        if self.name == "axpy":
            return face.axpy(ALPHA, *inputs, out=out)
        if self.name == "scal":
            return face.scal(ALPHA, *inputs, out=out)
        apply(self.operator, [x.planes for x in inputs], out.planes)
        return out

    def operations(self, shape: Shape) -> int:
        return (2 if self.name == "axpy" else 1) * shape[0]

    def instructions(self, form: Format, accuracy: str, shape: Shape, kind: str) -> Instructions:
        return scaled(form.operator(self.operator).cost, shape[0])

    def entry(self, values: Known, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        x, *rest = (values.number(s + index) for s in starts[: self.count])
        if self.name in ("axpy", "scal"):
            x *= alpha(values.form)
        match self.operator:
            case "sqrt":
                x = root(x, 2 * values.form.bits)
            case "div":
                x /= rest[0]
            case "mul" if rest:
                x *= rest[0]
            case "add" | "fma":
                return Entry(x + rest[0], float(abs(x) + abs(rest[0])))
        return Entry(x, float(abs(x)))

    def sized(self, n: int, kind: str) -> list[Shape]:
        return [(n,)]

    def usual(self, kind: str, limbs: int) -> list[int]:
        if kind == "gpu":
            return [2**26]
        return [2**20, 2**23] if self.name == "axpy" else [2**20]


def alpha(form: Format, factor: str = ALPHA) -> Fraction:
    """The value that a factor has in a format."""
    return convert.to_fraction([float(word) for word in base.scalar_limbs(form, factor, "alpha")])


def root(x: Fraction, bits: int) -> Fraction:
    """The square root of *x* with more than *bits* right bits, rounded down."""
    places = bits + max(0, x.denominator.bit_length() - x.numerator.bit_length()) // 2 + 2
    return Fraction(math.isqrt((x.numerator << 2 * places) // x.denominator), 2**places)
