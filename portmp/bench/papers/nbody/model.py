"""The paper's numbers on direct N-body summation, and its formulas.

The tables are in portmp/data/nbody_paper.json, with their source; misprints are marked there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from portmp.bench.experiment import paper_of
from portmp.bench.tables import Row

FLOP = 22
"""Operations of an interaction: 3 subtractions, 3 products, 6 fmas as two, a root as four."""

COUNTS = (22, 21, 20, 38)
"""Ways of counting: the paper's; a root as 3 (MI100's cycles), as 2; that of older papers."""

FORMAT = "float32"
"""What the paper computes in: its numbers say nothing of other formats."""

PLAIN_SLOTS = 12
"""Instructions of an interaction beside its root: 3 subtractions, 3 products, 6 fmas."""


def devices() -> dict[str, dict[str, Any]]:
    """The paper's devices by their short names."""
    found: dict[str, dict[str, Any]] = paper_of("nbody")["devices"]
    return found


def slots(arch: str, root: str) -> float | None:
    """Slots of an interaction on the device of an architecture, by its root; ``fast``: its best."""
    for about in devices().values():
        own = about["root_slots"].get(about["root"] if root == "fast" else root)
        if about["arch"] == arch and own is not None:
            return float(PLAIN_SLOTS + own)
    return None


def ratios(device: str) -> dict[str, float]:
    """Rates of a device's roots over that of division, from table 3."""
    rates = devices()[device]["roots"]
    return {root: rate / rates["division"] for root, rate in rates.items()}


def largest_at_once(device: str) -> int:
    """Targets for which each compute unit has one block: units x threads of a block."""
    about = devices()[device]
    return int(about["units"] * about["threads"])


def staircase(n: int, at_once: int) -> float:
    """P(N) / Pmax where rounds of *at_once* targets take equally long, the last one too."""
    return n / at_once / math.ceil(n / at_once)


def flops(n: int, seconds: float, flop: int = FLOP) -> float:
    """Operations a second of n^2 interactions in so many seconds."""
    return flop * float(n) ** 2 / seconds


def lane_rate(device: str) -> float:
    """Instructions a second of all lanes: units x lanes x clock."""
    about = devices()[device]
    return float(about["units"] * about["lanes"] * about["clock"]) * 1e9


def table_share(stated: Sequence[Sequence[float]], row: Row) -> float | None:
    """The share of the largest maximum that table A.1 has for a row; None where it has none."""
    best = max(rate for _, rate, *_ in stated)
    return next((rate / best for n, rate, *_ in stated if n == row["n"]), None)
