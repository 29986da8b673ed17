"""DOT, GEMV, sums, minima, maxima."""

from portmp.routines.reduce.launch import (
    FEW,
    LONG,
    SHORT,
    Plan,
    Schedule,
    default,
    dot,
    fitted,
    gemv,
    module,
    over_rows,
    planned,
    shape_class,
)
from portmp.routines.reduce.roles import IDENTITY, steps

__all__ = [
    "FEW",
    "IDENTITY",
    "LONG",
    "SHORT",
    "Plan",
    "Schedule",
    "default",
    "dot",
    "fitted",
    "gemv",
    "module",
    "over_rows",
    "planned",
    "shape_class",
    "steps",
]
