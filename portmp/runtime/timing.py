"""Device times of launches that were recorded, as searches for schedules read them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from portmp.backends.base import Device, Launch, replay

SHORTEST = 2e-3
"""Seconds that one reading lasts at least, by repeated launches."""

HOPELESS = 1.3
"""A first reading that much slower than the best ends a trial."""


def timed(device: Device, launches: Sequence[Launch], repeats: int = 1) -> float:
    """Seconds that the launches take, on average over so many times."""
    start = device.queue.record()
    for _ in range(repeats):
        replay(launches)
    return device.queue.record().seconds_since(start) / repeats


def reading(
    device: Device, launches: Sequence[Launch], count: int, hopeless: float = float("inf")
) -> float:
    """Median of *count* readings of the device time, or the first one if it is hopeless."""
    first = timed(device, launches)
    if first > hopeless:
        return first
    repeats = max(1, round(SHORTEST / max(first, 1e-9)))
    return statistics.median(timed(device, launches, repeats) for _ in range(count))
