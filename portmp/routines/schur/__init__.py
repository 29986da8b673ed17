"""Eigenvalues of Hessenberg matrices, and Schur's form, by Francis's iteration."""
