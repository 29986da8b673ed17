"""What a device that checks kernels finds in a launch, and how it is told.

``Finding`` names lines of the rendered text; ``portmp.runtime.program.placed`` turns them into
those of templates.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from portmp.backends.base import Dim3
from portmp.errors import CheckError

MOST = 5
"""Findings that a message tells; the others it counts."""

_CAUSES = ("divergence", "outside of", "race", "value read", "Invalid", "written to", "")
"""Words of reports, causes before what follows from them: control flow that depends on values."""

_ADDRESS = re.compile(r" address 0x[0-9a-f]+|\[\d+\]|(?<= \()\d+ bytes|byte \d+")


@dataclass(frozen=True)
class Finding:
    """What is wrong, who did it, and where: ``rendered line 7`` for each of them.

    ``times``: how often it was found.
    """

    what: str
    who: tuple[str, ...]
    places: tuple[str, ...]
    times: int = 1

    @property
    def kind(self) -> tuple[str, tuple[str, ...]]:
        """What findings of the same mistake share."""
        return _ADDRESS.sub("", self.what), tuple(sorted(self.places))

    def __str__(self) -> str:
        places = list(self.places) or ["generated code"]
        if len(self.who) == len(places):
            places = [f"{who} in {place}" for who, place in zip(self.who, places, strict=True)]
        return f"{self.what}: {' and '.join(places)}"


def told(findings: Sequence[Finding]) -> str:
    """The first finding of each mistake, a line each."""
    counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for finding in findings:
        counts[finding.kind] += finding.times
    first = {finding.kind: finding for finding in reversed(findings)}
    ranks = {kind: next(i for i, word in enumerate(_CAUSES) if word in kind[0]) for kind in counts}
    lines = [
        f"  {first[kind]}" + (f"; {counts[kind] - 1} more of these" if counts[kind] > 1 else "")
        for kind in sorted(counts, key=ranks.__getitem__)
    ]
    more = [f"  and {len(lines) - MOST} other mistakes"] if len(lines) > MOST else []
    return "\n".join(lines[:MOST] + more)


def check_error(
    device: str, kernel: str, grid: Dim3, block: Dim3, findings: Sequence[Finding]
) -> CheckError:
    """What a call raises for the findings of its launch."""
    return CheckError(
        f"{device} finds mistakes in the kernel {kernel}, launched with grid={grid}, "
        f"block={block}:\n{told(findings)}"
    )


def indices(number: int, sizes: Dim3) -> str:
    """The indices of a thread in its block, or of a block in its grid, by its number."""
    x, y, _ = sizes
    return f"({number % x},{number // x % y},{number // (x * y)})"
