"""Triangular systems and products, and what factorisations by blocks are made of."""

from portmp.routines.triangular.launch import OnDevice, copied_triangle, kernel_spec, threads_of
from portmp.routines.triangular.steps import Steps

__all__ = ["OnDevice", "Steps", "copied_triangle", "kernel_spec", "threads_of"]
