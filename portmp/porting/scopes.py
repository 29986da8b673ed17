"""Names that a source declares itself, and where they are meant: by its scopes, not by its text.

A program may have a function ``cudaFree`` in a namespace of its own beside CUDA's, a variable that
is called as a type is, or tell of a type of CUDA's (``struct cudaArray;``) without its headers.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import cast

from portmp.porting import names, sources
from portmp.porting.tables import named

_FILE = ""
"""The name of the scope that is a file."""
_OF_CUDA = frozenset(
    ("", "cooperative_groups", "nvcuda", "wmma", "cub", "thrust", "cuda", "std", "experimental")
)
_MACROS = ("preproc_def", "preproc_function_def")
_TAGS = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier")
_VARIABLES = (
    *("declaration", "parameter_declaration", "optional_parameter_declaration"),
    *("field_declaration", "type_definition", "for_range_loop"),
)
_NAMED = (
    *("alias_declaration", "namespace_alias_definition", "namespace_definition", "enumerator"),
    *("type_parameter_declaration", *_MACROS),
)
_OF_TYPES = (*_TAGS, "type_definition", "alias_declaration", "type_parameter_declaration", *_MACROS)
_AROUND = named("scopes")


@dataclass
class Own:
    """Names that a source declares.

    ``members``: of each namespace and class, and of the file (''); ``spans``: from where to where
    a name is meant; ``bodies``: of namespaces and classes; ``bases``: what a class is made of;
    ``types``: names of types among them; ``aliases``: other names of CUDA's namespaces;
    ``headers``: where CUDA's are included.
    """

    members: dict[str, set[str]] = field(default_factory=dict)
    spans: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    bodies: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    bases: dict[str, set[str]] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    aliases: set[str] = field(default_factory=set)
    headers: list[int] = field(default_factory=list)

    def has(self, name: str, place: int, scope: str | None) -> bool:
        """Whether a name at a place, in bytes, is the program's; *scope*: see ``scope_of``."""
        if scope is None:
            return any(first <= place < last for first, last in self.spans.get(name, ()))
        if scope == "":
            return name in self.members.get(_FILE, ())
        if scope == ".":
            return any(name in some for of, some in self.members.items() if of != _FILE)
        return scope not in self.aliases | _OF_CUDA and names.hip_name(scope) is None

    def with_members(self, other: "Own", of_file: bool) -> None:
        """Members of scopes that another file declares; *of_file*: what it declares outside too."""
        for scope, some in other.members.items():
            if scope != _FILE or of_file:
                self.members.setdefault(scope, set()).update(some)
        self.types |= other.types
        for name, some in other.bases.items():
            self.bases.setdefault(name, set()).update(some)

    def spread(self) -> None:
        """The spans of members: where the bodies of their scopes are."""
        for scope, bodies in self.bodies.items():
            left, seen = [scope], set[str]()
            while left:
                one = left.pop()
                if one not in seen:
                    seen.add(one)
                    left += self.bases.get(one, ())
                    for name in self.members.get(one, ()):
                        self.spans.setdefault(name, []).extend(bodies)


def own(source: sources.Source) -> Own:
    """The names that a source declares, and those it sees of files that are read with it."""
    found = deepcopy(_declared(source))
    for other, included in source.beside():
        found.with_members(_declared(other), included)
    found.bodies[_FILE] = [(0, len(source.content) + 1)]
    found.spread()
    return found


def _declared(source: sources.Source) -> Own:
    """The names that a source declares itself, looked for once."""
    if "own" not in source.found:
        source.found["own"] = _read(source)
    return cast(Own, source.found["own"])


def _read(source: sources.Source) -> Own:
    found = Own()
    for node in sources.of_type(source.nodes, "preproc_include"):
        path = sources.text_of(node.child_by_field_name("path")).strip('<>"')
        found.headers += [node.start_byte] * bool(names.header(path))
    for node in source.nodes:
        if node.type in (*_TAGS, "namespace_definition"):
            _scope(found, node)
        elif node.type == "function_definition" and (outside := _scope_of_definition(node)):
            found.bodies.setdefault(outside, []).append((node.start_byte, node.end_byte))
        elif node.type == "using_declaration":
            _using(found, node)
        for name in _names(node):
            if node.type in _OF_TYPES:
                found.types.add(name)
            if _is_alias_of_cuda(node, found):
                found.aliases.add(name)
            elif node.type in _MACROS:
                if not _stands_in(node, found):
                    found.members.setdefault(_FILE, set()).add(name)
            else:
                _declare(found, node, name)
    return found


def _scope(found: Own, node: sources.Node) -> None:
    """Where a namespace or a class has its body, and on what classes it rests."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None or node.type == "enum_specifier":
        return
    found.bodies.setdefault(_last(name), []).append((body.start_byte, body.end_byte))
    for clause in sources.of_type(node.children, "base_class_clause"):
        some = map(sources.text_of, sources.of_type(sources.walk(clause), "type_identifier"))
        found.bases.setdefault(_last(name), set()).update(some)


def _using(found: Own, node: sources.Node) -> None:
    """``using namespace n;`` and ``using n::name;``."""
    what = node.named_children[-1] if node.named_children else None
    around, _ = _around(node)
    if what is None or around is None:
        return
    span = (int(node.start_byte), int(around.end_byte))
    name = next(n for n in reversed(list(sources.walk(what))) if n.child_count == 0)
    if any(child.type == "namespace" for child in node.children):
        found.bodies.setdefault(sources.text_of(name), []).append(span)
    elif (scope := sources.scope_of(name)) and found.has(sources.text_of(name), 0, scope):
        found.spans.setdefault(sources.text_of(name), []).append(span)


def _names(node: sources.Node) -> Iterator[str]:
    """What a node declares."""
    if node.type in _NAMED or (node.type in _TAGS and node.child_by_field_name("body")):
        name = node.child_by_field_name("name")
        if name is None and node.type == "type_parameter_declaration" and node.named_children:
            name = node.named_children[-1]
        if name is not None:
            yield _last(name)
    elif node.type in _VARIABLES or node.type == "function_definition":
        for one in node.children_by_field_name("declarator"):
            name_node = next(sources.of_type(sources.walk(one), *_LEAVES), None)
            if name_node is None or sources.scope_of(name_node) is None:
                yield sources.declared_name(one) or ""


_LEAVES = ("identifier", "field_identifier", "type_identifier")


def _declare(found: Own, node: sources.Node, name: str) -> None:
    around, scope = _around(node)
    if around is None or not name:
        return
    if scope == _FILE and (_of_cuda_again(node) or _stands_in(node, found)):
        return
    if scope is not None:
        found.members.setdefault(scope, set()).add(name)
    else:
        first = node.end_byte if node.type in _TAGS else _begins(node, name)
        found.spans.setdefault(name, []).append((first, int(around.end_byte)))


def _begins(node: sources.Node, name: str) -> int:
    """Where a name begins in what declares it: before, in its type, it is another's."""
    for one in node.children_by_field_name("declarator"):
        for leaf in sources.of_type(sources.walk(one), *_LEAVES):
            if sources.text_of(leaf) == name:
                return int(leaf.start_byte)
    return int(node.start_byte)


def _around(node: sources.Node) -> tuple[sources.Node | None, str | None]:
    """The scope that a declaration stands in, and its name, if it has one."""
    around = list(sources.parents(node))
    if node.type == "enumerator" and len(around) > 1:
        if any(c.type in ("class", "struct") for c in around[1].children):
            return around[0], None
        around = around[2:]
    for one in around:
        kind = one.type
        if kind in _TAGS or kind == "namespace_definition":
            name = one.child_by_field_name("name")
            inline = any(child.type == "inline" for child in one.children)
            if kind in _TAGS or (name is not None and not inline):
                return one, _last(name) if name is not None else None
        elif kind == "translation_unit":
            return one, _FILE
        elif (
            kind in _AROUND
            and not (kind == "template_declaration" and node.type not in _PARAMETERS)
            and (kind != "declaration" or node.type.endswith("parameter_declaration"))
        ):
            return one, None
    return None, None


_PARAMETERS = ("type_parameter_declaration", "parameter_declaration")
"""What stands in a template's head, not behind it."""


def _scope_of_definition(node: sources.Node) -> str | None:
    """The class or the namespace before ``::`` of a function's name."""
    found = None
    for one in sources.walk(node.child_by_field_name("declarator")):
        if one.type == "parameter_list":
            break
        if one.type == "qualified_identifier" and (scope := one.child_by_field_name("scope")):
            found = _last(scope)
    return found


def _last(name: sources.Node) -> str:
    """A name without what stands before ``::`` and after ``<``."""
    if name.type in ("template_type", "qualified_identifier"):
        return _last(name.child_by_field_name("name") or name.children[0])
    return sources.text_of(name).rpartition("::")[2]


def _is_alias_of_cuda(node: sources.Node, found: Own) -> bool:
    if node.type != "namespace_alias_definition":
        return False
    named = sources.text_of(node.named_children[-1]).split("::")
    return any(one in found.aliases | _OF_CUDA and one for one in named)


def _of_cuda_again(node: sources.Node) -> bool:
    """Whether what a file declares is one of CUDA's own once more: a function's head, a handle."""
    if node.type == "declaration":
        inner = node.child_by_field_name("declarator")
        while inner is not None and inner.type in ("pointer_declarator", "reference_declarator"):
            inner = inner.child_by_field_name("declarator")
        return inner is not None and inner.type == "function_declarator"
    if node.type not in ("type_definition", "alias_declaration"):
        return False
    kinds = [sources.text_of(n) for n in sources.walk(node.child_by_field_name("type"))]
    return any(names.hip_name(kind) is not None for kind in kinds)


def _stands_in(node: sources.Node, found: Own) -> bool:
    """Whether a definition stands in for CUDA's where CUDA is not there: the other branch of a
    conditional includes CUDA's headers. Then both branches get the names of HIP. Or for editors.
    """
    for one in sources.of_type(sources.parents(node), *_CONDITIONALS):
        if _OF_EDITORS.search(sources.text_of(one).partition("\n")[0]):
            return True
        other = one.child_by_field_name("alternative")
        if other is not None:
            first, last = other.start_byte, other.end_byte
            places = [p for p in found.headers if one.start_byte <= p < one.end_byte]
            if any((first <= p < last) != (first <= node.start_byte < last) for p in places):
                return True
    return False


_OF_EDITORS = re.compile("__(INTELLISENSE|RESHARPER|CLION_IDE|JETBRAINS_IDE|CLANGD|CDT_PARSER)__")
_CONDITIONALS = ("preproc_if", "preproc_ifdef", "preproc_elif")
