"""What OpenCL C has not, or has otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portmp.porting.sources import Node, declared_name, line_of, text_of, walk
from portmp.porting.traps.base import CERTAIN, LIKELY, OPENCL, Facts, Inside, Trap, at

_RESERVED = ("local", "global", "kernel", "constant", "private")
_TRIPLE = re.compile(r"\b(?:float|double|int|uint|long|short|char)3\b")


def parameters(facts: Facts) -> Iterator[Trap]:
    """Vectors of three, flags, sizes and references."""
    for inside in facts.functions:
        kernel = inside.function.is_kernel
        for node in inside.function.parameters:
            kind = text_of(node.child_by_field_name("type"))
            declarator = node.child_by_field_name("declarator")
            how = declarator.type if declarator is not None else ""
            if kernel and how == "pointer_declarator" and _TRIPLE.fullmatch(kind):
                words = f"{kind} has the size of four numbers in OpenCL C"
                yield Trap("language/vec3-size", *at(node), "results", CERTAIN, words, OPENCL)
            if kernel and how != "pointer_declarator" and kind in ("bool", "size_t"):
                words = f"a kernel of OpenCL C takes no {kind}"
                yield Trap(
                    "language/kernel-arguments", *at(node), "compile", CERTAIN, words, OPENCL
                )
            if how == "reference_declarator":
                words = "OpenCL C has no references"
                yield Trap("language/references", *at(node), "compile", CERTAIN, words, OPENCL)


def templates(facts: Facts) -> Iterator[Trap]:
    """Templates."""
    for inside in facts.functions:
        around = inside.node.parent
        if around is not None and around.type == "template_declaration":
            words = f"OpenCL C has no templates: {inside.name} is written for each type"
            line, name = line_of(around), inside.name
            yield Trap("language/templates", line, name, "compile", CERTAIN, words, OPENCL)


def names(facts: Facts) -> Iterator[Trap]:
    """Variables that are called as words of the language are."""
    for inside in facts.functions:
        for name in inside.types:
            if name in _RESERVED:
                node = next(n for n in inside.nodes if text_of(n) == name)
                words = f"{name} is a word of OpenCL C"
                yield Trap("language/reserved-words", *at(node), "compile", CERTAIN, words, OPENCL)


def lengths(facts: Facts) -> Iterator[Trap]:
    """Arrays whose length is a variable."""
    for inside in facts.functions:
        for node in inside.nodes:
            if node.type == "declaration" and _length(inside, node):
                words = "the length of an array is a constant in OpenCL C"
                yield Trap("memory/variable-length", *at(node), "compile", LIKELY, words, OPENCL)


def _length(inside: Inside, node: Node) -> bool:
    """Whether an array's length is a parameter of the function."""
    given = {declared_name(p) for p in inside.function.parameters}
    return any(
        n.type == "array_declarator" and text_of(n.child_by_field_name("size")) in given
        for n in walk(node)
    )


def variables(facts: Facts) -> Iterator[Trap]:
    """Variables in device memory."""
    for node in facts.source.root.named_children:
        if node.type != "declaration":
            continue
        kinds = {n.type for n in walk(node)}
        if kinds & {"__device__", "__managed__"} and "function_declarator" not in kinds:
            words = "OpenCL C 1.2 has no variables in device memory"
            yield Trap("memory/device-variables", *at(node), "compile", CERTAIN, words, OPENCL)


TRAPS = (parameters, templates, names, lengths, variables)
