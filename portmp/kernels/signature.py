"""What a kernel takes: ``axpy(a: value, x: in [n], y: inout [n], flags: in uint8 [n])``.

A parameter with brackets is an array: ``in``, ``out`` or ``inout``, then the format or dtype of
its elements (``value``, the kernel's own format, where nothing is said), then its shape. A name in
a shape is a size: it follows from the arrays of a call, and is an integer of 64 bits in the
kernel. Parameters without brackets are numbers. What each is in a kernel's text and launch says
``codegen.signature``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from portmp import formats
from portmp.arrays.plain import DTYPES
from portmp.codegen.signature import Array, Index, Parameter, Plain, Signature, Value
from portmp.errors import ArgumentError, FormatError, ShapeError, suggestion
from portmp.formats import Format

_HEAD = re.compile(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*", re.DOTALL)
_PARAMETER = re.compile(
    r"\s*(?P<name>[A-Za-z_]\w*)\s*:\s*(?:(?P<way>in|out|inout)\b)?\s*(?P<kind>\w+)?\s*"
    r"(?:\[(?P<shape>[^\[\]]*)\])?\s*"
)
OWN = "value"
"""What stands for the kernel's own format."""
WAYS = ("in", "out", "inout")
MOST_AXES = 8
KEYWORDS = ("device", "devices", "digests", "bound")
"""What calls, ``verify`` and ``tune`` take by name beside parameters and sizes."""

_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True)
class Size:
    """An integer made from sizes by + - * // %, such as ``2 * n + 1``."""

    text: str

    @cached_property
    def _tree(self) -> ast.expr:
        try:
            tree = ast.parse(self.text.strip(), mode="eval").body
        except SyntaxError:
            raise ArgumentError(f"size {self.text!r}: no integer expression") from None
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
                continue
            if isinstance(node, ast.Constant) and type(node.value) is int:
                continue
            if isinstance(node, (ast.Name, ast.Load, ast.operator)):
                continue
            raise ArgumentError(
                f"size {self.text!r}: sizes are made of names, integers, + - * // and %"
            )
        return tree

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The sizes that it is made of."""
        found = {n.id: None for n in ast.walk(self._tree) if isinstance(n, ast.Name)}
        return tuple(found)

    @property
    def is_name(self) -> bool:
        """Whether it is a size itself."""
        return isinstance(self._tree, ast.Name)

    def value(self, known: Mapping[str, int]) -> int:
        """The integer, where *known* has the sizes."""

        def of(node: ast.expr) -> int:
            match node:
                case ast.Name(id=name):
                    return known[name]
                case ast.Constant(value=int(number)):
                    return number
                case ast.BinOp(left=left, op=op, right=right):
                    return _OPERATIONS[type(op)](of(left), of(right))
            raise ArgumentError(f"size {self.text!r}: no integer expression")

        try:
            return of(self._tree)
        except ZeroDivisionError:
            raise ArgumentError(f"size {self.text!r}: division by zero") from None

    def c_text(self) -> str:
        """The same in C, where sizes have 64 bits and are not negative."""
        text = self.text.strip()
        return text if self.is_name else f"({text.replace('//', '/')})"


@dataclass(frozen=True)
class Operand:
    """One operand as it is declared: an array if it has a shape. ``kind``: a format or a dtype."""

    name: str
    way: str
    kind: str
    shape: tuple[Size, ...] | None

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.shape is not None

    @cached_property
    def is_plain(self) -> bool:
        """Whether elements are plain numbers, not values of a format."""
        return self.kind in DTYPES

    @property
    def written(self) -> bool:
        """Whether the kernel writes to it."""
        return self.way != "in"

    def format(self, own: Format) -> Format:
        """The format of its values, in a kernel whose own is *own*."""
        return own if self.kind == OWN else formats.get(self.kind)

    def elements(self, own: Format) -> Format | str:
        """What its elements are there: values of a format, or numbers of a dtype."""
        return self.kind if self.is_plain else self.format(own)

    def taken(self, dense: bool) -> Parameter:
        """What a kernel takes for it: of an array that is *dense* its planes alone."""
        plain = (self.kind,) if self.is_plain else ()
        if self.shape is None:
            return Plain(self.name, self.kind) if plain else Value(self.name)
        steps = () if dense else tuple([f"step{axis}" for axis in range(len(self.shape))])
        return Array(self.name, steps, const=not self.written, plain=plain, start=not dense)


@dataclass(frozen=True)
class Declaration:
    """A kernel's name, and what it takes in the order of calls."""

    name: str
    parameters: tuple[Operand, ...]

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """The names of sizes, in the order in which they first stand."""
        found: dict[str, None] = {}
        for parameter in self.parameters:
            for size in parameter.shape or ():
                found |= dict.fromkeys(size.names)
        return tuple(found)

    @cached_property
    def by_name(self) -> Mapping[str, Operand]:
        """The parameters by name."""
        return {p.name: p for p in self.parameters}

    def taken(self, dense: Collection[str]) -> Signature:
        """What a kernel takes for all of them and, at its end, for the sizes."""
        parameters = [p.taken(p.name in dense) for p in self.parameters]
        return Signature(self.name, (*parameters, *map(Index, self.sizes)))

    def measured(
        self, shapes: Mapping[str, tuple[int, ...]], asked: Mapping[str, int]
    ) -> dict[str, int]:
        """The sizes that follow from the arrays' shapes and from those *asked* for.

        An array that the call leaves out has no shape here. ShapeError where a size is unknown.
        """
        known = dict(asked)
        for name, shape in shapes.items():
            wanted = self.by_name[name].shape or ()
            if len(shape) != len(wanted):
                text = ", ".join(size.text.strip() for size in wanted)
                raise ShapeError(
                    f"{self.name}: {name}: {len(shape)} axes given (shape {shape}), [{text}] has "
                    f"{len(wanted)}"
                )
            for axis, size in enumerate(wanted):
                if size.is_name:
                    known.setdefault(size.names[0], shape[axis])
        if missing := [size for size in self.sizes if size not in known]:
            raise ShapeError(
                f"{self.name}: the size {missing[0]} follows from no array that is given; give it "
                f"as {missing[0]}=..."
            )
        return known

    def check(self, name: str, shape: tuple[int, ...], known: Mapping[str, int]) -> None:
        """ShapeError where an array has not the shape that follows from the sizes."""
        wanted = self.shape(name, known)
        if shape != wanted:
            text = ", ".join(size.text.strip() for size in self.by_name[name].shape or ())
            sizes = ", ".join(f"{size} = {known[size]}" for size in self.sizes)
            raise ShapeError(
                f"{self.name}: {name}: shape {shape} given, [{text}] is {wanted} with {sizes}"
            )

    def shape(self, name: str, known: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of an array, where *known* has the sizes."""
        return tuple(size.value(known) for size in self.by_name[name].shape or ())


def parsed(text: str) -> Declaration:
    """A signature from its text; ArgumentError that says what is wrong with it."""
    head = _HEAD.fullmatch(text) if isinstance(text, str) else None
    if not head:
        raise ArgumentError(
            f"signature: {text!r:.80} given, a name and parameters are needed, such as "
            "'axpy(a: value, x: in [n], y: inout [n])'"
        )
    name, inside = head.groups()
    parts = re.split(r",(?![^\[]*\])", inside)  # at commas outside of brackets
    found = tuple(_parameter(name, part) for part in parts if part.strip())
    sizes = {n for p in found for size in p.shape or () for n in size.names}
    if taken := [one for one in KEYWORDS if one in sizes | {p.name for p in found}]:
        raise ArgumentError(
            f"{name}: {taken[0]!r} is a keyword of calls, no name of a parameter or size"
        )
    seen: set[str] = set()
    for parameter in found:
        if parameter.name in seen or parameter.name in sizes:
            raise ArgumentError(f"{name}: {parameter.name!r} stands for two things")
        seen.add(parameter.name)
    return Declaration(name, found)


def _parameter(kernel: str, text: str) -> Operand:
    match = _PARAMETER.fullmatch(text)
    if not match:
        raise ArgumentError(
            f"{kernel}: parameter {text.strip()!r} given; 'x: in [n]', 'y: out int32 [n, 2]' and "
            "'a: value' are parameters"
        )
    name, way, kind, shape = match["name"], match["way"], match["kind"] or OWN, match["shape"]
    if kind not in (OWN, *DTYPES):
        try:
            formats.get(kind)
        except FormatError:
            near = suggestion(kind, [OWN, *DTYPES, *formats.STANDARD, *WAYS])
            raise ArgumentError(
                f"{kernel}: {name}: unknown kind of elements {kind!r}{near}; value, formats and "
                f"{', '.join(DTYPES)} are known"
            ) from None
    if shape is None:
        if way not in (None, "in"):
            raise ArgumentError(f"{kernel}: {name}: {way} given for a number; only arrays go out")
        return Operand(name, "in", kind, None)
    if way is None:
        raise ArgumentError(f"{kernel}: {name}: an array is in, out or inout, nothing is said")
    sizes = tuple(Size(one.strip()) for one in shape.split(","))
    if len(sizes) > MOST_AXES or not all(size.text for size in sizes):
        raise ArgumentError(
            f"{kernel}: {name}: [{shape}] given, one to {MOST_AXES} sizes are needed"
        )
    for size in sizes:
        _ = size.names  # says what is wrong with it
    return Operand(name, way, kind, sizes)
