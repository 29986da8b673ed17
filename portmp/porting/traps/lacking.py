"""Traps by tables, of names for the most part: functions, words and headers that HIP has not."""

import re
from collections.abc import Iterator

from portmp.porting import names
from portmp.porting.sources import called, line_of, text_of
from portmp.porting.tables import row, table
from portmp.porting.traps.base import CERTAIN, POSSIBLE, Facts, Inside, Trap, at, of_functions
from portmp.porting.words import INCLUDE


def functions(facts: Facts) -> Iterator[Trap]:
    """Calls in functions of the device, and anywhere."""
    on_device = [call for inside in facts.functions for call in inside.calls]
    for calls, key in ((on_device, "calls"), (facts.calls, "calls_anywhere")):
        for call in calls:
            name, own = called(call), facts.owns(call)
            if (found := row(key, name)) and (not own or name in facts.guarded):
                entry, effect, sure, words = found
                sure = POSSIBLE if own else sure
                yield Trap(entry, *at(call), effect, sure, words.format(name))


def told(facts: Facts) -> Iterator[Trap]:
    """Words that mean trouble wherever they stand; functions of kernels in macros' texts."""
    for word in facts.words:
        found, where = row("told", word.text), ""
        if word.node is None and word.text.startswith("__"):  # others may be the host's
            found = found or row("in_macros", word.text) or row("calls", word.text)
            where = " (in a macro's text)" if _in_macro(facts, word.line) else ""
        if found and not facts.owns(word):
            entry, effect, sure, words = found
            words = words.format(word.text) + where
            yield Trap(entry, word.line, word.text, effect, sure, words)


def _in_macro(facts: Facts, line: int) -> bool:
    """Whether a line is one of the preprocessor's, or goes on with one."""
    lines = facts.source.lines
    while line > 1 and lines[line - 2].rstrip().endswith("\\"):
        line -= 1
    return lines[line - 1].lstrip().startswith("#")


def nodes(facts: Facts) -> Iterator[Trap]:
    """Parts of the syntax tree, by their types and how their texts begin."""
    rows = table("nodes")
    for node in facts.source.nodes:
        for entry, (kinds, begin, on_device, effect, sure, words) in rows.items():
            if node.type not in kinds or not re.match(begin, text_of(node)):
                continue
            if facts.on_device(node.start_byte) or not on_device:
                yield Trap(entry, *at(node), effect, sure, words)


def headers(facts: Facts) -> Iterator[Trap]:
    """Headers that HIP has not, or that came late."""
    for word in facts.words:
        if word.kind == INCLUDE and facts.source.of_group(word.text) is None:
            found = row("lacking", word.text)
            other = re.fullmatch(table("others")["pattern"], word.text)
            if found is None and other and not names.header(word.text):
                found = ("compilation/headers", CERTAIN, "HIP has no {}")
            if found:
                entry, sure, words = found
                yield Trap(entry, word.line, word.text, "compile", sure, words.format(word.text))


def runtime_in_kernels(inside: Inside) -> Iterator[Trap]:
    """Functions of the runtime that kernels call."""
    if "__host__" in inside.qualifiers:
        return
    for call in inside.calls:
        name = called(call)
        if names.hip_name(name) and re.match(r"cuda[A-Z]", name):
            words = f"HIP has {names.hip_name(name)} for the host alone"
            yield Trap("language/launch-in-kernel", *at(call), "compile", CERTAIN, words)


def libcu(facts: Facts) -> Iterator[Trap]:
    """Types and functions of libcu++ in code of the device."""
    seen: set[tuple[int, str]] = set()
    for node in facts.source.nodes:
        text = text_of(node)
        if node.type != "qualified_identifier" or not re.match(r"cuda\s*::", text):
            continue
        copies = bool(re.search(r"memcpy_async|pipeline", text))
        entry = "memory/async-copy" if copies else "synchronisation/cuda-atomic"
        kind = node.parent.type if node.parent is not None else ""
        named = kind in ("alias_declaration", "namespace_alias_definition", "type_descriptor")
        if (line_of(node), entry) in seen:
            continue
        whole = re.match(r"cuda\s*::\s*(std|experimental)\b", text)
        if named or whole or facts.on_device(node.start_byte):
            seen.add((line_of(node), entry))
            yield Trap(entry, *at(node), "compile", CERTAIN, "libcu++ is not a part of ROCm")


TRAPS = (functions, nodes, headers, told, of_functions(runtime_in_kernels), libcu)
