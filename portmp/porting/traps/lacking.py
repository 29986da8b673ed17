"""Traps by tables, of names for the most part: functions, words and headers that HIP has not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portmp.porting import names
from portmp.porting.sources import called, line_of, text_of
from portmp.porting.tables import table
from portmp.porting.traps.base import CERTAIN, POSSIBLE, Facts, Inside, Trap, at, of_functions
from portmp.porting.words import INCLUDE


def functions(facts: Facts) -> Iterator[Trap]:
    """Calls in functions of the device, and anywhere."""
    on_device = [call for inside in facts.functions for call in inside.calls]
    for calls, rows in ((on_device, table("calls")), (facts.calls, table("calls_anywhere"))):
        every = re.compile("|".join(f"(?:{pattern})" for pattern in rows))
        for call in calls:
            name = called(call)
            own = facts.owns(call)
            if every.fullmatch(name) and (not own or name in facts.guarded):
                row = next(rows[pattern] for pattern in rows if re.fullmatch(pattern, name))
                entry, effect, sure, words = row
                sure = POSSIBLE if own else sure
                yield Trap(entry, *at(call), effect, sure, words.format(name))


def in_macros(facts: Facts) -> Iterator[Trap]:
    """The same in macros' texts, which have no tree of their own."""
    rows = table("in_macros") | table("calls")
    every = re.compile("|".join(f"(?:{pattern})" for pattern in rows))
    for word in facts.words:
        if word.node is None and every.fullmatch(word.text) and not facts.owns(word):
            row = next(rows[pattern] for pattern in rows if re.fullmatch(pattern, word.text))
            entry, effect, sure, words = row
            if word.text.startswith("__"):  # others may be the host's
                words = f"{words.format(word.text)} (in a macro's text)"
                yield Trap(entry, word.line, word.text, effect, sure, words)


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
            rows = table("lacking").items()
            row = next((r for pattern, r in rows if re.fullmatch(pattern, word.text)), None)
            other = re.fullmatch(table("others")["pattern"], word.text)
            if row is None and other and not names.header(word.text):
                row = ("compilation/headers", CERTAIN, "HIP has no {}")
            if row:
                entry, sure, words = row
                yield Trap(entry, word.line, word.text, "compile", sure, words.format(word.text))


def told(facts: Facts) -> Iterator[Trap]:
    """Words that mean trouble wherever they stand, before declarations and in macros too."""
    rows = table("told")
    every = re.compile("|".join(rows))
    for word in facts.words:
        if every.fullmatch(word.text) and not facts.owns(word):
            row = next(rows[pattern] for pattern in rows if re.fullmatch(pattern, word.text))
            entry, effect, sure, words = row
            words = words.format(word.text)
            yield Trap(entry, word.line, word.text, effect, sure, words)


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


TRAPS = (functions, in_macros, nodes, headers, told, of_functions(runtime_in_kernels), libcu)
