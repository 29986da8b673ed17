"""What benchmarks are asked for on the command line: lists, sizes, formats, choices."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from portmp import formats
from portmp.errors import ArgumentError, suggestion
from portmp.files import pictures, target
from portmp.formats import Format

ALL = "all"
_SIZE = re.compile(r"([0-9]+)(?:\^([0-9]+))?")
_LARGEST_SIZE = 2**40
T = TypeVar("T")


def listed(text: str | None, read: Callable[[str], T]) -> list[T]:
    """The items of ``A,B,C``, each once."""
    words = [w.strip() for part in (text or "").split(",") for w in [part] if w.strip()]
    return list(dict.fromkeys(read(word) for word in words))


def size(text: str) -> int:
    """``4096`` or ``2^26``."""
    match = _SIZE.fullmatch(text)
    exponent = int(match[2] or 1) if match and len(match[2] or "") < 4 else 1000
    if match is None or len(match[1]) > 15:
        raise ArgumentError(
            f"--size: {text[:40]!r} given, an integer such as 4096 or 2^26 is needed"
        )
    found: int = int(match[1]) ** exponent
    if not 1 <= found <= _LARGEST_SIZE:
        raise ArgumentError(f"--size: {text[:40]} given, 1 to 2^40 is allowed")
    return found


def listed_formats(text: str | None) -> list[Format]:
    """Formats by name; ``all`` are the standard ones."""
    if text == ALL:
        return [formats.get(name) for name in formats.STANDARD]
    return listed(text, formats.get)


def choice(text: str, option: str, allowed: Collection[str]) -> str:
    """A word that is one of *allowed*."""
    if text not in allowed:
        near = suggestion(text, list(allowed))
        raise ArgumentError(f"--{option}: {text!r} given{near}; allowed are {', '.join(allowed)}")
    return text


def one_size(text: str | None, what: str) -> int | None:
    """A size that is not a list, or None; *what* it is a size of."""
    sizes = listed(text, size)
    if len(sizes) > 1:
        raise ArgumentError(f"--size: {text} given, one {what} is needed")
    return sizes[0] if sizes else None


def check_runs(runs: int | None) -> None:
    """ArgumentError for a number of runs that there cannot be."""
    if runs is not None and runs < 1:
        raise ArgumentError(f"--runs: {runs} given, at least 1 is needed")


def check_seconds(seconds: float | None) -> None:
    """ArgumentError for a limit that is none."""
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise ArgumentError(f"--seconds: {seconds} given, a positive number is needed")


def places(args: Any) -> tuple[Path | None, Path | None]:
    """Where the report and the picture go, once both can be written."""
    output, picture = (Path(name) if name else None for name in (args.output, args.plot))
    if output:
        target.check_place(output)
    if picture:
        pictures.check(picture)
    return output, picture
