"""Correctly rounded sums and products."""

from portmp.routines.exact.launch import gemm, gemm_apart, over_rows, over_rows_apart

__all__ = ["gemm", "gemm_apart", "over_rows", "over_rows_apart"]
