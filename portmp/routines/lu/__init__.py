"""LU with partial pivoting by blocks."""

from portmp.routines.lu.launch import Factored, factor, panel_spec, swap_spec

__all__ = ["Factored", "factor", "panel_spec", "swap_spec"]
