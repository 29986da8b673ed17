"""Number formats: how a value is stored in planes and which networks compute with it.

A format is a table entry. ``planes`` are the dtypes of its limb planes in memory, most
significant first; ``word`` is the dtype that computes; ``networks`` maps the roles
(add, mul, div, sqrt) to networks of portmp.networks; ``accumulators`` says how sums of
products run, accurately and fast.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from portmp import definition, networks
from portmp.errors import ArgumentError, FormatError, suggestion
from portmp.networks import Network, operators

PRECISION = {"float32": 24, "float64": 53}
"""Bits of a word's significand."""

ROLES = ("add", "mul", "div", "sqrt")
ACCURACIES = ("accurate", "fast")


@dataclass(frozen=True)
class Accumulator:
    """How a sum of products runs: names of networks.

    ``step`` takes one product, ``renormalise`` (None: nothing) follows every ``period``
    steps, ``finish`` turns the state into a value. ``suffix`` ends the names of kernels.
    """

    step: str
    renormalise: str | None
    period: int
    finish: str
    suffix: str = ""

    @property
    def networks(self) -> dict[str, Network]:
        """The networks by role."""
        roles = {"accumulate": self.step, "renormalise": self.renormalise, "finish": self.finish}
        return {role: networks.get(name) for role, name in roles.items() if name}


@dataclass(frozen=True, eq=False)
class Format:
    """One number format.

    ``definition`` counts changes of the networks: it is part of every digest's key.
    ``scalar`` marks arithmetic that has no explicit-vector form.
    """

    name: str
    planes: tuple[str, ...]
    word: str
    networks: Mapping[str, str]
    accumulators: Mapping[str, Accumulator]
    about: str
    aliases: tuple[str, ...] = ()
    definition: int = 1
    scalar: bool = False
    paper: str = ""

    @property
    def limbs(self) -> int:
        """Number of limbs of a value."""
        return len(self.planes)

    @cached_property
    def bits(self) -> int:
        """Significand bits of a value with contiguous limbs."""
        return sum(PRECISION[p] for p in self.planes)

    @cached_property
    def digits(self) -> int:
        """Decimal digits that distinguish values with contiguous limbs."""
        return math.ceil(1 + (self.bits + self.limbs - 1) * math.log10(2))

    @cached_property
    def unit_roundoff(self) -> float:
        """u^N, the relative accuracy that one operation reaches up to a small factor."""
        return 2.0**-self.bits

    @cached_property
    def itemsize(self) -> int:
        """Bytes of one value over all planes."""
        return sum(self.dtype(i).itemsize for i in range(self.limbs))

    @cached_property
    def compute(self) -> Format:
        """The format of this one's intermediate results: all limbs are words."""
        if all(p == self.word for p in self.planes):
            return self
        return get(_UNIFORM[self.word, self.limbs])

    def dtype(self, plane: int) -> np.dtype:
        """NumPy dtype of a plane."""
        return np.dtype(self.planes[plane])

    def network(self, role: str) -> Network:
        """The network that plays *role* here."""
        return networks.get(self.networks[role])

    def accumulator(self, accuracy: str = "accurate") -> Accumulator:
        """How this format sums products: ``accurate`` or ``fast``."""
        if accuracy in self.accumulators:
            return self.accumulators[accuracy]
        if accuracy in ACCURACIES:
            raise FormatError(
                f"accuracy: {accuracy!r} given, {self.name} has only {', '.join(self.accumulators)}"
            )
        near = suggestion(str(accuracy), list(ACCURACIES))
        raise ArgumentError(
            f"accuracy: {accuracy!r} given{near}; allowed are {', '.join(ACCURACIES)}"
        )

    def operator(self, op: str) -> Network:
        """The public operator *op* (add, sub, fma, min ...), special values settled."""
        n = self.networks
        return operators.operator(op, n["add"], n["mul"], n["div"], n["sqrt"])

    def __str__(self) -> str:
        return self.name


def _fpan(n: int) -> dict[str, str]:
    return {role: f"{role}{n}" for role in ROLES}


def _sums(n: int) -> dict[str, Accumulator]:
    steps, settle, end, s = f"accumulate{n}", f"renormalise{n}", f"finish{n}", "_fast"
    return {
        "accurate": Accumulator(steps, settle, definition.PERIOD, end),
        "fast": Accumulator(steps + s, settle + s, definition.FAST_PERIOD, end + s, s),
    }


def _plain(name: str, n: int) -> Accumulator:
    """Textbook sums: acc = add(mul(a, b), acc), nothing to renormalise or finish."""
    return Accumulator(name, None, definition.PERIOD, f"keep{n}")


_FMA = dict.fromkeys(ACCURACIES, _plain("accumulate1", 1))


def _paper(n: int, accumulate: str, add: str, mul: str) -> dict[str, Any]:
    return {
        "networks": _fpan(n) | {"add": add, "mul": mul},
        "accumulators": {"accurate": _plain(accumulate, n)},
    }


def _standard(
    name: str, planes: tuple[str, ...], about: str, aliases: tuple[str, ...] = ()
) -> Format:
    n = len(planes)
    return Format(name, planes, planes[0], _fpan(n), _FMA if n == 1 else _sums(n), about, aliases)


_F32, _F64 = "float32", "float64"
_TABLE = [
    _standard("float32", (_F32,), "IEEE binary32"),
    _standard("float64", (_F64,), "IEEE binary64"),
    _standard("ds", (_F32,) * 2, "double-single", ("float32x2", "df")),
    _standard("ts", (_F32,) * 3, "triple-single", ("float32x3",)),
    _standard("qs", (_F32,) * 4, "quad-single", ("float32x4",)),
    _standard("dd", (_F64,) * 2, "double-double", ("float64x2",)),
    _standard("td", (_F64,) * 3, "triple-double", ("float64x3",)),
    _standard("qd", (_F64,) * 4, "quad-double", ("float64x4",)),
    _standard("d+s", (_F64, _F32), "double plus single: stored short, computed as dd", ("dps",)),
    Format(
        "ts2021", (_F32,) * 3, _F32, **_paper(3, "accumulate3_2021", "add3_2021", "mul3_2021"),
        about="the triple-single paper's arithmetic (GPU listing, corrected)", paper="004",
    ),
    Format(
        "dd2011", (_F64,) * 2, _F64, **_paper(2, "accumulate2_2011", "add2_jmp6", "mul2"),
        about="seed paper's double-double, QD's with FMA", paper="001",
    ),
    Format(
        "dd2011nofma", (_F64,) * 2, _F64,
        **_paper(2, "accumulate2_2011_split", "add2_jmp6", "mul2_2011_split"),
        about="the same without FMA", paper="001",
    ),
    Format(
        "qd2011", (_F64,) * 4, _F64, **_paper(4, "accumulate4_2011", "add4_2011", "mul4_2011"),
        about="seed paper's quad-double, QD's accurate operations with FMA", scalar=True,
        paper="001",
    ),
    Format(
        "qd2011nofma", (_F64,) * 4, _F64,
        **_paper(4, "accumulate4_2011_split", "add4_2011", "mul4_2011_split"),
        about="the same without FMA", scalar=True, paper="001",
    ),
]  # fmt: skip

_UNIFORM = {
    (f.word, f.limbs): f.name for f in _TABLE if not f.paper and all(p == f.word for p in f.planes)
}
_REGISTRY = {name: f for f in _TABLE for name in (f.name, *f.aliases)}

NAMES = tuple(f.name for f in _TABLE)
"""All formats, the papers' own included."""

STANDARD = tuple(f.name for f in _TABLE if not f.paper)
"""The formats meant for use."""


def get(name: str | Format) -> Format:
    """Return the format called *name* (or one of its aliases)."""
    if isinstance(name, Format):
        return name
    if isinstance(name, str) and name in _REGISTRY:
        return _REGISTRY[name]
    near = suggestion(str(name), list(_REGISTRY))
    raise FormatError(f"unknown format {name!r}{near}; formats: {', '.join(NAMES)}")
