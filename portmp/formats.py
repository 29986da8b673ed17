"""Number formats: how a value is stored in planes and which networks compute with it.

A format is a table entry. ``planes`` are the dtypes of its limb planes in memory, most
significant first; ``word`` is the dtype that computes; ``networks`` maps the roles
(add, mul, div, sqrt, accumulate, renormalise, finish) to networks of portmp.networks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from portmp import networks
from portmp.errors import FormatError, suggestion
from portmp.networks import Network, operators

PRECISION = {"float32": 24, "float64": 53}
"""Bits of a word's significand."""

ROLES = ("add", "mul", "div", "sqrt", "accumulate", "renormalise", "finish")


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

    def operator(self, op: str) -> Network:
        """The public operator *op* (add, sub, fma, min ...), special values settled."""
        n = self.networks
        return operators.operator(op, n["add"], n["mul"], n["div"], n["sqrt"])

    def __str__(self) -> str:
        return self.name


def _fpan(n: int) -> dict[str, str]:
    return {role: f"{role}{n}" for role in ROLES}


def _one_limb() -> dict[str, str]:
    return _fpan(1) | {"renormalise": "keep1", "finish": "keep1"}


def _paper(n: int, accumulate: str, add: str, mul: str) -> dict[str, str]:
    """Textbook arithmetic: acc = add(mul(a, b), acc), nothing to renormalise or finish."""
    return _fpan(n) | {
        "add": add, "mul": mul,
        "accumulate": accumulate, "renormalise": f"keep{n}", "finish": f"keep{n}",
    }  # fmt: skip


_TABLE = [
    Format("float32", ("float32",), "float32", _one_limb(), "IEEE binary32"),
    Format("float64", ("float64",), "float64", _one_limb(), "IEEE binary64"),
    Format("ds", ("float32",) * 2, "float32", _fpan(2), "double-single", ("float32x2", "df")),
    Format("ts", ("float32",) * 3, "float32", _fpan(3), "triple-single", ("float32x3",)),
    Format("qs", ("float32",) * 4, "float32", _fpan(4), "quad-single", ("float32x4",)),
    Format("dd", ("float64",) * 2, "float64", _fpan(2), "double-double", ("float64x2",)),
    Format("td", ("float64",) * 3, "float64", _fpan(3), "triple-double", ("float64x3",)),
    Format("qd", ("float64",) * 4, "float64", _fpan(4), "quad-double", ("float64x4",)),
    Format(
        "d+s", ("float64", "float32"), "float64", _fpan(2),
        "double plus single: stored short, computed as dd", ("dps",),
    ),
    Format(
        "ts2021", ("float32",) * 3, "float32",
        _paper(3, "accumulate3_2021", "add3_2021", "mul3_2021"),
        "the triple-single paper's arithmetic (GPU listing, corrected)", paper="004",
    ),
    Format(
        "dd2011", ("float64",) * 2, "float64",
        _paper(2, "accumulate2_2011", "add2_jmp6", "mul2"),
        "seed paper's double-double, QD's with FMA", paper="001",
    ),
    Format(
        "dd2011nofma", ("float64",) * 2, "float64",
        _paper(2, "accumulate2_2011_split", "add2_jmp6", "mul2_2011_split"),
        "the same without FMA", paper="001",
    ),
    Format(
        "qd2011", ("float64",) * 4, "float64",
        _paper(4, "accumulate4_2011", "add4_2011", "mul4_2011"),
        "seed paper's quad-double, QD's accurate operations with FMA", scalar=True, paper="001",
    ),
    Format(
        "qd2011nofma", ("float64",) * 4, "float64",
        _paper(4, "accumulate4_2011_split", "add4_2011", "mul4_2011_split"),
        "the same without FMA", scalar=True, paper="001",
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
