"""Traps of names: functions, words and headers of the device that HIP has not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from portmp.porting import names
from portmp.porting.sources import called, line_of, text_of
from portmp.porting.traps.base import CERTAIN, LIKELY, Facts, Trap, at
from portmp.porting.words import INCLUDE

_NEVER = "HIP has no {}"
_LATER = "{} is not there in ROCm 5.2"

_FUNCTIONS = (
    (
        r"__(trap|brkpt)",
        "language/assert",
        CERTAIN,
        "HIP has no {}; portmp port --hip writes clang's builtin",
    ),
    (r"__prof_trigger", "debugging/profiling", CERTAIN, _NEVER),
    (
        r"__is(Global|Shared|Local|Constant|GridConstant|ClusterShared|CtaShared)|__cvta_\w+",
        "language/address-predicates",
        CERTAIN,
        _NEVER,
    ),
    (
        r"__cluster\w+|__threadfence_cluster|this_cluster|map_shared_rank"
        r"|cudaGridDependencySynchronize"
        r"|cudaTriggerProgrammaticLaunchCompletion",
        "launch/clusters",
        CERTAIN,
        _NEVER,
    ),
    (r"__mbarrier_\w+|__pipeline_arrive_on", "memory/async-copy", CERTAIN, _NEVER),
    (
        r"__fmaf_ieee_rn",
        "arithmetic/subnormals",
        CERTAIN,
        "HIP has no {}: fmaf keeps subnormals there",
    ),
    (r"__fmaf_ieee_r[zud]", "arithmetic/directed-rounding", CERTAIN, _NEVER),
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

_HEADERS = {
    "cuda_bf16.h": ("language/bfloat16", "hip/hip_bf16.h is not there in ROCm 5.2"),
    "math_constants.h": (
        "compilation/limits-of-types",
        "hip/hip_math_constants.h is not there in ROCm 5.2",
    ),
}


def functions(facts: Facts) -> Iterator[Trap]:
    """Calls in functions of the device."""
    for inside in facts.functions:
        for call in inside.calls:
            name = called(call)
            if not _ALL.fullmatch(name) or facts.owns(call):
                continue
            entry, sure, words = next(f[1:] for f in _FUNCTIONS if re.fullmatch(f[0], name))
            yield Trap(entry, *at(call), "compile", sure, words.format(name))


def headers(facts: Facts) -> Iterator[Trap]:
    """Headers that came late."""
    for word in facts.words:
        if word.kind == INCLUDE and word.text in _HEADERS:
            entry, words = _HEADERS[word.text]
            yield Trap(entry, word.line, word.text, "compile", LIKELY, words)


_WORDS = {
    "__grid_constant__": (
        "language/grid-constant",
        "HIP has no {}: leave it out, the parameter is constant as it is",
    ),
    "__cluster_dims__": ("launch/clusters", _NEVER),
    "__block_size__": ("launch/clusters", _NEVER),
}


def before_declarations(facts: Facts) -> Iterator[Trap]:
    """``__grid_constant__`` and ``__cluster_dims__(...)``, which the syntax tree does not show."""
    for one in facts.source.hidden:
        name = one.text.partition("(")[0].strip()
        if name in _WORDS:
            line = facts.source.content.count(b"\n", 0, one.start) + 1
            entry, words = _WORDS[name]
            yield Trap(entry, line, one.text, "compile", CERTAIN, words.format(name))


def runtime_in_kernels(facts: Facts) -> Iterator[Trap]:
    """Functions of the runtime that kernels call."""
    for inside in facts.functions:
        if "__host__" in inside.function.qualifiers:
            continue
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
        if named or facts.on_device(node.start_byte):
            seen.add((line_of(node), entry))
            yield Trap(entry, *at(node), "compile", CERTAIN, "libcu++ is not a part of ROCm")


TRAPS = (functions, headers, before_declarations, runtime_in_kernels, libcu)
