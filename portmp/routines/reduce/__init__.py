"""DOT, GEMV, sums, minima, maxima."""

from portmp.routines.reduce.launch import (
    FEW,
    IDENTITY,
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
    steps,
)

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
