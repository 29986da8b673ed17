"""Linear systems by LU with partial pivoting."""

from portmp.routines.lu.launch import THREADS, kernel_spec, solve_augmented

__all__ = ["THREADS", "kernel_spec", "solve_augmented"]
