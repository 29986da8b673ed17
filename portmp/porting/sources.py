"""CUDA sources as syntax trees, read by tree-sitter's grammar for CUDA."""

from __future__ import annotations

import ast
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path, PurePath
from typing import Any

from portmp.errors import BackendUnavailable, InputError
from portmp.porting import prepared
from portmp.porting.prepared import CODED, Hidden, Macro
from portmp.porting.tables import table

Node = Any
"""A node of tree-sitter's: type, text, children, place."""

_REMEDY = "pip install '.[port]' (tree-sitter and tree-sitter-cuda)"
_LARGEST = 4 * 2**20


@cache
def _parser() -> Any:
    try:
        import tree_sitter
        import tree_sitter_cuda
    except ImportError as error:
        raise BackendUnavailable(f"CUDA sources are read by tree-sitter; {_REMEDY}") from error
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def parsed(content: bytes) -> Node:
    """The root of a text's syntax tree; BackendUnavailable where the parser is missing."""
    return _parser().parse(content).root_node


@dataclass(frozen=True)
class Source:
    """A file's text and its syntax tree.

    *macros*: those of files that are read with it; *group*: those files, and itself; *place*: where
    it lies below the folder that all of them have in common; *found*: what is kept of it.
    """

    name: str
    content: bytes = field(repr=False)
    macros: Mapping[str, Macro] = field(default_factory=dict, repr=False)
    group: Sequence[Source] = field(default=(), repr=False, compare=False)
    place: PurePath = field(default_factory=PurePath)
    found: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def included(self) -> dict[str, Source | None]:
        """What its includes name, and which files of the group these are."""
        names = [name.decode(*CODED) for name in _INCLUDE.findall(self.content)]
        return {name: self.of_group(name) for name in names}

    def of_group(self, name: str) -> Source | None:
        """The file of the group that an include names: beside it, or through a folder of -I."""
        beside = PurePath(os.path.normpath(self.place.parent / name))
        parts = tuple(part for part in PurePath(name).parts if part not in ("..", "."))
        ending = [s for s in self.group if s.place.parts[-len(parts) :] == parts and s is not self]
        return next((s for s in ending if s.place == beside), next(iter(ending), None))

    def beside(self) -> Iterator[tuple[Source, bool]]:
        """Other files of the group, and whether it includes them, by others too."""
        left, seen = [self], {id(self)}
        while left:
            for one in left.pop().included.values():
                if one is not None and id(one) not in seen:
                    seen.add(id(one))
                    left.append(one)
        return ((one, id(one) in seen) for one in self.group if one is not self)

    @cached_property
    def all_included(self) -> list[Source]:
        """Files of the group that it includes, by others too."""
        return [other for other, included in self.beside() if included]

    @cached_property
    def _prepared(self) -> tuple[bytes, tuple[Hidden, ...]]:
        return prepared.text(self.content, parsed, walk, self.macros)

    @cached_property
    def root(self) -> Node:
        """The root of the syntax tree, of the text as the grammar can read it."""
        return parsed(self._prepared[0])

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the tree, in the order of the text."""
        return tuple(walk(self.root))

    @property
    def hidden(self) -> tuple[Hidden, ...]:
        """What the tree does not show: words in macros, words that the grammar does not know."""
        return self._prepared[1]

    @property
    def text(self) -> str:
        """The text; bytes that are no UTF-8 are kept as surrogates."""
        return self.content.decode(*CODED)

    @cached_property
    def lines(self) -> list[str]:
        """Lines of the text."""
        return self.text.split("\n")

    @cached_property
    def constants(self) -> dict[str, str]:
        """Texts of macros without parameters, and of constants, in files that it includes too."""
        found: dict[str, str] = {}
        for other in self.all_included:
            found |= other.own_constants
        return found | self.own_constants

    @cached_property
    def own_constants(self) -> dict[str, str]:
        """Those of the file alone."""
        found = dict(self.named_texts)
        for node in self.nodes:
            if node.type == "init_declarator" and _is_constant(node):
                name = declared_name(node)
                value = node.child_by_field_name("value")
                if name and value is not None:
                    found[name] = text_of(value).strip("{}")
            elif node.type == "enumerator" and (value := node.child_by_field_name("value")):
                found[text_of(node.child_by_field_name("name"))] = text_of(value)
        return found

    @cached_property
    def named_texts(self) -> list[tuple[str, str]]:
        """Macros without parameters, and their texts."""
        some = of_type(self.nodes, "preproc_def")
        values = ((n.child_by_field_name("name"), n.child_by_field_name("value")) for n in some)
        return [(text_of(name), without_comments(value)) for name, value in values if value]

    def value_of(self, node: Node | None) -> int | None:
        """The number that an expression is, if it is a literal or a name for one."""
        return number(text_of(node), self.constants)


_LAMBDA = "lambda_expression"
DEFINITIONS = ("function_definition", _LAMBDA)
"""Nodes of functions."""


@dataclass(frozen=True)
class Function:
    """A function that is defined in a source."""

    source: Source = field(repr=False)
    node: Node = field(repr=False)

    @cached_property
    def name(self) -> str:
        """Its name; a lambda is called by its place."""
        if self.node.type == _LAMBDA:
            return f"lambda of line {line_of(self.node)}"
        return declared_name(self.node) or _conversion(self.node)

    @cached_property
    def qualifiers(self) -> frozenset[str]:
        """Words such as __global__ before its body, in macros too."""
        body = self.node.child_by_field_name("body")
        end = int(self.node.end_byte if body is None else body.start_byte)
        hidden = prepared.qualifiers(self.source.hidden, self._begin, end)
        head = [c for c in self.node.children if body is None or c.start_byte < body.start_byte]
        words = {n.type for child in head for n in walk(child) if n.type.startswith("__")}
        words |= {text_of(n) for c in head for n in walk(c) if text_of(n) in _QUALIFIERS}
        return hidden | words

    @property
    def _begin(self) -> int:
        """Where words before it may begin that the tree does not show."""
        if self.node.type == _LAMBDA:
            return int(self.node.start_byte)
        before = self.node.prev_sibling
        while before is not None and before.type == "comment":
            before = before.prev_sibling
        if before is not None:
            return int(before.end_byte)
        around = self.node.parent
        at_top = around is None or around.parent is None  # whose tree begins at the first word
        return 0 if at_top else int(around.start_byte)

    @property
    def is_kernel(self) -> bool:
        """Whether the host launches it."""
        return "__global__" in self.qualifiers

    @property
    def on_device(self) -> bool:
        """Whether it runs on the GPU."""
        return self.is_kernel or "__device__" in self.qualifiers

    @cached_property
    def parameters(self) -> list[Node]:
        """Declarations of its parameters."""
        for node in walk(self.node.child_by_field_name("declarator")):
            if node.type == "parameter_list":
                return [c for c in node.children if c.type.endswith("parameter_declaration")]
        return []


def _conversion(node: Node) -> str:
    """What an operator of conversion is called."""
    found = node.child_by_field_name("declarator")
    return text_of(found) if found is not None and found.type == "operator_cast" else ""


_QUALIFIERS = ("__global__", "__device__", "__host__")


def read(path: str | Path) -> Source:
    """A file; InputError where it cannot be read."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        more = f": give its files, {path}/*.cu" if Path(path).is_dir() else ""
        raise InputError(f"{path}: {error.strerror or error}{more}") from None
    if len(content) > _LARGEST:
        raise InputError(f"{path}: {len(content)} bytes given, sources have at most {_LARGEST}")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: is UTF-16, which compilers do not take either: save it as UTF-8")
    if b"\0" in content:
        raise InputError(f"{path}: is no text: it holds bytes of 0")
    return Source(str(path), content, place=PurePath(Path(path).name))


def together(some: Sequence[Source]) -> list[Source]:
    """Sources that know each other's macros and names, and where they lie beside each other."""
    macros: Mapping[str, Macro] = {}
    for source in some:
        macros = prepared.macros(parsed(source.content), walk, macros)
    paths = [Path.cwd() / os.path.normpath(source.name) for source in some]
    root = os.path.commonpath([path.parent for path in paths]) if paths else ""
    group: list[Source] = []
    for source, path in zip(some, paths, strict=True):
        place = PurePath(path.relative_to(root))
        one = replace(source, macros=macros, group=group, place=place, found={})
        group.append(one)
    return group


_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)', re.MULTILINE)


def walk(node: Node | None) -> Iterator[Node]:
    """A node and all below it, in the order of the text; deep trees do not end the stack."""
    left = [node] if node is not None else []
    while left:
        one = left.pop()
        yield one
        left.extend(reversed(one.children))


def parents(node: Node) -> Iterator[Node]:
    """The nodes around a node, the innermost first."""
    while (node := node.parent) is not None:
        yield node


def of_type(nodes: Iterable[Node], *types: str) -> Iterator[Node]:
    """Those of these types."""
    return (node for node in nodes if node.type in types)


def sides(node: Node) -> tuple[Node | None, str, Node | None]:
    """What stands on the left of an operator, the operator, and what stands on its right."""
    sign = text_of(node.child_by_field_name("operator"))
    return node.child_by_field_name("left"), sign, node.child_by_field_name("right")


def text_of(node: Node | None) -> str:
    """A node's text."""
    return "" if node is None else node.text.decode(*CODED)


def without_comments(node: Node) -> str:
    """A node's text without comments: those after a macro's value are a part of it in the tree."""
    return re.sub(r"//.*|/\*.*?\*/", " ", text_of(node), flags=re.DOTALL).strip()


def line_of(node: Node) -> int:
    """The line on which a node begins, from 1."""
    return int(node.start_point[0]) + 1


def called(call: Node) -> str:
    """The name of what a call calls, without namespaces and template arguments."""
    return text_of(name_called(call))


def name_called(call: Node) -> Node | None:
    """The node of that name."""
    function = call.child_by_field_name("function")
    while function is not None and function.type in (
        "template_function",
        "qualified_identifier",
        "field_expression",
        "dependent_name",
        "template_method",
    ):
        inner = function.child_by_field_name("name") or function.child_by_field_name("field")
        if inner is None:
            break
        function = inner
    return function


def scope_of(node: Node) -> str | None:
    """What a name stands in: the word before its ``::``, '' where there is none before them.

    '.' for a member of an object; None for a name alone.
    """
    around = node.parent
    if around is not None and around.child_by_field_name("scope") == node:
        around = around.parent  # a::node::b
    while around is not None and around.type in ("template_function", "template_type"):
        node, around = around, around.parent
    if around is None or around.type not in ("qualified_identifier", "field_expression"):
        return None
    if around.type == "field_expression":
        return "." if around.child_by_field_name("field") == node else None
    scope = around.child_by_field_name("scope")
    if scope is not None and scope.type == "template_type":
        scope = scope.child_by_field_name("name")
    return None if scope == node else text_of(scope)


def arguments(call: Node) -> list[Node]:
    """Arguments of a call."""
    found = call.child_by_field_name("arguments")
    return list(found.named_children) if found is not None else []


def declared_name(node: Node | None) -> str | None:
    """The name that a declarator or a definition declares."""
    while node is not None:
        if node.type in ("identifier", "field_identifier", "type_identifier", "operator_name"):
            return text_of(node)
        if node.type in ("qualified_identifier", "template_function"):
            node = node.child_by_field_name("name")
            continue
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("reference_declarator", "parenthesized_declarator"):
            inner = node.named_children[-1] if node.named_children else None
        node = inner
    return None


def _is_constant(node: Node) -> bool:
    declaration = node.parent
    if declaration is None or declaration.type != "declaration":
        return False
    words = {text_of(c) for c in declaration.children if c.type == "type_qualifier"}
    return bool(words & {"const", "constexpr"})


def number(text: str, constants: dict[str, str]) -> int | None:
    """The integer that an expression of literals and names is; None if it is none."""
    try:
        tree = ast.parse(_plain(text), mode="eval").body
        return _value(tree, constants, 8)
    except (SyntaxError, ValueError, LookupError, ArithmeticError, RecursionError, MemoryError):
        return None


SIZES: dict[str, int] = table("sizes")
"""Bytes of types."""


def _plain(text: str) -> str:
    """An expression of C as Python reads it, if it is a simple one."""
    if len(text) > 200:
        raise ValueError("too long")
    text = re.sub(r"\bsizeof\s*\(?\s*([\w ]+?)\s*(?:\)|$)", _size, text)
    text = re.sub(r"\(\s*(?:size_t|int|unsigned|unsigned int|long)\s*\)", "", text)
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", " ".join(text.split()))
    return re.sub(r"\b0+([0-7]+)\b", r"0o\1", text).replace("/", "//")


def _size(found: re.Match[str]) -> str:
    """How many bytes a type has, as a number; as it stands where that is not known."""
    return str(SIZES.get(" ".join(found[1].split()), found[0]))


def _value(node: ast.AST, constants: dict[str, str], depth: int) -> int:
    """The integer; ValueError, LookupError or ArithmeticError where there is none."""
    match node:
        case ast.Constant(value=value) if type(value) is int:
            return value
        case ast.Name(id=name) if name in constants and depth:
            inner = ast.parse(_plain(constants[name]), mode="eval").body
            return _value(inner, constants, depth - 1)
        case ast.BoolOp(op=sign, values=parts):
            some = [_value(one, constants, depth) for one in parts]
            return int(all(some) if isinstance(sign, ast.And) else any(some))
        case ast.UnaryOp(op=sign, operand=part):
            return int(_APPLIED[type(sign)](_value(part, constants, depth)))
        case (
            ast.BinOp(left=left, op=sign, right=right)
            | ast.Compare(left=left, ops=[sign], comparators=[right])
        ):
            a, b = _value(left, constants, depth), _value(right, constants, depth)
            large = max(abs(a), abs(b)) > 2**64 or (
                b > 63 and isinstance(sign, ast.LShift | ast.RShift)
            )
            if large or (min(a, b) < 0 and isinstance(sign, ast.FloorDiv | ast.Mod)):
                raise ValueError("another number in C, or too large")
            return int(_APPLIED[type(sign)](a, b))
    raise ValueError("no number")


_APPLIED: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Invert: operator.invert,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Not: operator.not_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
