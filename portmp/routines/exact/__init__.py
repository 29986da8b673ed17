"""Correctly rounded sums and products."""

from portmp.routines.exact.launch import gemm, over_rows

__all__ = ["gemm", "over_rows"]
