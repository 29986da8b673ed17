"""Mutated files: only portmp's errors, no hang, no memory. ci/fuzz does the same for longer."""

from __future__ import annotations

import resource
import signal
from typing import Any

import pytest
from fuzz_targets import MEMORY, SECONDS, TARGETS, cases, run
from slow import slow

SEEDS = range(2, 12)


@pytest.fixture
def watched() -> Any:
    """End a case that hangs, with the line where it was."""

    def hang(*_: Any) -> None:
        raise TimeoutError(f"a case takes more than {10 * SECONDS:.0f} s")

    before = signal.signal(signal.SIGALRM, hang)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 200), *(pytest.param(s, 1000, marks=slow("other cases, more of them")) for s in SEEDS)],
)
@pytest.mark.parametrize("name", TARGETS)
def test_mutated_files(name: str, seed: int, count: int, watched: None) -> None:
    """The same cases each time; some are read, most are refused in words."""
    target, read = TARGETS[name], 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for case in cases(target, count // target.cost, seed):
        signal.alarm(int(10 * SECONDS))
        try:
            read += run(target, case)
        except Exception as error:
            raise AssertionError(f"{name}: {case[:2000]!r}") from error
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert read and grown < MEMORY
