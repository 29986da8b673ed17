"""Words of memory: a block's own, tables of constants, arrays by elements and by vectors."""

import math
from collections.abc import Sequence

from portmp.errors import RenderError
from portmp.kernels.signature import Operand, Size
from portmp.kernels.words.base import ALIGNMENT, Base
from portmp.kernels.words.types import Type, Value, suited, typed

VECTOR_BYTES = 16
"""The longest vectors: what a thread reads or writes at once on every device."""


class Memory(Base):
    """Block memory, constants, loads and stores."""

    def shared(self, kind: str, name: str, *sizes: int | str) -> str:
        """Block memory of this type and size; it stands at the beginning of a kernel's body.

        Sizes are numbers; or one text of the kernel's sizes, such as ``"n + 2"``, which each call
        decides. Such an array has one axis, and begins at a multiple of 16 bytes.
        """
        memory = self.memory[self._current("shared")]
        kind = typed("shared", kind)
        if name in memory.arrays:
            raise RenderError(f"shared: {name} is declared twice")
        if len(sizes) == 1 and isinstance(sizes[0], str):
            return self._dynamic(kind, name, Size(sizes[0]))
        if not sizes or not all(type(n) is int and n > 0 for n in sizes):
            raise RenderError(
                f"shared: {name}: sizes {sizes} given, positive integers are needed, or one text "
                "of the kernel's sizes"
            )
        memory.static += kind.bytes * math.prod(n for n in sizes if isinstance(n, int))
        memory.arrays[name] = kind, len(sizes)
        return f"{self.platform.shared} {kind} {name}" + "".join(f"[{n}]" for n in sizes) + ";"

    def _dynamic(self, kind: Type, name: str, size: Size) -> str:
        memory = self.memory[self._kernel]
        known = self.signatures[self._kernel].sizes
        if missing := [one for one in size.names if one not in known]:
            raise RenderError(
                f"shared: {name}: {missing[0]!r} is no size of the kernel; sizes: "
                f"{', '.join(known)}"
            )
        parts = [
            f"({one} * {before.c_text()} + {ALIGNMENT - 1}) / {ALIGNMENT} * {ALIGNMENT}"
            for one, before in memory.dynamic
        ]
        memory.dynamic.append((kind.bytes, size))
        memory.arrays[name] = kind, 1
        pointer = self.platform.shared_pointer.format(kind)
        first = f"({self.platform.shared_pointer.format('char').strip()})dynamic_"
        return f"{pointer}{name} = ({pointer.strip()})({' + '.join([first, *parts])});"

    def constant(self, kind: str, name: str, numbers: Sequence[object]) -> str:
        """The name of a table of constants in constant memory, rounded correctly to the type.

        ``<% weights = constant(value, "weights", ["0.1", "0.2"]) %>``, then ``${weights}[i]``. The
        statement may stand anywhere; the table is the module's.
        """
        kind = typed("constant", kind)
        texts = [self._literal(kind, name, number) for number in numbers]
        if not texts:
            raise RenderError(f"constant: {name}: no numbers given, one or more are needed")
        declared = f"{self.platform.constant} {kind} {name}[{len(texts)}] = {{{', '.join(texts)}}};"
        if self.constants.setdefault(name, declared) != declared:
            raise RenderError(f"constant: {name} is declared twice, with other numbers")
        return name

    def _literal(self, kind: Type, name: str, number: object) -> str:
        """A constant's text where a table begins with it."""
        if kind.form:
            limbs = self.of(kind.form.name).limbs(number)
            return limbs[0] if len(limbs) == 1 else "{" + ", ".join(limbs) + "}"
        if isinstance(number, bool) or not isinstance(number, int):
            raise RenderError(f"constant: {name}: {number!r:.60} given, {kind} has integers")
        bits, signed = 8 * kind.bytes, kind.dtype.startswith("int")
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if not low <= number <= high:
            raise RenderError(f"constant: {name}: {number} given, {kind.dtype} has {low} to {high}")
        if signed and number == low:
            return f"({number + 1} - 1)"
        return str(number) if signed else f"{number}u"

    # --- arrays -------------------------------------------------------------------------------

    def at(self, name: str, *indices: object) -> str:
        """Where an element lies in its array: an integer."""
        parameter = self._parameter(name)
        shape = parameter.shape or ()
        if len(indices) != len(shape):
            raise RenderError(f"{name}: {len(indices)} indices given, it has {len(shape)} axes")
        texts = [f"({self.index})({text})" for text in indices]
        if name in self.dense[self._kernel]:
            text = texts[0]
            for size, one in zip(shape[1:], texts[1:], strict=True):
                text = f"({text}) * {size.c_text()} + {one}"
            return text
        steps = [f"{text} * {name}_step{axis}" for axis, text in enumerate(texts)]
        return " + ".join([f"{name}_start", *steps])

    def load(self, name: str, *indices: object) -> str:
        """An element of an array, decoded to a value; or a parameter that is a number."""
        parameter = self._parameter(name)
        if not parameter.is_array:
            if indices:
                raise RenderError(f"{name}: is a number, it has no elements")
            if parameter.is_plain:
                return Value(name, parameter.kind)
            form = self.computing(parameter)
            writer = self.writer(form)
            return Value(writer.pack([f"{name}{i}" for i in writer.limbs]), form.name)
        place = self.at(name, *indices)
        if parameter.is_plain:
            return Value(f"{name}0[{place}]", parameter.kind)
        form = self.computing(parameter)
        return Value(self.writer(form).element(name, place), form.name)

    def store(self, name: str, *indices_and_value: object) -> str:
        """The statement that stores a value in an array: ``store("y", "i", "z")``."""
        parameter = self._written(name)
        *indices, value = indices_and_value or ("",)
        place = self.at(name, *indices)
        if parameter.is_plain:
            return f"{name}0[{place}] = {value};"
        arithmetic = self.of(self.computing(parameter).name)
        value = suited(f"store: {name}", value, arithmetic.form)
        writer = self.writer(arithmetic.form)
        words = [writer.store(name, i, "place_", writer.word_of("value_", i)) for i in writer.limbs]
        declared = (
            f"const {self.index} place_ = {place}; const {arithmetic.value} value_ = {value};"
        )
        return "{ " + " ".join([declared, *words]) + " }"

    def _written(self, name: str) -> Operand:
        parameter = self._parameter(name)
        if not (parameter.is_array and parameter.written):
            raise RenderError(
                f"{name}: is {parameter.way}, not out or inout: it cannot be stored to"
            )
        return parameter

    # --- vectors ------------------------------------------------------------------------------

    def vector(self, kind: str, lanes: int) -> Type:
        """A type of 2 or 4 neighbours with the members x, y, z, w: ``${vector(real, 2)}``."""
        kind = typed("vector", kind)
        if kind.number not in self.platform.vector_names:
            raise RenderError(f"vector: {kind} given, single words and integers make vectors")
        if lanes not in (2, 4) or lanes * kind.bytes > VECTOR_BYTES:
            raise RenderError(
                f"vector: {lanes!r} of {kind} given, 2 or 4 of at most {VECTOR_BYTES} bytes "
                "are allowed"
            )
        return Type(f"{self.platform.vector_names[kind.number]}{lanes}", lanes * kind.bytes)

    def _vectors(self, word: str, name: str, lanes: int) -> tuple[Type, Operand]:
        parameter = self._parameter(name)
        if not parameter.is_array or len(parameter.shape or ()) != 1:
            raise RenderError(f"{word}: {name}: vectors are of arrays with one axis")
        if not parameter.is_plain and parameter.format(self.own).coded:
            raise RenderError(f"{word}: {name}: elements of a storage format make no vectors")
        return self.vector(self.type_of(name), lanes), parameter

    def load_vector(self, name: str, index: object, lanes: int) -> str:
        """Neighbours of an array at once: elements ``lanes * index`` and on, as a vector."""
        kind, _ = self._vectors("load_vector", name, lanes)
        if name in self.dense[self._kernel]:
            pointer = self.platform.const_pointer.format(kind).strip()
            return f"(({pointer}){name}0)[({self.index})({index})]"
        first = f"({self.index})({index}) * {lanes}"
        elements = [f"{name}0[{self.at(name, f'{first} + {i}')}]" for i in range(lanes)]
        return self.platform.vector_of.format(kind, ", ".join(elements))

    def store_vector(self, name: str, index: object, vector: object, lanes: int) -> str:
        """The statement that stores a vector: elements ``lanes * index`` and on."""
        kind, _ = self._vectors("store_vector", name, lanes)
        self._written(name)
        if name in self.dense[self._kernel]:
            pointer = self.platform.pointer.format(kind).strip()
            return f"(({pointer}){name}0)[({self.index})({index})] = {vector};"
        places = [f"({self.index})({index}) * {lanes} + {i}" for i in range(lanes)]
        stores = [
            f"{name}0[{self.at(name, place)}] = vector_.{member};"
            for place, member in zip(places, "xyzw", strict=False)
        ]
        return " ".join(["{", f"const {kind} vector_ = {vector};", *stores, "}"])
