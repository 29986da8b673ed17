"""Jacobi's method: symmetric matrices become diagonal, columns orthogonal."""

from portmp.routines.jacobi.launch import kernel_spec, measured, turned
from portmp.routines.jacobi.rule import Rule

__all__ = ["Rule", "kernel_spec", "measured", "turned"]
