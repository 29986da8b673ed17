"""What a trap is, and what is known of the functions in which they are looked for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import takewhile

from portmp.porting.scopes import Own, own
from portmp.porting.sources import (
    DEFINITIONS,
    Function,
    Node,
    Source,
    arguments,
    called,
    declared_name,
    line_of,
    name_called,
    number,
    of_type,
    parents,
    scope_of,
    sides,
    text_of,
    walk,
)
from portmp.porting.tables import named, table
from portmp.porting.words import Word, words

CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"
CERTAINTIES = (CERTAIN, LIKELY, POSSIBLE)

EFFECTS = {
    "compile": ("does not compile", "do not compile"),
    "results": ("may give wrong results", "may give wrong results"),
    "hang": ("may never end", "may never end"),
    "support": ("does not work on every GPU", "do not work on every GPU"),
    "bits": ("gives other bits", "give other bits"),
    "speed": ("is slower than it need be", "are slower than they need be"),
}
"""What a trap, and what several ones do to a program that is translated by names alone; the gravest
first.
"""

HIP, OPENCL = "hip", "opencl"

SHUFFLES = frozenset(("__shfl", "__shfl_up", "__shfl_down", "__shfl_xor"))
SHUFFLES_SYNC = frozenset(f"{name}_sync" for name in SHUFFLES)
BALLOTS = frozenset(("__ballot", "__ballot_sync", "__activemask"))
VOTES_SYNC = frozenset(("__any_sync", "__all_sync"))
MATCHES = frozenset(("__match_any_sync", "__match_all_sync"))
REDUCTIONS = frozenset(f"__reduce_{n}_sync" for n in ("add", "min", "max", "and", "or", "xor"))
WARP = SHUFFLES | SHUFFLES_SYNC | BALLOTS | VOTES_SYNC | MATCHES | REDUCTIONS
WARP |= {"__any", "__all", "__syncwarp"}
BARRIERS = named("barriers")


_TEMPLATE = "template_declaration"
_BUILTIN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_BRANCHES_OF = ("consequence", "alternative")
_QUALIFYING = re.compile(
    r"\b(const|volatile|static|extern|constexpr|register|struct|__\w+__|__restrict)\b"
)
_NUMBER = re.compile(r"(unsigned |signed )?(char|short|int|long|long long)|u?int\d+_t|float|double")


def _of_literal(text: str) -> str:
    """The type of a number as it is written."""
    ending = re.search(r"[uUlLfF]*$", text)
    plain = ending[0].lower() if ending and not text.lower().startswith("0x") else ""
    plain = re.sub(r"[^ul]", "", plain) if "." not in text and "e" not in text.lower() else plain
    if "." in text or (re.search("[eE]", text) and not text.lower().startswith("0x")):
        return "float" if plain == "f" else "double"
    size = {0: "int", 1: "long", 2: "long long"}[min(plain.count("l"), 2)]
    return f"unsigned {size}" if "u" in plain else size


_SCOPES = named("scopes_of_files")


@dataclass(frozen=True)
class Trap:
    """One place where an entry applies.

    ``construct``: the text there, in short; ``effect``: a key of EFFECTS; ``platform``: where it
    bites, hip (AMD) or opencl; ``words``: what is wrong at this place; ``cured``: whether the HIP
    text that was written with the report has it right; ``kept``: whether it is the same there.
    """

    entry: str
    line: int
    construct: str
    effect: str
    certainty: str
    words: str
    platform: str = HIP
    cured: bool = False
    kept: bool = False


@dataclass(frozen=True)
class Facts:
    """A source, and what its functions do."""

    source: Source
    _around: dict[int, dict[str, str]] = field(default_factory=dict, repr=False, compare=False)
    """Types of the variables of each function that was asked for."""

    @cached_property
    def words(self) -> list[Word]:
        """Names in it."""
        return words(self.source)

    @cached_property
    def own(self) -> Own:
        """Names that it declares."""
        return own(self.source)

    def owns(self, what: Word | Node) -> bool:
        """Whether a word, or the name that a call calls, is the program's own."""
        if isinstance(what, Word):
            is_type = what.kind == "type_identifier" and what.scope is None
            if is_type and what.text not in self.own.types:
                return False  # a variable of that name is no type
            return self.own.has(what.text, what.start, what.scope)
        name = name_called(what)
        return name is not None and self.own.has(text_of(name), name.start_byte, scope_of(name))

    @cached_property
    def functions(self) -> list[Inside]:
        """Functions that run on the device."""
        found = [Inside(self.source, n, self) for n in of_type(self.source.nodes, *DEFINITIONS)]
        return [inside for inside in found if inside.name and inside.on_device]

    @cached_property
    def _places(self) -> tuple[list[int], list[int], list[Inside]]:
        """Where device functions begin, how far those up to each one reach, and the functions."""
        found = sorted((_whole(f.node), i) for i, f in enumerate(self.functions))
        starts, ends = [], list[int]()
        for (first, last), _ in found:
            starts.append(first)
            ends.append(max(last, ends[-1] if ends else 0))
        return starts, ends, [self.functions[i] for _, i in found]

    def around(self, place: int) -> Iterator[Inside]:
        """Device functions that a place, in bytes, lies in."""
        starts, ends, functions = self._places
        i = bisect_right(starts, place) - 1
        while i >= 0 and ends[i] > place:
            if _whole(functions[i].node)[1] > place:
                yield functions[i]
            i -= 1

    def on_device(self, place: int) -> bool:
        """Whether a place is in one of them."""
        return next(self.around(place), None) is not None

    @cached_property
    def left_out(self) -> list[tuple[int, int, str]]:
        """Branches that AMD's compilers do not see: their lines, and the name that they lack."""
        kinds = ("preproc_if", "preproc_ifdef", "preproc_elif")
        return [one for node in of_type(self.source.nodes, *kinds) for one in _left_out(node)]

    @cached_property
    def types(self) -> dict[str, str]:
        """Types of variables at file scope and in namespaces."""
        left, found = [self.source.root], list[Node]()
        while left:
            one = left.pop()
            if one.type == "declaration":
                found.append(one)
            elif one.type in _SCOPES or one.type.startswith("preproc_"):
                left.extend(reversed(one.named_children))
        return _types(found)

    def number(self, node: Node | None) -> int | None:
        """A number that an expression is, by names too: of constants, of variables set once."""
        return number(text_of(node), self._numbers)

    @cached_property
    def _numbers(self) -> dict[str, str]:
        found: dict[str, set[str]] = {}
        for node in self.source.nodes:
            if node.type == "init_declarator":
                name, value = declared_name(node), node.child_by_field_name("value")
            elif node.type in ("assignment_expression", "update_expression"):
                left = node.child_by_field_name("left") or node.child_by_field_name("argument")
                name, value = text_of(left), node.child_by_field_name("right")
                if text_of(node.child_by_field_name("operator")) != "=":
                    value = None
            else:
                continue
            if name:
                found.setdefault(name, set()).add(text_of(value))
        once = {name: one for name, some in found.items() if len(some) == 1 for one in some}
        return once | self.source.constants

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """Other names of types, in files that it includes too."""
        found: dict[str, str] = {}
        for one in (*self.source.all_included, self.source):
            found |= {name: text for name, text in one.named_texts if _NUMBER.fullmatch(text)}
            for node in of_type(one.nodes, "type_definition", "alias_declaration"):
                name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
                if name is not None and name.type == "type_identifier":
                    found[text_of(name)] = text_of(node.child_by_field_name("type"))
        return found

    def plain(self, kind: str) -> str:
        """A type without words that say where it is and whether it changes; without other names."""
        for _ in range(4):
            kind = " ".join(_QUALIFYING.sub(" ", kind).replace("std::", "").split())
            name = kind.rstrip("* ")
            if name not in self._aliases:
                break
            kind = self._aliases[name] + kind[len(name) :]
        return kind

    @cached_property
    def templates(self) -> dict[str, frozenset[int]]:
        """Templates of functions, and which of their parameters have any type; of headers too."""
        found: dict[str, frozenset[int]] = {}
        for source in (self.source, *self.source.all_included):
            if "templates" not in source.found:
                source.found["templates"] = dict(self._templates(source))
            found |= source.found["templates"]
        return found

    def _templates(self, source: Source) -> Iterator[tuple[str, frozenset[int]]]:
        for node in of_type(source.nodes, "function_definition"):
            if not any(of_type(parents(node), _TEMPLATE)):
                continue
            given = Function(source, node).parameters
            kinds = [text_of(one.child_by_field_name("type")) for one in given]
            some = frozenset(i for i, kind in enumerate(kinds) if self.is_parameter(kind, node))
            if some and (name := declared_name(node)):
                yield name, some

    def is_parameter(self, kind: str, node: Node) -> bool:
        """Whether a type is a parameter of the template around a node."""
        heads = [n.child_by_field_name("parameters") for n in of_type(parents(node), _TEMPLATE)]
        return any(text_of(n) == kind for head in heads for n in walk(head))

    def kind(self, node: Node | None) -> str:
        """The type of an expression where it is easily told, else nothing; 'index': threadIdx."""
        if node is None:
            return ""
        if node.type == "identifier":
            return self._of_variable(node)
        if node.type == "number_literal":
            return _of_literal(text_of(node))
        if node.type in ("cast_expression", "compound_literal_expression"):
            return self.plain(text_of(node.child_by_field_name("type")))
        if node.type == "call_expression":
            return self._of_call(node)
        if node.type in ("parenthesized_expression", "unary_expression", "update_expression"):
            inner = node.child_by_field_name("argument") or next(iter(node.named_children), None)
            return self.kind(inner)
        if node.type in ("subscript_expression", "pointer_expression"):
            found = self.kind(node.child_by_field_name("argument"))
            if node.type == "pointer_expression" and text_of(node)[:1] == "&":
                return found and f"{found}*"
            return found[:-1].strip() if found.endswith("*") else ""
        if node.type == "field_expression":
            of = text_of(node.child_by_field_name("argument"))
            return "unsigned" if of in _BUILTIN else ""
        if node.type in ("binary_expression", "conditional_expression"):
            left, right = ("left", "right") if node.type[0] == "b" else _BRANCHES_OF
            some = [self.kind(node.child_by_field_name(key)) for key in (left, right)]
            if text_of(node.child_by_field_name("operator")) in ("<<", ">>"):
                return some[0]
            return some[0] if some[0] == some[1] else max(some, key=len) if all(some) else ""
        return ""

    def _of_variable(self, node: Node) -> str:
        name = text_of(node)
        if name in _BUILTIN:
            return "index"
        for one in of_type(parents(node), *DEFINITIONS):
            if one.id not in self._around:
                self._around[one.id] = _types(walk(one))
            if name in self._around[one.id]:
                return self.plain(self._around[one.id][name])
        return self.plain(self.types.get(name, ""))

    def _of_call(self, call: Node) -> str:
        name = called(call)
        if made := re.fullmatch(r"make_(\w+)", name):
            return made[1]
        if name in ("static_cast", "reinterpret_cast"):
            function = text_of(call.child_by_field_name("function"))
            return self.plain(function.partition("<")[2].rstrip("> "))
        is_type = name in ("dim3", "uint3") or _NUMBER.fullmatch(self.plain(name))
        return self.plain(name) if is_type else ""

    @cached_property
    def dead(self) -> list[tuple[int, int]]:
        """Lines between which no compiler reads: #if 0, and what else goes with #if 1."""
        some = of_type(self.source.nodes, "preproc_if")
        return [lines for node in some for lines in _dead(node)]

    @cached_property
    def guarded(self) -> frozenset[str]:
        """Functions that files define for some compilers or architectures of CUDA's alone."""
        return frozenset(
            declared_name(node) or ""
            for one in (self.source, *self.source.all_included)
            for node in of_type(one.nodes, "function_definition")
            for around in of_type(parents(node), "preproc_if", "preproc_elif", "preproc_ifdef")
            if GUARD.search(text_of(around).partition("\n")[0])
        )

    @cached_property
    def calls(self) -> list[Node]:
        """All calls of the source."""
        return list(of_type(self.source.nodes, "call_expression"))

    @cached_property
    def of_warps(self) -> frozenset[str]:
        """Functions of warps, and macros of the source's own whose text calls one."""
        macros = {
            text_of(node.child_by_field_name("name"))
            for node in of_type(self.source.nodes, "preproc_function_def")
            if set(re.findall(r"\w+", text_of(node.child_by_field_name("value")))) & WARP
        }
        return WARP | macros | {"mma_sync"}

    @cached_property
    def warps_of_headers(self) -> frozenset[str]:
        """Functions for warps that files have that this one includes."""
        found = set[str]()
        for other in self.source.all_included:
            if "warps" not in other.found:
                functions = (f for f in Facts(other).functions if f.names_called & WARP)
                other.found["warps"] = {f.name for f in functions}
            found |= other.found["warps"]
        return frozenset(found)

    @cached_property
    def warp_functions(self) -> frozenset[str]:
        """Names of functions whose lanes tell each other something, by others too."""
        known = self.of_warps | self.warps_of_headers
        found = {
            f.name for f in self.functions if f.names_called & known or f.uses_tiles or f.by_tags
        }
        return _grown(found, lambda some: {f.name for f in self.functions if f.names_called & some})

    @cached_property
    def called_by_warp_functions(self) -> frozenset[str]:
        """And the functions that these call."""
        found = set(self.warp_functions)
        for function in self.functions:
            if function.name in self.warp_functions:
                found |= function.names_called
        return frozenset(found)


def _types(nodes: Iterable[Node]) -> dict[str, str]:
    """Types of what is declared, as written, with * for pointers and arrays."""
    found: dict[str, str] = {}
    for node in of_type(nodes, *_DECLARATIONS):
        kind = text_of(node.child_by_field_name("type"))
        before = [text_of(c) for c in node.children if c.type == "type_qualifier"]
        for one in node.children_by_field_name("declarator"):
            name = declared_name(one)
            inner = [n.type for n in walk(one.child_by_field_name("declarator") or one)]
            stars = "*" * sum(t in ("pointer_declarator", "array_declarator") for t in inner)
            if one.type in ("pointer_declarator", "array_declarator") and not stars:
                stars = "*"
            if name:
                found.setdefault(name, " ".join([*before, kind]) + stars)
    return found


_DECLARATIONS = ("declaration", "parameter_declaration", "optional_parameter_declaration")


def _whole(node: Node) -> tuple[int, int]:
    """Where a function begins and ends, in bytes, its template's head included."""
    around = node.parent
    one = around if around is not None and around.type == _TEMPLATE else node
    return int(one.start_byte), int(one.end_byte)


GUARD = re.compile(rf"\b({table('guards')['names']})\b")
"""What nvcc or CUDA's headers define."""
UNDEFINED = ("__CUDA_ARCH__", "CUDART_VERSION", "CUDA_VERSION", "__CUDACC_VER_MAJOR__")
"""Names of CUDA's that HIP's compilers do not define."""
_NAME = rf"({'|'.join(UNDEFINED)})"
_IS = re.compile(
    rf"\s*\(?\s*(defined\s*\(?\s*{_NAME}\s*\)?\s*(&&.*)?|{_NAME}\s*(>=?|==).*)$", re.DOTALL
)
_IS_NOT = re.compile(rf"\s*\(?\s*!\s*defined\s*\(?\s*{_NAME}\s*\)?\s*\)?\s*$")


def _left_out(node: Node) -> Iterator[tuple[int, int, str]]:
    """The branch of a conditional that is not compiled on AMD, if one surely is not."""
    condition = node.child_by_field_name("condition") or node.child_by_field_name("name")
    other = node.child_by_field_name("alternative")
    text = text_of(condition)
    if node.type == "preproc_ifdef":
        negated = text_of(node.children[0]).endswith("ifndef")
        found = text in UNDEFINED
    else:
        negated = bool(_IS_NOT.match(text))
        found = negated or (bool(_IS.match(text)) and "||" not in text)
    if not found:
        return
    name = next(one for one in UNDEFINED if one in text)
    if not negated:
        end = other.start_point[0] if other is not None else node.end_point[0]
        yield line_of(node), int(end) + 1, name
    elif other is not None:
        yield line_of(other), int(other.end_point[0]) + 1, name


def _dead(node: Node) -> Iterator[tuple[int, int]]:
    condition = text_of(node.child_by_field_name("condition"))
    other = node.child_by_field_name("alternative")
    end = int(node.end_point[0]) + 1
    if condition == "0":
        yield line_of(node), line_of(other) if other is not None else end
    elif condition == "1" and other is not None:
        yield line_of(other), end


@dataclass(frozen=True)
class Inside(Function):
    """A device function."""

    facts: Facts = field(repr=False)

    @cached_property
    def nodes(self) -> list[Node]:
        """All nodes of it."""
        return list(walk(self.node))

    @cached_property
    def calls(self) -> list[Node]:
        """Calls in it."""
        return list(of_type(self.nodes, "call_expression"))

    @cached_property
    def names_called(self) -> frozenset[str]:
        """What they call."""
        return frozenset(map(called, self.calls))

    @cached_property
    def text(self) -> str:
        """Its text."""
        return text_of(self.node)

    @cached_property
    def uses_tiles(self) -> bool:
        """Whether it has tiles of cooperative groups."""
        return bool(
            re.search(r"\b(tiled_partition|thread_block_tile|coalesced_threads)\b", self.text)
        )

    @cached_property
    def by_tags(self) -> list[Node]:
        """Conditions of loops that write to a place until they read there what they wrote."""
        found = []
        for loop in of_type(self.nodes, "do_statement"):
            some = walk(loop.child_by_field_name("condition"))
            for one in of_type(some, "binary_expression"):
                left, sign, _ = sides(one)
                if left is None or left.type != "subscript_expression" or sign != "!=":
                    continue
                if "volatile" in self.types.get(array_of(left), ""):
                    found.append(one)
        return found

    @property
    def for_warps(self) -> bool:
        """Whether it has a part in code whose lanes tell each other something."""
        return self.name in self.facts.called_by_warp_functions

    @cached_property
    def types(self) -> dict[str, str]:
        """Types of parameters and variables, as written, with * for pointers and arrays."""
        return _types(self.nodes)

    @cached_property
    def values(self) -> dict[str, list[Node]]:
        """What variables are given: first values and assignments."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            if node.type == "init_declarator":
                name, value = declared_name(node), node.child_by_field_name("value")
            elif node.type == "assignment_expression":
                left = node.child_by_field_name("left")
                name = text_of(left) if left is not None and left.type == "identifier" else None
                value = node.child_by_field_name("right")
            else:
                continue
            if name and value is not None:
                found.setdefault(name, []).append(value)
        return found

    def _given(
        self, some: frozenset[str], made: Callable[[Node, frozenset[str]], bool]
    ) -> frozenset[str]:
        """Variables, *some* among them, with those that are given what is *made* of them."""

        def more(known: frozenset[str]) -> set[str]:
            return {n for n, vs in self.values.items() if any(made(v, known) for v in vs)}

        return _grown(some, more)

    @cached_property
    def of_thread(self) -> frozenset[str]:
        """Words that differ from thread to thread: threadIdx, and what is made of it."""
        return self._given(frozenset(("threadIdx",)), self.varies)

    @cached_property
    def plainly_of_thread(self) -> frozenset[str]:
        """Those of them that no function had a part in: sizes of a thread's own are often equal."""

        def made(value: Node, some: frozenset[str]) -> bool:
            return self.varies(value, some) and not any(calls_in(value))

        return self._given(frozenset(("threadIdx",)), made)

    @cached_property
    def ballots(self) -> frozenset[str]:
        """Variables that hold ballots or matches, or copies of them."""
        return self._given(frozenset(), is_ballot)

    @staticmethod
    def has(node: Node | None, names: set[str] | frozenset[str]) -> bool:
        """Whether a part of the tree has one of these names."""
        return any(n.type == "identifier" and text_of(n) in names for n in walk(node))

    @staticmethod
    def varies(node: Node | None, names: set[str] | frozenset[str]) -> bool:
        """The same, outside of what all threads of a block get alike: __syncthreads_or(...)."""
        votes = [call for call in calls_in(node) if called(call) in BARRIERS]
        some = (n for n in walk(node) if n.type == "identifier" and text_of(n) in names)
        return any(
            all(n.end_byte <= v.start_byte or n.start_byte >= v.end_byte for v in votes)
            for n in some
        )

    @cached_property
    def shared(self) -> dict[str, Node]:
        """Variables in block memory, with their declarations."""
        found: dict[str, Node] = {}
        for node in of_type(self.nodes, "declaration"):
            if any(n.type == "__shared__" for n in walk(node)):
                for one in node.children_by_field_name("declarator"):
                    if name := declared_name(one):
                        found[name] = node
        return found

    def of_calls(self, names: frozenset[str]) -> Iterator[tuple[Node, str, list[Node]]]:
        """Calls of these names, with their arguments."""
        for call in self.calls:
            if (name := called(call)) in names and not self.facts.owns(call):
                yield call, name, arguments(call)

    def number(self, node: Node | None) -> int | None:
        """A number that an expression is, by names too: of macros, of constants here and in it."""
        found = self.source.value_of(node)
        if found is None and node is not None and node.type == "identifier":
            values = self.values.get(text_of(node), [])
            if len(values) == 1 and values[0].type != "identifier":
                return self.source.value_of(values[0])
        return found


def sizes_of(facts: Facts, text: str) -> list[int]:
    """The lengths of a block or a grid by a number, a dim3 or its name; 0 for what is not known."""
    made = re.fullmatch(r"dim3\s*\(([^()]*)\)", text)
    if made is None and re.fullmatch(r"\w+", text):
        made = _declared(facts.source.text, text)
    pieces = made[1].split(",") if made else [text]
    return [number(piece, facts.source.constants) or 0 for piece in pieces]


@lru_cache(maxsize=64)
def _declared(source: str, name: str) -> re.Match[str] | None:
    """``name(...)`` as the first thing that a statement with ``dim3`` declares, or as another."""
    found = None
    for declared in re.findall(r"\bdim3\b([^;]*)", source):
        if first := re.match(rf"\s+{name}\s*\(([^()]*)\)", declared):
            return first
        found = found or re.search(rf"\b{name}\s*\(([^()]*)\)", declared)
    return found


def calls_in(node: Node | None) -> Iterator[Node]:
    """Calls in a part of the tree."""
    return of_type(walk(node), "call_expression")


def _grown(found: Set[str], more: Callable[[frozenset[str]], Set[str]]) -> frozenset[str]:
    """Names, and those that *more* finds by them, until there are no others."""
    known = frozenset(found)
    while (grown := known | more(known)) != known:
        known = grown
    return known


def is_ballot(node: Node, known: frozenset[str]) -> bool:
    """Whether a value is a ballot or a match, or a variable that holds one."""
    if node.type == "call_expression":
        return called(node) in BALLOTS | MATCHES
    return node.type == "identifier" and text_of(node) in known


def array_of(node: Node) -> str:
    """The array of an element, as it is written."""
    return text_of(node).split("[")[0].strip()


def of_functions(find: Callable[[Inside], Iterator[Trap]]) -> Callable[[Facts], Iterator[Trap]]:
    """What finds traps in each function of the device, by what finds them in one."""
    return lambda facts: (trap for inside in facts.functions for trap in find(inside))


def enclosing(node: Node, kinds: tuple[str, ...], until: Node) -> Iterator[Node]:
    """Nodes of these kinds around a node, the innermost first, inside of *until*."""
    inside = takewhile(
        lambda one: one.start_byte >= until.start_byte and one.id != until.id, parents(node)
    )
    return of_type(inside, *kinds)


def short(node: Node, most: int = 60) -> str:
    """A node's text on one line."""
    text = " ".join(text_of(node).split())
    return text if len(text) <= most else text[: most - 3] + "..."


def at(node: Node) -> tuple[int, str]:
    """The line and the text of a place."""
    return line_of(node), short(node)
