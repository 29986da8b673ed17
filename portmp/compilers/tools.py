"""Finding command-line tools, and running them on a text or a binary."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from shutil import which

from portmp import paths
from portmp.errors import BackendUnavailable, CompileError, PortmpError

ROCM_FOLDERS = ("/opt/rocm/llvm/bin", "/opt/rocm/lib/llvm/bin")
"""Where ROCm keeps its own LLVM, which is seldom on PATH."""


def search_folders(extra: Sequence[str] = ()) -> Iterator[Path]:
    """The folders of PATH, then *extra*; only those that exist, each by its first name."""
    there: dict[Path, Path] = {}
    for folder in [*os.environ.get("PATH", "").split(os.pathsep), *extra]:
        if folder and Path(folder).is_dir():
            there.setdefault(Path(folder).resolve(), Path(folder))
    return iter(there.values())


def versioned_tools(name: str, extra: Sequence[str] = ()) -> list[Path]:
    """All of ``name-NN`` (newest first), then the unversioned ``name``."""
    pattern = re.compile(re.escape(name) + r"-(\d+)")
    numbered: list[tuple[int, Path]] = []
    plain: list[Path] = []
    for folder in search_folders(extra):
        for path in folder.glob(f"{name}*"):
            match = pattern.fullmatch(path.name)
            if match:
                numbered.append((int(match[1]), path))
            elif path.name == name:
                plain.append(path)
    numbered.sort(key=lambda item: -item[0])
    return [path for _, path in numbered] + plain


def version_of(command: tuple[str, ...]) -> tuple[int, str]:
    """Major number and first line of ``--version``; (0, reason) when it cannot run.

    Kept on disk as long as the program is the same file: to ask takes longer than to launch.
    """
    try:
        program = Path(which(command[0]) or command[0])
        facts = program.stat()
    except OSError as error:
        return 0, str(error)
    known = f"{command} {facts.st_size} {facts.st_mtime_ns} {program.resolve()}"
    name = f"clang-{sha256(known.encode()).hexdigest()[:32]}.json"
    line = paths.recalled(name)
    if not isinstance(line, str):
        try:
            done = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, check=False
            )
        except OSError as error:
            return 0, str(error)
        line = (done.stdout.splitlines() or ["no output"])[0]
        paths.remember(name, line)
    version = re.search(r"version (\d+)\.", line)
    return (int(version[1]) if version else 0), line


def made(command: Sequence[str], source: str = "", name: str = "") -> bytes:
    """What a tool makes of a text, into a file; CompileError with what it said, if that is nothing.

    *name*: what the tool is called where it said nothing, in place of its path.
    """
    with paths.temporary_folder("tool") as folder:
        output = folder / "code"
        whole = [*command, "-o", str(output)]
        done = subprocess.run(whole, input=source.encode(), capture_output=True, check=False)
        if done.returncode or not output.exists():
            log = done.stderr.decode(errors="replace").strip()
            raise CompileError(log or f"{name or command[0]} ended with status {done.returncode}")
        return output.read_bytes()


def run_on_binary(command: Sequence[str], binary: bytes) -> str:
    """Run *command* on a temporary file that holds *binary*; return what it printed."""
    with paths.temporary_folder("tool") as folder:
        path = folder / "code"
        path.write_bytes(binary)
        try:
            done = subprocess.run(
                [*command, str(path)], capture_output=True, text=True, errors="replace", check=False
            )
        except OSError as error:
            raise BackendUnavailable(f"cannot run {command[0]}: {error}") from error
    if done.returncode:
        raise PortmpError(f"{command[0]} failed: {done.stderr.strip() or done.returncode}")
    return done.stdout
