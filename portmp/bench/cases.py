"""What is measured: routines, their shapes, work and traffic, and what entries should be.

A case is a routine, a format, an accuracy and a shape. Operands are consecutive parts of
one sequence of values (``values.Values``); every result entry is known exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from portmp import formats
from portmp.arrays import blas
from portmp.arrays.array import Array
from portmp.bench import exact
from portmp.bench.exact import Entry, Walk
from portmp.bench.tables import shape_text
from portmp.bench.values import Values
from portmp.errors import ArgumentError, suggestion
from portmp.formats import Format, convert
from portmp.formats.inputs import Stream
from portmp.routines import base, elementwise, reduce
from portmp.routines.ozaki import residues, slices
from portmp.routines.ozaki.options import Ozaki1, Ozaki2

Shape = tuple[int, ...]
ALPHA = "0.3"
"""The factor of AXPY and SCAL: no power of two, so that every product rounds."""
PRODUCTS = {"int8": "int8", "float64": "float64 products"}
"""Names of the rates at which engines multiply matrices, by word."""
ALIGNMENT = 2**8
"""Operands start at multiples of so many values."""
SAMPLES = {True: 16, False: 64}
"""How many entries are checked of sums of products, and of elementwise results."""
ACCURATE, FAST, BOTH = "accurate", "fast", "both"


class Routine(ABC):
    """A routine: what it reads and writes, how it is called, what its entries should be.

    ``axes`` names the numbers of a shape. ``sums`` tells routines that sum products, which
    have an accuracy, from elementwise ones. ``positive`` asks for positive inputs.
    """

    name: str
    axes: str
    sums = True
    positive = False

    def word(self, form: Format) -> str:
        """Whose rate bounds the routine: ``float32``, ``float64`` or one of engines' products."""
        return form.word

    @abstractmethod
    def operands(self, shape: Shape) -> tuple[Shape, ...]:
        """Shapes of the inputs."""

    @abstractmethod
    def result(self, shape: Shape) -> Shape:
        """Shape of the output."""

    @abstractmethod
    def call(self, inputs: Sequence[Array], out: Array, accuracy: str) -> Array:
        """Run once; where the routine takes no output, the result is a new array."""

    @abstractmethod
    def operations(self, shape: Shape) -> int:
        """Operations of the format: two for a multiply-add, else one."""

    @abstractmethod
    def instructions(self, form: Format, accuracy: str, shape: Shape) -> dict[str, float]:
        """Instructions by class (add, mul, fma, div, sqrt) that the networks need."""

    @abstractmethod
    def entry(self, values: Values, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        """What entry *index* (in C order) should be; *starts*: where the operands start."""

    def values_moved(self, shape: Shape) -> int:
        """Values read or written once each."""
        return sum(math.prod(s) for s in (*self.operands(shape), self.result(shape)))

    def starts(self, shape: Shape) -> list[int]:
        """Where the operands start in the sequence of values, and where the last one ends."""
        places = [0]
        for operand in self.operands(shape):
            places.append(places[-1] + -(-math.prod(operand) // ALIGNMENT) * ALIGNMENT)
        return places

    @abstractmethod
    def sized(self, n: int, kind: str) -> list[Shape]:
        """Shapes for the size *n* on a ``gpu`` or a ``cpu``."""

    @abstractmethod
    def usual(self, kind: str, limbs: int) -> list[int]:
        """Sizes that suit a kind of device and a format of so many limbs."""


def _scaled(cost: Mapping[str, int], count: float) -> dict[str, float]:
    return {op: number * count for op, number in cost.items()}


class Sum(Routine):
    """Routines that sum products by an accumulator of the format."""

    always_renormalises = False

    @abstractmethod
    def multiply_adds(self, shape: Shape) -> int:
        """Products that are summed."""

    def operations(self, shape: Shape) -> int:
        return 2 * self.multiply_adds(shape)

    def instructions(self, form: Format, accuracy: str, shape: Shape) -> dict[str, float]:
        """A step for each product, and a renormalisation for each period of them."""
        accumulator = form.accumulator(accuracy)
        nets = accumulator.networks
        count = self.multiply_adds(shape)
        total = _scaled(nets["accumulate"].cost, count)
        renormalises = self.always_renormalises or "renormalise" in reduce.steps(
            form, "dot", accuracy
        )
        if renormalises and "renormalise" in nets:
            for op, number in _scaled(nets["renormalise"].cost, count / accumulator.period).items():
                total[op] = total.get(op, 0) + number
        return total


class Gemm(Sum):
    """C = A B; ``batch`` products at once where the shape begins with their number."""

    always_renormalises = True
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

    def call(self, inputs: Sequence[Array], out: Array, accuracy: str) -> Array:
        return blas.gemm(*inputs, out=out, accuracy=accuracy)

    def multiply_adds(self, shape: Shape) -> int:
        return math.prod(shape)

    def entry(self, values: Values, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        m, n, k = shape[-3:]
        product, place = divmod(index, m * n)
        row, column = divmod(place, n)
        a = Walk(starts[0] + (product * m + row) * k)
        b = Walk(starts[1] + product * k * n + column, n)
        return exact.dot(values, a, b, k)

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


class Integers(Gemm):
    """C = A B by slices or residues; its floor counts the engine's products only."""

    def __init__(self, name: str, method: Ozaki1 | Ozaki2) -> None:
        super().__init__(name)
        self.method = method

    def word(self, form: Format) -> str:
        return PRODUCTS[self.method.word if isinstance(self.method, Ozaki1) else "int8"]

    def known(self, form: Format) -> bool:
        """Whether the format has such a product."""
        return not (form.paper or form.coded) and (
            isinstance(self.method, Ozaki1) or bool(residues.modules(form))
        )

    def call(self, inputs: Sequence[Array], out: Array, accuracy: str) -> Array:
        return blas.gemm(*inputs, out=out, method=self.method)

    def instructions(self, form: Format, accuracy: str, shape: Shape) -> dict[str, float]:
        if isinstance(self.method, Ozaki1):
            count = slices.slices(form, self.method.word).count
            products = count * (count + 1) // 2
        else:
            products = residues.system(form, shape[-1]).count
        return {"fma": products * float(math.prod(shape))}

    def usual(self, kind: str, limbs: int) -> list[int]:
        return [4096, 8192] if kind == "gpu" else [256, 512]


class Gemv(Sum):
    """y = A x, or A^T x, for A of shape (m, n)."""

    axes = "m n"

    def __init__(self, name: str) -> None:
        self.name = name
        self.transposed = name == "gemv-transposed"

    def operands(self, shape: Shape) -> tuple[Shape, ...]:
        return shape, (shape[0 if self.transposed else 1],)

    def result(self, shape: Shape) -> Shape:
        return (shape[1 if self.transposed else 0],)

    def call(self, inputs: Sequence[Array], out: Array, accuracy: str) -> Array:
        return blas.gemv(*inputs, trans=self.transposed, out=out, accuracy=accuracy)

    def multiply_adds(self, shape: Shape) -> int:
        return math.prod(shape)

    def entry(self, values: Values, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        m, n = shape
        if self.transposed:
            return exact.dot(values, Walk(starts[0] + index, n), Walk(starts[1]), m)
        return exact.dot(values, Walk(starts[0] + index * n), Walk(starts[1]), n)

    def sized(self, n: int, kind: str) -> list[Shape]:
        return [(n, n)]

    def usual(self, kind: str, limbs: int) -> list[int]:
        return [16384 if kind == "gpu" else 2048]


class Dot(Sum):
    """The sum of x_i y_i."""

    name = "dot"
    axes = "n"

    def operands(self, shape: Shape) -> tuple[Shape, ...]:
        return shape, shape

    def result(self, shape: Shape) -> Shape:
        return ()

    def call(self, inputs: Sequence[Array], out: Array, accuracy: str) -> Array:
        return blas.dot(*inputs, accuracy=accuracy)

    def multiply_adds(self, shape: Shape) -> int:
        return shape[0]

    def entry(self, values: Values, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        return exact.dot(values, Walk(starts[0]), Walk(starts[1]), shape[0])

    def sized(self, n: int, kind: str) -> list[Shape]:
        return [(n,)]

    def usual(self, kind: str, limbs: int) -> list[int]:
        return [2**26] if kind == "gpu" else [2**20, 2**23]


class Elementwise(Routine):
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

    def call(self, inputs: Sequence[Array], out: Array, accuracy: str) -> Array:
        if self.name == "axpy":
            return blas.axpy(ALPHA, *inputs, out=out)
        if self.name == "scal":
            return blas.scal(ALPHA, *inputs, out=out)
        elementwise.apply(self.operator, [x.planes for x in inputs], out.planes)
        return out

    def operations(self, shape: Shape) -> int:
        return (2 if self.name == "axpy" else 1) * shape[0]

    def instructions(self, form: Format, accuracy: str, shape: Shape) -> dict[str, float]:
        return _scaled(form.operator(self.operator).cost, shape[0])

    def entry(self, values: Values, starts: Sequence[int], shape: Shape, index: int) -> Entry:
        x, *rest = (exact.number(values, s + index) for s in starts[: self.count])
        if self.name in ("axpy", "scal"):
            x *= alpha(values.form)
        match self.operator:
            case "sqrt":
                x = exact.root(x, 2 * values.form.bits)
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
    return convert.to_fraction([float(word) for word in base.words(form, factor, "alpha")])


_TABLE: list[Routine] = [
    Gemm("gemm"), Gemm("gemm-narrow"), Gemm("gemm-batched"), Integers("gemm-ozaki1", Ozaki1()),
    Integers("gemm-ozaki1-float64", Ozaki1(word="float64")), Integers("gemm-ozaki2", Ozaki2()),
    Gemv("gemv"), Gemv("gemv-transposed"), Dot(),
    Elementwise("axpy", "fma", 2), Elementwise("scal", "mul", 1),
    Elementwise("add", "add", 2), Elementwise("mul", "mul", 2),
    Elementwise("div", "div", 2), Elementwise("sqrt", "sqrt", 1),
]  # fmt: skip
ROUTINES = {r.name: r for r in _TABLE}
USUAL_ROUTINES = ("gemm", "gemm-narrow", "gemm-batched", "gemv", "gemv-transposed", "dot", "axpy")
USUAL_FORMATS = ("dd", "td", "qd", "ds", "ts", "qs", "float64")


@dataclass(frozen=True)
class Case:
    """One measurement."""

    routine: Routine
    form: Format
    accuracy: str
    shape: Shape

    @property
    def operands(self) -> tuple[Shape, ...]:
        """Shapes of the inputs."""
        return self.routine.operands(self.shape)

    @property
    def starts(self) -> list[int]:
        """Where the operands start in the sequence of values, and where the last one ends."""
        return self.routine.starts(self.shape)

    @property
    def outputs(self) -> int:
        """Number of result entries."""
        return math.prod(self.routine.result(self.shape))

    @property
    def operations(self) -> int:
        """Operations of the format."""
        return self.routine.operations(self.shape)

    @property
    def word(self) -> str:
        """Whose instruction rate bounds the case."""
        return self.routine.word(self.form)

    @property
    def nbytes(self) -> int:
        """Bytes that must move: every operand once, the result once."""
        return self.routine.values_moved(self.shape) * self.form.itemsize

    @property
    def instructions(self) -> dict[str, float]:
        """Instructions that the format's networks need."""
        return self.routine.instructions(self.form, self.accuracy, self.shape)

    @property
    def memory(self) -> int:
        """Bytes of device memory that the inputs, the result and a workspace like it take."""
        return (self.starts[-1] + 2 * self.outputs) * self.form.itemsize

    @property
    def samples(self) -> list[int]:
        """Entries that are checked: the first, the last, and others by a recorded generator."""
        count, most = self.outputs, SAMPLES[self.routine.sums]
        if count <= most:
            return list(range(count))
        drawn = Stream(f"samples {self}").below(most - 2, count)
        return [0, count - 1, *map(int, drawn)]

    def __str__(self) -> str:
        accuracy = f" {self.accuracy}" if self.routine.sums else ""
        return f"{self.routine.name} {self.form.name}{accuracy} {shape_text(self.shape)}"


def routine(name: str) -> Routine:
    """The routine called *name*."""
    if name in ROUTINES:
        return ROUTINES[name]
    near = suggestion(name, list(ROUTINES))
    raise ArgumentError(f"--routine: unknown {name!r}{near}; routines: {', '.join(ROUTINES)}, all")


def accuracies(which: Routine, form: Format, wanted: str) -> list[str]:
    """The accuracies of *wanted* that differ for this routine and format."""
    if not which.sums:
        return [ACCURATE]
    if isinstance(which, Integers):
        return [ACCURATE] if wanted != FAST and which.known(form) else []
    # One-limb formats call the same sums accurate and fast, the papers' have no fast ones.
    fast = any(a.suffix for a in form.accumulators.values())
    if wanted == BOTH:
        return [ACCURATE, FAST] if fast else [ACCURATE]
    return [wanted] if wanted == ACCURATE or fast else []


def plan(
    kind: str, routines: Sequence[Routine], forms: Sequence[Format], accuracy: str,
    sizes: Sequence[int] = (),
) -> list[Case]:  # fmt: skip
    """The cases for a ``gpu`` or ``cpu``, format by format; without *sizes* the usual ones."""
    cases: dict[Case, None] = {}  # in order, each once
    for form in forms:
        for which in routines:
            chosen = sizes or which.usual(kind, form.limbs)
            for shape in (s for n in chosen for s in which.sized(n, kind)):
                for how in accuracies(which, form, accuracy):
                    cases[Case(which, form, how, shape)] = None
    if not cases:
        names = ", ".join(f.name for f in forms)
        raise ArgumentError(
            f"--accuracy {accuracy}: {names} have only accurate sums, and neither the papers' nor "
            "storage formats have products by integers"
        )
    return list(cases)


def usual_formats(float64: bool) -> list[Format]:
    """The formats of a run that names none; those that a device without float64 has."""
    forms = [formats.get(name) for name in USUAL_FORMATS]
    return [f for f in forms if float64 or f.word == "float32"]
