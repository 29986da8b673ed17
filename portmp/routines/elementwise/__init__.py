"""Elementwise operations, AXPY and SCAL, with strides and broadcasting."""

from portmp.routines.elementwise.launch import (
    NAMES,
    Operand,
    apply,
    axpy,
    contiguous,
    converted,
    converts,
    fitted,
    kernel_spec,
    scal,
    tested,
)

__all__ = [
    "NAMES",
    "Operand",
    "apply",
    "axpy",
    "contiguous",
    "converted",
    "converts",
    "fitted",
    "kernel_spec",
    "scal",
    "tested",
]
