"""Rendered source to loaded kernels: compile, keep on disk, explain failures."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from portmp import paths
from portmp.backends.base import Device, Kernel
from portmp.codegen import kernel_spec, render
from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.platform import Traits
from portmp.codegen.render import RenderedSource
from portmp.errors import CheckError, CompileError, LaunchError, PortmpError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_ERROR_LINE = re.compile(
    r"""^(?:error:\ )?                            # PoCL puts the severity first
    (?: [^\s:()]+\((\d+)\)                       # kernel.cu(12): NVRTC
      | (?:[^\s:()][^\n:()]*(?<!\.h):)?? (\d+):\d+  # <stdin>:12:3 clang, 1:12:3 Intel, 12:3
    ):\ (?!warning)""",
    re.MULTILINE | re.VERBOSE,
)
"""A line number at the start of a message; not those of headers, warnings and quoted source."""

CompilationUnit = tuple[KernelSpec, ...]
"""Kernels that are compiled together: they share a format and its arithmetic."""

Loaded = dict[tuple[Traits, CompilationUnit], dict[str, Kernel]]
_loaded: WeakKeyDictionary[Device, Loaded] = WeakKeyDictionary()
Begun = dict[tuple[int, Traits, CompilationUnit], "tuple[RenderedSource, Future[bytes]]"]
_begun: WeakKeyDictionary[Device, Begun] = WeakKeyDictionary()
"""What is being compiled by threads of a process, which a fork of it has not."""
_lock = threading.Lock()


class _Watchers(threading.local):
    """Where a thread's look-ups are collected, if they are."""

    def __init__(self) -> None:
        self.lists: list[list[KernelSpec]] = []


watchers = _Watchers()


@contextlib.contextmanager
def watching(*, alone: bool = False) -> Iterator[list[KernelSpec]]:
    """Collect what this thread looks up inside: the kernels, and so the schedules, of a call.

    *alone*: those who collect outside do not see it.
    """
    seen: list[KernelSpec] = []
    before = watchers.lists
    watchers.lists = [seen] if alone else [*before, seen]
    try:
        yield seen
    finally:
        watchers.lists = before


def saw(specs: Iterable[KernelSpec]) -> None:
    """Tell those who collect what this thread looks up."""
    for seen in watchers.lists:
        seen.extend(specs)


def kernels(device: Device, *unit: KernelSpec) -> dict[str, Kernel]:
    """The kernels of *unit* on *device*: loaded before, from the disk cache, or compiled."""
    saw(unit)
    key = (device.traits, unit)
    mine = _loaded.setdefault(device, {})
    found = mine.get(key)
    if found is None:
        with _lock:
            found = mine.get(key)
            if found is None:
                note = _note(device, unit)
                found = mine[key] = _remembered(device, note) or _rendered(device, unit, note)
    return found


def begin(device: Device, unit: CompilationUnit) -> bool:
    """Start to compile a unit in a thread; False where it is loaded, kept on disk, or begun."""
    with _lock:
        begun, key = _begun.setdefault(device, {}), (os.getpid(), device.traits, unit)
        there = key[1:] in _loaded.get(device, ()) or key in begun or is_cached(device, unit)
        if not there:
            text = source(device, *unit)
            there = paths.kept(binary_name(_digest(device, text))) is not None
        if not there:
            begun[key] = text, _compilers(os.getpid()).submit(compile_source, device, text)
    return not there


@lru_cache(maxsize=1)
def _compilers(process: int) -> ThreadPoolExecutor:
    """Threads of a process that compile."""
    from concurrent.futures import ThreadPoolExecutor

    from portmp.backends.cpu.runtime import processors

    return ThreadPoolExecutor(processors(), "portmp compiles")


def forget(device: Device) -> None:
    """Load nothing again that *device* has loaded: its compiler is another."""
    _loaded.pop(device, None)


@cache
def code() -> str:
    """Which code renders: the content of modules and templates."""
    folders = ((paths.PACKAGE, "*.py"), (render.template_folder(), "*.mako"))
    digest = hashlib.sha256()
    for folder, pattern in folders:
        for path in sorted(folder.rglob(pattern)):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _note(device: Device, unit: CompilationUnit) -> str:
    """The name of what says which binary *unit* is, so that nothing need be rendered."""
    facts = (device.compiler_key(), code(), device.platform, device.traits, unit)
    return f"{hashlib.sha256(repr(facts).encode()).hexdigest()}.note"


def _noted(note: str) -> tuple[bytes | None, list[str]]:
    """The binary that a note names, if it is still there, and its kernels."""
    found = paths.kept(note)
    if found is None:
        return None, []
    digest, *names = found.decode().split()
    return paths.kept(binary_name(digest)), names


def _remembered(device: Device, note: str) -> dict[str, Kernel] | None:
    """The kernels of a unit that was rendered before, if its binary is still there."""
    binary, names = _noted(note)
    with contextlib.suppress(PortmpError):
        return device.load(binary, names) if binary else None
    return None


def is_cached(device: Device, unit: CompilationUnit) -> bool:
    """Whether the disk cache has the binary of *unit*."""
    return _noted(_note(device, unit))[0] is not None


def _rendered(device: Device, unit: CompilationUnit, note: str) -> dict[str, Kernel]:
    """The kernels of a unit, and a note for the next process."""
    begun = _begun.get(device, {}).pop((os.getpid(), device.traits, unit), None)
    text, binary = begun or (source(device, *unit), None)
    found = load(device, text, binary)
    paths.keep(note, " ".join([_digest(device, text), *text.kernels]).encode())
    return found


def source(device: Device, *unit: KernelSpec) -> RenderedSource:
    """Exactly the text that *device* compiles for *unit*."""
    if device.by_reference:
        raise LaunchError(f"{device.name} runs no kernels: it computes by the host reference")
    return kernel_spec.rendered(unit, device.platform, device.traits)


def load(
    device: Device, text: RenderedSource, begun: Future[bytes] | None = None
) -> dict[str, Kernel]:
    """Compile (or fetch) and load rendered source; *begun*: what compiles it already."""
    name = binary_name(_digest(device, text))
    binary = None if begun else paths.kept(name)
    if binary is not None:
        try:
            return device.load(binary, text.kernels)
        except PortmpError:
            paths.forget(name)
    binary = begun.result() if begun else compile_source(device, text)
    kernels = device.load(binary, text.kernels)
    paths.keep(name, binary)
    return kernels


def _digest(device: Device, text: RenderedSource) -> str:
    """What the binary of *text* is called."""
    parts = device.compiler_key(), device.traits.barriers, text.text
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compile_source(device: Device, source: RenderedSource) -> bytes:
    """Compile for *device*; a failure shows rendered and template lines."""
    try:
        return device.compile(source.text)
    except CompileError as error:
        raise explained(error, source) from None


def explained(error: CompileError, source: RenderedSource) -> CompileError:
    """The compiler's message with, for each line it names, the rendered and template line."""
    log = str(error)
    lines = source.text.splitlines()
    notes = []
    for number in dict.fromkeys(int(a or b) for a, b in _ERROR_LINE.findall(log)):
        if not 0 < number <= len(lines):
            continue
        origin = source.origin(number)
        place = f"{origin[0]} line {origin[1]}" if origin else "generated text"
        place = place if place.startswith("template ") else f"template {place}"  # a text's name
        notes.append(f"  rendered line {number} ({place}): {lines[number - 1].strip()}")
    if full := paths.full_disk():
        return CompileError(f"the compiler fails{full}: {log}")
    known = [f"  see the porting reference, entry {one}" for one in _entries(log)]
    if not (notes or known):
        return error
    return CompileError("\n".join(["the compiler rejects rendered source:", *notes, *known, log]))


def _entries(log: str) -> list[str]:
    """Entries of the porting reference (docs/porting) about messages of a compiler."""
    text = resources.files("portmp").joinpath("data/porting_messages.json").read_text()
    found = (entry for message, entry in json.loads(text).items() if message in log)
    return list(dict.fromkeys(found))


def placed(error: CheckError, source: RenderedSource) -> CheckError:
    """What was found in a kernel, with the template line and the text of each rendered line.

    Of lines that are called in one another: the first, and, where it is portmp's own, the first
    that is not.
    """
    lines = source.text.splitlines()

    def place(number: int) -> str:
        origin = source.origin(number)
        where = f"{origin[0]} line {origin[1]}" if origin else "generated text"
        return f"{where} (`{lines[number - 1].strip()}`)"

    def places(match: re.Match[str]) -> str:
        first, *calls = map(int, re.findall(r"\d+", match[0]))
        own = _is_own(source.origin(first))
        calls = [line for line in calls if own and not _is_own(source.origin(line))][:1]
        return ", called in ".join(map(place, [first, *calls]))

    found = re.sub(r"rendered line \d+(, called in rendered line \d+)*", places, str(error))
    return CheckError(found)


def _is_own(origin: tuple[str, int] | None) -> bool:
    """Whether a line comes from a template of portmp's, or from none."""
    return origin is None or origin[0] in render.own_templates()


# --- the disk cache: a file a binary, one a unit that says which ---------------------------


def binary_name(digest: str) -> str:
    """What the cache calls a binary."""
    return f"{digest}.bin"


_CACHED = re.compile(
    r"[0-9a-f]{64}\.(bin|note)|(probe|drivers|clang)-[0-9a-f]{32}\.json|tune-[0-9a-f]{32}\.jsonl"
    r"|opencl-drivers-[0-9a-f]{16}/[0-9]{2}\.icd"
)


def cached_files() -> Iterator[Path]:
    """All files of the disk cache: portmp's own, since the folder may hold others."""
    folder = paths.cache_folder()
    if folder is None:
        return
    found = [p for p in (*folder.iterdir(), *folder.glob("opencl-drivers-*/*")) if p.is_file()]
    yield from sorted(p for p in found if _CACHED.fullmatch(str(p.relative_to(folder))))
    yield from paths.abandoned(folder)
