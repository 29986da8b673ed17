"""What ``portmp bench`` knows of a routine: shapes, operations, traffic, exact entries.

Operands are consecutive parts of one sequence of values, whose exact sums and elements a
``Known`` gives.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from portmp.formats import Format

Shape = tuple[int, ...]
Instructions = dict[str, float]
"""How many, by class: add, mul, fma, div, sqrt."""
ALPHA = "0.3"
"""The factor of AXPY and SCAL: no power of two, so that every product rounds."""
ALIGNMENT = 2**8
"""Operands start at multiples of so many values."""


@dataclass(frozen=True)
class Walk:
    """Entries of an operand: the value *first* of the sequence and each *step*-th after it."""

    first: int
    step: int = 1


@dataclass(frozen=True)
class Entry:
    """What an entry should be, and T, the sum of the magnitudes of its terms."""

    exact: Fraction
    terms: float


class Known(Protocol):
    """A sequence of values of a format that are known exactly."""

    @property
    def form(self) -> Format:
        """Their format."""

    def number(self, index: int) -> Fraction:
        """Value *index*."""

    def dot(self, x: Walk, y: Walk, count: int) -> Entry:
        """The sum of *count* products of two walks."""


def summed(form: Format) -> tuple[str, ...]:
    """The accuracies of routines that sum products: one limb and the papers' have no fast sums."""
    fast = form.accumulators.get("fast")
    return ("accurate", "fast") if fast is not None and fast.suffix else ("accurate",)


class Work(ABC):
    """What is measured of a routine: its operands, work and traffic, what its entries should be.

    ``axes`` names the numbers of a shape. ``sums`` tells routines that sum products, which
    have an accuracy, from elementwise ones. ``positive`` asks for positive inputs.
    """

    name: str
    axes: str
    sums = True
    positive = False

    def word(self, form: Format, kind: str) -> str:
        """Whose rate bounds it on a ``gpu`` or a ``cpu``: a word's, or one of engines' products."""
        return form.word

    @abstractmethod
    def operands(self, shape: Shape) -> tuple[Shape, ...]:
        """Shapes of the inputs."""

    @abstractmethod
    def result(self, shape: Shape) -> Shape:
        """Shape of the output."""

    @abstractmethod
    def call(self, face: Any, inputs: Sequence[Any], out: Any, accuracy: str) -> Any:
        """Run once on arrays; where the routine takes no output, the result is a new array.

        *face*: the module of what users call.
        """

    @abstractmethod
    def operations(self, shape: Shape) -> int:
        """Operations of the format: two for a multiply-add, else one."""

    @abstractmethod
    def instructions(self, form: Format, accuracy: str, shape: Shape, kind: str) -> Instructions:
        """Those that the networks need."""

    @abstractmethod
    def entry(self, values: Known, starts: Sequence[int], shape: Shape, index: int) -> Entry:
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

    def accuracies(self, form: Format) -> tuple[str, ...]:
        """The accuracies that differ; none where the format has no such routine."""
        return ("accurate",)

    @abstractmethod
    def sized(self, n: int, kind: str) -> list[Shape]:
        """Shapes for the size *n* on a ``gpu`` or a ``cpu``."""

    @abstractmethod
    def usual(self, kind: str, limbs: int) -> list[int]:
        """Sizes that suit a kind of device and a format of so many limbs."""


def scaled(cost: Mapping[str, int], count: float) -> Instructions:
    """The instructions of *count* times a network."""
    return {op: number * count for op, number in cost.items()}


class Sum(Work):
    """Routines that sum products by an accumulator of the format."""

    def renormalises(self, form: Format, accuracy: str) -> bool:
        """Whether sums are renormalised after each period."""
        return "renormalise" in form.accumulator(accuracy).networks

    def accuracies(self, form: Format) -> tuple[str, ...]:
        return summed(form)

    @abstractmethod
    def multiply_adds(self, shape: Shape) -> int:
        """Products that are summed."""

    def operations(self, shape: Shape) -> int:
        return 2 * self.multiply_adds(shape)

    def instructions(self, form: Format, accuracy: str, shape: Shape, kind: str) -> Instructions:
        """A step for each product, and a renormalisation for each period of them."""
        accumulator = form.accumulator(accuracy)
        nets = accumulator.networks
        count = self.multiply_adds(shape)
        total = scaled(nets["accumulate"].cost, count)
        if self.renormalises(form, accuracy):
            for op, number in scaled(nets["renormalise"].cost, count / accumulator.period).items():
                total[op] = total.get(op, 0) + number
        return total
