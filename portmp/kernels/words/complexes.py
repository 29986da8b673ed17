"""Words of arithmetic on complex values, beside which real ones may stand."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from portmp.errors import RenderError
from portmp.kernels.words.arithmetic import Arithmetic
from portmp.kernels.words.types import Value, suited
from portmp.networks import complexes

PARTS = {"conj": "conj", "real_part": "real", "imag_part": "imag", "angle": "angle"}
"""Words that complex values alone have, and the operations that they are."""
COMPARED = {"equal": "equal"}
MIXED = ("add", "sub", "mul", "div", "power")
"""Words of two operands of which either may be real."""
ORDER = ("compare", "minimum", "maximum")
OWN = (*PARTS, *COMPARED, "from_parts", "part")
"""What templates of a complex format have beside the words of arithmetic."""


@dataclass(frozen=True)
class Overload:
    """One of the functions of a word: what it takes and gives in C, and the call that it is."""

    name: str
    takes: tuple[str, str]
    gives: str
    call: str


@dataclass
class Complexes(Arithmetic):
    """The words of a complex format, whose real and imaginary parts are of *part*."""

    part: Arithmetic = field(kw_only=True)
    mixed: dict[str, list[Overload]] = field(default_factory=dict)
    """Functions of one name that take complex and real values, by word."""

    calls: ClassVar[Mapping[str, str]] = {**Arithmetic.calls, **PARTS, **COMPARED}

    def operator(self, op: str, *operands: object) -> str:
        """A call of an operation on values; of ``MIXED`` ones some may be real."""
        network = self.calls[op]
        if op in ORDER:
            raise RenderError(
                f"{op}: {self.form.name} holds complex numbers, which have no order: compare "
                'parts, part.compare(real_part("z"), real_part("w")), or sizes, '
                'absolute("z"); equal("z", "w") says whether both are the same'
            )
        if op != "fma" and network not in complexes.OF_VALUES:
            known = (word for word, of in self.calls.items() if of in complexes.OF_VALUES)
            raise RenderError(
                f"{op}: {self.form.name} holds complex numbers, of which there is no {op}: "
                f"part.{op} takes real ones; words of complex ones: {', '.join(known)}"
            )
        if op == "fma" and len(operands) == 3:
            return self.operator("add", self.operator("mul", *operands[:2]), operands[2])
        if op in MIXED and len(operands) == 2:
            return self._mixed(op, *operands)
        return super().operator(op, *operands)

    def from_parts(self, real: object, imaginary: object) -> str:
        """A complex value of two real ones."""
        network = complexes.network("copy", self.form.word, self.form.limbs)
        self.used[network.name] = network
        texts = [suited("from_parts", one, self.part.form) for one in (real, imaginary)]
        return Value(f"{self.writer.function(network)}({', '.join(texts)})", self.form.name)

    def _mixed(self, op: str, *operands: object) -> str:
        """A call of the function for what the operands are: C finds it, they may be variables."""
        real = self.part.form.name
        kinds = [getattr(operand, "kind", "") for operand in operands]
        texts = [
            str(operand) if kind == real else suited(op, operand, self.form)
            for operand, kind in zip(operands, kinds, strict=True)
        ]
        self.mixed.setdefault(op, list(self._overloads(op)))
        text = f"{self.writer.value}_{op}({', '.join(texts)})"
        if all(kind == real for kind in kinds):
            return Value(text, real)
        return Value(text, self.form.name) if self.form.name in kinds else text

    def _overloads(self, op: str) -> Iterator[Overload]:
        """Functions x op y by what x and y are: as arrays have it, a real one has no zero part."""
        of, form, part = self.calls[op], self.form, self.part
        for own in itertools.product((True, False), repeat=2):
            named = f"{of}_real" if own[0] else f"real_{of}"
            given: list[str] = ["x", "y"]
            network = (form if any(own) else part.form).operator(of)
            if own[0] != own[1] and named in complexes.NAMES:
                network = complexes.network(named, form.word, form.limbs)
                pairs = zip(given, own, strict=True)
                given = [text for v, c in pairs for text in (self._halves(v) if c else [v])]
            elif own[0] != own[1]:
                pairs = zip(given, own, strict=True)
                given = [v if c else self.from_parts(v, part.number(0)) for v, c in pairs]
            self.used[network.name] = network
            kinds = self.value, part.value
            x, y, gives = (kinds[not one] for one in (*own, any(own)))
            call = f"{self.writer.function(network)}({', '.join(given)})"
            yield Overload(f"{self.value}_{op}", (x, y), gives, call)

    def _halves(self, value: str) -> list[str]:
        """Both parts of a complex value in a variable."""
        w, n = self.writer, self.form.limbs
        words = [w.word_of(value, i) for i in w.limbs]
        return [self.part.writer.pack(half) for half in (words[:n], words[n:])]

    def _kind(self, result: str) -> str:
        return self.form.name if result == "complex" else self.part.form.name
