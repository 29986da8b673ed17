"""Traps of kernels' text: language, memory, launch bounds, barriers, atomics."""

import re
from collections.abc import Iterator

from portmp.porting import names
from portmp.porting.sources import (
    SIZES,
    Node,
    arguments,
    called,
    line_of,
    number,
    of_type,
    sides,
    text_of,
    walk,
)
from portmp.porting.tables import named, row, table
from portmp.porting.traps.base import (
    BARRIERS,
    CERTAIN,
    GUARD,
    HIP,
    LIKELY,
    OPENCL,
    POSSIBLE,
    Facts,
    Inside,
    Trap,
    at,
    enclosing,
    of_functions,
    short,
)

_MOST_SHARED = 65536
_VECTOR = re.compile(r"\b(?:float|double|int|uint|long|short|char)[234]\b")


def assembly(inside: Inside) -> Iterator[Trap]:
    """PTX in asm."""
    for node in of_type(inside.nodes, "gnu_asm_expression"):
        text = text_of(node)
        if re.match(r'(__)?asm(__)?\s*((__)?volatile(__)?)?\s*\(\s*""', text):
            continue  # a barrier for the compiler, in every dialect
        yield Trap(_of_assembly(text), *at(node), "compile", CERTAIN, _PTX)


_PTX = "PTX is NVIDIA's: AMD's compilers refuse it"


def _of_assembly(text: str) -> str:
    """The entry about what PTX does."""
    if re.search(r"%laneid|lanemask", text):
        return "warps/lane-id"
    barrier = re.search(r"\bbar(rier)?\.", text)
    return "synchronisation/named-barrier" if barrier else "language/inline-asm"


_ASSEMBLY = re.compile(r"\b(__)?asm(__)?\b")
_BOUNDS = re.compile(r"__launch_bounds__\s*\(((?:[^()]|\([^()]*\))*)\)")


def in_macros(facts: Facts) -> Iterator[Trap]:
    """PTX and launch bounds in macros' texts, which have no tree of their own."""
    for node in of_type(facts.source.nodes, "preproc_def", "preproc_function_def"):
        text = text_of(node.child_by_field_name("value"))
        if _ASSEMBLY.search(_NO_PTX.sub("", text)):
            words = f"{_PTX} (in a macro's text)"
            name = text_of(node.child_by_field_name("name"))
            uses = list(re.finditer(rf'\b{name}\s*\(\s*"[^"].*', facts.source.text))
            if '"' in text or not uses:
                yield Trap(_of_assembly(text), *at(node), "compile", CERTAIN, words)
            for use in uses:  # #define ASM asm volatile
                line = facts.source.text.count("\n", 0, use.start()) + 1
                words = f"{_PTX} (by the macro {name})"
                yield Trap(_of_assembly(use[0]), line, use[0][:60], "compile", CERTAIN, words)
        for found in _BOUNDS.finditer(text):
            yield from _bounds(at(node), re.sub(r"\([^()]*\)", "", found[1]).count(",") + 1)


_NO_PTX = re.compile(r'\b(__)?asm(__)?\s*((__)?volatile(__)?)?\s*\(\s*""')


def guards(facts: Facts) -> Iterator[Trap]:
    """Code that the preprocessor leaves out on AMD."""
    for node in of_type(facts.source.nodes, "preproc_if", "preproc_elif", "preproc_ifdef"):
        condition = node.child_by_field_name("condition") or node.child_by_field_name("name")
        text = " ".join(text_of(condition).split())
        found = GUARD.search(text)
        if not found or "__HIP" in text or facts.own.has(found[0], node.start_byte, None):
            continue
        decided = [_condition(text, defined) for defined in (False, True)]
        if node.type != "preproc_ifdef" and decided[0] is not None and decided[0] == decided[1]:
            continue  # so on AMD, and on new GPUs of NVIDIA's
        words = f"{found[0]} is not defined on AMD: the other branch is compiled, without a message"
        if other := names.hip_name(found[0]):
            words += f"; portmp port --hip writes {other}"
        sure = CERTAIN if found[0] == "__CUDA_ARCH__" else LIKELY
        yield Trap("language/cuda-arch", line_of(node), text[:60], "results", sure, words)


def _condition(text: str, defined: bool) -> int | None:
    """Whether a condition holds where nothing of CUDA's is *defined*, or all is, as on an H200."""
    text = re.sub(
        r"\bdefined\s*\(?\s*(\w+)\s*\)?",
        lambda found: str(int(defined)) if GUARD.fullmatch(found[1]) else found[1],
        text,
    )
    for sign, word in (("&&", " and "), ("||", " or "), ("!=", "<>"), ("!", " not "), ("<>", "!=")):
        text = text.replace(sign, word)
    values = {
        name: _NEWEST.get(name, "1") if defined else "0"
        for name in re.findall(r"[A-Za-z_]\w*", text)
        if GUARD.fullmatch(name) and (name in _NEWEST or "VER" not in name)
    }
    return number(text.strip(), values)


_NEWEST = {"__CUDA_ARCH__": "900", "__CUDACC_VER_MAJOR__": "13", "__CUDACC_VER_MINOR__": "0"}
_NEWEST |= {"CUDART_VERSION": "13000", "CUDA_VERSION": "13000"}


def allocations(inside: Inside) -> Iterator[Trap]:
    """malloc and new in kernels."""
    for node in of_type(inside.nodes, "new_expression"):
        if node.child_by_field_name("placement") is None:
            words = "new in a kernel ends the program in ROCm 5.2, unless enabled"
            yield Trap("language/device-malloc", *at(node), "results", LIKELY, words)


def operators(inside: Inside) -> Iterator[Trap]:
    """Operators of vectors that HIP has already."""
    node = inside.node.child_by_field_name("declarator")
    name = next(of_type(walk(node), "operator_name"), None)
    kinds = [text_of(p.child_by_field_name("type")) for p in inside.parameters]
    member = len(kinds) == 2 and re.search(r"\bconst\b.*&", text_of(inside.parameters[1]))
    member = member and re.search(r"operator\s*[-+*/%&|^<>]+=", text_of(name))
    own = any(inside.facts.own.has(kind, inside.node.start_byte, None) for kind in kinds)
    if member and not own and all(map(_VECTOR.fullmatch, kinds)):  # others are templates in HIP
        what = f"{text_of(name)}({', '.join(kinds)})"
        words = f"HIP defines {text_of(name)} of {kinds[0]} itself: calls may be ambiguous"
        yield Trap("language/vector-operators", line_of(name), what, "compile", LIKELY, words)


def literals(inside: Inside) -> Iterator[Trap]:
    """Numbers of double precision in kernels for float."""
    if "double" in inside.text or "float" not in inside.text:
        return
    for node in of_type(inside.nodes, "number_literal"):
        around = node.parent
        if around is None or around.type != "binary_expression":
            continue
        if _DOUBLE.fullmatch(text_of(node)):
            words = f"{text_of(node)} is a double: the expression is computed in float64"
            place = line_of(node), short(around)
            yield Trap("language/literals", *place, "speed", LIKELY, words)


_DOUBLE = re.compile(r"(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?")


def bounds(facts: Facts) -> Iterator[Trap]:
    """The second number of __launch_bounds__."""
    for node in of_type(facts.source.nodes, "launch_bounds"):
        yield from _bounds(at(node), len(node.named_children))


def _bounds(place: tuple[int, str], given: int) -> Iterator[Trap]:
    words = "the second number is of blocks in CUDA, of waves for a SIMD in HIP"
    if given > 1:
        yield Trap("launch/launch-bounds-second", *place, "speed", CERTAIN, words)
    if given > 2:
        words = "HIP's __launch_bounds__ has two numbers at most"
        yield Trap("launch/launch-bounds-second", *place, "compile", CERTAIN, words)


def shared_memory(inside: Inside) -> Iterator[Trap]:
    """More block memory than a compute unit has; declarations where OpenCL wants none."""
    total, where = _static(inside)
    if where is not None and total > _MOST_SHARED:
        words = f"{total} bytes of block memory; AMD's GPUs have {_MOST_SHARED}"
        yield Trap("memory/shared-limit", *at(where), "compile", CERTAIN, words)
    if inside.shared and not inside.is_kernel:
        node = next(iter(inside.shared.values()))
        words = "block memory is declared in kernels alone in OpenCL C"
        yield Trap("memory/shared-static", *at(node), "compile", CERTAIN, words, OPENCL)


def overruns(inside: Inside) -> Iterator[Trap]:
    """Elements past the end of an array in block memory, by pointers to it too."""
    sizes: dict[str, int] = {}
    for declaration in {n.id: n for n in inside.shared.values()}.values():
        for one in of_type(declaration.children_by_field_name("declarator"), "array_declarator"):
            name = text_of(one.child_by_field_name("declarator"))
            size = inside.source.value_of(one.child_by_field_name("size"))
            if size and name in inside.shared:
                sizes[name] = size
    for node in of_type(inside.nodes, "subscript_expression", "pointer_expression"):
        found = _place(inside, node, sizes) if sizes else None
        if found is None or (node.type == "pointer_expression" and text_of(node)[:1] != "*"):
            continue
        array, place = found
        address = node.parent is not None and text_of(node.parent)[:1] == "&"
        if not 0 <= place < sizes[array] + address:
            words = (
                f"element {place} of {array}, which has {sizes[array]}: what lies there need "
                "not be the next array, as it may be on NVIDIA"
            )
            yield Trap("memory/shared-static", *at(node), "results", LIKELY, words)


def _place(
    inside: Inside, node: Node | None, sizes: dict[str, int], depth: int = 8
) -> tuple[str, int] | None:
    """The array that an expression points into, and how far; None where that is not known."""
    if node is None or not depth:
        return None
    text, inner = text_of(node), node.child_by_field_name("argument")
    by: int | None = 0
    if node.type == "identifier":
        if text in sizes:
            return text, 0
        inner = _pointed(inside, text)
    elif node.type == "parenthesized_expression":
        inner = next(iter(node.named_children), None)
    elif node.type == "subscript_expression":
        given = next(of_type(node.children, "subscript_argument_list"), None)
        by = _largest(inside, next(iter(given.named_children), None) if given else None)
    elif node.type == "binary_expression" and sides(node)[1] == "+":
        inner, _, right = sides(node)
        by = _largest(inside, right)
    elif node.type != "pointer_expression":
        return None
    found = _place(inside, inner, sizes, depth - 1)
    return (found[0], found[1] + by) if found is not None and by is not None else None


def _pointed(inside: Inside, name: str) -> Node | None:
    """What a pointer is given that stays the same."""
    values = inside.values.get(name, [])
    moved = rf"\b{name}\s*(\+\+|--|[-+]=)|(\+\+|--)\s*{name}\b"
    if len(values) != 1 or not inside.types.get(name, "").endswith("*"):
        return None
    kept = re.search(moved, inside.text) is None and not inside.has(values[0], {name})
    return values[0] if kept else None


def _largest(inside: Inside, node: Node | None) -> int | None:
    """The largest number that an index is: a number, or that of a loop which counts by one."""
    known = inside.source.value_of(node)
    if known is not None or node is None or node.type != "identifier":
        return known
    name = text_of(node)
    for around in enclosing(node, ("for_statement", "if_statement"), inside.node):
        condition = around.child_by_field_name("condition")
        left, sign, right = sides(condition) if condition is not None else (None, "", None)
        end = inside.number(right) if text_of(left) == name and sign in ("<", "<=") else None
        if around.type == "for_statement" and end is not None:
            step = text_of(around.child_by_field_name("update"))
            return end - (sign == "<") if step in (f"{name}++", f"++{name}") else None
        if inside.has(condition, {name}):
            return None
    return None


def launched_memory(facts: Facts) -> Iterator[Trap]:
    """More block memory than a compute unit has that a launch asks for, or is to be allowed."""
    static = {inside.name: _static(inside)[0] for inside in facts.functions}
    for node in facts.source.nodes:
        asked, kernel = None, ""
        if node.type == "kernel_call_syntax" and len(node.named_children) > 2:
            asked, kernel = node.named_children[2], called(node.parent)
        elif node.type == "call_expression" and called(node) in _LAUNCHES:
            place, given = _LAUNCHES[called(node)], arguments(node)
            other = "FuncSetAttribute" in called(node) and "DYNAMIC" not in text_of(node).upper()
            asked = given[place] if place < len(given) and not other else None
        total = (facts.number(asked) or 0) + static.get(kernel, 0) if asked is not None else 0
        if total > _MOST_SHARED and not (node.type == "call_expression" and facts.owns(node)):
            words = f"{total} bytes of block memory; AMD's GPUs have {_MOST_SHARED}"
            yield Trap("memory/shared-limit", *at(node), "support", CERTAIN, words)


def _static(inside: Inside) -> tuple[int, Node | None]:
    """How many bytes of block memory a function declares, and the last declaration."""
    some = list({n.id: n for n in inside.shared.values()}.values())
    return sum(_bytes(inside, one) for one in some), some[-1] if some else None


_LAUNCHES: dict[str, int] = table("launches")
"""Where functions take the bytes of block memory."""


def _bytes(inside: Inside, declaration: Node) -> int:
    kind = text_of(declaration.child_by_field_name("type"))
    size = SIZES.get(inside.facts.plain(kind), 0)
    total = 0
    for one in declaration.children_by_field_name("declarator"):
        count, node = 1, one
        while node is not None and node.type == "array_declarator":
            count *= inside.source.value_of(node.child_by_field_name("size")) or 0
            node = node.child_by_field_name("declarator")
        total += size * count
    return total


def textures(facts: Facts) -> Iterator[Trap]:
    """Objects of textures, once a line."""
    seen = set()
    for inside in facts.functions:
        for call, _, _ in inside.of_calls(_TEXTURES):
            if line_of(call) not in seen:
                seen.add(line_of(call))
                words = "MI300 has no texture units"
                yield Trap("memory/texture-object", *at(call), "support", LIKELY, words)


_TEXTURES = named("textures")


def barriers(inside: Inside) -> Iterator[Trap]:
    """Barriers that some threads do not reach."""
    calls = [call for call, _, _ in inside.of_calls(BARRIERS)]
    for call in calls:
        for branch in enclosing(call, _BRANCHES, inside.node):
            condition = branch.child_by_field_name("condition")
            counted = _counted(inside, branch)
            if not inside.varies(condition, inside.of_thread - counted):
                continue
            if condition.start_byte <= call.start_byte < condition.end_byte:
                continue  # a part of the condition itself
            words = f"threads for which {short(condition)} is false miss the barrier"
            plainly = inside.varies(condition, inside.plainly_of_thread - counted)
            sure = LIKELY if plainly else POSSIBLE
            yield Trap(_DIVERGENT, *at(call), "hang", sure, words)
            break
    if inside.is_kernel and calls:
        yield from _returns(inside, max(call.start_byte for call in calls))


def _counted(inside: Inside, loop: Node) -> frozenset[str]:
    """What a loop begins with and counts alike for all threads, whatever it was before."""
    begin = loop.child_by_field_name("initializer")
    name = frozenset(re.findall(r"^(?:[\w ]+ )?(\w+)\s*=", text_of(begin)))
    some = (begin, loop.child_by_field_name("update"))
    differ = any(inside.varies(one, inside.of_thread - name) for one in some)
    return frozenset() if differ else name


_DIVERGENT = "synchronisation/divergent-barrier"
_BRANCHES = ("if_statement", "while_statement", "for_statement")


def _returns(inside: Inside, last: int) -> Iterator[Trap]:
    for node in inside.nodes:
        if node.type != "return_statement" or node.start_byte > last:
            continue
        for branch in enclosing(node, ("if_statement",), inside.node):
            condition = branch.child_by_field_name("condition")
            if inside.varies(condition, inside.of_thread):
                words = f"threads for which {short(condition)} is true return before a barrier"
                place = line_of(node), short(branch)
                for platform, sure in ((HIP, POSSIBLE), (OPENCL, LIKELY)):
                    yield Trap(_DIVERGENT, *place, "hang", sure, words, platform)
                break


def atomics(inside: Inside) -> Iterator[Trap]:
    """Atomics that are loops, and those that HIP has not."""
    for call in inside.calls:
        name, first = called(call), next(iter(arguments(call)), None)
        kind = _kind(inside, first)
        if name == "atomicAdd" and kind in ("double", "float"):
            words = "compiled to a loop of compare-and-swap, unless -munsafe-fp-atomics is given"
            words += " (gfx90a, ROCm 5.2)" if kind == "float" else ""
            if kind == "double" or not inside.has(first, frozenset(inside.shared)):
                yield Trap(f"atomics/{kind}-add", *at(call), "speed", CERTAIN, words)
        if lacking := row("atomics_lacking", f"{name} {kind}"):
            entry, sure, words = lacking
            yield Trap(entry, *at(call), "compile", sure, words.format(name, kind))


def _kind(inside: Inside, node: Node | None) -> str:
    """The type of what a pointer points to, where it is easily told."""
    name = next((text_of(n) for n in walk(node) if n.type == "identifier"), "")
    found = inside.types.get(name, "") or inside.facts.types.get(name, "")
    if not found.endswith("*") and found and text_of(node)[:1] != "&":
        return ""
    kind = inside.facts.plain(found).rstrip("* ")
    return re.sub(r"[1-4]$", "", kind) if re.search(r"\.[xyzw]\W*$", text_of(node)) else kind


TRAPS = (
    *map(of_functions, (assembly, allocations, operators, literals, shared_memory, overruns)),
    *map(of_functions, (barriers, atomics)),
    *(guards, bounds, in_macros, launched_memory, textures),
)
