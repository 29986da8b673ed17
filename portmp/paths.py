"""Folders of portmp on this machine: its own, caches and the user's settings."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent
"""portmp's own folder, wherever in it the module is that asks."""


def python_path() -> str:
    """PYTHONPATH for a process that shall import this portmp."""
    return os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))


@cache
def cache_folder() -> Path | None:
    """The cache folder (PORTMP_CACHE_DIR, else the user's), or None when none can be written.

    ``PORTMP_CACHE_DIR=`` (empty) turns caching off.
    """
    given = os.environ.get("PORTMP_CACHE_DIR")
    if given == "":
        return None
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        folder = Path(given or Path(base) / "portmp").expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None
    return folder


@cache
def settings_folder() -> Path | None:
    """The folder of the user's settings (PORTMP_CONFIG_DIR, else the user's); it may not exist.

    ``PORTMP_CONFIG_DIR=`` (empty) and a user without a home mean none.
    """
    given = os.environ.get("PORTMP_CONFIG_DIR")
    if given == "":
        return None
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    try:
        return Path(given or Path(base) / "portmp").expanduser()
    except RuntimeError:
        return None


def recalled(name: str) -> Any:
    """What ``remember`` wrote under *name*, or None."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        return json.loads((folder / name).read_text())
    except (OSError, ValueError):
        return None


def remember(name: str, known: object) -> None:
    """Keep *known*, of JSON's types, in the cache folder, where there is one."""
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            replace_file(folder / name, json.dumps(known).encode())


def replace_file(path: Path, data: bytes) -> None:
    """Write *data* to *path* so that readers see the old file or the whole new one.

    As with open(): a link is followed, an old file keeps its mode, a new one has the umask's.
    Devices and pipes (/dev/stdout) are written to, never replaced.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    # A short part of the name: with all of it a long name would not fit the file system.
    fresh = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if mode is not None:
            fresh.chmod(mode)
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
