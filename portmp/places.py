"""Folders of portmp on this machine: caches and the user's settings."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path


@cache
def cache_folder() -> Path | None:
    """The cache folder (PORTMP_CACHE_DIR, else the user's), or None when none can be written.

    ``PORTMP_CACHE_DIR=`` (empty) turns caching off.
    """
    given = os.environ.get("PORTMP_CACHE_DIR")
    if given == "":
        return None
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(given or Path(base) / "portmp").expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return None
    return folder


def replace_file(path: Path, data: bytes) -> None:
    """Write *data* to *path* so that readers see the old file or the whole new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
