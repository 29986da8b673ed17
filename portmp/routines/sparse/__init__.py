"""Products of sparse matrices, stored by rows, with vectors and matrices."""

from portmp.routines.sparse.launch import Rows, kernel_spec, rows_of, times

__all__ = ["Rows", "kernel_spec", "rows_of", "times"]
