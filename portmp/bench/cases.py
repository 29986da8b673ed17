"""What is measured: a routine, a format, an accuracy and a shape.

The routines say what they read, what it costs and what their entries should be
(``routines.work``). Operands are consecutive parts of one sequence of values
(``values.Values``); every result entry is known exactly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from portmp import formats
from portmp.bench.tables import shape_text
from portmp.bench.values import Values
from portmp.errors import ArgumentError, choice
from portmp.formats import Format
from portmp.formats.inputs import Stream
from portmp.routines import registry
from portmp.routines.work import Entry, Shape, Work

SAMPLES = {True: 16, False: 64}
"""How many entries are checked of sums of products, and of elementwise results."""
ACCURATE, FAST, BOTH = "accurate", "fast", "both"


ROUTINES = {work.name: work for routine in registry.ROUTINES.values() for work in routine.work}
USUAL_ROUTINES = ("gemm", "gemm-narrow", "gemm-batched", "gemv", "gemv-transposed", "dot", "axpy")
USUAL_FORMATS = ("dd", "td", "qd", "ds", "ts", "qs", "float64")


@dataclass(frozen=True)
class Case:
    """One measurement, on a ``gpu`` or a ``cpu``."""

    routine: Work
    form: Format
    accuracy: str
    shape: Shape
    kind: str = "gpu"

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
        return self.routine.word(self.form, self.kind)

    @property
    def nbytes(self) -> int:
        """Bytes that must move: every operand once, the result once."""
        return self.routine.values_moved(self.shape) * self.form.itemsize

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

    def entry(self, values: Values, place: int) -> Entry:
        """What an entry of the result should be."""
        return self.routine.entry(values, self.starts, self.shape, place)

    def __str__(self) -> str:
        accuracy = f" {self.accuracy}" if self.routine.sums else ""
        return f"{self.routine.name} {self.form.name}{accuracy} {shape_text(self.shape)}"


def routine(name: str) -> Work:
    """The routine called *name*."""
    return ROUTINES[choice("--routine:", name, ROUTINES, ", all")]


def accuracies(which: Work, form: Format, wanted: str) -> list[str]:
    """The accuracies of *wanted* that differ for this routine and format."""
    if not which.sums:
        return [ACCURATE]
    return [each for each in which.accuracies(form) if wanted in (each, BOTH)]


def plan(
    kind: str,
    routines: Sequence[Work],
    forms: Sequence[Format],
    accuracy: str,
    sizes: Sequence[int] = (),
) -> list[Case]:
    """The cases for a ``gpu`` or ``cpu``, format by format; without *sizes* the usual ones."""
    cases: dict[Case, None] = {}  # in order, each once
    for form in forms:
        for which in routines:
            chosen = sizes or which.usual(kind, form.limbs)
            for shape in (s for n in chosen for s in which.sized(n, kind)):
                for how in accuracies(which, form, accuracy):
                    cases[Case(which, form, how, shape, kind)] = None
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
