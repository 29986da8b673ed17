"""Jacobi's method: symmetric matrices become diagonal, columns orthogonal."""

from portmp.routines.jacobi.launch import Rule, kernel_spec, measured, turned

__all__ = ["Rule", "kernel_spec", "measured", "turned"]
