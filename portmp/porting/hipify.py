"""CUDA text to HIP text: names, headers, and the few arguments that HIP wants otherwise.

Nothing else is changed, and every change is told. Functions of warps keep their meaning, which is
of 32 lanes: they get other names, which ``cuda_warps.h`` defines; it is written beside the text.
``cuda_groups.h`` defines reductions and scans of cooperative groups, under CUDA's names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path, PurePath

from portmp import paths
from portmp.paths import PACKAGE
from portmp.porting import names
from portmp.porting.sources import Node, Source, arguments, called, line_of, text_of
from portmp.porting.traps.base import HIP, UNDEFINED, WARP, Facts, Trap
from portmp.porting.traps.host import is_typed
from portmp.porting.words import INCLUDE, Word

HELPER = PACKAGE / "porting/cuda_warps.h"
GROUPS = PACKAGE / "porting/cuda_groups.h"
"""What is written beside a text that uses functions of warps, and collective ones of groups."""
ARCHITECTURE = "gfx90a"
STANDARD = "-std=c++17"
"""nvcc's default; that of hipcc before ROCm 6 is C++11."""
_RUNTIME = "hip/hip_runtime.h"
_OF_WARPS = {name: f"cuda_{name.lstrip('_')}" for name in (*WARP, "__nanosleep")}
_ANY_CUDA = ("__global__", "__device__", "cudaMalloc", "cudaSetDevice", "<<<")


_BY_THE_HELPER = frozenset(
    ("warps/hard-coded-32", "warps/lane-mask", "warps/popc-of-ballot", "warps/warp-size-constant")
)
"""Entries about 64 lanes, of which functions of warps know nothing in a text with the helper."""
_BY_NAMES = {
    "warps/mask-32-bits": WARP,
    "warps/ballot-64-bits": WARP,
    "warps/activemask": WARP,
    "warps/syncwarp": WARP,
    "warps/match-any": WARP,
    "warps/reduce-sync": WARP,
    "warps/shuffle-width": WARP,
    "warps/independent-scheduling": frozenset(("__nanosleep",)),
    "language/cuda-arch": frozenset(("__CUDACC__", "__NVCC__")),
    "libraries/thrust": frozenset(("cuda",)),
    "host/graphs": frozenset(("cudaGraphInstantiate",)),
    "language/assert": frozenset(("__trap", "__brkpt")),
}
"""Entries that do not apply where one of these names was changed."""
_COLLECTIVE = ("cooperative_groups/reduce.h", "cooperative_groups/scan.h")
_BY_GROUPS = re.compile(
    r"cooperative_groups/(reduce|scan)\.h$|([\w ]+::)?\s*(reduce|(in|ex)clusive_scan)\b"
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
    rewritten: frozenset[tuple[int, str]] = frozenset()

    def cures(self, trap: Trap) -> bool:
        """Whether a trap of the source does not bite in this text."""
        if trap.platform != HIP:
            return False
        if (trap.line, trap.entry) in self.rewritten:
            return True
        if trap.entry in _BY_THE_HELPER:
            return HELPER in self.helpers
        if trap.entry == "warps/cooperative-groups":
            return GROUPS in self.helpers and bool(_BY_GROUPS.match(trap.construct))
        changed = {c.before for c in self.changes if c.line == trap.line and c.kind == "name"}
        left = any(re.search(rf"\b{name}\b", trap.construct) for name in UNDEFINED)
        return bool(changed & _BY_NAMES.get(trap.entry, frozenset())) and not left


def _helpers(facts: Facts) -> tuple[Path, ...]:
    """Headers of portmp's that the HIP text of a source needs."""
    found = {w.text for w in facts.words}
    warps = bool(found & (set(_OF_WARPS) - facts.declared))
    groups = any(w.kind == INCLUDE and w.text in _COLLECTIVE for w in facts.words)
    return (HELPER,) * warps + (GROUPS,) * groups


def file_name(name: str) -> str:
    """What the HIP text of a file is called: .cu is known to no compiler as HIP."""
    path = PurePath(name)
    return f"{path.stem}.hip.cpp" if path.suffix == ".cu" else path.name


def translated(source: Source, together: Sequence[str] = ()) -> Hip:
    """The HIP text; *together*: names of files that are translated with it and may be included."""
    facts = Facts(source)
    edits: list[tuple[int, int, Change]] = []
    helpers = _helpers(facts)
    for word in facts.words:
        after = _after(facts, word, HELPER in helpers, together)
        if after and after != word.text:
            kind = "header" if word.kind == INCLUDE else "name"
            edits.append((word.start, word.end, Change(word.line, word.text, after, kind)))
    rewritten = set()
    for call, entry, edit in _arguments(facts):
        edits.append(edit)
        rewritten.add((line_of(call), entry))
    edits.sort(key=lambda edit: edit[:2])
    content, end, parts = source.content, 0, []
    for first, last, change in edits:
        if first < end:
            continue
        parts += [content[end:first], change.after.encode("utf-8", "surrogateescape")]
        end = last
    text = b"".join([*parts, content[end:]])
    changes = [change for _, _, change in edits]
    if added := _added(facts, text, helpers):
        mark = b"\xef\xbb\xbf" if text.startswith(b"\xef\xbb\xbf") else b""
        ending = "\r\n" if b"\r\n" in text else "\n"
        head = b"".join(f"#include {name}{ending}".encode() for name in added)
        text = mark + head + text[len(mark) :]
        changes = [Change(1, "", f"#include {name}", "added") for name in added] + changes
    return Hip(file_name(source.name), text, tuple(changes), helpers, frozenset(rewritten))


def _after(facts: Facts, word: Word, warps: bool, together: Sequence[str]) -> str:
    name = word.text
    if word.kind == INCLUDE:
        if PurePath(name).name in together:
            return str(PurePath(name).with_name(file_name(name)))
        return names.header(name)
    if word.kind == "field_identifier" or name in facts.declared:
        return ""
    if name in _OF_WARPS:
        return _OF_WARPS[name]
    if name == "warpSize" and warps:
        return "cuda_warp_size"
    if name == "cudaGraphInstantiate" and _with_flags(word):
        return "hipGraphInstantiateWithFlags"
    if name == "cuda" and facts.source.content[: word.start].rstrip().endswith(b"thrust::"):
        return "hip"
    if name == "cub" and word.kind not in ("namespace_identifier", "identifier"):
        return ""
    return names.hip_name(name) or ""


def _with_flags(word: Word) -> bool:
    """Whether a graph is instantiated with the arguments of CUDA 12: two, or three."""
    call = word.node.parent if word.node is not None else None
    return call is not None and call.type == "call_expression" and len(arguments(call)) in (2, 3)


_SYMBOLS = {
    "cudaMemcpyToSymbol": 0,
    "cudaMemcpyToSymbolAsync": 0,
    "cudaMemcpyFromSymbol": 1,
    "cudaMemcpyFromSymbolAsync": 1,
    "cudaGetSymbolAddress": 1,
    "cudaGetSymbolSize": 1,
}
_FUNCTIONS = {"cudaFuncSetAttribute": 0, "cudaFuncSetCacheConfig": 0, "cudaFuncGetAttributes": 1}


_Edit = tuple[int, int, Change]


def _arguments(facts: Facts) -> Iterator[tuple[Node, str, _Edit]]:
    """Arguments that HIP wants otherwise: the call, the entry about it, and the change.

    Symbols in HIP_SYMBOL, kernels and pointers to pointers with casts, arguments that have no
    default in HIP.
    """
    for call in facts.calls:
        name, given = called(call), arguments(call)
        if len(given) == names.WITHOUT_DEFAULTS.get(name, 0) - 1:
            entry = "host/graphs" if "Graph" in name else "host/default-arguments"
            end = call.end_byte
            change = Change(int(call.end_point[0]) + 1, ")", ", 0)", "argument")
            yield call, entry, (end - 1, end, change)
        for table, entry, written in _WRITTEN:
            place = table.get(name)
            if place is None or place >= len(given):
                continue
            one = given[place]
            after = written(facts, one)
            if after:
                change = Change(line_of(one), text_of(one), after, "argument")
                yield call, entry, (one.start_byte, one.end_byte, change)


def _symbol(_: Facts, node: Node) -> str:
    text = text_of(node)
    return f"HIP_SYMBOL({text})" if re.fullmatch(r"\w+(<.*>)?", text) else ""


def _kernel(_: Facts, node: Node) -> str:
    text = text_of(node)
    return f"(const void *){text}" if re.fullmatch(r"\w+(<.*>)?", text) else ""


def _pointer(facts: Facts, node: Node) -> str:
    if not is_typed(facts, node):
        return ""
    text = text_of(node)
    return f"(void **){text}" if re.fullmatch(r"&?\s*[\w.\[\]]+", text) else f"(void **)({text})"


_WRITTEN = (
    (_SYMBOLS, "host/symbols", _symbol),
    (_FUNCTIONS, "launch/shared-opt-in", _kernel),
    (names.POINTERS, "host/pointer-to-pointer", _pointer),
)


def _added(facts: Facts, text: bytes, helpers: Sequence[Path]) -> list[str]:
    """Headers that nvcc includes by itself, and portmp's own."""
    is_header = PurePath(facts.source.name).suffix in (".h", ".cuh", ".hpp", ".inl")
    found = [f'"{helper.name}"' for helper in helpers]
    is_cuda = any(w.text in _ANY_CUDA for w in facts.words)
    first = re.search(rb"#\s*include\s*<(hip/[^>]*)>", text)
    if (
        not helpers
        and is_cuda
        and not is_header
        and (first is None or first[1] != _RUNTIME.encode())
    ):
        found.append(f"<{_RUNTIME}>")  # ROCm 5's other headers want it before them
    return found


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
    a, b = (t.decode(errors="replace").splitlines() for t in (mine, other))
    a, b = ([" ".join(line.split()) for line in text if line.strip()] for text in (a, b))
    differing = [
        (a[i1:i2], b[j1:j2])
        for tag, i1, i2, j1, j2 in SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    if not differing:
        return "the same text"
    lines = sum(max(len(x), len(y)) for x, y in differing)
    here, there = differing[0]
    example = f"{(here or ['nothing'])[0]!r} here, {(there or ['nothing'])[0]!r} there"
    return f"{lines} lines differ, first {example}"
