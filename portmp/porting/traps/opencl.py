"""What OpenCL C has not, or has otherwise."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

from portmp.paths import PACKAGE
from portmp.porting import sources
from portmp.porting.traps.base import CERTAIN, LIKELY, OPENCL, Facts, Inside, Trap, at, of_functions
from portmp.porting.words import INCLUDE, Word

_RESERVED = ("local", "global", "kernel", "constant", "private")
_TRIPLE = re.compile(r"\b(?:float|double|int|uint|long|short|char)3\b")


def _told(entry: str, node: sources.Node, words: str, effect: str = "compile") -> Trap:
    return Trap(entry, *at(node), effect, CERTAIN, words, OPENCL)


def parameters(inside: Inside) -> Iterator[Trap]:
    """Vectors of three, flags, sizes and references."""
    kernel = inside.is_kernel
    for node in inside.parameters:
        kind = sources.text_of(node.child_by_field_name("type"))
        declarator = node.child_by_field_name("declarator")
        how = declarator.type if declarator is not None else ""
        if kernel and how == "pointer_declarator" and _TRIPLE.fullmatch(kind):
            words = f"{kind} has the size of four numbers in OpenCL C"
            yield _told("language/vec3-size", node, words, "results")
        if kernel and how != "pointer_declarator" and kind in ("bool", "size_t"):
            words = f"a kernel of OpenCL C takes no {kind}"
            yield _told("language/kernel-arguments", node, words)
        if how == "reference_declarator":
            yield _told("language/references", node, "OpenCL C has no references")


def definitions(inside: Inside) -> Iterator[Trap]:
    """Templates; variables called as words of the language are; arrays as long as a parameter."""
    around, name = inside.node.parent, inside.name
    if around is not None and around.type == "template_declaration":
        words = f"OpenCL C has no templates: {name} is written for each type"
        line = sources.line_of(around)
        yield Trap("language/templates", line, name, "compile", CERTAIN, words, OPENCL)
    for name in [n for n in inside.types if n in _RESERVED]:
        node = next(n for n in inside.nodes if sources.text_of(n) == name)
        yield _told("language/reserved-words", node, f"{name} is a word of OpenCL C")
    given = {sources.declared_name(p) for p in inside.parameters}
    for node in sources.of_type(inside.nodes, "declaration"):
        arrays = sources.of_type(sources.walk(node), "array_declarator")
        if any(sources.text_of(n.child_by_field_name("size")) in given for n in arrays):
            words = "the length of an array is a constant in OpenCL C"
            yield Trap("memory/variable-length", *at(node), "compile", LIKELY, words, OPENCL)


def variables(facts: Facts) -> Iterator[Trap]:
    """Variables in device memory."""
    for node in sources.of_type(facts.source.root.named_children, "declaration"):
        kinds = {n.type for n in sources.walk(node)}
        if kinds & {"__device__", "__managed__"} and "function_declarator" not in kinds:
            words = "OpenCL C 1.2 has no variables in device memory"
            yield _told("memory/device-variables", node, words)


TRAPS = (*map(of_functions, (parameters, definitions)), variables)


# --- the sketch: by tables ------------------------------------------------------------------------


@cache
def table() -> dict[str, Any]:
    """What is looked for, and in words what is and what is not."""
    held = tomllib.loads((PACKAGE / "porting/opencl.toml").read_text(encoding="utf-8"))
    for kind in ("word", "member", "header", "node", "declaration"):
        for row in held[kind]:
            for key in {"pattern", "type", "text"} & row.keys():
                row[key] = re.compile(row[key])
    return held


def sketch(facts: Facts) -> Iterator[Trap]:
    """What OpenCL C has not in code for the device, as far as tables and a few rules tell."""
    groups = set(re.findall(r"namespace\s+(\w+)\s*=\s*cooperative_groups\b", facts.source.text))
    by_groups = "cooperative_groups" in facts.source.text
    opened = re.search(r"using\s+namespace\s+cooperative_groups\b", facts.source.text)
    for word in facts.words:
        if word.kind == INCLUDE:
            rows, words = table()["header"], "OpenCL C has no headers of CUDA's or of C++: {}"
        elif not facts.on_device(word.start) or facts.owns(word):
            continue
        else:
            member = word.kind == "field_identifier"
            rows, words = [] if member else table()["word"], ""
            if by_groups and (member or (opened and _is_called(word))):
                rows = [*rows, *table()["member"]]
        name = "cooperative_groups" if word.scope in groups else word.text
        if row := next((r for r in rows if r["pattern"].fullmatch(name)), None):
            says = row.get("words", words).format(word.text)
            yield Trap(row["entry"], word.line, word.text, "compile", CERTAIN, says, OPENCL)
    for inside in facts.functions:
        for node in inside.nodes:
            for row in table()["node"]:
                if row["type"].fullmatch(node.type) and (
                    "text" not in row or row["text"].fullmatch(sources.text_of(node))
                ):
                    yield _told(row["entry"], node, row["words"])
        yield from _of_function(inside)
    yield from _of_types(facts)


def _is_called(word: Word) -> bool:
    around = word.node.parent if word.node is not None else None
    return around is not None and around.type == "call_expression"


_BUILT_IN = re.compile(
    "clamp|mix|step|smoothstep|sign|degrees|radians|dot|cross|distance|length|normalize|select|any"
    "|all|mad|rotate|popcount|clz|abs_diff|hadd|mul_hi|mul24|upsample|bitselect|shuffle|barrier"
    "|fract|min|max|abs|pown|powr|rootn|nan|as_\\w+|convert_\\w+|vload\\w+|vstore\\w+|prefetch|native_\\w+"
)


def _of_function(inside: Inside) -> Iterator[Trap]:
    """Names that are OpenCL's, pointers without their memory, recursion, atomics of other types."""
    name, node = inside.name, inside.node
    if _BUILT_IN.fullmatch(name):
        yield _told("language/reserved-words", node, f"{name} is a function of OpenCL C's own")
    if sum(other.name == name for other in inside.facts.functions) > 1:
        yield _told("language/templates", node, f"OpenCL C has one function of a name: {name}")
    if name in inside.names_called and "__global__" not in inside.qualifiers:
        yield _told("host/limits", node, f"OpenCL C has no recursion: {name}")
    for parameter in inside.parameters:
        kinds = [n.type for n in sources.walk(parameter.child_by_field_name("declarator"))]
        if "function_declarator" in kinds:
            yield _told("language/function-pointers", parameter, "OpenCL C has no such pointers")
        elif kinds.count("pointer_declarator") > 1 and inside.is_kernel:
            words = "a kernel of OpenCL C takes no pointers to pointers"
            yield _told("language/kernel-arguments", parameter, words)
        elif kinds[:1] == ["pointer_declarator"] and not inside.is_kernel:
            words = f"a pointer names its memory in OpenCL C, one function for each: {name}"
            yield _told("language/address-spaces", parameter, words)
    for call in inside.calls:
        if re.fullmatch(r"atomic\w+", sources.called(call)) and not inside.facts.owns(call):
            kind = inside.facts.kind(next(iter(sources.arguments(call)), None)).rstrip("*")
            if re.fullmatch("float|double|(__)?half2?|(__)?nv_bfloat162?", kind):
                words = f"atomics of {kind} are a loop of compare-and-swap in OpenCL C 1.2"
                entry = f"{kind}-add" if kind in ("float", "double") else "short-types"
                yield _told(f"atomics/{entry}", call, words)
            elif re.search("long long|64", kind):
                words = "atomics of 64 bits are an extension of OpenCL C, with other names"
                yield _told("atomics/signed-64", call, words)


def _of_types(facts: Facts) -> Iterator[Trap]:
    """Structures with functions, access and bases; those named without struct; constant memory."""
    nodes = (node for inside in facts.functions for node in inside.nodes)
    on_device = set(map(sources.text_of, sources.of_type(nodes, "type_identifier")))
    for node in facts.source.nodes:
        if node.type in ("struct_specifier", "class_specifier"):
            name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
            kinds = {n.type for n in sources.walk(body)}
            own = sources.text_of(name)
            if body is None or own not in on_device:
                continue
            if node.type[0] == "c" or kinds & {"access_specifier", "function_definition"}:
                words = f"OpenCL C has no classes and no functions of structures: {own}"
            elif node.parent is not None and node.parent.type == "type_definition":
                continue
            else:
                words = f"{own} is written struct {own} in C"
            yield _told("language/templates", node, words)
        elif node.type == "declaration" and not facts.on_device(node.start_byte):
            for row in table()["declaration"]:
                if row["pattern"].match(sources.text_of(node)):
                    yield _told(row["entry"], node, row["words"])
