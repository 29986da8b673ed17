"""Factors of symmetric indefinite matrices, by panels."""

from portmp.routines.ldl.launch import Factored, factor, kernel_spec

__all__ = ["Factored", "factor", "kernel_spec"]
