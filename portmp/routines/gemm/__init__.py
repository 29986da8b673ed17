"""GEMM by the format's own multiply-accumulate."""

from portmp.routines.gemm.launch import (
    COMBINE_THREADS,
    MAX_GRID_Y,
    Schedule,
    default,
    fitted,
    gemm,
    kernel_spec,
    module,
    operands,
    shared_out,
)

__all__ = [
    "COMBINE_THREADS",
    "MAX_GRID_Y",
    "Schedule",
    "default",
    "fitted",
    "gemm",
    "kernel_spec",
    "module",
    "operands",
    "shared_out",
]
