"""Statements and expressions of CUDA kernels in the words of portmp's templates.

Numbers of float or double become values of the kernel's format, array elements ``load`` and
``store``, indices and barriers the words for them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from portmp.porting.sources import (
    Node,
    arguments,
    called,
    declared_name,
    line_of,
    of_type,
    sides,
    text_of,
    walk,
)
from portmp.porting.tables import table
from portmp.porting.traps.base import SHUFFLES, SHUFFLES_SYNC, Facts, Inside, short

VALUE, WHOLE = "value", "int"

_REALS = ("float", "double")
_INTEGERS: dict[str, str] = table("integers")
_THREADS = {
    "threadIdx": "thread_id",
    "blockIdx": "block_id",
    "blockDim": "block_size",
    "gridDim": "grid_size",
}
_WIDENED = r"\(\s*(size_t|int|unsigned|unsigned int|(unsigned )?long long|int64_t|uint64_t)\s*\)"
_AXES = {"x": 0, "y": 1, "z": 2}
_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_FUNCTIONS: dict[str, str] = table("words")
_ATOMICS: dict[str, str] = table("atomics")
_VOTES = {
    **dict.fromkeys(("__ballot", "__ballot_sync"), "ballot"),
    **dict.fromkeys(("__any", "__any_sync"), "warp_any"),
    **dict.fromkeys(("__all", "__all_sync"), "warp_all"),
}
_PLACES = ("subscript_expression", "pointer_expression", "parenthesized_expression")
_COMPARED = {
    "<": (" == -1",),
    "==": (" == 0",),
    ">": (" == 1",),
    "!=": (" != 0",),
    "<=": (" == -1 || ", " == 0"),
    ">=": (" == 1 || ", " == 0"),
}
"""What follows ``compare``, which is 2 for NaN, each time that a comparison names it."""
_STATEMENTS = {
    "__syncthreads": "${barrier()}",
    "__syncwarp": '${barrier("warp")}',
    "__threadfence": '${fence("device")}',
}


class CannotSay(Exception):
    """There is no translation, and why."""


def _first(node: Node) -> Node:
    """The first part of a node; files that are cut off have nodes without any."""
    if not node.named_children:
        raise CannotSay(f"{text_of(node)}, which is not whole")
    return node.named_children[0]


@dataclass(frozen=True)
class Text:
    """A piece of C with words in it: parts (is it a word?, text), and the kind of its value."""

    parts: tuple[tuple[bool, str], ...]
    kind: str

    @property
    def c(self) -> str:
        """As it stands in the template."""
        return "".join(f"${{{text}}}" if word else text for word, text in self.parts)

    @property
    def python(self) -> str:
        """As an operand of a word."""
        return " + ".join(text if word else json.dumps(text) for word, text in self.parts)


def _c(text: str, kind: str) -> Text:
    return Text(((False, text),), kind)


def _word(code: str, kind: str) -> Text:
    return Text(((True, code),), kind)


def _joined(kind: str, *pieces: str | Text) -> Text:
    parts: list[tuple[bool, str]] = []
    for piece in pieces:
        for word, text in ((False, piece),) if isinstance(piece, str) else piece.parts:
            if parts and not word and not parts[-1][0]:
                parts[-1] = (False, parts[-1][1] + text)
            elif text:
                parts.append((word, text))
    return Text(tuple(parts), kind)


@dataclass
class Array:
    """A pointer that the kernel takes."""

    read: bool
    written: bool
    shape: str = ""

    @property
    def way(self) -> str:
        return "inout" if self.read and self.written else "out" if self.written else "in"


@dataclass
class Writer:
    """What is known of a kernel while it is written."""

    facts: Facts
    inside: Inside
    arrays: dict[str, Array] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    marks: list[tuple[int, str]] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    format: str = "float64"
    types: tuple[str, ...] = ()
    extra: list[str] = field(default_factory=list)

    # --- the head ---------------------------------------------------------------------------------

    def take_parameters(self) -> None:
        """Arrays and numbers of the signature."""
        pointed = [self._pointed(p) for p in self.inside.parameters]
        reals = [kind for _, kind, _, _ in pointed if kind in _REALS]
        self.format = {"float": "float32", "double": "float64"}[(reals or ["double"])[0]]
        around = self.inside.node.parent
        if around is not None and around.type == "template_declaration":
            head = walk(around.child_by_field_name("parameters"))
            types = of_type(head, "type_parameter_declaration")
            self.types = tuple(text_of(n.named_children[-1]) for n in types if n.named_children)
        for node, (name, kind, pointer, const) in zip(self.inside.parameters, pointed, strict=True):
            found = self._kind(kind)
            if not found or not name:
                self._mark(node, f"a parameter of the type {kind or '?'}")
            else:
                self.kinds[name] = found
                if pointer:
                    self.arrays[name] = Array(*self._uses(name, const))
            self.parameters.append(name)
        self._take_constants()

    def _take_constants(self) -> None:
        """Constant memory of the file: arrays that a call gives."""
        for node in of_type(self.facts.source.root.named_children, "declaration"):
            if "__constant__" not in text_of(node):
                continue
            found = self._kind(text_of(node.child_by_field_name("type")))
            for one in of_type(node.children_by_field_name("declarator"), "array_declarator"):
                name = declared_name(one)
                if found and name and self.inside.has(self.inside.node, {name}):
                    self.arrays[name] = Array(True, False)
                    self.kinds[name] = found
                    self.parameters.append(name)

    def _uses(self, name: str, const: bool) -> tuple[bool, bool]:
        """Whether the kernel reads an array, and whether it writes it."""
        if const:
            return True, False
        written = read = False
        for node in [n for n in of_type(self.inside.nodes, "identifier") if text_of(n) == name]:
            one = node
            while one.parent is not None and one.parent.type in _PLACES:
                one = one.parent
            around = one.parent
            if around is None or around.type.endswith("declarator"):
                continue
            left, sign, _ = sides(around)
            if around.type == "assignment_expression" and left is not None and left.id == one.id:
                written = True
                read |= sign != "="
            elif around.type in ("update_expression", "argument_list"):
                given = called(around.parent) if around.parent is not None else ""
                reads_only = given == "__ldg" or one.type == "subscript_expression"
                read = True
                written |= not reads_only or around.type == "update_expression"
            else:
                read = True
        return read or not written, written

    def _length_name(self, name: str) -> str:
        """What the length of an array is called, which no parameter is."""
        for ending in ("_count", "_length", "_size"):
            if name + ending not in self.parameters:
                return name + ending
        return name + "_elements"

    def _pointed(self, node: Node) -> tuple[str, str, bool, bool]:
        declarator = node.child_by_field_name("declarator")
        text = text_of(node)
        name = declared_name(declarator) or text_of(declarator)
        pointer = declarator is not None and declarator.type in (
            "pointer_declarator",
            "array_declarator",
        )
        return name, text_of(node.child_by_field_name("type")), pointer, "const" in text

    def _kind(self, text: str) -> str:
        """The kind of a type's values; nothing for a type that is not known."""
        text = " ".join(re.sub(r"\b(const|volatile)\b", "", text).split())
        if text in _REALS or text in self.types:
            return VALUE
        return _INTEGERS.get(text, "")

    def _type(self, text: str) -> str:
        kind = self._kind(text)
        if not kind:
            raise CannotSay(f"the type {text}")
        return (
            "${value}" if kind == VALUE else "int" if kind in ("bool", "int32") else f"${{{kind}}}"
        )

    def signature(self) -> str:
        """What a call takes."""
        found = []
        for name in self.parameters:
            if name in self.arrays:
                array = self.arrays[name]
                kind = "" if self.kinds[name] == VALUE else f"{self.kinds[name]} "
                found.append(
                    f"{name}: {array.way} {kind}[{array.shape or self._length_name(name)}]"
                )
            elif name in self.kinds and name not in self.sizes():
                kind = self.kinds[name]
                found.append(f"{name}: {'int32' if kind in ('bool', 'int8', 'uint8') else kind}")
        return f"{self.inside.name}({', '.join([*found, *self.extra])})"

    def sizes(self) -> set[str]:
        """Integers that are the length of an array."""
        return {array.shape for array in self.arrays.values() if array.shape}

    # --- statements -------------------------------------------------------------------------------

    def _mark(self, node: Node, why: str) -> None:
        self.marks.append((line_of(node), f"{why}: {short(node)}"))

    def statements(self, node: Node, depth: int) -> Iterator[str]:
        """A statement's lines; a mark where it cannot be said."""
        try:
            yield from list(self._statement(node, depth))
        except (CannotSay, RecursionError) as error:
            why = str(error) if isinstance(error, CannotSay) else "parentheses this deep"
            self._mark(node, why)
            line, why = self.marks[-1]
            yield f"#error line {line} is not translated, {json.dumps(why)}"
            for text in text_of(node).splitlines():
                yield f"## {text.strip()}"

    def _statement(self, node: Node, depth: int) -> Iterator[str]:
        pad = "    " * depth
        if node.type == "compound_statement":
            yield pad + "{"
            for child in node.named_children:
                yield from self.statements(child, depth + 1)
            yield pad + "}"
        elif node.type == "declaration":
            yield from (pad + line for line in self._declaration(node))
        elif node.type == "expression_statement":
            inner = node.named_children[0] if node.named_children else None
            if inner is not None:
                yield pad + self._effect(inner)
        elif node.type == "if_statement":
            condition = self._condition(node.child_by_field_name("condition"))
            yield f"{pad}if ({condition})"
            yield from self._block(node.child_by_field_name("consequence"), depth)
            other = node.child_by_field_name("alternative")
            if other is not None:
                yield f"{pad}else"
                yield from self._block(_first(other), depth)
        elif node.type == "for_statement":
            yield from self._for(node, depth)
        elif node.type == "while_statement":
            condition = self._condition(node.child_by_field_name("condition"))
            yield f"{pad}while ({condition})"
            yield from self._block(node.child_by_field_name("body"), depth)
        elif node.type in ("return_statement", "break_statement", "continue_statement"):
            yield pad + text_of(node)
        elif node.type == "preproc_call":
            yield text_of(node).strip()
        elif node.type != "comment":
            raise CannotSay("a statement of this kind")

    def _block(self, node: Node | None, depth: int) -> Iterator[str]:
        """A body in braces: words may be several statements."""
        if node is None:
            return
        if node.type == "compound_statement":
            yield from self.statements(node, depth)
            return
        yield "    " * depth + "{"
        yield from self.statements(node, depth + 1)
        yield "    " * depth + "}"

    def _for(self, node: Node, depth: int) -> Iterator[str]:
        pad = "    " * depth
        begin = node.child_by_field_name("initializer")
        condition = node.child_by_field_name("condition")
        update = node.child_by_field_name("update")
        first = ""
        if begin is not None and begin.type == "declaration":
            lines = list(self._declaration(begin))
            if len(lines) != 1 or "${value}" in lines[0]:
                raise CannotSay("a loop over this")
            first = lines[0].rstrip(";")
        elif begin is not None:
            first = self._step(begin)
        test = self._condition(condition) if condition is not None else ""
        step = self._step(update) if update is not None else ""
        yield f"{pad}for ({first}; {test}; {step})"
        yield from self._block(node.child_by_field_name("body"), depth)

    def _step(self, node: Node) -> str:
        """What stands in a loop's head: assignments to integers, with commas between them."""
        if node.type == "comma_expression":
            return ", ".join(self._step(child) for child in node.named_children)
        if node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            if left is None or left.type != "identifier" or self.expression(left).kind == VALUE:
                raise CannotSay("a loop with this step")
        elif node.type != "update_expression":
            raise CannotSay("a loop with this step")
        return self._effect(node).rstrip(";")

    def _condition(self, node: Node | None) -> str:
        if node is None:
            raise CannotSay("a condition")
        inner = node.child_by_field_name("value") if node.type == "condition_clause" else node
        return self._test(inner or node).c

    def _test(self, node: Node) -> Text:
        found = self.expression(node)
        if found.kind == VALUE:
            raise CannotSay("a number as a condition")
        return found

    def _declaration(self, node: Node) -> Iterator[str]:
        kind = text_of(node.child_by_field_name("type"))
        words = text_of(node)
        if "__shared__" in words:
            yield from self._shared(node, kind)
            return
        const = "const " if re.match(r"(static )?const\b", words) else ""
        declared = "auto" if kind == "auto" else self._type(kind)
        for one in node.children_by_field_name("declarator"):
            name = declared_name(one)
            value = one.child_by_field_name("value") if one.type == "init_declarator" else None
            if any(n.type in ("pointer_declarator", "reference_declarator") for n in walk(one)):
                raise CannotSay("a pointer")
            if name is None or kind == "auto":
                raise CannotSay("a type that is not written")
            self.kinds[name] = self._kind(kind)
            inner = one.child_by_field_name("declarator") if value is not None else one
            if inner is not None and inner.type == "array_declarator":
                if value is not None:
                    raise CannotSay("an array with values")
                sizes = "".join(f"[{n}]" for n in self._lengths(inner))
                self.shared[name] = self.kinds[name]
                yield f"{declared} {name}{sizes};"
            elif value is None:
                yield f"{declared} {name};"
            else:
                yield f"{const}{declared} {name} = {self._as(value, self.kinds[name]).c};"

    def _lengths(self, node: Node | None) -> list[int]:
        found: list[int] = []
        while node is not None and node.type == "array_declarator":
            size = node.child_by_field_name("size")
            number = self.inside.number(size)
            if number is None:
                raise CannotSay(f"the length {text_of(size) or 'that the launch decides'}")
            found.insert(0, number)
            node = node.child_by_field_name("declarator")
        return found

    def _shared(self, node: Node, kind: str) -> Iterator[str]:
        found = self._kind(kind)
        if not found:
            raise CannotSay(f"block memory of the type {kind}")
        for one in node.children_by_field_name("declarator"):
            name = declared_name(one)
            if name is None or one.type == "init_declarator":
                raise CannotSay("block memory of this form")
            self.shared[name] = self.kinds[name] = found
            if one.type != "array_declarator":
                raise CannotSay("a single variable in block memory")
            if one.child_by_field_name("size") is None:
                raise CannotSay("block memory whose length the launch decides")
            sizes = ", ".join(map(str, self._lengths(one)))
            yield f'${{shared({found}, "{name}", {sizes})}}'

    # --- expressions ------------------------------------------------------------------------------

    def _effect(self, node: Node) -> str:
        """An expression for what it does, as a statement."""
        if node.type == "assignment_expression":
            return self._assignment(node)
        if node.type == "update_expression":
            target = node.child_by_field_name("argument")
            if target is not None and target.type == "identifier":
                found = self.expression(target)
                if found.kind != VALUE:
                    return f"{text_of(node)};"
            raise CannotSay("an update of this")
        if node.type == "call_expression":
            name = called(node)
            if name in _STATEMENTS:
                return _STATEMENTS[name]
            if name in _ATOMICS:
                return self.expression(node).c + ";"
        if node.type == "comma_expression":
            return " ".join(self._effect(child) for child in node.named_children)
        raise CannotSay("an expression of this kind")

    def _assignment(self, node: Node) -> str:
        left, sign, right = sides(node)
        if left is None or right is None:
            raise CannotSay("an assignment")
        place = self._element(left)
        if place is not None:
            name, index = place
            value = self._as(right, self.kinds[name])
            if sign != "=":
                old = _word(f'load("{name}", {index.python})', self.kinds[name])
                value = self._combined(sign[:-1], old, value)
            return f'${{store("{name}", {index.python}, {value.python})}}'
        target = self.expression(left)
        if left.type not in ("identifier", "subscript_expression"):
            raise CannotSay("an assignment to this")
        if target.kind != VALUE:
            return f"{target.c} {sign} {self._as(right, target.kind).c};"
        value = self._as(right, VALUE)
        if sign != "=":
            value = self._combined(sign[:-1], target, value)
        return f"{target.c} = {value.c};"

    def _combined(self, sign: str, a: Text, b: Text) -> Text:
        if a.kind == VALUE:
            if sign not in _OPERATORS:
                raise CannotSay(f"{sign}= of numbers")
            return _word(f"{_OPERATORS[sign]}({a.python}, {b.python})", VALUE)
        return _joined(a.kind, a, f" {sign} (", b, ")")

    def _element(self, node: Node) -> tuple[str, Text] | None:
        """The array and the index of p[i] or *p; None for what is no array's element."""
        if node.type == "parenthesized_expression":
            return self._element(_first(node))
        if node.type == "pointer_expression" and text_of(node).startswith("*"):
            name = text_of(node.child_by_field_name("argument"))
            return (name, _c("0", WHOLE)) if name in self.arrays else None
        if node.type != "subscript_expression":
            return None
        name = text_of(node.child_by_field_name("argument"))
        if name not in self.arrays:
            return None
        return name, self._index(node)

    def _index(self, node: Node) -> Text:
        """What stands in the brackets of an element."""
        found = self.expression(_first(next(of_type(node.children, "subscript_argument_list"))))
        if found.kind == VALUE:
            raise CannotSay("an index that is a number of the format")
        return found

    def _as(self, node: Node, kind: str) -> Text:
        """An expression as a value of a kind."""
        found = self.expression(node)
        if kind == VALUE and found.kind != VALUE:
            literal = self._literal(text_of(node).strip("() "))
            if literal:
                return _word(literal, VALUE)
            return _word(f'from_real("(" + real + ")(" + {found.python} + ")")', VALUE)
        if kind != VALUE and found.kind == VALUE:
            raise CannotSay("a number that is cut to an integer")
        return found

    def _literal(self, text: str) -> str:
        """A constant of the format; nothing for a text that is no literal."""
        text = self.facts.source.constants.get(text, text).strip("() ")
        plain = re.fullmatch(r"(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFuUlL]*", text)
        if plain is None:
            return ""
        number = plain[1]
        if re.fullmatch(r"-?\d+", number):
            return f"number({int(number)})"
        number = re.sub(r"^(-?)\.", r"\g<1>0.", number)
        number = re.sub(r"\.(?=$|[eE])", "", number)
        return f'number("{number}")'

    def expression(self, node: Node) -> Text:
        """An expression in portmp's words; CannotSay where there are none."""
        if found := self.thread(node):
            return found
        handler = getattr(self, f"_of_{node.type}", None)
        if handler is None:
            raise CannotSay("an expression of this kind")
        return handler(node)  # type: ignore[no-any-return]

    def thread(self, node: Node) -> Text | None:
        text = "".join(re.sub(_WIDENED, "", text_of(node)).split())
        for axis, number in _AXES.items():
            index = (rf"blockIdx\.{axis}", rf"blockDim\.{axis}", rf"threadIdx\.{axis}")
            product = rf"\(?(?:{index[0]}\*{index[1]}|{index[1]}\*{index[0]})\)?"
            if re.fullmatch(rf"\(?(?:{product}\+{index[2]}|{index[2]}\+{product})\)?", text):
                return _word(f"global_id({number})" if number else "global_id()", WHOLE)
            stride = rf"(?:blockDim\.{axis}\*gridDim\.{axis}|gridDim\.{axis}\*blockDim\.{axis})"
            if re.fullmatch(stride, text):
                return _word(f"global_size({number})" if number else "global_size()", WHOLE)
        one = re.fullmatch(r"(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])", text)
        if one:
            if one[1] == "blockDim":
                return _word(f"str(block_size({_AXES[one[2]]}))", WHOLE)
            return _word(f"{_THREADS[one[1]]}({_AXES[one[2]]})", WHOLE)
        return None

    def _of_identifier(self, node: Node) -> Text:
        name = text_of(node)
        if name in self.arrays:
            raise CannotSay(f"the address {name}")
        if name in self.kinds:
            if self.kinds[name] == VALUE and name in self.parameters:
                return _word(f'load("{name}")', VALUE)
            return _c(name, VALUE if self.kinds[name] == VALUE else WHOLE)
        number = self.inside.number(node)
        if number is not None:
            return _c(str(number), WHOLE)
        if literal := self._literal(name):
            return _word(literal, VALUE)
        if name == "warpSize":
            return _c("32", WHOLE)
        raise CannotSay(f"the name {name}")

    def _of_number_literal(self, node: Node) -> Text:
        text = text_of(node)
        if re.search(r"[.]|[eE](?!.*[xX])|[fF]$", text) and not text.lower().startswith("0x"):
            return _word(self._literal(text), VALUE)
        return _c(re.sub(r"[uUlL]+$", "", text), WHOLE)

    def _of_true(self, node: Node) -> Text:
        return _c("1", WHOLE)

    def _of_false(self, node: Node) -> Text:
        return _c("0", WHOLE)

    def _of_parenthesized_expression(self, node: Node) -> Text:
        found = self.expression(_first(node))
        return found if found.kind == VALUE else _joined(found.kind, "(", found, ")")

    def _of_unary_expression(self, node: Node) -> Text:
        sign = text_of(node.child_by_field_name("operator"))
        inner = node.child_by_field_name("argument")
        if inner is None:
            raise CannotSay("an expression of this kind")
        found = self.expression(inner)
        if found.kind != VALUE:
            return _joined(WHOLE, sign, found)
        if sign == "-":
            literal = self._literal(f"-{text_of(inner)}")
            return _word(literal or f"negative({found.python})", VALUE)
        if sign == "+":
            return found
        raise CannotSay(f"{sign} of a number")

    def _of_binary_expression(self, node: Node) -> Text:
        left, sign, right = sides(node)
        if left is None or right is None:
            raise CannotSay("an expression of this kind")
        a, b = self.expression(left), self.expression(right)
        if VALUE not in (a.kind, b.kind):
            return _joined(WHOLE, a, f" {sign} ", b)
        a, b = self._as(left, VALUE), self._as(right, VALUE)
        if sign in _OPERATORS:
            return _word(f"{_OPERATORS[sign]}({a.python}, {b.python})", VALUE)
        if sign in _COMPARED:
            word = _word(f"compare({a.python}, {b.python})", WHOLE)
            parts = [part for after in _COMPARED[sign] for part in (word, after)]
            return _joined(WHOLE, "(", *parts, ")")
        raise CannotSay(f"{sign} of numbers")

    def _of_conditional_expression(self, node: Node) -> Text:
        condition = node.child_by_field_name("condition")
        yes, no = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
        if condition is None or yes is None or no is None:
            raise CannotSay("an expression of this kind")
        first, second = self.expression(yes), self.expression(no)
        kind = VALUE if VALUE in (first.kind, second.kind) else WHOLE
        test = self._test(condition)
        return _joined(kind, "(", test, " ? ", self._as(yes, kind), " : ", self._as(no, kind), ")")

    def _of_subscript_expression(self, node: Node) -> Text:
        place = self._element(node)
        if place is not None:
            return self._loaded(*place)
        indices: list[str | Text] = []
        inner: Node | None = node
        while inner is not None and inner.type == "subscript_expression":
            indices = ["[", self._index(inner), "]", *indices]
            inner = inner.child_by_field_name("argument")
        name = text_of(inner)
        if name not in self.shared:
            raise CannotSay(f"an element of {name}")
        return _joined(VALUE if self.shared[name] == VALUE else WHOLE, name, *indices)

    def _of_pointer_expression(self, node: Node) -> Text:
        place = self._element(node)
        if place is None:
            raise CannotSay("a pointer")
        return self._loaded(*place)

    def _loaded(self, name: str, index: Text) -> Text:
        kind = VALUE if self.kinds[name] == VALUE else WHOLE
        return _word(f'load("{name}", {index.python})', kind)

    def _of_cast_expression(self, node: Node) -> Text:
        kind, inner = text_of(node.child_by_field_name("type")), node.child_by_field_name("value")
        return self._cast(kind, inner)

    def _cast(self, kind: str, inner: Node | None) -> Text:
        found = self._kind(kind)
        if not found or inner is None:
            raise CannotSay(f"a conversion to {kind}")
        if found == VALUE:
            return self._as(inner, VALUE)
        value = self._as(inner, WHOLE)
        name = "int" if found in ("int32", "bool") else _word(found, WHOLE)
        return _joined(WHOLE, "(", name, ")(", value, ")")

    def _of_call_expression(self, node: Node) -> Text:
        name, given = called(node), arguments(node)
        if name == "static_cast" or self._kind(name):
            function = text_of(node.child_by_field_name("function"))
            kind = re.sub(r"^static_cast\s*<\s*|\s*>$", "", function)
            if len(given) == 1:
                return self._cast(kind, given[0])
        if name == "__ldg" and len(given) == 1:
            inner = given[0].child_by_field_name("argument")
            if inner is not None and self._element(inner):
                return self._of_subscript_expression(inner)
        if (name in _ATOMICS and len(given) == 2) or (name == "atomicCAS" and len(given) == 3):
            return self._atomic(name, given)
        if name in _VOTES and given:
            return _word(f"{_VOTES[name]}({self._test(given[-1]).python})", WHOLE)
        if name == "__popc" and len(given) == 1:
            return _word(f"popcount({self._as(given[0], WHOLE).python})", WHOLE)
        if name in SHUFFLES | SHUFFLES_SYNC:
            return self._shuffle(name, given)
        if name in ("rsqrt", "rsqrtf", "__frsqrt_rn") and len(given) == 1:
            inner = self._as(given[0], VALUE)
            return _word(f"div(number(1), sqrt({inner.python}))", VALUE)
        return self._function(name, given)

    def _function(self, name: str, given: list[Node]) -> Text:
        """Functions of numbers; min and max of integers."""
        if name in _FUNCTIONS:
            found = [self.expression(one) for one in given]
            if VALUE in [one.kind for one in found]:
                values = ", ".join(self._as(one, VALUE).python for one in given)
                return _word(f"{_FUNCTIONS[name]}({values})", VALUE)
            if name in ("min", "max") and len(found) == 2:
                sign = "<" if name == "min" else ">"
                a, b = found
                return _joined(WHOLE, "((", a, f") {sign} (", b, ") ? (", a, ") : (", b, "))")
        raise CannotSay(f"a call of {name}")

    def _atomic(self, name: str, given: list[Node]) -> Text:
        target = given[0]
        of_address = target.type == "pointer_expression" and text_of(target).startswith("&")
        inner = target.child_by_field_name("argument") if of_address else None
        place = self._element(inner) if inner is not None else None
        if place is None and text_of(target) in self.arrays:
            place = (text_of(target), _c("0", WHOLE))
        if place is not None:
            where, index = place
            kind = self.kinds[where]
        elif inner is not None and inner.type == "subscript_expression":
            where = text_of(inner.child_by_field_name("argument"))
            if where not in self.shared:
                raise CannotSay("an atomic on this")
            index, kind = self._index(inner), self.shared[where]
        else:
            raise CannotSay("an atomic on this")
        if kind == VALUE:
            raise CannotSay("an atomic on a number of the format")
        values = ", ".join(self._as(one, WHOLE).python for one in given[1:])
        operation = _ATOMICS.get(name, "compare_and_swap")
        return _word(f'atomic("{operation}", "{where}", {index.python}, {values})', WHOLE)

    def _shuffle(self, name: str, given: list[Node]) -> Text:
        rest = given[1:] if name.endswith("_sync") else given
        if len(rest) not in (2, 3):
            raise CannotSay(f"{name} with {len(given)} arguments")
        value, by = self.expression(rest[0]), self._as(rest[1], WHOLE)
        word = name.removesuffix("_sync").replace("__shfl", "shuffle")
        kind = "" if value.kind == VALUE else ", int32"
        width = self.inside.number(rest[2]) if len(rest) > 2 else None
        if width not in (None, 8, 16, 32):
            raise CannotSay(f"a shuffle of {width} lanes")
        lanes = f"{kind or ', value'}, {width}" if width else kind
        return _word(f"{word}({value.python}, {by.python}{lanes})", value.kind)
