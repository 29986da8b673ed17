"""Traps of names: functions, words and headers of the device that HIP has not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portmp.porting.sources import called, line_of, text_of, walk
from portmp.porting.traps.base import CERTAIN, LIKELY, Facts, Trap, at
from portmp.porting.words import INCLUDE

_NEVER = "HIP has no {}"
_LATER = "{} is not there in ROCm 5.2"

_FUNCTIONS = (
    (r"__(trap|brkpt)", "language/assert", CERTAIN, "HIP has no {}: __builtin_trap() is clang's"),
    (r"__prof_trigger", "debugging/profiling", CERTAIN, _NEVER),
    (
        r"__is(Global|Shared|Local|Constant|GridConstant|ClusterShared|CtaShared)|__cvta_\w+",
        "language/address-predicates",
        CERTAIN,
        _NEVER,
    ),
    (
        r"__cluster\w+|__threadfence_cluster|cudaGridDependencySynchronize"
        r"|cudaTriggerProgrammaticLaunchCompletion",
        "launch/clusters",
        CERTAIN,
        _NEVER,
    ),
    (r"__mbarrier_\w+|__pipeline_arrive_on", "memory/async-copy", CERTAIN, _NEVER),
    (r"__fmaf_ieee_r[nzud]", "arithmetic/directed-rounding", CERTAIN, _NEVER),
    (r"__f(add|mul|ma)2_r[nzud]", "arithmetic/directed-rounding", CERTAIN, _NEVER),
    (
        r"__h(max|min)2?(_nan)?|__h(add|sub|mul)2?_rn|__hfma2?_relu|__hcmadd"
        r"|__h(eq|ne|lt|le|gt|ge)u?2_mask|h2?tanh(_approx)?",
        "language/half",
        LIKELY,
        _LATER,
    ),
    (r"(u|ll|ull)(max|min)", "language/min-max", LIKELY, _LATER),
    (r"atomic(Inc|Dec)_system|__u128Atomic\w+", "atomics/scopes", LIKELY, _LATER),
    (r"__fns", "arithmetic/integer-intrinsics", LIKELY, _LATER),
)
"""Patterns of names that are called, with their entries; seen by a compilation with hipcc of each
name that CUDA 13.0's headers declare.
"""
_ALL = re.compile("|".join(f"(?:{pattern})" for pattern, _, _, _ in _FUNCTIONS))

_HEADERS = {"cuda_bf16.h": ("language/bfloat16", "hip/hip_bf16.h is not there in ROCm 5.2")}


def functions(facts: Facts) -> Iterator[Trap]:
    """Calls in functions of the device."""
    for inside in facts.functions:
        for call in inside.calls:
            name = called(call)
            if not _ALL.fullmatch(name) or name in facts.declared:
                continue
            entry, sure, words = next(f[1:] for f in _FUNCTIONS if re.fullmatch(f[0], name))
            yield Trap(entry, *at(call), "compile", sure, words.format(name))


def headers(facts: Facts) -> Iterator[Trap]:
    """Headers that came late."""
    for word in facts.words:
        if word.kind == INCLUDE and word.text in _HEADERS:
            entry, words = _HEADERS[word.text]
            yield Trap(entry, word.line, word.text, "compile", LIKELY, words)


def parameters(facts: Facts) -> Iterator[Trap]:
    """``__grid_constant__``, which the syntax tree does not show."""
    for one in facts.source.hidden:
        if one.text == "__grid_constant__":
            line = facts.source.content.count(b"\n", 0, one.start) + 1
            words = "HIP has no __grid_constant__: leave it out, the parameter is constant as it is"
            yield Trap("language/grid-constant", line, one.text, "compile", CERTAIN, words)


def libcu(facts: Facts) -> Iterator[Trap]:
    """Types and functions of libcu++ in code of the device."""
    seen: set[tuple[int, str]] = set()
    for node in walk(facts.source.root):
        text = text_of(node)
        if node.type != "qualified_identifier" or not re.match(r"cuda\s*::", text):
            continue
        copies = bool(re.search(r"memcpy_async|pipeline", text))
        entry = "memory/async-copy" if copies else "synchronisation/cuda-atomic"
        if (line_of(node), entry) not in seen and facts.on_device(node.start_byte):
            seen.add((line_of(node), entry))
            yield Trap(entry, *at(node), "compile", CERTAIN, "libcu++ is not a part of ROCm")


TRAPS = (functions, headers, parameters, libcu)
