"""Whether drivers start: each is first started in another process, which it may end.

A start is ``function=library``: see trial_process.
"""

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from portmp import paths

_HANG = 60.0
"""Seconds after which a driver that is being started counts as hung."""

_SOUND = "PORTMP_SOUND_DRIVERS"
"""The variable that names, for processes started from here, drivers that start."""


@cache
def crash(start: str) -> str:
    """How a start ends or hangs another process; nothing where it does neither."""
    known = [name for name in os.environ.get(_SOUND, "").split(os.pathsep) if name]
    if start in known:
        return ""
    how = failing([start]).get(start, "")
    if not how:
        os.environ[_SOUND] = os.pathsep.join([*known, start])
    return how


def failing(starts: Sequence[str], cache_variable: str = "") -> dict[str, str]:
    """Which starts end or hang another process, and how; tried once for each state of the files.

    *cache_variable* tells a driver where to keep files: in a folder that goes with the process.
    """
    states = [(start, *_state(start.partition("=")[2])) for start in starts]
    note = f"drivers-{hashlib.sha256(repr(states).encode()).hexdigest()[:32]}.json"
    if paths.recalled(note) == list(starts):
        return {}
    found: dict[str, str] = {}
    left = list(starts)
    while left:
        begun, how = _trial(left, cache_variable)
        if not how:
            break
        found[left[begun]] = how
        left = left[begun + 1 :]
    if not found:
        paths.remember(note, list(starts))
    return found


def _state(library: str) -> tuple[int, int]:
    """Size and time of change of a library's file, or of the loader's list of libraries."""
    for path in (library, "/etc/ld.so.cache"):
        with contextlib.suppress(OSError):
            facts = Path(path).stat() if Path(path).is_absolute() else None
            if facts:
                return facts.st_size, facts.st_mtime_ns
    return 0, 0


def _trial(starts: Sequence[str], cache_variable: str) -> tuple[int, str]:
    """Start drivers in another process: which one ended it, and how; or no word."""
    with paths.temporary_folder("trial") as folder, tempfile.TemporaryFile("w+") as said:
        script = Path(__file__).with_name("trial_process.py")
        own = {cache_variable: str(folder)} if cache_variable else {}
        try:
            status = subprocess.run(
                [sys.executable, "-P", "-S", str(script), *starts],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **own},
                timeout=_HANG,
                check=False,
            ).returncode
            how = f"ends with signal {-status}" if status < 0 else f"ends with status {status}"
        except subprocess.TimeoutExpired:
            how = f"takes more than {_HANG:.0f} s"
        said.seek(0)
        lines = said.read().splitlines()
    begun = [i for i, start in enumerate(starts) if f"start {start}" in lines]
    if "end" in lines or not begun:
        return 0, ""  # what ends a process that has started all of them harms no use
    return begun[-1], how
