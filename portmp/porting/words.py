"""Words of CUDA sources: names, with their places, in code and in the bodies of macros."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from portmp.porting.prepared import CODED
from portmp.porting.sources import Node, Source, parsed, scope_of, text_of, walk
from portmp.porting.tables import named

INCLUDE = "include"
_NAMES = named("nodes_of_names")
_KEYWORDS = named("keywords")

_WORDS = _NAMES | _KEYWORDS
_COMPOUND = "sized_type_specifier"


@dataclass(frozen=True)
class Word:
    """A name: where it begins (in bytes) and its line from 1; ``kind`` is the node's type.

    ``node`` is its node, but nothing inside of a macro, whose body has a tree of its own;
    ``scope``: what stands before ``::``, as ``scope_of`` has it.
    """

    text: str
    start: int
    line: int
    kind: str
    node: Node = field(default=None, compare=False, repr=False)
    scope: str | None = None

    @property
    def end(self) -> int:
        """Where it ends, in bytes."""
        return self.start + len(self.text.encode(*CODED))


def words(source: Source) -> list[Word]:
    """All of them, in the order of the text."""
    found = list(_words(source.root, 0, 0, 0))
    for asked in _ASKED.finditer(source.content):
        line = source.content.count(b"\n", 0, asked.start()) + 1
        found.append(Word(asked[1].decode(*CODED), asked.start(1), line, INCLUDE))
    lines, before = 0, 0
    for one in source.hidden:
        lines += source.content.count(b"\n", before, one.start)
        before = one.start
        inside = parsed(one.text.encode(*CODED))
        found += _words(inside, one.start, lines, 1)
    return sorted(found, key=lambda word: word.start)


_DEEPEST = 4
"""Macros whose bodies hold definitions that hold definitions: more levels are nobody's code."""


def _words(root: Node, offset: int, lines: int, depth: int) -> Iterator[Word]:
    for node in walk(root):
        start, line = node.start_byte + offset, int(node.start_point[0]) + lines + 1
        own = None if depth else node
        if node.type == "preproc_include":
            path = node.child_by_field_name("path")
            if path is not None:
                name = text_of(path).strip('<>"')
                yield Word(name, path.start_byte + 1 + offset, line, INCLUDE, own)
        elif node.type == "preproc_arg" and depth < _DEEPEST:
            if found := _HEADER.search(text_of(node)):
                place = start + len(text_of(node)[: found.start(1)].encode(*CODED))
                yield Word(found[1], place, line, INCLUDE)
            else:
                yield from _words(parsed(node.text), start, line - 1, depth + 1)
        elif node.type in _WORDS and (node.child_count == 0 or node.type == _COMPOUND):
            yield Word(text_of(node), start, line, node.type, own, scope_of(node))


_HEADER = re.compile(r"^\s*[<\"]([\w./+-]+\.(?:h|hpp|cuh|inl)|cuda/\w+)[>\"]")
"""What a macro for a header holds."""
_ASKED = re.compile(rb"\b__has_include\s*\(\s*[<\"]([^>\"\n]+)")
