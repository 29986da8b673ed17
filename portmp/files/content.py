"""What a file holds, as bytes: what may be read, how much of it, and errors that name the file.

Files come from anywhere. Their size, and what they will take in memory, is known before anything is
allocated; PORTMP_FILE_LIMIT (bytes) raises or lowers what may be taken, a quarter of this machine's
memory by default.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from portmp.backends.host.runtime import machine_memory
from portmp.errors import ArgumentError, InputError, PortmpError, one_line

SETTING = "PORTMP_FILE_LIMIT"

TEXT_BYTES = 400
LIMB_BYTES = 32
"""Bytes that a number in a text takes while it is read, and each of its limbs."""

LEAST_UNPACKED = 256 * 2**20
MOST_PACKED = 100
"""An archive may unpack to so many bytes, or so many times its own size: more is a trap."""


def limit() -> int:
    """Bytes that reading a file may take."""
    given = os.environ.get(SETTING, "").strip()
    if not given:
        return machine_memory() // 4
    if not (given.isascii() and given.isdigit() and len(given) < 19):
        raise ArgumentError(f"{SETTING}: {given!r:.60} given, a number of bytes is needed")
    return int(given)


def afford(what: str, needed: int) -> None:
    """InputError where reading *what* takes more than the limit."""
    if needed > (most := limit()):
        raise InputError(
            f"{what}: takes about {needed} bytes to read, {most} are allowed; {SETTING} sets "
            "another limit"
        )


def afford_unpacked(file: Path, packed: int, unpacked: int) -> None:
    """InputError for an archive that unpacks to more than the limit, or suspiciously much."""
    afford(str(file), unpacked)
    most = max(LEAST_UNPACKED, MOST_PACKED * packed)
    if unpacked > most and SETTING not in os.environ:
        raise InputError(
            f"{file}: {packed} bytes would unpack to {unpacked}, {most} are allowed; {SETTING} "
            "sets another limit"
        )


def content(file: Path) -> bytes:
    """The bytes of a regular file, or of standard input (/dev/stdin)."""
    with reading(file):
        # Standard input, or another file that the caller's shell has opened.
        handed_over = str(file) == "/dev/stdin" or str(file.parent) == "/dev/fd"
        if handed_over and not file.is_file():
            with file.open("rb") as stream:
                found = stream.read(limit() + 1)
        else:
            with regular(file) as opened:
                afford(str(file), os.fstat(opened.fileno()).st_size)
                found = opened.read()
        afford(str(file), len(found))
        return found


def text(file: Path) -> str:
    """The same as text."""
    return decoded(file, content(file))


def decoded(file: Path, data: bytes) -> str:
    """Text in UTF-8; InputError with the line where it is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{file}, line {line}: not a text file (UTF-8)") from None


def afford_numbers(file: Path, data: bytes, limbs: int) -> None:
    """InputError where the numbers of a text take more than the limit: there is a mark between."""
    most = min(len(data) // 2, sum(data.count(mark) for mark in (b",", b";", b" ", b"\t", b"\n")))
    afford(str(file), (most + 1) * (TEXT_BYTES + LIMB_BYTES * limbs))


def regular(file: Path) -> BinaryIO:
    """A regular file, opened; InputError for folders, pipes and devices."""
    # A pipe that nobody writes to is opened at once so, and found out.
    opened = os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    mode = os.fstat(opened.fileno()).st_mode
    if stat.S_ISREG(mode):
        return opened
    opened.close()
    if stat.S_ISDIR(mode):
        raise InputError(f"{file}: is a folder, not a file")
    raise InputError(f"{file}: is a pipe or a device; regular files and /dev/stdin are read")


@contextlib.contextmanager
def reading(file: Path | str) -> Iterator[None]:
    """Turn whatever reading raises into an InputError that names *file*."""
    try:
        yield
    except PortmpError:
        raise
    except MemoryError:
        raise InputError(f"{file}: what it holds does not fit this machine's memory") from None
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    except Exception as error:  # parsers of others raise many types for damaged files
        raise InputError(f"{file}: damaged or truncated: {one_line(error)}") from None
