"""What a search of schedules is made of: spaces of values, and problems that are timed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.runtime.planes import Planes, upload
from portmp.runtime.program import CompilationUnit

DISTINCT = 2**20

Group = tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]
Space = tuple[Group, ...]


def one_field(name: str, *values: int) -> Group:
    return (name,), tuple((v,) for v in values)


# --- problems --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Inputs of a task, ready on a device.

    ``run`` launches with a schedule and returns the output; ``operations`` are those of the
    format (2 a multiply-add, 1 an elementwise result), ``nbytes`` must move.
    """

    shape: dict[str, int]
    operations: int
    nbytes: int
    run: Callable[[Any], Planes]
    units: Callable[[Any], list[CompilationUnit]]


def values(form: Format, shape: tuple[int, ...], device: Device, seed: int) -> Planes:
    """Numbers with all limbs filled; long arrays repeat them."""
    host = inputs.ordinary(form, (min(math.prod(shape), DISTINCT),), f"tune {seed}")
    return upload(form, [np.resize(plane, shape) for plane in host], device.queue)
