"""How much work something takes, in counts that no machine's speed changes."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType


def peak(work: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy hold at once, while *work* runs."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def calls(work: Callable[[], object]) -> int:
    """How often *work* calls functions: of vectorised code a number that arrays' sizes leave."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
