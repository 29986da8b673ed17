"""CUDA text to HIP text: names, headers, and the few arguments that HIP wants otherwise.

Nothing else is changed, and every change is told. Functions of warps keep their meaning, which is
of 32 lanes: they get other names, which ``cuda_warps.h`` defines; it is written beside the text.
``cuda_groups.h`` defines reductions and scans of cooperative groups, under CUDA's names.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path, PurePath

from portmp import paths
from portmp.paths import PACKAGE
from portmp.porting import names
from portmp.porting.prepared import CODED
from portmp.porting.sources import Node, Source, arguments, called, line_of, of_type, text_of
from portmp.porting.tables import named, table
from portmp.porting.traps import host
from portmp.porting.traps import language as traps_of_language
from portmp.porting.traps.base import HIP, UNDEFINED, WARP, Facts, Trap, at
from portmp.porting.words import INCLUDE, Word

HELPER = PACKAGE / "porting/cuda_warps.h"
GROUPS = PACKAGE / "porting/cuda_groups.h"
"""What is written beside a text that uses functions of warps, and collective ones of groups."""
ARCHITECTURE = "gfx90a"
STANDARD = "-std=c++17"
"""nvcc's default; that of hipcc before ROCm 6 is C++11."""
_RUNTIME = "hip/hip_runtime.h"
_OF_WARPS = {name: f"cuda_{name.lstrip('_')}" for name in (*WARP, "__nanosleep")}
_OF_GROUPS = {"coalesced_threads": "cuda_coalesced_threads"}
_SIZE = re.compile(r"\bwarpSize\b")
_ATTRIBUTE = re.compile(r"\b(cudaDevAttrWarpSize|CU_DEVICE_ATTRIBUTE_WARP_SIZE)\b")
_ON_THE_HOST = {
    "warpSize": ("cuda_warp_size", _SIZE),
    "cudaGetDeviceProperties": ("cuda_get_device_properties", _SIZE),
    "cudaGetDeviceProperties_v2": ("cuda_get_device_properties", _SIZE),
    "cudaDeviceGetAttribute": ("cuda_device_get_attribute", _ATTRIBUTE),
    "cuDeviceGetAttribute": ("cuda_device_get_attribute", _ATTRIBUTE),
}
"""What asks for the lanes of a warp, which are 32 in a text with functions of warps; and what shows
that a program looks at them.
"""
_KERNELS = re.compile(r"\b__(global|device)__\b")

_BY_THE_HELPER = named("entries_by_the_helper")
"""Entries about 64 lanes, of which functions of warps know nothing in a text with the helper."""
_BY_NAMES = {"language/cuda-arch": frozenset(names.DEFINED)}
_BY_NAMES |= dict.fromkeys(named("entries_of_warps"), WARP)
_BY_NAMES |= {entry: frozenset(some.split()) for entry, some in table("cured_by").items()}
"""Entries that do not apply where one of these names was changed."""
_COLLECTIVE = ("cooperative_groups/reduce.h", "cooperative_groups/scan.h")
_BY_GROUPS = re.compile(
    r"cooperative_groups/(reduce|scan)\.h$"
    r"|([\w ]+::)?\s*(reduce|(in|ex)clusive_scan|coalesced_threads)\b"
)
"""Places of warps/cooperative-groups that GROUPS has."""


@dataclass(frozen=True)
class Change:
    """One change: on which line, from what to what. ``kind``: name, header, argument or added."""

    line: int
    before: str
    after: str
    kind: str


@dataclass(frozen=True)
class Hip:
    """The HIP text of a source, the file's name, its changes, and the headers that it needs.

    ``helpers``: of HELPER and GROUPS. ``rewritten``: lines of calls whose arguments were changed,
    with the entry that wants it.
    """

    file: str
    content: bytes
    changes: tuple[Change, ...]
    helpers: tuple[Path, ...]
    rewritten: frozenset[tuple[int, str, str]] = frozenset()

    def cures(self, trap: Trap) -> bool:
        """Whether a trap of the source does not bite in this text."""
        if trap.platform != HIP or trap.kept:
            return False
        if (trap.line, trap.construct, trap.entry) in self.rewritten:
            return True
        if trap.entry in _BY_THE_HELPER:
            of_groups = GROUPS in self.helpers and trap.entry == "warps/hard-coded-32"
            return HELPER in self.helpers or of_groups
        if trap.entry == "warps/cooperative-groups":
            return GROUPS in self.helpers and bool(_BY_GROUPS.match(trap.construct))
        changed = {c.before for c in self.changes if c.line == trap.line and c.kind == "name"}
        left = any(re.search(rf"\b{name}\b", trap.construct) for name in UNDEFINED)
        return bool(changed & _BY_NAMES.get(trap.entry, frozenset())) and not left


def _helpers(facts: Facts) -> tuple[Path, ...]:
    """Headers of portmp's that the HIP text of a source needs.

    Warps of a program have 32 lanes in all its files: kernels and the host, which asks the device
    for its warp.
    """
    group = [facts.source, *(other for other, _ in facts.source.beside())]
    asked = {name for name, (_, mark) in _ON_THE_HOST.items() if _any_has(group, mark)}
    asked = asked if _any_has(group, _KERNELS) else set()
    warps = _has(facts, asked.union(_OF_WARPS))
    warps |= any(w.text in facts.warps_of_headers for w in facts.words)
    groups = any(w.kind == INCLUDE and w.text in _COLLECTIVE for w in facts.words)
    return (HELPER,) * warps + (GROUPS,) * (groups or _has(facts, _OF_GROUPS))


def _has(facts: Facts, some: Collection[str]) -> bool:
    named = (w for w in facts.words if w.text in some and w.kind != "field_identifier")
    return any(not facts.owns(w) for w in named)


def _any_has(sources: Iterable[Source], mark: re.Pattern[str]) -> bool:
    return any(mark.search(one.text) for one in sources)


def file_name(place: PurePath) -> PurePath:
    """What the HIP text of a file is called: .cu is known to no compiler as HIP."""
    return place.with_name(f"{place.stem}.hip.cpp") if place.suffix == ".cu" else place


def translated(source: Source) -> Hip:
    """The HIP text, beside those of the files that are read with it."""
    facts = Facts(source)
    edits: list[_Edit] = []
    helpers = _helpers(facts)
    for word in facts.words:
        edits += _header(source, word) if word.kind == INCLUDE else _name(facts, word, helpers)
    rewritten = set()
    for node, entry, edit in (*_arguments(facts), *_of_language(facts)):
        edits.append(edit)
        rewritten.add((*at(node), entry))
    edits.sort(key=lambda edit: edit[:2])
    content, end, parts = source.content, 0, []
    done = []
    for first, last, change in edits:
        if first < end:
            continue
        parts += [content[end:first], change.after.encode(*CODED)]
        done.append(change)
        end = last
    text = b"".join([*parts, content[end:]])
    if added := _added(facts, text, helpers):
        mark = b"\xef\xbb\xbf" if text.startswith(b"\xef\xbb\xbf") else b""
        ending = "\r\n" if b"\r\n" in text else "\n"
        head = b"".join(f"#include {name}{ending}".encode() for name in added)
        text = mark + head + text[len(mark) :]
        done = [Change(1, "", f"#include {name}", "added") for name in added] + done
    file = file_name(source.place)
    return Hip(str(file), text, tuple(done), helpers, frozenset(rewritten))


def _header(source: Source, word: Word) -> "list[_Edit]":
    """An include's name: of another file of the group from here, in quotes; of CUDA's in HIP."""
    first, last, name = word.start, word.end, word.text
    if (other := source.of_group(name)) is None:
        after = names.header(name)
    else:
        after = os.path.relpath(file_name(other.place), source.place.parent)
        if source.content[first - 1 : first] == b"<" and source.content[last : last + 1] == b">":
            first, last, name, after = first - 1, last + 1, f"<{name}>", f'"{after}"'
        elif PurePath(name) == PurePath(after):
            return []
    return [(first, last, Change(word.line, name, after, "header"))] if after else []


def _name(facts: Facts, word: Word, helpers: Sequence[Path]) -> "list[_Edit]":
    """A name's change; that of a tag together with the word before it, which HIP's may not have."""
    after = _after(facts, word, helpers)
    if not after or after == word.text:
        return []
    first, before = word.start, word.text
    around = word.node.parent if word.node is not None else None
    if (
        around is not None
        and around.type in _TAGS
        and around.parent.type in _WITH_TAGS
        and not word.text.endswith("_st")
    ):
        first = around.start_byte
        before = facts.source.content[first : word.end].decode(*CODED)
    return [(first, word.end, Change(word.line, before, after, "name"))]


_TAGS = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier")
_WITH_TAGS = (
    *("declaration", "parameter_declaration", "optional_parameter_declaration", "type_descriptor"),
    *("field_declaration", "function_definition", "for_range_loop", "type_definition"),
)


def _after(facts: Facts, word: Word, helpers: Sequence[Path]) -> str:
    name = word.text
    if word.kind == "field_identifier" or facts.owns(word):
        return ""
    if name in _OF_WARPS:
        return _OF_WARPS[name]
    if name in _OF_GROUPS and GROUPS in helpers:
        return _OF_GROUPS[name]
    if HELPER in helpers and name in _ON_THE_HOST:
        after, mark = _ON_THE_HOST[name]
        if _any_has((facts.source, *facts.source.group), mark):
            return after
    if _given(word) in _WITH_FLAGS.get(name, ()):
        return f"{names.hip_name(name)}WithFlags"
    if name == "cuda" and word.scope == "thrust":
        return "hip"
    if name == "cub" and word.kind not in ("namespace_identifier", "identifier"):
        return ""
    return names.hip_name(name) or ""


_WITH_FLAGS = {"cudaGraphInstantiate": (2, 3), "cudaEventCreate": (2,)}
"""With so many arguments, as in CUDA 12 and in C++, HIP has them under another name."""


def _given(word: Word) -> int:
    """With how many arguments a name is called."""
    call = word.node.parent if word.node is not None else None
    return len(arguments(call)) if call is not None and call.type == "call_expression" else 0


_SYMBOLS: dict[str, int] = table("symbols")


_Edit = tuple[int, int, Change]


def _arguments(facts: Facts) -> Iterator[tuple[Node, str, _Edit]]:
    """Arguments that HIP wants otherwise: the call, the entry about it, and the change.

    Symbols in HIP_SYMBOL, kernels and pointers to pointers with casts, arguments that have no
    default in HIP.
    """
    for call in facts.calls:
        name, given = called(call), arguments(call)
        if facts.owns(call):
            continue
        if missing := names.defaults(name, len(given)):
            entry = "host/graphs" if "Graph" in name else "host/default-arguments"
            end = call.end_byte
            after = "".join(f", {one}" for one in (*missing, ""))[:-2] + ")"
            change = Change(int(call.end_point[0]) + 1, ")", after, "argument")
            yield call, entry, (end - 1, end, change)
        if name == "cuMemcpyAsync" and len(given) == 4:
            place, change = (
                given[3],
                Change(line_of(given[3]), "", "hipMemcpyDefault, ", "argument"),
            )
            yield call, "host/driver-api", (place.start_byte, place.start_byte, change)
        for places, entry, written in _WRITTEN:
            place = places.get(name)
            if place is None or place >= len(given):
                continue
            if after := written(facts, given[place]):
                yield call, entry, _instead(given[place], after)


def _instead(one: Node, after: str) -> _Edit:
    change = Change(line_of(one), text_of(one), after, "argument")
    return one.start_byte, one.end_byte, change


def _of_language(facts: Facts) -> Iterator[tuple[Node, str, _Edit]]:
    """What HIP's compilers read otherwise: an index as it is, bits of another type, register."""
    for node in traps_of_language.indices_given(facts):
        yield node, "language/thread-index-type", _instead(node, f"(unsigned){text_of(node)}")
    for call, kind in traps_of_language.bits_of_others(facts):
        one = arguments(call)[0]
        edit = _instead(one, f"({kind})({text_of(one)})")
        yield call, "arithmetic/integer-intrinsics", edit
    for node, first, last, after in traps_of_language.launches(facts):
        before = facts.source.content[first:last].decode(*CODED)
        change = Change(line_of(node), before, after, "argument")
        yield node, "host/launch", (first, last, change)
    for node in of_type(facts.source.nodes, "storage_class_specifier"):
        if text_of(node) == "register":
            yield node, "building/standard", _instead(node, "/* register */")


def _of_name(form: str, facts: Facts, node: Node) -> str:
    text = text_of(node)
    parts = "SYMBOL" in form and "," in text  # which a macro takes for two arguments
    return form.format(text) if host.is_named(facts, node) and not parts else ""


def _pointer(facts: Facts, node: Node) -> str:
    if not host.is_typed(facts, node):
        return ""
    text = text_of(node)
    return f"(void **){text}" if re.fullmatch(r"&?\s*[\w.\[\]]+", text) else f"(void **)({text})"


_WRITTEN: tuple[tuple[dict[str, int], str, Callable[[Facts, Node], str]], ...] = (
    (_SYMBOLS, "host/symbols", partial(_of_name, "HIP_SYMBOL({})")),
    (host.LAUNCHING, "host/launch", partial(_of_name, "(const void *){}")),
    (table("functions"), "launch/shared-opt-in", partial(_of_name, "(const void *){}")),
    (names.POINTERS, "host/pointer-to-pointer", _pointer),
)


def _added(facts: Facts, text: bytes, helpers: Sequence[Path]) -> list[str]:
    """Headers that nvcc includes by itself, and portmp's own."""
    folder = facts.source.place.parent
    found = [f'"{os.path.relpath(helper.name, folder)}"' for helper in helpers]
    first = re.search(rb"#\s*include\s*<(hip/[^>]*)>", text)
    if (
        not helpers
        and facts.source.place.suffix == ".cu"
        and (first is None or first[1] != _RUNTIME.encode())
    ):
        found.append(f"<{_RUNTIME}>")  # ROCm 5's other headers want it before them
    return found


_LIBRARY = re.compile(
    r"'((?:hip(?!/)\w+|roc\w+|rccl|thrust|hip/hip_bf16|hip/hip_math_constants)[\w/]*\.\w+)'"
    " file not found"
)
"""A library of ROCm's, or a header of its later versions, that is not installed."""


def compiled(file: Path, folders: Sequence[Path] = ()) -> tuple[bool | None, str]:
    """Whether hipcc compiles a file for ``ARCHITECTURE``, with its first words where it does not.

    None where there is no hipcc.
    """
    if shutil.which("hipcc") is None:
        return None, "hipcc is not on PATH"
    with paths.temporary_folder("porting") as folder:
        command = ["hipcc", f"--offload-arch={ARCHITECTURE}", STANDARD, "-c", "-w"]
        command.append(str(file.resolve()))
        command += [f"-I{one.resolve()}" for one in folders]
        command += ["-o", str(Path(folder) / "made.o"), "-Wno-unused-command-line-argument"]
        done = subprocess.run(
            command,
            env=os.environ | {"HIP_PLATFORM": "amd"},
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    if done.returncode == 0:
        return True, ""
    said = done.stderr.decode(errors="replace")
    if missing := _LIBRARY.search(said):
        return None, f"{missing[1]} is not installed here"
    errors = [line for line in said.splitlines() if "error" in line]
    return False, "\n".join(errors[:8]) or said.strip()[:500] or f"status {done.returncode}"


TRANSLATORS = {"hipify-perl": (), "hipify-clang": ("-o", "-")}
"""Translators of AMD's that are compared with, and what they want after the file."""


def compared(source: Path, mine: bytes) -> Iterator[tuple[str, str]]:
    """How other translators that are installed differ from the text, each in a sentence."""
    for command, more in TRANSLATORS.items():
        if shutil.which(command) is None:
            continue
        done = subprocess.run(
            [command, str(source), *more],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode or not done.stdout:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            yield command, f"failed: {said[-1] if said else done.returncode}"
            continue
        yield command, _difference(mine, done.stdout)


def _difference(mine: bytes, other: bytes) -> str:
    texts = (text.decode(errors="replace").splitlines() for text in (mine, other))
    here, there = ([plain for line in text if (plain := " ".join(line.split()))] for text in texts)
    pairs = [pair for pair in zip_longest(here, there, fillvalue="nothing") if len({*pair}) > 1]
    if not pairs:
        return "the same text"
    return f"{len(pairs)} lines differ, first {pairs[0][0]!r} here, {pairs[0][1]!r} there"
