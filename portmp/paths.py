"""Folders and files of portmp on this machine: its own, caches and the user's settings.

What lies in the cache is run, so that only this user may have written it: the folder and its files
belong to the user and to nobody else, files are read without following links, and each is sealed
with a key that lies among them (docs/safety.md).
"""

import atexit
import contextlib
import fcntl
import hashlib
import hmac
import io
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from portmp.errors import DeviceError, InputError

PACKAGE = Path(__file__).resolve().parent
"""portmp's own folder, wherever in it the module is that asks."""

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_SEAL = b"portmp cache 2\n"
_KEY = "key"
_MAC = hashlib.sha256().digest_size
_TEMPORARY = "portmp."
_LEAST_FREE = 8 * 2**20
"""Bytes of a disk without which drivers and compilers fail for that reason alone."""
_PATIENCE = 60.0
"""Seconds to wait for another process's lock."""
Content = bytes | Callable[[BinaryIO], object]
"""What a file shall hold, or what writes it to a stream."""
_SETTLED = 60.0
"""Seconds after which a temporary folder that nobody locks was left behind."""


def python_path() -> str:
    """PYTHONPATH for a process that shall import this portmp."""
    return os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))


# --- folders ----------------------------------------------------------------------------------


@cache
def cache_folder() -> Path | None:
    """The cache folder (PORTMP_CACHE_DIR, else the user's), or None when none can be used.

    ``PORTMP_CACHE_DIR=`` (empty) turns caching off. A folder that others may write to is not used,
    with a line on standard error.
    """
    folder = _user_folder("PORTMP_CACHE_DIR", "XDG_CACHE_HOME", "~/.cache")
    if folder is None:
        return None
    try:
        make_private(folder)
        doubt = writers(folder)
        if not doubt:
            with tempfile.TemporaryFile(dir=folder):
                pass
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        return None
    if doubt:
        _warn(f"the cache folder {folder} is not used: {doubt}")
        return None
    return folder


@cache
def settings_folder() -> Path | None:
    """The folder of the user's settings (PORTMP_CONFIG_DIR, else the user's); it may not exist.

    ``PORTMP_CONFIG_DIR=`` (empty) and a user without a home mean none.
    """
    return _user_folder("PORTMP_CONFIG_DIR", "XDG_CONFIG_HOME", "~/.config")


def _user_folder(own: str, shared: str, usual: str) -> Path | None:
    """The folder that *own* names, or portmp's; None for an empty name or a user without a home."""
    given = os.environ.get(own)
    if given == "":
        return None
    try:
        return Path(given or Path(os.environ.get(shared) or usual) / "portmp").expanduser()
    except RuntimeError:
        return None


def make_private(folder: Path) -> None:
    """Make *folder*, for this user alone, where there is none."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def writers(folder: Path) -> str:
    """Who else may put files into *folder*, with what cures it; nothing if nobody may."""
    facts = folder.stat()
    if facts.st_uid != os.geteuid():
        return f"it belongs to another user ({facts.st_uid}); name one of yours by PORTMP_CACHE_DIR"
    if facts.st_mode & _OTHERS:
        return f"others may write to it; chmod 700 {folder}, after a look at what is there"
    for parent in folder.resolve().parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"others may replace it: all may write to {parent}"
    return ""


@cache
def _warn(text: str) -> None:
    """Say it on standard error, once a process."""
    print(f"portmp: {text}", file=sys.stderr)


@contextlib.contextmanager
def temporary_folder(what: str) -> Iterator[Path]:
    """A folder of this process for *what*, removed at the end; those of killed processes as well.

    A process that lives holds a lock on its folder. A forked one leaves it to its parent.
    """
    owner = os.getpid()
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{_TEMPORARY}{what}."))
    except OSError as error:
        raise DeviceError(f"no temporary folder can be made{full_disk()}: {error}") from None
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # a file system without locks: nobody takes it for left
        fcntl.flock(handle, fcntl.LOCK_EX)
    for left in folder.parent.glob(f"{_TEMPORARY}{what}.*"):
        with contextlib.suppress(OSError):
            facts = left.lstat()
            if facts.st_uid == os.geteuid() and time.time() - facts.st_mtime > _SETTLED:
                _remove_unlocked(left)
    try:
        yield folder
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


@cache
def process_folder(what: str) -> Path:
    """A folder for *what* that this process has until it ends."""
    stack = contextlib.ExitStack()

    def remove() -> None:
        with contextlib.suppress(KeyboardInterrupt):  # the next process sweeps what it stopped
            stack.close()

    atexit.register(remove)
    return stack.enter_context(temporary_folder(what))


def full_disk() -> str:
    """That the disk of temporary files is full, as a part of a sentence; nothing if it is not."""
    with contextlib.suppress(OSError):
        place = tempfile.gettempdir()
        free = shutil.disk_usage(place).free
        if free < _LEAST_FREE:
            return f" (the disk of {place} is full: {free} bytes are free; TMPDIR names another)"
    return ""


def _remove_unlocked(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


# --- files of the cache -----------------------------------------------------------------------


def read_private(path: Path) -> bytes | None:
    """The content of a regular file that nobody but this user may have written; else None."""
    try:
        # A pipe without a writer is opened at once, and is no regular file.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                return None
            if facts.st_uid != os.geteuid() or facts.st_mode & _OTHERS:
                _warn(f"the file {path} is not used: others may have written it; remove it")
                return None
            return file.read()
    except OSError:
        return None


def kept(name: str) -> bytes | None:
    """What ``keep`` wrote under *name*, or None; a damaged file is removed."""
    folder = cache_folder()
    data = read_private(folder / name) if folder else None
    if data is None:
        return None
    start = len(_SEAL) + _MAC
    body, seal = data[start:], _sealed(name, data[start:])
    if seal is not None and hmac.compare_digest(data[:start], seal):
        return body
    forget(name)
    return None


def keep(name: str, body: bytes) -> None:
    """Keep *body* in the cache folder, where there is one that can be written to."""
    folder, seal = cache_folder(), _sealed(name, body)
    if folder is not None and seal is not None:
        with contextlib.suppress(OSError):
            # What a loss of power damages the seal tells: no need to wait for the disk.
            _exchange(folder / name, seal + body, 0o600, durable=False)


def made(key: str, make: Callable[[], bytes]) -> bytes:
    """What was kept under a text's digest, or made now and kept."""
    name = f"{hashlib.sha256(key.encode()).hexdigest()}.bin"
    found = kept(name)
    if found is None:
        found = make()
        keep(name, found)
    return found


def forget(name: str) -> None:
    """Remove what is kept under *name*."""
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            (folder / name).unlink()


def _sealed(name: str, body: bytes) -> bytes | None:
    """What stands before *body* in the file *name*; None without a key."""
    key = _key(cache_folder())
    return key and _SEAL + hmac.digest(key, name.encode() + b"\0" + body, "sha256")


@cache
def _key(folder: Path | None) -> bytes | None:
    """The key of a cache folder, made by the first process that asks."""
    if folder is None:
        return None
    path = folder / _KEY
    if not path.exists():
        fresh = folder / f".{_KEY}.{secrets.token_hex(8)}"
        with contextlib.suppress(OSError):
            _write_new(fresh, secrets.token_bytes(_MAC), 0o600, durable=True)
            with contextlib.suppress(FileExistsError):
                os.link(fresh, path)  # the first one stays
        with contextlib.suppress(OSError):
            fresh.unlink()
    key = read_private(path)
    return key if key and len(key) == _MAC else None


def recalled(name: str) -> Any:
    """What ``remember`` wrote under *name*, or None."""
    body = kept(name)
    try:
        return None if body is None else json.loads(body)
    except ValueError:
        return None


def remember(name: str, known: object) -> None:
    """Keep *known*, of JSON's types, in the cache folder, where there is one."""
    keep(name, json.dumps(known).encode())


def abandoned(folder: Path) -> Iterator[Path]:
    """What processes that were killed while they wrote left in *folder*."""
    for path in folder.glob(".*"):
        tail = path.name.rpartition(".")[2]
        if len(tail) == 16 and all(c in "0123456789abcdef" for c in tail) and path.is_file():
            yield path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes that ask for it from changing *path* meanwhile."""
    from filelock import FileLock, Timeout  # as long to import as all of portmp

    lock = FileLock(path.with_name(f".{path.name}.lock"), mode=0o600)
    try:
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        raise InputError(
            f"{path}: another process has had the lock {lock.lock_file} for {_PATIENCE:.0f} s; "
            "wait for it, or end it"
        ) from None
    try:
        yield
    finally:
        lock.release()


# --- writing ----------------------------------------------------------------------------------


def replace_file(path: Path, data: Content, mode: int = 0o666, durable: bool = True) -> None:
    """Write *data* to *path* so that readers see the old file or the whole new one.

    As with open(): a link is followed, an old file keeps its mode, a new one has *mode* less the
    umask. Devices and pipes (/dev/stdout) are written to, never replaced. *durable*: the old file
    goes when the new one is on the disk, so that a loss of power leaves one of them. What killed
    runs left of the same file is named on standard error.
    """
    if path.exists() and not path.is_file():
        memory = io.BytesIO(data if isinstance(data, bytes) else b"")
        if not isinstance(data, bytes):
            data(memory)
        path.write_bytes(memory.getbuffer())
        return
    target = Path(os.path.realpath(path))
    for left in abandoned(target.parent):
        if left.name.startswith(_hidden(target)) and not _is_held(left):
            _warn(f"{left}: left by a run that ended while it wrote {path}; it may be removed")
    old = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    _exchange(target, data, mode, durable, old)


def _exchange(
    target: Path, data: Content, mode: int, durable: bool, exactly: int | None = None
) -> None:
    """Put a new file in the place of *target*, whatever stands there but a folder."""
    fresh = target.with_name(f"{_hidden(target)}{secrets.token_hex(8)}")
    try:
        _write_new(fresh, data, mode, durable)
        if exactly is not None:
            fresh.chmod(exactly)
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _hidden(target: Path) -> str:
    """How files that shall replace another one begin: all of its name would not fit."""
    return f".{target.name[:50]}."


def _is_held(path: Path) -> bool:
    """Whether a process still writes a file, or nobody can tell."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    return True


def _write_new(path: Path, data: Content, mode: int, durable: bool) -> None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "w+b") as file:
        if durable:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        file.write(data) if isinstance(data, bytes) else data(file)
        if durable:
            file.flush()
            os.fsync(handle)
