"""Gravity by direct summation."""

from portmp.routines.gravity.launch import (
    BUSY,
    COMBINE_THREADS,
    FULL,
    MOST_PARTS,
    MOST_SLABS,
    SCHEDULERS,
    SPARED,
    check_root,
    compilation_unit,
    filled,
    gravity_sum,
    packed,
    workspace,
)
from portmp.routines.gravity.roles import steps

__all__ = [
    "BUSY",
    "COMBINE_THREADS",
    "FULL",
    "MOST_PARTS",
    "MOST_SLABS",
    "SCHEDULERS",
    "SPARED",
    "check_root",
    "compilation_unit",
    "filled",
    "gravity_sum",
    "packed",
    "steps",
    "workspace",
]
