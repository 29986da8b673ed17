"""What a kernel takes, declared once: the head of its text, and the arguments of a launch by name.

A parameter stands for one or several of the kernel's: an array for its planes, for where its first
element lies and for its strides.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portmp import networks
from portmp.codegen import elements
from portmp.codegen.writer import Writer
from portmp.networks import Network

WIDE = 100
"""Columns of a line of a head."""


@dataclass(frozen=True)
class Parameter(ABC):
    """A parameter by its name."""

    name: str

    @abstractmethod
    def texts(self, w: Writer) -> list[str]:
        """The parameters of the text."""

    def arguments(self, value: Any) -> Sequence[Any]:
        """The arguments of a launch that stand for a value."""
        return (value,)


class Index(Parameter):
    """An integer of 64 bits: a size, or where something is."""

    def texts(self, w: Writer) -> list[str]:
        return [f"const {w.platform.index} {self.name}"]

    def arguments(self, value: Any) -> Sequence[Any]:
        return (int(value),)


class Flag(Parameter):
    """A small integer, such as a truth value."""

    def texts(self, w: Writer) -> list[str]:
        return [f"const int {self.name}"]

    def arguments(self, value: Any) -> Sequence[Any]:
        return (np.int32(value),)


class Value(Parameter):
    """A number of the format, by the words of its limbs."""

    def texts(self, w: Writer) -> list[str]:
        return [w.scalars(self.name)]

    def arguments(self, value: Any) -> Sequence[Any]:
        return tuple(value)


@dataclass(frozen=True)
class Plain(Parameter):
    """A plain number, of a *kind* by a dtype of NumPy's."""

    kind: str

    def texts(self, w: Writer) -> list[str]:
        return [f"const {elements.number(w.platform, self.kind)} {self.name}"]

    def arguments(self, value: Any) -> Sequence[Any]:
        return (np.dtype(self.kind).type(value),)


@dataclass(frozen=True)
class Array(Parameter):
    """Planes of values of the format or, with *plain*, of plain numbers of these dtypes.

    *strides*: what they are called after the array's name; those that a view has more are left
    out, those that it lacks are 0. *start*: whether the text is told where the first element lies.
    *compute*: in words, whatever the format is stored in. *numbered*: whether a plane's number
    follows the name.
    """

    strides: tuple[str, ...] = ()
    const: bool = True
    plain: tuple[str, ...] = ()
    start: bool = True
    compute: bool = False
    numbered: bool = True

    def texts(self, w: Writer) -> list[str]:
        p = w.platform
        pointer = p.const_pointer if self.const else p.pointer
        planes = ", ".join(
            pointer.format(elements.number(p, dtype)) + f"{self.name}{i if self.numbered else ''}"
            for i, dtype in enumerate(self.plain)
        ) or w.planes(self.name, const=self.const, compute=self.compute)
        where = ["start"] * self.start + list(self.strides)
        return [", ".join([planes, *(f"const {p.index} {self.name}_{n}" for n in where)])]

    def arguments(self, value: Any) -> Sequence[Any]:
        steps = value.strides
        if self.strides == MATRIX:
            steps = (*steps[-2:], steps[0] if len(steps) == 3 else 0)
        steps = steps[: len(self.strides)]
        buffers = value.buffers[: len(self.plain) or None]
        return [*buffers, *([value.start] * self.start), *steps]


MATRIX = ("row", "col", "batch")


def vector(name: str, rank: int = 1, **options: Any) -> Array:
    """An array of so many axes."""
    return Array(name, tuple([f"stride{axis}" for axis in range(rank)]), **options)


def matrix(name: str, **options: Any) -> Array:
    """A batch of matrices, or one of them."""
    return Array(name, MATRIX, **options)


@dataclass(frozen=True)
class Scratch(Parameter):
    """Memory without strides: words of a *kind*, by a dtype of NumPy's, in one buffer.

    *lanes*: of vectors that it is read and written by.
    """

    kind: str
    const: bool = False
    lanes: int = 1

    def texts(self, w: Writer) -> list[str]:
        p = w.platform
        pointer = p.const_pointer if self.const else p.pointer
        lanes = self.lanes if self.lanes > 1 else ""
        return [pointer.format(f"{elements.number(p, self.kind)}{lanes}") + self.name]

    def arguments(self, value: Any) -> Sequence[Any]:
        return list(value.buffers)


@dataclass(frozen=True)
class Computed(Parameter):
    """A matrix that lies nowhere: its elements are what a network makes of *operands*.

    Of these there are names and how each is read, and *parts*, their parameters. They are walked
    together along *rank* axes, of which elements of the matrix are so far apart as of dense memory.
    """

    network: str
    operands: tuple[tuple[str, str], ...]
    parts: tuple[Parameter, ...]
    rank: int

    @property
    def net(self) -> Network:
        """The network."""
        return networks.get(self.network)

    def texts(self, w: Writer) -> list[str]:
        index = w.platform.index
        where = [f"const {index} {self.name}_{n}" for n in ("start", "row", "col")]
        return [*(text for part in self.parts for text in part.texts(w)), ", ".join(where)]

    def arguments(self, value: Any) -> Sequence[Any]:
        found = [a for part in self.parts for a in part.arguments(value.given[part.name])]
        return [*found, value.start, *value.strides]

    def function(self, w: Writer) -> str:
        """The function that computes an element, or neighbours."""
        return f"element_of_{self.name}{w.times}"

    def call(self, w: Writer, index: str) -> str:
        """The element at *index*."""
        texts = ", ".join(text for part in self.parts for text in part.texts(w)).split(", ")
        names = [text.rpartition(" ")[2].lstrip("*") for text in texts]
        return f"{self.function(w)}({', '.join([index, *names])})"

    def element(self, w: Writer, operand: str, access: str) -> str:
        """An operand's element, or neighbours, for element ``at``."""
        if access == "value":
            return w.pack(w.splat(f"{operand}{k}") for k in w.limbs)
        index = (
            f"{operand}_start + at" if access == "contiguous" else elements.at(operand, self.rank)
        )
        part = next(part for part in self.parts if part.name == operand)
        if isinstance(part, Array) and part.plain:
            return f"{operand}0[{index}] != 0"
        return w.pack(w.load_vector(operand, k, index) for k in w.limbs)


@dataclass(frozen=True)
class BlockMemory(Parameter):
    """Block memory whose size a launch decides, the last of a kernel's parameters."""

    name: str = "dynamic_"

    def texts(self, w: Writer) -> list[str]:
        return [w.platform.dynamic_parameter] if w.platform.dynamic_parameter else []


_INTEGERS = {n: np.int32(n) for n in range(-1, 129)}


@dataclass(frozen=True)
class Signature:
    """A kernel's name and parameters."""

    kernel: str
    parameters: tuple[Parameter, ...]

    def head(self, w: Writer) -> str:
        """The kernel's name and its parameters in brackets."""
        lines = [f"{self.kernel}("]
        texts = [text for one in self.parameters for text in one.texts(w)]
        for i, text in enumerate(texts):
            piece = text + ("," if i + 1 < len(texts) else ")")
            if i and len(lines[-1]) + len(piece) < WIDE:
                lines[-1] += f" {piece}"
            else:
                lines.append(f"    {piece}")
        return "\n".join(lines)

    def arguments(self, given: Mapping[str, Any]) -> list[Any]:
        """The arguments of a launch, by the parameters' names."""
        assert len(given) == len(self.parameters), (self.kernel, list(given))
        found: list[Any] = []
        for one in self.parameters:
            value = given[one.name]
            # Most of them, without a call: factorisations launch thousands of kernels.
            if type(one) is Index and type(value) is int:
                found.append(value)
            elif type(one) is Array and one.strides is MATRIX and one.start and not one.plain:
                steps = value.strides
                found += value.buffers
                found += (value.start, *steps[-2:], steps[0] if len(steps) == 3 else 0)
            elif type(one) is Flag and value in _INTEGERS:
                found.append(_INTEGERS[value])
            elif type(value) is tuple:  # words of a number, or what stands for them
                found += value
            else:
                found += one.arguments(value)
        return found
