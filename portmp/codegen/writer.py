"""From networks to the text of device functions, in a platform's dialect.

Templates hold the layout of the rendered source; this module spells names, types,
expressions, loads and stores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from portmp import formats, networks
from portmp.codegen.platform import Platform, Traits
from portmp.errors import RenderError
from portmp.formats import ROUNDINGS, Format
from portmp.formats.encodings import Encoding
from portmp.networks import Kind, Network
from portmp.networks.language import WORD, Expr, Step

SCALAR = {
    "float32": "float",
    "float64": "double",
    "uint32": "unsigned",
    "uint16": "unsigned short",
    "uint8": "unsigned char",
    "int8": "signed char",
}
PREFIX = {
    (word, words): name
    for word, names in (("float32", "f32 ds ts qs"), ("float64", "f64 dd td qd"))
    for words, name in enumerate(names.split(), start=1)
}
LARGEST = {"float32": "3.4028234663852886e+38f", "float64": "1.7976931348623157e+308"}
VECTORS = {
    "float32": "float",
    "float64": "double",
    "uint32": "uint",
    "uint16": "ushort",
    "uint8": "uchar",
}
"""What types of vectors begin with."""
_MEMORY_BITS = 128
"""The longest vectors of memory: ``float4``, ``double2``."""
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


@dataclass(frozen=True, eq=False)
class Writer:
    """Spells one format's arithmetic for one platform; ``width`` words a vector (1: scalar).

    ``emitted`` holds what the module already defines, so that kernels can share a module;
    ``stored`` names operands' storage formats, "*" that of all others. ``mark`` ends the names of
    what works on words, where the module has the same for another word. ``computed``: operands that
    lie nowhere, whose elements are computed where they are read.
    """

    platform: Platform
    traits: Traits
    format: Format
    width: int = 1
    emitted: set[str] = field(default_factory=set)
    stored: tuple[tuple[str, str], ...] = ()
    mark: str = ""
    computed: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.width not in self.platform.widths(self.traits, self.format.word):
            raise RenderError(
                f"platform {self.platform.name} has no vectors of {self.width} words of "
                f"{self.format.word}, {self.traits.vector_bits} bits at most"
            )
        if self.width > 1 and self.format.scalar:
            raise RenderError(f"format {self.format.name} has no explicit-vector form")

    def first(self, what: str) -> bool:
        """Whether *what* is not yet defined in this module; it counts as defined from now on."""
        new = what not in self.emitted
        self.emitted.add(what)
        return new

    # --- types ------------------------------------------------------------------------

    @property
    def memory_vectors(self) -> bool:
        """Whether memory is read and written by vectors of 16 bytes at most."""
        return self.platform.memory_vectors and self.traits.vector_bits >= _MEMORY_BITS

    @property
    def scalar(self) -> str:
        """The C type of one word."""
        return SCALAR[self.format.word]

    @property
    def word(self) -> str:
        """The C type that the functions compute with: a word or a vector of words."""
        return self.scalar + (str(self.width) if self.width > 1 else "")

    @property
    def exchange(self) -> str:
        """The statement by which lanes of a warp exchange words; empty where there is none."""
        return self.platform.exchange.get(self.traits.exchange, "")

    @property
    def flag(self) -> str:
        """The C type of a comparison's result."""
        if self.width == 1:
            return "int"
        return ("int" if self.scalar == "float" else "long") + str(self.width)

    def type(self, kind: Kind) -> str:
        """The C type of a word, a value or an unnormalised sum."""
        if kind.role == "flag":
            return self.flag
        if kind.words == 1:
            return self.word
        if kind.role == "sum":
            return self._named(f"sum{kind.words}{self.mark}")
        if kind.role == "complex":
            return self._named(f"c{PREFIX[self.format.word, kind.words // 2]}")
        return self._prefix(kind.words)

    @property
    def lanes(self) -> str:
        """What ends the names of vector types and functions: ``dd4``, ``two_sum4``."""
        return str(self.width) if self.width > 1 else ""

    def _named(self, name: str) -> str:
        """A type's name with the number of lanes."""
        return name + ("x" if self.lanes and name[-1].isdigit() else "") + self.lanes

    def _prefix(self, words: int) -> str:
        return self._named(PREFIX.get((self.format.word, words), f"words{words}{self.mark}"))

    @property
    def kind(self) -> Kind:
        """What a value of the format is, real or complex."""
        return Kind(self.format.words, "complex" if self.format.components > 1 else "value")

    @cached_property
    def value(self) -> str:
        """The C type of a value of the format."""
        return self.type(self.kind)

    @cached_property
    def sum(self) -> str:
        """The C type of the accumulator."""
        return self.type(networks.get(self.format.accumulator().step).result)

    def function(self, net: Network | str) -> str:
        """The C name of a network: ``add3`` becomes ``td_add``."""
        name = net if isinstance(net, str) else net.name
        match = re.match(r"([a-z]\w*?)(\d)(?:_float32|_float64)()$", name)
        match = match or re.match(r"([a-z_]+?)(\d)(_.*)?$", name)
        if not match:
            return self.gate(name)
        op, words, suffix = match.groups()
        return f"{self._prefix(int(words))}_{op}{suffix or ''}"

    def gate(self, name: str) -> str:
        """The name of a function on words."""
        return name + self.mark + self.lanes

    def make(self, kind: Kind) -> str:
        """The name of the function that builds a value from words."""
        return f"make_{self.type(kind)}"

    # --- words --------------------------------------------------------------------------

    def literal(self, value: float, *, scalar: bool = False) -> str:
        """A constant of the word type."""
        suffix = "f" if self.scalar == "float" else ""
        text = f"{float(value)!r}{suffix}"
        if math.isinf(value):
            text = f"({'-' if value < 0 else ''}1.0{suffix} / 0.0{suffix})"
        return text if scalar or self.width == 1 else f"({self.word})({text})"

    def zero(self, kind: Kind | None = None) -> str:
        """Zero as a value of the format, or of *kind*."""
        return self.first_of(kind or self.kind, 0)

    def first_of(self, kind: Kind, value: float) -> str:
        """A value of *kind* with one leading word, zeros below."""
        words = [self.literal(value)] + [self.literal(0)] * (kind.words - 1)
        return words[0] if kind.words == 1 else f"{self.make(kind)}({', '.join(words)})"

    @property
    def largest(self) -> str:
        """The largest finite word."""
        text = LARGEST[self.format.word]
        return text if self.width == 1 else f"({self.word})({text})"

    @property
    def fused(self) -> str:
        """The name of the function that stands in for a fused multiply-add."""
        return ("fused" if self.scalar == "double" else "fusedf") + self.lanes

    @property
    def quotient(self) -> str:
        """The name of the function that corrects quotients."""
        return "quotient" if self.scalar == "double" else "quotientf"

    @property
    def table_steps(self) -> int:
        """How many steps of a loop over a table are written out."""
        return self.platform.unrolled if self.traits.warp_size > 1 else 1

    @cached_property
    def one(self) -> Writer:
        """The same for single lanes."""
        return replace(self, width=1) if self.width > 1 else self

    def wider(self, width: int) -> Writer:
        """The same for vectors of so many lanes."""
        return replace(self, width=width)

    @cached_property
    def single(self) -> Writer:
        """The same for float32: what seeds are computed with."""
        return replace(self, format=formats.get("float32"))

    @cached_property
    def double(self) -> Writer:
        """The same for float64: what scales and rebuilds integers."""
        return replace(self, format=formats.get("float64"))

    def bits(self, what: str, *arguments: object) -> str:
        """The platform's way to the bits of words, in all lanes."""
        text: str = getattr(self.platform, what)
        return text.format(*arguments, l=self.lanes, d=2 * self.width)

    def fma(self, a: str, b: str, c: str) -> str:
        """A fused multiply-add as this device spells it."""
        if self.traits.fma == "contracted":
            return f"{self.fused}({a}, {b}, {c})"
        return self.platform.fma[self.format.word].format(a, b, c)

    def sqrt(self, a: str) -> str:
        """A correctly rounded square root."""
        if self.format.word == "float32" and self.traits.sqrt == "widened":
            return self._widened(f"sqrt({self._to_double(a)})")
        return self.platform.sqrt[self.format.word].format(a)

    def divide(self, a: str, b: str) -> str:
        """A correctly rounded quotient."""
        if self.traits.division == "corrected":
            return f"{self.quotient}({a}, {b})"
        if self.format.word == "float32" and self.traits.division == "widened":
            return self._widened(f"{self._to_double(a)} / {self._to_double(b)}")
        return f"{a} / {b}"

    def fabs(self, a: str) -> str:
        """The absolute value of a word."""
        if self.width > 1:
            # Where the function takes vectors by memory, a call costs more than what is around it.
            return self._from_image(f"{self._image(a)} & {self._size_bits}")
        return self.platform.fabs[self.format.word].format(a)

    def _to_double(self, a: str) -> str:
        return f"convert_double{self.width}({a})" if self.width > 1 else f"(double)({a})"

    def _widened(self, a: str) -> str:
        return f"convert_float{self.width}({a})" if self.width > 1 else f"(float)({a})"

    # --- networks -----------------------------------------------------------------------

    def closure(self, roots: Iterable[Network]) -> list[Network]:
        """The networks that *roots* need, callees first."""
        order: dict[str, Network] = {}

        def visit(net: Network) -> None:
            for name in net.calls:
                visit(networks.get(name))
            order.setdefault(net.name, net)

        for root in roots:
            visit(root)
        return list(order.values())

    def kinds(self, nets: Iterable[Network]) -> list[Kind]:
        """The struct types that *nets* use, without repetition."""
        found: dict[Kind, None] = {}
        for net in nets:
            for kind in (*net.kinds.values(), net.result):
                if kind.words > 1 and kind.role != "flag":
                    found[kind] = None
        return sorted(found, key=lambda k: (k.role, k.words), reverse=True)

    def negated(self, nets: Iterable[Network]) -> list[Kind]:
        """The value types that some network negates as a whole."""
        found: dict[Kind, None] = {}
        for net in nets:
            for one in net.expressions():
                if one.op == "neg" and (kind := self._kind(one.args[0], net.kinds)).words > 1:
                    found[kind] = None
        return list(found)

    def corrects_quotients(self, nets: Iterable[Network]) -> bool:
        """Whether *nets* divide on a device whose own quotients are corrected."""
        corrected = self.traits.division == "corrected"
        return corrected and any(one.op == "div" for net in nets for one in net.expressions())

    @staticmethod
    def _kind(expr: Expr, kinds: dict[str, Kind]) -> Kind:
        if expr.op == "name":
            return kinds[expr.name]
        if expr.op == "call":
            return networks.get(expr.name).result
        if expr.op == "neg":
            return Writer._kind(expr.args[0], kinds)
        return Kind(len(expr.args)) if expr.op == "tuple" else WORD

    def not_inlined(self, nets: Iterable[Network]) -> set[str]:
        """The networks that stay functions, whatever calls them.

        What is seldom called, inlined, makes of its caller a function too long to be inlined: then
        each vector goes by memory. GPUs, of scalars, decide themselves.
        """
        vectors = self.width > 1 and self.platform.noinline
        return {name for net in nets for name in net.rare} if vectors else set()

    def signature(self, net: Network) -> str:
        """``static inline dd dd_add(const dd x, const dd y)`` without the body."""
        parameters = ", ".join(f"const {self.type(k)} {n}" for n, k in net.inputs)
        head = f"{self.platform.function} {self.type(net.result)}"
        return f"{head} {self.function(net)}({parameters})"

    def body(self, net: Network) -> list[str]:
        """The statements of a network's device function, declarations first."""
        kinds = net.kinds
        inputs = dict(net.inputs)
        declared: dict[str, list[str]] = {}
        for name, kind in kinds.items():
            if name not in inputs:
                declared.setdefault(self.type(kind), []).append(name)
        for step in net.steps:
            if len(step.targets) > 1 and step.expr.op == "call":
                ctype = self.type(networks.get(step.expr.name).result)
                declared.setdefault(ctype, []).append("_".join(step.targets))
        lines = [f"{ctype} {', '.join(names)};" for ctype, names in declared.items()]
        for step in net.steps:
            lines += self._statements(step, kinds)
        lines.append(f"return {self._returned(net, kinds)};")
        return lines

    def _statements(self, step: Step, kinds: dict[str, Kind]) -> list[str]:
        expr = step.expr
        if expr.op == "seldom":
            return self._seldom(step.targets[0], expr, kinds)
        if len(step.targets) == 1:
            return [f"{step.targets[0]} = {self._text(expr, kinds)};"]
        if expr.op == "call":
            whole = "_".join(step.targets)
            parts = [f"{name} = {whole}.x{i};" for i, name in enumerate(step.targets)]
            return [f"{whole} = {self._text(expr, kinds)};", *parts]
        first, second = step.targets
        arguments = ", ".join(self._text(a, kinds) for a in expr.args)
        return [f"{first} = {self.gate(expr.name)}({arguments}, &{second});"]

    def _seldom(self, target: str, expr: Expr, kinds: dict[str, Kind]) -> list[str]:
        """A branch: what is computed for any lane is taken where the flag is set."""
        flag, call, other = (self._text(a, kinds) for a in expr.args)
        first = [] if other == target else [f"{target} = {other};"]
        if self.width == 1:
            return [*first, f"if ({flag})", f"    {target} = {call};"]
        choice = f"{self.function(expr.name)}({flag}, {call}, {target})"
        if not expr.name:
            choice = f"({flag} ? {call} : {target})"
        return [*first, f"if ({self.platform.any.format(flag)})", f"    {target} = {choice};"]

    def _returned(self, net: Network, kinds: dict[str, Kind]) -> str:
        expr = net.returned
        if expr.op == "tuple":
            arguments = ", ".join(self._text(a, kinds) for a in expr.args)
            return f"{self.make(net.result)}({arguments})"
        return self._text(expr, kinds)

    def _text(self, expr: Expr, kinds: dict[str, Kind], nested: bool = False) -> str:
        def text(arg: Expr, nested: bool = False) -> str:
            return self._text(arg, kinds, nested)

        match expr.op:
            case "name":
                return expr.name
            case "limb":
                return f"{expr.name}.x{expr.index}"
            case "literal":
                return self.literal(expr.value)
            case "tuple":
                return f"{self.make(Kind(len(expr.args)))}({', '.join(map(text, expr.args))})"
            case "neg":
                kind = self._kind(expr.args[0], kinds)
                if kind.words > 1:
                    return f"{self.type(kind)}_negated({text(expr.args[0])})"
                return f"-{text(expr.args[0], True)}"
            case "call":
                return f"{self.function(expr.name)}({', '.join(map(text, expr.args))})"
            case "gate":
                return self._gate(expr, [text(a) for a in expr.args])
            case "div":
                quotient = self.divide(text(expr.args[0], True), text(expr.args[1], True))
                return f"({quotient})" if nested else quotient
            case _:
                both = f" {_INFIX[expr.op]} ".join(text(a, True) for a in expr.args)
                return f"({both})" if nested else both

    def _gate(self, expr: Expr, args: list[str]) -> str:
        match expr.name:
            case "fma":
                return self.fma(*args)
            case "sqrt":
                return self.sqrt(args[0])
            case "fabs":
                return self.fabs(args[0])
            case "scale":
                return f"{self.gate('scale')}({args[0]})"
            case "finite":
                return f"{self.fabs(args[0])} <= {self.largest}"
            case "nonzero":
                return f"{args[0]} != {self.literal(0)}"
            case "isnan":
                return f"{args[0]} != {args[0]}"
            case "less":
                return f"{args[0]} < {args[1]}"
            case "both" | "either":
                return f" {'&' if expr.name == 'both' else '|'} ".join(map(_nested, args))
            case "opposite":
                return f"!{_nested(args[0])}"
            case "select":
                return f"({_nested(args[0])} ? {args[1]} : {args[2]})"
            case _:
                return self._of_bits(expr.name, *args)

    def _image(self, word: str) -> str:
        """A word's bits as an integer of its size."""
        return self.bits("as_int" if self.scalar == "float" else "as_long", word)

    def _from_image(self, bits: str) -> str:
        """The word whose bits these are."""
        return self.bits("as_float" if self.scalar == "float" else "as_double", bits)

    @property
    def _size_bits(self) -> str:
        """All bits of a word but its sign's."""
        return f"{(1 << (31 if self.scalar == 'float' else 63)) - 1:#x}"

    def _of_bits(self, gate: str, first: str, second: str = "") -> str:
        """What gates make of the bits of words."""
        top, ones, magic = (23, 0xFF, 0x4B) if self.scalar == "float" else (52, 0x7FF, 0x433)
        bias = ones >> 1
        shift = self.literal(2.0**top + bias)
        match gate:
            case "negative":
                return f"{self._image(first)} < 0"
            case "exponent":
                field = f"({self._image(first)} >> {top} & {ones:#x})"
                number = self._from_image(f"{field} | {magic << (24 if top == 23 else top):#x}")
                return f"({number} - {shift})"
            case "power_of_two":
                return self._from_image(f"{self._image(f'{_nested(first)} + {shift}')} << {top}")
            case "copysign":
                held = f"({self._image(first)} & {self._size_bits})"
                return self._from_image(f"{held} | ({self._image(second)} & ~{self._size_bits})")
        raise RenderError(f"gate {gate} gives two results; assign them")

    # --- memory -------------------------------------------------------------------------

    @property
    def limbs(self) -> range:
        """Indices of a value's words: of limbs, of complex values those of both parts."""
        return range(self.format.words)

    def leaders(self, word: Callable[[int], str]) -> list[str]:
        """The leading words of a value's parts, by what gives the text of a word: one or two."""
        return [word(part * self.format.limbs) for part in range(self.format.components)]

    def size(self, word: Callable[[int], str]) -> str:
        """How large a value is when pivots are chosen: the sizes of its parts' leading limbs."""
        return " + ".join(self.fabs(lead) for lead in self.leaders(word))

    def nonzero(self, value: str) -> str:
        """Whether a value in a variable is not zero."""
        return " || ".join(f"{x} != 0" for x in self.leaders(lambda k: self.word_of(value, k)))

    def planes(self, name: str, *, const: bool, compute: bool = False) -> str:
        """Kernel parameters of an operand's planes."""
        form = self.format.compute if compute else self.storage(name)
        limbs = enumerate(form.encodings)
        return ", ".join(self._planes(one, name, i, const=const) for i, one in limbs if one.parts)

    def _planes(self, encoding: Encoding, name: str, i: int, *, const: bool) -> str:
        pointer = self.platform.const_pointer if const else self.platform.pointer
        names = zip(encoding.parts, _plane_names(encoding, name, i), strict=True)
        return ", ".join(pointer.format(SCALAR[part]) + plane for part, plane in names)

    def scalars(self, name: str) -> str:
        """Kernel parameters of a value passed by value."""
        return ", ".join(f"const {self.scalar} {name}{i}" for i in self.limbs)

    def plane_names(self, name: str, i: int) -> list[str]:
        """The names of the planes that hold an operand's limb."""
        return _plane_names(self.storage(name).encodings[i], name, i)

    def storage(self, name: str) -> Format:
        """The format in which an operand lies in memory; of what is computed that of its words."""
        if self.of_computed(name):
            return self.format
        known = dict(self.stored)
        found = known.get(name) or known.get("*")
        return formats.get(found) if found else self.format

    @cached_property
    def encodings(self) -> list[tuple[Encoding, str]]:
        """What this kernel decodes and encodes by functions, each with a rounding."""
        storage = [formats.get(name) for _, name in self.stored]
        found = {
            (one, form.rounding): None
            for form in storage
            for one in form.encodings
            if one.parts and not one.plain
        }
        return list(found)

    def leading(self, name: str, *, pass_on: bool = False) -> str:
        """Parameters for the planes of an operand's leading limb, or arguments for these."""
        if pass_on:
            return ", ".join(self.plane_names(name, 0))
        return self._planes(self.storage(name).encodings[0], name, 0, const=True)

    def lane_of(self, value: str, i: int, lane: int) -> str:
        """Word *i* of one lane of a value in a variable."""
        word = self.word_of(value, i)
        return word if self.width == 1 else f"(({self.scalar} *)&{word})[{lane}]"

    def element(self, name: str, index: str, inside: str = "", beyond: float = 0.0) -> str:
        """An operand's value at *index*; with a condition *inside*, where it is false, *beyond*."""
        if one := self.of_computed(name):
            found: str = one.call(self, index)
            empty = self.first_of(self.kind, beyond)
            return f"({inside} ? {found} : {empty})" if inside else found
        words = [self.limb(name, i, index) for i in self.limbs]
        if inside:
            other = [self.literal(0 if i else beyond) for i in self.limbs]
            words = [f"({inside} ? {a} : {b})" for a, b in zip(words, other, strict=True)]
        return self.pack(words)

    def of_computed(self, name: str) -> Any:
        """What computes an operand's elements; None of one that lies in memory."""
        return next((one for one in self.computed if one.name == name), None)

    def plain(self, name: str) -> bool:
        """Whether those of an operand's limbs that are in memory are words of the arithmetic."""
        found = self.storage(name).encodings
        word = self.format.word
        return all(one.plain and one.word == word for one in found if one.parts)

    @property
    def mixed(self) -> bool:
        """Whether the format's own planes are not all words of the arithmetic."""
        return any(plane != self.format.word for plane in self.format.planes)

    @cached_property
    def parts(self) -> list[str]:
        """The dtypes in memory that are no words of the arithmetic."""
        storage = [self.format, *(formats.get(name) for _, name in self.stored)]
        found = {part: None for form in storage for part in form.parts}
        return [part for part in found if part != self.format.word]

    @property
    def anywhere(self) -> str:
        """The name of the vector type that needs a word's alignment only."""
        return f"{self.word}_anywhere"

    @property
    def times(self) -> str:
        """What ends the names of functions for neighbours: ``x4``, or nothing for one."""
        return f"x{self.width}" if self.width > 1 else ""

    def held(self, dtype: str) -> str:
        """The C type of ``width`` numbers of this dtype."""
        return f"{VECTORS[dtype]}{self.width}" if self.width > 1 else SCALAR[dtype]

    def converted(self, dtype: str, numbers: str) -> str:
        """Numbers, which are no sum, as others of this dtype."""
        if self.width > 1:
            return f"convert_{self.held(dtype)}({numbers})"
        # A vector's lane stands in parentheses, so that no reader takes the cast for the vector's.
        lane = "." in numbers
        return f"({SCALAR[dtype]}){f'({numbers})' if lane else numbers}"

    def there(self, part: str, plane: str, index: str, *, const: bool = True) -> str:
        """``width`` neighbours of a plane of this dtype, as one vector."""
        if self.width == 1:
            return f"{plane}[{index}]"
        pointer = self.platform.const_pointer if const else self.platform.pointer
        return f"*({pointer.format(f'{self.held(part)}_anywhere')})({plane} + {index})"

    def limb(self, name: str, i: int, index: str) -> str:
        """One limb loaded from memory, as a scalar word."""
        return self.one.load_vector(name, i, index)

    def load_vector(self, name: str, i: int, index: str) -> str:
        """A limb of ``width`` neighbours loaded from memory, as words."""
        if one := self.of_computed(name):
            return self.word_of(one.call(self, index), i)
        encoding = self.storage(name).encodings[i]
        planes = zip(encoding.parts, self.plane_names(name, i), strict=True)
        return self.decoded(encoding, [self.there(part, plane, index) for part, plane in planes])

    def decoded(self, encoding: Encoding, parts: list[str]) -> str:
        """The words that parts in variables or in memory are."""
        if not parts:
            return self.literal(0)
        if not encoding.native:
            return f"decoded_{encoding.name}{self.times}({', '.join(parts)})"
        same = encoding.parts[0] == self.format.word
        return parts[0] if same else self.converted(self.format.word, parts[0])

    def rounded(self, encoding: Encoding, rounding: str) -> str:
        """What names of functions that encode end with."""
        return encoding.name + ROUNDINGS[rounding] + self.times

    def store(self, name: str, i: int, index: str, word: str) -> str:
        """The statement that stores a scalar word as one limb."""
        return self.one.store_vector(name, i, index, word)

    def store_vector(self, name: str, i: int, index: str, words: str) -> str:
        """The statement that stores ``width`` neighbours' words as one limb."""
        form = self.storage(name)
        encoding, planes = form.encodings[i], self.plane_names(name, i)
        if not planes:
            return ";"
        if encoding.plain:
            there = self.there(encoding.word, planes[0], index, const=False)
            return f"{there} = {self.narrow(i, words)};"
        rounded = self.rounded(encoding, form.rounding)
        return f"store_{rounded}({', '.join(planes)}, {index}, {words});"

    def pack(self, words: Iterable[str]) -> str:
        """A value of the format from words (vectors when ``width`` > 1)."""
        words = list(words)
        return words[0] if len(words) == 1 else f"make_{self.value}({', '.join(words)})"

    def alone(self, word: str) -> str:
        """A value that is one word; where it should have a bound, none is known."""
        unknown = [math.inf] if self.format.bounded else []
        lower = [0.0] * (self.format.words - 1 - len(unknown)) + unknown
        return self.pack([word, *map(self.literal, lower)])

    def held_limbs(self, name: str) -> list[int]:
        """The limbs of an operand that lie in memory; others are zero."""
        return [i for i, one in enumerate(self.storage(name).encodings) if one.parts]

    def words(self, name: str, result: Kind) -> list[tuple[int, str]]:
        """The words of a result that is stored as *name*: the numbers of limbs, and their texts."""
        count = len(self.storage(name).encodings)
        texts = [f"result.x{i}" if result.words > 1 else "result" for i in range(count)]
        return list(enumerate(texts))

    def word_of(self, value: str, i: int) -> str:
        """The i-th word of a value."""
        return value if self.format.words == 1 else f"{value}.x{i}"

    def narrow(self, i: int, word: str) -> str:
        """Words as plane *i* stores them."""
        same = self.format.planes[i % self.format.words] == self.format.word
        return word if same else f"narrowed{self.times}({word})"

    def splat(self, word: str) -> str:
        """A scalar word in every lane."""
        return word if self.width == 1 else f"({self.word})({word})"

    def lane(self, word: str, lane: str) -> str:
        """One lane of a word held in a variable."""
        return word if self.width == 1 else f"((const {self.scalar} *)&{word})[{lane}]"


def _nested(text: str) -> str:
    """An operand of an operator."""
    return f"({text})" if " " in text else text


def _plane_names(encoding: Encoding, name: str, i: int) -> list[str]:
    return [f"{name}{i}" + (f"_{j}" if j else "") for j in range(len(encoding.parts))]
