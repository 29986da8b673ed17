"""Where results are written: checked before the work, replaced in one step after it."""

import os
import stat
from pathlib import Path

from portmp import paths
from portmp.errors import InputError


def make_folder(folder: Path) -> None:
    """Make a folder for files that a command writes; InputError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{_short(folder)}: cannot be made: {reason}") from None


def check_place(file: Path) -> None:
    """Refuse a file that cannot be created where it should be."""
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except (OSError, ValueError) as error:  # too long, a loop of links; a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{_short(file)}: cannot be written: {reason}") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise InputError(f"{file}: is a folder, not a file")
    if mode is not None and not stat.S_ISREG(mode):
        return  # a device or a pipe, which is written to as it is
    folder = Path(os.path.realpath(file)).parent
    if not folder.is_dir():
        raise InputError(f"{file}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{file}: the folder {folder} cannot be written to")


def _short(file: Path) -> str:
    """A name that fits a line."""
    name = str(file)
    return repr(name) if len(name) <= 80 else f"{name[:80]!r}... ({len(name)} characters)"


def replace(file: Path, data: paths.Content) -> None:
    """Put *data* in the place of *file*; InputError where that fails."""
    try:
        paths.replace_file(file, data)
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror or error}") from None
