"""DOT, GEMV, sums, minima, maxima."""

from portmp.routines.reduce.launch import (
    FEW,
    LONG,
    SHORT,
    Plan,
    Schedule,
    compilation_unit,
    default,
    dot,
    fitted,
    gemv,
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
    "compilation_unit",
    "default",
    "dot",
    "fitted",
    "gemv",
    "over_rows",
    "planned",
    "shape_class",
    "steps",
]
