"""Words of arithmetic on values of a format."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import isfinite
from typing import ClassVar

from portmp import formats
from portmp.codegen.writer import Writer
from portmp.errors import ArgumentError
from portmp.formats import Format, complexes
from portmp.formats.constants import CONSTANTS
from portmp.kernels.words.types import Type, Value, suited
from portmp.networks import Network, functions

OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "div": "div",
    "fma": "fma",
    "sqrt": "sqrt",
    "negative": "neg",
    "absolute": "abs",
    "minimum": "min",
    "maximum": "max",
    "compare": "compare",
}
"""Words of arithmetic on values, and the format's operators that they are."""

FUNCTIONS = {{"pow": "power", "round": "rint"}.get(name, name): name for name in functions.ARITY}
"""Words of elementary functions; those that are functions of Python's have NumPy's names."""


@dataclass
class Arithmetic:
    """The words of one format: ``dd = of("dd")``, then ``${dd.add("x", "y")}``."""

    form: Format
    writer_of: Callable[[Format], Writer]
    used: dict[str, Network] = field(default_factory=dict)

    calls: ClassVar[Mapping[str, str]] = OPERATORS | FUNCTIONS
    """Words of arithmetic, and the operations that they are."""

    @cached_property
    def writer(self) -> Writer:
        """Spells the format's names."""
        return self.writer_of(self.form)

    @property
    def value(self) -> Type:
        """The type of its values."""
        return Type(self.writer.value, self.form.words * self.real.bytes, self.form)

    @property
    def real(self) -> Type:
        """The type of one limb."""
        form = formats.get(self.form.word)
        return Type(self.writer.scalar, 4 if self.form.word == "float32" else 8, form)

    @property
    def networks(self) -> list[Network]:
        """What the module needs of it; one at least, since the type of values comes with it."""
        return list(self.used.values()) or [self.form.operator("neg")]

    def operator(self, op: str, *operands: object) -> str:
        """A call of the format's operator on values."""
        network = self.form.operator(self.calls[op])
        if len(operands) != len(network.inputs):
            raise ArgumentError(
                f"{op}: {len(operands)} operands given, {len(network.inputs)} are needed"
            )
        self.used[network.name] = network
        texts = [suited(op, operand, self.form) for operand in operands]
        text = f"{self.writer.function(network)}({', '.join(texts)})"
        plain = op == "compare" or network.result.role == "flag"
        return text if plain else Value(text, self._kind(network.result.role))

    def _kind(self, result: str) -> str:
        """The name of the format that a result has."""
        return self.form.name

    def limbs(self, value: object) -> list[str]:
        """The limbs of a constant, rounded correctly, as text."""
        known = CONSTANTS.get(value) if isinstance(value, str) else None
        near = isinstance(value, float) and isfinite(value) and Fraction(repr(value)) != value
        if near and self.form.limbs > 1 and len(repr(value)) < 12:
            raise ArgumentError(
                f'number: {value!r} is a float, a number near {value!r}: number("{value!r}") is '
                f"the decimal, number(Fraction({value!r})) what the float is"
            )
        limbs = complexes.limbs_of(known or value, self.form, "number")
        if limbs[0].shape != ():
            raise ArgumentError(f"number: one number is needed, {value!r:.60} given")
        return [self.writer.literal(float(limb)) for limb in limbs]

    def number(self, value: object) -> str:
        """A constant, rounded correctly: ``${number("0.1")}``; also "pi", "e" and "ln2"."""
        return Value(self.writer.pack(self.limbs(value)), self.form.name)

    def from_real(self, text: object) -> str:
        """A value whose leading limb is this text of a real number; the others are zero."""
        zeros = [self.writer.literal(0)] * (self.form.words - 1)
        return Value(self.writer.pack([str(text), *zeros]), self.form.name)

    def limb(self, value: str, i: int = 0) -> str:
        """One limb of a value in a variable; of a complex one those of both parts in turn."""
        if not 0 <= i < self.form.words:
            raise ArgumentError(f"limb: {i} given, {self.form.name} has {self.form.words} limbs")
        return self.writer.word_of(value, i)

    def __getattr__(self, word: str) -> Callable[..., str]:
        if word in self.calls:
            return partial(self.operator, word)
        raise AttributeError(f"{word!r} is no word of arithmetic; words: {', '.join(self.calls)}")
