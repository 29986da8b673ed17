"""Traps of C++ as HIP's compilers read it: indices, vectors of sizes, overloads, pasted names."""

import re
from collections.abc import Iterator

from portmp.porting.sources import Node, arguments, called, line_of, of_type, text_of
from portmp.porting.traps.base import (
    CERTAIN,
    LIKELY,
    MATCHES,
    REDUCTIONS,
    SHUFFLES,
    SHUFFLES_SYNC,
    Facts,
    Trap,
    at,
    short,
)

_INDICES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_OVERLOADED = frozenset(
    (
        *("printf", "max", "min", "abs", "sqrt", "sin", "cos", "tan", "exp", "log", "log2", "pow"),
        *("floor", "ceil", "fabs", "round", "rsqrt", "fmin", "fmax", "fmod", "exp2", "log10"),
    )
)
_INDEX_WORDS = "{} is a structure in HIP before ROCm 6; portmp port --hip writes (unsigned){}"


def indices_given(facts: Facts) -> Iterator[Node]:
    """threadIdx.x as it is where its own type counts: given to printf, to overloads, to functions
    of warps and groups, to templates; to auto, and in decltype. Also by a macro's name.
    """
    group = (facts.source, *facts.source.all_included)
    macros = {name for one in group for name, text in one.named_texts if _INDEX.fullmatch(text)}
    for node in of_type(facts.source.nodes, "field_expression", "identifier"):
        if not _INDEX.fullmatch(text_of(node)) and text_of(node) not in macros:
            continue
        one = node
        while one.parent is not None and one.parent.type == "parenthesized_expression":
            one = one.parent
        around = one.parent
        if around is None or around.parent is None:
            continue
        kind = around.parent.child_by_field_name("type")
        named = around.type == "init_declarator" and text_of(kind).split()[-1:] == ["auto"]
        given = around.type == "argument_list" and _by_type(facts, around, one)
        if given or named or around.type == "decltype":
            yield node


_INDEX = re.compile(rf"\(*({'|'.join(_INDICES)})\s*\.\s*[xyz]\)*")
_IN_MACROS = re.compile(rf"\bauto\b[^;=]*=\s*({_INDEX.pattern})\s*(?=;|$)")
_VALUE_AT = dict.fromkeys((*SHUFFLES, "shfl", "shfl_up", "shfl_down", "shfl_xor"), 0)
_VALUE_AT |= dict.fromkeys(SHUFFLES_SYNC | MATCHES | REDUCTIONS, 1)
_VALUE_AT |= dict.fromkeys(("reduce", "inclusive_scan", "exclusive_scan"), 1)
"""Where functions of warps and groups take a value of any type."""


def _by_type(facts: Facts, around: Node, node: Node) -> bool:
    """Whether a function goes by the type of this argument."""
    call, name = around.parent, called(around.parent)
    place = [one.start_byte for one in around.named_children].index(node.start_byte)
    if name in facts.templates:
        plain = "<" not in text_of(call.child_by_field_name("function"))
        return plain and place in facts.templates[name]
    return (name in _OVERLOADED or _VALUE_AT.get(name) == place) and not facts.owns(call)


def indices(facts: Facts) -> Iterator[Trap]:
    """These, and indices taken for a uint3."""
    for node in indices_given(facts):
        words = _INDEX_WORDS.format(text_of(node), text_of(node))
        yield Trap("language/thread-index-type", *at(node), "compile", CERTAIN, words)
    for node in of_type(facts.source.nodes, "preproc_function_def", "preproc_def"):
        if found := _IN_MACROS.search(text_of(node.child_by_field_name("value"))):
            words = f"{found[1]} is a structure in HIP before ROCm 6, and so is this auto: unsigned"
            yield Trap("language/thread-index-type", *at(node), "compile", LIKELY, words)
    for node, wanted, kind in _initialised(facts):
        if {wanted, kind} == {"dim3", "uint3"} or (wanted, kind) == ("uint3", "index"):
            of = "CUDA's dim3 is made of a uint3, and a uint3 of a dim3; HIP's is not"
            words = of if kind != "index" else f"{short(node)} is no uint3 in HIP before ROCm 6"
            yield Trap("language/thread-index-type", *at(node), "compile", CERTAIN, words)


def _initialised(facts: Facts) -> Iterator[tuple[Node, str, str]]:
    """Places where a value of one type becomes one of another: the place, and both types."""
    for node in facts.source.nodes:
        values: list[Node] = []
        if node.type == "init_declarator" and node.parent is not None:
            wanted = facts.plain(text_of(node.parent.child_by_field_name("type")))
            value = node.child_by_field_name("value")
            listed = value is not None and value.type in ("argument_list", "initializer_list")
            values = list(value.named_children) if listed else [value] if value else []
        elif node.type == "assignment_expression":
            wanted = facts.kind(node.child_by_field_name("left"))
            values = [node.child_by_field_name("right")]
        elif node.type == "call_expression" and (function := called(node)) in ("dim3", "uint3"):
            wanted, values = function, arguments(node)
        elif node.type == "kernel_call_syntax":
            for value in node.named_children[:2]:
                yield value, "dim3", facts.kind(value)
        if len(values) == 1 and wanted in ("dim3", "uint3"):
            yield node, wanted, facts.kind(values[0])


_BITS = {
    "__ffs": ("int", ("int", "unsigned", "unsigned int", "int32_t", "uint32_t", "uint")),
    "__ffsll": ("unsigned long long", ("long long", "unsigned long long", "long long int")),
}
_NARROW = frozenset(("bool", "char", "short", "signed char", "unsigned char", "unsigned short"))


def bits_of_others(facts: Facts) -> Iterator[tuple[Node, str]]:
    """__ffs and __ffsll of other types than theirs: the call, and the type to convert to."""
    for call in facts.calls:
        kind, own = _BITS.get(called(call), ("", ()))
        given = arguments(call)
        if kind and len(given) == 1 and not facts.owns(call):
            found = facts.kind(given[0])
            if found and found not in own and not (found in _NARROW and kind == "int"):
                yield call, kind


def bits(facts: Facts) -> Iterator[Trap]:
    """The same as traps."""
    for call, kind in bits_of_others(facts):
        words = (
            f"{called(call)} of {facts.kind(arguments(call)[0])} is ambiguous in HIP; "
            f"portmp port --hip writes ({kind})"
        )
        yield Trap("arithmetic/integer-intrinsics", *at(call), "compile", CERTAIN, words)


def launches(facts: Facts) -> Iterator[tuple[Node, int, int, str]]:
    """Brackets of launches with spaces, sizes in braces: where they are, and what HIP wants."""
    for node in of_type(facts.source.nodes, "kernel_call_syntax"):
        text = facts.source.content[node.start_byte : node.end_byte]
        for found in _SPACED.finditer(text):
            first, last = (node.start_byte + place for place in found.span())
            yield node, first, last, found[0].replace(b" ", b"").decode()
        for one in node.named_children:
            if facts.source.content[one.start_byte : one.start_byte + 1] == b"{":
                yield node, one.start_byte, one.start_byte, "dim3"


_SPACED = re.compile(rb"^<(< +<| +<<| +< +<)|>(> +>| +>>| +> +>)$")


def brackets(facts: Facts) -> Iterator[Trap]:
    """The same as traps."""
    for node in {node.id: node for node, *_ in launches(facts)}.values():
        words = "HIP's compilers want <<<, >>> and dim3{...} here; portmp port --hip writes them"
        yield Trap("host/launch", *at(node), "compile", CERTAIN, words)


_PASTED = re.compile(
    r"\b((?:make_)?(?:cuda|cu|CU|CUDA_|nvrtc|curand|cublas|CUBLAS|cufft|cusparse|nvtx)\w*|__\w+)\s*##"
    r"\s*\w*|\w+\s*##\s*_sync\b"
)


def pasted(facts: Facts) -> Iterator[Trap]:
    """Names that the preprocessor makes of parts, none of which is a name."""
    for node in of_type(facts.source.nodes, "preproc_function_def", "preproc_def"):
        value = node.child_by_field_name("value")
        for found in _PASTED.finditer(text_of(value)):
            line = line_of(value) + text_of(value).count("\n", 0, found.start())
            words = f"a name is pasted of parts here, and not translated: {found[0]}"
            yield Trap("host/names", line, found[0], "compile", LIKELY, words)


_BITS_OF_TILE = frozenset(("shfl", "shfl_up", "shfl_down", "shfl_xor"))
_SHUFFLED = re.compile(
    r"(unsigned |signed )?(char|short|int|long|long long|float|double|bool)( int)?"
    r"|u?int\d+_t|size_t|ptrdiff_t|index|unsigned"
)


def shuffled(facts: Facts) -> Iterator[Trap]:
    """Tiles that shuffle structures."""
    groups = "cooperative_groups" in facts.source.text
    for call in facts.calls if groups else ():
        given = arguments(call)
        if called(call) not in _BITS_OF_TILE or len(given) < 2:
            continue
        kind = facts.kind(given[0])
        if kind and not _SHUFFLED.fullmatch(kind) and not facts.is_parameter(kind, call):
            words = f"HIP's groups shuffle numbers alone, no {kind}"
            yield Trap("warps/group-members", *at(call), "compile", CERTAIN, words)


TRAPS = (indices, bits, brackets, pasted, shuffled)
