"""Traps of the host's side: names that HIP has not, arguments that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portmp.porting import names
from portmp.porting.sources import Node, arguments, called, of_type, sides, text_of, walk
from portmp.porting.tables import table
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
        if re.match(r"\s*#\s*(el)?if", facts.source.lines[word.line - 1]):
            continue  # a name that the preprocessor takes for 0: kernels.guards tells of those
        seen.add((word.text, word.line))
        entry = next(e for p, e in table("entries").items() if re.fullmatch(p, word.text))
        sure, words = CERTAIN, f"HIP has no {word.text}"
        if other:
            sure, words = LIKELY, f"{other} is not there in ROCm 5.2"
        yield Trap(entry, word.line, word.text, "compile", sure, words)


def changed_arguments(facts: Facts) -> Iterator[Trap]:
    """Calls whose arguments HIP wants otherwise, beyond a name."""
    locations = set(re.findall(r"\bcudaMemLocation\s+(\w+)", facts.source.text))
    for call in facts.calls:
        name, given = called(call), arguments(call)
        if facts.owns(call):
            continue
        if name in table("symbols") and given:
            place = table("symbols")[name]
            symbol = given[place] if len(given) > place else given[0]
            words = (
                f"HIP_SYMBOL({short(symbol)}) is needed where HIP runs on NVIDIA's GPUs; "
                "portmp port --hip writes it"
            )
            yield Trap("host/symbols", *at(call), "compile", POSSIBLE, words)
        elif name == "cudaFuncSetAttribute" and given and "void" not in text_of(given[0]):
            words = f"HIP wants (const void *){short(given[0])}; portmp port --hip writes it"
            yield Trap("launch/shared-opt-in", *at(call), "compile", CERTAIN, words)
        elif (row := table("counted").get(name)) and len(given) in row[0]:
            _, entry, words = row
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


def attributes(facts: Facts) -> Iterator[Trap]:
    """What kind of memory a pointer points to."""
    declared = set(re.findall(r"\bcudaPointerAttributes\s+(\w+)", facts.source.text))
    for node in of_type(facts.source.nodes, "field_expression") if declared else ():
        of, field = node.child_by_field_name("argument"), node.child_by_field_name("field")
        if text_of(of) in declared and text_of(field) == "type":
            words = "the member is called memoryType in ROCm 5, and type from ROCm 6 on"
            yield Trap("host/pointer-attributes", *at(node), "compile", LIKELY, words)


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
    """Calculations with addresses of the driver's, which are integers in CUDA alone."""
    declared = re.findall(r"\bCUdeviceptr\s*&?\s*(\w+)", facts.source.text)
    kinds = ("binary_expression", "assignment_expression", "update_expression")
    for node in of_type(facts.source.nodes, *kinds) if declared else ():
        left, sign, right = sides(node)
        parts = (left, right, node.child_by_field_name("argument"))
        if sign.strip("=") in _INTEGER and any(text_of(part) in declared for part in parts):
            words = "hipDeviceptr_t is void *, with which C++ does not calculate: cast it to char *"
            yield Trap("host/driver-api", *at(node), "compile", CERTAIN, words)


_INTEGER = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "++", "--")


def versions(facts: Facts) -> Iterator[Trap]:
    """Decisions by a compute capability."""
    for node in of_type(facts.source.nodes, "binary_expression"):
        left, sign, _ = sides(node)
        if left is None or left.type != "field_expression":
            continue
        field = text_of(left.child_by_field_name("field"))
        compared = sign in (">=", ">", "<", "<=", "==", "!=")
        if field in ("major", "minor") and compared and "cudaDeviceProp" in facts.source.text:
            words = f"{field} means something else on AMD: gcnArchName tells the architecture"
            yield Trap("host/device-properties", *at(node), "results", LIKELY, words)


def capabilities(facts: Facts) -> Iterator[Trap]:
    """Compute capabilities that the device is asked for."""
    for word in facts.words:
        if _CAPABILITY.fullmatch(word.text) and not facts.owns(word):
            words = f"{word.text} means something else on AMD: gcnArchName tells the architecture"
            yield Trap("host/device-properties", word.line, word.text, "results", LIKELY, words)


_CAPABILITY = re.compile(
    r"(cudaDevAttrComputeCapability|CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_)(Major|Minor)",
    re.IGNORECASE,
)


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
    *(missing_names, changed_arguments, pointers, members, attributes, versions),
    *(strings, integers, capabilities),
)
