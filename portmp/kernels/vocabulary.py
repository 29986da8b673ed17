"""The words that a kernel's template is written with, and what they say on each platform.

``Words`` spells one module for one platform. A word returns text of C; what it needs beside (types,
arithmetic, helpers) is collected and stands before the kernels. docs/kernels.md explains each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from portmp import formats
from portmp.arrays.plain import DTYPES
from portmp.codegen import render
from portmp.codegen.platform import Platform, Traits
from portmp.codegen.render import RenderedSource
from portmp.codegen.writer import SCALAR, Writer
from portmp.errors import ArgumentError, RenderError, suggestion
from portmp.formats import Format, convert
from portmp.kernels.signature import Parameter, Signature
from portmp.networks import Network

VERSION = 1
"""Of the vocabulary: words keep their meaning within a version; new ones may come."""

OPENING = "\x04"
"""Stands where a kernel's body must begin, until its declarations do."""

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

WHOLE = {
    "add": "{0} + {1}",
    "mul": "{0} * {1}",
    "minimum": "({0} < {1} ? {0} : {1})",
    "maximum": "({0} > {1} ? {0} : {1})",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
}
"""How plain numbers are combined by reductions and scans."""

WARPS = (8, 16, 32)
"""Lanes that a logical warp may have."""


class Type(str):
    """The text of a C type, with its size in bytes; ``form``: the format whose values it has."""

    bytes: int
    form: Format | None

    def __new__(cls, text: str, size: int, form: Format | None = None) -> Type:
        made = super().__new__(cls, text)
        made.bytes, made.form = size, form
        return made


@dataclass(frozen=True)
class Block:
    """Threads of a block along the three axes."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def dimensions(self) -> tuple[int, int, int]:
        """The three numbers."""
        return self.x, self.y, self.z

    @property
    def threads(self) -> int:
        """All of them."""
        return self.x * self.y * self.z


@dataclass
class Arithmetic:
    """The words of one format: ``dd = of("dd")``, then ``${dd.add("x", "y")}``."""

    words: Words
    form: Format
    used: dict[str, Network] = field(default_factory=dict)

    @cached_property
    def writer(self) -> Writer:
        """Spells the format's names."""
        return self.words.module_writer(self.form)

    @property
    def value(self) -> Type:
        """The type of its values."""
        return Type(self.writer.value, self.form.limbs * self.real.bytes, self.form)

    @property
    def real(self) -> Type:
        """The type of one limb."""
        form = formats.get(self.form.word)
        return Type(self.writer.scalar, 4 if self.form.word == "float32" else 8, form)

    def operator(self, op: str, *operands: object) -> str:
        """A call of the format's operator on values."""
        network = self.form.operator(OPERATORS[op])
        if len(operands) != len(network.inputs):
            raise ArgumentError(
                f"{op}: {len(operands)} operands given, {len(network.inputs)} are needed"
            )
        self.used[network.name] = network
        return f"{self.writer.function(network)}({', '.join(map(str, operands))})"

    def number(self, value: object) -> str:
        """A constant, rounded correctly: ``${number("0.1")}``."""
        limbs = convert.to_limbs(value, self.form, "number")
        if limbs[0].shape != ():
            raise ArgumentError(f"number: one number is needed, {value!r:.60} given")
        return self.writer.pack([self.writer.literal(float(limb)) for limb in limbs])

    def from_real(self, text: object) -> str:
        """A value whose leading limb is this text of a real number; the others are zero."""
        zeros = [self.writer.literal(0)] * (self.form.limbs - 1)
        return self.writer.pack([str(text), *zeros])

    def limb(self, value: str, i: int = 0) -> str:
        """One limb of a value in a variable."""
        if not 0 <= i < self.form.limbs:
            raise ArgumentError(f"limb: {i} given, {self.form.name} has {self.form.limbs} limbs")
        return self.writer.word_of(value, i)

    def __getattr__(self, word: str) -> Callable[..., str]:
        if word in OPERATORS:
            return partial(self.operator, word)
        raise AttributeError(f"{word!r} is no word of arithmetic; words: {', '.join(OPERATORS)}")


def c_name(kernel: str) -> str:
    """What a kernel is called in C: a language has functions of its own called step or exp."""
    return f"{kernel}_kernel"


class Words:
    """The vocabulary of a module: kernels of *signatures*, with blocks of their own."""

    def __init__(
        self,
        platform: Platform,
        traits: Traits,
        form: Format,
        signatures: Mapping[str, Signature],
        blocks: Mapping[str, Block],
        dense: Mapping[str, frozenset[str]],
    ) -> None:
        self.platform, self.traits, self.form = platform, traits, form.arithmetic
        self.own = form
        self.signatures, self.blocks, self.dense = signatures, blocks, dense
        self.shared_bytes: dict[str, int] = dict.fromkeys(signatures, 0)
        self.scratch: dict[str, str] = dict.fromkeys(signatures, "")
        self.helpers: dict[tuple[str, ...], None] = {}
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
                    form = parameter.format(self.own).arithmetic
                    found[form.name] = form
        return list(found.values())

    def writer(self, form: Format) -> Writer:
        """Spells a format's names, with the storage formats of the present kernel's parameters."""
        return self._writer(form, [self.signatures[self._kernel]])

    def module_writer(self, form: Format) -> Writer:
        """The same with the storage formats of all kernels: what stands before them."""
        return self._writer(form, list(self.signatures.values()))

    def _writer(self, form: Format, signatures: Sequence[Signature]) -> Writer:
        stored = []
        for parameter in (p for signature in signatures for p in signature.parameters):
            if not parameter.is_plain and parameter.is_array:
                kind = parameter.format(self.own)
                if kind.coded and kind.arithmetic is form:
                    stored.append((parameter.name, kind.name))
        mark = "f" if self.mixed and form.word == "float32" else ""
        return Writer(self.platform, self.traits, form, 1, self._emitted, tuple(stored), mark)

    # --- what templates see -----------------------------------------------------------------

    def context(self) -> dict[str, Any]:
        """All words by name."""
        own = self.of(self.form.name)
        types = {name: self.type(name) for name in DTYPES if name != "bool"}
        return {
            **{word: partial(own.operator, word) for word in OPERATORS},
            **types,
            "index": self.index,
            "value": own.value,
            "real": own.real,
            "number": own.number,
            "from_real": own.from_real,
            "limb": own.limb,
            "warp_size": self.traits.warp_size,
            **{name: getattr(self, name) for name in WORDS},
        }

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
        return self._arithmetic.setdefault(form.name, Arithmetic(self, form))

    @property
    def index(self) -> Type:
        """The type of indices and sizes: an integer of 64 bits."""
        return Type(self.platform.index, 8)

    def type(self, name: str) -> Type:
        """The C type of a dtype: ``${type("int32")}``, which ``${int32}`` is for short."""
        if name == "bool":
            return Type("unsigned char", 1)
        if name not in DTYPES:
            raise RenderError(f"type: {name!r} given, {', '.join(DTYPES)} are allowed")
        long = self.platform.index
        text = {"int8": self.platform.int8, "int16": "short", "int32": "int", "int64": long}
        text |= {"uint32": "unsigned", "uint64": f"unsigned {long}"}
        return Type(text.get(name) or SCALAR[name], int(name.strip("uint")) // 8)

    def type_of(self, parameter: str) -> Type:
        """The type of a parameter's elements once they are loaded."""
        found = self._parameter(parameter)
        if found.is_plain:
            return self.type(found.kind)
        return self.of(found.format(self.own).arithmetic.name).value

    # --- kernels, threads, memory -------------------------------------------------------------

    def kernel(self, name: str = "") -> str:
        """The head of a kernel: qualifiers, name and parameters. Its body follows in braces."""
        if not name and len(self.signatures) == 1:
            (name,) = self.signatures
        if name not in self.signatures:
            raise RenderError(
                f"kernel: {name!r} given, the signatures are of {', '.join(self.signatures)}"
            )
        self._kernel = name
        block = self.blocks[name]
        head = self.platform.block_kernel.format(*block.dimensions, block.threads)
        lines: list[str] = []
        for parameter in self.signatures[name].parameters:
            lines += self._declared(parameter)
        lines += [f"const {self.index} {size}" for size in self.signatures[name].sizes]
        declared = [line.rsplit(None, 1)[-1].strip("*") for line in ", ".join(lines).split(", ")]
        if twice := [one for one in declared if declared.count(one) > 1]:
            raise RenderError(
                f"{name}: {twice[0]!r} is the name of two things: planes of x are called x0, x1 ..."
            )
        return f"{head} {c_name(name)}(\n    " + ",\n    ".join(lines) + ")" + OPENING

    def _declared(self, parameter: Parameter) -> list[str]:
        name = parameter.name
        if not parameter.is_array:
            if parameter.is_plain:
                return [f"const {self.type(parameter.kind)} {name}"]
            return [self.writer(parameter.format(self.own).arithmetic).scalars(name)]
        if parameter.is_plain:
            pointer = (
                self.platform.pointer if parameter.written else self.platform.const_pointer
            ).format(self.type(parameter.kind))
            lines = [f"{pointer}{name}0"]
        else:
            writer = self.writer(parameter.format(self.own).arithmetic)
            lines = [writer.planes(name, const=not parameter.written)]
        if name not in self.dense[self._kernel]:
            lines.append(f"const {self.index} {name}_start")
            axes = range(len(parameter.shape or ()))
            lines += [f"const {self.index} {name}_step{axis}" for axis in axes]
        return lines

    def _axis(self, axis: int) -> int:
        if axis not in (0, 1, 2):
            raise RenderError(f"axis {axis!r} given, 0, 1 and 2 are the axes of blocks and grids")
        return axis

    def _current(self, word: str) -> str:
        if not self._kernel:
            raise RenderError(f"{word}: stands before any kernel(); words of a kernel follow it")
        return self._kernel

    def thread_id(self, axis: int = 0) -> str:
        """The thread's index in its block."""
        return f"(int){self.platform.axis(self.platform.local_id, self._axis(axis))}"

    def block_id(self, axis: int = 0) -> str:
        """The block's index in the grid."""
        return f"(int){self.platform.axis(self.platform.group_id, self._axis(axis))}"

    def block_size(self, axis: int = 0) -> int:
        """Threads of a block along an axis: a number."""
        return self.blocks[self._current("block_size")].dimensions[self._axis(axis)]

    def grid_size(self, axis: int = 0) -> str:
        """Blocks of the grid along an axis."""
        return f"(int){self.platform.axis(self.platform.group_count, self._axis(axis))}"

    def global_id(self, axis: int = 0) -> str:
        """The thread's index in the whole grid, with 64 bits."""
        first = f"({self.index}){self.block_id(axis)} * {self.block_size(axis)}"
        return f"({first} + {self.thread_id(axis)})"

    def global_size(self, axis: int = 0) -> str:
        """Threads of the whole grid along an axis, with 64 bits."""
        return f"(({self.index}){self.grid_size(axis)} * {self.block_size(axis)})"

    def linear_id(self) -> str:
        """The thread's number in its block: axis 0 first."""
        block = self.blocks[self._current("linear_id")]
        text = self.thread_id(0)
        if block.y * block.z > 1:
            text = f"({text} + {block.x} * {self.thread_id(1)}"
            text += f" + {block.x * block.y} * {self.thread_id(2)})" if block.z > 1 else ")"
        return text

    def barrier(self, memory: str = "block") -> str:
        """All threads of the block meet. What they wrote to block memory before is seen after.

        ``"all"``: the same of the device's memory, among the block's threads.
        """
        if memory not in ("block", "all"):
            raise RenderError(f"barrier: {memory!r} given, 'block' or 'all' memory is meant")
        return self.platform.barrier if memory == "block" else self.platform.device_barrier

    def fence(self, memory: str = "block") -> str:
        """Order this thread's accesses: those before it are seen before those after it.

        By threads of its block in block memory, or with ``"device"`` by all threads in both
        memories. It does not wait for any thread.
        """
        if memory not in self.platform.fences:
            known = ", ".join(map(repr, self.platform.fences))
            raise RenderError(f"fence: {memory!r} given, {known} are the memories")
        return self.platform.fences[memory]

    def _bits(self, word: str, x: object, kind: str | None) -> str:
        kind = self.type("uint32") if kind is None else kind
        whole = isinstance(kind, Type) and kind.form is None and kind.bytes in (4, 8)
        if not (isinstance(kind, Type) and whole):
            raise RenderError(f"{word}: {kind} given, integers of 32 and 64 bits have it")
        unsigned = self.type(f"uint{8 * kind.bytes}")
        return self.platform.bits[word, kind.bytes].format(f"({unsigned})({x})")

    def popcount(self, x: object, kind: str | None = None) -> str:
        """How many bits of an integer are set: ``popcount("x")``, ``popcount("y", uint64)``."""
        return self._bits("popcount", x, kind)

    def leading_zeros(self, x: object, kind: str | None = None) -> str:
        """How many bits of an integer are zero above its highest one: all of them for 0."""
        return self._bits("leading_zeros", x, kind)

    def shared(self, kind: str, name: str, *sizes: int) -> str:
        """Block memory of this type and size; it stands at the beginning of a kernel's body."""
        kernel = self._current("shared")
        if not isinstance(kind, Type):
            raise RenderError(f"shared: {kind!r} given as a type; value, real, int32 ... are types")
        if not sizes or not all(type(n) is int and n > 0 for n in sizes):
            raise RenderError(f"shared: {name}: sizes {sizes} given, positive integers are needed")
        self.shared_bytes[kernel] += kind.bytes * math.prod(sizes)
        return f"{self.platform.shared} {kind} {name}" + "".join(f"[{n}]" for n in sizes) + ";"

    # --- arrays -------------------------------------------------------------------------------

    def _parameter(self, name: str) -> Parameter:
        signature = self.signatures[self._current(name)]
        if name not in signature.by_name:
            near = suggestion(name, list(signature.by_name))
            raise RenderError(f"{signature.name} has no parameter {name!r}{near}")
        return signature.by_name[name]

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
            writer = (
                self.writer(parameter.format(self.own).arithmetic)
                if not parameter.is_plain
                else None
            )
            return writer.pack([f"{name}{i}" for i in writer.limbs]) if writer else name
        place = self.at(name, *indices)
        if parameter.is_plain:
            return f"{name}0[{place}]"
        return self.writer(parameter.format(self.own).arithmetic).element(name, place)

    def store(self, name: str, *indices_and_value: object) -> str:
        """The statement that stores a value in an array: ``store("y", "i", "z")``."""
        parameter = self._parameter(name)
        *indices, value = indices_and_value or ("",)
        if not (parameter.is_array and parameter.written):
            raise RenderError(
                f"{name}: is {parameter.way}, not out or inout: it cannot be stored to"
            )
        place = self.at(name, *indices)
        if parameter.is_plain:
            return f"{name}0[{place}] = {value};"
        arithmetic = self.of(parameter.format(self.own).arithmetic.name)
        writer = self.writer(arithmetic.form)
        words = [writer.store(name, i, "place_", writer.word_of("value_", i)) for i in writer.limbs]
        declared = (
            f"const {self.index} place_ = {place}; const {arithmetic.value} value_ = {value};"
        )
        return "{ " + " ".join([declared, *words]) + " }"

    def atomic(self, op: str, name: str, *indices_and_values: object) -> str:
        """An atomic operation on an element of int32 or uint32; the number that was there.

        ``atomic("add", "bins", "i", 1)``; op: add, min, max, and, or, xor, exchange,
        compare_and_swap (which takes the expected and the new number).
        """
        parameter = self._parameter(name)
        if op not in self.platform.atomics:
            known = ", ".join(self.platform.atomics)
            raise RenderError(f"atomic: {op!r} given, {self.platform.title} has {known}")
        if parameter.kind not in ("int32", "uint32") or not parameter.written:
            raise RenderError(
                f"atomic: {name} is {parameter.way} {parameter.kind}; out or inout arrays of int32 "
                "and uint32 are allowed"
            )
        count = 2 if op == "compare_and_swap" else 1
        indices, values = indices_and_values[:-count], indices_and_values[-count:]
        address = f"&{name}0[{self.at(name, *indices)}]"
        return self.platform.atomics[op].format(address, *values)

    # --- logical warps ------------------------------------------------------------------------

    def _warp(self, word: str, width: int) -> str:
        """Check that a kernel may use words of warps; the arguments that functions take."""
        kernel = self._current(word)
        if width not in WARPS:
            raise RenderError(
                f"{word}: width {width!r} given, {', '.join(map(str, WARPS))} are allowed"
            )
        threads = self.blocks[kernel].threads
        if threads % max(WARPS):
            raise RenderError(
                f"{word}: blocks of {threads} threads given, a multiple of {max(WARPS)} is needed"
            )
        if self.platform.exchange:
            return self.linear_id()
        if not self.scratch[kernel]:
            self.scratch[kernel] = f"{self.platform.shared} int exchanged_[{threads}];"
            self.shared_bytes[kernel] += 4 * threads
        return f"{self.linear_id()}, exchanged_"

    def lane(self, width: int = 32) -> str:
        """The thread's index in its logical warp."""
        self._warp("lane", width)
        return f"({self.linear_id()} & {width - 1})"

    def warp(self, width: int = 32) -> str:
        """The logical warp's index in the block."""
        self._warp("warp", width)
        return f"({self.linear_id()} / {width})"

    def _helper(self, what: str, kind: str, *more: str) -> str:
        """The name of a function on lanes, which is written before the kernels."""
        if not isinstance(kind, Type):
            raise RenderError(f"{what}: {kind!r} given as a type; value, real, int32 ... are types")
        if kind.form is None and kind.bytes not in (4, 8):
            raise RenderError(f"{what}: {kind} given, numbers of 32 and 64 bits are exchanged")
        if kind.form and kind.form.limbs > 1:
            self._helper("shuffle", self.of(kind.form.name).real)
        form = kind.form.name if kind.form else ""
        self.helpers[(what, str(kind), form, str(kind.bytes), *more)] = None
        return "_".join([what, str(kind).replace(" ", "_"), *more])

    def shuffle(self, x: object, lane: object, kind: str | None = None, width: int = 32) -> str:
        """The x of another lane of the logical warp, by its index modulo the width."""
        kind = self.of(self.form.name).value if kind is None else kind
        warp = self._warp("shuffle", width)
        source = f"(({self.linear_id()} & -{width}) | (({lane}) & {width - 1}))"
        return f"{self._helper('shuffle', kind)}({x}, {source}, {warp})"

    def shuffle_up(self, x: object, by: object, kind: str | None = None, width: int = 32) -> str:
        """The x of the lane that many lower; the first lanes get their own."""
        lane = self.lane(width)
        return self.shuffle(x, f"{lane} < ({by}) ? {lane} : {lane} - ({by})", kind, width)

    def shuffle_down(self, x: object, by: object, kind: str | None = None, width: int = 32) -> str:
        """The x of the lane that many higher; the last lanes get their own."""
        lane = self.lane(width)
        return self.shuffle(x, f"{lane} + ({by}) < {width} ? {lane} + ({by}) : {lane}", kind, width)

    def shuffle_xor(self, x: object, mask: object, kind: str | None = None, width: int = 32) -> str:
        """The x of the lane whose index differs in the bits of the mask."""
        return self.shuffle(x, f"{self.lane(width)} ^ ({mask})", kind, width)

    def _combined(self, what: str, op: str, x: object, kind: str | None, width: int) -> str:
        kind = self.of(self.form.name).value if kind is None else kind
        warp = self._warp(what, width)
        known = OPERATORS if isinstance(kind, Type) and kind.form else WHOLE
        pairs = [name for name in known if name in WHOLE]
        if op not in pairs:
            raise RenderError(f"{what}: {op!r} given, {', '.join(pairs)} combine {kind}")
        self._helper("shuffle", kind)
        if isinstance(kind, Type) and kind.form:
            self.of(kind.form.name).operator(op, "x", "y")
        return f"{self._helper(what, kind, op, str(width))}({x}, {warp})"

    def warp_reduce(self, op: str, x: object, kind: str | None = None, width: int = 32) -> str:
        """All lanes' x combined, in one order on every device; each lane gets the result.

        Halves are combined first: lane i with i + width/2, then i with i + width/4, ...; the lower
        lane's number is the first operand.
        """
        return self._combined("warp_reduce", op, x, kind, width)

    def warp_scan(self, op: str, x: object, kind: str | None = None, width: int = 32) -> str:
        """The x of this lane and all lower ones combined (inclusive), in one order everywhere.

        For d = 1, 2, 4, ...: lanes from d on combine the number d lanes below with their own.
        """
        return self._combined("warp_scan", op, x, kind, width)

    def ballot(self, condition: object, width: int = 32) -> str:
        """An unsigned number whose bit i says whether the condition holds in lane i."""
        bit = f"(({condition}) ? 1u << {self.lane(width)} : 0u)"
        return self.warp_reduce("or", bit, self.type("uint32"), width)

    def warp_any(self, condition: object, width: int = 32) -> str:
        """Whether the condition holds in any lane of the logical warp."""
        return f"({self.ballot(condition, width)} != 0u)"

    def warp_all(self, condition: object, width: int = 32) -> str:
        """Whether the condition holds in all lanes of the logical warp."""
        return f"({self.ballot(condition, width)} == {hex((1 << width) - 1)}u)"

    # --- the module -----------------------------------------------------------------------------

    def prelude(self) -> RenderedSource:
        """What the module's kernels need before them."""
        return render.render(
            "/kernels/prelude.mako",
            {
                "arithmetics": [
                    (a.writer, list(a.used.values())) for a in self._arithmetic.values()
                ],
                "helpers": self.helpers,
                "words": self,
                "p": self.platform,
                "whole": WHOLE,
            },
        )


WORDS: Sequence[str] = (
    *("of", "type", "type_of", "kernel"),
    *("thread_id", "block_id", "block_size", "grid_size", "global_id", "global_size", "linear_id"),
    *("barrier", "fence", "shared", "at", "load", "store", "atomic"),
    *("popcount", "leading_zeros"),
    *("lane", "warp", "shuffle", "shuffle_up", "shuffle_down", "shuffle_xor"),
    *("warp_reduce", "warp_scan", "ballot", "warp_any", "warp_all"),
)
"""Words that are methods of ``Words``."""
