"""Rendered source to loaded kernels: compile, keep on disk, explain failures."""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from weakref import WeakKeyDictionary

from portmp import paths
from portmp.backends.base import Device, Kernel
from portmp.codegen import kernel_spec, render
from portmp.codegen.kernel_spec import KernelSpec
from portmp.codegen.platform import Traits
from portmp.codegen.render import RenderedSource
from portmp.errors import CompileError, LaunchError, PortmpError

_MAGIC = b"portmp binary 1\n"
_DIGEST = 32
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
_lock = threading.Lock()
_watchers: list[list[KernelSpec]] = []


@contextlib.contextmanager
def watching() -> Iterator[list[KernelSpec]]:
    """Collect what is looked up inside: the kernels, and so the schedules, that a call uses."""
    seen: list[KernelSpec] = []
    _watchers.append(seen)
    try:
        yield seen
    finally:
        _watchers.remove(seen)


def kernels(device: Device, *unit: KernelSpec) -> dict[str, Kernel]:
    """The kernels of *unit* on *device*: loaded before, from the disk cache, or compiled."""
    for seen in _watchers:
        seen.extend(unit)
    key = (device.traits, unit)
    mine = _loaded.get(device)
    if mine is None:
        mine = _loaded.setdefault(device, {})
    found = mine.get(key)
    if found is None:
        with _lock:
            found = mine.get(key)
            if found is None:
                note = _note(device, unit)
                found = mine[key] = _remembered(device, note) or _rendered(device, unit, note)
    return found


@cache
def _code() -> str:
    """Which code renders: modules and templates, by size and time of change."""
    files = [*paths.PACKAGE.rglob("*.py"), *render.template_folder().rglob("*.mako")]
    facts = [(str(p), (s := p.stat()).st_size, s.st_mtime_ns) for p in sorted(files)]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _note(device: Device, unit: CompilationUnit) -> Path | None:
    """The file that says which binary *unit* is, so that nothing need be rendered."""
    folder = paths.cache_folder()
    facts = (device.compiler_key(), _code(), device.platform, device.traits, unit)
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()
    return folder / f"{digest}.note" if folder else None


def _remembered(device: Device, note: Path | None) -> dict[str, Kernel] | None:
    """The kernels of a unit that was rendered before, if its binary is still there."""
    if note is None or not note.is_file():
        return None
    try:
        digest, *names = note.read_text().split()
        binary = read_cached(digest)
        return device.load(binary, names) if binary else None
    except (OSError, ValueError, PortmpError):
        return None


def is_cached(device: Device, unit: CompilationUnit) -> bool:
    """Whether the disk cache has the binary of *unit*."""
    note = _note(device, unit)
    if note is None or not note.is_file():
        return False
    try:
        digest, *_ = note.read_text().split()
    except (OSError, ValueError):
        return False
    return read_cached(digest) is not None


def _rendered(device: Device, unit: CompilationUnit, note: Path | None) -> dict[str, Kernel]:
    """The kernels of a unit, and a note for the next process."""
    text = source(device, *unit)
    found = load(device, text)
    if note is not None:
        with contextlib.suppress(OSError):
            paths.replace_file(note, " ".join([_digest(device, text), *text.kernels]).encode())
    return found


def source(device: Device, *unit: KernelSpec) -> RenderedSource:
    """Exactly the text that *device* compiles for *unit*."""
    if device.by_reference:
        raise LaunchError(f"{device.name} runs no kernels: it computes by the host reference")
    return kernel_spec.rendered(unit, device.platform, device.traits)


def load(device: Device, text: RenderedSource) -> dict[str, Kernel]:
    """Compile (or fetch) and load rendered source."""
    digest = _digest(device, text)
    binary = read_cached(digest)
    if binary is not None:
        try:
            return device.load(binary, text.kernels)
        except PortmpError:
            forget(digest)
    binary = compile_source(device, text)
    kernels = device.load(binary, text.kernels)
    write_cached(digest, binary)
    return kernels


def _digest(device: Device, text: RenderedSource) -> str:
    """What the binary of *text* is called."""
    return hashlib.sha256(f"{device.compiler_key()}\0{text.text}".encode()).hexdigest()


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
    seen = set()
    for number in (int(a or b) for a, b in _ERROR_LINE.findall(log)):
        if number in seen or not 0 < number <= len(lines):
            continue
        seen.add(number)
        origin = source.origin(number)
        place = f"{origin[0]} line {origin[1]}" if origin else "generated text"
        notes.append(f"  rendered line {number} (template {place}): {lines[number - 1].strip()}")
    if not notes:
        return error
    return CompileError("\n".join(["the compiler rejects rendered source:", *notes, log]))


# --- the disk cache: one file a binary, checked by a digest of its content ------------


def _path(digest: str) -> Path | None:
    folder = paths.cache_folder()
    return folder / f"{digest}.bin" if folder else None


def read_cached(digest: str) -> bytes | None:
    """A cached binary, or None; a damaged file is removed."""
    path = _path(digest)
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST
    body = data[start:]
    if data[: len(_MAGIC)] == _MAGIC and hashlib.sha256(body).digest() == data[len(_MAGIC) : start]:
        return body
    forget(digest)
    return None


def write_cached(digest: str, binary: bytes) -> None:
    """Keep *binary*; a cache that cannot be written is no error."""
    path = _path(digest)
    if path is not None:
        try:
            paths.replace_file(path, _MAGIC + hashlib.sha256(binary).digest() + binary)
        except OSError:
            return


def forget(digest: str) -> None:
    """Remove one cached binary."""
    path = _path(digest)
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink()


_CACHED = re.compile(r"[0-9a-f]{64}\.(bin|note)|probe-[0-9a-f]{32}\.json|tune-[0-9a-f]{32}\.jsonl")


def cached_files() -> Iterator[Path]:
    """All files of the disk cache: portmp's own, since the folder may hold others."""
    folder = paths.cache_folder()
    if folder is not None:
        yield from sorted(p for p in folder.iterdir() if _CACHED.fullmatch(p.name) and p.is_file())
