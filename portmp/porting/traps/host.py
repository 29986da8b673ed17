"""Traps of the host's side: names that HIP has not, arguments that differ."""

import re
from collections.abc import Iterator

from portmp.porting import names
from portmp.porting.sources import (
    SIZES,
    Node,
    arguments,
    called,
    line_of,
    of_type,
    parents,
    sides,
    text_of,
    walk,
)
from portmp.porting.tables import row, table
from portmp.porting.traps.base import CERTAIN, LIKELY, POSSIBLE, Facts, Trap, at, short
from portmp.porting.words import INCLUDE

_PLACING = ("cudaMemPrefetchAsync", "cudaMemAdvise")
_LOOKS_UP = re.compile(r"dlsym|GetProcAddress|cuGetProcAddress\w*|cudaGetDriverEntryPoint\w*")


def missing_names(facts: Facts) -> Iterator[Trap]:
    """Names of CUDA's interfaces without a counterpart."""
    seen: set[tuple[str, int]] = set()
    for word in facts.words:
        if word.kind in (INCLUDE, "field_identifier") or facts.owns(word):
            continue
        other = names.later(word.text)
        if (word.text, word.line) in seen or (names.hip_name(word.text) != "" and not other):
            continue
        if _DIRECTIVE.match(facts.source.lines[word.line - 1]):
            continue  # a name that the preprocessor takes for 0: kernels.guards tells of those
        seen.add((word.text, word.line))
        entry, sure, words = row("entries", word.text), CERTAIN, f"HIP has no {word.text}"
        if other:
            sure, words = LIKELY, f"{other} is not there in ROCm 5.2"
        yield Trap(entry, word.line, word.text, "compile", sure, words)


def of_libraries(facts: Facts) -> Iterator[Trap]:
    """Names of CUDA's libraries that are not known to be in AMD's."""
    for word in facts.words:
        found = row("libraries", word.text)
        if found is None or word.kind in (INCLUDE, "field_identifier"):
            continue
        call = word.node.parent if word.node is not None else None
        is_macro = word.text.isupper() and call is not None and call.type == "call_expression"
        guard = _DIRECTIVE.match(facts.source.lines[word.line - 1])
        if names.hip_name(word.text) is None and not (is_macro or guard or facts.owns(word)):
            entry, other = found
            words = f"{other} is not known to have {word.text}"
            yield Trap(entry, word.line, word.text, "compile", LIKELY, words)


_DIRECTIVE = re.compile(r"\s*#\s*((el)?if|undef)")


def changed_arguments(facts: Facts) -> Iterator[Trap]:
    """Calls whose arguments HIP wants otherwise, beyond a name."""
    kernels = table("functions") | LAUNCHING
    locations = set(re.findall(r"\bcudaMemLocation\s+(\w+)", facts.source.text))
    for call in facts.calls:
        name, given = called(call), arguments(call)
        if facts.owns(call):
            continue
        if name in table("symbols") and given:
            place = table("symbols")[name]
            symbol = given[place] if len(given) > place else given[0]
            if symbol.type == "string_literal":
                words = f"{short(symbol)} is no symbol: since CUDA 5 the variable itself is given"
                yield Trap("host/symbols", *at(call), "results", LIKELY, words)
            elif is_named(facts, symbol) and "," not in text_of(symbol):
                words = (
                    f"HIP_SYMBOL({short(symbol)}) is needed where HIP runs on NVIDIA's GPUs; "
                    "portmp port --hip writes it"
                )
                yield Trap("host/symbols", *at(call), "compile", POSSIBLE, words)
        elif (at_kernel := kernels.get(name, len(given))) < len(given) and is_named(
            facts, kernel := given[at_kernel]
        ):
            words = f"HIP wants (const void *){short(kernel)}; portmp port --hip writes it"
            entry = "host/launch" if name in LAUNCHING else "launch/shared-opt-in"
            yield Trap(entry, *at(call), "compile", CERTAIN, words)
        elif (counts := table("counted").get(name)) and len(given) in counts[0]:
            _, entry, words = counts
            yield Trap(entry, *at(call), "compile", CERTAIN, words)
        elif name in _PLACING and not locations.isdisjoint(map(text_of, given)):
            words = "HIP takes a device's number, as CUDA before version 13 did"
            yield Trap("host/managed", *at(call), "compile", CERTAIN, words)
        elif missing := names.defaults(name, len(given)):
            last = "argument" if len(missing) == 1 else "arguments"
            words = f"HIP wants the last {last} of {name}; portmp port --hip writes "
            words += ", ".join(missing)
            yield Trap("host/default-arguments", *at(call), "compile", CERTAIN, words)
        elif name == "cudaMallocManaged":
            words = "only with XNACK (MI200 and later, HSA_XNACK=1) do pages move to the GPU"
            yield Trap("host/managed", *at(call), "speed", LIKELY, words)


LAUNCHING = {"cudaLaunchKernel": 0}
"""Functions of the table that launch."""


def is_named(facts: Facts, node: Node) -> bool:
    """Whether an argument names a kernel or a symbol, of which HIP wants more than the name."""
    if not (named := re.fullmatch(r"&?(::)?\w+(::\w+)*(<.*>)?(\[[^\]]*\])?", text_of(node))):
        return False
    address = rf"\bvoid\s*\*+\s*(const\s+)?{re.escape(named[0])}(?!\w)"
    return re.search(address, facts.source.text) is None


def is_typed(facts: Facts, node: Node) -> bool:
    """Whether an argument points to a pointer to something other than void."""
    if node.type == "cast_expression":
        return False
    name = next((text_of(n) for n in walk(node) if n.type == "identifier"), "")
    return not re.search(rf"\bvoid\s*\*+\s*{re.escape(name)}\b", facts.source.text)


def pointers(facts: Facts) -> Iterator[Trap]:
    """Pointers to pointers that HIP takes as void ** alone."""
    for call in facts.calls:
        name, given = called(call), arguments(call)
        place = names.POINTERS.get(name, len(given))
        if place < len(given) and is_typed(facts, given[place]):
            words = f"HIP wants (void **){short(given[place])}; portmp port --hip writes it"
            yield Trap("host/pointer-to-pointer", *at(call), "compile", CERTAIN, words)


_MEMBERS: dict[str, tuple[str, str, str]] = table("members")
MEMBERS = frozenset(" ".join(some for row in _MEMBERS.values() for some in row[1:]).split())
"""Members of CUDA's structures that HIP's have not, or have not in ROCm 5."""


def members(facts: Facts) -> Iterator[Trap]:
    """Members that are missing in HIP: of a variable of that type, or of a name that says it."""
    for kind, (entry, later, never) in _MEMBERS.items():
        declared = set(re.findall(rf"\b{kind}\b[\s*&]*(\w+)", facts.source.text))
        fields = [*later.split(), *never.split()] if declared else []
        for word in facts.words:
            if word.kind != "field_identifier" or word.text not in fields:
                continue
            around = word.node.parent if word.node is not None else None
            of = around.child_by_field_name("argument") if around is not None else None
            whose = re.findall(r"\w+", text_of(of))
            if word.text.islower() and not declared & set(whose):
                continue
            sure, when = (LIKELY, " in ROCm 5") if word.text in later.split() else (CERTAIN, "")
            words = f"{names.hip_name(kind)} has no {word.text}{when}"
            yield Trap(entry, word.line, word.text, "compile", sure, words)


def integers(facts: Facts) -> Iterator[Trap]:
    """Addresses of the driver's and objects of textures taken for integers, as they are in CUDA."""
    texts = (one.text for one in (facts.source, *facts.source.all_included))
    declared = dict(pair[::-1] for text in texts for pair in _HANDLES.findall(text))
    kinds = ("binary_expression", "assignment_expression", "update_expression", "init_declarator")
    for node in of_type(facts.source.nodes, *kinds) if declared else ():
        left, sign, right = sides(node)
        value = node.child_by_field_name("value")
        parts = (left, right, node.child_by_field_name("argument"))
        if node.type == "init_declarator":
            kind = facts.plain(text_of(node.parent.child_by_field_name("type")))
            plain = kind in SIZES and text_of(node.child_by_field_name("declarator"))[:1] != "*"
            parts, sign = (value,) * plain, "+"
        given = map(text_of, parts if sign.strip("=") in _INTEGER else ())
        found = (declared.get(t) or (_CAST.match(t) or ("", ""))[1] for t in given)
        if of := next(filter(None, found), ""):
            entry = "host/driver-api" if of[0] == "C" else "memory/texture-object"
            words = f"{names.hip_name(of)} is a pointer, no integer: C++ wants a cast here"
            yield Trap(entry, *at(node), "compile", CERTAIN, words)


_HANDLES = re.compile(r"\b(CUdeviceptr|cuda(?:Texture|Surface)Object_t)\s*&?\s*(\w+)")
_CAST = re.compile(r"\(*\((CUdeviceptr|cuda(?:Texture|Surface)Object_t)\)")
_INTEGER = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "++", "--")


def versions(facts: Facts) -> Iterator[Trap]:
    """Decisions by a compute capability, after arithmetic too."""
    if "cudaDeviceProp" not in facts.source.text:
        return
    properties = set(re.findall(r"\bcudaDeviceProp\b[\s*&]*(\w+)", facts.source.text))
    seen = set[tuple[str, int]]()
    for node in of_type(facts.source.nodes, "field_expression"):
        field, of = (text_of(node.child_by_field_name(key)) for key in ("field", "argument"))
        if field in ("major", "minor"):
            known = bool(properties & set(re.findall(r"\w+", of)))
            place = _decides(facts, node, known)
            if place is not None and (field, line_of(place)) not in seen:
                seen.add((field, line_of(place)))
                words = f"{field} means something else on AMD: gcnArchName tells the architecture"
                yield Trap("host/device-properties", *at(place), "results", LIKELY, words)


_SIGNS = (">=", ">", "<", "<=", "==", "!=")


def _decides(facts: Facts, node: Node, known: bool) -> Node | None:
    """The comparison or the switch that a number has a part in; *known*: by arithmetic too."""
    for one in parents(node):
        sign = sides(one)[1] if one.type == "binary_expression" else ""
        if sign in _SIGNS:
            return one
        if not known or one.type in ("argument_list", "compound_statement"):
            return None
        if one.type == "switch_statement":
            return node
        if one.type in ("init_declarator", "assignment_expression"):
            named = one.child_by_field_name("declarator") or one.child_by_field_name("left")
            name = re.escape(text_of(named))
            compared = rf"\b{name}\s*([<>]=?|[!=]=)[^<>=]|\bswitch\s*\(\s*{name}\b"
            return one if re.search(compared, facts.source.text) else None
    return None


def strings(facts: Facts) -> Iterator[Trap]:
    """Libraries and options of NVIDIA's in strings, and functions that are looked up by name."""
    for node in of_type(facts.source.nodes, "string_literal"):
        for pattern, (entry, effect, words) in table("strings").items():
            compiles = effect != "compile" or "nvrtc" in facts.source.text
            if compiles and re.fullmatch(pattern, text_of(node)[1:-1]):
                yield Trap(entry, *at(node), effect, LIKELY, words)
    for call in facts.calls:
        for one in arguments(call) if _LOOKS_UP.fullmatch(called(call)) else ():
            name = text_of(one).strip('"')
            if other := names.hip_name(name):
                words = f"{name} is looked up by its name, which stays: HIP has {other}"
                yield Trap("host/names", *at(one), "results", LIKELY, words)


TRAPS = (
    *(missing_names, of_libraries, changed_arguments, pointers, members, versions),
    *(strings, integers),
)
