"""The split of a paper of 2021, for its reproduction."""

from portmp.routines.split2021.launch import FORMAT, MOST, gemm, kernel_spec, split

__all__ = ["FORMAT", "MOST", "gemm", "kernel_spec", "split"]
