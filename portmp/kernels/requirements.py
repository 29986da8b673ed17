"""What a kernel's ``require`` asserts, and what a checked call says of one that does not hold.

A checked kernel has one more parameter: a number for each assertion, in which the first thread
(by its number in the whole grid) that finds it false is kept. Which one is first does not depend on
the order in which threads run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from portmp.backends.base import Buffer, Dim3, Queue, is_recording
from portmp.backends.findings import indices
from portmp.codegen.render import RenderedSource
from portmp.errors import CheckError, LaunchError

PARAMETER = "failed_"
"""What the parameter is called in C."""
HELD = 0xFFFFFFFF
"""What stands for an assertion that held in all threads."""
LAST = HELD - 1
"""The number of this thread and of all later ones."""


@dataclass(frozen=True)
class Requirement:
    """An assertion: its condition in C, and what the template says of it."""

    condition: str
    message: str


def buffer(requirements: Sequence[Requirement], queue: Queue) -> Buffer:
    """Memory for the assertions of one call."""
    if is_recording():
        raise LaunchError(
            "capture: a kernel with checked=True waits for the device; capture one without it"
        )
    held = np.full(len(requirements), HELD, np.uint32)
    made = queue.device.allocate(held.nbytes)
    queue.write(made, held)
    return made


def broken(
    told: Buffer, requirements: Sequence[Requirement], queue: Queue
) -> list[tuple[int, Requirement, int]]:
    """What did not hold, once the call is done: its place, and the first thread's number."""
    found = np.empty(len(requirements), np.uint32)
    queue.read(told, found)
    return [
        (i, one, int(first))
        for i, (one, first) in enumerate(zip(requirements, found, strict=True))
        if first != HELD
    ]


def error(
    kernel: str,
    found: Sequence[tuple[int, Requirement, int]],
    block: Dim3,
    grid: Dim3,
    source: RenderedSource,
) -> CheckError:
    """A line for each assertion that did not hold: where it stands, and the first thread."""
    lines = []
    for number, one, first in found:
        message = f": {one.message}" if one.message else ""
        lines.append(
            f"{_line(source, number)}: require({one.condition}) does not hold in "
            f"{_thread(first, block, grid)}{message}"
        )
    return CheckError(f"{kernel}: " + "\n  ".join(lines))


def place(number: int) -> str:
    """How the C text names the place of an assertion."""
    return f"&{PARAMETER}[{number}]"


def _line(source: RenderedSource, number: int) -> str:
    before, found, _ = source.text.partition(place(number))
    origin = source.origin(before.count("\n") + 1) if found else None
    return f"{origin[0]} line {origin[1]}" if origin else "template"


def _thread(number: int, block: Dim3, grid: Dim3) -> str:
    group, thread = divmod(number, math.prod(block))
    text = f"thread {indices(thread, block)} of block {indices(group, grid)}"
    return text + (" or a later one" if number == LAST else "")
