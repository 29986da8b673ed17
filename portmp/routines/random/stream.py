"""Philox4x32-10: a stream of words, any of which is a function of its place.

Source: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

from __future__ import annotations

from typing import NamedTuple

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)
"""What the two words of the key grow by in each round."""


class Stream(NamedTuple):
    """The words of one key and one upper half of the counter."""

    key: tuple[int, int]
    upper: tuple[int, int]
