"""The floor of a case: the least time that this device's own rates allow.

Two things bound a case: the instructions of its multiply-add networks (or of its operator)
at the rate of the hardware's own instructions, and the bytes that must move at the rate of
a plain copy (GPUs) or of STREAM's triad (CPUs), all measured in the same run. The floor is
the larger of the two times; the share of the floor is floor / time.

On GPUs additions, products and fmas share one pipe: their sum over the fma rate. Multiply-adds that
a matrix unit does, where the device has one that keeps the bits, count at the unit's rate. On CPUs
additions may have pipes of their own, so the floor is the larger of additions over the add
rate and products and fmas over the fma rate; where they share pipes after all (the CPU says
nothing about it), that is still a lower bound. A division or square root counts as one
instruction of the fma pipe, compares and selects as none, and ``finish``, alpha and beta
as none: a floor is never too high.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portmp.backends.base import Device
from portmp.bench.cases import Case
from portmp.errors import ArgumentError
from portmp.routines import ceilings
from portmp.routines.ozaki.work import PRODUCTS

ARITHMETIC, MEMORY = "arithmetic", "memory"
FMA_PIPE = ("mul", "fma", "div", "sqrt")
PIPES = ("add", *FMA_PIPE)
ROUNDS = 3
"""Other work on the machine may slow a whole series of runs down; rounds are apart in time."""


@dataclass(frozen=True)
class Ceilings:
    """Measured rates of a device.

    ``instructions``: words a second by word (float32, float64) and class (fma, add, unit: of matrix
    units), and products a second of engines that multiply matrices;
    ``memory``: bytes a second, found by ``memory_by`` (copy or triad).
    """

    kind: str
    instructions: Mapping[str, Mapping[str, float]]
    memory: float
    memory_by: str

    def best(self, other: Ceilings) -> Ceilings:
        """The larger of each rate: what disturbs a measurement only lowers it."""
        rates = {
            word: {op: max(rate, other.instructions[word][op]) for op, rate in ops.items()}
            for word, ops in self.instructions.items()
        }
        memory = max(self.memory, other.memory)
        return Ceilings(self.kind, rates, memory, self.memory_by)

    def as_dict(self) -> dict[str, Any]:
        """What the results' file holds under ``ceilings``."""
        return {
            "instructions_per_second": {w: dict(r) for w, r in self.instructions.items()},
            "memory": {"bytes_per_second": self.memory, "by": self.memory_by},
        }


@dataclass(frozen=True)
class Floor:
    """The least seconds by arithmetic and by memory."""

    arithmetic: float
    memory: float

    @property
    def seconds(self) -> float:
        """The larger of the two."""
        return max(self.arithmetic, self.memory)

    @property
    def bound(self) -> str:
        """Which of the two it is."""
        return ARITHMETIC if self.arithmetic >= self.memory else MEMORY


def measured(device: Device, words: set[str], rounds: int = ROUNDS) -> Ceilings:
    """Measure what cases in these words are compared with: the best of a few rounds."""
    known = {"float32", *PRODUCTS.values()} | ({"float64"} if device.properties.float64 else set())
    if words - known:
        raise ArgumentError(f"{device.name} has no float64; formats of float32 words are left")
    return functools.reduce(Ceilings.best, (_round(device, words) for _ in range(rounds)))


def _round(device: Device, words: set[str]) -> Ceilings:
    rates = {
        word: {op: ceilings.instruction_rate(device, word, op) for op in ("fma", "add")}
        for word in sorted(words - set(PRODUCTS.values()))
    }
    for word, key in PRODUCTS.items():
        if key in words:
            rates[key] = {"fma": ceilings.product_rate(device, word)}
    if device.traits.matrix_unit and "float64" in rates:
        rates["float64"]["unit"] = ceilings.unit_rate(device)
    by, memory = ceilings.memory_rate(device)
    return Ceilings(device.properties.kind, rates, memory, by)


def arithmetic(instructions: Mapping[str, float], kind: str, rates: Mapping[str, float]) -> float:
    """Seconds that *instructions* take at least, on a ``gpu`` or a ``cpu``."""
    units = instructions.get("unit", 0) / rates.get("unit", rates["fma"])
    if kind == "gpu":
        return sum(instructions.get(op, 0) for op in PIPES) / rates["fma"] + units
    products = sum(instructions.get(op, 0) for op in FMA_PIPE) / rates["fma"] + units
    return max(instructions.get("add", 0) / rates.get("add", rates["fma"]), products)


def floor(case: Case, limits: Ceilings) -> Floor:
    """The floor of *case* on a device with these ceilings."""
    rates = limits.instructions[case.word]
    needed = case.routine.instructions(case.form, case.accuracy, case.shape, case.kind)
    return Floor(arithmetic(needed, limits.kind, rates), case.nbytes / limits.memory)
