"""GEMM by the format's own multiply-accumulate."""

from portmp.routines.gemm.launch import (
    COMBINE_THREADS,
    MAX_GRID_Y,
    Schedule,
    Updates,
    compilation_unit,
    default,
    fitted,
    gemm,
    kernel_spec,
    operands,
    shared_out,
)

__all__ = [
    "COMBINE_THREADS",
    "MAX_GRID_Y",
    "Schedule",
    "Updates",
    "compilation_unit",
    "default",
    "fitted",
    "gemm",
    "kernel_spec",
    "operands",
    "shared_out",
]
