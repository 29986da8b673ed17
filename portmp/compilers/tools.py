"""Finding command-line tools, and running them on a binary."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from portmp import paths
from portmp.errors import BackendUnavailable, PortmpError

ROCM_FOLDERS = ("/opt/rocm/llvm/bin", "/opt/rocm/lib/llvm/bin")
"""Where ROCm keeps its own LLVM, which is seldom on PATH."""


def search_folders(extra: Sequence[str] = ()) -> Iterator[Path]:
    """The folders of PATH, then *extra*; only those that exist."""
    for folder in [*os.environ.get("PATH", "").split(os.pathsep), *extra]:
        if folder and Path(folder).is_dir():
            yield Path(folder)


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
