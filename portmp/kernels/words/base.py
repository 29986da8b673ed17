"""What all words share: the module that they write, its kernels, types and functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from portmp import formats
from portmp.arrays.plain import DTYPES
from portmp.codegen import elements
from portmp.codegen.platform import Platform, Traits
from portmp.codegen.writer import Writer
from portmp.errors import RenderError, suggestion
from portmp.formats import Format
from portmp.kernels.requirements import Requirement
from portmp.kernels.signature import Declaration, Operand, Size
from portmp.kernels.words.arithmetic import Arithmetic
from portmp.kernels.words.complexes import Complexes
from portmp.kernels.words.types import Block, Type


@dataclass
class BlockMemory:
    """What a kernel takes of its block's memory."""

    static: int = 0
    """Bytes of arrays whose sizes are numbers."""
    arrays: dict[str, tuple[Type, int]] = field(default_factory=dict)
    """Type and number of axes of each array."""
    dynamic: list[tuple[int, Size]] = field(default_factory=list)
    """Bytes of an element and number of elements, for arrays whose sizes a call decides."""

    def bytes(self, sizes: Mapping[str, int]) -> int:
        """Bytes that a call decides."""
        return sum(aligned(size.value(sizes) * one) for one, size in self.dynamic)


ALIGNMENT = 16
"""Bytes that the parts of dynamic block memory are multiples of."""


def aligned(nbytes: int) -> int:
    """As many bytes, up to a multiple of the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


class Base:
    """A module for one platform: kernels of *signatures*, with blocks of their own."""

    def __init__(
        self,
        platform: Platform,
        traits: Traits,
        form: Format,
        signatures: Mapping[str, Declaration],
        blocks: Mapping[str, Block],
        dense: Mapping[str, frozenset[str]],
        checked: bool = False,
    ) -> None:
        self.platform, self.traits, self.form = platform, traits, form.arithmetic
        self.own = form
        self.signatures, self.blocks, self.dense = signatures, blocks, dense
        self.memory: dict[str, BlockMemory] = {name: BlockMemory() for name in signatures}
        self.checked = checked
        self.requirements: dict[str, list[Requirement]] = {name: [] for name in signatures}
        self.made: dict[str, Mapping[str, str]] = {name: {} for name in signatures}
        """Of each kernel: names in C that its signature does not have, and what they stand for."""
        self.scratch: dict[str, str] = dict.fromkeys(signatures, "")
        self.functions: dict[str, tuple[str, Mapping[str, object]]] = {}
        """Functions that stand before the kernels: their part of the prelude and its facts."""
        self.constants: dict[str, str] = {}
        """Declarations of tables in constant memory, by name."""
        self.extensions: dict[str, None] = {}
        self._emitted: set[str] = set()
        self._arithmetic: dict[str, Arithmetic] = {}
        self._kernel = ""
        self.mixed = len({f.word for f in self._formats()}) > 1
        for kind in self._formats():
            self.of(kind.name)

    def _formats(self) -> list[Format]:
        """The formats that compute in this module, as far as signatures tell."""
        found = {self.form.name: self.form}
        for signature in self.signatures.values():
            for parameter in signature.parameters:
                if not parameter.is_plain:
                    form = self.computing(parameter)
                    found[form.name] = form
        return list(found.values())

    def writer(self, form: Format) -> Writer:
        """Spells a format's names, with the storage formats of the present kernel's parameters."""
        return self._writer(form, [self.signatures[self._kernel]])

    def module_writer(self, form: Format) -> Writer:
        """The same with the storage formats of all kernels: what stands before them."""
        return self._writer(form, list(self.signatures.values()))

    def _writer(self, form: Format, signatures: Sequence[Declaration]) -> Writer:
        stored = []
        for parameter in (p for signature in signatures for p in signature.parameters):
            if not parameter.is_plain and parameter.is_array:
                kind = parameter.format(self.own)
                if kind.coded and kind.arithmetic is form:
                    stored.append((parameter.name, kind.name))
        mark = "f" if self.mixed and form.word == "float32" else ""
        return Writer(self.platform, self.traits, form, 1, self._emitted, tuple(stored), mark)

    def of(self, name: str) -> Arithmetic:
        """The words of another format."""
        form = formats.get(name)
        if form.coded:
            raise RenderError(
                f"of: {form.name} is a storage format; its values are of({form.arithmetic.name!r})"
            )
        words = {f.form.word for f in self._arithmetic.values()}
        if not self.mixed and words - {form.word}:
            raise RenderError(
                f"of: {form.name} beside {self.form.name}: name a format of the other words in a "
                "signature, or the kernel's values stay in one word"
            )
        if form.name not in self._arithmetic:
            made = Arithmetic(form, self.module_writer)
            if form.components > 1:
                made = Complexes(form, self.module_writer, part=self.of(form.component.name))
            self._arithmetic[form.name] = made
        return self._arithmetic[form.name]

    @property
    def value(self) -> Type:
        """The type of the kernel's own values."""
        return self.of(self.form.name).value

    @property
    def index(self) -> Type:
        """The type of indices and sizes: an integer of 64 bits."""
        return self.type("int64")

    def type(self, name: str) -> Type:
        """The C type of a dtype: ``${type("int32")}``, which ``${int32}`` is for short."""
        if name not in DTYPES:
            raise RenderError(f"type: {name!r} given, {', '.join(DTYPES)} are allowed")
        dtype = "uint8" if name == "bool" else name
        text = elements.number(self.platform, name)
        return Type(text, np.dtype(dtype).itemsize, dtype=dtype)

    def computing(self, parameter: Operand) -> Format:
        """The format that computes with a parameter's values."""
        return self.form if parameter.is_plain else parameter.format(self.own).arithmetic

    def type_of(self, parameter: str) -> Type:
        """The type of a parameter's elements once they are loaded."""
        found = self._parameter(parameter)
        if found.is_plain:
            return self.type(found.kind)
        return self.of(self.computing(found).name).value

    def function(self, name: str, part: str, **facts: object) -> str:
        """The name of a function, which a part of the prelude writes before the kernels."""
        self.functions[name] = (part, facts)
        return name

    def _current(self, word: str) -> str:
        if not self._kernel:
            raise RenderError(f"{word}: stands before any kernel(); words of a kernel follow it")
        return self._kernel

    def _parameter(self, name: str) -> Operand:
        signature = self.signatures[self._current(name)]
        if name not in signature.by_name:
            near = suggestion(name, list(signature.by_name))
            raise RenderError(f"{signature.name} has no parameter {name!r}{near}")
        return signature.by_name[name]


def joined_name(*words: object) -> str:
    """A function's name from words, some of which are types of two words."""
    return "_".join(str(word) for word in words).replace(" ", "_")
