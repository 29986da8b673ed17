"""Eigenvalues of Hessenberg matrices, and Schur's form, by Francis's iteration."""

from portmp.routines.schur.launch import Unfinished, iterate, kernel_spec

__all__ = ["Unfinished", "iterate", "kernel_spec"]
