"""Cholesky factors of positive definite matrices, by blocks."""

from portmp.routines.cholesky.launch import factor, kernel_spec

__all__ = ["factor", "kernel_spec"]
