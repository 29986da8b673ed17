"""How much work something takes, in counts that no machine's speed changes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

from portmp.bench.measure import counted, frames

__all__ = ["calls", "frames", "peak"]


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
    return counted(work, lambda frame, event: event in ("call", "c_call"))
